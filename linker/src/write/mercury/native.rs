//! The native sections of a Mercury image: those of older images, and the parameter banks of kernels.

use crate::cubin::SectionFlags;
use crate::id::{FunctionId, PrototypeId, SectionId};
use crate::merge::{Section, SectionKind};
use crate::parallel;
use crate::relocate::Patched;

use super::super::image::{Body, OutputSection, SegmentKind};
use super::super::sections::{Generation, Sections, USUAL, section_type};
use super::layout::NumberTables;
use super::{Sources, compat, number_table, numbers, records, symbols};

/// The native world, with the parameter banks.
pub(super) fn sections<'f>(sources: Sources<'f, '_>, tool_record: &[u8]) -> Vec<OutputSection<'f>> {
    let Sources {
        finalized,
        layout,
        names,
        ..
    } = sources;
    let order = &layout.native.order;
    let native = Sections {
        finalized,
        numbers: &layout.native,
        symbols: sources.symbols,
        tool_record,
        generation: sources,
    };
    let mut output = parallel::map(order, order.len() * USUAL, |&id| native.make(id));
    if layout.number_tables == NumberTables::Added {
        let link = layout.native.only(finalized, SectionKind::Symbols);
        let bytes = numbers::native(sources);
        output.push(number_table(
            names.added_numbers,
            SectionFlags::NONE,
            link,
            bytes,
        ));
    }
    let parameters = layout.parameters.iter();
    output.extend(parameters.filter_map(|&f| parameter_bank(sources, f)));
    output
}

impl<'f> Generation<'f> for Sources<'f, '_> {
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
        symbols::native(*self)
    }

    fn first_global(&self) -> u32 {
        match self.layout.parameters.len() {
            0 => self.symbols.first_global(),
            parameters => self.symbols.end() + parameters as u32,
        }
    }

    fn section_numbers(&self) -> Vec<u8> {
        numbers::native(*self)
    }

    fn compat(&self) -> Vec<u8> {
        compat::section(self.finalized)
    }

    fn records(&self, function: Option<FunctionId>) -> Body<'f> {
        Body::Bytes(match function {
            Some(function) => records::native(*self, function),
            None => records::native_module(self.finalized, self.symbols),
        })
    }

    fn signature(&self, prototype: PrototypeId) -> u32 {
        self.names
            .symbols
            .offset(self.merged().prototypes[prototype])
    }

    /// Code headers have no number of registers since sm_90.
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
            SectionKind::Shared if section.target.is_none() && merged.is_executable() => {
                merged.reserved_shared()
            }
            _ => 0,
        }
    }
}

/// The parameter bank of a kernel, which only the native world has.
fn parameter_bank<'f>(sources: Sources<'f, '_>, function: FunctionId) -> Option<OutputSection<'f>> {
    let merged = sources.merged();
    let row = &merged.functions[function];
    let bank = row.own_parameters()?;
    Some(OutputSection {
        name: sources.names.parameters(function, bank.name),
        kind: section_type(SectionKind::Constant(0), merged.image()),
        flags: bank.flags,
        link: 0,
        info: row
            .text
            .map_or(0, |text| sources.layout.native.number[text]),
        align: bank.align,
        entry_size: bank.entry_size,
        body: Body::Borrowed(bank.data),
        padding: 0,
        segment: Some(SegmentKind::Parameters),
    })
}
