//! Bits of an instruction.

/// An instruction as one number.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct Bits128(pub(super) u128);

impl Bits128 {
    pub(in super::super) fn of(instruction: &[u8]) -> Self {
        // Whatever the input is, its code has been cut into whole instructions.
        let bytes = instruction.first_chunk().expect("sixteen bytes");
        Self(u128::from_le_bytes(*bytes))
    }

    /// Up to eight bits.
    pub(in super::super) fn get(&self, at: u32, count: u32) -> u8 {
        (self.0 >> at) as u8 & (0xff >> (8 - count))
    }

    pub(in super::super) fn is_set(&self, at: u32) -> bool {
        self.0 >> at & 1 == 1
    }
}
