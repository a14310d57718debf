//! Machine code of kernels as nvlink makes it anew from Mercury code.
//!
//! An instruction of Mercury code can stand for several of machine code, and
//! nvlink chooses anew which ones. It sees the whole program where the
//! compiler saw a file (case `recode`):
//!
//! - A kernel that calls nothing outside of it needs no loads of shared memory
//!   before its memory barriers unless it copies to shared memory, and only one
//!   barrier where the compiler wrote a narrow one before a wide one, unless it
//!   has barriers in shared memory (case `recode_shared`).
//! - Code of CUDA 12 has an idle instruction behind `WARPSYNC.ALL`, which code of
//!   today has not, waits in another order where nothing is to be done, and waits less
//!   at the ends of collectives and behind memory barriers of block scope (case
//!   `older_objects`), and reads registers of the environment in another way ([`environment`]).
//!   That changes in all functions.
//! - Where code for debuggers is linked, all kernels report errors before they
//!   end, also in device functions. There, and in those that call functions, a memory
//!   barrier comes before that. So do they where the compiler of one file was asked for that (case
//!   `errors_visible`). Elsewhere what a relocatable link added goes (case `recode_exit`).
//!
//! The first leaves out what the compiler found necessary, so that this is only
//! for links that keep what nvlink keeps. Scoreboards are numbered anew in all
//! links ([`scoreboards`]). What is not known is left as it is.

mod control;
mod debug;
mod environment;
mod exits;
mod moves;
mod older;
mod yields;

use std::borrow::Cow;

use rustc_hash::FxHashMap;

use crate::cubin::{Capsule, InfoCode, StoredInstruction};
use crate::id::{FunctionId, SectionId};
use crate::merge::{FIRST_MERCURY_VERSION, Function, Payload, TableBranch};
use crate::options::{DebugLevel, Keeping};
use crate::parallel;

use super::scoreboards::instruction::{
    CALL_ABSOLUTE, EXIT, INSTRUCTION, MEMORY_BARRIER, WARPSYNC, is_idle_load, operation,
    writes_surface,
};
use super::scoreboards::{Origin, Setting};
use super::{Relocated, debug_registers, scoreboards};

use control::Guard;
use environment::Reads;
use exits::ChangedExit;
pub(crate) use moves::Moves;
use moves::Piece;
pub(crate) use older::renewed;

const IDLE: u16 = 0x118;
/// LDGSTS, which copies to shared memory.
const SHARED_COPY: u16 = 0x1ae;

/// The byte of a memory barrier that says of what kind it is.
const BARRIER_KIND: usize = 9;
/// `MEMBAR.ALL.CTA`.
const NARROW: u8 = 0x80;

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
/// The same in code that is not optimized.
const SLOW_REPORT: [[u8; INSTRUCTION]; 3] = [
    REPORT[0],
    [0xab, 0x79, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xc0, 0x3f, 0],
    [0xab, 0x75, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xde, 0x3f, 0],
];
/// How `WARPSYNC.ALL` begins in Mercury code of CUDA 12. That of today has four
/// bytes of it, the first with a mark.
const OLD_WARP_SYNC: [u8; 2] = [0x01, 0x47];
const SHORT: u8 = 0x40;

/// How a memory barrier of block scope that keeps one order for all begins in
/// Mercury code, and what waits for all scoreboards behind it.
const STRONG_NARROW: [u8; 7] = [0x01, 0x49, 0x10, 0x0a, 0xf8, 0, 5];
const WAIT_FOR_ALL: [u8; INSTRUCTION] = [
    0x18, 0x79, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xe2, 0xff, 0x03,
];

/// An `EXIT` in Mercury code, and which bytes are the predicate and what it asks besides.
const STORED_EXIT: [u8; INSTRUCTION] = [1, 0x11, 0, 0x0a, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
const STORED_GUARD: usize = 4;
const STORED_BESIDES: usize = 11;

/// Makes the native code of all kernels anew.
pub(crate) fn recode(relocated: &mut Relocated<'_>, keeping: Keeping, debug: DebugLevel) {
    let pruned = &relocated.laid_out.pruned;
    let merged = &pruned.merged;
    if !merged.target.has_mercury() {
        return;
    }
    let has_variables = merged.sections.enumerate().any(|(id, section)| {
        let twin = relocated.native[id].as_ref();
        debug_registers::is_table(section.name) && twin.is_some_and(|t| !t.bytes.is_empty())
    });
    // What one file asks of its compiler, holds for all (case `errors_visible`).
    let records = &mut merged.records.iter();
    let is_asked = records.any(|record| record.code == InfoCode::GEN_ERRBAR_AT_EXIT);
    let wanted = Wanted {
        for_debuggers: debug == DebugLevel::Symbols || has_variables || is_asked,
        is_lone: debug != DebugLevel::Symbols && merged.image.is_executable(),
        is_older: false,
    };
    let functions = merged.functions.enumerate();
    let wanted_of = |function: &Function<'_>| {
        let is_older = keeping == Keeping::AsNvlink && is_of_first_version(function);
        match merged.is_kernel(function) {
            true => Some(Wanted { is_older, ..wanted }),
            // Of other functions, code of CUDA 12 changes, and what ends a kernel.
            false => (keeping == Keeping::AsNvlink).then_some(Wanted {
                is_lone: false,
                is_older,
                ..wanted
            }),
        }
    };
    let changing: Vec<(FunctionId, SectionId, Wanted)> = functions
        .filter(|&(id, _)| pruned.live.functions[id])
        .filter_map(|(id, function)| Some((id, function.text?, wanted_of(function)?)))
        .collect();
    let sizes = changing
        .iter()
        .map(|&(_, id, _)| merged.sections[id].content.size);
    let effort = (sizes.sum::<u64>() as usize).saturating_mul(CHOOSING);
    let made = parallel::map(&changing, effort, |&(function, section, wanted)| {
        Anew::new(relocated, function, section, wanted, keeping)
    });
    let mut moves = FxHashMap::default();
    for (&(function, section, _), made) in changing.iter().zip(made) {
        let (Some(made), Some(native)) = (made, &mut relocated.native[section]) else {
            continue;
        };
        native.bytes = Cow::Owned(made.code);
        if let Some((capsule, moved)) = made.moved {
            relocated.sections[section].bytes = Cow::Owned(capsule);
            for relocation in native.kept.iter_mut().chain(&mut native.resolved) {
                relocation.offset = moved.of(relocation.offset);
            }
            moves.insert(function, moved);
        }
    }
    if !moves.is_empty() {
        debug::follow_tables(relocated, &moves);
        debug::follow(relocated, &moves);
    }
    relocated.moves = moves;
    yields::settle(relocated);
}

/// To choose instructions for a byte of code takes as long as to look at so many.
const CHOOSING: usize = 16;

/// Machine code that was made anew.
struct Anew {
    code: Vec<u8>,
    /// Its Mercury code and where it went, if it moved.
    moved: Option<(Vec<u8>, Moves)>,
}

impl Anew {
    /// `None` where nothing changes.
    fn new(
        relocated: &Relocated<'_>,
        function: FunctionId,
        section: SectionId,
        wanted: Wanted,
        keeping: Keeping,
    ) -> Option<Self> {
        let merged = &relocated.laid_out.pruned.merged;
        let function = &merged.functions[function];
        let chip = scoreboards::Chip::of(merged.target);
        let capsule = &relocated.sections[section].bytes;
        let mut code = Cow::Borrowed(&*relocated.native[section].as_ref()?.bytes);
        let tables = function.native_branches();
        // What is not optimized waits everywhere, in code of CUDA 12 as in that of today (case
        // `older_slow`).
        let is_slow = code.first_chunk().is_some_and(control::is_slow);
        let is_scheduled = wanted.is_older && !is_slow;
        if wanted.is_older
            && let Some(waiting) = older::with_waits_of_today(&code, capsule)
        {
            code = Cow::Owned(waiting);
        }
        let recode = |code: &[u8]| match keeping {
            Keeping::AsNvlink => Recoded::new(code, capsule, &tables, &wanted, chip),
            Keeping::Reachable => None,
        };
        let recoded = recode(&code);
        let setting = Setting {
            tables: &tables,
            chip,
            capsule,
        };
        let made = match recoded {
            Some(recoded) => {
                let origin = (!is_scheduled).then_some((&*code, setting));
                Some(
                    recoded
                        .with_scoreboards(&tables, chip, wanted.is_lone, origin)
                        .into(),
                )
            }
            None if is_scheduled => {
                let chosen = scoreboards::chosen(&code, setting, wanted.is_lone, None);
                Self::unmoved(chosen.map_or_else(|| code.clone(), Cow::Owned))
            }
            None if wanted.is_lone => scoreboards::without_stack_pointer(&code, setting)
                .and_then(|lone| Self::unmoved(lone.into())),
            None => None,
        };
        match is_scheduled {
            true => made.map(|made: Self| made.closed_up(&code, &tables, chip)),
            false => made.or_else(|| Self::unmoved(code.clone())),
        }
    }

    /// The same with stalls that fit, made of the code of an older compiler.
    fn closed_up(mut self, old: &[u8], tables: &[TableBranch], chip: scoreboards::Chip) -> Self {
        self.code = match &self.moved {
            Some((_, moves)) => {
                let tables = moves.tables(tables);
                let origins = moves.origins(old, &self.code);
                let origin = |place: usize| origins[place];
                scoreboards::stalls::closed_up(old, self.code, origin, &tables, chip)
            }
            None => scoreboards::stalls::closed_up(old, self.code, Some, tables, chip),
        };
        self
    }

    /// Code that is as long as before; `None` if it is the same.
    fn unmoved(code: Cow<'_, [u8]>) -> Option<Self> {
        match code {
            Cow::Owned(code) => Some(Self { code, moved: None }),
            Cow::Borrowed(_) => None,
        }
    }
}

impl From<Recoded> for Anew {
    fn from(recoded: Recoded) -> Self {
        Self {
            code: recoded.code,
            moved: Some((recoded.capsule, recoded.moves)),
        }
    }
}

/// Whether the code is that of CUDA 12.
pub(super) fn is_of_first_version(function: &Function<'_>) -> bool {
    function.records.iter().any(|record| {
        record.code == InfoCode::MERCURY_ISA_VERSION
            && matches!(record.payload, Payload::Head(FIRST_MERCURY_VERSION))
    })
}

/// What a link wants of the code of a function.
#[derive(Debug, Clone, Copy)]
struct Wanted {
    /// Whether kernels report errors before they end, here or in what they call.
    for_debuggers: bool,
    /// Whether a kernel that calls nothing counts as one. A link for debuggers
    /// takes none for that, nor does a relocatable one.
    is_lone: bool,
    /// Whether the code is that of CUDA 12, and becomes that of today.
    is_older: bool,
}

/// The code of a kernel after it was made anew.
struct Recoded {
    code: Vec<u8>,
    capsule: Vec<u8>,
    moves: Moves,
}

impl Recoded {
    /// `None` where nothing changes, and where it is not known what would.
    fn new(
        code: &[u8],
        capsule: &[u8],
        tables: &[TableBranch],
        wanted: &Wanted,
        chip: scoreboards::Chip,
    ) -> Option<Self> {
        let parsed = Capsule::parse(capsule).ok()?;
        let machine: Vec<&[u8; INSTRUCTION]> = code.as_chunks().0.iter().collect();
        let has = |wanted: u16| machine.iter().any(|i| operation(*i) == wanted);
        let all: Vec<Group<'_>> = groups(&parsed).collect();
        let choice = Choice {
            calls: !wanted.is_lone || has(CALL_ABSOLUTE),
            writes_surfaces: machine.iter().any(|i| writes_surface(operation(*i))),
            has_shared_barrier: parsed.stored.iter().any(is_of_shared_barrier),
            has_shared_copy: has(SHARED_COPY),
            for_debuggers: wanted.for_debuggers,
            environment: Reads::new(code, &all, tables, chip),
        };
        let mut pieces = Vec::with_capacity(machine.len());
        for group in &all {
            let old = machine.get(group.start..group.end)?;
            pieces.extend(choice.pieces(group, old)?);
        }
        let is_same = pieces.len() == machine.len()
            && pieces.iter().all(|piece| matches!(piece, Piece::Old(_)));
        if is_same || all.last()?.end != machine.len() {
            return None;
        }
        let exits = ChangedExit::all(&pieces, &machine);
        let (mut code, moves, padding) = moves::apply(&machine, pieces, tables)?;
        for exit in exits {
            exit.set_stalls(&mut code, chip);
        }
        choice.environment.take_scoreboards(&mut code, &moves);
        let capsule = write_capsule(&parsed, &all, &choice, &machine, padding)?;
        Some(Self {
            code,
            capsule,
            moves,
        })
    }

    /// The same with the scoreboards that nvlink chooses. Of the code that it was made of,
    /// compilers of today chose those by the same rules.
    fn with_scoreboards(
        mut self,
        tables: &[TableBranch],
        chip: scoreboards::Chip,
        is_lone: bool,
        origin: Option<(&[u8], Setting<'_>)>,
    ) -> Self {
        let tables = self.moves.tables(tables);
        let setting = Setting {
            tables: &tables,
            chip,
            capsule: &self.capsule,
        };
        let places = origin.map(|(old, _)| self.moves.origins(old, &self.code));
        let origin = origin.zip(places.as_deref());
        let origin = origin.map(|((code, setting), places)| Origin {
            code,
            setting,
            places: Some(places),
        });
        match scoreboards::chosen(&self.code, setting, is_lone, origin) {
            Some(mut code) => {
                keep_slow_reports(&self.code, &mut code);
                self.code = code;
            }
            None => scoreboards::wait_in_reports(&mut self.code),
        }
        self
    }
}

/// In code that is not optimized, what reports errors waits as all do, whatever it has to
/// wait for (case `errors_visible`).
fn keep_slow_reports(old: &[u8], code: &mut [u8]) {
    let (old, _) = old.as_chunks::<INSTRUCTION>();
    let (new, _) = code.as_chunks_mut::<INSTRUCTION>();
    let reports = new.iter_mut().zip(old);
    for (new, old) in reports.filter(|(_, old)| SLOW_REPORT[1..].contains(old)) {
        *new = *old;
    }
}

/// The Mercury instructions of a function.
pub(super) fn groups<'c>(capsule: &Capsule<'c>) -> impl Iterator<Item = Group<'c>> {
    let mut stored = capsule.stored.iter().copied().peekable();
    let mut end = 0;
    (0..capsule.instructions).map(move |index| {
        let stored = stored.next_if(|stored| stored.index == index);
        let start = end;
        end += stored.as_ref().map_or(1, count);
        Group { stored, start, end }
    })
}

/// How many machine instructions a stored one stands for.
fn count(stored: &StoredInstruction<'_>) -> usize {
    match stored.bytes {
        [mark @ (0x50 | 0xd0 | 0x51 | 0xd1), half, ..] => {
            2 * usize::from(*half) + usize::from(mark >> 7)
        }
        [Capsule::REMARK, ..] => 0,
        _ => 1,
    }
}

/// A Mercury instruction and the machine instructions that it stands for.
pub(super) struct Group<'c> {
    pub(super) stored: Option<StoredInstruction<'c>>,
    pub(super) start: usize,
    pub(super) end: usize,
}

/// What decides which machine instructions are chosen.
struct Choice {
    /// Whether the kernel may call functions outside of it.
    calls: bool,
    writes_surfaces: bool,
    has_shared_barrier: bool,
    has_shared_copy: bool,
    for_debuggers: bool,
    environment: Reads,
}

impl Choice {
    /// The machine instructions of a group; `None` if they are not known.
    fn pieces(&self, group: &Group<'_>, old: &[&[u8; INSTRUCTION]]) -> Option<Vec<Piece>> {
        let same = group.start..group.end;
        if self.unreports(group, old) {
            return Some(same.skip(old.len() - 1).map(Piece::Old).collect());
        }
        if self.ends(old) {
            return self.end(group, old);
        }
        if is_old_warp_sync(group, old) {
            return Some(vec![Piece::Old(group.start)]);
        }
        if let Some(read) = self.environment.pieces(group, old) {
            return Some(read);
        }
        let wait = ends_in_old_barrier(group, old).then_some(Piece::New(WAIT_FOR_ALL));
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
    fn unreports(&self, group: &Group<'_>, old: &[&[u8; INSTRUCTION]]) -> bool {
        let Some((exit, reports)) = old.split_last().filter(|_| !self.for_debuggers) else {
            return false;
        };
        let is_exit = || operation(*exit) == EXIT && is_stored_exit(group, exit);
        (are_reports(reports, &REPORT) || are_reports(reports, &REPORT[1..])) && is_exit()
    }

    /// The end of a kernel.
    fn end(&self, group: &Group<'_>, old: &[&[u8; INSTRUCTION]]) -> Option<Vec<Piece>> {
        let same = group.start..group.end;
        let reports = &old[..old.len() - 1];
        let first = usize::from(!self.calls && !self.writes_surfaces);
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
        let (report, exit) = match control::is_slow(exit) {
            true => (SLOW_REPORT, Piece::Old(group.start)),
            false => (REPORT, Piece::Last(group.start)),
        };
        let new = report.into_iter().skip(first);
        let new = new.map(|instruction| Piece::New(guard.on(instruction)));
        Some(new.chain([exit]).collect())
    }

    /// How many machine instructions Mercury code says a group has; `None` if
    /// it says the same as before.
    fn count(&self, group: &Group<'_>, old: &[&[u8; INSTRUCTION]]) -> Option<usize> {
        let count = self.pieces(group, old)?.len();
        (count != old.len()).then_some(count)
    }
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
fn stored_exit(exit: &[u8; INSTRUCTION]) -> Option<[u8; INSTRUCTION]> {
    let mut stored = STORED_EXIT;
    stored[STORED_GUARD] = Guard::of_exit(exit)?.stored();
    stored[STORED_BESIDES] = Guard::besides(exit).stored();
    Some(stored)
}

fn is_of_shared_barrier(stored: &StoredInstruction<'_>) -> bool {
    stored.body().get(1) == Some(&SHARED_BARRIER)
}

/// Whether a group is `WARPSYNC.ALL` of CUDA 12 with what it had behind it.
fn is_old_warp_sync(group: &Group<'_>, old: &[&[u8; INSTRUCTION]]) -> bool {
    let is_stored = group
        .stored
        .is_some_and(|stored| stored.body().starts_with(&OLD_WARP_SYNC));
    is_stored && matches!(old, [first, second] if is_idle_behind_warp_sync(first, second))
}

fn is_idle_behind_warp_sync(first: &[u8; INSTRUCTION], second: &[u8; INSTRUCTION]) -> bool {
    [first, second].map(|i| operation(i)) == [WARPSYNC, IDLE]
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

/// The Mercury code with other counts. What fills up the machine code behind
/// its end is counted by the last instruction.
fn write_capsule(
    capsule: &Capsule<'_>,
    groups: &[Group<'_>],
    choice: &Choice,
    machine: &[&[u8; INSTRUCTION]],
    padding: isize,
) -> Option<Vec<u8>> {
    let mut bitmap = capsule.bitmap.to_vec();
    let mut stored = Vec::new();
    for (index, group) in groups.iter().enumerate() {
        let old = &machine[group.start..group.end];
        let is_last = index + 1 == groups.len();
        let new = match is_last {
            true => Some(old.len().checked_add_signed(padding)?),
            false => choice.count(group, old),
        };
        match (&group.stored, new) {
            (Some(stored_one), None) => stored.extend_from_slice(stored_one.bytes),
            (None, None) => {}
            (Some(_), Some(1)) if !is_last && choice.unreports(group, old) => {
                *bitmap.get_mut(index / 8)? |= 1 << (index % 8);
            }
            (Some(stored_one), Some(count)) => {
                let (mark, rest) = match stored_one.bytes {
                    [mark @ (0x50 | 0xd0 | 0x51 | 0xd1), _, rest @ ..] => (*mark, rest),
                    rest => (0x51, rest),
                };
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
                *bitmap.get_mut(index / 8)? &= !(1 << (index % 8));
                stored.extend(marked(0x51, count)?);
                stored.extend(stored_exit(old.first()?)?);
            }
        }
    }
    Some(capsule.encode_with(capsule.marker, &bitmap, &stored))
}

/// A prefix that says how many machine instructions there are.
fn marked(mark: u8, count: usize) -> Option<[u8; 2]> {
    let kind = mark & 0x7f;
    let is_prefix = matches!(kind, 0x50 | 0x51);
    let half = u8::try_from(count / 2).ok()?;
    is_prefix.then_some([kind | (count as u8 & 1) << 7, half])
}
