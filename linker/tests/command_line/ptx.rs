//! PTX among the inputs, and the program that compiles it.
#![cfg(unix)]

use std::process::Command;

use crate::folder::Folder;

/// PTX that no test compiles.
const PTX: &str = ".version 9.0\n.target sm_75\n.address_size 64\n.visible .func f() { ret; }\n";

/// A program in place of ptxas: it says what it was told, and does `end`.
fn assembler(folder: &Folder, end: &str) {
    let callee = folder.path("callee.cubin");
    let script = format!(
        "#!/bin/sh\necho \"$@\" >&2\nfor made; do :; done\ncp '{}' \"$made\"\n{end}\n",
        callee.display()
    );
    folder.write("ptxas.text", &script);
    // A file that this program has written may still be open in what another test is about to start, and then it cannot
    // be run.
    let status = std::process::Command::new("install")
        .args([folder.path("ptxas.text"), folder.path("ptxas")])
        .status();
    assert!(status.unwrap().success());
}

#[test]
fn ptx_is_compiled_by_the_program_that_is_named() {
    let folder = Folder::new();
    folder.write("callee.ptx", PTX);
    assembler(&folder, "");
    let arguments = "-arch=sm_90 -o out.cubin caller.cubin callee.ptx --ptxas=./ptxas \
                     -maxrregcount=40 -Xptxas=-O1,-v";
    let told = "-arch sm_90 -m 64 -c -O1 -v --maxrregcount=40 callee.ptx -o elf.o\n";
    folder.check(arguments, 0, told);
    folder.check("-arch=sm_90 -o both.cubin caller.cubin callee.cubin", 0, "");
    let read = |name| std::fs::read(folder.path(name)).unwrap();
    assert_eq!(read("out.cubin"), read("both.cubin"));
}

#[test]
fn ptx_that_does_not_compile_ends_the_link() {
    let folder = Folder::new();
    folder.write("callee.ptx", PTX);
    assembler(&folder, "exit 3");
    let program = folder.path("ptxas").display().to_string();
    let arguments = format!("-arch=sm_90 -o out.cubin callee.ptx --ptxas={program}");
    let told = "-arch sm_90 -m 64 -c callee.ptx -o elf.o\n";
    let problem = "nvlink fatal   : elfLink fatbinary error";
    folder.check(
        &arguments,
        1,
        &format!(
            "{told}{problem}: '{program}' made nothing of the PTX in 'callee.ptx' (exit status: \
             3) [ptxas-failed]\n"
        ),
    );
    assert!(!folder.path("out.cubin").exists());
    let told = told.replace("callee.ptx", "application ptx input");
    folder.check(
        &format!("{arguments} --compat"),
        1,
        &format!("{told}{problem}\n"),
    );
    let ran = folder.run("-arch=sm_90 -o out.cubin callee.ptx --ptxas=/no/such/program");
    assert_eq!(ran.code, Some(1));
    assert!(ran.stderr.contains("Could not run '/no/such/program'"));
    // A place for temporary files that is of no use is not the only one.
    assembler(&folder, "");
    let output = Command::new(env!("CARGO_BIN_EXE_rustnvlink"))
        .args(arguments.split(' '))
        .env("TMPDIR", folder.path("missing"))
        .current_dir(folder.0.path())
        .output();
    assert!(output.unwrap().status.success());
}
