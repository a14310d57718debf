//! Inputs that may define what turns out to be undefined.

use crate::codes;
use crate::diagnostic::{Diagnostic, Severity, some_of};
use crate::explain::help_with_closed;

/// What helps where something is undefined.
#[derive(Debug, Default)]
pub(super) struct Hints {
    /// Objects with device code that was compiled without `-rdc=true`.
    closed: Vec<String>,
    /// Objects that hold the result of a device link.
    results: Vec<String>,
    /// Inputs without code for the processor.
    lacking: Vec<String>,
    /// What else there is to say.
    others: Vec<Diagnostic>,
}

impl Hints {
    /// Adds an object with device code that was compiled without `-rdc=true`.
    pub(super) fn add_closed(&mut self, name: &str) {
        self.closed.push(name.to_owned());
    }

    /// Adds an object that holds the result of a device link.
    pub(super) fn add_result(&mut self, name: &str) {
        self.results.push(name.to_owned());
    }

    /// Adds an input without code for the processor.
    pub(super) fn add_lacking(&mut self, name: &str) {
        self.lacking.push(name.to_owned());
    }

    /// Adds what there is to say.
    pub(super) fn add(&mut self, hint: Diagnostic) {
        self.others.push(hint);
    }

    /// Which inputs hold the code that is looked for, where it has been linked.
    pub(super) fn linked_before(&self) -> Option<String> {
        let names = some_of(&self.results)?;
        let (hold, go) = match self.results.len() {
            1 => ("holds", "goes"),
            _ => ("hold", "go"),
        };
        Some(format!(
            "{names} {hold} the result of a device link already, and {go} to the host linker without another one"
        ))
    }

    /// What to say, and the inputs without code for the processor.
    pub(super) fn finish(self) -> (Vec<Diagnostic>, Vec<String>) {
        let Self {
            closed,
            results,
            lacking,
            others: mut hints,
        } = self;
        if let Some(text) = help_with_closed(&closed) {
            hints.push(Diagnostic::new(Severity::Info, codes::CLOSED_OBJECT, text));
        }
        if let Some(names) = some_of(&results) {
            let text = format!(
                "{names} has the result of a device link, whose device functions cannot be called from elsewhere: link \
                 what it was made of instead"
            );
            hints.push(Diagnostic::new(Severity::Info, codes::LINKED_OBJECT, text));
        }
        (hints, lacking)
    }
}
