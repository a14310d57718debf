//! Declarations to the bytes of an object, arranged as ptxas arranges them.

use std::collections::BTreeMap;

use rustnvlink::arch::{Abi, FileFlags, Sm};
use rustnvlink::cubin::{
    Binding, Content, Cubin, CubinSection, Header, ObjectKind, Place, SectionFlags, SectionType,
    Symbol, SymbolOther, SymbolType,
};

use crate::TextError;
use crate::source::{Function, Source, Space, Variable};

/// `.nv.compat` of an object that asks for nothing in particular.
const COMPAT: [u8; 36] = [
    2, 9, 0, 0, 2, 2, 1, 0, 2, 5, 5, 0, 3, 7, 1, 1, 2, 3, 0, 0, 2, 6, 1, 0, 4, 0xb, 8, 0, 0, 0, 0,
    0, 0, 0, 0, 0,
];

/// Section numbers that are the same in every object.
const NAMES: u32 = 1;
const STRINGS: u32 = 2;
pub(super) const SYMBOLS: u32 = 3;

/// A string table being filled.
pub(super) struct Strings {
    pub(super) bytes: Vec<u8>,
    pub(super) known: BTreeMap<String, u32>,
}

impl Strings {
    fn new() -> Self {
        Self {
            bytes: vec![0],
            known: BTreeMap::from([(String::new(), 0)]),
        }
    }

    pub(super) fn add(&mut self, string: &str) -> u32 {
        if let Some(&offset) = self.known.get(string) {
            return offset;
        }
        let offset = self.bytes.len() as u32;
        self.bytes.extend(string.bytes().chain([0]));
        self.known.insert(string.to_owned(), offset);
        offset
    }
}

/// A number in a section header that is only known at the end.
pub(super) enum Number<'t> {
    Fixed(u32),
    Section(String),
    /// Symbol of a function, and the registers above it.
    Function(&'t str, u32),
}

/// A section being filled.
pub(super) struct Draft<'t> {
    pub(super) name: String,
    pub(super) kind: SectionType,
    pub(super) flags: SectionFlags,
    pub(super) align: u64,
    pub(super) entry_size: u64,
    pub(super) link: Number<'t>,
    pub(super) info: Number<'t>,
    pub(super) bytes: Vec<u8>,
    /// Of sections without bytes.
    pub(super) size: u64,
}

impl<'t> Draft<'t> {
    pub(super) fn new(name: impl Into<String>, kind: SectionType, align: u64) -> Self {
        Self {
            name: name.into(),
            kind,
            flags: SectionFlags::NONE,
            align,
            entry_size: 0,
            link: Number::Fixed(0),
            info: Number::Fixed(0),
            bytes: Vec::new(),
            size: 0,
        }
    }
}

/// A symbol that refers to its section by name.
pub(super) struct SymbolDraft {
    pub(super) name: String,
    pub(super) symbol: Symbol<'static>,
    pub(super) section: Option<String>,
}

pub(crate) fn build(source: &Source<'_>) -> Result<Vec<u8>, TextError> {
    let Some(target) = source.target else {
        return fail(0, "the text has no target line");
    };
    if !(75..=90).contains(&target.number) || target.family().is_none() {
        let problem = format!("{target} is not a target between sm_75 and sm_90a");
        return fail(0, problem);
    }
    Builder {
        source,
        target,
        sections: Vec::new(),
        symbols: Vec::new(),
        numbers: BTreeMap::new(),
        strings: Strings::new(),
    }
    .build()
}

pub(super) fn fail<T>(line: usize, problem: impl Into<String>) -> Result<T, TextError> {
    Err(TextError {
        line,
        problem: problem.into(),
    })
}

pub(super) struct Builder<'s, 't> {
    pub(super) source: &'s Source<'t>,
    pub(super) target: Sm,
    pub(super) sections: Vec<Draft<'t>>,
    pub(super) symbols: Vec<SymbolDraft>,
    /// Symbol numbers by name.
    pub(super) numbers: BTreeMap<String, u32>,
    pub(super) strings: Strings,
}

impl<'t> Builder<'_, 't> {
    fn build(mut self) -> Result<Vec<u8>, TextError> {
        for function in &self.source.functions {
            self.strings.add(function.prototype);
        }
        self.data_sections()?;
        self.function_sections();
        self.raw_sections();
        self.symbols()?;
        self.metadata_sections()?;
        self.relocation_sections()?;
        self.finish()
    }

    /// Variables of one memory space, one behind the other.
    fn data_section(
        &mut self,
        name: &'static str,
        kind: SectionType,
        flags: SectionFlags,
        wanted: impl Fn(&Variable<'_>) -> bool,
    ) -> Result<(), TextError> {
        let mut draft = Draft::new(name, kind, 1);
        draft.flags = flags;
        let mut any = false;
        for variable in self
            .source
            .variables
            .iter()
            .filter(|v| v.is_defined && wanted(v))
        {
            any = true;
            let start = draft.size.next_multiple_of(variable.align);
            draft.align = draft.align.max(variable.align);
            draft.size = start + variable.size;
            if let Some(bytes) = &variable.bytes
                && bytes.len() as u64 > variable.size
            {
                return fail(0, format!("{} has more bytes than its size", variable.name));
            }
            if !kind.is_nobits() {
                draft.bytes.resize(start as usize, 0);
                draft.bytes.extend(variable.bytes.iter().flatten());
                draft.bytes.resize(draft.size as usize, 0);
            }
            let value = if kind == SectionType::CUDA_SHARED {
                variable.align
            } else {
                start
            };
            self.variable(variable, value, Some(name.to_owned()));
        }
        if any {
            self.sections.push(draft);
        }
        Ok(())
    }

    fn variable(&mut self, variable: &Variable<'_>, value: u64, section: Option<String>) {
        let managed = u8::from(variable.is_managed) * SymbolOther::MANAGED;
        let space = match variable.space {
            Space::Global | Space::Common => SymbolOther::GLOBAL,
            Space::Constant => SymbolOther::CONSTANT,
            Space::Shared => SymbolOther::SHARED,
        };
        let mut symbol = blank_symbol(SymbolType::CUDA_OBJECT, variable.binding);
        symbol.other = SymbolOther(space | managed);
        symbol.value = value;
        symbol.size = variable.size;
        if variable.space == Space::Common {
            symbol.place = Place::Common;
        }
        self.symbols.push(SymbolDraft {
            name: variable.name.to_owned(),
            symbol,
            section,
        });
    }

    fn data_sections(&mut self) -> Result<(), TextError> {
        let has_value = |v: &Variable<'_>| v.bytes.is_some() || !v.relocations.is_empty();
        self.data_section(
            ".nv.constant3",
            SectionType::constant(3),
            SectionFlags::ALLOC,
            |v| v.space == Space::Constant,
        )?;
        self.data_section(
            ".nv.global.init",
            SectionType::CUDA_GLOBAL_INIT,
            SectionFlags::DATA,
            |v| v.space == Space::Global && has_value(v),
        )?;
        self.data_section(
            ".nv.global",
            SectionType::CUDA_GLOBAL,
            SectionFlags::DATA,
            |v| v.space == Space::Global && !has_value(v),
        )?;
        self.data_section(
            ".nv_debug.shared",
            SectionType::CUDA_SHARED,
            SectionFlags::DATA,
            |v| v.space == Space::Shared,
        )?;
        for variable in &self.source.variables {
            if variable.space == Space::Common {
                self.variable(variable, variable.align, None);
            } else if !variable.is_defined {
                self.variable(variable, 0, None);
            }
        }
        Ok(())
    }

    fn function_sections(&mut self) {
        // Only processors before sm_90 keep a register count in the header.
        let counts_registers = !self.target.is_hopper_or_newer();
        for function in &self.source.functions {
            let mut symbol = blank_symbol(SymbolType::FUNC, function.binding);
            symbol.size = function.code.len() as u64;
            if function.is_entry {
                symbol.other = SymbolOther(SymbolOther::ENTRY);
            }
            let text = format!(".text.{}", function.name);
            self.symbols.push(SymbolDraft {
                name: function.name.to_owned(),
                symbol,
                section: function.is_defined.then(|| text.clone()),
            });
            if !function.is_defined {
                continue;
            }
            let mut code = Draft::new(text.clone(), SectionType::PROGBITS, 128);
            code.flags = SectionFlags::CODE;
            code.link = Number::Fixed(SYMBOLS);
            let registers = if counts_registers {
                function.registers
            } else {
                0
            };
            code.info = Number::Function(function.name, registers << 24);
            code.bytes = function.code.clone();
            self.sections.push(code);
            if function.is_entry {
                self.entry_sections(function, &text);
            }
        }
    }

    fn entry_sections(&mut self, function: &Function<'_>, text: &str) {
        let mut bank = Draft::new(bank_of(function), SectionType::constant(0), 4);
        bank.flags = SectionFlags::ALLOC.with(SectionFlags::INFO_LINK);
        bank.info = Number::Section(text.to_owned());
        let end = parameters(function)
            .map(|(offset, size)| offset + u64::from(size))
            .max();
        bank.bytes = vec![0; (parameter_base(self.target) + end.unwrap_or(0)) as usize];
        self.sections.push(bank);
        if function.shared.is_empty() {
            return;
        }
        let name = format!(".nv.shared.{}", function.name);
        let mut shared = Draft::new(name.clone(), SectionType::CUDA_SHARED, 1);
        shared.flags = SectionFlags::DATA.with(SectionFlags::INFO_LINK);
        shared.info = Number::Section(text.to_owned());
        for &(object, size, align) in &function.shared {
            shared.size = shared.size.next_multiple_of(align) + size;
            shared.align = shared.align.max(align);
            let mut symbol = blank_symbol(SymbolType::CUDA_OBJECT, Binding::LOCAL);
            symbol.other = SymbolOther(SymbolOther::SHARED);
            symbol.value = align;
            symbol.size = size;
            self.symbols.push(SymbolDraft {
                name: object.to_owned(),
                symbol,
                section: Some(name.clone()),
            });
        }
        self.sections.push(shared);
    }

    fn raw_sections(&mut self) {
        for raw in &self.source.sections {
            let mut draft = Draft::new(raw.name, raw.kind, raw.align);
            draft.flags = SectionFlags(raw.flags);
            draft.entry_size = raw.entry_size;
            draft.link = number_or_section(raw.link);
            draft.info = number_or_section(raw.info);
            draft.size = raw.bytes.len() as u64;
            draft.bytes = raw.bytes.clone();
            self.sections.push(draft);
        }
        for raw in &self.source.symbols {
            let mut symbol = blank_symbol(raw.kind, raw.binding);
            symbol.other = raw.other;
            symbol.value = raw.value;
            symbol.size = raw.size;
            self.symbols.push(SymbolDraft {
                name: raw.name.to_owned(),
                symbol,
                section: (!raw.section.is_empty()).then(|| raw.section.to_owned()),
            });
        }
    }

    /// Numbers the symbols: section symbols, locals, then the others.
    fn symbols(&mut self) -> Result<(), TextError> {
        let of_sections = self.sections.iter().map(|section| SymbolDraft {
            name: section.name.clone(),
            symbol: blank_symbol(SymbolType::SECTION, Binding::LOCAL),
            section: Some(section.name.clone()),
        });
        let mut symbols: Vec<_> = of_sections.collect();
        let (locals, others): (Vec<_>, Vec<_>) = std::mem::take(&mut self.symbols)
            .into_iter()
            .partition(|draft| draft.symbol.binding == Binding::LOCAL);
        symbols.extend(locals);
        symbols.extend(others);
        for (index, draft) in symbols.iter().enumerate() {
            let number = index as u32 + 1;
            if self.numbers.insert(draft.name.clone(), number).is_some() {
                return fail(0, format!("{} is declared twice", draft.name));
            }
        }
        self.symbols = symbols;
        Ok(())
    }

    pub(super) fn number(&self, line: usize, symbol: &str) -> Result<u32, TextError> {
        match self.numbers.get(symbol) {
            Some(&number) => Ok(number),
            None => fail(line, format!("{symbol} is not declared")),
        }
    }

    fn finish(mut self) -> Result<Vec<u8>, TextError> {
        let drafts = self.all_sections();
        let table = self.symbol_table(&drafts)?;
        let mut names = Strings::new();
        let name_offsets: Vec<u32> = drafts.iter().map(|d| names.add(&d.name)).collect();
        let mut sections = Vec::new();
        for (draft, name_offset) in drafts.iter().zip(name_offsets) {
            let (kind, mut link, mut info) = (
                draft.kind,
                self.resolve(&drafts, draft, &draft.link)?,
                self.resolve(&drafts, draft, &draft.info)?,
            );
            let content = match draft.name.as_str() {
                "" => Content::Empty,
                ".shstrtab" => Content::Bytes(&names.bytes),
                ".strtab" => Content::Bytes(&self.strings.bytes),
                ".symtab" => {
                    (link, info) = (STRINGS, self.local_symbols());
                    Content::Bytes(&table)
                }
                _ if kind.is_nobits() => Content::Empty,
                _ => Content::Bytes(&draft.bytes),
            };
            sections.push(CubinSection {
                name: &draft.name,
                name_offset,
                kind,
                flags: draft.flags,
                address: 0,
                offset: 0,
                size: draft.size,
                link,
                info,
                align: draft.align,
                entry_size: if kind == SectionType::SYMTAB {
                    24
                } else {
                    draft.entry_size
                },
                content,
            });
        }
        let mut cubin = Cubin {
            header: self.header(&drafts),
            sections,
            segments: Vec::new(),
            size: 0,
            unexplained: Vec::new(),
        };
        cubin
            .lay_out()
            .and_then(|()| cubin.encode())
            .or_else(|error| fail(0, error.to_string()))
    }

    /// The sections in the order of real objects: tables, notes, metadata, relocations, constants,
    /// code, data.
    fn all_sections(&mut self) -> Vec<Draft<'t>> {
        let mut drafts = vec![
            Draft::new("", SectionType::NULL, 0),
            Draft::new(".shstrtab", SectionType::STRTAB, 1),
            Draft::new(".strtab", SectionType::STRTAB, 1),
            Draft::new(".symtab", SectionType::SYMTAB, 8),
        ];
        drafts.extend(self.notes());
        if self.target.is_hopper_or_newer() {
            let mut compat = Draft::new(".nv.compat", SectionType::CUDA_COMPAT, 4);
            compat.bytes = COMPAT.to_vec();
            if self.target.suffix.is_some() {
                compat.bytes[2] = 1;
            }
            drafts.push(compat);
        }
        self.sections.sort_by_key(rank);
        drafts.append(&mut self.sections);
        drafts
    }

    fn symbol_table(&mut self, drafts: &[Draft<'_>]) -> Result<Vec<u8>, TextError> {
        let mut table = Vec::new();
        let null = blank_symbol(SymbolType::NOTYPE, Binding::LOCAL);
        null.encode(&mut table);
        for draft in &self.symbols {
            let mut symbol = draft.symbol;
            symbol.name_offset = self.strings.add(&draft.name);
            if let Some(name) = &draft.section {
                let Some(number) = section_number(drafts, name) else {
                    let line = self.source.symbols.iter().find(|s| s.name == draft.name);
                    let problem = format!("section {name} of {} is not declared", draft.name);
                    return fail(line.map_or(0, |s| s.line), problem);
                };
                symbol.place = Place::Section(number);
            }
            symbol.encode(&mut table);
        }
        Ok(table)
    }

    /// With the one without name.
    fn local_symbols(&self) -> u32 {
        let is_local = |s: &&SymbolDraft| s.symbol.binding == Binding::LOCAL;
        self.symbols.iter().filter(is_local).count() as u32 + 1
    }

    /// What `draft` says in its link or info.
    fn resolve(
        &self,
        drafts: &[Draft<'_>],
        draft: &Draft<'_>,
        number: &Number<'_>,
    ) -> Result<u32, TextError> {
        match number {
            Number::Fixed(number) => Ok(*number),
            Number::Section(name) => section_number(drafts, name).ok_or_else(|| {
                let line = self.source.sections.iter().find(|s| s.name == draft.name);
                TextError {
                    line: line.map_or(0, |s| s.line),
                    problem: format!("section {name} is not declared"),
                }
            }),
            Number::Function(name, high) => Ok(self.number(0, name)? | high),
        }
    }

    fn header(&self, drafts: &[Draft<'_>]) -> Header {
        let device_note = section_number(drafts, ".note.nv.cuinfo").unwrap_or(0);
        Header {
            os_abi: Abi::NEW_OS_ABI,
            abi_version: Abi::V8.version(),
            kind: ObjectKind::RELOCATABLE,
            version: 1,
            entry: 0,
            segments_offset: 0,
            sections_offset: 0,
            flags: FileFlags::new(self.target, device_note).encode(),
            segment_entry_size: if self.target.is_hopper_or_newer() {
                0
            } else {
                56
            },
            names_section: NAMES,
        }
    }
}

fn section_number(drafts: &[Draft<'_>], name: &str) -> Option<u32> {
    drafts.iter().position(|d| d.name == name).map(|i| i as u32)
}

/// Where a section stands among the others.
fn rank(draft: &Draft<'_>) -> u8 {
    match draft.kind {
        SectionType::CUDA_INFO | SectionType::CUDA_CALLGRAPH | SectionType::CUDA_PROTOTYPE => 1,
        SectionType::REL | SectionType::RELA => 2,
        kind if kind.constant_bank().is_some() => 3,
        SectionType::PROGBITS if draft.flags.contains(SectionFlags::EXECINSTR) => 4,
        SectionType::PROGBITS if draft.flags == SectionFlags::NONE => 0,
        SectionType::CUDA_GLOBAL_INIT => 5,
        _ => 6,
    }
}

fn number_or_section(text: &str) -> Number<'static> {
    let parsed = match text.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16),
        None => text.parse(),
    };
    parsed.map_or_else(|_| Number::Section(text.to_owned()), Number::Fixed)
}

fn blank_symbol(kind: SymbolType, binding: Binding) -> Symbol<'static> {
    Symbol {
        name: "",
        name_offset: 0,
        kind,
        binding,
        other: SymbolOther::default(),
        place: Place::Undefined,
        value: 0,
        size: 0,
    }
}

pub(super) fn bank_of(function: &Function<'_>) -> String {
    format!(".nv.constant0.{}", function.name)
}

/// Where parameters start in constant bank 0.
pub(super) fn parameter_base(target: Sm) -> u64 {
    if target.is_hopper_or_newer() {
        0x210
    } else {
        0x160
    }
}

/// Offset and size of each parameter of a kernel.
pub(super) fn parameters(function: &Function<'_>) -> impl Iterator<Item = (u64, u16)> {
    let mut end = 0_u64;
    function.parameters.iter().map(move |&size| {
        let align = u64::from(size).next_power_of_two().min(8);
        let offset = end.next_multiple_of(align);
        end = offset + u64::from(size);
        (offset, size)
    })
}
