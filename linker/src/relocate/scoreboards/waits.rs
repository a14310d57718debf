//! What instructions wait for, once others take other scoreboards.
//!
//! A wait of the compiler is for a scoreboard, but meant for some of those that
//! hold it. It goes to the scoreboards that these have now, unless an earlier
//! instruction has waited for them because of others with whom they now share.

use crate::merge::TableBranch;

use super::flow::{Flow, Held};
use super::instruction::{self, BOARDS, Control, INSTRUCTION};
use super::registers::Accesses;
use super::rules::Choice;
use super::{Event, bit};

/// What an instruction waits for.
#[derive(Debug, Clone, Default)]
struct Wanted {
    events: Vec<usize>,
    /// One bit for each scoreboard to wait for in any case: nobody can hold it,
    /// or the instruction waits for all.
    always: u8,
}

impl Wanted {
    /// One bit for each scoreboard of an event.
    fn of_events(&self, boards: &[u8]) -> u8 {
        let events = self.events.iter();
        events.fold(0, |mask, &event| mask | bit(boards[event]))
    }

    /// One bit for each scoreboard that an event still holds.
    fn mask(&self, held: &Held, boards: &[u8]) -> u8 {
        let holds = |&&event: &&usize| held.events(boards[event]).any(|other| other == event);
        let holding = self.events.iter().filter(holds);
        holding.fold(self.always, |mask, &event| mask | bit(boards[event]))
    }
}

/// The code with other scoreboards for its events.
pub(super) fn renumbered(
    code: &[u8],
    tables: &[TableBranch],
    events: &[Event],
    flow: &Flow,
    accesses: &[Option<Accesses>],
    boards: &[u8],
) -> Option<Vec<u8>> {
    /// It takes two where loops hold what was waited for.
    const ROUNDS: usize = 4;
    let wanted = wanted(code, events, flow, accesses, boards);
    let renamed = events
        .iter()
        .zip(boards)
        .map(|(event, &board)| Event { board, ..*event });
    let renamed: Vec<Event> = renamed.collect();
    let waits = wanted
        .iter()
        .map(|wanted| wanted.always | wanted.of_events(boards));
    let choice = Choice {
        boards: boards.to_vec(),
        waits: waits.collect(),
    };
    let mut changed = choice.apply(code, flow, events);
    for _ in 0..ROUNDS {
        let before = changed.clone();
        let flow = Flow::new(&before, tables, &renamed, flow.chip())?;
        flow.walk_deciding(&renamed, |at, held| {
            let waits = wanted[at].mask(held, boards);
            let instruction = &mut changed[at * INSTRUCTION..][..INSTRUCTION];
            Control::set_waits(instruction, waits);
            instruction::releases(instruction)
        });
        if changed == before {
            break;
        }
    }
    Some(changed)
}

/// What each instruction waits for.
fn wanted(
    code: &[u8],
    events: &[Event],
    flow: &Flow,
    accesses: &[Option<Accesses>],
    boards: &[u8],
) -> Vec<Wanted> {
    let mut all = vec![Wanted::default(); accesses.len()];
    // What is waited for only where it is needed.
    let mut later: Vec<usize> = Vec::new();
    flow.walk(events, |index, before, own| {
        let instruction = &code[index * INSTRUCTION..][..INSTRUCTION];
        let waits = Control::of(instruction).waits();
        let wanted = &mut all[index];
        if instruction::waits_for_all(instruction) {
            wanted.always = waits;
        }
        let taken = own.fold(0, |mask: u8, event| mask | bit(boards[event]));
        let is_needed = |event: usize| is_needed(&events[event], accesses, index);
        later.retain(|&event| {
            let is_due = flow.ends_block(index) || is_needed(event);
            if is_due {
                wanted.events.push(event);
            }
            // Who waits for the next holder waits for this one, too.
            !is_due && taken & bit(boards[event]) == 0
        });
        for board in (0..BOARDS).filter(|board| waits >> board & 1 == 1) {
            let held: Vec<usize> = before.events(board).collect();
            // A wait for nothing is no harm.
            if held.is_empty() {
                wanted.always |= bit(board);
            }
            let held = || held.iter().copied().filter(|&event| boards[event] < BOARDS);
            let carried = |event: usize| events[event].instruction >= index;
            let is_meant = |event: usize| match instruction::names_no_register(instruction) {
                // Each turn of a loop waits for what it took itself.
                true => carried(event) || !held().any(carried),
                false => is_needed(event),
            };
            let meant = held().filter(|&event| is_meant(event));
            let meant = meant.fold(0, |mask, event| mask | bit(boards[event]));
            for event in held() {
                let is_open = meant != 0 && !is_meant(event);
                match is_open && (meant | taken) & bit(boards[event]) == 0 {
                    true if flow.ends_block(index) => {}
                    true => later.push(event),
                    false => wanted.events.push(event),
                }
            }
        }
        let mask = wanted.of_events(boards);
        later.retain(|&event| mask & bit(boards[event]) == 0);
        Some(())
    });
    all
}

/// Whether an instruction uses the result of another one, or overwrites its
/// operands, as far as is known.
fn is_needed(event: &Event, accesses: &[Option<Accesses>], at: usize) -> bool {
    let (Some(first), Some(second)) = (&accesses[event.instruction], &accesses[at]) else {
        return true;
    };
    match event.is_write {
        true => first.is_used_by(second),
        false => first.is_overwritten_by(second),
    }
}

#[cfg(test)]
mod tests {
    use super::super::instruction::NO_BOARD;
    use super::super::tests::{EXIT, LDC, controls, instruction, sum};
    use super::super::{Chip, events, renumbered};
    use super::*;

    /// A branch with a predicate, so many instructions on.
    fn branch(distance: i8, waits: u8) -> [u8; INSTRUCTION] {
        let mut branch = instruction(0x0947, 0, NO_BOARD, waits);
        let [low, rest] = (i16::from(distance) * 4).to_le_bytes();
        branch[2] = low;
        branch[4..10].fill(rest);
        branch[4] &= 0xfc;
        branch[10] = 0x80 | rest & 3;
        branch
    }

    /// What instructions wait for if events take these scoreboards.
    fn waits(code: &[[u8; INSTRUCTION]], boards: &[u8]) -> Vec<u8> {
        let code = code.concat();
        let events = events(&code);
        let flow = Flow::new(&code, &[], &events, Chip::FastDoubles).unwrap();
        let accesses: Vec<_> = code.chunks_exact(INSTRUCTION).map(Accesses::of).collect();
        let changed = renumbered(&code, &[], &events, &flow, &accesses, boards).unwrap();
        let waits = controls(&changed).into_iter().map(|(_, waits)| waits);
        waits.collect()
    }

    #[test]
    fn what_others_have_waited_for_needs_no_wait() {
        let code = [
            instruction(LDC, 12, 0, 0),
            instruction(LDC, 14, 1, 0),
            sum(41, 12, 0b001),
            instruction(LDC, 16, 2, 0),
            sum(41, 14, 0b010),
            sum(41, 16, 0b100),
            instruction(EXIT, 0, NO_BOARD, 0),
        ];
        assert_eq!(waits(&code, &[0, 0, 0]), [0, 0, 1, 0, 0, 1, 0]);
        assert_eq!(waits(&code, &[0, 1, 1]), [0, 0, 1, 0, 2, 0, 0]);
    }

    #[test]
    fn branches_wait_for_what_their_loop_has_taken() {
        let code = [
            instruction(LDC, 12, 0, 0),
            // The loop starts here.
            branch(1, 0b01),
            sum(41, 12, 0b01),
            instruction(LDC, 14, 0, 0),
            branch(-4, 0),
            instruction(EXIT, 0, NO_BOARD, 0),
        ];
        assert_eq!(waits(&code, &[1, 0]), [0, 1, 2, 0, 0, 0]);
    }
}
