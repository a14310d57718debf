//! `cargo cudalink exec`: programs that run cargo by themselves.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use anyhow::Result;
use cargo_options::CommonOptions;
use clap::Args;

use super::surroundings::Variable;
use super::{CargoCommand, StandIn, WithDevice, configuration};
use crate::style;
use crate::triple::is_linux;

/// A program that runs cargo, such as `cargo nextest run`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cargo cudalink exec cargo nextest run
  cargo cudalink exec --arch sm_90 cargo llvm-cov")]
pub(crate) struct Exec {
    /// Path to the Cargo.toml of the workspace that the program builds
    #[arg(long, value_name = "PATH")]
    manifest_path: Option<PathBuf>,
    /// Directory for all generated artifacts
    #[arg(long, value_name = "DIRECTORY")]
    target_dir: Option<PathBuf>,
    /// Build for the target triple
    #[arg(long, value_name = "TRIPLE", action = clap::ArgAction::Append)]
    target: Vec<String>,
    /// The program and its arguments
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "PROGRAM"
    )]
    program: Vec<OsString>,
    #[arg(skip)]
    common: CommonOptions,
}

/// Runs the program.
pub(crate) fn exec(mut arguments: WithDevice<Exec>) -> Result<ExitCode> {
    let exec = &mut arguments.cargo;
    exec.common.target = match exec.target.as_slice() {
        [] => targets_of(&exec.program),
        targets => targets.to_vec(),
    };
    if exec.manifest_path.is_none() {
        exec.manifest_path = values(&exec.program, "--manifest-path")
            .pop()
            .map(PathBuf::from);
    }
    exec.common.target_dir.clone_from(&exec.target_dir);
    super::run(arguments)
}

/// The targets that cargo gets from the program, as far as its arguments name them.
fn targets_of(program: &[OsString]) -> Vec<String> {
    let named = values(program, "--target").into_iter();
    let named = named.filter_map(|word| word.to_str().map(str::to_owned));
    // Other programs have an option of this name, too, for folders and the like.
    named
        .filter(|word| is_linux(word) && !word.contains(['/', '.']))
        .collect()
}

/// The values of an option in a command line of cargo, or of a program that takes the options of cargo.
fn values(program: &[OsString], option: &str) -> Vec<OsString> {
    let mut values = Vec::new();
    let mut words = program.iter().take_while(|word| *word != "--");
    while let Some(word) = words.next() {
        let text = word.to_str().and_then(|word| word.strip_prefix(option));
        match text.map(|rest| (rest, rest.strip_prefix('='))) {
            Some((_, Some(value))) => values.push(value.into()),
            Some(("", None)) => values.extend(words.next().cloned()),
            Some(_) | None => {}
        }
    }
    values
}

impl CargoCommand for Exec {
    fn common(&mut self) -> &mut CommonOptions {
        &mut self.common
    }

    fn manifest_path(&self) -> Option<PathBuf> {
        self.manifest_path.clone()
    }

    fn rustc_arguments(&mut self) -> Option<&mut Vec<String>> {
        None
    }

    /// The program hands variables on to cargo.
    fn use_linkers(&mut self, stand_ins: Vec<StandIn>) -> Result<Vec<Variable>> {
        let linkers = stand_ins.into_iter().map(|StandIn { triple, path }| {
            Variable::new(configuration::linker_variable(&triple), path)
        });
        let mut variables: Vec<Variable> = linkers.collect();
        if let Some(folder) = &self.target_dir {
            variables.push(Variable::new(
                "CARGO_TARGET_DIR",
                std::path::absolute(folder)?,
            ));
        }
        if let [target] = self.target.as_slice() {
            variables.push(Variable::new("CARGO_BUILD_TARGET", target));
        }
        Ok(variables)
    }

    /// No variable tells cargo so.
    fn yield_to(&mut self, variables: Vec<&str>) {
        for name in variables {
            style::warning(&format!(
                "cargo's configuration forces {name}, so that build scripts get that and not what stands in for it; leave out \
                 `force` in [env]"
            ));
        }
    }

    fn command(&self) -> Command {
        let mut words = self.program.iter();
        let mut command = Command::new(words.next().map_or(OsStr::new(""), OsString::as_os_str));
        command.args(words);
        command
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<OsString> {
        text.split(' ').map(OsString::from).collect()
    }

    #[test]
    fn targets_are_those_that_the_program_names() {
        let check = |text: &str, expected: &[&str]| {
            assert_eq!(targets_of(&words(text)), expected, "{text}");
        };
        let gnu = "aarch64-unknown-linux-gnu";
        check("cargo nextest run", &[]);
        check(&format!("cargo build --target {gnu} -r"), &[gnu]);
        check(
            &format!("cargo build --target={gnu} --target x-unknown-linux-musl"),
            &[gnu, "x-unknown-linux-musl"],
        );
        check("cargo build --target", &[]);
        check("cargo build --target wasm32-unknown-unknown", &[]);
        check(&format!("cargo run -- --target {gnu}"), &[]);
        check("pip install --target ../for-linux-here .", &[]);
        check(&format!("cargo zigbuild --target {gnu}.2.17"), &[]);
        check(&format!("cargo build --target-dir {gnu}"), &[]);
    }

    #[test]
    fn the_workspace_is_the_one_that_the_program_names() {
        let program = words("cargo test --manifest-path a/Cargo.toml -- --manifest-path=b");
        assert_eq!(values(&program, "--manifest-path"), ["a/Cargo.toml"]);
    }
}
