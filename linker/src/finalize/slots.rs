//! Records of the slots of unified functions.
//!
//! A slot takes over what it reaches, as kernels do. But all slots are one section, which belongs to the first of them, and
//! so are their records: slots behind the first come without any.

use crate::arena::Arena;
use crate::bits::Bits;
use crate::cubin::{Format, InfoCode};
use crate::id::{FunctionId, IdVec};
use crate::merge::{InfoRecord, Payload};
use crate::prune::Pruned;

use super::inherit::{self, Rule};
use super::records::Records;
use super::strays::{self, BehindFigures};

/// Puts the records of all slots, and what they take over, into the list of the first one.
pub(super) fn join<'d>(
    pruned: &Pruned<'d>,
    arena: &'d Arena,
    behind_figures: &BehindFigures,
    records: &mut IdVec<FunctionId, Records<'d>>,
) {
    let slots = slots(pruned);
    let Some(&first) = slots.first() else { return };
    let own = records[first].iter().map(|&record| (0, record));
    let mut list = SlotRecords(own.collect());
    // Beside a lone kernel they are none.
    if pruned.lone_kernel().is_none() {
        list.take_over(pruned, &slots);
    }
    for (function, code, symbols) in behind_figures {
        let record = match slots.iter().position(|slot| slot == function) {
            Some(slot) => list.find(slot, *code),
            None => records[*function]
                .to_mut()
                .iter_mut()
                .find(|r| r.code == *code),
        };
        if let Some(record) = record {
            strays::put_behind(arena, record, symbols);
        }
    }
    let mut joined: Vec<InfoRecord<'d>> = list.0.into_iter().map(|(_, record)| record).collect();
    // None of them multiplies sparse matrices, which is said where functions say it.
    let says = |record: &InfoRecord<'_>| record.code == InfoCode::SPARSE_MMA_MASK;
    if joined.iter().any(says) || records.iter().any(|list| list.iter().any(says)) {
        joined.push(InfoRecord {
            format: Format::Half,
            code: InfoCode::SPARSE_MMA_MASK,
            payload: Payload::Head([0; 2]),
        });
    }
    *records[first].to_mut() = joined;
}

fn slots(pruned: &Pruned<'_>) -> Vec<FunctionId> {
    let functions = pruned.merged.functions.enumerate();
    functions
        .filter(|(_, f)| f.is_stub)
        .map(|(id, _)| id)
        .collect()
}

/// Which kernels or slots, by their numbers, reach a function.
pub(super) fn reaching(pruned: &Pruned<'_>, starts: &[FunctionId]) -> IdVec<FunctionId, Bits> {
    let mut number = IdVec::filled(&pruned.merged.functions, None);
    for (start, &function) in starts.iter().enumerate() {
        number[function] = Some(start);
    }
    let own = |function| number[function].map_or_else(Bits::default, Bits::one);
    pruned.graph.over_callers(own, Bits::join)
}

/// The numbers in the order in which they take over what functions say.
pub(super) fn last_first(reaching: &Bits) -> Vec<usize> {
    let mut numbers: Vec<usize> = reaching.iter().collect();
    numbers.reverse();
    numbers
}

/// Records with the numbers of their slots.
struct SlotRecords<'d>(Vec<(usize, InfoRecord<'d>)>);

impl<'d> SlotRecords<'d> {
    /// Takes over what functions say: function by function, record by record, and the last slot first (case
    /// `unified_records`).
    fn take_over(&mut self, pruned: &Pruned<'d>, slots: &[FunctionId]) {
        let reaching = reaching(pruned, slots);
        for function in inherit::givers(pruned) {
            let reaching = last_first(&reaching[function]);
            for record in pruned.merged.functions[function].records.iter().rev() {
                let Some(rule) = inherit::rule(pruned, record.code) else {
                    continue;
                };
                if record.code == InfoCode::SPARSE_MMA_MASK {
                    continue;
                }
                for &slot in &reaching {
                    self.join(slot, *record, rule);
                }
            }
        }
    }

    /// The record of this code that a slot has.
    fn find(&mut self, slot: usize, code: InfoCode) -> Option<&mut InfoRecord<'d>> {
        let mut records = self.0.iter_mut();
        let place = records.find(|(owner, record)| *owner == slot && record.code == code);
        place.map(|(_, record)| record)
    }

    /// Gives a slot a figure, or makes the one it has larger.
    fn join(&mut self, slot: usize, record: InfoRecord<'d>, rule: Rule) {
        let Some(own) = self.find(slot, record.code) else {
            self.0.push((slot, record));
            return;
        };
        let figure = |record: &InfoRecord<'_>| inherit::value(&[*record], record.code);
        if let Some(joined) = rule.join(figure(own), figure(&record)) {
            own.payload = Payload::Head(joined.to_le_bytes());
        }
    }
}
