//! Who holds scoreboards, and which one an event takes because of that.

use std::cell::LazyCell;

use super::super::held::Held;
use super::super::instruction::BOARDS;
use super::super::{Event, FIRST_FOR_MEMORY, Until, last};
use super::Schedule;

/// In which cycle of a block all is over that scoreboards were waited for along with something else. Nobody
/// waits for it any more, and still the compiler counts it where others take them.
#[derive(Debug, Clone, Copy, Default)]
pub(in super::super) struct Spent([u32; BOARDS as usize]);

impl Spent {
    /// An instruction waits for scoreboards in a mask.
    pub(in super::super) fn wait(
        &mut self,
        at: usize,
        mask: u8,
        held: &Held,
        schedule: &Schedule<'_>,
    ) {
        let awaited = |&(_, board): &(usize, u8)| mask >> board & 1 == 1;
        for (event, board) in held.taken().filter(awaited) {
            // Who needs it later finds it there, whatever it took.
            if let Some(due) = schedule.due(event, at).filter(|&due| due > at) {
                let end = schedule.end_at(event, at).min(schedule.start[due]);
                let spent = &mut self.0[usize::from(board)];
                *spent = end.max(*spent);
            }
        }
    }
}

/// The instruction that needs what holds each scoreboard first.
type Due = [Option<usize>; BOARDS as usize];

/// Who holds each scoreboard at some place of a block.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct Holders<'h> {
    held: &'h Held,
    spent: &'h Spent,
}

impl<'h> Holders<'h> {
    pub(in super::super) fn new(held: &'h Held, spent: &'h Spent) -> Self {
        Self { held, spent }
    }

    /// What the compiler takes for an event, but for scoreboards in a mask.
    pub(in super::super) fn choose(
        &self,
        event: usize,
        in_order: u8,
        conflicts: u8,
        keeps_last: bool,
        schedule: &Schedule<'_>,
    ) -> Option<u8> {
        let Event {
            instruction: at,
            until,
            ..
        } = schedule.events[event];
        let need = schedule.needs[event];
        let is_load = schedule.kinds[event].is_load;
        let last = last(in_order)?;
        let leaves_last = match need {
            Some(_) => keeps_last,
            None => schedule.has_loads,
        };
        let reserved = in_order | if leaves_last { 1 << last } else { 0 };
        let denied = match (is_load, need) {
            (true, None) => in_order | !(1 << last),
            (true, Some(_)) => reserved | ((1 << FIRST_FOR_MEMORY) - 1),
            (false, _) => reserved,
        };
        let boards = |denied: u8| (0..BOARDS).filter(move |board| denied >> board & 1 == 0);
        let holders = |board: u8| self.held.events(board);
        // When those that hold each scoreboard are needed first.
        let first_due = |board: u8| {
            let due = holders(board).filter_map(|holder| schedule.due(holder, at));
            due.min()
        };
        let due: LazyCell<Due, _> =
            LazyCell::new(|| std::array::from_fn(|board| first_due(board as u8)));
        let is_free = |board: &u8| self.held.is_free(*board);
        let joined = match need {
            Some(need) => boards(reserved)
                .find(|&board| self.is_needed_alike(event, need, board, &due, schedule))
                .or_else(|| boards(reserved).find(|&board| self.is_left_over(board, at, schedule))),
            None if until == Until::Written && !schedule.is_staged_load(event) => None,
            None => boards(reserved).find(|&board| self.is_open_alike(event, board, schedule)),
        };
        joined
            .or_else(|| boards(denied | conflicts).find(is_free))
            .or_else(|| boards(denied).find(is_free))
            .or_else(|| {
                // What another block needs leaves the last one free, but shares it with others.
                let unshared = match (is_load, need) {
                    (false, None) if !keeps_last && !is_free(&last) => in_order,
                    _ => denied,
                };
                let candidates = boards(unshared).map(|board| {
                    let due = due[usize::from(board)];
                    self.cost(event, board, due, schedule)
                });
                let best = candidates.reduce(|best, other| match other.is_better_than(&best) {
                    true => other,
                    false => best,
                });
                Some(best?.board)
            })
    }

    /// Whether those that hold a scoreboard are needed first where an event is, or in the same stage of a loop.
    fn is_needed_alike(
        &self,
        event: usize,
        need: usize,
        board: u8,
        due: &Due,
        schedule: &Schedule<'_>,
    ) -> bool {
        due[usize::from(board)].is_some_and(|first| {
            let holders = self.held.events(board);
            first == need || schedule.is_needed_in_stage(event, need, first, holders)
        })
    }

    /// Whether a scoreboard is held in a pipelined loop, and only by what earlier blocks read and this one does not need.
    fn is_left_over(&self, board: u8, at: usize, schedule: &Schedule<'_>) -> bool {
        let mut holders = self.held.events(board);
        schedule.is_in_pipeline(at)
            && !self.held.is_free(board)
            && holders.all(|holder| schedule.is_left_over(holder, at))
    }

    /// Whether a scoreboard is held by what nobody of the block needs, as nobody needs an event, and by some of this block.
    fn is_open_alike(&self, event: usize, board: u8, schedule: &Schedule<'_>) -> bool {
        let Event {
            instruction: at,
            until,
            ..
        } = schedule.events[event];
        let is_alike = |holder: usize| {
            schedule.events[holder].until == until
                && (until == Until::Read || schedule.is_staged_load(holder))
                && schedule.due(holder, at).is_none()
        };
        let mut holders = self.held.events(board);
        holders.clone().all(is_alike) && holders.any(|holder| schedule.is_here(holder, at))
    }

    /// What an event costs that shares a scoreboard, whose holders are needed first somewhere.
    fn cost(
        &self,
        event: usize,
        board: u8,
        due: Option<usize>,
        schedule: &Schedule<'_>,
    ) -> Candidate {
        let holders = self.held.events(board);
        let at = schedule.events[event].instruction;
        let end = schedule.end[event];
        let (cycles, over) = match (schedule.needs[event], due) {
            (Some(need), Some(due)) if due < need => {
                (schedule.start[need] - schedule.start[due], None)
            }
            (Some(_), _) => {
                // Then all is waited for.
                let latest = due.map_or(u32::MAX, |due| schedule.start[due]);
                let spent = self.spent.0[usize::from(board)];
                let free = |ends: Option<u32>| ends.unwrap_or(0).max(spent).min(latest);
                let here = holders.clone();
                let here = here.filter(|&holder| schedule.is_here(holder, at));
                let here = free(here.map(|holder| schedule.end[holder]).max());
                let over = free(holders.map(|holder| schedule.end_at(holder, at)).max());
                (here.saturating_sub(end), Some(over))
            }
            (None, Some(due)) => (end.saturating_sub(schedule.start[due]), None),
            (None, None) => (0, None),
        };
        Candidate {
            board,
            cycles,
            over,
        }
    }
}

/// A scoreboard to share.
#[derive(Debug, Clone, Copy)]
struct Candidate {
    board: u8,
    /// Cycles lost.
    cycles: u32,
    /// When its holders are over, where they are needed after this event.
    over: Option<u32>,
}

impl Candidate {
    /// Whether this is better than one that was found earlier.
    fn is_better_than(&self, earlier: &Self) -> bool {
        let is_over_sooner = self.over.zip(earlier.over).is_some_and(|(a, b)| a < b);
        self.cycles < earlier.cycles || self.cycles == earlier.cycles && is_over_sooner
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_equal_costs_the_first_is_taken_unless_others_are_over_sooner() {
        let candidate = |cycles, over| Candidate {
            board: 0,
            cycles,
            over,
        };
        let is_better = |a: (u32, Option<u32>), b: (u32, Option<u32>)| {
            candidate(a.0, a.1).is_better_than(&candidate(b.0, b.1))
        };
        assert!(is_better((3, None), (4, Some(1))));
        assert!(is_better((4, Some(1)), (4, Some(2))));
        assert!(!is_better((4, Some(2)), (4, Some(2))));
        // Places before and behind are not compared.
        assert!(!is_better((4, Some(1)), (4, None)));
        assert!(!is_better((4, None), (4, Some(9))));
    }
}
