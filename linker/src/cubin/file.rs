//! A checked, borrowing view of one device object.
//!
//! In: the bytes of an ELF64 CUDA object. Out: header, sections, segments and
//! symbols whose every range and index has been checked against the file.

use object::LittleEndian as Le;
use object::elf::{FileHeader64, ProgramHeader64, Rel64, Rela64, SectionHeader64, Sym64};
use object::read::elf::{FileHeader, ProgramHeader as _, SectionHeader as _, Sym as _};
use object::read::{Bytes, StringTable};

use super::{
    Binding, EM_CUDA, Header, ObjectKind, Place, SectionFlags, SectionType, Segment, Symbol,
    SymbolOther, SymbolType,
};
use crate::error::{NvlinkError, ParseError, Problem};

/// One section, with its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Section<'d> {
    /// Its name.
    pub name: &'d str,
    /// Offset of the name in the section name table.
    pub name_offset: u32,
    /// `sh_type`.
    pub kind: SectionType,
    /// `sh_flags`.
    pub flags: SectionFlags,
    /// `sh_addr`.
    pub address: u64,
    /// `sh_offset`.
    pub offset: u64,
    /// `sh_size`, also of sections without bytes.
    pub size: u64,
    /// `sh_link`.
    pub link: u32,
    /// `sh_info`.
    pub info: u32,
    /// `sh_addralign`.
    pub align: u64,
    /// `sh_entsize`.
    pub entry_size: u64,
    /// The bytes; empty for sections without bytes in the file.
    pub data: &'d [u8],
}

impl<'d> Section<'d> {
    /// The string at a place of a table of strings.
    pub fn string_at(&self, offset: u32) -> Result<&'d str, ParseError> {
        StringTable::new(self.data, 0, self.data.len() as u64)
            .get(offset)
            .ok()
            .and_then(|bytes| std::str::from_utf8(bytes).ok())
            .ok_or_else(|| {
                ParseError::malformed("not the start of a string")
                    .in_section(self.name)
                    .at(offset.into())
            })
    }
}

/// One relocation, with or without an addend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Relocation {
    /// Where in the patched section.
    pub offset: u64,
    /// Index of the symbol in the linked symbol table.
    pub symbol: u32,
    /// The type number: `R_CUDA_*`, or `R_MERCURY_*` from 0x10000.
    pub kind: u32,
    /// Absent in `REL` sections, where the patched field holds it.
    pub addend: Option<i64>,
}

/// A device object.
#[derive(Debug, Clone)]
pub struct File<'d> {
    /// The whole file.
    pub data: &'d [u8],
    /// The file header.
    pub header: Header,
    /// All sections, section 0 included.
    pub sections: Vec<Section<'d>>,
    /// The program headers.
    pub segments: Vec<Segment>,
    /// The symbols of `.symtab`, symbol 0 included; empty without one.
    pub symbols: Vec<Symbol<'d>>,
}

impl<'d> File<'d> {
    /// Reads and checks `data`.
    pub fn parse(data: &'d [u8]) -> Result<Self, ParseError> {
        if !data.starts_with(b"\x7fELF") {
            return Err(ParseError::new(Problem::NotElf).at(0));
        }
        let machine = check_header(data)?.e_machine(Le).0;
        if machine != EM_CUDA {
            let what = format!("machine {machine} instead of {EM_CUDA}");
            return Err(ParseError::new(Problem::WrongElf(what)).at(18));
        }
        Self::parse_unmarked(data)
    }

    /// As [`Self::parse`], whatever the file begins with and whichever machine it is for.
    pub(crate) fn parse_unmarked(data: &'d [u8]) -> Result<Self, ParseError> {
        let header = check_header(data)?;
        check_section_table(header, data)?;
        check_entry_size(header)?;
        let raw_sections = header.section_headers(Le, data).map_err(|e| {
            ParseError::malformed(format!("section table: {e}")).at(header.e_shoff(Le))
        })?;
        let raw_segments = header.program_headers(Le, data).map_err(|e| {
            ParseError::malformed(format!("program headers: {e}")).at(header.e_phoff(Le))
        })?;
        let names_section = if raw_sections.is_empty() {
            0
        } else {
            header.shstrndx(Le, data).map_err(|e| {
                ParseError::malformed(format!("section name table: {e}")).at(NAMES_FIELD)
            })?
        };
        let sections = read_sections(data, raw_sections, names_section)?;
        let mut file = Self {
            data,
            header: Header {
                os_abi: header.e_ident.os_abi.0,
                abi_version: header.e_ident.abi_version,
                kind: ObjectKind(header.e_type(Le).0),
                version: header.e_version(Le),
                entry: header.e_entry(Le),
                segments_offset: header.e_phoff(Le),
                sections_offset: header.e_shoff(Le),
                flags: header.e_flags(Le).0,
                segment_entry_size: header.e_phentsize(Le),
                names_section,
            },
            sections,
            segments: raw_segments.iter().map(read_segment).collect(),
            symbols: Vec::new(),
        };
        if let Some(table) = file.section_of_type(SectionType::SYMTAB) {
            file.symbols = file.symbol_table(table)?;
        }
        Ok(file)
    }

    /// The first section of a type.
    pub fn section_of_type(&self, kind: SectionType) -> Option<usize> {
        self.sections.iter().position(|s| s.kind == kind)
    }

    /// The first section of a name.
    pub fn section_by_name(&self, name: &str) -> Option<usize> {
        self.sections.iter().position(|s| s.name == name)
    }

    /// A section by the number some field of the file gives.
    pub fn section(&self, index: u32) -> Result<&Section<'d>, ParseError> {
        let section = self.sections.get(index as usize);
        section.ok_or_else(|| ParseError::bad_index("section", index.into(), self.sections.len()))
    }

    /// Decodes a symbol table section: `.symtab` or `.nv.merc.symtab`.
    pub fn symbol_table(&self, table: usize) -> Result<Vec<Symbol<'d>>, ParseError> {
        let section = &self.sections[table];
        let place = |e: ParseError| e.in_section(section.name);
        let strings = self
            .section(section.link)
            .map_err(|e| place(e.as_nvlink(NvlinkError::NoNames)))?;
        if strings.kind != SectionType::STRTAB {
            return Err(place(ParseError::malformed(format!(
                "its string table, section {}, is not a string table",
                strings.name
            ))));
        }
        let mut names = Names::new(strings.data);
        let extended = self
            .sections
            .iter()
            .find(|s| s.kind == SectionType::SYMTAB_SHNDX && s.link as usize == table)
            .map(|s| records::<object::endian::U32<Le>>(s.name, s.data))
            .transpose()?
            .unwrap_or(&[]);
        let raw = records::<Sym64<Le>>(section.name, section.data)?;
        let mut symbols = Vec::with_capacity(raw.len());
        for (index, symbol) in raw.iter().enumerate() {
            let at = |e: ParseError| place(e).at(index as u64 * size_of::<Sym64<Le>>() as u64);
            let name = names.get(symbol.st_name(Le)).map_err(|problem| {
                at(ParseError::malformed(format!(
                    "name of symbol {index} at {:#x} {problem} of {}",
                    symbol.st_name(Le),
                    strings.name
                )))
            })?;
            let extended_number = || {
                let number = extended.get(index).ok_or_else(|| {
                    let what = "extended section number of symbol";
                    ParseError::bad_index(what, index as u64, extended.len())
                })?;
                Ok(number.get(Le))
            };
            symbols.push(Symbol {
                name,
                name_offset: symbol.st_name(Le),
                kind: SymbolType(symbol.st_type().0),
                binding: Binding(symbol.st_bind().0),
                other: SymbolOther(symbol.st_other().0),
                place: self.place_of(symbol, extended_number).map_err(at)?,
                value: symbol.st_value(Le),
                size: symbol.st_size(Le),
            });
        }
        Ok(symbols)
    }

    /// Where a symbol is defined. `extended_number` is its section number in `.symtab_shndx`.
    fn place_of(
        &self,
        symbol: &Sym64<Le>,
        extended_number: impl FnOnce() -> Result<u32, ParseError>,
    ) -> Result<Place, ParseError> {
        let kind = SymbolType(symbol.st_type().0);
        let is_code_or_section = matches!(kind, SymbolType::SECTION | SymbolType::FUNC);
        let place = match symbol.st_shndx(Le).0 {
            0 => Place::Undefined,
            0xffff => Place::Section(extended_number()?),
            Place::TENTATIVE if !is_code_or_section => Place::Common,
            // ELF reserves numbers from 0xff00 on. ptxas and nvlink nevertheless write those of sections 0xff00 and 0xfff2
            // here, and nvlink reads any number as that of a section, if there are so many.
            number if usize::from(number) < self.sections.len() => Place::Section(number.into()),
            0xfff1 => Place::Absolute,
            Place::TENTATIVE => Place::Common,
            number @ 0xff00.. => Place::Reserved(number),
            number => Place::Section(number.into()),
        };
        if let Place::Section(number) = place {
            self.section(number)?;
        }
        Ok(place)
    }

    /// The relocations of a `REL`, `RELA` or Mercury relocation section, in
    /// file order.
    pub fn relocations(
        section: &Section<'d>,
    ) -> Result<impl ExactSizeIterator<Item = Relocation> + use<'d>, ParseError> {
        Self::relocation_records(section.name, section.kind, section.data)
    }

    /// The relocations in the bytes of a section of type `kind`.
    pub fn relocation_records(
        name: &str,
        kind: SectionType,
        data: &'d [u8],
    ) -> Result<impl ExactSizeIterator<Item = Relocation> + use<'d>, ParseError> {
        let (rela, rel) = if kind == SectionType::REL {
            (&[][..], records::<Rel64<Le>>(name, data)?)
        } else {
            (records::<Rela64<Le>>(name, data)?, &[][..])
        };
        let relocation = |offset, info: u64, addend| Relocation {
            offset,
            symbol: (info >> 32) as u32,
            kind: info as u32,
            addend,
        };
        Ok((0..rela.len() + rel.len()).map(move |i| match rela.get(i) {
            Some(r) => relocation(
                r.r_offset.get(Le),
                r.r_info.get(Le),
                Some(r.r_addend.get(Le)),
            ),
            None => relocation(rel[i].r_offset.get(Le), rel[i].r_info.get(Le), None),
        }))
    }
}

impl Relocation {
    /// Size of a record without an addend.
    pub const REL_SIZE: usize = size_of::<Rel64<Le>>();
    /// Size of a record with an addend.
    pub const RELA_SIZE: usize = size_of::<Rela64<Le>>();

    /// Appends the record; with an addend it is one of a `RELA` section.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let info = u64::from(self.symbol) << 32 | u64::from(self.kind);
        let words = [self.offset, info, self.addend.unwrap_or(0) as u64].map(u64::to_le_bytes);
        let size = match self.addend {
            None => Self::REL_SIZE,
            Some(_) => Self::RELA_SIZE,
        };
        out.extend_from_slice(&words.as_flattened()[..size]);
    }
}

/// The section as 32-bit words.
pub(super) fn words<'d>(
    section: &Section<'d>,
) -> Result<impl Iterator<Item = u32> + use<'d>, ParseError> {
    let words = records::<object::endian::U32<Le>>(section.name, section.data)?;
    Ok(words.iter().map(|word| word.get(Le)))
}

/// Offset of `e_shstrndx`.
const NAMES_FIELD: u64 = 62;
/// Offset of the header field that says how long a section header is.
const ENTRY_SIZE_FIELD: u64 = 58;

/// The names of one string table.
///
/// Every name that ends at the same NUL is read again, so a damaged table of
/// a few megabytes without NULs would take hours. Real tables share little.
struct Names<'d> {
    strings: StringTable<'d>,
    /// The whole table, if it is text; then so are all names.
    text: Option<&'d str>,
    left: u64,
}

impl<'d> Names<'d> {
    /// How many times over a table may be read.
    const SHARING: u64 = 64;

    fn new(table: &'d [u8]) -> Self {
        let size = table.len() as u64;
        Self {
            strings: StringTable::new(table, 0, size),
            text: std::str::from_utf8(table).ok(),
            left: size * Self::SHARING,
        }
    }

    fn get(&mut self, offset: u32) -> Result<&'d str, &'static str> {
        let bytes = self.strings.get(offset).map_err(|()| "is not a string")?;
        self.left = self
            .left
            .checked_sub(bytes.len() as u64)
            .ok_or("overlaps too many other names")?;
        let start = offset as usize;
        let name = match self.text {
            Some(text) => text.get(start..start + bytes.len()),
            None => std::str::from_utf8(bytes).ok(),
        };
        name.ok_or("is not a string")
    }
}

fn check_header(data: &[u8]) -> Result<&FileHeader64<Le>, ParseError> {
    let truncated = || ParseError::truncated("file header", 64, data.len()).at(0);
    let wrong = |what: String| ParseError::new(Problem::WrongElf(what));
    match data.get(4..6) {
        Some([2, 1]) => {}
        Some([class, order]) => {
            let bits = if *class == 1 {
                " (32 bits, as of -m32)"
            } else {
                ""
            };
            return Err(wrong(format!("ELF class {class}{bits}, byte order {order}")).at(4));
        }
        _ => {
            return Err(truncated());
        }
    }
    let (header, _) =
        object::pod::from_bytes::<FileHeader64<Le>>(data).map_err(|()| truncated())?;
    Ok(header)
}

/// A file ends with its section table, so that one which is cut short lacks some of that.
pub(crate) fn check_section_table<H: FileHeader<Endian = Le>>(
    header: &H,
    data: &[u8],
) -> Result<(), ParseError> {
    let start: u64 = header.e_shoff(Le).into();
    let size = usize::from(header.e_shnum(Le)) * size_of::<H::SectionHeader>();
    let end = start.saturating_add(size as u64);
    // Without a place there is no table, whatever its size.
    if start == 0 || end <= data.len() as u64 {
        return Ok(());
    }
    Err(ParseError::truncated("section table", end, data.len()).at(start))
}

/// Whether headers of sections have the size that they have in this kind of file.
fn check_entry_size(header: &FileHeader64<Le>) -> Result<(), ParseError> {
    let size = usize::from(header.e_shentsize(Le));
    if header.e_shoff(Le) == 0 || size == size_of::<SectionHeader64<Le>>() {
        return Ok(());
    }
    let problem = format!("headers of sections have {size} bytes");
    Err(ParseError::new(Problem::WrongElf(problem)).at(ENTRY_SIZE_FIELD))
}

fn read_sections<'d>(
    data: &'d [u8],
    raw: &'d [SectionHeader64<Le>],
    names_section: u32,
) -> Result<Vec<Section<'d>>, ParseError> {
    let numbered = |index: usize, e: ParseError| e.in_section(&format!("#{index}"));
    let bytes_of = |index: usize, header: &'d SectionHeader64<Le>| {
        let kind = SectionType(header.sh_type(Le).0);
        let flags = SectionFlags(header.sh_flags(Le).0);
        if !kind.has_bytes(flags) {
            return Ok(&[][..]);
        }
        let (start, size) = (header.sh_offset(Le), header.sh_size(Le));
        let end = start.saturating_add(size);
        usize::try_from(end)
            .ok()
            .and_then(|end| data.get(start as usize..end))
            .ok_or_else(|| {
                let problem = ParseError::truncated("section data", end, data.len());
                numbered(index, problem.at(start))
            })
    };
    let names = match raw.get(names_section as usize) {
        _ if raw.is_empty() => &[][..],
        Some(header) => bytes_of(names_section as usize, header)?,
        None => {
            let what = "section name table";
            let problem = ParseError::bad_index(what, names_section.into(), raw.len());
            return Err(problem.at(NAMES_FIELD));
        }
    };
    let mut names = Names::new(names);
    let mut sections = Vec::with_capacity(raw.len());
    for (index, header) in raw.iter().enumerate() {
        let name = names.get(header.sh_name(Le)).map_err(|problem| {
            let problem = format!("its name at {:#x} {problem}", header.sh_name(Le));
            numbered(index, ParseError::malformed(problem))
        })?;
        sections.push(Section {
            name,
            name_offset: header.sh_name(Le),
            kind: SectionType(header.sh_type(Le).0),
            flags: SectionFlags(header.sh_flags(Le).0),
            address: header.sh_addr(Le),
            offset: header.sh_offset(Le),
            size: header.sh_size(Le),
            link: header.sh_link(Le),
            info: header.sh_info(Le),
            align: header.sh_addralign(Le),
            entry_size: header.sh_entsize(Le),
            data: bytes_of(index, header)?,
        });
    }
    Ok(sections)
}

fn read_segment(raw: &ProgramHeader64<Le>) -> Segment {
    Segment {
        kind: raw.p_type(Le).0,
        flags: raw.p_flags(Le).0,
        offset: raw.p_offset(Le),
        virtual_address: raw.p_vaddr(Le),
        physical_address: raw.p_paddr(Le),
        file_size: raw.p_filesz(Le),
        memory_size: raw.p_memsz(Le),
        align: raw.p_align(Le),
    }
}

/// The section's bytes as records of one size.
fn records<'d, T: object::pod::Pod>(name: &str, data: &'d [u8]) -> Result<&'d [T], ParseError> {
    let size = size_of::<T>();
    let whole = data.len().is_multiple_of(size);
    let mut bytes = Bytes(data);
    bytes
        .read_slice(data.len() / size)
        .ok()
        .filter(|_| whole)
        .ok_or_else(|| {
            ParseError::malformed(format!(
                "{} bytes are not a whole number of {size}-byte records",
                data.len()
            ))
            .in_section(name)
        })
}
