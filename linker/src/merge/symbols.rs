//! Functions and variables: who defines a name, and what clashes.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::arch::reserved;
use crate::cubin::{Binding, Place, Symbol as FileSymbol, SymbolOther, SymbolType};
use crate::diagnostic::{Diagnostic, Mismatch};
use crate::error::{ParseError, Problem};
use crate::id::{Id as _, InputId, SectionId, SymbolId};
use crate::options::Keeping;
use crate::read::Role;

use super::constants::PLACE_NAME;
use super::merger::{Current, Merger, Placed, Replaced};
use super::{
    Definition, Function, ListedShared, Listing, NativeFunction, SectionKind, SharedHome, Symbol,
};

impl<'d> Merger<'d, '_> {
    /// First pass: functions, each with its code section; for kernels also
    /// the attribute and shared memory sections.
    pub(super) fn merge_functions(
        &mut self,
        current: &mut Current<'_, 'd>,
    ) -> Result<(), ParseError> {
        let object = current.object;
        for (index, symbol) in object.symbols.iter().enumerate() {
            if symbol.kind != SymbolType::FUNC {
                continue;
            }
            let id = match self.known(symbol) {
                Some(id) if self.merged.symbols[id].kind != SymbolType::FUNC => {
                    self.report_mismatch(Mismatch::MemorySpace, current, id);
                    continue;
                }
                Some(id) => id,
                None => {
                    let listing = listing(symbol);
                    self.new_named(current, symbol, symbol.binding, listing)
                }
            };
            current.symbols[index] = Some(id);
            if self.merged.symbols[id].function.is_none() {
                self.new_function(id);
            }
            let Some(text) = symbol.place.section() else {
                continue;
            };
            if object.sections[text as usize].role != Role::Text {
                return Err(ParseError::new(Problem::Malformed(format!(
                    "function {} lies in {}, which is not code",
                    symbol.name, object.sections[text as usize].name
                ))));
            }
            match self.merged.symbols[id].definition {
                Definition::Undefined => {
                    self.define_function(current, id, symbol, text as usize)?;
                }
                Definition::Section(used)
                    if symbol.binding == Binding::WEAK
                        && !self.is_better(current, id, index as u32)? =>
                {
                    current.discarded[text as usize] = Some(used);
                }
                _ if self.merged.symbols[id].binding == Binding::WEAK => {
                    self.replace_function(current, id, symbol, text as usize);
                }
                _ => {
                    let function = self.merged.symbols[id].function;
                    current.discarded[text as usize] =
                        function.and_then(|f| self.merged.functions[f].text);
                    self.report_duplicate(current, id, symbol.name);
                }
            }
        }
        Ok(())
    }

    fn new_function(&mut self, symbol: SymbolId) {
        let function = self.merged.functions.push(Function {
            symbol,
            text: None,
            info: None,
            shared: None,
            is_entry: false,
            is_stub: false,
            calls: Vec::new(),
            address_taken: None,
            indirect_calls: Vec::new(),
            references: Vec::new(),
            prototype: None,
            records: Vec::new(),
            native: NativeFunction::default(),
        });
        self.merged.symbols[symbol].function = Some(function);
    }

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
        if input.is_stub() && self.merged.image.is_executable() {
            return self.define_stub(current, id, symbol, text);
        }
        let kind = match input.is_stub() {
            true => SectionKind::Stubs,
            false => SectionKind::Text,
        };
        let section = self.new_section(input.name.into(), kind, 6, input.align, None);
        self.merged.sections[section]
            .content
            .append(input.data, input.size, input.align);
        current.placed[text] = Some(Placed { section, base: 0 });
        let function = self.merged.symbols[id]
            .function
            .expect("functions have a row");
        self.merged.sections[section].function = Some(function);
        let merged = &mut self.merged.symbols[id];
        merged.binding = symbol.binding;
        // What marks unified functions comes with the first file that names
        // one (case `unified_program`).
        let mark = merged.other.0 & SymbolOther::MANAGED;
        merged.other = SymbolOther(symbol.other.0 & !SymbolOther::MANAGED | mark);
        merged.size = symbol.size;
        merged.value = symbol.value;
        merged.input = Some(current.id);
        merged.definition = Definition::Section(section);
        self.merged.functions[function].text = Some(section);
        if symbol.other.has(SymbolOther::ENTRY) && self.is_kernel(symbol.name) {
            let name = symbol.name;
            let target = Some(section);
            let info = self.section(
                format!(".nv.info.{name}"),
                SectionKind::Info,
                0x40,
                4,
                target,
            );
            let shared = self.section(
                format!(".nv.shared.{name}"),
                SectionKind::Shared,
                0x43,
                1,
                target,
            );
            let row = &mut self.merged.functions[function];
            row.is_entry = true;
            row.info = Some(info);
            row.shared = Some(shared);
        }
        Ok(())
    }

    /// Whether a weak definition takes the place of the one in use: of two
    /// weak ones the one that needs fewer registers stays (case `weak_registers`).
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
        Ok(own
            .zip(self.registers.get(&id).copied())
            .is_some_and(|(own, used)| own < used))
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
        merged.other = symbol.other;
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
        row.content = super::Content {
            align: row.content.align,
            ..super::Content::default()
        };
        row.content.append(input.data, input.size, input.align);
        row.relocations.clear();
        row.native = None;
        current.placed[text] = Some(Placed { section, base: 0 });
        let merged = &mut self.merged.symbols[id];
        let is_strong = symbol.binding != Binding::WEAK;
        if is_strong {
            merged.binding = Binding::GLOBAL;
        }
        merged.size = symbol.size;
        merged.input = Some(current.id);
        let function = merged.function.expect("functions have a row");
        let row = &mut self.merged.functions[function];
        row.records.clear();
        row.native = NativeFunction::default();
        // What the old code calls stays, and what the new one calls is added
        // even if it is the same; in relocatable objects if it is not (case
        // `weak_calls`).
        if self.merged.image.is_executable() {
            for &callee in &row.calls {
                self.calls_seen.remove(&(function, callee));
            }
        }
        let replaced = Replaced {
            symbol: id,
            is_strong,
        };
        current.replaced.insert(section, replaced);
    }

    /// Clears what replaced functions left in other tables, in one pass for
    /// all of an input.
    pub(super) fn forget_replaced(&mut self, replaced: &FxHashMap<SectionId, Replaced>) {
        if replaced.is_empty() {
            return;
        }
        let functions: FxHashSet<SymbolId> = replaced.values().map(|r| r.symbol).collect();
        self.merged
            .records
            .retain(|r| !r.subject().is_some_and(|s| functions.contains(&s)));
        let mut had_relocations = FxHashSet::default();
        for row in self.merged.sections.iter_mut() {
            let Some(owner) = row.target.and_then(|target| replaced.get(&target)) else {
                continue;
            };
            match row.kind {
                // A strong kernel leaves the parameters of the weak one where
                // they are, and adds its own.
                SectionKind::Constant(bank) if bank > 0 || !owner.is_strong => {
                    row.content = super::Content {
                        align: row.content.align,
                        ..super::Content::default()
                    };
                    // In Mercury objects the addresses of old tables stay.
                    if let Some(native) = &mut row.native {
                        native.content = super::Content::default();
                    } else {
                        row.relocations.clear();
                    }
                    row.pieces.clear();
                    row.unused = None;
                }
                SectionKind::Rel | SectionKind::Rela => {
                    had_relocations.insert(owner.symbol);
                }
                _ => {}
            }
        }
        if !had_relocations.is_empty() {
            self.discard_debug(&had_relocations);
        }
    }

    /// Debug information loses what points at a weak function that another
    /// one replaced, if the code of one had relocations so far; those without
    /// an addend always stay (case `weak_debug`).
    fn discard_debug(&mut self, functions: &FxHashSet<SymbolId>) {
        for section in self.merged.sections.iter_mut() {
            if section.kind == SectionKind::Debug {
                section
                    .relocations
                    .retain(|r| !functions.contains(&r.symbol) || r.form == super::Form::Rel);
                let native = section.native.iter_mut().flat_map(|n| &mut n.relocations);
                for relocation in native.filter(|r| functions.contains(&r.symbol)) {
                    relocation.discarded = true;
                }
            }
        }
    }

    /// Second pass: variables, each after its section.
    pub(super) fn merge_variables(
        &mut self,
        current: &mut Current<'_, 'd>,
    ) -> Result<(), ParseError> {
        let object = current.object;
        for (index, symbol) in object.symbols.iter().enumerate() {
            if index == 0
                || matches!(
                    symbol.kind,
                    SymbolType::NOTYPE | SymbolType::FUNC | SymbolType::SECTION
                )
            {
                continue;
            }
            current.symbols[index] = if symbol.other.space() == SymbolOther::SHARED {
                self.merge_shared(current, symbol)
            } else if symbol.other == PLACE_NAME && self.vanishes(current, symbol) {
                None
            } else if symbol.binding == Binding::LOCAL {
                self.merge_local(current, symbol)
            } else {
                Some(self.merge_global(current, symbol)?)
            };
        }
        Ok(())
    }

    fn merge_shared(
        &mut self,
        current: &mut Current<'_, 'd>,
        symbol: &FileSymbol<'d>,
    ) -> Option<SymbolId> {
        let home = match symbol.place.section() {
            None => SharedHome::Dynamic,
            // nvlink defines it in its relocatable objects.
            Some(_) if symbol.binding != Binding::LOCAL && symbol.size == 0 => SharedHome::Dynamic,
            Some(section) => {
                let placed = self.place(current, section as usize)?;
                match self.merged.sections[placed.section].target {
                    Some(_) => SharedHome::Kernel(placed.section),
                    None => SharedHome::Module,
                }
            }
        };
        let id = match self.known(symbol) {
            Some(id) => {
                self.check_agreement(current, id, symbol);
                id
            }
            None => {
                let listing = match self.merged.listed_shared {
                    ListedShared::All | ListedShared::Static => listing(symbol),
                    ListedShared::Nothing => Listing::Unlisted,
                };
                let id = self.new_named(current, symbol, symbol.binding, listing);
                self.merged.symbols[id].size = symbol.size;
                // What has a size is only referred to here, and defined elsewhere.
                if symbol.binding != Binding::LOCAL && symbol.size == 0 {
                    self.section(".nv_debug.shared", SectionKind::Shared, 3, 1, None);
                    self.merged.shared.push(id);
                }
                self.merged.symbols[id].definition = Definition::Shared(SharedHome::Dynamic);
                id
            }
        };
        let merged = &mut self.merged.symbols[id];
        if home != SharedHome::Dynamic
            && merged.definition == Definition::Shared(SharedHome::Dynamic)
        {
            merged.definition = Definition::Shared(home);
            merged.binding = symbol.binding;
            merged.size = symbol.size;
            merged.value = symbol.value;
            merged.input = Some(current.id);
            self.merged.shared.push(id);
        } else if home != SharedHome::Dynamic && symbol.binding != Binding::WEAK {
            if merged.binding == Binding::WEAK {
                merged.binding = symbol.binding;
                merged.value = merged.value.max(symbol.value);
                // nvlink lays out both and uses one (case `shared_weak`).
                if self.keeping == Keeping::AsNvlink {
                    self.merged.shared.push(id);
                }
            } else {
                self.report_duplicate(current, id, symbol.name);
            }
        }
        Some(id)
    }

    fn merge_local(
        &mut self,
        current: &mut Current<'_, 'd>,
        symbol: &FileSymbol<'d>,
    ) -> Option<SymbolId> {
        if symbol.place == Place::Undefined {
            let listing = match self.merged.image.is_executable() {
                true => Listing::Unlisted,
                false => Listing::Local,
            };
            let id = self.new_named(current, symbol, Binding::LOCAL, listing);
            let merged = &mut self.merged.symbols[id];
            merged.definition = Definition::Never;
            merged.kind = SymbolType::CUDA_OBJECT;
            merged.value = u64::MAX;
            return Some(id);
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
            self.merged.symbols[id].name = name.into();
        }
        Some(id)
    }

    fn merge_global(
        &mut self,
        current: &mut Current<'_, 'd>,
        symbol: &FileSymbol<'d>,
    ) -> Result<SymbolId, ParseError> {
        let known = self.known(symbol);
        if let Some(id) = known {
            self.check_agreement(current, id, symbol);
        }
        let section = match symbol.place {
            Place::Section(section) => section as usize,
            Place::Common => return Ok(self.merge_common(current, symbol, known)),
            Place::Undefined | Place::Absolute | Place::Reserved(_) => {
                return Ok(known.unwrap_or_else(|| {
                    let binding = if is_linker_name(symbol) {
                        Binding::GLOBAL
                    } else {
                        symbol.binding
                    };
                    let id = self.new_named(current, symbol, binding, listing(symbol));
                    let merged = &mut self.merged.symbols[id];
                    // What the system reserves keeps its address (case
                    // `reserved_cap`).
                    merged.value = symbol.value;
                    id
                }));
            }
        };
        if let Some(id) = known {
            match self.merged.symbols[id].definition {
                // Without a value, a definition is no more than a tentative
                // one; a strong one has its place besides, though unused (case
                // `common_defined`).
                Definition::Common if current.object.sections[section].role == Role::Global => {
                    if symbol.binding != Binding::WEAK {
                        if !self.defined_commons.insert(id) {
                            self.report_duplicate(current, id, symbol.name);
                        }
                        self.place(current, section);
                        self.merged.symbols[id].binding = Binding::GLOBAL;
                    }
                    return Ok(id);
                }
                Definition::Undefined | Definition::Common | Definition::Never => {}
                Definition::Section(_) | Definition::Shared(_) => {
                    if symbol.binding == Binding::WEAK {
                        // Beside a strong variable, and among constants, it
                        // stays patched (case `weak_data_pointers`).
                        if self.merged.symbols[id].binding == Binding::WEAK
                            && current.object.sections[section].role == Role::GlobalInit
                        {
                            let end = symbol.value.saturating_add(symbol.size);
                            current.discarded_data.insert((section, symbol.value), end);
                        }
                        return Ok(id);
                    }
                    if self.merged.symbols[id].binding != Binding::WEAK {
                        self.report_duplicate(current, id, symbol.name);
                        return Ok(id);
                    }
                }
            }
        }
        let placed = self.place(current, section).ok_or_else(|| {
            ParseError::new(Problem::Malformed(format!(
                "variable {} lies in {}, which holds no data",
                symbol.name, current.object.sections[section].name
            )))
        })?;
        let id = known
            .unwrap_or_else(|| self.new_named(current, symbol, symbol.binding, listing(symbol)));
        let was_weak = self.merged.symbols[id].binding == Binding::WEAK && known.is_some();
        if was_weak && symbol.other.space() == SymbolOther::GLOBAL {
            current.replaced_variables.insert(id);
        }
        self.define_variable(id, symbol, placed);
        let is_executable = self.merged.image.is_executable();
        let merged = &mut self.merged.symbols[id];
        merged.binding = if was_weak {
            Binding::GLOBAL
        } else {
            symbol.binding
        };
        merged.other = match is_executable {
            true => SymbolOther(symbol.other.0 & !SymbolOther::SPACE_MASK),
            false => symbol.other,
        };
        merged.input = Some(current.id);
        Ok(id)
    }

    /// For nvlink, constants lose all addresses of a weak variable in global
    /// memory when a strong one replaces it (case `weak_variables_in_constants`).
    pub(super) fn forget_pointers(&mut self, replaced: &FxHashSet<SymbolId>) {
        if replaced.is_empty() || self.keeping != Keeping::AsNvlink {
            return;
        }
        for section in self.merged.sections.iter_mut() {
            if matches!(section.kind, SectionKind::Constant(_)) {
                let native = section.native.iter_mut().flat_map(|n| &mut n.relocations);
                for relocation in section.relocations.iter_mut().chain(native) {
                    relocation.discarded |= replaced.contains(&relocation.symbol);
                }
            }
        }
    }

    /// Whoever names a variable must mean the same kind and size of it. An
    /// array of unknown length has size 0; two tentative definitions may differ
    /// (case `common_sizes`).
    fn check_agreement(
        &mut self,
        current: &Current<'_, 'd>,
        id: SymbolId,
        symbol: &FileSymbol<'d>,
    ) {
        let known = &self.merged.symbols[id];
        let space = symbol.other.space();
        if known.kind == SymbolType::FUNC
            || (known.space != 0 && space != 0 && known.space != space)
        {
            self.report_mismatch(Mismatch::MemorySpace, current, id);
        } else if known.size != symbol.size
            && known.size != 0
            && symbol.size != 0
            && !(known.definition == Definition::Common && symbol.place == Place::Common)
        {
            self.report_mismatch(Mismatch::Size, current, id);
        }
    }

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
            Definition::Undefined => {
                merged.definition = Definition::Common;
                merged.size = symbol.size;
                merged.value = symbol.value;
                self.merged.commons.push(id);
            }
            // The alignment stays that of the first declaration.
            Definition::Common => merged.size = merged.size.max(symbol.size),
            Definition::Section(section)
                if self.merged.sections[section].kind == SectionKind::Global =>
            {
                if merged.binding == Binding::WEAK {
                    merged.definition = Definition::Common;
                    merged.value = symbol.value;
                    self.merged.commons.push(id);
                } else {
                    self.report_duplicate(current, id, symbol.name);
                }
            }
            Definition::Section(_) | Definition::Shared(_) | Definition::Never => {}
        }
        id
    }

    fn define_variable(&mut self, id: SymbolId, symbol: &FileSymbol<'d>, placed: Placed) {
        let section = &mut self.merged.sections[placed.section];
        // Reserved shared memory is laid out by variables, whose value is
        // their alignment.
        let value = match section.kind {
            SectionKind::SharedReserved => section.content.append(&[], symbol.size, symbol.value),
            _ => placed.base + symbol.value,
        };
        let merged = &mut self.merged.symbols[id];
        merged.definition = Definition::Section(placed.section);
        merged.value = value;
        merged.size = symbol.size;
    }

    fn known(&self, symbol: &FileSymbol<'d>) -> Option<SymbolId> {
        (symbol.binding != Binding::LOCAL)
            .then(|| self.names.get(symbol.name).copied())
            .flatten()
    }

    fn new_named(
        &mut self,
        current: &Current<'_, 'd>,
        symbol: &FileSymbol<'d>,
        binding: Binding,
        listing: Listing,
    ) -> SymbolId {
        // Executables know no CUDA_OBJECT: the section says the memory space.
        let is_relocatable = !self.merged.image.is_executable();
        let (kind, other) = match symbol.kind {
            SymbolType::FUNC => (symbol.kind, symbol.other),
            SymbolType::OBJECT if is_relocatable && self.merged.target.has_mercury() => {
                (SymbolType::CUDA_OBJECT, symbol.other)
            }
            kind if is_relocatable => (kind, symbol.other),
            SymbolType::CUDA_OBJECT => (SymbolType::OBJECT, self.other_of_recorded(symbol)),
            kind => (kind, SymbolOther(0)),
        };
        let id = self.new_symbol(
            Symbol {
                name: symbol.name.into(),
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
        if symbol.binding != Binding::LOCAL {
            self.names.insert(symbol.name, id);
        }
        id
    }

    fn report_duplicate(&mut self, current: &Current<'_, 'd>, id: SymbolId, name: &str) {
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

    fn first_input(&self, id: SymbolId) -> &str {
        let input = self.merged.symbols[id].input;
        input.map_or("", |input| &self.merged.inputs[input.index()])
    }
}

/// Which half of the symbol table a new name goes to.
fn listing(symbol: &FileSymbol<'_>) -> Listing {
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
        && (reserved::is_unified_table(symbol.name) || reserved::is_shared(symbol.name))
}
