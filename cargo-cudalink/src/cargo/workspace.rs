//! The workspace that cargo works in, and what its manifests choose.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, ensure};
use cargo_metadata::{CrateType, Metadata, MetadataCommand};
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
        let is_here = manifest.is_none();
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
                let told = told.strip_prefix("error: ").unwrap_or(told);
                let elsewhere = match is_here && told.starts_with("could not find `Cargo.toml`") {
                    true => "; `--manifest-path` names the one of another folder",
                    false => "",
                };
                anyhow!("{told}{elsewhere}")
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

    /// The files of the static libraries that its packages may become.
    pub(super) fn static_libraries(&self) -> Vec<String> {
        let packages = self.metadata.iter().flat_map(Metadata::workspace_packages);
        let targets = packages.flat_map(|package| &package.targets);
        let libraries = targets.filter(|target| target.crate_types.contains(&CrateType::StaticLib));
        libraries
            .map(|target| format!("lib{}.a", target.name.replace('-', "_")))
            .collect()
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
        let mut toolkits = Toolkits::default();
        for package in metadata.workspace_packages() {
            let manifest = package.manifest_path.as_std_path();
            let own = read(&package.metadata, "package", manifest)?;
            if given.toolkit.is_none() {
                toolkits.add(&own, manifest)?;
            }
            let folder = manifest.parent().unwrap_or(root).to_owned();
            packages.insert(folder, given.clone().or(&own.or(&of_workspace)));
        }
        let mut others = given.clone().or(&of_workspace);
        if let Some((toolkit, _)) = toolkits.0 {
            others.toolkit = Some(toolkit);
        }
        Ok((packages, others))
    }
}

/// The toolkit that the manifests of the current folder choose for builds there.
pub(crate) fn chosen_toolkit(folder: &Path) -> Result<Option<PathBuf>> {
    let mut folders = folder.ancestors();
    if !folders.any(|folder| folder.join("Cargo.toml").is_file()) {
        return Ok(None);
    }
    let workspace = match Workspace::load(None, &CommonOptions::default()) {
        // Where there is no cargo, there are no builds.
        Err(error) if matches!(error.downcast_ref(), Some(cargo_metadata::Error::Io(_))) => {
            return Ok(None);
        }
        workspace => workspace?,
    };
    let (_, others) = workspace.settings(&Settings::default())?;
    Ok(others.toolkit)
}

/// The toolkit that packages choose, of which a build has one, and the manifest that does.
#[derive(Debug, Default)]
struct Toolkits(Option<(PathBuf, PathBuf)>);

impl Toolkits {
    fn add(&mut self, own: &Settings, manifest: &Path) -> Result<()> {
        let Some(toolkit) = &own.toolkit else {
            return Ok(());
        };
        let (first, where_first) = self
            .0
            .get_or_insert_with(|| (toolkit.clone(), manifest.to_owned()));
        ensure!(
            first == toolkit,
            "a build has one CUDA toolkit, and packages choose {} ({}) and {} ({}): let [workspace.metadata.{KEY}] alone choose \
             one, or --toolkit",
            first.display(),
            where_first.display(),
            toolkit.display(),
            manifest.display()
        );
        Ok(())
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
    let settings = Settings::read(value)
        .with_context(|| format!("[{table}.metadata.{KEY}] in {}", manifest.display()))?;
    let folder = manifest.parent().unwrap_or(Path::new("."));
    Ok(settings.in_folder(folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_choose_one_toolkit() {
        let choice = |toolkit: Option<&str>| Settings {
            toolkit: toolkit.map(PathBuf::from),
            ..Settings::default()
        };
        let mut toolkits = Toolkits::default();
        for toolkit in [None, Some("13.0"), None, Some("13.0")] {
            toolkits
                .add(&choice(toolkit), Path::new("a/Cargo.toml"))
                .expect("the same one");
        }
        let other = toolkits.add(&choice(Some("12.9")), Path::new("b/Cargo.toml"));
        let error = other.expect_err("another one").to_string();
        assert!(
            error.contains("13.0 (a/Cargo.toml) and 12.9 (b/Cargo.toml)"),
            "{error}"
        );
    }
}
