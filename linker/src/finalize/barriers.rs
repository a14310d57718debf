//! Numbers of barriers, which objects of CUDA 12 have in the flags of their code.
//!
//! Executables have them in records instead. nvlink makes these records last, after kernels have taken over those of the
//! functions they reach, and only where there is none: so a kernel of CUDA 12 that calls a function of CUDA 13 loses its own
//! number (case `older_barriers`). We take the larger one.

use crate::cubin::{Format, InfoCode};
use crate::id::{FunctionId, IdVec, SectionId};
use crate::merge::{InfoRecord, Payload};
use crate::options::Behaviour;
use crate::prune::Pruned;

use super::records::{Records, put};

/// Turns numbers in flags into records, of the functions and of the kernels that reach them. Returns the code whose flags
/// have to be cleared for that.
pub(super) fn record<'d>(
    pruned: &Pruned<'d>,
    behaviour: Behaviour,
    records: &mut IdVec<FunctionId, Records<'d>>,
) -> Vec<SectionId> {
    let mut changed = Vec::new();
    for (id, function) in pruned.merged.functions.enumerate() {
        let Some(text) = function.text else { continue };
        let counted = pruned.merged.sections[text].flags.barriers();
        if counted == 0 || !pruned.live.functions[id] {
            continue;
        }
        let own = recorded(&records[id]);
        if behaviour == Behaviour::Nvlink && own > 0 {
            continue;
        }
        put(&mut records[id], barriers(own.max(counted)));
        changed.push((id, text));
    }
    if changed.is_empty() {
        return Vec::new();
    }
    let mut counted = IdVec::filled(&pruned.merged.functions, 0);
    for &(id, _) in &changed {
        counted[id] = recorded(&records[id]);
    }
    let most = |sum: &mut u8, more: &u8| *sum = (*sum).max(*more);
    let reached = pruned.graph.over_callees(|f| counted[f], most);
    for entry in pruned.entries() {
        if reached[entry] > recorded(&records[entry]) {
            put(&mut records[entry], barriers(reached[entry]));
        }
    }
    changed.into_iter().map(|(_, text)| text).collect()
}

/// What the records say or, where none do, the flags: in relocatable objects
/// these stay.
pub(super) fn used(pruned: &Pruned<'_>, function: FunctionId, records: &[InfoRecord<'_>]) -> u8 {
    let text = pruned.merged.functions[function].text;
    let counted = text.map_or(0, |text| pruned.merged.sections[text].flags.barriers());
    match recorded(records) {
        0 => counted,
        recorded => recorded,
    }
}

/// What the records say; 0 if they say nothing. nvlink takes the byte that
/// follows the code, which is the length of a record that has one (case
/// `every_attribute`).
fn recorded(records: &[InfoRecord<'_>]) -> u8 {
    let counted = records.iter();
    let counted = counted.filter(|record| record.code == InfoCode::NUM_BARRIERS);
    let counts = counted.filter_map(|record| match record.payload {
        Payload::Head([count, _]) => Some(count),
        Payload::Bytes(bytes) => Some(bytes.len().to_le_bytes()[0]),
        Payload::Symbol(..) | Payload::WithStrays(_) | Payload::Symbols(_) => None,
    });
    counts.max().unwrap_or(0)
}

fn barriers<'d>(count: u8) -> InfoRecord<'d> {
    InfoRecord {
        format: Format::Byte,
        code: InfoCode::NUM_BARRIERS,
        payload: Payload::Head([count, 0]),
    }
}
