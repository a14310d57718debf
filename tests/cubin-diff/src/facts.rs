//! What can be said of an image, as keys and values.

use std::collections::HashMap;

use rustnvlink::arch::relocation::RelocationType;
use rustnvlink::cubin::{File, Place, Section, SectionFlags, SectionType, Symbol};

use crate::records;

/// What a fact says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Value {
    /// One thing.
    Text(String),
    /// Things whose order matters.
    List(Vec<String>),
    /// Bytes without a meaning of their own.
    Bytes(Vec<u8>),
}

/// One thing that an image says.
#[derive(Debug)]
pub(crate) struct Fact {
    /// The key of the section or symbol it is about. Where only one image has that, its facts are
    /// one difference.
    pub(crate) owner: String,
    /// Names the fact.
    pub(crate) key: String,
    /// What is said.
    pub(crate) value: Value,
}

/// Facts in file order. Every key is there once.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    facts: Vec<Fact>,
    owner: String,
    seen: HashMap<String, usize>,
}

impl Facts {
    /// Says what the next facts are about.
    pub(crate) fn about(&mut self, owner: String) {
        self.owner = owner;
    }

    /// Adds a fact. A key that is there already gets a number: `info.nv.info.k.REQNTID#2` is the
    /// second of its name.
    pub(crate) fn add(&mut self, key: String, value: Value) {
        let count = self.seen.entry(key.clone()).or_default();
        *count += 1;
        let key = if *count == 1 {
            key
        } else {
            format!("{key}#{count}")
        };
        let owner = self.owner.clone();
        self.facts.push(Fact { owner, key, value });
    }

    /// Adds a fact that is one text.
    pub(crate) fn text(&mut self, key: String, value: impl ToString) {
        self.add(key, Value::Text(value.to_string()));
    }

    pub(crate) fn iter(&self) -> std::slice::Iter<'_, Fact> {
        self.facts.iter()
    }
}

/// The facts of one image.
#[derive(Debug, Default)]
pub(crate) struct Image {
    /// What the image says.
    pub(crate) meaning: Facts,
    /// Where and how it says so: offsets, indices, encodings.
    pub(crate) consequences: Facts,
}

impl Image {
    fn about(&mut self, owner: &str) {
        self.meaning.about(owner.to_owned());
        self.consequences.about(owner.to_owned());
    }
}

/// A section or symbol name with `#n` for the n-th of its name.
fn numbered<'a>(names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut seen: HashMap<&str, usize> = HashMap::new();
    names
        .map(|name| {
            let count = seen.entry(name).or_default();
            *count += 1;
            if *count == 1 {
                name.to_owned()
            } else {
                format!("{name}#{count}")
            }
        })
        .collect()
}

/// The names of everything that numbers in the file refer to.
pub(crate) struct Names<'f, 'd> {
    file: &'f File<'d>,
    sections: Vec<String>,
    /// The symbols of each symbol table, by the number of its section.
    symbols: HashMap<usize, Vec<String>>,
}

impl<'f, 'd> Names<'f, 'd> {
    fn new(file: &'f File<'d>) -> Self {
        let sections = numbered(file.sections.iter().map(|section| section.name));
        let mut names = Self {
            file,
            sections,
            symbols: HashMap::new(),
        };
        for (index, section) in file.sections.iter().enumerate() {
            if matches!(
                section.kind,
                SectionType::SYMTAB | SectionType::CUDA_MERC_SYMTAB
            ) && let Ok(symbols) = file.symbol_table(index)
            {
                let symbols = names.of_symbols(&symbols);
                names.symbols.insert(index, symbols);
            }
        }
        names
    }

    fn of_symbols(&self, symbols: &[Symbol<'_>]) -> Vec<String> {
        let own: Vec<String> = symbols
            .iter()
            .map(|symbol| match (symbol.name, symbol.place) {
                ("", Place::Section(section)) => format!("({})", self.section(section)),
                (name, _) => name.to_owned(),
            })
            .collect();
        numbered(own.iter().map(String::as_str))
    }

    /// The name of a section, or its number if there is none.
    pub(crate) fn section(&self, index: u32) -> String {
        match self.sections.get(index as usize) {
            _ if index == 0 => "none".to_owned(),
            Some(name) => name.clone(),
            None => format!("section {index}, which does not exist"),
        }
    }

    /// The name of a symbol of the table that `section` is linked with, or of `.symtab`.
    pub(crate) fn symbol(&self, section: &Section<'_>, index: u32) -> String {
        let linked = self.symbols.get(&(section.link as usize));
        let table = linked.or_else(|| {
            self.symbols
                .get(&self.file.section_of_type(SectionType::SYMTAB)?)
        });
        match table.and_then(|names| names.get(index as usize)) {
            _ if index == 0 => "none".to_owned(),
            Some(name) => name.clone(),
            None => format!("symbol {index}, which does not exist"),
        }
    }

    /// The string at an offset of the string table that names symbols.
    pub(crate) fn string(&self, section: &Section<'_>, offset: u32) -> String {
        let linked = self.file.sections.get(section.link as usize);
        let table = linked
            .filter(|table| {
                matches!(
                    table.kind,
                    SectionType::SYMTAB | SectionType::CUDA_MERC_SYMTAB
                )
            })
            .or_else(|| {
                self.file
                    .sections
                    .get(self.file.section_of_type(SectionType::SYMTAB)?)
            })
            .and_then(|table| self.file.sections.get(table.link as usize));
        table
            .and_then(|table| table.string_at(offset).ok())
            .map_or_else(
                || format!("string {offset:#x}, which does not exist"),
                str::to_owned,
            )
    }
}

/// The key of something of a section: `section.text.k.size`.
pub(crate) fn key(kind: &str, name: &str, rest: &str) -> String {
    let name = name.strip_prefix('.').unwrap_or(name);
    if rest.is_empty() {
        format!("{kind}.{name}")
    } else {
        format!("{kind}.{name}.{rest}")
    }
}

/// Everything that is said of `file`.
pub(crate) fn of(file: &File<'_>) -> Image {
    let names = Names::new(file);
    let mut image = Image::default();
    header(file, &mut image);
    sections(file, &names, &mut image);
    for (index, section) in file.sections.iter().enumerate() {
        content(file, &names, index, section, &mut image);
    }
    segments(file, &mut image);
    image
}

fn header(file: &File<'_>, image: &mut Image) {
    let header = &file.header;
    let mut fact = |name: &str, value: String| image.meaning.text(format!("header.{name}"), value);
    fact("os_abi", format!("{:#x}", header.os_abi));
    fact("abi_version", header.abi_version.to_string());
    fact("type", format!("{:#x}", header.kind.0));
    fact("version", header.version.to_string());
    fact("entry", format!("{:#x}", header.entry));
    // The highest byte is the number of a section.
    fact("flags", format!("{:#08x}", header.flags & 0x00ff_ffff));
    let consequences = &mut image.consequences;
    consequences.text("header.flags.section".to_owned(), header.flags >> 24);
    consequences.text("header.segments_offset".to_owned(), header.segments_offset);
    consequences.text("header.sections_offset".to_owned(), header.sections_offset);
    consequences.text("header.names_section".to_owned(), header.names_section);
}

fn sections(file: &File<'_>, names: &Names<'_, '_>, image: &mut Image) {
    image.meaning.add(
        "section.order".to_owned(),
        Value::List(names.sections.clone()),
    );
    for (section, name) in file.sections.iter().zip(&names.sections).skip(1) {
        image.about(&key("section", name, ""));
        let mut fact = |what: &str, value: String| {
            image.meaning.text(key("section", name, what), value);
        };
        fact("type", section.kind.to_string());
        fact("flags", format!("{:#x}", section.flags.0));
        fact("address", format!("{:#x}", section.address));
        fact("size", format!("{:#x}", section.size));
        fact("align", section.align.to_string());
        fact("entry_size", section.entry_size.to_string());
        fact("link", names.section(section.link));
        fact("info", info(names, section));
        let mut consequence = |what: &str, value: String| {
            image.consequences.text(key("section", name, what), value);
        };
        consequence("offset", format!("{:#x}", section.offset));
        consequence("name_offset", format!("{:#x}", section.name_offset));
        consequence("link_index", section.link.to_string());
        consequence("info_index", section.info.to_string());
    }
}

/// What `sh_info` says. It depends on the type of the section.
fn info(names: &Names<'_, '_>, section: &Section<'_>) -> String {
    const INDEX: u32 = 0x00ff_ffff;
    if section.info == 0 {
        "none".to_owned()
    } else if section.flags.contains(SectionFlags::EXECINSTR) {
        // Before sm_90 the highest byte is the register count of the function.
        let function = names.symbol(section, section.info & INDEX);
        format!("{function}, {} registers", section.info >> 24)
    } else if section.flags.contains(SectionFlags::INFO_LINK)
        || matches!(section.kind, SectionType::REL | SectionType::RELA)
    {
        names.section(section.info)
    } else {
        section.info.to_string()
    }
}

/// What the bytes of a section say.
fn content(
    file: &File<'_>,
    names: &Names<'_, '_>,
    index: usize,
    section: &Section<'_>,
    image: &mut Image,
) {
    let name = &names.sections[index];
    let owner = key("section", name, "");
    image.about(&owner);
    let decoded = match section.kind {
        SectionType::NULL => return,
        SectionType::STRTAB => {
            let strings = section.data.split(|&byte| byte == 0);
            let strings = strings.map(|string| String::from_utf8_lossy(string).into_owned());
            image
                .meaning
                .add(key("strings", name, ""), Value::List(strings.collect()));
            true
        }
        SectionType::SYMTAB | SectionType::CUDA_MERC_SYMTAB => symbols(file, names, index, image),
        SectionType::REL | SectionType::RELA | SectionType::CUDA_MERC_RELA => {
            relocations(names, name, section, &mut image.meaning)
        }
        _ => records::decode(names, name, section, &mut image.meaning),
    };
    image.about(&owner);
    let facts = if decoded {
        &mut image.consequences
    } else {
        &mut image.meaning
    };
    if !section.kind.is_nobits() {
        facts.add(key("bytes", name, ""), Value::Bytes(section.data.to_vec()));
    }
}

fn symbols(file: &File<'_>, names: &Names<'_, '_>, index: usize, image: &mut Image) -> bool {
    let (Some(own_names), Ok(symbols)) = (names.symbols.get(&index), file.symbol_table(index))
    else {
        return false;
    };
    let kind = match file.sections[index].kind {
        SectionType::SYMTAB => "symbol",
        _ => "mercury_symbol",
    };
    image
        .meaning
        .add(format!("{kind}.order"), Value::List(own_names.clone()));
    for (symbol, name) in symbols.iter().zip(own_names).skip(1) {
        image.about(&format!("{kind}.{name}"));
        let place = match symbol.place {
            Place::Undefined => "undefined".to_owned(),
            Place::Absolute => "absolute".to_owned(),
            Place::Common => "common".to_owned(),
            Place::Section(section) => names.section(section),
            Place::Reserved(number) => format!("reserved {number:#x}"),
        };
        let mut fact =
            |what: &str, value: String| image.meaning.text(format!("{kind}.{name}.{what}"), value);
        fact("binding", symbol.binding.0.to_string());
        fact("type", symbol.kind.0.to_string());
        fact("other", format!("{:#x}", symbol.other.0));
        fact("section", place);
        fact("value", format!("{:#x}", symbol.value));
        fact("size", format!("{:#x}", symbol.size));
        image.consequences.text(
            format!("{kind}.{name}.name_offset"),
            format!("{:#x}", symbol.name_offset),
        );
    }
    true
}

fn relocations(
    names: &Names<'_, '_>,
    name: &str,
    section: &Section<'_>,
    facts: &mut Facts,
) -> bool {
    let Ok(relocations) = File::relocations(section) else {
        return false;
    };
    let mut order = Vec::new();
    for relocation in relocations {
        let symbol = names.symbol(section, relocation.symbol);
        let addend = match relocation.addend {
            Some(addend) => format!(" {addend:+#x}"),
            None => String::new(),
        };
        order.push(format!("{:#x}", relocation.offset));
        facts.text(
            key("relocation", name, &format!("{:#x}", relocation.offset)),
            format!("{} {symbol}{addend}", RelocationType(relocation.kind)),
        );
    }
    facts.add(key("relocation", name, "order"), Value::List(order));
    true
}

fn segments(file: &File<'_>, image: &mut Image) {
    image.about("");
    image
        .meaning
        .text("segment.count".to_owned(), file.segments.len());
    for (index, segment) in file.segments.iter().enumerate() {
        let mut fact = |what: &str, value: String| {
            image.meaning.text(format!("segment.{index}.{what}"), value)
        };
        fact("type", format!("{:#x}", segment.kind));
        fact("flags", format!("{:#x}", segment.flags));
        fact("align", segment.align.to_string());
        let mut consequence = |what: &str, value: u64| {
            image
                .consequences
                .text(format!("segment.{index}.{what}"), format!("{value:#x}"));
        };
        consequence("offset", segment.offset);
        consequence("virtual_address", segment.virtual_address);
        consequence("physical_address", segment.physical_address);
        consequence("file_size", segment.file_size);
        consequence("memory_size", segment.memory_size);
    }
}
