//! Phase 6: the figures that only the whole program has.
//!
//! Registers, barriers and stack of a kernel are those of all it reaches.
//! Each is computed once per component of the call graph. Relocations have no
//! part in it, so that it is done while they are applied.

mod barriers;
mod dump;
mod externs;
mod fragments;
mod inherit;
mod records;
mod registers;
mod report;
mod reserved;
mod slots;
mod strays;

use crate::arena::Arena;
use crate::cubin::{InfoCode, SectionFlags};
use crate::diagnostic::Diagnostics;
use crate::id::{FunctionId, IdVec, PrototypeId, SectionId, SymbolId};
use crate::merge::{Function, InfoRecord, Merged};
use crate::options::{Behaviour, Options};
use crate::prune::Pruned;
use crate::relocate::Relocated;
use crate::stacks::Stacks;

pub(crate) use dump::{EMPTY_DOT, dot, table as call_graph_table};
use records::{Codes, Records};
use registers::Registers;

/// What was relocated, with all records and the call graph of the output.
#[derive(Debug)]
pub(crate) struct Finalized<'d> {
    pub(crate) relocated: Relocated<'d>,
    pub(crate) figures: Figures<'d>,
}

impl<'d> Finalized<'d> {
    /// What was merged, and what of it is alive.
    pub(crate) fn pruned(&self) -> &Pruned<'d> {
        self.relocated.pruned()
    }

    /// What was merged.
    pub(crate) fn merged(&self) -> &Merged<'d> {
        &self.pruned().merged
    }
}

/// What the records and the call graph sections of the output hold.
#[derive(Debug)]
pub(crate) struct Figures<'d> {
    /// `.nv.info`, in output order.
    pub(crate) module_records: Vec<InfoRecord<'d>>,
    /// `.nv.info.*`, in output order.
    pub(crate) function_records: IdVec<FunctionId, Records<'d>>,
    /// `.nv.callgraph`, in output order.
    pub(crate) call_graph: CallEdges,
    /// `.nv.prototype`, in output order.
    pub(crate) prototypes: Vec<(SymbolId, PrototypeId)>,
    /// Code whose flags have to be cleared of the number of barriers.
    counted: Vec<SectionId>,
}

impl<'d> Figures<'d> {
    fn new(
        pruned: &Pruned<'d>,
        module_records: Vec<InfoRecord<'d>>,
        function_records: IdVec<FunctionId, Records<'d>>,
        counted: Vec<SectionId>,
    ) -> Self {
        Self {
            module_records,
            function_records,
            call_graph: call_graph(pruned),
            prototypes: prototypes(pruned),
            counted,
        }
    }
}

/// The parts of the call graph section.
#[derive(Debug)]
pub(crate) struct CallEdges {
    /// From caller to callee.
    pub(crate) calls: Vec<(SymbolId, SymbolId)>,
    /// Functions whose address is taken, with their signatures, if these are known.
    pub(crate) taken: Vec<(SymbolId, Option<PrototypeId>)>,
    /// Functions that call through pointers, with the signature of what they call.
    pub(crate) indirect_calls: Vec<(SymbolId, PrototypeId)>,
    /// From a function to one whose address it takes.
    pub(crate) references: Vec<(SymbolId, SymbolId)>,
}

/// Joins what was relocated and what was computed meanwhile.
pub(crate) fn finalize<'d>(mut relocated: Relocated<'d>, figures: Figures<'d>) -> Finalized<'d> {
    let sections = &mut relocated.laid_out.pruned.merged.sections;
    for &text in &figures.counted {
        let flags = &mut sections[text].flags;
        *flags = flags.without(SectionFlags::BARRIERS);
    }
    Finalized { relocated, figures }
}

/// Computes the records, and the sections of the call graph.
pub(crate) fn compute<'d>(
    pruned: &Pruned<'d>,
    arena: &'d Arena,
    stacks: &Stacks,
    options: &Options,
    diagnostics: &mut Diagnostics,
) -> Figures<'d> {
    let mut function_records = records::of_inputs(pruned);
    let codes = Codes::of(function_records.iter());
    records::mark_unbounded(pruned, stacks, &mut function_records);
    records::assume_unknown_masks(pruned, &codes, &mut function_records);
    if options.behaviour == Behaviour::Nvlink {
        records::drop_lost_banks(pruned, &mut function_records);
    }
    let registers = Registers::new(pruned);
    let all_known = registers::check_known(pruned, &registers, options.behaviour, diagnostics);
    let mut module_records = records::module(pruned, arena, stacks, &registers);
    let own_codes = inherit::own_codes(pruned, &function_records);
    inherit::inherit(pruned, &mut function_records);
    inherit::check(pruned, &own_codes, &function_records, diagnostics);
    registers::check(pruned, &registers, options.settings.call_graph, diagnostics);
    let mut behind_figures = Vec::new();
    if codes.has(InfoCode::EXTERNS) {
        if options.behaviour == Behaviour::Nvlink {
            behind_figures = strays::put(
                pruned,
                arena,
                &own_codes,
                &mut function_records,
                &mut module_records,
            );
        }
        externs::distribute(pruned, arena, &mut function_records);
    }
    if codes.has(InfoCode::AT_ENTRY_FRAGMENTS) {
        fragments::collect(pruned, arena, &mut function_records);
    }
    inherit::sort_by_arrival(pruned, own_codes, &mut function_records);
    let counted = barriers::record(pruned, options.behaviour, &mut function_records);
    slots::join(pruned, arena, &behind_figures, &mut function_records);
    reserved::check(pruned, &function_records, options.behaviour, diagnostics);
    let lists = [InfoCode::EXTERNS, InfoCode::AT_ENTRY_FRAGMENTS];
    if lists.iter().any(|&code| codes.has(code)) {
        records::check_sizes(pruned, &module_records, &function_records, diagnostics);
    }
    if options.settings.verbose && all_known {
        report::report(
            pruned,
            &module_records,
            &function_records,
            Some(stacks),
            options.behaviour,
            diagnostics,
        );
    }
    Figures::new(pruned, module_records, function_records, counted)
}

/// Collects the records of the inputs; a later link computes the rest.
pub(crate) fn collect<'d>(
    pruned: &Pruned<'d>,
    arena: &'d Arena,
    options: &Options,
    diagnostics: &mut Diagnostics,
) -> Figures<'d> {
    let mut function_records = records::of_inputs(pruned);
    reserved::check(pruned, &function_records, options.behaviour, diagnostics);
    // nvlink leaves this check to the last link, whose messages say less.
    if options.behaviour == Behaviour::Own {
        registers::check_known(
            pruned,
            &Registers::new(pruned),
            options.behaviour,
            diagnostics,
        );
    }
    for records in function_records.iter_mut() {
        externs::keep_external(pruned, arena, records);
    }
    let module_records: Vec<_> = pruned.merged.records.iter().rev().copied().collect();
    if options.settings.verbose {
        report::report(
            pruned,
            &module_records,
            &function_records,
            None,
            options.behaviour,
            diagnostics,
        );
    }
    Figures::new(pruned, module_records, function_records, Vec::new())
}

/// Each list goes by functions in creation order; a function's own entries
/// stand last input first.
fn call_graph(pruned: &Pruned<'_>) -> CallEdges {
    let taken = live(pruned).filter(|function| function.is_taken);
    let indirect_calls = live(pruned).flat_map(|function| {
        let signatures = function.indirect_calls().iter().rev();
        signatures.map(|&signature| (function.symbol, signature))
    });
    CallEdges {
        calls: edges(pruned, |function| &function.calls),
        taken: taken.map(|f| (f.symbol, f.prototype)).collect(),
        indirect_calls: indirect_calls.collect(),
        references: edges(pruned, Function::references),
    }
}

/// The edges between live functions.
fn edges<'d>(
    pruned: &Pruned<'d>,
    others: impl for<'f> Fn(&'f Function<'d>) -> &'f [FunctionId],
) -> Vec<(SymbolId, SymbolId)> {
    let mut edges = Vec::new();
    for function in live(pruned) {
        let others = others(function).iter().rev();
        let others = others.filter(|&&other| pruned.live.functions[other]);
        let symbols = others.map(|&other| pruned.merged.functions[other].symbol);
        edges.extend(symbols.map(|other| (function.symbol, other)));
    }
    edges
}

fn live<'p, 'd>(pruned: &'p Pruned<'d>) -> impl Iterator<Item = &'p Function<'d>> {
    let functions = pruned.merged.functions.enumerate();
    let live = functions.filter(|&(id, _)| pruned.live.functions[id]);
    live.map(|(_, function)| function)
}

/// Functions whose address is taken are not listed here.
fn prototypes(pruned: &Pruned<'_>) -> Vec<(SymbolId, PrototypeId)> {
    live(pruned)
        .filter(|function| !function.is_taken)
        .filter_map(|function| Some((function.symbol, function.prototype?)))
        .collect()
}
