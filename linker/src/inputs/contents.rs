//! The bytes of files.
//!
//! Small files stand one behind the other in one piece of memory: to get memory
//! for each of a thousand takes as long as to read them.

use std::fs::{File, Metadata};
use std::io::{self, Read as _};
use std::ops::{Deref, Range};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::container::foreign::Foreign;
use crate::container::{InputKind, detect};
use crate::output::folder_instead;
use crate::parallel;

/// The least that a file takes, archives aside: those without members are shorter.
const SMALLEST: usize = 56;
/// How much of something that is no plain file is read to see what it is.
const BEGINNING: u64 = 64 * 1024;
/// How much of it is read when it is an input: a plain file has an end, a pipe need not have one.
const MOST: u64 = 4 << 30;
/// About what an input has.
const USUAL: usize = 32 * 1024;
/// Files that are larger have memory of their own.
const SMALL: u64 = 1 << 20;

/// The bytes of one file.
#[derive(Debug)]
pub(super) struct Contents {
    memory: Arc<Vec<u8>>,
    range: Range<usize>,
    /// Whether they came out of a pipe or device, whose name says nothing of them.
    pub(super) is_stream: bool,
}

impl Deref for Contents {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.memory[self.range.clone()]
    }
}

impl From<Vec<u8>> for Contents {
    fn from(bytes: Vec<u8>) -> Self {
        let range = 0..bytes.len();
        Self {
            memory: Arc::new(bytes),
            range,
            is_stream: false,
        }
    }
}

/// Reads files at the same time.
pub(super) fn read_all(paths: &[PathBuf]) -> Vec<io::Result<Contents>> {
    let bytes = paths.len() * USUAL;
    let sizes = parallel::map(paths, bytes, |path| small_size(path));
    let mut memory = vec![0; sizes.iter().sum()];
    let mut slots = Vec::with_capacity(paths.len());
    let mut rest = &mut memory[..];
    for &size in &sizes {
        let (room, others) = rest.split_at_mut(size);
        rest = others;
        slots.push((room, None));
    }
    parallel::fill(paths, &mut slots, bytes, |path, (room, other)| {
        // A file that is not what it was a moment ago is read anew.
        if room.is_empty() || read_small(path, room).is_err() {
            *other = Some(read(path));
        }
    });
    let others: Vec<_> = slots.into_iter().map(|(_, other)| other).collect();
    let memory = Arc::new(memory);
    let mut end = 0;
    let contents = sizes.into_iter().zip(others).map(|(size, other)| {
        let range = end..end + size;
        end = range.end;
        let memory = Arc::clone(&memory);
        let is_stream = false;
        other.unwrap_or(Ok(Contents {
            memory,
            range,
            is_stream,
        }))
    });
    contents.collect()
}

/// The size of a small plain file, and 0 of anything else.
fn small_size(path: &Path) -> usize {
    let small = path
        .metadata()
        .ok()
        .filter(|metadata| metadata.is_file() && metadata.len() <= SMALL);
    let size = small.map_or(0, |metadata| metadata.len() as usize);
    if size < SMALLEST { 0 } else { size }
}

fn read_small(path: &Path, room: &mut [u8]) -> io::Result<()> {
    File::open(path)?.read_exact(room)
}

/// Reads a file. A few bytes are no file of any kind, and of a device or pipe that
/// never ends only the beginning is read.
pub(super) fn read(path: &Path) -> io::Result<Contents> {
    let metadata = path.metadata()?;
    if metadata.is_dir() {
        return Err(folder_instead());
    }
    refuse_named_pipe(path, &metadata)?;
    let mut file = File::open(path)?;
    let mut data = Vec::new();
    if metadata.is_file() {
        file.read_to_end(&mut data)?;
    } else {
        let mut file = file.take(BEGINNING);
        file.read_to_end(&mut data)?;
        if detect(&data) != InputKind::Unknown {
            file.set_limit(MOST);
            file.read_to_end(&mut data)?;
            if file.limit() == 0 {
                let problem = "it does not end; write what comes out of it to a file";
                return Err(io::Error::new(io::ErrorKind::FileTooLarge, problem));
            }
        }
    }
    if (1..SMALLEST).contains(&data.len()) && detect(&data) != InputKind::Archive {
        let problem = match Foreign::is_named_source(path) {
            true => IS_SOURCE.to_owned(),
            false => "it is too short for any kind of input".to_owned(),
        };
        return Err(io::Error::new(io::ErrorKind::InvalidData, problem));
    }
    Ok(Contents {
        is_stream: !metadata.is_file(),
        ..Contents::from(data)
    })
}

/// What is wrong with a source as an input.
pub(super) const IS_SOURCE: &str = "it is a source, which has to be compiled first (nvcc -dc)";

/// What a file is instead of what its name promises, if that can be told.
pub(super) fn what_else(name: &str, data: &[u8]) -> Option<String> {
    match Foreign::of(Path::new(name), data) {
        Foreign::Text(line) => Some(format!("is a text that begins with '{line}'")),
        Foreign::Packed(program) => Some(format!(
            "is packed by {program}, and has to be unpacked first"
        )),
        Foreign::OfSystem(system) => Some(format!("is a file of {system}")),
        Foreign::Empty | Foreign::Source | Foreign::Libtool(_) | Foreign::Other => None,
    }
}

/// What is wrong with a file of no known kind.
pub(super) fn what_it_is(name: &str, data: &[u8]) -> String {
    const IS_NO_INPUT: &str = "it is neither a host object nor an archive, cubin or fatbin";
    match Foreign::of(Path::new(name), data) {
        Foreign::Empty => "it is empty".to_owned(),
        Foreign::Source => IS_SOURCE.to_owned(),
        Foreign::Libtool(files) if files.is_empty() => {
            "it is a text of libtool, which names no object and no static library".to_owned()
        }
        Foreign::Libtool(files) => {
            let files: Vec<String> = files.iter().map(|file| format!("'{file}'")).collect();
            format!(
                "it is a text of libtool; link {} instead",
                files.join(" or ")
            )
        }
        Foreign::Text(line) => format!("{IS_NO_INPUT}, but a text that begins with '{line}'"),
        Foreign::Packed(program) => {
            format!("it is packed by {program}, and has to be unpacked first")
        }
        Foreign::OfSystem(system) => {
            format!("it is a file of {system}, and device code is linked of those of Linux")
        }
        Foreign::Other => IS_NO_INPUT.to_owned(),
    }
}

/// To open a pipe that has a name is to wait until somebody writes to it, perhaps for ever. One without,
/// such as a shell makes for `<(command)`, was written to or has been left.
#[cfg(unix)]
fn refuse_named_pipe(path: &Path, metadata: &Metadata) -> io::Result<()> {
    use std::os::unix::fs::FileTypeExt as _;
    if !metadata.file_type().is_fifo() || is_nameless(path) {
        return Ok(());
    }
    let problem = "it is a pipe; write what comes out of it to a file";
    Err(io::Error::new(io::ErrorKind::InvalidInput, problem))
}

#[cfg(not(unix))]
fn refuse_named_pipe(_: &Path, _: &Metadata) -> io::Result<()> {
    Ok(())
}

/// Whether a pipe lies in no folder: the system has a file system of its own for these.
#[cfg(target_os = "linux")]
fn is_nameless(pipe: &Path) -> bool {
    const PIPES: rustix::fs::FsWord = 0x5049_5045;
    rustix::fs::statfs(pipe).is_ok_and(|system| system.f_type == PIPES)
}

#[cfg(all(unix, not(target_os = "linux")))]
fn is_nameless(_: &Path) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_all_sizes_are_read_in_their_order() {
        let folder = tempfile::tempdir().unwrap();
        let sizes = [100, 0, 3, SMALLEST, SMALL as usize + 1, 5000];
        let paths: Vec<PathBuf> = (0..sizes.len())
            .map(|number| folder.path().join(number.to_string()))
            .collect();
        for (number, (path, size)) in paths.iter().zip(sizes).enumerate() {
            std::fs::write(path, vec![number as u8; size]).unwrap();
        }
        let mut asked = paths.clone();
        asked.push(folder.path().join("missing"));
        let read = read_all(&asked);
        for (number, (contents, size)) in read.iter().zip(sizes).enumerate() {
            match contents {
                Ok(bytes) => assert_eq!(**bytes, vec![number as u8; size]),
                Err(why) => assert_eq!((size, why.kind()), (3, io::ErrorKind::InvalidData)),
            }
        }
        assert_eq!(
            read.last().unwrap().as_ref().unwrap_err().kind(),
            io::ErrorKind::NotFound
        );
    }

    #[test]
    fn what_shrinks_meanwhile_is_read_anew() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, [7; 100]).unwrap();
        assert!(read_small(&path, &mut [0; 101]).is_err());
        assert_eq!(*read(&path).unwrap(), [7; 100]);
    }
}
