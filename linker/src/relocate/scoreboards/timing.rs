//! How many cycles pass until others can start, use what an instruction has made, or
//! write over what it reads.
//!
//! All is measured: in programs put together of single instructions, which nvlink
//! recoded, and by how long instructions of real packages keep the next ones waiting.

mod unit;

use std::ops::RangeInclusive;

use super::Until;
use super::instruction::{
    Chip, DOUBLE_MATRICES, FENCE, MEMORY_BARRIER, PHASE, SYNCS, SYNCS_CONTROL, SYNCS_EXCHANGE,
    loads_memory, opcode, operation,
};
use super::operands::IMMA;
use super::registers::Accesses;

pub(super) use unit::Unit;

/// DSETP.
const DOUBLE_COMPARISON: u16 = 0x02a;
/// F2F, F2I, I2F and FRND with 64 bits.
pub(super) const LONG_CONVERSIONS: RangeInclusive<u16> = 0x110..=0x113;

/// Cycles until an instruction can use what another one has made without a
/// scoreboard, write it again, or write what the other one reads; nothing if it does
/// none of that.
pub(super) fn forwarding(
    maker: (Unit, &Accesses),
    user: (Unit, &Accesses),
    chip: Chip,
) -> Option<u32> {
    let ((from, first), (to, second)) = (maker, user);
    // Memory barriers take the time although they wait for no predicate.
    let is_guarded = first.guards_in_time(second);
    let decided = (is_guarded || first.decides(second)).then(|| {
        let decided = match is_guarded || second.asks_all_threads() {
            true => Decided::Happening,
            false => Decided::Operand,
        };
        decision(from, to, decided, chip)
    });
    let read = first
        .is_read_by(second)
        .then(|| until_read(maker, user, chip));
    let written = first
        .is_written_again_by(second)
        .then(|| until_written_again(maker, user, chip));
    let overwritten = until_overwritten(maker, user, chip);
    // A warp and its threads do not get a register of it one right behind the other.
    let shared = from == Unit::Warp && !matches!(to, Unit::Warp | Unit::WarpMove);
    let shared = (shared && first.reads_uniform_with(second)).then_some(2);
    decided.max(read).max(written).max(overwritten).max(shared)
}

/// Cycles until an instruction can read what another one makes.
fn until_read(maker: (Unit, &Accesses), user: (Unit, &Accesses), chip: Chip) -> u32 {
    let ((from, first), (to, second)) = (maker, user);
    let result = result(from, to, chip);
    match (first.makes_lower_half_for(second), to) {
        // It is there two cycles before the upper one.
        (true, Unit::Integer | Unit::WholeInteger | Unit::ToWarp) => 3,
        _ if second.adds_upper_half_of(first) => result - 2,
        _ if second.multiplies_upper_half_of(first) => UPPER_HALF_AS_FACTOR,
        _ if first.copies_two_registers() && to != Unit::Memory => WIDE_COPY.max(result),
        _ => result,
    }
}

/// Cycles until an instruction can write what another one writes, too.
fn until_written_again(maker: (Unit, &Accesses), user: (Unit, &Accesses), chip: Chip) -> u32 {
    let ((from, first), (to, second)) = (maker, user);
    match to {
        // Halves decide sooner than others where doubles are fast.
        Unit::HalvesChoice
            if chip == Chip::FastDoubles
                && from.part() == Unit::Integer
                && from != Unit::HalvesChoice
                && first.writes_predicate_again(second) =>
        {
            DECIDED_AGAIN
        }
        // They come in their order, but behind doubles and matrices.
        _ if to.has_fixed_time() => match (from, second.copies_two_registers()) {
            (Unit::Double, false) => 6,
            (Unit::Double, true) => 4,
            // What a warp gets of its threads comes later than what it computes.
            (Unit::ToWarp, _) => match to {
                Unit::ToWarp => 0,
                Unit::WarpMove => 11,
                Unit::Warp => 9,
                _ => 10,
            },
            // Products come one cycle later.
            _ if from.is_matrix() && to.part() == Unit::Product => result(from, to, chip) - 2,
            _ if from.is_matrix() => result(from, to, chip) - 3,
            _ => 0,
        },
        Unit::Double if chip == Chip::FastDoubles && from.has_fixed_time() => 0,
        // As long as it would take until others could decide by it.
        Unit::Double if chip != Chip::FastDoubles && first.writes_predicate_again(second) => 12,
        Unit::Double if first.writes_predicate_again(second) => result(from, to, chip) - 2,
        _ if to.is_matrix() && from.has_fixed_time() => result(from, to, chip) - 1,
        _ if to.is_matrix() => result(from, to, chip),
        Unit::Double | Unit::Control => result(from, to, chip),
        // What comes at any time comes no sooner than what could be stored.
        _ => match from {
            Unit::Double => 10,
            _ if from.is_matrix() => result(from, Unit::Memory, chip),
            Unit::Warp | Unit::WarpMove => result(from, Unit::Memory, chip) + 2,
            _ => result(from, Unit::Memory, chip) + 1,
        },
    }
}

/// Cycles until an instruction can write what another one reads, if that is not at once.
fn until_overwritten(maker: (Unit, &Accesses), user: (Unit, &Accesses), chip: Chip) -> Option<u32> {
    let ((from, first), (to, second)) = (maker, user);
    let cycles = match (from, to) {
        // These come sooner to their result than others to their operands.
        (Unit::Warp, Unit::WarpMove) => 3,
        (Unit::Warp, Unit::Constant | Unit::WarpMemory) => return None,
        _ if from.is_matrix() && chip == Chip::Graphics => match to.has_fixed_time() {
            true => FACTORS_KEPT,
            false => return None,
        },
        _ if from.has_fixed_time() && !to.has_fixed_time() && to != Unit::Double => 2,
        _ => return None,
    };
    first.is_overwritten_soon_by(second).then_some(cycles)
}

/// Cycles until a comparison of halves can write a predicate that others wrote.
const DECIDED_AGAIN: u32 = 8;

/// Cycles until a product of twice the width can multiply the upper half that another one makes.
const UPPER_HALF_AS_FACTOR: u32 = 6;

/// Cycles until arithmetic can write what a product of matrices reads, on processors for graphics.
const FACTORS_KEPT: u32 = 8;

/// Cycles until both registers of a CS2R are there.
const WIDE_COPY: u32 = 6;

/// Cycles until a predicate of threads is there for whoever comes in the next block.
pub(super) fn decision_in_block(from: Unit) -> u32 {
    decision(from, Unit::Other, Decided::Happening, Chip::FastDoubles)
}

/// Cycles until what an instruction makes is there for whoever comes behind the end of its block.
pub(super) fn at_end(instruction: &[u8], unit: Unit, accesses: &Accesses, chip: Chip) -> u32 {
    const REGISTER: u32 = 7;
    const LONG_REGISTER: u32 = 8;
    const UNIFORM_REGISTER: u32 = 12;
    const UNIFORM_MOVE: u32 = 8;
    const TO_WARP: u32 = 15;
    const UNIFORM_PREDICATE: u32 = 11;
    const PRODUCT: u32 = 20;
    const PRODUCT_FOR_GRAPHICS: u32 = 29;
    const PRODUCT_OF_INTEGERS: u32 = 27;
    let predicate = match accesses.writes_predicates() {
        true => decision_in_block(unit),
        false if accesses.writes_uniform_predicates() && unit.has_fixed_time() => UNIFORM_PREDICATE,
        false => 0,
    };
    let register = match unit {
        Unit::Double => double_in_block(instruction),
        Unit::IntegerMatrix => PRODUCT_OF_INTEGERS,
        Unit::Matrix if chip == Chip::Graphics => PRODUCT_FOR_GRAPHICS,
        Unit::Matrix => PRODUCT,
        _ if !unit.has_fixed_time() => 0,
        Unit::WarpMove => UNIFORM_MOVE,
        Unit::Long | Unit::LongMove => LONG_REGISTER,
        Unit::ToWarp => TO_WARP,
        _ if accesses.writes_uniform_registers() => UNIFORM_REGISTER,
        _ if accesses.writes_registers() => REGISTER,
        _ => 0,
    };
    predicate.max(register)
}

/// Cycles from what a block does with doubles to the next block.
pub(super) fn double_in_block(instruction: &[u8]) -> u32 {
    match operation(instruction) {
        DOUBLE_COMPARISON => 14,
        _ => 11,
    }
}

/// What a predicate decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Decided {
    /// Whether something happens, for threads or for all of them.
    Happening,
    /// What comes of it.
    Operand,
}

/// Cycles until a predicate is there.
fn decision(from: Unit, to: Unit, decided: Decided, chip: Chip) -> u32 {
    let is_guard = decided == Decided::Happening || to == Unit::Control;
    match (from, to) {
        (Unit::Warp, Unit::Control) => 9,
        (Unit::WarpMove, Unit::Control) => 2,
        (Unit::Warp, _) if is_guard => 11,
        (Unit::WarpMove, _) if is_guard => 5,
        (Unit::Double | Unit::LongCompare, _) if is_guard => 14,
        (Unit::Double, _) => 6,
        (Unit::Warp, Unit::Warp | Unit::WarpMove) => 4,
        (Unit::Warp, _) => 6,
        (Unit::WarpMove, _) => 1,
        _ if is_guard => 13,
        (Unit::ToWarp, _) => 8,
        (_, Unit::Memory | Unit::Double) => 13,
        (Unit::HalvesChoice, Unit::Logic) if chip == Chip::SlowDoubles => 4,
        (Unit::HalvesChoice, Unit::Integer) if chip == Chip::Graphics => 4,
        (Unit::HalvesChoice, _) => 5,
        (_, Unit::HalvesChoice) if chip == Chip::FastDoubles => 13,
        (_, Unit::HalvesChoice) if chip == Chip::SlowDoubles => 5,
        (Unit::LongCompare, Unit::Integer) => 5,
        (Unit::LongCompare, _) => 6,
        (Unit::WholeInteger, _) => 5,
        (from, to) if from.part() == to.part() => 4,
        _ => 5,
    }
}

/// Cycles until the result is there in a register.
fn result(from: Unit, to: Unit, chip: Chip) -> u32 {
    use Unit::{
        Constant, Double, Function, Halves, HalvesChoice, Integer, Long, LongCompare, LongMove,
    };
    use Unit::{
        IntegerMatrix, Match, Matrix, Memory, Texture, ToWarp, Warp, WarpMemory, WarpMove,
        WholeInteger,
    };
    let to = to.part_of_functions();
    match (from, to) {
        (WarpMove, Unit::Control) => 3,
        (WarpMove, _) => 2,
        (ToWarp, _) => 13,
        (Warp, Warp) => 4,
        (Warp, WarpMove) => 7,
        (Warp, Memory | Function | Texture) => 9,
        (Warp, WarpMemory) => 12,
        (Warp, _) => 6,
        (Double, Double) => 8,
        (Double, Function) => 6,
        (Double, Memory | Texture) => 7,
        (Double, _) => 10,
        (IntegerMatrix, _) => 26,
        (Matrix, Matrix) if chip == Chip::Graphics => 29,
        (Matrix, _) if chip == Chip::Graphics => 28,
        (Matrix, Matrix) => 20,
        (Matrix, _) => 19,
        (Long | LongMove | LongCompare, Double) => 7,
        (_, Double) => 6,
        (_, Matrix | IntegerMatrix) => 7,
        (Long | LongMove, Long | LongMove) | (LongCompare, LongCompare) => 4,
        (Long | LongMove | LongCompare, Integer | ToWarp | Function | Texture) => 5,
        (Long | LongMove | LongCompare, _) => 6,
        (_, Function | Constant | Match | Texture) => 4,
        (WholeInteger, _) => 5,
        (Halves, Halves) | (HalvesChoice, HalvesChoice) => 4,
        (Halves | HalvesChoice, _) | (_, Halves | HalvesChoice) => 5,
        (from, to) if from.part() == to.part() => 4,
        _ => 5,
    }
}

/// Whether an instruction runs on the one part of a processor for floats of 64 bits, which
/// is busy with it for [`SLOW_DOUBLE`] cycles.
pub(super) fn is_slow_double(instruction: &[u8], chip: Chip) -> bool {
    // DMUL, DADD, DSETP, DFMA, and conversions with 64 bits.
    let operation = operation(instruction);
    let is_double = matches!(operation, 0x028..=0x02b) || LONG_CONVERSIONS.contains(&operation);
    is_double && chip != Chip::FastDoubles
}

/// Whether an instruction is a `MUFU.EX2` that takes half as long as other functions.
pub(super) fn is_power_of_two(instruction: &[u8], chip: Chip) -> bool {
    const FUNCTION: u16 = 0x108;
    const POWER_OF_TWO: u8 = 2;
    operation(instruction) == FUNCTION
        && instruction[9] >> 2 & 0xf == POWER_OF_TWO
        && chip == Chip::SlowDoubles
}

/// Whether an instruction has read its operands only after others could use its result.
pub(super) fn reads_behind_result(instruction: &[u8], chip: Chip) -> bool {
    is_slow_double(instruction, chip) && operation(instruction) == DOUBLE_COMPARISON
}

/// For how many cycles the part for doubles is busy where it is slow.
pub(super) const SLOW_DOUBLE: u32 = 64;
/// The same for a product of matrices.
const SLOW_MATRICES: u32 = 584;
pub(super) const LONGEST_SLOW: u32 = SLOW_MATRICES;

/// For how many cycles an instruction keeps the part for doubles busy where it is slow.
pub(super) fn slow_part(instruction: &[u8], chip: Chip) -> Option<u32> {
    match operation(instruction) {
        // Products of matrices of integers have none of their own there.
        IMMA if chip == Chip::SlowDoubles => Some(SLOW_DOUBLE),
        DOUBLE_MATRICES if chip != Chip::FastDoubles => Some(SLOW_MATRICES),
        _ => is_slow_double(instruction, chip).then_some(SLOW_DOUBLE),
    }
}

/// Cycles until its results are found, but by branches: all other time passes in NOPs.
pub(super) const SLOW_RESULT: u32 = 3;

/// How many registers an LDS writes.
#[derive(Debug, PartialEq, Eq)]
enum Width {
    One,
    Two,
    Four,
}

fn width(load: &[u8]) -> Width {
    match load[9] & 0xe {
        0xa => Width::Two,
        0xc => Width::Four,
        _ => Width::One,
    }
}

/// Whether an LDS writes two registers, from an address that no register of warps is added to.
fn is_pair_at_thread(load: &[u8]) -> bool {
    const ADDS_UNIFORM: u8 = 8;
    width(load) == Width::Two && load[11] & ADDS_UNIFORM == 0
}

/// Cycles until the result of an instruction is written or its operands are read.
pub(super) fn latency(
    instruction: &[u8],
    accesses: Option<&Accesses>,
    until: Until,
    chip: Chip,
) -> u32 {
    /// Every register is read in turn, after a start.
    const READ_START: u32 = 6;
    const READ_REGISTER: u32 = 2;
    use Until::{Read, Written};
    let is_slow = chip != Chip::FastDoubles;
    match (operation(instruction), until) {
        // Time that is known passes in NOPs, but for operands of a DSETP.
        (0x028 | 0x029 | 0x02b, _) | (DOUBLE_COMPARISON, Written) => 1,
        // So does that of conversions from 64 bits, but of I2F to them not on processors for graphics.
        (0x110 | 0x111 | 0x113, _) if is_slow => 1,
        (0x112, _) if chip == Chip::SlowDoubles => 1,
        (_, Written) if loads_memory(instruction) => 300,
        // LDC, LDS, LDSM, S2R.
        (0x182, Written) => 48,
        // LDTM.
        (0x1ee, Written) => 2,
        (0x184, Written) if chip == Chip::Graphics && is_pair_at_thread(instruction) => 41,
        (0x184, Written) => 40,
        (0x03b, Written) => 40,
        (0x119, Written) => 32,
        (SYNCS, Written) if opcode(instruction) == PHASE => 15,
        (SYNCS, Written) => 24,
        (SYNCS_EXCHANGE | SYNCS_CONTROL | FENCE, Written) => 24,
        // REDUX, S2UR, SHFL, ATOMS, ATOMS.CAS, MATCH, MOVM.
        (0x1c4, Written) => 25,
        (0x1c3 | 0x189 | 0x18c | 0x18d | 0x1a1 | 0x03a, Written) => 24,
        // Of DMMA where doubles are slow, 176 to 184 explain most.
        (DOUBLE_MATRICES, Written) if is_slow => 180,
        // Of IMMA there, 42 to 44 do.
        (IMMA, Written) if chip == Chip::SlowDoubles => 44,
        // B2R: 21 to 28 say the same of all code that was seen.
        (0x11c, Written) => 24,
        // LDCU.
        (0x1ac, Written) => 18,
        // MUFU, of which powers of two take half as long where doubles are slow.
        (0x108, Written) if is_power_of_two(instruction, chip) => 14,
        (0x108, Written) if is_slow => 18,
        (0x108, Written) => 17,
        // BMOV.
        (0x155, Written) => 6,
        (_, Written) => 15,
        // UTMALDG, UTMASTG, UTMAREDG, UTMAPF, UTMACCTL, UBLKCP, UBLKRED, UBLKPF and UMEMSETS.
        (0x1b4..=0x1b6 | 0x1b8..=0x1bc | 0x1cb, Read) => 1,
        // It has three registers of its warp.
        (SYNCS_EXCHANGE, Read) => READ_START + 3 * READ_REGISTER,
        (MEMORY_BARRIER | DOUBLE_MATRICES, Read) => 2,
        (operation, Read) => {
            let sources = accesses.map_or(1, Accesses::sources);
            let start = match operation {
                0x108 if is_power_of_two(instruction, chip) => READ_START,
                0x100..=0x10f => READ_START + 1,
                0x184 if chip == Chip::Graphics && width(instruction) == Width::Four => {
                    READ_START + 1
                }
                _ => READ_START,
            };
            // The handle of a texture or surface is read with the others.
            let handles = u32::from(accesses.is_some_and(Accesses::has_handle));
            start + READ_REGISTER * (sources + handles)
        }
    }
}

#[cfg(test)]
mod tests;
