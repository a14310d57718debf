//! One image: its tables of kernels, functions and variables, and the lists asked for.

use std::collections::{BTreeSet, HashMap};
use std::io::{self, Write};

use cudalink_bindings::{Function, Name};

use super::table::{Align, Table, clean};
use super::{Style, contents, write_failure};
use crate::inspect::report::{CallGraphReport, ImageReport, RelocationReport, SymbolReport};
use crate::style::QUIET;

pub(super) fn write(out: &mut impl Write, image: &ImageReport, style: &Style) -> io::Result<()> {
    if style.only_contents && image.contents.is_empty() && image.errors.is_empty() {
        return Ok(());
    }
    heading(out, image)?;
    if !style.only_contents {
        functions(out, "KERNEL", &image.kernels, style)?;
        functions(out, "DEVICE FUNCTION", &image.functions, style)?;
        variables(out, image, style)?;
        let mut undefined = Table::new(&[("UNDEFINED", Align::Left)]);
        for name in &image.undefined {
            undefined.row(vec![style.name(name)]);
        }
        undefined.write_apart(out, 4)?;
        if style.parameters {
            parameters(out, image, style)?;
        }
        if style.all {
            tools(out, image)?;
        }
    }
    details(out, image, style)
}

/// What the image is, and what is wrong with it.
fn heading(out: &mut impl Write, image: &ImageReport) -> io::Result<()> {
    writeln!(out)?;
    let mut facts = Vec::new();
    facts.extend(
        image
            .toolkit
            .iter()
            .map(|version| format!("CUDA {version}")),
    );
    if image.debug_info {
        facts.push("debug".to_owned());
    }
    let memory = &image.memory;
    let parts = [("global", memory.global), ("shared", memory.shared)];
    facts.extend(
        parts
            .iter()
            .filter(|(_, n)| *n != 0)
            .map(|(name, n)| format!("{name} {n}")),
    );
    facts.extend(
        memory
            .constant
            .iter()
            .map(|(bank, n)| format!("constant[{bank}] {n}")),
    );
    writeln!(
        out,
        "  {} {}  {QUIET}{}{QUIET:#}",
        image.arch,
        image.object,
        facts.join(", ")
    )?;
    for failure in &image.errors {
        write_failure(out, failure, 4)?;
    }
    Ok(())
}

/// What is shown where it is asked for.
fn details(out: &mut impl Write, image: &ImageReport, style: &Style) -> io::Result<()> {
    if let Some(sections) = &image.sections {
        contents::section_table(sections).write_apart(out, 4)?;
    }
    if let Some(symbols) = &image.symbols {
        symbol_table(symbols, style).write_apart(out, 4)?;
    }
    for relocations in image.relocations.iter().flatten() {
        writeln!(
            out,
            "\n    {} {QUIET}patches{QUIET:#} {}",
            clean(&relocations.section),
            clean(&relocations.target)
        )?;
        relocation_table(out, relocations, style)?;
    }
    if let Some(graph) = &image.call_graph {
        writeln!(out, "\n    {QUIET}CALL GRAPH{QUIET:#}")?;
        call_graph(out, graph, style)?;
    }
    for section in &image.contents {
        contents::write(out, section, style)?;
    }
    Ok(())
}

fn number(value: Option<u32>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

/// Zero is not worth a column.
fn unless_zero(value: u64) -> String {
    if value == 0 {
        String::new()
    } else {
        value.to_string()
    }
}

fn functions(
    out: &mut impl Write,
    heading: &str,
    functions: &[Function],
    style: &Style,
) -> io::Result<()> {
    let banks: BTreeSet<u8> = functions
        .iter()
        .flat_map(|f| f.constant.keys().copied())
        .collect();
    let constants: Vec<String> = banks.iter().map(|bank| format!("CONST[{bank}]")).collect();
    let numbers =
        |names: &[&'static str]| names.iter().map(|n| (*n, Align::Right)).collect::<Vec<_>>();
    let mut columns = numbers(&["REG", "FRAME", "STACK", "SHARED", "LOCAL"]);
    columns.extend(constants.iter().map(|name| (name.as_str(), Align::Right)));
    columns.extend(numbers(&["BAR", "PARAMS", "TEX", "SURF", "SAMP", "CODE"]));
    columns.push(("LAUNCH", Align::Left));
    columns.push((heading, Align::Left));

    let mut table = Table::new(&columns);
    for function in functions {
        let mut row = vec![
            number(function.registers),
            number(function.stack.frame),
            if function.stack.unbounded {
                "unknown".to_owned()
            } else {
                number(function.stack.minimum)
            },
            unless_zero(function.shared),
            unless_zero(function.local),
        ];
        row.extend(banks.iter().map(|bank| {
            function
                .constant
                .get(bank)
                .map_or_else(String::new, u64::to_string)
        }));
        row.extend([
            number(function.barriers),
            if function.parameters.is_empty() {
                String::new()
            } else {
                format!(
                    "{} ({} B)",
                    function.parameters.len(),
                    function.parameter_bytes
                )
            },
            unless_zero(function.textures),
            unless_zero(function.surfaces),
            unless_zero(function.samplers),
            function.code.to_string(),
            launch(function),
            style.name(&function.name),
        ]);
        table.row(row);
    }
    table.write_apart(out, 4)
}

/// What the kernel's author promised about its launches.
fn launch(function: &Function) -> String {
    let shape = |[x, y, z]: [u32; 3]| {
        let sizes = [x, y, z];
        let used = sizes
            .iter()
            .rposition(|n| *n != 1)
            .map_or(1, |last| last + 1);
        let sizes: Vec<String> = sizes[..used].iter().map(u32::to_string).collect();
        sizes.join("x")
    };
    let mut parts = Vec::new();
    parts.extend(function.required_threads.map(|t| format!("={}", shape(t))));
    parts.extend(function.max_threads.map(|t| format!("<={}", shape(t))));
    parts.extend(function.cluster.map(|c| format!("cluster {}", shape(c))));
    parts.join(", ")
}

fn variables(out: &mut impl Write, image: &ImageReport, style: &Style) -> io::Result<()> {
    let mut table = Table::new(&[
        ("SPACE", Align::Left),
        ("SIZE", Align::Right),
        ("OFFSET", Align::Right),
        ("VARIABLE", Align::Left),
    ]);
    for variable in &image.variables {
        table.row(vec![
            variable.space.clone(),
            if variable.space == "shared" && variable.section.is_none() {
                "dynamic".to_owned()
            } else {
                variable.size.to_string()
            },
            if variable.section.is_some() {
                format!("{:#x}", variable.offset)
            } else {
                String::new()
            },
            style.name(&variable.name),
        ]);
    }
    table.write_apart(out, 4)
}

fn parameters(out: &mut impl Write, image: &ImageReport, style: &Style) -> io::Result<()> {
    let mut table = Table::new(&[
        ("PARAMETER", Align::Right),
        ("OFFSET", Align::Right),
        ("SIZE", Align::Right),
        ("OF KERNEL", Align::Left),
    ]);
    for kernel in &image.kernels {
        for parameter in &kernel.parameters {
            table.row(vec![
                parameter.ordinal.to_string(),
                format!("{:#x}", parameter.offset),
                parameter.size.to_string(),
                style.name(&kernel.name),
            ]);
        }
    }
    table.write_apart(out, 4)
}

fn tools(out: &mut impl Write, image: &ImageReport) -> io::Result<()> {
    let mut table = Table::new(&[
        ("TOOL", Align::Left),
        ("VERSION", Align::Left),
        ("OPTIONS", Align::Left),
    ]);
    for tool in &image.tools {
        table.row(vec![
            tool.tool.clone(),
            tool.version.clone(),
            tool.options.clone(),
        ]);
    }
    table.write_apart(out, 4)
}

pub(super) fn symbol_table(symbols: &[SymbolReport], style: &Style) -> Table {
    let mut table = Table::new(&[
        ("SYMBOL", Align::Right),
        ("VALUE", Align::Right),
        ("SIZE", Align::Right),
        ("TYPE", Align::Left),
        ("BINDING", Align::Left),
        ("MARKS", Align::Left),
        ("SECTION", Align::Left),
        ("NAME", Align::Left),
    ]);
    for symbol in symbols {
        table.row(vec![
            symbol.index.to_string(),
            format!("{:#x}", symbol.value),
            symbol.size.to_string(),
            symbol.kind.clone(),
            symbol.binding.clone(),
            symbol.marks.join(" "),
            symbol.section.clone(),
            style.name(&symbol.name),
        ]);
    }
    table
}

pub(super) fn relocation_table(
    out: &mut impl Write,
    relocations: &RelocationReport,
    style: &Style,
) -> io::Result<()> {
    let mut table = Table::new(&[
        ("OFFSET", Align::Right),
        ("RELOCATION", Align::Left),
        ("ADDEND", Align::Right),
        ("SYMBOL", Align::Left),
    ]);
    for entry in &relocations.entries {
        table.row(vec![
            format!("{:#x}", entry.offset),
            entry.kind.clone(),
            entry
                .addend
                .map_or_else(String::new, |addend| addend.to_string()),
            style.name(&entry.symbol),
        ]);
    }
    table.write(out, 6)
}

/// Each caller once, with what it calls below it.
pub(super) fn call_graph(
    out: &mut impl Write,
    graph: &CallGraphReport,
    style: &Style,
) -> io::Result<()> {
    let edges = graph.calls.iter().map(|edge| (edge, ""));
    let references = graph
        .address_references
        .iter()
        .map(|edge| (edge, " (address)"));
    let mut places = HashMap::new();
    let mut callers: Vec<(&Name, Vec<String>)> = Vec::new();
    for (edge, how) in edges.chain(references) {
        let place = *places.entry(&edge.from.name).or_insert_with(|| {
            callers.push((&edge.from, Vec::new()));
            callers.len() - 1
        });
        callers[place]
            .1
            .push(format!("{}{how}", style.name(&edge.to)));
    }
    for (caller, callees) in callers {
        writeln!(out, "    {}", style.name(caller))?;
        for callee in callees {
            writeln!(out, "      -> {callee}")?;
        }
    }
    for (what, signatures) in [
        ("address taken", &graph.address_taken),
        ("calls through a pointer", &graph.indirect_calls),
    ] {
        for signature in signatures {
            writeln!(
                out,
                "    {} {QUIET}{what}, prototype{QUIET:#} {}",
                style.name(&signature.function),
                clean(&signature.prototype)
            )?;
        }
    }
    Ok(())
}
