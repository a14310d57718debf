//! Phase 4: every variable gets its address in its memory space.

mod banks;
mod constants;
mod groups;
mod listed;
mod moves;
mod relocatable;
mod shared;
mod textures;
mod unified;
mod visibility;
mod whole;

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::arch::reserved;
use crate::arena::Arena;
use crate::cubin::{SectionFlags, SymbolType, section_name};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::error::ParseError;
use crate::id::{SectionId, SymbolId};
use crate::list_sort::list_sort;
use crate::merge::{Definition, Merged, NewSection, Section, SectionKind, Symbol};
use crate::options::{Behaviour, DebugLevel, EarlyAddresses, Options};
use crate::prune::Pruned;
use crate::read::{USER_BANK, native_bank};

pub(crate) use shared::{Listed, SharedLayout};
pub(crate) use textures::TextureSlots;
use whole::WholePrograms;

/// What was pruned, with addresses.
#[derive(Debug)]
pub(crate) struct LaidOut<'d> {
    pub(crate) pruned: Pruned<'d>,
    pub(crate) shared: SharedLayout,
    /// Where a kernel finds the handles of textures, samplers and surfaces.
    pub(crate) texture_slots: TextureSlots,
    pub(crate) null_symbol: NullSymbol,
}

/// The first symbol of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NullSymbol {
    /// It is written with this value, which nvlink leaves there: the place of constants that no symbol names (cases
    /// `ocg_weak`, `shared_constants`).
    Written(u64),
    /// It is not written: nvlink mistakes it for a variable that it drops (case `whole_program_module`).
    Dropped,
}

impl NullSymbol {
    /// The value that relocations see.
    pub(crate) fn value(self) -> u64 {
        match self {
            Self::Written(value) => value,
            Self::Dropped => 0,
        }
    }
}

impl<'d> LaidOut<'d> {
    /// What was merged.
    pub(crate) fn merged(&self) -> &Merged<'d> {
        &self.pruned.merged
    }
}

/// Errors about memory that is too large, each with its section, by which they are sorted.
type Problems = Vec<(Option<SectionId>, Diagnostic)>;

/// Gives addresses in all memory spaces that a link lays out: tentative definitions, tables of unified functions and
/// variables, shared memory, handles of textures and constants.
pub(crate) fn layout<'d>(
    mut pruned: Pruned<'d>,
    arena: &'d Arena,
    options: &Options,
    diagnostics: &mut Diagnostics,
) -> Result<LaidOut<'d>, ParseError> {
    let behaviour = options.behaviour;
    place_commons(&mut pruned);
    append_reserved(&mut pruned, |variable, offset| variable.value = offset);
    unified::arrange(&mut pruned, behaviour)?;
    add_graph_sections(&mut pruned);
    let mut problems = Problems::new();
    let (whole, left_value, is_null_lost) = match behaviour {
        Behaviour::Own => (WholePrograms::all(&pruned.merged), 0, false),
        Behaviour::Nvlink => {
            let merged = &mut pruned.merged;
            let debug = options.settings.debug;
            let whole = WholePrograms::as_nvlink(merged, debug);
            let left_value = whole.left_value(merged);
            (whole, left_value, whole::loses_null_symbol(merged, debug))
        }
    };
    // The handles of textures come before the shared memory of slots of unified functions (case `unified_textures`).
    let texture_slots = textures::layout(&mut pruned, arena, behaviour);
    let shared = shared::layout(&mut pruned, arena, behaviour, &whole, &mut problems);
    whole.reserve(&mut pruned.merged);
    let all_stay = banks::fit(&mut pruned, options, &mut problems);
    fill_in_constants_size(&mut pruned);
    // The banks that the compiler's constants demand come between the sections
    // that every link makes (case `ocg_late`).
    let mut null_value = constants::layout(&mut pruned, arena, behaviour).max(left_value);
    if all_stay
        && banks::are_shared(options)
        && let Some(constants) = program_constants(&mut pruned.merged)
    {
        null_value = banks::share(constants).unwrap_or(null_value);
    }
    constants::check(&pruned, behaviour, &mut problems);
    // nvlink looks at one section after another (case `failing_reports`).
    problems.sort_by_key(|&(section, _)| section);
    diagnostics.extend(problems.into_iter().map(|(_, problem)| problem));
    if !pruned.merged.target.has_mercury() {
        let name = ".nv.rel.action";
        pruned.add_section(NewSection::new(name, SectionKind::RelocAction, 8));
    }
    Ok(LaidOut {
        pruned,
        shared,
        texture_slots,
        null_symbol: match is_null_lost {
            true => NullSymbol::Dropped,
            false => NullSymbol::Written(null_value),
        },
    })
}

/// Leaves addresses to the last link. nvlink already places tentative definitions, so that no later link can merge them any
/// more.
pub(crate) fn layout_relocatable<'d>(
    mut pruned: Pruned<'d>,
    arena: &'d Arena,
    addresses: EarlyAddresses,
    debug: DebugLevel,
    diagnostics: &mut Diagnostics,
) -> LaidOut<'d> {
    append_reserved(&mut pruned, |_, _| ());
    match addresses {
        EarlyAddresses::Leave => {}
        EarlyAddresses::Fill => {
            place_commons(&mut pruned);
            fill_in_constants_size(&mut pruned);
            banks::check(&pruned.merged, diagnostics);
        }
    }
    add_graph_sections(&mut pruned);
    let null_value = match addresses {
        EarlyAddresses::Leave => 0,
        EarlyAddresses::Fill => {
            let merged = &mut pruned.merged;
            WholePrograms::as_nvlink(merged, debug).left_alignment(merged)
        }
    };
    let shared = relocatable::list_shared(&mut pruned, arena, addresses, debug);
    let texture_slots = textures::layout_relocatable(&mut pruned);
    LaidOut {
        pruned,
        shared,
        texture_slots,
        null_symbol: NullSymbol::Written(null_value),
    }
}

/// Makes the sections of the call graph, which `finalize` fills.
fn add_graph_sections(pruned: &mut Pruned<'_>) {
    for (name, kind) in [
        (".nv.callgraph", SectionKind::CallGraph),
        (".nv.prototype", SectionKind::Prototype),
    ] {
        pruned.add_section(NewSection::new(name, kind, 4));
    }
}

/// The bank of the program's `__constant__` variables.
fn program_constants<'m, 'd>(merged: &'m mut Merged<'d>) -> Option<&'m mut Section<'d>> {
    let is_bank =
        |kind| matches!(kind, SectionKind::Constant(bank) if native_bank(bank) == USER_BANK);
    let bank = {
        let mut banks = merged.sections.of_kind(is_bank);
        banks.find(|(_, section)| section.target.is_none())?.0
    };
    Some(&mut merged.sections[bank])
}

/// Gives the size of the program's constants to the symbol by which the device runtime asks for it (case `cdp2_constants`).
/// The name of the symbol is misleading.
fn fill_in_constants_size(pruned: &mut Pruned<'_>) {
    let merged = &mut pruned.merged;
    let Some(constants) = program_constants(merged) else {
        return;
    };
    let size = constants.content.size;
    for symbol in merged.symbols.iter_mut() {
        if symbol.definition == Definition::Never && symbol.name == reserved::CONSTANTS_SIZE {
            symbol.value = size;
        }
    }
}

/// Tentative definitions follow all other variables without initial value,
/// the one that appeared last first.
fn place_commons(pruned: &mut Pruned<'_>) {
    let mut commons = std::mem::take(&mut pruned.merged.commons.named);
    commons.retain(|&symbol| pruned.merged.symbols[symbol].definition == Definition::Common);
    if commons.is_empty() {
        return;
    }
    let global = global_section(pruned);
    for symbol in commons.into_iter().rev() {
        let Merged {
            sections, symbols, ..
        } = &mut pruned.merged;
        let symbol = &mut symbols[symbol];
        let content = &mut sections[global].content;
        symbol.value = content.append(&[], symbol.size, symbol.value);
        symbol.definition = Definition::Section(global);
    }
}

/// Makes sections of reserved shared memory as large as their variables need. `place` gets each variable and its offset.
fn append_reserved<'d>(pruned: &mut Pruned<'d>, place: impl Fn(&mut Symbol<'d>, u64)) {
    for (section, variables) in reserved_variables(pruned) {
        let Merged {
            sections, symbols, ..
        } = &mut pruned.merged;
        let content = &mut sections[section].content;
        for variable in variables {
            let symbol = &mut symbols[variable];
            let offset = content.append(&[], symbol.size, symbol.value);
            place(symbol, offset);
        }
    }
}

/// The variables in each section of reserved shared memory by alignment, the
/// strictest first, and by size, the smallest first (cases `reserved_variables`
/// and `older_tensor_memory`). Their values are alignments.
fn reserved_variables(pruned: &Pruned<'_>) -> BTreeMap<SectionId, Vec<SymbolId>> {
    let merged = &pruned.merged;
    let mut variables: BTreeMap<SectionId, Vec<SymbolId>> = BTreeMap::new();
    let is_reserved = |kind| kind == SectionKind::SharedReserved;
    if merged.sections.of_kind(is_reserved).next().is_none() {
        return variables;
    }
    for (id, symbol) in merged.symbols.enumerate() {
        if let Definition::Section(section) = symbol.definition
            && is_reserved(merged.sections[section].kind)
            && symbol.kind != SymbolType::SECTION
        {
            variables.entry(section).or_default().push(id);
        }
    }
    for list in variables.values_mut() {
        let key = |&variable: &SymbolId| {
            let symbol = &merged.symbols[variable];
            (Reverse(symbol.value), symbol.size)
        };
        *list = list_sort(std::mem::take(list), |a, b| key(a) <= key(b));
    }
    variables
}

fn global_section(pruned: &mut Pruned<'_>) -> SectionId {
    let known = pruned
        .merged
        .sections
        .of_kind(|kind| kind == SectionKind::Global)
        .next();
    if let Some((id, _)) = known {
        return id;
    }
    let section = NewSection::new(section_name::GLOBAL, SectionKind::Global, 1);
    pruned.add_section(section.with_flags(SectionFlags::DATA))
}
