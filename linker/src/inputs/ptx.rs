//! PTX becomes device objects: the assembler is a program of the toolkit.

use std::borrow::Cow;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use super::Wanted;
use crate::diagnostic::{Diagnostic, Severity};

/// What the file is called in which the assembler gets PTX: the words that
/// nvlink has for any input in messages of its own assembler. The object's name
/// is nvlink's too; it stands in the object's note.
const INPUT: &str = "application ptx input";
const OUTPUT: &str = "elf.o";

/// How PTX is assembled in one link.
#[derive(Debug, Clone, Default)]
pub struct Assembler {
    /// The program, unless it is to be looked for.
    pub program: Option<PathBuf>,
    /// Arguments beside those that every link gives.
    pub arguments: Vec<String>,
}

/// PTX that waits for the assembler.
#[derive(Debug)]
pub(super) struct Source<'d> {
    /// The input it comes from.
    pub(super) name: String,
    pub(super) text: Cow<'d, [u8]>,
    /// What the compiler that wrote it wants the assembler to be told.
    pub(super) options: Vec<String>,
}

/// What came of one source.
#[derive(Debug)]
pub(super) struct Assembled {
    /// What the assembler printed.
    pub(super) printed: String,
    /// The object, or why there is none.
    pub(super) object: Result<Vec<u8>, Diagnostic>,
}

/// Assembles all sources, as many at once as there are processors.
pub(super) fn assemble(
    sources: &[Source<'_>],
    wanted: &Wanted<'_>,
    program: &Path,
) -> Vec<Assembled> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(source) = sources.get(index) else {
                return done;
            };
            done.push((index, assemble_one(source, wanted, program)));
        }
    };
    let workers = thread::available_parallelism().map_or(1, usize::from);
    let mut done = Vec::with_capacity(sources.len());
    thread::scope(|scope| {
        let others: Vec<_> = (1..workers.min(sources.len()))
            .map(|_| scope.spawn(work))
            .collect();
        done.extend(work());
        for other in others {
            done.extend(other.join().expect("the assembler's threads do not panic"));
        }
    });
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, assembled)| assembled).collect()
}

fn assemble_one(source: &Source<'_>, wanted: &Wanted<'_>, program: &Path) -> Assembled {
    let mut printed = String::new();
    let object = try_assemble(source, wanted, program, &mut printed).unwrap_or_else(|why| {
        let text = format!("Could not run '{}'", program.display());
        Err(Diagnostic::new(Severity::Fatal, "ptxas-failed", text).with_detail(why))
    });
    if !wanted.is_compatible() {
        printed = printed.replace(INPUT, &source.name);
    }
    Assembled { printed, object }
}

fn try_assemble(
    source: &Source<'_>,
    wanted: &Wanted<'_>,
    program: &Path,
    printed: &mut String,
) -> io::Result<Result<Vec<u8>, Diagnostic>> {
    let folder = tempfile::tempdir()?;
    std::fs::write(folder.path().join(INPUT), &source.text)?;
    let output = Command::new(program)
        .current_dir(folder.path())
        .args(["-arch", &wanted.target.to_string(), "-m", "64", "-c"])
        .args(&source.options)
        .args(&wanted.assembler.arguments)
        .args([INPUT, "-o", OUTPUT])
        .output()?;
    for stream in [output.stdout, output.stderr] {
        printed.push_str(&String::from_utf8_lossy(&stream));
    }
    if output.status.success() {
        return std::fs::read(folder.path().join(OUTPUT)).map(Ok);
    }
    Ok(Err(Diagnostic::new(
        Severity::Fatal,
        "ptxas-failed",
        "elfLink fatbinary error",
    )
    .with_detail(format_args!(
        "'{}' made no object of the PTX in '{}' ({})",
        program.display(),
        source.name,
        output.status
    ))))
}
