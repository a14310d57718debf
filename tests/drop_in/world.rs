//! What the tests of the linker in nvcc's hands work with: a toolkit, a linker and a folder.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use cudalink_toolkit::Tool;
use rustnvlink_tests::checks::skip;
use rustnvlink_tests::identity;
use rustnvlink_tests::toolkit::Toolkit;
use tempfile::TempDir;

/// Compares the device code of two objects.
pub(super) const SAME_IMAGES: &str = env!("CARGO_BIN_EXE_same-images");

pub(super) const SOURCES: [(&str, &str); 5] = [
    (
        "main.cu",
        "#include <cstdio>\n\
         extern __device__ int twice(int);\n\
         extern __constant__ int table[4];\n\
         __global__ void kernel(int *p) { *p = twice(*p) + table[*p & 3]; printf(\"%d\\n\", *p); }\n\
         __global__ void unused(int *p) { *p = 1; }\n\
         int main() { kernel<<<1, 1>>>(nullptr); return 0; }\n",
    ),
    (
        "twice.cu",
        "__constant__ int table[4] = {1, 2, 3, 4};\n\
         __device__ int counter;\n\
         __device__ int untouched;\n\
         __device__ __noinline__ int twice(int x) { atomicAdd(&counter, 1); return 2 * x; }\n",
    ),
    (
        "launching.cu",
        "__global__ void child(int *p) { *p = 1; }\n\
         __global__ void parent(int *p) { child<<<1, 1>>>(p); }\n\
         int start() { parent<<<1, 1>>>(nullptr); return 0; }\n",
    ),
    (
        "nested.cu",
        "__device__ __noinline__ int half(int x) { return x / 2; }\n\
         __global__ void child(int *p) { *p = half(*p); }\n\
         __global__ void middle(int *p) { child<<<1, 1>>>(p); }\n\
         __global__ void parent(int *p) { middle<<<1, 1>>>(p); }\n\
         __global__ void lone(int *p) { *p = 1; }\n\
         int start() { parent<<<1, 1>>>(nullptr); lone<<<1, 1>>>(nullptr); return 0; }\n",
    ),
    (
        "library.cu",
        "__device__ int nobody(int x) { return x + 7; }\n",
    ),
];

/// What a test works with.
pub(super) struct World {
    pub(super) toolkit: Toolkit,
    /// Where the toolkit lies.
    pub(super) root: PathBuf,
    pub(super) nvcc: PathBuf,
    pub(super) linker: PathBuf,
    folder: TempDir,
}

impl World {
    /// `None` where the test is skipped.
    pub(super) fn new() -> Result<Option<Self>> {
        let toolkit = match Toolkit::find() {
            Ok(toolkit) => toolkit,
            Err(reason) => return skip(&reason).map(|()| None),
        };
        let nvcc = toolkit.tool(Tool::Nvcc)?;
        let root = nvcc.ancestors().nth(2);
        Ok(Some(Self {
            root: root.context("nvcc lies in no toolkit")?.to_owned(),
            toolkit,
            nvcc,
            linker: identity::linker()?,
            folder: tempfile::tempdir()?,
        }))
    }

    pub(super) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// What `-nvvmpath` names.
    pub(super) fn nvvm(&self) -> PathBuf {
        self.root.join("nvvm")
    }

    pub(super) fn write(&self, files: &[(&str, &str)]) -> Result<()> {
        for (name, text) in files {
            fs::write(self.folder().join(name), text)?;
        }
        Ok(())
    }

    /// Runs nvcc.
    pub(super) fn compile(&self, arguments: &str) -> Result<()> {
        self.run(&self.nvcc, arguments)
    }

    pub(super) fn run(&self, program: &Path, arguments: &str) -> Result<()> {
        self.run_with(Command::new(program), arguments)
    }

    pub(super) fn run_with(&self, mut command: Command, arguments: &str) -> Result<()> {
        let output = command
            .args(arguments.split_whitespace())
            .current_dir(self.folder())
            .output()
            .with_context(|| format!("cannot run {command:?}"))?;
        ensure!(
            output.status.success(),
            "{command:?}\n{}{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
        Ok(())
    }

    /// The exit code of a program, and what it prints about what went wrong.
    pub(super) fn ended(&self, program: &Path, arguments: &str) -> Result<(Option<i32>, String)> {
        self.ended_with(Command::new(program), arguments)
    }

    pub(super) fn ended_with(
        &self,
        mut command: Command,
        arguments: &str,
    ) -> Result<(Option<i32>, String)> {
        command
            .args(arguments.split_whitespace())
            .current_dir(self.folder())
            .env_remove("CARGO_TERM_COLOR");
        let output = command
            .output()
            .with_context(|| format!("cannot run {command:?}"))?;
        let printed = String::from_utf8_lossy(&output.stderr).into_owned();
        Ok((output.status.code(), printed))
    }
}

/// A toolkit of links to another one, with its own `nvlink`. nvcc does not follow the link to itself.
pub(super) fn shadow(nvcc: &Path, linker: &Path, root: &Path) -> Result<PathBuf> {
    let bin = nvcc.parent().context("nvcc lies in no folder")?;
    let original = bin.parent().context("nvcc lies in no toolkit")?;
    fs::create_dir_all(root.join("bin"))?;
    for entry in fs::read_dir(original)? {
        let name = entry?.file_name();
        if name != "bin" {
            symlink(original.join(&name), root.join(&name))?;
        }
    }
    for entry in fs::read_dir(bin)? {
        let name = entry?.file_name();
        let target = match name == "nvlink" {
            true => linker.to_owned(),
            false => bin.join(&name),
        };
        symlink(target, root.join("bin").join(&name))?;
    }
    Ok(root.join("bin/nvcc"))
}
