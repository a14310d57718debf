//! Attribute records: whom they are about, and which ones are kept.

use crate::cubin::{
    Binding, Format, InfoCode, InfoRecord as FileRecord, InfoRecords, SymbolOther, SymbolType,
    section_name,
};
use crate::error::{NvlinkError, ParseError};
use crate::id::{FunctionId, SymbolId};
use crate::options::Behaviour;
use crate::read::{InputSection, Object, Role};

use super::current::Current;
use super::merger::Merger;
use super::objects::End;
use super::{Function, InfoRecord, NewSection, Payload, SectionKind};

/// The version of Mercury instructions that CUDA 12 writes without saying so:
/// minor and major number.
pub(crate) const FIRST_MERCURY_VERSION: [u8; 2] = [0, 1];

impl<'d> Merger<'d, '_> {
    /// Merges the attribute records of one section of the input.
    pub(super) fn merge_info(
        &mut self,
        current: &Current<'_, 'd>,
        index: usize,
    ) -> Result<(), ParseError> {
        let section = &current.object.sections[index];
        let owner = match section.target() {
            None => None,
            Some(text) if current.discarded.code[text].is_some() => return Ok(()),
            Some(text) => Some(self.described_function(current, text)?),
        };
        self.check_entry(section, owner)?;
        if let Some(function) = owner {
            self.name_info(section, function);
        }
        self.merged.described.extend(owner);
        let mut has_version = owner.is_none() || current.object.native.is_none();
        let mut records = std::mem::take(&mut self.records.of_section);
        let listed = &current.object.sections[current.same_named.first(index)];
        for record in InfoRecords::new(listed.data) {
            let Some(record) = self.resolve_record(current, &record?, owner.is_some())? else {
                continue;
            };
            // Those of strong definitions are asked of nobody.
            if record.code == InfoCode::REGCOUNT
                && let Some(symbol) = record.subject()
                && self.merged.symbols[symbol].binding == Binding::WEAK
                && let Some((_, count)) = record.symbol_number()
            {
                self.definitions.registers.insert(symbol, count);
            }
            has_version |= record.code == InfoCode::MERCURY_ISA_VERSION;
            records.push(record);
        }
        if !has_version {
            records.push(InfoRecord {
                format: Format::Half,
                code: InfoCode::MERCURY_ISA_VERSION,
                payload: Payload::Head(FIRST_MERCURY_VERSION),
            });
        }
        match owner {
            Some(function) => {
                match self.merged.functions[function].records.is_empty() {
                    true => self.put_first(function, &mut records),
                    // A second name of the code has records, too.
                    false => {
                        let further = self.records.further.entry(function).or_default();
                        further.append(&mut records);
                    }
                }
            }
            None => self.merged.records.append(&mut records),
        }
        self.records.of_section = records;
        Ok(())
    }

    /// Puts the records of functions that several sections of the input are about before those of the first one.
    pub(super) fn join_further_records(&mut self) {
        for (function, mut records) in std::mem::take(&mut self.records.further) {
            self.put_first(function, &mut records);
        }
    }

    /// Puts records before those that a function has, the last one first.
    fn put_first(&mut self, function: FunctionId, records: &mut Vec<InfoRecord<'d>>) {
        let known = &mut self.merged.functions[function].records;
        records.reverse();
        records.extend_from_slice(known);
        *known = self.arena.list(records);
        records.clear();
    }

    /// Refuses attribute records whose section says that it is something else, as nvlink does when all is merged: it takes
    /// those of kernels for nothing up to sm_90 (case `odd_sections`), and for sm_90 then misses what those of modules say.
    pub(super) fn check_types(&self, objects: &[Object<'d>]) -> Result<(), End> {
        let is_taken = |section: &InputSection<'d>| {
            let function = section.name.strip_prefix(section_name::INFO_OF);
            let symbol = function.and_then(|name| self.known_symbol(name));
            let is_kernel = |id| self.merged.symbols[id].other.has(SymbolOther::ENTRY);
            let target = self.merged.target;
            self.behaviour == Behaviour::Nvlink
                && !target.has_mercury()
                && section.has_type_of_nothing()
                && match function {
                    Some(_) => symbol.is_some_and(is_kernel),
                    None => target.is_hopper_or_newer(),
                }
        };
        for object in objects {
            let mut sections = object.sections.iter();
            if let Some(lost) = sections.find(|s| s.has_lost_type() && !is_taken(s)) {
                let problem = "it has the name of attribute records and another type";
                return Err(End::Damage(
                    ParseError::malformed(problem)
                        .as_nvlink(NvlinkError::NegativeSize)
                        .in_section(lost.name)
                        .in_input(&object.name),
                ));
            }
        }
        Ok(())
    }

    /// The function whose code a section of an input is.
    fn described_function(
        &self,
        current: &Current<'_, 'd>,
        text: usize,
    ) -> Result<FunctionId, ParseError> {
        let section = &current.object.sections[text];
        let problem = || {
            let problem = format!("its section {} is not the code of a function", section.name);
            ParseError::malformed(problem)
        };
        let Some(placed) = current.placed[text] else {
            // Code is nowhere where names clash (case `clashes`).
            return Err(match section.role {
                Role::Text => problem(),
                _ => problem().as_nvlink(NvlinkError::SectionNotMapped),
            });
        };
        let row = &self.merged.sections[placed.section];
        // To nvlink, what belongs to code stands for it (case `odd_sections`).
        let code = row.target.filter(|_| self.behaviour == Behaviour::Nvlink);
        let of_code = || self.merged.sections[code?].function;
        row.function.or_else(of_code).ok_or_else(problem)
    }

    /// Refuses records that have the name of a kernel and belong to other code: for sm_90 nvlink then misses those of the
    /// kernel (case `odd_sections`).
    fn check_entry(
        &self,
        section: &InputSection<'d>,
        owner: Option<FunctionId>,
    ) -> Result<(), ParseError> {
        let target = self.merged.target;
        let is_missed = target.is_hopper_or_newer() && !target.has_mercury();
        if self.behaviour == Behaviour::Nvlink && !is_missed {
            return Ok(());
        }
        let Some(owner) = owner else { return Ok(()) };
        let name = section.name.strip_prefix(section_name::INFO_OF);
        let Some(name) = name.filter(|&name| name != self.merged.name_of(owner)) else {
            return Ok(());
        };
        let named = self.known_symbol(name);
        let named = named.and_then(|id| self.merged.symbols[id].function);
        if !named.is_some_and(|named| self.merged.functions[named].is_entry) {
            return Ok(());
        }
        let owner = self.merged.name_of(owner);
        let problem = format!("it has the name of kernel {name} and belongs to {owner}");
        Err(ParseError::malformed(problem).as_nvlink(NvlinkError::NoEntryInfo))
    }

    /// Makes the section for the records of a function, if it has none.
    fn name_info(&mut self, section: &InputSection<'d>, function: FunctionId) {
        if self.merged.functions[function].info.is_some() {
            return;
        }
        let text = self.merged.functions[function].text;
        // In objects of CUDA 12, those of slots are named after the section.
        let own = self.merged.name_of(function);
        let name = match section.name.strip_prefix(section_name::INFO_OF) {
            Some(name) if name == own => section.name,
            _ => self.arena.name(&[section_name::INFO_OF, own]),
        };
        let info = self.section(NewSection::list(name, SectionKind::Info, text));
        self.merged.functions[function].info = Some(info);
    }

    /// The record with its symbols resolved; `None` when it is about a
    /// function that another input defines, or is made anew by every link.
    fn resolve_record(
        &self,
        current: &Current<'_, 'd>,
        record: &FileRecord<'d>,
        is_of_function: bool,
    ) -> Result<Option<InfoRecord<'d>>, ParseError> {
        let is_dropped = match record.code {
            InfoCode::ERROR => true,
            InfoCode::MAX_STACK_SIZE | InfoCode::LOAD_CACHE_REQUEST => self.merged.is_executable(),
            _ => false,
        };
        if is_dropped || self.is_of_nothing(current, record) {
            return Ok(None);
        }
        let payload = if record.format != Format::Sized {
            Payload::Head(record.value)
        } else if record.code == InfoCode::EXTERNS {
            let mut symbols = Vec::with_capacity(record.payload.len() / size_of::<u32>());
            for index in record.externs() {
                symbols.extend(self.subject(current, index)?);
            }
            Payload::Symbols(self.arena.list(&symbols))
        } else {
            match record.symbol().filter(|&index| index != 0) {
                None => Payload::Bytes(record.payload),
                Some(index)
                    if is_of_function
                        && self.behaviour == Behaviour::Nvlink
                        && is_parameter(record.code)
                        && !current.object.symbol(index)?.kind.is_reference() =>
                {
                    let mut bytes = record.payload.to_vec();
                    bytes[..size_of::<u32>()].fill(0);
                    Payload::Bytes(self.arena.list(&bytes))
                }
                Some(index) => match self.subject(current, index)? {
                    None => Payload::Bytes(record.payload),
                    Some(symbol) if self.is_of_other(current, record.code, symbol) => {
                        return Ok(None);
                    }
                    Some(symbol) => Payload::Symbol(symbol, &record.payload[size_of::<u32>()..]),
                },
            }
        };
        Ok(Some(InfoRecord {
            format: record.format,
            code: record.code,
            payload,
        }))
    }

    /// Whether a record is about a definition of a function that another input has. Nor does an image say what a slot
    /// needs.
    fn is_of_other(&self, current: &Current<'_, 'd>, code: InfoCode, symbol: SymbolId) -> bool {
        let row = &self.merged.symbols[symbol];
        let function = row.function.map(|f| &self.merged.functions[f]);
        let is_of_other =
            |function: &Function<'_>| function.is_stub || row.input != Some(current.id);
        is_of_definition(code) && function.is_some_and(is_of_other)
    }

    /// Whether nvlink drops what a record says of a function because it names none (case `odd_records`).
    fn is_of_nothing(&self, current: &Current<'_, 'd>, record: &FileRecord<'d>) -> bool {
        let names_function = |index: u32| {
            let symbol = current.object.symbols.get(index as usize);
            symbol.is_some_and(|symbol| symbol.kind == SymbolType::FUNC)
        };
        self.behaviour == Behaviour::Nvlink
            && is_of_definition(record.code)
            && !record.symbol().is_some_and(names_function)
    }

    /// The merged symbol for a symbol number in a record.
    fn subject(
        &self,
        current: &Current<'_, 'd>,
        index: u32,
    ) -> Result<Option<SymbolId>, ParseError> {
        let symbol = current.object.symbol(index)?;
        if symbol.kind.leads_to_section() {
            return Ok(symbol
                .place
                .section()
                .and_then(|section| current.placed[section as usize])
                .map(|placed| self.merged.sections[placed.section].symbol));
        }
        Ok(current.symbols[index as usize])
    }
}

/// Whether a record is about one definition of a function.
fn is_of_definition(code: InfoCode) -> bool {
    matches!(
        code,
        InfoCode::FRAME_SIZE | InfoCode::REGCOUNT | InfoCode::MAX_STACK_SIZE
    )
}

/// Whether a record describes a parameter of a kernel. Among those of the kernel it begins with nothing for nvlink.
fn is_parameter(code: InfoCode) -> bool {
    matches!(code, InfoCode::KPARAM_INFO | InfoCode::KPARAM_INFO_V2)
}
