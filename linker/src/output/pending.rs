//! Files that are written before it is known whether they are wanted.

use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};

use super::{BUFFER, Destination, New, Sink};

/// Why a file is not written.
#[derive(Debug)]
pub(crate) enum Unwritten {
    /// There can be no file of this name.
    Unopened(io::Error),
    /// Its bytes found no place.
    Unfinished(io::Error),
}

/// A file that is written, but stands not yet in its place.
#[derive(Debug)]
pub(crate) struct Pending(Waiting);

#[derive(Debug)]
enum Waiting {
    File(New, PathBuf),
    /// What cannot be taken back is not written yet.
    Stream(File, Vec<u8>),
}

impl Pending {
    /// Writes a file beside the one at `path`.
    pub(crate) fn write(
        path: &Path,
        fill: impl FnOnce(&mut dyn Sink) -> io::Result<()>,
    ) -> Result<Self, Unwritten> {
        let destination = Destination::of(path).map_err(Unwritten::Unopened)?;
        Self::fill(destination, fill).map_err(Unwritten::Unfinished)
    }

    fn fill(
        destination: Destination,
        fill: impl FnOnce(&mut dyn Sink) -> io::Result<()>,
    ) -> io::Result<Self> {
        match destination {
            Destination::Stream(stream) => {
                let mut contents = Vec::new();
                fill(&mut contents)?;
                Ok(Self(Waiting::Stream(stream, contents)))
            }
            Destination::File(mut file, path) => {
                let mut buffered = BufWriter::with_capacity(BUFFER, file.as_file_mut());
                fill(&mut buffered)?;
                buffered.flush()?;
                drop(buffered);
                Ok(Self(Waiting::File(file, path)))
            }
        }
    }

    /// Puts the file into its place.
    pub(crate) fn finish(self) -> Result<(), Unwritten> {
        let finished = match self.0 {
            Waiting::File(file, path) => file.persist(&path),
            Waiting::Stream(mut stream, contents) => stream.write_all(&contents),
        };
        finished.map_err(Unwritten::Unfinished)
    }
}

#[cfg(test)]
mod tests {
    use super::super::write;
    use super::*;

    #[test]
    fn room_that_nobody_fills_is_not_part_of_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        for size in [10, 1 << 20] {
            let contents = vec![7; size];
            let fill = |out: &mut dyn Sink| {
                out.make_room(size + (1 << 20));
                out.write_all(&contents)
            };
            Pending::write(&path, fill).unwrap().finish().unwrap();
            assert_eq!(std::fs::read(&path).unwrap(), contents);
            write(&path, &contents).unwrap();
            assert_eq!(std::fs::read(&path).unwrap(), contents);
        }
    }
}
