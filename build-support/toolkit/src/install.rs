//! Installs a toolkit into the user's cache folder.
//!
//! A toolkit appears there whole or not at all: packages are unpacked into a folder beside it, which is renamed when
//! everything is in place. One install of a version runs at a time; the others wait for it and use its result. What
//! an interrupted install has left is removed by the next. A library that is added to a finished toolkit is unpacked there,
//! too; its files are moved into the toolkit one by one, and it counts as there when `version.json` names it.

use std::collections::BTreeMap;
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use semver::Version;

use crate::cache::Cache;
use crate::environment::{CACHE_VARIABLE, Environment};
use crate::layout;
use crate::library::{self, Library, NoLibrary};
use crate::packages::{self, DEFAULT_VERSION, Package, UnknownVersion};
use crate::pip::{Heard, NoPip, Pip, PipError};
use crate::search::Origin;
use crate::stubs;
use crate::toolkit::{Tool, Toolkit};
use crate::version;
use crate::wheel::{self, WheelError};

/// A toolkit could not be installed. Nothing half-made is left to be found.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// The version is not published.
    #[error(transparent)]
    Version(#[from] UnknownVersion),
    /// A library does not belong to the version.
    #[error(transparent)]
    Library(#[from] NoLibrary),
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
    /// The package did not arrive whole, and is fetched again.
    Again,
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
    libraries: Vec<&'static Library>,
    force: bool,
}

impl<'e> Installer<'e> {
    /// Installs [`DEFAULT_VERSION`] into the cache of this environment.
    #[must_use]
    pub fn new(environment: &'e Environment) -> Self {
        Self {
            environment,
            version: DEFAULT_VERSION,
            libraries: Vec::new(),
            force: false,
        }
    }

    /// Chooses another version.
    #[must_use]
    pub fn version(mut self, version: Version) -> Self {
        self.version = version;
        self
    }

    /// Adds libraries, and those that they need.
    #[must_use]
    pub fn libraries(mut self, libraries: &[&'static Library]) -> Self {
        self.libraries = library::with_needs(libraries);
        self
    }

    /// Replaces a toolkit that is there already, and keeps the choice of libraries in it.
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
        if let Some(toolkit) = self.finished(&root, &packages) {
            progress(Event::Present(&root));
            return Ok(toolkit);
        }

        fs::create_dir_all(cache.folder()).map_err(file_error(cache.folder(), "made"))?;
        let _lock = self.lock(&cache, progress)?;
        // Another process may have installed it while this one waited.
        if let Some(toolkit) = self.finished(&root, &packages) {
            progress(Event::Present(&root));
            return Ok(toolkit);
        }

        tidy_up(&cache, &self.version);
        let work = Work {
            version: &self.version,
            pip: Pip::find(self.environment)?,
            partial: tempfile::Builder::new()
                .prefix(&Cache::partial_prefix(&self.version))
                .tempdir_in(cache.folder())
                .map_err(file_error(cache.folder(), "written to"))?,
        };
        if self.present(&root, &packages).is_some() {
            let missing = |library: &&'static Library| !self.has(&root, library);
            let added: Vec<_> = self.libraries.iter().copied().filter(missing).collect();
            work.add(&added, &root, progress)?;
        } else {
            let made = work.make(packages, &self.with_those_of(&root), &root, progress)?;
            self.put(&cache, &made, &root)?;
        }
        let partial = work.partial;
        partial
            .close()
            .map_err(file_error(cache.folder(), "tidied up"))?;
        tidy_up(&cache, &self.version);
        let toolkit = open(&root)?;
        progress(Event::Done(&root));
        Ok(toolkit)
    }

    /// The toolkit, if it is there with all that was asked for.
    fn finished(&self, root: &Path, packages: &[Package]) -> Option<Toolkit> {
        let toolkit = self.present(root, packages)?;
        let has_all = self.libraries.iter().all(|library| self.has(root, library));
        if has_all {
            // Older installs lack some. Who may not write there does without, as before.
            drop(layout::complete(root).and_then(|()| stubs::complete(root)));
        }
        has_all.then_some(toolkit)
    }

    /// Whether a library is there whole.
    fn has(&self, root: &Path, library: &Library) -> bool {
        let component = library.component(&self.version);
        library.is_in(root) && version::components(root).contains_key(&component)
    }

    /// The libraries that were chosen, and those that the toolkit has which is replaced.
    fn with_those_of(&self, old: &Path) -> Vec<&'static Library> {
        let components = version::components(old);
        let there = |library: &&Library| components.contains_key(&library.component(&self.version));
        let kept = library::LIBRARIES.iter().filter(there);
        let wanted: Vec<_> = kept.chain(self.libraries.iter().copied()).collect();
        library::with_needs(&wanted)
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
    ) -> Result<Lock, InstallError> {
        let path = cache.lock(&self.version);
        loop {
            let file = File::create(&path).map_err(file_error(&path, "made"))?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    progress(Event::Waiting);
                    file.lock().map_err(file_error(&path, "locked"))?;
                }
                Err(TryLockError::Error(source)) => {
                    return Err(file_error(&path, "locked")(source));
                }
            }
            // Whoever was waited for has removed the file, and the next one would lock another.
            if is_at(&file, &path) {
                return Ok(Lock { _file: file, path });
            }
        }
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

/// The right to install a version. Its file goes with it.
struct Lock {
    _file: File,
    path: PathBuf,
}

impl Drop for Lock {
    fn drop(&mut self) {
        drop(fs::remove_file(&self.path));
    }
}

/// Whether a path leads to this very file.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let id = |metadata: fs::Metadata| (metadata.dev(), metadata.ino());
    match (file.metadata(), fs::metadata(path)) {
        (Ok(held), Ok(there)) => id(held) == id(there),
        (Err(_), _) | (_, Err(_)) => false,
    }
}

#[cfg(not(unix))]
fn is_at(_file: &File, _path: &Path) -> bool {
    true
}

/// An install that has begun.
struct Work<'v> {
    version: &'v Version,
    pip: Pip,
    /// Where it works, beside the finished toolkits.
    partial: tempfile::TempDir,
}

impl Work<'_> {
    /// Makes the whole toolkit, in a folder that is returned.
    fn make(
        &self,
        mut packages: Vec<Package>,
        libraries: &[&'static Library],
        root: &Path,
        progress: &mut dyn FnMut(Event<'_>),
    ) -> Result<PathBuf, InstallError> {
        // Of what belongs to every toolkit, nothing is fetched twice.
        let others = libraries
            .iter()
            .copied()
            .filter(|library| !packages.iter().any(|package| library.is_held_by(package)));
        packages.extend(self.releases(&others.collect::<Vec<_>>())?);
        let toolkit = self.folder("toolkit")?;
        progress(Event::Begin {
            root,
            packages: packages.len(),
        });
        let components = self.fetch(&packages, &toolkit, progress)?;
        layout::complete(&toolkit).map_err(file_error(&toolkit, "completed"))?;
        stubs::complete(&toolkit).map_err(file_error(&toolkit, "completed"))?;
        layout::write_versions(&toolkit, self.version, &components)
            .map_err(file_error(&toolkit.join("version.json"), "written"))?;
        let nvcc = toolkit.join("bin").join(Tool::Nvcc.name());
        let version =
            version::ask(&nvcc).map_err(|error| InstallError::Broken(error.to_string()))?;
        if version != *self.version {
            return Err(InstallError::Broken(format!(
                "its nvcc says that it is {version}, not {}",
                self.version
            )));
        }
        Ok(toolkit)
    }

    /// Adds libraries to a finished toolkit.
    fn add(
        &self,
        libraries: &[&'static Library],
        root: &Path,
        progress: &mut dyn FnMut(Event<'_>),
    ) -> Result<(), InstallError> {
        let packages = self.releases(libraries)?;
        let unpacked = self.folder("libraries")?;
        progress(Event::Begin {
            root,
            packages: packages.len(),
        });
        let components = self.fetch(&packages, &unpacked, progress)?;
        layout::move_into(&unpacked, root).map_err(file_error(root, "written to"))?;
        layout::complete(root).map_err(file_error(root, "completed"))?;
        stubs::complete(root).map_err(file_error(root, "completed"))?;
        layout::add_versions(root, self.partial.path(), &components)
            .map_err(file_error(&root.join("version.json"), "written"))
    }

    fn folder(&self, name: &str) -> Result<PathBuf, InstallError> {
        let folder = self.partial.path().join(name);
        fs::create_dir(&folder).map_err(file_error(&folder, "made"))?;
        Ok(folder)
    }

    /// The packages of libraries, in the releases that belong to the toolkit.
    fn releases(&self, libraries: &[&'static Library]) -> Result<Vec<Package>, InstallError> {
        let mut named = BTreeMap::new();
        if libraries.iter().any(|library| library.is_of_toolkit()) {
            let folder = self.partial.path().join("release");
            let release = library::release_of(self.version);
            let wheel = self.pip.download(&release, &folder, |_| {})?;
            named = library::named_in(&wheel::metadata(&wheel)?);
            remove(&folder)?;
        }
        let packages = libraries
            .iter()
            .map(|library| library.to_fetch(self.version, &named));
        Ok(packages.collect::<Result<_, _>>()?)
    }

    /// Fetches packages and unpacks them into a folder; returns their names and versions.
    fn fetch(
        &self,
        packages: &[Package],
        into: &Path,
        progress: &mut dyn FnMut(Event<'_>),
    ) -> Result<BTreeMap<String, String>, InstallError> {
        let mut components = BTreeMap::new();
        for (index, package) in packages.iter().enumerate() {
            let Package {
                requirement,
                prefix,
                only,
                provides,
            } = package;
            progress(Event::Fetch {
                number: index + 1,
                packages: packages.len(),
                requirement,
            });
            let folder = self.partial.path().join(format!("package-{index}"));
            let wheel = self.pip.download(requirement, &folder, |heard| {
                progress(match heard {
                    Heard::Arrived(bytes) => Event::Arrived(bytes),
                    Heard::Again => Event::Again,
                });
            })?;
            progress(Event::Unpack);
            wheel::unpack(&wheel, prefix, *only, into)?;
            if let Some(&file) = provides.iter().find(|file| !into.join(file).is_file()) {
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
        Ok(components)
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
