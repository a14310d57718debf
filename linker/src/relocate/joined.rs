//! Records of what was resolved in code of one name, which have one section.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::arch::relocation::RelocationType;
use crate::id::{IdVec, SectionId};
use crate::merge::{Merged, Relocation, SectionKind};
use crate::options::{Behaviour, ResolvedRelocations};

use super::expanded::{Acting, Places};
use super::scoreboards::instruction::{INSTRUCTION, is_for_all, operation};
use super::{Patched, Twins};

/// What was resolved in code that has no section for it is recorded in that
/// of the first code of the name, the last code first.
pub(super) fn join_records(
    merged: &Merged<'_>,
    sections: &mut IdVec<SectionId, Patched<'_>>,
    native: &mut Twins<'_>,
    behaviour: Behaviour,
) {
    if merged.settings.resolved_relocations == ResolvedRelocations::Dropped {
        return;
    }
    let records = merged.sections.iter();
    let records = records.filter(|s| s.kind == SectionKind::ResolvedRela);
    let recorded: FxHashSet<SectionId> = records.filter_map(|s| s.target).collect();
    let mut first: FxHashMap<&str, SectionId> = FxHashMap::default();
    for (id, section) in merged.sections.enumerate() {
        if recorded.contains(&id) {
            first.entry(section.name).or_insert(id);
        } else if let Some(&first) = first.get(section.name) {
            let linked = std::mem::take(&mut sections[id].resolved);
            let own = native[id].as_mut().map(|n| std::mem::take(&mut n.resolved));
            if let (Some(mut own), Some(first_twin)) = (own, &mut native[first]) {
                if behaviour == Behaviour::Nvlink {
                    look_elsewhere(merged, first, &first_twin.bytes, &linked, &mut own);
                }
                first_twin.resolved.splice(..0, own);
            }
            sections[first].resolved.splice(..0, linked);
        }
    }
}

/// nvlink makes native records of Mercury ones, and looks for their places in the code of the first function of the name: what
/// stands there says which field it takes to be meant (case `static_code_recorded`). Behind the end of that code it writes what its
/// memory holds.
fn look_elsewhere(
    merged: &Merged<'_>,
    first: SectionId,
    code: &[u8],
    linked: &[Relocation],
    native: &mut [Relocation],
) {
    let function = merged.sections[first].function;
    let places = function.and_then(|f| Places::of(merged, merged.functions[f].symbol));
    let Some(places) = places.filter(|_| linked.len() == native.len()) else {
        return;
    };
    for (linked, native) in linked.iter().zip(native) {
        let Some(acting) = places.acting(linked.offset) else {
            continue;
        };
        native.offset = acting.place;
        let instruction = code.get(acting.place as usize..);
        let instruction = instruction.and_then(<[u8]>::first_chunk::<INSTRUCTION>);
        if linked.kind == RelocationType::R_MERCURY_ABS32.0
            && let Some(instruction) = instruction
        {
            native.kind = field_of(instruction, &acting).0;
        }
    }
}

/// The field that nvlink takes an address in an instruction to be in.
fn field_of(instruction: &[u8; INSTRUCTION], acting: &Acting) -> RelocationType {
    const REGISTER_FORM: u8 = 1;
    let is_guarded = !is_for_all(instruction);
    let form = instruction[1] >> 1 & 7;
    match operation(instruction) {
        // MOV, CS2R, UMOV, R2UR, S2R, LDC, LDCU and S2UR.
        0x002 | 0x005 | 0x082 | 0x0ca | 0x119 | 0x182 | 0x1ac | 0x1c3
            if acting.is_alone && !(is_guarded && form == REGISTER_FORM) =>
        {
            RelocationType::R_CUDA_ABS32_32
        }
        // DEPBAR, and copies and barriers of blocks and clusters.
        0x11a | 0x1ae | 0x1af | 0x1b0 | 0x1b4 | 0x1b7 | 0x1ba | 0x1bb => {
            RelocationType::R_CUDA_ABS20_44
        }
        _ => RelocationType::R_CUDA_ABS24_40,
    }
}
