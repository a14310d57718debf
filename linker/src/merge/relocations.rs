//! Relocations move to output sections and output symbols.

use crate::arch::relocation::{Class, RelocationType};
use crate::cubin::{
    Binding, Place, Relocation as FileRelocation, SectionFlags, SectionType, Symbol as FileSymbol,
    SymbolType, section_name,
};
use crate::error::{NvlinkError, ParseError};
use crate::id::{SectionId, SymbolId};
use crate::options::{Behaviour, EarlyAddresses, ImageKind, RelocationForms, ResolvedRelocations};
use crate::read::{InputSection, Role};

use super::constants::PLACE_NAME;
use super::current::{Current, Placed};
use super::merger::Merger;
use super::{Form, NewSection, Relocation, SectionKind};

/// Whether a section for debuggers loses what points at a weak function that
/// another one replaced: line tables and frames do, `.debug_info` and
/// `.debug_loc` do not (cases `weak_debug_info` and `weak_debug_places`).
pub(super) fn forgets_replaced(section: &str) -> bool {
    section == section_name::FRAMES || section_name::is_line_table(section)
}

fn clears_unused(kind: u32) -> bool {
    let row = RelocationType(kind).row();
    row.is_some_and(|row| row.class == Class::UnusedClear)
}

/// A section of relocations of the input, and which sections of the output it has asked for so far.
struct List<'a, 'd> {
    section: &'a InputSection<'d>,
    kind: SectionKind,
    form: Form,
    patched: Placed,
    /// Those that its first relocation asks for.
    asked_own: bool,
    /// One for relocations without addends.
    asked_short: bool,
    /// One for relocations with addends.
    asked_long: bool,
    /// No relocation so far belongs to a definition in use.
    is_unused: bool,
}

impl<'d> Merger<'d, '_> {
    /// Merges the relocations of one section of the input. The output sections that they need are made on the way, in the
    /// order in which nvlink makes them.
    pub(super) fn merge_relocations(
        &mut self,
        current: &Current<'_, 'd>,
        index: usize,
    ) -> Result<(), ParseError> {
        let section = &current.object.sections[index];
        let Some(patched) = self.patched(current, section)? else {
            return Ok(());
        };
        let (kind, form) = match section.role {
            Role::Rel => (SectionKind::Rel, Form::Rel),
            _ => (SectionKind::Rela, Form::Rela),
        };
        let mut list = List {
            section,
            kind,
            form,
            patched,
            asked_own: false,
            asked_short: false,
            asked_long: false,
            is_unused: true,
        };
        let target = section.info as usize;
        let end = self.end_of_relocations(current, target, patched.section);
        let listed = &current.object.sections[current.same_named.first(index)];
        let relocations = current.object.relocations(listed)?;
        let known = &mut self.merged.sections[patched.section].relocations;
        match known.is_empty() {
            // Those of code and constants come all at once.
            true => known.reserve_exact(relocations.len()),
            false => known.reserve(relocations.len()),
        }
        for relocation in relocations {
            let is_behind = end.is_some_and(|end| relocation.offset >= end);
            if is_behind || current.is_discarded_data(target, relocation.offset) {
                continue;
            }
            let symbol = current.object.symbol(relocation.symbol)?;
            let merged = self.resolve(current, &relocation, symbol, patched, form)?;
            self.ask_for_sections(current, &mut list, &relocation, symbol, merged.as_ref());
            if let Some(merged) = merged {
                self.note_taken(&merged);
                let known = &mut self.merged.sections[patched.section].relocations;
                known.push(merged);
            }
        }
        Ok(())
    }

    /// Where relocations of a section of the input end that is cut off there. Of the Mercury generation those behind stay,
    /// and lead to an error (case `ocg_tables`).
    fn end_of_relocations(
        &self,
        current: &Current<'_, 'd>,
        target: usize,
        patched: SectionId,
    ) -> Option<u64> {
        let size = self.named_size(current, target, self.merged.sections[patched].target);
        let is_cut = size < current.object.sections[target].size;
        (is_cut && !self.merged.target.has_mercury()).then_some(size)
    }

    /// Makes the sections that a relocation asks for, and none of its list before it. Inlined, as most ask for none.
    #[inline(always)]
    fn ask_for_sections(
        &mut self,
        current: &Current<'_, 'd>,
        list: &mut List<'_, 'd>,
        relocation: &FileRelocation,
        symbol: &FileSymbol<'d>,
        merged: Option<&Relocation>,
    ) {
        let patched = list.patched.section;
        let is_discarded = merged.is_some_and(|merged| merged.discarded);
        // One without relocations leaves no name behind (cases `jump_table` on sm_90 and
        // `weak_lineinfo`), but for those that would clear what is unused (case
        // `relocatable_lost_constants`).
        if !list.asked_own && (!is_discarded || clears_unused(relocation.kind)) {
            list.asked_own = true;
            self.name_relocations(current, list.section, list.kind, patched);
        }
        // The name of a section for relocations without addend appears as
        // soon as one behind the first could be spelled that way, though
        // none is.
        if !list.asked_short
            && !list.is_unused
            && !is_discarded
            && self.could_be_short(relocation, symbol, merged)
        {
            list.asked_short = true;
            self.relocation_section(SectionKind::Rel, patched);
        }
        list.is_unused &= is_discarded;
        // The move to its place in the section is an addend.
        if !list.asked_long
            && list.form == Form::Rel
            && merged.is_some_and(|merged| merged.addend != 0)
            && self.merged.image() == ImageKind::Relocatable(EarlyAddresses::Leave)
        {
            list.asked_long = true;
            self.relocation_section(SectionKind::Rela, patched);
        }
    }

    /// Where the section was placed that relocations of an input patch. `None` when it has no place in the link.
    fn patched(
        &self,
        current: &Current<'_, 'd>,
        relocations: &InputSection<'d>,
    ) -> Result<Option<Placed>, ParseError> {
        let target = relocations.target();
        let placed = target.and_then(|target| {
            // In Mercury objects also constants that no code uses stay patched.
            let unused = || current.discarded.constants.get(&target).copied();
            let unused = || unused().filter(|_| self.merged.target.has_mercury());
            current.placed[target].or_else(unused)
        });
        let is_data = |target: &InputSection<'_>| {
            let is_role = !matches!(
                target.role,
                Role::Strings | Role::Symbols | Role::LinkerMade
            );
            is_role && target.kind != SectionType::NULL
        };
        let target = target.map(|target| &current.object.sections[target]);
        if placed.is_some() || target.is_some_and(is_data) {
            return Ok(placed);
        }
        let problem = format!("section {} holds nothing to patch", relocations.info);
        let problem = ParseError::malformed(problem);
        Err(problem.as_nvlink(NvlinkError::UnexpectedRelocationSection))
    }

    /// Whether a relocation could do without an addend.
    fn could_be_short(
        &self,
        relocation: &FileRelocation,
        symbol: &FileSymbol<'_>,
        merged: Option<&Relocation>,
    ) -> bool {
        let is_zero = |merged: &Relocation| {
            merged.addend == 0 || merged.symbol == self.merged.symbols.nothing
        };
        relocation.addend.is_some_and(|addend| {
            symbol.other == PLACE_NAME && addend == 0 || merged.is_none_or(is_zero)
        })
    }

    /// Who asks for the descriptor of a function takes its address. ptxas of
    /// CUDA 12.0 lists no kernels that code for sm_90 takes the address of
    /// (case `older_taken_kernels`).
    fn note_taken(&mut self, relocation: &Relocation) {
        let is_descriptor = || {
            let row = RelocationType(relocation.kind).row();
            row.is_some_and(|row| row.class == Class::FunctionDescriptor)
        };
        if let Some(function) = self.merged.symbols[relocation.symbol].function
            && is_descriptor()
        {
            self.merged.functions[function].is_taken = true;
        }
    }

    /// Makes the sections that the first relocation of an input's section asks
    /// for.
    fn name_relocations(
        &mut self,
        current: &Current<'_, 'd>,
        section: &InputSection<'d>,
        kind: SectionKind,
        patched: SectionId,
    ) {
        // The slots of unified functions have one section together.
        let name = match self.merged.sections[patched].kind {
            SectionKind::Stubs if self.merged.is_executable() => {
                self.name_behind(section_name::RELA_OF, patched)
            }
            _ => section.name,
        };
        let list = NewSection::list(name, kind, patched);
        let is_made = |&made: &SectionId| self.merged.sections[made].flags == SectionFlags::NONE;
        let known = self.known_section(name, Some(patched));
        let made = known.filter(is_made);
        match made.filter(|_| kind == SectionKind::Rel) {
            Some(made) => {
                if self.merged.added_lists.insert(patched, made).is_none() {
                    self.new_section(list);
                }
            }
            None => {
                self.section(list);
                let is_recorded = self.merged.target.has_mercury()
                    || self.merged.settings.resolved_relocations == ResolvedRelocations::Recorded;
                if is_recorded && known.is_none() {
                    self.merged.sections.count_unnamed();
                }
            }
        }
        if kind == SectionKind::Rel
            && self.merged.settings.relocation_forms == RelocationForms::WithAddends
        {
            self.relocation_section(SectionKind::Rela, patched);
        }
        if self.merged.settings.resolved_relocations == ResolvedRelocations::Recorded {
            let row = &self.merged.sections[patched];
            let patched_name = match row.is_moved {
                true => current.object.sections[section.info as usize].name,
                false => row.name,
            };
            let name = self.arena.name(&[section_name::RESOLVED_OF, patched_name]);
            self.record_section(name, patched);
        }
    }

    /// Makes the section for the relocations of one kind in `patched`.
    fn relocation_section(&mut self, kind: SectionKind, patched: SectionId) {
        let prefix = match kind {
            SectionKind::Rel => section_name::REL_OF,
            _ => section_name::RELA_OF,
        };
        let name = self.name_behind(prefix, patched);
        self.section(NewSection::list(name, kind, patched));
    }

    fn name_behind(&self, prefix: &str, section: SectionId) -> &'d str {
        self.arena
            .name(&[prefix, self.merged.sections[section].name])
    }

    /// Makes the section for what is resolved in `patched`. nvlink has one for
    /// all code of a name (case `preserve_names`).
    fn record_section(&mut self, name: &'d str, patched: SectionId) {
        let kind = SectionKind::ResolvedRela;
        let is_known = self.behaviour == Behaviour::Nvlink && !self.names.records.insert(name);
        if !is_known {
            self.section(NewSection::list(name, kind, patched));
        }
    }

    /// Whether relocations of this type concern all inputs, though they name nothing (case
    /// `older_virtual`).
    fn settles(&self, kind: u32) -> bool {
        let row = RelocationType(kind).row();
        let is_yield = row.is_some_and(|row| matches!(row.class, Class::Yield(_)));
        is_yield && !self.merged.target.has_mercury()
    }

    /// The relocation against merged symbols; `None` when it points at a
    /// section that has no place in the link.
    pub(super) fn resolve(
        &self,
        current: &Current<'_, 'd>,
        relocation: &FileRelocation,
        symbol: &FileSymbol<'d>,
        patched: Placed,
        form: Form,
    ) -> Result<Option<Relocation>, ParseError> {
        let is_place = symbol.kind == SymbolType::SECTION
            || symbol.other == PLACE_NAME
                && !symbol.kind.is_unknown()
                && current.symbols[relocation.symbol as usize].is_none();
        let target = match is_place {
            true => self.target_place(current, symbol),
            false => {
                let target = self.target_symbol(current, relocation, symbol, patched)?;
                target.map(|target| (target, 0))
            }
        };
        let Some((target, distance)) = target else {
            return Ok(None);
        };
        let is_discarded = match symbol.kind {
            SymbolType::FUNC => current.is_discarded(symbol.place),
            _ => {
                !is_place
                    && symbol.binding == Binding::WEAK
                    && symbol.place.section().is_some()
                    && self.merged.symbols[target].input != Some(current.id)
            }
        };
        let section = &self.merged.sections[patched.section];
        let forgets_discarded = match section.kind {
            SectionKind::Debug => symbol.kind == SymbolType::FUNC && forgets_replaced(section.name),
            // Cases `weak_in_constants` and `weak_variables_in_constants`.
            SectionKind::Constant(_) if section.target.is_none() => {
                self.behaviour == Behaviour::Nvlink
            }
            _ => false,
        };
        Ok(Some(Relocation {
            offset: relocation.offset.wrapping_add(patched.base),
            kind: relocation.kind,
            symbol: target,
            addend: relocation.addend.unwrap_or(0).wrapping_add(distance),
            form,
            discarded: forgets_discarded && is_discarded,
        }))
    }

    /// The symbol of the section where a place of an input has come to stand, and the distance from its start. `None` when
    /// it has no place in the link.
    fn target_place(
        &self,
        current: &Current<'_, 'd>,
        symbol: &FileSymbol<'d>,
    ) -> Option<(SymbolId, i64)> {
        let placed = current.placed[symbol.place.section()? as usize]?;
        let distance = placed.base.wrapping_add(symbol.value);
        Some((self.merged.sections[placed.section].symbol, distance as i64))
    }

    /// The merged symbol that a relocation names. `None` when it is about nothing.
    fn target_symbol(
        &self,
        current: &Current<'_, 'd>,
        relocation: &FileRelocation,
        symbol: &FileSymbol<'d>,
        patched: Placed,
    ) -> Result<Option<SymbolId>, ParseError> {
        let is_debug = || self.merged.sections[patched.section].kind == SectionKind::Debug;
        match current.symbols[relocation.symbol as usize] {
            Some(id) => Ok(Some(id)),
            // Symbols of unknown types are none, but files before may know the name. In Mercury code nvlink crashes (case
            // `symbol_types`).
            None if symbol.kind.is_unknown()
                && self.behaviour == Behaviour::Nvlink
                && (is_debug() || !self.merged.target.has_mercury()) =>
            {
                Ok(Some(
                    self.known(symbol).unwrap_or(self.merged.symbols.nothing),
                ))
            }
            None if relocation.symbol == 0 => {
                // Up to sm_90 nvlink takes it for one that is 0 (case `missing_names`).
                let is_zero = self.behaviour == Behaviour::Nvlink
                    && !self.merged.target.has_mercury()
                    && !is_debug();
                let settles = is_zero || self.settles(relocation.kind);
                Ok(settles.then_some(self.merged.symbols.nothing))
            }
            // A label of code that ptxas optimized away, or a variable that only debug information names.
            None if symbol.kind == SymbolType::NOTYPE
                && symbol.place == Place::Undefined
                && is_debug() =>
            {
                Ok(self.known_symbol(symbol.name).or(self.lost))
            }
            None => Err(ParseError::malformed(format!(
                "relocation against {}, which is not part of the link",
                symbol.name
            ))
            .at(relocation.offset)),
        }
    }
}
