//! What a link takes from the CUDA toolkit of the machine.

use std::path::{Path, PathBuf};

use cudalink_toolkit::{Environment, Search, Tool, Toolkit, ToolkitError};

/// The assembler of PTX: that of the toolkit that builds use, else one on
/// `PATH`.
pub(super) fn ptxas() -> Result<PathBuf, String> {
    find(|toolkit| toolkit.tool(Tool::Ptxas)).or_else(|why| which::which("ptxas").map_err(|_| why))
}

/// The optimizer of LTO-IR, of the same toolkit.
pub(super) fn jitlink() -> Result<PathBuf, String> {
    find(Toolkit::libnvjitlink)
}

/// The optimizer of LTO-IR and the assembler of the toolkit that has a folder
/// `nvvm`, as nvcc names it, if both are there. Those of two toolkits do not
/// always understand each other.
pub(super) fn around_nvvm(folder: &Path) -> Option<(PathBuf, PathBuf)> {
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

fn find(part: impl Fn(&Toolkit) -> Result<PathBuf, ToolkitError>) -> Result<PathBuf, String> {
    let environment = Environment::from_process().map_err(|error| error.to_string())?;
    let toolkit = Search::new(&environment).find();
    let toolkit = toolkit.map_err(|error| error.to_string())?;
    part(&toolkit).map_err(|error| error.to_string())
}
