//! Lines for cargo.

use std::fmt::Display;
use std::path::Path;

/// Prints a line that cargo understands.
pub(crate) fn line(key: &str, value: impl Display) {
    println!("cargo::{key}={value}");
}

/// Says that a file matters.
pub(crate) fn depends_on(path: &Path) {
    line("rerun-if-changed", path.display());
}

/// Shows a message of several lines.
pub(crate) fn message(kind: &str, text: &str) {
    for part in text.lines().filter(|part| !part.is_empty()) {
        line(kind, part);
    }
}
