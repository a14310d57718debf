//! What can be wrong, one function each.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use rustnvlink::arch::Sm;

use super::survey::{Unit, UnitKind};
use super::{Finding, Place, Severity};

const PROTOCOL_HELP: &str = "give the result to the host linker before all libraries";
const LINK_HELP: &str =
    "link the device code, and give the result to the host linker before all libraries";

/// Everything that is wrong.
pub(super) fn all(units: &[Unit], required: &BTreeSet<Sm>) -> Vec<Finding> {
    [
        never_linked(units),
        linked_twice(units),
        held_twice(units),
        linked_without_object(units),
        linked_archive(units),
        missing_processors(units),
        required_processors(units, required),
        order(units),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// A file name as a shell takes it.
pub(super) fn word(name: &str) -> Cow<'_, str> {
    shlex::try_quote(name).unwrap_or(Cow::Borrowed(name))
}

/// `cargo cudalink link` for the files that hold unlinked code.
fn link_command(units: &[Unit]) -> String {
    let mut files = Vec::new();
    let mut option = "";
    let inputs = units.iter().filter(|unit| unit.is_input());
    for unit in inputs.filter(|unit| unit.has_relocatable_code) {
        let file = word(&unit.file);
        if !files.contains(&file) {
            files.push(file);
        }
        if unit.has_intermediate_code && unit.relocatable.is_empty() {
            option = "--dlto ";
        }
    }
    format!(
        "cargo cudalink link {option}{} -o device_link.o",
        files.join(" ")
    )
}

fn place(unit: &Unit, detail: impl Into<String>) -> Place {
    Place {
        file: unit.name.clone(),
        detail: Some(detail.into()),
    }
}

/// Objects that wait for a device link which has not been made.
fn never_linked(units: &[Unit]) -> Vec<Finding> {
    let registered: BTreeSet<&String> = units.iter().flat_map(|unit| &unit.registers).collect();
    let mut findings = Vec::new();
    let places: Vec<Place> = waiting(units, &registered, Unit::is_input);
    if !places.is_empty() {
        // A library may well leave the link to the program.
        let is_library = units
            .iter()
            .all(|unit| unit.kind == UnitKind::ArchiveMember);
        findings.push(Finding {
            severity: if is_library {
                Severity::Note
            } else {
                Severity::Error
            },
            code: "never-linked",
            message: format!(
                "{} without a device link{}",
                count(places.len(), "module"),
                if is_library {
                    " of the program"
                } else {
                    " that is not among the files"
                }
            ),
            places,
            fix: Some(LINK_HELP.to_owned()),
            commands: vec![link_command(units)],
        });
    }
    let places = waiting(units, &registered, |unit| !unit.is_input());
    if !places.is_empty() {
        findings.push(Finding {
            severity: Severity::Error,
            code: "never-linked",
            message: format!(
                "{} of finished files were never device-linked: loading them fails with an undefined \
                 __cudaRegisterLinkedBinary symbol",
                count(places.len(), "module")
            ),
            places,
            fix: Some(format!(
                "run cargo cudalink link on the objects that these were made of; {PROTOCOL_HELP}"
            )),
            commands: Vec::new(),
        });
    }
    let places: Vec<Place> = units
        .iter()
        .filter(|unit| !unit.is_input() && unit.has_relocatable_code && !unit.is_device_linked)
        .filter(|unit| unit.wants_registration.is_empty())
        .map(|unit| place(unit, "has unlinked device code and no linked code"))
        .collect();
    if !places.is_empty() {
        findings.push(Finding {
            severity: Severity::Error,
            code: "no-linked-code",
            message: "device code was put into finished files without a device link".to_owned(),
            places,
            fix: Some(format!(
                "run cargo cudalink link on the objects that these were made of; {PROTOCOL_HELP}"
            )),
            commands: Vec::new(),
        });
    }
    findings
}

/// The modules that units of some kind want registered and no unit registers.
fn waiting(
    units: &[Unit],
    registered: &BTreeSet<&String>,
    is_meant: fn(&Unit) -> bool,
) -> Vec<Place> {
    units
        .iter()
        .filter(|unit| is_meant(unit))
        .flat_map(|unit| {
            unit.wants_registration
                .iter()
                .filter(|id| !registered.contains(id))
                .map(|id| place(unit, id.clone()))
        })
        .collect()
}

/// Modules in several device links.
fn linked_twice(units: &[Unit]) -> Vec<Finding> {
    let places = several(units, |unit| &unit.registers);
    if places.is_empty() {
        return Vec::new();
    }
    vec![Finding {
        severity: Severity::Error,
        code: "linked-twice",
        message: "modules are in more than one device link, and the host linker ends with multiple definitions of \
                  __cudaRegisterLinkedBinary"
            .to_owned(),
        places,
        fix: Some(
            "leave all device-link objects but one out, and make that one from all objects and libraries".to_owned(),
        ),
        commands: Vec::new(),
    }]
}

/// Modules in several objects.
fn held_twice(units: &[Unit]) -> Vec<Finding> {
    let places = several(units, |unit| &unit.provides_module);
    if places.is_empty() {
        return Vec::new();
    }
    vec![Finding {
        severity: Severity::Error,
        code: "held-twice",
        message: "the same object is among the files more than once".to_owned(),
        places,
        fix: Some("leave one out".to_owned()),
        commands: Vec::new(),
    }]
}

/// The inputs that share an id with another one.
fn several(units: &[Unit], ids: fn(&Unit) -> &BTreeSet<String>) -> Vec<Place> {
    let mut holders: BTreeMap<&String, Vec<&Unit>> = BTreeMap::new();
    for unit in units.iter().filter(|unit| unit.is_input()) {
        for id in ids(unit) {
            holders.entry(id).or_default().push(unit);
        }
    }
    holders
        .into_iter()
        .filter(|(_, units)| units.len() > 1)
        .flat_map(|(id, units)| units.into_iter().map(move |unit| place(unit, id.clone())))
        .collect()
}

/// Linked code whose objects are not there.
fn linked_without_object(units: &[Unit]) -> Vec<Finding> {
    let held: BTreeSet<&String> = units
        .iter()
        .flat_map(|unit| &unit.provides_module)
        .collect();
    let places: Vec<Place> = units
        .iter()
        .filter(|unit| unit.is_input())
        .flat_map(|unit| {
            unit.wants_module
                .iter()
                .filter(|id| !held.contains(id))
                .map(|id| place(unit, id.clone()))
        })
        .collect();
    if places.is_empty() {
        return Vec::new();
    }
    let has_objects = units
        .iter()
        .any(|unit| unit.is_input() && unit.has_relocatable_code);
    vec![Finding {
        severity: Severity::Error,
        code: "object-missing",
        message: "linked device code belongs to objects that are not among the files, or were compiled again since; \
                  the host linker ends with undefined __fatbinwrap symbols"
            .to_owned(),
        places,
        fix: Some(match has_objects {
            true => "add the objects, or link the device code of those that are there again".to_owned(),
            false => "add the objects that the device code was linked from".to_owned(),
        }),
        commands: has_objects.then(|| link_command(units)).into_iter().collect(),
    }]
}

/// Libraries that hold their own device link.
fn linked_archive(units: &[Unit]) -> Vec<Finding> {
    let members = || {
        units
            .iter()
            .filter(|unit| unit.kind == UnitKind::ArchiveMember)
    };
    let places: Vec<Place> = members()
        .filter(|unit| unit.is_device_linked && !unit.registers.is_empty())
        .map(|unit| {
            place(
                unit,
                format!(
                    "the device link of {}",
                    count(unit.registers.len(), "module")
                ),
            )
        })
        .collect();
    if places.is_empty() {
        return Vec::new();
    }
    let delete: Vec<String> = places
        .iter()
        .filter_map(|place| place.file.rsplit_once(':'))
        .map(|(archive, member)| format!("ar d {} {}", word(archive), word(member)))
        .collect();
    // That is only a problem where there is other code to link.
    let is_alone = units.iter().all(|unit| {
        unit.wants_registration.is_empty()
            || members().any(|link| link.file == unit.file && link.is_device_linked)
    });
    vec![Finding {
        severity: if is_alone { Severity::Note } else { Severity::Warning },
        code: "archive-already-linked",
        message: "libraries are device-linked on their own: their kernels cannot call device code of other files, \
                  and later device links leave them out"
            .to_owned(),
        places,
        fix: Some(
            "if they share device code with others, take their device link out, and link everything at once".to_owned(),
        ),
        commands: delete.into_iter().chain([link_command(units)]).collect(),
    }]
}

/// Objects that lack a processor that others have.
fn missing_processors(units: &[Unit]) -> Vec<Finding> {
    let inputs = || units.iter().filter(|unit| unit.is_input());
    let compiled: BTreeSet<Sm> = inputs()
        .flat_map(|unit| unit.relocatable.iter().copied())
        .collect();
    let mut findings = Vec::new();
    let lacking = |have: &BTreeSet<Sm>| -> Option<String> {
        let names: Vec<String> = compiled
            .iter()
            .filter(|sm| !covers(have, **sm))
            .map(Sm::to_string)
            .collect();
        (!names.is_empty()).then(|| names.join(", "))
    };
    let places: Vec<Place> = inputs()
        .filter(|unit| !unit.relocatable.is_empty())
        .filter_map(|unit| {
            lacking(&unit.relocatable).map(|names| place(unit, format!("nothing for {names}")))
        })
        .collect();
    if !places.is_empty() {
        let all: Vec<String> = compiled.iter().map(Sm::to_string).collect();
        findings.push(Finding {
            severity: Severity::Warning,
            code: "arch-missing-in-object",
            message: format!(
                "not every object has code for all processors ({})",
                all.join(", ")
            ),
            places,
            fix: Some("compile all objects with the same -gencode options".to_owned()),
            commands: Vec::new(),
        });
    }
    let places: Vec<Place> = inputs()
        .filter(|unit| unit.is_device_linked)
        .filter_map(|unit| {
            lacking(&unit.executable).map(|names| place(unit, format!("nothing for {names}")))
        })
        .collect();
    if !places.is_empty() {
        findings.push(Finding {
            severity: Severity::Warning,
            code: "arch-missing-in-link",
            message: "the device link leaves processors out that the objects have code for"
                .to_owned(),
            places,
            fix: Some(
                "link for all processors, which is what a link without --arch does".to_owned(),
            ),
            commands: vec![link_command(units)],
        });
    }
    findings
}

/// Whether linked or relocatable code for one of `have` does for `sm`.
fn covers(have: &BTreeSet<Sm>, sm: Sm) -> bool {
    have.iter().any(|from| from.links_into(sm))
}

/// Linked code that lacks a processor that was asked for.
fn required_processors(units: &[Unit], required: &BTreeSet<Sm>) -> Vec<Finding> {
    let linked = units
        .iter()
        .filter(|unit| unit.is_device_linked || !unit.is_input());
    let places: Vec<Place> = linked
        .filter(|unit| unit.has_device_code())
        .filter_map(|unit| {
            let names: Vec<String> = required
                .iter()
                .filter(|sm| !runs_on(&unit.executable, **sm))
                .map(Sm::to_string)
                .collect();
            (!names.is_empty()).then(|| place(unit, format!("nothing for {}", names.join(", "))))
        })
        .collect();
    let nothing_linked =
        !required.is_empty() && units.iter().all(|unit| unit.executable.is_empty());
    if places.is_empty() && !nothing_linked {
        return Vec::new();
    }
    let names: Vec<String> = required.iter().map(Sm::to_string).collect();
    vec![Finding {
        severity: Severity::Error,
        code: "arch-missing",
        message: format!(
            "linked device code does not run on all of {}",
            names.join(", ")
        ),
        places,
        fix: Some(format!(
            "compile for {} (-gencode arch=compute_NN,code=sm_NN) and link again",
            names.join(", ")
        )),
        commands: Vec::new(),
    }]
}

/// Machine code runs on its own processor and on later ones of the same major version; a letter binds it.
fn runs_on(have: &BTreeSet<Sm>, sm: Sm) -> bool {
    have.iter().any(|from| match from.suffix {
        Some(rustnvlink::arch::Suffix::A) => *from == sm,
        Some(rustnvlink::arch::Suffix::F) => {
            from.family() == sm.family() && from.number <= sm.number
        }
        None => from.number / 10 == sm.number / 10 && from.number <= sm.number,
    })
}

/// Linkers that read libraries once need the device link in front of them.
fn order(units: &[Unit]) -> Vec<Finding> {
    let places: Vec<Place> = units
        .iter()
        .enumerate()
        .filter(|(_, unit)| unit.kind == UnitKind::Object)
        .filter_map(|(index, link)| {
            let library = units[..index].iter().find(|unit| {
                unit.kind == UnitKind::ArchiveMember
                    && !unit.provides_module.is_disjoint(&link.wants_module)
            })?;
            Some(place(link, format!("stands behind {}", library.file)))
        })
        .collect();
    if places.is_empty() {
        return Vec::new();
    }
    vec![Finding {
        severity: Severity::Note,
        code: "order",
        message: "a device link stands behind a library that it needs objects of; ld.bfd and gold then miss them"
            .to_owned(),
        places,
        fix: Some("put the device link before all libraries".to_owned()),
        commands: Vec::new(),
    }]
}

/// A number and what it counts.
pub(super) fn count(number: usize, what: &str) -> String {
    match number {
        1 => format!("1 {what}"),
        _ => format!("{number} {what}s"),
    }
}
