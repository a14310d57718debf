//! What `nvcc -dlink` does: links the same inputs once for each processor and
//! puts the images into one host object.
//!
//! ```
//! use rustnvlink::device_link::{DeviceLink, Request};
//! use rustnvlink::fatbin::FatbinOptions;
//! use rustnvlink::host::{HostMachine, HostObject};
//! use rustnvlink::inputs::{Environment, Kernels, Wanted};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let wanted = Wanted::new(vec![
//!     "../tests/inputs/caller.sm_90.cubin".into(),
//!     "../tests/inputs/callee.sm_90.cubin".into(),
//! ]);
//! // Not only those that host code names.
//! let request = Request::new(wanted.kernels(Kernels::All));
//! let environment = Environment::from_process();
//! let linked = DeviceLink::new(&request).environment(environment).link_for(&["sm_90".parse()?]);
//! for message in &linked.messages {
//!     eprintln!("{}", message.diagnostic);
//! }
//! let fatbin = linked.fatbin(&FatbinOptions::default())?;
//! let object = HostObject::new(&fatbin, &linked.modules)?.to_bytes(HostMachine::X86_64)?;
//! assert!(object.starts_with(b"\x7fELF"));
//! # Ok(())
//! # }
//! ```

mod job;
mod lacking;
mod summary;

use std::num::NonZero;
use std::path::PathBuf;

use crate::arch::Sm;
use crate::codes::{self, Code};
use crate::container::Machine;
use crate::diagnostic::{Diagnostic, Filter, Severity};
use crate::fatbin::{self, FatbinOptions, LinkedImage, WriteError};
use crate::inputs::{Environment, Files, Loaded, Processor, Wanted};
use crate::options::{Behaviour, Options, Settings};
use crate::{Exit, LinkError, with_threads};

pub(crate) use job::Job;
#[cfg(feature = "program")]
pub(crate) use job::One;
pub use summary::{Shown, summarize};

/// What is linked, and how, for all processors.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Request {
    /// The inputs.
    pub inputs: Wanted,
    /// What is made of them.
    pub settings: Settings,
}

impl Request {
    /// A link of these inputs with the defaults of nvcc.
    pub fn new(inputs: Wanted) -> Self {
        Self {
            inputs,
            settings: Settings::default(),
        }
    }

    /// Says what is made of the inputs.
    #[must_use]
    pub fn settings(self, settings: Settings) -> Self {
        Self { settings, ..self }
    }

    fn options(&self, processor: &Processor, loaded: &Loaded<'_>) -> Options {
        Options {
            target: processor.sm,
            behaviour: self.inputs.behaviour,
            kernels: loaded.kernels.clone(),
            constants: loaded.constants.clone(),
            warnings_are_errors: self.inputs.behaviour == Behaviour::Nvlink
                && self.inputs.warnings_are_errors
                && !loaded.forgets_options,
            is_followed: loaded.is_followed,
            company: loaded.company.clone(),
            settings: self.settings.clone(),
        }
    }
}

/// An image and the processor it is for.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Image {
    /// The processor.
    pub sm: Sm,
    /// The executable device ELF file.
    pub data: Vec<u8>,
}

/// A message about the link for one processor, or about all of them.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Message {
    /// The processor.
    pub sm: Option<Sm>,
    /// The message.
    pub diagnostic: Diagnostic,
}

impl Message {
    /// A message about one processor, or about all.
    pub fn new(sm: Option<Sm>, diagnostic: Diagnostic) -> Self {
        Self { sm, diagnostic }
    }
}

/// The result of links for several processors.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Linked {
    /// One image per processor, in the order of the request. Empty if some
    /// link has failed.
    pub images: Vec<Image>,
    /// The files that were read.
    pub files: Vec<String>,
    /// The modules that register themselves, for the host object.
    pub modules: Vec<String>,
    /// The host of the objects that were linked.
    pub host: Option<Machine>,
    /// Whether the device runtime is among what was linked, so that the host
    /// linker needs it, too.
    pub uses_device_runtime: bool,
    /// Everything the user should know.
    pub messages: Vec<Message>,
}

impl Linked {
    /// Whether there is something to write.
    pub fn is_complete(&self) -> bool {
        !self.images.is_empty()
    }

    /// The images, or why there are none. Drops the warnings of links that succeed.
    pub fn into_result(self) -> Result<Vec<Image>, LinkError> {
        if self.is_complete() {
            return Ok(self.images);
        }
        let messages = self.messages.into_iter();
        Err(LinkError(
            messages.map(|message| message.diagnostic).collect(),
        ))
    }

    /// Whether a message has this code.
    pub fn has(&self, code: Code) -> bool {
        let mut messages = self.messages.iter();
        messages.any(|message| message.diagnostic.code == code)
    }

    /// The exit code of a program that makes these links.
    pub fn exit(&self) -> Exit {
        let worst = self.messages.iter().map(|m| m.diagnostic.severity).max();
        match worst {
            _ if self.is_complete() => Exit::Success,
            Some(Severity::Error) => Exit::LinkError,
            _ => Exit::Fatal,
        }
    }

    /// The images in one fatbin.
    pub fn fatbin(&self, options: &FatbinOptions) -> Result<Vec<u8>, WriteError> {
        let images: Vec<LinkedImage<'_>> = self
            .images
            .iter()
            .map(|image| LinkedImage::new(image.sm, &image.data))
            .collect();
        fatbin::write(&images, options)
    }

    fn add(&mut self, sm: Option<Sm>, diagnostic: Diagnostic) {
        self.messages.push(Message::new(sm, diagnostic));
    }
}

/// Makes the links of a request. Unless told otherwise, it looks for nothing outside of the request: no program, no library,
/// no folder.
#[derive(Clone)]
pub struct DeviceLink<'a> {
    request: &'a Request,
    environment: Environment,
    messages: Filter,
    threads: Option<NonZero<usize>>,
    find_runtime: &'a dyn Fn() -> Option<PathBuf>,
}

impl<'a> DeviceLink<'a> {
    /// Links as the request says.
    #[must_use]
    pub fn new(request: &'a Request) -> Self {
        Self {
            request,
            environment: Environment::default(),
            messages: Filter::default(),
            threads: None,
            find_runtime: &|| None,
        }
    }

    /// Where libraries and the programs of a toolkit are looked for: [`Environment::from_process`] looks where nvlink does.
    #[must_use]
    pub fn environment(self, environment: Environment) -> Self {
        Self {
            environment,
            ..self
        }
    }

    /// Which messages [`Linked::messages`] holds, and which warnings count as errors.
    #[must_use]
    pub fn messages(self, messages: Filter) -> Self {
        Self { messages, ..self }
    }

    /// How many threads there may be; else as many as there are processors.
    #[must_use]
    pub fn threads(self, threads: Option<NonZero<usize>>) -> Self {
        Self { threads, ..self }
    }

    /// What finds `libcudadevrt.a`. It is asked only where something is missing, or may turn out to be: most programs
    /// do without.
    #[must_use]
    pub fn device_runtime(self, find_runtime: &'a dyn Fn() -> Option<PathBuf>) -> Self {
        Self {
            find_runtime,
            ..self
        }
    }

    /// Links for each of `targets`; without any, for all processors that the files have code for, but for those that files
    /// with kernels lack. The files of the request are not read.
    ///
    /// ```
    /// use rustnvlink::device_link::{DeviceLink, Request};
    /// use rustnvlink::inputs::{Files, Kernels, Wanted};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let object = std::fs::read("../tests/inputs/saxpy.sm_90.cubin")?;
    /// let files = Files::in_memory([("saxpy.cubin".to_owned(), object)]);
    /// let wanted = Wanted::new(Vec::new()).kernels(Kernels::All);
    /// let images = DeviceLink::new(&Request::new(wanted)).link(files, &[]).into_result()?;
    /// assert_eq!(images[0].sm.to_string(), "sm_90");
    /// # Ok(())
    /// # }
    /// ```
    pub fn link(&self, files: Files, targets: &[Sm]) -> Linked {
        with_threads(self.threads, || self.link_all(files, targets))
    }

    /// Reads the files of the request and links for each of `targets`; without any, for all processors that the files have
    /// code for, as [`Self::link`] does.
    pub fn link_for(&self, targets: &[Sm]) -> Linked {
        self.link_files(|_| targets.to_vec())
    }

    /// [`Self::link_for`] processors that depend on what the files hold: `targets` chooses them when these are read.
    pub fn link_files(&self, targets: impl FnOnce(&Files) -> Vec<Sm>) -> Linked {
        with_threads(self.threads, || {
            let files = Files::read(&self.request.inputs, &self.environment);
            let targets = targets(&files);
            self.link_all(files, &targets)
        })
    }

    fn link_all(&self, mut files: Files, targets: &[Sm]) -> Linked {
        let inputs = &self.request.inputs;
        if inputs.link_time.is_none() {
            let linked = self.job(&files).link_each(targets, &self.messages);
            let misses_something = !linked.is_complete() && linked.has(codes::UNDEFINED_REFERENCE);
            if !misses_something || files.has_device_runtime() {
                return linked;
            }
        }
        if !files.has_device_runtime()
            && let Some(runtime) = (self.find_runtime)()
        {
            files.add(&runtime, inputs);
        }
        self.job(&files).link_each(targets, &self.messages)
    }

    fn job<'j>(&'j self, files: &'j Files) -> Job<'j> {
        Job {
            request: self.request,
            files,
            environment: &self.environment,
        }
    }
}
