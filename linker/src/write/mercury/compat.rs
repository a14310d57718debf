//! The word of `.nv.compat` that the linker computes from live code.

use crate::arch::Toolkit;
use crate::cubin::CompatCode;
use crate::finalize::Finalized;
use crate::merge::{Merged, SectionKind};

/// Size of the computed value.
const VALUE: usize = 8;

/// `.nv.compat`.
pub(super) fn section(finalized: &Finalized<'_>) -> Vec<u8> {
    let merged = finalized.merged();
    let mut compat = merged.compat.clone();
    for record in &mut compat.records {
        if record.attribute == CompatCode::CAN_FASTPATH_FINALIZE {
            record.value = vec![0; VALUE];
            record.value[0] = fast_path(finalized, merged);
        }
    }
    compat.encode()
}

/// The size of `.nv.compat` before the linker adds what it computes.
pub(super) fn linked_size(merged: &Merged<'_>) -> u64 {
    let mut compat = merged.compat.clone();
    let is_computed = |attribute| attribute == CompatCode::CAN_FASTPATH_FINALIZE;
    compat
        .records
        .retain(|record| !is_computed(record.attribute));
    compat.encode().len() as u64
}

/// Which shortcuts a later finalizer may take. Nothing may without code; on
/// sm_100 one bit depends on the instructions.
fn fast_path(finalized: &Finalized<'_>, merged: &Merged<'_>) -> u8 {
    let number = merged.target.number;
    // nvlink 13.3 and later no longer look (docs/format/notes.md).
    if merged.notes.toolkit >= Toolkit(133) {
        return all_shortcuts(number);
    }
    let pruned = finalized.pruned();
    let mut code = merged
        .sections
        .enumerate()
        .filter(|&(id, section)| section.kind == SectionKind::Text && pruned.live.sections[id])
        .map(|(id, _)| {
            finalized.relocated.native[id]
                .as_ref()
                .map_or(&[][..], |n| &n.bytes)
        })
        .peekable();
    if code.peek().is_none() {
        return 0;
    }
    match number {
        100 if code.any(has_slow_instruction) => 1,
        _ => all_shortcuts(number),
    }
}

/// The shortcuts that code for a processor can allow.
fn all_shortcuts(processor: u16) -> u8 {
    match processor {
        100 => 9,
        120 => 0x50,
        _ => 0,
    }
}

/// Whether native code holds an instruction that processors of the family
/// run differently: double precision, integer matrix products. The forms of
/// comparisons and of tensor memory's products that count are measured (cases
/// `compat_caps`, `compat_comparisons`, `compat_tensors`).
fn has_slow_instruction(code: &[u8]) -> bool {
    /// DMUL, DADD, DFMA, DMMA, IMMA.
    const ALL_FORMS: [u64; 5] = [0x28, 0x29, 0x2b, 0x3f, 0x37];
    /// DSETP without an immediate operand.
    const DSETP: [u64; 3] = [0x22a, 0xc2a, 0xe2a];
    /// FSETP with an immediate operand.
    const FSETP: u64 = 0x80b;
    /// The predicate that FSETP combines its result with: always true.
    const TRUE: u64 = 7;
    /// A product in tensor memory, whose second word holds the kind of its
    /// operands.
    const TENSOR_MEMORY_PRODUCT: u64 = 0x1ea;
    const INTEGERS: u64 = 1;
    let (halves, _) = code.as_chunks();
    let (instructions, _) = halves.as_chunks();
    instructions.iter().any(|instruction: &[[u8; 8]; 2]| {
        let [first, second] = instruction.map(u64::from_le_bytes);
        let opcode = first & 0xfff;
        ALL_FORMS.contains(&(opcode & 0x1ff))
            || DSETP.contains(&opcode)
            || opcode == FSETP && second >> 23 & 15 == TRUE
            || opcode & 0x1ff == TENSOR_MEMORY_PRODUCT && second >> 8 & 3 == INTEGERS
    })
}
