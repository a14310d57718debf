//! The slots of unified functions in the Mercury generation.
//!
//! nvlink makes all slots one function: each is a jump and instructions that do
//! nothing, and what ends a function stands once behind all of them (case
//! `unified_program`).

use std::borrow::Cow;
use std::ops::Range;

use crate::cubin::Capsule;
use crate::error::ParseError;
use crate::merge::{Content, STUB_SIZE, Section, SectionKind, missing_in_slot};
use crate::options::{Behaviour, DebugLevel};

use super::Relocated;
use super::recode::renewed;
use super::scoreboards::instruction::{INSTRUCTION, operation};

/// Instructions of a slot that are not the end of its function.
const BODY: usize = 6;
/// Instructions of a slot in the joined section.
const JOINED_BODY: usize = STUB_SIZE as usize / INSTRUCTION;

/// What a slot has of instructions among all slots, and how many of these are its own. nvlink adds two; ours fills it up.
fn shape(capsule: &Capsule<'_>, behaviour: Behaviour) -> (usize, usize) {
    let missing = missing_in_slot(capsule);
    let all = match behaviour {
        Behaviour::Nvlink => JOINED_BODY - missing,
        Behaviour::Own => JOINED_BODY,
    };
    (all, BODY - missing)
}

/// The end of the Mercury code after the last slot, with so many idle instructions after it.
fn end(idle: usize) -> [u8; 2] {
    const END: u16 = 0x50;
    (END | (idle as u16 + 1) << 7).to_le_bytes()
}

/// The Mercury code of all slots.
pub(super) fn mercury<'d>(
    section: &Section<'d>,
    behaviour: Behaviour,
) -> Result<Cow<'d, [u8]>, ParseError> {
    let slots = &section.content.contributions;
    let native = section
        .native
        .iter()
        .flat_map(|n| n.content.contributions.iter());
    let mut text_section = 0;
    let mut stored = Vec::new();
    let mut absent = Vec::new();
    for (slot, code) in slots.iter().zip(native) {
        let data = renewed(Cow::Borrowed(slot.data), code.data)?;
        let capsule = Capsule::parse(&data)?;
        if absent.is_empty() {
            text_section = capsule.text_section;
        }
        // The jump, and with `-Ofc=max` what comes behind it, but not the end.
        let first = absent.len();
        absent.resize(first + shape(&capsule, behaviour).0, true);
        for instruction in &capsule.stored {
            let index = instruction.index as usize;
            if index + 1 < (capsule.instructions as usize).min(JOINED_BODY) {
                absent[first + index] = false;
                stored.extend_from_slice(instruction.bytes);
            }
        }
    }
    absent.push(false);
    let idle = absent.len().next_multiple_of(JOINED_BODY) - absent.len();
    stored.extend(end(idle));
    match Capsule::assemble(text_section, Capsule::MARKER, &absent, &stored) {
        Some(bytes) => Ok(bytes.into()),
        None => Err(ParseError::malformed("more slots than code can have")),
    }
}

/// The machine code of all slots.
pub(super) fn native<'d>(
    section: &Section<'_>,
    content: &Content<'d>,
    behaviour: Behaviour,
) -> Result<Cow<'d, [u8]>, ParseError> {
    let mut bytes = Vec::new();
    let mut end: &[u8] = &[];
    for (slot, mercury) in content
        .contributions
        .iter()
        .zip(section.content.contributions.iter())
    {
        let (all, own) = shape(&Capsule::parse(mercury.data)?, behaviour);
        let (body, tail) = slot.data.split_at(slot.data.len().min(own * INSTRUCTION));
        let start = bytes.len();
        bytes.extend_from_slice(body);
        fill(&mut bytes, body, start + all * INSTRUCTION);
        end = tail;
    }
    bytes.extend_from_slice(end.get(..INSTRUCTION).unwrap_or(end));
    let size = bytes.len().next_multiple_of(STUB_SIZE as usize);
    fill(&mut bytes, end, size);
    Ok(bytes.into())
}

/// Makes the machine code of all slots wait after each instruction in links for debuggers, as nvlink does, or not wait in
/// others. The end of the function stays as it is (case `unified_funcs`).
pub(crate) fn pace_slots(relocated: &mut Relocated<'_>, behaviour: Behaviour, debug: DebugLevel) {
    /// The control bits of an instruction.
    const CONTROL: Range<usize> = 13..15;
    const OF_END: [u8; 2] = [0xc0, 0x0f];
    const SLOW: [u8; 2] = [0xde, 0x3f];
    const OF_NOP: [u8; 2] = [0xe2, 0x0f];
    const OF_JUMP: [u8; 2] = [0xea, 0x0f];
    /// Of what moves the stack pointer first.
    const OF_ADDITION: [u8; 2] = [0xce, 0x0f];
    const NOP: u16 = 0x118;
    const ADDITION: u16 = 0x010;
    if behaviour != Behaviour::Nvlink {
        return;
    }
    let pace = |instruction: &mut [u8; INSTRUCTION]| {
        let old = &instruction[CONTROL];
        let new = match debug == DebugLevel::Symbols {
            true if old != OF_END => SLOW,
            false if old == SLOW => match operation(instruction) {
                NOP => OF_NOP,
                ADDITION => OF_ADDITION,
                _ => OF_JUMP,
            },
            true | false => return,
        };
        instruction[CONTROL].copy_from_slice(&new);
    };
    let merged = &relocated.laid_out.pruned.merged;
    let slots = merged.sections.of_kind(|kind| kind == SectionKind::Stubs);
    for (id, _) in slots {
        if let Some(native) = &mut relocated.native[id] {
            let instructions = native.bytes.to_mut().as_chunks_mut().0;
            instructions.iter_mut().for_each(pace);
        }
    }
}

/// Appends `code`, and its last instruction again and again up to a size.
fn fill(bytes: &mut Vec<u8>, code: &[u8], size: usize) {
    let instruction = code.rchunks_exact(INSTRUCTION).next().unwrap_or_default();
    while !instruction.is_empty() && bytes.len() < size {
        bytes.extend_from_slice(instruction);
    }
}
