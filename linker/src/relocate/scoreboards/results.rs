//! Which instructions can use the result of another one.
//!
//! An instruction that needs more than one result may wait for one scoreboard
//! that they share. Where they no longer share it, each needs its own wait, and
//! the compiler puts that where the result is used first.

use super::instruction::{is_arithmetic, names_no_register, operands, operation};

/// LDG and LDS.
const LOADS: [u16; 2] = [0x181, 0x184];
/// STG and STS.
const STORES: [u16; 2] = [0x186, 0x188];
const LDC: u16 = 0x182;
const LDCU: u16 = 0x1ac;
const S2R: u16 = 0x119;
const S2UR: u16 = 0x1c3;

/// Registers that an instruction writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Registers {
    first: u8,
    count: u8,
}

impl Registers {
    /// What an instruction writes in the end, if that is known.
    pub(super) fn of_result(instruction: &[u8]) -> Option<Self> {
        let count = match operation(instruction) {
            S2R | S2UR => 1,
            LDC | LDCU => width(instruction),
            load if LOADS.contains(&load) => width(instruction),
            _ => return None,
        };
        let first = instruction[2];
        Some(Self { first, count })
    }

    /// Whether an instruction may read or write one of them. Registers of
    /// threads and uniform ones are not told apart, nor what is no register
    /// from what is one.
    pub(super) fn may_be_named_by(self, instruction: &[u8]) -> bool {
        let operation = operation(instruction);
        let is_known = is_arithmetic(instruction)
            || names_no_register(instruction)
            || matches!(operation, LDC | LDCU | S2R | S2UR)
            || LOADS.contains(&operation)
            || STORES.contains(&operation);
        !is_known || operands(instruction).any(|operand| self.meets(operand))
    }

    /// Whether an operand that starts in a register may be one of these. Wide
    /// ones are aligned.
    fn meets(self, operand: u8) -> bool {
        let count = match operand % 4 {
            0 => 4,
            2 => 2,
            _ => 1,
        };
        let end = u16::from(self.first) + u16::from(self.count);
        u16::from(operand) < end && u16::from(self.first) < u16::from(operand) + count
    }
}

/// How many registers a load fills.
fn width(instruction: &[u8]) -> u8 {
    match instruction[9] >> 1 & 7 {
        5 => 2,
        6 | 7 => 4,
        _ => 1,
    }
}
