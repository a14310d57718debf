//! `cargo cudalink script`: scripts for host linkers that put device code behind everything else.

use std::path::PathBuf;

use anyhow::{Result, anyhow};
use clap::{Args, ValueEnum};
use rustnvlink::host::script::{self, BaseScript};

use crate::streams;

/// Write a host linker script that keeps gigabytes of device code out of the way of host code
///
/// With much device code between them, host code cannot reach its data, and the link ends with "relocation truncated to
/// fit" or "out of range". With `-Wl,-T,SCRIPT` the device code goes behind everything else.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Which script
    #[arg(value_enum, default_value_t)]
    kind: Kind,
    /// Where it goes; `-` is the standard output
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    output: PathBuf,
    /// The compiler whose linker has a script of its own, for lcs-abs
    #[arg(long, value_name = "PROGRAM", default_value = "gcc")]
    host_compiler: PathBuf,
    /// The linker's own script for shared libraries, for lcs-abs
    #[arg(long)]
    shared: bool,
    /// The linker's own script for relocatable objects, for lcs-abs
    #[arg(short, long)]
    relocatable: bool,
}

/// Which script.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// For -T of GNU ld and lld: adds to the linker's own script
    #[default]
    Insert,
    /// What nvlink -ghls=lcs-aug prints: a part for scripts of your own
    LcsAug,
    /// What nvlink -ghls=lcs-abs prints: a whole script, for -T of GNU ld
    LcsAbs,
}

/// Does what the command line asks for.
pub(crate) fn run(arguments: Arguments) -> Result<()> {
    let text = match arguments.kind {
        Kind::Insert => format!("{}{}", script::SECTIONS, script::INSERT),
        Kind::LcsAug => script::SECTIONS.to_owned(),
        Kind::LcsAbs => {
            let mut base = BaseScript::new(arguments.host_compiler);
            base.shared = arguments.shared;
            base.relocatable = arguments.relocatable;
            script::absolute(&base).map_err(|error| anyhow!(error))?
        }
    };
    streams::write(&arguments.output, text.as_bytes())
}
