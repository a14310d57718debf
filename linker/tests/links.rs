//! Links of the committed inputs: they succeed, repeat, and survive damage.

use std::path::Path;

use proptest::prelude::*;
use rustnvlink::arch::Sm;
use rustnvlink::cubin::{File, Note, NoteKind, ObjectKind, SymbolOther, ToolNote, UnifiedIndex};
use rustnvlink::options::{
    Behaviour, EarlyAddresses, ImageKind, KernelFilter, NamePatterns, Options, Patterns,
};
use rustnvlink::{Input, link};

const ARCHS: [u16; 5] = [75, 80, 90, 100, 120];
const IMAGES: [ImageKind; 3] = [
    ImageKind::Executable,
    ImageKind::Relocatable(EarlyAddresses::Leave),
    ImageKind::Relocatable(EarlyAddresses::Fill),
];

fn input(name: &str, arch: u16) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/inputs");
    let path = folder.join(format!("{name}.sm_{arch}.cubin"));
    std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn options(arch: u16) -> Options {
    Options::new(Sm::new(arch))
}

fn link_pair(arch: u16, caller: &[u8], callee: &[u8]) -> rustnvlink::Outcome {
    link_pair_as(&options(arch), caller, callee)
}

fn link_pair_as(options: &Options, caller: &[u8], callee: &[u8]) -> rustnvlink::Outcome {
    let inputs = [
        Input::new("caller.cubin", caller),
        Input::new("callee.cubin", callee),
    ];
    link(&inputs, options)
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

/// Code, data and sizes of an image, by section name.
fn content(image: &[u8]) -> Vec<(String, u64, Vec<u8>)> {
    let file = File::parse(image).expect("an image parses");
    let is_content = |name: &str| {
        [
            ".text",
            ".nv.constant",
            ".nv.global",
            ".nv.shared",
            ".debug",
        ]
        .iter()
        .any(|prefix| name.starts_with(prefix))
    };
    let mut content: Vec<(String, u64, Vec<u8>)> = file
        .sections
        .iter()
        .filter(|section| is_content(section.name))
        .map(|section| (section.name.to_owned(), section.size, section.data.to_vec()))
        .collect();
    content.sort();
    content
}

/// A relocatable link leaves every address to the last link, so that it does
/// not matter what comes before its object.
#[test]
fn links_in_two_steps_give_the_same_program() {
    for arch in ARCHS {
        let files = ["saxpy", "caller", "callee"].map(|name| input(name, arch));
        let [first, parts @ ..] = files.each_ref().map(|data| Input::new("part.cubin", data));
        let mut relocatable = options(arch);
        relocatable.settings.image = ImageKind::Relocatable(EarlyAddresses::Leave);
        let joined = link(&parts, &relocatable);
        assert_eq!(joined.diagnostics.messages(), [], "sm_{arch}");
        let joined = joined.image.expect("no message and no object");
        let file = File::parse(&joined).expect("the object parses");
        assert_eq!(file.header.kind, ObjectKind::RELOCATABLE);
        let joined = Input::new("joined.cubin", &joined);
        let in_two_steps = link(&[first, joined], &options(arch)).image;
        let at_once = link(&[first, parts[0], parts[1]], &options(arch)).image;
        assert_eq!(
            content(&in_two_steps.expect("it links")),
            content(&at_once.expect("it links")),
            "sm_{arch}"
        );
    }
}

/// The tools that an image's records name.
fn tools(image: &[u8]) -> Vec<String> {
    let file = File::parse(image).expect("an image parses");
    let section = file.sections.iter();
    let mut section = section.filter(|section| section.name == ".note.nv.tkinfo");
    let notes = Note::parse_all(section.next().expect("it has records").data);
    let tool = |note: &Note<'_>| ToolNote::parse(note.description).unwrap().tool.to_owned();
    notes.unwrap().iter().map(tool).collect()
}

/// NVIDIA's tools read no file with an empty note.
#[test]
fn images_name_a_tool_at_least() {
    for arch in ARCHS {
        let part = input("saxpy", arch);
        let part = Input::new("part.cubin", &part);
        for image in IMAGES {
            let mut options = options(arch);
            options.settings.image = image;
            let linked = link(&[part], &options).image.expect("it links");
            match image {
                ImageKind::Executable => assert_eq!(tools(&linked), ["ptxas"], "sm_{arch}"),
                _ => {
                    assert_eq!(tools(&linked), ["rustnvlink"], "sm_{arch}");
                    let again = Input::new("again.cubin", &linked);
                    let again = link(&[again], &self::options(arch)).image;
                    assert_eq!(
                        tools(&again.expect("it links")),
                        ["rustnvlink"],
                        "sm_{arch}"
                    );
                }
            }
        }
    }
}

/// An index of the unified function and variables of `unified.ptx`, with the function's slot at an offset.
fn unified_index(slot: u64) -> UnifiedIndex {
    const VARIABLES: [[u64; 3]; 2] = [[4, 1, 0], [3, 1, 0x10]];
    let words = [0x5844_4e49_5446_557f, 1, 0x80, 1, 0x18, 2];
    let words = words.into_iter().chain([1, 1, slot]);
    let words = words.chain(VARIABLES.concat());
    let bytes = words.flat_map(u64::to_le_bytes).collect();
    UnifiedIndex::parse("program.uidx", bytes).expect("an index")
}

/// Weak definitions of one unified function have one slot, and pointers follow
/// the variables that the index moves.
#[test]
fn unified_functions_and_variables_stand_where_the_index_wants_them() {
    for arch in [90, 100] {
        let object = input("unified", arch);
        let mut options = options(arch);
        options.settings.unified_index = Some(unified_index(0));
        let outcome = link_pair_as(&options, &object, &object);
        assert_eq!(outcome.diagnostics.messages(), [], "sm_{arch}");
        let image = outcome.image.expect("no message and no image");
        let file = File::parse(&image).expect("an image parses");
        let slots: Vec<_> = file
            .symbols
            .iter()
            .filter(|s| s.name.starts_with("__cuda_uf_stub"))
            .map(|s| (s.value, s.size))
            .collect();
        assert_eq!(slots, [(0, 0x80)], "sm_{arch}");
        let section = |name: &str| file.sections.iter().find(|s| s.name == name);
        let data = section(".nv.udt").expect("the variables").data;
        assert_eq!(data[0x10], 5, "sm_{arch}");
        let pointers = section(".rela.nv.udt").expect("their pointers");
        let offsets = File::relocations(pointers).expect("relocations");
        assert_eq!(offsets.map(|r| r.offset).collect::<Vec<_>>(), [8]);
        options.behaviour = Behaviour::Nvlink;
        let refused = link_pair_as(&options, &object, &object);
        assert!(refused.image.is_none(), "sm_{arch}");
    }
}

/// How many handles of textures the driver fills in for a kernel.
fn handles(image: &[u8], kernel: &str) -> u64 {
    let file = File::parse(image).expect("an image parses");
    let names = [".rel", ".rela"].map(|form| format!("{form}.nv.constant0.{kernel}"));
    let lists = file
        .sections
        .iter()
        .filter(|section| names.iter().any(|name| name == section.name));
    lists.map(|list| list.size / list.entry_size).sum()
}

/// For the compiler, parameters of one name that are textures are one symbol in the code of the first kernel; nvlink ends
/// with an error where that goes, and tells the driver of no other.
#[test]
fn every_kernel_has_its_texture_parameters() {
    for arch in [90, 100] {
        let object = input("textures", arch);
        let inputs = [Input::new("textures.cubin", &object)];
        let of = |kernels: &[&str], options: &Options| {
            let image = link(&inputs, options).into_result();
            let image = image.unwrap_or_else(|e| panic!("sm_{arch}: {e}"));
            kernels
                .iter()
                .map(|kernel| handles(&image, kernel))
                .collect::<Vec<_>>()
        };
        let mut options = options(arch);
        assert_eq!(of(&["first", "second"], &options), [1, 1], "sm_{arch}");
        for kernel in ["first", "second"] {
            options.kernels = KernelFilter::Matching(Patterns {
                external: NamePatterns::from_iter([kernel]),
                internal: NamePatterns::default(),
            });
            assert_eq!(of(&[kernel], &options), [1], "sm_{arch}: {kernel}");
        }
    }
}

#[test]
fn slots_outside_of_their_table_are_refused() {
    for arch in [90, 100] {
        for behaviour in [Behaviour::Own, Behaviour::Nvlink] {
            for slot in [0x80, 0x380, 0xff_ffff_ff00, !0x7f] {
                let object = input("unified", arch);
                let mut options = options(arch);
                options.settings.unified_index = Some(unified_index(slot));
                options.behaviour = behaviour;
                let inputs = [Input::new("unified.cubin", &object)];
                let outcome = link(&inputs, &options);
                assert!(outcome.image.is_none(), "sm_{arch}, {slot:#x}");
                let messages = outcome.diagnostics.messages();
                let said = format!("the slot at {slot:#x} is not free or not in the table");
                assert!(messages[0].text.contains(&said), "{}", messages[0].text);
            }
        }
    }
}

/// The same of nvlink fills addresses in, and who links it is told.
#[test]
fn addresses_of_nvlink_are_warned_of() {
    for arch in ARCHS {
        let files = ["caller", "callee"].map(|name| input(name, arch));
        let parts = files.each_ref().map(|data| Input::new("part.cubin", data));
        let mut relocatable = options(arch);
        relocatable.settings.image = ImageKind::Relocatable(EarlyAddresses::Fill);
        let tool = ToolNote {
            version: 2,
            object: "",
            tool: "nvlink",
            tool_version: "",
            branch: "",
            options: "-r ",
        };
        let record = &mut relocatable.settings.tool_record;
        Note::nvidia(NoteKind::TOOL, &tool.encode()).encode(record);
        let joined = link(&parts, &relocatable).image.expect("it links");
        let joined = [Input::new("joined.cubin", &joined)];
        let outcome = link(&joined, &options(arch));
        let codes: Vec<_> = outcome
            .diagnostics
            .messages()
            .iter()
            .map(|m| m.code)
            .collect();
        assert_eq!(codes, ["stale-addresses"], "sm_{arch}");
        let mut as_nvlink = options(arch);
        as_nvlink.behaviour = Behaviour::Nvlink;
        assert_eq!(link(&joined, &as_nvlink).diagnostics.messages(), []);
    }
}

#[test]
fn a_missing_callee_is_reported_by_name() {
    for arch in ARCHS {
        let caller = input("caller", arch);
        let outcome = link(&[Input::new("caller.cubin", &caller)], &options(arch));
        assert!(outcome.image.is_none());
        let text = outcome.diagnostics.messages()[0].to_string();
        assert!(
            text.starts_with("nvlink error   : Undefined reference to '")
                && text.ends_with("' in 'caller.cubin'"),
            "{text}"
        );
        let error = outcome.into_result().unwrap_err().to_string();
        assert!(
            error.starts_with("Undefined reference to '")
                && error.contains("' in 'caller.cubin' [undefined-reference]"),
            "{error}"
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
    /// The next word, too, gets the sign.
    is_wide: bool,
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
        any::<bool>(),
    )
        .prop_map(|(section, word, value, is_wide)| Damage {
            section,
            word,
            value,
            is_wide,
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
        let value = i64::from(damage.value as i32).to_le_bytes();
        let size = if damage.is_wide { 8 } else { 4 };
        let size = size.min(data.len() - at);
        data[at..at + size].copy_from_slice(&value[..size]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, ..ProptestConfig::default() })]

    /// Damaged inputs give an image or an error, never a panic.
    #[test]
    fn damaged_inputs_never_panic(
        arch in prop::sample::select(&ARCHS[..]),
        image in prop::sample::select(&IMAGES[..]),
        damage in damage(),
    ) {
        let mut caller = input("caller", arch);
        apply(&mut caller, &damage);
        let mut options = options(arch);
        options.settings.image = image;
        let outcome = link_pair_as(&options, &caller, &input("callee", arch));
        let has_error = outcome.diagnostics.has_errors();
        prop_assert_eq!(outcome.image.is_none(), has_error);
    }

    /// So do objects of relocatable links, which say more than those of compilers.
    #[test]
    fn damaged_relocatable_objects_never_panic(
        arch in prop::sample::select(&ARCHS[..]),
        image in prop::sample::select(&IMAGES[..]),
        early in prop::sample::select(&IMAGES[1..]),
        behaviour in prop::sample::select(&[Behaviour::Own, Behaviour::Nvlink][..]),
        damage in damage(),
    ) {
        let mut options = options(arch);
        options.settings.image = early;
        let joined = link_pair_as(&options, &input("caller", arch), &input("callee", arch));
        let mut joined = joined.image.expect("the committed inputs link");
        apply(&mut joined, &damage);
        options.settings.image = image;
        options.behaviour = behaviour;
        let outcome = link(&[Input::new("joined.cubin", &joined)], &options);
        prop_assert_eq!(outcome.image.is_none(), outcome.diagnostics.has_errors());
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
