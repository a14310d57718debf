//! `cargo cudalink toolkit`: installs, names and lists CUDA toolkits.
//!
//! What a script reads goes to the output stream; everything else goes to the error stream.

mod list;
mod progress;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Once;

use anyhow::Result;
use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};
use cudalink_toolkit::{
    DEFAULT_VERSION, Environment, Installer, LIBRARIES, Library, Search, Toolkit, Version,
};

use crate::cargo::{command_with_configuration, workspace};
use crate::platform;
use crate::streams;
use crate::style::{self, Format};
use crate::toolkit::progress::Progress;

/// Install a CUDA toolkit without root, or show which one is used
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Install a toolkit into your cache folder and print its root
    ///
    /// The packages come from the index that your pip is configured for. Nothing outside of the cache folder is
    /// touched; set RUSTNVLINK_CACHE to install elsewhere.
    #[command(after_help = "\
Examples:
  cargo cudalink toolkit install
  cargo cudalink toolkit install 13.5.37 --with cublas,curand")]
    Install {
        /// The version of nvcc, such as 13.0.88
        #[arg(value_name = "VERSION", value_parser = version, default_value_t = DEFAULT_VERSION)]
        version: Version,
        /// The same as an option
        #[arg(long = "version", value_name = "VERSION", value_parser = version, conflicts_with = "version", hide = true)]
        option: Option<Version>,
        /// Libraries to add, with those that they need; a toolkit that is there gets what it lacks
        ///
        /// Headers and shared libraries of the release that belongs to the toolkit; cudnn and nccl have releases of their
        /// own, of which the newest is taken. Static libraries come with NVIDIA's own installers alone.
        #[arg(
            long,
            value_name = "LIBRARY,..",
            value_delimiter = ',',
            value_parser = library_parser(),
            ignore_case = true,
        )]
        with: Vec<String>,
        /// Install again even if the toolkit is there
        #[arg(long)]
        force: bool,
    },
    /// Print the root of the toolkit that is used, and nothing else
    Path {
        #[command(flatten)]
        choice: Choice,
    },
    /// List all toolkits of this machine with their libraries; the one that is used comes first
    List {
        #[command(flatten)]
        choice: Choice,
        /// How to write the list
        #[arg(long, value_enum, default_value_t)]
        format: Format,
    },
}

/// What builds take for a choice, too.
#[derive(Debug, Args)]
struct Choice {
    /// The toolkit that is used: its folder, or its version, such as 13.0; without it, what manifests choose, or the first one
    #[arg(
        long,
        env = "CUDALINK_TOOLKIT",
        value_name = "FOLDER|VERSION",
        hide_env_values = true
    )]
    toolkit: Option<PathBuf>,
}

impl Choice {
    /// The one of the command line or of the variable, else that of the manifests around the current folder.
    fn or_of_manifests(self, environment: &Environment) -> Self {
        let of_manifests = || match workspace::chosen_toolkit(&environment.current_dir) {
            Ok(toolkit) => toolkit,
            Err(error) => {
                style::warning(&format!("what manifests choose is not known: {error:#}"));
                None
            }
        };
        Self {
            toolkit: self.toolkit.or_else(of_manifests),
        }
    }
}

/// Does what the command line asks for. What cargo's configuration and manifests choose counts as it does in builds.
pub(crate) fn run(arguments: Arguments) -> Result<ExitCode> {
    if let Some(command) = command_with_configuration()? {
        return platform::replace_by(command);
    }
    let environment = Environment::from_process()?;
    match arguments.action {
        Action::Install {
            version,
            option,
            with,
            force,
        } => install(&environment, option.unwrap_or(version), &with, force),
        Action::Path { choice } => path(&choice.or_of_manifests(&environment)),
        Action::List { choice, format } => {
            let choice = choice.or_of_manifests(&environment);
            list::run(&environment, &choice, format)
        }
    }?;
    Ok(ExitCode::SUCCESS)
}

/// A version of nvcc, or the first numbers of the one that is installed without a choice.
fn version(text: &str) -> Result<Version, String> {
    let default = DEFAULT_VERSION.to_string();
    let is_default = default
        .strip_prefix(text)
        .is_some_and(|rest| rest.starts_with('.'));
    match text.parse() {
        Ok(version) => Ok(version),
        Err(_) if is_default => Ok(DEFAULT_VERSION),
        Err(_) => Err(format!(
            "versions of nvcc have three numbers, such as {default}; `pip index versions nvidia-cuda-nvcc` lists them"
        )),
    }
}

/// Names of libraries.
fn library_parser() -> PossibleValuesParser {
    PossibleValuesParser::new(LIBRARIES.iter().map(|library| library.name))
}

fn install(
    environment: &Environment,
    version: Version,
    with: &[String],
    force: bool,
) -> Result<()> {
    let mut progress = Progress::new();
    let libraries: Vec<_> = with
        .iter()
        .filter_map(|name| Library::named(&name.to_lowercase()))
        .collect();
    let toolkit = Installer::new(environment)
        .version(version)
        .libraries(&libraries)
        .force(force)
        .install(&mut |event| progress.show(event))?;
    print_root(&toolkit)
}

fn path(choice: &Choice) -> Result<()> {
    let toolkit = find(choice.toolkit.as_deref())?;
    note_ignored_variables(&toolkit);
    print_root(&toolkit)
}

fn print_root(toolkit: &Toolkit) -> Result<()> {
    streams::print(format!("{}\n", toolkit.root().display()).as_bytes())
}

/// The toolkit that was chosen, here or by the variable, or the first one.
pub(crate) fn find(choice: Option<&Path>) -> Result<Toolkit> {
    let environment = Environment::from_process()?;
    let search = Search::new(&environment);
    Ok(match choice {
        Some(choice) => search.chosen(choice),
        None => search.wanted(),
    }?)
}

/// The toolkit that builds in the current folder use.
pub(crate) fn of_current_folder(environment: &Environment) -> Result<Toolkit> {
    let toolkit = environment.choice.clone();
    let choice = Choice { toolkit }.or_of_manifests(environment);
    find(choice.toolkit.as_deref())
}

/// A toolkit that the variable chooses has to be there: a choice is meant to be followed.
pub(crate) fn check_choice() -> Result<()> {
    match Environment::from_process()?.choice {
        Some(choice) => find(Some(&choice)).map(drop),
        None => Ok(()),
    }
}

/// The toolkit that is used, with a word, once, on variables that name none.
pub(crate) fn noted() -> Result<Toolkit> {
    static NOTED: Once = Once::new();
    let toolkit = find(None)?;
    NOTED.call_once(|| note_ignored_variables(&toolkit));
    Ok(toolkit)
}

/// A variable that the user has set and that leads nowhere is worth a word.
pub(crate) fn note_ignored_variables(toolkit: &Toolkit) {
    for ignored in toolkit.ignored_variables() {
        style::warning(&ignored);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_numbers_are_enough_for_the_default() {
        for text in ["13", "13.0", "13.0.88"] {
            assert_eq!(version(text), Ok(DEFAULT_VERSION), "{text}");
        }
        assert_eq!(version("13.5.37"), Ok(Version::new(13, 5, 37)));
        for text in ["13.5", "1", "13.", "13.x", ""] {
            let error = version(text).unwrap_err();
            assert!(error.contains("three numbers, such as 13.0.88"), "{error}");
        }
    }
}
