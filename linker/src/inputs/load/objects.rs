//! Device objects: which of them are linked.
//!
//! To tell, each is read in full, which several threads do for the files that
//! are objects themselves. What was read is what is linked.

use std::borrow::Cow;

use super::super::check::{self, Verdict};
use super::super::files::{Opened, Source};
use super::super::{Files, Image, Processor, Read, Wanted};
use super::{Loader, Stop};
use crate::container::{InputKind, detect};
use crate::cubin::File;
use crate::diagnostic::Diagnostic;
use crate::parallel;
use crate::read::Object;

/// What a file turns out to be.
pub(super) enum Look<'d> {
    /// A device object.
    Object(Checked<'d>),
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
        /// What was read of it, if that can be kept.
        object: Option<Box<Read<'d>>>,
    },
    /// It is left out, and why.
    LeftOut(&'static str),
}

/// Looks at every file.
pub(super) fn look_at<'d>(
    files: &'d Files,
    wanted: &Wanted,
    processor: &Processor,
) -> Vec<Look<'d>> {
    let sources = files.0.iter().filter_map(Opened::source);
    let bytes = sources.map(|source| source.data.len()).sum();
    parallel::map(&files.0, bytes, |opened| match opened.source() {
        Some(source) => look(source, wanted, processor),
        None => Look::Nothing,
    })
}

fn look<'d>(source: &'d Source, wanted: &Wanted, processor: &Processor) -> Look<'d> {
    let kind = detect(&source.data);
    let is_object = match source.extension() {
        "cubin" => !source.data.is_empty(),
        "ptx" | "o" => kind == InputKind::Cubin,
        _ => false,
    };
    match is_object {
        true => {
            let (name, data) = (&source.name, &source.data);
            Look::Object(check_lasting(name, data, true, wanted, processor))
        }
        false => Look::Other(kind),
    }
}

/// Checks a device object; `keep` says what of it is worth keeping.
fn check<'d, 'o>(
    name: &str,
    data: &'d [u8],
    is_named: bool,
    wanted: &Wanted,
    processor: &Processor,
    keep: impl Fn(File<'d>) -> Option<Box<Read<'o>>>,
) -> Checked<'o> {
    let mut warnings = Vec::new();
    let (sm, behaviour) = (processor.sm, wanted.behaviour);
    let verdict = check::check(name, data, sm, is_named, behaviour, &mut warnings);
    let linked = |is_alone, file| Role::Linked {
        is_alone,
        object: keep(file),
    };
    Checked {
        role: verdict.map(|verdict| match verdict {
            Verdict::Link(file) => linked(false, file),
            Verdict::LinkAlone(file) => linked(true, file),
            Verdict::Skip(why) => Role::LeftOut(why),
        }),
        warnings,
    }
}

/// Checks a device object whose bytes stay where they are.
fn check_lasting<'d>(
    name: &str,
    data: &'d [u8],
    is_named: bool,
    wanted: &Wanted,
    processor: &Processor,
) -> Checked<'d> {
    let keep = |file| Some(Box::new(Object::new(name, file)));
    check(name, data, is_named, wanted, processor, keep)
}

impl<'d> Loader<'_, 'd> {
    /// Adds a file that is a device object.
    pub(super) fn object(&mut self, source: &'d Source, checked: Checked<'d>) -> Result<(), Stop> {
        let count = self.images.len();
        self.add(&source.name, Cow::Borrowed(&source.data), checked)?;
        if self.images.len() > count {
            self.all_name_kernels = false;
            self.unnamed_module(&source.name);
        }
        Ok(())
    }

    /// Adds what was inside a file, or was made of it.
    pub(super) fn image(&mut self, name: &str, data: Cow<'d, [u8]>) -> Result<(), Stop> {
        let (wanted, processor) = (self.wanted, self.processor);
        let checked = match &data {
            Cow::Borrowed(data) => check_lasting(name, data, false, wanted, processor),
            Cow::Owned(data) => check(name, data, false, wanted, processor, |_| None),
        };
        self.add(name, data, checked)
    }

    /// Adds a device object to the link, if it may be part of one.
    fn add(&mut self, name: &str, data: Cow<'d, [u8]>, checked: Checked<'d>) -> Result<(), Stop> {
        for warning in checked.warnings {
            self.warn(warning.code, warning.text)?;
        }
        match checked.role {
            Ok(Role::LeftOut(why)) => return self.ignored(name, why),
            Ok(Role::Linked { is_alone, object }) => self.images.push(Image {
                name: name.to_owned(),
                data,
                is_alone,
                object,
            }),
            Err(problem) => {
                self.diagnostics.push(problem);
                return Err(Stop);
            }
        }
        Ok(())
    }
}
