//! What is inside a section, by its type.

use super::file::{self, File};
use super::{
    CallGraph, Capsule, CompatRecord, CompatRecords, InfoRecord, InfoRecords, Note, Prototype,
    Relocation, RelocationAction, Section, SectionType, Symbol, UnifiedEntry,
};
use crate::error::ParseError;

/// The decoded bytes of a section. Symbol and section numbers are the file's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content<'d> {
    /// A section without bytes in the file.
    Empty,
    /// A string table: strings, each ended by NUL.
    Strings(&'d [u8]),
    /// `.symtab` or `.nv.merc.symtab`.
    Symbols(Vec<Symbol<'d>>),
    /// `.symtab_shndx`: a section number for every symbol.
    SymbolSections(Vec<u32>),
    /// Relocations of any kind.
    Relocations(Vec<Relocation>),
    /// `.nv.info*` and `.nv.merc.nv.info*`.
    Info(Vec<InfoRecord<'d>>),
    /// `.nv.compat`.
    Compat(Vec<CompatRecord<'d>>),
    /// `.nv.callgraph`.
    CallGraph(CallGraph),
    /// `.nv.prototype`.
    Prototypes(Vec<Prototype>),
    /// `.note.*`.
    Notes(Vec<Note<'d>>),
    /// `.nv.rel.action`.
    RelocationActions(Vec<RelocationAction>),
    /// `.nv.uft.entry` and `.nv.udt.entry`.
    UnifiedEntries(Vec<UnifiedEntry>),
    /// `.nv.capmerc.*`.
    Capsule(Capsule<'d>),
    /// Anything else, and any section that does not encode to its own bytes
    /// again, for example because its padding is not zero.
    Bytes(&'d [u8]),
}

impl<'d> Content<'d> {
    /// Decodes section number `index`. Errors name the section.
    pub(super) fn decode(file: &File<'d>, index: usize) -> Result<Self, ParseError> {
        let section = &file.sections[index];
        let content = Self::decode_typed(file, index, section)
            .map_err(|error| error.in_section(section.name))?;
        let same = match &content {
            Self::Empty | Self::Strings(_) | Self::Bytes(_) => true,
            decoded => decoded.encode() == section.data,
        };
        Ok(if same {
            content
        } else {
            Self::Bytes(section.data)
        })
    }

    fn decode_typed(
        file: &File<'d>,
        index: usize,
        section: &Section<'d>,
    ) -> Result<Self, ParseError> {
        let data = section.data;
        Ok(match section.kind {
            kind if !kind.has_bytes(section.flags) => Self::Empty,
            SectionType::STRTAB => Self::Strings(data),
            SectionType::SYMTAB | SectionType::CUDA_MERC_SYMTAB => {
                Self::Symbols(file.symbol_table(index)?)
            }
            SectionType::SYMTAB_SHNDX => Self::SymbolSections(file::words(section)?.collect()),
            SectionType::REL
            | SectionType::RELA
            | SectionType::CUDA_RESOLVED_RELA
            | SectionType::CUDA_MERC_RELA
            | SectionType::CUDA_MERC_RESOLVED_RELA => {
                Self::Relocations(File::relocations(section)?.collect())
            }
            SectionType::CUDA_INFO | SectionType::CUDA_MERC_INFO => {
                Self::Info(InfoRecords::new(data).collect::<Result<_, _>>()?)
            }
            SectionType::CUDA_COMPAT => {
                Self::Compat(CompatRecords::new(data).collect::<Result<_, _>>()?)
            }
            SectionType::CUDA_CALLGRAPH => Self::CallGraph(CallGraph::parse(data)?),
            SectionType::CUDA_PROTOTYPE => Self::Prototypes(Prototype::parse_all(data)?.collect()),
            SectionType::NOTE => Self::Notes(Note::parse_all(data)?),
            SectionType::CUDA_RELOC_ACTION => {
                Self::RelocationActions(RelocationAction::parse_all(data)?)
            }
            SectionType::CUDA_UFT_ENTRY | SectionType::CUDA_UDT_ENTRY => {
                Self::UnifiedEntries(UnifiedEntry::parse_all(data)?)
            }
            SectionType::CUDA_CAPMERC => Self::Capsule(Capsule::parse(data)?),
            _ => Self::Bytes(data),
        })
    }

    /// The bytes of the section.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        match self {
            Self::Empty => {}
            Self::Strings(bytes) | Self::Bytes(bytes) => out.extend(*bytes),
            Self::Symbols(symbols) => symbols.iter().for_each(|s| s.encode(&mut out)),
            Self::SymbolSections(numbers) => {
                out.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
            }
            Self::Relocations(relocations) => {
                relocations.iter().for_each(|r| r.encode(&mut out));
            }
            Self::Info(records) => records.iter().for_each(|r| r.encode(&mut out)),
            Self::Compat(records) => records.iter().for_each(|r| r.encode(&mut out)),
            Self::CallGraph(graph) => out = graph.encode(),
            Self::Prototypes(entries) => entries.iter().for_each(|e| e.encode(&mut out)),
            Self::Notes(notes) => notes.iter().for_each(|n| n.encode(&mut out)),
            Self::RelocationActions(actions) => actions.iter().for_each(|a| a.encode(&mut out)),
            Self::UnifiedEntries(entries) => entries.iter().for_each(|e| e.encode(&mut out)),
            Self::Capsule(capsule) => out = capsule.encode(),
        }
        out
    }
}
