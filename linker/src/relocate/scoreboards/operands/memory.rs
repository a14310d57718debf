//! How many registers the operands of accesses to memory, textures and surfaces are.

use super::{Bits128, GATHER};

/// How many registers what changes memory takes or gives: integers, floats, and floats of
/// several processors' memory.
pub(super) fn changed(operation: u16, bits: &Bits128) -> u8 {
    /// The eight-bit floats among the last of these.
    const EIGHT_BITS: u8 = 7;
    match (operation, bits.get(73, 4)) {
        (0x1a5, 3 | 6) if bits.get(87, 3) == EIGHT_BITS => 4,
        (0x1a5, 2 | 5) if bits.get(87, 3) == EIGHT_BITS => 2,
        (0x1a5, _) if bits.get(87, 3) == EIGHT_BITS => 1,
        // Halves, halves of the other kind, and F32, each once, twice and four times; F64.
        (0x1a5, 2 | 5 | 14) | (0x1a2 | 0x1a3 | 0x1a6, 2 | 5 | 11) => 4,
        (0x1a5, 1 | 4 | 13 | 15) | (0x1a2 | 0x1a3 | 0x1a6, 1 | 4 | 10 | 15) => 2,
        (0x1a2 | 0x1a3 | 0x1a5 | 0x1a6, _) => 1,
        (_, size) => match size & 7 {
            4 => 4,
            2 | 3 => 2,
            _ => 1,
        },
    }
}

/// How many numbers are taken from a texture or go to a pixel.
pub(super) fn texels(bits: &Bits128) -> u8 {
    bits.get(72, 4).count_ones() as u8
}

/// Which of eight registers a load of 256 bits writes, one bit for each.
pub(super) fn loaded(bits: &Bits128) -> u8 {
    bits.get(57, 7) | bits.get(72, 1) << 7
}

/// The number of a geometry. Textures are of one, two and three dimensions, and cubes; then
/// arrays of those.
fn geometry(bits: &Bits128) -> usize {
    bits.get(61, 3).into()
}

/// Where in a texture something is.
pub(super) fn texel_place(bits: &Bits128) -> u8 {
    [1, 2, 3, 3, 2, 3, 4, 4][geometry(bits)]
}

/// How fast that changes in two directions.
pub(super) fn derivatives(bits: &Bits128) -> u8 {
    2 * [1, 2, 3, 3, 1, 2, 3, 3][geometry(bits)]
}

/// Where on a surface something is: of one dimension, arrays of those, and so on.
pub(super) fn pixel_place(bits: &Bits128) -> u8 {
    [1, 1, 2, 2, 3, 3, 3, 3][geometry(bits)]
}

/// What else decides about a number of a texture: a level, a distance, a sample, and what it
/// is compared with.
pub(super) fn extras(operation: u16, bits: &Bits128) -> u8 {
    let is_gather = operation == GATHER;
    let has_level = !is_gather && bits.is_set(59);
    let has_distance = bits.is_set(if is_gather { 76 } else { 56 });
    let (has_sample, is_compared) = (bits.is_set(77), bits.is_set(78));
    let extras = [has_level, has_distance, has_sample, is_compared];
    extras.into_iter().map(u8::from).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_and_numbers_of_textures_follow_from_their_geometry() {
        // TEX.LL.DC R14, R12, R4, R8, UR4, ARRAY_CUBE, 0x7: four numbers say where, two say
        // how, and of three results one is apart.
        let bits = Bits128(0x89e_470a << 64 | 0xe8ff_0408_040c_8f60);
        assert_eq!((texel_place(&bits), extras(0x160, &bits)), (4, 2));
        assert_eq!(texels(&bits), 3);
        // TXD R24, R10, R4, R8, UR4, ARRAY_2D
        let bits = Bits128(0x81e_0f18 << 64 | 0xa0ff_0408_040a_8f6c);
        assert_eq!((texel_place(&bits), derivatives(&bits)), (3, 4));
        // SUST.D.BA.2D_ARRAY.64
        assert_eq!(pixel_place(&Bits128(0x88ff_0416_0400_8f9d)), 3);
    }

    #[test]
    fn floats_in_memory_come_several_at_once() {
        let count = |operation: u16, code: u128| changed(operation, &Bits128(code << 73));
        // F16x2, F16x4, F16x8, BF16x2, F32, F32x2, F32x4 and F64
        let atomics = [0, 1, 2, 3, 9, 10, 11, 15].map(|code| count(0x1a3, code));
        assert_eq!(atomics, [1, 2, 4, 1, 1, 2, 4, 2]);
        // F16x8, F32, F32x4 and F64
        assert_eq!([2, 12, 14, 15].map(|code| count(0x1a5, code)), [4, 1, 4, 2]);
        // U32, S32, U64, S64 and 128 bits
        assert_eq!(
            [0, 1, 2, 3, 4].map(|code| count(0x1a8, code)),
            [1, 1, 2, 2, 4]
        );
        // E4M3x4, E4M3x8 and E4M3x16
        let eight = [4, 5, 6].map(|code| changed(0x1a5, &Bits128(code << 73 | 7 << 87)));
        assert_eq!(eight, [1, 2, 4]);
    }
}
