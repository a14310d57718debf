//! Small tables of fixed-size entries: unified functions and data, and the
//! driver's relocation actions.

use crate::error::ParseError;

/// One entry of `.nv.uft.entry` or `.nv.udt.entry`: a function or variable
/// that has one address in all modules with the same identity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct UnifiedEntry {
    /// Its symbol.
    pub symbol: u32,
    /// What is known of it: [`Self::GIVEN`] and so on.
    pub state: u32,
    /// Offset of its slot.
    pub offset: u64,
    /// The identity: the two numbers of PTX `.unified`.
    pub identity: [u64; 2],
}

impl UnifiedEntry {
    /// Set in every object of the compiler.
    pub const GIVEN: u32 = 1;
    /// Set by every link (case `unified_funcs`).
    pub const LINKED: u32 = 6;
    /// Size of an entry.
    pub const SIZE: usize = 32;

    /// Reads a section.
    pub fn parse_all(data: &[u8]) -> Result<Vec<Self>, ParseError> {
        let entries = entries::<{ Self::SIZE }>(data, "unified table")?;
        Ok(entries
            .iter()
            .map(|entry| {
                let word = |at: usize| {
                    let bytes = [0, 1, 2, 3, 4, 5, 6, 7].map(|byte| entry[at + byte]);
                    u64::from_le_bytes(bytes)
                };
                Self {
                    symbol: word(0) as u32,
                    state: (word(0) >> 32) as u32,
                    offset: word(8),
                    identity: [word(16), word(24)],
                }
            })
            .collect())
    }

    /// Appends the entry.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.extend(self.symbol.to_le_bytes());
        out.extend(self.state.to_le_bytes());
        for word in [self.offset, self.identity[0], self.identity[1]] {
            out.extend(word.to_le_bytes());
        }
    }
}

/// One entry of `.nv.rel.action`: how the driver applies a relocation type.
///
/// Only one entry has ever been seen, `R_CUDA_CONST_FIELD22_37`, and its last
/// two fields are exactly that type's bits and bank. The names rest on that.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RelocationAction {
    /// The relocation type.
    pub kind: u32,
    /// What it patches; unused fields are zero.
    pub fields: [ActionField; 4],
}

/// Bits that a relocation action patches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct ActionField {
    /// Zero in the only entry seen.
    pub action: u8,
    /// Number of bits.
    pub bits: u8,
    /// Lowest bit.
    pub position: u8,
}

impl RelocationAction {
    /// Size of an entry.
    pub const SIZE: usize = 16;

    /// Reads a section.
    pub fn parse_all(data: &[u8]) -> Result<Vec<Self>, ParseError> {
        let entries = entries::<{ Self::SIZE }>(data, "relocation action")?;
        Ok(entries
            .iter()
            .map(|entry| Self {
                kind: u32::from_le_bytes([entry[0], entry[1], entry[2], entry[3]]),
                fields: [4, 7, 10, 13].map(|at| ActionField {
                    action: entry[at],
                    bits: entry[at + 1],
                    position: entry[at + 2],
                }),
            })
            .collect())
    }

    /// Appends the entry.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.extend(self.kind.to_le_bytes());
        for field in self.fields {
            out.extend([field.action, field.bits, field.position]);
        }
    }
}

/// The entries of a section; `what` they are is for the error about a part of one at its end.
pub(super) fn entries<'d, const SIZE: usize>(
    data: &'d [u8],
    what: &str,
) -> Result<&'d [[u8; SIZE]], ParseError> {
    let (entries, rest) = data.as_chunks::<SIZE>();
    if !rest.is_empty() {
        return Err(ParseError::malformed(format!(
            "{} bytes are not a whole number of {what} entries of {SIZE} bytes",
            data.len()
        )));
    }
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arch::relocation::RelocationType;

    #[test]
    fn a_unified_function() {
        let mut bytes = vec![0x14, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        bytes.extend(0x1122_3344_5566_7788_u64.to_le_bytes());
        bytes.extend(0x99aa_bbcc_ddee_ff00_u64.to_le_bytes());
        let entries = UnifiedEntry::parse_all(&bytes).unwrap();
        assert_eq!(
            entries,
            [UnifiedEntry {
                symbol: 0x14,
                state: UnifiedEntry::GIVEN,
                offset: 0,
                identity: [0x1122_3344_5566_7788, 0x99aa_bbcc_ddee_ff00],
            }]
        );
        let mut encoded = Vec::new();
        entries[0].encode(&mut encoded);
        assert_eq!(encoded, bytes);
    }

    #[test]
    fn the_action_of_every_executable() {
        let bytes = [0x73, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x11, 0x25, 0, 5, 0x36];
        let actions = RelocationAction::parse_all(&bytes).unwrap();
        let row = RelocationType(actions[0].kind).row().unwrap();
        assert_eq!(row.name, "R_CUDA_CONST_FIELD22_37");
        assert_eq!(actions[0].fields[2].bits, row.fields[0].bits);
        assert_eq!(actions[0].fields[2].position, row.fields[0].destination);
        assert_eq!(actions[0].fields[3].position, row.bank[0].destination);
        let mut encoded = Vec::new();
        actions[0].encode(&mut encoded);
        assert_eq!(encoded, bytes);
    }

    #[test]
    fn half_an_entry_is_refused() {
        assert_eq!(
            UnifiedEntry::parse_all(&[0; 33]).unwrap_err().to_string(),
            "<memory>: 33 bytes are not a whole number of unified table entries of 32 bytes"
        );
    }
}
