//! The banks of the program's `__constant__` variables, which have a fixed
//! size.
//!
//! The variables of each input stand as its compiler put them, one input
//! behind the other. Where that is too much, every variable gets another
//! place.

use std::ops::Range;

use rustc_hash::FxHashSet;

use crate::cubin::SymbolType;
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::id::{SectionId, SymbolId};
use crate::list_sort::list_sort;
use crate::merge::{BANK_LIMIT, Content, Definition, Merged, Section, SectionKind};
use crate::options::{Behaviour, DebugLevel, KernelFilter, NullAddress, Options};
use crate::prune::Pruned;

use super::Problems;
use super::moves::{Move, Rest, move_parts};

/// What nvlink aligns constants to at most where it gives them other places.
const WORD: u64 = 8;

/// How many variables the message names.
const NAMED: usize = 5;

/// One `__constant__` variable.
#[derive(Debug, Clone, Copy)]
struct Variable {
    symbol: SymbolId,
    /// The half of the symbol table that lists it.
    is_local: bool,
    start: u64,
    size: u64,
    /// What its place in its input is a multiple of; it may need less.
    align: u64,
}

/// Makes the variables fit, or says that they do not. Tells whether all stand
/// where their inputs put them.
pub(super) fn fit(pruned: &mut Pruned<'_>, options: &Options, problems: &mut Problems) -> bool {
    let behaviour = options.behaviour;
    let named = named(options);
    let too_large = too_large(&pruned.merged);
    let all_stay = too_large.is_empty();
    let used = named.filter(|_| !all_stay).map(|_| used(pruned));
    for section in too_large {
        let mut variables = variables(&pruned.merged, section);
        if let (Some(named), Some(used)) = (named, &used) {
            let Pruned { merged, live, .. } = pruned;
            variables.retain(|variable| {
                let id = variable.symbol;
                let stays = used.contains(&id) || merged.symbols[id].is_kept_by(named);
                live.symbols[id] &= stays;
                stays
            });
        }
        let merged = &mut pruned.merged;
        let bank = match behaviour {
            // Where some may go, nvlink reserves nothing.
            Behaviour::Nvlink if named.is_some() => Some(by_size(&variables, NullAddress::Used)),
            Behaviour::Nvlink => Some(by_size(&variables, merged.settings.shared_memory.null)),
            Behaviour::Own if can_move(merged, section, &variables) => Some(pack(&variables)),
            Behaviour::Own => None,
        };
        let size = match &bank {
            Some(bank) => bank.size,
            None => merged.sections[section].content.size,
        };
        if size > BANK_LIMIT {
            let problem = too_much(merged, variables, size);
            problems.push((Some(section), problem));
        }
        match bank {
            // nvlink tells the new size under `-v` though it is too much.
            Some(bank) if size <= BANK_LIMIT || behaviour == Behaviour::Nvlink => {
                // nvlink takes the addresses in variables that go for those of
                // others, and reserves what it does not for the variables.
                let rest = match (behaviour, named, merged.settings.shared_memory.null) {
                    (Behaviour::Nvlink, Some(_), NullAddress::Used) => Rest::Follows(0),
                    (Behaviour::Nvlink, Some(_), NullAddress::Reserved) => Rest::Follows(WORD),
                    (Behaviour::Nvlink, None, _) | (Behaviour::Own, _, _) => Rest::Goes,
                };
                move_parts(merged, section, bank.moves, bank.size, rest);
                merged.sections[section].content.align = bank.align;
                if bank.size == 0 {
                    pruned.live.symbols[merged.sections[section].symbol] = false;
                    pruned.live.sections[section] = false;
                }
            }
            _ => {}
        }
    }
    all_stay
}

/// What code that stays and data name, also data that goes (case `constants_filtered`).
fn used(pruned: &Pruned<'_>) -> FxHashSet<SymbolId> {
    let sections = pruned.merged.sections.enumerate();
    let live = sections.filter(|&(id, _)| pruned.live.sections[id]);
    live.flat_map(|(_, section)| {
        let native = section.native.iter().flat_map(|native| &native.relocations);
        section.relocations.iter().chain(native)
    })
    .filter(|relocation| !relocation.discarded)
    .map(|relocation| relocation.symbol)
    .collect()
}

/// Whether inputs with equal constants share them, as nvlink has it in links that
/// say which kernels stay.
pub(super) fn are_shared(options: &Options) -> bool {
    options.behaviour == Behaviour::Nvlink && named(options).is_some()
}

/// In links that say which kernels stay, the variables that do without being used.
fn named(options: &Options) -> Option<&KernelFilter> {
    let says =
        options.settings.debug != DebugLevel::Symbols && options.kernels != KernelFilter::All;
    says.then_some(&options.constants)
}

/// Lets inputs with equal constants share them. What finds constants does not
/// follow: it is left where it was. Says where the last ones are that were
/// compared.
pub(super) fn share(constants: &mut Section<'_>) -> Option<u64> {
    if let Some(native) = &mut constants.native {
        share_content(&mut native.content);
    }
    share_content(&mut constants.content)
}

fn share_content(constants: &mut Content<'_>) -> Option<u64> {
    let mut seen = FxHashSet::default();
    let (mut end, mut last) = (0_u64, None);
    constants.contributions.to_mut().retain_mut(|part| {
        let size = part.data.len() as u64;
        let is_word = matches!(size, 4 | 8);
        let is_compared = match size {
            4 | 8 => part.align == size,
            _ => matches!(size, 12 | 16 | 20 | 24 | 32 | 48 | 64),
        };
        let can_share = is_compared && !(is_word && part.data.iter().all(|&byte| byte == 0));
        if can_share && !seen.insert((part.data, part.align)) {
            return false;
        }
        part.offset = end.next_multiple_of(part.align.max(1));
        end = part.offset + size;
        if is_compared {
            last = Some(part.offset);
        }
        true
    });
    constants.size = end;
    last
}

/// Says of which banks the inputs have too much.
pub(super) fn check(merged: &Merged<'_>, diagnostics: &mut Diagnostics) {
    for section in too_large(merged) {
        let size = merged.sections[section].content.size;
        diagnostics.push(too_much(merged, variables(merged, section), size));
    }
}

fn too_large(merged: &Merged<'_>) -> Vec<SectionId> {
    let is_too_large =
        |section: &Section<'_>| section.target.is_none() && section.content.size > BANK_LIMIT;
    let is_bank = |kind| matches!(kind, SectionKind::Constant(_));
    merged
        .sections
        .of_kind(is_bank)
        .filter(|(_, section)| is_too_large(section))
        .map(|(id, _)| id)
        .collect()
}

/// The variables of a bank in the order of the symbol table.
fn variables(merged: &Merged<'_>, section: SectionId) -> Vec<Variable> {
    let parts = &merged.sections[section].content.contributions;
    let locals = merged.symbols.locals.iter().map(|&symbol| (symbol, true));
    let globals = merged.symbols.globals.iter().map(|&symbol| (symbol, false));
    locals
        .chain(globals)
        .filter_map(|(symbol, is_local)| {
            let row = &merged.symbols[symbol];
            let is_variable =
                row.definition == Definition::Section(section) && row.kind != SymbolType::SECTION;
            if !is_variable {
                return None;
            }
            let before = parts.partition_point(|part| part.offset <= row.value);
            let part = before.checked_sub(1).map(|index| parts[index])?;
            let place = (row.value - part.offset) | part.align.max(1);
            Some(Variable {
                symbol,
                is_local,
                start: row.value,
                size: row.size,
                align: 1 << place.trailing_zeros(),
            })
        })
        .collect()
}

/// A bank with new places for its variables.
struct Bank {
    moves: Vec<Move>,
    size: u64,
    align: u64,
}

impl Bank {
    /// An empty bank, whose first byte is at `start`.
    fn new(start: u64) -> Self {
        Self {
            moves: Vec::new(),
            size: start,
            align: 1,
        }
    }

    fn put(&mut self, variable: &Variable, to: u64, align: u64) {
        self.moves.push(Move {
            symbol: variable.symbol,
            from: variable.start,
            size: variable.size,
            to,
        });
        self.size = self.size.max(to + variable.size);
        self.align = self.align.max(align);
    }
}

/// nvlink's order: from small to large those of eight bytes and more, then
/// from large to small the others; the local and weak ones behind them the
/// other way round. It takes the size of a variable for its alignment (case
/// `constants_sorted`).
fn by_size(variables: &[Variable], null: NullAddress) -> Bank {
    let rank = |variable: &Variable| match (variable.is_local, variable.size) {
        (false, WORD..) => 0,
        (false, size) => WORD - size,
        (true, size) => WORD + 1 + size.min(WORD),
    };
    let mut sorted = list_sort(variables.to_vec(), |a, b| a.size <= b.size);
    sorted.sort_by_key(rank);
    let mut bank = Bank::new(match null {
        NullAddress::Used => 0,
        NullAddress::Reserved => 1,
    });
    for variable in sorted {
        let align = variable.size.clamp(1, WORD);
        let to = bank.size.next_multiple_of(align);
        bank.put(&variable, to, align);
    }
    bank
}

/// Whether the variables are all there is: none lies in another one, and
/// nothing counts from the start of the bank.
fn can_move(merged: &Merged<'_>, section: SectionId, variables: &[Variable]) -> bool {
    let mut sorted = variables.to_vec();
    sorted.sort_by_key(|variable| variable.start);
    let is_apart = sorted
        .windows(2)
        .all(|pair| pair[0].start + pair[0].size <= pair[1].start);
    let start = merged.sections[section].symbol;
    let is_counted_from = |section: &Section<'_>| {
        let native = section.native.iter().flat_map(|native| &native.relocations);
        let mut relocations = section.relocations.iter().chain(native);
        relocations.any(|relocation| relocation.symbol == start)
    };
    is_apart && !merged.sections.iter().any(is_counted_from)
}

/// The strictest alignment first, and in it the largest; what fits into a gap
/// goes there.
fn pack(variables: &[Variable]) -> Bank {
    let mut sorted = variables.to_vec();
    sorted.sort_by_key(|variable| std::cmp::Reverse((variable.align, variable.size)));
    let mut bank = Bank::new(0);
    let mut gaps: Vec<Range<u64>> = Vec::new();
    for variable in sorted {
        let place = |gap: &Range<u64>| {
            let to = gap.start.next_multiple_of(variable.align);
            (to + variable.size <= gap.end).then_some(to)
        };
        let found = gaps
            .iter()
            .enumerate()
            .find_map(|(index, gap)| Some((index, place(gap)?)));
        let to = match found {
            Some((index, to)) => {
                let gap = gaps.swap_remove(index);
                let left = [gap.start..to, to + variable.size..gap.end];
                gaps.extend(left.into_iter().filter(|gap| !gap.is_empty()));
                to
            }
            None => {
                let to = bank.size.next_multiple_of(variable.align);
                gaps.extend(Some(bank.size..to).filter(|gap| !gap.is_empty()));
                to
            }
        };
        bank.put(&variable, to, variable.align);
    }
    bank
}

fn too_much(merged: &Merged<'_>, mut variables: Vec<Variable>, size: u64) -> Diagnostic {
    variables.sort_by_key(|variable| std::cmp::Reverse(variable.size));
    let largest = variables.iter().take(NAMED).map(|variable| {
        let symbol = &merged.symbols[variable.symbol];
        (symbol.name, variable.size, merged.input_name(symbol.input))
    });
    Diagnostic::too_much_constant(size, BANK_LIMIT, largest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::Id as _;

    /// Variables of these sizes and alignments, in their order.
    fn variables(shapes: &[(u64, u64)]) -> Vec<Variable> {
        let mut start: u64 = 0;
        let place = |(index, &(size, align))| {
            start = start.next_multiple_of(align);
            let variable = Variable {
                symbol: SymbolId::new(index),
                is_local: false,
                start,
                size,
                align,
            };
            start += size;
            variable
        };
        shapes.iter().enumerate().map(place).collect()
    }

    fn places(bank: &Bank) -> Vec<u64> {
        let mut moves = bank.moves.clone();
        moves.sort_by_key(|part| part.symbol.index());
        moves.iter().map(|part| part.to).collect()
    }

    #[test]
    fn gaps_are_filled() {
        let bank = pack(&variables(&[
            (1, 1),
            (60000, 8),
            (3, 2),
            (16, 8192),
            (17, 16),
        ]));
        assert_eq!(places(&bank), [33, 40, 34, 0, 16]);
        assert_eq!((bank.size, bank.align), (60040, 8192));
    }

    #[test]
    fn nvlink_goes_by_size() {
        let shapes = variables(&[(1, 1), (60000, 8), (3, 2), (16, 8192), (5, 1)]);
        let bank = by_size(&shapes, NullAddress::Used);
        assert_eq!(places(&bank), [60030, 16, 60027, 0, 60020]);
        let bank = by_size(&shapes, NullAddress::Reserved);
        assert_eq!(places(&bank)[3], 8);
    }
}
