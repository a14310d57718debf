//! What is known of code before it is asked which time it takes.

use super::flow::Flow;
use super::instruction::{Chip, INSTRUCTION};
use super::mercury::Told;
use super::registers::Accesses;
use super::timing::Unit;
use super::uses::Uses;
use super::{Event, Setting, events};

/// Code of which it is known where control goes.
pub(super) struct Understood {
    pub(super) events: Vec<Event>,
    pub(super) flow: Flow,
    pub(super) uses: Uses,
    /// What each instruction runs on.
    pub(super) units: Vec<Unit>,
    /// The processor that this is for.
    pub(super) chip: Chip,
}

impl Understood {
    /// `None` where it is not known where control goes.
    pub(super) fn new(code: &[u8], setting: &Setting<'_>) -> Option<Self> {
        let told = Told::by(setting.capsule);
        let accesses = |at: usize, instruction: &[u8; INSTRUCTION]| {
            let accesses = Accesses::of(instruction)?;
            match told.is_meeting(at, instruction) {
                true => Some(accesses.seeing_others()),
                false => Some(accesses),
            }
        };
        Self::made(code, setting, &told, accesses)
    }

    /// The same where somebody knows what instructions at their places do with registers.
    pub(super) fn with(
        code: &[u8],
        setting: &Setting<'_>,
        accesses: impl Fn(usize, &[u8; INSTRUCTION]) -> Option<Accesses>,
    ) -> Option<Self> {
        Self::made(code, setting, &Told::by(setting.capsule), accesses)
    }

    fn made(
        code: &[u8],
        setting: &Setting<'_>,
        told: &Told<'_>,
        accesses: impl Fn(usize, &[u8; INSTRUCTION]) -> Option<Accesses>,
    ) -> Option<Self> {
        let chip = setting.chip;
        let events = events(code);
        let flow = Flow::with(code, &events, setting, told)?;
        let (instructions, _) = code.as_chunks::<INSTRUCTION>();
        let numbered = instructions.iter().enumerate();
        let accesses = numbered.map(|(at, instruction)| accesses(at, instruction));
        Some(Self {
            uses: Uses::new(code, &flow, accesses.collect()),
            events,
            flow,
            units: instructions.iter().map(|i| Unit::of(i, chip)).collect(),
            chip,
        })
    }
}
