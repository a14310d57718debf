//! Compares images that nvlink wrote, whole and damaged.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use cubin_diff::{Difference, compare};

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/images")
        .join(name)
}

fn image(name: &str) -> Vec<u8> {
    fs::read(path(name)).unwrap()
}

fn keys(differences: &[Difference]) -> Vec<&str> {
    differences
        .iter()
        .map(|difference| difference.key.as_str())
        .collect()
}

fn command(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_cubin-diff"))
        .args(arguments)
        .current_dir(path(""))
        .output()
        .unwrap()
}

/// Changes a copy of an image where `needle` stands.
fn edited(name: &str, needle: &[u8], bytes: &[u8]) -> Vec<u8> {
    let mut image = image(name);
    let at = image
        .windows(needle.len())
        .position(|window| window == needle)
        .unwrap();
    image[at..at + bytes.len()].copy_from_slice(bytes);
    image
}

#[test]
fn a_changed_byte_anywhere_is_a_difference() {
    // A prime, so that every position inside a record is met.
    const STRIDE: usize = 61;
    for name in ["two_files.cubin", "mercury.cubin"] {
        let whole = image(name);
        let mut damaged = whole.clone();
        for at in (0..whole.len()).step_by(STRIDE) {
            damaged[at] ^= 0x41;
            if let Ok(differences) = compare(&whole, &damaged) {
                assert!(!differences.is_empty(), "{name} at {at:#x}");
            }
            damaged[at] = whole[at];
        }
        assert!(compare(&whole, &damaged).unwrap().is_empty());
    }
}

#[test]
fn a_renamed_symbol_is_one_difference_for_each_place_that_names_it() {
    let whole = image("two_files.cubin");
    let renamed = edited("two_files.cubin", b"\0g_count\0", b"\0g_other\0");
    assert_eq!(
        keys(&compare(&whole, &renamed).unwrap()),
        [
            "strings.strtab",
            "symbol.order",
            "symbol.g_count",
            "relocation.rela.text._Z2k1Pfi.0x170",
            "relocation.rela.text._Z2k1Pfi.0x180",
            "relocation.rela.text._Z6helperfi.0x30",
            "relocation.rela.text._Z6helperfi.0x40",
            "symbol.g_other",
        ]
    );
}

#[test]
fn a_changed_record_is_named() {
    // EIATTR_REGCOUNT, eight bytes long.
    let whole = image("two_files.cubin");
    let needle = [4, 0x2f, 8, 0];
    let at = whole
        .windows(4)
        .position(|window| window == needle)
        .unwrap();
    let mut changed = whole.clone();
    changed[at + 8] += 1;
    let differences = compare(&whole, &changed).unwrap();
    assert_eq!(keys(&differences), ["info.nv.info.REGCOUNT(_Z6helperfi)"]);
    assert_eq!(differences[0].left.as_deref(), Some("EIFMT_SVAL [0x2e]"));
    assert_eq!(differences[0].right.as_deref(), Some("EIFMT_SVAL [0x2f]"));
}

#[test]
fn damaged_images_are_errors_that_name_the_side() {
    let whole = image("two_files.cubin");
    let error = compare(&whole, &whole[..100]).unwrap_err().to_string();
    assert!(error.starts_with("the right image: "), "{error}");
    let error = compare(b"text", &whole).unwrap_err().to_string();
    assert!(error.starts_with("the left image: "), "{error}");
}

#[test]
fn the_report_reads_well() {
    let output = command(&["two_files.cubin", "swapped.cubin"]);
    assert_eq!(output.status.code(), Some(1));
    let report = String::from_utf8(output.stdout).unwrap();
    let golden = path("swapped.txt");
    if env::var_os("RUSTNVLINK_UPDATE_GOLDENS").is_some_and(|value| value == "1") {
        fs::write(&golden, &report).unwrap();
    }
    assert_eq!(report, fs::read_to_string(golden).unwrap());
}

#[test]
fn exit_codes_tell_equal_different_and_broken() {
    let code = |arguments: &[&str]| command(arguments).status.code();
    assert_eq!(code(&["two_files.cubin", "two_files.cubin"]), Some(0));
    assert_eq!(code(&["two_files.cubin", "mercury.cubin"]), Some(1));
    assert_eq!(code(&["two_files.cubin", "README.md"]), Some(2));
    assert_eq!(code(&["two_files.cubin", "missing.cubin"]), Some(2));
}

#[test]
fn ignored_keys_do_not_count() {
    let folder = tempfile::tempdir().unwrap();
    let list = folder.path().join("ignored");
    fs::write(&list, "* # everything is accepted\n").unwrap();
    let list = list.to_str().unwrap();
    let output = command(&["two_files.cubin", "swapped.cubin", "--ignore", list]);
    assert_eq!(output.status.code(), Some(0));
    assert!(output.stdout.is_empty());
}

#[test]
fn json_is_a_list_of_keys_and_sides() {
    let output = command(&["two_files.cubin", "swapped.cubin", "--format", "json"]);
    let value: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(value[0]["key"], "section.order");
    assert!(value[0]["left"].is_string() && value[0]["right"].is_string());
}
