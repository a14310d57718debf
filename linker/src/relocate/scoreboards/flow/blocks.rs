//! Which instructions follow each other, and where blocks of them start and end.

use crate::merge::TableBranch;

use super::super::instruction::{self, Chip, INSTRUCTION, Next, next};
use super::super::mercury::Told;
use super::super::operands::{Bits128, TENSOR_BARRIER, TENSOR_COPY, TENSOR_MULTIPLY};

/// Where control goes behind instructions.
pub(super) struct Successors {
    /// One after another.
    places: Vec<usize>,
    /// Where those of each start, and how many there are.
    first: Vec<usize>,
}

impl Successors {
    /// `None` where it is not known where control goes.
    pub(super) fn new(nexts: &[Next], tables: &[TableBranch]) -> Option<Self> {
        let index = |offset: u64| {
            let index = usize::try_from(offset).ok()? / INSTRUCTION;
            let is_instruction = offset.is_multiple_of(INSTRUCTION as u64) && index < nexts.len();
            is_instruction.then_some(index)
        };
        let targets_of = |at: usize| {
            let offset = (at * INSTRUCTION) as u64;
            let table = tables.iter().find(|table| table.offset == offset)?;
            Some(table.targets.iter())
        };
        let mut collective = None;
        let mut places = Vec::with_capacity(nexts.len());
        let mut first = vec![0];
        for (at, next) in nexts.iter().enumerate() {
            match next {
                Next::Through | Next::Meeting | Next::MaybeEnd => places.push(at + 1),
                Next::End | Next::Return => {}
                Next::To(target) => places.push(index(*target)?),
                Next::Either(target) | Next::Call(target) => {
                    places.extend([at + 1, index(*target)?]);
                }
                Next::Collective(target) => {
                    collective = Some(index(*target)?);
                    places.push(at + 1);
                }
                Next::EndCollective => places.push(collective?),
                Next::Table => {
                    for &target in targets_of(at)? {
                        places.push(index(target)?);
                    }
                }
                Next::Unknown => return None,
            }
            first.push(places.len());
        }
        Some(Self { places, first })
    }

    pub(super) fn of(&self, at: usize) -> &[usize] {
        &self.places[self.first[at]..self.first[at + 1]]
    }
}

/// Whether a block starts at each instruction, and behind the last one, but for those that
/// [`split_behind_effects`].
pub(super) fn starts(instructions: &[&[u8]], nexts: &[Next], successors: &Successors) -> Vec<bool> {
    let mut starts = vec![false; instructions.len() + 1];
    starts[0] = true;
    for (at, next) in nexts.iter().enumerate() {
        let operation = instruction::operation(instructions[at]);
        // A call is a block of its own.
        starts[at] |= matches!(
            operation,
            instruction::CALL_ABSOLUTE | instruction::CALL_RELATIVE
        ) || instruction::sleeps_sometimes(instructions[at]);
        let ends_block = matches!(
            next,
            Next::Meeting | Next::MaybeEnd | Next::Collective(_) | Next::EndCollective
        ) || matches!(operation, instruction::BREAKPOINT | instruction::TRIGGER);
        let successors = successors.of(at);
        if ends_block || *successors != [at + 1] {
            starts[at + 1] = true;
            successors.iter().for_each(|&next| starts[next] = true);
        }
    }
    split_behind_restored_barriers(instructions, &mut starts);
    split_behind_exclusives(instructions, &mut starts);
    starts
}

/// WARPSYNC, BREAK and YIELD start a block where something stands before them in their own that nothing may pass
/// (case `older_effects`). Returns whether any does.
pub(super) fn split_behind_effects(
    instructions: &[&[u8]],
    starts: &mut [bool],
    chip: Chip,
    told: &Told<'_>,
) -> bool {
    let may_split = |instruction: &[u8]| {
        let operation = instruction::operation(instruction);
        matches!(
            operation,
            instruction::WARPSYNC | instruction::BREAK | instruction::YIELD
        )
    };
    // Behind the last of them nothing is asked.
    let last = instructions.iter().rposition(|i| may_split(i));
    let instructions = &instructions[..last.map_or(0, |last| last + 1)];
    let mut is_behind = false;
    let mut splits = false;
    for ((at, instruction), start) in instructions.iter().enumerate().zip(starts) {
        is_behind &= !*start;
        if may_split(instruction) && is_behind {
            *start = true;
            is_behind = false;
            splits = true;
        } else {
            is_behind |= has_effects(instruction, chip) || told.is_tensor_fence(at, instruction);
        }
    }
    splits
}

/// Whether an instruction does more than to compute, and to read and write memory for its thread.
fn has_effects(instruction: &[u8], chip: Chip) -> bool {
    match instruction::operation(instruction) {
        instruction::UNIFORM_LOAD => chip == Chip::Graphics,
        // CCTL.IVALL is a part of a barrier of memory.
        instruction::CACHE => Bits128::of(instruction).get(87, 4) != 4,
        // FENCE.VIEW.ASYNC.T, which is about tensor memory.
        instruction::FENCE => Bits128::of(instruction).get(72, 2) == 2,
        // CCTLL.
        0x190 => true,
        operation if instruction::writes_surface(operation) => true,
        instruction::TEXTURE_QUERY => false,
        operation if instruction::is_of_texture(operation) => true,
        instruction::SYNCS | instruction::SYNCS_CONTROL | instruction::SYNCS_EXCHANGE => true,
        // The last one is ARRIVES.
        instruction::LDGSTS | instruction::LDGDEPBAR | 0x1b0 => true,
        // UTMALDG to UBLKPF, UMEMSETS.
        0x1b4..=0x1bc | 0x1cb => true,
        TENSOR_BARRIER | TENSOR_COPY | TENSOR_MULTIPLY => true,
        // UTCSHIFT, STTM, LDTM.
        0x1e6 | 0x1ed | 0x1ee => true,
        _ => false,
    }
}

/// Where threads meet at a barrier that a BMOV right before brought back, a block starts.
fn split_behind_restored_barriers(instructions: &[&[u8]], starts: &mut [bool]) {
    for (pair, start) in instructions.windows(2).zip(&mut starts[1..]) {
        let operations = [pair[0], pair[1]].map(instruction::operation);
        *start |= operations == [instruction::RESTORE_BARRIER, instruction::BSYNC];
    }
}

/// What threads do one after another behind a WARPSYNC.EXCLUSIVE ends a block.
fn split_behind_exclusives(instructions: &[&[u8]], starts: &mut [bool]) {
    for (at, instruction) in instructions.iter().enumerate() {
        if instruction::is_exclusive(instruction)
            && let Some(start) = starts.get_mut(at + 2)
        {
            *start = true;
        }
    }
}

/// Which instructions are the last ones of their blocks, but for time that passes and for what
/// threads meet at to do something together, which waits for all that is under way.
pub(super) fn closing(instructions: &[&[u8]], starts: &[bool]) -> Vec<bool> {
    let mut closes = vec![false; instructions.len()];
    let ends = (0..instructions.len()).filter(|at| starts[at + 1]);
    for end in ends {
        let mut last = end;
        let is_besides = |last: usize| {
            matches!(next(instructions[last], 0), Next::Collective(_))
                || instruction::is_pause(instructions[last - 1], instructions[last])
        };
        while !starts[last] && is_besides(last) {
            last -= 1;
        }
        closes[last] = true;
    }
    closes
}

/// The last instruction of each instruction's block, if the code goes so far.
pub(super) fn last(starts: &[bool]) -> Vec<Option<usize>> {
    let mut last = vec![None; starts.len() - 1];
    for at in (0..last.len()).rev() {
        last[at] = match starts[at + 1] {
            true => Some(at),
            false => last.get(at + 1).copied().flatten(),
        };
    }
    last
}
