//! What is known of code before it is asked which time it takes.

use crate::merge::TableBranch;

use super::flow::Flow;
use super::instruction::{Chip, INSTRUCTION};
use super::registers::Accesses;
use super::timing::Unit;
use super::uses::Uses;
use super::{Event, events};

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
    pub(super) fn new(code: &[u8], tables: &[TableBranch], chip: Chip) -> Option<Self> {
        let accesses = |_: usize, instruction: &[u8; INSTRUCTION]| Accesses::of(instruction);
        Self::with(code, tables, chip, accesses)
    }

    /// The same where somebody knows what instructions at their places do with registers.
    pub(super) fn with(
        code: &[u8],
        tables: &[TableBranch],
        chip: Chip,
        accesses: impl Fn(usize, &[u8; INSTRUCTION]) -> Option<Accesses>,
    ) -> Option<Self> {
        let events = events(code);
        let flow = Flow::new(code, tables, &events, chip)?;
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
