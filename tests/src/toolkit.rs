//! The CUDA toolkit whose tools judge us.

use std::env;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::process;

/// A toolkit and the versions of its tools.
#[derive(Debug)]
pub struct Toolkit {
    root: PathBuf,
    /// What results depend on: the versions of all tools that make them.
    pub identity: String,
}

impl Toolkit {
    /// Finds a toolkit by `RUSTNVLINK_TEST_TOOLKIT`, `CUDA_HOME`, or `nvcc` on the path.
    pub fn find() -> Result<Self> {
        let named = ["RUSTNVLINK_TEST_TOOLKIT", "CUDA_HOME"]
            .into_iter()
            .find_map(|variable| env::var_os(variable).filter(|value| !value.is_empty()));
        let root = match named {
            Some(root) => PathBuf::from(root),
            None => {
                let nvcc = which::which("nvcc").context(
                    "no CUDA toolkit: set RUSTNVLINK_TEST_TOOLKIT or CUDA_HOME, or put nvcc on the path",
                )?;
                let nvcc = nvcc.canonicalize()?;
                nvcc.ancestors()
                    .nth(2)
                    .context("nvcc is not in a `bin` folder")?
                    .to_owned()
            }
        };
        let mut toolkit = Self {
            root,
            identity: String::new(),
        };
        for tool in ["nvcc", "ptxas", "fatbinary", "nvlink"] {
            let version = process::run_ok(
                &toolkit.tool(tool),
                &["--version".to_owned()],
                Path::new("/"),
            )?;
            toolkit.identity.push_str(&version.stdout);
        }
        let host = process::run_ok(&host_compiler(), &["--version".to_owned()], Path::new("/"))?;
        toolkit
            .identity
            .push_str(host.stdout.lines().next().unwrap_or_default());
        Ok(toolkit)
    }

    /// The path of a program of the toolkit.
    pub fn tool(&self, name: &str) -> PathBuf {
        self.root.join("bin").join(name)
    }

    /// The folder that holds `libcudadevrt.a`.
    pub fn libraries(&self) -> Result<PathBuf> {
        for folder in ["lib64", "lib", "targets/x86_64-linux/lib"] {
            let folder = self.root.join(folder);
            if folder.join("libcudadevrt.a").is_file() {
                return Ok(folder);
            }
        }
        bail!("{} has no libcudadevrt.a", self.root.display())
    }
}

/// The compiler of plain host code.
pub fn host_compiler() -> PathBuf {
    PathBuf::from("c++")
}
