//! What a link takes from the CUDA toolkit of the machine.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::codes;
use crate::diagnostic::{Diagnostic, Severity};
#[cfg(feature = "program")]
use cudalink_toolkit::{Environment, Search, Tool, Toolkit, ToolkitError};

/// What there is to say of variables that name no toolkit, once one was looked for. Links look for it where they need it, in
/// functions of the environment that return nothing but where it is.
static IGNORED: Mutex<Option<Vec<String>>> = Mutex::new(None);

/// Takes what there is to say of variables that name no toolkit: a link for several processors says it once.
pub(super) fn ignored_variables() -> Vec<Diagnostic> {
    let mut ignored = IGNORED.lock().unwrap_or_else(PoisonError::into_inner);
    let texts = ignored.iter_mut().flat_map(std::mem::take);
    let warning = |text| Diagnostic::new(Severity::Warning, codes::IGNORED_VARIABLE, text);
    texts.map(warning).collect()
}

/// The assembler of PTX: that of the toolkit that builds use, else one on
/// `PATH`, unless a toolkit was chosen.
pub(super) fn ptxas() -> Result<PathBuf, String> {
    match toolkit_ptxas() {
        Err(why) if !is_chosen() => which::which("ptxas").map_err(|_| why),
        found => found,
    }
}

#[cfg(feature = "program")]
fn toolkit_ptxas() -> Result<PathBuf, String> {
    find(|toolkit| toolkit.tool(Tool::Ptxas))
}

#[cfg(feature = "program")]
fn is_chosen() -> bool {
    Environment::from_process().is_ok_and(|environment| environment.choice.is_some())
}

/// What is said where nothing looks for a toolkit.
#[cfg(not(feature = "program"))]
const UNKNOWN: &str = "this program looks for no CUDA toolkit";

#[cfg(not(feature = "program"))]
fn toolkit_ptxas() -> Result<PathBuf, String> {
    Err(UNKNOWN.to_owned())
}

#[cfg(not(feature = "program"))]
fn is_chosen() -> bool {
    false
}

#[cfg(not(feature = "program"))]
pub(super) fn jitlink() -> Result<PathBuf, String> {
    Err(UNKNOWN.to_owned())
}

#[cfg(not(feature = "program"))]
pub(super) fn around_nvvm(_: &Path) -> Option<(PathBuf, PathBuf)> {
    None
}

/// The optimizer of LTO-IR, of the same toolkit.
#[cfg(feature = "program")]
pub(super) fn jitlink() -> Result<PathBuf, String> {
    find(Toolkit::libnvjitlink)
}

/// The optimizer of LTO-IR and the assembler of the toolkit that has a folder
/// `nvvm`, as nvcc names it, if both are there. Those of two toolkits do not
/// always understand each other.
#[cfg(feature = "program")]
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

#[cfg(feature = "program")]
fn find(part: impl Fn(&Toolkit) -> Result<PathBuf, ToolkitError>) -> Result<PathBuf, String> {
    let environment = Environment::from_process().map_err(|error| error.to_string())?;
    let toolkit = Search::new(&environment).wanted();
    let toolkit = toolkit.map_err(|error| error.to_string())?;
    let mut ignored = IGNORED.lock().unwrap_or_else(PoisonError::into_inner);
    if ignored.is_none() {
        *ignored = Some(toolkit.ignored_variables());
    }
    drop(ignored);
    part(&toolkit).map_err(|error| error.to_string())
}
