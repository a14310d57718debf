//! The state of a merge in progress: it makes sections and symbols and finds them by their names.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::arena::Arena;
use crate::cubin::{Binding, DeviceNote, SectionFlags, ToolNote, UnifiedTable, section_name};
use crate::diagnostic::Diagnostics;
use crate::id::{FunctionId, IdVec, InputId, PrototypeId, SectionId, SymbolId};
use crate::options::{
    Behaviour, DebugLevel, EarlyAddresses, ImageKind, KernelFilter, Options, RelocationForms,
    ResolvedRelocations,
};
use crate::read::{HANDLES_BANK, Object, Role};

use super::index::{self, Index};
use super::notes::{Origin, newest_toolkit};
use super::rows::scope;
use super::{InfoRecord, Merged, NativeContent, NewSection, SectionKind};

/// What was merged so far, and what only the rest of the merge needs to know.
pub(super) struct Merger<'d, 'l> {
    pub(super) arena: &'d Arena,
    pub(super) options: &'d Options,
    pub(super) behaviour: Behaviour,
    filter: &'d KernelFilter,
    pub(super) diagnostics: &'l mut Diagnostics,
    pub(super) merged: Merged<'d>,
    pub(super) names: Names<'d>,
    pub(super) definitions: Definitions,
    pub(super) edges: EdgesSeen,
    pub(super) records: RecordsInProgress<'d>,
    /// The compiler of each input.
    pub(super) origins: IdVec<InputId, Origin>,
    /// Whether a compiler older than CUDA 13 made the first input that uses
    /// tensor memory.
    pub(super) has_older_tensor_memory: Option<bool>,
    /// The symbol that relocations to dropped labels get, if they get one (case `debug_lost_labels`).
    pub(super) lost: Option<SymbolId>,
    /// The symbol for the size of the program's constants, which all inputs share although it is local.
    pub(super) constants_size: Option<SymbolId>,
}

/// What can be found by its name.
pub(super) struct Names<'d> {
    /// The first section of each name and target.
    sections: Index<SectionId>,
    /// Once a kernel is static: the first section of each name that holds parameters or shared memory of a kernel. nvlink
    /// looks for these by their names alone (case `static_kernels`).
    pub(super) memory: Option<FxHashMap<&'d str, SectionId>>,
    /// The compiler constants in use of device functions, by their names and the sections that they belong to.
    pub(super) moved: FxHashMap<(&'d str, Option<SectionId>), SectionId>,
    /// Sections that record resolved relocations.
    pub(super) records: FxHashSet<&'d str>,
    /// The symbols that are visible in all inputs.
    symbols: Index<SymbolId>,
    /// The first static function or variable of a name. nvlink reports clashes of these with global names, which we do not.
    pub(super) statics: FxHashMap<&'d str, Static>,
    /// Textures, samplers and surfaces that are parameters of kernels.
    pub(super) reference_parameters: FxHashMap<&'d str, SymbolId>,
    prototypes: FxHashMap<&'d str, PrototypeId>,
}

impl Names<'_> {
    /// Nothing yet, with room for what so many sections and symbols of inputs become.
    fn with_room(sections: usize, symbols: usize) -> Self {
        Self {
            // Half of the sections are code and constants, each with its names.
            sections: Index::with_room(sections / 2),
            memory: None,
            moved: FxHashMap::default(),
            records: FxHashSet::default(),
            // So do variables, which share their sections.
            symbols: Index::with_room(symbols.saturating_sub(sections).max(sections / 2)),
            statics: FxHashMap::default(),
            reference_parameters: FxHashMap::default(),
            prototypes: FxHashMap::default(),
        }
    }
}

/// What the rest of the merge needs to know of definitions, besides the rows of symbols.
#[derive(Default)]
pub(super) struct Definitions {
    /// The number of registers of weak functions, those of the definition in use.
    pub(super) registers: FxHashMap<SymbolId, u32>,
    /// The inputs that nvlink still names in messages about a symbol when the definition of a later one is in use.
    pub(super) first_inputs: FxHashMap<SymbolId, InputId>,
    /// Tentative ones that also have a strong definition without a value.
    pub(super) common_too: FxHashSet<SymbolId>,
    /// The values that symbols had before a tentative definition.
    pub(super) values_before: FxHashMap<SymbolId, u64>,
}

/// The edges of the call graph so far, in relocatable links.
#[derive(Default)]
pub(super) struct EdgesSeen {
    /// Calls between functions.
    pub(super) calls: FxHashSet<(FunctionId, FunctionId)>,
    /// References of functions to the addresses of others.
    pub(super) references: FxHashSet<(FunctionId, FunctionId)>,
}

/// The attribute records of the input that is being merged.
#[derive(Default)]
pub(super) struct RecordsInProgress<'d> {
    /// Those of the section that is being merged: kept for its capacity, empty between sections.
    pub(super) of_section: Vec<InfoRecord<'d>>,
    /// Those of functions that more than one section of the input is about, but those of the first section.
    pub(super) further: FxHashMap<FunctionId, Vec<InfoRecord<'d>>>,
}

/// A static function or variable.
#[derive(Debug, Clone, Copy)]
pub(super) struct Static {
    pub(super) input: InputId,
    pub(super) is_kernel: bool,
}

fn has_unified_functions(object: &Object<'_>) -> bool {
    let functions = Role::UnifiedEntries(UnifiedTable::Functions);
    object.has_unified_symbols && object.sections.iter().any(|s| s.role == functions)
}

/// Whether relocations to labels that the compiler has dropped get a symbol (case `debug_lost_labels`).
fn finds_lost_labels(options: &Options) -> bool {
    let is_recorded = options.settings.resolved_relocations == ResolvedRelocations::Recorded
        && options.settings.image != ImageKind::Relocatable(EarlyAddresses::Leave)
        && !options.target.has_mercury();
    options.settings.image.is_executable() || is_recorded
}

impl<'d, 'l> Merger<'d, 'l> {
    /// A merge of these objects before the first one: there are only the sections that every image begins with.
    pub(super) fn new(
        options: &'d Options,
        objects: &[Object<'d>],
        arena: &'d Arena,
        diagnostics: &'l mut Diagnostics,
    ) -> Self {
        let sections: usize = objects.iter().map(|object| object.sections.len()).sum();
        let symbols: usize = objects.iter().map(|object| object.symbols.len()).sum();
        let inputs = objects.iter().map(|object| object.name.clone()).collect();
        let origins: IdVec<InputId, Origin> = objects
            .iter()
            .map(|object| Origin::of(object, options.behaviour))
            .collect();
        let toolkit = newest_toolkit(origins.iter());
        let merged = Merged::new(options, inputs, toolkit, sections, symbols);
        let mut merger = Self {
            arena,
            options,
            behaviour: options.behaviour,
            // A link that says something to debuggers keeps all kernels (case
            // `debug_dead_code`).
            filter: match options.settings.debug {
                DebugLevel::None | DebugLevel::Code => &options.kernels,
                DebugLevel::Symbols => &KernelFilter::All,
            },
            diagnostics,
            names: Names::with_room(sections, symbols),
            definitions: Definitions::default(),
            edges: EdgesSeen::default(),
            records: RecordsInProgress::default(),
            origins,
            has_older_tensor_memory: None,
            lost: finds_lost_labels(options).then_some(merged.symbols.nothing),
            constants_size: None,
            merged,
        };
        merger.add_first_sections(options, objects);
        merger
    }

    /// Makes the sections that come before those of inputs in every image.
    fn add_first_sections(&mut self, options: &Options, objects: &[Object<'d>]) {
        for section in [
            NewSection::new(".shstrtab", SectionKind::SectionNames, 1),
            NewSection::new(".strtab", SectionKind::SymbolNames, 1),
            NewSection::new(".symtab", SectionKind::Symbols, 8),
            NewSection::new(".symtab_shndx", SectionKind::SymbolSections, 4),
            NewSection::new(ToolNote::SECTION, SectionKind::ToolNote, 4)
                .with_flags(SectionFlags::TOOL_NOTE),
            NewSection::new(DeviceNote::SECTION, SectionKind::DriverNote, 4)
                .with_flags(SectionFlags::DEVICE_NOTE),
        ] {
            self.section(section);
        }
        if options.settings.image.is_executable() {
            self.merged.sections.count_unnamed();
        }
        if options.settings.image.is_executable() && objects.iter().any(has_unified_functions) {
            self.unified_entries(UnifiedTable::Functions, 32);
        }
        self.section(NewSection::new(section_name::INFO, SectionKind::Info, 4));
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
    pub(super) fn is_kernel(&self, name: &str, binding: Binding) -> bool {
        match self.filter {
            KernelFilter::Containing(_) | KernelFilter::MatchingOptimized(_) => {
                self.filter.keeps(name, scope(binding))
            }
            KernelFilter::All | KernelFilter::Matching(_) => true,
        }
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
        self.names.sections.find(index::hash((name, target)), has)
    }

    /// Lets a section be found by its name, which none before it has.
    pub(super) fn note_section(&mut self, section: SectionId) {
        let rows = &self.merged.sections;
        let hash_of = |id: SectionId| index::hash((rows[id].name, rows[id].target));
        self.names
            .sections
            .insert(hash_of(section), section, hash_of);
    }

    /// The symbol of this name that all inputs know.
    pub(super) fn known_symbol(&self, name: &str) -> Option<SymbolId> {
        let rows = &self.merged.symbols;
        self.names
            .symbols
            .find(index::hash(name), |id| rows[id].name == name)
    }

    /// Lets a symbol be found by its name, which none before it has.
    pub(super) fn note_symbol(&mut self, symbol: SymbolId) {
        let rows = &self.merged.symbols;
        let hash_of = |id: SymbolId| index::hash(rows[id].name);
        self.names.symbols.insert(hash_of(symbol), symbol, hash_of);
    }

    /// Makes a section even where one of the same name exists.
    pub(super) fn new_section(&mut self, section: NewSection<'d>) -> SectionId {
        let NewSection {
            name, kind, target, ..
        } = section;
        let section = self.merged.add_section(section);
        if target.is_some()
            && self.is_found_by_name(kind)
            && let Some(memory) = &mut self.names.memory
        {
            memory.entry(name).or_insert(section);
        }
        // A kernel's parameter bank brings its relocation section along, for
        // the slots of textures, and the symbol of that comes before its own.
        if kind == SectionKind::Constant(0) && target.is_some() && self.merged.is_executable() {
            let own = self.merged.symbols.locals.pop();
            let (prefix, kind, flags) = match self.merged.settings.relocation_forms {
                RelocationForms::AsInputs => {
                    (section_name::REL_OF, SectionKind::Rel, SectionFlags::NONE)
                }
                RelocationForms::WithAddends => (
                    section_name::RELA_OF,
                    SectionKind::Rela,
                    SectionFlags::INFO_LINK,
                ),
            };
            let name = self.arena.name(&[prefix, name]);
            self.section(NewSection::list(name, kind, section).with_flags(flags));
            self.merged.symbols.locals.extend(own);
        }
        if let Some(bank) = target
            && kind == SectionKind::Rela
            && self.merged.sections[bank].kind == SectionKind::Constant(HANDLES_BANK)
            && self.merged.is_executable()
        {
            self.name_before(bank);
        }
        section
    }

    /// Moves the symbol of the newest section before that of `bank`: in whole programs the relocations of the handles of
    /// textures are listed before the handles (case `whole_program_textures`).
    fn name_before(&mut self, bank: SectionId) {
        let own = self.merged.sections[bank].symbol;
        let locals = &mut self.merged.symbols.locals;
        if let Some(place) = locals.iter().rposition(|&symbol| symbol == own)
            && let Some(last) = locals.pop()
        {
            locals.insert(place, last);
        }
    }

    pub(super) fn prototype(&mut self, signature: &'d str) -> PrototypeId {
        *self
            .names
            .prototypes
            .entry(signature)
            .or_insert_with(|| self.merged.prototypes.push(signature))
    }

    /// The native twin of a section, made if need be.
    pub(super) fn native_twin(&mut self, section: SectionId) -> &mut NativeContent<'d> {
        self.merged.sections[section].native.get_or_insert_default()
    }
}
