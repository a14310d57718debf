//! What each file says of the device link.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use rustnvlink::arch::Sm;
use rustnvlink::container::host::ModuleId;
use rustnvlink::container::{Foreign, HostFile, InputKind, Member, OutOfReach, archive, detect};
use rustnvlink::error::{ParseError, without_number};
use rustnvlink::fatbin::Kind;
use serde::{Serialize, Serializer};

use super::{Finding, Severity};
use crate::streams::{self, word};

/// The version of the wrappers that a device link makes.
const LINKED_WRAPPER: u32 = 2;
const REGISTER: &str = "__cudaRegisterLinkedBinary";
const WRAPPER: &str = "__fatbinwrap";

/// What a unit is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum UnitKind {
    Object,
    ArchiveMember,
    SharedLibrary,
    Program,
}

/// One object, member of an archive, shared library or program.
#[derive(Debug, Serialize)]
pub(super) struct Unit {
    /// `archive:member` for members.
    pub(super) name: String,
    /// The file as the user named it.
    pub(super) file: String,
    pub(super) kind: UnitKind,
    /// Modules whose device code it holds unlinked.
    pub(super) modules: BTreeSet<String>,
    /// Modules whose linked code it says to hold.
    pub(super) linked: BTreeSet<String>,
    /// Modules that it asks to be registered.
    pub(super) wants_registration: BTreeSet<String>,
    /// Modules that it registers.
    pub(super) registers: BTreeSet<String>,
    /// Modules whose unlinked code it needs beside it.
    pub(super) wants_module: BTreeSet<String>,
    /// Modules that can be registered because it holds them.
    pub(super) provides_module: BTreeSet<String>,
    #[serde(serialize_with = "names")]
    pub(super) relocatable: BTreeSet<Sm>,
    #[serde(serialize_with = "names")]
    pub(super) executable: BTreeSet<Sm>,
    /// Whether it has code that is optimized when it is linked.
    pub(super) has_intermediate_code: bool,
    /// Whether it has unlinked device code, of whatever form.
    pub(super) has_relocatable_code: bool,
    /// Whether it has device code that only Clang's own link understands.
    pub(super) is_offloading: bool,
    /// Whether its device code is where only the link of host code finds it.
    pub(super) is_left_to_optimizer: bool,
    /// Whether a device link has made it or a part of it.
    pub(super) is_device_linked: bool,
}

impl Unit {
    pub(super) fn has_device_code(&self) -> bool {
        self.has_relocatable_code || !self.executable.is_empty()
    }

    /// Whether the host linker has still to link it.
    pub(super) fn is_input(&self) -> bool {
        matches!(self.kind, UnitKind::Object | UnitKind::ArchiveMember)
    }
}

fn names<S: Serializer>(processors: &BTreeSet<Sm>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(processors.iter().map(Sm::to_string))
}

/// Reads all files. What cannot be read is a finding.
pub(super) fn read(files: &[PathBuf]) -> (Vec<Unit>, Vec<Finding>) {
    let mut units = Vec::new();
    let findings = walk(files, &mut |name, file, kind, data| {
        units.push(unit(name, file, kind, data)?);
        Ok(())
    });
    (units, findings)
}

/// Looks at a unit: its name, that of its file, what it is, and its bytes.
pub(super) type Visit<'v> = dyn FnMut(&str, &str, UnitKind, &[u8]) -> Result<(), ParseError> + 'v;

/// Goes through all that is in files, and says what cannot be read.
pub(super) fn walk(files: &[PathBuf], visit: &mut Visit<'_>) -> Vec<Finding> {
    let mut walk = Walk {
        visit,
        findings: Vec::new(),
    };
    for path in files {
        let file = path.display().to_string();
        match streams::read(path) {
            Ok(data) => {
                // What comes by the standard input has no folder.
                let folder = path.parent().filter(|_| !streams::is_standard(path));
                walk.file(&file, folder, &data);
            }
            Err(error) => walk.findings.push(unreadable(&file, error.to_string())),
        }
    }
    walk.findings
}

struct Walk<'w, 'v> {
    visit: &'w mut Visit<'v>,
    findings: Vec<Finding>,
}

impl Walk<'_, '_> {
    /// Looks at a file; members of a thin archive lie in `folder`.
    fn file(&mut self, file: &str, folder: Option<&Path>, data: &[u8]) {
        match detect(data) {
            InputKind::HostObject | InputKind::Bitcode => {
                self.unit(file, file, UnitKind::Object, data);
            }
            InputKind::SharedLibrary => self.unit(file, file, UnitKind::SharedLibrary, data),
            InputKind::HostExecutable => self.unit(file, file, UnitKind::Program, data),
            InputKind::Archive => {
                let walked = archive::walk(file, data, &mut |name, member| {
                    match bytes_of(&member, folder) {
                        Ok(data) => self.member(name, file, &data),
                        Err(why) => self.findings.push(unreadable(name, why)),
                    }
                    Ok(())
                });
                if let Err(error) = walked {
                    self.findings.push(damaged(file, &error));
                }
            }
            InputKind::Unknown => {
                let foreign = Foreign::of(Path::new(file), data);
                self.findings.push(not_a_host_file(file, &foreign));
            }
            known @ (InputKind::Cubin | InputKind::Fatbin | InputKind::Ptx | InputKind::LtoIr) => {
                self.findings.push(device_code(file, known));
            }
        }
    }

    fn member(&mut self, name: &str, archive: &str, data: &[u8]) {
        if matches!(detect(data), InputKind::HostObject | InputKind::Bitcode) {
            self.unit(name, archive, UnitKind::ArchiveMember, data);
        }
    }

    fn unit(&mut self, name: &str, file: &str, kind: UnitKind, data: &[u8]) {
        if let Err(error) = (self.visit)(name, file, kind, data) {
            self.findings.push(damaged(name, &error));
        }
    }
}

/// The bytes of a member of an archive, or why there are none.
fn bytes_of<'d>(member: &Member<'d>, folder: Option<&Path>) -> Result<Cow<'d, [u8]>, String> {
    match (member.data, folder) {
        (Some(data), _) => Ok(Cow::Borrowed(data)),
        (None, Some(folder)) => streams::read_file(&folder.join(&member.name))
            .map(Cow::Owned)
            .map_err(|error| error.to_string()),
        (None, None) => Err("the archive is thin and does not hold this member".to_owned()),
    }
}

const NO_HOST_FILE: &str = "not-a-host-file";
const NEITHER: &str = "neither host object, archive, shared library nor program";

/// A file that is no input of any link.
fn not_a_host_file(file: &str, foreign: &Foreign) -> Finding {
    let (what, fix) = match foreign {
        Foreign::Empty => ("empty".to_owned(), Some("make it again".to_owned())),
        Foreign::Source => (
            "a source, and no object".to_owned(),
            Some("compile it (nvcc -dc), and look at the object".to_owned()),
        ),
        Foreign::Libtool(files) => {
            let fix = (!files.is_empty())
                .then(|| format!("libtool wrote it: look at {} instead", files.join(" or ")));
            (NEITHER.to_owned(), fix)
        }
        Foreign::Text(line) => (
            format!("{NEITHER}, but a text that begins with '{line}'"),
            None,
        ),
        Foreign::Packed(program) => (
            format!("packed by {program}"),
            Some("unpack it, and look at what is in it".to_owned()),
        ),
        Foreign::OfSystem(system) => (format!("a file of {system}, and not of Linux"), None),
        Foreign::Other => (NEITHER.to_owned(), None),
    };
    Finding {
        fix,
        ..Finding::new(
            Severity::Error,
            NO_HOST_FILE,
            format!("{} is {what}", streams::shown(file)),
        )
    }
}

/// A file with device code and no host code.
fn device_code(file: &str, kind: InputKind) -> Finding {
    let message = format!("{} is {NEITHER} ({kind})", streams::shown(file));
    Finding::new(Severity::Error, NO_HOST_FILE, message)
        .with_fix("look at device code without host code")
        .with_commands(vec![format!("cargo cudalink inspect {}", word(file))])
}

fn unreadable(file: &str, why: String) -> Finding {
    let file = streams::shown(file);
    let message = without_number(format!("{file} cannot be read: {why}"));
    Finding::new(Severity::Error, "unreadable", message)
}

/// `name` is that of the file, or of the archive and its member.
fn damaged(name: &str, error: &ParseError) -> Finding {
    let error = error.clone().in_input(&streams::shown(name));
    let message = error.to_string();
    Finding::new(Severity::Error, "damaged", message).with_fix("make the file again")
}

fn unit(name: &str, file: &str, kind: UnitKind, data: &[u8]) -> Result<Unit, ParseError> {
    let mut unit = Unit::without_code(name, file, kind);
    if detect(data) == InputKind::Bitcode {
        unit.is_left_to_optimizer = OutOfReach::in_bitcode(data).is_some();
        return Ok(unit);
    }
    let host = HostFile::parse(data)?;
    unit.has_relocatable_code = host.has_relocatable_code();
    unit.is_offloading = host.out_of_reach == Some(OutOfReach::ClangLink);
    unit.is_left_to_optimizer = host.out_of_reach == Some(OutOfReach::Optimizer);
    unit.is_device_linked = host.wrappers.contains(&LINKED_WRAPPER);
    unit.add_modules(&host);
    unit.add_processors(&host)?;
    Ok(unit)
}

impl Unit {
    fn without_code(name: &str, file: &str, kind: UnitKind) -> Self {
        Self {
            name: name.to_owned(),
            file: file.to_owned(),
            kind,
            modules: BTreeSet::new(),
            linked: BTreeSet::new(),
            wants_registration: BTreeSet::new(),
            registers: BTreeSet::new(),
            wants_module: BTreeSet::new(),
            provides_module: BTreeSet::new(),
            relocatable: BTreeSet::new(),
            executable: BTreeSet::new(),
            has_intermediate_code: false,
            has_relocatable_code: false,
            is_offloading: false,
            is_left_to_optimizer: false,
            is_device_linked: false,
        }
    }

    /// Takes down whose code is there, and what is to be registered.
    fn add_modules(&mut self, host: &HostFile<'_>) {
        for id in &host.module_ids {
            match id {
                ModuleId::Module(id) => self.modules.insert((*id).to_owned()),
                ModuleId::Linked(id) => self.linked.insert((*id).to_owned()),
            };
        }
        for symbol in &host.registration {
            let (set, id) = if let Some(id) = symbol.name.strip_prefix(REGISTER) {
                let set = match symbol.defined {
                    true => &mut self.registers,
                    false => &mut self.wants_registration,
                };
                (set, id)
            } else if let Some(id) = symbol.name.strip_prefix(WRAPPER) {
                let set = match symbol.defined {
                    true => &mut self.provides_module,
                    false => &mut self.wants_module,
                };
                (set, id)
            } else {
                continue;
            };
            if !id.is_empty() {
                set.insert(id.to_owned());
            }
        }
    }

    /// Takes down the processors that there is code for.
    fn add_processors(&mut self, host: &HostFile<'_>) -> Result<(), ParseError> {
        for section in &host.fatbins {
            let is_relocatable = section.is_relocatable();
            for fatbin in section.fatbins() {
                for entry in fatbin.map_err(|e| e.in_section(section.name))?.entries() {
                    let entry = entry.map_err(|e| e.in_section(section.name))?;
                    self.has_intermediate_code |= entry.kind == Kind::NVVM && is_relocatable;
                    let processors = match is_relocatable {
                        true => &mut self.relocatable,
                        false => &mut self.executable,
                    };
                    if entry.kind == Kind::ELF {
                        processors.insert(entry.sm);
                    }
                }
            }
        }
        Ok(())
    }
}
