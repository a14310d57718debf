//! The program as its users run it: messages, exit codes and files.

mod reports;
mod streams;

use std::path::{Path, PathBuf};
use std::process::Command;

use rustnvlink::fatbin::{self, FatbinOptions, LinkedImage};

/// A folder of its own for every test, with two objects that belong together.
struct Folder(tempfile::TempDir);

/// What a run printed, and how it ended.
#[derive(Debug, PartialEq, Eq)]
struct Ran {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

impl Folder {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let inputs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/inputs");
        for name in ["caller", "callee"] {
            let from = inputs.join(format!("{name}.sm_90.cubin"));
            std::fs::copy(&from, folder.path().join(format!("{name}.cubin"))).unwrap();
        }
        Self(folder)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
    }

    fn run(&self, arguments: &str) -> Ran {
        let output = Command::new(env!("CARGO_BIN_EXE_rustnvlink"))
            .args(arguments.split_whitespace())
            .current_dir(self.0.path())
            .output()
            .unwrap();
        Ran {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Runs a link, and says how it ended and what it said.
    fn check(&self, arguments: &str, code: i32, stderr: &str) {
        let ran = self.run(arguments);
        assert_eq!(
            (ran.code, &*ran.stderr),
            (Some(code), stderr),
            "{arguments}"
        );
    }
}

/// Longer than what nvlink needs to look at a file.
const TEXT: &str = "a text of more than fifty bytes, which is as much as nvlink reads first";

#[test]
fn a_link_writes_its_image_and_nothing_else() {
    let folder = Folder::new();
    folder.check("-arch=sm_90 -o out.cubin caller.cubin callee.cubin", 0, "");
    let image = std::fs::read(folder.path("out.cubin")).unwrap();
    folder.write("arguments.txt", "-arch sm_90 caller.cubin \"callee.cubin\"");
    for spelling in ["@arguments.txt", "-optf arguments.txt"] {
        folder.check(&format!("{spelling} -o again.cubin"), 0, "");
        assert_eq!(image, std::fs::read(folder.path("again.cubin")).unwrap());
    }
    assert_eq!(std::fs::read_dir(folder.0.path()).unwrap().count(), 5);
}

/// Build systems hand all objects of a program to the device link.
#[test]
fn bitcode_of_host_compilers_is_no_matter_of_the_link_without_device_code() {
    let folder = Folder::new();
    for (name, end) in [
        ("host.o", &b"host code"[..]),
        ("cuda.o", b"__fatbinwrap_m1"),
        ("device.bc", b"device code"),
    ] {
        let bitcode = [b"BC\xc0\xde", &[b' '; 60][..], end].concat();
        std::fs::write(folder.path(name), bitcode).unwrap();
    }
    let arguments = "-arch=sm_90 -o out.cubin caller.cubin callee.cubin";
    folder.check(&format!("{arguments} host.o"), 0, "");
    folder.check(&format!("{arguments} cuda.o --compat"), 0, "");
    let warning = "nvlink warning : 'cuda.o' is ignored: -flto leaves its device code to the link of host code; compile \
                   CUDA sources without it (behind others, -Xcompiler=-fno-lto for nvcc, -fno-lto for Clang) \
                   [ignored-input]\n";
    folder.check(&format!("{arguments} cuda.o"), 0, warning);
    let warning = "nvlink warning : 'device.bc' is ignored: it is neither a host object nor an archive, cubin or fatbin \
                   [ignored-input]\n";
    folder.check(&format!("{arguments} device.bc"), 0, warning);
}

#[test]
fn what_is_left_out_is_said_unless_nvlink_is_meant() {
    let folder = Folder::new();
    folder.write("note.txt", TEXT);
    let arguments = "-arch=sm_90 -o out.cubin caller.cubin callee.cubin note.txt";
    let warning = "nvlink warning : 'note.txt' is ignored: it is neither a host object nor an \
                   archive, cubin or fatbin, but a text that begins with 'a text of more than fifty \
                   bytes, which is as much as nvlink..' [ignored-input]\n";
    folder.check(arguments, 0, warning);
    folder.check(&format!("{arguments} --compat"), 0, "");
    folder.check(&format!("{arguments} -w"), 0, "");
    std::fs::remove_file(folder.path("out.cubin")).unwrap();
    let error = warning.replace("warning ", "error   ");
    folder.check(&format!("{arguments} -Werror"), 255, &error);
    assert!(!folder.path("out.cubin").exists());
}

#[test]
fn failed_links_leave_older_outputs_alone() {
    let folder = Folder::new();
    folder.write("out.cubin", "older");
    folder.write("modules.h", "older");
    let ran = folder
        .run("-arch=sm_90 -o out.cubin caller.cubin --register-link-binaries=modules.h -lmissing");
    assert_eq!(ran.code, Some(255));
    assert!(
        ran.stderr.contains("[undefined-reference]"),
        "{}",
        ran.stderr
    );
    for name in ["out.cubin", "modules.h"] {
        assert_eq!(std::fs::read_to_string(folder.path(name)).unwrap(), "older");
    }
}

#[test]
fn libraries_that_are_not_there_are_named() {
    let folder = Folder::new();
    let link = "-arch=sm_90 -o out.cubin caller.cubin callee.cubin -lmissing";
    let message =
        |why: &str| format!("no library was found for -lmissing: {why} [missing-library]\n");
    let warning = message("no folder is named by -L");
    folder.check(link, 0, &format!("nvlink warning : {warning}"));
    folder.check(&format!("{link} --compat"), 0, "");
    folder.check(
        &format!("{link} -Werror"),
        255,
        &format!("nvlink error   : {warning}"),
    );
    let looked = message("there is no libmissing.a in '.', 'no/such', 'a' and 1 more");
    folder.check(
        &format!("{link} -L. -Lno/such,a,b"),
        0,
        &format!("nvlink warning : {looked}"),
    );
    // Those of the host are none of ours.
    folder.check(&link.replace("missing", "m"), 0, "");
    for name in [":libx.a", "libx.a", "a/x"] {
        let ran = folder.run(&link.replace("missing", name));
        assert!(
            ran.stderr.contains("name a file by its path"),
            "{}",
            ran.stderr
        );
    }
}

#[test]
fn modules_are_registered_by_their_paths() {
    let folder = Folder::new();
    folder.check(
        "-arch=sm_90 -o out.cubin caller.cubin callee.cubin --register-link-binaries=modules.h",
        0,
        "",
    );
    let text = std::fs::read_to_string(folder.path("modules.h")).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "#define NUM_PRELINKED_OBJECTS 2");
    assert!(lines[1].starts_with("DEFINE_REGISTER_FUNC(_"));
    assert!(lines[2].ends_with("_callee_cubin)"));
}

#[test]
fn a_fatbin_without_code_for_the_processor_is_no_module() {
    let folder = Folder::new();
    fatbin_of(&folder, "callee");
    let count = |processor: &str| {
        let options = "--register-link-binaries=modules.h -o out.cubin callee.fatbin";
        folder.run(&format!("-arch={processor} --compat {options}"));
        let text = std::fs::read_to_string(folder.path("modules.h")).unwrap();
        text.lines().count() - 1
    };
    assert_eq!((count("sm_75"), count("sm_90")), (0, 1));
}

/// What stands in the place of a file that Git keeps elsewhere.
const POINTER: &str = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n";

#[test]
fn problems_with_options_and_inputs() {
    let folder = Folder::new();
    folder.write("junk.cubin", POINTER);
    let check = |arguments: &str, message: &str| {
        folder.check(
            &format!("-arch=sm_90 -o out.cubin {arguments}"),
            1,
            &format!("nvlink fatal   : {message}\n"),
        );
        assert!(!folder.path("out.cubin").exists());
    };
    check(
        "-verbose",
        "Unknown option 'verbose': did you mean '--verbose'? [unknown-option]",
    );
    check("--compat -verbose", "Unknown option 'verbose'");
    check(
        "junk.cubin",
        "cubin not an elf? 'junk.cubin' is a text that begins with 'version https://git-lfs.github.com/spec/v1' \
         [not-a-cubin]",
    );
    check("--compat junk.cubin", "cubin not an elf?");
    let mut callee = std::fs::read(folder.path("callee.cubin")).unwrap();
    callee.truncate(callee.len() - 100);
    std::fs::write(folder.path("short.cubin"), &callee).unwrap();
    let ran = folder.run("-arch=sm_90 -o out.cubin caller.cubin short.cubin");
    assert_eq!(ran.code, Some(1));
    let expected = format!("past the {:#x} bytes there are [bad-input]", callee.len());
    assert!(
        ran.stderr.contains("short.cubin, offset 0x"),
        "{}",
        ran.stderr
    );
    assert!(
        ran.stderr.contains(": section table ends at 0x"),
        "{}",
        ran.stderr
    );
    assert!(ran.stderr.contains(&expected), "{}", ran.stderr);
    check(
        "-optf missing.txt",
        "Could not open options file 'missing.txt': No such file or directory \
         [unreadable-options-file]",
    );
    check(
        "-report-arch --compat nothing.cubin",
        "Could not open input file 'nothing.cubin' (target: sm_90)",
    );
}

#[test]
fn what_is_mistyped_comes_with_what_may_be_meant() {
    let folder = Folder::new();
    let check = |arguments: &str, expected: &str| {
        let ran = folder.run(arguments);
        assert_eq!(ran.code, Some(1), "{arguments}");
        assert!(ran.stderr.contains(expected), "{arguments}: {}", ran.stderr);
        let compat = folder.run(&format!("--compat {arguments}")).stderr;
        assert!(!compat.contains(expected), "{compat}");
    };
    check(
        "",
        "Must specify the processor with -arch=sm_NN: --help lists all options",
    );
    check(
        "-o x a.o",
        "-arch=sm_NN: `cargo cudalink inspect` shows what inputs have code for",
    );
    for text in ["sm90", "90", "9.0", "SM_90", "compute-90"] {
        check(&format!("-arch={text} -o x a.o"), "did you mean 'sm_90'?");
    }
    check(
        "-arch=sm_70 -o x a.o",
        "CUDA 13 has left it behind; there are sm_75, sm_80, ",
    );
    check("-arch=sm_91 -o x a.o", ": there are sm_75, sm_80, ");
    check(
        "-arch=native -o x a.o",
        "nvidia-smi --query-gpu=compute_cap",
    );
    check("-ghls=foo", "it is lcs-abs or lcs-aug");
    check("--ouput x", "did you mean '--output-file'?");
    check("--output x", "did you mean '--output-file'?");
    check(
        "--registerlink x",
        "did you mean '--register-link-binaries'?",
    );
}

#[test]
fn inputs_are_no_outputs() {
    let folder = Folder::new();
    let before = std::fs::read(folder.path("caller.cubin")).unwrap();
    let link = "-arch=sm_90 -o ./caller.cubin caller.cubin callee.cubin";
    folder.check(
        link,
        1,
        "nvlink fatal   : Output file './caller.cubin' is an input: name another one with -o \
         [unwritable-output]\n",
    );
    let by_arch = "-arch=sm_90 -o cal{arch}.cubin calsm_90.cubin callee.cubin";
    std::fs::copy(folder.path("caller.cubin"), folder.path("calsm_90.cubin")).unwrap();
    assert_eq!(folder.run(by_arch).code, Some(1));
    assert_eq!(std::fs::read(folder.path("caller.cubin")).unwrap(), before);
    let clash = |options: &str, what: &str| {
        let link = format!("-arch=sm_90 caller.cubin callee.cubin {options}");
        let text = format!("nvlink fatal   : Output file {what} [unwritable-output]\n");
        folder.check(&link, 1, &text);
        assert_eq!(std::fs::read(folder.path("caller.cubin")).unwrap(), before);
        assert!(!folder.path("out.cubin").exists(), "{options}");
    };
    for option in [
        "--map",
        "--dot-file",
        "--depfile",
        "--register-link-binaries",
        "--time",
    ] {
        clash(
            &format!("-o out.cubin {option}=caller.cubin"),
            &format!("'caller.cubin' is an input: name another one with {option}"),
        );
        clash(
            &format!("-o out.cubin {option}=./out.cubin"),
            &format!("'./out.cubin' is named by -o, too: name another one with {option}"),
        );
    }
    folder.write("arguments", "");
    clash(
        "-o arguments @arguments",
        "'arguments' is an input: name another one with -o",
    );
    // As nvlink does it.
    folder.check(&format!("{link} --compat"), 0, "");
    assert_ne!(std::fs::read(folder.path("caller.cubin")).unwrap(), before);
}

#[test]
fn what_cannot_all_be_written_is_not_written() {
    let folder = Folder::new();
    for option in [
        "--map",
        "--dot-file",
        "--depfile",
        "--register-link-binaries",
    ] {
        folder.check(
            &format!("-arch=sm_90 caller.cubin callee.cubin -o out.cubin {option}=no/file"),
            1,
            "nvlink fatal   : Could not open output file 'no/file': there is no such folder \
             [unwritable-output]\n",
        );
        assert!(!folder.path("out.cubin").exists(), "{option}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn what_finds_no_place_is_not_said_to_be_unopened() {
    let folder = Folder::new();
    let link = "-arch=sm_90 caller.cubin callee.cubin -o /dev/full";
    let why = "No space left on device [unwritable-output]";
    folder.check(
        link,
        1,
        &format!("nvlink fatal   : Could not write output file '/dev/full': {why}\n"),
    );
    let text = "nvlink fatal   : Internal error: writing file\n";
    folder.check(&format!("{link} --compat"), 1, text);
}

#[cfg(unix)]
#[test]
fn links_do_without_threads() {
    let folder = Folder::new();
    let mut link = "-arch=sm_90 -w -o out.cubin caller.cubin callee.cubin".to_owned();
    // So many files are read by several threads.
    for number in 0..200 {
        let name = format!("{number}.txt");
        folder.write(&name, TEXT);
        link = format!("{link} {name}");
    }
    let run = |stack: &str| {
        let output = Command::new(env!("CARGO_BIN_EXE_rustnvlink"))
            .args(link.split(' '))
            .env("RUST_MIN_STACK", stack)
            .current_dir(folder.0.path())
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        std::fs::read(folder.path("out.cubin")).unwrap()
    };
    // The system has no such stack to give.
    assert_eq!(run("1125899906842624"), run("2097152"));
}

#[test]
fn inputs_that_cannot_be_linked_come_with_what_to_do() {
    let folder = Folder::new();
    let link = "-arch=sm_90 -o out.cubin caller.cubin";
    folder.write("callee.cu", "short");
    folder.check(
        &format!("{link} callee.cu"),
        1,
        "nvlink fatal   : Could not open input file 'callee.cu': it is a source, which has to be \
         compiled first (nvcc -dc) [unreadable-input]\n",
    );
    folder.write("callee.cu", TEXT);
    let ran = folder.run(&format!("{link} callee.cubin callee.cu"));
    let expected = "nvlink warning : 'callee.cu' is ignored: it is a source, which has to be compiled \
                    first (nvcc -dc) [ignored-input]\n";
    assert_eq!((ran.code, &*ran.stderr), (Some(0), expected));

    let mut bytes = std::fs::read(folder.path("callee.cubin")).unwrap();
    bytes[8] += 1;
    std::fs::write(folder.path("later.cubin"), &bytes).unwrap();
    folder.check(
        &format!("{link} later.cubin"),
        1,
        "nvlink fatal   : Input file 'later.cubin' abi does not match: its ABI version is 9, and this \
         linker knows 8, that of CUDA 11.8 to 13; compile it with one of these [abi-mismatch]\n",
    );

    let ran = folder.run(&format!("{link} callee.cubin ./callee.cubin"));
    let expected = "help: if both are the same object, leave one of them out";
    assert!(ran.stderr.contains(expected), "{}", ran.stderr);

    folder.check(
        &link.replace("sm_90", "sm_80"),
        1,
        "nvlink fatal   : Input file 'caller.cubin' arch does not match target 'sm_80': it is for sm_90; \
         compile it for sm_80, or link for sm_90 [arch-mismatch]\n",
    );

    fatbin_of(&folder, "callee");
    let ran = folder.run("-arch=sm_75 -o out.cubin callee.fatbin");
    let expected = "SM Arch ('sm_75') not found in 'callee.fatbin': it has code for sm_80, sm_90 [";
    assert!(ran.stderr.contains(expected), "{}", ran.stderr);
}

#[cfg(unix)]
#[test]
fn odd_files_are_refused_or_left_out() {
    let folder = Folder::new();
    let made = Command::new("mkfifo").arg(folder.path("pipe")).status();
    assert!(made.unwrap().success());
    folder.check(
        "-arch=sm_90 -o out.cubin pipe",
        1,
        "nvlink fatal   : Could not open input file 'pipe': it is a pipe; write what comes out of \
         it to a file [unreadable-input]\n",
    );
    let ran = folder.run("-arch=sm_90 -o out.cubin .");
    assert_eq!(ran.code, Some(1));
    let endless = "-arch=sm_90 -o out.cubin caller.cubin callee.cubin /dev/zero";
    let warning = "nvlink warning : '/dev/zero' is ignored: it is neither a host object nor an \
                   archive, cubin or fatbin [ignored-input]\n";
    folder.check(endless, 0, warning);
    for (option, what) in [
        ("-optf", "options file"),
        ("--tool-record", "the tool record"),
        ("--uidx-file", "input file"),
    ] {
        let ran = folder.run(&format!(
            "-arch=sm_90 -o out.cubin caller.cubin {option} /dev/zero"
        ));
        assert_eq!(ran.code, Some(1), "{}", ran.stderr);
        let said = format!("{what} '/dev/zero': it is longer than 256 MB");
        assert!(ran.stderr.contains(&said), "{}", ran.stderr);
    }
    // nothing is written outside of what was named
    let bytes = std::fs::read(folder.path("callee.cubin")).unwrap();
    let mut archive = b"!<arch>\n".to_vec();
    archive.extend(format!("{:<16}{:<32}{:<10}`\n", "../../escape.o/", "0", bytes.len()).bytes());
    archive.extend(bytes);
    std::fs::write(folder.path("tricks.a"), archive).unwrap();
    let ran = folder.run("-arch=sm_90 -o out.cubin caller.cubin callee.cubin tricks.a");
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stderr.contains("tricks.a:"), "{}", ran.stderr);
    assert_eq!(std::fs::read_dir(folder.0.path()).unwrap().count(), 5);
}

#[test]
fn help_and_version_go_to_the_standard_output() {
    let folder = Folder::new();
    let help = folder.run("--help");
    assert_eq!((help.code, &*help.stderr), (Some(0), ""));
    assert!(help.stdout.contains("Usage: rustnvlink"));
    let version = folder.run("-V");
    assert_eq!((version.code, &*version.stderr), (Some(0), ""));
    assert!(version.stdout.contains("release 13.0, V13.0.88"));
}

/// PTX that no test compiles.
#[cfg(unix)]
const PTX: &str = ".version 9.0\n.target sm_75\n.address_size 64\n.visible .func f() { ret; }\n";

/// A program in place of ptxas: it says what it was told, and does `end`.
#[cfg(unix)]
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

#[cfg(unix)]
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

#[cfg(unix)]
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

/// A fatbin with the code of one input for two processors.
fn fatbin_of(folder: &Folder, name: &str) {
    let inputs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/inputs");
    let read = |sm| std::fs::read(inputs.join(format!("{name}.{sm}.cubin"))).unwrap();
    let (older, newer) = (read("sm_80"), read("sm_90"));
    let images = [("sm_80", &older), ("sm_90", &newer)].map(|(sm, data)| LinkedImage {
        sm: sm.parse().unwrap(),
        data,
    });
    let bytes = fatbin::write(&images, &FatbinOptions::default()).unwrap();
    std::fs::write(folder.path(&format!("{name}.fatbin")), bytes).unwrap();
}

#[test]
fn one_run_links_for_several_processors() {
    let folder = Folder::new();
    fatbin_of(&folder, "caller");
    fatbin_of(&folder, "callee");
    let inputs = "caller.fatbin callee.fatbin";
    folder.check(&format!("-arch=sm_80 -o 80.cubin {inputs}"), 0, "");
    folder.check(&format!("-arch=sm_90 -o 90.cubin {inputs}"), 0, "");
    let read = |name: &str| std::fs::read(folder.path(name)).unwrap();
    let both = format!("-arch=sm_80,sm_90 {inputs}");
    folder.check(&format!("{both} -o {{arch}}.out --depfile out.d"), 0, "");
    assert_eq!(read("sm_80.out"), read("80.cubin"));
    assert_eq!(read("sm_90.out"), read("90.cubin"));
    assert!(read("out.d").starts_with(b"sm_80.out sm_90.out: \\\n  caller.fatbin"));
    folder.check(&format!("{both} -o out.fatbin"), 0, "");
    let bytes = read("out.fatbin");
    let fatbins: Vec<_> = fatbin::fatbins(&bytes).map(Result::unwrap).collect();
    let entries: Vec<_> = fatbins[0].entries().map(Result::unwrap).collect();
    let names: Vec<String> = entries.iter().map(|entry| entry.sm.to_string()).collect();
    assert_eq!(names, ["sm_80", "sm_90"]);
    let image = entries[0].image(fatbin::Limit::default()).unwrap();
    assert_eq!(image[..], read("80.cubin")[..]);
    folder.check(
        &format!("{both} -o out.fatbin --map=out.map"),
        1,
        "nvlink fatal   : --map needs {arch} in its value where several processors are named \
         [conflicting-options]\n",
    );
    // One link that fails keeps all from being written.
    let ran = folder.run("-arch=sm_80,sm_90 -o no-{arch} caller.cubin callee.cubin");
    assert_eq!(ran.code, Some(1));
    assert!(ran.stderr.contains("(target: sm_80)"), "{}", ran.stderr);
    assert!(!folder.path("no-sm_90").exists());
}
