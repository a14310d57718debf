//! Which scoreboard the compiler takes, and who shares where all are held.
//!
//! The compiler goes through each block of code with a clock, in which an
//! instruction that waits for a result starts when that is there. What finds no
//! scoreboard free shares one where the least time is lost: where its own wait
//! comes earlier for a wait of those that hold it, or where its own wait comes
//! to last until theirs are over. Loads whose results other blocks need have
//! the last scoreboard for themselves.

mod facts;
mod holders;

use std::cell::{Cell, RefCell};

use rustc_hash::FxHashMap;

use super::flow::Flow;
use super::held::Held;
use super::instruction::{Chip, INSTRUCTION, NO_BOARD};
use super::registers::Accesses;
use super::stages::Stages;
use super::stalls::TAKING;
use super::timing::{SLOW_DOUBLE, SLOW_RESULT, Unit, forwarding};
use super::understood::Understood;
use super::uses::Uses;
use super::{Event, Setting, Until};

use facts::{EventKind, Planned};
pub(super) use holders::{Holders, Spent};

/// After so many an instruction keeps no other one waiting.
const MOST_CYCLES: u32 = 30;
/// So long a part is busy at most.
const MOST_BUSY: u32 = 8;

/// Cycles of a block, and where in it each event is needed.
pub(super) struct Schedule<'e> {
    events: &'e [Event],
    uses: &'e Uses,
    chip: Chip,
    /// What is known of each instruction.
    planned: Vec<Planned>,
    /// What is known of each event.
    kinds: Vec<EventKind>,
    /// Whether there are loads from memory at all.
    has_loads: bool,
    /// Cycle in which each instruction starts.
    start: Vec<u32>,
    /// Cycle in which each event is over.
    end: Vec<u32>,
    /// The instruction of its block that needs each event; `None` if another
    /// block does.
    needs: Vec<Option<usize>>,
    /// By block and event of an earlier one, the first that needs it, as far as
    /// somebody asked.
    carried: RefCell<FxHashMap<(usize, usize), Option<usize>>>,
    /// Whether each instruction needs something of its block, or of what was held where a way came to that.
    is_need: Vec<Cell<bool>>,
    /// Whether each instruction waited for what was loaded no more than two cycles before it, as the compiler
    /// planned it, with another one between them.
    is_right_behind_load: Vec<bool>,
    /// Whether blocks have instructions of later stages of a loop, by their first
    /// instruction.
    is_pipelined: Vec<bool>,
    /// By block and event of an earlier one, how many cycles that still takes where
    /// the block starts.
    left: FxHashMap<(usize, usize), u32>,
}

impl<'e> Schedule<'e> {
    pub(super) fn new(code: &[u8], understood: &'e Understood, setting: &Setting<'_>) -> Self {
        let (events, uses) = (&understood.events, &understood.uses);
        let stages = Stages::of(setting.capsule);
        let instructions: Vec<&[u8]> = code.chunks_exact(INSTRUCTION).collect();
        let planned = Planned::all(&instructions, understood, &stages);
        let kinds = EventKind::all(&instructions, understood);
        let count = planned.len();
        let mut schedule = Self {
            events,
            uses,
            chip: understood.chip,
            has_loads: kinds.iter().any(|kind| kind.is_load),
            planned,
            kinds,
            start: vec![0; count],
            end: vec![0; events.len()],
            needs: Vec::new(),
            carried: RefCell::default(),
            is_need: vec![Cell::new(false); count],
            is_right_behind_load: vec![false; count],
            is_pipelined: vec![false; count],
            left: FxHashMap::default(),
        };
        for (at, &block) in schedule.uses.block.iter().enumerate() {
            // A block behind such a loop says nothing of stages.
            let is_later = stages.at(at).is_some_and(|stage| stage > 0);
            schedule.is_pipelined[block] |= is_later && stages.are_in(block..=at);
        }
        let if_both = schedule.find_needs();
        schedule.count_cycles(&if_both);
        schedule.count_what_is_left(&understood.flow);
        schedule
    }

    /// Finds who needs what, and says who would if predicates excluded nothing: nvlink's clock does not look
    /// at them.
    fn find_needs(&mut self) -> Vec<Option<usize>> {
        let found = self.events.iter().map(|event| self.uses.needs(event));
        let (if_both, needs) = found.unzip();
        self.needs = needs;
        for &need in self.needs.iter().flatten() {
            self.is_need[need].set(true);
        }
        if_both
    }

    /// Looks who of a block needs what is held where it starts.
    pub(super) fn enter(&self, start: usize, held: &Held) {
        for need in held.all().filter_map(|event| self.due(event, start)) {
            self.is_need[need].set(true);
        }
    }

    /// Whether an instruction is in a block that has instructions of later stages of a loop.
    pub(super) fn is_in_pipeline(&self, at: usize) -> bool {
        self.is_pipelined[self.uses.block[at]]
    }

    /// Whether an instruction needs anything, in a block that was entered.
    pub(super) fn needs_something(&self, at: usize) -> bool {
        self.is_need[at].get()
    }

    /// Whether an instruction that may come after an event can not start
    /// before that is over.
    pub(super) fn is_needed(&self, event: usize, at: usize) -> bool {
        self.uses.is_needed(&self.events[event], at)
    }

    fn count_cycles(&mut self, if_both: &[Option<usize>]) {
        let mut delays = vec![0; self.uses.block.len()];
        let mut due = vec![0; self.uses.block.len()];
        let mut awaited = vec![None; self.uses.block.len()];
        let mut last_double = None;
        let mut events = (0..).zip(self.events).peekable();
        for at in 0..self.uses.block.len() {
            let plain = self.planned[at].plain;
            // Nothing gains on what an earlier block was late for.
            let first = self.uses.block[at];
            let base = match first == at && at > 0 {
                true => delays[at - 1],
                false => delays[first],
            };
            let mut delay = self.delay(at, &delays, base);
            if self.planned[at].runs_on_slow_double {
                let last = last_double.replace(at).filter(|&last| last >= first);
                delay = delay.max(last.map_or(0, |last| self.late(&delays, last, at, SLOW_DOUBLE)));
            }
            let start = (plain + delay).max(due[at]);
            self.start[at] = start;
            self.is_right_behind_load[at] = due[at] > plain + delay
                && awaited[at].is_some_and(|load: usize| {
                    load + 2 == at && plain - self.planned[load].plain == u32::from(TAKING)
                });
            delays[at] = start - plain;
            if let Some(kept) = self.planned[at].kept
                && let Some(need) = self.overwriting(at)
            {
                due[need] = due[need].max(start + kept);
            }
            while let Some((event, _)) = events.next_if(|(_, event)| event.instruction == at) {
                self.end[event] = start + self.kinds[event].latency;
                let need = self.needs[event];
                let if_both = if_both[event].filter(|_| if_both[event] != need);
                for need in need.into_iter().chain(if_both) {
                    let is_slow_result = self.planned[at].runs_on_slow_double
                        && self.planned[at].unit == Unit::Double
                        && self.planned[need].unit != Unit::Control
                        && self.events[event].until == Until::Written;
                    let end = match is_slow_result {
                        true => start + SLOW_RESULT,
                        false if self.uses.is_only_behind(&self.events[event], need) => start + 1,
                        false => self.end[event],
                    };
                    if end > due[need] {
                        due[need] = end;
                        let is_load = self.kinds[event].is_load
                            || self.kinds[event].is_shared_load
                            || self.planned[at].unit == Unit::WarpMemory;
                        awaited[need] = is_load.then_some(at);
                    }
                }
            }
        }
    }

    /// The first instruction of its block that overwrites what one reads.
    fn overwriting(&self, at: usize) -> Option<usize> {
        let operands = Event {
            instruction: at,
            until: Until::Read,
            board: NO_BOARD,
        };
        self.uses.first(&operands, at + 1, self.uses.block[at])
    }

    /// Follows what is under way from block to block, in the order in which they
    /// choose; of several ways to a block the longest counts.
    fn count_what_is_left(&mut self, flow: &Flow) {
        let mut entries: FxHashMap<usize, FxHashMap<usize, u32>> = FxHashMap::default();
        for block in flow.order() {
            let last = block.end - 1;
            let takes_scoreboard = !flow.own(last).is_empty();
            let stall = match self.planned[last].stall {
                // Only who waits for it needs to find it taken.
                stall if stall == u32::from(TAKING) && takes_scoreboard => 1,
                stall => stall,
            };
            let (start, next) = (self.start[block.start], self.start[last] + stall);
            let entry = entries.remove(&block.start).unwrap_or_default();
            let passing = entry.iter().map(|(&event, &left)| (event, start + left));
            let own = block.clone().flat_map(|at| flow.own(at));
            let own = own.map(|event| (event, self.end[event]));
            let open = passing.chain(own).filter(|&(_, end)| end > next);
            let open: Vec<(usize, u32)> = open.map(|(event, end)| (event, end - next)).collect();
            for follower in flow.followers(last) {
                let ahead = entries.entry(*follower).or_default();
                for &(event, left) in &open {
                    let most = ahead.entry(event).or_default();
                    *most = left.max(*most);
                }
            }
            let entry = entry.into_iter();
            self.left
                .extend(entry.map(|(event, left)| ((block.start, event), left)));
        }
    }

    /// By how much an instruction is late because its block or earlier ones of it were. The cycles
    /// between two are for those who run on the same part of the processor or use
    /// what was made, so what was late for another reason gains on the others, unless it
    /// comes in its turn.
    fn delay(&self, at: usize, delays: &[u32], base: u32) -> u32 {
        let passed = |from: usize| self.planned[at].plain - self.planned[from].plain;
        let earlier = (self.uses.block[at]..at).rev();
        let recent = earlier.take_while(|&from| passed(from) <= MOST_CYCLES);
        recent.fold(base, |most, from| {
            // Nobody is later than who kept him waiting.
            if delays[from] <= most {
                return most;
            }
            let keeps = || self.keeps_next(from) || self.comes_in_turn(at, delays);
            let spacing = match from + 1 == at && keeps() {
                true => passed(from),
                false if from + 1 == at && self.waits_behind_load(from, at) => TAKING.into(),
                false if self.planned[from].is_idle => 0,
                false => self.planned[from]
                    .unit
                    .spacing_when_late(self.planned[at].unit, self.chip),
            };
            let accesses = self.uses.accesses[from]
                .as_ref()
                .zip(self.uses.accesses[at].as_ref());
            let used = accesses.and_then(|(maker, user)| {
                forwarding(
                    (self.planned[from].unit, maker),
                    (self.planned[at].unit, user),
                    self.chip,
                )
            });
            most.max(self.late(delays, from, at, used.unwrap_or(0).max(spacing)))
        })
    }

    /// Whether an instruction of no known time comes two cycles behind the one before it, since that
    /// waited for a load two cycles before.
    fn waits_behind_load(&self, before: usize, at: usize) -> bool {
        self.is_right_behind_load[before]
            && !self.planned[at].unit.has_fixed_time()
            && self.uses.block[at] == self.uses.block[before]
    }

    /// Whether the next instruction gains nothing on an instruction that is late: that only lets time pass, or
    /// takes a time that is not known and leaves some of it to what lets time pass.
    fn keeps_next(&self, at: usize) -> bool {
        let is_before_pause = || self.planned.get(at + 1).is_some_and(|next| next.is_pause);
        self.planned[at].is_pause || !self.planned[at].unit.has_fixed_time() && is_before_pause()
    }

    /// Whether an instruction comes as soon as a part is free again that another one keeps busy,
    /// which is not the one right before it; or sooner, where a cycle is gone with a wait. Not if the
    /// one before, which it does not use, waited until that part had its operands, works on numbers
    /// of 64 bits, or is a function that is late only because others were.
    fn comes_in_turn(&self, at: usize, delays: &[u32]) -> bool {
        let before = at - 1;
        let is_late_itself = before == self.uses.block[at] || delays[before] > delays[before - 1];
        match self.planned[before].unit {
            Unit::Long | Unit::LongCompare => return false,
            Unit::Function if !is_late_itself => return false,
            _ => {}
        }
        let passed = |from: usize| self.planned[at].plain - self.planned[from].plain;
        let earlier = (self.uses.block[at]..before).rev();
        let mut recent = earlier.take_while(|&from| passed(from) <= MOST_BUSY);
        recent.any(|from| {
            let spacing = self.planned[from]
                .unit
                .spacing(self.planned[at].unit, self.chip);
            let is_behind = spacing > 1 && spacing >= passed(from);
            is_behind && (!self.waits_to_overwrite(before, from) || self.uses_result(at, before))
        })
    }

    /// Whether an instruction waits until an earlier one has read its operands.
    fn waits_to_overwrite(&self, at: usize, earlier: usize) -> bool {
        let first = self.events.partition_point(|e| e.instruction < earlier);
        let own = self.events[first..].iter().zip(&self.needs[first..]);
        let mut own = own.take_while(|(event, _)| event.instruction == earlier);
        own.any(|(event, &need)| event.until == Until::Read && need == Some(at))
    }

    /// Whether an instruction reads or writes what an earlier one writes.
    fn uses_result(&self, at: usize, earlier: usize) -> bool {
        let accesses = [earlier, at].map(|at| self.uses.accesses[at].as_ref());
        matches!(accesses, [Some(maker), Some(user)] if maker.is_used_by(user))
    }

    /// By how much an instruction is late that keeps so many cycles from an earlier one, or
    /// as many as the compiler let it.
    fn late(&self, delays: &[u32], from: usize, at: usize, least: u32) -> u32 {
        let passed = self.planned[at].plain - self.planned[from].plain;
        (delays[from] + least.min(passed)).saturating_sub(passed)
    }

    /// Whether an event is of the same block as an instruction, and before it.
    fn is_here(&self, event: usize, at: usize) -> bool {
        (self.uses.block[at]..=at).contains(&self.events[event].instruction)
    }

    /// The cycle in which an event is over that is held where an instruction stands; at
    /// the start of its block at the earliest, if it is of another one.
    fn end_at(&self, event: usize, at: usize) -> u32 {
        if self.is_here(event, at) {
            return self.end[event];
        }
        let block = self.uses.block[at];
        self.start[block] + self.left.get(&(block, event)).copied().unwrap_or(0)
    }

    /// Where in the block of an instruction an event ends that is held there.
    fn due(&self, event: usize, at: usize) -> Option<usize> {
        match self.is_here(event, at) {
            true => self.needs[event],
            false => {
                let block = self.uses.block[at];
                let mut carried = self.carried.borrow_mut();
                let first = carried.entry((block, event));
                *first.or_insert_with(|| self.uses.first(&self.events[event], block, block))
            }
        }
    }

    /// Whether an instruction needs an event that is held there.
    pub(super) fn is_due(&self, event: usize, at: usize) -> bool {
        self.due(event, at) == Some(at)
    }

    /// Whether a later instruction of the block needs an event that is held there.
    pub(super) fn is_due_behind(&self, event: usize, at: usize) -> bool {
        self.due(event, at).is_some_and(|due| due > at)
    }

    /// Whether an event is held for uniform registers: a result, or until they are read.
    pub(super) fn is_uniform(&self, event: usize) -> bool {
        self.is_uniform_result(event)
            || self.events[event].until == Until::Read && self.reads_uniform_late(event)
    }

    fn is_uniform_result(&self, event: usize) -> bool {
        let event = &self.events[event];
        let accesses = self.uses.accesses[event.instruction].as_ref();
        event.until == Until::Written && accesses.is_some_and(Accesses::writes_uniform_registers)
    }

    /// Whether an event of the block of an instruction is about something that reads uniform registers late.
    pub(super) fn comes_late_here(&self, event: usize, at: usize) -> bool {
        self.is_here(event, at) && self.reads_uniform_late(event)
    }

    /// Whether an event is of an instruction that reads uniform registers late.
    fn reads_uniform_late(&self, event: usize) -> bool {
        let event = &self.events[event];
        let accesses = self.uses.accesses[event.instruction].as_ref();
        accesses.is_some_and(Accesses::reads_uniform_late)
    }

    /// Whether another block needs what an event that is no load does.
    pub(super) fn crosses(&self, event: usize) -> bool {
        self.needs[event].is_none() && !self.kinds[event].is_load
    }

    /// The last instruction of the block of an event.
    pub(super) fn block_end(&self, event: usize) -> usize {
        let block = self.uses.block[self.events[event].instruction];
        self.uses.block.partition_point(|&start| start <= block) - 1
    }

    /// Whether events hold a scoreboard that are over at the end of a block, one of
    /// them being its own. That of a load is never known. What held it before the block
    /// is over by then, too, even if the block has waited for that.
    pub(super) fn are_over(&self, held: &Held, before: &Held, board: u8, at: usize) -> bool {
        if self.is_pipelined[self.uses.block[at]] {
            return false;
        }
        // Who waits for the instruction right before comes when it has taken the scoreboard.
        let when = |event: usize| match self.events[event].instruction + 1 == at {
            true => self.start[at].max(self.start[at - 1] + u32::from(TAKING)),
            false => self.start[at],
        };
        let is_early = |event: usize| self.end_at(event, at) <= when(event);
        held.events(board).any(|event| self.is_here(event, at))
            && held
                .events(board)
                .all(|event| !self.kinds[event].is_open && is_early(event))
            && before.events(board).all(is_early)
    }

    /// Whether an event is a load from memory, shared or not, of some stage, in a block that is pipelined.
    fn is_staged_load(&self, event: usize) -> bool {
        let at = self.events[event].instruction;
        (self.kinds[event].is_shared_load || self.kinds[event].is_load)
            && self.is_in_pipeline(at)
            && self.planned[at].stage.is_some()
    }

    /// Whether loads are needed in the same stage of a loop, which is not that of the load: that of an event at a
    /// place, and the first of those that hold a scoreboard at another.
    fn is_needed_in_stage(
        &self,
        event: usize,
        need: usize,
        first: usize,
        mut holders: impl Iterator<Item = usize>,
    ) -> bool {
        self.is_staged_load(event)
            && self.planned[first].stage == self.planned[need].stage
            && self.planned[need].stage != self.planned[self.events[event].instruction].stage
            && holders.all(|holder| self.is_staged_load(holder))
    }

    /// Whether an event of an earlier block that only reads is none that a block in a pipeline needs.
    fn is_left_over(&self, event: usize, at: usize) -> bool {
        self.events[event].until == Until::Read
            && !self.is_here(event, at)
            && self.due(event, at).is_none()
    }

    /// Whether all registers that an event is held for are some that others are held for.
    pub(super) fn is_covered(&self, event: usize, others: impl Iterator<Item = usize>) -> bool {
        let accesses = |event: usize| {
            let Event {
                instruction, until, ..
            } = self.events[event];
            Some((self.uses.accesses[instruction].as_ref()?, until))
        };
        let others = others.filter_map(accesses);
        accesses(event).is_some_and(|(own, until)| own.is_covered_by(until, others))
    }

    /// Whether an instruction waits for what the compiler made it wait for.
    pub(super) fn waits_again(&self, at: usize) -> bool {
        self.uses.waits_again(at)
    }

    /// Whether somebody may need an event.
    pub(super) fn has_result(&self, event: usize) -> bool {
        let Event {
            instruction, until, ..
        } = self.events[event];
        let accesses = self.uses.accesses[instruction].as_ref();
        until == Until::Read || accesses.is_none_or(Accesses::writes_something)
    }

    /// Whether an event is a load that another block needs.
    pub(super) fn is_long_load(&self, event: usize) -> bool {
        self.kinds[event].is_load && self.needs[event].is_none()
    }
}

#[cfg(test)]
mod tests;
