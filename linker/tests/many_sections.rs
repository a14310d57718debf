//! Images of the Mercury generation whose section numbers do not fit into
//! symbols. nvlink takes minutes for them, and dies where the number of Mercury
//! code does not fit but those of native sections do.

use std::path::Path;

use rustnvlink::arch::Sm;
use rustnvlink::cubin::{File, SectionType, SymbolType};
use rustnvlink::options::Options;
use rustnvlink::{Input, link};

const NAME: &[u8] = b"empty";

/// The committed kernel under as many names of the same length.
fn kernels(count: usize) -> Vec<Vec<u8>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/inputs/empty.sm_100.cubin");
    let original = std::fs::read(path).expect("a committed input");
    let places: Vec<usize> = (0..original.len() - NAME.len())
        .filter(|&place| original[place..].starts_with(NAME))
        .collect();
    (0..count)
        .map(|number| {
            let mut copy = original.clone();
            for &place in &places {
                copy[place..place + NAME.len()].copy_from_slice(format!("{number:05}").as_bytes());
            }
            copy
        })
        .collect()
}

fn image(count: usize) -> Vec<u8> {
    let objects = kernels(count);
    let inputs: Vec<Input<'_>> = objects
        .iter()
        .map(|data| Input {
            name: "kernel.cubin",
            data,
        })
        .collect();
    let outcome = link(&inputs, &Options::new(Sm::new(100)));
    assert_eq!(outcome.diagnostics.messages(), []);
    outcome.image.expect("no message and no image")
}

/// The words of a table of section numbers, and where it stands.
fn numbers(file: &File<'_>, name: &str) -> (Vec<u32>, usize) {
    let index = file.section_by_name(name).expect(name);
    let section = &file.sections[index];
    assert_eq!(section.kind, SectionType::SYMTAB_SHNDX, "{name}");
    let words = section.data.chunks_exact(4);
    let words = words.map(|word| u32::from_le_bytes(word.try_into().expect("four bytes")));
    (words.collect(), index)
}

/// Every function is found in its code, whatever its number.
fn check_functions(file: &File<'_>, table: &str, code: &str) {
    let index = file.section_by_name(table).expect(table);
    let symbols = file.symbol_table(index).expect("a symbol table");
    let functions = symbols.iter().filter(|s| s.kind == SymbolType::FUNC);
    for function in functions {
        let number = function.place.section().expect("it is defined") as usize;
        let name = format!("{code}{}", function.name);
        assert_eq!(file.sections[number].name, name);
    }
}

#[test]
fn tables_are_added_where_mercury_makes_too_many() {
    let bytes = image(16_400);
    let file = File::parse(&bytes).expect("the image parses");
    check_functions(&file, ".symtab", ".text.");
    check_functions(&file, ".nv.merc.symtab", ".nv.capmerc.text.");
    let (native, place) = numbers(&file, ".symtab_shndx");
    assert!(native.iter().all(|&number| number == 0));
    assert!(file.sections[place - 1].name.starts_with(".text."));
    assert!(file.sections[place + 1].name.starts_with(".nv.constant0."));
    let (mercury, place) = numbers(&file, ".nv.merc.symtab_shndx");
    assert_eq!(mercury.len(), native.len());
    assert_eq!(file.sections[place + 1].name, ".nv.merc.symtab");
}

#[test]
fn few_sections_need_no_tables() {
    let bytes = image(2);
    let file = File::parse(&bytes).expect("the image parses");
    assert_eq!(file.section_by_name(".symtab_shndx"), None);
    assert_eq!(file.section_by_name(".nv.merc.symtab_shndx"), None);
}

#[test]
fn tables_are_made_where_native_sections_are_too_many() {
    let bytes = image(22_000);
    let file = File::parse(&bytes).expect("the image parses");
    check_functions(&file, ".symtab", ".text.");
    check_functions(&file, ".nv.merc.symtab", ".nv.capmerc.text.");
    let (_, place) = numbers(&file, ".symtab_shndx");
    assert_eq!(place, 4);
    let (_, place) = numbers(&file, ".nv.merc.symtab_shndx");
    assert!(
        file.sections[place - 1]
            .name
            .starts_with(".nv.capmerc.text.")
    );
    assert_eq!(file.sections[place + 1].name, ".nv.merc.debug_frame");
}
