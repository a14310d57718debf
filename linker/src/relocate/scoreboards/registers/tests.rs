//! Which registers instructions read and write, and what depends on that.

use super::*;

fn accesses(instruction: u128) -> Accesses {
    Accesses::of(&instruction.to_le_bytes()).unwrap()
}

fn registers(thread: &[u8], uniform: &[u8], predicates: u16) -> Registers {
    let mut registers = Registers {
        predicates,
        ..Registers::default()
    };
    for &register in thread {
        registers.insert(File::Thread, register, 1);
    }
    for &register in uniform {
        registers.insert(File::Uniform, register, 1);
    }
    registers
}

const LOAD: u128 = 0xc1e_9b00_0000_0004_0808_7981;
const STORE: u128 = 0xc10_1b24_0000_0002_0600_7986;
const MOVE_IF_NOT_0: u128 = 0xf00_fff8_0000_0005_8802;

#[test]
fn barriers_ask_for_a_predicate_only_to_count() {
    // BAR.SYNC.DEFER_BLOCKING 0x0, and BAR.RED.OR.DEFER_BLOCKING 0x0, P0
    let barriers = [0x1_0000_0000_0000_0000_7b1d, 0x1_4800_0000_0000_0000_7b1d];
    let asked = barriers.map(|barrier| accesses(barrier).read_predicates);
    assert_eq!(asked, [0, 1]);
    // It is the same for all threads, which is known late.
    assert!(accesses(barriers[1]).asks_all_threads());
}

#[test]
fn registers_that_are_read_twice_count_once() {
    // DSETP.NAN.AND P0, PT, R14, R14, PT, and the same of R14 and R10
    let comparisons = [
        0xf0_8000_0000_000e_0e00_722a_u128,
        0xf0_8000_0000_000a_0e00_722a,
    ];
    let sources = comparisons.map(|comparison| accesses(comparison).sources());
    assert_eq!(sources, [2, 4]);
}

#[test]
fn barriers_have_numbers_and_counts_in_registers() {
    let cases = [
        // BAR.SYNC.DEFER_BLOCKING R9, R9
        (0x1_0000_0000_0009_0000_731d, &[9][..]),
        // BAR.SYNC.DEFER_BLOCKING R14
        (0x1_0000_0000_000e_0000_751d, &[14]),
        // BAR.ARV 0x3, R2
        (0x2000_00c0_0002_0000_791d, &[2]),
        // BAR.SYNC.DEFER_BLOCKING 0x1, 0x80
        (0x1_0000_0420_0000_0000_7b1d, &[]),
        // SYNCS.CCTL.IV [R13+URZ]
        (0x800_00ff_0000_0000_0d00_79b1, &[13]),
        // SYNCS.CCTL.IV [UR4]
        (0x800_0004_0000_0000_ff00_79b1, &[]),
        // SYNCS.CCTL.IVALL
        (0x79b1, &[]),
    ];
    for (word, read) in cases {
        assert_eq!(
            accesses(word).reads.thread,
            registers(read, &[], 0).thread,
            "{word:x}"
        );
    }
}

#[test]
fn operands_are_where_the_form_says() {
    let cases = [
        // LDG.E.64 R8, desc[UR4][R8.64]
        (
            LOAD,
            registers(&[8, 9], &[4, 5], 0),
            registers(&[8, 9], &[], 0),
        ),
        // STG.E.64 desc[UR36][R6.64], R2
        (
            STORE,
            registers(&[2, 3, 6, 7], &[36, 37], 0),
            registers(&[], &[], 0),
        ),
        // STG.E.64.MMIO.SYS [R6], R44
        (
            0x0011_8b00_0000_002c_0600_7386,
            registers(&[6, 7, 44, 45], &[], 0),
            registers(&[], &[], 0),
        ),
        // ST.E.64 [R10+0x8], R6
        (
            0x0010_0b06_0000_0008_0a00_7385,
            registers(&[6, 7, 10, 11], &[], 0),
            registers(&[], &[], 0),
        ),
        // IMAD.WIDE.U32 R2, R5, UR6, R2
        (
            0xf8e_0002_0000_0006_0502_7c25,
            registers(&[2, 3, 5], &[6], 0),
            registers(&[2, 3], &[], 0),
        ),
        // IMAD.WIDE.U32 R8, R8, R9, UR40
        (
            0xf8e_0009_0000_0028_0808_7e25,
            registers(&[8, 9], &[40, 41], 0),
            registers(&[8, 9], &[], 0),
        ),
        // DADD R8, R6, R4
        (
            0x804_0000_0000_0608_7229,
            registers(&[4, 5, 6, 7], &[], 0),
            registers(&[8, 9], &[], 0),
        ),
        // DADD R40, R40, UR6
        (
            0x800_0000_8000_0006_2828_7e29,
            registers(&[40, 41], &[6, 7], 0),
            registers(&[40, 41], &[], 0),
        ),
        // LDCU.64 UR36, c[0x0][0x358]
        (
            0x800_0a00_0000_6b00_ff24_77ac,
            registers(&[], &[], 0),
            registers(&[], &[36, 37], 0),
        ),
        // LDS.128 R4, [UR4+0x84]
        (
            0x800_0c00_0084_0004_ff04_7984,
            registers(&[], &[4], 0),
            registers(&[4, 5, 6, 7], &[], 0),
        ),
        // IADD3 R8, P0, PT, R35, R8, RZ
        (
            0x71_e4ff_0000_0008_2308_7210,
            registers(&[8, 35], &[], 0),
            registers(&[8], &[], 1),
        ),
        // MOV.64 R12, R24
        (
            0x1_0f00_0000_0018_000c_7202,
            registers(&[24, 25], &[], 0),
            registers(&[12, 13], &[], 0),
        ),
        // UFADD UR6, UR9, -UR8
        (
            0x20_fe40_0080_0808_0000_0000_0906_7254,
            registers(&[], &[8, 9], 0),
            registers(&[], &[6], 0),
        ),
        // UFADD UR4, -UR5, 1
        (
            0x1f_c600_0800_0100_3f80_0000_0504_7454,
            registers(&[], &[5], 0),
            registers(&[], &[4], 0),
        ),
        // UFFMA UR4, UR6, UR7, UR5
        (
            0x800_0005_0000_0007_0604_7255,
            registers(&[], &[5, 6, 7], 0),
            registers(&[], &[4], 0),
        ),
        // MOV.64 R46, 0x10
        (
            0x10_002e_7402,
            registers(&[], &[], 0),
            registers(&[46, 47], &[], 0),
        ),
        // LDSM.16.M88.2 R28, [R34]
        (
            0x100_0000_0000_221c_783b,
            registers(&[34], &[], 0),
            registers(&[28, 29], &[], 0),
        ),
        // I2F.F64 R4, R6
        (
            0x20_1c00_0000_0006_0004_7312,
            registers(&[6], &[], 0),
            registers(&[4, 5], &[], 0),
        ),
        // FMUL2 R10, R76.F32x2.HI_LO, R4 and UVIMNMX.S32 UR16, UR16, UR6
        (
            0x000f_c400_0100_0000_0000_0004_4c0a_724a,
            registers(&[4, 5, 76, 77], &[], 0),
            registers(&[10, 11], &[], 0),
        ),
        (
            0x000f_e200_0ffe_0100_0000_0006_1010_724a,
            registers(&[], &[6, 16], 0),
            registers(&[], &[16], 0),
        ),
        // ATOMS.MAX.S32 RZ, [UR5], R3
        (
            0x900_0205_0000_0003_ffff_798c,
            registers(&[3], &[5], 0),
            registers(&[], &[], 0),
        ),
        // ATOMG.E.CAS.64 PT, R14, desc[UR6][R8.64+0x2800], R14
        (
            0xc1e_f506_8000_280e_080e_79a8,
            registers(&[8, 9, 14, 15], &[6, 7], 0),
            registers(&[14, 15], &[], 0),
        ),
    ];
    for (instruction, reads, writes) in cases {
        let accesses = accesses(instruction);
        assert_eq!(
            (accesses.reads, accesses.writes),
            (reads, writes),
            "{instruction:#x}"
        );
    }
}

#[test]
fn what_is_read_at_once_is_not_waited_for() {
    let (load, store) = (accesses(LOAD), accesses(STORE));
    // LDCU.64 UR36
    let uniform = accesses(0x800_0a00_0000_6b00_ff24_77ac);
    assert!(!store.is_overwritten_by(&uniform) && uniform.is_used_by(&store));
    assert!(load.is_queued_before(&load) && !store.is_queued_before(&load));
    // What a load writes itself, others wait for.
    let without_board = accesses(LOAD | 7 << 110);
    assert!(!load.is_overwritten_by(&load) && without_board.is_overwritten_by(&load));
}

#[test]
fn sparse_products_have_a_register_that_says_where_numbers_are() {
    for (high, low, first, second) in [
        // HMMA.SP.16832.F32.BF16 and HMMA.SP.16816.F32.BF16 R28, R40, R44, R28, R48, 0x0
        (0x0004_5a1c, 0x0000_302c_281c_723c, 4, 4),
        (0x0004_1a1c, 0x0000_302c_281c_723c, 2, 2),
        // HMMA.SP.16816.F32.TF32 and HMMA.SP.1688.F32.TF32
        (0x0008_1a1c, 0x0000_302c_281c_723c, 4, 4),
        (0x0008_121c, 0x0000_302c_281c_723c, 2, 2),
        // IMMA.SP.16864.S8.S8 and IMMA.SP.16832.S8.S8 R28, R40.ROW, R44.COL, R28, R48, 0x0
        (0x0060_551c, 0x0000_302c_281c_7237, 4, 4),
        (0x0040_5d1c, 0x0000_302c_281c_7237, 2, 2),
        // QMMA.SP.16864.F32.E4M3.E4M3
        (0x0001_341c, 0x0000_302c_281c_727a, 4, 4),
        // HMMA.16816.F32 without such a register
        (0x0000_181c, 0x0000_002c_281c_723c, 4, 2),
    ] {
        let found = accesses((high as u128) << 64 | low).reads;
        let mut expected: Vec<u8> = (28..32)
            .chain(40..40 + first)
            .chain(44..44 + second)
            .collect();
        if low >> 40 & 0xff != 0 {
            expected.push(48);
        }
        assert_eq!(found, registers(&expected, &[], 0), "{high:#x}");
    }
}

#[test]
fn who_sleeps_asks_for_two_predicates() {
    // @!P3 NANOSLEEP.SYNCS !P0, 0x12345678
    let sleep = accesses(0x8f_ea00_0410_0000_1234_5678_0000_b95d);
    assert_eq!(sleep.read_predicates, 1 << 3 | 1);
}

#[test]
fn the_third_source_of_predicate_logic_can_be_of_the_warp() {
    let reads = |instruction| accesses(instruction).read_predicates;
    // PLOP3.LUT P0, PT, P0, PT, UP0, 0xea, 0xae
    assert_eq!(reads(0xf_da00_0070_fd0a_0000_0000_00ae_781c), 1 | 1 << 8);
    // PLOP3.LUT P0, PT, P0, P1, P2, ..
    assert_eq!(reads(0xf_e400_0070_3c20_0000_0000_0000_781c), 0b111);
}

#[test]
fn one_of_two_happens_if_their_predicates_differ() {
    let other = accesses(MOVE_IF_NOT_0 & !0x8000);
    assert!(accesses(MOVE_IF_NOT_0).excludes(&other));
    assert!(!other.excludes(&other));
    // @!UP1 LDCU UR8, c[0x0][0x434] and @UP1 UIADD3 UR8, UPT, UPT, UR4, -UR19, URZ
    let load = accesses(0x8_0800_0000_8600_ff08_97ac);
    let sum = accesses(0xf_e0ff_f8ff_0804_0000_0013_0408_1290);
    assert!(load.is_written_again_by(&sum) && !load.excludes(&sum));
    // IADD3 R8, P0, PT, R35, R8, RZ
    let sum = accesses(0x71_e4ff_0000_0008_2308_7210);
    let (decided, named) = (other.decided_by(), sum.names());
    assert!(
        decided
            .numbers()
            .all(|number| named.numbers().any(|other| other == number))
    );
    assert_eq!(decided.numbers().count(), 1);
}

#[test]
fn tensors_are_named_by_several_registers() {
    // Their forms without what they wait for: high and low words.
    let instruction = |high: u128, low: u128| accesses(high << 64 | low);
    let uniform = |first: u8, count: u8| (first..first + count).collect::<Vec<u8>>();
    // UTMALDG.5D [UR8], [UR4], UTMASTG.5D and UTMAPF.L2.3D [UR8], [UR6]
    for (accesses, coordinates, descriptor) in [
        (instruction(0x0802_0000, 0x0008_0400_75b4), 7, 4),
        (instruction(0x0802_0000, 0x0008_0400_73b5), 6, 4),
        (instruction(0x0801_0000, 0x0008_0600_75b8), 3, 6),
    ] {
        let all = [uniform(descriptor, 2), uniform(8, coordinates)].concat();
        assert_eq!(accesses.reads, registers(&[], &all, 0));
        assert!(accesses.reads_uniform_late());
    }
    // UMEMSETS.64 [UR4], URZ, UR5 and @!P0 TXD R22, R20, R22, R16, UR4, 2D
    let set = instruction(0x0800_0005, 0x0000_00ff_0400_73cb);
    assert_eq!(set.reads, registers(&[], &[4, 5], 0));
    let derived = instruction(0x081e_0f16, 0x20ff_0410_1614_8f6c);
    assert!(set.reads_uniform_late() && derived.reads_uniform_late());
    // LDTM.x32 R4, tmem[UR4+0x80] and LDTM.16dp256bit.x2 R36, tmem[UR4]
    for (high, low, first, count) in [
        (0x082c_0000, 0x8000_0004_0004_79ee, 4, 32),
        (0x080a_0000, 0x0004_0024_79ee, 36, 8),
    ] {
        let loaded: Vec<u8> = (first..first + count).collect();
        assert_eq!(instruction(high, low).writes, registers(&loaded, &[], 0));
    }
    // HMMA.16816.F32 R24, R24, R12, R20 and HMMA.1688.F16 R28, R2, R11, R28
    let long = instruction(0x1814, 0x000c_1818_723c);
    let operands = [&uniform(24, 4)[..], &[12, 13], &uniform(20, 4)].concat();
    assert_eq!(long.reads, registers(&operands, &[], 0));
    let short = instruction(0x1c, 0x000b_021c_723c);
    assert_eq!(short.reads, registers(&[2, 3, 11, 28, 29], &[], 0));
}

#[test]
fn barriers_in_shared_memory_are_set_up_side_by_side() {
    // SYNCS.EXCH.64 URZ, [UR41], UR4, and the same at 8 bytes from there
    let [first, second] = [0u128, 8].map(|at| accesses(at << 40 | 0x0004_29ff_75b2));
    assert!(
        ![&first, &second]
            .map(|other| first.is_in_order_before(other))
            .contains(&true)
    );
    // BAR.SYNC waits for both.
    let barrier = accesses(0x000a_0000_0000_7b1d);
    assert!(first.is_in_order_before(&barrier));
}

#[test]
fn what_arrives_at_a_barrier_has_a_state_of_two_registers() {
    // SYNCS.ARRIVE.TRANS64.A1T0 R4, [R3+URZ], RZ and MOV R2, R5
    let arrive = accesses(0x0020_5c00_0810_00ff_0000_00ff_0304_79a7);
    let upper = accesses(0x003f_de00_0000_0f00_0000_0005_0002_7202);
    assert!(arrive.is_read_by(&upper));
}

#[test]
fn addresses_in_shared_memory_are_one_register() {
    // UMOV UR9, 0x1
    let next = accesses(0x000f_e200_0000_0000_0000_0001_0009_7882);
    // UBLKCP.G.S [UR4], [UR8], UR11 and UBLKCP.S.G [UR4], [UR8], UR11
    let store = accesses(0x0003_e200_0800_040b_0000_0004_0800_73ba);
    let load = accesses(0x0003_e200_0800_020b_0000_0004_0800_73ba);
    assert!(!store.is_overwritten_by(&next));
    assert!(load.is_overwritten_by(&next));
}

#[test]
fn asynchronous_copies_come_behind_barriers_that_are_set_up() {
    // SYNCS.EXCH.64 URZ, [UR41], UR4 and LDGSTS.E.BYPASS.LTC128B.128 [R3], desc[UR8][R4.64]
    let exchange = accesses(0x0010_6200_0800_0100_0000_0006_13ff_75b2);
    let copy = Accesses::of(&{
        let mut copy = [0_u8; 16];
        copy[..4].copy_from_slice(&[0xae, 0x7f, 0x03, 0x04]);
        copy
    });
    assert!(copy.is_some_and(|copy| exchange.is_in_order_before(&copy)));
}

#[test]
fn all_predicates_are_written_at_once() {
    // DSETP.MAX.AND P1, P2, R10, R8, PT and R2P PR, R2, 0x18.
    let compare = accesses(0x002e_2800_03a2_f000_0000_0008_0a00_722a);
    let write = accesses(0x000f_c600_0000_0000_0000_0018_0200_7804);
    assert!(compare.is_written_again_by(&write));
}

#[test]
fn branches_of_some_threads_read_a_register_of_the_warp() {
    // REDUX.OR UR4, R15, and BRA.DIV UR4 and BRA.DIV UR5.
    let reduction = accesses(0x000e_6200_0000_4000_0000_0000_0f04_73c4);
    let [same, other] = [4, 5]
        .map(|register: u128| accesses(0x000f_f600_0b80_0000_0000_0056_00c8_7947 | register << 24));
    assert!(reduction.is_read_by(&same));
    assert!(!reduction.is_read_by(&other));
}
