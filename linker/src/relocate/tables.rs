//! Jump tables of weak functions with several definitions, from sm_100 on.
//!
//! nvlink makes the machine words of tables from the Mercury addresses, those of
//! definitions that are not in use included: of an address that the code in use
//! jumps to by a table of its own it knows the place in machine code, for any
//! other it writes 0; without such a table, nothing. Where tables of two definitions overlap, the one that is
//! not in use is written last (case `ocg_tables`).

use std::collections::HashMap;

use crate::id::SymbolId;
use crate::merge::{NativeContent, Relocation};
use crate::options::Keeping;

use super::Patched;

/// Bytes of an address.
const WORD: usize = 4;

/// Writes the words of tables that are not in use. `relocations` are those of
/// the Mercury section, in order of creation.
pub(super) fn fill(
    patched: &mut Patched<'_>,
    twin: &NativeContent<'_>,
    relocations: &[Relocation],
    keeping: Keeping,
) {
    let mut last = HashMap::new();
    for (index, relocation) in relocations.iter().enumerate() {
        last.insert(relocation.offset, index);
    }
    let is_in_use = |index: usize, relocation: &Relocation| {
        last.get(&relocation.offset) == Some(&index) && is_alive(twin, relocation.offset)
    };
    let mut words: HashMap<SymbolId, HashMap<i64, [u8; WORD]>> = HashMap::new();
    let mut unused = Vec::new();
    for (index, relocation) in relocations.iter().enumerate() {
        let place = relocation.offset as usize;
        let word = patched
            .bytes
            .get(place..)
            .and_then(|rest| rest.first_chunk::<WORD>());
        match word {
            Some(word) if is_in_use(index, relocation) => {
                let own = words.entry(relocation.symbol).or_default();
                own.insert(relocation.addend, *word);
            }
            Some(_) | None => unused.push(relocation),
        }
    }
    if unused.is_empty() {
        return;
    }
    let bytes = patched.bytes.to_mut();
    for relocation in unused.into_iter().rev() {
        let place = relocation.offset as usize;
        if is_alive(twin, relocation.offset) && keeping != Keeping::AsNvlink {
            continue;
        }
        if let Some(known) = words.get(&relocation.symbol)
            && let Some(old) = bytes.get_mut(place..place + WORD)
        {
            let word = known.get(&relocation.addend).copied();
            old.copy_from_slice(&word.unwrap_or_default());
        }
    }
}

/// Whether what stands at a place belongs to a definition that is in use.
fn is_alive(twin: &NativeContent<'_>, offset: u64) -> bool {
    let before = twin.unused.partition_point(|part| part.start <= offset);
    let part = before.checked_sub(1).map(|index| &twin.unused[index]);
    part.is_none_or(|part| !part.contains(&offset))
}
