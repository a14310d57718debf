//! How long instructions keep the next ones from starting, where code changes.
//!
//! nvlink starts each instruction as early as it can. Where something is gone that
//! took time, or that the next instruction waited for, what follows starts earlier
//! unless it has to keep its distance from one further back: then the time passes
//! before it. What had to wait for no reason but that distance is as close as before.
//! All reasons that are known are those of [`timing`](super::timing); where the
//! compiler kept less distance, it had its reasons (case `older_stalls`).

mod change;

use std::cell::LazyCell;
use std::ops::RangeInclusive;

use crate::merge::TableBranch;

use super::control::Control;
use super::instruction::{
    Chip, DOUBLE_MATRICES, INSTRUCTION, NOP, cycles, is_exclusive, operation,
};
use super::stages::Stages;
use super::timing::slow_part;
use super::understood::Understood;
use super::warps::{self, Timed};
use super::{Compiled, Setting};
use change::Change;

/// Cycles until others find a scoreboard taken.
pub(super) const TAKING: u8 = 2;
/// No distance that is known is longer.
pub(super) const LONGEST_DISTANCE: u32 = 16;

/// The new code of a function, with stalls that fit. `origin` tells which instruction
/// of the old code stands at a place of the new one.
pub(in crate::relocate) fn closed_up(
    compiled: &Compiled<'_>,
    code: Vec<u8>,
    origin: impl Fn(usize) -> Option<usize>,
    tables: &[TableBranch],
    chip: Chip,
) -> Vec<u8> {
    let setting = Setting {
        tables,
        chip,
        capsule: &[],
        is_lone: false,
    };
    match Understood::new(&code, &setting) {
        Some(understood) => closed_up_as(compiled, code, origin, &understood),
        None => code,
    }
}

/// The same for code that is understood, whatever it takes and waits for.
pub(super) fn closed_up_as(
    compiled: &Compiled<'_>,
    mut code: Vec<u8>,
    origin: impl Fn(usize) -> Option<usize>,
    understood: &Understood,
) -> Vec<u8> {
    let (flow, chip) = (&understood.flow, understood.chip);
    // Few functions have blocks in which other time passes.
    let stages = LazyCell::new(|| Stages::of(compiled.setting.capsule));
    let is_pipelined = |block: RangeInclusive<usize>| stages.are_in(block);
    let (old, _) = compiled.code.as_chunks::<INSTRUCTION>();
    let (new, _) = code.as_chunks_mut::<INSTRUCTION>();
    let origins: Vec<Option<usize>> = (0..new.len()).map(origin).collect();
    let changed = Change::new(old, new, &origins, understood).stalls();
    for (at, stall) in changed {
        set_stall(&mut new[at], stall);
    }
    let mut first = 0;
    // What threads do one after another is no block of its own here.
    for last in 0..new.len() {
        if !flow.ends_block(last) || last > 0 && is_exclusive(&new[last - 1]) {
            continue;
        }
        let block = first..=last;
        mark(
            &mut new[block.clone()],
            &origins[block],
            old,
            is_pipelined,
            chip,
        );
        first = last + 1;
    }
    code
}

/// Marks in a block where other warps may go first and what is kept, if other time passes in it
/// than before (cases `scoreboards_turns`, `older_turns`).
fn mark(
    new: &mut [[u8; INSTRUCTION]],
    origins: &[Option<usize>],
    old: &[[u8; INSTRUCTION]],
    is_pipelined: impl FnOnce(RangeInclusive<usize>) -> bool,
    chip: Chip,
) {
    let is_followed = |pair: &[Option<usize>]| pair[0].map(|at| at + 1) == pair[1];
    let is_timed_alike = |(new, origin): (&[u8; INSTRUCTION], &Option<usize>)| {
        origin.is_some_and(|origin| planned(new) == planned(&old[origin]))
    };
    if origins.windows(2).all(is_followed) && new.iter().zip(origins).all(is_timed_alike) {
        return;
    }
    let before: Vec<[u8; INSTRUCTION]> = new
        .iter()
        .zip(origins)
        .map(|(new, origin)| origin.map_or(*new, |origin| old[origin]))
        .collect();
    let timed = before.iter().zip(&*new).map(|(old, new)| Timed {
        old,
        is_open: is_open(new, chip),
        is_paused: false,
    });
    let timed: Vec<Timed<'_>> = timed.collect();
    let was = || origins.iter().copied().flatten();
    let block = was().min().zip(was().max());
    let lets_others = !block.is_some_and(|(first, last)| is_pipelined(first..=last));
    warps::mark(new, &timed, lets_others);
}

/// Whether nothing is known of the time of an instruction but by its scoreboards. DMMA keeps operands all the same.
fn is_open(instruction: &[u8; INSTRUCTION], chip: Chip) -> bool {
    let is_product = operation(instruction) == DOUBLE_MATRICES && chip == Chip::FastDoubles;
    let takes = Control::of(instruction).takes() != 0;
    takes && !is_product || slow_part(instruction, chip).is_some()
}

/// Cycles that an instruction had to the next one. In a schedule it has one at least.
pub(super) fn planned(instruction: &[u8]) -> u32 {
    cycles(instruction).max(1)
}

/// Gives an instruction its stall, with the mark that goes with it.
pub(in crate::relocate) fn set_stall(instruction: &mut [u8; INSTRUCTION], stall: u32) {
    let stall = stall.min(u32::from(Control::LONGEST_STALL));
    Control::set_stall(instruction, stall as u8);
    // What passes the time does, too.
    let least = match operation(instruction) {
        NOP => OTHERS_FIRST,
        _ => others_first_from(instruction),
    };
    if stall >= least {
        Control::keep_ready(instruction);
    }
}

/// Cycles from which on arithmetic and what is like it let other warps go first.
pub(super) const OTHERS_FIRST: u32 = 3;
/// Cycles from which on all do.
pub(super) const OTHERS_FIRST_AT_LAST: u32 = 12;

/// From how many cycles on an instruction lets other warps go first. Arithmetic that takes a scoreboard is not like others.
pub(super) fn others_first_from(instruction: &[u8]) -> u32 {
    /// IMMA, HMMA and DMMA; QMMA and OMMA are like other arithmetic.
    const PRODUCTS_OF_MATRICES: [u16; 3] = [0x037, 0x03c, 0x03f];
    /// ACQBULK, DEPBAR and both RPCMOV.
    const LIKE_ARITHMETIC: [u16; 4] = [0x02e, 0x11a, 0x152, 0x153];
    let operation = operation(instruction);
    let is_quick = match is_arithmetic(instruction) {
        true => !PRODUCTS_OF_MATRICES.contains(&operation),
        false => LIKE_ARITHMETIC.contains(&operation),
    };
    match is_quick {
        true => OTHERS_FIRST,
        false => OTHERS_FIRST_AT_LAST,
    }
}

/// Whether an instruction computes, for threads or for their warp.
pub(super) fn is_arithmetic(instruction: &[u8]) -> bool {
    const ARITHMETIC: std::ops::Range<u16> = 0..0x100;
    /// PREEXIT and ACQBULK, which tell and wait for the next grid, MOVM, LDSM and STSM, which move matrices, and
    /// UVIRTCOUNT, which counts users of tensor memory.
    const OTHERS: [u16; 6] = [0x02d, 0x02e, 0x03a, 0x03b, 0x044, 0x04c];
    let operation = operation(instruction);
    ARITHMETIC.contains(&operation) && !OTHERS.contains(&operation)
}

#[cfg(test)]
mod tests {
    use super::super::Setting;
    use super::super::instruction::NO_BOARD;
    use super::super::tests::{BRANCH_BACK, EXIT, LDC, instruction, sum};
    use super::*;

    type Instruction = [u8; INSTRUCTION];

    fn with_stall(mut instruction: Instruction, stall: u32) -> Instruction {
        set_stall(&mut instruction, stall);
        instruction
    }

    fn stalls(old: &[Instruction], new: &[Instruction], origins: &[usize]) -> Vec<u8> {
        let origin = |place: usize| origins.get(place).copied();
        let chip = Chip::FastDoubles;
        let setting = Setting {
            tables: &[],
            chip,
            capsule: &[],
            is_lone: false,
        };
        let old = Compiled::new(old.as_flattened(), setting);
        let code = closed_up(&old, new.concat(), origin, &[], chip);
        let (code, _) = code.as_chunks();
        code.iter()
            .map(|i: &Instruction| Control::of(i).stall())
            .collect()
    }

    #[test]
    fn time_passes_before_what_has_to_keep_its_distance() {
        // It makes the predicate of the branch.
        let mut compare = instruction(0x720c, 0, NO_BOARD, 0);
        (compare[10], compare[11]) = (0xf0, 3);
        // It uses none.
        let mut sum = with_stall(sum(41, 13, 0), 7);
        (sum[9], sum[10], sum[11]) = (0xe0, 0xfe, 3);
        let (idle, branch) = (
            instruction(0x7918, 0, NO_BOARD, 0),
            instruction(BRANCH_BACK, 0, NO_BOARD, 0),
        );
        let mut exit = instruction(EXIT, 0, NO_BOARD, 0);
        (exit[10], exit[11]) = (0x80, 3);
        let old = [
            with_stall(compare, 1),
            with_stall(idle, 5),
            sum,
            branch,
            exit,
        ];
        let new = [old[0], sum, branch, exit];
        assert_eq!(stalls(&old, &new, &[0, 2, 3, 4]), [2, 11, 0, 0]);
        // Without the branch nobody has to wait so long; the same part takes two cycles.
        let new = [old[0], sum, exit];
        assert_eq!(stalls(&old, &new, &[0, 2, 4]), [2, 7, 0]);
    }

    #[test]
    fn time_passes_at_the_end_of_a_block_for_the_next_one() {
        let load = |board| with_stall(instruction(LDC, 12, board, 0), 2);
        // It makes a register that somebody behind the branch may need after seven cycles.
        let mut sum = with_stall(sum(41, 13, 0), 1);
        (sum[9], sum[10], sum[11]) = (0xe0, 0xfe, 3);
        let branch = |waits| with_stall(instruction(BRANCH_BACK, 0, NO_BOARD, waits), 4);
        let exit = instruction(EXIT, 0, NO_BOARD, 0);
        let code = |board| [sum, load(board), branch(1), exit];
        // Nobody waits for the load, and the branch comes a cycle sooner.
        assert_eq!(stalls(&code(0), &code(1), &[0, 1, 2, 3]), [1, 1, 5, 0]);
        assert_eq!(stalls(&code(0), &code(0), &[0, 1, 2, 3]), [1, 2, 4, 0]);
    }

    #[test]
    fn what_nobody_waits_for_at_once_takes_a_cycle() {
        let load = |board| with_stall(instruction(LDC, 12, board, 0), 2);
        let exit = instruction(EXIT, 0, NO_BOARD, 0);
        let code = |board| [load(board), with_stall(sum(41, 14, 1), 1), exit];
        assert_eq!(stalls(&code(0), &code(1), &[0, 1, 2]), [1, 1, 0]);
        assert_eq!(stalls(&code(0), &code(0), &[0, 1, 2]), [2, 1, 0]);
    }

    #[test]
    fn others_wait_longer_behind_doubles_where_these_are_slow() {
        const DADD: u16 = 0x7229;
        let idle = instruction(0x7918, 0, NO_BOARD, 0);
        let old = [with_stall(instruction(DADD, 4, NO_BOARD, 0), 4), idle, idle];
        let stays = |chip: Chip| {
            let mut new = [old[0], old[2]];
            mark(&mut new, &[Some(0), Some(2)], &old, |_| false, chip);
            Control::of(&new[0]).stays()
        };
        assert_eq!(
            [Chip::FastDoubles, Chip::Graphics].map(stays),
            [false, true]
        );
    }
}
