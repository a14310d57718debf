//! What a user wants to know about a name that nobody defines: who needs it,
//! and which name may have been meant.

use crate::arch::reserved;
use crate::call_paths::CallPaths;
use crate::cubin::{SymbolOther, SymbolType};
use crate::demangle::{readable, without_parameters};
use crate::diagnostic::{ADD_DEFINITION, Diagnostic, Diagnostics};
use crate::id::{FunctionId, IdVec, SymbolId};
use crate::layout::LaidOut;
use crate::merge::{Definition, Merged, SharedHome};
use crate::options::{Behaviour, UndefinedGlobals};

/// So many names are explained; the others are only named.
const MAX_EXPLAINED: usize = 20;
/// How many names are compared with missing ones; each takes microseconds.
const MAX_COMPARED: usize = 100_000;
/// Longer names are not compared: that takes the product of their lengths.
const MAX_LENGTH: usize = 256;
/// How much alike two names are, from 0 to 1, of which one may be meant.
const ALIKE: f64 = 0.93;
/// Shorter names are other names when one letter is another one.
const SHORTEST: usize = 4;

/// Everything that live code needs must be defined or be a system call. What
/// is missing is reported in the order in which it was first named.
pub(crate) fn report(laid_out: &LaidOut<'_>, behaviour: Behaviour, diagnostics: &mut Diagnostics) {
    let merged = laid_out.merged();
    // Nearly always that is all there is to do.
    if !merged
        .symbols
        .enumerate()
        .any(|(id, _)| is_missing(laid_out, id))
    {
        return;
    }
    let users = users(laid_out, behaviour);
    let missing = users
        .enumerate()
        .filter_map(|(id, user)| Some((id, (*user)?)));
    let missing: Vec<(SymbolId, User)> = missing.collect();
    if missing.is_empty() {
        return;
    }
    let compares = missing.len().min(MAX_EXPLAINED) * merged.symbols.len() <= MAX_COMPARED;
    let paths = CallPaths::new(&laid_out.pruned);
    let mut is_advised = false;
    for (index, &(id, user)) in missing.iter().enumerate() {
        let symbol = &merged.symbols[id];
        let mut diagnostic =
            Diagnostic::undefined_reference(symbol.name, merged.input_name(symbol.input));
        if index < MAX_EXPLAINED {
            if let User::Code(function) = user {
                let code = &merged.symbols[merged.functions[function].symbol];
                let place = merged.input_name(code.input);
                let path = paths.to(merged, function);
                diagnostic = diagnostic.with_note(format_args!("needed by {path}, in '{place}'"));
            }
            let meant = compares.then(|| alike(merged, symbol.name)).flatten();
            let is_of_runtime = is_of_device_runtime(symbol.name);
            // Once is enough.
            if meant.is_none() && !is_of_runtime && !std::mem::replace(&mut is_advised, true) {
                diagnostic = diagnostic.with_note(ADD_DEFINITION);
            }
            if let Some(meant) = meant {
                diagnostic = diagnostic.with_note(meant);
            }
            if is_of_runtime {
                diagnostic = diagnostic.with_note(
                    "help: the device runtime defines it, libcudadevrt.a of the toolkit: -L FOLDER -lcudadevrt",
                );
            }
        }
        diagnostics.push(diagnostic);
    }
}

/// Whether a name is one that code has of its own runtime. Compilers put underlines before it.
fn is_of_device_runtime(name: &str) -> bool {
    name.trim_start_matches('_').starts_with("cuda")
}

/// What needs a name first.
#[derive(Debug, Clone, Copy)]
enum User {
    Code(FunctionId),
    /// Data, or the link itself.
    Other,
}

fn is_missing(laid_out: &LaidOut<'_>, id: SymbolId) -> bool {
    let merged = laid_out.merged();
    let symbol = &merged.symbols[id];
    // Shared memory with a size is not dynamic: someone must define it.
    let is_undefined = match symbol.definition {
        Definition::Undefined => true,
        Definition::Shared(SharedHome::Dynamic) => symbol.size > 0,
        Definition::Section(_)
        | Definition::Common
        | Definition::Shared(_)
        | Definition::Never
        | Definition::Lost => false,
    };
    let is_allowed = merged.settings.undefined_globals == UndefinedGlobals::Allowed
        && symbol.space == SymbolOther::GLOBAL;
    let is_function = symbol.kind == SymbolType::FUNC;
    // Compilers up to sm_89 know no such names, and make functions of them, too.
    let is_table = || !is_function && reserved::is_unified_table(symbol.name);
    is_undefined
        && !is_allowed
        && !symbol.weak_reference
        && !laid_out.texture_slots.contains(id)
        && !is_table()
        && !reserved::is_descriptor_size(symbol.name)
        && !reserved::is_provided_by_driver(symbol.name, is_function)
}

/// Who needs each name that is missing.
fn users(laid_out: &LaidOut<'_>, behaviour: Behaviour) -> IdVec<SymbolId, Option<User>> {
    let merged = laid_out.merged();
    let live = &laid_out.pruned.live;
    let mut users = merged.symbols.each(None);
    for (id, section) in merged.sections.enumerate() {
        if !live.sections[id] {
            continue;
        }
        for relocation in &section.relocations {
            // The address of a function that nobody calls any more goes (case
            // `position_independent`).
            let stays = !relocation.discarded && live.symbols[relocation.symbol];
            if stays && is_missing(laid_out, relocation.symbol) {
                let user = section.function.map_or(User::Other, User::Code);
                users[relocation.symbol].get_or_insert(user);
            }
        }
    }
    // nvlink wants a variable that no code needs, too (case `undefined_unused`),
    // a function whose address nobody takes any more (case `address_taken_signatures`),
    // and one that only a definition called which another one replaced (case
    // `weak_calls`).
    if behaviour == Behaviour::Nvlink {
        for (id, symbol) in merged.symbols.enumerate() {
            let is_wanted = match symbol.function {
                Some(function) => merged.functions[function].is_taken || live.functions[function],
                None => symbol.kind == SymbolType::OBJECT,
            };
            if is_wanted && is_missing(laid_out, id) {
                users[id].get_or_insert(User::Other);
            }
        }
    }
    users
}

/// A defined name that may have been meant: one of the same function with
/// other parameters, or one with other letters.
fn alike(merged: &Merged<'_>, missing: &str) -> Option<String> {
    let wanted = readable(missing);
    let mut best: Option<(f64, SymbolId)> = None;
    for (id, symbol) in merged.symbols.enumerate() {
        let is_defined = matches!(
            symbol.definition,
            Definition::Section(_) | Definition::Common | Definition::Shared(_)
        );
        // Nobody calls those.
        let is_kernel = symbol.other.has(SymbolOther::ENTRY);
        let is_long = symbol.name.len().max(missing.len()) > MAX_LENGTH;
        let is_candidate = is_defined && !is_kernel && !is_long && symbol.input.is_some();
        if !is_candidate || symbol.name == missing {
            continue;
        }
        // To demangle is slower than to compare.
        if strsim::jaro_winkler(symbol.name, missing) <= 0.7 {
            continue;
        }
        let score = likeness(&readable(symbol.name), &wanted);
        if score >= ALIKE && best.is_none_or(|(other, _)| score > other) {
            best = Some((score, id));
        }
    }
    let (_, id) = best?;
    let symbol = &merged.symbols[id];
    let input = merged.input_name(symbol.input);
    let known = readable(symbol.name);
    Some(match known == wanted {
        true => format!("did you mean {}, which '{input}' defines?", symbol.name),
        false => format!("did you mean {known}, which '{input}' defines?"),
    })
}

/// How much alike two functions are as the source names them, whatever their parameters and also without what is around
/// them: all that one namespace holds begins alike. One wrong letter is enough in a word that is no longer than a few.
fn likeness(known: &str, wanted: &str) -> f64 {
    let last = |name| str::rsplit(name, "::").next().unwrap_or_default();
    let (known, wanted) = (without_parameters(known), without_parameters(wanted));
    let of_whole = strsim::jaro_winkler(known, wanted);
    let likeness = of_whole.min(strsim::jaro_winkler(last(known), last(wanted)));
    match is_slip(known, wanted) {
        true => likeness.max(ALIKE),
        false => likeness,
    }
}

/// Whether one letter is wrong, missing or too much, or two have changed places. Numbers and last letters tell functions of one
/// kind apart, and short names have many neighbours.
fn is_slip(known: &str, wanted: &str) -> bool {
    let letters = |name: &str| name.replace(|letter: char| letter.is_ascii_digit(), "");
    known.len().min(wanted.len()) >= SHORTEST
        && letters(known) != letters(wanted)
        && known.chars().last() == wanted.chars().last()
        && strsim::osa_distance(known, wanted) == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_alike_as_sources_have_them() {
        let check = |known: &str, wanted: &str, expected: bool| {
            let score = likeness(&readable(known), &readable(wanted));
            assert_eq!(score >= ALIKE, expected, "{known} {wanted} {score}");
        };
        check("_Z5a_devi", "_Z6a_devxi", true);
        check("_Z3addff", "_Z3addii", true);
        check("_ZN4geom6lengthEf", "_ZN4geom7lenghthEf", true);
        check("callee", "calee", true);
        check("_ZN9transform5scaleEf", "_ZN9transform5shiftEf", false);
        check("_Z1fi", "_Z1gi", false);
        check("_Z5twisei", "_Z5twicei", true);
        check("_Z5sqaref", "_Z6squaref", true);
        check("_Z4add2i", "_Z4add3i", false);
        check("_Z3addi", "_Z3andi", false);
        check("_Z4dotxi", "_Z4dotyi", false);
        check("_Z1f", "_Z1fi", true);
    }

    #[test]
    fn the_device_runtime_is_known_by_its_names() {
        for name in ["cudaGetLastError", "__cudaCDP2LaunchDeviceV2"] {
            assert!(is_of_device_runtime(name), "{name}");
        }
        assert!(!is_of_device_runtime("_Z4cudai"));
    }
}
