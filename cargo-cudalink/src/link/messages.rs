//! What the linker has to say, once for all processors it concerns.

use rustnvlink::cli::messages::Messages;
use rustnvlink::device_link::Message;
use rustnvlink::diagnostic::{Diagnostic, Severity};

use crate::style::{ERROR, NOTE};

/// Shows what there is to say about options.
pub(super) fn print_notes(wanted: &Messages, notes: Vec<Diagnostic>) {
    let notes = notes.into_iter().filter_map(|note| wanted.wanted(note));
    let about_all = notes.map(|diagnostic| Message {
        sm: None,
        diagnostic,
    });
    print(&about_all.collect::<Vec<_>>());
}

/// Shows messages in the order in which they came up first.
pub(super) fn print(messages: &[Message]) {
    for (severity, text) in summarize(messages) {
        let (style, severity) = match severity {
            Severity::Text => {
                anstream::eprintln!("{text}");
                continue;
            }
            Severity::Info => (NOTE, "info"),
            Severity::Warning => (NOTE, "warning"),
            Severity::Error | Severity::Fatal => (ERROR, "error"),
        };
        anstream::eprintln!("{style}{severity}{style:#}: {text}");
    }
}

/// What to show of messages: each once, with the processors it concerns.
pub(crate) fn summarize(messages: &[Message]) -> Vec<(Severity, String)> {
    let mut summary = Vec::new();
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
        let detail = match &diagnostic.detail {
            Some(detail) => format!(": {detail}"),
            None => String::new(),
        };
        let place = match &processors[..] {
            [] => String::new(),
            processors => format!(" ({})", processors.join(", ")),
        };
        let mut text = match diagnostic.severity {
            Severity::Text => diagnostic.text.clone(),
            Severity::Info | Severity::Warning | Severity::Error | Severity::Fatal => {
                format!("{}{detail}{place} [{}]", diagnostic.text, diagnostic.code)
            }
        };
        for note in &diagnostic.notes {
            text.push_str("\n    ");
            text.push_str(note);
        }
        summary.push((diagnostic.severity, text));
    }
    summary
}
