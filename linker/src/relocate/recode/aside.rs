//! What lets time pass or waits inside of a Mercury instruction: it is one of its own, stored before or behind that, and
//! counts as one machine instruction there. So where these are is seen only beside the machine code
//! (case `idle_inside`).

use super::super::scoreboards::instruction::{
    DEPBAR, INSTRUCTION, NOP, SYNCS, is_pause, operation,
};
use super::stored::{Group, groups};
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
    // An idle instruction that is not there stands elsewhere. Some that are there wait for a scoreboard.
    let is_misplaced = |group: &Group<'_>| {
        let is_other = |at: usize| ![NOP, DEPBAR].contains(&operation(machine[at]));
        group.start < group.end && group.is_idle() && is_other(group.start)
    };
    let mut before = None;
    for index in 0..all.len() {
        if !all[index].is_idle() {
            before = Some(index);
        } else if let Some(group) = before
            && is_misplaced(&all[index])
            && all[group].end == all[index].start
            && begins_with_check(&all[group], machine)
            && pauses(all[group].start..all[index].end, machine) > all[group].aside.count()
        {
            let end = all[index].end;
            all[index].start = end;
            all[group].end = end;
            all[group].aside = Aside::Behind(all[group].aside.count() + 1);
        }
    }
    let mut behind = None;
    for index in (0..all.len()).rev() {
        if !all[index].is_idle() {
            behind = Some(index);
        } else if let Some(group) = behind
            && is_misplaced(&all[index])
            && all[group].start == all[index].end
            && pauses(all[index].start..all[group].end, machine) > all[group].aside.count()
        {
            let start = all[index].start;
            all[index].end = start;
            all[group].start = start;
            all[group].aside = Aside::Before(all[group].aside.count() + 1);
        }
    }
    Some(all)
}

/// Whether a group begins with what works on a barrier in shared memory.
pub(super) fn begins_with_check(group: &Group<'_>, machine: &[&[u8; INSTRUCTION]]) -> bool {
    let first = machine.get(group.start).filter(|_| group.start < group.end);
    first.is_some_and(|first| operation(*first) == SYNCS)
}

/// How many instructions behind the first of some only let time pass, or wait for the older ones of those that share a
/// scoreboard.
fn pauses(range: std::ops::Range<usize>, machine: &[&[u8; INSTRUCTION]]) -> usize {
    let group = machine.get(range).unwrap_or_default();
    let is_idle =
        |pair: &[&[u8; INSTRUCTION]]| is_pause(pair[0], pair[1]) || operation(pair[1]) == DEPBAR;
    group.windows(2).filter(|pair| is_idle(pair)).count()
}

#[cfg(test)]
mod tests {
    use super::super::super::scoreboards::control::Control;
    use super::super::super::scoreboards::instruction::MEMORY_BARRIER;
    use super::super::stored::IDLE;
    use super::*;
    use crate::cubin::StoredInstruction;

    const OTHER: u16 = 0x024;
    const LONGEST: u8 = Control::LONGEST_STALL;

    fn instruction((operation, stall): (u16, u8)) -> [u8; INSTRUCTION] {
        let mut instruction = [0; INSTRUCTION];
        instruction[..2].copy_from_slice(&operation.to_le_bytes());
        Control::set_stall(&mut instruction, stall);
        instruction
    }

    /// Where Mercury instructions begin and end, and what is aside. Those that are not stored have no bytes.
    fn places(stored: &[&[u8]], machine: &[(u16, u8)]) -> Vec<(usize, usize, Aside)> {
        let are_stored = stored
            .iter()
            .zip(0..)
            .filter(|(bytes, _)| !bytes.is_empty());
        let are_stored = are_stored.map(|(&bytes, index)| StoredInstruction {
            index,
            offset: 0,
            prefix: 2,
            bytes,
        });
        let capsule = Capsule {
            text_section: 0,
            marker: Capsule::MARKER,
            instructions: stored.len() as u32,
            bitmap: &[],
            stored: are_stored.collect(),
        };
        let machine: Vec<_> = machine.iter().map(|&i| instruction(i)).collect();
        let machine: Vec<_> = machine.iter().collect();
        let placed = placed(&capsule, &machine).unwrap();
        let placed = placed.iter().map(|g| (g.start, g.end, g.aside));
        placed.collect()
    }

    #[test]
    fn what_idles_inside_of_an_instruction_is_found_there() {
        // Three instructions that belong to one, and a fourth that idles among them.
        let three: &[u8] = &[0xd1, 1, 0x02];
        let ordered = [(MEMORY_BARRIER, LONGEST), (NOP, 1), (OTHER, 2), (NOP, 1)];
        assert_eq!(
            places(&[&IDLE, three], &ordered),
            [(0, 0, Aside::Nothing), (0, 4, Aside::Before(1))]
        );
        let check = [(SYNCS, LONGEST), (NOP, 2), (OTHER, 5), (SYNCS, 1)];
        assert_eq!(
            places(&[three, &IDLE], &check),
            [(0, 4, Aside::Behind(1)), (4, 4, Aside::Nothing)]
        );
    }

    #[test]
    fn what_idles_by_itself_stays_even_if_it_waits() {
        let one: &[u8] = &[];
        let waiting = [(DEPBAR, LONGEST), (NOP, LONGEST), (NOP, 3), (OTHER, 1)];
        let apart = |start: usize| (start, start + 1, Aside::Nothing);
        assert_eq!(
            places(&[&IDLE, &IDLE, &IDLE, one], &waiting),
            [apart(0), apart(1), apart(2), apart(3)]
        );
    }
}
