//! Jump tables of weak functions with several definitions, from sm_100 on.
//!
//! nvlink makes the machine words of tables from the Mercury addresses, those of
//! definitions that are not in use included: it knows the place in machine code
//! of where the code in use can branch to by tables, as its record says, and for any
//! other address writes 0; without such a record, nothing. Where tables of two definitions overlap,
//! the one merged first is written last (case `ocg_tables`).

use std::collections::HashMap;

use crate::id::SymbolId;
use crate::merge::{Function, Merged, NativeContent, Relocation};
use crate::options::Keeping;

use super::Patched;

/// Bytes of an address.
const WORD: usize = 4;

/// Where code in use can branch to by tables, in Mercury and in machine code.
type Targets = HashMap<u64, u32>;

/// Writes the words of tables. `relocations` are those of the Mercury section, in
/// order of creation.
pub(super) fn fill(
    patched: &mut Patched<'_>,
    merged: &Merged<'_>,
    twin: &NativeContent<'_>,
    relocations: &[Relocation],
    keeping: Keeping,
) {
    let mut known: HashMap<SymbolId, Targets> = HashMap::new();
    for relocation in relocations.iter().rev() {
        let targets = known.entry(relocation.symbol).or_insert_with(|| {
            let function = merged.symbols[relocation.symbol].function;
            function.map_or_else(Targets::new, |f| targets_of(&merged.functions[f]))
        });
        let place = relocation.offset as usize;
        let word = patched.bytes.get(place..);
        let Some(old) = word.and_then(|rest| rest.first_chunk::<WORD>()) else {
            continue;
        };
        let address = u64::try_from(relocation.addend).ok();
        let target = address.and_then(|address| targets.get(&address)).copied();
        // What is in use came with its words, but from objects of `nvlink -r`.
        let stays = keeping != Keeping::AsNvlink
            && is_alive(twin, relocation.offset)
            && (target.is_none() || *old != [0; WORD]);
        let new = target.unwrap_or_default().to_le_bytes();
        if !targets.is_empty() && !stays && *old != new {
            patched.bytes.to_mut()[place..place + WORD].copy_from_slice(&new);
        }
    }
}

fn targets_of(function: &Function<'_>) -> Targets {
    let branches = function.table_branches();
    let native = function.native.table_branches();
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
