//! Code for a processor whose doubles take longer than its compiler knew.

use std::borrow::Cow;

use crate::arch::Sm;
use crate::cubin::Capsule;
use crate::id::SectionId;
use crate::merge::{Merged, TableBranch};

use super::super::scoreboards::instruction::INSTRUCTION;
use super::super::scoreboards::{
    self, Chip, Compiled, Origin, Setting,
    slower::{Slowed, slowed, slowed_unoptimized},
};
use super::moves::{self, Moves, Piece};
use super::stored::write_paused;
use super::{Anew, control};

/// What the code of a section was compiled for.
pub(super) fn compiled_for(merged: &Merged<'_>, section: SectionId) -> Chip {
    let native = merged.sections[section].native.as_ref();
    let processor: Option<Sm> = native.and_then(|native| native.compiled_for);
    Chip::of(processor.unwrap_or(merged.target))
}

/// Code as it was or was made anew, for slow doubles; `None` if it has none, or where it cannot be
/// made. `setting` and `origin` are those of the code as it was.
pub(super) fn slower(
    made: Option<&Anew>,
    code: &[u8],
    setting: Setting<'_>,
    chip: Chip,
    origin: Option<&Compiled<'_>>,
) -> Option<Anew> {
    let moved = made.and_then(|made| made.moved.as_ref());
    let code_made = made.map_or(code, |made| &made.code);
    if code_made.first_chunk().is_some_and(control::is_slow) {
        return Some(Anew {
            code: slowed_unoptimized(code_made, chip)?,
            moved: moved.cloned(),
            is_for_target: true,
        });
    }
    let (capsule, tables) = behind(moved, &setting);
    let fast = Setting {
        tables: &tables,
        capsule,
        ..setting
    };
    let basis = Basis {
        moved,
        code: code_made,
        fast,
        setting,
        chip,
        origin,
    };
    slowed(code_made, fast, chip, |timed| {
        let first = timed(None);
        let (slower, choice) = basis.finished(&first, None)?;
        // Scoreboards decide who waits, and that when instructions start.
        let second = Some(timed(Some(&choice.awaited))).filter(|second| *second != first);
        let second = second.and_then(|second| basis.finished(&second, Some(&choice)));
        Some(second.map_or(slower, |(slower, _)| slower))
    })?
}

/// What instructions take and wait for, by their numbers in the code for fast doubles.
struct Choice {
    /// What is gone has none.
    instructions: Vec<Option<[u8; INSTRUCTION]>>,
    /// Those for which the next one waits.
    awaited: Vec<usize>,
}

impl Choice {
    /// That of code of which each instruction stood at some place before.
    fn of(code: &[u8], count: usize, place: impl Fn(usize) -> Option<usize>) -> Self {
        let mut instructions = vec![None; count];
        for (at, instruction) in code.as_chunks().0.iter().enumerate() {
            if let Some(chosen) = place(at).and_then(|at| instructions.get_mut(at)) {
                *chosen = Some(*instruction);
            }
        }
        Self {
            instructions,
            awaited: scoreboards::awaited_at_once(code, place),
        }
    }
}

/// What is made slower, and for whom.
struct Basis<'s> {
    /// Code for fast doubles and its setting.
    code: &'s [u8],
    fast: Setting<'s>,
    /// The Mercury code and the moves of that, if it is other code than the compiler's.
    moved: Option<&'s (Vec<u8>, Moves)>,
    /// The compiler's setting, and what it made.
    setting: Setting<'s>,
    origin: Option<&'s Compiled<'s>>,
    chip: Chip,
}

impl Basis<'_> {
    /// Code with pauses and scoreboards, those that are given or chosen for it.
    fn finished(&self, slowed: &Slowed, given: Option<&Choice>) -> Option<(Anew, Choice)> {
        let Self {
            code: code_made,
            fast,
            moved,
            setting,
            origin,
            chip,
        } = *self;
        let mut made_of = None;
        let (new, moved) = match slowed.pauses.is_empty() && slowed.gone.is_empty() {
            true => (slowed.code.clone(), moved.cloned()),
            false => {
                let paused = Paused::new(slowed, code_made, fast.capsule, fast.tables)?;
                made_of = Some(paused.moves.origins(code_made, &paused.code));
                let moves = match moved {
                    Some((_, earlier)) => earlier.then(&paused.moves),
                    None => paused.moves,
                };
                (paused.code, Some((paused.capsule, moves)))
            }
        };
        let moves = moved.as_ref().map(|(_, moves)| moves);
        let (capsule, tables) = behind(moved.as_ref(), &setting);
        let places = moves
            .zip(origin)
            .map(|(moves, old)| moves.origins(old.code(), &new));
        let origin = origin.map(|compiled| Origin {
            compiled,
            places: places.as_deref(),
            is_timed: true,
        });
        let setting = Setting {
            tables: &tables,
            chip,
            capsule,
            ..setting
        };
        let place = |at: usize| match &made_of {
            Some(places) => *places.get(at)?,
            None => Some(at),
        };
        let code = match given {
            Some(given) => {
                let chosen = |at: usize| given.instructions.get(place(at)?)?.as_ref();
                scoreboards::taken_over(new, chosen, setting)?
            }
            None => scoreboards::chosen(&new, setting, origin)?,
        };
        let choice = Choice::of(&code, code_made.len() / INSTRUCTION, place);
        let anew = Anew {
            code,
            moved,
            is_for_target: true,
        };
        Some((anew, choice))
    }
}

/// The Mercury code and the tables behind what moved, if anything did.
fn behind<'s>(
    moved: Option<&'s (Vec<u8>, Moves)>,
    setting: &Setting<'s>,
) -> (&'s [u8], Cow<'s, [TableBranch]>) {
    match moved {
        Some((capsule, moves)) => (capsule, moves.tables(setting.tables).into()),
        None => (setting.capsule, setting.tables.into()),
    }
}

/// Code with instructions that let time pass.
pub(super) struct Paused {
    pub(super) code: Vec<u8>,
    pub(super) capsule: Vec<u8>,
    pub(super) moves: Moves,
}

impl Paused {
    /// `old` is the code before it was slowed: how long its instructions take tells what only lets time pass.
    pub(super) fn new(
        slowed: &Slowed,
        old: &[u8],
        capsule: &[u8],
        tables: &[TableBranch],
    ) -> Option<Self> {
        let (machine, _) = slowed.code.as_chunks::<INSTRUCTION>();
        let mut pauses = slowed.pauses.iter().peekable();
        let mut gone = slowed.gone.iter().peekable();
        let mut pieces = Vec::with_capacity(machine.len());
        for at in 0..machine.len() {
            if let Some((_, pauses)) = pauses.next_if(|(place, _)| *place == at) {
                pieces.extend(pauses.iter().copied().map(Piece::Pause));
            }
            if gone.next_if(|&&gone| gone == at).is_none() {
                pieces.push(Piece::Old(at));
            }
        }
        let all: Vec<&[u8; INSTRUCTION]> = machine.iter().collect();
        let (code, moves, padding) = moves::apply(&all, &pieces, tables)?;
        let counts = slowed.pauses.iter().map(|(at, pauses)| (*at, pauses.len()));
        let counts: Vec<(usize, usize)> = counts.collect();
        let capsule = write_paused(
            &Capsule::parse(capsule).ok()?,
            &old.as_chunks().0.iter().collect::<Vec<_>>(),
            &slowed.gone,
            &counts,
            padding,
        )?;
        Some(Self {
            code,
            capsule,
            moves,
        })
    }
}
