//! Shared memory of extensible whole programs (`-ewp`): the compiler has laid it out for each kernel, and names
//! variables there for debuggers alone.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::diagnostic::Diagnostic;
use crate::id::{FunctionId, SectionId, SymbolId};
use crate::list_sort::list_sort;
use crate::merge::{Definition, Merged, Section, SectionKind, SharedHome, Symbol};
use crate::options::DebugLevel;

use super::visibility::Visibility;

/// The sections of shared memory that the compiler has laid out.
pub(super) struct WholePrograms {
    /// Sections of kernels.
    sections: Vec<SectionId>,
    /// Sections that belong to no kernel.
    unowned: Vec<SectionId>,
}

impl WholePrograms {
    /// The sections in a link that does as nvlink does. For debuggers nvlink only lays out variables that are listed.
    pub(super) fn as_nvlink(merged: &mut Merged<'_>, debug: DebugLevel) -> Self {
        let known = Self::all(merged);
        match debug {
            DebugLevel::None | DebugLevel::Code => known,
            DebugLevel::Symbols => {
                let reaches = reaches(merged);
                let all = known.sections.into_iter().chain(known.unowned);
                for section in all {
                    let row = &mut merged.sections[section];
                    row.content.size = 0;
                    row.content.align = 1;
                    row.keep_empty = false;
                }
                for (section, size) in reaches {
                    merged.sections[section].content.size = size;
                }
                Self {
                    sections: Vec::new(),
                    unowned: Vec::new(),
                }
            }
        }
    }

    /// All such sections.
    pub(super) fn all(merged: &Merged<'_>) -> Self {
        let shared = merged.sections.of_kind(|kind| kind == SectionKind::Shared);
        let sections = shared
            .filter(|(_, section)| section.keep_empty || section.content.size > 0)
            .filter(|(_, section)| section.target.is_some() && is_laid_out(section))
            .map(|(id, _)| id)
            .collect();
        let unowned = merged.sections.of_kind(|kind| kind == SectionKind::Shared);
        let unowned =
            unowned.filter(|(_, section)| section.target.is_none() && is_laid_out(section));
        Self {
            sections,
            unowned: unowned.map(|(id, _)| id).collect(),
        }
    }

    /// Whether any kernel has such memory.
    pub(super) fn is_empty(&self) -> bool {
        self.sections.is_empty()
    }

    /// What nvlink leaves in the first symbol, which means nothing: it takes it for the variable that lies in each (case
    /// `whole_program_shared`).
    pub(super) fn left_value(&self, merged: &Merged<'_>) -> u64 {
        let named = placed_in(merged);
        let is_filled = |&&section: &&SectionId| {
            let is_laid_out = is_of_entry(merged, section) || named.contains(&section);
            merged.sections[section].content.size > 0 && is_laid_out
        };
        match merged.target.has_mercury() {
            true => 0,
            false => {
                self.sections.iter().filter(is_filled).count() as u64 * merged.reserved_shared()
            }
        }
    }

    /// The same for relocatable objects, where it is an alignment: that of the first kernel's section, or else of the last
    /// section.
    pub(super) fn left_alignment(&self, merged: &Merged<'_>) -> u64 {
        let mut sections = self.sections.iter();
        if let Some(&first) = sections.find(|&&section| is_of_entry(merged, section)) {
            return merged.sections[first].content.align;
        }
        let is_of_variables = |&section: &SectionId| merged.shared.module == Some(section);
        let unowned = self.unowned.iter().copied().find(is_of_variables);
        let content = unowned.map(|section| &merged.sections[section].content);
        // Of what lies in one place, as what is empty does with what follows, the first one.
        let parts = content
            .into_iter()
            .flat_map(|content| content.contributions.iter());
        let last = parts.rev().max_by_key(|part| part.offset);
        last.map_or(0, |contribution| contribution.align)
    }

    /// What nvlink aligns the memory of all kernels to where several see a variable: what the section asks for in which
    /// whole programs have what is of no kernel (case `whole_program_dynamic`).
    pub(super) fn align_of_module(&self, merged: &Merged<'_>) -> u64 {
        let module = merged.shared.module;
        let module = module.filter(|section| self.unowned.contains(section));
        let parts = module.map(|section| &merged.sections[section].content.contributions);
        let aligns = parts.into_iter().flat_map(|parts| parts.iter());
        aligns.map(|part| part.align).max().unwrap_or(1)
    }

    /// Lets the system have its part of sections that are empty, too.
    pub(super) fn reserve(&self, merged: &mut Merged<'_>) {
        if !merged.target.has_mercury() {
            return;
        }
        let reserve = merged.reserved_shared();
        for &section in &self.sections {
            let content = &mut merged.sections[section].content;
            content.size = content.size.max(reserve);
        }
    }
}

/// Variables that the compiler has placed, with their sections.
pub(super) fn all_placed(merged: &Merged<'_>) -> impl Iterator<Item = (SectionId, SymbolId)> {
    let home = |&symbol: &SymbolId| match merged.symbols[symbol].definition {
        Definition::Shared(SharedHome::Placed(section)) => Some((section, symbol)),
        _ => None,
    };
    merged.shared.named.iter().filter_map(home)
}

/// The variables of these that the image lists. In executables those that belong to no kernel are not.
pub(super) fn placed(merged: &Merged<'_>) -> Vec<(SectionId, SymbolId)> {
    let is_there = |&(section, _): &(SectionId, SymbolId)| {
        !merged.is_executable() || merged.sections[section].target.is_some()
    };
    all_placed(merged).filter(is_there).collect()
}

/// The sections where the image knows of such a variable.
pub(super) fn placed_in(merged: &Merged<'_>) -> FxHashSet<SectionId> {
    let placed = placed(merged).into_iter();
    placed.map(|(section, _)| section).collect()
}

/// Kernels that go and whose memory nvlink leaves as the compiler has laid it out: it knows no variable there (case
/// `whole_program_dynamic`).
pub(super) fn left_alone(merged: &Merged<'_>, kernels: &[FunctionId]) -> FxHashSet<FunctionId> {
    let named = placed_in(merged);
    let is_left_alone = |kernel: &FunctionId| {
        let function = &merged.functions[*kernel];
        let is_named = function
            .shared
            .is_some_and(|section| named.contains(&section));
        function.is_laid_out && !function.is_entry && !is_named
    };
    kernels.iter().copied().filter(is_left_alone).collect()
}

/// How large sections are by the variables that the compiler has placed there, without those of others, which count as they
/// come (case `whole_program_module`).
fn reaches(merged: &Merged<'_>) -> FxHashMap<SectionId, u64> {
    let mut reaches = FxHashMap::default();
    let ends = placed(merged).into_iter().map(|(section, symbol)| {
        let Symbol { value, size, .. } = merged.symbols[symbol];
        (section, symbol, value + size)
    });
    // Dynamic shared memory starts where the others end.
    let module = merged.shared.module.filter(|_| !merged.is_executable());
    let starts = merged.shared.placed_dynamic.iter();
    let starts = starts.filter_map(|&(symbol, start)| Some((module?, symbol, start)));
    for (section, symbol, end) in ends.chain(starts) {
        let before = merged.variables_joining(section, Some(symbol));
        let reach = reaches.entry(section).or_insert(0);
        *reach = end.saturating_sub(before).max(*reach);
    }
    reaches
}

/// Whether memory is that of a kernel which the link takes for one (case `whole_program_chosen`).
fn is_of_entry(merged: &Merged<'_>, section: SectionId) -> bool {
    let kernel = merged.served(&merged.sections[section]);
    kernel.is_some_and(|kernel| merged.functions[kernel].is_entry)
}

/// Whether nvlink leaves out the null symbol: it takes it for what a whole program has in the section of variables of no
/// kernel (case `whole_program_module`).
pub(super) fn loses_null_symbol(merged: &Merged<'_>, debug: DebugLevel) -> bool {
    let is_joined = |section| is_laid_out(&merged.sections[section]);
    debug != DebugLevel::Symbols && merged.shared.module.is_some_and(is_joined)
}

/// Whether a compiler has laid out shared memory: else it has none before the layout. It may be that of a weak kernel that was
/// replaced (case `whole_program_shared`).
fn is_laid_out(section: &Section<'_>) -> bool {
    !section.content.contributions.is_empty()
}

/// How much shared memory each kernel has before the layout adds to it.
pub(super) fn sizes(merged: &Merged<'_>, kernels: &[FunctionId]) -> Vec<u64> {
    let size = |&kernel: &FunctionId| {
        let function = &merged.functions[kernel];
        let section = function.shared.map(|section| &merged.sections[section]);
        let section = section.filter(|section| is_laid_out(section));
        section.map_or(0, |section| section.content.size)
    };
    kernels.iter().map(size).collect()
}

/// Kernels of whole programs that reach variables of other files, once for each use of one: these would lie where those
/// of the program do.
pub(super) fn strangers(
    merged: &Merged<'_>,
    kernels: &[FunctionId],
    seen_by: &Visibility,
) -> Vec<Diagnostic> {
    let symbols = &merged.symbols;
    let is_whole = |&kernel: &usize| merged.functions[kernels[kernel]].is_laid_out;
    if !(0..kernels.len()).any(|kernel| is_whole(&kernel)) {
        return Vec::new();
    }
    let is_of_module =
        |symbol: SymbolId| symbols[symbol].definition == Definition::Shared(SharedHome::Module);
    // The functions that use a variable, once for each use.
    let mut uses: FxHashMap<SymbolId, Vec<FunctionId>> = FxHashMap::default();
    for (function, symbol) in merged.uses_in_code() {
        if is_of_module(symbol) {
            uses.entry(symbol).or_default().push(function);
        }
    }
    let variables = merged.shared.named.iter().copied();
    let variables: Vec<_> = variables.filter(|&s| is_of_module(s)).collect();
    let mut problems = Vec::new();
    for variable in list_sort(variables, |&a, &b| symbols[a].size > symbols[b].size) {
        for &function in uses.get(&variable).into_iter().flatten() {
            let seers = seen_by.kernels(&[function]);
            let whole: Vec<usize> = seers.iter().filter(is_whole).collect();
            problems.extend(whole.into_iter().rev().map(|kernel| {
                let kernel = merged.name_of(kernels[kernel]);
                Diagnostic::shared_of_others(symbols[variable].name, kernel)
            }));
        }
    }
    problems
}
