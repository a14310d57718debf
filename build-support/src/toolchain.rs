//! The toolkit and the compiler: what the user has chosen comes first.

use std::path::{Path, PathBuf};
use std::sync::Once;

use cudalink_toolkit::launcher::launched;
use cudalink_toolkit::{Environment, NotChosen, Search, Tool, Toolkit};

use crate::environment;
use crate::error::Error;
use crate::output;

/// The compiler that the user has chosen, and what runs it, else that of the toolkit.
pub(crate) fn nvcc(toolkit: &Toolkit) -> Result<(Vec<PathBuf>, PathBuf), Error> {
    let Some(chosen) = environment::chosen("NVCC") else {
        return Ok((Vec::new(), toolkit.tool(Tool::Nvcc)?));
    };
    let (launcher, nvcc) = launched(chosen.into());
    // As `ccache nvcc` where the toolkit is one that `PATH` does not lead to.
    let name = Tool::Nvcc.name();
    match nvcc == Path::new(name) && !Environment::from_process()?.has_program(name) {
        true => Ok((launcher, toolkit.tool(Tool::Nvcc)?)),
        false => Ok((launcher, nvcc)),
    }
}

/// The toolkit that the user has chosen, else the one that is found.
pub(crate) fn find() -> Result<Toolkit, Error> {
    let places = Environment::from_process()?;
    let search = Search::new(&places);
    for variable in ["CUDA_HOME", "CUDA_PATH", "RUSTNVLINK_CACHE"] {
        environment::chosen(variable);
    }
    match environment::chosen("CUDALINK_TOOLKIT") {
        Some(choice) => match search.chosen(Path::new(&choice)) {
            Err(NotChosen::Folder(missing)) => Err(missing.into()),
            found => Ok(found?),
        },
        None => {
            let toolkit = search.find()?;
            WARNED.call_once(|| {
                for ignored in toolkit.ignored_variables() {
                    output::message("warning", &ignored);
                }
            });
            Ok(toolkit)
        }
    }
}

/// A build script looks for the toolkit in each step of its work.
static WARNED: Once = Once::new();
