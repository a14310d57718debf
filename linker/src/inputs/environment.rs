//! What a link takes from the machine that it runs on.

use std::error::Error;
use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use super::toolkit::Installed;

/// What a link takes from the machine that it runs on.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Environment {
    /// `LIBRARY_PATH`.
    pub library_path: Option<OsString>,
    /// The current folder. It is part of the names of modules that have none
    /// of their own.
    pub folder: PathBuf,
    /// Finds the programs that the request does not name.
    pub tools: Arc<dyn Tools>,
}

/// Finds what compiles code during a link, once a link has such code.
///
/// ```
/// use std::path::PathBuf;
/// use std::sync::Arc;
/// use rustnvlink::inputs::{Environment, ToolError, Tools};
///
/// #[derive(Debug)]
/// struct Shipped;
///
/// impl Tools for Shipped {
///     fn ptxas(&self) -> Result<PathBuf, ToolError> {
///         Ok("/opt/program/ptxas".into())
///     }
///     fn jitlink(&self) -> Result<PathBuf, ToolError> {
///         Err(ToolError::Unnamed)
///     }
/// }
///
/// let mut environment = Environment::default();
/// environment.tools = Arc::new(Shipped);
/// assert!(environment.tools.ptxas().is_ok());
/// ```
pub trait Tools: fmt::Debug + Send + Sync {
    /// The assembler of PTX.
    fn ptxas(&self) -> Result<PathBuf, ToolError>;

    /// The library that optimizes LTO-IR.
    fn jitlink(&self) -> Result<PathBuf, ToolError>;
}

/// Why nothing was found that compiles code.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ToolError {
    /// Nobody has said where to look.
    #[error("nothing says where it is")]
    Unnamed,
    /// The library was built without the feature `program`, which looks for toolkits.
    #[error("this program looks for no CUDA toolkit")]
    NoSearch,
    /// The search has failed.
    #[error(transparent)]
    Search(Box<dyn Error + Send + Sync>),
}

impl ToolError {
    /// A search that has failed.
    pub fn search(error: impl Error + Send + Sync + 'static) -> Self {
        Self::Search(Box::new(error))
    }
}

/// Finds nothing.
#[derive(Debug)]
struct Nothing;

impl Tools for Nothing {
    fn ptxas(&self) -> Result<PathBuf, ToolError> {
        Err(ToolError::Unnamed)
    }

    fn jitlink(&self) -> Result<PathBuf, ToolError> {
        Err(ToolError::Unnamed)
    }
}

impl Default for Environment {
    /// An environment without libraries and programs: those that the request does not name are not found.
    fn default() -> Self {
        Self {
            library_path: None,
            folder: PathBuf::new(),
            tools: Arc::new(Nothing),
        }
    }
}

impl Environment {
    /// That of this process: where libraries are, what relative paths are relative to, and the CUDA toolkit that builds
    /// use. Without the feature `program`, the assembler of PTX is found on `PATH` alone.
    pub fn from_process() -> Self {
        Self::of_process(Arc::new(Installed::default()))
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "the library gets the environment from here"
    )]
    pub(crate) fn of_process(tools: Arc<dyn Tools>) -> Self {
        Self {
            library_path: std::env::var_os("LIBRARY_PATH"),
            folder: std::env::current_dir().unwrap_or_default(),
            tools,
        }
    }
}
