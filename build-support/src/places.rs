//! Where files go: those that are named after their sources alone, so that two builds of a build script do not take each
//! other's, and those that have a name of the build script's choice.

use std::collections::{BTreeMap, BTreeSet};
use std::iter;
use std::path::{Component, Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::error::Error;

/// How each file was made that builds of this script have asked for.
static MADE: Mutex<BTreeMap<PathBuf, String>> = Mutex::new(BTreeMap::new());

/// The name of a static library, which may be given as that of its file, as the `cc` crate takes it.
pub(crate) fn library(name: &str) -> Result<&str, Error> {
    let whole = name.strip_prefix("lib");
    let stem = whole.and_then(|name| name.strip_suffix(".a"));
    let stem = stem.unwrap_or(name);
    match components(stem) {
        Some(1) => Ok(stem),
        Some(_) | None => Err(Error::NoName(name.to_owned())),
    }
}

/// The name of files in `OUT_DIR`, or in a folder there.
pub(crate) fn files(name: &str) -> Result<&str, Error> {
    match components(name) {
        Some(_) => Ok(name),
        None => Err(Error::NoName(name.to_owned())),
    }
}

/// Of how many words a name is made that lies where it belongs.
fn components(name: &str) -> Option<usize> {
    let mut parts = Path::new(name).components();
    let inside = parts.try_fold(0, |count, part| {
        matches!(part, Component::Normal(_)).then_some(count + 1)
    });
    inside.filter(|_| !name.is_empty() && !name.ends_with('/'))
}

/// What builds of this script have ended with.
static ENDED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// Notes that a build ends with this file, whose name the build script has chosen: no other one may.
pub(crate) fn take(file: &Path) -> Result<(), Error> {
    let mut ended = ENDED.lock().unwrap_or_else(PoisonError::into_inner);
    match ended.insert(file.to_owned()) {
        true => Ok(()),
        false => Err(Error::SameResult(file.to_owned())),
    }
}

/// The folder for files with these names that are made in these ways: `base`, unless an earlier build has made one of them
/// otherwise there, else the first of the folders `2`, `3` and so on in it of which that is not so.
pub(crate) fn folder(base: &Path, files: &[(String, String)]) -> PathBuf {
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    let is_free = |folder: &PathBuf| {
        files.iter().all(|(name, way)| {
            let there = made.get(&folder.join(name));
            there.is_none_or(|there| there == way)
        })
    };
    let others = (2..).map(|number: u32| base.join(number.to_string()));
    let folder = iter::once(base.to_owned()).chain(others).find(is_free);
    let folder = folder.expect("there are more numbers than builds");
    made.extend(
        files
            .iter()
            .map(|(name, way)| (folder.join(name), way.clone())),
    );
    folder
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_files() {
        let check = |name: &str, as_library: Option<&str>, as_files: Option<&str>| {
            assert_eq!(library(name).ok(), as_library, "{name}");
            assert_eq!(files(name).ok(), as_files, "{name}");
        };
        check("solver", Some("solver"), Some("solver"));
        check("libsolver.a", Some("solver"), Some("libsolver.a"));
        check("libsolver", Some("libsolver"), Some("libsolver"));
        check("a/b", None, Some("a/b"));
        for name in ["", "lib.a", "a/", "/a", "../a", "."] {
            assert!(library(name).is_err(), "{name}");
        }
        for name in ["", "a/", "/a", "../a", "."] {
            assert!(files(name).is_err(), "{name}");
        }
    }

    #[test]
    fn one_build_ends_with_a_file() {
        let file = Path::new("/out/of/that/test/libsolver.a");
        assert!(take(file).is_ok());
        assert!(take(&file.with_file_name("libother.a")).is_ok());
        assert_eq!(
            take(file).unwrap_err().to_string(),
            "two builds of this build script make libsolver.a: give one of them another name"
        );
    }

    #[test]
    fn builds_that_differ_have_folders_of_their_own() {
        let base = Path::new("/out/of/this/test");
        let check = |files: &[(&str, &str)], expected: &str| {
            let files: Vec<_> = files
                .iter()
                .map(|(name, way)| ((*name).to_owned(), (*way).to_owned()))
                .collect();
            assert_eq!(folder(base, &files), base.join(expected), "{files:?}");
        };
        check(&[("a.cubin", "-DN=1")], "");
        check(&[("b.cubin", "-DN=1")], "");
        check(&[("a.cubin", "-DN=1"), ("b.cubin", "-DN=2")], "2");
        check(&[("a.cubin", "-DN=2")], "3");
        // What is asked for again lies where it is.
        check(&[("a.cubin", "-DN=1")], "");
        check(&[("a.cubin", "-DN=2"), ("c.cubin", "-DN=2")], "3");
    }
}
