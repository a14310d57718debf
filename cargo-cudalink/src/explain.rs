//! `cargo cudalink explain`: what the code of a message means.

use anyhow::{Result, anyhow};
use clap::Args;
use rustnvlink::{codes, explain};

use crate::doctor;
use crate::streams;
use crate::style;

/// Say what the code of a message means, and what to do; without a code, list all of them
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The code that stands in brackets behind a message, such as undefined-reference
    #[arg(value_name = "CODE")]
    code: Option<String>,
}

/// Does what the command line asks for.
pub(crate) fn run(arguments: Arguments) -> Result<()> {
    let text = match &arguments.code {
        Some(code) => explanation(code)?,
        None => list(style::width()),
    };
    streams::print(format!("{text}\n").as_bytes())
}

/// Every code, with what it means.
fn known() -> Vec<(&'static str, &'static str)> {
    let of_links = codes::ALL
        .iter()
        .map(|known| (known.as_str(), known.meaning()));
    let mut known: Vec<_> = of_links.chain(doctor::codes::MEANINGS).collect();
    known.sort();
    known
}

/// Every code.
pub(crate) fn codes() -> impl Iterator<Item = &'static str> {
    known().into_iter().map(|(code, _)| code)
}

/// Every code, with the first sentence of what it means: in lines of this width, or else in one line each.
fn list(width: Option<usize>) -> String {
    let known = known();
    let longest = known.iter().map(|(code, _)| code.len()).max().unwrap_or(0);
    let column = longest + 2;
    let lines = known.into_iter().map(|(code, meaning)| {
        let first = meaning.split_once(". ").map_or(meaning, |(first, _)| first);
        let mut line = format!("{code:column$}");
        let width = width.unwrap_or(usize::MAX);
        explain::wrap(first.trim_end_matches('.'), column, width, &mut line);
        line
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn explanation(code: &str) -> Result<String> {
    explain::explanation(code, &doctor::codes::MEANINGS).map_err(|problem| anyhow!(problem.shown()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_has_a_line_for_each_code() {
        let list = list(None);
        assert_eq!(
            list.lines().count(),
            codes::ALL.len() + doctor::codes::MEANINGS.len()
        );
        for code in ["never-linked", "undefined-reference"] {
            let line = list.lines().find(|line| line.starts_with(code));
            assert!(line.is_some_and(|line| explanation(code).is_ok() && line.len() > code.len()));
        }
    }

    #[test]
    fn the_list_fits_a_terminal() {
        let list = list(Some(80));
        assert!(list.lines().all(|line| line.len() <= 80));
        let words = |text: &str| {
            text.split_whitespace()
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        assert_eq!(words(&list), words(&super::list(None)));
    }

    #[test]
    fn codes_of_every_command_are_known() {
        let text = |code| explanation(code).unwrap();
        assert!(text("[undefined-reference]").contains("that no input defines"));
        assert!(text("never-linked").contains("waits for a device link"));
        for (typed, meant) in [
            ("undefined-refrence", "undefined-reference"),
            ("never-linkd", "never-linked"),
        ] {
            let error = explanation(typed).unwrap_err().to_string();
            let help = format!("did you mean '{meant}'?");
            assert!(error.contains(&help), "{error}");
        }
    }
}
