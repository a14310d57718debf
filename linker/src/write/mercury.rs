//! The plan of an image of the Mercury generation.
//!
//! The native sections come first, as in older images, and the parameter
//! banks behind the variables. The Mercury world follows: code, debug
//! information, records, relocations, data (which shares the native bytes)
//! and a symbol table of its own.

mod compat;
mod layout;
mod names;
mod native;
mod numbers;
mod records;
mod reserved;
mod symbols;
mod twins;

use crate::cubin::{SectionFlags, SectionType, Symbol};
use crate::finalize::Finalized;
use crate::merge::{Merged, SectionKind};
use crate::options::ImageKind;
use crate::parallel;

use super::image::{Body, FileKind, Load, OutputSection, Plan, SegmentKind, Segments};
use super::native::symbol_names;
use super::numbering::{Presence, SymbolNumbers};
use super::sections::{USUAL, file_flags};

use layout::Layout;
use names::Names;

/// Set on every section of the Mercury world.
const MERCURY: SectionFlags = SectionFlags::MERCURY;
/// Size of a section number in its table.
const SECTION_NUMBER: u64 = size_of::<u32>() as u64;
/// Alignment of Mercury code.
const CODE_ALIGN: u64 = 16;

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

/// What the sections of an image are made from.
#[derive(Clone, Copy)]
struct Sources<'f, 'n> {
    finalized: &'f Finalized<'f>,
    layout: &'n Layout,
    symbols: &'n SymbolNumbers,
    names: &'n Names<'f>,
}

impl<'f> Sources<'f, '_> {
    fn merged(self) -> &'f Merged<'f> {
        self.finalized.merged()
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
    let sources = Sources {
        finalized,
        layout: &layout,
        symbols: &symbols,
        names: &names,
    };
    let mut output = native::sections(sources, tool_record);
    output.extend(twins::sections(sources));
    output.push(OutputSection {
        name: names.symbol_table(),
        kind: SectionType::CUDA_MERC_SYMTAB,
        flags: MERCURY,
        link: native.only(finalized, SectionKind::SymbolNames),
        info: symbols.first_global(),
        align: 8,
        entry_size: Symbol::SIZE as u64,
        body: Body::Bytes(symbols::mercury(sources)),
        padding: 0,
        segment: None,
    });
    reserved::fill(&mut output, sources);
    let driver_note = native.only(finalized, SectionKind::DriverNote);
    let strings = [SectionKind::SectionNames, SectionKind::SymbolNames];
    let strings = strings.map(|kind| native.only(finalized, kind) as usize - 1);
    let (section_names, symbol_names) = names.into_bytes();
    // Every image has both sections.
    for (index, bytes) in strings.into_iter().zip([section_names, symbol_names]) {
        output[index].body = Body::Bytes(bytes);
    }
    Plan {
        sections: output,
        symbols,
        flags: file_flags(finalized, driver_note),
        kind: match merged.image() {
            ImageKind::Executable => FileKind::Executable(Segments {
                loads: LOADS,
                header_flags: READ,
                header_load_first: true,
            }),
            ImageKind::Relocatable(_) => FileKind::Relocatable { program_header: 0 },
        },
    }
}

/// A table of section numbers that do not fit into symbols.
fn number_table<'f>(
    name: u32,
    flags: SectionFlags,
    link: u32,
    bytes: Vec<u8>,
) -> OutputSection<'f> {
    OutputSection {
        name,
        kind: SectionType::SYMTAB_SHNDX,
        flags,
        link,
        info: 0,
        align: SECTION_NUMBER,
        entry_size: SECTION_NUMBER,
        body: Body::Bytes(bytes),
        padding: 0,
        segment: None,
    }
}
