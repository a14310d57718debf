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

/// Has libraries looked for in a folder.
pub(crate) fn search_in(folder: &Path) {
    line(
        "rustc-link-search",
        format_args!("native={}", folder.display()),
    );
}

/// Has a library linked: its name, perhaps behind its kind.
pub(crate) fn link_with(library: impl Display) {
    line("rustc-link-lib", library);
}

/// Shows a message of several lines.
pub(crate) fn message(kind: &str, text: &str) {
    for part in text.lines().filter(|part| !part.is_empty()) {
        line(kind, part);
    }
}
