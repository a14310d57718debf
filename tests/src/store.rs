//! Keeps the results of tools by the hash of everything they depend on.
//!
//! An entry is a folder that appears by one rename and never changes, so that any number of test
//! runs can share the store. It lies beside installed toolkits in the user's cache folder.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use cudalink_toolkit::{CACHE_VARIABLE, Environment};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::process::Ended;

/// Changes whenever entries of an older layout must not be read.
const LAYOUT: &str = "1";

/// How the names of folders start that go away.
const SCRATCH: &str = "scratch-";

/// No test runs for so long.
const ABANDONED: Duration = Duration::from_secs(24 * 3600);

/// A file with its content hash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    /// Where it lies.
    pub path: PathBuf,
    /// The hash of its bytes, in hexadecimal.
    pub hash: String,
}

impl Stored {
    /// Hashes the file at `path`.
    pub fn new(path: PathBuf) -> Result<Self> {
        let hash = hash(&read(&path)?);
        Ok(Self { path, hash })
    }

    /// Its bytes.
    pub fn read(&self) -> Result<Vec<u8>> {
        read(&self.path)
    }
}

/// Files by their name in the folder of a step.
pub type Files = BTreeMap<String, Stored>;

/// What one step made.
#[derive(Debug, Clone)]
pub struct Entry {
    /// How the tool ended.
    pub ended: Ended,
    /// The files it wrote.
    pub files: Files,
}

/// The form of an [`Entry`] on disk.
#[derive(Serialize, Deserialize)]
struct Record {
    ended: Ended,
    /// Name to hash.
    files: BTreeMap<String, String>,
}

/// Names an entry by what it depends on.
pub struct Key(Sha256);

impl Key {
    /// Starts with the kind of step.
    pub fn new(kind: &str) -> Self {
        let mut key = Self(Sha256::new());
        key.add(LAYOUT);
        key.add(kind);
        key
    }

    /// Adds one thing that matters. Lengths are hashed too, so that neighbours cannot run together.
    pub fn add(&mut self, part: &str) {
        self.0.update((part.len() as u64).to_le_bytes());
        self.0.update(part);
    }

    /// Adds files by name and content.
    pub fn add_files(&mut self, files: &Files) {
        for (name, file) in files {
            self.add(name);
            self.add(&file.hash);
        }
    }
}

/// The folder of all entries.
#[derive(Debug)]
pub struct Store {
    root: PathBuf,
}

impl Store {
    /// Opens the store in the cache folder of the user.
    pub fn open() -> Result<Self> {
        let cache = Environment::from_process()?.cache;
        let root = cache
            .with_context(|| format!("no cache folder: set {CACHE_VARIABLE} or HOME"))?
            .join("cases");
        fs::create_dir_all(&root).with_context(|| format!("cannot make {}", root.display()))?;
        let store = Self { root };
        store.sweep()?;
        Ok(store)
    }

    /// Removes folders that runs left behind which were killed.
    fn sweep(&self) -> Result<()> {
        for item in fs::read_dir(&self.root)? {
            let item = item?;
            let scratch = item.file_name().to_string_lossy().starts_with(SCRATCH);
            let age = || item.metadata().ok()?.modified().ok()?.elapsed().ok();
            if scratch && age().is_some_and(|age| age > ABANDONED) {
                // Another run may sweep at the same time.
                match fs::remove_dir_all(item.path()) {
                    Err(error) if error.kind() != ErrorKind::NotFound => return Err(error.into()),
                    Ok(()) | Err(_) => {}
                }
            }
        }
        Ok(())
    }

    /// A fresh folder that goes away when dropped.
    pub fn scratch(&self) -> Result<tempfile::TempDir> {
        tempfile::Builder::new()
            .prefix(SCRATCH)
            .tempdir_in(&self.root)
            .with_context(|| format!("cannot make a folder in {}", self.root.display()))
    }

    /// The entry of `key`. When there is none, `make` runs in a fresh folder that holds copies of
    /// `inputs`; every file it adds or changes becomes part of the entry.
    pub fn entry(
        &self,
        key: Key,
        inputs: &Files,
        make: impl FnOnce(&Path) -> Result<Ended>,
    ) -> Result<Entry> {
        let home = self.root.join(hex(&key.0.finalize()));
        if let Some(entry) = load(&home)? {
            return Ok(entry);
        }
        let scratch = self.scratch()?;
        place(inputs, scratch.path())?;
        let ended = make(scratch.path())?;
        let made = collect(inputs, scratch.path())?;

        let staged = self.scratch()?;
        let mut hashes = BTreeMap::new();
        for (name, file) in made {
            fs::copy(&file.path, staged.path().join(&name))
                .with_context(|| format!("cannot keep {name}"))?;
            hashes.insert(name, file.hash);
        }
        let record = serde_json::to_vec_pretty(&Record {
            ended,
            files: hashes,
        })?;
        fs::write(staged.path().join(RECORD), record)?;
        let staged = staged.keep();
        if let Err(error) = fs::rename(&staged, &home) {
            // Another run was faster; its entry is as good.
            fs::remove_dir_all(&staged)?;
            if !home.join(RECORD).is_file() {
                return Err(error).with_context(|| format!("cannot make {}", home.display()));
            }
        }
        load(&home)?.with_context(|| format!("{} has gone", home.display()))
    }
}

/// Lies beside the files of an entry. No tool writes a file of this name.
const RECORD: &str = ".record.json";

fn load(home: &Path) -> Result<Option<Entry>> {
    let path = home.join(RECORD);
    let text = match fs::read(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error).with_context(|| format!("cannot read {}", path.display())),
    };
    let record: Record = serde_json::from_slice(&text)
        .with_context(|| format!("{} is damaged; delete {}", path.display(), home.display()))?;
    let stored = |(name, hash)| {
        let path = home.join(&name);
        (name, Stored { path, hash })
    };
    Ok(Some(Entry {
        ended: record.ended,
        files: record.files.into_iter().map(stored).collect(),
    }))
}

/// Copies files into a folder under their names.
pub fn place(files: &Files, folder: &Path) -> Result<()> {
    for (name, file) in files {
        fs::copy(&file.path, folder.join(name))
            .with_context(|| format!("cannot copy {}", file.path.display()))?;
    }
    Ok(())
}

/// The plain files of a folder that `inputs` does not have, or has with other bytes.
pub fn collect(inputs: &Files, folder: &Path) -> Result<Files> {
    let mut made = Files::new();
    for item in fs::read_dir(folder)? {
        let item = item?;
        if !item.file_type()?.is_file() {
            continue;
        }
        let name = item.file_name().to_string_lossy().into_owned();
        let file = Stored::new(item.path())?;
        if inputs
            .get(&name)
            .is_none_or(|input| input.hash != file.hash)
        {
            made.insert(name, file);
        }
    }
    Ok(made)
}

/// The hash of some bytes, in hexadecimal.
pub fn hash(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).with_context(|| format!("cannot read {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::Exit;

    fn store() -> (tempfile::TempDir, Store) {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().to_owned();
        (folder, Store { root })
    }

    fn make(folder: &Path) -> Result<Ended> {
        fs::write(folder.join("made"), fs::read(folder.join("given"))?)?;
        let (stdout, stderr) = ("out".to_owned(), String::new());
        Ok(Ended {
            exit: Exit::Code(3),
            stdout,
            stderr,
        })
    }

    fn inputs(store: &Store, text: &str) -> Files {
        let path = store.root.join(text);
        fs::write(&path, text).unwrap();
        Files::from([("given".to_owned(), Stored::new(path).unwrap())])
    }

    fn key(inputs: &Files) -> Key {
        let mut key = Key::new("test");
        key.add_files(inputs);
        key
    }

    #[test]
    fn a_second_request_reads_what_the_first_made() {
        let (_folder, store) = store();
        let inputs = inputs(&store, "one");
        let first = store.entry(key(&inputs), &inputs, make).unwrap();
        let never = |_: &Path| -> Result<Ended> { panic!("the entry is there") };
        let second = store.entry(key(&inputs), &inputs, never).unwrap();
        assert_eq!((&first.ended, &first.files), (&second.ended, &second.files));
        assert_eq!(first.ended.exit, Exit::Code(3));
        assert_eq!(first.files.keys().collect::<Vec<_>>(), ["made"]);
        assert_eq!(second.files["made"].read().unwrap(), b"one");
    }

    #[test]
    fn other_inputs_make_another_entry() {
        let (_folder, store) = store();
        for text in ["one", "two"] {
            let inputs = inputs(&store, text);
            let entry = store.entry(key(&inputs), &inputs, make).unwrap();
            assert_eq!(entry.files["made"].read().unwrap(), text.as_bytes());
        }
    }

    #[test]
    fn a_failure_leaves_nothing() {
        let (folder, store) = store();
        let inputs = Files::new();
        let fails = |_: &Path| -> Result<Ended> { anyhow::bail!("no") };
        assert!(store.entry(key(&inputs), &inputs, fails).is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn requests_at_the_same_time_agree() {
        let (folder, store) = store();
        let inputs = inputs(&store, "one");
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let entry = store.entry(key(&inputs), &inputs, make).unwrap();
                    assert_eq!(entry.files["made"].read().unwrap(), b"one");
                });
            }
        });
        // The entry and the input.
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[test]
    fn neighbouring_parts_do_not_run_together() {
        let named = |parts: [&str; 2]| {
            let mut key = Key::new("test");
            parts.iter().for_each(|part| key.add(part));
            hex(&key.0.finalize())
        };
        assert_ne!(named(["ab", "c"]), named(["a", "bc"]));
    }
}
