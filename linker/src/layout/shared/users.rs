//! Who uses the shared memory of a program, before any of it has a place.

use std::cell::LazyCell;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::id::{FunctionId, SectionId, SymbolId};
use crate::merge::{Definition, Merged, Section, SectionKind, SharedHome};
use crate::prune::Pruned;

use super::super::relocatable::RelocationOrder;
use super::super::visibility::Visibility;
use super::{SharedLayout, is_dynamic};

/// The kernels of a program, and what of shared memory its functions name.
pub(in crate::layout) struct Users {
    /// Kernels and slots of unified functions, then the owners: kernels that the filter leaves out, and that stay all the
    /// same. What they use themselves is laid out (cases `preserve_kernels` and `launched_kernels`).
    pub(in crate::layout) kernels: Vec<FunctionId>,
    /// For each of them the one whose section it uses: static kernels of one name share one (case `static_kernels`).
    homes: Vec<usize>,
    pub(super) seen_by: Visibility,
    /// The functions whose code names a variable.
    pub(super) functions: FxHashMap<SymbolId, Vec<FunctionId>>,
    /// Variables that start where all others end.
    pub(in crate::layout) dynamic: Vec<SymbolId>,
}

impl Users {
    pub(super) fn new(pruned: &Pruned<'_>) -> Self {
        let merged = &pruned.merged;
        let starts = pruned.starts().into_iter();
        let slots: FxHashSet<FunctionId> = starts
            .filter(|&start| merged.functions[start].is_stub)
            .collect();
        let live = || {
            let functions = merged.functions.enumerate();
            functions.map(|(id, f)| (id, f, pruned.live.functions[id]))
        };
        let mut kernels: Vec<FunctionId> = live()
            .filter(|&(id, f, is_live)| is_live && f.is_entry || slots.contains(&id))
            .map(|(id, ..)| id)
            .collect();
        let owners: Vec<FunctionId> = live()
            .filter(|&(_, f, is_live)| is_live && !f.is_entry && merged.is_kernel(f))
            .map(|(id, ..)| id)
            .collect();
        let seen_by = Visibility::with_owners(pruned, &kernels, &owners);
        kernels.extend(owners);
        let shared = merged.shared.named.iter().copied();
        Self {
            homes: homes(merged, &kernels),
            kernels,
            seen_by,
            functions: functions(merged),
            dynamic: shared
                .filter(|&symbol| is_dynamic(merged.symbols[symbol].definition))
                .collect(),
        }
    }

    /// The kernel whose section this one uses.
    pub(super) fn home(&self, kernel: usize) -> usize {
        self.homes[kernel]
    }

    /// The functions whose code names a variable.
    pub(super) fn functions_of(&self, symbol: SymbolId) -> &[FunctionId] {
        self.functions.get(&symbol).map_or(&[], Vec::as_slice)
    }

    /// The functions that use dynamic shared memory, for each variable that any does.
    pub(super) fn of_dynamic(&self) -> impl Iterator<Item = &[FunctionId]> {
        let used = self.dynamic.iter().filter_map(|s| self.functions.get(s));
        used.map(Vec::as_slice)
    }

    /// The kernels that see variables, in the order in which nvlink finds them: function by function that uses a variable,
    /// and of those that reach it the last one first (case `unified_shared`).
    pub(super) fn in_order(
        &self,
        merged: &Merged<'_>,
        variables: impl Iterator<Item = SymbolId>,
    ) -> Vec<usize> {
        let order = LazyCell::new(|| RelocationOrder::new(merged));
        let mut kernels = Vec::new();
        for variable in variables {
            let mut functions = self.functions_of(variable).to_vec();
            if functions.len() > 1 {
                order.sort(merged, &mut functions);
            }
            for function in functions {
                let first = kernels.len();
                kernels.extend(self.seen_by.kernels(&[function]).iter());
                kernels[first..].reverse();
            }
        }
        kernels
    }

    /// Whether functions that no kernel reaches, or debug information, name dynamic shared memory. nvlink records these,
    /// and may find no symbol for it (case `preserve_unreached`). For what it places nowhere it finds none for any code
    /// (case `shared_sized_later`).
    pub(super) fn lose_dynamic(&self, merged: &Merged<'_>, layout: &SharedLayout) -> bool {
        let mut functions = self.of_dynamic().flatten();
        let is_unreached = functions.any(|function| !layout.dynamic.contains_key(function));
        let names = |section: &Section<'_>, is_meant: &dyn Fn(SymbolId) -> bool| {
            let mut relocations = section.relocations.iter();
            relocations.any(|relocation| is_meant(relocation.symbol))
        };
        let is_dynamic = |symbol| self.dynamic.contains(&symbol);
        let is_overlooked = |symbol| merged.is_overlooked(symbol);
        let mut debug = merged.sections.of_kind(|kind| kind == SectionKind::Debug);
        let mut code = merged.sections.iter().filter(|s| s.function.is_some());
        is_unreached
            || debug.any(|(_, section)| names(section, &is_dynamic))
            || code.any(|section| names(section, &is_overlooked))
    }
}

/// For each kernel the one that its section belongs to, or else the first with that section.
fn homes(merged: &Merged<'_>, kernels: &[FunctionId]) -> Vec<usize> {
    let mut homes: FxHashMap<SectionId, usize> = FxHashMap::default();
    for (index, &kernel) in kernels.iter().enumerate() {
        let Some(section) = merged.functions[kernel].shared else {
            continue;
        };
        let is_owner = merged.sections[section].target == merged.functions[kernel].text;
        let home = homes.entry(section).or_insert(index);
        if is_owner {
            *home = index;
        }
    }
    let sections = kernels
        .iter()
        .map(|&kernel| merged.functions[kernel].shared);
    let found = sections.enumerate().map(|(index, section)| {
        let home = section.and_then(|section| homes.get(&section));
        home.copied().unwrap_or(index)
    });
    found.collect()
}

/// The functions whose code names a variable in shared memory.
fn functions(merged: &Merged<'_>) -> FxHashMap<SymbolId, Vec<FunctionId>> {
    let mut users: FxHashMap<SymbolId, Vec<FunctionId>> = FxHashMap::default();
    for (function, symbol) in merged.uses_in_code() {
        match merged.symbols[symbol].definition {
            Definition::Shared(SharedHome::Overlooked) => {}
            Definition::Shared(_) => {
                let functions = users.entry(symbol).or_default();
                if functions.last() != Some(&function) {
                    functions.push(function);
                }
            }
            _ => {}
        }
    }
    users
}
