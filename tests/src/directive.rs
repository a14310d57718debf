//! Reads the directives of a case for one architecture.
//!
//! In goes the text of the file that carries them, out comes a [`Script`]: steps in the order they
//! are written, with every variable but `{lib}` replaced and every guard decided. README.md is the
//! reference of the grammar.

mod parse;
#[cfg(test)]
mod tests;

use anyhow::{Context, Result};

use crate::arch::{self, Arch};

pub use parse::parse;

/// What starts a directive. Both CUDA and PTX take the line for a comment.
pub const MARK: &str = "//#";

/// The steps of a case for one architecture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Script {
    /// One sentence that says what the case shows.
    pub shows: String,
    /// What is done, in order.
    pub steps: Vec<Step>,
    /// The file that holds the exit codes and messages of all links, if there is one.
    pub golden: Option<String>,
}

/// How much of a file is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Length {
    /// That many bytes.
    First(usize),
    /// All but that many.
    AllBut(usize),
}

/// One step and the line it stands on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// Counted from one.
    pub line: usize,
    /// What is done.
    pub action: Action,
}

/// What a step does.
#[expect(missing_docs, reason = "a variant says what its fields are")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Runs the compiler that fits the source, for the kind of file `output` is named as.
    Compile {
        output: String,
        source: String,
        flags: Vec<String>,
    },
    /// Puts members into a static library.
    Archive {
        output: String,
        members: Vec<String>,
    },
    /// Runs `fatbinary`.
    Fatbinary { output: String, flags: Vec<String> },
    /// Writes a text file.
    Write { output: String, text: String },
    /// Writes a binary file of 64-bit words.
    Words { output: String, words: Vec<u64> },
    /// Takes a file of `tests/inputs`, which tools of today do not make.
    Take { output: String, input: String },
    /// Keeps the first bytes.
    Truncate {
        output: String,
        input: String,
        length: Length,
    },
    /// Overwrites bytes at one place.
    Patch {
        output: String,
        input: String,
        place: Place,
        bytes: Vec<u8>,
    },
    /// Gives symbols weak binding.
    Weaken {
        output: String,
        input: String,
        symbols: Vec<String>,
    },
    /// Gives a section and its Mercury copy another name.
    Rename {
        output: String,
        input: String,
        from: String,
        to: String,
    },
    /// Gives a host object the form of a 32-bit machine, without symbols and relocations.
    Narrow { output: String, input: String },
    /// Gives a section other bytes.
    Contents {
        output: String,
        input: String,
        section: String,
        bytes: Vec<u8>,
    },
    /// Runs the linker.
    Link(Link),
}

/// What a patch counts from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Base {
    /// The start of the file.
    File,
    /// The content of the section of this name.
    Section(String),
    /// The header of the section of this name.
    Header(String),
}

/// Where a patch goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Where `offset` counts from.
    pub base: Base,
    /// In bytes.
    pub offset: usize,
}

/// One run of the linker and what is expected of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// Names the link in trials and in the list of known differences.
    pub name: String,
    /// The file the link is asked to write.
    pub output: Option<String>,
    /// The whole command line, without the program.
    pub arguments: Vec<String>,
    /// What has to hold.
    pub expectations: Vec<Expectation>,
    /// Whether our messages have to equal those of nvlink.
    pub compare_text: bool,
}

/// Something that has to hold after a link.
#[expect(missing_docs, reason = "a variant says what its fields are")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Expectation {
    /// The exit code; without one, 0 is expected.
    Exit(i32),
    /// Any exit code: the golden file holds the truth.
    AnyExit,
    /// The linker dies by a signal or never ends. Ours has to refuse such a link with an error.
    Crash,
    /// A part of what is printed.
    Text(String),
    /// Something that is not printed.
    NoText(String),
    /// A file that is written.
    File(String),
    /// A file that is not written.
    NoFile(String),
    /// A symbol of the output, and words that describe it.
    Symbol { name: String, words: Vec<String> },
    /// A symbol that the output does not have.
    NoSymbol(String),
    /// A section of the output.
    Section(String),
    /// A section that the output does not have.
    NoSection(String),
    /// The output equals a file made before, byte for byte.
    SameAs(String),
}

/// The architectures that `text` asks for, or the usual ones.
pub fn archs(text: &str) -> Result<Vec<Arch>> {
    for (line, directive) in directives(text) {
        let (name, _, value) = parse::split(directive).with_context(|| format!("line {line}"))?;
        if name == "Archs" {
            return value
                .split_whitespace()
                .map(|word| {
                    word.parse()
                        .map(Arch)
                        .with_context(|| format!("line {line}: `{word}`"))
                })
                .collect();
        }
    }
    Ok(arch::DEFAULT.to_vec())
}

/// The source as compilers get it. Directives are left out, so that a changed expectation does not
/// make a new input; line numbers in messages of a compiler count without them.
pub fn without_directives(text: &str) -> String {
    text.split_inclusive('\n')
        .filter(|line| !line.trim_start().starts_with(MARK))
        .collect()
}

fn directives(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines()
        .enumerate()
        .filter_map(|(index, line)| Some((index + 1, line.trim().strip_prefix(MARK)?.trim())))
}
