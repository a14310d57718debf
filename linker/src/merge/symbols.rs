//! Merges variables and other names: which definition is used, and which clash.

use rustc_hash::FxHashSet;

use crate::arch::reserved;
use crate::cubin::{Binding, Place, Symbol as FileSymbol, SymbolOther, SymbolType};
use crate::diagnostic::Diagnostic;
use crate::error::{NvlinkError, ParseError};
use crate::id::{SectionId, SymbolId};
use crate::options::Behaviour;
use crate::read::Role;

use super::clashes::LINKER;
use super::constants::{PLACE_NAME, RECORDED};
use super::current::{Current, Placed};
use super::merger::Merger;
use super::{Definition, Listing, SectionKind, Symbol};

/// The values that nvlink gives to tentative definitions and to symbols without a place.
const TENTATIVE: u64 = u64::MAX - 1;
pub(super) const UNALLOCATED: u64 = u64::MAX;

impl<'d> Merger<'d, '_> {
    /// The second pass over the symbols, after functions: variables, each after its section.
    pub(super) fn merge_variables(
        &mut self,
        current: &mut Current<'_, 'd>,
    ) -> Result<(), ParseError> {
        let object = current.object;
        for (index, symbol) in object.symbols.iter().enumerate() {
            if symbol.kind.leads_to_section()
                && let Some(section) = symbol.place.section()
                && object.sections[section as usize].role == Role::Constant(0)
            {
                let count = self.diagnostics.messages().len();
                current.bank_places.insert(section as usize, count);
            }
            if index == 0
                || matches!(symbol.kind, SymbolType::NOTYPE | SymbolType::FUNC)
                || symbol.kind.leads_to_section()
            {
                continue;
            }
            if self.is_named_section(current, symbol)? {
                continue;
            }
            let known = match symbol.kind.is_reference() {
                true => self.known_reference(symbol),
                false => self.known(symbol),
            };
            self.check_owner(current, symbol, known)?;
            self.check_linker_name(symbol)?;
            self.check_overlaps(current, symbol)?;
            if self.clashes_with_reference(current, symbol, known) {
                continue;
            }
            if symbol.kind.is_reference() && self.clashes_with_static(current, symbol, known) {
                continue;
            }
            current.symbols[index] = if symbol.other.space() == SymbolOther::SHARED {
                self.merge_shared(current, symbol, known)
            } else if symbol.other == PLACE_NAME
                && symbol.place.section().is_some()
                && self.vanishes(current, symbol)?
            {
                self.merge_vanishing(current, symbol, known)?
            } else if symbol.binding == Binding::LOCAL && symbol.kind.is_reference() {
                known.or_else(|| self.merge_parameter(current, symbol))
            } else if symbol.binding == Binding::LOCAL {
                self.merge_local(current, symbol)
            } else {
                Some(self.merge_global(current, symbol, known)?)
            };
        }
        Ok(())
    }

    /// Refuses textures, samplers and surfaces in a section, as the driver gives them their places. One that lies in code of
    /// its own name is another definition of that for nvlink (case `symbol_types`).
    fn is_named_section(
        &mut self,
        current: &Current<'_, 'd>,
        symbol: &FileSymbol<'d>,
    ) -> Result<bool, ParseError> {
        let section = symbol
            .place
            .section()
            .filter(|_| symbol.kind.is_reference());
        let Some(section) = section else {
            return Ok(false);
        };
        let Some(section) = code_of(current, section as usize) else {
            let problem = "it is a texture, sampler or surface and lies in a section";
            return Err(ParseError::malformed(problem)
                .as_nvlink(NvlinkError::SectionNotMapped)
                .of_symbol(symbol.name));
        };
        let is_named = self.behaviour == Behaviour::Nvlink
            && self.merged.sections[section].name == symbol.name;
        if is_named {
            let input = &current.object.name;
            let problem = Diagnostic::multiple_definition(symbol.name, input, LINKER);
            self.diagnostics.push(problem);
        }
        Ok(is_named)
    }

    /// Refuses global variables in memory that belongs to one function. If the name has another strong definition, that is
    /// reported instead (case `whole_program_dynamic`).
    fn check_owner(
        &mut self,
        current: &mut Current<'_, 'd>,
        symbol: &FileSymbol<'d>,
        known: Option<SymbolId>,
    ) -> Result<(), ParseError> {
        let section = symbol.place.section();
        let section = section.map(|index| current.object.sections[index as usize]);
        let is_owned = section.is_some_and(|section| {
            matches!(section.role, Role::Constant(_) | Role::Shared) && section.target().is_some()
        });
        if !is_owned || symbol.binding != Binding::GLOBAL || symbol.size == 0 {
            return Ok(());
        }
        if let Some(id) = known {
            if self.is_defined(id) && self.merged.symbols[id].binding != Binding::WEAK {
                return Ok(());
            }
            self.check_agreement(current, id, symbol);
        }
        let problem = "it is global and lies in the memory of one function";
        Err(ParseError::malformed(problem)
            .as_nvlink(NvlinkError::GlobalEntryData)
            .of_symbol(symbol.name))
    }

    /// Refuses local symbols with the name of what the linker itself defines, which nvlink takes as global (case
    /// `internal_errors_mercury`).
    fn check_linker_name(&self, symbol: &FileSymbol<'d>) -> Result<(), ParseError> {
        if self.behaviour != Behaviour::Nvlink
            || symbol.binding != Binding::LOCAL
            || symbol.place != Place::Undefined
            || !is_linker_name(symbol)
            || self.known_symbol(symbol.name).is_none()
        {
            return Ok(());
        }
        let problem = "it is not the file's own, but the linker's";
        Err(ParseError::malformed(problem)
            .as_nvlink(NvlinkError::SameName)
            .of_symbol(symbol.name))
    }

    /// Makes the symbol of a variable that only its input knows. `None` if its section has no place in the link.
    fn merge_local(
        &mut self,
        current: &mut Current<'_, 'd>,
        symbol: &FileSymbol<'d>,
    ) -> Option<SymbolId> {
        if symbol.place == Place::Undefined {
            // The size of the program's constants is the same for all inputs (case
            // `constants_size`); other names are their file's own.
            if symbol.name != reserved::CONSTANTS_SIZE {
                return Some(self.new_never(current, symbol));
            }
            if self.constants_size.is_none() {
                self.constants_size = Some(self.new_never(current, symbol));
            }
            return self.constants_size;
        }
        let section = symbol.place.section()? as usize;
        let placed = match self.place(current, section) {
            // The parameters of a weak kernel that lost are those of the
            // kernel that is used, or stand behind them.
            None if current.object.sections[section].role == Role::Constant(0) => {
                self.merge_unused_constants(current, section)?
            }
            placed => placed?,
        };
        let id = self.new_named(current, symbol, Binding::LOCAL, Listing::Local);
        self.define_variable(id, symbol, placed);
        if let Some(name) = self.name_of_constant(current, symbol, placed) {
            self.merged.symbols[id].name = name;
        }
        Some(id)
    }

    /// A texture, sampler or surface that is a parameter of a kernel, in whose code it lies. The compiler makes one of
    /// all that have a name in its file, and nvlink of those in all files (case `texture_parameters`).
    fn merge_parameter(
        &mut self,
        current: &mut Current<'_, 'd>,
        symbol: &FileSymbol<'d>,
    ) -> Option<SymbolId> {
        let code = code_of(current, symbol.place.section()? as usize)?;
        let id = self.new_named(current, symbol, Binding::LOCAL, Listing::Local);
        let placed = Placed {
            section: code,
            base: 0,
        };
        self.define_variable(id, symbol, placed);
        self.names.reference_parameters.insert(symbol.name, id);
        Some(id)
    }

    /// Makes a symbol that nothing ever defines, see [`Definition::Never`].
    fn new_never(&mut self, current: &Current<'_, 'd>, symbol: &FileSymbol<'d>) -> SymbolId {
        let listing = match self.merged.is_executable() {
            true => Listing::Unlisted,
            false => Listing::Local,
        };
        let id = self.new_named(current, symbol, Binding::LOCAL, listing);
        let merged = &mut self.merged.symbols[id];
        merged.definition = Definition::Never;
        merged.kind = SymbolType::CUDA_OBJECT;
        merged.value = u64::MAX;
        id
    }

    /// The name of a place that is no symbol of the image. Those of functions' addresses
    /// are the same in all files (case `position_independent`); others count for their own
    /// file, which knows the place.
    fn merge_vanishing(
        &mut self,
        current: &mut Current<'_, 'd>,
        symbol: &FileSymbol<'d>,
        known: Option<SymbolId>,
    ) -> Result<Option<SymbolId>, ParseError> {
        let section = symbol.place.section();
        let placed = section.and_then(|section| self.place(current, section as usize));
        if symbol.binding == Binding::LOCAL || placed.is_none() {
            return Ok(None);
        }
        let listed = (
            self.merged.symbols.locals.len(),
            self.merged.symbols.globals.len(),
        );
        let id = self.merge_global(current, symbol, known)?;
        self.merged.symbols.locals.truncate(listed.0);
        self.merged.symbols.globals.truncate(listed.1);
        Ok(Some(id))
    }

    /// Merges a variable that is visible in all inputs.
    fn merge_global(
        &mut self,
        current: &mut Current<'_, 'd>,
        symbol: &FileSymbol<'d>,
        known: Option<SymbolId>,
    ) -> Result<SymbolId, ParseError> {
        if let Some(id) = known {
            self.check_agreement(current, id, symbol);
        }
        let section = match symbol.place {
            Place::Section(section) => section as usize,
            Place::Common => return Ok(self.merge_common(current, symbol, known)),
            Place::Undefined | Place::Absolute | Place::Reserved(_) => {
                return Ok(known.unwrap_or_else(|| self.new_undefined(current, symbol)));
            }
        };
        if let Some(id) = known
            && self.stays(current, id, symbol, section)
        {
            return Ok(id);
        }
        let placed = self.place(current, section).ok_or_else(|| {
            ParseError::malformed(format!(
                "variable {} lies in {}, which holds no data",
                symbol.name, current.object.sections[section].name
            ))
        })?;
        let id = known
            .unwrap_or_else(|| self.new_named(current, symbol, symbol.binding, listing(symbol)));
        let was_weak = self.merged.symbols[id].binding == Binding::WEAK && known.is_some();
        if was_weak && symbol.other.space() == SymbolOther::GLOBAL {
            current.replaced.variables.insert(id);
        }
        match self.merged.symbols[id].definition {
            Definition::Common => {
                self.definitions.first_inputs.remove(&id);
            }
            Definition::Undefined
            | Definition::Section(_)
            | Definition::Shared(_)
            | Definition::Never
            | Definition::Lost => {
                if known.is_some() {
                    self.keep_first_input(id);
                }
            }
        }
        self.define_variable(id, symbol, placed);
        let merged = &mut self.merged.symbols[id];
        merged.binding = if was_weak {
            Binding::GLOBAL
        } else {
            symbol.binding
        };
        // The marks stay those of the first file that names it (case `symbol_marks`).
        merged.input = Some(current.id);
        Ok(id)
    }

    /// A name that no input defines so far.
    fn new_undefined(&mut self, current: &Current<'_, 'd>, symbol: &FileSymbol<'d>) -> SymbolId {
        let binding = if is_linker_name(symbol) {
            Binding::GLOBAL
        } else {
            symbol.binding
        };
        let id = self.new_named(current, symbol, binding, listing(symbol));
        // Compilers up to sm_89 take them for variables of the program.
        if reserved::is_unified_table(symbol.name) {
            self.merged.symbols[id].kind = SymbolType::OBJECT;
        }
        // In Mercury objects their native twins alone have values.
        if !self.merged.target.has_mercury() {
            self.merged.symbols[id].value = reserved::shared_value(symbol.name);
        }
        id
    }

    /// Whether the earlier definition of a name stays in use when an input defines it in one of its sections.
    fn stays(
        &mut self,
        current: &mut Current<'_, 'd>,
        id: SymbolId,
        symbol: &FileSymbol<'d>,
        section: usize,
    ) -> bool {
        let is_weak = symbol.binding == Binding::WEAK;
        let was_weak = self.merged.symbols[id].binding == Binding::WEAK;
        match self.merged.symbols[id].definition {
            // Without a value, a definition is no more than a tentative
            // one; a strong one has its place besides, though unused (case
            // `common_defined`).
            Definition::Common if self.definitions.common_too.contains(&id) => {
                if !is_weak {
                    self.report_duplicate(current, id, symbol.name);
                }
                true
            }
            Definition::Common
                if current.object.sections[section].role == Role::Global
                    && !self.merged.commons.lost.contains(&id) =>
            {
                if !is_weak {
                    if was_weak {
                        current.replaced.variables.insert(id);
                    }
                    self.definitions.common_too.insert(id);
                    self.place(current, section);
                    self.merged.symbols[id].binding = Binding::GLOBAL;
                }
                true
            }
            // nvlink loses the definition, see [`Commons::lost`](super::merged::Commons::lost).
            Definition::Common if is_weak && self.behaviour == Behaviour::Nvlink => {
                let merged = &mut self.merged.symbols[id];
                let value = self.definitions.values_before.get(&id);
                merged.value = value.copied().unwrap_or(TENTATIVE);
                merged.input = Some(current.id);
                self.definitions.first_inputs.remove(&id);
                self.merged.commons.named.retain(|&common| common != id);
                self.merged.commons.lost.push(id);
                true
            }
            Definition::Undefined | Definition::Common | Definition::Never | Definition::Lost => {
                false
            }
            Definition::Section(_) | Definition::Shared(_) if is_weak => {
                // Beside a strong variable, and among constants, it
                // stays patched (case `weak_data_pointers`).
                if was_weak && current.object.sections[section].role == Role::GlobalInit {
                    let end = symbol.value.saturating_add(symbol.size);
                    current.discarded.data.insert((section, symbol.value), end);
                }
                true
            }
            Definition::Section(_) | Definition::Shared(_) => {
                if !was_weak && self.is_defined(id) {
                    self.report_duplicate(current, id, symbol.name);
                }
                !was_weak
            }
        }
    }

    /// For nvlink, constants lose all addresses of a weak variable in global
    /// memory when a strong one replaces it (case `weak_variables_in_constants`).
    pub(super) fn forget_pointers(&mut self, replaced: &FxHashSet<SymbolId>) {
        if replaced.is_empty() || self.behaviour != Behaviour::Nvlink {
            return;
        }
        let mut is_any = false;
        for section in self.merged.sections.iter_mut() {
            if matches!(section.kind, SectionKind::Constant(_)) {
                let native = section.native.iter_mut().flat_map(|n| &mut n.relocations);
                for relocation in section.relocations.iter_mut().chain(native) {
                    let is_lost = replaced.contains(&relocation.symbol);
                    relocation.discarded |= is_lost;
                    is_any |= is_lost;
                }
            }
        }
        self.merged.replaced_relocations |= is_any;
    }

    /// Merges a tentative definition.
    fn merge_common(
        &mut self,
        current: &Current<'_, 'd>,
        symbol: &FileSymbol<'d>,
        known: Option<SymbolId>,
    ) -> SymbolId {
        let id = known
            .unwrap_or_else(|| self.new_named(current, symbol, Binding::GLOBAL, Listing::Global));
        let merged = &mut self.merged.symbols[id];
        match merged.definition {
            // A strong definition without a value counts as one, too (case `common_defined`).
            Definition::Common if self.definitions.common_too.contains(&id) => {
                self.report_duplicate(current, id, symbol.name);
            }
            Definition::Undefined => {
                if known.is_some() {
                    self.definitions.values_before.insert(id, UNALLOCATED);
                }
                merged.definition = Definition::Common;
                merged.size = symbol.size;
                merged.value = symbol.value;
                merged.input = Some(current.id);
                self.merged.commons.named.push(id);
            }
            // The alignment stays that of the first declaration.
            // The largest is what others are compared with.
            Definition::Common if symbol.size > merged.size => {
                merged.size = symbol.size;
                merged.input = Some(current.id);
            }
            Definition::Common => {}
            Definition::Section(section)
                if self.merged.sections[section].kind == SectionKind::Global =>
            {
                if merged.binding == Binding::WEAK {
                    self.definitions.values_before.insert(id, merged.value);
                    merged.definition = Definition::Common;
                    merged.value = symbol.value;
                    merged.input = Some(current.id);
                    self.merged.commons.named.push(id);
                } else {
                    self.report_duplicate(current, id, symbol.name);
                }
            }
            Definition::Section(section)
                if self.merged.sections[section].kind == SectionKind::GlobalInit => {}
            Definition::Section(_) | Definition::Shared(_) => {
                if merged.binding != Binding::WEAK && self.is_defined(id) {
                    self.report_duplicate(current, id, symbol.name);
                }
            }
            Definition::Never | Definition::Lost => {}
        }
        id
    }

    fn define_variable(&mut self, id: SymbolId, symbol: &FileSymbol<'d>, placed: Placed) {
        let value = match self.merged.sections[placed.section].kind {
            // The alignment: these variables are laid out when all are known.
            SectionKind::SharedReserved => symbol.value,
            _ => placed.base + symbol.value,
        };
        let merged = &mut self.merged.symbols[id];
        merged.definition = Definition::Section(placed.section);
        merged.value = value;
        merged.size = symbol.size;
    }

    pub(super) fn known(&self, symbol: &FileSymbol<'d>) -> Option<SymbolId> {
        (symbol.binding != Binding::LOCAL)
            .then(|| self.known_symbol(symbol.name))
            .flatten()
    }

    /// The symbol of a texture, sampler or surface. For nvlink those that are parameters of kernels are visible in all
    /// inputs.
    fn known_reference(&self, symbol: &FileSymbol<'d>) -> Option<SymbolId> {
        match self.behaviour {
            Behaviour::Own => self.known(symbol),
            Behaviour::Nvlink => {
                let parameter = || self.names.reference_parameters.get(symbol.name).copied();
                self.known_symbol(symbol.name).or_else(parameter)
            }
        }
    }

    /// The type and `st_other` of a symbol in the image. Those of executables have no memory space, as the section tells it
    /// (case `symbol_marks`).
    pub(super) fn kind_and_marks(&self, symbol: &FileSymbol<'d>) -> (SymbolType, SymbolOther) {
        let is_relocatable = !self.merged.is_executable();
        let other = symbol.other.unhidden();
        match symbol.kind {
            SymbolType::FUNC => (symbol.kind, other),
            SymbolType::OBJECT if is_relocatable && self.merged.target.has_mercury() => {
                (SymbolType::CUDA_OBJECT, other)
            }
            kind if is_relocatable || other.space() == 0 => (kind, other),
            _ => {
                let recorded = self.other_of_recorded(symbol);
                let is_place = other.space() != SymbolOther::GLOBAL && other.is_internal();
                let marks = if is_place {
                    other.0 & !RECORDED.0
                } else {
                    other.0
                };
                let marks = marks & !SymbolOther::SPACE_MASK;
                (SymbolType::OBJECT, SymbolOther(recorded.0 | marks))
            }
        }
    }

    /// Makes a symbol for one of the input, without a definition.
    pub(super) fn new_named(
        &mut self,
        current: &Current<'_, 'd>,
        symbol: &FileSymbol<'d>,
        binding: Binding,
        listing: Listing,
    ) -> SymbolId {
        let (kind, other) = self.kind_and_marks(symbol);
        let listing = match self.merged.is_nameless(symbol.other, self.behaviour) {
            true => Listing::Unlisted,
            false => listing,
        };
        let id = self.merged.symbols.add(
            Symbol {
                name: symbol.name,
                kind,
                binding,
                other,
                definition: Definition::Undefined,
                value: 0,
                size: symbol.size,
                space: symbol.other.space(),
                weak_reference: symbol.binding == Binding::WEAK && symbol.place == Place::Undefined,
                input: Some(current.id),
                function: None,
            },
            listing,
        );
        match symbol.binding {
            Binding::LOCAL => self.keep_static(current, symbol),
            _ => self.note_symbol(id),
        }
        id
    }
}

/// The merged section of an input's code, or the code that is used instead.
fn code_of(current: &Current<'_, '_>, section: usize) -> Option<SectionId> {
    let placed = current.placed[section].map(|placed| placed.section);
    placed.or(current.discarded.code[section])
}

/// Which half of the symbol table a new name goes to.
pub(super) fn listing(symbol: &FileSymbol<'_>) -> Listing {
    match symbol.binding {
        Binding::LOCAL => Listing::Local,
        Binding::WEAK if !is_linker_name(symbol) => Listing::Local,
        _ => Listing::Global,
    }
}

/// Names that stand for what the linker or the driver lays out. Every object
/// refers to them weakly, and they are not weak in the output.
fn is_linker_name(symbol: &FileSymbol<'_>) -> bool {
    symbol.place == Place::Undefined
        && (reserved::is_unified_table(symbol.name)
            || reserved::is_shared(symbol.name)
            || reserved::is_descriptor_size(symbol.name))
}
