//! Who defines each name, and who uses it.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::arch::reserved;
use crate::cubin::{Binding, Place, SymbolType};
use crate::demangle::readable;
use crate::read::Object;

#[derive(Debug, Default)]
struct Row<'o> {
    definers: Vec<&'o str>,
    users: Vec<&'o str>,
    is_function: bool,
}

/// A table of all names that files share, by name: first the files that
/// define it, then those that use it.
pub(crate) fn cross_references(objects: &[Object<'_>]) -> String {
    let mut rows: BTreeMap<&str, Row<'_>> = BTreeMap::new();
    for object in objects {
        for symbol in &object.symbols {
            if symbol.binding == Binding::LOCAL
                || symbol.kind == SymbolType::SECTION
                || symbol.name.is_empty()
                || reserved::is_shared(symbol.name)
                || reserved::is_unified_table(symbol.name)
                || reserved::is_descriptor_size(symbol.name)
            {
                continue;
            }
            let row = rows.entry(symbol.name).or_default();
            row.is_function |= symbol.kind == SymbolType::FUNC;
            match symbol.place {
                Place::Undefined => row.users.push(&object.name),
                Place::Absolute | Place::Common | Place::Section(_) | Place::Reserved(_) => {
                    row.definers.push(&object.name);
                }
            }
        }
    }
    let mut text = String::from("Cross references\n");
    for (name, row) in rows {
        let _ = write!(text, "\n{}\n", readable(name));
        if readable(name) != name {
            let _ = writeln!(text, "    named   {name}");
        }
        for (word, files) in [("defined", &row.definers), ("used", &row.users)] {
            for file in files {
                let _ = writeln!(text, "    {word:7} {file}");
            }
        }
        if row.definers.is_empty() {
            let by = match reserved::is_provided_by_driver(name, row.is_function) {
                true => "by the driver",
                false => "nowhere",
            };
            let _ = writeln!(text, "    defined {by}");
        }
    }
    text
}
