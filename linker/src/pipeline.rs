//! The link as a sequence of phases, up to the one that writes.

use crate::arena::Arena;
use crate::diagnostic::{Diagnostic, Diagnostics, Severity};
use crate::error::{NvlinkError, ParseError};
use crate::finalize::{Figures, Finalized, call_graph_table, collect, compute, dot, finalize};
use crate::layout::{LaidOut, layout, layout_relocatable};
use crate::merge::{Merged, merge};
use crate::options::{EarlyAddresses, ImageKind, Keeping, KernelFilter, Options};
use crate::parallel;
use crate::prune::{Lost, Pruned, keep_all, lost_to_alias, prune};
use crate::read::Object;
use crate::relocate::{Relocated, pace_slots, recode, relocate, report_undefined};
use crate::report::{self, Reports};
use crate::stacks::Stacks;

/// Links device objects up to what is written. Where that is nothing, the diagnostics say why. What comes behind them may be
/// an object with `damage`.
pub(crate) fn link<'d>(
    objects: Vec<Object<'d>>,
    damage: Option<ParseError>,
    arena: &'d Arena,
    options: &Options,
    diagnostics: &mut Diagnostics,
    reports: &mut Reports,
) -> Option<Finalized<'d>> {
    let mut link = Link {
        arena,
        options,
        diagnostics,
        reports,
    };
    let linked = match options.settings.image {
        ImageKind::Executable => link.executable(objects, damage),
        ImageKind::Relocatable(addresses) => link.relocatable(objects, damage, addresses),
    };
    match linked {
        Ok(finalized) => Some(finalized),
        Err(End::Reported) => None,
        Err(End::Damage(error)) => {
            diagnostics.push(Diagnostic::bad_input(&error, options.keeping));
            None
        }
    }
}

/// Why a link ends before there is anything to write.
enum End {
    /// What the inputs say does not fit together.
    Damage(ParseError),
    /// The diagnostics hold an error.
    Reported,
}

impl From<ParseError> for End {
    fn from(error: ParseError) -> Self {
        Self::Damage(error)
    }
}

/// What the phases of a link have in common.
struct Link<'d, 'l> {
    arena: &'d Arena,
    options: &'l Options,
    diagnostics: &'l mut Diagnostics,
    reports: &'l mut Reports,
}

impl<'d> Link<'d, '_> {
    /// Links relocatable device objects into what the driver loads.
    fn executable(
        &mut self,
        objects: Vec<Object<'d>>,
        damage: Option<ParseError>,
    ) -> Result<Finalized<'d>, End> {
        let (arena, options) = (self.arena, self.options);
        let is_unified = objects.iter().any(|object| object.has_unified_symbols);
        let merged = merge(&objects, damage, arena, options, self.diagnostics)?;
        self.stop_at_errors()?;
        self.report_unmatched(&merged);
        // The phases that follow need the room of the objects.
        let size = objects.iter().map(Object::size).sum();
        let (pruned, ()) = parallel::both(size, || prune(merged, options), || drop(objects));
        let stacks = Stacks::new(&pruned);
        self.report_calls(&pruned, &stacks);
        if is_unified && options.settings.unified_index.is_none() {
            return Err(self.refuse(Diagnostic::unified_without_index()));
        }
        let lost = self.check_pruned(&pruned)?;
        for name in &options.settings.reports.why_live {
            for reason in report::why_live(&pruned, name) {
                self.diagnostics.push(reason);
            }
        }
        let laid_out = layout(pruned, arena, options, self.diagnostics)?;
        if self.diagnostics.has_fatal() {
            return Err(End::Reported);
        }
        self.report_map(&laid_out);
        report_undefined(&laid_out, options.keeping, self.diagnostics);
        let calls = self.check_laid_out(&laid_out, lost)?;
        // What it tells comes behind what relocations tell.
        let mut told = Diagnostics::default();
        let (relocated, figures) = relocate(laid_out, options.keeping, |pruned| {
            compute(pruned, arena, &stacks, options, &mut told)
        });
        self.report_relocated(relocated.as_ref().err(), calls, &told);
        let relocated = relocated?;
        let finalized = match self.stop_at_errors() {
            Ok(()) => Ok(self.recode_and_finalize(relocated, figures)),
            Err(end) => Err(end),
        };
        self.diagnostics.append(told);
        self.stop_at_errors()?;
        finalized
    }

    /// Joins relocatable device objects into one. Undefined names are no errors
    /// here, and nothing is left out.
    fn relocatable(
        &mut self,
        objects: Vec<Object<'d>>,
        damage: Option<ParseError>,
        addresses: EarlyAddresses,
    ) -> Result<Finalized<'d>, End> {
        let (arena, options) = (self.arena, self.options);
        let merged = merge(&objects, damage, arena, options, self.diagnostics)?;
        // The phases that follow need their room.
        drop(objects);
        self.stop_at_errors()?;
        self.report_unmatched(&merged);
        let pruned = keep_all(merged, options.keeping, self.diagnostics);
        self.stop_at_errors()?;
        self.report_dot(&pruned);
        let laid_out = layout_relocatable(
            pruned,
            arena,
            addresses,
            options.settings.debug,
            self.diagnostics,
        );
        self.report_map(&laid_out);
        let mut told = Diagnostics::default();
        let (relocated, figures) = relocate(laid_out, options.keeping, |pruned| {
            collect(pruned, arena, options, &mut told)
        });
        let finalized = self.recode_and_finalize(relocated?, figures);
        self.diagnostics.append(told);
        self.stop_at_errors()?;
        Ok(finalized)
    }

    /// Makes code anew where nvlink does, then puts everything together.
    fn recode_and_finalize(
        &mut self,
        mut relocated: Relocated<'d>,
        figures: Figures<'d>,
    ) -> Finalized<'d> {
        let (keeping, debug) = (self.options.keeping, self.options.settings.debug);
        for warning in recode(&mut relocated, keeping, debug) {
            self.diagnostics.push(warning);
        }
        pace_slots(&mut relocated, keeping, debug);
        finalize(relocated, figures)
    }

    fn stop_at_errors(&self) -> Result<(), End> {
        match self.diagnostics.has_errors() {
            true => Err(End::Reported),
            false => Ok(()),
        }
    }

    fn refuse(&mut self, problem: Diagnostic) -> End {
        self.diagnostics.push(problem);
        End::Reported
    }

    /// Says which names of options no input has.
    fn report_unmatched(&mut self, merged: &Merged<'d>) {
        if self.options.keeping == Keeping::AsNvlink {
            return;
        }
        for warning in report::unmatched(merged, self.options) {
            self.diagnostics.push(warning);
        }
    }

    fn report_dot(&mut self, pruned: &Pruned<'d>) {
        if self.options.settings.reports.call_graph {
            self.reports.call_graph = Some(dot(pruned));
        }
    }

    fn report_map(&mut self, laid_out: &LaidOut<'d>) {
        if self.options.settings.reports.map {
            self.reports.map = Some(report::map(laid_out));
        }
    }

    /// Tells what follows from who calls whom.
    fn report_calls(&mut self, pruned: &Pruned<'d>, stacks: &Stacks) {
        self.report_dot(pruned);
        stacks.warn(pruned, self.diagnostics);
        // nvlink notices where it looks for dead code.
        if self.options.settings.reports.uncalled && self.options.drops_dead_code() {
            for warning in report::uncalled(pruned) {
                self.diagnostics.push(warning);
            }
        }
    }

    /// Ends the link where nvlink's does since it has left out too much. What it misses only later is returned.
    fn check_pruned(&mut self, pruned: &Pruned<'d>) -> Result<Option<Lost>, End> {
        if self.options.keeping == Keeping::Reachable {
            return Ok(None);
        }
        let merged = &pruned.merged;
        // nvlink then finds relocations of code that is gone (case `weak_funcs`).
        if self.options.kernels != KernelFilter::All
            && merged.target.has_mercury()
            && merged.replaced_relocations
        {
            return Err(self.refuse(Diagnostic::unexpected_relocation()));
        }
        match lost_to_alias(pruned) {
            Some(lost @ Lost::Section) => {
                // nvlink looks for sections when it has shown the calls.
                if let Some(names) = self.options.settings.call_graph {
                    self.diagnostics.push(call_graph_table(pruned, names));
                }
                Err(self.refuse(Diagnostic::reference_to_deleted(lost.name())))
            }
            lost @ (Some(Lost::Symbol) | None) => Ok(lost),
        }
    }

    /// The same when names that nobody defines were reported. `lost` is what the link misses since it was pruned. Returns
    /// the calls, if they are to be shown.
    fn check_laid_out(
        &mut self,
        laid_out: &LaidOut<'d>,
        lost: Option<Lost>,
    ) -> Result<Option<Diagnostic>, End> {
        let is_unrecorded = laid_out.shared.lacks_symbol.then_some(Lost::Symbol);
        if let Some(lost) = lost.or(is_unrecorded) {
            // Cases `alias_undefined` and `preserve_unreached`.
            return Err(self.refuse(Diagnostic::reference_to_deleted(lost.name())));
        }
        let names = self.options.settings.call_graph;
        let calls = names.map(|names| call_graph_table(&laid_out.pruned, names));
        let loses_handles = self.options.keeping == Keeping::AsNvlink
            && self.options.drops_dead_code()
            && laid_out.pruned.loses_handles();
        if laid_out.merged().loses_common() || loses_handles {
            // Behind the calls (cases `common_too_large` and `whole_program_textures`).
            calls
                .into_iter()
                .for_each(|calls| self.diagnostics.push(calls));
            return Err(self.refuse(Diagnostic::reference_to_deleted(Lost::Section.name())));
        }
        Ok(calls)
    }

    /// Tells what nvlink tells when it has relocated code, and of links that fail there, too (cases `failing_reports` and
    /// `internal_errors`).
    fn report_relocated(
        &mut self,
        damage: Option<&ParseError>,
        calls: Option<Diagnostic>,
        told: &Diagnostics,
    ) {
        if let Some(calls) = calls.filter(|_| !damage.is_some_and(is_found_before_calls)) {
            self.diagnostics.push(calls);
        }
        // nvlink finds that when it has shown what gave kernels their registers (case `ocg_kernels`).
        if damage.is_some_and(|damage| damage.nvlink == Some(NvlinkError::RelocationPastEnd)) {
            let told = told.messages().iter();
            for raise in told.filter(|message| message.severity == Severity::Text) {
                self.diagnostics.push(raise.clone());
            }
        }
    }
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
