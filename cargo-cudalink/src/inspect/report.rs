//! What `inspect` finds out, as values. `--format json` prints exactly these; `docs/inspect.md` describes them.
//!
//! Fields are added without a new [`SCHEMA_VERSION`]; a field that goes or changes its meaning needs one.

use std::collections::BTreeMap;

use cudalink_bindings::{Function, Name, Parameter};
use rustnvlink::container::InputKind;
use serde::{Serialize, Serializer};

/// The number a program that reads the JSON can rely on.
pub(super) const SCHEMA_VERSION: u32 = 1;

#[derive(Debug, Serialize)]
pub(super) struct Document {
    pub(super) schema_version: u32,
    pub(super) files: Vec<FileReport>,
}

/// One file, or one member of an archive.
#[derive(Debug, Serialize)]
pub(super) struct FileReport {
    /// The path as the user wrote it; of a member, its name in the archive.
    pub(super) name: String,
    #[serde(serialize_with = "as_word")]
    pub(super) kind: InputKind,
    pub(super) size: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<Failure>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) host: Option<HostReport>,
    /// Whether its device code is where only the link of host code finds it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) left_to_optimizer: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) archive: Option<ArchiveReport>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) fatbins: Vec<FatbinReport>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) image: Option<ImageReport>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) ptx: Option<PtxReport>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) members: Vec<FileReport>,
}

/// The kind of a file as programs read it.
fn as_word<S: Serializer>(kind: &InputKind, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(match kind {
        InputKind::Cubin => "cubin",
        InputKind::HostObject => "host-object",
        InputKind::HostExecutable => "executable",
        InputKind::SharedLibrary => "shared-library",
        InputKind::Fatbin => "fatbin",
        InputKind::Archive => "archive",
        InputKind::Ptx => "ptx",
        InputKind::LtoIr => "lto-ir",
        InputKind::Bitcode => "bitcode",
        InputKind::Unknown => "unknown",
    })
}

/// What a PTX text says of itself.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct PtxReport {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) target: Option<String>,
}

/// Why something cannot be read, and where.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Failure {
    pub(super) message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) section: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) symbol: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) offset: Option<u64>,
}

#[derive(Debug, Serialize)]
pub(super) struct HostReport {
    pub(super) machine: String,
    pub(super) modules: Vec<ModuleReport>,
    pub(super) references: Vec<ReferencesReport>,
    /// Versions of the fatbin wrappers.
    pub(super) wrappers: Vec<u32>,
    pub(super) registration: Vec<RegistrationReport>,
    /// Whether it has device code that only Clang's own link understands.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) offloading: bool,
}

#[derive(Debug, Serialize)]
pub(super) struct ModuleReport {
    pub(super) id: String,
    /// Whether the file holds the linked code of the module.
    pub(super) linked: bool,
}

#[derive(Debug, Serialize)]
pub(super) struct ReferencesReport {
    pub(super) kind: &'static str,
    pub(super) scope: &'static str,
    pub(super) patterns: Vec<String>,
}

#[derive(Debug, Serialize)]
pub(super) struct RegistrationReport {
    pub(super) name: String,
    pub(super) defined: bool,
}

#[derive(Debug, Serialize)]
pub(super) struct ArchiveReport {
    pub(super) flavour: String,
    pub(super) thin: bool,
}

#[derive(Debug, Serialize)]
pub(super) struct FatbinReport {
    /// The section of the host file it lies in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) section: Option<&'static str>,
    /// Where it starts in that section, or in the file.
    pub(super) offset: u64,
    pub(super) size: u64,
    pub(super) entries: Vec<EntryReport>,
    /// Why there may be more entries than these.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<Failure>,
}

/// One image in a fatbin.
#[derive(Debug, Serialize)]
pub(super) struct EntryReport {
    pub(super) kind: String,
    pub(super) arch: String,
    /// Version of the code format: ELF ABI, PTX ISA or NVVM IR by kind.
    pub(super) code_version: String,
    pub(super) offset: u64,
    pub(super) flags: u64,
    pub(super) address_bits: u8,
    pub(super) debug: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) host: Option<&'static str>,
    pub(super) compression: String,
    pub(super) scrambled: bool,
    pub(super) stored_size: u64,
    pub(super) size: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) identifier: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) options: Option<String>,
    pub(super) compat_record: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<Failure>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) image: Option<ImageReport>,
}

/// One device object or executable.
#[derive(Debug, Serialize)]
pub(super) struct ImageReport {
    pub(super) arch: String,
    pub(super) object: String,
    pub(super) abi_version: u8,
    pub(super) flags: u32,
    /// The toolkit whose compiler made it, such as `13.0`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) toolkit: Option<String>,
    pub(super) tools: Vec<ToolReport>,
    pub(super) debug_info: bool,
    pub(super) memory: MemoryReport,
    pub(super) kernels: Vec<Function>,
    pub(super) functions: Vec<Function>,
    pub(super) variables: Vec<VariableReport>,
    pub(super) undefined: Vec<Name>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) sections: Option<Vec<SectionReport>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) symbols: Option<Vec<SymbolReport>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) relocations: Option<Vec<RelocationReport>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) call_graph: Option<CallGraphReport>,
    /// The sections asked for by name, decoded.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) contents: Vec<ContentsReport>,
    /// What of the image cannot be read, although the rest can.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) errors: Vec<Failure>,
}

#[derive(Debug, Serialize)]
pub(super) struct ToolReport {
    pub(super) tool: String,
    pub(super) version: String,
    pub(super) build: String,
    pub(super) options: String,
}

/// Memory that belongs to no single function, in bytes.
#[derive(Debug, Default, Serialize)]
pub(super) struct MemoryReport {
    pub(super) global: u64,
    pub(super) global_initialized: u64,
    /// Shared variables that are not yet given to kernels.
    pub(super) shared: u64,
    /// Bytes by constant bank.
    pub(super) constant: BTreeMap<u8, u64>,
}

#[derive(Debug, Serialize)]
pub(super) struct VariableReport {
    #[serde(flatten)]
    pub(super) name: Name,
    pub(super) space: String,
    pub(super) binding: String,
    pub(super) size: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) section: Option<String>,
    pub(super) offset: u64,
    pub(super) initialized: bool,
}

#[derive(Debug, Serialize)]
pub(super) struct SectionReport {
    pub(super) index: u32,
    pub(super) name: String,
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) flags: u64,
    pub(super) address: u64,
    pub(super) offset: u64,
    pub(super) size: u64,
    pub(super) align: u64,
    pub(super) entry_size: u64,
    pub(super) link: u32,
    pub(super) info: u32,
}

#[derive(Debug, Serialize)]
pub(super) struct SymbolReport {
    pub(super) index: u32,
    #[serde(flatten)]
    pub(super) name: Name,
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) binding: String,
    /// `st_other`, which holds the memory space and the entry mark.
    pub(super) other: u8,
    pub(super) marks: Vec<&'static str>,
    pub(super) section: String,
    pub(super) value: u64,
    pub(super) size: u64,
}

/// The relocations of one section.
#[derive(Debug, Serialize)]
pub(super) struct RelocationReport {
    pub(super) section: String,
    /// The section they patch.
    pub(super) target: String,
    pub(super) entries: Vec<RelocationEntry>,
}

#[derive(Debug, Serialize)]
pub(super) struct RelocationEntry {
    pub(super) offset: u64,
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) symbol: Name,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) addend: Option<i64>,
}

#[derive(Debug, Default, Serialize)]
pub(super) struct CallGraphReport {
    pub(super) calls: Vec<EdgeReport>,
    pub(super) address_references: Vec<EdgeReport>,
    pub(super) address_taken: Vec<SignatureReport>,
    pub(super) indirect_calls: Vec<SignatureReport>,
}

#[derive(Debug, Serialize)]
pub(super) struct EdgeReport {
    pub(super) from: Name,
    pub(super) to: Name,
}

#[derive(Debug, Serialize)]
pub(super) struct SignatureReport {
    pub(super) function: Name,
    pub(super) prototype: String,
}

/// One section, decoded as far as its type is known.
#[derive(Debug, Serialize)]
pub(super) struct ContentsReport {
    pub(super) header: SectionReport,
    pub(super) contents: Contents,
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", content = "value", rename_all = "kebab-case")]
pub(super) enum Contents {
    /// The section has a size but no bytes in the file.
    NoBytes,
    Records(Vec<RecordReport>),
    Symbols(Vec<SymbolReport>),
    Relocations(RelocationReport),
    CallGraph(CallGraphReport),
    Prototypes(Vec<SignatureReport>),
    Notes(Vec<NoteReport>),
    Strings(Vec<StringReport>),
    /// Hexadecimal digits, two for each byte.
    Bytes(#[serde(serialize_with = "hexadecimal")] Vec<u8>),
}

/// One record of `.nv.info*` or `.nv.compat`.
#[derive(Debug, Serialize)]
pub(super) struct RecordReport {
    pub(super) offset: u64,
    pub(super) code: u8,
    pub(super) name: String,
    pub(super) format: &'static str,
    /// The value of a record without payload.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) value: Option<u16>,
    /// The symbols it is about.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) symbols: Vec<Name>,
    /// The parameter it describes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) parameter: Option<Parameter>,
    /// The words of the payload behind the symbols.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) words: Vec<u32>,
    /// Bytes behind the last whole word.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) rest: Vec<u8>,
}

#[derive(Debug, Serialize)]
pub(super) struct NoteReport {
    pub(super) owner: String,
    #[serde(rename = "type")]
    pub(super) kind: u32,
    pub(super) fields: Vec<(&'static str, String)>,
}

#[derive(Debug, Serialize)]
pub(super) struct StringReport {
    pub(super) offset: u64,
    pub(super) text: String,
}

fn hexadecimal<S: serde::Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    use std::fmt::Write as _;
    let mut digits = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        write!(digits, "{byte:02x}").map_err(serde::ser::Error::custom)?;
    }
    serializer.serialize_str(&digits)
}
