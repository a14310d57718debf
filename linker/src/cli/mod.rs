//! nvlink's command line: one or two dashes, `=` or a separate value.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::arch::Sm;
use crate::diagnostic::{Diagnostic, Severity};
use crate::options::{DanglingCallees, KernelFilter, Options};
use crate::{Input, link};

/// The exit codes of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// The image was written.
    Success,
    /// The command line or an input is at fault.
    Fatal,
    /// The program that was to be linked is at fault.
    LinkError,
}

impl Exit {
    /// The number the system sees.
    pub fn code(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::Fatal => 1,
            Self::LinkError => 255,
        }
    }
}

/// What was asked for on the command line.
#[derive(Debug, Default)]
struct Request {
    target: Option<String>,
    output: Option<PathBuf>,
    inputs: Vec<PathBuf>,
    compat: bool,
    kernels: Option<Vec<String>>,
    tool_record: Option<PathBuf>,
}

/// Runs the program with its arguments, the program's name left out.
pub fn run(arguments: impl Iterator<Item = OsString>) -> Exit {
    match parse(arguments).and_then(|request| execute(&request)) {
        Ok(exit) => exit,
        Err(diagnostic) => {
            eprintln!("{diagnostic}");
            Exit::Fatal
        }
    }
}

fn fatal(code: &'static str, text: impl Into<String>) -> Diagnostic {
    Diagnostic::new(Severity::Fatal, code, text)
}

fn parse(arguments: impl Iterator<Item = OsString>) -> Result<Request, Diagnostic> {
    let mut request = Request::default();
    let mut arguments = arguments;
    while let Some(argument) = arguments.next() {
        let Some(flag) = argument
            .to_str()
            .filter(|a| a.starts_with('-') && a.len() > 1)
        else {
            request.inputs.push(argument.into());
            continue;
        };
        let flag = flag.trim_start_matches('-');
        let (name, attached) = match flag.split_once('=') {
            Some((name, value)) => (name, Some(OsString::from(value))),
            None => (flag, None),
        };
        let mut value = || {
            attached
                .clone()
                .or_else(|| arguments.next())
                .ok_or_else(|| {
                    fatal(
                        "missing-value",
                        format!("Missing value for option '{name}'"),
                    )
                })
        };
        match name {
            "arch" => request.target = Some(value()?.to_string_lossy().into_owned()),
            "o" | "output-file" => request.output = Some(value()?.into()),
            "compat" => request.compat = true,
            "tool-record" => request.tool_record = Some(value()?.into()),
            "kernels-used" => request
                .kernels
                .get_or_insert_default()
                .extend(value()?.to_string_lossy().split(',').map(str::to_owned)),
            // Without named kernels, nvlink takes this to name none.
            "variables-used" => {
                value()?;
                request.kernels.get_or_insert_default();
            }
            "m64" => {}
            _ => return Err(fatal("unknown-option", format!("Unknown option '{name}'"))),
        }
    }
    Ok(request)
}

fn execute(request: &Request) -> Result<Exit, Diagnostic> {
    let target = request.target.as_deref().unwrap_or("(null)");
    let target: Sm = target
        .parse()
        .map_err(|_| fatal("unknown-arch", format!("Unknown arch name '{target}'")))?;
    let read = |path: &Path| {
        std::fs::read(path).map_err(|_| {
            fatal(
                "unreadable-input",
                format!("Could not open input file '{}'", path.display()),
            )
        })
    };
    let output = request
        .output
        .as_deref()
        .ok_or_else(|| fatal("no-output", "Must specify output file with -o option"))?;
    if request.inputs.is_empty() {
        return Err(fatal(
            "no-input",
            "No input files specified; use option --help for more information",
        ));
    }
    let files: Vec<(String, Vec<u8>)> = request
        .inputs
        .iter()
        .map(|path| Ok((path.display().to_string(), read(path)?)))
        .collect::<Result<_, Diagnostic>>()?;
    let inputs: Vec<Input<'_>> = files
        .iter()
        .map(|(name, data)| Input { name, data })
        .collect();
    let options = Options {
        target,
        dangling_callees: match request.compat {
            true => DanglingCallees::Remove,
            false => DanglingCallees::Keep,
        },
        kernels: match &request.kernels {
            Some(parts) => KernelFilter::Containing(parts.clone()),
            None => KernelFilter::All,
        },
        tool_record: match &request.tool_record {
            Some(path) => read(path)?,
            None => Vec::new(),
        },
    };
    let outcome = link(&inputs, &options);
    for message in outcome.diagnostics.messages() {
        eprintln!("{message}");
    }
    let Some(image) = outcome.image else {
        return Ok(outcome.exit());
    };
    write(output, &image)?;
    Ok(Exit::Success)
}

/// The output appears whole or not at all.
fn write(path: &Path, image: &[u8]) -> Result<(), Diagnostic> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let fail = |_| {
        fatal(
            "unwritable-output",
            format!("Could not open output file '{}'", path.display()),
        )
    };
    let mut file = tempfile::NamedTempFile::new_in(folder).map_err(fail)?;
    std::io::Write::write_all(&mut file, image).map_err(fail)?;
    file.persist(path).map_err(|e| fail(e.error))?;
    Ok(())
}
