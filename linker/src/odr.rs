//! The one-definition rule: weak definitions of one name (inline functions,
//! templates, inline variables) have to be the same, because one of them is
//! taken for all.
//!
//! Objects cannot tell sources apart, but they show what the compiler made of
//! them: the same bytes, and relocations against the same names. Of variables
//! and of the parameters of kernels it makes always the same. Code differs also
//! where one file defines a function that another only calls, or was compiled
//! with other options, which is why it is compared on demand.

use std::fmt;

use rustc_hash::FxHashMap;

use crate::codes;
use crate::cubin::{Binding, InfoCode, InfoRecords, Place, Symbol, SymbolOther, SymbolType};
use crate::diagnostic::{Diagnostic, Diagnostics, Severity};
use crate::error::ParseError;
use crate::options::Odr;
use crate::read::{Object, Role};

/// What is compared of a definition.
#[derive(Debug, PartialEq, Eq)]
struct Definition<'o, 'd> {
    bytes: &'d [u8],
    size: u64,
    relocations: Vec<Patch<'o>>,
    /// Size of the parameters of a kernel.
    parameters: Option<u16>,
}

impl Definition<'_, '_> {
    /// Whether it points at what only its own file knows.
    fn has_own_pointers(&self) -> bool {
        self.relocations.iter().any(|(.., name)| name.is_empty())
    }
}

/// A relocation: place, type, addend, and the name unless it is local to the
/// file.
type Patch<'o> = (u64, u32, Option<i64>, &'o str);

/// How two definitions differ.
enum Difference {
    Size(u64, u64),
    Bytes(usize),
    Relocations,
    Parameters(u16, u16),
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Size(one, other) => write!(f, "{one} bytes here, {other} bytes there"),
            Self::Bytes(at) => write!(f, "the bytes differ from {at:#x} on"),
            Self::Relocations => f.write_str("they use other functions or variables"),
            Self::Parameters(one, other) => {
                write!(f, "{one} bytes of parameters here, {other} bytes there")
            }
        }
    }
}

/// What of weak definitions is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Compared {
    /// Variables, and the size of the parameters of kernels.
    Data,
    CodeToo,
}

/// Reports each name whose weak definitions differ, once.
pub(crate) fn check(
    objects: &[Object<'_>],
    odr: Odr,
    diagnostics: &mut Diagnostics,
) -> Result<(), ParseError> {
    let (severity, compared) = match odr {
        Odr::Off => return Ok(()),
        Odr::Data => (Severity::Warning, Compared::Data),
        Odr::Warn => (Severity::Warning, Compared::CodeToo),
        Odr::Error => (Severity::Error, Compared::CodeToo),
    };
    let groups = several(objects, |symbol| {
        symbol.kind != SymbolType::SECTION
            && (compared == Compared::CodeToo || !is_device_function(symbol))
    });
    let mut tables: Vec<Option<Tables<'_>>> = objects.iter().map(|_| None).collect();
    for places in groups {
        let mut first = None;
        for (number, index) in places {
            let object = &objects[number];
            let name = object.symbols[index].name;
            let tables = match &mut tables[number] {
                Some(tables) => tables,
                none => none.insert(Tables::new(object, compared)?),
            };
            let definition = definition(object, index, tables, compared);
            let Some((other, known)) = &first else {
                first = Some((number, definition));
                continue;
            };
            if let Some(difference) = difference(known, &definition) {
                let other = &objects[*other].name;
                let here = &object.name;
                let text = format!("weak definitions of '{name}' differ in '{other}' and '{here}'");
                let problem = Diagnostic::new(severity, codes::ODR_VIOLATION, text);
                let problem = problem.with_detail(difference);
                diagnostics.push(problem.of_mangled(name).of_input(here));
                break;
            }
        }
    }
    Ok(())
}

/// Gives each file its own constants where the compiler has named different ones alike.
///
/// Of the values in an inline function or a template, such as `{1, 2, 3}`, nvcc makes weak variables `FUNCTION$0`,
/// `FUNCTION$1`. It counts through the whole file, so that the name of a value depends on what stands above the function,
/// and nvlink takes another value for it than the one that code was compiled with. The first file's value keeps its name
/// for all that have the same; others become the file's own.
pub(crate) fn separate(objects: &mut [Object<'_>]) {
    let is_value = |symbol: &Symbol<'_>| {
        matches!(symbol.kind, SymbolType::OBJECT | SymbolType::CUDA_OBJECT)
            && is_numbered(symbol.name)
    };
    let mut own = Vec::new();
    let mut tables: FxHashMap<usize, Tables<'_>> = FxHashMap::default();
    for places in several(objects, is_value) {
        let mut first = None;
        for (number, index) in places {
            let object = &objects[number];
            // The merge says what is wrong with an object.
            let tables = tables
                .entry(number)
                .or_insert_with(|| Tables::new(object, Compared::Data).unwrap_or_default());
            let definition = definition(object, index, tables, Compared::Data);
            match &first {
                None => first = Some(definition),
                Some(known) => {
                    if definition.has_own_pointers() || difference(known, &definition).is_some() {
                        own.push((number, index));
                    }
                }
            }
        }
    }
    for (number, index) in own {
        objects[number].symbols[index].binding = Binding::LOCAL;
    }
}

/// Whether a name is one that the compiler gives to values: it ends with `$` and a number.
fn is_numbered(name: &str) -> bool {
    let number = name.rsplit_once('$').map_or("", |(_, number)| number);
    !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
}

/// The names of which more than one file has a weak definition, in the order in which the second definition comes: by
/// files, and numbers of symbols there.
fn several(
    objects: &[Object<'_>],
    is_wanted: impl Fn(&Symbol<'_>) -> bool,
) -> Vec<Vec<(usize, usize)>> {
    // Nothing is taken apart that is defined once.
    let mut places: FxHashMap<&str, Vec<(usize, usize)>> = FxHashMap::default();
    let mut names = Vec::new();
    for (number, object) in objects.iter().enumerate() {
        for (index, symbol) in object.symbols.iter().enumerate() {
            if symbol.binding == Binding::WEAK
                && matches!(symbol.place, Place::Section(_))
                && is_wanted(symbol)
            {
                let known = places.entry(symbol.name).or_default();
                known.push((number, index));
                if known.len() == 2 {
                    names.push(symbol.name);
                }
            }
        }
    }
    names
        .into_iter()
        .filter_map(|name| places.remove(name))
        .collect()
}

/// Whether a symbol is code that no host launches: a kernel has parameters,
/// which are compared in any case.
fn is_device_function(symbol: &Symbol<'_>) -> bool {
    symbol.kind == SymbolType::FUNC && !symbol.other.has(SymbolOther::ENTRY)
}

/// What belongs to the sections of an object.
#[derive(Default)]
struct Tables<'o> {
    /// By their offsets.
    relocations: FxHashMap<usize, Vec<Patch<'o>>>,
    /// Sizes of the parameters of kernels, by their code.
    parameters: FxHashMap<usize, u16>,
}

impl<'o> Tables<'o> {
    fn new(object: &'o Object<'_>, compared: Compared) -> Result<Self, ParseError> {
        let mut tables = Self::default();
        for section in &object.sections {
            let Some(target) = section.target() else {
                continue;
            };
            if section.role == Role::Info {
                tables.add_parameters(target, section.data)?;
            }
            let is_of_code = object.sections.get(target).map(|t| t.role) == Some(Role::Text);
            let is_relocations = matches!(section.role, Role::Rel | Role::Rela);
            if !is_relocations || is_of_code && compared == Compared::Data {
                continue;
            }
            let relocations = tables.relocations.entry(target).or_default();
            for relocation in object.relocations(section)? {
                let symbol = object.symbol(relocation.symbol)?;
                let name = match symbol.binding {
                    Binding::LOCAL => "",
                    _ => symbol.name,
                };
                relocations.push((relocation.offset, relocation.kind, relocation.addend, name));
            }
        }
        for relocations in tables.relocations.values_mut() {
            relocations.sort_by_key(|(offset, ..)| *offset);
        }
        // In Mercury objects, only machine code has parameters.
        if let Some(native) = &object.native {
            for (code, records) in native.records() {
                tables.add_parameters(code, records)?;
            }
        }
        Ok(tables)
    }

    fn add_parameters(&mut self, code: usize, records: &[u8]) -> Result<(), ParseError> {
        for record in InfoRecords::new(records) {
            let record = record?;
            if record.code == InfoCode::CBANK_PARAM_SIZE {
                self.parameters.insert(code, record.number());
            }
        }
        Ok(())
    }
}

/// The parts of a weak definition that have to be the same in all files.
fn definition<'o, 'd>(
    object: &'o Object<'d>,
    index: usize,
    tables: &Tables<'o>,
    compared: Compared,
) -> Definition<'o, 'd> {
    let symbol = &object.symbols[index];
    let place = symbol.place.section().map_or(0, |section| section as usize);
    let parameters = tables.parameters.get(&place).copied();
    let is_compared = compared == Compared::CodeToo || symbol.kind != SymbolType::FUNC;
    let section = object.sections.get(place).filter(|_| is_compared);
    let Some(section) = section else {
        return Definition {
            bytes: &[],
            size: if is_compared { symbol.size } else { 0 },
            relocations: Vec::new(),
            parameters,
        };
    };
    // Code has a section of its own; variables share one. Mercury code starts
    // with the number of its native twin.
    let (start, end) = match section.role {
        Role::Text if object.native.is_some() => (4, section.size.max(4)),
        Role::Text => (0, section.size),
        _ => (symbol.value, symbol.value.saturating_add(symbol.size)),
    };
    let bytes = match (usize::try_from(start), usize::try_from(end)) {
        (Ok(start), Ok(end)) => section.data.get(start..end).unwrap_or_default(),
        _ => &[],
    };
    let within = tables
        .relocations
        .get(&place)
        .map_or(&[][..], Vec::as_slice);
    let first = within.partition_point(|(offset, ..)| *offset < start);
    let relocations = within[first..]
        .iter()
        .take_while(|(offset, ..)| *offset < end)
        .map(|&(offset, kind, addend, name)| (offset - start, kind, addend, name))
        .collect();
    Definition {
        bytes,
        size: end - start,
        relocations,
        parameters,
    }
}

fn difference(one: &Definition<'_, '_>, other: &Definition<'_, '_>) -> Option<Difference> {
    if let (Some(here), Some(there)) = (one.parameters, other.parameters)
        && here != there
    {
        return Some(Difference::Parameters(here, there));
    }
    if one.size != other.size {
        return Some(Difference::Size(one.size, other.size));
    }
    if one.bytes != other.bytes {
        let same = one.bytes.iter().zip(other.bytes);
        return Some(Difference::Bytes(same.take_while(|(a, b)| a == b).count()));
    }
    (one.relocations != other.relocations).then_some(Difference::Relocations)
}
