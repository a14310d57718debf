//! Files that options name, which are read whole.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::Path;

use crate::output::folder_instead;

/// More than any such file holds that has an end.
const MOST: u64 = 256 << 20;

/// Reads a file. Devices such as `/dev/zero` have no end, and are no such files.
pub(super) fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let file = File::open(path)?;
    if file.metadata()?.is_dir() {
        return Err(folder_instead());
    }
    let read = file.take(MOST + 1).read_to_end(&mut bytes)?;
    match read as u64 > MOST {
        true => Err(io::Error::new(
            ErrorKind::FileTooLarge,
            format!("it is longer than {} MB", MOST >> 20),
        )),
        false => Ok(bytes),
    }
}
