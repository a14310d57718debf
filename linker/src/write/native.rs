//! The plan of an image before the Mercury generation.

use crate::arch::{FileFlags, reserved};
use crate::cubin::{Place, SectionType, SymbolType, UnifiedTable};
use crate::finalize::{Finalized, own_registers};
use crate::id::{IdVec, SectionId, SymbolId};
use crate::merge::{Definition, Form, Merged, SectionKind};
use crate::name_table::NameTable;
use crate::options::ImageKind;
use crate::parallel;

use super::encode::{self, SymbolEntry};
use super::image::{
    Body, FileKind, Load, OutputSection, PROGRAM_HEADER, Plan, SegmentKind, Segments,
};
use super::numbering::{Presence, SymbolNumbers, creation_number};

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

/// How many classes of sections there are.
const CLASSES: usize = 8;

/// Where a section stands: classes in this order, creation order inside one.
pub(super) fn class(kind: SectionKind) -> u8 {
    match kind {
        SectionKind::SectionNames
        | SectionKind::SymbolNames
        | SectionKind::Symbols
        | SectionKind::SymbolSections => 0,
        SectionKind::Debug => 1,
        SectionKind::ToolNote
        | SectionKind::DriverNote
        | SectionKind::UnifiedEntries(_)
        | SectionKind::UnifiedIndex
        | SectionKind::HostData
        | SectionKind::Info
        | SectionKind::Compat
        | SectionKind::CallGraph
        | SectionKind::Prototype
        | SectionKind::RelocAction => 2,
        SectionKind::Rel | SectionKind::Rela | SectionKind::ResolvedRela => 3,
        SectionKind::Constant(_) => 4,
        SectionKind::Text | SectionKind::Stubs => 5,
        SectionKind::GlobalInit | SectionKind::UnifiedData => 6,
        SectionKind::Global | SectionKind::Shared | SectionKind::SharedReserved => 7,
    }
}

/// The type a section has: executables know memory by its place in the image,
/// relocatable objects name it.
pub(super) fn section_type(kind: SectionKind, image: ImageKind) -> SectionType {
    match (kind, image) {
        (SectionKind::Constant(bank), ImageKind::Relocatable(_)) => SectionType::constant(bank),
        (SectionKind::GlobalInit, ImageKind::Relocatable(_)) => SectionType::CUDA_GLOBAL_INIT,
        (SectionKind::Global, ImageKind::Relocatable(_)) => SectionType::CUDA_GLOBAL,
        (SectionKind::Shared, ImageKind::Relocatable(_)) => SectionType::CUDA_SHARED,
        (SectionKind::SharedReserved, ImageKind::Relocatable(_)) => {
            SectionType::CUDA_SHARED_RESERVED
        }
        (kind, _) => executable_type(kind),
    }
}

fn executable_type(kind: SectionKind) -> SectionType {
    match kind {
        SectionKind::SectionNames | SectionKind::SymbolNames => SectionType::STRTAB,
        SectionKind::Symbols => SectionType::SYMTAB,
        SectionKind::SymbolSections => SectionType::SYMTAB_SHNDX,
        SectionKind::ToolNote | SectionKind::DriverNote => SectionType::NOTE,
        SectionKind::UnifiedEntries(UnifiedTable::Functions) => SectionType::CUDA_UFT_ENTRY,
        SectionKind::UnifiedEntries(UnifiedTable::Variables) => SectionType::CUDA_UDT_ENTRY,
        SectionKind::UnifiedIndex => SectionType::CUDA_UIDX,
        SectionKind::HostData => SectionType::CUDA_HOST,
        SectionKind::Stubs => SectionType::CUDA_UFT,
        SectionKind::UnifiedData => SectionType::CUDA_UDT,
        SectionKind::Info => SectionType::CUDA_INFO,
        SectionKind::Compat => SectionType::CUDA_COMPAT,
        SectionKind::CallGraph => SectionType::CUDA_CALLGRAPH,
        SectionKind::Prototype => SectionType::CUDA_PROTOTYPE,
        SectionKind::RelocAction => SectionType::CUDA_RELOC_ACTION,
        SectionKind::Rel => SectionType::REL,
        SectionKind::Rela => SectionType::RELA,
        SectionKind::ResolvedRela => SectionType::CUDA_RESOLVED_RELA,
        SectionKind::Constant(_)
        | SectionKind::Text
        | SectionKind::GlobalInit
        | SectionKind::Debug => SectionType::PROGBITS,
        SectionKind::Global | SectionKind::Shared | SectionKind::SharedReserved => {
            SectionType::NOBITS
        }
    }
}

/// Entries of functions name no symbol table in executables, though they do
/// in all that the compiler makes.
pub(super) fn unified_link(merged: &Merged<'_>, table: UnifiedTable, symbol_table: u32) -> u32 {
    match table {
        UnifiedTable::Functions if merged.image.is_executable() => 0,
        UnifiedTable::Functions | UnifiedTable::Variables => symbol_table,
    }
}

/// The index of unified functions and variables, as its file has it, and those
/// of inputs.
pub(super) fn unified_index<'f>(finalized: &'f Finalized<'_>, section: SectionId) -> Body<'f> {
    let relocated = &finalized.relocated;
    let index = relocated.laid_out.pruned.merged.unified.index.as_ref();
    let index = index.map_or(&[][..], |index| &index.bytes);
    let of_inputs = &*relocated.sections[section].bytes;
    match of_inputs {
        [] => Body::Borrowed(index),
        of_inputs => Body::Bytes([index, of_inputs].concat()),
    }
}

/// The loaded part a section belongs to.
pub(super) fn segment(kind: SectionKind) -> Option<SegmentKind> {
    match class(kind) {
        4 => Some(SegmentKind::Constants),
        5 => Some(SegmentKind::Code),
        6 | 7 => Some(SegmentKind::Data),
        _ => None,
    }
}

/// Numbers of the sections that are written.
pub(super) struct SectionNumbers {
    pub(super) order: Vec<SectionId>,
    pub(super) number: IdVec<SectionId, u32>,
}

impl SectionNumbers {
    pub(super) fn new(finalized: &Finalized<'_>, presence: &Presence) -> Self {
        let sections = &finalized.relocated.laid_out.pruned.merged.sections;
        let mut classes: [Vec<SectionId>; CLASSES] = Default::default();
        for &id in &presence.sections {
            classes[usize::from(class(sections[id].kind))].push(id);
        }
        let order = classes.concat();
        let mut number = IdVec::filled(sections, 0);
        for (index, &id) in order.iter().enumerate() {
            number[id] = index as u32 + 1;
        }
        Self { order, number }
    }

    /// The number of the one section of a kind.
    pub(super) fn only(&self, finalized: &Finalized<'_>, kind: SectionKind) -> u32 {
        let sections = &finalized.relocated.laid_out.pruned.merged.sections;
        let position = self.order.iter().position(|&id| sections[id].kind == kind);
        position.map_or(0, |position| position as u32 + 1)
    }
}

/// `.strtab`, and where it has the name of each symbol.
pub(super) struct SymbolNames {
    pub(super) table: NameTable,
    offsets: IdVec<SymbolId, u32>,
}

/// Signatures, then the names of every live symbol.
pub(super) fn symbol_names(finalized: &Finalized<'_>) -> SymbolNames {
    let pruned = &finalized.relocated.laid_out.pruned;
    let merged = &pruned.merged;
    let count = merged.prototypes.len() + merged.locals.len() + merged.globals.len();
    let mut table = NameTable::with_room(count);
    let mut offsets = IdVec::filled(&merged.symbols, 0);
    for signature in merged.prototypes.iter() {
        table.add(signature);
    }
    for &symbol in merged.locals.iter().chain(&merged.globals) {
        if pruned.live.symbols[symbol] {
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
    let pruned = &finalized.relocated.laid_out.pruned;
    let sections = &pruned.merged.sections;
    let mut table = NameTable::with_room(sections.len());
    let mut offsets = IdVec::filled(sections, 0);
    for (id, section) in sections.enumerate() {
        if pruned.live.sections[id] {
            offsets[id] = table.add(section.name);
        }
    }
    SectionNames { table, offsets }
}

/// `e_flags`: those of the target, whatever the inputs were made for.
pub(super) fn file_flags(finalized: &Finalized<'_>, driver_note: u32) -> u32 {
    let target = finalized.relocated.laid_out.pruned.merged.target;
    FileFlags::new(target, driver_note).encode()
}

/// About how many bytes have to be looked at for a section or symbol.
pub(super) const USUAL: usize = 256;

/// Plans the image.
pub(super) fn plan<'f>(finalized: &'f Finalized<'_>, tool_record: &[u8]) -> Plan<'f> {
    let relocated = &finalized.relocated;
    let pruned = &relocated.laid_out.pruned;
    let merged = &pruned.merged;
    let numbers = || {
        let presence = Presence::new(finalized);
        let sections = SectionNumbers::new(finalized, &presence);
        let symbols = SymbolNumbers::new(finalized, &presence);
        (sections, symbols, section_names(finalized))
    };
    let bytes = merged.symbols.len() * USUAL;
    let (names, numbers) = parallel::both(bytes, || symbol_names(finalized), numbers);
    let (sections, symbols, section_names) = numbers;
    let registers = (!merged.target.is_hopper_or_newer()).then(|| own_registers(pruned));
    let symbol_table = sections.only(finalized, SectionKind::Symbols);
    let signature = |p| names.table.offset(merged.prototypes[p]);
    let target = |section: &crate::merge::Section<'_>| {
        section.target.map_or(0, |target| sections.number[target])
    };
    let make = |&id: &SectionId| {
        let section = &merged.sections[id];
        let mut link = 0;
        let mut info = target(section);
        let mut flags = section.flags;
        let body = match section.kind {
            // The tables are asked for names until all sections are made.
            SectionKind::SectionNames | SectionKind::SymbolNames => Body::Bytes(Vec::new()),
            SectionKind::Symbols => {
                link = sections.only(finalized, SectionKind::SymbolNames);
                info = symbols.locals as u32 + 1;
                let entries = symbol_entries(finalized, &sections, &symbols, &names);
                Body::Bytes(encode::symbols(relocated.laid_out.null_value, entries))
            }
            SectionKind::SymbolSections => {
                link = symbol_table;
                let number =
                    |section| number_made_or_known(merged, section, sections.number[section]);
                Body::Bytes(symbol_sections(finalized, &symbols, number))
            }
            SectionKind::ToolNote => Body::Bytes(encode::tool_note(finalized, tool_record)),
            SectionKind::DriverNote => {
                flags = merged.notes.driver_flags;
                link = sections.only(finalized, SectionKind::ToolNote);
                info = sections.only(finalized, SectionKind::Compat);
                Body::Borrowed(&merged.notes.driver)
            }
            SectionKind::Compat => Body::Bytes(merged.compat.encode()),
            SectionKind::Info => {
                link = symbol_table;
                let records = match section.target.and_then(|t| merged.sections[t].function) {
                    Some(function) => &finalized.function_records[function],
                    None => &finalized.module_records,
                };
                Body::records(records)
            }
            SectionKind::CallGraph => {
                link = symbol_table;
                Body::Bytes(encode::call_graph(finalized, &symbols, signature))
            }
            SectionKind::Prototype => {
                link = symbol_table;
                Body::Bytes(encode::prototypes(finalized, &symbols, signature))
            }
            SectionKind::RelocAction => Body::Borrowed(&encode::RELOC_ACTION),
            SectionKind::Rel | SectionKind::Rela => {
                link = symbol_table;
                let form = if section.kind == SectionKind::Rel {
                    Form::Rel
                } else {
                    Form::Rela
                };
                let kept = section
                    .target
                    .map_or(&[][..], |t| &relocated.sections[t].kept);
                Body::relocations(kept, form)
            }
            SectionKind::ResolvedRela => {
                link = symbol_table;
                let resolved = section
                    .target
                    .map_or(&[][..], |t| &relocated.sections[t].resolved);
                Body::Bytes(encode::resolved(resolved, &symbols))
            }
            SectionKind::UnifiedEntries(table) => {
                link = unified_link(merged, table, symbol_table);
                Body::Bytes(encode::unified(merged, table, &symbols))
            }
            SectionKind::UnifiedIndex => unified_index(finalized, id),
            SectionKind::HostData => Body::Borrowed(&merged.host_data),
            SectionKind::Text | SectionKind::Stubs => {
                link = symbol_table;
                if let Some(function) = section.function {
                    info = symbols.of_function(finalized, function);
                    if let Some(registers) = &registers {
                        info |= registers[function] << 24;
                    }
                }
                Body::Borrowed(&relocated.sections[id].bytes)
            }
            SectionKind::Constant(_)
            | SectionKind::GlobalInit
            | SectionKind::UnifiedData
            | SectionKind::Debug => Body::Borrowed(&relocated.sections[id].bytes),
            SectionKind::Global | SectionKind::Shared | SectionKind::SharedReserved => {
                Body::Empty(section.content.size)
            }
        };
        OutputSection {
            name: section_names.offsets[id],
            kind: section_type(section.kind, merged.image).0,
            flags,
            link,
            info,
            align: section.content.align,
            entry_size: section.entry_size,
            body,
            padding: 0,
            segment: segment(section.kind),
        }
    };
    let mut output = parallel::map(&sections.order, sections.order.len() * USUAL, make);
    // Every link makes both sections.
    for (kind, table) in [
        (SectionKind::SectionNames, section_names.table),
        (SectionKind::SymbolNames, names.table),
    ] {
        let index = sections.only(finalized, kind) as usize - 1;
        output[index].body = Body::Bytes(table.into_bytes());
    }
    let driver_note = sections.only(finalized, SectionKind::DriverNote);
    Plan {
        sections: output,
        symbols,
        flags: file_flags(finalized, driver_note),
        kind: match merged.image {
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

/// The number of a section that does not fit into a symbol. For others nvlink
/// leaves the number that the section had when it was made.
pub(super) fn number_made_or_known(merged: &Merged<'_>, section: SectionId, number: u32) -> u32 {
    match number {
        encode::EXTENDED.. => number,
        _ => creation_number(merged, section),
    }
}

/// `.symtab_shndx`: for each symbol what `number` says of its section.
pub(super) fn symbol_sections(
    finalized: &Finalized<'_>,
    symbols: &SymbolNumbers,
    number: impl Fn(SectionId) -> u32,
) -> Vec<u8> {
    let merged = &finalized.relocated.laid_out.pruned.merged;
    let numbers = symbols.order.iter().map(|&id| {
        let Definition::Section(section) = merged.symbols[id].definition else {
            return 0;
        };
        number(section)
    });
    let numbers = std::iter::once(0).chain(numbers);
    numbers.flat_map(u32::to_le_bytes).collect()
}

fn symbol_entries<'n>(
    finalized: &'n Finalized<'_>,
    sections: &'n SectionNumbers,
    symbols: &'n SymbolNumbers,
    names: &'n SymbolNames,
) -> impl Iterator<Item = SymbolEntry> + 'n {
    let merged = &finalized.relocated.laid_out.pruned.merged;
    let entry = move |&id: &SymbolId| {
        let symbol = &merged.symbols[id];
        let place = |section| Place::Section(sections.number[section]);
        let (place, value) = match symbol.definition {
            Definition::Section(section) => (place(section), symbol.value),
            Definition::Shared(_) => {
                let listed = finalized.relocated.laid_out.shared.listed.get(&id);
                listed.map_or((Place::Undefined, 0), |l| (place(l.section), l.value))
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
            && !reserved::is_unified_table(symbol.name);
        SymbolEntry {
            name: names.offsets[id],
            kind: symbol.kind.0,
            binding: symbol.binding.0,
            other: symbol.other.0,
            place,
            value: if is_missing { u64::MAX } else { value },
            size: symbol.size,
        }
    };
    symbols.order.iter().map(entry)
}
