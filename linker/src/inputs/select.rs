//! Which entry of a fatbin a link for one processor takes.
//!
//! Every rule was measured with nvlink 13.0.88; the cases `fatbin_input` and
//! `fatbinary` show them.

use super::{Processor, Wanted};
use crate::arch::{Sm, Suffix};
use crate::cubin::{CompatCode, Records};
use crate::error::ParseError;
use crate::fatbin::{Entry, Fatbin, Flags, Kind};

/// What a link makes of LTO-IR.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LtoIr {
    /// It is optimized, and comes before machine code.
    Linked,
    /// It cannot be linked, and is taken where nothing else is there, to say so.
    Refused,
}

impl LtoIr {
    /// What a link of these inputs makes of it.
    pub(super) fn of(wanted: &Wanted) -> Self {
        match wanted.link_time {
            Some(_) => Self::Linked,
            None => Self::Refused,
        }
    }
}

/// The entry nvlink takes, if any fits: the highest processor number, machine
/// code before PTX, the narrowest variant, and the latest Mercury instructions. LTO-IR is the last resort.
/// For link-time optimization it comes first. Where an entry stands among the
/// others does not matter.
pub(super) fn select<'d>(
    fatbin: &Fatbin<'d>,
    processor: &Processor,
    lto_ir: LtoIr,
) -> Result<Option<Entry<'d>>, ParseError> {
    let mut best: Option<(Rank, Entry<'d>)> = None;
    for entry in fatbin.entries() {
        let entry = entry?;
        if let Some(rank) = rank(&entry, processor, lto_ir)
            && best.as_ref().is_none_or(|(other, _)| rank > *other)
        {
            best = Some((rank, entry));
        }
    }
    Ok(best.map(|(_, entry)| entry))
}

/// What a fatbin has code for, in the words of options.
pub(super) fn held(fatbin: &Fatbin<'_>) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for entry in fatbin.entries().map_while(Result::ok) {
        let name = match entry.kind {
            Kind::ELF => entry.sm.to_string(),
            Kind::PTX => format!("compute_{}", entry.sm.number_and_letter()),
            Kind::NVVM => format!("lto_{}", entry.sm.number_and_letter()),
            _ => continue,
        };
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// How good an entry is. What compares greater is better.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    is_preferred: bool,
    number: u16,
    is_elf: bool,
    narrowness: u8,
    mercury: u16,
}

fn rank(entry: &Entry<'_>, processor: &Processor, lto_ir: LtoIr) -> Option<Rank> {
    let optimizes = lto_ir == LtoIr::Linked;
    let target = processor.sm;
    if !entry.flags.has(Flags::WIDE) {
        return None;
    }
    let (fits, is_preferred) = match entry.kind {
        // Native code is not for what PTX is written for; at Mercury code nvlink ends then (case `virtual_arch`).
        Kind::ELF => (
            elf_fits(entry, target)
                && (!processor.is_virtual || entry.sm.has_mercury())
                && !(optimizes && is_narrower(entry.sm, target)),
            !optimizes,
        ),
        Kind::PTX => (virtual_fits(entry.sm, target), !optimizes),
        // Without optimization nvlink only sees that there is some where it could be for the processor (case `virtual_arch`).
        Kind::NVVM => (
            virtual_fits(entry.sm, target)
                && (optimizes || !processor.is_virtual || target.has_mercury()),
            optimizes,
        ),
        _ => (false, false),
    };
    let is_elf = entry.kind == Kind::ELF;
    fits.then_some(Rank {
        is_preferred,
        number: entry.sm.number,
        is_elf,
        narrowness: match entry.sm.suffix {
            Some(Suffix::A) => 2,
            Some(Suffix::F) => 1,
            None => 0,
        },
        mercury: entry.compat_record().map_or(0, mercury_version),
    })
}

/// The version of Mercury instructions in a compatibility record; images without code name an older one, or none (case
/// `relocatable_empty`).
fn mercury_version(record: &[u8]) -> u16 {
    said(record, CompatCode::MERCURY_ISA_VERSION).unwrap_or(0)
}

/// What a compatibility record says first of a code.
fn said(record: &[u8], code: CompatCode) -> Option<u16> {
    let records = Records::<CompatCode>::new(record.get(1..).unwrap_or_default());
    let mut records = records
        .map_while(Result::ok)
        .filter(|record| record.code == code);
    records.next().map(|record| record.number())
}

fn elf_fits(entry: &Entry<'_>, target: Sm) -> bool {
    // From sm_100 on, the container says what the code relies on. Without that
    // record code stays on its own processor number.
    if !entry.sm.has_mercury() || entry.compat_record().is_some_and(goes_elsewhere) {
        return entry.sm.links_into(target);
    }
    entry.sm.number == target.number
        && match entry.sm.suffix {
            None => true,
            Some(Suffix::A) => target.suffix == Some(Suffix::A),
            Some(Suffix::F) => target.suffix != Some(Suffix::A),
        }
}

/// Whether a compatibility record lets code go to other processors: its first byte is the only version there is, and the
/// class of instructions is one that several processors have (case `fatbinary`).
fn goes_elsewhere(record: &[u8]) -> bool {
    record.first() == Some(&0) && matches!(said(record, CompatCode::ISA_CLASS), Some(1 | 2))
}

/// Whether code is for sm_90a and the target is not: for link-time optimization nvlink takes that for another processor
/// (case `link_time_suffix`).
fn is_narrower(code: Sm, target: Sm) -> bool {
    !code.has_mercury() && code.suffix.is_some() && code.suffix != target.suffix
}

/// Whether what was compiled for a virtual processor, PTX or LTO-IR, can be compiled for the target.
fn virtual_fits(code: Sm, target: Sm) -> bool {
    match code.suffix {
        None => code.number <= target.number,
        Some(Suffix::A) => code == target,
        Some(Suffix::F) => code.number <= target.number && code.family() == target.family(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A compatibility record that names a class of instructions.
    const RECORD: [u8; 8] = [0, 2, 2, 1, 0, 0, 0, 0];

    /// A fatbin with an empty entry for each word: `e` machine code, `E` with
    /// a compatibility record, `p` PTX, `n` LTO-IR.
    fn fatbin(entries: &str) -> Vec<u8> {
        let mut content = Vec::new();
        for word in entries.split(' ') {
            let (kind, flags) = match &word[..1] {
                "e" => (2_u16, Flags::WIDE),
                "E" => (2, Flags::WIDE | Flags::COMPAT_RECORD),
                "p" => (1, Flags::WIDE),
                "n" => (8, Flags::WIDE),
                _ => (1, 0),
            };
            let sm: Sm = format!("sm_{}", &word[1..]).parse().unwrap();
            let suffix = match sm.suffix {
                Some(Suffix::A) => Flags::SUFFIX_A,
                Some(Suffix::F) => Flags::SUFFIX_F,
                None => 0,
            };
            let mut header = [0; 0x50];
            header[..2].copy_from_slice(&kind.to_le_bytes());
            header[4..8].copy_from_slice(&0x50_u32.to_le_bytes());
            if flags & Flags::COMPAT_RECORD != 0 {
                header[0x14] = 0x40;
                header[0x40] = 0x48;
                header[0x44] = 8;
                header[0x48..].copy_from_slice(&RECORD);
            }
            header[0x1c..0x20].copy_from_slice(&u32::from(sm.number).to_le_bytes());
            header[0x28..0x30].copy_from_slice(&(flags | suffix).to_le_bytes());
            content.extend(header);
        }
        let mut bytes = crate::fatbin::MAGIC.to_le_bytes().to_vec();
        bytes.extend([1, 0, 16, 0]);
        bytes.extend((content.len() as u64).to_le_bytes());
        bytes.extend(content);
        bytes
    }

    #[test]
    fn the_entry_nvlink_takes() {
        let check = |entries: &str, target: &str, expected: &str| {
            let bytes = fatbin(entries);
            let fatbin = Fatbin::parse(&bytes).unwrap();
            let processor = match target.strip_prefix("compute_") {
                None => Processor::from(target.parse::<Sm>().unwrap()),
                Some(number) => Processor {
                    is_virtual: true,
                    ..Processor::from(format!("sm_{number}").parse::<Sm>().unwrap())
                },
            };
            let chosen = select(&fatbin, &processor, LtoIr::Refused).unwrap();
            let shown = chosen.map_or("none".to_owned(), |entry| {
                let name = entry.sm.to_string().split_off(3);
                format!("{}{name}", entry.kind.to_string().split_at(1).0)
            });
            assert_eq!(shown, expected, "{entries} for {target}");
        };
        check("e80 e86 e75", "sm_86", "e86");
        check("e80 e86 e75", "sm_89", "e86");
        check("e80", "sm_90", "none");
        check("e86 p89", "sm_89", "p89");
        check("p86 e86", "sm_86", "e86");
        check("e90 e90a", "sm_90", "e90a");
        check("E100 p103", "sm_103", "p103");
        check("E100 E100f E100a", "sm_100", "e100a");
        check("E100a", "sm_103", "none");
        check("E100f", "sm_103", "e100f");
        check("e100", "sm_103", "none");
        check("e100a", "sm_100", "none");
        check("e100", "sm_100a", "e100");
        check("e100f", "sm_100", "e100f");
        check("e100f", "sm_100a", "none");
        check("p100f p100", "sm_103", "p100f");
        check("p100a p100f p100", "sm_100", "p100f");
        check("p100a p100f p100", "sm_100a", "p100a");
        check("p100f", "sm_110", "none");
        check("p90a p80", "sm_90", "p80");
        check("n75 p75", "sm_90", "p75");
        check("n75", "sm_90", "l75");
        check("n90a", "sm_90", "none");
        check("n90a", "sm_100a", "none");
        check("n100f", "sm_103", "l100f");
        check("n100f", "sm_110", "none");
        check("x90", "sm_90", "none");
        check("n80", "compute_90", "none");
        check("n80", "compute_100", "l80");
        check("e90", "compute_90", "none");
        check("e90 p80", "compute_90", "p80");
    }
}
