//! Why a build script cannot go on.

use std::fmt::Display;
use std::io;
use std::path::PathBuf;

use cudalink_toolkit::{EnvironmentError, NotChosen, NotFound, ToolkitError};
use rustnvlink::arch::UnknownSmError;
use rustnvlink::error::without_number;

/// Why device code cannot be built.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Nothing was given.
    #[error("there is nothing to build: name sources with file()")]
    NothingToBuild,
    /// No processor was named.
    #[error("no processor is named: call arch(\"sm_90\"), or set CUDALINK_ARCH=sm_90")]
    NoArch,
    /// A processor that device code is not linked for.
    #[error(transparent)]
    UnknownArch(#[from] UnknownSmError),
    /// The same, where the user has chosen it.
    #[error("CUDALINK_ARCH: {0}")]
    ChosenArch(#[source] UnknownSmError),
    /// A variable that is neither yes nor no.
    #[error("{name} is true or false, and not '{value}'")]
    NoSwitch {
        /// Its name.
        name: &'static str,
        /// What it is set to.
        value: String,
    },
    /// Two sources of one name, which would end in one object.
    #[error("{} and {} have one file name, and so would their objects: rename one", .0.display(), .1.display())]
    SameName(PathBuf, PathBuf),
    /// A source that is named twice.
    #[error("the source {} is named twice", .0.display())]
    Twice(PathBuf),
    /// A name that cannot be that of a file in `OUT_DIR`.
    #[error(
        "'{0}' is no name for what is built: it is that of a file in OUT_DIR, such as \"solver\""
    )]
    NoName(String),
    /// Two builds of one name, of which the later one would replace what the other has made.
    #[error(
        "two builds of this build script make {}: give one of them another name",
        .0.file_name().unwrap_or_default().display()
    )]
    SameResult(PathBuf),
    /// A variable that cargo sets is missing.
    #[error("the variable {0} is not set; this crate works in build scripts only")]
    NoBuildScript(&'static str),
    /// A package that is to publish something has no name for it.
    #[error(
        "device objects are published under the name of `links`: add `links = \"{0}\"` to [package] in Cargo.toml"
    )]
    NoLinks(String),
    /// The process has no current folder.
    #[error(transparent)]
    Environment(#[from] EnvironmentError),
    /// There is no toolkit.
    #[error("{0}")]
    NoToolkit(#[from] NotFound),
    /// There is no toolkit of the version that was chosen.
    #[error(transparent)]
    NotChosen(#[from] NotChosen),
    /// There is no toolkit, nor what could replace it.
    #[error("{toolkit}\nThe package has no {} for it either", object.display())]
    NoToolkitAndNoObject {
        /// Where toolkits were looked for.
        toolkit: NotFound,
        /// What was looked for instead.
        object: PathBuf,
    },
    /// The toolkit lacks something.
    #[error(transparent)]
    Toolkit(#[from] ToolkitError),
    /// The host compiler, its archiver, or CMake.
    #[error("{0}")]
    HostTools(#[from] cc::Error),
    /// A source is not there.
    #[error("there is no source {}", .0.display())]
    NoSource(PathBuf),
    /// A folder in the place of a source.
    #[error("the source {} is a folder: name the files in it", .0.display())]
    SourceFolder(PathBuf),
    /// The compiler cannot be run.
    #[error("the compiler {} cannot be run: {}", path.display(), system(error))]
    NoCompiler {
        /// What `NVCC` names, or the toolkit has.
        path: PathBuf,
        /// What happened.
        error: io::Error,
    },
    /// The compiler says that a source is wrong.
    #[error("{} does not compile:\n{text}\nThe command was {command}", source_file.display())]
    Compile {
        /// The source.
        source_file: PathBuf,
        /// What was run.
        command: String,
        /// What it said.
        text: String,
    },
    /// CMake has made no such library.
    #[error("CMake made no lib{name}.a below {}", folder.display())]
    NoLibrary {
        /// The name.
        name: String,
        /// Where it was looked for.
        folder: PathBuf,
    },
    /// The device code does not fit together.
    #[error("the device code cannot be linked:\n{0}")]
    Link(String),
    /// The images cannot be put into a file.
    #[error("the linked device code cannot be written: {0}")]
    Write(String),
    /// A file or program.
    #[error("{}: {}", path.display(), system(error))]
    Io {
        /// Which one.
        path: PathBuf,
        /// What happened.
        error: io::Error,
    },
}

/// What the system says of a file or program, without its number.
fn system(error: &io::Error) -> String {
    without_number(error.to_string())
}

impl Error {
    /// For `map_err`: an error about a file.
    pub(crate) fn io(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        |error| Self::Io { path, error }
    }

    /// For `map_err`: an error about what becomes of the linked device code.
    pub(crate) fn write(error: impl Display) -> Self {
        Self::Write(error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_the_system_have_no_numbers() {
        let missing = || io::Error::from_raw_os_error(2);
        assert_eq!(
            Error::io("a.cu")(missing()).to_string(),
            "a.cu: No such file or directory"
        );
        let path = "/opt/nvcc".into();
        let error = missing();
        assert_eq!(
            Error::NoCompiler { path, error }.to_string(),
            "the compiler /opt/nvcc cannot be run: No such file or directory"
        );
    }
}
