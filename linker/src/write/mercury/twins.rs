//! The sections of the Mercury world.

use crate::cubin::{Relocation as FileRelocation, SectionType};
use crate::id::SectionId;
use crate::merge::{Form, SectionKind};
use crate::parallel;

use super::super::encode;
use super::super::image::{Body, OutputSection};
use super::super::sections::{USUAL, section_type, unified_index, unified_link};
use super::layout::Twin;
use super::{CODE_ALIGN, MERCURY, Sources, number_table, numbers};

/// The Mercury world without its symbols.
pub(super) fn sections<'f>(sources: Sources<'f, '_>) -> Vec<OutputSection<'f>> {
    let Sources { layout, names, .. } = sources;
    let twins: Vec<usize> = (0..layout.twins.len()).collect();
    let mut output = parallel::map(&twins, twins.len() * USUAL, |&index| {
        let (twin, id) = layout.twins[index];
        sources.twin(names.mercury(index), twin, id)
    });
    if let Some(index) = layout.number_table() {
        let bytes = numbers::mercury(sources);
        let link = layout.symbol_table_number();
        let table = number_table(names.mercury_numbers, MERCURY, link, bytes);
        output.insert(index, table);
    }
    output
}

impl<'f> Sources<'f, '_> {
    fn twin(self, name: u32, twin: Twin, id: SectionId) -> OutputSection<'f> {
        let section = &self.merged().sections[id];
        let common = OutputSection {
            name,
            kind: SectionType::PROGBITS,
            flags: section.flags.with(MERCURY),
            link: 0,
            info: 0,
            align: section.content.align,
            entry_size: 0,
            body: Body::Empty(0),
            padding: 0,
            segment: None,
        };
        match twin {
            Twin::Code => self.code(id, common),
            Twin::Debug => self.debug(id, common),
            Twin::Info => self.info(id, common),
            Twin::Relocations => self.relocations(id, common),
            Twin::Data => self.data(id, common),
            Twin::ReservedShared => OutputSection {
                kind: SectionType::CUDA_SHARED_RESERVED,
                // Filled last: its bytes depend on all other sections.
                body: Body::Bytes(Vec::new()),
                ..common
            },
        }
    }

    /// The number of the section that another one is about.
    fn target_number(self, id: SectionId) -> u32 {
        let target = self.merged().sections[id].target;
        target.map_or(0, |target| self.layout.mercury_number(target))
    }

    /// The bytes of the native section, which are in the file once.
    fn shared(self, id: SectionId) -> Body<'f> {
        Body::Shares(self.layout.native.number[id] as usize - 1)
    }

    /// Code says which native section it becomes.
    fn code(self, id: SectionId, common: OutputSection<'f>) -> OutputSection<'f> {
        let section = &self.merged().sections[id];
        let number = self.layout.native.number[id].to_le_bytes();
        let mut bytes = self.finalized.relocated.sections[id].bytes.to_vec();
        bytes[..number.len()].copy_from_slice(&number);
        let symbol = |function| self.symbols.of_function(self.finalized, function);
        OutputSection {
            kind: SectionType::CUDA_CAPMERC,
            flags: MERCURY,
            link: self.layout.symbol_table_number(),
            info: section.function.map_or(0, symbol),
            align: CODE_ALIGN,
            entry_size: section.entry_size,
            body: Body::Bytes(bytes),
            ..common
        }
    }

    fn debug(self, id: SectionId, common: OutputSection<'f>) -> OutputSection<'f> {
        let relocated = &self.finalized.relocated;
        let bytes = &relocated.sections[id].bytes;
        let native = self.merged().sections[id].native.as_ref();
        let twin = relocated.native[id].as_ref();
        let is_shared = native.is_some_and(|native| native.shares_bytes)
            && twin.is_some_and(|twin| twin.bytes == *bytes);
        OutputSection {
            body: match is_shared || bytes.is_empty() {
                true => self.shared(id),
                false => Body::Borrowed(bytes),
            },
            ..common
        }
    }

    fn info(self, id: SectionId, common: OutputSection<'f>) -> OutputSection<'f> {
        let merged = self.merged();
        let section = &merged.sections[id];
        let symbol_table = self.layout.symbol_table_number();
        let kind = section_type(section.kind, merged.image());
        match section.kind {
            SectionKind::UnifiedEntries(members) => OutputSection {
                kind,
                entry_size: section.entry_size,
                link: unified_link(merged, members, symbol_table),
                body: Body::Bytes(encode::unified(merged, members, self.symbols)),
                ..common
            },
            SectionKind::UnifiedIndex => OutputSection {
                kind,
                body: unified_index(self.finalized, id),
                ..common
            },
            SectionKind::HostData => OutputSection {
                kind,
                body: Body::Borrowed(merged.host_data()),
                ..common
            },
            _ => {
                let figures = &self.finalized.figures;
                let records = match merged.served(section) {
                    Some(function) => &figures.function_records[function][..],
                    None => &figures.module_records,
                };
                OutputSection {
                    kind: SectionType::CUDA_MERC_INFO,
                    link: symbol_table,
                    info: self.target_number(id),
                    body: Body::records(records),
                    ..common
                }
            }
        }
    }

    fn relocations(self, id: SectionId, common: OutputSection<'f>) -> OutputSection<'f> {
        let section = &self.merged().sections[id];
        let patched = section
            .target
            .map(|t| &self.finalized.relocated.sections[t]);
        let (kind, body) = if section.kind == SectionKind::ResolvedRela {
            let resolved = patched.map_or(&[][..], |patched| &patched.resolved);
            let bytes = encode::resolved(resolved, self.symbols);
            (SectionType::CUDA_MERC_RESOLVED_RELA, Body::Bytes(bytes))
        } else {
            let kept = patched.map_or(&[][..], |patched| &patched.kept);
            (
                SectionType::CUDA_MERC_RELA,
                Body::relocations(kept, Form::Rela),
            )
        };
        OutputSection {
            kind,
            link: self.layout.symbol_table_number(),
            info: self.target_number(id),
            entry_size: FileRelocation::RELA_SIZE as u64,
            body,
            ..common
        }
    }

    fn data(self, id: SectionId, common: OutputSection<'f>) -> OutputSection<'f> {
        let section = &self.merged().sections[id];
        let has_own_bytes = section.native.as_ref().is_some_and(|n| !n.shares_bytes);
        OutputSection {
            kind: match section.kind {
                SectionKind::Constant(bank) => SectionType::constant(bank),
                SectionKind::UnifiedData => SectionType::CUDA_UDT,
                _ => SectionType::CUDA_GLOBAL_INIT,
            },
            info: self.target_number(id),
            body: match has_own_bytes {
                true => Body::Borrowed(&self.finalized.relocated.sections[id].bytes),
                false => self.shared(id),
            },
            ..common
        }
    }
}
