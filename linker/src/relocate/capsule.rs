//! Mercury code as it is stored: which bytes a relocation means.
//!
//! A code section holds a bitmap of its instructions and then records only
//! for those that the native code does not already say. Relocations count in
//! the expanded stream, so the patched record is found through the native
//! relocation for the same use of the same symbol.

use rustc_hash::FxHashMap;

use crate::error::{ParseError, Problem};
use crate::id::SymbolId;
use crate::merge::Relocation;

/// Header words before the bitmap.
const HEADER: usize = 12;
/// Bytes of one native instruction.
const INSTRUCTION: u64 = 16;

/// For each Mercury relocation the byte of the section it patches, `None`
/// where the instruction is not stored.
pub(super) fn positions(
    bytes: &[u8],
    mercury: &[Relocation],
    native: &[Relocation],
) -> Result<Vec<Option<u64>>, ParseError> {
    let records = Records::parse(bytes)?;
    let native = by_symbol(native);
    let mut positions = vec![None; mercury.len()];
    for (symbol, uses) in by_symbol(mercury) {
        let Some(twins) = native.get(&symbol) else {
            continue;
        };
        for (&(offset, index), &(twin, _)) in uses.iter().zip(twins) {
            positions[index] = records.position((twin / INSTRUCTION) as usize, offset);
        }
    }
    Ok(positions)
}

/// Offset and index of each symbol's relocations, by offset.
fn by_symbol(relocations: &[Relocation]) -> FxHashMap<SymbolId, Vec<(u64, usize)>> {
    let mut uses: FxHashMap<SymbolId, Vec<(u64, usize)>> = FxHashMap::default();
    for (index, relocation) in relocations.iter().enumerate() {
        uses.entry(relocation.symbol)
            .or_default()
            .push((relocation.offset, index));
    }
    for list in uses.values_mut() {
        list.sort_unstable();
    }
    uses
}

/// Where each stored instruction's word starts.
struct Records {
    words: Vec<Option<usize>>,
}

impl Records {
    fn parse(bytes: &[u8]) -> Result<Self, ParseError> {
        let short = || {
            ParseError::new(Problem::Truncated {
                what: "Mercury code",
                end: bytes.len() as u64 + 1,
                available: bytes.len() as u64,
            })
        };
        let count = bytes
            .get(8..HEADER)
            .and_then(|b| b.first_chunk())
            .ok_or_else(short)?;
        let count = u32::from_le_bytes(*count) as usize;
        let mut at = HEADER + count.div_ceil(32) * 4;
        let bitmap = bytes.get(HEADER..at).ok_or_else(short)?;
        let mut words = Vec::with_capacity(count);
        for index in 0..count {
            if bitmap[index / 8] >> (index % 8) & 1 == 1 {
                words.push(None);
                continue;
            }
            let mut length = record_length(*bytes.get(at).ok_or_else(short)?);
            if length.is_prefix {
                at += length.bytes;
                length = record_length(*bytes.get(at).ok_or_else(short)?);
            }
            let end = at + length.bytes;
            if end > bytes.len() {
                return Err(short());
            }
            words.push((length.bytes >= 16).then_some(end - 16));
            at = end;
        }
        Ok(Self { words })
    }

    fn position(&self, instruction: usize, offset: u64) -> Option<u64> {
        let word = self.words.get(instruction).copied().flatten()?;
        Some(word as u64 + (offset & 15))
    }
}

struct Length {
    bytes: usize,
    /// Another record follows that belongs to the same instruction.
    is_prefix: bool,
}

/// The length of a stored record by its first byte.
fn record_length(first: u8) -> Length {
    match first {
        0x01 => Length {
            bytes: 16,
            is_prefix: false,
        },
        0x02 => Length {
            bytes: 32,
            is_prefix: false,
        },
        0x50 | 0xd0 => Length {
            bytes: 2,
            is_prefix: false,
        },
        0x51 | 0xd1 => Length {
            bytes: 2,
            is_prefix: true,
        },
        _ => Length {
            bytes: 4,
            is_prefix: false,
        },
    }
}
