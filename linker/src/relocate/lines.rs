//! The native line tables of a Mercury link, which nvlink rewrites: rows of dropped functions are left out, and the
//! functions of a unit are in the order of the symbol table (case `lineinfo_order`). Rows of a definition that is not in use
//! are adapted to the one that is (`rows`).

mod program;
mod rows;

use std::borrow::Cow;
use std::ops::Range;

use rustc_hash::FxHashMap;

use crate::cubin::SymbolType;
use crate::error::ParseError;
use crate::id::{SectionId, SymbolId};
use crate::layout::LaidOut;
use crate::merge::{Definition, Merged, NativeContent, NativeSlot, Relocation};

use super::Patched;
use super::expanded::Places;
use super::recode::Moves;
use program::{LENGTH_FIELD, Program, Step, Unit, advance, units};

/// The new places of the units of line tables.
#[derive(Default)]
pub(super) struct Units {
    moves: FxHashMap<(SectionId, u64), u64>,
}

impl Units {
    /// Debug information names a unit by its offset in the table.
    pub(super) fn follow(&self, merged: &Merged<'_>, relocation: &mut Relocation) {
        if let Some(start) = self.place(merged, relocation.symbol, relocation.addend as u64) {
            relocation.addend = start as i64;
        }
    }

    /// The new place of the unit that was at `offset` in a table.
    pub(super) fn place(&self, merged: &Merged<'_>, table: SymbolId, offset: u64) -> Option<u64> {
        let symbol = &merged.symbols[table];
        match symbol.definition {
            Definition::Section(section) if symbol.kind == SymbolType::SECTION => {
                self.moves.get(&(section, offset)).copied()
            }
            _ => None,
        }
    }

    /// Whether no unit has moved.
    pub(super) fn have_stayed(&self) -> bool {
        self.moves.iter().all(|((_, old), new)| old == new)
    }
}

/// The table as the link writes it. Only the Mercury table has relocations for
/// where the names of inlined functions begin in `.debug_str`, the last word of
/// a header that has them (case `lineinfo_inlined`).
pub(super) fn rebuild<'d>(
    laid_out: &LaidOut<'_>,
    section: SectionId,
    twin: &NativeContent<'_>,
    mercury: &[u8],
    patched: Patched<'d>,
    moved: &mut Units,
) -> Result<Patched<'d>, ParseError> {
    let mercury = MercuryTable::new(laid_out, section, mercury)?;
    let units = units(&patched.bytes)?;
    let ranks = laid_out.merged().symbols.ranks();
    let mut kept = patched.kept;
    kept.sort_by_key(|relocation| relocation.offset);
    let mut all = twin.relocations.clone();
    all.sort_by_key(|relocation| relocation.offset);
    let mut written = Table::default();
    for (index, unit) in units.into_iter().enumerate() {
        let start = written.bytes.len();
        let old_start = unit.header.start;
        moved
            .moves
            .insert((section, old_start as u64), start as u64);
        let header = unit.header.len();
        written.copy(&patched.bytes, &kept, unit.header);
        if let Some(unit) = mercury.units.get(index)
            && unit.header.len() == header
        {
            written.bytes[start..].copy_from_slice(&mercury.bytes[unit.header.clone()]);
        }
        // Rows without a function stay in their place.
        let mut sequences = unit.sequences;
        sequences.retain(|sequence| {
            !within(&kept, sequence).is_empty() || within(&all, sequence).is_empty()
        });
        sequences.sort_by_cached_key(|sequence| {
            let function = within(&kept, sequence).first();
            function.map(|function| ranks[function.symbol])
        });
        for sequence in sequences {
            let rows = match within(&kept, &sequence).first() {
                Some(function) if twin.is_replaced(function) => mercury.rows(index, function),
                Some(function) => {
                    let slot = laid_out.merged().unified.native_slots.get(&function.symbol);
                    let slot = slot.filter(|slot| !slot.is_own);
                    slot.and_then(|slot| slot_rows(&patched.bytes, old_start, &sequence, slot))
                }
                None => None,
            };
            // It begins with the instruction that sets the address, or cannot be rewritten.
            let address = sequence.start..sequence.start + program::SET_ADDRESS_SIZE;
            match rows.filter(|_| address.end <= sequence.end) {
                Some(rows) => {
                    written.copy(&patched.bytes, &kept, address);
                    written.bytes.extend(rows);
                }
                None => written.copy(&patched.bytes, &kept, sequence),
            }
        }
        let length = (written.bytes.len() - start - LENGTH_FIELD) as u32;
        written.bytes[start..start + LENGTH_FIELD].copy_from_slice(&length.to_le_bytes());
    }
    Ok(Patched {
        bytes: Cow::Owned(written.bytes),
        kept: written.kept,
        resolved: patched.resolved,
    })
}

/// The rows of a slot of unified functions, which are one function in machine code, behind what sets the address: those of
/// the first one reach to the end of all, and of others nvlink finds the first row alone (case `unified_lines`).
fn slot_rows(
    bytes: &[u8],
    unit: usize,
    sequence: &Range<usize>,
    slot: &NativeSlot,
) -> Option<Vec<u8>> {
    let is_first = slot.place == 0;
    let mut program = Program::within(bytes, unit, sequence)?;
    let (mut address, mut end) = (0_u64, None);
    while !program.is_over() {
        match program.step()? {
            Step::Advance(distance) => address = address.saturating_add(distance),
            Step::Special(distance, _) => {
                address = address.saturating_add(distance);
                end = Some((program.at, address));
            }
            Step::Copy => end = Some((program.at, address)),
            Step::EndSequence => break,
            Step::Line(_) | Step::File(_) | Step::Context(..) | Step::Start(_) | Step::Other => {}
        }
        if end.is_some() && !is_first {
            break;
        }
    }
    let (end, address) = end?;
    let start = sequence.start + program::SET_ADDRESS_SIZE;
    let mut rows = bytes.get(start..unit + end)?.to_vec();
    if is_first {
        let units = slot.size / program.code_unit();
        rows.extend(advance(units.saturating_sub(address), 0));
    }
    rows.extend(program::END);
    Some(rows)
}

/// The Mercury table of which a native one is made.
struct MercuryTable<'m> {
    laid_out: &'m LaidOut<'m>,
    bytes: &'m [u8],
    units: Vec<Unit>,
    /// Its relocations against functions.
    relocations: Vec<Relocation>,
}

impl<'m> MercuryTable<'m> {
    fn new(
        laid_out: &'m LaidOut<'m>,
        section: SectionId,
        bytes: &'m [u8],
    ) -> Result<Self, ParseError> {
        let merged = laid_out.merged();
        let is_function = |r: &&Relocation| merged.symbols[r.symbol].function.is_some();
        let relocations = merged.sections[section].relocations.iter();
        let mut relocations: Vec<_> = relocations.filter(is_function).copied().collect();
        relocations.sort_by_key(|relocation| relocation.offset);
        Ok(Self {
            laid_out,
            bytes,
            units: units(bytes)?,
            relocations,
        })
    }

    /// The native rows of a function in a unit, behind what sets the address: those of a definition that is not in use, at
    /// the places of the code that is. `None` if they are not known.
    fn rows(&self, unit: usize, function: &Relocation) -> Option<Vec<u8>> {
        let unit = self.units.get(unit)?;
        let relocation_of = |sequence: &&Range<usize>| {
            let mut own = within(&self.relocations, sequence).iter();
            own.any(|relocation| relocation.symbol == function.symbol)
        };
        let sequence = unit.sequences.iter().find(relocation_of)?;
        let merged = self.laid_out.merged();
        let places = Places::of(merged, function.symbol)?;
        rows::native(self.bytes, unit, sequence, &places)
    }
}

/// Moves the rows of functions whose code has moved.
pub(super) fn follow<'d, 'm>(
    section: SectionId,
    patched: &Patched<'_>,
    moved_units: &mut Units,
    moves_of: impl Fn(SymbolId) -> Option<&'m Moves>,
) -> Option<Patched<'d>> {
    let bytes = &patched.bytes;
    let units = units(bytes).ok()?;
    let mut kept = patched.kept.clone();
    kept.sort_by_key(|relocation| relocation.offset);
    let mut written = Table::default();
    for unit in &units {
        let start = written.bytes.len();
        let place = (section, unit.header.start as u64);
        moved_units.moves.insert(place, start as u64);
        written.copy(bytes, &kept, unit.header.clone());
        for sequence in &unit.sequences {
            let function = within(&kept, sequence).first();
            let moves = function.and_then(|relocation| moves_of(relocation.symbol));
            let mut at = sequence.start;
            for (place, number) in moves
                .into_iter()
                .flat_map(|m| advances(bytes, unit, sequence, m))
            {
                written.copy(bytes, &kept, at..place.start);
                written.bytes.extend(number);
                at = place.end;
            }
            written.copy(bytes, &kept, at..sequence.end);
        }
        let length = written.bytes.len() - start - LENGTH_FIELD;
        let field = &mut written.bytes[start..start + LENGTH_FIELD];
        field.copy_from_slice(&(length as u32).to_le_bytes());
    }
    // Their order stays.
    let moved: FxHashMap<u64, u64> = kept
        .iter()
        .zip(&written.kept)
        .map(|(old, new)| (old.offset, new.offset))
        .collect();
    let relocations = patched.kept.iter().map(|relocation| Relocation {
        offset: moved
            .get(&relocation.offset)
            .copied()
            .unwrap_or(relocation.offset),
        ..*relocation
    });
    Some(Patched {
        bytes: Cow::Owned(written.bytes),
        kept: relocations.collect(),
        resolved: patched.resolved.clone(),
    })
}

/// What takes the place of the instructions by which a sequence of a unit
/// advances over code that moved.
fn advances(
    bytes: &[u8],
    unit: &Unit,
    sequence: &Range<usize>,
    moves: &Moves,
) -> Vec<(Range<usize>, Vec<u8>)> {
    let start = unit.header.start;
    let Some(mut program) = Program::new(bytes, unit, sequence) else {
        return Vec::new();
    };
    let code_unit = program.code_unit();
    let (mut old, mut new) = (0_u64, 0_u64);
    let mut row = Row::default();
    let mut changed = Vec::new();
    while !program.is_over() {
        let at = program.at;
        let Some(step) = program.step() else { break };
        match step {
            Step::Advance(distance) => row.add(at, distance, 0),
            Step::Line(lines) => row.add(at, 0, lines),
            Step::Special(distance, lines) => row.add(at, distance, lines),
            Step::Copy
            | Step::EndSequence
            | Step::File(_)
            | Step::Context(..)
            | Step::Start(_)
            | Step::Other => {}
        }
        if matches!(step, Step::Advance(_) | Step::Line(_)) {
            continue;
        }
        let Row {
            place: Some(from),
            distance,
            lines,
        } = std::mem::take(&mut row)
        else {
            continue;
        };
        let distance = distance.saturating_mul(code_unit);
        old = old.saturating_add(distance);
        let moved = moves.entry(old).saturating_sub(new);
        new += moved;
        if moved != distance {
            let distance = moved / code_unit;
            let (to, replacement) = match step {
                Step::Special(..) | Step::Copy => (program.at, program.row(distance, lines)),
                Step::Advance(_)
                | Step::Line(_)
                | Step::EndSequence
                | Step::File(_)
                | Step::Context(..)
                | Step::Start(_)
                | Step::Other => (at, advance(distance, lines)),
            };
            changed.push((start + from..start + to, replacement));
        }
    }
    changed
}

/// How a row differs from the one before it.
#[derive(Default)]
struct Row {
    /// The first instruction that says so.
    place: Option<usize>,
    distance: u64,
    lines: i64,
}

impl Row {
    fn add(&mut self, at: usize, distance: u64, lines: i64) {
        self.place.get_or_insert(at);
        self.distance = self.distance.saturating_add(distance);
        self.lines = self.lines.saturating_add(lines);
    }
}

/// The relocations that patch a part of the section.
fn within<'r>(sorted: &'r [Relocation], part: &Range<usize>) -> &'r [Relocation] {
    let before = |end: usize| sorted.partition_point(|r| (r.offset as usize) < end);
    &sorted[before(part.start)..before(part.end)]
}

/// A table under construction.
#[derive(Default)]
struct Table {
    bytes: Vec<u8>,
    kept: Vec<Relocation>,
}

impl Table {
    fn copy(&mut self, bytes: &[u8], relocations: &[Relocation], part: Range<usize>) {
        let moved = |relocation: &Relocation| Relocation {
            offset: relocation.offset - part.start as u64 + self.bytes.len() as u64,
            ..*relocation
        };
        let relocations = within(relocations, &part).iter().map(moved);
        self.kept.extend(relocations);
        self.bytes.extend_from_slice(&bytes[part]);
    }
}
