//! Hardware facts: the processors, their families and their relocations.

pub mod relocation;
pub mod reserved;
mod sm;

pub use sm::{Family, FileFlags, ParseSmError, Sm, Suffix};
