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
    let how = bytes.byte();
    let narrow = bytes.byte();
    let chosen = bytes.short();
    let at = bytes.word() as usize;
    let value = bytes.word();
    let all = sections(data);
    let nth = |wanted: fn(&Section) -> bool, n: usize| {
        let fitting: Vec<&Section> = all.iter().filter(|s| s.size > 0 && wanted(s)).collect();
        fitting.get(n.checked_rem(fitting.len())?).copied()
    };
    let any = nth(|_| true, chosen);
    let code = nth(|s| s.is_code && s.size >= INSTRUCTION, chosen);
    let capsule = nth(|s| s.kind == SectionType::CUDA_CAPMERC, chosen);
    let (Some(any), place) = (any, |s: &Section| s.start + at % s.size) else {
        return;
    };
    let instruction = |s: &Section, at: usize| s.start + at % (s.size / INSTRUCTION) * INSTRUCTION;
    match how % 16 {
        0 => data[place(any)] = value as u8,
        1 => {
            let size = 1 << (narrow % 4);
            let at = place(any) & !(size - 1);
            let before = read(data, at, size);
            overwrite(data, at, size, number(value, before));
        }
        2 => overwrite(data, place(any) & !3, 4, value.into()),
        3 => {
            let Some(code) = code else { return };
            let at = instruction(code, at) + usize::from(narrow % 4) * 4;
            overwrite(data, at, 4, value.into());
        }
        4 => {
            let Some(code) = code else { return };
            data[instruction(code, at) + usize::from(narrow % 16)] ^= 1 << (value % 8);
        }
        // Instructions of other places.
        5 => {
            let from = nth(|s| s.is_code && s.size >= INSTRUCTION, value as usize >> 16);
            let (Some(code), Some(from)) = (code, from) else {
                return;
            };
            let from = instruction(from, value as usize & 0xffff);
            data.copy_within(from..from + INSTRUCTION, instruction(code, at));
        }
        // Another operation.
        6 => {
            let Some(code) = code else { return };
            let at = instruction(code, at);
            let before = read(data, at, 2);
            overwrite(data, at, 2, before & 0xf000 | u64::from(value) & 0xfff);
        }
        // How an instruction waits.
        7 => {
            let Some(code) = code else { return };
            let at = instruction(code, at) + 8;
            let before = read(data, at, 8);
            let waits = u64::from(value & 0x1f_ffff) << 41;
            overwrite(data, at, 8, before & !(0x1f_ffff << 41) | waits);
        }
        8 => {
            let Some(capsule) = capsule else { return };
            data[place(capsule)] = value as u8;
        }
        9 | 10 => {
            let table = nth(|s| s.rows().is_some(), chosen);
            let Some((table, row)) = table.and_then(|t| Some((t, t.rows()?))) else {
                return;
            };
            let is_symbols = matches!(
                table.kind,
                SectionType::SYMTAB | SectionType::CUDA_MERC_SYMTAB
            );
            let (offset, size) = match is_symbols {
                true => SYMBOL_FIELDS[usize::from(narrow) % 6],
                false => RELOCATION_FIELDS[usize::from(narrow) % (row / 6)],
            };
            let at = table.start + at % (table.size / row).max(1) * row + offset;
            let before = read(data, at, size);
            overwrite(data, at, size, number(value, before));
        }
        11 => {
            let (offset, size) = SECTION_FIELDS[usize::from(narrow) % SECTION_FIELDS.len()];
            let at = any.header + offset;
            let before = read(data, at, size);
            overwrite(data, at, size, number(value, before));
        }
        12 => {
            let Some(from) = nth(|_| true, value as usize >> 16) else {
                return;
            };
            let from = from.start + (value as usize & 0xffff) % from.size;
            let to = place(any);
            let size = usize::from(narrow).min(data.len() - from.max(to));
            data.copy_within(from..from + size, to);
        }
        // More or less of a section.
        13 => {
            let from = (at % any.size) & !(usize::from(narrow) % 16);
            let size = (value as usize & 0xffff).min(any.size - from);
            let times = times(size, narrow / 16, value);
            resize(data, &all, any, from..from + size, times);
        }
        // More or less code, and as much Mercury code.
        14 => {
            let Some(code) = code else { return };
            let from = instruction(code, at) - code.start;
            let left = (code.size - from) / INSTRUCTION;
            let count = (value as usize & 0xff).min(left);
            let (from, size) = (from / INSTRUCTION, count * INSTRUCTION);
            let times = times(size, narrow / 16, value);
            for index in 0..all.len() {
                let native = all.iter().position(|s| s.header == code.header);
                let mercury = Some(&all[index]).filter(|s| s.kind == SectionType::CUDA_CAPMERC);
                let of = mercury.map(|s| read(data, s.start, 4));
                if of.is_some() && of == native.map(|native| native as u64 + 1) {
                    repeat_mercury(data, &all, &all[index], from, count, times);
                }
            }
            let start = from * INSTRUCTION;
            resize(data, &all, code, start..start + size, times);
        }
        _ => {
            let field = usize::from(narrow) % 64;
            overwrite(data, field, 1 << (at % 4), number(value, 0));
        }
    }
}

/// How often a piece of this size is there: not at all, or up to 128 times, but in a file that is not too large.
fn times(size: usize, power: u8, value: u32) -> usize {
    match value >> 16 & 1 {
        0 => (2 << (power % 7)).min(LARGEST / size.max(1)).max(1),
        _ => 0,
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
    let index = all.iter().position(|s| s.header == section.header);
    let index = index.map_or(0, |index| index as u64 + 1);
    for table in all {
        let is_symbols = matches!(
            table.kind,
            SectionType::SYMTAB | SectionType::CUDA_MERC_SYMTAB
        );
        for at in (0..table.size / SYMBOL).map(|row| table.start + row * SYMBOL) {
            let is_of_it = is_symbols
                && read(data, at + 6, 2) == index
                && read(data, at + 16, 8) == section.size as u64;
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

/// How many machine instructions a Mercury instruction stands for.
fn stands_for(stored: Option<&StoredInstruction<'_>>) -> usize {
    match stored.map(|stored| stored.bytes) {
        Some([mark @ (0x50 | 0xd0 | 0x51 | 0xd1), half, ..]) => {
            2 * usize::from(*half) + usize::from(mark >> 7)
        }
        Some([Capsule::REMARK | Capsule::LONG_REMARK, ..]) => 0,
        _ => 1,
    }
}

/// Lets Mercury code have what stands for some machine instructions so many times.
fn repeat_mercury(
    data: &mut Vec<u8>,
    all: &[Section],
    section: &Section,
    from: usize,
    count: usize,
    times: usize,
) {
    let old = data[section.start..section.start + section.size].to_vec();
    let Ok(capsule) = Capsule::parse(&old) else {
        return;
    };
    let mut stored = capsule.stored.iter().peekable();
    let (mut before, mut piece, mut behind) = (Vec::new(), Vec::new(), Vec::new());
    let (mut at, mut size) = (0, 0);
    for index in 0..capsule.instructions {
        let stored = stored.next_if(|stored| stored.index == index);
        match at {
            _ if at < from => before.push(stored),
            _ if at < from + count => piece.push(stored),
            _ => behind.push(stored),
        }
        let machine = stands_for(stored);
        if (from..from + count).contains(&at) {
            size += machine;
        }
        at += machine;
    }
    let all_of_it = [before, piece.repeat(times), behind].concat();
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
    let index = all.iter().position(|s| s.header == section.header);
    let index = index.map_or(0, |index| index as u64 + 1);
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
