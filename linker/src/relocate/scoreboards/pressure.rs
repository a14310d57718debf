//! Which scoreboard the compiler takes, and who shares where all are held.
//!
//! The compiler goes through each block of code with a clock, in which an
//! instruction that waits for a result starts when that is there. What finds no
//! scoreboard free shares one where the least time is lost: where its own wait
//! comes earlier for a wait of those that hold it, or where its own wait comes
//! to last until theirs are over. Loads whose results other blocks need have
//! the last scoreboard for themselves.

use std::cell::RefCell;

use rustc_hash::FxHashMap;

use crate::bits::Bits;

use super::flow::{Flow, Held};
use super::instruction::{
    BOARDS, Chip, INSTRUCTION, LDGDEPBAR, NO_BOARD, cycles, leads_on, loads_memory,
    loads_shared_memory, multiplies_matrices, operation, releases, waits_for_all,
};
use super::registers::Accesses;
use super::timing::{Unit, forwarding, latency};
use super::{Event, FIRST_FOR_MEMORY, LAST};

/// After so many an instruction keeps no other one waiting.
const MOST_CYCLES: u32 = 30;

/// Cycles of a block, and where in it each event is needed.
pub(super) struct Schedule<'e> {
    events: &'e [Event],
    /// What each instruction does with registers, if that is known.
    accesses: Vec<Option<Accesses>>,
    /// One bit for each scoreboard that an instruction waits for.
    releases: Vec<u8>,
    /// Whether each instruction waits for all scoreboards.
    waits_for_all: Vec<bool>,
    /// Whether each instruction decides where control goes on.
    leads_on: Vec<bool>,
    /// First instruction of each instruction's block.
    block: Vec<usize>,
    chip: Chip,
    /// What each instruction runs on.
    units: Vec<Unit>,
    /// How many cycles each event takes.
    latency: Vec<u32>,
    /// Cycle in which each instruction would start if nothing were waited for.
    plain: Vec<u32>,
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
    /// Whether each event is a load from memory.
    is_load: Vec<bool>,
    /// Whether each event is a result from shared memory.
    is_shared_load: Vec<bool>,
    /// Whether nobody knows when each event is over.
    is_open: Vec<bool>,
    /// Whether blocks multiply matrices, by their first instruction.
    multiplies_matrices: Vec<bool>,
    /// Whether a load that another block needs is under way in the block.
    keeps_last: Vec<bool>,
    /// By block, who is held where the next ones start.
    ahead: FxHashMap<usize, Bits>,
}

impl<'e> Schedule<'e> {
    pub(super) fn new(code: &[u8], events: &'e [Event], flow: &Flow, chip: Chip) -> Self {
        let instructions: Vec<&[u8]> = code.chunks_exact(INSTRUCTION).collect();
        let count = instructions.len();
        let mut block = Vec::with_capacity(count);
        for at in 0..count {
            let is_start = at == 0 || flow.ends_block(at - 1);
            block.push(if is_start { at } else { block[at - 1] });
        }
        let loads = |event: &Event| event.is_write && loads_memory(instructions[event.instruction]);
        let loads_shared =
            |event: &Event| event.is_write && loads_shared_memory(instructions[event.instruction]);
        let is_open =
            |event: &Event| loads(event) || operation(instructions[event.instruction]) == LDGDEPBAR;
        let accesses: Vec<_> = instructions.iter().map(|i| Accesses::of(i)).collect();
        let latency = events.iter().map(|event| {
            let at = event.instruction;
            latency(
                instructions[at],
                accesses[at].as_ref(),
                event.is_write,
                chip,
            )
        });
        let mut plain: Vec<u32> = Vec::with_capacity(count);
        for at in 0..count {
            plain.push(match at {
                0 => 0,
                _ => plain[at - 1] + cycles(instructions[at - 1]),
            });
        }
        let mut schedule = Self {
            events,
            latency: latency.collect(),
            units: instructions.iter().map(|i| Unit::of(i, chip)).collect(),
            chip,
            plain,
            accesses,
            releases: instructions.iter().map(|i| releases(i)).collect(),
            waits_for_all: instructions.iter().map(|i| waits_for_all(i)).collect(),
            leads_on: instructions.iter().map(|i| leads_on(i)).collect(),
            block,
            start: vec![0; count],
            end: vec![0; events.len()],
            needs: vec![None; events.len()],
            carried: RefCell::default(),
            is_load: events.iter().map(loads).collect(),
            is_shared_load: events.iter().map(loads_shared).collect(),
            is_open: events.iter().map(is_open).collect(),
            multiplies_matrices: vec![false; count],
            keeps_last: vec![false; count],
            ahead: FxHashMap::default(),
        };
        for (instruction, &block) in instructions.iter().zip(&schedule.block) {
            schedule.multiplies_matrices[block] |= multiplies_matrices(instruction);
        }
        schedule.find_needs();
        schedule.find_what_crosses_blocks(flow);
        schedule.count_cycles();
        schedule
    }

    /// What each instruction does with registers, if that is known.
    pub(super) fn accesses(&self) -> &[Option<Accesses>] {
        &self.accesses
    }

    fn find_needs(&mut self) {
        for event in 0..self.events.len() {
            let at = self.events[event].instruction;
            self.needs[event] = self.first_need(event, at + 1, self.block[at]);
        }
    }

    /// The first instruction of a block, from one on, that needs an event.
    fn first_need(&self, event: usize, from: usize, block: usize) -> Option<usize> {
        let mut rest = (from..self.block.len()).take_while(|&at| self.block[at] == block);
        rest.find(|&at| self.is_needed(event, at))
    }

    /// Whether an instruction that may come after an event can not start
    /// before that is over.
    pub(super) fn is_needed(&self, event: usize, at: usize) -> bool {
        let Event {
            instruction,
            is_write,
            board,
        } = self.events[event];
        let (Some(first), Some(second)) = (&self.accesses[instruction], &self.accesses[at]) else {
            return self.releases[at] >> board & 1 == 1 && !self.leads_on[at];
        };
        let is_later = self.block[instruction] == self.block[at] && instruction < at;
        if is_later && first.excludes(second) {
            let mut between = self.accesses[instruction..at].iter().flatten();
            if !between.any(|other| first.is_decided_anew_by(other)) {
                return false;
            }
        }
        match is_write {
            true => {
                first.is_used_by(second)
                    || first.is_in_order_before(second)
                    || first.is_barrier_for(second)
            }
            false if first.is_barrier_for(second) => true,
            false => {
                first.is_overwritten_by(second) && !(is_later && first.is_queued_before(second))
            }
        }
    }

    fn find_what_crosses_blocks(&mut self, flow: &Flow) {
        let mut blocks = Vec::new();
        flow.walk(self.events, |at, before, mut own| {
            let crosses = |event: usize| self.is_long_load(event);
            let is_start = self.block[at] == at;
            if own.any(crosses) || is_start && before.all().any(crosses) {
                blocks.push(self.block[at]);
            }
            if flow.ends_block(at) {
                let mut ahead = Bits::default();
                flow.ahead(at).for_each(|event| ahead.insert(event));
                self.ahead.insert(self.block[at], ahead);
            }
            Some(())
        });
        for (keeps, block) in self.keeps_last.iter_mut().zip(&self.block) {
            *keeps = blocks.binary_search(block).is_ok();
        }
    }

    fn count_cycles(&mut self) {
        let mut delays = vec![0; self.block.len()];
        let mut due = vec![0; self.block.len()];
        let mut events = (0..).zip(self.events).peekable();
        for at in 0..self.block.len() {
            let plain = self.plain[at];
            // Nothing gains on what an earlier block was late for.
            let first = self.block[at];
            let base = match first == at && at > 0 {
                true => delays[at - 1],
                false => delays[first],
            };
            let start = (plain + self.delay(at, &delays).max(base)).max(due[at]);
            self.start[at] = start;
            delays[at] = start - plain;
            while let Some((event, _)) = events.next_if(|(_, event)| event.instruction == at) {
                self.end[event] = start + self.latency[event];
                if let Some(need) = self.needs[event] {
                    due[need] = due[need].max(self.end[event]);
                }
            }
        }
    }

    /// By how much an instruction is late because earlier ones were. The cycles
    /// between two are for those who run on the same part of the processor or use
    /// what was made, so what was late for another reason gains on the others.
    fn delay(&self, at: usize, delays: &[u32]) -> u32 {
        let passed = |from: usize| self.plain[at] - self.plain[from];
        let earlier = (self.block[at]..at).rev();
        let recent = earlier.take_while(|&from| passed(from) <= MOST_CYCLES);
        let inherited = recent.map(|from| {
            let spacing = self.units[from].spacing(self.units[at], self.chip);
            let accesses = self.accesses[from].as_ref().zip(self.accesses[at].as_ref());
            let used = accesses.and_then(|(maker, user)| {
                forwarding((self.units[from], maker), (self.units[at], user))
            });
            let least = used.unwrap_or(0).max(spacing).min(passed(from));
            (delays[from] + least).saturating_sub(passed(from))
        });
        inherited.max().unwrap_or(0)
    }

    /// Whether an event is of the same block as an instruction, and before it.
    fn is_here(&self, event: usize, at: usize) -> bool {
        (self.block[at]..=at).contains(&self.events[event].instruction)
    }

    /// Where in the block of an instruction an event ends that is held there.
    fn due(&self, event: usize, at: usize) -> Option<usize> {
        match self.is_here(event, at) {
            true => self.needs[event],
            false => {
                let block = self.block[at];
                let mut carried = self.carried.borrow_mut();
                let first = carried.entry((block, event));
                *first.or_insert_with(|| self.first_need(event, block, block))
            }
        }
    }

    /// One bit for each scoreboard of which an instruction needs a holder.
    pub(super) fn needed(&self, at: usize, before: &Held) -> u8 {
        before.boards_of(|event| self.due(event, at) == Some(at))
    }

    /// One bit for each scoreboard that uniform registers hold: those that are read late,
    /// and results.
    pub(super) fn uniform(&self, held: &Held) -> u8 {
        held.boards_of(|event| self.is_uniform_result(event) || self.reads_uniform_late(event))
    }

    /// One bit for each scoreboard that is held until uniform registers are read.
    pub(super) fn late_uniform(&self, held: &Held) -> u8 {
        held.boards_of(|event| self.reads_uniform_late(event))
    }

    fn is_uniform_result(&self, event: usize) -> bool {
        let event = &self.events[event];
        let accesses = self.accesses[event.instruction].as_ref();
        event.is_write && accesses.is_some_and(Accesses::writes_uniform_registers)
    }

    fn reads_uniform_late(&self, event: usize) -> bool {
        let event = &self.events[event];
        let accesses = self.accesses[event.instruction].as_ref();
        !event.is_write && accesses.is_some_and(Accesses::reads_uniform_late)
    }

    /// One bit for each scoreboard that is free where an instruction takes its
    /// own. What the last one of a block waits for without need is for the
    /// next block.
    pub(super) fn frees(&self, at: usize, before: &Held, ends_block: bool) -> u8 {
        match ends_block && !self.waits_for_all[at] {
            true => self.releases[at] & self.needed(at, before),
            false => self.releases[at],
        }
    }

    /// Whether another block needs what an event that is no load does.
    pub(super) fn crosses(&self, event: usize) -> bool {
        self.needs[event].is_none() && !self.is_load[event]
    }

    /// The last instruction of the block of an event.
    pub(super) fn block_end(&self, event: usize) -> usize {
        let block = self.block[self.events[event].instruction];
        self.block.partition_point(|&start| start <= block) - 1
    }

    /// Whether events hold a scoreboard that are over at the end of a block, one of
    /// them being its own. That of a load is never known.
    pub(super) fn are_over(&self, held: &Held, board: u8, at: usize) -> bool {
        let is_over = |event: usize| {
            let is_early = !self.is_here(event, at) || self.end[event] <= self.start[at];
            !self.is_open[event] && is_early
        };
        if self.multiplies_matrices[self.block[at]] {
            return false;
        }
        held.events(board).any(|event| self.is_here(event, at)) && held.events(board).all(is_over)
    }

    /// Whether a load that another block needs may be under way in the block of an
    /// event.
    pub(super) fn keeps_last(&self, event: usize) -> bool {
        self.keeps_last[self.events[event].instruction]
    }

    /// Whether an event is a result from shared memory in a block that multiplies
    /// matrices.
    fn feeds_matrices(&self, event: usize) -> bool {
        let block = self.block[self.events[event].instruction];
        self.is_shared_load[event] && self.multiplies_matrices[block]
    }

    /// Whether somebody may need an event.
    pub(super) fn has_result(&self, event: usize) -> bool {
        let Event {
            instruction,
            is_write,
            ..
        } = self.events[event];
        let accesses = self.accesses[instruction].as_ref();
        !is_write || accesses.is_none_or(Accesses::writes_something)
    }

    /// Whether an event is a load that another block needs.
    pub(super) fn is_long_load(&self, event: usize) -> bool {
        self.is_load[event] && self.needs[event].is_none()
    }

    /// Who is held where the blocks behind that of an event start, and so not
    /// to be joined by an event that they need.
    pub(super) fn conflicts(&self, event: usize) -> impl Iterator<Item = usize> + '_ {
        let ahead = self.ahead.get(&self.block[self.events[event].instruction]);
        let ahead = ahead.filter(|_| self.crosses(event));
        ahead.into_iter().flat_map(Bits::iter)
    }
}

/// Who holds each scoreboard at some place of a block.
#[derive(Debug, Clone, Default)]
pub(super) struct Holders([Vec<usize>; BOARDS as usize]);

impl Holders {
    /// Events and what they have taken.
    pub(super) fn of(taken: impl Iterator<Item = (usize, u8)>) -> Self {
        let mut holders = Self::default();
        taken.for_each(|(event, board)| holders.take(board, event));
        holders
    }

    pub(super) fn take(&mut self, board: u8, event: usize) {
        if board != NO_BOARD {
            self.0[usize::from(board)].push(event);
        }
    }

    /// An instruction waits for what it needs, and so for all who share; and
    /// for those whose compiler's scoreboard it frees although it needs nobody
    /// there.
    pub(super) fn release(&mut self, at: usize, frees: u8, before: &Held, schedule: &Schedule<'_>) {
        let is_due = |event: &usize| schedule.due(*event, at) == Some(at);
        let plain = frees & !schedule.needed(at, before);
        for events in &mut self.0 {
            if events.iter().any(is_due) {
                events.clear();
            }
            events.retain(|&event| plain >> schedule.events[event].board & 1 == 0);
        }
    }

    /// What the compiler takes for an event, but for scoreboards in a mask.
    pub(super) fn choose(
        &self,
        event: usize,
        named: u8,
        conflicts: u8,
        keeps_last: bool,
        schedule: &Schedule<'_>,
    ) -> Option<u8> {
        let Event {
            instruction: at,
            is_write,
            ..
        } = schedule.events[event];
        let need = schedule.needs[event];
        let is_load = schedule.is_load[event];
        let last = 1 << LAST;
        let keeps_last = match need {
            Some(_) => keeps_last,
            None => schedule.is_load.contains(&true),
        };
        let reserved = if keeps_last { named | last } else { named };
        let denied = match (is_load, need) {
            (true, None) => named | !last,
            (true, Some(_)) => reserved | ((1 << FIRST_FOR_MEMORY) - 1),
            (false, _) => reserved,
        };
        let boards = |denied: u8| (0..BOARDS).filter(move |board| denied >> board & 1 == 0);
        let holders = |board: u8| &self.0[usize::from(board)];
        let joined = match need {
            Some(_) => boards(reserved).find(|&board| {
                let due = |&holder: &usize| schedule.due(holder, at);
                let holders = holders(board);
                holders.iter().filter_map(due).min() == need
            }),
            None if is_write && !schedule.feeds_matrices(event) => None,
            None => boards(reserved).find(|&board| {
                let is_alike = |&holder: &usize| {
                    schedule.events[holder].is_write == is_write
                        && (!is_write || schedule.feeds_matrices(holder))
                        && schedule.is_here(holder, at)
                        && schedule.needs[holder].is_none()
                };
                !holders(board).is_empty() && holders(board).iter().all(is_alike)
            }),
        };
        let is_free = |board: &u8| holders(*board).is_empty();
        joined
            .or_else(|| boards(denied | conflicts).find(is_free))
            .or_else(|| boards(denied).find(is_free))
            .or_else(|| {
                let cost = |&board: &u8| self.cost(event, board, schedule);
                boards(denied).min_by_key(cost)
            })
    }

    /// Cycles lost if an event shares a scoreboard, and the cycle in which its
    /// holders are over.
    fn cost(&self, event: usize, board: u8, schedule: &Schedule<'_>) -> (u32, u32) {
        let holders = &self.0[usize::from(board)];
        let at = schedule.events[event].instruction;
        let due = holders
            .iter()
            .filter_map(|&holder| schedule.due(holder, at));
        let due = due.min();
        let end_of = |&holder: &usize| schedule.end[holder];
        // What earlier blocks left is over at the start of this one.
        let start = schedule.start[schedule.block[at]];
        let over = holders.iter().map(end_of).max().unwrap_or(0).max(start);
        let here = holders.iter();
        let here = here.filter(|&&holder| schedule.is_here(holder, at));
        let here = here.map(end_of).max().unwrap_or(0);
        let end = schedule.end[event];
        let delay = |due: usize| (end.saturating_sub(schedule.start[due]), 0);
        match (schedule.needs[event], due) {
            (Some(need), Some(due)) if due < need => (
                schedule.start[need] - schedule.start[due],
                schedule.start[need],
            ),
            (Some(_), _) => (here.saturating_sub(end), over),
            (None, Some(due)) => delay(due),
            (None, None) => (0, 0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{EXIT, LDC, controls, instruction, sum, without_stack_pointer};
    use super::*;

    /// Seven results, which are used in an order.
    fn code(boards: [u8; 7], uses: [(u8, u8); 7]) -> Vec<u8> {
        let register = |index| 12 + 2 * index;
        let mut code = instruction(LDC, 1, 0, 0).to_vec();
        for (index, board) in (0..).zip(boards) {
            code.extend(instruction(LDC, register(index), board, 0));
        }
        for (index, waits) in uses {
            code.extend(sum(41, register(index), waits));
        }
        code.extend(instruction(EXIT, 0, NO_BOARD, 0));
        code
    }

    /// The scoreboards of the results and what their uses wait for.
    fn changed(boards: [u8; 7], uses: [(u8, u8); 7]) -> (Vec<u8>, Vec<u8>) {
        let controls = controls(&without_stack_pointer(&code(boards, uses), &[]).unwrap());
        let boards = controls[1..8].iter().map(|&(write, _)| write);
        let waits = controls[8..15].iter().map(|&(_, waits)| waits);
        (boards.collect(), waits.collect())
    }

    #[test]
    fn results_share_with_what_is_waited_for_just_before_them() {
        // The last two have shared with the stack pointer, which nobody needs.
        let (boards, waits) = changed(
            [1, 2, 3, 4, 5, 0, 0],
            [(0, 2), (1, 4), (2, 8), (3, 16), (4, 32), (5, 1), (6, 0)],
        );
        assert_eq!(boards, [0, 1, 2, 3, 4, 5, 5]);
        assert_eq!(waits, [1, 2, 4, 8, 16, 32, 0]);
    }
}
