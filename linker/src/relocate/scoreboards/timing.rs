//! How many cycles pass until others can start, use what an instruction has made, or
//! write over what it reads.
//!
//! All is measured: in programs put together of single instructions, which nvlink
//! recoded, and by how long instructions of real packages keep the next ones waiting.

use super::instruction::{
    Chip, DOUBLE_MATRICES, FENCE, MEMORY_BARRIER, PHASE, SYNCS, SYNCS_EXCHANGE, loads_memory,
    opcode, operation,
};
use super::operands::{File, file, is_arithmetic_of_warps, is_long};
use super::registers::Accesses;

/// The part of a processor that an instruction runs on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    /// Integers, comparisons and moves, for half a warp in a cycle.
    Integer,
    /// The simpler of them on processors for graphics, for a whole warp.
    WholeInteger,
    /// Sums of 64 bits on processors for graphics.
    Long,
    /// Moves and choices of 64 bits on the same.
    LongMove,
    /// Comparisons of 64 bits on the same.
    LongCompare,
    /// Products, for half a warp in a cycle.
    Product,
    /// Products of twice the width, on the same part.
    WideProduct,
    /// Products and sums of floats, on the same part, for a whole warp.
    Float,
    /// Those of two halves, on the same part.
    Halves,
    Double,
    /// For all threads of a warp at once.
    Warp,
    /// Constants and votes for such registers.
    WarpMove,
    /// From threads to their warp.
    ToWarp,
    Memory,
    /// Functions of floats, conversions, and counts of bits.
    Function,
    /// Powers of two, on the same part, where they take half as long.
    PowerOfTwo,
    /// How many bits are set, where that has a part of its own.
    Count,
    /// Constants, and special registers of a warp.
    Constant,
    /// Barriers of blocks.
    Barrier,
    /// What threads of a warp have in common.
    Match,
    Matrix,
    /// BSSY, which says where threads meet.
    Meeting,
    /// BMOV, which copies that.
    MeetingMove,
    Control,
    Other,
}

impl Unit {
    pub(super) fn of(instruction: &[u8], chip: Chip) -> Self {
        let is_graphics = chip == Chip::Graphics;
        match operation(instruction) {
            // FMUL, FADD, FFMA.
            0x020 | 0x021 | 0x023 => Self::Float,
            // IMAD.WIDE, IMAD.HI.
            0x025 | 0x027 => Self::WideProduct,
            // HADD2, HFMA2, HMUL2.
            0x030..=0x032 => Self::Halves,
            // IADD, which others count among products.
            0x035 if is_graphics => Self::Long,
            // MOV and SEL of 64 bits.
            0x002 | 0x007 if is_graphics && is_long(instruction) => Self::LongMove,
            // ISETP of 64 bits, and IMNMX.
            0x00c | 0x017 if is_graphics && is_long(instruction) => Self::LongCompare,
            // FMUL2, not UVIMNMX.
            0x04a if file(instruction) == File::Thread => Self::Product,
            // IMAD, IDP, VIADD, FFMA2, FADD2.
            0x024 | 0x026 | 0x035 | 0x036 | 0x049 | 0x04b => Self::Product,
            // DMUL, DADD, DSETP, DFMA.
            0x028..=0x02b => Self::Double,
            // UMOV, VOTEU.
            0x082 | 0x086 => Self::WarpMove,
            // R2UR.
            0x0ca => Self::ToWarp,
            // PREEXIT, LDC, S2UR.
            0x02d | 0x182 | 0x1c3 => Self::Constant,
            // IMMA, HMMA, DMMA, QMMA, OMMA.
            0x037 | 0x03c | 0x03f | 0x07a | 0x07f => Self::Matrix,
            // LDSM.
            0x03b => Self::Memory,
            operation if is_arithmetic_of_warps(operation) => Self::Warp,
            // MOV, CS2R, VOTE, SEL, FSEL, FMNMX, FSET, FSETP, ISETP, IMNMX, VIMNMX, RPCMOV.
            0x002 | 0x005..=0x00c | 0x017 | 0x048 if is_graphics => Self::WholeInteger,
            0x152 | 0x153 if is_graphics => Self::WholeInteger,
            0x000..=0x07f | 0x152 | 0x153 => Self::Integer,
            0x108 if is_power_of_two(instruction, chip) => Self::PowerOfTwo,
            // POPC.
            0x109 if chip == Chip::SlowDoubles => Self::Count,
            0x100..=0x113 => Self::Function,
            // BAR.
            0x11d => Self::Barrier,
            // MATCH, REDUX.
            0x1a1 | 0x1c4 => Self::Match,
            0x17e..=0x191 | 0x1a2..=0x1a9 | 0x1ae => Self::Memory,
            0x145 => Self::Meeting,
            0x155 => Self::MeetingMove,
            0x140..=0x15f => Self::Control,
            _ => Self::Other,
        }
    }

    /// Cycles until the same part can start something else.
    fn busy(self, chip: Chip) -> u32 {
        match self {
            Self::Integer | Self::Product | Self::Halves | Self::ToWarp => 2,
            Self::WideProduct | Self::Memory | Self::PowerOfTwo => 4,
            Self::Double if chip == Chip::FastDoubles => 2,
            Self::Warp if chip != Chip::Graphics => 2,
            Self::Function if chip == Chip::Graphics => 1,
            Self::Function | Self::Constant | Self::Barrier | Self::Matrix | Self::Match => 8,
            _ => 1,
        }
    }

    /// What shares a part with others.
    fn part(self) -> Self {
        match self {
            Self::Float | Self::WideProduct | Self::Halves => Self::Product,
            Self::ToWarp => Self::Integer,
            Self::PowerOfTwo => Self::Function,
            Self::Barrier => Self::Constant,
            other => other,
        }
    }

    /// The same, of which parts only functions are told apart.
    fn part_of_functions(self) -> Self {
        match self {
            Self::PowerOfTwo | Self::Count => Self::Function,
            other => other,
        }
    }

    /// Whether its results are there after a time that is known.
    pub(super) fn has_fixed_time(self) -> bool {
        matches!(
            self.part(),
            Self::Integer
                | Self::WholeInteger
                | Self::Long
                | Self::LongMove
                | Self::LongCompare
                | Self::Product
                | Self::Warp
                | Self::WarpMove
        )
    }

    /// Whether it is a function, which comes to its end behind those before it.
    pub(super) fn is_function(self) -> bool {
        self.part_of_functions().part() == Self::Function
    }

    /// Cycles until something else can start, used or not.
    pub(super) fn spacing(self, next: Self, chip: Chip) -> u32 {
        match (self, next) {
            (Self::Long | Self::LongCompare, Self::Integer | Self::ToWarp) => 3,
            (Self::Long | Self::LongCompare, Self::Control) => 1,
            (Self::Long | Self::LongCompare, _) => 2,
            (Self::Meeting, Self::Control) => 4,
            (Self::MeetingMove, _) => 5,
            _ if self.part() == next.part() => self.busy(chip),
            _ => 1,
        }
    }
}

/// Cycles until an instruction can use what another one has made without a
/// scoreboard, write it again, or write what the other one reads; nothing if it does
/// none of that.
pub(super) fn forwarding(
    maker: (Unit, &Accesses),
    user: (Unit, &Accesses),
    chip: Chip,
) -> Option<u32> {
    let ((from, first), (to, second)) = (maker, user);
    let decided = first.decides(second).then(|| {
        let is_guard = first.guards(second) || second.asks_all_threads();
        decision(from, to, is_guard)
    });
    let read = first
        .is_read_by(second)
        .then(|| match (first.makes_lower_half_for(second), to) {
            // It is there two cycles before the upper one.
            (true, Unit::Integer | Unit::WholeInteger) => 3,
            _ if second.adds_upper_half_of(first) => result(from, to, chip) - 2,
            _ => result(from, to, chip),
        });
    let written = first.is_written_again_by(second).then(|| match to {
        // They come in their order.
        _ if to.has_fixed_time() => 0,
        Unit::Double if chip == Chip::FastDoubles && from.has_fixed_time() => 0,
        // As long as it would take until others could decide by it.
        Unit::Double if chip != Chip::FastDoubles && first.writes_predicate_again(second) => 12,
        Unit::Double | Unit::Matrix | Unit::Control => result(from, to, chip),
        // What comes at any time comes no sooner than what could be stored.
        _ => result(from, Unit::Memory, chip) + 1,
    });
    let overwritten = match (from, to) {
        // These come sooner to their result than others to their operands.
        (Unit::Warp, Unit::WarpMove) => first.is_overwritten_soon_by(second).then_some(3),
        _ if from.has_fixed_time() && !to.has_fixed_time() && to != Unit::Double => {
            first.is_overwritten_soon_by(second).then_some(2)
        }
        _ => None,
    };
    decided.max(read).max(written).max(overwritten)
}

/// Cycles until a predicate of threads is there for whoever comes in the next block.
pub(super) fn decision_in_block(from: Unit) -> u32 {
    decision(from, Unit::Other, true)
}

/// Cycles until what an instruction makes is there for whoever comes behind the end of its block.
pub(super) fn at_end(instruction: &[u8], unit: Unit, accesses: &Accesses) -> u32 {
    const REGISTER: u32 = 7;
    const UNIFORM_REGISTER: u32 = 12;
    const UNIFORM_MOVE: u32 = 8;
    let predicate = match accesses.writes_predicates() {
        true => decision_in_block(unit),
        false => 0,
    };
    let register = match unit {
        Unit::Double => double_in_block(instruction),
        _ if !unit.has_fixed_time() => 0,
        Unit::WarpMove => UNIFORM_MOVE,
        _ if accesses.writes_uniform_registers() => UNIFORM_REGISTER,
        _ => REGISTER,
    };
    predicate.max(register)
}

/// Cycles from what a block does with doubles to the next block.
pub(super) fn double_in_block(instruction: &[u8]) -> u32 {
    const DSETP: u16 = 0x02a;
    match operation(instruction) {
        DSETP => 14,
        _ => 11,
    }
}

/// Cycles until a predicate is there: for what happens only if it holds, or as an operand.
fn decision(from: Unit, to: Unit, is_guard: bool) -> u32 {
    let is_guard = is_guard || to == Unit::Control;
    match (from, to) {
        (Unit::Warp, Unit::Control) => 9,
        (Unit::Warp, _) if is_guard => 11,
        (Unit::WarpMove, _) if is_guard => 5,
        (Unit::Double | Unit::LongCompare, _) if is_guard => 14,
        (Unit::Double, _) => 6,
        (Unit::Warp, _) => 4,
        _ if is_guard => 13,
        (Unit::LongCompare, Unit::Integer) => 5,
        (Unit::LongCompare, _) => 6,
        (Unit::WholeInteger, _) => 5,
        (from, to) if from.part() == to.part() => 4,
        _ => 5,
    }
}

/// Cycles until the result is there in a register.
fn result(from: Unit, to: Unit, chip: Chip) -> u32 {
    use Unit::{Constant, Double, Function, Halves, Integer, Long, LongCompare, LongMove};
    use Unit::{Match, Matrix, Memory, ToWarp, Warp, WarpMove, WholeInteger};
    let to = to.part_of_functions();
    match (from, to) {
        (WarpMove, _) => 2,
        (ToWarp, _) => 13,
        (Warp, Warp) => 4,
        (Warp, WarpMove) => 7,
        (Warp, Memory) => 9,
        (Warp, _) => 6,
        (Double, Double) => 8,
        (Double, Function) => 6,
        (Double, Memory) => 7,
        (Double, _) => 10,
        (Matrix, _) if chip == Chip::Graphics => 26,
        (Long | LongMove | LongCompare, Double) => 7,
        (_, Double) => 6,
        (_, Matrix) => 7,
        (Long | LongMove, Long | LongMove) | (LongCompare, LongCompare) => 4,
        (Long | LongMove | LongCompare, Integer | ToWarp | Function) => 5,
        (Long | LongMove | LongCompare, _) => 6,
        (_, Function | Constant | Match) => 4,
        (WholeInteger, _) => 5,
        (Halves, Halves) => 4,
        (Halves, _) | (_, Halves) => 5,
        (from, to) if from.part() == to.part() => 4,
        _ => 5,
    }
}

/// Whether an instruction runs on the one part of a processor for floats of 64 bits, which
/// is busy with it for [`SLOW_DOUBLE`] cycles.
pub(super) fn is_slow_double(instruction: &[u8], chip: Chip) -> bool {
    // DMUL, DADD, DSETP, DFMA, and conversions with 64 bits.
    let is_double = matches!(operation(instruction), 0x028..=0x02b | 0x110..=0x113);
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

/// For how many cycles the part for doubles is busy where it is slow.
pub(super) const SLOW_DOUBLE: u32 = 64;
/// The same for a product of matrices.
const SLOW_MATRICES: u32 = 584;
pub(super) const LONGEST_SLOW: u32 = SLOW_MATRICES;

/// For how many cycles an instruction keeps the part for doubles busy where it is slow.
pub(super) fn slow_part(instruction: &[u8], chip: Chip) -> Option<u32> {
    const IMMA: u16 = 0x037;
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

/// Whether a SYNCS that asks for a phase waits for it.
fn tries(instruction: &[u8]) -> bool {
    opcode(instruction) == PHASE && instruction[9] & 1 == 1
}

/// Cycles until the result of an instruction is written or its operands are read.
pub(super) fn latency(
    instruction: &[u8],
    accesses: Option<&Accesses>,
    is_write: bool,
    chip: Chip,
) -> u32 {
    /// Every register is read in turn, after a start.
    const READ_START: u32 = 6;
    const READ_REGISTER: u32 = 2;
    /// The guard of what always happens.
    const ALWAYS: u8 = 7;
    let is_slow = chip != Chip::FastDoubles;
    match (operation(instruction), is_write) {
        // Time that is known passes in NOPs.
        (0x028..=0x02b, _) => 1,
        // So does that of conversions from 64 bits, but of I2F to them not on processors for graphics.
        (0x110 | 0x111 | 0x113, _) if is_slow => 1,
        (0x112, _) if chip == Chip::SlowDoubles => 1,
        (_, true) if loads_memory(instruction) => 290,
        // LDC, LDS, LDSM, S2R.
        (0x182, true) => 48,
        (0x184, true) if chip == Chip::Graphics && width(instruction) == Width::Two => 41,
        (0x184, true) => 40,
        (0x03b, true) => 37,
        (0x119, true) => 32,
        // What tries for a while keeps its operands as long. Others that ask for a phase do not.
        (SYNCS, false) if tries(instruction) => 300,
        (SYNCS, _) if opcode(instruction) == PHASE => 15,
        (SYNCS, true) => 24,
        (SYNCS, false) => 17,
        (SYNCS_EXCHANGE | FENCE, true) => 24,
        // REDUX, S2UR, SHFL, ATOMS, MATCH.
        (0x1c4, true) => 25,
        (0x1c3 | 0x189 | 0x18c | 0x1a1, true) => 24,
        // B2R: 21 to 28 say the same of all code that was seen.
        (0x11c, true) => 24,
        // LDCU.
        (0x1ac, true) => 18,
        // MUFU.
        (0x108, true) if is_slow => 18,
        (0x108, true) => 17,
        // BMOV.
        (0x155, true) => 10,
        (_, true) => 15,
        // UBLKCP, SYNCS.EXCH that a predicate decides about, and UTMALDG, UTMAREDG and UTMAPF
        // that none does.
        (0x1ba, false) => 2,
        (SYNCS_EXCHANGE, false) if instruction[1] >> 4 != ALWAYS => 2,
        (SYNCS_EXCHANGE, false) => 13,
        (0x1b4 | 0x1b6 | 0x1b8, false) if instruction[1] >> 4 == ALWAYS => 2,
        (MEMORY_BARRIER, false) => 6,
        (operation, false) => {
            let sources = accesses.map_or(1, Accesses::sources);
            let start = match operation {
                0x100..=0x10f => READ_START + 1,
                0x184 if chip == Chip::Graphics && width(instruction) == Width::Four => {
                    READ_START + 1
                }
                _ => READ_START,
            };
            start + READ_REGISTER * sources
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// MUFU.RCP R8, R7, and LDS.128 R4, [UR4+0x84].
    const RECIPROCAL: u128 = 0x1_0000_0000_0007_0008_7308;
    const LOAD: u128 = 0x800_0c00_0084_0004_ff04_7984;
    /// STS [R12], R13 and the same with four registers.
    const STORE: u128 = 0x800_0800_0000_000d_0c00_7988;
    const WIDE_STORE: u128 = STORE | 4 << 72;

    fn cycles(instruction: u128, is_write: bool, chip: Chip) -> u32 {
        let instruction = instruction.to_le_bytes();
        let accesses = Accesses::of(&instruction);
        latency(&instruction, accesses.as_ref(), is_write, chip)
    }

    #[test]
    fn operands_take_two_cycles_for_each_register() {
        let read = |instruction: u128| cycles(instruction, false, Chip::FastDoubles);
        assert_eq!(
            [LOAD, STORE, WIDE_STORE, RECIPROCAL].map(read),
            [6, 10, 16, 9]
        );
    }

    #[test]
    fn fences_end_late_and_exchanges_by_predicate_read_at_once() {
        // FENCE.VIEW.ASYNC.S and SYNCS.EXCH.64 URZ, [UR19], UR6, and the same if UP0 holds.
        let [fence, exchange] = [0x73c6, 0x0800_0100_0000_0006_13ff_75b2];
        let guarded = exchange & !(7 << 12);
        let on = |instruction: u128, is_write: bool| cycles(instruction, is_write, Chip::Graphics);
        assert_eq!([fence, exchange].map(|i| on(i, true)), [24; 2]);
        assert_eq!([exchange, guarded].map(|i| on(i, false)), [13, 2]);
    }

    #[test]
    fn wide_loads_from_shared_memory_take_longer_on_processors_for_graphics() {
        // LDS.64 R4, [UR4+0x84] and LDS R4, [UR4+0x84]
        const PAIR: u128 = LOAD ^ 6 << 72;
        const SINGLE: u128 = LOAD ^ 4 << 72;
        let times = |is_write: bool, chip: Chip| {
            [SINGLE, PAIR, LOAD].map(|load| cycles(load, is_write, chip))
        };
        assert_eq!(times(false, Chip::Graphics), [6, 6, 7]);
        assert_eq!(times(false, Chip::SlowDoubles), [6, 6, 6]);
        assert_eq!(times(true, Chip::Graphics), [40, 41, 40]);
        assert_eq!(times(true, Chip::SlowDoubles), [40, 40, 40]);
    }

    #[test]
    fn functions_take_longer_on_processors_for_graphics() {
        let written = |chip: Chip| cycles(RECIPROCAL, true, chip);
        assert_eq!([Chip::FastDoubles, Chip::Graphics].map(written), [17, 18]);
        assert_eq!(cycles(LOAD, true, Chip::Graphics), 40);
    }

    /// What an instruction runs on, and what it does with registers.
    fn of(instruction: u128, chip: Chip) -> (Unit, Accesses) {
        let instruction = instruction.to_le_bytes();
        let accesses = Accesses::of(&instruction).unwrap();
        (Unit::of(&instruction, chip), accesses)
    }

    fn distance(first: u128, second: u128, chip: Chip) -> Option<u32> {
        let (from, to) = (of(first, chip), of(second, chip));
        forwarding((from.0, &from.1), (to.0, &to.1), chip)
    }

    /// What takes no scoreboard, and names no predicate.
    const FREE: u128 = 0x3f << 110;
    const NO_PREDICATES: u128 = 7 << 87 | 7 << 84 | 7 << 81 | 7 << 77 | 7 << 12;
    /// IMAD.WIDE R4, R6, R7, R8, and IADD3 R10, R4, R11, RZ and the same of R5.
    const WIDE: u128 = FREE | NO_PREDICATES | 0x8_0000_0007_0604_0225;
    const SUM: u128 = FREE | NO_PREDICATES | 0xff_0000_000b_040a_0210;

    #[test]
    fn halves_of_wide_products_come_and_go_apart() {
        let on = |first: u128, second: u128| distance(first, second, Chip::FastDoubles);
        let upper = |instruction: u128| instruction + (1 << 24);
        assert_eq!(
            [SUM, upper(SUM)].map(|sum| on(WIDE, sum)),
            [Some(3), Some(5)]
        );
        // What it adds is read as late.
        let making = |register: u128| (SUM & !(0xff << 16)) | register << 16;
        let found = [6, 8, 9].map(|register| on(making(register), WIDE));
        assert_eq!(found, [Some(5), Some(5), Some(3)]);
        // LDC R4, c[0x0][0x380], which writes what the sum reads.
        let load = FREE | 0x7b82_u128 | 0x0000_e000_ff04_0000 | 8 << 72;
        assert_eq!(on(SUM, load), Some(2));
        // MUFU.RCP R4, R7 and LDS R4, [R20], and S2UR UR4, which writes no register of threads.
        let function = FREE | 0x0000_1000_0000_0007_0004_7308;
        let shared = FREE | 0x0000_0800_0000_0000_1404_7984;
        let special = FREE | 0x0000_2500_0000_0004_79c3;
        let found = [function, shared, special].map(|user| on(SUM, user));
        assert_eq!(found, [Some(2), Some(2), None]);
        // What comes at any time is written again as late as it could be stored.
        let again = [function, shared, load].map(|user| on(making(4), user));
        assert_eq!(again, [Some(6); 3]);
        // What is written again keeps its order.
        assert_eq!(on(making(4), WIDE), Some(0));
    }

    #[test]
    fn constants_of_warps_keep_away_from_what_others_read() {
        // UIADD3 UR7, UR4, UR5, URZ and UMOV UR4, URZ.
        let sum = FREE | NO_PREDICATES | 0xff_0000_0005_0407_0290;
        let mov = FREE | 7 << 12 | 0x00ff_0004_0c82;
        let free = mov + (2 << 16);
        let on = |second: u128| distance(sum, second, Chip::FastDoubles);
        assert_eq!([mov, free].map(on), [Some(3), None]);
    }

    #[test]
    fn whole_warps_and_long_numbers_take_longer_on_graphics() {
        // MOV R4, R12 and the same of two registers, and ISETP P0, R4, R11 of two.
        let mov = FREE | 7 << 12 | 0x000c_0004_0202;
        let long = mov | 1 << 80;
        let compare = FREE | (NO_PREDICATES & !(7 << 81)) | 1 << 80 | 0x000b_0400_020c;
        let on = |first: u128, second: u128| {
            [Chip::FastDoubles, Chip::Graphics].map(|chip| distance(first, second, chip))
        };
        assert_eq!(on(mov, SUM), [Some(4), Some(5)]);
        assert_eq!(on(mov, compare), [Some(4), Some(5)]);
        assert_eq!(on(long, SUM)[1], Some(5));
        assert_eq!(on(long, compare)[1], Some(6));
        // What happens only if it holds.
        let guarded = SUM & !(7 << 12);
        assert_eq!(on(compare, guarded), [Some(13), Some(14)]);
    }

    #[test]
    fn parts_are_busy_for_half_a_warp() {
        let unit =
            |operation: u16, chip: Chip| Unit::of(&u128::from(operation).to_le_bytes(), chip);
        let (iadd3, imad, wide, ffma, isetp) = (0x210, 0x224, 0x225, 0x223, 0x20c);
        let spacing = |first: u16, second: u16, chip: Chip| {
            unit(first, chip).spacing(unit(second, chip), chip)
        };
        let (bar, nop, bssy, bmov, bra) = (0xb1d, 0x918, 0x945, 0x355, 0x947);
        for (first, second, fast, graphics) in [
            (iadd3, iadd3, 2, 2),
            (iadd3, imad, 1, 1),
            (wide, ffma, 4, 4),
            (ffma, imad, 1, 1),
            (isetp, isetp, 2, 1),
            (bar, nop, 1, 1),
            (bar, bar, 8, 8),
            (bssy, bra, 4, 4),
            (bmov, nop, 5, 5),
            // IADD.64, which is among products elsewhere.
            (0x235, nop, 1, 2),
            (0x235, bra, 1, 1),
        ] {
            assert_eq!(spacing(first, second, Chip::FastDoubles), fast);
            assert_eq!(spacing(first, second, Chip::Graphics), graphics);
        }
    }
}
