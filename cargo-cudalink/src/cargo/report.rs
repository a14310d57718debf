//! Shows device links: as lines in the manner of cargo, as a moving line while they last, or as JSON messages.

use std::io::{IsTerminal as _, Write as _};
use std::time::Duration;

use cargo_options::CommonOptions;
use indicatif::{HumanBytes, ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::{Value, json};

use crate::journal::{Event, Level, Message, Report};
use crate::style::{ERROR, GOOD, NOTE};

/// What is shown, and where.
#[derive(Debug)]
pub(super) struct Reporter {
    json: bool,
    quiet: bool,
    verbose: bool,
    terminal: bool,
    bar: Option<ProgressBar>,
    /// Errors are shown last: what rustc says about a failed link is long.
    errors: Vec<Message>,
}

impl Reporter {
    /// Obeys cargo's own options.
    pub(super) fn new(options: &CommonOptions) -> Self {
        match options.color.as_deref() {
            Some("always") => anstream::ColorChoice::Always.write_global(),
            Some("never") => anstream::ColorChoice::Never.write_global(),
            _ => {}
        }
        Self {
            json: options.message_format.iter().any(|f| f.starts_with("json")),
            quiet: options.quiet,
            verbose: options.verbose > 0,
            terminal: std::io::stderr().is_terminal(),
            bar: None,
            errors: Vec::new(),
        }
    }

    /// Whether the standard output is for programs.
    pub(super) fn writes_json(&self) -> bool {
        self.json
    }

    /// Shows what has happened.
    pub(super) fn show(&mut self, event: Event) {
        self.clear();
        if self.json
            && let Some(line) = json_line(&event)
        {
            let mut output = std::io::stdout().lock();
            // Who no longer reads need not be told.
            drop(writeln!(output, "{line}").and_then(|()| output.flush()));
        }
        match event {
            Event::Started {
                image,
                objects,
                bytes,
            } => self.begin(&format!(
                "{image}: {} ({})",
                counted(objects, "object"),
                HumanBytes(bytes)
            )),
            Event::Linked(report) if !self.quiet && (!report.fresh || self.verbose) => {
                anstream::eprintln!("{}", status_line(&report));
            }
            Event::Linked(_) | Event::Failed { .. } => {}
            Event::Message(message) => match message.level {
                Level::Info if self.verbose => print(&message),
                Level::Info => {}
                Level::Warning if !self.quiet => print(&message),
                Level::Warning => {}
                Level::Error | Level::Help => self.errors.push(message),
            },
        }
    }

    /// Shows what has to come last.
    pub(super) fn finish(mut self) {
        self.clear();
        for message in &self.errors {
            print(message);
        }
    }

    fn begin(&mut self, text: &str) {
        if !self.terminal || self.quiet {
            return;
        }
        // Nothing is drawn before all of it is known.
        let mut bar = ProgressBar::hidden();
        if let Ok(style) = ProgressStyle::with_template("{prefix:>12.green.bold} {msg} {spinner}") {
            bar = bar.with_style(style);
        }
        let bar = bar.with_prefix("DeviceLink").with_message(text.to_owned());
        bar.set_draw_target(ProgressDrawTarget::stderr());
        bar.enable_steady_tick(Duration::from_millis(100));
        self.bar = Some(bar);
    }

    fn clear(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}

fn print(message: &Message) {
    let Message { image, level, text } = message;
    let (style, word) = match level {
        Level::Info => (NOTE, "info"),
        Level::Warning => (NOTE, "warning"),
        Level::Error => (ERROR, "error"),
        Level::Help => (GOOD, "help"),
    };
    anstream::eprintln!("{style}{word}{style:#}: {image}: {text}");
}

/// `  DeviceLink app (sm_90, sm_100) 3 kernels, 41.20 KiB`
fn status_line(report: &Report) -> String {
    let word = match report.fresh {
        true => "Fresh",
        false => "DeviceLink",
    };
    format!(
        "{GOOD}{word:>12}{GOOD:#} {} ({}) {}, {}",
        report.image,
        report.arch.join(", "),
        counted(report.kernels, "kernel"),
        HumanBytes(report.bytes)
    )
}

fn counted(count: usize, what: &str) -> String {
    match count {
        1 => format!("1 {what}"),
        _ => format!("{count} {what}s"),
    }
}

/// Our messages in cargo's stream; `reason` tells them apart.
fn json_line(event: &Event) -> Option<Value> {
    match event {
        Event::Linked(report) => Some(json!({
            "reason": "device-link",
            "image": report.image,
            "output": report.output,
            "arch": report.arch,
            "kernels": report.kernels,
            "bytes": report.bytes,
            "fresh": report.fresh,
        })),
        Event::Message(message) => Some(json!({
            "reason": "device-link-message",
            "image": message.image,
            "level": message.level,
            "message": message.text,
        })),
        Event::Started { .. } | Event::Failed { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_look_like_those_of_cargo() {
        let mut report = Report {
            image: "app".to_owned(),
            output: "target/debug/deps/app-1".into(),
            arch: vec!["sm_90".to_owned(), "sm_100".to_owned()],
            kernels: 3,
            bytes: 41 << 10,
            fresh: false,
        };
        let check = |report: &Report, expected: &str| {
            let line = anstream::adapter::strip_str(&status_line(report)).to_string();
            assert_eq!(line, expected);
        };
        check(
            &report,
            "  DeviceLink app (sm_90, sm_100) 3 kernels, 41.00 KiB",
        );
        report.fresh = true;
        report.kernels = 1;
        check(
            &report,
            "       Fresh app (sm_90, sm_100) 1 kernel, 41.00 KiB",
        );
    }
}
