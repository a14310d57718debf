//! In which cycles the instructions of changed code start.

use std::ops::Range;

use super::super::apart::{
    BEHIND_BARRIER, LEADING, ends_threads, leads_elsewhere, meets, spacing, to_end, uses_slow_part,
};
use super::super::bit;
use super::super::control::Control;
use super::super::instruction::{
    ERROR_BARRIER, INSTRUCTION, MEMORY_BARRIER, NOP, RETURN, SLEEP, WARPSYNC, cycles, is_idle_load,
    operation,
};
use super::super::timing::{LONGEST_SLOW, forwarding, slow_part};
use super::super::understood::Understood;
use super::{LONGEST_DISTANCE, TAKING, planned};

/// CS2R, and RPCMOV where that saves a register for it.
const READS_ENVIRONMENT: [u16; 2] = [0x005, 0x152];
/// Cycles from where threads of a warp meet to where they meet again, sleep or return.
const MEETING_TO_NEXT: u32 = 8;

/// The code as it was and as it is, and what is known of both.
pub(super) struct Change<'c> {
    old: Old<'c>,
    new: &'c [[u8; INSTRUCTION]],
    /// Which instruction of the old code stands at each place of the new one.
    origins: &'c [Option<usize>],
    /// How many idle loads come before each instruction.
    idle: Vec<u32>,
    /// What is new behind barriers of memory, and waits for all.
    waits: Vec<bool>,
    understood: &'c Understood,
}

/// An instruction that the one before keeps from starting at once.
#[derive(Clone, Copy)]
struct Step {
    at: usize,
    /// Cycles that it needs from the one before in any case.
    least: u32,
    /// Cycles that the compiler gave it, or that it needs for what it newly is.
    stall: u32,
    /// It reads registers of the environment, is new, and comes as soon as it can.
    is_new: bool,
}

impl<'c> Change<'c> {
    pub(super) fn new(
        old: &'c [[u8; INSTRUCTION]],
        new: &'c [[u8; INSTRUCTION]],
        origins: &'c [Option<usize>],
        understood: &'c Understood,
    ) -> Self {
        // What is new behind barriers of memory waits for all, and comes as soon as it can. There idle loads are a part of
        // the barrier behind them, and take no time.
        let is_wait = |at: usize| {
            let pair = [at - 1, at].map(|at| operation(&new[at]));
            origins[at].is_none() && pair == [MEMORY_BARRIER, NOP]
        };
        let waits: Vec<bool> = (0..new.len()).map(|at| at > 0 && is_wait(at)).collect();
        let any_waits = waits.contains(&true);
        let idle = |code: &[[u8; INSTRUCTION]]| match any_waits {
            true => idle_loads(code),
            false => vec![0; code.len()],
        };
        Self {
            old: Old::new(old, idle(old)),
            new,
            origins,
            idle: idle(new),
            waits,
            understood,
        }
    }

    /// The stalls that are others than before.
    pub(super) fn stalls(&self) -> Vec<(usize, u32)> {
        // In which cycle of its block each instruction starts.
        let mut start = vec![0; self.new.len()];
        let mut changed = Vec::new();
        let mut block = 0;
        // Whether the instructions of the block so far stand as they stood.
        let mut is_as_before = true;
        for at in 1..self.new.len() {
            let before = at - 1;
            if self.understood.flow.ends_block(before) {
                if !is_as_before {
                    let stall = self.end(block..at, &start) - start[before];
                    if stall != planned(&self.new[before]) {
                        changed.push((before, stall));
                    }
                }
                block = at;
                is_as_before = true;
                continue;
            }
            if self.reports_errors(at) {
                start[at] = start[before] + cycles(&self.new[before]);
                is_as_before = false;
                continue;
            }
            let step = self.step(at);
            is_as_before &= self.follows_as_before(at);
            // None of those before it is nearer than it was, and nothing lets it start sooner.
            let before_planned = planned(&self.new[before]);
            if is_as_before && step.stall == before_planned && step.stall >= step.least {
                start[at] = start[before] + step.stall;
                continue;
            }
            start[at] = self.start(block, step, &start);
            let stall = start[at] - start[before];
            if stall != before_planned {
                changed.push((before, stall));
                is_as_before = false;
            }
        }
        changed
    }

    /// Whether an instruction or the one before reports errors: that is new, and takes what it takes.
    fn reports_errors(&self, at: usize) -> bool {
        let reports = |at: usize| operation(&self.new[at]) == ERROR_BARRIER;
        self.origins[at - 1].is_none() && (reports(at - 1) || reports(at))
    }

    /// Whether an instruction and the one before stood so in the old code, as far from each other.
    fn follows_as_before(&self, at: usize) -> bool {
        match (self.origins[at - 1], self.origins[at]) {
            (Some(first), Some(second)) => {
                let was = planned(&self.old.code[first]);
                second == first + 1 && planned(&self.new[at - 1]) == was
            }
            _ => false,
        }
    }

    fn step(&self, at: usize) -> Step {
        let before = &self.new[at - 1];
        let is_awaited = Control::of(before).is_awaited_by(Control::of(&self.new[at]));
        let least = if is_awaited { u32::from(TAKING) } else { 1 };
        let is_new =
            self.origins[at].is_none() && READS_ENVIRONMENT.contains(&operation(&self.new[at]));
        let stall = match (self.origins[at - 1], self.origins[at]) {
            (Some(first), Some(second)) if self.old.waits_at_once(first, second) => least,
            (Some(_), None) if is_new && operation(before) != WARPSYNC => least,
            (Some(_), None) if self.waits[at] => planned(before).min(BEHIND_BARRIER),
            _ => planned(before),
        };
        Step {
            at,
            least,
            stall,
            is_new,
        }
    }

    /// In which cycle of its block an instruction starts, if those before it start in these.
    fn start(&self, block: usize, step: Step, start: &[u32]) -> u32 {
        let (at, before) = (step.at, step.at - 1);
        let mut earliest = start[before] + step.least;
        let mut is_bound = false;
        // From further back only what is slow keeps others, on the part that it works on.
        let chip = self.understood.chip;
        let reach = match uses_slow_part(&self.new[at], self.understood.units[at], chip) {
            true => LONGEST_SLOW,
            false => LONGEST_DISTANCE,
        };
        // A report without a memory barrier before it waits for its predicate (case `scoreboards_distance`).
        let is_report = self.origins[at].is_none() && operation(&self.new[at]) == ERROR_BARRIER;
        for earlier in (block..at).rev() {
            let passed = start[before] - start[earlier];
            if passed >= reach {
                break;
            }
            if passed >= LONGEST_DISTANCE && slow_part(&self.new[earlier], chip).is_none() {
                continue;
            }
            let was = match (self.origins[earlier], self.origins[at]) {
                (Some(first), Some(second)) => Some(self.old.distance(first, second)),
                (Some(_), None) if step.is_new || is_report => None,
                _ => continue,
            };
            // What takes a scoreboard is waited for by that.
            let control = Control::of(&self.new[earlier]);
            let is_awaited = match was {
                Some(_) => bit(control.write()) != 0,
                None => control.takes() != 0,
            };
            let least = match is_awaited {
                true => self.apart(earlier, at),
                false => self.distance(earlier, at),
            };
            let least_of_both = least.min(was.unwrap_or(least));
            let idle = self.idle[at] - self.idle[earlier];
            earliest = earliest.max(start[earlier] + least_of_both + idle);
            is_bound |= was == Some(least);
        }
        match is_bound {
            true => earliest,
            false => earliest.max(start[before] + step.stall),
        }
    }

    /// In which cycle a block ends.
    fn end(&self, block: Range<usize>, start: &[u32]) -> u32 {
        let last = block.end - 1;
        let instruction = &self.new[last];
        let planned_end = start[last] + planned(instruction);
        let end = self.origins[last].filter(|_| !meets(instruction) && !ends_threads(instruction));
        let Some(end) = end else {
            return planned_end;
        };
        let least = if leads_elsewhere(instruction) {
            LEADING
        } else {
            1
        };
        let mut earliest = planned_end.min(start[last] + least);
        let mut is_bound = false;
        for earlier in block.rev() {
            if start[last] - start[earlier] >= LONGEST_DISTANCE {
                break;
            }
            let Some(first) = self.origins[earlier] else {
                continue;
            };
            let was = self.old.distance(first, end) + planned(&self.old.code[end]);
            let maker = &self.new[earlier];
            let is_awaited = bit(Control::of(maker).write()) != 0;
            let accesses = self.understood.uses.accesses[earlier].as_ref();
            let accesses = accesses.filter(|_| !is_awaited);
            let unit = self.understood.units[earlier];
            let least = to_end(maker, unit, accesses, self.understood.chip);
            earliest = earliest.max(start[earlier] + least.min(was));
            is_bound |= least >= was;
        }
        match is_bound {
            true => earliest,
            false => earliest.max(planned_end),
        }
    }

    /// Cycles between two instructions, whatever they make and use.
    fn apart(&self, first: usize, second: usize) -> u32 {
        let [first, second] = [first, second].map(|at| (&self.new[at], self.understood.units[at]));
        spacing(first, second, self.understood.chip)
    }

    /// Cycles between two instructions, of which the second may use what the first one makes.
    fn distance(&self, first: usize, second: usize) -> u32 {
        let pair = [first, second];
        let operations = pair.map(|at| operation(&self.new[at]));
        if let [WARPSYNC, WARPSYNC | SLEEP | RETURN] = operations {
            return MEETING_TO_NEXT;
        }
        let Understood {
            uses, units, chip, ..
        } = self.understood;
        let used = match pair.map(|at| uses.accesses[at].as_ref()) {
            [Some(maker), Some(user)] => {
                forwarding((units[first], maker), (units[second], user), *chip)
            }
            _ => None,
        };
        self.apart(first, second).max(used.unwrap_or(0))
    }
}

/// The code as it was.
struct Old<'c> {
    code: &'c [[u8; INSTRUCTION]],
    /// In which cycle each instruction starts, counted from the start of the code.
    start: Vec<u32>,
    /// How many idle loads come before each instruction, where they count.
    idle: Vec<u32>,
}

impl<'c> Old<'c> {
    fn new(code: &'c [[u8; INSTRUCTION]], idle: Vec<u32>) -> Self {
        let mut next = 0_u32;
        let start = code.iter().map(|instruction| {
            let start = next;
            next += planned(instruction);
            start
        });
        let start = start.collect();
        Self { code, start, idle }
    }

    /// Cycles from one instruction to a later one, but for idle loads that take no time.
    fn distance(&self, first: usize, second: usize) -> u32 {
        let idle = self.idle[second].saturating_sub(self.idle[first]);
        let passed = self.start[second].saturating_sub(self.start[first]);
        passed.saturating_sub(idle)
    }

    /// Whether an instruction takes a scoreboard only for the next one to wait for it,
    /// and as long as that needs.
    fn waits_at_once(&self, first: usize, second: usize) -> bool {
        let [first, second] = [first, second].map(|at| Control::of(&self.code[at]));
        first.stall() == TAKING && first.is_awaited_by(second)
    }
}

/// How many idle loads come before each instruction.
fn idle_loads(code: &[[u8; INSTRUCTION]]) -> Vec<u32> {
    let mut passed = 0;
    let count = code.iter().map(|instruction| {
        let before = passed;
        passed += u32::from(is_idle_load(instruction));
        before
    });
    count.collect()
}
