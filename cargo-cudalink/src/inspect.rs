//! `cargo cudalink inspect`: shows the device code in cubins, host objects, fatbins, archives and programs.
//!
//! [`files`] and [`image`] turn bytes into a [`report::Document`]; [`text`] shows it to people, serde to programs.

mod contents;
mod files;
mod image;
mod report;
mod text;

use std::collections::BTreeSet;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

use anyhow::{Result, anyhow, bail};
use clap::Args;
use rustnvlink::arch::Sm;

use crate::streams;
use crate::style::{self, Format};
use image::Details;
use report::{Document, FileReport, SCHEMA_VERSION};
use text::Style;

/// Show the device code in cubins, host objects, fatbins, archives and programs
///
/// The summary lists the images of every file, and of each image the kernels with their registers, stack, shared and
/// constant memory, barriers and parameters, the device functions and the variables. Sizes are in bytes.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cargo cudalink inspect program
  cargo cudalink inspect --arch sm_90 --parameters libother.a
  cargo cudalink inspect --section .nv.info program.cubin")]
pub(crate) struct Arguments {
    /// Files to look into; their contents tell what they are. `-` is the standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Show only images for this processor, such as sm_90 or sm_100a
    #[arg(long, value_name = "SM")]
    arch: Option<Sm>,
    /// Decode the section of this name; may be given several times
    #[arg(long, value_name = "NAME")]
    section: Vec<String>,
    /// List the sections of each image
    #[arg(long)]
    sections: bool,
    /// List the symbols of each image
    #[arg(long)]
    symbols: bool,
    /// List the relocations of each image
    #[arg(long)]
    relocations: bool,
    /// Show which function calls which
    #[arg(long)]
    call_graph: bool,
    /// List the parameters of each kernel
    #[arg(long)]
    parameters: bool,
    /// Show everything but the contents of sections
    #[arg(long)]
    all: bool,
    /// Show names as the files have them
    #[arg(long)]
    mangled: bool,
    /// How to write the result
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Does what the command line asks for.
pub(crate) fn run(arguments: Arguments) -> Result<()> {
    let all = arguments.all;
    let wanted = Details {
        sections: arguments.sections || all,
        symbols: arguments.symbols || all,
        relocations: arguments.relocations || all,
        call_graph: arguments.call_graph || all,
        contents: arguments.section,
    };
    let mut document = Document {
        schema_version: SCHEMA_VERSION,
        files: arguments
            .files
            .iter()
            .map(|path| files::inspect(path, &wanted))
            .collect(),
    };
    let held = files::processors(&document.files);
    if let Some(arch) = arguments.arch {
        let arch = arch.to_string();
        for file in &mut document.files {
            files::retain(file, &arch);
        }
    }

    let mut out = BufWriter::new(style::stdout());
    let written = match arguments.format {
        Format::Json => write_json(&mut out, &document),
        Format::Text => {
            let style = Style {
                mangled: arguments.mangled,
                parameters: arguments.parameters || all,
                all,
                filtered: arguments.arch.is_some(),
                only_contents: !wanted.contents.is_empty(),
            };
            text::write(&mut out, &document, &style)
        }
    };
    streams::printed(written.and_then(|()| out.flush()))?;
    drop(out);

    complain(&document.files, arguments.format)?;
    if let Some(arch) = arguments.arch {
        check_arch(arch, &held)?;
    }
    check_sections(&wanted.contents, &document.files)
}

fn write_json(out: &mut impl Write, document: &Document) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, document)?;
    writeln!(out)
}

/// Fails if anything could not be read. Text shows where inside a file; what concerns a whole file is told here.
fn complain(files: &[FileReport], format: Format) -> Result<()> {
    let mut damaged = BTreeSet::new();
    let mut failures = Vec::new();
    for file in files {
        for (place, failure) in files::failures(file) {
            damaged.insert(&file.name);
            failures.push((
                place == streams::shown(&file.name),
                text::clean(&format!("{place}{failure}")),
            ));
        }
    }
    if let [(_, only)] = &failures[..] {
        bail!("{only}");
    }
    for (whole_file, failure) in &failures {
        if *whole_file || format == Format::Json {
            style::error(&anyhow!("{failure}"));
        }
    }
    if !damaged.is_empty() {
        bail!(
            "{} of {} files cannot be read in full",
            damaged.len(),
            files.len()
        );
    }
    Ok(())
}

fn check_arch(arch: Sm, held: &BTreeSet<String>) -> Result<()> {
    if held.contains(&arch.to_string()) {
        return Ok(());
    }
    if held.is_empty() {
        bail!("no image for {arch}: there is no device code in the files");
    }
    let held: Vec<&str> = held.iter().map(String::as_str).collect();
    bail!(
        "no image for {arch}; there are images for {}",
        held.join(", ")
    )
}

fn check_sections(names: &[String], files: &[FileReport]) -> Result<()> {
    for name in names {
        if !files.iter().any(|file| files::has_contents(file, name)) {
            bail!("no image has a section {name}; --sections lists those there are");
        }
    }
    Ok(())
}
