//! Builds the projects in `cmake/` with CMake, with nvcc's device links and with ours. CTest runs them.
//!
//! Needs a CUDA toolkit, a host compiler, CMake and Ninja. Without one of them the test is skipped, which is a failure
//! where `CI` is set.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use cudalink_toolkit::Tool;
use rustnvlink_tests::toolkit::Toolkit;

#[test]
fn projects_link_their_device_code_with_ours() -> Result<()> {
    let needed = match needed() {
        Ok(needed) => needed,
        Err(reason) => return skip(&reason),
    };
    let folder = tempfile::tempdir()?;
    // Blanks in paths are what build systems forget.
    let build = folder.path().join("a build");
    let define = |name: &str, value: &Path| format!("-D{name}={}", value.display());
    run(Command::new("cmake")
        .arg("-S")
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("cmake"))
        .arg("-B")
        .arg(&build)
        .args(["-G", "Ninja"])
        .arg(define("NVCC", &needed.nvcc))
        .arg(define("CARGO", Path::new(env!("CARGO"))))
        .arg(define("CARGO_TARGET_DIR", &target_folder()?))
        .arg(define(
            "SAME_IMAGES",
            Path::new(env!("CARGO_BIN_EXE_same-images")),
        )))?;
    let jobs = std::thread::available_parallelism()?.to_string();
    run(Command::new("ctest")
        .args(["--output-on-failure", "--no-tests=error", "--parallel"])
        .arg(jobs)
        .arg("--test-dir")
        .arg(&build))
}

/// What the test cannot make itself.
struct Needed {
    nvcc: PathBuf,
}

fn needed() -> Result<Needed> {
    for tool in ["cmake", "ctest", "ninja"] {
        let found = Command::new(tool).arg("--version").output();
        found.with_context(|| format!("{tool} is not on PATH"))?;
    }
    let nvcc = Toolkit::find()?.tool(Tool::Nvcc)?;
    Ok(Needed { nvcc })
}

fn skip(reason: &anyhow::Error) -> Result<()> {
    let strict = env::var_os("CI").is_some_and(|value| !value.is_empty());
    ensure!(!strict, "a skip is a failure where CI is set: {reason:#}");
    eprintln!("skipped: {reason:#}");
    Ok(())
}

/// Where Cargo builds this test, so that the package does not build the linker once more.
fn target_folder() -> Result<PathBuf> {
    let own = env::current_exe()?;
    // This program is `<target>/<profile>/deps/cmake-<hash>`.
    let folder = own.ancestors().nth(3);
    Ok(folder.context("the test lies in no build folder")?.into())
}

/// Runs a program that has to succeed.
fn run(command: &mut Command) -> Result<()> {
    let output = command.output().context("cannot start")?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    ensure!(
        output.status.success(),
        "{command:?}\n{}{}",
        text(&output.stdout),
        text(&output.stderr)
    );
    Ok(())
}
