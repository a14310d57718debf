//! `.nv.capmerc.*`: the Mercury form of one function.
//!
//! Three words (section number of the machine code, a word that is the same
//! in every file, number of instructions), a bitmap and the stored
//! instructions. A set bit means that the instruction is not stored. Lengths
//! of stored instructions follow from their first byte; what they mean is not
//! known here. CUDA 12.8 writes two words, the second for the last two, and
//! stores others of the instructions that take four bytes.

use std::ops::Range;

use crate::error::ParseError;

/// One function's Mercury code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capsule<'d> {
    /// Section number of the machine code, `.text.*`.
    pub text_section: u32,
    /// The second word: [`Capsule::MARKER`] in every file seen, but for those
    /// of CUDA 12.8.
    pub marker: u32,
    /// Number of instructions, stored or not.
    pub instructions: u32,
    /// One bit for each instruction, in whole 32-bit words.
    pub bitmap: &'d [u8],
    /// The stored instructions, in order.
    pub stored: Vec<StoredInstruction<'d>>,
}

/// One instruction of the stored ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoredInstruction<'d> {
    /// Its number among all instructions.
    pub index: u32,
    /// Offset of [`StoredInstruction::bytes`] in the section.
    pub offset: u32,
    /// How many of the bytes are a prefix.
    pub prefix: u8,
    /// Prefix and body.
    pub bytes: &'d [u8],
}

impl<'d> StoredInstruction<'d> {
    /// How many machine instructions it stands for. Instructions that are not stored stand for one.
    pub fn machine_instructions(&self) -> usize {
        match self.bytes {
            [mark @ (0x50 | 0xd0 | 0x51 | 0xd1), half, ..] => {
                2 * usize::from(*half) + usize::from(mark >> 7)
            }
            [Capsule::REMARK | Capsule::LONG_REMARK, ..] => 0,
            _ => 1,
        }
    }

    /// The bytes behind the prefix.
    pub fn body(&self) -> &'d [u8] {
        &self.bytes[usize::from(self.prefix)..]
    }
}

/// In the second word of CUDA 12.8, beside the number of instructions.
const FIRST_FORM: u32 = 1 << 30;
/// In the second word of every later version.
const LATER_FORM: u32 = 1 << 31;

const WORD: usize = 4;

fn word(data: &[u8], index: usize) -> Option<u32> {
    let word = data.get(WORD * index..)?.first_chunk()?;
    Some(u32::from_le_bytes(*word))
}

fn is_first_form(marker: u32) -> bool {
    marker & (FIRST_FORM | LATER_FORM) == FIRST_FORM
}

impl<'d> Capsule<'d> {
    /// How something begins that stands for no machine instruction.
    pub const REMARK: u8 = 0x31;
    /// The same, twice as long.
    pub const LONG_REMARK: u8 = 0x32;
    /// The second word of code of today.
    pub const MARKER: u32 = LATER_FORM | FIRST_FORM | 1;

    /// Whether CUDA 12.8 wrote the section, in its own form.
    pub fn is_first_form(data: &[u8]) -> bool {
        word(data, 1).is_some_and(is_first_form)
    }

    /// Reads a section.
    pub fn parse(data: &'d [u8]) -> Result<Self, ParseError> {
        let malformed =
            |offset: usize, problem: String| ParseError::malformed(problem).at(offset as u64);
        let truncated = |what, start: usize, size: usize| {
            let end = (start as u64).saturating_add(size as u64);
            ParseError::truncated(what, end, data.len()).at(start as u64)
        };
        let word = |index| {
            let size = WORD * (index + 1);
            word(data, index).ok_or_else(|| truncated("capsule header", 0, size))
        };
        let (text_section, marker) = (word(0)?, word(1)?);
        let (instructions, header) = match is_first_form(marker) {
            true => (marker & !FIRST_FORM, 2 * WORD),
            false => (word(2)?, 3 * WORD),
        };
        let bitmap_size = bitmap_size(instructions);
        let bitmap = data[header..]
            .get(..bitmap_size)
            .ok_or_else(|| truncated("capsule bitmap", header, bitmap_size))?;
        let mut stored = Vec::new();
        let mut offset = header + bitmap_size;
        for index in (0..instructions).filter(|&index| !bit(bitmap, index)) {
            let (prefix, size) = lengths(&data[offset..]).ok_or_else(|| {
                let problem = match data.get(offset) {
                    Some(byte) => format!("instruction {index} begins with unknown byte {byte:#x}"),
                    None => format!("instruction {index} is missing"),
                };
                malformed(offset, problem)
            })?;
            let bytes = data[offset..]
                .get(..size)
                .ok_or_else(|| truncated("capsule instruction", offset, size))?;
            stored.push(StoredInstruction {
                index,
                offset: offset as u32,
                prefix,
                bytes,
            });
            offset += size;
        }
        if offset != data.len() {
            let problem = format!(
                "{} bytes behind the last of {instructions} instructions",
                data.len() - offset
            );
            return Err(malformed(offset, problem));
        }
        Ok(Self {
            text_section,
            marker,
            instructions,
            bitmap,
            stored,
        })
    }

    /// Where the body of an instruction lies in the section; `None` if it is
    /// not stored.
    pub fn body(&self, index: u32) -> Option<Range<usize>> {
        let at = self.stored.binary_search_by_key(&index, |i| i.index).ok()?;
        let instruction = &self.stored[at];
        let start = instruction.offset as usize;
        Some(start + usize::from(instruction.prefix)..start + instruction.bytes.len())
    }

    /// The bytes of the section.
    pub fn encode(&self) -> Vec<u8> {
        let stored: Vec<&[u8]> = self.stored.iter().map(|stored| stored.bytes).collect();
        self.encode_with(self.marker, self.bitmap, &stored.concat())
    }

    /// The bytes of the section with another second word, other bits and other
    /// stored instructions.
    pub fn encode_with(&self, marker: u32, bitmap: &[u8], stored: &[u8]) -> Vec<u8> {
        with_head(
            [self.text_section, marker, self.instructions],
            bitmap,
            stored,
        )
    }

    /// The bytes of a section: of each instruction whether it is not stored, and the bytes of all that are. `None` if there
    /// are more than a section can count.
    pub(crate) fn assemble(
        text_section: u32,
        marker: u32,
        is_elided: &[bool],
        stored: &[u8],
    ) -> Option<Vec<u8>> {
        let instructions = u32::try_from(is_elided.len()).ok()?;
        let mut bitmap = vec![0; bitmap_size(instructions)];
        for (index, _) in is_elided.iter().enumerate().filter(|&(_, is)| *is) {
            bitmap[index / 8] |= 1 << (index % 8);
        }
        let head = [text_section, marker, instructions];
        Some(with_head(head, &bitmap, stored))
    }
}

/// The bytes of a section whose head has two words in the first form, and three later.
fn with_head(head: [u32; 3], bitmap: &[u8], stored: &[u8]) -> Vec<u8> {
    let words = head.map(u32::to_le_bytes);
    let words = match is_first_form(head[1]) {
        true => &words[..2],
        false => &words[..],
    };
    [words.as_flattened(), bitmap, stored].concat()
}

/// The size of the bits of so many instructions, in bytes.
fn bitmap_size(instructions: u32) -> usize {
    instructions.div_ceil(u32::BITS) as usize * WORD
}

/// Length of the prefix and of the whole instruction at the start of `data`.
/// The lengths add up to the size of every such section of the test cases.
fn lengths(data: &[u8]) -> Option<(u8, usize)> {
    const PREFIX: u8 = 2;
    let body = |first: u8| {
        Some(match first {
            0x01 | Capsule::REMARK => 16,
            0x02 | Capsule::LONG_REMARK => 32,
            0x03 => 48,
            0x41 | 0x42 => 4,
            0x50 | 0xd0 => 2,
            _ => return None,
        })
    };
    match *data.first()? {
        0x51 | 0xd1 => {
            let size: usize = body(*data.get(usize::from(PREFIX))?)?;
            Some((PREFIX, usize::from(PREFIX) + size))
        }
        first => Some((0, body(first)?)),
    }
}

fn bit(bitmap: &[u8], index: u32) -> bool {
    bitmap[index as usize / 8] >> (index % 8) & 1 == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(instructions: u32, bitmap: &[u8], rest: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        for word in [15, 0xc000_0001, instructions] {
            out.extend(u32::to_le_bytes(word));
        }
        out.extend(bitmap);
        out.extend(rest);
        out
    }

    #[test]
    fn stored_and_elided_instructions() {
        // Instructions 1 and 3 are elided; 2 has a prefix.
        let rest = [&[0x41, 0, 0, 4][..], &[0x51, 9, 0x50, 1], &[0xd0, 6]].concat();
        let data = bytes(5, &[0b01010, 0, 0, 0], &rest);
        let capsule = Capsule::parse(&data).unwrap();
        assert_eq!((capsule.text_section, capsule.instructions), (15, 5));
        let indices: Vec<_> = capsule.stored.iter().map(|i| (i.index, i.prefix)).collect();
        assert_eq!(indices, [(0, 0), (2, 2), (4, 0)]);
        assert_eq!(capsule.body(2), Some(22..24));
        assert_eq!(capsule.body(1), None);
        assert_eq!(capsule.body(9), None);
        assert_eq!(capsule.encode(), data);
    }

    #[test]
    fn what_stands_for_no_instruction_is_as_long_as_one_or_two() {
        for (first, size) in [(Capsule::REMARK, 16), (Capsule::LONG_REMARK, 32)] {
            let mut remark = vec![first, 2, 0, 0x20, 0, 1, 1, 0x17];
            remark.resize(size, 0);
            remark.extend([0x50, 1]);
            let data = bytes(2, &[0; 4], &remark);
            let capsule = Capsule::parse(&data).unwrap();
            assert_eq!(capsule.body(0), Some(16..16 + size));
            assert_eq!(capsule.body(1), Some(16 + size..18 + size));
        }
    }

    #[test]
    fn the_longest_instruction_has_three_units() {
        let copy = [&[0x51, 2, 3][..], &[0; 47], &[0x50, 1]].concat();
        let capsule = bytes(2, &[0; 4], &copy);
        let capsule = Capsule::parse(&capsule).unwrap();
        assert_eq!(capsule.body(0), Some(18..66));
        assert_eq!(capsule.body(1), Some(66..68));
    }

    #[test]
    fn the_first_form_has_two_words() {
        let words = [15, 0x4000_0002].map(u32::to_le_bytes);
        let data = [words.as_flattened(), &[0b01, 0, 0, 0], &[0x50, 7]].concat();
        let capsule = Capsule::parse(&data).unwrap();
        assert!(Capsule::is_first_form(&data));
        assert_eq!(capsule.instructions, 2);
        assert_eq!(capsule.body(1), Some(12..14));
        assert_eq!(capsule.encode(), data);
    }

    #[test]
    fn damage_is_named() {
        let error = |data: &[u8]| Capsule::parse(data).unwrap_err().to_string();
        assert_eq!(
            error(&[0; 4]),
            "<memory>, offset 0x0: capsule header ends at 0x8, past the 0x4 bytes there are"
        );
        assert_eq!(
            error(&bytes(u32::MAX, &[], &[])),
            "<memory>, offset 0xc: capsule bitmap ends at 0x2000000c, past the 0xc bytes there are"
        );
        assert_eq!(
            error(&bytes(1, &[0; 4], &[0x77])),
            "<memory>, offset 0x10: instruction 0 begins with unknown byte 0x77"
        );
        assert_eq!(
            error(&bytes(1, &[0; 4], &[])),
            "<memory>, offset 0x10: instruction 0 is missing"
        );
        assert_eq!(
            error(&bytes(1, &[0; 4], &[2, 0])),
            "<memory>, offset 0x10: capsule instruction ends at 0x30, past the 0x12 bytes there are"
        );
        assert_eq!(
            error(&bytes(1, &[1, 0, 0, 0], &[0xd0, 6])),
            "<memory>, offset 0x10: 2 bytes behind the last of 1 instructions"
        );
    }
}
