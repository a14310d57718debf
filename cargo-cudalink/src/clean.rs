//! `cargo cudalink clean`: removes what this tool keeps in the target folder.

use std::fs;
use std::io;
use std::path::PathBuf;

use anyhow::{Context, Result};
use cargo_options::CommonOptions;
use clap::Args;

use crate::cargo::workspace::Workspace;
use crate::plan::{Folder, Purpose};
use crate::stand_in::cache;

/// Remove the results of device links that the target folder keeps
///
/// The programs and libraries go with them, so that the next build links them again. What else cargo keeps stays;
/// `cargo clean` removes everything. Builds that run in the target folder are waited for.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Path to Cargo.toml
    #[arg(long, value_name = "PATH")]
    manifest_path: Option<PathBuf>,
    /// Directory for all generated artifacts
    #[arg(long, value_name = "DIRECTORY")]
    target_dir: Option<PathBuf>,
}

/// Does what the command line asks for.
pub(crate) fn run(arguments: Arguments) -> Result<()> {
    let options = CommonOptions {
        target_dir: arguments.target_dir,
        ..CommonOptions::default()
    };
    let workspace = Workspace::load(arguments.manifest_path, &options)?;
    if !workspace.target.exists() {
        return Ok(());
    }
    let folder = Folder::of_target(&workspace.target);
    let _alone = folder.lock(Purpose::Remove)?;
    cache::remove_outputs(&folder, &workspace.build, &workspace.target)?;
    let Folder(folder) = folder;
    match fs::remove_dir_all(&folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        result => result.with_context(|| format!("cannot remove {}", folder.display())),
    }
}
