//! What the doctor says of files that are none of its own.

use std::path::Path;
use std::process::Command;

use object::{Architecture, BinaryFormat, Endianness};

/// The exit code, and what is said.
fn doctor(file: &Path) -> (Option<i32>, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_cargo-cudalink"))
        .arg("doctor")
        .arg(file)
        .output()
        .expect("the program runs");
    let said = String::from_utf8_lossy(&output.stdout);
    (output.status.code(), said.into_owned())
}

#[track_caller]
fn check(file: &Path, expected: &[&str], unexpected: &str) {
    let (code, said) = doctor(file);
    assert_eq!(code, Some(1), "{said}");
    for part in expected {
        assert!(said.contains(part), "no '{part}' in {said}");
    }
    assert!(!said.contains(unexpected), "'{unexpected}' in {said}");
}

#[test]
fn inspect_is_named_where_it_shows_something() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    check(
        &here.join("../tests/inputs/caller.sm_90.cubin"),
        &[
            "nor program (cubin) [not-a-host-file]",
            "help: look at device code without host code:\n    cargo cudalink inspect ",
        ],
        "unknown",
    );
    check(
        &here.join("Cargo.toml"),
        &["nor program [not-a-host-file]"],
        "help",
    );
}

#[cfg(target_os = "linux")]
#[test]
fn what_never_ends_is_not_read() {
    check(
        Path::new("/dev/zero"),
        &["/dev/zero cannot be read: not a regular file [unreadable]"],
        "help",
    );
}

#[test]
fn nothing_is_not_called_good() {
    let object =
        object::write::Object::new(BinaryFormat::Elf, Architecture::X86_64, Endianness::Little);
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("host.o");
    std::fs::write(&file, object.write().expect("an object")).expect("a file");
    let said = "note: there is no device code in 1 file\n";
    assert_eq!(doctor(&file), (Some(0), said.to_owned()));
}
