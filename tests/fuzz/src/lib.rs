//! What the targets that link whole programs share: programs to damage, and damage that the bytes of the fuzzer describe.
//!
//! Bytes of a fuzzer hardly ever get past the checks of headers. Here they are a list of edits of good objects, which
//! reach what works with the contents of sections.

pub mod damage;
pub mod programs;
pub mod settings;

/// Bytes of the fuzzer, taken one after the other; zeros follow the last one.
pub struct Bytes<'d>(pub &'d [u8]);

impl Bytes<'_> {
    /// Whether all are taken.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn take<const N: usize>(&mut self) -> [u8; N] {
        let mut taken = [0; N];
        let (bytes, rest) = self.0.split_at(self.0.len().min(N));
        taken[..bytes.len()].copy_from_slice(bytes);
        self.0 = rest;
        taken
    }

    /// The next byte.
    pub fn byte(&mut self) -> u8 {
        self.take::<1>()[0]
    }

    /// The next two bytes as a number.
    pub fn short(&mut self) -> usize {
        u16::from_le_bytes(self.take()).into()
    }

    /// The next four bytes as a number.
    pub fn word(&mut self) -> u32 {
        u32::from_le_bytes(self.take())
    }

    /// One of these; `None` if there are none.
    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> Option<&'a T> {
        let at = self.short().checked_rem(from.len())?;
        from.get(at)
    }
}
