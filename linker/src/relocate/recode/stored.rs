//! How Mercury code stores its instructions: which machine instructions each stands for.

use rustc_hash::FxHashSet;

use super::super::scoreboards::instruction::INSTRUCTION;
use super::aside::{Aside, begins_with_check, placed};
use super::choice::{Choice, SHORT, is_old_warp_sync, meeting_behind_idle, stored_exit};
use crate::cubin::{Capsule, StoredInstruction};

/// A stored instruction that is nothing but idle.
pub(super) const IDLE: [u8; 2] = [0xd0, 0];

/// The Mercury instructions of a function, in order.
pub(in crate::relocate) fn groups<'c>(capsule: &Capsule<'c>) -> impl Iterator<Item = Group<'c>> {
    let mut stored = capsule.stored.iter().copied().peekable();
    let mut end = 0;
    (0..capsule.instructions).map(move |index| {
        let stored = stored.next_if(|stored| stored.index == index);
        let start = end;
        end += stored.map_or(1, |stored| stored.machine_instructions());
        Group {
            stored,
            start,
            end,
            aside: Aside::Nothing,
        }
    })
}

/// A Mercury instruction and the machine instructions that it stands for.
#[derive(Debug, Clone)]
pub(in crate::relocate) struct Group<'c> {
    pub(in crate::relocate) stored: Option<StoredInstruction<'c>>,
    pub(in crate::relocate) start: usize,
    pub(in crate::relocate) end: usize,
    /// How many of these machine instructions are Mercury instructions of their own.
    pub(in crate::relocate) aside: Aside,
}

impl Group<'_> {
    /// Whether it is nothing but idle.
    pub(super) fn is_idle(&self) -> bool {
        self.stored.is_some_and(|stored| stored.bytes == IDLE)
    }
}

/// The Mercury code with other counts, and without the stored instructions that stand for these machine instructions.
/// What fills up the machine code behind its end is counted by the last instruction.
pub(super) fn write_capsule(
    capsule: &Capsule<'_>,
    groups: &[Group<'_>],
    choice: &Choice,
    machine: &[&[u8; INSTRUCTION]],
    gone: &[usize],
    padding: isize,
) -> Option<Vec<u8>> {
    // Remarks stand for no machine instruction, nor does what is idle inside of the end of a kernel, and goes with its report.
    let unreporting = groups.iter().filter(|group| {
        group.aside.count() > 0 && choice.unreports(group, &machine[group.start..group.end])
    });
    let unreporting: FxHashSet<usize> = unreporting.map(|group| group.start).collect();
    let is_gone = |group: &Group<'_>| match group.end > group.start {
        true => gone.contains(&group.start),
        false => group.is_idle() && unreporting.contains(&group.start),
    };
    let mut elided: Vec<bool> = groups.iter().map(|group| group.stored.is_none()).collect();
    let mut stored = Vec::new();
    for (index, group) in groups.iter().enumerate() {
        let old = &machine[group.start..group.end];
        let is_last = index + 1 == groups.len();
        let new = match is_last {
            true => Some(old.len().checked_add_signed(padding)?),
            false => choice.count(group, old),
        };
        match (&group.stored, new) {
            (Some(_), _) if is_gone(group) => {}
            (Some(stored_one), None) => stored.extend_from_slice(stored_one.bytes),
            (None, None) => {}
            (Some(_), Some(1))
                if !is_last
                    && (choice.unreports(group, old)
                        || meeting_behind_idle(group, old).is_some()) =>
            {
                elided[index] = true;
            }
            (Some(stored_one), Some(count)) => {
                let (mark, rest) = match stored_one.bytes {
                    [mark @ (0x50 | 0xd0 | 0x51 | 0xd1), _, rest @ ..] => (*mark, rest),
                    rest => (0x51, rest),
                };
                let count = count.checked_sub(group.aside.count())?;
                // A single one is not counted.
                if rest.is_empty() || count != 1 {
                    stored.extend(marked(mark, count)?);
                }
                match rest {
                    [first, second, third, fourth, ..] if is_old_warp_sync(group, old) => {
                        stored.extend([first | SHORT, *second, *third, *fourth]);
                    }
                    _ => stored.extend_from_slice(rest),
                }
            }
            (None, Some(_)) if is_last => return None,
            (None, Some(count)) => {
                elided[index] = false;
                stored.extend(marked(0x51, count)?);
                stored.extend(stored_exit(old.first()?)?);
            }
        }
    }
    let elided = groups
        .iter()
        .zip(elided)
        .filter(|(group, _)| !is_gone(group));
    let elided: Vec<bool> = elided.map(|(_, is_elided)| is_elided).collect();
    Capsule::assemble(capsule.text_section, capsule.marker, &elided, &stored)
}

/// The Mercury code without some idle instructions, and with so many others before some instructions. `None` where
/// an instruction that goes is no idle one.
pub(super) fn write_paused(
    capsule: &Capsule<'_>,
    machine: &[&[u8; INSTRUCTION]],
    gone: &[usize],
    pauses: &[(usize, usize)],
    padding: isize,
) -> Option<Vec<u8>> {
    let groups = placed(capsule, machine)?;
    let (end, rest) = groups.split_last()?;
    let mut gone = gone.iter().copied().peekable();
    let mut pauses = pauses.iter().copied().peekable();
    let mut elided = Vec::with_capacity(groups.len());
    let mut stored = Vec::new();
    let idle = |count: usize, elided: &mut Vec<bool>, stored: &mut Vec<u8>| {
        elided.extend(std::iter::repeat_n(false, count));
        stored.extend(IDLE.repeat(count));
    };
    for group in rest {
        if group.start == group.end {
            // Remarks about an instruction come before the time that passes before it, and what is idle inside of
            // an instruction with that.
            if !group.is_idle() {
                elided.push(false);
                stored.extend(group.stored?.bytes);
            }
            continue;
        }
        if gone.next_if(|&at| at == group.start).is_some() {
            group.is_idle().then_some(())?;
            continue;
        }
        if let Some((_, count)) = pauses.next_if(|&(at, _)| at == group.start) {
            idle(count, &mut elided, &mut stored);
        }
        let mut aside = group.aside.count();
        while gone.next_if(|&at| at < group.end).is_some() {
            aside = aside.checked_sub(1)?;
        }
        while let Some((_, more)) = pauses.next_if(|&(at, _)| at < group.end) {
            aside += more;
        }
        let is_before = match group.aside {
            Aside::Before(_) => true,
            Aside::Behind(_) => false,
            Aside::Nothing => !begins_with_check(group, machine),
        };
        let (before, behind) = if is_before { (aside, 0) } else { (0, aside) };
        idle(before, &mut elided, &mut stored);
        elided.push(group.stored.is_none());
        stored.extend(group.stored.iter().flat_map(|stored| stored.bytes));
        idle(behind, &mut elided, &mut stored);
    }
    gone.next().is_none().then_some(())?;
    pauses.next().is_none().then_some(())?;
    let [mark, _, body @ ..] = end.stored?.bytes else {
        return None;
    };
    let count = (end.end - end.start).checked_add_signed(padding)?;
    stored.extend(marked(*mark, count)?);
    stored.extend(body);
    elided.push(false);
    Capsule::assemble(capsule.text_section, capsule.marker, &elided, &stored)
}

/// A prefix that says how many machine instructions there are.
fn marked(mark: u8, count: usize) -> Option<[u8; 2]> {
    let kind = mark & 0x7f;
    let is_prefix = matches!(kind, 0x50 | 0x51);
    let half = u8::try_from(count / 2).ok()?;
    is_prefix.then_some([kind | (count as u8 & 1) << 7, half])
}
