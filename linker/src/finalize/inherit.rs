//! Records that a kernel takes over from the functions it reaches.
//!
//! A program's only kernel takes them from every live function, reached or
//! not: a function whose address is taken counts even if nothing calls it
//! (case `inherit_one_kernel`).

use rustc_hash::FxHashSet;

use crate::cubin::{Format, InfoCode};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::id::{FunctionId, IdVec};
use crate::merge::{Function, InfoRecord, Payload};
use crate::prune::Pruned;

use super::records::{Codes, Records, put};

/// How the values of the functions that a kernel reaches are combined into its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rule {
    /// It has the attribute if one of them has.
    Any,
    /// The largest.
    Most,
    /// The largest, except that a lone kernel keeps its own value (case `tensor_memory`).
    MostOfOthers,
    /// The union of their bits.
    Union,
    /// The sum over all of them, each counted once.
    Total,
}

/// The inherited attributes, in the order in which a lone kernel gets records that it lacks. They were found by adding each
/// attribute to functions of test objects; real code has one in case `mbarrier_tma`.
const INHERITED: [(InfoCode, Format, Rule); 9] = [
    (InfoCode::CTAIDZ_USED, Format::NoValue, Rule::Any),
    (InfoCode::RESERVED_SMEM_USED, Format::NoValue, Rule::Any),
    (
        InfoCode::VRC_CTA_INIT_COUNT,
        Format::Byte,
        Rule::MostOfOthers,
    ),
    (InfoCode::TCGEN05_1CTA_USED, Format::NoValue, Rule::Any),
    (InfoCode::TCGEN05_2CTA_USED, Format::NoValue, Rule::Any),
    (InfoCode::SPARSE_MMA_MASK, Format::Half, Rule::Union),
    (InfoCode::NUM_BARRIERS, Format::Byte, Rule::Most),
    (InfoCode::REG_RECONFIG, Format::NoValue, Rule::Any),
    (InfoCode::NUM_MBARRIERS, Format::Half, Rule::Total),
];

impl Rule {
    /// Combines two values.
    pub(super) fn join(self, a: Option<u16>, b: Option<u16>) -> Option<u16> {
        let Some((one, other)) = a.zip(b) else {
            return a.or(b);
        };
        Some(match self {
            Self::Any => one,
            Self::Most | Self::MostOfOthers => one.max(other),
            Self::Union => one | other,
            Self::Total => one.saturating_add(other),
        })
    }
}

/// The rule for records of this code, if kernels inherit them.
pub(super) fn rule(pruned: &Pruned<'_>, code: InfoCode) -> Option<Rule> {
    // Beside objects of CUDA 12 kernels do not say what others do with tensor
    // memory (case `older_tensor_memory`).
    let is_left_out = pruned.merged.notes.has_older
        && matches!(
            code,
            InfoCode::TCGEN05_1CTA_USED | InfoCode::TCGEN05_2CTA_USED
        );
    let mut rules = INHERITED.iter().filter(|_| !is_left_out);
    rules
        .find(|(inherited, ..)| *inherited == code)
        .map(|&(.., rule)| rule)
}

/// Applies every rule to every kernel.
pub(super) fn inherit<'d>(pruned: &Pruned<'d>, records: &mut IdVec<FunctionId, Records<'d>>) {
    let handed_over = handed_over(pruned, records);
    for (code, format, _) in INHERITED {
        let Some(rule) = rule(pruned, code).filter(|_| handed_over.has(code)) else {
            continue;
        };
        let figure = Figure::new(pruned, records, code, rule);
        for entry in pruned.entries() {
            if let Some(total) = figure.taken_over(pruned, entry) {
                set(&mut records[entry], code, format, total);
            }
        }
    }
}

/// A figure that kernels take over from what they reach.
struct Figure {
    rule: Rule,
    /// What each function says itself.
    own: IdVec<FunctionId, Option<u16>>,
    /// The combined values of what each kernel reaches, itself included.
    reached: IdVec<FunctionId, Option<u16>>,
    /// Whether the only kernel of a program keeps its own value for sparse matrices. It does, unless some function is undefined
    /// or dropped, has a second name, or lacks the record (cases `inherit_mask`, `alias` and `older_taken_kernels`).
    tells_own: bool,
}

impl Figure {
    fn new(
        pruned: &Pruned<'_>,
        records: &IdVec<FunctionId, Records<'_>>,
        code: InfoCode,
        rule: Rule,
    ) -> Self {
        let own: IdVec<FunctionId, Option<u16>> =
            records.iter().map(|list| value(list, code)).collect();
        let join = |sum: &mut Option<u16>, more: &Option<u16>| *sum = rule.join(*sum, *more);
        let reached = match rule {
            Rule::Total => totals(pruned, &own),
            Rule::Any | Rule::Most | Rule::MostOfOthers | Rule::Union => {
                pruned.graph.over_callees(|f| own[f], join)
            }
        };
        let says = |f: &Function<'_>| f.records.iter().any(|record| record.code == code);
        let mut functions = pruned.merged.functions.enumerate();
        Self {
            rule,
            reached,
            own,
            tells_own: rule == Rule::Union
                && pruned.lone_kernel().is_some()
                && functions
                    .all(|(id, f)| f.text.is_some() && pruned.live.functions[id] && says(f)),
        }
    }

    /// The value that a kernel gets, if that differs from its own.
    fn taken_over(&self, pruned: &Pruned<'_>, entry: FunctionId) -> Option<u16> {
        let own = self.own[entry];
        let has_lone_kernel = pruned.lone_kernel().is_some();
        let total = match self.rule {
            Rule::Union if self.tells_own => own,
            Rule::MostOfOthers if has_lone_kernel && own.is_some() => own,
            _ if has_lone_kernel => {
                let live = pruned.live.functions.enumerate().filter(|&(_, &live)| live);
                self.sum(live.map(|(function, _)| function))
            }
            Rule::Any | Rule::Most | Rule::MostOfOthers | Rule::Union | Rule::Total => {
                self.reached[entry]
            }
        };
        // A lone kernel gets no record that others have none.
        let is_nothing = has_lone_kernel && self.rule == Rule::Total && total == Some(0);
        total.filter(|_| total != own && !is_nothing)
    }

    fn sum(&self, functions: impl Iterator<Item = FunctionId>) -> Option<u16> {
        functions.fold(None, |sum, function| {
            self.rule.join(sum, self.own[function])
        })
    }
}

/// For each kernel, the sum over itself and all it reaches.
fn totals(
    pruned: &Pruned<'_>,
    own: &IdVec<FunctionId, Option<u16>>,
) -> IdVec<FunctionId, Option<u16>> {
    let kernels: Vec<FunctionId> = pruned.entries().collect();
    let says = |&(_, figure): &(FunctionId, &Option<u16>)| figure.is_some();
    let givers: Vec<FunctionId> = own.enumerate().filter(says).map(|(id, _)| id).collect();
    let mut totals = IdVec::filled(&pruned.merged.functions, None);
    let graph = &pruned.graph;
    graph.each_reached(&kernels, &givers, |kernel, giver| {
        let total = &mut totals[kernels[kernel]];
        *total = Rule::Total.join(*total, own[giver]);
    });
    totals
}

/// Reports kernels that reach functions whose values must not be combined, in nvlink's order: function by function, and for
/// each the last kernel first (case `tensor_memory_order`). `own` are the codes of the records that each kernel brought.
pub(super) fn check(
    pruned: &Pruned<'_>,
    own: &[(FunctionId, Vec<InfoCode>)],
    records: &IdVec<FunctionId, Records<'_>>,
    diagnostics: &mut Diagnostics,
) {
    const GROUPS: [InfoCode; 2] = [InfoCode::TCGEN05_1CTA_USED, InfoCode::TCGEN05_2CTA_USED];
    let mixes = |entry: FunctionId| {
        let has = |code| records[entry].iter().any(|record| record.code == code);
        GROUPS.into_iter().all(has)
    };
    let is_mixed = |&&(entry, _): &&(FunctionId, _)| !pruned.is_called(entry) && mixes(entry);
    let mut mixed: Vec<_> = own.iter().filter(is_mixed).collect();
    if mixed.is_empty() {
        return;
    }
    mixed.reverse();
    let givers = givers(pruned);
    mixed.sort_by_cached_key(|(entry, own)| {
        let reached = pruned.graph.reached_from(*entry);
        let reached: FxHashSet<FunctionId> = reached.into_iter().collect();
        let gives = |function: FunctionId, code| {
            let records = &pruned.merged.functions[function].records;
            reached.contains(&function) && records.iter().any(|record| record.code == code)
        };
        let missing = GROUPS.into_iter().filter(|code| !own.contains(code));
        let arrival = |code| givers.iter().position(|&function| gives(function, code));
        missing.filter_map(arrival).max()
    });
    for (entry, _) in mixed {
        let symbol = pruned.merged.functions[*entry].symbol;
        let name = pruned.merged.symbols[symbol].name;
        diagnostics.push(Diagnostic::mixed_tensor_groups(name));
    }
}

/// The functions whose records kernels inherit, in the order in which they do.
pub(super) fn givers(pruned: &Pruned<'_>) -> Vec<FunctionId> {
    let mut order = described(pruned);
    order.retain(|&function| pruned.is_called(function));
    order
}

/// The codes of records that functions other than kernels have.
fn handed_over(pruned: &Pruned<'_>, records: &IdVec<FunctionId, Records<'_>>) -> Codes {
    let called = records.enumerate().filter(|(id, _)| pruned.is_called(*id));
    Codes::of(called.map(|(_, list)| list))
}

/// Live functions in the order of their `.nv.info.*` sections in the inputs, which is not that of the symbols.
pub(super) fn described(pruned: &Pruned<'_>) -> Vec<FunctionId> {
    let mut is_seen = IdVec::filled(&pruned.merged.functions, false);
    let last_first = pruned.merged.described.iter().rev().copied();
    let mut functions: Vec<FunctionId> = last_first
        .filter(|&function| pruned.live.functions[function])
        .filter(|&function| !std::mem::replace(&mut is_seen[function], true))
        .collect();
    functions.reverse();
    functions
}

/// The codes of the records that each kernel brings.
pub(super) fn own_codes(
    pruned: &Pruned<'_>,
    records: &IdVec<FunctionId, Records<'_>>,
) -> Vec<(FunctionId, Vec<InfoCode>)> {
    let codes = |entry| records[entry].iter().map(|record| record.code).collect();
    pruned
        .entries()
        .map(|entry| (entry, codes(entry)))
        .collect()
}

/// Sorts the inherited records of kernels into the order in which they came: function by function, and for each function as
/// in its input (case `inherit_order`). `own` are the codes of the records that each kernel brought. A lone kernel has the
/// order of [`INHERITED`].
pub(super) fn sort_by_arrival(
    pruned: &Pruned<'_>,
    own: Vec<(FunctionId, Vec<InfoCode>)>,
    records: &mut IdVec<FunctionId, Records<'_>>,
) {
    if pruned.starts().len() < 2 {
        return;
    }
    let is_handed_over = |code: &InfoCode| {
        matches!(*code, InfoCode::EXTERNS | InfoCode::AT_ENTRY_FRAGMENTS)
            || INHERITED.iter().any(|(inherited, ..)| inherited == code)
    };
    let takes_several = |(entry, own): &(FunctionId, Vec<InfoCode>)| {
        let list = records[*entry].iter();
        list.filter(|r| !own.contains(&r.code)).count() > 1
    };
    let own: Vec<(FunctionId, Vec<InfoCode>)> = own.into_iter().filter(takes_several).collect();
    let entries: Vec<FunctionId> = own.iter().map(|&(entry, _)| entry).collect();
    let mut arrived: Vec<Vec<InfoCode>> = vec![Vec::new(); own.len()];
    let graph = &pruned.graph;
    graph.each_reached(&entries, &givers(pruned), |entry, function| {
        let list = pruned.merged.functions[function].records.iter().rev();
        for code in list.map(|record| record.code).filter(is_handed_over) {
            if !arrived[entry].contains(&code) {
                arrived[entry].push(code);
            }
        }
    });
    for ((entry, own), arrived) in own.into_iter().zip(arrived) {
        records[entry]
            .to_mut()
            .sort_by_key(|record| match own.contains(&record.code) {
                true => None,
                false => Some(arrived.iter().position(|&code| code == record.code)),
            });
    }
}

/// A function has several records of one code if it has aliases.
pub(super) fn value(records: &[InfoRecord<'_>], code: InfoCode) -> Option<u16> {
    let values = records.iter().filter_map(|record| match record.payload {
        Payload::Head(value) if record.code == code => Some(match record.format {
            Format::Byte => value[0].into(),
            Format::NoValue | Format::Half | Format::Sized => u16::from_le_bytes(value),
        }),
        Payload::Head(_)
        | Payload::Bytes(_)
        | Payload::Symbol(..)
        | Payload::WithStrays(_)
        | Payload::Symbols(_) => None,
    });
    values.reduce(|all, more| all | more)
}

/// A record without a value stays as it is.
fn set(records: &mut Records<'_>, code: InfoCode, format: Format, value: u16) {
    if format == Format::NoValue && records.iter().any(|record| record.code == code) {
        return;
    }
    put(
        records,
        InfoRecord {
            format,
            code,
            payload: Payload::Head(value.to_le_bytes()),
        },
    );
}
