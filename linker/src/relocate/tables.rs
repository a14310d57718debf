//! Jump tables of weak functions with several definitions, from sm_100 on.
//!
//! nvlink makes the machine words of tables from the Mercury addresses, those of
//! definitions that are not in use included: it knows the place in machine code
//! of where the code in use can branch to by tables, as its record says, and for any
//! other address writes 0; without such a record, nothing. Where tables of two definitions overlap,
//! the one merged first is written last (case `ocg_tables`).

use std::borrow::Cow;
use std::collections::HashMap;

use crate::id::SymbolId;
use crate::merge::{Function, Merged, NativeContent, Relocation};
use crate::options::Behaviour;

use super::Patched;

/// Bytes of an address.
const WORD: usize = 4;

/// The targets of branches through tables in the code in use: Mercury addresses, and those in machine code.
type Targets = HashMap<u64, u32>;

/// The targets of functions that were asked for so far.
#[derive(Default)]
struct Known(HashMap<SymbolId, Targets>);

impl Known {
    /// The targets of the function that a relocation points into.
    fn of(&mut self, merged: &Merged<'_>, relocation: &Relocation) -> &Targets {
        self.0.entry(relocation.symbol).or_insert_with(|| {
            let function = merged.symbols[relocation.symbol].function;
            function.map_or_else(Targets::new, |f| targets_of(&merged.functions[f]))
        })
    }
}

/// A word of a table.
struct Entry {
    place: usize,
    /// Where it leads in machine code, if that is known.
    target: Option<u32>,
    /// Whether it belongs to a definition that is in use.
    is_in_use: bool,
}

/// Writes the words of tables. `relocations` are those of the Mercury section, in
/// order of creation.
pub(super) fn fill(
    patched: &mut Patched<'_>,
    merged: &Merged<'_>,
    twin: &NativeContent<'_>,
    relocations: &[Relocation],
    behaviour: Behaviour,
) {
    let mut known = Known::default();
    let entry = |relocation: &Relocation| {
        let targets = known.of(merged, relocation);
        let address = u64::try_from(relocation.addend).ok();
        let is_known = behaviour == Behaviour::Nvlink || !targets.is_empty();
        is_known.then(|| Entry {
            place: relocation.offset as usize,
            target: address.and_then(|address| targets.get(&address)).copied(),
            is_in_use: is_alive(twin, relocation.offset),
        })
    };
    // Addresses of functions inside a kernel are the compiler's.
    let relocations = relocations.iter();
    let relocations = relocations.filter(|r| merged.surrounding(r.symbol).is_none());
    let entries: Vec<Entry> = relocations.filter_map(entry).collect();
    write(&mut patched.bytes, &entries, behaviour);
}

/// Translates the words of tables once more, as if these places in machine code were Mercury addresses. nvlink does so by
/// mistake in the later of two sections of a name (case `ocg_leftovers`), and in the last bank of several slots of unified
/// functions (case `unified_tables`).
pub(super) fn lead_on(patched: &mut Patched<'_>, merged: &Merged<'_>, relocations: &[Relocation]) {
    let mut known = Known::default();
    let entry = |relocation: &Relocation| {
        let place = relocation.offset as usize;
        let word = patched.bytes.get(place..)?.first_chunk::<WORD>()?;
        let address = u64::from(u32::from_le_bytes(*word));
        Some(Entry {
            place,
            target: known.of(merged, relocation).get(&address).copied(),
            is_in_use: false,
        })
    };
    let entries: Vec<Entry> = relocations.iter().filter_map(entry).collect();
    write(&mut patched.bytes, &entries, Behaviour::Nvlink);
}

/// Writes 0 into the words of tables.
pub(super) fn clear(patched: &mut Patched<'_>, relocations: &[Relocation]) {
    let entries: Vec<Entry> = relocations
        .iter()
        .map(|relocation| Entry {
            place: relocation.offset as usize,
            target: None,
            is_in_use: false,
        })
        .collect();
    write(&mut patched.bytes, &entries, Behaviour::Nvlink);
}

fn write(bytes: &mut Cow<'_, [u8]>, entries: &[Entry], behaviour: Behaviour) {
    for index in 0..entries.len() {
        let entry = match behaviour {
            Behaviour::Nvlink => &entries[entries.len() - 1 - index],
            Behaviour::Own => &entries[index],
        };
        let word = bytes.get(entry.place..);
        let Some(old) = word.and_then(|rest| rest.first_chunk::<WORD>()) else {
            continue;
        };
        // What is in use came with its words, but from objects of `nvlink -r`, where it comes
        // first.
        let stays = behaviour == Behaviour::Own
            && entry.is_in_use
            && (entry.target.is_none() || *old != [0; WORD]);
        let new = entry.target.unwrap_or_default().to_le_bytes();
        if !stays && *old != new {
            bytes.to_mut()[entry.place..entry.place + WORD].copy_from_slice(&new);
        }
    }
}

fn targets_of(function: &Function<'_>) -> Targets {
    let branches = function.table_branches();
    let native = function.native_branches();
    let twins = branches.into_iter().zip(native);
    let targets = twins.flat_map(|(branch, twin)| branch.targets.into_iter().zip(twin.targets));
    targets
        .filter_map(|(mercury, native)| Some((mercury, u32::try_from(native).ok()?)))
        .collect()
}

/// Whether what stands at a place belongs to a definition that is in use.
fn is_alive(twin: &NativeContent<'_>, offset: u64) -> bool {
    let before = twin.unused.partition_point(|part| part.start <= offset);
    let part = before.checked_sub(1).map(|index| &twin.unused[index]);
    part.is_none_or(|part| !part.contains(&offset))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What becomes of a word where the entries of two definitions meet, in their order.
    fn check(old: u32, targets: [Option<u32>; 2], behaviour: Behaviour, expected: u32) {
        let entry = |target| Entry {
            place: 0,
            target,
            is_in_use: true,
        };
        let mut bytes = old.to_le_bytes().to_vec().into();
        write(&mut bytes, &targets.map(entry), behaviour);
        assert_eq!(*bytes, expected.to_le_bytes());
    }

    #[test]
    fn replaced_tables_come_first() {
        let targets = [None, Some(0x110)];
        check(0x110, targets, Behaviour::Own, 0x110);
        check(0x110, targets, Behaviour::Nvlink, 0);
    }

    #[test]
    fn in_objects_of_nvlink_tables_in_use_come_first() {
        let targets = [Some(0x110), Some(0x7c0)];
        check(0, targets, Behaviour::Own, 0x110);
        check(0, targets, Behaviour::Nvlink, 0x110);
    }
}
