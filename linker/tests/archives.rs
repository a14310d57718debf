//! What a link takes from archives. The objects hold device code of the test inputs, and names of host code.

use std::path::{Path, PathBuf};
use std::process::Command;

use object::write::{Object, Symbol, SymbolSection};
use object::{
    Architecture, BinaryFormat, Endianness, SectionKind, SymbolFlags, SymbolKind, SymbolScope,
};
use rustnvlink::fatbin::{self, FatbinOptions, LinkedImage};

/// A folder with objects and libraries.
struct Folder(tempfile::TempDir);

/// An object: its name, its device code, and the names that its host code defines and needs.
type Member = (
    &'static str,
    Option<&'static str>,
    &'static [&'static str],
    &'static [&'static str],
);

/// Host code only.
const MAIN: Member = ("main", None, &["main"], &["launch"]);
/// A kernel, host code that launches it, and a call of device code.
const CALLER: Member = ("caller", Some("caller"), &["launch"], &[]);
const CALLEE: Member = ("callee", Some("callee"), &["helper"], &[]);
/// Nothing that anybody needs.
const SPARE: Member = ("spare", Some("saxpy"), &["spare"], &["nowhere"]);

impl Folder {
    fn new() -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        for member in [MAIN, CALLER, CALLEE] {
            std::fs::write(folder.path(&format!("{}.o", member.0)), object(member)).unwrap();
        }
        folder.archive("both", &[SPARE, CALLEE, CALLER]);
        folder.archive("caller", &[CALLER]);
        folder.archive("callee", &[SPARE, CALLEE]);
        folder
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn archive(&self, name: &str, members: &[Member]) {
        let mut bytes = b"!<arch>\n".to_vec();
        for member in members {
            let data = object(*member);
            let name = format!("{}.o/", member.0);
            bytes.extend(format!("{name:<16}{:<32}{:<10}`\n", "0", data.len()).bytes());
            bytes.extend(&data);
            bytes.resize(bytes.len().next_multiple_of(2), b'\n');
        }
        std::fs::write(self.path(&format!("lib{name}.a")), bytes).unwrap();
    }

    /// Links, and names the objects that were taken; without an image, the code of the error.
    fn thin(&self, name: &str, members: &[&str]) {
        let names: String = members.iter().map(|name| format!("{name}/\n")).collect();
        let mut bytes = b"!<thin>\n".to_vec();
        bytes.extend(format!("{:<48}{:<10}`\n{names}", "//", names.len()).bytes());
        if names.len() % 2 == 1 {
            bytes.push(b'\n');
        }
        let mut place = 0;
        for member in members {
            let size = std::fs::metadata(self.path(member)).map_or(1, |file| file.len());
            let header = format!("/{place}");
            bytes.extend(format!("{header:<16}{:<32}{size:<10}`\n", "0").bytes());
            place += member.len() + 2;
        }
        std::fs::write(self.path(&format!("lib{name}.a")), bytes).unwrap();
    }

    #[track_caller]
    fn check(&self, arguments: &str, expected: &str) {
        let output = Command::new(env!("CARGO_BIN_EXE_rustnvlink"))
            .args(["-arch=sm_90", "-o", "out.cubin", "-L."])
            .arg("--register-link-binaries=modules")
            .args(arguments.split_whitespace())
            .current_dir(self.0.path())
            .output()
            .unwrap();
        let errors = String::from_utf8(output.stderr).unwrap();
        if !output.status.success() {
            assert!(errors.contains(expected), "{arguments}: {errors}");
            return;
        }
        let modules = std::fs::read_to_string(self.path("modules")).unwrap();
        let taken: Vec<&str> = modules
            .lines()
            .filter_map(|line| line.strip_suffix("_o)")?.rsplit('_').next())
            .collect();
        assert_eq!(taken.join(" "), expected, "{arguments}: {errors}");
    }
}

fn object((_, code, defined, needed): Member) -> Vec<u8> {
    let mut object = Object::new(BinaryFormat::Elf, Architecture::X86_64, Endianness::Little);
    if let Some(code) = code {
        let inputs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/inputs");
        let data = std::fs::read(inputs.join(format!("{code}.sm_90.cubin"))).unwrap();
        let sm = "sm_90".parse().unwrap();
        let image = LinkedImage::new(sm, &data);
        let fatbin = fatbin::write(&[image], &FatbinOptions::default()).unwrap();
        let name = b"__nv_relfatbin".to_vec();
        let section = object.add_section(Vec::new(), name, SectionKind::ReadOnlyData);
        object.append_section_data(section, &fatbin, 8);
        let name = b".nvFatBinSegment".to_vec();
        let wrappers = object.add_section(Vec::new(), name, SectionKind::Data);
        object.append_section_data(wrappers, &[0; 24], 8);
    }
    for (names, section) in [
        (defined, SymbolSection::Absolute),
        (needed, SymbolSection::Undefined),
    ] {
        for name in names {
            object.add_symbol(Symbol {
                name: name.as_bytes().to_vec(),
                value: 0,
                size: 0,
                kind: SymbolKind::Text,
                scope: SymbolScope::Dynamic,
                weak: false,
                section,
                flags: SymbolFlags::None,
            });
        }
    }
    object.write().unwrap()
}

#[test]
fn whole_archives_are_the_default() {
    let folder = Folder::new();
    folder.check("libboth.a", "spare callee caller");
    folder.check("libboth.a --archive=whole", "spare callee caller");
}

/// What nvlink does was tried with each of these: the first slash ends a name for it, the first member that is no ELF
/// file ends the archive, and `-l` wants a host object before that end.
#[test]
fn thin_archives_as_nvlink_takes_them() {
    let folder = Folder::new();
    let text = "no object ".repeat(20);
    std::fs::write(folder.path("text.txt"), text).unwrap();
    std::fs::write(folder.path("short.txt"), "short").unwrap();
    std::fs::create_dir(folder.path("below")).unwrap();
    std::fs::copy(folder.path("callee.o"), folder.path("below/callee.o")).unwrap();
    folder.thin("whole", &["callee.o", "caller.o"]);
    folder.thin("cut", &["callee.o", "caller.o", "text.txt", "main.o"]);
    folder.thin("text", &["short.txt", "callee.o"]);
    folder.thin("below", &["below/callee.o", "caller.o"]);
    folder.thin("missing", &["callee.o", "missing.o"]);
    folder.check("libwhole.a --compat", "callee caller");
    folder.check("libcut.a --compat", "callee caller");
    folder.check("main.o -lcut --compat", "callee caller");
    folder.check("caller.o libtext.a --compat", "Undefined reference");
    folder.check("callee.o -ltext --compat -Werror", "Skipping incompatible");
    folder.check("libbelow.a --compat", "Memory allocation failure");
    folder.check("libbelow.a", "callee caller");
    folder.check(
        "libmissing.a --compat",
        "Could not open input file 'missing.o'",
    );
}

#[test]
fn on_demand_members_are_taken_that_something_needs() {
    let folder = Folder::new();
    // Device code needs device code.
    folder.check("caller.o -lcallee --archive=lazy", "caller callee");
    // Host code needs host code, which brings device code along.
    folder.check("main.o -lboth --archive=lazy", "caller callee");
    // Nothing is taken twice, and what is there already is not taken.
    folder.check("main.o caller.o -lboth --archive=lazy", "caller callee");
    folder.check("caller.o callee.o -lboth --archive=lazy", "caller callee");
}

#[test]
fn archives_are_searched_in_their_order_or_as_a_group() {
    let folder = Folder::new();
    folder.check("main.o -lcaller -lcallee --archive=lazy", "caller callee");
    folder.check(
        "main.o -lcallee -lcaller --archive=lazy",
        "undefined-reference",
    );
    folder.check("libcallee.a caller.o --archive=lazy", "undefined-reference");
    folder.check("main.o -lcallee -lcaller --archive=group", "caller callee");
    folder.check("libcallee.a caller.o --archive=group", "caller callee");
}

#[test]
fn there_is_no_other_way() {
    let folder = Folder::new();
    folder.check("main.o -lboth --archive=some", "archive");
}
