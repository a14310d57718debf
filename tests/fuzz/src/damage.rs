//! Edits of a good object. Each takes twelve bytes.

use std::ops::Range;

use rustnvlink::cubin::{Capsule, File, SectionFlags, SectionType, StoredInstruction};

use crate::Bytes;

const SECTION_HEADER: usize = 64;
const SYMBOL: usize = 24;
const INSTRUCTION: usize = 16;
/// How large a repeated piece may become.
const LARGEST: usize = 1 << 20;

/// Offset and size of the fields of a section header.
const SECTION_FIELDS: [(usize, usize); 10] = [
    (0, 4),
    (4, 4),
    (8, 8),
    (16, 8),
    (24, 8),
    (32, 8),
    (40, 4),
    (44, 4),
    (48, 8),
    (56, 8),
];
const SYMBOL_FIELDS: [(usize, usize); 6] = [(0, 4), (4, 1), (5, 1), (6, 2), (8, 8), (16, 8)];
const RELOCATION_FIELDS: [(usize, usize); 4] = [(0, 8), (8, 4), (12, 4), (16, 8)];

/// Numbers at the edges of what fields can hold or mean.
const NUMBERS: [u64; 24] = [
    0,
    1,
    2,
    3,
    4,
    8,
    15,
    16,
    0x7f,
    0x80,
    0xff,
    0x100,
    0x7fff,
    0xff00,
    0xfff1,
    0xffff,
    0x1_0000,
    0xff_ffff,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    1 << 32,
    1 << 63,
    u64::MAX,
];

/// A section as it is in the good object.
struct Section {
    header: usize,
    start: usize,
    size: usize,
    kind: SectionType,
    is_code: bool,
}

impl Section {
    fn rows(&self) -> Option<usize> {
        match self.kind {
            SectionType::SYMTAB
            | SectionType::CUDA_MERC_SYMTAB
            | SectionType::RELA
            | SectionType::CUDA_MERC_RELA => Some(24),
            SectionType::REL => Some(16),
            _ => None,
        }
    }

    fn is_symbols(&self) -> bool {
        matches!(
            self.kind,
            SectionType::SYMTAB | SectionType::CUDA_MERC_SYMTAB
        )
    }

    fn has_instructions(&self) -> bool {
        self.is_code && self.size >= INSTRUCTION
    }

    /// Where an instruction starts in the file.
    fn instruction(&self, number: usize) -> usize {
        self.start + number % (self.size / INSTRUCTION) * INSTRUCTION
    }
}

/// One of the sections with bytes that are wanted, counted round and round.
fn nth(all: &[Section], wanted: impl Fn(&Section) -> bool, number: usize) -> Option<&Section> {
    let fitting: Vec<&Section> = all.iter().filter(|s| s.size > 0 && wanted(s)).collect();
    fitting.get(number.checked_rem(fitting.len())?).copied()
}

/// The number of a section in its file: all but the first are here.
fn number_of(all: &[Section], section: &Section) -> u64 {
    let index = all.iter().position(|s| s.header == section.header);
    index.map_or(0, |index| index as u64 + 1)
}

fn sections(data: &[u8]) -> Vec<Section> {
    let Ok(file) = File::parse(data) else {
        return Vec::new();
    };
    let headers = file.header.sections_offset as usize;
    let sections = file.sections.iter().enumerate();
    let sections = sections.map(|(index, section)| Section {
        header: headers + index * SECTION_HEADER,
        start: section.offset as usize,
        size: section.data.len(),
        kind: section.kind,
        is_code: section.flags.contains(SectionFlags::EXECINSTR),
    });
    sections.skip(1).collect()
}

fn overwrite(data: &mut [u8], at: usize, size: usize, number: u64) {
    if let Some(field) = data.get_mut(at..at.saturating_add(size)) {
        field.copy_from_slice(&number.to_le_bytes()[..size]);
    }
}

fn read(data: &[u8], at: usize, size: usize) -> u64 {
    let mut number = [0; 8];
    if let Some(field) = data.get(at..at.saturating_add(size)) {
        number[..size].copy_from_slice(field);
    }
    u64::from_le_bytes(number)
}

/// A number of the fuzzer, one at an edge, or one beside what there is.
fn number(value: u32, before: u64) -> u64 {
    let [choice, low, high, mode] = value.to_le_bytes();
    let small = u64::from(u16::from_le_bytes([low, high]));
    match mode % 4 {
        0 => NUMBERS[usize::from(choice) % NUMBERS.len()].wrapping_add(small),
        1 => before.wrapping_add(u64::from(choice)),
        2 => before.wrapping_sub(u64::from(choice)),
        _ => u64::from(choice) | small << 8,
    }
}

/// Damages an object as the next twelve bytes say.
pub fn damage(data: &mut Vec<u8>, bytes: &mut Bytes<'_>) {
    let edit = Edit::next(bytes);
    let all = sections(data);
    let Some(any) = edit.section(&all, |_| true) else {
        return;
    };
    let place = any.start + edit.at % any.size;
    match edit.how % 16 {
        0 => data[place] = edit.value as u8,
        1 => {
            let size = 1 << (edit.narrow % 4);
            edit.change_number(data, place & !(size - 1), size);
        }
        2 => overwrite(data, place & !3, 4, edit.value.into()),
        3..=7 => edit.change_instruction(data, &all),
        8 => {
            let capsule = edit.section(&all, |s| s.kind == SectionType::CUDA_CAPMERC);
            if let Some(capsule) = capsule {
                data[capsule.start + edit.at % capsule.size] = edit.value as u8;
            }
        }
        9 | 10 => edit.change_row(data, &all),
        11 => {
            let field = usize::from(edit.narrow) % SECTION_FIELDS.len();
            let (offset, size) = SECTION_FIELDS[field];
            edit.change_number(data, any.header + offset, size);
        }
        12 => edit.copy(data, &all, place),
        // More or less of a section.
        13 => {
            let from = (edit.at % any.size) & !(usize::from(edit.narrow) % 16);
            let size = (edit.value as usize & 0xffff).min(any.size - from);
            resize(data, &all, any, from..from + size, edit.times(size));
        }
        14 => edit.repeat_code(data, &all),
        _ => {
            let field = usize::from(edit.narrow) % 64;
            overwrite(data, field, 1 << (edit.at % 4), number(edit.value, 0));
        }
    }
}

/// What the fuzzer says of an edit.
struct Edit {
    /// Which edit it is.
    how: u8,
    /// Chooses among a few.
    narrow: u8,
    /// Chooses a section.
    chosen: usize,
    /// Where in it.
    at: usize,
    value: u32,
}

impl Edit {
    fn next(bytes: &mut Bytes<'_>) -> Self {
        Self {
            how: bytes.byte(),
            narrow: bytes.byte(),
            chosen: bytes.short(),
            at: bytes.word() as usize,
            value: bytes.word(),
        }
    }

    /// The chosen one of these sections.
    fn section<'s>(
        &self,
        all: &'s [Section],
        wanted: impl Fn(&Section) -> bool,
    ) -> Option<&'s Section> {
        nth(all, wanted, self.chosen)
    }

    /// How often a piece of this size is there: not at all, or up to 128 times, but in a file that is not too large.
    fn times(&self, size: usize) -> usize {
        match self.value >> 16 & 1 {
            0 => (2 << (self.narrow / 16 % 7))
                .min(LARGEST / size.max(1))
                .max(1),
            _ => 0,
        }
    }

    fn change_number(&self, data: &mut [u8], at: usize, size: usize) {
        let before = read(data, at, size);
        overwrite(data, at, size, number(self.value, before));
    }

    fn change_instruction(&self, data: &mut [u8], all: &[Section]) {
        let Some(code) = self.section(all, Section::has_instructions) else {
            return;
        };
        let (at, value) = (code.instruction(self.at), self.value);
        match self.how % 16 {
            3 => overwrite(data, at + usize::from(self.narrow % 4) * 4, 4, value.into()),
            4 => data[at + usize::from(self.narrow % 16)] ^= 1 << (value % 8),
            // The instruction of another place.
            5 => {
                let from = nth(all, Section::has_instructions, value as usize >> 16);
                if let Some(from) = from.map(|from| from.instruction(value as usize & 0xffff)) {
                    data.copy_within(from..from + INSTRUCTION, at);
                }
            }
            // Another operation.
            6 => {
                let before = read(data, at, 2);
                overwrite(data, at, 2, before & 0xf000 | u64::from(value) & 0xfff);
            }
            // How it waits.
            _ => {
                let before = read(data, at + 8, 8);
                let waits = u64::from(value & 0x1f_ffff) << 41;
                overwrite(data, at + 8, 8, before & !(0x1f_ffff << 41) | waits);
            }
        }
    }

    /// Changes a field of a symbol or relocation.
    fn change_row(&self, data: &mut [u8], all: &[Section]) {
        let table = self.section(all, |s| s.rows().is_some());
        let Some((table, row)) = table.and_then(|t| Some((t, t.rows()?))) else {
            return;
        };
        let (offset, size) = match table.is_symbols() {
            true => SYMBOL_FIELDS[usize::from(self.narrow) % 6],
            false => RELOCATION_FIELDS[usize::from(self.narrow) % (row / 6)],
        };
        let at = table.start + self.at % (table.size / row).max(1) * row + offset;
        self.change_number(data, at, size);
    }

    /// Copies bytes of some section to a place.
    fn copy(&self, data: &mut [u8], all: &[Section], to: usize) {
        let Some(from) = nth(all, |_| true, self.value as usize >> 16) else {
            return;
        };
        let from = from.start + (self.value as usize & 0xffff) % from.size;
        let size = usize::from(self.narrow).min(data.len() - from.max(to));
        data.copy_within(from..from + size, to);
    }

    /// Makes more or less of code, and of its Mercury code as much.
    fn repeat_code(&self, data: &mut Vec<u8>, all: &[Section]) {
        let Some(code) = self.section(all, Section::has_instructions) else {
            return;
        };
        let from = (code.instruction(self.at) - code.start) / INSTRUCTION;
        let left = code.size / INSTRUCTION - from;
        let count = (self.value as usize & 0xff).min(left);
        let times = self.times(count * INSTRUCTION);
        let native = number_of(all, code);
        for section in all {
            if section.kind == SectionType::CUDA_CAPMERC && read(data, section.start, 4) == native {
                repeat_mercury(data, all, section, from..from + count, times);
            }
        }
        let piece = from * INSTRUCTION..(from + count) * INSTRUCTION;
        resize(data, all, code, piece, times);
    }
}

/// Lets a section have a piece so many times, and gives symbols of its size the new one.
fn resize(
    data: &mut Vec<u8>,
    all: &[Section],
    section: &Section,
    piece: Range<usize>,
    times: usize,
) {
    let old = &data[section.start..section.start + section.size];
    let (before, rest) = old.split_at(piece.start);
    let (piece, behind) = rest.split_at(piece.len());
    let new = [before, &piece.repeat(times), behind].concat();
    let index = number_of(all, section);
    for table in all.iter().filter(|table| table.is_symbols()) {
        for at in (0..table.size / SYMBOL).map(|row| table.start + row * SYMBOL) {
            let is_of_it =
                read(data, at + 6, 2) == index && read(data, at + 16, 8) == section.size as u64;
            if is_of_it {
                overwrite(data, at + 16, 8, new.len() as u64);
            }
        }
    }
    replace(data, section, &new);
}

/// Gives a section other bytes, behind the end of the file.
fn replace(data: &mut Vec<u8>, section: &Section, new: &[u8]) {
    data.resize(data.len().next_multiple_of(128), 0);
    let start = data.len() as u64;
    overwrite(data, section.header + 24, 8, start);
    overwrite(data, section.header + 32, 8, new.len() as u64);
    data.extend_from_slice(new);
}

/// Lets Mercury code have what stands for some machine instructions so many times.
fn repeat_mercury(
    data: &mut Vec<u8>,
    all: &[Section],
    section: &Section,
    piece: Range<usize>,
    times: usize,
) {
    let old = data[section.start..section.start + section.size].to_vec();
    let Ok(capsule) = Capsule::parse(&old) else {
        return;
    };
    let mut stored = capsule.stored.iter().peekable();
    let (mut before, mut repeated, mut behind) = (Vec::new(), Vec::new(), Vec::new());
    let (mut at, mut size) = (0, 0);
    for index in 0..capsule.instructions {
        let stored = stored.next_if(|stored| stored.index == index);
        match at {
            _ if at < piece.start => before.push(stored),
            _ if at < piece.end => repeated.push(stored),
            _ => behind.push(stored),
        }
        let machine = stored.map_or(1, StoredInstruction::machine_instructions);
        if piece.contains(&at) {
            size += machine;
        }
        at += machine;
    }
    let all_of_it = [before, repeated.repeat(times), behind].concat();
    let mut bitmap = vec![0; all_of_it.len().div_ceil(32) * 4];
    for (at, _) in all_of_it.iter().enumerate().filter(|(_, s)| s.is_none()) {
        bitmap[at / 8] |= 1 << (at % 8);
    }
    let bytes = all_of_it.iter().flatten().map(|stored| stored.bytes);
    let bytes = bytes.collect::<Vec<_>>().concat();
    let instructions = all_of_it.len() as u32;
    let (marker, capsule) = match Capsule::is_first_form(&old) {
        // The number of instructions is part of the word.
        true => (capsule.marker & !0x3fff_ffff | instructions, capsule),
        false => (capsule.marker, capsule),
    };
    let capsule = Capsule {
        instructions,
        ..capsule
    };
    // Symbols have the size of the machine code.
    let change = (size * INSTRUCTION) as u64;
    let change = change.wrapping_mul((times as u64).wrapping_sub(1));
    let index = number_of(all, section);
    for table in all
        .iter()
        .filter(|s| s.kind == SectionType::CUDA_MERC_SYMTAB)
    {
        for at in (0..table.size / SYMBOL).map(|row| table.start + row * SYMBOL) {
            if read(data, at + 6, 2) == index && read(data, at + 4, 1) & 0xf == 2 {
                let before = read(data, at + 16, 8);
                overwrite(data, at + 16, 8, before.wrapping_add(change));
            }
        }
    }
    replace(data, section, &capsule.encode_with(marker, &bitmap, &bytes));
}
