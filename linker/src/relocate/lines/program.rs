//! Line number programs: the instructions of a table.

use std::ops::Range;

use crate::error::ParseError;

/// The length of a unit, without which it starts.
pub(super) const LENGTH_FIELD: usize = 4;
/// The version, and the length of the rest of the header.
const HEADER_START: usize = LENGTH_FIELD + 6;
/// Where the number of the first special opcode stands: behind the length of
/// an instruction, a default and the two figures of special opcodes.
const OPCODE_BASE: usize = HEADER_START + 4;
/// Where the header says in what units addresses grow.
const CODE_UNIT: usize = HEADER_START;
/// Where the header says how many lines special opcodes reach.
const LINE_RANGE: usize = HEADER_START + 3;

const EXTENDED: u8 = 0;
const COPY: u8 = 1;
const ADVANCE: u8 = 2;
const ADVANCE_LINE: u8 = 3;
const SET_FILE: u8 = 4;
const CONSTANT_ADVANCE: u8 = 8;
const FIXED_ADVANCE: u8 = 9;

/// Of the extended ones.
const END_SEQUENCE: u8 = 1;
const SET_CONTEXT: u8 = 0x90;
const SET_START: u8 = 0x92;

/// The instruction that sets the address, with which sequences begin.
pub(super) const SET_ADDRESS_SIZE: usize = 11;

/// The rows of one source file.
pub(super) struct Unit {
    /// From the length of the unit to its first instruction.
    pub(super) header: Range<usize>,
    /// Instructions up to each end of a sequence.
    pub(super) sequences: Vec<Range<usize>>,
}

pub(super) fn units(bytes: &[u8]) -> Result<Vec<Unit>, ParseError> {
    let mut units = Vec::new();
    let mut start = 0;
    while start < bytes.len() {
        let unit = unit(bytes, start).ok_or_else(|| {
            let problem = "unit of a line table that cannot be read";
            ParseError::malformed(problem).at(start as u64)
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
    let mut program = Program {
        bytes: unit,
        at: first,
        base: *unit.get(OPCODE_BASE)?,
        operands: unit.get(OPCODE_BASE + 1..)?,
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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    EndSequence,
    /// The address grows by so many units of code.
    Advance(u64),
    /// So does the line.
    Line(i64),
    /// The address and the line grow, and that is a row.
    Special(u64, i64),
    /// A row.
    Copy,
    File(u64),
    /// The code is inlined: the number of the row that calls it, and where
    /// its name stands.
    Context(u64, u64),
    /// Whether the code that follows is the start of the function.
    Start(bool),
    Other,
}

/// A line program, read instruction by instruction.
pub(super) struct Program<'b> {
    bytes: &'b [u8],
    pub(super) at: usize,
    base: u8,
    /// How many numbers follow each standard opcode, from the first on.
    operands: &'b [u8],
}

impl<'b> Program<'b> {
    /// A sequence of a unit. Places count from the start of the unit.
    pub(super) fn new(bytes: &'b [u8], unit: &Unit, sequence: &Range<usize>) -> Option<Self> {
        Self::within(bytes, unit.header.start, sequence)
    }

    /// A sequence of the unit that starts there.
    pub(super) fn within(bytes: &'b [u8], start: usize, sequence: &Range<usize>) -> Option<Self> {
        let bytes = bytes.get(start..sequence.end)?;
        Some(Self {
            bytes,
            at: sequence.start - start,
            base: *bytes.get(OPCODE_BASE)?,
            operands: bytes.get(OPCODE_BASE + 1..)?,
        })
    }

    pub(super) fn is_over(&self) -> bool {
        self.at >= self.bytes.len()
    }

    /// In what units addresses grow.
    pub(super) fn code_unit(&self) -> u64 {
        let unit = self.bytes.get(CODE_UNIT).copied().unwrap_or(1);
        unit.max(1).into()
    }

    pub(super) fn step(&mut self) -> Option<Step> {
        let opcode = self.byte()?;
        Some(match opcode {
            EXTENDED => {
                let length = usize::try_from(self.number()?).ok()?;
                let end = self.at.checked_add(length)?;
                let step = match *self.bytes.get(self.at)? {
                    END_SEQUENCE => Step::EndSequence,
                    SET_CONTEXT => {
                        self.at += 1;
                        Step::Context(self.number()?, self.number()?)
                    }
                    SET_START => Step::Start(*self.bytes.get(self.at + 1)? != 0),
                    _ => Step::Other,
                };
                self.at = end;
                step
            }
            COPY if opcode < self.base => Step::Copy,
            ADVANCE if opcode < self.base => Step::Advance(self.number()?),
            ADVANCE_LINE if opcode < self.base => {
                let start = self.at;
                let number = self.number()? as i64;
                let unused = 64_usize.saturating_sub(7 * (self.at - start));
                Step::Line(number << unused >> unused)
            }
            SET_FILE if opcode < self.base => Step::File(self.number()?),
            CONSTANT_ADVANCE if opcode < self.base => {
                let (distance, _) = self.special(u8::MAX)?;
                Step::Advance(distance)
            }
            FIXED_ADVANCE if opcode < self.base => {
                self.at += 2;
                Step::Other
            }
            _ if opcode < self.base => {
                for _ in 0..*self.operands.get(usize::from(opcode) - 1)? {
                    self.number()?;
                }
                Step::Other
            }
            _ => {
                let (distance, lines) = self.special(opcode)?;
                Step::Special(distance, lines)
            }
        })
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
    /// advance both the address and the line.
    pub(super) fn row(&self, distance: u64, lines: i64) -> Vec<u8> {
        let special = || {
            let range = u64::from(*self.bytes.get(LINE_RANGE)?);
            let lines = u64::try_from(lines.checked_sub(self.least_line()?)?).ok()?;
            let number = distance.checked_mul(range)?.checked_add(lines)?;
            let opcode = u8::try_from(number.checked_add(self.base.into())?).ok()?;
            (lines < range).then_some(opcode)
        };
        if distance > 0
            && lines != 0
            && let Some(opcode) = special()
        {
            return vec![opcode];
        }
        let mut bytes = match (distance, lines) {
            (0, 0) => vec![ADVANCE_LINE, 0],
            _ => advance(distance, lines),
        };
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

/// The instructions that advance by so many units of code and lines. Distances
/// take as few bytes as they would with a sign.
pub(super) fn advance(distance: u64, lines: i64) -> Vec<u8> {
    let mut bytes = Vec::new();
    if lines != 0 {
        bytes.push(ADVANCE_LINE);
        bytes.extend(signed(lines));
    }
    if distance > 0 {
        bytes.push(ADVANCE);
        bytes.extend(signed(distance as i64));
    }
    bytes
}

pub(super) fn set_file(file: u64) -> Vec<u8> {
    [&[SET_FILE], &unsigned(file)[..]].concat()
}

pub(super) fn set_context(caller: u64, name: u64) -> Vec<u8> {
    let operands = [&[SET_CONTEXT], &unsigned(caller)[..], &unsigned(name)].concat();
    [&[EXTENDED, operands.len() as u8], &operands[..]].concat()
}

pub(super) const END: [u8; 3] = [EXTENDED, 1, END_SEQUENCE];

/// A number with a sign, of seven bits a byte, the lowest first.
fn signed(mut number: i64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while !(-0x40..0x40).contains(&number) {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8 & 0x7f);
    bytes
}

fn unsigned(mut number: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
    bytes
}
