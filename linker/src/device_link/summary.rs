//! What there is to say of links for several processors.

use super::Message;
use crate::diagnostic::Severity;

/// What to show of messages: each once, in the order in which they came up first, with the processors it concerns.
pub fn summarize(messages: &[Message]) -> Vec<(Severity, String)> {
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
        summary.push((diagnostic.severity, diagnostic.shown_at(&place)));
    }
    summary
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::Diagnostic;

    #[test]
    fn each_message_is_shown_once() {
        let message = |sm: &str, text: &str| Message {
            sm: Some(sm.parse().unwrap()),
            diagnostic: Diagnostic::new(Severity::Warning, "missing-library", text)
                .with_detail("there is none"),
        };
        let messages = [
            message("sm_80", "no x"),
            message("sm_80", "no y for 'sm_80'"),
            message("sm_90", "no x"),
        ];
        let texts: Vec<String> = summarize(&messages).into_iter().map(|(_, t)| t).collect();
        assert_eq!(
            texts,
            [
                "no x: there is none (sm_80, sm_90) [missing-library]",
                "no y for 'sm_80': there is none [missing-library]",
            ]
        );
    }
}
