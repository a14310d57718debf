//! The slots of unified functions in the Mercury generation.
//!
//! nvlink makes all slots one function: each is a jump and instructions that do
//! nothing, and what ends a function stands once behind all of them (case
//! `unified_program`).

use std::borrow::Cow;

use crate::cubin::Capsule;
use crate::error::ParseError;
use crate::merge::{Content, STUB_SIZE, Section};

use super::recode::renewed;

/// Bytes of one instruction of machine code.
const INSTRUCTION: usize = 16;
/// Instructions of a slot that are not the end of its function.
const BODY: usize = 6;
/// Instructions of a slot in Mercury code.
const MERCURY_BODY: u32 = 8;
/// What stands behind the last slot in Mercury code.
const END: [u8; 2] = [0x50, 4];

/// The Mercury code of all slots.
pub(super) fn mercury<'d>(section: &Section<'d>) -> Result<Cow<'d, [u8]>, ParseError> {
    let slots = &section.content.contributions;
    let native = section.native.iter().flat_map(|n| &n.content.contributions);
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
        // Only the jump is stored.
        bitmap.push(0xfe);
        if let Some(jump) = capsule.stored.first() {
            stored.extend_from_slice(jump.bytes);
        }
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
    for slot in &content.contributions {
        let (body, tail) = slot.data.split_at(slot.data.len().min(BODY * INSTRUCTION));
        bytes.extend_from_slice(body);
        fill(&mut bytes, body);
        end = tail;
    }
    bytes.extend_from_slice(end);
    fill(&mut bytes, end);
    bytes.into()
}

/// Repeats the last instruction of `code` up to the end of a slot.
fn fill(bytes: &mut Vec<u8>, code: &[u8]) {
    let instruction = code.rchunks_exact(INSTRUCTION).next().unwrap_or_default();
    while !instruction.is_empty() && !bytes.len().is_multiple_of(STUB_SIZE as usize) {
        bytes.extend_from_slice(instruction);
    }
}
