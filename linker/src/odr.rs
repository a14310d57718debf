//! The one-definition rule: weak definitions of one name (inline functions,
//! templates, inline variables) have to be the same, because one of them is
//! taken for all.
//!
//! Objects cannot tell sources apart, but they show what the compiler made of
//! them: the same bytes, and relocations against the same names.

use std::fmt;

use rustc_hash::FxHashMap;

use crate::cubin::{Binding, Place, SymbolType};
use crate::demangle::readable;
use crate::diagnostic::{Diagnostic, Diagnostics, Severity};
use crate::error::ParseError;
use crate::options::Odr;
use crate::read::{Object, Role};

/// What is compared of a definition.
#[derive(Debug, PartialEq, Eq)]
struct Definition<'o, 'd> {
    bytes: &'d [u8],
    size: u64,
    /// Place, type, addend, and the name unless it is local to the file.
    relocations: Vec<(u64, u32, Option<i64>, &'o str)>,
}

/// How two definitions differ.
enum Difference {
    Size(u64, u64),
    Bytes(usize),
    Relocations,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Size(one, other) => write!(f, "{one} bytes here, {other} bytes there"),
            Self::Bytes(at) => write!(f, "the bytes differ from {at:#x} on"),
            Self::Relocations => f.write_str("they use other functions or variables"),
        }
    }
}

/// Reports each name whose weak definitions differ, once.
pub(crate) fn check(
    objects: &[Object<'_>],
    odr: Odr,
    diagnostics: &mut Diagnostics,
) -> Result<(), ParseError> {
    let severity = match odr {
        Odr::Off => return Ok(()),
        Odr::Warn => Severity::Warning,
        Odr::Error => Severity::Error,
    };
    // Nothing is taken apart that is defined once.
    let mut places: FxHashMap<&str, Vec<(usize, usize)>> = FxHashMap::default();
    let mut names = Vec::new();
    for (number, object) in objects.iter().enumerate() {
        for (index, symbol) in object.symbols.iter().enumerate() {
            if symbol.binding == Binding::WEAK
                && matches!(symbol.place, Place::Section(_))
                && symbol.kind != SymbolType::SECTION
            {
                let known = places.entry(symbol.name).or_default();
                known.push((number, index));
                if known.len() == 2 {
                    names.push(symbol.name);
                }
            }
        }
    }
    let mut relocations: Vec<Option<Relocations<'_>>> = objects.iter().map(|_| None).collect();
    for name in names {
        let mut first = None;
        for &(number, index) in &places[name] {
            let object = &objects[number];
            let table = match &mut relocations[number] {
                Some(table) => table,
                none => none.insert(by_section(object)?),
            };
            let definition = definition(object, index, table);
            match &first {
                None => first = Some((number, definition)),
                Some((other, known)) => {
                    if let Some(difference) = difference(known, &definition) {
                        let text = format!(
                            "weak definitions of '{name}' differ in '{}' and '{}'",
                            objects[*other].name, object.name
                        );
                        let mut diagnostic = Diagnostic::new(severity, "odr-violation", text)
                            .with_detail(difference);
                        if readable(name) != name {
                            let note = format!("{name} is {}", readable(name));
                            diagnostic = diagnostic.with_note(note);
                        }
                        diagnostics.push(diagnostic);
                        break;
                    }
                }
            }
        }
    }
    Ok(())
}

/// The relocations of each section of an object.
type Relocations<'o> = FxHashMap<usize, Vec<(u64, u32, Option<i64>, &'o str)>>;

fn by_section<'o>(object: &'o Object<'_>) -> Result<Relocations<'o>, ParseError> {
    let mut table = Relocations::default();
    for section in &object.sections {
        let Some(target) = section.target() else {
            continue;
        };
        if !matches!(section.role, Role::Rel | Role::Rela) {
            continue;
        }
        for relocation in object.relocations(section)? {
            let symbol = object.symbol(relocation.symbol)?;
            let name = match symbol.binding {
                Binding::LOCAL => "",
                _ => symbol.name,
            };
            table.entry(target).or_default().push((
                relocation.offset,
                relocation.kind,
                relocation.addend,
                name,
            ));
        }
    }
    Ok(table)
}

fn definition<'o, 'd>(
    object: &'o Object<'d>,
    index: usize,
    relocations: &Relocations<'o>,
) -> Definition<'o, 'd> {
    let symbol = &object.symbols[index];
    let place = symbol.place.section().map_or(0, |section| section as usize);
    let Some(section) = object.sections.get(place) else {
        return Definition {
            bytes: &[],
            size: symbol.size,
            relocations: Vec::new(),
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
    let within = relocations.get(&place).map_or(&[][..], Vec::as_slice);
    let relocations = within
        .iter()
        .filter(|(offset, ..)| (start..end).contains(offset))
        .map(|&(offset, kind, addend, name)| (offset - start, kind, addend, name))
        .collect();
    Definition {
        bytes,
        size: end - start,
        relocations,
    }
}

fn difference(one: &Definition<'_, '_>, other: &Definition<'_, '_>) -> Option<Difference> {
    if one.size != other.size {
        return Some(Difference::Size(one.size, other.size));
    }
    if one.bytes != other.bytes {
        let same = one.bytes.iter().zip(other.bytes);
        return Some(Difference::Bytes(same.take_while(|(a, b)| a == b).count()));
    }
    (one.relocations != other.relocations).then_some(Difference::Relocations)
}
