//! The options of a link, as types. The module `cli` makes them from nvlink's command line.
//!
//! ```
//! use rustnvlink::container::host::ReferenceScope;
//! use rustnvlink::options::{Behaviour, DebugLevel, KernelFilter, NamePatterns, Options, Patterns};
//!
//! let mut options = Options::new("sm_90a".parse().unwrap())
//!     .behaviour(Behaviour::Nvlink) // nvlink's bytes also where it is plainly wrong
//!     .kernels(KernelFilter::Matching(Patterns {
//!         external: NamePatterns::from_iter(["_Z4saxpy*"]),
//!         internal: NamePatterns::default(),
//!     }));
//! options.settings.debug = DebugLevel::Symbols; // nvlink -g
//! let keeps = |name, scope| options.kernels.keeps(name, scope);
//! assert!(keeps("_Z4saxpyiPf", ReferenceScope::External));
//! assert!(!keeps("_Z4axpy", ReferenceScope::External));
//! assert!(!keeps("_Z4saxpyiPf", ReferenceScope::Internal)); // a static kernel
//! ```

use std::collections::BTreeSet;

use rustc_hash::FxHashSet;

use crate::arch::Sm;
use crate::container::host::{ReferenceScope, pattern_matches};
use crate::cubin::UnifiedIndex;
use crate::report;

/// What a link does where nvlink is plainly wrong, or says nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Behaviour {
    /// What is right: all stays that a kernel or a pointer may reach, what contradicts itself is an error, and a message
    /// names every input that is left out.
    #[default]
    Own,
    /// What nvlink 13.0 does, byte for byte and word for word. In some programs it keeps too little:
    ///
    /// - Functions that are called only from functions behind pointers are dropped, and the calls lead nowhere.
    /// - Pointers in data to a weak function that another file defines lead nowhere either.
    /// - The link fails where a function stays and its alias is dropped.
    /// - Memory barriers are dropped from kernels that call no functions (case `recode`).
    Nvlink,
}

/// Which kernels a link keeps.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum KernelFilter {
    /// All of them.
    #[default]
    All,
    /// Those whose name contains one of these, in which `*` is any run of characters.
    Containing(Vec<String>),
    /// Those whose whole name matches one of these.
    Matching(Patterns),
    /// The same after link-time optimization. A kernel that only device code launches is then no kernel from the start, like
    /// one that `Containing` leaves out.
    MatchingOptimized(Patterns),
}

/// The names that host code uses.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Patterns {
    /// Names that all files know.
    pub external: NamePatterns,
    /// Names that a file keeps to itself.
    pub internal: NamePatterns,
}

/// Patterns for whole names, in which `*` is any run of characters. Most are names without any, so that thousands are looked up
/// as fast as a few.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NamePatterns {
    names: FxHashSet<String>,
    /// Those with a `*`.
    runs: Vec<String>,
}

impl NamePatterns {
    /// Whether one of them matches a name.
    pub fn matches(&self, name: &str) -> bool {
        self.names.contains(name) || self.runs.iter().any(|p| pattern_matches(p, name))
    }
}

impl<S: Into<String>> FromIterator<S> for NamePatterns {
    fn from_iter<I: IntoIterator<Item = S>>(patterns: I) -> Self {
        let mut all = Self::default();
        for pattern in patterns.into_iter().map(Into::into) {
            if !pattern.contains('*') {
                all.names.insert(pattern);
            } else if !all.runs.contains(&pattern) {
                all.runs.push(pattern);
            }
        }
        all
    }
}

impl KernelFilter {
    /// Whether a kernel or variable stays.
    pub fn keeps(&self, name: &str, scope: ReferenceScope) -> bool {
        match self {
            Self::All => true,
            Self::Containing(parts) => parts.iter().any(|part| is_in(part, name)),
            Self::Matching(patterns) | Self::MatchingOptimized(patterns) => {
                let patterns = match scope {
                    ReferenceScope::External => &patterns.external,
                    ReferenceScope::Internal => &patterns.internal,
                };
                patterns.matches(name)
            }
        }
    }
}

/// Whether a name contains a text in which `*` is any run of characters.
pub(crate) fn is_in(part: &str, name: &str) -> bool {
    match part.contains('*') {
        true => pattern_matches(&format!("*{part}*"), name),
        false => name.contains(part),
    }
}

/// What a link does for debuggers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum DebugLevel {
    /// Nothing.
    #[default]
    None,
    /// Code that no kernel needs stays, and so do all kernels.
    Code,
    /// Shared variables are symbols, too, and dynamic shared memory starts at
    /// the same place in all kernels.
    Symbols,
}

/// How names of functions are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Names {
    /// As people write them.
    Readable,
    /// As the objects have them.
    Mangled,
}

/// What a link makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum ImageKind {
    /// The program that the driver loads.
    #[default]
    Executable,
    /// One object for a later link (`-r`). No code is dropped.
    Relocatable(EarlyAddresses),
}

impl ImageKind {
    /// Whether the driver loads it.
    pub fn is_executable(self) -> bool {
        self == Self::Executable
    }
}

/// What a relocatable link does about addresses that only the last link
/// knows: those of constants and of shared memory, and offsets inside debug
/// information.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum EarlyAddresses {
    /// It leaves them to the last link.
    #[default]
    Leave,
    /// It fills in those that hold if nothing comes before the object, as
    /// nvlink does (case `r_const_shift`).
    Fill,
}

/// What becomes of weak definitions of one name that differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Odr {
    /// Nobody looks.
    Off,
    /// A warning if the sources must differ: variables, and the size of what
    /// kernels take. Code of one source differs where the compiler knows more
    /// of what it calls.
    #[default]
    Data,
    /// A warning, for code too.
    Warn,
    /// An error, for code too.
    Error,
}

/// What becomes of relocations that a link resolves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum ResolvedRelocations {
    /// They go.
    #[default]
    Dropped,
    /// The image says in `.nv.resolvedrela*` what they were, and what they
    /// name is in its symbol table.
    Recorded,
}

/// The part of shared memory that the system reserves on sm_90 and later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Reservation {
    /// The start; a kernel's variables come after it.
    #[default]
    Made,
    /// Nothing.
    Disabled,
}

/// How much shared memory of fixed size a kernel may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum SharedLimit {
    /// What every launch may use.
    #[default]
    Launch,
    /// What the processor has.
    Processor,
}

/// What address 0 of shared memory is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum NullAddress {
    /// That of the first variable.
    #[default]
    Used,
    /// That of none, so that it can stand for no variable.
    Reserved,
}

/// What becomes of variables in global memory that nobody defines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum UndefinedGlobals {
    /// They end the link.
    #[default]
    Refused,
    /// They are left to the driver.
    Allowed,
}

/// What symbols say of the few sections whose number nvlink writes as it is, though ELF means something else by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum ReservedNumbers {
    /// That `.symtab_shndx` has the number, as for all sections from there on.
    #[default]
    Extended,
    /// The number, as nvlink does.
    Bare,
}

/// What a link does about shared memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct SharedMemory {
    /// What the system keeps.
    pub reservation: Reservation,
    /// How much there may be.
    pub limit: SharedLimit,
    /// Where it begins.
    pub null: NullAddress,
}

/// How relocations without an addend are written up to sm_89. Later ones
/// always have one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum RelocationForms {
    /// As in the inputs.
    #[default]
    AsInputs,
    /// With an addend of 0.
    WithAddends,
}

/// What holds for all links of a program, whatever the processor.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Settings {
    /// What is made.
    pub image: ImageKind,
    /// What is kept for debuggers.
    pub debug: DebugLevel,
    /// What becomes of relocations.
    pub resolved_relocations: ResolvedRelocations,
    /// How relocations are written.
    pub relocation_forms: RelocationForms,
    /// What is done about shared memory.
    pub shared_memory: SharedMemory,
    /// What becomes of global variables that nobody defines.
    pub undefined_globals: UndefinedGlobals,
    /// What symbols say of sections with reserved numbers.
    pub reserved_numbers: ReservedNumbers,
    /// Whether to say what the program and its kernels use.
    pub verbose: bool,
    /// Whether to show which function calls which, and how names look then.
    pub call_graph: Option<Names>,
    /// Weak definitions that differ.
    pub odr: Odr,
    /// The reports to make.
    pub reports: report::Requested,
    /// The places of unified functions and variables, which all images of a program share.
    pub unified_index: Option<UnifiedIndex>,
    /// The content of `.nv.host`, which the driver does not read.
    pub host_data: Option<Vec<u8>>,
    /// The bytes of our own record in `.note.nv.tkinfo`.
    pub tool_record: Vec<u8>,
}

/// How one link is done.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Options {
    /// The processor to link for.
    pub target: Sm,
    /// What is done where nvlink is wrong.
    pub behaviour: Behaviour,
    /// Kernels that stay.
    pub kernels: KernelFilter,
    /// The `__constant__` variables that stay even if nothing uses them. It matters only where constants do not all fit and
    /// some kernels are dropped: unused ones are dropped then.
    pub constants: KernelFilter,
    /// Whether a warning about an object ends the link after that object, as nvlink's `-Werror` does.
    pub warnings_are_errors: bool,
    /// Whether the link ends with an error after the last object: nvlink's does where more objects follow the device runtime.
    pub(crate) is_followed: bool,
    /// The positions of objects that the merge warns of because they are linked together with an
    /// extensible whole program (`ptxas -ewp`), which is meant to be linked with the device runtime alone.
    pub(crate) company: BTreeSet<usize>,
    /// The options that do not depend on the processor.
    pub settings: Settings,
}

impl Options {
    /// The defaults for a processor.
    pub fn new(target: Sm) -> Self {
        Self {
            target,
            behaviour: Behaviour::default(),
            kernels: KernelFilter::All,
            constants: KernelFilter::All,
            warnings_are_errors: false,
            is_followed: false,
            company: BTreeSet::new(),
            settings: Settings::default(),
        }
    }

    /// Says what is done where nvlink is wrong.
    #[must_use]
    pub fn behaviour(self, behaviour: Behaviour) -> Self {
        Self { behaviour, ..self }
    }

    /// Says which kernels stay.
    #[must_use]
    pub fn kernels(self, kernels: KernelFilter) -> Self {
        Self { kernels, ..self }
    }

    /// Says what does not depend on the processor.
    #[must_use]
    pub fn settings(self, settings: Settings) -> Self {
        Self { settings, ..self }
    }

    /// Whether unreachable code is dropped.
    pub(crate) fn drops_dead_code(&self) -> bool {
        let Settings {
            debug,
            resolved_relocations,
            ..
        } = self.settings;
        debug == DebugLevel::None && resolved_relocations == ResolvedRelocations::Dropped
    }
}
