//! Which events can hold a scoreboard where, over all paths through the code.

mod blocks;

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::ops::Range;

use rustc_hash::FxHashSet;

use super::effort::Effort;
use super::held::Held;
use super::instruction::{BOARDS, INSTRUCTION, Next, is_branch, next, releases};
use super::mercury::Told;
use super::order::reverse_postorder;
use super::{Event, Setting};
use blocks::Successors;

/// The number of the first event of each instruction, and how many there are.
fn first_events(instructions: usize, events: &[Event]) -> Vec<usize> {
    let mut first = vec![0; instructions + 1];
    for event in events {
        first[event.instruction + 1] += 1;
    }
    for at in 1..first.len() {
        first[at] += first[at - 1];
    }
    first
}

/// Where control goes, and what can be held there.
pub(super) struct Flow {
    /// Number of each instruction's waits.
    waits: Vec<u8>,
    /// First event of each instruction, and the number of events at the end.
    first_event: Vec<usize>,
    starts: Vec<bool>,
    /// Whether a block starts because of what stands before it alone, which compilers of CUDA 12 knew of few.
    pub(super) splits_behind_effects: bool,
    /// Whether each instruction is the last one of its block that does something.
    closes: Vec<bool>,
    is_branch: Vec<bool>,
    /// The last instruction of each instruction's block, if the code goes so far.
    last: Vec<Option<usize>>,
    successors: Successors,
    /// Instructions that wait for something or take a scoreboard.
    holding: Vec<usize>,
}

impl Flow {
    /// `None` where it is not known where control goes.
    pub(super) fn new(code: &[u8], events: &[Event], setting: &Setting<'_>) -> Option<Self> {
        Self::with(code, events, setting, &Told::by(setting.capsule))
    }

    /// The same with what somebody may have read of the Mercury code already.
    pub(super) fn with(
        code: &[u8],
        events: &[Event],
        setting: &Setting<'_>,
        told: &Told<'_>,
    ) -> Option<Self> {
        let instructions: Vec<&[u8]> = code.chunks_exact(INSTRUCTION).collect();
        let nexts = (0..).step_by(INSTRUCTION).zip(&instructions);
        let nexts: Vec<Next> = nexts.map(|(offset, i)| next(i, offset)).collect();
        let successors = Successors::new(&nexts, setting.tables)?;
        let mut starts = blocks::starts(&instructions, &nexts, &successors);
        let splits_behind_effects =
            blocks::split_behind_effects(&instructions, &mut starts, setting.chip, told);
        let waits: Vec<u8> = instructions.iter().map(|i| releases(i)).collect();
        let first_event = first_events(instructions.len(), events);
        let has_own = |at: usize| first_event[at] < first_event[at + 1];
        let flow = Self {
            closes: blocks::closing(&instructions, &starts),
            is_branch: instructions.iter().map(|i| is_branch(i)).collect(),
            last: blocks::last(&starts),
            holding: (0..instructions.len())
                .filter(|&at| waits[at] != 0 || has_own(at))
                .collect(),
            waits,
            first_event,
            starts,
            splits_behind_effects,
            successors,
        };
        flow.stays_in_code().then_some(flow)
    }

    /// Whether control never comes behind the end of the code.
    fn stays_in_code(&self) -> bool {
        let mut is_seen = vec![false; self.starts.len()];
        let mut waiting = vec![0];
        while let Some(start) = waiting.pop() {
            if std::mem::replace(&mut is_seen[start], true) {
                continue;
            }
            let Some(last) = self.last_from(start) else {
                return false;
            };
            waiting.extend(self.followers(last));
        }
        true
    }

    /// The last instruction of the block in which an instruction stands.
    fn last_from(&self, at: usize) -> Option<usize> {
        *self.last.get(at)?
    }

    /// What is held where each block starts; `None` inside blocks and where control
    /// never comes, and for all where it takes too long to find out.
    fn entries(&self, events: &[Event]) -> Option<Vec<Option<Held>>> {
        let mut effort = Effort::of(self.waits.len());
        let mut entries = vec![None; self.starts.len()];
        entries[0] = Some(Held::default());
        let mut waiting = vec![0];
        while let Some(start) = waiting.pop() {
            let (Some(mut held), Some(last)) = (entries[start].clone(), self.last_from(start))
            else {
                continue;
            };
            let own = [start, last + 1].map(|end| self.holding.partition_point(|&at| at < end));
            for &at in &self.holding[own[0]..own[1]] {
                effort.spend(&held)?;
                self.step(at, &mut held, events);
            }
            for &next in self.followers(last) {
                let is_new = entries[next].is_none();
                let entry = entries[next].get_or_insert_default();
                effort.spend(&held)?;
                effort.spend(entry)?;
                if entry.join(&held) || is_new {
                    waiting.push(next);
                }
            }
        }
        Some(entries)
    }

    fn step(&self, at: usize, held: &mut Held, events: &[Event]) {
        self.free(at, self.waits[at], held, events);
        self.take(at, held, events);
    }

    /// What an instruction waits for is free behind it. Only where a branch
    /// waits for what it holds itself since the last turn of a loop, others
    /// wait again for what came before the loop.
    fn free(&self, at: usize, mask: u8, held: &mut Held, events: &[Event]) {
        if !self.is_branch[at] {
            return held.wait(mask);
        }
        for board in (0..BOARDS).filter(|board| mask >> board & 1 == 1) {
            let carried = |&event: &usize| events[event].instruction >= at;
            let turn: Vec<usize> = held.events(board).filter(carried).collect();
            match turn.is_empty() {
                true => held.wait(1 << board),
                false => held.leave(board, &turn),
            }
        }
    }

    /// The events of an instruction take their scoreboards.
    fn take(&self, at: usize, held: &mut Held, events: &[Event]) {
        for event in self.own(at).filter(|&event| events[event].board < BOARDS) {
            held.take(events[event].board, event);
        }
    }

    /// The events of an instruction.
    pub(super) fn own(&self, at: usize) -> Range<usize> {
        self.first_event[at]..self.first_event[at + 1]
    }

    /// Whether control may go elsewhere behind an instruction, or come from
    /// elsewhere there.
    pub(super) fn ends_block(&self, at: usize) -> bool {
        self.starts[at + 1]
    }

    /// Whether an instruction is the last one of its block but for time that passes.
    pub(super) fn closes_block(&self, at: usize) -> bool {
        self.closes[at]
    }

    /// The blocks that control comes to, in that order.
    pub(super) fn order(&self) -> Vec<Range<usize>> {
        let starts: Vec<usize> = self.block_starts().collect();
        let end = |block: usize| starts.get(block + 1).copied().unwrap_or(self.waits.len());
        let followers = |block: usize| {
            let leaders = self.followers(end(block) - 1).iter();
            let blocks = leaders.filter_map(|leader| starts.binary_search(leader).ok());
            blocks.collect()
        };
        let followers: Vec<Vec<usize>> = (0..starts.len()).map(followers).collect();
        let order = reverse_postorder(&followers).into_iter();
        order.map(|block| starts[block]..end(block)).collect()
    }

    /// Those blocks of an order that later ones lead back to, or they themselves, by their
    /// first instructions.
    pub(super) fn loop_starts(&self, order: &[Range<usize>]) -> BTreeSet<usize> {
        let mut seen = FxHashSet::default();
        let mut starts = BTreeSet::new();
        for block in order {
            seen.insert(block.start);
            let back = self.followers(block.end - 1).iter();
            starts.extend(back.filter(|next| seen.contains(next)));
        }
        starts
    }

    /// The other blocks of a loop: those of an order from which control comes back to where it starts.
    pub(super) fn loop_members(&self, order: &[Range<usize>], start: usize) -> Vec<Range<usize>> {
        let mut places = FxHashSet::from_iter([start]);
        let mut members = Vec::new();
        let later = order.iter().rev().take_while(|block| block.start != start);
        // But for inner loops control goes forward, and those are found by the blocks behind them.
        for block in later {
            let followers = self.followers(block.end - 1);
            if followers.iter().any(|next| places.contains(next)) {
                places.insert(block.start);
                members.push(block.clone());
            }
        }
        members
    }

    /// From behind which instructions control may come to one of some kind.
    pub(super) fn leading_to(&self, is_meant: impl Fn(usize) -> bool) -> Vec<bool> {
        let count = self.waits.len();
        let mut before: Vec<Vec<usize>> = vec![Vec::new(); count + 1];
        for at in 0..count {
            for &next in self.followers(at) {
                before[next].push(at);
            }
        }
        let mut leads = vec![false; count];
        let mut waiting: Vec<usize> = (0..count).filter(|&at| is_meant(at)).collect();
        while let Some(at) = waiting.pop() {
            for &earlier in &before[at] {
                if !std::mem::replace(&mut leads[earlier], true) {
                    waiting.push(earlier);
                }
            }
        }
        leads
    }

    /// Where control goes behind an instruction.
    pub(super) fn followers(&self, at: usize) -> &[usize] {
        self.successors.of(at)
    }

    fn block_starts(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.waits.len()).filter(|&at| self.starts[at])
    }
}

/// What is held where in code as it is.
pub(super) struct Passage<'f> {
    flow: &'f Flow,
    events: &'f [Event],
    /// Where each block starts, once somebody asked; none where that takes too long.
    entries: OnceCell<Option<Vec<Option<Held>>>>,
}

impl<'f> Passage<'f> {
    pub(super) fn new(flow: &'f Flow, events: &'f [Event]) -> Self {
        Self {
            flow,
            events,
            entries: OnceCell::new(),
        }
    }

    /// Visits instructions of some kind that control comes to, in the order of the code, with
    /// what is held before each. `None` where that takes too long.
    pub(super) fn visit(
        &self,
        is_meant: impl Fn(usize) -> bool,
        mut visit: impl FnMut(usize, &Held),
    ) -> Option<()> {
        let Self { flow, events, .. } = *self;
        let entries = self.entries.get_or_init(|| flow.entries(events)).as_ref()?;
        let mut effort = Effort::of(flow.waits.len());
        for (start, entry) in entries.iter().enumerate() {
            let (Some(entry), Some(end)) = (entry, flow.last_from(start)) else {
                continue;
            };
            let Some(last) = (start..=end).rev().find(|&at| is_meant(at)) else {
                continue;
            };
            let mut held = entry.clone();
            for at in start..=last {
                if is_meant(at) {
                    effort.spend(&held)?;
                    visit(at, &held);
                }
                flow.step(at, &mut held, events);
            }
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::instruction::{Chip, NO_BOARD};
    use super::super::tests::{EXIT, instruction, setting, sum};
    use super::*;

    #[test]
    fn returns_lead_nowhere_and_calls_to_both() {
        const CALL: u16 = 0x7944;
        const RETURN: u16 = 0x7950;
        let call = |distance: u8| instruction(CALL, distance, NO_BOARD, 0);
        // Distances are in units of four bytes.
        let code = [
            call(12),
            sum(41, 2, 0),
            call(4),
            instruction(EXIT, 0, NO_BOARD, 0),
            sum(41, 2, 0),
            instruction(RETURN, 0, NO_BOARD, 0),
        ];
        let flow = Flow::new(code.as_flattened(), &[], &setting(Chip::FastDoubles)).unwrap();
        let followers: Vec<&[usize]> = (0..code.len()).map(|at| flow.followers(at)).collect();
        assert_eq!(followers, [&[1, 4][..], &[2], &[3, 4], &[], &[5], &[]]);
        assert!(flow.loop_starts(&flow.order()).is_empty());
    }

    #[test]
    fn yields_start_a_block_behind_copies_and_on_graphics_behind_loads_for_warps() {
        const UNIFORM_LOAD: u16 = 0x7bac;
        const SHARED_COPY: u16 = 0x7fae;
        const YIELD: u16 = 0x7946;
        let code = |load: u16| {
            [
                instruction(load, 4, 0, 0),
                sum(41, 2, 0),
                instruction(YIELD, 0, NO_BOARD, 0),
                instruction(YIELD, 0, NO_BOARD, 0),
                instruction(EXIT, 0, NO_BOARD, 0),
            ]
        };
        let ends = |load: u16, chip: Chip| {
            let flow = Flow::new(code(load).as_flattened(), &[], &setting(chip)).unwrap();
            (0..4).map(|at| flow.ends_block(at)).collect::<Vec<_>>()
        };
        let split = [false, true, false, false];
        assert_eq!(ends(UNIFORM_LOAD, Chip::FastDoubles), [false; 4]);
        assert_eq!(ends(UNIFORM_LOAD, Chip::Graphics), split);
        assert_eq!(ends(SHARED_COPY, Chip::FastDoubles), split);
        assert_eq!(ends(SHARED_COPY, Chip::Graphics), split);
    }

    #[test]
    fn threads_meet_in_a_block_of_their_own_behind_what_has_effects() {
        const MEET: u16 = 0x7948;
        let starts = |first: u128| {
            let exit = instruction(EXIT, 0, NO_BOARD, 0);
            let mut meet = instruction(MEET, 0, NO_BOARD, 0);
            // WARPSYNC.ALL
            meet[8..12].copy_from_slice(&0x0380_0000_u32.to_le_bytes());
            let code = [first.to_le_bytes(), meet, exit];
            let flow = Flow::new(code.as_flattened(), &[], &setting(Chip::FastDoubles)).unwrap();
            flow.ends_block(0)
        };
        // SYNCS.ARRIVE, LDGDEPBAR, CCTL.E.PF2, SUST, TLD, UTCBAR and FENCE.VIEW.ASYNC.T.
        const FETCH: u128 = 0x0001_e600_0080_0100_0000_0000_0800_798f;
        const FENCE_OF_TENSORS: u128 = 0x000e_a600_0000_0200_0000_0000_0000_73c6;
        let effects = [
            0x79a7,
            0x79af,
            FETCH,
            0x7f9d,
            0x7f66,
            0x73e9,
            FENCE_OF_TENSORS,
        ];
        assert_eq!(effects.map(starts), [true; 7]);
        // LDG, MEMBAR, CCTL.IVALL, TXQ, SHFL, STAS and FENCE.VIEW.ASYNC.S.
        const FORGET: u128 = 0x000f_e200_0200_0000_0000_0000_ff00_798f;
        let others = [0x7981, 0x7992, FORGET, 0x7b6f, 0x7f89, 0x7dbd, 0x73c6];
        assert_eq!(others.map(starts), [false; 7]);
    }

    #[test]
    fn threads_meet_in_a_block_behind_a_barrier_that_came_back() {
        const RESTORE: u16 = 0x7356;
        const MEET: u16 = 0x7941;
        let ends = |second: u16| {
            let code = [
                instruction(RESTORE, 0, NO_BOARD, 0),
                instruction(second, 0, NO_BOARD, 0),
                instruction(EXIT, 0, NO_BOARD, 0),
            ];
            let flow = Flow::new(code.as_flattened(), &[], &setting(Chip::FastDoubles)).unwrap();
            [0, 1].map(|at| flow.ends_block(at))
        };
        assert_eq!(ends(MEET), [true, true]);
        assert_eq!(ends(RESTORE), [false, false]);
    }

    #[test]
    fn what_threads_meet_at_does_not_close_a_block() {
        const WARPSYNC: u16 = 0x7348;
        const ENDCOLLECTIVE: u16 = 0x791b;
        // To the third instruction behind it, in units of four bytes.
        let mut collective = instruction(WARPSYNC, 8, NO_BOARD, 0);
        collective[10] = 0xc0;
        let code = [
            sum(41, 2, 0),
            collective,
            sum(41, 2, 0),
            instruction(ENDCOLLECTIVE, 0, NO_BOARD, 0),
            instruction(EXIT, 0, NO_BOARD, 0),
        ];
        let flow = Flow::new(code.as_flattened(), &[], &setting(Chip::FastDoubles)).unwrap();
        let closes: Vec<bool> = (0..5).map(|at| flow.closes_block(at)).collect();
        assert_eq!(closes, [true, false, false, true, true]);
    }
}
