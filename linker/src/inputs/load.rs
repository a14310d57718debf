//! Goes through the files in order and takes from them what the link needs.

mod archives;
mod assemble;
pub(super) mod members;
mod messages;
mod names;
mod objects;
mod optimize;
mod unpack;

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::{BTreeSet, HashSet};
use std::time::Duration;

use cudalink_jitlink as jitlink;

use super::contents::what_it_is;
use super::files::{Files, Opened, Source};
use super::host::{self, Modules};
use super::link_time::{Holder, Intermediate};
use super::modules::{Module, name_of_path};
use super::ptx::{Fate, Source as PtxSource};
use super::recorded::Agreed;
use super::times::Compilation;
use super::{Archives, Behaviour, Environment, Image, Kernels, Loaded, Processor, Wanted};
use crate::codes;
use crate::container::host::{HostReferences, ReferenceKind, ReferenceScope};
use crate::container::{HostFile, InputKind, archive, detect};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::error::ParseError;
use crate::options::{KernelFilter, Patterns};
use archives::Deferred;
use assemble::Waiting;
use names::Names;
use objects::{Look, look_at};
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
        intermediates: Vec::new(),
        optimizer: OnceCell::new(),
        agreed: Agreed::by(wanted.assembler.limits),
        host_names: Names::default(),
        group: Vec::new(),
        runtime: None,
        unused_runtime: None,
        in_archive: false,
        is_whole_program: false,
        is_made_whole: false,
        company: BTreeSet::new(),
        finished: None,
        modules: Vec::new(),
        further_modules: Vec::new(),
        optimized_modules: Vec::new(),
        references: Vec::new(),
        runtime_references: Vec::new(),
        all_name_kernels: true,
        launches_kernels: false,
        closed: Vec::new(),
        results: Vec::new(),
        lacking: Vec::new(),
        hints: Vec::new(),
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
    intermediates: Vec<Intermediate<'d>>,
    /// What optimizes it, once there is some.
    optimizer: OnceCell<jitlink::Library>,
    /// How all LTO-IR is compiled, once it is known.
    agreed: Agreed,
    /// What host code defines and needs, if archives are searched for it.
    host_names: Names,
    /// Archives that are searched together, at the end.
    group: Vec<&'d Source>,
    /// The device runtime, where only optimized code can tell whether it is
    /// needed.
    runtime: Option<Deferred<'d>>,
    /// How many objects come before the device runtime, where nothing needs it.
    unused_runtime: Option<usize>,
    /// Whether the object at hand is a member of an archive.
    in_archive: bool,
    /// Whether all code but that of the device runtime was LTO-IR.
    is_whole_program: bool,
    /// Whether the compiler made the image of all LTO-IR, with nothing left to link.
    is_made_whole: bool,
    /// See [`Options::company`](crate::options::Options::company).
    company: BTreeSet<usize>,
    /// What link-time optimization has made, if that is the result.
    finished: Option<Vec<u8>>,
    modules: Vec<Module>,
    /// Further modules of single objects; nvlink registers them last, and the
    /// last one first.
    further_modules: Vec<Module>,
    /// Which of the modules are LTO-IR.
    optimized_modules: Vec<usize>,
    /// The names that host code uses.
    references: Vec<HostReferences<'d>>,
    /// Those that the device runtime uses.
    runtime_references: Vec<HostReferences<'d>>,
    /// Whether every object so far says which kernels its host code launches.
    all_name_kernels: bool,
    /// Whether host code launches a kernel that is not one of the device
    /// runtime.
    launches_kernels: bool,
    /// Objects with device code that was compiled without `-rdc=true`.
    closed: Vec<String>,
    /// Objects that hold the result of a device link.
    results: Vec<String>,
    /// Inputs without code for the processor.
    lacking: Vec<String>,
    hints: Vec<Diagnostic>,
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
                Err(self.unrecognized_ptx(name))
            }
            _ => match kind {
                InputKind::Archive => {
                    self.stop_after_errors()?;
                    self.archive(source)
                }
                InputKind::HostObject => unreachable!("it was unpacked when it was looked at"),
                InputKind::Cubin | InputKind::Fatbin | InputKind::Ptx | InputKind::LtoIr => {
                    let kind = kind.to_string();
                    let end = kind.to_lowercase();
                    self.ignored(
                        name,
                        &format!("a {kind} is only linked from a file whose name ends in .{end}"),
                    )
                }
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
            self.all_name_kernels = false;
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
        let Unpacked { object, codes } = unpacked.map_err(|problems| self.stop_with(problems))?;
        self.stop_after_errors()?;
        if self.wanted.archives != Archives::Whole {
            self.host_names.add_host(data);
        }
        self.all_name_kernels &= object.names_kernels;
        let mut kernels = object.references.iter();
        // Where `ld -r` has joined several files that launch nothing, nvlink mistakes their NULs for names (case
        // `host_objects`).
        let is_launching = |references: &HostReferences<'_>| match self.wanted.is_compatible() {
            true => references.is_list,
            false => !references.patterns.is_empty(),
        };
        self.launches_kernels |= !is_of_system_library(name)
            && kernels.any(|r| r.kind == ReferenceKind::Kernel && is_launching(r));
        match is_of_system_library(name) {
            true => self.runtime_references.extend(object.references),
            false => self.references.extend(object.references),
        }
        if object.is_result {
            self.results.push(name.to_owned());
        } else if object.is_closed {
            self.closed.push(name.to_owned());
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
            if is_intermediate {
                self.optimized_modules.push(self.modules.len());
            }
            if modules.is_empty() {
                self.unnamed_module(name);
            }
            let mut modules = modules.into_iter().map(|id| Module::Named(id.into_owned()));
            self.modules.extend(modules.next());
            self.further_modules.extend(modules);
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
            self.all_name_kernels &= says_nothing;
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

    fn unnamed_module(&mut self, path: &str) {
        let name = name_of_path(&self.environment.folder, path);
        self.modules.push(Module::Unnamed(name));
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
        let of = |kind, scope| {
            let all = self.references.iter().chain(&self.runtime_references);
            patterns(all, kind, scope)
        };
        let named = |kind| Patterns {
            external: of(kind, ReferenceScope::External),
            internal: of(kind, ReferenceScope::Internal),
        };
        match &self.wanted.kernels {
            Kernels::All => (KernelFilter::All, KernelFilter::All),
            Kernels::Containing { kernels, variables } => (
                KernelFilter::Containing(kernels.clone()),
                KernelFilter::Containing(variables.clone()),
            ),
            // Where no file launches anything, something else must (case
            // `launched_kernels`).
            Kernels::NamedByHost if !(self.all_name_kernels && self.launches_kernels) => {
                (KernelFilter::All, KernelFilter::All)
            }
            Kernels::NamedByHost => {
                let kernels = named(ReferenceKind::Kernel);
                let constants = KernelFilter::Matching(named(ReferenceKind::Constant));
                match self.is_whole_program {
                    true => (KernelFilter::MatchingOptimized(kernels), constants),
                    false => (KernelFilter::Matching(kernels), constants),
                }
            }
        }
    }

    /// Puts the result together when all files have been taken.
    fn finish(mut self) -> Taken<'d> {
        self.hint_at_closed_objects();
        let (kernels, constants) = self.filters();
        let mut modules = self.modules;
        // If LTO-IR was all of the program, nvlink registers its modules last and in reverse. A program that calls the
        // device runtime does not count (case `lto_registration`).
        if self.is_made_whole && self.wanted.is_compatible() {
            for (taken, index) in self.optimized_modules.iter().enumerate() {
                let module = modules.remove(index - taken);
                self.further_modules.push(module);
            }
        }
        modules.extend(self.further_modules.into_iter().rev());
        // nvlink fails when it would merge the next object (case `lib_cudadevrt_unused`).
        let last = self.unused_runtime.unwrap_or(usize::MAX);
        let is_followed = self.images.len() > last;
        self.images.truncate(last);
        let loaded = Loaded {
            images: self.images,
            finished: self.finished,
            modules,
            kernels,
            constants,
            lacking: self.lacking,
            hints: self.hints,
            forgets_options: self.diagnostics.forgets_options(),
            is_followed,
            company: self.company,
            intermediates: self.intermediates,
            agreed: self.agreed,
        };
        Taken {
            loaded: Some(loaded),
            diagnostics: self.diagnostics,
            compilations: self.compilations,
        }
    }
}

/// The patterns for names of a kind and scope that host code uses.
fn patterns<'r, C: FromIterator<&'r str>>(
    references: impl Iterator<Item = &'r HostReferences<'r>>,
    kind: ReferenceKind,
    scope: ReferenceScope,
) -> C {
    let fitting = references.filter(|r| r.kind == kind && r.scope == scope);
    let patterns = fitting.flat_map(|references| &references.patterns);
    patterns.copied().collect()
}

/// The modules whose linked code is in some input: what is left of them waits
/// for no link.
pub(super) fn linked_elsewhere(files: &Files, behaviour: Behaviour) -> HashSet<&str> {
    let mut linked = HashSet::new();
    let mut object = |data| {
        if let Ok(file) = HostFile::parse(data) {
            linked.extend(host::linked_in(&file, behaviour));
        }
    };
    for opened in &files.0 {
        let Opened::Read(source) = opened else {
            continue;
        };
        match detect(&source.data) {
            InputKind::HostObject => object(&source.data),
            InputKind::Archive => {
                for member in source.members.iter().filter_map(|m| m.data.as_ref().ok()) {
                    object(member);
                }
                let visited = archive::walk(&source.name, &source.data, &mut |_, member| {
                    if let Some(data) = member.data {
                        object(data);
                    }
                    Ok::<(), ParseError>(())
                });
                // Damage is reported when the archive's turn comes.
                drop(visited);
            }
            _ => {}
        }
    }
    linked
}
