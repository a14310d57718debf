//! The bits of control instructions that matter where code moves.

use super::super::scoreboards::control::Control;
use super::super::scoreboards::instruction::{
    BRANCH, BSSY, CALL_RELATIVE, CONTROL, INSTRUCTION, Next, RETURN, TABLE_BRANCHES, WARPSYNC,
    calls_pointer, next, opcode, operation,
};
use super::super::scoreboards::stalls::set_stall;

/// Control instructions without a place in the code: BSYNC, BREAK, CALL.ABS, YIELD, EXIT, both RPCMOV, BMOV, BPT and
/// NANOSLEEP.
const WITHOUT_PLACE: [u16; 11] = [
    0x141, 0x142, 0x143, 0x146, 0x14d, 0x152, 0x153, 0x155, 0x156, 0x15c, 0x15d,
];

/// LEPC of a place so many bytes from the next instruction, which returns there.
const RETURN_ADDRESS: u16 = 0x94e;
/// The bits of that number.
const RETURN_DISTANCE: (u32, u32) = (24, 58);

/// Whether a `RET` goes to an address in registers, whatever its own is.
fn is_absolute_return(instruction: &[u8; INSTRUCTION]) -> bool {
    operation(instruction) == RETURN && instruction[4..12] == [0, 0, 0, 0, 0, 0, 0xe0, 0x03]
}

/// The predicate that says which threads an instruction is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Guard {
    /// 7 is true for all.
    predicate: u8,
    is_negated: bool,
}

impl Guard {
    /// The guard of an `EXIT`.
    pub(super) fn of_exit(instruction: &[u8; INSTRUCTION]) -> Option<Self> {
        let [0x4d, guard, 0, 0, 0, 0, 0, 0, 0, 0, low, high, ..] = *instruction else {
            return None;
        };
        let is_known = guard & 0xf == 9 && low & 0x7f == 0 && high <= 3;
        is_known.then_some(Self {
            predicate: guard >> 4 & 7,
            is_negated: guard >> 7 == 1,
        })
    }

    /// What an `EXIT` asks besides its predicate.
    pub(super) fn besides(exit: &[u8; INSTRUCTION]) -> Self {
        Self {
            predicate: exit[10] >> 7 | (exit[11] & 3) << 1,
            is_negated: false,
        }
    }

    /// Whether it is the predicate that is true for all threads.
    pub(super) fn is_for_all(self) -> bool {
        self.predicate == 7 && !self.is_negated
    }

    /// The same instruction, but guarded.
    pub(super) fn on(self, mut instruction: [u8; INSTRUCTION]) -> [u8; INSTRUCTION] {
        let guard = self.predicate | u8::from(self.is_negated) << 3;
        instruction[1] = instruction[1] & 0xf | guard << 4;
        instruction
    }

    /// The byte of Mercury code, where 31 is true for all.
    pub(super) fn stored(self) -> u8 {
        let predicate = if self.predicate == 7 {
            31
        } else {
            self.predicate
        };
        predicate << 3 | u8::from(self.is_negated)
    }
}

/// Cycles after an `EXIT` for which nothing has to wait.
pub(super) const STALL_OF_EXIT: u8 = 5;

/// Whether an instruction waits as all do in code that is not optimized.
pub(super) fn is_slow(instruction: &[u8; INSTRUCTION]) -> bool {
    let control = Control::of(instruction);
    control.waits() == 0b11 && control.stall() == Control::LONGEST_STALL
}

/// An `EXIT` behind a report that takes so many cycles: what has to be over where the next
/// instruction starts had them besides.
pub(super) fn behind_report(instruction: &[u8; INSTRUCTION], cycles: u32) -> [u8; INSTRUCTION] {
    let mut instruction = *instruction;
    let left = u32::from(Control::of(&instruction).stall()).saturating_sub(cycles);
    set_stall(&mut instruction, left.max(STALL_OF_EXIT.into()));
    instruction
}

/// How far an instruction reaches that names a place: in units of four bytes, [`LOW`] and [`HIGH`].
fn distance(instruction: &[u8; INSTRUCTION]) -> i64 {
    let word = u128::from_le_bytes(*instruction);
    let units = (word & LOW) >> 16 | (word & HIGH) >> 26;
    (units as i64) << 8 >> 6
}

/// Eight bits of a distance.
const LOW: u128 = 0xff << 16;
/// The forty-eight others, further up.
const HIGH: u128 = 0xffff_ffff_ffff << 34;

/// How an instruction depends on its place in the code.
pub(super) enum Place {
    /// Not at all.
    Any,
    /// It names another place, at this distance in bytes from the next instruction.
    Distance(i64),
    /// It branches through a table.
    Table,
    /// It leads to a place in the function that registers hold, and names the start of the function, so many bytes
    /// from the next instruction.
    Start(i64),
    /// Unknown.
    Unknown,
}

/// How the instruction depends on its place.
pub(super) fn place(instruction: &[u8; INSTRUCTION]) -> Place {
    match operation(instruction) {
        BSSY => {
            let [_, _, _, _, a, b, c, d, ..] = *instruction;
            Place::Distance(i32::from_le_bytes([a, b, c, d]).into())
        }
        _ if opcode(instruction) == RETURN_ADDRESS => {
            let (from, bits) = RETURN_DISTANCE;
            let above = u128::BITS - from - bits;
            let word = u128::from_le_bytes(*instruction) as i128;
            Place::Distance((word << above >> (above + from)) as i64)
        }
        CALL_RELATIVE if calls_pointer(instruction) => Place::Start(distance(instruction)),
        BRANCH | CALL_RELATIVE | WARPSYNC => match next(instruction, 0) {
            Next::To(target)
            | Next::Either(target)
            | Next::Call(target)
            | Next::Collective(target) => {
                Place::Distance(target.wrapping_sub(INSTRUCTION as u64) as i64)
            }
            Next::Through => Place::Any,
            _ => Place::Unknown,
        },
        operation if TABLE_BRANCHES.contains(&operation) => Place::Table,
        RETURN if is_absolute_return(instruction) => Place::Any,
        RETURN => Place::Start(distance(instruction)),
        operation if WITHOUT_PLACE.contains(&operation) => Place::Any,
        operation if CONTROL.contains(&operation) => Place::Unknown,
        _ => Place::Any,
    }
}

/// The instruction with another distance; `None` if it cannot be as far.
pub(super) fn with_distance(
    instruction: &[u8; INSTRUCTION],
    distance: i64,
) -> Option<[u8; INSTRUCTION]> {
    let mut changed = *instruction;
    if operation(instruction) == BSSY {
        let distance = i32::try_from(distance).ok()?;
        changed[4..8].copy_from_slice(&distance.to_le_bytes());
        return Some(changed);
    }
    if opcode(instruction) == RETURN_ADDRESS {
        let (from, bits) = RETURN_DISTANCE;
        let mask = (1 << bits) - 1;
        let fields = (distance as u128 & mask) << from;
        let word = u128::from_le_bytes(changed) & !(mask << from) | fields;
        // It always fits: code is not as long.
        return Some(word.to_le_bytes());
    }
    let units = (distance / 4) as u128;
    let fields = (units & 0xff) << 16 | (units >> 8 & 0xffff_ffff_ffff) << 34;
    let word = u128::from_le_bytes(changed) & !(LOW | HIGH) | fields;
    changed = word.to_le_bytes();
    let is_right = match place(&changed) {
        Place::Distance(changed) | Place::Start(changed) => changed == distance,
        // It has the same fields, to which it adds what the table says.
        Place::Table => (distance >> 57) == (distance >> 63),
        Place::Any | Place::Unknown => false,
    };
    is_right.then_some(changed)
}
