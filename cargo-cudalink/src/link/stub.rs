//! The host object: written by us where we can, else by the C compiler.

use std::fs;
use std::io::{self, BufWriter, Write as _};
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};
use rustnvlink::container::Machine;
use rustnvlink::host::{HostError, HostMachine, HostObject};
use rustnvlink::temporary::Folder;

use crate::streams;
use crate::triple;

const ELF: [u8; 4] = *b"\x7fELF";
/// The rest of the name of a host of which only the machine is known.
const LINUX: &str = "unknown-linux-gnu";

/// Writes the object for `target`, else for the host of the inputs, else for this one.
pub(super) fn write(
    path: &Path,
    host: &HostObject<'_>,
    inputs: Option<Machine>,
    target: Option<&str>,
    with_compiler: bool,
) -> Result<()> {
    let name = match (target, inputs) {
        (Some(triple), _) => triple::machine(triple).to_owned(),
        (None, Some(machine)) => machine.to_string(),
        (None, None) => std::env::consts::ARCH.to_owned(),
    };
    match name.parse::<HostMachine>() {
        Ok(machine) if target.is_none_or(has_elf_objects) && !with_compiler => {
            streams::write_with(path, |file| {
                let mut out = BufWriter::new(file);
                host.write(machine, &mut out).map_err(|error| match error {
                    HostError::Io(error) => error,
                    error => io::Error::other(error),
                })?;
                out.flush()
            })
        }
        parsed => {
            let triple = match (target, parsed) {
                (Some(triple), _) => triple.to_owned(),
                (None, Ok(machine)) => format!("{machine}-{LINUX}"),
                (None, Err(error)) => {
                    return Err(anyhow!(error).context("name the target with --target"));
                }
            };
            compile(path, host, &triple)
        }
    }
}

/// Whether objects for a target are ELF files.
fn has_elf_objects(triple: &str) -> bool {
    !triple.contains("windows") && !triple.contains("apple")
}

/// Compiles the C form with the compiler that `cc` finds for the target.
fn compile(path: &Path, host: &HostObject<'_>, triple: &str) -> Result<()> {
    let folder = Folder::new().context("cannot make a folder for the C source")?;
    let source = folder.path().join("device_link.c");
    fs::write(&source, host.source()?)
        .with_context(|| format!("cannot write {}", source.display()))?;
    let native = format!("{}-{LINUX}", std::env::consts::ARCH);
    let objects = cc::Build::new()
        .cargo_metadata(false)
        .cargo_warnings(false)
        .target(triple)
        .host(&native)
        .opt_level(2)
        .debug(false)
        .pic(true)
        .warnings(false)
        .out_dir(folder.path())
        .file(&source)
        .try_compile_intermediates()
        .with_context(|| format!("the C compiler for {triple} has failed; CC names another one"))?;
    let [object] = &objects[..] else {
        bail!(
            "the C compiler made {} objects of one source",
            objects.len()
        );
    };
    let object = fs::read(object).with_context(|| format!("cannot read {}", object.display()))?;
    // Where there is none for the target, that of this machine may have been taken.
    if !has_elf_objects(triple) && object.starts_with(&ELF) {
        bail!("the C compiler makes ELF objects, not those of {triple}; CC names another one");
    }
    streams::write(path, &object)
}
