//! The plan of an image of the Mercury generation.
//!
//! The native sections come first, as in older images, and the parameter
//! banks behind the variables. The Mercury world follows: code, debug
//! information, records, relocations, data (which shares the native bytes)
//! and a symbol table of its own.

mod compat;
mod records;
mod reserved;
mod tables;

use rustc_hash::FxHashMap;

use crate::cubin::SectionType;
use crate::finalize::Finalized;
use crate::id::{FunctionId, IdVec, PrototypeId, SectionId};
use crate::merge::{Form, Merged, Section, SectionKind};
use crate::options::ImageKind;
use crate::parallel;
use crate::relocate::Patched;

use super::encode;
use super::image::{
    Body, FileKind, Load, MANY_SECTIONS, OutputSection, Plan, SegmentKind, Segments,
};
use super::native::symbol_names;
use super::numbering::{Presence, SymbolNumbers};
use super::sections::{
    Generation, SectionNumbers, Sections, USUAL, file_flags, section_type, unified_index,
    unified_link,
};

use tables::Names;

/// Set on every section of the Mercury world.
const MERCURY: u64 = crate::read::SHF_MERCURY;
const READ: u32 = 4;
const READ_EXECUTE: u32 = 5;
const READ_WRITE: u32 = 6;
const LOADS: &[Load] = &[
    Load {
        kinds: &[SegmentKind::Constants],
        flags: READ,
    },
    Load {
        kinds: &[SegmentKind::Code],
        flags: READ_EXECUTE,
    },
    Load {
        kinds: &[SegmentKind::Data],
        flags: READ_WRITE,
    },
    Load {
        kinds: &[SegmentKind::Parameters],
        flags: READ,
    },
];
/// Alignment of Mercury code.
const CODE_ALIGN: u64 = 16;

/// A section of the Mercury world in the image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Twin {
    Code,
    Debug,
    Info,
    Relocations,
    Data,
    ReservedShared,
}

/// The tables of section numbers that do not fit into symbols.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NumberTables {
    /// All numbers fit.
    Missing,
    /// So many sections were made before the Mercury ones that `.symtab_shndx`
    /// stands where it always would. The Mercury table follows the code.
    Made,
    /// There are as many only with the Mercury ones: one table is added behind
    /// the native sections, the other before the Mercury symbols.
    Added,
}

/// Everything that has a number in the image.
struct Layout {
    native: SectionNumbers,
    /// Kernels whose parameter bank is written, in the order of the banks.
    parameters: Vec<FunctionId>,
    /// Their places in that order.
    parameters_index: FxHashMap<FunctionId, usize>,
    /// The Mercury sections in order.
    twins: Vec<(Twin, SectionId)>,
    twin_number: IdVec<SectionId, u32>,
    number_tables: NumberTables,
}

impl Layout {
    fn new(finalized: &Finalized<'_>, presence: &Presence) -> Self {
        let pruned = finalized.pruned();
        let merged = &pruned.merged;
        let native = SectionNumbers::new(finalized, presence);
        let parameters: Vec<FunctionId> = merged
            .sections
            .iter()
            .filter_map(|section| section.function)
            .filter(|&f| pruned.live.functions[f])
            .filter(|&f| merged.functions[f].own_parameters().is_some())
            .collect();
        let mut twins = Vec::new();
        let mut add = |twin: Twin, ids: &[SectionId], wanted: &dyn Fn(&Section<'_>) -> bool| {
            let sections = ids.iter().filter(|&&id| wanted(&merged.sections[id]));
            twins.extend(sections.map(|&id| (twin, id)));
        };
        add(Twin::Code, &native.order, &|s| {
            matches!(s.kind, SectionKind::Text | SectionKind::Stubs)
        });
        add(Twin::Debug, &native.order, &|s| {
            s.kind == SectionKind::Debug
        });
        add(Twin::Info, &presence.sections, &|s| {
            matches!(
                s.kind,
                SectionKind::Info
                    | SectionKind::UnifiedEntries(_)
                    | SectionKind::UnifiedIndex
                    | SectionKind::HostData
            )
        });
        add(Twin::Relocations, &presence.sections, &|s| {
            let patched = s.target.map(|t| &finalized.relocated.sections[t]);
            patched.is_some_and(|patched| match s.kind {
                SectionKind::Rela => !patched.kept.is_empty(),
                SectionKind::ResolvedRela => !patched.resolved.is_empty(),
                _ => false,
            })
        });
        add(Twin::Data, &presence.sections, &|s| {
            matches!(s.kind, SectionKind::Constant(_))
        });
        add(Twin::Data, &presence.sections, &|s| {
            matches!(s.kind, SectionKind::GlobalInit | SectionKind::UnifiedData)
        });
        add(Twin::ReservedShared, &presence.sections, &|s| {
            s.kind == SectionKind::SharedReserved
        });
        let has_numbers = native.only(finalized, SectionKind::SymbolSections) != 0;
        let last = native.order.len() + parameters.len() + twins.len() + 1;
        let number_tables = match has_numbers {
            true => NumberTables::Made,
            false if last >= MANY_SECTIONS => NumberTables::Added,
            false => NumberTables::Missing,
        };
        let places = parameters.iter().enumerate();
        let mut layout = Self {
            native,
            parameters_index: places.map(|(index, &f)| (f, index)).collect(),
            parameters,
            twins,
            twin_number: IdVec::filled(&merged.sections, 0),
            number_tables,
        };
        let table = layout.number_table();
        let first = layout.parameters_number(layout.parameters.len());
        for (index, &(_, id)) in layout.twins.iter().enumerate() {
            let before = usize::from(table.is_some_and(|table| table <= index));
            layout.twin_number[id] = first + (index + before) as u32;
        }
        layout
    }

    /// Which parameter bank is that of a kernel.
    fn parameters_index(&self, kernel: FunctionId) -> Option<usize> {
        self.parameters_index.get(&kernel).copied()
    }

    fn parameters_number(&self, index: usize) -> u32 {
        let before = usize::from(self.number_tables == NumberTables::Added);
        (self.native.order.len() + before + index) as u32 + 1
    }

    /// Which twin the Mercury table of section numbers stands before.
    fn number_table(&self) -> Option<usize> {
        let is_code = |(twin, _): &(Twin, SectionId)| *twin == Twin::Code;
        match self.number_tables {
            NumberTables::Missing => None,
            NumberTables::Made => Some(self.twins.partition_point(is_code)),
            NumberTables::Added => Some(self.twins.len()),
        }
    }

    fn symbol_table_number(&self) -> u32 {
        let before = usize::from(self.number_table().is_some());
        self.parameters_number(self.parameters.len() + self.twins.len() + before)
    }

    /// The number of a section in the Mercury world, which has no twin of some.
    fn mercury_number(&self, section: SectionId) -> u32 {
        match self.twin_number[section] {
            0 => self.native.number[section],
            number => number,
        }
    }
}

/// Plans the image.
pub(super) fn plan<'f>(finalized: &'f Finalized<'f>, tool_record: &[u8]) -> Plan<'f> {
    let merged = finalized.merged();
    let numbers = || {
        let presence = Presence::new(finalized);
        let layout = Layout::new(finalized, &presence);
        (layout, SymbolNumbers::new(finalized, &presence))
    };
    let bytes = merged.symbols.len() * USUAL;
    let (names, (layout, symbols)) = parallel::both(bytes, || symbol_names(finalized), numbers);
    let names = Names::new(finalized, &layout, names.table);
    let native = &layout.native;
    let mut output = native_sections(finalized, tool_record, &layout, &symbols, &names);
    output.extend(mercury_sections(finalized, &layout, &symbols, &names));
    output.push(OutputSection {
        name: names.symbol_table(),
        kind: SectionType::CUDA_MERC_SYMTAB.0,
        flags: MERCURY,
        link: native.only(finalized, SectionKind::SymbolNames),
        info: symbols.locals as u32 + 1,
        align: 8,
        entry_size: 24,
        body: Body::Bytes(tables::mercury_symbols(
            finalized, &layout, &symbols, &names,
        )),
        padding: 0,
        segment: None,
    });
    reserved::fill(&mut output, finalized, &layout, &names);
    let driver_note = native.only(finalized, SectionKind::DriverNote);
    let strings = [SectionKind::SectionNames, SectionKind::SymbolNames];
    let strings = strings.map(|kind| native.only(finalized, kind) as usize - 1);
    let (section_names, symbol_names) = names.into_bytes();
    // Every link makes both sections.
    for (index, bytes) in strings.into_iter().zip([section_names, symbol_names]) {
        output[index].body = Body::Bytes(bytes);
    }
    Plan {
        sections: output,
        symbols,
        flags: file_flags(finalized, driver_note),
        kind: match merged.image {
            ImageKind::Executable => FileKind::Executable(Segments {
                loads: LOADS,
                header_flags: READ,
                header_load_first: true,
            }),
            ImageKind::Relocatable(_) => FileKind::Relocatable { program_header: 0 },
        },
    }
}

/// The native world, with the parameter banks.
fn native_sections<'f>(
    finalized: &'f Finalized<'f>,
    tool_record: &[u8],
    layout: &Layout,
    symbols: &SymbolNumbers,
    names: &Names<'_>,
) -> Vec<OutputSection<'f>> {
    let order = &layout.native.order;
    let sections = Sections {
        finalized,
        numbers: &layout.native,
        symbols,
        tool_record,
        generation: Native {
            finalized,
            layout,
            symbols,
            names,
        },
    };
    let mut output = parallel::map(order, order.len() * USUAL, |&id| sections.make(id));
    if layout.number_tables == NumberTables::Added {
        let link = layout.native.only(finalized, SectionKind::Symbols);
        let bytes = tables::native_numbers(finalized, layout, symbols);
        output.push(number_table(names.added_numbers, 0, link, bytes));
    }
    let parameters = layout.parameters.iter();
    output.extend(parameters.filter_map(|&f| parameter_bank(finalized, layout, names, f)));
    output
}

/// The Mercury world without its symbols.
fn mercury_sections<'f>(
    finalized: &'f Finalized<'f>,
    layout: &Layout,
    symbols: &SymbolNumbers,
    names: &Names<'_>,
) -> Vec<OutputSection<'f>> {
    let twins: Vec<usize> = (0..layout.twins.len()).collect();
    let mut output = parallel::map(&twins, twins.len() * USUAL, |&index| {
        let (twin, id) = layout.twins[index];
        mercury_section(finalized, layout, symbols, names.mercury(index), twin, id)
    });
    if let Some(index) = layout.number_table() {
        let bytes = tables::mercury_numbers(finalized, layout, symbols);
        let link = layout.symbol_table_number();
        let table = number_table(names.mercury_numbers, MERCURY, link, bytes);
        output.insert(index, table);
    }
    output
}

/// The native world of a Mercury image.
struct Native<'f, 'n> {
    finalized: &'f Finalized<'f>,
    layout: &'n Layout,
    symbols: &'n SymbolNumbers,
    names: &'n Names<'n>,
}

impl<'f> Native<'f, '_> {
    fn merged(&self) -> &'f Merged<'f> {
        self.finalized.merged()
    }
}

impl<'f> Generation<'f> for Native<'f, '_> {
    fn name(&self, section: SectionId) -> u32 {
        self.names.native(self.merged().sections[section].name)
    }

    fn align(&self, section: &Section<'_>) -> u64 {
        let native = section.native.as_ref().filter(|native| match section.kind {
            SectionKind::Text | SectionKind::Stubs => true,
            SectionKind::Debug => !native.shares_bytes,
            _ => false,
        });
        native.map_or(section.content.align, |native| native.content.align)
    }

    fn padding(&self, kind: SectionKind) -> u64 {
        match kind {
            SectionKind::SectionNames => self.names.sections_padding(),
            SectionKind::SymbolNames => self.names.symbols_padding,
            _ => 0,
        }
    }

    fn symbols(&self) -> Vec<u8> {
        tables::native_symbols(self.finalized, self.layout, self.symbols, self.names)
    }

    fn first_global(&self) -> u32 {
        match self.layout.parameters.len() {
            0 => self.symbols.locals as u32 + 1,
            parameters => (self.symbols.order.len() + parameters) as u32 + 1,
        }
    }

    fn section_numbers(&self) -> Vec<u8> {
        tables::native_numbers(self.finalized, self.layout, self.symbols)
    }

    fn compat(&self) -> Vec<u8> {
        compat::section(self.finalized)
    }

    fn records(&self, function: Option<FunctionId>) -> Body<'f> {
        Body::Bytes(match function {
            Some(function) => records::native(self.finalized, self.layout, self.symbols, function),
            None => records::native_module(self.finalized, self.symbols),
        })
    }

    fn signature(&self, prototype: PrototypeId) -> u32 {
        self.names
            .symbols
            .offset(self.merged().prototypes[prototype])
    }

    /// Code has not said it since sm_90.
    fn registers(&self, _: FunctionId) -> u32 {
        0
    }

    fn bytes(&self, section: SectionId) -> &'f [u8] {
        let mercury = &self.finalized.relocated.sections[section];
        &self.patched(section).unwrap_or(mercury).bytes
    }

    fn patched(&self, section: SectionId) -> Option<&'f Patched<'f>> {
        self.finalized.relocated.native[section].as_deref()
    }

    fn reserved(&self, section: &Section<'_>) -> u64 {
        let merged = self.merged();
        match section.kind {
            SectionKind::SharedReserved => merged.start_of_reserved(),
            // The module's own section has what the system reserves.
            SectionKind::Shared if section.target.is_none() && merged.image.is_executable() => {
                merged.reserved_shared()
            }
            _ => 0,
        }
    }
}

fn number_table<'f>(name: u32, flags: u64, link: u32, bytes: Vec<u8>) -> OutputSection<'f> {
    OutputSection {
        name,
        kind: SectionType::SYMTAB_SHNDX.0,
        flags,
        link,
        info: 0,
        align: 4,
        entry_size: 4,
        body: Body::Bytes(bytes),
        padding: 0,
        segment: None,
    }
}

/// The parameter bank of a kernel, which only the native world has.
fn parameter_bank<'f>(
    finalized: &'f Finalized<'_>,
    layout: &Layout,
    names: &Names<'_>,
    function: FunctionId,
) -> Option<OutputSection<'f>> {
    let merged = finalized.merged();
    let row = &merged.functions[function];
    let bank = row.own_parameters()?;
    Some(OutputSection {
        name: names.parameters(function, bank.name),
        kind: section_type(SectionKind::Constant(0), merged.image).0,
        flags: bank.flags,
        link: 0,
        info: row.text.map_or(0, |text| layout.native.number[text]),
        align: bank.align,
        entry_size: bank.entry_size,
        body: Body::Borrowed(bank.data),
        padding: 0,
        segment: Some(SegmentKind::Parameters),
    })
}

fn mercury_section<'f>(
    finalized: &'f Finalized<'_>,
    layout: &Layout,
    symbols: &SymbolNumbers,
    name: u32,
    twin: Twin,
    id: SectionId,
) -> OutputSection<'f> {
    let relocated = &finalized.relocated;
    let merged = relocated.merged();
    let section = &merged.sections[id];
    let table = layout.symbol_table_number();
    let bytes = &relocated.sections[id].bytes;
    let twin_target = section.target.map_or(0, |t| layout.mercury_number(t));
    let mut output = OutputSection {
        name,
        kind: SectionType::PROGBITS.0,
        flags: section.flags | MERCURY,
        link: 0,
        info: 0,
        align: section.content.align,
        entry_size: 0,
        body: Body::Empty(0),
        padding: 0,
        segment: None,
    };
    match twin {
        Twin::Code => {
            let mut bytes = bytes.to_vec();
            bytes[..4].copy_from_slice(&layout.native.number[id].to_le_bytes());
            output.kind = SectionType::CUDA_CAPMERC.0;
            output.flags = MERCURY;
            output.link = table;
            output.info = section
                .function
                .map_or(0, |f| symbols.of_function(finalized, f));
            output.align = CODE_ALIGN;
            output.entry_size = section.entry_size;
            output.body = Body::Bytes(bytes);
        }
        // What is the same in both worlds stands in the file once.
        Twin::Debug => {
            let native = section.native.as_ref().filter(|n| n.shares_bytes);
            let twin = relocated.native[id].as_ref();
            let is_shared = native.is_some() && twin.is_some_and(|twin| twin.bytes == *bytes);
            output.body = match is_shared || bytes.is_empty() {
                true => Body::Shares(layout.native.number[id] as usize - 1),
                false => Body::Borrowed(bytes),
            };
        }
        Twin::Info => match section.kind {
            SectionKind::UnifiedEntries(members) => {
                output.kind = section_type(section.kind, merged.image).0;
                output.entry_size = section.entry_size;
                output.link = unified_link(merged, members, table);
                output.body = Body::Bytes(encode::unified(merged, members, symbols));
            }
            SectionKind::UnifiedIndex => {
                output.kind = section_type(section.kind, merged.image).0;
                output.body = unified_index(finalized, id);
            }
            SectionKind::HostData => {
                output.kind = section_type(section.kind, merged.image).0;
                output.body = Body::Borrowed(&merged.host_data);
            }
            _ => {
                let function = section.target.and_then(|t| merged.sections[t].function);
                let records = match function {
                    Some(function) => &finalized.figures.function_records[function][..],
                    None => &finalized.figures.module_records,
                };
                output.kind = SectionType::CUDA_MERC_INFO.0;
                (output.link, output.info) = (table, twin_target);
                output.body = Body::records(records);
            }
        },
        Twin::Relocations => {
            let target = section.target.map(|t| &relocated.sections[t]);
            (output.link, output.info) = (table, twin_target);
            output.entry_size = 24;
            (output.kind, output.body) = if section.kind == SectionKind::ResolvedRela {
                let resolved = target.map_or(&[][..], |t| &t.resolved);
                let bytes = encode::resolved(resolved, symbols);
                (SectionType::CUDA_MERC_RESOLVED_RELA.0, Body::Bytes(bytes))
            } else {
                let kept = target.map_or(&[][..], |t| &t.kept);
                (
                    SectionType::CUDA_MERC_RELA.0,
                    Body::relocations(kept, Form::Rela),
                )
            };
        }
        Twin::ReservedShared => {
            output.kind = SectionType::CUDA_SHARED_RESERVED.0;
            // What stands there depends on all other sections.
            output.body = Body::Bytes(Vec::new());
        }
        Twin::Data => {
            output.kind = match section.kind {
                SectionKind::Constant(bank) => SectionType::constant(bank).0,
                SectionKind::UnifiedData => SectionType::CUDA_UDT.0,
                _ => SectionType::CUDA_GLOBAL_INIT.0,
            };
            output.info = twin_target;
            let has_own_bytes = section.native.as_ref().is_some_and(|n| !n.shares_bytes);
            output.body = match has_own_bytes {
                true => Body::Borrowed(bytes),
                false => Body::Shares(layout.native.number[id] as usize - 1),
            };
        }
    }
    output
}
