//! Which machine instructions a Mercury instruction becomes in this link.

use super::super::expanded::starts_of_blocks;
use super::super::scoreboards::instruction::{
    BREAK, BSYNC, END_COLLECTIVE, EXIT, INSTRUCTION, MEMORY_BARRIER, NOP, RESULT, WARPSYNC,
    counts_threads, is_idle_load, operation,
};
use super::alone::LeftOut;
use super::control::Guard;
use super::environment::Reads;
use super::moves::Piece;
use super::stored::Group;
use crate::cubin::StoredInstruction;

pub(super) const IDLE: u16 = 0x118;

/// The byte of a memory barrier that says of what kind it is.
pub(super) const BARRIER_KIND: usize = 9;
/// `MEMBAR.ALL.CTA`.
pub(super) const NARROW: u8 = 0x80;
/// `MEMBAR.SC.CTA`.
const ORDERED_NARROW: u8 = 0;

/// The second byte of all Mercury code that works with barriers in shared
/// memory, also of what becomes other machine code than `SYNCS`, such as the
/// count of pending arrivals.
const SHARED_BARRIER: u8 = 0x1b;

/// What reports errors before a kernel ends: `MEMBAR.SC.VC`, `ERRBAR` and
/// `CGAERRBAR`, the first where the kernel calls functions or writes to surfaces.
const REPORT: [[u8; INSTRUCTION]; 3] = [
    [
        0x92, 0x79, 0, 0, 0, 0, 0, 0, 0, 0x50, 0, 0, 0, 0xc0, 0x0f, 0,
    ],
    [0xab, 0x79, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xc0, 0x0f, 0],
    [0xab, 0x75, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xec, 0x0f, 0],
];
/// The same in code that is not optimized (`-G`).
pub(super) const SLOW_REPORT: [[u8; INSTRUCTION]; 3] = [
    REPORT[0],
    [0xab, 0x79, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xc0, 0x3f, 0],
    [0xab, 0x75, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xde, 0x3f, 0],
];
/// How `WARPSYNC.ALL` begins in Mercury code of CUDA 12. That of today has four
/// bytes of it, the first with a mark.
const OLD_WARP_SYNC: [u8; 2] = [0x01, 0x47];
pub(super) const SHORT: u8 = 0x40;

/// How a memory barrier of block scope that keeps one order for all begins in
/// Mercury code, and what waits for all scoreboards behind it.
const STRONG_NARROW: [u8; 7] = [0x01, 0x49, 0x10, 0x0a, 0xf8, 0, 5];
const WAIT_FOR_ALL: [u8; INSTRUCTION] = [
    0x18, 0x79, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xe2, 0xff, 0x03,
];

/// `B2R.RESULT RZ`.
const IGNORED_RESULT: [u8; INSTRUCTION] = [
    0x1c, 0x73, 0xff, 0, 0, 0, 0, 0, 0, 0x40, 0x0e, 0, 0, 0xe2, 0x0f, 0,
];

/// An `EXIT` in Mercury code, and which bytes are the predicate and what it asks besides.
const STORED_EXIT: [u8; INSTRUCTION] = [1, 0x11, 0, 0x0a, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
const STORED_GUARD: usize = 4;
const STORED_BESIDES: usize = 11;

/// What decides which machine instructions are chosen.
pub(super) struct Choice {
    /// Whether the kernel may call functions outside of it.
    pub(super) calls: bool,
    /// What the compiler left out, which made the code of a kernel that does not, where the link takes it for one that may.
    pub(super) left_out: Option<LeftOut>,
    pub(super) writes_surfaces: bool,
    /// Whether `MEMBAR.SC.CTA` stands right before each instruction, in its block. No other barrier comes between that and a report.
    pub(super) is_ordered: Vec<bool>,
    pub(super) has_shared_barrier: bool,
    /// Ends of collectives that stand behind what fetches a result now, and are no instructions of their own any more, in order.
    pub(super) moved_ends: Vec<usize>,
    pub(super) has_shared_copy: bool,
    pub(super) for_debuggers: bool,
    /// Whether the code is not optimized.
    pub(super) is_slow: bool,
    pub(super) environment: Reads,
}

impl Choice {
    /// The machine instructions of a group; `None` if they are not known.
    pub(super) fn pieces(
        &self,
        group: &Group<'_>,
        old: &[&[u8; INSTRUCTION]],
    ) -> Option<Vec<Piece>> {
        let same = group.start..group.end;
        let is_moved_end = |at: usize| self.moved_ends.binary_search(&at).is_ok();
        if is_moved_end(group.start) {
            return Some(Vec::new());
        }
        if is_moved_end(group.end) {
            return Some((group.start..=group.end).map(Piece::Old).collect());
        }
        if counts_in_collective(old) {
            let (end, before) = (group.end - 1, group.start..group.end - 1);
            let fetch = [Piece::New(IGNORED_RESULT), Piece::Old(end)];
            return Some(before.map(Piece::Old).chain(fetch).collect());
        }
        if self.unreports(group, old) {
            return Some(same.skip(old.len() - 1).map(Piece::Old).collect());
        }
        if self.ends(old) {
            return self.end(group, old);
        }
        if is_old_warp_sync(group, old) {
            return Some(vec![Piece::Old(group.start)]);
        }
        if let Some(meeting) = meeting_behind_idle(group, old) {
            return Some(vec![Piece::Old(meeting)]);
        }
        if let Some(read) = self.environment.pieces(group, old) {
            return Some(read);
        }
        let wait = ends_in_old_barrier(group, old).then_some(Piece::Behind(WAIT_FOR_ALL));
        if let Some(left_out) = &self.left_out {
            return Some(left_out.pieces(group, old));
        }
        if self.calls || !old.iter().any(|i| operation(*i) == MEMORY_BARRIER) {
            return Some(same.map(Piece::Old).chain(wait).collect());
        }
        let is_narrow_needless = !self.has_shared_barrier && has_wide_barrier(old);
        let is_needless = |instruction: &[u8; INSTRUCTION]| {
            !self.has_shared_copy && is_idle_load(instruction)
                || is_narrow_barrier(instruction) && is_narrow_needless
        };
        let kept = same
            .zip(old)
            .filter(|(_, instruction)| !is_needless(instruction));
        let kept = kept.map(|(index, _)| Piece::Old(index));
        Some(kept.chain(wait).collect())
    }

    /// Whether a group is the end of a kernel that says more or less there.
    fn ends(&self, old: &[&[u8; INSTRUCTION]]) -> bool {
        self.for_debuggers && old.last().is_some_and(|i| operation(*i) == EXIT)
    }

    /// Whether a group is the end of a kernel that a relocatable link for debuggers
    /// made, and that says no more in this one than it did before (case
    /// `recode_exit`).
    pub(super) fn unreports(&self, group: &Group<'_>, old: &[&[u8; INSTRUCTION]]) -> bool {
        let Some((exit, reports)) = old.split_last().filter(|_| !self.for_debuggers) else {
            return false;
        };
        // What lets time pass before the `EXIT` is needed no more, or other time.
        let reports = reports.split_at(reports.len().saturating_sub(group.aside.count()));
        let are_idle = reports.1.iter().all(|i| operation(*i) == NOP);
        let is_exit = || operation(*exit) == EXIT && is_stored_exit(group, exit);
        let are_reports = |wanted: &[_]| are_reports(reports.0, wanted);
        are_idle && (are_reports(&REPORT) || are_reports(&REPORT[1..])) && is_exit()
    }

    /// The end of a kernel.
    fn end(&self, group: &Group<'_>, old: &[&[u8; INSTRUCTION]]) -> Option<Vec<Piece>> {
        let same = group.start..group.end;
        let reports = &old[..old.len() - 1];
        let is_ordered = self.is_ordered.get(group.start) == Some(&true);
        let first = usize::from(!self.calls && !self.writes_surfaces || is_ordered);
        if are_reports(reports, &REPORT[first..]) {
            return Some(same.map(Piece::Old).collect());
        }
        if are_reports(reports, &REPORT) {
            return Some(same.skip(1).map(Piece::Old).collect());
        }
        let [exit] = old else { return None };
        if group.stored.is_some() {
            return None;
        }
        let guard = Guard::of_exit(exit)?;
        let (report, exit) = match self.is_slow {
            true => (SLOW_REPORT, Piece::Old(group.start)),
            false => {
                let exit = group.start;
                (REPORT, Piece::Last { exit, gone: 0 })
            }
        };
        let new = report.into_iter().skip(first);
        let new = new.map(|instruction| Piece::New(guard.on(instruction)));
        Some(new.chain([exit]).collect())
    }

    /// How many machine instructions Mercury code says a group has; `None` if
    /// it says the same as before.
    pub(super) fn count(&self, group: &Group<'_>, old: &[&[u8; INSTRUCTION]]) -> Option<usize> {
        let count = self.pieces(group, old)?.len();
        (count != old.len()).then_some(count)
    }
}

/// Whether a group is a collective that counts threads at a barrier, and fetches no result: CUDA 12 left that out where nobody
/// needs it.
fn counts_in_collective(old: &[&[u8; INSTRUCTION]]) -> bool {
    let [start, .., end] = old else { return false };
    [operation(*start), operation(*end)] == [WARPSYNC, END_COLLECTIVE]
        && old.iter().any(|i| counts_threads(*i))
        && !old.iter().any(|i| operation(*i) == RESULT)
}

/// The ends of collectives that Mercury code takes for something idle, because they changed places with what fetches a result.
pub(super) fn moved_ends(groups: &[Group<'_>], machine: &[&[u8; INSTRUCTION]]) -> Vec<usize> {
    let is_end = |group: &&Group<'_>| {
        let end = machine.get(group.start..group.end);
        group.is_idle() && matches!(end, Some([end]) if operation(*end) == END_COLLECTIVE)
    };
    groups
        .iter()
        .filter(is_end)
        .map(|group| group.start)
        .collect()
}

/// Whether instructions report errors as these do.
fn are_reports(instructions: &[&[u8; INSTRUCTION]], reports: &[[u8; INSTRUCTION]]) -> bool {
    let instructions = instructions.iter().map(|i| operation(*i));
    instructions.eq(reports.iter().map(|i| operation(i)))
}

/// Whether a group is stored for no other reason than that it is more than an `EXIT`.
fn is_stored_exit(group: &Group<'_>, exit: &[u8; INSTRUCTION]) -> bool {
    let stored = group.stored.map(|stored| stored.body());
    stored_exit(exit).is_some_and(|own| stored == Some(&own[..]))
}

/// How Mercury code stores an `EXIT`.
pub(super) fn stored_exit(exit: &[u8; INSTRUCTION]) -> Option<[u8; INSTRUCTION]> {
    let mut stored = STORED_EXIT;
    stored[STORED_GUARD] = Guard::of_exit(exit)?.stored();
    stored[STORED_BESIDES] = Guard::besides(exit).stored();
    Some(stored)
}

/// Whether each instruction comes right behind a `MEMBAR.SC.CTA`, and from nowhere else; nothing where there is none,
/// as in most code.
pub(super) fn behind_ordered_barriers(machine: &[&[u8; INSTRUCTION]]) -> Vec<bool> {
    if !machine.iter().any(|i| is_ordered_barrier(i)) {
        return Vec::new();
    }
    let is_behind = machine.iter().map(|i| is_ordered_barrier(i));
    let starts = starts_of_blocks(machine).into_iter().skip(1);
    let is_behind = is_behind.zip(starts);
    let is_behind = is_behind.map(|(is_behind, starts)| is_behind && !starts);
    std::iter::once(false).chain(is_behind).collect()
}

/// Whether an instruction is `MEMBAR.SC.CTA`.
pub(super) fn is_ordered_barrier(instruction: &[u8; INSTRUCTION]) -> bool {
    operation(instruction) == MEMORY_BARRIER && instruction[BARRIER_KIND] == ORDERED_NARROW
}

pub(super) fn is_of_shared_barrier(stored: &StoredInstruction<'_>) -> bool {
    stored.body().get(1) == Some(&SHARED_BARRIER)
}

/// Whether a group is `WARPSYNC.ALL` of CUDA 12 with what it had behind it.
pub(super) fn is_old_warp_sync(group: &Group<'_>, old: &[&[u8; INSTRUCTION]]) -> bool {
    let is_stored = group
        .stored
        .is_some_and(|stored| stored.body().starts_with(&OLD_WARP_SYNC));
    is_stored && matches!(old, [first, second] if is_idle_behind_warp_sync(first, second))
}

pub(super) fn is_idle_behind_warp_sync(
    first: &[u8; INSTRUCTION],
    second: &[u8; INSTRUCTION],
) -> bool {
    [first, second].map(|i| operation(i)) == [WARPSYNC, IDLE]
}

/// The number of what lets threads meet, where its group is that and something idle before the `BSYNC`: so compilers write
/// it that come after nvlink 13.0.88, which knows no reason to store it (case `idle_before_meeting`).
pub(super) fn meeting_behind_idle(group: &Group<'_>, old: &[&[u8; INSTRUCTION]]) -> Option<usize> {
    let &[first, second] = old else { return None };
    match (operation(first), operation(second)) {
        (IDLE, BSYNC) => Some(group.start + 1),
        // The next group is the `BSYNC`.
        (BREAK, IDLE) => Some(group.start),
        _ => None,
    }
}

/// Whether a group is a `MEMBAR.SC.CTA` of CUDA 12, which does not wait for what
/// stands before it.
fn ends_in_old_barrier(group: &Group<'_>, old: &[&[u8; INSTRUCTION]]) -> bool {
    let is_stored = group
        .stored
        .is_some_and(|stored| stored.body().starts_with(&STRONG_NARROW));
    is_stored && old.last().is_some_and(|i| is_narrow_barrier(i))
}

/// Whether there is a memory barrier that is more than a narrow one.
fn has_wide_barrier(instructions: &[&[u8; INSTRUCTION]]) -> bool {
    let mut barriers = instructions
        .iter()
        .filter(|i| operation(**i) == MEMORY_BARRIER);
    barriers.any(|i| !is_narrow_barrier(i))
}

fn is_narrow_barrier(instruction: &[u8; INSTRUCTION]) -> bool {
    operation(instruction) == MEMORY_BARRIER && instruction[BARRIER_KIND] == NARROW
}
