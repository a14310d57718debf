//! Writes files so that they appear whole or not at all.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;

use tempfile::Builder;

/// Writes a file.
pub fn write(path: &Path, contents: &[u8]) -> io::Result<()> {
    write_with(path, |file| file.write_all(contents))
}

/// Writes a file with `fill`, which must not look at it.
pub fn write_with(path: &Path, fill: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    let path = match path.canonicalize() {
        Ok(existing) => {
            // A file that may not be written stays, although it could be
            // replaced.
            let mut file = OpenOptions::new().write(true).open(&existing)?;
            if !file.metadata()?.is_file() {
                return fill(&mut file);
            }
            existing
        }
        Err(_) => path.to_owned(),
    };
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let mut builder = Builder::new();
    builder.prefix(".rustnvlink-");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        // What the user's mask leaves of it, as for any new file.
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    // The name of the file on the way says nothing to a user.
    let mut file = builder
        .tempfile_in(folder)
        .map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => {
                io::Error::new(io::ErrorKind::NotFound, "there is no such folder")
            }
            kind => kind.into(),
        })?;
    fill(file.as_file_mut())?;
    file.persist(&path)?;
    Ok(())
}
