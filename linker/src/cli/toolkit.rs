//! What a link takes from the CUDA toolkit of the machine.

use std::path::PathBuf;

use cudalink_toolkit::{Environment, Search, Tool};

/// The assembler of PTX: that of the toolkit that builds use, else one on
/// `PATH`.
pub(super) fn ptxas() -> Result<PathBuf, String> {
    let environment = Environment::from_process().map_err(|error| error.to_string())?;
    let found = match Search::new(&environment).find() {
        Ok(toolkit) => toolkit.tool(Tool::Ptxas).map_err(|error| error.to_string()),
        Err(error) => Err(error.to_string()),
    };
    found.or_else(|why| which::which("ptxas").map_err(|_| why))
}
