//! What `nvcc -dlink` does: links the same inputs once for each processor and
//! puts the images into one host object.

use std::collections::HashSet;
use std::path::PathBuf;

use crate::arch::Sm;
use crate::cli::Exit;
use crate::container::Machine;
use crate::diagnostic::{Diagnostic, Diagnostics, Severity};
use crate::fatbin::{self, FatbinOptions, LinkedImage, WriteError};
use crate::inputs::{self, Assembler, Behaviour, Environment, Files, Kernels, Module, Wanted};
use crate::options::{DebugLevel, Options};
use crate::{Input, Outcome};

/// What is linked, and how.
#[derive(Debug, Clone)]
pub struct Request {
    /// The processors. Without any, the link is for all that the inputs have
    /// machine code for.
    pub targets: Vec<Sm>,
    /// The files named.
    pub files: Vec<PathBuf>,
    /// The libraries to look for.
    pub libraries: Vec<String>,
    /// The folders to look in.
    pub library_paths: Vec<PathBuf>,
    /// Which kernels stay.
    pub kernels: Kernels,
    /// How PTX is assembled.
    pub assembler: Assembler,
    /// What is kept for debuggers.
    pub debug: DebugLevel,
    /// Whether objects may lack code for some processor.
    pub may_lack_arch: bool,
    /// Whether to say what the program and its kernels use.
    pub verbose: bool,
}

impl Request {
    /// A link of these files with the defaults of nvcc.
    pub fn new(files: Vec<PathBuf>) -> Self {
        Self {
            targets: Vec::new(),
            files,
            libraries: Vec::new(),
            library_paths: Vec::new(),
            kernels: Kernels::NamedByHost,
            assembler: Assembler::default(),
            debug: DebugLevel::None,
            may_lack_arch: false,
            verbose: false,
        }
    }
}

/// An image and the processor it is for.
#[derive(Debug, Clone)]
pub struct Image {
    /// The processor.
    pub sm: Sm,
    /// The executable device ELF file.
    pub data: Vec<u8>,
}

/// A message about the link for one processor, or about all of them.
#[derive(Debug, Clone)]
pub struct Message {
    /// The processor.
    pub sm: Option<Sm>,
    /// The message.
    pub diagnostic: Diagnostic,
}

/// The result of links for several processors.
#[derive(Debug, Default)]
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
    /// Everything the user should know.
    pub messages: Vec<Message>,
}

impl Linked {
    /// Whether there is something to write.
    pub fn is_complete(&self) -> bool {
        !self.images.is_empty()
    }

    /// The exit code that fits.
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
            .map(|image| LinkedImage {
                sm: image.sm,
                data: &image.data,
            })
            .collect();
        fatbin::write(&images, options)
    }

    fn add(&mut self, sm: Option<Sm>, diagnostics: &Diagnostics) {
        let messages = diagnostics.messages().iter().cloned();
        self.messages
            .extend(messages.map(|diagnostic| Message { sm, diagnostic }));
    }
}

/// Links for every processor that is asked for.
pub fn device_link(request: &Request, environment: &Environment) -> Linked {
    // What is read does not depend on the processor.
    let files = Files::read(&wanted(request, Sm::KNOWN[0], ""), environment);
    link_files(request, &files, environment)
}

/// Links `files`, which have been read, instead of those that the request names.
pub fn link_files(request: &Request, files: &Files, environment: &Environment) -> Linked {
    let mut linked = Linked {
        files: files.names(),
        ..Linked::default()
    };
    let survey = files.survey();
    linked.host = survey.host;
    let mut targets: Vec<Sm> = match &request.targets[..] {
        [] => survey.processors.into_iter().collect(),
        targets => targets.to_vec(),
    };
    // Twice the same image would be of no use.
    let mut known = HashSet::new();
    targets.retain(|sm| known.insert(*sm));
    if targets.is_empty() {
        let problem = Diagnostic::new(
            Severity::Fatal,
            "no-device-code",
            "no input has machine code that can be linked; compile with -rdc=true (nvcc -dc), or \
             name a processor with --arch",
        );
        linked.messages.push(Message {
            sm: None,
            diagnostic: problem,
        });
        // An input that cannot be read is the better explanation.
        let name = Sm::KNOWN[0].to_string();
        let mut diagnostics = Diagnostics::default();
        let loaded = inputs::load(
            files,
            &wanted(request, Sm::KNOWN[0], &name),
            environment,
            &mut diagnostics,
        );
        if loaded.is_none() {
            linked.messages.clear();
            linked.add(None, &diagnostics);
        }
        return linked;
    }
    let mut failed = false;
    for sm in targets {
        match link_for(sm, request, files, environment, &mut linked) {
            Some(data) => linked.images.push(Image { sm, data }),
            None => failed = true,
        }
    }
    if failed {
        linked.images.clear();
    }
    linked
}

fn link_for(
    sm: Sm,
    request: &Request,
    files: &Files,
    environment: &Environment,
    linked: &mut Linked,
) -> Option<Vec<u8>> {
    let name = sm.to_string();
    let mut diagnostics = Diagnostics::default();
    let loaded = inputs::load(
        files,
        &wanted(request, sm, &name),
        environment,
        &mut diagnostics,
    );
    linked.add(Some(sm), &diagnostics);
    let loaded = loaded.filter(|_| !diagnostics.has_errors())?;
    for module in loaded.modules {
        // Code of other modules is linked like that of a library.
        if let Module::Named(name) = module
            && !linked.modules.contains(&name)
        {
            linked.modules.push(name);
        }
    }
    let inputs: Vec<Input<'_>> = loaded.images.iter().map(inputs::Image::input).collect();
    let options = Options {
        kernels: loaded.kernels,
        debug: request.debug,
        verbose: request.verbose,
        ..Options::new(sm)
    };
    let Outcome {
        image,
        diagnostics,
        reports: _,
    } = crate::link(&inputs, &options);
    linked.add(Some(sm), &diagnostics);
    let image = image.filter(|_| !diagnostics.has_errors());
    if image.is_none() {
        let hints = loaded.hints.into_iter().map(|diagnostic| Message {
            sm: Some(sm),
            diagnostic,
        });
        linked.messages.extend(hints);
    }
    image
}

fn wanted<'a>(request: &'a Request, target: Sm, target_name: &'a str) -> Wanted<'a> {
    Wanted {
        target,
        target_name,
        files: &request.files,
        libraries: &request.libraries,
        library_paths: &request.library_paths,
        keep_system_libraries: false,
        registers_modules: true,
        kernels: &request.kernels,
        assembler: &request.assembler,
        link_time: false,
        may_lack_arch: request.may_lack_arch,
        warnings_are_errors: false,
        behaviour: Behaviour::Own,
    }
}
