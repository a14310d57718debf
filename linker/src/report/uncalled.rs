//! Functions that stay only because their address is taken.

use crate::diagnostic::Diagnostic;
use crate::id::IdVec;
use crate::prune::Pruned;

/// Warns of each of them. What code calls that is left out, or that stays for its own
/// address alone, is not called (case `extra_warnings`).
pub(crate) fn uncalled(pruned: &Pruned<'_>) -> Vec<Diagnostic> {
    let merged = &pruned.merged;
    let mut is_reached = IdVec::filled(&merged.functions, false);
    for function in pruned.graph.reached_from_any(&pruned.starts()) {
        is_reached[function] = true;
    }
    let functions = merged.functions.enumerate();
    functions
        .filter(|&(id, f)| f.is_taken && pruned.live.functions[id] && !is_reached[id])
        .map(|(_, f)| Diagnostic::uncalled(merged.symbols[f.symbol].name))
        .collect()
}
