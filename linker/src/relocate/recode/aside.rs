//! What lets time pass inside of a Mercury instruction: it is one of its own, stored before or behind that, and
//! counts as one machine instruction there. So where these are is seen only beside the machine code
//! (case `idle_inside`).

use super::super::scoreboards::instruction::{INSTRUCTION, NOP, SYNCS, is_pause, operation};
use super::stored::{Group, IDLE, groups};
use crate::cubin::Capsule;

/// How many of a group's machine instructions are Mercury instructions of their own, and where these stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::relocate) enum Aside {
    Nothing,
    Before(usize),
    /// Where the group begins with the end of a block, such as a check of a barrier that sleeps then.
    Behind(usize),
}

impl Aside {
    pub(super) fn count(self) -> usize {
        match self {
            Self::Nothing => 0,
            Self::Before(count) | Self::Behind(count) => count,
        }
    }
}

/// The Mercury instructions of a function, each with all machine instructions that it becomes; those that stand inside of
/// others have none. `None` where there are fewer machine instructions than it takes.
pub(super) fn placed<'c>(
    capsule: &Capsule<'c>,
    machine: &[&[u8; INSTRUCTION]],
) -> Option<Vec<Group<'c>>> {
    let mut all: Vec<Group<'c>> = groups(capsule).collect();
    machine.get(..all.last()?.end)?;
    // An idle instruction that is not there stands elsewhere.
    let is_misplaced = |group: &Group<'_>| {
        group.start < group.end && is_idle(group) && operation(machine[group.start]) != NOP
    };
    for index in 0..all.len() {
        let (earlier, rest) = all.split_at_mut(index);
        let [idle, ..] = rest else { break };
        let group = earlier.iter_mut().rev().find(|group| !is_idle(group));
        if let Some(group) = group.filter(|_| is_misplaced(idle))
            && begins_with_check(group, machine)
            && pauses(group.start..group.end + 1, machine) > group.aside.count()
        {
            group.end += 1;
            group.aside = Aside::Behind(group.aside.count() + 1);
            idle.start = idle.end;
        }
    }
    for index in (0..all.len()).rev() {
        let (rest, later) = all.split_at_mut(index + 1);
        let [.., idle] = rest else { break };
        let group = later.iter_mut().find(|group| !is_idle(group));
        if let Some(group) = group.filter(|_| is_misplaced(idle))
            && pauses(idle.start..group.end, machine) > group.aside.count()
        {
            group.start -= 1;
            group.aside = Aside::Before(group.aside.count() + 1);
            idle.end = idle.start;
        }
    }
    Some(all)
}

fn is_idle(group: &Group<'_>) -> bool {
    group.stored.is_some_and(|stored| stored.bytes == IDLE)
}

/// Whether a group begins with what works on a barrier in shared memory.
pub(super) fn begins_with_check(group: &Group<'_>, machine: &[&[u8; INSTRUCTION]]) -> bool {
    let first = machine.get(group.start).filter(|_| group.start < group.end);
    first.is_some_and(|first| operation(*first) == SYNCS)
}

/// How many instructions behind the first of some only let time pass.
fn pauses(range: std::ops::Range<usize>, machine: &[&[u8; INSTRUCTION]]) -> usize {
    let group = machine.get(range).unwrap_or_default();
    let pairs = group.windows(2);
    pairs.filter(|pair| is_pause(pair[0], pair[1])).count()
}
