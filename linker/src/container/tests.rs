//! Host objects and archives made here, whole and with bytes changed.

use object::write::{Object, StandardSegment, Symbol, SymbolSection};
use object::{Architecture, BinaryFormat, Endianness, SectionKind, SymbolKind, SymbolScope};
use proptest::prelude::*;

use super::archive::{Flavour, walk};
use super::host::{ModuleId, ReferenceKind, ReferenceScope, pattern_matches};
use super::*;
use crate::error::ParseError;
use crate::fatbin::Fatbin;

const FATBIN: &[u8] = include_bytes!("../../tests/data/fatbin/raw.fatbin");
const PTX: &[u8] = include_bytes!("../../tests/data/fatbin/scale.ptx");

fn host_object(architecture: Architecture, sections: &[(&str, &[u8])]) -> Vec<u8> {
    let mut object = Object::new(BinaryFormat::Elf, architecture, Endianness::Little);
    let segment = object.segment_name(StandardSegment::Data).to_vec();
    for (name, data) in sections {
        let id = object.add_section(
            segment.clone(),
            name.as_bytes().to_vec(),
            SectionKind::ReadOnlyData,
        );
        object.set_section_data(id, data.to_vec(), 8);
    }
    for name in ["__cudaRegisterLinkedBinary_m1", "unrelated"] {
        object.add_symbol(Symbol {
            name: name.as_bytes().to_vec(),
            value: 0,
            size: 0,
            kind: SymbolKind::Text,
            scope: SymbolScope::Unknown,
            weak: false,
            section: SymbolSection::Undefined,
            flags: object::SymbolFlags::None,
        });
    }
    object.write().unwrap()
}

fn rdc_object() -> Vec<u8> {
    let mut wrapper = 0x4662_43b1_u32.to_le_bytes().to_vec();
    wrapper.extend_from_slice(&1_u32.to_le_bytes());
    wrapper.extend_from_slice(&[0; 16]);
    host_object(
        Architecture::X86_64,
        &[
            ("__nv_relfatbin", FATBIN),
            ("__nv_module_id", b"_m1\0\0def _m0\0"),
            (".nvFatBinSegment", &wrapper),
            (".nvHRKE", b"_Z1k*\0_Z1l*"),
            (".nvHRDI", b"\0"),
        ],
    )
}

fn member(name: &str, size: usize) -> Vec<u8> {
    format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{size:<10}`\n", 0, 0, 0, 644).into_bytes()
}

fn padded(mut archive: Vec<u8>, data: &[u8]) -> Vec<u8> {
    archive.extend_from_slice(data);
    if !archive.len().is_multiple_of(2) {
        archive.push(b'\n');
    }
    archive
}

/// A GNU archive; long names stand in the name table.
fn gnu(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut names = Vec::new();
    let mut body = Vec::new();
    for (name, data) in members {
        body.extend(member(&format!("/{}", names.len()), data.len()));
        body = padded(body, data);
        names.extend_from_slice(format!("{name}/\n").as_bytes());
    }
    let mut archive = b"!<arch>\n".to_vec();
    archive.extend(member("//", names.len()));
    let mut archive = padded(archive, &names);
    archive.extend(body);
    archive
}

fn names(data: &[u8]) -> Vec<String> {
    let members = Archive::parse(data).unwrap().members();
    members.map(|m| m.unwrap().name).collect()
}

#[test]
fn contents_tell_the_kind() {
    let mut cubin = b"\x7fELF\x02\x01\x01\x41\x08".to_vec();
    cubin.resize(16, 0);
    cubin.extend_from_slice(&[1, 0, 190, 0]);
    for (data, expected) in [
        (&cubin[..], InputKind::Cubin),
        (&rdc_object(), InputKind::HostObject),
        (FATBIN, InputKind::Fatbin),
        (PTX, InputKind::Ptx),
        (
            b"// a comment\n /* and\n one */ .version 8.0",
            InputKind::Ptx,
        ),
        (b"// only a comment", InputKind::Unknown),
        (b"/* no end", InputKind::Unknown),
        (b"!<arch>\n", InputKind::Archive),
        (b"!<thin>\n", InputKind::Archive),
        (b"\xed\x43\x4e\x7f rest", InputKind::LtoIr),
        (b"BC\xc0\xde rest", InputKind::Bitcode),
        (b"\xde\xc0\x17\x0b rest", InputKind::Bitcode),
        (b"\x7fELF", InputKind::Unknown),
        (b"MZ", InputKind::Unknown),
        (b"", InputKind::Unknown),
    ] {
        assert_eq!(detect(data), expected, "{:?}", data.get(..8));
    }
}

#[test]
fn this_test_is_an_executable() {
    let program = std::fs::read(std::env::current_exe().unwrap()).unwrap();
    if cfg!(all(target_os = "linux", target_pointer_width = "64")) {
        assert_eq!(detect(&program), InputKind::HostExecutable);
        assert!(HostFile::parse(&program).unwrap().fatbins.is_empty());
    } else {
        assert_eq!(detect(&program), InputKind::Unknown);
    }
}

#[test]
fn host_objects_show_their_device_parts() {
    let data = rdc_object();
    let file = HostFile::parse(&data).unwrap();
    assert_eq!(file.kind, InputKind::HostObject);
    assert_eq!(file.machine.to_string(), "x86-64");
    assert!(file.has_relocatable_code());
    let [section] = &file.fatbins[..] else {
        panic!("one fatbin section");
    };
    assert_eq!(section.name, "__nv_relfatbin");
    assert_eq!(section.data, FATBIN);
    assert_eq!(&data[section.offset as usize..][..FATBIN.len()], FATBIN);
    let fatbin: Fatbin<'_> = section.fatbins().next().unwrap().unwrap();
    assert_eq!(fatbin.entries().count(), 2);
    assert_eq!(
        file.module_ids,
        [ModuleId::Module("_m1"), ModuleId::Linked("_m0")]
    );
    assert_eq!(file.wrappers, [1]);
    let [kernels, variables] = &file.references[..] else {
        panic!("two reference sections");
    };
    assert_eq!(
        (kernels.kind, kernels.scope),
        (ReferenceKind::Kernel, ReferenceScope::External)
    );
    assert_eq!(kernels.patterns, ["_Z1k*", "_Z1l*"]);
    assert!(kernels.matches("_Z1kPi") && !kernels.matches("_Z2kkPi"));
    assert_eq!(
        (variables.kind, variables.scope),
        (ReferenceKind::Variable, ReferenceScope::Internal)
    );
    assert!(variables.patterns.is_empty());
    let [symbol] = &file.registration[..] else {
        panic!("one registration symbol");
    };
    assert_eq!(symbol.name, "__cudaRegisterLinkedBinary_m1");
    assert!(!symbol.defined);
}

#[test]
fn other_machines_are_read_too() {
    let data = host_object(Architecture::Aarch64, &[(".nv_fatbin", FATBIN)]);
    let file = HostFile::parse(&data).unwrap();
    assert_eq!(file.machine.to_string(), "aarch64");
    assert!(!file.has_relocatable_code());
    assert_eq!(file.fatbins[0].data, FATBIN);
}

#[test]
fn code_for_the_link_of_clang_is_seen() {
    for (section, expected) in [
        (".llvm.offloading", Some(OutOfReach::ClangLink)),
        (".llvm.offload", None),
    ] {
        let data = host_object(Architecture::X86_64, &[(section, b"\x10\xff\x10\xad")]);
        let file = HostFile::parse(&data).unwrap();
        assert_eq!(file.out_of_reach, expected, "{section}");
        assert!(file.fatbins.is_empty());
    }
}

#[test]
fn code_that_host_compilers_optimize_is_seen() {
    let check = |sections: &[(&str, &[u8])], expected| {
        let data = host_object(Architecture::X86_64, sections);
        let file = HostFile::parse(&data).unwrap();
        assert_eq!(file.out_of_reach, expected, "{sections:?}");
    };
    let wrapper = (".gnu.lto___fatbinwrap_m1.7.0123456789abcdef", &b"code"[..]);
    check(&[wrapper], Some(OutOfReach::Optimizer));
    check(&[(".gnu.lto_main.7.0123456789abcdef", b"code")], None);
    // What `-ffat-lto-objects` makes.
    check(&[wrapper, ("__nv_relfatbin", FATBIN)], None);
    let found = OutOfReach::in_bitcode(b"BC\xc0\xde main__fatbinwrap_m1");
    assert_eq!(found, Some(OutOfReach::Optimizer));
    assert_eq!(OutOfReach::in_bitcode(b"BC\xc0\xde main"), None);
}

fn check(data: &[u8], expected: &str) {
    let error = HostFile::parse(data).expect_err(expected).to_string();
    assert_eq!(error, format!("<memory>, {expected}"));
}

#[test]
fn broken_host_files_are_errors() {
    check(FATBIN, "offset 0x0: not an ELF file");
    let good = rdc_object();
    let mut turned = good.clone();
    turned[5] = 2;
    check(
        &turned,
        "offset 0x4: not a little-endian host file; CUDA code is only found in those",
    );
    let bad_id = host_object(Architecture::X86_64, &[("__nv_module_id", b"_m1\0\xff\0")]);
    check(
        &bad_id,
        "section __nv_module_id, offset 0x4: not a text in UTF-8",
    );
    for end in 64..good.len() {
        assert!(HostFile::parse(&good[..end]).is_err(), "{end}");
    }
}

#[test]
fn archives_of_all_flavours_give_their_members() {
    let object = rdc_object();
    let data = gnu(&[
        ("first.o", &object),
        ("a name that is longer than sixteen bytes.o", b"odd"),
        ("last.o", b""),
    ]);
    let archive = Archive::parse(&data).unwrap();
    assert_eq!((archive.flavour, archive.thin), (Flavour::Gnu, false));
    let members: Vec<_> = archive.members().map(|m| m.unwrap()).collect();
    assert_eq!(members.len(), 3);
    assert_eq!(members[0].data, Some(&object[..]));
    assert_eq!(
        members[1].name,
        "a name that is longer than sixteen bytes.o"
    );
    assert_eq!(members[1].data, Some(&b"odd"[..]));
    assert_eq!(members[2].size, 0);

    let mut bsd = b"!<arch>\n".to_vec();
    bsd.extend(member("#1/20", 20 + 4));
    bsd.extend_from_slice(b"__.SYMDEF SORTED\0\0\0\0\0\0\0\0");
    bsd.extend(member("#1/24", 24 + 3));
    let bsd = padded(bsd, b"a name with blanks in.o\0odd");
    assert_eq!(Archive::parse(&bsd).unwrap().flavour, Flavour::Bsd);
    assert_eq!(names(&bsd), ["a name with blanks in.o"]);

    let mut thin = b"!<thin>\n".to_vec();
    thin.extend(member("//", 10));
    thin.extend_from_slice(b"dir/m1.o/\n");
    thin.extend(member("/0", 1234));
    let archive = Archive::parse(&thin).unwrap();
    assert!(archive.thin);
    let only = archive.members().next().unwrap().unwrap();
    assert_eq!((only.name.as_str(), only.size), ("dir/m1.o", 1234));
    assert_eq!(only.data, None);

    assert!(names(b"!<arch>\n").is_empty());
}

fn leaves(data: &[u8]) -> Result<Vec<String>, ParseError> {
    let mut found = Vec::new();
    walk("lib.a", data, &mut |path, _| {
        found.push(path.to_owned());
        Ok::<_, ParseError>(())
    })?;
    Ok(found)
}

#[test]
fn archives_in_archives_are_walked_to_a_depth() {
    let inner = gnu(&[("m.o", b"x")]);
    let outer = gnu(&[("n.o", b"y"), ("libmm.a", &inner)]);
    assert_eq!(leaves(&outer).unwrap(), ["lib.a:n.o", "lib.a:libmm.a:m.o"]);

    let mut deep = inner;
    for _ in 1..archive::MAX_DEPTH {
        deep = gnu(&[("a", &deep)]);
    }
    assert_eq!(leaves(&deep).unwrap().len(), 1);
    let error = leaves(&gnu(&[("a", &deep)])).unwrap_err().to_string();
    assert_eq!(
        error,
        "lib.a:a:a:a:a:a:a:a:a: archives lie in archives more than 8 deep"
    );
}

#[test]
fn broken_archives_are_errors() {
    let good = gnu(&[
        ("first.o", b"12345678"),
        ("second-of-a-long-name.o", b"12345678"),
    ]);
    let end = good.len();
    let check = |data: &[u8], place: usize, expected: &str| {
        let error = leaves(data).unwrap_err().to_string();
        let expected = format!("lib.a, offset {place:#x}: {expected}");
        assert!(error.starts_with(&expected), "{error}");
    };
    let last =
        "member 'second-of-a-long-name.o' has 8 bytes, of which 7 are there; the file is cut short";
    check(&good[..end - 1], end - 8, last);
    let header = end - 68;
    check(
        &good[..end - 9],
        header,
        "59 bytes are left where the header of a member needs 60; the file is cut short",
    );
    let with = |place: usize, byte: u8| {
        let mut bad = good.clone();
        bad[place] = byte;
        bad
    };
    check(
        &with(header + 48, b'x'),
        header,
        "the size of member 'second-of-a-long-name.o' is no",
    );
    check(
        &with(header + 58, b'x'),
        header,
        "no member of the archive begins here",
    );
    check(&good[..100], 68, "the table of names has ");
    let members: Vec<_> = Archive::parse(&good[..good.len() - 1])
        .unwrap()
        .members()
        .collect();
    assert!(members[0].is_ok() && members[1].is_err() && members.len() == 2);
    check(b"no archive", 0, "archive: ");
}

#[test]
fn patterns_match_whole_names() {
    for (pattern, name, expected) in [
        ("_Z1k", "_Z1k", true),
        ("_Z1k", "_Z1kPi", false),
        ("_Z1k*", "_Z1k", true),
        ("_Z1k*", "_Z1kPi", true),
        ("*", "", true),
        ("a*b*a", "aba", true),
        ("a*b*a", "ab", false),
        ("a*a", "a", false),
        ("?", "x", false),
    ] {
        assert_eq!(pattern_matches(pattern, name), expected, "{pattern} {name}");
    }
}

/// The definition, without any thought of speed.
fn naive_match(pattern: &[u8], name: &[u8]) -> bool {
    match pattern.split_first() {
        None => name.is_empty(),
        Some((b'*', rest)) => (0..=name.len()).any(|at| naive_match(rest, &name[at..])),
        Some((byte, rest)) => name.first() == Some(byte) && naive_match(rest, &name[1..]),
    }
}

fn changed(mut data: Vec<u8>, changes: &[(prop::sample::Index, u8)]) -> Vec<u8> {
    for (at, byte) in changes {
        let at = at.index(data.len());
        data[at] = *byte;
    }
    data
}

proptest! {
    #[test]
    fn patterns_mean_what_they_say(pattern in "[ab*]{0,8}", name in "[ab]{0,8}") {
        prop_assert_eq!(
            pattern_matches(&pattern, &name),
            naive_match(pattern.as_bytes(), name.as_bytes())
        );
    }

    #[test]
    fn no_bytes_break_the_host_reader(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        tables_only in any::<bool>(),
        end in any::<prop::sample::Index>(),
    ) {
        let good = rdc_object();
        // The device code is most of the file; the tables stand behind it.
        let (code, tables) = good.split_at(if tables_only { good.len() - 0x400 } else { 0 });
        let mut data = [code, &changed(tables.to_vec(), &changes)].concat();
        let read = |data: &[u8]| {
            for section in HostFile::parse(data).into_iter().flat_map(|f| f.fatbins) {
                section.fatbins().for_each(drop);
            }
            detect(data);
        };
        read(&data);
        data.truncate(end.index(data.len()));
        read(&data);
    }

    #[test]
    fn no_bytes_break_the_archive_reader(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        end in any::<prop::sample::Index>(),
    ) {
        let inner = gnu(&[("m.o", b"abc"), ("a rather long member name.o", b"x")]);
        let good = gnu(&[("libmm.a", &inner), ("n.o", b"y")]);
        let mut data = changed(good, &changes);
        let _ = leaves(&data);
        data.truncate(end.index(data.len()));
        let _ = leaves(&data);
    }
}
