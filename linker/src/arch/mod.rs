//! Hardware facts: the processors, their families and their relocations.

pub mod relocation;
mod sm;
pub mod syscall;

pub use sm::{Family, FileFlags, ParseSmError, Sm, Suffix};
