//! The tables of section numbers that do not fit into symbols.

use crate::cubin::Place;
use crate::id::SectionId;
use crate::merge::Merged;

use super::super::sections::{number_made_or_known, symbol_sections};
use super::layout::{Layout, NumberTables};
use super::symbols::parameters_place;
use super::{SECTION_NUMBER, Sources};

/// `.symtab_shndx`.
pub(super) fn native(sources: Sources<'_, '_>) -> Vec<u8> {
    let Sources { layout, .. } = sources;
    let merged = sources.merged();
    let number = |s| layout.table_number(merged, s, layout.native.place(merged, s));
    let mut bytes = symbol_sections(sources.finalized, sources.symbols, number);
    let parameters = 0..layout.parameters.len();
    let numbers = parameters.map(|index| {
        let number = layout.parameters_number(index);
        parameters_place(merged, number).extended().unwrap_or(0)
    });
    bytes.extend(numbers.flat_map(u32::to_le_bytes));
    bytes
}

/// `.nv.merc.symtab_shndx`. One that is added is as long as the native one.
pub(super) fn mercury(sources: Sources<'_, '_>) -> Vec<u8> {
    let Sources { layout, .. } = sources;
    let merged = sources.merged();
    let number = |s| layout.table_number(merged, s, layout.mercury_place(merged, s));
    let mut bytes = symbol_sections(sources.finalized, sources.symbols, number);
    if layout.number_tables == NumberTables::Added {
        bytes.resize(
            bytes.len() + layout.parameters.len() * SECTION_NUMBER as usize,
            0,
        );
    }
    bytes
}

impl Layout {
    /// What a table says of a section. Tables that are added say nothing of
    /// numbers that fit.
    fn table_number(&self, merged: &Merged<'_>, section: SectionId, place: Place) -> u32 {
        match self.number_tables {
            NumberTables::Added => place.extended().unwrap_or(0),
            NumberTables::Made | NumberTables::Missing => {
                number_made_or_known(merged, section, place)
            }
        }
    }
}
