//! The plan of an image before the Mercury generation.

use crate::arch::reserved;
use crate::cubin::{PROGRAM_HEADER, Place, Symbol as FileSymbol, SymbolOther, SymbolType};
use crate::finalize::Finalized;
use crate::id::{FunctionId, IdVec, PrototypeId, SectionId, SymbolId};
use crate::merge::{Definition, Merged, Section, SectionKind};
use crate::name_table::NameTable;
use crate::options::ImageKind;
use crate::parallel;
use crate::relocate::Patched;

use super::encode;
use super::image::{Body, FileKind, Load, Plan, SegmentKind, Segments};
use super::numbering::{Presence, SymbolNumbers};
use super::sections::{
    Generation, SectionNumbers, Sections, USUAL, file_flags, number_made_or_known, symbol_sections,
};

const READ_EXECUTE: u32 = 5;
const READ_WRITE: u32 = 6;
const LOADS: &[Load] = &[
    Load {
        kinds: &[SegmentKind::Constants, SegmentKind::Code],
        flags: READ_EXECUTE,
    },
    Load {
        kinds: &[SegmentKind::Data],
        flags: READ_WRITE,
    },
];

/// `.strtab`, and where it has the name of each symbol.
pub(super) struct SymbolNames {
    pub(super) table: NameTable,
    offsets: IdVec<SymbolId, u32>,
}

/// Signatures, then the names of every live symbol. What stood inside a kernel that is gone leaves its name (case
/// `whole_program_unbounded`).
pub(super) fn symbol_names(finalized: &Finalized<'_>) -> SymbolNames {
    let pruned = finalized.pruned();
    let merged = &pruned.merged;
    let mut table = NameTable::with_room(merged.prototypes.len() + merged.symbols.listed().count());
    let mut offsets = merged.symbols.each(0);
    for signature in merged.prototypes.iter() {
        table.add(signature);
    }
    for symbol in merged.symbols.listed() {
        if pruned.live.symbols[symbol] || merged.surrounding(symbol).is_some() {
            let name = merged.symbols[symbol].name;
            offsets[symbol] = match name.is_empty() {
                true => table.offset(name),
                false => table.add(name),
            };
        }
    }
    SymbolNames { table, offsets }
}

/// `.shstrtab`, and where it has the name of each section.
struct SectionNames {
    table: NameTable,
    offsets: IdVec<SectionId, u32>,
}

/// The names of every live section.
fn section_names(finalized: &Finalized<'_>) -> SectionNames {
    let pruned = finalized.pruned();
    let sections = &pruned.merged.sections;
    let mut table = NameTable::with_room(sections.len());
    let mut offsets = sections.each(0);
    for (id, section) in sections.enumerate() {
        if pruned.live.sections[id] {
            offsets[id] = table.add(section.name);
        }
    }
    SectionNames { table, offsets }
}

/// Plans the image.
pub(super) fn plan<'f>(finalized: &'f Finalized<'f>, tool_record: &[u8]) -> Plan<'f> {
    let pruned = finalized.pruned();
    let merged = &pruned.merged;
    let numbers = || {
        let presence = Presence::new(finalized);
        let sections = SectionNumbers::new(finalized, &presence);
        let symbols = SymbolNumbers::new(finalized, &presence);
        (sections, symbols)
    };
    let bytes = merged.symbols.len() * USUAL;
    let section_names = || section_names(finalized);
    let (symbol_names, (section_names, (numbers, symbols))) = parallel::both(
        bytes,
        || symbol_names(finalized),
        || parallel::both(bytes, section_names, numbers),
    );
    let sections = Sections {
        finalized,
        numbers: &numbers,
        symbols: &symbols,
        tool_record,
        generation: Older {
            finalized,
            numbers: &numbers,
            symbols: &symbols,
            symbol_names: &symbol_names,
            section_names: &section_names,
        },
    };
    let effort = numbers.order.len() * USUAL;
    let mut output = parallel::map(&numbers.order, effort, |&id| sections.make(id));
    // Every image has both sections.
    for (kind, table) in [
        (SectionKind::SectionNames, section_names.table),
        (SectionKind::SymbolNames, symbol_names.table),
    ] {
        let index = numbers.only(finalized, kind) as usize - 1;
        output[index].body = Body::Bytes(table.into_bytes());
    }
    let driver_note = numbers.only(finalized, SectionKind::DriverNote);
    Plan {
        sections: output,
        symbols,
        flags: file_flags(finalized, driver_note),
        kind: match merged.image() {
            ImageKind::Executable => FileKind::Executable(Segments {
                loads: LOADS,
                header_flags: READ_EXECUTE,
                header_load_first: false,
            }),
            ImageKind::Relocatable(_) => FileKind::Relocatable {
                program_header: PROGRAM_HEADER,
            },
        },
    }
}

/// Images up to sm_90.
struct Older<'f, 'n> {
    finalized: &'f Finalized<'f>,
    numbers: &'n SectionNumbers,
    symbols: &'n SymbolNumbers,
    symbol_names: &'n SymbolNames,
    section_names: &'n SectionNames,
}

impl<'f> Older<'f, '_> {
    fn merged(&self) -> &'f Merged<'f> {
        self.finalized.merged()
    }
}

impl<'f> Generation<'f> for Older<'f, '_> {
    fn name(&self, section: SectionId) -> u32 {
        self.section_names.offsets[section]
    }

    fn align(&self, section: &Section<'_>) -> u64 {
        section.content.align
    }

    fn padding(&self, _: SectionKind) -> u64 {
        0
    }

    fn symbols(&self) -> Vec<u8> {
        let entries = symbol_entries(
            self.finalized,
            self.numbers,
            self.symbols,
            self.symbol_names,
        );
        let first_section = self.symbols.first_section(self.merged());
        encode::symbols(
            self.finalized.relocated.laid_out.null_symbol,
            first_section,
            entries,
        )
    }

    fn first_global(&self) -> u32 {
        self.symbols.first_global()
    }

    fn section_numbers(&self) -> Vec<u8> {
        let number =
            |s| number_made_or_known(self.merged(), s, self.numbers.place(self.merged(), s));
        symbol_sections(self.finalized, self.symbols, number)
    }

    fn compat(&self) -> Vec<u8> {
        self.merged().compat.encode()
    }

    fn records(&self, function: Option<FunctionId>) -> Body<'f> {
        Body::records(match function {
            Some(function) => &self.finalized.figures.function_records[function],
            None => &self.finalized.figures.module_records,
        })
    }

    fn signature(&self, prototype: PrototypeId) -> u32 {
        let name = self.merged().prototypes[prototype];
        self.symbol_names.table.offset(name)
    }

    fn registers(&self, function: FunctionId) -> u32 {
        self.merged().functions[function].registers.into()
    }

    fn bytes(&self, section: SectionId) -> &'f [u8] {
        &self.finalized.relocated.sections[section].bytes
    }

    fn patched(&self, section: SectionId) -> Option<&'f Patched<'f>> {
        Some(&self.finalized.relocated.sections[section])
    }

    fn reserved(&self, _: &Section<'_>) -> u64 {
        0
    }
}

/// The entries of `.symtab`.
fn symbol_entries<'n>(
    finalized: &'n Finalized<'_>,
    sections: &'n SectionNumbers,
    symbols: &'n SymbolNumbers,
    names: &'n SymbolNames,
) -> impl Iterator<Item = FileSymbol<'n>> + 'n {
    let merged = finalized.merged();
    let entry = move |&id: &SymbolId| {
        let symbol = &merged.symbols[id];
        let place = |section| sections.place(merged, section);
        let (place, value) = match symbol.definition {
            Definition::Section(section) => (place(section), symbol.value),
            Definition::Shared(_) => {
                let listed = finalized.relocated.laid_out.shared.listed.get(&id);
                match listed {
                    Some(listed) => (place(listed.section), listed.value),
                    None => (Place::Undefined, merged.dynamic_align(symbol).unwrap_or(0)),
                }
            }
            Definition::Common => (Place::Common, symbol.value),
            Definition::Undefined | Definition::Never | Definition::Lost => {
                (Place::Undefined, symbol.value)
            }
        };
        let is_missing = symbol.definition == Definition::Undefined
            && symbol.weak_reference
            && matches!(symbol.kind, SymbolType::OBJECT | SymbolType::CUDA_OBJECT)
            && !reserved::is_shared(symbol.name)
            && !reserved::is_unified_table(symbol.name)
            && !reserved::is_descriptor_size(symbol.name);
        // Executables name no memory (case `symbol_marks`).
        let (kind, other) = match symbol.kind {
            SymbolType::FUNC if merged.is_executable() && symbol.other.space() != 0 => (
                SymbolType::OBJECT,
                SymbolOther(symbol.other.0 & !SymbolOther::SPACE_MASK),
            ),
            kind => (kind, symbol.other),
        };
        FileSymbol {
            name_offset: names.offsets[id],
            kind,
            binding: symbol.binding,
            other,
            place,
            value: if is_missing { u64::MAX } else { value },
            size: symbol.size,
            name: symbol.name,
        }
    };
    symbols.order.iter().map(entry)
}
