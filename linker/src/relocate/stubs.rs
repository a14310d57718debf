//! The slots of unified functions in the Mercury generation.
//!
//! nvlink makes all slots one function: each is a jump and instructions that do
//! nothing, and what ends a function stands once behind all of them (case
//! `unified_program`).

use std::borrow::Cow;
use std::ops::Range;

use crate::cubin::Capsule;
use crate::error::ParseError;
use crate::merge::{Content, STUB_SIZE, Section, SectionKind};
use crate::options::{DebugLevel, Keeping};

use super::Relocated;
use super::recode::renewed;
use super::scoreboards::instruction::{INSTRUCTION, operation};

/// Instructions of a slot that are not the end of its function.
const BODY: usize = 6;
/// Instructions of a slot in Mercury code.
const MERCURY_BODY: u32 = 8;
/// What stands behind the last slot in Mercury code.
const END: [u8; 2] = [0x50, 4];

/// The Mercury code of all slots.
pub(super) fn mercury<'d>(section: &Section<'d>) -> Result<Cow<'d, [u8]>, ParseError> {
    let slots = &section.content.contributions;
    let native = section
        .native
        .iter()
        .flat_map(|n| n.content.contributions.iter());
    let mut bytes = Vec::new();
    let mut stored = Vec::new();
    let mut bitmap = Vec::new();
    for (slot, code) in slots.iter().zip(native) {
        let data = renewed(Cow::Borrowed(slot.data), code.data)?;
        let capsule = Capsule::parse(&data)?;
        if bytes.is_empty() {
            let instructions = MERCURY_BODY * slots.len() as u32 + 1;
            for word in [capsule.text_section, Capsule::MARKER, instructions] {
                bytes.extend(word.to_le_bytes());
            }
        }
        // The jump, and with `-Ofc=max` what comes behind it, but not the end.
        let mut absent = u8::MAX;
        for instruction in &capsule.stored {
            if instruction.index + 1 < capsule.instructions.min(MERCURY_BODY) {
                absent &= !(1 << instruction.index);
                stored.extend_from_slice(instruction.bytes);
            }
        }
        bitmap.push(absent);
    }
    bitmap.push(0);
    bitmap.resize(bitmap.len().next_multiple_of(4), 0);
    bytes.append(&mut bitmap);
    bytes.append(&mut stored);
    bytes.extend(END);
    Ok(bytes.into())
}

/// The machine code of all slots.
pub(super) fn native<'d>(content: &Content<'d>) -> Cow<'d, [u8]> {
    let mut bytes = Vec::new();
    let mut end: &[u8] = &[];
    for slot in content.contributions.iter() {
        let (body, tail) = slot.data.split_at(slot.data.len().min(BODY * INSTRUCTION));
        bytes.extend_from_slice(body);
        fill(&mut bytes, body);
        end = tail;
    }
    bytes.extend_from_slice(end);
    fill(&mut bytes, end);
    bytes.into()
}

/// Lets the machine code of all slots wait after each instruction, as nvlink has it in links that say something to
/// debuggers, or no longer, as in others of what these made; what ends the function stays (case `unified_funcs`).
pub(crate) fn pace_slots(relocated: &mut Relocated<'_>, keeping: Keeping, debug: DebugLevel) {
    /// Where the control bits of an instruction stand.
    const CONTROL: Range<usize> = 13..15;
    const OF_END: [u8; 2] = [0xc0, 0x0f];
    const SLOW: [u8; 2] = [0xde, 0x3f];
    const OF_NOP: [u8; 2] = [0xe2, 0x0f];
    const OF_JUMP: [u8; 2] = [0xea, 0x0f];
    const NOP: u16 = 0x118;
    if keeping != Keeping::AsNvlink {
        return;
    }
    let pace = |instruction: &mut [u8; INSTRUCTION]| {
        let old = &instruction[CONTROL];
        let new = match debug == DebugLevel::Symbols {
            true if old != OF_END => SLOW,
            false if old == SLOW && operation(instruction) == NOP => OF_NOP,
            false if old == SLOW => OF_JUMP,
            true | false => return,
        };
        instruction[CONTROL].copy_from_slice(&new);
    };
    let merged = &relocated.laid_out.pruned.merged;
    let slots = merged.sections_of(|kind| kind == SectionKind::Stubs);
    for (id, _) in slots {
        if let Some(native) = &mut relocated.native[id] {
            let instructions = native.bytes.to_mut().as_chunks_mut().0;
            instructions.iter_mut().for_each(pace);
        }
    }
}

/// Repeats the last instruction of `code` up to the end of a slot.
fn fill(bytes: &mut Vec<u8>, code: &[u8]) {
    let instruction = code.rchunks_exact(INSTRUCTION).next().unwrap_or_default();
    while !instruction.is_empty() && !bytes.len().is_multiple_of(STUB_SIZE as usize) {
        bytes.extend_from_slice(instruction);
    }
}
