//! Phase 1: bytes become objects whose every index has been checked.
//!
//! An [`Object`] is what the merge works on: the *link view* of a file. For
//! processors before sm_100 that is the file itself. Files for sm_100 and later, the
//! *Mercury generation*, hold everything twice: the `.nv.merc.*` and `.nv.capmerc.*`
//! sections are what is linked, and the plain sections are their *native twins*, carried
//! along in [`Native`].

mod contradictions;
mod native;
mod plausible;

use crate::arch::{Abi, FileFlags, OldFileFlags};
use crate::cubin::{
    DeviceNote, File, ObjectKind, Relocation, Section, SectionFlags, SectionType, Symbol,
    UnifiedTable, section_name,
};
use crate::error::{NvlinkError, ParseError};
use crate::options::Behaviour;

pub(crate) use native::{Native, NativeRole, NativeSection};
use plausible::{check_code, check_frames, check_sizes, check_targets};

/// Prefix of the names of sections that hold the slot of a unified function.
const STUB_SECTION: &str = ".nv.uft.rel.";

/// What a section is to the link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// Nothing, as it is no part of the link view: section 0, native twins.
    Ignored,
    /// A string table.
    Strings,
    /// The symbol table or its extension.
    Symbols,
    /// A note.
    Note,
    /// `.nv.compat`.
    Compat,
    /// `.nv.info` and `.nv.info.*`.
    Info,
    /// `.nv.callgraph`.
    CallGraph,
    /// `.nv.prototype`.
    Prototype,
    /// Relocations without addends.
    Rel,
    /// Relocations with addends.
    Rela,
    /// Code.
    Text,
    /// A constant bank.
    Constant(u8),
    /// Initialised variables.
    GlobalInit,
    /// Variables that all images of a program share.
    UnifiedData,
    /// Which functions or variables all images of a program share.
    UnifiedEntries(UnifiedTable),
    /// Variables without initial values.
    Global,
    /// Shared memory.
    Shared,
    /// Reserved shared memory.
    SharedReserved,
    /// Debug information and anything else that is not loaded.
    Debug,
    /// Of a type that only linkers write, or that no linker knows. Inputs' sections of these types are ignored (case
    /// `section_types`).
    LinkerMade,
    /// The index of unified functions and variables that an earlier link has put into its result.
    UnifiedIndex,
}

/// One section of the link view.
#[derive(Debug, Clone, Copy)]
pub(crate) struct InputSection<'d> {
    /// What it is to the link.
    pub(crate) role: Role,
    /// Its name in the link view.
    pub(crate) name: &'d str,
    /// Its type in the link view.
    pub(crate) kind: SectionType,
    /// `sh_flags` without the Mercury mark.
    pub(crate) flags: SectionFlags,
    /// `sh_info`.
    pub(crate) info: u32,
    /// Whether `sh_info` is the section this one belongs to.
    pub(crate) has_owner: bool,
    /// `sh_addralign`.
    pub(crate) align: u64,
    /// `sh_entsize`.
    pub(crate) entry_size: u64,
    /// `sh_size`.
    pub(crate) size: u64,
    /// The bytes.
    pub(crate) data: &'d [u8],
}

impl InputSection<'_> {
    /// Whether this is the code of a unified function's slot.
    pub(crate) fn is_stub(&self) -> bool {
        self.role == Role::Text && self.name.starts_with(STUB_SECTION)
    }

    /// Whether it has the name of attribute records (`.nv.info*`) and another type. nvlink goes by the name where it rewrites
    /// the records of device functions, and by the type elsewhere (case `internal_errors`).
    pub(crate) fn has_lost_type(&self) -> bool {
        let is_named =
            self.name == section_name::INFO || self.name.starts_with(section_name::INFO_OF);
        is_named && self.kind != SectionType::CUDA_INFO
    }

    /// Whether its type says that its bytes are not linked, whatever its name says.
    pub(crate) fn has_type_of_nothing(&self) -> bool {
        let may_hold = [SectionType::PROGBITS, SectionType::CUDA_CONSTANT];
        let role = role(self.kind, self.flags);
        let is_nothing = matches!(
            role,
            Role::Ignored
                | Role::Strings
                | Role::Symbols
                | Role::Shared
                | Role::Debug
                | Role::LinkerMade
        );
        is_nothing && !is_code(self.kind) && !may_hold.contains(&self.kind)
    }

    /// Whether its bytes get a place in the image as they are, so that its alignment matters.
    fn has_place(&self) -> bool {
        match self.role {
            Role::Strings
            | Role::Symbols
            | Role::Compat
            | Role::Info
            | Role::CallGraph
            | Role::Prototype
            | Role::Rel
            | Role::Rela
            | Role::LinkerMade => false,
            // Native twins keep theirs.
            Role::Ignored
            | Role::Note
            | Role::Text
            | Role::Constant(_)
            | Role::GlobalInit
            | Role::UnifiedData
            | Role::UnifiedEntries(_)
            | Role::Global
            | Role::Shared
            | Role::SharedReserved
            | Role::Debug
            | Role::UnifiedIndex => true,
        }
    }

    /// The section this one belongs to, by its `sh_info`.
    pub(crate) fn target(&self) -> Option<usize> {
        (self.has_owner || matches!(self.role, Role::Rel | Role::Rela))
            .then_some(self.info as usize)
    }
}

/// One device object, ready to merge.
#[derive(Debug)]
pub(crate) struct Object<'d> {
    /// The input as the user named it.
    pub(crate) name: String,
    /// The sections by their number in the file.
    pub(crate) sections: Vec<InputSection<'d>>,
    /// The symbols of the link view.
    pub(crate) symbols: Vec<Symbol<'d>>,
    /// The string table of `.nv.callgraph` and `.nv.prototype`.
    strings: Section<'d>,
    /// For each section of compiler constants, by its number: the bytes that follow it in the file. nvlink reads there where
    /// a symbol of the section ends past it.
    behind_constants: Vec<(usize, &'d [u8])>,
    /// The number of the virtual processor it was compiled for, where the file header has it. Newer objects have a note.
    pub(crate) virtual_sm: Option<u16>,
    /// The version of the toolkit that made it, times ten (120 is CUDA 12.0), of the same objects.
    pub(crate) toolkit: Option<u32>,
    /// The native world of a Mercury object.
    pub(crate) native: Option<Native<'d>>,
    /// It defines functions or variables that several images share.
    pub(crate) has_unified_symbols: bool,
    /// It is an extensible whole program: the compiler has laid out the shared memory of its kernels.
    pub(crate) is_whole_program: bool,
}

impl<'d> Object<'d> {
    /// Reads one relocatable device object.
    pub(crate) fn parse(
        name: &str,
        data: &'d [u8],
        behaviour: Behaviour,
    ) -> Result<Self, ParseError> {
        let file = File::parse(data).map_err(|e| e.in_input(name))?;
        Self::new(name, file, behaviour)
    }

    /// Takes the link view of a file. What contradicts itself is an error, unless nvlink's behaviour is asked for.
    pub(crate) fn new(
        name: &str,
        file: File<'d>,
        behaviour: Behaviour,
    ) -> Result<Self, ParseError> {
        Self::view(name, file, behaviour).map_err(|e| e.in_input(name))
    }

    fn view(name: &str, mut file: File<'d>, behaviour: Behaviour) -> Result<Self, ParseError> {
        let lost_note = match behaviour {
            Behaviour::Nvlink => lost_device_note(&file),
            Behaviour::Own => None,
        };
        let mercury = file.section_of_type(SectionType::CUDA_MERC_SYMTAB);
        let native = mercury.map(|_| Native::new(&file)).transpose()?;
        let sections = link_views(&file, native.as_ref(), lost_note)?;
        check_targets(&file, &sections)?;
        let symbols = match mercury.zip(native.as_ref()) {
            Some((table, native)) => native.symbols(&file, table)?,
            None => std::mem::take(&mut file.symbols),
        };
        match behaviour {
            Behaviour::Own => contradictions::check(&file, &symbols)?,
            Behaviour::Nvlink => {}
        }
        if native.is_some() {
            check_code(&file, &sections)?;
        }
        check_sizes(&file, &sections, &symbols)?;
        let is_unified = |section: &Section<'_>| {
            matches!(
                section.kind,
                SectionType::CUDA_UFT
                    | SectionType::CUDA_UFT_ENTRY
                    | SectionType::CUDA_UDT
                    | SectionType::CUDA_UDT_ENTRY
            )
        };
        let old_flags = match file.header.abi() {
            Abi::V7 => Some(OldFileFlags::decode(file.header.flags)),
            Abi::V8 => None,
        };
        let virtual_sm = old_flags.map(|flags| flags.virtual_sm.into());
        Ok(Self {
            name: name.to_owned(),
            strings: strings(&file)?,
            behind_constants: behind_constants(&file, &sections),
            sections,
            symbols,
            virtual_sm: virtual_sm.or(lost_note.map(|_| 0)),
            toolkit: (old_flags.is_some() || lost_note.is_some()).then_some(file.header.version),
            native,
            has_unified_symbols: file.sections.iter().any(is_unified),
            is_whole_program: file.header.kind == ObjectKind::EXTENDED_WHOLE_PROGRAM,
        })
    }

    /// Refuses alignments that are no powers of two. nvlink links them up to sm_90, at multiples of the number (case
    /// `odd_sections`).
    pub(crate) fn check_alignments(&self) -> Result<(), ParseError> {
        // Objects of `nvlink -r` may have the start of dynamic shared memory as the alignment of shared memory (case
        // `relocatable_dynamic_again`).
        let is_odd = |view: &&InputSection<'_>| {
            view.align > 1
                && !view.align.is_power_of_two()
                && view.kind != SectionType::CUDA_SHARED
                && view.has_place()
        };
        match self.sections.iter().find(is_odd) {
            None => Ok(()),
            Some(view) => {
                let problem = format!("alignment {:#x} is no power of two", view.align);
                Err(ParseError::malformed(problem).in_section(view.name))
            }
        }
    }

    /// The memory that its sections and symbols take, in bytes.
    pub(crate) fn size(&self) -> usize {
        size_of_val(&self.sections[..]) + size_of_val(&self.symbols[..])
    }

    /// The bytes that follow a section of compiler constants in the file; none for other sections.
    pub(crate) fn behind_constants(&self, section: usize) -> &'d [u8] {
        let all = &self.behind_constants;
        let found = all.binary_search_by_key(&section, |(index, _)| *index);
        found.map_or(&[], |at| all[at].1)
    }

    /// The signature string at `offset`.
    pub(crate) fn signature(&self, offset: u32) -> Result<&'d str, ParseError> {
        self.strings
            .string_at(offset)
            .map_err(|e| e.in_input(&self.name))
    }

    /// The symbol of a number that stands in some record.
    pub(crate) fn symbol(&self, index: u32) -> Result<&Symbol<'d>, ParseError> {
        self.symbols.get(index as usize).ok_or_else(|| {
            ParseError::bad_index("symbol", index.into(), self.symbols.len()).in_input(&self.name)
        })
    }

    /// The relocations of a section of the link view, in file order.
    pub(crate) fn relocations(
        &self,
        section: &InputSection<'d>,
    ) -> Result<impl ExactSizeIterator<Item = Relocation> + use<'d>, ParseError> {
        File::relocation_records(section.name, section.kind, section.data)
            .map_err(|e| e.in_input(&self.name))
    }
}

/// The link view of each section of a file. `lost_note` is one that is read as if it were not there.
fn link_views<'d>(
    file: &File<'d>,
    native: Option<&Native<'d>>,
    lost_note: Option<usize>,
) -> Result<Vec<InputSection<'d>>, ParseError> {
    let mut views = Vec::with_capacity(file.sections.len());
    for (index, section) in file.sections.iter().enumerate() {
        check_frames(section)?;
        let is_shadowed = native.is_some_and(|native| native.shadows(index));
        let mut view = match is_shadowed && !section.flags.contains(SectionFlags::MERCURY) {
            true => ignored_view(section),
            false => link_view(section),
        };
        // `sh_info` of shared memory is the native code of its kernel; the link view has the Mercury code instead.
        if let Some(native) = native
            && view.flags.contains(SectionFlags::INFO_LINK)
            && let Some(twin) = native.code_twin(view.info as usize)
        {
            view.info = twin as u32;
        }
        if lost_note == Some(index) {
            view.role = Role::Ignored;
        }
        views.push(view);
    }
    Ok(views)
}

/// The string table of a file's symbols, which has the signatures, too.
fn strings<'d>(file: &File<'d>) -> Result<Section<'d>, ParseError> {
    match file.section_of_type(SectionType::SYMTAB) {
        Some(table) => file.section(file.sections[table].link).copied(),
        None => {
            let problem = ParseError::malformed("it has no symbol table");
            Err(problem.as_nvlink(NvlinkError::NoSymbols))
        }
    }
}

/// The bytes of the file that follow each section of compiler constants.
fn behind_constants<'d>(file: &File<'d>, sections: &[InputSection<'_>]) -> Vec<(usize, &'d [u8])> {
    let sections = file.sections.iter().zip(sections).enumerate();
    let is_of_code = |view: &InputSection<'_>| {
        matches!(view.role, Role::Constant(1..)) && view.target().is_some()
    };
    let constants = sections.filter(|(_, (_, view))| is_of_code(view));
    let behind = constants.map(|(index, (section, _))| {
        let end = section.offset as usize + section.data.len();
        (index, file.data.get(end..).unwrap_or_default())
    });
    behind.collect()
}

/// The link view of a section that has no part in the link, as a Mercury twin stands for it.
fn ignored_view<'d>(section: &Section<'d>) -> InputSection<'d> {
    InputSection {
        role: Role::Ignored,
        name: section.name,
        kind: section.kind,
        flags: section.flags.without(SectionFlags::MERCURY),
        info: section.info,
        has_owner: section.flags.contains(SectionFlags::INFO_LINK),
        align: section.align,
        entry_size: section.entry_size,
        size: section.size,
        data: section.data,
    }
}

/// The link view of a section.
fn link_view<'d>(section: &Section<'d>) -> InputSection<'d> {
    let mut view = ignored_view(section);
    if section.flags.contains(SectionFlags::MERCURY) {
        if let Some(name) = section.name.strip_prefix(section_name::MERCURY_CODE_OF) {
            view.name = name;
            view.kind = SectionType::PROGBITS;
            view.flags = SectionFlags::CODE;
        } else if let Some(name) = section.name.strip_prefix(section_name::MERCURY_OF) {
            view.name = name;
        }
        view.kind = match view.kind {
            SectionType::CUDA_MERC_RELA => SectionType::RELA,
            SectionType::CUDA_MERC_INFO => SectionType::CUDA_INFO,
            SectionType::CUDA_MERC_SYMTAB => SectionType::NULL,
            other => other,
        };
    }
    view.kind = view.kind.by_name(view.name);
    view.role = role(view.kind, view.flags);
    // CUDA 12.0 does not set `SHF_INFO_LINK`, and attribute records have an owner whatever that flag says (case
    // `odd_sections`).
    view.has_owner = match view.role {
        Role::Info => view.info != 0,
        Role::Constant(_) | Role::Shared => view.has_owner || view.info != 0,
        _ => view.has_owner,
    };
    if view.has_lost_type() {
        view.role = Role::LinkerMade;
    }
    view
}

/// The note that tells of the processor, where nvlink does not find it: the file header has another number than its own, as `-r` of
/// many objects writes it (case `debug_many_texts`).
pub(crate) fn lost_device_note(file: &File<'_>) -> Option<usize> {
    let known = FileFlags::decode(file.header.flags).device_note;
    if file.header.abi() == Abi::V7 || known == FileFlags::BY_NAME {
        return None;
    }
    let mut sections = file.sections.iter();
    let note = sections.position(|section| section.name == DeviceNote::SECTION)?;
    (note != usize::from(known)).then_some(note)
}

/// What a section is to the link, by its type and flags.
fn role(kind: SectionType, flags: SectionFlags) -> Role {
    match kind {
        // Records of what an earlier link resolved mean nothing to this one.
        SectionType::NULL
        | SectionType::CUDA_RESOLVED_RELA
        | SectionType::CUDA_MERC_RESOLVED_RELA => Role::Ignored,
        SectionType::STRTAB => Role::Strings,
        SectionType::SYMTAB | SectionType::SYMTAB_SHNDX => Role::Symbols,
        SectionType::NOTE => Role::Note,
        SectionType::CUDA_COMPAT => Role::Compat,
        SectionType::CUDA_INFO => Role::Info,
        SectionType::CUDA_CALLGRAPH => Role::CallGraph,
        SectionType::CUDA_PROTOTYPE => Role::Prototype,
        SectionType::REL => Role::Rel,
        SectionType::RELA => Role::Rela,
        SectionType::CUDA_GLOBAL_INIT => Role::GlobalInit,
        SectionType::CUDA_GLOBAL => Role::Global,
        SectionType::CUDA_SHARED => Role::Shared,
        SectionType::CUDA_SHARED_RESERVED => Role::SharedReserved,
        SectionType::CUDA_RELOC_ACTION | SectionType::CUDA_HOST => Role::LinkerMade,
        SectionType::CUDA_UIDX => Role::UnifiedIndex,
        SectionType::CUDA_UDT => Role::UnifiedData,
        SectionType::CUDA_UFT_ENTRY => Role::UnifiedEntries(UnifiedTable::Functions),
        SectionType::CUDA_UDT_ENTRY => Role::UnifiedEntries(UnifiedTable::Variables),
        SectionType::CUDA_MERC_CONSTANT_OPTIMIZER => Role::Constant(OPTIMIZER_BANK),
        // Memory that no name tells of is nothing to nvlink either, and has any size (case `section_types`).
        SectionType::NOBITS => Role::Ignored,
        _ => match kind.constant_bank() {
            Some(bank) => Role::Constant(bank),
            None if kind.is_of_processor() && !is_code(kind) => Role::LinkerMade,
            None if flags.contains(SectionFlags::EXECINSTR) => Role::Text,
            None => Role::Debug,
        },
    }
}

/// Whether a section type of CUDA's own is one of code.
fn is_code(kind: SectionType) -> bool {
    matches!(kind, SectionType::CUDA_UFT | SectionType::CUDA_CAPMERC)
}

/// The Mercury world's bank of compiler constants, `.nv.constant.optimizer`:
/// its section type is bank 0's plus 32.
pub(crate) const OPTIMIZER_BANK: u8 = 32;

/// The Mercury world's bank of handles of textures.
pub(crate) const HANDLES_BANK: u8 = 21;

/// The bank of the program's constants in machine code.
pub(crate) const USER_BANK: u8 = 3;

/// The number that the hardware has for a constant bank. In the Mercury world the section type of a bank says its purpose
/// instead.
pub(crate) fn native_bank(bank: u8) -> u8 {
    match bank {
        24 => 3,
        25 => 4,
        OPTIMIZER_BANK => 2,
        HANDLES_BANK => 0,
        bank => bank,
    }
}
