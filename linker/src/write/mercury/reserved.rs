//! What fills the Mercury section of reserved shared memory, which has no content.
//!
//! nvlink makes a file of the Mercury world alone before it makes the image, and takes the bytes from where that file has
//! the section. There the sections without content come last and take no place, so that these are the bytes behind them:
//! the table of sections.

use crate::cubin::{FILE_HEADER, SECTION_HEADER, SectionType, Symbol};
use crate::id::SectionId;
use crate::merge::{MERCURY_STUB_SIZE, SectionKind};

use super::super::image::{Body, OutputSection};
use super::layout::Twin;
use super::{CODE_ALIGN, SECTION_NUMBER, Sources, compat};

/// Alignment of the table of sections.
const TABLE_ALIGN: u64 = 8;

/// Fills the section, if the image has one. `output` holds all other sections of both worlds.
pub(super) fn fill(output: &mut [OutputSection<'_>], sources: Sources<'_, '_>) {
    let merged = sources.merged();
    let reserved = sources.layout.twins.iter();
    for &(_, id) in reserved.filter(|(twin, _)| *twin == Twin::ReservedShared) {
        let size = merged.sections[id].content.size;
        let before = before_table(output, sources, id);
        let bytes = bytes(size, before, sources.names.linked_size);
        output[sources.layout.twin_number[id] as usize - 1].body = Body::Bytes(bytes);
    }
}

/// What lies between the section and the table in the file of the Mercury world: sections without content that are aligned
/// more strictly move the table (case `reserved_behind`).
fn before_table(
    output: &[OutputSection<'_>],
    sources: Sources<'_, '_>,
    reserved: SectionId,
) -> u64 {
    let mut end = FILE_HEADER;
    let mut start = end;
    for (native, &id) in output.iter().zip(&sources.layout.native.order) {
        let (size, align) = alone(output, sources, (native, id));
        let place = end.next_multiple_of(align.max(1));
        if id == reserved {
            start = place;
        }
        end = place + size;
    }
    end.next_multiple_of(TABLE_ALIGN) - start
}

/// What a section takes in the file of the Mercury world, and its alignment there. The native parameters are not in it.
fn alone(
    output: &[OutputSection<'_>],
    sources: Sources<'_, '_>,
    (native, id): (&OutputSection<'_>, SectionId),
) -> (u64, u64) {
    let merged = sources.merged();
    let section = &merged.sections[id];
    let number = |number: u32| (number as usize).checked_sub(1);
    let twin = number(sources.layout.twin_number[id]).map(|index| &output[index]);
    let symbols = || {
        let table = number(sources.layout.symbol_table_number());
        table.map_or(0, |index| output[index].body.size())
    };
    let align = twin.map_or(native.align, |twin| twin.align);
    match section.kind {
        SectionKind::SectionNames => (sources.names.linked_size, align),
        SectionKind::SymbolNames => (sources.names.linked_symbols_size, align),
        SectionKind::Symbols => (symbols(), align),
        SectionKind::SymbolSections => (symbols() / Symbol::SIZE as u64 * SECTION_NUMBER, align),
        SectionKind::Compat => (compat::linked_size(merged), align),
        // Instructions are not left out yet.
        SectionKind::Text => {
            let function = section.function.map(|function| &merged.functions[function]);
            let size = function.map_or(0, |function| merged.symbols[function.symbol].size);
            (size, CODE_ALIGN)
        }
        SectionKind::Global | SectionKind::Shared | SectionKind::SharedReserved => (0, align),
        SectionKind::ToolNote
        | SectionKind::DriverNote
        | SectionKind::CallGraph
        | SectionKind::Prototype
        | SectionKind::RelocAction => (native.body.size(), align),
        // They are not packed as other code is, nor filled up (case `reserved_unified`).
        SectionKind::Stubs if merged.is_executable() => {
            let slots = section.content.contributions.len() as u64;
            (slots * MERCURY_STUB_SIZE, native.align)
        }
        SectionKind::Stubs => (native.body.size(), native.align),
        SectionKind::Info
        | SectionKind::UnifiedEntries(_)
        | SectionKind::UnifiedIndex
        | SectionKind::HostData
        | SectionKind::Rel
        | SectionKind::Rela
        | SectionKind::ResolvedRela
        | SectionKind::Debug
        | SectionKind::Constant(_)
        | SectionKind::GlobalInit
        | SectionKind::UnifiedData => {
            let shares = |twin: &OutputSection<'_>| matches!(twin.body, Body::Shares(_));
            let own = twin.map(|twin| if shares(twin) { native } else { twin });
            let size = own.map_or(0, |section| section.body.size());
            (size, align)
        }
    }
}

/// The first bytes of a table of sections that begins so many bytes later, as it was before the names of the Mercury
/// sections were added. The case `every_arch` shows the first two headers, and `reserved_variables` half of the third;
/// nothing known is larger.
fn bytes(size: u64, before: u64, names_size: u64) -> Vec<u8> {
    let size = size as usize;
    let zeros = before.saturating_add(SECTION_HEADER).min(size as u64);
    let mut bytes = vec![0; zeros as usize];
    // `.shstrtab` and `.strtab`, by where their names stand.
    let strings = [
        (1u32, FILE_HEADER, names_size),
        (11, FILE_HEADER + names_size, 0),
    ];
    for (name, start, size) in strings {
        for word in [name, SectionType::STRTAB.0] {
            bytes.extend(word.to_le_bytes());
        }
        for field in [0, 0, start, size, 0, 1, 0u64] {
            bytes.extend(field.to_le_bytes());
        }
    }
    bytes.resize(size, 0);
    bytes
}
