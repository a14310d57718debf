//! Registers of the environment, as grids that launch together read them.
//!
//! They stand among the constants, further down the larger the cluster. Code of CUDA 12 counts in
//! registers of warps where: `S2UR`, `UIMAD` and `LDCU`. That of today takes the size by `CS2R` into
//! a register of threads, which it needs meanwhile (case `older_environment`).

use std::ops::Range;

use crate::merge::TableBranch;

use super::super::scoreboards::Chip;
use super::super::scoreboards::control::Control;
use super::super::scoreboards::instruction::{INSTRUCTION, is_for_all, opcode};
use super::super::scoreboards::scratch::{Scratch, scratch};
use super::moves::{Moves, Piece};
use super::stored::Group;

const S2UR: u16 = 0x9c3;
const UIMAD: u16 = 0x8a4;
const LDCU: u16 = 0x7ac;
/// The size of a cluster, among what S2UR and CS2R can ask for.
const CLUSTER_SIZE: u8 = 0x8a;
const SPECIAL: usize = 9;
/// Where the target of an instruction is, and its first source.
const TARGET: usize = 2;
const SOURCE: usize = 3;
/// The number by which a product multiplies.
const FACTOR: Range<usize> = 4..8;

const CS2R: [u8; INSTRUCTION] = [
    0x05, 0x78, 0, 0, 0, 0, 0, 0, 0, 0x8a, 0, 0, 0, 0xca, 0x0f, 0,
];
const IMAD: [u8; INSTRUCTION] = [
    0x24, 0x78, 0, 0, 0, 0, 0, 0, 0xff, 0x02, 0x8e, 0x07, 0, 0xca, 0x0f, 0,
];
const R2UR: [u8; INSTRUCTION] = [
    0xca, 0x72, 0, 0, 0, 0, 0, 0, 0, 0, 0x0e, 0, 0, 0xdc, 0x0f, 0,
];
/// The same where a value comes back behind it.
const R2UR_BEFORE: [u8; INSTRUCTION] = [
    0xca, 0x72, 0, 0, 0, 0, 0, 0, 0, 0, 0x0e, 0, 0, 0xe4, 0x0f, 0,
];
/// RPCMOV, which saves a register, and that which brings it back.
const SAVE: [u8; INSTRUCTION] = [0x52, 0x73, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xcc, 0x0f, 0];
const SAVED: usize = 4;
const RESTORE: [u8; INSTRUCTION] = [0x53, 0x73, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xd8, 0x0f, 0];

/// The reads of a function that code of today does in another way, with the registers for
/// that, by their first instructions.
pub(super) struct Reads {
    registers: Vec<(usize, Scratch)>,
    /// Instructions that take a scoreboard now until they have their result. What S2UR asks for
    /// comes in the order of the code, so that a wait for the one behind was enough.
    makers: Vec<usize>,
    /// The same until their operands are read.
    readers: Vec<usize>,
    chip: Chip,
}

impl Reads {
    /// None where it is not known where control goes.
    pub(super) fn new(
        code: &[u8],
        groups: &[Group<'_>],
        tables: &[TableBranch],
        chip: Chip,
    ) -> Self {
        let (machine, _) = code.as_chunks::<INSTRUCTION>();
        let is_read = |group: &&Group<'_>| {
            let old = machine.get(group.start..group.end).unwrap_or_default();
            is_old_read(old.iter())
        };
        let sites = groups
            .iter()
            .filter(is_read)
            .map(|group| group.start..group.end);
        let sites: Vec<Range<usize>> = sites.collect();
        let chosen = match sites.is_empty() {
            true => None,
            false => scratch(code, tables, &sites),
        };
        let Some(chosen) = chosen else {
            return Self {
                registers: Vec::new(),
                makers: Vec::new(),
                readers: Vec::new(),
                chip,
            };
        };
        let starts = sites.iter().map(|site| site.start);
        let before = |site: &Range<usize>| {
            let mut earlier = machine[..site.start].iter();
            earlier.rposition(|instruction| opcode(instruction) == S2UR)
        };
        Self {
            registers: starts.zip(chosen.registers).collect(),
            makers: sites.iter().filter_map(before).collect(),
            readers: chosen.readers,
            chip,
        }
    }

    /// Whether there are any.
    pub(super) fn is_any(&self) -> bool {
        !self.registers.is_empty()
    }

    /// Lets instructions of the new code take scoreboards for which there was no reason before.
    pub(super) fn take_scoreboards(&self, code: &mut [u8], moves: &Moves) {
        let mut each = |places: &[usize], take: fn(&mut [u8; INSTRUCTION])| {
            for &place in places {
                let start = moves.of((place * INSTRUCTION) as u64) as usize;
                if let Some(instruction) = code.get_mut(start..) {
                    instruction.first_chunk_mut().map(take);
                }
            }
        };
        each(&self.makers, Control::take_for_result);
        each(&self.readers, Control::take_for_operands);
    }

    /// What a group becomes, if it is such a read.
    pub(super) fn pieces(
        &self,
        group: &Group<'_>,
        old: &[&[u8; INSTRUCTION]],
    ) -> Option<Vec<Piece>> {
        let registers = &self.registers;
        let found = registers.binary_search_by_key(&group.start, |&(start, _)| start);
        let (_, scratch) = registers[found.ok()?];
        let [.., product, load] = old else {
            return None;
        };
        let (mut size, mut place) = (CS2R, IMAD);
        place[FACTOR].copy_from_slice(&product[FACTOR]);
        let (mut moved, register) = match scratch {
            Scratch::Free(register) => (R2UR, register),
            Scratch::Saved(register) => (R2UR_BEFORE, register),
        };
        (size[TARGET], place[TARGET], place[SOURCE]) = (register, register, register);
        (moved[TARGET], moved[SOURCE]) = (load[SOURCE], register);
        let mut pieces = vec![size, place, moved];
        if matches!(scratch, Scratch::Saved(_)) {
            let (mut save, mut restore) = (SAVE, RESTORE);
            (save[SAVED], restore[TARGET]) = (register, register);
            // There the part that moves registers is another one.
            if self.chip == Chip::Graphics {
                Control::set_stall(&mut pieces[2], 1);
                Control::set_stall(&mut restore, 13);
                Control::keep_ready(&mut restore);
            }
            pieces.insert(0, save);
            pieces.push(restore);
        }
        let pieces = pieces.into_iter().map(Piece::New);
        Some(pieces.chain([Piece::Old(group.end - 1)]).collect())
    }
}

/// Whether instructions read such a register as code of CUDA 12 does, for all threads.
fn is_old_read<'i>(instructions: impl Iterator<Item = &'i [u8; INSTRUCTION]>) -> bool {
    let all: Vec<&[u8; INSTRUCTION]> = instructions.collect();
    let is_for_all = all.iter().all(|instruction| is_for_all(*instruction));
    let opcodes = all.iter().map(|instruction| opcode(*instruction));
    is_for_all
        && opcodes.eq([S2UR, UIMAD, LDCU])
        && all[0][SPECIAL] == CLUSTER_SIZE
        && all[1][TARGET] == all[2][SOURCE]
}

#[cfg(test)]
mod tests {
    use super::super::super::scoreboards::scratch::Scratch;
    use super::super::aside::Aside;
    use super::*;

    fn words(low: u64, high: u64) -> [u8; INSTRUCTION] {
        let both = [low.to_le_bytes(), high.to_le_bytes()].concat();
        both.try_into().unwrap()
    }

    /// S2UR UR4, SR_CgaSize; UIMAD UR4, UR4, -0xa0, URZ; LDCU UR4, c[0x0][UR4+0x254].
    fn read() -> [[u8; INSTRUCTION]; 3] {
        [
            words(0x0000_0000_0004_79c3, 0x000e_a400_0000_8a00),
            words(0xffff_ff60_0404_78a4, 0x004f_d800_0f8e_02ff),
            words(0x0000_4a80_0404_77ac, 0x000e_a400_0800_0800),
        ]
    }

    fn pieces(scratch: Scratch, chip: Chip) -> Vec<Piece> {
        let reads = Reads {
            registers: vec![(7, scratch)],
            makers: Vec::new(),
            readers: Vec::new(),
            chip,
        };
        let group = Group {
            stored: None,
            start: 7,
            end: 10,
            aside: Aside::Nothing,
        };
        let old = read();
        let old: Vec<_> = old.iter().collect();
        reads.pieces(&group, &old).unwrap()
    }

    #[test]
    fn the_size_of_a_cluster_goes_through_a_register_of_threads() {
        let new = [
            words(0x0000_0000_0005_7805, 0x000f_ca00_0000_8a00),
            words(0xffff_ff60_0505_7824, 0x000f_ca00_078e_02ff),
            words(0x0000_0000_0504_72ca, 0x000f_dc00_000e_0000),
        ];
        let expected = new.map(Piece::New).into_iter().chain([Piece::Old(9)]);
        let made = pieces(Scratch::Free(5), Chip::FastDoubles);
        assert_eq!(made, expected.collect::<Vec<_>>());
    }

    #[test]
    fn what_a_register_holds_is_saved() {
        let saved = |from_warp: u64, back: u64| {
            let new = [
                words(0x0000_0002_0000_7352, 0x000f_cc00_0000_0000),
                words(0x0000_0000_0002_7805, 0x000f_ca00_0000_8a00),
                words(0xffff_ff60_0202_7824, 0x000f_ca00_078e_02ff),
                words(0x0000_0000_0204_72ca, from_warp),
                words(0x0000_0000_0002_7353, back),
            ];
            let new = new.map(Piece::New).into_iter().chain([Piece::Old(9)]);
            new.collect::<Vec<_>>()
        };
        let made = pieces(Scratch::Saved(2), Chip::SlowDoubles);
        let expected = saved(0x000f_e400_000e_0000, 0x000f_d800_0000_0000);
        assert_eq!(made, expected);
        let made = pieces(Scratch::Saved(2), Chip::Graphics);
        let expected = saved(0x000f_e200_000e_0000, 0x000f_da00_0000_0000);
        assert_eq!(made, expected);
    }

    #[test]
    fn only_reads_of_the_older_form_for_all_threads_change() {
        let all = read();
        assert!(is_old_read(all.iter()));
        assert!(!is_old_read(all[1..].iter()));
        // For some threads, of another thing, of another place.
        for (at, byte, value) in [(0, 1, 0x09), (0, SPECIAL, 0x88), (2, SOURCE, 5)] {
            let mut other = all;
            other[at][byte] = value;
            assert!(!is_old_read(other.iter()), "{at} {byte}");
        }
    }
}
