//! Command lines for `nvcc -dlink` of programs without device code of their own, as CMake writes them.

use std::fs;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

#[test]
fn nothing_is_said_of_what_has_no_device_code() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("empty.a"), "!<arch>\n").expect("a library");
    let inputs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/inputs");
    let callee = inputs.join("callee.sm_90.cubin");
    let callee = format!("--image3=kind=elf,sm=90,file={}", callee.display());
    run(
        &folder,
        &["fatbinary", "-link", "--create=code.fatbin", &callee],
    );
    check(&folder, &["-arch=sm_90", "empty.a"], &[]);
    // nvcc compiles for a processor of its own choice then.
    check(&folder, &["empty.a"], &[]);
    let lacking = ["[missing-arch-code]", "[no-device-code]"];
    check(&folder, &["-arch=sm_80", "code.fatbin"], &lacking);
}

/// Links, and looks for these messages and no others.
fn check(folder: &TempDir, arguments: &[&str], expected: &[&str]) {
    let begin = ["nvcc-dlink", "nvcc", "-dlink", "-o", "link.o"];
    let said = run(folder, &[&begin, arguments].concat());
    assert_eq!(
        said.lines().count(),
        expected.len(),
        "{arguments:?}: {said}"
    );
    for part in expected {
        assert!(said.contains(part), "{arguments:?}: {said}");
    }
}

fn run(folder: &TempDir, arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_cargo-cudalink"))
        .args(arguments)
        .current_dir(folder)
        .output()
        .expect("cargo-cudalink can be run");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{arguments:?}: {said}");
    said
}
