//! Writes files so that they appear whole or not at all.

mod clash;
pub mod depfile;
#[cfg(feature = "program")]
mod pending;

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use tempfile::{Builder, NamedTempFile};

pub use crate::raw_text::visible;
pub use clash::{Clash, Named, clash};
#[cfg(feature = "program")]
pub(crate) use pending::{Pending, Unwritten};

/// So much stays in the caches of a processor, and takes the place of another file at once.
const BUFFER: usize = 256 * 1024;

/// How many links in a row systems follow.
const MAX_LINKS: usize = 40;

/// What takes an image.
pub(crate) trait Sink: Write {
    /// Makes room for so many bytes: all that will be written.
    fn make_room(&mut self, size: usize);
}

impl Sink for Vec<u8> {
    fn make_room(&mut self, size: usize) {
        self.reserve_exact(size);
    }
}

impl Sink for BufWriter<&mut File> {
    fn make_room(&mut self, size: usize) {
        allocate(self.get_ref(), size);
    }
}

/// Gives a large file its space on the disk. Without it ext4 and others choose the space when the file
/// takes the place of another one, and start to write it out, all of which the link has to wait
/// for: a tenth of its time where the image is large. Systems that cannot do so, or have too little
/// space, say the same when the file is written.
#[cfg(target_os = "linux")]
fn allocate(file: &File, size: usize) {
    use rustix::fs::{FallocateFlags, fallocate};
    if size > BUFFER {
        // The size stays that of what is written, which tells a file that is cut short.
        let _ = fallocate(file, FallocateFlags::KEEP_SIZE, 0, size as u64);
    }
}

#[cfg(not(target_os = "linux"))]
fn allocate(_: &File, _: usize) {}

/// Whether a file that a command line names is a standard stream. `./-` is a file of that name.
pub fn is_standard(path: &Path) -> bool {
    path == Path::new("-")
}

/// Has what would become larger than files may be here end with an error that says so, as where a disk is full, and not with
/// the program.
///
/// This is for programs, and does nothing without the feature `program` and on systems that are no Unix.
pub fn outlive_size_limits() {
    #[cfg(all(unix, feature = "program"))]
    {
        use std::sync::Arc;
        use std::sync::atomic::AtomicBool;

        // A signal that is looked at lets the writing fail. Where it cannot be, the program ends as others do.
        let noticed = Arc::new(AtomicBool::new(false));
        let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, noticed);
    }
}

/// Writes a file.
pub fn write(path: &Path, contents: &[u8]) -> io::Result<()> {
    write_with(path, |file| {
        allocate(file, contents.len());
        file.write_all(contents)
    })
}

/// Writes a file with `fill`, which must not look at it.
pub fn write_with(path: &Path, fill: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    match Destination::of(path)? {
        Destination::Stream(mut stream) => fill(&mut stream),
        Destination::File(mut file, path) => {
            fill(file.as_file_mut())?;
            file.persist(&path)
        }
    }
}

/// What is wrong with a folder where a file is to be read or written.
pub fn folder_instead() -> io::Error {
    let problem = "it is a folder; name a file in it";
    io::Error::new(io::ErrorKind::IsADirectory, problem)
}

/// What a path leads to.
enum Destination {
    /// Something that is no file, such as a terminal.
    Stream(File),
    /// A new file, which takes the place of this path.
    File(New, PathBuf),
}

impl Destination {
    fn of(path: &Path) -> io::Result<Self> {
        if path.as_os_str().is_empty() {
            let problem = "the name is empty";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, problem));
        }
        let (path, permissions) = match path.metadata() {
            Ok(metadata) if metadata.is_dir() => return Err(folder_instead()),
            Ok(metadata) => {
                // A file that may not be written stays, although it could be
                // replaced.
                let file = OpenOptions::new().write(true).open(path)?;
                // What leads to a pipe, or to a file that is deleted, is no path.
                match path.canonicalize() {
                    Ok(existing) if metadata.is_file() => (existing, Some(metadata.permissions())),
                    _ => return Ok(Self::Stream(file)),
                }
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => (destination(path), None),
            Err(error) => return Err(error),
        };
        let mut file = New::in_folder(folder_of(&path))?;
        if let Some(permissions) = permissions {
            file.as_file_mut().set_permissions(permissions)?;
        }
        Ok(Self::File(file, path))
    }
}

/// The folder that a path is in.
fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// A file on the way to its place.
#[derive(Debug)]
enum New {
    /// It has no name, and is gone with the program, whatever ends that.
    #[cfg(target_os = "linux")]
    Nameless(File, PathBuf),
    /// It has a name of its own.
    Named(NamedTempFile),
}

impl New {
    fn in_folder(folder: &Path) -> io::Result<Self> {
        #[cfg(target_os = "linux")]
        if let Some(file) = nameless(folder) {
            return Ok(Self::Nameless(file, folder.to_owned()));
        }
        let builder = named();
        #[cfg(unix)]
        let builder = readable(builder);
        // The name of the file on the way says nothing to a user.
        let file = builder
            .tempfile_in(folder)
            .map_err(|error| match error.kind() {
                // Some folders are shown by the system, which makes the files in them.
                io::ErrorKind::NotFound => io::Error::new(
                    io::ErrorKind::NotFound,
                    match folder.is_dir() {
                        true => "no file can be made in this folder",
                        false => "there is no such folder",
                    },
                ),
                kind => kind.into(),
            })?;
        Ok(Self::Named(file))
    }

    fn as_file_mut(&mut self) -> &mut File {
        match self {
            #[cfg(target_os = "linux")]
            Self::Nameless(file, _) => file,
            Self::Named(file) => file.as_file_mut(),
        }
    }

    /// Takes the place of what is there.
    fn persist(self, path: &Path) -> io::Result<()> {
        match self {
            #[cfg(target_os = "linux")]
            Self::Nameless(file, folder) => {
                use rustix::fs::{AtFlags, CWD, linkat};
                let open = open_file(&file);
                // Only a name can take the place of another one.
                let named = named().make_in(folder, |name| {
                    linkat(CWD, &open, CWD, name, AtFlags::SYMLINK_FOLLOW).map_err(Into::into)
                })?;
                named.persist(path)?;
            }
            Self::Named(file) => drop(file.persist(path)?),
        }
        Ok(())
    }
}

/// As readable as the user's mask lets any new file be.
#[cfg(unix)]
fn readable(mut builder: Builder<'static, 'static>) -> Builder<'static, 'static> {
    use std::os::unix::fs::PermissionsExt as _;
    builder.permissions(std::fs::Permissions::from_mode(NEW_FILE));
    builder
}

/// What the user's mask takes from for any new file.
#[cfg(unix)]
const NEW_FILE: u32 = 0o666;

/// Names of files that do not stay.
fn named() -> Builder<'static, 'static> {
    let mut builder = Builder::new();
    builder.prefix(".rustnvlink-");
    builder
}

/// A file without a name, where the system has such and can give it one later.
#[cfg(target_os = "linux")]
fn nameless(folder: &Path) -> Option<File> {
    use rustix::fs::{Mode, OFlags, open};
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    let file = File::from(open(folder, flags, Mode::from_raw_mode(NEW_FILE)).ok()?);
    open_file(&file).exists().then_some(file)
}

/// Where the system shows an open file.
#[cfg(target_os = "linux")]
fn open_file(file: &File) -> PathBuf {
    use std::os::fd::AsRawFd as _;
    PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

/// Where a file that is not there yet belongs: links may lead to its place.
fn destination(path: &Path) -> PathBuf {
    let mut path = path.to_owned();
    for _ in 0..MAX_LINKS {
        let Ok(target) = path.read_link() else {
            break;
        };
        path = match path.parent() {
            Some(folder) => folder.join(target),
            None => target,
        };
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn links_stay_and_permissions_too() {
        use std::fs::Permissions;
        use std::os::unix::fs::{PermissionsExt as _, symlink};
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for (link, target) in [("a", "b"), ("b", "new"), ("x", "y"), ("y", "x")] {
            symlink(target, at(link)).unwrap();
        }
        write(&at("a"), b"1").unwrap();
        assert!(at("a").is_symlink() && at("b").is_symlink());
        std::fs::set_permissions(at("new"), Permissions::from_mode(0o640)).unwrap();
        write(&at("b"), b"2").unwrap();
        assert_eq!(std::fs::read(at("new")).unwrap(), b"2");
        let mode = at("new").metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o640);
        // The links lead to each other.
        write(&at("x"), b"3").unwrap_err();
        assert!(at("x").is_symlink());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn an_end_in_the_middle_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        let names = || std::fs::read_dir(folder.path()).unwrap().count();
        // Elsewhere there is a file, which goes with an error and stays with a signal.
        let expected = usize::from(nameless(folder.path()).is_none());
        for before in [0, 1] {
            write_with(&path, |file| {
                file.write_all(b"whole")?;
                assert_eq!(names(), before + expected);
                Ok(())
            })
            .unwrap();
            assert_eq!(names(), 1);
            assert_eq!(std::fs::read(&path).unwrap(), b"whole");
        }
        let failed = write_with(&path, |file| {
            file.write_all(b"half")?;
            Err(io::Error::other("no"))
        });
        failed.unwrap_err();
        assert_eq!(std::fs::read(&path).unwrap(), b"whole");
        assert_eq!(names(), 1);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_leads_to_a_pipe_is_written_to() {
        use std::io::Read as _;
        use std::os::fd::AsRawFd as _;
        use std::os::unix::fs::symlink;
        let folder = tempfile::tempdir().unwrap();
        let (mut reader, writer) = io::pipe().unwrap();
        let link = folder.path().join("link");
        symlink(format!("/proc/self/fd/{}", writer.as_raw_fd()), &link).unwrap();
        write(&link, b"through").unwrap();
        drop(writer);
        let mut read = Vec::new();
        reader.read_to_end(&mut read).unwrap();
        assert_eq!(read, b"through");
        assert!(link.is_symlink());
    }
}
