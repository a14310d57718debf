//! ELF shared libraries whose functions all do the same.
//!
//! First every part gets its place, then all are written in this order.

use std::collections::BTreeSet;

use object::write::elf::{FileHeader, ProgramHeader, SectionHeader, SectionIndex, Sym, Writer};
use object::write::{Result, StringId};
use object::{Endianness, elf};

/// Pages of every machine start at multiples of this.
const PAGE: u64 = 0x1_0000;

const TEXT_ALIGN: u64 = 16;
/// How many segments there are.
const SEGMENTS: u32 = 4;
/// How many entries the dynamic section has, the name of the library among them.
const DYNAMIC_ENTRIES: usize = 7;

/// A library for a machine, with the name by which programs look for it. Each of the functions has the code `text`.
pub(super) fn shared_library(
    machine: elf::Machine,
    soname: &str,
    functions: &BTreeSet<String>,
    text: &[u8],
) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut writer = Writer::new(Endianness::Little, true, &mut bytes);
    let names = Names::reserve(&mut writer, soname, functions);
    let places = Places::reserve(&mut writer, text)?;

    writer.write_file_header(&FileHeader {
        os_abi: elf::ELFOSABI_NONE,
        abi_version: 0,
        e_type: elf::ET_DYN,
        e_machine: machine,
        e_entry: 0,
        e_flags: elf::FileFlags::default(),
    })?;
    writer.write_align_program_headers();
    for segment in places.segments() {
        writer.write_program_header(&segment);
    }
    let hashes: Vec<u32> = functions
        .iter()
        .map(|name| elf::hash(name.as_bytes()))
        .collect();
    let count = writer.dynamic_symbol_count();
    writer.write_hash(count, count, |symbol| {
        hashes.get((symbol as usize).checked_sub(1)?).copied()
    });
    names.write_symbols(&mut writer, &places);
    writer.write_dynstr();
    writer.write_align(TEXT_ALIGN);
    writer.write(text);
    writer.pad_until(places.dynamic);
    writer.write_dynamic_string(elf::DT_SONAME, names.soname)?;
    for (tag, value) in places.dynamic_entries() {
        writer.write_dynamic(tag, value)?;
    }
    writer.write_shstrtab();
    places.write_section_headers(&mut writer, names.text);
    Ok(bytes)
}

/// What has a name.
struct Names {
    soname: StringId,
    functions: Vec<StringId>,
    text: StringId,
    text_section: SectionIndex,
}

impl Names {
    fn reserve<'n>(
        writer: &mut Writer<'n>,
        soname: &'n str,
        functions: &'n BTreeSet<String>,
    ) -> Self {
        writer.reserve_null_section_index();
        writer.reserve_hash_section_index();
        writer.reserve_dynsym_section_index();
        writer.reserve_dynstr_section_index();
        let text = writer.add_section_name(b".text");
        let text_section = writer.reserve_section_index();
        writer.reserve_dynamic_section_index();
        writer.reserve_shstrtab_section_index();
        let soname = writer.add_dynamic_string(soname.as_bytes());
        writer.reserve_null_dynamic_symbol_index();
        let functions = functions.iter().map(|name| {
            writer.reserve_dynamic_symbol_index();
            writer.add_dynamic_string(name.as_bytes())
        });
        Self {
            functions: functions.collect(),
            soname,
            text,
            text_section,
        }
    }

    /// All functions are at the same place.
    fn write_symbols(&self, writer: &mut Writer<'_>, places: &Places) {
        writer.write_null_dynamic_symbol();
        for &name in &self.functions {
            let st_name = writer.dynamic_string_offset(Some(name));
            writer.write_dynamic_symbol(&Sym {
                section: Some(self.text_section.0),
                st_name,
                st_info: elf::SymbolInfo::new(elf::STB_GLOBAL, elf::STT_FUNC),
                st_other: elf::SymbolOther::default(),
                st_shndx: elf::SymbolSection::default(),
                st_value: places.text,
                st_size: places.text_size,
            });
        }
    }
}

/// Where the parts lie. Everything that is read only is in one segment at address 0, so that places in the file are
/// addresses.
struct Places {
    hash: u64,
    symbols: u64,
    strings: u64,
    strings_size: u64,
    text: u64,
    text_size: u64,
    dynamic: u64,
    dynamic_size: u64,
}

impl Places {
    fn reserve(writer: &mut Writer<'_>, text: &[u8]) -> Result<Self> {
        let count = writer.dynamic_symbol_count();
        writer.reserve_file_header();
        writer.reserve_program_headers(SEGMENTS);
        let hash = writer.reserve_hash(count, count);
        let symbols = writer.reserve_dynsym();
        let strings = writer.reserve_dynstr()?;
        let strings_size = u64::from(writer.dynstr_len());
        let text_size = text.len() as u64;
        let text = writer.reserve(text_size, TEXT_ALIGN);
        let text_end = writer.reserved_len();
        writer.reserve_until(text_end.next_multiple_of(PAGE));
        let dynamic = writer.reserve_dynamic(DYNAMIC_ENTRIES);
        let dynamic_size = writer.reserved_len() - dynamic;
        writer.reserve_shstrtab()?;
        writer.reserve_section_headers();
        Ok(Self {
            hash,
            symbols,
            strings,
            strings_size,
            text,
            text_size,
            dynamic,
            dynamic_size,
        })
    }

    fn segments(&self) -> [ProgramHeader; SEGMENTS as usize] {
        let (read_only, writable) = (elf::PF_R | elf::PF_X, elf::PF_R | elf::PF_W);
        let (dynamic, size) = (self.dynamic, self.dynamic_size);
        let text_end = self.text + self.text_size;
        [
            (elf::PT_LOAD, read_only, 0, text_end, PAGE),
            (elf::PT_LOAD, writable, dynamic, size, PAGE),
            (elf::PT_DYNAMIC, writable, dynamic, size, 8),
            // Without it, whoever loads the library gets a stack that code can run on.
            (elf::PT_GNU_STACK, writable, 0, 0, 16),
        ]
        .map(|(p_type, p_flags, place, size, p_align)| ProgramHeader {
            p_type,
            p_flags,
            p_offset: place,
            p_vaddr: place,
            p_paddr: place,
            p_filesz: size,
            p_memsz: size,
            p_align,
        })
    }

    /// The entries of the dynamic section behind the name of the library.
    fn dynamic_entries(&self) -> [(elf::DynamicTag, u64); DYNAMIC_ENTRIES - 1] {
        [
            (elf::DT_HASH, self.hash),
            (elf::DT_STRTAB, self.strings),
            (elf::DT_SYMTAB, self.symbols),
            (elf::DT_STRSZ, self.strings_size),
            (elf::DT_SYMENT, size_of::<elf::Sym64<Endianness>>() as u64),
            (elf::DT_NULL, 0),
        ]
    }

    fn write_section_headers(&self, writer: &mut Writer<'_>, text_name: StringId) {
        writer.write_null_section_header();
        writer.write_hash_section_header(self.hash);
        writer.write_dynsym_section_header(self.symbols, 1);
        writer.write_dynstr_section_header(self.strings);
        let sh_name = writer.section_name_offset(Some(text_name));
        writer.write_section_header(&SectionHeader {
            sh_name,
            sh_type: elf::SHT_PROGBITS,
            sh_flags: elf::SHF_ALLOC | elf::SHF_EXECINSTR,
            sh_addr: self.text,
            sh_offset: self.text,
            sh_size: self.text_size,
            sh_link: 0,
            sh_info: 0,
            sh_addralign: TEXT_ALIGN,
            sh_entsize: 0,
        });
        writer.write_dynamic_section_header(self.dynamic);
        writer.write_shstrtab_section_header();
    }
}
