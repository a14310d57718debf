//! What people see on a terminal, and what files and other programs get.
#![cfg(target_os = "linux")]

use std::fs::{File, OpenOptions};
use std::io::Read as _;
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

const FILE: &str = "tests/inputs/caller.sm_90.cubin";

/// The command, without what its user has chosen for terminals.
fn command(arguments: &[&str], variables: &[(&str, &str)]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cargo-cudalink"));
    command
        .args(arguments)
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(".."))
        .stdin(Stdio::null());
    for name in [
        "CARGO_TERM_COLOR",
        // Where it runs, some take for terminals what is none.
        "CI",
        "CLICOLOR",
        "CLICOLOR_FORCE",
        "COLUMNS",
        "NO_COLOR",
    ] {
        command.env_remove(name);
    }
    command.env("TERM", "xterm").envs(variables.iter().copied());
    command
}

/// All that a command says on a terminal of this width.
fn on_terminal(columns: u16, arguments: &[&str], variables: &[(&str, &str)]) -> String {
    let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
    grantpt(&terminal).expect("it is ours");
    unlockpt(&terminal).expect("it can be opened");
    let size = Winsize {
        ws_row: 24,
        ws_col: columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    tcsetwinsize(&terminal, size).expect("it has a size");
    let name = ptsname(&terminal, Vec::new()).expect("it has a name");
    let screen = OpenOptions::new()
        .read(true)
        .write(true)
        .open(name.to_str().expect("of ASCII"))
        .expect("it opens");
    let mut command = command(arguments, variables);
    command.stdout(screen.try_clone().expect("a second handle"));
    command.stderr(screen);
    let mut child = command.spawn().expect("the program starts");
    // The last handles of the screen are those of the child, whose end is that of the text.
    drop(command);
    let mut text = Vec::new();
    match File::from(terminal).read_to_end(&mut text) {
        Err(error) if error.raw_os_error() != Some(5) => panic!("{error}"),
        Ok(_) | Err(_) => {}
    }
    child.wait().expect("it ends");
    String::from_utf8(text).expect("text").replace('\r', "")
}

/// The same for other programs: the output and what is said.
fn in_pipes(arguments: &[&str], variables: &[(&str, &str)]) -> [String; 2] {
    let output = command(arguments, variables).output().expect("it starts");
    [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).expect("text"))
}

fn has_colours(text: &str) -> bool {
    text.contains('\x1b')
}

#[test]
fn terminals_have_colours_unless_they_are_not_wanted() {
    let check = |variables: &[(&str, &str)], expected: bool| {
        for arguments in [
            &["inspect", FILE][..],
            &["doctor", "no-such-file"],
            &["explain", "no-such-code"],
        ] {
            let shown = on_terminal(80, arguments, variables);
            assert_eq!(has_colours(&shown), expected, "{variables:?}: {shown}");
        }
    };
    check(&[], true);
    check(&[("NO_COLOR", "1")], false);
    check(&[("NO_COLOR", "")], true);
    check(&[("CLICOLOR", "0")], false);
    check(&[("TERM", "dumb")], false);
    check(&[("CARGO_TERM_COLOR", "never")], false);
    check(&[("CARGO_TERM_COLOR", "always")], true);
    check(&[("CARGO_TERM_COLOR", "auto"), ("NO_COLOR", "1")], false);
    // Cargo's variable is about its commands, and says more than that about all programs.
    check(&[("CARGO_TERM_COLOR", "always"), ("NO_COLOR", "1")], true);
}

#[test]
fn other_programs_get_colours_where_they_are_forced() {
    let check = |variables: &[(&str, &str)], expected: [bool; 2]| {
        let [report, _] = in_pipes(&["inspect", FILE], variables);
        let [_, errors] = in_pipes(&["explain", "no-such-code"], variables);
        assert_eq!(
            [has_colours(&report), has_colours(&errors)],
            expected,
            "{variables:?}"
        );
    };
    check(&[], [false, false]);
    check(&[("CLICOLOR_FORCE", "1")], [true, true]);
    // Reports are data, which cargo's variable is not about.
    check(&[("CARGO_TERM_COLOR", "always")], [false, true]);
}

#[test]
fn only_text_is_printed_on_terminals() {
    let link = |format| {
        let arguments = ["link", FILE, "tests/inputs/callee.sm_90.cubin", "-o", "-"];
        on_terminal(80, &[&arguments[..], &[format]].concat(), &[])
    };
    for format in ["--output-format=object", "--output-format=cubin"] {
        let shown = link(format);
        assert!(shown.contains("no text for a terminal"), "{shown}");
        assert!(!shown.contains("ELF"), "{shown}");
    }
    assert!(link("--output-format=c").contains(".nv_fatb"));
}

#[test]
fn tables_fit_the_terminal() {
    let plain = [("NO_COLOR", "1")];
    for columns in [80, 100] {
        let shown = on_terminal(columns, &["inspect", "--all", FILE], &plain);
        for line in shown.lines() {
            assert!(
                line.chars().count() <= usize::from(columns),
                "{columns}: {line}"
            );
        }
    }
    let names = |text: &str| text.matches("caller").count();
    let [whole, _] = in_pipes(&["inspect", FILE], &[]);
    assert_eq!(
        names(&on_terminal(80, &["inspect", FILE], &plain)),
        names(&whole)
    );
}
