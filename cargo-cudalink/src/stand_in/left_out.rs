//! Libraries that have what a link lacks, for links in which something is undefined: those that cargo has built and the
//! link has left out, and those with a device link of their own.
//!
//! rustc links no crate that no Rust code names, although cargo tells it where the libraries of all of them lie. Crates
//! whose device functions are called are often of this kind: nothing of them is there for Rust code.

use std::path::{Path, PathBuf};

use rustnvlink::codes;
use rustnvlink::device_link::Linked;
use rustnvlink::diagnostic::some_of;

use super::cache::without_hash;
use super::objects::shown;

/// The folder in which cargo keeps what build scripts make: `build/PACKAGE-HASH/out`, or `build/PACKAGE/HASH/out`.
const BUILD_SCRIPTS: &str = "build";

/// How much is undefined.
pub(super) fn missing(linked: &Linked) -> usize {
    let messages = linked.messages.iter();
    messages
        .filter(|message| message.diagnostic.code == codes::UNDEFINED_REFERENCE)
        .count()
}

/// Whether less is undefined in a link with more libraries, and nothing else is wrong that ends a link before.
pub(super) fn is_less(linked: &Linked, before: usize) -> bool {
    missing(linked) < before && !linked.has(codes::MULTIPLE_DEFINITION)
}

/// What to do about shared libraries that were made of what is missing.
pub(super) fn help_with_shared(libraries: &[PathBuf]) -> Option<String> {
    let names: Vec<String> = libraries.iter().map(|path| shown(path)).collect();
    let names = some_of(&names)?;
    Some(format!(
        "{names} has what is missing in a device link of its own, and device functions of a shared library cannot be called \
         from elsewhere: link what it is made of statically (of a Rust crate, the `rlib` without the `dylib`)"
    ))
}

/// What to do about a library that has what is missing.
pub(super) fn help(library: &Path, shown: &str) -> String {
    match package(library) {
        Some(package) => format!(
            "'{shown}' has what is missing and is not linked, as no Rust code names its crate: write `use {} as _;` in the \
             crate that needs it",
            package.replace('-', "_")
        ),
        None => format!(
            "'{shown}' has what is missing and is not linked: a build script links it with `cargo::rustc-link-lib`"
        ),
    }
}

/// The package whose build script has made a file.
pub(super) fn package(path: &Path) -> Option<&str> {
    let mut parts = path.iter().map(|part| part.to_str().unwrap_or_default());
    parts.by_ref().find(|part| *part == BUILD_SCRIPTS)?;
    parts.next().map(without_hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_known_by_the_folders_of_their_build_scripts() {
        let check = |path: &str, expected| assert_eq!(package(Path::new(path)), expected);
        check(
            "debug/build/my-math-0123456789abcdef/out/libm.a",
            Some("my-math"),
        );
        check(
            "debug/build/my-math/0123456789abcdef/out/libm.a",
            Some("my-math"),
        );
        check("debug/deps/libm.a", None);
    }
}
