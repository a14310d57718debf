//! Hardware facts: the processors, their families and their relocations.

mod file_flags;
pub mod relocation;
pub(crate) mod reserved;
mod sm;
mod toolkit;

pub use file_flags::{Abi, FileFlags, OldFileFlags};
pub(crate) use sm::help_with;
pub use sm::{Family, ParseSmError, Sm, Suffix, UnknownSmError};
pub(crate) use toolkit::Toolkit;
