//! Why a function or variable is in an image, or why not.

use super::input_name;
use crate::call_paths::CallPaths;
use crate::cubin::SymbolType;
use crate::demangle::readable;
use crate::diagnostic::{Diagnostic, Severity};
use crate::id::SymbolId;
use crate::merge::{Definition, SectionKind};
use crate::prune::Pruned;

/// How much alike two names are, from 0 to 1, of which one may be meant.
const ALIKE: f64 = 0.85;
/// How many names are compared with one that nothing has; each takes microseconds.
const MAX_COMPARED: usize = 100_000;

/// Says why what has this name stays, or that it does not. The name is the
/// object's or, with or without parameters, that of the source.
pub(crate) fn why_live(pruned: &Pruned<'_>, name: &str) -> Vec<Diagnostic> {
    let symbols = pruned.merged.symbols.enumerate().filter(|(_, symbol)| {
        symbol.kind != SymbolType::SECTION && symbol.input.is_some() && is_called(symbol.name, name)
    });
    let paths = CallPaths::new(pruned);
    let reasons: Vec<Diagnostic> = symbols
        .map(|(id, symbol)| {
            let input = input_name(&pruned.merged, symbol.input);
            let shown = readable(symbol.name);
            Diagnostic::text(format!(
                "{shown} in '{input}': {}",
                reason(pruned, &paths, id)
            ))
        })
        .collect();
    if !reasons.is_empty() {
        return reasons;
    }
    let text = format!("no input defines or uses '{name}'");
    let warning = Diagnostic::new(Severity::Warning, "unknown-symbol", text);
    vec![match alike(pruned, name) {
        Some(known) => warning.with_detail(format_args!("did you mean '{known}'?")),
        None => warning,
    }]
}

/// The name of the source that is most like one which nothing has, without parameters.
fn alike(pruned: &Pruned<'_>, name: &str) -> Option<String> {
    let wanted = name.split('(').next().unwrap_or_default();
    let mut best = (ALIKE, None);
    for symbol in pruned.merged.symbols.iter().take(MAX_COMPARED) {
        if symbol.kind == SymbolType::SECTION || symbol.input.is_none() {
            continue;
        }
        let shown = readable(symbol.name);
        let known = shown.split('(').next().unwrap_or_default();
        let score = strsim::jaro_winkler(known, wanted);
        if score > best.0 {
            best = (score, Some(known.to_owned()));
        }
    }
    best.1
}

/// Other tools write `int*` where messages say `int *`.
fn is_called(symbol: &str, name: &str) -> bool {
    let shown = readable(symbol);
    let without_parameters = shown.split('(').next().unwrap_or_default();
    let letters = |text: &str| text.replace(' ', "");
    symbol == name
        || [&shown, without_parameters]
            .iter()
            .any(|text| letters(text) == letters(name))
}

fn reason(pruned: &Pruned<'_>, paths: &CallPaths, id: SymbolId) -> String {
    let merged = &pruned.merged;
    let symbol = &merged.symbols[id];
    if let Some(id) = symbol.function {
        let function = &merged.functions[id];
        let is_live = pruned.live.functions[id];
        return match (is_live, function.is_entry) {
            (true, true) => "it is a kernel".to_owned(),
            (false, true) => {
                "left out: a kernel that host code or -kernels-used does not name".to_owned()
            }
            (false, false) => "left out: no kernel that stays reaches it".to_owned(),
            (true, false) if paths.reaches(id) => paths.to(merged, id),
            (true, false) if function.is_taken => "its address is taken".to_owned(),
            (true, false) => "kept for debuggers or for what takes an address".to_owned(),
        };
    }
    if symbol.definition == Definition::Undefined {
        return "the driver defines it".to_owned();
    }
    let user = merged.sections.enumerate().find(|(section_id, section)| {
        section.kind == SectionKind::Text
            && pruned.live.sections[*section_id]
            && section.relocations.iter().any(|r| r.symbol == id)
    });
    match user.and_then(|(_, section)| section.function) {
        Some(function) => format!("used by {}", paths.to(merged, function)),
        None => "variables always stay".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_known_as_tools_write_them() {
        let check = |name: &str, expected: bool| {
            assert_eq!(is_called("_Z6kernelPij", name), expected, "{name}");
        };
        check("_Z6kernelPij", true);
        check("kernel", true);
        check("kernel(int *, unsigned int)", true);
        check("kernel(int*, unsigned int)", true);
        check("kernel(int*)", false);
        check("kern", false);
    }
}
