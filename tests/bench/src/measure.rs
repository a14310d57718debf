//! Runs one link and says how long it took and how much memory it had.
//!
//! The system tells a process the peak memory of its children only as the largest of them all. So
//! this program starts itself once more for each link, and that process has no other child.

use std::ffi::OsString;
use std::fmt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use nix::sys::resource::{UsageWho, getrusage};
use process_control::{ChildExt as _, Control as _};
use serde::{Deserialize, Serialize};

/// The first argument of the process above a link.
pub(crate) const COMMAND: &str = "measure-one-link";

/// What a link may use.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) time: Duration,
    /// Bytes of address space.
    pub(crate) memory: usize,
}

/// How a link ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Ended {
    Code(i64),
    Signal(i32),
    TimedOut,
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => write!(f, "exit code {code}"),
            Self::Signal(signal) => write!(f, "signal {signal}"),
            Self::TimedOut => f.write_str("the time limit"),
        }
    }
}

/// One link.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Measured {
    pub(crate) ended: Ended,
    pub(crate) seconds: f64,
    /// Peak resident memory in bytes.
    pub(crate) memory: u64,
    /// What it printed.
    pub(crate) text: String,
}

/// Runs `program` in `folder` in a process of its own and reports on it.
pub(crate) fn run(
    program: &Path,
    arguments: &[OsString],
    folder: &Path,
    limits: Limits,
) -> Result<Measured> {
    let own = std::env::current_exe()?;
    let output = Command::new(&own)
        .arg(COMMAND)
        .arg(limits.time.as_secs().to_string())
        .arg(limits.memory.to_string())
        .arg(program)
        .args(arguments)
        .current_dir(folder)
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("cannot start {}", own.display()))?;
    ensure!(
        output.status.success(),
        "{}: {}",
        program.display(),
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).context("the measurement is not readable")
}

/// What the process above a link does: its arguments are the limits, the program, and the program's
/// arguments.
pub(crate) fn command(mut words: impl Iterator<Item = OsString>) -> Result<()> {
    let mut number = || -> Result<u64> {
        let word = words.next().context("a limit is missing")?;
        Ok(word.to_string_lossy().parse()?)
    };
    let time = Duration::from_secs(number()?);
    let memory = usize::try_from(number()?)?;
    let program = words.next().context("the program is missing")?;
    let mut command = Command::new(&program);
    command
        .args(words)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let start = Instant::now();
    let output = command
        .spawn()
        .with_context(|| format!("cannot start {}", program.to_string_lossy()))?
        .controlled_with_output()
        .time_limit(time)
        .memory_limit(memory)
        .terminate_for_timeout()
        .wait()?;
    let seconds = start.elapsed().as_secs_f64();
    let ended = match output
        .as_ref()
        .map(|o| (o.status.code(), o.status.signal()))
    {
        None => Ended::TimedOut,
        Some((Some(code), _)) => Ended::Code(code),
        Some((None, Some(signal))) => Ended::Signal(signal),
        Some((None, None)) => anyhow::bail!("it ended without code or signal"),
    };
    let text = output.map_or_else(String::new, |output| {
        let both = [output.stdout, output.stderr].concat();
        String::from_utf8_lossy(&both).into_owned()
    });
    // Linux counts it in units of 1024 bytes.
    let peak = getrusage(UsageWho::RUSAGE_CHILDREN)?.max_rss();
    let measured = Measured {
        ended,
        seconds,
        memory: u64::try_from(peak)? * 1024,
        text,
    };
    serde_json::to_writer(std::io::stdout(), &measured)?;
    Ok(())
}
