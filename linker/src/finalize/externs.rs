//! `EXTERNS` records: which functions the driver must still provide.

use rustc_hash::FxHashMap;

use crate::arena::Arena;
use crate::bits::Bits;
use crate::cubin::{Format, InfoCode, SymbolOther};
use crate::id::{FunctionId, IdVec, SymbolId};
use crate::merge::{Definition, InfoRecord, Payload};
use crate::prune::Pruned;

use super::inherit;
use super::records::Records;

/// Keeps the undefined functions of each record, and hands those of device
/// functions to every kernel that reaches them (case `externs_kernels`). A
/// lone kernel gets those of all live functions, reached or not.
pub(super) fn distribute<'d>(
    pruned: &Pruned<'d>,
    arena: &'d Arena,
    records: &mut IdVec<FunctionId, Records<'d>>,
) {
    if let Some(lone) = pruned.lone_kernel() {
        give_all(pruned, arena, records, lone);
        return;
    }
    let entries: Vec<FunctionId> = pruned.entries().collect();
    let mut lacking: Vec<(FunctionId, Vec<SymbolId>)> = Vec::new();
    for function in inherit::described(pruned) {
        if pruned.is_called(function) {
            let missing = keep_external(pruned, arena, &mut records[function]);
            lacking.extend((!missing.is_empty()).then_some((function, missing)));
        }
    }
    hand_over(pruned, arena, records, &entries, lacking);
    // A record that names only defined functions goes if nothing came in.
    for entry in entries {
        keep_external(pruned, arena, &mut records[entry]);
    }
}

/// Gives each kernel what the functions that it reaches lack.
fn hand_over<'d>(
    pruned: &Pruned<'d>,
    arena: &'d Arena,
    records: &mut IdVec<FunctionId, Records<'d>>,
    entries: &[FunctionId],
    lacking: Vec<(FunctionId, Vec<SymbolId>)>,
) {
    if lacking.is_empty() {
        return;
    }
    let mut entry_number = IdVec::filled(&pruned.merged.functions, None);
    for (number, &entry) in entries.iter().enumerate() {
        entry_number[entry] = Some(number);
    }
    let reaching = pruned.graph.over_callers(
        |f| entry_number[f].map_or_else(Bits::default, Bits::one),
        Bits::join,
    );
    let mut gained: Vec<Vec<SymbolId>> = vec![Vec::new(); entries.len()];
    // Which kernels got a list already: most functions hand over the same.
    let mut given: FxHashMap<Vec<SymbolId>, Bits> = FxHashMap::default();
    for (function, missing) in lacking {
        let given = given.entry(missing.clone()).or_default();
        for number in reaching[function].iter_without(given) {
            for &symbol in &missing {
                if !gained[number].contains(&symbol) {
                    gained[number].push(symbol);
                }
            }
        }
        given.join(&reaching[function]);
    }
    for (&entry, gained) in entries.iter().zip(gained) {
        add(arena, &mut records[entry], &gained);
    }
}

/// Gives a lone kernel what all functions with it lack, the last first, in a
/// new record at the end. Its own record stays where it is if nothing came in
/// (cases `externs_one_kernel` and `externs_lone_order`).
fn give_all<'d>(
    pruned: &Pruned<'d>,
    arena: &'d Arena,
    records: &mut IdVec<FunctionId, Records<'d>>,
    lone: FunctionId,
) {
    let mut own = 0;
    let mut all = Vec::new();
    for function in inherit::described(pruned) {
        let missing = keep_external(pruned, arena, &mut records[function]);
        if function == lone {
            own = missing.len();
        }
        for symbol in missing {
            if !all.contains(&symbol) {
                all.insert(0, symbol);
            }
        }
    }
    if all.len() > own {
        let list = records[lone].to_mut();
        list.retain(|record| record.code != InfoCode::EXTERNS);
        list.push(record(arena.list(&all)));
    }
}

/// Drops defined functions other than kernels, which are launched and not
/// called, and records without any other. Says which are left.
pub(super) fn keep_external<'d>(
    pruned: &Pruned<'d>,
    arena: &'d Arena,
    records: &mut Records<'d>,
) -> Vec<SymbolId> {
    let mut left = Vec::new();
    let is_list = |record: &InfoRecord<'_>| matches!(record.payload, Payload::Symbols(_));
    if !records.iter().any(is_list) {
        return left;
    }
    records
        .to_mut()
        .retain_mut(|record| match &mut record.payload {
            Payload::Symbols(symbols) => {
                let missing = left.len();
                let are_missing = symbols.iter().filter(|&&s| is_missing(pruned, s));
                left.extend(are_missing);
                if left.len() - missing < symbols.len() {
                    *symbols = arena.list(&left[missing..]);
                }
                !symbols.is_empty()
            }
            Payload::Head(_) | Payload::Bytes(_) | Payload::Symbol(..) | Payload::WithStrays(_) => {
                true
            }
        });
    left
}

/// Whether the driver must provide a function that a record lists.
fn is_missing(pruned: &Pruned<'_>, symbol: SymbolId) -> bool {
    let row = &pruned.merged.symbols[symbol];
    let is_undefined = row.definition == Definition::Undefined && pruned.live.symbols[symbol];
    is_undefined || row.other.has(SymbolOther::ENTRY)
}

/// The functions of a record that the driver must provide.
pub(super) fn missing(pruned: &Pruned<'_>, record: &InfoRecord<'_>) -> Vec<SymbolId> {
    match record.payload {
        Payload::Symbols(symbols) => {
            let symbols = symbols.iter().copied();
            symbols
                .filter(|&symbol| is_missing(pruned, symbol))
                .collect()
        }
        Payload::Head(_) | Payload::Bytes(_) | Payload::Symbol(..) | Payload::WithStrays(_) => {
            Vec::new()
        }
    }
}

/// Adds to the list of a kernel, or makes one.
pub(super) fn add<'d>(arena: &'d Arena, records: &mut Records<'d>, missing: &[SymbolId]) {
    if missing.is_empty() {
        return;
    }
    let records = records.to_mut();
    for record in records.iter_mut() {
        if let Payload::Symbols(symbols) = &mut record.payload {
            let is_new = |symbol: &&SymbolId| !symbols.contains(symbol);
            let more: Vec<SymbolId> = missing.iter().filter(is_new).copied().collect();
            *symbols = arena.list(&[symbols, &more[..]].concat());
            return;
        }
    }
    records.push(record(arena.list(missing)));
}

fn record(symbols: &[SymbolId]) -> InfoRecord<'_> {
    InfoRecord {
        format: Format::Sized,
        code: InfoCode::EXTERNS,
        payload: Payload::Symbols(symbols),
    }
}
