//! Headers of a file, of its sections and of its segments, and how they stand in it.

use object::LittleEndian as Le;
use object::elf::{
    self, ELFCLASS64, ELFDATA2LSB, ELFMAG, EV_CURRENT, FileHeader64, FileType, Ident, Machine,
    OsAbi, ProgramFlags, ProgramHeader64, ProgramType, SectionHeader64,
};
use object::endian::{U16, U32, U64};
use object::pod;

use super::{EM_CUDA, Place, SectionFlags, SectionType};
use crate::arch::{Abi, FileFlags, OldFileFlags, Sm};

/// Size of the file header.
pub(crate) const FILE_HEADER: u64 = size_of::<FileHeader64<Le>>() as u64;
/// Size of a section header.
pub(crate) const SECTION_HEADER: u64 = size_of::<SectionHeader64<Le>>() as u64;
/// Size of a program header.
pub(crate) const PROGRAM_HEADER: u64 = size_of::<ProgramHeader64<Le>>() as u64;
/// The bits of a code section's `sh_info` that number its symbol; the others count registers.
pub(crate) const SYMBOL_BITS: u32 = 0xff_ffff;

/// What stage of the build a file comes from: its `e_type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectKind(pub u16);

impl ObjectKind {
    /// An input of the device link.
    pub const RELOCATABLE: Self = Self(1);
    /// What the driver loads.
    pub const EXECUTABLE: Self = Self(2);
    /// A whole program that may still be linked with the device runtime.
    pub const EXTENDED_WHOLE_PROGRAM: Self = Self(0xff00);
}

/// The fields of the file header that can differ between device objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// `EI_OSABI`.
    pub os_abi: u8,
    /// `EI_ABIVERSION`.
    pub abi_version: u8,
    /// `e_type`.
    pub kind: ObjectKind,
    /// `e_version`.
    pub version: u32,
    /// `e_entry`.
    pub entry: u64,
    /// `e_phoff`.
    pub segments_offset: u64,
    /// `e_shoff`.
    pub sections_offset: u64,
    /// `e_flags`.
    pub flags: u32,
    /// `e_phentsize`; without program headers some tools write zero.
    pub segment_entry_size: u16,
    /// Number of the section that holds the section names.
    pub names_section: u32,
}

impl Header {
    /// The layout of the object.
    pub fn abi(&self) -> Abi {
        Abi::of_os_abi(self.os_abi)
    }

    /// The processor that the object is for, as far as the header tells:
    /// objects of CUDA 13 have the letter in `.nv.compat`.
    pub fn processor(&self) -> Sm {
        match self.abi() {
            Abi::V7 => OldFileFlags::decode(self.flags).sm(),
            Abi::V8 => FileFlags::decode(self.flags).sm(),
        }
    }
}

/// One program header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    /// `p_type`.
    pub kind: u32,
    /// `p_flags`.
    pub flags: u32,
    /// `p_offset`.
    pub offset: u64,
    /// `p_vaddr`.
    pub virtual_address: u64,
    /// `p_paddr`.
    pub physical_address: u64,
    /// `p_filesz`.
    pub file_size: u64,
    /// `p_memsz`.
    pub memory_size: u64,
    /// `p_align`.
    pub align: u64,
}

/// What the file header says of the tables behind it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Counts {
    /// `e_phnum`.
    pub(crate) segments: u16,
    /// `e_shnum`.
    pub(crate) sections: u16,
    /// Whether there is a section table: `e_shnum` is zero where section 0 has the number.
    pub(crate) has_sections: bool,
}

impl Header {
    /// Appends the header.
    pub(crate) fn encode(&self, counts: Counts, out: &mut Vec<u8>) {
        let header = FileHeader64 {
            e_ident: Ident {
                magic: ELFMAG,
                class: ELFCLASS64,
                data: ELFDATA2LSB,
                version: EV_CURRENT,
                os_abi: OsAbi(self.os_abi),
                abi_version: self.abi_version,
                padding: [0; 7],
            },
            e_type: U16::new(Le, FileType(self.kind.0)),
            e_machine: U16::new(Le, Machine(EM_CUDA)),
            e_version: U32::new(Le, self.version),
            e_entry: U64::new(Le, self.entry),
            e_phoff: U64::new(Le, self.segments_offset),
            e_shoff: U64::new(Le, self.sections_offset),
            e_flags: U32::new(Le, elf::FileFlags(self.flags)),
            e_ehsize: U16::new(Le, FILE_HEADER as u16),
            e_phentsize: U16::new(Le, self.segment_entry_size),
            e_phnum: U16::new(Le, counts.segments),
            e_shentsize: U16::new(
                Le,
                match counts.has_sections {
                    true => SECTION_HEADER as u16,
                    false => 0,
                },
            ),
            e_shnum: U16::new(Le, counts.sections),
            e_shstrndx: U16::new(
                Le,
                elf::SymbolSection(Place::Section(self.names_section).encode()),
            ),
        };
        out.extend_from_slice(pod::bytes_of(&header));
    }
}

impl Segment {
    /// Appends the header.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        let header = ProgramHeader64 {
            p_type: U32::new(Le, ProgramType(self.kind)),
            p_flags: U32::new(Le, ProgramFlags(self.flags)),
            p_offset: U64::new(Le, self.offset),
            p_vaddr: U64::new(Le, self.virtual_address),
            p_paddr: U64::new(Le, self.physical_address),
            p_filesz: U64::new(Le, self.file_size),
            p_memsz: U64::new(Le, self.memory_size),
            p_align: U64::new(Le, self.align),
        };
        out.extend_from_slice(pod::bytes_of(&header));
    }
}

/// One section header.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SectionHeader {
    /// Offset of the name in the section name table.
    pub(crate) name: u32,
    pub(crate) kind: SectionType,
    pub(crate) flags: SectionFlags,
    pub(crate) address: u64,
    pub(crate) offset: u64,
    pub(crate) size: u64,
    pub(crate) link: u32,
    pub(crate) info: u32,
    pub(crate) align: u64,
    pub(crate) entry_size: u64,
}

impl SectionHeader {
    /// That of section 0.
    pub(crate) const EMPTY: Self = Self {
        name: 0,
        kind: SectionType::NULL,
        flags: SectionFlags::NONE,
        address: 0,
        offset: 0,
        size: 0,
        link: 0,
        info: 0,
        align: 0,
        entry_size: 0,
    };

    /// Appends the header.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        let header = SectionHeader64 {
            sh_name: U32::new(Le, self.name),
            sh_type: U32::new(Le, elf::SectionType(self.kind.0)),
            sh_flags: U64::new(Le, elf::SectionFlags(self.flags.0)),
            sh_addr: U64::new(Le, self.address),
            sh_offset: U64::new(Le, self.offset),
            sh_size: U64::new(Le, self.size),
            sh_link: U32::new(Le, self.link),
            sh_info: U32::new(Le, self.info),
            sh_addralign: U64::new(Le, self.align),
            sh_entsize: U64::new(Le, self.entry_size),
        };
        out.extend_from_slice(pod::bytes_of(&header));
    }
}
