//! A toolkit that was found: its root, and where its parts lie below it.
//!
//! NVIDIA's installers, Linux distributions, conda and Python packages each use another layout, so every accessor
//! knows the places that are in use and returns the first that exists.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use semver::Version;

use crate::search::{Attempt, Origin, Refusal};
use crate::version;

/// The header without which no CUDA C++ compiles.
pub(crate) const RUNTIME_HEADER: &str = "cuda_runtime.h";

/// The programs of a toolkit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tool {
    /// The compiler driver.
    Nvcc,
    /// The assembler of PTX.
    Ptxas,
    /// The device linker.
    Nvlink,
    /// Packs device code into containers.
    Fatbinary,
    /// Turns files into C arrays.
    Bin2c,
    /// Splits host and device code.
    Cudafe,
    /// The device compiler behind nvcc.
    Cicc,
    /// Lists and dumps device code in host files.
    Cuobjdump,
    /// Disassembles device code.
    Nvdisasm,
}

impl Tool {
    /// Every tool, in the order in which a build uses them.
    pub const ALL: [Self; 9] = [
        Self::Nvcc,
        Self::Cudafe,
        Self::Cicc,
        Self::Ptxas,
        Self::Fatbinary,
        Self::Bin2c,
        Self::Nvlink,
        Self::Cuobjdump,
        Self::Nvdisasm,
    ];

    /// The file name of the program, without the suffix some systems add.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Nvcc => "nvcc",
            Self::Ptxas => "ptxas",
            Self::Nvlink => "nvlink",
            Self::Fatbinary => "fatbinary",
            Self::Bin2c => "bin2c",
            Self::Cudafe => "cudafe++",
            Self::Cicc => "cicc",
            Self::Cuobjdump => "cuobjdump",
            Self::Nvdisasm => "nvdisasm",
        }
    }

    /// The folders below the root that may hold the program.
    fn folders(self) -> &'static [&'static str] {
        match self {
            Self::Cicc => &["nvvm/bin", "bin", "lib/nvidia-cuda-toolkit/bin"],
            Self::Cudafe => &["bin", "lib/nvidia-cuda-toolkit/bin"],
            Self::Nvcc
            | Self::Ptxas
            | Self::Nvlink
            | Self::Fatbinary
            | Self::Bin2c
            | Self::Cuobjdump
            | Self::Nvdisasm => &["bin"],
        }
    }
}

impl fmt::Display for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A part of a toolkit is missing or does not work.
#[derive(Debug, thiserror::Error)]
pub enum ToolkitError {
    /// The part is in none of the places where toolkits keep it.
    #[error(
        "the toolkit in {} has no {part}; looked for {}. `cargo cudalink toolkit install` installs a toolkit that has it",
        root.display(),
        list(tried)
    )]
    Missing {
        /// What was asked for.
        part: String,
        /// The toolkit that was asked.
        root: PathBuf,
        /// The paths that do not exist.
        tried: Vec<PathBuf>,
    },
    /// `nvcc` does not tell its version.
    #[error("{} does not tell its version: {reason}", nvcc.display())]
    Version {
        /// The program that was run.
        nvcc: PathBuf,
        /// What happened.
        reason: String,
    },
}

fn list(paths: &[PathBuf]) -> String {
    paths
        .iter()
        .map(|path| path.display().to_string())
        .collect::<Vec<_>>()
        .join(", ")
}

/// What a device link runs of a toolkit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkPrograms {
    /// The assembler of PTX.
    pub ptxas: PathBuf,
    /// The optimizer of LTO-IR, where that is linked.
    pub libnvjitlink: Option<PathBuf>,
}

/// A CUDA toolkit: at least `nvcc` and `ptxas` below one root.
#[derive(Debug, Clone)]
pub struct Toolkit {
    root: PathBuf,
    origin: Origin,
    version: OnceLock<Version>,
    pub(crate) passed_over: Vec<Attempt>,
}

impl Toolkit {
    /// Takes `root` for a toolkit if it holds the programs that make it one.
    pub(crate) fn open(root: PathBuf, origin: Origin) -> Result<Self, Refusal> {
        if !root.is_dir() {
            return Err(match root.exists() {
                true => Refusal::File,
                false => Refusal::NoFolder,
            });
        }
        for tool in [Tool::Nvcc, Tool::Ptxas] {
            let program = root.join("bin").join(tool.name());
            if !is_executable(&program) {
                return Err(Refusal::Lacks(Path::new("bin").join(tool.name())));
            }
        }
        Ok(Self {
            root,
            origin,
            version: OnceLock::new(),
            passed_over: Vec::new(),
        })
    }

    /// The folder that holds `bin`, `include` and the others.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The rule that found this toolkit.
    #[must_use]
    pub fn origin(&self) -> Origin {
        self.origin
    }

    /// The places that come before this toolkit and did not serve.
    #[must_use]
    pub fn passed_over(&self) -> &[Attempt] {
        &self.passed_over
    }

    /// What there is to say of variables that the user has set and that name no toolkit, one by one: why they do not
    /// count, and which toolkit is used instead.
    #[must_use]
    pub fn ignored_variables(&self) -> Vec<String> {
        let passed_over = self.passed_over.iter();
        let ignored = passed_over.filter_map(|attempt| {
            let (name, place) = attempt.variable()?;
            Some(format!(
                "{name} is {}, which {}; the toolkit in {} is used",
                place.display(),
                attempt.refusal,
                self.root.display()
            ))
        });
        ignored.collect()
    }

    /// The version of `nvcc`, read once from `version.json` or by asking the program.
    ///
    /// # Errors
    ///
    /// Fails when neither tells it.
    pub fn version(&self) -> Result<&Version, ToolkitError> {
        if let Some(version) = self.version.get() {
            return Ok(version);
        }
        let version = match self.stated_version() {
            Some(version) => version,
            None => version::ask(&self.tool(Tool::Nvcc)?)?,
        };
        Ok(self.version.get_or_init(|| version))
    }

    /// The version that a file of the toolkit states, if there is one; nothing is run to know it.
    #[must_use]
    pub fn stated_version(&self) -> Option<Version> {
        version::stated(&self.root)
    }

    /// What a program says of its version, which may not be that of `nvcc`: some packages bring programs of several releases.
    ///
    /// # Errors
    ///
    /// Fails when the toolkit does not have the program, or it does not run.
    pub fn version_of(&self, tool: Tool) -> Result<Version, ToolkitError> {
        version::ask(&self.tool(tool)?)
    }

    /// The path of a program.
    ///
    /// # Errors
    ///
    /// Fails when the toolkit does not have the program; NVIDIA publishes many toolkits in parts.
    pub fn tool(&self, tool: Tool) -> Result<PathBuf, ToolkitError> {
        let places = tool
            .folders()
            .iter()
            .map(|folder| self.root.join(folder).join(tool.name()));
        self.first(tool.name(), places, is_executable)
    }

    /// The folder of `cuda_runtime.h`.
    ///
    /// # Errors
    ///
    /// Fails when no such folder exists.
    pub fn include_dir(&self) -> Result<PathBuf, ToolkitError> {
        let places = ["include".to_owned(), format!("{}/include", target_folder())]
            .map(|folder| self.root.join(folder).join(RUNTIME_HEADER));
        self.first(RUNTIME_HEADER, places, Path::is_file)
            .map(|path| parent(&path))
    }

    /// The folder of the runtime libraries, `libcudadevrt.a` among them.
    ///
    /// # Errors
    ///
    /// Fails when no such folder exists.
    pub fn lib_dir(&self) -> Result<PathBuf, ToolkitError> {
        self.libcudadevrt().map(|path| parent(&path))
    }

    /// The device runtime, which kernels that launch kernels are linked with.
    ///
    /// # Errors
    ///
    /// Fails when the toolkit does not have it.
    pub fn libcudadevrt(&self) -> Result<PathBuf, ToolkitError> {
        self.library(&["libcudadevrt.a"], &[])
    }

    /// The library that compiles NVVM IR.
    ///
    /// # Errors
    ///
    /// Fails when the toolkit does not have it.
    pub fn libnvvm(&self) -> Result<PathBuf, ToolkitError> {
        self.library(&["libnvvm.so", "libnvvm.so.4"], &["nvvm/lib64", "nvvm/lib"])
    }

    /// The library that links LTO-IR.
    ///
    /// # Errors
    ///
    /// Fails when the toolkit does not have it.
    pub fn libnvjitlink(&self) -> Result<PathBuf, ToolkitError> {
        self.library(
            &[
                "libnvJitLink.so",
                "libnvJitLink.so.13",
                "libnvJitLink.so.12",
            ],
            &[],
        )
    }

    /// What a device link runs of the toolkit: it assembles PTX, and optimizes LTO-IR where that is linked.
    ///
    /// # Errors
    ///
    /// Fails when the toolkit does not have it: what lies elsewhere is not what was asked for.
    pub fn link_programs(&self, optimizes: bool) -> Result<LinkPrograms, ToolkitError> {
        Ok(LinkPrograms {
            ptxas: self.tool(Tool::Ptxas)?,
            libnvjitlink: optimizes.then(|| self.libnvjitlink()).transpose()?,
        })
    }

    fn library(&self, names: &[&str], own_folders: &[&str]) -> Result<PathBuf, ToolkitError> {
        let target = target_folder();
        let target_lib = format!("{target}/lib");
        let debian_lib = format!("lib/{}-gnu", target.trim_start_matches("targets/"));
        let shared_folders = ["lib64", "lib", &target_lib, &debian_lib];
        let places = own_folders
            .iter()
            .chain(&shared_folders)
            .flat_map(|folder| {
                names
                    .iter()
                    .map(move |name| self.root.join(folder).join(name))
            });
        self.first(names[0], places, Path::is_file)
    }

    fn first(
        &self,
        part: &str,
        places: impl IntoIterator<Item = PathBuf>,
        serves: impl Fn(&Path) -> bool,
    ) -> Result<PathBuf, ToolkitError> {
        let mut tried = Vec::new();
        for place in places {
            if serves(&place) {
                return Ok(place);
            }
            tried.push(place);
        }
        Err(ToolkitError::Missing {
            part: part.to_owned(),
            root: self.root.clone(),
            tried,
        })
    }
}

/// Whether `path` is a program; it must be absolute.
pub(crate) fn is_executable(path: &Path) -> bool {
    which::which_in(path, None::<&str>, "").is_ok()
}

/// The folder below the root for servers with aarch64.
pub(crate) const SERVERS: &str = "targets/sbsa-linux";

/// The folder below the root that NVIDIA names after the machine.
pub(crate) fn target_folder() -> &'static str {
    if cfg!(target_arch = "aarch64") {
        SERVERS
    } else {
        "targets/x86_64-linux"
    }
}

fn parent(path: &Path) -> PathBuf {
    path.parent().unwrap_or(path).to_owned()
}
