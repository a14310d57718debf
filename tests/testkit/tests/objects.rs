//! Texts to objects, read back with the linker's own reader.

use rustnvlink::cubin::{
    Attribute, Binding, CallGraph, Content, Cubin, Edge, File, InfoCode, InfoRecords, Place,
    Relocation, SectionFlags, Signature, SymbolOther, SymbolType,
};

const PAIR: &str = "
target sm_90
entry kernel
    registers 24
    parameters 8 4 8
    shared tile 256 align 16
    call helper at 0x20
    relocation 0x40 R_CUDA_ABS16_32 factor + 4
    relocation 0x60 R_CUDA_ABS32_32 tile
function helper #iii weak
    bytes 01 02 03 04
    frame 16
    address-of kernel
    indirect-call #ii
extern function outside #v
constant factor 8
    words 7 8
global counter 4 align 8
global table 8 local
    relocation 0 R_CUDA_64 helper
common pool 64 align 32
shared staged 32 align 8
";

fn check<T>(text: &str, look: impl FnOnce(File<'_>) -> T) -> T {
    let bytes = rustnvlink_testkit::build(text).unwrap();
    let cubin = Cubin::parse(&bytes).unwrap();
    assert_eq!(cubin.unexplained, []);
    assert_eq!(cubin.encode().unwrap(), bytes);
    for section in &cubin.sections {
        let aligned = section.offset.is_multiple_of(section.align.max(1));
        assert!(aligned, "{}", section.name);
    }
    look(File::parse(&bytes).unwrap())
}

fn number_of(file: &File<'_>, symbol: &str) -> u32 {
    file.symbols.iter().position(|s| s.name == symbol).unwrap() as u32
}

fn error(text: &str) -> String {
    rustnvlink_testkit::build(text).unwrap_err().to_string()
}

#[test]
fn symbols_have_their_space_and_place() {
    check(PAIR, |file| {
        let symbol = |name: &str| file.symbols[number_of(&file, name) as usize];
        let section = |name| Place::Section(file.section_by_name(name).unwrap() as u32);
        let kernel = symbol("kernel");
        assert_eq!(kernel.kind, SymbolType::FUNC);
        assert_eq!(kernel.other, SymbolOther(SymbolOther::ENTRY));
        assert_eq!((kernel.place, kernel.size), (section(".text.kernel"), 0x80));
        assert_eq!(symbol("helper").binding, Binding::WEAK);
        assert_eq!(symbol("outside").place, Place::Undefined);
        assert_eq!(symbol("counter").place, section(".nv.global"));
        assert_eq!(symbol("table").place, section(".nv.global.init"));
        assert_eq!(symbol("table").binding, Binding::LOCAL);
        assert_eq!(
            (symbol("pool").place, symbol("pool").value),
            (Place::Common, 32)
        );
        assert_eq!(
            (symbol("tile").place, symbol("tile").value),
            (section(".nv.shared.kernel"), 16)
        );
        assert_eq!(symbol("staged").place, section(".nv_debug.shared"));
        let symtab = &file.sections[3];
        let globals = &file.symbols[symtab.info as usize..];
        assert!(globals.iter().all(|s| s.binding != Binding::LOCAL));
        assert_eq!(
            file.symbols[symtab.info as usize - 1].binding,
            Binding::LOCAL
        );
    });
}

#[test]
fn data_keeps_its_bytes() {
    check(PAIR, |file| {
        let data = |name| file.sections[file.section_by_name(name).unwrap()].data;
        assert_eq!(data(".nv.constant3"), [7, 0, 0, 0, 8, 0, 0, 0]);
        assert_eq!(data(".nv.global.init"), [0; 8]);
        assert_eq!(data(".text.helper"), [1, 2, 3, 4]);
        assert_eq!(data(".nv.constant0.kernel").len(), 0x210 + 24);
    });
}

#[test]
fn relocations_are_reversed_and_named() {
    check(PAIR, |file| {
        let section = &file.sections[file.section_by_name(".rela.text.kernel").unwrap()];
        assert_eq!(file.sections[section.info as usize].name, ".text.kernel");
        let relocation = |offset, symbol: &str, kind, addend| Relocation {
            offset,
            symbol: number_of(&file, symbol),
            kind,
            addend: Some(addend),
        };
        assert_eq!(
            File::relocations(section).unwrap().collect::<Vec<_>>(),
            [
                relocation(0x60, "tile", 55, 0),
                relocation(0x40, "factor", 59, 4),
                relocation(0x20, "helper", 75, 0),
            ]
        );
        assert!(file.section_by_name(".rela.nv.global.init").is_some());
    });
}

#[test]
fn older_processors_keep_relocations_without_addend_apart() {
    check(&PAIR.replace("sm_90", "sm_80"), |file| {
        let count = |name| {
            let section = &file.sections[file.section_by_name(name).unwrap()];
            File::relocations(section).unwrap().len()
        };
        assert_eq!(
            (count(".rel.text.kernel"), count(".rela.text.kernel")),
            (2, 1)
        );
        assert!(file.section_by_name(".nv.compat").is_none());
        let text = &file.sections[file.section_by_name(".text.kernel").unwrap()];
        assert_eq!(text.info, 24 << 24 | number_of(&file, "kernel"));
    });
}

#[test]
fn metadata_follows_from_the_functions() {
    check(PAIR, |file| {
        let data = |name| file.sections[file.section_by_name(name).unwrap()].data;
        let (kernel, helper) = (number_of(&file, "kernel"), number_of(&file, "helper"));
        let text = |offset| file.sections[2].string_at(offset).unwrap();
        let graph = CallGraph::parse(data(".nv.callgraph")).unwrap();
        assert_eq!(
            graph.calls,
            [Edge {
                from: kernel,
                to: helper
            }]
        );
        assert_eq!(
            graph.address_references,
            [Edge {
                from: helper,
                to: kernel
            }]
        );
        let [
            Signature {
                function,
                prototype,
            },
        ] = graph.indirect_calls[..]
        else {
            panic!("{graph:?}");
        };
        assert_eq!((function, text(prototype)), (helper, "#ii"));
        let records: Vec<_> = InfoRecords::new(data(".nv.info.kernel"))
            .map(Result::unwrap)
            .collect();
        let of = |code| records.iter().filter(move |r| r.code == code);
        assert_eq!(of(InfoCode::KPARAM_INFO).count(), 3);
        assert_eq!(
            Attribute::decode(of(InfoCode::PARAM_CBANK).next().unwrap()),
            Attribute::ParameterBank {
                bank: number_of(&file, ".nv.constant0.kernel"),
                offset: 0x210,
                size: 24,
            }
        );
    });
}

#[test]
fn any_section_and_symbol_can_be_declared() {
    let text = "
target sm_75
section .debug_frame PROGBITS
    bytes de ad
    zeros 2
    relocation 0 R_CUDA_UNUSED_CLEAR64 mark
section .nv.odd 0x70000042 flags 0x40 align 8 entry-size 16 link .symtab info .debug_frame
symbol mark function weak other 0x10 in .debug_frame value 2 size 1
symbol image texture
";
    check(text, |file| {
        let odd = &file.sections[file.section_by_name(".nv.odd").unwrap()];
        assert_eq!(
            (odd.kind.0, odd.flags, odd.entry_size, odd.link),
            (0x7000_0042, SectionFlags::INFO_LINK, 16, 3)
        );
        assert_eq!(file.sections[odd.info as usize].data, [0xde, 0xad, 0, 0]);
        let mark = file.symbols[number_of(&file, "mark") as usize];
        assert_eq!((mark.binding, mark.value, mark.size), (Binding::WEAK, 2, 1));
        assert_eq!(
            file.symbols[number_of(&file, "image") as usize].kind,
            SymbolType::TEXTURE
        );
    });
}

#[test]
fn extra_info_records() {
    let text = "
target sm_90
entry k
    info NUM_BARRIERS byte 3
    info EIATTR_CTAIDZ_USED
    info 0x60 words 1 2
";
    let bytes = rustnvlink_testkit::build(text).unwrap();
    let cubin = Cubin::parse(&bytes).unwrap();
    let Content::Info(records) = &cubin.section_by_name(".nv.info.k").unwrap().content else {
        panic!("info records");
    };
    let number = |code| records.iter().find(|r| r.code == code).unwrap().number();
    assert_eq!(number(InfoCode::NUM_BARRIERS), 3);
    assert_eq!(number(InfoCode::CTAIDZ_USED), 0);
    assert_eq!(number(InfoCode(0x60)), 8);
}

#[test]
fn mistakes_name_their_line() {
    assert_eq!(error(""), "the text has no target line");
    assert_eq!(
        error("target sm_100"),
        "sm_100 is not a target between sm_75 and sm_90a"
    );
    assert_eq!(
        error("target sm_9x"),
        "line 1: 'sm_9x' is not a processor name such as sm_90 or sm_100a"
    );
    assert_eq!(
        error("  code 4"),
        "line 1: an indented line belongs to nothing"
    );
    assert_eq!(error("entry"), "line 1: name is missing");
    assert_eq!(error("\nentry k odd"), "line 2: 'odd' is not weak or local");
    assert_eq!(error("global g x"), "line 1: size 'x' is not a number");
    assert_eq!(
        error("global g 4 align 3"),
        "line 1: alignment 3 is not a power of two"
    );
    assert_eq!(
        error("entry k\n code 1 2"),
        "line 2: '2' is not expected here"
    );
    assert_eq!(
        error("entry k\n code 0xffffffff"),
        "line 2: with size 0xffffffff the object exceeds 0x1000000 bytes"
    );
    assert_eq!(
        error("target sm_90\nentry k\n relocation 0 R_CUDA_64 nowhere"),
        "line 3: nowhere is not declared"
    );
    assert_eq!(
        error("target sm_90\nentry k\nentry k"),
        ".text.k is declared twice"
    );
    assert_eq!(
        error("target sm_90\nsymbol s object in .none"),
        "line 2: section .none of s is not declared"
    );
    assert_eq!(
        error("target sm_90\nsection .s PROGBITS link .none"),
        "line 2: section .none is not declared"
    );
}
