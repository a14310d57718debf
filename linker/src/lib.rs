//! A native device linker for CUDA objects.
//!
//! [`link`] takes relocatable device objects and gives the image that the
//! driver loads. [`cubin`] knows the bytes of device objects and no policy,
//! [`fatbin`] and [`container`] those of the files that carry them; [`arch`]
//! knows hardware facts and no files.
//!
//! A program that links depends on it by
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
//! let inputs = [
//!     Input { name: "caller", data: &caller },
//!     Input { name: "callee", data: &callee },
//! ];
//! let outcome = link(&inputs, &Options::new("sm_90".parse()?));
//! let image = outcome.into_result()?;
//! assert!(image.starts_with(b"\x7fELF"));
//! # Ok(())
//! # }
//! ```
//!
//! A link that fails tells all that is wrong. Each message has a code that
//! stays the same, and what it is about:
//!
//! ```
//! # use rustnvlink::options::Options;
//! # use rustnvlink::{Input, link};
//! # let caller = std::fs::read("../tests/inputs/caller.sm_90.cubin").unwrap();
//! let alone = [Input { name: "caller", data: &caller }];
//! let outcome = link(&alone, &Options::new("sm_90".parse().unwrap()));
//! let error = outcome.into_result().unwrap_err();
//! let missing = error.errors().filter(|message| message.code == "undefined-reference");
//! let names: Vec<&str> = missing.filter_map(|message| message.symbol()).collect();
//! assert!(!names.is_empty());
//! ```
//!
//! [`Outcome`] has the warnings of a link, too. [`device_link::DeviceLink`] does all of `nvcc -dlink`: it takes host objects,
//! libraries and fatbins, links for several processors, and gives what the host
//! linker needs. They may be in memory, too ([`inputs::Files::in_memory`]).
//!
//! Links share nothing: any number may run at the same time. One whose inputs have
//! more than a megabyte starts threads of its own, as many as there are
//! processors or [`with_threads`] says, and ends them before it returns. Nothing is written and nothing
//! started unless it is asked for, bytes of inputs never make it panic, and the same inputs give the
//! same bytes. No link can be stopped half-way: few take a second, and one that nobody
//! waits for any more can go on in a thread of its own, whose result is dropped. Who
//! has to be able to end it (it may wait for `ptxas`) runs the program `rustnvlink`, which may be killed: its
//! output is whole or not there. Other programs can have temporary files removed when they are
//! told to end, too ([`temporary::remove_on_signals`]).
//!
//! # Features
//!
//! Without `program`, which is on by default, there is only the library, which
//! needs fewer packages: it does not look for a CUDA toolkit, and
//! [`cli::environment`] finds the assembler of PTX on `PATH` alone.
#![forbid(unsafe_code)]

pub mod arch;
mod arena;
mod bits;
mod call_graph;
mod call_paths;
pub mod cli;
pub mod container;
pub mod cubin;
pub mod demangle;
pub mod device_link;
pub mod diagnostic;
pub mod error;
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
mod write;

use std::io;

use arena::Arena;
use diagnostic::{Diagnostic, Diagnostics, Severity};
use error::ParseError;
use finalize::Finalized;
use options::{Keeping, Options};
use output::Sink;
pub use parallel::with_threads;
use read::Object;
use report::Reports;

/// One input of a link.
#[derive(Debug, Clone, Copy)]
pub struct Input<'d> {
    /// The name that messages use.
    pub name: &'d str,
    /// A relocatable device object.
    pub data: &'d [u8],
}

/// What a link gives: messages, and the image unless one of them is an error.
#[derive(Debug)]
pub struct Outcome<I = Vec<u8>> {
    /// The image, or what was made of it.
    pub image: Option<I>,
    /// Everything the user should know.
    pub diagnostics: Diagnostics,
    /// What the options ask for beside the image.
    pub reports: Reports,
}

/// A link that gave no image. What it shows is every error, line by line.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{}", shown_errors(.0))]
pub struct LinkError(pub Diagnostics);

impl LinkError {
    /// All that is wrong. What the link warns of is among the diagnostics, too.
    pub fn errors(&self) -> impl Iterator<Item = &Diagnostic> {
        self.0.errors()
    }
}

fn shown_errors(diagnostics: &Diagnostics) -> String {
    let errors: Vec<String> = diagnostics.errors().map(Diagnostic::shown).collect();
    errors.join("\n")
}

impl<I> Outcome<I> {
    /// The image, or why there is none, for who does not care for warnings.
    pub fn into_result(self) -> Result<I, LinkError> {
        self.image.ok_or(LinkError(self.diagnostics))
    }

    /// The exit code that fits.
    pub fn exit(&self) -> cli::Exit {
        let messages = self.diagnostics.messages();
        if messages.iter().any(|m| m.severity == Severity::Fatal) {
            cli::Exit::Fatal
        } else if self.diagnostics.has_errors() {
            cli::Exit::LinkError
        } else {
            cli::Exit::Success
        }
    }
}

/// Links relocatable device objects into one image, which is a relocatable
/// object again where the options say so. What is no such object, or none for
/// the processor, is an error that names it.
pub fn link(inputs: &[Input<'_>], options: &Options) -> Outcome {
    let mut diagnostics = Diagnostics::default();
    let objects = inputs::memory::read(inputs, options, &mut diagnostics);
    link_objects(objects, options, diagnostics, |product| {
        product.into_bytes()
    })
}

/// What a link has made and nobody has written yet.
#[derive(Debug)]
enum Product<'d> {
    /// An image, and the bytes of our own record in it.
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

/// Links what was read of the inputs, of which `diagnostics` tell. `take` gets
/// the image unless there are errors.
fn link_objects<I>(
    read: Vec<Result<Object<'_>, ParseError>>,
    options: &Options,
    mut diagnostics: Diagnostics,
    take: impl FnOnce(Product<'_>) -> I,
) -> Outcome<I> {
    let arena = Arena::default();
    let mut objects = Vec::with_capacity(read.len());
    // nvlink merges one object after another, and ends where one is damaged.
    let mut damage = None;
    for parsed in read {
        match parsed {
            Ok(object) => objects.push(object),
            Err(error) if options.keeping == Keeping::AsNvlink => {
                damage = Some(error);
                break;
            }
            Err(error) => {
                diagnostics.push(Diagnostic::bad_input(&error, options.keeping));
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
    if options.keeping == Keeping::Reachable {
        odr::separate(&mut objects);
    }
    let mut reports = Reports::default();
    if options.settings.reports.cross_references {
        reports.cross_references = Some(report::cross_references(&objects));
    }
    // An error of this kind does not keep the others from being found, which are
    // said first.
    let mut differences = Diagnostics::default();
    if let Err(error) = odr::check(&objects, options.settings.odr, &mut differences) {
        differences.push(Diagnostic::bad_input(&error, options.keeping));
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
