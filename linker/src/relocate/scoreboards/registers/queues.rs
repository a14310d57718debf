//! Which instructions come one after another although they share no register.

use std::ops::RangeInclusive;

use super::super::instruction::{
    BLOCK_BARRIER, BULK_GROUP, CACHE, CLUSTER_ARRIVAL, DOUBLE_MATRICES, ERROR_BARRIER, FENCE,
    LDGSTS, MEMORY_BARRIER, NOP, SYNCS, SYNCS_CONTROL, SYNCS_EXCHANGE, WARPSYNC, is_of_texture,
};
use super::super::operands::{
    BOX_PREFETCH, BULK_PREFETCH, DESCRIPTOR, DESCRIPTOR_CACHE, HMMA, IMMA, OMMA, QMMA, VOTE,
    VOTE_OF_WARP, WIDE_LOAD,
};
use super::super::timing::LONG_CONVERSIONS;
use super::{ACCESSES, Accesses, NEVER, Registers};

const ELECT: u16 = 0x02f;
const MATCH: u16 = 0x1a1;
const REDUX: u16 = 0x1c4;
const MOVM: u16 = 0x03a;
const LDSM: u16 = 0x03b;
const STSM: u16 = 0x044;
const LD: u16 = 0x180;
const LDG: u16 = 0x181;
const LDL: u16 = 0x183;
const LDS: u16 = 0x184;
const ST: u16 = 0x185;
const STS: u16 = 0x188;
const SHFL: u16 = 0x189;
/// ATOM, ATOM.CAS and that on floats.
const ATOM: u16 = 0x18a;
const ATOM_CAS: u16 = 0x18b;
const FLOAT_ATOM: u16 = 0x1a2;
/// ATOMG, that on floats, and REDG on them.
const ATOMG: u16 = 0x1a8;
const FLOAT_ATOMG: u16 = 0x1a3;
const FLOAT_REDUCTION: u16 = 0x1a6;
/// What works on tensor memory.
const TENSORS_START: u16 = 0x1e0;
const TENSORS_END: u16 = 0x1ef;
const ATOMS: u16 = 0x18c;
/// Functions of floats, conversions, and counts of bits.
const FUNCTIONS: RangeInclusive<u16> = 0x100..=0x10f;
/// DMUL, DADD, DSETP and DFMA.
const DOUBLES: RangeInclusive<u16> = 0x028..=0x02b;
/// ATOMS.CAS and ATOMS.CAST
const ATOMS_CAS: u16 = 0x18d;

impl Accesses {
    /// Whether threads of a warp meet there to see what others of them have done.
    pub(in super::super) fn sees_others(&self) -> bool {
        self.sees_others
    }

    /// The same of a WARPSYNC behind which threads see what others of their warp have done.
    pub(in super::super) fn seeing_others(self) -> Self {
        let sees_others = true;
        Self {
            sees_others,
            ..self
        }
    }

    /// Whether another instruction waits until what this one orders is done: accesses to
    /// memory behind barriers and fences, and what invalidates descriptors behind what does in
    /// another cache.
    pub(in super::super) fn is_barrier_for(&self, other: &Self) -> bool {
        const LDC: u16 = 0x182;
        const LDCU: u16 = 0x1ac;
        let is_access = ACCESSES.contains(&other.operation)
            && !matches!(other.operation, LDC | MEMORY_BARRIER | ERROR_BARRIER | LDCU)
            && other.guard != NEVER;
        match self.operation {
            MEMORY_BARRIER => match other.operation {
                MEMORY_BARRIER => !other.is_first_of_two,
                FENCE => true,
                _ => is_access,
            },
            FENCE => match other.operation {
                SYNCS_EXCHANGE => true,
                _ => other.is_ordered() || other.is_done_together(),
            },
            DESCRIPTOR_CACHE => other.operation == DESCRIPTOR,
            _ => false,
        }
    }

    /// Whether an instruction comes behind fences and behind barriers in shared memory that are
    /// set up: what other threads see in an order, what is done asynchronously, and what threads
    /// do together, of matrices all but those of doubles. Plain accesses do not.
    fn is_ordered(&self) -> bool {
        match self.operation {
            SYNCS | LDGSTS | ATOMS | ATOMS_CAS | BLOCK_BARRIER | CLUSTER_ARRIVAL => true,
            // Without a predicate it only tells which threads are there.
            VOTE => self.read_predicates != 0,
            MATCH | REDUX | IMMA | HMMA | QMMA | OMMA => true,
            SYNCS_EXCHANGE | MEMORY_BARRIER => false,
            WARPSYNC | NOP => self.sees_others,
            TENSORS_START..=TENSORS_END => true,
            surface if is_of_texture(surface) => false,
            _ => self.is_strong || self.is_asynchronous(),
        }
    }

    /// Whether threads of a warp do something else together, which comes behind fences, but not behind barriers in shared
    /// memory that are set up.
    fn is_done_together(&self) -> bool {
        match self.operation {
            VOTE_OF_WARP => self.read_predicates != 0,
            operation => matches!(operation, SHFL | ELECT | MOVM),
        }
    }

    /// Whether an instruction works on shared memory or its barriers without waiting until it
    /// is done, but for what only ends a group or fetches in advance.
    fn is_asynchronous(&self) -> bool {
        matches!(self.operation, 0x1b0..=0x1bf | 0x1ca)
            && !matches!(
                self.operation,
                BULK_GROUP | BOX_PREFETCH | BULK_PREFETCH | DESCRIPTOR
            )
    }

    /// Whether others may wait for this one although they share no register with it.
    pub(in super::super) fn orders_others(&self) -> bool {
        let orders = matches!(
            self.operation,
            MEMORY_BARRIER | FENCE | DESCRIPTOR_CACHE | SYNCS_EXCHANGE | SYNCS_CONTROL
        );
        orders || self.publishes
    }

    /// Whether the next instruction waits, whatever it is, but for the first half of a barrier.
    pub(in super::super) fn is_barrier_for_next(&self, next: &Self) -> bool {
        self.operation == MEMORY_BARRIER && !next.is_first_of_two
    }

    /// Whether this is what the next instruction makes an acquire, which lets the cache
    /// forget what was there before.
    pub(in super::super) fn is_acquired_by(&self, next: &Self) -> bool {
        self.is_strong && next.operation == CACHE && next.reads == Registers::default()
    }

    /// Whether another instruction comes to its result after this one because both go
    /// through the queue of textures, and has no need of what this one makes.
    pub(in super::super) fn is_sampled_before(&self, other: &Self) -> bool {
        let is_of_texture = is_of_texture(self.operation) && is_of_texture(other.operation);
        is_of_texture && !self.is_read_by(other) && !self.decides(other)
    }

    /// Whether all that another instruction does with the result of this one is to write it again, and comes to that
    /// behind it: DMUL, DADD, DSETP and DFMA among each other, where these are slow, and LDS and LDSM.
    pub(in super::super) fn is_only_rewritten_in_turn_by(&self, other: &Self) -> bool {
        let operations = [self.operation, other.operation];
        let are_in_turn = operations
            .iter()
            .all(|operation| DOUBLES.contains(operation))
            || operations
                .iter()
                .all(|&operation| matches!(operation, LDS | LDSM));
        are_in_turn && !self.is_read_by(other) && !self.decides(other)
    }

    /// Whether another instruction comes to barriers in shared memory or descriptors of tensors, or to what these order,
    /// after this one.
    pub(in super::super) fn is_in_order_before(&self, other: &Self) -> bool {
        let is_barrier = other.operation == MEMORY_BARRIER && !other.is_first_of_two;
        match self.operation {
            SYNCS_EXCHANGE => is_barrier || other.is_ordered(),
            // The barrier becomes memory like other.
            SYNCS_CONTROL => match other.operation {
                SYNCS | SYNCS_EXCHANGE | LDGSTS | BLOCK_BARRIER | FENCE => true,
                WARPSYNC | NOP => other.sees_others,
                LDSM | STSM | LDS | STS | LD | ST | ATOMS | ATOMS_CAS | ATOM | ATOM_CAS
                | FLOAT_ATOM => other.guard != NEVER,
                _ => is_barrier || other.is_asynchronous(),
            },
            _ => self.publishes && (other.is_ordered() || other.is_done_together()),
        }
    }

    /// Whether another instruction goes through the same queue, and so comes to its
    /// result after this one has read its operands: LDS, LDSM, SHFL and ATOMS behind STSM, ST, STG, STL,
    /// STS, SHFL, ATOMS and REDG, the loads behind each other, too, and LDSM also behind REDG on floats; LD, LDG and LDL
    /// behind each other and ATOMG; and behind each other what is of textures, functions,
    /// conversions and counts of bits, conversions with 64 bits, DMMA, SYNCS, and DMUL, DADD, DSETP and DFMA
    /// where these are slow.
    pub(in super::super) fn is_queued_before(&self, other: &Self) -> bool {
        let is_in_shared_queue = matches!(self.operation, 0x044 | 0x185..=0x189 | 0x18c | 0x18e);
        match other.operation {
            LDS => is_in_shared_queue || matches!(self.operation, LDS | LDSM),
            LDSM => is_in_shared_queue || matches!(self.operation, LDS | LDSM | FLOAT_REDUCTION),
            SHFL | ATOMS => is_in_shared_queue,
            LD | LDG | WIDE_LOAD | LDL => {
                matches!(
                    self.operation,
                    LD | LDG | WIDE_LOAD | LDL | ATOMG | FLOAT_ATOMG
                )
            }
            texture if is_of_texture(texture) => is_of_texture(self.operation),
            DOUBLE_MATRICES | SYNCS => self.operation == other.operation,
            other => {
                let mut queues = [FUNCTIONS, LONG_CONVERSIONS, DOUBLES].into_iter();
                queues.any(|queue| queue.contains(&other) && queue.contains(&self.operation))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accesses(instruction: u128) -> Accesses {
        Accesses::of(&instruction.to_le_bytes()).unwrap()
    }

    #[test]
    fn what_goes_through_one_queue_needs_no_wait() {
        // DADD R12, RZ, R14 and DADD R14, RZ, R16.
        let doubles = [
            0x0002_9e00_0000_000e_0000_0000_ff0c_7229,
            0x0002_de00_0000_0010_0000_0000_ff0e_7229,
        ];
        // ATOMG.E.ADD.64.STRONG.GPU PT, RZ, desc[UR38][R12.64+0x8], R24 and LD.E.64 R12,
        // desc[UR38][R36.64].
        let generic = [
            0x0081_6800_081e_f526_8000_0818_0cff_79a8,
            0x000e_a800_0c10_1b00_0000_0026_240c_7980,
        ];
        for pair in [doubles, generic].map(|pair| pair.map(accesses)) {
            let [first, second] = pair;
            assert!(first.is_overwritten_by(&second));
            assert!(first.is_queued_before(&second));
        }
        assert!(!accesses(doubles[0]).is_queued_before(&accesses(generic[1])));
        let [reader, writer] = doubles.map(accesses);
        assert!(writer.is_only_rewritten_in_turn_by(&writer));
        assert!(!writer.is_only_rewritten_in_turn_by(&reader));
        assert!(!accesses(generic[0]).is_only_rewritten_in_turn_by(&writer));
    }

    #[test]
    fn the_next_of_a_kind_overwrites_operands_without_a_wait() {
        // SHFL.DOWN PT, RZ, RZ, 0x2, 0x1f; LDL RZ, [RZ]; MUFU.RCP RZ, RZ; F2I.TRUNC.NTZ RZ, RZ and
        // F2F.F64.F32 RZ, RZ, TEX RZ, RZ, RZ, UR4, 2D, 0x1: where they name what they read, and the rest.
        let [shuffle, load, reciprocal, integer, double, texels] = [
            (24, 0x0000_2800_000e_0000_0840_1f00_00ff_7f89),
            (24, 0x000e_a800_0010_0800_0000_0000_00ff_7983),
            (32, 0x001f_e200_0000_1000_0000_0000_00ff_7308),
            (32, 0x001f_e200_0020_f100_0000_0000_00ff_7305),
            (32, 0x020e_2400_0020_1800_0000_0000_00ff_7310),
            (24, 0x0003_6200_081e_01ff_20ff_04ff_00ff_7f60),
        ];
        let of = |(operand, rest): (u32, u128), to: u128, from: u128| {
            accesses(rest & !(0xff << 16) | to << 16 | from << operand)
        };
        let is_queued = |first, second| {
            let (first, second) = (of(first, 20, 3), of(second, 3, 9));
            assert!(first.is_overwritten_by(&second));
            first.is_queued_before(&second)
        };
        for kind in [shuffle, load, reciprocal, integer, double, texels] {
            assert!(is_queued(kind, kind));
        }
        assert!(is_queued(reciprocal, integer) && is_queued(integer, reciprocal));
        assert!(!is_queued(double, reciprocal) && !is_queued(reciprocal, double));
        assert!(!is_queued(load, shuffle) && !is_queued(shuffle, load));
        let like = |operation: u128| (load.0, load.1 & !0xfff | operation);
        // LD, LDG and LDL; LDS.
        let (of_memory, shared) = ([0x980, 0x981, 0x983].map(like), like(0x984));
        for first in of_memory {
            assert!(of_memory.iter().all(|&second| is_queued(first, second)));
            assert!(!is_queued(first, shared) && !is_queued(shared, first));
        }
        assert!(is_queued(shared, shared));
        // ST.E [R2], R20 and LDS R20, [R2].
        let store = accesses(0x000f_e200_0c10_1900_0000_0014_0200_7985);
        let load = accesses(0x000f_e200_0000_0800_0000_0000_0214_7984);
        assert!(store.is_overwritten_by(&load) && store.is_queued_before(&load));
        // DMMA.8x8x4 R24, R16, R16, R16 and DMMA.8x8x4 R16, R22, R16, R20.
        let [first, second] = [
            0x0000_0010_0000_0010_1018_723f,
            0x0000_0014_0000_0010_1610_723f,
        ]
        .map(accesses);
        assert!(first.is_overwritten_by(&second) && first.is_queued_before(&second));
        // SYNCS.ARRIVE.TRANS64 R2, [UR4], R2
        let arrival = accesses(0x000e_a200_0800_0004_0000_0002_ff02_79a7);
        assert!(arrival.is_queued_before(&arrival) && !first.is_queued_before(&arrival));
    }

    #[test]
    fn loads_from_shared_memory_write_a_register_in_turn() {
        // LDS R7, [R0] and the same from other memory; LDSM.16.M88 R7, [R0], and LDS R9, [R7].
        let load = 0x000f_e200_0000_0800_0000_0000_0007_7984;
        let matrix = 0x000f_e200_0000_0000_0000_0000_0007_783b;
        let reader = 0x000f_e200_0000_0800_0000_0000_0709_7984;
        let is_in_turn =
            |first, second| accesses(first).is_only_rewritten_in_turn_by(&accesses(second));
        assert!(is_in_turn(load, matrix) && is_in_turn(matrix, load));
        assert!(!is_in_turn(load, reader));
        assert!(!is_in_turn(load, LOAD) && !is_in_turn(LOAD, LOAD));
    }

    #[test]
    fn copies_wait_for_the_barriers_that_they_tell() {
        // SYNCS.EXCH.64 URZ, [UR19], UR6 and UBLKCP.S.G [UR18], [UR4], UR8.
        let exchange = accesses(0x0010_6200_0800_0100_0000_0006_13ff_75b2);
        let copy = accesses(0x0021_e200_0800_0208_0000_0012_0400_73ba);
        assert!(exchange.is_in_order_before(&copy));
        assert!(!copy.is_in_order_before(&exchange));
        // SYNCS.PHASECHK.TRANS64 PT, [UR7], R7
        let check = accesses(0x0005_e200_0800_0007_0000_0007_ff00_75a7);
        assert!(exchange.is_in_order_before(&check));
        assert!(!check.is_in_order_before(&check));
    }

    /// FENCE.VIEW.ASYNC.S, SYNCS.EXCH.64 URZ, [UR19], UR6 and SYNCS.CCTL.IV, of which only the kinds
    /// count here.
    const FENCE_OF_VIEWS: u128 = 0x73c6;
    const EXCHANGE: u128 = 0x0010_6200_0800_0100_0000_0006_13ff_75b2;
    const CONTROL: u128 = 0x79b1;
    /// LDG.E R0, [R2.64] and the same that others see in an order, STS [R4], R6, MEMBAR.ALL.CTA
    /// and the same in front of another one, and BAR.SYNC.
    const LOAD: u128 = 0x000f_e200_0c1e_1900_0000_0008_0200_7981;
    const STRONG_LOAD: u128 = LOAD | 0xe << 76;
    const STORE: u128 = 0x000f_e400_0800_0800_0000_0006_0400_7988;
    const BARRIER: u128 = 0x000f_ec00_0000_8000_0000_0000_0000_7992;
    const FIRST_HALF: u128 = 0x000f_e000_0000_8000_0000_0000_0000_7992;
    const BLOCK: u128 = 0x000f_ec00_0001_0000_0000_0000_0000_7b1d;

    #[test]
    fn fences_are_for_what_others_see_in_an_order() {
        let fence = accesses(FENCE_OF_VIEWS);
        let waits = |user: u128| fence.is_barrier_for(&accesses(user));
        assert_eq!([LOAD, STORE, BARRIER].map(waits), [false; 3]);
        assert_eq!([STRONG_LOAD, EXCHANGE, BLOCK].map(waits), [true; 3]);
        // HMMA.1688.F32.TF32 R16, R36, R6, R32 and DMMA.8x8x4 R8, R24, R26, R24
        let products = [
            0x0008_1020_0000_0006_2410_723c,
            0x0000_0018_0000_001a_1808_723f,
        ];
        assert_eq!(products.map(waits), [true, false]);
        // ELECT P1, URZ, PT, VOTEU.ANY UR5, UPT, PT, which tells who is there, and VOTEU.ANY UP0, P1.
        let together = [
            0x000f_da00_0382_0000_0000_0000_00ff_782f,
            0x000f_e200_038e_0100_0000_0000_0005_7886,
            0x00bf_ca00_0080_0100_0000_0000_00ff_7886,
        ];
        assert_eq!(together.map(waits), [true, false, true]);
    }

    #[test]
    fn barriers_that_are_set_up_come_before_what_is_ordered() {
        let waits = |maker: u128| {
            let maker = accesses(maker);
            let users = [
                LOAD,
                STRONG_LOAD,
                STORE,
                EXCHANGE,
                BARRIER,
                FIRST_HALF,
                BLOCK,
            ];
            users.map(|user| maker.is_in_order_before(&accesses(user)))
        };
        let set_up = [false, true, false, false, true, false, true];
        let ended = [false, false, true, true, true, false, true];
        assert_eq!([EXCHANGE, CONTROL].map(waits), [set_up, ended]);
        // Nobody waits until their operands are read.
        assert!(!accesses(EXCHANGE).is_barrier_for(&accesses(BLOCK)));
    }

    #[test]
    fn of_two_barriers_for_memory_the_second_waits() {
        let barrier = accesses(BARRIER);
        let [first, second] = [FIRST_HALF, BARRIER].map(accesses);
        assert!(!barrier.is_barrier_for(&first) && !barrier.is_barrier_for_next(&first));
        assert!(barrier.is_barrier_for(&second) && barrier.is_barrier_for_next(&second));
    }
}
