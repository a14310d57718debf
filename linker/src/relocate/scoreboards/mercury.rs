//! What Mercury code tells of instructions that are alike in machine code.
//!
//! Machine code has one instruction for where threads of a warp meet to see what others of them have done, and for where they
//! only have to be together, such as before products of matrices. What has been ordered is waited for by the former alone. And
//! what orders tensor memory, which processors do by themselves, is an instruction that does nothing (cases `older_effects`, `older_order`).

use std::cell::OnceCell;

use crate::cubin::Capsule;

use super::super::recode::groups;
use super::control::Control;
use super::flow::Flow;
use super::instruction::{BOARDS, FENCE, INSTRUCTION, NOP, WARPSYNC, operation};
use super::registers::publishes;
use super::{Setting, events};

/// What stands behind the first byte of `bar.warp.sync` in Mercury code, which says how it is stored, and the same where all
/// are together anyway, which is a `NOP` in machine code.
const MEETINGS: [[u8; 2]; 2] = [[0x47, 0x76], [0x47, 0x6c]];
/// The first byte of that of `tcgen05.fence` and `tcgen05.wait::ld`.
const TENSOR_FENCE: u8 = 0x63;

/// What the Mercury code of a function tells, read once somebody asks for an instruction that it may be about.
pub(super) struct Told<'c> {
    capsule: &'c [u8],
    numbers: OnceCell<Numbers>,
}

/// The numbers of instructions that Mercury code tells apart, in order.
#[derive(Default)]
struct Numbers {
    meetings: Vec<usize>,
    tensor_fences: Vec<usize>,
}

impl<'c> Told<'c> {
    pub(super) fn by(capsule: &'c [u8]) -> Self {
        let numbers = OnceCell::new();
        Self { capsule, numbers }
    }

    /// Whether threads meet at an instruction to see what others have done.
    pub(super) fn is_meeting(&self, at: usize, instruction: &[u8]) -> bool {
        let is_named = || self.numbers().meetings.binary_search(&at).is_ok();
        matches!(operation(instruction), WARPSYNC | NOP) && is_named()
    }

    /// Whether an instruction orders tensor memory by itself.
    pub(super) fn is_tensor_fence(&self, at: usize, instruction: &[u8]) -> bool {
        let is_named = || self.numbers().tensor_fences.binary_search(&at).is_ok();
        operation(instruction) == NOP && is_named()
    }

    fn numbers(&self) -> &Numbers {
        self.numbers.get_or_init(|| Numbers::of(self.capsule))
    }
}

impl Numbers {
    /// Those of some Mercury code; none where it can not be read.
    fn of(capsule: &[u8]) -> Self {
        let mut numbers = Self::default();
        let Ok(capsule) = Capsule::parse(capsule) else {
            return numbers;
        };
        for group in groups(&capsule) {
            let stored = group.stored.as_ref();
            match stored.and_then(|stored| stored.body().get(1..)?.first_chunk()) {
                Some(kind) if MEETINGS.contains(kind) => numbers.meetings.push(group.start),
                Some([TENSOR_FENCE, _]) => numbers.tensor_fences.push(group.start),
                Some(_) | None => {}
            }
        }
        numbers
    }
}

/// Code of CUDA 12 in which fences and what publishes descriptors take a scoreboard where threads of a warp may meet behind
/// them, as today; `None` where all stay as they are. That compiler had nobody wait for them there.
pub(in crate::relocate) fn with_awaited_fences(
    code: &[u8],
    setting: &Setting<'_>,
) -> Option<Vec<u8>> {
    let (instructions, _) = code.as_chunks::<INSTRUCTION>();
    let is_fence = |i: &[u8; INSTRUCTION]| operation(i) == FENCE || publishes(i);
    let takes_none = |i: &[u8; INSTRUCTION]| Control::of(i).write() >= BOARDS;
    let fences = instructions.iter().enumerate();
    let fences = fences.filter(|(_, i)| is_fence(i) && takes_none(i));
    let mut fences = fences.map(|(at, _)| at).peekable();
    fences.peek()?;
    let told = Told::by(setting.capsule);
    let is_meeting = |at: usize| told.is_meeting(at, &instructions[at]);
    let flow = Flow::with(code, &events(code), setting, &told)?;
    let leads_to_meeting = flow.leading_to(is_meeting);
    let awaited: Vec<usize> = fences.filter(|&fence| leads_to_meeting[fence]).collect();
    let mut code = (!awaited.is_empty()).then(|| code.to_vec())?;
    let (instructions, _) = code.as_chunks_mut::<INSTRUCTION>();
    for fence in awaited {
        Control::take_for_result(&mut instructions[fence]);
    }
    Some(code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn meetings_are_known_in_both_forms() {
        // Of four instructions all are stored: the short form, the same for threads that only have to be together, the long
        // form, and a NANOSLEEP.
        let head = [1, 0xc000_0001, 4, 0].map(u32::to_le_bytes);
        let mut long = [0; 16];
        long[..5].copy_from_slice(&[0x01, 0x47, 0x76, 0x0a, 0xf8]);
        let short = [[0x41, 0x47, 0x76, 0x0a], [0x41, 0x47, 0x6e, 0x0a]];
        let capsule = [
            &head.concat()[..],
            short.as_flattened(),
            &long,
            &[0x41, 0x2c, 0x02, 0x0a],
        ];
        let capsule = capsule.concat();
        let meets =
            |told: &Told<'_>| [0, 1, 2, 3].map(|at| told.is_meeting(at, &WARPSYNC.to_le_bytes()));
        assert_eq!(meets(&Told::by(&capsule)), [true, false, true, false]);
        assert_eq!(meets(&Told::by(&[])), [false; 4]);
    }
}
