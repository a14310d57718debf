//! Which published packages make up a toolkit, and in which versions.
//!
//! The compiler parts carry the version of the toolkit. The others are released on their own within a minor version,
//! so the newest of that minor version is right, and the default toolkit names them exactly: it is the one that
//! results are compared with, and must not change by itself.

use semver::Version;

/// The toolkit whose device linker this product replaces.
pub const DEFAULT_VERSION: Version = Version::new(13, 0, 88);

/// The first version of which the dumpers are published.
const FIRST_DUMPERS: &str = "13.2.51";

/// There is no way to install this version.
#[derive(Debug, thiserror::Error)]
#[error(
    "CUDA {version} cannot be installed: the packages before CUDA 13 hold no nvcc. Choose {DEFAULT_VERSION} or newer, \
     or install it with NVIDIA's installer and set CUDA_HOME"
)]
pub struct UnknownVersion {
    /// The version that was asked for.
    pub version: Version,
}

/// One package and what is expected of it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Package {
    /// The requirement as package managers write it.
    pub(crate) requirement: String,
    /// The folder inside the package that becomes the root of the toolkit.
    pub(crate) prefix: String,
    /// The files to take, or all of them. Paths are relative to the toolkit's root.
    pub(crate) only: Option<&'static [&'static str]>,
    /// Files without which the toolkit does not work.
    pub(crate) provides: &'static [&'static str],
}

/// The folder inside the packages of a toolkit that becomes its root.
pub(crate) fn root_in_packages(version: &Version) -> String {
    format!("nvidia/cu{}", version.major)
}

/// A part of a toolkit that is published by itself.
struct Part {
    name: &'static str,
    releases: Releases,
    provides: &'static [&'static str],
}

/// Which release of a part belongs to a toolkit.
#[derive(Clone, Copy)]
enum Releases {
    /// That of the toolkit's own version.
    Same,
    /// The newest of the minor version; for the default toolkit this one.
    OfMinor(&'static str),
    /// Those of the C++ core libraries.
    Collective,
    /// One of the same major version, of which only what the part provides is taken.
    Dumper,
}

/// The parts of a toolkit, the compiler first: where a version does not exist, that is noticed at once.
const PARTS: [Part; 9] = [
    Part {
        name: "nvidia-cuda-nvcc",
        releases: Releases::Same,
        provides: &[
            "bin/nvcc",
            "bin/ptxas",
            "bin/nvlink",
            "bin/fatbinary",
            "bin/cudafe++",
            "bin/nvcc.profile",
        ],
    },
    Part {
        name: "nvidia-nvvm",
        releases: Releases::Same,
        provides: &["nvvm/bin/cicc", "nvvm/libdevice/libdevice.10.bc"],
    },
    Part {
        name: "nvidia-cuda-crt",
        releases: Releases::Same,
        provides: &["include/crt/host_config.h"],
    },
    Part {
        name: "nvidia-cuda-runtime",
        releases: Releases::OfMinor("13.0.96"),
        provides: &[
            "include/cuda_runtime.h",
            "lib/libcudart_static.a",
            "lib/libcudadevrt.a",
        ],
    },
    Part {
        name: "nvidia-cuda-cccl",
        releases: Releases::Collective,
        provides: &["include/cccl/cuda/std/version"],
    },
    Part {
        name: "nvidia-nvjitlink",
        releases: Releases::OfMinor("13.0.88"),
        provides: &["include/nvJitLink.h"],
    },
    // Headers that many programs include, to mark ranges of time for profilers.
    Part {
        name: "nvidia-nvtx",
        releases: Releases::OfMinor("13.0.85"),
        provides: &["include/nvtx3/nvToolsExt.h"],
    },
    Part {
        name: "nvidia-cuda-cuobjdump",
        releases: Releases::Dumper,
        provides: &["bin/cuobjdump"],
    },
    Part {
        name: "nvidia-cuda-nvdisasm",
        releases: Releases::Dumper,
        provides: &["bin/nvdisasm"],
    },
];

impl Releases {
    /// Those for a toolkit, as package managers write them.
    fn of(self, toolkit: &Version) -> String {
        match self {
            Self::Same => format!("=={toolkit}"),
            Self::OfMinor(release) if *toolkit == DEFAULT_VERSION => format!("=={release}"),
            Self::OfMinor(_) => format!("=={}.{}.*", toolkit.major, toolkit.minor),
            Self::Collective => collective(toolkit),
            Self::Dumper => format!(">={FIRST_DUMPERS},<{}", toolkit.major + 1),
        }
    }
}

/// The packages of a toolkit.
pub(crate) fn of_toolkit(version: &Version) -> Result<Vec<Package>, UnknownVersion> {
    if version.major < DEFAULT_VERSION.major {
        return Err(UnknownVersion {
            version: version.clone(),
        });
    }
    let package = |part: &Part| Package {
        requirement: format!("{}{}", part.name, part.releases.of(version)),
        prefix: root_in_packages(version),
        only: matches!(part.releases, Releases::Dumper).then_some(part.provides),
        provides: part.provides,
    };
    Ok(PARTS.iter().map(package).collect())
}

/// The C++ core libraries carry CUDA's minor version up to 13.2, and from 13.3 on their own number, in which the
/// newest serves every CUDA of its major version.
fn collective(version: &Version) -> String {
    match (version.major, version.minor) {
        (13, 0) if *version == DEFAULT_VERSION => "==13.0.85".to_owned(),
        (13, 0..=2) => format!("==13.{}.*", version.minor),
        (13, _) => ">=13.3,<14".to_owned(),
        (major, minor) => format!("=={major}.{minor}.*"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn requirements(version: &str) -> Vec<String> {
        let version = version.parse().expect("the tests write valid versions");
        let packages = of_toolkit(&version).expect("the tests ask for versions that exist");
        packages
            .into_iter()
            .map(|package| package.requirement)
            .collect()
    }

    #[test]
    fn default_toolkit_is_pinned() {
        assert_eq!(
            requirements("13.0.88"),
            [
                "nvidia-cuda-nvcc==13.0.88",
                "nvidia-nvvm==13.0.88",
                "nvidia-cuda-crt==13.0.88",
                "nvidia-cuda-runtime==13.0.96",
                "nvidia-cuda-cccl==13.0.85",
                "nvidia-nvjitlink==13.0.88",
                "nvidia-nvtx==13.0.85",
                "nvidia-cuda-cuobjdump>=13.2.51,<14",
                "nvidia-cuda-nvdisasm>=13.2.51,<14",
            ]
        );
    }

    #[test]
    fn other_toolkits_take_the_newest_of_their_minor_version() {
        let requirements = requirements("13.5.37");
        assert_eq!(requirements[0], "nvidia-cuda-nvcc==13.5.37");
        assert_eq!(requirements[3], "nvidia-cuda-runtime==13.5.*");
        assert_eq!(requirements[4], "nvidia-cuda-cccl>=13.3,<14");
        assert_eq!(requirements[5], "nvidia-nvjitlink==13.5.*");
        assert_eq!(requirements[6], "nvidia-nvtx==13.5.*");
    }

    #[test]
    fn versions_without_a_compiler_are_refused() {
        let error =
            of_toolkit(&Version::new(12, 8, 93)).expect_err("CUDA 12 is not published whole");
        assert!(
            error
                .to_string()
                .contains("CUDA 12.8.93 cannot be installed"),
            "{error}"
        );
    }
}
