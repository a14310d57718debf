//! What the trials share: tools, the objects that nvcc makes, and a folder.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use anyhow::{Context, Result, anyhow, ensure};
use cudalink_toolkit::Tool;
use rustnvlink::container::HostFile;
use rustnvlink_tests::identity;
use rustnvlink_tests::toolkit::Toolkit;
use tempfile::TempDir;

use crate::Missing;

/// The processors of most trials: with and without letters, and of both generations.
pub(crate) const ARCHS: [&str; 3] = ["80", "90a", "103f"];

/// A host linker by the name that compilers know.
pub(crate) const LINKERS: [&str; 4] = ["bfd", "gold", "lld", "mold"];

/// The objects of one program.
#[derive(Debug)]
pub(crate) struct Objects {
    pub(crate) main: PathBuf,
    pub(crate) part: PathBuf,
    /// The device link of nvcc.
    pub(crate) nvcc_link: PathBuf,
    /// The stand-in for the runtime.
    pub(crate) runtime: PathBuf,
}

pub(crate) struct World {
    toolkit: Result<Toolkit, String>,
    folder: TempDir,
    objects: OnceLock<Result<Objects, String>>,
    cudalink: OnceLock<Result<PathBuf, String>>,
}

impl World {
    pub(crate) fn new() -> Result<Self> {
        Ok(Self {
            toolkit: Toolkit::find().map_err(|error| format!("{error:#}")),
            folder: tempfile::tempdir()?,
            objects: OnceLock::new(),
            cudalink: OnceLock::new(),
        })
    }

    /// Why there is no toolkit.
    pub(crate) fn missing_toolkit(&self) -> Missing {
        self.toolkit.as_ref().err().cloned()
    }

    pub(crate) fn tool(&self, tool: Tool) -> Result<PathBuf> {
        self.toolkit()?.tool(tool)
    }

    pub(crate) fn toolkit(&self) -> Result<&Toolkit> {
        self.toolkit.as_ref().map_err(|why| anyhow!("{why}"))
    }

    /// A folder of the trial's own.
    pub(crate) fn folder(&self, trial: &str) -> Result<PathBuf> {
        let folder = self.folder.path().join(trial.replace('/', "_"));
        std::fs::create_dir_all(&folder)?;
        Ok(folder)
    }

    /// The objects, compiled when the first trial asks for them.
    pub(crate) fn objects(&self) -> Result<&Objects> {
        let objects = self
            .objects
            .get_or_init(|| self.compile().map_err(|error| format!("{error:#}")));
        objects.as_ref().map_err(|why| anyhow!("{why}"))
    }

    fn compile(&self) -> Result<Objects> {
        let folder = self.folder("objects")?;
        let objects = Objects {
            main: folder.join("main.o"),
            part: folder.join("part.o"),
            nvcc_link: folder.join("nvcc.o"),
            runtime: folder.join("runtime.o"),
        };
        for (source, object) in [("main.cu", &objects.main), ("part.cu", &objects.part)] {
            run(self
                .nvcc()?
                .args(["-dc", "-Xcompiler", "-fPIC"])
                .arg(source_file(source))
                .arg("-o")
                .arg(object))?;
        }
        run(self
            .nvcc()?
            .args(["-dlink", "-Xcompiler", "-fPIC"])
            .arg(&objects.main)
            .arg(&objects.part)
            .arg("-o")
            .arg(&objects.nvcc_link))?;
        run(Command::new("cc")
            .args(["-c", "-fPIC"])
            .arg(source_file("runtime.c"))
            .arg("-o")
            .arg(&objects.runtime))?;
        Ok(objects)
    }

    /// nvcc for all processors of [`ARCHS`].
    pub(crate) fn nvcc(&self) -> Result<Command> {
        let mut nvcc = Command::new(self.tool(Tool::Nvcc)?);
        // All of them at once.
        nvcc.arg("--threads=0");
        for arch in ARCHS {
            nvcc.arg(format!("-gencode=arch=compute_{arch},code=sm_{arch}"));
        }
        Ok(nvcc)
    }

    /// `cargo cudalink`, built when the first trial asks for it.
    pub(crate) fn cudalink(&self) -> Result<Command> {
        let program = self
            .cudalink
            .get_or_init(|| identity::program("cargo-cudalink").map_err(|e| format!("{e:#}")));
        let program = program.as_ref().map_err(|why| anyhow!("{why}"))?;
        let mut command = Command::new(program);
        // What it says is looked at.
        command.env_remove("CARGO_TERM_COLOR");
        Ok(command)
    }
}

/// One of the sources beside this file.
pub(crate) fn source_file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("host/sources")
        .join(name)
}

/// The names of the modules in an object.
pub(crate) fn modules(object: &Path) -> Result<Vec<String>> {
    let data = std::fs::read(object)?;
    let file = HostFile::parse(&data).map_err(|error| anyhow!("{error}"))?;
    let prefix = "__fatbinwrap";
    Ok(file
        .registration
        .iter()
        .filter(|symbol| symbol.defined)
        .filter_map(|symbol| symbol.name.strip_prefix(prefix).map(str::to_owned))
        .collect())
}

/// The contents of a section.
pub(crate) fn section(object: &Path, name: &str) -> Result<Vec<u8>> {
    use object::{Object as _, ObjectSection as _};
    let data = std::fs::read(object)?;
    let file = object::File::parse(&data[..])?;
    let section = file
        .section_by_name(name)
        .with_context(|| format!("{} has no section {name}", object.display()))?;
    Ok(section.data()?.to_vec())
}

/// Runs a program that has to succeed, and gives its output.
pub(crate) fn run(command: &mut Command) -> Result<String> {
    let output = command
        .output()
        .with_context(|| format!("cannot start {command:?}"))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    ensure!(
        output.status.success(),
        "{command:?} ended with {}\n{}{}",
        output.status,
        text(&output.stdout),
        text(&output.stderr)
    );
    Ok(text(&output.stdout))
}

/// Why a program is missing, if it is.
pub(crate) fn missing_program(name: &str) -> Missing {
    let started = Command::new(name).arg("--version").output();
    started.err().map(|_| format!("{name} is not on PATH"))
}

/// Why a host linker is missing, if it is.
pub(crate) fn missing_linker(linker: &str) -> Missing {
    missing_program(&match linker {
        "mold" => "mold".to_owned(),
        linker => format!("ld.{linker}"),
    })
}
