//! Constants that fit their bank only in another order.

use rustnvlink::arch::Sm;
use rustnvlink::cubin::File;
use rustnvlink::options::Options;
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
    let build = |text: &&str| rustnvlink_testkit::build(text).unwrap();
    let objects: Vec<Vec<u8>> = texts.iter().map(build).collect();
    let inputs: Vec<Input<'_>> = objects
        .iter()
        .map(|data| Input {
            name: "part.cubin",
            data,
        })
        .collect();
    link(&inputs, &Options::new(Sm::new(90)))
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
