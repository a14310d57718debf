//! nvlink's command line over the library.
//!
//! `typed` sorts the arguments out, `lower` decides what they ask for, and
//! [`run`] does it. The files of a link are read here and in [`crate::inputs`],
//! and written by [`crate::output`]; what the environment says is asked in this
//! file and, of CUDA toolkits, in `toolkit`.

mod bounded;
pub mod depfile;
mod flags;
mod help;
mod host_script;
mod link;
mod lower;
mod meant;
pub mod messages;
mod output;
mod response_file;
mod tool_record;
mod toolkit;
mod typed;
mod values;

use std::ffi::OsString;
use std::num::NonZero;

use crate::device_link;
use crate::diagnostic::Diagnostic;
use crate::explain::explanation;
use crate::inputs::Environment;
use crate::options::Behaviour;
use crate::with_threads;
use lower::Command;
use messages::Messages;

pub use flags::{FLAGS, Flag, Group, Spelling, Value};

/// The exit codes of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Exit {
    /// The image was written.
    Success,
    /// The command line or an input is at fault.
    Fatal,
    /// The program that was to be linked is at fault.
    LinkError,
}

impl Exit {
    /// The number the system sees.
    pub fn code(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::Fatal => 1,
            Self::LinkError => 255,
        }
    }
}

/// Runs the program with its arguments, the program's name left out.
pub fn run(arguments: impl Iterator<Item = OsString>) -> Exit {
    let arguments: Vec<OsString> = arguments.collect();
    let mut notes = Vec::new();
    // No other option applies to messages about options.
    let plain = Messages {
        format: typed::format(&arguments),
        ..Messages::default()
    };
    let typed = typed::parse(arguments, &bounded::read, &mut notes);
    for note in notes.drain(..) {
        plain.print(note);
    }
    let typed = match typed {
        Ok(typed) => typed,
        Err(problem) => {
            plain.print(problem);
            return Exit::Fatal;
        }
    };
    let mut messages = lower::messages(&typed);
    let command = lower::lower(&typed, &mut notes);
    let mut failed = false;
    for note in notes {
        failed |= messages.print(note);
    }
    // nvlink reads inputs first.
    if failed && typed.behaviour() == Behaviour::Own {
        return Exit::Fatal;
    }
    let done = command.and_then(|command| match command {
        Command::Help => output::print(&help::text()),
        Command::Version => output::print(&help::version()),
        Command::Explain(code) => output::print(&explanation(&code, &[])?),
        Command::HostScript(script) => host_script::write(&script),
        Command::Link(request) => {
            let threads = request.threads;
            within(threads, || {
                link::link(*request, &environment(), &mut messages)
            })
        }
    });
    match done {
        Ok(exit) => exit,
        Err(problem) => {
            messages.print(problem);
            Exit::Fatal
        }
    }
}

/// Does work [with so many threads](with_threads), or with as many as there are processors where nobody says how many.
pub fn within<R>(threads: Option<NonZero<usize>>, work: impl FnOnce() -> R) -> R {
    match threads {
        Some(count) => with_threads(count, work),
        None => work(),
    }
}

/// What options say about the links of another command, which knows what is
/// linked and where the result goes.
#[derive(Debug)]
#[non_exhaustive]
pub struct LinkOptions {
    /// How it is linked; files may be among the options.
    pub request: device_link::Request,
    /// Which messages are shown.
    pub messages: Messages,
    /// How many threads there may be, where that is said: see [`within`].
    pub threads: Option<NonZero<usize>>,
    /// What there is to say about the options.
    pub notes: Vec<Diagnostic>,
}

impl LinkOptions {
    /// Reads options.
    pub fn parse(options: Vec<OsString>) -> Result<Self, Diagnostic> {
        let mut notes = Vec::new();
        let typed = typed::parse(options, &bounded::read, &mut notes)?;
        Ok(Self {
            request: lower::lower_link(&typed, &mut notes)?,
            messages: lower::messages(&typed),
            threads: lower::threads(&typed)?,
            notes,
        })
    }
}

/// What the surroundings decide: where libraries are, and what relative paths
/// are relative to.
#[expect(
    clippy::disallowed_methods,
    reason = "the library gets the environment from here"
)]
pub fn environment() -> Environment {
    Environment {
        library_path: std::env::var_os("LIBRARY_PATH"),
        folder: std::env::current_dir().unwrap_or_default(),
        find_ptxas: toolkit::ptxas,
        find_jitlink: toolkit::jitlink,
    }
}
