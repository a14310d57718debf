//! A native device linker for CUDA objects.
//!
//! [`link`] takes relocatable device objects (what `nvcc -rdc=true -cubin` makes) and returns the image that the CUDA
//! driver loads. [`device_link::DeviceLink`] is the larger entry point, which does all of `nvcc -dlink`: it takes host
//! objects, libraries and fatbins, links for several processors, and returns what the host linker needs.
//!
//! Below them, [`cubin`] reads and writes device objects and decides nothing about a link, [`fatbin`] and [`container`] do
//! the same for the files that carry them, and [`arch`] holds hardware facts.
//!
//! # Use
//!
//! ```toml
//! [dependencies]
//! rustnvlink = { path = "path/to/rustnvlink/linker", default-features = false }
//! ```
//!
//! Objects in memory become an image in memory:
//!
//! ```
//! use rustnvlink::options::Options;
//! use rustnvlink::{Input, link};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let caller = std::fs::read("../tests/inputs/caller.sm_90.cubin")?;
//! let callee = std::fs::read("../tests/inputs/callee.sm_90.cubin")?;
//! let inputs = [Input::new("caller", &caller), Input::new("callee", &callee)];
//! let image = link(&inputs, &Options::new("sm_90".parse()?)).into_result()?;
//! assert!(image.starts_with(b"\x7fELF"));
//! # Ok(())
//! # }
//! ```
//!
//! Warnings do not keep an image from being made. [`Outcome`] holds them beside it:
//!
//! ```
//! # use rustnvlink::options::Options;
//! # use rustnvlink::{Input, link};
//! # let callee = std::fs::read("../tests/inputs/callee.sm_90.cubin").unwrap();
//! # let inputs = [Input::new("callee", &callee)];
//! # let options = Options::new("sm_90".parse().unwrap());
//! let outcome = link(&inputs, &options);
//! for message in &outcome.diagnostics {
//!     eprintln!("{}", message.shown());
//! }
//! # assert!(outcome.image.is_some());
//! ```
//!
//! A link that fails reports everything that is wrong. Each message has a code that stays the same between releases, and
//! knows the input and the symbol that it is about:
//!
//! ```
//! # use rustnvlink::options::Options;
//! # use rustnvlink::{Input, link};
//! use rustnvlink::codes;
//!
//! # let caller = std::fs::read("../tests/inputs/caller.sm_90.cubin").unwrap();
//! let alone = [Input::new("caller", &caller)];
//! let outcome = link(&alone, &Options::new("sm_90".parse().unwrap()));
//! let error = outcome.into_result().unwrap_err();
//! let missing = error.errors().filter(|message| message.code == codes::UNDEFINED_REFERENCE);
//! let names: Vec<&str> = missing.filter_map(|message| message.symbol()).collect();
//! assert!(!names.is_empty());
//! ```
//!
//! # Guarantees
//!
//! - The same inputs and options give the same bytes.
//! - No input, however damaged, makes a link panic.
//! - Links share no state, so any number of them may run at the same time.
//! - No file is read or written and no program is started unless the request asks for it. All files of a
//!   [`DeviceLink`](device_link::DeviceLink) may be in memory, too ([`inputs::Files::in_memory`]).
//!
//! - Requests, results and messages may get further fields, and enumerations further variants, without a new major
//!   version. Requests are made by `new` or `default`, and changed by their methods or fields. What [`cubin`] has for each
//!   record of the format holds all of it, and can be written out.
//!
//! # Threads and cancellation
//!
//! A link of more than a megabyte of inputs starts threads of its own, as many as there are processors or
//! [`with_threads`] allows, and ends them before it returns.
//!
//! A link cannot be cancelled. Few take longer than a second; one that nobody waits for any more can finish on a thread
//! of its own, whose result is dropped. A caller that must be able to stop a link, which may be waiting for `ptxas`, runs
//! the program `rustnvlink` and kills it: its output file is complete or does not exist. Temporary files can be removed
//! when a signal ends the calling program ([`temporary::remove_on_signals`]).
//!
//! # Features
//!
//! `program`, on by default, adds the program `rustnvlink` with its command line (`cli`), and the search for an installed
//! CUDA toolkit. Without it there is only the library, which needs fewer packages; [`inputs::Environment::from_process`] then
//! finds the assembler of PTX on `PATH` alone.
#![forbid(unsafe_code)]

pub mod arch;
mod arena;
mod bits;
mod call_graph;
mod call_paths;
#[cfg(feature = "program")]
pub mod cli;
pub mod codes;
pub mod container;
pub mod cubin;
pub mod demangle;
pub mod device_link;
pub mod diagnostic;
pub mod error;
mod exit;
pub mod explain;
pub mod fatbin;
mod finalize;
pub mod host;
mod id;
pub mod inputs;
mod layout;
mod list_sort;
mod merge;
mod name_table;
mod odr;
pub mod options;
pub mod output;
mod parallel;
mod pipeline;
mod prune;
mod raw_text;
mod read;
mod relocate;
pub mod report;
mod stacks;
pub mod temporary;
mod tool_record;
mod write;

use std::{fmt, io};

use arena::Arena;
use diagnostic::{Diagnostic, Diagnostics};
use error::ParseError;
pub use exit::Exit;
use finalize::Finalized;
use options::{Behaviour, Options};
use output::Sink;
pub use parallel::with_threads;
use read::Object;
use report::Reports;

/// One input of a link.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Input<'d> {
    /// The name that messages use.
    pub name: &'d str,
    /// The bytes of a relocatable device object.
    pub data: &'d [u8],
}

impl<'d> Input<'d> {
    /// An input of this name, which need not be that of a file.
    pub fn new(name: &'d str, data: &'d [u8]) -> Self {
        Self { name, data }
    }
}

/// The result of a link: messages, and an image unless one of them is an error.
#[derive(Debug)]
#[non_exhaustive]
pub struct Outcome<I = Vec<u8>> {
    /// The image.
    pub image: Option<I>,
    /// All errors, warnings and notes, in the order in which they came up.
    pub diagnostics: Diagnostics,
    /// The reports that [`options::Settings::reports`] asks for.
    pub reports: Reports,
}

/// A link without an image. It shows its errors with all that they say, one after the other, also where a `main` that
/// returns it prints it with `Debug`.
#[derive(Clone, thiserror::Error)]
#[error("{}", shown_errors(.0))]
pub struct LinkError(pub Diagnostics);

impl fmt::Debug for LinkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl LinkError {
    /// The errors alone. Field 0 has the warnings, too.
    pub fn errors(&self) -> impl Iterator<Item = &Diagnostic> {
        self.0.errors()
    }
}

fn shown_errors(diagnostics: &Diagnostics) -> String {
    let errors: Vec<String> = diagnostics.errors().map(Diagnostic::shown).collect();
    errors.join("\n")
}

impl<I> Outcome<I> {
    /// The image, or why there is none. Drops the warnings of a link that succeeds.
    pub fn into_result(self) -> Result<I, LinkError> {
        self.image.ok_or(LinkError(self.diagnostics))
    }

    /// The exit code of a program that makes this link.
    pub fn exit(&self) -> Exit {
        if self.diagnostics.has_fatal() {
            Exit::Fatal
        } else if self.diagnostics.has_errors() {
            Exit::LinkError
        } else {
            Exit::Success
        }
    }
}

/// Links relocatable device objects into one image for the processor of the options. With
/// [`ImageKind::Relocatable`](options::ImageKind::Relocatable) that is a relocatable object again. An input that is no
/// relocatable device object, or none for this processor, is an error that names it.
pub fn link(inputs: &[Input<'_>], options: &Options) -> Outcome {
    let mut diagnostics = Diagnostics::default();
    let objects = inputs::memory::read(inputs, options, &mut diagnostics);
    link_objects(objects, options, diagnostics, |product| {
        product.into_bytes()
    })
}

/// A finished link whose bytes are still to be written.
#[derive(Debug)]
enum Product<'d> {
    /// An image, and the bytes of our own record in its `.note.nv.tkinfo`.
    Image(Box<Finalized<'d>>, &'d [u8]),
    /// The result of link-time optimization.
    Optimized(Vec<u8>),
}

impl Product<'_> {
    fn write(&self, out: &mut dyn Sink) -> io::Result<()> {
        match self {
            Self::Image(finalized, tool_record) => write::write(finalized, tool_record, out),
            Self::Optimized(bytes) => out.write_all(bytes),
        }
    }

    fn into_bytes(self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.write(&mut bytes).expect("vectors take all bytes");
        bytes
    }
}

/// Links the objects that were read. `diagnostics` holds what reading them gave rise to. Unless there are errors, `take`
/// makes the result's image of the finished link.
fn link_objects<I>(
    read: Vec<Result<Object<'_>, ParseError>>,
    options: &Options,
    mut diagnostics: Diagnostics,
    take: impl FnOnce(Product<'_>) -> I,
) -> Outcome<I> {
    let arena = Arena::default();
    let mut objects = Vec::with_capacity(read.len());
    // nvlink reads each object right before it merges it, so that a damaged one ends its link with those before it merged.
    let mut damage = None;
    for parsed in read {
        match parsed {
            Ok(object) => objects.push(object),
            Err(error) if options.behaviour == Behaviour::Nvlink => {
                damage = Some(error);
                break;
            }
            Err(error) => {
                diagnostics.push(Diagnostic::bad_input(&error, options.behaviour));
            }
        }
    }
    if diagnostics.has_errors() {
        return Outcome {
            image: None,
            diagnostics,
            reports: Reports::default(),
        };
    }
    if options.behaviour == Behaviour::Own {
        odr::separate(&mut objects);
    }
    let mut reports = Reports::default();
    if options.settings.reports.cross_references {
        reports.cross_references = Some(report::cross_references(&objects));
    }
    // These come last among the messages: an error here does not keep the link from finding others.
    let mut differences = Diagnostics::default();
    if let Err(error) = odr::check(&objects, options.settings.odr, &mut differences) {
        differences.push(Diagnostic::bad_input(&error, options.behaviour));
    }
    let finalized = pipeline::link(
        objects,
        damage,
        &arena,
        options,
        &mut diagnostics,
        &mut reports,
    );
    diagnostics.append(differences);
    let finalized = finalized.filter(|_| !diagnostics.has_errors());
    let image = finalized.map(|f| take(Product::Image(Box::new(f), &options.settings.tool_record)));
    Outcome {
        image,
        diagnostics,
        reports,
    }
}
