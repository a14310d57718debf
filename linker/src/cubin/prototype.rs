//! `.nv.prototype`: the parameter kinds of externally visible functions.

use super::pairs;
use crate::error::ParseError;

/// One function and its prototype text, such as `#iii`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Prototype {
    /// Symbol of the function.
    pub function: u32,
    /// Where the text starts in the string table.
    pub text: u32,
}

impl Prototype {
    /// Reads a section, in file order.
    pub fn parse_all(
        data: &[u8],
    ) -> Result<impl ExactSizeIterator<Item = Self> + use<'_>, ParseError> {
        let pairs = pairs::read(data, "prototype")?;
        Ok(pairs.map(|(function, text)| Self { function, text }))
    }

    /// Appends the entry.
    pub fn encode(self, out: &mut Vec<u8>) {
        pairs::write(out, (self.function, self.text));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_survive_a_round_trip() {
        let bytes = [26, 0, 0, 0, 1, 0, 0, 0, 27, 0, 0, 0, 6, 0, 0, 0];
        let entries: Vec<_> = Prototype::parse_all(&bytes).unwrap().collect();
        assert_eq!(
            entries[1],
            Prototype {
                function: 27,
                text: 6
            }
        );
        let mut out = Vec::new();
        entries.iter().for_each(|entry| entry.encode(&mut out));
        assert_eq!(out, bytes);
    }

    #[test]
    fn half_an_entry_is_refused() {
        let error = Prototype::parse_all(&[0; 4]).err().unwrap();
        assert_eq!(
            error.to_string(),
            "<memory>: 4 bytes are not a whole number of prototype entries of 8 bytes"
        );
    }
}
