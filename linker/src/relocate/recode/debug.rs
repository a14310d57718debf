//! What names places in code, after the code moved: tables of branches, and
//! what tells debuggers about it.

use std::collections::HashMap;

use rustc_hash::FxHashMap;

use crate::arch::relocation::RelocationType;
use crate::cubin::section_name;
use crate::id::{FunctionId, SymbolId};
use crate::merge::{NativeContent, SectionKind};
use crate::read::{OPTIMIZER_BANK, USER_BANK, native_bank};

use super::super::corrections::is_translated;
use super::super::frames::Frames;
use super::super::lines;
use super::super::resolve::follows_units;
use super::{Moves, Relocated, debug_registers, place_inside};

/// Lets the tables of branches follow the code of functions that moved.
pub(super) fn follow_tables(relocated: &mut Relocated<'_>, moves: &FxHashMap<FunctionId, Moves>) {
    let merged = &relocated.laid_out.pruned.merged;
    for (id, section) in merged.sections.enumerate() {
        let Some(native) = &mut relocated.native[id] else {
            continue;
        };
        if section.kind != SectionKind::Constant(OPTIMIZER_BANK) {
            continue;
        }
        // Where the native table names code, the Mercury one has a relocation. Others of
        // the place come from definitions that lost; constants that move into a kernel
        // stand before what those of the kernel left (case `ocg_leftovers`).
        let places = section.relocations.iter().rev();
        let mut owners: FxHashMap<u64, SymbolId> = places.map(|r| (r.offset, r.symbol)).collect();
        for relocation in &relocated.sections[id].kept {
            if owners.get(&relocation.offset) != Some(&relocation.symbol) {
                continue;
            }
            owners.remove(&relocation.offset);
            let inside = merged.surrounding(relocation.symbol);
            let function = inside.or(merged.symbols[relocation.symbol].function);
            let moves = function.and_then(|function| moves.get(&function));
            // The upper half of the address of a function inside a kernel is 0.
            let kind = match inside {
                Some(_) => RelocationType::R_MERCURY_PROG_REL64,
                None => RelocationType::R_MERCURY_PROG_REL32,
            };
            let Some(moves) = moves.filter(|_| relocation.kind == kind.0) else {
                continue;
            };
            let place = native.bytes.to_mut().get_mut(relocation.offset as usize..);
            if let Some(word) = place.and_then(<[u8]>::first_chunk_mut) {
                let old = u32::from_le_bytes(*word);
                *word = (moves.entry(old.into()) as u32).to_le_bytes();
            }
        }
    }
}

/// Lets data follow the code of kernels that moved: in a whole program it holds addresses of functions inside them (case
/// `whole_program_pointers`).
pub(super) fn follow_pointers(relocated: &mut Relocated<'_>, moves: &FxHashMap<FunctionId, Moves>) {
    let merged = &relocated.laid_out.pruned.merged;
    for (id, section) in merged.sections.enumerate() {
        let holds_own = |native: &NativeContent<'_>| {
            !native.shares_bytes && !native.content.contributions.is_empty()
        };
        let is_data = match section.kind {
            SectionKind::GlobalInit => true,
            SectionKind::Constant(bank) => native_bank(bank) == USER_BANK,
            _ => false,
        };
        if !is_data || !section.native.as_deref().is_some_and(holds_own) {
            continue;
        }
        let Some(native) = &mut relocated.native[id] else {
            continue;
        };
        for relocation in &relocated.sections[id].kept {
            let owner = merged.surrounding(relocation.symbol);
            let Some(moves) = owner.and_then(|owner| moves.get(&owner)) else {
                continue;
            };
            let Some(old) = place_inside(merged, relocation.symbol) else {
                continue;
            };
            let address = moves.entry(old.start).to_le_bytes();
            let first_byte = RelocationType::R_MERCURY_PROG_REL8_0.0;
            let part = match relocation.kind.checked_sub(first_byte) {
                _ if relocation.kind == RelocationType::R_MERCURY_PROG_REL64.0 => &address[..],
                Some(byte @ 0..8) => &address[byte as usize..][..1],
                _ => continue,
            };
            let place = native.bytes.to_mut().get_mut(relocation.offset as usize..);
            if let Some(field) = place.and_then(|place| place.get_mut(..part.len())) {
                field.copy_from_slice(part);
            }
        }
    }
}

/// Lets all debug sections follow the code of functions that moved.
pub(super) fn follow(relocated: &mut Relocated<'_>, moves: &FxHashMap<FunctionId, Moves>) {
    let merged = &relocated.laid_out.pruned.merged;
    let by_name: HashMap<&[u8], &Moves> = moves
        .iter()
        .map(|(&function, moves)| {
            let symbol = merged.functions[function].symbol;
            (merged.symbols[symbol].name.as_bytes(), moves)
        })
        .collect();
    let mut units = lines::Units::default();
    for (id, section) in merged.sections.enumerate() {
        let Some(native) = &mut relocated.native[id] else {
            continue;
        };
        let moves_of = |symbol: SymbolId| moves.get(&merged.symbols[symbol].function?);
        let follows = is_translated(section, relocated.behaviour);
        let kept = native.kept.iter_mut().filter(|_| follows);
        for relocation in kept.filter(|r| r.addend > 0) {
            if let Some(moves) = moves_of(relocation.symbol) {
                relocation.addend = moves.entry(relocation.addend as u64) as i64;
            }
        }
        if debug_registers::is_table(section.name) {
            debug_registers::follow(&mut native.bytes, &by_name);
        }
        if section_name::is_line_table(section.name)
            && let Some(followed) = lines::follow(id, native, &mut units, moves_of)
        {
            **native = followed;
        }
        if section.name == section_name::FRAMES
            && let Ok(frames) = Frames::parse(&native.bytes)
        {
            frames.follow(native.bytes.to_mut(), &native.kept, moves_of);
        }
    }
    follow_units(relocated, &units);
}

/// In links for debuggers and relocatable ones nvlink says that relocations of common entries of frames stand at the
/// start of the section. Entries for what stands inside kernels of whole programs have such (case
/// `whole_program_functions`).
pub(super) fn forget_common(relocated: &mut Relocated<'_>) {
    let merged = &relocated.laid_out.pruned.merged;
    let frames = merged.sections.enumerate();
    for (id, _) in frames.filter(|(_, section)| section.name == section_name::FRAMES) {
        let Some(native) = &mut relocated.native[id] else {
            continue;
        };
        if let Ok(frames) = Frames::parse(&native.bytes) {
            let of_common = native.kept.iter_mut();
            of_common
                .filter(|relocation| frames.is_in_common(relocation.offset))
                .for_each(|relocation| relocation.offset = 0);
        }
    }
}

/// Debug information names units of line tables by their offsets.
fn follow_units(relocated: &mut Relocated<'_>, units: &lines::Units) {
    if units.have_stayed() {
        return;
    }
    let merged = &relocated.laid_out.pruned.merged;
    for (id, section) in merged.sections.enumerate() {
        let (Some(twin), Some(native)) = (&section.native, &mut relocated.native[id]) else {
            continue;
        };
        if !follows_units(section.name, relocated.behaviour) {
            continue;
        }
        for relocation in &twin.relocations {
            let bytes = native.bytes.to_mut().get_mut(relocation.offset as usize..);
            if let Some(word) = bytes.and_then(<[u8]>::first_chunk_mut)
                && let Some(start) =
                    units.place(merged, relocation.symbol, u32::from_le_bytes(*word).into())
            {
                *word = (start as u32).to_le_bytes();
            }
        }
        for relocation in native.kept.iter_mut().chain(&mut native.resolved) {
            units.follow(merged, relocation);
        }
    }
}
