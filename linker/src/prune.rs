//! Phase 3: what no kernel needs is marked dead.
//!
//! Nothing is removed here: dead functions keep their place, because the
//! layout of shared memory still looks at the whole call graph.

use rustc_hash::FxHashSet;

use crate::call_graph::CallGraph;
use crate::cubin::{Binding, SymbolType, section_name};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::id::{FunctionId, IdVec, SectionId, SymbolId};
use crate::merge::{Definition, Function, Merged, NewSection, Section, SectionKind, Symbol};
use crate::options::{Behaviour, DebugLevel, Options, ResolvedRelocations};
use crate::read::HANDLES_BANK;

/// What was merged, and which of it is alive.
#[derive(Debug)]
pub(crate) struct Pruned<'d> {
    pub(crate) merged: Merged<'d>,
    pub(crate) graph: CallGraph,
    pub(crate) live: Liveness,
}

/// Which rows of the merged tables stay.
#[derive(Debug)]
pub(crate) struct Liveness {
    pub(crate) functions: IdVec<FunctionId, bool>,
    /// Kernels of the image. Where all code stays, as for debuggers, other kernels stay as mere functions.
    pub(crate) entries: IdVec<FunctionId, bool>,
    /// Whether exactly one kernel stays, and not only because device code launches it.
    has_lone_kernel: bool,
    pub(crate) sections: IdVec<SectionId, bool>,
    pub(crate) symbols: IdVec<SymbolId, bool>,
}

/// Marks what the chosen kernels need as alive. In a link for debuggers everything is (case `debug_dead_code`).
pub(crate) fn prune<'d>(mut merged: Merged<'d>, options: &Options) -> Pruned<'d> {
    let launched = launched(&merged, options);
    for &id in &launched {
        merged.functions[id].is_entry = true;
    }
    let standing_in = standing_in(&merged, options);
    for &id in &standing_in {
        merged.functions[id].is_entry = true;
    }
    let is_named = |id: FunctionId| is_named(&merged, options, &merged.functions[id]);
    let is_kept = |id| is_named(id) || launched.contains(&id) || standing_in.contains(&id);
    let graph = CallGraph::new(&merged.functions, merged.prototypes.len());
    let functions = match options.drops_dead_code() {
        true => live_functions(&merged, options.behaviour, is_kept),
        false => IdVec::filled(&merged.functions, true),
    };
    // Where all code stays, kernels that the host does not name are no kernels.
    let stays = |id| match options.settings.debug {
        DebugLevel::None => {
            options.settings.resolved_relocations == ResolvedRelocations::Dropped || is_kept(id)
        }
        DebugLevel::Code | DebugLevel::Symbols => is_kept(id),
    };
    let entries = is_entry(&merged, |id| functions[id] && stays(id));
    let (sections, symbols) = live_places(&merged, &functions, options.behaviour);
    let staying = entries.enumerate().filter(|&(_, &stays)| stays);
    let staying: Vec<FunctionId> = staying.map(|(id, _)| id).take(2).collect();
    let is_kernel = |id| is_named(id) && !standing_in.contains(&id);
    let has_lone_kernel = staying.len() == 1 && is_kernel(staying[0]);
    let live = Liveness {
        functions,
        entries,
        has_lone_kernel,
        sections,
        symbols,
    };
    Pruned {
        merged,
        graph,
        live,
    }
}

/// The names of kernels that go. nvlink then drops the parameters that it finds by their names, be they those of another kernel
/// (case `static_kernels_filtered`).
fn names_of_lost_kernels<'d>(
    merged: &Merged<'d>,
    functions: &IdVec<FunctionId, bool>,
) -> FxHashSet<&'d str> {
    let lost = merged.functions.enumerate();
    let lost = lost.filter(|&(id, function)| !functions[id] && merged.is_kernel(function));
    lost.map(|(id, _)| merged.name_of(id)).collect()
}

/// The name by which nvlink knows the parameters of a kernel up to sm_90.
fn memory_of<'d>(merged: &Merged<'d>, section: &Section<'d>) -> Option<&'d str> {
    let is_bank = section.kind == SectionKind::Constant(0) && section.target.is_some();
    match merged.target.has_mercury() {
        true => None,
        false => section
            .name
            .strip_prefix(section_name::PARAMETERS_OF)
            .filter(|_| is_bank),
    }
}

/// The sections and symbols that stay where these functions do.
fn live_places(
    merged: &Merged<'_>,
    functions: &IdVec<FunctionId, bool>,
    behaviour: Behaviour,
) -> (IdVec<SectionId, bool>, IdVec<SymbolId, bool>) {
    let lost = match behaviour {
        Behaviour::Nvlink => names_of_lost_kernels(merged, functions),
        Behaviour::Own => FxHashSet::default(),
    };
    let mut symbols = merged.symbols.each(true);
    let mut sections = merged.sections.each(true);
    for (id, function) in merged.functions.enumerate() {
        symbols[function.symbol] = functions[id];
    }
    // A section belongs to one that was made before it: relocations to constants, and these to code.
    for (id, section) in merged.sections.enumerate() {
        let is_used = section.function.is_none_or(|function| functions[function]);
        let has_place = section.target.is_none_or(|target| {
            debug_assert!(target < id);
            let of = &merged.sections[target];
            // Mercury links keep the name of this section even where what it describes has moved (case `jump_table`).
            let is_named = merged.target.has_mercury() && section.kind == SectionKind::ResolvedRela;
            let is_left = is_named && lost_its_content(of);
            sections[target] && (!of.is_moved || is_named) || is_left
        });
        let is_taken = memory_of(merged, section).is_some_and(|kernel| lost.contains(kernel));
        sections[id] = is_used && has_place && !is_taken && !lost_its_content(section);
        symbols[section.symbol] = sections[id];
    }
    for (id, section) in named_after_death(merged) {
        sections[id] = true;
        symbols[section.symbol] = true;
    }
    // Of a section whose content the layout moves elsewhere, only the symbol stays: it stands for the new place.
    for (id, section) in merged
        .sections
        .of_kind(|kind| matches!(kind, SectionKind::Constant(_)))
    {
        sections[id] &= !section.is_moved;
    }
    for symbol in left_without_place(merged) {
        symbols[symbol] = false;
    }
    (sections, symbols)
}

fn is_entry(merged: &Merged<'_>, stays: impl Fn(FunctionId) -> bool) -> IdVec<FunctionId, bool> {
    let mut entries = IdVec::filled(&merged.functions, false);
    for (id, function) in merged.functions.enumerate() {
        entries[id] = function.is_entry && stays(id);
    }
    entries
}

/// Whether the kernel filter keeps a function. With `-g` it leaves out none.
fn is_named(merged: &Merged<'_>, options: &Options, function: &Function<'_>) -> bool {
    options.settings.debug == DebugLevel::Symbols
        || merged.symbols[function.symbol].is_kept_by(&options.kernels)
}

/// Whether the kernel filter keeps exactly one kernel.
fn names_lone_kernel(merged: &Merged<'_>, options: &Options) -> bool {
    let kernels = merged.functions.iter().filter(|f| f.is_entry);
    kernels.filter(|f| is_named(merged, options, f)).count() == 1
}

/// Kernels that stay though no host code names them: device code holds their
/// address and may launch them. For nvlink a lone kernel launches none (case
/// `launched_kernels`).
fn launched(merged: &Merged<'_>, options: &Options) -> FxHashSet<FunctionId> {
    if options.behaviour == Behaviour::Nvlink && names_lone_kernel(merged, options) {
        return FxHashSet::default();
    }
    let functions = merged.functions.enumerate();
    functions
        .filter(|(_, f)| f.is_taken && merged.is_kernel(f))
        .map(|(id, _)| id)
        .collect()
}

/// Functions that are used instead of the driver's. nvlink counts them as kernels, except where there is a lone kernel (case
/// `system_calls_defined`).
fn standing_in(merged: &Merged<'_>, options: &Options) -> FxHashSet<FunctionId> {
    if names_lone_kernel(merged, options) {
        return FxHashSet::default();
    }
    let functions = merged.functions.enumerate();
    let standing = functions.filter(|(_, f)| f.stands_in);
    standing.map(|(id, _)| id).collect()
}

/// Whether it held constants of a weak function that was replaced by a definition without constants (case `weak_kernel`).
fn lost_its_content(section: &Section<'_>) -> bool {
    matches!(section.kind, SectionKind::Constant(1..))
        && section.target.is_some()
        && section.content.size == 0
}

/// Symbols of constants in a section that has lost its content.
fn left_without_place(merged: &Merged<'_>) -> Vec<SymbolId> {
    let mut banks = merged
        .sections
        .of_kind(|kind| matches!(kind, SectionKind::Constant(1..)));
    if !banks.any(|(_, bank)| lost_its_content(bank)) {
        return Vec::new();
    }
    let symbols = merged.symbols.enumerate();
    let is_left = |symbol: &Symbol<'_>| match symbol.definition {
        Definition::Section(section) => {
            let is_name = !matches!(symbol.kind, SymbolType::SECTION | SymbolType::FUNC);
            is_name && lost_its_content(&merged.sections[section])
        }
        _ => false,
    };
    symbols
        .filter(|(_, symbol)| is_left(symbol))
        .map(|(id, _)| id)
        .collect()
}

/// Keeps everything for a later link, which knows what is needed. nvlink fails where a replaced definition has left symbols
/// of constants behind (case `relocatable_replaced`).
pub(crate) fn keep_all<'d>(
    mut merged: Merged<'d>,
    behaviour: Behaviour,
    diagnostics: &mut Diagnostics,
) -> Pruned<'d> {
    let graph = CallGraph::new(&merged.functions, merged.prototypes.len());
    let mut live = Liveness {
        functions: IdVec::filled(&merged.functions, true),
        entries: is_entry(&merged, |_| true),
        has_lone_kernel: false,
        sections: merged.sections.each(true),
        symbols: merged.symbols.each(true),
    };
    for section in merged.sections.iter_mut().filter(|s| lost_its_content(s)) {
        section.relocations.clear();
    }
    let left = left_without_place(&merged);
    if behaviour == Behaviour::Nvlink && !left.is_empty() {
        diagnostics.push(Diagnostic::reference_to_deleted(Missed::Section));
    }
    for symbol in left {
        live.symbols[symbol] = false;
    }
    Pruned {
        merged,
        graph,
        live,
    }
}

/// The shared memory of kernels. Where the kernel is dropped the section is not written, but nvlink keeps its name in the
/// string table (case `removed_kernels`).
fn named_after_death<'m, 'd>(
    merged: &'m Merged<'d>,
) -> impl Iterator<Item = (SectionId, &'m Section<'d>)> {
    merged
        .sections
        .of_kind(|kind| kind == SectionKind::Shared)
        .filter(|(_, section)| section.target.is_some())
}

/// The functions that stay: those that kernels and slots call, directly or through pointers, and all whose address is
/// taken. nvlink drops what only the latter call.
fn live_functions(
    merged: &Merged<'_>,
    behaviour: Behaviour,
    is_kept: impl Fn(FunctionId) -> bool,
) -> IdVec<FunctionId, bool> {
    let mut live = IdVec::filled(&merged.functions, false);
    let of_kind = |is_meant: &dyn Fn(FunctionId, &Function<'_>) -> bool| {
        let functions = merged.functions.enumerate();
        let meant = functions.filter(|&(id, function)| is_meant(id, function));
        meant.map(|(id, _)| id).collect::<Vec<_>>()
    };
    let mut pending = of_kind(&|id, function| function.is_entry && is_kept(id));
    let slots = of_kind(&|_, function| function.is_stub);
    match behaviour {
        // Beside a lone kernel nvlink keeps the functions that slots jump to, but not what these call (case
        // `unified_lone_kernel`).
        Behaviour::Nvlink if pending.len() == 1 => {
            for slot in slots {
                live[slot] = true;
                for &callee in &merged.functions[slot].calls {
                    live[callee] = true;
                    keep_provided(merged, callee, &mut live);
                }
            }
        }
        Behaviour::Nvlink | Behaviour::Own => pending.extend(slots),
    }
    let mut is_visited = IdVec::filled(&merged.functions, false);
    if behaviour == Behaviour::Own {
        let functions = merged.functions.enumerate();
        let taken = functions.filter(|(_, function)| function.is_taken);
        pending.extend(taken.map(|(id, _)| id));
    }
    let mut takers = merged.takers();
    while let Some(id) = pending.pop() {
        if std::mem::replace(&mut is_visited[id], true) {
            continue;
        }
        live[id] = true;
        let function = &merged.functions[id];
        pending.extend(&function.calls);
        for &prototype in function.indirect_calls() {
            pending.append(&mut takers[prototype]);
        }
    }
    for (id, function) in merged.functions.enumerate() {
        if function.is_taken && !live[id] {
            live[id] = true;
            keep_provided(merged, id, &mut live);
        }
    }
    // Functions inside the code of a whole program's kernel live with it (case `whole_program_shared`).
    for (id, function) in merged.functions.enumerate() {
        if let Some(owner) = merged.surrounding(function.symbol) {
            live[id] |= live[owner];
        }
    }
    live
}

/// What the driver provides cannot be removed: it stays with what calls it (cases
/// `externs_address_taken` and `unified_lone_kernel`).
fn keep_provided(merged: &Merged<'_>, function: FunctionId, live: &mut IdVec<FunctionId, bool>) {
    for &callee in &merged.functions[function].calls {
        let symbol = merged.functions[callee].symbol;
        live[callee] |= merged.symbols[symbol].definition == Definition::Undefined;
    }
}

/// What nvlink looks for in vain after it has dropped code that is still in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Missed {
    Symbol,
    Section,
}

impl Missed {
    /// The word in nvlink's message.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Symbol => "symbol",
            Self::Section => "section",
        }
    }
}

/// What nvlink misses where live code also has a dead name: it drops the code with the dead name and fails later. It misses
/// the section first if the function is static or a strong definition has replaced a weak one (case `alias`).
pub(crate) fn missed_for_alias(pruned: &Pruned<'_>) -> Option<Missed> {
    let (merged, live) = (&pruned.merged, &pruned.live.functions);
    let code = |is_live| {
        merged
            .functions
            .enumerate()
            .filter(move |&(id, _)| live[id] == is_live)
            .filter_map(|(id, f)| match merged.symbols[f.symbol].definition {
                Definition::Section(text) => Some((id, text)),
                _ => None,
            })
    };
    let lost: FxHashSet<SectionId> = code(false).map(|(_, text)| text).collect();
    if lost.is_empty() {
        return None;
    }
    let (function, _) = code(true).find(|(_, text)| lost.contains(text))?;
    let definitions = merged.described.iter().filter(|&&f| f == function);
    let is_static = merged.symbols[merged.functions[function].symbol].binding == Binding::LOCAL;
    Some(match definitions.count() {
        0 | 1 if !is_static => Missed::Symbol,
        _ => Missed::Section,
    })
}

impl<'d> Pruned<'d> {
    /// Whether a kernel is dropped that has textures as parameters (case `texture_parameters`) or, from sm_100 on, a whole
    /// program's table of handles. nvlink then fails, as it looks for these.
    pub(crate) fn loses_handles(&self) -> bool {
        let handles = SectionKind::Constant(HANDLES_BANK);
        let mut handles = self.merged.sections.of_kind(|kind| kind == handles);
        let mut symbols = self.merged.symbols.iter();
        let is_of_lost = |section: &Section<'_>| {
            let kernel = self.merged.served(section);
            kernel.is_some_and(|kernel| !self.live.functions[kernel])
        };
        handles.any(|(_, section)| is_of_lost(section))
            || symbols.any(|symbol| self.is_homeless(symbol))
    }

    /// Whether it is a texture that is a parameter of a dropped kernel.
    fn is_homeless(&self, symbol: &Symbol<'_>) -> bool {
        match symbol.definition {
            Definition::Section(code) => symbol.kind.is_reference() && !self.live.sections[code],
            _ => false,
        }
    }

    /// The symbol of a texture that is a parameter lies in the code of one kernel of its file. Where that kernel is dropped,
    /// this gives it to another kernel that uses the texture.
    pub(crate) fn move_texture_parameters(&mut self) {
        let symbols = self.merged.symbols.enumerate();
        let mut homeless: FxHashSet<SymbolId> = symbols
            .filter(|(_, symbol)| self.is_homeless(symbol))
            .map(|(id, _)| id)
            .collect();
        if homeless.is_empty() {
            return;
        }
        for (id, section) in self.merged.sections.enumerate() {
            if section.function.is_none() || !self.live.sections[id] {
                continue;
            }
            for relocation in &section.relocations {
                if homeless.remove(&relocation.symbol) {
                    self.merged.symbols[relocation.symbol].definition = Definition::Section(id);
                }
            }
        }
        for symbol in homeless {
            self.live.symbols[symbol] = false;
        }
    }

    /// Kernels that stay, in creation order.
    pub(crate) fn entries(&self) -> impl Iterator<Item = FunctionId> + '_ {
        let entries = self.live.entries.enumerate();
        entries.filter(|&(_, &stays)| stays).map(|(id, _)| id)
    }

    /// Whether a function counts as one that is called: all but kernels. Where all code stays, kernels that the host does
    /// not name count, too (case `preserve_host`).
    pub(crate) fn is_called(&self, function: FunctionId) -> bool {
        let row = &self.merged.functions[function];
        let is_left = self.live.functions[function] && !self.live.entries[function];
        is_left || !row.is_entry || row.stands_in
    }

    /// The only kernel of the program. nvlink does not count one that only device code launches (case `launched_elsewhere`).
    pub(crate) fn lone_kernel(&self) -> Option<FunctionId> {
        self.live.has_lone_kernel.then(|| self.entries().next())?
    }

    /// The functions that are called from outside of the image: kernels, and slots of unified functions. Beside a lone
    /// kernel nvlink does not look at the slots (case `unified_kernels`).
    pub(crate) fn starts(&self) -> Vec<FunctionId> {
        let live = &self.live;
        let functions = self.merged.functions.enumerate();
        functions
            .filter(|&(id, f)| {
                live.entries[id] || f.is_stub && live.functions[id] && !live.has_lone_kernel
            })
            .map(|(id, _)| id)
            .collect()
    }

    /// Names of functions whose code has another name earlier in the symbol table. nvlink knows machine code by the first
    /// name only (case `alias`).
    pub(crate) fn later_names(&self) -> FxHashSet<SymbolId> {
        let merged = &self.merged;
        let mut is_named = merged.sections.each(false);
        let listed = merged.symbols.listed();
        listed
            .filter(|&id| self.live.symbols[id] && merged.symbols[id].kind == SymbolType::FUNC)
            .filter(|&id| match merged.symbols[id].definition {
                Definition::Section(text) if merged.sections[text].kind == SectionKind::Text => {
                    // A function inside a kernel's code has a place of its own.
                    merged.surrounding(id).is_none() && std::mem::replace(&mut is_named[text], true)
                }
                _ => false,
            })
            .collect()
    }

    /// Makes a live section, which comes last in all orders.
    pub(crate) fn add_section(&mut self, section: NewSection<'d>) -> SectionId {
        let section = self.merged.add_section(section);
        self.live.sections.push(true);
        self.live.symbols.push(true);
        section
    }
}
