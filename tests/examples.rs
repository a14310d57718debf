//! Does what the READMEs of the examples say, one indented line after the other.
//!
//! Needs a CUDA toolkit and a host compiler. Without one of them the test is skipped, which is a failure where `CI` is
//! set. The examples built by CMake are tests of `cmake.rs`.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use cudalink_toolkit::Tool;
use rustnvlink_tests::checks::skip;
use rustnvlink_tests::identity::{examples_folder, program};
use rustnvlink_tests::toolkit::Toolkit;

/// Tests of `cmake.rs`.
const WITH_CMAKE: [&str; 2] = ["cmake-lib", "cmake-image"];
/// Crates of examples, and no examples themselves.
const SHARED: [&str; 1] = ["cuda-driver"];

#[test]
fn examples_do_what_they_say() -> Result<()> {
    let toolkit = match Toolkit::find() {
        Ok(toolkit) => toolkit,
        Err(reason) => return skip(&reason),
    };
    let nvcc = toolkit.tool(Tool::Nvcc)?;
    let ours = program("cargo-cudalink")?;
    let bin = nvcc.parent().context("nvcc lies in no folder")?;
    // For `cargo cudalink`.
    let ours = ours.parent().context("our program lies in no folder")?;
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples");
    let list = fs::read_to_string(examples.join("README.md"))?;
    let mut run = 0;
    for entry in fs::read_dir(&examples)? {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_str().context("a name that is not UTF-8")?;
        if !entry.file_type()?.is_dir() {
            continue;
        }
        ensure!(
            list.contains(&format!("[`{name}`]")),
            "{name} is not listed"
        );
        if !WITH_CMAKE.contains(&name) && !SHARED.contains(&name) {
            follow(&entry.path(), bin, ours)?;
            run += 1;
        }
    }
    ensure!(run > 0, "no examples in {}", examples.display());
    Ok(())
}

/// Runs the commands of a README.
fn follow(folder: &Path, toolkit: &Path, ours: &Path) -> Result<()> {
    let readme = folder.join("README.md");
    let text = fs::read_to_string(&readme).with_context(|| format!("no {}", readme.display()))?;
    let commands: Vec<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("    "))
        .collect();
    ensure!(!commands.is_empty(), "no commands in {}", readme.display());
    for command in commands {
        let output = Command::new("sh")
            .args(["-e", "-c", command])
            .current_dir(folder)
            .env("PATH", path(&[toolkit, ours])?)
            .env("CUDA_HOME", toolkit.parent().unwrap_or(toolkit))
            // Whoever takes one over gets no warnings.
            .env("RUSTFLAGS", "-Dwarnings")
            // One processor is enough to see that it works.
            .env("CUDAARCHS", "90")
            .env("CUDALINK_ARCH", "sm_90")
            // Shared, so that no crate is built twice.
            .env("CARGO_TARGET_DIR", examples_folder()?)
            .output()?;
        ensure!(
            output.status.success(),
            "{}: {command}\n{}{}",
            folder.display(),
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
    }
    Ok(())
}

/// `PATH` with these folders first.
fn path(first: &[&Path]) -> Result<OsString> {
    let path = env::var_os("PATH").unwrap_or_default();
    let first = first.iter().map(|folder| PathBuf::from(*folder));
    Ok(env::join_paths(first.chain(env::split_paths(&path)))?)
}
