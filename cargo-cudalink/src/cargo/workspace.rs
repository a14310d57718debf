//! The workspace that cargo works in, and what its manifests choose.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};
use cargo_metadata::{Metadata, MetadataCommand};
use cargo_options::CommonOptions;
use serde_json::Value;
use tempfile::TempDir;

use crate::settings::Settings;

/// The key in manifests: `[package.metadata.cudalink]`, `[workspace.metadata.cudalink]`.
const KEY: &str = "cudalink";

/// A workspace.
#[derive(Debug)]
pub(crate) struct Workspace {
    /// Where cargo puts what it makes.
    pub(crate) target: PathBuf,
    /// Where cargo makes it.
    pub(crate) build: PathBuf,
    /// What cargo knows of it, unless it lies elsewhere.
    metadata: Option<Metadata>,
    /// The target folder of one that lies elsewhere.
    _temporary: Option<TempDir>,
}

impl Workspace {
    /// Asks cargo.
    pub(crate) fn load(manifest: Option<PathBuf>, options: &CommonOptions) -> Result<Self> {
        let mut command = MetadataCommand::new();
        if let Some(manifest) = manifest {
            command.manifest_path(manifest);
        }
        let mut others: Vec<String> = [
            (options.frozen, "--frozen"),
            (options.locked, "--locked"),
            (options.offline, "--offline"),
        ]
        .into_iter()
        .filter(|(given, _)| *given)
        .map(|(_, option)| option.to_owned())
        .collect();
        for setting in &options.config {
            others.extend(["--config".to_owned(), setting.clone()]);
        }
        let metadata = command.no_deps().other_options(others).exec();
        let metadata = metadata.map_err(|error| match error {
            // What cargo says needs no explanation.
            cargo_metadata::Error::CargoMetadata { stderr } => {
                let told = stderr.trim();
                anyhow!(
                    "{}",
                    told.strip_prefix("error: ").unwrap_or(told).to_owned()
                )
            }
            error => error.into(),
        })?;
        let usual = metadata.target_directory.as_std_path();
        let target = given_target(options)?.unwrap_or_else(|| usual.to_owned());
        let build = metadata
            .build_directory
            .as_ref()
            .map(|folder| folder.as_std_path())
            .filter(|folder| *folder != usual)
            .unwrap_or(&target)
            .to_owned();
        Ok(Self {
            target,
            build,
            metadata: Some(metadata),
            _temporary: None,
        })
    }

    /// One that cargo has to fetch. Unless it is told where to build it, nothing is kept.
    pub(crate) fn elsewhere(options: &CommonOptions) -> Result<Self> {
        let (target, temporary) = match given_target(options)? {
            Some(folder) => (folder, None),
            None => {
                let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
                (folder.path().to_owned(), Some(folder))
            }
        };
        Ok(Self {
            build: target.clone(),
            target,
            metadata: None,
            _temporary: temporary,
        })
    }

    /// The choices for every package by its folder, and for everything else. What is `given` comes first.
    pub(super) fn settings(
        &self,
        given: &Settings,
    ) -> Result<(BTreeMap<PathBuf, Settings>, Settings)> {
        let Some(metadata) = &self.metadata else {
            return Ok((BTreeMap::new(), given.clone()));
        };
        let root = metadata.workspace_root.as_std_path();
        let manifest = root.join("Cargo.toml");
        let of_workspace = read(&metadata.workspace_metadata, "workspace", &manifest)?;
        let mut packages = BTreeMap::new();
        for package in metadata.workspace_packages() {
            let manifest = package.manifest_path.as_std_path();
            let own = read(&package.metadata, "package", manifest)?;
            let folder = manifest.parent().unwrap_or(root).to_owned();
            packages.insert(folder, given.clone().or(&own.or(&of_workspace)));
        }
        Ok((packages, given.clone().or(&of_workspace)))
    }
}

/// The target folder that the command line names.
fn given_target(options: &CommonOptions) -> Result<Option<PathBuf>> {
    let absolute = |folder: &PathBuf| {
        std::path::absolute(folder)
            .with_context(|| format!("the target folder {} is no path", folder.display()))
    };
    options.target_dir.as_ref().map(absolute).transpose()
}

fn read(metadata: &Value, table: &str, manifest: &Path) -> Result<Settings> {
    let Some(value) = metadata.get(KEY) else {
        return Ok(Settings::default());
    };
    let settings: Settings = serde_json::from_value(value.clone())
        .with_context(|| format!("[{table}.metadata.{KEY}] in {}", manifest.display()))?;
    let folder = manifest.parent().unwrap_or(Path::new("."));
    Ok(settings.in_folder(folder))
}
