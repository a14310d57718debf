//! Which instructions can use the result of another one.
//!
//! An instruction that needs more than one result may wait for one scoreboard
//! that they share. Where they no longer share it, each needs its own wait, and
//! the compiler puts that where the result is used first.

use super::instruction::{is_arithmetic, names_no_register, opcode, operands, operation};

/// LDG and LDS.
const LOADS: [u16; 2] = [0x181, 0x184];
/// STG and STS.
const STORES: [u16; 2] = [0x186, 0x188];
const LDC: u16 = 0x182;
const LDCU: u16 = 0x1ac;
const S2R: u16 = 0x119;
const S2UR: u16 = 0x1c3;
const SHFL: u16 = 0x189;
/// FLO, I2F, MUFU and POPC.
const SLOW_ARITHMETIC: [u16; 4] = [0x100, 0x106, 0x108, 0x109];

/// Whose registers they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum File {
    Thread,
    /// Of all threads of a warp together.
    Uniform,
}

/// Registers that an instruction writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Registers {
    file: File,
    first: u8,
    count: u8,
}

impl Registers {
    /// What an instruction writes in the end, if that is known.
    pub(super) fn of_result(instruction: &[u8]) -> Option<Self> {
        let (file, count) = match operation(instruction) {
            S2R | SHFL => (File::Thread, 1),
            S2UR => (File::Uniform, 1),
            LDC => (File::Thread, width(instruction)),
            LDCU => (File::Uniform, width(instruction)),
            load if LOADS.contains(&load) => (File::Thread, width(instruction)),
            slow if SLOW_ARITHMETIC.contains(&slow) => (File::Thread, 1),
            _ => return None,
        };
        let first = instruction[2];
        Some(Self { file, first, count })
    }

    /// Whether an instruction may read or write one of them. What is no
    /// register is not told apart from what is one.
    pub(super) fn may_be_named_by(self, instruction: &[u8]) -> bool {
        let Some(files) = files(instruction) else {
            return true;
        };
        let mut operands = operands(instruction);
        operands.any(|(position, operand)| {
            files[position].is_none_or(|file| file == self.file) && self.meets(operand)
        })
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

/// Whose registers the four operands of an instruction can be: any in places
/// with `None`. Nothing if the instruction is not known.
fn files(instruction: &[u8]) -> Option<[Option<File>; 4]> {
    /// The first operation on uniform registers.
    const UNIFORM: u16 = 0x80;
    let (thread, uniform) = (Some(File::Thread), Some(File::Uniform));
    // What stands behind the first source.
    let second = match opcode(instruction) >> 9 {
        6 | 7 => uniform,
        _ => thread,
    };
    Some(match operation(instruction) {
        operation if is_arithmetic(instruction) && operation >= UNIFORM => [uniform; 4],
        operation
            if is_arithmetic(instruction)
                || operation == SHFL
                || SLOW_ARITHMETIC.contains(&operation) =>
        {
            [thread, thread, second, thread]
        }
        load if LOADS.contains(&load) => [thread, thread, uniform, uniform],
        store if STORES.contains(&store) => [thread, thread, thread, uniform],
        LDC | S2R => [thread, None, None, None],
        LDCU | S2UR => [uniform, None, None, None],
        _ if names_no_register(instruction) => [None; 4],
        _ => return None,
    })
}

/// How many registers a load fills.
fn width(instruction: &[u8]) -> u8 {
    match instruction[9] >> 1 & 7 {
        5 => 2,
        6 | 7 => 4,
        _ => 1,
    }
}
