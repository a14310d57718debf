//! Messages of the linker to its user.

mod filter;
mod list;
mod messages;
#[cfg(test)]
mod tests;

use std::fmt;

use crate::codes::{self, Code};
use crate::demangle::readable;
use crate::error::{Location, without_number};
use crate::raw_text;
pub use filter::Filter;
pub use list::Diagnostics;
pub(crate) use messages::Mismatch;

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Text that was asked for, shown as it is.
    Text,
    /// Worth knowing.
    Info,
    /// The link goes on.
    Warning,
    /// The link fails, after other problems have been reported.
    Error,
    /// The link fails at once.
    Fatal,
}

/// What to do about a name that no input defines.
pub(crate) const ADD_DEFINITION: &str =
    "help: add the object or library that defines it, compiled with -rdc=true";

/// The end of advice where inputs have no code for the processor.
const COMPILE_FOR_IT: &str =
    ": compile for it, too, or link for processors that all inputs have code for";

/// One message.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// What it is about, in a word that stays the same between releases.
    pub code: Code,
    /// The message, without severity or program name.
    pub text: String,
    /// More about it, shown where messages need not be those of nvlink.
    pub detail: Option<String>,
    /// Notes and advice, line by line, shown in the same places.
    pub notes: Vec<String>,
    /// How often nvlink prints it. It is shown once otherwise.
    pub(crate) times: usize,
    /// Whether options about messages (`-w`, `-Werror`) no longer apply to it.
    pub(crate) is_settled: bool,
    /// The symbol and the input that it is about. It is a box to keep messages without either small.
    pub(crate) subject: Option<Box<Subject>>,
}

/// What a message is about.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct Subject {
    symbol: Option<String>,
    input: Option<String>,
}

impl Diagnostic {
    /// A message.
    pub fn new(severity: Severity, code: Code, text: impl Into<String>) -> Self {
        Self {
            severity,
            code,
            text: text.into(),
            detail: None,
            notes: Vec::new(),
            times: 1,
            is_settled: false,
            subject: None,
        }
    }

    /// A message that ends the link at once.
    pub(crate) fn fatal(code: Code, text: impl Into<String>) -> Self {
        Self::new(Severity::Fatal, code, text)
    }

    /// Text that was asked for.
    pub fn text(text: String) -> Self {
        Self::new(Severity::Text, codes::REQUESTED, text)
    }

    /// Adds what nvlink does not say.
    #[must_use]
    pub fn with_detail(mut self, detail: impl fmt::Display) -> Self {
        self.detail = Some(without_number(detail.to_string()));
        self
    }

    /// Adds a line below.
    #[must_use]
    pub fn with_note(mut self, note: impl fmt::Display) -> Self {
        self.notes.push(note.to_string());
        self
    }

    /// Replaces the advice to add a definition by a better one: that these inputs may have it, for other processors.
    #[must_use]
    pub(crate) fn with_inputs_lacking(mut self, inputs: &[String], target: &str) -> Self {
        let Some(names) = some_of(inputs) else {
            return self;
        };
        for note in self.notes.iter_mut().filter(|note| *note == ADD_DEFINITION) {
            *note = format!("help: {names} may define it, but not for {target}{COMPILE_FOR_IT}");
        }
        self
    }

    /// Removes the advice to compile for another processor, for callers that give their own.
    pub fn remove_advice_about_processors(&mut self) {
        self.notes.retain(|note| !note.ends_with(COMPILE_FOR_IT));
    }

    /// Adds the name of the function or variable that it is about.
    #[must_use]
    pub(crate) fn of_symbol(mut self, symbol: &str) -> Self {
        let subject = self.subject.get_or_insert_default();
        subject.symbol = Some(symbol.to_owned());
        self
    }

    /// Adds the function or variable that it is about and that its text has as the file does, with its demangled form.
    #[must_use]
    pub(crate) fn of_mangled(self, symbol: &str) -> Self {
        self.of_symbol(symbol).with_readable(&[symbol])
    }

    /// Adds the name of the input that it is about.
    #[must_use]
    pub(crate) fn of_input(mut self, input: &str) -> Self {
        let subject = self.subject.get_or_insert_default();
        subject.input = Some(input.to_owned());
        self
    }

    /// Adds the symbol and the input of a place.
    #[must_use]
    pub(crate) fn at(mut self, place: &Location) -> Self {
        self.subject = Some(Box::new(Subject {
            symbol: place.symbol.clone(),
            input: place.input.clone(),
        }));
        self
    }

    /// The function or variable that it is about, as objects name it.
    pub fn symbol(&self) -> Option<&str> {
        self.subject.as_ref()?.symbol.as_deref()
    }

    /// The input that it is about.
    pub fn input(&self) -> Option<&str> {
        self.subject.as_ref()?.input.as_deref()
    }

    /// Adds the demangled form of names, where it differs.
    #[must_use]
    pub(crate) fn with_readable(mut self, names: &[&str]) -> Self {
        for name in names {
            let readable = readable(name);
            if readable != *name {
                self.notes.push(format!("{name} is {readable}"));
            }
        }
        self
    }
}

/// The line that nvlink prints. [`Diagnostic::shown`] has the detail and the notes, too.
impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&raw_text::visible(&self.line()))
    }
}

impl Diagnostic {
    /// All that the message says, with its code, detail and notes, but without its severity.
    pub fn shown(&self) -> String {
        self.shown_at("")
    }

    /// What stands behind the text, with what joins both.
    pub(crate) fn joined_detail(&self) -> String {
        match &self.detail {
            None => String::new(),
            Some(detail) if self.text.ends_with(['.', '?', ':']) => format!(" {detail}"),
            Some(detail) => format!(": {detail}"),
        }
    }

    /// The same with the place it concerns. Place and code are in the first line, where readers look for them.
    pub(crate) fn shown_at(&self, place: &str) -> String {
        let detail = self.joined_detail();
        let (detail, more) = match detail.split_once('\n') {
            Some((detail, more)) => (detail, Some(more)),
            None => (detail.as_str(), None),
        };
        let mut text = match self.severity {
            Severity::Text => self.text.clone(),
            // It would be noise on every line.
            Severity::Info if self.code == codes::RESOURCE_USAGE => {
                format!("{}{detail}{place}", self.text)
            }
            Severity::Info | Severity::Warning | Severity::Error | Severity::Fatal => {
                format!("{}{detail}{place} [{}]", self.text, self.code)
            }
        };
        if let Some(line) = more {
            text.push('\n');
            text.push_str(line);
        }
        for note in &self.notes {
            text.push_str("\n    ");
            text.push_str(note);
        }
        raw_text::visible(&text)
    }

    /// The message as nvlink shows it, with names of files as raw text.
    pub(crate) fn line(&self) -> String {
        let severity = match self.severity {
            Severity::Text => return self.text.clone(),
            Severity::Info => "info    ",
            Severity::Warning => "warning ",
            Severity::Error => "error   ",
            Severity::Fatal => "fatal   ",
        };
        format!("nvlink {severity}: {}", self.text)
    }
}

/// As many of these names as a message bears, if there are any.
///
/// ```
/// # use rustnvlink::diagnostic::some_of;
/// let names = ["a.o", "b.o", "c.o", "d.o"].map(str::to_owned);
/// assert_eq!(some_of(&names).unwrap(), "'a.o', 'b.o', 'c.o' and 1 more");
/// assert_eq!(some_of(&[]), None);
/// ```
pub fn some_of(names: &[String]) -> Option<String> {
    const SHOWN: usize = 3;
    let (first, others) = names.split_at(names.len().min(SHOWN));
    let first: Vec<String> = first.iter().map(|name| format!("'{name}'")).collect();
    let others = match others.len() {
        0 => String::new(),
        number => format!(" and {number} more"),
    };
    (!first.is_empty()).then(|| format!("{}{others}", first.join(", ")))
}
