//! What the linker has to say, once for all processors it concerns.

use rustnvlink::cli::messages::Messages;
use rustnvlink::device_link::{Linked, Message};
use rustnvlink::diagnostic::{Diagnostic, Severity, some_of};

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
            // Who reads it in the text need not read it again.
            .filter(|name| !message.diagnostic.text.contains(&format!("'{name}'")))
            .collect();
        let place = match &processors[..] {
            [] => String::new(),
            processors => format!(" ({})", processors.join(", ")),
        };
        let diagnostic = &message.diagnostic;
        summary.push((diagnostic.severity, shown_at(diagnostic, &place)));
    }
    summary
}

/// What is wrong with a link for processors that no input has code for.
pub(crate) fn without_code(linked: &Linked) -> Option<String> {
    let names: Vec<String> = linked
        .without_code()
        .iter()
        .map(ToString::to_string)
        .collect();
    (!names.is_empty()).then(|| format!("no input has device code for {}", names.join(" or ")))
}

/// What helps where something is undefined that one of these objects may define.
pub(crate) fn help_with_closed(objects: &[String]) -> Option<String> {
    let names = some_of(objects)?;
    Some(format!(
        "device functions of {names} cannot be called from elsewhere: compile with -rdc=true"
    ))
}

/// The same where a library is linked on its own: these are the results.
pub(crate) fn help_with_results(objects: &[String]) -> Option<String> {
    let names = some_of(objects)?;
    Some(format!(
        "device functions cannot be called from elsewhere whose library has a device link of its own ({names}): \
         build it without (in CMake, CUDA_RESOLVE_DEVICE_SYMBOLS OFF)"
    ))
}

/// A message without its severity.
pub(crate) fn shown(diagnostic: &Diagnostic) -> String {
    shown_at(diagnostic, "")
}

fn shown_at(diagnostic: &Diagnostic, place: &str) -> String {
    let detail = match &diagnostic.detail {
        Some(detail) => format!(": {detail}"),
        None => String::new(),
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
    text
}
