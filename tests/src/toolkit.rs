//! The CUDA toolkit whose tools judge us.

use std::env;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use cudalink_toolkit::{Environment, Search, Tool};

use crate::process;

/// The toolkit our linker is compatible with; other ones write other bytes.
const VERSION: (u64, u64) = (13, 0);

/// A toolkit and the versions of its tools.
#[derive(Debug)]
pub struct Toolkit {
    found: cudalink_toolkit::Toolkit,
    /// What results depend on: the versions of all tools that make them.
    pub identity: String,
}

impl Toolkit {
    /// Finds a toolkit where builds do, or in `RUSTNVLINK_TEST_TOOLKIT`.
    pub fn find() -> Result<Self> {
        let environment = Environment::from_process()?;
        let mut search = Search::new(&environment);
        if let Some(root) = env::var_os("RUSTNVLINK_TEST_TOOLKIT").filter(|root| !root.is_empty()) {
            search = search.explicit(root);
        }
        let found = search.find()?;
        let version = found.version()?;
        ensure!(
            (version.major, version.minor) == VERSION,
            "the toolkit in {} is {version}, the tests need {}.{}; set RUSTNVLINK_TEST_TOOLKIT",
            found.root().display(),
            VERSION.0,
            VERSION.1
        );
        let mut toolkit = Self {
            found,
            identity: String::new(),
        };
        let ask = ["--version".to_owned()];
        for tool in [Tool::Nvcc, Tool::Ptxas, Tool::Fatbinary, Tool::Nvlink] {
            let version = process::run_ok(&toolkit.tool(tool)?, &ask, Path::new("/"))?;
            toolkit.identity.push_str(&version.stdout);
        }
        let host = process::run_ok(&host_compiler(), &ask, Path::new("/"))
            .context("the tests need a host compiler")?;
        toolkit
            .identity
            .push_str(host.stdout.lines().next().unwrap_or_default());
        Ok(toolkit)
    }

    /// The path of a program of the toolkit.
    pub fn tool(&self, tool: Tool) -> Result<PathBuf> {
        Ok(self.found.tool(tool)?)
    }

    /// The folder that holds `libcudadevrt.a`.
    pub fn libraries(&self) -> Result<PathBuf> {
        Ok(self.found.lib_dir()?)
    }
}

/// The compiler of plain host code.
pub fn host_compiler() -> PathBuf {
    PathBuf::from("c++")
}
