//! `cargo cudalink completions`.

use std::process::{Command, Stdio};

/// Completes the words of its arguments as bash does, and prints what it offers. Cargo has a completion already.
const BASH: &str = r#"
_of_cargo() { COMPREPLY=("cargo's own for ${COMP_WORDS[*]}"); }
complete -F _of_cargo cargo
source <("$PROGRAM" completions bash)
source <("$PROGRAM" completions bash rustnvlink)
# Readline takes it where there is one.
compopt() { :; }
COMP_WORDS=("$@" "")
[[ $LAST ]] && COMP_WORDS[$#]=$LAST
COMP_CWORD=$#
specification=$(complete -p "$1")
[[ $specification =~ -F\ ([^ ]+) ]]
"${BASH_REMATCH[1]}" "$1" "$LAST" "${COMP_WORDS[COMP_CWORD - 1]}"
echo "${COMPREPLY[*]}"
"#;

#[test]
fn bash_completes_what_is_typed() {
    let check = |typed: &str, expected: &str| {
        let (words, last) = typed.rsplit_once(' ').expect("several words");
        let output = Command::new("bash")
            .args(["--norc", "-c", BASH, "bash"])
            .args(words.split(' '))
            .env("PROGRAM", env!("CARGO_BIN_EXE_cargo-cudalink"))
            .env("LAST", last)
            .output()
            .expect("bash runs");
        let offered = String::from_utf8_lossy(&output.stdout);
        assert_eq!(offered.trim(), expected, "{typed}: {output:?}");
    };
    check("cargo-cudalink tool", "toolkit");
    check("cargo-cudalink toolkit in", "install");
    check("cargo cudalink tool", "toolkit");
    check("cargo +nightly cudalink toolkit install --fo", "--force");
    check("cargo cudalink nvcc-dlink --he", "--help");
    check(
        "cargo cudalink link --output-format ",
        "object c fatbin cubin rust c-header",
    );
    check("cargo cudalink build --arch sm_90", "sm_90 sm_90a");
    check(
        "cargo cudalink link --compress-mode la",
        "large large-speed",
    );
    check("cargo cudalink explain undef", "undefined-reference");
    // Hidden options are hidden here, too; those beside them stay.
    check("cargo cudalink link --ca", "");
    check("cargo cudalink link --arc", "--arch");
    check("cargo cudalink toolkit install --ver", "");
    check("cargo cuda", "cargo's own for cargo cuda");
    check(
        "cargo build cudalink --rel",
        "cargo's own for cargo build cudalink --rel",
    );
    check("rustnvlink --arc", "--arch --archive");
    check("rustnvlink a.o --arch sm_90", "sm_90 sm_90a");
}

#[test]
fn hidden_options_are_offered_by_no_shell() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let output = Command::new(env!("CARGO_BIN_EXE_cargo-cudalink"))
            .args(["completions", shell])
            .output()
            .expect("the program runs");
        let text = String::from_utf8(output.stdout).expect("text");
        assert!(text.contains("output-format"), "{shell}");
        assert!(!text.contains("caller"), "{shell}");
        // The command with hidden options still says what it is for, where shells show that.
        let says_what = text.contains("Link device code for one or more processors");
        assert_eq!(says_what, shell != "bash", "{shell}");
    }
}

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
