//! `cargo cudalink clean`: removes what this tool keeps in the target folder.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};
use cargo_options::CommonOptions;
use clap::Args;
use indicatif::HumanBytes;

use crate::cargo::workspace::Workspace;
use crate::plan::{Folder, Purpose};
use crate::stand_in::cache;
use crate::style::status;

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
    /// Do not say what was removed
    #[arg(long, short)]
    quiet: bool,
}

/// What was removed.
#[derive(Debug, Default)]
pub(crate) struct Removed {
    files: u64,
    bytes: u64,
}

impl Removed {
    /// Removes a file, if it is there.
    pub(crate) fn file(&mut self, path: &Path) -> Result<()> {
        let remove = || -> io::Result<u64> {
            let size = fs::symlink_metadata(path)?.len();
            fs::remove_file(path).map(|()| size)
        };
        match remove() {
            Ok(size) => {
                self.files += 1;
                self.bytes += size;
                Ok(())
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(anyhow!(error).context(format!("cannot remove {}", path.display()))),
        }
    }

    /// Removes a folder with all that is in it, if it is there.
    fn folder(&mut self, path: &Path) -> Result<()> {
        let entries = match fs::read_dir(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            entries => entries.with_context(|| format!("cannot read {}", path.display()))?,
        };
        for entry in entries.flatten() {
            match entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                true => self.folder(&entry.path())?,
                false => self.file(&entry.path())?,
            }
        }
        fs::remove_dir(path).with_context(|| format!("cannot remove {}", path.display()))
    }

    /// In cargo's words.
    fn shown(&self) -> String {
        match self.files {
            0 => "0 files".to_owned(),
            1 => format!("1 file, {}", HumanBytes(self.bytes)),
            files => format!("{files} files, {} total", HumanBytes(self.bytes)),
        }
    }
}

/// Does what the command line asks for.
pub(crate) fn run(arguments: Arguments) -> Result<()> {
    let options = CommonOptions {
        target_dir: arguments.target_dir,
        ..CommonOptions::default()
    };
    let workspace = Workspace::load(arguments.manifest_path, &options)?;
    let mut removed = Removed::default();
    if workspace.target.exists() {
        let folder = Folder::of_target(&workspace.target);
        let _alone = folder.lock(Purpose::Remove)?;
        cache::remove_outputs(&workspace.build, &workspace.target, &mut removed)?;
        removed.folder(&folder.0)?;
    }
    if !arguments.quiet {
        status("Removed", &removed.shown());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_removed_is_counted() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let mut removed = Removed::default();
        assert_eq!(removed.shown(), "0 files");
        removed.file(&path("missing")).unwrap();
        fs::create_dir_all(path("one/two")).unwrap();
        fs::write(path("one/file"), [0; 1000]).unwrap();
        removed.file(&path("one/file")).unwrap();
        assert_eq!(removed.shown(), "1 file, 1000 B");
        fs::write(path("one/two/file"), [0; 1048]).unwrap();
        removed.folder(&path("one")).unwrap();
        assert_eq!(removed.shown(), "2 files, 2.00 KiB total");
        assert!(!path("one").exists());
    }
}
