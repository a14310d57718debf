//! What is given for inputs and outputs of links: standard streams, one file for both, sources.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

/// A folder with two objects of one program, and one of another.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let inputs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/inputs");
    for name in ["caller.cubin", "callee.cubin", "empty.cubin"] {
        let input = inputs.join(name.replace(".cubin", ".sm_90.cubin"));
        fs::copy(input, folder.path().join(name)).expect("a cubin");
    }
    folder
}

fn command(folder: &TempDir, words: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cargo-cudalink"));
    command
        .args(words.split(' '))
        .env_remove("CARGO_TERM_COLOR")
        .current_dir(folder.path())
        .stdin(Stdio::null());
    command
}

fn run(folder: &TempDir, words: &str) -> Output {
    command(folder, words).output().expect("the program runs")
}

/// Fails with a message that says this.
#[track_caller]
fn fails(folder: &TempDir, words: &str, expected: &str) {
    let output = run(folder, words);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        !output.status.success() && said.contains(expected),
        "{words}: {said}"
    );
}

#[test]
fn modules_of_rust_bring_no_warnings() {
    let folder = folder();
    let program = "#![deny(warnings, missing_docs, unreachable_pub)]\n//! A program.\nmod linked;\nfn main() {}\n";
    fs::write(folder.path().join("program.rs"), program).expect("a source");
    // One has a kernel with parameters, one a kernel without, and one no kernel.
    for inputs in ["caller.cubin callee.cubin", "empty.cubin", "callee.cubin"] {
        let made = run(&folder, &format!("link {inputs} -o linked.rs"));
        assert!(made.status.success(), "{inputs}: {made:?}");
        let mut rustc = Command::new("rustc");
        rustc.args(["--edition=2024", "--emit=metadata", "program.rs"]);
        let checked = rustc.current_dir(folder.path()).output().expect("rustc");
        assert!(checked.status.success(), "{inputs}: {checked:?}");
    }
}

#[test]
fn a_dash_is_the_standard_output() {
    let folder = folder();
    for (words, file) in [
        ("link caller.cubin callee.cubin", "linked.o"),
        (
            "link caller.cubin callee.cubin --output-format=c",
            "linked.c",
        ),
        (
            "link caller.cubin callee.cubin --output-format=cubin",
            "linked.cubin",
        ),
        ("script", "script"),
    ] {
        let printed = run(&folder, &format!("{words} -o -"));
        assert!(printed.status.success(), "{words}: {printed:?}");
        assert!(run(&folder, &format!("{words} -o {file}")).status.success());
        let written = fs::read(folder.path().join(file)).expect(file);
        assert!(printed.stdout == written && !written.is_empty(), "{words}");
    }
    let link = "link caller.cubin callee.cubin -o linked.o --depfile -";
    let rule = String::from_utf8(run(&folder, link).stdout).expect("text");
    assert!(rule.starts_with("linked.o:"), "{rule}");
    assert!(!folder.path().join("-").exists());

    let link = "link caller.cubin callee.cubin -o ./-";
    assert!(run(&folder, link).status.success());
    assert!(folder.path().join("-").is_file());
}

#[test]
fn the_name_of_a_result_says_what_it_is() {
    let folder = folder();
    let link = "link caller.cubin callee.cubin -o";
    for (name, format) in [
        ("linked.cubin", "cubin"),
        ("linked.fatbin", "fatbin"),
        ("linked.rs", "rust"),
        ("linked.h", "c-header"),
        ("linked.c", "c"),
        ("linked.o", "object"),
        ("linked", "object"),
    ] {
        let made = [
            format!("{link} {name}"),
            format!("{link} {name} --output-format={format}"),
        ]
        .map(|words| {
            assert!(run(&folder, &words).status.success(), "{words}");
            fs::read(folder.path().join(name)).expect(name)
        });
        assert!(made[0] == made[1], "{name}");
    }
    let as_nvcc = "nvcc-dlink -- nvcc -dlink -arch=sm_90 caller.cubin callee.cubin -o linked.cubin";
    assert!(run(&folder, as_nvcc).status.success());
    let object = fs::read(folder.path().join("linked.cubin")).expect("a result");
    assert!(
        object.windows(10).any(|bytes| bytes == b".nv_fatbin"),
        "nvcc makes objects for the host"
    );
}

#[test]
fn no_result_has_the_name_of_what_it_is_not() {
    let folder = folder();
    let link = "link caller.cubin callee.cubin -o";
    for (name, what) in [
        ("linked.a", "a static library"),
        ("linked.so", "a shared library"),
        ("linked.cu", "a C++ source"),
        ("linked.ptx", "PTX"),
    ] {
        fails(
            &folder,
            &format!("{link} {name}"),
            &format!("'{name}' is the name of {what}, which a device link does not make"),
        );
        let output = run(&folder, &format!("{link} {name} --format=object"));
        assert!(output.status.success(), "{name}: {output:?}");
    }
}

#[test]
fn what_needs_a_name_is_not_printed() {
    let folder = folder();
    let link = "link caller.cubin callee.cubin -o -";
    for format in ["rust", "c-header"] {
        fails(
            &folder,
            &format!("{link} --output-format={format}"),
            "named after its file: name one with -o",
        );
    }
    fails(
        &folder,
        &format!("{link} --depfile rule"),
        "needs the name of what it makes",
    );
}

/// It may be for a newer processor than any that could be tried.
#[test]
fn ptx_alone_needs_the_name_of_a_processor() {
    let folder = folder();
    let ptx = ".version 8.0\n.target sm_120\n.address_size 64\n.visible .entry k() { ret; }\n";
    fs::write(folder.path().join("k.ptx"), ptx).expect("a file");
    let output = run(&folder, "link k.ptx -o linked.o");
    let said = String::from_utf8_lossy(&output.stderr);
    let expected =
        "error: the inputs have PTX and no machine code; compile them for a processor, too";
    assert!(
        said.starts_with(expected) && said.contains("or name one with --arch"),
        "{said}"
    );
}

#[test]
fn a_dash_is_the_standard_input() {
    let folder = folder();
    let with_input = |words: &str| {
        let input = fs::File::open(folder.path().join("caller.cubin")).expect("a cubin");
        let output = command(&folder, words).stdin(input).output();
        String::from_utf8(output.expect("the program runs").stdout).expect("text")
    };
    let named = String::from_utf8(run(&folder, "inspect caller.cubin").stdout).expect("text");
    assert_eq!(
        with_input("inspect -").replacen("the standard input", "caller.cubin", 1),
        named
    );
    let said = with_input("doctor -");
    let expected =
        "the standard input is neither host object, archive, shared library nor program (cubin)";
    assert!(said.contains(expected), "{said}");
    assert!(said.contains("cargo cudalink inspect -"), "{said}");
    let said = with_input("inspect --format=json -");
    assert!(said.contains(r#""name": "-""#), "{said}");
}

#[cfg(target_os = "linux")]
#[test]
fn what_cannot_be_printed_is_an_error_unless_nobody_reads_it() {
    let folder = folder();
    for words in [
        "script",
        "explain never-linked",
        "toolkit list --format json",
        "link caller.cubin callee.cubin -o -",
        "--help",
        "--version",
        "help link",
        "build --help",
        "explain linked-twice",
        "completions bash",
        "script -o -",
        "inspect caller.cubin",
        "inspect --format=json caller.cubin",
    ] {
        let full = fs::File::create("/dev/full").expect("a device");
        let output = command(&folder, words)
            .stdout(full)
            .output()
            .expect("the program runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{words}: {said}");
        assert!(
            said.starts_with("error: cannot write to the standard output: "),
            "{words}: {said}"
        );

        // Who no longer reads has seen enough.
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let output = command(&folder, words)
            .stdout(writer)
            .output()
            .expect("the program runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.success() && said.is_empty(),
            "{words}: {said}"
        );
    }
}

#[test]
fn sources_are_told_from_objects() {
    let folder = folder();
    for text in [
        "__device__ int callee;",
        &"__device__ int callee;\n".repeat(9),
    ] {
        fs::write(folder.path().join("callee.cu"), text).expect("a source");
        fails(
            &folder,
            "link caller.cubin callee.cubin callee.cu -o x.o",
            "'callee.cu' is a source, which has to be compiled first (nvcc -dc)",
        );
    }
}

#[test]
fn texts_of_libtool_name_what_is_meant() {
    let folder = folder();
    let text =
        "# main.lo - a libtool object file\npic_object='.libs/main.o'\nnon_pic_object='main.o'\n";
    fs::write(folder.path().join("main.lo"), text).expect("a text");
    fails(
        &folder,
        "link main.lo -o x.o",
        "'main.lo' is ignored: it is a text of libtool; link '.libs/main.o' or 'main.o' instead [ignored-input]",
    );
    fails(
        &folder,
        "inspect main.lo",
        "main.lo: a text of libtool, which stands for .libs/main.o, main.o",
    );
    let said = run(&folder, "doctor main.lo").stdout;
    let said = String::from_utf8_lossy(&said);
    let help = "help: libtool wrote it: look at .libs/main.o or main.o instead";
    assert!(said.contains(help), "{said}");
}

#[cfg(unix)]
#[test]
fn libraries_of_the_toolkit_are_found() {
    use std::os::unix::fs::symlink;
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    for place in ["toolkit/bin", "toolkit/lib64"] {
        fs::create_dir_all(at(place)).expect("a folder");
    }
    for tool in ["nvcc", "ptxas"] {
        // Nothing here runs them.
        symlink("/bin/true", at("toolkit/bin").join(tool)).expect("a link");
    }
    fs::write(at("toolkit/lib64/libcudadevrt.a"), "!<arch>\n").expect("a library");
    // A shared library has nothing to link, which is no reason for a word.
    fs::write(at("toolkit/lib64/libmath.so"), "").expect("a library");
    let link = "link caller.cubin callee.cubin -o linked.o -lmath -lmeth";
    let output = command(&folder, link)
        .env("CUDA_HOME", at("nowhere"))
        .env("CUDA_PATH", at("toolkit"))
        .output();
    let said = String::from_utf8(output.expect("the program runs").stderr).expect("text");
    let looked = at("toolkit/lib64");
    let looked = looked.display();
    let expected = format!(
        "warning: CUDA_HOME is {}, which does not exist; the toolkit in {} is used\n\
         warning: no library was found for -lmeth: there is no libmeth.a in '{looked}' (sm_90) [missing-library]\n",
        at("nowhere").display(),
        at("toolkit").display()
    );
    assert_eq!(said, expected);
    let chosen = |choice: &Path| {
        let output = command(&folder, link)
            .env("CUDA_HOME", at("nowhere"))
            .env("CUDALINK_TOOLKIT", choice)
            .output()
            .expect("the program runs");
        let said = String::from_utf8(output.stderr).expect("text");
        (output.status.success(), said)
    };
    let (_, expected) = expected.split_once('\n').expect("two lines");
    assert_eq!(chosen(&at("toolkit")), (true, expected.to_owned()));
    let (succeeds, said) = chosen(Path::new("missing"));
    let expected = "CUDALINK_TOOLKIT: ";
    assert!(
        !succeeds && said.contains(expected) && said.contains("missing does not exist"),
        "{said}"
    );
    let by_option = |toolkit: &str| {
        let words = format!("{link} --toolkit {toolkit}");
        let output = command(&folder, &words)
            .env("CUDALINK_TOOLKIT", at("nowhere"))
            .output()
            .expect("the program runs");
        String::from_utf8(output.stderr).expect("text")
    };
    let warning = format!("there is no libmeth.a in '{looked}'");
    let said = by_option("toolkit");
    assert!(
        said.contains(&warning) && said.lines().count() == 1,
        "{said}"
    );
    let said = by_option("missing");
    assert!(said.contains("missing does not exist"), "{said}");
}

/// An option, or the nvcc whose work is done, counts more than the toolkit of the machine.
#[cfg(unix)]
#[test]
fn ptx_is_assembled_by_the_toolkit_that_is_named() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    let executable = |path: &Path, text: String| {
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("a program");
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("it is ours");
    };
    for toolkit in ["named", "other"] {
        let text = format!("#!/bin/sh\necho ptxas of {toolkit} >&2\nexit 1\n");
        executable(&at(toolkit).join("bin/ptxas"), text);
        executable(&at(toolkit).join("bin/nvcc"), "#!/bin/sh\n".to_owned());
    }
    fs::create_dir(at("links")).expect("a folder");
    std::os::unix::fs::symlink(at("named/bin/nvcc"), at("links/nvcc")).expect("a link");
    let kernel =
        ".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry kernel() { ret; }\n";
    fs::write(at("a.ptx"), kernel).expect("PTX");
    let of_nvcc = "-dlink -arch=sm_90 a.ptx -o x.o";
    for (words, expected) in [
        ("link --arch=sm_90 a.ptx -o x.o", "other"),
        ("link --toolkit named --arch=sm_90 a.ptx -o x.o", "named"),
        (
            "link --toolkit named -Xnvlink=--ptxas=other/bin/ptxas --arch=sm_90 a.ptx -o x.o",
            "other",
        ),
        (&format!("nvcc-dlink named/bin/nvcc {of_nvcc}"), "named"),
        (&format!("nvcc-dlink links/nvcc {of_nvcc}"), "named"),
        // As a shell finds it, and where there is none.
        (&format!("nvcc-dlink nvcc {of_nvcc}"), "named"),
        (&format!("nvcc-dlink missing/nvcc {of_nvcc}"), "other"),
    ] {
        let output = command(&folder, words)
            .env("CUDA_HOME", at("other"))
            .env("PATH", at("links"))
            .output()
            .expect("the program runs");
        let said = String::from_utf8(output.stderr).expect("text");
        let expected = format!("ptxas of {expected}");
        assert!(said.contains(&expected), "{words}: {said}");
    }
}

#[test]
fn advice_about_processors_is_that_of_who_asks() {
    let folder = folder();
    let link = "link caller.cubin callee.cubin --arch sm_80 -o linked.o";
    fails(&folder, link, "compile it for sm_80, or link for sm_90");
    let by_cmake = format!("{link} --caller cmake");
    fails(&folder, &by_cmake, "in CMake, CMAKE_CUDA_ARCHITECTURES");
    let as_nvcc = "nvcc-dlink nvcc -dlink -arch=sm_80 caller.cubin callee.cubin -o linked.o";
    fails(&folder, as_nvcc, "in CMake, the same CUDA_ARCHITECTURES");
}

#[test]
fn a_library_is_enough() {
    let folder = folder();
    let mut library = b"!<arch>\n".to_vec();
    let member = fs::read(folder.path().join("caller.cubin")).expect("a cubin");
    library.extend(format!("{:<48}{:<10}`\n", "caller.cubin/", member.len()).as_bytes());
    library.extend(member);
    fs::write(folder.path().join("libcaller.a"), library).expect("a library");
    // It has been read, and is not for this host.
    let output = run(&folder, "link -L . -lcaller -o x.o --arch sm_90");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("incompatible './libcaller.a'"), "{said}");
    fails(&folder, "link -o x.o", "<FILE>...");
}

#[test]
fn inputs_do_not_give_way_to_results() {
    let folder = folder();
    let contents = |name: &str| fs::read(folder.path().join(name)).expect("a file");
    let link = "link caller.cubin callee.cubin";
    assert!(
        run(
            &folder,
            &format!("{link} --output-format=fatbin -o x.fatbin")
        )
        .status
        .success()
    );
    for (link, file, expected) in [
        (
            format!("{link} --output-format=cubin -o ./caller.cubin"),
            "caller.cubin",
            "error: './caller.cubin' is an input: name another one with -o",
        ),
        (
            format!("{link} -o linked.o --depfile callee.cubin"),
            "callee.cubin",
            "error: 'callee.cubin' is an input: name another one with --depfile",
        ),
        (
            format!("{link} x.fatbin --output-format=rust -o x.rs"),
            "x.fatbin",
            "error: 'x.fatbin' is an input: name another one with -o",
        ),
        (
            "fatbinary -link --create=callee.cubin -im=profile=sm_90,file=callee.cubin".to_owned(),
            "callee.cubin",
            "error: 'callee.cubin' is an input: name another one with --create",
        ),
        (
            format!("{link} -o x.fatbin --depfile x.fatbin"),
            "x.fatbin",
            "error: 'x.fatbin' is named by -o, too: name another one with --depfile",
        ),
    ] {
        let before = contents(file);
        fails(&folder, &link, expected);
        assert_eq!(before, contents(file), "{link}");
    }
    assert!(!folder.path().join("linked.o").exists());
}

#[test]
fn nothing_is_said_of_results_that_are_not_there() {
    let folder = folder();
    let link = "link caller.cubin callee.cubin --depfile rule";
    fails(&folder, &format!("{link} -o no/linked.o"), "no such folder");
    let of_the_system = "cannot write /proc/linked.o: no file can be made in this folder";
    fails(&folder, &format!("{link} -o /proc/linked.o"), of_the_system);
    assert!(!folder.path().join("rule").exists());
    assert!(
        run(&folder, &format!("{link} -o linked.o"))
            .status
            .success()
    );
    assert!(folder.path().join("rule").exists());
}

#[test]
fn a_variable_that_says_something_wrong_is_named() {
    let folder = folder();
    let said = |words: &str| {
        let mut command = command(&folder, words);
        let output = command.env("CUDALINK_ARCH", "sm_9x").output();
        String::from_utf8(output.expect("the program runs").stderr).expect("text")
    };
    let tip = "tip: the variable CUDALINK_ARCH says so";
    let of_variable = said("build");
    assert!(
        of_variable.contains("no processor 'sm_9x'"),
        "{of_variable}"
    );
    assert!(of_variable.contains(tip), "{of_variable}");
    let of_option = said("build --arch sm_9y");
    assert!(of_option.contains("no processor 'sm_9y'"), "{of_option}");
    assert!(!of_option.contains(tip), "{of_option}");
}

#[test]
fn commands_of_cargo_that_link_nothing_are_known() {
    let folder = folder();
    fails(
        &folder,
        "tree",
        "`cargo tree` links nothing: run it without `cudalink`",
    );
    fails(&folder, "publish", "`cargo cudalink exec cargo publish ..`");
}

#[test]
fn colours_are_what_cargo_is_told() {
    let folder = folder();
    let said = |colours: &str| {
        let mut command = command(&folder, "link missing.o -o x.o");
        let output = command.env("CARGO_TERM_COLOR", colours).output();
        String::from_utf8(output.expect("the program runs").stderr).expect("text")
    };
    assert!(said("always").contains("\x1b["));
    assert!(!said("never").contains("\x1b["));
    // Reports go to files and other programs, too.
    let mut doctor = command(&folder, "doctor caller.cubin");
    let output = doctor.env("CARGO_TERM_COLOR", "always").output();
    let report = output.expect("the program runs").stdout;
    assert!(!report.is_empty() && !report.contains(&b'\x1b'));
}

#[test]
fn options_of_nvcc_are_known() {
    let folder = folder();
    let inputs = "caller.cubin callee.cubin";
    let linked = run(
        &folder,
        &format!("link {inputs} -arch=sm_90 -lineinfo -o out.cubin"),
    );
    let said = String::from_utf8_lossy(&linked.stderr);
    assert!(linked.status.success(), "{linked:?}");
    assert!(said.contains("option '-lineinfo' has no effect"), "{said}");
    for option in ["-gencode arch=compute_90,code=sm_90", "-O3"] {
        let word = option.split(' ').next().unwrap_or(option);
        let tip = format!("tip: if '{word}' is for nvcc: `cargo cudalink nvcc-dlink nvcc ..`");
        fails(&folder, &format!("link {inputs} {option} -o out.o"), &tip);
    }
    for (option, tip) in [
        (
            "--preserve-relocs",
            "tip: '--preserve-relocs' is for the linker: -Xnvlink=--preserve-relocs",
        ),
        (
            "-preserve-relocs",
            "is for the linker: -Xnvlink=-preserve-relocs",
        ),
        (
            "--archive=lazy",
            "is for the linker: -Xnvlink=--archive=lazy",
        ),
        (
            "--map x.map",
            "tip: '--map' is for a link by `rustnvlink` itself",
        ),
    ] {
        fails(&folder, &format!("link {inputs} {option} -o out.o"), tip);
    }
    fails(
        &folder,
        &format!("nvcc-dlink -dlink {inputs} -o out.o"),
        "tip: the compiler comes first: `cargo cudalink nvcc-dlink nvcc -dlink ..`",
    );
    fails(
        &folder,
        &format!("nvcc-dlink {inputs} -o out.o"),
        "is no compiler, which comes first: `cargo cudalink nvcc-dlink nvcc -dlink ..`",
    );
    fails(
        &folder,
        &format!("nvcc-dlink nvcc {inputs} -o out.o"),
        "asks for no device link (-dlink)",
    );
}

/// Advice is in the words of whoever asked for the link.
#[test]
fn users_of_cmake_are_told_how_to_link_lto_ir() {
    let folder = folder();
    let code = [&[0xed, 0x43, 0x4e, 0x7f][..], &[0; 60]].concat();
    fs::write(folder.path().join("code.ltoir"), code).expect("an input");
    let help = "help: in CMake, OPTIONS --dlto of rustnvlink_device_link()";
    fails(&folder, "link --caller=cmake code.ltoir -o d.o", help);
    let said = run(&folder, "link code.ltoir -o d.o").stderr;
    let said = String::from_utf8_lossy(&said);
    assert!(
        said.contains("[lto-input]") && !said.contains("CMake"),
        "{said}"
    );
}
