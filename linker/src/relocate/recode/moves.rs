//! Instructions that move within their function.

use crate::merge::TableBranch;

use super::super::scoreboards::control::Control;
use super::super::scoreboards::instruction::{INSTRUCTION, cycles, opcode};
use super::choice::is_idle_behind_warp_sync;
use super::control::{self, Place, place, with_distance};

/// Functions fill up whole units of code, and then one more.
const UNIT: usize = 128 / INSTRUCTION;

const SIZE: u64 = INSTRUCTION as u64;

/// The bytes of an instruction's immediate operand.
const IMMEDIATE: std::ops::Range<usize> = 4..8;

/// An instruction of the new code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Piece {
    /// The old instruction of this number.
    Old(usize),
    /// The old `EXIT` of number `exit`. It need not wait for results any more, as new instructions before it take that time,
    /// except for the `gone` cycles of a pause that was removed.
    Last { exit: usize, gone: u32 },
    /// The old pause of this number after new instructions, with the cycles that it still takes.
    Rest { pause: usize, stall: u32 },
    /// A new instruction that belongs to the old one after it.
    New([u8; INSTRUCTION]),
    /// A new instruction that belongs to the old one before it.
    Behind([u8; INSTRUCTION]),
    /// A new instruction that only lets time pass.
    Pause([u8; INSTRUCTION]),
}

/// How the instructions of a function moved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Moves {
    /// The new number of each old instruction. For one that is gone, that of
    /// what comes behind it, and of WARPSYNC for what was idle behind that.
    numbers: Vec<usize>,
    /// The same, or the first of the new instructions before it: where control enters.
    entries: Vec<usize>,
    /// The same, or the first new instruction after the old one before it: where nvlink lets frames change (cases
    /// `older_fences` and `doubles_frames`).
    frames: Vec<usize>,
    /// The size of the new code.
    size: u64,
}

impl Moves {
    /// The moves that these pieces make. `old` is the old code without its padding up to `length` instructions.
    fn new(old: &[&[u8; INSTRUCTION]], length: usize, pieces: &[Piece]) -> Self {
        let mut entries = vec![None; length];
        let mut frames = vec![None; length];
        let mut numbers = vec![None; length];
        let (mut first_new, mut first_behind) = (None, None);
        for (number, piece) in pieces.iter().enumerate() {
            match *piece {
                Piece::New(_) => first_new = first_new.or(Some(number)),
                Piece::Behind(_) | Piece::Pause(_) => first_behind = first_behind.or(Some(number)),
                Piece::Rest { pause: index, .. } => {
                    let entry = first_new.unwrap_or(number);
                    entries[index] = Some(entry);
                    frames[index] = Some(entry);
                    numbers[index] = Some(number);
                }
                Piece::Old(index) | Piece::Last { exit: index, .. } => {
                    let entry = first_new.take().unwrap_or(number);
                    entries[index] = Some(entry);
                    frames[index] = Some(first_behind.take().unwrap_or(entry));
                    numbers[index] = Some(number);
                }
            }
        }
        let is_idle =
            |&i: &usize| numbers[i].is_none() && is_idle_behind_warp_sync(old[i - 1], old[i]);
        let idle: Vec<usize> = (1..old.len()).filter(is_idle).collect();
        let without_gaps = |places: &[_]| without_gaps(places, old.len(), pieces.len());
        let mut numbers = without_gaps(&numbers);
        // The WARPSYNC takes the place of both.
        for index in idle {
            numbers[index] = numbers[index - 1];
        }
        Self {
            numbers,
            entries: without_gaps(&entries),
            frames: without_gaps(&frames),
            size: filled(pieces.len()) as u64 * SIZE,
        }
    }

    /// The new place of an instruction, or of the end of the code.
    pub(crate) fn of(&self, offset: u64) -> u64 {
        self.place(&self.numbers, offset)
    }

    /// Where control enters that entered at an offset of the old code.
    pub(crate) fn entry(&self, offset: u64) -> u64 {
        self.place(&self.entries, offset)
    }

    /// Where the frame changes that changed at an offset in the code.
    pub(crate) fn frame(&self, offset: u64) -> u64 {
        self.place(&self.frames, offset)
    }

    /// The new places of branches through tables, and of their targets.
    pub(super) fn tables(&self, tables: &[TableBranch]) -> Vec<TableBranch> {
        let moved = tables.iter().map(|table| TableBranch {
            offset: self.of(table.offset),
            targets: table.targets.iter().map(|&t| self.entry(t)).collect(),
        });
        moved.collect()
    }

    /// These moves, followed by others.
    pub(super) fn then(&self, next: &Self) -> Self {
        let through = |places: &[usize], next: &dyn Fn(u64) -> u64| {
            let places = places.iter();
            let places = places.map(|&number| (next(number as u64 * SIZE) / SIZE) as usize);
            places.collect()
        };
        Self {
            numbers: through(&self.numbers, &|offset| next.of(offset)),
            entries: through(&self.entries, &|offset| next.entry(offset)),
            frames: through(&self.frames, &|offset| next.frame(offset)),
            size: next.size,
        }
    }

    fn place(&self, places: &[usize], offset: u64) -> u64 {
        match places.get((offset / SIZE) as usize) {
            Some(&number) => number as u64 * SIZE + offset % SIZE,
            None => self.size,
        }
    }

    /// The old instruction at each place of the new code.
    pub(super) fn origins(&self, old: &[u8], new: &[u8]) -> Vec<Option<usize>> {
        let (old, _) = old.as_chunks::<INSTRUCTION>();
        let (new, _) = new.as_chunks::<INSTRUCTION>();
        let mut origins = vec![None; new.len()];
        for ((index, &number), old) in self.numbers.iter().enumerate().zip(old) {
            // A removed instruction is mapped to one after it, whose place that is.
            if new
                .get(number)
                .is_some_and(|new| opcode(new) == opcode(old))
            {
                origins[number] = Some(index);
            }
        }
        origins
    }

    /// Adapts the return addresses in the code: each of the instructions at `returns` in the old code holds one.
    pub(super) fn follow_returns(&self, returns: &[u64], code: &mut [u8]) {
        for &place in returns {
            let instruction = code.get_mut(self.of(place) as usize..);
            let word = instruction.and_then(|instruction| instruction.get_mut(IMMEDIATE));
            if let Some(word) = word.and_then(<[u8]>::first_chunk_mut) {
                let address = u32::from_le_bytes(*word);
                *word = (self.entry(address.into()) as u32).to_le_bytes();
            }
        }
    }
}

/// The new code, where everything went, and how many instructions more fill up
/// its end. `None` if some instruction cannot move.
pub(super) fn apply(
    old: &[&[u8; INSTRUCTION]],
    pieces: &[Piece],
    tables: &[TableBranch],
) -> Option<(Vec<u8>, Moves, isize)> {
    let filling = **old.last()?;
    let is_filling = |piece: &Piece| matches!(piece, Piece::Old(i) if *old[*i] == filling);
    let body = pieces.len() - pieces.iter().rev().take_while(|p| is_filling(p)).count();
    let old_body = old.len() - old.iter().rev().take_while(|i| ***i == filling).count();
    if filled(old_body) != old.len() {
        return None;
    }
    let body = &pieces[..body];
    let length = filled(body.len());
    let moves = Moves::new(&old[..old_body], old.len(), body);
    let mut code = Vec::with_capacity(length * INSTRUCTION);
    for (number, piece) in body.iter().enumerate() {
        code.extend(match *piece {
            Piece::New(instruction) | Piece::Behind(instruction) | Piece::Pause(instruction) => {
                instruction
            }
            Piece::Last { exit, gone } => {
                let report = report(&body[..number]).saturating_sub(gone);
                control::behind_report(old[exit], report)
            }
            Piece::Rest { pause, stall } => {
                let mut pause = *old[pause];
                Control::set_stall(&mut pause, stall as u8);
                Control::keep_ready(&mut pause);
                pause
            }
            Piece::Old(index) => moved(old, index, number, &moves, tables)?,
        });
    }
    code.extend(filling.repeat(length - body.len()));
    let padding = (length - body.len()) as isize - (old.len() - old_body) as isize;
    Some((code, moves, padding))
}

/// The number of instructions of code with its padding.
fn filled(body: usize) -> usize {
    body.next_multiple_of(UNIT) + UNIT
}

/// How long the new instructions take with which these pieces end.
pub(super) fn report(pieces: &[Piece]) -> u32 {
    let ending = pieces.iter().rev().map_while(|piece| match piece {
        Piece::New(instruction) => Some(cycles(instruction)),
        Piece::Old(_)
        | Piece::Last { .. }
        | Piece::Rest { .. }
        | Piece::Behind(_)
        | Piece::Pause(_) => None,
    });
    ending.sum()
}

/// The old instruction of number `index` as the new one of number `number`: what it says of places in the code follows
/// these. `None` if it is not known what it says, or if that is wrong.
fn moved(
    old: &[&[u8; INSTRUCTION]],
    index: usize,
    number: usize,
    moves: &Moves,
    tables: &[TableBranch],
) -> Option<[u8; INSTRUCTION]> {
    let instruction = old[index];
    let bytes = |number: usize| (number * INSTRUCTION) as i64;
    match place(instruction) {
        Place::Any => Some(*instruction),
        Place::Unknown => None,
        Place::Table => {
            // The table follows; it has to lead to instructions.
            let offset = bytes(index) as u64;
            let table = tables.iter().find(|table| table.offset == offset)?;
            let leads = |&place: &u64| {
                let (index, rest) = (place / SIZE, place % SIZE);
                rest == 0 && index < old.len() as u64
            };
            table.targets.iter().all(leads).then_some(())?;
            // Tables count from the start of the function, the branch from
            // behind itself.
            let from = |number: usize| with_distance(instruction, -bytes(number + 1));
            if from(index)? == *instruction {
                return from(number);
            }
            // What is computed without a table leads behind the branch, to branches one behind the other.
            (with_distance(instruction, 0)? == *instruction).then_some(())?;
            let keeps_distance = |&place: &u64| {
                let place = (place / SIZE) as usize;
                let target = moves.entries.get(place).copied();
                place > index && target == Some(number + (place - index))
            };
            let is_kept = table.targets.iter().all(keeps_distance);
            is_kept.then_some(*instruction)
        }
        Place::Start(distance) => {
            (bytes(index + 1).checked_add(distance) == Some(0)).then_some(())?;
            with_distance(instruction, -bytes(number + 1))
        }
        Place::Distance(distance) => {
            let target = bytes(index + 1).checked_add(distance)?;
            let target = usize::try_from(target).ok()?;
            target.is_multiple_of(INSTRUCTION).then_some(())?;
            let target = *moves.entries.get(target / INSTRUCTION)?;
            with_distance(instruction, bytes(target) - bytes(number + 1))
        }
    }
}

/// For each old instruction the number that stands at its place, and where none does, that of what comes behind it. What
/// fills up the old code behind the first `old_body` fills up the new one behind the first `body`.
fn without_gaps(places: &[Option<usize>], old_body: usize, body: usize) -> Vec<usize> {
    let mut next = filled(body);
    let mut numbers: Vec<usize> = places
        .iter()
        .enumerate()
        .rev()
        .map(|(index, place)| {
            next = place.unwrap_or(match index >= old_body {
                true => (body + index - old_body).min(filled(body)),
                false => next,
            });
            next
        })
        .collect();
    numbers.reverse();
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOP: [u8; INSTRUCTION] = [0x18, 0x79, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xc0, 0x0f, 0];
    /// A branch to itself, as behind every kernel.
    const STOP: [u8; INSTRUCTION] = [
        0x47, 0x79, 0xfc, 0, 0xfc, 0xff, 0xff, 0xff, 0xff, 0xff, 0x83, 0x03, 0, 0xc0, 0x0f, 0,
    ];

    #[test]
    fn branches_follow_their_targets() {
        let mut old = [NOP; 2 * UNIT];
        old[0] = with_distance(&STOP, 2 * INSTRUCTION as i64).unwrap();
        (old[1][2], old[2][2], old[3]) = (1, 2, STOP);
        let old: Vec<_> = old.iter().collect();
        let mut pieces: Vec<_> = (0..old.len()).map(Piece::Old).collect();
        pieces.remove(1);
        let (code, moves, padding) = apply(&old, &pieces, &[]).unwrap();
        assert_eq!(code.len(), old.len() * INSTRUCTION);
        assert_eq!(padding, 1);
        assert_eq!(code[..INSTRUCTION], with_distance(&STOP, 16).unwrap());
        assert_eq!(code[2 * INSTRUCTION..][..INSTRUCTION], STOP);
        assert_eq!(
            [0, 16, 32, 48, 256].map(|at| moves.of(at)),
            [0, 16, 16, 32, 256]
        );
    }

    #[test]
    fn what_is_new_belongs_before_or_behind_and_moves_add_up() {
        let mut old = [NOP; 2 * UNIT];
        (old[0][2], old[1][2]) = (1, 2);
        let old: Vec<_> = old.iter().collect();
        let with = |piece: fn([u8; INSTRUCTION]) -> Piece| {
            let mut pieces: Vec<_> = (0..old.len()).map(Piece::Old).collect();
            pieces.insert(1, piece([9; INSTRUCTION]));
            apply(&old, &pieces, &[]).unwrap().1
        };
        let (new, paused) = (with(Piece::New), with(Piece::Pause));
        let places = |moves: &Moves| [moves.of(16), moves.entry(16), moves.frame(16)];
        assert_eq!(places(&new), [32, 16, 16]);
        assert_eq!(places(&paused), [32, 32, 16]);
        assert_eq!(places(&with(Piece::Behind)), [32, 32, 16]);
        let both = paused.then(&new);
        assert_eq!([0, 16, 32].map(|at| both.of(at)), [0, 48, 64]);
    }

    #[test]
    fn return_addresses_follow_what_is_behind_a_call() {
        let mut old = [NOP; 2 * UNIT];
        // LEPC R20 of the next instruction but one, and of itself.
        let lepc = [0x4e, 0x79, 20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xce, 0x0f, 0];
        old[0] = with_distance(&lepc, 32).unwrap();
        (old[1][2], old[2][2]) = (1, 2);
        old[3] = with_distance(&lepc, -16).unwrap();
        assert_eq!(old[0][3], 32);
        let old: Vec<_> = old.iter().collect();
        let mut pieces: Vec<_> = (0..old.len()).map(Piece::Old).collect();
        pieces.remove(1);
        let (code, ..) = apply(&old, &pieces, &[]).unwrap();
        assert_eq!(code[..INSTRUCTION], with_distance(&lepc, 16).unwrap());
        assert_eq!(code[2 * INSTRUCTION..][..INSTRUCTION], *old[3]);
    }

    #[test]
    fn targets_of_tables_are_instructions() {
        let mut old = [NOP; 2 * UNIT];
        let branch = |number: i64| {
            let mut branch = with_distance(&STOP, -16 * (number + 1)).unwrap();
            branch[0] = 0x49;
            branch
        };
        (old[0][2], old[1], old[2][2]) = (1, branch(1), 2);
        let old: Vec<_> = old.iter().collect();
        let table = |target| TableBranch {
            offset: 16,
            targets: vec![target],
        };
        let without_first: Vec<_> = (1..old.len()).map(Piece::Old).collect();
        let (code, moves, _) = apply(&old, &without_first, &[table(32)]).unwrap();
        assert_eq!(code[..INSTRUCTION], branch(0));
        assert_eq!(moves.entry(32), 16);
        assert!(apply(&old, &without_first, &[table(8)]).is_none());
        assert!(apply(&old, &without_first, &[table(1 << 20)]).is_none());
        assert!(apply(&old, &without_first, &[]).is_none());
    }

    #[test]
    fn control_comes_to_what_is_new_first() {
        let mut old = [NOP; 2 * UNIT];
        (old[0], old[1][2]) = (with_distance(&STOP, 0).unwrap(), 1);
        let old: Vec<_> = old.iter().collect();
        let mut pieces: Vec<_> = (0..old.len()).map(Piece::Old).collect();
        pieces.insert(1, Piece::New([9; INSTRUCTION]));
        let (code, moves, _) = apply(&old, &pieces, &[]).unwrap();
        assert_eq!(code[..INSTRUCTION], *old[0]);
        assert_eq!(moves.of(16), 32);
    }
}
