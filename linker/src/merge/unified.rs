//! Functions and variables that all images of a program share.
//!
//! Each has an identity, by which an index finds its place in a table. A
//! function's place is a slot, the code of its stub, which jumps to it.

use rustc_hash::FxHashMap;

use crate::cubin::{Capsule, SectionFlags, Symbol as FileSymbol, UnifiedEntry, UnifiedTable};
use crate::error::ParseError;
use crate::id::{SectionId, SymbolId};
use crate::options::Behaviour;
use crate::read::InputSection;

use super::current::{Current, Placed};
use super::merger::Merger;
use super::{Definition, NewSection, STUB_SIZE, SectionKind};

impl Merger<'_, '_> {
    /// Whether the index in an input becomes part of the image. nvlink puts all
    /// that there are one behind the other (case `unified_program`).
    pub(super) fn takes_index(&self) -> bool {
        let mut sections = self.merged.sections.iter();
        self.behaviour == Behaviour::Nvlink
            || !sections.any(|section| section.kind == SectionKind::UnifiedIndex)
    }
}

/// How many instructions the slot of a unified function has less than others before what ends it: the others are so much longer
/// in Mercury code (case `unified_arguments`).
pub(crate) fn missing_in_slot(capsule: &Capsule<'_>) -> usize {
    const BODY_AND_END: usize = 7;
    BODY_AND_END.saturating_sub(capsule.instructions.max(1) as usize)
}

/// The tables of a link.
#[derive(Debug, Default)]
pub(crate) struct Unified {
    /// The entries of `.nv.uft.entry`, in input order.
    pub(crate) functions: Vec<UnifiedMember>,
    /// The entries of `.nv.udt.entry`, in input order.
    pub(crate) variables: Vec<UnifiedMember>,
    /// Whether an object has a slot, whether its table lists that or not.
    pub(crate) has_slots: bool,
    /// The slots in machine code, in the Mercury generation.
    pub(crate) native_slots: FxHashMap<SymbolId, NativeSlot>,
}

/// The native slot of a unified function, as the image describes it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NativeSlot {
    /// Offset in `.nv.uft`.
    pub(crate) place: u64,
    /// Size of the symbol.
    pub(crate) size: u64,
    /// Its size in `.debug_frame`.
    pub(crate) described: u64,
    /// Whether its `MIN_STACK_SIZE` is what it needs, and not that of the last slot, and its lines are those of the compiler.
    pub(crate) is_own: bool,
}

impl Unified {
    /// The entries of a table.
    pub(crate) fn members(&self, table: UnifiedTable) -> &[UnifiedMember] {
        match table {
            UnifiedTable::Functions => &self.functions,
            UnifiedTable::Variables => &self.variables,
        }
    }

    /// The entries of a table, to be changed.
    pub(crate) fn members_mut(&mut self, table: UnifiedTable) -> &mut Vec<UnifiedMember> {
        match table {
            UnifiedTable::Functions => &mut self.functions,
            UnifiedTable::Variables => &mut self.variables,
        }
    }
}

/// A function or variable that all images of a program share.
#[derive(Debug, Clone, Copy)]
pub(crate) struct UnifiedMember {
    /// The function itself, not its stub.
    pub(crate) symbol: SymbolId,
    pub(crate) identity: [u64; 2],
    pub(crate) slot: Slot,
}

/// Where something stands in its table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Slot {
    /// At its place in the merged section.
    Merged,
    /// In this slot of the index.
    Indexed(u64),
}

impl<'d> Merger<'d, '_> {
    /// The section of a table's entries, made if need be.
    pub(super) fn unified_entries(&mut self, table: UnifiedTable, align: u64) -> SectionId {
        let name = match table {
            UnifiedTable::Functions => ".nv.uft.entry",
            UnifiedTable::Variables => ".nv.udt.entry",
        };
        self.section(NewSection::new(
            name,
            SectionKind::UnifiedEntries(table),
            align,
        ))
    }

    /// Collects the entries of an input. A weak variable that several inputs
    /// define is one.
    pub(super) fn merge_unified(
        &mut self,
        current: &Current<'_, 'd>,
        table: UnifiedTable,
        section: &InputSection<'d>,
    ) -> Result<(), ParseError> {
        self.unified_entries(table, 8);
        for entry in UnifiedEntry::parse_all(section.data)? {
            current.object.symbol(entry.symbol)?;
            let symbol = current.symbols[entry.symbol as usize].ok_or_else(|| {
                ParseError::malformed(format!(
                    "symbol {} is neither a function nor a variable",
                    entry.symbol
                ))
            })?;
            self.merged.unified.members_mut(table).push(UnifiedMember {
                symbol,
                identity: entry.identity,
                slot: Slot::Merged,
            });
        }
        Ok(())
    }

    /// Puts the slot of a unified function behind the others. All slots are
    /// one section of code for nvlink, that of the first one.
    pub(super) fn define_stub(
        &mut self,
        current: &mut Current<'_, 'd>,
        id: SymbolId,
        symbol: &FileSymbol<'d>,
        text: usize,
    ) -> Result<(), ParseError> {
        let input = current.object.sections[text];
        let has_slot = self.merged.target.has_mercury() || input.size == STUB_SIZE;
        if !has_slot || symbol.value != 0 {
            let problem = format!("it is no slot of {STUB_SIZE} bytes that begins with a function");
            return Err(ParseError::malformed(problem)
                .in_section(input.name)
                .of_symbol(symbol.name));
        }
        let function = self.row_of(id);
        let section = NewSection::new(".nv.uft", SectionKind::Stubs, input.align);
        let section = self.section(section.with_flags(SectionFlags::CODE));
        let row = &mut self.merged.sections[section];
        // Mercury code is shorter than what it stands for.
        let base = row.content.append(input.data, STUB_SIZE, STUB_SIZE);
        current.placed[text] = Some(Placed { section, base });
        row.function.get_or_insert(function);
        let merged = &mut self.merged.symbols[id];
        merged.binding = symbol.binding;
        merged.other = symbol.other;
        merged.size = symbol.size;
        merged.input = Some(current.id);
        merged.value = base;
        merged.definition = Definition::Section(section);
        let name = ".nv.info..nv.uft";
        let info = self.section(NewSection::list(name, SectionKind::Info, section));
        let row = &mut self.merged.functions[function];
        row.is_stub = true;
        row.text = Some(section);
        row.info = Some(info);
        Ok(())
    }
}
