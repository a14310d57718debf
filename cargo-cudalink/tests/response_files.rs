//! `@FILE` in command lines of `link` and `doctor`, as build systems write them for many objects.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;

#[test]
fn files_of_words_name_what_is_linked() {
    let folder = tempfile::tempdir().expect("a folder");
    let inputs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/inputs");
    for name in ["caller", "callee"] {
        let copy = folder.path().join(format!("the {name}.cubin"));
        fs::copy(inputs.join(format!("{name}.sm_90.cubin")), copy).expect("a cubin");
    }
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).expect("a file");
    write("objects", "'the caller.cubin'\nthe\\ callee.cubin\n");
    write("all", "-o linked.fatbin --output-format=fatbin @objects");
    let output = run(&folder, &["link", "@all"]);
    assert!(output.status.success(), "{output:?}");
    let linked = fs::read(folder.path().join("linked.fatbin")).expect("a fatbin");
    let [caller, callee] = ["the caller.cubin", "the callee.cubin"];
    let by_hand = [
        "link",
        "--output-format=fatbin",
        "-o",
        "same.fatbin",
        caller,
        callee,
    ];
    assert!(run(&folder, &by_hand).status.success());
    assert_eq!(
        fs::read(folder.path().join("same.fatbin")).ok(),
        Some(linked)
    );

    let output = run(&folder, &["doctor", "@objects"]);
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("the caller.cubin"), "{output:?}");

    write("open", "'the caller.cubin");
    let output = run(&folder, &["link", "-o", "x.o", "@open"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        said.contains("error: the response file open ends inside quotes"),
        "{said}"
    );
}

fn run(folder: &TempDir, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_cargo-cudalink"))
        .args(arguments)
        .env_remove("CARGO_TERM_COLOR")
        .current_dir(folder.path())
        .output()
        .expect("the program runs")
}
