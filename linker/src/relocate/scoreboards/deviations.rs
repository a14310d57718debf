//! Where compilers did something else than the rules say, and the same for code that
//! was made of theirs.
//!
//! What is not known of nvlink it has in common with the compiler. So the rules go
//! through the compiler's code first, each time from what the compiler did before, and
//! what it then did by other rules is kept for the new code: which events shared a
//! scoreboard, which were waited for, and which were not.

use rustc_hash::FxHashMap;

use super::flow::{Flow, Passage};
use super::held::Held;
use super::instruction::{ALL_BOARDS, BOARDS, NO_BOARD};
use super::rules::{Choice, Guide, Rules, Time};
use super::{Event, First, LAST, bit};

/// What a compiler did by other rules.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Deviations {
    /// By event, what it took.
    taken: FxHashMap<usize, Taken>,
    /// By instruction, what it waited for.
    waits: FxHashMap<usize, Waits>,
}

/// What an event took.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Taken {
    board: u8,
    /// Who held it already.
    holders: Vec<usize>,
    /// Which others were free.
    free: u8,
}

impl Taken {
    /// How many others were free that have a lower number.
    fn free_before(&self) -> usize {
        (self.free & (bit(self.board) - 1)).count_ones() as usize
    }

    /// Whether others were free then as they are now, so that it shared for another reason.
    /// The last one is kept for some loads, so that it is not always a choice.
    fn had_choice(&self, held: &Held) -> bool {
        let free = held.free();
        let others = ALL_BOARDS & !bit(LAST);
        [ALL_BOARDS, others]
            .iter()
            .all(|asked| self.free & asked != 0 || free & asked == 0)
    }
}

/// What an instruction waited for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Waits {
    /// For whom without need.
    more: Vec<usize>,
    /// The same at the end of its block, for what is over.
    over: Vec<usize>,
    /// The same, because of loops.
    late: Vec<usize>,
    /// For whom not.
    fewer: Vec<usize>,
    /// For which scoreboards although nobody holds them.
    always: u8,
}

impl Deviations {
    /// What the compiler did in some code; `None` where that takes too long to find out.
    pub(super) fn of(
        rules: &Rules<'_>,
        flow: &Flow,
        events: &[Event],
        made: &Choice,
    ) -> Option<Self> {
        /// What loops bring back depends on what was free before.
        const ROUNDS: usize = 2;
        let passed = Passage::new(flow, events);
        let mut late = vec![0; made.waits.len()];
        let mut found = Self::default();
        for _ in 0..ROUNDS {
            let (deviations, forward, choice) = Self::found(rules, flow, made, &late)?;
            let in_loops = forward.waits.iter().zip(&choice.waits);
            let in_loops: Vec<u8> = in_loops.map(|(forward, all)| all & !forward).collect();
            found = deviations;
            found.add_loops(&passed, made, &choice)?;
            if late == in_loops {
                break;
            }
            late = in_loops;
        }
        // Code that is not optimized waits everywhere, which no other time explains.
        let is_optimized = found.count() <= made.waits.len() / 2;
        if found.is_empty() || !is_optimized {
            return Some(found);
        }
        // A wait may have come later, so that its scoreboard was not free yet. It has, where
        // less is left to say then.
        for at in found.early_waits() {
            let before = late[at];
            late[at] |= made.waits[at];
            let (mut other, _, choice) = Self::found(rules, flow, made, &late)?;
            other.add_loops(&passed, made, &choice)?;
            match other.count() < found.count() {
                true => found = other,
                false => late[at] = before,
            }
        }
        Some(found)
    }

    /// The same, if some waits are known to come late; with what the compiler chose as far
    /// as that was followed. `None` where that takes too long to find out.
    fn found(
        rules: &Rules<'_>,
        flow: &Flow,
        made: &Choice,
        late: &[u8],
    ) -> Option<(Self, Choice, Choice)> {
        let mut recorder = Recorder {
            made,
            flow,
            late,
            found: Self::default(),
        };
        let (forward, choice) = rules.choose_by(First::IsLikeOthers, &mut recorder)?;
        Some((recorder.found, forward, choice))
    }

    /// Some instructions that wait without need.
    fn early_waits(&self) -> Vec<usize> {
        /// To try more takes long.
        const MOST: usize = 16;
        let early = self.waits.iter();
        let early = early.filter(|(_, waits)| !waits.more.is_empty() || !waits.over.is_empty());
        let mut early: Vec<usize> = early.map(|(&at, _)| at).collect();
        early.sort_unstable();
        early.truncate(MOST);
        early
    }

    /// How much the compiler did by other rules.
    fn count(&self) -> usize {
        let waits = self.waits.values().map(|waits| {
            let kinds = [&waits.more, &waits.over, &waits.late, &waits.fewer];
            let kinds = kinds.iter().filter(|events| !events.is_empty()).count();
            kinds + usize::from(waits.always != 0)
        });
        waits.sum::<usize>() + self.taken.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.taken.is_empty() && self.waits.is_empty()
    }

    /// Adds where the compiler waits for more or less than the rules say in the end. `None` where that takes too long to
    /// find out.
    fn add_loops(&mut self, passed: &Passage<'_>, made: &Choice, ruled: &Choice) -> Option<()> {
        if made.waits == ruled.waits {
            return Some(());
        }
        let differs = |at: usize| made.waits[at] != ruled.waits[at];
        passed.visit(differs, |at, before| {
            let (is, should) = (made.waits[at], ruled.waits[at]);
            let waits = self.waits.entry(at).or_default();
            for board in (0..BOARDS).filter(|board| (is ^ should) >> board & 1 == 1) {
                let held = before.events(board);
                match is >> board & 1 == 1 {
                    true if before.is_free(board) => waits.always |= bit(board),
                    true => waits.late.extend(held),
                    false => waits.fewer.extend(held),
                }
            }
        })
    }

    /// The same for code that was made of the compiler's: which event and which
    /// instruction one of the compiler's is there.
    pub(super) fn moved(
        &self,
        event: impl Fn(usize) -> Option<usize>,
        instruction: impl Fn(usize) -> Option<usize>,
    ) -> Self {
        let moved = |events: &[usize]| events.iter().filter_map(|&old| event(old)).collect();
        let taken = self.taken.iter().filter_map(|(&old, taken)| {
            let holders = moved(&taken.holders);
            Some((event(old)?, Taken { holders, ..*taken }))
        });
        let waits = self.waits.iter().filter_map(|(&old, waits)| {
            let waits = Waits {
                more: moved(&waits.more),
                over: moved(&waits.over),
                late: moved(&waits.late),
                fewer: moved(&waits.fewer),
                always: waits.always,
            };
            Some((instruction(old)?, waits))
        });
        Self {
            taken: taken.collect(),
            waits: waits.collect(),
        }
    }
}

/// It does in new code what the compiler did in its own.
impl Guide for &Deviations {
    fn skips(&self, at: usize, event: usize) -> bool {
        let waits = self.waits.get(&at);
        waits.is_some_and(|waits| waits.fewer.contains(&event))
    }

    fn waits(&mut self, at: usize, ruled: u8, time: Time, held: &Held) -> u8 {
        let Some(waits) = self.waits.get(&at) else {
            return ruled;
        };
        let events = match time {
            Time::Before => &waits.more,
            Time::AtEnd => &waits.over,
        };
        ruled | held.boards_of(|event| events.contains(&event))
    }

    fn wait_late(&self, choice: &mut Choice) {
        for (&at, waits) in &self.waits {
            let late = waits.late.iter();
            let late = late.fold(waits.always, |mask, &event| {
                mask | bit(choice.boards[event])
            });
            choice.waits[at] |= late;
        }
    }

    fn board(&mut self, event: usize, ruled: u8, held: &Held) -> u8 {
        let Some(taken) = self.taken.get(&event) else {
            return ruled;
        };
        if !taken.holders.is_empty() {
            if !taken.had_choice(held) {
                return ruled;
            }
            let first = taken.holders.iter().find_map(|&holder| held.board(holder));
            return first.unwrap_or(ruled);
        }
        if taken.board == LAST && held.is_free(LAST) {
            return LAST;
        }
        let mut free = (0..BOARDS).filter(|&board| held.is_free(board));
        free.nth(taken.free_before()).unwrap_or(ruled)
    }
}

/// Who holds scoreboards of a mask.
fn held_of(held: &Held, mask: u8) -> impl Iterator<Item = usize> + '_ {
    let boards = (0..BOARDS).filter(move |board| mask >> board & 1 == 1);
    boards.flat_map(|board| held.events(board))
}

/// It does what the compiler did, and keeps in mind where the rules say another thing.
struct Recorder<'r> {
    made: &'r Choice,
    flow: &'r Flow,
    /// What each instruction waits for late, as because of loops.
    late: &'r [u8],
    found: Deviations,
}

impl Guide for Recorder<'_> {
    fn waits(&mut self, at: usize, ruled: u8, time: Time, held: &Held) -> u8 {
        let made = self.made.waits[at];
        // So it is for most.
        if made == ruled {
            return ruled;
        }
        let own = self.flow.own(at);
        let taken = own.fold(0, |mask, event| mask | bit(self.made.boards[event]));
        let asked = match time {
            Time::Before if self.flow.closes_block(at) => taken,
            Time::Before => ALL_BOARDS,
            Time::AtEnd => !taken,
        };
        let (fewer, more) = (ruled & !made, made & !ruled & asked);
        let more = more & !self.late[at] & held.boards();
        if fewer | more != 0 {
            let waits = self.found.waits.entry(at).or_default();
            waits.fewer.extend(held_of(held, fewer));
            match time {
                Time::Before => waits.more.extend(held_of(held, more)),
                Time::AtEnd => waits.over.extend(held_of(held, more)),
            }
        }
        ruled & made | more
    }

    fn waits_in_loop(&mut self, at: usize, ruled: u8, held: &Held) -> u8 {
        let made = self.made.waits[at];
        let fewer = ruled & !made;
        let more = made & !ruled & held.boards();
        if fewer | more != 0 {
            let waits = self.found.waits.entry(at).or_default();
            waits.fewer.extend(held_of(held, fewer));
            waits.late.extend(held_of(held, more));
        }
        ruled & made | more
    }

    fn board(&mut self, event: usize, ruled: u8, held: &Held) -> u8 {
        let board = self.made.boards[event];
        if board != ruled && board != NO_BOARD {
            let taken = Taken {
                board,
                holders: held.events(board).collect(),
                free: held.free(),
            };
            self.found.taken.insert(event, taken);
        }
        board
    }
}

#[cfg(test)]
mod tests {
    use super::super::Chip;
    use super::super::pressure::Schedule;
    use super::super::tests::{EXIT, LDC, instruction, setting, sum};
    use super::super::understood::Understood;
    use super::*;

    /// What the compiler did by other rules, and what is chosen without a stack pointer.
    fn of(code: &[[u8; 16]]) -> (Deviations, Choice) {
        let (code, chip) = (code.concat(), Chip::FastDoubles);
        let understood = Understood::new(&code, &setting(chip)).unwrap();
        let schedule = Schedule::new(&code, &understood, &setting(chip));
        let rules = Rules::new(&code, &understood, &schedule);
        let deviations = rules.deviations().unwrap();
        let choice = rules.choose(First::TakesNone, &deviations);
        (deviations, choice.unwrap())
    }

    #[test]
    fn needless_waits_stay_and_free_what_they_freed() {
        let code = |board: u8| {
            [
                instruction(LDC, 1, 0, 0),
                instruction(LDC, 14, 1, 0),
                // It waits without need.
                sum(41, 2, 0b10),
                instruction(LDC, 16, board, 0),
                sum(41, 14, if board == 1 { 0 } else { 0b10 }),
                sum(41, 16, 1 << board),
                instruction(EXIT, 0, NO_BOARD, 0b1),
            ]
        };
        // The scoreboard was free then.
        let (deviations, choice) = of(&code(1));
        assert_eq!(deviations.waits[&2].more, [1]);
        assert_eq!(deviations.count(), 1);
        assert_eq!(choice.boards, [NO_BOARD, 0, 0]);
        assert_eq!(choice.waits, [0, 0, 0b1, 0, 0, 0b1, 0]);
        // It was not yet.
        let (deviations, choice) = of(&code(2));
        assert_eq!(deviations.waits[&2].late, [1]);
        assert_eq!(deviations.count(), 1);
        assert_eq!(choice.boards, [NO_BOARD, 0, 1]);
        assert_eq!(choice.waits, [0, 0, 0b1, 0, 0b1, 0b10, 0]);
    }

    #[test]
    fn what_shared_shares_again() {
        let code = [
            instruction(LDC, 1, 0, 0),
            instruction(LDC, 14, 1, 0),
            instruction(LDC, 16, 1, 0),
            sum(41, 14, 0b10),
            sum(41, 16, 0),
            instruction(EXIT, 0, NO_BOARD, 0),
        ];
        let (deviations, choice) = of(&code);
        assert_eq!(deviations.taken[&2].holders, [1]);
        assert_eq!(choice.boards, [NO_BOARD, 0, 0]);
        assert_eq!(choice.waits, [0, 0, 0, 0b1, 0, 0]);
    }

    #[test]
    fn what_shared_for_want_of_others_takes_one_that_is_free() {
        let load = |register: u8, board: u8| instruction(LDC, register, board, 0);
        let code = [
            load(1, 0),
            load(14, 1),
            load(16, 2),
            load(18, 3),
            load(20, 4),
            // The last one is left to loads from memory.
            load(22, 1),
            sum(41, 22, 0b00010),
            sum(41, 14, 0),
            sum(41, 16, 0b00100),
            sum(41, 18, 0b01000),
            sum(41, 20, 0b10000),
            instruction(EXIT, 0, NO_BOARD, 0b1),
        ];
        let (deviations, choice) = of(&code);
        assert_eq!(deviations.taken[&5].holders, [1]);
        assert_eq!(deviations.taken[&5].free, bit(LAST));
        assert_eq!(choice.boards, [NO_BOARD, 0, 1, 2, 3, 4]);
    }

    #[test]
    fn deviations_follow_what_moves() {
        let taken = Taken {
            board: 1,
            holders: vec![0, 2],
            free: ALL_BOARDS,
        };
        let deviations = Deviations {
            taken: [(3, taken.clone())].into_iter().collect(),
            waits: [(5, Waits::default())].into_iter().collect(),
        };
        // One event is gone.
        let moved = deviations.moved(|event| (event != 0).then_some(event + 4), |at| Some(at + 1));
        let holders = vec![6];
        assert_eq!(moved.taken[&7], Taken { holders, ..taken });
        assert!(moved.waits.contains_key(&6));
    }
}
