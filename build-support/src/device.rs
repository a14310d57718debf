//! The device link, through the library.

use std::path::PathBuf;

use cudalink_toolkit::{Tool, Toolkit};
use rustnvlink::arch::Sm;
use rustnvlink::cli::messages::Messages;
use rustnvlink::device_link::{Linked, Request, device_link};
use rustnvlink::diagnostic::Severity;
use rustnvlink::inputs::{Assembler, Files, Kernels, LinkTime, Wanted};

use crate::compile::Code;
use crate::error::Error;
use crate::{environment, output};

/// Links all kernels of these files for these processors. Host code in Rust may launch any of them.
pub(crate) fn link(
    files: Vec<PathBuf>,
    targets: &[Sm],
    toolkit: Option<&Toolkit>,
    code: Code,
) -> Result<Linked, Error> {
    // What this build script makes is newer than cargo's mark of its last run.
    let own = environment::out_dir()?;
    for file in files.iter().filter(|file| !file.starts_with(&own)) {
        output::depends_on(file);
    }
    let environment = rustnvlink::cli::environment();
    let request = Request::new(Wanted {
        kernels: Kernels::All,
        assembler: Assembler {
            program: toolkit.and_then(|toolkit| toolkit.tool(Tool::Ptxas).ok()),
            ..Assembler::default()
        },
        link_time: (code == Code::LinkTime).then(|| LinkTime {
            library: toolkit.and_then(|toolkit| toolkit.libnvjitlink().ok()),
            ..LinkTime::default()
        }),
        ..Wanted::new(files)
    });
    let messages = Messages::default();
    let files = Files::read(&request.inputs, &environment);
    let linked = device_link(&request, targets, files, &environment, &messages, || {
        toolkit.and_then(|toolkit| toolkit.libcudadevrt().ok())
    });
    if linked.uses_device_runtime {
        output::line("rustc-link-lib", "cudadevrt");
    }
    let mut problems = Vec::new();
    // What helps where something is undefined.
    let mut hints = Vec::new();
    for message in &linked.messages {
        let diagnostic = &message.diagnostic;
        let mut text = diagnostic.text.clone();
        if let Some(detail) = &diagnostic.detail {
            text = format!("{text}: {detail}");
        }
        for note in &diagnostic.notes {
            text = format!("{text}\n    {note}");
        }
        match diagnostic.severity {
            Severity::Text => {}
            Severity::Info if hints.contains(&text) => {}
            Severity::Info => hints.push(text),
            Severity::Warning => output::message("warning", &text),
            Severity::Error | Severity::Fatal if problems.contains(&text) => {}
            Severity::Error | Severity::Fatal => problems.push(text),
        }
    }
    match linked.is_complete() {
        true => Ok(linked),
        false => {
            problems.extend(hints);
            Err(Error::Link(problems.join("\n")))
        }
    }
}
