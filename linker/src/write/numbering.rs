//! Which sections and symbols are written, and their numbers.

use crate::arch::reserved;
use crate::cubin::{Place, SymbolType, section_name};
use crate::finalize::Finalized;
use crate::id::{FunctionId, IdVec, SectionId, SymbolId};
use crate::layout::NullSymbol;
use crate::merge::{Definition, Form, Merged, Section, SectionKind};

/// Sections that are written, in creation order, and their relocations.
pub(super) struct Presence {
    pub(super) sections: Vec<SectionId>,
    pub(super) is_present: IdVec<SectionId, bool>,
}

/// Whether a section of relocations against `target` holds any.
pub(super) fn has_relocations(
    finalized: &Finalized<'_>,
    target: Option<SectionId>,
    form: Form,
) -> bool {
    let relocated = &finalized.relocated;
    target.is_some_and(|target| {
        let native = relocated.native[target]
            .iter()
            .flat_map(|native| &native.kept);
        relocated.sections[target]
            .kept
            .iter()
            .chain(native)
            .any(|r| r.form == form)
    })
}

impl Presence {
    pub(super) fn new(finalized: &Finalized<'_>) -> Self {
        let pruned = finalized.pruned();
        let mut is_present = pruned.merged.sections.each(false);
        let mut sections = Vec::new();
        for (id, kind) in pruned.merged.sections.kinds() {
            if pruned.live.sections[id] && is_written(finalized, id, kind) {
                is_present[id] = true;
                sections.push(id);
            }
        }
        Self {
            sections,
            is_present,
        }
    }
}

/// Whether a section is part of the image.
fn is_written(finalized: &Finalized<'_>, id: SectionId, kind: SectionKind) -> bool {
    let merged = finalized.merged();
    let section = &merged.sections[id];
    match kind {
        // Sections that are not written count too.
        SectionKind::SymbolSections => {
            let last = merged.sections.enumerate().next_back();
            last.is_some_and(|(id, _)| merged.sections.creation_number(id) >= Place::FIRST_RESERVED)
        }
        // A relocatable link names it all the same.
        SectionKind::Constant(1..) if section.target.is_some() => section.content.size > 0,
        SectionKind::Rel => has_relocations(finalized, section.target, merged.short_form(id)),
        SectionKind::Rela => has_relocations(finalized, section.target, Form::Rela),
        SectionKind::ResolvedRela => section.target.is_some_and(|target| {
            let relocated = &finalized.relocated;
            let native = relocated.native[target].as_ref();
            !relocated.sections[target].resolved.is_empty()
                || native.is_some_and(|native| !native.resolved.is_empty())
        }),
        SectionKind::Shared => {
            let live = &finalized.pruned().live.sections;
            let is_used = section.target.is_none_or(|kernel| live[kernel]);
            is_used && (section.keep_empty || section.content.size > 0)
        }
        SectionKind::Prototype => !finalized.figures.prototypes.is_empty(),
        SectionKind::Info => match merged.served(section) {
            Some(function) => !finalized.figures.function_records[function].is_empty(),
            None => !finalized.figures.module_records.is_empty(),
        },
        SectionKind::SectionNames
        | SectionKind::SymbolNames
        | SectionKind::Symbols
        | SectionKind::ToolNote
        | SectionKind::DriverNote
        | SectionKind::Compat
        | SectionKind::CallGraph
        | SectionKind::RelocAction
        | SectionKind::Constant(_)
        | SectionKind::Text
        | SectionKind::Stubs
        | SectionKind::UnifiedData
        | SectionKind::UnifiedEntries(_)
        | SectionKind::UnifiedIndex
        | SectionKind::HostData
        | SectionKind::GlobalInit
        | SectionKind::Global
        | SectionKind::SharedReserved
        | SectionKind::Debug => true,
    }
}

/// The symbols that are written, in their order, and the number of each.
#[derive(Debug)]
pub(super) struct SymbolNumbers {
    /// Local ones, then global ones.
    pub(super) order: Vec<SymbolId>,
    pub(super) locals: usize,
    /// The number of the first one: 1 after the null symbol, 0 without it.
    pub(super) first: u32,
    pub(super) number: IdVec<SymbolId, u32>,
}

impl SymbolNumbers {
    pub(super) fn new(finalized: &Finalized<'_>, presence: &Presence) -> Self {
        let merged = finalized.merged();
        let written = |&&symbol: &&SymbolId| is_symbol_written(finalized, presence, symbol);
        let mut order: Vec<SymbolId> = merged
            .symbols
            .locals
            .iter()
            .filter(written)
            .copied()
            .collect();
        let locals = order.len();
        order.extend(merged.symbols.globals.iter().filter(written));
        let first = match finalized.relocated.laid_out.null_symbol {
            NullSymbol::Written(_) => 1,
            NullSymbol::Dropped => 0,
        };
        let mut number = merged.symbols.each(0);
        for (index, &symbol) in order.iter().enumerate() {
            number[symbol] = index as u32 + first;
        }
        Self {
            order,
            locals,
            first,
            number,
        }
    }

    /// Number of the first global symbol.
    pub(super) fn first_global(&self) -> u32 {
        self.locals as u32 + self.first
    }

    /// The number after the last one.
    pub(super) fn end(&self) -> u32 {
        self.order.len() as u32 + self.first
    }

    /// The number that nvlink leaves for the section of the first symbol where this takes the place of the null symbol: the
    /// one that it was made with (case `whole_program_module`).
    pub(super) fn first_section(&self, merged: &Merged<'_>) -> u32 {
        let first = self.order.first().map(|&id| merged.symbols[id].definition);
        match first {
            Some(Definition::Section(section)) => merged.sections.creation_number(section),
            _ => 0,
        }
    }

    /// Number of a function's symbol.
    pub(super) fn of_function(&self, finalized: &Finalized<'_>, function: FunctionId) -> u32 {
        self.number[finalized.merged().functions[function].symbol]
    }
}

/// Whether a symbol is part of the image.
fn is_symbol_written(finalized: &Finalized<'_>, presence: &Presence, id: SymbolId) -> bool {
    let pruned = finalized.pruned();
    let symbol = &pruned.merged.symbols[id];
    if !pruned.live.symbols[id] {
        return false;
    }
    match symbol.definition {
        Definition::Section(section) if symbol.kind == SymbolType::SECTION => {
            let section_row = &pruned.merged.sections[section];
            // The module's section gets it when it is written.
            let has_reserved = pruned.merged.target.has_mercury()
                && pruned.merged.is_executable()
                && section_row.target.is_some();
            let reserved = match has_reserved {
                true => pruned.merged.reserved_shared(),
                false => 0,
            };
            // In relocatable objects it need not be empty.
            let is_kept_empty = !pruned.merged.is_executable() && section_row.keep_empty;
            presence.is_present[section]
                && !is_kept_empty
                && has_section_symbol(pruned.merged.sections.kind(section), section_row, reserved)
        }
        // The tables are the last link's, and no matter where there is none.
        Definition::Undefined => {
            !pruned.merged.is_executable()
                || pruned.merged.settings.unified_index.is_some()
                || !reserved::is_unified_table(symbol.name)
        }
        Definition::Section(_) | Definition::Common | Definition::Shared(_) => true,
        Definition::Never => !pruned.merged.is_executable(),
        Definition::Lost => false,
    }
}

/// Tables and records have no symbol of their own, nor have empty sections.
/// In Mercury images what the system reserves of shared memory does not count
/// (case `shared_extern`).
fn has_section_symbol(kind: SectionKind, section: &Section<'_>, reserved: u64) -> bool {
    match kind {
        SectionKind::SectionNames
        | SectionKind::SymbolNames
        | SectionKind::Symbols
        | SectionKind::SymbolSections
        | SectionKind::Info
        | SectionKind::Compat
        | SectionKind::Rel
        | SectionKind::Rela
        | SectionKind::ResolvedRela => false,
        // The compiler says of variables of a multiple of 4 GiB that they have no bytes (case `huge_variables`).
        SectionKind::Debug | SectionKind::Global => section.content.size > 0,
        SectionKind::Shared => {
            section.content.size > reserved
                || !section.name.starts_with(section_name::SHARED_OF)
                    && !section.name.starts_with(".nv_debug")
        }
        SectionKind::ToolNote
        | SectionKind::DriverNote
        | SectionKind::CallGraph
        | SectionKind::Prototype
        | SectionKind::RelocAction
        | SectionKind::Constant(_)
        | SectionKind::Text
        | SectionKind::Stubs
        | SectionKind::UnifiedData
        | SectionKind::UnifiedEntries(_)
        | SectionKind::UnifiedIndex
        | SectionKind::HostData
        | SectionKind::GlobalInit
        | SectionKind::SharedReserved => true,
    }
}
