//! The state of a merge in progress, and how sections come to be.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::arena::Arena;
use crate::cubin::{SectionFlags, UnifiedTable};
use crate::diagnostic::{Diagnostic, Diagnostics, Severity};
use crate::error::ParseError;
use crate::id::{FunctionId, Id as _, IdVec, InputId, PrototypeId, SectionId, SymbolId};
use crate::options::{
    DebugLevel, EarlyAddresses, ImageKind, Keeping, KernelFilter, Options, RelocationForms,
    ResolvedRelocations,
};
use crate::read::{HANDLES_BANK, InputSection, Object, Role};

use super::current::{Current, Placed};
use super::index::{self, Index};
use super::notes::{Origin, newest_toolkit};
use super::{InfoRecord, Listing, Merged, NativeContent, NewSection, SectionKind, Symbol};

pub(super) struct Merger<'d, 'l> {
    pub(super) arena: &'d Arena,
    pub(super) merged: Merged<'d>,
    pub(super) diagnostics: &'l mut Diagnostics,
    filter: &'l KernelFilter,
    pub(super) keeping: Keeping,
    debug: DebugLevel,
    warnings_are_errors: bool,
    company: &'l [usize],
    /// The first section of each name and target.
    sections: Index<SectionId>,
    /// The first memory of kernels of each name, once one of them is static: nvlink
    /// looks for it by its name alone (case `static_kernels`).
    pub(super) memory: Option<FxHashMap<&'d str, SectionId>>,
    /// Compiler constants of device functions that are in use, by their names
    /// and what they belong to.
    pub(super) moved_sections: FxHashMap<(&'d str, Option<SectionId>), SectionId>,
    /// Symbols that are known in all inputs.
    names: Index<SymbolId>,
    /// Registers that the definition in use of a weak function needs.
    pub(super) registers: FxHashMap<SymbolId, u32>,
    /// What compiled each input.
    pub(super) origins: IdVec<InputId, Origin>,
    /// Whether a compiler older than CUDA 13 made the first input that uses
    /// tensor memory.
    pub(super) has_older_tensor_memory: Option<bool>,
    /// The inputs that nvlink goes on naming when another one's definition is
    /// in use.
    pub(super) first_inputs: FxHashMap<SymbolId, InputId>,
    /// The first input that has a static function or variable of a name, and whether that is a kernel. Only nvlink compares
    /// functions that all files know with these.
    pub(super) statics: FxHashMap<&'d str, (InputId, bool)>,
    prototype_ids: FxHashMap<&'d str, PrototypeId>,
    /// The records of the section at hand; empty between sections.
    pub(super) records_of_section: Vec<InfoRecord<'d>>,
    /// Names of the sections for what is resolved.
    pub(super) records: FxHashSet<&'d str>,
    /// What stands for labels of code that the compiler left out, where
    /// something does (case `debug_lost_labels`).
    pub(super) lost: Option<SymbolId>,
    /// The size of the program's constants, which has one name in all inputs.
    pub(super) constants_size: Option<SymbolId>,
    /// What functions call and refer to, in relocatable objects.
    pub(super) calls_seen: FxHashSet<(FunctionId, FunctionId)>,
    pub(super) references_seen: FxHashSet<(FunctionId, FunctionId)>,
    /// Tentative definitions that also have a strong one without value.
    pub(super) defined_commons: FxHashSet<SymbolId>,
    /// The values that tentative definitions had before, where they were known.
    pub(super) values_before: FxHashMap<SymbolId, u64>,
}

fn has_unified_functions(object: &Object<'_>) -> bool {
    let functions = Role::UnifiedEntries(UnifiedTable::Functions);
    object.has_unified_symbols && object.sections.iter().any(|s| s.role == functions)
}

/// Whether something stands for labels of code that the compiler left out (case `debug_lost_labels`).
fn finds_lost_labels(options: &Options) -> bool {
    let is_recorded = options.settings.resolved_relocations == ResolvedRelocations::Recorded
        && options.settings.image != ImageKind::Relocatable(EarlyAddresses::Leave)
        && !options.target.has_mercury();
    options.settings.image.is_executable() || is_recorded
}

/// Merges the objects in their order. Kernels that `filter` leaves out by parts
/// of their names are no kernels from the start; what the host names is looked
/// at when everything is known. What comes behind them may be an object with `damage`.
pub(crate) fn merge<'d>(
    objects: &[Object<'d>],
    damage: Option<ParseError>,
    arena: &'d Arena,
    options: &Options,
    diagnostics: &mut Diagnostics,
) -> Result<Merged<'d>, ParseError> {
    let mut merger = Merger::new(options, objects, arena, diagnostics);
    let merged = objects
        .iter()
        .enumerate()
        .try_for_each(|(index, object)| merger.merge_next(InputId::new(index), object));
    let merged = merged.and_then(|()| match damage {
        Some(damage) => {
            let name = damage.location.input.as_deref();
            merger.warn_of_company(objects.len(), name.unwrap_or_default())?;
            Err(End::Damage(damage))
        }
        None => merger.check_types(objects),
    });
    match merged {
        Ok(()) => {
            if options.is_followed {
                merger.diagnostics.push(Diagnostic::behind_runtime());
                return Ok(merger.merged);
            }
            merger.merged.check_lost_commons()?;
            Ok(merger.merged)
        }
        Err(End::Reported) => Ok(merger.merged),
        Err(End::Damage(error)) => Err(error),
    }
}

/// Why a merge ends before the last object.
pub(super) enum End {
    Damage(ParseError),
    /// What follows a failed merge would be about its consequences.
    Reported,
}

impl<'d, 'l> Merger<'d, 'l> {
    fn new(
        options: &'l Options,
        objects: &[Object<'d>],
        arena: &'d Arena,
        diagnostics: &'l mut Diagnostics,
    ) -> Self {
        let sections: usize = objects.iter().map(|object| object.sections.len()).sum();
        let symbols: usize = objects.iter().map(|object| object.symbols.len()).sum();
        let inputs = objects.iter().map(|object| object.name.clone()).collect();
        let origins: IdVec<InputId, Origin> = objects
            .iter()
            .map(|object| Origin::of(object, options.keeping))
            .collect();
        let toolkit = newest_toolkit(origins.iter());
        let merged = Merged::new(options, inputs, toolkit, sections, symbols);
        let mut merger = Self {
            arena,
            diagnostics,
            // A link that says something to debuggers keeps all kernels (case
            // `debug_dead_code`).
            filter: match options.settings.debug {
                DebugLevel::None | DebugLevel::Code => &options.kernels,
                DebugLevel::Symbols => &KernelFilter::All,
            },
            keeping: options.keeping,
            debug: options.settings.debug,
            warnings_are_errors: options.warnings_are_errors,
            company: &options.company,
            // Half of the sections are code and constants, each with its names.
            sections: Index::with_room(sections / 2),
            memory: None,
            moved_sections: FxHashMap::default(),
            // So do variables, which share their sections.
            names: Index::with_room(symbols.saturating_sub(sections).max(sections / 2)),
            registers: FxHashMap::default(),
            origins,
            has_older_tensor_memory: None,
            first_inputs: FxHashMap::default(),
            statics: FxHashMap::default(),
            prototype_ids: FxHashMap::default(),
            records_of_section: Vec::new(),
            records: FxHashSet::default(),
            lost: finds_lost_labels(options).then_some(merged.nothing),
            constants_size: None,
            calls_seen: FxHashSet::default(),
            references_seen: FxHashSet::default(),
            defined_commons: FxHashSet::default(),
            values_before: FxHashMap::default(),
            merged,
        };
        merger.add_first_sections(options, objects);
        merger
    }

    /// Makes the sections that stand before those of inputs, whatever these hold.
    fn add_first_sections(&mut self, options: &Options, objects: &[Object<'d>]) {
        for section in [
            NewSection::new(".shstrtab", SectionKind::SectionNames, 1),
            NewSection::new(".strtab", SectionKind::SymbolNames, 1),
            NewSection::new(".symtab", SectionKind::Symbols, 8),
            NewSection::new(".symtab_shndx", SectionKind::SymbolSections, 4),
            NewSection::new(".note.nv.tkinfo", SectionKind::ToolNote, 4)
                .with_flags(SectionFlags::TOOL_NOTE),
            NewSection::new(".note.nv.cuinfo", SectionKind::DriverNote, 4)
                .with_flags(SectionFlags::DEVICE_NOTE),
        ] {
            self.section(section);
        }
        if options.settings.image.is_executable() && objects.iter().any(has_unified_functions) {
            self.unified_entries(UnifiedTable::Functions, 32);
        }
        self.section(NewSection::new(".nv.info", SectionKind::Info, 4));
        if options.target.is_hopper_or_newer() {
            self.section(NewSection::new(".nv.compat", SectionKind::Compat, 4));
        }
        if options.settings.unified_index.is_some() {
            self.section(NewSection::new(".nv.uidx", SectionKind::UnifiedIndex, 1));
        }
        if options.settings.host_data.is_some() {
            self.section(NewSection::new(".nv.host", SectionKind::HostData, 8));
        }
    }

    /// Whether a kernel of this name counts as one.
    pub(super) fn is_kernel(&self, name: &str) -> bool {
        match self.filter {
            KernelFilter::Containing(_) | KernelFilter::MatchingOptimized(_) => {
                self.filter.keeps(name)
            }
            KernelFilter::All | KernelFilter::Matching(_) => true,
        }
    }

    /// Warns of an object beside whole programs (case `whole_program_company`).
    fn warn_of_company(&mut self, index: usize, name: &str) -> Result<(), End> {
        if self.company.binary_search(&index).is_err() {
            return Ok(());
        }
        let warning = Diagnostic::whole_program_company(name);
        if !self.warnings_are_errors {
            self.diagnostics.push(warning);
            return Ok(());
        }
        let severity = Severity::Error;
        self.diagnostics.push(Diagnostic {
            severity,
            ..warning
        });
        self.diagnostics.push(Diagnostic::merge_failed());
        Err(End::Reported)
    }

    /// Merges an object, unless there are errors.
    fn merge_next(&mut self, id: InputId, object: &Object<'d>) -> Result<(), End> {
        self.warn_of_company(id.index(), &object.name)?;
        self.merged.notes.add(self.origins[id]);
        let merged = self.merge_object(id, object);
        let problem = match merged {
            // What names that clash lead to, was reported when they did; call
            // graphs do not say how kernels are called (case `kernel_mismatch`).
            Err(error) if self.diagnostics.has_errors() && !self.ends_as_nvlink(&error) => {
                match self.misses_function(object) {
                    true => Diagnostic::no_call_graph_node(),
                    false => Diagnostic::merge_failed(),
                }
            }
            Err(error) => return Err(End::Damage(error.in_input(&object.name))),
            Ok(()) if self.diagnostics.has_errors() => Diagnostic::merge_failed(),
            Ok(()) if self.warnings_are_errors && self.diagnostics.has_warnings() => {
                Diagnostic::merge_failed()
            }
            Ok(()) => return Ok(()),
        };
        self.diagnostics.push(problem);
        Err(End::Reported)
    }

    /// Whether nvlink ends at once where it finds the damage.
    fn ends_as_nvlink(&self, error: &ParseError) -> bool {
        self.keeping == Keeping::AsNvlink && error.nvlink.is_some()
    }

    fn merge_object(&mut self, id: InputId, object: &Object<'d>) -> Result<(), ParseError> {
        if self.keeping == Keeping::Reachable || self.merged.target.has_mercury() {
            object.check_alignments()?;
        }
        let mut current = Current::new(id, object, self.keeping);
        if let Some(virtual_sm) = object.virtual_sm {
            self.merged.notes.merge_header(virtual_sm);
        }
        self.merge_functions(&mut current)?;
        self.forget_replaced(&current.replaced);
        self.merge_variables(&mut current)?;
        self.forget_pointers(&current.replaced_variables);
        self.check_tensor_memory(&current);
        self.merge_section_symbols(&mut current);
        // The memory of kernels comes last in the Mercury generation (case `whole_program_chosen`).
        let has_last = object.is_whole_program && self.merged.target.has_mercury();
        let is_last = |section: &InputSection<'d>| {
            has_last && section.role == Role::Shared && section.target().is_some()
        };
        let sections = || object.sections.iter().enumerate();
        let first = sections().filter(|(_, section)| !is_last(section));
        let last = sections().filter(|(_, section)| is_last(section));
        for (index, section) in first.chain(last) {
            self.merge_section(&mut current, index, section)
                .map_err(|e| e.in_section(section.name))?;
        }
        self.check_addresses(&current);
        self.merge_native(&current)
    }

    /// Sections that only a section symbol leads to: debug information,
    /// parameters, data without symbols of its own.
    fn merge_section_symbols(&mut self, current: &mut Current<'_, 'd>) {
        let symbols = current.object.symbols.iter();
        let mut sections: Vec<u32> = symbols
            .filter(|symbol| symbol.kind.leads_to_section())
            .filter_map(|symbol| symbol.place.section())
            .collect();
        // Debug sections that are empty have no symbol (case `lineinfo_empty`).
        let all = current.object.sections.iter().enumerate();
        sections.extend(
            all.filter(|(_, section)| section.role == Role::Debug)
                .map(|(index, _)| index as u32),
        );
        sections.sort_unstable();
        sections.dedup();
        for index in sections {
            match current.object.sections[index as usize].role {
                Role::UnifiedEntries(table) => {
                    self.unified_entries(table, 8);
                }
                Role::Constant(_)
                | Role::GlobalInit
                | Role::UnifiedData
                | Role::Debug
                | Role::UnifiedIndex
                | Role::SharedReserved => {
                    if self.place(current, index as usize).is_none() {
                        self.merge_unused_constants(current, index as usize);
                    }
                }
                // These are merged by their symbols or record by record.
                Role::Ignored
                | Role::Strings
                | Role::Symbols
                | Role::Note
                | Role::Compat
                | Role::Info
                | Role::CallGraph
                | Role::Prototype
                | Role::Rel
                | Role::Rela
                | Role::Text
                | Role::Global
                | Role::Shared
                | Role::LinkerMade => {}
            }
        }
        self.report_parameters(current);
    }

    fn merge_section(
        &mut self,
        current: &mut Current<'_, 'd>,
        index: usize,
        section: &InputSection<'d>,
    ) -> Result<(), ParseError> {
        match section.role {
            Role::Note => self.merged.notes.merge(section, self.keeping)?,
            Role::Compat => {
                let target = self.merged.target;
                let toolkit = self.merged.notes.toolkit;
                if !self.merged.compat.merge(section.data, target, toolkit)? {
                    let name = &current.object.name;
                    self.diagnostics
                        .push(Diagnostic::missing_attribute(target, "ISA_CLASS", name));
                }
            }
            Role::Debug => {
                self.place(current, index);
            }
            Role::UnifiedEntries(table) => self.merge_unified(current, table, section)?,
            Role::CallGraph => self.merge_call_graph(current, section)?,
            Role::Prototype => self.merge_prototypes(current, section)?,
            Role::Info => self.merge_info(current, index)?,
            Role::Shared if current.object.is_whole_program => self.keep_layout(current, index),
            Role::Rel | Role::Rela => self.merge_relocations(current, index)?,
            Role::Ignored
            | Role::Strings
            | Role::Symbols
            | Role::Text
            | Role::Constant(_)
            | Role::GlobalInit
            | Role::UnifiedData
            | Role::Global
            | Role::Shared
            | Role::SharedReserved
            | Role::UnifiedIndex
            | Role::LinkerMade => {}
        }
        Ok(())
    }

    /// Takes over the shared memory of a whole program's kernel. Executables have none that is of no kernel, but without
    /// debug information an empty section, for dynamic shared memory of functions.
    pub(super) fn keep_layout(&mut self, current: &mut Current<'_, 'd>, index: usize) {
        let input = current.object.sections[index];
        // An empty one is for the alignment of dynamic shared memory, which debuggers do not need.
        if self.debug == DebugLevel::Symbols
            && (self.merged.image.is_executable() || self.keeping == Keeping::AsNvlink)
            && input.target().is_none()
            && input.size == 0
        {
            return;
        }
        if let Some(Placed { section, .. }) = self.place(current, index) {
            let variables = match self.keeping {
                Keeping::AsNvlink => self.merged.variables_joining(section, None),
                Keeping::Reachable => 0,
            };
            let is_of_variables = self.merged.module_shared == Some(section);
            let is_lost = self.merged.image.is_executable() && is_of_variables;
            let row = &mut self.merged.sections[section];
            match is_lost {
                // Its alignment is not the section's (case `whole_program_dynamic`).
                true => {
                    let align = row.content.align;
                    let offset = row.content.append(&[], 0, input.align);
                    row.content.align = align;
                    offset
                }
                false => {
                    row.content.size += variables;
                    let offset = row.content.append(&[], input.size, input.align);
                    row.content.size -= variables;
                    offset
                }
            };
            row.keep_empty = row.content.size == 0 && (row.keep_empty || !is_of_variables);
        }
    }

    /// Finds or makes the output section of an input section and puts its
    /// bytes there. `None` when the function it belongs to was left out.
    pub(super) fn place(&mut self, current: &mut Current<'_, 'd>, index: usize) -> Option<Placed> {
        if let Some(placed) = current.placed[index] {
            return Some(placed);
        }
        let input = current.object.sections[index];
        let kind = self.placed_kind(input.role)?;
        let target = match input.target() {
            Some(target) => Some(match current.placed[target] {
                Some(placed) => placed.section,
                // nvlink gives a kernel the shared memory of all its weak
                // definitions, one behind the other (case `weak_registers`).
                None if input.role == Role::Shared => current.discarded[target]?,
                None => return None,
            }),
            None => None,
        };
        let section = match kind {
            SectionKind::Constant(bank) => self.constants_section(current, index, bank, target),
            _ => {
                let flags = match kind {
                    SectionKind::Shared if target.is_some() => {
                        input.flags.with(SectionFlags::INFO_LINK)
                    }
                    _ => input.flags,
                };
                let section = NewSection::new(input.name, kind, 1).with_flags(flags);
                self.section(section.of(target))
            }
        };
        self.merged.sections[section].entry_size = input.entry_size;
        // The layout of shared memory goes by variables, not by sections.
        let base = match kind {
            SectionKind::Shared | SectionKind::SharedReserved => 0,
            SectionKind::Constant(0) if self.shares_parameters(section, target) => {
                self.check_parameters(current, index, section);
                0
            }
            _ => {
                let size = self.named_size(current, index, target);
                let data = self.reached_data(current, index, size);
                let row = &mut self.merged.sections[section];
                match row.holds_replaced() {
                    true => {
                        row.content.overlay(data, size, input.align);
                        0
                    }
                    false => row.content.append(data, size, input.align),
                }
            }
        };
        let placed = Placed { section, base };
        self.note_unnamed(current, index, placed);
        current.placed[index] = Some(placed);
        Some(placed)
    }

    /// What the section becomes that an input section is put into as it is.
    fn placed_kind(&self, role: Role) -> Option<SectionKind> {
        Some(match role {
            Role::Constant(bank) => SectionKind::Constant(bank),
            Role::GlobalInit => SectionKind::GlobalInit,
            Role::UnifiedData => SectionKind::UnifiedData,
            Role::Global => SectionKind::Global,
            Role::Shared => SectionKind::Shared,
            Role::SharedReserved => SectionKind::SharedReserved,
            Role::Debug => SectionKind::Debug,
            Role::UnifiedIndex if self.takes_index() => SectionKind::UnifiedIndex,
            Role::UnifiedIndex
            | Role::Ignored
            | Role::Strings
            | Role::Symbols
            | Role::Note
            | Role::Compat
            | Role::Info
            | Role::CallGraph
            | Role::Prototype
            | Role::Rel
            | Role::Rela
            | Role::Text
            | Role::UnifiedEntries(_)
            | Role::LinkerMade => return None,
        })
    }

    /// The section of this name that belongs to `target`, made if need be.
    pub(super) fn section(&mut self, section: NewSection<'d>) -> SectionId {
        let known = self.known_section(section.name, section.target);
        if let Some(section) = known.or_else(|| self.known_memory(section.name, section.kind)) {
            return section;
        }
        let section = self.new_section(section);
        self.note_section(section);
        section
    }

    /// The first section of this name that belongs to `target`.
    pub(super) fn known_section(&self, name: &str, target: Option<SectionId>) -> Option<SectionId> {
        let rows = &self.merged.sections;
        let has = |id: SectionId| rows[id].name == name && rows[id].target == target;
        self.sections.find(index::hash((name, target)), has)
    }

    /// Lets a section be found by its name, which none before it has.
    pub(super) fn note_section(&mut self, section: SectionId) {
        let rows = &self.merged.sections;
        let hash_of = |id: SectionId| index::hash((rows[id].name, rows[id].target));
        self.sections.insert(hash_of(section), section, hash_of);
    }

    /// The symbol of this name that all inputs know.
    pub(super) fn known_symbol(&self, name: &str) -> Option<SymbolId> {
        let rows = &self.merged.symbols;
        self.names
            .find(index::hash(name), |id| rows[id].name == name)
    }

    /// Lets a symbol be found by its name, which none before it has.
    pub(super) fn note_symbol(&mut self, symbol: SymbolId) {
        let rows = &self.merged.symbols;
        let hash_of = |id: SymbolId| index::hash(rows[id].name);
        self.names.insert(hash_of(symbol), symbol, hash_of);
    }

    /// Makes a section even where one of the same name exists.
    pub(super) fn new_section(&mut self, section: NewSection<'d>) -> SectionId {
        let NewSection {
            name, kind, target, ..
        } = section;
        let section = self.merged.add_section(section);
        if target.is_some()
            && self.is_found_by_name(kind)
            && let Some(memory) = &mut self.memory
        {
            memory.entry(name).or_insert(section);
        }
        // A kernel's parameter bank brings its relocation section along, for
        // the slots of textures, and the symbol of that comes before its own.
        if kind == SectionKind::Constant(0) && target.is_some() && self.merged.image.is_executable()
        {
            let own = self.merged.locals.pop();
            let (prefix, kind, flags) = match self.merged.relocation_forms {
                RelocationForms::AsInputs => (".rel", SectionKind::Rel, SectionFlags::NONE),
                RelocationForms::WithAddends => {
                    (".rela", SectionKind::Rela, SectionFlags::INFO_LINK)
                }
            };
            let name = self.arena.name(&[prefix, name]);
            self.section(NewSection::list(name, kind, section).with_flags(flags));
            self.merged.locals.extend(own);
        }
        if let Some(bank) = target
            && kind == SectionKind::Rela
            && self.merged.sections[bank].kind == SectionKind::Constant(HANDLES_BANK)
            && self.merged.image.is_executable()
        {
            self.name_before(bank);
        }
        section
    }

    /// Lists the section that was made last before `bank`: the handles of a whole program have the name of their
    /// relocations before their own (case `whole_program_textures`).
    fn name_before(&mut self, bank: SectionId) {
        let Merged {
            sections, locals, ..
        } = &mut self.merged;
        let own = sections[bank].symbol;
        if let Some(place) = locals.iter().rposition(|&symbol| symbol == own)
            && let Some(last) = locals.pop()
        {
            locals.insert(place, last);
        }
    }

    pub(super) fn new_symbol(&mut self, symbol: Symbol<'d>, listing: Listing) -> SymbolId {
        let id = self.merged.symbols.push(symbol);
        match listing {
            Listing::Local => self.merged.locals.push(id),
            Listing::Global => self.merged.globals.push(id),
            Listing::Unlisted => {}
        }
        id
    }

    pub(super) fn prototype(&mut self, signature: &'d str) -> PrototypeId {
        *self
            .prototype_ids
            .entry(signature)
            .or_insert_with(|| self.merged.prototypes.push(signature))
    }

    /// The native twin of a section, made if need be.
    pub(super) fn native_twin(&mut self, section: SectionId) -> &mut NativeContent<'d> {
        self.merged.sections[section].native.get_or_insert_default()
    }
}
