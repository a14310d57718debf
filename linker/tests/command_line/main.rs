//! The program as its users run it: messages, exit codes and files.

mod folder;
mod inputs;
mod ptx;
mod reports;
mod streams;

#[cfg(unix)]
use std::process::Command;

use rustnvlink::fatbin;

use folder::Folder;
#[cfg(unix)]
use inputs::TEXT;

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
    folder.write_fatbin("callee");
    let count = |processor: &str| {
        let options = "--register-link-binaries=modules.h -o out.cubin callee.fatbin";
        folder.run(&format!("-arch={processor} --compat {options}"));
        let text = std::fs::read_to_string(folder.path("modules.h")).unwrap();
        text.lines().count() - 1
    };
    assert_eq!((count("sm_75"), count("sm_90")), (0, 1));
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
fn help_and_version_go_to_the_standard_output() {
    let folder = Folder::new();
    let help = folder.run("--help");
    assert_eq!((help.code, &*help.stderr), (Some(0), ""));
    assert!(help.stdout.contains("Usage: rustnvlink"));
    let version = folder.run("-V");
    assert_eq!((version.code, &*version.stderr), (Some(0), ""));
    assert!(version.stdout.contains("release 13.0, V13.0.88"));
}

#[test]
fn one_run_links_for_several_processors() {
    let folder = Folder::new();
    folder.write_fatbin("caller");
    folder.write_fatbin("callee");
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
