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

mod lacking;
mod summary;

use std::collections::HashSet;
use std::num::NonZero;
use std::path::PathBuf;

use crate::arch::Sm;
use crate::codes::{self, Code};
use crate::container::Machine;
use crate::diagnostic::{Diagnostic, Diagnostics, Filter, Severity};
use crate::fatbin::{self, FatbinOptions, LinkedImage, WriteError};
use crate::finalize::EMPTY_DOT;
use crate::inputs::{
    self, Compilation, Environment, Files, Loaded, Module, Processor, Survey, Taken, Wanted,
};
use crate::options::{Behaviour, Options, Settings};
use crate::report::Reports;
use crate::{Exit, LinkError, Outcome, Product, with_threads};

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

/// What is said where no processor is named, and the inputs name none to link for.
const ONLY_PTX: &str = "the inputs have PTX and no machine code; compile them for a processor, too (nvcc -gencode \
     arch=compute_90,code=sm_90; in CMake, 90 in CMAKE_CUDA_ARCHITECTURES instead of 90-virtual), or name one with --arch";
const NO_DEVICE_CODE: &str = "no input has device code; name the objects and static libraries that were compiled with -rdc=true \
     (what shared libraries hold is linked already), or a processor with --arch";
const NO_MACHINE_CODE: &str = "no input has machine code that can be linked; compile with -rdc=true (nvcc -dc, clang \
     -fgpu-rdc --no-offload-new-driver), or name a processor with --arch";

/// A request, and what its links read.
#[derive(Clone, Copy)]
pub(crate) struct Job<'a> {
    pub(crate) request: &'a Request,
    pub(crate) files: &'a Files,
    pub(crate) environment: &'a Environment,
}

impl<'a> Job<'a> {
    /// Links for each of `targets`; without any, for all processors that the
    /// inputs have code for.
    fn link_each(self, targets: &[Sm], messages: &Filter) -> Linked {
        let survey = self.files.survey();
        let mut linked = Linked {
            files: self.files.names(),
            host: survey.host,
            ..Linked::default()
        };
        let are_chosen = !targets.is_empty();
        let targets = match are_chosen {
            true => targets.to_vec(),
            false => self.targets_of(&survey),
        };
        if targets.is_empty() {
            self.explain_nothing(&survey, &mut linked);
            return linked;
        }
        // Twice the same image would be of no use.
        let mut seen = HashSet::new();
        let targets = targets.into_iter().filter(|sm| seen.insert(*sm));
        let (known, unknown): (Vec<Sm>, Vec<Sm>) = targets.partition(|sm| Sm::KNOWN.contains(sm));
        for &sm in &unknown {
            linked.add(None, Diagnostic::unknown_processor(sm));
        }
        let mut failed = !unknown.is_empty();
        let mut registered = HashSet::new();
        for sm in known {
            failed |= !self.link_into(&mut linked, &mut registered, sm, messages);
        }
        if failed {
            linked.images.clear();
        }
        if !are_chosen {
            linked.leave_out_without_kernels();
        }
        linked
    }

    /// The processors to link for where nobody has chosen any.
    fn targets_of(self, survey: &Survey) -> Vec<Sm> {
        let mut targets: Vec<Sm> = survey.processors.iter().copied().collect();
        if self.request.inputs.link_time.is_some() {
            targets.extend(&survey.intermediates);
            targets.sort();
        }
        targets
    }

    /// Links for one processor and adds what comes of it. Returns whether that is an image.
    fn link_into(
        self,
        linked: &mut Linked,
        registered: &mut HashSet<String>,
        sm: Sm,
        messages: &Filter,
    ) -> bool {
        let report = &mut |diagnostic| {
            let Some(diagnostic) = messages.wanted(diagnostic) else {
                return false;
            };
            let is_error = diagnostic.severity >= Severity::Error;
            linked.add(Some(sm), diagnostic);
            is_error
        };
        let one = self.link(&sm.into(), report, |product| product.into_bytes());
        for module in one.modules.unwrap_or_default() {
            // Code of other modules is linked like that of a library.
            if let Module::Named(name) = module
                && registered.insert(name.clone())
            {
                linked.modules.push(name);
            }
        }
        linked.uses_device_runtime |= one.uses_device_runtime;
        let image = one.output.map(|data| Image { sm, data });
        let is_there = image.is_some();
        linked.images.extend(image);
        is_there
    }

    /// Says why there is no processor to link for.
    fn explain_nothing(self, survey: &Survey, linked: &mut Linked) {
        // An input that cannot be read is the better explanation.
        let mut problems = Vec::new();
        let report = &mut |diagnostic: Diagnostic| {
            problems.push(diagnostic);
            // What is left out is of interest, too.
            false
        };
        let processor = Processor::from(Sm::KNOWN[0]);
        let (loaded, _) = self.load(&processor, report);
        // PTX may well be for a newer processor than this one.
        let is_about_ptx = |problem: &Diagnostic| {
            survey.has_ptx
                && (problem.code == codes::PTXAS_FAILED || problem.code == codes::MISSING_PTXAS)
        };
        if loaded.as_ref().err() == Some(&Exit::Fatal) && !problems.iter().any(is_about_ptx) {
            for problem in problems {
                linked.add(None, problem);
            }
            return;
        }
        // What was linked before may be why, or a file of another kind.
        let linked_before = problems
            .iter()
            .find(|problem| problem.code == codes::NO_DEVICE_CODE)
            .and_then(|problem| problem.detail.clone());
        problems.retain(|problem| problem.code == codes::IGNORED_INPUT);
        let hints = loaded.map_or_else(|_| Vec::new(), |loaded| loaded.hints);
        let is_closed = hints.iter().any(|hint| hint.code == codes::CLOSED_OBJECT);
        let has_none = problems.is_empty() && !is_closed;
        for problem in problems {
            linked.add(None, problem);
        }
        let (code, text) = match survey.intermediates.is_empty() {
            true if survey.has_ptx => (codes::NO_DEVICE_CODE, ONLY_PTX),
            true if linked_before.is_some() => {
                (codes::NO_DEVICE_CODE, "no input has device code to link")
            }
            true if has_none => (codes::NO_DEVICE_CODE, NO_DEVICE_CODE),
            true => (codes::NO_DEVICE_CODE, NO_MACHINE_CODE),
            false => (
                codes::LTO_INPUT,
                "the inputs have LTO-IR and no machine code; link them with -dlto",
            ),
        };
        let nothing = Diagnostic {
            detail: linked_before,
            ..Diagnostic::fatal(code, text)
        };
        linked.add(None, nothing);
    }

    /// Reads the inputs for one processor. `report` gets every message and returns whether it counts as an error. Returns
    /// the times of compilers, too.
    pub(crate) fn load(
        self,
        processor: &Processor,
        report: &mut dyn FnMut(Diagnostic) -> bool,
    ) -> (Result<Loaded<'a>, Exit>, Vec<Compilation>) {
        let inputs = &self.request.inputs;
        let Taken {
            loaded,
            diagnostics,
            compilations,
        } = inputs::load(self.files, inputs, processor, self.environment);
        let failed = report_all(&diagnostics, report);
        let loaded = match loaded {
            None if inputs.options_failed && !diagnostics.has_fatal() => Err(Exit::LinkError),
            None => Err(Exit::Fatal),
            Some(_) if failed => Err(Exit::LinkError),
            Some(loaded) => Ok(loaded),
        };
        (loaded, compilations)
    }

    /// Links for one processor. `take` gets the result before all messages are known, which may still make it useless.
    pub(crate) fn link<O>(
        self,
        processor: &Processor,
        report: &mut dyn FnMut(Diagnostic) -> bool,
        take: impl FnOnce(Product<'_>) -> O,
    ) -> One<O> {
        let (loaded, compilations) = self.load(processor, report);
        let one = match loaded {
            Err(exit) => One::ended(exit),
            Ok(mut loaded) => match loaded.finished.take() {
                Some(finished) => {
                    let output = take(Product::Optimized(finished));
                    self.without_link(loaded.modules, output)
                }
                None => self.link_loaded(loaded, processor, report, take),
            },
        };
        One {
            compilations,
            ..one
        }
    }

    /// The result where link-time optimization has left nothing to be linked.
    fn without_link<O>(self, modules: Vec<Module>, output: O) -> One<O> {
        let Request { inputs, settings } = self.request;
        let emits_ptx = inputs
            .link_time
            .as_ref()
            .is_some_and(|settings| settings.emit_ptx);
        let has_graph = settings.reports.call_graph && !emits_ptx;
        One {
            output: Some(output),
            modules: Some(modules),
            reports: Reports {
                call_graph: has_graph.then(|| EMPTY_DOT.to_owned()),
                ..Reports::default()
            },
            ..One::ended(Exit::Success)
        }
    }

    fn link_loaded<O>(
        self,
        mut loaded: Loaded<'_>,
        processor: &Processor,
        report: &mut dyn FnMut(Diagnostic) -> bool,
        take: impl FnOnce(Product<'_>) -> O,
    ) -> One<O> {
        let inputs = &self.request.inputs;
        let mut images = loaded.images.iter();
        let uses_device_runtime = images.any(inputs::Image::is_of_system_library);
        let options = self.request.options(processor, &loaded);
        let outcome = crate::link_objects(
            inputs::objects(&mut loaded.images, options.behaviour),
            &options,
            Diagnostics::default(),
            take,
        );
        let lacks_something = outcome.diagnostics.has(codes::UNDEFINED_REFERENCE);
        let explainer = loaded.explainer(inputs, processor, self.environment);
        let failed = report_all(&outcome.diagnostics, &mut |mut diagnostic| {
            diagnostic.is_settled |= loaded.forgets_options;
            let diagnostic = diagnostic.with_inputs_lacking(&loaded.lacking, &processor.name);
            report(explainer.explained(diagnostic))
        });
        let exit = match outcome.exit() {
            Exit::Success if failed => Exit::LinkError,
            exit => exit,
        };
        let Outcome { image, reports, .. } = outcome;
        if image.is_none() && lacks_something && inputs.behaviour == Behaviour::Own {
            for hint in loaded.hints {
                report(hint);
            }
        }
        One {
            output: image.filter(|_| exit == Exit::Success),
            modules: Some(loaded.modules),
            uses_device_runtime,
            reports,
            ..One::ended(exit)
        }
    }
}

/// The result of the link for one processor.
#[derive(Debug)]
#[cfg_attr(
    not(feature = "program"),
    expect(dead_code, reason = "the command line tells more than the library")
)]
pub(crate) struct One<O> {
    pub(crate) exit: Exit,
    /// An image, or PTX where that was asked for.
    pub(crate) output: Option<O>,
    /// The modules of the inputs, if these could be read.
    pub(crate) modules: Option<Vec<Module>>,
    pub(crate) uses_device_runtime: bool,
    pub(crate) reports: Reports,
    /// What was compiled, in its order.
    pub(crate) compilations: Vec<Compilation>,
}

impl<O> One<O> {
    pub(crate) fn ended(exit: Exit) -> Self {
        Self {
            exit,
            output: None,
            modules: None,
            uses_device_runtime: false,
            reports: Reports::default(),
            compilations: Vec::new(),
        }
    }
}

/// Reports messages. Returns whether one of them counts as an error.
fn report_all(diagnostics: &Diagnostics, report: &mut dyn FnMut(Diagnostic) -> bool) -> bool {
    let mut failed = false;
    for message in diagnostics.messages() {
        failed |= report(message.clone());
    }
    failed
}
