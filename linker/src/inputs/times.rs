//! How long it took to make machine code, for a table of times.

use std::time::Duration;

/// A step that made code of other code, in the words of nvlink's table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Compilation {
    /// What it was made of: a file, or nvlink's name for what no file holds.
    pub(crate) source: String,
    /// The tool that nvlink names the step after.
    pub(crate) phase: &'static str,
    /// The input that holds the source.
    pub(crate) input: String,
    /// nvlink's name for the result.
    pub(crate) output: &'static str,
    /// How long it took.
    pub(crate) elapsed: Duration,
}

impl Compilation {
    /// Of a file with PTX.
    pub(super) fn of_file(name: &str, elapsed: Duration) -> Self {
        Self {
            source: name.to_owned(),
            phase: "ptxas",
            input: name.to_owned(),
            output: "",
            elapsed,
        }
    }

    /// Of PTX in a fatbin.
    pub(super) fn of_entry(name: &str, elapsed: Duration) -> Self {
        Self {
            source: "ptx".to_owned(),
            phase: "ptxas",
            input: name.to_owned(),
            output: "cubin",
            elapsed,
        }
    }

    /// Of all LTO-IR.
    pub(super) fn of_intermediates(elapsed: Duration) -> Self {
        Self {
            source: "lto.nvvm".to_owned(),
            phase: "cicc",
            input: String::new(),
            output: "lto.ptx",
            elapsed,
        }
    }

    /// Of what was made of LTO-IR.
    pub(super) fn of_optimized(elapsed: Duration) -> Self {
        Self {
            source: "lto.ptx".to_owned(),
            phase: "ptxas",
            input: String::new(),
            output: "lto.cubin",
            elapsed,
        }
    }
}
