//! Where variables of code for debuggers stand in registers: for each function
//! a name and a list of variables, each with a register and the code in which
//! it holds the variable. A Mercury link forgets the code of functions that
//! are gone (case `debug_registers`).

use std::borrow::Cow;

use rustc_hash::FxHashSet;

use crate::layout::LaidOut;

/// Whether a section has this form.
pub(super) fn is_table(name: &str) -> bool {
    name == ".nv_debug_info_reg_sass"
}

/// Clears the ranges of functions that are gone. What cannot be read stays.
pub(super) fn forget_removed(laid_out: &LaidOut<'_>, bytes: &mut Cow<'_, [u8]>) {
    let merged = &laid_out.pruned.merged;
    let functions = merged.functions.iter();
    let live: FxHashSet<&[u8]> = functions
        .map(|function| function.symbol)
        .filter(|&symbol| laid_out.pruned.live.symbols[symbol])
        .map(|symbol| merged.symbols[symbol].name.as_bytes())
        .collect();
    if let Some(ranges) = ranges(bytes, &live)
        && !ranges.is_empty()
    {
        let bytes = bytes.to_mut();
        for start in ranges {
            bytes[start..start + RANGE].fill(0);
        }
    }
}

/// Bytes of a range: where it starts and ends.
const RANGE: usize = 8;

/// Where the ranges of functions stand that are not among the live ones.
fn ranges(bytes: &[u8], live: &FxHashSet<&[u8]>) -> Option<Vec<usize>> {
    let mut ranges = Vec::new();
    let mut reader = Reader { bytes, at: 0 };
    while reader.at < bytes.len() {
        let is_live = live.contains(reader.name()?);
        for _ in 0..reader.number()? {
            reader.number()?;
            reader.name()?;
            reader.number()?;
            if !is_live {
                ranges.push(reader.at);
            }
            reader.number()?;
            reader.number()?;
        }
    }
    Some(ranges)
}

struct Reader<'b> {
    bytes: &'b [u8],
    at: usize,
}

impl<'b> Reader<'b> {
    /// A name and the zero behind it.
    fn name(&mut self) -> Option<&'b [u8]> {
        let rest = self.bytes.get(self.at..)?;
        let length = rest.iter().position(|&byte| byte == 0)?;
        self.at += length + 1;
        Some(&rest[..length])
    }

    fn number(&mut self) -> Option<u32> {
        let bytes = self.bytes.get(self.at..)?.first_chunk()?;
        self.at += bytes.len();
        Some(u32::from_le_bytes(*bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Vec<u8> {
        let mut bytes = Vec::new();
        for name in ["gone", "kept"] {
            bytes.extend_from_slice(name.as_bytes());
            bytes.extend_from_slice(&[0, 1, 0, 0, 0, 0, 0, 0, 0]);
            bytes.extend_from_slice(b"%a\0\x02\0\0\x05");
            bytes.extend_from_slice(&[0x10, 0, 0, 0, 0x20, 0, 0, 0]);
        }
        bytes
    }

    #[test]
    fn ranges_of_live_functions_stay() {
        let live = FxHashSet::from_iter([&b"kept"[..]]);
        assert_eq!(ranges(&table(), &live), Some(vec![20]));
    }

    #[test]
    fn what_ends_too_early_is_not_read() {
        let bytes = table();
        let live = FxHashSet::default();
        assert_eq!(ranges(&bytes[..bytes.len() - 1], &live), None);
        assert_eq!(ranges(&bytes[..3], &live), None);
    }
}
