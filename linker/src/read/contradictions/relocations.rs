//! Whether relocations are of use.

use crate::arch::relocation::{Class, RelocationType};
use crate::cubin::{File, Section, SectionType, Symbol, SymbolType};
use crate::error::ParseError;

use super::function;

/// Relocations patch what is there, with what has a place. nvlink drops others where it does not need them.
pub(super) fn check(
    section: &Section<'_>,
    file: &File<'_>,
    linked: &[Symbol<'_>],
) -> Result<(), ParseError> {
    let symbols = match section.kind {
        SectionType::CUDA_MERC_RELA => linked,
        SectionType::REL | SectionType::RELA => match file.symbols.is_empty() {
            true => linked,
            false => &file.symbols,
        },
        _ => return Ok(()),
    };
    let target = file.section(section.info)?;
    let end = match target.kind {
        // Those of Mercury code say where its instructions would be.
        SectionType::CUDA_CAPMERC => function(target, file, linked).map(|symbol| symbol.size),
        _ => Some(target.size),
    };
    for relocation in File::relocations(section)? {
        let kind = RelocationType(relocation.kind);
        let fail = |problem: String| {
            let problem = ParseError::malformed(format!("relocation {kind}: {problem}"));
            let problem = problem.in_section(target.name).at(relocation.offset);
            Err(problem)
        };
        if let Some(end) = end.filter(|&end| relocation.offset >= end) {
            return fail(format!("it lies outside of the {end:#x} bytes there are"));
        }
        if relocation.symbol == 0 && !is_about_nothing(kind) {
            return fail("it names no symbol".to_owned());
        }
        let symbol = symbols.get(relocation.symbol as usize);
        let named = symbol.filter(|symbol| symbol.kind == SymbolType::SECTION);
        let named = named.and_then(|symbol| symbol.place.section());
        let named = named.and_then(|index| file.sections.get(index as usize));
        if let Some(named) = named.filter(|named| has_no_address(named)) {
            return fail(format!("it names {}, which has no address", named.name));
        }
    }
    Ok(())
}

/// Whether a type of relocations names no symbol.
fn is_about_nothing(kind: RelocationType) -> bool {
    let row = kind.row();
    row.is_some_and(|row| matches!(row.class, Class::Yield(_)))
}

/// Whether a section describes others, so that nothing can point at it.
fn has_no_address(section: &Section<'_>) -> bool {
    matches!(
        section.kind,
        SectionType::NULL
            | SectionType::STRTAB
            | SectionType::SYMTAB
            | SectionType::REL
            | SectionType::RELA
            | SectionType::NOTE
            | SectionType::CUDA_INFO
            | SectionType::CUDA_CALLGRAPH
            | SectionType::CUDA_PROTOTYPE
            | SectionType::CUDA_COMPAT
            | SectionType::CUDA_MERC_INFO
            | SectionType::CUDA_MERC_RELA
            | SectionType::CUDA_MERC_SYMTAB
    )
}
