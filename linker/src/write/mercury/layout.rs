//! Which sections an image of the Mercury generation has, and their numbers.

use rustc_hash::FxHashMap;

use crate::cubin::Place;
use crate::finalize::Finalized;
use crate::id::{FunctionId, IdVec, SectionId};
use crate::merge::{Merged, Section, SectionKind};

use super::super::image::MANY_SECTIONS;
use super::super::numbering::Presence;
use super::super::sections::SectionNumbers;

/// A section of the Mercury world in the image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Twin {
    Code,
    Debug,
    Info,
    Relocations,
    Data,
    ReservedShared,
}

/// The tables of section numbers that do not fit into symbols.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NumberTables {
    /// All numbers fit.
    Missing,
    /// The native sections alone have numbers that do not fit: `.symtab_shndx` is in its usual place, and the Mercury table
    /// follows the code.
    Made,
    /// Only the Mercury sections have such numbers: one table is added after the native sections, the other before the
    /// Mercury symbols.
    Added,
}

/// Everything that has a number in the image.
pub(super) struct Layout {
    pub(super) native: SectionNumbers,
    /// Kernels whose parameter bank is written, in the order of the banks.
    pub(super) parameters: Vec<FunctionId>,
    /// Their places in that order.
    parameters_index: FxHashMap<FunctionId, usize>,
    /// The Mercury sections in order.
    pub(super) twins: Vec<(Twin, SectionId)>,
    pub(super) twin_number: IdVec<SectionId, u32>,
    pub(super) number_tables: NumberTables,
}

impl Layout {
    pub(super) fn new(finalized: &Finalized<'_>, presence: &Presence) -> Self {
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
        let twins = twins(finalized, presence, &native);
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
            twin_number: merged.sections.each(0),
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

    /// Whether the native world has a section.
    pub(super) fn is_written(&self, section: SectionId) -> bool {
        self.native.number[section] != 0
    }

    /// Which parameter bank is that of a kernel.
    pub(super) fn parameters_index(&self, kernel: FunctionId) -> Option<usize> {
        self.parameters_index.get(&kernel).copied()
    }

    pub(super) fn parameters_number(&self, index: usize) -> u32 {
        let before = usize::from(self.number_tables == NumberTables::Added);
        (self.native.order.len() + before + index) as u32 + 1
    }

    /// The index of the twin that the Mercury table of section numbers comes before.
    pub(super) fn number_table(&self) -> Option<usize> {
        let is_code = |(twin, _): &(Twin, SectionId)| *twin == Twin::Code;
        match self.number_tables {
            NumberTables::Missing => None,
            NumberTables::Made => Some(self.twins.partition_point(is_code)),
            NumberTables::Added => Some(self.twins.len()),
        }
    }

    pub(super) fn symbol_table_number(&self) -> u32 {
        let before = usize::from(self.number_table().is_some());
        self.parameters_number(self.parameters.len() + self.twins.len() + before)
    }

    /// The number of a section in the Mercury world, which has no twin of some.
    pub(super) fn mercury_number(&self, section: SectionId) -> u32 {
        match self.twin_number[section] {
            0 => self.native.number[section],
            number => number,
        }
    }

    /// What symbols of the Mercury world say of a section. nvlink keeps what the native ones say,
    /// where that is no number for it.
    pub(super) fn mercury_place(&self, merged: &Merged<'_>, section: SectionId) -> Place {
        match self.native.place(merged, section) {
            bare @ Place::Reserved(_) => bare,
            _ => Place::Section(self.mercury_number(section)),
        }
    }
}

/// The Mercury sections in their order.
fn twins(
    finalized: &Finalized<'_>,
    presence: &Presence,
    native: &SectionNumbers,
) -> Vec<(Twin, SectionId)> {
    let merged = finalized.merged();
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
    twins
}
