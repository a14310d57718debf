//! Damaged objects give an error that says where, and never a panic; what
//! still parses encodes to the same damaged bytes.

use std::path::{Path, PathBuf};

use proptest::prelude::*;
use proptest::sample::Index;
use rustnvlink::arch::relocation::{RelocationType, Target};
use rustnvlink::cubin::{
    Attribute, CallGraph, Capsule, CompatRecords, Cubin, DeviceNote, File, InfoRecords, Note,
    Prototype, RelocationAction, Section, ToolNote, UnifiedEntry,
};
use rustnvlink::error::ParseError;
use rustnvlink::options::{Behaviour, EarlyAddresses, ImageKind, Options};
use rustnvlink::{Input, link};

/// One way to damage a file.
#[derive(Debug, Clone)]
enum Damage {
    Byte(Index, u8),
    Truncate(Index),
    Move {
        from: Index,
        to: Index,
        size: u16,
    },
    /// A field of the file header, by offset and size.
    HeaderField(usize, u64),
    /// A field of a section header.
    SectionField(Index, usize, u64),
    /// A word somewhere in the bytes of a section.
    Word(Index, Index, u64),
}

/// Offset and size of the fields of a file header behind its magic number.
const HEADER_FIELDS: [(usize, usize); 16] = [
    (4, 1),
    (5, 1),
    (7, 1),
    (8, 1),
    (16, 2),
    (18, 2),
    (20, 4),
    (32, 8),
    (40, 8),
    (48, 4),
    (52, 2),
    (54, 2),
    (56, 2),
    (58, 2),
    (60, 2),
    (62, 2),
];

/// Offset and size of the fields of a section header.
const SECTION_FIELDS: [(usize, usize); 9] = [
    (0, 4),
    (4, 4),
    (8, 8),
    (24, 8),
    (32, 8),
    (40, 4),
    (44, 4),
    (48, 8),
    (56, 8),
];

/// Numbers at the edges of what fields can hold or mean.
fn number() -> impl Strategy<Value = u64> {
    prop_oneof![
        prop::sample::select(vec![
            0,
            1,
            2,
            3,
            4,
            8,
            9,
            0x7f,
            0xff,
            0xfff1,
            0xffff,
            0x7fff_ffff,
            0x8000_0000,
            0xffff_ffff,
            0x1_0000_0000,
            0x7000_0000,
            0x7000_0001,
            0x7000_0007,
            0x7000_0016,
            0x7000_0082,
            1 << 63,
            u64::MAX - 1,
            u64::MAX,
        ]),
        0..0x4000_u64,
        any::<u64>(),
    ]
}

fn damage() -> impl Strategy<Value = Damage> {
    prop_oneof![
        (any::<Index>(), any::<u8>()).prop_map(|(at, byte)| Damage::Byte(at, byte)),
        any::<Index>().prop_map(Damage::Truncate),
        (any::<Index>(), any::<Index>(), 1..256_u16).prop_map(|(from, to, size)| Damage::Move {
            from,
            to,
            size
        }),
        (0..HEADER_FIELDS.len(), number()).prop_map(|(field, n)| Damage::HeaderField(field, n)),
        (any::<Index>(), 0..SECTION_FIELDS.len(), number())
            .prop_map(|(section, field, n)| Damage::SectionField(section, field, n)),
        (any::<Index>(), any::<Index>(), number())
            .prop_map(|(section, at, n)| Damage::Word(section, at, n)),
    ]
}

/// Where the section headers are in an undamaged file.
fn section_headers(data: &[u8]) -> (usize, usize) {
    let offset = u64::from_le_bytes(data[40..48].try_into().unwrap());
    let count = u16::from_le_bytes(data[60..62].try_into().unwrap());
    (offset as usize, count.into())
}

fn overwrite(data: &mut [u8], at: usize, size: usize, number: u64) {
    let end = data.len().min(at.saturating_add(size));
    if at < end {
        data[at..end].copy_from_slice(&number.to_le_bytes()[..end - at]);
    }
}

fn apply(data: &mut Vec<u8>, (headers, count): (usize, usize), damage: &Damage) {
    if data.is_empty() {
        return;
    }
    match damage {
        Damage::Byte(at, byte) => *at.get_mut(data) = *byte,
        Damage::Truncate(at) => data.truncate(at.index(data.len())),
        Damage::Move { from, to, size } => {
            let from = from.index(data.len());
            let to = to.index(data.len());
            let size = usize::from(*size)
                .min(data.len() - from)
                .min(data.len() - to);
            data.copy_within(from..from + size, to);
        }
        Damage::HeaderField(field, number) => {
            let (offset, size) = HEADER_FIELDS[*field];
            overwrite(data, offset, size, *number);
        }
        Damage::SectionField(section, field, number) => {
            let (offset, size) = SECTION_FIELDS[*field];
            overwrite(
                data,
                headers + section.index(count) * 64 + offset,
                size,
                *number,
            );
        }
        Damage::Word(section, at, number) => {
            let header = headers + section.index(count) * 64;
            let field = |offset: usize| {
                let bytes = data.get(header + offset..header + offset + 8)?;
                Some(u64::from_le_bytes(bytes.try_into().unwrap()) as usize)
            };
            if let (Some(start), Some(size @ 1..)) = (field(24), field(32)) {
                overwrite(data, start.saturating_add(at.index(size)) & !3, 4, *number);
            }
        }
    }
}

/// Feeds a section to every parser, whatever its type says.
fn parse_as_everything(section: &Section<'_>) {
    for record in InfoRecords::new(section.data).flatten() {
        let attribute = Attribute::decode(&record);
        if record.payload.is_empty() {
            continue;
        }
        assert_eq!(attribute.encode(), record.payload);
    }
    CompatRecords::new(section.data).for_each(drop);
    for note in Note::parse_all(section.data).into_iter().flatten() {
        let _ = ToolNote::parse(note.description).map(|tool| tool.encode());
        let _ = DeviceNote::parse(note.description).map(DeviceNote::encode);
    }
    let _ = CallGraph::parse(section.data).map(|graph| graph.encode());
    let _ = Prototype::parse_all(section.data).map(|all| all.for_each(drop));
    let _ = RelocationAction::parse_all(section.data);
    let _ = UnifiedEntry::parse_all(section.data);
    if let Ok(capsule) = Capsule::parse(section.data) {
        assert_eq!(capsule.encode(), section.data);
        for index in 0..capsule.instructions {
            let body = capsule.body(index);
            assert!(body.is_none_or(|body| body.end <= section.data.len()));
        }
    }
    if let Ok(relocations) = File::relocations(section) {
        let mut bytes = section.data.to_vec();
        for relocation in relocations {
            if let Some(row) = RelocationType(relocation.kind).row() {
                let _ = row.apply(&mut bytes, relocation.offset, Target::in_bank(3, u64::MAX));
                let _ = row.implicit_addend(&bytes, relocation.offset);
            }
        }
    }
}

fn check_located(error: &ParseError) {
    let location = &error.location;
    assert!(
        location.section.is_some() || location.offset.is_some(),
        "the error says nowhere: {error}"
    );
}

fn check(data: &[u8]) {
    match File::parse(data) {
        Ok(file) => file.sections.iter().for_each(parse_as_everything),
        Err(error) => check_located(&error),
    }
    match Cubin::parse(data) {
        Ok(cubin) => assert_eq!(cubin.encode().unwrap(), data),
        Err(error) => check_located(&error),
    }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/inputs")
}

/// One of the good objects.
fn input(name: &str) -> Vec<u8> {
    std::fs::read(folder().join(format!("{name}.cubin"))).unwrap()
}

fn inputs() -> Vec<Vec<u8>> {
    let mut paths: Vec<_> = std::fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "cubin"))
        .collect();
    paths.sort();
    paths
        .iter()
        .map(|path| std::fs::read(path).unwrap())
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn damaged_objects_never_panic(
        input in prop::sample::select(inputs()),
        damages in prop::collection::vec(damage(), 1..6),
    ) {
        let headers = section_headers(&input);
        let mut data = input;
        for damage in &damages {
            apply(&mut data, headers, damage);
        }
        check(&data);
    }

    #[test]
    fn noise_never_panics(noise in prop::collection::vec(any::<u8>(), 0..400)) {
        let section = Section {
            name: ".noise", name_offset: 0, kind: rustnvlink::cubin::SectionType::RELA, flags: rustnvlink::cubin::SectionFlags::NONE,
            address: 0, offset: 0, size: noise.len() as u64, link: 0, info: 0, align: 1,
            entry_size: 0, data: &noise,
        };
        parse_as_everything(&section);
        check(&noise);
    }
}

/// An object with `count` sections of type `kind` that all claim the whole
/// file, and symbols whose names all run to the end of a huge string.
fn greedy(kind: u32, count: usize) -> Vec<u8> {
    let mut data = input("saxpy.sm_90");
    data.resize(data.len().next_multiple_of(8), 0);
    let (headers, _) = section_headers(&data);
    let mut table = data[headers..headers + 4 * 64].to_vec();
    let size = data.len() + (4 + count) * 64;
    for _ in 0..count {
        let mut header = [0; 64];
        header[4..8].copy_from_slice(&kind.to_le_bytes());
        header[32..40].copy_from_slice(&(size as u64 / 24 * 24).to_le_bytes());
        header[40..44].copy_from_slice(&2_u32.to_le_bytes());
        table.extend(header);
    }
    let offset = data.len() as u64;
    data.extend(table);
    data[40..48].copy_from_slice(&offset.to_le_bytes());
    data[60..62].copy_from_slice(&(4 + count as u16).to_le_bytes());
    data
}

#[test]
fn short_files_cannot_claim_much() {
    for kind in [4, 9, 0x7000_0000, 0x7000_0001, 0x7000_0082] {
        let error = Cubin::parse(&greedy(kind, 2000)).unwrap_err().to_string();
        assert!(error.contains("overlap"), "{kind:#x}: {error}");
    }
}

#[test]
fn names_cannot_be_read_over_and_over() {
    let mut data = greedy(1, 0);
    let strings = data.len() as u64;
    data.extend(vec![b'a'; 1 << 20]);
    data.push(0);
    let symbols = data.len() as u64;
    data.extend(vec![0; 24 * 50_000]);
    let (headers, _) = section_headers(&data);
    let mut set = |section: usize, offset: u64, size: u64| {
        overwrite(&mut data, headers + section * 64 + 24, 8, offset);
        overwrite(&mut data, headers + section * 64 + 32, 8, size);
    };
    set(2, strings, (1 << 20) + 1);
    set(3, symbols, 24 * 50_000);
    let error = File::parse(&data).unwrap_err().to_string();
    assert!(error.contains("overlaps too many other names"), "{error}");
    assert!(error.contains("section .symtab, offset"), "{error}");
}

#[test]
fn huge_sizes_are_refused() {
    let input = &inputs()[0];
    let headers = section_headers(input);
    for section in 1..headers.1 {
        for number in [1 << 32, u64::MAX, u64::MAX - 63] {
            for (offset, size) in [(24, 8), (32, 8)] {
                let mut data = input.clone();
                overwrite(&mut data, headers.0 + section * 64 + offset, size, number);
                check(&data);
            }
        }
    }
    let mut data = input.clone();
    overwrite(&mut data, headers.0 + 64 + 32, 8, 1 << 32);
    let error = File::parse(&data).unwrap_err().to_string();
    assert_eq!(
        error,
        format!(
            "<memory>, section #1, offset 0x40: section data ends at 0x100000040, past the {:#x} bytes there are",
            data.len()
        )
    );
}

/// What a symbol says of its place and size is no reason to write it all.
#[test]
fn no_symbol_makes_a_large_image() {
    for (name, sm) in [
        ("older/t.12-8.sm_100a", "sm_100a"),
        ("callee.sm_110", "sm_110"),
        ("saxpy.sm_90", "sm_90"),
    ] {
        let input = input(name);
        let mut options = Options::new(sm.parse().unwrap());
        let file = File::parse(&input).unwrap();
        let is_symbols = |s: &&Section<'_>| matches!(s.kind.0, 2 | 0x7000_0085);
        for table in file.sections.iter().filter(is_symbols) {
            for symbol in (0..table.size as usize).step_by(24) {
                for field in [8, 16] {
                    let mut data = input.clone();
                    let at = table.offset as usize + symbol + field;
                    overwrite(&mut data, at, 8, 1 << 26);
                    for image in [
                        ImageKind::Executable,
                        ImageKind::Relocatable(EarlyAddresses::Leave),
                    ] {
                        options.settings.image = image;
                        let input = Input::new(name, &data);
                        let image = link(&[input], &options).image.unwrap_or_default();
                        assert!(image.len() < 1 << 24, "{name}: symbol at {at:#x}");
                    }
                }
            }
        }
    }
}

/// Nor is what a section without bytes says of its size, whatever type it has.
#[test]
fn no_section_without_bytes_makes_a_large_image() {
    for (name, sm) in [("callee.sm_110", "sm_110"), ("saxpy.sm_90", "sm_90")] {
        let input = input(name);
        let (headers, count) = section_headers(&input);
        for (section, kind) in (1..count).flat_map(|s| [(s, 8), (s, 0x7000_0015)]) {
            let mut data = input.clone();
            overwrite(&mut data, headers + section * 64 + 4, 4, kind);
            overwrite(&mut data, headers + section * 64 + 32, 8, 1 << 40);
            let options = Options::new(sm.parse().unwrap());
            let image = link(&[Input::new(name, &data)], &options).image;
            assert!(
                image.unwrap_or_default().len() < 1 << 24,
                "{name}: {section}"
            );
        }
    }
}

/// Code that a link would make of Mercury code, of which the object has none.
#[test]
fn machine_code_needs_mercury_code() {
    let name = "callee.sm_100";
    let input = input(name);
    let (headers, _) = section_headers(&input);
    let file = File::parse(&input).unwrap();
    let notes = file.section_by_name(".note.nv.cuinfo").unwrap();
    let mut data = input.clone();
    // Code by type and flags.
    overwrite(&mut data, headers + notes * 64 + 4, 4, 1);
    overwrite(&mut data, headers + notes * 64 + 8, 8, 6);
    for behaviour in [Behaviour::Own, Behaviour::Nvlink] {
        let mut options = Options::new("sm_100".parse().unwrap());
        options.behaviour = behaviour;
        let outcome = link(&[Input::new(name, &data)], &options);
        assert!(outcome.image.is_none());
        assert!(outcome.diagnostics.has_errors());
    }
}

/// A symbol of the Mercury world that stands in a section of records, which
/// belongs to no section there is.
#[test]
fn sections_that_are_not_linked_may_belong_to_nothing() {
    const SECTION: usize = 6;
    let name = "saxpy.sm_100";
    let input = input(name);
    let (headers, count) = section_headers(&input);
    let file = File::parse(&input).unwrap();
    let table = file.section_by_name(".nv.merc.symtab").unwrap();
    let table = &file.sections[table];
    for section in 1..count {
        let mut damaged = input.clone();
        overwrite(&mut damaged, headers + section * 64 + 44, 4, 0x1000_0000);
        for symbol in (0..table.size as usize).step_by(24) {
            let mut data = damaged.clone();
            let at = table.offset as usize + symbol + SECTION;
            overwrite(&mut data, at, 2, section as u64);
            let options = Options::new("sm_100".parse().unwrap());
            let outcome = link(&[Input::new(name, &data)], &options);
            assert_ne!(outcome.image.is_some(), outcome.diagnostics.has_errors());
        }
    }
}

#[test]
fn files_of_another_kind_are_named() {
    let input = &inputs()[0];
    let error = |at: usize, byte: u8| {
        let mut data = input.clone();
        data[at] = byte;
        File::parse(&data).unwrap_err().to_string()
    };
    assert_eq!(error(0, 0), "<memory>, offset 0x0: not an ELF file");
    assert_eq!(
        error(4, 1),
        "<memory>, offset 0x4: not a 64-bit little-endian CUDA object: ELF class 1 (32 bits, as of -m32), byte order 1"
    );
    assert_eq!(
        error(5, 2),
        "<memory>, offset 0x4: not a 64-bit little-endian CUDA object: ELF class 2, byte order 2"
    );
    assert_eq!(
        error(18, 62),
        "<memory>, offset 0x12: not a 64-bit little-endian CUDA object: machine 62 instead of 190"
    );
}
