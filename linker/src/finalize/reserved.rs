//! What the system keeps at the start of shared memory, where nothing may be.

use rustc_hash::FxHashMap;

use crate::cubin::InfoCode;
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::id::{FunctionId, IdVec};
use crate::merge::InfoRecord;
use crate::options::{Behaviour, Reservation};
use crate::prune::Pruned;

use super::records::Records;

/// Reports functions that use such memory although `-disable-smem-reservation` leaves none: kernels that do so through
/// others, then those whose own code does, in the order of their records. nvlink also finds those that it leaves out, and
/// has no names for them (case `disabled_reservation`).
pub(super) fn check(
    pruned: &Pruned<'_>,
    records: &IdVec<FunctionId, Records<'_>>,
    behaviour: Behaviour,
    diagnostics: &mut Diagnostics,
) {
    let merged = &pruned.merged;
    if merged.settings.shared_memory.reservation != Reservation::Disabled {
        return;
    }
    let says = |records: &[InfoRecord<'_>]| {
        let mut codes = records.iter().map(|record| record.code);
        codes.any(|code| code == InfoCode::RESERVED_SMEM_USED)
    };
    let using = merged
        .functions
        .enumerate()
        .filter(|&(id, _)| says(&records[id]));
    let (mut own, inherited): (Vec<_>, Vec<_>) = using.partition(|(_, row)| says(row.records));
    let places = merged.described.iter().zip(0..);
    let last: FxHashMap<&FunctionId, usize> = places.collect();
    own.sort_by_key(|(id, _)| last.get(id).copied());
    for (id, row) in inherited.into_iter().chain(own) {
        match (pruned.live.functions[id], behaviour) {
            (true, _) => {
                let name = merged.symbols[row.symbol].name;
                diagnostics.push(Diagnostic::reserved_shared(name));
            }
            (false, Behaviour::Nvlink) => diagnostics.push(Diagnostic::reserved_shared("(null)")),
            (false, Behaviour::Own) => {}
        }
    }
}
