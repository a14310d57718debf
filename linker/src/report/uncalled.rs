//! Functions whose address is taken, and that nothing calls.

use crate::diagnostic::Diagnostic;
use crate::id::{Id as _, IdVec, PrototypeId};
use crate::prune::Pruned;

/// Warns of each of them. What dead code calls is not called (case
/// `extra_warnings`).
pub(crate) fn uncalled(pruned: &Pruned<'_>) -> Vec<Diagnostic> {
    let merged = &pruned.merged;
    let live = || {
        let functions = merged.functions.enumerate();
        functions.filter(|&(id, _)| pruned.live.functions[id])
    };
    let mut is_called = IdVec::filled(&merged.functions, false);
    let mut is_called_as = vec![false; merged.prototypes.len()];
    for (_, function) in live() {
        for &callee in &function.calls {
            is_called[callee] = true;
        }
        for &prototype in &function.indirect_calls {
            is_called_as[prototype.index()] = true;
        }
    }
    let is_reached = |prototype: PrototypeId| is_called_as[prototype.index()];
    live()
        .filter(|&(id, f)| f.is_taken && !merged.is_kernel(f) && !is_called[id])
        .filter(|(_, f)| !f.taken_as().is_some_and(is_reached))
        .map(|(_, f)| Diagnostic::uncalled(merged.symbols[f.symbol].name))
        .collect()
}
