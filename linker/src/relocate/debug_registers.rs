//! Where variables of code for debuggers stand in registers: for each function
//! a name and a list of variables, each with a register and the code in which
//! it holds the variable. A Mercury link forgets the code of functions that
//! are gone (case `debug_registers`).

use std::borrow::Cow;
use std::collections::HashMap;

use rustc_hash::FxHashSet;

use crate::layout::LaidOut;
use crate::options::Keeping;

use super::recode::Moves;

/// Whether a section has this form.
pub(super) fn is_table(name: &str) -> bool {
    name == ".nv_debug_info_reg_sass"
}

/// Clears the ranges of functions that are gone, or whose code has another name
/// first. nvlink knows the code of the first function of a name, and no other.
/// What cannot be read stays.
pub(super) fn forget_removed(laid_out: &LaidOut<'_>, keeping: Keeping, bytes: &mut Cow<'_, [u8]>) {
    let merged = &laid_out.pruned.merged;
    let functions = merged.functions.iter();
    let later_names = laid_out.pruned.later_names();
    let live: FxHashSet<&[u8]> = functions
        .map(|function| function.symbol)
        .filter(|symbol| laid_out.pruned.live.symbols[*symbol] && !later_names.contains(symbol))
        .map(|symbol| merged.symbols[symbol].name.as_bytes())
        .collect();
    let mut named = FxHashSet::default();
    let removed = ranges(bytes, |name| {
        let is_again = !named.insert(name.to_vec()) && keeping == Keeping::AsNvlink;
        (is_again || !live.contains(name)).then_some(())
    });
    for (start, ()) in removed.into_iter().flatten() {
        bytes.to_mut()[start..start + RANGE].fill(0);
    }
}

/// Lets the ranges follow code that moved.
pub(super) fn follow(bytes: &mut Cow<'_, [u8]>, moves: &HashMap<&[u8], &Moves>) {
    let moved = ranges(bytes, |name| moves.get(name).copied());
    for (start, moves) in moved.into_iter().flatten() {
        let (words, _) = bytes.to_mut()[start..start + RANGE].as_chunks_mut();
        for word in words {
            let offset = moves.of(u32::from_le_bytes(*word).into());
            *word = (offset as u32).to_le_bytes();
        }
    }
}

/// Bytes of a range: where it starts and ends.
const RANGE: usize = 8;

/// Where the ranges of functions stand that are of interest, with what is
/// wanted of each. `None` if the bytes cannot be read.
fn ranges<T: Copy>(
    bytes: &[u8],
    mut of_interest: impl FnMut(&[u8]) -> Option<T>,
) -> Option<Vec<(usize, T)>> {
    let mut ranges = Vec::new();
    let mut reader = Reader { bytes, at: 0 };
    while reader.at < bytes.len() {
        let interest = of_interest(reader.name()?);
        for _ in 0..reader.number()? {
            reader.number()?;
            reader.name()?;
            reader.number()?;
            ranges.extend(interest.map(|interest| (reader.at, interest)));
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
    fn ranges_are_found_by_function() {
        let is_gone = |name: &[u8]| (name == b"gone").then_some(());
        assert_eq!(ranges(&table(), is_gone), Some(vec![(20, ())]));
    }

    #[test]
    fn what_ends_too_early_is_not_read() {
        let bytes = table();
        let all = |_: &[u8]| Some(());
        assert_eq!(ranges(&bytes[..bytes.len() - 1], all), None);
        assert_eq!(ranges(&bytes[..3], all), None);
    }
}
