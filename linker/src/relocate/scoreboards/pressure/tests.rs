//! When instructions start, and what shares a scoreboard.

use super::super::First;
use super::super::control::Control;
use super::super::deviations::Deviations;
use super::super::held::Held;
use super::super::instruction::NO_BOARD;
use super::super::rules::Rules;
use super::super::tests::{
    BRANCH_BACK, EXIT, LDC, NOP, controls, instruction, setting, sum, without_stack_pointer,
};
use super::*;

/// What the schedule of code says.
fn scheduled<R>(code: &[[u8; INSTRUCTION]], chip: Chip, say: impl FnOnce(&Schedule<'_>) -> R) -> R {
    let code = code.as_flattened();
    let understood = Understood::new(code, &setting(chip)).unwrap();
    say(&Schedule::new(code, &understood, &setting(chip)))
}

/// Seven results, which are used in an order.
fn code(boards: [u8; 7], uses: [(u8, u8); 7]) -> Vec<u8> {
    let register = |index| 12 + 2 * index;
    let mut code = instruction(LDC, 1, 0, 0).to_vec();
    for (index, board) in (0..).zip(boards) {
        code.extend(instruction(LDC, register(index), board, 0));
    }
    for (index, waits) in uses {
        code.extend(sum(41, register(index), waits));
    }
    code.extend(instruction(EXIT, 0, NO_BOARD, 0));
    code
}

/// The scoreboards of the results and what their uses wait for.
fn changed(boards: [u8; 7], uses: [(u8, u8); 7]) -> (Vec<u8>, Vec<u8>) {
    let controls = controls(&without_stack_pointer(&code(boards, uses), &[]).unwrap());
    let boards = controls[1..8].iter().map(|&(write, _)| write);
    let waits = controls[8..15].iter().map(|&(_, waits)| waits);
    (boards.collect(), waits.collect())
}

#[test]
fn results_share_with_what_is_waited_for_just_before_them() {
    // The last two have shared with the stack pointer, which nobody needs.
    let (boards, waits) = changed(
        [1, 2, 3, 4, 5, 0, 0],
        [(0, 2), (1, 4), (2, 8), (3, 16), (4, 32), (5, 1), (6, 0)],
    );
    assert_eq!(boards, [0, 1, 2, 3, 4, 5, 5]);
    assert_eq!(waits, [1, 2, 4, 8, 16, 32, 0]);
}

#[test]
fn what_another_block_needs_shares_the_last_scoreboard_but_leaves_it_free() {
    const MAYBE_EXIT: u16 = 0x094d;
    const LDG: u16 = 0x7981;
    let register = |index: u8| 20 + 2 * index;
    let code = |held: u8, board: u8| {
        let mut code = vec![instruction(LDG, 12, 2, 0), sum(41, 12, 0b100)];
        code.extend((0..held).map(|index| instruction(LDC, register(index), index, 0)));
        code.push(instruction(LDC, 50, board, 0));
        code.extend((0..held).map(|index| sum(41, register(index), 1 << index)));
        code.push(instruction(MAYBE_EXIT, 0, NO_BOARD, 0));
        code.push(sum(41, 50, 1 << board));
        code.push(instruction(EXIT, 0, NO_BOARD, 0));
        code.concat()
    };
    let chosen = |held: u8| {
        let code = code(held, 0);
        let chip = Chip::FastDoubles;
        let understood = Understood::new(&code, &setting(chip)).unwrap();
        let schedule = Schedule::new(&code, &understood, &setting(chip));
        let rules = Rules::new(&code, &understood, &schedule);
        let choice = rules.choose(First::IsLikeOthers, &Deviations::default());
        let choice = choice.unwrap();
        choice.boards[usize::from(held) + 1]
    };
    // Its end is nearest to when the last one that is held is waited for.
    assert_eq!([5, 6].map(chosen), [4, 5]);
}

#[test]
fn operands_join_those_of_earlier_blocks_that_their_own_does_not_need() {
    const MAYBE_EXIT: u16 = 0x094d;
    const STS: u16 = 0x7988;
    let store = |register: u8| {
        let mut store = instruction(STS, 0, NO_BOARD, 0);
        (store[3], store[4], store[9]) = (8, register, 8);
        Control::set(&mut store, NO_BOARD, 0, 0);
        store
    };
    let joined = |overwritten: u8, held: &[usize]| {
        let code = [
            store(43),
            instruction(MAYBE_EXIT, 0, NO_BOARD, 0),
            store(44),
            store(45),
            sum(overwritten, 2, 0),
            instruction(EXIT, 0, NO_BOARD, 0),
        ];
        let taken: Vec<(u8, usize)> = held.iter().map(|&event| (0, event)).collect();
        let holders = Held::of(&taken);
        scheduled(&code, Chip::FastDoubles, |schedule| {
            Holders::new(&holders, &Spent::default()).choose(2, 0, 0, false, schedule)
        })
    };
    assert_eq!(joined(50, &[0, 1]), Some(0));
    assert_eq!(joined(50, &[0]), Some(1));
    assert_eq!(joined(43, &[0, 1]), Some(1));
}

#[test]
fn what_was_waited_for_along_with_another_counts_until_it_is_over() {
    const LDG: u16 = 0x7981;
    let code = [
        instruction(LDG, 12, 1, 0),
        instruction(LDC, 14, 1, 0),
        sum(41, 14, 0b10),
        instruction(LDC, 16, 1, 0),
        instruction(LDC, 18, 0, 0),
        instruction(LDC, 20, 0, 0),
        sum(41, 20, 0),
        sum(41, 18, 0),
        sum(41, 16, 0),
        sum(41, 12, 0),
        instruction(EXIT, 0, NO_BOARD, 0),
    ];
    let chosen = |awaited: &[(u8, usize)]| {
        scheduled(&code, Chip::FastDoubles, |schedule| {
            let mut spent = Spent::default();
            spent.wait(2, 0b10, &Held::of(awaited), schedule);
            let (now, others) = (Held::of(&[(1, 2), (0, 3)]), 0b11_1100);
            Holders::new(&now, &spent).choose(4, others, 0, false, schedule)
        })
    };
    // Its other holder is over sooner, if the load was not on it, or is waited for by itself.
    assert_eq!(chosen(&[(1, 1)]), Some(1));
    assert_eq!(chosen(&[(2, 0), (1, 1)]), Some(1));
    assert_eq!(chosen(&[(1, 0), (1, 1)]), Some(0));
}

#[test]
fn what_is_under_way_goes_on_in_the_next_block() {
    const MAYBE_EXIT: u16 = 0x094d;
    let code = [
        instruction(LDC, 1, 0, 0),
        instruction(LDC, 14, 1, 0),
        instruction(MAYBE_EXIT, 0, NO_BOARD, 0),
        sum(41, 2, 0),
        instruction(MAYBE_EXIT, 0, NO_BOARD, 0),
        instruction(EXIT, 0, NO_BOARD, 0),
    ];
    scheduled(&code, Chip::FastDoubles, |schedule| {
        for at in [2, 3, 5] {
            assert_eq!(schedule.end_at(1, at), schedule.end[1]);
        }
    });
}

#[test]
fn the_next_block_starts_six_cycles_behind_where_threads_meet() {
    const MEET: u16 = 0x7941;
    let left = |operation: u16, cycles: u8| {
        let mut last = instruction(operation, 0, NO_BOARD, 0);
        Control::set_stall(&mut last, cycles);
        let code = [
            instruction(LDC, 14, 1, 0),
            last,
            sum(41, 2, 0),
            instruction(EXIT, 0, NO_BOARD, 0),
        ];
        scheduled(&code, Chip::FastDoubles, |schedule| {
            schedule.end_at(0, 2) - schedule.start[2]
        })
    };
    const MAYBE_EXIT: u16 = 0x094d;
    assert_eq!(left(MEET, 5), left(MEET, 6));
    assert_eq!(left(MEET, 5), left(MAYBE_EXIT, 6));
    assert_eq!(left(MEET, 7), left(MAYBE_EXIT, 7));
}

#[test]
fn the_next_block_starts_one_cycle_behind_what_takes_a_scoreboard() {
    const DEFINE: u16 = 0x094d;
    let left = |cycles: u8| {
        let mut last = instruction(LDC, 14, 1, 0);
        Control::set_stall(&mut last, cycles);
        let mut branch = instruction(BRANCH_BACK, 0, NO_BOARD, 0);
        // To the instruction before it.
        branch[2] = 0xf8;
        let code = [
            instruction(DEFINE, 0, NO_BOARD, 0),
            last,
            sum(41, 2, 0),
            branch,
            instruction(EXIT, 0, NO_BOARD, 0),
        ];
        scheduled(&code, Chip::FastDoubles, |schedule| {
            schedule.end_at(0, 2) - schedule.start[2]
        })
    };
    assert_eq!(left(1), left(2));
    assert_eq!(left(3) + 2, left(2));
}

#[test]
fn slow_doubles_keep_their_distance() {
    const NOP: u16 = 0x7918;
    const DADD: u16 = 0x7229;
    let long = |mut instruction: [u8; INSTRUCTION], cycles| {
        Control::lengthen_stall(&mut instruction, cycles);
        instruction
    };
    let double = |operand: u8, waits| {
        let mut double = long(instruction(DADD, 20, NO_BOARD, waits), 4);
        (double[3], double[8]) = (operand, operand);
        double
    };
    let idle = long(instruction(NOP, 0, NO_BOARD, 0), 15);
    let code = [
        instruction(LDC, 1, 0, 0),
        instruction(LDC, 14, 1, 0),
        double(14, 0b10),
        idle,
        idle,
        idle,
        idle,
        double(30, 0),
        instruction(EXIT, 0, NO_BOARD, 0),
    ];
    let distance = |chip: Chip| {
        scheduled(&code, chip, |schedule| {
            schedule.start[7] - schedule.start[2]
        })
    };
    assert_eq!(distance(Chip::Graphics), 64);
    assert_eq!(distance(Chip::SlowDoubles), 64);
    // Others gain on what was late.
    assert!(distance(Chip::FastDoubles) < 64);
}

#[test]
fn results_of_slow_doubles_are_found_a_cycle_late_but_by_branches() {
    const DADD: u16 = 0x7229;
    const MAYBE_EXIT: u16 = 0x094d;
    let mut double = instruction(DADD, 20, 0, 0);
    (double[3], double[8]) = (14, 14);
    Control::set_stall(&mut double, 2);
    let started = |user: [u8; INSTRUCTION]| {
        let exit = instruction(EXIT, 0, NO_BOARD, 0);
        let code = [instruction(LDC, 1, 0, 0), double, user, exit];
        scheduled(&code, Chip::Graphics, |schedule| {
            schedule.start[2] - schedule.start[1]
        })
    };
    assert_eq!(started(sum(41, 20, 1)), 3);
    assert_eq!(started(instruction(MAYBE_EXIT, 0, NO_BOARD, 1)), 2);
}

const LDS: u16 = 0x7984;

/// What may wait for a constant, between two loads from shared memory.
fn between_loads(late: [u8; INSTRUCTION]) -> [[u8; INSTRUCTION]; 5] {
    [
        instruction(LDC, 20, 0, 0),
        instruction(LDS, 30, 1, 0),
        late,
        instruction(LDS, 32, 2, 0),
        instruction(EXIT, 0, NO_BOARD, 0),
    ]
}

#[test]
fn what_comes_in_its_turn_does_not_gain() {
    let distance = |cycles: u8| {
        let mut late = sum(41, 20, 1);
        Control::set_stall(&mut late, cycles);
        scheduled(&between_loads(late), Chip::FastDoubles, |schedule| {
            schedule.start[3] - schedule.start[2]
        })
    };
    // Four cycles behind the first load.
    assert_eq!(distance(3), 3);
    assert_eq!(distance(2), 2);
    assert_eq!(distance(5), 1);
}

#[test]
fn what_waits_for_the_operands_of_one_lets_others_gain_on_its_turn() {
    let distance = |address: u8| {
        let mut first = instruction(LDS, 30, 1, 0);
        first[3] = 41;
        Control::set(&mut first, 1, 2, 0);
        let mut late = sum(41, 2, 0b100);
        Control::set_stall(&mut late, 3);
        let mut second = instruction(LDS, 32, 2, 0);
        second[3] = address;
        let exit = instruction(EXIT, 0, NO_BOARD, 0);
        let code = [first, late, second, exit];
        scheduled(&code, Chip::FastDoubles, |schedule| {
            schedule.start[2] - schedule.start[1]
        })
    };
    assert_eq!(distance(2), 1);
    // It needs what was late.
    assert_eq!(distance(41), 3);
}

#[test]
fn what_comes_in_its_turn_gains_on_functions_that_others_made_late() {
    // MUFU.RCP R50, R51.
    const RECIPROCAL: u128 = 0x000e_6200_0000_1000_0000_0033_0032_7308;
    let distance = |between: [u8; INSTRUCTION]| {
        let [constant, first, mut late, second, exit] = between_loads(sum(41, 20, 1));
        Control::set_stall(&mut late, 1);
        let mut between = between;
        Control::set(&mut between, NO_BOARD, NO_BOARD, 0);
        Control::set_stall(&mut between, 2);
        let code = [constant, first, late, between, second, exit];
        scheduled(&code, Chip::Graphics, |schedule| {
            assert!(schedule.start[3] > schedule.planned[3].plain);
            schedule.start[4] - schedule.start[3]
        })
    };
    assert_eq!(distance(RECIPROCAL.to_le_bytes()), 1);
    assert_eq!(distance(sum(50, 51, 0)), 2);
}

#[test]
fn what_comes_in_its_turn_gains_on_numbers_of_64_bits() {
    // ISETP.LT.S64.AND P0, PT, R20, UR12, PT.
    const COMPARISON: u128 = 0x008f_ce00_0bf1_1270_0000_000c_1400_7c0c;
    // IADD.64 R16, R20, R16.
    const SUM: u128 = 0x004f_c600_078e_0200_0000_0010_1410_7235;
    let distance = |late: [u8; INSTRUCTION]| {
        let mut late = late;
        Control::set(&mut late, NO_BOARD, NO_BOARD, 1);
        Control::set_stall(&mut late, 3);
        scheduled(&between_loads(late), Chip::Graphics, |schedule| {
            assert!(schedule.start[2] > schedule.planned[2].plain);
            (
                schedule.planned[2].unit,
                schedule.start[3] - schedule.start[2],
            )
        })
    };
    let (unit, gained) = distance(COMPARISON.to_le_bytes());
    assert_eq!((unit, gained), (Unit::LongCompare, 2));
    assert_eq!(distance(SUM.to_le_bytes()), (Unit::Long, 1));
    assert_eq!(distance(sum(41, 20, 0)).1, 3);
}

#[test]
fn idle_loads_take_no_time_and_fences_keep_nobody_waiting() {
    const FENCE: u16 = 0x73c6;
    const BAR: u16 = 0x7b1d;
    let mut idle = [0; INSTRUCTION];
    idle[..12].copy_from_slice(&[0x84, 0xf9, 0xff, 0xff, 0, 0, 0, 0, 0, 8, 0, 0]);
    Control::set(&mut idle, NO_BOARD, NO_BOARD, 0);
    Control::set_stall(&mut idle, 1);
    let code = [
        instruction(LDC, 1, 0, 0),
        idle,
        idle,
        instruction(FENCE, 0, 1, 0),
        instruction(BAR, 0, NO_BOARD, 0b10),
        instruction(EXIT, 0, NO_BOARD, 0),
    ];
    scheduled(&code, Chip::FastDoubles, |schedule| {
        assert_eq!(schedule.needs[1], Some(4));
        assert_eq!(schedule.start[..5], [0, 1, 1, 1, 2]);
    });
}

#[test]
fn the_cache_forgets_without_being_late_for_the_load() {
    // LD.E.STRONG.GPU R5, desc[UR4][R2.64+0x4], and CCTL.IVALL.
    const LOAD: u128 = 0x0010_a800_0c10_f900_0000_0404_0205_7980;
    const FORGET: u128 = 0x004f_e200_0200_0000_0000_0000_ff00_798f;
    let code = [
        instruction(LDC, 1, 0, 0),
        LOAD.to_le_bytes(),
        FORGET.to_le_bytes(),
        sum(6, 5, 0b100),
        instruction(EXIT, 0, NO_BOARD, 0),
    ];
    scheduled(&code, Chip::Graphics, |schedule| {
        // It waits for the result all the same, and who uses that then need not.
        let is_load = |event: &Event| event.instruction == 1 && event.until == Until::Written;
        let load = schedule.events.iter().position(is_load).unwrap();
        assert_eq!(schedule.needs[load], Some(2));
        let passed = |at: usize| schedule.start[at] - schedule.start[1];
        assert_eq!([2, 3].map(passed), [4, 5]);
    });
}

#[test]
fn the_clock_looks_at_no_predicates() {
    // The guards of a load and of what writes its register: P0, and if that does not hold.
    let schedule = |guards: [u8; 2]| {
        let mut code = [
            instruction(LDS, 12, 0, 0),
            sum(12, 20, 0),
            instruction(EXIT, 0, NO_BOARD, 0),
        ];
        for (instruction, guard) in code.iter_mut().zip(guards) {
            instruction[1] = instruction[1] & 0xf | guard << 4;
        }
        scheduled(&code, Chip::FastDoubles, |schedule| {
            (schedule.needs[0], schedule.start[1])
        })
    };
    assert_eq!(schedule([0, 1]), (Some(1), 40));
    assert_eq!(schedule([0, 8]), (None, 40));
}

#[test]
fn what_does_nothing_takes_no_time() {
    // Two of them behind arithmetic that is late, the second one in the cycle of the first.
    let passed = |waits: u8| {
        let idle = instruction(NOP, 0, NO_BOARD, waits);
        let code = [
            instruction(LDS, 12, 0, 0),
            sum(16, 12, 1),
            idle,
            idle,
            instruction(EXIT, 0, NO_BOARD, 0),
        ];
        scheduled(&code, Chip::FastDoubles, |schedule| {
            [2, 3].map(|at| schedule.start[at] - schedule.start[1])
        })
    };
    assert_eq!(passed(0), [1, 1]);
    assert_eq!(passed(0b10), [1, 2]);
}

#[test]
fn who_comes_behind_a_wait_for_a_load_right_before_comes_two_cycles_later() {
    // Arithmetic between a load and who waits for it, and a load behind that, which the compiler let wait longer.
    let passed = |between: usize| {
        let last = instruction(LDC, 20, 1, 0);
        let mut code = vec![instruction(LDS, 12, 0, 0)];
        code.extend((0..between).map(|_| sum(30, 31, 0)));
        let mut waits = sum(16, 12, 1);
        Control::set_stall(&mut waits, 4);
        code.extend([waits, last, instruction(EXIT, 0, NO_BOARD, 0)]);
        scheduled(&code, Chip::FastDoubles, |schedule| {
            schedule.start[between + 2] - schedule.start[between + 1]
        })
    };
    assert_eq!([0, 1, 2].map(passed), [1, 2, 1]);
}
