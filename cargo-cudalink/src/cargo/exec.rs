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
    exec.common.target.clone_from(&exec.target);
    exec.common.target_dir.clone_from(&exec.target_dir);
    super::run(arguments)
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
