//! Inputs and outputs that are no plain files.

use std::io::Write as _;
use std::process::{Command, Stdio};

use crate::folder::{Folder, Ran};

/// Runs a link with this on its standard input, by a pipe.
fn fed(folder: &Folder, arguments: &str, bytes: &[u8]) -> Ran {
    let mut running = Command::new(env!("CARGO_BIN_EXE_rustnvlink"))
        .args(arguments.split_whitespace())
        .current_dir(folder.0.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut pipe = running.stdin.take().unwrap();
    // Who has read enough reads no more.
    let _ = pipe.write_all(bytes);
    drop(pipe);
    let output = running.wait_with_output().unwrap();
    Ran {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// What a shell makes of `<(command)` has no name that somebody else could open.
#[cfg(target_os = "linux")]
#[test]
fn pipes_without_a_name_are_inputs() {
    let folder = Folder::new();
    let callee = std::fs::read(folder.path("callee.cubin")).unwrap();
    let link = "-arch=sm_90 -o out.cubin caller.cubin";
    folder.check(&format!("{link} callee.cubin"), 0, "");
    let expected = std::fs::read(folder.path("out.cubin")).unwrap();
    let arguments = format!("{link} /dev/stdin");
    let ran = fed(&folder, &arguments, &callee);
    assert_eq!((ran.code, &*ran.stderr), (Some(0), ""));
    assert_eq!(std::fs::read(folder.path("out.cubin")).unwrap(), expected);
    // A pipe is gone when something else looks whether it has changed.
    let ran = fed(&folder, &format!("{arguments} --depfile=out.d"), &callee);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let rule = std::fs::read_to_string(folder.path("out.d")).unwrap();
    assert!(
        rule.contains("caller.cubin") && !rule.contains("stdin"),
        "{rule}"
    );
    // nvlink goes by the ends of names, of which this one has none.
    let ran = fed(&folder, &format!("{arguments} --compat"), &callee);
    assert_eq!(ran.code, Some(255), "{}", ran.stderr);
    // Of what is no input, only the beginning is read.
    let ran = fed(&folder, &arguments, &vec![0; 1 << 20]);
    assert!(
        ran.stderr.contains("'/dev/stdin' is ignored"),
        "{}",
        ran.stderr
    );
    let ran = fed(&folder, &arguments, b"");
    assert!(ran.stderr.contains("'/dev/stdin'"), "{}", ran.stderr);
}

#[test]
fn any_number_of_threads_gives_the_same_image() {
    let folder = Folder::new();
    let link = "-arch=sm_90 -o out.cubin caller.cubin callee.cubin";
    folder.check(link, 0, "");
    let expected = std::fs::read(folder.path("out.cubin")).unwrap();
    for count in [0, 1, 2, 100] {
        folder.check(&format!("{link} --threads={count}"), 0, "");
        assert_eq!(std::fs::read(folder.path("out.cubin")).unwrap(), expected);
    }
    folder.check(
        &format!("{link} --threads=-1"),
        1,
        "nvlink fatal   : '-1' is no number of threads [invalid-value]\n",
    );
    folder.check(
        &format!("{link} --threads=all"),
        1,
        "nvlink fatal   : 'all': expected a number [invalid-value]\n",
    );
}

#[test]
fn an_option_of_nvcc_is_no_library() {
    let folder = Folder::new();
    let link = "-arch=sm_90 -o out.cubin caller.cubin callee.cubin -lineinfo";
    folder.check(
        link,
        0,
        "nvlink warning : option '-lineinfo' has no effect in a device link: the lines of sources stay that the \
         objects have (nvcc -dc -lineinfo) [unused-option]\n",
    );
    folder.check(&format!("{link} --compat"), 0, "");
}

#[test]
fn outputs_that_cannot_be_written_are_explained() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("folder")).unwrap();
    let link = "-arch=sm_90 caller.cubin callee.cubin";
    for (output, why) in [
        ("folder", "it is a folder; name a file in it"),
        ("missing/out", "there is no such folder"),
        ("", "the name is empty"),
    ] {
        let expected = format!(
            "nvlink fatal   : Could not open output file '{output}': {why} [unwritable-output]\n"
        );
        folder.check(&format!("{link} --output-file={output}"), 1, &expected);
        let compat = format!("{link} --output-file={output} --compat");
        let expected = format!("nvlink fatal   : Could not open output file '{output}'\n");
        folder.check(&compat, 1, &expected);
    }
    assert_eq!(std::fs::read_dir(folder.0.path()).unwrap().count(), 3);
}

#[test]
fn folders_are_no_inputs() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("folder")).unwrap();
    for (given, what) in [
        ("caller.cubin folder", "input file 'folder'"),
        ("-optf folder", "options file 'folder'"),
    ] {
        let ran = folder.run(&format!("-arch=sm_90 -o out.cubin {given}"));
        let expected =
            format!("nvlink fatal   : Could not open {what}: it is a folder; name a file in it [");
        assert_eq!(ran.code, Some(1));
        assert!(ran.stderr.starts_with(&expected), "{}", ran.stderr);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_leaves_no_part_of_an_image() {
    let folder = Folder::new();
    let ran = folder.run("-arch=sm_90 caller.cubin callee.cubin -o /dev/full");
    let expected =
        "nvlink fatal   : Could not write output file '/dev/full': No space left on device";
    assert_eq!(ran.code, Some(1));
    assert!(ran.stderr.starts_with(expected), "{}", ran.stderr);
    folder.check("-arch=sm_90 caller.cubin callee.cubin -o /dev/null", 0, "");
}

/// The system would end the program, which then could not say why.
#[cfg(target_os = "linux")]
#[test]
fn a_limit_on_the_size_of_files_is_named() {
    let folder = Folder::new();
    let program = env!("CARGO_BIN_EXE_rustnvlink");
    let link = "-arch=sm_90 caller.cubin callee.cubin -o out.cubin";
    let ran = Command::new("sh")
        .args(["-c", &format!("ulimit -f 1; exec '{program}' {link}")])
        .current_dir(folder.0.path())
        .output()
        .unwrap();
    let said = String::from_utf8(ran.stderr).unwrap();
    let expected = "nvlink fatal   : Could not write output file 'out.cubin': File too large [unwritable-output]\n";
    assert_eq!((ran.status.code(), &*said), (Some(1), expected));
    let files = std::fs::read_dir(folder.0.path()).unwrap();
    assert_eq!(files.count(), 2, "only the inputs are there");
}

/// What inputs call things is no command to a terminal.
#[test]
fn names_of_inputs_do_not_reach_the_terminal_as_commands() {
    let folder = Folder::new();
    let mut data = std::fs::read(folder.path("caller.cubin")).unwrap();
    let name = b"_Z6calleefi\0";
    let at = data
        .windows(name.len())
        .position(|bytes| bytes == name)
        .unwrap();
    data[at + 2] = 0x1b;
    std::fs::write(folder.path("odd.cubin"), data).unwrap();
    let ran = folder.run("-arch=sm_90 --cref odd.cubin -o out.cubin");
    assert!(ran.stderr.contains(r"'_Z\u{1b}calleefi'"), "{}", ran.stderr);
    assert!(ran.stdout.contains(r"_Z\u{1b}calleefi"), "{}", ran.stdout);
    let is_command = |c: char| c.is_control() && c != '\n';
    assert!(!(ran.stdout + &ran.stderr).contains(is_command));
}

/// PTX is assembled in a folder that does not stay when somebody stops the link, unless whoever started it had it ignore that.
#[cfg(target_os = "linux")]
#[test]
fn a_link_that_is_told_to_end_leaves_no_folder() {
    use std::os::unix::fs::PermissionsExt as _;
    use std::os::unix::process::ExitStatusExt as _;

    let folder = Folder::new();
    let ptx = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() { ret; }\n";
    folder.write("k.ptx", ptx);
    // Whoever asks for code gets none before the pipe is closed.
    folder.write("ptxas", "#!/bin/sh\ntouch started\nread line < wait\n");
    let executable = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(folder.path("ptxas"), executable).unwrap();
    let made = Command::new("mkfifo").arg(folder.path("wait")).status();
    assert!(made.unwrap().success());
    let temporary = folder.path("temporary");
    std::fs::create_dir(&temporary).unwrap();
    let is_empty = || std::fs::read_dir(&temporary).unwrap().next().is_none();
    for (how, signal, number) in [
        ("", "TERM", Some(15)),
        ("", "INT", Some(2)),
        ("", "HUP", Some(1)),
        ("trap '' HUP; ", "HUP", None),
    ] {
        let program = env!("CARGO_BIN_EXE_rustnvlink");
        let link = "-arch=sm_90 --ptxas=./ptxas k.ptx -o out.cubin";
        // Whoever runs tests in the background may ignore these.
        let mut running = Command::new("env")
            .args(["--default-signal=HUP,INT,TERM", "sh", "-c"])
            .arg(format!("{how}exec '{program}' {link}"))
            .current_dir(folder.0.path())
            .env("TMPDIR", &temporary)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let started = folder.path("started");
        let wait = || std::thread::sleep(std::time::Duration::from_millis(1));
        assert!((0..60_000).any(|_| started.exists() || (wait(), false).1));
        std::fs::remove_file(started).unwrap();
        assert!(!is_empty());
        let id = running.id().to_string();
        let sent = Command::new("kill")
            .args([&format!("-{signal}"), &id])
            .status();
        assert!(sent.unwrap().success());
        // Where the signal ends the link, it does so while the assembler waits.
        let ended = number.map(|_| running.wait().unwrap());
        std::fs::write(folder.path("wait"), "").unwrap();
        let ended = ended.unwrap_or_else(|| running.wait().unwrap());
        assert_eq!(ended.signal(), number, "{how}{signal}");
        assert!(is_empty(), "{how}{signal}");
    }
}
