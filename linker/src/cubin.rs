//! The ELF dialect of CUDA device objects: bytes and names, no policy.
//!
//! [`File`] is a checked view that borrows the input, [`Cubin`] everything
//! decoded, with a way back to bytes. Nothing in this folder opens a file or
//! decides what a link does with what it reads.
//!
//! ```
//! use rustnvlink::cubin::{Cubin, SymbolType};
//! use rustnvlink::demangle::readable;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let bytes = std::fs::read("../tests/inputs/callee.sm_90.cubin")?;
//! let cubin = Cubin::parse(&bytes)?;
//! assert_eq!(cubin.header.processor().to_string(), "sm_90");
//! let functions = cubin.symbols().iter().filter(|symbol| symbol.kind == SymbolType::FUNC);
//! let names: Vec<String> = functions.map(|symbol| readable(symbol.name)).collect();
//! assert_eq!(names, ["callee(float, int)"]);
//! assert_eq!(cubin.encode()?, bytes);
//! # Ok(())
//! # }
//! ```

mod attribute;
mod call_graph;
mod capsule;
mod compat;
mod content;
mod file;
mod flags;
mod headers;
mod info;
mod model;
mod note;
mod pairs;
mod prototype;
mod record;
pub(crate) mod section_name;
mod section_type;
mod shift;
mod symbol;
mod tables;
mod unified_index;

pub use attribute::{Attribute, IndirectBranch, Parameter, ParameterV2};
pub use call_graph::{CallGraph, Edge, Signature};
pub use capsule::{Capsule, StoredInstruction};
pub use compat::{CompatCode, CompatRecord, CompatRecords};
pub use content::Content;
pub(crate) use file::check_section_table;
pub use file::{File, Relocation, Section};
pub use flags::SectionFlags;
pub(crate) use headers::{
    Counts, FILE_HEADER, PROGRAM_HEADER, SECTION_HEADER, SYMBOL_BITS, SectionHeader,
};
pub use headers::{Header, ObjectKind, Segment};
pub use info::{InfoCode, InfoRecord, InfoRecords};
pub use model::{Cubin, CubinSection, EncodeError};
pub use note::{DeviceNote, Note, NoteKind, OWNER, ToolNote, ToolStrings};
pub use prototype::Prototype;
pub use record::{Format, Record, Records};
pub use section_type::SectionType;
pub(crate) use symbol::DYNAMIC_SHARED;
pub use symbol::{Binding, Place, Symbol, SymbolOther, SymbolType};
pub use tables::{ActionField, RelocationAction, UnifiedEntry};
pub use unified_index::{IndexSlot, IndexTable, UnifiedIndex, UnifiedTable};

/// `e_machine` of every CUDA object.
pub const EM_CUDA: u16 = 190;
