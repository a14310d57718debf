//! Which instructions need scoreboards where others take longer than their compiler knew.
//!
//! Some end in the order of the code: doubles, conversions with 64 bits, powers of two and other functions
//! each for themselves. So what waits for one of them has waited for all of its kind before it, and of several that
//! an instruction needs it waits for the last one. What is under way at the end of a block is waited
//! for elsewhere, whoever needs it.

use std::ops::RangeInclusive;

use super::Event;
use super::flow::Flow;
use super::instruction::{Chip, INSTRUCTION, Wait, operation, wait};
use super::timing::{is_power_of_two, slow_part};
use super::uses::Uses;

/// What ends in the order of the code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    Double,
    Conversion,
    PowerOfTwo,
    Function,
}

impl Turn {
    /// That of an instruction, where it ends elsewhere than among others of the fastest processor.
    pub(super) fn of(instruction: &[u8], chip: Chip) -> Option<Self> {
        /// F2F, F2I, I2F and FRND with 64 bits.
        const CONVERSIONS: RangeInclusive<u16> = 0x110..=0x113;
        /// MUFU.
        const FUNCTION: u16 = 0x108;
        match operation(instruction) {
            _ if is_power_of_two(instruction, chip) => Some(Self::PowerOfTwo),
            FUNCTION => Some(Self::Function),
            operation if slow_part(instruction, chip).is_some() => {
                match CONVERSIONS.contains(&operation) {
                    true => Some(Self::Conversion),
                    false => Some(Self::Double),
                }
            }
            _ => None,
        }
    }
}

/// Whether each event of an instruction that has its turn is waited for itself.
pub(super) fn needed(
    code: &[[u8; INSTRUCTION]],
    events: &[Event],
    flow: &Flow,
    uses: &Uses,
    turns: &[Option<Turn>],
) -> Vec<bool> {
    let mut is_needed = vec![false; events.len()];
    let mut under_way: Vec<usize> = Vec::new();
    let turn = |event: usize| turns[events[event].instruction];
    for at in 0..code.len() {
        let is_meant = |event: usize| match wait(&code[at]) {
            Wait::All | Wait::AllAgain => true,
            Wait::Nothing | Wait::Uniform | Wait::Same => uses.is_needed(&events[event], at),
        };
        let wanted: Vec<usize> = under_way.iter().copied().filter(|&e| is_meant(e)).collect();
        for (index, &event) in wanted.iter().enumerate() {
            let mut later = wanted[index + 1..].iter();
            if later.any(|&later| covers(events, turn(later) == turn(event), later, event)) {
                continue;
            }
            is_needed[event] = true;
            under_way.retain(|&other| {
                other > event || !covers(events, turn(other) == turn(event), event, other)
            });
        }
        if turns[at].is_some() {
            // Operands are read before the result is written.
            under_way.extend(flow.own(at).filter(|&event| !events[event].is_write));
            under_way.extend(flow.own(at).filter(|&event| events[event].is_write));
        }
        if flow.ends_block(at) {
            let is_over = flow.followers(at).is_empty();
            under_way
                .drain(..)
                .filter(|_| !is_over)
                .for_each(|event| is_needed[event] = true);
        }
    }
    is_needed
}

/// Whether what waits for an event has waited for an earlier one, or for itself.
fn covers(events: &[Event], is_same_turn: bool, event: usize, earlier: usize) -> bool {
    is_same_turn && (events[event].is_write || !events[earlier].is_write)
}
