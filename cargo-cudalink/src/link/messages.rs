//! What the linker has to say, once for all processors it concerns.

use rustnvlink::device_link::{Linked, Message};
use rustnvlink::diagnostic::Severity;

use crate::style::{ERROR, NOTE};

/// Whether a message with this code is among those of a link.
pub(super) fn has(linked: &Linked, code: &str) -> bool {
    linked.messages.iter().any(|m| m.diagnostic.code == code)
}

/// Shows messages in the order in which they came up first.
pub(super) fn print(messages: &[Message]) {
    for (index, message) in messages.iter().enumerate() {
        let is_same = |other: &&Message| other.diagnostic == message.diagnostic;
        if messages[..index].iter().any(|other| is_same(&other)) {
            continue;
        }
        let processors: Vec<String> = messages
            .iter()
            .filter(is_same)
            .filter_map(|other| other.sm)
            .map(|sm| sm.to_string())
            .collect();
        let diagnostic = &message.diagnostic;
        let (style, severity) = match diagnostic.severity {
            Severity::Text => {
                anstream::eprintln!("{}", diagnostic.text);
                continue;
            }
            Severity::Info => (NOTE, "info"),
            Severity::Warning => (NOTE, "warning"),
            Severity::Error | Severity::Fatal => (ERROR, "error"),
        };
        let detail = match &diagnostic.detail {
            Some(detail) => format!(": {detail}"),
            None => String::new(),
        };
        let place = match &processors[..] {
            [] => String::new(),
            processors => format!(" ({})", processors.join(", ")),
        };
        anstream::eprintln!(
            "{style}{severity}{style:#}: {}{detail}{place} [{}]",
            diagnostic.text,
            diagnostic.code
        );
    }
}
