//! The parts of a processor that instructions run on, and how long each keeps others waiting.

use super::super::instruction::{Chip, TRIGGER, operation};
use super::super::operands::{File, IMMA, file, is_arithmetic_of_warps, is_long};
use super::is_power_of_two;

/// The part of a processor that an instruction runs on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Unit {
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
    /// Comparisons of halves, on the part of integers.
    HalvesChoice,
    /// Of predicates alone, on the same part.
    Logic,
    Double,
    /// For all threads of a warp at once.
    Warp,
    /// Constants and votes for such registers.
    WarpMove,
    /// From threads to their warp.
    ToWarp,
    Memory,
    /// Textures, surfaces, barriers in shared memory, and copies that a warp asks for.
    Texture,
    /// LDCU, which loads what a warp has in common.
    WarpMemory,
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
    /// What ends a group of copies, of which it takes the part that works on memory.
    CopyGroup,
    /// Products of matrices of integers, on the same part on processors for graphics.
    IntegerMatrix,
    /// BSSY, which says where threads meet.
    Meeting,
    /// BMOV, which copies that.
    MeetingMove,
    Control,
    Other,
}

impl Unit {
    pub(in super::super) fn of(instruction: &[u8], chip: Chip) -> Self {
        let is_graphics = chip == Chip::Graphics;
        match operation(instruction) {
            TRIGGER => Self::Other,
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
            // R2UR, and the same that fills.
            0x0ca | 0x0cc => Self::ToWarp,
            // PREEXIT, LDC, S2UR.
            0x02d | 0x182 | 0x1c3 => Self::Constant,
            IMMA if is_graphics => Self::IntegerMatrix,
            // IMMA, HMMA, DMMA, QMMA, OMMA.
            0x037 | 0x03c | 0x03f | 0x07a | 0x07f => Self::Matrix,
            // MOVM, LDSM, STSM.
            0x03a | 0x03b | 0x044 => Self::Memory,
            operation if is_arithmetic_of_warps(operation) => Self::Warp,
            // MOV, CS2R, VOTE, SEL, FSEL, FMNMX, FSET, FSETP, ISETP, IMNMX, VIMNMX, RPCMOV.
            0x002 | 0x005..=0x00c | 0x017 | 0x048 if is_graphics => Self::WholeInteger,
            0x152 | 0x153 if is_graphics => Self::WholeInteger,
            // P2R, PLOP3, and HSET2, HSETP2, HMNMX2.
            0x003 | 0x01c if !is_graphics => Self::Logic,
            0x033 | 0x034 | 0x040 => Self::HalvesChoice,
            0x000..=0x07f | 0x152 | 0x153 => Self::Integer,
            0x108 if is_power_of_two(instruction, chip) => Self::PowerOfTwo,
            // POPC.
            0x109 if chip == Chip::SlowDoubles => Self::Count,
            0x100..=0x113 => Self::Function,
            // BAR.
            0x11d => Self::Barrier,
            // MATCH, REDUX.
            0x1a1 | 0x1c4 => Self::Match,
            0x160..=0x16f | 0x199..=0x19f => Self::Texture,
            0x1ac => Self::WarpMemory,
            // LDGDEPBAR.
            0x1af => Self::CopyGroup,
            // SYNCS, ARRIVES, UTMALDG, UTMASTG, UBLKCP and the like.
            0x1a7 | 0x1b0..=0x1bc | 0x1cb => Self::Texture,
            0x17e..=0x191 | 0x1a2..=0x1a9 | 0x1ae | 0x1bd | 0x1be => Self::Memory,
            0x145 => Self::Meeting,
            0x155 => Self::MeetingMove,
            0x140..=0x15f => Self::Control,
            _ => Self::Other,
        }
    }

    /// Cycles until the same part can start something else.
    fn busy(self, chip: Chip) -> u32 {
        match self {
            Self::Integer | Self::HalvesChoice | Self::Logic | Self::ToWarp => 2,
            Self::Product | Self::Halves => 2,
            Self::WideProduct | Self::Memory | Self::PowerOfTwo => 4,
            Self::Double if chip == Chip::FastDoubles => 2,
            Self::Warp if chip != Chip::Graphics => 2,
            Self::Function if chip == Chip::Graphics => 1,
            Self::Function | Self::Constant | Self::Barrier | Self::Match => 8,
            Self::Matrix | Self::IntegerMatrix => match chip {
                Chip::Graphics => 16,
                Chip::FastDoubles | Chip::SlowDoubles => 8,
            },
            _ => 1,
        }
    }

    /// What shares a part with others.
    pub(super) fn part(self) -> Self {
        match self {
            Self::Float | Self::WideProduct | Self::Halves => Self::Product,
            Self::HalvesChoice | Self::Logic | Self::ToWarp => Self::Integer,
            Self::PowerOfTwo => Self::Function,
            Self::Barrier | Self::Match => Self::Constant,
            Self::IntegerMatrix => Self::Matrix,
            other => other,
        }
    }

    /// The same, of which parts only functions are told apart.
    pub(super) fn part_of_functions(self) -> Self {
        match self {
            Self::PowerOfTwo | Self::Count => Self::Function,
            other => other,
        }
    }

    /// Whether it runs on the part of constants, barriers and what threads have in common.
    pub(in super::super) fn is_like_constants(self) -> bool {
        self.part() == Self::Constant
    }

    /// Whether it multiplies matrices.
    pub(super) fn is_matrix(self) -> bool {
        self.part() == Self::Matrix
    }

    /// Whether its results are there after a time that is known.
    pub(in super::super) fn has_fixed_time(self) -> bool {
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
    pub(in super::super) fn is_function(self) -> bool {
        self.part_of_functions().part() == Self::Function
    }

    /// Whether it takes another time, or another part of the processor, than where doubles are fast.
    pub(in super::super) fn differs(self, fast: Self) -> bool {
        self != fast || self == Self::HalvesChoice
    }

    /// Cycles until something else can start, used or not.
    pub(in super::super) fn spacing(self, next: Self, chip: Chip) -> u32 {
        match (self, next) {
            (Self::Long | Self::LongCompare, Self::Integer | Self::ToWarp) => 3,
            (Self::Long | Self::LongCompare, Self::Control) => 1,
            (Self::Long | Self::LongCompare, _) => 2,
            (Self::Meeting, Self::Control | Self::Meeting | Self::MeetingMove) => 4,
            (Self::MeetingMove, _) => 5,
            (Self::Memory, Self::CopyGroup) => 4,
            _ if self.part() == next.part() => self.busy(chip),
            _ => 1,
        }
    }

    /// The same behind what was late. Others gain on numbers of 64 bits, as far as they do not
    /// use them.
    pub(in super::super) fn spacing_when_late(self, next: Self, chip: Chip) -> u32 {
        match (self, next) {
            (Self::Long, Self::Product | Self::Halves) | (Self::LongCompare, Self::Memory) => 2,
            (Self::Long | Self::LongCompare, _) => 1,
            _ => self.spacing(next, chip),
        }
    }
}
