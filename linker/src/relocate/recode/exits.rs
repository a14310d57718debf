//! What has to pass at ends of threads where reports of errors come or go.

use super::super::scoreboards::instruction::{
    Control, ERROR_BARRIER, EXIT, INSTRUCTION, operation,
};
use super::super::scoreboards::{Chip, exits};
use super::choice::is_ordered_barrier;
use super::control::{Guard, STALL_OF_EXIT, is_slow};
use super::moves::Piece;

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
            Piece::Last(index) if asks_besides(index) => {
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

    /// Lets pass what those before take.
    pub(super) fn set_stalls(&self, code: &mut [u8], chip: Chip) {
        match *self {
            Self::Reporting { first, exit } => {
                exits::report_early(code, first, exit, chip);
            }
            Self::Unreporting { exit, asks_besides } => {
                if asks_besides {
                    exits::exit_late(code, exit, chip);
                }
                exits::go_on_late(code, exit, STALL_OF_EXIT.into(), chip);
            }
        }
    }
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
