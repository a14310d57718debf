//! Whether what a file says of its sections agrees with their names and with each other.
//!
//! Damage that leaves every index in its range shows here. Without this it would become a program that runs other code or
//! computes with other bytes. What holds is what all objects of ptxas and of `nvlink -r` have in common
//! (`docs/format/sections.md`); nvlink asks for little of it.

mod headers;
mod relocations;
mod symbols;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::cubin::{
    FILE_HEADER, File, InfoCode, InfoRecords, Place, SECTION_HEADER, SYMBOL_BITS, Section,
    SectionFlags, SectionType, Symbol, SymbolOther, SymbolType,
};
use crate::error::ParseError;

/// What names of the Mercury world begin with.
const MERCURY_NAMES: [&str; 2] = [".nv.capmerc", ".nv.merc"];

/// The names of sections and the types that they have: sections called that, and those whose names go on behind a dot, or
/// behind an underscore at the end. The first row that fits is the one.
const TYPES: &[(&str, &[SectionType])] = &[
    (".text", &[SectionType::PROGBITS]),
    (".debug_", &[SectionType::PROGBITS]),
    (".nv_debug_", &[SectionType::PROGBITS]),
    (".nv.info", &[SectionType::CUDA_INFO]),
    (".rel", &[SectionType::REL]),
    (".rela", &[SectionType::RELA]),
    (
        ".nv.global.init",
        &[SectionType::CUDA_GLOBAL_INIT, SectionType::PROGBITS],
    ),
    (
        ".nv.global",
        &[SectionType::CUDA_GLOBAL, SectionType::NOBITS],
    ),
    (
        ".nv.shared",
        &[
            SectionType::CUDA_SHARED,
            SectionType::CUDA_SHARED_RESERVED,
            SectionType::NOBITS,
        ],
    ),
    (".nv.local", &[SectionType::CUDA_LOCAL, SectionType::NOBITS]),
    (".nv.callgraph", &[SectionType::CUDA_CALLGRAPH]),
    (".nv.prototype", &[SectionType::CUDA_PROTOTYPE]),
    (".nv.compat", &[SectionType::CUDA_COMPAT]),
    (".note", &[SectionType::NOTE]),
    (".symtab", &[SectionType::SYMTAB]),
    (".strtab", &[SectionType::STRTAB]),
    (".shstrtab", &[SectionType::STRTAB]),
];

/// Those of the Mercury world, behind [`MERCURY_NAMES`]. CUDA 13.5 has given others types of their own.
const MERCURY_TYPES: &[(&str, &[SectionType])] = &[
    (".debug_", &[SectionType::PROGBITS]),
    (".nv_debug_", &[SectionType::PROGBITS]),
    (".text", &[SectionType::CUDA_CAPMERC]),
    (".nv.info", &[SectionType::CUDA_MERC_INFO]),
    (".rela", &[SectionType::CUDA_MERC_RELA]),
    (".symtab", &[SectionType::CUDA_MERC_SYMTAB]),
];

/// What sections of a function are called in front of its name.
const OF_FUNCTIONS: [&str; 5] = [
    ".nv.info",
    ".nv.shared",
    ".nv.local",
    OPTIMIZER_CONSTANTS,
    ".nv.constant.entry_image_header_indices",
];

/// The notes of drivers, which belong to what code needs.
const DRIVER_NOTES: [&str; 2] = [".note.nv.cuinfo", ".note.nv.cuver"];

/// Constants of the compiler in the Mercury world, which nothing has but functions.
const OPTIMIZER_CONSTANTS: &str = ".nv.constant.optimizer";

/// What the code of a function is called in front of its name.
const CODE_NAMES: [&str; 2] = [".text.", ".nv.uft.rel."];

/// Refuses the first section that contradicts its name or others. `linked` are the symbols of the link view.
pub(super) fn check(file: &File<'_>, linked: &[Symbol<'_>]) -> Result<(), ParseError> {
    // All kernels have a bank of parameters, be it for what the driver puts there.
    let banks = file.sections.iter();
    let banks = banks.filter_map(|section| behind(section.name, ".nv.constant0"));
    let kernels: FxHashSet<&str> = banks.collect();
    let is_counted = !file.header.processor().is_hopper_or_newer();
    let registers = is_counted.then(|| registers(file));
    check_section_names(file)?;
    let has_mercury = file
        .section_of_type(SectionType::CUDA_MERC_SYMTAB)
        .is_some();
    for (index, section) in file.sections.iter().enumerate().skip(1) {
        check_name(section)?;
        headers::check(section, file, has_mercury)?;
        check_owner(section, file, linked)?;
        check_function(index, section, file, linked, &kernels)?;
        check_registers(section, registers.as_ref())?;
    }
    check_places(file)?;
    symbols::check(file, linked)?;
    let mut sections = file.sections.iter();
    sections.try_for_each(|section| relocations::check(section, file, linked))
}

fn of(section: &Section<'_>, problem: String) -> ParseError {
    ParseError::malformed(problem).in_section(section.name)
}

/// The name without what it begins with in the Mercury world, and whether that is there.
fn plain(name: &str) -> (&str, bool) {
    let rests = MERCURY_NAMES.iter().map(|start| name.strip_prefix(start));
    let rest = rests.flatten().find(|rest| rest.starts_with('.'));
    (rest.unwrap_or(name), rest.is_some())
}

/// What stands behind `start` and a dot.
fn behind<'d>(name: &'d str, start: &str) -> Option<&'d str> {
    name.strip_prefix(start)?.strip_prefix('.')
}

fn row(rows: &'static [(&str, &[SectionType])], name: &str) -> Option<&'static [SectionType]> {
    let is_named = |start: &str| match start.ends_with('_') {
        true => name.starts_with(start),
        false => name == start || behind(name, start).is_some(),
    };
    let row = rows.iter().find(|(start, _)| is_named(start))?;
    Some(row.1)
}

/// The number in the name of a constant bank.
fn bank(name: &str) -> Option<u8> {
    let rest = name.strip_prefix(".nv.constant")?;
    let end = rest.find(|c: char| !c.is_ascii_digit());
    rest[..end.unwrap_or(rest.len())].parse().ok()
}

fn check_name(section: &Section<'_>) -> Result<(), ParseError> {
    let (name, is_mercury) = plain(section.name);
    if is_mercury != section.flags.contains(SectionFlags::MERCURY) {
        let problem = "its flags and its name disagree on whether it is one of Mercury code";
        return Err(of(section, problem.to_owned()));
    }
    let kind = section.kind;
    let fits = match bank(name) {
        Some(bank) => kind.by_name(name).constant_bank() == Some(bank),
        None => {
            let rows = match is_mercury {
                true => MERCURY_TYPES,
                false => TYPES,
            };
            match row(rows, name) {
                Some(kinds) => kinds.contains(&kind),
                None => return Ok(()),
            }
        }
    };
    if !fits {
        let problem = format!("its type is {kind}, which no section of this name has");
        return Err(of(section, problem));
    }
    let is_code = !is_mercury && CODE_NAMES.iter().any(|start| name.starts_with(start));
    if is_code != section.flags.contains(SectionFlags::EXECINSTR) {
        let problem = "its flags and its name disagree on whether it is code";
        return Err(of(section, problem.to_owned()));
    }
    Ok(())
}

/// The names of sections are in a table of strings.
fn check_section_names(file: &File<'_>) -> Result<(), ParseError> {
    let index = file.header.names_section;
    match file.section(index)?.kind {
        SectionType::STRTAB => Ok(()),
        kind => {
            let problem = format!("section {index}, which has the names of all, is of type {kind}");
            Err(ParseError::malformed(problem))
        }
    }
}

/// Relocations have the name of what they patch, and sections of a function that of its code.
fn check_owner(
    section: &Section<'_>,
    file: &File<'_>,
    linked: &[Symbol<'_>],
) -> Result<(), ParseError> {
    let (name, is_mercury) = plain(section.name);
    let mut lists = [".rela", ".rel"].iter();
    let patched = lists.find_map(|start| name.strip_prefix(start));
    let patched = patched.filter(|rest| rest.starts_with('.'));
    let has_owner = section.flags.contains(SectionFlags::INFO_LINK)
        || section.info != 0
        || behind(name, OPTIMIZER_CONSTANTS).is_some();
    let of_bank = bank(name).and_then(|bank| behind(name, &format!(".nv.constant{bank}")));
    let mut starts = OF_FUNCTIONS.iter();
    let of_function = of_bank.or_else(|| starts.find_map(|start| behind(name, start)));
    // `nvlink -r` can lose the name (case `relocatable_lost_constants`).
    if of_function == Some("") || patched.is_none() && !has_owner {
        return Ok(());
    }
    if patched.is_none() && of_function.is_none() && !headers::may_have_owner(section) {
        return Ok(());
    }
    let target = file.section(section.info);
    let target = target.map_err(|error| error.in_section(section.name))?;
    let (owner, owner_is_mercury) = plain(target.name);
    let fits = match (patched, of_function) {
        (Some(rest), _) => owner == rest && owner_is_mercury == is_mercury,
        (None, Some(named)) => {
            let mut codes = CODE_NAMES.iter();
            let code = codes.find_map(|start| owner.strip_prefix(start));
            // Slots of unified functions have longer names than their code.
            let symbol = function(target, file, linked).filter(|_| code.is_some());
            let is_named = code == Some(named) || symbol.is_some_and(|s| s.name == named);
            is_named && owner_is_mercury == is_mercury
        }
        (None, None) => DRIVER_NOTES.contains(&name) && owner == ".nv.compat",
    };
    match fits {
        true => Ok(()),
        false => {
            let whose = match target.name {
                "" => "nothing".to_owned(),
                name => format!("{name}, which is not what it is named for"),
            };
            Err(of(section, format!("it belongs to {whose}")))
        }
    }
}

/// The symbol that the number in the header of a code section names.
fn function<'f, 'd>(
    code: &Section<'_>,
    file: &'f File<'d>,
    linked: &'f [Symbol<'d>],
) -> Option<&'f Symbol<'d>> {
    // Up to sm_90 there is one table, which is that of the link.
    let is_linked = code.flags.contains(SectionFlags::MERCURY) || file.symbols.is_empty();
    let symbols = match is_linked {
        true => linked,
        false => &file.symbols,
    };
    symbols.get((code.info & SYMBOL_BITS) as usize)
}

/// Code names the symbol of its function, which is all of it.
fn check_function(
    index: usize,
    section: &Section<'_>,
    file: &File<'_>,
    linked: &[Symbol<'_>],
    kernels: &FxHashSet<&str>,
) -> Result<(), ParseError> {
    let (name, is_mercury) = plain(section.name);
    if !CODE_NAMES.iter().any(|start| name.starts_with(start)) {
        return Ok(());
    }
    let found = function(section, file, linked).filter(|symbol| {
        symbol.kind == SymbolType::FUNC && symbol.place == Place::Section(index as u32)
    });
    let Some(symbol) = found else {
        let number = section.info & SYMBOL_BITS;
        let problem = format!("symbol {number}, which it names, is no function in it");
        return Err(of(section, problem));
    };
    // The size of Mercury code is that of what is made of it.
    let fills = symbol.value == 0 && (is_mercury || symbol.size == section.size);
    let named = behind(name, ".text");
    let has_bank = named.is_some_and(|named| kernels.contains(named));
    let problem = if named.is_some_and(|named| named != symbol.name) {
        "the code that it names has the name of another function"
    } else if !fills {
        "it is not all of the code that it names"
    } else if has_bank && !symbol.other.has(SymbolOther::ENTRY) {
        "it has a bank of parameters, and is no kernel"
    } else if symbol.other.has(SymbolOther::ENTRY) && !has_bank {
        "it is a kernel, and has no bank of parameters"
    } else {
        return Ok(());
    };
    Err(of(section, problem.to_owned()).of_symbol(symbol.name))
}

/// How many registers attributes say that functions need, by the numbers of their symbols.
fn registers(file: &File<'_>) -> FxHashMap<u32, u32> {
    let infos = file.sections.iter().filter(|section| {
        section.kind == SectionType::CUDA_INFO && behind(section.name, ".nv.info").is_none()
    });
    // Who reads the records for what they say tells of damage in them.
    let records = infos.flat_map(|section| InfoRecords::new(section.data).map_while(Result::ok));
    let counts = records.filter(|record| record.code == InfoCode::REGCOUNT);
    counts
        .filter_map(|record| Some((record.word(0)?, record.word(1)?)))
        .collect()
}

/// Headers of code count its registers up to sm_89, as attributes do; later ones, without `registers`, none.
fn check_registers(
    section: &Section<'_>,
    registers: Option<&FxHashMap<u32, u32>>,
) -> Result<(), ParseError> {
    let (name, _) = plain(section.name);
    if !CODE_NAMES.iter().any(|start| name.starts_with(start)) {
        return Ok(());
    }
    let counted = section.info >> SYMBOL_BITS.count_ones();
    let expected = match registers {
        None => Some(0),
        Some(registers) => registers.get(&(section.info & SYMBOL_BITS)).copied(),
    };
    match expected.filter(|&expected| expected != counted) {
        None => Ok(()),
        Some(expected) => {
            let problem = format!("its header counts {counted} registers instead of {expected}");
            Err(of(section, problem))
        }
    }
}

/// The bytes of a section are its own. A section of the Mercury world may share all of its twin's.
fn check_places(file: &File<'_>) -> Result<(), ParseError> {
    let has_place = |section: &&Section<'_>| {
        !section.data.is_empty() && section.kind != SectionType::CUDA_SHARED_RESERVED
    };
    let mut sections: Vec<&Section<'_>> = file.sections.iter().filter(has_place).collect();
    sections.sort_by_key(|section| (section.offset, section.size));
    let headers = file.header.sections_offset;
    let headers_end = headers + file.sections.len() as u64 * SECTION_HEADER;
    let mut before: Option<&Section<'_>> = None;
    for section in sections {
        let end = section.offset + section.size;
        let meets_headers = section.offset < headers_end && headers < end;
        if section.offset < FILE_HEADER || meets_headers {
            let problem = format!("its bytes at {:#x} are headers of the file", section.offset);
            return Err(of(section, problem));
        }
        let overlapped = before.filter(|before| section.offset < before.offset + before.size);
        if let Some(other) = overlapped {
            let is_mercury = |section: &Section<'_>| section.flags.contains(SectionFlags::MERCURY);
            let is_twin = (section.offset, section.size) == (other.offset, other.size)
                && is_mercury(section) != is_mercury(other);
            if !is_twin {
                let problem = format!("bytes of it are those of {}, too", other.name);
                return Err(of(section, problem));
            }
        }
        before = Some(section);
    }
    Ok(())
}
