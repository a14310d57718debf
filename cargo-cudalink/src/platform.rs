//! What differs between systems.

use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode};

use anyhow::{Context as _, Result};

/// The current folder.
pub(crate) fn current_folder() -> Result<PathBuf> {
    env::current_dir().context("the current folder cannot be told")
}

/// The file that this program was started from.
pub(crate) fn this_program() -> Result<PathBuf> {
    env::current_exe().context("this program does not know where it lies")
}

/// Makes `link` lead to `original`, whatever was there before. Who looks at it at the same time sees one or the other.
pub(crate) fn link(original: &Path, link: &Path) -> io::Result<()> {
    if fs::read_link(link).is_ok_and(|there| there == original) {
        return Ok(());
    }
    let folder = link.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let new = tempfile::Builder::new().make_in(folder, |path| make_link(original, path))?;
    new.persist(link)?;
    Ok(())
}

#[cfg(unix)]
fn make_link(original: &Path, link: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(original, link)
}

#[cfg(not(unix))]
fn make_link(original: &Path, link: &Path) -> io::Result<()> {
    fs::copy(original, link).map(drop)
}

/// Goes on as another program.
#[cfg(unix)]
pub(crate) fn replace_by(mut command: Command) -> Result<ExitCode> {
    use std::os::unix::process::CommandExt as _;

    let error = command.exec();
    Err(not_started(&command, error))
}

/// Goes on as another program.
#[cfg(not(unix))]
pub(crate) fn replace_by(mut command: Command) -> Result<ExitCode> {
    let status = command
        .status()
        .map_err(|error| not_started(&command, error))?;
    Ok(exit_code(status))
}

/// Ends a child, too, when this program is asked to end: the child is what the user has started.
#[cfg(unix)]
pub(crate) fn hand_on_termination(child: &Child) -> io::Result<()> {
    use rustix::process::{Pid, Signal, kill_process};
    use signal_hook::{consts::SIGTERM, iterator::Signals};

    let child = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let mut signals = Signals::new([SIGTERM])?;
    std::thread::spawn(move || {
        for _ in signals.forever() {
            // One that has ended needs no signal.
            let _ = child.map(|child| kill_process(child, Signal::TERM));
        }
    });
    Ok(())
}

/// Ends a child, too, when this program is asked to end.
#[cfg(not(unix))]
pub(crate) fn hand_on_termination(_: &Child) -> io::Result<()> {
    Ok(())
}

/// Whether the program that has started this one has an argument; where that cannot be told, it has none.
#[cfg(unix)]
pub(crate) fn parent_has_argument(argument: &str) -> bool {
    let parent = std::os::unix::process::parent_id();
    let arguments = fs::read(format!("/proc/{parent}/cmdline")).unwrap_or_default();
    arguments
        .split(|byte| *byte == 0)
        .any(|word| word == argument.as_bytes())
}

/// Whether the program that has started this one has an argument; where that cannot be told, it has none.
#[cfg(not(unix))]
pub(crate) fn parent_has_argument(_: &str) -> bool {
    false
}

/// The exit code of a program that has ended, as a shell would tell it.
pub(crate) fn exit_code(status: std::process::ExitStatus) -> ExitCode {
    let code = status.code().unwrap_or_else(|| 128 + signal(status));
    ExitCode::from(u8::try_from(code).unwrap_or(1))
}

#[cfg(unix)]
fn signal(status: std::process::ExitStatus) -> i32 {
    use std::os::unix::process::ExitStatusExt as _;

    status.signal().unwrap_or_default()
}

#[cfg(not(unix))]
fn signal(_: std::process::ExitStatus) -> i32 {
    0
}

/// A program that cannot be started.
pub(crate) fn not_started(command: &Command, error: io::Error) -> anyhow::Error {
    let program = command.get_program().to_string_lossy().into_owned();
    anyhow::Error::new(error).context(format!("cannot run '{program}'"))
}
