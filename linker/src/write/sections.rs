//! The native sections of an image, which both generations have.
//!
//! They agree on the order and on most of what headers say. [`Generation`] is
//! where they do not.

use crate::arch::FileFlags;
use crate::cubin::{Place, SectionType, UnifiedTable};
use crate::finalize::Finalized;
use crate::id::{FunctionId, IdVec, PrototypeId, SectionId};
use crate::merge::{Definition, Form, Merged, Section, SectionKind};
use crate::options::{ImageKind, ReservedNumbers};
use crate::read::native_bank;
use crate::relocate::Patched;

use super::encode;
use super::image::{Body, OutputSection, SegmentKind};
use super::numbering::{Presence, SymbolNumbers};

/// Where a section stands: classes in this order, creation order inside one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    Tables,
    Debug,
    Records,
    Relocations,
    Constants,
    Code,
    Data,
    /// Sections with a size and no bytes.
    Memory,
}

impl Class {
    const COUNT: usize = Self::Memory as usize + 1;

    fn of(kind: SectionKind) -> Self {
        match kind {
            SectionKind::SectionNames
            | SectionKind::SymbolNames
            | SectionKind::Symbols
            | SectionKind::SymbolSections => Self::Tables,
            SectionKind::Debug => Self::Debug,
            SectionKind::ToolNote
            | SectionKind::DriverNote
            | SectionKind::UnifiedEntries(_)
            | SectionKind::UnifiedIndex
            | SectionKind::HostData
            | SectionKind::Info
            | SectionKind::Compat
            | SectionKind::CallGraph
            | SectionKind::Prototype
            | SectionKind::RelocAction => Self::Records,
            SectionKind::Rel | SectionKind::Rela | SectionKind::ResolvedRela => Self::Relocations,
            SectionKind::Constant(_) => Self::Constants,
            SectionKind::Text | SectionKind::Stubs => Self::Code,
            SectionKind::GlobalInit | SectionKind::UnifiedData => Self::Data,
            SectionKind::Global | SectionKind::Shared | SectionKind::SharedReserved => Self::Memory,
        }
    }
}

/// The type of a section. In executables memory has the types that ELF knows (`PROGBITS`, `NOBITS`); relocatable objects
/// have a type for each memory space.
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

/// The loaded part a section belongs to.
fn segment(kind: SectionKind) -> Option<SegmentKind> {
    match Class::of(kind) {
        Class::Constants => Some(SegmentKind::Constants),
        Class::Code => Some(SegmentKind::Code),
        Class::Data | Class::Memory => Some(SegmentKind::Data),
        Class::Tables | Class::Debug | Class::Records | Class::Relocations => None,
    }
}

/// Numbers of the sections that are written.
pub(super) struct SectionNumbers {
    pub(super) order: Vec<SectionId>,
    pub(super) number: IdVec<SectionId, u32>,
}

impl SectionNumbers {
    pub(super) fn new(finalized: &Finalized<'_>, presence: &Presence) -> Self {
        let merged = finalized.merged();
        let mut classes: [Vec<SectionId>; Class::COUNT] = Default::default();
        for &id in &presence.sections {
            classes[Class::of(merged.sections.kind(id)) as usize].push(id);
        }
        let order = classes.concat();
        let mut number = merged.sections.each(0);
        for (index, &id) in order.iter().enumerate() {
            number[id] = index as u32 + 1;
        }
        Self { order, number }
    }

    /// What symbols say of a section.
    pub(super) fn place(&self, merged: &Merged<'_>, section: SectionId) -> Place {
        numbered(merged, self.number[section], Place::TENTATIVE.into())
    }

    /// The number of the one section of a kind.
    pub(super) fn only(&self, finalized: &Finalized<'_>, kind: SectionKind) -> u32 {
        let merged = finalized.merged();
        let position = self
            .order
            .iter()
            .position(|&id| merged.sections.kind(id) == kind);
        position.map_or(0, |position| position as u32 + 1)
    }
}

/// Entries of functions name no symbol table in executables, though they do
/// in all that the compiler makes.
pub(super) fn unified_link(merged: &Merged<'_>, table: UnifiedTable, symbol_table: u32) -> u32 {
    match table {
        UnifiedTable::Functions if merged.is_executable() => 0,
        UnifiedTable::Functions | UnifiedTable::Variables => symbol_table,
    }
}

/// The index of unified functions and variables, as its file has it, and those
/// of inputs.
pub(super) fn unified_index<'f>(finalized: &'f Finalized<'_>, section: SectionId) -> Body<'f> {
    let relocated = &finalized.relocated;
    let index = relocated.merged().settings.unified_index.as_ref();
    let index = index.map_or(&[][..], |index| &index.bytes);
    let of_inputs = &*relocated.sections[section].bytes;
    match of_inputs {
        [] => Body::Borrowed(index),
        of_inputs => Body::Bytes([index, of_inputs].concat()),
    }
}

/// `e_flags`: those of the target, whatever the inputs were made for.
pub(super) fn file_flags(finalized: &Finalized<'_>, driver_note: u32) -> u32 {
    let target = finalized.merged().target;
    FileFlags::new(target, driver_note).encode()
}

/// The work for a section or symbol, in bytes as [`parallel`](crate::parallel) counts it.
pub(super) const USUAL: usize = 256;

/// The section field of a symbol. `bare` is the number that nvlink writes there although ELF gives it another meaning.
pub(super) fn numbered(merged: &Merged<'_>, number: u32, bare: u32) -> Place {
    match merged.settings.reserved_numbers {
        ReservedNumbers::Bare if number == bare => Place::Reserved(number as u16),
        ReservedNumbers::Bare | ReservedNumbers::Extended => Place::Section(number),
    }
}

/// What `.symtab_shndx` has for a section: its number if that does not fit into symbols, and else the number that nvlink has
/// left there, from when it made the section.
pub(super) fn number_made_or_known(merged: &Merged<'_>, section: SectionId, place: Place) -> u32 {
    let extended = place.extended();
    extended.unwrap_or_else(|| merged.sections.creation_number(section))
}

/// `.symtab_shndx`: for each symbol what `number` says of its section.
pub(super) fn symbol_sections(
    finalized: &Finalized<'_>,
    symbols: &SymbolNumbers,
    number: impl Fn(SectionId) -> u32,
) -> Vec<u8> {
    let merged = finalized.merged();
    let numbers = symbols.order.iter().map(|&id| {
        let Definition::Section(section) = merged.symbols[id].definition else {
            return 0;
        };
        number(section)
    });
    let numbers = std::iter::repeat_n(0, symbols.first as usize).chain(numbers);
    numbers.flat_map(u32::to_le_bytes).collect()
}

/// How the native sections of the two generations of images differ.
pub(super) trait Generation<'f> {
    /// Where the name of a section stands.
    fn name(&self, section: SectionId) -> u32;
    /// How a section is aligned.
    fn align(&self, section: &Section<'_>) -> u64;
    /// Zero bytes behind a section.
    fn padding(&self, kind: SectionKind) -> u64;
    /// `.symtab`.
    fn symbols(&self) -> Vec<u8>;
    /// Its first global symbol.
    fn first_global(&self) -> u32;
    /// `.symtab_shndx`.
    fn section_numbers(&self) -> Vec<u8>;
    /// `.nv.compat`.
    fn compat(&self) -> Vec<u8>;
    /// The records of a function, or of the module.
    fn records(&self, function: Option<FunctionId>) -> Body<'f>;
    /// Where the name of a prototype stands.
    fn signature(&self, prototype: PrototypeId) -> u32;
    /// How many registers a function has, where its code says it.
    fn registers(&self, function: FunctionId) -> u32;
    /// What a section of the program holds.
    fn bytes(&self, section: SectionId) -> &'f [u8];
    /// The bytes and relocations of a section; `None` if it has none.
    fn patched(&self, section: SectionId) -> Option<&'f Patched<'f>>;
    /// How much of the memory of a section the system reserves.
    fn reserved(&self, section: &Section<'_>) -> u64;
}

/// What native sections of both generations are made from.
pub(super) struct Sections<'f, 'n, G> {
    pub(super) finalized: &'f Finalized<'f>,
    pub(super) numbers: &'n SectionNumbers,
    pub(super) symbols: &'n SymbolNumbers,
    pub(super) tool_record: &'n [u8],
    pub(super) generation: G,
}

impl<'f, G: Generation<'f>> Sections<'f, '_, G> {
    pub(super) fn make(&self, id: SectionId) -> OutputSection<'f> {
        let merged = self.merged();
        let section = &merged.sections[id];
        let kind = match section.kind {
            SectionKind::Constant(bank) if merged.target.has_mercury() => {
                SectionKind::Constant(native_bank(bank))
            }
            kind => kind,
        };
        OutputSection {
            name: self.generation.name(id),
            kind: section_type(kind, merged.image()),
            flags: match section.kind {
                SectionKind::DriverNote => merged.notes.driver_flags,
                _ => section.flags,
            },
            link: self.link(section.kind),
            info: self.info(section),
            align: self.generation.align(section),
            entry_size: section.entry_size,
            body: self.body(id),
            padding: self.generation.padding(section.kind),
            segment: segment(section.kind),
        }
    }

    fn merged(&self) -> &'f Merged<'f> {
        self.finalized.merged()
    }

    fn only(&self, kind: SectionKind) -> u32 {
        self.numbers.only(self.finalized, kind)
    }

    /// The section that another one refers to.
    fn link(&self, kind: SectionKind) -> u32 {
        let symbol_table = || self.only(SectionKind::Symbols);
        match kind {
            SectionKind::Symbols => self.only(SectionKind::SymbolNames),
            SectionKind::DriverNote => self.only(SectionKind::ToolNote),
            SectionKind::UnifiedEntries(table) => {
                unified_link(self.merged(), table, symbol_table())
            }
            SectionKind::SymbolSections
            | SectionKind::Info
            | SectionKind::CallGraph
            | SectionKind::Prototype
            | SectionKind::Rel
            | SectionKind::Rela
            | SectionKind::ResolvedRela
            | SectionKind::Text
            | SectionKind::Stubs => symbol_table(),
            SectionKind::SectionNames
            | SectionKind::SymbolNames
            | SectionKind::ToolNote
            | SectionKind::Compat
            | SectionKind::RelocAction
            | SectionKind::UnifiedIndex
            | SectionKind::HostData
            | SectionKind::Debug
            | SectionKind::Constant(_)
            | SectionKind::GlobalInit
            | SectionKind::UnifiedData
            | SectionKind::Global
            | SectionKind::Shared
            | SectionKind::SharedReserved => 0,
        }
    }

    /// What else a section is about.
    fn info(&self, section: &Section<'_>) -> u32 {
        match (section.kind, section.function) {
            (SectionKind::Symbols, _) => self.generation.first_global(),
            (SectionKind::DriverNote, _) => self.only(SectionKind::Compat),
            (SectionKind::Text | SectionKind::Stubs, Some(function)) => {
                let symbol = self.symbols.of_function(self.finalized, function);
                symbol | self.generation.registers(function) << 24
            }
            _ => section
                .target
                .map_or(0, |target| self.numbers.number[target]),
        }
    }

    /// The content of a section.
    fn body(&self, id: SectionId) -> Body<'f> {
        let finalized = self.finalized;
        let merged = self.merged();
        let section = &merged.sections[id];
        let generation = &self.generation;
        let signature = |prototype| generation.signature(prototype);
        let patched = || section.target.and_then(|target| generation.patched(target));
        let kept = |form| Body::relocations(patched().map_or(&[][..], |p| &p.kept), form);
        match section.kind {
            // These are filled last, as all other sections add names to them.
            SectionKind::SectionNames | SectionKind::SymbolNames => Body::Bytes(Vec::new()),
            SectionKind::Symbols => Body::Bytes(generation.symbols()),
            SectionKind::SymbolSections => Body::Bytes(generation.section_numbers()),
            SectionKind::ToolNote => Body::Bytes(encode::tool_note(finalized, self.tool_record)),
            SectionKind::DriverNote => Body::Borrowed(&merged.notes.driver),
            SectionKind::Compat => Body::Bytes(generation.compat()),
            SectionKind::Info => generation.records(merged.served(section)),
            SectionKind::CallGraph => {
                Body::Bytes(encode::call_graph(finalized, self.symbols, signature))
            }
            SectionKind::Prototype => {
                Body::Bytes(encode::prototypes(finalized, self.symbols, signature))
            }
            SectionKind::RelocAction => Body::Borrowed(&encode::RELOC_ACTION),
            SectionKind::Rel => kept(merged.short_form(id)),
            SectionKind::Rela => kept(Form::Rela),
            SectionKind::ResolvedRela => {
                let resolved = patched().map_or(&[][..], |p| &p.resolved);
                Body::Bytes(encode::resolved(resolved, self.symbols))
            }
            SectionKind::UnifiedEntries(table) => {
                Body::Bytes(encode::unified(merged, table, self.symbols))
            }
            SectionKind::UnifiedIndex => unified_index(finalized, id),
            SectionKind::HostData => Body::Borrowed(merged.host_data()),
            SectionKind::Text
            | SectionKind::Stubs
            | SectionKind::Debug
            | SectionKind::Constant(_)
            | SectionKind::GlobalInit
            | SectionKind::UnifiedData => Body::Borrowed(generation.bytes(id)),
            SectionKind::Global | SectionKind::Shared | SectionKind::SharedReserved => {
                Body::Empty(section.content.size + generation.reserved(section))
            }
        }
    }
}
