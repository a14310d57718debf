//! What a link may be told, in the linker's own words.

use crate::arch::Sm;

/// What happens to the callees of functions whose address is taken, when no
/// kernel reaches them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DanglingCallees {
    /// They stay: a call through a pointer may need them.
    #[default]
    Keep,
    /// They go, as with nvlink, and the calls to them dangle.
    Remove,
}

/// How one link is done.
#[derive(Debug, Clone)]
pub struct Options {
    /// The processor to link for.
    pub target: Sm,
    /// Callees of functions whose address is taken.
    pub dangling_callees: DanglingCallees,
    /// The bytes of our own record in `.note.nv.tkinfo`.
    pub tool_record: Vec<u8>,
}

impl Options {
    /// The defaults for a processor.
    pub fn new(target: Sm) -> Self {
        Self {
            target,
            dangling_callees: DanglingCallees::default(),
            tool_record: Vec::new(),
        }
    }
}
