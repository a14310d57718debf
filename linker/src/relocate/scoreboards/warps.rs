//! Where other warps may go first, and what an instruction keeps of its operands for the next
//! ones of its own warp.
//!
//! Arithmetic that takes three cycles or more lets other warps go first, and others that take
//! twelve. So does arithmetic of two cycles once ten have passed since another warp could. An operand is kept
//! where an instruction behind reads the same register at the same place before another warp can.

use super::control::Control;
use super::instruction::{
    BLOCK_BARRIER, INSTRUCTION, MEMORY_BARRIER, NOP, SLEEP, SYNCS, TRIGGER, WARPSYNC, YIELD,
    cycles, is_idle_load, opcode, operation,
};
use super::operands::{File, Operand, operands};
use super::stalls::{OTHERS_FIRST, OTHERS_FIRST_AT_LAST, is_arithmetic, others_first_from};

/// So long a warp goes first without need.
const LONG_TURN: u32 = 10;

/// Arithmetic of two cycles lets others go first at the end of a long turn.
const SHORT: u32 = 2;

/// One instruction of a block before and after its time changed.
pub(super) struct Timed<'c> {
    pub(super) old: &'c [u8; INSTRUCTION],
    /// Whether nothing is known of its time but by its scoreboards.
    pub(super) is_open: bool,
    /// Whether idle instructions stand behind it now.
    pub(super) is_paused: bool,
}

/// Marks in a block of code where others may go first, if they may at all, and what is kept for whom.
pub(super) fn mark(code: &mut [[u8; INSTRUCTION]], timed: &[Timed<'_>], lets_others: bool) {
    // Cycles since another warp could go first.
    let mut passed = 0;
    // Operands that wait for who reads them.
    let mut waiting: Vec<Waiting> = Vec::new();
    for (at, timed) in timed.iter().enumerate() {
        // Idle loads are a part of the memory barrier behind them.
        let stall = match is_idle_load(&code[at]) {
            true => 0,
            false => cycles(&code[at]),
        };
        if starts_turn(&code[..=at]) {
            passed = 0;
        }
        mark_turn(&mut code[at], timed, stall, passed, lets_others);
        let is_arithmetic = is_arithmetic(&code[at]);
        let others_can = timed.is_paused || !Control::of(&code[at]).stays();
        let others_could = !Control::of(timed.old).stays();
        let instruction = code[at];
        if is_arithmetic {
            for kept in waiting.extract_if(.., |kept| kept.is_read_by(&instruction)) {
                match !timed.is_open && (kept.was_kept || kept.is_found_anew) {
                    true => kept.keep(code),
                    false => kept.release(code),
                }
            }
        }
        waiting.retain(|kept| {
            kept.was_kept
                || !kept.is_written_by(&instruction)
                    && (timed.is_open || !kept.is_pushed_out_by(&instruction))
        });
        passed += stall;
        if ends_turn(&instruction, others_can) {
            passed = 0;
        }
        if others_can {
            let is_over = !others_could || timed.is_paused;
            for kept in waiting.drain(..).filter(|_| is_over) {
                kept.release(code);
            }
        }
        for kept in &mut waiting {
            kept.is_found_anew |= others_could;
        }
        let is_kept = is_arithmetic && !timed.is_open && !others_can;
        for operand in (0..PLACES).filter_map(|place| Waiting::of(&instruction, at, place)) {
            let operand = Waiting {
                is_found_anew: others_could,
                ..operand
            };
            match is_kept {
                true if operand.was_kept || !operand.is_written_by(&instruction) => {
                    waiting.push(operand);
                }
                true => {}
                false => operand.release(code),
            }
        }
    }
}

/// Marks whether others may go first behind an instruction of a block that lets them or not, if that
/// follows from the cycles it takes and those that passed since they could.
fn mark_turn(
    instruction: &mut [u8; INSTRUCTION],
    timed: &Timed<'_>,
    stall: u32,
    passed: u32,
    lets_others: bool,
) {
    // What is not optimized can take no time that is known (case `older_slow`).
    let is_timed = Control::of(instruction).stall() != 0;
    if !is_arithmetic(instruction) || !is_timed {
        return;
    }
    let least = match timed.is_open {
        true => OTHERS_FIRST_AT_LAST,
        false => others_first_from(instruction),
    };
    let is_short_end = stall == SHORT && passed >= LONG_TURN && least == OTHERS_FIRST;
    Control::set_stall(instruction, stall as u8);
    if lets_others && (stall >= least || is_short_end) {
        Control::keep_ready(instruction);
    }
}

/// Whether the last instruction of some starts a turn, whoever went first before: what sleeps where a phase was not
/// over, and what lets threads meet if it could not start at once (case `scoreboards_turns`).
fn starts_turn(code: &[[u8; INSTRUCTION]]) -> bool {
    let Some((instruction, earlier @ [.., before])) = code.split_last() else {
        return false;
    };
    match (operation(instruction), operation(before)) {
        (SLEEP, SYNCS) => true,
        (WARPSYNC, NOP) => true,
        // They always take as long.
        (WARPSYNC, YIELD | WARPSYNC | MEMORY_BARRIER | BLOCK_BARRIER) => false,
        (WARPSYNC, _) => {
            let is_timed = is_arithmetic(before) && Control::of(before).takes() == 0;
            !is_timed && cycles(before) > 1 && !is_right_behind_meeting(earlier)
        }
        _ => false,
    }
}

/// Whether what stands behind these instructions had to wait for threads to meet before they can again.
fn is_right_behind_meeting(code: &[[u8; INSTRUCTION]]) -> bool {
    const MEETING_TO_MEETING: u32 = 8;
    let mut passed = 0;
    for instruction in code.iter().rev() {
        passed += cycles(instruction);
        if passed >= MEETING_TO_MEETING {
            return passed == MEETING_TO_MEETING && operation(instruction) == WARPSYNC;
        }
    }
    false
}

/// Whether a turn ends with an instruction. What orders memory takes no time that is known, and
/// lets nobody go first.
fn ends_turn(instruction: &[u8; INSTRUCTION], lets_others: bool) -> bool {
    match operation(instruction) {
        TRIGGER => true,
        MEMORY_BARRIER => false,
        _ => lets_others,
    }
}

/// How many operands can be kept, and the first bit of those that say so.
const PLACES: usize = 3;
const KEPT: usize = 15;
const FIRST_KEPT: usize = 2;

/// Parts of a processor, each of which keeps operands for itself (case `doubles_slower`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Keeper {
    Halves,
    Doubles,
    Matrices,
    Others,
}

impl Keeper {
    fn of(instruction: &[u8; INSTRUCTION]) -> Self {
        match operation(instruction) {
            // HADD2, HFMA2, HMUL2, HSET2, HSETP2 and HMNMX2.
            0x030..=0x034 | 0x040 => Self::Halves,
            // DMUL, DADD, DSETP and DFMA.
            0x028..=0x02b => Self::Doubles,
            // IMMA, HMMA, DMMA, QMMA and OMMA.
            0x037 | 0x03c | 0x03f | 0x07a | 0x07f => Self::Matrices,
            _ => Self::Others,
        }
    }
}

/// An operand that an instruction behind may read once more.
struct Waiting {
    keeper: Keeper,
    /// The instruction of the block that reads it first.
    at: usize,
    place: usize,
    registers: Operand,
    was_kept: bool,
    /// Whether others could go first where they can no more.
    is_found_anew: bool,
}

impl Waiting {
    /// The operand at a place of an instruction, if there is one.
    fn of(instruction: &[u8; INSTRUCTION], at: usize, place: usize) -> Option<Self> {
        let was_kept = instruction[KEPT] >> FIRST_KEPT >> place & 1 == 1;
        let registers = match was_kept {
            true => registers(instruction, byte_of(instruction, place)?),
            false => read_at(instruction, place)?,
        };
        Some(Self {
            keeper: Keeper::of(instruction),
            at,
            place,
            registers,
            was_kept,
            is_found_anew: false,
        })
    }

    /// Also as a part of several.
    fn is_read_by(&self, instruction: &[u8; INSTRUCTION]) -> bool {
        let is_it = |other: Operand| other.has(self.registers.first);
        self.keeper == Keeper::of(instruction)
            && read_at(instruction, self.place).is_some_and(is_it)
    }

    /// Even registers are kept apart from odd ones, and two take the place of both. What is open reads its own elsewhere.
    fn is_pushed_out_by(&self, instruction: &[u8; INSTRUCTION]) -> bool {
        let is_like = |other: Operand| {
            self.registers.count.max(other.count) > 1 || other.first % 2 == self.registers.first % 2
        };
        is_arithmetic(instruction)
            && self.keeper == Keeper::of(instruction)
            && read_at(instruction, self.place).is_some_and(is_like)
    }

    fn is_written_by(&self, instruction: &[u8; INSTRUCTION]) -> bool {
        let mut written = operands(instruction)
            .into_iter()
            .flatten()
            .filter(|operand| operand.is_written && operand.file == File::Thread);
        written
            .any(|operand| operand.has(self.registers.first) || self.registers.has(operand.first))
    }

    fn keep(&self, code: &mut [[u8; INSTRUCTION]]) {
        code[self.at][KEPT] |= self.bit();
    }

    fn release(&self, code: &mut [[u8; INSTRUCTION]]) {
        code[self.at][KEPT] &= !self.bit();
    }

    /// The mark of its place, in the byte of all marks.
    fn bit(&self) -> u8 {
        1 << (FIRST_KEPT + self.place)
    }
}

/// Which byte of an instruction holds the register at a place, if its form has one there.
fn byte_of(instruction: &[u8; INSTRUCTION], place: usize) -> Option<usize> {
    /// FADD, DSETP, HADD2, HSET2 and HSETP2, whose second operand is read where others have the third.
    const SUMS: [u16; 5] = [0x021, 0x02a, 0x030, 0x033, 0x034];
    /// MOV, IABS and I2FP, whose only operand is the second one.
    const SECOND_ONLY: [u16; 3] = [0x002, 0x013, 0x045];
    let is_sum = SUMS.contains(&operation(instruction));
    let form = opcode(instruction) >> 9;
    match (place, form) {
        (0, _) if SECOND_ONLY.contains(&operation(instruction)) => None,
        (0, _) => Some(3),
        (1, 1) if !is_sum => Some(4),
        (2, 1) if is_sum => Some(4),
        // The other one is no register.
        (1, 2 | 3 | 7) | (2, 1 | 4..=6) => Some(8),
        _ => None,
    }
}

/// The registers that an instruction reads at a place, if they are known.
fn read_at(instruction: &[u8; INSTRUCTION], place: usize) -> Option<Operand> {
    const ZERO: u8 = 0xff;
    let byte = byte_of(instruction, place)?;
    let register = instruction[byte];
    let read = operands(instruction)?
        .filter(|operand| !operand.is_written && operand.file == File::Thread);
    // What has no operand at a place may hold the number of another one there.
    let places = (0..=place).filter_map(|place| byte_of(instruction, place));
    let same = places.filter(|&byte| instruction[byte] == register);
    let reads = read.filter(|operand| operand.first == register).count();
    (register != ZERO && reads >= same.count()).then(|| registers(instruction, byte))
}

/// The registers that start with the one in a byte of an instruction.
fn registers(instruction: &[u8; INSTRUCTION], byte: usize) -> Operand {
    let first = instruction[byte];
    let read = operands(instruction).into_iter().flatten();
    let mut read = read.filter(|operand| !operand.is_written && operand.file == File::Thread);
    let single = Operand {
        file: File::Thread,
        first,
        count: 1,
        is_written: false,
    };
    read.find(|operand| operand.first == first)
        .unwrap_or(single)
}

#[cfg(test)]
mod tests {
    use super::super::tests::sum;
    use super::*;

    type Instruction = [u8; INSTRUCTION];

    /// IADD3 that reads one register, takes so many cycles, and lets nobody go first.
    fn arithmetic(register: u8, stall: u8) -> Instruction {
        let mut sum = sum(41, register, 0);
        sum[1] = 0x72;
        (sum[4], sum[8]) = (0xff, 0xff);
        Control::set_stall(&mut sum, stall);
        sum
    }

    fn kept(mut code: Vec<Instruction>, old: &[Instruction]) -> (Vec<bool>, Vec<u8>) {
        let timed = old.iter().map(|old| Timed {
            old,
            is_open: false,
            is_paused: false,
        });
        mark(&mut code, &timed.collect::<Vec<_>>(), true);
        let stays = code.iter().map(|i| Control::of(i).stays());
        let kept = code.iter().map(|i| i[KEPT] >> FIRST_KEPT & 7);
        (stays.collect(), kept.collect())
    }

    #[test]
    fn others_go_first_after_ten_cycles() {
        let short = arithmetic(0, 2);
        let code: Vec<_> = (1..8).map(|register| (register, 2)).collect();
        let code = code
            .iter()
            .map(|&(register, stall)| arithmetic(register, stall));
        let (stays, _) = kept(code.collect(), &[short; 7]);
        assert_eq!(stays, [true, true, true, true, true, false, true]);
        // `@!PT LDS RZ, [RZ]` takes no time.
        let mut idle = short;
        idle[..12].copy_from_slice(&[0x84, 0xf9, 0xff, 0xff, 0, 0, 0, 0, 0, 8, 0, 0]);
        let code = [
            vec![arithmetic(1, 2); 4],
            vec![idle; 2],
            vec![arithmetic(2, 2); 2],
        ]
        .concat();
        let (stays, _) = kept(code, &[short; 8]);
        assert_eq!(stays[4..], [true, true, true, false]);
        let (stays, _) = kept(vec![arithmetic(1, 3), arithmetic(2, 1)], &[short; 2]);
        assert_eq!(stays, [false, true]);
        // HMMA and LDSM take longer anyway.
        for operation in [0x3c, 0x3b] {
            let mut matrices = arithmetic(1, 8);
            matrices[0] = operation;
            assert_eq!(kept(vec![matrices], &[short]).0, [true]);
        }
    }

    #[test]
    fn threads_that_meet_behind_a_barrier_start_no_turn() {
        // BAR.SYNC or a load, then WARPSYNC and arithmetic.
        let turn = |operation: u16| {
            let [mut first, mut meeting] = [arithmetic(1, 6), arithmetic(1, 5)];
            first[..2].copy_from_slice(&(0x7000 | operation).to_le_bytes());
            meeting[..2].copy_from_slice(&(0x7000 | WARPSYNC).to_le_bytes());
            let code = vec![first, meeting, arithmetic(1, 2)];
            kept(code, &[arithmetic(0, 2); 3]).0[2]
        };
        const LDG: u16 = 0x181;
        assert!(!turn(BLOCK_BARRIER));
        assert!(turn(LDG));
    }

    #[test]
    fn what_says_no_time_stays_as_it_is() {
        let mut untimed = arithmetic(1, 0);
        Control::keep_ready(&mut untimed);
        let mut code = [untimed];
        let timed = Timed {
            old: &untimed,
            is_open: false,
            is_paused: false,
        };
        mark(&mut code, &[timed], true);
        assert_eq!(code, [untimed]);
    }

    #[test]
    fn operands_are_kept_where_others_could_go_first_before() {
        let mut let_others = arithmetic(0, 3);
        Control::keep_ready(&mut let_others);
        let stayed = arithmetic(0, 1);
        let code = |middle: u8| vec![arithmetic(3, 1), arithmetic(middle, 1), arithmetic(3, 1)];
        // They could not go first, so the compiler knew; an odd register takes the place.
        assert_eq!(kept(code(4), &[stayed; 3]).1, [0; 3]);
        assert_eq!(kept(code(4), &[stayed, let_others, stayed]).1, [1, 0, 0]);
        assert_eq!(kept(code(5), &[stayed, let_others, stayed]).1, [0; 3]);
        // What was kept goes where others may go first now.
        let mut paused = code(4);
        paused[0][KEPT] |= 1 << FIRST_KEPT;
        Control::set_stall(&mut paused[1], 3);
        assert_eq!(kept(paused.clone(), &[stayed; 3]).1, [0; 3]);
        assert_eq!(kept(paused, &[stayed, let_others, stayed]).1, [1, 0, 0]);
    }

    #[test]
    fn two_registers_take_the_place_of_even_and_odd_ones() {
        let mut let_others = arithmetic(0, 3);
        Control::keep_ready(&mut let_others);
        let stayed = arithmetic(0, 1);
        const THIRD: u8 = 1 << 2;
        // IADD3 R41, RZ, RZ, and another register, and IMAD.WIDE R44, RZ, RZ, R6.
        let third = |register: u8| {
            let mut sum = arithmetic(0xff, 1);
            sum[8] = register;
            sum
        };
        let mut product = third(6);
        (product[0], product[2]) = (0x25, 44);
        let first_kept = |first: Instruction, middle: Instruction, last: Instruction| {
            kept(vec![first, middle, last], &[stayed, let_others, stayed]).1[0]
        };
        for register in [3, 4] {
            assert_eq!(first_kept(third(register), product, third(register)), 0);
        }
        assert_eq!(first_kept(third(7), third(10), product), THIRD);
        assert_eq!(first_kept(third(6), third(9), product), THIRD);
        assert_eq!(first_kept(product, third(9), product), 0);
    }

    #[test]
    fn moves_read_nothing_at_the_first_place() {
        // MOV R4, R0, which holds a zero where others have their first operand.
        let mut copy = arithmetic(0, 1);
        (copy[0], copy[1], copy[2], copy[4], copy[8]) = (0x02, 0x72, 4, 0, 0);
        let read = |code: &Instruction| {
            [0, 1].map(|place| read_at(code, place).map(|operand| operand.first))
        };
        assert_eq!(read(&copy), [None, Some(0)]);
        // IABS.
        copy[0] = 0x13;
        assert_eq!(read(&copy), [None, Some(0)]);
    }

    #[test]
    fn results_that_go_nowhere_end_with_the_last_register() {
        // IMAD.WIDE
        let mut product = arithmetic(4, 1);
        (product[0], product[2]) = (0x25, 0xff);
        let mut written = operands(&product).unwrap().filter(|o| o.is_written);
        assert!(written.any(|operand| operand.first == 0xff && operand.count == 2));
        let code = vec![arithmetic(3, 1), product, arithmetic(3, 1)];
        let mut let_others = arithmetic(0, 3);
        Control::keep_ready(&mut let_others);
        let stayed = arithmetic(0, 1);
        assert_eq!(kept(code, &[stayed, let_others, stayed]).1, [1, 0, 0]);
    }
}
