//! Which messages are told.

use super::{Diagnostic, Severity};
use crate::codes;

/// Which messages are told, and which warnings count as errors.
///
/// ```
/// use rustnvlink::codes;
/// use rustnvlink::diagnostic::{Diagnostic, Filter, Severity};
///
/// let mut filter = Filter::default();
/// filter.warnings_are_errors = true;
/// let warning = Diagnostic::new(Severity::Warning, codes::MISSING_LIBRARY, "no library was found for -lk");
/// assert_eq!(filter.wanted(warning).unwrap().severity, Severity::Error);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Filter {
    /// Warnings are errors.
    pub warnings_are_errors: bool,
    /// Warnings are not told.
    pub hide_warnings: bool,
    /// Information is not told.
    pub hide_infos: bool,
    /// Warnings about kernels with unknown stack sizes are not told.
    pub hide_unbounded_stack: bool,
}

impl Filter {
    /// A message as it is to be told, if it is.
    pub fn wanted(&self, mut message: Diagnostic) -> Option<Diagnostic> {
        let is_hidden_always = self.hide_unbounded_stack && message.code == codes::UNBOUNDED_STACK;
        if message.is_settled && !is_hidden_always {
            return Some(message);
        }
        let hidden = match message.severity {
            Severity::Info => self.hide_infos,
            Severity::Warning if is_hidden_always => true,
            Severity::Warning => self.hide_warnings && !self.warnings_are_errors,
            Severity::Text | Severity::Error | Severity::Fatal => false,
        };
        if message.severity == Severity::Warning && self.warnings_are_errors {
            message.severity = Severity::Error;
        }
        (!hidden).then_some(message)
    }
}
