//! `cargo cudalink completions`.

use std::process::{Command, Stdio};

#[test]
fn completions_are_printed_as_far_as_somebody_reads() {
    let program = || {
        let mut program = Command::new(env!("CARGO_BIN_EXE_cargo-cudalink"));
        program.args(["completions", "bash"]).stderr(Stdio::piped());
        program
    };
    let whole = program().output().expect("the program runs");
    let text = String::from_utf8_lossy(&whole.stdout);
    assert!(
        whole.status.success() && text.contains("_cargo__cudalink()"),
        "{whole:?}"
    );

    let mut child = program()
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program runs");
    drop(child.stdout.take());
    let ended = child.wait_with_output().expect("the program ends");
    assert!(ended.status.success(), "{ended:?}");
}
