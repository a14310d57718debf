//! Registers: a kernel needs as many as the most demanding function it
//! reaches.

use crate::cubin::InfoCode;
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::id::{FunctionId, Id as _, IdVec};
use crate::merge::Payload;
use crate::options::{Keeping, Names};
use crate::prune::Pruned;

use super::dump;

/// A kernel that gets more registers because of a function.
#[derive(Debug)]
pub(super) struct Raise {
    pub(super) function: FunctionId,
    pub(super) entry: FunctionId,
    pub(super) count: u32,
}

/// Checks that it is known how many registers each function needs. Before
/// sm_90 nvlink takes what is unknown for none.
pub(super) fn check_known(pruned: &Pruned<'_>, keeping: Keeping, diagnostics: &mut Diagnostics) {
    if keeping == Keeping::AsNvlink && !pruned.merged.target.is_hopper_or_newer() {
        return;
    }
    let mut known = IdVec::filled(&pruned.merged.functions, false);
    for record in &pruned.merged.records {
        if record.code == InfoCode::REGCOUNT
            && let Some((symbol, _)) = record.symbol_number()
            && let Some(function) = pruned.merged.symbols[symbol].function
        {
            known[function] = true;
        }
    }
    let unknown = pruned.merged.functions.enumerate().find(|(id, function)| {
        function.text.is_some() && !function.is_stub && pruned.live.functions[*id] && !known[*id]
    });
    if let Some((_, function)) = unknown {
        let symbol = &pruned.merged.symbols[function.symbol];
        let input = symbol
            .input
            .map_or("", |id| pruned.merged.inputs[id.index()].as_str());
        diagnostics.push(Diagnostic::no_register_count(symbol.name, input));
    }
}

/// Checks that no kernel needs more than it was compiled for, and says, if
/// asked, where each kernel's count comes from.
pub(super) fn check(pruned: &Pruned<'_>, listed: Option<Names>, diagnostics: &mut Diagnostics) {
    let own = super::own_registers(pruned);
    let most = pruned
        .graph
        .over_callees(|f| own[f], |sum: &mut u32, own| *sum = (*sum).max(*own));
    let is_exceeded = |entry| limit(pruned, entry).is_some_and(|limit| most[entry] > limit);
    if listed.is_none() && !pruned.entries().any(is_exceeded) {
        return;
    }
    for raise in raises(pruned, &own) {
        if let Some(limit) = limit(pruned, raise.entry)
            && raise.count > limit
        {
            let name =
                |f: FunctionId| &pruned.merged.symbols[pruned.merged.functions[f].symbol].name;
            diagnostics.push(Diagnostic::too_many_registers(
                name(raise.entry),
                limit,
                name(raise.function),
                raise.count,
            ));
        }
        if let Some(names) = listed {
            diagnostics.push(dump::raise(pruned, &raise, names));
        }
    }
}

/// The number of registers that a kernel was compiled for at most.
fn limit(pruned: &Pruned<'_>, entry: FunctionId) -> Option<u32> {
    let records = &pruned.merged.functions[entry].records;
    records.iter().find_map(|record| match record.payload {
        Payload::Head(limit) if record.code == InfoCode::MAXREG_COUNT => {
            Some(u32::from(u16::from_le_bytes(limit)))
        }
        _ => None,
    })
}

/// Each step by which a kernel comes to its count: functions in the order of
/// their code, and for each the kernels that reach it, last created first.
fn raises(pruned: &Pruned<'_>, own: &IdVec<FunctionId, u32>) -> Vec<Raise> {
    let functions = &pruned.merged.functions;
    let mut entries: Vec<(FunctionId, u32, Vec<bool>)> = Vec::new();
    for entry in pruned.entries() {
        let mut reached = vec![false; functions.len()];
        for function in pruned.graph.reached_from(entry) {
            reached[function.index()] = true;
        }
        entries.push((entry, own[entry], reached));
    }
    entries.reverse();
    let mut callees: Vec<FunctionId> = functions
        .enumerate()
        .filter(|(id, f)| !f.is_entry && f.text.is_some() && pruned.live.functions[*id])
        .map(|(id, _)| id)
        .collect();
    callees.sort_by_key(|&id| functions[id].text);
    let mut raises = Vec::new();
    for function in callees {
        for (entry, count, reached) in &mut entries {
            if reached[function.index()] && own[function] > *count {
                *count = own[function];
                raises.push(Raise {
                    function,
                    entry: *entry,
                    count: *count,
                });
            }
        }
    }
    raises
}
