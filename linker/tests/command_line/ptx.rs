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
fn variables_that_name_no_toolkit_are_told_once_where_one_is_needed() {
    let folder = Folder::new();
    folder.write("callee.ptx", PTX);
    assembler(&folder, "");
    std::fs::create_dir_all(folder.path("toolkit/bin")).unwrap();
    for name in ["nvcc", "ptxas"] {
        let program = folder.path("toolkit/bin").join(name);
        std::fs::rename(folder.path("ptxas"), &program).unwrap();
        assembler(&folder, "");
    }
    let toolkit = folder.path("toolkit").canonicalize().unwrap();
    let ran = |arguments: &str| {
        let output = Command::new(env!("CARGO_BIN_EXE_rustnvlink"))
            .args(arguments.split(' '))
            .current_dir(&folder.0)
            .env("CUDA_HOME", "/nowhere")
            .env("CUDA_PATH", &toolkit)
            .output()
            .unwrap();
        (
            output.status.code(),
            String::from_utf8(output.stderr).unwrap(),
        )
    };
    let told = "-arch sm_90 -m 64 -c callee.ptx -o elf.o\n";
    let text = format!(
        "CUDA_HOME is /nowhere, which does not exist; the toolkit in {} is used",
        toolkit.display()
    );
    let warning = format!("nvlink warning : {text} [ignored-variable]\n");
    let link = "-arch=sm_90 -o out.cubin callee.ptx";
    assert_eq!(ran(link), (Some(0), format!("{warning}{told}")));
    let (code, said) = ran(&format!("{link} -Werror"));
    assert_eq!((code, said.contains(&text)), (Some(255), true), "{said}");
    let (code, said) = ran("-arch=sm_90,sm_100 -o out.{arch}.cubin callee.ptx");
    assert_eq!(said.matches(&text).count(), 1, "{code:?} {said}");
    // nvlink looks for none, and where nothing is needed of one, ours does not either.
    let (_, said) = ran(&format!("{link} --compat"));
    assert!(
        said.starts_with("-arch sm_90 ") && !said.contains("CUDA_HOME"),
        "{said}"
    );
    let without = "-arch=sm_90 -o out.cubin callee.cubin";
    assert_eq!(ran(without), (Some(0), String::new()));
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
