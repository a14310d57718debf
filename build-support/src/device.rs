//! The device link, through the library.

use std::num::NonZero;
use std::path::{Path, PathBuf};

use cudalink_toolkit::{Toolkit, ToolkitError};
use rustnvlink::arch::Sm;
use rustnvlink::codes;
use rustnvlink::device_link::{DeviceLink, Linked, Request, Shown, summarize};
use rustnvlink::diagnostic::Severity;
use rustnvlink::inputs::{Assembler, Environment, Kernels, LinkTime, Wanted};

use crate::compile::{Code, Compiled};
use crate::error::Error;
use crate::{environment, output};

/// A file to link.
#[derive(Debug, Clone)]
pub(crate) struct Input {
    path: PathBuf,
    /// What messages call it, if users do not know the file itself.
    source: Option<PathBuf>,
}

impl Input {
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl From<PathBuf> for Input {
    fn from(path: PathBuf) -> Self {
        Self { path, source: None }
    }
}

impl From<Compiled> for Input {
    fn from(compiled: Compiled) -> Self {
        Self {
            path: compiled.path,
            source: Some(compiled.source),
        }
    }
}

/// Links all kernels of these files for these processors. Host code in Rust may launch any of them. `help` says where
/// device code may come from that is missing.
pub(crate) fn link(
    inputs: &[Input],
    targets: &[Sm],
    toolkit: Option<&Toolkit>,
    code: Code,
    help: Option<&str>,
) -> Result<Linked, Error> {
    // Cargo ends build scripts by signals, and what the assembler is given lies in a folder for the time being.
    rustnvlink::temporary::remove_on_signals();
    // What this build script makes is newer than cargo's mark of its last run.
    let own = environment::out_dir()?;
    let others = inputs.iter().filter(|input| !input.path.starts_with(&own));
    others.for_each(|other| output::depends_on(&other.path));
    let linked = DeviceLink::new(&request(inputs, toolkit, code)?)
        .environment(Environment::from_process())
        .threads(NonZero::new(environment::jobs()?))
        .device_runtime(&|| toolkit.and_then(|toolkit| toolkit.libcudadevrt().ok()))
        .link_files(|_| targets.to_vec());
    if linked.uses_device_runtime {
        output::link_with("cudadevrt");
    }
    let mut problems = Vec::new();
    // What helps where something is undefined.
    let mut hints = Vec::new();
    let mut lacks_code = false;
    for Shown {
        severity,
        code,
        text,
        ..
    } in summarize(&linked.messages)
    {
        let text = by_sources(text, inputs);
        lacks_code |= code == codes::UNDEFINED_REFERENCE;
        match severity {
            Severity::Text => {}
            Severity::Info => hints.push(text),
            Severity::Warning => output::message("warning", &text),
            Severity::Error | Severity::Fatal => problems.push(text),
        }
    }
    match linked.is_complete() {
        true => Ok(linked),
        false => {
            problems.extend(hints);
            problems.extend(
                help.filter(|_| lacks_code)
                    .map(|help| format!("    help: {help}")),
            );
            Err(Error::Link(problems.join("\n")))
        }
    }
}

/// What is linked, and what the link takes of a toolkit.
fn request(
    inputs: &[Input],
    toolkit: Option<&Toolkit>,
    code: Code,
) -> Result<Request, ToolkitError> {
    let files = inputs.iter().map(|input| input.path.clone()).collect();
    let optimizes = code == Code::LinkTime;
    let programs = toolkit.map(|toolkit| toolkit.link_programs(optimizes));
    let (ptxas, libnvjitlink) = match programs.transpose()? {
        Some(programs) => (Some(programs.ptxas), programs.libnvjitlink),
        None => (None, None),
    };
    Ok(Request::new(
        Wanted::new(files)
            .kernels(Kernels::All)
            .assembler(Assembler::new(ptxas))
            .link_time(optimizes.then(|| LinkTime::new(libnvjitlink))),
    ))
}

/// The same message about sources where it is about what was compiled from them.
fn by_sources(text: String, inputs: &[Input]) -> String {
    inputs.iter().fold(text, |text, input| match &input.source {
        Some(source) => text.replace(&*input.path.to_string_lossy(), &source.to_string_lossy()),
        None => text,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_name_sources() {
        let compiled = Compiled {
            path: "/out/app/k.o".into(),
            source: "device/k.cu".into(),
        };
        let inputs = [
            compiled.into(),
            Input::from(PathBuf::from("/out/app/libx.a")),
        ];
        let check = |text: &str, expected: &str| {
            assert_eq!(by_sources(text.to_owned(), &inputs), expected);
        };
        check(
            "'f' in '/out/app/k.o', first in '/out/app/libx.a:k.o'",
            "'f' in 'device/k.cu', first in '/out/app/libx.a:k.o'",
        );
    }
}
