//! How far instructions stay apart that need nothing of each other, and how far they stay before the end of
//! their block.

use super::instruction::{
    BSSY, BSYNC, Chip, ERROR_BARRIER, EXIT, INSTRUCTION, MEMORY_BARRIER, Next, RETURN, is_for_all,
    leads_on, next, operation,
};
use super::operands::{Bits128, is_sparse};
use super::registers::Accesses;
use super::timing::{Unit, at_end, slow_part};

type Instruction = [u8; INSTRUCTION];

/// Cycles that what leads elsewhere takes at least.
pub(super) const LEADING: u32 = 5;
/// Cycles until anything comes behind a barrier of memory.
pub(super) const BEHIND_BARRIER: u32 = 6;
/// Cycles that a barrier of the block keeps from others at least, but from arithmetic.
const MEETING: u32 = 6;
/// Cycles from what takes the part that works on memory to the next one that does.
const MEMORY_PART: u32 = 4;
/// Cycles from a report of errors to constants and barriers, which run on the same part.
const BEHIND_REPORT: u32 = 8;
/// Cycles from a sparse product of matrices to the next instruction on the same part.
const SPARSE_PRODUCT: u32 = 9;
/// Cycles from `UMOV` to the end of its block.
const UNIFORM_MOVE: u32 = 5;

/// Cycles from one instruction to a later one that needs nothing of it.
pub(super) fn spacing(
    first: (&Instruction, Unit),
    second: (&Instruction, Unit),
    chip: Chip,
) -> u32 {
    let ((earlier, from), (later, to)) = (first, second);
    let spacing = match (slow_part(earlier, chip), slow_part(later, chip)) {
        (Some(busy), Some(_)) => busy,
        // Matrices run on the part of slow doubles.
        (Some(busy), None) if to == Unit::Matrix => busy,
        (None, None) => from.spacing(to, chip),
        (None, Some(_)) if from == Unit::MeetingMove => from.spacing(to, chip),
        (None, Some(_)) if from == Unit::Matrix => from.spacing(Unit::Matrix, chip),
        _ => 1,
    };
    spacing.max(apart(first, second, chip))
}

/// Whether an instruction may have to wait for one on the part of slow doubles long after that.
pub(super) fn uses_slow_part(instruction: &Instruction, unit: Unit, chip: Chip) -> bool {
    let is_shared = unit == Unit::Matrix && chip != Chip::FastDoubles;
    is_shared || slow_part(instruction, chip).is_some()
}

/// The same, beside the times of [`Unit::spacing`] (case `parts_slower`).
fn apart(first: (&Instruction, Unit), second: (&Instruction, Unit), chip: Chip) -> u32 {
    let ((earlier, from), (later, to)) = (first, second);
    let shares_part_of_matrices = || to == Unit::Matrix || slow_part(later, chip).is_some();
    match from {
        Unit::Barrier if !is_arithmetic(to) => MEETING,
        Unit::Matrix
            if is_sparse(operation(earlier), &Bits128::of(earlier))
                && shares_part_of_matrices() =>
        {
            SPARSE_PRODUCT
        }
        _ if operation(earlier) == MEMORY_BARRIER => BEHIND_BARRIER,
        _ if works_on_memory(earlier, from) && works_on_memory(later, to) => MEMORY_PART,
        _ if operation(earlier) == ERROR_BARRIER && to.is_like_constants() => BEHIND_REPORT,
        _ => 1,
    }
}

/// Whether an instruction is arithmetic, products of matrices included, whose time is known.
fn is_arithmetic(unit: Unit) -> bool {
    unit == Unit::Matrix || unit.has_fixed_time() && unit != Unit::WarpMove
}

/// Whether an instruction takes the part that works on memory, which others than accesses do.
fn works_on_memory(instruction: &Instruction, unit: Unit) -> bool {
    /// B2R, QSPC, LDGDEPBAR, ARRIVES, FENCE and UMEMSETS.
    const OTHERS: [u16; 6] = [0x11c, 0x1aa, 0x1af, 0x1b0, 0x1c6, 0x1cb];
    unit == Unit::Memory || OTHERS.contains(&operation(instruction))
}

/// Cycles that the end of its block keeps from an instruction, or where threads meet. `accesses` are those that nobody
/// waits for by a scoreboard.
pub(super) fn to_end(
    instruction: &Instruction,
    unit: Unit,
    accesses: Option<&Accesses>,
    chip: Chip,
) -> u32 {
    match (unit, accesses) {
        (Unit::Barrier, _) => MEETING,
        (Unit::WarpMove, _) => UNIFORM_MOVE,
        (unit, Some(accesses)) => at_end(instruction, unit, accesses, chip),
        (_, None) => 0,
    }
}

/// Whether threads wait for others at an instruction, before which all has to be there.
pub(super) fn meets(instruction: &Instruction) -> bool {
    operation(instruction) == BSYNC || matches!(next(instruction, 0), Next::Collective(_))
}

/// Whether control takes its time to go on behind an instruction.
pub(super) fn leads_elsewhere(instruction: &Instruction) -> bool {
    const BMOV: u16 = 0x155;
    let leads = leads_on(instruction) || operation(instruction) == RETURN;
    leads && ![BSSY, BMOV].contains(&operation(instruction))
}

/// Whether an instruction ends all threads that come to it.
pub(super) fn ends_threads(instruction: &Instruction) -> bool {
    operation(instruction) == EXIT && is_for_all(instruction)
}
