//! `EXTERNS` records: which functions the driver must still provide.

use std::collections::HashMap;

use crate::bits::Bits;
use crate::cubin::{Format, InfoCode};
use crate::id::{FunctionId, IdVec, SymbolId};
use crate::merge::{Definition, InfoRecord, Payload};
use crate::prune::Pruned;

/// Keeps the undefined functions of each record, and hands those of device
/// functions to every kernel that reaches them.
///
/// A kernel whose own record names only defined functions loses it. Of a lone
/// kernel it is gone before anything is handed over, and a new one is made at
/// the end; with more kernels it goes only if nothing came in (cases
/// `externs_one_kernel` and `externs_kernels`). A lone kernel gets them from
/// all live functions, reached or not.
pub(super) fn distribute<'d>(
    pruned: &Pruned<'d>,
    records: &mut IdVec<FunctionId, Vec<InfoRecord<'d>>>,
) {
    let has_externs = |list: &Vec<InfoRecord<'_>>| list.iter().any(|r| r.code == InfoCode::EXTERNS);
    if !records.iter().any(has_externs) {
        return;
    }
    let entries: Vec<FunctionId> = pruned.entries().collect();
    let mut entry_number = IdVec::filled(&pruned.merged.functions, None);
    for (number, &entry) in entries.iter().enumerate() {
        entry_number[entry] = Some(number);
    }
    let reaching = pruned.graph.over_callers(
        |f| entry_number[f].map_or_else(Bits::default, Bits::one),
        Bits::join,
    );
    if let [lone] = entries[..] {
        keep_external(pruned, &mut records[lone]);
    }
    // Which kernels got a list already: most functions hand over the same.
    let mut given: HashMap<Vec<SymbolId>, Bits> = HashMap::new();
    for section in pruned.merged.sections.iter() {
        let Some(function) = section.function else {
            continue;
        };
        if !pruned.live.functions[function] || pruned.merged.functions[function].is_entry {
            continue;
        }
        let missing = keep_external(pruned, &mut records[function]);
        if let [lone] = entries[..] {
            if !missing.is_empty() {
                add(&mut records[lone], &missing);
            }
        } else if !missing.is_empty() {
            let given = given.entry(missing.clone()).or_default();
            for number in reaching[function].iter_without(given) {
                add(&mut records[entries[number]], &missing);
            }
            given.join(&reaching[function]);
        }
    }
    for entry in entries {
        keep_external(pruned, &mut records[entry]);
    }
}

/// Drops defined functions other than kernels, which are launched and not
/// called, and records without any other. Says which are left.
fn keep_external(pruned: &Pruned<'_>, records: &mut Vec<InfoRecord<'_>>) -> Vec<SymbolId> {
    let mut left = Vec::new();
    records.retain_mut(|record| match &mut record.payload {
        Payload::Symbols(symbols) => {
            symbols.retain(|&s| {
                let symbol = &pruned.merged.symbols[s];
                symbol.definition == Definition::Undefined
                    || symbol
                        .function
                        .is_some_and(|f| pruned.merged.functions[f].is_entry)
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
    records.push(InfoRecord {
        format: Format::Sized,
        code: InfoCode::EXTERNS,
        payload: Payload::Symbols(missing.to_vec()),
    });
}
