//! Variables in shared memory as symbols of the image, for debuggers (case
//! `debug_shared`).

use rustc_hash::{FxHashMap, FxHashSet};

use crate::arch::reserved;
use crate::cubin::SymbolOther;
use crate::id::{SectionId, SymbolId};
use crate::merge::{Definition, ListedShared, Merged, RECORDED, SectionKind, SharedHome, Symbol};
use crate::options::{Behaviour, ResolvedRelocations};
use crate::prune::Pruned;

use super::shared::{Common, KernelView, Listed, SharedLayout, Users, is_dynamic};
use super::whole;

/// Finds a section and a value for every variable that is used.
pub(super) fn list(
    pruned: &mut Pruned<'_>,
    users: &Users,
    common: &Common,
    views: &[KernelView],
    behaviour: Behaviour,
    layout: &mut SharedLayout,
) {
    let merged = &mut pruned.merged;
    let mut listed = of_kernels_and_common(merged, users, common, views, layout);
    if let Some(module) = module_section(merged)
        && !(common.variables.is_empty() && users.dynamic.is_empty())
    {
        fit_module_section(merged, common, layout, module);
        listed.extend(of_dynamic(merged, users, common, layout, module));
        if behaviour == Behaviour::Nvlink {
            listed.extend(of_whole_programs(merged, module));
        }
    }
    let is_written = |module| merged.sections[module].content.size > 0;
    if lists_dynamic(merged) && !module_section(merged).is_some_and(is_written) {
        drop_instances(pruned, &mut listed);
    }
    layout.listed = listed;
    drop_unlisted(pruned, users, layout);
}

/// How much the system reserves before the variables. In Mercury images it counts even where the reservation is disabled.
fn reserved(merged: &Merged<'_>) -> u64 {
    match merged.target.has_mercury() {
        true => reserved::SHARED_SIZE,
        false => merged.reserved_shared(),
    }
}

/// The variables that have a place.
fn of_kernels_and_common(
    merged: &Merged<'_>,
    users: &Users,
    common: &Common,
    views: &[KernelView],
    layout: &SharedLayout,
) -> FxHashMap<SymbolId, Listed> {
    let is_mercury = merged.target.has_mercury();
    let reserved = reserved(merged);
    let mut listed: FxHashMap<SymbolId, Listed> = FxHashMap::default();
    let mut put = |symbol: SymbolId, section| {
        // A variable with two definitions is laid out twice, and up to sm_90 the reserved part is added each time (case
        // `shared_weak`).
        let before = listed.get(&symbol).filter(|_| !is_mercury);
        let before = before.map_or(0, |listed| listed.value - listed.offset);
        let place = at(section, layout.offset[&symbol], before + reserved);
        listed.insert(symbol, place);
    };
    for (&kernel, view) in users.kernels.iter().zip(views) {
        if let Some(section) = merged.functions[kernel].shared {
            view.own.iter().for_each(|own| put(own.symbol, section));
        }
    }
    if let Some(module) = module_section(merged) {
        let variables = common.variables.iter();
        variables.for_each(|(common, _)| put(common.symbol, module));
    }
    for (section, symbol) in whole::placed(merged) {
        let place = at(section, merged.symbols[symbol].value, reserved);
        listed.insert(symbol, place);
    }
    listed
}

/// Variables in dynamic shared memory, as far as they are listed.
fn of_dynamic(
    merged: &Merged<'_>,
    users: &Users,
    common: &Common,
    layout: &SharedLayout,
    module: SectionId,
) -> Vec<(SymbolId, Listed)> {
    let is_mercury = merged.target.has_mercury();
    // On sm_90 what the system reserves counts only behind other variables.
    let reserved = match common.variables.is_empty() && !is_mercury {
        true => 0,
        false => reserved(merged),
    };
    let is_written = merged.sections[module].content.size > 0;
    let reserved_for = |symbol: SymbolId| {
        // For a variable that is used as dynamic before a file gives it a size, the reserved part is added twice (case
        // `shared_sized_later`).
        let is_twice = merged.is_overlooked(symbol) && !is_mercury;
        reserved * if is_twice { 2 } else { 1 }
    };
    let at = |symbol, start| at(module, start, reserved_for(symbol));
    let place = |symbol: SymbolId| match (lists_dynamic(merged), layout.offset.get(&symbol)) {
        (true, _) => Some(at(symbol, layout.offset[&symbol])),
        // A whole program says where it starts.
        (false, Some(&start)) => is_written.then(|| at(symbol, start)),
        // A record of relocations knows no start that all kernels have; on sm_90 it is one before what is reserved (case
        // `preserve_shared`).
        (false, None) if is_mercury || reserved == 0 => None,
        (false, None) => Some(at(symbol, u64::MAX)),
    };
    let known: FxHashSet<SymbolId> = users.dynamic.iter().copied().collect();
    let table = merged.symbols.listed();
    table
        .filter(|symbol| known.contains(symbol))
        .filter_map(|symbol| Some((symbol, place(symbol)?)))
        .collect()
}

/// With records of relocations nvlink lists what whole programs have of no kernel, too, if there is a section (case
/// `whole_program_dynamic`).
fn of_whole_programs(merged: &mut Merged<'_>, module: SectionId) -> Vec<(SymbolId, Listed)> {
    let is_recorded = merged.settings.resolved_relocations == ResolvedRelocations::Recorded;
    if !is_recorded || merged.sections[module].content.size == 0 {
        return Vec::new();
    }
    let reserved = match merged.target.has_mercury() {
        true => reserved(merged),
        false => 0,
    };
    let is_of_module = |&(section, _): &(SectionId, SymbolId)| section == module;
    let variables = whole::all_placed(merged).filter(is_of_module);
    let variables: Vec<SymbolId> = variables.map(|(_, symbol)| symbol).collect();
    let list = |symbol: SymbolId| {
        let row = &mut merged.symbols[symbol];
        row.other = SymbolOther(row.other.0 | RECORDED.0);
        (symbol, at(module, row.value, reserved))
    };
    variables.into_iter().map(list).collect()
}

/// Makes the module's own section as large as what several kernels see.
fn fit_module_section(
    merged: &mut Merged<'_>,
    common: &Common,
    layout: &SharedLayout,
    module: SectionId,
) {
    let end = common.end(merged, layout);
    // Mercury images reserve it for this section in any link.
    let size = match merged.target.has_mercury() {
        true => end,
        false => end + merged.reserved_shared(),
    };
    let section = &mut merged.sections[module];
    section.content.size = size;
    section.keep_empty = true;
    if !common.variables.is_empty() {
        section.content.align = section.content.align.max(common.align);
    }
}

/// Drops the names of starts of dynamic shared memory that a relocatable link has given, where their section is empty.
fn drop_instances(pruned: &mut Pruned<'_>, listed: &mut FxHashMap<SymbolId, Listed>) {
    let Pruned { merged, live, .. } = pruned;
    let is_instance =
        |symbol: &Symbol<'_>| is_dynamic(symbol.definition) && symbol.other == RECORDED;
    merged.symbols.keep_listed(|id, symbol| {
        live.symbols[id] &= !is_instance(symbol);
        !is_instance(symbol)
    });
    listed.retain(|&symbol, _| !is_instance(&merged.symbols[symbol]));
}

/// Drops the symbols of variables that have no place.
fn drop_unlisted(pruned: &mut Pruned<'_>, users: &Users, layout: &SharedLayout) {
    let lists_dynamic = lists_dynamic(&pruned.merged);
    for (id, symbol) in pruned.merged.symbols.enumerate() {
        let is_used = match symbol.definition {
            definition if is_dynamic(definition) && !lists_dynamic => true,
            Definition::Shared(_) => layout.listed.contains_key(&id),
            _ => true,
        };
        if !is_used {
            pruned.live.symbols[id] = false;
        }
    }
    if !lists_dynamic {
        pruned.merged.symbols.keep_listed(|symbol, _| {
            !users.dynamic.contains(&symbol) || layout.listed.contains_key(&symbol)
        });
    }
}

/// Whether dynamic shared memory has symbols with one start for all kernels.
fn lists_dynamic(merged: &Merged<'_>) -> bool {
    merged.shared.listed == ListedShared::All
}

/// Whether debug information says where variables are that no code uses. nvlink finds no symbol to record for these
/// (case `preserve_unreached`).
pub(super) fn describes_unused(merged: &Merged<'_>, layout: &SharedLayout) -> bool {
    let is_unused = |symbol: SymbolId| {
        let definition = merged.symbols[symbol].definition;
        definition == Definition::Shared(SharedHome::Module) && !layout.listed.contains_key(&symbol)
    };
    let debug = merged.sections.of_kind(|kind| kind == SectionKind::Debug);
    let mut described = debug.flat_map(|(_, section)| &section.relocations);
    merged.settings.resolved_relocations == ResolvedRelocations::Recorded
        && described.any(|relocation| is_unused(relocation.symbol))
}

fn at(section: SectionId, offset: u64, reserved: u64) -> Listed {
    Listed {
        section,
        offset,
        value: offset.wrapping_add(reserved),
    }
}

/// The section of the variables that belong to no kernel.
pub(super) fn module_section(merged: &Merged<'_>) -> Option<SectionId> {
    let mut sections = merged.sections.of_kind(|kind| kind == SectionKind::Shared);
    merged.shared.module.or_else(|| {
        let other = sections.find(|(_, section)| section.target.is_none());
        other.map(|(id, _)| id)
    })
}
