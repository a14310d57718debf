//! The folder that toolkits are installed below, one folder for each version.
//!
//! ```text
//! toolkits/13.0.88            a whole toolkit; it appears by one rename
//! toolkits/.13.0.88.lock      held by the one install of this version, which removes it
//! toolkits/.13.0.88.part-xyz  what an install is working on, or has left when it was interrupted
//! toolkits/.13.0.88.old       what a reinstall is about to remove
//! ```

use std::path::{Path, PathBuf};

use semver::Version;

use crate::environment::Environment;
use crate::packages::DEFAULT_VERSION;
use crate::search::entries;

/// The folder of all installed toolkits.
#[derive(Debug, Clone)]
pub(crate) struct Cache {
    folder: PathBuf,
}

impl Cache {
    /// The cache of this environment; the user may have none.
    pub(crate) fn of(environment: &Environment) -> Option<Self> {
        let cache = environment.cache.as_ref()?;
        Some(Self {
            folder: environment.current_dir.join(cache).join("toolkits"),
        })
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The installed toolkits: first the version that this product is made for, then the newest.
    pub(crate) fn toolkits(&self) -> Vec<PathBuf> {
        let mut found: Vec<(Version, PathBuf)> = entries(&self.folder)
            .into_iter()
            .filter_map(|path| Some((path.file_name()?.to_str()?.parse().ok()?, path)))
            .collect();
        found.sort_by(|(a, _), (b, _)| (*b == DEFAULT_VERSION, b).cmp(&(*a == DEFAULT_VERSION, a)));
        found.into_iter().map(|(_, path)| path).collect()
    }

    pub(crate) fn root(&self, version: &Version) -> PathBuf {
        self.folder.join(version.to_string())
    }

    /// How the names of folders begin that an install of this version works in. The rest is random, because a pip
    /// that outlives an interrupted install still writes to its folder.
    pub(crate) fn partial_prefix(version: &Version) -> String {
        format!(".{version}.part-")
    }

    /// What interrupted installs of this version have left.
    pub(crate) fn leftovers(&self, version: &Version) -> Vec<PathBuf> {
        let prefix = Self::partial_prefix(version);
        let is_leftover = |path: &PathBuf| {
            path.file_name()
                .and_then(|name| name.to_str())
                .is_some_and(|name| name.starts_with(&prefix))
        };
        entries(&self.folder)
            .into_iter()
            .filter(is_leftover)
            .collect()
    }

    pub(crate) fn old(&self, version: &Version) -> PathBuf {
        self.folder.join(format!(".{version}.old"))
    }

    pub(crate) fn lock(&self, version: &Version) -> PathBuf {
        self.folder.join(format!(".{version}.lock"))
    }
}
