//! A whole device object, decoded, and its way back to bytes.
//!
//! [`Cubin::parse`] reads any device object the 13.0 tools write and
//! [`Cubin::encode`] gives back the same bytes. In between, everything can be
//! looked at and changed. The link does not use this: it reads [`File`].

use super::headers::{Counts, FILE_HEADER, PROGRAM_HEADER, SECTION_HEADER, SectionHeader};
use super::{Content, File, Header, Place, Section, SectionFlags, SectionType, Segment, Symbol};
use crate::error::ParseError;

/// A whole device object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cubin<'d> {
    /// The file header. The offsets in it say where the tables go.
    pub header: Header,
    /// All sections, section 0 included.
    pub sections: Vec<CubinSection<'d>>,
    /// The program headers.
    pub segments: Vec<Segment>,
    /// Size of the file.
    pub size: u64,
    /// Runs of bytes that nothing above accounts for and that are not what
    /// the tools write there: offset and bytes. Empty for their files.
    pub unexplained: Vec<(u64, &'d [u8])>,
}

/// One section of a [`Cubin`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CubinSection<'d> {
    /// Its name.
    pub name: &'d str,
    /// Offset of the name in the section name table.
    pub name_offset: u32,
    /// `sh_type`.
    pub kind: SectionType,
    /// `sh_flags`.
    pub flags: SectionFlags,
    /// `sh_addr`.
    pub address: u64,
    /// `sh_offset`.
    pub offset: u64,
    /// `sh_size`. Where there are bytes in the file, their number.
    pub size: u64,
    /// `sh_link`.
    pub link: u32,
    /// `sh_info`.
    pub info: u32,
    /// `sh_addralign`.
    pub align: u64,
    /// `sh_entsize`.
    pub entry_size: u64,
    /// What is inside.
    pub content: Content<'d>,
}

/// A [`Cubin`] whose parts do not fit together.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EncodeError {
    /// Something lies outside the file.
    #[error("{what} ends at {end:#x}, past the file's {size:#x} bytes")]
    OutsideFile {
        /// The section, or the table.
        what: String,
        /// Where it ends.
        end: u64,
        /// [`Cubin::size`].
        size: u64,
    },
    /// A section's size is not that of its content.
    #[error("section {section} has {actual:#x} bytes and says {stated:#x}")]
    WrongSize {
        /// The section.
        section: String,
        /// Bytes of the content.
        actual: u64,
        /// [`CubinSection::size`].
        stated: u64,
    },
    /// A file of more bytes than this machine can hold.
    #[error("a file of {0:#x} bytes does not fit into memory")]
    TooLarge(u64),
}

impl<'d> Cubin<'d> {
    /// Reads and decodes a device object.
    pub fn parse(data: &'d [u8]) -> Result<Self, ParseError> {
        let file = File::parse(data)?;
        check_claims(&file)?;
        let mut sections = Vec::with_capacity(file.sections.len());
        for (index, section) in file.sections.iter().enumerate() {
            let content = Content::decode(&file, index)?;
            sections.push(CubinSection::new(section, content));
        }
        let mut cubin = Self {
            header: file.header,
            sections,
            segments: file.segments,
            size: data.len() as u64,
            unexplained: Vec::new(),
        };
        let encoded = cubin
            .encode()
            .map_err(|error| ParseError::malformed(error.to_string()).at(0))?;
        cubin.unexplained = differences(data, &encoded);
        Ok(cubin)
    }

    /// The bytes of the file. What no part claims is zero.
    pub fn encode(&self) -> Result<Vec<u8>, EncodeError> {
        let too_large = EncodeError::TooLarge(self.size);
        let size = usize::try_from(self.size).map_err(|_| too_large.clone())?;
        let mut out = Vec::new();
        out.try_reserve_exact(size).map_err(|_| too_large)?;
        out.resize(size, 0);
        for section in &self.sections {
            let bytes = match &section.content {
                // These are most of the bytes; they need no copy in between.
                Content::Empty => continue,
                Content::Strings(bytes) | Content::Bytes(bytes) => {
                    section.check_size(bytes)?;
                    put(&mut out, section.offset, bytes, section.name)?;
                    continue;
                }
                decoded => decoded.encode(),
            };
            section.check_size(&bytes)?;
            put(&mut out, section.offset, &bytes, section.name)?;
        }
        let mut sections = Vec::new();
        for section in &self.sections {
            section.header().encode(&mut sections);
        }
        let place = self.header.sections_offset;
        put(&mut out, place, &sections, "section table")?;
        let mut segments = Vec::new();
        for segment in &self.segments {
            segment.encode(&mut segments);
        }
        let place = self.header.segments_offset;
        put(&mut out, place, &segments, "program headers")?;
        let counts = Counts {
            segments: self.segments.len() as u16,
            sections: short_count(self.sections.len()),
            has_sections: !self.sections.is_empty(),
        };
        let mut header = Vec::new();
        self.header.encode(counts, &mut header);
        put(&mut out, 0, &header, "file header")?;
        for &(offset, bytes) in &self.unexplained {
            put(&mut out, offset, bytes, "unexplained bytes")?;
        }
        Ok(out)
    }

    /// Gives every section its size and a place in the file, one behind the
    /// other at its alignment, then the section table and the program headers
    /// as the CUDA tools do, and sets [`Cubin::size`].
    pub fn lay_out(&mut self) -> Result<(), EncodeError> {
        let mut end = FILE_HEADER;
        for index in 1..self.sections.len() {
            end = self.place(index, end)?;
        }
        self.place_tables(end)
    }

    /// Gives a section its size and its place from `end` on, and says where it
    /// ends.
    pub(super) fn place(&mut self, index: usize, end: u64) -> Result<u64, EncodeError> {
        let section = &mut self.sections[index];
        section.offset = end
            .checked_next_multiple_of(section.align.max(1))
            .ok_or(EncodeError::TooLarge(section.align))?;
        if section.content == Content::Empty {
            return Ok(section.offset);
        }
        section.size = section.content.encode().len() as u64;
        section
            .offset
            .checked_add(section.size)
            .ok_or(EncodeError::TooLarge(section.offset))
    }

    /// Puts the section table and the program headers behind `end`.
    pub(super) fn place_tables(&mut self, end: u64) -> Result<(), EncodeError> {
        let count = self.sections.len() as u64;
        let tables = count * SECTION_HEADER + self.segments.len() as u64 * PROGRAM_HEADER;
        let start = end
            .checked_next_multiple_of(8)
            .filter(|start| start.checked_add(tables).is_some())
            .ok_or(EncodeError::TooLarge(end))?;
        self.header.sections_offset = start;
        self.header.segments_offset = if self.segments.is_empty() {
            0
        } else {
            start + count * SECTION_HEADER
        };
        self.size = start + tables;
        if let Some(first) = self.sections.first_mut() {
            first.size = if count >= Place::FIRST_RESERVED.into() {
                count
            } else {
                0
            };
        }
        Ok(())
    }

    /// The first section of a name.
    pub fn section_by_name(&self, name: &str) -> Option<&CubinSection<'d>> {
        self.sections.iter().find(|s| s.name == name)
    }

    /// The symbols of `.symtab`; empty without one, or where it could not be
    /// decoded without loss.
    pub fn symbols(&self) -> &[Symbol<'d>] {
        self.sections
            .iter()
            .find(|s| s.kind == SectionType::SYMTAB)
            .and_then(|s| match &s.content {
                Content::Symbols(symbols) => Some(&symbols[..]),
                _ => None,
            })
            .unwrap_or(&[])
    }
}

impl<'d> CubinSection<'d> {
    fn new(section: &Section<'d>, content: Content<'d>) -> Self {
        Self {
            name: section.name,
            name_offset: section.name_offset,
            kind: section.kind,
            flags: section.flags,
            address: section.address,
            offset: section.offset,
            size: section.size,
            link: section.link,
            info: section.info,
            align: section.align,
            entry_size: section.entry_size,
            content,
        }
    }

    fn check_size(&self, bytes: &[u8]) -> Result<(), EncodeError> {
        let actual = bytes.len() as u64;
        if actual == self.size {
            return Ok(());
        }
        Err(EncodeError::WrongSize {
            section: self.name.to_owned(),
            actual,
            stated: self.size,
        })
    }

    fn header(&self) -> SectionHeader {
        SectionHeader {
            name: self.name_offset,
            kind: self.kind,
            flags: self.flags,
            address: self.address,
            offset: self.offset,
            size: self.size,
            link: self.link,
            info: self.info,
            align: self.align,
            entry_size: self.entry_size,
        }
    }
}

/// A number of sections as `e_shnum`: zero where section 0 keeps it.
fn short_count(count: usize) -> u16 {
    u16::try_from(count)
        .ok()
        .filter(|&count| u32::from(count) < Place::FIRST_RESERVED)
        .unwrap_or(0)
}

/// Decoding takes several times the space of the bytes. Tables of a sound
/// file do not overlap, so together they are no longer than the file; a
/// damaged one could make a short file claim any amount.
fn check_claims(file: &File<'_>) -> Result<(), ParseError> {
    let mut claimed = 0;
    for section in &file.sections {
        claimed += match section.kind {
            SectionType::PROGBITS | SectionType::STRTAB => 0,
            _ => section.data.len(),
        };
        // Mercury constants and globals share the bytes of their twins.
        if claimed > file.data.len() * 2 {
            let problem = format!(
                "the sections up to here overlap: they claim {claimed:#x} bytes of a file of {:#x}",
                file.data.len()
            );
            return Err(ParseError::malformed(problem).in_section(section.name));
        }
    }
    Ok(())
}

fn put(out: &mut [u8], offset: u64, bytes: &[u8], what: &str) -> Result<(), EncodeError> {
    if bytes.is_empty() {
        return Ok(());
    }
    let end = offset.saturating_add(bytes.len() as u64);
    if end > out.len() as u64 {
        return Err(EncodeError::OutsideFile {
            what: what.to_owned(),
            end,
            size: out.len() as u64,
        });
    }
    out[offset as usize..end as usize].copy_from_slice(bytes);
    Ok(())
}

/// Runs of `data` that differ from `encoded`, which is as long.
fn differences<'d>(data: &'d [u8], encoded: &[u8]) -> Vec<(u64, &'d [u8])> {
    let mut runs = Vec::new();
    let mut start = None;
    // Most files have none, and whole blocks compare fast.
    if data == encoded {
        return runs;
    }
    for index in 0..=data.len() {
        let differs = data.get(index) != encoded.get(index);
        match (start, differs) {
            (None, true) => start = Some(index),
            (Some(first), false) => {
                runs.push((first as u64, &data[first..index]));
                start = None;
            }
            (None, false) | (Some(_), true) => {}
        }
    }
    if let Some(first) = start {
        runs.push((first as u64, &data[first..]));
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object() -> Vec<u8> {
        let path = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../tests/inputs/caller.sm_90.cubin"
        );
        std::fs::read(path).unwrap()
    }

    #[test]
    fn changes_survive_encoding() {
        let data = object();
        let mut cubin = Cubin::parse(&data).unwrap();
        let symbols = cubin.symbols().len();
        let section = cubin
            .sections
            .iter_mut()
            .find(|s| s.name == ".symtab")
            .unwrap();
        let Content::Symbols(table) = &mut section.content else {
            panic!("a symbol table");
        };
        table[1].value = 0x1234;
        let encoded = cubin.encode().unwrap();
        let again = Cubin::parse(&encoded).unwrap();
        assert_eq!(again.symbols()[1].value, 0x1234);
        assert_eq!(again.symbols().len(), symbols);
        assert_eq!(again.unexplained, []);
    }

    #[test]
    fn a_file_can_be_laid_out_anew() {
        // Before sm_90 ptxas leaves no gaps but those of alignment.
        let older = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../tests/inputs/caller.sm_75.cubin"
        );
        let older = std::fs::read(older).unwrap();
        let mut cubin = Cubin::parse(&older).unwrap();
        cubin.lay_out().unwrap();
        assert_eq!(cubin.encode().unwrap(), older);

        let data = object();
        let mut cubin = Cubin::parse(&data).unwrap();
        let size = cubin.size;
        cubin.lay_out().unwrap();
        assert!(cubin.size < size);
        let encoded = cubin.encode().unwrap();
        let again = Cubin::parse(&encoded).unwrap();
        assert_eq!(
            (&again.sections, &again.unexplained),
            (&cubin.sections, &Vec::new())
        );

        cubin.sections[4].align = 1 << 63;
        cubin.lay_out().unwrap();
        assert!(matches!(cubin.encode(), Err(EncodeError::TooLarge(_))));
        cubin.sections[5].align = (1 << 63) + 1;
        cubin.sections[6].align = 1 << 63;
        assert!(matches!(cubin.lay_out(), Err(EncodeError::TooLarge(_))));
    }

    #[test]
    fn parts_that_do_not_fit_are_named() {
        let data = object();
        let mut cubin = Cubin::parse(&data).unwrap();
        cubin.sections[2].size += 1;
        assert_eq!(
            cubin.encode().unwrap_err().to_string(),
            "section .strtab has 0x208 bytes and says 0x209"
        );
        cubin.sections[2].size -= 1;
        cubin.sections[2].offset = u64::MAX;
        assert_eq!(
            cubin.encode().unwrap_err().to_string(),
            ".strtab ends at 0xffffffffffffffff, past the file's 0x1720 bytes"
        );
    }

    #[test]
    fn bytes_outside_all_parts_are_kept() {
        let mut data = object();
        data[12] = 7;
        let cubin = Cubin::parse(&data).unwrap();
        assert_eq!(cubin.unexplained, [(12, &[7][..])]);
        assert_eq!(cubin.encode().unwrap(), data);
    }

    #[test]
    fn section_counts_beyond_sixteen_bits() {
        assert_eq!((short_count(0xfeff), short_count(0xff00)), (0xfeff, 0));
    }
}
