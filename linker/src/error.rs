//! What can go wrong while bytes are read, and where.

use std::fmt;
use std::ops::Deref;

/// A place inside one input: as much of it as is known.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Location {
    /// The input as the user named it, `archive:member` for archive members.
    pub input: Option<String>,
    /// The section's name, or its number when it has no readable name.
    pub section: Option<String>,
    /// The symbol concerned.
    pub symbol: Option<String>,
    /// Byte offset inside the section, or inside the file without a section.
    pub offset: Option<u64>,
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.input.as_deref().unwrap_or("<memory>"))?;
        if let Some(section) = &self.section {
            write!(f, ", section {section}")?;
        }
        if let Some(symbol) = &self.symbol {
            write!(f, ", symbol {symbol}")?;
        }
        if let Some(offset) = self.offset {
            write!(f, ", offset {offset:#x}")?;
        }
        Ok(())
    }
}

/// Bytes that are not what their format promises. It is a pointer: readers give
/// millions of results that may be one, and hardly ever are.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: {}", .0.location, .0.problem)]
pub struct ParseError(Box<Damage>);

/// What a [`ParseError`] tells.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Damage {
    /// Where the bytes stand.
    pub location: Location,
    /// What is wrong with them.
    pub problem: Problem,
    /// What nvlink says of it, if it notices.
    pub nvlink: Option<NvlinkError>,
}

impl Deref for ParseError {
    type Target = Damage;

    fn deref(&self) -> &Damage {
        &self.0
    }
}

impl ParseError {
    /// A problem with nothing known of its place; callers add what they know.
    pub fn new(problem: Problem) -> Self {
        Self(Box::new(Damage {
            location: Location::default(),
            problem,
            nvlink: None,
        }))
    }

    /// A value that no tool writes and nothing can be made of.
    pub fn malformed(problem: impl Into<String>) -> Self {
        Self::new(Problem::Malformed(problem.into()))
    }

    /// A number of something that does not exist. There are `count` of these.
    pub fn bad_index(what: &'static str, index: u64, count: usize) -> Self {
        let count = count as u64;
        Self::new(Problem::BadIndex { what, index, count })
    }

    /// Something that would end at `end`, in data of `available` bytes.
    pub fn truncated(what: &'static str, end: u64, available: usize) -> Self {
        let available = available as u64;
        Self::new(Problem::Truncated {
            what,
            end,
            available,
        })
    }

    /// Adds what nvlink says of it.
    #[must_use]
    pub fn as_nvlink(mut self, error: NvlinkError) -> Self {
        self.0.nvlink = Some(error);
        self
    }

    /// Names the input, unless a deeper caller did.
    #[must_use]
    pub fn in_input(mut self, input: &str) -> Self {
        let location = &mut self.0.location;
        location.input.get_or_insert_with(|| input.to_owned());
        self
    }

    /// Names the section, unless a deeper caller did.
    #[must_use]
    pub fn in_section(mut self, section: &str) -> Self {
        let location = &mut self.0.location;
        location.section.get_or_insert_with(|| section.to_owned());
        self
    }

    /// Names the symbol, unless a deeper caller did.
    #[must_use]
    pub fn of_symbol(mut self, symbol: &str) -> Self {
        let location = &mut self.0.location;
        location.symbol.get_or_insert_with(|| symbol.to_owned());
        self
    }

    /// Gives the offset, unless a deeper caller did.
    #[must_use]
    pub fn at(mut self, offset: u64) -> Self {
        self.0.location.offset.get_or_insert(offset);
        self
    }
}

/// What nvlink calls an internal error, in its words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the words are all that is known of them")]
#[non_exhaustive]
pub enum NvlinkError {
    // While inputs are read and merged.
    #[error("symsec not found")]
    NoSymbols,
    #[error("strsec not found")]
    NoNames,
    #[error("Negative size encountered")]
    NegativeSize,
    #[error("unallocated symbol")]
    UnallocatedSymbol,
    #[error("unexpected reloc section")]
    UnexpectedRelocationSection,
    #[error("no callgraph node")]
    NoCallGraphNode,
    #[error("section not mapped")]
    SectionNotMapped,
    #[error("entry_info was null")]
    NoEntryInfo,
    #[error("no such original reg count")]
    NoOriginalRegisters,
    #[error("no such new reg count")]
    NoNewRegisters,
    #[error("adding global symbols of same name")]
    SameName,
    #[error("entry data cannot be GLOBAL")]
    GlobalEntryData,
    #[error("overlapping data spans too much")]
    WideOverlap,
    #[error("overlapping non-identical data")]
    DifferentOverlap,
    // Of unified functions and data, and of the index that places them.
    #[error("not uidx input")]
    NotUnifiedIndex,
    #[error("malformed uidx input")]
    MalformedUnifiedIndex,
    #[error("Number of .nv.uft jump slots != Number of entries in .nv.uft.entry")]
    SlotsAndEntries,
    #[error("size of uidx window != nv.uft")]
    FunctionWindow,
    #[error("size of uidx window != nv.udt")]
    DataWindow,
    #[error("UFT stub match not found")]
    NoMatchingStub,
    #[error("missing nv.udt.entry")]
    NoDataEntry,
    #[error("duplicate ids in uft.entry")]
    DuplicateIdentity,
    #[error("matching uuid not found")]
    NoMatchingIdentity,
    #[error("uuid not found")]
    NoIdentity,
    #[error("entry was already found?")]
    FoundTwice,
    // While relocations are resolved.
    #[error("unexpected NVRS")]
    UnexpectedRelocationSymbol,
    #[error("unexpected reloc")]
    UnexpectedRelocation,
    #[error("reloc address not found")]
    NoRelocatedPlace,
    #[error("PC relative branch address should be in the same section")]
    BranchElsewhere,
    // While those that stay are sorted.
    #[error("reference to deleted symbol")]
    DeletedSymbol,
    #[error("relocation is past end of offset")]
    RelocationPastEnd,
}

/// The kinds of damage a reader can meet.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// The file does not begin with the ELF magic number.
    #[error("not an ELF file")]
    NotElf,
    /// An ELF file of another class, byte order or machine.
    #[error("not a 64-bit little-endian CUDA object: {0}")]
    WrongElf(String),
    /// Something reaches past the end of what holds it.
    #[error("{what} ends at {end:#x}, past the {available:#x} bytes there are")]
    Truncated {
        /// What was being read.
        what: &'static str,
        /// Where it would end.
        end: u64,
        /// How many bytes there are.
        available: u64,
    },
    /// A number that points at nothing.
    #[error("{what} {index} does not exist; there are {count}")]
    BadIndex {
        /// What the number counts.
        what: &'static str,
        /// The number.
        index: u64,
        /// How many there are.
        count: u64,
    },
    /// A value that no tool writes and nothing can be made of.
    #[error("{0}")]
    Malformed(String),
}

/// What the system says of an error, without the number that Rust puts behind it.
///
/// ```
/// # use rustnvlink::error::without_number;
/// let text = "cannot read a.o: Is a directory (os error 21)".to_owned();
/// assert_eq!(without_number(text), "cannot read a.o: Is a directory");
/// ```
pub fn without_number(mut text: String) -> String {
    let number = text
        .rsplit_once(" (os error ")
        .and_then(|(before, number)| {
            let digits = number.strip_suffix(')')?;
            digits
                .bytes()
                .all(|digit| digit.is_ascii_digit())
                .then_some(before.len())
        });
    if let Some(end) = number {
        text.truncate(end);
    }
    text
}
