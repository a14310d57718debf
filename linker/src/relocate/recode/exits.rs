//! Ends of threads of which two predicates tell, where reports of errors come or go.

use super::super::scoreboards::instruction::{EXIT, INSTRUCTION, operation};
use super::super::scoreboards::{Chip, exits};
use super::control::Guard;
use super::moves::Piece;

/// What a link does to the end of threads of which two predicates tell.
pub(super) enum DoubleExit {
    /// A report comes before it, from here to there.
    Reporting { first: usize, exit: usize },
    /// Its report goes.
    Unreporting { exit: usize },
}

impl DoubleExit {
    /// Those of a function.
    pub(super) fn all(pieces: &[Piece], machine: &[&[u8; INSTRUCTION]]) -> Vec<Self> {
        let is_new = |piece: &&Piece| matches!(piece, Piece::New(_));
        let asks_besides = |index: usize| {
            let instruction = machine[index];
            operation(instruction) == EXIT && !Guard::besides(instruction).is_for_all()
        };
        let changed = |(exit, piece): (usize, &Piece)| match *piece {
            Piece::Last(index) if asks_besides(index) => {
                let added = pieces[..exit].iter().rev().take_while(is_new).count();
                let first = exit - added;
                Some(Self::Reporting { first, exit })
            }
            Piece::Old(index) if asks_besides(index) => {
                let before = Piece::Old(index.checked_sub(1)?);
                let is_alone = pieces[..exit].last() != Some(&before);
                is_alone.then_some(Self::Unreporting { exit })
            }
            _ => None,
        };
        pieces.iter().enumerate().filter_map(changed).collect()
    }

    /// Lets pass what the predicates take.
    pub(super) fn set_stalls(&self, code: &mut [u8], chip: Chip) {
        match *self {
            Self::Reporting { first, exit } => {
                exits::report_early(code, first, exit, chip);
            }
            Self::Unreporting { exit } => exits::exit_late(code, exit, chip),
        }
    }
}
