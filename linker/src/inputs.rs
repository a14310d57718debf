//! Turns files and libraries into the device objects of a link.
//!
//! In: paths and libraries as the command line has them. Out: one device object per translation unit, for one processor, and
//! what the host side of the link has to know. First every file is read (`files`), then they are looked at in order
//! (`load`); the link proper sees neither paths nor containers.

mod check;
mod contents;
mod elsewhere;
mod environment;
mod files;
mod host;
mod link_time;
mod load;
pub(crate) mod memory;
mod modules;
pub(crate) mod ptx;
mod recorded;
mod search;
mod select;
mod survey;
mod times;
mod toolkit;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::PathBuf;

use crate::arch::Sm;
use crate::diagnostic::Diagnostic;
use crate::error::ParseError;
use crate::options::{Behaviour, KernelFilter};
use crate::parallel;
use crate::read::Object;
use link_time::{Explainer, Intermediate, Optimizer};
use recorded::Agreed;

pub use environment::{Environment, ToolError, Tools};
pub use files::Files;
pub use link_time::{LinkTime, Scope};
pub(crate) use modules::Module;
#[cfg(feature = "program")]
pub(crate) use modules::registration;
pub use ptx::{Assembler, Limits};
pub use search::host_folder;
pub use survey::Survey;
pub(crate) use times::Compilation;
#[cfg(feature = "program")]
pub(crate) use toolkit::Installed;

/// Which kernels a link keeps, as the command line says it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kernels {
    /// All of them.
    All,
    /// Those that host code names, if all inputs say what their host code names; else all.
    NamedByHost,
    /// Those whose name contains one of these.
    Containing {
        /// The parts of names of kernels.
        kernels: Vec<String>,
        /// The parts of names of variables, which only link-time optimization
        /// leaves out.
        variables: Vec<String>,
    },
}

/// What is taken from archives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Archives {
    /// All members.
    #[default]
    Whole,
    /// Members that something before the archive needs.
    InOrder,
    /// Members that something needs, all archives being searched together
    /// behind everything else.
    Grouped,
}

/// The inputs of a link, and how they are read.
///
/// ```
/// use rustnvlink::inputs::{Archives, Kernels, LinkTime, Wanted};
///
/// let mut wanted = Wanted::new(vec!["main.o".into()])
///     .kernels(Kernels::All)
///     .link_time(Some(LinkTime::default()));
/// wanted.libraries.push("kernels".to_owned());
/// wanted.archives = Archives::Grouped;
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Wanted {
    /// The files named.
    pub files: Vec<PathBuf>,
    /// The libraries to look for.
    pub libraries: Vec<String>,
    /// The folders to look in.
    pub library_paths: Vec<PathBuf>,
    /// The ELF number of the machine that libraries are for, if it is known.
    pub host_machine: Option<object::elf::Machine>,
    /// What is taken from archives.
    pub archives: Archives,
    /// Whether `libcudadevrt.a` is linked even if nothing needs it.
    pub keep_system_libraries: bool,
    /// Whether the modules are registered. Only then does nvlink look at their
    /// names.
    pub registers_modules: bool,
    /// Which kernels stay.
    pub kernels: Kernels,
    /// How PTX is assembled.
    pub assembler: Assembler,
    /// Link-time optimization. With it LTO-IR is linked, in preference to machine code of the same file.
    pub link_time: Option<LinkTime>,
    /// Whether an object may lack code for the processor.
    pub may_lack_arch: bool,
    /// Whether there may be no code at all. nvcc links every program, also one
    /// whose device code is already whole.
    pub may_be_empty: bool,
    /// Whether a warning ends the link, as an error does.
    pub warnings_are_errors: bool,
    /// Whether a warning about the options counted as an error before. nvlink notices that only at certain inputs, or after
    /// the last one.
    pub(crate) options_failed: bool,
    /// What is done where nvlink is wrong.
    pub behaviour: Behaviour,
}

impl Wanted {
    /// These files, read as for `nvcc -dlink`.
    pub fn new(files: Vec<PathBuf>) -> Self {
        Self {
            files,
            libraries: Vec::new(),
            library_paths: Vec::new(),
            host_machine: None,
            archives: Archives::Whole,
            keep_system_libraries: false,
            registers_modules: true,
            kernels: Kernels::NamedByHost,
            assembler: Assembler::default(),
            link_time: None,
            may_lack_arch: false,
            may_be_empty: false,
            warnings_are_errors: false,
            options_failed: false,
            behaviour: Behaviour::Own,
        }
    }

    /// Says which kernels stay.
    #[must_use]
    pub fn kernels(self, kernels: Kernels) -> Self {
        Self { kernels, ..self }
    }

    /// Says how PTX is assembled.
    #[must_use]
    pub fn assembler(self, assembler: Assembler) -> Self {
        Self { assembler, ..self }
    }

    /// Says how LTO-IR is optimized, if it is.
    #[must_use]
    pub fn link_time(self, link_time: Option<LinkTime>) -> Self {
        Self { link_time, ..self }
    }

    /// Says what is done where nvlink is wrong.
    #[must_use]
    pub fn behaviour(self, behaviour: Behaviour) -> Self {
        Self { behaviour, ..self }
    }

    fn is_compatible(&self) -> bool {
        self.behaviour == Behaviour::Nvlink
    }
}

/// The processor that code is chosen for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Processor {
    /// The processor.
    pub(crate) sm: Sm,
    /// Its name in messages.
    pub(crate) name: String,
    /// Whether it is a virtual processor (`compute_90`). nvlink then checks the inputs by other rules, and links nothing.
    pub(crate) is_virtual: bool,
}

impl From<Sm> for Processor {
    fn from(sm: Sm) -> Self {
        Self {
            sm,
            name: sm.to_string(),
            is_virtual: false,
        }
    }
}

/// A device object.
#[derive(Debug)]
pub(crate) struct Image<'d> {
    /// The name messages use, `archive:member` for archive members.
    pub(crate) name: String,
    /// Its bytes.
    pub(crate) data: Cow<'d, [u8]>,
    /// Whether it is a whole program, which is meant to be linked with the device runtime alone.
    is_alone: bool,
    /// The parsed object, if it was parsed while the inputs were checked.
    object: Option<Box<Read<'d>>>,
}

/// What reading an object gives.
pub(crate) type Read<'d> = Result<Object<'d>, ParseError>;

/// The parsed objects. Those that are not parsed yet are parsed now, on several threads.
pub(crate) fn objects<'i>(images: &'i mut [Image<'_>], behaviour: Behaviour) -> Vec<Read<'i>> {
    let known: Vec<_> = images.iter_mut().map(|i| i.object.take()).collect();
    let images = &*images;
    let unknown: Vec<&Image<'_>> = images
        .iter()
        .zip(&known)
        .filter(|(_, known)| known.is_none())
        .map(|(image, _)| image)
        .collect();
    let bytes = unknown.iter().map(|image| image.data.len()).sum();
    let parse = |image: &&'i Image<'_>| Object::parse(&image.name, &image.data, behaviour);
    let mut parsed = parallel::map(&unknown, bytes, parse).into_iter();
    let objects = known
        .into_iter()
        .map(|known| known.map(|read| *read).or_else(|| parsed.next()));
    objects.flatten().collect()
}

impl Image<'_> {
    /// Whether it is part of the device runtime.
    pub(crate) fn is_of_system_library(&self) -> bool {
        load::is_of_system_library(&self.name)
    }
}

/// What a link works on.
#[derive(Debug)]
pub(crate) struct Loaded<'d> {
    /// The objects in link order.
    pub(crate) images: Vec<Image<'d>>,
    /// The result, where link-time optimization leaves nothing to be linked: an
    /// image, or PTX.
    pub(crate) finished: Option<Vec<u8>>,
    /// The modules, for the host stub.
    pub(crate) modules: Vec<Module>,
    /// Which kernels stay.
    pub(crate) kernels: KernelFilter,
    /// Which `__constant__` variables stay without being used.
    pub(crate) constants: KernelFilter,
    /// The inputs that have code for other processors only. They may define what the link finds undefined.
    pub(crate) lacking: Vec<String>,
    /// Messages to show if something is undefined, about inputs that may define it.
    pub(crate) hints: Vec<Diagnostic>,
    /// Whether options about messages no longer apply: nvlink forgets them when it compiles PTX.
    pub(crate) forgets_options: bool,
    /// See [`Options::is_followed`](crate::options::Options::is_followed).
    pub(crate) is_followed: bool,
    /// See [`Options::company`](crate::options::Options::company).
    pub(crate) company: BTreeSet<usize>,
    /// The inputs of LTO-IR that link-time optimization has made one object of.
    intermediates: Vec<Intermediate<'d>>,
    /// How that was compiled.
    agreed: Agreed,
}

impl<'d> Loaded<'d> {
    /// What adds to messages which input of LTO-IR a name comes from. nvlink does not say it.
    pub(crate) fn explainer<'a>(
        &'a self,
        wanted: &'a Wanted,
        processor: &'a Processor,
        environment: &'a Environment,
    ) -> Explainer<'a, 'd> {
        let settings = wanted.link_time.as_ref();
        let settings =
            settings.filter(|_| !wanted.is_compatible() && !self.intermediates.is_empty());
        let optimizer = settings.map(|settings| Optimizer {
            settings,
            agreed: &self.agreed,
            processor,
            environment,
            behaviour: wanted.behaviour,
        });
        Explainer::new(optimizer, &self.intermediates)
    }
}

pub(crate) use load::{Taken, load};
