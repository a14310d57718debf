//! How many cycles pass until others can start, use what an instruction has made, or
//! write over what it reads.
//!
//! All is measured: in programs put together of single instructions, which nvlink
//! recoded, and by how long instructions of real packages keep the next ones waiting.

use super::instruction::{Chip, loads_memory, operation};
use super::registers::Accesses;

/// The part of a processor that an instruction runs on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    /// Integers, comparisons and moves, for half a warp in a cycle.
    Integer,
    /// The simpler of them on processors for graphics, for a whole warp.
    WholeInteger,
    /// Sums of integers on processors for graphics.
    Sum,
    /// Products, for half a warp in a cycle.
    Product,
    /// Products of twice the width, on the same part.
    WideProduct,
    /// Products and sums of floats, on the same part, for a whole warp.
    Float,
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
    /// Constants, and special registers of a warp.
    Constant,
    /// Barriers of blocks.
    Barrier,
    /// What threads of a warp have in common.
    Match,
    Matrix,
    /// BSSY, which says where threads meet.
    Meeting,
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
            // IADD, which others count among products.
            0x035 if is_graphics => Self::Sum,
            // IMAD, IDP, HADD2, HFMA2, HMUL2, VIADD.
            0x024 | 0x026 | 0x030..=0x032 | 0x035 | 0x036 => Self::Product,
            // DMUL, DADD, DSETP, DFMA.
            0x028..=0x02b => Self::Double,
            // UMOV, VOTEU.
            0x082 | 0x086 => Self::WarpMove,
            // R2UR.
            0x0ca => Self::ToWarp,
            // PREEXIT, LDC, S2UR.
            0x02d | 0x182 | 0x1c3 => Self::Constant,
            // IMMA, HMMA, DMMA, QMMA.
            0x037 | 0x03c | 0x03f | 0x07a => Self::Matrix,
            // LDSM.
            0x03b => Self::Memory,
            0x04a | 0x054 | 0x055 | 0x05a | 0x05c | 0x080..=0x0bf => Self::Warp,
            // MOV, CS2R, VOTE, SEL, FSEL, FMNMX, FSET, FSETP, ISETP, IMNMX, VIMNMX.
            0x002 | 0x005..=0x00c | 0x017 | 0x048 if is_graphics => Self::WholeInteger,
            0x000..=0x07f => Self::Integer,
            0x100..=0x113 => Self::Function,
            // BAR.
            0x11d => Self::Barrier,
            // MATCH, REDUX.
            0x1a1 | 0x1c4 => Self::Match,
            0x180..=0x191 | 0x1a2..=0x1a9 | 0x1ae => Self::Memory,
            0x145 => Self::Meeting,
            0x140..=0x15f => Self::Control,
            _ => Self::Other,
        }
    }

    /// Cycles until the same part can start something else.
    fn busy(self, chip: Chip) -> u32 {
        match self {
            Self::Integer | Self::Product | Self::ToWarp => 2,
            Self::WideProduct | Self::Memory => 4,
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
            Self::Float | Self::WideProduct => Self::Product,
            Self::ToWarp => Self::Integer,
            Self::Barrier => Self::Constant,
            other => other,
        }
    }

    /// Cycles until something else can start, used or not.
    pub(super) fn spacing(self, next: Self, chip: Chip) -> u32 {
        match (self, next) {
            (Self::Sum, Self::Integer | Self::ToWarp) => 3,
            (Self::Sum, _) => 2,
            (Self::Meeting, Self::Control) => 4,
            _ if self.part() == next.part() => self.busy(chip),
            _ => 1,
        }
    }
}

/// Cycles until an instruction can use what another one has made without a
/// scoreboard; nothing if it does not use it.
pub(super) fn forwarding(maker: (Unit, &Accesses), user: (Unit, &Accesses)) -> Option<u32> {
    let ((from, first), (to, second)) = (maker, user);
    if first.decides(second) {
        let is_guard = first.guards(second);
        return Some(match (from, to) {
            (Unit::Warp, Unit::Control) => 9,
            (Unit::Warp, _) if is_guard => 11,
            (Unit::Double, _) if is_guard => 14,
            (Unit::Double, _) => 6,
            (Unit::Warp, _) => 4,
            _ if is_guard || to == Unit::Control => 13,
            _ if to.part() == Unit::Product => 5,
            _ => 4,
        });
    }
    if !first.is_used_by(second) {
        return None;
    }
    let part = |unit: Unit| match unit.part() {
        Unit::WholeInteger | Unit::Sum => Unit::Integer,
        part => part,
    };
    Some(match (part(from), part(to)) {
        (Unit::WarpMove, _) => 2,
        (Unit::Integer, _) if from == Unit::ToWarp => 13,
        (Unit::Warp, Unit::Warp) => 4,
        (Unit::Warp, Unit::Memory) => 9,
        (Unit::Warp, _) => 6,
        (Unit::Double, Unit::Double) => 8,
        (Unit::Double, Unit::Function) => 6,
        (Unit::Double, Unit::Memory) => 7,
        (Unit::Double, _) => 10,
        (_, Unit::Function) => 4,
        (_, Unit::Double) => 6,
        (_, Unit::Matrix) => 7,
        (from, to) if from == to => 4,
        _ => 5,
    })
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
    let is_slow = chip != Chip::FastDoubles;
    match (operation(instruction), is_write) {
        // Time that is known passes in NOPs.
        (0x028..=0x02b, _) => 1,
        (0x110..=0x113, _) if is_slow => 1,
        (_, true) if loads_memory(instruction) => 290,
        // LDC, LDS, LDSM, S2R.
        (0x182, true) => 48,
        (0x184, true) => 40,
        (0x03b, true) => 37,
        (0x119, true) => 32,
        // REDUX, S2UR, SHFL, ATOMS, MATCH.
        (0x1c4, true) => 25,
        (0x1c3 | 0x189 | 0x18c | 0x1a1, true) => 24,
        // LDCU.
        (0x1ac, true) => 18,
        // MUFU.
        (0x108, true) if chip == Chip::Graphics => 18,
        (0x108, true) => 17,
        // BMOV.
        (0x155, true) => 10,
        (_, true) => 15,
        // UBLKCP, MEMBAR.
        (0x1ba, false) => 2,
        (0x192, false) => 6,
        (operation, false) => {
            let sources = accesses.map_or(1, Accesses::sources);
            let start = match operation {
                0x100..=0x10f => READ_START + 1,
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
    fn functions_take_longer_on_processors_for_graphics() {
        let written = |chip: Chip| cycles(RECIPROCAL, true, chip);
        assert_eq!([Chip::FastDoubles, Chip::Graphics].map(written), [17, 18]);
        assert_eq!(cycles(LOAD, true, Chip::Graphics), 40);
    }

    #[test]
    fn parts_are_busy_for_half_a_warp() {
        let unit = |operation: u16, chip: Chip| {
            let [low, high] = operation.to_le_bytes();
            Unit::of(&[low, high], chip)
        };
        let (iadd3, imad, wide, ffma, isetp) = (0x210, 0x224, 0x225, 0x223, 0x20c);
        let spacing = |first: u16, second: u16, chip: Chip| {
            unit(first, chip).spacing(unit(second, chip), chip)
        };
        let (bar, nop, bssy, bra) = (0xb1d, 0x918, 0x945, 0x947);
        for (first, second, fast, graphics) in [
            (iadd3, iadd3, 2, 2),
            (iadd3, imad, 1, 1),
            (wide, ffma, 4, 4),
            (ffma, imad, 1, 1),
            (isetp, isetp, 2, 1),
            (bar, nop, 1, 1),
            (bar, bar, 8, 8),
            (bssy, bra, 4, 4),
        ] {
            assert_eq!(spacing(first, second, Chip::FastDoubles), fast);
            assert_eq!(spacing(first, second, Chip::Graphics), graphics);
        }
    }
}
