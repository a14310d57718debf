//! Disagreements between files about a name, and which file messages name.

use crate::arch::reserved;
use crate::cubin::{Binding, Place, Symbol as FileSymbol, SymbolOther, SymbolType};
use crate::diagnostic::{Diagnostic, Mismatch};
use crate::id::SymbolId;
use crate::options::Behaviour;
use crate::read::{InputSection, Role};

use super::current::Current;
use super::merger::{Merger, Static};
use super::{Definition, SectionKind, SharedHome};

/// nvlink's name for the input of what it makes itself.
pub(super) const LINKER: &str = "<input>";

impl<'d> Merger<'d, '_> {
    /// Whether a name is a texture, surface or sampler in one file and something else in another (case `clashes`). nvlink's
    /// message then names no first file.
    pub(super) fn clashes_with_reference(
        &mut self,
        current: &Current<'_, 'd>,
        symbol: &FileSymbol<'d>,
        known: Option<SymbolId>,
    ) -> bool {
        let Some(id) = known else {
            return false;
        };
        let known = self.merged.symbols[id].kind;
        let is_local = |binding| binding == Binding::LOCAL;
        match (known.is_reference(), symbol.kind.is_reference()) {
            (true, false) => {
                self.report_mismatch(Mismatch::MemorySpace, current, id);
                self.check_managed(current, id, symbol);
            }
            // A parameter is not visible in other files.
            (_, true)
                if known != symbol.kind
                    || is_local(self.merged.symbols[id].binding) != is_local(symbol.binding) =>
            {
                self.report_duplicate(current, id, symbol.name)
            }
            _ => return false,
        }
        true
    }

    /// nvlink takes a static name of an earlier file as another definition of the name (case `texture_parameters`).
    pub(super) fn clashes_with_static(
        &mut self,
        current: &Current<'_, 'd>,
        symbol: &FileSymbol<'d>,
        known: Option<SymbolId>,
    ) -> bool {
        let first = self
            .names
            .statics
            .get(symbol.name)
            .filter(|_| known.is_none());
        let Some(first) = first else {
            return false;
        };
        let first = self.merged.input_name(Some(first.input));
        let input = &current.object.name;
        let error = Diagnostic::multiple_definition(symbol.name, input, first);
        self.diagnostics.push(error);
        true
    }

    /// Whether a symbol has a definition. A reference to shared memory of a fixed size in another file is none.
    pub(super) fn is_defined(&self, id: SymbolId) -> bool {
        let known = &self.merged.symbols[id];
        match known.definition {
            Definition::Undefined => false,
            Definition::Shared(SharedHome::Dynamic) => known.size == 0,
            _ => true,
        }
    }

    /// Refuses to mix objects of CUDA 12 and 13 that use tensor memory: they reserve different things in shared memory (case
    /// `older_tensor_memory`). The names of the reserved variables tell, and not the version of the object, as `nvlink -r`
    /// gives older code its own.
    pub(super) fn check_tensor_memory(&mut self, current: &Current<'_, 'd>) {
        let object = current.object;
        let uses_reserved = |s: &InputSection<'_>| s.role == Role::SharedReserved;
        if !object.sections.iter().any(uses_reserved) {
            return;
        }
        let is_named = |names: &[&str]| object.symbols.iter().any(|s| names.contains(&s.name));
        let is_older = match is_named(&[reserved::TENSOR_MEMORY]) {
            true => false,
            false if is_named(&reserved::OLDER_TENSOR_MEMORY) => true,
            false => self.origins[current.id].is_older,
        };
        if *self.has_older_tensor_memory.get_or_insert(is_older) == is_older {
            return;
        }
        let names = match is_older {
            true => &reserved::OLDER_TENSOR_MEMORY[..],
            false => &[reserved::TENSOR_MEMORY],
        };
        let is_named = |symbol: &&FileSymbol<'_>| names.contains(&symbol.name);
        let mut error = Diagnostic::old_tensor_memory(&object.name);
        // nvlink says it of the file, and of each variable.
        error.times += object.symbols.iter().filter(is_named).count();
        self.diagnostics.push(error);
    }

    /// Checks that a file says the same about `__managed__` as files before.
    fn check_managed(&mut self, current: &Current<'_, 'd>, id: SymbolId, symbol: &FileSymbol<'d>) {
        let is_managed = |other: SymbolOther| other.has(SymbolOther::MANAGED);
        if is_managed(self.merged.symbols[id].other) != is_managed(symbol.other) {
            self.report_mismatch(Mismatch::Managed, current, id);
        }
    }

    /// Checks that a file means the same kind and size of a variable as files before, and the same about `__managed__` (case
    /// `managed_vars`). An array of unknown length has size 0, and two tentative definitions may differ in size (case
    /// `common_sizes`).
    pub(super) fn check_agreement(
        &mut self,
        current: &Current<'_, 'd>,
        id: SymbolId,
        symbol: &FileSymbol<'d>,
    ) {
        let known = &self.merged.symbols[id];
        if known.space != symbol.other.space() {
            self.report_mismatch(Mismatch::MemorySpace, current, id);
        }
        self.check_managed(current, id, symbol);
        let known = &self.merged.symbols[id];
        let is_dynamic = known.definition == Definition::Shared(SharedHome::Dynamic);
        // Beside dynamic shared memory, a tentative definition is not of unknown length either, and another name of a function,
        // which has no size, is never (case `clashes`).
        let is_code =
            matches!(known.definition, Definition::Section(_)) && known.kind == SymbolType::FUNC;
        let has_size = known.size != 0 || is_dynamic && symbol.place == Place::Common || is_code;
        if known.size == symbol.size || !has_size || symbol.size == 0 {
            return;
        }
        let has_value = match known.definition {
            Definition::Section(section) => {
                self.merged.sections[section].kind == SectionKind::GlobalInit
            }
            _ => false,
        };
        let gets_value = symbol.place.section().is_some_and(|section| {
            current.object.sections[section as usize].role == Role::GlobalInit
        });
        // What has a value only has to be as large as a tentative definition.
        let is_defined = self.definitions.common_too.contains(&id);
        match (known.definition, symbol.place) {
            (Definition::Common, _) if is_defined => {
                self.report_mismatch(Mismatch::Size, current, id);
            }
            (Definition::Common, Place::Common) => {}
            (Definition::Common, _) if gets_value => {
                if known.size > symbol.size {
                    let input = self.first_input(id);
                    let error = Diagnostic::common_too_large(symbol.name, input);
                    self.diagnostics.push(error);
                }
            }
            (_, Place::Common) if has_value => {
                if symbol.size > known.size {
                    let input = &current.object.name;
                    let error = Diagnostic::common_too_large(symbol.name, input);
                    self.diagnostics.push(error);
                }
            }
            _ => self.report_mismatch(Mismatch::Size, current, id),
        }
    }

    /// Compares a function with a static one of its name in another file, as nvlink does, which only reports kernels (case
    /// `static_and_kernel`).
    pub(super) fn compare_with_static(
        &mut self,
        current: &Current<'_, 'd>,
        symbol: &FileSymbol<'d>,
    ) {
        let is_kernel = symbol.other.has(SymbolOther::ENTRY);
        let first = self.names.statics.get(symbol.name);
        if let Some(first) = first.filter(|_| symbol.binding != Binding::LOCAL)
            && first.is_kernel != is_kernel
        {
            let first = self.merged.input_name(Some(first.input));
            let error = Diagnostic::not_always_a_kernel(symbol.name, &current.object.name, first);
            self.diagnostics.push(error);
        }
    }

    /// Remembers a static function or variable, for [`Self::statics`].
    pub(super) fn keep_static(&mut self, current: &Current<'_, 'd>, symbol: &FileSymbol<'d>) {
        if self.behaviour == Behaviour::Nvlink {
            let is_kernel = symbol.kind == SymbolType::FUNC && symbol.other.has(SymbolOther::ENTRY);
            self.names.statics.entry(symbol.name).or_insert(Static {
                input: current.id,
                is_kernel,
            });
        }
    }

    pub(super) fn report_duplicate(&mut self, current: &Current<'_, 'd>, id: SymbolId, name: &str) {
        let first = self.first_input(id);
        let diagnostic = Diagnostic::multiple_definition(name, &current.object.name, first);
        self.diagnostics.push(diagnostic);
    }

    pub(super) fn report_mismatch(
        &mut self,
        what: Mismatch,
        current: &Current<'_, 'd>,
        id: SymbolId,
    ) {
        let name = &self.merged.symbols[id].name;
        let first = self.first_input(id);
        let diagnostic = Diagnostic::mismatch(what, name, &current.object.name, first);
        self.diagnostics.push(diagnostic);
    }

    /// The input that messages about clashes name: as in nvlink the first with this name, even if its definition is not in
    /// use or it only refers to a variable (case `first_inputs`).
    pub(super) fn first_input(&self, id: SymbolId) -> &str {
        if self.merged.symbols[id].kind.is_reference() && self.behaviour == Behaviour::Nvlink {
            return LINKER;
        }
        let first = self.definitions.first_inputs.get(&id).copied();
        let first = first.filter(|_| self.behaviour == Behaviour::Nvlink);
        let input = first.or(self.merged.symbols[id].input);
        self.merged.input_name(input)
    }

    /// Remembers the input of a definition or first use that another definition is about to replace.
    pub(super) fn keep_first_input(&mut self, id: SymbolId) {
        if let Some(input) = self.merged.symbols[id].input {
            self.definitions.first_inputs.entry(id).or_insert(input);
        }
    }
}
