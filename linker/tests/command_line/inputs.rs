//! Inputs that cannot be linked, and what is said of them.

#[cfg(unix)]
use std::process::Command;

use crate::folder::Folder;

/// Longer than what nvlink needs to look at a file.
pub(crate) const TEXT: &str =
    "a text of more than fifty bytes, which is as much as nvlink reads first";

/// What stands in the place of a file that Git keeps elsewhere.
const POINTER: &str = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n";

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
    std::fs::create_dir(folder.path("a")).unwrap();
    let looked_in = |folders: &str, why: &str| {
        let warning = format!("nvlink warning : {}", message(why));
        folder.check(&format!("{link} {folders}"), 0, &warning);
    };
    looked_in("-L. -La", "there is no libmissing.a in '.', 'a'");
    looked_in("-Lno/such", "there is no folder 'no/such'");
    looked_in(
        "-L. -Lno/such,a,a,a -Lout.cubin",
        "there is no folder 'no/such', 'out.cubin', and there is no libmissing.a in '.', 'a', 'a' and 1 more",
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
    std::fs::write(
        folder.path("packed.cubin"),
        [&[0x1f, 0x8b][..], &[1; 60]].concat(),
    )
    .unwrap();
    check(
        "packed.cubin",
        "cubin not an elf? 'packed.cubin' is packed by gzip, and has to be unpacked first [not-a-cubin]",
    );
    folder.write("page.ptx", TEXT);
    let ran = folder.run("-arch=sm_90 -o out.cubin page.ptx");
    let expected = "'page.ptx' is a text that begins with 'a text of more than fifty bytes,";
    assert!(ran.stderr.contains(expected), "{}", ran.stderr);
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

    folder.write_fatbin("callee");
    let ran = folder.run("-arch=sm_75 -o out.cubin callee.fatbin");
    let expected = "SM Arch ('sm_75') not found in 'callee.fatbin': it has code for sm_80, sm_90 [";
    assert!(ran.stderr.contains(expected), "{}", ran.stderr);

    folder.write_fatbin_of("callee", &[("sm_90", "sm_80")]);
    folder.check(
        &format!("{link} callee.fatbin"),
        1,
        "nvlink fatal   : Input file 'callee.fatbin' arch does not match target 'sm_90': it is for sm_80; \
         compile it for sm_90, or link for sm_80 [arch-mismatch]\n",
    );
}

#[test]
fn files_that_are_named_by_mistake_are_called_what_they_are() {
    let folder = Folder::new();
    let check = |name: &str, begin: &[u8], why: &str| {
        let bytes = [begin, &[1; 60]].concat();
        std::fs::write(folder.path(name), bytes).unwrap();
        let link = format!("-arch=sm_90 -o out.cubin caller.cubin callee.cubin {name}");
        let warning = format!("nvlink warning : '{name}' is ignored: {why} [ignored-input]\n");
        folder.check(&link, 0, &warning);
        folder.check(&format!("{link} --compat"), 0, "");
    };
    let packed = "it is packed by gzip, and has to be unpacked first";
    check("a.o.gz", b"\x1f\x8b\x08\0", packed);
    let of_windows = "it is a file of Windows, and device code is linked of those of Linux";
    check("a.obj", b"\x64\x86\x06\0", of_windows);
    // Device code by its bytes, and not by its name.
    let named = |what: &str, end: &str| {
        format!("{what} is only linked from a file whose name ends in .{end}")
    };
    check("a.dat", b".version 9.0\n", &named("PTX", "ptx"));
    check(
        "b.dat",
        &[0xed, 0x43, 0x4e, 0x7f],
        &named("LTO-IR", "ltoir"),
    );
    check(
        "c.dat",
        &[0x50, 0xed, 0x55, 0xba],
        &named("a fatbin", "fatbin"),
    );
}

#[test]
fn options_files_are_named_with_what_is_wrong_in_them() {
    let folder = Folder::new();
    folder.write("inner.txt", "-vrebose");
    folder.write("outer.txt", "-v @inner.txt");
    folder.write("quote.txt", "a.o \"b.o");
    folder.write("zero.txt", "a.o\0b.o");
    let check = |file: &str, own: &str, compatible: &str| {
        let link = "-arch=sm_90 -o out.cubin";
        folder.check(
            &format!("{link} @{file}"),
            1,
            &format!("nvlink fatal   : {own}\n"),
        );
        let link = format!("{link} --compat -optf {file}");
        folder.check(&link, 1, &format!("nvlink fatal   : {compatible}\n"));
    };
    check(
        "inner.txt",
        "Unknown option 'vrebose': did you mean '--verbose'? [unknown-option]\n    in the options file 'inner.txt'",
        "Unknown option 'vrebose'",
    );
    check(
        "quote.txt",
        "Stray '\"' character [stray-quote]\n    in the options file 'quote.txt'",
        "Stray '\"' character",
    );
    check(
        "zero.txt",
        "options file 'zero.txt' is no text: there is a zero byte in it [invalid-options-file]",
        "Could not open input file 'a.o'",
    );
    let ran = folder.run("-arch=sm_90 -o out.cubin @outer.txt");
    let inner = "\n    in the options file 'inner.txt'\n";
    assert!(ran.stderr.ends_with(inner), "{}", ran.stderr);
    assert!(!ran.stderr.contains("outer.txt"), "{}", ran.stderr);
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
