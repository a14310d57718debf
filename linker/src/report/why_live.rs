//! Why a function or variable is in an image, or why not.

use super::alike::alike;
use super::input_name;
use crate::call_paths::CallPaths;
use crate::codes;
use crate::cubin::SymbolType;
use crate::demangle::{readable, without_parameters};
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
    let warning = Diagnostic::new(Severity::Warning, codes::UNKNOWN_SYMBOL, text);
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

/// Other tools write `int*` where messages say `int *`, and sources `scale<2>` where they say `scale<(int)2>`.
fn is_called(symbol: &str, name: &str) -> bool {
    let shown = readable(symbol);
    let alone = without_parameters(&shown);
    let own = [&shown, shown.strip_prefix("void ").unwrap_or(&shown), alone];
    let wanted = letters(name);
    symbol == name || own.into_iter().any(|own| letters(own) == wanted)
}

/// What is left of a name without blanks and the types of values.
fn letters(name: &str) -> String {
    const TYPES: [&str; 9] = [
        "int",
        "unsignedint",
        "bool",
        "long",
        "unsignedlong",
        "longlong",
        "unsignedlonglong",
        "short",
        "unsignedshort",
    ];
    let is_value =
        |text: &str| text.starts_with(|first: char| first.is_ascii_digit() || first == '-');
    let compact = name.replace(' ', "");
    let mut parts = compact.split('(');
    let mut letters = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.split_once(')') {
            Some((kind, value)) if TYPES.contains(&kind) && is_value(value) => letters += value,
            Some(_) | None => {
                letters.push('(');
                letters += part;
            }
        }
    }
    letters
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

    #[test]
    fn names_are_known_as_sources_have_them() {
        let scale = "_Z5scaleIfLi256EEvPT_i";
        assert_eq!(readable(scale), "void scale<float, (int)256>(T1 *, int)");
        for name in [
            scale,
            "void scale<float, (int)256>(T1 *, int)",
            "scale<float,256>(T1*, int)",
            "scale<float, (int)256>",
            "scale<float, 256>",
        ] {
            assert!(is_called(scale, name), "{name}");
        }
        for name in [
            "scale",
            "scale<float, ",
            "scale<float, 25>",
            "scale<float, 256>(T1*)",
        ] {
            assert!(!is_called(scale, name), "{name}");
        }
        assert!(
            is_called("_Z6calleefi", "callee(float,int)") && is_called("_Z6calleefi", "callee")
        );
        assert!(is_called("callee", "callee") && !is_called("callee", "caller"));
    }
}
