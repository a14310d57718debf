//! Mercury code as it is stored: which bytes a relocation means.
//!
//! A code section holds only what the machine code beside it does not say.
//! Of the places whose value a link knows these are the loads from constant
//! banks; addresses in shared memory stand in instructions that are not
//! stored. Offsets of Mercury relocations count expanded code, whose sizes are
//! not known here, so that a load is found by the machine instruction that it
//! stands for. Uses of a symbol come in the same order in both forms of the
//! code.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::arch::relocation::{RelocationType, Target};
use crate::cubin::{Capsule, StoredInstruction};
use crate::error::ParseError;
use crate::id::SymbolId;
use crate::merge::Relocation;

use super::recode::{Group, groups};
use super::scoreboards::instruction::{INSTRUCTION, UNIFORM_LOAD, operation};

/// For each Mercury relocation the byte of the section that it patches, `None`
/// where the instruction is not stored.
pub(super) fn positions(
    section: &[u8],
    mercury: &[Relocation],
    code: &[u8],
    native: &[Relocation],
) -> Result<Vec<Option<u64>>, ParseError> {
    let mut positions = vec![None; mercury.len()];
    if !patches_loads(native) {
        return Ok(positions);
    }
    let capsule = Capsule::parse(section)?;
    let loads = values_of_loads(&capsule, code);
    let native = by_symbol(native);
    for (symbol, uses) in by_symbol(mercury) {
        let Some(twins) = native.get(&symbol) else {
            continue;
        };
        for (&(offset, index), &(twin, _)) in uses.iter().zip(twins) {
            let group = loads.get(&(twin as usize / INSTRUCTION));
            positions[index] = group.map(|&group| group + offset % INSTRUCTION as u64);
        }
    }
    Ok(positions)
}

/// Offset and index of each symbol's relocations, by offset.
fn by_symbol(relocations: &[Relocation]) -> FxHashMap<SymbolId, Vec<(u64, usize)>> {
    let mut uses: FxHashMap<SymbolId, Vec<(u64, usize)>> = FxHashMap::default();
    for (index, relocation) in relocations.iter().enumerate() {
        uses.entry(relocation.symbol)
            .or_default()
            .push((relocation.offset, index));
    }
    for list in uses.values_mut() {
        list.sort_unstable();
    }
    uses
}

/// Whether any instruction gets an offset in a constant bank.
fn patches_loads(native: &[Relocation]) -> bool {
    native.iter().any(|relocation| {
        let row = RelocationType(relocation.kind).row();
        row.is_some_and(|row| !row.bank.is_empty())
    })
}

/// For machine instructions that load a constant of the program, where the
/// value of the stored instruction begins. A load that is not stored has none;
/// it is not patched.
fn values_of_loads(capsule: &Capsule<'_>, code: &[u8]) -> FxHashMap<usize, u64> {
    let instructions = code.as_chunks::<INSTRUCTION>().0;
    let value = |group: Group<'_>| {
        let value = value_of_load(group.stored.as_ref()?)?;
        let machine = instructions.get(group.start..group.end)?;
        let load = machine.iter().position(is_load)?;
        Some((group.start + load, value))
    };
    groups(capsule).filter_map(value).collect()
}

/// Whether machine code is `LDC` or `LDCU`.
fn is_load(instruction: &[u8; INSTRUCTION]) -> bool {
    matches!(operation(instruction), 0x182 | UNIFORM_LOAD)
}

/// Where the last half of a stored load from a bank of the program begins,
/// which holds the offset. Bank 0 has the parameters.
fn value_of_load(instruction: &StoredInstruction<'_>) -> Option<u64> {
    let end = instruction.offset as usize + instruction.bytes.len();
    let bank = bank_of_load(instruction)?;
    (bank != 0).then_some((end - INSTRUCTION) as u64)
}

/// The bank of a stored load from one.
fn bank_of_load(instruction: &StoredInstruction<'_>) -> Option<u8> {
    const LOAD: u8 = 0x22;
    const FORMS: [u8; 4] = [0x08, 0x0a, 0x0c, 0x0e];
    const BANK: usize = 12;
    let body = instruction.body();
    let is_load = body.len() == 2 * INSTRUCTION && body[1] == LOAD && FORMS.contains(&body[2]);
    is_load.then(|| body[BANK] & 0x3f)
}

/// Loads of handles for which a register says which one: lets machine code add that to where handles start. Mercury code
/// counts from there, and has no relocation (case `texture_places`). So does all code of whole programs (case
/// `whole_program_textures`).
pub(super) fn start_handles(
    section: &[u8],
    code: &mut [u8],
    native: &[Relocation],
    start: u64,
) -> Result<(), ParseError> {
    const HANDLES: u8 = 9;
    let capsule = Capsule::parse(section)?;
    let loads_handle = |group: &Group<'_>| {
        let bank = group.stored.as_ref().and_then(bank_of_load);
        bank == Some(HANDLES)
    };
    let instructions = code.as_chunks::<INSTRUCTION>().0;
    let load = |group: Group<'_>| {
        let machine = instructions.get(group.start..group.end)?;
        let number = machine.iter().position(is_load)?;
        let kind = match operation(&machine[number]) == UNIFORM_LOAD {
            true => RelocationType::R_CUDA_CONST_FIELD22_37,
            false => RelocationType::R_CUDA_CONST_FIELD21_38,
        };
        let place = ((group.start + number) * INSTRUCTION) as u64;
        let stored = group.stored.as_ref()?.body();
        let offset = stored
            .last_chunk()
            .map(|&bytes| u32::from_le_bytes(bytes))?;
        Some((place, kind.row()?, u64::from(offset)))
    };
    let loads = groups(&capsule).filter(loads_handle).filter_map(load);
    let known: FxHashSet<u64> = native.iter().map(|r| r.offset).collect();
    let loads: Vec<_> = loads.filter(|(place, ..)| !known.contains(place)).collect();
    for (place, row, offset) in loads {
        row.resolve(code, place, Target::in_bank(0, start + offset), Some(0))
            .map_err(|error| ParseError::malformed(error.to_string()).at(place))?;
    }
    Ok(())
}
