//! Finds the values of relocation targets, as far as a link knows them.

use crate::arch::relocation::{RelocationType, Target};
use crate::arch::reserved;
use crate::cubin::{Binding, SymbolOther, SymbolType, section_name};
use crate::id::{FunctionId, SectionId, SymbolId};
use crate::layout::LaidOut;
use crate::merge::{
    Definition, ListedShared, Merged, RECORDED, Relocation, Section, SectionKind, Share,
    SharedHome, Symbol,
};
use crate::options::{Behaviour, EarlyAddresses, ImageKind, RelocationForms, ResolvedRelocations};
use crate::read::{USER_BANK, native_bank};

/// Which of the two worlds of a Mercury link is being patched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum World {
    /// What the merge worked on.
    Linked,
    /// The native twins.
    Native,
}

/// The bank number that nvlink computes for a target in no bank: the low five bits of its section type minus that of bank 0,
/// here with section type 0.
pub(super) const NO_BANK: u8 = 28;
/// The same for the section type of code, where the symbols of textures lie that are parameters (case `texture_parameters`).
const PARAMETER_BANK: u8 = 29;
/// The same for the section type of shared memory (case `every_relocation`).
const SHARED_BANK: u8 = 6;

/// Resolves the relocations of one section.
pub(super) struct Resolver<'a, 'd> {
    laid_out: &'a LaidOut<'d>,
    kind: SectionKind,
    function: Option<FunctionId>,
    is_debug: bool,
    /// Whether what names units of line tables follows them when the native table is made.
    follows_units: bool,
    world: World,
    behaviour: Behaviour,
}

impl<'a, 'd> Resolver<'a, 'd> {
    pub(super) fn new(
        laid_out: &'a LaidOut<'d>,
        section: &Section<'d>,
        world: World,
        behaviour: Behaviour,
    ) -> Self {
        Self {
            laid_out,
            kind: section.kind,
            function: section.function,
            is_debug: section.kind == SectionKind::Debug,
            follows_units: follows_units(section.name, behaviour),
            world,
            behaviour,
        }
    }

    fn merged(&self) -> &'a Merged<'d> {
        self.laid_out.merged()
    }

    /// Whether a relocation is left to the driver though its type is not known: up to sm_90 nvlink
    /// only looks at the types of those that it can resolve (case `unknown_relocation`).
    pub(super) fn takes_unknown(&self, relocation: &Relocation) -> bool {
        self.behaviour == Behaviour::Nvlink
            && !self.has_mercury()
            && self.value(relocation).is_none()
    }

    /// Whether it is a relocation of the Mercury world with a type of machine code, or without a type (case
    /// `every_relocation_mercury`).
    pub(super) fn is_of_other_generation(&self, relocation: &Relocation) -> bool {
        let kind = RelocationType(relocation.kind);
        let is_known = kind == RelocationType::R_CUDA_NONE || kind.is_mercury();
        self.world == World::Linked && self.has_mercury() && !is_known
    }

    /// Whether the target was dropped as dead code or data.
    pub(super) fn is_removed(&self, relocation: &Relocation) -> bool {
        let pruned = &self.laid_out.pruned;
        // A variable in shared memory that no code uses has no name, but is
        // not gone (case `debug_unused`).
        !pruned.live.symbols[relocation.symbol] && !self.is_shared(relocation)
    }

    /// Whether relocations without an addend get one.
    pub(super) fn writes_addends(&self) -> bool {
        self.merged().settings.relocation_forms == RelocationForms::WithAddends
    }

    /// Whether the image lists it among the resolved relocations. Mercury images only list those of code against shared
    /// memory (case `preserve_relocs`).
    pub(super) fn is_recorded(&self, relocation: &Relocation) -> bool {
        let merged = self.merged();
        if merged.settings.resolved_relocations == ResolvedRelocations::Dropped {
            return false;
        }
        let is_for_debuggers = merged.target.has_mercury() && self.is_debug;
        let symbol = &merged.symbols[relocation.symbol];
        if symbol.kind.is_reference() {
            // The last link gives these their slots.
            return !self.is_executable();
        }
        match symbol.definition {
            Definition::Shared(_) if is_for_debuggers => false,
            // Each kernel has its own start of dynamic shared memory, except in links for debuggers (case
            // `preserve_unreached`).
            Definition::Shared(home @ (SharedHome::Dynamic | SharedHome::Overlooked)) => {
                let shared = &self.laid_out.shared;
                let has_one_start = merged.shared.listed == ListedShared::All;
                // A name that a relocatable link has made for a start is no variable (case `preserve_shared`).
                let is_instance =
                    has_one_start && merged.symbols[relocation.symbol].other == RECORDED;
                let is_named = shared.listed.contains_key(&relocation.symbol)
                    && (shared.records_dynamic || has_one_start && !is_instance);
                let is_reached = home == SharedHome::Dynamic
                    && self
                        .function
                        .is_some_and(|f| shared.dynamic.contains_key(&f));
                (is_named || !self.is_executable()) && (has_one_start || !is_reached)
            }
            // A variable that no code uses is not listed (case `debug_unused`).
            Definition::Shared(_) => {
                !self.is_executable()
                    || self.laid_out.shared.listed.contains_key(&relocation.symbol)
            }
            Definition::Section(section) => {
                !merged.target.has_mercury() && !merged.sections[section].is_moved
            }
            Definition::Undefined => !self.is_executable(),
            // Another object defines it (cases `undefined_globals` and `relocatable_undefined`).
            Definition::Never => {
                let symbol = &merged.symbols[relocation.symbol];
                symbol.binding != Binding::LOCAL
                    && !self.is_executable()
                    && (symbol.space == SymbolOther::SHARED || !merged.target.has_mercury())
            }
            Definition::Common => false,
            Definition::Lost => !merged.target.has_mercury(),
        }
    }

    /// Whether the processor is of the Mercury generation.
    pub(super) fn has_mercury(&self) -> bool {
        self.merged().target.has_mercury()
    }

    /// Whether this link is the last one.
    pub(super) fn is_executable(&self) -> bool {
        self.merged().is_executable()
    }

    /// Whether the program has no unified functions or variables, so that relocations of unified addresses are ordinary
    /// ones.
    pub(super) fn knows_no_unified(&self) -> bool {
        self.is_executable() && self.merged().settings.unified_index.is_none()
    }

    /// Whether instructions that yield to other threads do nothing: up to sm_90, in programs that were all compiled for
    /// virtual processors up to sm_6x.
    pub(super) fn none_yields(&self) -> bool {
        let merged = self.merged();
        !merged.target.has_mercury() && merged.notes.before_volta() == Share::All
    }

    /// Whether it names no symbol, but depends on a property of all inputs. Only this link knows it.
    pub(super) fn names_nothing(&self, relocation: &Relocation) -> bool {
        !self.is_debug && relocation.symbol == self.merged().symbols.nothing
    }

    /// Whether all addresses are left to a later link.
    pub(super) fn leaves_addresses(&self) -> bool {
        self.merged().image() == ImageKind::Relocatable(EarlyAddresses::Leave)
    }

    /// Whether the target is a table of unified functions or variables, in a program without unified functions (cases
    /// `unified_funcs` and `unified_errors`). Relocatable links leave all but one of them to the last link (case
    /// `reserved_names`).
    pub(super) fn is_ignored(&self, relocation: &Relocation) -> bool {
        let merged = self.merged();
        let symbol = &merged.symbols[relocation.symbol];
        merged.unified.functions.is_empty()
            && !merged.unified.has_slots
            && symbol.definition == Definition::Undefined
            && match merged.is_executable() {
                true => reserved::is_unified_table(symbol.name),
                false => symbol.name == reserved::UNIFIED_OFFSET,
            }
    }

    /// Whether the section holds unified variables that an index has moved. nvlink cannot patch these itself (case
    /// `unified_constants`).
    pub(super) fn is_in_moved_variables(&self) -> bool {
        self.kind == SectionKind::UnifiedData
            && self.behaviour == Behaviour::Nvlink
            && self.is_executable()
    }

    /// Where expanded Mercury code ends. Offsets of its relocations count bytes of expanded code, not of the section.
    pub(super) fn end_of_expanded_code(&self) -> Option<u64> {
        let merged = self.merged();
        let is_expanded = self.world == World::Linked && self.has_mercury();
        match (self.kind, self.function) {
            // The size of slots of unified functions is not checked.
            (SectionKind::Stubs, _) if is_expanded => Some(u64::MAX),
            (_, Some(function)) if is_expanded => {
                Some(merged.symbols[merged.functions[function].symbol].size)
            }
            _ => None,
        }
    }

    /// The place of a texture's handle that relocatable Mercury images assume, although the last link decides it.
    pub(super) fn expected_handle(&self, relocation: &Relocation) -> Option<Target> {
        let merged = self.merged();
        let symbol = &merged.symbols[relocation.symbol];
        let is_expected = !self.is_executable()
            && self.has_mercury()
            && self.kind == SectionKind::Text
            && !is_place_among_handles(relocation)
            && self.world == World::Native
            && symbol.kind.is_reference();
        is_expected.then(|| Target::in_bank(0, self.laid_out.texture_slots.first()))
    }

    /// Whether the target is code.
    pub(super) fn is_function(&self, relocation: &Relocation) -> bool {
        self.merged().symbols[relocation.symbol].kind == SymbolType::FUNC
    }

    /// Whether the target is shared memory.
    pub(super) fn is_shared(&self, relocation: &Relocation) -> bool {
        let symbol = &self.merged().symbols[relocation.symbol];
        matches!(symbol.definition, Definition::Shared(_)) && self.is_executable()
    }

    /// Whether the target is shared memory, in a link that is not for debuggers.
    pub(super) fn is_shared_for_launch(&self, relocation: &Relocation) -> bool {
        let listed = self.merged().shared.listed;
        self.is_shared(relocation) && listed != ListedShared::All
    }

    /// Whether the target is shared memory of which the image has no symbol
    /// (case `every_relocation`).
    pub(super) fn is_shared_without_name(&self, relocation: &Relocation) -> bool {
        let is_listed = self.laid_out.shared.listed.contains_key(&relocation.symbol);
        self.is_shared(relocation) && !is_listed
    }

    /// Whether the image does not list a function or variable that a relocation for the driver would need.
    pub(super) fn is_nameless(&self, symbol: SymbolId) -> bool {
        let merged = self.merged();
        merged.is_nameless(merged.symbols[symbol].other, self.behaviour)
    }

    /// The symbol of the function itself instead of an alias: relocations for the driver name that (case `alias`).
    pub(super) fn first_name(&self, symbol: SymbolId) -> SymbolId {
        self.merged().first_name(symbol)
    }

    /// The value, if the link knows it.
    pub(super) fn value(&self, relocation: &Relocation) -> Option<Target> {
        let symbol = &self.merged().symbols[relocation.symbol];
        // A later link may find a strong definition.
        if symbol.binding == Binding::WEAK && !self.is_executable() {
            return None;
        }
        if symbol.kind.is_reference() {
            return self.reference_value(relocation);
        }
        match symbol.definition {
            Definition::Shared(home) => Some(self.shared_value(relocation, home)),
            Definition::Section(section) => self.value_in(section, symbol),
            // It has the value of the null symbol (case `debug_lost_labels`).
            Definition::Lost => Some(Target::plain(self.laid_out.null_symbol.value())),
            Definition::Never => {
                let bank = match (self.world, symbol.space) {
                    (World::Native, SymbolOther::CONSTANT) => USER_BANK,
                    (World::Native | World::Linked, _) => NO_BANK,
                };
                let value = match symbol.binding {
                    Binding::LOCAL => symbol.value,
                    // Another object defines it (case `undefined_globals`).
                    _ => u64::MAX,
                };
                Some(Target::in_bank(bank, value))
            }
            Definition::Common | Definition::Undefined => None,
        }
    }

    fn shared_value(&self, relocation: &Relocation, home: SharedHome) -> Target {
        let shared = &self.laid_out.shared;
        let offset = shared.offset.get(&relocation.symbol);
        let offset = match home {
            SharedHome::Dynamic if self.is_executable() && !self.is_debug => {
                let start = self.function.and_then(|f| shared.dynamic.get(&f));
                // No kernel may reach the function.
                start.or(offset)
            }
            // No code uses it, only debug information (case `debug_unused`),
            // or no start holds for all kernels (case `debug_shared`).
            SharedHome::Dynamic
            | SharedHome::Module
            | SharedHome::Kernel(_)
            | SharedHome::Placed(_)
            | SharedHome::Overlooked => offset,
        };
        Target::in_bank(SHARED_BANK, offset.copied().unwrap_or(u64::MAX))
    }

    /// The value of a symbol in a section, if the link decides where that is: the driver places most of them.
    fn value_in(&self, section: SectionId, symbol: &Symbol<'_>) -> Option<Target> {
        let merged = self.merged();
        let is_native = self.world == World::Native;
        match merged.sections[section].kind {
            SectionKind::Constant(bank) => {
                let bank = if is_native { native_bank(bank) } else { bank };
                Some(Target::in_bank(bank, symbol.value))
            }
            SectionKind::SharedReserved if is_native => {
                Some(Target::plain(symbol.value + merged.start_of_reserved()))
            }
            // The starts of units of line tables are known when the native table is made (case `relocatable_debug`).
            SectionKind::Debug
                if is_native
                    && !self.is_executable()
                    && self.follows_units
                    && section_name::is_line_table(merged.sections[section].name) =>
            {
                None
            }
            SectionKind::Debug if symbol.kind == SymbolType::SECTION => Some(Target::plain(0)),
            _ => None,
        }
    }

    /// The slot of a texture, sampler or surface.
    fn reference_value(&self, relocation: &Relocation) -> Option<Target> {
        let symbol = relocation.symbol;
        let has_mercury = self.has_mercury();
        if !self.is_executable() {
            // As long as there are no slots, nvlink takes them to be at 0 in no bank (case `relocatable_textures`).
            let bank = match self.merged().symbols[symbol].binding {
                Binding::LOCAL => PARAMETER_BANK,
                _ => NO_BANK,
            };
            return (!has_mercury).then_some(Target::in_bank(bank, 0));
        }
        let slots = &self.laid_out.texture_slots;
        let is_among_handles = self.world == World::Linked || is_place_among_handles(relocation);
        let value = match has_mercury && is_among_handles {
            true => slots.among_handles(symbol),
            false => slots.behind_parameters(symbol),
        };
        Some(Target::in_bank(0, value?))
    }
}

/// Whether the native twin of a section names units of line tables where they are in the native table. nvlink knows those of
/// `.debug_info` alone, and leaves others where they were in the Mercury table (case `debug_line_places`).
pub(super) fn follows_units(section: &str, behaviour: Behaviour) -> bool {
    behaviour != Behaviour::Nvlink || section == section_name::DEBUG_UNITS
}

/// Whether code that is not optimized has a register for the place of a handle among all, and adds where these start when
/// it loads one (case `texture_places`).
pub(super) fn is_place_among_handles(relocation: &Relocation) -> bool {
    relocation.kind == RelocationType::R_CUDA_ABS16_32.0
}
