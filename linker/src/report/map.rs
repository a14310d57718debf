//! What lies where in an image, and what was left out.

use std::fmt::Write as _;

use super::input_name;
use crate::cubin::SymbolType;
use crate::demangle::readable;
use crate::id::{IdVec, SectionId, SymbolId};
use crate::layout::LaidOut;
use crate::merge::{Definition, Section, SectionKind};

/// The map as text.
pub(crate) fn map(laid_out: &LaidOut<'_>) -> String {
    let pruned = &laid_out.pruned;
    let merged = &pruned.merged;
    let mut text = format!("Image for {}\n\nInputs\n", merged.target);
    for input in &merged.inputs {
        let _ = writeln!(text, "    {input}");
    }
    let members = members(laid_out);
    text.push_str("\nSections\n");
    for (id, section) in merged.sections.enumerate() {
        if !pruned.live.sections[id] || !holds_program(section) {
            continue;
        }
        let content = &section.content;
        let _ = writeln!(
            text,
            "\n{:#10x} bytes, aligned to {:#x}  {}",
            content.size, content.align, section.name
        );
        for &symbol in &members[id] {
            let symbol = &merged.symbols[symbol];
            let _ = writeln!(
                text,
                "    {:#10x} {:#10x}  {}  {}",
                symbol.value,
                symbol.size,
                readable(symbol.name),
                input_name(merged, symbol.input)
            );
        }
    }
    let mut left_out = merged
        .functions
        .enumerate()
        .filter(|&(id, function)| !pruned.live.functions[id] && function.text.is_some())
        .peekable();
    if left_out.peek().is_some() {
        text.push_str("\nLeft out, because no kernel that stays needs them\n");
    }
    for (_, function) in left_out {
        let symbol = &merged.symbols[function.symbol];
        let _ = writeln!(
            text,
            "    {}  {}",
            readable(symbol.name),
            input_name(merged, symbol.input)
        );
    }
    text
}

/// The sections that have code or variables.
fn holds_program(section: &Section<'_>) -> bool {
    match section.kind {
        SectionKind::Text
        | SectionKind::Constant(_)
        | SectionKind::Global
        | SectionKind::GlobalInit
        | SectionKind::Stubs
        | SectionKind::UnifiedData
        | SectionKind::Shared
        | SectionKind::SharedReserved => section.content.size > 0,
        _ => false,
    }
}

/// The functions and variables of each section, by address.
fn members(laid_out: &LaidOut<'_>) -> IdVec<SectionId, Vec<SymbolId>> {
    let pruned = &laid_out.pruned;
    let merged = &pruned.merged;
    let mut members = merged.sections.each(Vec::new());
    for (id, symbol) in merged.symbols.enumerate() {
        if let Definition::Section(section) = symbol.definition
            && symbol.kind != SymbolType::SECTION
            && !symbol.name.is_empty()
            && pruned.live.symbols[id]
        {
            members[section].push(id);
        }
    }
    for list in members.iter_mut() {
        list.sort_by_key(|&id| merged.symbols[id].value);
    }
    members
}
