//! nvlink's command line over the library.
//!
//! `typed` sorts the arguments out, `lower` decides what they ask for, and
//! [`run`] does it. The files of a link are read here and in [`crate::inputs`],
//! and written by [`crate::output`].

mod bounded;
mod flags;
mod help;
mod host_script;
mod link;
mod lower;
mod meant;
mod output;
mod printer;
mod response_file;
mod tool_record;
mod typed;
mod values;

use std::ffi::OsString;
use std::num::NonZero;

use crate::device_link;
use crate::diagnostic::{Diagnostic, Filter};
use crate::explain::explanation;
use crate::options::Behaviour;
use crate::{Exit, with_threads};
use link::Machine;
use lower::Command;
use printer::Printer;

pub use flags::{FLAGS, Flag, Group, Spelling, Value};

/// Runs the program with its arguments, the program's name left out.
pub fn run(arguments: impl Iterator<Item = OsString>) -> Exit {
    let arguments: Vec<OsString> = arguments.collect();
    let mut notes = Vec::new();
    // No other option applies to messages about options.
    let plain = Printer {
        format: typed::format(&arguments),
        ..Printer::default()
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
    let mut printer = lower::printer(&typed);
    let command = lower::lower(&typed, &mut notes);
    let mut failed = false;
    for note in notes {
        failed |= printer.print(note);
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
            let machine = Machine::of_process();
            with_threads(request.threads, || {
                link::link(*request, &machine, &mut printer)
            })
        }
    });
    match done {
        Ok(exit) => exit,
        Err(problem) => {
            printer.print(problem);
            Exit::Fatal
        }
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
    pub messages: Filter,
    /// How many threads there may be, where that is said: see [`with_threads`].
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
            messages: lower::filter(&typed),
            threads: lower::threads(&typed)?,
            notes,
        })
    }
}
