//! How scoreboards go, in code of a few instructions.

use super::instruction::NO_BOARD;
use super::*;

/// Code without tables and Mercury code.
pub(super) fn setting(chip: Chip) -> Setting<'static> {
    Setting {
        tables: &[],
        chip,
        capsule: &[],
        is_lone: false,
    }
}

pub(super) fn without_stack_pointer(code: &[u8], tables: &[TableBranch]) -> Option<Vec<u8>> {
    let chip = Chip::FastDoubles;
    let setting = Setting {
        tables,
        is_lone: true,
        ..setting(chip)
    };
    super::without_stack_pointer(&Compiled::new(code, setting))
}

pub(super) const LDC: u16 = 0x7b82;
const IADD3: u16 = 0x7210;
pub(super) const NOP: u16 = 0x7918;
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
        instruction(NOP, 6, NO_BOARD, 0b11_1111),
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
fn code_that_leaves_more_under_way_than_any_compiler_stays_as_it_is() {
    const ATOMIC: u16 = 0x79a8;
    let chosen = |count: usize| {
        let mut code = vec![instruction(ATOMIC, 0xff, 1, 0); count];
        code.push(instruction(EXIT, 0, NO_BOARD, 0));
        chosen(&code.concat(), setting(Chip::FastDoubles), None)
    };
    assert!(chosen(100).is_some());
    assert_eq!(chosen(10_000), None);
}

#[test]
fn arithmetic_and_branches_that_wait_for_all_do_so_for_loops() {
    const CCTL: u16 = 0x798f;
    let waits = |operation: u16| {
        super::instruction::waits_for_all(&instruction(operation, 6, NO_BOARD, 0b11_1111))
    };
    assert_eq!([IADD3, BRANCH_BACK].map(waits), [false; 2]);
    assert_eq!([NOP, CCTL].map(waits), [true; 2]);
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
    let anew = chosen(&code(2, 0b110), setting(Chip::FastDoubles), None);
    assert_eq!(anew, Some(code(1, 0b010)));
    assert_eq!(
        chosen(&code(1, 0b010), setting(Chip::FastDoubles), None),
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
    let compiled = Compiled::new(&old, setting(Chip::FastDoubles));
    let origin = |places: &'static [Option<usize>]| Origin {
        compiled: &compiled,
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
