//! Edits device objects in ways no compiler does, with a reader that is not ours.

use anyhow::{Context, Result, ensure};
use object::read::elf::{ElfFile64, FileHeader as _, SectionHeader as _};
use object::{Endianness, Object as _, ObjectSection as _, elf};

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

    #[test]
    fn weak_symbols_keep_their_type() {
        let name = "tests/images/two_files.cubin";
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("cubin-diff")
            .join(name);
        let file = std::fs::read(path).unwrap();
        let weakened = weaken(file.clone(), &["g_count".to_owned()]).unwrap();
        let changed: Vec<_> = file.iter().zip(&weakened).filter(|(a, b)| a != b).collect();
        assert_eq!(changed, [(&0x11, &0x21)]);
        assert!(weaken(file, &["no_such_symbol".to_owned()]).is_err());
    }
}
