//! Where the operands of instructions stand, and how many registers they are.
//!
//! The places are those that `nvdisasm -plr` shows for the code of the test
//! cases, of CUB, of Thrust, of CUTLASS and of FlashInfer.

mod bits;
mod counts;
mod matrices;
mod memory;
mod shapes;

pub(super) use bits::Bits128;
pub(super) use matrices::is_sparse;
use memory::{loaded, texels};

use super::instruction::{LDGSTS, is_texture, opcode, operation};
use super::operations::Operations;

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

/// An instruction, as far as it decides what its operands are.
#[derive(Clone, Copy)]
struct Encoded {
    operation: u16,
    /// Which of its operands are registers, immediates or constants.
    form: u8,
    /// Whose registers the operation works on.
    own: File,
    bits: Bits128,
}

impl Encoded {
    fn of(instruction: &[u8]) -> Self {
        Self {
            operation: operation(instruction),
            form: (opcode(instruction) >> 9) as u8,
            own: file(instruction),
            bits: Bits128::of(instruction),
        }
    }

    /// Operands that stand elsewhere than those of other instructions: whose they are, where, and how many.
    fn elsewhere(&self) -> (File, &'static [(u32, u8)]) {
        /// What products in tensor memory read besides: what says how to multiply, and the factors of blocks. Textures
        /// and surfaces stand in the former place.
        const OF_TENSORS: [(u32, u8); 2] = [(40, 2), (48, 2)];
        const OF_SURFACES: [(u32, u8); 1] = [(40, 1)];
        /// The same of products that scale blocks.
        const SCALES: [(u32, u8); 2] = [(40, 1), (52, 1)];
        match self.operation {
            TENSOR_MULTIPLY => (File::Uniform, &OF_TENSORS),
            0x199..=0x19f => (File::Uniform, &OF_SURFACES),
            operation if is_texture(operation) => (File::Uniform, &OF_TENSORS[..1]),
            QMMA | OMMA if self.form == SCALED => (File::Thread, &SCALES),
            _ => (File::Uniform, &[]),
        }
    }

    /// How many registers the upper half of a result has, if that stands apart.
    fn upper_half(&self) -> Option<u8> {
        match self.operation {
            WIDE_LOAD => Some((loaded(&self.bits) >> 4).count_ones() as u8),
            operation if is_texture(operation) => Some(texels(&self.bits).saturating_sub(2)),
            _ => None,
        }
    }
}

/// The operands of an instruction, but for predicates; nothing if it is not known.
pub(super) fn operands(instruction: &[u8]) -> Option<impl Iterator<Item = Operand>> {
    /// The bits where the target and the sources stand.
    const PLACES: [u32; 4] = [16, 24, 32, 64];
    const UPPER_HALF: u32 = 64;
    let encoded = Encoded::of(instruction);
    let places = shapes::places(match is_pair_product(instruction) {
        true => PAIR_SUM,
        false => encoded.operation,
    })?;
    let placed = places.iter().zip(PLACES).enumerate();
    let placed = placed.filter_map(move |(index, (place, at))| {
        let (file, count) = place.holds(&encoded)?;
        Some(Operand {
            file,
            first: encoded.bits.get(at, 8),
            count: count.registers(&encoded),
            is_written: index == 0 && !NO_RESULT.contains(&encoded.operation),
        })
    });
    let (file, elsewhere) = encoded.elsewhere();
    let beside = elsewhere.iter().map(move |&(at, count)| Operand {
        file,
        first: encoded.bits.get(at, 8),
        count,
        is_written: false,
    });
    let upper = encoded.upper_half().map(|count| Operand {
        file: File::Thread,
        first: encoded.bits.get(UPPER_HALF, 8),
        count,
        is_written: true,
    });
    Some(placed.chain(beside).chain(upper))
}

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

/// The form of a product that scales blocks.
const SCALED: u8 = 2;
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
    let is_uniform = Bits128::of(instruction).is_set(IS_UNIFORM);
    operation(instruction) == PAIR_PRODUCT
        && (!is_uniform || opcode(instruction) >> 9 == WITH_UNIFORM)
}

/// Whether the last operand is an immediate or a uniform register, which stands in the place of the
/// one before it and that in its own.
pub(super) fn adds_no_register(form: u8) -> bool {
    matches!(form, 2 | 7)
}
