//! Shared memory: one kernel's view of it at a time.
//!
//! Variables of module scope are seen by every kernel that reaches a function
//! that uses them. One that a single kernel sees becomes that kernel's own;
//! the others get a place that is the same in all their kernels, and two of
//! them share a place when no kernel sees both.

mod place;
mod users;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::arch::{Family, reserved};
use crate::arena::Arena;
use crate::bits::Bits;
use crate::cubin::section_name;
use crate::diagnostic::Diagnostic;
use crate::id::{FunctionId, SectionId, SymbolId};
use crate::list_sort::list_sort;
use crate::merge::{
    Definition, Function, ListedShared, Merged, NewSection, SectionKind, SharedHome,
};
use crate::options::{Behaviour, SharedLimit};
use crate::prune::Pruned;

use super::whole::WholePrograms;
use super::{Problems, listed, whole};
use place::{place_common, place_dynamic, place_own, raise_alignment};

pub(super) use users::Users;

/// What a kernel may use without asking for more at launch.
const LAUNCH_LIMIT: u64 = 0xc000;
/// Dynamic shared memory begins at a multiple of this.
pub(super) const DYNAMIC_ALIGN: u64 = 16;

/// Addresses in shared memory.
#[derive(Debug, Default)]
pub(crate) struct SharedLayout {
    /// Where a variable starts.
    pub(crate) offset: FxHashMap<SymbolId, u64>,
    /// Where dynamic shared memory starts, as each function sees it.
    pub(crate) dynamic: FxHashMap<FunctionId, u64>,
    /// The variables that are symbols of the image.
    pub(crate) listed: FxHashMap<SymbolId, Listed>,
    /// Whether records of relocations name dynamic shared memory: nvlink has placed it by then if several kernels see a
    /// variable (case `whole_program_dynamic`).
    pub(crate) records_dynamic: bool,
    /// Whether nvlink fails, because it finds no symbol for a relocation that it records.
    pub(crate) lacks_symbol: bool,
}

/// A variable as a symbol.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Listed {
    pub(crate) section: SectionId,
    /// Where it starts.
    pub(crate) offset: u64,
    /// The value of its symbol: the same, plus what the system reserves.
    pub(crate) value: u64,
}

/// The shared memory that one kernel sees.
#[derive(Default)]
pub(super) struct KernelView {
    /// Whether it sees variables that other kernels see, too.
    sees_common: bool,
    /// Variables of its own, module scope ones after those it declares.
    pub(super) own: Vec<Variable>,
    /// What dynamic shared memory is aligned to, if it uses some.
    pub(super) dynamic: Option<u64>,
    /// Bytes in use.
    pub(super) size: u64,
}

impl KernelView {
    fn of_size(size: u64) -> Self {
        Self {
            size,
            ..Self::default()
        }
    }

    fn is_used(&self) -> bool {
        self.sees_common || self.dynamic.is_some() || self.size > 0 || !self.own.is_empty()
    }
}

/// Lays shared memory out for every kernel. Those that no host code names take no part (case
/// `removed_kernels_shared`).
pub(super) fn layout<'d>(
    pruned: &mut Pruned<'d>,
    arena: &'d Arena,
    behaviour: Behaviour,
    whole: &WholePrograms,
    problems: &mut Problems,
) -> SharedLayout {
    let mut layout = SharedLayout::default();
    give_back(&mut pruned.merged);
    if behaviour == Behaviour::Nvlink {
        share_by_name(&mut pruned.merged);
    }
    if pruned.merged.shared.named.is_empty() && whole.is_empty() {
        return layout;
    }
    let users = Users::new(pruned);
    let kernels = &users.kernels;
    let sizes = whole::sizes(&pruned.merged, kernels);
    let mut views: Vec<KernelView> = sizes.into_iter().map(KernelView::of_size).collect();
    let mut common = share_out(pruned, &users, &mut views);
    if behaviour == Behaviour::Nvlink {
        common.align = whole.align_of_module(&pruned.merged).max(common.align);
    }
    let strangers = whole::strangers(&pruned.merged, kernels, &users.seen_by);
    problems.extend(strangers.into_iter().map(|problem| (None, problem)));
    place_common(pruned, &common, &mut views, &mut layout);
    join_views(&users, &mut views);
    if behaviour == Behaviour::Nvlink {
        forget_common(pruned, kernels, &mut views);
    }
    let variables = common.variables.iter();
    let variables = variables.map(|&(variable, _)| variable.symbol);
    add_sections(pruned, arena, &users, &common.owners, variables);
    let left_alone = whole::left_alone(&pruned.merged, kernels);
    for (view, &kernel) in views.iter_mut().zip(kernels) {
        place_own(pruned, kernel, view, &mut layout);
        if !common.variables.is_empty() && !left_alone.contains(&kernel) {
            raise_alignment(pruned, kernel, common.align);
        }
    }
    see_dynamic(&pruned.merged, &users, &mut views);
    add_sections(pruned, arena, &users, &[], users.dynamic.iter().copied());
    place_dynamic(pruned, &users, &mut views, &mut layout);
    // What no kernel says is said by whole programs (case `whole_program_dynamic`).
    for &(symbol, start) in &pruned.merged.shared.placed_dynamic {
        layout.offset.entry(symbol).or_insert(start);
    }
    check_kernels(pruned, &users, &views, behaviour, problems);
    if behaviour == Behaviour::Nvlink {
        let end = common.end(&pruned.merged, &layout);
        check_common(&pruned.merged, end, problems);
    }
    set_sizes(pruned, &users, &views, &left_alone);
    let is_aligned = !common.variables.is_empty() && common.align > DYNAMIC_ALIGN;
    if !users.dynamic.is_empty() && !is_aligned {
        keep_module_section(&mut pruned.merged);
    }
    if pruned.merged.shared.listed != ListedShared::Nothing {
        list_variables(pruned, &users, &common, &views, behaviour, &mut layout);
    }
    layout
}

/// Tells the kernels that see dynamic shared memory what it is aligned to.
fn see_dynamic(merged: &Merged<'_>, users: &Users, views: &mut [KernelView]) {
    for &symbol in &users.dynamic {
        let asked = merged.dynamic_align(&merged.symbols[symbol]);
        let align = asked.unwrap_or(0).max(DYNAMIC_ALIGN);
        for kernel in users.seen_by.kernels(users.functions_of(symbol)).iter() {
            let view = &mut views[users.home(kernel)];
            view.dynamic = view.dynamic.max(Some(align));
        }
    }
}

/// Makes symbols of variables, as far as the image has any.
fn list_variables(
    pruned: &mut Pruned<'_>,
    users: &Users,
    common: &Common,
    views: &[KernelView],
    behaviour: Behaviour,
    layout: &mut SharedLayout,
) {
    let is_lost = behaviour == Behaviour::Nvlink && users.lose_dynamic(&pruned.merged, layout);
    layout.records_dynamic = !common.variables.is_empty();
    listed::list(pruned, users, common, views, behaviour, layout);
    // One symbol stands for all of it (case `preserve_unreached`).
    let is_listed = users.dynamic.iter().any(|s| layout.listed.contains_key(s));
    layout.lacks_symbol = behaviour == Behaviour::Nvlink
        && !common.variables.is_empty()
        && (is_lost && !is_listed || listed::describes_unused(&pruned.merged, layout));
}

/// Makes sections for slots of unified functions, and for kernels that are left out, in the order in which they are found
/// to see something: first the `owners`, then those that see `variables` (cases `relocatable_weak`, `recode_shared`,
/// `launched_kernels` and `unified_shared`). All other kernels have theirs.
fn add_sections<'d>(
    pruned: &mut Pruned<'d>,
    arena: &'d Arena,
    users: &Users,
    owners: &[usize],
    variables: impl Iterator<Item = SymbolId>,
) {
    let lacks_section =
        |pruned: &Pruned<'_>, kernel| pruned.merged.functions[kernel].shared.is_none();
    if !users
        .kernels
        .iter()
        .any(|&kernel| lacks_section(pruned, kernel))
    {
        return;
    }
    let seers = users.in_order(&pruned.merged, variables);
    for index in owners.iter().copied().chain(seers) {
        let kernel = users.kernels[index];
        if lacks_section(pruned, kernel) {
            add_section(pruned, arena, kernel);
        }
    }
}

/// Kernels of one name may share a section. What it holds goes by what the first of them reaches: if that one shares nothing
/// with other kernels, what the later ones reach is not counted (case `static_kernels_shared`).
fn join_views(users: &Users, views: &mut [KernelView]) {
    for index in 0..views.len() {
        let home = users.home(index);
        if home != index {
            let view = std::mem::take(&mut views[index]);
            if views[home].sees_common {
                views[home].size = views[home].size.max(view.size);
            }
        }
    }
}

/// nvlink asks the first slot of a unified function whether slots see what several kernels see, and else places what they
/// own over that (case `unified_shared`).
fn forget_common(pruned: &Pruned<'_>, kernels: &[FunctionId], views: &mut [KernelView]) {
    let functions = &pruned.merged.functions;
    let is_slot = |index: &usize| functions[kernels[*index]].is_stub;
    let Some(first) = (0..kernels.len()).find(is_slot) else {
        return;
    };
    if !views[first].sees_common {
        for index in (0..kernels.len()).filter(is_slot) {
            views[index] = KernelView {
                own: std::mem::take(&mut views[index].own),
                ..KernelView::default()
            };
        }
    }
}

/// Lets the module's own section stay, empty: dynamic shared memory has nothing else that demands its alignment.
fn keep_module_section(merged: &mut Merged<'_>) {
    for section in merged.sections.iter_mut() {
        if section.name == section_name::MODULE_SHARED {
            section.keep_empty = true;
            section.content.align = section.content.align.max(DYNAMIC_ALIGN);
        }
    }
}

/// What is to be placed.
#[derive(Clone, Copy)]
pub(super) struct Variable {
    pub(super) symbol: SymbolId,
    pub(super) align: u64,
}

/// What is to be placed, in the order in which it was found.
fn variables(merged: &Merged<'_>) -> Vec<Variable> {
    let mut second_aligns = merged.shared.second_aligns.clone();
    // The last place of a variable is that of its second definition.
    let variables = merged.shared.named.iter().rev().map(|&symbol| Variable {
        symbol,
        align: second_aligns
            .remove(&symbol)
            .unwrap_or(merged.symbols[symbol].value),
    });
    let mut variables: Vec<Variable> = variables.collect();
    variables.reverse();
    variables
}

/// Variables that several kernels see.
pub(super) struct Common {
    /// With their audiences, the largest first.
    pub(super) variables: Vec<(Variable, usize)>,
    /// Kernels that see the same of them.
    audiences: Vec<Vec<usize>>,
    /// What variables of module scope are aligned to, at most.
    pub(super) align: u64,
    /// Kernels in the order of what they alone see.
    owners: Vec<usize>,
}

impl Common {
    /// Where the last of them ends.
    pub(super) fn end(&self, merged: &Merged<'_>, layout: &SharedLayout) -> u64 {
        let symbols = &merged.symbols;
        let ends = self.variables.iter();
        let ends =
            ends.map(|&(Variable { symbol, .. }, _)| layout.offset[&symbol] + symbols[symbol].size);
        ends.max().unwrap_or(0)
    }
}

/// Gives kernels what they alone see. The rest is common.
fn share_out(pruned: &Pruned<'_>, users: &Users, views: &mut [KernelView]) -> Common {
    let kernels = &users.kernels;
    let symbols = &pruned.merged.symbols;
    let sections = kernels.iter().enumerate();
    let sections = sections
        .filter_map(|(index, &kernel)| Some((pruned.merged.functions[kernel].shared?, index)));
    let kernel_of: FxHashMap<SectionId, usize> = sections
        .map(|(section, index)| (section, users.home(index)))
        .collect();
    let mut module = Vec::new();
    for variable in variables(&pruned.merged) {
        match symbols[variable.symbol].definition {
            Definition::Shared(
                SharedHome::Module | SharedHome::Dynamic | SharedHome::Overlooked,
            ) => module.push(variable),
            Definition::Shared(SharedHome::Kernel(section)) => {
                if let Some(&kernel) = kernel_of.get(&section) {
                    views[kernel].own.push(variable);
                }
            }
            _ => {}
        }
    }
    let aligns = module.iter().map(|variable| variable.align);
    let align = aligns.fold(pruned.merged.shared.overlooked_align, u64::max);
    // Dynamic shared memory takes part in the sort: that decides which of two
    // equally long variables is first (case `shared_dynamic_sort`).
    let size = |variable: &Variable| symbols[variable.symbol].size;
    let module = list_sort(module, |a, b| size(a) > size(b));
    let mut variables = Vec::new();
    let mut owners = Vec::new();
    let mut audiences: Vec<Vec<usize>> = Vec::new();
    let mut audience_of: FxHashMap<Bits, usize> = FxHashMap::default();
    for variable in module {
        let is_dynamic = is_dynamic(symbols[variable.symbol].definition);
        let functions = users.functions.get(&variable.symbol);
        let Some(functions) = functions.filter(|_| !is_dynamic) else {
            continue;
        };
        let seers = users.seen_by.kernels(functions);
        let audience = *audience_of.entry(seers).or_insert_with_key(|seers| {
            audiences.push(seers.iter().collect());
            audiences.len() - 1
        });
        match audiences[audience][..] {
            [kernel] => {
                views[users.home(kernel)].own.push(variable);
                owners.push(kernel);
            }
            _ => variables.push((variable, audience)),
        }
    }
    Common {
        variables,
        audiences,
        align,
        owners,
    }
}

/// How much shared memory a kernel may use.
fn limit(merged: &Merged<'_>) -> u64 {
    match merged.settings.shared_memory.limit {
        SharedLimit::Launch => LAUNCH_LIMIT,
        SharedLimit::Processor => merged.target.largest_shared(),
    }
}

/// Says which kernels use too much.
fn check_kernels(
    pruned: &Pruned<'_>,
    users: &Users,
    views: &[KernelView],
    behaviour: Behaviour,
    problems: &mut Problems,
) {
    let merged = &pruned.merged;
    let limit = limit(merged);
    let is_hopper = merged.target.family() == Some(Family::Hopper);
    // On sm_90 nvlink takes what the system would keep from the sum also where
    // it keeps nothing (case `shared_options`).
    let overlooked = match behaviour {
        Behaviour::Nvlink if is_hopper && merged.reserved_shared() == 0 => reserved::SHARED_SIZE,
        Behaviour::Nvlink | Behaviour::Own => 0,
    };
    for (view, &kernel) in views.iter().zip(&users.kernels) {
        let counted = view.size.saturating_sub(overlooked);
        if counted > limit && pruned.live.functions[kernel] {
            let problem = Diagnostic::too_much_shared(merged.name_of(kernel), counted, limit);
            problems.push((merged.functions[kernel].shared, problem));
        }
    }
}

/// Says where what several kernels see is too much. nvlink takes it for that of a kernel, whose name it finds behind as many
/// characters of the section's as `.nv.shared.` has (case `shared_overflow`).
fn check_common(merged: &Merged<'_>, end: u64, problems: &mut Problems) {
    let limit = limit(merged);
    if merged.shared.listed != ListedShared::Nothing && end > limit {
        let problem = Diagnostic::too_much_shared("hared", end, limit);
        problems.push((listed::module_section(merged), problem));
    }
}

/// Gives the sections of kernels their sizes, up to sm_90 but for those that are `left_alone`.
fn set_sizes(
    pruned: &mut Pruned<'_>,
    users: &Users,
    views: &[KernelView],
    left_alone: &FxHashSet<FunctionId>,
) {
    let has_dynamic = !users.dynamic.is_empty();
    let has_mercury = pruned.merged.target.has_mercury();
    let reserve = pruned.merged.reserved_shared();
    for (index, (view, kernel)) in views.iter().zip(&users.kernels).enumerate() {
        if !has_mercury && left_alone.contains(kernel) || users.home(index) != index {
            continue;
        }
        let Some(section) = pruned.merged.functions[*kernel].shared else {
            continue;
        };
        let section = &mut pruned.merged.sections[section];
        // In a program with dynamic shared memory, an empty section stays for
        // its alignment, whoever asked for that (case `shared_alignment`).
        let is_marked = has_dynamic && section.content.align == DYNAMIC_ALIGN;
        // Only on sm_90 what is reserved is added before empty sections go.
        let in_use = if reserve == 0 || has_mercury {
            view.size > 0 || is_marked
        } else {
            view.is_used() || has_dynamic && section.content.align >= DYNAMIC_ALIGN
        };
        if in_use {
            section.content.size = view.size + reserve;
            section.keep_empty = is_marked;
        }
    }
}

/// Connects kernels with their sections of shared memory where the merge has not, because it did not count them as kernels.
pub(super) fn give_back(merged: &mut Merged<'_>) {
    let sections = merged.sections.of_kind(|kind| kind == SectionKind::Shared);
    let of_code = sections.filter_map(|(id, section)| Some((id, section.target?)));
    let of_code: Vec<(SectionId, SectionId)> = of_code.collect();
    for (id, text) in of_code {
        if let Some(function) = merged.sections[text].function {
            merged.functions[function].shared.get_or_insert(id);
        }
    }
}

/// nvlink knows the memory of kernels by its name: those of one name that have none get what another one has (case
/// `static_kernels_shared`).
fn share_by_name(merged: &mut Merged<'_>) {
    let is_without = |f: &Function<'_>| f.shared.is_none() && !f.is_stub && merged.is_kernel(f);
    let without = merged.functions.enumerate();
    let without: Vec<FunctionId> = without
        .filter(|(_, function)| is_without(function))
        .map(|(id, _)| id)
        .collect();
    if without.is_empty() {
        return;
    }
    let sections = merged.sections.of_kind(|kind| kind == SectionKind::Shared);
    let names = sections.filter_map(|(id, section)| {
        let kernel = section.name.strip_prefix(section_name::SHARED_OF)?;
        Some((kernel, id))
    });
    let mut by_name: FxHashMap<&str, SectionId> = FxHashMap::default();
    for (name, section) in names {
        by_name.entry(name).or_insert(section);
    }
    let found = without.into_iter();
    let found: Vec<(FunctionId, SectionId)> = found
        .filter_map(|kernel| Some((kernel, *by_name.get(merged.name_of(kernel))?)))
        .collect();
    for (kernel, section) in found {
        merged.functions[kernel].shared = Some(section);
    }
}

/// Gives the slot of a unified function shared memory as kernels have it.
fn add_section<'d>(pruned: &mut Pruned<'d>, arena: &'d Arena, slot: FunctionId) {
    let function = &pruned.merged.functions[slot];
    let name = pruned.merged.symbols[function.symbol].name;
    let section = NewSection::shared_of(arena, name, function.text);
    let section = pruned.add_section(section);
    pruned.merged.functions[slot].shared = Some(section);
}

/// Whether a variable is not laid out, but starts where all others end.
pub(super) fn is_dynamic(definition: Definition) -> bool {
    matches!(
        definition,
        Definition::Shared(SharedHome::Dynamic | SharedHome::Overlooked)
    )
}
