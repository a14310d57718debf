//! `EXTERNS` records: which functions the driver must still provide.

use crate::bits::Bits;
use crate::cubin::{Format, InfoCode};
use crate::id::{FunctionId, IdVec, SymbolId};
use crate::merge::{Definition, InfoRecord, Payload};
use crate::prune::Pruned;

/// Keeps the undefined functions of each record, and hands those of device
/// functions to every kernel that reaches them.
///
/// Functions are visited in the order of their code. A kernel that was
/// visited before, and lost its record because all was defined, gets a new
/// one at the end; one that comes later takes them into the record it has.
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
    for section in pruned.merged.sections.iter() {
        let Some(function) = section.function.filter(|&f| pruned.live.functions[f]) else {
            continue;
        };
        let mut missing = Vec::new();
        records[function].retain_mut(|record| match &mut record.payload {
            Payload::Symbols(symbols) => {
                symbols.retain(|&s| pruned.merged.symbols[s].definition == Definition::Undefined);
                missing.extend_from_slice(symbols);
                !symbols.is_empty()
            }
            Payload::Head(_) | Payload::Bytes(_) | Payload::Symbol(..) => true,
        });
        if pruned.merged.functions[function].is_entry || missing.is_empty() {
            continue;
        }
        for number in reaching[function].iter() {
            add(&mut records[entries[number]], &missing);
        }
    }
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
