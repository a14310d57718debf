//! Edits device objects in ways no compiler does, with a reader that is not ours.

use anyhow::{Context, Result, ensure};
use object::read::elf::{ElfFile64, FileHeader as _, SectionHeader as _};
use object::{Architecture, BinaryFormat, Endianness, SectionKind, elf, write};
use object::{Object as _, ObjectSection as _};

use crate::directive::{Base, Place};

/// Overwrites `bytes` at `place`.
pub fn patch(mut file: Vec<u8>, place: &Place, bytes: &[u8]) -> Result<Vec<u8>> {
    let (base, room) = match &place.base {
        Base::File => (0, file.len()),
        Base::Header(name) => {
            const HEADER: usize = 64;
            let parsed = ElfFile64::<Endianness>::parse(&*file)?;
            let section = parsed
                .section_by_name(name)
                .with_context(|| format!("no section {name}"))?;
            let table = parsed.elf_header().e_shoff(parsed.endian());
            (usize::try_from(table)? + HEADER * section.index().0, HEADER)
        }
        Base::Section(name) => {
            let parsed = ElfFile64::<Endianness>::parse(&*file)?;
            let section = parsed
                .section_by_name(name)
                .with_context(|| format!("no section {name}"))?;
            let (offset, size) = section
                .file_range()
                .with_context(|| format!("{name} has no bytes"))?;
            (usize::try_from(offset)?, usize::try_from(size)?)
        }
    };
    ensure!(
        place.offset + bytes.len() <= room,
        "the patch is past the end, {room:#x}"
    );
    let start = base + place.offset;
    file[start..start + bytes.len()].copy_from_slice(bytes);
    Ok(file)
}

/// Gives each of `names` weak binding.
pub fn weaken(mut file: Vec<u8>, names: &[String]) -> Result<Vec<u8>> {
    const ENTRY_SIZE: usize = 24;
    const INFO: usize = 4;
    let parsed = ElfFile64::<Endianness>::parse(&*file)?;
    let (endian, data) = (parsed.endian(), parsed.data());
    let sections = parsed.elf_header().sections(endian, data)?;
    let symbols = sections.symbols(endian, data, elf::SHT_SYMTAB)?;
    let table = usize::try_from(sections.section(symbols.section())?.sh_offset(endian))?;
    let mut places = Vec::new();
    for name in names {
        let (index, symbol) = symbols
            .enumerate()
            .find(|(_, symbol)| symbols.symbol_name(endian, symbol).ok() == Some(name.as_bytes()))
            .with_context(|| format!("no symbol {name}"))?;
        let info = (elf::STB_WEAK.0 << 4) | (symbol.st_info.0 & 0xf);
        places.push((table + index.0 * ENTRY_SIZE + INFO, info));
    }
    for (place, info) in places {
        file[place] = info;
    }
    Ok(file)
}

/// Gives a section other bytes.
pub fn fill(file: Vec<u8>, name: &str, bytes: &[u8]) -> Result<Vec<u8>> {
    let parsed = ElfFile64::<Endianness>::parse(&*file)?;
    let section = parsed
        .section_by_name(name)
        .with_context(|| format!("no section {name}"))?;
    let (endian, index) = (parsed.endian(), section.index().0);
    let headers = usize::try_from(parsed.elf_header().e_shoff(endian))?;
    put_behind(file, headers, index, bytes)
}

/// Puts the bytes of a section behind everything else.
fn put_behind(mut file: Vec<u8>, headers: usize, section: usize, bytes: &[u8]) -> Result<Vec<u8>> {
    const HEADER: usize = 64;
    const OFFSET: usize = 24;
    const SIZE: usize = 32;
    const ALIGN: usize = 16;
    file.resize(file.len().next_multiple_of(ALIGN), 0);
    let place = headers + HEADER * section;
    for (field, value) in [(OFFSET, file.len()), (SIZE, bytes.len())] {
        let bytes = u64::try_from(value)?.to_le_bytes();
        file[place + field..place + field + 8].copy_from_slice(&bytes);
    }
    file.extend_from_slice(bytes);
    Ok(file)
}

/// Calls the section `old` `new`, and its Mercury copy, if it has one, likewise.
pub fn rename(mut file: Vec<u8>, old: &str, new: &str) -> Result<Vec<u8>> {
    const HEADER: usize = 64;
    let parsed = ElfFile64::<Endianness>::parse(&*file)?;
    let header = parsed.elf_header();
    let endian = parsed.endian();
    let headers = usize::try_from(header.e_shoff(endian))?;
    let names = header.section_strings_index(endian, parsed.data())?;
    let table = parsed.section_by_index(names)?;
    let mut strings = table.data()?.to_vec();
    let mut places = Vec::new();
    for prefix in ["", ".nv.merc"] {
        if let Some(section) = parsed.section_by_name(&format!("{prefix}{old}")) {
            places.push((section.index(), u32::try_from(strings.len())?));
            strings.extend_from_slice(format!("{prefix}{new}\0").as_bytes());
        }
    }
    ensure!(!places.is_empty(), "no section {old}");
    for (index, name) in places {
        let place = headers + HEADER * index.0;
        file[place..place + 4].copy_from_slice(&name.to_le_bytes());
    }
    put_behind(file, headers, names.0, &strings)
}

/// What a host object holds, in one of a 32-bit machine.
pub fn narrow(file: &[u8]) -> Result<Vec<u8>> {
    let parsed = ElfFile64::<Endianness>::parse(file)?;
    let mut narrow = write::Object::new(BinaryFormat::Elf, Architecture::I386, Endianness::Little);
    let kept = parsed.sections().filter(|section| {
        let relocates = section.name().is_ok_and(|name| name.starts_with(".rela"));
        section.kind() != SectionKind::Metadata && !relocates
    });
    for section in kept {
        let name = section.name_bytes()?.to_vec();
        let id = narrow.add_section(Vec::new(), name, SectionKind::ReadOnlyData);
        narrow.append_section_data(id, section.data()?, section.align());
    }
    Ok(narrow.write()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(offset: usize) -> Place {
        Place {
            base: Base::File,
            offset,
        }
    }

    #[test]
    fn a_patch_overwrites_and_stays_inside() {
        assert_eq!(patch(vec![1, 2, 3], &place(1), &[9]).unwrap(), [1, 9, 3]);
        assert!(patch(vec![1, 2, 3], &place(2), &[9, 9]).is_err());
        let base = Base::Section(".text".to_owned());
        let in_text = Place { base, offset: 0 };
        assert!(patch(vec![1, 2, 3], &in_text, &[9]).is_err());
    }

    fn image() -> Vec<u8> {
        let name = "tests/images/two_files.cubin";
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("cubin-diff")
            .join(name);
        std::fs::read(path).unwrap()
    }

    #[test]
    fn renamed_sections_keep_what_they_hold() {
        let file = image();
        let content = |file: &[u8], name: &str| {
            let parsed = ElfFile64::<Endianness>::parse(file).unwrap();
            let section = parsed.section_by_name(name)?;
            Some(section.data().unwrap().to_vec())
        };
        let renamed = rename(file.clone(), ".nv.info", ".nv.other").unwrap();
        assert!(content(&file, ".nv.info").is_some());
        assert_eq!(content(&renamed, ".nv.other"), content(&file, ".nv.info"));
        assert_eq!(content(&renamed, ".nv.info"), None);
        assert_eq!(content(&renamed, ".symtab"), content(&file, ".symtab"));
        assert!(rename(file, ".nv.nothing", ".nv.other").is_err());
    }

    #[test]
    fn sections_get_other_bytes() {
        let file = image();
        let filled = fill(file.clone(), ".nv.info", &[1; 99]).unwrap();
        let parsed = ElfFile64::<Endianness>::parse(&*filled).unwrap();
        let data = |name: &str| parsed.section_by_name(name).unwrap().data().unwrap();
        assert_eq!(data(".nv.info"), [1; 99]);
        assert!(!data(".symtab").is_empty());
        assert!(fill(file, ".nv.nothing", &[1]).is_err());
    }

    #[test]
    fn weak_symbols_keep_their_type() {
        let file = image();
        let weakened = weaken(file.clone(), &["g_count".to_owned()]).unwrap();
        let changed: Vec<_> = file.iter().zip(&weakened).filter(|(a, b)| a != b).collect();
        assert_eq!(changed, [(&0x11, &0x21)]);
        assert!(weaken(file, &["no_such_symbol".to_owned()]).is_err());
    }
}
