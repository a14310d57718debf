//! The link as a sequence of phases, up to the one that writes.

use crate::arena::Arena;
use crate::diagnostic::{Diagnostic, Diagnostics, Severity};
use crate::error::{NvlinkError, ParseError};
use crate::finalize::{Figures, Finalized, call_graph_table, collect, compute, dot, finalize};
use crate::layout::{LaidOut, layout, layout_relocatable};
use crate::merge::{Merged, merge};
use crate::options::{Behaviour, EarlyAddresses, ImageKind, KernelFilter, Options};
use crate::parallel;
use crate::prune::{Missed, Pruned, keep_all, missed_for_alias, prune};
use crate::read::Object;
use crate::relocate::{Relocated, pace_slots, recode, relocate, report_undefined};
use crate::report::{self, Reports};
use crate::stacks::Stacks;

/// Runs all phases but the last one, `write`. Without a result, `diagnostics` say why. `damage` is what is wrong with the
/// object that follows `objects`, if it could not be read: nvlink merges those before it first.
pub(crate) fn link<'d>(
    objects: Vec<Object<'d>>,
    damage: Option<ParseError>,
    arena: &'d Arena,
    options: &'d Options,
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
            diagnostics.push(Diagnostic::bad_input(&error, options.behaviour));
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

/// What every phase of a link gets.
struct Link<'d, 'l> {
    arena: &'d Arena,
    options: &'d Options,
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
        // Large links free the objects while `prune` works, so that later phases can use their memory.
        let size = objects.iter().map(Object::size).sum();
        let (pruned, ()) = parallel::both(size, || prune(merged, options), || drop(objects));
        let stacks = Stacks::new(&pruned);
        self.report_calls(&pruned, &stacks);
        if is_unified && options.settings.unified_index.is_none() {
            return Err(self.refuse(Diagnostic::unified_without_index()));
        }
        let missed = self.check_pruned(&pruned)?;
        for name in &options.settings.reports.why_live {
            self.diagnostics.extend(report::why_live(&pruned, name));
        }
        let laid_out = layout(pruned, arena, options, self.diagnostics)?;
        if self.diagnostics.has_fatal() {
            return Err(End::Reported);
        }
        self.report_map(&laid_out);
        report_undefined(&laid_out, options.behaviour, self.diagnostics);
        let calls = self.check_laid_out(&laid_out, missed)?;
        // `compute` runs at the same time as `relocate`. Its messages come after those of `relocate`.
        let mut told = Diagnostics::default();
        let (relocated, figures) = relocate(laid_out, options.behaviour, |pruned| {
            compute(pruned, arena, &stacks, options, &mut told)
        });
        self.report_relocated(relocated.as_ref().err(), calls, &told);
        let relocated = relocated?;
        let finalized = self
            .stop_at_errors()
            .map(|()| self.recode_and_finalize(relocated, figures));
        self.diagnostics.append(told);
        self.stop_at_errors()?;
        finalized
    }

    /// Links relocatable device objects into one. Undefined names are no errors here, and no code is dropped.
    fn relocatable(
        &mut self,
        objects: Vec<Object<'d>>,
        damage: Option<ParseError>,
        addresses: EarlyAddresses,
    ) -> Result<Finalized<'d>, End> {
        let (arena, options) = (self.arena, self.options);
        let merged = merge(&objects, damage, arena, options, self.diagnostics)?;
        // Later phases can use their memory.
        drop(objects);
        self.stop_at_errors()?;
        self.report_unmatched(&merged);
        let pruned = keep_all(merged, options.behaviour, self.diagnostics);
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
        let (relocated, figures) = relocate(laid_out, options.behaviour, |pruned| {
            collect(pruned, arena, options, &mut told)
        });
        let finalized = self.recode_and_finalize(relocated?, figures);
        self.diagnostics.append(told);
        self.stop_at_errors()?;
        Ok(finalized)
    }

    /// Encodes machine code anew where nvlink does, then completes the records.
    fn recode_and_finalize(
        &mut self,
        mut relocated: Relocated<'d>,
        figures: Figures<'d>,
    ) -> Finalized<'d> {
        let (behaviour, debug) = (self.options.behaviour, self.options.settings.debug);
        self.diagnostics
            .extend(recode(&mut relocated, behaviour, debug));
        pace_slots(&mut relocated, behaviour, debug);
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

    /// Warns of names that options give and no input has.
    fn report_unmatched(&mut self, merged: &Merged<'d>) {
        if self.options.behaviour == Behaviour::Own {
            self.diagnostics
                .extend(report::unmatched(merged, self.options));
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

    /// Reports what follows from the call graph.
    fn report_calls(&mut self, pruned: &Pruned<'d>, stacks: &Stacks) {
        self.report_dot(pruned);
        stacks.warn(pruned, self.diagnostics);
        // nvlink notices where it looks for dead code.
        if self.options.settings.reports.uncalled && self.options.drops_dead_code() {
            self.diagnostics.extend(report::uncalled(pruned));
        }
    }

    /// Ends the link where nvlink's ends because it has dropped something that is still in use. What nvlink notices only
    /// after the layout is returned for [`Self::check_laid_out`].
    fn check_pruned(&mut self, pruned: &Pruned<'d>) -> Result<Option<Missed>, End> {
        if self.options.behaviour == Behaviour::Own {
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
        Ok(missed_for_alias(pruned))
    }

    /// The same after the layout and after undefined names were reported. `missed` is what [`Self::check_pruned`] returned.
    /// Returns the table of the call graph, if it was asked for.
    fn check_laid_out(
        &mut self,
        laid_out: &LaidOut<'d>,
        missed: Option<Missed>,
    ) -> Result<Option<Diagnostic>, End> {
        if missed == Some(Missed::Symbol) {
            // Case `alias_undefined`.
            return Err(self.refuse(Diagnostic::reference_to_deleted(Missed::Symbol)));
        }
        let names = self.options.settings.call_graph;
        let calls =
            names.map(|names| call_graph_table(&laid_out.pruned, names, &self.options.kernels));
        let loses_handles = self.options.behaviour == Behaviour::Nvlink
            && self.options.drops_dead_code()
            && laid_out.pruned.loses_handles();
        let missed = match missed {
            None if laid_out.merged().loses_common() || loses_handles => Some(Missed::Section),
            None if laid_out.shared.lacks_symbol => Some(Missed::Symbol),
            missed => missed,
        };
        match missed {
            // Behind the calls (cases `alias_undefined`, `common_too_large`, `preserve_unreached` and
            // `whole_program_textures`).
            Some(missed) => {
                self.diagnostics.extend(calls);
                Err(self.refuse(Diagnostic::reference_to_deleted(missed)))
            }
            None => Ok(calls),
        }
    }

    /// Reports what nvlink reports between relocating and finalizing. `damage` is why relocating failed, if it did, which
    /// decides how far nvlink gets (cases `failing_reports` and `internal_errors`).
    fn report_relocated(
        &mut self,
        damage: Option<&ParseError>,
        calls: Option<Diagnostic>,
        told: &Diagnostics,
    ) {
        if !damage.is_some_and(is_found_before_calls) {
            self.diagnostics.extend(calls);
        }
        // nvlink comes upon this damage after the texts of `-v` about inherited registers (case `ocg_kernels`).
        if damage.is_some_and(|damage| damage.nvlink == Some(NvlinkError::RelocationPastEnd)) {
            let raises = told.messages().iter();
            let raises = raises.filter(|message| message.severity == Severity::Text);
            self.diagnostics.extend(raises.cloned());
        }
    }
}

/// Whether nvlink comes upon the damage before it shows the table of the call graph: it does so while it resolves
/// relocations, and not while it sorts those that stay (case `internal_errors`).
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
