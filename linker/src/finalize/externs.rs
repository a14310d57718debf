//! `EXTERNS` records: which functions the driver must still provide.

use std::collections::HashMap;

use crate::bits::Bits;
use crate::cubin::{Format, InfoCode, SymbolOther};
use crate::id::{FunctionId, IdVec, SymbolId};
use crate::merge::{Definition, InfoRecord, Payload};
use crate::prune::Pruned;

use super::inherit;

/// Keeps the undefined functions of each record, and hands those of device
/// functions to every kernel that reaches them (case `externs_kernels`). A
/// lone kernel gets those of all live functions, reached or not.
pub(super) fn distribute<'d>(
    pruned: &Pruned<'d>,
    records: &mut IdVec<FunctionId, Vec<InfoRecord<'d>>>,
) {
    let has_externs = |list: &Vec<InfoRecord<'_>>| list.iter().any(|r| r.code == InfoCode::EXTERNS);
    if !records.iter().any(has_externs) {
        return;
    }
    let entries: Vec<FunctionId> = pruned.entries().collect();
    if let [lone] = entries[..] {
        give_all(pruned, records, lone);
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
    // Which kernels got a list already: most functions hand over the same.
    let mut given: HashMap<Vec<SymbolId>, Bits> = HashMap::new();
    for function in inherit::described(pruned) {
        if pruned.merged.functions[function].is_entry {
            continue;
        }
        let missing = keep_external(pruned, &mut records[function]);
        if !missing.is_empty() {
            let given = given.entry(missing.clone()).or_default();
            for number in reaching[function].iter_without(given) {
                add(&mut records[entries[number]], &missing);
            }
            given.join(&reaching[function]);
        }
    }
    // A record that names only defined functions goes if nothing came in.
    for entry in entries {
        keep_external(pruned, &mut records[entry]);
    }
}

/// Gives a lone kernel what all functions with it lack, the last first, in a
/// new record at the end. Its own record stays where it is if nothing came in
/// (cases `externs_one_kernel` and `externs_lone_order`).
fn give_all(
    pruned: &Pruned<'_>,
    records: &mut IdVec<FunctionId, Vec<InfoRecord<'_>>>,
    lone: FunctionId,
) {
    let mut own = 0;
    let mut all = Vec::new();
    for function in inherit::described(pruned) {
        let missing = keep_external(pruned, &mut records[function]);
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
        let list = &mut records[lone];
        list.retain(|record| record.code != InfoCode::EXTERNS);
        list.push(record(all));
    }
}

/// Drops defined functions other than kernels, which are launched and not
/// called, and records without any other. Says which are left.
pub(super) fn keep_external(
    pruned: &Pruned<'_>,
    records: &mut Vec<InfoRecord<'_>>,
) -> Vec<SymbolId> {
    let mut left = Vec::new();
    records.retain_mut(|record| match &mut record.payload {
        Payload::Symbols(symbols) => {
            symbols.retain(|&s| {
                let symbol = &pruned.merged.symbols[s];
                symbol.definition == Definition::Undefined || symbol.other.has(SymbolOther::ENTRY)
            });
            left.extend_from_slice(symbols);
            !symbols.is_empty()
        }
        Payload::Head(_) | Payload::Bytes(_) | Payload::Symbol(..) => true,
    });
    left
}

fn add(records: &mut Vec<InfoRecord<'_>>, missing: &[SymbolId]) {
    for record in records.iter_mut() {
        if let Payload::Symbols(symbols) = &mut record.payload {
            for symbol in missing {
                if !symbols.contains(symbol) {
                    symbols.push(*symbol);
                }
            }
            return;
        }
    }
    records.push(record(missing.to_vec()));
}

fn record<'d>(symbols: Vec<SymbolId>) -> InfoRecord<'d> {
    InfoRecord {
        format: Format::Sized,
        code: InfoCode::EXTERNS,
        payload: Payload::Symbols(symbols),
    }
}
