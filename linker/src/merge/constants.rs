//! Constants that the compiler made for a function: jump tables, and numbers
//! too long for an instruction.
//!
//! Those of a kernel are a bank of the kernel. Those of a device function
//! have no place of their own in the output.

use std::collections::BTreeMap;
use std::ops::Range;

use rustc_hash::FxHashMap;

use crate::cubin::{Binding, SectionFlags, Symbol, SymbolOther, SymbolType, section_name};
use crate::diagnostic::Diagnostic;
use crate::error::{NvlinkError, ParseError};
use crate::id::{InputId, SectionId};
use crate::options::{Behaviour, ResolvedRelocations};
use crate::read::{OPTIMIZER_BANK, Object, Role};

use super::current::{Current, Placed};
use super::merger::Merger;
use super::{ListedShared, NewSection, SectionKind};

/// `st_other` of kernel parameters and of compiler constants: names that lead
/// to a place in a section and vanish.
pub(super) const PLACE_NAME: SymbolOther =
    SymbolOther(SymbolOther::CONSTANT | SymbolOther::INTERNAL);

/// The symbols of compiler constants in a section, as ranges.
#[derive(Debug, Default)]
pub(super) struct Named {
    /// The end of the last one.
    pub(super) end: u64,
    /// The places so far, by their starts.
    parts: BTreeMap<u64, u64>,
    /// Whether two ranges overlap without one holding the other: objects of `nvlink -r` keep symbols of definitions that
    /// lost.
    pub(super) cuts: bool,
}

impl Named {
    fn add(&mut self, start: u64, size: u64) {
        let end = start.saturating_add(size);
        self.end = self.end.max(end);
        let next = self.parts.range(start.saturating_add(1)..).next();
        let next = next.map_or(u64::MAX, |(&next, _)| next);
        match self.parts.range(..=start).next_back() {
            Some((&known, &known_end)) if known == start => {
                self.cuts |= end > known_end && end > next;
            }
            Some((_, &known_end)) => self.cuts |= start < known_end && known_end < end,
            // What starts before all others may take them in.
            None => {}
        }
        let known = self.parts.entry(start).or_insert(end);
        *known = end.max(*known);
    }
}

/// The sections that the names of places lead to.
pub(super) fn named(symbols: &[Symbol<'_>]) -> FxHashMap<u32, Named> {
    let mut known: FxHashMap<u32, Named> = FxHashMap::default();
    for symbol in symbols.iter().filter(|symbol| symbol.other == PLACE_NAME) {
        if let Some(section) = symbol.place.section() {
            let named = known.entry(section).or_default();
            named.add(symbol.value, symbol.size);
        }
    }
    known
}

/// What is left of `st_other` where a name stays only because a relocation
/// that is gone named it.
pub(crate) const RECORDED: SymbolOther = SymbolOther(SymbolOther::INTERNAL);

/// What a bank of constants holds at most.
pub(crate) const BANK_LIMIT: u64 = 0x10000;

impl<'d> Merger<'d, '_> {
    /// Whether names of places are symbols of the image.
    pub(super) fn lists_places(&self) -> bool {
        !self.merged.is_executable()
            || self.merged.settings.resolved_relocations == ResolvedRelocations::Recorded
    }

    /// Whether the name of a place is no symbol of the image. The name of a
    /// place that moves never is one, but counts.
    pub(super) fn vanishes(
        &mut self,
        current: &mut Current<'_, 'd>,
        symbol: &Symbol<'d>,
    ) -> Result<bool, ParseError> {
        let section = symbol.place.section();
        let Some(placed) = section.and_then(|section| self.place(current, section as usize)) else {
            // Those of functions that another input defines count, too.
            let input = section.map(|section| current.object.sections[section as usize].role);
            current.counted_constants += u32::from(input == Some(Role::Constant(OPTIMIZER_BANK)));
            return Ok(!self.lists_places());
        };
        self.check_names(current, symbol)?;
        let lists_places = self.lists_places();
        let start = placed.base + symbol.value;
        let section = &mut self.merged.sections[placed.section];
        let constants = section.constants.get_or_insert_default();
        constants.pieces.push(start..start + symbol.size);
        let vanishes = !lists_places || section.is_moved;
        if section.is_moved && section.kind == SectionKind::Constant(OPTIMIZER_BANK) {
            current.counted_constants += 1;
        }
        Ok(vanishes)
    }

    /// nvlink links no constants whose names cut into each other (case
    /// `relocatable_lost_constants`).
    fn check_names(
        &self,
        current: &Current<'_, 'd>,
        symbol: &Symbol<'d>,
    ) -> Result<(), ParseError> {
        let named = symbol.place.section();
        let named = named.and_then(|section| current.named_constants.get(&section));
        if self.behaviour != Behaviour::Nvlink || named.is_none_or(|named| !named.cuts) {
            return Ok(());
        }
        let problem = "names of constants of definitions that lost cut into each other";
        Err(ParseError::malformed(problem)
            .as_nvlink(NvlinkError::WideOverlap)
            .of_symbol(symbol.name))
    }

    /// Mercury objects count the compiler constants of each input in their
    /// names (case `relocatable_constants`).
    pub(super) fn name_of_constant(
        &self,
        current: &mut Current<'_, 'd>,
        symbol: &Symbol<'d>,
        placed: Placed,
    ) -> Option<&'d str> {
        let section = &self.merged.sections[placed.section];
        let is_counted =
            symbol.other == PLACE_NAME && section.kind == SectionKind::Constant(OPTIMIZER_BANK);
        is_counted.then(|| {
            current.counted_constants += 1;
            let number = current.counted_constants.to_string();
            self.arena.name(&[section.name, ".", &number])
        })
    }

    /// `st_other` of a variable in an executable, which knows its memory by
    /// its section.
    pub(super) fn other_of_recorded(&self, symbol: &Symbol<'d>) -> SymbolOther {
        let is_recorded = self.merged.settings.resolved_relocations
            == ResolvedRelocations::Recorded
            && match symbol.other.space() {
                // Debuggers are told of it anyway (case `preserve_relocs`).
                SymbolOther::SHARED => {
                    self.merged.shared.listed != ListedShared::All
                        || symbol.other.0 & RECORDED.0 != 0
                }
                _ => symbol.other == PLACE_NAME,
            };
        if is_recorded {
            RECORDED
        } else {
            SymbolOther(0)
        }
    }

    /// The section of a function's constants, made if need be. In an executable, those that the compiler made for a device
    /// function get a section without name and symbol, which layout moves into the kernels. In a relocatable object, a section
    /// that only holds what is left of replaced definitions is not used again (case `ocg_leftovers`). Constants that no name
    /// leads to stay where they are (case `relocatable_lost_constants`).
    pub(super) fn constants_section(
        &mut self,
        current: &Current<'_, 'd>,
        index: usize,
        bank: u8,
        target: Option<SectionId>,
    ) -> SectionId {
        let input = &current.object.sections[index];
        let kind = SectionKind::Constant(bank);
        let is_named = current.named_constants.contains_key(&(index as u32));
        // Before CUDA 12.1, inputs do not say it; nvlink does where it comes upon the
        // section by a name (case `older_lost_constants`).
        let flags = match bank {
            1.. if target.is_some() && is_named => input.flags.with(SectionFlags::INFO_LINK),
            _ => input.flags,
        };
        let known = self.known_section(input.name, target);
        let function = target.and_then(|target| self.merged.sections[target].function);
        let functions = &self.merged.functions;
        let is_of_kernel = function.is_none_or(|f| self.merged.is_kernel(&functions[f]));
        // Those of a kernel stay in a section with a name.
        let moves = self.merged.is_executable() && !is_of_kernel;
        let new = NewSection::new(input.name, kind, 1)
            .with_flags(flags)
            .of(target);
        if bank == 0 || !is_named {
            known.inspect(|&known| self.clear_unused(known));
            return self.section(new);
        }
        let key = (input.name, target);
        if let Some(&section) = self.names.moved.get(&key) {
            return section;
        }
        let is_lost = |known: SectionId| {
            let constants = self.merged.sections[known].constants.as_ref();
            constants.is_some_and(|constants| constants.was_never_used)
        };
        if !moves && !known.is_some_and(is_lost) {
            return self.section(new);
        }
        let section = self.new_section(new);
        if moves {
            self.merged.symbols.locals.pop();
            self.merged.sections[section].is_moved = true;
        } else {
            for section in [Some(section), known].into_iter().flatten() {
                let row = &mut self.merged.sections[section];
                row.constants.get_or_insert_default().lost = known;
            }
        }
        match known {
            None => self.note_section(section),
            Some(_) => {
                let row = &mut self.merged.sections[section];
                row.constants.get_or_insert_default().is_second = true;
            }
        }
        self.names.moved.insert(key, section);
        section
    }

    /// Where no definition was ever in use, all goes that those left which lost
    /// (case `ocg_leftovers`).
    fn clear_unused(&mut self, section: SectionId) {
        let row = &mut self.merged.sections[section];
        let Some(constants) = row.constants.as_mut().filter(|c| c.was_never_used) else {
            return;
        };
        constants.was_never_used = false;
        row.content.align = 1;
        row.relocations.clear();
    }

    /// How much of a section is merged: behind constants with names, relocatable
    /// objects have those of definitions that lost, which go (case
    /// `relocatable_lost_constants`).
    pub(super) fn named_size(
        &self,
        current: &Current<'_, 'd>,
        index: usize,
        target: Option<SectionId>,
    ) -> u64 {
        let input = &current.object.sections[index];
        let is_cut = !self.merged.target.has_mercury() || self.behaviour == Behaviour::Nvlink;
        let is_constants = matches!(input.role, Role::Constant(1..)) && target.is_some() && is_cut;
        let named = current.named_constants.get(&(index as u32));
        match (named.map(|named| named.end), self.behaviour) {
            (Some(end), Behaviour::Own) if is_constants => end.min(input.size),
            // A name that another definition left may reach further: nvlink goes
            // on with what follows in the file, in its own objects constants
            // that are 0 (case `ocg_tables`).
            (Some(end), Behaviour::Nvlink) if is_constants => end.min(input.size.max(BANK_LIMIT)),
            _ => input.size,
        }
    }

    /// The bytes of a section as far as its names reach: up to sm_90 nvlink goes on in the file (case
    /// `ocg_leftovers`).
    pub(super) fn reached_data(
        &self,
        current: &Current<'_, 'd>,
        index: usize,
        size: u64,
    ) -> &'d [u8] {
        let input = &current.object.sections[index];
        let size = size as usize;
        let is_reached = size > input.data.len()
            && self.behaviour == Behaviour::Nvlink
            && !self.merged.target.has_mercury();
        match is_reached.then(|| current.object.behind_constants(index)) {
            None | Some([]) => &input.data[..input.data.len().min(size)],
            Some(behind) => {
                let bytes = input.data.iter().chain(behind).take(size);
                let bytes: Vec<u8> = bytes.copied().collect();
                self.arena.list(&bytes)
            }
        }
    }

    /// Whether a function that another input defines, too, has other compiler
    /// constants at the same place: nvlink puts those of both there, and gives up (case
    /// `dup_strong_constants`).
    pub(super) fn check_overlaps(
        &self,
        current: &Current<'_, 'd>,
        name: &Symbol<'d>,
    ) -> Result<(), ParseError> {
        let may_clash = self.behaviour == Behaviour::Nvlink && name.other == PLACE_NAME;
        let overlaps = || {
            self.diagnostics.has_errors()
                && self.overlaps_known(current.id, current.object, name) == Some(true)
        };
        if !may_clash || !overlaps() && self.overlaps_replaced(current, name) != Some(true) {
            return Ok(());
        }
        let problem = "another definition of the function has other constants";
        Err(ParseError::malformed(problem)
            .as_nvlink(NvlinkError::DifferentOverlap)
            .of_symbol(name.name))
    }

    /// Whether the constants in whose section a name leads are to stand where definitions that were
    /// replaced have left others (case `weak_kernel_constants`).
    fn overlaps_replaced(&self, current: &Current<'_, 'd>, name: &Symbol<'d>) -> Option<bool> {
        let index = name.place.section()? as usize;
        let input = current.object.sections.get(index)?;
        let text = current.placed[input.target()?]?.section;
        let section = self.names.moved.get(&(input.name, Some(text)))?;
        let section = &self.merged.sections[*section];
        if current.placed[index].is_some() || !section.holds_replaced() {
            return None;
        }
        let size = self.named_size(current, index, Some(text));
        let own = self.reached_data(current, index, size);
        let mut known = section.content.contributions.iter();
        Some(known.any(|part| part.data.iter().zip(own).any(|(known, own)| known != own)))
    }

    fn overlaps_known(&self, id: InputId, object: &Object<'d>, name: &Symbol<'d>) -> Option<bool> {
        let input = object.sections.get(name.place.section()? as usize)?;
        let (Role::Constant(1..), text) = (input.role, input.target()?) else {
            return None;
        };
        let owns =
            |s: &&Symbol<'d>| s.kind == SymbolType::FUNC && s.place.section() == Some(text as u32);
        // A weak one that lost has its place elsewhere.
        let owner = object.symbols.iter().find(owns);
        let owner = owner.filter(|owner| owner.binding != Binding::WEAK)?;
        let known = self.known_symbol(owner.name)?;
        let known = &self.merged.symbols[known];
        let code = self.merged.functions[known.function?].text;
        let section = self.known_section(input.name, code)?;
        let section = &self.merged.sections[section];
        let (start, end) = (name.value, name.value.checked_add(name.size)?);
        if known.input == Some(id) {
            return None;
        }
        let parts = &section.content.contributions;
        let differs = |piece: &Range<u64>| {
            let (from, to) = (piece.start.max(start), piece.end.min(end));
            let own = input.data.get(from as usize..to as usize)?;
            let theirs = parts.iter().find_map(|part| {
                let from = from.checked_sub(part.offset)? as usize;
                part.data.get(from..from + own.len())
            })?;
            Some(own != theirs)
        };
        let mut known = section.pieces().iter();
        Some(known.any(|piece| differs(piece).unwrap_or(false)))
    }

    /// Notes where constants were put that no name leads to, which objects of
    /// `nvlink -r` have of definitions that lost: nvlink then gives the place to the
    /// symbol before all others (case `relocatable_lost_constants`).
    pub(super) fn note_unnamed(&mut self, current: &Current<'_, 'd>, index: usize, placed: Placed) {
        let section = &mut self.merged.sections[placed.section];
        let is_named = current.named_constants.contains_key(&(index as u32));
        if section.is_moved && !is_named && section.content.size > placed.base {
            section.constants.get_or_insert_default().unnamed = Some(placed.base);
        }
    }

    /// Whether the kernel is weak and takes the parameters that are there for its own, as up
    /// to sm_90 (case `weak_parameters`).
    pub(super) fn shares_parameters(&self, section: SectionId, code: Option<SectionId>) -> bool {
        let function = code.and_then(|code| self.merged.sections[code].function);
        let is_weak = |function| {
            let symbol = self.merged.functions[function].symbol;
            self.merged.symbols[symbol].binding == Binding::WEAK
        };
        !self.merged.target.has_mercury()
            && !self.merged.sections[section]
                .content
                .contributions
                .is_empty()
            && function.is_some_and(is_weak)
    }

    /// Up to sm_90 the parameters of a weak kernel have to be as large as the first ones of
    /// its name (case `weak_parameters`).
    pub(super) fn check_parameters(
        &self,
        current: &mut Current<'_, 'd>,
        index: usize,
        section: SectionId,
    ) {
        let size = current.object.sections[index].size;
        let first = self.merged.sections[section].content.contributions.first();
        let differs = first.is_some_and(|first| first.data.len() as u64 != size);
        if differs && !self.merged.target.has_mercury() {
            current.other_parameters.insert(index);
        }
    }

    /// Reports parameters of other sizes among what the variables of the file led to: where the symbols of their sections
    /// stand (case `weak_parameters`).
    pub(super) fn report_parameters(&mut self, current: &Current<'_, 'd>) {
        let end = self.diagnostics.messages().len();
        let place = |&index: &usize| (current.bank_places.get(&index).copied(), index);
        let mut places: Vec<_> = current.other_parameters.iter().map(place).collect();
        places.sort_unstable_by_key(|&(place, index)| (place.unwrap_or(end), index));
        // The last one first, so that the places of the others hold.
        for (place, index) in places.into_iter().rev() {
            let bank = current.object.sections[index].name;
            let kernel = bank
                .strip_prefix(section_name::PARAMETERS_OF)
                .unwrap_or(bank);
            let behind = self.diagnostics.split_off(place.unwrap_or(end));
            self.diagnostics.push(Diagnostic::other_parameters(kernel));
            self.diagnostics.append(behind);
        }
    }

    /// The compiler constants of a weak function that another input defines
    /// stay as dead bytes behind those in use (case `ocg_weak`). The
    /// parameters of a weak kernel do beside a strong one (case `weak_kernel`).
    /// Says where they are.
    pub(super) fn merge_unused_constants(
        &mut self,
        current: &mut Current<'_, 'd>,
        index: usize,
    ) -> Option<Placed> {
        if let Some(&placed) = current.discarded.constants.get(&index) {
            return Some(placed);
        }
        let input = current.object.sections[index];
        let (Role::Constant(bank), text) = (input.role, input.target()?) else {
            return None;
        };
        let used = current.discarded.code[text]?;
        let is_strong = self.merged.sections[used].function.is_some_and(|function| {
            let symbol = self.merged.functions[function].symbol;
            self.merged.symbols[symbol].binding != Binding::WEAK
        });
        let kind = SectionKind::Constant(bank);
        let is_new = self.known_section(input.name, Some(used)).is_none();
        let section = NewSection::new(input.name, kind, 1).with_flags(input.flags);
        let section = self.section(section.of(used));
        let base = match bank == 0 && !is_strong {
            true => {
                self.check_parameters(current, index, section);
                0
            }
            false => {
                self.merged.sections[section]
                    .content
                    .append(input.data, input.size, input.align)
            }
        };
        let row = &mut self.merged.sections[section];
        let constants = row.constants.get_or_insert_default();
        constants.unused = Some(base);
        constants.unnamed = Some(base);
        constants.was_never_used |= is_new;
        constants.pieces.push(base..base + input.size);
        let placed = Placed { section, base };
        current.discarded.constants.insert(index, placed);
        Some(placed)
    }
}
