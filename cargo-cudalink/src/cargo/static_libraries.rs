//! Static libraries with device code. Cargo makes them and links nothing, and whoever links them has to know of the device
//! link.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::workspace::Workspace;
use crate::stand_in::objects::Objects;
use crate::streams::word;

/// The libraries of a workspace that are there before cargo runs.
#[derive(Debug)]
pub(super) struct StaticLibraries {
    target: PathBuf,
    names: Vec<String>,
    there: BTreeSet<PathBuf>,
}

impl StaticLibraries {
    /// Looks for those of this workspace.
    pub(super) fn of(workspace: &Workspace) -> Self {
        let names = workspace.static_libraries();
        Self {
            there: find(&workspace.target, &names),
            target: workspace.target.clone(),
            names,
        }
    }

    /// What there is to say in this folder of those that have been made for the first time: who has read it knows.
    pub(super) fn notes(&self, current: &Path) -> Vec<String> {
        let waits = |path: &&PathBuf| {
            let objects = Objects::find(&[path.to_path_buf()]);
            objects.is_ok_and(|objects| objects.wait())
        };
        let added = self.added();
        let waiting = added.iter().filter(waits);
        waiting
            .map(|path| note(path.strip_prefix(current).unwrap_or(path)))
            .collect()
    }

    fn added(&self) -> Vec<PathBuf> {
        let all = find(&self.target, &self.names);
        all.difference(&self.there).cloned().collect()
    }
}

fn note(path: &Path) -> String {
    let path = path.display().to_string();
    let word = word(&path);
    format!(
        "{path} has device code, which is linked with the program that it is for: \
         `cargo cudalink link {word} -o device_link.o` makes what the host linker gets before it"
    )
}

/// Those that lie in the folder of some profile, for the host or for a target.
fn find(target: &Path, names: &[String]) -> BTreeSet<PathBuf> {
    if names.is_empty() {
        return BTreeSet::new();
    }
    let profiles = folders(target).into_iter().flat_map(|folder| {
        // What lies there is on the way to its place.
        let inner = folders(&folder)
            .into_iter()
            .filter(|inner| !inner.ends_with("deps"));
        let inner: Vec<PathBuf> = inner.collect();
        std::iter::once(folder).chain(inner)
    });
    profiles
        .flat_map(|profile| names.iter().map(move |name| profile.join(name)))
        .filter(|path| path.is_file())
        .collect()
}

fn folders(path: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    folders.map(|entry| entry.path()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_new_once() {
        let folder = tempfile::tempdir().unwrap();
        let write = |path: &str| {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        };
        let names = vec!["liba.a".to_owned(), "libb.a".to_owned()];
        write("debug/liba.a");
        let mut libraries = StaticLibraries {
            target: folder.path().to_owned(),
            there: find(folder.path(), &names),
            names,
        };
        assert_eq!(libraries.added(), [""; 0].map(PathBuf::from));
        for path in [
            "debug/deps/libb.a",
            "debug/libb.a",
            "triple/release/liba.a",
            "debug/libc.a",
        ] {
            write(path);
        }
        let expected =
            ["debug/libb.a", "triple/release/liba.a"].map(|path| folder.path().join(path));
        assert_eq!(libraries.added(), expected);
        libraries.there.extend(expected);
        assert!(libraries.added().is_empty());
    }

    #[test]
    fn the_command_is_one_that_a_shell_takes() {
        let note = note(Path::new("a target/liba.a"));
        assert!(note.starts_with("a target/liba.a has"), "{note}");
        assert!(
            note.contains("`cargo cudalink link 'a target/liba.a' -o device_link.o`"),
            "{note}"
        );
    }
}
