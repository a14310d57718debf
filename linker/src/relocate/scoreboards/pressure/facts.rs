//! What is known of instructions and of events before any time passes.

use super::super::instruction::{
    does_nothing, is_counted, is_of_texture, is_pause, loads_memory, loads_shared_memory,
    operation, stalls,
};
use super::super::stages::Stages;
use super::super::timing::{Unit, is_slow_double, latency, reads_behind_result};
use super::super::understood::Understood;
use super::super::{Event, Until};

/// An instruction as the compiler planned it.
pub(super) struct Planned {
    /// What it runs on.
    pub(super) unit: Unit,
    /// Cycles to the next one.
    pub(super) stall: u32,
    /// Cycle in which it would start if nothing were waited for.
    pub(super) plain: u32,
    /// Whether it works on doubles where these are slow.
    pub(super) runs_on_slow_double: bool,
    /// How many cycles it keeps others from overwriting its operands if its result is there before.
    pub(super) kept: Option<u32>,
    /// Whether it only lets time pass for the one before it, which nothing gains on.
    pub(super) is_pause: bool,
    /// Whether it does nothing and waits for nothing. It takes no time of its own: the compiler put it there when all
    /// scoreboards were chosen.
    pub(super) is_idle: bool,
    /// Its stage, if it has one.
    pub(super) stage: Option<u32>,
}

impl Planned {
    pub(super) fn all(
        instructions: &[&[u8]],
        understood: &Understood,
        stages: &Stages,
    ) -> Vec<Self> {
        let chip = understood.chip;
        let mut next = 0;
        let known = instructions.iter().zip(stalls(instructions)).enumerate();
        let planned = known.map(|(at, (&instruction, stall))| {
            let plain = next;
            next += stall;
            // Who overwrites them comes behind the last cycle.
            let kept = || {
                let accesses = understood.uses.accesses[at].as_ref();
                latency(instruction, accesses, Until::Read, chip) + 1
            };
            Self {
                unit: understood.units[at],
                stall,
                plain,
                runs_on_slow_double: is_slow_double(instruction, chip),
                kept: reads_behind_result(instruction, chip).then(kept),
                is_pause: at > 0 && is_pause(instructions[at - 1], instruction),
                is_idle: does_nothing(instruction),
                stage: stages.at(at),
            }
        });
        planned.collect()
    }
}

/// What an event is.
pub(super) struct EventKind {
    /// How many cycles it takes.
    pub(super) latency: u32,
    /// Whether it is a load from memory, but for textures, which have a scoreboard for themselves.
    pub(super) is_load: bool,
    /// Whether it is a result from shared memory.
    pub(super) is_shared_load: bool,
    /// Whether nobody knows when it is over.
    pub(super) is_open: bool,
}

impl EventKind {
    pub(super) fn all(instructions: &[&[u8]], understood: &Understood) -> Vec<Self> {
        let kind = |event: &Event| {
            let at = event.instruction;
            let instruction = instructions[at];
            let accesses = understood.uses.accesses[at].as_ref();
            let is_result = event.until == Until::Written;
            let loads = is_result && loads_memory(instruction);
            Self {
                latency: latency(instruction, accesses, event.until, understood.chip),
                is_load: loads && !is_of_texture(operation(instruction)),
                is_shared_load: is_result && loads_shared_memory(instruction),
                is_open: loads || is_counted(instruction),
            }
        };
        understood.events.iter().map(kind).collect()
    }
}
