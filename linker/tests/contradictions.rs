//! Damage that leaves all indexes in their ranges, and would become another program.

use std::path::Path;

use rustnvlink::cubin::{File, Symbol};
use rustnvlink::options::{Behaviour, EarlyAddresses, ImageKind, Options};
use rustnvlink::{Input, link};

/// A committed object for a processor of this number.
struct Given {
    name: &'static str,
    sm: u32,
    data: Vec<u8>,
}

impl Given {
    fn read(name: &'static str, sm: u32) -> Self {
        let inputs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/inputs");
        let data = std::fs::read(inputs.join(format!("{name}.sm_{sm}.cubin")));
        let data = data.expect("a committed object");
        Self { name, sm, data }
    }

    fn file(&self) -> File<'_> {
        File::parse(&self.data).expect("a device object")
    }

    /// Where in the file the header of a section is.
    fn header(&self, section: &str) -> usize {
        let file = self.file();
        let index = file.section_by_name(section).expect("a section");
        file.header.sections_offset as usize + index * 64
    }

    /// Where in the file a section is.
    fn section(&self, name: &str) -> usize {
        let file = self.file();
        let index = file.section_by_name(name).expect("a section");
        file.sections[index].offset as usize
    }

    /// A symbol, and where in the file it is.
    fn symbol(&self, name: &str) -> (Symbol<'_>, usize) {
        let file = self.file();
        let index = file.symbols.iter().position(|symbol| symbol.name == name);
        let index = index.expect("a symbol");
        let at = self.section(".symtab") + index * Symbol::SIZE;
        (file.symbols[index], at)
    }

    /// What a relocatable link says of it with `number` at `field`: a place and a size.
    fn linked_with(&self, field: (usize, usize), number: u64, behaviour: Behaviour) -> String {
        let mut data = self.data.clone();
        data[field.0..][..field.1].copy_from_slice(&number.to_le_bytes()[..field.1]);
        let mut options = Options::new(format!("sm_{}", self.sm).parse().expect("a processor"));
        options.behaviour = behaviour;
        options.settings.image = ImageKind::Relocatable(EarlyAddresses::Leave);
        let outcome = link(&[Input::new(self.name, &data)], &options);
        assert_ne!(outcome.image.is_some(), outcome.diagnostics.has_errors());
        outcome
            .diagnostics
            .errors()
            .map(|error| error.shown())
            .collect()
    }

    #[track_caller]
    fn is_refused_with(&self, field: (usize, usize), number: u64, place: &str, problem: &str) {
        let said = self.linked_with(field, number, Behaviour::Own);
        let start = format!("{}, {place}", self.name);
        assert!(said.contains(&start) && said.contains(problem), "{said}");
    }
}

/// No index leaves its range, and each would become another program.
#[test]
fn sections_that_contradict_their_names_or_others_are_refused() {
    const TYPE: (usize, usize) = (4, 4);
    const FLAGS: (usize, usize) = (8, 8);
    const OFFSET: (usize, usize) = (24, 8);
    const INFO: (usize, usize) = (44, 4);
    for (sm, section, field, number, problem) in [
        (90, ".text.saxpy", TYPE, 8, "its type is NOBITS, which"),
        (
            90,
            ".text.saxpy",
            FLAGS,
            2,
            "disagree on whether it is code",
        ),
        (
            90,
            ".text.saxpy",
            INFO,
            0x0800_0000,
            "symbol 0, which it names",
        ),
        (
            90,
            ".nv.constant0.saxpy",
            TYPE,
            0x7000_0067,
            "CUDA_CONSTANT3",
        ),
        (
            90,
            ".nv.constant0.saxpy",
            INFO,
            9,
            "belongs to .nv.info.saxpy",
        ),
        (90, ".rela.debug_frame", INFO, 12, "belongs to .text.saxpy"),
        (
            90,
            ".debug_frame",
            OFFSET,
            8,
            "at 0x8 are headers of the file",
        ),
        (90, ".rela.debug_frame", OFFSET, 0x700, "those of"),
        (100, ".nv.capmerc.text.saxpy", FLAGS, 0, "Mercury code"),
        (
            100,
            ".nv.capmerc.text.saxpy",
            TYPE,
            1,
            "its type is PROGBITS",
        ),
        (100, ".nv.merc.rela.debug_frame", OFFSET, 0xe94, "those of"),
        (100, ".nv.info.saxpy", INFO, 99, "section 99 does not exist"),
    ] {
        let given = Given::read("saxpy", sm);
        assert_eq!(given.linked_with((0, 1), 0x7f, Behaviour::Own), "");
        let at = given.header(section) + field.0;
        given.is_refused_with((at, field.1), number, "section ", problem);
    }
}

/// Fields that neither type nor name are.
#[test]
fn headers_that_no_section_of_their_type_has_are_refused() {
    const FLAGS: (usize, usize) = (8, 8);
    const ADDRESS: (usize, usize) = (16, 8);
    const LINK: (usize, usize) = (40, 4);
    const INFO: (usize, usize) = (44, 4);
    const ALIGN: (usize, usize) = (48, 8);
    const ENTRY_SIZE: (usize, usize) = (56, 8);
    for (name, sm, section, field, number, problem) in [
        (
            "caller",
            75,
            ".rel.text.caller",
            ENTRY_SIZE,
            24,
            "0x18 bytes instead of 0x10",
        ),
        (
            "caller",
            90,
            ".rela.text.caller",
            LINK,
            2,
            "it is linked to .strtab, as none",
        ),
        (
            "caller",
            75,
            ".text.caller",
            INFO,
            0x2000_000e,
            "counts 32 registers instead of",
        ),
        (
            "caller",
            90,
            ".text.caller",
            INFO,
            0x2000_0016,
            "counts 32 registers instead of 0",
        ),
        (
            "caller",
            90,
            ".text.caller",
            ALIGN,
            16,
            "aligned to 0x10 bytes instead of 0x80",
        ),
        (
            "caller",
            90,
            ".text.caller",
            FLAGS,
            7,
            "its flags are WRITE ALLOC EXECINSTR, which",
        ),
        (
            "caller",
            90,
            ".nv.global",
            FLAGS,
            2,
            "its flags are ALLOC, which no section",
        ),
        (
            "caller",
            90,
            ".nv.global",
            ADDRESS,
            64,
            "it is said to be at 0x40 before",
        ),
        (
            "caller",
            90,
            ".nv.global",
            INFO,
            1,
            "it belongs to section 1, as none of this type",
        ),
        (
            "caller",
            90,
            ".nv.constant3",
            INFO,
            12,
            "which is not what it is named for",
        ),
        (
            "caller",
            90,
            ".note.nv.cuinfo",
            INFO,
            9,
            "which is not what it is named for",
        ),
        (
            "caller",
            90,
            ".note.nv.cuinfo",
            LINK,
            3,
            "it is linked to .symtab, as none",
        ),
        (
            "caller",
            100,
            ".nv.capmerc.text.caller",
            LINK,
            3,
            "it is linked to .symtab, as none",
        ),
        (
            "caller",
            100,
            ".nv.capmerc.text.caller",
            ALIGN,
            8,
            "0x8 bytes instead of 0x10",
        ),
        (
            "caller",
            100,
            ".nv.constant0.caller",
            FLAGS,
            2,
            "no flag says that it belongs to",
        ),
        (
            "saxpy",
            100,
            ".nv.info.saxpy",
            INFO,
            14,
            "belongs to .nv.capmerc.text.saxpy, which",
        ),
        (
            "saxpy",
            100,
            ".nv.info.saxpy",
            INFO,
            18,
            "belongs to .nv.merc.rela.debug_frame, which",
        ),
        (
            "saxpy",
            100,
            ".nv.merc.debug_frame",
            ENTRY_SIZE,
            1,
            "0x1 bytes instead of 0x0",
        ),
    ] {
        let given = Given::read(name, sm);
        let at = given.header(section) + field.0;
        given.is_refused_with(
            (at, field.1),
            number,
            &format!("section {section}"),
            problem,
        );
    }
}

/// Each header is a good one, and stands where another is meant. What nothing names by its number may stand anywhere.
#[test]
fn headers_in_the_place_of_others_are_refused() {
    for sm in [75, 90, 100] {
        let given = Given::read("caller", sm);
        let names: Vec<&str> = given.file().sections.iter().map(|s| s.name).collect();
        let is_named = |name: &str| {
            ![".rel", ".nv.info", ".nv.merc.rel", ".nv.merc.nv.info"]
                .iter()
                .any(|start| name.starts_with(start))
        };
        let mut refused = 0;
        for (one, name) in names.iter().enumerate().skip(1) {
            for (other, other_name) in names.iter().enumerate().skip(one + 1) {
                let (mut swapped, table) = (
                    Given::read("caller", sm),
                    given.file().header.sections_offset as usize,
                );
                let (before, after) = swapped.data.split_at_mut(table + other * 64);
                before[table + one * 64..][..64].swap_with_slice(&mut after[..64]);
                let said = swapped.linked_with((0, 1), 0x7f, Behaviour::Own);
                let matters = is_named(name) || is_named(other_name);
                assert_eq!(
                    said.contains("[bad-input]"),
                    matters,
                    "{name} and {other_name}: {said}"
                );
                refused += usize::from(matters);
            }
        }
        assert!(refused > 100, "{refused}");
    }
}

/// Where a field of a symbol is, and its size.
const NAME: (usize, usize) = (0, 4);
const OTHER: (usize, usize) = (5, 1);
const PLACE: (usize, usize) = (6, 2);
const VALUE: (usize, usize) = (8, 8);
const SIZE: (usize, usize) = (16, 8);

#[test]
fn symbols_that_contradict_their_sections_or_others_are_refused() {
    let check = |given: &Given, symbol: &str, field: (usize, usize), number: u64, problem: &str| {
        let (_, at) = given.symbol(symbol);
        given.is_refused_with((at + field.0, field.1), number, "section ", problem);
    };
    let kernel = Given::read("caller", 90);
    let all = "it is not all of the code that it names";
    check(&kernel, "caller", VALUE, 16, all);
    check(&kernel, "caller", SIZE, 16, all);
    check(
        &kernel,
        "caller",
        OTHER,
        0,
        "it has a bank of parameters, and is no kernel",
    );
    check(
        &kernel,
        "weights",
        VALUE,
        0x1000,
        "it ends at 0x1010, behind the 0x10 bytes there are",
    );
    let (_, at) = kernel.symbol(".debug_frame");
    let moved = "section .note.nv.tkinfo, symbol .debug_frame";
    kernel.is_refused_with(
        (at + PLACE.0, PLACE.1),
        5,
        moved,
        "it is named for another section",
    );
    let elsewhere = "it lies in another kind of memory than it says";
    check(&kernel, "calls", OTHER, 0x40, elsewhere);
    check(&kernel, "weights", OTHER, 0x20, elsewhere);
    let (calls, _) = kernel.symbol("calls");
    let data = u64::from(calls.place.section().expect("a section"));
    let no_code = "it is a function, and lies where no code is";
    check(&kernel, "_Z6calleefi", PLACE, data, no_code);
    let part = "it names a part of a section, and not all of it";
    check(&kernel, ".debug_frame", VALUE, 8, part);
    let (called, _) = kernel.symbol("_Z6calleefi");
    let name = u64::from(called.name_offset);
    check(
        &kernel,
        "caller",
        NAME,
        name,
        "has the name of another function",
    );
    let (_, at) = kernel.symbol("__UFT");
    let twice = "two symbols of the file have its name";
    kernel.is_refused_with((at, 4), name, "symbol _Z6calleefi", twice);

    let function = Given::read("callee", 90);
    let (_, at) = function.symbol("_Z6calleefi");
    let place = "section .text._Z6calleefi, symbol _Z6calleefi";
    function.is_refused_with(
        (at + OTHER.0, 1),
        0x10,
        place,
        "it is a kernel, and has no bank of parameters",
    );

    let constants = Given::read("newer/b.13-5", 90);
    let names: Vec<&str> = constants
        .file()
        .symbols
        .iter()
        .map(|symbol| symbol.name)
        .collect();
    let name = *names
        .iter()
        .find(|name| name.contains(".const_opt."))
        .expect("a constant");
    let (symbol, _) = constants.symbol(name);
    let problem = format!(
        "and by its name at {:#x} to {:#x}",
        symbol.value,
        symbol.value + symbol.size
    );
    check(&constants, name, VALUE, symbol.value + 8, &problem);
    check(&constants, name, SIZE, symbol.size - 4, &problem);
}

/// nvlink drops what names no symbol.
#[test]
fn relocations_of_what_is_not_there_are_refused() {
    const OFFSET: (usize, usize) = (0, 8);
    const SYMBOL: (usize, usize) = (12, 4);
    for sm in [75, 90, 100] {
        let given = Given::read("caller", sm);
        let (list, code) = match sm {
            75 => (".rel.text.caller", ".text.caller"),
            90 => (".rela.text.caller", ".text.caller"),
            _ => (".nv.merc.rela.text.caller", ".nv.capmerc.text.caller"),
        };
        let at = given.section(list);
        let place = format!("section {code}, offset 0x");
        let field = (at + SYMBOL.0, SYMBOL.1);
        given.is_refused_with(field, 0, &place, "it names no symbol");
        let field = (at + OFFSET.0, OFFSET.1);
        given.is_refused_with(field, 1 << 32, &place, "it lies outside of the ");
        // Also where it names none.
        let mut nameless = Given::read("caller", sm);
        nameless.data[at + SYMBOL.0..][..SYMBOL.1].fill(0);
        nameless.is_refused_with(field, 1 << 32, &place, "it lies outside of the ");
    }
    let given = Given::read("caller", 90);
    let symbols = given.file().symbols;
    let note = symbols
        .iter()
        .position(|symbol| symbol.name == ".note.nv.tkinfo");
    let field = (given.section(".rela.debug_frame") + SYMBOL.0, SYMBOL.1);
    let problem = "it names .note.nv.tkinfo, which has no address";
    let place = "section .debug_frame, offset 0x";
    given.is_refused_with(field, note.expect("a symbol") as u64, place, problem);
}

/// What nvlink takes, a link like its own takes, too.
#[test]
fn contradictions_are_of_no_matter_where_all_is_as_with_nvlink() {
    let given = Given::read("caller", 90);
    let (_, at) = given.symbol(".debug_frame");
    let said = given.linked_with((at + VALUE.0, VALUE.1), 8, Behaviour::Nvlink);
    assert_eq!(said, "");
}

/// Images would hold what no tool can read.
#[test]
fn what_tools_say_of_themselves_has_to_be_in_the_note() {
    const OWNER: usize = 12 + 12;
    let given = Given::read("caller", 90);
    let at = given.section(".note.nv.tkinfo") + OWNER + 3 * 4;
    let place = "section .note.nv.tkinfo, offset 0xc";
    let problem = "string 3 of a tool note at 0x1000 is no string";
    given.is_refused_with((at, 4), 0x1000, place, problem);
    // Names of files need not be text.
    let tool = given.section(".note.nv.tkinfo") + OWNER + 6 * 4 + 1;
    assert_eq!(given.linked_with((tool, 1), 0xff, Behaviour::Own), "");
}

/// The last link could not tell.
#[test]
fn relocatable_links_ask_for_registers() {
    let given = Given::read("callee", 90);
    let at = given.section(".nv.info");
    let word =
        |at: usize| u32::from_le_bytes(given.data[at..][..4].try_into().expect("four bytes"));
    const REGISTERS: u32 = 0x0008_2f04;
    assert_eq!(word(at), REGISTERS);
    // A record of another kind, which says nothing of registers.
    let said = given.linked_with((at + 1, 1), 0x11, Behaviour::Own);
    assert!(
        said.contains("'callee' has none for callee(float, int) [no-register-count]"),
        "{said}"
    );
}
