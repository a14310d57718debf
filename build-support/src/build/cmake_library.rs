//! Static libraries that CMake builds.

use std::fs;
use std::path::{Path, PathBuf};

use super::Build;
use crate::error::Error;
use crate::{environment, output, toolchain};

impl Build {
    /// See [`Build::cmake_library`].
    ///
    /// # Errors
    ///
    /// Fails if CMake makes no such library.
    pub fn try_cmake_library(
        &self,
        config: &mut cmake::Config,
        name: &str,
    ) -> Result<PathBuf, Error> {
        let numbers: Vec<String> = self
            .targets()?
            .iter()
            .map(|sm| format!("{}-real", sm.number_and_letter()))
            .collect();
        let (launcher, nvcc) = toolchain::nvcc(&toolchain::find()?)?;
        if !launcher.is_empty() {
            let words: Vec<_> = launcher.iter().map(|word| word.to_string_lossy()).collect();
            config.define("CMAKE_CUDA_COMPILER_LAUNCHER", words.join(";"));
        }
        let folder = config
            .define("CMAKE_CUDA_ARCHITECTURES", numbers.join(";"))
            .define("CMAKE_CUDA_COMPILER", nvcc)
            .define("CMAKE_CUDA_SEPARABLE_COMPILATION", "ON")
            .define("CMAKE_CUDA_RESOLVE_DEVICE_SYMBOLS", "OFF")
            .define("CMAKE_POSITION_INDEPENDENT_CODE", "ON")
            .build_target(name)
            .build()
            .join("build");
        let file = format!("lib{name}.a");
        let library = ["", "lib"]
            .map(|place| folder.join(place).join(&file))
            .into_iter()
            .find(|path| path.is_file())
            .ok_or(Error::NoLibrary {
                name: name.to_owned(),
                folder: folder.clone(),
            })?;
        let own = environment::out_dir()?;
        match cmake_sources(&folder) {
            Some(sources) if !own.starts_with(&sources) => output::depends_on(&sources),
            // What is made lies among the sources, and is always newer: CMake has to find out what has changed.
            _ => output::depends_on(&library),
        }
        Ok(library)
    }
}

/// The folder of the sources that CMake has built in a folder.
fn cmake_sources(build: &Path) -> Option<PathBuf> {
    let cache = fs::read_to_string(build.join("CMakeCache.txt")).ok()?;
    cache
        .lines()
        .find_map(|line| line.strip_prefix("CMAKE_HOME_DIRECTORY:INTERNAL="))
        .map(PathBuf::from)
}
