//! Tests of times.

use super::*;

/// MUFU.RCP R8, R7, and LDS.128 R4, [UR4+0x84].
const RECIPROCAL: u128 = 0x1_0000_0000_0007_0008_7308;
const LOAD: u128 = 0x800_0c00_0084_0004_ff04_7984;
/// STS [R12], R13 and the same with four registers.
const STORE: u128 = 0x800_0800_0000_000d_0c00_7988;
const WIDE_STORE: u128 = STORE | 4 << 72;

fn cycles(instruction: u128, until: Until, chip: Chip) -> u32 {
    let instruction = instruction.to_le_bytes();
    let accesses = Accesses::of(&instruction);
    latency(&instruction, accesses.as_ref(), until, chip)
}

#[test]
fn operands_take_two_cycles_for_each_register() {
    let read = |instruction: u128| cycles(instruction, Until::Read, Chip::FastDoubles);
    assert_eq!(
        [LOAD, STORE, WIDE_STORE, RECIPROCAL].map(read),
        [6, 10, 16, 9]
    );
}

#[test]
fn what_works_on_barriers_keeps_registers_as_others_do() {
    // FENCE.VIEW.ASYNC.S and SYNCS.EXCH.64 URZ, [UR19], UR6, and the same if UP0 holds.
    let [fence, exchange] = [0x73c6, 0x0800_0100_0000_0006_13ff_75b2];
    let guarded = exchange & !(7 << 12);
    let on = |instruction: u128, until: Until| cycles(instruction, until, Chip::Graphics);
    assert_eq!([fence, exchange].map(|i| on(i, Until::Written)), [24; 2]);
    assert_eq!([exchange, guarded].map(|i| on(i, Until::Read)), [12; 2]);
    // SYNCS.PHASECHK.TRANS64 PT, [UR7], R7 and SYNCS.PHASECHK.TRANS64.TRYWAIT P4, [R34+URZ+0x18], R25.
    let check = 0x0005_e200_0800_0007_0000_0007_ff00_75a7;
    let attempt = 0x001e_6a00_0808_11ff_0000_1819_2200_75a7;
    assert_eq!([check, attempt].map(|i| on(i, Until::Read)), [8, 10]);
    // UTMASTG.3D [UR40], [UR4], and the same if UP0 holds.
    let store = 0x0801_0000_0000_0028_0400_73b5;
    assert_eq!(
        [store, store & !(7 << 12)].map(|i| on(i, Until::Read)),
        [1; 2]
    );
}

#[test]
fn products_of_doubles_read_at_once_and_end_late_where_they_are_slow() {
    // DMMA.8x8x4 R8, R24, R26, R24
    let product = 0x0000_0018_0000_001a_1808_723f;
    let times = |chip| [Until::Read, Until::Written].map(|until| cycles(product, until, chip));
    assert_eq!(times(Chip::FastDoubles), [2, 15]);
    assert_eq!(times(Chip::Graphics), [2, 180]);
}

#[test]
fn wide_loads_from_shared_memory_take_longer_on_processors_for_graphics() {
    // LDS.64 R4, [UR4+0x84] and LDS R4, [UR4+0x84]
    const PAIR: u128 = LOAD ^ 6 << 72;
    const SINGLE: u128 = LOAD ^ 4 << 72;
    // The same without a register of the warp.
    const UNIFORM: u128 = 1 << 91;
    const PAIR_AT_THREAD: u128 = PAIR & !UNIFORM;
    let loads = [SINGLE, PAIR, PAIR_AT_THREAD, LOAD];
    let times = |until: Until, chip: Chip| loads.map(|load| cycles(load, until, chip));
    assert_eq!(times(Until::Read, Chip::Graphics), [6, 6, 6, 7]);
    assert_eq!(times(Until::Read, Chip::SlowDoubles), [6, 6, 6, 6]);
    assert_eq!(times(Until::Written, Chip::Graphics), [40, 40, 41, 40]);
    assert_eq!(times(Until::Written, Chip::SlowDoubles), [40, 40, 40, 40]);
}

#[test]
fn functions_come_later_behind_what_a_warp_makes() {
    // UFMUL.FTZ UR4, UR4, UR6 and MUFU.RCP R0, UR4, F2FP.F16.F32.PACK_AB R0, RZ, UR4.
    let product = 0x000f_e200_0841_0000_0000_0006_0404_7256;
    let reciprocal = 0x000e_6200_0800_1000_0000_0004_0000_7d08;
    let packed = 0x000f_e200_0800_00ff_0000_0004_ff00_7c3e;
    let chip = Chip::Graphics;
    assert_eq!(distance(product, reciprocal, chip), Some(9));
    assert_eq!(distance(product, packed, chip), Some(6));
}

#[test]
fn functions_take_longer_on_processors_for_graphics() {
    let written = |chip: Chip| cycles(RECIPROCAL, Until::Written, chip);
    assert_eq!([Chip::FastDoubles, Chip::Graphics].map(written), [17, 18]);
    assert_eq!(cycles(LOAD, Until::Written, Chip::Graphics), 40);
}

/// What an instruction runs on, and what it does with registers.
fn of(instruction: u128, chip: Chip) -> (Unit, Accesses) {
    let instruction = instruction.to_le_bytes();
    let accesses = Accesses::of(&instruction).unwrap();
    (Unit::of(&instruction, chip), accesses)
}

fn distance(first: u128, second: u128, chip: Chip) -> Option<u32> {
    let (from, to) = (of(first, chip), of(second, chip));
    forwarding((from.0, &from.1), (to.0, &to.1), chip)
}

/// What takes no scoreboard, and names no predicate.
const FREE: u128 = 0x3f << 110;
const NO_PREDICATES: u128 = 7 << 87 | 7 << 84 | 7 << 81 | 7 << 77 | 7 << 12;
/// IMAD.WIDE R4, R6, R7, R8, and IADD3 R10, R4, R11, RZ and the same of R5.
const WIDE: u128 = FREE | NO_PREDICATES | 0x8_0000_0007_0604_0225;
const SUM: u128 = FREE | NO_PREDICATES | 0xff_0000_000b_040a_0210;

#[test]
fn halves_of_wide_products_come_and_go_apart() {
    let on = |first: u128, second: u128| distance(first, second, Chip::FastDoubles);
    let upper = |instruction: u128| instruction + (1 << 24);
    assert_eq!(
        [SUM, upper(SUM)].map(|sum| on(WIDE, sum)),
        [Some(3), Some(5)]
    );
    // What it adds is read as late.
    let making = |register: u128| (SUM & !(0xff << 16)) | register << 16;
    let found = [6, 8, 9].map(|register| on(making(register), WIDE));
    assert_eq!(found, [Some(5), Some(5), Some(3)]);
    // LDC R4, c[0x0][0x380], which writes what the sum reads.
    let load = FREE | 0x7b82_u128 | 0x0000_e000_ff04_0000 | 8 << 72;
    assert_eq!(on(SUM, load), Some(2));
    // MUFU.RCP R4, R7 and LDS R4, [R20], and S2UR UR4, which writes no register of threads.
    let function = FREE | 0x0000_1000_0000_0007_0004_7308;
    let shared = FREE | 0x0000_0800_0000_0000_1404_7984;
    let special = FREE | 0x0000_2500_0000_0004_79c3;
    let found = [function, shared, special].map(|user| on(SUM, user));
    assert_eq!(found, [Some(2), Some(2), None]);
    // What comes at any time is written again as late as it could be stored.
    let again = [function, shared, load].map(|user| on(making(4), user));
    assert_eq!(again, [Some(6); 3]);
    // What is written again keeps its order.
    assert_eq!(on(making(4), WIDE), Some(0));
}

#[test]
fn constants_of_warps_keep_away_from_what_others_read() {
    // UIADD3 UR7, UR4, UR5, URZ and UMOV UR4, URZ.
    let sum = FREE | NO_PREDICATES | 0xff_0000_0005_0407_0290;
    let mov = FREE | 7 << 12 | 0x00ff_0004_0c82;
    let free = mov + (2 << 16);
    let on = |second: u128| distance(sum, second, Chip::FastDoubles);
    assert_eq!([mov, free].map(on), [Some(3), None]);
}

#[test]
fn whole_warps_and_long_numbers_take_longer_on_graphics() {
    // MOV R4, R12 and the same of two registers, and ISETP P0, R4, R11 of two.
    let mov = FREE | 7 << 12 | 0x000c_0004_0202;
    let long = mov | 1 << 80;
    let compare = FREE | (NO_PREDICATES & !(7 << 81)) | 1 << 80 | 0x000b_0400_020c;
    let on = |first: u128, second: u128| {
        [Chip::FastDoubles, Chip::Graphics].map(|chip| distance(first, second, chip))
    };
    assert_eq!(on(mov, SUM), [Some(4), Some(5)]);
    assert_eq!(on(mov, compare), [Some(4), Some(5)]);
    assert_eq!(on(long, SUM)[1], Some(5));
    assert_eq!(on(long, compare)[1], Some(6));
    // What happens only if it holds.
    let guarded = SUM & !(7 << 12);
    assert_eq!(on(compare, guarded), [Some(13), Some(14)]);
}

#[test]
fn upper_halves_of_products_are_multiplied_later_than_added() {
    // IMAD.HI.U32 R14, R15, R19, R14, the same of R14, R21 and RZ, and IMAD R12, R12, R12, R14.
    let high = 0x000f_e200_078e_000e_0000_0013_0f0e_7227;
    let higher = 0x000f_c600_078e_00ff_0000_0015_0e0e_7227;
    let sum = FREE | NO_PREDICATES | 0xe_0000_000c_0c0c_0224;
    // IMAD.WIDE R14, R16, R17, R18, and those of R15 and R17 or R14 and R17, and of what they add to R16 times R17.
    let product = |registers: u128| FREE | NO_PREDICATES | 0x0225 | registers;
    let wide = product(0x12_0000_0011_100e_0000);
    let of_upper = product(0xff_0000_0011_0f0a_0000);
    let of_lower = product(0xff_0000_0011_0e0a_0000);
    let added = product(0xe_0000_0011_100a_0000);
    for chip in [Chip::FastDoubles, Chip::SlowDoubles, Chip::Graphics] {
        assert_eq!(distance(high, higher, chip), Some(6));
        assert_eq!(distance(high, sum, chip), Some(4));
        let users = [of_upper, of_lower, added];
        let found = users.map(|user| distance(wide, user, chip));
        assert_eq!(found, [Some(6), Some(4), Some(4)]);
    }
}

#[test]
fn parts_are_busy_for_half_a_warp() {
    let unit = |operation: u16, chip: Chip| Unit::of(&u128::from(operation).to_le_bytes(), chip);
    let (iadd3, imad, wide, ffma, isetp) = (0x210, 0x224, 0x225, 0x223, 0x20c);
    let spacing =
        |first: u16, second: u16, chip: Chip| unit(first, chip).spacing(unit(second, chip), chip);
    let (bar, nop, bssy, bmov, bra) = (0xb1d, 0x918, 0x945, 0x355, 0x947);
    for (first, second, fast, graphics) in [
        (iadd3, iadd3, 2, 2),
        (iadd3, imad, 1, 1),
        (wide, ffma, 4, 4),
        (ffma, imad, 1, 1),
        (isetp, isetp, 2, 1),
        (bar, nop, 1, 1),
        (bar, bar, 8, 8),
        (bssy, bra, 4, 4),
        (bssy, bssy, 4, 4),
        (bssy, bmov, 4, 4),
        (bmov, nop, 5, 5),
        // IADD.64, which is among products elsewhere.
        (0x235, nop, 1, 2),
        (0x235, bra, 1, 1),
    ] {
        assert_eq!(spacing(first, second, Chip::FastDoubles), fast);
        assert_eq!(spacing(first, second, Chip::Graphics), graphics);
    }
}

#[test]
fn others_gain_on_late_numbers_of_64_bits() {
    let unit = |first: u128| Unit::of(&first.to_le_bytes(), Chip::Graphics);
    // IADD.64 and ISETP.64.
    let (sum, compare) = (Unit::Long, Unit::LongCompare);
    assert_eq!(unit(0x235), sum);
    let late = |from: Unit, to: Unit| from.spacing_when_late(to, Chip::Graphics);
    for to in [Unit::Integer, Unit::WholeInteger, sum, compare] {
        assert_eq!([sum, compare].map(|from| late(from, to)), [1, 1]);
    }
    assert_eq!(late(sum, Unit::Product), 2);
    assert_eq!(late(compare, Unit::Memory), 2);
    // A part that is busy is so for what was late, too.
    assert_eq!(late(Unit::Function, Unit::Integer), 1);
    assert_eq!(late(Unit::WideProduct, Unit::Product), 4);
}

#[test]
fn what_is_written_again_behind_doubles_waits() {
    let on = |first: u128, second: u128| distance(first, second, Chip::FastDoubles);
    // DADD R4, R6, R8, LDC R4, c[0x0][0x380], IADD3 R4, R12, R11, RZ and CS2R R4, SRZ.
    let double = FREE | 0x8_0000_0000_0604_7229;
    let load = FREE | 0x7b82_u128 | 0x0000_e000_ff04_0000 | 8 << 72;
    let sum = FREE | NO_PREDICATES | 0xff_0000_000b_0c04_0210;
    let copy = FREE | 0x1_ff00_0000_0000_0004_7805;
    let found = [load, sum, copy].map(|user| on(double, user));
    assert_eq!(found, [Some(10), Some(6), Some(4)]);
    // Both of its registers are there later than those of others.
    assert_eq!(on(copy, SUM), Some(6));
}

#[test]
fn threads_do_not_get_what_their_warp_gets_at_once() {
    let on = |first: u128, second: u128| distance(first, second, Chip::FastDoubles);
    // UIADD3 UR7, UR4, UR5, URZ and IADD3 R10, R4, UR5, RZ and the same of UR6.
    let sum = FREE | NO_PREDICATES | 0xff_0000_0005_0407_0290;
    let of = |register: u128| FREE | NO_PREDICATES | 0xff_0000_0000_040a_0c10 | register << 32;
    assert_eq!(
        [5, 6].map(|register| on(sum, of(register))),
        [Some(2), None]
    );
}

#[test]
fn comparisons_of_halves_get_predicates_sooner_where_doubles_are_slow() {
    // HSETP2 P0, P1, R4, R9, PT, the same of others and !P0, and ISETP P0, PT, R4, R9, PT.
    let halves = 0x010f_ca00_0390_1000_0000_0009_0400_7234;
    let again = 0x008f_ca00_0470_1800_2000_0007_0000_7234;
    let integers = 0x010f_e400_03f0_6270_0000_0009_0400_720c;
    // PLOP3 P0, PT, P0, P1, PT, 0x80, 0x8 and SEL R7, R0, R7, P0.
    let logic = 0x000f_e200_0070_3070_0000_0000_0008_781c;
    let choice = 0x008f_e400_0000_0000_0000_0007_0007_7207;
    let on = |first: u128, second: u128| {
        [Chip::FastDoubles, Chip::SlowDoubles].map(|chip| distance(first, second, chip))
    };
    assert_eq!(on(integers, again), [Some(13), Some(5)]);
    assert_eq!(on(halves, again), [Some(5); 2]);
    assert_eq!(on(halves, choice), [Some(5); 2]);
    assert_eq!(on(integers, choice), [Some(4); 2]);
    assert_eq!(on(halves, logic), [Some(5), Some(4)]);
}

#[test]
fn powers_of_two_take_half_as_long_where_doubles_are_slow() {
    // MUFU.EX2 R8, R7.
    let power = RECIPROCAL & !(0xff << 72) | 8 << 72;
    let ends = |instruction: u128, chip: Chip| {
        [Until::Written, Until::Read].map(|until| cycles(instruction, until, chip))
    };
    assert_eq!(ends(power, Chip::FastDoubles), [17, 9]);
    assert_eq!(ends(power, Chip::SlowDoubles), [14, 8]);
    assert_eq!(ends(RECIPROCAL, Chip::SlowDoubles), [18, 9]);
}

#[test]
fn textures_and_barriers_in_memory_get_registers_a_cycle_before_loads() {
    let result = |to: u128| {
        let to = Unit::of(&to.to_le_bytes(), Chip::FastDoubles);
        [Unit::Integer, Unit::Warp].map(|from| result(from, to, Chip::FastDoubles))
    };
    // LDG, STSM; TEX, SULD, SYNCS, UBLKCP; LDCU.
    for (to, cycles) in [
        (0x981, [5, 9]),
        (0x844, [5, 9]),
        (0xb60, [4, 9]),
        (0x999, [4, 9]),
        (0x5a7, [4, 9]),
        (0x3ba, [4, 9]),
        (0x7ac, [5, 12]),
    ] {
        assert_eq!(result(to), cycles, "{to:#x}");
    }
}

#[test]
fn products_of_matrices_take_their_time_on_processors_for_graphics() {
    // IMMA.16832.S8.S8 R4, R8.ROW, R10.COL, R4, the same of halves, and IADD3 R8, R12, R11, RZ.
    let integers = FREE | 0x0004_5c00_0000_000a_0804_7237;
    let halves = FREE | 0x0004_1800_0000_000a_0804_723c;
    let overwrites = FREE | NO_PREDICATES | 0xff_0000_000b_0c08_0210;
    let units =
        |chip: Chip| [integers, halves].map(|product| Unit::of(&product.to_le_bytes(), chip));
    let times = |chip: Chip| {
        units(chip).map(|from| {
            let [used, chained] = [Unit::Integer, from].map(|to| result(from, to, chip));
            (from.spacing(from, chip), used, chained)
        })
    };
    assert_eq!(times(Chip::Graphics), [(16, 26, 26), (16, 28, 29)]);
    assert_eq!(times(Chip::FastDoubles), [(8, 19, 20); 2]);
    let overwritten =
        |chip: Chip| [integers, halves].map(|product| distance(product, overwrites, chip));
    assert_eq!(overwritten(Chip::Graphics), [Some(8); 2]);
    assert_eq!(overwritten(Chip::FastDoubles), [None; 2]);
}

#[test]
fn what_loads_constants_shares_a_part_with_barriers_and_sums_of_warps() {
    let spacing = |from: u128, to: u128| {
        let [from, to] = [from, to].map(|i| Unit::of(&i.to_le_bytes(), Chip::FastDoubles));
        from.spacing(to, Chip::FastDoubles)
    };
    // LDC, S2UR, BAR, MATCH, REDUX.
    let constants = [0xb82, 0x9c3, 0xb1d, 0x3a1, 0x3c4];
    for (from, to) in constants
        .iter()
        .flat_map(|&from| constants.map(|to| (from, to)))
    {
        assert_eq!(spacing(from, to), 8, "{from:#x} {to:#x}");
    }
    // LDGDEPBAR behind LDG, and the other way round.
    assert_eq!([spacing(0x981, 0x9af), spacing(0x9af, 0x981)], [4, 1]);
}

#[test]
fn what_a_warp_gets_of_its_threads_comes_late() {
    // R2UR UR5, R11, UMOV UR5, URZ, and VOTEU.ANY UR5, UPT, PT.
    let taken = 0x000f_ce00_000e_0000_0000_0000_0b05_72ca;
    let moved = 0x000f_e200_0800_0000_0000_00ff_0005_7c82;
    let voted = 0x000f_e200_038e_0100_0000_0000_0005_7886;
    for later in [moved, voted] {
        assert_eq!(distance(taken, later, Chip::FastDoubles), Some(11));
    }
    assert_eq!(distance(taken, taken, Chip::FastDoubles), Some(0));
    let taken = taken.to_le_bytes();
    let accesses = Accesses::of(&taken).unwrap();
    let unit = Unit::of(&taken, Chip::FastDoubles);
    assert_eq!(at_end(&taken, unit, &accesses, Chip::FastDoubles), 15);
}
