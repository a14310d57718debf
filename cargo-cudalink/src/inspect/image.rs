//! From a device object or executable to its report.

use cudalink_bindings::{Functions, Name, binding, constant_bank, is_relocations, owner};
use rustnvlink::arch::{Abi, Sm, Suffix};
use rustnvlink::cubin::{
    Binding, CompatCode, CompatRecords, DeviceNote, File, Note, NoteKind, ObjectKind, Place,
    Section, SectionType, Symbol, SymbolOther, SymbolType, ToolNote,
};
use rustnvlink::error::ParseError;

use super::contents;
use super::report::{Failure, ImageReport, MemoryReport, ToolReport, VariableReport};

/// What is shown beyond kernels, functions and variables.
#[derive(Debug, Clone, Default)]
pub(super) struct Details {
    pub(super) sections: bool,
    pub(super) symbols: bool,
    pub(super) relocations: bool,
    pub(super) call_graph: bool,
    /// Sections to decode.
    pub(super) contents: Vec<String>,
}

/// The processor a file is made for. The tools write down no letter but `a`, those of CUDA 13
/// in `.nv.compat` alone.
pub(super) fn processor(file: &File<'_>) -> Sm {
    let mut sm = file.header.processor();
    let compat = file.section_of_type(SectionType::CUDA_COMPAT);
    let accelerated = compat.is_some_and(|index| {
        CompatRecords::new(file.sections[index].data)
            .flatten()
            .any(|r| r.code == CompatCode::CUDA_ACCELERATOR_TARGET && r.number() == 1)
    });
    if accelerated {
        sm.suffix = Some(Suffix::A);
    }
    sm
}

/// Reads everything that is wanted of an image. What is damaged is named in the report.
pub(super) fn report(file: &File<'_>, sm: Sm, details: &Details) -> ImageReport {
    let mut report = ImageReport {
        arch: sm.to_string(),
        object: object_kind(file.header.kind),
        abi_version: file.header.abi_version,
        flags: file.header.flags,
        toolkit: (file.header.abi() == Abi::V7).then(|| toolkit_version(file.header.version)),
        tools: Vec::new(),
        debug_info: file.section_by_name(".debug_info").is_some(),
        memory: memory(file),
        kernels: Vec::new(),
        functions: Vec::new(),
        variables: variables(file),
        undefined: undefined(file),
        sections: None,
        symbols: None,
        relocations: None,
        call_graph: None,
        contents: Vec::new(),
        errors: Vec::new(),
    };
    let (view, symbols_read) = contents::View::new(file);
    report.keep(symbols_read);
    let notes_read = read_notes(file, &mut report);
    report.keep(notes_read);
    let (functions, functions_read) = Functions::read(file);
    report.kernels = functions.kernels;
    report.functions = functions.others;
    report.keep(functions_read);
    read_details(&view, details, &mut report);
    report
}

/// Reads what is shown of an image only where somebody asks for it.
fn read_details(view: &contents::View<'_, '_>, details: &Details, report: &mut ImageReport) {
    let file = view.file;
    if details.sections {
        let all = file.sections.iter().enumerate().skip(1);
        report.sections = Some(all.map(|(i, s)| contents::header(i, s)).collect());
    }
    if details.symbols {
        report.symbols = Some(contents::symbols(file, &file.symbols));
    }
    if details.relocations {
        let mut found = Vec::new();
        for section in &file.sections {
            if is_relocations(section) {
                report.keep(contents::relocations(view, section).map(|r| found.push(r)));
            }
        }
        report.relocations = Some(found);
    }
    if details.call_graph {
        report.call_graph = Some(Default::default());
        if let Some(index) = file.section_of_type(SectionType::CUDA_CALLGRAPH) {
            let graph = contents::call_graph(file, &file.sections[index]);
            let read = graph.map(|graph| report.call_graph = Some(graph));
            report.keep(read);
        }
    }
    for (index, section) in file.sections.iter().enumerate() {
        if details.contents.iter().any(|name| name == section.name) {
            let read = contents::decode(view, index).map(|c| report.contents.push(c));
            report.keep(read);
        }
    }
}

impl ImageReport {
    /// Names what is damaged.
    fn keep(&mut self, read: Result<(), ParseError>) {
        self.errors.extend(read.err().map(Failure::from));
    }
}

fn object_kind(kind: ObjectKind) -> String {
    match kind {
        ObjectKind::RELOCATABLE => "relocatable".to_owned(),
        ObjectKind::EXECUTABLE => "executable".to_owned(),
        ObjectKind::EXTENDED_WHOLE_PROGRAM => "extended-whole-program".to_owned(),
        ObjectKind(number) => format!("type-{number:#x}"),
    }
}

fn read_notes(file: &File<'_>, report: &mut ImageReport) -> Result<(), ParseError> {
    for section in file.sections.iter().filter(|s| s.kind == SectionType::NOTE) {
        let place = |e: ParseError| e.in_section(section.name);
        for note in Note::parse_all(section.data).map_err(place)? {
            match note.kind {
                NoteKind::TOOL => {
                    let (_, strings) = ToolNote::strings(note.description).map_err(place)?;
                    let texts = strings.map(|(_, text)| String::from_utf8_lossy(text));
                    let [_, tool, version, build, options] = texts.map(|text| text.into_owned());
                    report.tools.push(ToolReport {
                        tool,
                        version,
                        build,
                        options: options.trim().to_owned(),
                    });
                }
                NoteKind::DEVICE => {
                    let device = DeviceNote::parse(note.description).map_err(place)?;
                    let toolkit = device.toolkit().map(u32::from);
                    report.toolkit = toolkit.map(toolkit_version);
                }
                NoteKind(_) => {}
            }
        }
    }
    Ok(())
}

/// A toolkit by its number times ten.
fn toolkit_version(number: u32) -> String {
    format!("{}.{}", number / 10, number % 10)
}

fn memory(file: &File<'_>) -> MemoryReport {
    let mut memory = MemoryReport::default();
    for section in &file.sections {
        match section.name {
            ".nv.global" => memory.global += section.size,
            ".nv.global.init" => {
                memory.global += section.size;
                memory.global_initialized += section.size;
            }
            ".nv_debug.shared" => memory.shared += section.size,
            _ if owner(section).is_none() => {
                if let Some(bank) = constant_bank(section) {
                    *memory.constant.entry(bank).or_default() += section.size;
                }
            }
            _ => {}
        }
    }
    memory
}

fn variables(file: &File<'_>) -> Vec<VariableReport> {
    let named = file.symbols.iter().filter(|s| !s.name.is_empty());
    named.filter_map(|symbol| variable(file, symbol)).collect()
}

fn variable(file: &File<'_>, symbol: &Symbol<'_>) -> Option<VariableReport> {
    /// The visibility of what compilers make for themselves, such as `_param`.
    const INTERNAL: u8 = 0x01;
    let section = symbol
        .place
        .section()
        .and_then(|index| file.sections.get(index as usize));
    let space = match symbol.kind {
        SymbolType::TEXTURE => "texture".to_owned(),
        SymbolType::SURFACE => "surface".to_owned(),
        SymbolType::SAMPLER => "sampler".to_owned(),
        SymbolType::OBJECT | SymbolType::CUDA_OBJECT if symbol.other.0 & 0x03 != INTERNAL => {
            memory_space(symbol, section)?
        }
        _ => return None,
    };
    let nowhere = matches!(symbol.place, Place::Undefined)
        && symbol.size == 0
        && !symbol.other.has(SymbolOther::SHARED);
    if nowhere && matches!(symbol.kind, SymbolType::OBJECT | SymbolType::CUDA_OBJECT) {
        return None;
    }
    Some(VariableReport {
        name: Name::new(symbol.name),
        space,
        binding: binding(symbol.binding),
        size: symbol.size,
        section: section.map(|s| s.name.to_owned()),
        offset: symbol.value,
        initialized: section.is_some_and(|s| !s.kind.is_nobits()),
    })
}

/// Objects mark the space in `st_other`; executables only by the section.
fn memory_space(symbol: &Symbol<'_>, section: Option<&Section<'_>>) -> Option<String> {
    if let Some(section) = section {
        return Some(if let Some(bank) = constant_bank(section) {
            format!("constant[{bank}]")
        } else if section.name.starts_with(".nv.shared") || section.name == ".nv_debug.shared" {
            "shared".to_owned()
        } else if symbol.other.has(SymbolOther::MANAGED) {
            "managed".to_owned()
        } else if section.name.starts_with(".nv.global") {
            "global".to_owned()
        } else {
            section.name.to_owned()
        });
    }
    match (symbol.place, symbol.other.space()) {
        (Place::Common, _) => Some("global".to_owned()),
        // Dynamic shared memory is declared without a size or a place.
        (Place::Undefined, SymbolOther::SHARED) if symbol.size == 0 => Some("shared".to_owned()),
        _ => None,
    }
}

/// What other objects have to define. The weak marks of the unified tables resolve to nothing by themselves.
fn undefined(file: &File<'_>) -> Vec<Name> {
    let wanted = |s: &&Symbol<'_>| {
        s.place == Place::Undefined
            && s.binding == Binding::GLOBAL
            && matches!(
                s.kind,
                SymbolType::FUNC
                    | SymbolType::OBJECT
                    | SymbolType::CUDA_OBJECT
                    | SymbolType::NOTYPE
            )
            && !s.name.is_empty()
            && !s.name.starts_with(".nv.reservedSmem")
            && !(s.other.has(SymbolOther::SHARED) && s.size == 0)
    };
    let symbols = file.symbols.iter().filter(wanted);
    symbols.map(|s| Name::new(s.name)).collect()
}
