//! What the compiler leaves out of kernels of whole programs, of which it knows that they call nothing outside, and
//! nvlink adds where it takes no kernel for that: what prepares memory barriers (case `whole_program_barriers`).

use super::super::expanded::starts_of_blocks;
use super::super::scoreboards::instruction::{
    BLOCK_BARRIER, INSTRUCTION, MEMORY_BARRIER, is_idle_load, operation,
};
use super::choice::{BARRIER_KIND, IDLE, NARROW};
use super::moves::Piece;
use super::stored::Group;
use crate::cubin::StoredInstruction;

/// The bits of [`BARRIER_KIND`] for a scope wider than the block.
const SCOPE: u8 = 0x70;
/// `MEMBAR.ALL.CTA`.
const NARROW_BARRIER: [u8; INSTRUCTION] = [
    0x92, 0x79, 0, 0, 0, 0, 0, 0, 0, NARROW, 0, 0, 0, 0xc0, 0x0f, 0,
];
/// `@!PT LDS RZ, [RZ]`, of which there are so many before memory barriers.
const IDLE_LOAD: [u8; INSTRUCTION] = [
    0x84, 0xf9, 0xff, 0xff, 0, 0, 0, 0, 0, 8, 0, 0, 0, 0xe2, 0x0f, 0,
];
const LOADS: usize = 4;
/// How a fence between names of the same memory begins in Mercury code.
const ALIAS_FENCE: [u8; 3] = [0x01, 0x49, 0x02];

/// What may access shared memory (LDSM, STSM, LD, LDS, ST, STS, ATOM, ATOMS), and what threads meet at.
const ENDS_ORDER: [u16; 12] = [
    0x03b,
    0x044,
    IDLE,
    BLOCK_BARRIER,
    0x180,
    0x184,
    0x185,
    0x188,
    0x18a,
    0x18b,
    0x18c,
    0x18d,
];

/// What prepares the memory barriers of a kernel.
pub(super) struct LeftOut {
    /// Which instructions are barriers with loads of shared memory before them.
    loads: Vec<bool>,
}

impl LeftOut {
    /// Where the code copies to shared memory, the compiler has not left out the loads. One barrier needs none behind
    /// another of its block, if nothing between may access shared memory.
    pub(super) fn new(machine: &[&[u8; INSTRUCTION]], has_shared_copy: bool) -> Self {
        let starts = starts_of_blocks(machine);
        let mut is_ordered = false;
        let loads = machine.iter().zip(starts).map(|(instruction, starts)| {
            let operation = operation(*instruction);
            is_ordered &= !starts && !ENDS_ORDER.contains(&operation);
            let is_barrier = operation == MEMORY_BARRIER;
            let needs = is_barrier && !is_ordered && !has_shared_copy;
            is_ordered |= is_barrier;
            needs
        });
        Self {
            loads: loads.collect(),
        }
    }

    /// The machine instructions of a group. What orders names of one memory has no narrow barrier before wide ones.
    pub(super) fn pieces(&self, group: &Group<'_>, old: &[&[u8; INSTRUCTION]]) -> Vec<Piece> {
        let stored = group.stored.as_ref().map(StoredInstruction::body);
        let mut has_narrow = stored.is_some_and(|body| body.starts_with(&ALIAS_FENCE));
        let mut pieces = Vec::new();
        for (index, instruction) in (group.start..).zip(old) {
            if operation(*instruction) == MEMORY_BARRIER {
                let is_loaded = index > group.start && is_idle_load(old[index - group.start - 1]);
                if self.loads[index] && !is_loaded {
                    pieces.extend([Piece::New(IDLE_LOAD); LOADS]);
                }
                if instruction[BARRIER_KIND] & SCOPE != 0 && !has_narrow {
                    let mut narrow = NARROW_BARRIER;
                    // It is for the same threads.
                    narrow[1] = instruction[1];
                    pieces.push(Piece::New(narrow));
                }
                has_narrow = true;
            }
            pieces.push(Piece::Old(index));
        }
        pieces
    }
}
