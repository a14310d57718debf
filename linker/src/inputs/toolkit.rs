//! The CUDA toolkit of the machine.

use std::path::PathBuf;

use super::environment::{ToolError, Tools};

#[cfg(feature = "program")]
pub(crate) use searched::Installed;

/// Looks for a toolkit where a link needs something of one.
#[cfg(not(feature = "program"))]
#[derive(Debug, Default)]
pub(crate) struct Installed(());

#[cfg(not(feature = "program"))]
impl Tools for Installed {
    fn ptxas(&self) -> Result<PathBuf, ToolError> {
        on_path(ToolError::NoSearch)
    }

    fn jitlink(&self) -> Result<PathBuf, ToolError> {
        Err(ToolError::NoSearch)
    }
}

/// The assembler on `PATH`, or why there is no other.
fn on_path(why: ToolError) -> Result<PathBuf, ToolError> {
    which::which("ptxas").map_err(|_| why)
}

#[cfg(feature = "program")]
mod searched {
    use std::path::{Path, PathBuf};
    use std::sync::{Mutex, PoisonError};

    use cudalink_toolkit::{Environment, Search, Tool, Toolkit, ToolkitError};

    use super::{ToolError, Tools, on_path};
    use crate::codes;
    use crate::diagnostic::{Diagnostic, Severity};

    /// Looks for a toolkit where a link needs something of one.
    #[derive(Debug, Default)]
    pub(crate) struct Installed {
        /// What there is to say of variables that name no toolkit, once one was looked for.
        ignored: Mutex<Option<Vec<String>>>,
    }

    impl Tools for Installed {
        /// That of the toolkit that builds use, else one on `PATH`, unless a toolkit was chosen.
        fn ptxas(&self) -> Result<PathBuf, ToolError> {
            match self.find(|toolkit| toolkit.tool(Tool::Ptxas)) {
                Err(why) if !is_chosen() => on_path(why),
                found => found,
            }
        }

        fn jitlink(&self) -> Result<PathBuf, ToolError> {
            self.find(Toolkit::libnvjitlink)
        }
    }

    impl Installed {
        /// The optimizer of LTO-IR and the assembler of the toolkit that has a folder
        /// `nvvm`, as nvcc names it, if both are there. Those of two toolkits do not
        /// always understand each other.
        pub(crate) fn around_nvvm(folder: &Path) -> Option<(PathBuf, PathBuf)> {
            let environment = Environment::from_process().ok()?;
            let toolkit = Search::new(&environment)
                .explicit(folder.parent()?)
                .find()
                .ok()?;
            Some((
                toolkit.libnvjitlink().ok()?,
                toolkit.tool(Tool::Ptxas).ok()?,
            ))
        }

        /// Takes what there is to say of variables that name no toolkit: links for several processors say it once.
        pub(crate) fn take_ignored(&self) -> Vec<Diagnostic> {
            let mut ignored = self.ignored.lock().unwrap_or_else(PoisonError::into_inner);
            let texts = ignored.iter_mut().flat_map(std::mem::take);
            let warning = |text| Diagnostic::new(Severity::Warning, codes::IGNORED_VARIABLE, text);
            texts.map(warning).collect()
        }

        fn find(
            &self,
            part: impl Fn(&Toolkit) -> Result<PathBuf, ToolkitError>,
        ) -> Result<PathBuf, ToolError> {
            let environment = Environment::from_process().map_err(ToolError::search)?;
            let toolkit = Search::new(&environment).wanted();
            let toolkit = toolkit.map_err(ToolError::search)?;
            let mut ignored = self.ignored.lock().unwrap_or_else(PoisonError::into_inner);
            if ignored.is_none() {
                *ignored = Some(toolkit.ignored_variables());
            }
            drop(ignored);
            part(&toolkit).map_err(ToolError::search)
        }
    }

    fn is_chosen() -> bool {
        Environment::from_process().is_ok_and(|environment| environment.choice.is_some())
    }
}
