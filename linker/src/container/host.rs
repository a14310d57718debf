//! Host objects, executables and shared libraries: where their device code
//! is, and what their host code says about it.

use std::fmt;

use object::LittleEndian as Le;
use object::elf::{EM_AARCH64, EM_PPC64, EM_RISCV, EM_X86_64};
use object::elf::{FileHeader32, FileHeader64, Ident};
use object::elf::{SHT_DYNSYM, SHT_NOBITS, SHT_SYMTAB};
use object::read::elf::{FileHeader, SectionHeader, SectionTable, Sym as _};

use super::{InputKind, detect};
use crate::cubin::check_section_table;
use crate::error::{ParseError, Problem};
use crate::fatbin::{self, Fatbins};

/// What stands before the name of a module in a file that holds its linked code.
const LINKED: &str = "def ";
/// Fatbins with relocatable device code.
pub const RELOCATABLE_SECTION: &str = "__nv_relfatbin";
/// Fatbins with executable device code.
pub const EXECUTABLE_SECTION: &str = ".nv_fatbin";
/// The wrappers by which host code hands fatbins to the runtime.
pub const WRAPPER_SECTION: &str = ".nvFatBinSegment";
/// The names of device modules.
pub const MODULE_ID_SECTION: &str = "__nv_module_id";
/// Device code as Clang's new driver leaves it for its own link, which alone understands it.
pub const OFFLOADING_SECTION: &str = ".llvm.offloading";
/// What the names of the sections start with in which GCC puts the wrapper of a module with `-flto`, for its own link.
const OPTIMIZER_SECTIONS: &str = ".gnu.lto___fatbinwrap";
/// What the name of the wrapper of a module starts with.
pub(crate) const WRAPPER_PREFIX: &str = "__fatbinwrap";

/// The first word of a wrapper.
pub(crate) const WRAPPER_MAGIC: u32 = 0x4662_43b1;
const WRAPPER_SIZE: usize = 24;
/// What the names of the registration protocol start with.
const REGISTRATION: [&str; 3] = ["__cudaRegister", "__cudaUnregister", WRAPPER_PREFIX];

/// The machine of a host file: its `e_machine`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Machine(pub u16);

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match object::elf::Machine(self.0) {
            EM_X86_64 => f.write_str("x86-64"),
            EM_AARCH64 => f.write_str("aarch64"),
            EM_PPC64 => f.write_str("ppc64"),
            EM_RISCV => f.write_str("riscv"),
            _ => write!(f, "machine-{}", self.0),
        }
    }
}

/// One section with fatbins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct FatbinSection<'d> {
    /// [`RELOCATABLE_SECTION`] or [`EXECUTABLE_SECTION`].
    pub name: &'static str,
    /// Where it lies in the file.
    pub offset: u64,
    /// Its bytes.
    pub data: &'d [u8],
}

impl<'d> FatbinSection<'d> {
    /// Whether its code has yet to be linked.
    pub fn is_relocatable(&self) -> bool {
        self.name == RELOCATABLE_SECTION
    }

    /// Its fatbins; a host link puts several one behind the other.
    pub fn fatbins(&self) -> Fatbins<'d> {
        fatbin::fatbins(self.data)
    }
}

/// A name of `__nv_module_id`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ModuleId<'d> {
    /// The file holds this module, and waits for its device link.
    Module(&'d str),
    /// The file holds the linked code of this module.
    Linked(&'d str),
}

impl<'d> ModuleId<'d> {
    /// The module whose linked code the file holds, if it says that.
    pub fn linked(self) -> Option<&'d str> {
        match self {
            Self::Linked(id) => Some(id),
            Self::Module(_) => None,
        }
    }
}

/// What kind of device name a host reference is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ReferenceKind {
    /// Kernels.
    Kernel,
    /// Variables in global memory, managed ones too.
    Variable,
    /// Variables in constant memory.
    Constant,
}

/// The linkage of the names a host reference is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ReferenceScope {
    /// Visible to other modules.
    External,
    /// Internal to the module.
    Internal,
}

/// One `.nvHR*` section: the device names that host code may use.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct HostReferences<'d> {
    /// What the names are.
    pub kind: ReferenceKind,
    /// Their linkage.
    pub scope: ReferenceScope,
    /// Where the names lie in the file.
    pub offset: u64,
    /// Whether there is more than one byte, which says that host code refers to something.
    pub is_list: bool,
    /// The patterns, in which `*` stands for any run of characters. Empty when
    /// the section says that there are no references.
    pub patterns: Vec<&'d str>,
}

const REFERENCE_SECTIONS: [(&str, ReferenceKind, ReferenceScope); 6] = {
    use {ReferenceKind as K, ReferenceScope as S};
    [
        (".nvHRKE", K::Kernel, S::External),
        (".nvHRKI", K::Kernel, S::Internal),
        (".nvHRDE", K::Variable, S::External),
        (".nvHRDI", K::Variable, S::Internal),
        (".nvHRCE", K::Constant, S::External),
        (".nvHRCI", K::Constant, S::Internal),
    ]
};

/// What a section of a host file says of device code.
#[derive(Debug, Clone, Copy)]
enum Role {
    /// It holds fatbins.
    Fatbins,
    /// It holds wrappers of fatbins.
    Wrappers,
    /// It holds names of modules.
    ModuleIds,
    /// It holds names that host code refers to.
    References(ReferenceKind, ReferenceScope),
}

impl Role {
    /// The role of a section of this name, if it has one, and the name.
    fn of(name: &[u8]) -> Option<(&'static str, Self)> {
        const OWN: [(&str, Role); 4] = [
            (RELOCATABLE_SECTION, Role::Fatbins),
            (EXECUTABLE_SECTION, Role::Fatbins),
            (WRAPPER_SECTION, Role::Wrappers),
            (MODULE_ID_SECTION, Role::ModuleIds),
        ];
        let references = REFERENCE_SECTIONS.into_iter();
        let references =
            references.map(|(name, kind, scope)| (name, Self::References(kind, scope)));
        let mut known = OWN.into_iter().chain(references);
        known.find(|(known, _)| known.as_bytes() == name)
    }
}

impl HostReferences<'_> {
    /// Whether some pattern matches the whole of `name`.
    pub fn matches(&self, name: &str) -> bool {
        self.patterns.iter().any(|p| pattern_matches(p, name))
    }
}

/// Whether `pattern` matches the whole of `name`; `*` is any run, everything
/// else stands for itself.
pub fn pattern_matches(pattern: &str, name: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else {
        return pattern == name;
    };
    let Some(mut name) = name.strip_prefix(first) else {
        return false;
    };
    let mut parts = rest.split('*').peekable();
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return name.ends_with(part);
        }
        let Some(at) = name.find(part) else {
            return false;
        };
        name = &name[at + part.len()..];
    }
    true
}

/// A symbol by which host code registers device code with the runtime.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct RegistrationSymbol<'d> {
    /// Its name.
    pub name: &'d str,
    /// Whether the file defines it.
    pub defined: bool,
}

/// Device code that a host file has where no device link finds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum OutOfReach {
    /// In [`OFFLOADING_SECTION`], for Clang's own link.
    ClangLink,
    /// In what a host compiler made with `-flto`: there it is text for the assembler, which comes when the host code is
    /// linked.
    Optimizer,
}

impl OutOfReach {
    /// What a section of this name has.
    fn in_section(name: &[u8]) -> Option<Self> {
        if name.starts_with(OPTIMIZER_SECTIONS.as_bytes()) {
            return Some(Self::Optimizer);
        }
        (name == OFFLOADING_SECTION.as_bytes()).then_some(Self::ClangLink)
    }

    /// What a file of bitcode has.
    pub fn in_bitcode(data: &[u8]) -> Option<Self> {
        let wrapper = WRAPPER_PREFIX.as_bytes();
        let mut places = data.windows(wrapper.len());
        places
            .any(|place| place == wrapper)
            .then_some(Self::Optimizer)
    }
}

/// What a host file holds for the device.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct HostFile<'d> {
    /// Object, executable or shared library.
    pub kind: InputKind,
    /// The machine its host code is for.
    pub machine: Machine,
    /// Its fatbins, in section order.
    pub fatbins: Vec<FatbinSection<'d>>,
    /// The names of its modules.
    pub module_ids: Vec<ModuleId<'d>>,
    /// What its host code refers to. Without any such section nothing is known.
    pub references: Vec<HostReferences<'d>>,
    /// Device code in it that is not looked at.
    pub out_of_reach: Option<OutOfReach>,
    /// Whether it has sections at all.
    pub has_sections: bool,
    /// Whether it has a section for wrappers of fatbins, whatever that holds.
    pub has_wrappers: bool,
    /// Versions of its fatbin wrappers: 1 of a translation unit, 2 of the
    /// result of a device link.
    pub wrappers: Vec<u32>,
    /// Its registration symbols, in symbol table order.
    pub registration: Vec<RegistrationSymbol<'d>>,
}

impl<'d> HostFile<'d> {
    /// Reads an ELF file of a host machine.
    pub fn parse(data: &'d [u8]) -> Result<Self, ParseError> {
        let kind = detect(data);
        if !matches!(
            kind,
            InputKind::HostObject | InputKind::HostExecutable | InputKind::SharedLibrary
        ) {
            return Err(ParseError::new(Problem::NotElf).at(0));
        }
        match Class::of(data)? {
            Class::Narrow => Self::read::<FileHeader32<Le>>(kind, data),
            Class::Wide => Self::read::<FileHeader64<Le>>(kind, data),
        }
    }

    /// Whether a file can hold the linked code of a module: whether it says so anywhere among the names of its modules. That
    /// is found without reading all of the file.
    pub(crate) fn may_be_linked(data: &[u8]) -> bool {
        match Class::of(data) {
            Ok(Class::Narrow) => names_linked_modules::<FileHeader32<Le>>(data),
            Ok(Class::Wide) => names_linked_modules::<FileHeader64<Le>>(data),
            Err(_) => false,
        }
    }

    fn read<H: FileHeader<Endian = Le>>(
        kind: InputKind,
        data: &'d [u8],
    ) -> Result<Self, ParseError> {
        let header = file_header::<H>(data)?;
        let sections = section_table(header, data)?;
        let mut file = Self {
            kind,
            machine: Machine(header.e_machine(Le).0),
            fatbins: Vec::new(),
            module_ids: Vec::new(),
            references: Vec::new(),
            out_of_reach: None,
            has_sections: !sections.is_empty(),
            has_wrappers: false,
            wrappers: Vec::new(),
            registration: Vec::new(),
        };
        file.read_sections(&sections, data)?;
        if kind == InputKind::HostObject && file.has_wrappers && file.fatbins.is_empty() {
            let problem = format!(
                "its host code names fatbins, of which there are none: \
                 neither {RELOCATABLE_SECTION} nor {EXECUTABLE_SECTION} is there"
            );
            return Err(ParseError::malformed(problem).in_section(WRAPPER_SECTION));
        }
        if file.out_of_reach == Some(OutOfReach::Optimizer) && !file.fatbins.is_empty() {
            // `-ffat-lto-objects` leaves the code in its place, too.
            file.out_of_reach = None;
        }
        file.read_symbols(&sections, data)?;
        Ok(file)
    }

    /// Whether an object has all that its headers tell of. Nothing else asks for that of sections without device code.
    pub fn check_whole(data: &[u8]) -> Result<(), ParseError> {
        match Class::of(data)? {
            Class::Narrow => check_whole::<FileHeader32<Le>>(data),
            Class::Wide => check_whole::<FileHeader64<Le>>(data),
        }
    }

    /// Whether the file holds device code that has yet to be linked.
    pub fn has_relocatable_code(&self) -> bool {
        self.fatbins.iter().any(|s| s.is_relocatable())
    }

    fn read_sections<H: FileHeader<Endian = Le>>(
        &mut self,
        sections: &SectionTable<'d, H>,
        data: &'d [u8],
    ) -> Result<(), ParseError> {
        for (index, section) in sections.enumerate() {
            let name = sections.section_name(Le, section).map_err(|e| {
                ParseError::malformed(format!("section name: {e}"))
                    .in_section(&format!("#{}", index.0))
            })?;
            if let Some(place) = OutOfReach::in_section(name) {
                self.out_of_reach = Some(place);
            } else if let Some((name, role)) = Role::of(name) {
                let bytes = section_bytes(section, data).map_err(|e| e.in_section(name))?;
                self.read_section(name, role, section.sh_offset(Le).into(), bytes)
                    .map_err(|e| e.in_section(name))?;
            }
        }
        Ok(())
    }

    /// Takes what a section says of device code. `objcopy --only-keep-debug` leaves sections without `bytes`.
    fn read_section(
        &mut self,
        name: &'static str,
        role: Role,
        offset: u64,
        bytes: Option<&'d [u8]>,
    ) -> Result<(), ParseError> {
        match role {
            Role::Fatbins => {
                let is_empty = bytes.is_none_or(<[u8]>::is_empty);
                if name == RELOCATABLE_SECTION && self.kind == InputKind::HostObject && is_empty {
                    return Err(ParseError::malformed("it holds no fatbin").at(offset));
                }
                self.fatbins
                    .extend(bytes.map(|data| FatbinSection { name, offset, data }));
            }
            Role::Wrappers => {
                self.has_wrappers = true;
                self.wrappers
                    .extend(wrapper_versions(bytes.unwrap_or_default()));
            }
            Role::References(kind, scope) => {
                if let Some(bytes) = bytes {
                    let is_list = bytes.len() > 1;
                    self.references.push(HostReferences {
                        kind,
                        scope,
                        offset,
                        is_list,
                        patterns: match is_list {
                            true => strings(bytes)?,
                            false => Vec::new(),
                        },
                    });
                }
            }
            Role::ModuleIds => {
                let ids = strings(bytes.unwrap_or_default())?.into_iter();
                self.module_ids
                    .extend(ids.map(|id| match id.strip_prefix(LINKED) {
                        Some(id) => ModuleId::Linked(id),
                        None => ModuleId::Module(id),
                    }));
            }
        }
        Ok(())
    }

    fn read_symbols<H: FileHeader<Endian = Le>>(
        &mut self,
        sections: &SectionTable<'d, H>,
        data: &'d [u8],
    ) -> Result<(), ParseError> {
        let place = |e: object::read::Error| ParseError::malformed(format!("symbol table: {e}"));
        let mut symbols = sections.symbols(Le, data, SHT_SYMTAB).map_err(place)?;
        if symbols.is_empty() {
            symbols = sections.symbols(Le, data, SHT_DYNSYM).map_err(place)?;
        }
        for symbol in symbols.iter() {
            let name = symbol.name(Le, symbols.strings()).map_err(place)?;
            let Ok(name) = std::str::from_utf8(name) else {
                continue;
            };
            if REGISTRATION.iter().any(|prefix| name.starts_with(prefix)) {
                self.registration.push(RegistrationSymbol {
                    name,
                    defined: symbol.st_shndx(Le).0 != 0,
                });
            }
        }
        Ok(())
    }
}

/// How wide the numbers in an ELF file are. nvlink links device code out of both (case `host_classes`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    /// 32 bits.
    Narrow,
    /// 64 bits.
    Wide,
}

impl Class {
    /// What a file says of itself.
    pub(crate) fn of(data: &[u8]) -> Result<Self, ParseError> {
        match data.get(4..6) {
            Some(&[1, 1]) => Ok(Self::Narrow),
            Some(&[2, 1]) => Ok(Self::Wide),
            _ => {
                let problem = "not a little-endian host file; CUDA code is only found in those";
                Err(ParseError::malformed(problem).at(4))
            }
        }
    }
}

/// Its version does not count, as it does not for nvlink.
fn file_header<H: FileHeader<Endian = Le>>(data: &[u8]) -> Result<&H, ParseError> {
    let header = object::pod::from_bytes::<H>(data);
    header
        .map(|(header, _)| header)
        .map_err(|()| ParseError::truncated("file header", size_of::<H>() as u64, data.len()).at(0))
}

fn section_table<'d, H: FileHeader<Endian = Le>>(
    header: &'d H,
    data: &'d [u8],
) -> Result<SectionTable<'d, H>, ParseError> {
    check_section_table(header, data)?;
    let place: u64 = header.e_shoff(Le).into();
    header
        .sections(Le, data)
        .map_err(|e| ParseError::malformed(format!("section table: {e}")).at(place))
}

/// The bytes of a section, if it has any.
fn section_bytes<'d, H: SectionHeader<Endian = Le>>(
    section: &H,
    data: &'d [u8],
) -> Result<Option<&'d [u8]>, ParseError> {
    if section.sh_type(Le) == SHT_NOBITS {
        return Ok(None);
    }
    let bytes = section.data(Le, data).map_err(|_| {
        let offset: u64 = section.sh_offset(Le).into();
        let end = offset.saturating_add(section.sh_size(Le).into());
        ParseError::truncated("section data", end, data.len()).at(offset)
    });
    bytes.map(Some)
}

/// Whether a section with names of modules has the word for those that are linked.
fn names_linked_modules<H: FileHeader<Endian = Le>>(data: &[u8]) -> bool {
    let Ok(sections) = file_header::<H>(data).and_then(|header| section_table(header, data)) else {
        return false;
    };
    sections.iter().any(|section| {
        let name = sections.section_name(Le, section);
        let is_linked = |ids: &[u8]| {
            let mut places = ids.windows(LINKED.len());
            places.any(|place| place == LINKED.as_bytes())
        };
        name.is_ok_and(|name| name == MODULE_ID_SECTION.as_bytes())
            && section_bytes(section, data).is_ok_and(|bytes| bytes.is_some_and(is_linked))
    })
}

fn check_whole<H: FileHeader<Endian = Le>>(data: &[u8]) -> Result<(), ParseError> {
    let header = file_header::<H>(data)?;
    let available = data.len() as u64;
    if header.e_shoff(Le).into() == 0 {
        let place = sections_field::<H>();
        return Err(ParseError::malformed("it has no section table").at(place));
    }
    let (start, count): (u64, _) = (header.e_phoff(Le).into(), u64::from(header.e_phnum(Le)));
    let size = u64::from(header.e_phentsize(Le));
    if count > 0 && size != size_of::<H::ProgramHeader>() as u64 {
        let problem = format!("program headers have {size} bytes");
        return Err(ParseError::malformed(problem).at(segment_size_field::<H>()));
    }
    let end = start.saturating_add(count * size);
    let truncated = |what, end| ParseError::truncated(what, end, data.len());
    if end > available {
        return Err(truncated("table of program headers", end).at(start));
    }
    let sections = section_table(header, data)?;
    for (index, section) in sections.enumerate() {
        let start: u64 = section.sh_offset(Le).into();
        let end = start.saturating_add(section.sh_size(Le).into());
        if section.sh_type(Le) != SHT_NOBITS && end > available {
            let name = sections.section_name(Le, section).unwrap_or_default();
            let name = match std::str::from_utf8(name) {
                Ok(name) if !name.is_empty() => name.to_owned(),
                _ => format!("#{}", index.0),
            };
            return Err(truncated("section data", end).in_section(&name).at(start));
        }
    }
    Ok(())
}

/// Where `e_shoff` is: behind `e_entry` and `e_phoff`, which are as wide as the class says.
fn sections_field<H: FileHeader>() -> u64 {
    const BEFORE_ENTRY: usize = size_of::<Ident>() + 8;
    (BEFORE_ENTRY + 2 * size_of::<H::Word>()) as u64
}

/// Where the header says how long a program header is: behind `e_shoff`, `e_flags` and `e_ehsize`.
fn segment_size_field<H: FileHeader>() -> u64 {
    sections_field::<H>() + size_of::<H::Word>() as u64 + 6
}

/// The NUL-terminated strings of a section, without empty ones. The last one
/// may lack its NUL.
fn strings(data: &[u8]) -> Result<Vec<&str>, ParseError> {
    let mut offset = 0;
    let mut strings = Vec::new();
    for bytes in data.split(|b| *b == 0) {
        let string = std::str::from_utf8(bytes)
            .map_err(|_| ParseError::malformed("not a text in UTF-8").at(offset))?;
        if !string.is_empty() {
            strings.push(string);
        }
        offset += bytes.len() as u64 + 1;
    }
    Ok(strings)
}

/// Only the versions are read: the pointers are filled in by the host linker.
fn wrapper_versions(data: &[u8]) -> impl Iterator<Item = u32> + '_ {
    data.chunks_exact(WRAPPER_SIZE).filter_map(|wrapper| {
        let (&[magic, version], _) = wrapper.as_chunks().0.split_first_chunk()?;
        (u32::from_le_bytes(magic) == WRAPPER_MAGIC).then_some(u32::from_le_bytes(version))
    })
}
