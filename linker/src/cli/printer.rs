//! Prints messages, in one of several shapes.

use serde::Serialize;

use std::io::{self, Write as _};

use crate::codes;
use crate::diagnostic::{Diagnostic, Filter, Severity};
use crate::raw_text;

/// The shape of messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Format {
    /// nvlink's, with codes and what else helps.
    #[default]
    Own,
    /// nvlink's to the letter.
    Nvlink,
    /// One JSON object on each line.
    Json,
}

/// Prints messages.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Printer {
    /// Which of them.
    pub(super) filter: Filter,
    /// Every message names this target.
    pub(super) report: Option<String>,
    /// Their shape.
    pub(super) format: Format,
}

/// A message for programs; docs/messages.md describes it.
#[derive(Serialize)]
struct Record<'a> {
    severity: &'static str,
    code: &'static str,
    message: &'a str,
    detail: Option<&'a str>,
    notes: &'a [String],
    symbol: Option<&'a str>,
    input: Option<&'a str>,
    target: Option<&'a str>,
}

impl Printer {
    /// Prints a message if it is wanted, and says whether it is an error.
    pub(super) fn print(&self, message: Diagnostic) -> bool {
        let Some(message) = self.filter.wanted(message) else {
            return false;
        };
        let times = match self.format {
            Format::Nvlink => message.times,
            Format::Own | Format::Json => 1,
        };
        for _ in 0..times {
            let mut shown = self.shown(&message);
            shown.push('\n');
            // A reader that has closed the pipe does not make the link fail.
            let _ = match self.format {
                Format::Nvlink => io::stderr().write_all(&raw_text::bytes(&shown)),
                Format::Own => io::stderr().write_all(raw_text::visible(&shown).as_bytes()),
                Format::Json => io::stderr().write_all(raw_text::readable(&shown).as_bytes()),
            };
        }
        message.severity >= Severity::Error
    }

    /// The lines of a message.
    fn shown(&self, message: &Diagnostic) -> String {
        match self.format {
            Format::Json => self.json(message),
            // For nvlink these are messages of its own.
            Format::Nvlink if message.code == codes::PTXAS_OUTPUT => {
                message.line() + &self.target()
            }
            Format::Own | Format::Nvlink if message.severity == Severity::Text => message.line(),
            Format::Nvlink => message.line() + &self.target(),
            Format::Own if message.code == codes::RESOURCE_USAGE => {
                message.line() + &message.joined_detail() + &self.target()
            }
            Format::Own => {
                let detail = message.joined_detail();
                let mut text = format!("{message}{}{detail} [{}]", self.target(), message.code);
                for note in &message.notes {
                    text.push_str("\n    ");
                    text.push_str(note);
                }
                text
            }
        }
    }

    fn target(&self) -> String {
        match &self.report {
            Some(target) => format!(" (target: {target})"),
            None => String::new(),
        }
    }

    fn json(&self, message: &Diagnostic) -> String {
        let record = Record {
            severity: match message.severity {
                Severity::Text => "text",
                Severity::Info => "info",
                Severity::Warning => "warning",
                Severity::Error => "error",
                Severity::Fatal => "fatal",
            },
            code: message.code.as_str(),
            message: &message.text,
            detail: message.detail.as_deref(),
            notes: &message.notes,
            symbol: message.symbol(),
            input: message.input(),
            target: self.report.as_deref(),
        };
        serde_json::to_string(&record).expect("texts have a JSON form")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(format: Format, expected: &str) {
        let printer = Printer {
            format,
            report: Some("sm_90".to_owned()),
            ..Printer::default()
        };
        let message = Diagnostic::new(
            Severity::Warning,
            codes::IGNORED_INPUT,
            "'a \"b\"' is ignored",
        )
        .with_detail("it is empty")
        .with_note("help: leave it out");
        assert_eq!(printer.shown(&message), expected);
    }

    #[test]
    fn shapes_of_messages() {
        check(
            Format::Own,
            "nvlink warning : 'a \"b\"' is ignored (target: sm_90): it is empty [ignored-input]\n    \
             help: leave it out",
        );
        check(
            Format::Nvlink,
            "nvlink warning : 'a \"b\"' is ignored (target: sm_90)",
        );
        check(
            Format::Json,
            r#"{"severity":"warning","code":"ignored-input","message":"'a \"b\"' is ignored","detail":"it is empty","notes":["help: leave it out"],"symbol":null,"input":null,"target":"sm_90"}"#,
        );
    }

    #[test]
    fn figures_stand_alone() {
        let figures = Diagnostic::new(Severity::Info, codes::RESOURCE_USAGE, "32 bytes gmem");
        let expected = "nvlink info    : 32 bytes gmem";
        assert_eq!(Printer::default().shown(&figures), expected);
        assert_eq!(figures.shown(), "32 bytes gmem");
        let heading = Diagnostic::new(
            Severity::Info,
            codes::RESOURCE_USAGE,
            "Function properties for '_Z1fv':",
        );
        let heading = heading.of_symbol("_Z1fv").with_detail("f()");
        let line = "nvlink info    : Function properties for '_Z1fv':";
        assert_eq!(Printer::default().shown(&heading), format!("{line} f()"));
        let nvlink = Printer {
            format: Format::Nvlink,
            ..Printer::default()
        };
        assert_eq!(nvlink.shown(&heading), line);
    }
}
