//! Whether symbols name what there is.

use rustc_hash::FxHashSet;

use crate::cubin::{
    Binding, DYNAMIC_SHARED, Section, SectionType, Symbol, SymbolOther, SymbolType, section_name,
};
use crate::error::ParseError;

use super::names::{Named, Names, Part};

/// What stands between the name of a function and the place of a constant that the compiler made for it.
const CONSTANT: &str = ".const_opt.";

/// Refuses the first symbol that contradicts its section or another one.
pub(super) fn check(names: &Names<'_, '_>, linked: &[Symbol<'_>]) -> Result<(), ParseError> {
    check_table(linked, names)?;
    check_table(&names.file.symbols, names)
}

fn check_table(symbols: &[Symbol<'_>], names: &Names<'_, '_>) -> Result<(), ParseError> {
    let mut known = FxHashSet::default();
    known.reserve(symbols.len());
    for symbol in symbols {
        let is_known = symbol.binding != Binding::LOCAL && !known.insert(symbol.name);
        if is_known && symbol.name != DYNAMIC_SHARED {
            return Err(of(symbol, "two symbols of the file have its name"));
        }
        let section = symbol.place.section();
        if let Some(named) = section.and_then(|index| names.all.get(index as usize)) {
            check_place(symbol, named, names).map_err(|e| e.in_section(named.section.name))?;
        }
    }
    Ok(())
}

fn of(symbol: &Symbol<'_>, problem: impl Into<String>) -> ParseError {
    ParseError::malformed(problem).of_symbol(symbol.name)
}

/// Whether a symbol lies where it says in its section.
fn check_place(
    symbol: &Symbol<'_>,
    named: &Named<'_, '_>,
    names: &Names<'_, '_>,
) -> Result<(), ParseError> {
    let section = named.section;
    if symbol.kind == SymbolType::SECTION {
        let problem = if symbol.value != 0 || symbol.size != 0 {
            "it names a part of a section, and not all of it"
        } else if !is_name_of(symbol.name, named) {
            "it is named for another section"
        } else {
            return Ok(());
        };
        return Err(of(symbol, problem));
    }
    if !Content::of(named).may_hold(symbol) {
        let problem = match symbol.kind {
            SymbolType::FUNC => "it is a function, and lies where no code is",
            _ => "it lies in another kind of memory than it says",
        };
        return Err(of(symbol, problem));
    }
    let end = symbol.value.saturating_add(symbol.size);
    // Of variables that are larger, headers have 32 bits of the size (case `huge_variables`).
    if holds_variables(section) && end > section.size && u32::try_from(end).is_ok() {
        let problem = format!(
            "it ends at {end:#x}, behind the {:#x} bytes there are",
            section.size
        );
        return Err(of(symbol, problem));
    }
    match section.kind.constant_bank() {
        Some(COMPILER_BANK) => check_constant(symbol, section, names),
        _ => Ok(()),
    }
}

/// The bank of the constants that the compiler makes.
const COMPILER_BANK: u8 = 2;

/// Whether a constant of the compiler lies where its name says. What objects of `nvlink -r` have may not have such a name
/// any more.
fn check_constant(
    symbol: &Symbol<'_>,
    section: &Section<'_>,
    names: &Names<'_, '_>,
) -> Result<(), ParseError> {
    let owner = names.get(section.info).ok();
    let owner = owner.filter(|owner| owner.part == Part::Code);
    let owner = owner.and_then(|owner| owner.rest);
    let parsed = symbol
        .name
        .split_once(CONSTANT)
        .and_then(|(function, place)| {
            let (start, end) = place.split_once('.')?;
            Some((
                function,
                start.parse::<u64>().ok()?,
                end.parse::<u64>().ok()?,
            ))
        });
    let Some((function, start, last)) = parsed else {
        return Ok(());
    };
    if owner.is_some_and(|owner| owner != function) {
        return Err(of(
            symbol,
            "it is named for another function than its section",
        ));
    }
    let end = symbol.value.saturating_add(symbol.size);
    if (start, last) != (symbol.value, end) {
        let problem = format!(
            "it lies at {:#x} to {end:#x}, and by its name at {start:#x} to {last:#x}",
            symbol.value
        );
        return Err(of(symbol, problem));
    }
    Ok(())
}

/// Whether a symbol that stands for a section has its name. Constants of the compiler have names of their own since
/// CUDA 13.5, and sections of `nvlink -r` can lose theirs (case `relocatable_lost_constants`).
fn is_name_of(symbol: &str, named: &Named<'_, '_>) -> bool {
    let owner = named.rest.filter(|_| matches!(named.part, Part::Bank(_)));
    let is_bank = symbol.starts_with(section_name::BANK);
    symbol == named.name || owner.is_some_and(|owner| is_bank && symbol.ends_with(owner))
}

/// What lies in a section.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Content {
    Code,
    Global,
    Shared,
    Constant,
    Other,
}

impl Content {
    fn of(named: &Named<'_, '_>) -> Self {
        match named.kind {
            _ if named.code().is_some() => Self::Code,
            SectionType::CUDA_GLOBAL | SectionType::CUDA_GLOBAL_INIT | SectionType::CUDA_UDT => {
                Self::Global
            }
            SectionType::CUDA_SHARED => Self::Shared,
            SectionType::CUDA_MERC_CONSTANT_OPTIMIZER => Self::Constant,
            kind if kind.constant_bank().is_some() => Self::Constant,
            _ => Self::Other,
        }
    }

    /// Whether what a symbol says that it is can be in it.
    fn may_hold(self, symbol: &Symbol<'_>) -> bool {
        match (symbol.kind, symbol.other.space()) {
            (SymbolType::FUNC, _) => self == Self::Code,
            (SymbolType::CUDA_OBJECT, SymbolOther::GLOBAL) => self == Self::Global,
            (SymbolType::CUDA_OBJECT, SymbolOther::SHARED) => self == Self::Shared,
            (SymbolType::CUDA_OBJECT, SymbolOther::CONSTANT) => self == Self::Constant,
            _ => true,
        }
    }
}

/// Whether a section holds variables, at the places that their symbols say.
fn holds_variables(section: &Section<'_>) -> bool {
    match section.kind {
        SectionType::CUDA_GLOBAL | SectionType::CUDA_GLOBAL_INIT | SectionType::CUDA_UDT => true,
        kind => kind.constant_bank().is_some() && section.info == 0,
    }
}
