//! Fetches packages with the package manager of Python, which knows the user's index, proxy and certificates.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use crate::environment::{CACHE_VARIABLE, Environment};
use crate::search::entries;

/// The ways to run pip, the likeliest first. `uv` brings its own pip when Python has none.
const CANDIDATES: &[(&str, &[&str])] = &[
    ("python3", &["-m", "pip"]),
    ("python", &["-m", "pip"]),
    ("pip3", &[]),
    ("uv", &["tool", "run", "pip"]),
];

/// How often the size of what has arrived is looked at.
const LOOK: Duration = Duration::from_millis(100);

/// The pauses before a package is fetched again.
const PAUSES: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(5)];

/// What pip says of a failure that another try does not change. It tries connections again by itself, but not a transfer that
/// breaks off.
const FINAL: [&str; 3] = [
    "No matching distribution found",
    "Max retries exceeded",
    FULL,
];
/// What it says when the disk is full.
const FULL: &str = "No space left on device";
/// How a line begins that tells of such a try.
const RETRYING: &str = "WARNING: Retrying (";

/// No package manager of Python works.
#[derive(Debug, thiserror::Error)]
#[error(
    "no pip to fetch the packages with{}\n\
     help: `apt install python3-pip` (or your system's package of that name), or install uv",
    tried.iter().map(|line| format!("\n  {line}")).collect::<String>()
)]
pub struct NoPip {
    /// Each command that was tried and why it did not serve.
    pub tried: Vec<String>,
}

/// A package could not be fetched.
#[derive(Debug, thiserror::Error)]
pub enum PipError {
    /// The program cannot be started or watched.
    #[error("`{command}` cannot be run")]
    Run {
        /// What was run.
        command: String,
        /// The system's reason.
        source: io::Error,
    },
    /// The program failed.
    #[error("{requirement} could not be fetched: `{command}` ended with {status}\n{stderr}")]
    Failed {
        /// The package.
        requirement: String,
        /// What was run.
        command: String,
        /// How it ended.
        status: ExitStatus,
        /// What it said.
        stderr: String,
    },
    /// The program succeeded and left no package, or several.
    #[error("`{command}` left {count} packages where one is expected")]
    Count {
        /// What was run.
        command: String,
        /// How many packages there are.
        count: usize,
    },
}

impl PipError {
    /// Whether another try may go well.
    fn may_pass(&self) -> bool {
        match self {
            Self::Failed { stderr, .. } => !FINAL.iter().any(|final_| stderr.contains(final_)),
            Self::Run { .. } | Self::Count { .. } => false,
        }
    }
}

/// What is heard of a package on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Heard {
    /// So many bytes have arrived.
    Arrived(u64),
    /// It is fetched again, from its beginning.
    Again,
}

/// A pip that works.
#[derive(Debug)]
pub(crate) struct Pip {
    program: PathBuf,
    leading: &'static [&'static str],
}

impl Pip {
    /// Finds the first pip that answers.
    pub(crate) fn find(environment: &Environment) -> Result<Self, NoPip> {
        let mut tried = Vec::new();
        for &(name, leading) in CANDIDATES {
            let Some(program) = environment.programs(name).into_iter().next() else {
                tried.push(format!("{name}: not on PATH"));
                continue;
            };
            let pip = Self { program, leading };
            match pip.command().arg("--version").stdin(Stdio::null()).output() {
                Ok(output) if output.status.success() => return Ok(pip),
                Ok(output) => {
                    let text = String::from_utf8_lossy(&output.stderr);
                    tried.push(format!(
                        "{}: {}",
                        pip.shown(),
                        text.trim().lines().last().unwrap_or("fails")
                    ));
                }
                Err(error) => tried.push(format!("{}: {error}", pip.shown())),
            }
        }
        Err(NoPip { tried })
    }

    /// Fetches one package into `folder`, which must be new, and returns its path. What may go well another time is tried
    /// again.
    ///
    /// `told` hears how much has arrived so far, and of another try.
    pub(crate) fn download(
        &self,
        requirement: &str,
        folder: &Path,
        mut told: impl FnMut(Heard),
    ) -> Result<PathBuf, PipError> {
        for pause in PAUSES {
            match self.download_once(requirement, folder, &mut told) {
                Err(error) if error.may_pass() => {
                    told(Heard::Again);
                    thread::sleep(pause);
                    let removed = fs::remove_dir_all(folder);
                    removed.map_err(|source| PipError::Run {
                        command: self.shown(),
                        source,
                    })?;
                }
                result => return result,
            }
        }
        self.download_once(requirement, folder, &mut told)
    }

    fn download_once(
        &self,
        requirement: &str,
        folder: &Path,
        told: &mut impl FnMut(Heard),
    ) -> Result<PathBuf, PipError> {
        let mut arrived = |bytes| told(Heard::Arrived(bytes));
        let command = format!("{} download {requirement}", self.shown());
        let run_error = |source| PipError::Run {
            command: command.clone(),
            source,
        };
        // pip collects what arrives in a temporary folder. It lies inside ours, so that its size can be watched and
        // nothing stays behind when the install is interrupted.
        let temporary = folder.join("tmp");
        fs::create_dir_all(&temporary).map_err(run_error)?;
        let mut child = self
            .command()
            .args([
                "download",
                "--quiet",
                "--no-input",
                "--disable-pip-version-check",
                "--progress-bar",
                "off",
            ])
            .args(["--no-deps", "--only-binary=:all:", "--dest"])
            .arg(folder)
            .arg(requirement)
            .env("TMPDIR", &temporary)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(run_error)?;
        let (status, stderr) = watch(&mut child, || arrived(size(folder))).map_err(run_error)?;
        if !status.success() {
            return Err(PipError::Failed {
                requirement: requirement.to_owned(),
                command,
                status,
                stderr: readable(&stderr),
            });
        }
        let mut wheels: Vec<PathBuf> = entries(folder)
            .into_iter()
            .filter(|path| path.extension().is_some_and(|end| end == "whl"))
            .collect();
        match (wheels.pop(), wheels.len()) {
            (Some(wheel), 0) => {
                arrived(size(folder));
                Ok(wheel)
            }
            (last, rest) => Err(PipError::Count {
                command,
                count: rest + usize::from(last.is_some()),
            }),
        }
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(self.leading);
        command
    }

    fn shown(&self) -> String {
        let mut words = vec![self.program.display().to_string()];
        words.extend(self.leading.iter().map(ToString::to_string));
        words.join(" ")
    }
}

/// Waits for the child, calls `look` now and then, and returns what it wrote to its error stream.
fn watch(child: &mut Child, mut look: impl FnMut()) -> io::Result<(ExitStatus, String)> {
    let (sender, receiver) = mpsc::channel();
    let stderr = child.stderr.take();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let result = match stderr {
            Some(mut stream) => stream.read_to_end(&mut bytes).map(|_| bytes),
            None => Ok(bytes),
        };
        // The receiver is gone only when nobody waits for the text any more.
        let _ = sender.send(result);
    });
    // The stream ends when the child does, so that waiting for it notices the end at once.
    let bytes = loop {
        match receiver.recv_timeout(LOOK) {
            Ok(result) => break result?,
            Err(RecvTimeoutError::Timeout) => look(),
            Err(RecvTimeoutError::Disconnected) => break Vec::new(),
        }
    };
    let status = child.wait()?;
    Ok((status, String::from_utf8_lossy(&bytes).trim().to_owned()))
}

/// What a failed pip has said, with the last line of traces and the first of its own tries alone, and what helps.
fn readable(said: &str) -> String {
    let mut text = match said.split_once("Traceback (most recent call last):") {
        Some((before, trace)) => {
            let last = trace.trim_end().lines().last().unwrap_or_default();
            format!("{before}{last}")
        }
        None => said.to_owned(),
    };
    let mut tries = 0;
    let mut is_news = |line: &&str| {
        let is_try = line.starts_with(RETRYING);
        tries += usize::from(is_try);
        !is_try || tries == 1
    };
    let lines: Vec<&str> = text.lines().filter(&mut is_news).collect();
    text = lines.join("\n");
    if said.contains(FULL) {
        text.push_str(&format!(
            "\nhelp: the disk is full; {CACHE_VARIABLE} names another folder to install into"
        ));
    } else if tries > 0 {
        text.push_str(
            "\nhelp: the package index cannot be reached; pip takes a proxy from HTTPS_PROXY, and another index from \
             PIP_INDEX_URL",
        );
    }
    text
}

/// The size of everything below a folder that another program is writing to. What vanishes meanwhile counts nothing.
fn size(folder: &Path) -> u64 {
    entries(folder)
        .iter()
        .filter_map(|path| Some((path, fs::symlink_metadata(path).ok()?)))
        .map(|(path, metadata)| {
            if metadata.is_dir() {
                size(path)
            } else {
                metadata.len()
            }
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_told_without_traces() {
        let said = "ERROR: No matching distribution found for nvidia-nvvm==13.9.99";
        assert_eq!(readable(said), said);
        let trace = "Traceback (most recent call last):\n  File \"response.py\", line 438, in _error_catcher\n    yield\n";
        let full = "OSError: [Errno 28] No space left on device";
        let broken = "ProtocolError: Connection broken";
        assert_eq!(
            readable(&format!(
                "ERROR: Exception:\n{trace}{full}\n\nDuring handling of the above exception, another exception \
                 occurred:\n\n{trace}{broken}\n"
            )),
            format!(
                "ERROR: Exception:\n{broken}\n\
                 help: the disk is full; RUSTNVLINK_CACHE names another folder to install into"
            )
        );
        let retrying = "WARNING: Retrying (Retry(total=1)) after connection broken by 'refused'";
        let last = "ERROR: No matching distribution found for nvidia-nvvm==13.0.88";
        assert_eq!(
            readable(&format!("{retrying}\n{retrying}\n{retrying}\n{last}")),
            format!(
                "{retrying}\n{last}\n\
                 help: the package index cannot be reached; pip takes a proxy from HTTPS_PROXY, and another index from \
                 PIP_INDEX_URL"
            )
        );
    }
}
