//! Which instructions come one after another although they share no register.

use super::super::instruction::{
    BLOCK_BARRIER, CACHE, ERROR_BARRIER, FENCE, MEMORY_BARRIER, NOP, SYNCS, SYNCS_CONTROL,
    SYNCS_EXCHANGE, is_of_texture,
};
use super::super::operands::{DESCRIPTOR, DESCRIPTOR_CACHE, WIDE_LOAD};
use super::{ACCESSES, Accesses, NEVER, Registers};

impl Accesses {
    /// Whether another instruction waits until what this one orders is done: accesses to
    /// memory and idle instructions behind barriers and fences, what invalidates descriptors behind what does in
    /// another cache, and threads of a block for its barriers in shared memory.
    pub(in super::super) fn is_barrier_for(&self, other: &Self) -> bool {
        const LDC: u16 = 0x182;
        const LDCU: u16 = 0x1ac;
        let is_access = ACCESSES.contains(&other.operation)
            && !matches!(other.operation, LDC | MEMORY_BARRIER | ERROR_BARRIER | LDCU)
            && other.guard != NEVER;
        match self.operation {
            MEMORY_BARRIER => is_access || matches!(other.operation, FENCE | MEMORY_BARRIER | NOP),
            FENCE => is_access || matches!(other.operation, 0x1b0..=0x1bf | 0x1e0..=0x1ef),
            DESCRIPTOR_CACHE => other.operation == DESCRIPTOR,
            SYNCS_EXCHANGE => other.operation == BLOCK_BARRIER,
            _ => false,
        }
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
            (SYNCS_EXCHANGE, SYNCS) | (SYNCS_CONTROL, SYNCS | SYNCS_CONTROL | SYNCS_EXCHANGE) => {
                true
            }
            // The barrier becomes memory like other.
            (SYNCS_CONTROL, 0x03b | 0x044 | 0x184 | 0x188 | 0x18c | 0x18d) => true,
            _ => false,
        }
    }

    /// Whether another instruction goes through the same queue, and so comes to its
    /// result after this one has read its operands: LDS and ATOMS behind STSM, STG, STL, STS,
    /// SHFL, ATOMS and REDG, and LDG behind LDG.
    pub(in super::super) fn is_queued_before(&self, other: &Self) -> bool {
        match other.operation {
            0x184 | 0x18c => {
                matches!(self.operation, 0x044 | 0x186..=0x189 | 0x18c | 0x18e)
            }
            0x181 | WIDE_LOAD => matches!(self.operation, 0x181 | WIDE_LOAD),
            _ => false,
        }
    }
}
