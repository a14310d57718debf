//! Whether symbols name what there is.

use rustc_hash::FxHashSet;

use crate::cubin::{Binding, File, Section, SectionType, Symbol, SymbolOther, SymbolType};
use crate::error::ParseError;

use super::{CODE_NAMES, bank, behind, plain};

/// What `nvlink -r` calls each piece of dynamic shared memory.
const REPEATED: &str = "externsharedinstance";

/// What stands between the name of a function and the place of a constant that the compiler made for it.
const CONSTANT: &str = ".const_opt.";

/// Refuses the first symbol that contradicts its section or another one.
pub(super) fn check(file: &File<'_>, linked: &[Symbol<'_>]) -> Result<(), ParseError> {
    let contents: Vec<Content> = file.sections.iter().map(Content::of).collect();
    check_table(linked, file, &contents)?;
    check_table(&file.symbols, file, &contents)
}

fn check_table(
    symbols: &[Symbol<'_>],
    file: &File<'_>,
    contents: &[Content],
) -> Result<(), ParseError> {
    let mut known = FxHashSet::default();
    known.reserve(symbols.len());
    for symbol in symbols {
        let is_known = symbol.binding != Binding::LOCAL && !known.insert(symbol.name);
        if is_known && symbol.name != REPEATED {
            return Err(of(symbol, "two symbols of the file have its name"));
        }
        let section = symbol.place.section();
        let section = section.and_then(|index| {
            let index = index as usize;
            Some((file.sections.get(index)?, *contents.get(index)?))
        });
        if let Some((section, content)) = section {
            check_place(symbol, section, content, file).map_err(|e| e.in_section(section.name))?;
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
    section: &Section<'_>,
    content: Content,
    file: &File<'_>,
) -> Result<(), ParseError> {
    if symbol.kind == SymbolType::SECTION {
        let problem = if symbol.value != 0 || symbol.size != 0 {
            "it names a part of a section, and not all of it"
        } else if !is_name_of(symbol.name, section) {
            "it is named for another section"
        } else {
            return Ok(());
        };
        return Err(of(symbol, problem));
    }
    if !content.may_hold(symbol) {
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
    if section.kind.constant_bank() != Some(2) {
        return Ok(());
    }
    // Its name says where such a constant lies, which objects of `nvlink -r` may not have any more.
    let owner = file.section(section.info).map(|code| plain(code.name).0);
    let named = owner.ok().and_then(|code| behind(code, ".text"));
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
    if named.is_some_and(|named| named != function) {
        return Err(of(
            symbol,
            "it is named for another function than its section",
        ));
    }
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
fn is_name_of(symbol: &str, section: &Section<'_>) -> bool {
    let (name, _) = plain(section.name);
    let named = bank(name).and_then(|bank| behind(name, &format!(".nv.constant{bank}")));
    let is_bank = symbol.starts_with(".nv.constant");
    symbol == name || named.is_some_and(|named| is_bank && symbol.ends_with(named))
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
    fn of(section: &Section<'_>) -> Self {
        let (name, _) = plain(section.name);
        match section.kind.by_name(name) {
            _ if CODE_NAMES.iter().any(|start| name.starts_with(start)) => Self::Code,
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
