//! Whether what a file says of its sections agrees with their names and with each other.
//!
//! Damage that leaves every index in its range shows here. Without this it would become a program that runs other code or
//! computes with other bytes. What holds is what all objects of ptxas and of `nvlink -r` have in common
//! (`docs/format/sections.md`); nvlink asks for little of it.

mod headers;
mod names;
mod relocations;
mod symbols;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::cubin::{
    DeviceNote, FILE_HEADER, File, InfoCode, InfoRecords, Place, SECTION_HEADER, SYMBOL_BITS,
    Section, SectionFlags, SectionType, Symbol, SymbolOther, SymbolType,
};
use crate::error::ParseError;

use headers::Header;
use names::{Named, Names, Part};

/// The notes of drivers, which belong to what code needs.
const DRIVER_NOTES: [&str; 2] = [DeviceNote::SECTION, DeviceNote::OLDER_SECTION];

/// Refuses the first section that contradicts its name or others. `linked` are the symbols of the link view.
pub(super) fn check(file: &File<'_>, linked: &[Symbol<'_>]) -> Result<(), ParseError> {
    let names = Names::new(file);
    // All kernels have a bank of parameters, be it for what the driver puts there.
    let banks = names
        .all
        .iter()
        .filter(|named| named.part == Part::Bank(0) && !named.is_mercury);
    let kernels: FxHashSet<&str> = banks.filter_map(|named| named.rest).collect();
    let is_counted = !file.header.processor().is_hopper_or_newer();
    let registers = is_counted.then(|| registers(&names));
    check_section_names(file)?;
    for (index, named) in names.all.iter().enumerate().skip(1) {
        check_name(named)?;
        let header = Header::of(named);
        if let Some(header) = header {
            header.check(named, &names)?;
        }
        check_owner(named, header, &names, linked)?;
        if named.code().is_some() {
            check_function(index, named, file, linked, &kernels)?;
            check_registers(named.section, registers.as_ref())?;
        }
    }
    check_places(file)?;
    symbols::check(&names, linked)?;
    let mut sections = file.sections.iter();
    sections.try_for_each(|section| relocations::check(section, file, linked))
}

fn of(section: &Section<'_>, problem: String) -> ParseError {
    ParseError::malformed(problem).in_section(section.name)
}

fn check_name(named: &Named<'_, '_>) -> Result<(), ParseError> {
    let section = named.section;
    if named.is_mercury != section.flags.contains(SectionFlags::MERCURY) {
        let problem = "its flags and its name disagree on whether it is one of Mercury code";
        return Err(of(section, problem.to_owned()));
    }
    let fits = match (named.part, named.types()) {
        (Part::Bank(bank), _) => named.kind.constant_bank() == Some(bank),
        (_, Some(types)) => types.contains(&section.kind),
        (_, None) => return Ok(()),
    };
    if !fits {
        let problem = format!(
            "its type is {}, which no section of this name has",
            section.kind
        );
        return Err(of(section, problem));
    }
    let is_code = !named.is_mercury && named.code().is_some();
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
    named: &Named<'_, '_>,
    header: Option<Header>,
    names: &Names<'_, '_>,
    linked: &[Symbol<'_>],
) -> Result<(), ParseError> {
    let section = named.section;
    let (patched, function_name) = (named.patched(), named.function());
    let has_owner = section.flags.contains(SectionFlags::INFO_LINK)
        || section.info != 0
        || (named.part, named.rest.is_some()) == (Part::OptimizerConstants, true);
    // `nvlink -r` can lose the name (case `relocatable_lost_constants`).
    if function_name == Some("") || patched.is_none() && !has_owner {
        return Ok(());
    }
    let may_have_owner = || header.is_some_and(Header::may_have_owner);
    if patched.is_none() && function_name.is_none() && !may_have_owner() {
        return Ok(());
    }
    let target = names.get(section.info);
    let target = target.map_err(|error| error.in_section(section.name))?;
    let fits = match (patched, function_name) {
        (Some(patched), _) => {
            target.name.strip_prefix('.') == Some(patched) && target.is_mercury == named.is_mercury
        }
        (None, Some(function_name)) => {
            // Slots of unified functions have longer names than their code.
            let is_its = |code: &str| {
                let symbol = function(target.section, names.file, linked);
                code == function_name || symbol.is_some_and(|symbol| symbol.name == function_name)
            };
            target.code().is_some_and(is_its) && target.is_mercury == named.is_mercury
        }
        (None, None) => DRIVER_NOTES.contains(&named.name) && target.name == ".nv.compat",
    };
    match fits {
        true => Ok(()),
        false => {
            let whose = match target.section.name {
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
    named: &Named<'_, '_>,
    file: &File<'_>,
    linked: &[Symbol<'_>],
    kernels: &FxHashSet<&str>,
) -> Result<(), ParseError> {
    let section = named.section;
    let found = function(section, file, linked).filter(|symbol| {
        symbol.kind == SymbolType::FUNC && symbol.place == Place::Section(index as u32)
    });
    let Some(symbol) = found else {
        let number = section.info & SYMBOL_BITS;
        let problem = format!("symbol {number}, which it names, is no function in it");
        return Err(of(section, problem));
    };
    // The size of Mercury code is that of what is made of it.
    let fills = symbol.value == 0 && (named.is_mercury || symbol.size == section.size);
    let own_name = named.rest.filter(|_| named.part == Part::Code);
    let has_bank = own_name.is_some_and(|name| kernels.contains(name));
    let problem = if own_name.is_some_and(|name| name != symbol.name) {
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
fn registers(names: &Names<'_, '_>) -> FxHashMap<u32, u32> {
    let is_of_functions = |named: &Named<'_, '_>| named.part == Part::Info && named.rest.is_some();
    let infos = names
        .all
        .iter()
        .filter(|named| named.section.kind == SectionType::CUDA_INFO && !is_of_functions(named));
    let infos = infos.map(|named| named.section);
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
