//! Why a function or variable is in an image, or why not.

use super::alike::{alike, without_parameters};
use super::input_name;
use crate::call_paths::CallPaths;
use crate::cubin::SymbolType;
use crate::demangle::readable;
use crate::diagnostic::{Diagnostic, Severity};
use crate::id::SymbolId;
use crate::merge::{Definition, SectionKind};
use crate::prune::Pruned;

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
    let symbols = pruned.merged.symbols.iter();
    let known = symbols.filter(|s| s.kind != SymbolType::SECTION && s.input.is_some());
    let known = alike(known.map(|symbol| symbol.name), name);
    vec![match known.map(readable) {
        Some(known) => warning.with_detail(format_args!(
            "did you mean '{}'?",
            without_parameters(&known)
        )),
        None => warning,
    }]
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
