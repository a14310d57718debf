//! The symbols of both worlds.

use std::ops::Range;

use rustc_hash::FxHashSet;

use crate::arch::reserved;
use crate::cubin::{Place, Symbol as FileSymbol, SymbolOther, SymbolType};
use crate::id::{SectionId, SymbolId};
use crate::layout::Listed;
use crate::merge::{Definition, Merged, SectionKind, Symbol};
use crate::options::UndefinedGlobals;
use crate::relocate::{Relocated, place_inside, place_inside_lost};

use super::super::encode;
use super::super::sections::numbered;
use super::Sources;
use super::names::native_name;

/// Undefined symbols that stand for reserved shared memory, with the value
/// they have in the native symbol table.
const RESERVED: [(&str, u64); 3] = [
    (".nv.reservedSmem.begin", 0),
    (".nv.reservedSmem.offset0", 0x40),
    (".nv.reservedSmem.cap", 0x400),
];

fn reserved_value(symbol: &Symbol<'_>) -> Option<u64> {
    RESERVED
        .iter()
        .find(|(name, _)| symbol.definition == Definition::Undefined && symbol.name == *name)
        .map(|&(_, value)| value)
}

/// Whether it stands for what the last link or the driver knows.
fn is_known_later(symbol: &Symbol<'_>) -> bool {
    symbol.definition == Definition::Undefined
        && (reserved::is_unified_table(symbol.name) || reserved::is_descriptor_size(symbol.name))
}

/// The section that defines it, which for shared memory is where it is listed.
fn section(symbol: &Symbol<'_>, listed: Option<&Listed>) -> Option<SectionId> {
    match symbol.definition {
        Definition::Section(section) => Some(section),
        Definition::Shared(_) => listed.map(|listed| listed.section),
        Definition::Undefined | Definition::Common | Definition::Never | Definition::Lost => None,
    }
}

/// `.symtab`: the symbols, then those of the parameter banks.
pub(super) fn native(sources: Sources<'_, '_>) -> Vec<u8> {
    let relocated = &sources.finalized.relocated;
    let later_names = relocated.pruned().later_names();
    let symbols = sources.symbols.order.iter();
    let symbols = symbols.map(|&id| native_symbol(sources, id, &later_names));
    let parameters = 0..sources.layout.parameters.len();
    let parameters = parameters.map(|index| parameters_symbol(sources, index));
    encode::symbols(
        relocated.laid_out.null_symbol,
        sources.symbols.first_section(relocated.merged()),
        symbols.chain(parameters),
    )
}

/// The entry of a symbol. `later_names` are names of functions whose code has another name first.
fn native_symbol<'f>(
    sources: Sources<'f, '_>,
    id: SymbolId,
    later_names: &FxHashSet<SymbolId>,
) -> FileSymbol<'f> {
    let Sources { layout, names, .. } = sources;
    let relocated = &sources.finalized.relocated;
    let merged = relocated.merged();
    let symbol = &merged.symbols[id];
    let listed = relocated.laid_out.shared.listed.get(&id);
    let section = section(symbol, listed);
    let code = section
        .filter(|_| symbol.kind == SymbolType::FUNC)
        .and_then(|s| relocated.native[s].as_ref());
    let own_value = reserved_value(symbol);
    let slot = merged.unified.native_slots.get(&id);
    let inside = inside(relocated, id);
    let is_provided = own_value.is_some() || is_known_later(symbol);
    let start = match section.map(|s| merged.sections[s].kind) {
        Some(SectionKind::SharedReserved) if symbol.kind != SymbolType::SECTION => {
            merged.start_of_reserved()
        }
        _ => 0,
    };
    let bank = section
        .filter(|_| symbol.kind == SymbolType::SECTION && native_name(symbol.name).is_some());
    FileSymbol {
        name: symbol.name,
        name_offset: match bank {
            Some(bank) => names.bank(bank),
            None => names.symbols.offset(symbol.name),
        },
        kind: match is_provided {
            true => SymbolType::CUDA_OBJECT,
            false => symbol.kind,
        },
        binding: symbol.binding,
        other: symbol.other,
        place: place(
            symbol.definition,
            section.map(|s| layout.native.place(merged, s)),
        ),
        value: match (listed, slot) {
            (Some(listed), _) => listed.value,
            (None, Some(slot)) => slot.place,
            (None, None) => match &inside {
                Some(inside) => inside.start,
                None => own_value.unwrap_or(symbol.value) + start,
            },
        },
        size: match (slot, code) {
            (Some(slot), _) => slot.size,
            (None, Some(_)) if symbol.size == 0 && later_names.contains(&id) => 0,
            (None, Some(code)) => match &inside {
                Some(inside) => inside.end.saturating_sub(inside.start),
                None => code.bytes.len() as u64,
            },
            (None, None) => symbol.size,
        },
    }
}

/// Where the machine code of a function stands that is inside a kernel of a whole program (case
/// `whole_program_functions`).
fn inside(relocated: &Relocated<'_>, symbol: SymbolId) -> Option<Range<u64>> {
    let merged = relocated.merged();
    let owner = merged.surrounding(symbol)?;
    let moves = relocated.moves.get(&owner);
    let moved = |place: u64| moves.map_or(place, |moves| moves.entry(place));
    match place_inside(merged, symbol) {
        Some(place) => Some(moved(place.start)..moved(place.end)),
        // Its size is that of its Mercury code.
        None => {
            let start = moved(place_inside_lost(merged, symbol)?);
            Some(start..start.saturating_add(merged.symbols[symbol].size))
        }
    }
}

/// What the symbol of a parameter bank says of it. nvlink makes these as ptxas does, which takes the
/// first number that does not fit for the last one that does.
pub(super) fn parameters_place(merged: &Merged<'_>, number: u32) -> Place {
    numbered(merged, number, Place::FIRST_RESERVED)
}

/// The symbol of a kernel's parameter bank.
fn parameters_symbol<'f>(sources: Sources<'f, '_>, index: usize) -> FileSymbol<'f> {
    let Sources { layout, names, .. } = sources;
    let merged = sources.merged();
    let function = layout.parameters[index];
    let bank = merged.functions[function].own_parameters();
    FileSymbol {
        name_offset: bank.map_or(0, |bank| names.parameters_symbol(function, bank.name)),
        kind: SymbolType::SECTION,
        place: parameters_place(merged, layout.parameters_number(index)),
        ..FileSymbol::NULL
    }
}

/// `.nv.merc.symtab`: variables keep the spelling of relocatable objects.
pub(super) fn mercury(sources: Sources<'_, '_>) -> Vec<u8> {
    let Sources { layout, names, .. } = sources;
    let laid_out = &sources.finalized.relocated.laid_out;
    let merged = sources.merged();
    let entries = sources.symbols.order.iter().map(|&id| {
        let symbol = &merged.symbols[id];
        let listed = laid_out.shared.listed.get(&id);
        let section = section(symbol, listed);
        let is_left_undefined = symbol.definition == Definition::Undefined
            && symbol.space == SymbolOther::GLOBAL
            && merged.settings.undefined_globals == UndefinedGlobals::Allowed;
        let is_variable =
            symbol.kind == SymbolType::OBJECT && (section.is_some() || is_left_undefined);
        let is_provided = reserved_value(symbol).is_some() || is_known_later(symbol);
        let space = match section.map(|s| merged.sections[s].kind) {
            Some(SectionKind::Constant(_)) => SymbolOther::CONSTANT,
            Some(SectionKind::SharedReserved) => SymbolOther::CONSTANT | SymbolOther::GLOBAL,
            Some(SectionKind::Shared) => SymbolOther::SHARED,
            // What the object says, be it wrong (case `symbol_marks`).
            _ if symbol.space != 0 => symbol.space,
            _ => SymbolOther::GLOBAL,
        };
        FileSymbol {
            name: symbol.name,
            name_offset: names.symbols.offset(symbol.name),
            kind: match is_variable || is_provided {
                true => SymbolType::CUDA_OBJECT,
                false => symbol.kind,
            },
            binding: symbol.binding,
            other: SymbolOther(symbol.other.0 | if is_variable { space } else { 0 }),
            place: place(
                symbol.definition,
                section.map(|s| layout.mercury_place(merged, s)),
            ),
            value: listed.map_or(symbol.value, |listed| listed.offset),
            size: symbol.size,
        }
    });
    // nvlink takes the number left there for one that it gave.
    let first_section = sources.symbols.first_section(merged);
    let index = (first_section as usize).checked_sub(1);
    let named = index.and_then(|index| layout.native.order.get(index));
    let first_section = named.map_or(first_section, |&section| layout.mercury_number(section));
    encode::symbols(laid_out.null_symbol, first_section, entries)
}

/// Where a symbol lies whose section has a place.
fn place(definition: Definition, section: Option<Place>) -> Place {
    match (definition, section) {
        (Definition::Common, _) => Place::Common,
        (_, Some(section)) => section,
        (_, None) => Place::Undefined,
    }
}
