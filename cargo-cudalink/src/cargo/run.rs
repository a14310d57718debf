//! One run of cargo: a folder of its own, and an ear for what its device links have to say.

use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{ChildStdout, Command, ExitCode, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use tempfile::TempDir;

use super::report::Reporter;
use crate::journal::Reader;
use crate::plan::Folder;
use crate::platform::{self, not_started};
use crate::streams;

/// How often the journal is read: what is said of a device link stands before what the program says that is run next.
const INTERVAL: Duration = Duration::from_millis(10);

/// The file in a run's folder that is locked as long as the run lasts.
const LOCK: &str = "lock";

/// A run.
#[derive(Debug)]
pub(super) struct Run {
    folder: TempDir,
    journal: Reader,
    /// Held as long as this run lasts.
    _lock: File,
}

impl Run {
    /// Makes the folder, and removes those of runs that were killed.
    pub(super) fn begin(folder: &Folder) -> Result<Self> {
        let runs = folder.runs();
        let begin = || -> io::Result<Self> {
            fs::create_dir_all(&runs)?;
            let own = TempDir::with_prefix_in("", &runs)?;
            // Whoever finds the lock finds it held: a run that begins beside this one removes folders whose lock is free.
            let unseen = own.path().join("lock.new");
            let lock = File::create(&unseen)?;
            lock.lock()?;
            fs::rename(unseen, own.path().join(LOCK))?;
            let journal = Reader::create(&own.path().join("journal"))?;
            Ok(Self {
                folder: own,
                journal,
                _lock: lock,
            })
        };
        let run = begin().with_context(|| format!("cannot write to {}", runs.display()))?;
        remove_abandoned(&runs);
        Ok(run)
    }

    /// Where the plan goes.
    pub(super) fn plan(&self) -> PathBuf {
        self.folder.path().join("plan.json")
    }

    /// Where events go.
    pub(super) fn journal(&self) -> PathBuf {
        self.folder.path().join("journal")
    }

    /// Runs cargo and shows what happens in device links.
    pub(super) fn follow(
        mut self,
        mut command: Command,
        mut reporter: Reporter,
    ) -> Result<ExitCode> {
        // Cargo and the program it runs get the interrupt too and decide what it means; this program waits for them.
        ctrlc::set_handler(|| {}).context("interrupts cannot be handed on")?;
        if reporter.writes_json() {
            command.stdout(Stdio::piped());
        }
        let mut child = command
            .spawn()
            .map_err(|error| not_started(&command, error))?;
        platform::hand_on_termination(&child).context("signals cannot be handed on")?;
        let mut stream = Stream::of(child.stdout.take());
        let (ended, end) = channel();
        thread::spawn(move || ended.send(child.wait()));
        let status = loop {
            let next = end.recv_timeout(INTERVAL);
            for event in self.journal.events()? {
                reporter.show(event);
            }
            stream.pass_on(|lines| lines.try_recv().ok());
            match next {
                Ok(status) => break status.context("cargo cannot be waited for")?,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    anyhow::bail!("cargo cannot be waited for");
                }
            }
        };
        stream.pass_on(|lines| lines.recv().ok());
        reporter.finish(status.success());
        streams::printed(stream.written)?;
        Ok(platform::exit_code(status))
    }
}

/// What cargo prints for programs, until nobody takes it any more.
#[derive(Debug)]
struct Stream {
    lines: Option<Receiver<Vec<u8>>>,
    written: io::Result<()>,
}

impl Stream {
    fn of(output: Option<ChildStdout>) -> Self {
        Self {
            lines: output.map(lines),
            written: Ok(()),
        }
    }

    /// Passes on what `next` gets. When that fails, cargo's own end of the stream is closed, so that it ends as it does where
    /// nobody is between.
    fn pass_on(&mut self, next: impl Fn(&Receiver<Vec<u8>>) -> Option<Vec<u8>>) {
        let Some(lines) = &self.lines else {
            return;
        };
        self.written = print_all(std::iter::from_fn(|| next(lines)));
        if self.written.is_err() {
            self.lines = None;
        }
    }
}

fn print_all(lines: impl Iterator<Item = Vec<u8>>) -> io::Result<()> {
    let mut output = io::stdout().lock();
    for line in lines {
        output.write_all(&line)?;
    }
    output.flush()
}

/// The lines of cargo's output, so that ours come between whole ones.
fn lines(output: ChildStdout) -> Receiver<Vec<u8>> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        let mut output = BufReader::new(output);
        loop {
            let mut line = Vec::new();
            match output.read_until(b'\n', &mut line) {
                Ok(0) | Err(_) => return,
                Ok(_) if sender.send(line).is_err() => return,
                Ok(_) => {}
            }
        }
    });
    receiver
}

/// The lock of a run that was killed is free. What cannot be removed is left to the next run.
fn remove_abandoned(runs: &Path) {
    for path in fs::read_dir(runs).into_iter().flatten().flatten() {
        let path = path.path();
        // A folder without a lock is about to get one, held.
        let is_abandoned = File::open(path.join(LOCK)).is_ok_and(|lock| lock.try_lock().is_ok());
        if is_abandoned {
            drop(fs::remove_dir_all(&path));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_that_begin_at_the_same_time_leave_each_other_alone() {
        let target = tempfile::tempdir().unwrap();
        let folder = Folder::of_target(target.path());
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..200 {
                        let run = Run::begin(&folder).unwrap();
                        assert!(run.journal().exists());
                    }
                });
            }
        });
    }

    #[test]
    fn abandoned_runs_are_removed_and_others_stay() {
        let target = tempfile::tempdir().unwrap();
        let folder = Folder::of_target(target.path());
        let abandoned = folder.runs().join("abandoned");
        fs::create_dir_all(&abandoned).unwrap();
        File::create(abandoned.join(LOCK)).unwrap();
        let first = Run::begin(&folder).unwrap();
        assert!(!abandoned.exists());
        let second = Run::begin(&folder).unwrap();
        assert!(first.journal().exists() && second.journal().exists());
        let path = first.journal();
        drop(first);
        assert!(!path.exists());
    }
}
