//! Machine code before the host linker has seen it.

use std::ops::Range;

use object::elf::RelocationType;

/// What an instruction refers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Target {
    /// An offset in the [`super::State`].
    State(u32),
    /// The wrapper of the images.
    Wrapper,
    /// The function that runs at the end of the program.
    Unregister,
    /// The wrapper in the object of this module.
    ModuleWrapper(usize),
    /// A function of the runtime or of the C library.
    Function(&'static str),
}

/// A place that the host linker fills in.
#[derive(Debug)]
pub(super) struct Fixup {
    pub(super) offset: usize,
    pub(super) kind: RelocationType,
    pub(super) target: Target,
    pub(super) addend: i64,
}

/// The functions of a host object.
#[derive(Debug)]
pub(super) struct Code {
    pub(super) bytes: Vec<u8>,
    pub(super) fixups: Vec<Fixup>,
    /// What the object of each module calls.
    pub(super) modules: Vec<Range<usize>>,
    /// Where these go on.
    pub(super) register: Range<usize>,
    /// What runs at the end of the program.
    pub(super) unregister: Range<usize>,
}

pub(super) const REGISTER_FATBIN: Target = Target::Function("__cudaRegisterFatBinary");
pub(super) const REGISTER_FATBIN_END: Target = Target::Function("__cudaRegisterFatBinaryEnd");
pub(super) const UNREGISTER_FATBIN: Target = Target::Function("__cudaUnregisterFatBinary");
pub(super) const AT_EXIT: Target = Target::Function("atexit");
