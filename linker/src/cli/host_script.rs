//! Scripts for the host linker, with nvlink's words where there is none.

use super::lower::HostScript;
use super::output;
use crate::Exit;
use crate::codes;
use crate::diagnostic::Diagnostic;
use crate::host::script;

/// Writes or prints a script.
pub(super) fn write(wanted: &HostScript) -> Result<Exit, Diagnostic> {
    let text = match &wanted.base {
        Some(base) => script::absolute(base).map_err(|why| {
            let text = "Host linker script creation failed.";
            Diagnostic::fatal(codes::HOST_SCRIPT_FAILED, text).with_detail(why)
        })?,
        None => script::SECTIONS.to_owned(),
    };
    match &wanted.output {
        Some(path) => output::write(path, text.as_bytes()).map(|()| Exit::Success),
        None => output::print(&text),
    }
}
