//! Makes what the host linker takes: an object with the linked images and the
//! code that registers them with the CUDA runtime.
//!
//! In: a fatbin and the names of the modules in it. Out: the bytes of a host
//! object ([`HostObject::write`]), or C source for hosts without a writer
//! ([`HostObject::source`]). Build systems that compile NVIDIA's own source get
//! what it includes ([`embedded`]). [`script`] keeps large images out of the way
//! of host code. `docs/host.md` describes the protocol.

mod aarch64;
mod code;
mod elf;
pub mod script;
mod source;
#[cfg(test)]
mod tests;
mod x86_64;

use std::collections::HashSet;
use std::fmt;
use std::io::{self, Write};
use std::str::FromStr;

use crate::container::Machine;
use crate::container::host::{
    EXECUTABLE_SECTION as FATBIN_SECTION, MODULE_ID_SECTION, WRAPPER_MAGIC, WRAPPER_PREFIX,
    WRAPPER_SECTION,
};
use object::elf::{EM_AARCH64, EM_X86_64};

pub use source::{embedded, write_words};

/// The version of wrappers of linked code.
const WRAPPER_VERSION: u32 = 2;
/// The prefix of the functions that objects with device code call.
const REGISTER_PREFIX: &str = "__cudaRegisterLinkedBinary";

/// Images from this size on are marked as large data, which may lie beyond
/// the reach of host code.
pub const LARGE: usize = 1 << 30;

/// A host that objects are written for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum HostMachine {
    /// Linux and other ELF systems on x86-64.
    X86_64,
    /// Linux and other ELF systems on 64-bit Arm.
    Aarch64,
}

impl HostMachine {
    /// Every machine.
    pub const ALL: [Self; 2] = [Self::X86_64, Self::Aarch64];

    /// The machine this program runs on, if objects can be written for it.
    pub fn native() -> Option<Self> {
        match std::env::consts::ARCH {
            "x86_64" => Some(Self::X86_64),
            "aarch64" => Some(Self::Aarch64),
            _ => None,
        }
    }
}

impl fmt::Display for HostMachine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::X86_64 => "x86_64",
            Self::Aarch64 => "aarch64",
        })
    }
}

/// A machine that no object is written for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("host objects are written for x86_64 and aarch64, not for '{0}'; use C source instead")]
#[non_exhaustive]
pub struct UnknownMachine(pub String);

impl FromStr for HostMachine {
    type Err = UnknownMachine;

    /// Reads the first part of a target triple, or Debian's names.
    fn from_str(text: &str) -> Result<Self, UnknownMachine> {
        match text {
            "x86_64" | "x86-64" | "amd64" => Ok(Self::X86_64),
            "aarch64" | "arm64" => Ok(Self::Aarch64),
            _ => Err(UnknownMachine(text.to_owned())),
        }
    }
}

impl TryFrom<Machine> for HostMachine {
    type Error = UnknownMachine;

    fn try_from(machine: Machine) -> Result<Self, UnknownMachine> {
        match object::elf::Machine(machine.0) {
            EM_X86_64 => Ok(Self::X86_64),
            EM_AARCH64 => Ok(Self::Aarch64),
            _ => Err(UnknownMachine(machine.to_string())),
        }
    }
}

/// Why no host object can be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HostError {
    /// Two modules of one name.
    #[error(
        "module '{0}' is linked twice: the same object is among the inputs under two names; \
         leave one out"
    )]
    DuplicateModule(String),
    /// A name that is none in C.
    #[error("module '{0}' cannot be registered from C, where this is no identifier")]
    NoIdentifier(String),
    /// More modules than an instruction can count.
    #[error("{0} modules are more than can be registered")]
    TooManyModules(usize),
    /// The object writer has refused something.
    #[error("the host object cannot be written: {0}")]
    Object(#[from] object::write::Error),
    /// The output cannot be written to.
    #[error("the host object cannot be written: {0}")]
    Io(#[from] io::Error),
}

/// Linked images and the modules they hold.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct HostObject<'a> {
    fatbin: &'a [u8],
    modules: &'a [String],
}

impl<'a> HostObject<'a> {
    /// `modules` are the names in `__nv_module_id` of the objects that were
    /// linked. Each of these objects registers itself when the program starts;
    /// when the last one has, the runtime gets the images.
    pub fn new(fatbin: &'a [u8], modules: &'a [String]) -> Result<Self, HostError> {
        let mut known = HashSet::new();
        for module in modules {
            if !known.insert(module) {
                return Err(HostError::DuplicateModule(module.clone()));
            }
        }
        // The code addresses the table of modules with signed 32-bit offsets.
        if modules.len() >= 1 << 26 {
            return Err(HostError::TooManyModules(modules.len()));
        }
        Ok(Self { fatbin, modules })
    }

    /// Writes an ELF object. It links into programs and shared libraries,
    /// position-independent or not.
    pub fn write(&self, machine: HostMachine, out: impl Write) -> Result<(), HostError> {
        elf::write(self, machine, out)
    }

    /// The bytes of an ELF object.
    pub fn to_bytes(&self, machine: HostMachine) -> Result<Vec<u8>, HostError> {
        let mut bytes = Vec::with_capacity(self.fatbin.len() + 0x1000);
        self.write(machine, &mut bytes)?;
        Ok(bytes)
    }

    /// C source that compiles to an object of the same meaning.
    pub fn source(&self) -> Result<String, HostError> {
        source::write(self)
    }

    /// What `__nv_module_id` holds: the linked modules.
    fn module_ids(&self) -> Vec<u8> {
        let mut ids = Vec::new();
        for module in self.modules {
            ids.extend(b"def ");
            ids.extend(module.as_bytes());
            ids.push(0);
        }
        ids
    }
}

/// Where the registration code keeps what it knows, in zeroed memory.
#[derive(Debug, Clone, Copy)]
struct State {
    modules: u32,
}

impl State {
    /// How many modules have come.
    const COUNT: u32 = 0;
    /// What the runtime calls the images.
    const HANDLE: u32 = 8;
    /// The fatbins of the modules that have come, and a null pointer.
    const PARTS: u32 = 16;

    /// The functions to call back, in the same order.
    fn callbacks(self) -> u32 {
        Self::PARTS + 8 * (self.modules + 1)
    }

    fn size(self) -> u32 {
        self.callbacks() + 8 * self.modules
    }
}
