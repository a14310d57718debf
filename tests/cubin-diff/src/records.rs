//! The sections that are records: attributes, call graph, prototypes, notes.

use std::fmt::Display;

use rustnvlink::cubin::{
    CallGraph, CompatRecords, DeviceNote, Edge, Format, InfoCode, InfoRecord, InfoRecords, Note,
    NoteKind, Prototype, Record, Section, SectionType, Signature, ToolNote,
};
use rustnvlink::error::ParseError;

use crate::facts::{Facts, Names, Value, key};

/// Adds what the records of `section` say. Sections without records, and those whose records cannot
/// be read, are left to be compared as bytes.
pub(crate) fn decode(
    names: &Names<'_, '_>,
    name: &str,
    section: &Section<'_>,
    facts: &mut Facts,
) -> bool {
    let read = match section.kind {
        SectionType::CUDA_INFO | SectionType::CUDA_MERC_INFO => info(names, name, section),
        SectionType::CUDA_COMPAT => compat(name, section),
        SectionType::CUDA_CALLGRAPH => call_graph(names, name, section),
        SectionType::CUDA_PROTOTYPE => prototypes(names, name, section),
        SectionType::NOTE => notes(name, section),
        _ => return false,
    };
    match read {
        Ok(read) => {
            read.into_iter()
                .for_each(|(key, value)| facts.add(key, value));
            true
        }
        Err(error) => {
            facts.text(key("unreadable", name, ""), error);
            false
        }
    }
}

type Read = Result<Vec<(String, Value)>, ParseError>;

fn info(names: &Names<'_, '_>, name: &str, section: &Section<'_>) -> Read {
    let mut facts = Vec::new();
    let mut order = Vec::new();
    for record in InfoRecords::new(section.data) {
        let record = record?;
        let label = match record.symbol() {
            Some(symbol) => {
                format!("{}({})", short(record.code), names.symbol(section, symbol))
            }
            None => short(record.code),
        };
        facts.push((
            key("info", name, &label),
            Value::Text(info_value(names, section, &record)),
        ));
        order.push(label);
    }
    facts.push((key("info", name, "order"), Value::List(order)));
    Ok(facts)
}

fn short(code: InfoCode) -> String {
    code.short_name()
        .map_or_else(|| code.to_string(), str::to_owned)
}

fn info_value(names: &Names<'_, '_>, section: &Section<'_>, record: &InfoRecord<'_>) -> String {
    if record.code == InfoCode::EXTERNS {
        let symbols: Vec<String> = record
            .externs()
            .map(|symbol| names.symbol(section, symbol))
            .collect();
        return symbols.join(", ");
    }
    let skipped = usize::from(record.symbol().is_some());
    value(record, skipped)
}

/// A value without its first `skipped` words.
fn value<C>(record: &Record<'_, C>, skipped: usize) -> String {
    match record.format {
        Format::NoValue | Format::Byte | Format::Half => {
            format!(
                "{} {:#x}",
                record.format.name(),
                u16::from_le_bytes(record.value)
            )
        }
        Format::Sized if record.payload.len().is_multiple_of(4) => {
            let words: Vec<String> = record
                .words()
                .skip(skipped)
                .map(|word| format!("{word:#x}"))
                .collect();
            format!("{} [{}]", record.format.name(), words.join(", "))
        }
        Format::Sized => format!("{} {:02x?}", record.format.name(), record.payload),
    }
}

fn compat(name: &str, section: &Section<'_>) -> Read {
    let mut facts = Vec::new();
    let mut order = Vec::new();
    for record in CompatRecords::new(section.data) {
        let record = record?;
        let code = record.code;
        let label = code
            .short_name()
            .map_or_else(|| format!("{:#x}", code.0), str::to_owned);
        facts.push((key("compat", name, &label), Value::Text(value(&record, 0))));
        order.push(label);
    }
    facts.push((key("compat", name, "order"), Value::List(order)));
    Ok(facts)
}

fn call_graph(names: &Names<'_, '_>, name: &str, section: &Section<'_>) -> Read {
    let graph = CallGraph::parse(section.data)?;
    let symbol = |index| names.symbol(section, index);
    let edges = |edges: &[Edge]| {
        edges
            .iter()
            .map(|edge| format!("{} -> {}", symbol(edge.from), symbol(edge.to)))
            .collect()
    };
    let signatures = |signatures: &[Signature]| {
        signatures
            .iter()
            .map(|signature| {
                let prototype = names.string(section, signature.prototype);
                format!("{} {prototype}", symbol(signature.function))
            })
            .collect()
    };
    let parts: [(&str, Vec<String>); 4] = [
        ("calls", edges(&graph.calls)),
        ("address_taken", signatures(&graph.address_taken)),
        ("indirect_calls", signatures(&graph.indirect_calls)),
        ("address_references", edges(&graph.address_references)),
    ];
    Ok(parts
        .map(|(part, items)| (key("callgraph", name, part), Value::List(items)))
        .into())
}

fn prototypes(names: &Names<'_, '_>, name: &str, section: &Section<'_>) -> Read {
    let prototypes: Vec<String> = Prototype::parse_all(section.data)?
        .map(|prototype| {
            let text = names.string(section, prototype.text);
            format!("{} {text}", names.symbol(section, prototype.function))
        })
        .collect();
    Ok(vec![(key("prototype", name, ""), Value::List(prototypes))])
}

fn notes(name: &str, section: &Section<'_>) -> Read {
    let notes = Note::parse_all(section.data)?;
    let mut facts = vec![(
        key("note", name, "count"),
        Value::Text(notes.len().to_string()),
    )];
    for (index, note) in notes.iter().enumerate() {
        let mut fact = |what: &str, value: &dyn Display| {
            facts.push((
                key("note", name, &format!("{index}.{what}")),
                Value::Text(value.to_string()),
            ));
        };
        fact("owner", &note.owner);
        fact("type", &note.kind.0);
        match note.kind {
            NoteKind::TOOL => {
                let tool = ToolNote::parse(note.description)?;
                fact("version", &tool.version);
                fact("object", &tool.object);
                fact("tool", &tool.tool);
                fact("tool_version", &tool.tool_version);
                fact("branch", &tool.branch);
                fact("options", &tool.options);
            }
            NoteKind::DEVICE => {
                let device = DeviceNote::parse(note.description)?;
                fact("version", &device.version);
                fact("virtual_sm", &device.virtual_sm);
                fact("toolkit", &device.toolkit);
                fact("reserved", &device.reserved);
                fact("extra", &format_args!("{:?}", device.extra));
            }
            _ => fact("description", &format_args!("{:02x?}", note.description)),
        }
    }
    Ok(facts)
}
