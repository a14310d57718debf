//! Turns the files that were named into what a link takes.
//!
//! In: paths and libraries as the command line has them. Out: one device
//! object per translation unit, for one processor, and what the host side of
//! the link has to know. First every file is read ([`files`]), then they are
//! looked at in order ([`load`]); the link proper sees neither paths nor
//! containers.

mod check;
mod files;
mod host;
mod load;
mod modules;
pub(crate) mod ptx;
mod search;
mod select;
mod survey;

use std::borrow::Cow;
use std::ffi::OsString;
use std::path::PathBuf;

use crate::Input;
use crate::arch::Sm;
use crate::diagnostic::Diagnostic;
use crate::options::KernelFilter;

pub use files::Files;
pub use modules::{Module, registration};
pub use ptx::Assembler;
pub use survey::Survey;

/// Whose manners the program has where nvlink is silent or in error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Behaviour {
    /// Our own: whatever is left out is said.
    #[default]
    Own,
    /// Those of nvlink 13.0.
    Nvlink,
}

/// Which kernels a link keeps, as the command line says it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kernels {
    /// All of them.
    All,
    /// Those that host code names, where all host code is known.
    NamedByHost,
    /// Those whose name contains one of these.
    Containing(Vec<String>),
}

/// What is to be read, and how.
#[derive(Debug)]
pub struct Wanted<'a> {
    /// The processor.
    pub target: Sm,
    /// The name of the processor in messages.
    pub target_name: &'a str,
    /// The files named.
    pub files: &'a [PathBuf],
    /// The libraries to look for.
    pub libraries: &'a [String],
    /// The folders to look in.
    pub library_paths: &'a [PathBuf],
    /// Whether libcudadevrt.a is linked without need.
    pub keep_system_libraries: bool,
    /// Whether the modules are registered. Only then does nvlink look at their
    /// names.
    pub registers_modules: bool,
    /// Which kernels stay.
    pub kernels: &'a Kernels,
    /// How PTX is assembled.
    pub assembler: &'a Assembler,
    /// Whether LTO-IR is taken, and before machine code.
    pub link_time: bool,
    /// Whether an object may lack code for the processor.
    pub may_lack_arch: bool,
    /// Whether a warning ends the reading.
    pub warnings_are_errors: bool,
    /// Whose manners to have.
    pub behaviour: Behaviour,
}

impl Wanted<'_> {
    fn is_compatible(&self) -> bool {
        self.behaviour == Behaviour::Nvlink
    }
}

/// What the surroundings of the program decide.
#[derive(Debug)]
pub struct Environment {
    /// `LIBRARY_PATH`.
    pub library_path: Option<OsString>,
    /// The current folder. It is part of the names of modules that have none
    /// of their own.
    pub folder: PathBuf,
    /// Finds the assembler of PTX, or says where it was looked for.
    pub find_ptxas: fn() -> Result<PathBuf, String>,
    /// Finds the optimizer of LTO-IR in the same way.
    pub find_jitlink: fn() -> Result<PathBuf, String>,
}

/// A device object.
#[derive(Debug)]
pub struct Image<'d> {
    /// The name messages use, `archive:member` for archive members.
    pub name: String,
    /// Its bytes.
    pub data: Cow<'d, [u8]>,
    /// A whole program, which is meant to be linked with the device runtime
    /// alone.
    is_alone: bool,
}

impl Image<'_> {
    /// What a link takes.
    pub(crate) fn input(&self) -> Input<'_> {
        Input {
            name: &self.name,
            data: &self.data,
        }
    }
}

/// LTO-IR, perhaps in a container.
#[derive(Debug)]
pub struct Intermediate<'d> {
    /// The name messages use.
    pub name: String,
    /// What it is.
    pub kind: cudalink_jitlink::Kind,
    /// Its bytes.
    pub data: &'d [u8],
}

/// What a link takes.
#[derive(Debug)]
pub struct Loaded<'d> {
    /// The objects in link order.
    pub images: Vec<Image<'d>>,
    /// What has to be optimized and compiled first.
    pub intermediates: Vec<Intermediate<'d>>,
    /// The modules, for the host stub.
    pub modules: Vec<Module>,
    /// Which kernels stay.
    pub kernels: KernelFilter,
    /// What explains an undefined reference, if there is one.
    pub hints: Vec<Diagnostic>,
}

pub use load::load;
