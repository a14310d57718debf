//! Builds the projects in `cmake/` with CMake, with nvlink's device links and with ours. CTest runs them, and some of
//! them again with the oldest CMake that the package is for.
//!
//! Needs a CUDA toolkit, a host compiler, CMake 4.1 or later on `PATH` or where `tests/run` installs it, Ninja, and the
//! oldest CMake and a Clang where `RUSTNVLINK_TEST_CMAKE_3_25` and `RUSTNVLINK_TEST_CLANG` say. Without one of them the test
//! is skipped, which is a failure where `CI` is set.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use cudalink_toolkit::{Environment, Tool};
use rustnvlink_tests::checks::skip;
use rustnvlink_tests::identity::target_folder;
use rustnvlink_tests::toolkit::Toolkit;

/// A program `cmake` of the oldest version that the package is for.
const OLDEST: &str = "RUSTNVLINK_TEST_CMAKE_3_25";
/// The oldest CMake that knows Clang with CUDA 13, and the processors `native` of a machine without a GPU.
const NEWEST: [u32; 2] = [4, 1];
/// Where `tests/run` puts one in the cache folder.
const CACHED: &str = "cmake-4.1/cmake/data/bin/cmake";
/// A program `clang++`.
const CLANG: &str = "RUSTNVLINK_TEST_CLANG";

#[test]
fn projects_link_their_device_code_with_ours() -> Result<()> {
    let (cmake, nvcc) = match newest_cmake().and_then(|cmake| Ok((cmake, nvcc()?))) {
        Ok(found) => found,
        Err(reason) => return skip(&reason),
    };
    let folder = tempfile::tempdir()?;
    // Blanks in paths are what build systems forget.
    let newest = folder.path().join("a build");
    let clang = named_by(CLANG, "clang++ 19 or later");
    let mut options = Vec::new();
    if let Ok(clang) = &clang {
        options.push(define("CLANG", clang));
        options.push(define("CLANG_TOOLKIT", &folder.path().join("toolkit")));
    }
    configure(&cmake, &nvcc, &newest, &options)?;
    run_tests(&cmake.with_file_name("ctest"), &newest, &[])?;
    if let Err(reason) = clang {
        return skip(&reason);
    }

    let oldest = match named_by(OLDEST, "CMake 3.25") {
        Ok(oldest) => oldest,
        Err(reason) => return skip(&reason),
    };
    let version = version_of(&oldest)?;
    ensure!(version.starts_with(&[3, 25]), "{OLDEST} names {version:?}");
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
        // The package does not build the linker once more.
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
        .arg(build)
        // They look for words of messages.
        .env_remove("CARGO_TERM_COLOR"))
}

/// The `cmake` on `PATH` if it knows what tests need, else the one that `tests/run` has put into the cache.
fn newest_cmake() -> Result<PathBuf> {
    let cache = Environment::from_process()?.cache;
    let cached = cache.map(|cache| cache.join(CACHED));
    let on_path = which::which_all("cmake").into_iter().flatten();
    let mut older = Vec::new();
    for cmake in on_path.chain(cached.filter(|cmake| cmake.is_file())) {
        let version = version_of(&cmake)?;
        if version >= NEWEST.to_vec() {
            return Ok(cmake);
        }
        let numbers: Vec<String> = version.iter().map(u32::to_string).collect();
        older.push(format!("{} is {}", cmake.display(), numbers.join(".")));
    }
    let [major, minor] = NEWEST;
    bail!(
        "there is no CMake {major}.{minor} or later, which `tests/run` installs; older ones: [{}]",
        older.join(", ")
    )
}

/// The numbers of a version of CMake.
fn version_of(cmake: &Path) -> Result<Vec<u32>> {
    let said = Command::new(cmake).arg("--version").output();
    let said = said.with_context(|| format!("cannot run {}", cmake.display()))?;
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    let version = said.lines().next().unwrap_or_default();
    let numbers = version.trim_start_matches(|c: char| !c.is_ascii_digit());
    // A candidate for a release has a word behind them.
    let numbers = numbers.split(['.', '-']).map_while(|one| one.parse().ok());
    let numbers: Vec<u32> = numbers.collect();
    ensure!(numbers.len() >= 2, "{} says {said:?}", cmake.display());
    Ok(numbers)
}

/// The compiler, if Ninja is there, too.
fn nvcc() -> Result<PathBuf> {
    let found = Command::new("ninja").arg("--version").output();
    found.context("ninja is not on PATH")?;
    Toolkit::find()?.tool(Tool::Nvcc)
}

/// The program that a variable names.
fn named_by(variable: &str, what: &str) -> Result<PathBuf> {
    let path = env::var_os(variable).filter(|path| !path.is_empty());
    path.map(PathBuf::from)
        .with_context(|| format!("{variable} names no {what}"))
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
