//! Shared memory in relocatable objects.
//!
//! Variables keep the sections of the inputs, and their values stay the
//! alignments that they are there: which of them a kernel sees, and where, the
//! last link decides.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::arch::reserved;
use crate::arena::Arena;
use crate::cubin::{Binding, DYNAMIC_SHARED, SymbolOther, SymbolType};
use crate::id::{FunctionId, SectionId, SymbolId};
use crate::merge::{
    Definition, Listing, Merged, NewSection, PLACED_ALIGN, Section, SectionKind, SharedHome, Symbol,
};
use crate::options::{DebugLevel, EarlyAddresses, UndefinedGlobals};
use crate::prune::Pruned;

use super::groups::Groups;
use super::listed::module_section;
use super::shared::{DYNAMIC_ALIGN, Listed, SharedLayout};
use super::whole;

/// Makes a symbol of every variable, and its section as large as it needs to
/// be for all that lie there.
pub(super) fn list_shared<'d>(
    pruned: &mut Pruned<'d>,
    arena: &'d Arena,
    addresses: EarlyAddresses,
    debug: DebugLevel,
) -> SharedLayout {
    let mut layout = SharedLayout::default();
    let module = module_section(&pruned.merged);
    let merged = &mut pruned.merged;
    super::shared::give_back(merged);
    let mut members: FxHashMap<SectionId, Vec<SymbolId>> = FxHashMap::default();
    for &id in &merged.shared.named {
        let symbol = &merged.symbols[id];
        let section = match symbol.definition {
            Definition::Shared(SharedHome::Kernel(section)) => Some(section),
            Definition::Shared(SharedHome::Module | SharedHome::Overlooked) => module,
            _ => None,
        };
        if let Some(section) = section {
            members.entry(section).or_default().push(id);
            layout.offset.insert(id, symbol.value);
            layout.listed.insert(id, listed(section, symbol.value));
        }
    }
    for (section, symbol) in whole::placed(merged) {
        let value = match addresses {
            EarlyAddresses::Leave => merged.symbols[symbol].value,
            EarlyAddresses::Fill => PLACED_ALIGN,
        };
        layout.offset.insert(symbol, value);
        layout.listed.insert(symbol, listed(section, value));
    }
    hold_members(merged, &members);
    if let Some(module) = module {
        let content = &mut merged.sections[module].content;
        let seconds = merged.shared.second_aligns.values().copied();
        let other = seconds.fold(merged.shared.overlooked_align, u64::max);
        content.align = content.align.max(other);
    }
    match addresses {
        EarlyAddresses::Leave => {}
        EarlyAddresses::Fill => fill_dynamic(pruned, arena, module, debug, &mut layout),
    }
    // A section that would not be larger than its alignment is as much larger;
    // ptxas does so, too.
    for section in pruned.merged.sections.iter_mut() {
        let content = &mut section.content;
        let is_written = content.size > 0 || section.keep_empty;
        if section.kind == SectionKind::Shared && is_written && content.size <= content.align {
            content.size += content.align;
        }
    }
    layout
}

/// Makes sections as large as all their variables together, and aligned as the strictest of them.
fn hold_members(merged: &mut Merged<'_>, members: &FxHashMap<SectionId, Vec<SymbolId>>) {
    for (&section, variables) in members {
        let section = &mut merged.sections[section];
        let content = &mut section.content;
        for &variable in variables {
            let symbol = &merged.symbols[variable];
            // Nothing has an offset here, so that gaps are nobody's.
            content.size += symbol.size;
            content.align = content.align.max(symbol.value);
        }
        section.keep_empty &= content.size == 0;
    }
}

fn listed(section: SectionId, value: u64) -> Listed {
    Listed {
        section,
        offset: value,
        value,
    }
}

/// nvlink gives each kernel whose own code uses dynamic shared memory a symbol
/// for the start of it, and takes it to start at 0 in device functions. For
/// debuggers it starts at one place in all of them (case `relocatable_shared`).
fn fill_dynamic<'d>(
    pruned: &mut Pruned<'d>,
    arena: &'d Arena,
    module: Option<SectionId>,
    debug: DebugLevel,
    layout: &mut SharedLayout,
) {
    let merged = &mut pruned.merged;
    let dynamic = fill_undefined(merged);
    // Where an object of `nvlink -r` says that such memory starts counts as an
    // alignment (case `debug_dynamic`).
    let starts = dynamic.iter().map(|&symbol| merged.symbols[symbol].value);
    let start = starts.max().unwrap_or(0);
    if let Some(module) = module {
        let content = &mut merged.sections[module].content;
        content.align = content.align.max(start);
    }
    let starts = start_in_kernels(pruned, arena, &dynamic, debug);
    let merged = &mut pruned.merged;
    if let Some(module) = module {
        for &symbol in &dynamic {
            let row = &merged.symbols[symbol];
            let own = match debug {
                DebugLevel::Symbols if row.binding != Binding::WEAK => 0,
                DebugLevel::None | DebugLevel::Code | DebugLevel::Symbols => row.value,
            };
            let start = starts.get(&symbol).copied().unwrap_or(own);
            layout.offset.insert(symbol, start);
            layout.listed.insert(symbol, listed(module, start));
        }
    }
    let mut shared = merged.shared.named.iter();
    if !dynamic.is_empty() || shared.any(|&symbol| merged.is_overlooked(symbol)) {
        keep_for_alignment(merged, module);
    }
}

/// Lets dynamic shared memory start in each kernel that uses it. Returns where each variable starts, for debuggers.
fn start_in_kernels<'d>(
    pruned: &mut Pruned<'d>,
    arena: &'d Arena,
    dynamic: &FxHashSet<SymbolId>,
    debug: DebugLevel,
) -> FxHashMap<SymbolId, u64> {
    let merged = &pruned.merged;
    // What whole programs alone have there is for none of the kernels (case `whole_program_dynamic`).
    let module_align = merged.shared.module;
    let module_align = module_align.map_or(1, |module| merged.sections[module].content.align);
    let kernels = kernels_by_relocations(merged);
    // Functions that take the place of the driver's count as kernels here (case `system_calls_defined`).
    let aligned = merged.functions.iter();
    let aligned = aligned.filter(|function| function.stands_in || merged.is_kernel(function));
    let aligned: Vec<SectionId> = aligned.filter_map(|function| function.shared).collect();
    for shared in aligned {
        let content = &mut pruned.merged.sections[shared].content;
        content.align = content.align.max(module_align);
    }
    let mut starts = Starts::new(kernels.len());
    for (index, kernel) in kernels.into_iter().enumerate() {
        let Some(code) = pruned.merged.functions[kernel].text else {
            continue;
        };
        let named = pruned.merged.sections[code].relocations.iter();
        let used = named.map(|r| r.symbol).filter(|s| dynamic.contains(s));
        let used: Vec<SymbolId> = used.collect();
        if used.is_empty() {
            continue;
        }
        match debug {
            DebugLevel::Symbols => {
                let shared = end_before_dynamic(pruned, arena, kernel, code);
                starts.add(index, shared, used);
            }
            DebugLevel::None | DebugLevel::Code => {
                // Before the section, which may be made here.
                let instance = add_instance(pruned);
                let shared = end_before_dynamic(pruned, arena, kernel, code);
                let start = pruned.merged.sections[shared].content.size;
                pruned.merged.symbols[instance].value = start;
                point_at(instance, dynamic, &mut pruned.merged.sections[code]);
            }
        }
    }
    starts.agree(&mut pruned.merged)
}

/// Lets the shared memory of a kernel end where dynamic shared memory may start. Returns its section.
fn end_before_dynamic<'d>(
    pruned: &mut Pruned<'d>,
    arena: &'d Arena,
    kernel: FunctionId,
    code: SectionId,
) -> SectionId {
    let first = pruned.merged.first_shared();
    let shared = shared_section(pruned, arena, kernel, code);
    let content = &mut pruned.merged.sections[shared].content;
    content.align = content.align.max(DYNAMIC_ALIGN);
    content.size = content.size.max(first).next_multiple_of(DYNAMIC_ALIGN);
    shared
}

/// Points all relocations of code against dynamic shared memory at one symbol.
fn point_at(instance: SymbolId, dynamic: &FxHashSet<SymbolId>, code: &mut Section<'_>) {
    let native = code.native.iter_mut().flat_map(|n| &mut n.relocations);
    for relocation in code.relocations.iter_mut().chain(native) {
        if dynamic.contains(&relocation.symbol) {
            relocation.symbol = instance;
        }
    }
}

/// Lets sections stay that are empty and have the alignment of dynamic shared memory, whoever asked for that; the
/// module's own has it from now on.
fn keep_for_alignment(merged: &mut Merged<'_>, module: Option<SectionId>) {
    if let Some(module) = module {
        let section = &mut merged.sections[module];
        section.content.align = section.content.align.max(DYNAMIC_ALIGN);
        section.keep_empty |= section.content.size == 0;
    }
    for section in merged.sections.iter_mut() {
        let content = &section.content;
        section.keep_empty |= section.kind == SectionKind::Shared
            && content.size == 0
            && content.align == DYNAMIC_ALIGN;
    }
}

/// Where dynamic shared memory starts for debuggers: at one place in all kernels that use one of its variables.
struct Starts {
    /// Kernels that have to agree.
    groups: Groups,
    /// The kernels that use any, with their sections of shared memory.
    users: Vec<(usize, SectionId)>,
    first_user: FxHashMap<SymbolId, usize>,
}

impl Starts {
    fn new(kernels: usize) -> Self {
        Self {
            groups: Groups::new(kernels),
            users: Vec::new(),
            first_user: FxHashMap::default(),
        }
    }

    /// Adds a kernel whose own variables end where its section does.
    fn add(&mut self, kernel: usize, shared: SectionId, used: Vec<SymbolId>) {
        self.users.push((kernel, shared));
        for symbol in used {
            let first = *self.first_user.entry(symbol).or_insert(kernel);
            self.groups.join([first, kernel].into_iter());
        }
    }

    /// Lets the sections end where the longest of those that have to agree does. Says where each variable starts.
    fn agree(mut self, merged: &mut Merged<'_>) -> FxHashMap<SymbolId, u64> {
        let mut ends: FxHashMap<usize, u64> = FxHashMap::default();
        for &(kernel, shared) in &self.users {
            let end = ends.entry(self.groups.of(kernel)).or_default();
            *end = (*end).max(merged.sections[shared].content.size);
        }
        for &(kernel, shared) in &self.users {
            merged.sections[shared].content.size = ends[&self.groups.of(kernel)];
        }
        let variables = self.first_user.into_iter();
        variables
            .map(|(symbol, user)| (symbol, ends[&self.groups.of(user)]))
            .collect()
    }
}

/// The kernels in the order in which inputs speak of the relocations of their code. Inline kernels stand elsewhere there
/// than among the kernels (case `relocatable_instances`).
fn kernels_by_relocations(merged: &Merged<'_>) -> Vec<FunctionId> {
    let mut kernels: Vec<FunctionId> = merged
        .functions
        .enumerate()
        .filter(|(_, f)| merged.is_kernel(f))
        .map(|(id, _)| id)
        .collect();
    RelocationOrder::new(merged).sort(merged, &mut kernels);
    kernels
}

/// The order in which inputs speak of the relocations of code.
pub(super) struct RelocationOrder {
    ranks: FxHashMap<SectionId, SectionId>,
}

impl RelocationOrder {
    pub(super) fn new(merged: &Merged<'_>) -> Self {
        let mut ranks: FxHashMap<SectionId, SectionId> = FxHashMap::default();
        for (id, section) in merged.sections.enumerate() {
            if let (SectionKind::Rel | SectionKind::Rela, Some(code)) =
                (section.kind, section.target)
            {
                ranks.entry(code).or_insert(id);
            }
        }
        Self { ranks }
    }

    /// Puts functions in this order, by their code.
    pub(super) fn sort(&self, merged: &Merged<'_>, functions: &mut [FunctionId]) {
        functions.sort_by_key(|&id| {
            let code = merged.functions[id].text;
            code.and_then(|code| self.ranks.get(&code).copied())
        });
    }
}

/// Gives undefined variables the value that nvlink gives them. Returns those that
/// are dynamic shared memory.
fn fill_undefined(merged: &mut Merged<'_>) -> FxHashSet<SymbolId> {
    let mut dynamic: FxHashSet<SymbolId> = FxHashSet::default();
    let undefined: Vec<SymbolId> = merged
        .symbols
        .enumerate()
        .filter(|(_, symbol)| match symbol.definition {
            Definition::Shared(SharedHome::Dynamic) => true,
            Definition::Undefined => {
                matches!(symbol.space, SymbolOther::CONSTANT | SymbolOther::GLOBAL)
                    && !reserved::is_unified_table(symbol.name)
            }
            _ => false,
        })
        .map(|(id, _)| id)
        .collect();
    for id in undefined {
        let symbol = &mut merged.symbols[id];
        if symbol.space == SymbolOther::SHARED && symbol.size == 0 {
            dynamic.insert(id);
        } else if symbol.binding != Binding::WEAK
            && !(symbol.space == SymbolOther::GLOBAL
                && merged.settings.undefined_globals == UndefinedGlobals::Allowed)
        {
            // Code gets -1 all the same.
            symbol.value = match merged.settings.undefined_globals {
                UndefinedGlobals::Refused => u64::MAX,
                UndefinedGlobals::Allowed => 0,
            };
            // What only another module defines can never be found any more,
            // unless its address is the driver's matter (case `relocatable_debug`).
            if symbol.space != SymbolOther::GLOBAL {
                symbol.definition = Definition::Never;
            }
        }
    }
    dynamic
}

/// The section of a kernel's shared memory. A kernel that the command line
/// leaves out has none from the start.
fn shared_section<'d>(
    pruned: &mut Pruned<'d>,
    arena: &'d Arena,
    kernel: FunctionId,
    code: SectionId,
) -> SectionId {
    let merged = &pruned.merged;
    let function = &merged.functions[kernel];
    let name = merged.symbols[function.symbol].name;
    function.shared.unwrap_or_else(|| {
        let own = pruned.add_section(NewSection::shared_of(arena, name, code));
        pruned.merged.functions[kernel].shared = Some(own);
        own
    })
}

fn add_instance(pruned: &mut Pruned<'_>) -> SymbolId {
    let instance = Symbol {
        name: DYNAMIC_SHARED,
        kind: SymbolType::CUDA_OBJECT,
        binding: Binding::WEAK,
        other: SymbolOther(SymbolOther::SHARED | SymbolOther::INTERNAL),
        definition: Definition::Undefined,
        value: 0,
        size: 0,
        weak_reference: false,
        space: SymbolOther::SHARED,
        input: None,
        function: None,
    };
    pruned.live.symbols.push(true);
    pruned.merged.symbols.add(instance, Listing::Local)
}
