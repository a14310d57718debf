//! Native twins of the Mercury generation follow their Mercury sections.

use crate::cubin::{InfoRecords, Relocation as FileRelocation, Section as FileSection, SymbolType};
use crate::error::ParseError;
use crate::id::FunctionId;
use crate::options::Behaviour;
use crate::read::{Native, NativeRole, NativeSection};

use super::current::{Current, Placed};
use super::mended::MercuryLists;
use super::merger::Merger;
use super::stale::is_from_nvlink;
use super::{Form, ParameterBank, Relocation};

/// The native sections of an input, and where each was placed.
struct Twins<'a, 'd> {
    native: &'a Native<'d>,
    /// By the number of the section in its file.
    placed: Vec<Option<Placed>>,
    /// The relocations of the Mercury world, from which nvlink makes native ones anew: it reads none of these.
    mercury: Option<MercuryLists<'a, 'd>>,
}

impl<'a, 'd> Twins<'a, 'd> {
    /// Where a section was placed that a record names by its number.
    fn place(&self, section: usize) -> Option<Placed> {
        self.placed.get(section).copied().flatten()
    }

    /// The section that nvlink reads instead of this one: the first of its name, if that is another one.
    fn first_of_name(
        &self,
        current: &Current<'_, 'd>,
        twin: &NativeSection<'d>,
    ) -> Option<&'a NativeSection<'d>> {
        match current.same_named.first(twin.index) {
            first if first == twin.index => None,
            first => self.native.section(first),
        }
    }
}

impl<'d> Merger<'d, '_> {
    /// Lays the native sections of one input beside their Mercury twins.
    pub(super) fn merge_native(&mut self, current: &Current<'_, 'd>) -> Result<(), ParseError> {
        let Some(native) = &current.object.native else {
            return Ok(());
        };
        let mut placed: Vec<Option<Placed>> = vec![None; current.object.sections.len()];
        for twin in &native.sections {
            placed[twin.index] = self.place_twin(current, twin);
        }
        // Code of whole programs, also in an object of `nvlink -r`, names the kernels that functions
        // are in.
        let is_made_anew = self.behaviour == Behaviour::Nvlink
            && !current.object.is_whole_program
            && !is_from_nvlink(current.object);
        let twins = Twins {
            native,
            placed,
            mercury: is_made_anew.then(|| MercuryLists::new(current, native)),
        };
        for twin in &native.sections {
            self.describe_twin(current, &twins, twin)?;
        }
        Ok(())
    }

    /// Lays the bytes of a native section beside those of its Mercury twin.
    fn place_twin(
        &mut self,
        current: &Current<'_, 'd>,
        twin: &NativeSection<'d>,
    ) -> Option<Placed> {
        let section = &twin.section;
        match twin.role {
            NativeRole::Debug {
                mercury,
                shares_bytes,
            } => {
                let target = current.placed[mercury]?;
                let native = self.native_twin(target.section);
                // Empty parts share nothing and do not part the others.
                if section.size > 0 {
                    let is_first = native.content.size == 0;
                    native.shares_bytes = shares_bytes && (is_first || native.shares_bytes);
                }
                let content = &mut native.content;
                let base = content.append(section.data, section.size, section.align);
                Some(Placed { base, ..target })
            }
            NativeRole::Code(mercury) => {
                let Some(target) = current.placed[mercury] else {
                    self.place_unused(current, mercury);
                    return None;
                };
                let own = self.native_twin(target.section);
                own.compiled_for = current.object.native.as_ref().map(|n| n.processor);
                Some(self.place_content(target, section, section.size))
            }
            NativeRole::OptimizerConstants(mercury) => {
                let Some(target) = current.placed[mercury] else {
                    self.place_unused(current, mercury);
                    return None;
                };
                let code = self.merged.sections[target.section].target;
                let size = self.named_size(current, mercury, code);
                Some(self.place_content(target, section, size.min(section.size)))
            }
            NativeRole::Data {
                mercury,
                shares_bytes,
            } => {
                let target = current.placed[mercury]?;
                let native = self.native_twin(target.section);
                let is_first = native.content.contributions.is_empty();
                native.shares_bytes = shares_bytes && (is_first || native.shares_bytes);
                let content = &mut native.content;
                content.place(section.data, target.base, section.size, section.align);
                Some(target)
            }
            NativeRole::Handles { mercury, .. } => {
                let target = current.placed[mercury]?;
                let content = &mut self.native_twin(target.section).content;
                let base = content.append(section.data, section.size, section.align);
                Some(Placed { base, ..target })
            }
            NativeRole::Info(_) | NativeRole::Parameters(_) | NativeRole::Relocations(_) => None,
        }
    }

    /// Adds the first `size` bytes of code or compiler constants to the twin of the section that their Mercury twin is in.
    fn place_content(&mut self, target: Placed, section: &FileSection<'d>, size: u64) -> Placed {
        let data = &section.data[..section.data.len().min(size as usize)];
        let is_second = self.merged.sections[target.section].is_second();
        let content = &mut self.native_twin(target.section).content;
        let base = match is_second && content.size > 0 {
            true => {
                content.overlay(data, size, section.align);
                0
            }
            false => content.append(data, size, section.align),
        };
        Placed { base, ..target }
    }

    /// Constants of a definition that is not in use: their bytes are those of the Mercury section.
    fn place_unused(&mut self, current: &Current<'_, 'd>, mercury: usize) {
        if let Some(unused) = current.discarded.constants.get(&mercury) {
            let input = current.object.sections[mercury];
            let twin = self.native_twin(unused.section);
            let base = twin.content.append(input.data, input.size, input.align);
            twin.unused.push(base..base + input.size);
        }
    }

    /// Takes what a native section says of functions or other sections: records, parameters and relocations.
    fn describe_twin(
        &mut self,
        current: &Current<'_, 'd>,
        twins: &Twins<'_, 'd>,
        twin: &NativeSection<'d>,
    ) -> Result<(), ParseError> {
        let first_of_name = || twins.first_of_name(current, twin);
        match twin.role {
            NativeRole::Info(text) => {
                let Some(function) = self.native_function(twins, text) else {
                    return Ok(());
                };
                let first = first_of_name();
                let data = first.unwrap_or(twin).section.data;
                let own = &mut self.merged.functions[function].native;
                let own = own.get_or_insert_default();
                if own.records.is_empty() {
                    own.records = InfoRecords::new(data).collect::<Result<_, _>>()?;
                    own.is_described_elsewhere = first.is_some();
                }
            }
            NativeRole::Parameters(text) => {
                let Some(function) = self.native_function(twins, text) else {
                    return Ok(());
                };
                let section = &first_of_name().unwrap_or(twin).section;
                self.merged.functions[function]
                    .native
                    .get_or_insert_default()
                    .parameters
                    .get_or_insert_with(|| ParameterBank::Native(self.arena.keep(*section)));
            }
            NativeRole::Handles { code, .. } => {
                let function = self.native_function(twins, code);
                if let (Some(function), Some(bank)) = (function, twins.place(twin.index)) {
                    let own = self.merged.functions[function]
                        .native
                        .get_or_insert_default();
                    own.parameters
                        .get_or_insert(ParameterBank::Twin(bank.section));
                }
            }
            NativeRole::Relocations(patched) => {
                self.merge_native_relocations(current, twins, twin, patched)?;
            }
            NativeRole::Code(_)
            | NativeRole::Debug { .. }
            | NativeRole::Data { .. }
            | NativeRole::OptimizerConstants(_) => {}
        }
        Ok(())
    }

    /// Takes the relocations of the native section of number `index`, which are in `list`.
    fn merge_native_relocations(
        &mut self,
        current: &Current<'_, 'd>,
        twins: &Twins<'_, 'd>,
        list: &NativeSection<'d>,
        index: usize,
    ) -> Result<(), ParseError> {
        let Some(patched) = twins.place(index) else {
            return Ok(());
        };
        let data = match twins.native.section(index).map(|section| section.role) {
            Some(NativeRole::Data { mercury, .. }) => Some(mercury),
            _ => None,
        };
        let is_left_out =
            |offset: u64| data.is_some_and(|section| current.is_discarded_data(section, offset));
        let first = twins.first_of_name(current, list);
        if first.is_some() {
            self.native_twin(patched.section).follows_mercury = true;
        }
        let relocations = Native::relocations(first.unwrap_or(list))?;
        let mut relocations: Vec<FileRelocation> = relocations.collect();
        if let Some(mercury) = twins.mercury.as_ref().filter(|_| first.is_none())
            && let Some(mended) = mercury.mended(current, index, &relocations)?
        {
            relocations = mended.relocations;
            self.native_twin(patched.section).counts_mercury = mended.counts_mercury;
        }
        for relocation in relocations.into_iter().filter(|r| !is_left_out(r.offset)) {
            let merged = self.native_relocation(current, twins, relocation, patched);
            let merged = merged.map_err(|e| e.in_section(list.section.name))?;
            self.native_twin(patched.section).relocations.extend(merged);
        }
        Ok(())
    }

    /// The function whose code is the native section of number `text`.
    fn native_function(&self, twins: &Twins<'_, 'd>, text: usize) -> Option<FunctionId> {
        self.merged.sections[twins.place(text)?.section].function
    }

    /// A native relocation against merged symbols; `None` where the target has no place in the link.
    fn native_relocation(
        &self,
        current: &Current<'_, 'd>,
        twins: &Twins<'_, 'd>,
        relocation: FileRelocation,
        patched: Placed,
    ) -> Result<Option<Relocation>, ParseError> {
        let symbols = &twins.native.symbols;
        let symbol = symbols.get(relocation.symbol as usize).ok_or_else(|| {
            ParseError::bad_index("symbol", relocation.symbol.into(), symbols.len())
        })?;
        if symbol.kind == SymbolType::SECTION {
            let section = symbol.place.section();
            let target = section.and_then(|section| twins.placed[section as usize]);
            let addend = relocation.addend.unwrap_or(0);
            return Ok(target.map(|target| Relocation {
                offset: relocation.offset.wrapping_add(patched.base),
                kind: relocation.kind,
                symbol: self.merged.sections[target.section].symbol,
                addend: addend.wrapping_add(target.base as i64),
                form: Form::Rela,
                discarded: false,
            }));
        }
        // Both symbol tables number their common symbols alike.
        let mercury = current.object.symbol(relocation.symbol)?;
        if mercury.name != symbol.name {
            return Err(ParseError::malformed(format!(
                "symbol {} is {} in one symbol table and {} in the other",
                relocation.symbol, symbol.name, mercury.name
            )));
        }
        self.resolve(current, &relocation, mercury, patched, Form::Rela)
    }
}
