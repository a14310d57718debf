//! The `cargo cudalink` command.
#![forbid(unsafe_code)]

mod cargo;
mod clean;
mod cli;
mod compression;
mod doctor;
mod explain;
mod fatbinary;
mod inspect;
mod journal;
mod link;
mod nvcc_dlink;
mod plan;
mod platform;
mod script;
mod settings;
mod shell;
mod stand_in;
mod streams;
mod style;
mod toolkit;
mod triple;

use std::env;
use std::ffi::OsString;
use std::process::ExitCode;

use anyhow::Result;
use cudalink_memory::LargePages;

use crate::cli::{Cli, Command};

#[global_allocator]
static MEMORY: LargePages = LargePages;

fn main() -> ExitCode {
    rustnvlink::temporary::remove_on_signals();
    rustnvlink::output::outlive_size_limits();
    if let Some(code) = stand_in::play() {
        return code;
    }
    style::follow_cargo();
    let result = Cli::read(arguments(env::args_os())).and_then(|cli| match cli {
        Some(cli) => run(cli.command),
        None => Ok(ExitCode::SUCCESS),
    });
    match result {
        Ok(code) => code,
        Err(error) => {
            style::error(&error);
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> Result<ExitCode> {
    let done = |result: Result<()>| result.map(|()| ExitCode::SUCCESS);
    match command {
        Command::Build(arguments) => cargo::run(*arguments),
        Command::Run(arguments) => cargo::run(*arguments),
        Command::Test(arguments) => cargo::run(*arguments),
        Command::Bench(arguments) => cargo::run(*arguments),
        Command::Check(arguments) => cargo::run(*arguments),
        Command::Clippy(arguments) => cargo::run(*arguments),
        Command::Doc(arguments) => cargo::run(*arguments),
        Command::Install(arguments) => cargo::install(*arguments),
        Command::Rustc(arguments) => cargo::run(*arguments),
        Command::Exec(arguments) => cargo::exec::exec(*arguments),
        Command::Clean(arguments) => done(clean::run(arguments)),
        Command::Doctor(arguments) => doctor::run(arguments),
        Command::Explain(arguments) => done(explain::run(arguments)),
        Command::Fatbinary(arguments) => done(fatbinary::run(arguments)),
        Command::Inspect(arguments) => done(inspect::run(arguments)),
        Command::Link(arguments) => done(link::run(arguments)),
        Command::NvccDlink(arguments) => done(nvcc_dlink::run(arguments)),
        Command::Script(arguments) => done(script::run(arguments)),
        Command::Toolkit(arguments) => toolkit::run(arguments),
        Command::Completions(arguments) => done(shell::completions(arguments)),
        Command::Man(arguments) => done(shell::man(arguments)),
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
