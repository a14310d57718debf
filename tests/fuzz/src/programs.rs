//! The good programs that targets damage.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use rustnvlink::arch::Sm;
use rustnvlink::cubin::{File, UnifiedIndex};

/// Larger programs take too long for a fuzzer.
const LARGEST: usize = 100_000;

/// The objects of one link.
pub struct Program {
    /// The processor of the first object.
    pub sm: Sm,
    /// What they are called, and their bytes.
    pub objects: Vec<(String, Vec<u8>)>,
    /// Where unified functions stand, if the link was told.
    pub index: Option<UnifiedIndex>,
}

/// All programs: those of the folder that `RUSTNVLINK_FUZZ_PROGRAMS` names, which the program `corpus` of `tests` has
/// written, or else the objects of `tests/inputs`, alone and in pairs.
pub static PROGRAMS: LazyLock<Vec<Program>> = LazyLock::new(|| {
    let programs = match std::env::var_os("RUSTNVLINK_FUZZ_PROGRAMS") {
        Some(folder) => of_links(Path::new(&folder)),
        None => of_inputs(),
    };
    assert!(!programs.is_empty(), "there are no programs");
    programs
});

fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let paths = entries.map(|entry| entry.expect("a readable entry").path());
    let mut paths: Vec<_> = paths
        .filter(|path| path.extension().is_some_and(|e| e == extension))
        .collect();
    paths.sort();
    paths
}

fn program(paths: &[PathBuf], index: Option<&Path>) -> Option<Program> {
    let objects = paths.iter().map(|path| {
        let name = path.file_name()?.to_string_lossy().into_owned();
        Some((name, fs::read(path).ok()?))
    });
    let objects: Vec<_> = objects.collect::<Option<_>>()?;
    let size: usize = objects.iter().map(|(_, data)| data.len()).sum();
    let sm = File::parse(&objects.first()?.1).ok()?.header.processor();
    let index = index.and_then(|path| UnifiedIndex::parse("index", fs::read(path).ok()?).ok());
    (size <= LARGEST).then_some(Program { sm, objects, index })
}

/// The links whose logs are in a folder. A log begins with the command line, and its name with what all files of the case
/// have in front of theirs.
fn of_links(folder: &Path) -> Vec<Program> {
    let logs = files(folder, "log");
    let programs = logs.iter().filter_map(|log| {
        let name = log.file_name()?.to_str()?;
        let dots = name.match_indices('.').nth(1)?.0;
        let text = fs::read(log).ok()?;
        let text = String::from_utf8_lossy(&text);
        let mut words = text.lines().next()?.split(' ');
        let (mut objects, mut index) = (Vec::new(), None);
        while let Some(word) = words.next() {
            let file = word.rsplit('=').next().unwrap_or(word);
            let path = folder.join(format!("{}.{file}", &name[..dots]));
            match file {
                "-o" => drop(words.next()),
                _ if file.ends_with(".cubin") => objects.push(path),
                _ if file.ends_with(".uidx") => index = Some(path),
                _ => {}
            }
        }
        program(&objects, index.as_deref())
    });
    programs.collect()
}

fn of_inputs() -> Vec<Program> {
    let inputs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../inputs");
    let folders = ["", "newer", "older"].map(|folder| inputs.join(folder));
    let paths: Vec<_> = folders.iter().flat_map(|f| files(f, "cubin")).collect();
    let of_one = |path: &PathBuf| {
        let name = path.file_name()?.to_str()?;
        Some((
            path.parent()?.to_owned(),
            name.split_once('.')?.1.to_owned(),
        ))
    };
    let pairs = paths.iter().enumerate().flat_map(|(at, first)| {
        let others = paths[at + 1..].iter();
        let fitting = others.filter(move |other| of_one(other) == of_one(first));
        fitting.map(move |other| vec![first.clone(), other.clone()])
    });
    let alone = paths.iter().map(|path| vec![path.clone()]);
    let programs = alone.chain(pairs).filter_map(|paths| program(&paths, None));
    programs.collect()
}
