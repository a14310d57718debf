//! The native `.debug_frame` of a Mercury link: descriptions of functions
//! that are gone are cut out, with the common entries only they used.

use std::borrow::Cow;
use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::error::{ParseError, Problem};
use crate::id::SymbolId;
use crate::layout::LaidOut;
use crate::merge::{Content, NativeContent, Relocation, Section, SectionKind};

use super::Patched;
use super::expanded::Places;
use super::recode::Moves;

/// `CIE_id` of a common entry in the 64-bit format that the compiler writes.
const COMMON_ENTRY: [u8; 8] = [0xff; 8];
/// The length field: a mark and eight bytes.
const LENGTH_FIELD: usize = 12;
/// Where the address of the described function stands in an entry.
const ADDRESS: u64 = 20;

/// Where the size of the described function stands in an entry.
const SIZE: usize = 28;

/// Where a common entry says how many bytes of code its figures count in.
const CODE_UNIT: usize = 22;
/// In machine code that is so many.
const NATIVE_UNIT: u64 = 4;

/// The entries of a `.debug_frame` section.
pub(super) struct Frames {
    entries: Vec<Entry>,
}

/// Which part of the section an entry stands in, which function it describes, and
/// how many entries there have done so, itself included.
type Described = (usize, SymbolId, usize);

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
                ParseError::new(Problem::Malformed(format!("{problem} of a frame entry")))
                    .in_section(".debug_frame")
                    .at(start as u64)
            };
            let head = bytes
                .get(start..start + 20)
                .ok_or_else(|| bad("truncated head"))?;
            let length = u64::from_le_bytes(head[4..12].try_into().expect("eight bytes"));
            let end = usize::try_from(length)
                .ok()
                .and_then(|length| start.checked_add(LENGTH_FIELD)?.checked_add(length))
                .filter(|&end| head[..4] == [0xff; 4] && end <= bytes.len())
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
        let merged = &laid_out.pruned.merged;
        let symbol = &merged.symbols[relocation.symbol];
        let crate::merge::Definition::Section(section) = symbol.definition else {
            return;
        };
        let section = &merged.sections[section];
        if section.kind != SectionKind::Debug || section.name != ".debug_frame" {
            return;
        }
        let before = self
            .entries
            .partition_point(|e| (e.start as u64) < relocation.offset);
        if let Some(common) = self.entries[..before].iter().rev().find(|e| e.is_common) {
            relocation.addend = common.start as i64;
        }
    }

    /// Lets the descriptions of functions follow their code.
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
        // The second time it is the size of Mercury code, which stays (case `weak_registers`).
        let mut is_described = FxHashSet::default();
        let mut unit = 1;
        for entry in &self.entries {
            if entry.is_common {
                unit = bytes.get(entry.start + CODE_UNIT).copied().unwrap_or(1);
                continue;
            }
            if let Some(&(symbol, moves)) = moves_at.get(&(entry.start as u64 + ADDRESS))
                && is_described.insert(symbol)
                && let Some(description) = bytes.get_mut(entry.start + SIZE..entry.end)
                && let Some((size, instructions)) = description.split_first_chunk_mut()
            {
                *size = moves.size().to_le_bytes();
                advance(instructions, unit.max(1).into(), moves);
            }
        }
    }

    /// What each entry describes, and which description of that it is in its input.
    fn described(
        &self,
        content: &Content<'_>,
        relocations: &[Relocation],
    ) -> Vec<Option<Described>> {
        let functions: FxHashMap<u64, SymbolId> =
            relocations.iter().map(|r| (r.offset, r.symbol)).collect();
        let mut counts = FxHashMap::default();
        let described = self.entries.iter().map(|entry| {
            let start = entry.start as u64;
            let symbol = *functions
                .get(&(start + ADDRESS))
                .filter(|_| !entry.is_common)?;
            let part = content
                .contributions
                .partition_point(|part| part.offset <= start);
            let count: &mut usize = counts.entry((part, symbol)).or_default();
            *count += 1;
            Some((part, symbol, *count))
        });
        described.collect()
    }

    /// The entries of `others` that describe the same code. Inputs made with `-r` have more of them than of ours: those
    /// of code that another definition replaced, too (case `relocatable_weak`).
    fn twins(own: &[Option<Described>], others: &[Option<Described>]) -> Vec<usize> {
        let places = others.iter().enumerate();
        let places: FxHashMap<&Described, usize> =
            places.filter_map(|(i, d)| Some((d.as_ref()?, i))).collect();
        let twin = |(index, described): (usize, &Option<Described>)| {
            described
                .as_ref()
                .and_then(|d| places.get(d))
                .copied()
                .unwrap_or(index)
        };
        own.iter().enumerate().map(twin).collect()
    }

    /// The section without the entries of functions that are not in the link.
    /// `mercury` is the Mercury twin.
    pub(super) fn without_removed<'d>(
        &self,
        laid_out: &LaidOut<'_>,
        section: &Section<'_>,
        native: &NativeContent<'_>,
        mercury: &[u8],
        patched: Patched<'_>,
    ) -> Result<Patched<'d>, ParseError> {
        let relocations = &native.relocations;
        let mercury = MercuryFrames::parse(mercury)?;
        let own = self.described(&native.content, relocations);
        let others = mercury
            .frames
            .described(&section.content, &section.relocations);
        let twins = Self::twins(&own, &others);
        let live = &laid_out.pruned.live.symbols;
        let functions: FxHashMap<u64, &Relocation> = relocations
            .iter()
            .filter(|r| laid_out.pruned.merged.symbols[r.symbol].function.is_some())
            .filter(|r| r.kind == crate::arch::relocation::RelocationType::R_CUDA_64.0)
            .map(|r| (r.offset, r))
            .collect();
        let mut bytes = Vec::with_capacity(patched.bytes.len());
        let mut moved = Vec::with_capacity(self.entries.len());
        let mut common: Option<&Entry> = None;
        let mut common_start = 0;
        // A weak function that another definition replaced is described twice.
        let described = |entry: &Entry| {
            let function = functions.get(&(entry.start as u64 + ADDRESS))?;
            let is_kept = !entry.is_common && !function.discarded && live[function.symbol];
            is_kept.then_some(function.symbol)
        };
        let mut all: FxHashMap<SymbolId, Vec<usize>> = FxHashMap::default();
        for (index, entry) in self.entries.iter().enumerate() {
            if let Some(symbol) = described(entry) {
                all.entry(symbol).or_default().push(index);
            }
        }
        // So is one whose code has another name first.
        let mut is_described = laid_out.pruned.later_names();
        for (index, entry) in self.entries.iter().enumerate() {
            moved.push(None);
            if entry.is_common {
                common = Some(entry);
                continue;
            }
            let function = functions.get(&(entry.start as u64 + ADDRESS));
            if function.is_some_and(|r| r.discarded || !live[r.symbol]) {
                common = None;
                continue;
            }
            if let Some(common) = common.take() {
                common_start = bytes.len();
                bytes.extend_from_slice(&patched.bytes[common.start..common.end]);
            }
            let start = bytes.len();
            *moved.last_mut().expect("just pushed") = Some(start);
            let symbol = described(entry);
            let all = symbol.and_then(|symbol| all.get(&symbol));
            let (used, replaced) = match all.and_then(|all| all.split_last()) {
                Some((&used, replaced)) => (used, replaced),
                None => (index, &[][..]),
            };
            if symbol.is_none_or(|symbol| is_described.insert(symbol)) {
                let merged = &laid_out.pruned.merged;
                let part_of = |index: usize| own[index].map(|(part, ..)| part);
                // An object of `nvlink -r` describes what is in use first.
                let first = all.and_then(|all| all.iter().find(|&&i| part_of(i) == part_of(used)));
                let entry = &self.entries[first.copied().unwrap_or(used)];
                let in_use = &patched.bytes[entry.start..entry.end];
                let is_made = is_by_size(in_use);
                let places = symbol.filter(|_| !replaced.is_empty() || is_made);
                let places = places.and_then(|symbol| Places::of(merged, symbol));
                let replaced: Vec<usize> = replaced.iter().map(|&index| twins[index]).collect();
                let made = places.and_then(|places| match is_made {
                    true => mercury.made(in_use, twins[used], &places),
                    false => mercury.joined(in_use, twins[used], &replaced, &places),
                });
                bytes.extend_from_slice(made.as_deref().unwrap_or(in_use));
                if let Some(unit) = bytes.get_mut(common_start + CODE_UNIT)
                    && is_made
                    && made.is_some()
                {
                    *unit = NATIVE_UNIT as u8;
                }
            } else {
                bytes.extend_from_slice(&without_instructions(mercury.size(twins[index])));
                // Mercury code counts in bytes.
                if let Some(unit) = bytes.get_mut(common_start + CODE_UNIT) {
                    *unit = 1;
                }
            }
            bytes[start + LENGTH_FIELD..start + LENGTH_FIELD + 8]
                .copy_from_slice(&(common_start as u64).to_le_bytes());
            let slots = &laid_out.pruned.merged.unified.native_slots;
            if let Some(slot) = symbol.and_then(|symbol| slots.get(&symbol)) {
                bytes[start + SIZE..start + SIZE + 8]
                    .copy_from_slice(&slot.described.to_le_bytes());
                bytes[common_start + CODE_UNIT] = slot.code_unit;
            }
        }
        let mut kept = patched.kept;
        kept.retain_mut(|relocation| {
            let index = self
                .entries
                .partition_point(|e| e.end as u64 <= relocation.offset);
            let Some(Some(start)) = moved.get(index) else {
                return false;
            };
            relocation.offset -= self.entries[index].start as u64;
            relocation.offset += *start as u64;
            true
        });
        Ok(Patched {
            bytes: Cow::Owned(bytes),
            kept,
            resolved: patched.resolved,
        })
    }
}

/// The frames of the Mercury world, which count bytes of expanded code.
struct MercuryFrames<'m> {
    bytes: &'m [u8],
    frames: Frames,
}

impl<'m> MercuryFrames<'m> {
    fn parse(bytes: &'m [u8]) -> Result<Self, ParseError> {
        let frames = Frames::parse(bytes)?;
        Ok(Self { bytes, frames })
    }

    /// The part of an entry from the size of the function on.
    fn description(&self, entry: usize) -> Option<(u64, &'m [u8])> {
        let entry = self.frames.entries.get(entry)?;
        let description = self.bytes.get(entry.start + SIZE..entry.end)?;
        let (size, instructions) = description.split_first_chunk()?;
        Some((u64::from_le_bytes(*size), instructions))
    }

    /// How long the function is that an entry describes.
    fn size(&self, entry: usize) -> u64 {
        self.description(entry).map_or(0, |(size, _)| size)
    }

    fn instructions(&self, entry: usize) -> Option<Instructions> {
        Instructions::parse(self.description(entry)?.1, 1, Empty::Dropped)
    }

    /// An entry with what the entries of replaced definitions say of addresses
    /// where an instruction of the code in use begins, and of which its own says
    /// nothing (case `lineinfo_replaced`). `None` where some are not understood.
    fn joined(
        &self,
        entry: &[u8],
        used: usize,
        replaced: &[usize],
        places: &Places,
    ) -> Option<Vec<u8>> {
        let (head, instructions) = entry.split_at_checked(SIZE + 8)?;
        let own = self.instructions(used)?;
        let mut all = Instructions::parse(instructions, NATIVE_UNIT, Empty::Kept)?;
        let mut is_same = true;
        for &index in replaced {
            for (address, instructions) in self.instructions(index)?.0 {
                if let Some(native) = places.native(address)
                    && !own.0.contains_key(&address)
                {
                    all.0.insert(native, instructions);
                    is_same = false;
                }
            }
        }
        (!is_same).then(|| all.behind(head))
    }

    /// An entry that an earlier link made of a later name for the code, which is
    /// the only one here (case `alias`). `None` where it is not understood.
    fn made(&self, entry: &[u8], used: usize, places: &Places) -> Option<Vec<u8>> {
        let mut head = entry.get(..SIZE + 8)?.to_vec();
        head[SIZE..].copy_from_slice(&places.size.to_le_bytes());
        let own = self.instructions(used)?.0.into_iter();
        let own = own.map(|(address, instructions)| Some((places.native(address)?, instructions)));
        Some(Instructions(own.collect::<Option<_>>()?).behind(&head))
    }
}

/// What an entry says, by the address from which it holds. What fills up the
/// entry is a place of which it says nothing.
struct Instructions(BTreeMap<u64, Vec<u8>>);

/// What becomes of places between two steps, of which an entry says nothing:
/// objects of `nvlink -r` have them for definitions that lost.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Empty {
    Kept,
    Dropped,
}

impl Instructions {
    /// `None` if some instruction is not known.
    fn parse(bytes: &[u8], unit: u64, empty: Empty) -> Option<Self> {
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
    fn behind(&self, head: &[u8]) -> Vec<u8> {
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

/// What nvlink writes the second time it describes a function: its size in
/// Mercury code and nothing else (case `weak_registers`).
fn without_instructions(size: u64) -> [u8; 40] {
    const LENGTH: u64 = 28;
    let mut entry = [0; 40];
    entry[..4].fill(0xff);
    entry[4..LENGTH_FIELD].copy_from_slice(&LENGTH.to_le_bytes());
    entry[SIZE..SIZE + 8].copy_from_slice(&size.to_le_bytes());
    entry
}

/// Whether an entry says nothing but a size.
fn is_by_size(entry: &[u8]) -> bool {
    let instructions = entry.get(SIZE + 8..).unwrap_or_default();
    instructions.iter().all(|&byte| byte == NOTHING)
}

/// Corrects by how far the instructions of a description advance, as far as
/// they are known.
fn advance(instructions: &mut [u8], unit: u64, moves: &Moves) {
    let mut rest = instructions;
    let mut old: u64 = 0;
    while let Some((&mut code, operands)) = rest.split_first_mut() {
        let Some(size) = operands_size(code, operands) else {
            return;
        };
        if code == ADVANCE
            && let Some(distance) = operands.first_chunk_mut()
        {
            let end = old.saturating_add(u64::from(u32::from_le_bytes(*distance)) * unit);
            let moved = moves.entry(end).saturating_sub(moves.entry(old)) / unit;
            *distance = (moved as u32).to_le_bytes();
            old = end;
        }
        rest = &mut operands[size..];
    }
}

const NOTHING: u8 = 0;
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
