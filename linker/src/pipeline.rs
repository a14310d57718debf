//! The link as a sequence of phases, up to the one that writes.

use crate::arena::Arena;
use crate::diagnostic::{Diagnostic, Diagnostics, Severity};
use crate::error::{NvlinkError, ParseError};
use crate::finalize::{Finalized, call_graph_table, collect, compute, dot, finalize};
use crate::layout::{layout, layout_relocatable};
use crate::merge::merge;
use crate::options::{EarlyAddresses, Keeping, KernelFilter, Options};
use crate::parallel;
use crate::prune::{Lost, keep_all, lost_to_alias, prune};
use crate::read::Object;
use crate::relocate::{pace_slots, recode, relocate, report_undefined};
use crate::report::{self, Reports};
use crate::stacks::Stacks;

/// Links relocatable device objects into what the driver loads.
pub(crate) fn link_executable<'d>(
    objects: Vec<Object<'d>>,
    arena: &'d Arena,
    options: &Options,
    diagnostics: &mut Diagnostics,
    reports: &mut Reports,
) -> Result<Option<Finalized<'d>>, ParseError> {
    let is_unified = objects.iter().any(|object| object.has_unified_symbols);
    let merged = merge(&objects, arena, options, diagnostics)?;
    if diagnostics.has_errors() {
        return Ok(None);
    }
    // The phases that follow need the room of the objects.
    let size = objects.iter().map(Object::size).sum();
    let (pruned, ()) = parallel::both(size, || prune(merged, options), || drop(objects));
    if options.reports.call_graph {
        reports.call_graph = Some(dot(&pruned));
    }
    let stacks = Stacks::new(&pruned);
    stacks.warn(&pruned, diagnostics);
    // nvlink notices where it looks for dead code.
    if options.reports.uncalled && options.drops_dead_code() {
        for warning in report::uncalled(&pruned) {
            diagnostics.push(warning);
        }
    }
    if is_unified && options.unified_index.is_none() {
        diagnostics.push(Diagnostic::unified_without_index());
        return Ok(None);
    }
    // nvlink then finds relocations of code that is gone (case `weak_funcs`).
    if options.keeping == Keeping::AsNvlink
        && options.kernels != KernelFilter::All
        && pruned.merged.target.has_mercury()
        && pruned.merged.replaced_relocations
    {
        diagnostics.push(Diagnostic::unexpected_relocation());
        return Ok(None);
    }
    let lost = match options.keeping {
        Keeping::AsNvlink => lost_to_alias(&pruned),
        Keeping::Reachable => None,
    };
    if let Some(lost @ Lost::Section) = lost {
        // nvlink looks for sections when it has shown the calls.
        if let Some(names) = options.call_graph {
            diagnostics.push(call_graph_table(&pruned, names));
        }
        diagnostics.push(Diagnostic::reference_to_deleted(lost.name()));
        return Ok(None);
    }
    for name in &options.reports.why_live {
        for reason in report::why_live(&pruned, name) {
            diagnostics.push(reason);
        }
    }
    let laid_out = layout(pruned, arena, options, diagnostics)?;
    if diagnostics.has_fatal() {
        return Ok(None);
    }
    if options.reports.map {
        reports.map = Some(report::map(&laid_out));
    }
    report_undefined(&laid_out, options.keeping, diagnostics);
    let is_unrecorded = laid_out.shared.lacks_symbol.then_some(Lost::Symbol);
    if let Some(lost) = lost.or(is_unrecorded) {
        // Behind names that nobody defines (cases `alias_undefined` and `preserve_unreached`).
        diagnostics.push(Diagnostic::reference_to_deleted(lost.name()));
        return Ok(None);
    }
    // What it tells is told of failing links, too (cases `failing_reports` and
    // `internal_errors`).
    let names = options.call_graph;
    let calls = names.map(|names| call_graph_table(&laid_out.pruned, names));
    if laid_out.pruned.merged.loses_common() {
        // Behind the calls (case `common_too_large`).
        calls.into_iter().for_each(|calls| diagnostics.push(calls));
        diagnostics.push(Diagnostic::reference_to_deleted(Lost::Section.name()));
        return Ok(None);
    }
    // What it tells comes behind what relocations tell.
    let mut told = Diagnostics::default();
    let (relocated, figures) = relocate(laid_out, options.keeping, |pruned| {
        compute(pruned, arena, &stacks, options, &mut told)
    });
    let is_shown = match &relocated {
        Err(damage) => !is_found_before_calls(damage),
        Ok(_) => true,
    };
    if let Some(calls) = calls.filter(|_| is_shown) {
        diagnostics.push(calls);
    }
    let mut relocated = relocated.inspect_err(|damage| {
        // nvlink finds that when it has shown what gave kernels their registers (case `ocg_kernels`).
        if damage.nvlink == Some(NvlinkError::RelocationPastEnd) {
            let told = told.messages().iter();
            for raise in told.filter(|message| message.severity == Severity::Text) {
                diagnostics.push(raise.clone());
            }
        }
    })?;
    if !diagnostics.has_errors() {
        let left = recode(&mut relocated, options.keeping, options.debug);
        left.into_iter()
            .for_each(|warning| diagnostics.push(warning));
        pace_slots(&mut relocated, options.keeping, options.debug);
    }
    let finalized = finalize(relocated, figures);
    diagnostics.append(told);
    if diagnostics.has_errors() {
        return Ok(None);
    }
    Ok(Some(finalized))
}

/// Whether nvlink comes upon the damage before it shows the calls: it resolves
/// relocations then, and sorts what stays of them later (case `internal_errors`).
fn is_found_before_calls(damage: &ParseError) -> bool {
    match damage.nvlink {
        Some(
            NvlinkError::UnexpectedRelocationSymbol
            | NvlinkError::UnexpectedRelocation
            | NvlinkError::NoRelocatedPlace
            | NvlinkError::BranchElsewhere,
        ) => true,
        Some(_) | None => false,
    }
}

/// Joins relocatable device objects into one. Undefined names are no errors
/// here, and nothing is left out.
pub(crate) fn link_relocatable<'d>(
    objects: Vec<Object<'d>>,
    arena: &'d Arena,
    options: &Options,
    addresses: EarlyAddresses,
    diagnostics: &mut Diagnostics,
    reports: &mut Reports,
) -> Result<Option<Finalized<'d>>, ParseError> {
    let merged = merge(&objects, arena, options, diagnostics)?;
    // The phases that follow need their room.
    drop(objects);
    if diagnostics.has_errors() {
        return Ok(None);
    }
    let pruned = keep_all(merged, options.keeping, diagnostics);
    if diagnostics.has_errors() {
        return Ok(None);
    }
    if options.reports.call_graph {
        reports.call_graph = Some(dot(&pruned));
    }
    let laid_out = layout_relocatable(pruned, arena, addresses, options.debug, diagnostics);
    if options.reports.map {
        reports.map = Some(report::map(&laid_out));
    }
    let mut told = Diagnostics::default();
    let (relocated, figures) = relocate(laid_out, options.keeping, |pruned| {
        collect(pruned, arena, options, &mut told)
    });
    let mut relocated = relocated?;
    let left = recode(&mut relocated, options.keeping, options.debug);
    left.into_iter()
        .for_each(|warning| diagnostics.push(warning));
    pace_slots(&mut relocated, options.keeping, options.debug);
    let finalized = finalize(relocated, figures);
    diagnostics.append(told);
    Ok((!diagnostics.has_errors()).then_some(finalized))
}
