//! Stages of loops that the compiler has pipelined, as remarks in Mercury code say.
//!
//! A remark stands for no machine instruction, but says something of those behind
//! it. One kind is the stage of an instruction; it holds until the next one.

use std::ops::RangeInclusive;

use crate::cubin::{Capsule, StoredInstruction};

use super::super::recode::groups;

/// How a remark about an instruction begins that says its stage: its mark, the
/// property, and that it is a number for one instruction. The number follows.
const STAGE: [u8; 7] = [Capsule::REMARK, 2, 0, 0x58, 0, 4, 1];

/// Stages of instructions, by the first that has each.
#[derive(Debug, Default)]
pub(super) struct Stages(Vec<(usize, u32)>);

impl Stages {
    /// The stages that Mercury code says; none where it can not be read.
    pub(super) fn of(capsule: &[u8]) -> Self {
        let Ok(capsule) = Capsule::parse(capsule) else {
            return Self::default();
        };
        let stages = groups(&capsule);
        let stages = stages.filter_map(|group| Some((group.start, stage(group.stored?)?)));
        Self(stages.collect())
    }

    /// The stage of an instruction, if it has one.
    pub(super) fn at(&self, instruction: usize) -> Option<u32> {
        let behind = self.0.partition_point(|&(first, _)| first <= instruction);
        let &(_, stage) = self.0[..behind].last()?;
        Some(stage)
    }

    /// Whether some of these instructions are said to have one.
    pub(super) fn are_in(&self, instructions: RangeInclusive<usize>) -> bool {
        let before = |place: usize| self.0.partition_point(|&(first, _)| first < place);
        before(*instructions.start()) < before(instructions.end() + 1)
    }
}

fn stage(stored: StoredInstruction<'_>) -> Option<u32> {
    let number = stored.bytes.strip_prefix(&STAGE)?.first_chunk()?;
    Some(u32::from_le_bytes(*number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stages_hold_until_the_next_remark() {
        let remark = |stage: u8| {
            let mut remark = [0; 16];
            remark[..STAGE.len()].copy_from_slice(&STAGE);
            remark[STAGE.len()] = stage;
            remark
        };
        let mut other = remark(3);
        other[3] = 0x68;
        // Of seven instructions the first and two between remarks are not stored.
        let head = [1, 0xc000_0001, 7, 0b10_1001].map(u32::to_le_bytes);
        let stored = [&remark(2)[..], &other, &remark(0), &[0x50, 1]].concat();
        let stages = Stages::of(&[head.concat(), stored].concat());
        let found: Vec<_> = (0..4).map(|at| stages.at(at)).collect();
        assert_eq!(found, [None, Some(2), Some(0), Some(0)]);
        let are_in = |first, last| stages.are_in(first..=last);
        assert_eq!(
            [are_in(0, 0), are_in(0, 1), are_in(3, 3)],
            [false, true, false]
        );
        assert_eq!(Stages::of(&[]).at(0), None);
    }
}
