//! What finding and installing need to know about the process, as one value.
//!
//! Nothing else in this crate reads an environment variable, so every order of precedence can be tested with
//! folders made for the test.

use std::env;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

use etcetera::BaseStrategy;

/// The variable that moves the cache folder, for machines whose home folder is small or read-only.
pub const CACHE_VARIABLE: &str = "RUSTNVLINK_CACHE";

/// The variable that chooses a toolkit for builds and links, by its folder or its version.
pub const CHOICE_VARIABLE: &str = "CUDALINK_TOOLKIT";

/// The folders in which distributions and NVIDIA's own packages put a toolkit.
///
/// `-*` at the end stands for every version, the newest first.
const SYSTEM_FOLDERS: &[&str] = &[
    "/usr/local/cuda",
    "/usr/local/cuda-*",
    "/opt/cuda",
    "/opt/cuda-*",
    "/usr/lib/cuda",
    "/usr/lib/nvidia-cuda-toolkit",
];

/// The settings and folders that decide which toolkit is found.
///
/// The default value knows no place at all.
#[derive(Debug, Clone, Default)]
pub struct Environment {
    /// [`CHOICE_VARIABLE`], for [`Search::wanted`](crate::Search::wanted).
    pub choice: Option<PathBuf>,
    /// `CUDA_HOME`.
    pub cuda_home: Option<PathBuf>,
    /// `CUDA_PATH`.
    pub cuda_path: Option<PathBuf>,
    /// `PATH`, in which `nvcc`, `python3` and `uv` are looked up.
    pub path: Option<OsString>,
    /// What relative entries of `PATH` and relative settings are relative to.
    pub current_dir: PathBuf,
    /// `VIRTUAL_ENV`.
    pub virtual_env: Option<PathBuf>,
    /// `CONDA_PREFIX`.
    pub conda_prefix: Option<PathBuf>,
    /// The folder that toolkits are installed below: [`CACHE_VARIABLE`], or `rustnvlink` in the user's cache folder.
    pub cache: Option<PathBuf>,
    /// Folders of the system to look in; a name that ends in `-*` stands for every version of it.
    pub system_folders: Vec<PathBuf>,
}

/// The environment of the process cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("the current folder cannot be read; change into a folder that exists")]
pub struct EnvironmentError(#[source] io::Error);

impl Environment {
    /// Reads the environment of this process. Variables that are set to nothing count as not set.
    ///
    /// # Errors
    ///
    /// Fails when the current folder no longer exists.
    #[expect(
        clippy::disallowed_methods,
        reason = "this module is the one that reads the environment"
    )]
    pub fn from_process() -> Result<Self, EnvironmentError> {
        let user_cache = etcetera::choose_base_strategy()
            .ok()
            .map(|strategy| strategy.cache_dir().join("rustnvlink"));
        Ok(Self {
            choice: path_variable(CHOICE_VARIABLE),
            cuda_home: path_variable("CUDA_HOME"),
            cuda_path: path_variable("CUDA_PATH"),
            path: env::var_os("PATH"),
            current_dir: env::current_dir().map_err(EnvironmentError)?,
            virtual_env: path_variable("VIRTUAL_ENV"),
            conda_prefix: path_variable("CONDA_PREFIX"),
            cache: path_variable(CACHE_VARIABLE).or(user_cache),
            system_folders: SYSTEM_FOLDERS.iter().map(PathBuf::from).collect(),
        })
    }

    /// Whether `PATH` leads to a program called `name`.
    #[must_use]
    pub fn has_program(&self, name: &str) -> bool {
        !self.programs(name).is_empty()
    }

    /// All programs called `name` that `PATH` leads to, in its order.
    pub(crate) fn programs(&self, name: &str) -> Vec<PathBuf> {
        match &self.path {
            None => Vec::new(),
            Some(path) => which::which_in_all(name, Some(path), &self.current_dir)
                .map(Iterator::collect)
                .unwrap_or_default(),
        }
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "this module is the one that reads the environment"
)]
fn path_variable(name: &str) -> Option<PathBuf> {
    env::var_os(name)
        .filter(|value| !value.is_empty())
        .map(PathBuf::from)
}
