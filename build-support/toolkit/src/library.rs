//! Libraries of NVIDIA that are no part of the toolkit's packages and can be installed beside them.

use std::collections::BTreeMap;
use std::path::Path;

use semver::Version;

use crate::packages::{DEFAULT_VERSION, Package, root_in_packages};

/// A library that an install adds to a toolkit.
#[derive(Debug, PartialEq, Eq)]
pub struct Library {
    /// What users call it.
    pub name: &'static str,
    /// The package that holds it; one of [`Releases::Own`] has the major version of CUDA behind its name.
    package: &'static str,
    releases: Releases,
    /// A file that every release of it has.
    provides: &'static [&'static str],
    /// Other libraries that programs with this one cannot do without, or that build scripts name beside it.
    needs: &'static [&'static str],
}

/// Who says which release of a library belongs to a toolkit.
#[derive(Debug, PartialEq, Eq)]
enum Releases {
    /// The package of the whole toolkit names it.
    OfToolkit,
    /// Nobody: the newest one serves every toolkit of a major version. Its files lie below this folder.
    Own(&'static str),
}

/// Every library that can be chosen, in the order of their names.
pub const LIBRARIES: &[Library] = &[
    of_toolkit(
        "cublas",
        "nvidia-cublas",
        &["include/cublas_v2.h"],
        &["culibos"],
    ),
    own(
        "cudnn",
        "nvidia-cudnn",
        "nvidia/cudnn",
        &["include/cudnn.h"],
        &["cublas"],
    ),
    of_toolkit(
        "cufft",
        "nvidia-cufft",
        &["include/cufft.h"],
        &["nvjitlink"],
    ),
    of_toolkit("cufile", "nvidia-cufile", &["include/cufile.h"], &[]),
    of_toolkit("culibos", "nvidia-cuda-culibos", &["lib/libculibos.a"], &[]),
    of_toolkit("cupti", "nvidia-cuda-cupti", &["include/cupti.h"], &[]),
    of_toolkit("curand", "nvidia-curand", &["include/curand.h"], &[]),
    of_toolkit(
        "cusolver",
        "nvidia-cusolver",
        &["include/cusolverDn.h"],
        &["cublas", "cusparse", "nvjitlink"],
    ),
    of_toolkit(
        "cusparse",
        "nvidia-cusparse",
        &["include/cusparse.h"],
        &["nvjitlink"],
    ),
    own(
        "nccl",
        "nvidia-nccl",
        "nvidia/nccl",
        &["include/nccl.h"],
        &[],
    ),
    of_toolkit("npp", "nvidia-npp", &["include/npp.h"], &[]),
    of_toolkit("nvfatbin", "nvidia-nvfatbin", &["include/nvFatbin.h"], &[]),
    of_toolkit(
        "nvjitlink",
        "nvidia-nvjitlink",
        &["include/nvJitLink.h"],
        &[],
    ),
    of_toolkit("nvjpeg", "nvidia-nvjpeg", &["include/nvjpeg.h"], &[]),
    of_toolkit("nvml", "nvidia-nvml-dev", &["include/nvml.h"], &[]),
    of_toolkit(
        "nvptxcompiler",
        "nvidia-nvptxcompiler",
        &["include/nvPTXCompiler.h"],
        &[],
    ),
    of_toolkit("nvrtc", "nvidia-cuda-nvrtc", &["include/nvrtc.h"], &[]),
    of_toolkit(
        "profiler",
        "nvidia-cuda-profiler-api",
        &["include/cuda_profiler_api.h"],
        &[],
    ),
];

const fn of_toolkit(
    name: &'static str,
    package: &'static str,
    provides: &'static [&'static str],
    needs: &'static [&'static str],
) -> Library {
    Library {
        name,
        package,
        releases: Releases::OfToolkit,
        provides,
        needs,
    }
}

const fn own(
    name: &'static str,
    package: &'static str,
    folder: &'static str,
    provides: &'static [&'static str],
    needs: &'static [&'static str],
) -> Library {
    Library {
        releases: Releases::Own(folder),
        ..of_toolkit(name, package, provides, needs)
    }
}

/// The package of the whole toolkit has no such library.
#[derive(Debug, thiserror::Error)]
#[error("CUDA {version} has no package of {library}: {release} does not name {package}")]
pub struct NoLibrary {
    /// The library that was asked for.
    pub library: &'static str,
    /// The toolkit.
    pub version: Version,
    /// The package that was looked for.
    package: &'static str,
    /// Where it was looked for.
    release: String,
}

impl Library {
    /// The library that users call so.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        LIBRARIES.iter().find(|library| library.name == name)
    }

    /// The library that has what host linkers call so: `cublasLt` for `-lcublasLt`.
    #[must_use]
    pub fn linked_as(name: &str) -> Option<&'static Self> {
        Self::named(match name {
            "cublasLt" | "nvblas" => "cublas",
            "cufftw" => "cufft",
            "cusolverMg" => "cusolver",
            "nvJitLink" => "nvjitlink",
            "nvidia-ml" => "nvml",
            "nvptxcompiler_static" => "nvptxcompiler",
            parts if parts.starts_with("npp") => "npp",
            other => other,
        })
    }

    /// Whether the toolkit in this folder has it, whoever has put it there.
    #[must_use]
    pub fn is_in(&self, root: &Path) -> bool {
        self.provides.iter().all(|file| root.join(file).is_file())
    }

    /// Whether this package is the one that has it.
    pub(crate) fn is_held_by(&self, package: &Package) -> bool {
        self.provides == package.provides
    }

    /// Whether the package of the toolkit has to be asked for the release.
    pub(crate) fn is_of_toolkit(&self) -> bool {
        self.releases == Releases::OfToolkit
    }

    /// What the package is called for this toolkit.
    fn package_for(&self, version: &Version) -> String {
        match self.releases {
            Releases::OfToolkit => self.package.to_owned(),
            Releases::Own(_) => format!("{}-cu{}", self.package, version.major),
        }
    }

    /// The name in the toolkit's `version.json`.
    pub(crate) fn component(&self, version: &Version) -> String {
        let package = self.package_for(version);
        let name = package.strip_prefix("nvidia-").unwrap_or(&package);
        name.replace('-', "_")
    }

    /// What to fetch for this toolkit, where its package names these releases.
    pub(crate) fn to_fetch(
        &self,
        version: &Version,
        named: &BTreeMap<String, String>,
    ) -> Result<Package, NoLibrary> {
        let package = self.package_for(version);
        let (requirement, prefix) = match self.releases {
            Releases::Own(folder) => (package, folder.to_owned()),
            Releases::OfToolkit => {
                let release = named.get(&package).ok_or_else(|| NoLibrary {
                    library: self.name,
                    version: version.clone(),
                    package: self.package,
                    release: release_of(version),
                })?;
                (format!("{package}{release}"), root_in_packages(version))
            }
        };
        Ok(Package {
            requirement,
            prefix,
            only: None,
            provides: self.provides,
        })
    }
}

/// The libraries and all that they need, each once, in the order of their names.
pub(crate) fn with_needs(wanted: &[&'static Library]) -> Vec<&'static Library> {
    let mut names: Vec<&str> = wanted.iter().map(|library| library.name).collect();
    let mut next = 0;
    while let Some(name) = names.get(next) {
        let needs = Library::named(name).map_or(&[][..], |library| library.needs);
        let new: Vec<&str> = needs
            .iter()
            .copied()
            .filter(|need| !names.contains(need))
            .collect();
        names.extend(new);
        next += 1;
    }
    LIBRARIES
        .iter()
        .filter(|library| names.contains(&library.name))
        .collect()
}

/// The package whose metadata name the releases that belong to a toolkit. It holds nothing else.
pub(crate) fn release_of(version: &Version) -> String {
    match *version == DEFAULT_VERSION {
        true => "cuda-toolkit==13.0.2".to_owned(),
        false => format!("cuda-toolkit=={}.{}.*", version.major, version.minor),
    }
}

/// The requirements in metadata of a package, by the names of the packages: `==13.1.0.3.*` for `nvidia-cublas`.
pub(crate) fn named_in(metadata: &str) -> BTreeMap<String, String> {
    let requirements = metadata
        .lines()
        .filter_map(|line| line.strip_prefix("Requires-Dist:"));
    let parts = requirements.filter_map(|requirement| {
        let wanted = requirement.split(';').next()?.trim();
        let is_name = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        let (name, release) = wanted.split_at(wanted.find(|c| !is_name(c))?);
        // A list may stand in brackets; what no version has is nothing to hand on to another program.
        let release: String = release.chars().filter(|c| !"() ".contains(*c)).collect();
        let is_release = |c: char| c.is_ascii_alphanumeric() || "=<>!~.,*+".contains(c);
        release
            .chars()
            .all(is_release)
            .then(|| (name.to_ascii_lowercase().replace('_', "-"), release))
    });
    parts.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_library_needs_comes_with_it() {
        let names = |wanted: &[&str]| -> Vec<&str> {
            let wanted: Vec<_> = wanted
                .iter()
                .filter_map(|name| Library::named(name))
                .collect();
            with_needs(&wanted)
                .iter()
                .map(|library| library.name)
                .collect()
        };
        assert_eq!(names(&["curand"]), ["curand"]);
        assert_eq!(
            names(&["cusolver", "cublas"]),
            ["cublas", "culibos", "cusolver", "cusparse", "nvjitlink"]
        );
        assert_eq!(names(&["cudnn"]), ["cublas", "cudnn", "culibos"]);
        for library in LIBRARIES {
            assert!(
                library
                    .needs
                    .iter()
                    .all(|need| Library::named(need).is_some())
            );
        }
        assert!(LIBRARIES.is_sorted_by_key(|library| library.name));
    }

    #[test]
    fn libraries_are_known_by_what_is_linked() {
        let name = |linked: &str| Library::linked_as(linked).map(|library| library.name);
        assert_eq!(name("cublasLt"), Some("cublas"));
        assert_eq!(name("nppial"), Some("npp"));
        assert_eq!(name("nccl"), Some("nccl"));
        assert_eq!(name("cublas_static"), None);
        assert_eq!(name("cudart"), None);
    }

    #[test]
    fn releases_are_those_that_the_toolkit_names() {
        let named = named_in(
            "Metadata-Version: 2.1\n\
             Provides-Extra: cublas\n\
             Requires-Dist: nvidia-cublas==13.1.0.3.*; (sys_platform == 'linux') and extra == 'cublas'\n\
             Requires-Dist: nvidia_nvjitlink (<14,>=13.5.37) ; extra == 'all'\n\
             Requires-Dist: nvidia-odd @ file:///etc/passwd\n",
        );
        let fetched = |name: &str, version: &str| {
            let library = Library::named(name).expect("the tests name libraries");
            let package = library.to_fetch(&version.parse().expect("it is a version"), &named);
            package
                .map(|package| (package.requirement, package.prefix))
                .map_err(|error| error.to_string())
        };
        let own = |text: &str, folder: &str| Ok((text.to_owned(), folder.to_owned()));
        assert_eq!(
            fetched("cublas", "13.0.88"),
            own("nvidia-cublas==13.1.0.3.*", "nvidia/cu13")
        );
        assert_eq!(
            fetched("nvjitlink", "13.5.37"),
            own("nvidia-nvjitlink<14,>=13.5.37", "nvidia/cu13")
        );
        assert_eq!(
            fetched("nccl", "13.0.88"),
            own("nvidia-nccl-cu13", "nvidia/nccl")
        );
        assert_eq!(
            fetched("npp", "13.5.37"),
            Err(
                "CUDA 13.5.37 has no package of npp: cuda-toolkit==13.5.* does not name nvidia-npp"
                    .to_owned()
            )
        );
        assert_eq!(named.len(), 2, "{named:?}");
    }
}
