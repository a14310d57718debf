//! Device objects: which of them are linked.
//!
//! To tell, each is read once in full, which several threads do for the files
//! that are objects themselves.

use std::borrow::Cow;

use super::super::check::{self, Verdict};
use super::super::files::{Opened, Source};
use super::super::{Files, Image, Processor, Wanted};
use super::{Loader, Stop};
use crate::container::{InputKind, detect};
use crate::diagnostic::Diagnostic;
use crate::parallel;

/// What a file turns out to be.
pub(super) enum Look {
    /// A device object.
    Object(Checked),
    /// Anything else, or nothing that its name promises.
    Other(InputKind),
    /// Nothing was read.
    Nothing,
}

/// What is to be done with a device object, and what there is to say of it.
pub(super) struct Checked {
    verdict: Result<Verdict, Diagnostic>,
    warnings: Vec<Diagnostic>,
}

/// Looks at every file.
pub(super) fn look_at(files: &Files, wanted: &Wanted, processor: &Processor) -> Vec<Look> {
    let sources = files.0.iter().filter_map(Opened::source);
    let bytes = sources.map(|source| source.data.len()).sum();
    parallel::map(&files.0, bytes, |opened| match opened.source() {
        Some(source) => look(source, wanted, processor),
        None => Look::Nothing,
    })
}

fn look(source: &Source, wanted: &Wanted, processor: &Processor) -> Look {
    let kind = detect(&source.data);
    let is_object = match source.extension() {
        "cubin" => !source.data.is_empty(),
        "ptx" | "o" => kind == InputKind::Cubin,
        _ => false,
    };
    match is_object {
        true => Look::Object(check(&source.name, &source.data, true, wanted, processor)),
        false => Look::Other(kind),
    }
}

fn check(
    name: &str,
    data: &[u8],
    is_named: bool,
    wanted: &Wanted,
    processor: &Processor,
) -> Checked {
    let mut warnings = Vec::new();
    let (sm, behaviour) = (processor.sm, wanted.behaviour);
    Checked {
        verdict: check::check(name, data, sm, is_named, behaviour, &mut warnings),
        warnings,
    }
}

impl<'d> Loader<'_, 'd> {
    /// Adds a file that is a device object.
    pub(super) fn object(&mut self, source: &'d Source, checked: Checked) -> Result<(), Stop> {
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
        let checked = check(name, &data, false, self.wanted, self.processor);
        self.add(name, data, checked)
    }

    /// Adds a device object to the link, if it may be part of one.
    fn add(&mut self, name: &str, data: Cow<'d, [u8]>, checked: Checked) -> Result<(), Stop> {
        for warning in checked.warnings {
            self.warn(warning.code, warning.text)?;
        }
        match checked.verdict {
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
}
