//! The device link, through the library.

use std::path::PathBuf;

use cudalink_toolkit::{Tool, Toolkit};
use rustnvlink::arch::Sm;
use rustnvlink::device_link::{Linked, Request, device_link};
use rustnvlink::diagnostic::Severity;
use rustnvlink::inputs::{Assembler, Kernels};

use crate::error::Error;
use crate::output;

/// Links all kernels of these files for these processors. Host code in Rust may launch any of them.
pub(crate) fn link(
    files: Vec<PathBuf>,
    targets: &[Sm],
    toolkit: Option<&Toolkit>,
) -> Result<Linked, Error> {
    for file in &files {
        output::depends_on(file);
    }
    let environment = rustnvlink::cli::environment();
    let mut request = Request {
        targets: targets.to_vec(),
        kernels: Kernels::All,
        assembler: Assembler {
            program: toolkit.and_then(|toolkit| toolkit.tool(Tool::Ptxas).ok()),
            arguments: Vec::new(),
        },
        ..Request::new(files)
    };
    let mut linked = device_link(&request, &environment);
    let lacks_something = linked
        .messages
        .iter()
        .any(|message| message.diagnostic.code == "undefined-reference");
    // The device runtime is looked for only where something is missing: most programs do without.
    if !linked.is_complete()
        && lacks_something
        && let Some(library) = toolkit.and_then(|toolkit| toolkit.libcudadevrt().ok())
    {
        output::line("rustc-link-lib", "cudadevrt");
        request.files.push(library);
        linked = device_link(&request, &environment);
    }
    let mut problems = Vec::new();
    for message in &linked.messages {
        let diagnostic = &message.diagnostic;
        let mut text = diagnostic.text.clone();
        if let Some(detail) = &diagnostic.detail {
            text = format!("{text}: {detail}");
        }
        match diagnostic.severity {
            Severity::Text | Severity::Info => {}
            Severity::Warning => output::message("warning", &text),
            Severity::Error | Severity::Fatal if problems.contains(&text) => {}
            Severity::Error | Severity::Fatal => problems.push(text),
        }
    }
    match linked.is_complete() {
        true => Ok(linked),
        false => Err(Error::Link(problems.join("\n"))),
    }
}
