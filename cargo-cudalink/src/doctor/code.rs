//! Whether a device link was made of the objects as they are now.
//!
//! nvcc gives an object the same module name when its source has changed and its kernels keep their names, so that host
//! linkers do not notice a device link that is too old. The code tells: what an object defines stands in the image as it
//! is, but for the instructions that the link fills in. Code from sm_100 on is made anew by the link, and tells nothing.

use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;

use rustnvlink::arch::Sm;
use rustnvlink::container::HostFile;
use rustnvlink::cubin::{Binding, File, Place as Where, SectionType, SymbolType};
use rustnvlink::demangle::readable;
use rustnvlink::error::ParseError;
use rustnvlink::fatbin::{Kind, Limit};

use super::Place;
use super::survey::{self, Unit};
use crate::streams;

/// The first processor whose code a link makes anew.
const FIRST_ENCODED: u16 = 100;
/// How long an instruction is.
const INSTRUCTION: usize = 16;
/// How many functions of an object are named.
const NAMED: usize = 3;

/// What stands for an instruction that the link fills in.
const FILLED_IN: u32 = 0;

/// The instructions of functions, each as a number that others hardly share: programs have gigabytes of them.
type Code = HashMap<(Sm, String), Vec<u32>>;

/// The objects whose code is not the one that was linked.
pub(super) fn changed_since(units: &[Unit], files: &[PathBuf]) -> Vec<Place> {
    // A name that several have says nothing.
    let mut named: HashMap<&str, usize> = HashMap::new();
    for unit in units {
        *named.entry(&unit.name).or_default() += 1;
    }
    let inputs = || {
        let inputs = units.iter().filter(|unit| unit.is_input());
        inputs.filter(|unit| named.get(&*unit.name) == Some(&1))
    };
    let links = inputs().filter(|unit| unit.is_device_linked);
    let pairs: Vec<(&Unit, &Unit)> = links
        .flat_map(|link| {
            let belongs = |object: &&Unit| !object.wants_registration.is_disjoint(&link.registers);
            inputs().filter(belongs).map(move |object| (link, object))
        })
        .collect();
    let wanted: HashMap<&str, bool> = pairs
        .iter()
        .flat_map(|(link, object)| [(&*link.name, false), (&*object.name, true)])
        .collect();
    if wanted.is_empty() {
        return Vec::new();
    }
    let mut codes: HashMap<String, Code> = HashMap::new();
    survey::walk(files, &mut |name, _, _, data| {
        if let Some(&relocatable) = wanted.get(name) {
            codes.insert(name.to_owned(), code(data, relocatable)?);
        }
        Ok(())
    });
    let changed = |(link, object): (&Unit, &Unit)| {
        let names = differing(codes.get(&object.name)?, codes.get(&link.name)?);
        let mut shown: Vec<String> = names
            .iter()
            .take(NAMED)
            .map(|name| readable(name))
            .collect();
        if names.len() > NAMED {
            shown.push(format!("{} others", names.len() - NAMED));
        }
        let place = super::checks::place(
            object,
            format!("{} in {}", shown.join(", "), streams::shown(&link.name)),
        );
        (!names.is_empty()).then_some(place)
    };
    pairs.into_iter().filter_map(changed).collect()
}

/// The functions that were compiled to other code than what was linked.
fn differing<'c>(compiled: &'c Code, linked: &Code) -> BTreeSet<&'c str> {
    let compiled = compiled.iter().filter(|(function, code)| {
        let linked = linked.get(function);
        linked.is_some_and(|linked| differ(code, linked))
    });
    compiled.map(|((_, name), _)| &**name).collect()
}

fn differ(compiled: &[u32], linked: &[u32]) -> bool {
    let mut pairs = compiled.iter().zip(linked);
    compiled.len() != linked.len()
        || pairs.any(|(a, b)| *a != FILLED_IN && *b != FILLED_IN && a != b)
}

/// A number for an instruction, after the finalizer of MurmurHash3.
fn number_of(instruction: [u8; INSTRUCTION]) -> u32 {
    let all = u128::from_le_bytes(instruction);
    let mixed = |value: u64| (value ^ (value >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    let both = mixed(mixed(all as u64) ^ (all >> 64) as u64);
    ((both >> 32) as u32).max(FILLED_IN + 1)
}

/// What a host file defines for all to see.
fn code(data: &[u8], relocatable: bool) -> Result<Code, ParseError> {
    let mut code = Code::new();
    let host = HostFile::parse(data)?;
    for section in host
        .fatbins
        .iter()
        .filter(|section| section.is_relocatable() == relocatable)
    {
        for fatbin in section.fatbins() {
            for entry in fatbin?.entries() {
                let entry = entry?;
                if entry.kind == Kind::ELF && entry.sm.number < FIRST_ENCODED {
                    add(
                        &mut code,
                        entry.sm,
                        &File::parse(&entry.image(Limit::default())?)?,
                    )?;
                }
            }
        }
    }
    Ok(code)
}

fn add(code: &mut Code, sm: Sm, file: &File<'_>) -> Result<(), ParseError> {
    let mut filled_in: HashMap<u32, BTreeSet<usize>> = HashMap::new();
    for section in &file.sections {
        if matches!(section.kind, SectionType::REL | SectionType::RELA) {
            let places = filled_in.entry(section.info).or_default();
            places.extend(File::relocations(section)?.map(|r| r.offset as usize / INSTRUCTION));
        }
    }
    let functions = file
        .symbols
        .iter()
        .filter(|symbol| symbol.kind == SymbolType::FUNC && symbol.binding == Binding::GLOBAL);
    for function in functions {
        let Where::Section(index) = function.place else {
            continue;
        };
        let Ok(section) = file.section(index) else {
            continue;
        };
        let start = function.value as usize;
        let end = start.saturating_add(function.size as usize);
        let Some(bytes) = section.data.get(start..end) else {
            continue;
        };
        let places = filled_in.get(&index);
        let (instructions, _) = bytes.as_chunks::<INSTRUCTION>();
        let instructions = instructions.iter().enumerate().map(|(number, bytes)| {
            let place = start / INSTRUCTION + number;
            let is_filled_in = places.is_some_and(|places| places.contains(&place));
            if is_filled_in {
                FILLED_IN
            } else {
                number_of(*bytes)
            }
        });
        code.insert((sm, function.name.to_owned()), instructions.collect());
    }
    Ok(())
}
