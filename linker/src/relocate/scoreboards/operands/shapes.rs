//! Which operands each operation has at the four places where they can stand.

use super::super::instruction::{
    BLOCK_BARRIER, BULK_GROUP, CACHE, CLUSTER_ARRIVAL, DEPBAR, ERROR_BARRIER, FENCE, LDGDEPBAR,
    MEMORY_BARRIER, SYNCS, SYNCS_CONTROL, SYNCS_EXCHANGE,
};
use super::super::operations::OPERATIONS;
use super::counts::Count;
use super::{
    BOX_LOAD, BOX_PREFETCH, BOX_REDUCTION, BOX_STORE, BULK_COPY, BULK_PREFETCH, BULK_REDUCTION,
    DESCRIPTOR, DESCRIPTOR_CACHE, Encoded, FROM_PREDICATES, File, GATHER, HMMA, IMMA, IS_UNIFORM,
    MEMORY_SET, OMMA, PAIR_SUM, QMMA, TENSOR_ALLOCATE, TENSOR_BARRIER, TENSOR_COPY,
    TENSOR_MULTIPLY, TEXEL_LOAD, TO_PREDICATES, VOTE, VOTE_OF_WARP, WIDE_LOAD, WIDE_PRODUCT,
    WIDE_STORE,
};

/// The operands of an operation: the target and three sources; nothing if it is not known.
pub(super) fn places(operation: u16) -> Option<&'static [Place; 4]> {
    let shape = SHAPES.get(usize::from(SHAPE_OF[usize::from(operation)]))?;
    Some(&shape.places)
}

/// What one of the four places for operands holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Nothing,
    /// A register of the file that the operation works on.
    Own(Count),
    /// The same in some forms only, one bit for each.
    In(u8, Count),
    /// A register of threads.
    Thread(Count),
    /// A uniform register.
    Uniform(Count),
    /// An operand that can be of either file, an immediate or a constant.
    Any(Count),
    /// The uniform part of an address, if it has one.
    Base(Count),
    /// A register of threads to which a uniform part is added, if there is an address at all.
    BesideBase(Count),
    /// What is stored where no descriptor comes with the address, else the
    /// descriptor.
    DataOrBase,
}

impl Place {
    /// Whose registers it holds in an instruction, and how many; nothing if it holds none.
    pub(super) fn holds(self, encoded: &Encoded) -> Option<(File, Count)> {
        let &Encoded {
            form, own, bits, ..
        } = encoded;
        let is_in = |forms: u8| forms >> form & 1 == 1;
        let has_base = bits.is_set(IS_UNIFORM);
        Some(match self {
            Self::Nothing => return None,
            Self::Own(count) => (own, count),
            Self::In(forms, _) if !is_in(forms) => return None,
            Self::In(_, count) if is_in(WITH_UNIFORM) => (File::Uniform, count),
            Self::In(_, count) => (own, count),
            Self::Thread(count) => (File::Thread, count),
            Self::Uniform(count) => (File::Uniform, count),
            Self::Any(count) if is_in(WITH_REGISTER) => (own, count),
            Self::Any(count) if is_in(WITH_UNIFORM) => (File::Uniform, count),
            Self::Any(_) => return None,
            Self::DataOrBase if form == REGISTERS => (own, Count::Data),
            Self::DataOrBase if has_base => (File::Uniform, Count::Two),
            Self::Base(count) if has_base => (File::Uniform, count),
            Self::BesideBase(count) if has_base => (File::Thread, count),
            Self::DataOrBase | Self::Base(_) | Self::BesideBase(_) => return None,
        })
    }
}

/// Operations with operands in the same places: the target and three sources.
struct Shape {
    operations: &'static [u16],
    places: [Place; 4],
}

const fn shape(operations: &'static [u16], places: [Place; 4]) -> Shape {
    Shape { operations, places }
}

/// The form in which an instruction has registers only.
const REGISTERS: u8 = 1;
/// The form of a store with a descriptor.
const DESCRIBED: u8 = 1 << 4;
/// Forms of ATOMS, without and with a uniform base.
const ATOMICS: u8 = 1 << REGISTERS | 1 << 4;
/// Forms of SHFL with a register for the lane, and with one for its limits.
const LANE: u8 = 1 << 1 | 1 << 2;
const LIMITS: u8 = 1 << 1 | 1 << 4;
/// Those of BAR in which a register follows.
const BARRIERS: u8 = 1 << REGISTERS | 1 << 2 | 1 << 4;
/// Forms in which an operand of any kind is a register, and in which it is a uniform one.
const WITH_REGISTER: u8 = 1 << 1 | 1 << 3;
const WITH_UNIFORM: u8 = 1 << 6 | 1 << 7;

/// The number of each operation's shape among [`SHAPES`]; none is behind all of them.
static SHAPE_OF: [u8; OPERATIONS] = {
    assert!(SHAPES.len() < u8::MAX as usize);
    let mut shapes = [u8::MAX; OPERATIONS];
    let mut number = SHAPES.len();
    while number > 0 {
        number -= 1;
        let mut rest = SHAPES[number].operations;
        while let [operation, more @ ..] = rest {
            shapes[*operation as usize] = number as u8;
            rest = more;
        }
    }
    shapes
};

#[rustfmt::skip]
const SHAPES: &[Shape] = {
    use Count::*;
    use Place::*;
    const R: Place = Own(One);
    const R2: Place = Own(Two);
    const A: Place = Any(One);
    const A2: Place = Any(Two);
    &[
        // MOV, UMOV
        shape(&[0x002, 0x082], [Own(Move), Nothing, Any(Move), Nothing]),
        // VOTE, VOTEU, S2R
        shape(&[VOTE, VOTE_OF_WARP, 0x119], [R, Nothing, Nothing, Nothing]),
        // P2R, UP2UR
        shape(&FROM_PREDICATES, [R, R, Nothing, Nothing]),
        // B2R
        shape(&[0x11c], [R, Nothing, Nothing, Nothing]),
        // WARPSYNC
        shape(&[0x148], [Nothing, In(1 << REGISTERS, One), Nothing, Nothing]),
        // CS2R, CS2UR
        shape(&[0x005, 0x0cb], [Own(Move), Nothing, Nothing, Nothing]),
        // R2P, UR2UP
        shape(&TO_PREDICATES, [Nothing, R, Nothing, Nothing]),
        // SEL, USEL
        shape(&[0x007, 0x087], [Own(Select), Own(Select), Any(Select), Nothing]),
        // FSEL, FMNMX, FSET, FMUL, FADD, VIADD, VIMNMX, uniform arithmetic on floats
        shape(&[0x008, 0x009, 0x00a, 0x020, 0x021, 0x036, 0x048], [R, R, A, Nothing]),
        shape(&[0x04a], [R, R, A, Nothing]),
        // UFADD
        shape(&[0x054], [R, R, Nothing, In(1 << REGISTERS, One)]),
        // SGXT, BMSK, UBMSK, HADD2, HMUL2, HSET2, HMNMX2
        shape(&[0x01a, 0x01b, 0x09b, 0x030, 0x032, 0x033, 0x040], [R, R, A, Nothing]),
        // UFSEL, UFMNMX, UFSET, UFMUL, USGXT
        shape(&[0x051, 0x050, 0x052, 0x056, 0x09a], [R, R, A, Nothing]),
        // FSETP, HSETP2, FCHK, UFSETP
        shape(&[0x00b, 0x034, 0x102, 0x053], [Nothing, R, A, Nothing]),
        // ISETP, UISETP
        shape(&[0x00c, 0x08c], [Nothing, Own(Compared), Any(Compared), Nothing]),
        // IADD3, LEA, LOP3, PRMT, SHF, FFMA, IMAD, HFMA2, HADD2, UFFMA
        shape(&[0x010, 0x011, 0x012, 0x016, 0x019, 0x023, 0x024, 0x031], [R, R, A, R]),
        shape(&[0x055], [R, R, A, R]),
        // VIMNMX3, VIADDMNMX, VHMNMX, FMNMX3, IDP, F2FP, UF2FP
        shape(&[0x00f, 0x046, 0x047, 0x076, 0x026, 0x03e, 0x0ba], [R, R, A, R]),
        // VABSDIFF, VABSDIFF4, I2IP, F2IP, UI2IP, UF2IP
        shape(&[0x014, 0x015, 0x039, 0x043, 0x04f, 0x059], [R, R, A, R]),
        // MOVM
        shape(&[0x03a], [Own(Transposed), R, Nothing, Nothing]),
        // DMMA
        shape(&[0x03f], [Own(Four), R2, Own(Two), Own(Four)]),
        // UIADD3, ULEA, ULOP3, UPRMT, USHF, UIMAD
        shape(&[0x090, 0x091, 0x092, 0x096, 0x099, 0x0a4], [R, R, A, R]),
        // IADD.64, DMUL and others on pairs
        shape(&[0x035, 0x028, 0x085, 0x097], [R2, R2, A2, Nothing]),
        // IMNMX
        shape(&[0x017], [Own(Ordered), Own(Ordered), Any(Ordered), Nothing]),
        // DADD
        shape(&[0x029], [R2, R2, In(WITH_UNIFORM, Two), In(1 << REGISTERS, Two)]),
        // DSETP
        shape(&[0x02a], [Nothing, R2, A2, Nothing]),
        // DFMA
        shape(&[0x02b], [R2, R2, A2, R2]),
        // IMAD.WIDE, UIMAD.WIDE
        shape(&[WIDE_PRODUCT, 0x0a5], [R2, R, Any(Factor), Own(Addend)]),
        // IMAD.HI, UIMAD.HI
        shape(&[0x027, 0x0a6], [R, R, A, R]),
        // HMMA, IMMA, QMMA, OMMA
        shape(&[HMMA, IMMA, QMMA, OMMA], [Own(Sums), Own(Factors), Own(OtherFactors), Own(Sums)]),
        // LDSM
        shape(&[0x03b], [Own(Matrices), R, Base(One), Nothing]),
        // I2FP, FLO, F2I, I2F, MUFU, POPC, UFLO, UPOPC
        shape(&[0x045, 0x100, 0x105, 0x106, 0x108, 0x109, 0x0bd, 0x0bf], [R, Nothing, A, Nothing]),
        // BREV, F2F, FRND, UBREV, UI2F, UF2I, IABS
        shape(&[0x013, 0x101, 0x104, 0x107, 0x0be, 0x05a, 0x05c], [R, Nothing, A, Nothing]),
        // I2I, UI2FP, UIABS, UI2I, UF2F, UFRND
        shape(&[0x038, 0x05e, 0x04d, 0x04e, 0x05b, 0x05d], [R, Nothing, A, Nothing]),
        // F2F, F2I, I2F and FRND with 64 bits
        shape(&[0x110, 0x111, 0x112, 0x113], [Own(Result), Nothing, Any(Source), Nothing]),
        // PLOP3, UPLOP3, NOP, BRA, EXIT, BSSY, BSYNC, BREAK, YIELD and PMTRIG
        shape(&[0x01c, 0x09c, 0x118, 0x147, 0x14d, 0x145, 0x141, 0x142, 0x146], [Nothing; 4]),
        shape(&[0x001], [Nothing; 4]),
        // MEMBAR, ERRBAR, PREEXIT, ACQBULK
        shape(&[MEMORY_BARRIER, ERROR_BARRIER, 0x02d, 0x02e], [Nothing; 4]),
        // ELECT, which tells whom it takes in a uniform register, too
        shape(&[0x02f], [Uniform(One), Nothing, Nothing, Nothing]),
        // BAR, whose number or count may be in a register, or both in one
        shape(&[BLOCK_BARRIER], [Nothing, Nothing, In(BARRIERS, One), Nothing]),
        // NANOSLEEP
        shape(&[0x15d], [Nothing, Nothing, A, Nothing]),
        // BMOV, from and to a barrier, and RPCMOV, from and to the place to return to
        shape(&[0x155, 0x153], [R, Nothing, Nothing, Nothing]),
        shape(&[0x156, 0x152], [Nothing, Nothing, A, Nothing]),
        // LD, LDG
        shape(&[0x180, 0x181], [Own(Data), R2, Base(Two), Nothing]),
        // LDG and STG of 256 bits, of which the one has another result
        shape(&[WIDE_LOAD], [Own(LowerHalf), R2, Base(Two), Nothing]),
        shape(&[WIDE_STORE], [Own(Four), R2, Own(Four), Base(Two)]),
        // LDC
        shape(&[0x182], [Own(Data), R, Nothing, Nothing]),
        // LDL, LDS
        shape(&[0x183, 0x184], [Own(Data), R, Base(One), Nothing]),
        // ST, STG, which has what it stores in the same place with a descriptor and without
        shape(&[0x185], [Nothing, R2, In(DESCRIBED, Data), DataOrBase]),
        shape(&[0x186], [Nothing, R2, Own(Data), Base(Two)]),
        // STL, STS
        shape(&[0x187, 0x188], [Nothing, R, Own(Data), Base(One)]),
        // LDGMC, and that on floats
        shape(&[0x1a4, 0x1a5], [Own(Atomic), R2, Nothing, Base(Two)]),
        // TEX, TLD4, TLD
        shape(&[0x160, GATHER, TEXEL_LOAD], [Own(Texels), Own(TexelPlace), Own(Extras), Nothing]),
        // TXD
        shape(&[0x16c], [Own(Texels), Own(TexelPlace), Own(Derivatives), Nothing]),
        // TXQ
        shape(&[0x16f], [Own(Texels), R, Nothing, Nothing]),
        // SULD, SUST of raw data and of pixels, SURED
        shape(&[0x199], [Own(Data), Own(PixelPlace), Nothing, Nothing]),
        shape(&[0x19d], [Nothing, Own(PixelPlace), Own(Data), Nothing]),
        shape(&[0x19b], [Nothing, Own(PixelPlace), Own(Pixels), Nothing]),
        shape(&[0x19f], [Nothing, Own(PixelPlace), Own(Reduced), Nothing]),
        // LDGSTS, whose first operand is an address too
        shape(&[0x1ae], [R, R2, Nothing, Base(Two)]),
        // ATOMS.CAS, and ATOMS.CAST, which has no result
        shape(&[0x18d], [In(1 << REGISTERS, Atomic), R, Own(Atomic), Own(Atomic)]),
        // QSPC
        shape(&[0x1aa], [R, R2, Base(Two), Nothing]),
        // CCTL
        shape(&[CACHE], [Nothing, R2, Nothing, Nothing]),
        // SHFL
        shape(&[0x189], [R, R, In(LANE, One), In(LIMITS, One)]),
        // ATOM, ATOMG, that on floats
        shape(&[0x18a, 0x1a8, 0x1a2, 0x1a3], [Own(Atomic), R2, Own(Atomic), Base(Two)]),
        // ATOM.CAS and ATOMG.CAS
        shape(&[0x18b, 0x1a9], [Own(Atomic), R2, Own(Atomic), Own(Atomic)]),
        // ATOMS
        shape(&[0x18c], [Own(Atomic), R, In(ATOMICS, Atomic), Base(One)]),
        // MATCH
        shape(&[0x1a1], [R, Own(Match), Nothing, Nothing]),
        // REDG
        shape(&[0x1a6, 0x18e], [Nothing, R2, Own(Atomic), Base(Two)]),
        // SYNCS, that with an exchange, and UBLKCP
        shape(&[SYNCS], [In(DESCRIBED, Two), Thread(One), Thread(One), Uniform(One)]),
        shape(&[SYNCS_EXCHANGE], [Nothing, Uniform(One), Uniform(Two), Nothing]),
        shape(&[BULK_COPY, BULK_REDUCTION], [Nothing, Uniform(CopySource), Uniform(Two), Uniform(One)]),
        // UBLKPF
        shape(&[BULK_PREFETCH], [Nothing, Uniform(Two), Nothing, Uniform(One)]),
        // UMEMSETS
        shape(&[MEMORY_SET], [Nothing, Uniform(One), Uniform(Two), Uniform(One)]),
        // UTMALDG, UTMASTG, UTMAPF
        shape(&[BOX_LOAD], [Nothing, R2, Own(Coordinates(2)), In(1 << REGISTERS, One)]),
        shape(&[BOX_STORE, BOX_REDUCTION], [Nothing, Uniform(Two), Uniform(Coordinates(1)), Nothing]),
        shape(&[BOX_PREFETCH], [Nothing, Uniform(Two), Uniform(Coordinates(0)), Nothing]),
        // UTMACCTL, CCTL of descriptors, UGETNEXTWORKID
        shape(&[DESCRIPTOR, DESCRIPTOR_CACHE, 0x1ca], [Nothing, Uniform(Two), Nothing, Nothing]),
        // UTCBAR, UTCCP, UTCATOMSWS
        shape(&[TENSOR_BARRIER], [Nothing, Uniform(One), Nothing, Uniform(One)]),
        shape(&[TENSOR_COPY], [Nothing, Uniform(One), Uniform(Two), Nothing]),
        shape(&[TENSOR_ALLOCATE], [Uniform(One), Nothing, Uniform(One), Nothing]),
        // UTCHMMA and the like, whose other operands stand elsewhere
        shape(&[TENSOR_MULTIPLY], [Nothing, Uniform(Two), Uniform(Two), Uniform(One)]),
        // LDTM, STTM
        shape(&[0x1ee], [Thread(Tensor), Nothing, Uniform(One), Nothing]),
        shape(&[0x1ed], [Nothing, Nothing, Thread(Tensor), Uniform(One)]),
        // UTCSHIFT
        shape(&[0x1e6], [Nothing, Uniform(One), Nothing, Nothing]),
        // SYNCS.CCTL
        shape(&[SYNCS_CONTROL], [Nothing, BesideBase(One), Nothing, Base(One)]),
        // STSM, STAS
        shape(&[0x044], [Nothing, R, Thread(Matrices), Base(One)]),
        shape(&[0x1bd], [Nothing, R2, Own(Data), Nothing]),
        // REDAS
        shape(&[0x1be], [Nothing, R2, Own(Atomic), Nothing]),
        // ARRIVES
        shape(&[0x1b0], [Nothing, R, Nothing, Base(One)]),
        // FENCE, LDGDEPBAR, UTMACMDFLUSH, UCGABAR, UVIRTCOUNT and DEPBAR
        shape(&[FENCE, LDGDEPBAR, BULK_GROUP, CLUSTER_ARRIVAL, 0x04c, DEPBAR], [Nothing; 4]),
        // FFMA2, FADD2 and FMUL2
        shape(&[0x049], [R2, R2, A2, R2]),
        shape(&[PAIR_SUM], [R2, R2, A2, Nothing]),
        // LDCU
        shape(&[0x1ac], [Uniform(Data), Uniform(One), Nothing, Nothing]),
        // S2UR
        shape(&[0x1c3], [Uniform(One), Nothing, Nothing, Nothing]),
        // R2UR, CREDUX, REDUX
        shape(&[0x0ca, 0x0cc, 0x1c4], [Uniform(One), Thread(One), Nothing, Nothing]),
    ]
};
