//! Scoreboards and waits from the rules alone.
//!
//! nvlink goes through the blocks once, each after those that lead to it as far
//! as loops allow. An instruction waits for what it needs, and takes its
//! scoreboards from what is free then. At its end a block waits for what is
//! over. What a loop brings back to its start is not known there. It is waited
//! for in the end: where it is needed, and where others take its scoreboard.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ops::Range;

use rustc_hash::FxHashMap;

use super::control::Control;
use super::deviations::Deviations;
use super::effort::Effort;
use super::flow::Flow;
use super::held::Held;
use super::instruction::{
    ALL_BOARDS, BOARDS, DOUBLE_MATRICES, INSTRUCTION, NO_BOARD, Wait, depbar, is_awaited_at_once,
    is_counted, is_of_texture, name_in_depbar, operation, releases, wait_at, waits_for_all,
};
use super::pressure::{Holders, Schedule, Spent};
use super::understood::Understood;
use super::{Event, First, Until, bit, in_order, last};

/// What decides how the events of a function choose.
pub(super) struct Rules<'r> {
    code: &'r [u8],
    events: &'r [Event],
    flow: &'r Flow,
    schedule: &'r Schedule<'r>,
    /// The blocks in the order in which they choose.
    order: Vec<Range<usize>>,
    /// Where loops start.
    loops: BTreeSet<usize>,
    /// By the start of a loop that begins with a load which other blocks need, its other blocks.
    members: FxHashMap<usize, Vec<Range<usize>>>,
    /// By the start of such a loop and an event from before it, whether those need that, as far as
    /// somebody asked.
    due_in_loops: RefCell<FxHashMap<(usize, usize), bool>>,
    /// One bit for each scoreboard that only those hold which end in order.
    in_order: u8,
}

/// What events take, and what instructions wait for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Choice {
    pub(super) boards: Vec<u8>,
    pub(super) waits: Vec<u8>,
}

impl Choice {
    /// The compiler's own.
    pub(super) fn made(code: &[u8], events: &[Event]) -> Self {
        let waits = code.chunks_exact(INSTRUCTION);
        Self {
            boards: events.iter().map(|event| event.board).collect(),
            waits: waits.map(|i| Control::of(i).waits()).collect(),
        }
    }

    /// The code with this choice.
    pub(super) fn apply(&self, code: &[u8], flow: &Flow, events: &[Event]) -> Vec<u8> {
        let mut changed = code.to_vec();
        let (instructions, _) = changed.as_chunks_mut::<INSTRUCTION>();
        for (at, (instruction, &waits)) in instructions.iter_mut().zip(&self.waits).enumerate() {
            let (mut write, mut read) = (NO_BOARD, NO_BOARD);
            for event in flow.own(at) {
                match events[event].until {
                    Until::Written => write = self.boards[event],
                    Until::Read => read = self.boards[event],
                }
            }
            Control::set(instruction, write, read, waits);
            if let Some(event) = named_before(code, flow, events, at) {
                name_in_depbar(instruction, self.boards[event]);
            }
        }
        changed
    }
}

/// What the DEPBAR at a place names, if the instruction before it took that.
fn named_before(code: &[u8], flow: &Flow, events: &[Event], at: usize) -> Option<usize> {
    let before = at.checked_sub(1)?;
    let (board, _) = depbar(&code[at * INSTRUCTION..][..INSTRUCTION])?;
    let mut own = flow.own(before);
    let own = own.find(|&event| events[event].board == board);
    own.filter(|_| is_awaited_at_once(&code[before * INSTRUCTION..]))
}

/// When an instruction waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Time {
    /// Before it takes its own scoreboards.
    Before,
    /// As the last one of a block.
    AtEnd,
}

/// What decides besides the rules.
pub(super) trait Guide {
    /// Whether an instruction does not wait for an event that it needs.
    fn skips(&self, _at: usize, _event: usize) -> bool {
        false
    }

    /// What an instruction waits for, where the rules say this.
    fn waits(&mut self, at: usize, ruled: u8, time: Time, held: &Held) -> u8;

    /// The same because of what loops bring back, where this is held.
    fn waits_in_loop(&mut self, _at: usize, ruled: u8, _held: &Held) -> u8 {
        ruled
    }

    /// What is waited for besides once all have chosen, but for what loops bring back.
    fn wait_late(&self, _choice: &mut Choice) {}

    /// What an event takes, where the rules say this.
    fn board(&mut self, event: usize, ruled: u8, held: &Held) -> u8;
}

/// What is held at the starts and ends of blocks that have chosen.
#[derive(Default)]
struct Passed {
    /// By the start of a block, as far as those before it have chosen.
    entries: FxHashMap<usize, Held>,
    /// The same at the time when the block chose.
    known: FxHashMap<usize, Held>,
    /// By the start of a loop, the scoreboards of what ends in turn that was under way before it
    /// and still is where it comes back.
    kept: FxHashMap<usize, u8>,
}

impl<'r> Rules<'r> {
    pub(super) fn new(
        code: &'r [u8],
        understood: &'r Understood,
        schedule: &'r Schedule<'r>,
    ) -> Self {
        let Understood { events, flow, .. } = understood;
        let order = flow.order();
        let loops = flow.loop_starts(&order);
        let starts_with_load = |block: &&Range<usize>| {
            let mut own = Range::clone(block).flat_map(|at| flow.own(at));
            loops.contains(&block.start) && own.any(|event| schedule.is_long_load(event))
        };
        let starts = order.iter().filter(starts_with_load);
        let members = starts.map(|block| (block.start, flow.loop_members(&order, block.start)));
        Self {
            code,
            events,
            flow,
            schedule,
            members: members.collect(),
            due_in_loops: RefCell::default(),
            loops,
            order,
            in_order: in_order(code),
        }
    }

    /// Where the compiler did not choose by these rules; `None` where that takes too long to find out.
    pub(super) fn deviations(&self) -> Option<Deviations> {
        let made = Choice::made(self.code, self.events);
        Deviations::of(self, self.flow, self.events, &made)
    }
}

impl Rules<'_> {
    /// What nvlink chooses, where the compiler did something else in the code that this was
    /// made of; `None` where that takes too long to find out.
    pub(super) fn choose(&self, first: First, mut deviations: &Deviations) -> Option<Choice> {
        Some(self.choose_by(first, &mut deviations)?.1)
    }

    /// What is chosen with a guide, without what loops bring back and with it.
    pub(super) fn choose_by(
        &self,
        first: First,
        guide: &mut impl Guide,
    ) -> Option<(Choice, Choice)> {
        let mut effort = Effort::of(self.code.len() / INSTRUCTION);
        let mut choice = Choice::made(self.code, self.events);
        let mut passed = Passed::default();
        for block in self.order.iter().cloned() {
            let start = block.start;
            let entry = passed.entries.get(&start);
            let mut held = entry.cloned().unwrap_or_default();
            effort.spend(&held)?;
            self.schedule.enter(start, &held);
            passed.known.insert(start, held.clone());
            let end = block.end - 1;
            let is_long = |event: usize| self.schedule.is_long_load(event);
            let mut spent = Spent::default();
            let mut own = block.clone().flat_map(|at| self.flow.own(at));
            let keeps_last = own.any(is_long) || held.all().any(is_long);
            let shared = last(self.in_order).filter(|_| self.members.contains_key(&start));
            for at in block {
                // Else what needs those before the loop would wait for this one, too. One without a result
                // is not waited for elsewhere.
                let is_due = |own: usize, other: usize| {
                    self.schedule.is_due_behind(other, at)
                        || self.is_due_in_loop(other, start)
                        || self.events[other].instruction < start
                            && [own, other].iter().any(|&e| !self.schedule.has_result(e))
                };
                let is_shared = |board: &u8| {
                    let mut own = self.flow.own(at).filter(|&event| is_long(event));
                    own.any(|own| held.events(*board).any(|other| is_due(own, other)))
                };
                let extra = shared.filter(is_shared).map_or(0, bit);
                effort.spend(&held)?;
                let waits = self.wait(at, extra, &mut held, &mut spent, guide);
                let mut taken = 0;
                for event in self.flow.own(at) {
                    let board = match at {
                        0 if first == First::TakesNone => NO_BOARD,
                        _ => {
                            let ruled = self.board(event, &held, &spent, &passed, keeps_last);
                            guide.board(event, ruled, &held)
                        }
                    };
                    choice.boards[event] = board;
                    taken |= bit(board);
                    if board < BOARDS {
                        held.take(board, event);
                    }
                }
                choice.waits[at] = waits;
                if self.flow.closes_block(at) && waits != ALL_BOARDS {
                    let before = &passed.known[&start];
                    let over = self.over(at, &held, before, guide) & !taken;
                    let all = guide.waits(at, waits | over, Time::AtEnd, &held);
                    held.wait(all & !waits & !taken);
                    choice.waits[at] = all;
                }
            }
            for &next in self.flow.followers(end) {
                self.lead_on(next, &held, &mut passed);
                effort.spend(&passed.entries[&next])?;
            }
        }
        let forward = choice.clone();
        guide.wait_late(&mut choice);
        self.wait_for_loops(&mut choice, &passed, guide);
        Some((forward, choice))
    }

    /// What is held where a block ends is held where one starts that follows it.
    fn lead_on(&self, next: usize, held: &Held, passed: &mut Passed) {
        if let Some(known) = passed.known.get(&next) {
            let comes_back = held.boards_of(|event| self.ends_in_turn(event));
            *passed.kept.entry(next).or_default() |= comes_back & self.in_order & known.boards();
        }
        passed.entries.entry(next).or_default().join(held);
    }

    /// Whether a block of a loop other than the first needs an event from before that one.
    fn is_due_in_loop(&self, event: usize, start: usize) -> bool {
        if self.events[event].instruction >= start {
            return false;
        }
        let mut known = self.due_in_loops.borrow_mut();
        *known.entry((start, event)).or_insert_with(|| {
            let mut members = self.members[&start].iter().cloned().flatten();
            members.any(|at| self.schedule.is_needed(event, at))
        })
    }

    /// Lets go what is held where an instruction waits for all: all but the stack pointer, if anything.
    fn wait_for_all(&self, at: usize, held: &mut Held) {
        if releases(&self.code[at * INSTRUCTION..][..INSTRUCTION]) == 0 {
            held.wait(held.boards_of(|event| self.schedule.is_due(event, at)));
            return;
        }
        let stack_pointer = held
            .all()
            .find(|&event| self.events[event].instruction == 0);
        let board = stack_pointer.and_then(|event| held.board(event));
        held.wait(ALL_BOARDS);
        if let (Some(event), Some(board)) = (stack_pointer, board) {
            held.take(board, event);
        }
    }

    /// What an instruction waits for, and besides for some, which is free then.
    fn wait(
        &self,
        at: usize,
        extra: u8,
        held: &mut Held,
        spent: &mut Spent,
        guide: &mut impl Guide,
    ) -> u8 {
        let instruction = &self.code[at * INSTRUCTION..][..INSTRUCTION];
        if waits_for_all(instruction) {
            self.wait_for_all(at, held);
            return ALL_BOARDS;
        }
        let mask = releases(instruction);
        let wait = wait_at(self.code, at);
        let is_meant = |event: usize| match wait {
            Wait::All | Wait::AllAgain => !self.is_counted(event),
            Wait::Uniform | Wait::UniformUsers => {
                self.schedule.is_due(event, at)
                    || self.schedule.is_uniform(event)
                    || wait == Wait::UniformUsers && self.schedule.comes_late_here(event, at)
            }
            Wait::Same if self.schedule.waits_again(at) => {
                bit(self.events[event].board) & mask != 0
            }
            Wait::Same => self.schedule.is_due(event, at),
            Wait::Nothing => self.schedule.is_due(event, at),
        };
        if let Some(own) = named_before(self.code, self.flow, self.events, at) {
            held.leave_all(|event| event == own);
        }
        let needs_nothing = wait == Wait::Nothing && !self.schedule.needs_something(at);
        let waits = match needs_nothing {
            true => extra,
            false => extra | held.boards_of(|event| is_meant(event) && !guide.skips(at, event)),
        };
        let waits = guide.waits(at, waits, Time::Before, held);
        if let Some((board, left)) = depbar(instruction) {
            let queued: Vec<usize> = held
                .events(board)
                .filter(|&e| self.ends_in_turn(e))
                .collect();
            let over = queued.len().saturating_sub(usize::from(left));
            held.leave(board, &queued[..over]);
        }
        if wait != Wait::AllAgain {
            spent.wait(at, waits, held, self.schedule);
            held.wait(match wait {
                // What ends in order is waited for again.
                Wait::UniformUsers => waits & !self.in_order,
                _ => waits,
            });
        }
        waits
    }

    /// Whether textures or surfaces make an event, or products of matrices, some of which a DEPBAR
    /// waits for.
    fn ends_in_turn(&self, event: usize) -> bool {
        let Event {
            instruction,
            until,
            board,
        } = self.events[event];
        until == Until::Written
            && match operation(&self.code[instruction * INSTRUCTION..]) {
                DOUBLE_MATRICES => self.in_order & bit(board) != 0,
                operation => is_of_texture(operation),
            }
    }

    /// Whether textures or surfaces make an event.
    fn is_sampled(&self, event: usize) -> bool {
        let at = self.events[event].instruction * INSTRUCTION;
        is_of_texture(operation(&self.code[at..]))
    }

    /// Whether a DEPBAR waits for an event, if anybody does.
    fn is_counted(&self, event: usize) -> bool {
        let at = self.events[event].instruction * INSTRUCTION;
        is_counted(&self.code[at..][..INSTRUCTION])
    }

    /// What an event takes.
    fn board(
        &self,
        event: usize,
        held: &Held,
        spent: &Spent,
        passed: &Passed,
        keeps_last: bool,
    ) -> u8 {
        let old = self.events[event].board;
        // Nobody else takes what an instruction names.
        if self.in_order >> old & 1 == 1 {
            return old;
        }
        let conflicts = match self.schedule.crosses(event) {
            true => {
                let ahead = self.flow.followers(self.schedule.block_end(event)).iter();
                let ahead = ahead.filter_map(|next| passed.entries.get(next));
                ahead.fold(0, |mask, held| mask | held.boards())
            }
            false => 0,
        };
        let holders = Holders::new(held, spent);
        let board = holders.choose(event, self.in_order, conflicts, keeps_last, self.schedule);
        board.unwrap_or(old)
    }

    /// One bit for each scoreboard whose holders are all over at the end of
    /// their block.
    fn over(&self, at: usize, held: &Held, before: &Held, guide: &impl Guide) -> u8 {
        let over = (0..BOARDS).filter(|&board| self.schedule.are_over(held, before, board, at));
        let over = over.filter(|&board| !held.events(board).any(|event| guide.skips(at, event)));
        over.fold(0, |mask, board| mask | bit(board))
    }

    /// Adds what instructions wait for because of loops. The first block that finds
    /// something held waits for it at its end, if not earlier, and so it does for what ends in turn that
    /// was under way before. A load that another block needs waits there also for those that had its
    /// scoreboard before the loop.
    fn wait_for_loops(&self, choice: &mut Choice, passed: &Passed, guide: &mut impl Guide) {
        let has_result = |event: usize| self.schedule.has_result(event);
        for &start in &self.loops {
            let known = &passed.known[&start];
            let mut held = passed.entries[&start].clone();
            let mut returned = held.clone();
            returned.leave_those_of(known);
            // A DEPBAR waits for what it names.
            returned.leave_all(|event| self.is_counted(event));
            let mut kept = passed.kept.get(&start).copied().unwrap_or_default();
            for at in start.. {
                let is_end = self.flow.closes_block(at);
                let is_needed = |event: usize, board: u8| match is_end {
                    // All that has no result is one.
                    true => {
                        (has_result(event) || known.events(board).all(has_result))
                            && !self.schedule.is_covered(event, known.events(board))
                    }
                    false => self.schedule.is_needed(event, at),
                };
                let needed = returned.taken();
                let needed = needed.filter(|&(event, board)| is_needed(event, board));
                let needed = needed.fold(0, |mask, (_, board)| mask | bit(board));
                let is_taken = |own: usize, held: &Held| {
                    let mut holders = held.events(choice.boards[own]);
                    holders.any(|holder| {
                        holder != own
                            || !has_result(own)
                            || self.events[own].until == Until::Read
                            || self.is_sampled(own)
                    })
                };
                let is_pipelined = self.schedule.is_in_pipeline(at);
                let own = self.flow.own(at).filter(|&own| {
                    let is_early = is_pipelined || self.schedule.is_long_load(own);
                    is_taken(own, &returned) || is_early && is_taken(own, &held)
                });
                let waits = own.fold(needed, |mask, own| mask | bit(choice.boards[own]));
                let waits = waits | if is_end { kept } else { 0 };
                let waits = waits & !held.boards_of(|event| guide.skips(at, event));
                if choice.waits[at] != ALL_BOARDS {
                    choice.waits[at] = guide.waits_in_loop(at, choice.waits[at] | waits, &held);
                }
                held.wait(choice.waits[at]);
                returned.wait(choice.waits[at]);
                kept &= !choice.waits[at];
                if is_end {
                    break;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
