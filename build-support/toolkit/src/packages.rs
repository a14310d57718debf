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

/// The packages of a toolkit, the compiler first: where a version does not exist, that is noticed at once.
pub(crate) fn of_toolkit(version: &Version) -> Result<Vec<Package>, UnknownVersion> {
    if version.major < DEFAULT_VERSION.major {
        return Err(UnknownVersion {
            version: version.clone(),
        });
    }
    let prefix = root_in_packages(version);
    let same = format!("=={version}");
    let minor = format!("=={}.{}.*", version.major, version.minor);
    let default = *version == DEFAULT_VERSION;
    let runtime = if default {
        "==13.0.96".to_owned()
    } else {
        minor.clone()
    };
    let nvjitlink = if default { same.clone() } else { minor.clone() };
    let markers = if default { "==13.0.85" } else { &minor };
    let dumpers = format!(">={FIRST_DUMPERS},<{}", version.major + 1);
    let package = |name: &str, version: &str, provides: &'static [&'static str]| Package {
        requirement: format!("{name}{version}"),
        prefix: prefix.clone(),
        only: None,
        provides,
    };
    let dumper = |name: &str, files: &'static [&'static str]| Package {
        requirement: format!("{name}{dumpers}"),
        prefix: prefix.clone(),
        only: Some(files),
        provides: files,
    };
    Ok(vec![
        package(
            "nvidia-cuda-nvcc",
            &same,
            &[
                "bin/nvcc",
                "bin/ptxas",
                "bin/nvlink",
                "bin/fatbinary",
                "bin/cudafe++",
                "bin/nvcc.profile",
            ],
        ),
        package(
            "nvidia-nvvm",
            &same,
            &["nvvm/bin/cicc", "nvvm/libdevice/libdevice.10.bc"],
        ),
        package("nvidia-cuda-crt", &same, &["include/crt/host_config.h"]),
        package(
            "nvidia-cuda-runtime",
            &runtime,
            &[
                "include/cuda_runtime.h",
                "lib/libcudart_static.a",
                "lib/libcudadevrt.a",
            ],
        ),
        package(
            "nvidia-cuda-cccl",
            &collective(version),
            &["include/cccl/cuda/std/version"],
        ),
        package("nvidia-nvjitlink", &nvjitlink, &["include/nvJitLink.h"]),
        // Headers that many programs include, to mark ranges of time for profilers.
        package("nvidia-nvtx", markers, &["include/nvtx3/nvToolsExt.h"]),
        dumper("nvidia-cuda-cuobjdump", &["bin/cuobjdump"]),
        dumper("nvidia-cuda-nvdisasm", &["bin/nvdisasm"]),
    ])
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
