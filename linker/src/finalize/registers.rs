//! Registers: a kernel needs as many as the most demanding function it
//! reaches.

use crate::bits::ones;
use crate::call_graph::CallGraph;
use crate::cubin::InfoCode;
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::id::{FunctionId, IdVec};
use crate::merge::Payload;
use crate::options::{Behaviour, Names};
use crate::prune::Pruned;

use super::dump;

/// A kernel that gets more registers because of a function.
#[derive(Debug)]
pub(super) struct Raise {
    pub(super) function: FunctionId,
    pub(super) entry: FunctionId,
    pub(super) count: u32,
}

/// How many registers functions need.
#[derive(Debug)]
pub(super) struct Registers {
    /// What each needs itself, if it is known.
    own: IdVec<FunctionId, Option<u32>>,
    /// What each needs with all that it reaches.
    pub(super) most: IdVec<FunctionId, u32>,
}

impl Registers {
    pub(super) fn new(pruned: &Pruned<'_>) -> Self {
        let own = known_registers(pruned);
        let most = |sum: &mut u32, more: &u32| *sum = (*sum).max(*more);
        let most = pruned.graph.over_callees(|f| own[f].unwrap_or(0), most);
        Self { own, most }
    }

    fn own(&self, function: FunctionId) -> u32 {
        self.own[function].unwrap_or(0)
    }
}

/// Register counts of the functions themselves, as far as they are known.
pub(super) fn known_registers(pruned: &Pruned<'_>) -> IdVec<FunctionId, Option<u32>> {
    pruned.merged.known_figures(InfoCode::REGCOUNT)
}

/// Checks that it is known how many registers each function needs. Before
/// sm_90 nvlink takes functions that say nothing for known. It goes through functions in the
/// order of their code, and kernels then have what functions before them need that they reach
/// (case `no_registers`).
pub(super) fn check_known(
    pruned: &Pruned<'_>,
    registers: &Registers,
    behaviour: Behaviour,
    diagnostics: &mut Diagnostics,
) -> bool {
    let functions = &pruned.merged.functions;
    let may_say_nothing = !pruned.merged.target.is_hopper_or_newer();
    let has_some_before = |id: FunctionId| {
        let is_before = |other: FunctionId| {
            registers.own(other) > 0 && functions[other].text < functions[id].text
        };
        let reached = || pruned.graph.reached_from(id).into_iter();
        pruned.live.entries[id] && reached().any(is_before)
    };
    let is_known = |id: FunctionId| match (behaviour, registers.own[id]) {
        (Behaviour::Nvlink, None) if may_say_nothing => true,
        (Behaviour::Nvlink, own) => own > Some(0) || has_some_before(id),
        (Behaviour::Own, own) => own.is_some(),
    };
    let unknown = pruned.merged.functions.enumerate().find(|(id, function)| {
        function.text.is_some() && !function.is_stub && pruned.live.functions[*id] && !is_known(*id)
    });
    if let Some((_, function)) = unknown {
        let symbol = &pruned.merged.symbols[function.symbol];
        let input = pruned.merged.input_name(symbol.input);
        diagnostics.push(Diagnostic::no_register_count(symbol.name, input));
    }
    unknown.is_none()
}

/// Checks that no kernel needs more than it was compiled for, and says, if
/// asked, where each kernel's count comes from.
pub(super) fn check(
    pruned: &Pruned<'_>,
    registers: &Registers,
    listed: Option<Names>,
    diagnostics: &mut Diagnostics,
) {
    let most = &registers.most;
    let is_exceeded = |entry| limit(pruned, entry).is_some_and(|limit| most[entry] > limit);
    if listed.is_none() && !pruned.entries().any(is_exceeded) {
        return;
    }
    for raise in raises(pruned, registers) {
        if let Some(limit) = limit(pruned, raise.entry)
            && raise.count > limit
        {
            let name = |function: FunctionId| pruned.merged.name_of(function);
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
    let records = pruned.merged.functions[entry].records;
    records
        .iter()
        .rev()
        .find_map(|record| match record.payload {
            Payload::Head(limit) if record.code == InfoCode::MAXREG_COUNT => {
                Some(u32::from(u16::from_le_bytes(limit)))
            }
            _ => None,
        })
}

/// Each step by which a kernel comes to its count: functions in the order of
/// their code, and for each the kernels that reach it, last created first.
fn raises(pruned: &Pruned<'_>, registers: &Registers) -> Vec<Raise> {
    let functions = &pruned.merged.functions;
    let mut callees: Vec<FunctionId> = functions
        .enumerate()
        .filter(|(id, f)| pruned.is_called(*id) && f.text.is_some() && pruned.live.functions[*id])
        .map(|(id, _)| id)
        .collect();
    callees.sort_by_key(|&id| functions[id].text);
    let mut entries: Vec<FunctionId> = pruned.entries().collect();
    entries.reverse();
    // A kernel's count grows a few times, whatever the program's size.
    let mut raises: Vec<(usize, Raise)> = Vec::new();
    for batch in entries.chunks(CallGraph::BATCH) {
        let reaching = pruned.graph.reaching(batch);
        let mut counts: Vec<u32> = batch.iter().map(|&entry| registers.own(entry)).collect();
        for (place, &function) in callees.iter().enumerate() {
            let own = registers.own(function);
            for number in ones(reaching[function]) {
                if own > counts[number] {
                    counts[number] = own;
                    let raise = Raise {
                        function,
                        entry: batch[number],
                        count: own,
                    };
                    raises.push((place, raise));
                }
            }
        }
    }
    raises.sort_by_key(|(place, _)| *place);
    raises.into_iter().map(|(_, raise)| raise).collect()
}
