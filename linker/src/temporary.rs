//! Folders for files that do not stay, also where a signal ends the program.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tempfile::TempDir;

/// Where files lie in passing when nothing names another place, or one that is of no use.
#[cfg(unix)]
const USUAL_FOLDER: &str = "/tmp";

/// What there is at the moment.
static FOLDERS: Mutex<Folders> = Mutex::new(Folders {
    on_signals: OnSignals::Stay,
    paths: Vec::new(),
});

struct Folders {
    on_signals: OnSignals,
    paths: Vec<PathBuf>,
}

/// What becomes of folders when a signal ends the program.
enum OnSignals {
    /// Nobody looks at signals.
    Stay,
    /// The first folder has them removed.
    Wanted,
    /// A thread waits for signals.
    Removed,
}

fn folders() -> MutexGuard<'static, Folders> {
    FOLDERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes folders before a signal that asks the program to end does so.
///
/// This is for programs: what a signal means is not for a library to say. It costs nothing until there is a folder. Without the
/// feature `program`, and on systems that are no Unix, it does nothing.
pub fn remove_on_signals() {
    let mut folders = folders();
    if matches!(folders.on_signals, OnSignals::Stay) {
        folders.on_signals = OnSignals::Wanted;
    }
}

/// A folder that is removed with what is in it.
#[derive(Debug)]
pub struct Folder {
    // It goes before its entry does.
    folder: TempDir,
    _entry: Entry,
}

impl Folder {
    /// Makes one where the system has such.
    pub fn new() -> io::Result<Self> {
        let mut folders = folders();
        if matches!(folders.on_signals, OnSignals::Wanted) {
            // Without it the folder may stay, and is of use all the same.
            let _ = watch();
            folders.on_signals = OnSignals::Removed;
        }
        let made = tempfile::tempdir();
        #[cfg(unix)]
        let made = made.or_else(|why| tempfile::tempdir_in(USUAL_FOLDER).map_err(|_| why));
        let folder = made?;
        folders.paths.push(folder.path().to_owned());
        Ok(Self {
            _entry: Entry(folder.path().to_owned()),
            folder,
        })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// What is known of a folder as long as it is there.
#[derive(Debug)]
struct Entry(PathBuf);

impl Drop for Entry {
    fn drop(&mut self) {
        folders().paths.retain(|path| *path != self.0);
    }
}

/// Waits for the signals that ask programs to end, but for those that whoever started this one has it ignore, as `nohup` does.
#[cfg(all(unix, feature = "program"))]
fn watch() -> io::Result<()> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    use signal_hook::{iterator::Signals, low_level::emulate_default_handler};

    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = ignored(&status);
    let signals = [SIGHUP, SIGINT, SIGTERM];
    let mut signals = Signals::new(signals.iter().filter(|signal| !ignored(**signal)))?;
    std::thread::Builder::new().spawn(move || {
        for signal in signals.forever() {
            // Nobody makes another one behind this.
            let folders = folders();
            for path in &folders.paths {
                let _ = std::fs::remove_dir_all(path);
            }
            let _ = emulate_default_handler(signal);
        }
    })?;
    Ok(())
}

#[cfg(not(all(unix, feature = "program")))]
fn watch() -> io::Result<()> {
    Ok(())
}

/// Which signals a process ignores, by what Linux says of it. Where nothing is said, it ignores none.
#[cfg(all(unix, feature = "program"))]
fn ignored(status: &str) -> impl Fn(i32) -> bool + use<> {
    let mut lines = status.lines();
    let mask = lines.find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    move |signal| mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

#[cfg(all(test, unix, feature = "program"))]
mod tests {
    use super::*;

    #[test]
    fn signals_that_are_ignored_are_known() {
        let ignored =
            ignored("Name:\tlink\nSigBlk:\t0000000000000002\nSigIgn:\t0000000000001001\n");
        assert_eq!([1, 2, 13, 15].map(&ignored), [true, false, true, false]);
        assert!(!super::ignored("")(1));
    }
}
