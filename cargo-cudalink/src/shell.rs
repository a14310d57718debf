//! `cargo cudalink completions` and `cargo cudalink man`: what shells and manual readers want to know of the command
//! line, made from its definition.

use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::{Args, CommandFactory as _};
use clap_complete::Shell;

use crate::cli::Cli;
use crate::streams;

/// Print completions for a shell
#[derive(Debug, Args)]
pub(crate) struct CompletionsArguments {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

/// Write the manual pages into a folder
#[derive(Debug, Args)]
pub(crate) struct ManArguments {
    /// The folder, such as ~/.local/share/man/man1
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
}

/// Prints completions.
pub(crate) fn completions(arguments: CompletionsArguments) -> Result<()> {
    let mut command = Cli::command().bin_name("cargo-cudalink");
    let mut text = Vec::new();
    clap_complete::generate(arguments.shell, &mut command, "cargo-cudalink", &mut text);
    streams::print(&text)
}

/// Writes manual pages, one for each subcommand.
pub(crate) fn man(arguments: ManArguments) -> Result<()> {
    let folder = arguments.folder;
    std::fs::create_dir_all(&folder)
        .with_context(|| format!("cannot make the folder {}", folder.display()))?;
    clap_mangen::generate_to(Cli::command(), &folder)
        .with_context(|| format!("cannot write to {}", folder.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_a_manual_page() {
        let folder = tempfile::tempdir().unwrap();
        man(ManArguments {
            folder: folder.path().to_owned(),
        })
        .unwrap();
        for command in Cli::command().get_subcommands() {
            let page = folder
                .path()
                .join(format!("cargo-cudalink-{}.1", command.get_name()));
            let text = std::fs::read_to_string(&page).unwrap();
            assert!(text.contains(".SH NAME"), "{}", page.display());
        }
    }
}
