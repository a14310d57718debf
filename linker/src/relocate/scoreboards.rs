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

mod deviations;
pub(super) mod exits;
mod flow;
pub(super) mod instruction;
#[cfg(test)]
mod measure;
mod operands;
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
mod warps;

use std::borrow::Cow;

use rustc_hash::FxHashMap;

use crate::merge::TableBranch;

use deviations::Deviations;
use flow::Flow;
pub(super) use instruction::Chip;
use instruction::{BOARDS, Control, ERROR_BARRIER, EXIT, INSTRUCTION, leads_on, operation};
use pressure::Schedule;
use registers::Accesses;
use rules::Rules;
use stalls::TAKING;

/// Functions with more stay as they are.
const MOST_EVENTS: usize = 16384;
/// Scoreboards that loads from memory leave to others.
const FIRST_FOR_MEMORY: u8 = 2;
/// What some loads take first, and others last.
const LAST: u8 = BOARDS - 1;

/// An instruction that takes a scoreboard.
#[derive(Debug, Clone, Copy)]
struct Event {
    instruction: usize,
    /// Until the result is written, not only until the operands are read.
    is_write: bool,
    board: u8,
}

/// What decides about scoreboards besides the code.
#[derive(Debug, Clone, Copy)]
pub(super) struct Setting<'s> {
    /// Where branches through tables lead.
    pub(super) tables: &'s [TableBranch],
    pub(super) chip: Chip,
    /// The Mercury code.
    pub(super) capsule: &'s [u8],
}

/// Code of a compiler that chose as nvlink does, from which other code was made.
#[derive(Clone, Copy)]
pub(super) struct Origin<'o> {
    pub(super) code: &'o [u8],
    pub(super) setting: Setting<'o>,
    /// Which of its instructions stands at each place of the new code; none if all stay.
    pub(super) places: Option<&'o [Option<usize>]>,
    /// The new code takes the time that it takes.
    pub(super) is_timed: bool,
}

impl Origin<'_> {
    /// Where the compiler did something else than the rules say, in terms of the new code;
    /// `None` where the code is not understood.
    fn deviations(&self, new: &[Event]) -> Option<Deviations> {
        let Self {
            code,
            setting,
            places,
            ..
        } = *self;
        let old = events(code);
        let flow = Flow::new(code, setting.tables, &old, setting.chip)?;
        let schedule = Schedule::new(code, &old, &flow, &setting);
        let deviations = Rules::new(code, &old, &flow, &schedule).deviations();
        let Some(places) = places.filter(|_| !deviations.is_empty()) else {
            return Some(deviations);
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
            Some(first + own.position(|event| event.is_write == old.is_write)?)
        };
        Some(deviations.moved(event, instruction))
    }

    /// The new code, in which nothing takes longer because the next instruction of the
    /// compiler's waited for it. What comes next may wait for another scoreboard.
    fn without_spaces(&self, code: &[u8]) -> Vec<u8> {
        let mut code = code.to_vec();
        let (old, _) = self.code.as_chunks::<INSTRUCTION>();
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
pub(super) fn without_stack_pointer(code: &[u8], setting: Setting<'_>) -> Option<Vec<u8>> {
    if !instruction::loads_unused_stack_pointer(code) {
        return None;
    }
    let origin = Origin {
        code,
        setting,
        places: None,
        is_timed: false,
    };
    chosen_from(code, setting, First::TakesNone, Some(origin))
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
/// kernel that is alone and has no use for it; `None` where it stays as it is. Compilers of
/// CUDA 12 chose by other rules, those of today by the same.
pub(super) fn chosen(
    code: &[u8],
    setting: Setting<'_>,
    is_lone: bool,
    origin: Option<Origin<'_>>,
) -> Option<Vec<u8>> {
    let first = match is_lone && instruction::loads_unused_stack_pointer(code) {
        true => First::TakesNone,
        false => First::IsLikeOthers,
    };
    chosen_from(code, setting, first, origin)
}

fn chosen_from(
    code: &[u8],
    setting: Setting<'_>,
    first: First,
    origin: Option<Origin<'_>>,
) -> Option<Vec<u8>> {
    let events = events(code);
    if events.len() > MOST_EVENTS {
        return None;
    }
    let Setting { tables, chip, .. } = setting;
    let spaced_by = origin.filter(|origin| !origin.is_timed);
    let code = spaced_by.map_or(Cow::Borrowed(code), |origin| {
        origin.without_spaces(code).into()
    });
    let flow = Flow::new(&code, tables, &events, chip)?;
    let schedule = Schedule::new(&code, &events, &flow, &setting);
    let rules = Rules::new(&code, &events, &flow, &schedule);
    let deviations = match origin {
        Some(origin) => origin.deviations(&events)?,
        None => Deviations::default(),
    };
    let choice = rules.choose(first, &deviations);
    let code = spaced(choice.apply(&code, &flow, &events), |at| {
        flow.ends_block(at)
    });
    Some(match spaced_by {
        // Where one takes another time now, others need not wait as long for those before it.
        Some(origin) => {
            let place = |at| origin.place(at);
            stalls::closed_up(origin.code, code, place, tables, chip)
        }
        None => code,
    })
}

/// What becomes of the scoreboard of the first instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum First {
    TakesNone,
    IsLikeOthers,
}

/// Code in which nothing comes too early to wait for the instruction before it, but for
/// one that takes no time. Of other blocks it is not asked whether they wait.
fn spaced(mut code: Vec<u8>, ends_block: impl Fn(usize) -> bool) -> Vec<u8> {
    let (instructions, _) = code.as_chunks_mut::<INSTRUCTION>();
    for at in 1..instructions.len() {
        let (earlier, rest) = instructions.split_at_mut(at);
        let before = &mut earlier[at - 1];
        let control = Control::of(before);
        let timeless = rest.iter().take_while(|i| instruction::cycles(*i) == 0);
        let next = rest.iter().take(timeless.count() + 1);
        let is_awaited = match ends_block(at - 1) {
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

fn events(code: &[u8]) -> Vec<Event> {
    let of_instruction = |(index, instruction): (usize, &[u8])| {
        let control = Control::of(instruction);
        let event = |is_write, board| Event {
            instruction: index,
            is_write,
            board,
        };
        [event(false, control.read()), event(true, control.write())]
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
    instructions.fold(0, |mask, instruction| {
        let control = Control::of(instruction);
        mask | match operation(instruction) {
            _ if instruction::is_counted(instruction) => control.takes(),
            operation if instruction::is_of_texture(operation) => bit(control.write()),
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
mod tests {
    use super::instruction::NO_BOARD;
    use super::*;

    /// Code without tables and Mercury code.
    pub(super) fn setting(chip: Chip) -> Setting<'static> {
        Setting {
            tables: &[],
            chip,
            capsule: &[],
        }
    }

    pub(super) fn without_stack_pointer(code: &[u8], tables: &[TableBranch]) -> Option<Vec<u8>> {
        let chip = Chip::FastDoubles;
        super::without_stack_pointer(
            code,
            Setting {
                tables,
                ..setting(chip)
            },
        )
    }

    pub(super) const LDC: u16 = 0x7b82;
    const IADD3: u16 = 0x7210;
    pub(super) const EXIT: u16 = 0x794d;
    /// Two instructions back, if the predicate holds.
    pub(super) const BRANCH_BACK: u16 = 0x0947;

    pub(super) fn instruction(opcode: u16, target: u8, write: u8, waits: u8) -> [u8; INSTRUCTION] {
        let mut instruction = [0; INSTRUCTION];
        instruction[..2].copy_from_slice(&opcode.to_le_bytes());
        instruction[2] = target;
        Control::set(&mut instruction, write, NO_BOARD, waits);
        if opcode == BRANCH_BACK {
            // -48 in units of four bytes: eight bits here, the others above.
            instruction[2] = 0xf4;
            instruction[4..11].copy_from_slice(&[0xfc, 0xff, 0xff, 0xff, 0xff, 0xff, 0x83]);
        }
        instruction
    }

    pub(super) fn controls(code: &[u8]) -> Vec<(u8, u8)> {
        let controls = code.chunks_exact(INSTRUCTION).map(Control::of);
        controls.map(|c| (c.write(), c.waits())).collect()
    }

    #[test]
    fn waits_go_with_what_they_wait_for() {
        let code = [
            instruction(LDC, 1, 0, 0),
            instruction(LDC, 2, 1, 0),
            instruction(LDC, 4, 2, 0),
            instruction(IADD3, 6, NO_BOARD, 0b010),
            instruction(IADD3, 6, NO_BOARD, 0b101),
            instruction(EXIT, 0, NO_BOARD, 0),
        ]
        .concat();
        let changed = without_stack_pointer(&code, &[]).unwrap();
        let expected = [(7, 0), (0, 0), (1, 0), (7, 0b01), (7, 0b10), (7, 0)];
        assert_eq!(controls(&changed), expected);
    }

    #[test]
    fn waits_for_all_do_not_free_the_scoreboard_of_the_stack_pointer() {
        let code = [
            instruction(LDC, 1, 0, 0),
            instruction(IADD3, 6, NO_BOARD, 0b11_1111),
            instruction(LDC, 2, 1, 0),
            instruction(LDC, 4, 2, 0),
            instruction(IADD3, 6, NO_BOARD, 0b010),
            instruction(IADD3, 6, NO_BOARD, 0b100),
            instruction(EXIT, 0, NO_BOARD, 0),
        ]
        .concat();
        let changed = without_stack_pointer(&code, &[]).unwrap();
        let expected = [(7, 0), (7, 63), (0, 0), (1, 0), (7, 1), (7, 2), (7, 0)];
        assert_eq!(controls(&changed), expected);
    }

    #[test]
    fn code_of_older_compilers_joins_what_other_blocks_have_left() {
        const MAYBE_EXIT: u16 = 0x094d;
        let code = |board: u8, waits: u8| {
            let mut both = sum(41, 13, waits);
            both[4] = 15;
            let mut load = instruction(LDC, 15, board, 0);
            Control::lengthen_stall(&mut load, 2);
            [
                instruction(LDC, 1, 0, 0),
                instruction(LDC, 13, 1, 0),
                instruction(MAYBE_EXIT, 0, NO_BOARD, 0),
                load,
                both,
                sum(41, 1, 1),
                instruction(EXIT, 0, NO_BOARD, 0),
            ]
            .concat()
        };
        let anew = chosen(&code(2, 0b110), setting(Chip::FastDoubles), false, None);
        assert_eq!(anew, Some(code(1, 0b010)));
        assert_eq!(
            chosen(&code(1, 0b010), setting(Chip::FastDoubles), false, None),
            anew
        );
    }

    #[test]
    fn what_is_waited_for_takes_two_cycles() {
        let load = |board| instruction(LDC, 12, board, 0);
        let code = [load(0), sum(41, 14, 0b10), load(1), sum(41, 12, 0b10)].concat();
        let spaced = spaced(code, |_| false);
        let stalls = spaced.chunks_exact(INSTRUCTION).map(Control::of);
        assert_eq!(stalls.map(Control::stall).collect::<Vec<_>>(), [0, 0, 2, 0]);
    }

    #[test]
    fn reports_wait_for_the_predicate_that_they_share_with_the_exit() {
        // ATOM.E.ADD.F16x2.RN.STRONG.GPU P0, RZ, desc[UR10][R6.64+0x4], R36, and what
        // follows under P0.
        let words: [(u64, u64); 5] = [
            (0x8000_0424_06ff_79a2, 0x0003_e400_0c10_e10a),
            (0x0992, 0x000f_c000_0000_5000),
            (0x09ab, 0x000f_c000_0000_0000),
            (0x05ab, 0x000f_ec00_0000_0000),
            (0x094d, 0x000f_ea00_0380_0000),
        ];
        let of_words = |(low, high): (u64, u64)| [low.to_le_bytes(), high.to_le_bytes()].concat();
        let mut code = words.map(of_words).concat();
        Control::set_waits(&mut code[4 * INSTRUCTION..], 0b110);
        wait_in_reports(&mut code);
        let waits: Vec<u8> = controls(&code).iter().map(|control| control.1).collect();
        assert_eq!(waits, [0, 0, 0b010, 0, 0b100]);
    }

    #[test]
    fn a_used_stack_pointer_keeps_its_scoreboard() {
        let mut use_of_it = instruction(IADD3, 6, NO_BOARD, 1);
        use_of_it[3] = 1;
        let exit = instruction(EXIT, 0, NO_BOARD, 0);
        let code = [instruction(LDC, 1, 0, 0), use_of_it, exit].concat();
        assert_eq!(without_stack_pointer(&code, &[]), None);
    }

    #[test]
    fn scoreboards_that_instructions_name_stay() {
        const LDGDEPBAR: u16 = 0x79af;
        let named = |board: u8| {
            let mut depbar = instruction(0x791a, 0, NO_BOARD, 0);
            depbar[4..8].copy_from_slice(&(0x8040 | u32::from(board) << 12).to_le_bytes());
            depbar
        };
        let code = |board| {
            let load = instruction(LDC, 1, 1, 0);
            let other = instruction(LDC, 2, 2, 0);
            let mine = instruction(LDGDEPBAR, 0, board, 0);
            let wait = instruction(IADD3, 6, NO_BOARD, 0b100);
            let exit = instruction(EXIT, 0, NO_BOARD, 0);
            [load, other, mine, named(board), wait, exit].concat()
        };
        let changed = without_stack_pointer(&code(0), &[]).unwrap();
        let expected = [(7, 0), (1, 0), (0, 0), (7, 0), (7, 0b10), (7, 0)];
        assert_eq!(controls(&changed), expected);
        // Whoever else holds it keeps it too.
        let changed = without_stack_pointer(&code(2), &[]).unwrap();
        let expected = [(7, 0), (2, 0), (2, 0), (7, 0), (7, 0b100), (7, 0)];
        assert_eq!(controls(&changed), expected);
    }

    /// One that adds a register to itself.
    pub(super) fn sum(target: u8, operand: u8, waits: u8) -> [u8; INSTRUCTION] {
        let mut sum = instruction(IADD3, target, NO_BOARD, waits);
        sum[3] = operand;
        sum[4] = operand;
        sum[8] = 0xff;
        sum
    }

    #[test]
    fn results_that_share_no_more_are_waited_for_where_they_are_used() {
        // All are taken, so the last two share; then one has become free.
        let load = |register, board| instruction(LDC, register, board, 0);
        let loads = [
            load(1, 0),
            load(13, 1),
            load(15, 2),
            load(17, 3),
            load(19, 4),
            load(21, 5),
            load(23, 5),
        ];
        let uses = |first, then| {
            let [first, then] = [first, then].map(|(register, waits)| sum(41, register, waits));
            let exit = instruction(EXIT, 0, NO_BOARD, 0);
            [loads.concat(), first.into(), then.into(), exit.into()].concat()
        };
        let waits = |code: &[u8]| {
            let changed = without_stack_pointer(code, &[]).unwrap();
            let controls = controls(&changed);
            assert_eq!((controls[5].0, controls[6].0), (4, 5));
            (controls[7].1, controls[8].1)
        };
        assert_eq!(waits(&uses((21, 1 << 5), (23, 0))), (1 << 4, 1 << 5));
        assert_eq!(waits(&uses((23, 1 << 5), (21, 0))), (1 << 5, 1 << 4));
        // What uses them is not to be seen.
        assert_eq!(waits(&uses((33, 1 << 5), (21, 0))), (1 << 5 | 1 << 4, 0));
    }

    #[test]
    fn collectives_end_where_they_say() {
        const WARPSYNC: u16 = 0x7348;
        const ENDCOLLECTIVE: u16 = 0x791b;
        // To the fourth instruction behind it, in units of four bytes.
        let mut collective = instruction(WARPSYNC, 12, NO_BOARD, 0);
        collective[3] = 6;
        collective[10] = 0xc0;
        let code = [
            instruction(LDC, 1, 0, 0),
            collective,
            instruction(LDC, 2, 1, 0),
            instruction(ENDCOLLECTIVE, 0, NO_BOARD, 0),
            instruction(EXIT, 0, NO_BOARD, 0),
            instruction(IADD3, 6, NO_BOARD, 0b10),
            instruction(EXIT, 0, NO_BOARD, 0),
        ]
        .concat();
        let changed = without_stack_pointer(&code, &[]).unwrap();
        let expected = [(7, 0), (7, 0), (0, 0), (7, 0), (7, 0), (7, 1), (7, 0)];
        assert_eq!(controls(&changed), expected);
    }

    #[test]
    fn code_that_leads_nowhere_known_stays() {
        const BRX: u16 = 0x7949;
        let table = |target| {
            let (offset, targets) = (16, vec![target]);
            [TableBranch { offset, targets }]
        };
        let code = [
            instruction(LDC, 1, 0, 0),
            instruction(BRX, 4, NO_BOARD, 1),
            instruction(EXIT, 0, NO_BOARD, 0),
        ]
        .concat();
        assert_eq!(without_stack_pointer(&code, &[]), None);
        assert_eq!(without_stack_pointer(&code, &table(8)), None);
        let changed = without_stack_pointer(&code, &table(32)).unwrap();
        assert_eq!(controls(&changed), [(7, 0), (7, 0), (7, 0)]);
        assert_eq!(without_stack_pointer(&code[..16], &[]), None);
        assert_eq!(without_stack_pointer(&[], &[]), None);
    }

    #[test]
    fn what_nobody_waits_for_at_once_takes_one_cycle() {
        const MEMBAR: u16 = 0x7992;
        let stalls = |code: &[u8]| -> Vec<u8> {
            let instructions = code.chunks_exact(INSTRUCTION);
            instructions.map(|i| Control::of(i).stall()).collect()
        };
        let mut load = instruction(LDC, 14, 1, 0);
        Control::lengthen_stall(&mut load, TAKING);
        let exit = instruction(EXIT, 0, NO_BOARD, 0b10);
        let old = [load, exit].concat();
        let origin = |places: &'static [Option<usize>]| Origin {
            code: &old,
            setting: setting(Chip::FastDoubles),
            places: Some(places),
            is_timed: false,
        };
        let barrier = instruction(MEMBAR, 0, NO_BOARD, 0);
        let new = [load, barrier, exit].concat();
        let between = origin(&[Some(0), None, Some(1)]).without_spaces(&new);
        assert_eq!(stalls(&between), [1, 0, 0]);
        let same = origin(&[Some(0), Some(1)]).without_spaces(&old);
        assert_eq!(stalls(&same), [1, 0]);
        assert_eq!(stalls(&spaced(same, |_| false)), [2, 0]);
        // The barrier takes no time.
        assert_eq!(stalls(&spaced(between, |_| false)), [2, 0, 0]);
        let slow = [load, instruction(IADD3, 6, NO_BOARD, 0), exit].concat();
        let between = origin(&[Some(0), None, Some(1)]).without_spaces(&slow);
        assert_eq!(stalls(&spaced(between.clone(), |_| false)), [1, 0, 0]);
        // Another block may wait for it.
        assert_eq!(stalls(&spaced(between, |at| at == 0)), [2, 0, 0]);
    }
}
