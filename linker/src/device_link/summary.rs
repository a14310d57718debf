//! What there is to say of links for several processors.

use rustc_hash::FxHashMap;

use super::Message;
use crate::arch::Sm;
use crate::codes::{self, Code};
use crate::diagnostic::{Diagnostic, Severity};

/// A message as it is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Shown {
    /// How bad it is.
    pub severity: Severity,
    /// Its code, which stands in the text, too.
    pub code: Code,
    /// The text.
    pub text: String,
}

/// What to show of messages: each once, in the order in which they came up first, with the processors it concerns. What an
/// option has asked for (`-v`, `-dump-callgraph`) stays as it is: its lines belong to those before them.
pub fn summarize(messages: &[Message]) -> Vec<Shown> {
    let failed: Vec<Option<Sm>> = messages
        .iter()
        .filter(|message| message.diagnostic.severity == Severity::Error)
        .map(|message| message.sm)
        .collect();
    // nvlink says after errors that there were some.
    let says_nothing = |message: &&Message| {
        message.diagnostic.code == codes::MERGE_FAILED && failed.contains(&message.sm)
    };
    let mut rows: Vec<(&Diagnostic, Vec<Sm>)> = Vec::new();
    let mut row_of: FxHashMap<&Diagnostic, usize> = FxHashMap::default();
    for message in messages.iter().filter(|message| !says_nothing(message)) {
        let diagnostic = &message.diagnostic;
        let row = match diagnostic.severity == Severity::Text
            || diagnostic.code == codes::RESOURCE_USAGE
        {
            true => rows.len(),
            false => *row_of.entry(diagnostic).or_insert(rows.len()),
        };
        if row == rows.len() {
            rows.push((diagnostic, Vec::new()));
        }
        rows[row].1.extend(message.sm);
    }
    let shown = rows.into_iter().map(|(diagnostic, processors)| {
        let processors: Vec<String> = processors
            .into_iter()
            .map(|sm| sm.to_string())
            // Who reads it in the text need not read it again.
            .filter(|name| !diagnostic.text.contains(&format!("'{name}'")))
            .collect();
        let place = match &processors[..] {
            [] => String::new(),
            processors => format!(" ({})", processors.join(", ")),
        };
        Shown {
            severity: diagnostic.severity,
            code: diagnostic.code,
            text: diagnostic.shown_at(&place),
        }
    });
    shown.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(messages: &[Message], expected: &[&str]) {
        let texts: Vec<String> = summarize(messages).into_iter().map(|m| m.text).collect();
        assert_eq!(texts, expected);
    }
    #[test]
    fn each_message_is_shown_once() {
        let message = |sm: &str, text: &str| Message {
            sm: Some(sm.parse().unwrap()),
            diagnostic: Diagnostic::new(Severity::Warning, codes::MISSING_LIBRARY, text)
                .with_detail("there is none"),
        };
        check(
            &[
                message("sm_80", "no x"),
                message("sm_80", "no y for 'sm_80'"),
                message("sm_90", "no x"),
            ],
            &[
                "no x: there is none (sm_80, sm_90) [missing-library]",
                "no y for 'sm_80': there is none [missing-library]",
            ],
        );
    }

    #[test]
    fn figures_stay_with_their_kernels() {
        let line = |sm: &str, text: &str| Message {
            sm: Some(sm.parse().unwrap()),
            diagnostic: Diagnostic::new(Severity::Info, codes::RESOURCE_USAGE, text),
        };
        check(
            &[
                line("sm_80", "properties of a"),
                line("sm_80", "8 registers"),
                line("sm_80", "properties of b"),
                line("sm_80", "8 registers"),
                line("sm_90", "properties of a"),
                line("sm_90", "8 registers"),
            ],
            &[
                "properties of a (sm_80)",
                "8 registers (sm_80)",
                "properties of b (sm_80)",
                "8 registers (sm_80)",
                "properties of a (sm_90)",
                "8 registers (sm_90)",
            ],
        );
    }

    #[test]
    fn that_a_link_has_failed_is_said_where_no_error_says_why() {
        let message = |sm: &str, diagnostic: Diagnostic| Message {
            sm: Some(sm.parse().unwrap()),
            diagnostic,
        };
        let twice = || Diagnostic::multiple_definition("k", "a.o", "b.o");
        check(
            &[
                message("sm_80", twice()),
                message("sm_80", Diagnostic::merge_failed()),
                message("sm_90", Diagnostic::merge_failed()),
            ],
            &[
                "Multiple definition of 'k' in 'a.o', first defined in 'b.o' (sm_80) [multiple-definition]",
                "merge_elf failed (sm_90) [merge-failed]",
            ],
        );
    }
}
