//! The instructions of a kernel anew, in both forms of its code.

use crate::cubin::Capsule;
use crate::merge::TableBranch;

use super::super::scoreboards::instruction::{
    CALL_ABSOLUTE, EXIT, INSTRUCTION, LDGSTS, MEMORY_BARRIER, operation, writes_surface,
};
use super::super::scoreboards::slower::{Pauses, Slowed};
use super::super::scoreboards::{self, Compiled, Origin, Setting};
use super::alone::LeftOut;
use super::choice::{
    Choice, SLOW_REPORT, behind_ordered_barriers, is_of_shared_barrier, moved_ends,
};
use super::environment::Reads;
use super::exits::ChangedExit;
use super::moves::{Moves, Piece};
use super::slower::Paused;
use super::stored::write_capsule;
use super::{Wanted, aside, control, exits, moves};

/// The code of a kernel after it was made anew.
pub(super) struct Recoded {
    pub(super) code: Vec<u8>,
    pub(super) capsule: Vec<u8>,
    pub(super) moves: Moves,
    /// Whether it has instructions that wait or take scoreboards, which the old code does not have.
    waits_anew: bool,
}

impl Recoded {
    /// `None` where nothing changes, and where it is not known what would.
    pub(super) fn new(
        code: &[u8],
        capsule: &[u8],
        tables: &[TableBranch],
        wanted: &Wanted,
        chip: scoreboards::Chip,
    ) -> Option<Self> {
        let parsed = Capsule::parse(capsule).ok()?;
        let machine: Vec<&[u8; INSTRUCTION]> = code.as_chunks().0.iter().collect();
        let has = |wanted: u16| machine.iter().any(|i| operation(*i) == wanted);
        let all = aside::placed(&parsed, &machine)?;
        let has_shared_copy = has(LDGSTS);
        let left_out = wanted.is_whole && !has(CALL_ABSOLUTE) && has(MEMORY_BARRIER);
        let choice = Choice {
            calls: !wanted.is_lone || has(CALL_ABSOLUTE),
            left_out: left_out.then(|| LeftOut::new(&machine, has_shared_copy)),
            writes_surfaces: machine.iter().any(|i| writes_surface(operation(*i))),
            is_ordered: behind_ordered_barriers(&machine),
            moved_ends: moved_ends(&all, &machine),
            has_shared_barrier: parsed.stored.iter().any(is_of_shared_barrier),
            has_shared_copy,
            for_debuggers: wanted.for_debuggers,
            is_slow: machine.first().is_some_and(|first| control::is_slow(first)),
            environment: Reads::new(code, &all, tables, chip),
        };
        let mut pieces = Vec::with_capacity(machine.len());
        for group in &all {
            let old = machine.get(group.start..group.end)?;
            pieces.extend(choice.pieces(group, old)?);
        }
        let mut gone = exits::report_before_pauses(&mut pieces, &all, &machine, chip);
        gone.extend(&choice.moved_ends);
        let is_same = gone.is_empty()
            && pieces.len() == machine.len()
            && pieces.iter().all(|piece| matches!(piece, Piece::Old(_)));
        if is_same || all.last()?.end != machine.len() {
            return None;
        }
        let exits = ChangedExit::all(&pieces, &machine);
        let waits_anew = |piece: &Piece| matches!(piece, Piece::Behind(_) | Piece::Pause(_));
        let waits_anew = pieces.iter().any(waits_anew)
            || choice.environment.is_any()
            || !choice.moved_ends.is_empty();
        let (mut code, moves, padding) = moves::apply(&machine, &pieces, tables)?;
        let pauses = exits
            .iter()
            .filter_map(|exit| exit.set_stalls(&mut code, chip));
        let pauses: Vec<Pauses> = pauses.collect();
        exits::hold_barriers(&mut code, chip);
        choice.environment.take_scoreboards(&mut code, &moves);
        let capsule = write_capsule(&parsed, &all, &choice, &machine, &gone, padding)?;
        let recoded = Self {
            code,
            capsule,
            moves,
            waits_anew,
        };
        match pauses.is_empty() {
            true => Some(recoded),
            false => recoded.with_pauses(pauses, tables),
        }
    }

    /// The same with more that lets time pass. `tables` are those of the code that it was made of.
    fn with_pauses(self, pauses: Vec<Pauses>, tables: &[TableBranch]) -> Option<Self> {
        let tables = self.moves.tables(tables);
        let slowed = Slowed {
            code: self.code,
            gone: Vec::new(),
            pauses,
        };
        let paused = Paused::new(&slowed, &slowed.code, &self.capsule, &tables)?;
        Some(Self {
            code: paused.code,
            capsule: paused.capsule,
            moves: self.moves.then(&paused.moves),
            ..self
        })
    }

    /// The same with the scoreboards that nvlink chooses. `old` is the setting of the code that it was made of, for which
    /// compilers of today chose those by the same rules.
    pub(super) fn with_scoreboards(
        mut self,
        old: Setting<'_>,
        origin: Option<&Compiled<'_>>,
    ) -> Self {
        let is_older = origin.is_none();
        let tables = self.moves.tables(old.tables);
        let setting = Setting {
            tables: &tables,
            capsule: &self.capsule,
            ..old
        };
        let places = origin.map(|old| self.moves.origins(old.code(), &self.code));
        let origin = origin.zip(places.as_deref());
        let origin = origin.map(|(compiled, places)| Origin {
            compiled,
            places: Some(places),
            is_timed: false,
        });
        let keeps_waits = is_older && !self.waits_anew;
        let chosen = match keeps_waits {
            true => scoreboards::chosen_with_waits(&self.code, setting),
            false => scoreboards::chosen(&self.code, setting, origin),
        };
        match chosen {
            Some(mut code) => {
                if keeps_waits {
                    scoreboards::wait_in_reports(&mut code);
                }
                keep_slow_reports(&self.code, &mut code);
                self.code = code;
            }
            None => scoreboards::wait_in_reports(&mut self.code),
        }
        self
    }
}

/// In code that is not optimized, what reports errors waits as all do, and so does the `EXIT` behind it, whatever they have to
/// wait for (cases `errors_visible`, `recode_ordered`).
fn keep_slow_reports(old: &[u8], code: &mut [u8]) {
    let (old, _) = old.as_chunks::<INSTRUCTION>();
    let (new, _) = code.as_chunks_mut::<INSTRUCTION>();
    let reports = new.iter_mut().zip(old);
    // Before the end of some threads they have its predicate.
    let for_all = |report: &[u8; INSTRUCTION]| {
        let mut report = *report;
        report[1] = report[1] & 0x0f | 0x70;
        report
    };
    let mut is_behind = false;
    for (new, old) in reports {
        let is_report = SLOW_REPORT[1..].contains(&for_all(old));
        if is_report || is_behind && operation(old) == EXIT {
            *new = *old;
        }
        is_behind = is_report;
    }
}
