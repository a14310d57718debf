//! Gives our linker what nvlink got, and compares what comes out.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use object::read::elf::ElfFile64;
use object::{Endianness, Object as _, ObjectSection as _};
use tempfile::TempDir;

use crate::process::{self, Ended, Exit};
use crate::run::Linked;
use crate::store::{self, Files, Store, Stored};

/// The section that names the tools which made an image.
const TOOL_NOTES: &str = ".note.nv.tkinfo";

/// Differences by key, each with a text for people.
pub type Differences = BTreeMap<String, String>;

/// Builds our linker the way this test was built, and says where it lies.
/// `RUSTNVLINK_TEST_LINKER` names another one.
pub fn linker() -> Result<PathBuf> {
    if let Some(path) = std::env::var_os("RUSTNVLINK_TEST_LINKER").filter(|path| !path.is_empty()) {
        return Ok(PathBuf::from(path));
    }
    let own = std::env::current_exe()?;
    // This program is `<profile>/deps/cases-<hash>`.
    let profile = own
        .parent()
        .and_then(Path::parent)
        .context("the test lies in no build folder")?;
    let mut build = Command::new(env!("CARGO"));
    build.args([
        "build",
        "--quiet",
        "--package",
        "rustnvlink",
        "--bin",
        "rustnvlink",
    ]);
    if profile.ends_with("release") {
        build.arg("--release");
    }
    let status = build
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .status()
        .context("cannot run cargo")?;
    ensure!(status.success(), "the linker does not build");
    let linker = profile.join("rustnvlink");
    ensure!(linker.is_file(), "cargo left no {}", linker.display());
    Ok(linker)
}

/// Whether the package of the linker has a program yet.
pub fn linker_exists() -> bool {
    std::env::var_os("RUSTNVLINK_TEST_LINKER").is_some()
        || Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../linker/src/main.rs")
            .is_file()
}

/// What our linker made of a link, and how it differs from what nvlink made.
pub struct Compared {
    /// What differs.
    pub differences: Differences,
    /// The folder it ran in: inputs and our outputs.
    folder: TempDir,
    arguments: Vec<String>,
}

/// The file in [`Compared::folder`] that `--tool-record` names.
const TOOL_RECORD: &str = ".tool-record";

/// Links with ours and compares with what nvlink did.
pub fn compare(linker: &Path, linked: &Linked, store: &Store) -> Result<Compared> {
    let folder = store.scratch()?;
    let mut inputs = linked.inputs.clone();
    let mut arguments = vec!["--compat".to_owned()];
    if let Some(bytes) = first_tool_record(linked)? {
        let path = folder.path().join(TOOL_RECORD);
        fs::write(&path, bytes)?;
        inputs.insert(TOOL_RECORD.to_owned(), Stored::new(path)?);
        arguments.extend(["--tool-record".to_owned(), TOOL_RECORD.to_owned()]);
    }
    store::place(&linked.inputs, folder.path())?;
    arguments.extend_from_slice(&linked.arguments);
    let ours = process::run(linker, &arguments, folder.path())?;
    let files = store::collect(&inputs, folder.path())?;
    let differences = differences(linked, &ours, &files)?;
    Ok(Compared {
        differences,
        folder,
        arguments,
    })
}

impl Compared {
    /// Leaves everything in `folder`, for somebody to look at: inputs and our outputs, nvlink's
    /// outputs in `expected`, and the arguments.
    pub fn keep(&self, linked: &Linked, folder: &Path) -> Result<()> {
        let expected = folder.join("expected");
        fs::create_dir_all(&expected)
            .with_context(|| format!("cannot make {}", expected.display()))?;
        store::place(&store::collect(&Files::new(), self.folder.path())?, folder)?;
        store::place(&linked.entry.files, &expected)?;
        fs::write(
            folder.join("arguments.txt"),
            self.arguments.join(" ") + "\n",
        )?;
        Ok(())
    }
}

fn differences(linked: &Linked, ours: &Ended, files: &Files) -> Result<Differences> {
    let theirs = &linked.entry;

    let mut differences = Differences::new();
    if let Exit::Signal(_) | Exit::TimedOut = theirs.ended.exit {
        // There is nothing to equal where nvlink crashes or hangs; ours has to refuse.
        if !matches!(ours.exit, Exit::Code(1..)) || !files.is_empty() {
            let text = format!(
                "exit: nvlink ends with {}, ours with {}",
                theirs.ended.exit, ours.exit
            );
            differences.insert("refusal".to_owned(), text);
        }
        return Ok(differences);
    }
    if ours.exit != theirs.ended.exit {
        let text = format!(
            "exit: nvlink ends with {}, ours with {}\n{}{}",
            theirs.ended.exit, ours.exit, ours.stdout, ours.stderr
        );
        differences.insert("exit".to_owned(), text);
    }
    if linked.link.compare_text {
        for (key, theirs, ours) in [
            ("stdout", &theirs.ended.stdout, &ours.stdout),
            ("stderr", &theirs.ended.stderr, &ours.stderr),
        ] {
            if theirs != ours {
                differences.insert(
                    key.to_owned(),
                    format!("{key}: nvlink prints\n{theirs}ours prints\n{ours}"),
                );
            }
        }
    }
    for name in theirs.files.keys().chain(files.keys()) {
        match (theirs.files.get(name), files.get(name)) {
            (Some(theirs), Some(ours)) if theirs.hash == ours.hash => {}
            (Some(theirs), Some(ours)) => {
                differences.extend(images(name, &theirs.read()?, &ours.read()?));
            }
            (Some(_), None) => {
                differences.insert(
                    format!("{name}.missing"),
                    format!("{name}: only nvlink writes it"),
                );
            }
            (None, _) => {
                differences.insert(
                    format!("{name}.extra"),
                    format!("{name}: only ours writes it"),
                );
            }
        }
    }
    Ok(differences)
}

/// How two different outputs of one name differ.
fn images(name: &str, theirs: &[u8], ours: &[u8]) -> Differences {
    let differences = match cubin_diff::compare(theirs, ours) {
        Ok(differences) => differences,
        Err(error) => {
            let text = format!("{name}: {error} (left is nvlink's)");
            return Differences::from([("bytes".to_owned(), text)]);
        }
    };
    // Keys have one word in the list of known differences.
    let word = |key: &str| key.replace(' ', "_");
    differences
        .into_iter()
        .map(|difference| (word(&difference.key), format!("{name}: {difference}")))
        .collect()
}

/// The note that nvlink wrote about itself: header, name and description of the first record.
fn first_tool_record(linked: &Linked) -> Result<Option<Vec<u8>>> {
    for file in linked.entry.files.values() {
        let bytes = file.read()?;
        let Ok(parsed) = ElfFile64::<Endianness>::parse(&*bytes) else {
            continue;
        };
        let Some(section) = parsed.section_by_name(TOOL_NOTES) else {
            continue;
        };
        let notes = section.data()?;
        return first_note(notes).map(Some);
    }
    Ok(None)
}

fn first_note(notes: &[u8]) -> Result<Vec<u8>> {
    let word = |at: usize| -> Result<usize> {
        let bytes = notes.get(at..at + 4).context("the note is cut off")?;
        Ok(u32::from_le_bytes(bytes.try_into()?) as usize)
    };
    let length = 12 + word(0)?.next_multiple_of(4) + word(4)?.next_multiple_of(4);
    match notes.get(..length) {
        Some(note) => Ok(note.to_vec()),
        None => bail!("the note is longer than its section"),
    }
}
