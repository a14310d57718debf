//! Installs a toolkit into the user's cache folder.
//!
//! A toolkit appears there whole or not at all: packages are unpacked into a folder beside it, which is renamed when
//! everything is in place. One install of a version runs at a time; the others wait for it and use its result. What
//! an interrupted install has left is removed by the next.

use std::collections::BTreeMap;
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use semver::Version;

use crate::cache::Cache;
use crate::environment::{CACHE_VARIABLE, Environment};
use crate::layout;
use crate::packages::{self, DEFAULT_VERSION, Package, UnknownVersion};
use crate::pip::{NoPip, Pip, PipError};
use crate::search::Origin;
use crate::toolkit::{Tool, Toolkit};
use crate::version;
use crate::wheel::{self, WheelError};

/// A toolkit could not be installed. Nothing half-made is left to be found.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// The version is not published.
    #[error(transparent)]
    Version(#[from] UnknownVersion),
    /// There is no folder to install into.
    #[error("the user has no home folder; set {CACHE_VARIABLE} to a folder to install into")]
    NoCache,
    /// There is nothing to fetch packages with.
    #[error(transparent)]
    NoPip(#[from] NoPip),
    /// A package cannot be fetched.
    #[error(transparent)]
    Pip(#[from] PipError),
    /// A package cannot be unpacked.
    #[error(transparent)]
    Wheel(#[from] WheelError),
    /// A package lacks what the toolkit needs.
    #[error(
        "{requirement} has no {file}, so CUDA {version} cannot be installed from packages; choose another version"
    )]
    Incomplete {
        /// The package.
        requirement: String,
        /// What it lacks.
        file: &'static str,
        /// The version that was asked for.
        version: Version,
    },
    /// The installed compiler does not work on this machine.
    #[error("the installed toolkit does not work: {0}")]
    Broken(String),
    /// A file of the cache cannot be made or removed.
    #[error("{} cannot be {action} ({CACHE_VARIABLE} chooses another cache folder)", path.display())]
    File {
        /// The file or folder.
        path: PathBuf,
        /// What was to be done with it.
        action: &'static str,
        /// The system's reason.
        source: io::Error,
    },
}

/// What an install is doing, for whoever shows it.
#[derive(Debug, Clone, Copy)]
pub enum Event<'a> {
    /// Another process installs the same version; this one waits for it.
    Waiting,
    /// The toolkit is there already and is used as it is.
    Present(&'a Path),
    /// The install begins.
    Begin {
        /// Where the toolkit will be.
        root: &'a Path,
        /// How many packages it is made of.
        packages: usize,
    },
    /// A package is about to be fetched.
    Fetch {
        /// Its number, from 1.
        number: usize,
        /// How many there are.
        packages: usize,
        /// Its name and version.
        requirement: &'a str,
    },
    /// So many bytes of the package have arrived.
    Arrived(u64),
    /// The package is being unpacked.
    Unpack,
    /// The toolkit is in place.
    Done(&'a Path),
}

/// Installs one version of the toolkit.
#[derive(Debug, Clone)]
pub struct Installer<'e> {
    environment: &'e Environment,
    version: Version,
    force: bool,
}

impl<'e> Installer<'e> {
    /// Installs [`DEFAULT_VERSION`] into the cache of this environment.
    #[must_use]
    pub fn new(environment: &'e Environment) -> Self {
        Self {
            environment,
            version: DEFAULT_VERSION,
            force: false,
        }
    }

    /// Chooses another version.
    #[must_use]
    pub fn version(mut self, version: Version) -> Self {
        self.version = version;
        self
    }

    /// Replaces a toolkit that is there already.
    #[must_use]
    pub fn force(mut self, force: bool) -> Self {
        self.force = force;
        self
    }

    /// Installs the toolkit, unless it is there, and returns it.
    ///
    /// # Errors
    ///
    /// Fails when the version does not exist, packages cannot be fetched, or the cache cannot be written.
    pub fn install(&self, progress: &mut dyn FnMut(Event<'_>)) -> Result<Toolkit, InstallError> {
        let packages = packages::of_toolkit(&self.version)?;
        let cache = Cache::of(self.environment).ok_or(InstallError::NoCache)?;
        let root = cache.root(&self.version);
        if let Some(toolkit) = self.present(&root, &packages) {
            progress(Event::Present(&root));
            return Ok(toolkit);
        }

        fs::create_dir_all(cache.folder()).map_err(file_error(cache.folder(), "made"))?;
        let _lock = self.lock(&cache, progress)?;
        // Another process may have installed it while this one waited.
        if let Some(toolkit) = self.present(&root, &packages) {
            progress(Event::Present(&root));
            return Ok(toolkit);
        }

        tidy_up(&cache, &self.version);
        let pip = Pip::find(self.environment)?;
        let partial = tempfile::Builder::new()
            .prefix(&Cache::partial_prefix(&self.version))
            .tempdir_in(cache.folder())
            .map_err(file_error(cache.folder(), "written to"))?;
        progress(Event::Begin {
            root: &root,
            packages: packages.len(),
        });
        let made = self.make(&pip, partial.path(), &packages, progress)?;
        self.put(&cache, &made, &root)?;
        partial
            .close()
            .map_err(file_error(cache.folder(), "tidied up"))?;
        tidy_up(&cache, &self.version);
        let toolkit = open(&root)?;
        progress(Event::Done(&root));
        Ok(toolkit)
    }

    /// The toolkit, if it is there and whole, and may be used as it is.
    fn present(&self, root: &Path, packages: &[Package]) -> Option<Toolkit> {
        let whole = !self.force
            && version::stated(root).as_ref() == Some(&self.version)
            && packages
                .iter()
                .flat_map(|package| package.provides)
                .all(|file| root.join(file).is_file());
        if whole { open(root).ok() } else { None }
    }

    /// Takes the lock of this version. It ends with the process, however that ends, so no stale lock can stay.
    fn lock(
        &self,
        cache: &Cache,
        progress: &mut dyn FnMut(Event<'_>),
    ) -> Result<File, InstallError> {
        let path = cache.lock(&self.version);
        let lock = File::create(&path).map_err(file_error(&path, "made"))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                progress(Event::Waiting);
                lock.lock().map_err(file_error(&path, "locked"))?;
            }
            Err(TryLockError::Error(source)) => return Err(file_error(&path, "locked")(source)),
        }
        Ok(lock)
    }

    /// Makes the whole toolkit in a folder below `partial`.
    fn make(
        &self,
        pip: &Pip,
        partial: &Path,
        packages: &[Package],
        progress: &mut dyn FnMut(Event<'_>),
    ) -> Result<PathBuf, InstallError> {
        let toolkit = partial.join("toolkit");
        fs::create_dir(&toolkit).map_err(file_error(&toolkit, "made"))?;
        let prefix = packages::root_in_packages(&self.version);
        let mut components = BTreeMap::new();
        for (index, package) in packages.iter().enumerate() {
            let Package {
                requirement,
                only,
                provides,
            } = package;
            progress(Event::Fetch {
                number: index + 1,
                packages: packages.len(),
                requirement,
            });
            let folder = partial.join(format!("package-{index}"));
            let wheel = pip.download(requirement, &folder, |bytes| {
                progress(Event::Arrived(bytes))
            })?;
            progress(Event::Unpack);
            wheel::unpack(&wheel, &prefix, *only, &toolkit)?;
            if let Some(&file) = provides.iter().find(|file| !toolkit.join(file).is_file()) {
                let requirement = requirement.clone();
                return Err(InstallError::Incomplete {
                    requirement,
                    file,
                    version: self.version.clone(),
                });
            }
            components.extend(wheel::name_and_version(&wheel));
            remove(&folder)?;
        }

        layout::complete(&toolkit).map_err(file_error(&toolkit, "completed"))?;
        layout::write_versions(&toolkit, &self.version, &components)
            .map_err(file_error(&toolkit.join("version.json"), "written"))?;
        let nvcc = toolkit.join("bin").join(Tool::Nvcc.name());
        let version =
            version::ask(&nvcc).map_err(|error| InstallError::Broken(error.to_string()))?;
        if version != self.version {
            return Err(InstallError::Broken(format!(
                "its nvcc says that it is {version}, not {}",
                self.version
            )));
        }
        Ok(toolkit)
    }

    /// Moves the finished toolkit to its place.
    fn put(&self, cache: &Cache, made: &Path, root: &Path) -> Result<(), InstallError> {
        let old = cache.old(&self.version);
        remove(&old)?;
        if root.exists() {
            fs::rename(root, &old).map_err(file_error(root, "moved away"))?;
        }
        fs::rename(made, root).map_err(file_error(root, "put in place"))?;
        remove(&old)
    }
}

fn open(root: &Path) -> Result<Toolkit, InstallError> {
    Toolkit::open(root.to_owned(), Origin::Cache)
        .map_err(|refusal| InstallError::Broken(format!("{} {refusal}", root.display())))
}

/// Removes what interrupted installs have left. A pip that outlived its install may still write there: nobody depends on
/// what it makes, and by the end of this install it has ended, too.
fn tidy_up(cache: &Cache, version: &Version) {
    for leftover in cache.leftovers(version) {
        drop(fs::remove_dir_all(leftover));
    }
}

/// Removes a folder that may not exist.
fn remove(folder: &Path) -> Result<(), InstallError> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(file_error(folder, "removed")(error))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

fn file_error(path: &Path, action: &'static str) -> impl FnOnce(io::Error) -> InstallError {
    let path = path.to_owned();
    move |source| InstallError::File {
        path,
        action,
        source,
    }
}
