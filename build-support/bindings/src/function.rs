//! Functions of device images, and what each needs.

use std::collections::BTreeMap;

use rustnvlink::cubin::{
    Binding, File, InfoCode, InfoRecord, InfoRecords, Section, SectionType, Symbol, SymbolOther,
    SymbolType,
};
use rustnvlink::error::ParseError;
use serde::Serialize;

use crate::name::Name;

/// A kernel or device function. Sizes are in bytes.
#[derive(Debug, Serialize)]
pub struct Function {
    /// Its name.
    #[serde(flatten)]
    pub name: Name,
    /// `local`, `global` or `weak`.
    pub binding: String,
    /// The section of its code.
    pub section: String,
    /// The function whose section it lies in, of copies that a whole program keeps beside their caller.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inside: Option<String>,
    /// Bytes of code.
    pub code: u64,
    /// Registers of a thread.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub registers: Option<u32>,
    /// The limit it was compiled with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_registers: Option<u32>,
    /// Stack of a thread.
    pub stack: Stack,
    /// Static shared memory of a block.
    pub shared: u64,
    /// Local memory of a thread.
    pub local: u64,
    /// Barriers of a block.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub barriers: Option<u32>,
    /// Constant memory by bank.
    pub constant: BTreeMap<u8, u64>,
    /// References to textures.
    pub textures: u64,
    /// References to surfaces.
    pub surfaces: u64,
    /// References to samplers.
    pub samplers: u64,
    /// The largest block it was compiled for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_threads: Option<[u32; 3]>,
    /// The only block it was compiled for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub required_threads: Option<[u32; 3]>,
    /// Blocks of a cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster: Option<[u32; 3]>,
    /// Size of all parameters with their padding.
    pub parameter_bytes: u64,
    /// Its parameters in their order.
    pub parameters: Vec<Parameter>,
}

/// Stack of a thread in bytes.
#[derive(Debug, Default, Serialize)]
pub struct Stack {
    /// The function's own frame.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frame: Option<u32>,
    /// What a kernel needs with everything it calls; absent before the device link and where `unbounded`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minimum: Option<u32>,
    /// Recursion: no minimum can be known.
    pub unbounded: bool,
}

/// A parameter of a kernel. Sizes are in bytes.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Parameter {
    /// Its number, from 0.
    pub ordinal: u32,
    /// Where it lies among the parameters.
    pub offset: u32,
    /// Its size.
    pub size: u32,
}

/// The functions of an image.
#[derive(Debug, Default)]
pub struct Functions {
    /// Those that host code launches.
    pub kernels: Vec<Function>,
    /// Those that only device code calls.
    pub others: Vec<Function>,
}

impl Functions {
    /// Reads them. Where the image is damaged, the rest is there all the same.
    pub fn read(file: &File<'_>) -> (Self, Result<(), ParseError>) {
        let mut functions: BTreeMap<usize, Function> = BTreeMap::new();
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
            if is_relocations(section)
                && let Some(function) = patched_function(file, section)
                    .and_then(|text| owners.get(&text))
                    .and_then(|index| functions.get_mut(index))
            {
                result = result.and(count_textures(file, section, function));
            }
        }
        let mut read = Self::default();
        for (index, function) in functions {
            if file.symbols[index].other.has(SymbolOther::ENTRY) {
                read.kernels.push(function);
            } else {
                read.others.push(function);
            }
        }
        (read, result)
    }
}

fn function(file: &File<'_>, symbol: &Symbol<'_>, section: u32) -> Function {
    let text = file.sections.get(section as usize);
    // Objects of older toolkits keep the barrier count in the flags of the code section.
    let old_barriers = text.map_or(0, |text| text.flags.barriers().into());
    Function {
        name: Name::new(symbol.name),
        binding: binding(symbol.binding),
        section: text.map_or_else(String::new, |text| text.name.to_owned()),
        inside: None,
        code: symbol.size,
        registers: None,
        max_registers: None,
        stack: Stack::default(),
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

fn add_memory(section: &Section<'_>, function: &mut Function) {
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
    functions: &mut BTreeMap<usize, Function>,
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
fn read_function_info(section: &Section<'_>, function: &mut Function) -> Result<(), ParseError> {
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
pub fn parameter(record: &InfoRecord<'_>) -> Option<Parameter> {
    // The first form packs the size above alignment, space and bank.
    let size = match record.code {
        InfoCode::KPARAM_INFO => record.word(2)? >> 18,
        InfoCode::KPARAM_INFO_V2 => record.word(2)? & 0xffff,
        _ => return None,
    };
    let place = record.word(1)?;
    Some(Parameter {
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
    function: &mut Function,
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

/// Whether a section holds relocations.
pub fn is_relocations(section: &Section<'_>) -> bool {
    matches!(
        section.kind,
        SectionType::REL
            | SectionType::RELA
            | SectionType::CUDA_MERC_RELA
            | SectionType::CUDA_RESOLVED_RELA
    )
}

/// The bank of a constant section. Executables spell the type `PROGBITS`, so that the name decides there.
pub fn constant_bank(section: &Section<'_>) -> Option<u8> {
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
pub fn owner(section: &Section<'_>) -> Option<u32> {
    (section.info != 0).then_some(section.info)
}

/// How a symbol can be seen from outside, in a word.
pub fn binding(binding: Binding) -> String {
    match binding {
        Binding::LOCAL => "local".to_owned(),
        Binding::GLOBAL => "global".to_owned(),
        Binding::WEAK => "weak".to_owned(),
        Binding(number) => format!("binding-{number}"),
    }
}
