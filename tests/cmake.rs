//! Builds the projects in `cmake/` with CMake, with nvcc's device links and with ours. CTest runs them, and some of them
//! again with the oldest CMake that the package is for.
//!
//! Needs a CUDA toolkit, a host compiler, CMake and Ninja, and the oldest CMake where `RUSTNVLINK_TEST_CMAKE_3_25` says.
//! Without one of them the test is skipped, which is a failure where `CI` is set.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use cudalink_toolkit::Tool;
use rustnvlink_tests::toolkit::Toolkit;

/// A program `cmake` of the oldest version that the package is for.
const OLDEST: &str = "RUSTNVLINK_TEST_CMAKE_3_25";

#[test]
fn projects_link_their_device_code_with_ours() -> Result<()> {
    let nvcc = match nvcc() {
        Ok(nvcc) => nvcc,
        Err(reason) => return skip(&reason),
    };
    let folder = tempfile::tempdir()?;
    // Blanks in paths are what build systems forget.
    let newest = folder.path().join("a build");
    configure(Path::new("cmake"), &nvcc, &newest, &[])?;
    run_tests(Path::new("ctest"), &newest, &[])?;

    let oldest = match oldest() {
        Ok(oldest) => oldest,
        Err(reason) => return skip(&reason),
    };
    let version = Command::new(&oldest).arg("--version").output()?;
    let version = String::from_utf8_lossy(&version.stdout).into_owned();
    ensure!(version.contains(" 3.25."), "{OLDEST} names {version}");
    // What nvcc makes is there already.
    let build = folder.path().join("an older build");
    let reference = define("REFERENCE", &newest.join("shapes package"));
    let objects = define("OBJECTS", &newest.join("objects"));
    configure(&oldest, &nvcc, &build, &[reference, objects])?;
    run_tests(
        &oldest.with_file_name("ctest"),
        &build,
        &["-R", "-package$"],
    )
}

fn define(name: &str, value: &Path) -> String {
    format!("-D{name}={}", value.display())
}

fn configure(cmake: &Path, nvcc: &Path, build: &Path, options: &[String]) -> Result<()> {
    run(Command::new(cmake)
        .arg("-S")
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("cmake"))
        .arg("-B")
        .arg(build)
        .args(["-G", "Ninja"])
        .arg(define("NVCC", nvcc))
        .arg(define("CARGO", Path::new(env!("CARGO"))))
        .arg(define("CARGO_TARGET_DIR", &target_folder()?))
        .arg(define(
            "SAME_IMAGES",
            Path::new(env!("CARGO_BIN_EXE_same-images")),
        ))
        .args(options))
}

fn run_tests(ctest: &Path, build: &Path, options: &[&str]) -> Result<()> {
    let jobs = std::thread::available_parallelism()?.to_string();
    run(Command::new(ctest)
        .args(["--output-on-failure", "--no-tests=error", "--parallel"])
        .arg(jobs)
        .args(options)
        .arg("--test-dir")
        .arg(build))
}

/// The compiler, if everything else is there, too.
fn nvcc() -> Result<PathBuf> {
    for tool in ["cmake", "ctest", "ninja"] {
        let found = Command::new(tool).arg("--version").output();
        found.with_context(|| format!("{tool} is not on PATH"))?;
    }
    Toolkit::find()?.tool(Tool::Nvcc)
}

fn oldest() -> Result<PathBuf> {
    let oldest = env::var_os(OLDEST).filter(|path| !path.is_empty());
    let oldest = oldest.with_context(|| format!("{OLDEST} names no CMake 3.25"))?;
    Ok(PathBuf::from(oldest))
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
