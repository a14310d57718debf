//! Gives our linker what nvlink got, and compares what comes out.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

use anyhow::{Context, Result, bail, ensure};
use object::read::elf::ElfFile64;
use object::{Endianness, Object as _, ObjectSection as _};
use tempfile::TempDir;

use crate::process::{self, Ended, Exit, LINK_LIMIT};
use crate::run::Linked;
use crate::store::{self, Files, Store, Stored};

/// The packages that have programs for users, as the CMake package builds them.
const PACKAGES: [&str; 2] = ["rustnvlink", "cargo-cudalink"];

/// The section that names the tools which made an image.
const TOOL_NOTES: &str = ".note.nv.tkinfo";

/// Something that ours does in another way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// Its name in the list of known differences.
    pub key: String,
    /// What people read.
    pub text: String,
}

impl Difference {
    fn new(key: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            key: key.into(),
            text: text.into(),
        }
    }
}

/// Builds our linker and says where it lies. `RUSTNVLINK_TEST_LINKER` names another one.
pub fn linker() -> Result<PathBuf> {
    match std::env::var_os("RUSTNVLINK_TEST_LINKER").filter(|path| !path.is_empty()) {
        Some(path) => Ok(PathBuf::from(path)),
        None => program("rustnvlink"),
    }
}

/// Where Cargo builds.
pub fn target_folder() -> Result<PathBuf> {
    let own = std::env::current_exe()?;
    // A test is `<target>/<profile>/deps/NAME-<hash>`.
    let target = own.ancestors().nth(3);
    Ok(target.context("the test lies in no build folder")?.into())
}

/// Where tests build the examples, and what shares crates with them: beside what Cargo builds, so that no crate is built
/// twice.
pub fn examples_folder() -> Result<PathBuf> {
    Ok(target_folder()?.join("examples"))
}

/// The programs that are built, by their names.
static BUILT: Mutex<BTreeMap<String, PathBuf>> = Mutex::new(BTreeMap::new());

/// Builds the program of the package of the same name, the way this test was built, and says where it lies.
pub fn program(name: &str) -> Result<PathBuf> {
    let mut built = BUILT.lock().expect("no build panics");
    if let Some(program) = built.get(name) {
        return Ok(program.clone());
    }
    let program = build(name)?;
    built.insert(name.to_owned(), program.clone());
    Ok(program)
}

/// Builds a program. Both packages are chosen, whichever it is: features of what they share depend on that, and so it is
/// built once.
fn build(name: &str) -> Result<PathBuf> {
    let own = std::env::current_exe()?;
    // Tests are `<profile>/deps/cases-<hash>`, programs `<profile>/rustnvlink-generator`.
    let mut folders = own.ancestors().skip(1);
    let profile = folders
        .find(|folder| !folder.ends_with("deps"))
        .context("the test lies in no build folder")?;
    let mut build = Command::new(env!("CARGO"));
    build.args(["build", "--quiet", "--bin", name]);
    build.args(PACKAGES.iter().flat_map(|package| ["--package", package]));
    if profile.ends_with("release") {
        build.arg("--release");
    }
    let status = build
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .status()
        .context("cannot run cargo")?;
    ensure!(status.success(), "{name} does not build");
    let program = profile.join(name);
    ensure!(program.is_file(), "cargo left no {}", program.display());
    Ok(program)
}

/// What our linker made of a link, and how it differs from what nvlink made.
pub struct Compared {
    /// What differs.
    pub differences: Vec<Difference>,
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
    let ours = process::run(linker, &arguments, folder.path(), LINK_LIMIT)?;
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

/// All differences; that of the exit code comes first.
fn differences(linked: &Linked, ours: &Ended, files: &Files) -> Result<Vec<Difference>> {
    let theirs = &linked.entry;
    let exits = format!(
        "exit: nvlink ends with {}, ours with {}\n{}{}",
        theirs.ended.exit, ours.exit, ours.stdout, ours.stderr
    );
    if let Exit::Signal(_) | Exit::TimedOut = theirs.ended.exit {
        // There is nothing to equal where nvlink crashes or hangs; ours has to refuse.
        let refused = matches!(ours.exit, Exit::Code(1..)) && files.is_empty();
        let difference = (!refused).then(|| Difference::new("refusal", exits));
        return Ok(difference.into_iter().collect());
    }
    let mut differences = Vec::new();
    if ours.exit != theirs.ended.exit {
        differences.push(Difference::new("exit", exits));
    }
    if linked.link.compare_text {
        for (key, theirs, ours) in [
            ("stdout", &theirs.ended.stdout, &ours.stdout),
            ("stderr", &theirs.ended.stderr, &ours.stderr),
        ] {
            if theirs != ours {
                let text = format!("{key}: nvlink prints\n{theirs}ours prints\n{ours}");
                differences.push(Difference::new(key, text));
            }
        }
    }
    let names: BTreeSet<&String> = theirs.files.keys().chain(files.keys()).collect();
    for name in names {
        match (theirs.files.get(name), files.get(name)) {
            (Some(theirs), Some(ours)) if theirs.hash == ours.hash => {}
            (Some(theirs), Some(ours)) => {
                let (theirs, ours) = (theirs.read()?, ours.read()?);
                if !are_same_times(&theirs, &ours) {
                    differences.extend(contents(name, &theirs, &ours));
                }
            }
            (theirs, _) => {
                let (what, who) = match theirs {
                    Some(_) => ("missing", "nvlink"),
                    None => ("extra", "ours"),
                };
                let text = format!("{name}: only {who} writes it");
                differences.push(Difference::new(format!("{name}.{what}"), text));
            }
        }
    }
    Ok(differences)
}

/// Whether both are tables of `-time`, and differ in figures alone.
fn are_same_times(theirs: &[u8], ours: &[u8]) -> bool {
    match (without_times(theirs), without_times(ours)) {
        (Some(theirs), Some(ours)) => theirs == ours,
        _ => false,
    }
}

/// A table of times without its figures, which stand before the unit.
fn without_times(table: &[u8]) -> Option<Vec<String>> {
    let text = std::str::from_utf8(table).ok()?;
    let mut rows = text.split_inclusive('\n');
    let head = rows
        .next()
        .filter(|head| head.ends_with(" metric , unit\n"))?;
    let mut left = vec![head.to_owned()];
    for row in rows {
        let (row, _) = row.strip_suffix(" , ms\n")?.rsplit_once(" , ")?;
        left.push(row.to_owned());
    }
    Some(left)
}

/// How two different outputs of one name differ.
fn contents(name: &str, theirs: &[u8], ours: &[u8]) -> Vec<Difference> {
    match cubin_diff::compare(theirs, ours) {
        // Keys have one word in the list of known differences.
        Ok(differences) => differences
            .into_iter()
            .map(|one| Difference::new(one.key.replace(' ', "_"), format!("{name}: {one}")))
            .collect(),
        Err(error) => {
            let at = theirs.iter().zip(ours).take_while(|(a, b)| a == b).count();
            let text = format!("{name}: differs from {at:#x} on; left is nvlink's: {error}");
            vec![Difference::new("bytes", text)]
        }
    }
}

/// The record that nvlink wrote about itself, in any of its outputs.
fn first_tool_record(linked: &Linked) -> Result<Option<Vec<u8>>> {
    for file in linked.entry.files.values() {
        if let Some(record) = tool_record(&file.read()?)? {
            return Ok(Some(record));
        }
    }
    Ok(None)
}

/// The note of the tool that wrote the image: header, name and description of the first record.
/// Nothing if this is no image.
pub fn tool_record(image: &[u8]) -> Result<Option<Vec<u8>>> {
    let Ok(parsed) = ElfFile64::<Endianness>::parse(image) else {
        return Ok(None);
    };
    let Some(section) = parsed.section_by_name(TOOL_NOTES) else {
        return Ok(None);
    };
    first_note(section.data()?).map(Some)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::directive::Link;
    use crate::store::Entry;

    fn linked(exit: Exit, compare_text: bool) -> Linked {
        let link = Link {
            name: "out.cubin".to_owned(),
            output: Some("out.cubin".to_owned()),
            arguments: Vec::new(),
            expectations: Vec::new(),
            compare_text,
        };
        let entry = Entry {
            ended: ended(exit, "theirs\n"),
            files: Files::new(),
        };
        Linked {
            link,
            arguments: Vec::new(),
            inputs: Files::new(),
            entry,
        }
    }

    fn ended(exit: Exit, stderr: &str) -> Ended {
        Ended {
            exit,
            stdout: String::new(),
            stderr: stderr.to_owned(),
        }
    }

    fn keys(linked: &Linked, ours: &Ended, files: &[(&str, &str)]) -> Vec<String> {
        let stored = |(name, hash): &(&str, &str)| {
            let (path, hash) = (PathBuf::from("/nowhere"), (*hash).to_owned());
            ((*name).to_owned(), Stored { path, hash })
        };
        let files = files.iter().map(stored).collect();
        let differences = differences(linked, ours, &files).unwrap();
        differences.into_iter().map(|one| one.key).collect()
    }

    #[test]
    fn exit_codes_messages_and_files_are_compared() {
        let mut fails = linked(Exit::Code(255), false);
        let ours = ended(Exit::Code(255), "ours\n");
        assert!(keys(&fails, &ours, &[]).is_empty());
        fails.link.compare_text = true;
        assert_eq!(keys(&fails, &ours, &[]), ["stderr"]);
        let ours = ended(Exit::Code(0), "theirs\n");
        assert_eq!(keys(&fails, &ours, &[("o", "1")]), ["exit", "o.extra"]);
        let mut makes = linked(Exit::Code(0), false);
        let file = Stored {
            path: PathBuf::new(),
            hash: "1".to_owned(),
        };
        makes.entry.files.insert("o".to_owned(), file);
        assert_eq!(keys(&makes, &ours, &[]), ["o.missing"]);
        assert!(keys(&makes, &ours, &[("o", "1")]).is_empty());
    }

    #[test]
    fn where_nvlink_dies_ours_has_to_refuse() {
        let dies = linked(Exit::Signal(11), true);
        assert!(keys(&dies, &ended(Exit::Code(1), "error\n"), &[]).is_empty());
        assert_eq!(keys(&dies, &ended(Exit::Code(0), ""), &[]), ["refusal"]);
        assert_eq!(
            keys(&dies, &ended(Exit::Code(1), ""), &[("o", "1")]),
            ["refusal"]
        );
        assert_eq!(keys(&dies, &ended(Exit::Signal(11), ""), &[]), ["refusal"]);
    }

    #[test]
    fn figures_of_tables_of_times_are_not_compared() {
        let table = |row: &str| format!("name , arch , tool, metric , unit\n{row}");
        let same = |a: &str, b: &str| are_same_times(table(a).as_bytes(), table(b).as_bytes());
        assert!(same("a , sm_90 , 1.5 , ms\n", "a , sm_90 , 20 , ms\n"));
        assert!(!same("a , sm_90 , 1.5 , ms\n", "b , sm_90 , 1.5 , ms\n"));
        assert!(!same("a , sm_90 , 1.5 , ms\n", ""));
        assert!(!are_same_times(b"a , 1.5 , ms\n", b"a , 2.5 , ms\n"));
    }

    #[test]
    fn the_first_note_ends_at_its_padding() {
        let mut notes = vec![3, 0, 0, 0, 5, 0, 0, 0, 0xd0, 7, 0, 0];
        notes.extend(b"ab\0.12345...");
        let length = notes.len();
        notes.extend([9; 20]);
        assert_eq!(first_note(&notes).unwrap(), notes[..length]);
        assert!(first_note(&notes[..length - 1]).is_err());
    }
}
