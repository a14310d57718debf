//! `AT_ENTRY_FRAGMENTS` records: sets of numbers that only kernels keep.

use rustc_hash::FxHashMap;

use crate::arena::Arena;
use crate::cubin::{Format, InfoCode};
use crate::id::{FunctionId, IdVec};
use crate::merge::{InfoRecord, Payload};
use crate::prune::Pruned;

use super::inherit;
use super::records::{Records, put, remove};

/// Moves the fragments of device functions to every kernel that reaches them.
/// A lone kernel gets those of all live functions, reached or not, and its own
/// in its turn (case `fragments`).
pub(super) fn collect<'d>(
    pruned: &Pruned<'d>,
    arena: &'d Arena,
    records: &mut IdVec<FunctionId, Records<'d>>,
) {
    let described = inherit::described(pruned);
    let of_functions: Vec<(FunctionId, Vec<u32>)> = described
        .into_iter()
        .map(|function| (function, fragments(&records[function])))
        .filter(|(_, fragments)| !fragments.is_empty())
        .collect();
    if of_functions.is_empty() {
        return;
    }
    let entries: Vec<FunctionId> = pruned.entries().collect();
    let is_lone = pruned.lone_kernel().is_some();
    let mut collected: Vec<Vec<u32>> = entries
        .iter()
        .map(|&entry| match is_lone {
            true => Vec::new(),
            false => fragments(&records[entry]),
        })
        .collect();
    let mut add = |entry: usize, more: &[u32]| {
        for fragment in more {
            if !collected[entry].contains(fragment) {
                collected[entry].push(*fragment);
            }
        }
    };
    if is_lone {
        of_functions.iter().for_each(|(_, more)| add(0, more));
    } else {
        let givers: Vec<FunctionId> = of_functions.iter().map(|&(function, _)| function).collect();
        let own: FxHashMap<FunctionId, &[u32]> = of_functions
            .iter()
            .map(|(function, own)| (*function, &own[..]))
            .collect();
        let graph = &pruned.graph;
        graph.each_reached(&entries, &givers, |entry, function| {
            add(entry, own[&function]);
        });
    }
    for (&entry, all) in entries.iter().zip(&collected) {
        // What a lone kernel gets stands behind all else, wherever its own stood.
        if is_lone && *all != fragments(&records[entry]) {
            remove(&mut records[entry], InfoCode::AT_ENTRY_FRAGMENTS);
        }
        if !all.is_empty() {
            put(&mut records[entry], record(arena, all));
        }
    }
    for (function, _) in of_functions {
        if pruned.is_called(function) {
            remove(&mut records[function], InfoCode::AT_ENTRY_FRAGMENTS);
        }
    }
}

/// The record of these fragments.
fn record<'d>(arena: &'d Arena, fragments: &[u32]) -> InfoRecord<'d> {
    let bytes: Vec<[u8; 4]> = fragments.iter().map(|word| word.to_le_bytes()).collect();
    InfoRecord {
        format: Format::Sized,
        code: InfoCode::AT_ENTRY_FRAGMENTS,
        payload: Payload::Bytes(arena.list(bytes.as_flattened())),
    }
}

/// The fragments in a function's records.
fn fragments(records: &[InfoRecord<'_>]) -> Vec<u32> {
    let records = records.iter();
    let records = records.filter(|record| record.code == InfoCode::AT_ENTRY_FRAGMENTS);
    records.flat_map(InfoRecord::words).collect()
}
