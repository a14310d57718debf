//! From the bytes of a file to its report: containers are opened, images are left to [`super::image`].
//!
//! What cannot be read becomes a [`Failure`] at its place in the report; everything around it is still read.

use std::collections::BTreeSet;
use std::fmt;
use std::io;
use std::path::Path;

use rustnvlink::container::archive::{self, MAX_DEPTH};
use rustnvlink::container::host::{ModuleId, ReferenceKind, ReferenceScope};
use rustnvlink::container::{Archive, Foreign, HostFile, InputKind, OutOfReach, detect};
use rustnvlink::cubin;
use rustnvlink::error::{ParseError, without_number};
use rustnvlink::fatbin::{self, Entry, Fatbins, Flags, Kind, Limit};

use super::image::{self, Details};
use super::report::{
    ArchiveReport, EntryReport, Failure, FatbinReport, FileReport, HostReport, ModuleReport,
    PtxReport, ReferencesReport, RegistrationReport,
};
use crate::streams;

impl From<ParseError> for Failure {
    fn from(error: ParseError) -> Self {
        let location = error.location.clone();
        Self {
            message: error.problem.to_string(),
            section: location.section,
            symbol: location.symbol,
            offset: location.offset,
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::new(without_number(format!("cannot be read: {error}")))
    }
}

impl Failure {
    fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            section: None,
            symbol: None,
            offset: None,
        }
    }
}

/// Reads and inspects one file.
pub(super) fn inspect(path: &Path, wanted: &Details) -> FileReport {
    let name = path.display().to_string();
    match streams::read(path) {
        Ok(data) => {
            // What comes by the standard input has no folder.
            let folder = path.parent().filter(|_| !streams::is_standard(path));
            bytes(name, &data, folder, MAX_DEPTH, wanted)
        }
        Err(error) => FileReport {
            error: Some(error.into()),
            ..empty(name, InputKind::Unknown, 0)
        },
    }
}

fn empty(name: String, kind: InputKind, size: u64) -> FileReport {
    FileReport {
        name,
        kind,
        size,
        error: None,
        host: None,
        left_to_optimizer: false,
        archive: None,
        fatbins: Vec::new(),
        image: None,
        ptx: None,
        members: Vec::new(),
    }
}

/// `folder` is where a thin archive's members are looked for; members of archives have none.
fn bytes(
    name: String,
    data: &[u8],
    folder: Option<&Path>,
    depth: usize,
    wanted: &Details,
) -> FileReport {
    let kind = detect(data);
    let mut report = empty(name, kind, data.len() as u64);
    let result = match kind {
        InputKind::Cubin => cubin(&mut report, data, wanted),
        InputKind::HostObject | InputKind::HostExecutable | InputKind::SharedLibrary => {
            host(&mut report, data, wanted)
        }
        InputKind::Fatbin => {
            report.fatbins = fatbins(fatbin::fatbins(data), None, wanted);
            Ok(())
        }
        InputKind::Archive => members(&mut report, data, folder, depth, wanted),
        InputKind::Ptx => {
            report.ptx = Some(ptx(data));
            Ok(())
        }
        InputKind::LtoIr => Ok(()),
        InputKind::Bitcode => {
            report.left_to_optimizer = OutOfReach::in_bitcode(data).is_some();
            Ok(())
        }
        // An archive may hold anything beside device code; a file named by the user may not.
        InputKind::Unknown if depth < MAX_DEPTH => Ok(()),
        InputKind::Unknown => Err(unknown(Path::new(&report.name), data)),
    };
    report.error = result.err();
    report
}

/// What is wrong with a file of no known kind.
fn unknown(path: &Path, data: &[u8]) -> Failure {
    const WHAT: &str =
        "neither a cubin, fatbin, PTX or LTO-IR file nor an ELF host file or archive";
    Failure::new(match Foreign::of(path, data) {
        Foreign::Empty => "the file is empty".to_owned(),
        Foreign::Source => "a source, which has to be compiled first (nvcc -dc)".to_owned(),
        Foreign::Libtool(files) => {
            format!("a text of libtool, which stands for {}", files.join(", "))
        }
        Foreign::Text(line) => format!("{WHAT}, but a text that begins with '{line}'"),
        Foreign::Packed(program) => format!("packed by {program}, and has to be unpacked first"),
        Foreign::OfSystem(system) => {
            format!("a file of {system}, and only those of Linux are understood")
        }
        Foreign::Other => WHAT.to_owned(),
    })
}

/// The directives `.version 9.0` and `.target sm_90, debug` at the head of a text.
fn ptx(data: &[u8]) -> PtxReport {
    let value = |directive: &str| {
        let mut lines = data.split(|b| *b == b'\n').map(String::from_utf8_lossy);
        lines.find_map(|line| {
            let rest = line.trim().strip_prefix(directive)?;
            let value = rest.split("//").next()?.trim();
            (rest.starts_with(char::is_whitespace) && !value.is_empty()).then(|| value.to_owned())
        })
    };
    PtxReport {
        version: value(".version"),
        target: value(".target"),
    }
}

fn cubin(report: &mut FileReport, data: &[u8], wanted: &Details) -> Result<(), Failure> {
    let file = cubin::File::parse(data)?;
    let sm = image::processor(&file);
    report.image = Some(image::report(&file, sm, wanted));
    Ok(())
}

fn host(report: &mut FileReport, data: &[u8], wanted: &Details) -> Result<(), Failure> {
    let file = HostFile::parse(data)?;
    for section in &file.fatbins {
        let found = fatbins(section.fatbins(), Some(section.name), wanted);
        report.fatbins.extend(found);
    }
    let modules = file.module_ids.iter().map(|id| match id {
        ModuleId::Module(id) => ModuleReport {
            id: (*id).to_owned(),
            linked: false,
        },
        ModuleId::Linked(id) => ModuleReport {
            id: (*id).to_owned(),
            linked: true,
        },
    });
    let references = file.references.iter().map(|r| ReferencesReport {
        kind: match r.kind {
            ReferenceKind::Kernel => "kernel",
            ReferenceKind::Variable => "variable",
            ReferenceKind::Constant => "constant",
        },
        scope: match r.scope {
            ReferenceScope::External => "external",
            ReferenceScope::Internal => "internal",
        },
        patterns: r.patterns.iter().map(|p| (*p).to_owned()).collect(),
    });
    let registration = file.registration.iter().map(|s| RegistrationReport {
        name: s.name.to_owned(),
        defined: s.defined,
    });
    report.left_to_optimizer = file.out_of_reach == Some(OutOfReach::Optimizer);
    report.host = Some(HostReport {
        machine: file.machine.to_string(),
        modules: modules.collect(),
        references: references.collect(),
        wrappers: file.wrappers.clone(),
        registration: registration.collect(),
        offloading: file.out_of_reach == Some(OutOfReach::ClangLink),
    });
    Ok(())
}

fn fatbins(
    found: Fatbins<'_>,
    section: Option<&'static str>,
    wanted: &Details,
) -> Vec<FatbinReport> {
    let mut reports = Vec::new();
    for fatbin in found {
        let mut report = FatbinReport {
            section,
            offset: 0,
            size: 0,
            entries: Vec::new(),
            error: None,
        };
        match fatbin {
            Ok(fatbin) => {
                report.offset = fatbin.offset;
                report.size = fatbin.size;
                for result in fatbin.entries() {
                    match result {
                        Ok(e) => report.entries.push(entry(&e, wanted)),
                        Err(e) => report.error = Some(e.into()),
                    }
                }
            }
            Err(e) => report.error = Some(e.into()),
        }
        if let (Some(error), Some(section)) = (&mut report.error, section) {
            error.section.get_or_insert_with(|| section.to_owned());
        }
        reports.push(report);
    }
    reports
}

fn entry(entry: &Entry<'_>, wanted: &Details) -> EntryReport {
    let text = |bytes: &[u8]| {
        String::from_utf8_lossy(bytes)
            .trim_end_matches('\0')
            .to_owned()
    };
    let flags = entry.flags;
    let mut report = EntryReport {
        kind: entry.kind.to_string(),
        arch: entry.sm.to_string(),
        code_version: entry.code_version.to_string(),
        offset: entry.offset,
        flags: flags.0,
        address_bits: if flags.has(Flags::WIDE) { 64 } else { 32 },
        debug: flags.has(Flags::DEBUG),
        host: [
            (Flags::LINUX, "linux"),
            (Flags::MACOS, "macos"),
            (Flags::WINDOWS, "windows"),
        ]
        .into_iter()
        .find_map(|(bit, name)| flags.has(bit).then_some(name)),
        compression: entry.compression().to_string(),
        scrambled: flags.has(Flags::SCRAMBLED),
        stored_size: entry.stored.len() as u64,
        size: entry.size,
        identifier: Some(text(entry.identifier)).filter(|text| !text.is_empty()),
        options: entry
            .compiler_options()
            .map(|bytes| text(bytes).trim().to_owned())
            .filter(|text| !text.is_empty()),
        compat_record: entry.compat_record().is_some(),
        error: None,
        image: None,
    };
    // LTO-IR is scrambled as a rule, which is no damage.
    if entry.kind == Kind::NVVM {
        return report;
    }
    let read = entry.image(Limit::default()).and_then(|data| {
        if entry.kind == Kind::ELF {
            let file = cubin::File::parse(&data)?;
            report.image = Some(image::report(&file, entry.sm, wanted));
        }
        Ok(())
    });
    report.error = read.err().map(Failure::from);
    report
}

fn members(
    report: &mut FileReport,
    data: &[u8],
    folder: Option<&Path>,
    depth: usize,
    wanted: &Details,
) -> Result<(), Failure> {
    let Some(depth) = depth.checked_sub(1) else {
        return Err(archive::too_deep().into());
    };
    let archive = Archive::parse(data)?;
    report.archive = Some(ArchiveReport {
        flavour: archive.flavour.to_string(),
        thin: archive.thin,
    });
    for member in archive.members() {
        let member = member?;
        report.members.push(match (member.data, folder) {
            (Some(data), _) => bytes(member.name, data, None, depth, wanted),
            (None, Some(folder)) => match streams::read_file(&folder.join(&member.name)) {
                Ok(data) => bytes(member.name, &data, None, depth, wanted),
                Err(error) => FileReport {
                    error: Some(error.into()),
                    ..empty(member.name, InputKind::Unknown, member.size)
                },
            },
            (None, None) => FileReport {
                error: Some(Failure::new(
                    "the archive is thin and does not hold this member",
                )),
                ..empty(member.name, InputKind::Unknown, member.size)
            },
        });
    }
    Ok(())
}

impl fmt::Display for Failure {
    /// The rest of a message that begins with the name of the file.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(section) = &self.section {
            write!(f, ", section {section}")?;
        }
        if let Some(symbol) = &self.symbol {
            write!(f, ", symbol {symbol}")?;
        }
        if let Some(offset) = self.offset {
            write!(f, ", offset {offset:#x}")?;
        }
        write!(f, ": {}", self.message)
    }
}

/// The processors of all images.
pub(super) fn processors(files: &[FileReport]) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for file in files {
        found.extend(file.image.iter().map(|image| image.arch.clone()));
        for fatbin in &file.fatbins {
            found.extend(fatbin.entries.iter().map(|entry| entry.arch.clone()));
        }
        found.extend(processors(&file.members));
    }
    found
}

/// Drops the images for other processors.
pub(super) fn retain(file: &mut FileReport, arch: &str) {
    file.image.take_if(|image| image.arch != arch);
    for fatbin in &mut file.fatbins {
        fatbin.entries.retain(|entry| entry.arch == arch);
    }
    for member in &mut file.members {
        retain(member, arch);
    }
}

/// Whether some image shows the contents of a section.
pub(super) fn has_contents(file: &FileReport, name: &str) -> bool {
    let entries = file.fatbins.iter().flat_map(|fatbin| &fatbin.entries);
    let mut images = file
        .image
        .iter()
        .chain(entries.flat_map(|entry| &entry.image));
    images.any(|image| image.contents.iter().any(|c| c.header.name == name))
        || file.members.iter().any(|member| has_contents(member, name))
}

/// Every image's error and every other one of the report, with the place it belongs to.
pub(super) fn failures(report: &FileReport) -> Vec<(String, Failure)> {
    let mut found = Vec::new();
    collect(report, &streams::shown(&report.name), &mut found);
    found
}

fn collect(report: &FileReport, place: &str, found: &mut Vec<(String, Failure)>) {
    let mut push = |place: String, failure: &Failure| found.push((place, failure.clone()));
    if let Some(failure) = &report.error {
        push(place.to_owned(), failure);
    }
    for fatbin in &report.fatbins {
        if let Some(failure) = &fatbin.error {
            push(place.to_owned(), failure);
        }
        for entry in &fatbin.entries {
            let image = format!("{place}, {} image for {}", entry.kind, entry.arch);
            let inner = entry.image.iter().flat_map(|i| &i.errors);
            for failure in entry.error.iter().chain(inner) {
                push(image.clone(), failure);
            }
        }
    }
    for failure in report.image.iter().flat_map(|i| &i.errors) {
        push(place.to_owned(), failure);
    }
    for member in &report.members {
        collect(member, &format!("{place}:{}", member.name), found);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::report::{Document, SCHEMA_VERSION};
    use super::super::text;
    use super::*;

    const CUBINS: [&[u8]; 3] = [
        include_bytes!("../../../tests/inputs/caller.sm_80.cubin"),
        include_bytes!("../../../tests/inputs/callee.sm_90.cubin"),
        include_bytes!("../../../tests/inputs/caller.sm_100.cubin"),
    ];

    /// Inspects and shows everything, and decodes every section.
    fn show(data: &[u8]) -> String {
        let names = cubin::File::parse(data).map_or_else(
            |_| Vec::new(),
            |file| file.sections.iter().map(|s| s.name.to_owned()).collect(),
        );
        let wanted = Details {
            sections: true,
            symbols: true,
            relocations: true,
            call_graph: true,
            contents: names,
        };
        let document = Document {
            schema_version: SCHEMA_VERSION,
            files: vec![bytes("file".to_owned(), data, None, MAX_DEPTH, &wanted)],
        };
        let style = text::Style {
            mangled: false,
            parameters: true,
            all: true,
            only_contents: false,
            filtered: false,
        };
        let mut out = Vec::new();
        text::write(&mut out, &document, &style).expect("memory can be written");
        serde_json::to_string(&document).expect("every report is JSON");
        let failures = failures(&document.files[0]);
        let failures = failures
            .iter()
            .map(|(place, failure)| format!("{place}{failure}\n"));
        String::from_utf8(out).expect("text is UTF-8") + &failures.collect::<String>()
    }

    #[test]
    fn a_ptx_text_says_what_it_is_for() {
        let text =
            b"// a comment\n\t.version 9.0 // more\n.targets\n.target sm_90a, debug\r\n.func f\n";
        let expected = PtxReport {
            version: Some("9.0".to_owned()),
            target: Some("sm_90a, debug".to_owned()),
        };
        assert_eq!(ptx(text), expected);
        assert_eq!(ptx(b".version").version, None);
    }

    #[test]
    fn sound_objects_show_no_failure() {
        for data in CUBINS {
            let shown = show(data);
            assert!(
                shown.contains("relocatable") && !shown.contains("unreadable"),
                "{shown}"
            );
        }
    }

    #[test]
    fn objects_of_older_toolkits_say_which() {
        let older = include_bytes!("../../../tests/inputs/older/a.12-9.sm_90.cubin");
        let shown = show(older);
        assert!(shown.contains("CUDA 12.9"), "{shown}");
    }

    #[test]
    fn a_damaged_section_is_named() {
        let mut data = CUBINS[1].to_vec();
        let file = cubin::File::parse(CUBINS[1]).expect("a sound object");
        let info = &file.sections[file.section_by_name(".nv.info").expect("records")];
        data[info.offset as usize] = 9;
        let shown = show(&data);
        let expected =
            "section .nv.info, offset 0x0: attribute record of unknown format 9, code 0x2f";
        assert!(shown.contains(expected), "{shown}");
        assert!(shown.contains("DEVICE FUNCTION"), "{shown}");
    }

    proptest! {
        #[test]
        fn no_bytes_break_the_view(
            which in 0..CUBINS.len(),
            changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        ) {
            let mut data = CUBINS[which].to_vec();
            for (at, byte) in changes {
                let at = at.index(data.len());
                data[at] = byte;
            }
            show(&data);
        }
    }
}
