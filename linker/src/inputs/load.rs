//! Looks at the files in order and takes from them what the link needs.

use std::borrow::Cow;
use std::collections::HashSet;

use super::check::{self, Verdict};
use super::files::{Files, Opened, Source};
use super::host::{self, HostObject, Modules};
use super::modules::{Module, name_of_path};
use super::ptx::{Product, Ptxas, Source as PtxSource};
use super::select::select;
use super::{Environment, Image, Intermediate, Kernels, Loaded, Wanted};
use crate::arch::reserved;
use crate::container::{Archive, HostFile, InputKind, archive, detect};
use crate::cubin::{Binding, File, Place, SymbolOther};
use crate::diagnostic::{Diagnostic, Diagnostics, Severity};
use crate::error::ParseError;
use crate::fatbin::{Fatbin, Kind, Limit};
use crate::options::KernelFilter;
use cudalink_jitlink as jitlink;

/// The library of the device runtime is known by its name.
const SYSTEM_LIBRARY: &str = "libcudadevrt.a";

/// Takes what the link needs from `files`. Without a result, an error is among
/// the messages.
pub fn load<'d>(
    files: &'d Files,
    wanted: &Wanted<'_>,
    environment: &Environment,
    diagnostics: &mut Diagnostics,
) -> Option<Loaded<'d>> {
    let mut loader = Loader {
        wanted,
        environment,
        diagnostics,
        linked_elsewhere: match wanted.registers_modules {
            true => linked_elsewhere(files),
            false => HashSet::new(),
        },
        images: Vec::new(),
        waiting: Vec::new(),
        intermediates: Vec::new(),
        modules: Vec::new(),
        further_modules: Vec::new(),
        kernels: Vec::new(),
        all_name_kernels: true,
        hints: Vec::new(),
    };
    for opened in &files.0 {
        loader.opened(opened).ok()?;
    }
    loader.assemble().ok()?;
    loader.check_link_time(files).ok()?;
    loader.warn_of_company();
    loader.warn_of_nothing().ok()?;
    Some(loader.finish())
}

/// Whether a path is that of the device runtime.
pub(super) fn is_system_library(path: &str) -> bool {
    path.rsplit('/').next() == Some(SYSTEM_LIBRARY)
}

/// A problem was reported, and nothing more is read.
struct Stop;

struct Loader<'a, 'd> {
    wanted: &'a Wanted<'a>,
    environment: &'a Environment,
    diagnostics: &'a mut Diagnostics,
    /// Modules whose linked code is in some input.
    linked_elsewhere: HashSet<&'d str>,
    images: Vec<Image<'d>>,
    /// PTX, and how many objects come before it.
    waiting: Vec<(usize, PtxSource<'d>)>,
    intermediates: Vec<Intermediate<'d>>,
    modules: Vec<Module>,
    /// Further modules of single objects; nvlink registers them last, and the
    /// last one first.
    further_modules: Vec<Module>,
    kernels: Vec<&'d str>,
    /// Whether every object so far says which kernels its host code launches.
    all_name_kernels: bool,
    hints: Vec<Diagnostic>,
}

impl<'d> Loader<'_, 'd> {
    fn opened(&mut self, opened: &'d Opened) -> Result<(), Stop> {
        match opened {
            Opened::Read(source) => self.source(source),
            Opened::Unreadable { name, why } => Err(self.unreadable(name, why)),
            Opened::Incompatible { name, library } => {
                let text = format!("Skipping incompatible '{name}' when searching for -l{library}");
                self.warn("incompatible-library", text)?;
                self.stop_after_errors()
            }
            Opened::Missing { library } => {
                self.hints.push(Diagnostic::new(
                    Severity::Info,
                    "missing-library",
                    format!("no library was found for -l{library}"),
                ));
                Ok(())
            }
            Opened::Nothing => Ok(()),
        }
    }

    fn source(&mut self, source: &'d Source) -> Result<(), Stop> {
        let Source { name, data, .. } = source;
        if data.is_empty() {
            return self.ignored(name, "it is empty");
        }
        let kind = detect(data);
        let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
        match extension {
            "cubin" => self.cubin(name, data, true),
            "fatbin" => match Fatbin::parse(data) {
                Ok(fatbin) => self.fatbin_file(name, fatbin),
                Err(_) if self.wanted.is_compatible() => {
                    Err(self.fatal("not-a-fatbin", name, "fatbin wrong format?"))
                }
                Err(error) => Err(self.damaged(name, error)),
            },
            "ltoir" if kind == InputKind::LtoIr && self.wanted.link_time => {
                self.all_name_kernels = false;
                self.intermediate(name, jitlink::Kind::LtoIr, data);
                self.unnamed_module(name);
                Ok(())
            }
            "ltoir" => Err(self.fatal("lto-input", name, "should only see nvvm files when -lto")),
            "ptx" if kind == InputKind::Cubin => self.cubin(name, data, true),
            // Before sm_90, nvlink makes a whole program of PTX, and then leaves
            // it out because it is one.
            "ptx"
                if kind == InputKind::Ptx
                    && self.wanted.is_compatible()
                    && !self.wanted.target.is_hopper_or_newer() =>
            {
                Ok(())
            }
            "ptx" if kind == InputKind::Ptx => {
                self.all_name_kernels = false;
                self.ptx(name, Cow::Borrowed(data), Vec::new());
                self.unnamed_module(name);
                Ok(())
            }
            "ptx" => Err(self.unrecognized_ptx(name)),
            _ => match kind {
                InputKind::Archive => self.archive(source),
                InputKind::HostObject => self.host_object(name, data),
                InputKind::Cubin if extension == "o" => self.cubin(name, data, true),
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
                InputKind::Unknown => self.ignored(
                    name,
                    "it is neither a host object nor an archive, cubin or fatbin",
                ),
            },
        }
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

    fn archive(&mut self, source: &'d Source) -> Result<(), Stop> {
        let name = &source.name;
        if is_system_library(name) && !self.wanted.keep_system_libraries {
            self.assemble()?;
            if !self.needs_system_library() {
                return Ok(());
            }
        }
        match Archive::parse(&source.data) {
            Ok(archive) if archive.thin => self.thin_archive(source),
            Ok(archive) if self.wanted.is_compatible() => {
                for member in archive.members().map_while(Result::ok) {
                    let Some(data) = member.data else { break };
                    if !data.starts_with(b"\x7fELF") {
                        break;
                    }
                    self.member(&format!("{name}:{}", member.name), data)?;
                }
                Ok(())
            }
            Ok(_) => {
                let mut stop = None;
                let walked = archive::walk(name, &source.data, &mut |path, member| {
                    let data = member.data.unwrap_or(&[]);
                    self.member(path, data).map_err(|s| {
                        stop = Some(s);
                        WalkEnd::Stopped
                    })
                });
                match (walked, stop) {
                    (Ok(()), _) => Ok(()),
                    (Err(_), Some(stop)) => Err(stop),
                    (Err(WalkEnd::Damaged(error)), None) => Err(self.damaged(name, error)),
                    (Err(WalkEnd::Stopped), None) => Err(Stop),
                }
            }
            Err(_) if self.wanted.is_compatible() => Ok(()),
            Err(error) => Err(self.damaged(name, error)),
        }
    }

    fn thin_archive(&mut self, source: &'d Source) -> Result<(), Stop> {
        for member in &source.members {
            let path = format!("{}:{}", source.name, member.name);
            match &member.data {
                Ok(data) => self.member(&path, data)?,
                Err(_) if self.wanted.is_compatible() => {
                    let stop = self.unreadable(&member.name, "");
                    self.diagnostics.push(host::internal_error());
                    return Err(stop);
                }
                Err(why) => return Err(self.unreadable(&path, why)),
            }
        }
        Ok(())
    }

    fn member(&mut self, name: &str, data: &'d [u8]) -> Result<(), Stop> {
        match detect(data) {
            InputKind::HostObject => self.host_object(name, data),
            InputKind::Cubin => {
                self.all_name_kernels = false;
                self.ignored(name, "archives are only searched for host objects")
            }
            InputKind::Fatbin | InputKind::Ptx | InputKind::LtoIr => {
                self.ignored(name, "archives are only searched for host objects")
            }
            // Compilers put notes of their own beside the objects.
            InputKind::HostExecutable
            | InputKind::SharedLibrary
            | InputKind::Archive
            | InputKind::Unknown => Ok(()),
        }
    }

    fn host_object(&mut self, name: &str, data: &'d [u8]) -> Result<(), Stop> {
        let object = HostObject::parse(name, data, self.wanted).map_err(|problems| {
            for problem in problems {
                self.diagnostics.push(problem);
            }
            Stop
        })?;
        self.all_name_kernels &= object.names_kernels;
        self.kernels.extend(&object.kernels);
        let modules = match object.modules {
            Modules::Linked(_) => return Ok(()),
            Modules::Waiting(modules) => modules,
        };
        if modules
            .iter()
            .any(|id| self.linked_elsewhere.contains(&**id))
        {
            return Ok(());
        }
        for fatbin in &object.fatbins {
            self.fatbin(name, fatbin)?;
        }
        if !object.fatbins.is_empty() {
            if modules.is_empty() {
                self.unnamed_module(name);
            }
            let mut modules = modules.into_iter().map(|id| Module::Named(id.into_owned()));
            self.modules.extend(modules.next());
            self.further_modules.extend(modules);
        }
        self.stop_after_errors()
    }

    /// nvlink notices at host objects and libraries that a warning was an
    /// error.
    fn stop_after_errors(&mut self) -> Result<(), Stop> {
        if !self.diagnostics.has_errors() {
            return Ok(());
        }
        self.diagnostics.push(host::internal_error());
        Err(Stop)
    }

    fn fatbin_file(&mut self, name: &str, fatbin: Fatbin<'d>) -> Result<(), Stop> {
        self.all_name_kernels = false;
        self.fatbin(name, &fatbin)?;
        self.unnamed_module(name);
        Ok(())
    }

    fn unnamed_module(&mut self, path: &str) {
        let name = name_of_path(&self.environment.folder, path);
        self.modules.push(Module::Unnamed(name));
    }

    /// Takes the entry of a fatbin that fits the processor.
    fn fatbin(&mut self, name: &str, fatbin: &Fatbin<'d>) -> Result<(), Stop> {
        let entry = select(fatbin, self.wanted.target, self.wanted.link_time);
        let Some(entry) = entry.map_err(|error| self.damaged(name, error))? else {
            return self.without_arch(name);
        };
        match entry.kind {
            Kind::ELF => {
                let image = entry.image(Limit::default());
                let image = image.map_err(|error| self.damaged(name, error))?;
                self.image(name, image, false)
            }
            // Its compressed form is one that only NVIDIA's library reads.
            Kind::NVVM if self.wanted.link_time => {
                self.intermediate(name, jitlink::Kind::Fatbin, fatbin.bytes());
                Ok(())
            }
            Kind::NVVM => Err(self.fatal("lto-input", name, "LTO objects found, use -dlto")),
            _ => {
                let text = entry.image(Limit::default());
                let text = text.map_err(|error| self.damaged(name, error))?;
                let options = entry.compiler_options().unwrap_or_default();
                let options = String::from_utf8_lossy(options);
                let words = options.split_ascii_whitespace().map(str::to_owned);
                self.ptx(name, text, words.collect());
                Ok(())
            }
        }
    }

    /// Remembers PTX for the assembler, at its place among the objects.
    fn ptx(&mut self, name: &str, text: Cow<'d, [u8]>, options: Vec<String>) {
        self.waiting.push((
            self.images.len(),
            PtxSource {
                name: name.to_owned(),
                text,
                options,
            },
        ));
    }

    /// Remembers LTO-IR for the optimizer.
    fn intermediate(&mut self, name: &str, kind: jitlink::Kind, data: &'d [u8]) {
        self.intermediates.push(Intermediate {
            name: name.to_owned(),
            kind,
            data,
        });
    }

    /// Lets the assembler make objects of the PTX so far.
    fn assemble(&mut self) -> Result<(), Stop> {
        let waiting = std::mem::take(&mut self.waiting);
        if waiting.is_empty() {
            return Ok(());
        }
        let (places, sources): (Vec<usize>, Vec<PtxSource<'d>>) = waiting.into_iter().unzip();
        let wanted = self.wanted;
        let ptxas = Ptxas::find(
            wanted.assembler,
            wanted.target,
            wanted.behaviour,
            self.environment,
        );
        let ptxas = ptxas.map_err(|why| self.needs_ptxas(&sources[0].name, &why))?;
        let assembled = ptxas.assemble(&sources, Product::Object);
        let mut ready = std::mem::take(&mut self.images).into_iter();
        let mut taken = 0;
        for ((place, source), assembled) in places.iter().zip(&sources).zip(assembled) {
            self.images.extend(ready.by_ref().take(place - taken));
            taken = *place;
            let printed = assembled.printed.trim_end();
            if !printed.is_empty() {
                self.diagnostics.push(Diagnostic::text(printed.to_owned()));
            }
            match assembled.product {
                Ok(object) => self.image(&source.name, Cow::Owned(object), false)?,
                Err(problem) => {
                    self.diagnostics.push(problem);
                    return Err(Stop);
                }
            }
        }
        self.images.extend(ready);
        Ok(())
    }

    fn without_arch(&mut self, name: &str) -> Result<(), Stop> {
        if self.wanted.may_lack_arch {
            return Ok(());
        }
        let target = self.wanted.target_name;
        self.warn(
            "missing-arch-code",
            format!("SM Arch ('{target}') not found in '{name}'"),
        )
    }

    fn cubin(&mut self, name: &str, data: &'d [u8], is_named: bool) -> Result<(), Stop> {
        let count = self.images.len();
        self.image(name, Cow::Borrowed(data), is_named)?;
        if self.images.len() > count {
            self.all_name_kernels = false;
            self.unnamed_module(name);
        }
        Ok(())
    }

    /// Adds a device object to the link, if it may be part of one.
    fn image(&mut self, name: &str, data: Cow<'d, [u8]>, is_named: bool) -> Result<(), Stop> {
        let mut warnings = Vec::new();
        let verdict = check::check(
            name,
            &data,
            self.wanted.target,
            is_named,
            self.wanted.behaviour,
            &mut warnings,
        );
        for warning in warnings {
            self.warn(warning.code, warning.text)?;
        }
        match verdict {
            Ok(Verdict::Skip(why)) => return self.ignored(name, why),
            Ok(verdict @ (Verdict::LinkAlone | Verdict::Link)) => self.images.push(Image {
                name: name.to_owned(),
                data,
                is_alone: verdict == Verdict::LinkAlone,
            }),
            Err(problem) => {
                self.diagnostics.push(problem);
                return Err(Stop);
            }
        }
        Ok(())
    }

    /// Whether an object so far refers to something that no object so far
    /// defines. References from dead code count; dynamic shared memory is
    /// never defined.
    fn needs_system_library(&self) -> bool {
        let mut defined = HashSet::new();
        let mut wanted = HashSet::new();
        for image in &self.images {
            // What cannot be read is reported when it is linked.
            let Ok(file) = File::parse(&image.data) else {
                continue;
            };
            for symbol in &file.symbols {
                if symbol.place != Place::Undefined {
                    defined.insert(symbol.name.to_owned());
                } else if symbol.binding == Binding::GLOBAL
                    && symbol.other.space() != SymbolOther::SHARED
                    && !symbol.name.is_empty()
                    && !reserved::is_provided_by_driver(symbol.name)
                {
                    wanted.insert(symbol.name.to_owned());
                }
            }
        }
        wanted.iter().any(|name| !defined.contains(name))
    }

    /// Says what of link-time optimization comes to nothing.
    fn check_link_time(&mut self, files: &Files) -> Result<(), Stop> {
        if !self.wanted.link_time {
            return Ok(());
        }
        for image in &self.images {
            let text = format!(
                "requested LTO but '{}' not built for LTO so doing partial LTO",
                image.name
            );
            self.diagnostics
                .push(Diagnostic::new(Severity::Info, "partial-lto", text));
        }
        if self.intermediates.is_empty() {
            let text = "Ignoring -dlto option because no LTO objects found";
            return self.warn("no-lto-input", text.to_owned());
        }
        let has_runtime = files.0.iter().any(|opened| match opened {
            Opened::Read(source) => is_system_library(&source.name),
            _ => false,
        });
        if !has_runtime && self.wanted.is_compatible() {
            let text = "expected libcudadevrt object";
            self.diagnostics
                .push(Diagnostic::new(Severity::Fatal, "no-device-runtime", text));
            return Err(Stop);
        }
        Ok(())
    }

    /// Whole programs are meant to be linked with the device runtime alone.
    fn warn_of_company(&mut self) {
        if !self.images.iter().any(|image| image.is_alone) {
            return;
        }
        let is_system = |name: &str| {
            name.rsplit_once(':')
                .is_some_and(|(archive, _)| archive.ends_with(SYSTEM_LIBRARY))
        };
        for image in &self.images {
            if !image.is_alone && !is_system(&image.name) {
                self.diagnostics.push(Diagnostic::new(
                    Severity::Warning,
                    "whole-program-company",
                    format!(
                        "'{}': -ewp compiled objects should only link with libcudadevrt",
                        image.name
                    ),
                ));
            }
        }
    }

    /// nvlink makes an image without code of inputs without code.
    fn warn_of_nothing(&mut self) -> Result<(), Stop> {
        let has_code = !self.images.is_empty() || !self.intermediates.is_empty();
        if has_code || self.wanted.is_compatible() {
            return Ok(());
        }
        let text = "no input has device code to link; the image is empty";
        self.warn("no-device-code", text.to_owned())
    }

    fn finish(self) -> Loaded<'d> {
        let kernels = match self.wanted.kernels {
            Kernels::All => KernelFilter::All,
            Kernels::Containing(parts) => KernelFilter::Containing(parts.clone()),
            // Where no file launches anything, something else must.
            Kernels::NamedByHost if !self.all_name_kernels || self.kernels.is_empty() => {
                KernelFilter::All
            }
            Kernels::NamedByHost => {
                KernelFilter::Matching(self.kernels.iter().map(|p| (*p).to_owned()).collect())
            }
        };
        let mut modules = self.modules;
        modules.extend(self.further_modules.into_iter().rev());
        Loaded {
            images: self.images,
            intermediates: self.intermediates,
            modules,
            kernels,
            hints: self.hints,
        }
    }

    /// Says that an input is left out, where nvlink says nothing. The link
    /// goes on, as it does after any warning.
    fn ignored(&mut self, name: &str, why: &str) -> Result<(), Stop> {
        if self.wanted.is_compatible() {
            return Ok(());
        }
        self.warn("ignored-input", format!("'{name}' is ignored: {why}"))
    }

    fn warn(&mut self, code: &'static str, text: String) -> Result<(), Stop> {
        let severity = if self.wanted.warnings_are_errors {
            Severity::Error
        } else {
            Severity::Warning
        };
        self.diagnostics.push(Diagnostic::new(severity, code, text));
        Ok(())
    }

    fn fatal(&mut self, code: &'static str, name: &str, text: &str) -> Stop {
        self.diagnostics.push(check::fatal(code, name, text));
        Stop
    }

    fn damaged(&mut self, name: &str, error: ParseError) -> Stop {
        self.diagnostics.push(check::damaged(name, error));
        Stop
    }

    fn unreadable(&mut self, name: &str, why: &str) -> Stop {
        let text = format!("Could not open input file '{name}'");
        self.diagnostics
            .push(Diagnostic::new(Severity::Fatal, "unreadable-input", text).with_detail(why));
        Stop
    }

    fn unrecognized_ptx(&mut self, name: &str) -> Stop {
        let text = "Binary format for key='0', ident='' is not recognized";
        self.diagnostics.push(
            Diagnostic::new(Severity::Error, "not-ptx", text)
                .with_detail(format_args!("'{name}' is neither PTX nor a cubin")),
        );
        self.fatal("not-ptx", name, "elfLink fatbinary error")
    }

    fn needs_ptxas(&mut self, name: &str, why: &str) -> Stop {
        let target = self.wanted.target_name;
        let text = format!(
            "'{name}' has PTX but no machine code for {target}, and ptxas, which would compile it, \
             is not there"
        );
        self.diagnostics
            .push(Diagnostic::new(Severity::Fatal, "missing-ptxas", text).with_detail(why));
        Stop
    }
}

/// Why the walk through an archive ended early.
enum WalkEnd {
    Damaged(ParseError),
    Stopped,
}

impl From<ParseError> for WalkEnd {
    fn from(error: ParseError) -> Self {
        Self::Damaged(error)
    }
}

/// The modules whose linked code is in some input: what is left of them waits
/// for no link.
fn linked_elsewhere(files: &Files) -> HashSet<&str> {
    let mut linked = HashSet::new();
    let mut object = |data| {
        if let Ok(file) = HostFile::parse(data)
            && let Some(Modules::Linked(ids)) = Modules::new(&file.module_ids)
        {
            linked.extend(ids);
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
