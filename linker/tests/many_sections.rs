//! Images and objects whose section numbers do not fit into symbols. nvlink takes
//! minutes for those of the Mercury generation, and dies where the number of Mercury
//! code does not fit but those of native sections do.

use std::path::Path;

use rustnvlink::arch::Sm;
use rustnvlink::cubin::{Cubin, File, Place, SectionType, Symbol, SymbolType};
use rustnvlink::options::{EarlyAddresses, ImageKind, Options, ReservedNumbers};
use rustnvlink::{Input, link};

const NAME: &[u8] = b"empty";

/// The committed kernel under as many names of the same length.
fn kernels(target: Sm, count: usize) -> Vec<Vec<u8>> {
    let inputs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/inputs");
    let path = inputs.join(format!("empty.{target}.cubin"));
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
    let target = Sm::new(100);
    linked(&kernels(target, count), &Options::new(target))
}

/// Links as nvlink does.
fn options_of_nvlink(target: Sm, image: ImageKind) -> Options {
    let mut options = Options::new(target);
    options.settings.image = image;
    options.settings.reserved_numbers = ReservedNumbers::Bare;
    options
}

const RELOCATABLE: ImageKind = ImageKind::Relocatable(EarlyAddresses::Fill);

fn linked(objects: &[Vec<u8>], options: &Options) -> Vec<u8> {
    let inputs: Vec<Input<'_>> = objects
        .iter()
        .map(|data| Input::new("kernel.cubin", data))
        .collect();
    let outcome = link(&inputs, options);
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

/// What the entry of a symbol says of its section, and the word for it in the table.
fn as_written(file: &File<'_>, table: &str, numbers_table: &str, name: &str) -> (u16, u32) {
    let index = file.section_by_name(table).expect(table);
    let symbols = file.symbol_table(index).expect("a symbol table");
    let symbol = symbols.iter().position(|s| s.name == name).expect(name);
    let entry = &file.sections[index].data[symbol * Symbol::SIZE..];
    let number = u16::from_le_bytes([entry[6], entry[7]]);
    (number, numbers(file, numbers_table).0[symbol])
}

/// The parameter banks, each with its symbol in it.
fn check_banks(file: &File<'_>, count: usize) {
    let banks = file.sections.iter();
    let banks = banks.filter(|s| s.name.starts_with(".nv.constant0."));
    assert_eq!(banks.count(), count);
    let symbols = file.symbols.iter();
    let symbols = symbols.filter(|s| s.name.starts_with(".nv.constant0."));
    let mut named = 0;
    for symbol in symbols {
        let number = symbol.place.section().expect("it is defined") as usize;
        assert_eq!(file.sections[number].name, symbol.name);
        named += 1;
    }
    assert_eq!(named, count);
}

#[test]
fn a_bank_that_is_the_first_whose_number_does_not_fit_is_found() {
    const COUNT: usize = 22_000;
    let target = Sm::new(100);
    let objects = kernels(target, COUNT);
    let object = linked(&objects, &options_of_nvlink(target, RELOCATABLE));
    let file = File::parse(&object).expect("the object parses");
    let bank = file.sections[0xff00].name;
    assert_eq!(bank, ".nv.constant0.21268");
    let written = |name| as_written(&file, ".symtab", ".symtab_shndx", name);
    assert_eq!(written(bank), (0xff00, 0));
    assert_eq!(written(".nv.constant0.21269"), (0xffff, 0xff01));
    check_banks(&file, COUNT);
    // Its table says what nvlink's does of sections that it made: their numbers then.
    assert_eq!(written(".text.00000").1, 9);
    assert_eq!(written(".text.00001").1, 16);
    assert_eq!(written(".nv.callgraph").1, 66_013);

    let again = linked(
        std::slice::from_ref(&object),
        &options_of_nvlink(target, RELOCATABLE),
    );
    let file = File::parse(&again).expect("the object parses");
    check_banks(&file, COUNT);

    let cubin = Cubin::parse(&object).expect("the object parses");
    assert!(cubin.encode().expect("it has room") == object);
}

#[test]
fn code_with_the_number_of_tentative_definitions_is_found() {
    const COUNT: usize = 23_000;
    let target = Sm::new(90);
    let objects = kernels(target, COUNT);
    let object = linked(&objects, &options_of_nvlink(target, RELOCATABLE));
    let file = File::parse(&object).expect("the object parses");
    let code = file.sections[0xfff2].name;
    let kernel = code.strip_prefix(".text.").expect("it is code");
    let written = |name| as_written(&file, ".symtab", ".symtab_shndx", name);
    let (number, made_as) = written(code);
    assert_eq!(number, 0xfff2);
    assert_eq!(written(kernel), (number, made_as));
    assert!(made_as > 0xffff);
    assert_eq!(written(".text.00000").1, 9);
    check_functions(&file, ".symtab", ".text.");

    // ELF means the same by what others write.
    let plain = linked(&objects, &Options::new(target));
    let file = File::parse(&plain).expect("the image parses");
    let code = file.sections[0xfff2].name;
    let (number, word) = as_written(&file, ".symtab", ".symtab_shndx", code);
    assert_eq!((number, word), (0xffff, 0xfff2));
    check_functions(&file, ".symtab", ".text.");

    // Of few sections, none has that number.
    let mut small = objects[0].clone();
    let entry = entry_of(&small, "00000");
    small[entry + 6..][..2].copy_from_slice(&0xfff2_u16.to_le_bytes());
    let file = File::parse(&small).expect("the object parses");
    let kernel = file.symbols.iter().find(|s| s.name == "00000");
    assert_eq!(kernel.map(|s| s.place), Some(Place::Common));
}

#[test]
fn mercury_code_is_found_where_its_symbols_have_the_native_number() {
    const COUNT: usize = 33_000;
    let target = Sm::new(100);
    let options = options_of_nvlink(target, RELOCATABLE);
    let object = linked(&kernels(target, COUNT), &options);
    let file = File::parse(&object).expect("the object parses");
    let code = file.sections[0xfff2].name;
    let mercury = |name| as_written(&file, ".nv.merc.symtab", ".nv.merc.symtab_shndx", name);
    let native = |name| as_written(&file, ".symtab", ".symtab_shndx", name);
    assert_eq!(native(code).0, 0xfff2);
    assert_eq!(mercury(code), native(code));
    let again = linked(std::slice::from_ref(&object), &options);
    let file = File::parse(&again).expect("the object parses");
    check_functions(&file, ".symtab", ".text.");
}

/// Where the entry of a symbol stands in the file.
fn entry_of(object: &[u8], name: &str) -> usize {
    let file = File::parse(object).expect("the object parses");
    let table = file.section_by_name(".symtab").expect("a symbol table");
    let symbol = file.symbols.iter().position(|s| s.name == name);
    file.sections[table].offset as usize + symbol.expect(name) * Symbol::SIZE
}
