//! The messages of a link.

use super::{Diagnostic, Severity};
use crate::codes::Code;

/// The messages of one link, in the order in which they came up.
#[derive(Debug, Clone, Default)]
pub struct Diagnostics {
    messages: Vec<Diagnostic>,
    /// The greatest severity of all.
    worst: Option<Severity>,
    /// Whether options about messages do not apply to those to come.
    forgets_options: bool,
}

impl Diagnostics {
    /// Adds a message.
    pub fn push(&mut self, mut diagnostic: Diagnostic) {
        diagnostic.is_settled |= self.forgets_options;
        self.worst = self.worst.max(Some(diagnostic.severity));
        self.messages.push(diagnostic);
    }

    /// From now on, options about messages do not apply to new ones: nvlink forgets them when it compiles PTX (case
    /// `forgotten_options`).
    pub(crate) fn forget_options(&mut self) {
        self.forgets_options = true;
    }

    /// Whether [`Self::forget_options`] was called.
    pub(crate) fn forgets_options(&self) -> bool {
        self.forgets_options
    }

    /// Takes out what was said after the first `count` messages.
    pub(crate) fn split_off(&mut self, count: usize) -> Self {
        let messages = self.messages.split_off(count);
        let worst = |messages: &[Diagnostic]| messages.iter().map(|m| m.severity).max();
        self.worst = worst(&self.messages);
        Self {
            worst: worst(&messages),
            messages,
            forgets_options: false,
        }
    }

    /// Adds all messages of others.
    pub(crate) fn append(&mut self, mut others: Self) {
        self.worst = self.worst.max(others.worst);
        self.messages.append(&mut others.messages);
    }

    /// Whether some message makes the link fail.
    pub fn has_errors(&self) -> bool {
        self.worst >= Some(Severity::Error)
    }

    /// Whether some message is a warning.
    pub(crate) fn has_warnings(&self) -> bool {
        self.messages
            .iter()
            .any(|m| m.severity == Severity::Warning)
    }

    /// Whether some message ends the link at once.
    pub fn has_fatal(&self) -> bool {
        self.worst == Some(Severity::Fatal)
    }

    /// The messages that make the link fail.
    pub fn errors(&self) -> impl Iterator<Item = &Diagnostic> {
        let messages = self.messages.iter();
        messages.filter(|message| message.severity >= Severity::Error)
    }

    /// Whether a message has this code.
    pub fn has(&self, code: Code) -> bool {
        self.messages.iter().any(|message| message.code == code)
    }

    /// All messages.
    pub fn messages(&self) -> &[Diagnostic] {
        &self.messages
    }
}

impl Extend<Diagnostic> for Diagnostics {
    fn extend<I: IntoIterator<Item = Diagnostic>>(&mut self, messages: I) {
        messages.into_iter().for_each(|message| self.push(message));
    }
}

impl FromIterator<Diagnostic> for Diagnostics {
    fn from_iter<I: IntoIterator<Item = Diagnostic>>(messages: I) -> Self {
        let mut all = Self::default();
        all.extend(messages);
        all
    }
}

impl IntoIterator for Diagnostics {
    type Item = Diagnostic;
    type IntoIter = std::vec::IntoIter<Diagnostic>;

    fn into_iter(self) -> Self::IntoIter {
        self.messages.into_iter()
    }
}

impl<'a> IntoIterator for &'a Diagnostics {
    type Item = &'a Diagnostic;
    type IntoIter = std::slice::Iter<'a, Diagnostic>;

    fn into_iter(self) -> Self::IntoIter {
        self.messages.iter()
    }
}
