//! Shows device links: as lines in the manner of cargo, as a moving line while they last, or as JSON messages.
//!
//! Cargo draws its progress on the last line of a terminal and leaves the cursor at its beginning. A line of ours takes
//! its place, and cargo draws anew.

use std::io::{IsTerminal as _, Write as _};
use std::time::Duration;

use cargo_config2::{Color, TermConfig};
use cargo_options::CommonOptions;
use indicatif::{HumanBytes, ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde::Serialize;

use crate::journal::{Event, Level, Message, Report};
use crate::style::{self, ERROR, GOOD, NOTE, count};

/// What is shown, and where.
#[derive(Debug)]
pub(super) struct Reporter {
    json: bool,
    quiet: bool,
    verbose: bool,
    terminal: bool,
    bar: Option<ProgressBar>,
    /// Errors are shown last: what rustc and build scripts say about a failure is long.
    errors: Vec<Message>,
}

impl Reporter {
    /// Obeys cargo's own options, and what its configuration says of terminals where these say nothing.
    pub(super) fn new(options: &CommonOptions, config: &TermConfig) -> Self {
        let configured = config.color.map(Color::as_str);
        style::choose_colours(options.color.as_deref().or(configured));
        let is_verbose = options.verbose > 0;
        Self {
            json: options.message_format.iter().any(|f| f.starts_with("json")),
            quiet: options.quiet || (config.quiet == Some(true) && !is_verbose),
            verbose: is_verbose || (config.verbose == Some(true) && !options.quiet),
            terminal: std::io::stderr().is_terminal(),
            bar: None,
            errors: Vec::new(),
        }
    }

    /// Whether only errors are told.
    pub(super) fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// Whether the standard output is for programs.
    pub(super) fn writes_json(&self) -> bool {
        self.json
    }

    /// Shows what has happened.
    pub(super) fn show(&mut self, event: Event) {
        self.clear();
        if self.json
            && let Some(line) = Line::of(&event).and_then(|line| line.json())
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
                count(objects, "object"),
                HumanBytes(bytes)
            )),
            Event::Linked(report) if !self.quiet && (!report.fresh || self.verbose) => {
                self.line(&status_line(&report));
            }
            Event::Linked(_) | Event::Failed { .. } => {}
            Event::Message(message) => match message.level {
                Level::Info if self.verbose => self.line(&message_line(&message)),
                Level::Info => {}
                Level::Warning if !self.quiet => self.line(&message_line(&message)),
                Level::Warning => {}
                // Several packages may miss the same thing.
                Level::Error | Level::Help if self.errors.iter().any(|e| is_same(e, &message)) => {}
                Level::Error | Level::Help => self.errors.push(message),
            },
        }
    }

    /// Shows what has to come last. A build that has succeeded gets along without what was missing.
    pub(super) fn finish(mut self, has_succeeded: bool) {
        self.clear();
        if has_succeeded {
            return;
        }
        for message in &self.errors {
            self.line(&message_line(message));
        }
    }

    fn line(&self, line: &str) {
        anstream::eprintln!("{}", placed(line, self.terminal));
    }

    fn begin(&mut self, text: &str) {
        if !self.terminal || self.quiet {
            return;
        }
        // Nothing is drawn before all of it is known.
        let mut bar = ProgressBar::hidden();
        if let Ok(style) = ProgressStyle::with_template("{prefix} {msg} {spinner}") {
            bar = bar.with_style(style);
        }
        let bar = bar
            .with_prefix(style::shown(&status_word("DeviceLink")))
            .with_message(text.to_owned());
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

/// A line in the place of what cargo has drawn.
fn placed(line: &str, is_terminal: bool) -> String {
    match is_terminal {
        true => format!("\x1b[K{line}"),
        false => line.to_owned(),
    }
}

/// `error: app: ...`
fn message_line(message: &Message) -> String {
    let Message {
        image, level, text, ..
    } = message;
    let (style, word) = match level {
        Level::Info => (NOTE, "info"),
        Level::Warning => (NOTE, "warning"),
        Level::Error => (ERROR, "error"),
        Level::Help => (GOOD, "help"),
    };
    format!("{style}{word}{style:#}: {image}: {text}")
}

/// Whether two messages say the same, if perhaps of different packages.
fn is_same(one: &Message, other: &Message) -> bool {
    (one.level, &one.text) == (other.level, &other.text)
}

/// What a line begins with, where cargo has such words.
fn status_word(word: &str) -> String {
    format!("{GOOD}{word:>12}{GOOD:#}")
}

/// `  DeviceLink app (sm_90, sm_100) 3 kernels, 41.20 KiB`
fn status_line(report: &Report) -> String {
    let word = match report.fresh {
        true => "Fresh",
        false => "DeviceLink",
    };
    format!(
        "{} {} ({}) {}, {}",
        status_word(word),
        report.image,
        report.arch.join(", "),
        count(report.kernels, "kernel"),
        HumanBytes(report.bytes)
    )
}

/// Our messages in cargo's stream. `reason` tells them apart, and comes first, as in those of cargo: that is where people and
/// scripts that go by lines look for it.
#[derive(Debug, Serialize)]
#[serde(tag = "reason", rename_all = "kebab-case")]
enum Line<'a> {
    DeviceLink(&'a Report),
    DeviceLinkMessage(&'a Message),
}

impl<'a> Line<'a> {
    fn of(event: &'a Event) -> Option<Self> {
        match event {
            Event::Linked(report) => Some(Self::DeviceLink(report)),
            Event::Message(message) => Some(Self::DeviceLinkMessage(message)),
            Event::Started { .. } | Event::Failed { .. } => None,
        }
    }

    /// What cannot be written as JSON did not come through the journal either.
    fn json(&self) -> Option<String> {
        serde_json::to_string(self).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cargo_has_drawn_is_erased_on_terminals_alone() {
        assert_eq!(placed("line", true), "\x1b[Kline");
        assert_eq!(placed("line", false), "line");
    }

    #[test]
    fn options_come_before_the_configuration() {
        let config = |quiet, verbose| {
            let mut config = TermConfig::default();
            config.quiet = quiet;
            config.verbose = verbose;
            config
        };
        let check = |quiet, verbose, config: &TermConfig, expected: (bool, bool)| {
            let options = CommonOptions {
                quiet,
                verbose,
                ..CommonOptions::default()
            };
            let reporter = Reporter::new(&options, config);
            assert_eq!((reporter.quiet, reporter.verbose), expected);
        };
        check(false, 0, &config(None, None), (false, false));
        check(false, 0, &config(Some(true), None), (true, false));
        check(false, 1, &config(Some(true), None), (false, true));
        check(false, 0, &config(None, Some(true)), (false, true));
        check(true, 0, &config(Some(false), Some(true)), (true, false));
    }

    #[test]
    fn packages_that_miss_the_same_thing_are_told_once() {
        let message = |image: &str, text: &str| Message {
            image: image.to_owned(),
            level: Level::Error,
            code: None,
            text: text.to_owned(),
        };
        assert!(is_same(&message("a", "x"), &message("b", "x")));
        assert!(!is_same(&message("a", "x"), &message("a", "y")));
    }

    #[test]
    fn messages_for_programs_look_like_those_of_cargo() {
        let check = |event: &Event, expected: Option<&str>| {
            let line = Line::of(event).and_then(|line| line.json());
            assert_eq!(line.as_deref(), expected);
        };
        check(
            &Event::Linked(Report {
                image: "app".to_owned(),
                output: "target/debug/deps/app-1".into(),
                arch: vec!["sm_90".to_owned()],
                kernels: 3,
                bytes: 1 << 10,
                fresh: false,
            }),
            Some(
                r#"{"reason":"device-link","image":"app","output":"target/debug/deps/app-1","arch":["sm_90"],"kernels":3,"bytes":1024,"fresh":false}"#,
            ),
        );
        check(
            &Event::Message(Message {
                image: "app".to_owned(),
                level: Level::Warning,
                code: Some("partial-lto".to_owned()),
                text: "some text".to_owned(),
            }),
            Some(
                r#"{"reason":"device-link-message","image":"app","level":"warning","code":"partial-lto","message":"some text"}"#,
            ),
        );
        let image = "app".to_owned();
        check(&Event::Failed { image }, None);
    }

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
