//! What can be wrong, one function each.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use rustnvlink::arch::Sm;

use super::survey::{Unit, UnitKind};
use super::{Finding, Place, Severity};
use crate::streams::{self, word};
use crate::style::count;

const PROTOCOL_HELP: &str = "give the result to the host linker before all libraries";
const LINK_HELP: &str =
    "link the device code, and give the result to the host linker before all libraries";

/// Everything that is wrong.
pub(super) fn all(units: &[Unit], changed: Vec<Place>, required: &BTreeSet<Sm>) -> Vec<Finding> {
    [
        waits_for_link(units),
        never_registered(units),
        never_linked(units),
        linked_twice(units),
        held_twice(units),
        linked_without_object(units),
        linked_before(units, changed),
        linked_archive(units),
        missing_in_object(units),
        missing_in_link(units),
        required_processors(units, required),
        order(units),
        offloading(units),
        left_to_optimizer(units),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The same for what reads no standard input.
fn file_word(name: &str) -> Cow<'_, str> {
    match streams::is_standard(Path::new(name)) {
        true => Cow::Borrowed("FILE"),
        false => word(name),
    }
}

/// `cargo cudalink link` for the files that hold unlinked code.
fn link_command(units: &[Unit]) -> String {
    let mut files = Vec::new();
    let mut option = "";
    let inputs = units.iter().filter(|unit| unit.is_input());
    for unit in inputs.filter(|unit| unit.has_relocatable_code) {
        let file = file_word(&unit.file);
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

pub(super) fn place(unit: &Unit, detail: impl Into<String>) -> Place {
    Place {
        file: unit.name.clone(),
        detail: Some(detail.into()),
    }
}

/// Objects that wait for a device link which has not been made.
fn waits_for_link(units: &[Unit]) -> Option<Finding> {
    let places = waiting(units, Unit::is_input);
    let modules = count(places.len(), "module");
    // A library may well leave the link to the program.
    let is_library = units
        .iter()
        .all(|unit| unit.kind == UnitKind::ArchiveMember);
    let (severity, message) = match is_library {
        true => (
            Severity::Note,
            format!("the device link of {modules} is left to a program"),
        ),
        false => (
            Severity::Error,
            format!("the device link of {modules} is not among the files"),
        ),
    };
    let finding = Finding::at(places, severity, "never-linked", message)?;
    let link = vec![link_command(units)];
    Some(finding.with_fix(LINK_HELP).with_commands(link))
}

/// Finished files with objects that were never linked.
fn never_registered(units: &[Unit]) -> Option<Finding> {
    let places = waiting(units, |unit| !unit.is_input());
    let message = format!(
        "{} of finished files were never device-linked: loading them fails with an undefined \
         __cudaRegisterLinkedBinary symbol",
        count(places.len(), "module")
    );
    let finding = Finding::at(places, Severity::Error, "never-linked", message)?;
    Some(finding.with_fix(link_objects_help()))
}

/// Finished files with nothing but code that waits.
fn never_linked(units: &[Unit]) -> Option<Finding> {
    let places = units
        .iter()
        .filter(|unit| !unit.is_input() && unit.has_relocatable_code && !unit.is_device_linked)
        .filter(|unit| unit.wants_registration.is_empty())
        .map(|unit| place(unit, "has unlinked device code and no linked code"))
        .collect();
    let message = "device code was put into finished files without a device link";
    let finding = Finding::at(places, Severity::Error, "no-linked-code", message)?;
    Some(finding.with_fix(link_objects_help()))
}

fn link_objects_help() -> String {
    format!("run cargo cudalink link on the objects that these were made of; {PROTOCOL_HELP}")
}

/// The modules that units of some kind want registered and no unit registers.
fn waiting(units: &[Unit], is_meant: fn(&Unit) -> bool) -> Vec<Place> {
    let registered: BTreeSet<&String> = units.iter().flat_map(|unit| &unit.registers).collect();
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
fn linked_twice(units: &[Unit]) -> Option<Finding> {
    let places = several(units, |unit| &unit.registers);
    let message = "modules are in more than one device link, and the host linker ends with multiple definitions of \
                   __cudaRegisterLinkedBinary";
    let finding = Finding::at(places, Severity::Error, "linked-twice", message)?;
    Some(finding.with_fix(
        "leave all device-link objects but one out, and make that one from all objects and libraries",
    ))
}

/// Modules in several objects.
fn held_twice(units: &[Unit]) -> Option<Finding> {
    let places = several(units, |unit| &unit.provides_module);
    let message = "the same object is among the files more than once";
    let finding = Finding::at(places, Severity::Error, "held-twice", message)?;
    Some(finding.with_fix("leave one out"))
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
fn linked_without_object(units: &[Unit]) -> Option<Finding> {
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
    let message = "linked device code belongs to objects that are not among the files, or were compiled again since; \
                   the host linker ends with undefined __fatbinwrap symbols";
    let finding = Finding::at(places, Severity::Error, "object-missing", message)?;
    let has_objects = units
        .iter()
        .any(|unit| unit.is_input() && unit.has_relocatable_code);
    Some(match has_objects {
        true => finding
            .with_fix("add the objects, or link the device code of those that are there again")
            .with_commands(vec![link_command(units)]),
        false => finding.with_fix("add the objects that the device code was linked from"),
    })
}

/// Objects that were compiled again, with a device link of what they were before.
fn linked_before(units: &[Unit], changed: Vec<Place>) -> Option<Finding> {
    let message = "device code was linked before objects were compiled again: the program runs the older code";
    let finding = Finding::at(changed, Severity::Error, "linked-before", message)?;
    let link = vec![link_command(units)];
    Some(
        finding
            .with_fix("link the device code again")
            .with_commands(link),
    )
}

/// Libraries that hold their own device link.
fn linked_archive(units: &[Unit]) -> Option<Finding> {
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
    let delete: Vec<String> = places
        .iter()
        .filter_map(|place| place.file.rsplit_once(':'))
        .map(|(archive, member)| format!("ar d {} {}", file_word(archive), word(member)))
        .collect();
    // That is only a problem where there is other code to link.
    let is_alone = units.iter().all(|unit| {
        unit.wants_registration.is_empty()
            || members().any(|link| link.file == unit.file && link.is_device_linked)
    });
    let severity = match is_alone {
        true => Severity::Note,
        false => Severity::Warning,
    };
    let message = "libraries are device-linked on their own: their kernels cannot call device code of other files, \
                   and later device links leave them out";
    let finding = Finding::at(places, severity, "archive-already-linked", message)?;
    let commands = delete.into_iter().chain([link_command(units)]).collect();
    Some(
        finding
            .with_fix(
                "if they share device code with others, take their device link out, and link everything at once",
            )
            .with_commands(commands),
    )
}

/// Objects that lack a processor that others have.
fn missing_in_object(units: &[Unit]) -> Option<Finding> {
    let compiled = compiled(units);
    let inputs = units.iter().filter(|unit| unit.is_input());
    let places = inputs
        .filter(|unit| !unit.relocatable.is_empty())
        .filter_map(|unit| lacking(unit, &unit.relocatable, &compiled))
        .collect();
    let message = format!(
        "not every object has code for all processors ({})",
        Sm::list(&compiled)
    );
    let finding = Finding::at(places, Severity::Warning, "arch-missing-in-object", message)?;
    Some(finding.with_fix("compile all objects with the same -gencode options"))
}

/// Device links that leave out a processor that all objects have. Those that some lack are another finding.
fn missing_in_link(units: &[Unit]) -> Option<Finding> {
    let mut compiled = compiled(units);
    let objects = units.iter().filter(|unit| unit.is_input());
    for object in objects.filter(|unit| !unit.relocatable.is_empty()) {
        compiled.retain(|sm| covers(&object.relocatable, *sm));
    }
    let inputs = units.iter().filter(|unit| unit.is_input());
    let places = inputs
        .filter(|unit| unit.is_device_linked)
        .filter_map(|unit| lacking(unit, &unit.executable, &compiled))
        .collect();
    let message = "the device link leaves processors out that the objects have code for";
    let finding = Finding::at(places, Severity::Warning, "arch-missing-in-link", message)?;
    let link = vec![link_command(units)];
    Some(
        finding
            .with_fix("link for all processors, which is what a link without --arch does")
            .with_commands(link),
    )
}

/// The processors that objects were compiled for.
fn compiled(units: &[Unit]) -> BTreeSet<Sm> {
    let inputs = units.iter().filter(|unit| unit.is_input());
    inputs.flat_map(|unit| &unit.relocatable).copied().collect()
}

/// A unit that has code for some processors and not for all of these.
fn lacking(unit: &Unit, have: &BTreeSet<Sm>, wanted: &BTreeSet<Sm>) -> Option<Place> {
    let missing = wanted.iter().filter(|sm| !covers(have, **sm));
    nothing_for(unit, missing)
}

fn nothing_for<'s>(unit: &Unit, missing: impl Iterator<Item = &'s Sm>) -> Option<Place> {
    let names = Sm::list(missing);
    (!names.is_empty()).then(|| place(unit, format!("nothing for {names}")))
}

/// Whether linked or relocatable code for one of `have` does for `sm`.
fn covers(have: &BTreeSet<Sm>, sm: Sm) -> bool {
    have.iter().any(|from| from.links_into(sm))
}

/// Linked code that lacks a processor that was asked for.
fn required_processors(units: &[Unit], required: &BTreeSet<Sm>) -> Option<Finding> {
    let linked = units
        .iter()
        .filter(|unit| unit.is_device_linked || !unit.is_input());
    let places: Vec<Place> = linked
        .filter(|unit| unit.has_device_code())
        .filter_map(|unit| {
            let missing = required
                .iter()
                .filter(|sm| !runs_on(&unit.executable, **sm));
            nothing_for(unit, missing)
        })
        .collect();
    let nothing_linked =
        !required.is_empty() && units.iter().all(|unit| unit.executable.is_empty());
    if places.is_empty() && !nothing_linked {
        return None;
    }
    let names = Sm::list(required);
    let message = format!("linked device code does not run on all of {names}");
    let mut finding = Finding::new(Severity::Error, "arch-missing", message);
    finding.places = places;
    Some(finding.with_fix(format!(
        "compile for {names} (-gencode arch=compute_NN,code=sm_NN) and link again"
    )))
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
fn order(units: &[Unit]) -> Option<Finding> {
    let places: Vec<Place> = units
        .iter()
        .enumerate()
        .filter(|(_, unit)| unit.kind == UnitKind::Object)
        .filter_map(|(index, link)| {
            let library = units[..index].iter().find(|unit| {
                unit.kind == UnitKind::ArchiveMember
                    && !unit.provides_module.is_disjoint(&link.wants_module)
            })?;
            Some(place(
                link,
                format!("stands behind {}", streams::shown(&library.file)),
            ))
        })
        .collect();
    let message = "a device link stands behind a library that it needs objects of; ld.bfd and gold then miss them";
    let finding = Finding::at(places, Severity::Note, "order", message)?;
    Some(finding.with_fix("put the device link before all libraries"))
}

/// Code that waits for another link than ours.
fn offloading(units: &[Unit]) -> Option<Finding> {
    let places = units
        .iter()
        .filter(|unit| unit.is_offloading)
        .map(|unit| place(unit, "has a section .llvm.offloading"))
        .collect();
    let message =
        "only Clang's own link understands the device code of objects that its new driver made";
    let finding = Finding::at(places, Severity::Note, "clang-offloading", message)?;
    Some(finding.with_fix(
        "link them with clang++ --offload-link, or compile them with --no-offload-new-driver",
    ))
}

/// Code that is no code yet.
fn left_to_optimizer(units: &[Unit]) -> Option<Finding> {
    let places = units
        .iter()
        .filter(|unit| unit.is_left_to_optimizer)
        .map(|unit| place(unit, "waits for the optimizer of its host compiler"))
        .collect();
    let message = "-flto leaves the device code of objects to the link of host code, where no device link finds it";
    let finding = Finding::at(places, Severity::Error, "left-to-optimizer", message)?;
    Some(finding.with_fix(
        "compile CUDA sources without -flto: behind other options, -Xcompiler=-fno-lto for nvcc, -fno-lto for Clang",
    ))
}
