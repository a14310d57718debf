//! Shared memory of extensible whole programs (`-ewp`): the compiler has laid it out for each kernel, and names no
//! variable there.

use crate::diagnostic::Diagnostic;
use crate::id::{FunctionId, SectionId};
use crate::list_sort::list_sort;
use crate::merge::{Definition, Merged, SectionKind, SharedHome};
use crate::options::{DebugLevel, Keeping};
use crate::prune::Pruned;

use super::visibility::Visibility;

/// What each kernel starts with.
pub(super) fn sizes(merged: &Merged<'_>, kernels: &[FunctionId]) -> Vec<u64> {
    let size = |&kernel: &FunctionId| {
        let function = &merged.functions[kernel];
        let section = function.shared.filter(|_| function.is_laid_out);
        section.map_or(0, |section| merged.sections[section].content.size)
    };
    kernels.iter().map(size).collect()
}

/// Whether any kernel has such memory.
pub(super) fn is_any(merged: &Merged<'_>) -> bool {
    !sections(merged).is_empty()
}

/// What nvlink leaves in the first symbol, which means nothing: it takes it for the variable that lies there (case
/// `whole_program_shared`).
pub(super) fn prepare(pruned: &mut Pruned<'_>, keeping: Keeping, debug: DebugLevel) -> u64 {
    if keeping == Keeping::Reachable {
        return 0;
    }
    let merged = &mut pruned.merged;
    if debug == DebugLevel::Symbols {
        forget(merged);
    }
    let sections = sections(merged).into_iter();
    let filled = sections.filter(|&section| merged.sections[section].content.size > 0);
    match merged.target.has_mercury() {
        true => 0,
        false => filled.count() as u64 * merged.reserved_shared(),
    }
}

/// Lets the system have its part of sections that are empty, too.
pub(super) fn reserve(pruned: &mut Pruned<'_>) {
    let merged = &mut pruned.merged;
    if !merged.target.has_mercury() {
        return;
    }
    let reserve = merged.reserved_shared();
    for section in sections(merged) {
        let content = &mut merged.sections[section].content;
        content.size = content.size.max(reserve);
    }
}

/// For debuggers nvlink lays out variables alone, and there are none.
fn forget(merged: &mut Merged<'_>) {
    for section in sections(merged) {
        let row = &mut merged.sections[section];
        row.content.size = 0;
        row.content.align = 1;
        row.keep_empty = false;
    }
}

/// Does as nvlink for relocatable objects. What that leaves in the first symbol there is an alignment.
pub(super) fn relocatable(pruned: &mut Pruned<'_>, debug: DebugLevel) -> u64 {
    if debug == DebugLevel::Symbols {
        forget(&mut pruned.merged);
    }
    let first = sections(&pruned.merged).into_iter().next();
    first.map_or(0, |section| pruned.merged.sections[section].content.align)
}

/// Kernels of whole programs that reach variables of other files: these would lie where those of the program do.
pub(super) fn strangers(
    pruned: &Pruned<'_>,
    kernels: &[FunctionId],
    seen_by: &Visibility,
) -> Vec<Diagnostic> {
    let merged = &pruned.merged;
    let is_whole = |&kernel: &usize| merged.functions[kernels[kernel]].is_laid_out;
    let mut problems = Vec::new();
    if !(0..kernels.len()).any(|kernel| is_whole(&kernel)) {
        return problems;
    }
    let symbols = &merged.symbols;
    let is_module = |definition| definition == Definition::Shared(SharedHome::Module);
    let variables = merged.shared.iter().copied();
    let variables: Vec<_> = variables
        .filter(|&s| is_module(symbols[s].definition))
        .collect();
    for variable in list_sort(variables, |&a, &b| symbols[a].size > symbols[b].size) {
        let functions = merged
            .sections
            .iter()
            .filter_map(|s| Some((s.function?, s)));
        for (function, code) in functions {
            let uses = code
                .relocations
                .iter()
                .filter(|r| r.symbol == variable)
                .count();
            if uses == 0 {
                continue;
            }
            let whole: Vec<usize> = seen_by
                .kernels(&[function])
                .iter()
                .filter(is_whole)
                .collect();
            for _ in 0..uses {
                problems.extend(whole.iter().rev().map(|&kernel| {
                    let kernel = symbols[merged.functions[kernels[kernel]].symbol].name;
                    Diagnostic::shared_of_others(symbols[variable].name, kernel)
                }));
            }
        }
    }
    problems
}

/// The shared memory of kernels that are laid out.
fn sections(merged: &Merged<'_>) -> Vec<SectionId> {
    let shared = merged.sections_of(|kind| kind == SectionKind::Shared);
    let is_laid_out = |text: SectionId| {
        let function = merged.sections[text].function;
        function.is_some_and(|function| merged.functions[function].is_laid_out)
    };
    shared
        .filter(|(_, section)| section.target.is_some_and(is_laid_out))
        .filter(|(_, section)| section.keep_empty || section.content.size > 0)
        .map(|(id, _)| id)
        .collect()
}
