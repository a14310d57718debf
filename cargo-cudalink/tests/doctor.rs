//! What the doctor says of files that are none of its own.

use std::path::Path;
use std::process::Command;

use object::{Architecture, BinaryFormat, Endianness};

/// The exit code, and what is said.
fn doctor(file: &Path) -> (Option<i32>, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_cargo-cudalink"))
        .arg("doctor")
        .arg(file)
        .env_remove("CARGO_TERM_COLOR")
        .output()
        .expect("the program runs");
    let said = String::from_utf8_lossy(&output.stdout);
    (output.status.code(), said.into_owned())
}

#[track_caller]
fn check(file: &Path, expected: &[&str], unexpected: &str) {
    let (code, said) = doctor(file);
    assert_eq!(code, Some(1), "{said}");
    for part in expected {
        assert!(said.contains(part), "no '{part}' in {said}");
    }
    assert!(!said.contains(unexpected), "'{unexpected}' in {said}");
}

#[test]
fn inspect_is_named_where_it_shows_something() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    check(
        &here.join("../tests/inputs/caller.sm_90.cubin"),
        &[
            "nor program (cubin) [not-a-host-file]",
            "help: look at device code without host code:\n    cargo cudalink inspect ",
        ],
        "unknown",
    );
    check(
        &here.join("Cargo.toml"),
        &["nor program, but a text that begins with '[package]' [not-a-host-file]"],
        "help",
    );
}

#[test]
fn files_that_a_build_has_not_finished_are_called_so() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let named = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).expect("a file");
        path
    };
    check(
        &named("main.o", ""),
        &["main.o is empty [not-a-host-file]\n  help: make it again\n"],
        "neither",
    );
    check(
        &named("main.cu", "__global__ void k() {}"),
        &[
            "main.cu is a source, and no object [not-a-host-file]",
            "help: compile it (nvcc -dc), and look at the object",
        ],
        "neither",
    );
}

#[cfg(target_os = "linux")]
#[test]
fn what_never_ends_is_not_read() {
    check(
        Path::new("/dev/zero"),
        &[
            "/dev/zero cannot be read: not a regular file; `-` stands for the standard input [unreadable]",
        ],
        "help",
    );
}

#[test]
fn folders_and_files_that_are_missing_are_called_so() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    check(
        folder.path(),
        &[" cannot be read: it is a folder; name a file in it [unreadable]"],
        "regular",
    );
    check(
        &folder.path().join("missing"),
        &[" cannot be read: No such file or directory [unreadable]"],
        "os error",
    );
}

/// A host object with a section of this name.
fn host_object(section: &[u8]) -> Vec<u8> {
    let mut object =
        object::write::Object::new(BinaryFormat::Elf, Architecture::X86_64, Endianness::Little);
    let kind = object::SectionKind::ReadOnlyData;
    let section = object.add_section(Vec::new(), section.to_vec(), kind);
    object.set_section_data(section, vec![1; 64], 8);
    object.write().expect("an object")
}

#[test]
fn each_damaged_member_is_named_once() {
    let whole = host_object(b".rodata");
    let mut archive = b"!<arch>\n".to_vec();
    for (name, member) in [
        ("a.o/", &whole[..100]),
        ("b.o/", &whole),
        ("c.o/", &whole[..98]),
    ] {
        let header = format!("{name:<48}{:<10}`\n", member.len());
        archive.extend([header.as_bytes(), member].concat());
    }
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("libx.a");
    std::fs::write(&path, archive).expect("a file");
    let (code, said) = doctor(&path);
    assert_eq!(code, Some(1), "{said}");
    let named =
        ["a.o", "b.o", "c.o"].map(|member| said.matches(&format!("libx.a:{member}")).count());
    assert_eq!(named, [1, 0, 1], "{said}");
}

#[test]
fn members_of_thin_archives_are_looked_at() {
    let mut archive = b"!<thin>\n".to_vec();
    for name in ["a.o/", "b.o/"] {
        archive.extend(format!("{name:<48}{:<10}`\n", 64).as_bytes());
    }
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("libx.a");
    std::fs::write(&path, archive).expect("a file");
    let object = host_object(b".llvm.offloading");
    std::fs::write(folder.path().join("a.o"), object).expect("a file");
    check(
        &path,
        &[
            "libx.a:a.o: has a section .llvm.offloading",
            "libx.a:b.o cannot be read: No such file or directory",
        ],
        "libx.a:b.o: ",
    );
}

/// Runs a command in a folder.
fn run(folder: &Path, words: &str) -> (Option<i32>, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_cargo-cudalink"))
        .args(words.split(' '))
        .env_remove("CARGO_TERM_COLOR")
        .current_dir(folder)
        .output()
        .expect("the program runs");
    let said = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8(said).expect("text"))
}

#[test]
fn code_that_host_compilers_optimize_is_told_of() {
    let folder = tempfile::tempdir().expect("a folder");
    let bitcode: [&[u8]; 2] = [b"BC\xc0\xde __fatbinwrap_m1", b"BC\xc0\xde main"];
    let gcc = host_object(b".gnu.lto___fatbinwrap_m1.7.0123456789abcdef");
    for (name, data) in [
        ("gcc.o", &*gcc),
        ("clang.o", bitcode[0]),
        ("host.o", bitcode[1]),
    ] {
        std::fs::write(folder.path().join(name), data).expect("a file");
    }
    let run = |words: &str| run(folder.path(), words);
    let (code, said) = run("doctor gcc.o clang.o host.o");
    let expected = "error: -flto leaves the device code of objects to the link of host code, where no device link finds it \
                    [left-to-optimizer]\n    gcc.o: waits for the optimizer of its host compiler\n    clang.o: waits for \
                    the optimizer of its host compiler\n  help: compile CUDA sources without -flto: behind other options, \
                    -Xcompiler=-fno-lto for nvcc, -fno-lto for Clang\n";
    assert!(code == Some(1) && said.contains(expected), "{said}");
    let (code, said) = run("doctor host.o");
    assert_eq!(
        (code, &*said),
        (Some(0), "note: there is no device code in 1 file\n")
    );
    let (code, said) = run("inspect gcc.o clang.o host.o");
    let hidden = "  device code that -flto leaves to the link of host code\n";
    assert!(
        code == Some(0) && said.matches(hidden).count() == 2,
        "{said}"
    );
    assert!(
        said.contains("host.o  LLVM bitcode, 9 bytes\n  no device code\n"),
        "{said}"
    );
    let (_, said) = run("inspect --format=json clang.o");
    assert!(said.contains("\"left_to_optimizer\": true"), "{said}");
    let bitcode = [bitcode[0], &[b' '; 60]].concat();
    std::fs::write(folder.path().join("clang.o"), bitcode).expect("a file");
    let (code, said) = run("link gcc.o clang.o -o linked.o");
    assert_eq!(code, Some(1));
    for name in ["gcc.o", "clang.o"] {
        let warning = format!("warning: '{name}' is ignored: -flto leaves its device code");
        assert!(said.contains(&warning), "{said}");
    }
}

#[test]
fn code_for_the_link_of_clang_is_told_of() {
    let folder = tempfile::tempdir().expect("a folder");
    let object = host_object(b".llvm.offloading");
    std::fs::write(folder.path().join("host.o"), object).expect("a file");
    let run = |words: &str| run(folder.path(), words);
    let (code, said) = run("doctor host.o");
    let expected = "note: only Clang's own link understands the device code of objects that its new driver made \
                    [clang-offloading]\n    host.o: has a section .llvm.offloading\n  help: link them with clang++ \
                    --offload-link, or compile them with --no-offload-new-driver\n";
    assert_eq!((code, &*said), (Some(0), expected));
    let (code, said) = run("inspect host.o");
    assert_eq!(code, Some(0));
    assert!(
        said.contains(
            "  device code in .llvm.offloading, which only Clang's own link understands\n"
        ),
        "{said}"
    );
    let (_, said) = run("inspect --format=json host.o");
    assert!(said.contains("\"offloading\": true"), "{said}");
    let (code, said) = run("link host.o -o linked.o");
    let expected = "warning: 'host.o' is ignored: only Clang's own link understands its device code; compile it with \
                    --no-offload-new-driver";
    assert_eq!(code, Some(1));
    assert!(said.contains(expected), "{said}");
}

#[test]
fn nothing_is_not_called_good() {
    let object =
        object::write::Object::new(BinaryFormat::Elf, Architecture::X86_64, Endianness::Little);
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("host.o");
    std::fs::write(&file, object.write().expect("an object")).expect("a file");
    let said = "note: there is no device code in 1 file\n";
    assert_eq!(doctor(&file), (Some(0), said.to_owned()));
}
