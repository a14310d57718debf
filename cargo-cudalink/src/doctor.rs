//! `cargo cudalink doctor`: says what is wrong with the device link of finished files, and what helps; without files, what
//! the machine lacks.
//!
//! [`survey`] reads the files, [`checks`] compares what they say of each other. [`machine`] looks at the machine.

mod checks;
mod code;
pub(crate) mod codes;
mod machine;
mod survey;

use std::collections::BTreeSet;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::Args;
use rustnvlink::arch::Sm;
use serde::Serialize;

use crate::cargo::command_with_configuration;
use crate::platform;
use crate::settings::processor;
use crate::streams;
use crate::style::{self, ERROR, Format, GOOD, NOTE, QUIET};
use survey::Unit;

/// The number a program that reads the JSON can rely on.
const SCHEMA_VERSION: u32 = 1;

/// Find out why device code is not linked, linked twice, or lacks a processor, or what this machine lacks
///
/// Takes the objects and libraries that go into one program, in the order of its link, or finished programs and shared
/// libraries. Ends with code 1 if something is wrong. Without files, it looks at this machine: CUDA toolkit, compilers,
/// linkers, cache folder and driver.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cargo cudalink doctor
  cargo cudalink doctor main.o part.o device_link.o libother.a
  cargo cudalink doctor --arch sm_80,sm_90 program")]
pub(crate) struct Arguments {
    /// Objects, static libraries, shared libraries and programs; `-` is the standard input
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Processors that linked code has to be there for, such as sm_80,sm_90
    #[arg(long, value_name = "SM,..", value_delimiter = ',', value_parser = processor, requires = "files")]
    arch: Vec<Sm>,
    /// Fail on warnings, too, and where something of this machine is missing
    #[arg(long)]
    deny_warnings: bool,
    /// How to write the result
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
enum Severity {
    /// Worth knowing.
    Note,
    /// The program may lack something.
    Warning,
    /// The program does not link or does not run.
    Error,
}

/// Something that is wrong.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct Finding {
    severity: Severity,
    /// A short name that stays the same between releases.
    code: &'static str,
    message: String,
    /// The files concerned, with the modules concerned in each.
    places: Vec<Place>,
    /// What helps.
    #[serde(skip_serializing_if = "Option::is_none")]
    fix: Option<String>,
    /// What a shell does of that, each a line of its own.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    commands: Vec<String>,
}

impl Finding {
    fn new(severity: Severity, code: &'static str, message: impl Into<String>) -> Self {
        Self {
            severity,
            code,
            message: message.into(),
            places: Vec::new(),
            fix: None,
            commands: Vec::new(),
        }
    }

    /// A finding about some places, if there are any.
    fn at(
        places: Vec<Place>,
        severity: Severity,
        code: &'static str,
        message: impl Into<String>,
    ) -> Option<Self> {
        (!places.is_empty()).then(|| Self {
            places,
            ..Self::new(severity, code, message)
        })
    }

    fn with_fix(self, fix: impl Into<String>) -> Self {
        Self {
            fix: Some(fix.into()),
            ..self
        }
    }

    fn with_commands(self, commands: Vec<String>) -> Self {
        Self { commands, ..self }
    }
}

/// One file that a finding is about.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
struct Place {
    file: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<String>,
}

#[derive(Serialize)]
struct Document<'a> {
    schema_version: u32,
    files: &'a [Unit],
    findings: &'a [Finding],
}

/// Does what the command line asks for. What cargo's configuration chooses counts for the machine as it does in builds.
pub(crate) fn run(arguments: Arguments) -> Result<ExitCode> {
    match arguments.files.is_empty() {
        true => match command_with_configuration()? {
            Some(command) => return platform::replace_by(command),
            None => machine::run(arguments.format, arguments.deny_warnings),
        },
        false => look_at_files(&arguments),
    }?;
    Ok(ExitCode::SUCCESS)
}

fn look_at_files(arguments: &Arguments) -> Result<()> {
    let (units, mut findings) = survey::read(&arguments.files);
    let changed = code::changed_since(&units, &arguments.files);
    let required: BTreeSet<Sm> = arguments.arch.iter().copied().collect();
    findings.extend(checks::all(&units, changed, &required));
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    let count = |severity| findings.iter().filter(|f| f.severity == severity).count();
    let (errors, warnings) = (count(Severity::Error), count(Severity::Warning));
    let written = match arguments.format {
        Format::Json => write_json(&units, &findings),
        Format::Text => write_text(&units, &findings),
    };
    streams::printed(written)?;
    if errors > 0 || (arguments.deny_warnings && warnings > 0) {
        bail!(
            "the device link is not in order: {}, {}",
            style::count(errors, "error"),
            style::count(warnings, "warning")
        );
    }
    Ok(())
}

fn write_json(units: &[Unit], findings: &[Finding]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    let document = Document {
        schema_version: SCHEMA_VERSION,
        files: units,
        findings,
    };
    serde_json::to_writer_pretty(&mut out, &document)?;
    writeln!(out)
}

fn write_text(units: &[Unit], findings: &[Finding]) -> io::Result<()> {
    let mut out = style::stdout();
    for finding in findings {
        let (style, severity) = match finding.severity {
            Severity::Note => (NOTE, "note"),
            Severity::Warning => (NOTE, "warning"),
            Severity::Error => (ERROR, "error"),
        };
        writeln!(
            out,
            "{style}{severity}{style:#}: {} {QUIET}[{}]{QUIET:#}",
            style::visible(&finding.message),
            finding.code
        )?;
        for place in &finding.places {
            let mut line = streams::shown(&place.file).into_owned();
            if let Some(detail) = &place.detail {
                line += ": ";
                line += detail;
            }
            writeln!(out, "    {}", style::visible(&line))?;
        }
        if let Some(fix) = &finding.fix {
            let end = if finding.commands.is_empty() { "" } else { ":" };
            let fix = style::visible(fix);
            writeln!(out, "  {GOOD}help{GOOD:#}: {fix}{end}")?;
        }
        for command in &finding.commands {
            writeln!(out, "    {}", style::visible(command))?;
        }
    }
    if findings.iter().any(|f| f.severity > Severity::Note) {
        return Ok(());
    }
    let with_code = units.iter().filter(|unit| unit.has_device_code()).count();
    let all = match units.len() {
        1 => "1 file".to_owned(),
        number => format!("{number} files and members"),
    };
    match with_code {
        0 if units.iter().any(|unit| unit.is_offloading) => Ok(()),
        0 => writeln!(out, "{NOTE}note{NOTE:#}: there is no device code in {all}"),
        _ => writeln!(
            out,
            "{GOOD}ok{GOOD:#}: nothing is wrong with the device code in {with_code} of {all}"
        ),
    }
}
