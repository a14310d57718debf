//! What the descriptions of frames say of places in code.

use std::collections::BTreeMap;

use super::super::recode::Moves;
use super::LENGTH_FIELD;

/// In how many bytes of machine code figures count.
pub(super) const NATIVE_UNIT: u64 = 4;

/// What an entry says, by the address from which it holds. What fills up the
/// entry is a place of which it says nothing.
pub(super) struct Instructions(pub(super) BTreeMap<u64, Vec<u8>>);

/// How places between two steps without instructions are treated: objects of `nvlink -r` have them for definitions that
/// lost.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Empty {
    Kept,
    Dropped,
}

impl Instructions {
    /// `None` if some instruction is not known.
    pub(super) fn parse(bytes: &[u8], unit: u64, empty: Empty) -> Option<Self> {
        let mut all = BTreeMap::new();
        let mut address = 0_u32;
        let mut group: Option<Vec<u8>> = None;
        let mut rest = bytes;
        while let Some((&code, operands)) = rest.split_first() {
            let size = operands_size(code, operands)?;
            match (code, operands.first_chunk()) {
                (ADVANCE, Some(distance)) => {
                    // Of several groups at an address the last one counts.
                    all.extend(group.take().map(|group| (address.into(), group)));
                    if empty == Empty::Kept {
                        group = Some(Vec::new());
                    }
                    let distance = u32::from_le_bytes(*distance).checked_mul(unit as u32)?;
                    // The compiler steps back by very large distances.
                    address = address.wrapping_add(distance);
                }
                (NOTHING, _) => {
                    group.get_or_insert_default();
                }
                _ => group
                    .get_or_insert_default()
                    .extend_from_slice(&rest[..=size]),
            }
            rest = &operands[size..];
        }
        all.extend(group.map(|group| (address.into(), group)));
        Some(Self(all))
    }

    /// A native entry of them with this head, but for its length.
    pub(super) fn behind(&self, head: &[u8]) -> Vec<u8> {
        let mut entry = head.to_vec();
        self.write(&mut entry, NATIVE_UNIT);
        let length = (entry.len() - LENGTH_FIELD) as u64;
        entry[4..LENGTH_FIELD].copy_from_slice(&length.to_le_bytes());
        entry
    }

    /// Writes them behind the head of an entry, and fills that up.
    fn write(&self, entry: &mut Vec<u8>, unit: u64) {
        const ALIGNMENT: usize = 8;
        let mut last = 0;
        for (&address, instructions) in &self.0 {
            if address > last {
                entry.push(ADVANCE);
                entry.extend(((address - last) as u32 / unit as u32).to_le_bytes());
                last = address;
            }
            entry.extend_from_slice(instructions);
        }
        entry.resize(entry.len().next_multiple_of(ALIGNMENT), NOTHING);
    }
}

/// Corrects by how far the instructions of a description of the code from `start` on advance, as far as
/// they are known.
pub(super) fn advance(instructions: &mut [u8], unit: u64, start: u64, moves: &Moves) {
    let mut rest = instructions;
    let mut old = start;
    while let Some((&mut code, operands)) = rest.split_first_mut() {
        let Some(size) = operands_size(code, operands) else {
            return;
        };
        if code == ADVANCE
            && let Some(distance) = operands.first_chunk_mut()
        {
            let end = old.saturating_add(u64::from(u32::from_le_bytes(*distance)) * unit);
            let moved = moves.frame(end).saturating_sub(moves.frame(old)) / unit;
            *distance = (moved as u32).to_le_bytes();
            old = end;
        }
        rest = &mut operands[size..];
    }
}

pub(super) const NOTHING: u8 = 0;
const ADVANCE: u8 = 4;

/// How many bytes follow an instruction; `None` if it is not known or cut off.
fn operands_size(code: u8, operands: &[u8]) -> Option<usize> {
    const SAVE_REGISTER: u8 = 5;
    const RESTORE_REGISTER: u8 = 6;
    const MOVE_REGISTER: u8 = 9;
    const DEFINE_FRAME: u8 = 0x0c;
    /// Where a register was saved, by an expression, whose length comes before it.
    const COMPUTE_REGISTER: u8 = 0x10;
    let size = match code {
        NOTHING => 0,
        ADVANCE => 4,
        RESTORE_REGISTER => size_of_numbers(operands, 1)?,
        SAVE_REGISTER | MOVE_REGISTER | DEFINE_FRAME => size_of_numbers(operands, 2)?,
        COMPUTE_REGISTER => {
            let register = size_of_numbers(operands, 1)?;
            let length = operands.get(register).filter(|length| **length < 0x80)?;
            register + 1 + usize::from(*length)
        }
        _ => return None,
    };
    (size <= operands.len()).then_some(size)
}

/// How many bytes some numbers take, of each of which only the last byte has no
/// high bit.
fn size_of_numbers(bytes: &[u8], count: usize) -> Option<usize> {
    let mut ends = bytes.iter().enumerate().filter(|(_, byte)| **byte < 0x80);
    let (last, _) = ends.nth(count.checked_sub(1)?)?;
    Some(last + 1)
}
