//! Places in shared memory: what several kernels see, what one sees, and dynamic shared memory behind both.

use std::cmp::Reverse;

use rustc_hash::FxHashMap;

use super::super::groups::Groups;
use super::{Common, DYNAMIC_ALIGN, KernelView, SharedLayout, Users, Variable};
use crate::bits::Bits;
use crate::id::FunctionId;
use crate::list_sort::list_sort;
use crate::merge::ListedShared;
use crate::prune::Pruned;

/// Variables at one place, of which no kernel sees two.
struct Group {
    size: u64,
    align: u64,
}

/// Places what several kernels see: groups stand one behind the other.
pub(super) fn place_common(
    pruned: &Pruned<'_>,
    common: &Common,
    views: &mut [KernelView],
    layout: &mut SharedLayout,
) {
    let Common {
        variables,
        audiences,
        ..
    } = common;
    let symbols = &pruned.merged.symbols;
    let (groups, group_of) = group(pruned, common, views.len());
    let mut end = pruned.merged.first_shared();
    let starts: Vec<u64> = groups
        .iter()
        .map(|group| {
            let start = end.next_multiple_of(group.align);
            end = start + group.size;
            start
        })
        .collect();
    let mut ends = vec![None; audiences.len()];
    for (&(Variable { symbol, .. }, audience), group) in variables.iter().zip(group_of) {
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

/// Greedy colouring: each variable takes the first group in which no variable
/// is seen by one of its kernels. Returns the groups, and that of each variable.
fn group(pruned: &Pruned<'_>, common: &Common, kernels: usize) -> (Vec<Group>, Vec<usize>) {
    let classes = classes(&common.audiences, kernels);
    let classes_of: Vec<Vec<usize>> = common
        .audiences
        .iter()
        .map(|kernels| {
            let mut members: Vec<usize> = kernels.iter().map(|&kernel| classes[kernel]).collect();
            members.sort_unstable();
            members.dedup();
            members
        })
        .collect();
    let mut taken = vec![Bits::default(); kernels];
    let mut groups: Vec<Group> = Vec::new();
    let mut group_of = Vec::with_capacity(common.variables.len());
    for &(Variable { symbol, align }, audience) in &common.variables {
        let mut forbidden = Bits::default();
        for &class in &classes_of[audience] {
            forbidden.join(&taken[class]);
        }
        let number = forbidden.first_clear();
        for &class in &classes_of[audience] {
            taken[class].insert(number);
        }
        if number == groups.len() {
            groups.push(Group { size: 0, align: 1 });
        }
        let group = &mut groups[number];
        group.size = group.size.max(pruned.merged.symbols[symbol].size);
        group.align = group.align.max(known_align(align));
        group_of.push(number);
    }
    (groups, group_of)
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
pub(super) fn place_own(
    pruned: &mut Pruned<'_>,
    kernel: FunctionId,
    view: &mut KernelView,
    layout: &mut SharedLayout,
) {
    let symbols = &pruned.merged.symbols;
    let first = pruned.merged.first_shared();
    let size = |variable: &Variable| symbols[variable.symbol].size;
    let key = |variable: &Variable| (variable.align, Reverse(size(variable)));
    let mut align = 1;
    for variable in list_sort(view.own.clone(), |a, b| key(a) >= key(b)) {
        let offset = view.size.max(first);
        let offset = offset.next_multiple_of(known_align(variable.align));
        layout.offset.insert(variable.symbol, offset);
        view.size = offset + size(&variable);
        align = align.max(variable.align);
    }
    raise_alignment(pruned, kernel, align);
}

/// What a variable is aligned to. Objects of `nvlink -r` forget what some ask for (case `relocatable_sized_later`).
fn known_align(asked: u64) -> u64 {
    const FORGOTTEN: u64 = 8;
    if asked == 0 { FORGOTTEN } else { asked }
}

pub(super) fn raise_alignment(pruned: &mut Pruned<'_>, kernel: FunctionId, align: u64) {
    if let Some(section) = pruned.merged.functions[kernel].shared {
        let content = &mut pruned.merged.sections[section].content;
        content.align = content.align.max(align);
    }
}

/// Dynamic shared memory starts behind everything else. Kernels that share a
/// device function which uses it must agree on where.
pub(super) fn place_dynamic(
    pruned: &mut Pruned<'_>,
    users: &Users,
    views: &mut [KernelView],
    layout: &mut SharedLayout,
) {
    // As a symbol it has one value (case `debug_dynamic`).
    let is_symbol = pruned.merged.shared.listed == ListedShared::All;
    let mut groups = Groups::new(users.kernels.len());
    for &symbol in &users.dynamic {
        let functions = users.functions_of(symbol);
        match is_symbol {
            true => groups.join(homes_of(users, functions)),
            false => {
                for &function in functions {
                    groups.join(homes_of(users, &[function]));
                }
            }
        }
    }
    reach_starts(pruned, users, groups, views);
    let start = |functions: &[FunctionId]| {
        let home = homes_of(users, functions).next();
        home.map(|home| views[home].size)
    };
    for &symbol in &users.dynamic {
        let functions = users.functions_of(symbol);
        for &function in functions {
            if let Some(start) = start(&[function]) {
                layout.dynamic.insert(function, start);
            }
        }
        if is_symbol {
            let first = pruned.merged.first_shared();
            let start = start(functions).unwrap_or(first.next_multiple_of(DYNAMIC_ALIGN));
            layout.offset.insert(symbol, start);
        }
    }
}

/// Lets what kernels see reach to where dynamic shared memory starts, which is one place in the kernels of a group.
fn reach_starts(
    pruned: &mut Pruned<'_>,
    users: &Users,
    mut groups: Groups,
    views: &mut [KernelView],
) {
    let first = pruned.merged.first_shared();
    let is_aligned = pruned.merged.aligns_dynamic();
    // What stands before that place in the kernels of a group, as if it were one variable.
    let mut before: FxHashMap<usize, Group> = FxHashMap::default();
    for (index, view) in views.iter().enumerate() {
        if let Some(align) = view.dynamic {
            let kernel = users.kernels[index];
            raise_alignment(pruned, kernel, align);
            let shared = pruned.merged.functions[kernel]
                .shared
                .filter(|_| is_aligned);
            let align = shared.map_or(align, |own| pruned.merged.sections[own].content.align);
            let group = before.entry(groups.of(index)).or_insert(Group {
                size: first,
                align: 0,
            });
            group.size = group.size.max(view.size);
            group.align = group.align.max(align);
        }
    }
    for (index, view) in views.iter_mut().enumerate() {
        if view.dynamic.is_some() {
            let group = &before[&groups.of(index)];
            view.size = group.size.next_multiple_of(group.align);
        }
    }
}

/// The kernels whose sections these functions see.
fn homes_of(users: &Users, functions: &[FunctionId]) -> impl Iterator<Item = usize> {
    let seers = users.seen_by.kernels(functions);
    let homes: Vec<usize> = seers.iter().map(|kernel| users.home(kernel)).collect();
    homes.into_iter()
}
