//! Looks for a toolkit in a fixed order of places, and remembers what was wrong with each.

use std::collections::HashSet;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use crate::cache::Cache;
use crate::environment::Environment;
use crate::site_packages;
use crate::toolkit::{RUNTIME_HEADER, Tool, Toolkit};

/// The rule by which a toolkit was found, in the order in which rules apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// The caller named the folder.
    Option,
    /// This environment variable names the folder.
    Variable(&'static str),
    /// `nvcc` lies in a folder of `PATH`.
    Path,
    /// A folder of the system.
    System,
    /// Python packages.
    SitePackages,
    /// Installed by this crate.
    Cache,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Option => "option",
            Self::Variable(name) => name,
            Self::Path => "PATH",
            Self::System => "system folder",
            Self::SitePackages => "Python packages",
            Self::Cache => "cache",
        })
    }
}

/// Why a place did not serve.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// The variable is not set.
    NotSet,
    /// There is no such folder.
    NoFolder,
    /// There is a file where a folder has to be.
    File,
    /// The folder exists but lacks this file, without which it is no toolkit.
    Lacks(PathBuf),
    /// No program of this name in the folders of `PATH`.
    NoProgram(&'static str),
    /// Python did not say where its packages are.
    Python(String),
    /// The folder has none of these.
    Holds(&'static str),
    /// There is no cache folder, because the user has no home folder.
    NoHome,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotSet => f.write_str("not set"),
            Self::NoFolder => f.write_str("does not exist"),
            Self::File => f.write_str("is a file, and no folder of a toolkit"),
            Self::Lacks(file) => write!(f, "has no {}", file.display()),
            Self::NoProgram(name) => write!(f, "no {name} on PATH"),
            Self::Python(reason) => write!(f, "failed: {reason}"),
            Self::Holds(what) => write!(f, "holds no {what}"),
            Self::NoHome => f.write_str("the user has no home folder"),
        }
    }
}

/// A place that was looked at and did not serve.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    /// The rule that led there.
    pub origin: Origin,
    /// The folder or program, where the rule led to one.
    pub place: Option<PathBuf>,
    /// What was wrong.
    pub refusal: Refusal,
}

/// What names a toolkit that is chosen, to the command and to build scripts.
const CHOICE: &str = "--toolkit or CUDALINK_TOOLKIT";

impl Attempt {
    /// What is wrong with several places, where one line is enough for them.
    fn several(&self) -> Option<String> {
        self.place.as_ref()?;
        match &self.refusal {
            Refusal::NoFolder => Some("do not exist".to_owned()),
            Refusal::Holds(what) => Some(format!("hold no {what}")),
            Refusal::NotSet
            | Refusal::File
            | Refusal::Lacks(_)
            | Refusal::NoProgram(_)
            | Refusal::Python(_)
            | Refusal::NoHome => None,
        }
    }

    /// The variable that the user has set, and what it names in the place of a toolkit.
    pub(crate) fn variable(&self) -> Option<(&'static str, &Path)> {
        match (self.origin, &self.place) {
            (Origin::Variable(name), Some(place)) => Some((name, place)),
            _ => None,
        }
    }

    /// Whether it is about a variable that the user has set, and that names no toolkit.
    #[must_use]
    pub fn is_of_variable(&self) -> bool {
        self.variable().is_some()
    }
}

impl fmt::Display for Attempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.origin {
            // As users know it.
            Origin::Option => f.write_str(CHOICE)?,
            origin => write!(f, "{origin}")?,
        }
        match &self.place {
            Some(place) => write!(f, ": {} {}", place.display(), self.refusal),
            None => write!(f, ": {}", self.refusal),
        }
    }
}

/// No place serves.
#[derive(Debug, thiserror::Error)]
#[error("no CUDA toolkit found{}\n{}", lines(tried), advice(tried))]
pub struct NotFound {
    /// Every place, in the order in which they were tried.
    pub tried: Vec<Attempt>,
}

impl NotFound {
    /// What is wrong with the folder that the user has chosen, which is the only place then.
    #[must_use]
    pub fn of_choice(&self) -> Option<&Attempt> {
        match &self.tried[..] {
            [attempt] if attempt.origin == Origin::Option => Some(attempt),
            _ => None,
        }
    }
}

/// What was tried, with one line for places of a kind that are refused alike.
fn lines(tried: &[Attempt]) -> String {
    let alike = |one: &Attempt, other: &Attempt| {
        (one.origin, &one.refusal) == (other.origin, &other.refusal) && one.several().is_some()
    };
    let line = |attempts: &[Attempt]| match attempts {
        [first, _, ..] => {
            let places = attempts.iter().filter_map(|attempt| attempt.place.as_ref());
            let places: Vec<_> = places.map(|place| place.display().to_string()).collect();
            let refusal = first.several().unwrap_or_default();
            format!("\n  {}: {} {refusal}", first.origin, places.join(", "))
        }
        _ => attempts
            .iter()
            .map(|attempt| format!("\n  {attempt}"))
            .collect(),
    };
    tried.chunk_by(alike).map(line).collect()
}

fn advice(tried: &[Attempt]) -> &'static str {
    match tried {
        [
            Attempt {
                origin: Origin::Option,
                ..
            },
        ] => {
            "help: name the folder of a toolkit, which holds bin/nvcc and bin/ptxas, or make no choice"
        }
        _ => {
            "help: `cargo cudalink toolkit install` installs one without root; CUDA_HOME names one that lies elsewhere"
        }
    }
}

/// Every toolkit of this machine, and every place without one.
#[derive(Debug)]
pub struct Survey {
    /// The toolkits; the first is the one [`Search::find`] returns. None is named twice.
    pub found: Vec<Toolkit>,
    /// The places that do not serve.
    pub tried: Vec<Attempt>,
}

type Outcome = Result<Toolkit, Attempt>;

/// A search for a toolkit.
///
/// The places are, in this order: the folder the caller names, `CUDA_HOME`, `CUDA_PATH`, `nvcc` on `PATH`, folders
/// of the system, Python packages of the environment that is switched on, the cache, packages of Python itself, and Python
/// packages without headers, which some projects bring for `ptxas` alone. A folder the caller names is the only place that is looked at.
#[derive(Debug, Clone)]
pub struct Search<'e> {
    environment: &'e Environment,
    option: Option<PathBuf>,
}

impl<'e> Search<'e> {
    /// A search in this environment.
    #[must_use]
    pub fn new(environment: &'e Environment) -> Self {
        Self {
            environment,
            option: None,
        }
    }

    pub(crate) fn environment(&self) -> &'e Environment {
        self.environment
    }

    /// Looks at `root` and nowhere else.
    #[must_use]
    pub fn explicit(mut self, root: impl Into<PathBuf>) -> Self {
        self.option = Some(root.into());
        self
    }

    /// Returns the first toolkit. Places behind it are not looked at.
    ///
    /// # Errors
    ///
    /// Fails when no place serves; the error lists them.
    pub fn find(&self) -> Result<Toolkit, NotFound> {
        let mut tried = Vec::new();
        for outcome in self.outcomes() {
            match outcome {
                Ok(mut toolkit) => {
                    toolkit.passed_over = tried;
                    return Ok(toolkit);
                }
                Err(attempt) => tried.push(attempt),
            }
        }
        Err(NotFound { tried })
    }

    /// Returns the toolkit that a compiler belongs to, as it lies in `bin`. A name without a folder is looked up in `PATH`.
    ///
    /// nvcc itself takes the other programs from beside it as it was called, so that links are followed only where
    /// they lead into no toolkit.
    #[must_use]
    pub fn around(&self, nvcc: &Path) -> Option<Toolkit> {
        let program = match nvcc.components().count() {
            1 => {
                let programs = self.environment.programs(nvcc.to_str()?);
                programs.into_iter().next()?
            }
            _ => self.environment.current_dir.join(nvcc),
        };
        [program.clone(), canonical(&program)]
            .iter()
            .filter_map(|program| program.parent()?.parent())
            .find_map(|root| self.open(root, Origin::Option).ok())
    }

    /// Looks at every place.
    #[must_use]
    pub fn survey(&self) -> Survey {
        let mut survey = Survey {
            found: Vec::new(),
            tried: Vec::new(),
        };
        let mut seen = HashSet::new();
        for outcome in self.outcomes() {
            match outcome {
                Ok(toolkit) => {
                    if seen.insert(canonical(toolkit.root())) {
                        survey.found.push(toolkit);
                    }
                }
                Err(attempt) => survey.tried.push(attempt),
            }
        }
        survey
    }

    /// Applies one rule after the other, each only when its turn comes.
    fn outcomes(&self) -> impl Iterator<Item = Outcome> {
        let rules: Vec<fn(&Self) -> Vec<Outcome>> = match self.option {
            Some(_) => vec![Self::in_option],
            None => vec![
                Self::in_variables,
                Self::on_path,
                Self::in_system_folders,
                Self::in_environments_of_python,
                Self::in_cache,
                // Nobody has switched them on, and Python has to be started to find them.
                Self::in_packages_of_python,
                Self::in_packages_without_headers,
            ],
        };
        rules.into_iter().flat_map(move |rule| rule(self))
    }

    fn in_option(&self) -> Vec<Outcome> {
        self.option
            .iter()
            .map(|root| self.open(root, Origin::Option))
            .collect()
    }

    fn in_variables(&self) -> Vec<Outcome> {
        [
            ("CUDA_HOME", &self.environment.cuda_home),
            ("CUDA_PATH", &self.environment.cuda_path),
        ]
        .into_iter()
        .map(|(name, value)| match value {
            Some(root) => self.open(root, Origin::Variable(name)),
            None => Err(Attempt {
                origin: Origin::Variable(name),
                place: None,
                refusal: Refusal::NotSet,
            }),
        })
        .collect()
    }

    /// Follows links, because `/usr/bin/nvcc` is often one into the toolkit. Every `nvcc` is tried: the first may be
    /// a compiler cache or a script.
    fn on_path(&self) -> Vec<Outcome> {
        let programs = self.environment.programs(Tool::Nvcc.name());
        if programs.is_empty() {
            let refusal = Refusal::NoProgram(Tool::Nvcc.name());
            return vec![Err(Attempt {
                origin: Origin::Path,
                place: None,
                refusal,
            })];
        }
        programs
            .into_iter()
            .map(|program| {
                let program = canonical(&program);
                let root = program.parent().and_then(Path::parent).unwrap_or(&program);
                self.open(root, Origin::Path)
            })
            .collect()
    }

    fn in_system_folders(&self) -> Vec<Outcome> {
        self.environment
            .system_folders
            .iter()
            .flat_map(|folder| versions_of(folder))
            .map(|root| self.open(&root, Origin::System))
            .collect()
    }

    fn in_environments_of_python(&self) -> Vec<Outcome> {
        self.in_site_packages(site_packages::of_environments(self.environment))
    }

    fn in_packages_of_python(&self) -> Vec<Outcome> {
        match site_packages::of_python(self.environment) {
            Ok(folders) => self.in_site_packages(folders),
            Err(failure) => vec![Err(Attempt {
                origin: Origin::SitePackages,
                place: failure.program,
                refusal: failure.refusal,
            })],
        }
    }

    fn in_site_packages(&self, folders: Vec<PathBuf>) -> Vec<Outcome> {
        folders
            .into_iter()
            .flat_map(|folder| {
                let roots = site_packages::roots(&folder);
                if roots.is_empty() {
                    let refusal = Refusal::Holds("nvidia/cu13 or nvidia/cuda_nvcc");
                    return vec![Err(Attempt {
                        origin: Origin::SitePackages,
                        place: Some(folder),
                        refusal,
                    })];
                }
                let compiles = |toolkit: Toolkit| match toolkit.include_dir() {
                    Ok(_) => Ok(toolkit),
                    Err(_) => Err(Attempt {
                        origin: Origin::SitePackages,
                        place: Some(toolkit.root().to_owned()),
                        refusal: Refusal::Lacks(Path::new("include").join(RUNTIME_HEADER)),
                    }),
                };
                roots
                    .iter()
                    .map(|root| self.open(root, Origin::SitePackages).and_then(compiles))
                    .collect()
            })
            .collect()
    }

    /// What assembles, and cannot compile CUDA C++.
    fn in_packages_without_headers(&self) -> Vec<Outcome> {
        let of_python = site_packages::of_python(self.environment)
            .into_iter()
            .flatten();
        let folders = site_packages::of_environments(self.environment).into_iter();
        let roots = folders
            .chain(of_python)
            .flat_map(|f| site_packages::roots(&f));
        let toolkits = roots.filter_map(|root| self.open(&root, Origin::SitePackages).ok());
        let bare = toolkits.filter(|toolkit| toolkit.include_dir().is_err());
        bare.map(Ok).collect()
    }

    fn in_cache(&self) -> Vec<Outcome> {
        let Some(cache) = Cache::of(self.environment) else {
            return vec![Err(Attempt {
                origin: Origin::Cache,
                place: None,
                refusal: Refusal::NoHome,
            })];
        };
        let roots = cache.toolkits();
        if roots.is_empty() {
            let place = cache.folder().to_owned();
            let refusal = if place.is_dir() {
                Refusal::Holds("toolkit")
            } else {
                Refusal::NoFolder
            };
            return vec![Err(Attempt {
                origin: Origin::Cache,
                place: Some(place),
                refusal,
            })];
        }
        roots
            .iter()
            .map(|root| self.open(root, Origin::Cache))
            .collect()
    }

    fn open(&self, root: &Path, origin: Origin) -> Outcome {
        let root = self.environment.current_dir.join(root);
        Toolkit::open(root.clone(), origin).map_err(|refusal| Attempt {
            origin,
            place: Some(root),
            refusal,
        })
    }
}

/// The folder itself, or for `name-*` every folder of that name with a version, the newest first.
fn versions_of(folder: &Path) -> Vec<PathBuf> {
    let prefix = folder
        .file_name()
        .and_then(|name| name.to_str())
        .and_then(|name| name.strip_suffix('*'));
    let (Some(prefix), Some(parent)) = (prefix, folder.parent()) else {
        return vec![folder.to_owned()];
    };
    let mut found: Vec<(Vec<u64>, PathBuf)> = entries(parent)
        .into_iter()
        .filter_map(|path| {
            let version = path.file_name()?.to_str()?.strip_prefix(prefix)?;
            let numbers = version
                .split('.')
                .map(str::parse)
                .collect::<Result<_, _>>()
                .ok()?;
            Some((numbers, path))
        })
        .collect();
    if found.is_empty() {
        // The pattern itself stands in the list of places without a toolkit.
        return vec![folder.to_owned()];
    }
    found.sort();
    found.into_iter().rev().map(|(_, path)| path).collect()
}

/// What lies in a folder; nothing when it cannot be read.
pub(crate) fn entries(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .collect()
}

fn canonical(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}
