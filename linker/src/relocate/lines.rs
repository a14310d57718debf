//! The native line tables of a Mercury link, which nvlink makes anew: rows of
//! functions that are not in the link are left out, and the others of a unit
//! stand in the order of the symbol table (case `lineinfo_order`).

use std::borrow::Cow;
use std::ops::Range;

use rustc_hash::FxHashMap;

use crate::cubin::SymbolType;
use crate::error::{ParseError, Problem};
use crate::id::{IdVec, SectionId, SymbolId};
use crate::layout::LaidOut;
use crate::merge::{Definition, Relocation};

use super::Patched;
use super::recode::Moves;

/// The length of a unit, without which it starts.
const LENGTH_FIELD: usize = 4;
/// The version, and the length of the rest of the header.
const HEADER_START: usize = LENGTH_FIELD + 6;
/// Where the number of the first special opcode stands: behind the length of
/// an instruction, a default and the two figures of special opcodes.
const OPCODE_BASE: usize = HEADER_START + 4;
/// Where the header says in what units addresses grow.
const CODE_UNIT: usize = HEADER_START;
/// Where the header says how many lines special opcodes reach.
const LINE_RANGE: usize = HEADER_START + 3;

/// Whether a section holds a line table.
pub(super) fn is_table(name: &str) -> bool {
    matches!(name, ".debug_line" | ".nv_debug_line_sass")
}

/// Where the units of line tables went.
#[derive(Default)]
pub(super) struct Units {
    moves: FxHashMap<(SectionId, u64), u64>,
}

impl Units {
    /// Debug information names a unit by its offset in the table.
    pub(super) fn follow(&self, laid_out: &LaidOut<'_>, relocation: &mut Relocation) {
        let symbol = &laid_out.pruned.merged.symbols[relocation.symbol];
        if symbol.kind == SymbolType::SECTION
            && let Definition::Section(section) = symbol.definition
            && let Some(&start) = self.moves.get(&(section, relocation.addend as u64))
        {
            relocation.addend = start as i64;
        }
    }
}

/// The table as the link writes it. Only the Mercury table has relocations for
/// where the names of inlined functions begin in `.debug_str`, the last word of
/// a header that has them (case `lineinfo_inlined`).
pub(super) fn rebuild<'d>(
    laid_out: &LaidOut<'_>,
    section: SectionId,
    relocations: &[Relocation],
    mercury: &[u8],
    patched: Patched<'d>,
    moved: &mut Units,
) -> Result<Patched<'d>, ParseError> {
    let headers: Vec<Range<usize>> = units(mercury)?.into_iter().map(|u| u.header).collect();
    let units = units(&patched.bytes)?;
    let ranks = ranks(laid_out);
    let mut kept = patched.kept;
    kept.sort_by_key(|relocation| relocation.offset);
    let mut all = relocations.to_vec();
    all.sort_by_key(|relocation| relocation.offset);
    let mut written = Table::default();
    for (index, unit) in units.into_iter().enumerate() {
        let start = written.bytes.len();
        let place = (section, unit.header.start as u64);
        moved.moves.insert(place, start as u64);
        let header = unit.header.len();
        written.copy(&patched.bytes, &kept, unit.header);
        if let Some(range) = headers.get(index)
            && range.len() == header
        {
            written.bytes[start..].copy_from_slice(&mercury[range.clone()]);
        }
        let mut sequences: Vec<(u32, Range<usize>)> = Vec::new();
        for sequence in unit.sequences {
            match within(&kept, &sequence).first() {
                Some(function) => sequences.push((ranks[function.symbol], sequence)),
                // Rows of no function stay where they are.
                None if within(&all, &sequence).is_empty() => sequences.push((0, sequence)),
                None => {}
            }
        }
        sequences.sort_by_key(|&(rank, _)| rank);
        for (_, sequence) in sequences {
            written.copy(&patched.bytes, &kept, sequence);
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

/// Lets the rows of functions follow their code. `None` where that is not
/// possible without moving units.
pub(super) fn follow<'d, 'm>(
    patched: &Patched<'_>,
    may_move_units: bool,
    moves_of: impl Fn(SymbolId) -> Option<&'m Moves>,
) -> Option<Patched<'d>> {
    let bytes = &patched.bytes;
    let units = units(bytes).ok()?;
    let is_last_unit = |index: usize| index + 1 == units.len();
    let mut kept = patched.kept.clone();
    kept.sort_by_key(|relocation| relocation.offset);
    let mut written = Table::default();
    for (index, unit) in units.iter().enumerate() {
        let start = written.bytes.len();
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
        let is_as_long = *field == (length as u32).to_le_bytes();
        if !is_as_long && !may_move_units && !is_last_unit(index) {
            return None;
        }
        field.copy_from_slice(&(length as u32).to_le_bytes());
    }
    // They stay in their order.
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
    let bytes = &bytes[start..sequence.end];
    let (Some(&code_unit), Some(&base)) = (bytes.get(CODE_UNIT), bytes.get(OPCODE_BASE)) else {
        return Vec::new();
    };
    let code_unit = u64::from(code_unit.max(1));
    let mut program = Program {
        bytes,
        at: sequence.start - start,
        base,
        operands: &bytes[OPCODE_BASE + 1..],
    };
    let (mut old, mut new) = (0_u64, 0_u64);
    let mut row = Row::default();
    let mut changed = Vec::new();
    while program.at < bytes.len() {
        let at = program.at;
        let Some(step) = program.step() else { break };
        match step {
            Step::Advance(distance) => row.add(at, distance, 0),
            Step::Line(lines) => row.add(at, 0, lines),
            Step::Special(distance, lines) => row.add(at, distance, lines),
            Step::Copy | Step::EndSequence | Step::Other => {}
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
                Step::Advance(_) | Step::Line(_) | Step::EndSequence | Step::Other => {
                    (at, advance(distance, lines))
                }
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

const COPY: u8 = 1;
const ADVANCE: u8 = 2;
const ADVANCE_LINE: u8 = 3;

/// The instructions that advance by so many units of code and lines.
fn advance(distance: u64, lines: i64) -> Vec<u8> {
    let mut bytes = Vec::new();
    if lines != 0 {
        bytes.push(ADVANCE_LINE);
        bytes.extend(number(lines));
    }
    if distance > 0 {
        bytes.push(ADVANCE);
        bytes.extend(number(distance as i64));
    }
    bytes
}

/// A number with a sign, of seven bits a byte, the lowest first.
fn number(mut number: i64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while !(-0x40..0x40).contains(&number) {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8 & 0x7f);
    bytes
}

/// Where each symbol stands in the symbol table, counted from 1.
fn ranks(laid_out: &LaidOut<'_>) -> IdVec<SymbolId, u32> {
    let merged = &laid_out.pruned.merged;
    let mut ranks = IdVec::filled(&merged.symbols, 0);
    let symbols = merged.locals.iter().chain(&merged.globals);
    for (rank, &symbol) in (1..).zip(symbols) {
        ranks[symbol] = rank;
    }
    ranks
}

/// The relocations that patch a part of the section.
fn within<'r>(sorted: &'r [Relocation], part: &Range<usize>) -> &'r [Relocation] {
    let before = |end: usize| sorted.partition_point(|r| (r.offset as usize) < end);
    &sorted[before(part.start)..before(part.end)]
}

/// A table as it grows.
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

/// The rows of one source file.
struct Unit {
    /// From the length of the unit to its first instruction.
    header: Range<usize>,
    /// Instructions up to each end of a sequence.
    sequences: Vec<Range<usize>>,
}

fn units(bytes: &[u8]) -> Result<Vec<Unit>, ParseError> {
    let mut units = Vec::new();
    let mut start = 0;
    while start < bytes.len() {
        let unit = unit(bytes, start).ok_or_else(|| {
            let problem = Problem::Malformed("unit of a line table that cannot be read".to_owned());
            ParseError::new(problem).at(start as u64)
        })?;
        start = unit.sequences.last().map_or(unit.header.end, |s| s.end);
        units.push(unit);
    }
    Ok(units)
}

fn unit(bytes: &[u8], start: usize) -> Option<Unit> {
    let length = u32::from_le_bytes(*bytes[start..].first_chunk()?) as usize;
    let end = start.checked_add(LENGTH_FIELD)?.checked_add(length)?;
    let unit = bytes.get(start..end)?;
    let header = u32::from_le_bytes(*unit.get(LENGTH_FIELD + 2..)?.first_chunk()?) as usize;
    let first = HEADER_START.checked_add(header)?;
    let base = *unit.get(OPCODE_BASE)?;
    let operands = unit.get(OPCODE_BASE + 1..)?;
    let mut program = Program {
        bytes: unit,
        at: first,
        base,
        operands,
    };
    let mut sequences = Vec::new();
    let mut sequence = first;
    while program.at < unit.len() {
        if program.step()? == Step::EndSequence || program.at == unit.len() {
            sequences.push(start + sequence..start + program.at);
            sequence = program.at;
        }
    }
    (program.at == unit.len()).then_some(Unit {
        header: start..start + first,
        sequences,
    })
}

/// What an instruction of a line program does, as far as it matters here.
#[derive(PartialEq, Eq)]
enum Step {
    EndSequence,
    /// The address grows by so many units of code.
    Advance(u64),
    /// So does the line.
    Line(i64),
    /// The address and the line grow, and that is a row.
    Special(u64, i64),
    /// A row.
    Copy,
    Other,
}

/// A line program, read instruction by instruction.
struct Program<'b> {
    bytes: &'b [u8],
    at: usize,
    base: u8,
    /// How many numbers follow each standard opcode, from the first on.
    operands: &'b [u8],
}

impl Program<'_> {
    fn step(&mut self) -> Option<Step> {
        const EXTENDED: u8 = 0;
        const CONSTANT_ADVANCE: u8 = 8;
        const FIXED_ADVANCE: u8 = 9;
        const END_SEQUENCE: u8 = 1;
        let opcode = self.byte()?;
        match opcode {
            EXTENDED => {
                let length = usize::try_from(self.number()?).ok()?;
                let kind = *self.bytes.get(self.at)?;
                self.at = self.at.checked_add(length)?;
                if kind == END_SEQUENCE {
                    return Some(Step::EndSequence);
                }
            }
            COPY if opcode < self.base => return Some(Step::Copy),
            ADVANCE if opcode < self.base => return Some(Step::Advance(self.number()?)),
            ADVANCE_LINE if opcode < self.base => {
                let start = self.at;
                let number = self.number()? as i64;
                let unused = 64_usize.saturating_sub(7 * (self.at - start));
                return Some(Step::Line(number << unused >> unused));
            }
            CONSTANT_ADVANCE if opcode < self.base => {
                let (distance, _) = self.special(u8::MAX)?;
                return Some(Step::Advance(distance));
            }
            FIXED_ADVANCE if opcode < self.base => self.at += 2,
            _ if opcode < self.base => {
                for _ in 0..*self.operands.get(usize::from(opcode) - 1)? {
                    self.number()?;
                }
            }
            _ => {
                let (distance, lines) = self.special(opcode)?;
                return Some(Step::Special(distance, lines));
            }
        }
        Some(Step::Other)
    }

    /// By how much a special opcode advances address and line.
    fn special(&self, opcode: u8) -> Option<(u64, i64)> {
        let range = *self.bytes.get(LINE_RANGE)?;
        let number = opcode - self.base;
        let distance = number.checked_div(range).unwrap_or(0);
        let lines = number.checked_rem(range).unwrap_or(0);
        Some((distance.into(), i64::from(lines) + self.least_line()?))
    }

    /// The least by which special opcodes advance the line.
    fn least_line(&self) -> Option<i64> {
        let byte = *self.bytes.get(LINE_RANGE - 1)?;
        Some((byte as i8).into())
    }

    /// A row as the CUDA tools write it: a special opcode is for rows that
    /// advance the address.
    fn row(&self, distance: u64, lines: i64) -> Vec<u8> {
        let special = || {
            let range = u64::from(*self.bytes.get(LINE_RANGE)?);
            let lines = u64::try_from(lines - self.least_line()?).ok()?;
            let number = distance.checked_mul(range)?.checked_add(lines)?;
            let opcode = u8::try_from(number.checked_add(self.base.into())?).ok()?;
            (lines < range && distance > 0).then_some(opcode)
        };
        if let Some(opcode) = special() {
            return vec![opcode];
        }
        let mut bytes = advance(distance, lines);
        if lines == 0 {
            bytes.splice(..0, [ADVANCE_LINE, 0]);
        }
        bytes.push(COPY);
        bytes
    }

    fn byte(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    /// A number of seven bits a byte, the lowest first.
    fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..u64::BITS).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }
}
