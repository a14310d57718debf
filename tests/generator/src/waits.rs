//! Machine code that differs in nothing but what its instructions wait for.

use std::collections::BTreeSet;

use anyhow::Result;
use object::elf::FileHeader64;
use object::read::elf::ElfFile;
use object::{Endianness, Object as _, ObjectSection as _};

/// Bytes of an instruction.
const INSTRUCTION: usize = 16;

/// The bits of an instruction that do not compute: how long it takes, the scoreboards that it takes and waits for, and
/// which operands are kept for the next one.
const CONTROL: u128 = ((1 << 21) - 1) << 105;

/// The sections of code with as many instructions in both images that differ only there.
pub(crate) fn sections(left: &[u8], right: &[u8]) -> Result<BTreeSet<String>> {
    let left = ElfFile::<FileHeader64<Endianness>>::parse(left)?;
    let right = ElfFile::<FileHeader64<Endianness>>::parse(right)?;
    let mut names = BTreeSet::new();
    for section in left.sections() {
        let name = section.name()?;
        let Some(other) = right
            .section_by_name(name)
            .filter(|_| name.starts_with(".text."))
        else {
            continue;
        };
        if differ_in_waits(section.data()?, other.data()?) {
            names.insert(name.trim_start_matches('.').to_owned());
        }
    }
    Ok(names)
}

fn differ_in_waits(left: &[u8], right: &[u8]) -> bool {
    let (left, left_rest) = left.as_chunks::<INSTRUCTION>();
    let (right, right_rest) = right.as_chunks::<INSTRUCTION>();
    let is_same = |(left, right): (&[u8; INSTRUCTION], &[u8; INSTRUCTION])| {
        let changed = u128::from_le_bytes(*left) ^ u128::from_le_bytes(*right);
        changed & !CONTROL == 0
    };
    left != right
        && left.len() == right.len()
        && left_rest == right_rest
        && left.iter().zip(right).all(is_same)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_waits_are_waits() {
        let code = [0x10; 2 * INSTRUCTION];
        let changed = |at: usize, bits: u8| {
            let mut other = code;
            other[at] ^= bits;
            differ_in_waits(&code, &other)
        };
        assert!(changed(13, 0x02) && changed(15 + INSTRUCTION, 0x01) && changed(14, 0xff));
        assert!(!changed(13, 0x01) && !changed(15, 0x80) && !changed(0, 1) && !changed(17, 1));
        assert!(!differ_in_waits(&code, &code));
        assert!(!differ_in_waits(&code, &code[..INSTRUCTION]));
    }
}
