//! A project that a test builds, and what happened when it was built.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use rustnvlink_tests::checks::says;
use rustnvlink_tests::identity::program;
use tempfile::TempDir;

use crate::objects::OBJECTS;

/// Writes its arguments down and does the work with `cc`. With device code it makes the file that `HANG` names, and goes
/// on when that is gone.
const RECORDER: &str = "#!/bin/sh\n\
    printf '%s\\n' \"$@\" >> \"$RECORD\"\necho == >> \"$RECORD\"\n\
    case \"$HANG:$1\" in ?*:*cudalink*) touch \"$HANG\"; while [ -e \"$HANG\" ]; do sleep 0.1; done;; esac\n\
    exec cc \"$@\"\n";

/// A project in a folder of its own.
pub(crate) struct Project {
    pub(crate) folder: TempDir,
}

/// What goes into a project.
pub(crate) const MANIFEST: &str =
    "[package]\nname = \"app\"\nversion = \"0.1.0\"\nedition = \"2024\"\n[workspace]\n";
pub(crate) const PLAIN: &str = "fn main() { println!(\"plain\"); }";
pub(crate) const LAUNCHING: &str = "unsafe extern \"C\" { fn launch() -> i32; }\n\
    fn main() { println!(\"launched: {}\", unsafe { launch() }); }";

impl Project {
    /// Writes a project; `libraries` are what its build script links.
    pub(crate) fn new(program: &str, libraries: &[&str]) -> Result<Self> {
        let project = Self {
            folder: tempfile::tempdir()?,
        };
        project.write("Cargo.toml", MANIFEST)?;
        project.write("src/main.rs", program)?;
        if let Ok(objects) = &*OBJECTS
            && !libraries.is_empty()
        {
            let mut script =
                String::from("fn main() {\nprintln!(\"cargo::rerun-if-changed=build.rs\");\n");
            for folder in [&objects.folder, &objects.runtime] {
                script += &format!(
                    "println!(\"cargo::rustc-link-search=native={}\");\n",
                    folder.display()
                );
            }
            for library in libraries {
                script += &format!("println!(\"cargo::rustc-link-lib={library}\");\n");
            }
            script += "for name in [\"cudart_static\", \"stdc++\", \"dl\", \"pthread\", \"rt\"] {\n\
                println!(\"cargo::rustc-link-lib={name}\");\n}\n}\n";
            project.write("build.rs", &script)?;
        }
        project.write_program("recorder", RECORDER)?;
        Ok(project)
    }

    pub(crate) fn write_program(&self, name: &str, text: &str) -> Result<()> {
        let source = format!("{name}.text");
        self.write(&source, text)?;
        // What this program has written itself may be open in a child of another test, and cannot be run then.
        run(Command::new("install").args([self.path(&source), self.path(name)]))
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> Result<()> {
        let path = self.path(name);
        fs::create_dir_all(path.parent().context("a file lies in a folder")?)?;
        Ok(fs::write(path, text)?)
    }

    /// `cargo cudalink` with these arguments.
    pub(crate) fn cargo(&self, arguments: &[&str], variables: &[(&str, &str)]) -> Result<Output> {
        Ok(self.command(arguments, variables)?.output()?)
    }

    pub(crate) fn command(
        &self,
        arguments: &[&str],
        variables: &[(&str, &str)],
    ) -> Result<Command> {
        Ok(self.command_by(&program("cargo-cudalink")?, arguments, variables))
    }

    /// The same by another program.
    pub(crate) fn command_by(
        &self,
        program: &Path,
        arguments: &[&str],
        variables: &[(&str, &str)],
    ) -> Command {
        let mut command = Command::new(program);
        command
            .args(arguments)
            .current_dir(self.folder.path())
            .env("RECORD", self.path("record"))
            .env_remove("HANG")
            .env_remove("CARGO_TARGET_DIR")
            .env_remove("CARGO_TERM_COLOR")
            .env_remove("CUDALINK_ARCH")
            .env_remove("CUDAARCHS")
            .env_remove("CMAKE_CUDA_ARCHITECTURES")
            .env_remove("CUDA_COMPUTE_CAP")
            .env_remove("CUDA_LIBRARY_PATH");
        for (name, value) in variables {
            command.env(name, value);
        }
        command
    }

    /// The same, with success.
    pub(crate) fn succeed(
        &self,
        arguments: &[&str],
        variables: &[(&str, &str)],
    ) -> Result<(String, String)> {
        let output = self.cargo(arguments, variables)?;
        let (out, err) = texts(&output);
        ensure!(output.status.success(), "{arguments:?}\n{out}{err}");
        Ok((out, err))
    }

    /// The same, with a failure that says these things.
    pub(crate) fn fail(&self, arguments: &[&str], expected: &[&str]) -> Result<()> {
        says(&self.failure(arguments)?, expected)
    }

    /// What is said of a failure.
    pub(crate) fn failure(&self, arguments: &[&str]) -> Result<String> {
        let output = self.cargo(arguments, &[])?;
        let (out, err) = texts(&output);
        ensure!(
            !output.status.success(),
            "{arguments:?} succeeds\n{out}{err}"
        );
        Ok(err)
    }

    /// The configuration by which cargo links with the recorder.
    pub(crate) fn linker_setting(&self) -> String {
        format!(
            "[target.'cfg(all())']\nlinker = {:?}\n",
            self.path("recorder")
        )
    }

    /// How often the recorder has linked since the last time, and what came first in its last link.
    pub(crate) fn links(&self) -> Result<(usize, String)> {
        let path = self.path("record");
        let text = fs::read_to_string(&path).unwrap_or_default();
        fs::write(&path, "")?;
        let links: Vec<&str> = text.split("==\n").filter(|part| !part.is_empty()).collect();
        let first = links.last().and_then(|link| link.lines().next());
        Ok((links.len(), first.unwrap_or_default().to_owned()))
    }
}

pub(crate) fn texts(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}

/// Waits for something to happen.
pub(crate) fn wait_until(otherwise: &str, has_happened: impl Fn() -> bool) -> Result<()> {
    let start = Instant::now();
    while !has_happened() {
        ensure!(start.elapsed() < Duration::from_secs(300), "{otherwise}");
        thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

pub(crate) fn run(command: &mut Command) -> Result<()> {
    let output = command.output()?;
    let (out, err) = texts(&output);
    ensure!(output.status.success(), "{command:?}\n{out}{err}");
    Ok(())
}
