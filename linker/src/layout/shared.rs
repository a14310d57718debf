//! Shared memory: one kernel's view of it at a time.
//!
//! Variables of module scope are seen by every kernel that reaches a function
//! that uses them. One that a single kernel sees becomes that kernel's own;
//! the others get a place that is the same in all their kernels, and two of
//! them share a place when no kernel sees both.

use std::cell::LazyCell;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::arch::{Family, reserved};
use crate::arena::Arena;
use crate::bits::Bits;
use crate::diagnostic::Diagnostic;
use crate::id::{FunctionId, IdVec, SectionId, SymbolId};
use crate::list_sort::list_sort;
use crate::merge::{Definition, ListedShared, Merged, Section, SectionKind, SharedHome};
use crate::options::{Keeping, SharedLimit};
use crate::prune::Pruned;

use super::relocatable::RelocationOrder;
use super::{Problems, listed};

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
    /// Whether nvlink finds no symbol for what it records.
    pub(crate) lacks_symbol: bool,
}

/// A variable as a symbol.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Listed {
    pub(crate) section: SectionId,
    /// Where it starts.
    pub(crate) offset: u64,
    /// The same, behind what the system reserves.
    pub(crate) value: u64,
}

/// The shared memory that one kernel sees.
#[derive(Default)]
pub(super) struct KernelView {
    /// Whether it sees variables that others see too.
    sees_common: bool,
    /// Variables of its own, module scope ones after those it declares.
    pub(super) own: Vec<SymbolId>,
    /// Whether it uses dynamic shared memory.
    pub(super) dynamic: bool,
    /// Bytes in use.
    pub(super) size: u64,
}

impl KernelView {
    fn is_used(&self) -> bool {
        self.sees_common || self.dynamic || !self.own.is_empty()
    }
}

/// Lays shared memory out for every kernel, dead ones included.
pub(super) fn layout<'d>(
    pruned: &mut Pruned<'d>,
    arena: &'d Arena,
    keeping: Keeping,
    problems: &mut Problems,
) -> SharedLayout {
    let mut layout = SharedLayout::default();
    let owners = left_out(pruned);
    let symbols = &pruned.merged.symbols;
    let dynamic: Vec<SymbolId> = pruned
        .merged
        .shared
        .iter()
        .copied()
        .filter(|&s| is_dynamic(symbols[s].definition))
        .collect();
    if pruned.merged.shared.is_empty() {
        return layout;
    }
    let uses = users(pruned);
    let slots: FxHashSet<FunctionId> = pruned
        .starts()
        .into_iter()
        .filter(|&start| pruned.merged.functions[start].is_stub)
        .collect();
    let mut kernels: Vec<FunctionId> = pruned
        .merged
        .functions
        .enumerate()
        .filter(|&(id, f)| f.is_entry || slots.contains(&id))
        .map(|(id, _)| id)
        .collect();
    let seen_by = Visibility::with_owners(pruned, &kernels, &owners);
    let first_owner = kernels.len();
    kernels.extend(owners);
    let mut views: Vec<KernelView> = kernels.iter().map(|_| KernelView::default()).collect();

    let Common {
        variables: common,
        audiences,
        align: module_align,
        owners,
    } = share_out(pruned, &kernels, &uses, &seen_by, &mut views);
    place_common(pruned, &common, &audiences, &mut views, &mut layout);

    // Sections of kernels that are left out come last, in this order (cases `relocatable_weak`, `recode_shared` and
    // `launched_kernels`).
    let is_owner = |kernel: &usize| *kernel >= first_owner;
    let mut owned = owners;
    owned.retain(is_owner);
    // Audiences are numbered as their first variables come.
    let several = audiences.iter().filter(|audience| audience.len() > 1);
    owned.extend(several.flatten().copied().filter(is_owner));
    let order = LazyCell::new(|| RelocationOrder::new(&pruned.merged));
    for &symbol in &dynamic {
        let Some(users) = uses.get(&symbol) else {
            continue;
        };
        for kernel in seen_by.kernels(users).iter() {
            views[kernel].dynamic = true;
        }
        let kernel_of = |&user: &FunctionId| seen_by.is_entry[user].filter(is_owner);
        let owning = users.iter().filter(|user| kernel_of(user).is_some());
        let mut owning: Vec<FunctionId> = owning.copied().collect();
        if owning.len() > 1 {
            order.sort(&pruned.merged, &mut owning);
        }
        owned.extend(owning.iter().filter_map(kernel_of));
    }
    for index in (0..first_owner).chain(owned) {
        if pruned.merged.functions[kernels[index]].shared.is_none() && views[index].is_used() {
            add_section(pruned, arena, kernels[index]);
        }
    }
    for (view, &kernel) in views.iter_mut().zip(&kernels) {
        place_own(pruned, kernel, view, &mut layout);
        if !common.is_empty() {
            raise_alignment(pruned, kernel, module_align);
        }
    }
    place_dynamic(
        pruned,
        &kernels,
        &mut views,
        &dynamic,
        &uses,
        &seen_by,
        &mut layout,
    );
    let ends = common.iter();
    let end = ends.map(|(symbol, _)| layout.offset[symbol] + pruned.merged.symbols[*symbol].size);
    let end = end.max().unwrap_or(0);
    check_sizes(pruned, &kernels, &views, end, keeping, problems);
    set_sizes(pruned, &kernels, &views, !dynamic.is_empty());
    // The module's own section stays, empty, when dynamic shared memory has
    // nothing else that demands its alignment.
    if !dynamic.is_empty() && (common.is_empty() || module_align <= DYNAMIC_ALIGN) {
        for section in pruned.merged.sections.iter_mut() {
            if section.name == ".nv_debug.shared" {
                section.keep_empty = true;
                section.content.align = section.content.align.max(DYNAMIC_ALIGN);
            }
        }
    }
    if pruned.merged.listed_shared != ListedShared::Nothing {
        let users = dynamic.iter().filter_map(|s| uses.get(s)).flatten();
        let names_dynamic =
            |s: &Section<'_>| s.relocations.iter().any(|r| dynamic.contains(&r.symbol));
        let is_debug = |kind| kind == SectionKind::Debug;
        let is_lost = users
            .copied()
            .any(|function| !layout.dynamic.contains_key(&function))
            || pruned
                .merged
                .sections_of(is_debug)
                .any(|(_, section)| names_dynamic(section));
        let common: Vec<SymbolId> = common.iter().map(|&(symbol, _)| symbol).collect();
        let views = kernels.into_iter().zip(views).collect();
        listed::list(pruned, &mut layout, &common, views, &dynamic, module_align);
        let is_listed = dynamic.iter().all(|s| layout.listed.contains_key(s));
        // nvlink records what functions use that no kernel reaches, and where
        // debug information says such memory is, and finds no symbol for it
        // (case `preserve_unreached`).
        layout.lacks_symbol =
            keeping == Keeping::AsNvlink && is_lost && !is_listed && !common.is_empty();
    }
    layout
}

/// Variables that several kernels see.
struct Common {
    /// With their audiences, the largest first.
    variables: Vec<(SymbolId, usize)>,
    /// Kernels that see the same of them.
    audiences: Vec<Vec<usize>>,
    /// What variables of module scope are aligned to, at most.
    align: u64,
    /// Kernels in the order of what they alone see.
    owners: Vec<usize>,
}

/// Gives kernels what they alone see. The rest is common.
fn share_out(
    pruned: &Pruned<'_>,
    kernels: &[FunctionId],
    uses: &FxHashMap<SymbolId, Vec<FunctionId>>,
    seen_by: &Visibility,
    views: &mut [KernelView],
) -> Common {
    let symbols = &pruned.merged.symbols;
    let kernel_of: FxHashMap<SectionId, usize> = kernels
        .iter()
        .enumerate()
        .filter_map(|(index, &kernel)| Some((pruned.merged.functions[kernel].shared?, index)))
        .collect();
    let mut module = Vec::new();
    for &symbol in &pruned.merged.shared {
        match symbols[symbol].definition {
            Definition::Shared(
                SharedHome::Module | SharedHome::Dynamic | SharedHome::Overlooked,
            ) => module.push(symbol),
            Definition::Shared(SharedHome::Kernel(section)) => {
                if let Some(&kernel) = kernel_of.get(&section) {
                    views[kernel].own.push(symbol);
                }
            }
            _ => {}
        }
    }
    let aligns = module.iter().map(|&symbol| symbols[symbol].value);
    let align = aligns.fold(pruned.merged.shared_align, u64::max);
    // Dynamic shared memory takes part in the sort: that decides which of two
    // equally long variables is first (case `shared_dynamic_sort`).
    let module = list_sort(module, |&a, &b| symbols[a].size > symbols[b].size);
    let mut variables = Vec::new();
    let mut owners = Vec::new();
    let mut audiences: Vec<Vec<usize>> = Vec::new();
    let mut audience_of: FxHashMap<Bits, usize> = FxHashMap::default();
    for symbol in module {
        let is_dynamic = is_dynamic(symbols[symbol].definition);
        let Some(functions) = uses.get(&symbol).filter(|_| !is_dynamic) else {
            continue;
        };
        let seers = seen_by.kernels(functions);
        let audience = *audience_of.entry(seers).or_insert_with_key(|seers| {
            audiences.push(seers.iter().collect());
            audiences.len() - 1
        });
        match audiences[audience][..] {
            [kernel] => {
                // Kernels of one name may share a section (case `static_kernels`).
                let section = pruned.merged.functions[kernels[kernel]].shared;
                let home = section.and_then(|section| kernel_of.get(&section));
                views[home.copied().unwrap_or(kernel)].own.push(symbol);
                owners.push(kernel);
            }
            _ => variables.push((symbol, audience)),
        }
    }
    Common {
        variables,
        audiences,
        align,
        owners,
    }
}

/// Says which kernels use too much. What they have in common ends at `end`.
fn check_sizes(
    pruned: &Pruned<'_>,
    kernels: &[FunctionId],
    views: &[KernelView],
    end: u64,
    keeping: Keeping,
    problems: &mut Problems,
) {
    let merged = &pruned.merged;
    let limit = match merged.shared_memory.limit {
        SharedLimit::Launch => LAUNCH_LIMIT,
        SharedLimit::Processor => merged.target.largest_shared(),
    };
    let is_hopper = merged.target.family() == Some(Family::Hopper);
    // On sm_90 nvlink takes what the system would keep from the sum also where
    // it keeps nothing (case `shared_options`).
    let overlooked = match keeping {
        Keeping::AsNvlink if is_hopper && merged.reserved_shared() == 0 => reserved::SHARED_SIZE,
        Keeping::AsNvlink | Keeping::Reachable => 0,
    };
    for (view, &kernel) in views.iter().zip(kernels) {
        let counted = view.size.saturating_sub(overlooked);
        if counted > limit && pruned.live.functions[kernel] {
            let function = &merged.functions[kernel];
            let name = merged.symbols[function.symbol].name;
            let problem = Diagnostic::too_much_shared(name, counted, limit);
            problems.push((function.shared, problem));
        }
    }
    // nvlink takes what belongs to no kernel for one, whose name it finds behind as many characters of the section's as
    // `.nv.shared.` has (case `shared_overflow`).
    let is_listed = merged.listed_shared != ListedShared::Nothing;
    if keeping == Keeping::AsNvlink && is_listed && end > limit {
        let module = listed::module_section(pruned);
        let problem = Diagnostic::too_much_shared("hared", end, limit);
        problems.push((module, problem));
    }
}

/// Gives the sections of kernels their sizes.
fn set_sizes(
    pruned: &mut Pruned<'_>,
    kernels: &[FunctionId],
    views: &[KernelView],
    has_dynamic: bool,
) {
    let has_mercury = pruned.merged.target.has_mercury();
    let reserve = pruned.merged.reserved_shared();
    for (view, &kernel) in views.iter().zip(kernels) {
        let Some(section) = pruned.merged.functions[kernel].shared else {
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

/// Kernels that the filter leaves out, and that stay all the same: what they
/// use themselves is laid out (cases `preserve_kernels` and
/// `launched_kernels`).
fn left_out(pruned: &mut Pruned<'_>) -> Vec<FunctionId> {
    give_back(&mut pruned.merged);
    let merged = &pruned.merged;
    let functions = merged.functions.enumerate();
    functions
        .filter(|&(id, f)| pruned.live.functions[id] && !f.is_entry && merged.is_kernel(f))
        .map(|(id, _)| id)
        .collect()
}

/// Gives kernels back the shared memory of their own that the merge did not
/// take for that of a kernel.
pub(super) fn give_back(merged: &mut Merged<'_>) {
    let sections = merged.sections_of(|kind| kind == SectionKind::Shared);
    let of_code = sections.filter_map(|(id, section)| Some((id, section.target?)));
    let of_code: Vec<(SectionId, SectionId)> = of_code.collect();
    for (id, text) in of_code {
        if let Some(function) = merged.sections[text].function {
            merged.functions[function].shared.get_or_insert(id);
        }
    }
}

/// Gives the slot of a unified function shared memory as kernels have it.
fn add_section<'d>(pruned: &mut Pruned<'d>, arena: &'d Arena, slot: FunctionId) {
    let function = &pruned.merged.functions[slot];
    let name = arena.name(&[".nv.shared.", pruned.merged.symbols[function.symbol].name]);
    let text = function.text;
    let section = pruned.add_section(name, SectionKind::Shared, 0x43, 1, text);
    pruned.merged.functions[slot].shared = Some(section);
}

/// Whether a variable is not laid out, but starts where all others end.
fn is_dynamic(definition: Definition) -> bool {
    matches!(
        definition,
        Definition::Shared(SharedHome::Dynamic | SharedHome::Overlooked)
    )
}

/// The functions whose code names a variable.
fn users(pruned: &Pruned<'_>) -> FxHashMap<SymbolId, Vec<FunctionId>> {
    let mut users: FxHashMap<SymbolId, Vec<FunctionId>> = FxHashMap::default();
    for section in pruned.merged.sections.iter() {
        let Some(function) = section.function else {
            continue;
        };
        for relocation in &section.relocations {
            let symbol = &pruned.merged.symbols[relocation.symbol];
            let is_overlooked = symbol.definition == Definition::Shared(SharedHome::Overlooked);
            if matches!(symbol.definition, Definition::Shared(_)) && !is_overlooked {
                let functions = users.entry(relocation.symbol).or_default();
                if functions.last() != Some(&function) {
                    functions.push(function);
                }
            }
        }
    }
    users
}

/// Which kernels reach a function.
pub(super) struct Visibility {
    reaching: IdVec<FunctionId, Bits>,
    is_entry: IdVec<FunctionId, Option<usize>>,
}

impl Visibility {
    pub(super) fn new(pruned: &Pruned<'_>, kernels: &[FunctionId]) -> Self {
        Self::with_owners(pruned, kernels, &[])
    }

    /// What `owners` use counts for them, but not what they reach. Nor does it for kernels that no host code names and
    /// that stay all the same (case `removed_kernels`).
    fn with_owners(pruned: &Pruned<'_>, kernels: &[FunctionId], owners: &[FunctionId]) -> Self {
        let live = &pruned.live;
        let is_owner = |function: FunctionId| {
            let is_entry = pruned.merged.functions[function].is_entry;
            is_entry && live.functions[function] && !live.entries[function]
        };
        let mut is_entry = IdVec::filled(&pruned.merged.functions, None);
        for (index, &kernel) in kernels.iter().chain(owners).enumerate() {
            is_entry[kernel] = Some(index);
        }
        let reaching = pruned.graph.over_callers(
            |function| {
                let kernel = is_entry[function].filter(|&index| index < kernels.len());
                let kernel = kernel.filter(|_| !is_owner(function));
                kernel.map_or_else(Bits::default, Bits::one)
            },
            Bits::join,
        );
        Self { reaching, is_entry }
    }

    /// The kernels that see what `functions` use. A kernel's own use counts
    /// for that kernel alone.
    pub(super) fn kernels(&self, functions: &[FunctionId]) -> Bits {
        let mut seers = Bits::default();
        for &function in functions {
            match self.is_entry[function] {
                Some(kernel) => seers.insert(kernel),
                None => seers.join(&self.reaching[function]),
            }
        }
        seers
    }
}

/// Greedy colouring: each variable takes the first group in which no variable
/// is seen by one of its kernels. Groups stand one behind the other.
fn place_common(
    pruned: &Pruned<'_>,
    common: &[(SymbolId, usize)],
    audiences: &[Vec<usize>],
    views: &mut [KernelView],
    layout: &mut SharedLayout,
) {
    let symbols = &pruned.merged.symbols;
    let classes = classes(audiences, views.len());
    let classes_of: Vec<Vec<usize>> = audiences
        .iter()
        .map(|kernels| {
            let mut members: Vec<usize> = kernels.iter().map(|&kernel| classes[kernel]).collect();
            members.sort_unstable();
            members.dedup();
            members
        })
        .collect();
    let mut taken = vec![Bits::default(); views.len()];
    let mut groups: Vec<(u64, u64)> = Vec::new();
    let mut group_of = Vec::with_capacity(common.len());
    for &(symbol, audience) in common {
        let mut forbidden = Bits::default();
        for &class in &classes_of[audience] {
            forbidden.join(&taken[class]);
        }
        let group = forbidden.first_clear();
        for &class in &classes_of[audience] {
            taken[class].insert(group);
        }
        if group == groups.len() {
            groups.push((0, 1));
        }
        let (size, align) = &mut groups[group];
        *size = (*size).max(symbols[symbol].size);
        *align = (*align).max(symbols[symbol].value);
        group_of.push(group);
    }
    let mut end = pruned.merged.first_shared();
    let starts: Vec<u64> = groups
        .iter()
        .map(|&(size, align)| {
            let start = end.next_multiple_of(align.max(1));
            end = start + size;
            start
        })
        .collect();
    let mut ends = vec![None; audiences.len()];
    for (&(symbol, audience), group) in common.iter().zip(group_of) {
        layout.offset.insert(symbol, starts[group]);
        ends[audience] = ends[audience].max(Some(starts[group] + symbols[symbol].size));
    }
    for (kernels, end) in audiences.iter().zip(ends) {
        let Some(end) = end else { continue };
        for &kernel in kernels {
            views[kernel].sees_common = true;
            views[kernel].size = views[kernel].size.max(end);
        }
    }
}

/// A number for each kernel; those with the same number are in the same
/// audiences. Hundreds of kernels are often one class.
fn classes(audiences: &[Vec<usize>], kernels: usize) -> Vec<usize> {
    let mut classes = vec![0; kernels];
    let mut sizes = vec![kernels];
    for audience in audiences {
        let mut inside = vec![0; sizes.len()];
        for &kernel in audience {
            inside[classes[kernel]] += 1;
        }
        // A class of which only a part is in the audience loses that part.
        let mut part = vec![None; sizes.len()];
        for (class, inside) in inside.into_iter().enumerate() {
            if inside != 0 && inside != sizes[class] {
                part[class] = Some(sizes.len());
                sizes[class] -= inside;
                sizes.push(inside);
            }
        }
        for &kernel in audience {
            classes[kernel] = part[classes[kernel]].unwrap_or(classes[kernel]);
        }
    }
    classes
}

/// A kernel's own variables follow the highest common one it sees, strictest
/// alignment first, then smallest.
fn place_own(
    pruned: &mut Pruned<'_>,
    kernel: FunctionId,
    view: &mut KernelView,
    layout: &mut SharedLayout,
) {
    let symbols = &pruned.merged.symbols;
    let first = pruned.merged.first_shared();
    let key = |symbol: SymbolId| {
        (
            symbols[symbol].value,
            std::cmp::Reverse(symbols[symbol].size),
        )
    };
    let mut align = 1;
    for symbol in list_sort(view.own.clone(), |&a, &b| key(a) >= key(b)) {
        let row = &symbols[symbol];
        let offset = view.size.max(first).next_multiple_of(row.value.max(1));
        layout.offset.insert(symbol, offset);
        view.size = offset + row.size;
        align = align.max(row.value);
    }
    raise_alignment(pruned, kernel, align);
}

fn raise_alignment(pruned: &mut Pruned<'_>, kernel: FunctionId, align: u64) {
    if let Some(section) = pruned.merged.functions[kernel].shared {
        let content = &mut pruned.merged.sections[section].content;
        content.align = content.align.max(align);
    }
}

/// Dynamic shared memory starts behind everything else. Kernels that share a
/// device function which uses it must agree on where.
fn place_dynamic(
    pruned: &mut Pruned<'_>,
    kernels: &[FunctionId],
    views: &mut [KernelView],
    dynamic: &[SymbolId],
    uses: &FxHashMap<SymbolId, Vec<FunctionId>>,
    seen_by: &Visibility,
    layout: &mut SharedLayout,
) {
    // As a symbol it has one value (case `debug_dynamic`).
    let is_symbol = pruned.merged.listed_shared == ListedShared::All;
    let mut groups = Groups::new(kernels.len());
    let users = |symbol| uses.get(symbol).map_or(&[][..], Vec::as_slice);
    for symbol in dynamic {
        match is_symbol {
            true => groups.join(seen_by.kernels(users(symbol)).iter()),
            false => {
                let users = users(symbol).iter();
                users.for_each(|&user| groups.join(seen_by.kernels(&[user]).iter()));
            }
        }
    }
    let first = pruned.merged.first_shared();
    let mut start: FxHashMap<usize, u64> = FxHashMap::default();
    for (index, view) in views.iter_mut().enumerate() {
        if view.dynamic {
            view.size = view.size.max(first).next_multiple_of(DYNAMIC_ALIGN);
            let shared = start.entry(groups.of(index)).or_default();
            *shared = (*shared).max(view.size);
            raise_alignment(pruned, kernels[index], DYNAMIC_ALIGN);
        }
    }
    for (index, view) in views.iter_mut().enumerate() {
        if view.dynamic {
            view.size = start[&groups.of(index)];
        }
    }
    for symbol in dynamic {
        let start = |users: &[FunctionId]| {
            let kernel = seen_by.kernels(users).iter().next();
            kernel.map(|kernel| views[kernel].size)
        };
        for &function in users(symbol) {
            if let Some(start) = start(&[function]) {
                layout.dynamic.insert(function, start);
            }
        }
        if is_symbol {
            let start = start(users(symbol)).unwrap_or(0);
            layout.offset.insert(*symbol, start);
        }
    }
}

/// Kernels that agree on a start.
pub(super) struct Groups(Vec<usize>);

impl Groups {
    pub(super) fn new(members: usize) -> Self {
        Self((0..members).collect())
    }

    /// What stands for the group of a member.
    pub(super) fn of(&mut self, mut member: usize) -> usize {
        while self.0[member] != member {
            self.0[member] = self.0[self.0[member]];
            member = self.0[member];
        }
        member
    }

    /// Makes one group of theirs.
    pub(super) fn join(&mut self, mut members: impl Iterator<Item = usize>) {
        let Some(first) = members.next() else {
            return;
        };
        for other in members {
            let (first, other) = (self.of(first), self.of(other));
            self.0[other] = first;
        }
    }
}
