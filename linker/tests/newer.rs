//! Objects of toolkits after the one whose linker ours is like, beside what their own linkers make of them.

use std::collections::BTreeMap;
use std::path::Path;

use rustnvlink::arch::Sm;
use rustnvlink::cubin::{DeviceNote, File};
use rustnvlink::options::{Behaviour, EarlyAddresses, ImageKind, Options};
use rustnvlink::{Input, Outcome, link};

const ARCHS: [u16; 3] = [90, 100, 120];

/// The toolkits, times ten, and the beginnings of the names of sections that are compared.
const TOOLKITS: [(u16, &[&str]); 3] = [
    (131, &[""]),
    (133, &[""]),
    // The linker of 13.5 leaves out names of sections that it does not write, sorts symbols in another
    // way, and from sm_100 on writes the call graph twice. What holds names or numbers of symbols differs.
    (
        135,
        &[
            ".text",
            ".nv.capmerc.text",
            ".nv.constant",
            ".nv.compat",
            ".nv.global.init",
            ".note.nv.cuinfo",
            ".debug_frame",
        ],
    ),
];

fn input(folder: &str, name: &str, arch: u16) -> Vec<u8> {
    let inputs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/inputs");
    let path = inputs.join(folder).join(format!("{name}.sm_{arch}.cubin"));
    std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// A file of the folder `newer`.
fn newer(name: &str, toolkit: u16, arch: u16) -> Vec<u8> {
    let name = format!("{name}.{}-{}", toolkit / 10, toolkit % 10);
    input("newer", &name, arch)
}

fn link_all(objects: &[Vec<u8>], arch: u16, behaviour: Behaviour) -> Outcome {
    let names: Vec<String> = (0..objects.len()).map(|i| format!("{i}.cubin")).collect();
    let inputs = names.iter().zip(objects);
    let inputs: Vec<Input<'_>> = inputs.map(|(name, data)| Input::new(name, data)).collect();
    let mut options = Options::new(Sm::new(arch));
    options.behaviour = behaviour;
    link(&inputs, &options)
}

fn sections(image: &[u8]) -> BTreeMap<String, Vec<u8>> {
    let file = File::parse(image).expect("an image parses");
    let sections = file.sections.iter();
    sections
        .filter(|section| section.name != ".note.nv.tkinfo")
        .map(|section| (section.name.to_owned(), section.data.to_vec()))
        .collect()
}

/// The toolkit that an object or an image names.
fn toolkit_of(data: &[u8]) -> Option<u16> {
    let file = File::parse(data).expect("it parses");
    let note = file.sections.iter().find(|s| s.name == DeviceNote::SECTION);
    let notes = DeviceNote::all(note?.data).expect("a note parses");
    notes.first()?.toolkit()
}

/// An object that says that it comes from another toolkit.
fn made_by(mut object: Vec<u8>, toolkit: u16) -> Vec<u8> {
    let file = File::parse(&object).expect("it parses");
    let note = file.sections.iter().find(|s| s.name == DeviceNote::SECTION);
    let data = note.expect("a note").data;
    let start = data.as_ptr() as usize - object.as_ptr() as usize;
    object[start + 0x1c..][..2].copy_from_slice(&toolkit.to_le_bytes());
    object
}

fn codes(outcome: &Outcome) -> Vec<&str> {
    let messages = outcome.diagnostics.messages().iter();
    messages.map(|message| message.code.as_str()).collect()
}

#[test]
fn they_become_what_their_own_linkers_make() {
    for (toolkit, compared) in TOOLKITS {
        for arch in ARCHS {
            let objects = ["a", "b"].map(|name| newer(name, toolkit, arch));
            let outcome = link_all(&objects, arch, Behaviour::Own);
            assert_eq!(outcome.diagnostics.messages(), [], "{toolkit} sm_{arch}");
            let mut ours = sections(&outcome.image.expect("no message and no image"));
            let mut expected = sections(&newer("linked", toolkit, arch));
            let is_compared = |name: &String| compared.iter().any(|start| name.starts_with(start));
            ours.retain(|name, _| is_compared(name));
            expected.retain(|name, _| is_compared(name));
            assert!(expected.len() > 6, "{toolkit} sm_{arch}");
            let names = |of: &BTreeMap<String, Vec<u8>>| of.keys().cloned().collect::<Vec<_>>();
            assert_eq!(names(&ours), names(&expected), "{toolkit} sm_{arch}");
            for (name, data) in &expected {
                assert!(ours[name] == *data, "{toolkit} sm_{arch}: {name}");
            }
        }
    }
}

#[test]
fn nvlink_refuses_them() {
    let objects = [newer("a", 131, 90), newer("b", 131, 90)];
    let outcome = link_all(&objects, 90, Behaviour::Nvlink);
    assert_eq!(codes(&outcome), ["newer-toolkit", "newer-toolkit"]);
    assert!(outcome.image.is_none());
}

#[test]
fn a_program_names_the_newest_of_its_toolkits() {
    for arch in ARCHS {
        let [old, new] = [input("", "saxpy", arch), newer("b", 135, arch)];
        assert_eq!(toolkit_of(&old), Some(130));
        for objects in [[&old, &new], [&new, &old]] {
            let outcome = link_all(&objects.map(Clone::clone), arch, Behaviour::Own);
            assert_eq!(outcome.diagnostics.messages(), [], "sm_{arch}");
            let image = outcome.image.expect("no message and no image");
            assert_eq!(toolkit_of(&image), Some(135), "sm_{arch}");
        }
    }
}

/// Compilers after 13.0 say what `extern __shared__` variables are aligned to. All of them start at one place: `near`
/// wants 64 and calls what `far` calls, too.
#[test]
fn dynamic_shared_memory_is_aligned() {
    for arch in ARCHS {
        let reserved = 0x400;
        let object = newer("dynamic", 135, arch);
        let check = |image: &[u8]| {
            let file = File::parse(image).expect("it parses");
            let mut shared: Vec<_> = file.sections.iter().collect();
            shared.retain(|section| section.name.starts_with(".nv.shared.") && section.size > 0);
            let mut sizes: Vec<_> = shared.iter().map(|s| (s.name, s.size - reserved)).collect();
            sizes.sort_unstable();
            let expected = [
                (".nv.shared.alone", 0x400),
                (".nv.shared.far", 0x80),
                (".nv.shared.near", 0x80),
            ];
            assert_eq!(sizes, expected, "sm_{arch}");
        };
        let once = link_all(std::slice::from_ref(&object), arch, Behaviour::Own);
        check(&once.image.expect("an image"));
        let mut options = Options::new(Sm::new(arch));
        options.settings.image = ImageKind::Relocatable(EarlyAddresses::Leave);
        let name = "dynamic.cubin";
        let data = &object;
        let joined = link(&[Input::new(name, data)], &options);
        let joined = joined.image.expect("an object");
        let again = link_all(&[joined], arch, Behaviour::Own);
        check(&again.image.expect("an image"));
    }
}

#[test]
fn toolkits_that_nobody_looked_at_are_told_once() {
    let objects = ["a", "b"].map(|name| made_by(newer(name, 135, 90), 139));
    let outcome = link_all(&objects, 90, Behaviour::Own);
    assert_eq!(codes(&outcome), ["newer-toolkit"]);
    assert_eq!(outcome.image.as_deref().and_then(toolkit_of), Some(139));
    let objects = ["a", "b"].map(|name| made_by(newer(name, 135, 90), 140));
    let outcome = link_all(&objects, 90, Behaviour::Own);
    assert_eq!(codes(&outcome), ["newer-toolkit", "newer-toolkit"]);
    assert!(outcome.image.is_none());
}
