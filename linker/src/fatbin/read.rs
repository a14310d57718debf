//! Walks fatbins and their entries; every step moves forward or fails.

use super::entry::{self, Entry};
use super::{HEADER_SIZE, MAGIC, VERSION};
use crate::error::ParseError;

/// One fatbin, its header checked.
#[derive(Debug, Clone, Copy)]
pub struct Fatbin<'d> {
    /// Where it starts in the bytes that were read.
    pub offset: u64,
    /// Its size with the header.
    pub size: u64,
    /// The bytes that were read, up to the end of this fatbin.
    data: &'d [u8],
}

impl<'d> Fatbin<'d> {
    /// Reads the fatbin that `data` starts with; what follows it is ignored.
    pub fn parse(data: &'d [u8]) -> Result<Self, ParseError> {
        Self::parse_at(data, 0)
    }

    fn parse_at(data: &'d [u8], offset: u64) -> Result<Self, ParseError> {
        let what = "fatbin header";
        let header = Fields { data, base: offset };
        let magic = header.u32(0, what)?;
        if magic != MAGIC {
            return Err(malformed(
                offset,
                format!("a fatbin starts with {MAGIC:#x}, not {magic:#x}"),
            ));
        }
        let version = header.u16(4, what)?;
        if version != VERSION {
            return Err(malformed(
                offset + 4,
                format!("fatbin version {version} is unknown; only version {VERSION} is"),
            ));
        }
        let header_size = u64::from(header.u16(6, what)?);
        if header_size != HEADER_SIZE {
            return Err(malformed(
                offset + 6,
                format!("fatbin header size {header_size} instead of {HEADER_SIZE}"),
            ));
        }
        let content = header.bytes(HEADER_SIZE, header.u64(8, what)?, "fatbin")?;
        let size = HEADER_SIZE + content.len() as u64;
        Ok(Self {
            offset,
            size,
            data: &data[..(offset + size) as usize],
        })
    }

    /// The fatbin alone, header and entries.
    pub fn bytes(&self) -> &'d [u8] {
        &self.data[self.offset as usize..]
    }

    /// The entries in file order. Ends after the first one that cannot be
    /// read, because its size is not to be trusted.
    pub fn entries(&self) -> Entries<'d> {
        Entries {
            data: self.data,
            position: self.offset + HEADER_SIZE,
        }
    }
}

/// See [`Fatbin::entries`].
#[derive(Debug, Clone)]
pub struct Entries<'d> {
    data: &'d [u8],
    position: u64,
}

impl<'d> Iterator for Entries<'d> {
    type Item = Result<Entry<'d>, ParseError>;

    fn next(&mut self) -> Option<Self::Item> {
        let end = self.data.len() as u64;
        if self.position >= end {
            return None;
        }
        let result = entry::parse(self.data, self.position);
        self.position = match &result {
            // An entry holds its header at least, so this moves forward.
            Ok((_, next)) => *next,
            Err(_) => end,
        };
        Some(result.map(|(entry, _)| entry))
    }
}

impl std::iter::FusedIterator for Entries<'_> {}

/// The fatbins that stand one behind the other in a section or file, with
/// zero padding between them. Ends after the first one that cannot be read.
pub fn fatbins(data: &[u8]) -> Fatbins<'_> {
    Fatbins { data, position: 0 }
}

/// See [`fatbins`].
#[derive(Debug, Clone)]
pub struct Fatbins<'d> {
    data: &'d [u8],
    position: usize,
}

impl<'d> Iterator for Fatbins<'d> {
    type Item = Result<Fatbin<'d>, ParseError>;

    fn next(&mut self) -> Option<Self::Item> {
        let rest = &self.data[self.position..];
        let padding = rest.iter().position(|byte| *byte != 0)?;
        let offset = self.position + padding;
        let result = Fatbin::parse_at(self.data, offset as u64);
        self.position = match &result {
            // A container holds its header at least, so this moves forward.
            Ok(fatbin) => offset + fatbin.size as usize,
            Err(_) => self.data.len(),
        };
        Some(result)
    }
}

impl std::iter::FusedIterator for Fatbins<'_> {}

/// Little-endian numbers relative to a base, checked against the bytes.
pub(super) struct Fields<'d> {
    pub(super) data: &'d [u8],
    pub(super) base: u64,
}

impl<'d> Fields<'d> {
    pub(super) fn bytes(
        &self,
        offset: u64,
        size: u64,
        what: &'static str,
    ) -> Result<&'d [u8], ParseError> {
        let start = self.base.saturating_add(offset);
        let end = start.saturating_add(size);
        let available = self.data.len() as u64;
        if end > available {
            let problem = ParseError::truncated(what, end, self.data.len());
            return Err(problem.at(start.min(available)));
        }
        Ok(&self.data[start as usize..end as usize])
    }

    fn array<const N: usize>(
        &self,
        offset: u64,
        what: &'static str,
    ) -> Result<[u8; N], ParseError> {
        let mut array = [0; N];
        array.copy_from_slice(self.bytes(offset, N as u64, what)?);
        Ok(array)
    }

    pub(super) fn u16(&self, offset: u64, what: &'static str) -> Result<u16, ParseError> {
        self.array(offset, what).map(u16::from_le_bytes)
    }

    pub(super) fn u32(&self, offset: u64, what: &'static str) -> Result<u32, ParseError> {
        self.array(offset, what).map(u32::from_le_bytes)
    }

    pub(super) fn u64(&self, offset: u64, what: &'static str) -> Result<u64, ParseError> {
        self.array(offset, what).map(u64::from_le_bytes)
    }
}

pub(super) fn malformed(offset: u64, problem: String) -> ParseError {
    ParseError::malformed(problem).at(offset)
}
