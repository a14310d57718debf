//! What kernels need of the stack.

use crate::codes;
use crate::cubin::InfoCode;
use crate::demangle::readable;
use crate::diagnostic::{Diagnostic, Diagnostics, Severity};
use crate::id::{FunctionId, Id as _, IdVec};
use crate::prune::Pruned;

/// The figure of a stack without bound.
pub(crate) const UNBOUNDED: u32 = u32::MAX;

/// The stack of each function.
#[derive(Debug)]
pub(crate) struct Stacks {
    /// What it takes itself.
    pub(crate) frames: IdVec<FunctionId, u32>,
    /// What it needs at most with all it calls; `None` without bound.
    pub(crate) depths: IdVec<FunctionId, Option<u64>>,
}

impl Stacks {
    pub(crate) fn new(pruned: &Pruned<'_>) -> Self {
        let frames = pruned.merged.figures(InfoCode::FRAME_SIZE);
        let mut depths = pruned.graph.deepest(|function| frames[function].into());
        // What kernels of whole programs call is their own matter, and they say of themselves
        // that there is no bound.
        let told = pruned.merged.known_figures(InfoCode::MIN_STACK_SIZE);
        for (function, figure) in told.enumerate() {
            if *figure == Some(UNBOUNDED) {
                depths[function] = None;
            }
        }
        Self { frames, depths }
    }

    /// Tells of kernels whose stack has no bound. nvlink says it once for each
    /// callee without bound (case `stack_recursion_calls`).
    pub(crate) fn warn(&self, pruned: &Pruned<'_>, diagnostics: &mut Diagnostics) {
        let merged = &pruned.merged;
        let is_unbounded = |function: &FunctionId| self.depths[*function].is_none();
        let mut entries = pruned.starts();
        entries.retain(is_unbounded);
        if entries.is_empty() {
            return;
        }
        let mut by_pointer = vec![0; merged.prototypes.len()];
        for (id, function) in merged.functions.enumerate() {
            if let Some(prototype) = function.taken_as()
                && is_unbounded(&id)
            {
                by_pointer[prototype.index()] += 1;
            }
        }
        let name_of = |f: FunctionId| merged.name_of(f);
        let mut circles = pruned.graph.circles();
        for entry in entries {
            let name = name_of(entry);
            let text =
                format!("Stack size for entry function '{name}' cannot be statically determined");
            let mut warning = Diagnostic::new(Severity::Warning, codes::UNBOUNDED_STACK, text);
            let circle = circles.from(entry).iter();
            let circle: Vec<String> = circle.map(|&f| readable(name_of(f))).collect();
            if !circle.is_empty() {
                warning =
                    warning.with_note(format_args!("calls go round: {}", circle.join(" -> ")));
            }
            let function = &merged.functions[entry];
            let direct = function.calls.iter().copied().filter(is_unbounded).count();
            let prototypes = function.indirect_calls().iter();
            let indirect: usize = prototypes.map(|p| by_pointer[p.index()]).sum();
            warning.times = direct + indirect;
            diagnostics.push(warning);
        }
    }
}
