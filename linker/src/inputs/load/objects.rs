//! Device objects: which of them are linked.
//!
//! To tell, each is read in full, which several threads do. What was read of
//! files that are objects themselves is what is linked.

use std::borrow::Cow;

use super::super::check::{self, Candidate, Verdict};
use super::super::files::{Opened, Source};
use super::super::host::Origin;
use super::super::{Files, Image, Processor, Read, Wanted};
use super::unpack::{Code, Failure, Unpacked, Unpacker};
use super::{Loader, Stop};
use crate::codes;
use crate::container::{InputKind, detect};
use crate::cubin::File;
use crate::diagnostic::Diagnostic;
use crate::fatbin::Decompressor;
use crate::parallel;
use crate::read::Object;

/// What a file turns out to be.
pub(super) enum Look<'d> {
    /// A device object.
    Object(Checked<'d>),
    /// A host object, or why it cannot be taken apart.
    Host(Result<Unpacked<'d>, Vec<Diagnostic>>),
    /// What has the name of a fatbin.
    Fatbin(Result<Code<'d>, Failure>),
    /// Anything else, or nothing that its name promises.
    Other(InputKind),
    /// Nothing was read.
    Nothing,
}

/// What is to be done with a device object, and what there is to say of it.
pub(super) struct Checked<'d> {
    role: Result<Role<'d>, Diagnostic>,
    warnings: Vec<Diagnostic>,
}

/// What part a device object has in the link.
enum Role<'d> {
    /// It is linked, perhaps as one that wants to be alone.
    Linked {
        is_alone: bool,
        /// Whether it comes of an older toolkit.
        is_older: bool,
        /// What was read of it, if that can be kept.
        object: Option<Box<Read<'d>>>,
    },
    /// It is left out, and why.
    LeftOut(&'static str),
}

/// To unpack a byte takes about as long as to look at so many.
const UNPACKING: usize = 16;

/// How much there is to look at in a file.
pub(super) fn effort(data: &[u8]) -> usize {
    match detect(data) {
        InputKind::HostObject | InputKind::Fatbin => data.len().saturating_mul(UNPACKING),
        InputKind::Cubin
        | InputKind::Archive
        | InputKind::HostExecutable
        | InputKind::SharedLibrary
        | InputKind::Ptx
        | InputKind::LtoIr
        | InputKind::Bitcode
        | InputKind::Unknown => data.len(),
    }
}

/// Looks at every file.
pub(super) fn look_at<'d>(files: &'d Files, unpacker: &Unpacker<'_, 'd>) -> Vec<Look<'d>> {
    let sources = files.0.iter().filter_map(Opened::source);
    let effort = sources.map(|source| effort(&source.data)).sum();
    let tool = Decompressor::default;
    parallel::map_with(&files.0, effort, tool, |decompressor, opened| {
        let source = opened.source();
        source.map_or(Look::Nothing, |source| look(source, unpacker, decompressor))
    })
}

fn look<'d>(
    source: &'d Source,
    unpacker: &Unpacker<'_, 'd>,
    decompressor: &mut Decompressor,
) -> Look<'d> {
    let (name, data) = (&source.name, &*source.data);
    let kind = detect(data);
    match (source.extension(), kind) {
        _ if data.is_empty() => Look::Other(kind),
        ("cubin", _) | ("ptx" | "o", InputKind::Cubin) => {
            let (wanted, processor) = (unpacker.wanted, unpacker.processor);
            let file = Candidate::file(name, data);
            Look::Object(check_lasting(file, wanted, processor))
        }
        ("ptx", InputKind::Fatbin) if unpacker.wanted.is_compatible() => {
            Look::Fatbin(unpacker.fatbin(name, data, decompressor))
        }
        ("fatbin", _) => Look::Fatbin(unpacker.fatbin(name, data, decompressor)),
        ("ptx" | "ltoir", _) => Look::Other(kind),
        ("nvvm" | "bc", _) if unpacker.wanted.is_compatible() => Look::Other(kind),
        _ if unpacker.wanted.is_compatible() && !source.has_extension() => Look::Nothing,
        // nvlink takes it for a shared library.
        ("so", InputKind::HostObject) if unpacker.wanted.is_compatible() => Look::Nothing,
        (_, InputKind::HostObject) => {
            Look::Host(unpacker.host_object(name, data, Origin::File, decompressor))
        }
        (end, _) if unpacker.wanted.is_compatible() && end != "so" && seems_relocatable(data) => {
            Look::Host(unpacker.host_object(name, data, Origin::File, decompressor))
        }
        _ => Look::Other(kind),
    }
}

/// Whether nvlink takes a file for a host object, in which it then finds nothing. It looks at the type in the ELF header
/// alone, where fatbins have the kind of their first entry (case `fatbin_input`).
fn seems_relocatable(data: &[u8]) -> bool {
    !data.starts_with(b"\x7fELF") && data.get(16..18) == Some(&[1, 0])
}

/// Checks a device object; `keep` says what of it is worth keeping.
pub(super) fn check<'d, 'o>(
    candidate: Candidate<'_, 'd>,
    wanted: &Wanted,
    processor: &Processor,
    keep: impl Fn(File<'d>) -> Option<Box<Read<'o>>>,
) -> Checked<'o> {
    let mut warnings = Vec::new();
    let verdict = check::check(candidate, processor, wanted.behaviour, &mut warnings);
    let linked = |is_alone, is_older, file| Role::Linked {
        is_alone,
        is_older,
        object: keep(file),
    };
    Checked {
        role: verdict.map(|verdict| match verdict {
            Verdict::Link(file) => linked(false, false, file),
            Verdict::LinkOlder(file) => linked(false, true, file),
            Verdict::LinkAlone(file) => linked(true, false, file),
            Verdict::Skip(why) => Role::LeftOut(why),
        }),
        warnings,
    }
}

/// Checks a device object whose bytes stay where they are.
pub(super) fn check_lasting<'d>(
    candidate: Candidate<'_, 'd>,
    wanted: &Wanted,
    processor: &Processor,
) -> Checked<'d> {
    let object = |file| Object::new(candidate.name, file, wanted.behaviour);
    let keep = |file| Some(Box::new(object(file)));
    check(candidate, wanted, processor, keep)
}

impl<'d> Loader<'_, 'd> {
    /// Adds a file that is a device object.
    pub(super) fn object(&mut self, source: &'d Source, checked: Checked<'d>) -> Result<(), Stop> {
        let is_misnamed = source.extension() == "ptx" && self.wanted.is_compatible();
        if is_misnamed
            && matches!(&checked.role, Err(problem) if problem.code == codes::ARCH_MISMATCH)
        {
            // To nvlink, files with the name of PTX hold code like fatbins (case `ptx_names`).
            return self.without_arch(&source.name, &[]);
        }
        if self.is_left_out_as_ptx(source)? {
            return Ok(());
        }
        let count = self.images.len();
        self.add(&source.name, Cow::Borrowed(&source.data), checked)?;
        if self.images.len() > count {
            self.host_use.add_unsaid();
            self.unnamed_module(&source.name);
        }
        Ok(())
    }

    /// Adds what was inside a file, or was made of it.
    pub(super) fn image(&mut self, name: &str, data: Cow<'d, [u8]>) -> Result<(), Stop> {
        let checked = self.unpacker().check(name, &data);
        self.add(name, data, checked)
    }

    /// Adds a device object to the link, if it may be part of one.
    pub(super) fn add(
        &mut self,
        name: &str,
        data: Cow<'d, [u8]>,
        checked: Checked<'d>,
    ) -> Result<(), Stop> {
        for warning in checked.warnings {
            if check::is_said_once(warning.code) && self.diagnostics.has(warning.code) {
                continue;
            }
            self.warn(warning.code, warning.text)?;
        }
        match checked.role {
            Ok(Role::LeftOut(why)) => return self.ignored(name, why),
            Ok(Role::Linked { .. }) if self.is_needless_runtime(name) => {
                self.unused_runtime.get_or_insert(self.images.len());
            }
            Ok(Role::Linked { is_older: true, .. })
                if self.wanted.is_compatible() && self.images.iter().any(|i| i.is_alone) =>
            {
                self.diagnostics.push(check::old_whole_program(name));
                return Err(Stop);
            }
            Ok(Role::Linked {
                is_alone, object, ..
            }) => {
                self.partial(name);
                self.images.push(Image {
                    name: name.to_owned(),
                    data,
                    is_alone,
                    object,
                });
            }
            Err(problem) => {
                self.diagnostics.push(problem);
                return Err(Stop);
            }
        }
        Ok(())
    }
}
