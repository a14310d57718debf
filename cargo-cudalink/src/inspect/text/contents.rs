//! The contents of single sections.

use std::io::{self, Write};

use super::table::{Align, Table, clean};
use super::{Style, image};
use crate::inspect::report::{Contents, ContentsReport, NoteReport, RecordReport, SectionReport};
use crate::style::QUIET;

pub(super) fn section_table(sections: &[SectionReport]) -> Table {
    let mut table = Table::new(&[
        ("SECTION", Align::Right),
        ("TYPE", Align::Left),
        ("FLAGS", Align::Right),
        ("OFFSET", Align::Right),
        ("SIZE", Align::Right),
        ("ALIGN", Align::Right),
        ("LINK", Align::Right),
        ("INFO", Align::Right),
        ("NAME", Align::Left),
    ]);
    for section in sections {
        table.row(vec![
            section.index.to_string(),
            section.kind.clone(),
            format!("{:#x}", section.flags),
            format!("{:#x}", section.offset),
            section.size.to_string(),
            section.align.to_string(),
            section.link.to_string(),
            format!("{:#x}", section.info),
            section.name.clone(),
        ]);
    }
    table
}

pub(super) fn write(
    out: &mut impl Write,
    section: &ContentsReport,
    style: &Style,
) -> io::Result<()> {
    let header = &section.header;
    writeln!(
        out,
        "\n    {} {QUIET}{}, {} bytes at {:#x}{QUIET:#}",
        clean(&header.name),
        header.kind,
        header.size,
        header.offset
    )?;
    match &section.contents {
        Contents::NoBytes => writeln!(out, "      {QUIET}no bytes in the file{QUIET:#}"),
        Contents::Records(records) => write_records(out, records, style),
        Contents::Symbols(symbols) => image::symbol_table(symbols, style).write(out, 6),
        Contents::Relocations(relocations) => {
            let target = clean(&relocations.target);
            writeln!(out, "      {QUIET}patches{QUIET:#} {target}")?;
            image::relocation_table(out, relocations, style)
        }
        Contents::CallGraph(graph) => image::call_graph(out, graph, style),
        Contents::Prototypes(signatures) => {
            let mut table = Table::new(&[("PROTOTYPE", Align::Left), ("FUNCTION", Align::Left)]);
            for signature in signatures {
                table.row(vec![
                    signature.prototype.clone(),
                    style.name(&signature.function),
                ]);
            }
            table.write(out, 6)
        }
        Contents::Notes(notes) => write_notes(out, notes),
        Contents::Strings(strings) => {
            let mut table = Table::new(&[("OFFSET", Align::Right), ("STRING", Align::Left)]);
            for string in strings {
                table.row(vec![format!("{:#x}", string.offset), string.text.clone()]);
            }
            table.write(out, 6)
        }
        Contents::Bytes(bytes) => write_bytes(out, bytes),
    }
}

fn write_records(out: &mut impl Write, records: &[RecordReport], style: &Style) -> io::Result<()> {
    let mut table = Table::new(&[
        ("OFFSET", Align::Right),
        ("RECORD", Align::Left),
        ("VALUE", Align::Left),
    ]);
    for record in records {
        let mut parts: Vec<String> = record.symbols.iter().map(|name| style.name(name)).collect();
        parts.extend(record.value.map(|value| format!("{value:#x}")));
        if let Some(parameter) = &record.parameter {
            parts.push(format!(
                "parameter {} at {:#x}, {} bytes",
                parameter.ordinal, parameter.offset, parameter.size
            ));
        }
        let words = if record.parameter.is_some() {
            &[]
        } else {
            &record.words[..]
        };
        let count = is_count(&record.name);
        parts.extend(words.iter().map(|word| {
            if count {
                word.to_string()
            } else {
                format!("{word:#x}")
            }
        }));
        parts.extend(record.rest.iter().map(|byte| format!("{byte:02x}")));
        table.row(vec![
            format!("{:#x}", record.offset),
            record.name.clone(),
            parts.join(" "),
        ]);
    }
    table.write(out, 6)
}

/// Whether a record's words are numbers of things, which people read as decimals.
fn is_count(name: &str) -> bool {
    matches!(
        name.trim_start_matches("EIATTR_"),
        "REGCOUNT"
            | "FRAME_SIZE"
            | "MIN_STACK_SIZE"
            | "MAX_STACK_SIZE"
            | "CRS_STACK_SIZE"
            | "MAX_THREADS"
            | "REQNTID"
            | "CTA_PER_CLUSTER"
    )
}

fn write_notes(out: &mut impl Write, notes: &[NoteReport]) -> io::Result<()> {
    for note in notes {
        writeln!(
            out,
            "      {} {QUIET}note of type {}{QUIET:#}",
            clean(&note.owner),
            note.kind
        )?;
        for (name, value) in &note.fields {
            writeln!(out, "        {QUIET}{name}{QUIET:#} {}", clean(value))?;
        }
    }
    Ok(())
}

/// Sixteen bytes to a line, as text too.
fn write_bytes(out: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
    for (line, chunk) in bytes.chunks(16).enumerate() {
        write!(out, "      {QUIET}{:08x}{QUIET:#} ", line * 16)?;
        for at in 0..16 {
            let gap = if at % 4 == 0 { " " } else { "" };
            match chunk.get(at) {
                Some(byte) => write!(out, "{gap}{byte:02x}")?,
                None => write!(out, "{gap}  ")?,
            }
        }
        let shown = |byte: &u8| match byte {
            b' '..=b'~' => char::from(*byte),
            _ => '.',
        };
        writeln!(out, "  {}", chunk.iter().map(shown).collect::<String>())?;
    }
    Ok(())
}
