//! The index of unified functions and variables: where each one stands in
//! the tables that all images of a program share.
//!
//! The file has a head of six words, the slots of the functions, the slots of
//! the variables and, from version 2 on, two words for each function that no
//! link looks at. The case `unified_index` shows each part.

use crate::error::{NvlinkError, ParseError};

/// How an index file begins.
const MAGIC: &[u8; 8] = b"\x7fUFTINDX";
/// Size of the head.
const HEAD: usize = 48;
/// Size of a slot.
const SLOT: usize = 24;
/// What later versions add for each function.
const EXTRA: u64 = 16;

/// Which of the two tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum UnifiedTable {
    /// Functions: `.nv.uft`.
    Functions,
    /// Variables: `.nv.udt`.
    Variables,
}

/// Where one function or variable stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IndexSlot {
    /// The two numbers of PTX `.unified`.
    pub identity: [u64; 2],
    /// Offset in the table.
    pub offset: u64,
}

/// What an index says of one table.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IndexTable {
    /// Size of the table in bytes.
    pub window: u64,
    /// What stands in it, in the order of the file.
    pub slots: Vec<IndexSlot>,
}

/// An index file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnifiedIndex {
    /// The file as the user named it.
    pub name: String,
    /// The whole file, which images repeat in `.nv.uidx`.
    pub bytes: Vec<u8>,
    /// The functions.
    pub functions: IndexTable,
    /// The variables.
    pub variables: IndexTable,
}

impl UnifiedIndex {
    /// Reads an index file.
    pub fn parse(name: &str, bytes: Vec<u8>) -> Result<Self, ParseError> {
        let (functions, variables) = tables(&bytes).map_err(|e| e.in_input(name))?;
        Ok(Self {
            name: name.to_owned(),
            bytes,
            functions,
            variables,
        })
    }

    /// What it says of a table.
    pub fn table(&self, table: UnifiedTable) -> &IndexTable {
        match table {
            UnifiedTable::Functions => &self.functions,
            UnifiedTable::Variables => &self.variables,
        }
    }
}

fn tables(bytes: &[u8]) -> Result<(IndexTable, IndexTable), ParseError> {
    if bytes.first_chunk() != Some(MAGIC) {
        let problem = "it is no index of unified functions";
        return Err(ParseError::malformed(problem).as_nvlink(NvlinkError::NotUnifiedIndex));
    }
    let truncated = |end: u64| {
        ParseError::truncated("index of unified functions", end, bytes.len())
            .as_nvlink(NvlinkError::MalformedUnifiedIndex)
    };
    let (words, _) = bytes.as_chunks::<8>();
    let word = |index: usize| words.get(index).map(|word| u64::from_le_bytes(*word));
    let (Some(version), Some(function_window), Some(functions), Some(window), Some(variables)) =
        (word(1), word(2), word(3), word(4), word(5))
    else {
        return Err(truncated(HEAD as u64));
    };
    let extra = if version as u32 > 1 { EXTRA } else { 0 };
    let size = functions
        .checked_add(variables)
        .and_then(|slots| slots.checked_mul(SLOT as u64))
        .and_then(|size| size.checked_add(functions.checked_mul(extra)?))
        .and_then(|size| size.checked_add(HEAD as u64))
        .unwrap_or(u64::MAX);
    if size > bytes.len() as u64 {
        return Err(truncated(size));
    }
    if size < bytes.len() as u64 {
        let problem = format!(
            "{:#x} bytes follow the index of unified functions",
            bytes.len() as u64 - size
        );
        return Err(ParseError::malformed(problem)
            .as_nvlink(NvlinkError::MalformedUnifiedIndex)
            .at(size));
    }
    let slots = |first: u64, count: u64| -> Vec<IndexSlot> {
        let start = HEAD + first as usize * SLOT;
        let (slots, _) = bytes[start..start + count as usize * SLOT].as_chunks::<SLOT>();
        let word = |slot: &[u8; SLOT], index: usize| {
            let (words, _) = slot.as_chunks::<8>();
            u64::from_le_bytes(words[index])
        };
        slots
            .iter()
            .map(|slot| IndexSlot {
                identity: [word(slot, 0), word(slot, 1)],
                offset: word(slot, 2),
            })
            .collect()
    };
    Ok((
        IndexTable {
            window: function_window,
            slots: slots(0, functions),
        },
        IndexTable {
            window,
            slots: slots(functions, variables),
        },
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index(version: u64, extra: usize) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        for word in [version, 0x80, 1, 0x10, 1, 1, 2, 0x40, 3, 4, 8u64] {
            bytes.extend(word.to_le_bytes());
        }
        bytes.resize(bytes.len() + extra, 0);
        bytes
    }

    fn check(bytes: &[u8], expected: &str) {
        let error = UnifiedIndex::parse("u.idx", bytes.to_vec()).unwrap_err();
        assert_eq!(error.to_string(), expected);
    }

    #[test]
    fn both_versions() {
        for bytes in [index(1, 0), index(2, 16)] {
            let index = UnifiedIndex::parse("u.idx", bytes).unwrap();
            assert_eq!(index.functions.window, 0x80);
            assert_eq!(index.variables.window, 0x10);
            let slot = index.table(UnifiedTable::Functions).slots[0];
            assert_eq!((slot.identity, slot.offset), ([1, 2], 0x40));
            let slot = index.table(UnifiedTable::Variables).slots[0];
            assert_eq!((slot.identity, slot.offset), ([3, 4], 8));
        }
    }

    #[test]
    fn damage() {
        check(b"\x7fELF", "u.idx: it is no index of unified functions");
        check(
            &index(1, 0)[..40],
            "u.idx: index of unified functions ends at 0x30, past the 0x28 bytes there are",
        );
        check(
            &index(2, 0),
            "u.idx: index of unified functions ends at 0x70, past the 0x60 bytes there are",
        );
        check(
            &index(1, 1),
            "u.idx, offset 0x60: 0x1 bytes follow the index of unified functions",
        );
        let mut many = index(2, 16);
        many[24..32].fill(0xff);
        check(
            &many,
            "u.idx: index of unified functions ends at 0xffffffffffffffff, past the 0x70 bytes \
             there are",
        );
    }
}
