//! What a run of cargo decides for the programs that stand in for others below it.

use std::collections::BTreeMap;
use std::fs::{self, File, TryLockError};
use std::io;
use std::num::NonZero;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use rustnvlink::arch::Sm;
use rustnvlink::output;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::cargo::surroundings::Variable;
use crate::settings::{Settings, Word};
use crate::stand_in::cache::key;
use crate::style;

/// The variable that names the plan of a run.
pub(crate) const PLAN_VARIABLE: &str = "CUDALINK_PLAN";

/// Tells backups to leave a folder out.
const CACHE_TAG: &str = "Signature: 8a477f597d28d172789f06886806bc55\n\
    # This file is a cache directory tag created by cargo.\n\
    # For information about cache directory tags see https://bford.info/cachedir/\n";

/// The folder of this tool in the target folder of a workspace.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    /// That of a workspace.
    pub(crate) fn of_target(target: &Path) -> Self {
        Self(target.join("cudalink"))
    }

    /// The same, with a target folder that is made as cargo makes it, and in the one way to name it: cargo builds
    /// everything again when it gets another path of a linker.
    pub(crate) fn make(target: &Path) -> Result<Self> {
        let make = || -> io::Result<PathBuf> {
            if !target.exists() {
                fs::create_dir_all(target)?;
                fs::write(target.join("CACHEDIR.TAG"), CACHE_TAG)?;
            }
            target.canonicalize()
        };
        let target =
            make().with_context(|| format!("cannot make the folder {}", target.display()))?;
        Ok(Self::of_target(&target))
    }

    /// Keeps what lies here from being removed, or others from using it, as long as the result lives.
    pub(crate) fn lock(&self, purpose: Purpose) -> Result<File> {
        let path = self.0.with_file_name(".cudalink-lock");
        let lock = || -> io::Result<File> {
            let file = File::create(&path)?;
            let tried = match purpose {
                Purpose::Use => file.try_lock_shared(),
                Purpose::Remove => file.try_lock(),
            };
            match (tried, purpose) {
                (Ok(()), _) => {}
                (Err(TryLockError::Error(error)), _) => return Err(error),
                (Err(TryLockError::WouldBlock), Purpose::Use) => file.lock_shared()?,
                (Err(TryLockError::WouldBlock), Purpose::Remove) => {
                    style::status(
                        "Blocking",
                        "waiting for another `cargo cudalink` in this target folder",
                    );
                    file.lock()?;
                }
            }
            Ok(file)
        };
        lock().with_context(|| format!("cannot lock {}", path.display()))
    }

    /// Where linkers for `triple` are stood in for.
    pub(crate) fn linkers(&self) -> PathBuf {
        self.0.join("linker")
    }

    /// Where toolkits are stood in for.
    pub(crate) fn toolkits(&self) -> PathBuf {
        self.0.join("toolkit")
    }

    /// Where the results of device links are kept.
    pub(crate) fn images(&self) -> PathBuf {
        self.0.join("images")
    }

    /// Where runs of cargo keep what only they need.
    pub(crate) fn runs(&self) -> PathBuf {
        self.0.join("run")
    }
}

/// What a folder is locked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// To work with what lies there, as others may at the same time.
    Use,
    /// To remove it.
    Remove,
}

/// The plan of a run of cargo.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Plan {
    /// What tells this program from others, also of the same version: they may link otherwise.
    pub(crate) program: String,
    /// The folder of this tool.
    pub(crate) folder: Folder,
    /// Where cargo makes what it links: the target folder, unless another one is configured as `build.build-dir`.
    pub(crate) build: PathBuf,
    /// Where events are written.
    pub(crate) journal: PathBuf,
    /// The user's linkers by target triple.
    pub(crate) linkers: BTreeMap<String, PathBuf>,
    /// The user's toolkit, or why there is none.
    pub(crate) toolkit: Result<ToolkitPaths, String>,
    /// How many threads a device link may have, where cargo is told how much it may do at once.
    pub(crate) threads: Option<NonZero<usize>>,
    /// What to compile for where a build script does not say.
    pub(crate) compiled_for: CompiledFor,
    /// The choices for the packages of the workspace, by their folders.
    pub(crate) packages: BTreeMap<PathBuf, Settings>,
    /// The choices for everything else.
    pub(crate) others: Settings,
    /// The variables that cargo runs with.
    pub(crate) variables: Vec<Variable>,
    /// The folder that stands before all others on the `PATH` of cargo.
    pub(crate) on_path: Option<PathBuf>,
}

/// What device code is compiled for.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct CompiledFor {
    /// The processors.
    pub(crate) processors: Vec<Word<Sm>>,
    /// Whether LTO-IR is made instead of machine code.
    pub(crate) link_time: bool,
}

impl CompiledFor {
    /// What all packages together have chosen.
    pub(crate) fn all<'s>(settings: impl Iterator<Item = &'s Settings>) -> Self {
        let mut all = Self::default();
        for settings in settings {
            for word in &settings.arch {
                if !all.processors.contains(word) {
                    all.processors.push(*word);
                }
            }
            all.link_time |= settings.dlto.unwrap_or(false);
        }
        all
    }
}

/// What is used of a toolkit.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ToolkitPaths {
    /// The version that its files state: another toolkit may have taken its place.
    pub(crate) version: Option<String>,
    /// The compiler driver.
    pub(crate) nvcc: PathBuf,
    /// What runs it, such as `ccache`, with its arguments.
    pub(crate) launcher: Vec<PathBuf>,
    /// The assembler of PTX.
    pub(crate) ptxas: PathBuf,
    /// The optimizer of LTO-IR; a toolkit may lack it.
    pub(crate) jitlink: Option<PathBuf>,
    /// The library of the device runtime; a toolkit may lack it.
    pub(crate) device_runtime: Option<PathBuf>,
}

impl Plan {
    /// Reads a plan.
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let read = || -> Result<Self> { Ok(serde_json::from_slice(&fs::read(path)?)?) };
        read().with_context(|| {
            format!(
                "cannot read {}, which {PLAN_VARIABLE} names",
                path.display()
            )
        })
    }

    /// Writes it for the programs that go by it.
    pub(crate) fn write(&self, path: &Path) -> Result<()> {
        output::write(path, &serde_json::to_vec(self)?)
            .with_context(|| format!("cannot write {}", path.display()))
    }

    /// The choices for the package in a folder.
    pub(crate) fn settings(&self, package: Option<&Path>) -> &Settings {
        package
            .and_then(|folder| self.packages.get(folder))
            .unwrap_or(&self.others)
    }

    /// The variables by which cargo notices that choices have changed: it gets all of them, and every image says on which
    /// ones it depends.
    pub(crate) fn tracked(&self) -> Vec<(String, String)> {
        let packages = self.packages.keys().map(|folder| Some(folder.as_path()));
        packages
            .chain([None])
            .flat_map(|package| {
                [Tracked::Everything, Tracked::Libraries].map(|what| self.track(package, what))
            })
            .collect()
    }

    /// One of these variables, with its value.
    pub(crate) fn track(&self, package: Option<&Path>, what: Tracked) -> (String, String) {
        let digest = |data: &[u8]| key(Sha256::new().chain_update(data));
        let settings = self.settings(package);
        let value = match what {
            Tracked::Everything => {
                serde_json::to_vec(&(settings, &self.program, self.toolkit.as_ref().ok()))
            }
            Tracked::Libraries => serde_json::to_vec(&settings.libraries),
        };
        let value = value.expect("choices are text");
        let owner = match package.filter(|package| self.packages.contains_key(*package)) {
            Some(package) => digest(package.as_os_str().as_encoded_bytes()),
            None => "OTHERS".to_owned(),
        };
        (format!("{}{owner}", what.variables()), digest(&value))
    }
}

/// What an image depends on of the choices for its package.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tracked {
    /// All of them, the program that links, and the toolkit with what it runs.
    Everything,
    /// Whether there are further libraries: nothing else matters to an image without device code.
    Libraries,
}

impl Tracked {
    /// What the names of its variables begin with.
    pub(crate) fn variables(self) -> &'static str {
        match self {
            Self::Everything => "CUDALINK_CHOICES_",
            Self::Libraries => "CUDALINK_FILES_",
        }
    }
}
