//! Constants that fit their bank only in another order, and those that the compiler names.

use rustnvlink::arch::Sm;
use rustnvlink::cubin::File;
use rustnvlink::options::{Behaviour, Options};
use rustnvlink::{Input, Outcome, link};

const LARGE: &str = "
target sm_90
entry reader
    parameters 8
    relocation 0x40 R_CUDA_ABS16_32 odd
constant large 60000 align 8
    words 1
constant odd 3
    bytes 01 02 03
";

fn link_texts(texts: &[&str]) -> Outcome {
    link_texts_as(texts, Behaviour::Own)
}

fn link_texts_as(texts: &[&str], behaviour: Behaviour) -> Outcome {
    let build = |text: &&str| rustnvlink_testkit::build(text).unwrap();
    let objects: Vec<Vec<u8>> = texts.iter().map(build).collect();
    let inputs: Vec<Input<'_>> = objects
        .iter()
        .map(|data| Input::new("part.cubin", data))
        .collect();
    let mut options = Options::new(Sm::new(90));
    options.behaviour = behaviour;
    link(&inputs, &options)
}

#[test]
fn every_variable_keeps_its_alignment() {
    let aligned = "
target sm_90
constant aligned 12 align 8192
    words 12
constant word 4 align 4
    words 4
";
    let outcome = link_texts(&[LARGE, aligned]);
    assert_eq!(outcome.diagnostics.messages(), []);
    let image = outcome.image.expect("no message and no image");
    let file = File::parse(&image).expect("an image parses");
    let bank = &file.sections[file.section_by_name(".nv.constant3").expect("a bank")];
    assert_eq!(bank.align, 8192);
    for (name, align, first) in [
        ("large", 8, 1),
        ("odd", 1, 1),
        ("aligned", 8192, 12),
        ("word", 4, 4),
    ] {
        let symbol = file.symbols.iter().find(|s| s.name == name).expect(name);
        assert_eq!(symbol.value % align, 0, "{name}");
        assert_eq!(bank.data[symbol.value as usize], first, "{name}");
    }
}

#[test]
fn what_is_too_much_has_names() {
    let outcome = link_texts(&[LARGE, "target sm_90\nconstant more 6000\n"]);
    assert!(outcome.image.is_none());
    let message = &outcome.diagnostics.messages()[0];
    assert_eq!(message.code, "too-much-constant");
    assert_eq!(message.notes[0], "60000 bytes: 'large' in 'part.cubin'");
    assert_eq!(message.notes.len(), 3);
}

/// More than any machine has, by what a symbol says of its size.
#[test]
fn what_is_too_much_takes_no_memory() {
    let claims = "
target sm_90
constant more 6000
symbol far 13 other 0x80 in .nv.constant3 size 0x8000000000
";
    for behaviour in [Behaviour::Own, Behaviour::Nvlink] {
        let outcome = link_texts_as(&[LARGE, claims], behaviour);
        assert!(outcome.image.is_none());
        let messages = outcome.diagnostics.messages();
        assert_eq!(messages.len(), 1);
        assert_eq!(messages[0].code, "too-much-constant");
    }
}

/// The compiler numbers values through each file, so that one name may stand for different ones.
#[test]
fn values_of_an_inline_function_stay_those_of_their_file() {
    let part = |kernel: &str, value: u32| {
        format!(
            "
target sm_90
entry {kernel}
    relocation 0x20 R_CUDA_ABS32_LO_32 _Z4nodei$4
global _Z4nodei$4 4 weak
    words {value}
"
        )
    };
    let outcome = link_texts(&[&part("one", 1), &part("two", 2), &part("same", 1)]);
    assert_eq!(outcome.diagnostics.messages(), []);
    let image = outcome.image.expect("no message and no image");
    let file = File::parse(&image).expect("an image parses");
    let data = &file.sections[file.section_by_name(".nv.global.init").expect("data")];
    for (kernel, value) in [("one", 1), ("two", 2), ("same", 1)] {
        let section = ["rel", "rela"]
            .iter()
            .find_map(|kind| file.section_by_name(&format!(".{kind}.text.{kernel}")))
            .expect(kernel);
        let mut relocations = File::relocations(&file.sections[section]).expect(kernel);
        let relocation = relocations.next().expect(kernel);
        let symbol = &file.symbols[relocation.symbol as usize];
        assert_eq!(symbol.name, "_Z4nodei$4");
        assert_eq!(data.data[symbol.value as usize], value, "{kernel}");
    }
}
