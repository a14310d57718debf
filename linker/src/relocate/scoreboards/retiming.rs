//! How long instructions keep the next ones from starting, where some take longer or shorter
//! than their compiler knew.
//!
//! Each starts as early as it can. Where it was for the sake of a double that the compiler let one
//! wait, it is for the sake of others now; what had to wait for no reason that is known waits as long as
//! before. Time that does not fit into an instruction passes in idle ones behind it. In loops in a
//! pipeline no other warp goes first meanwhile.

use std::ops::{Range, RangeInclusive};

use super::apart::{
    LEADING, ends_threads, leads_elsewhere, meets, spacing, to_end, uses_slow_part,
};
use super::control::Control;
use super::flow::Flow;
use super::instruction::{
    BOARDS, Chip, INSTRUCTION, WARPSYNC, cycles, does_nothing, is_idle_load, is_pause, operation,
};
use super::registers::Accesses;
use super::slower::{Pauses, Slowed};
use super::stages::Stages;
use super::stalls::{TAKING, planned, set_stall};
use super::timing::{LONGEST_SLOW, Unit, forwarding, slow_part};
use super::turns::Turn;
use super::warps;

/// No product of matrices takes longer where doubles are fast, nor does anything else that others
/// wait for without a scoreboard.
const LONGEST_FAST: u32 = 32;

pub(super) struct Retiming<'c, A> {
    old: &'c Timed<'c>,
    new: &'c Timed<'c>,
    /// Where each instruction takes another time than before, its turn.
    turns: &'c [Option<Turn>],
    /// Whether the second of two instructions waits for the first one.
    awaits: A,
    /// What the next instruction waits for, in order, where that is known.
    awaited: Option<&'c [usize]>,
}

impl<'c, A: Fn(usize, usize) -> bool> Retiming<'c, A> {
    /// From code of the fastest processor to the same with other scoreboards.
    pub(super) fn new(
        old: &'c Timed<'c>,
        new: &'c Timed<'c>,
        turns: &'c [Option<Turn>],
        awaits: A,
        awaited: Option<&'c [usize]>,
    ) -> Self {
        Self {
            old,
            new,
            turns,
            awaits,
            awaited,
        }
    }

    pub(super) fn of_blocks(&self, flow: &Flow, stages: &Stages) -> Slowed {
        let count = self.old.code.len();
        let mut made = Slowed {
            code: Vec::new(),
            gone: Vec::new(),
            pauses: Vec::new(),
        };
        let mut code = self.new.code.to_vec();
        let mut first = 0;
        for last in (0..count).filter(|&at| flow.ends_block(at)) {
            let pausing = match stages.are_in(first..=last) {
                true => &STAYING,
                false => &LETTING_OTHERS,
            };
            let before_last = self.pauses_before(first, last, pausing);
            let is_gone = |at: &usize| {
                let is_pause =
                    |at: usize| pausing.is_one(&self.old.code[at - 1], &self.old.code[at]);
                *at > first && (before_last.contains(at) || is_pause(*at))
            };
            let (gone, mut members): (Vec<usize>, Vec<usize>) = (first..=last).partition(is_gone);
            members.retain(|&at| !is_idle_load(&self.old.code[at]));
            if !(gone.is_empty() && self.is_settled(&members)) {
                self.block(&members, last + 1, pausing, &mut code, &mut made.pauses);
            }
            made.gone.extend(gone);
            first = last + 1;
        }
        made.code = code.concat();
        made
    }

    /// Whether nothing in a block takes another time than before, nor waits for others at once.
    fn is_settled(&self, members: &[usize]) -> bool {
        let waits_as_before = |pair: &[usize]| {
            let (first, second) = (pair[0], pair[1]);
            self.old.is_awaited(first, second) == self.waits(first, second)
        };
        members.iter().all(|&at| !self.differs(at))
            && (self.awaited.is_none() || members.windows(2).all(waits_as_before))
    }

    /// Whether an instruction takes another time than before, or another part of the processor.
    fn differs(&self, at: usize) -> bool {
        self.turns[at].is_some() || self.new.units[at].differs(self.old.units[at])
    }

    /// Whether an instruction waits for the one right before it.
    fn waits(&self, first: usize, second: usize) -> bool {
        match self.awaited {
            Some(awaited) => awaited.binary_search(&first).is_ok(),
            None => self.old.is_awaited(first, second) || (self.awaits)(first, second),
        }
    }

    /// Lets the instructions of a block start as early as they can, and what comes behind its end.
    fn block(
        &self,
        members: &[usize],
        end: usize,
        pausing: &Pausing,
        code: &mut [[u8; INSTRUCTION]],
        pauses: &mut Vec<Pauses>,
    ) {
        let Some(&first) = members.first() else {
            return;
        };
        let leading = self.leading_late(members, pausing);
        let was = self.starts(members, first..=end, leading);
        let mut start = vec![0; was.len()];
        let mut slow = Vec::new();
        for number in 1..start.len() {
            if self.new.slow_part(members[number - 1]).is_some() {
                slow.push(number - 1);
            }
            start[number] = self.start(members, number, &was, &start[..number], &slow);
        }
        let stalls = |start: &[u32]| -> Vec<u32> {
            let pairs = start.windows(2);
            pairs.map(|pair| pair[1] - pair[0]).collect()
        };
        let (before, stalls) = (stalls(&was), stalls(&start));
        for (number, (&at, &stall)) in members.iter().zip(&stalls).enumerate() {
            if stall != before[number] {
                set_stall(&mut code[at], stall.min(pausing.most));
            }
            if stall > pausing.most {
                let place = match leading == Some(number) {
                    true => at,
                    false => {
                        self.end_of_time(at, members.get(number + 1).map_or(end, |&next| next))
                    }
                };
                pauses.push((place, pausing.filling(stall - pausing.most)));
            }
        }
        let timed = members
            .iter()
            .zip(&stalls)
            .map(|(&at, &stall)| warps::Timed {
                old: &self.old.code[at],
                is_open: slow_part(&self.old.code[at], self.new.chip).is_some(),
                is_paused: pausing.lets_others && stall > pausing.most,
            });
        let timed: Vec<warps::Timed<'_>> = timed.collect();
        if stalls == before && !timed.iter().any(|timed| timed.is_open) {
            return;
        }
        let mut own: Vec<[u8; INSTRUCTION]> = members.iter().map(|&at| code[at]).collect();
        warps::mark(&mut own, &timed, pausing.lets_others);
        for (&at, instruction) in members.iter().zip(own) {
            code[at] = instruction;
        }
    }

    /// In which cycle of a block its members started, and in which it ended; `leading` is the last one if what passes
    /// the time behind it stands before it.
    fn starts(
        &self,
        members: &[usize],
        block: RangeInclusive<usize>,
        leading: Option<usize>,
    ) -> Vec<u32> {
        let (first, end) = (*block.start(), *block.end());
        let was: Vec<u32> = block
            .scan(0, |next, at| {
                let start = *next;
                *next += match self.old.code.get(at) {
                    // They are a part of the memory barrier behind them.
                    Some(instruction) if is_idle_load(instruction) => 0,
                    Some(instruction) => cycles(instruction),
                    None => 0,
                };
                Some(start)
            })
            .collect();
        let places = members.iter().chain([&end]).enumerate();
        let starts = places.map(|(number, at)| match leading {
            Some(last) if number == last => was[members[number - 1] + 1 - first],
            _ => was[at - first],
        });
        starts.collect()
    }

    /// Where time passes for an instruction before the next one: idle loads belong to that.
    fn end_of_time(&self, at: usize, next: usize) -> usize {
        let idle = self.old.code[at + 1..next].iter().rev();
        next - idle.take_while(|i| is_idle_load(i)).count()
    }

    /// The number of the last member of a block, if it leads elsewhere and what passes the time that it cannot
    /// take stands before it (cases `doubles_slower`, `products_slower`).
    fn leading_late(&self, members: &[usize], pausing: &Pausing) -> Option<usize> {
        let &[.., before, last] = members else {
            return None;
        };
        let old = self.old.code;
        let is_late = leads_elsewhere(&old[last])
            && before + 1 < last
            && planned(&old[before]) < pausing.most
            && (!pausing.lets_others || planned(&old[last]) == pausing.most);
        is_late.then_some(members.len() - 1)
    }

    /// What passes time right before the last instruction of a block, which takes as long as it can and leads elsewhere.
    fn pauses_before(&self, first: usize, last: usize, pausing: &Pausing) -> Range<usize> {
        let old = self.old.code;
        if !(pausing.lets_others
            && leads_elsewhere(&old[last])
            && planned(&old[last]) == pausing.most)
        {
            return last..last;
        }
        let is_pause = |at: &usize| does_nothing(&old[*at]);
        let count = (first + 1..last).rev().take_while(is_pause).count();
        last - count..last
    }

    /// The cycle in which a member of a block starts, or in which it ends, behind others, of which
    /// `slow` are those that keep a part of the processor busy for long.
    fn start(
        &self,
        members: &[usize],
        number: usize,
        was: &[u32],
        start: &[u32],
        slow: &[usize],
    ) -> u32 {
        let old = self.old.code;
        let (before, at) = (members[number - 1], members.get(number).copied());
        let last_at = members[members.len() - 1];
        let last = &old[last_at];
        let planned = was[number] - was[number - 1];
        let is_end = match at {
            Some(_) => number + 1 == members.len() && meets(last),
            None => !meets(last) && !ends_threads(last),
        };
        let shortest = |waits: bool| match leads_elsewhere(&old[before]) {
            true => LEADING.min(planned),
            false if waits => u32::from(TAKING),
            false => 1,
        };
        let waited_at_once = at.is_some_and(|at| self.old.is_awaited(before, at));
        let waits_now = match at {
            Some(at) => self.waits(before, at),
            None => Control::of(&self.new.code[before]).takes() != 0,
        };
        // Not all is known of what the compiler let doubles take.
        let mut is_bound =
            planned <= shortest(waited_at_once) || self.new.slow_part(before).is_some();
        let waits_anew = at.is_some() && self.awaited.is_some() && waits_now && !waited_at_once;
        let least = match self.turns[before].is_some() || waits_anew {
            true => shortest(waits_now),
            false => shortest(waits_now).min(planned),
        };
        let mut earliest = start[number - 1] + least;
        let is_slow = at.is_some_and(|at| self.new.slow_part(at).is_some());
        let passed = |earlier: usize| was[number] - was[earlier];
        let passes = |earlier: usize| start[number - 1] - start[earlier];
        // From further back only what is slow keeps others, and only those that are slow as well.
        let near = (0..number).rev();
        let near = near.take_while(|&earlier| passes(earlier).min(passed(earlier)) < LONGEST_FAST);
        let uses_part = at.is_some_and(|at| self.new.uses_slow_part(at));
        let slow = slow.iter().copied().rev().filter(|_| uses_part);
        let slow = slow.take_while(|&earlier| passes(earlier) < LONGEST_SLOW);
        for earlier in near.chain(slow) {
            let (from, passed) = (members[earlier], passed(earlier));
            let need = |timed: &Timed<'_>| {
                let to_end = match is_end {
                    true => timed.to_end(from),
                    false => 0,
                };
                at.map_or(0, |at| timed.distance(from, at)).max(to_end)
            };
            let old_need = need(self.old);
            let new_need = match self.differs(from) || at.is_some_and(|at| self.differs(at)) {
                true => need(self.new),
                false => old_need,
            };
            is_bound |= old_need >= passed;
            // Where the compiler kept less distance, it had its reasons.
            let least = match self.turns[from].is_some() || is_slow {
                true => new_need,
                false => new_need.min(passed),
            };
            earliest = earliest.max(start[earlier] + least);
        }
        match is_bound {
            true => earliest,
            false => earliest.max(start[number - 1] + planned),
        }
    }
}

/// What the distances of instructions depend on.
pub(super) struct Timed<'c> {
    code: &'c [[u8; INSTRUCTION]],
    units: Vec<Unit>,
    accesses: &'c [Option<Accesses>],
    chip: Chip,
}

impl<'c> Timed<'c> {
    pub(super) fn new(
        code: &'c [[u8; INSTRUCTION]],
        accesses: &'c [Option<Accesses>],
        chip: Chip,
    ) -> Self {
        Self {
            code,
            units: code.iter().map(|i| Unit::of(i, chip)).collect(),
            accesses,
            chip,
        }
    }

    /// Whether the second of two instructions waits for a scoreboard that the first one takes.
    fn is_awaited(&self, first: usize, second: usize) -> bool {
        Control::of(&self.code[first]).is_awaited_by(Control::of(&self.code[second]))
    }

    fn slow_part(&self, at: usize) -> Option<u32> {
        slow_part(&self.code[at], self.chip)
    }

    fn uses_slow_part(&self, at: usize) -> bool {
        uses_slow_part(&self.code[at], self.units[at], self.chip)
    }

    /// Whether what an instruction makes is waited for by scoreboards alone, be it that of another
    /// one that comes to its end later.
    fn takes(&self, at: usize) -> bool {
        Control::of(&self.code[at]).write() < BOARDS
            || self.slow_part(at).is_some()
            || self.units[at].is_function()
    }

    /// Cycles that one instruction keeps from an earlier one.
    fn distance(&self, first: usize, second: usize) -> u32 {
        let (from, to) = (self.units[first], self.units[second]);
        let (earlier, later) = (&self.code[first], &self.code[second]);
        let spacing = spacing((earlier, from), (later, to), self.chip);
        // Where a warp meets in the middle of a block, products have to be there.
        let meets = from == Unit::Matrix && operation(later) == WARPSYNC;
        let meeting = if meets { self.to_end(first) } else { 0 };
        let spacing = spacing.max(meeting);
        let used = match (&self.accesses[first], &self.accesses[second]) {
            (Some(maker), Some(user)) if !self.takes(first) => {
                forwarding((from, maker), (to, user), self.chip)
            }
            _ => None,
        };
        spacing.max(used.unwrap_or(0))
    }

    /// Cycles that the end of its block keeps from an instruction, or where threads meet.
    fn to_end(&self, at: usize) -> u32 {
        let accesses = self.accesses[at].as_ref().filter(|_| !self.takes(at));
        to_end(&self.code[at], self.units[at], accesses, self.chip)
    }
}

/// How time passes in a block that does not fit into its instructions.
struct Pausing {
    idle: [u8; INSTRUCTION],
    /// So many cycles fit into an instruction.
    most: u32,
    /// Whether another warp may go first meanwhile.
    lets_others: bool,
}

/// By `NOP`.
const LETTING_OTHERS: Pausing = Pausing {
    idle: [0x18, 0x79, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xc0, 0x0f, 0],
    most: Control::LONGEST_STALL as u32,
    lets_others: true,
};
/// By `@!UPT UIADD3 URZ, UPT, UPT, URZ, URZ, URZ`, in loops in a pipeline. Anything that takes longer
/// would let others go first.
const STAYING: Pausing = Pausing {
    idle: [
        0x90, 0xf2, 0xff, 0xff, 0xff, 0, 0, 0, 0xff, 0xe0, 0xff, 0x0f, 0, 0xc0, 0x0f, 0,
    ],
    most: 11,
    lets_others: false,
};

/// What lets so many cycles pass where other warps may go first.
pub(super) fn filling(cycles: u32) -> Vec<[u8; INSTRUCTION]> {
    LETTING_OTHERS.filling(cycles)
}

impl Pausing {
    /// Whether an instruction is there for no other reason than that.
    fn is_one(&self, before: &[u8; INSTRUCTION], instruction: &[u8; INSTRUCTION]) -> bool {
        const OPERANDS: usize = 12;
        match self.lets_others {
            true => is_pause(before, instruction),
            false => instruction[..OPERANDS] == self.idle[..OPERANDS],
        }
    }

    /// What lets so many cycles pass.
    fn filling(&self, cycles: u32) -> Vec<[u8; INSTRUCTION]> {
        let stalls = (0..cycles)
            .step_by(self.most as usize)
            .map(|passed| (cycles - passed).min(self.most));
        let pauses = stalls.map(|stall| {
            let mut pause = self.idle;
            Control::set_stall(&mut pause, stall as u8);
            if self.lets_others {
                Control::keep_ready(&mut pause);
            }
            pause
        });
        pauses.collect()
    }
}
