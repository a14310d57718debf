//! What instructions wait for, once others take other scoreboards.

use crate::merge::TableBranch;

use super::flow::Flow;
use super::instruction::{self, BOARDS, Control, INSTRUCTION, NO_BOARD};
use super::registers::Accesses;
use super::{Event, bit, events};

/// The code with other scoreboards for its events.
pub(super) fn renumbered(code: &[u8], events: &[Event], flow: &Flow, boards: &[u8]) -> Vec<u8> {
    let mut changed = code.to_vec();
    // Scoreboards that are waited for where their results are used.
    let mut later: Vec<(u8, Accesses)> = Vec::new();
    flow.walk(events, |index, before, own| {
        let instruction = &code[index * INSTRUCTION..][..INSTRUCTION];
        let waits = Control::of(instruction).waits();
        let mut moved = match instruction::waits_for_all(instruction) {
            true => waits,
            false => 0,
        };
        let taken = own
            .clone()
            .fold(0, |mask: u8, event| mask | bit(boards[event]));
        later.retain(|&(board, result)| {
            let is_due =
                flow.ends_block(index) || taken & bit(board) != 0 || may_use(&result, instruction);
            moved |= if is_due { bit(board) } else { 0 };
            !is_due
        });
        for board in (0..BOARDS).filter(|board| waits >> board & 1 == 1) {
            let mut held = before.events(board).peekable();
            // A wait for nothing is no harm.
            if held.peek().is_none() {
                moved |= bit(board);
            }
            let held: Vec<usize> = held.filter(|&event| boards[event] < BOARDS).collect();
            let result = |&event: &usize| {
                let at = events[event].instruction * INSTRUCTION;
                let is_write = events[event].is_write;
                is_write.then(|| Accesses::of(&code[at..][..INSTRUCTION]))?
            };
            let is_used =
                |event: &usize| result(event).is_none_or(|result| may_use(&result, instruction));
            let used = held.iter().filter(|event| is_used(event));
            let used = used.fold(0, |mask, &event| mask | bit(boards[event]));
            for event in &held {
                let board = boards[*event];
                match result(event) {
                    Some(result)
                        if used != 0
                            && (used | taken) & bit(board) == 0
                            && !flow.ends_block(index) =>
                    {
                        later.push((board, result));
                    }
                    _ => moved |= bit(board),
                }
            }
        }
        later.retain(|&(board, _)| moved & bit(board) == 0);
        let (mut write, mut read) = (NO_BOARD, NO_BOARD);
        for event in own {
            match events[event].is_write {
                true => write = boards[event],
                false => read = boards[event],
            }
        }
        let instruction = &mut changed[index * INSTRUCTION..][..INSTRUCTION];
        Control::set(instruction, write, read, moved);
        Some(())
    });
    changed
}

/// Whether an instruction uses the result of another one, as far as is known.
fn may_use(first: &Accesses, instruction: &[u8]) -> bool {
    Accesses::of(instruction).is_none_or(|second| first.is_used_by(&second))
}

/// For each instruction one bit for each scoreboard that it waits for although
/// nobody can hold it.
pub(super) fn idle_waits(code: &[u8], events: &[Event], flow: &Flow) -> Vec<u8> {
    let mut idle = vec![0; code.len() / INSTRUCTION];
    flow.walk(events, |at, before, _| {
        let instruction = &code[at * INSTRUCTION..][..INSTRUCTION];
        let held = match instruction::waits_for_all(instruction) {
            true => 0,
            false => before.boards(),
        };
        idle[at] = Control::of(instruction).waits() & !held;
        Some(())
    });
    idle
}

/// The code without waits that others who share have come before, but with
/// those of a mask for each instruction.
pub(super) fn without_idle_waits(
    mut code: Vec<u8>,
    tables: &[TableBranch],
    kept: &[u8],
) -> Option<Vec<u8>> {
    let events = events(&code);
    let flow = Flow::new(&code, tables, &events)?;
    let idle = idle_waits(&code, &events, &flow);
    let masks = idle.iter().zip(kept);
    for (instruction, (idle, kept)) in code.chunks_exact_mut(INSTRUCTION).zip(masks) {
        let control = Control::of(instruction);
        let waits = control.waits() & (!idle | kept);
        Control::set(instruction, control.write(), control.read(), waits);
    }
    Some(code)
}
