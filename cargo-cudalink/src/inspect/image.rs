//! From a device object or executable to its report.

use std::collections::BTreeMap;

use rustnvlink::arch::{FileFlags, Sm, Suffix};
use rustnvlink::cubin::{
    Binding, CompatCode, CompatRecords, DeviceNote, File, InfoCode, InfoRecord, InfoRecords, Note,
    NoteKind, ObjectKind, Place, Section, SectionType, Symbol, SymbolOther, SymbolType, ToolNote,
};
use rustnvlink::error::ParseError;

use super::contents;
use super::demangle;
use super::report::{
    Failure, FunctionReport, ImageReport, MemoryReport, Name, ParameterReport, StackReport,
    ToolReport, VariableReport,
};

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

/// From this ABI version on the processor stands in the second byte of `e_flags`.
const ABI_WITH_SHIFTED_SM: u8 = 8;

/// The processor a file is made for. The letter is known from `.nv.compat` alone, and only `a` is.
pub(super) fn processor(file: &File<'_>) -> Sm {
    let flags = file.header.flags;
    let mut sm = if file.header.abi_version < ABI_WITH_SHIFTED_SM {
        Sm::new((flags & 0xff) as u16)
    } else {
        FileFlags::decode(flags).sm()
    };
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
    let mut errors = Vec::new();
    let mut keep = |result: Result<(), ParseError>| {
        if let Err(error) = result {
            errors.push(Failure::from(error));
        }
    };
    let mut report = ImageReport {
        arch: sm.to_string(),
        object: object_kind(file.header.kind),
        abi_version: file.header.abi_version,
        flags: file.header.flags,
        toolkit: None,
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
    keep(symbols_read);
    keep(read_notes(file, &mut report));
    keep(read_functions(file, &mut report));

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
            if contents::is_relocations(section) {
                keep(contents::relocations(&view, section).map(|r| found.push(r)));
            }
        }
        report.relocations = Some(found);
    }
    if details.call_graph {
        report.call_graph = Some(Default::default());
        if let Some(index) = file.section_of_type(SectionType::CUDA_CALLGRAPH) {
            let graph = contents::call_graph(file, &file.sections[index]);
            keep(graph.map(|graph| report.call_graph = Some(graph)));
        }
    }
    for (index, section) in file.sections.iter().enumerate() {
        if details.contents.iter().any(|name| name == section.name) {
            keep(contents::decode(&view, index).map(|c| report.contents.push(c)));
        }
    }
    report.errors = errors;
    report
}

/// The kernels of a linked image.
pub(crate) fn kernels(file: &File<'_>, sm: Sm) -> Result<Vec<FunctionReport>, Failure> {
    let report = report(file, sm, &Details::default());
    match report.errors.into_iter().next() {
        Some(failure) => Err(failure),
        None => Ok(report.kernels),
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
                    let tool = ToolNote::parse(note.description).map_err(place)?;
                    report.tools.push(ToolReport {
                        tool: tool.tool.to_owned(),
                        version: tool.tool_version.to_owned(),
                        build: tool.branch.to_owned(),
                        options: tool.options.trim().to_owned(),
                    });
                }
                NoteKind::DEVICE => {
                    let device = DeviceNote::parse(note.description).map_err(place)?;
                    report.toolkit =
                        Some(format!("{}.{}", device.toolkit / 10, device.toolkit % 10));
                }
                NoteKind(_) => {}
            }
        }
    }
    Ok(())
}

/// The bank of a constant section. Executables spell the type `PROGBITS`, so that the name decides there.
fn constant_bank(section: &Section<'_>) -> Option<u8> {
    // The Mercury twins of constants would count twice.
    if section.name.starts_with(".nv.merc.") {
        return None;
    }
    section.kind.constant_bank().or_else(|| {
        let rest = section.name.strip_prefix(".nv.constant")?;
        let digits = rest.split('.').next()?;
        digits.parse().ok()
    })
}

/// Whether the section belongs to one function. `sh_info` is that function's section then.
fn owner(section: &Section<'_>) -> Option<u32> {
    (section.info != 0).then_some(section.info)
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

fn read_functions(file: &File<'_>, report: &mut ImageReport) -> Result<(), ParseError> {
    let mut functions: BTreeMap<usize, FunctionReport> = BTreeMap::new();
    // The function that a code section was made for. Whole programs keep copies of others in it.
    let mut owners: BTreeMap<u32, usize> = BTreeMap::new();
    for (index, symbol) in file.symbols.iter().enumerate() {
        if let (SymbolType::FUNC, Some(section)) = (symbol.kind, symbol.place.section()) {
            functions.insert(index, function(file, symbol, section));
            let owner = owners.entry(section).or_insert(index);
            if symbol.value == 0 && file.symbols[*owner].value != 0 {
                *owner = index;
            }
        }
    }
    for (index, function) in &mut functions {
        let owner = file.symbols[*index]
            .place
            .section()
            .and_then(|s| owners.get(&s));
        if let Some(owner) = owner.filter(|owner| *owner != index) {
            function.inside = Some(file.symbols[*owner].name.to_owned());
        }
    }
    let mut result = Ok(());
    for section in &file.sections {
        let owner = owner(section).and_then(|text| owners.get(&text));
        if let Some(function) = owner.and_then(|index| functions.get_mut(index)) {
            add_memory(section, function);
        }
        if section.kind == SectionType::CUDA_INFO {
            let read = if section.name == ".nv.info" {
                read_module_info(section, &mut functions)
            } else {
                let function = owner.and_then(|index| functions.get_mut(index));
                function.map_or(Ok(()), |f| read_function_info(section, f))
            };
            result = result.and(read);
        }
        if contents::is_relocations(section)
            && let Some(function) = patched_function(file, section)
                .and_then(|text| owners.get(&text))
                .and_then(|index| functions.get_mut(index))
        {
            result = result.and(count_textures(file, section, function));
        }
    }
    for (index, function) in functions {
        if file.symbols[index].other.has(SymbolOther::ENTRY) {
            report.kernels.push(function);
        } else {
            report.functions.push(function);
        }
    }
    result
}

fn function(file: &File<'_>, symbol: &Symbol<'_>, section: u32) -> FunctionReport {
    let text = file.sections.get(section as usize);
    // Objects of older toolkits keep the barrier count in the flags of the code section.
    let old_barriers = text.map_or(0, |text| (text.flags >> 20) as u32 & 0x7f);
    FunctionReport {
        name: demangle::name(symbol.name),
        binding: binding(symbol.binding),
        section: text.map_or_else(String::new, |text| text.name.to_owned()),
        inside: None,
        code: symbol.size,
        registers: None,
        max_registers: None,
        stack: StackReport::default(),
        shared: 0,
        local: 0,
        barriers: Some(old_barriers).filter(|count| *count != 0),
        constant: BTreeMap::new(),
        textures: 0,
        surfaces: 0,
        samplers: 0,
        max_threads: None,
        required_threads: None,
        cluster: None,
        parameter_bytes: 0,
        parameters: Vec::new(),
    }
}

fn add_memory(section: &Section<'_>, function: &mut FunctionReport) {
    if section.name.starts_with(".nv.shared.") {
        function.shared += section.size;
    } else if section.name.starts_with(".nv.local.") {
        function.local += section.size;
    } else if let Some(bank) = constant_bank(section) {
        *function.constant.entry(bank).or_default() += section.size;
    }
}

/// Records of `.nv.info` name their function themselves.
fn read_module_info(
    section: &Section<'_>,
    functions: &mut BTreeMap<usize, FunctionReport>,
) -> Result<(), ParseError> {
    for record in InfoRecords::new(section.data) {
        let record = record.map_err(|e| e.in_section(section.name))?;
        let (Some(symbol), Some(value)) = (record.symbol(), record.word(1)) else {
            continue;
        };
        let Some(function) = functions.get_mut(&(symbol as usize)) else {
            continue;
        };
        match record.code {
            InfoCode::REGCOUNT => function.registers = Some(value),
            InfoCode::FRAME_SIZE => function.stack.frame = Some(value),
            InfoCode::MIN_STACK_SIZE if value == u32::MAX => function.stack.unbounded = true,
            InfoCode::MIN_STACK_SIZE => function.stack.minimum = Some(value),
            _ => {}
        }
    }
    Ok(())
}

/// Records of `.nv.info.<function>`.
fn read_function_info(
    section: &Section<'_>,
    function: &mut FunctionReport,
) -> Result<(), ParseError> {
    for record in InfoRecords::new(section.data) {
        let record = record.map_err(|e| e.in_section(section.name))?;
        let triple = || Some([record.word(0)?, record.word(1)?, record.word(2)?]);
        match record.code {
            InfoCode::NUM_BARRIERS => function.barriers = Some(record.number().into()),
            InfoCode::MAXREG_COUNT => function.max_registers = Some(record.number().into()),
            InfoCode::CBANK_PARAM_SIZE => function.parameter_bytes = record.number().into(),
            InfoCode::MAX_THREADS => function.max_threads = triple(),
            InfoCode::REQNTID => function.required_threads = triple(),
            InfoCode::CTA_PER_CLUSTER => function.cluster = triple(),
            _ => function.parameters.extend(parameter(&record)),
        }
    }
    function.parameters.sort_by_key(|p| p.ordinal);
    Ok(())
}

/// The parameter a record describes, if it describes one.
pub(super) fn parameter(record: &InfoRecord<'_>) -> Option<ParameterReport> {
    // The first form packs the size above alignment, space and bank.
    let size = match record.code {
        InfoCode::KPARAM_INFO => record.word(2)? >> 18,
        InfoCode::KPARAM_INFO_V2 => record.word(2)? & 0xffff,
        _ => return None,
    };
    let place = record.word(1)?;
    Some(ParameterReport {
        ordinal: place & 0xffff,
        offset: place >> 16,
        size,
    })
}

/// The code section whose function relocations belong to: they patch it or its constants.
fn patched_function(file: &File<'_>, section: &Section<'_>) -> Option<u32> {
    let patched = file.sections.get(section.info as usize)?;
    match constant_bank(patched) {
        Some(_) => owner(patched),
        None => Some(section.info),
    }
}

/// Legacy references to textures are symbols without an address. Code names them by relocations in objects, and by
/// slots of constant bank 0 in executables.
fn count_textures(
    file: &File<'_>,
    section: &Section<'_>,
    function: &mut FunctionReport,
) -> Result<(), ParseError> {
    let mut used: Vec<_> = File::relocations(section)
        .map_err(|e| e.in_section(section.name))?
        .map(|r| r.symbol)
        .collect();
    used.sort_unstable();
    used.dedup();
    for symbol in used
        .iter()
        .filter_map(|index| file.symbols.get(*index as usize))
    {
        match symbol.kind {
            SymbolType::TEXTURE => function.textures += 1,
            SymbolType::SURFACE => function.surfaces += 1,
            SymbolType::SAMPLER => function.samplers += 1,
            _ => {}
        }
    }
    Ok(())
}

pub(super) fn binding(binding: Binding) -> String {
    match binding {
        Binding::LOCAL => "local".to_owned(),
        Binding::GLOBAL => "global".to_owned(),
        Binding::WEAK => "weak".to_owned(),
        Binding(number) => format!("binding-{number}"),
    }
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
        name: demangle::name(symbol.name),
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
    symbols.map(|s| demangle::name(s.name)).collect()
}
