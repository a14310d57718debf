//! Keeps the results of device links, so that what did not change is not linked again.
//!
//! An entry belongs to one output of the host linker. Its object has the hash of everything it was made from in its
//! name and appears whole or not at all, so whatever is there is right: a build that was killed leaves nothing to repair.
//! Outputs with the same device code have one file by several names.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use rustnvlink::output;
use same_file::is_same_file;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::clean::Removed;
use crate::journal::Report;
use crate::plan::Plan;
use crate::stand_in::dependencies;

/// The name of the entry that is no output's.
const DOCUMENTATION_TESTS: &str = "documentation tests";

/// What is kept beside an object.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Record {
    /// What the user was told.
    pub(crate) report: Report,
    /// Whether the host linker needs the library of the device runtime.
    pub(crate) needs_device_runtime: bool,
}

/// The entry of one output.
#[derive(Debug)]
pub(crate) struct Entry {
    folder: PathBuf,
    stem: String,
    /// Held as long as the object is used: the next link of the same output may replace it.
    _lock: File,
}

impl Entry {
    /// Takes the entry of an output, as soon as nobody else has it. Outputs outside of cargo's folder have none: they
    /// are of documentation tests, which have [one](Self::of_documentation_tests) in common.
    pub(crate) fn lock(plan: &Plan, output: &Path) -> Result<Option<Self>> {
        let output = std::path::absolute(output).unwrap_or_else(|_| output.to_owned());
        let Ok(inside) = output.strip_prefix(&plan.build) else {
            return Ok(None);
        };
        let parts: Vec<_> = inside.iter().map(|part| part.to_string_lossy()).collect();
        Self::named(plan.folder.images(), parts.join("+")).map(Some)
    }

    /// The entry of all documentation tests, whose files have other names each time. It is let go before the host linker runs:
    /// each test [takes](Self::take) what it needs.
    pub(crate) fn of_documentation_tests(plan: &Plan) -> Result<Self> {
        Self::named(plan.folder.images(), DOCUMENTATION_TESTS.to_owned())
    }

    fn named(folder: PathBuf, stem: String) -> Result<Self> {
        fs::create_dir_all(&folder)
            .with_context(|| format!("cannot make the folder {}", folder.display()))?;
        let lock = lock(&folder.join(format!("{stem}.lock")))?;
        Ok(Self {
            folder,
            stem,
            _lock: lock,
        })
    }

    /// Gives an object a further name, or copies it where it cannot have one, so that it stays when the entry gets another one.
    pub(crate) fn take(object: &Path, to: &Path) -> Result<()> {
        let copied = fs::hard_link(object, to).or_else(|_| fs::copy(object, to).map(drop));
        copied.with_context(|| format!("cannot write {}", to.display()))
    }

    /// Waits until nobody else makes an object for a key: programs, tests and examples of a package have the same device
    /// code, and cargo links them at the same time. Few files are enough for all keys.
    pub(crate) fn alone(&self, key: &str) -> Result<File> {
        lock(&self.folder.join(format!("{}.lock", &key[..2])))
    }

    fn object(&self, key: &str) -> PathBuf {
        self.folder.join(format!("{}.{key}.o", self.stem))
    }

    fn record(&self) -> PathBuf {
        self.folder.join(format!("{}.json", self.stem))
    }

    /// The object for a key, with its record, if there is one.
    pub(crate) fn get(&self, key: &str) -> Option<(PathBuf, Record)> {
        let object = self.object(key);
        let record = serde_json::from_slice(&fs::read(self.record()).ok()?).ok()?;
        object.is_file().then_some((object, record))
    }

    /// The object that another output has for a key, which becomes one of this output, too, with the record that `own` makes
    /// of the other one.
    pub(crate) fn share(
        &self,
        key: &str,
        own: impl FnOnce(Record) -> Record,
    ) -> Option<(PathBuf, Record)> {
        let end = format!(".{key}.o");
        let mut entries = fs::read_dir(&self.folder).ok()?.flatten();
        let (other, record) = entries.find_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let stem = name.strip_suffix(&end)?;
            let record = fs::read(self.folder.join(format!("{stem}.json"))).ok()?;
            Some((entry.path(), serde_json::from_slice(&record).ok()?))
        })?;
        self.clear().ok()?;
        let path = self.object(key);
        fs::hard_link(&other, &path).ok()?;
        // Its record is replaced after it.
        if !other.is_file() {
            return None;
        }
        let record = own(record);
        let text = serde_json::to_vec(&record).ok()?;
        output::write(&self.record(), &text).ok()?;
        Some((path, record))
    }

    /// Replaces what there is.
    pub(crate) fn put(&self, key: &str, object: &[u8], record: &Record) -> Result<PathBuf> {
        self.clear()?;
        let path = self.object(key);
        let write = |path: &Path, data: &[u8]| {
            output::write(path, data).with_context(|| format!("cannot write {}", path.display()))
        };
        // An object without its record is made again.
        write(&self.record(), &serde_json::to_vec(record)?)?;
        write(&path, object)?;
        Ok(path)
    }

    /// Removes what there is.
    pub(crate) fn clear(&self) -> Result<()> {
        let prefix = format!("{}.", self.stem);
        // The names of other outputs may go on with a dot where this one ends.
        let is_own = |end: &str| {
            let key = end.strip_suffix(".o");
            end == "json" || key.is_some_and(|key| !key.contains('.'))
        };
        for entry in fs::read_dir(&self.folder)?.flatten() {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if name.strip_prefix(&prefix).is_some_and(is_own) {
                fs::remove_file(entry.path())
                    .with_context(|| format!("cannot remove {}", entry.path().display()))?;
            }
        }
        Ok(())
    }
}

/// Makes a file and locks it, as soon as nobody else has done so.
fn lock(path: &Path) -> Result<File> {
    let lock = || {
        let file = File::create(path)?;
        file.lock()?;
        Ok::<_, io::Error>(file)
    };
    lock().with_context(|| format!("cannot lock {}", path.display()))
}

/// Removes all outputs with device code that was linked here: cargo makes again what is missing. `build` is the folder
/// where it makes them, `target` the one where users find them.
pub(crate) fn remove_outputs(build: &Path, target: &Path, removed: &mut Removed) -> Result<()> {
    for output in dependencies::linked_images(build) {
        let Ok(place) = output.strip_prefix(build) else {
            continue;
        };
        for path in copies(&output, place, target).iter().chain([&output]) {
            removed.file(path)?;
        }
    }
    Ok(())
}

/// What cargo has made of an output for users: the same file, without the hash in its name, in the folder of the profile
/// or, of an example, in the folder `examples` there. `place` is where the output lies in the folder where it is made.
fn copies(output: &Path, place: &Path, target: &Path) -> Vec<PathBuf> {
    let Ok(size) = output.metadata().map(|metadata| metadata.len()) else {
        return Vec::new();
    };
    let folders = place.ancestors().skip(1);
    let folders: BTreeSet<PathBuf> = folders
        .flat_map(|folder| [folder.to_owned(), folder.join("examples")])
        .collect();
    let files = folders
        .iter()
        .filter_map(|folder| fs::read_dir(target.join(folder)).ok())
        .flatten()
        .flatten()
        .map(|entry| entry.path());
    let is_copy = |path: &PathBuf| {
        path != output
            && plain_name(path) == plain_name(output)
            && path.metadata().is_ok_and(|metadata| metadata.len() == size)
            && (is_same_file(path, output).unwrap_or(false)
                || fs::read(path).ok() == fs::read(output).ok())
    };
    files.filter(is_copy).collect()
}

/// The name of a file without a hash of cargo, in which a dash is what it is in the name of a crate.
fn plain_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let (stem, extension) = match name.split_once('.') {
        Some((stem, extension)) => (stem, Some(extension)),
        None => (&*name, None),
    };
    let stem = without_hash(stem).replace('-', "_");
    extension.map_or_else(|| stem.clone(), |extension| format!("{stem}.{extension}"))
}

/// The name of a file of cargo's without the hash that it may end in.
pub(crate) fn without_hash(stem: &str) -> &str {
    match stem.rsplit_once('-') {
        Some((name, hash)) if hash.len() == 16 && hash.bytes().all(|b| b.is_ascii_hexdigit()) => {
            name
        }
        _ => stem,
    }
}

/// A short name for everything that something depends on.
pub(crate) fn key(hash: Sha256) -> String {
    hex(&hash.finalize()[..8])
}

/// Bytes as part of a name.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_is_made_once_for_all_outputs() {
        let folder = tempfile::tempdir().unwrap();
        let entry = |stem: &str| Entry::named(folder.path().to_owned(), stem.to_owned()).unwrap();
        let record = |image: &str| Record {
            report: Report {
                image: image.to_owned(),
                output: PathBuf::from(image),
                arch: vec!["sm_90".to_owned()],
                kernels: 1,
                bytes: 4,
                fresh: false,
            },
            needs_device_runtime: true,
        };
        let (one, two) = (entry("one"), entry("two"));
        let own = |other: Record| Record {
            needs_device_runtime: other.needs_device_runtime,
            ..record("two")
        };
        assert!(two.share("abcd", own).is_none());
        one.put("abcd", b"code", &record("one")).unwrap();
        two.put("beef", b"older", &record("two")).unwrap();
        let (path, shared) = two.share("abcd", own).unwrap();
        assert_eq!(shared.report.image, "two");
        assert!(two.get("beef").is_none());
        // It stays when the other output gets another one.
        one.put("1234", b"newer", &record("one")).unwrap();
        assert_eq!(fs::read(path).unwrap(), b"code");
        let (_, kept) = two.get("abcd").unwrap();
        assert!(kept.needs_device_runtime && kept.report.output == Path::new("two"));
        drop(two.alone("abcd").unwrap());
        drop(two.alone("abcd").unwrap());
        // So does that of an output whose name only begins with this one's.
        let other = entry("one.so");
        let path = other.put("beef", b"other", &record("one.so")).unwrap();
        one.put("4321", b"newer", &record("one")).unwrap();
        assert!(path.is_file() && other.get("beef").is_some());
        one.put("1234", b"newer", &record("one")).unwrap();
        // So does what somebody has taken.
        let (kept, _) = one.get("1234").unwrap();
        let taken = folder.path().join("taken");
        Entry::take(&kept, &taken).unwrap();
        one.put("5678", b"last", &record("one")).unwrap();
        assert_eq!(fs::read(taken).unwrap(), b"newer");
    }

    #[test]
    fn copies_are_found_where_cargo_puts_them() {
        let folder = tempfile::tempdir().unwrap();
        let (build, target) = (folder.path().join("build"), folder.path().join("target"));
        let write = |path: PathBuf, text: &str| {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let check = |made: &str, beside: &str, is_copy| {
            write(build.join(made), "code");
            write(target.join(beside), "code");
            let found = copies(&build.join(made), Path::new(made), &target);
            assert_eq!(found.contains(&target.join(beside)), is_copy, "{beside}");
            write(target.join(beside), "edoc");
            assert!(copies(&build.join(made), Path::new(made), &target).is_empty());
        };
        let program = "debug/deps/my_app-0123456789abcdef";
        check(program, "debug/my-app", true);
        check(program, "debug/my-apps", false);
        check(program, "release/my-app", false);
        check("debug/deps/libplugin.so", "debug/libplugin.so", true);
        check(
            "t/debug/examples/one-0123456789abcdef",
            "t/debug/examples/one",
            true,
        );
        check("debug/build/app/0123/out/app", "debug/app", true);
    }
}
