//! Builds the projects of `docs/build-systems.md` for Make and Ninja, as they stand there.
//!
//! Needs a CUDA toolkit, a host compiler and both programs. Without one of them the test is skipped, which is a failure where
//! `CI` is set.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use cudalink_toolkit::Tool;
use rustnvlink_tests::checks::{says, skip};
use rustnvlink_tests::identity::program;
use rustnvlink_tests::toolkit::Toolkit;

const SOURCES: [(&str, &str); 3] = [
    ("dev.h", "__device__ int twice(int x);\n"),
    (
        "dev.cu",
        "#include \"dev.h\"\n__device__ int twice(int x) { return 2 * x; }\n",
    ),
    (
        "main.cu",
        "#include \"dev.h\"\n__global__ void kernel(int *p) { *p = twice(*p); }\n\
         int main() { kernel<<<1, 1>>>(nullptr); }\n",
    ),
];

#[test]
fn projects_of_the_documentation_are_built_once() -> Result<()> {
    let toolkit = match Toolkit::find() {
        Ok(toolkit) => toolkit,
        Err(reason) => return skip(&reason),
    };
    let document = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/build-systems.md");
    let document = fs::read_to_string(document)?;
    let world = World::new(&toolkit)?;
    for (name, build, file, all_done) in [
        ("Make", "make", "Makefile", "'app' is up to date"),
        ("Ninja", "ninja", "build.ninja", "no work to do"),
    ] {
        let found = Command::new(build).arg("--version").output();
        if let Err(reason) = found.with_context(|| format!("{build} is not on PATH")) {
            return skip(&reason);
        }
        let folder = tempfile::tempdir()?;
        let folder = folder.path();
        for (name, text) in SOURCES {
            fs::write(folder.join(name), text)?;
        }
        fs::write(folder.join(file), project(&document, name)?)?;
        let run = |program: &str, arguments: &[&str]| world.run(folder, program, arguments);
        let first = run(build, &[])?;
        ensure!(first.matches("cudalink link").count() == 1, "{first}");
        let found = run("cargo", &["cudalink", "doctor", "app"])?;
        says(&found, &["ok: nothing is wrong"])?;
        says(&run(build, &[])?, &[all_done])?;
        fs::write(folder.join("dev.h"), "__device__ int twice(int);\n")?;
        let again = run(build, &[])?;
        ensure!(again.matches("-arch=sm_90").count() == 2, "{again}");
        says(&again, &["cudalink link main.o dev.o"])?;
    }
    Ok(())
}

/// The lines below a heading that are indented.
fn project(document: &str, name: &str) -> Result<String> {
    let heading = format!("## {name}\n");
    let (_, text) = document.split_once(&heading).context("no such heading")?;
    let text = text.split("\n## ").next().unwrap_or(text);
    let lines = text
        .lines()
        .filter(|line| line.is_empty() || line.starts_with("    "));
    Ok(lines
        .map(|line| format!("{}\n", line.strip_prefix("    ").unwrap_or(line)))
        .collect())
}

/// What the document says of the surroundings.
struct World {
    root: PathBuf,
    path: std::ffi::OsString,
}

impl World {
    fn new(toolkit: &Toolkit) -> Result<Self> {
        let nvcc = toolkit.tool(Tool::Nvcc)?;
        let bin = nvcc.parent().context("nvcc lies in no folder")?;
        let ours = program("cargo-cudalink")?;
        let ours = ours.parent().context("our program lies in no folder")?;
        let path = env::var_os("PATH").unwrap_or_default();
        let first = [bin.to_owned(), ours.to_owned()];
        Ok(Self {
            root: bin.parent().context("nvcc lies in no toolkit")?.to_owned(),
            path: env::join_paths(first.into_iter().chain(env::split_paths(&path)))?,
        })
    }

    /// Runs a program, and gives what it prints.
    fn run(&self, folder: &Path, program: &str, arguments: &[&str]) -> Result<String> {
        let mut command = Command::new(program);
        command.args(arguments).current_dir(folder);
        command.env("CUDA_HOME", &self.root).env("PATH", &self.path);
        let output = command.env_remove("MAKEFLAGS").output()?;
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8_lossy(&said).into_owned();
        ensure!(output.status.success(), "{command:?}: {said}");
        Ok(said)
    }
}
