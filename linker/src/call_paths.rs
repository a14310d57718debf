//! How kernels come to call what they call.

use std::collections::VecDeque;

use crate::demangle::readable;
use crate::id::{FunctionId, IdVec};
use crate::merge::Merged;
use crate::prune::Pruned;

/// How many functions a path shows at most.
const LONGEST: usize = 8;

/// For each function that a kernel reaches, the function before it on a
/// shortest way from a kernel; kernels have themselves.
#[derive(Debug)]
pub(crate) struct CallPaths(IdVec<FunctionId, Option<FunctionId>>);

impl CallPaths {
    /// The ways from the kernels that stay.
    pub(crate) fn new(pruned: &Pruned<'_>) -> Self {
        let functions = &pruned.merged.functions;
        let mut takers = pruned.merged.takers();
        let mut callers = IdVec::filled(functions, None);
        let mut pending = VecDeque::new();
        for entry in pruned.entries() {
            callers[entry] = Some(entry);
            pending.push_back(entry);
        }
        while let Some(id) = pending.pop_front() {
            let function = &functions[id];
            let mut callees = function.calls.clone();
            for &prototype in function.indirect_calls() {
                // The first who calls one of them reaches all.
                callees.append(&mut takers[prototype]);
            }
            for callee in callees {
                if callers[callee].is_none() {
                    callers[callee] = Some(id);
                    pending.push_back(callee);
                }
            }
        }
        Self(callers)
    }

    /// Whether a kernel reaches a function.
    pub(crate) fn reaches(&self, function: FunctionId) -> bool {
        self.0[function].is_some()
    }

    /// The way to a function, `kernel k() -> f() -> g()`; the function alone
    /// where no kernel reaches it.
    pub(crate) fn to(&self, merged: &Merged<'_>, function: FunctionId) -> String {
        let mut path = vec![function];
        let mut at = function;
        while let Some(caller) = self.0[at]
            && caller != at
        {
            path.push(caller);
            at = caller;
        }
        path.reverse();
        let name = |id: &FunctionId| readable(merged.name_of(*id));
        let mut names: Vec<String> = path.iter().map(name).collect();
        if names.len() > LONGEST {
            names.splice(LONGEST / 2..names.len() - LONGEST / 2, ["..".to_owned()]);
        }
        let kernel = if self.reaches(function) {
            "kernel "
        } else {
            ""
        };
        format!("{kernel}{}", names.join(" -> "))
    }
}
