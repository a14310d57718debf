//! Links of the committed inputs: they succeed, repeat, and survive damage.

use std::path::Path;

use proptest::prelude::*;
use rustnvlink::arch::Sm;
use rustnvlink::cubin::{File, ObjectKind, SymbolOther};
use rustnvlink::options::Options;
use rustnvlink::{Input, link};

const ARCHS: [u16; 5] = [75, 80, 90, 100, 120];

fn input(name: &str, arch: u16) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/inputs");
    let path = folder.join(format!("{name}.sm_{arch}.cubin"));
    std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn options(arch: u16) -> Options {
    Options::new(Sm::new(arch))
}

fn link_pair(arch: u16, caller: &[u8], callee: &[u8]) -> rustnvlink::Outcome {
    let inputs = [
        Input {
            name: "caller.cubin",
            data: caller,
        },
        Input {
            name: "callee.cubin",
            data: callee,
        },
    ];
    link(&inputs, &options(arch))
}

#[test]
fn a_call_across_objects_links() {
    for arch in ARCHS {
        let outcome = link_pair(arch, &input("caller", arch), &input("callee", arch));
        assert_eq!(outcome.diagnostics.messages(), [], "sm_{arch}");
        let image = outcome.image.expect("no message and no image");
        let file = File::parse(&image).unwrap_or_else(|e| panic!("sm_{arch}: {e}"));
        assert_eq!(file.header.kind, ObjectKind::EXECUTABLE);
        let entries = file
            .symbols
            .iter()
            .filter(|s| s.other.has(SymbolOther::ENTRY));
        assert!(entries.count() > 0, "sm_{arch}: no kernel in the image");
    }
}

#[test]
fn repeated_links_give_the_same_bytes() {
    for arch in ARCHS {
        let (caller, callee) = (input("caller", arch), input("callee", arch));
        let first = link_pair(arch, &caller, &callee).image;
        assert!(first.is_some());
        assert_eq!(first, link_pair(arch, &caller, &callee).image, "sm_{arch}");
    }
}

#[test]
fn a_missing_callee_is_reported_by_name() {
    for arch in ARCHS {
        let caller = input("caller", arch);
        let outcome = link(
            &[Input {
                name: "caller.cubin",
                data: &caller,
            }],
            &options(arch),
        );
        assert!(outcome.image.is_none());
        let text = outcome.diagnostics.messages()[0].to_string();
        assert!(
            text.starts_with("nvlink error   : Undefined reference to '")
                && text.ends_with("' in 'caller.cubin'"),
            "{text}"
        );
    }
}

#[test]
fn the_same_object_twice_is_a_multiple_definition() {
    for arch in ARCHS {
        let callee = input("callee", arch);
        let outcome = link_pair(arch, &callee, &callee);
        assert!(outcome.image.is_none());
        assert!(
            outcome.diagnostics.messages()[0]
                .text
                .starts_with("Multiple definition of '")
        );
    }
}

/// Damage to one place: most bytes of an object are code, so most mutations
/// go to the tables, where every field is an offset, an index or a size.
#[derive(Debug, Clone)]
struct Damage {
    section: prop::sample::Index,
    word: prop::sample::Index,
    value: u32,
}

fn damage() -> impl Strategy<Value = Damage> {
    let value = prop_oneof![
        0u32..64,
        Just(u32::MAX),
        Just(0x7fff_ffff),
        Just(0x8000_0000),
        any::<u32>(),
    ];
    (
        any::<prop::sample::Index>(),
        any::<prop::sample::Index>(),
        value,
    )
        .prop_map(|(section, word, value)| Damage {
            section,
            word,
            value,
        })
}

fn apply(data: &mut [u8], damage: &Damage) {
    let file = File::parse(data).expect("the committed inputs are sound");
    // Section 0 stands for the section table itself.
    let table = file.header.sections_offset;
    let ranges: Vec<(u64, u64)> = file
        .sections
        .iter()
        .map(|s| (s.offset, s.data.len() as u64))
        .map(|(start, size)| {
            if size == 0 {
                (table, data.len() as u64 - table)
            } else {
                (start, size)
            }
        })
        .collect();
    let (start, size) = ranges[damage.section.index(ranges.len())];
    let words = (size / 4) as usize;
    if words > 0 {
        let at = start as usize + 4 * damage.word.index(words);
        data[at..at + 4].copy_from_slice(&damage.value.to_le_bytes());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, ..ProptestConfig::default() })]

    /// Damaged inputs give an image or an error, never a panic.
    #[test]
    fn damaged_inputs_never_panic(arch in prop::sample::select(&ARCHS[..]), damage in damage()) {
        let mut caller = input("caller", arch);
        apply(&mut caller, &damage);
        let outcome = link_pair(arch, &caller, &input("callee", arch));
        let has_error = outcome.diagnostics.has_errors();
        prop_assert_eq!(outcome.image.is_none(), has_error);
    }

    /// So do truncated ones.
    #[test]
    fn truncated_inputs_are_errors(arch in prop::sample::select(&ARCHS[..]), cut in any::<prop::sample::Index>()) {
        let caller = input("caller", arch);
        let cut = cut.index(caller.len());
        let outcome = link_pair(arch, &caller[..cut], &input("callee", arch));
        prop_assert!(outcome.image.is_none());
    }
}
