//! Attribute records: their order, and what kernels inherit.

use std::ops::Deref;

use crate::arena::Arena;
use crate::cubin::{Format, InfoCode, section_name};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::id::{FunctionId, IdVec, SymbolId};
use crate::merge::{InfoRecord, Payload};
use crate::prune::Pruned;
use crate::stacks::{Stacks, UNBOUNDED};

use super::registers::Registers;

/// The records of a function: a `Cow` that is covariant in `'d`.
#[derive(Debug)]
pub(crate) enum Records<'d> {
    /// As in the inputs.
    OfInputs(&'d [InfoRecord<'d>]),
    /// Changed, or in another order.
    Changed(Vec<InfoRecord<'d>>),
}

impl<'d> Records<'d> {
    /// The list, copied before the first change.
    pub(super) fn to_mut(&mut self) -> &mut Vec<InfoRecord<'d>> {
        if let Self::OfInputs(records) = self {
            *self = Self::Changed(records.to_vec());
        }
        match self {
            Self::Changed(records) => records,
            Self::OfInputs(_) => unreachable!("it was changed a moment ago"),
        }
    }
}

impl Default for Records<'_> {
    fn default() -> Self {
        Self::OfInputs(&[])
    }
}

impl<'d> Deref for Records<'d> {
    type Target = [InfoRecord<'d>];

    fn deref(&self) -> &[InfoRecord<'d>] {
        match self {
            Self::OfInputs(records) => records,
            Self::Changed(records) => records,
        }
    }
}

/// Each function's records, last input first.
pub(super) fn of_inputs<'d>(pruned: &Pruned<'d>) -> IdVec<FunctionId, Records<'d>> {
    let functions = pruned.merged.functions.iter();
    functions.map(|f| Records::OfInputs(f.records)).collect()
}

/// The set of codes of some functions' records: most codes occur nowhere in a program.
#[derive(Debug)]
pub(super) struct Codes([bool; 1 << 8]);

impl Codes {
    /// The codes of these functions' records.
    pub(super) fn of<'a, 'd: 'a>(functions: impl Iterator<Item = &'a Records<'d>>) -> Self {
        let mut is_there = [false; 1 << 8];
        for record in functions.flat_map(|list| list.iter()) {
            is_there[usize::from(record.code.0)] = true;
        }
        Self(is_there)
    }

    /// Whether one of them has a record of this code.
    pub(super) fn has(&self, code: InfoCode) -> bool {
        self.0[usize::from(code.0)]
    }
}

/// Where some functions say which sparse matrix instructions they have, those
/// that say nothing may have any (case `alias`; so have objects of older
/// compilers).
pub(super) fn assume_unknown_masks(
    pruned: &Pruned<'_>,
    codes: &Codes,
    records: &mut IdVec<FunctionId, Records<'_>>,
) {
    const UNKNOWN: u16 = 0x8000;
    if !codes.has(InfoCode::SPARSE_MMA_MASK) {
        return;
    }
    let has_mask = |list: &[InfoRecord<'_>]| {
        list.iter()
            .any(|record| record.code == InfoCode::SPARSE_MMA_MASK)
    };
    let live = || {
        let functions = pruned.merged.functions.enumerate();
        functions.filter(|&(id, _)| pruned.live.functions[id])
    };
    if !live().any(|(id, _)| has_mask(&records[id])) {
        return;
    }
    let silent: Vec<FunctionId> = live()
        .filter(|&(id, _)| !has_mask(&records[id]))
        .filter(|(_, function)| pruned.merged.surrounding(function.symbol).is_none())
        .filter_map(|(_, function)| pruned.merged.owner(function.symbol))
        .collect();
    for function in silent {
        records[function].to_mut().push(InfoRecord {
            format: Format::Half,
            code: InfoCode::SPARSE_MMA_MASK,
            payload: Payload::Head(UNKNOWN.to_le_bytes()),
        });
    }
}

/// Refuses records that have become larger than their heads can say, of the module and of functions. Those of inputs are as
/// large as these say, and only lists grow.
pub(super) fn check_sizes(
    pruned: &Pruned<'_>,
    module: &[InfoRecord<'_>],
    records: &IdVec<FunctionId, Records<'_>>,
    diagnostics: &mut Diagnostics,
) {
    let merged = &pruned.merged;
    let too_large = |list: &[InfoRecord<'_>]| {
        let mut sizes = list.iter().map(|r| (r.code, r.payload.size()));
        sizes.find(|&(_, size)| size > usize::from(u16::MAX))
    };
    if let Some((code, size)) = too_large(module) {
        let section = section_name::INFO;
        diagnostics.push(Diagnostic::record_too_large(code, section, size));
    }
    for (id, function) in merged.functions.enumerate() {
        if let Records::Changed(list) = &records[id]
            && let Some((code, size)) = too_large(list)
        {
            let info = function.info.map(|info| merged.sections[info].name);
            let section = info.unwrap_or(section_name::INFO);
            let error = Diagnostic::record_too_large(code, section, size);
            diagnostics.push(error.of_mangled(merged.name_of(id)));
        }
    }
}

/// Where parameters lie is not said of kernels whose bank has gone with another one of the name (case
/// `static_kernels_filtered`).
pub(super) fn drop_lost_banks(pruned: &Pruned<'_>, records: &mut IdVec<FunctionId, Records<'_>>) {
    if pruned.merged.target.has_mercury() {
        return;
    }
    let is_lost = |record: &InfoRecord<'_>| {
        let bank = record
            .subject()
            .filter(|_| record.code == InfoCode::PARAM_CBANK);
        bank.is_some_and(|bank| !pruned.live.symbols[bank])
    };
    for (function, _) in pruned.merged.functions.enumerate() {
        if pruned.live.functions[function] && records[function].iter().any(is_lost) {
            records[function].to_mut().retain(|record| !is_lost(record));
        }
    }
}

/// The module's records: those of the inputs, last input first, with the
/// registers of kernels raised to what they call; then the stack sizes.
pub(super) fn module<'d>(
    pruned: &Pruned<'d>,
    arena: &'d Arena,
    stacks: &Stacks,
    registers: &Registers,
) -> Vec<InfoRecord<'d>> {
    let mut records = Vec::with_capacity(pruned.merged.records.len());
    for &(mut record) in pruned.merged.records.iter().rev() {
        let subject = record.subject();
        if subject.is_some_and(|symbol| !pruned.live.symbols[symbol]) {
            continue;
        }
        // Kernels say it below (case `whole_program_unbounded`).
        let is_unbounded = matches!(record.symbol_number(), Some((_, UNBOUNDED)));
        if record.code == InfoCode::MIN_STACK_SIZE && is_unbounded {
            continue;
        }
        if record.code == InfoCode::REGCOUNT
            && let Some(symbol) = subject
            && let Some(function) = pruned.merged.symbols[symbol].function
            && pruned.live.entries[function]
        {
            record.payload = number(arena, symbol, registers.most[function]);
        }
        records.push(record);
    }
    // Before what the link computes (case `odd_notes`).
    if pruned.merged.notes.has_oldest {
        records.push(InfoRecord {
            format: Format::NoValue,
            code: InfoCode::HAS_PRE_V10_OBJECT,
            payload: Payload::Head([0; 2]),
        });
    }
    let ranks = pruned.merged.symbols.ranks();
    let mut entries = pruned.starts();
    entries.sort_by_key(|&entry| ranks[pruned.merged.functions[entry].symbol]);
    for entry in entries {
        let bytes = stacks.depths[entry]
            .and_then(|size| u32::try_from(size).ok())
            .unwrap_or(UNBOUNDED);
        records.push(InfoRecord {
            format: Format::Sized,
            code: InfoCode::MIN_STACK_SIZE,
            payload: number(arena, pruned.merged.functions[entry].symbol, bytes),
        });
    }
    records
}

fn number(arena: &Arena, symbol: SymbolId, number: u32) -> Payload<'_> {
    Payload::Symbol(symbol, arena.list(&number.to_le_bytes()))
}

/// Says of kernels whose stack has no bound that it is unknown. That comes before anything else that a link adds (case
/// `older_unbounded`).
pub(super) fn mark_unbounded<'d>(
    pruned: &Pruned<'d>,
    stacks: &Stacks,
    records: &mut IdVec<FunctionId, Records<'d>>,
) {
    const SIZE: [u8; 4] = UNBOUNDED.to_le_bytes();
    for entry in pruned.entries() {
        if stacks.depths[entry].is_none() {
            put(
                &mut records[entry],
                InfoRecord {
                    format: Format::Sized,
                    code: InfoCode::CRS_STACK_SIZE,
                    payload: Payload::Bytes(&SIZE),
                },
            );
        }
    }
}

/// Removes the records of a code.
pub(super) fn remove(records: &mut Records<'_>, code: InfoCode) {
    records.to_mut().retain(|record| record.code != code);
}

/// Puts the record where one of its code is, or at the end.
pub(super) fn put<'d>(records: &mut Records<'d>, record: InfoRecord<'d>) {
    let records = records.to_mut();
    match records.iter_mut().find(|r| r.code == record.code) {
        Some(place) => *place = record,
        None => records.push(record),
    }
}
