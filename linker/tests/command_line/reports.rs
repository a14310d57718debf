//! What a link tells: explanations, messages for programs, maps, who needs what, and definitions that differ.

use rustnvlink::cubin::{Binding, Content, Cubin, SymbolType};
use rustnvlink::fatbin::{self, FatbinOptions, LinkedImage};

use crate::folder::Folder;

#[test]
fn messages_can_be_explained_and_read_by_programs() {
    let folder = Folder::new();
    let explained = folder.run("--explain undefined-reference");
    assert_eq!((explained.code, &*explained.stderr), (Some(0), ""));
    assert!(
        explained
            .stdout
            .starts_with("undefined-reference\n\nA function")
    );
    folder.check(
        "--explain undefined-refrence",
        1,
        "nvlink fatal   : There is no message code 'undefined-refrence': did you mean \
         'undefined-reference'? [unknown-code]\n",
    );
    folder.check(
        "--explain zzz",
        1,
        "nvlink fatal   : There is no message code 'zzz': a code stands in brackets behind each message \
         [unknown-code]\n",
    );
    let ran = folder.run("-arch=sm_90 -o out.cubin caller.cubin --message-format=json");
    assert_eq!(ran.code, Some(255));
    let start =
        r#"{"severity":"error","code":"undefined-reference","message":"Undefined reference to '"#;
    for line in ran.stderr.lines() {
        assert!(line.starts_with(start) && line.ends_with('}'), "{line}");
    }
    assert!(!ran.stderr.is_empty());
}

#[test]
fn a_graph_of_calls_is_printed_unless_nvlink_is_meant() {
    let folder = Folder::new();
    let link = "-arch=sm_90 -o out.cubin caller.cubin callee.cubin --dot-file=-";
    let ran = folder.run(link);
    let graph = "digraph callgraph {\ncaller -> _Z6calleefi;\n}\n";
    assert_eq!((ran.code, &*ran.stdout), (Some(0), graph));
    assert!(!folder.path("-").exists());
    let ran = folder.run(&format!("{link} --compat"));
    assert_eq!((ran.code, &*ran.stdout), (Some(0), ""));
    assert_eq!(std::fs::read_to_string(folder.path("-")).unwrap(), graph);
}

#[test]
fn undefined_names_come_with_who_needs_them_and_what_may_be_meant() {
    let folder = Folder::new();
    let ran = folder.run("-arch=sm_90 -o out.cubin caller.cubin");
    assert!(
        ran.stderr.contains("\n    needed by kernel "),
        "{}",
        ran.stderr
    );
    let help = "help: add the object or library that defines it, compiled with -rdc=true";
    assert_eq!(ran.stderr.matches(help).count(), 1, "{}", ran.stderr);
    let compatible = folder.run("-arch=sm_90 -o out.cubin caller.cubin --compat");
    assert!(!compatible.stderr.contains("needed by"));

    // What is there for other processors only is compiled once more, and needs no other object.
    let image = std::fs::read(Folder::input("callee", "sm_80")).unwrap();
    let sm = "sm_80".parse().unwrap();
    let image = LinkedImage::new(sm, &image);
    let fatbin = fatbin::write(&[image], &FatbinOptions::default()).unwrap();
    std::fs::write(folder.path("callee.fatbin"), fatbin).unwrap();
    let both = "-arch=sm_90 -o out.cubin caller.cubin callee.fatbin";
    let ran = folder.run(both);
    let better = "    help: 'callee.fatbin' may define it, but not for sm_90: compile for it, too, or link for processors that \
                  all inputs have code for\n";
    assert_eq!(ran.stderr.matches(better).count(), 1, "{}", ran.stderr);
    assert_eq!(ran.stderr.matches("help: ").count(), 1, "{}", ran.stderr);
    // Those without a word of them, too.
    let ran = folder.run(&format!("{both} -suppress-arch-warning"));
    assert!(!ran.stderr.contains("not found"), "{}", ran.stderr);
    assert_eq!(ran.stderr.matches(better).count(), 1, "{}", ran.stderr);
    let compatible = folder.run(&format!("{both} --compat"));
    assert!(!compatible.stderr.contains("help"), "{}", compatible.stderr);
}

/// An object whose names are weak, with the first byte of some sections changed.
fn weakened(folder: &Folder, name: &str, changed: &str) {
    let bytes = std::fs::read(folder.path("callee.cubin")).unwrap();
    let mut cubin = Cubin::parse(&bytes).unwrap();
    let mut places = Vec::new();
    for section in &mut cubin.sections {
        match &mut section.content {
            Content::Symbols(symbols) => {
                for symbol in symbols {
                    if symbol.binding == Binding::GLOBAL {
                        symbol.binding = Binding::WEAK;
                    }
                }
            }
            Content::Bytes(_) if section.name.starts_with(changed) => {
                places.push(section.offset as usize);
            }
            _ => {}
        }
    }
    let mut bytes = cubin.encode().unwrap();
    for place in places {
        bytes[place] ^= 1;
    }
    std::fs::write(folder.path(name), bytes).unwrap();
}

#[test]
fn weak_definitions_that_differ_are_found() {
    let folder = Folder::new();
    weakened(&folder, "one.cubin", "nothing");
    weakened(&folder, "same.cubin", "nothing");
    weakened(&folder, "code.cubin", ".text.");
    weakened(&folder, "data.cubin", ".nv.global.init");
    let link =
        |inputs: &str| folder.run(&format!("-arch=sm_90 -o out.cubin caller.cubin {inputs}"));
    // By default, nobody looks at code, of which compilers make this and that.
    for inputs in [
        "one.cubin same.cubin --odr=error",
        "one.cubin code.cubin",
        "one.cubin data.cubin --compat",
        "one.cubin data.cubin --odr=off",
    ] {
        let ran = link(inputs);
        assert_eq!((ran.code, &*ran.stderr), (Some(0), ""), "{inputs}");
    }
    for (inputs, expected) in [
        (
            "one.cubin data.cubin",
            "definitions of 'scale' differ in 'one.cubin' and 'data.cubin': the bytes differ from \
             0x0 on [odr-violation]",
        ),
        (
            "one.cubin code.cubin --odr=warn",
            "differ in 'one.cubin' and 'code.cubin': the bytes differ from 0x0 on [odr-violation]",
        ),
    ] {
        let warned = link(inputs);
        assert_eq!(warned.code, Some(0));
        assert!(warned.stderr.contains(expected), "{}", warned.stderr);
    }
    let refused = link("one.cubin code.cubin --odr=error");
    assert_eq!(refused.code, Some(255));
    assert!(
        refused
            .stderr
            .starts_with("nvlink error   : weak definitions of '")
    );
}

#[test]
fn a_link_tells_about_itself() {
    let folder = Folder::new();
    let ran = folder.run(
        "-arch=sm_90 -o out.cubin caller.cubin callee.cubin --map=out.map --cref --depfile out.d",
    );
    assert_eq!((ran.code, &*ran.stdout, &*ran.stderr), (Some(0), "", ""));
    let read = |name| std::fs::read_to_string(folder.path(name)).unwrap();
    let map = read("out.map");
    assert!(map.starts_with("Image for sm_90\n\nInputs\n    caller.cubin\n    callee.cubin\n"));
    assert!(map.contains("  .text."), "{map}");
    assert!(map.contains("\nCross references\n"), "{map}");
    assert_eq!(
        read("out.d"),
        "out.cubin: \\\n  caller.cubin \\\n  callee.cubin\n\ncaller.cubin:\n\ncallee.cubin:\n"
    );
    let printed = folder.run("-arch=sm_90 -o out.cubin caller.cubin callee.cubin --map=- --cref");
    assert_eq!(printed.stdout, map);
    let printed = folder.run("-arch=sm_90 -o out.cubin caller.cubin callee.cubin --cref");
    assert!(printed.stdout.starts_with("Cross references\n"));
    let bytes = std::fs::read(folder.path("caller.cubin")).unwrap();
    let cubin = Cubin::parse(&bytes).unwrap();
    let undefined = cubin
        .sections
        .iter()
        .find_map(|section| match &section.content {
            Content::Symbols(symbols) => symbols
                .iter()
                .find(|s| s.kind == SymbolType::FUNC && s.place.section().is_none())
                .map(|s| s.name.to_owned()),
            _ => None,
        });
    let callee = undefined.unwrap();
    let ran = folder.run(&format!(
        "-arch=sm_90 -o out.cubin caller.cubin callee.cubin --why-live={callee}"
    ));
    assert_eq!(ran.code, Some(0));
    assert!(
        ran.stderr.contains(" in 'callee.cubin': kernel "),
        "{}",
        ran.stderr
    );
    folder.check(
        "-arch=sm_90 -o out.cubin caller.cubin callee.cubin --why-live=nobody",
        0,
        "nvlink warning : no input defines or uses 'nobody' [unknown-symbol]\n",
    );
    let ran = folder.run("-arch=sm_90 -o out.cubin caller.cubin callee.cubin --why-live=calee");
    let expected = "uses 'calee': did you mean 'callee'? [unknown-symbol]";
    assert!(ran.stderr.contains(expected), "{}", ran.stderr);
}

#[test]
fn names_of_options_that_nothing_has_are_named() {
    let folder = Folder::new();
    let check = |options: &str, code: i32, expected: &str| {
        let link = "-arch=sm_90 -o out.cubin caller.cubin callee.cubin";
        folder.check(&format!("{link} {options}"), code, expected);
    };
    let warning = |text: &str| format!("nvlink warning : {text} [unmatched-name]\n");
    let kernel = |text: &str| warning(&format!("no kernel has {text}"));
    let variable = |text: &str| warning(&format!("no variable has {text}"));
    check("-kernels-used=aller -variables-used=weights", 0, "");
    check(
        "-kernels-used=CALLER",
        0,
        &kernel("'CALLER' in its name: did you mean 'caller'?"),
    );
    check(
        "-kernels-used=callee",
        0,
        &kernel("'callee' in its name: '_Z6calleefi' is a device function"),
    );
    let unknown = kernel("'zzz' in its name: there is 'caller'");
    check("-kernels-used=zzz -kernels-used=zzz", 0, &unknown);
    check("-kernels-used=zzz -r", 0, &unknown);
    check("-kernels-used=zzz -w", 0, "");
    check("-kernels-used=zzz --compat", 0, "");
    check(
        "-kernels-used=z*z",
        0,
        &kernel("a name with 'z*z' in it: there is 'caller'"),
    );
    check(
        "-kernels-used=* -variables-used=zzz",
        0,
        &variable("'zzz' in its name: there are 'calls', 'last', 'weights' and 1 more"),
    );
    let misspelled = variable("'Weight' in its name: did you mean 'weights'?");
    check("-variables-used=Weight -g", 0, &misspelled);
    let none = "nvlink warning : all kernels are left out, since -variables-used is given and \
                -kernels-used is not [no-kernels]\n    help: -kernels-used=* keeps all of them\n";
    check("-variables-used=weights", 0, none);
    std::fs::remove_file(folder.path("out.cubin")).unwrap();
    let error = unknown.replace("warning :", "error   :");
    check("-kernels-used=zzz -Werror", 255, &error);
    assert!(!folder.path("out.cubin").exists());
}
