//! The programs that cargo and build scripts run in place of the user's: this program, under their names.
//!
//! The name under which the program is started says which one it stands in for. [`linker`] links device code before it
//! runs the host linker; [`nvcc`] keeps build scripts from linking device code too early.

mod by_cmake;
pub(crate) mod cache;
mod dependencies;
mod host_link;
mod left_out;
pub(crate) mod line;
pub(crate) mod linker;
pub(crate) mod nvcc;
pub(crate) mod objects;

use std::env;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;

use crate::plan::{Folder, PLAN_VARIABLE, Plan};
use crate::style;

/// Who is stood in for.
#[derive(Debug, PartialEq, Eq)]
enum Role {
    /// The linker for a target triple.
    Linker(String),
    /// The compiler driver.
    Nvcc,
}

impl Role {
    /// `program` is the path this program was started by.
    fn of(program: &Path, folder: &Folder) -> Option<Self> {
        if program.starts_with(folder.toolkits()) {
            return Some(Self::Nvcc);
        }
        let triple = program.strip_prefix(folder.linkers()).ok()?.parent()?;
        Some(Self::Linker(triple.to_str()?.to_owned()))
    }
}

/// Does the work of the program that is stood in for, if any is.
pub(crate) fn play() -> Option<ExitCode> {
    let plan = PathBuf::from(env::var_os(PLAN_VARIABLE)?);
    // <folder>/run/<run>/plan.json
    let folder = Folder(plan.ancestors().nth(3)?.to_owned());
    let mut arguments = env::args_os();
    let role = Role::of(Path::new(&arguments.next()?), &folder)?;
    let arguments = arguments.collect();
    let run = || -> Result<ExitCode> {
        let plan = Plan::read(&plan)?;
        match role {
            Role::Linker(triple) => linker::run(&plan, &triple, arguments),
            Role::Nvcc => nvcc::run(&plan, arguments),
        }
    };
    Some(run().unwrap_or_else(|error| {
        style::error(&error);
        ExitCode::FAILURE
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_tells_the_role() {
        let folder = Folder("/t/cudalink".into());
        let role = |path: &str| Role::of(Path::new(path), &folder);
        let triple = "x86_64-unknown-linux-gnu";
        assert_eq!(
            role("/t/cudalink/linker/x86_64-unknown-linux-gnu/clang"),
            Some(Role::Linker(triple.to_owned()))
        );
        assert_eq!(
            role("/t/cudalink/toolkit/1-sm_90/bin/nvcc"),
            Some(Role::Nvcc)
        );
        assert_eq!(role("/usr/bin/cargo-cudalink"), None);
    }
}
