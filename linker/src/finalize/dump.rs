//! The call graph as a user reads it.

use std::fmt::Write as _;

use rustc_hash::FxHashSet;

use crate::demangle::as_nvlink;
use crate::diagnostic::Diagnostic;
use crate::id::{FunctionId, Id as _, IdVec, PrototypeId};
use crate::merge::Function;
use crate::options::{KernelFilter, Names};
use crate::prune::Pruned;

use super::registers::{Raise, known_registers};

/// The functions in creation order with what they may call. Dead ones keep
/// their numbers (case `dce_functions`).
pub(crate) fn table(pruned: &Pruned<'_>, names: Names, kernels: &KernelFilter) -> Diagnostic {
    if pruned.merged.inputs.is_empty() {
        let text = "No relocatable objects found. Did not generate callgraph.";
        return Diagnostic::text(text.to_owned());
    }
    let mut text = format!(
        "callgraph for sm_{}:\n\
         # A: s -> B // s (number A) potentially calls B\n\
         # s [N]     // s uses N registers\n\
         # ^s        // s is entry point\n\
         # &s        // s has address taken",
        pruned.merged.target.number
    );
    let registers = known_registers(pruned);
    let takers = pruned.merged.takers();
    let starts: FxHashSet<FunctionId> = pruned.starts().into_iter().collect();
    for (id, function) in pruned.merged.functions.enumerate() {
        let _ = write!(text, "\n{}: ", id.index() + 1);
        if !pruned.live.functions[id] {
            continue;
        }
        // A kernel that no input defines is none for all else (case `launched_elsewhere`).
        let is_undefined_kernel = function.text.is_none()
            && pruned.merged.is_kernel(function)
            && pruned.merged.symbols[function.symbol].is_kept_by(kernels);
        if starts.contains(&id) || is_undefined_kernel {
            text.push('^');
        }
        if function.is_taken {
            text.push('&');
        }
        text.push_str(&spelled(pruned, id, names));
        if let Some(registers) =
            registers[id].filter(|_| function.text.is_some() && !function.is_stub)
        {
            let _ = write!(text, " [{registers}]");
        }
        text.push_str(" ->");
        for callee in callees(function, &takers) {
            let _ = write!(text, " {}", callee.index() + 1);
        }
    }
    Diagnostic::text(text)
}

/// A graph without calls.
pub(crate) const EMPTY_DOT: &str = "digraph callgraph {\n}\n";

/// The calls as a graph for dot. What pointers may reach is a matter of the last
/// link.
pub(crate) fn dot(pruned: &Pruned<'_>) -> String {
    let name = |function: FunctionId| pruned.merged.name_of(function);
    let takers = match pruned.merged.is_executable() {
        true => pruned.merged.takers(),
        false => IdVec::filled(&pruned.merged.prototypes, Vec::new()),
    };
    let mut graph = "digraph callgraph {\n".to_owned();
    let functions = pruned.merged.functions.enumerate();
    for (id, function) in functions.filter(|&(id, _)| pruned.live.functions[id]) {
        for callee in callees(function, &takers) {
            let _ = writeln!(graph, "{} -> {};", name(id), name(callee));
        }
    }
    graph.push_str("}\n");
    graph
}

/// What a function may call: what it calls through pointers first.
fn callees<'a>(
    function: &'a Function<'_>,
    takers: &'a IdVec<PrototypeId, Vec<FunctionId>>,
) -> impl Iterator<Item = FunctionId> + 'a {
    let prototypes = function.indirect_calls().iter();
    let of_pointers = prototypes.flat_map(|&prototype| takers[prototype].iter().rev());
    of_pointers.chain(function.calls.iter().rev()).copied()
}

/// Says which function gave a kernel its registers.
pub(super) fn raise(pruned: &Pruned<'_>, raise: &Raise, names: Names) -> Diagnostic {
    Diagnostic::text(format!(
        "regcount {} for {} propagated to entry {}",
        raise.count,
        spelled(pruned, raise.function, names),
        spelled(pruned, raise.entry, names)
    ))
}

fn spelled(pruned: &Pruned<'_>, function: FunctionId, names: Names) -> String {
    let name = pruned.merged.name_of(function);
    match names {
        Names::Readable => as_nvlink(name),
        Names::Mangled => name.to_string(),
    }
}
