//! What the command line writes, with nvlink's words where it cannot.

use std::fmt::Display;
use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::lower::{Request, Target};
use crate::Exit;
use crate::codes;
use crate::diagnostic::Diagnostic;
use crate::inputs::Compilation;
use crate::options::Behaviour;
use crate::output::{Sink, Unwritten, is_standard};
use crate::raw_text;

/// Prints on the standard output. Who has stopped reading has read enough.
pub(super) fn print(text: &str) -> Result<Exit, Diagnostic> {
    match io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Diagnostic::fatal(
            codes::UNWRITABLE_OUTPUT,
            format!("Could not write to the standard output: {error}"),
        )),
        _ => Ok(Exit::Success),
    }
}

/// Writes a file.
pub(super) fn write(path: &Path, contents: &[u8]) -> Result<(), Diagnostic> {
    pending(path.to_owned(), Behaviour::Own, |out| {
        out.write_all(contents)
    })
    .finish()
}

/// Writes a file that does not take its place yet.
pub(super) fn pending(
    path: PathBuf,
    behaviour: Behaviour,
    fill: impl FnOnce(&mut dyn Sink) -> io::Result<()>,
) -> Pending {
    Pending {
        file: crate::output::Pending::write(&path, fill),
        path,
        behaviour,
    }
}

/// A file that is written, or a reason why not, and where it belongs.
pub(super) struct Pending {
    path: PathBuf,
    file: Result<crate::output::Pending, Unwritten>,
    behaviour: Behaviour,
}

impl Pending {
    /// Says why the file could not be written.
    pub(super) fn check(&self) -> Result<(), Diagnostic> {
        match &self.file {
            Ok(_) => Ok(()),
            Err(why) => Err(unwritable(&self.path, why, self.behaviour)),
        }
    }

    /// Puts the file into its place.
    pub(super) fn finish(self) -> Result<(), Diagnostic> {
        self.file
            .and_then(crate::output::Pending::finish)
            .map_err(|why| unwritable(&self.path, &why, self.behaviour))
    }
}

fn unwritable(path: &Path, why: &Unwritten, behaviour: Behaviour) -> Diagnostic {
    let path = raw_text::text(path.as_os_str());
    let (text, why) = match (why, behaviour) {
        (Unwritten::Unopened(why), _) => (format!("Could not open output file '{path}'"), why),
        // What nvlink says of an image; it does not notice what its other outputs lack.
        (Unwritten::Unfinished(why), Behaviour::Nvlink) => {
            ("Internal error: writing file".to_owned(), why)
        }
        (Unwritten::Unfinished(why), Behaviour::Own) => {
            (format!("Could not write output file '{path}'"), why)
        }
    };
    Diagnostic::fatal(codes::UNWRITABLE_OUTPUT, text).with_detail(why)
}

const TIME_HEADER: &str = "source file name , phase name , phase input files , phase output file , \
                           arch , tool, metric , unit\n";

/// Where a table of times goes.
pub(super) enum Table {
    /// The standard output.
    Printed,
    /// The end of this file.
    File(PathBuf, File),
}

/// Opens a table of times, which is the first that a link does.
pub(super) fn open_table(path: &Path, behaviour: Behaviour) -> Result<Table, Diagnostic> {
    if is_standard(path) {
        return Ok(Table::Printed);
    }
    let unopened = |why: &dyn Display| {
        let name = raw_text::text(path.as_os_str());
        let text = format!("Cannot open file '{name}'");
        Diagnostic::fatal(codes::UNWRITABLE_OUTPUT, text).with_detail(why)
    };
    if behaviour == Behaviour::Own && holds_something_else(path) {
        return Err(unopened(&"it holds something else than a table of times"));
    }
    let file = OpenOptions::new().create(true).append(true).open(path);
    let file = file.map_err(|why| unopened(&why))?;
    Ok(Table::File(path.to_owned(), file))
}

/// Whether this file is there and no table: `--time a.o b.o` names an object.
fn holds_something_else(path: &Path) -> bool {
    if !path.is_file() {
        return false;
    }
    // Tables of every nvcc begin like this.
    let expected = "source file name ,";
    let mut start = Vec::new();
    let read =
        File::open(path).and_then(|file| file.take(expected.len() as u64).read_to_end(&mut start));
    // What cannot be read is for whoever writes to say.
    read.is_ok() && !start.is_empty() && start != expected.as_bytes()
}

/// The row for a whole link.
pub(super) fn time_of_link(request: &Request, elapsed: Duration) -> String {
    let inputs = request.link.inputs.files.iter();
    let inputs: Vec<String> = inputs
        .map(|file| format!("\"{}\"", file.display()))
        .collect();
    format!(
        " , rustnvlink , {} , \"{}\" , {} , rustnvlink , {:.3} , ms\n",
        inputs.join(" "),
        request.output.display(),
        targets(request),
        elapsed.as_secs_f64() * 1e3,
    )
}

/// The rows that nvlink writes: one for each step of compilers.
pub(super) fn times(request: &Request, compilations: &[Compilation]) -> String {
    let arch = targets(request);
    let rows = compilations.iter().map(|one| {
        let (source, phase, input, output) = (&one.source, one.phase, &one.input, one.output);
        let elapsed = one.elapsed.as_secs_f64() * 1e3;
        format!("{source} , {phase} , {input} , {output} , {arch} , nvlink , {elapsed:.4} , ms\n")
    });
    rows.collect()
}

fn targets(request: &Request) -> String {
    let targets: Vec<String> = request.targets.iter().map(Target::to_string).collect();
    targets.join(" ")
}

/// Appends rows to a table of times.
pub(super) fn append_times(table: Table, rows: &str) -> Result<(), Diagnostic> {
    let mut text = String::new();
    let (path, mut file) = match table {
        Table::Printed => {
            text.push_str(TIME_HEADER);
            text.push_str(rows);
            return print(&text).map(|_| ());
        }
        Table::File(path, file) => (path, file),
    };
    let mut append = || -> io::Result<()> {
        if file.metadata()?.len() == 0 {
            text.push_str(TIME_HEADER);
        }
        text.push_str(rows);
        file.write_all(text.as_bytes())
    };
    append().map_err(|why| unwritable(&path, &Unwritten::Unfinished(why), Behaviour::Own))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_appended_to_tables_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("table");
        let append = |behaviour| append_times(open_table(&path, behaviour)?, "row\n");
        for _ in 0..2 {
            append(Behaviour::Own).unwrap();
        }
        let table = std::fs::read_to_string(&path).unwrap();
        assert_eq!(table, format!("{TIME_HEADER}row\nrow\n"));
        for other in [
            &b"\x7fELF"[..],
            b"source of something else, which is longer",
        ] {
            std::fs::write(&path, other).unwrap();
            assert_eq!(
                append(Behaviour::Own).unwrap_err().code,
                codes::UNWRITABLE_OUTPUT
            );
            assert_eq!(std::fs::read(&path).unwrap(), other);
            append(Behaviour::Nvlink).unwrap();
            assert!(std::fs::read(&path).unwrap().ends_with(b"row\n"));
        }
    }

    #[test]
    fn files_are_replaced_and_others_written_through() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        for contents in ["first", "second"] {
            write(&path, contents.as_bytes()).unwrap();
            assert_eq!(std::fs::read_to_string(&path).unwrap(), contents);
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
        let missing = folder.path().join("no/out");
        assert_eq!(
            write(&missing, b"").unwrap_err().code,
            codes::UNWRITABLE_OUTPUT
        );
        #[cfg(unix)]
        {
            let link = folder.path().join("link");
            std::os::unix::fs::symlink(&path, &link).unwrap();
            write(&link, b"third").unwrap();
            assert!(link.is_symlink());
            assert_eq!(std::fs::read_to_string(&path).unwrap(), "third");
            write(Path::new("/dev/null"), b"gone").unwrap();
            assert!(!Path::new("/dev/null").is_file());
        }
    }
}
