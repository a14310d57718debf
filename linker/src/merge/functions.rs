//! Functions: whose code is used where several files define one.

use std::cmp::Ordering;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::arch::{Family, reserved};
use crate::cubin::{
    Binding, SYMBOL_BITS, SectionFlags, Symbol as FileSymbol, SymbolOther, SymbolType, section_name,
};
use crate::diagnostic::{Diagnostic, Mismatch};
use crate::error::{NvlinkError, ParseError};
use crate::id::{FunctionId, InputId, SectionId, SymbolId};
use crate::options::Behaviour;
use crate::read::{InputSection, Object, Role};

use super::current::{Current, Placed, ReplacedFunction};
use super::merger::Merger;
use super::relocations::forgets_replaced;
use super::symbols::listing;
use super::{Content, Definition, Form, Function, NewSection, Relocation, Section, SectionKind};

/// The flags of code: loaded, executable, and in objects of CUDA 12 a number
/// of barriers.
fn text_flags(input: &InputSection<'_>) -> SectionFlags {
    SectionFlags::CODE.with(input.flags.only(SectionFlags::BARRIERS))
}

/// The number of registers in the header of code.
fn header_registers(input: &InputSection<'_>) -> u8 {
    let [.., registers] = input.info.to_le_bytes();
    registers
}

/// The function that the code belongs to which `symbol` names.
fn owner<'d>(object: &Object<'d>, symbol: &FileSymbol<'d>) -> Option<usize> {
    let section = symbol.place.section()?;
    let owner = object.sections.get(section as usize)?.info & SYMBOL_BITS;
    let is_function =
        |owner: &FileSymbol<'_>| owner.kind == SymbolType::FUNC && owner.place == symbol.place;
    let owner = owner as usize;
    object
        .symbols
        .get(owner)
        .is_some_and(is_function)
        .then_some(owner)
}

impl<'d> Merger<'d, '_> {
    /// First pass: functions, each with its code section; for kernels also
    /// the attribute and shared memory sections.
    pub(super) fn merge_functions(
        &mut self,
        current: &mut Current<'_, 'd>,
    ) -> Result<(), ParseError> {
        let object = current.object;
        let mut is_merged = vec![false; object.symbols.len()];
        for (index, symbol) in object.symbols.iter().enumerate() {
            if symbol.kind != SymbolType::FUNC {
                continue;
            }
            // In an object of `nvlink -r` an alias may come before the name that the code belongs to
            // (case `alias`). Where a file before calls the alias, nvlink then gives the code to that
            // (case `alias_called_before`).
            let is_taken = || match (self.behaviour, self.known(symbol)) {
                (_, None) => false,
                (Behaviour::Nvlink, Some(_)) => true,
                (Behaviour::Own, Some(id)) => {
                    self.merged.symbols[id].definition != Definition::Undefined
                }
            };
            let owner = owner(object, symbol).filter(|&owner| owner > index && !is_taken());
            for index in owner.into_iter().chain([index]) {
                if !std::mem::replace(&mut is_merged[index], true) {
                    self.merge_function(current, index)?;
                }
            }
        }
        Ok(())
    }

    /// Merges a function of the input: a definition, or a reference to one.
    fn merge_function(
        &mut self,
        current: &mut Current<'_, 'd>,
        index: usize,
    ) -> Result<(), ParseError> {
        let object = current.object;
        let symbol = &object.symbols[index];
        let id = match self.known(symbol) {
            Some(id) if self.agrees(current, id, symbol) => id,
            Some(id) => return self.check_registers(id, symbol),
            None => {
                self.compare_with_static(current, symbol);
                let listing = listing(symbol);
                self.new_named(current, symbol, symbol.binding, listing)
            }
        };
        current.symbols[index] = Some(id);
        if self.merged.symbols[id].function.is_none() {
            self.new_function(id);
        }
        let Some(text) = symbol.place.section() else {
            return Ok(());
        };
        if object.sections[text as usize].role != Role::Text {
            return Err(ParseError::malformed(format!(
                "function {} lies in {}, which is not code",
                symbol.name, object.sections[text as usize].name
            )));
        }
        match self.merged.symbols[id].definition {
            // It names a place in code that lost, and names that place in the code in use (case `whole_program_names`).
            Definition::Undefined
                if symbol.value > 0
                    && let Some(used) = current.discarded.code[text as usize] =>
            {
                self.define_alias(current.id, id, symbol, used);
            }
            Definition::Undefined => {
                self.define_function(current, id, symbol, text as usize)?;
            }
            Definition::Section(used)
                if symbol.binding == Binding::WEAK
                    && !self.is_better(current, id, index as u32)? =>
            {
                current.discarded.code[text as usize] = Some(used);
            }
            _ if self.merged.symbols[id].binding == Binding::WEAK => {
                self.replace_function(current, id, symbol, text as usize);
            }
            _ => {
                let function = self.merged.symbols[id].function;
                current.discarded.code[text as usize] =
                    function.and_then(|f| self.merged.functions[f].text);
                self.report_duplicate(current, id, symbol.name);
            }
        }
        Ok(())
    }

    /// Whether a known name is that of a function, too. Tells of names that are
    /// not, and of kernels that are none elsewhere.
    fn agrees(&mut self, current: &Current<'_, 'd>, id: SymbolId, symbol: &FileSymbol<'d>) -> bool {
        let known = &self.merged.symbols[id];
        let is_function = known.kind == SymbolType::FUNC;
        let was_kernel = known.other.has(SymbolOther::ENTRY);
        let is_taken = self.is_defined(id)
            && known.binding != Binding::WEAK
            && symbol.place.section().is_some()
            && symbol.binding != Binding::WEAK;
        if was_kernel != symbol.other.has(SymbolOther::ENTRY) {
            let (input, first) = (&current.object.name, self.first_input(id));
            let error = Diagnostic::not_always_a_kernel(symbol.name, input, first);
            self.diagnostics.push(error);
        }
        if !is_function {
            self.report_mismatch(Mismatch::MemorySpace, current, id);
            if is_taken {
                self.report_duplicate(current, id, symbol.name);
            }
        }
        is_function
    }

    /// Of two weak definitions nvlink compares the registers, and ends where one is a variable's (case `clashes`).
    fn check_registers(&self, id: SymbolId, symbol: &FileSymbol<'d>) -> Result<(), ParseError> {
        let is_defined = symbol.binding == Binding::WEAK && symbol.place.section().is_some();
        if !is_defined || self.merged.symbols[id].binding != Binding::WEAK || !self.is_defined(id) {
            return Ok(());
        }
        let problem = "another file has a variable of its name";
        Err(ParseError::malformed(problem)
            .as_nvlink(NvlinkError::NoOriginalRegisters)
            .of_symbol(symbol.name))
    }

    /// Whether the name of a device function of an input is a variable's.
    pub(super) fn misses_function(&self, object: &Object<'d>) -> bool {
        let is_variable = |id| self.merged.symbols[id].kind != SymbolType::FUNC;
        object.symbols.iter().any(|symbol| {
            symbol.kind == SymbolType::FUNC
                && !symbol.other.has(SymbolOther::ENTRY)
                && self.known(symbol).is_some_and(is_variable)
                && self.mistaken_function(symbol).is_none()
        })
    }

    /// The function that nvlink takes a variable for that is in shared memory or defined tentatively, where another file has
    /// a function of its name: it numbers functions from 1, and where a function's symbol has its number, such a variable's
    /// has its alignment (case `clashes`).
    pub(super) fn mistaken_function(&self, symbol: &FileSymbol<'d>) -> Option<FunctionId> {
        let known = &self.merged.symbols[self.known(symbol)?];
        let is_mistaken = self.behaviour == Behaviour::Nvlink
            && symbol.kind == SymbolType::FUNC
            && matches!(known.definition, Definition::Shared(_) | Definition::Common);
        let index = known.value.checked_sub(1).filter(|_| is_mistaken)?;
        let mut functions = self.merged.functions.enumerate();
        functions
            .nth(usize::try_from(index).ok()?)
            .map(|(id, _)| id)
    }

    /// The row of a function. One is made for each as soon as it has a symbol.
    pub(super) fn row_of(&self, symbol: SymbolId) -> FunctionId {
        let function = self.merged.symbols[symbol].function;
        function.expect("functions have a row")
    }

    /// Makes the row of a function.
    fn new_function(&mut self, symbol: SymbolId) {
        let function = self.merged.functions.push(Function::new(symbol));
        self.merged.symbols[symbol].function = Some(function);
    }

    /// Takes the code of a function that has no definition so far, and makes its section.
    fn define_function(
        &mut self,
        current: &mut Current<'_, 'd>,
        id: SymbolId,
        symbol: &FileSymbol<'d>,
        text: usize,
    ) -> Result<(), ParseError> {
        if let Some(placed) = current.placed[text] {
            self.define_alias(current.id, id, symbol, placed.section);
            return Ok(());
        }
        let input = current.object.sections[text];
        self.merged.unified.has_slots |= input.is_stub();
        if input.is_stub() && self.merged.is_executable() {
            return self.define_stub(current, id, symbol, text);
        }
        let kind = match input.is_stub() {
            true => SectionKind::Stubs,
            false => SectionKind::Text,
        };
        // Code that goes to an alias has its name (case `alias_called_before`).
        let is_alias = owner(current.object, symbol)
            .is_some_and(|owner| current.object.symbols[owner].name != symbol.name);
        let name =
            match self.behaviour == Behaviour::Nvlink && kind == SectionKind::Text && is_alias {
                true => self.arena.name(&[section_name::CODE_OF, symbol.name]),
                false => input.name,
            };
        let section = NewSection::new(name, kind, input.align);
        let section = self.new_section(section.with_flags(text_flags(&input)));
        self.merged.sections[section]
            .content
            .append(input.data, input.size, input.align);
        current.placed[text] = Some(Placed { section, base: 0 });
        let function = self.row_of(id);
        self.merged.sections[section].function = Some(function);
        // nvlink looks at the filter where it meets a name first (case
        // `launched_elsewhere`).
        let was_known = self.merged.symbols[id].input != Some(current.id);
        let merged = &mut self.merged.symbols[id];
        merged.binding = symbol.binding;
        // The other marks are those of the first file that names it (cases
        // `unified_program` and `symbol_marks`).
        merged.other.0 |= symbol.other.0 & SymbolOther::OF_DEFINITION;
        merged.size = symbol.size;
        merged.value = symbol.value;
        merged.input = Some(current.id);
        merged.definition = Definition::Section(section);
        let row = &mut self.merged.functions[function];
        row.text = Some(section);
        row.registers = header_registers(&input);
        row.is_laid_out = current.object.is_whole_program;
        self.define_kernel(function, symbol, was_known);
        Ok(())
    }

    /// Makes the sections that a kernel has, if the function is one or stands in for one of the driver's. `was_known` is
    /// whether an earlier input refers to it.
    fn define_kernel(&mut self, function: FunctionId, symbol: &FileSymbol<'d>, was_known: bool) {
        let is_kept = self.is_kernel(symbol.name, symbol.binding);
        let is_kernel = symbol.other.has(SymbolOther::ENTRY);
        if is_kernel && symbol.binding == Binding::LOCAL {
            self.note_static_kernel();
        }
        let stands_in = !is_kernel && reserved::is_system_call(symbol.name);
        let row = &mut self.merged.functions[function];
        row.is_laid_out &= stands_in || is_kernel;
        if stands_in || is_kernel && (was_known || is_kept) {
            row.is_entry = is_kernel && is_kept;
            row.stands_in = stands_in;
            let text = row.text;
            let info = self.section(NewSection::info_of(self.arena, symbol.name, text));
            let shared = self.section(NewSection::shared_of(self.arena, symbol.name, text));
            let row = &mut self.merged.functions[function];
            row.info = Some(info);
            row.shared = Some(shared);
        }
    }

    /// Whether a weak definition takes the place of the one in use: of two
    /// weak ones the one that needs fewer registers stays (case
    /// `weak_registers`). If they need as many, it does where it was compiled
    /// for a later virtual processor than the first one (case `weak_processors`).
    fn is_better(
        &self,
        current: &mut Current<'_, 'd>,
        id: SymbolId,
        index: u32,
    ) -> Result<bool, ParseError> {
        if self.merged.symbols[id].binding != Binding::WEAK {
            return Ok(false);
        }
        let own = current.registers()?.get(&index).copied();
        let used = self.definitions.registers.get(&id).copied();
        // Before, the header of the code says it, too.
        let is_told = self.merged.target.family() == Some(Family::Hopper);
        if self.behaviour == Behaviour::Nvlink && is_told {
            self.check_counts(id, used, own)?;
        }
        Ok(match own.zip(used).map(|(own, used)| own.cmp(&used)) {
            Some(Ordering::Less) => true,
            Some(Ordering::Equal) => {
                let first = self.definitions.first_inputs.get(&id).copied();
                let first = first.or(self.merged.symbols[id].input);
                let first = first.and_then(|input| self.origins[input].virtual_sm);
                self.origins[current.id].virtual_sm > first
            }
            Some(Ordering::Greater) | None => false,
        })
    }

    /// nvlink fails where it compares two definitions by their registers and one does not say how many it needs (case
    /// `missing_names`).
    fn check_counts(
        &self,
        id: SymbolId,
        used: Option<u32>,
        own: Option<u32>,
    ) -> Result<(), ParseError> {
        let (problem, text) = match (used, own) {
            (Some(_), Some(_)) => return Ok(()),
            (None, _) => ("the definition in use", NvlinkError::NoOriginalRegisters),
            (Some(_), None) => ("another definition", NvlinkError::NoNewRegisters),
        };
        let problem = format!("{problem} does not say how many registers it needs");
        Err(ParseError::malformed(problem)
            .as_nvlink(text)
            .of_symbol(self.merged.symbols[id].name))
    }

    /// A second name for code stands for it and owns nothing (case `alias`).
    fn define_alias(
        &mut self,
        input: InputId,
        id: SymbolId,
        symbol: &FileSymbol<'d>,
        section: SectionId,
    ) {
        let merged = &mut self.merged.symbols[id];
        merged.binding = symbol.binding;
        merged.other = symbol.other.unhidden();
        merged.size = symbol.size;
        merged.value = symbol.value;
        merged.input = Some(input);
        merged.definition = Definition::Section(section);
    }

    /// A strong definition takes the place of a weak one, and so does a better
    /// weak one: code, records and relocations go, the position stays.
    fn replace_function(
        &mut self,
        current: &mut Current<'_, 'd>,
        id: SymbolId,
        symbol: &FileSymbol<'d>,
        text: usize,
    ) {
        let Definition::Section(section) = self.merged.symbols[id].definition else {
            return;
        };
        let input = current.object.sections[text];
        let row = &mut self.merged.sections[section];
        row.content = Content::aligned(row.content.align);
        row.content.append(input.data, input.size, input.align);
        row.flags = text_flags(&input);
        row.relocations.clear();
        row.native = None;
        current.placed[text] = Some(Placed { section, base: 0 });
        self.keep_first_input(id);
        let merged = &mut self.merged.symbols[id];
        let is_strong = symbol.binding != Binding::WEAK;
        if is_strong {
            merged.binding = Binding::GLOBAL;
        }
        merged.size = symbol.size;
        merged.input = Some(current.id);
        let function = self.row_of(id);
        let row = &mut self.merged.functions[function];
        row.registers = header_registers(&input);
        row.records = &[];
        row.native = None;
        // What the old code calls and refers to stays, and what the new one does is added
        // (case `weak_calls`).
        let replaced = ReplacedFunction {
            symbol: id,
            is_strong,
        };
        current.replaced.code.insert(section, replaced);
    }

    /// Clears what replaced functions left in other tables, in one pass for
    /// all of an input.
    pub(super) fn forget_replaced(&mut self, replaced: &FxHashMap<SectionId, ReplacedFunction>) {
        if replaced.is_empty() {
            return;
        }
        let functions: FxHashSet<SymbolId> = replaced.values().map(|r| r.symbol).collect();
        self.merged
            .records
            .retain(|r| !r.subject().is_some_and(|s| functions.contains(&s)));
        let mut had_relocations = FxHashSet::default();
        let has_mercury = self.merged.target.has_mercury();
        for row in self.merged.sections.iter_mut() {
            if row.kind == SectionKind::Debug
                && forgets_replaced(row.name)
                && let Some(native) = &mut row.native
            {
                let end = native.content.size;
                native.replaced.extend(functions.iter().map(|&s| (s, end)));
            }
            let Some(owner) = row.target.and_then(|target| replaced.get(&target)) else {
                continue;
            };
            match row.kind {
                // A strong kernel leaves the parameters of the weak one where
                // they are, and adds its own.
                SectionKind::Constant(_)
                    if row.holds_replaced() && self.behaviour == Behaviour::Nvlink => {}
                SectionKind::Constant(bank) if bank > 0 || !owner.is_strong => {
                    // Those of weak ones share a place (case `weak_parameters`).
                    if bank > 0 || has_mercury {
                        row.content = Content::aligned(row.content.align);
                    }
                    // In Mercury objects nvlink leaves the addresses of old
                    // tables.
                    if row.native.is_none() || self.behaviour != Behaviour::Nvlink {
                        row.relocations.clear();
                    }
                    if let Some(native) = &mut row.native {
                        native.content = Content::default();
                        native.unused.clear();
                    }
                    row.constants = row.constants.take().and_then(|known| known.replaced());
                }
                SectionKind::Rel | SectionKind::Rela => {
                    had_relocations.insert(owner.symbol);
                }
                _ => {}
            }
        }
        if !had_relocations.is_empty() {
            self.merged.replaced_relocations = true;
            self.discard_debug(&had_relocations);
        }
    }

    /// Line tables and frames lose what points at a weak function that another
    /// one replaced, if the code of one had relocations so far; those without
    /// an addend stay where the first ones of the section have none (cases
    /// `weak_debug`, `weak_debug_info` and `lineinfo_replaced`).
    fn discard_debug(&mut self, functions: &FxHashSet<SymbolId>) {
        let sections = self.merged.sections.iter();
        let mut first = FxHashMap::default();
        for section in sections.filter(|s| matches!(s.kind, SectionKind::Rel | SectionKind::Rela)) {
            first.entry(section.target).or_insert(section.kind);
        }
        let forgets = |section: &Section<'_>| {
            section.kind == SectionKind::Debug && forgets_replaced(section.name)
        };
        let sections = self.merged.sections.enumerate();
        let sections: Vec<SectionId> = sections
            .filter_map(|(id, section)| forgets(section).then_some(id))
            .collect();
        for id in sections {
            let section = &mut self.merged.sections[id];
            let keeps_short = first.get(&Some(id)) == Some(&SectionKind::Rel);
            let is_kept = |r: &Relocation| {
                !functions.contains(&r.symbol) || keeps_short && r.form == Form::Rel
            };
            section.relocations.retain(is_kept);
            let native = section.native.iter_mut().flat_map(|n| &mut n.relocations);
            for relocation in native.filter(|r| functions.contains(&r.symbol)) {
                relocation.discarded = true;
            }
        }
    }
}
