//! What has to pass at ends of threads where reports of errors come or go.

use rustc_hash::FxHashSet;

use super::super::expanded::starts_of_blocks;
use super::super::scoreboards::control::Control;
use super::super::scoreboards::exits::{self, Asking};
use super::super::scoreboards::instruction::{ERROR_BARRIER, EXIT, INSTRUCTION, cycles, operation};
use super::super::scoreboards::{Chip, slower::Pauses};
use super::choice::is_ordered_barrier;
use super::control::{Guard, STALL_OF_EXIT, is_slow};
use super::moves::{Piece, report};
use super::stored::Group;

/// What a link does to the end of threads.
pub(super) enum ChangedExit {
    /// A report comes before one of which two predicates tell, from here to there.
    Reporting { first: usize, exit: usize },
    /// Its report goes.
    Unreporting { exit: usize, asks_besides: bool },
}

impl ChangedExit {
    /// Those of a function.
    pub(super) fn all(pieces: &[Piece], machine: &[&[u8; INSTRUCTION]]) -> Vec<Self> {
        let is_new = |piece: &&Piece| matches!(piece, Piece::New(_));
        let is_exit = |index: usize| operation(machine[index]) == EXIT;
        let asks_besides =
            |index: usize| is_exit(index) && !Guard::besides(machine[index]).is_for_all();
        let changed = |(exit, piece): (usize, &Piece)| match *piece {
            Piece::Last { exit: index, .. } if asks_besides(index) => {
                let added = pieces[..exit].iter().rev().take_while(is_new).count();
                let first = exit - added;
                Some(Self::Reporting { first, exit })
            }
            Piece::Old(index) if is_exit(index) => {
                let before = Piece::Old(index.checked_sub(1)?);
                let is_alone = pieces[..exit].last() != Some(&before);
                let asks_besides = asks_besides(index);
                is_alone.then_some(Self::Unreporting { exit, asks_besides })
            }
            _ => None,
        };
        pieces.iter().enumerate().filter_map(changed).collect()
    }

    /// Lets pass what those before take. Returns what has to pass before the `EXIT` besides, and where that is.
    pub(super) fn set_stalls(&self, code: &mut [u8], chip: Chip) -> Option<Pauses> {
        match *self {
            Self::Reporting { first, exit } => {
                exits::report_early(code, first, exit, chip);
                exits::decide_apart(code, first, Asking::Report, chip);
                None
            }
            Self::Unreporting { exit, asks_besides } => {
                if asks_besides {
                    exits::exit_late(code, exit, chip);
                    exits::decide_apart(code, exit, Asking::Exit, chip);
                }
                let pauses = exits::go_on_late(code, exit, STALL_OF_EXIT.into(), chip);
                (!pauses.is_empty()).then_some((exit, pauses))
            }
        }
    }
}

/// Lets reports of errors come before what passes time behind their blocks' last instructions: the reports take a part of
/// that time. Says which pauses are gone (case `recode_pauses`).
pub(super) fn report_before_pauses(
    pieces: &mut Vec<Piece>,
    groups: &[Group<'_>],
    machine: &[&[u8; INSTRUCTION]],
    chip: Chip,
) -> Vec<usize> {
    let is_reported = |piece: &Piece| matches!(piece, Piece::Last { .. });
    if !pieces.iter().any(is_reported) {
        return Vec::new();
    }
    let starts = starts_of_blocks(machine);
    let pauses = groups.iter().filter(|group| {
        group.is_idle() && !starts[group.end] && Control::of(machine[group.start]).waits() == 0
    });
    let pauses: FxHashSet<usize> = pauses.map(|group| group.start).collect();
    let pause = |piece: &Piece| match *piece {
        Piece::Old(at) if pauses.contains(&at) => Some(at),
        _ => None,
    };
    // Its report waits for the same predicate.
    let is_decided_in_pause = |exit: usize| {
        let paused = (0..exit).rev().take_while(|at| pauses.contains(at));
        let first = paused.last();
        first.is_some_and(|first| exits::is_decided_in(machine, first, exit, chip))
    };
    // What a second predicate needs passes elsewhere.
    let comes_early =
        |exit: usize| Guard::besides(machine[exit]).is_for_all() && !is_decided_in_pause(exit);
    let mut all_gone = Vec::new();
    for piece in std::mem::take(pieces) {
        let exit = match piece {
            Piece::Last { exit, .. } if comes_early(exit) => exit,
            _ => {
                pieces.push(piece);
                continue;
            }
        };
        let new = take_last(pieces, |piece| matches!(piece, Piece::New(_)));
        let paused = take_last(pieces, |piece| pause(piece).is_some());
        let paused: Vec<usize> = paused.iter().filter_map(pause).collect();
        let passed: u32 = paused.iter().map(|&at| cycles(machine[at])).sum();
        let mut left = passed.saturating_sub(report(&new));
        pieces.extend(new);
        for pause in paused {
            let stall = left.min(Control::LONGEST_STALL.into());
            left -= stall;
            match stall {
                0 => all_gone.push(pause),
                _ => pieces.push(Piece::Rest { pause, stall }),
            }
        }
        pieces.push(Piece::Last { exit, gone: passed });
    }
    all_gone
}

/// Takes away the last pieces of a kind.
fn take_last(pieces: &mut Vec<Piece>, is_wanted: impl Fn(&Piece) -> bool) -> Vec<Piece> {
    let count = pieces.iter().rev().take_while(|piece| is_wanted(piece));
    let first = pieces.len() - count.count();
    pieces.split_off(first)
}

/// Lets memory barriers that came to stand before a report of errors take a scoreboard, for which that waits, and those
/// before the end of all threads none (case `recode_ordered`).
pub(super) fn hold_barriers(code: &mut [u8], chip: Chip) {
    let (instructions, _) = code.as_chunks_mut::<INSTRUCTION>();
    for at in 1..instructions.len() {
        let (earlier, rest) = instructions.split_at_mut(at);
        let (barrier, next) = (&mut earlier[at - 1], &rest[0]);
        if !is_ordered_barrier(barrier) || is_slow(barrier) {
            continue;
        }
        match operation(next) {
            ERROR_BARRIER if chip != Chip::Graphics => Control::take_for_operands(barrier),
            EXIT if Guard::of_exit(next).is_some_and(Guard::is_for_all) => {
                Control::leave_operands(barrier);
            }
            _ => {}
        }
    }
}
