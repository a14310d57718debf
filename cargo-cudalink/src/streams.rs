//! What is read and written, where `-` stands for the standard input and output.

use std::borrow::Cow;
use std::fs;
use std::io::{self, Read as _, Write};
use std::path::Path;

use anyhow::{Context as _, Result};
use rustnvlink::output;
pub(crate) use rustnvlink::output::is_standard;

/// What messages call a file, or a member of an archive, by the name that it has for programs.
pub(crate) fn shown(name: &str) -> Cow<'_, str> {
    const INPUT: &str = "the standard input";
    match name.strip_prefix('-') {
        Some("") => Cow::Borrowed(INPUT),
        Some(member) if member.starts_with(':') => Cow::Owned(format!("{INPUT}{member}")),
        _ => Cow::Borrowed(name),
    }
}

/// A file name as a shell takes it.
pub(crate) fn word(name: &str) -> Cow<'_, str> {
    shlex::try_quote(name).unwrap_or(Cow::Borrowed(name))
}

/// Reads a file that a command line names.
pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    if !is_standard(path) {
        return read_file(path);
    }
    let mut contents = Vec::new();
    io::stdin().lock().read_to_end(&mut contents)?;
    Ok(contents)
}

/// Reads a file, whatever its name. Only regular ones are read: a pipe may never end.
pub(crate) fn read_file(path: &Path) -> io::Result<Vec<u8>> {
    match fs::metadata(path)? {
        metadata if metadata.is_file() => fs::read(path),
        metadata if metadata.is_dir() => Err(output::folder_instead()),
        _ => Err(io::Error::other(
            "not a regular file; `-` stands for the standard input",
        )),
    }
}

/// Writes a file.
pub(crate) fn write(path: &Path, contents: &[u8]) -> Result<()> {
    match is_standard(path) {
        true => print(contents),
        false => named(path, output::write(path, contents)),
    }
}

/// Writes a file with `fill`.
pub(crate) fn write_with(
    path: &Path,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<()> {
    match is_standard(path) {
        true => {
            let mut out = io::stdout().lock();
            printed(fill(&mut out).and_then(|()| out.flush()))
        }
        false => named(path, output::write_with(path, |file| fill(file))),
    }
}

/// Prints.
pub(crate) fn print(contents: &[u8]) -> Result<()> {
    let mut out = io::stdout().lock();
    printed(out.write_all(contents).and_then(|()| out.flush()))
}

/// How it went to print something. Whoever has closed the pipe has seen enough.
pub(crate) fn printed(result: io::Result<()>) -> Result<()> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result.context("cannot write to the standard output"),
    }
}

fn named(path: &Path, result: io::Result<()>) -> Result<()> {
    result.with_context(|| format!("cannot write {}", path.display()))
}
