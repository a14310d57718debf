//! Build scripts that end before they are done.

#![cfg(unix)]

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

/// Names the folder with the file to link, for the process that stands for a build script.
const IS_BUILD_SCRIPT: &str = "KILLED_BUILD_SCRIPT";

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "the process that stands for a build script is this test"
)]
fn nothing_temporary_stays() {
    if let Some(folder) = std::env::var_os(IS_BUILD_SCRIPT) {
        return build_script(Path::new(&folder));
    }
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let program = |name: &str, text: &str| {
        let path = folder.join("toolkit/bin").join(name);
        fs::write(&path, format!("#!/bin/sh\n{text}\n")).expect("a program");
        fs::set_permissions(&path, Permissions::from_mode(0o755)).expect("it can be run");
    };
    for name in ["toolkit/bin", "toolkit/include", "out", "temporary"] {
        fs::create_dir_all(folder.join(name)).expect("a folder");
    }
    let version = r#"{"cuda_nvcc": {"name": "CUDA NVCC", "version": "13.0.88"}}"#;
    fs::write(folder.join("toolkit/version.json"), version).expect("a file");
    program(
        "nvcc",
        "while [ $# -gt 1 ]; do case $1 in -o|-MF) : >\"$2\" ;; esac; shift; done",
    );
    // It ends when somebody closes the pipe.
    program(
        "ptxas",
        &format!(
            "cd '{}' && touch started && read line <wait",
            folder.display()
        ),
    );
    let made = Command::new("mkfifo").arg(folder.join("wait")).status();
    assert!(made.expect("mkfifo runs").success());
    let ptx = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() { ret; }\n";
    fs::write(folder.join("k.ptx"), ptx).expect("a file");
    fs::write(folder.join("empty.cu"), "").expect("a file");

    let own = std::env::current_exe().expect("the test is a program");
    let mut running = Command::new(own)
        .args(["--exact", "nothing_temporary_stays", "--nocapture"])
        .env(IS_BUILD_SCRIPT, folder)
        .env("TMPDIR", folder.join("temporary"))
        .env("OUT_DIR", folder.join("out"))
        .env("CUDALINK_TOOLKIT", folder.join("toolkit"))
        .env_remove("CUDALINK_ARCH")
        .env_remove("CUDALINK_DLTO")
        .env_remove("NVCC")
        .env("NUM_JOBS", "1")
        .env("OPT_LEVEL", "0")
        .env("DEBUG", "false")
        .env("HOST", "x86_64-unknown-linux-gnu")
        .env("TARGET", "x86_64-unknown-linux-gnu")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let id = running.id().to_string();
    let started = folder.join("started");
    let mut wait_for = |is_there: &dyn Fn() -> bool| {
        for _ in 0..60_000 {
            if is_there() || running.try_wait().expect("it is known").is_some() {
                break;
            }
            sleep(Duration::from_millis(1));
        }
    };
    wait_for(&|| started.exists());
    let is_empty = || {
        let mut temporary = fs::read_dir(folder.join("temporary")).expect("a folder");
        temporary.next().is_none()
    };
    let is_assembling = started.exists() && !is_empty();
    let sent = Command::new("kill").args(["-TERM", &id]).status();
    sent.expect("kill runs");
    // An assembler that ends first would let the build script end by itself.
    wait_for(&|| false);
    if started.exists() {
        fs::write(folder.join("wait"), "").expect("the assembler ends");
    }
    let output = running.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&output.stderr);
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(is_assembling, "{printed}{said}");
    assert_eq!(output.status.signal(), Some(15), "{printed}{said}");
    assert!(is_empty());
}

/// What a build script does that links PTX.
fn build_script(folder: &Path) {
    cudalink_build::Build::new()
        .file(folder.join("empty.cu"))
        .arch("sm_90")
        .library(folder.join("k.ptx"))
        .embed("kernels");
}
