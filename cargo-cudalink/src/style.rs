//! How output looks. Colours vanish where there is no terminal.

use std::env;
use std::io::{self, StdoutLock};

use anstream::adapter::strip_str;
use anstream::stream::IsTerminal as _;
use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};
use clap::ValueEnum;
use clap::builder::Styles;
use rustnvlink::error::without_number;
pub(crate) use rustnvlink::output::visible;
use terminal_size::Width;

pub(crate) const ERROR: Style = AnsiColor::BrightRed.on_default().bold();
pub(crate) const NOTE: Style = AnsiColor::BrightYellow.on_default().bold();
pub(crate) const GOOD: Style = AnsiColor::BrightGreen.on_default().bold();
pub(crate) const QUIET: Style = Style::new().dimmed();

/// How a report is written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people
    #[default]
    Text,
    /// One JSON document, for programs
    Json,
}

/// Help in cargo's colours.
pub(crate) const HELP: Styles = Styles::styled()
    .header(AnsiColor::BrightGreen.on_default().bold())
    .usage(AnsiColor::BrightGreen.on_default().bold())
    .literal(AnsiColor::BrightCyan.on_default().bold())
    .placeholder(AnsiColor::Cyan.on_default());

/// Lets cargo's variable decide about colours, as it does for the commands of cargo itself.
pub(crate) fn follow_cargo() {
    choose_colours(env::var("CARGO_TERM_COLOR").ok().as_deref());
}

/// Obeys a choice of colours in cargo's words, if there is one.
pub(crate) fn choose_colours(choice: Option<&str>) {
    match choice {
        Some("always") => ColorChoice::Always.write_global(),
        Some("never") => ColorChoice::Never.write_global(),
        _ => {}
    }
}

/// A text as the error stream shows it: others that write there know nothing of the choice of colours.
pub(crate) fn shown(text: &str) -> String {
    shown_by(AutoStream::choice(&io::stderr()), text)
}

fn shown_by(choice: ColorChoice, text: &str) -> String {
    match choice {
        ColorChoice::Never => strip_str(text).to_string(),
        ColorChoice::Auto | ColorChoice::AlwaysAnsi | ColorChoice::Always => text.to_owned(),
    }
}

/// The standard output, for reports. Where cargo's variable asks for colours always, files and other programs get none
/// all the same.
pub(crate) fn stdout() -> AutoStream<StdoutLock<'static>> {
    let out = io::stdout().lock();
    match ColorChoice::global() {
        ColorChoice::Always if !out.is_terminal() => AutoStream::never(out),
        _ => AutoStream::auto(out),
    }
}

/// A number and what it counts.
pub(crate) fn count(number: usize, what: &str) -> String {
    let end = if number == 1 { "" } else { "s" };
    format!("{number} {what}{end}")
}

/// The least width that text is broken for.
const NARROWEST: usize = 60;

/// The width of the standard output, if it is a terminal.
pub(crate) fn width() -> Option<usize> {
    let (Width(width), _) = terminal_size::terminal_size_of(io::stdout())?;
    Some(usize::from(width).max(NARROWEST))
}

/// Shows why the command failed, with its causes.
pub(crate) fn error(error: &anyhow::Error) {
    anstream::eprintln!("{ERROR}error{ERROR:#}: {}", reason(error));
}

/// Why something failed, with its causes.
pub(crate) fn reason(error: &anyhow::Error) -> String {
    visible(&without_number(format!("{error:#}")))
}

/// Tells what the user may want to know although the command succeeds.
pub(crate) fn note(text: &str) {
    anstream::eprintln!("{NOTE}note{NOTE:#}: {text}");
}

/// Advises what to do.
pub(crate) fn help(text: &str) {
    anstream::eprintln!("{GOOD}help{GOOD:#}: {text}");
}

/// Shows what may not be what was meant.
pub(crate) fn warning(text: &str) {
    anstream::eprintln!("{NOTE}warning{NOTE:#}: {text}");
}

/// Tells what is being done, in the manner of cargo.
pub(crate) fn status(word: &str, text: &str) {
    anstream::eprintln!("{GOOD}{word:>12}{GOOD:#} {text}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_wants_no_colours_gets_none() {
        let text = format!("{GOOD}word{GOOD:#} more");
        assert_eq!(shown_by(ColorChoice::Never, &text), "word more");
        assert_eq!(shown_by(ColorChoice::Always, &text), text);
    }
}
