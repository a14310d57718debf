//! Decodes single sections: records, symbols, relocations, graphs, notes and strings; bytes where nothing is known.

use cudalink_bindings::{Name, binding, is_relocations, parameter};
use rustnvlink::arch::relocation::RelocationType;
use rustnvlink::cubin::{
    CallGraph, CompatCode, DeviceNote, Edge, File, Format, InfoCode, InfoRecords, Note, NoteKind,
    Place, Prototype, Record, Records, Section, SectionType, Signature, Symbol, SymbolOther,
    SymbolType, ToolNote,
};
use rustnvlink::error::ParseError;

use super::report::{
    CallGraphReport, Contents, ContentsReport, EdgeReport, NoteReport, RecordReport,
    RelocationEntry, RelocationReport, SectionReport, SignatureReport, StringReport, SymbolReport,
};

/// An image with the symbols of both its worlds.
pub(super) struct View<'f, 'd> {
    pub(super) file: &'f File<'d>,
    /// The symbols that Mercury's records count by.
    mercury: Vec<Symbol<'d>>,
}

impl<'f, 'd> View<'f, 'd> {
    /// A view, and what is wrong with Mercury's symbols. Without them its records name none.
    pub(super) fn new(file: &'f File<'d>) -> (Self, Result<(), ParseError>) {
        let table = file.section_of_type(SectionType::CUDA_MERC_SYMTAB);
        let (mercury, result) = match table.map(|table| file.symbol_table(table)) {
            Some(Ok(symbols)) => (symbols, Ok(())),
            Some(Err(e)) => (Vec::new(), Err(e)),
            None => (Vec::new(), Ok(())),
        };
        (Self { file, mercury }, result)
    }
}

pub(super) fn header(index: usize, section: &Section<'_>) -> SectionReport {
    SectionReport {
        index: index as u32,
        name: section.name.to_owned(),
        kind: section.kind.to_string(),
        flags: section.flags.0,
        address: section.address,
        offset: section.offset,
        size: section.size,
        align: section.align,
        entry_size: section.entry_size,
        link: section.link,
        info: section.info,
    }
}

/// Decodes a section by its type.
pub(super) fn decode(view: &View<'_, '_>, index: usize) -> Result<ContentsReport, ParseError> {
    let file = view.file;
    let section = &file.sections[index];
    let place = |e: ParseError| e.in_section(section.name);
    let contents = match section.kind {
        kind if kind.is_nobits() => Contents::NoBytes,
        SectionType::CUDA_INFO => Contents::Records(info(section, &file.symbols).map_err(place)?),
        SectionType::CUDA_MERC_INFO => {
            Contents::Records(info(section, &view.mercury).map_err(place)?)
        }
        SectionType::CUDA_COMPAT => Contents::Records(compat(section).map_err(place)?),
        SectionType::SYMTAB => Contents::Symbols(symbols(file, &file.symbols)),
        SectionType::CUDA_MERC_SYMTAB => Contents::Symbols(symbols(file, &view.mercury)),
        SectionType::CUDA_CALLGRAPH => Contents::CallGraph(call_graph(file, section)?),
        SectionType::CUDA_PROTOTYPE => {
            Contents::Prototypes(prototypes(file, section).map_err(place)?)
        }
        SectionType::NOTE => Contents::Notes(notes(section).map_err(place)?),
        SectionType::STRTAB => Contents::Strings(strings(section)),
        _ if is_relocations(section) => Contents::Relocations(relocations(view, section)?),
        _ => Contents::Bytes(section.data.to_vec()),
    };
    Ok(ContentsReport {
        header: header(index, section),
        contents,
    })
}

/// A symbol by its number; section symbols have the name of their section.
fn symbol_name(file: &File<'_>, symbols: &[Symbol<'_>], index: u32) -> Name {
    let named = match symbols.get(index as usize) {
        Some(symbol) if symbol.name.is_empty() => symbol
            .place
            .section()
            .and_then(|section| file.sections.get(section as usize))
            .map(|section| section.name),
        Some(symbol) => Some(symbol.name),
        None => None,
    };
    match named {
        Some(name) => Name::new(name),
        None => Name::new(&format!("#{index}")),
    }
}

fn info(section: &Section<'_>, symbols: &[Symbol<'_>]) -> Result<Vec<RecordReport>, ParseError> {
    let name = |index: u32| {
        let known = symbols.get(index as usize).map(|s| Name::new(s.name));
        known.unwrap_or_else(|| Name::new(&format!("#{index}")))
    };
    let mut reports = records(section.data, |record: &Record<'_, InfoCode>| {
        let mut about: Vec<u32> = record.externs().collect();
        // A parameter's record begins with a number that is always zero, whatever its code.
        about.extend(record.symbol().filter(|_| parameter(record).is_none()));
        let symbols = about.into_iter().map(&name).collect();
        (record.code.to_string(), symbols)
    })?;
    for (report, record) in reports.iter_mut().zip(InfoRecords::new(section.data)) {
        report.parameter = parameter(&record?);
    }
    Ok(reports)
}

fn compat(section: &Section<'_>) -> Result<Vec<RecordReport>, ParseError> {
    records(section.data, |record: &Record<'_, CompatCode>| {
        (record.code.to_string(), Vec::new())
    })
}

fn records<C: From<u8> + Into<u8> + Copy>(
    data: &[u8],
    describe: impl Fn(&Record<'_, C>) -> (String, Vec<Name>),
) -> Result<Vec<RecordReport>, ParseError> {
    let mut reports = Vec::new();
    let mut records = Records::<C>::new(data);
    loop {
        let offset = records.offset() as u64;
        let Some(record) = records.next() else {
            return Ok(reports);
        };
        let record = record?;
        let (name, symbols) = describe(&record);
        let value = match record.format {
            Format::Byte | Format::Half => Some(record.number()),
            Format::NoValue | Format::Sized => None,
        };
        reports.push(RecordReport {
            offset,
            code: record.code.into(),
            name,
            format: record.format.name(),
            value,
            words: record.words().skip(symbols.len()).collect(),
            parameter: None,
            rest: record.payload.chunks_exact(4).remainder().to_vec(),
            symbols,
        });
    }
}

pub(super) fn symbols(file: &File<'_>, symbols: &[Symbol<'_>]) -> Vec<SymbolReport> {
    let report = |(index, symbol): (usize, &Symbol<'_>)| SymbolReport {
        index: index as u32,
        name: Name::new(symbol.name),
        kind: symbol_type(symbol.kind),
        binding: binding(symbol.binding),
        other: symbol.other.0,
        marks: marks(symbol.other),
        section: match symbol.place {
            Place::Undefined => "undefined".to_owned(),
            Place::Absolute => "absolute".to_owned(),
            Place::Common => "common".to_owned(),
            Place::Section(index) => file
                .sections
                .get(index as usize)
                .map_or_else(|| format!("#{index}"), |section| section.name.to_owned()),
            Place::Reserved(number) => format!("reserved-{number:#x}"),
        },
        value: symbol.value,
        size: symbol.size,
    };
    symbols.iter().enumerate().skip(1).map(report).collect()
}

fn symbol_type(kind: SymbolType) -> String {
    match kind {
        SymbolType::NOTYPE => "notype".to_owned(),
        SymbolType::OBJECT => "object".to_owned(),
        SymbolType::FUNC => "func".to_owned(),
        SymbolType::SECTION => "section".to_owned(),
        SymbolType::TEXTURE => "texture".to_owned(),
        SymbolType::SAMPLER => "sampler".to_owned(),
        SymbolType::SURFACE => "surface".to_owned(),
        SymbolType::CUDA_OBJECT => "cuda-object".to_owned(),
        SymbolType(number) => format!("type-{number}"),
    }
}

fn marks(other: SymbolOther) -> Vec<&'static str> {
    [
        (SymbolOther::ENTRY, "entry"),
        (SymbolOther::GLOBAL, "global"),
        (SymbolOther::SHARED, "shared"),
        (SymbolOther::CONSTANT, "constant"),
        (SymbolOther::MANAGED, "managed"),
        (0x01, "internal"),
    ]
    .into_iter()
    .filter_map(|(bits, name)| other.has(bits).then_some(name))
    .collect()
}

pub(super) fn relocations(
    view: &View<'_, '_>,
    section: &Section<'_>,
) -> Result<RelocationReport, ParseError> {
    let place = |e: ParseError| e.in_section(section.name);
    let file = view.file;
    let symbols = if section.kind == SectionType::CUDA_MERC_RELA {
        &view.mercury
    } else {
        &file.symbols
    };
    let entries = File::relocations(section)
        .map_err(place)?
        .map(|r| RelocationEntry {
            offset: r.offset,
            kind: RelocationType(r.kind).to_string(),
            symbol: symbol_name(file, symbols, r.symbol),
            addend: r.addend,
        });
    Ok(RelocationReport {
        section: section.name.to_owned(),
        target: file.sections.get(section.info as usize).map_or_else(
            || format!("#{}", section.info),
            |target| target.name.to_owned(),
        ),
        entries: entries.collect(),
    })
}

pub(super) fn call_graph(
    file: &File<'_>,
    section: &Section<'_>,
) -> Result<CallGraphReport, ParseError> {
    let place = |e: ParseError| e.in_section(section.name);
    let graph = CallGraph::parse(section.data).map_err(place)?;
    let name = |index: u32| symbol_name(file, &file.symbols, index);
    let edges = |edges: &[Edge]| {
        let edge = |e: &Edge| EdgeReport {
            from: name(e.from),
            to: name(e.to),
        };
        edges.iter().map(edge).collect()
    };
    let signatures = |signatures: &[Signature]| {
        signatures
            .iter()
            .map(|s| signature(file, section, s.function, s.prototype))
            .collect::<Result<_, _>>()
            .map_err(place)
    };
    Ok(CallGraphReport {
        calls: edges(&graph.calls),
        address_references: edges(&graph.address_references),
        address_taken: signatures(&graph.address_taken)?,
        indirect_calls: signatures(&graph.indirect_calls)?,
    })
}

fn prototypes(file: &File<'_>, section: &Section<'_>) -> Result<Vec<SignatureReport>, ParseError> {
    Prototype::parse_all(section.data)?
        .map(|p| signature(file, section, p.function, p.text))
        .collect()
}

/// A prototype's text stands in the string table of the symbols the section counts by.
fn signature(
    file: &File<'_>,
    section: &Section<'_>,
    function: u32,
    text: u32,
) -> Result<SignatureReport, ParseError> {
    let strings = file.section(file.section(section.link)?.link)?;
    Ok(SignatureReport {
        function: symbol_name(file, &file.symbols, function),
        prototype: strings.string_at(text)?.to_owned(),
    })
}

fn notes(section: &Section<'_>) -> Result<Vec<NoteReport>, ParseError> {
    let mut reports = Vec::new();
    for note in Note::parse_all(section.data)? {
        let fields = match note.kind {
            NoteKind::TOOL => {
                let (_, strings) = ToolNote::strings(note.description)?;
                let names = ["object", "tool", "version", "build", "options"];
                let texts = strings.map(|(_, text)| String::from_utf8_lossy(text).into_owned());
                names.into_iter().zip(texts).collect()
            }
            NoteKind::DEVICE => {
                let device = DeviceNote::parse(note.description)?;
                let toolkit = device.toolkit();
                let toolkit = toolkit.map(|number| ("toolkit", number.to_string()));
                let virtual_sm = ("virtual processor", device.virtual_sm.to_string());
                [virtual_sm].into_iter().chain(toolkit).collect()
            }
            NoteKind(_) => vec![("bytes", format!("{:02x?}", note.description))],
        };
        reports.push(NoteReport {
            owner: note.owner.to_owned(),
            kind: note.kind.0,
            fields,
        });
    }
    Ok(reports)
}

fn strings(section: &Section<'_>) -> Vec<StringReport> {
    let mut offset = 0;
    let mut reports = Vec::new();
    for bytes in section.data.split(|b| *b == 0) {
        if !bytes.is_empty() {
            reports.push(StringReport {
                offset,
                text: String::from_utf8_lossy(bytes).into_owned(),
            });
        }
        offset += bytes.len() as u64 + 1;
    }
    reports
}
