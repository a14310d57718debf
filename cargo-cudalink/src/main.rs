//! The `cargo cudalink` command.
#![forbid(unsafe_code)]

mod cli;
mod inspect;
mod link;
mod script;
mod style;
mod toolkit;

use std::env;
use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser;

use crate::cli::{Cli, Command};

fn main() -> ExitCode {
    let cli = Cli::parse_from(arguments(env::args_os()));
    let result = match cli.command {
        Command::Inspect(arguments) => inspect::run(arguments),
        Command::Link(arguments) => link::run(arguments),
        Command::Script(arguments) => script::run(arguments),
        Command::Toolkit(arguments) => toolkit::run(arguments),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            style::error(&error);
            ExitCode::FAILURE
        }
    }
}

/// Cargo runs `cargo-cudalink cudalink ...` for `cargo cudalink ...`; by hand the second word is left out.
fn arguments(all: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut all: Vec<OsString> = all.collect();
    if all.get(1).is_some_and(|word| word == "cudalink") {
        all.remove(1);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(given: &[&str], expected: &[&str]) {
        assert_eq!(arguments(given.iter().map(OsString::from)), expected);
    }

    #[test]
    fn the_word_that_cargo_adds_is_dropped_once() {
        check(
            &["cargo-cudalink", "cudalink", "toolkit", "path"],
            &["cargo-cudalink", "toolkit", "path"],
        );
        check(
            &["cargo-cudalink", "toolkit", "path"],
            &["cargo-cudalink", "toolkit", "path"],
        );
        check(
            &["cargo-cudalink", "cudalink", "cudalink"],
            &["cargo-cudalink", "cudalink"],
        );
        check(&["cargo-cudalink"], &["cargo-cudalink"]);
    }
}
