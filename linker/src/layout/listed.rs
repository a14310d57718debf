//! Variables in shared memory as symbols of the image, for debuggers (case
//! `debug_shared`).

use rustc_hash::{FxHashMap, FxHashSet};

use crate::arch::reserved;
use crate::id::{FunctionId, SectionId, SymbolId};
use crate::merge::{Definition, ListedShared, Merged, SectionKind, SharedHome};
use crate::options::ResolvedRelocations;
use crate::prune::Pruned;

use super::shared::{KernelView, Listed, SharedLayout};

/// Finds a section and a value for every variable that is used.
pub(super) fn list(
    pruned: &mut Pruned<'_>,
    layout: &mut SharedLayout,
    common: &[SymbolId],
    views: Vec<(FunctionId, KernelView)>,
    dynamic: &[SymbolId],
    module_align: u64,
) {
    let is_mercury = pruned.merged.target.has_mercury();
    // In Mercury images also one that is not made counts here.
    let reserved = match is_mercury {
        true => reserved::SHARED_SIZE,
        false => pruned.merged.reserved_shared(),
    };
    let mut listed: FxHashMap<SymbolId, Listed> = FxHashMap::default();
    let mut put = |symbol: SymbolId, section| {
        // One with two definitions is laid out twice, and up to sm_90 what is
        // reserved counts each time (case `shared_weak`).
        let before = listed.get(&symbol).filter(|_| !is_mercury);
        let before = before.map_or(0, |listed| listed.value - listed.offset);
        let place = at(section, layout.offset[&symbol], before + reserved);
        listed.insert(symbol, place);
    };
    for (kernel, view) in &views {
        if let Some(section) = pruned.merged.functions[*kernel].shared {
            view.own.iter().for_each(|&symbol| put(symbol, section));
        }
    }
    let symbols = &pruned.merged.symbols;
    let lists_dynamic = pruned.merged.listed_shared == ListedShared::All;
    if let Some(module) = module_section(pruned)
        && !(common.is_empty() && dynamic.is_empty())
    {
        common.iter().for_each(|&symbol| put(symbol, module));
        // On sm_90 what the system reserves counts only behind other variables.
        let reserved_before = match common.is_empty() && !pruned.merged.target.has_mercury() {
            true => 0,
            false => reserved,
        };
        let merged = &pruned.merged;
        let known: FxHashSet<SymbolId> = dynamic.iter().copied().collect();
        let table = merged.locals.iter().chain(&merged.globals);
        let named = table.filter(|symbol| known.contains(symbol));
        listed.extend(named.filter_map(|symbol| {
            let place = match lists_dynamic {
                true => Some(at(module, layout.offset[symbol], reserved_before)),
                // A record of relocations knows no start that all kernels have;
                // on sm_90 it is one before what is reserved (case
                // `preserve_shared`).
                false => Some(at(module, u64::MAX, reserved_before))
                    .filter(|place| place.value != u64::MAX && !is_mercury),
            };
            Some((*symbol, place?))
        }));
        let ends = common.iter();
        let end = ends.map(|symbol| layout.offset[symbol] + symbols[*symbol].size);
        // Mercury images reserve it for this section in any link.
        let size = match pruned.merged.target.has_mercury() {
            true => end.max().unwrap_or(0),
            false => end.max().unwrap_or(0) + reserved,
        };
        let section = &mut pruned.merged.sections[module];
        section.content.size = size;
        section.keep_empty = true;
        if !common.is_empty() {
            section.content.align = section.content.align.max(module_align);
        }
    }
    for (id, symbol) in pruned.merged.symbols.enumerate() {
        let is_used = match symbol.definition {
            Definition::Shared(SharedHome::Dynamic | SharedHome::Overlooked) if !lists_dynamic => {
                true
            }
            Definition::Shared(_) => listed.contains_key(&id),
            _ => true,
        };
        if !is_used {
            pruned.live.symbols[id] = false;
        }
    }
    if !lists_dynamic {
        let merged = &mut pruned.merged;
        for list in [&mut merged.locals, &mut merged.globals] {
            list.retain(|symbol| !dynamic.contains(symbol) || listed.contains_key(symbol));
        }
    }
    layout.listed = listed;
}

/// Whether debug information says where variables are that no code uses. nvlink finds no symbol to record for these
/// (case `preserve_unreached`).
pub(super) fn describes_unused(merged: &Merged<'_>, layout: &SharedLayout) -> bool {
    let is_unused = |symbol: SymbolId| {
        let definition = merged.symbols[symbol].definition;
        definition == Definition::Shared(SharedHome::Module) && !layout.listed.contains_key(&symbol)
    };
    let debug = merged.sections_of(|kind| kind == SectionKind::Debug);
    let mut described = debug.flat_map(|(_, section)| &section.relocations);
    merged.resolved_relocations == ResolvedRelocations::Recorded
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
pub(super) fn module_section(pruned: &Pruned<'_>) -> Option<SectionId> {
    let is_shared = |kind| kind == SectionKind::Shared;
    let sections = pruned.merged.sections_of(is_shared);
    sections
        .filter(|(_, section)| section.target.is_none())
        .map(|(id, _)| id)
        .next()
}
