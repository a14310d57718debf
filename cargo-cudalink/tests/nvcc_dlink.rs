//! Command lines for `nvcc -dlink` without machine code, as CMake writes them.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

#[test]
fn nothing_is_said_of_what_has_no_device_code() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("empty.a"), "!<arch>\n").expect("a library");
    let inputs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/inputs");
    let callee = inputs.join("callee.sm_90.cubin");
    let callee = format!("--image3=kind=elf,sm=90,file={}", callee.display());
    run(
        &folder,
        &["fatbinary", "-link", "--create=code.fatbin", &callee],
    );
    check(&folder, &["-arch=sm_90", "empty.a"], &[]);
    // nvcc compiles for a processor of its own choice then.
    check(&folder, &["empty.a"], &[]);
    let lacking = ["[missing-arch-code]", "[no-device-code]"];
    check(&folder, &["-arch=sm_80", "code.fatbin"], &lacking);
    // As nvcc hands on what is said of warnings.
    check(&folder, &["-arch=sm_80", "code.fatbin", "-w"], &[]);
    let strict = ["-Werror", "all-warnings"];
    for empty in [&["-arch=sm_90", "empty.a"][..], &["empty.a"]] {
        check(&folder, &[empty, &strict].concat(), &[]);
    }
    let link = [
        "nvcc-dlink",
        "nvcc",
        "-dlink",
        "-o",
        "link.o",
        "-arch=sm_80",
        "code.fatbin",
    ];
    let output = start(&folder, &[&link[..], &strict].concat());
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "{said}");
    assert!(
        said.starts_with("error: SM Arch ('sm_80') not found"),
        "{said}"
    );
}

/// The inputs say what to link for, and nothing can be read twice of a pipe.
#[cfg(target_os = "linux")]
#[test]
fn inputs_are_read_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let inputs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/inputs");
    let callee = fs::read(inputs.join("callee.sm_90.cubin")).expect("an input");
    let words = ["nvcc-dlink", "nvcc", "-dlink", "/dev/stdin", "-o", "d.o"];
    let mut running = Command::new(env!("CARGO_BIN_EXE_cargo-cudalink"))
        .args(words)
        .current_dir(folder.path())
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut pipe = running.stdin.take().expect("a pipe");
    pipe.write_all(&callee).expect("it is read");
    drop(pipe);
    let output = running.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.is_empty(), "{said}");
    assert!(folder.path().join("d.o").is_file());
}

/// nvcc leaves the link of PTX to the driver.
#[test]
fn ptx_alone_is_refused_by_name() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../linker/tests/data/fatbin");
    let both = fs::read(data.join("raw.fatbin")).expect("a fatbin");
    fs::write(folder.path().join("ptx.fatbin"), only_ptx(&both)).expect("a fatbin");
    let output = start(
        &folder,
        &["nvcc-dlink", "nvcc", "-dlink", "ptx.fatbin", "-o", "d.o"],
    );
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "{said}");
    assert!(
        said.contains("the inputs have PTX and no machine code"),
        "{said}"
    );
}

/// CMake links static libraries with the property CUDA_RESOLVE_DEVICE_SYMBOLS one by one.
#[test]
fn a_library_that_is_linked_alone_is_told_of_it() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("empty.a"), "!<arch>\n").expect("a library");
    let inputs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/inputs");
    let caller = inputs.join("caller.sm_90.cubin");
    let caller = caller.to_str().expect("a name");
    let words = ["nvcc-dlink", "nvcc", "-dlink", "-o", "d.o", caller];
    let help = "help: only objects are linked here";
    for (further, is_told) in [(&[][..], true), (&["empty.a"], false)] {
        let output = start(&folder, &[&words, further].concat());
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success(), "{said}");
        assert!(said.contains("[undefined-reference]"), "{said}");
        assert_eq!(said.contains(help), is_told, "{said}");
    }
}

/// CMake takes what it does not know as a target for the name of a library.
#[cfg(unix)]
#[test]
fn a_library_that_is_nowhere_is_named_where_something_is_undefined() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::create_dir_all(folder.path().join("toolkit/bin")).expect("a toolkit");
    for program in ["nvcc", "ptxas"] {
        let program = folder.path().join("toolkit/bin").join(program);
        std::os::unix::fs::symlink("/bin/sh", program).expect("a program");
    }
    fs::write(folder.path().join("libshared.so"), "").expect("a library");
    let inputs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/inputs");
    let object = |name: &str| {
        let path = inputs.join(format!("{name}.sm_90.cubin"));
        path.to_str().expect("a name").to_owned()
    };
    let (caller, callee) = (object("caller"), object("callee"));
    let caller = caller.as_str();
    let link = |nvcc: &'static str| ["nvcc-dlink", nvcc, "-dlink", "-o", "d.o", "-L.", caller];
    let libraries = ["-lshared", "-lc", "-lmisspelt"];
    // Where no toolkit is known, they may be in it.
    for (nvcc, is_named) in [("toolkit/bin/nvcc", true), ("no/such/nvcc", false)] {
        let output = start(&folder, &[&link(nvcc)[..], &libraries].concat());
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success(), "{said}");
        let help = "help: no library was found for '-lmisspelt' (in CMake, a name in target_link_libraries()";
        assert_eq!(said.contains(help), is_named, "{said}");
        let said = run(&folder, &[&link(nvcc)[..], &libraries, &[&callee]].concat());
        assert_eq!(said, "");
    }
}

/// The command line of `link` that stands behind it is nobody's business.
#[test]
fn a_processor_that_does_not_exist_is_told_of_in_one_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let code = "-gencode=arch=compute_90,code=sm_99";
    let words = ["nvcc-dlink", "nvcc", "-dlink", code, "a.o", "-o", "d.o"];
    let output = start(&folder, &words);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "{said}");
    assert!(
        said.starts_with("error: there is no processor 'sm_99'; there are sm_75,"),
        "{said}"
    );
    assert_eq!(said.lines().count(), 1, "{said}");
}

/// A fatbin without its machine code.
fn only_ptx(fatbin: &[u8]) -> Vec<u8> {
    const PTX: usize = 1;
    let number = |place: usize, bytes: usize| {
        let number = fatbin[place..place + bytes].iter().rev();
        number.fold(0, |number, byte| number << 8 | usize::from(*byte))
    };
    let (header, size) = (number(6, 2), number(8, 8));
    let mut kept = fatbin[..header].to_vec();
    let mut place = header;
    while place < header + size {
        let end = place + number(place + 4, 4) + number(place + 8, 8);
        if number(place, 2) == PTX {
            kept.extend(&fatbin[place..end]);
        }
        place = end;
    }
    let size = u64::try_from(kept.len() - header).expect("a size");
    kept[8..16].copy_from_slice(&size.to_le_bytes());
    kept
}

/// Links, and looks for these messages and no others.
fn check(folder: &TempDir, arguments: &[&str], expected: &[&str]) {
    let begin = ["nvcc-dlink", "nvcc", "-dlink", "-o", "link.o"];
    let said = run(folder, &[&begin, arguments].concat());
    assert_eq!(
        said.lines().count(),
        expected.len(),
        "{arguments:?}: {said}"
    );
    for part in expected {
        assert!(said.contains(part), "{arguments:?}: {said}");
    }
}

fn start(folder: &TempDir, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_cargo-cudalink"))
        .args(arguments)
        .env_remove("CARGO_TERM_COLOR")
        .current_dir(folder)
        .output()
        .expect("cargo-cudalink can be run")
}

fn run(folder: &TempDir, arguments: &[&str]) -> String {
    let output = start(folder, arguments);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{arguments:?}: {said}");
    said
}
