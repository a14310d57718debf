//! What the linker says to its user.

use std::fmt;

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Worth knowing.
    Info,
    /// The link goes on.
    Warning,
    /// The link fails, after other problems have been reported.
    Error,
    /// The link fails at once.
    Fatal,
}

/// One message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// A short name that stays the same between releases.
    pub code: &'static str,
    /// The message, without severity or program name.
    pub text: String,
}

impl Diagnostic {
    /// A message.
    pub fn new(severity: Severity, code: &'static str, text: impl Into<String>) -> Self {
        Self {
            severity,
            code,
            text: text.into(),
        }
    }

    /// Two inputs define one name.
    pub fn multiple_definition(name: &str, input: &str, first: &str) -> Self {
        Self::new(
            Severity::Error,
            "multiple-definition",
            format!("Multiple definition of '{name}' in '{input}', first defined in '{first}'"),
        )
    }

    /// Nobody defines a name that is used.
    pub fn undefined_reference(name: &str, input: &str) -> Self {
        Self::new(
            Severity::Error,
            "undefined-reference",
            format!("Undefined reference to '{name}' in '{input}'"),
        )
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let severity = match self.severity {
            Severity::Info => "info    ",
            Severity::Warning => "warning ",
            Severity::Error => "error   ",
            Severity::Fatal => "fatal   ",
        };
        write!(f, "nvlink {severity}: {}", self.text)
    }
}

/// The messages of one link, in the order in which they came up.
#[derive(Debug, Clone, Default)]
pub struct Diagnostics {
    messages: Vec<Diagnostic>,
}

impl Diagnostics {
    /// Adds a message.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        self.messages.push(diagnostic);
    }

    /// Whether some message makes the link fail.
    pub fn has_errors(&self) -> bool {
        self.messages.iter().any(|m| m.severity >= Severity::Error)
    }

    /// All messages.
    pub fn messages(&self) -> &[Diagnostic] {
        &self.messages
    }
}
