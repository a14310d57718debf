//! Scoreboards of native code in Mercury images.
//!
//! Instructions of unknown duration take one of six scoreboards, and those
//! that need a result wait for it. nvlink encodes the native code of kernels
//! anew, and sees what the compiler did not: a kernel that never uses the
//! stack has no use for its stack pointer, whose load then takes none. Later
//! instructions get lower ones (case `scoreboards`).
//!
//! Code of CUDA 12.8 and 12.9 gets others throughout, because these compilers
//! chose by another rule (case `older_objects`).
//!
//! How scoreboards are chosen is measured ([`rules`]). Where the compiler chose by other
//! rules, which nvlink has in common with it, what it did is done in the new code
//! ([`deviations`]).

mod apart;
pub(super) mod control;
mod deviations;
mod effort;
pub(super) mod exits;
mod flow;
mod held;
pub(super) mod instruction;
#[cfg(test)]
mod measure;
mod mercury;
mod operands;
mod operations;
mod order;
mod pressure;
mod registers;
mod retiming;
mod rules;
pub(super) mod scratch;
pub(super) mod slower;
mod stages;
pub(super) mod stalls;
mod timing;
mod turns;
mod understood;
mod uses;
mod warps;

use std::borrow::Cow;
use std::cell::OnceCell;

use rustc_hash::FxHashMap;

use crate::merge::TableBranch;

use deviations::Deviations;
use flow::Flow;
pub(super) use instruction::Chip;
pub(super) use mercury::with_awaited_fences;

use control::Control;
use instruction::{
    BOARDS, DOUBLE_MATRICES, ERROR_BARRIER, EXIT, FENCE, INSTRUCTION, SYNCS_CONTROL,
    SYNCS_EXCHANGE, WARPSYNC, is_idle_load, leads_on, operation,
};
use pressure::Schedule;
use registers::Accesses;
use rules::Rules;
use stalls::TAKING;
use understood::Understood;

/// Functions with more stay as they are.
const MOST_EVENTS: usize = 1 << 20;
/// Scoreboards that loads from memory leave to others.
const FIRST_FOR_MEMORY: u8 = 2;
/// What some loads take first, and others last.
const LAST: u8 = BOARDS - 1;

/// An instruction that takes a scoreboard.
#[derive(Debug, Clone, Copy)]
struct Event {
    instruction: usize,
    until: Until,
    board: u8,
}

/// Until when an instruction holds a scoreboard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Until {
    /// Its operands are read.
    Read,
    /// Its result is written.
    Written,
}

/// What decides about scoreboards besides the code.
#[derive(Debug, Clone, Copy)]
pub(super) struct Setting<'s> {
    /// Where branches through tables lead.
    pub(super) tables: &'s [TableBranch],
    pub(super) chip: Chip,
    /// The Mercury code.
    pub(super) capsule: &'s [u8],
    /// Whether the code is that of a kernel that counts as one which calls nothing outside of it.
    pub(super) is_lone: bool,
}

/// Code of a compiler that chose as nvlink does.
pub(super) struct Compiled<'c> {
    code: &'c [u8],
    setting: Setting<'c>,
    /// None where the code is not understood.
    understood: OnceCell<Option<Understood>>,
    /// Where the compiler did something else than the rules say, once somebody asked; none where that takes too long.
    deviations: OnceCell<Option<Deviations>>,
}

impl<'c> Compiled<'c> {
    pub(super) fn new(code: &'c [u8], setting: Setting<'c>) -> Self {
        Self {
            code,
            setting,
            understood: OnceCell::new(),
            deviations: OnceCell::new(),
        }
    }

    pub(super) fn code(&self) -> &'c [u8] {
        self.code
    }

    fn understood(&self) -> Option<&Understood> {
        let understood = || Understood::new(self.code, &self.setting);
        self.understood.get_or_init(understood).as_ref()
    }

    fn deviations(&self) -> Option<&Deviations> {
        let understood = self.understood()?;
        let deviations = self.deviations.get_or_init(|| {
            let schedule = Schedule::new(self.code, understood, &self.setting);
            Rules::new(self.code, understood, &schedule).deviations()
        });
        deviations.as_ref()
    }

    /// The same as far as it is code that somebody wants to understand.
    fn understood_as(
        &self,
        code: &[u8],
        tables: &[TableBranch],
        chip: Chip,
    ) -> Option<&Understood> {
        let is_same = code == self.code && tables == self.setting.tables;
        self.understood()
            .filter(|_| is_same && chip == self.setting.chip)
    }
}

/// Of what other code was made.
#[derive(Clone, Copy)]
pub(super) struct Origin<'o> {
    pub(super) compiled: &'o Compiled<'o>,
    /// Which of its instructions stands at each place of the new code; none if all stay.
    pub(super) places: Option<&'o [Option<usize>]>,
    /// The new code takes the time that it takes.
    pub(super) is_timed: bool,
}

impl<'o> Origin<'o> {
    /// Where the compiler did something else than the rules say, in terms of the new code;
    /// `None` where the code is not understood.
    fn deviations(&self, new: &[Event]) -> Option<Cow<'o, Deviations>> {
        let old = &self.compiled.understood()?.events;
        let deviations = self.compiled.deviations()?;
        let Some(places) = self.places.filter(|_| !deviations.is_empty()) else {
            return Some(Cow::Borrowed(deviations));
        };
        let numbers = places.iter().enumerate();
        let numbers: FxHashMap<usize, usize> = numbers
            .filter_map(|(new, &old)| Some((old?, new)))
            .collect();
        let instruction = |old: usize| numbers.get(&old).copied();
        let event = |event: usize| {
            let old: &Event = &old[event];
            let at = instruction(old.instruction)?;
            let first = new.partition_point(|event| event.instruction < at);
            let mut own = new[first..].iter().take_while(|e| e.instruction == at);
            Some(first + own.position(|event| event.until == old.until)?)
        };
        Some(Cow::Owned(deviations.moved(event, instruction)))
    }

    /// What an instruction of the new code does with registers.
    fn accesses(&self, at: usize, instruction: &[u8; INSTRUCTION]) -> Option<Accesses> {
        let old = || {
            let at = self.place(at)?;
            let (code, _) = self.compiled.code.as_chunks::<INSTRUCTION>();
            let is_same = Control::is_all_that_differs(code.get(at)?, instruction);
            let understood = self.compiled.understood().filter(|_| is_same)?;
            Some(understood.uses.accesses[at]?.again(instruction))
        };
        old().or_else(|| Accesses::of(instruction))
    }

    /// The new code, in which nothing takes longer because the next instruction of the
    /// compiler's waited for it. What comes next may wait for another scoreboard.
    fn without_spaces(&self, code: &[u8]) -> Vec<u8> {
        let mut code = code.to_vec();
        let (old, _) = self.compiled.code.as_chunks::<INSTRUCTION>();
        let (new, _) = code.as_chunks_mut::<INSTRUCTION>();
        for (at, new) in new.iter_mut().enumerate() {
            let pair = self
                .place(at)
                .and_then(|first| Some((old.get(first)?, old.get(first + 1)?)));
            let Some((first, second)) = pair else {
                continue;
            };
            let control = Control::of(first);
            if control.stall() == TAKING && control.is_awaited_by(Control::of(second)) {
                Control::shorten_stall(new);
            }
        }
        code
    }

    /// Where an instruction of the new code stood before.
    fn place(&self, at: usize) -> Option<usize> {
        match self.places {
            Some(places) => *places.get(at)?,
            None => Some(at),
        }
    }
}

/// The code of a kernel without a scoreboard for its stack pointer; `None`
/// where it stays as it is.
pub(super) fn without_stack_pointer(compiled: &Compiled<'_>) -> Option<Vec<u8>> {
    let Compiled { code, setting, .. } = *compiled;
    let first = First::of(code, &setting);
    if first != First::TakesNone {
        return None;
    }
    let origin = Origin {
        compiled,
        places: None,
        is_timed: false,
    };
    chosen_from(code, setting, first, Some(origin)).map(|chosen| chosen.code)
}

/// Lets what reports errors before an `EXIT` wait for the predicate of both, where the
/// `EXIT` did.
pub(super) fn wait_in_reports(code: &mut [u8]) {
    let (instructions, _) = code.as_chunks_mut::<INSTRUCTION>();
    for exit in 2..instructions.len() {
        let operations = [exit - 2, exit - 1, exit].map(|at| operation(&instructions[at]));
        if operations != [ERROR_BARRIER, ERROR_BARRIER, EXIT] {
            continue;
        }
        let (earlier, ends) = instructions.split_at_mut(exit - 2);
        let Some(guarded) = Accesses::of(&ends[2]) else {
            continue;
        };
        let waits = Control::of(&ends[2]).waits();
        let decides = |&board: &u8| {
            let takes = |control: Control| control.read() == board || control.write() == board;
            let mut own = earlier.iter().rev().take_while(|i| !leads_on(*i));
            let taker = own.find(|i| takes(Control::of(*i)));
            let taker = taker.and_then(|instruction| Accesses::of(instruction));
            taker.is_some_and(|taker| taker.guards(&guarded))
        };
        let moved = (0..BOARDS).filter(|board| waits >> board & 1 == 1);
        let moved = moved
            .filter(decides)
            .fold(0, |mask, board| mask | bit(board));
        if moved != 0 {
            let report = Control::of(&ends[0]).waits();
            Control::set_waits(&mut ends[0], report | moved);
            Control::set_waits(&mut ends[2], waits & !moved);
        }
    }
}

/// Code with the scoreboards that nvlink chooses, without one for the stack pointer of a
/// kernel that has no use for it; `None` where it stays as it is. Compilers of
/// CUDA 12 chose by other rules, those of today by the same.
pub(super) fn chosen(
    code: &[u8],
    setting: Setting<'_>,
    origin: Option<Origin<'_>>,
) -> Option<Vec<u8>> {
    let first = First::of(code, &setting);
    chosen_from(code, setting, first, origin).map(|chosen| chosen.code)
}

/// The same of an older compiler's code, of which waits are kept.
pub(super) fn chosen_with_waits(code: &[u8], setting: Setting<'_>) -> Option<Vec<u8>> {
    let chosen = chosen_from(code, setting, First::of(code, &setting), None)?;
    Some(match chosen.splits_behind_effects {
        // That compiler saw other blocks.
        true => chosen.code,
        false => with_waits_of(code, chosen.code),
    })
}

/// Code with the scoreboards that nvlink chooses.
struct Rescheduled {
    code: Vec<u8>,
    /// See [`Flow`].
    splits_behind_effects: bool,
}

fn chosen_from(
    code: &[u8],
    setting: Setting<'_>,
    first: First,
    origin: Option<Origin<'_>>,
) -> Option<Rescheduled> {
    let Setting { tables, chip, .. } = setting;
    let own;
    // What takes another time does nothing else.
    let alike = origin.filter(|origin| origin.places.is_none());
    let alike = alike.and_then(|origin| origin.compiled.understood_as(code, tables, chip));
    let understood = match (alike, origin) {
        (Some(alike), _) => alike,
        (None, Some(origin)) => {
            let accesses = |at: usize, new: &[u8; INSTRUCTION]| origin.accesses(at, new);
            own = Understood::with(code, &setting, accesses)?;
            &own
        }
        (None, None) => {
            own = Understood::new(code, &setting)?;
            &own
        }
    };
    let Understood { events, flow, .. } = understood;
    if events.len() > MOST_EVENTS {
        return None;
    }
    // The time that the compiler spent on waiting counts for what is chosen.
    let schedule = Schedule::new(code, understood, &setting);
    let spaced_by = origin.filter(|origin| !origin.is_timed);
    let code = spaced_by.map_or(Cow::Borrowed(code), |origin| {
        origin.without_spaces(code).into()
    });
    let rules = Rules::new(&code, understood, &schedule);
    let deviations = match origin {
        Some(origin) => origin.deviations(events)?,
        None => Cow::default(),
    };
    let choice = rules.choose(first, &deviations)?;
    let code = spaced(choice.apply(&code, flow, events), |at| flow.ends_block(at));
    let code = match spaced_by {
        // Where one takes another time now, others need not wait as long for those before it.
        Some(origin) => {
            let place = |at| origin.place(at);
            stalls::closed_up_as(origin.compiled, code, place, understood)
        }
        None => code,
    };
    Some(Rescheduled {
        code,
        splits_behind_effects: flow.splits_behind_effects,
    })
}

/// What becomes of the scoreboard of the first instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum First {
    TakesNone,
    IsLikeOthers,
}

impl First {
    /// A kernel that calls nothing has no use for a stack pointer that it does not name.
    fn of(code: &[u8], setting: &Setting<'_>) -> Self {
        match setting.is_lone && instruction::loads_unused_stack_pointer(code) {
            true => Self::TakesNone,
            false => Self::IsLikeOthers,
        }
    }
}

/// Code in which nothing comes too early to wait for the instruction before it, but for
/// one that takes no time. Of other blocks it is not asked whether they wait, but behind what
/// threads do one after another (case `scoreboards_exclusive`).
fn spaced(mut code: Vec<u8>, ends_block: impl Fn(usize) -> bool) -> Vec<u8> {
    let (instructions, _) = code.as_chunks_mut::<INSTRUCTION>();
    for at in 1..instructions.len() {
        let (earlier, rest) = instructions.split_at_mut(at);
        let is_exclusive = at > 1 && instruction::is_exclusive(&earlier[at - 2]);
        let before = &mut earlier[at - 1];
        let control = Control::of(before);
        let timeless = rest.iter().take_while(|i| instruction::cycles(*i) == 0);
        let next = rest.iter().take(timeless.count() + 1);
        let is_awaited = match ends_block(at - 1) && !is_exclusive {
            true => control.takes() != 0,
            false => next
                .map(|i| Control::of(i))
                .any(|next| control.is_awaited_by(next)),
        };
        if is_awaited {
            Control::lengthen_stall(before, TAKING);
        }
    }
    code
}

/// Code that takes and waits for what the same instructions do elsewhere.
pub(super) fn taken_over<'c>(
    mut code: Vec<u8>,
    chosen: impl Fn(usize) -> Option<&'c [u8; INSTRUCTION]>,
    setting: Setting<'_>,
) -> Option<Vec<u8>> {
    let (instructions, _) = code.as_chunks_mut::<INSTRUCTION>();
    for (at, instruction) in instructions.iter_mut().enumerate() {
        if let Some(chosen) = chosen(at) {
            let control = Control::of(chosen);
            Control::set(
                instruction,
                control.write(),
                control.read(),
                control.waits(),
            );
            instruction::name_as(instruction, chosen);
        }
    }
    let flow = Flow::new(&code, &events(&code), &setting)?;
    Some(spaced(code, |at| flow.ends_block(at)))
}

/// Code of an older compiler with scoreboards chosen anew; where all take those that they took, it waits as that compiler
/// had it wait, which followed the rules of today more closely than they are known, but for textures (case `older_waits`),
/// for what takes the scoreboard that it waits for, and where threads of a warp meet behind what is done to barriers in shared
/// memory (case `older_effects`).
fn with_waits_of(old: &[u8], mut new: Vec<u8>) -> Vec<u8> {
    let (before, _) = old.as_chunks::<INSTRUCTION>();
    let (after, _) = new.as_chunks_mut::<INSTRUCTION>();
    let taken = |instruction: &[u8; INSTRUCTION]| {
        let control = Control::of(instruction);
        (control.read(), control.write())
    };
    if !before.iter().map(taken).eq(after.iter().map(taken)) {
        return new;
    }
    let of = |is_such: fn(u16) -> bool| {
        let such = before.iter().filter(|i| is_such(operation(*i)));
        such.fold(0, |mask, i| mask | bit(Control::of(i).write()))
    };
    let of_textures = of(instruction::is_of_texture);
    let of_barriers = of(|operation| [FENCE, SYNCS_CONTROL, SYNCS_EXCHANGE].contains(&operation));
    for (before, after) in before.iter().zip(after) {
        let (was, is) = (Control::of(before).waits(), Control::of(after).waits());
        let added = match operation(before) {
            WARPSYNC => of_barriers,
            _ => 0,
        };
        let replaced = of_textures | bit(Control::of(before).write());
        let waits = was & !replaced | is & (replaced | added);
        if waits == was {
            *after = *before;
        } else {
            Control::set_waits(after, waits);
        }
    }
    new
}

/// The instructions for which the next one waits, by their numbers in the code as it was. What is new
/// waits for none.
pub(super) fn awaited_at_once(new: &[u8], place: impl Fn(usize) -> Option<usize>) -> Vec<usize> {
    let (new, _) = new.as_chunks::<INSTRUCTION>();
    let awaited = (0..new.len()).filter_map(|at| {
        let first = &new[at];
        // Idle loads are a part of the memory barrier behind them.
        let mut behind = (at + 1..new.len()).filter(|&next| !is_idle_load(&new[next]));
        let is_awaited = |next: usize| Control::of(first).is_awaited_by(Control::of(&new[next]));
        behind
            .next()
            .filter(|&next| is_awaited(next))
            .and_then(&place)?;
        place(at)
    });
    awaited.collect()
}

fn events(code: &[u8]) -> Vec<Event> {
    let of_instruction = |(index, instruction): (usize, &[u8])| {
        let control = Control::of(instruction);
        let event = |until, board| Event {
            instruction: index,
            until,
            board,
        };
        [
            event(Until::Read, control.read()),
            event(Until::Written, control.write()),
        ]
    };
    code.chunks_exact(INSTRUCTION)
        .enumerate()
        .flat_map(of_instruction)
        .filter(|event| event.board < BOARDS)
        .collect()
}

/// One bit for each scoreboard that only instructions hold which end in order, so that a
/// DEPBAR can wait for some of them.
fn in_order(code: &[u8]) -> u8 {
    let instructions = code.chunks_exact(INSTRUCTION);
    let named = instructions.clone().filter_map(instruction::depbar);
    let named = named.fold(0, |mask, (board, _)| mask | bit(board));
    instructions.fold(0, |mask, instruction| {
        let control = Control::of(instruction);
        mask | match operation(instruction) {
            _ if instruction::is_counted(instruction) => control.takes(),
            operation if instruction::is_of_texture(operation) => bit(control.write()),
            // In loops in a pipeline (case `long_remarks`).
            DOUBLE_MATRICES => bit(control.write()) & named,
            _ => 0,
        }
    })
}

/// The scoreboard of loads that other blocks need: the last of those that are not kept for
/// what ends in order.
fn last(in_order: u8) -> Option<u8> {
    (0..=LAST).rev().find(|board| in_order >> board & 1 == 0)
}

/// One bit for a scoreboard, none for no scoreboard.
fn bit(board: u8) -> u8 {
    if board < BOARDS { 1 << board } else { 0 }
}

#[cfg(test)]
mod tests;
