//! How many registers an operand is.

use super::matrices::{has_long_rows, is_sparse};
use super::memory::{changed, derivatives, extras, loaded, pixel_place, texel_place, texels};
use super::{Bits128, Encoded, File, HMMA, IMMA, adds_no_register};

/// How many registers an operand has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Count {
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

impl Count {
    /// How many that is in an instruction.
    pub(super) fn registers(self, encoded: &Encoded) -> u8 {
        let &Encoded {
            operation,
            form,
            own,
            bits,
        } = encoded;
        let two_if = |is_two: bool| if is_two { 2 } else { 1 };
        match self {
            Self::One => 1,
            Self::Two => 2,
            Self::Four => 4,
            Self::Data => data(&bits),
            Self::Atomic => changed(operation, &bits),
            Self::Matrices => 1 << bits.get(72, 2).min(2),
            Self::Factors => 2 * two_if(has_long_rows(operation, &bits)),
            Self::OtherFactors => {
                two_if(has_long_rows(operation, &bits)) * two_if(is_sparse(operation, &bits))
            }
            Self::Sums => 2 * two_if(has_wide_sums(operation, &bits)),
            Self::Move => two_if(form == 2 || bits.is_set(80)),
            Self::Compared => two_if(bits.is_set(80)),
            Self::Ordered => two_if(bits.is_set(74)),
            Self::Select if own == File::Uniform => two_if(matches!(form, 2 | 6)),
            Self::Select => two_if(matches!(form, 2 | 3 | 7)),
            Self::Result => two_if(bits.get(75, 2) == 3),
            Self::Source => two_if(bits.get(84, 2) == 3),
            Self::Match => two_if(bits.is_set(73)),
            Self::Factor => two_if(adds_no_register(form)),
            Self::Addend => two_if(!adds_no_register(form)),
            Self::Tensor => tensor(&bits),
            Self::LowerHalf => (loaded(&bits) & 15).count_ones() as u8,
            Self::CopySource => two_if(bits.get(72, 8) != FROM_SHARED),
            Self::Transposed => two_if(bits.is_set(78)),
            Self::Texels => texels(&bits).min(2),
            Self::TexelPlace => texel_place(&bits),
            Self::Extras => extras(operation, &bits),
            Self::Derivatives => derivatives(&bits),
            Self::PixelPlace => pixel_place(&bits),
            Self::Pixels => texels(&bits),
            Self::Reduced => two_if(bits.get(73, 3) == 2),
            Self::Coordinates(before) => before + 1 + bits.get(79, 3),
        }
    }
}

/// What UBLKCP.G.S has where others say between which memories they copy.
const FROM_SHARED: u8 = 4;

/// By the size of what is loaded or stored.
fn data(bits: &Bits128) -> u8 {
    match bits.get(73, 3) {
        5 => 2,
        6 | 7 => 4,
        _ => 1,
    }
}

/// Whether sums of a product of matrices have twice the width of the narrow ones.
fn has_wide_sums(operation: u16, bits: &Bits128) -> bool {
    match operation {
        HMMA => bits.is_set(76),
        IMMA => true,
        _ => bits.is_set(77),
    }
}

/// By the shape of what comes from tensor memory or goes there, and how often.
fn tensor(bits: &Bits128) -> u8 {
    let is_half = bits.is_set(87);
    let of_one = match bits.get(80, 3) {
        0 if !is_half => 2,
        2 if !is_half => 4,
        _ => 1,
    };
    of_one << bits.get(83, 3)
}
