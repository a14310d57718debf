//! Where the operands of instructions stand, and how many registers they are.
//!
//! The places are those that `nvdisasm -plr` shows for the code of the test
//! cases, of CUB, of Thrust, of CUTLASS and of FlashInfer.

mod bits;
mod matrices;
mod memory;

pub(super) use bits::Bits128;
use matrices::has_long_rows;
pub(super) use matrices::is_sparse;
use memory::{changed, derivatives, extras, loaded, pixel_place, texel_place, texels};

use super::instruction::{
    BLOCK_BARRIER, BULK_GROUP, CACHE, CLUSTER_ARRIVAL, DEPBAR, ERROR_BARRIER, FENCE, LDGDEPBAR,
    LDGSTS, MEMORY_BARRIER, SYNCS, SYNCS_CONTROL, SYNCS_EXCHANGE, is_texture, opcode, operation,
};
use super::operations::{OPERATIONS, Operations};

/// Registers that an instruction names, one after another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Operand {
    pub(super) file: File,
    pub(super) first: u8,
    pub(super) count: u8,
    pub(super) is_written: bool,
}

impl Operand {
    /// Whether a register of its file is one of these. The last one goes nowhere, and comes after none.
    pub(super) fn has(&self, register: u8) -> bool {
        (self.first..=u8::MAX)
            .take(self.count.into())
            .any(|own| own == register)
    }
}

/// The operands of an instruction, but for predicates; nothing if it is not known.
pub(super) fn operands(instruction: &[u8]) -> Option<impl Iterator<Item = Operand>> {
    /// The bits where the target and the sources stand.
    const PLACES: [u32; 4] = [16, 24, 32, 64];
    /// The same of what products in tensor memory read besides: a place there with what says
    /// how to multiply, and two with the factors of blocks. Textures and surfaces stand in the former.
    const MORE: [(u32, u8); 2] = [(40, 2), (48, 2)];
    /// The same of products that scale blocks.
    const SCALES: [(u32, u8); 2] = [(40, 1), (52, 1)];
    let operation = operation(instruction);
    let own = file(instruction);
    let listed = match is_pair_product(instruction) {
        true => PAIR_SUM,
        false => operation,
    };
    let shape = SHAPES.get(usize::from(SHAPE_OF[usize::from(listed)]))?;
    let form = (opcode(instruction) >> 9) as u8;
    let bits = Bits128::of(instruction);
    let (file, more) = match operation {
        TENSOR_MULTIPLY => (File::Uniform, &MORE[..]),
        0x199..=0x19f => (File::Uniform, &[(40, 1)][..]),
        operation if is_texture(operation) => (File::Uniform, &MORE[..1]),
        QMMA | OMMA if form == SCALED => (File::Thread, &SCALES[..]),
        _ => (File::Uniform, &[][..]),
    };
    let nothing = Operand {
        file,
        first: 0,
        count: 0,
        is_written: false,
    };
    let (mut found, mut count) = ([nothing; MOST_OPERANDS], 0);
    let mut add = |operand| {
        found[count] = operand;
        count += 1;
    };
    for (index, (&place, at)) in shape.places.iter().zip(PLACES).enumerate() {
        if let Some((file, count)) = operand(place, operation, own, form, &bits) {
            add(Operand {
                file,
                first: bits.get(at, 8),
                count,
                is_written: index == 0 && !NO_RESULT.contains(&operation),
            });
        }
    }
    for &(at, count) in more {
        add(Operand {
            first: bits.get(at, 8),
            count,
            ..nothing
        });
    }
    let upper = match operation {
        WIDE_LOAD => Some((loaded(&bits) >> 4).count_ones() as u8),
        operation if is_texture(operation) => Some(texels(&bits).saturating_sub(2)),
        _ => None,
    };
    if let Some(count) = upper {
        add(Operand {
            file: File::Thread,
            first: bits.get(64, 8),
            count,
            is_written: true,
        });
    }
    Some(found.into_iter().take(count))
}

/// Those at the four places, two others, and the upper half of a result.
const MOST_OPERANDS: usize = 7;

/// Whether an instruction works on numbers of two registers.
pub(super) fn is_long(instruction: &[u8]) -> bool {
    operands(instruction).is_some_and(|mut operands| operands.any(|operand| operand.count > 1))
}

/// Whose registers they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum File {
    Thread,
    /// Of all threads of a warp together.
    Uniform,
}

/// How many registers an operand has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Count {
    One,
    Two,
    /// As many as the size of what is loaded or stored says.
    Data,
    /// The same for operations on memory, which count sizes in another way.
    Atomic,
    /// One for each matrix of eight rows.
    Matrices,
    /// The first matrix of a product, as long as its rows.
    Factors,
    /// The second one, half as many.
    OtherFactors,
    /// The matrix that a product is added to, and its result.
    Sums,
    /// Two if the instruction says so or has a long immediate.
    Move,
    /// Two if numbers of 64 bits are compared.
    Compared,
    /// Two if the lesser or greater of two numbers of 64 bits is taken.
    Ordered,
    /// Two in forms that others use for constants.
    Select,
    /// Two if the result of a conversion has 64 bits.
    Result,
    /// Two if the source of a conversion has 64 bits.
    Source,
    /// Two if threads are compared by 64 bits.
    Match,
    /// What a wide product multiplies by, unless its place has what is added, which has two.
    Factor,
    /// What it adds, unless its place has the other factor.
    Addend,
    /// What comes from tensor memory or goes there.
    Tensor,
    /// Half of what is stored at once.
    Four,
    /// As much as a load takes of the lower half of what is there.
    LowerHalf,
    /// Two if a matrix gets longer when it is turned.
    Transposed,
    /// Two for an address in global memory.
    CopySource,
    /// One for each of the first two numbers that are taken from a texture.
    Texels,
    /// Where in a texture they are.
    TexelPlace,
    /// What else decides about that: level, distance, reference, sample.
    Extras,
    /// How fast the place changes, in two directions.
    Derivatives,
    /// Where on a surface something is.
    PixelPlace,
    /// The numbers of a pixel.
    Pixels,
    /// Two if a surface is changed by numbers of 64 bits.
    Reduced,
    /// Coordinates of a tensor, and as many registers before them.
    Coordinates(u8),
}

/// What one of the four places for operands holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
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
/// The form of a product that scales blocks.
const SCALED: u8 = 2;
/// Forms of ATOMS, without and with a uniform base.
const ATOMICS: u8 = 1 << REGISTERS | 1 << 4;
/// Forms of SHFL with a register for the lane, and with one for its limits.
const LANE: u8 = 1 << 1 | 1 << 2;
const LIMITS: u8 = 1 << 1 | 1 << 4;
/// Those of BAR in which a register follows.
const BARRIERS: u8 = 1 << REGISTERS | 1 << 2 | 1 << 4;

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
        shape(&[0x029], [R2, R2, In(1 << 6 | 1 << 7, Two), In(1 << REGISTERS, Two)]),
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

/// VOTE, and VOTEU, which does the same for a register of the warp.
pub(super) const VOTE: u16 = 0x006;
pub(super) const VOTE_OF_WARP: u16 = 0x086;
/// What moves predicates to registers and back, each of threads and of warps.
pub(super) const FROM_PREDICATES: [u16; 2] = [0x003, 0x083];
pub(super) const TO_PREDICATES: [u16; 2] = [0x004, 0x084];
/// FADD2, on pairs of floats, and FMUL2.
const PAIR_SUM: u16 = 0x04b;
const PAIR_PRODUCT: u16 = 0x04a;
/// IMAD.WIDE.
pub(super) const WIDE_PRODUCT: u16 = 0x025;
/// The bit of instructions that have a uniform operand.
pub(super) const IS_UNIFORM: u32 = 91;
/// Products of matrices of halves and of integers.
pub(super) const HMMA: u16 = 0x03c;
pub(super) const IMMA: u16 = 0x037;
/// Those of floats of 8 and fewer bits. Where they scale blocks, each factor has a register for that.
pub(super) const QMMA: u16 = 0x07a;
pub(super) const OMMA: u16 = 0x07f;
/// What copies boxes of tensors to shared memory, from there and to the cache: UTMALDG, UTMASTG,
/// UTMAREDG and UTMAPF.
const BOX_LOAD: u16 = 0x1b4;
const BOX_STORE: u16 = 0x1b5;
const BOX_REDUCTION: u16 = 0x1b6;
pub(super) const BOX_PREFETCH: u16 = 0x1b8;
/// UTMACCTL, and CCTL of descriptors of tensors, which comes before it.
pub(super) const DESCRIPTOR: u16 = 0x1b9;
pub(super) const DESCRIPTOR_CACHE: u16 = 0x140;
/// Instructions of tensor memory: UTCBAR, UTCCP, UTCATOMSWS, UTCHMMA and the like.
pub(super) const TENSOR_BARRIER: u16 = 0x1e9;
pub(super) const TENSOR_COPY: u16 = 0x1e7;
pub(super) const TENSOR_ALLOCATE: u16 = 0x1e3;
pub(super) const TENSOR_MULTIPLY: u16 = 0x1ea;
/// UBLKCP, UBLKRED and UBLKPF
pub(super) const BULK_COPY: u16 = 0x1ba;
const BULK_REDUCTION: u16 = 0x1bb;
pub(super) const BULK_PREFETCH: u16 = 0x1bc;
/// UMEMSETS
const MEMORY_SET: u16 = 0x1cb;
/// What UBLKCP.G.S has where others say between which memories they copy.
const FROM_SHARED: u8 = 4;
/// TLD4
const GATHER: u16 = 0x163;
/// TLD, which names a texture alone, while others name how to sample it, too.
const TEXEL_LOAD: u16 = 0x166;

/// LDG and STG of 256 bits.
pub(super) const WIDE_LOAD: u16 = 0x17e;
const WIDE_STORE: u16 = 0x17f;
/// What reads the register that others write.
const NO_RESULT: [u16; 2] = [LDGSTS, WIDE_STORE];

/// What uniform registers tell to copy or to multiply, and reads them when it comes to it.
pub(super) static COMES_LATER: Operations = Operations::of(&[
    BULK_COPY,
    BULK_REDUCTION,
    BULK_PREFETCH,
    MEMORY_SET,
    BOX_LOAD,
    BOX_STORE,
    BOX_REDUCTION,
    BOX_PREFETCH,
    DESCRIPTOR,
    TENSOR_BARRIER,
    TENSOR_COPY,
    TENSOR_ALLOCATE,
    TENSOR_MULTIPLY,
]);

/// Whose registers an operation works on.
pub(super) fn file(instruction: &[u8]) -> File {
    match operation(instruction) {
        PAIR_PRODUCT if is_pair_product(instruction) => File::Thread,
        operation if is_arithmetic_of_warps(operation) => File::Uniform,
        // CS2UR.
        0x0cb => File::Uniform,
        // LDCU.
        0x1ac => File::Uniform,
        later if COMES_LATER.has(later) => File::Uniform,
        _ => File::Thread,
    }
}

/// Whether an operation calculates in registers of warps: integers from 0x080 on, the rest
/// below, where [`PAIR_PRODUCT`] is also that of threads.
pub(super) fn is_arithmetic_of_warps(operation: u16) -> bool {
    matches!(operation, PAIR_PRODUCT | 0x04d..=0x05f | 0x080..=0x0bf)
}

/// Whether an instruction is an FMUL2, and not the UVIMNMX of the same number, which
/// has its mark of uniform operands always, and never form 6.
fn is_pair_product(instruction: &[u8]) -> bool {
    const WITH_UNIFORM: u16 = 6;
    let is_uniform = Bits128::of(instruction).get(IS_UNIFORM, 1) == 1;
    operation(instruction) == PAIR_PRODUCT
        && (!is_uniform || opcode(instruction) >> 9 == WITH_UNIFORM)
}

/// Whose registers an operand has in a form of an operation, and how many.
fn operand(
    place: Place,
    operation: u16,
    own: File,
    form: u8,
    bits: &Bits128,
) -> Option<(File, u8)> {
    let (file, count) = match place {
        Place::Nothing => return None,
        Place::Own(count) => (own, count),
        Place::In(forms, count) => match form {
            6 | 7 if forms >> form & 1 == 1 => (File::Uniform, count),
            _ if forms >> form & 1 == 1 => (own, count),
            _ => return None,
        },
        Place::Thread(count) => (File::Thread, count),
        Place::Uniform(count) => (File::Uniform, count),
        Place::Any(count) => match form {
            1 | 3 => (own, count),
            6 | 7 => (File::Uniform, count),
            _ => return None,
        },
        Place::DataOrBase if form == REGISTERS => (own, Count::Data),
        Place::DataOrBase => return operand(Place::Base(Count::Two), operation, own, form, bits),
        Place::Base(count) if bits.get(IS_UNIFORM, 1) == 1 => (File::Uniform, count),
        Place::BesideBase(count) if bits.get(IS_UNIFORM, 1) == 1 => (File::Thread, count),
        Place::Base(_) | Place::BesideBase(_) => return None,
    };
    let two_if = |is_two: bool| if is_two { 2 } else { 1 };
    let count = match count {
        Count::One => 1,
        Count::Two => 2,
        Count::Data => match bits.get(73, 3) {
            5 => 2,
            6 | 7 => 4,
            _ => 1,
        },
        Count::Atomic => changed(operation, bits),
        Count::Matrices => 1 << bits.get(72, 2).min(2),
        Count::Factors if has_long_rows(operation, bits) => 4,
        Count::Factors => 2,
        Count::OtherFactors => {
            two_if(has_long_rows(operation, bits)) * two_if(is_sparse(operation, bits))
        }
        Count::Sums => {
            let is_wide = match operation {
                HMMA => bits.get(76, 1) == 1,
                IMMA => true,
                _ => bits.get(77, 1) == 1,
            };
            if is_wide { 4 } else { 2 }
        }
        Count::Move => two_if(form == 2 || bits.get(80, 1) == 1),
        Count::Compared => two_if(bits.get(80, 1) == 1),
        Count::Ordered => two_if(bits.get(74, 1) == 1),
        Count::Select if own == File::Uniform => two_if(matches!(form, 2 | 6)),
        Count::Select => two_if(matches!(form, 2 | 3 | 7)),
        Count::Result => two_if(bits.get(75, 2) == 3),
        Count::Source => two_if(bits.get(84, 2) == 3),
        Count::Match => two_if(bits.get(73, 1) == 1),
        Count::Factor => two_if(adds_no_register(form)),
        Count::Addend => two_if(!adds_no_register(form)),
        Count::Tensor => {
            let is_half = bits.get(87, 1) == 1;
            let of_one = match bits.get(80, 3) {
                0 if !is_half => 2,
                2 if !is_half => 4,
                _ => 1,
            };
            of_one << bits.get(83, 3)
        }
        Count::Four => 4,
        Count::LowerHalf => (loaded(bits) & 15).count_ones() as u8,
        Count::CopySource => two_if(bits.get(72, 8) != FROM_SHARED),
        Count::Transposed => two_if(bits.get(78, 1) == 1),
        Count::Texels => texels(bits).min(2),
        Count::TexelPlace => texel_place(bits),
        Count::Extras => extras(operation, bits),
        Count::Derivatives => derivatives(bits),
        Count::PixelPlace => pixel_place(bits),
        Count::Pixels => texels(bits),
        Count::Reduced => two_if(bits.get(73, 3) == 2),
        Count::Coordinates(before) => before + 1 + bits.get(79, 3),
    };
    Some((file, count))
}

/// Whether the last operand is an immediate or a uniform register, which stands in the place of the
/// one before it and that in its own.
pub(super) fn adds_no_register(form: u8) -> bool {
    matches!(form, 2 | 7)
}
