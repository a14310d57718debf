//! Mercury code of CUDA 12.8 in the form of today.
//!
//! Where machine code does not say which Mercury instruction it stands for, the
//! latter is stored, in four bytes if its operands are those of the machine
//! code. Which ones that are changed with CUDA 12.9 (cases `older_objects` and
//! `older_uniform`).

use std::borrow::Cow;
use std::cmp::Reverse;

use crate::cubin::{Capsule, StoredInstruction};
use crate::error::ParseError;

use super::super::scoreboards::control::Control;
use super::super::scoreboards::instruction::{
    END_COLLECTIVE, INSTRUCTION, NOP, RESULT, WARPSYNC, opcode, operation,
};
use super::control::{self, Place};
use super::{Group, groups};

/// How long a stored instruction without operands of its own is.
const SHORT: usize = 4;

/// Opcodes of what CUDA 12.8 does not store: CALL.ABS and RET, I2F of bytes
/// and halves of words to 32 and to 64 bits, and FRND of a register of warps.
const CALL: u16 = 0x943;
const RETURN: u16 = 0x950;
const TO_WORD: u16 = 0x306;
const UNIFORM_TO_WORD: u16 = 0xd06;
const TO_LONG: u16 = 0x312;
const UNIFORM_ROUNDED: u16 = 0xd07;
/// I2F of 64 bits, and I2F to 64 bits in another form.
const FROM_LONG: u16 = 0x310;
const UNIFORM_FROM_LONG: u16 = 0xd10;
const UNIFORM_TO_LONG: u16 = 0xd12;
/// MUFU of a register of warps, and ULOP3 of three.
const UNIFORM_FUNCTION: u16 = 0xd08;
const UNIFORM_LOGIC: u16 = 0x292;
/// HSETP2, SHF, IDP and FCHK with a register of warps.
const UNIFORM_HALVES: u16 = 0xe34;
const UNIFORM_SHIFT: u16 = 0xe19;
const UNIFORM_DOT: u16 = 0xc26;
const UNIFORM_CHECK: u16 = 0xd02;

/// What machine code says enough of today, in all forms: FSETP, DSETP, DSEL,
/// BSYNC, CALL.REL, BSSY, BRX, LEPC, BRXU, LDL and LDS.
const SAID: [u16; 11] = [
    0x00b, 0x02a, 0x046, 0x141, 0x144, 0x145, 0x149, 0x14e, 0x158, 0x183, 0x184,
];
const COMPARISON: u16 = 0x00c;

/// The byte of the register that an instruction writes.
const WRITTEN: usize = 2;
/// How ISETP of 32 bits is stored with a register, an immediate, and a register of warps.
const OF_WORDS: [[u8; SHORT]; 3] = [
    [0x42, 0x10, 0x2e, 0x14],
    [0x42, 0x10, 0x30, 0x06],
    [0x42, 0x10, 0x32, 0x14],
];

/// The code of a section in the form of today; `machine` is its machine code.
pub(crate) fn renewed<'d>(
    section: Cow<'d, [u8]>,
    machine: &[u8],
) -> Result<Cow<'d, [u8]>, ParseError> {
    if !Capsule::is_first_form(&section) {
        return Ok(section);
    }
    let capsule = Capsule::parse(&section)?;
    let (machine, _) = machine.as_chunks::<INSTRUCTION>();
    let mut elided = Vec::with_capacity(capsule.instructions as usize);
    let mut stored = Vec::new();
    let mut end = 0;
    for group in groups(&capsule) {
        end = group.end;
        let form = machine.get(group.start);
        let form = form.map(|first| Form::today(group.stored, first));
        if let Some(Form::Stored(bytes)) = form {
            stored.extend_from_slice(bytes);
        }
        elided.push(matches!(form, Some(Form::Said)));
    }
    let bytes = Capsule::assemble(capsule.text_section, Capsule::MARKER, &elided, &stored);
    match bytes.filter(|_| end == machine.len()) {
        Some(bytes) => Ok(Cow::Owned(bytes)),
        None => Err(ParseError::malformed(format!(
            "Mercury code for {end} instructions, where the machine code has {}",
            machine.len()
        ))),
    }
}

/// The machine code of CUDA 12 that waits as that of today, but for scoreboards
/// of other numbers; `None` if it does already.
///
/// Of the idle instructions before those on long numbers, the last takes what is
/// left of the time, where CUDA 12 has the first take it. What a collective waits
/// for at its start, it waits for at its end, too; behind a barrier whose number is in a
/// register it moves the upper half of that down in another way, and what fetches the result comes before its end.
pub(super) fn with_waits_of_today(code: &[u8], capsule: &[u8]) -> Option<Vec<u8>> {
    let capsule = Capsule::parse(capsule).ok()?;
    let mut changed = code.to_vec();
    let (machine, _) = changed.as_chunks_mut::<INSTRUCTION>();
    let groups: Vec<Group<'_>> = groups(&capsule).take(machine.len()).collect();
    for run in groups.chunk_by(|a, b| a.is_idle() && b.is_idle()) {
        let machine = machine.get_mut(run.first()?.start..run.last()?.end)?;
        if run.first().is_some_and(Group::is_idle) {
            machine.sort_by_key(|idle| Reverse(Control::of(idle).stall()));
            let idle = machine.iter_mut().filter(|i| operation(*i) == NOP);
            idle.for_each(Control::keep_ready);
        } else if let [start, .., end] = machine
            && operation(start) == WARPSYNC
            && operation(end) == END_COLLECTIVE
        {
            let waits = Control::of(start).waits() | Control::of(end).waits();
            Control::set_waits(end, waits);
            machine.iter_mut().for_each(shift_lower_half);
        }
    }
    for pair in groups.windows(2) {
        let collective = machine.get_mut(pair[0].start..pair[1].end)?;
        if let [.., end, result] = collective
            && pair[1].is_idle()
            && operation(end) == END_COLLECTIVE
            && operation(result) == RESULT
        {
            fetch_before_end(collective)?;
        }
    }
    (changed != code).then_some(changed)
}

/// Lets what fetches the result of a barrier come before the end of a collective, which waits for it, and the threads go on
/// behind that. `None` if that is too far.
fn fetch_before_end(collective: &mut [[u8; INSTRUCTION]]) -> Option<()> {
    /// Cycles until a register can be written again.
    const TO_SAME: u8 = 6;
    let [start, .., shift, end, result] = collective else {
        return None;
    };
    if let Place::Distance(distance) = control::place(start) {
        *start = control::with_distance(start, distance + INSTRUCTION as i64)?;
    }
    if shift[WRITTEN] == result[WRITTEN] {
        Control::set_stall(shift, TO_SAME);
        Control::keep_ready(shift);
    }
    let waits = Control::of(end).waits() | Control::of(result).takes();
    Control::set_waits(end, waits);
    std::mem::swap(end, result);
    Some(())
}

/// Makes SHF.R.U32.HI R, RZ, 0x10, R the same shift of a lower half, with nothing above.
fn shift_lower_half(instruction: &mut [u8; INSTRUCTION]) {
    const SHIFT: u16 = 0x819;
    const ZERO: u8 = 0xff;
    /// What says that the upper half is the result.
    const UPPER: u8 = 1;
    if opcode(instruction) != SHIFT {
        return;
    }
    let [_, _, _, lower, distance, _, _, _, upper, _, form, ..] = instruction;
    if (*lower, *distance, *form) == (ZERO, 16, UPPER) {
        (*lower, *upper, *form) = (*upper, ZERO, 0);
    }
}

/// How an instruction stands in Mercury code.
enum Form<'c> {
    /// Machine code says it all.
    Said,
    Stored(&'c [u8]),
}

impl<'c> Form<'c> {
    /// That of today, for what CUDA 12.8 stored or did not store.
    fn today(stored: Option<StoredInstruction<'c>>, machine: &[u8; INSTRUCTION]) -> Self {
        let is_said = match opcode(machine) {
            TO_WORD | UNIFORM_TO_WORD | TO_LONG | UNIFORM_TO_LONG => !takes_part(machine),
            FROM_LONG | UNIFORM_FROM_LONG => !takes_part(machine) && !is_of_half(machine),
            UNIFORM_FUNCTION => is_root_or_logarithm(machine),
            UNIFORM_LOGIC => {
                !is_of_two(machine)
                    && written(machine, FIRST_WRITTEN) == ALWAYS
                    && read(machine) == NEVER
            }
            UNIFORM_HALVES => written(machine, SECOND_WRITTEN) == ALWAYS && read(machine) == ALWAYS,
            UNIFORM_SHIFT => shifts_upper_half_left(machine),
            _ if operation(machine) == COMPARISON => {
                let is_of_words = || stored.is_some_and(|s| OF_WORDS.iter().any(|w| s.bytes == w));
                is_extended(machine) || read(machine) == NEVER && is_of_words()
            }
            _ => SAID.contains(&operation(machine)),
        };
        match (stored, opcode(machine)) {
            (Some(stored), _) if stored.bytes.len() > SHORT || !is_said => {
                Self::Stored(stored.bytes)
            }
            (None, CALL) => Self::Stored(&[0x42, 0x0a, 0x02, 0x0e]),
            (None, RETURN) => Self::Stored(&[0x42, 0x33, 0x00, 0x0e]),
            (None, TO_WORD) if !is_said => Self::Stored(&[0x41, 0x12, 0x3c, 0x0a]),
            (None, UNIFORM_TO_WORD) if !is_said => Self::Stored(&[0x41, 0x12, 0x42, 0x0a]),
            (None, TO_LONG) if !is_said => Self::Stored(&[0x41, 0x12, 0x44, 0x0a]),
            (None, UNIFORM_ROUNDED) => Self::Stored(&[0x41, 0x12, 0x90, 0x44]),
            (None, UNIFORM_LOGIC) if !is_said => Self::Stored(&[0x41, 0x27, 0x10, 0x04]),
            (None, UNIFORM_DOT) if is_of_four(machine) => Self::Stored(&[0x41, 0x1e, 0x02, 0x04]),
            (None, UNIFORM_CHECK) => Self::Stored(&[0x41, 0x14, 0x04, 0x0a]),
            (_, _) => Self::Said,
        }
    }
}

/// Whether an ISETP compares the upper halves of longer numbers.
fn is_extended(machine: &[u8; INSTRUCTION]) -> bool {
    machine[9] & 1 != 0
}

/// Whether a MUFU is LG2, RSQ or RSQ64H.
fn is_root_or_logarithm(machine: &[u8; INSTRUCTION]) -> bool {
    const LOGARITHM: u8 = 3;
    const ROOT: u8 = 5;
    const ROOT_OF_LONG: u8 = 7;
    matches!(machine[9] >> 2 & 0xf, LOGARITHM | ROOT | ROOT_OF_LONG)
}

/// The predicate that always holds, and that negated, which never does.
const ALWAYS: u8 = 7;
const NEVER: u8 = ALWAYS | 8;

/// The bits where predicates stand that an instruction writes, and that which it reads besides the one that decides about it.
const FIRST_WRITTEN: u32 = 81;
const SECOND_WRITTEN: u32 = 84;
const READ: u32 = 87;

fn written(machine: &[u8; INSTRUCTION], from: u32) -> u8 {
    (u128::from_le_bytes(*machine) >> from) as u8 & ALWAYS
}

/// The predicate that is read, and 8 more if it must not hold.
fn read(machine: &[u8; INSTRUCTION]) -> u8 {
    (u128::from_le_bytes(*machine) >> READ) as u8 & NEVER
}

/// Whether a SHF is that of the upper half of 64 bits to the left.
fn shifts_upper_half_left(machine: &[u8; INSTRUCTION]) -> bool {
    let (is_right, is_upper) = (machine[9] & 0x10 != 0, machine[10] & 1 != 0);
    is_upper && !is_right
}

/// Whether an IDP is of four pairs of bytes.
fn is_of_four(machine: &[u8; INSTRUCTION]) -> bool {
    machine[9] & 0x10 == 0
}

/// Whether a conversion takes half of a word to one of 64 bits.
fn is_of_half(machine: &[u8; INSTRUCTION]) -> bool {
    const HALF: u8 = 1;
    machine[10] >> 4 & 3 == HALF
}

/// Whether the third operand of a ULOP3 is nothing.
fn is_of_two(machine: &[u8; INSTRUCTION]) -> bool {
    const ZERO: u8 = 0xff;
    machine[8] == ZERO
}

/// Whether a conversion takes a byte or half of a word.
fn takes_part(machine: &[u8; INSTRUCTION]) -> bool {
    const WORD: u8 = 2;
    const LONG: u8 = 3;
    !matches!(machine[9] >> 3 & 7, WORD | LONG)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn instruction(opcode: u16, modifiers: u8, control: u8) -> [u8; INSTRUCTION] {
        let [low, high] = opcode.to_le_bytes();
        let mut instruction = [low, high, 0, 0, 0, 0, 0, 0, 0, modifiers, 0, 0, 0, 0, 0, 0];
        instruction[13] = control;
        instruction
    }

    fn capsule(words: &[u32], bitmap: u8, stored: &[&[u8]]) -> Vec<u8> {
        let words: Vec<_> = words.iter().map(|word| word.to_le_bytes()).collect();
        [words.as_flattened(), &[bitmap, 0, 0, 0], &stored.concat()].concat()
    }

    #[test]
    fn upper_halves_move_down_as_today() {
        // SHF.R.U32.HI R13, RZ, 0x10, R13 and SHF.R.U32 R13, R13, 0x10, RZ
        let words = |low: u64, high: u64| [low.to_le_bytes(), high.to_le_bytes()].concat();
        let old = words(0x0000_0010_ff0d_7819, 0x002f_c800_0001_160d);
        let new = words(0x0000_0010_0d0d_7819, 0x002f_c800_0000_16ff);
        // Another distance.
        let other = words(0x0000_0008_ff0d_7819, 0x002f_c800_0001_160d);
        let shifted = [&old, &new, &other].map(|instruction| {
            let mut instruction = *instruction.first_chunk().unwrap();
            shift_lower_half(&mut instruction);
            instruction.to_vec()
        });
        assert_eq!(shifted, [new.clone(), new, other]);
    }

    #[test]
    fn code_of_the_first_form_is_stored_as_today() {
        // Of two conversions, that of a byte stays; a comparison and what takes the place of the code go, a
        // call comes, and a longer one is what it was.
        let (part, long) = ([0x41, 0x12, 0x48, 0x0a], [1; 16]);
        let machine = [
            (0x7306, 0),
            (0x7306, 0x10),
            (0x720b, 0),
            (0x7943, 0),
            (0x720b, 0),
            (0x794e, 0),
        ];
        let machine = machine.map(|(opcode, modifiers)| instruction(opcode, modifiers, 0));
        let compares = [0x42, 0x10, 0x12, 0x26];
        let place = [0x42, 0x26, 0x00, 0x12];
        let old = capsule(
            &[15, 0x4000_0006],
            0b1000,
            &[&part, &part, &compares, &long, &place],
        );
        let new = renewed(old.into(), machine.as_flattened()).unwrap();
        let call = [0x42, 0x0a, 0x02, 0x0e];
        let expected = capsule(&[15, Capsule::MARKER, 6], 0b10_0110, &[&part, &call, &long]);
        assert_eq!(*new, expected);
        assert_eq!(*renewed(new, &[]).unwrap(), expected);
    }

    /// An instruction by both halves of it.
    fn words(high: u64, low: u64) -> [u8; INSTRUCTION] {
        let mut words = [0; INSTRUCTION];
        words[..8].copy_from_slice(&low.to_le_bytes());
        words[8..].copy_from_slice(&high.to_le_bytes());
        words
    }

    #[test]
    fn some_forms_with_registers_of_warps_are_stored_today() {
        // F2F.F64.F16 R10, R26 and F2F.F64.F32; ULOP3.LUT UP1, UR50, UR4, UR5, UR52, 0x3c, UP0; MUFU.RSQ R0, UR48 and MUFU.TANH;
        // HSETP2.GT.AND P1, PT, R14, UR4, PT and another with P0; SHF.L.U64.HI R39, R38, R31, UR43 and SHF.R.U64; ISETP.NE.U32.AND
        // P2, PT, R2, 0x2, !PT and PT.
        let (half, logic) = ([0x41, 0x12, 0xa8, 0x44], [0x42, 0x2a, 0x12, 0x14]);
        let (root, tangent) = ([0x41, 0x50, 0x0a, 0x0a], [0x41, 0x56, 0x0a, 0x0a]);
        let shift = [0x41, 0x35, 0x0a, 0x04];
        let (halves, compares) = ([0x42, 0x10, 0x2c, 0x26], [0x42, 0x10, 0x30, 0x06]);
        let code = [
            (
                words(0x004e_a200_0010_1800, 0x0000_001a_000a_7310),
                half,
                true,
            ),
            (
                words(0x004e_a200_0020_1800, 0x0000_001a_000a_7310),
                half,
                false,
            ),
            (
                words(0x004f_cc00_0802_3c34, 0x0000_0005_0432_7292),
                logic,
                true,
            ),
            (
                words(0x000e_2400_0800_1400, 0x0000_0030_0000_7d08),
                root,
                false,
            ),
            (
                words(0x000e_2400_0800_2400, 0x0000_0030_0000_7d08),
                tangent,
                true,
            ),
            (
                words(0x001f_e400_0bf2_4c00, 0x2000_0004_0e00_7e34),
                halves,
                false,
            ),
            (
                words(0x001f_e400_0872_4c00, 0x2000_0004_0e00_7e34),
                halves,
                true,
            ),
            (
                words(0x080f_e200_0801_021f, 0x0000_002b_2627_7e19),
                shift,
                false,
            ),
            (
                words(0x080f_e400_0800_121d, 0x0000_000f_0e0e_7e19),
                shift,
                true,
            ),
            (
                words(0x040f_e200_07f4_5070, 0x0000_0002_0200_780c),
                compares,
                false,
            ),
            (
                words(0x040f_e200_03f4_5070, 0x0000_0002_0200_780c),
                compares,
                true,
            ),
        ];
        let machine = code.map(|(machine, ..)| machine);
        let stored = code.each_ref().map(|(_, stored, _)| &stored[..]);
        let old = [
            &[15, 0x4000_000b].map(u32::to_le_bytes).concat()[..],
            &[0; 4],
            &stored.concat(),
        ];
        let kept = code.iter().filter(|(.., is_kept)| *is_kept);
        let kept: Vec<&[u8]> = kept.map(|(_, stored, _)| &stored[..]).collect();
        let head = [15, Capsule::MARKER, 11].map(u32::to_le_bytes).concat();
        let new = [&head[..], &[0b1010_1010, 0b10, 0, 0], &kept.concat()].concat();
        assert_eq!(
            *renewed(old.concat().into(), machine.as_flattened()).unwrap(),
            new
        );
    }

    #[test]
    fn products_of_bytes_and_checks_are_stored_today() {
        // IDP.4A.U8.U8 R0, R0, UR4, RZ, IDP.2A.LO.U16.S8 R39, R39, UR42, R9, and FCHK P0, R12, UR8.
        let machine = [
            words(0x000f_e200_0800_00ff, 0x0000_0004_0000_7c26),
            words(0x000f_cc00_0800_1409, 0x0000_002a_2727_7c26),
            words(0x000e_a200_0800_0000, 0x0000_0008_0c00_7d02),
        ];
        let old = capsule(&[15, 0x4000_0003], 0b111, &[]);
        let stored: [&[u8]; 2] = [&[0x41, 0x1e, 0x02, 0x04], &[0x41, 0x14, 0x04, 0x0a]];
        let new = capsule(&[15, Capsule::MARKER, 3], 0b010, &stored);
        assert_eq!(*renewed(old.into(), machine.as_flattened()).unwrap(), new);
    }

    #[test]
    fn both_forms_of_code_are_as_long() {
        let old = capsule(&[15, 0x4000_0002], 0b11, &[]);
        let error = renewed(old.into(), &[0; INSTRUCTION]).unwrap_err();
        let problem = "Mercury code for 2 instructions, where the machine code has 1";
        assert!(error.to_string().contains(problem), "{error}");
    }

    #[test]
    fn the_last_idle_instruction_takes_the_rest() {
        let code = |controls: [u8; 4]| controls.map(|control| instruction(0x7918, 0, control));
        let capsule = capsule(&[15, Capsule::MARKER, 4], 0b0001, &[&[0xd0, 0][..]; 3]);
        let old = code([1, 0xe4, 30, 30]);
        let new = code([1, 30, 30, 0xc4]);
        let changed = with_waits_of_today(old.as_flattened(), &capsule);
        assert_eq!(changed.unwrap(), new.as_flattened());
        assert_eq!(with_waits_of_today(new.as_flattened(), &capsule), None);
        assert_eq!(
            with_waits_of_today(old.as_flattened(), &capsule[..12]),
            None
        );
    }

    #[test]
    fn collectives_wait_again_at_their_end() {
        let code = |waits: [u8; 3]| {
            let mut code = [0x7348, 0x7806, 0x791b].map(|opcode| instruction(opcode, 0, 0));
            code.iter_mut()
                .zip(waits)
                .for_each(|(i, waits)| Control::set_waits(i, waits));
            code
        };
        let capsule = capsule(&[15, Capsule::MARKER, 1], 0, &[&[0xd1, 1], &[1; 16]]);
        let changed = with_waits_of_today(code([0b10, 0, 1]).as_flattened(), &capsule);
        assert_eq!(changed.unwrap(), code([0b10, 0, 0b11]).as_flattened());
    }

    #[test]
    fn results_of_barriers_are_fetched_before_collectives_end() {
        // WARPSYNC.COLLECTIVE.ALL, BAR.RED.POPC R6, R6, P0, SHF.R.U32 R6, R6, 0x10, RZ, ENDCOLLECTIVE, B2R.RESULT R5.
        let collective = |distance: u64| words(0x003f_ea00_03c0_0000, 0x7948 | distance << 16);
        let count = words(0x0001_e400_0001_4000, 0x0000_0006_0000_731d);
        let shift = words(0x001f_c800_0000_16ff, 0x0000_0010_0606_7819);
        let end = |waits: u64| words(0x000f_ea00_0380_0000 | waits << 52, 0x791b);
        let result = |register: u64| words(0x000e_2200_000e_4000, 0x731c | register << 16);
        let old = [collective(12), count, shift, end(0), result(5)];
        let capsule = capsule(
            &[15, Capsule::MARKER, 2],
            0,
            &[&[0x51, 2], &[1; 16], &[0xd0, 0]],
        );
        let changed = with_waits_of_today(old.as_flattened(), &capsule).unwrap();
        let new = [collective(16), count, shift, result(5), end(0b11)];
        assert_eq!(changed, new.as_flattened());
        // The register that the shift writes is written again later.
        let old = [collective(12), count, shift, end(0), result(6)];
        let changed = with_waits_of_today(old.as_flattened(), &capsule).unwrap();
        let (changed, _) = changed.as_chunks::<INSTRUCTION>();
        assert_eq!(Control::of(&changed[2]).stall(), 6);
        assert_eq!(changed[3], result(6));
    }
}
