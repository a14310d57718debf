//! Builds relocatable device objects from a short, readable text.
//!
//! Merge, layout and relocation can be tested with it where no CUDA toolkit is
//! installed, and with objects no compiler would make. Sections, symbols and
//! records that every object has come by themselves:
//!
//! ```
//! let object = rustnvlink_testkit::build("
//! target sm_90
//! entry kernel
//!     registers 24
//!     parameters 8 4              // a pointer and an int
//!     call helper at 0x20
//!     relocation 0x40 R_CUDA_ABS16_32 factor
//! extern function helper #iii
//! constant factor 4
//!     words 7
//! ")?;
//! let file = rustnvlink::cubin::File::parse(&object)?;
//! assert!(file.section_by_name(".text.kernel").is_some());
//! assert!(file.section_by_name(".nv.constant3").is_some());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # The text
//!
//! A line that starts in the first column declares something; indented lines
//! say more of it. `//` starts a comment. Numbers are decimal or `0x` hex.
//!
//! | Declaration | |
//! | --- | --- |
//! | `target sm_90` | the processor; comes once, sm_75 to sm_90a |
//! | `entry NAME [weak]` | a kernel |
//! | `function NAME #PROTOTYPE [weak, local]` | a device function |
//! | `extern function NAME #PROTOTYPE` | one defined elsewhere |
//! | `global NAME SIZE [align N] [weak, local, managed]` | a variable |
//! | `constant`, `shared`, `common` `NAME SIZE ...` | likewise, in bank 3, in module-scope shared memory, and as a tentative definition |
//! | `extern global NAME SIZE` and so on | one defined elsewhere |
//! | `section NAME TYPE [flags N] [align N] [entry-size N] [link NAME] [info NAME or N]` | any other section |
//! | `symbol NAME TYPE [local, weak] [other N] [in SECTION] [value N] [size N]` | any other symbol |
//!
//! | Below a function | |
//! | --- | --- |
//! | `code SIZE`, `bytes HEX ...`, `words N ...` | its code, zeros if only a size is given; 128 zeros without |
//! | `registers N`, `frame N` | register count and stack frame |
//! | `parameters SIZE ...` | of a kernel, each at its natural alignment |
//! | `call NAME [at OFFSET]` | a call graph edge, and the relocation of the call |
//! | `address-of NAME` | a call graph reference; relocations are separate lines |
//! | `indirect-call #PROTOTYPE` | a call through a pointer |
//! | `shared NAME SIZE [align N]` | of a kernel: its own shared memory |
//! | `info CODE [byte N, half N, words N ...]` | one more info record |
//! | `relocation OFFSET TYPE SYMBOL [+ N]` | a relocation of the code |
//!
//! `bytes`, `words`, `zeros` and `relocation` also stand below variables and
//! sections. Names of relocation types, section types and info codes are those
//! of [`rustnvlink::arch::relocation`], [`SectionType`] and [`InfoCode`];
//! numbers do as well.
//!
//! [`SectionType`]: rustnvlink::cubin::SectionType
//! [`InfoCode`]: rustnvlink::cubin::InfoCode
#![forbid(unsafe_code)]

mod build;
mod metadata;
mod source;

use std::fmt;

/// A text that cannot be built.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextError {
    /// Line number, from one; zero if no single line is at fault.
    pub line: usize,
    /// What is wrong.
    pub problem: String,
}

impl fmt::Display for TextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => f.write_str(&self.problem),
            line => write!(f, "line {line}: {}", self.problem),
        }
    }
}

impl std::error::Error for TextError {}

/// Builds the object that `text` declares.
pub fn build(text: &str) -> Result<Vec<u8>, TextError> {
    build::build(&source::Source::parse(text)?)
}
