//! Runs a tool with limits on its time and memory, and never with standard input.

use std::fmt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use process_control::{ChildExt, Control};
use serde::{Deserialize, Serialize};

/// A linker that needs longer has lost its way: nvlink loops for ever on some damaged files.
pub const LINK_LIMIT: Duration = Duration::from_secs(30);

/// Compilers are slow on a busy machine.
const LIMIT: Duration = Duration::from_secs(600);

/// Far above what a link of a test case takes; nvlink asks for tens of gigabytes on some damaged
/// files.
const MEMORY_LIMIT: usize = 8 << 30;

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Exit {
    /// By itself, with this code.
    Code(i32),
    /// By a signal.
    Signal(i32),
    /// It ran into the time limit.
    TimedOut,
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => write!(f, "exit {code}"),
            Self::Signal(signal) => write!(f, "signal {signal}"),
            Self::TimedOut => write!(f, "time limit"),
        }
    }
}

/// What a process left behind besides files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ended {
    /// How it ended.
    pub exit: Exit,
    /// Its standard output.
    pub stdout: String,
    /// Its standard error.
    pub stderr: String,
}

/// Runs `program` in `folder`, for no longer than `limit`.
pub fn run(program: &Path, arguments: &[String], folder: &Path, limit: Duration) -> Result<Ended> {
    let child = Command::new(program)
        .args(arguments)
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot start {}", program.display()))?;
    let output = child
        .controlled_with_output()
        .time_limit(limit)
        .memory_limit(MEMORY_LIMIT)
        .terminate_for_timeout()
        .wait()
        .with_context(|| format!("cannot wait for {}", program.display()))?;
    let Some(output) = output else {
        return Ok(Ended {
            exit: Exit::TimedOut,
            stdout: String::new(),
            stderr: String::new(),
        });
    };
    let exit = match (output.status.code(), output.status.signal()) {
        (Some(code), _) => Exit::Code(i32::try_from(code)?),
        (None, Some(signal)) => Exit::Signal(signal),
        (None, None) => anyhow::bail!("{} ended without code or signal", program.display()),
    };
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Ok(Ended {
        exit,
        stdout: text(output.stdout),
        stderr: text(output.stderr),
    })
}

/// Runs a tool that has to succeed.
pub fn run_ok(program: &Path, arguments: &[String], folder: &Path) -> Result<Ended> {
    let ended = run(program, arguments, folder, LIMIT)?;
    ensure!(
        ended.exit == Exit::Code(0),
        "{} {} ended with {}\n{}{}",
        program.display(),
        arguments.join(" "),
        ended.exit,
        ended.stdout,
        ended.stderr
    );
    Ok(ended)
}
