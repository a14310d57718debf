//! Undefined functions that nvlink lists in the wrong record.
//!
//! Kernels list the undefined functions of all functions they reach. Slots of unified functions have no place for such a
//! list: where one is due, nvlink takes the record that it made last for it, whosever that is, and later adds what else the
//! slot lacks to that (case `unified_externs`).

use rustc_hash::{FxHashMap, FxHashSet};

use crate::arena::Arena;
use crate::cubin::InfoCode;
use crate::id::{FunctionId, IdVec, SymbolId};
use crate::merge::{InfoRecord, Payload, Strays};
use crate::prune::Pruned;

use super::records::Records;
use super::{externs, inherit, slots};

/// Symbols to append to an inherited record: whose, of which code, and which.
pub(super) type BehindFigures = Vec<(FunctionId, InfoCode, Vec<SymbolId>)>;

/// Lists undefined functions where nvlink does, correct lists of kernels included, in `records` and behind the last record of
/// the module. `own` are the records that each kernel brought: what it takes over is not made yet. Returns those that come
/// behind figures that are not there yet.
pub(super) fn put<'d>(
    pruned: &Pruned<'d>,
    arena: &'d Arena,
    own: &[(FunctionId, Vec<InfoCode>)],
    records: &mut IdVec<FunctionId, Records<'d>>,
    module: &mut [InfoRecord<'d>],
) -> BehindFigures {
    let starts = pruned.starts();
    let is_slot = |&start: &FunctionId| pruned.merged.functions[start].is_stub;
    if !starts.iter().any(is_slot) {
        return BehindFigures::new();
    }
    let own: FxHashMap<FunctionId, &[InfoCode]> = own
        .iter()
        .map(|(kernel, own)| (*kernel, &own[..]))
        .collect();
    let own_codes = |start: &FunctionId| Start {
        is_slot: is_slot(start),
        codes: match own.get(start) {
            Some(own) => own.iter().copied().collect(),
            None => records[*start].iter().map(|record| record.code).collect(),
        },
        list: None,
    };
    let mut lists = Lists {
        starts: starts.iter().map(own_codes).collect(),
        latest: Place::Module,
        listed: Vec::new(),
    };
    let reaching = slots::reaching(pruned, &starts);
    for function in inherit::givers(pruned) {
        let reaching = slots::last_first(&reaching[function]);
        for record in pruned.merged.functions[function].records.iter().rev() {
            if let Payload::Symbols(_) = record.payload {
                // An empty list counts, too.
                lists.give(&reaching, &externs::missing(pruned, record));
            } else if inherit::rule(pruned, record.code).is_some() {
                lists.note(&reaching, record.code);
            }
        }
    }
    let mut behind_figures = BehindFigures::new();
    for (place, symbols) in lists.listed {
        match place {
            Place::Module => {
                if let [.., last] = module {
                    put_behind(arena, last, &symbols);
                }
            }
            Place::Kernel(kernel) => externs::add(arena, &mut records[starts[kernel]], &symbols),
            Place::Figure(start, code) => behind_figures.push((starts[start], code, symbols)),
        }
    }
    behind_figures
}

/// Puts symbols behind what a record says. A symbol that it is about, such as the function of a stack size, is in the list
/// then.
pub(super) fn put_behind<'d>(arena: &'d Arena, record: &mut InfoRecord<'d>, symbols: &[SymbolId]) {
    let own = record.payload.subject();
    let others = symbols
        .iter()
        .copied()
        .filter(|&symbol| Some(symbol) != own);
    let others: Vec<SymbolId> = others.collect();
    let strays = Strays::new(record.payload, arena.list(&others));
    record.payload = Payload::WithStrays(arena.keep(strays));
}

/// The record to which nvlink appends.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Place {
    /// The last record of the module, a stack size.
    Module,
    /// The list of a kernel, by its number.
    Kernel(usize),
    /// An inherited record of a kernel or slot.
    Figure(usize, InfoCode),
}

/// A kernel or a slot.
struct Start {
    is_slot: bool,
    /// The codes of its records so far.
    codes: FxHashSet<InfoCode>,
    /// The place that a slot takes for its list.
    list: Option<Place>,
}

/// Which symbols are appended where.
struct Lists {
    starts: Vec<Start>,
    /// The record that nvlink has made last.
    latest: Place,
    listed: Vec<(Place, Vec<SymbolId>)>,
}

impl Lists {
    /// Gives undefined functions to those that reach them.
    fn give(&mut self, reaching: &[usize], missing: &[SymbolId]) {
        for &number in reaching {
            let start = &mut self.starts[number];
            let is_new = start.codes.insert(InfoCode::EXTERNS);
            let place = if start.is_slot {
                *start.list.get_or_insert(self.latest)
            } else {
                Place::Kernel(number)
            };
            match (start.is_slot, is_new) {
                // The first list of a slot is lost.
                (true, true) => continue,
                (false, true) => self.latest = place,
                (_, false) => {}
            }
            self.add(place, missing);
        }
    }

    fn add(&mut self, place: Place, missing: &[SymbolId]) {
        let known = self.listed.iter().position(|(other, _)| *other == place);
        let index = known.unwrap_or_else(|| {
            self.listed.push((place, Vec::new()));
            self.listed.len() - 1
        });
        let list = &mut self.listed[index].1;
        for &symbol in missing {
            if !list.contains(&symbol) {
                list.push(symbol);
            }
        }
    }

    /// Notes that those that reach a figure get a record of it.
    fn note(&mut self, reaching: &[usize], code: InfoCode) {
        for &number in reaching {
            let start = &mut self.starts[number];
            let is_due = !start.is_slot || code != InfoCode::SPARSE_MMA_MASK;
            if is_due && start.codes.insert(code) {
                self.latest = Place::Figure(number, code);
            }
        }
    }
}
