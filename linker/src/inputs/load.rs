//! Goes through the files in order and takes from them what the link needs.

mod archives;
mod assemble;
mod hints;
mod host_use;
pub(super) mod members;
mod messages;
mod names;
mod objects;
mod optimize;
mod registration;
mod unpack;

use std::borrow::Cow;
use std::collections::{BTreeSet, HashSet};
use std::time::Duration;

use cudalink_jitlink as jitlink;

use super::contents::what_it_is;
use super::elsewhere::linked_elsewhere;
use super::files::{Files, Opened, Source};
use super::host::{self, Modules};
use super::link_time::{Holder, Intermediate};
use super::modules::{Module, name_of_path};
use super::ptx::{Fate, Source as PtxSource};
use super::times::Compilation;
use super::{Archives, Environment, Image, Loaded, Processor, Wanted};
use crate::codes;
use crate::container::{HostFile, InputKind};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::options::KernelFilter;
use assemble::Waiting;
use hints::Hints;
use host_use::{HostUse, Owner};
use names::Names;
use objects::{Look, look_at};
use optimize::Optimization;
use registration::{Holds, Last, Registration};
use unpack::{Code, Failure, Unpacked};

/// The library of the device runtime is known by its name.
const SYSTEM_LIBRARY: &str = "libcudadevrt.a";

/// The result of reading the inputs of a link.
#[derive(Debug)]
pub(crate) struct Taken<'d> {
    /// What the link works on. If it is missing, there is an error among the messages.
    pub(crate) loaded: Option<Loaded<'d>>,
    /// What there is to say.
    pub(crate) diagnostics: Diagnostics,
    /// What was compiled.
    pub(crate) compilations: Vec<Compilation>,
}

/// Takes what the link needs from `files`.
pub(crate) fn load<'d>(
    files: &'d Files,
    wanted: &Wanted,
    processor: &Processor,
    environment: &Environment,
) -> Taken<'d> {
    let mut loader = Loader {
        wanted,
        processor,
        environment,
        diagnostics: Diagnostics::default(),
        compilations: Vec::new(),
        linked_elsewhere: match wanted.registers_modules {
            true => linked_elsewhere(files, wanted.behaviour),
            false => HashSet::new(),
        },
        images: Vec::new(),
        waiting: Vec::new(),
        optimization: Optimization::within(wanted.assembler.limits),
        host_names: Names::default(),
        group: Vec::new(),
        unused_runtime: None,
        in_archive: false,
        registration: Registration::default(),
        host_use: HostUse::default(),
        hints: Hints::default(),
    };
    match loader.all(files) {
        Ok(()) => loader.finish(),
        Err(Stop) => Taken {
            loaded: None,
            diagnostics: loader.diagnostics,
            compilations: loader.compilations,
        },
    }
}

/// Whether a path is that of the device runtime.
pub(super) fn is_system_library(path: &str) -> bool {
    path.rsplit('/').next() == Some(SYSTEM_LIBRARY)
}

/// nvlink takes any path with this text in it for the device runtime (case `named_as_runtime`).
const RUNTIME: &str = "cudadevrt";

/// Whether an object is one of that archive.
pub(super) fn is_of_system_library(name: &str) -> bool {
    let archive = name.rsplit_once(':').map(|(archive, _)| archive);
    archive.is_some_and(is_system_library)
}

/// An error was reported that ends the reading of inputs.
struct Stop;

struct Loader<'a, 'd> {
    wanted: &'a Wanted,
    processor: &'a Processor,
    environment: &'a Environment,
    diagnostics: Diagnostics,
    compilations: Vec<Compilation>,
    /// Modules whose linked code is in some input.
    linked_elsewhere: HashSet<&'d str>,
    images: Vec<Image<'d>>,
    waiting: Vec<Waiting<'d>>,
    optimization: Optimization<'d>,
    /// What host code defines and needs, if archives are searched for it.
    host_names: Names,
    /// Archives that are searched together, at the end.
    group: Vec<&'d Source>,
    /// How many objects come before the device runtime, where nothing needs it.
    unused_runtime: Option<usize>,
    /// Whether the object at hand is a member of an archive.
    in_archive: bool,
    registration: Registration,
    host_use: HostUse<'d>,
    hints: Hints,
}

impl<'a, 'd> Loader<'a, 'd> {
    /// Goes through all files.
    fn all(&mut self, files: &'d Files) -> Result<(), Stop> {
        let unpacker = self.unpacker();
        let looks = look_at(files, &unpacker);
        self.warn_of_libraries(files)?;
        let mut looked_at = files.0.iter().zip(looks);
        let read = looked_at.try_for_each(|(opened, look)| self.opened(opened, look));
        if read.is_err() && self.wanted.is_compatible() {
            // nvlink has assembled what came before, and said what there was to say
            // (case `failed_options`).
            self.assemble()?;
        }
        read?;
        if self.wanted.options_failed {
            return Err(Stop);
        }
        self.end_group()?;
        self.assemble()?;
        self.optimize()?;
        self.warn_of_company()?;
        self.warn_of_nothing()
    }

    /// Whether what a path names counts as the device runtime.
    fn is_runtime(&self, path: &str) -> bool {
        match self.wanted.is_compatible() {
            true => path.contains(RUNTIME),
            false => is_system_library(path),
        }
    }

    fn opened(&mut self, opened: &'d Opened, look: Look<'d>) -> Result<(), Stop> {
        match opened {
            Opened::Read(source) => self.source(source, look),
            Opened::Unreadable { name, why } => Err(self.unreadable(name, why)),
            // Said before all else.
            Opened::Incompatible { .. } => Ok(()),
            Opened::NoArchive { name, is_folder } => Err(self.no_archive(name, *is_folder)),
            Opened::Missing { library, host } => self.missing_library(library, host.as_deref()),
            Opened::Nothing => Ok(()),
        }
    }

    /// Takes a file, by what it holds and by its name.
    fn source(&mut self, source: &'d Source, look: Look<'d>) -> Result<(), Stop> {
        let Source { name, data, .. } = source;
        let kind = match look {
            _ if data.is_empty() => return self.ignored(name, "it is empty"),
            Look::Nothing => return Ok(()),
            Look::Object(checked) => return self.object(source, checked),
            Look::Host(unpacked) => return self.host_object(name, data, unpacked),
            // A fatbin without code for the processor is not left out, but reported.
            Look::Fatbin(ref code)
                if !matches!(code, Ok(Code::Nothing(_))) && self.is_left_out_as_ptx(source)? =>
            {
                return Ok(());
            }
            Look::Fatbin(code) => return self.fatbin_file(name, code),
            Look::Other(kind) => kind,
        };
        let end = match source.extension() {
            // To nvlink both are names of the same.
            "nvvm" if self.wanted.is_compatible() => "ltoir",
            end => end,
        };
        match end {
            "ltoir" if kind == InputKind::LtoIr && self.wanted.link_time.is_some() => {
                self.intermediate_file(name, data)
            }
            "ltoir" => Err(self.no_intermediate(name)),
            "bc" if self.wanted.is_compatible() => {
                let text = "should never see bc files";
                Err(self.stop(Diagnostic::fatal(codes::LTO_INPUT, text)))
            }
            "ptx" if kind == InputKind::Ptx => self.ptx_file(name, data),
            "ptx" => {
                self.stop_at_fatbin(name)?;
                Err(self.unrecognized_ptx(name, data))
            }
            _ => match kind {
                InputKind::Archive => {
                    self.stop_after_errors()?;
                    self.archive(source)
                }
                InputKind::HostObject => unreachable!("it was unpacked when it was looked at"),
                InputKind::Cubin => self.ignored_by_name(name, "a cubin", "cubin"),
                InputKind::Fatbin => self.ignored_by_name(name, "a fatbin", "fatbin"),
                InputKind::Ptx => self.ignored_by_name(name, "PTX", "ptx"),
                InputKind::LtoIr => self.ignored_by_name(name, "LTO-IR", "ltoir"),
                InputKind::HostExecutable | InputKind::SharedLibrary => {
                    self.linked_host(name, data)
                }
                // Bitcode of host code is ignored like any other host object without device code.
                InputKind::Bitcode if end != "bc" => self.bitcode(name, data),
                InputKind::Bitcode | InputKind::Unknown => {
                    self.ignored(name, &what_it_is(name, data))
                }
            },
        }
    }

    fn ptx_file(&mut self, name: &str, text: &'d [u8]) -> Result<(), Stop> {
        self.stop_at_fatbin(name)?;
        self.stop_at_unspeakable()?;
        let fate = self.fate_of_ptx();
        self.ptx(PtxSource {
            name: name.to_owned(),
            text: Cow::Borrowed(text),
            options: Vec::new(),
            fate,
            is_file: true,
        });
        if fate == Fate::Linked {
            self.host_use.add_unsaid();
            self.unnamed_module(name);
        }
        Ok(())
    }

    /// Before sm_90, nvlink makes a whole program of PTX, and then leaves it out
    /// because it is one.
    fn fate_of_ptx(&self) -> Fate {
        let is_older = !self.processor.sm.is_hopper_or_newer();
        match self.wanted.is_compatible() && is_older {
            true => Fate::LeftOut,
            false => Fate::Linked,
        }
    }

    /// Whether nvlink leaves out machine code because its file has the name of
    /// PTX. It is treated like what the assembler would have made.
    fn is_left_out_as_ptx(&mut self, source: &Source) -> Result<bool, Stop> {
        if source.extension() != "ptx" || !self.wanted.is_compatible() {
            return Ok(false);
        }
        self.stop_at_fatbin(&source.name)?;
        self.stop_at_unspeakable()?;
        let compilation = Compilation::of_file(&source.name, Duration::ZERO);
        self.compilations.push(compilation);
        Ok(self.fate_of_ptx() == Fate::LeftOut)
    }

    /// A file that the host linker made; its device code is out of reach.
    fn linked_host(&mut self, name: &str, data: &[u8]) -> Result<(), Stop> {
        match HostFile::parse(data) {
            Ok(file) if file.has_relocatable_code() => self.ignored(
                name,
                "device code in shared libraries and programs cannot be linked again",
            ),
            _ => Ok(()),
        }
    }

    /// Takes a host object: its device code, and what its host code says of kernels and modules.
    fn host_object(
        &mut self,
        name: &str,
        data: &'d [u8],
        unpacked: Result<Unpacked<'d>, Vec<Diagnostic>>,
    ) -> Result<(), Stop> {
        let Unpacked { mut object, codes } =
            unpacked.map_err(|problems| self.stop_with(problems))?;
        self.stop_after_errors()?;
        if self.wanted.archives != Archives::Whole {
            self.host_names.add_host(data);
        }
        let owner = match is_of_system_library(name) {
            true => Owner::Runtime,
            false => Owner::Program,
        };
        self.host_use.add(&mut object, owner, self.wanted.behaviour);
        if object.is_result {
            self.hints.add_result(name);
        } else if object.is_closed {
            self.hints.add_closed(name);
        } else if let Some(place) = object.out_of_reach {
            self.out_of_reach(name, place)?;
        }
        let (Modules::Waiting(modules), Some(codes)) = (object.modules, codes) else {
            return Ok(());
        };
        let is_intermediate = codes
            .iter()
            .any(|c| matches!(c, Ok(Code::Intermediate(..))));
        for code in codes {
            self.code(name, code, Holder::Object)?;
        }
        if !object.fatbins.is_empty() {
            let holds = match is_intermediate {
                true => Holds::LtoIr,
                false => Holds::MachineCode,
            };
            let mut modules = modules.into_iter().map(|id| Module::Named(id.into_owned()));
            let first = modules.next().unwrap_or_else(|| self.unnamed(name));
            self.registration.add(first, holds);
            self.registration.add_further(modules);
        }
        Ok(())
    }

    /// nvlink notices at the next host object or library that a warning was an
    /// error (case `failed_options`).
    pub(super) fn stop_after_errors(&mut self) -> Result<(), Stop> {
        if !self.has_failed() {
            return Ok(());
        }
        self.diagnostics.push(host::internal_error());
        Err(Stop)
    }

    fn fatbin_file(&mut self, name: &str, code: Result<Code<'d>, Failure>) -> Result<(), Stop> {
        // nvlink notices earlier if a file is no fatbin.
        if !matches!(code, Err(Failure::NoFatbin(_))) {
            self.stop_at_fatbin(name)?;
        }
        // nvlink takes a fatbin of LTO-IR as a sign that its host code launches no kernel.
        let is_intermediate = matches!(code, Ok(Code::Intermediate(..)));
        let says_nothing = is_intermediate && self.wanted.is_compatible();
        let is_compiled = matches!(code, Ok(Code::Ptx(..) | Code::Intermediate(..)));
        let count = self.images.len();
        self.code(name, code, Holder::File)?;
        // An image that needs no link is left out, and there may be nothing for the processor.
        if is_compiled || self.images.len() > count {
            if !says_nothing {
                self.host_use.add_unsaid();
            }
            // Files with LTO-IR are no modules, unlike host objects.
            if !is_intermediate {
                self.unnamed_module(name);
            }
        }
        Ok(())
    }

    /// Whether a warning has counted as an error.
    fn has_failed(&self) -> bool {
        self.diagnostics.has_errors() || self.wanted.options_failed
    }

    /// Ends the link as nvlink does if [`Self::has_failed`], at a fatbin or PTX.
    fn stop_at_fatbin(&mut self, name: &str) -> Result<(), Stop> {
        match self.has_failed() {
            true => Err(self.fatal(codes::BAD_INPUT, name, "elfLink fatbinary error")),
            false => Ok(()),
        }
    }

    /// nvlink tells its assembler the options before it knows whether there is anything to assemble.
    pub(super) fn stop_at_unspeakable(&mut self) -> Result<(), Stop> {
        let Some(option) = self.wanted.assembler.unspeakable else {
            return Ok(());
        };
        let text = format!("Invalid argument for option '{option}'");
        Err(self.stop(Diagnostic::fatal(codes::INVALID_VALUE, text)))
    }

    /// Adds the module of a file that has no name for it.
    fn unnamed_module(&mut self, path: &str) {
        self.registration
            .add(self.unnamed(path), Holds::MachineCode);
    }

    /// A module that only nvlink has a name for.
    fn unnamed(&self, path: &str) -> Module {
        Module::Unnamed(name_of_path(&self.environment.folder, path))
    }

    /// Takes what a fatbin has for the processor.
    fn code(
        &mut self,
        name: &str,
        code: Result<Code<'d>, Failure>,
        holder: Holder,
    ) -> Result<(), Stop> {
        let code = code.map_err(|failure| self.not_unpacked(name, failure))?;
        if !matches!(code, Code::Nothing(_)) {
            self.stop_at_unspeakable()?;
        }
        match code {
            Code::Nothing(held) => self.without_arch(name, &held),
            Code::Image(data, checked) => self.add(name, data, checked),
            Code::Intermediate(fatbin, record) => self.intermediate(Intermediate {
                name: name.to_owned(),
                kind: jitlink::Kind::Fatbin,
                data: fatbin,
                record,
                place: self.place_of_next(),
                holder,
            }),
            Code::Ptx(text, options) => {
                self.ptx(PtxSource {
                    name: name.to_owned(),
                    text,
                    options,
                    fate: Fate::Linked,
                    is_file: false,
                });
                Ok(())
            }
        }
    }

    /// Which kernels and `__constant__` variables stay.
    fn filters(&self) -> (KernelFilter, KernelFilter) {
        let scope = self.optimization.scope;
        self.host_use.filters(&self.wanted.kernels, scope)
    }

    /// Puts the result together when all files have been taken.
    fn finish(mut self) -> Taken<'d> {
        let (kernels, constants) = self.filters();
        let company = match self.wanted.is_compatible() {
            true => self.company(),
            false => BTreeSet::new(),
        };
        let (hints, lacking) = self.hints.finish();
        // If LTO-IR was all of the program, nvlink registers its modules last and in reverse. A program that calls the
        // device runtime does not count (case `lto_registration`).
        let last = match self.optimization.is_made_whole && self.wanted.is_compatible() {
            true => Last::LtoIr,
            false => Last::Further,
        };
        let modules = self.registration.finish(last);
        // nvlink fails when it would merge the next object (case `lib_cudadevrt_unused`).
        let last = self.unused_runtime.unwrap_or(usize::MAX);
        let is_followed = self.images.len() > last;
        self.images.truncate(last);
        let loaded = Loaded {
            images: self.images,
            finished: self.optimization.finished,
            modules,
            kernels,
            constants,
            lacking,
            hints,
            forgets_options: self.diagnostics.forgets_options(),
            is_followed,
            company,
            intermediates: self.optimization.intermediates,
            agreed: self.optimization.agreed,
        };
        Taken {
            loaded: Some(loaded),
            diagnostics: self.diagnostics,
            compilations: self.compilations,
        }
    }
}
