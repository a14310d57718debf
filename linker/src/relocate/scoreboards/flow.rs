//! Which events can hold a scoreboard where, over all paths through the code.

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::ops::Range;

use rustc_hash::FxHashSet;

use crate::merge::TableBranch;

use super::Event;
use super::effort::Effort;
use super::held::Held;
use super::instruction::{self, BOARDS, Chip, INSTRUCTION, Next, is_branch, next, releases};
use super::order::reverse_postorder;

/// Where control goes, and what can be held there.
pub(super) struct Flow {
    /// Number of each instruction's waits.
    waits: Vec<u8>,
    /// First event of each instruction, and the number of events at the end.
    first_event: Vec<usize>,
    starts: Vec<bool>,
    /// Whether each instruction is the last one of its block that does something.
    closes: Vec<bool>,
    is_branch: Vec<bool>,
    /// The last instruction of each instruction's block, if the code goes so far.
    last: Vec<Option<usize>>,
    /// Where control goes behind instructions, one after another, and where those of each start.
    successors: Vec<usize>,
    first_successor: Vec<usize>,
    /// Instructions that wait for something or take a scoreboard.
    holding: Vec<usize>,
}

/// WARPSYNC, BREAK and YIELD start a block where an LDGSTS stands before them in their own, on processors for graphics
/// also where an LDCU does.
fn split_behind_loads(instructions: &[&[u8]], starts: &mut [bool], chip: Chip) {
    let splits = |operation: u16| match operation {
        instruction::SHARED_COPY => true,
        instruction::UNIFORM_LOAD => chip == Chip::Graphics,
        _ => false,
    };
    let mut has_load = false;
    for (instruction, start) in instructions.iter().zip(starts) {
        has_load &= !*start;
        match instruction::operation(instruction) {
            operation if splits(operation) => has_load = true,
            instruction::WARPSYNC | instruction::BREAK | instruction::YIELD if has_load => {
                *start = true;
                has_load = false;
            }
            _ => {}
        }
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
fn closing(instructions: &[&[u8]], starts: &[bool]) -> Vec<bool> {
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

impl Flow {
    /// `None` where it is not known where control goes.
    pub(super) fn new(
        code: &[u8],
        tables: &[TableBranch],
        events: &[Event],
        chip: Chip,
    ) -> Option<Self> {
        let instructions: Vec<&[u8]> = code.chunks_exact(INSTRUCTION).collect();
        let nexts = (0..).step_by(INSTRUCTION).zip(&instructions);
        let nexts: Vec<Next> = nexts.map(|(offset, i)| next(i, offset)).collect();
        let index = |offset: u64| {
            let index = usize::try_from(offset).ok()? / INSTRUCTION;
            let is_instruction =
                offset.is_multiple_of(INSTRUCTION as u64) && index < instructions.len();
            is_instruction.then_some(index)
        };
        let targets_of = |at: usize| {
            let offset = (at * INSTRUCTION) as u64;
            let table = tables.iter().find(|table| table.offset == offset)?;
            Some(table.targets.iter())
        };
        let mut collective = None;
        let mut successors = Vec::with_capacity(nexts.len());
        let mut first_successor = vec![0];
        for (at, next) in nexts.iter().enumerate() {
            match next {
                Next::Through | Next::Meeting | Next::MaybeEnd => successors.push(at + 1),
                Next::End | Next::Return => {}
                Next::To(target) => successors.push(index(*target)?),
                Next::Either(target) | Next::Call(target) => {
                    successors.extend([at + 1, index(*target)?]);
                }
                Next::Collective(target) => {
                    collective = Some(index(*target)?);
                    successors.push(at + 1);
                }
                Next::EndCollective => successors.push(collective?),
                Next::Table => {
                    for &target in targets_of(at)? {
                        successors.push(index(target)?);
                    }
                }
                Next::Unknown => return None,
            }
            first_successor.push(successors.len());
        }
        let mut starts = vec![false; instructions.len() + 1];
        starts[0] = true;
        for (at, next) in nexts.iter().enumerate() {
            let successors = &successors[first_successor[at]..first_successor[at + 1]];
            let ends_block = matches!(
                next,
                Next::Meeting | Next::MaybeEnd | Next::Collective(_) | Next::EndCollective
            );
            // A call is a block of its own.
            let called = instruction::operation(instructions[at]);
            starts[at] |= matches!(
                called,
                instruction::CALL_ABSOLUTE | instruction::CALL_RELATIVE
            );
            let ends_block =
                ends_block || matches!(called, instruction::BREAKPOINT | instruction::TRIGGER);
            starts[at] |= instruction::sleeps_sometimes(instructions[at]);
            if ends_block || *successors != [at + 1] {
                starts[at + 1] = true;
                successors.iter().for_each(|&next| starts[next] = true);
            }
        }
        split_behind_restored_barriers(&instructions, &mut starts);
        split_behind_exclusives(&instructions, &mut starts);
        split_behind_loads(&instructions, &mut starts, chip);
        let closes = closing(&instructions, &starts);
        let waits: Vec<u8> = instructions.iter().map(|i| releases(i)).collect();
        let mut first_event = Vec::with_capacity(instructions.len() + 1);
        let mut last = vec![None; instructions.len()];
        let mut holding = Vec::with_capacity(events.len());
        let mut passed = 0;
        for at in 0..instructions.len() {
            first_event.push(passed);
            passed += events[passed..]
                .iter()
                .take_while(|e| e.instruction == at)
                .count();
            if waits[at] != 0 || passed > first_event[at] {
                holding.push(at);
            }
        }
        first_event.push(passed);
        for at in (0..instructions.len()).rev() {
            last[at] = match starts[at + 1] {
                true => Some(at),
                false => last.get(at + 1).copied().flatten(),
            };
        }
        let flow = Self {
            waits,
            first_event,
            starts,
            closes,
            is_branch: instructions.iter().map(|i| is_branch(i)).collect(),
            last,
            successors,
            first_successor,
            holding,
        };
        flow.stays_in_code().then_some(flow)
    }

    /// Whether control never comes behind the end of the code.
    fn stays_in_code(&self) -> bool {
        let mut is_seen = vec![false; self.starts.len()];
        let mut waiting = vec![0];
        while let Some(start) = waiting.pop() {
            if std::mem::replace(&mut is_seen[start], true) {
                continue;
            }
            let Some(last) = self.last_from(start) else {
                return false;
            };
            waiting.extend(self.followers(last));
        }
        true
    }

    /// The last instruction of the block in which an instruction stands.
    fn last_from(&self, at: usize) -> Option<usize> {
        *self.last.get(at)?
    }

    /// What is held where each block starts; `None` inside blocks and where control
    /// never comes, and for all where it takes too long to find out.
    fn entries(&self, events: &[Event]) -> Option<Vec<Option<Held>>> {
        let mut effort = Effort::of(self.waits.len());
        let mut entries = vec![None; self.starts.len()];
        entries[0] = Some(Held::default());
        let mut waiting = vec![0];
        while let Some(start) = waiting.pop() {
            let (Some(mut held), Some(last)) = (entries[start].clone(), self.last_from(start))
            else {
                continue;
            };
            let own = [start, last + 1].map(|end| self.holding.partition_point(|&at| at < end));
            for &at in &self.holding[own[0]..own[1]] {
                effort.spend(&held)?;
                self.step(at, &mut held, events);
            }
            for &next in self.followers(last) {
                let is_new = entries[next].is_none();
                let entry = entries[next].get_or_insert_default();
                effort.spend(&held)?;
                effort.spend(entry)?;
                if entry.join(&held) || is_new {
                    waiting.push(next);
                }
            }
        }
        Some(entries)
    }

    fn step(&self, at: usize, held: &mut Held, events: &[Event]) {
        self.free(at, self.waits[at], held, events);
        self.take(at, held, events);
    }

    /// What an instruction waits for is free behind it. Only where a branch
    /// waits for what it holds itself since the last turn of a loop, others
    /// wait again for what came before the loop.
    fn free(&self, at: usize, mask: u8, held: &mut Held, events: &[Event]) {
        if !self.is_branch[at] {
            return held.wait(mask);
        }
        for board in (0..BOARDS).filter(|board| mask >> board & 1 == 1) {
            let carried = |&event: &usize| events[event].instruction >= at;
            let turn: Vec<usize> = held.events(board).filter(carried).collect();
            match turn.is_empty() {
                true => held.wait(1 << board),
                false => held.leave(board, &turn),
            }
        }
    }

    /// The events of an instruction take their scoreboards.
    fn take(&self, at: usize, held: &mut Held, events: &[Event]) {
        for event in self.own(at).filter(|&event| events[event].board < BOARDS) {
            held.take(events[event].board, event);
        }
    }

    /// The events of an instruction.
    pub(super) fn own(&self, at: usize) -> Range<usize> {
        self.first_event[at]..self.first_event[at + 1]
    }

    /// Whether control may go elsewhere behind an instruction, or come from
    /// elsewhere there.
    pub(super) fn ends_block(&self, at: usize) -> bool {
        self.starts[at + 1]
    }

    /// Whether an instruction is the last one of its block but for time that passes.
    pub(super) fn closes_block(&self, at: usize) -> bool {
        self.closes[at]
    }

    /// The blocks that control comes to, in that order.
    pub(super) fn order(&self) -> Vec<Range<usize>> {
        let starts: Vec<usize> = self.block_starts().collect();
        let end = |block: usize| starts.get(block + 1).copied().unwrap_or(self.waits.len());
        let followers = |block: usize| {
            let leaders = self.followers(end(block) - 1).iter();
            let blocks = leaders.filter_map(|leader| starts.binary_search(leader).ok());
            blocks.collect()
        };
        let followers: Vec<Vec<usize>> = (0..starts.len()).map(followers).collect();
        let order = reverse_postorder(&followers).into_iter();
        order.map(|block| starts[block]..end(block)).collect()
    }

    /// Those blocks of an order that later ones lead back to, or they themselves, by their
    /// first instructions.
    pub(super) fn loop_starts(&self, order: &[Range<usize>]) -> BTreeSet<usize> {
        let mut seen = FxHashSet::default();
        let mut starts = BTreeSet::new();
        for block in order {
            seen.insert(block.start);
            let back = self.followers(block.end - 1).iter();
            starts.extend(back.filter(|next| seen.contains(next)));
        }
        starts
    }

    /// The other blocks of a loop: those of an order from which control comes back to where it starts.
    pub(super) fn loop_members(&self, order: &[Range<usize>], start: usize) -> Vec<Range<usize>> {
        let mut places = FxHashSet::from_iter([start]);
        let mut members = Vec::new();
        let later = order.iter().rev().take_while(|block| block.start != start);
        // But for inner loops control goes forward, and those are found by the blocks behind them.
        for block in later {
            let followers = self.followers(block.end - 1);
            if followers.iter().any(|next| places.contains(next)) {
                places.insert(block.start);
                members.push(block.clone());
            }
        }
        members
    }

    /// Where control goes behind an instruction.
    pub(super) fn followers(&self, at: usize) -> &[usize] {
        &self.successors[self.first_successor[at]..self.first_successor[at + 1]]
    }

    fn block_starts(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.waits.len()).filter(|&at| self.starts[at])
    }
}

/// What is held where in code as it is.
pub(super) struct Passage<'f> {
    flow: &'f Flow,
    events: &'f [Event],
    /// Where each block starts, once somebody asked; none where that takes too long.
    entries: OnceCell<Option<Vec<Option<Held>>>>,
}

impl<'f> Passage<'f> {
    pub(super) fn new(flow: &'f Flow, events: &'f [Event]) -> Self {
        Self {
            flow,
            events,
            entries: OnceCell::new(),
        }
    }

    /// Visits instructions of some kind that control comes to, in the order of the code, with
    /// what is held before each. `None` where that takes too long.
    pub(super) fn visit(
        &self,
        is_meant: impl Fn(usize) -> bool,
        mut visit: impl FnMut(usize, &Held),
    ) -> Option<()> {
        let Self { flow, events, .. } = *self;
        let entries = self.entries.get_or_init(|| flow.entries(events)).as_ref()?;
        let mut effort = Effort::of(flow.waits.len());
        for (start, entry) in entries.iter().enumerate() {
            let (Some(entry), Some(end)) = (entry, flow.last_from(start)) else {
                continue;
            };
            let Some(last) = (start..=end).rev().find(|&at| is_meant(at)) else {
                continue;
            };
            let mut held = entry.clone();
            for at in start..=last {
                if is_meant(at) {
                    effort.spend(&held)?;
                    visit(at, &held);
                }
                flow.step(at, &mut held, events);
            }
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::instruction::NO_BOARD;
    use super::super::tests::{EXIT, instruction, sum};
    use super::*;

    #[test]
    fn returns_lead_nowhere_and_calls_to_both() {
        const CALL: u16 = 0x7944;
        const RETURN: u16 = 0x7950;
        let call = |distance: u8| instruction(CALL, distance, NO_BOARD, 0);
        // Distances are in units of four bytes.
        let code = [
            call(12),
            sum(41, 2, 0),
            call(4),
            instruction(EXIT, 0, NO_BOARD, 0),
            sum(41, 2, 0),
            instruction(RETURN, 0, NO_BOARD, 0),
        ];
        let flow = Flow::new(code.as_flattened(), &[], &[], Chip::FastDoubles).unwrap();
        let followers: Vec<&[usize]> = (0..code.len()).map(|at| flow.followers(at)).collect();
        assert_eq!(followers, [&[1, 4][..], &[2], &[3, 4], &[], &[5], &[]]);
        assert!(flow.loop_starts(&flow.order()).is_empty());
    }

    #[test]
    fn yields_start_a_block_behind_copies_and_on_graphics_behind_loads_for_warps() {
        const UNIFORM_LOAD: u16 = 0x7bac;
        const SHARED_COPY: u16 = 0x7fae;
        const YIELD: u16 = 0x7946;
        let code = |load: u16| {
            [
                instruction(load, 4, 0, 0),
                sum(41, 2, 0),
                instruction(YIELD, 0, NO_BOARD, 0),
                instruction(YIELD, 0, NO_BOARD, 0),
                instruction(EXIT, 0, NO_BOARD, 0),
            ]
        };
        let ends = |load: u16, chip: Chip| {
            let flow = Flow::new(code(load).as_flattened(), &[], &[], chip).unwrap();
            (0..4).map(|at| flow.ends_block(at)).collect::<Vec<_>>()
        };
        let split = [false, true, false, false];
        assert_eq!(ends(UNIFORM_LOAD, Chip::FastDoubles), [false; 4]);
        assert_eq!(ends(UNIFORM_LOAD, Chip::Graphics), split);
        assert_eq!(ends(SHARED_COPY, Chip::FastDoubles), split);
        assert_eq!(ends(SHARED_COPY, Chip::Graphics), split);
    }

    #[test]
    fn threads_meet_in_a_block_behind_a_barrier_that_came_back() {
        const RESTORE: u16 = 0x7356;
        const MEET: u16 = 0x7941;
        let ends = |second: u16| {
            let code = [
                instruction(RESTORE, 0, NO_BOARD, 0),
                instruction(second, 0, NO_BOARD, 0),
                instruction(EXIT, 0, NO_BOARD, 0),
            ];
            let flow = Flow::new(code.as_flattened(), &[], &[], Chip::FastDoubles).unwrap();
            [0, 1].map(|at| flow.ends_block(at))
        };
        assert_eq!(ends(MEET), [true, true]);
        assert_eq!(ends(RESTORE), [false, false]);
    }

    #[test]
    fn what_threads_meet_at_does_not_close_a_block() {
        const WARPSYNC: u16 = 0x7348;
        const ENDCOLLECTIVE: u16 = 0x791b;
        // To the third instruction behind it, in units of four bytes.
        let mut collective = instruction(WARPSYNC, 8, NO_BOARD, 0);
        collective[10] = 0xc0;
        let code = [
            sum(41, 2, 0),
            collective,
            sum(41, 2, 0),
            instruction(ENDCOLLECTIVE, 0, NO_BOARD, 0),
            instruction(EXIT, 0, NO_BOARD, 0),
        ];
        let flow = Flow::new(code.as_flattened(), &[], &[], Chip::FastDoubles).unwrap();
        let closes: Vec<bool> = (0..5).map(|at| flow.closes_block(at)).collect();
        assert_eq!(closes, [true, false, false, true, true]);
    }
}
