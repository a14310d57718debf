//! Which instructions come one after another although they share no register.

use super::super::instruction::{
    BLOCK_BARRIER, CACHE, ERROR_BARRIER, FENCE, MEMORY_BARRIER, SYNCS, SYNCS_CONTROL,
    SYNCS_EXCHANGE, is_of_texture,
};
use super::super::operands::{BULK_COPY, DESCRIPTOR, DESCRIPTOR_CACHE, LDGSTS, WIDE_LOAD};
use super::{ACCESSES, Accesses, NEVER, Registers};

impl Accesses {
    /// Whether another instruction waits until what this one orders is done: accesses to
    /// memory behind barriers and fences, what invalidates descriptors behind what does in another cache, and threads of a block for its barriers in shared memory.
    pub(in super::super) fn is_barrier_for(&self, other: &Self) -> bool {
        const LDC: u16 = 0x182;
        const LDCU: u16 = 0x1ac;
        let is_access = ACCESSES.contains(&other.operation)
            && !matches!(other.operation, LDC | MEMORY_BARRIER | ERROR_BARRIER | LDCU)
            && other.guard != NEVER;
        match self.operation {
            MEMORY_BARRIER => is_access || matches!(other.operation, FENCE | MEMORY_BARRIER),
            FENCE => is_access || matches!(other.operation, 0x1b0..=0x1bf | 0x1e0..=0x1ef),
            DESCRIPTOR_CACHE => other.operation == DESCRIPTOR,
            SYNCS_EXCHANGE => other.operation == BLOCK_BARRIER,
            _ => false,
        }
    }

    /// Whether the next instruction waits, whatever it is.
    pub(in super::super) fn is_barrier_for_next(&self) -> bool {
        self.operation == MEMORY_BARRIER
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

    /// Whether another instruction comes to the same barriers after this one.
    pub(in super::super) fn is_in_order_before(&self, other: &Self) -> bool {
        match (self.operation, other.operation) {
            // As where a kernel sets up one behind the other.
            (SYNCS_EXCHANGE, SYNCS_EXCHANGE) => self.address == other.address,
            (SYNCS, SYNCS) => true,
            (SYNCS_EXCHANGE, SYNCS | BULK_COPY | LDGSTS)
            | (SYNCS_CONTROL, SYNCS | SYNCS_CONTROL | SYNCS_EXCHANGE) => true,
            // The barrier becomes memory like other.
            (SYNCS_CONTROL, 0x03b | 0x044 | 0x184 | 0x188 | 0x18c | 0x18d) => true,
            _ => false,
        }
    }

    /// Whether another instruction goes through the same queue, and so comes to its
    /// result after this one has read its operands: LDS, ATOMS and LDSM behind STSM, STG, STL,
    /// STS, SHFL, ATOMS and REDG, LDSM also behind those on floats, LD behind LD, ATOM and ATOMG,
    /// LDG behind LDG, and DMUL, DADD, DSETP and DFMA behind each other where these are slow.
    pub(in super::super) fn is_queued_before(&self, other: &Self) -> bool {
        let is_in_shared_queue = matches!(self.operation, 0x044 | 0x186..=0x189 | 0x18c | 0x18e);
        match other.operation {
            0x184 | 0x18c => is_in_shared_queue,
            0x03b => is_in_shared_queue || self.operation == 0x1a6,
            0x180 => matches!(self.operation, 0x180 | 0x1a3 | 0x1a8),
            0x181 | WIDE_LOAD => matches!(self.operation, 0x181 | WIDE_LOAD),
            0x028..=0x02b => matches!(self.operation, 0x028..=0x02b),
            _ => false,
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
        assert!([&exchange, &check].map(|first| first.is_in_order_before(&check)) == [true; 2]);
    }
}
