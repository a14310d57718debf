//! Which instructions need scoreboards where others take longer than their compiler knew.
//!
//! Some end in the order of the code: doubles, products of matrices of integers and of doubles, conversions
//! with 64 bits, powers of two and other functions each for themselves. So what waits for one of them has waited for all of its kind before it, and of several that
//! an instruction needs it waits for the last one. What is under way at the end of a block is waited
//! for elsewhere, whoever needs it.

use super::flow::Flow;
use super::instruction::{Chip, DOUBLE_MATRICES, INSTRUCTION, Wait, operation, wait};
use super::operands::IMMA;
use super::timing::{LONG_CONVERSIONS, Unit, is_power_of_two, slow_part};
use super::uses::Uses;
use super::{Event, Until};

/// What ends in the order of the code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    Double,
    IntegerMatrices,
    DoubleMatrices,
    Conversion,
    PowerOfTwo,
    Function,
}

impl Turn {
    /// That of an instruction, where it ends elsewhere than among others of the fastest processor.
    pub(super) fn of(instruction: &[u8], chip: Chip) -> Option<Self> {
        match operation(instruction) {
            _ if is_power_of_two(instruction, chip) => Some(Self::PowerOfTwo),
            operation if slow_part(instruction, chip).is_some() => {
                let turn = match operation {
                    IMMA => Self::IntegerMatrices,
                    DOUBLE_MATRICES => Self::DoubleMatrices,
                    _ if LONG_CONVERSIONS.contains(&operation) => Self::Conversion,
                    _ => Self::Double,
                };
                Some(turn)
            }
            _ => match Unit::of(instruction, chip) {
                // Counts have a part of their own and take their turn nevertheless.
                Unit::Function | Unit::Count => Some(Self::Function),
                _ => None,
            },
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
    // Whether what waits for an event has waited for an earlier one, or for itself.
    let covers = |event: usize, earlier: usize| {
        turn(event) == turn(earlier)
            && (events[event].until == Until::Written || events[earlier].until == Until::Read)
    };
    for at in 0..code.len() {
        // What comes behind others in their turn writes when they have read.
        let is_read_in_turn = |event: usize| {
            events[event].until == Until::Read && turns[at].is_some() && turns[at] == turn(event)
        };
        let is_meant = |event: usize| match wait(&code[at]) {
            Wait::All => true,
            // What waits for all again leaves it to the end of the block.
            Wait::AllAgain | Wait::Nothing | Wait::Uniform | Wait::UniformUsers | Wait::Same => {
                uses.is_needed(&events[event], at) && !is_read_in_turn(event)
            }
        };
        let wanted: Vec<usize> = under_way.iter().copied().filter(|&e| is_meant(e)).collect();
        for (index, &event) in wanted.iter().enumerate() {
            let mut later = wanted[index + 1..].iter();
            if later.any(|&later| covers(later, event)) {
                continue;
            }
            is_needed[event] = true;
            under_way.retain(|&other| other > event || !covers(event, other));
        }
        if turns[at].is_some() {
            // Operands are read before the result is written.
            under_way.extend(
                flow.own(at)
                    .filter(|&event| events[event].until == Until::Read),
            );
            under_way.extend(
                flow.own(at)
                    .filter(|&event| events[event].until == Until::Written),
            );
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

#[cfg(test)]
mod tests {
    use super::super::control::Control;
    use super::super::events;
    use super::super::instruction::NO_BOARD;
    use super::super::registers::Accesses;
    use super::super::tests::{EXIT, instruction, setting, sum};
    use super::*;

    type Instruction = [u8; INSTRUCTION];

    /// An instruction that takes a scoreboard for its operands and one for its result.
    fn taking(mut instruction: Instruction) -> Instruction {
        Control::set(&mut instruction, 0, 0, 0);
        instruction
    }

    fn needed_in(code: &[Instruction]) -> Vec<bool> {
        let chip = Chip::SlowDoubles;
        let code = [code, &[instruction(EXIT, 0, NO_BOARD, 0)]].concat();
        let turns: Vec<_> = code.iter().map(|i| Turn::of(i, chip)).collect();
        let events = events(code.as_flattened());
        let flow = Flow::new(code.as_flattened(), &events, &setting(chip)).unwrap();
        let accesses = code.iter().map(|i| Accesses::of(i)).collect();
        let uses = Uses::new(code.as_flattened(), &flow, accesses);
        needed(&code, &events, &flow, &uses, &turns)
    }

    #[test]
    fn what_a_collective_waits_for_again_takes_both() {
        const RETURN: u16 = 0x7950;
        const WARPSYNC: u16 = 0x7348;
        const ENDCOLLECTIVE: u16 = 0x791b;
        // DADD R4, R6, R8
        let mut double = instruction(0x7229, 4, 0, 0);
        (double[3], double[8]) = (6, 8);
        let double = taking(double);
        assert_eq!(
            needed_in(&[double, instruction(RETURN, 0, NO_BOARD, 0)]),
            [false, true]
        );
        // To the third instruction behind it, in units of four bytes.
        let mut collective = instruction(WARPSYNC, 8, NO_BOARD, 0);
        collective[10] = 0xc0;
        let end = instruction(ENDCOLLECTIVE, 0, NO_BOARD, 0);
        let code = [double, collective, sum(41, 2, 0), end];
        assert_eq!(needed_in(&code), [true, true]);
    }

    #[test]
    fn operands_are_read_before_what_is_next_in_turn_writes() {
        // F2I and FRND of R6.
        let function = |opcode: u16, target: u8| {
            let mut function = instruction(opcode, target, 0, 0);
            function[4] = 6;
            taking(function)
        };
        let code = [function(0x7305, 4), function(0x7307, 6), sum(41, 6, 0)];
        assert_eq!(needed_in(&code), [false, false, false, true]);
    }
}
