//! Repeatable noise. The device has it as `noise(place, seed)` of `noise.cuh`.

/// Noise at a place; a seed chooses among landscapes.
pub fn noise(place: u32, seed: u32) -> u32 {
    let bits = place.wrapping_mul(0x9e37_79b9) ^ seed;
    let bits = (bits ^ (bits >> 16)).wrapping_mul(0x85eb_ca6b);
    let bits = (bits ^ (bits >> 13)).wrapping_mul(0xc2b2_ae35);
    bits ^ (bits >> 16)
}
