//! Refuses what no tool writes and what would cost more memory than the link of a good object of its size.

use crate::cubin::{
    File, Place, Section, SectionFlags, SectionType, Symbol, SymbolOther, SymbolType, section_name,
};
use crate::error::{NvlinkError, ParseError};

use super::{InputSection, Role};

/// The largest size of a section or variable. No GPU has as much memory, and sums of smaller sizes cannot overflow.
const LARGEST: u64 = 1 << 40;
/// The strictest alignment. Images are padded to alignments, so this bounds how much a damaged input can make us write.
const STRICTEST: u64 = 1 << 20;
/// How much reserved shared memory an object may ask for, with alignments: no GPU has more shared memory. All its bytes are
/// written.
const MOST_RESERVED: u64 = 1 << 18;

/// Whether a section has nothing that can be relocated, because it describes other sections or has no bytes (case
/// `odd_sections`). nvlink has this check up to sm_90.
fn has_no_addresses(section: &InputSection<'_>) -> bool {
    let is_description = matches!(
        section.kind,
        SectionType::REL | SectionType::RELA | SectionType::NOTE
    );
    is_description
        || matches!(
            section.role,
            Role::Info | Role::CallGraph | Role::Prototype | Role::Global | Role::Shared
        )
}

/// Checks that the sections exist that others belong to, and that those with relocations can have them.
pub(super) fn check_targets(
    file: &File<'_>,
    sections: &[InputSection<'_>],
) -> Result<(), ParseError> {
    for (index, section) in file.sections.iter().enumerate() {
        let is_relocations = matches!(section.kind, SectionType::REL | SectionType::RELA);
        let target = match sections[index].role {
            Role::Ignored if is_relocations => Some(section.info as usize),
            Role::Ignored => None,
            _ => sections[index].target(),
        };
        if let Some(target) = target
            && target < sections.len()
            && !file.header.processor().has_mercury()
            && matches!(sections[index].role, Role::Rel | Role::Rela)
            && has_no_addresses(&sections[target])
        {
            let problem = format!(
                "it relocates {}, which holds no addresses",
                sections[target].name
            );
            return Err(ParseError::malformed(problem)
                .as_nvlink(NvlinkError::UnexpectedRelocationSection)
                .in_section(section.name));
        }
        if let Some(target) = target
            && (target >= sections.len() || is_relocations && target == 0)
        {
            let problem = ParseError::bad_index("section", target as u64, sections.len());
            return Err(problem
                .as_nvlink(NvlinkError::UnexpectedRelocationSection)
                .in_section(section.name));
        }
    }
    Ok(())
}

/// Refuses machine code alone, where a link makes it of Mercury code. nvlink crashes.
pub(super) fn check_code(file: &File<'_>, views: &[InputSection<'_>]) -> Result<(), ParseError> {
    let mut sections = file.sections.iter().zip(views);
    let is_lone = |(section, view): &(&Section<'_>, &InputSection<'_>)| {
        view.role == Role::Text && !section.flags.contains(SectionFlags::MERCURY)
    };
    match sections.find(is_lone) {
        None => Ok(()),
        Some((section, _)) => {
            let problem = "the object has no Mercury code for this machine code";
            Err(ParseError::malformed(problem).in_section(section.name))
        }
    }
}

/// Refuses sizes, values and alignments that no tool writes.
pub(super) fn check_sizes(
    file: &File<'_>,
    views: &[InputSection<'_>],
    symbols: &[Symbol<'_>],
) -> Result<(), ParseError> {
    let absurd = |what: &str, number: u64| {
        ParseError::malformed(format!("{what} {number:#x} is beyond any memory"))
    };
    for section in &file.sections {
        if section.size > LARGEST {
            return Err(absurd("size", section.size).in_section(section.name));
        }
        // nvlink crashes on these (case `section_types`).
        if section.kind == SectionType::CUDA_METADATA {
            let problem = "sections of metadata cannot be linked; compile without them";
            return Err(ParseError::malformed(problem).in_section(section.name));
        }
    }
    for view in views.iter().filter(|view| view.has_place()) {
        if view.align > STRICTEST {
            return Err(absurd("alignment", view.align).in_section(view.name));
        }
    }
    let is_reserved = |symbol: &Symbol<'_>| {
        let section = symbol.place.section();
        let section = section.and_then(|index| file.sections.get(index as usize));
        section.is_some_and(|section| section.kind == SectionType::CUDA_SHARED_RESERVED)
            && symbol.kind != SymbolType::SECTION
    };
    let mut reserved = 0u64;
    for symbol in symbols {
        if symbol.size > LARGEST || symbol.value > LARGEST && symbol.value != u64::MAX {
            let number = symbol.size.max(symbol.value);
            return Err(absurd("size or value", number).of_symbol(symbol.name));
        }
        if symbol.place.section().is_some() && symbol.value == u64::MAX {
            let problem = "it has no place in its section";
            return Err(ParseError::malformed(problem)
                .as_nvlink(NvlinkError::UnallocatedSymbol)
                .of_symbol(symbol.name));
        }
        // The values of reserved variables are alignments.
        let is_reserved = is_reserved(symbol);
        if is_reserved {
            reserved = reserved.saturating_add(symbol.size.saturating_add(symbol.value));
            if reserved > MOST_RESERVED {
                let problem = format!("with it {reserved:#x} bytes of shared memory are reserved");
                return Err(ParseError::malformed(problem).of_symbol(symbol.name));
            }
        }
        let is_alignment = symbol.place == Place::Common
            || symbol.other.space() == SymbolOther::SHARED
            || is_reserved;
        // `nvlink -r` gives variables that no input defines the value -1 (case `relocatable_shared`). Dynamic shared memory,
        // which has no size, gets other values.
        let is_nowhere =
            symbol.place == Place::Undefined && symbol.value == u64::MAX && symbol.size > 0;
        if is_alignment && !is_nowhere && symbol.value > STRICTEST {
            return Err(absurd("alignment", symbol.value).of_symbol(symbol.name));
        }
    }
    Ok(())
}

/// Refuses a `.debug_frame` with the type of slots of unified functions: nvlink looks for the function of the slot and fails
/// (case `internal_errors`).
pub(super) fn check_frames(section: &Section<'_>) -> Result<(), ParseError> {
    if section.kind != SectionType::CUDA_UFT || section.name != section_name::FRAMES {
        return Ok(());
    }
    let problem = "its type says that it is a slot of a unified function";
    Err(ParseError::malformed(problem)
        .as_nvlink(NvlinkError::NoMatchingStub)
        .in_section(section.name))
}
