//! What the doctor says of a machine.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use crate::machine::{Machine, text};

/// Looks at the machine with these variables; returns the exit code and both streams.
fn doctor(
    machine: &Machine,
    arguments: &[&str],
    variables: &[(&str, &Path)],
) -> (Option<i32>, String, String) {
    let mut command = machine.command(&[&["doctor"], arguments].concat());
    let output = command
        .envs(variables.iter().copied())
        .output()
        .expect("the program can be run");
    let (said, errors) = (text(&output.stdout), text(&output.stderr));
    (output.status.code(), said, errors)
}

#[track_caller]
fn has(said: &str, state: &str, part: &str, found: &str) {
    let start = format!("{state:7}  {part}");
    let is_it = |line: &str| line.starts_with(&start) && line.contains(found);
    assert!(said.lines().any(is_it), "{state} {part} {found}: {said}");
}

#[test]
fn a_machine_in_order_is_called_so() {
    let machine = Machine::new();
    machine.install(&[]);
    let root = machine.root();
    let variables = [("CUDA_HOME", root.as_path())];
    let (code, said, errors) = doctor(&machine, &["--deny-warnings"], &variables);
    assert_eq!((code, errors.as_str()), (Some(0), ""), "{said}");
    let place = format!("13.0.88 in {} (CUDA_HOME)", root.display());
    has(&said, "ok", "CUDA toolkit", &place);
    has(&said, "ok", "ptxas", "13.0.88");
    has(&said, "ok", "nvcc", "compiles");
    has(&said, "ok", "nvJitLink", "libnvJitLink.so");
    has(&said, "ok", "host linker", "cc");
    has(&said, "ok", "cache folder", "cache");
    assert!(!said.contains("help"), "{said}");
}

#[test]
fn what_is_missing_is_no_failure_unless_it_is_wanted() {
    let machine = Machine::new();
    let file = machine.folder.path().join("file");
    fs::write(&file, "").expect("the folder is writable");
    let cache = file.join("cache");
    let variables = [("RUSTNVLINK_CACHE", cache.as_path())];
    let (code, said, errors) = doctor(&machine, &[], &variables);
    assert_eq!((code, errors.as_str()), (Some(0), ""), "{said}");
    has(&said, "missing", "CUDA toolkit", "none is found (needed to");
    assert!(
        said.contains("  help: `cargo cudalink toolkit install` installs one"),
        "{said}"
    );
    has(&said, "missing", "cache folder", "cannot write to ");
    assert!(!said.contains("ptxas "), "{said}");
    assert!(!said.contains("os error"), "{said}");
    let (code, _, errors) = doctor(&machine, &["--deny-warnings"], &variables);
    assert_eq!(code, Some(1));
    assert_eq!(errors, "error: not in order: CUDA toolkit, cache folder\n");
    let (_, said, errors) = doctor(&machine, &["--arch=sm_90"], &[]);
    assert!(said.is_empty() && errors.contains("<FILE>"), "{errors}");
}

#[test]
fn what_does_not_work_is_a_failure() {
    let machine = Machine::new();
    let nowhere = Path::new("/nowhere");
    let (code, said, errors) = doctor(&machine, &[], &[("CUDALINK_TOOLKIT", nowhere)]);
    assert_eq!(code, Some(1));
    assert_eq!(errors, "error: not in order: CUDA toolkit\n");
    let reason = "--toolkit or CUDALINK_TOOLKIT: /nowhere does not exist";
    has(&said, "broken", "CUDA toolkit", reason);
    assert!(
        said.contains("\n  help: name the folder of a toolkit, which holds bin/nvcc"),
        "{said}"
    );

    machine.install(&[]);
    let (code, said, _) = doctor(&machine, &[], &[("CUDA_HOME", nowhere)]);
    assert_eq!(code, Some(0));
    has(
        &said,
        "missing",
        "CUDA toolkit",
        "CUDA_HOME is /nowhere, which",
    );
    // As with a host compiler that is too new for nvcc.
    let fails = "#!/bin/sh\n[ $1 = --version ] && echo V13.0.88 && exit\n\
        echo 'In file included from x' >&2\necho '#error -- unsupported GNU version!' >&2\nexit 1\n";
    fs::write(machine.root().join("bin/nvcc"), fails).expect("the folder is writable");
    fs::write(machine.root().join("bin/ptxas"), "#!/bin/sh\nexit 3\n").expect("a program");
    let (code, said, errors) = doctor(&machine, &[], &[]);
    assert_eq!(code, Some(1));
    assert_eq!(errors, "error: not in order: ptxas, nvcc\n");
    has(
        &said,
        "broken",
        "ptxas",
        "it ended with exit status: 3: nothing was said (needed",
    );
    let reason = "does not compile: #error -- unsupported GNU version!";
    has(&said, "broken", "nvcc", reason);
    let (code, said, _) = doctor(&machine, &["--format=json"], &[]);
    assert_eq!(code, Some(1));
    let report: serde_json::Value = serde_json::from_str(&said).expect("it is JSON");
    assert_eq!(report["schema_version"], 1);
    let checks = report["machine"].as_array().expect("a list");
    let nvcc = checks.iter().find(|check| check["part"] == "nvcc");
    let nvcc = nvcc.expect("it is there");
    assert_eq!(nvcc["state"], "broken");
    assert_eq!(nvcc["found"], reason);
    assert!(nvcc["fix"].is_string() && nvcc["needed"].is_string());
}

#[test]
fn programs_read_versions_and_processors() {
    let machine = Machine::new();
    machine.install(&[]);
    let smi = machine.bin("nvidia-smi");
    fs::write(&smi, "#!/bin/sh\necho 'NVIDIA H200, 9.0'\n").expect("the folder is writable");
    fs::set_permissions(&smi, fs::Permissions::from_mode(0o755)).expect("it is ours");
    let (_, said, _) = doctor(&machine, &[], &[]);
    has(&said, "ok", "driver", "NVIDIA H200 (sm_90)");
    let (_, said, _) = doctor(&machine, &["--format=json"], &[]);
    let report: serde_json::Value = serde_json::from_str(&said).expect("it is JSON");
    let checks = report["machine"].as_array().expect("a list");
    let of = |part: &str| checks.iter().find(|check| check["part"] == part);
    for part in ["CUDA toolkit", "ptxas"] {
        assert_eq!(of(part).expect("it is there")["version"], "13.0.88");
    }
    let devices = serde_json::json!([{ "name": "NVIDIA H200", "arch": "sm_90" }]);
    assert_eq!(of("driver").expect("it is there")["devices"], devices);
    assert!(of("nvcc").expect("it is there").get("devices").is_none());
}
