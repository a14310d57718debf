//! Scoreboards and waits that come from the rules.

use super::super::Chip;
use super::super::tests::{BRANCH_BACK, EXIT, LDC, instruction, setting, sum};
use super::*;

/// What the rules choose for the events of code, with a stack pointer or
/// without; whether the former is what the code says.
fn choose(code: &[[u8; INSTRUCTION]]) -> (bool, Choice) {
    choose_on(Chip::FastDoubles, code)
}

fn choose_on(chip: Chip, code: &[[u8; INSTRUCTION]]) -> (bool, Choice) {
    let code = code.concat();
    let understood = Understood::new(&code, &setting(chip)).unwrap();
    let schedule = Schedule::new(&code, &understood, &setting(chip));
    let rules = Rules::new(&code, &understood, &schedule);
    let choose = |first| rules.choose(first, &Deviations::default()).unwrap();
    let (made, choice) = (choose(First::IsLikeOthers), choose(First::TakesNone));
    assert_eq!(
        rules.deviations().unwrap().is_empty(),
        made == Choice::made(&code, &understood.events)
    );
    (rules.deviations().unwrap().is_empty(), choice)
}

#[test]
fn loops_are_waited_for_where_they_start_again() {
    let code = [
        instruction(LDC, 1, 0, 0),
        sum(41, 14, 0b10),
        instruction(LDC, 14, 1, 0),
        instruction(BRANCH_BACK, 0, NO_BOARD, 0),
        instruction(EXIT, 0, NO_BOARD, 0),
    ];
    let (is_explained, choice) = choose(&code);
    assert!(is_explained);
    assert_eq!(choice.boards, [NO_BOARD, 0]);
    assert_eq!(choice.waits, [0, 0b1, 0, 0, 0]);
}

#[test]
fn blocks_wait_at_their_end_for_what_is_over() {
    let slow = long(sum(41, 2, 0), 15);
    let code = |waits| {
        [
            instruction(LDC, 1, 0, 0),
            instruction(LDC, 14, 1, 0),
            slow,
            slow,
            slow,
            slow,
            instruction(MAYBE_EXIT, 0, NO_BOARD, waits),
            instruction(EXIT, 0, NO_BOARD, 0),
        ]
    };
    let (is_explained, choice) = choose(&code(0b11));
    assert!(is_explained);
    assert_eq!(choice.waits[6], 0b1);
    assert!(!choose(&code(0b10)).0);
}

const STS: u16 = 0x7988;
const MAYBE_EXIT: u16 = 0x094d;

/// An instruction that takes so many cycles.
fn long(mut instruction: [u8; INSTRUCTION], cycles: u8) -> [u8; INSTRUCTION] {
    Control::lengthen_stall(&mut instruction, cycles);
    instruction
}

/// One that keeps register 43 until it is read.
fn store(width: u8) -> [u8; INSTRUCTION] {
    let mut store = instruction(STS, 0, NO_BOARD, 0);
    (store[3], store[4], store[9]) = (8, 43, width << 1);
    Control::set(&mut store, NO_BOARD, 0, 0);
    long(store, 1)
}

#[test]
fn wide_stores_to_shared_memory_take_longer() {
    let is_over = |width: u8, cycles: u8| {
        let (first, slow) = (long(sum(41, 2, 0), 1), long(sum(41, 2, 0), cycles - 1));
        let last = instruction(MAYBE_EXIT, 0, NO_BOARD, 0);
        let exit = instruction(EXIT, 0, NO_BOARD, 0);
        choose(&[first, store(width), slow, last, exit]).1.waits[3] == 1
    };
    let least = |width| (2..18).find(|&cycles| is_over(width, cycles));
    assert_eq!([4, 5, 6].map(least), [Some(10), Some(12), Some(16)]);
}

#[test]
fn a_scoreboard_is_not_over_before_what_held_it_in_earlier_blocks() {
    let slow = long(sum(41, 2, 0), 15);
    let last = instruction(MAYBE_EXIT, 0, NO_BOARD, 0);
    let is_over = |slow_before: usize| {
        let mut code = vec![instruction(LDC, 1, 0, 0), instruction(LDC, 43, 1, 0)];
        code.extend(vec![slow; slow_before]);
        code.extend([last, store(4), slow, last]);
        let end = code.len() - 1;
        code.push(instruction(EXIT, 0, NO_BOARD, 0));
        let waits = choose(&code).1.waits;
        assert_eq!(waits[end - 2..end], [1, 0]);
        waits[end] == 1
    };
    assert_eq!([0, 1, 2, 3].map(is_over), [false, false, true, true]);
}

#[test]
fn what_comes_behind_a_barrier_gains_on_what_was_late() {
    const BAR: u16 = 0x7b1d;
    const NOP: u16 = 0x7918;
    let is_over = |before: &[[u8; INSTRUCTION]], behind: &[[u8; INSTRUCTION]]| {
        let last = instruction(MAYBE_EXIT, 0, NO_BOARD, 0);
        let exit = instruction(EXIT, 0, NO_BOARD, 0);
        let code = [before, &[store(4)], behind, &[last, exit]].concat();
        choose(&code).1.waits[code.len() - 2] != 0
    };
    let stack_pointer = instruction(LDC, 1, 0, 0);
    let load = long(instruction(LDC, 14, 1, 0), 1);
    let use_of_it = long(sum(43, 14, 0b10), 4);
    let late = [stack_pointer, load, use_of_it];
    let in_time = [stack_pointer, long(sum(43, 2, 0), 4)];
    let block_end = instruction(MAYBE_EXIT, 0, NO_BOARD, 0);
    let late_before = [&late[..], &[block_end], &in_time[1..]].concat();
    let barrier = long(instruction(BAR, 0, NO_BOARD, 0), 10);
    let slow_load = long(instruction(LDC, 20, 1, 0), 12);
    let idle = long(instruction(NOP, 0, NO_BOARD, 0), 2);
    for behind in [&[barrier][..], &[barrier, idle], &[slow_load]] {
        assert!(is_over(&in_time, behind));
        assert!(!is_over(&late, behind));
        // Blocks do not gain on what others were late for.
        assert!(is_over(&late_before, behind));
    }
}

#[test]
fn syncs_of_warps_and_breaks_behind_uniform_loads_start_blocks_on_graphics() {
    const LDG: u16 = 0x7981;
    const LDCU: u16 = 0x77ac;
    const WARPSYNC: u16 = 0x7948;
    const BREAK: u16 = 0x7942;
    let board = |chip: Chip, before: [u8; INSTRUCTION], start: u16| {
        let mut load = instruction(LDG, 14, 2, 0);
        load[3] = 8;
        let code = [
            instruction(LDC, 1, 0, 0),
            before,
            load,
            instruction(start, 0, NO_BOARD, 0),
            sum(41, 14, 0b100),
            instruction(EXIT, 0, NO_BOARD, 0),
        ];
        choose_on(chip, &code).1.boards.last().copied()
    };
    let (uniform, other) = (instruction(LDCU, 4, 1, 0), sum(41, 2, 0));
    for start in [WARPSYNC, BREAK] {
        // What another block needs takes the last one.
        assert_eq!(board(Chip::Graphics, uniform, start), Some(5));
        assert_eq!(board(Chip::Graphics, other, start), Some(2));
        assert_eq!(board(Chip::FastDoubles, uniform, start), Some(2));
    }
}

/// A load from global memory that takes the last scoreboard.
fn long_load(register: u8, waits: u8) -> [u8; INSTRUCTION] {
    const LDG: u16 = 0x7981;
    let mut load = instruction(LDG, register, 5, waits);
    load[3] = 8;
    load
}

#[test]
fn loads_of_loops_wait_for_those_before_them_that_are_needed_next() {
    let is_explained = |in_loop, behind| {
        choose(&[
            instruction(LDC, 1, 0, 0),
            long_load(14, 0),
            instruction(MAYBE_EXIT, 0, NO_BOARD, 0),
            long_load(16, in_loop),
            sum(41, 14, behind),
            instruction(BRANCH_BACK, 0, NO_BOARD, 0),
            sum(41, 16, 1 << 5),
            instruction(EXIT, 0, NO_BOARD, 0),
        ])
        .0
    };
    assert!(is_explained(1 << 5, 0));
    assert!(!is_explained(1 << 5, 1 << 5));
    assert!(!is_explained(0, 1 << 5));
}

#[test]
fn loads_of_loops_wait_for_those_before_them_that_the_loop_needs() {
    // What is needed by another block of the loop, and what behind it.
    let waits = |in_loop: u8, behind: u8| {
        let mut branch = instruction(BRANCH_BACK, 0, NO_BOARD, 0);
        branch[2] = 0xf0;
        let code = [
            instruction(LDC, 1, 0, 0),
            long_load(14, 0),
            instruction(MAYBE_EXIT, 0, NO_BOARD, 0),
            long_load(16, 0),
            instruction(MAYBE_EXIT, 0, NO_BOARD, 0),
            sum(41, in_loop, 0),
            branch,
            sum(42, behind, 0),
            instruction(EXIT, 0, NO_BOARD, 0),
        ];
        choose(&code).1.waits
    };
    assert_eq!(waits(14, 16), [0, 0, 0, 1 << 5, 0, 0, 0, 1 << 5, 0]);
    // The wait that comes for the loop in the end is not known behind it.
    assert_eq!(waits(18, 14), [0, 0, 0, 1 << 5, 0, 0, 0, 1 << 5, 0]);
}

#[test]
fn what_waits_by_name_does_not_wait_again() {
    const MEMBAR: u16 = 0x7992;
    const DEPBAR: u16 = 0x791a;
    let mut barrier = instruction(MEMBAR, 0, NO_BOARD, 0);
    Control::set(&mut barrier, NO_BOARD, 1, 0);
    let barrier = long(barrier, 6);
    let mut named = instruction(DEPBAR, 0, NO_BOARD, 0);
    // SB1, 0x0
    named[5] = 0x10;
    let code = [
        instruction(LDC, 1, 0, 0),
        instruction(LDC, 12, 0, 0),
        barrier,
        named,
        sum(41, 12, 0b1),
        instruction(EXIT, 0, NO_BOARD, 0),
    ];
    assert_eq!(choose(&code).1.waits, [0, 0, 0, 0, 0b1, 0]);
}

#[test]
fn what_is_held_for_the_same_registers_before_a_loop_is_nothing_new() {
    let is_explained = |register, waits| {
        let mut branch = instruction(BRANCH_BACK, 0, NO_BOARD, 0);
        branch[2] = 0xf0;
        choose(&[
            instruction(LDC, 1, 0, 0),
            long_load(14, 0),
            instruction(MAYBE_EXIT, 0, NO_BOARD, 0),
            instruction(MAYBE_EXIT, 0, NO_BOARD, waits),
            sum(41, 14, 1 << 5),
            long_load(register, 0),
            branch,
            instruction(EXIT, 0, NO_BOARD, 0),
        ])
        .0
    };
    assert!(is_explained(14, 0));
    assert!(is_explained(16, 1 << 5));
    assert!(!is_explained(16, 0));
}

#[test]
fn atomics_without_a_result_wait_for_themselves_in_loops() {
    const ATOMG: u16 = 0x79a8;
    let mut atomic = instruction(ATOMG, 0xff, 5, 0b10_0000);
    (atomic[3], atomic[4]) = (8, 14);
    // It writes no predicate.
    atomic[10] = 0x0e;
    let mut branch = instruction(BRANCH_BACK, 0, NO_BOARD, 0);
    branch[2] = 0xf8;
    let code = [
        instruction(LDC, 1, 0, 0),
        long(atomic, 2),
        branch,
        instruction(EXIT, 0, NO_BOARD, 0),
    ];
    assert_eq!(choose(&code).1.waits, [0, 0b10_0000, 0, 0]);
}

#[test]
fn loops_wait_for_texels_that_are_under_way_around_them() {
    // TEX RZ, R14, R26, UR4, 2D, 0x1, and an LDC in its place.
    const TEXELS: u128 = 0x0003_6200_081e_01ff_20ff_04ff_1a0e_7f60;
    let waits = |first: [u8; INSTRUCTION]| {
        let code = [
            instruction(LDC, 1, 0, 0),
            first,
            instruction(MAYBE_EXIT, 0, NO_BOARD, 0),
            sum(41, 2, 0),
            sum(42, 2, 0),
            // Back to the instruction behind the first branch.
            instruction(BRANCH_BACK, 0, NO_BOARD, 0),
            sum(43, 14, 0),
            instruction(EXIT, 0, NO_BOARD, 0),
        ];
        let waits = choose(&code).1.waits;
        (waits[5], waits[6])
    };
    let mut texels = TEXELS.to_le_bytes();
    Control::set(&mut texels, 5, NO_BOARD, 0);
    assert_eq!(waits(texels), (1 << 5, 1 << 5));
    let (in_loop, behind) = waits(instruction(LDC, 14, 5, 0));
    assert_eq!(in_loop, 0);
    assert_ne!(behind, 0);
}
