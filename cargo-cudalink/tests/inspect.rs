//! `cargo cudalink inspect` as its users meet it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::{env, fs};

use serde_json::Value;

/// The folder of the workspace: what is inspected is named from there.
fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn inspect(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cargo-cudalink"));
    command
        .arg("inspect")
        .args(arguments)
        .env_remove("CARGO_TERM_COLOR")
        .current_dir(workspace());
    command.output().expect("the program starts")
}

#[track_caller]
fn text(output: &[u8]) -> &str {
    std::str::from_utf8(output).expect("output is UTF-8")
}

/// The whole of the output stream is one document.
#[track_caller]
fn json(arguments: &[&str]) -> Value {
    let output = inspect(&[arguments, &["--format", "json"]].concat());
    let document: Value = serde_json::from_slice(&output.stdout).expect("one JSON document");
    assert_eq!(document["schema_version"], 1);
    document
}

/// Compares with the text in `inspect/NAME.txt`; `RUSTNVLINK_UPDATE_GOLDENS=1` writes it anew.
#[track_caller]
fn check_text(name: &str, arguments: &[&str]) {
    let output = inspect(arguments);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let shown = text(&output.stdout);
    assert!(!shown.contains('\x1b'), "no colours in a file");
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/inspect/{name}.txt"));
    if env::var_os("RUSTNVLINK_UPDATE_GOLDENS").is_some() {
        fs::write(&golden, shown).expect("goldens can be written");
    }
    let expected = fs::read_to_string(&golden).expect("the golden exists");
    assert_eq!(shown, expected, "{}", golden.display());
}

#[track_caller]
fn check_failure(arguments: &[&str], expected: &str) {
    let output = inspect(arguments);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(text(&output.stderr), expected);
}

const CALLER: &str = "tests/inputs/caller.sm_90.cubin";
const ZSTD: &str = "linker/tests/data/fatbin/zstd.fatbin";

#[test]
fn summaries_of_objects() {
    check_text("caller.sm_80", &["tests/inputs/caller.sm_80.cubin"]);
    check_text(
        "two",
        &[
            "tests/inputs/saxpy.sm_100.cubin",
            "tests/inputs/callee.sm_120.cubin",
        ],
    );
}

#[test]
fn summary_of_a_fatbin() {
    check_text("fatbin", &[ZSTD]);
}

#[test]
fn everything_of_an_object() {
    check_text("all", &["--all", CALLER]);
    check_text("mangled", &["--call-graph", "--mangled", CALLER]);
}

#[test]
fn sections_are_decoded_by_their_type() {
    let names = [
        ".nv.info",
        ".nv.compat",
        ".note.nv.cuinfo",
        ".nv.prototype",
        ".nv.constant3",
        ".nv.callgraph",
        ".rela.debug_frame",
        ".strtab",
    ];
    let mut arguments: Vec<&str> = names.iter().flat_map(|name| ["--section", name]).collect();
    arguments.push(CALLER);
    check_text("sections", &arguments);
}

#[test]
fn json_has_the_figures() {
    let document = json(&["--all", "--section", ".nv.info", CALLER, ZSTD]);
    let image = &document["files"][0]["image"];
    assert_eq!(image["arch"], "sm_90");
    assert_eq!(image["object"], "relocatable");
    assert_eq!(image["contents"][0]["contents"]["type"], "records");
    for list in [
        "kernels",
        "variables",
        "undefined",
        "sections",
        "symbols",
        "relocations",
    ] {
        assert!(!image[list].as_array().expect(list).is_empty(), "{list}");
    }
    let entries = &document["files"][1]["fatbins"][0]["entries"];
    assert_eq!(entries[0]["kind"], "elf");
    assert_eq!(entries[0]["image"]["kernels"][0]["name"], "scale");
    assert_eq!(entries[1]["kind"], "ptx");
    assert_eq!(entries[1]["options"], "-O1");
}

#[test]
fn a_filter_keeps_images_of_one_processor() {
    let document = json(&["--arch", "sm_90", CALLER, "tests/inputs/caller.sm_80.cubin"]);
    assert!(document["files"][0]["image"].is_object());
    assert!(document["files"][1]["image"].is_null());
    check_failure(
        &["--arch", "sm_75", CALLER, "tests/inputs/caller.sm_80.cubin"],
        "error: no image for sm_75; there are images for sm_80, sm_90\n",
    );
    check_failure(
        &["--section", ".nothing", CALLER],
        "error: no image has a section .nothing; --sections lists those there are\n",
    );
}

#[test]
fn files_that_cannot_be_read_do_not_hide_others() {
    let output = inspect(&["no such file", CALLER, "tests/inputs/callee.cu"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stdout).contains("sm_90 relocatable"));
    let errors = text(&output.stderr);
    assert!(
        errors.contains("error: no such file: cannot be read"),
        "{errors}"
    );
    assert!(
        errors.contains(
            "error: tests/inputs/callee.cu: a source, which has to be compiled first (nvcc -dc)"
        ),
        "{errors}"
    );
    assert!(
        errors.ends_with("error: 2 of 3 files cannot be read in full\n"),
        "{errors}"
    );

    let document = json(&["no such file", CALLER]);
    assert!(document["files"][0]["error"]["message"].is_string());
    assert!(document["files"][1]["error"].is_null());
}

#[test]
fn damaged_images_are_shown_as_such() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("damaged.fatbin");
    let mut data = fs::read(workspace().join(ZSTD)).expect("the fixture");
    // The first frame's header, behind those of the fatbin and the entry.
    data[16 + 0x50] ^= 0xff;
    fs::write(&path, data).expect("a file");
    let path = path.to_str().expect("a name");
    let output = inspect(&[path]);
    assert_eq!(output.status.code(), Some(1));
    let shown = text(&output.stdout);
    assert!(
        shown.contains("unreadable: offset 0x60: damaged zstd payload"),
        "{shown}"
    );
    assert!(shown.contains("PTX 9.0"), "{shown}");
    let errors = text(&output.stderr);
    let expected = format!("error: {path}, elf image for sm_90, offset 0x60: damaged zstd payload");
    assert!(errors.starts_with(&expected), "{errors}");
}
