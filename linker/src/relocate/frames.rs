//! The native `.debug_frame` of a Mercury link: descriptions of functions
//! that are gone are cut out, with the common entries only they used.

mod instructions;
mod removed;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::cubin::section_name;
use crate::error::ParseError;
use crate::id::SymbolId;
use crate::layout::LaidOut;
use crate::merge::{Definition, NativeContent, Relocation, Section, SectionKind};

use super::recode::Moves;
use instructions::advance;

/// `CIE_id` of a common entry in the 64-bit format that the compiler writes.
const COMMON_ENTRY: [u8; 8] = [0xff; 8];
/// The length field: a mark and eight bytes.
const LENGTH_FIELD: usize = 12;
/// What every entry has: its length, and where its common entry is.
const HEAD: usize = LENGTH_FIELD + 8;
/// Where the address of the described function stands in an entry.
const ADDRESS: u64 = 20;
/// Where the size of the described function stands in an entry.
const SIZE: usize = 28;
/// Where a common entry says how many bytes of code its figures count in.
const CODE_UNIT: usize = 22;

/// The entries of a `.debug_frame` section.
pub(super) struct Frames {
    entries: Vec<Entry>,
}

struct Entry {
    start: usize,
    end: usize,
    is_common: bool,
}

impl Frames {
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, ParseError> {
        let mut entries = Vec::new();
        let mut start = 0;
        while start < bytes.len() {
            let bad = |problem: &str| {
                ParseError::malformed(format!("{problem} of a frame entry"))
                    .in_section(section_name::FRAMES)
                    .at(start as u64)
            };
            let head = bytes
                .get(start..start + HEAD)
                .ok_or_else(|| bad("truncated head"))?;
            let length = head[4..]
                .first_chunk()
                .map_or(0, |l| u64::from_le_bytes(*l));
            let end = usize::try_from(length)
                .ok()
                .and_then(|length| start.checked_add(LENGTH_FIELD)?.checked_add(length))
                .filter(|&end| {
                    head[..4] == [0xff; 4] && (start + HEAD..=bytes.len()).contains(&end)
                })
                .ok_or_else(|| bad("length"))?;
            entries.push(Entry {
                start,
                end,
                is_common: head[12..20] == COMMON_ENTRY,
            });
            start = end;
        }
        Ok(Self { entries })
    }

    /// A description names its common entry by a section offset; the compiler
    /// leaves stale addends there, and the nearest one before is meant.
    pub(super) fn correct_pointer(&self, laid_out: &LaidOut<'_>, relocation: &mut Relocation) {
        let merged = laid_out.merged();
        let symbol = &merged.symbols[relocation.symbol];
        let Definition::Section(section) = symbol.definition else {
            return;
        };
        let section = &merged.sections[section];
        if section.kind != SectionKind::Debug || section.name != section_name::FRAMES {
            return;
        }
        let before = self
            .entries
            .partition_point(|e| (e.start as u64) < relocation.offset);
        if let Some(common) = self.entries[..before].iter().rev().find(|e| e.is_common) {
            relocation.addend = common.start as i64;
        }
    }

    /// Where relocations belong of which an earlier link said that they stand at the start of the section: their
    /// Mercury twins tell. By the number of the relocation (case `whole_program_functions`).
    pub(super) fn forgotten(
        &self,
        section: &Section<'_>,
        native: &NativeContent<'_>,
        mercury: &[u8],
    ) -> Result<FxHashMap<usize, u64>, ParseError> {
        let is_start = |offset: u64| {
            let place = self
                .entries
                .binary_search_by_key(&offset, |e| e.start as u64);
            place.is_ok()
        };
        let numbered = native.relocations.iter().enumerate();
        let lost = numbered.filter(|(_, relocation)| is_start(relocation.offset));
        let lost: Vec<usize> = lost.map(|(index, _)| index).collect();
        if lost.is_empty() || section.relocations.len() != native.relocations.len() {
            return Ok(FxHashMap::default());
        }
        let mercury = Self::parse(mercury)?;
        // An earlier link has cut entries out of the native table, so that the numbers of entries tell nothing. What a common
        // entry serves comes behind it.
        let pairs = section.relocations.iter().zip(&native.relocations);
        let numbers = pairs.filter(|(_, native)| !is_start(native.offset));
        let numbers = numbers.filter_map(|(twin, native)| {
            Some((mercury.number(twin.offset)?, self.number(native.offset)?))
        });
        let numbers: FxHashMap<usize, usize> = numbers.collect();
        let place = |index: usize| {
            let offset = section.relocations[index].offset;
            let number = mercury.number(offset)?;
            let served = numbers.get(&(number + 1))?;
            let common = self.entries.get(served.checked_sub(1)?)?;
            let inside = offset - mercury.entries[number].start as u64;
            Some((index, common.start as u64 + inside))
        };
        Ok(lost.into_iter().filter_map(place).collect())
    }

    /// Whether an offset of the section is one in a common entry.
    pub(super) fn is_in_common(&self, offset: u64) -> bool {
        self.number(offset)
            .is_some_and(|n| self.entries[n].is_common)
    }

    /// The number of the entry around an offset of the section.
    fn number(&self, offset: u64) -> Option<usize> {
        let before = self.entries.partition_point(|e| e.end as u64 <= offset);
        let entry = self.entries.get(before)?;
        (entry.start as u64 <= offset).then_some(before)
    }

    /// Adapts the descriptions of functions to code that has moved.
    pub(super) fn follow<'m>(
        &self,
        bytes: &mut [u8],
        relocations: &[Relocation],
        moves_of: impl Fn(SymbolId) -> Option<&'m Moves>,
    ) {
        let mut moves_at: FxHashMap<u64, (SymbolId, &Moves)> = FxHashMap::default();
        for relocation in relocations {
            if let Some(moves) = moves_of(relocation.symbol) {
                let known = moves_at.entry(relocation.offset);
                known.or_insert((relocation.symbol, moves));
            }
        }
        // In a second entry for a function this is the size of its Mercury code, which stays (case `weak_registers`).
        let mut is_described = FxHashSet::default();
        let mut unit = 1;
        for entry in &self.entries {
            if entry.is_common {
                unit = bytes.get(entry.start + CODE_UNIT).copied().unwrap_or(1);
                continue;
            }
            if let Some(&(symbol, moves)) = moves_at.get(&(entry.start as u64 + ADDRESS))
                && let Some(description) = bytes.get_mut(entry.start + ADDRESS as usize..entry.end)
                && let Some((start, description)) = description.split_first_chunk_mut()
                && let Some((size, instructions)) = description.split_first_chunk_mut()
                && is_described.insert((symbol, *start))
            {
                // Kernels of whole programs also have entries for functions inside them.
                let old = u64::from_le_bytes(*start);
                let end = old.saturating_add(u64::from_le_bytes(*size));
                let new = moves.entry(old);
                *start = new.to_le_bytes();
                *size = moves.entry(end).saturating_sub(new).to_le_bytes();
                advance(instructions, unit.max(1).into(), old, moves);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An entry that says so much of its length, and has so much.
    fn entry(length: u64) -> Vec<u8> {
        let mut bytes = vec![0xff; 4];
        bytes.extend(length.to_le_bytes());
        bytes.resize(LENGTH_FIELD + length as usize, 0);
        bytes
    }

    #[test]
    fn entries_without_a_head_are_damage() {
        let check = |lengths: &[u64], expected: Result<usize, &str>| {
            let bytes: Vec<u8> = lengths.iter().copied().flat_map(entry).collect();
            let parsed = Frames::parse(&bytes).map(|frames| frames.entries.len());
            let parsed = parsed.map_err(|error| error.to_string());
            assert_eq!(parsed, expected.map_err(str::to_owned));
        };
        check(&[8, 36], Ok(2));
        check(
            &[36, 0, 24],
            Err("<memory>, section .debug_frame, offset 0x30: length of a frame entry"),
        );
        check(
            &[36, 7],
            Err("<memory>, section .debug_frame, offset 0x30: truncated head of a frame entry"),
        );
    }
}
