//! How instructions wait for each other: the bits behind what they do.

use super::bit;
use super::instruction::{BOARDS, INSTRUCTION, NO_BOARD};

/// How an instruction waits for others, and what it takes itself: bits 105 to
/// 121.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::relocate) struct Control(u32);

impl Control {
    const WORD: usize = 12;
    const SHIFT: u32 = 9;
    const BOARDS_AND_WAITS: u32 = 0x1_ffe0;
    /// The cycles, and the mark that another warp had better not be next.
    const STALL: u32 = Self::LENGTH | Self::STAYS;
    const LENGTH: u32 = 0xf;
    const STAYS: u32 = 0x10;
    pub(in crate::relocate) const LONGEST_STALL: u8 = 15;

    pub(in crate::relocate) fn of(instruction: &[u8]) -> Self {
        Self(word(instruction) >> Self::SHIFT)
    }

    /// Whether two instructions differ in nothing but this and in what they keep.
    pub(super) fn is_all_that_differs(one: &[u8; INSTRUCTION], other: &[u8; INSTRUCTION]) -> bool {
        const BEFORE: u32 = u8::BITS * Control::WORD as u32 + Control::SHIFT;
        let differing = u128::from_le_bytes(*one) ^ u128::from_le_bytes(*other);
        differing << (u128::BITS - BEFORE) == 0
    }

    /// Taken until the result is written.
    pub(super) fn write(self) -> u8 {
        (self.0 >> 5 & 7) as u8
    }

    /// Taken until the operands are read.
    pub(super) fn read(self) -> u8 {
        (self.0 >> 8 & 7) as u8
    }

    /// One bit for each scoreboard that must be free.
    pub(in crate::relocate) fn waits(self) -> u8 {
        (self.0 >> 11 & 63) as u8
    }

    /// Cycles until the next instruction can start.
    pub(in crate::relocate) fn stall(self) -> u8 {
        (self.0 & Self::LENGTH) as u8
    }

    /// Whether another warp had better not be next.
    pub(super) fn stays(self) -> bool {
        self.0 & Self::STAYS != 0
    }

    /// Takes away the mark that another warp had better not be next.
    pub(in crate::relocate) fn keep_ready(instruction: &mut [u8; INSTRUCTION]) {
        Self::replace(instruction, Self::STAYS, 0);
    }

    /// One bit for each scoreboard that an instruction takes.
    pub(in crate::relocate) fn takes(self) -> u8 {
        bit(self.write()) | bit(self.read())
    }

    /// Whether an instruction behind this one waits for a scoreboard that it takes.
    pub(super) fn is_awaited_by(self, next: Self) -> bool {
        self.takes() & next.waits() != 0
    }

    /// Gives an instruction more cycles until the next one, if it had fewer.
    pub(super) fn lengthen_stall(instruction: &mut [u8], least: u8) {
        if Self::of(instruction).stall() < least {
            Self::replace(instruction, Self::LENGTH, u32::from(least));
        }
    }

    /// Gives an instruction the cycles that those like it take at least.
    pub(in crate::relocate) fn set_stall(instruction: &mut [u8; INSTRUCTION], stall: u8) {
        Self::replace(instruction, Self::STALL, u32::from(stall) | Self::STAYS);
    }

    /// Gives an instruction one cycle until the next one.
    pub(super) fn shorten_stall(instruction: &mut [u8]) {
        Self::replace(instruction, Self::LENGTH, 1);
    }

    pub(in crate::relocate) fn set_waits(instruction: &mut [u8], waits: u8) {
        let control = Self::of(instruction);
        Self::set(instruction, control.write(), control.read(), waits);
    }

    /// Lets an instruction take some scoreboard until its result is written, if it takes none.
    pub(in crate::relocate) fn take_for_result(instruction: &mut [u8; INSTRUCTION]) {
        let control = Self::of(instruction);
        let board = control.write().min(BOARDS) % BOARDS;
        Self::set(instruction, board, control.read(), control.waits());
    }

    /// The same until its operands are read.
    pub(in crate::relocate) fn take_for_operands(instruction: &mut [u8; INSTRUCTION]) {
        let control = Self::of(instruction);
        let board = control.read().min(BOARDS) % BOARDS;
        Self::set(instruction, control.write(), board, control.waits());
    }

    /// Lets an instruction take none for its operands.
    pub(in crate::relocate) fn leave_operands(instruction: &mut [u8; INSTRUCTION]) {
        let control = Self::of(instruction);
        Self::set(instruction, control.write(), NO_BOARD, control.waits());
    }

    pub(super) fn set(instruction: &mut [u8], write: u8, read: u8, waits: u8) {
        let fields = u32::from(write) << 5 | u32::from(read) << 8 | u32::from(waits) << 11;
        Self::replace(instruction, Self::BOARDS_AND_WAITS, fields);
    }

    fn replace(instruction: &mut [u8], fields: u32, new: u32) {
        let kept = word(instruction) & !(fields << Self::SHIFT);
        let changed = kept | new << Self::SHIFT;
        instruction[Self::WORD..].copy_from_slice(&changed.to_le_bytes());
    }
}

/// The last four bytes. Whatever the input is, its code has been cut into whole instructions.
fn word(instruction: &[u8]) -> u32 {
    u32::from_le_bytes(*instruction.last_chunk().expect("sixteen bytes"))
}
