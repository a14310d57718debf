//! The native twins inside a Mercury object.
//!
//! Each section of the Mercury world that describes code, data or debug
//! information has a native twin whose bytes the driver runs. The link merges
//! the Mercury world and lays the native bytes out beside it.

use rustc_hash::FxHashMap;

use crate::arch::Sm;
use crate::cubin::{
    File, Place, Relocation, Section, SectionFlags, SectionType, Symbol, section_name,
};
use crate::error::ParseError;

use super::{HANDLES_BANK, native_bank};

/// What a native section is to its Mercury twin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NativeRole {
    /// The code of the Mercury code section of this number.
    Code(usize),
    /// Debug information, twin of this section.
    Debug {
        mercury: usize,
        /// The bytes are the twin's bytes in the file.
        shares_bytes: bool,
    },
    /// Data, twin of this section.
    Data {
        mercury: usize,
        /// The bytes are the twin's bytes in the file. A whole program has others: addresses of functions inside its
        /// kernels are in them.
        shares_bytes: bool,
    },
    /// Attribute records of one function's native section, by its number.
    Info(usize),
    /// Parameters of an entry: its bank 0, by the native code section.
    Parameters(usize),
    /// The same with handles of textures behind them, which a whole program has: the twin of a section.
    Handles {
        /// The native code section.
        code: usize,
        mercury: usize,
    },
    /// Compiler constants of a function, twin of this section.
    OptimizerConstants(usize),
    /// Relocations of the native section of this number.
    Relocations(usize),
}

/// One native section.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NativeSection<'d> {
    /// Its number in the file.
    pub(crate) index: usize,
    /// What it is.
    pub(crate) role: NativeRole,
    /// The section itself.
    pub(crate) section: Section<'d>,
}

/// The native world of one object.
#[derive(Debug)]
pub(crate) struct Native<'d> {
    /// The processor that it was compiled for.
    pub(crate) processor: Sm,
    /// The native sections that have a part in the link, in file order.
    pub(crate) sections: Vec<NativeSection<'d>>,
    /// The native symbols.
    pub(crate) symbols: Vec<Symbol<'d>>,
    shadowed: Vec<bool>,
    code_twin: Vec<Option<usize>>,
}

impl<'d> Native<'d> {
    pub(super) fn new(file: &File<'d>) -> Result<Self, ParseError> {
        let code_twin = code_twins(file)?;
        let mercury = MercurySections::new(file);
        let mut sections = Vec::new();
        let mut shadowed = vec![false; file.sections.len()];
        for (index, section) in file.sections.iter().enumerate() {
            if section.flags.contains(SectionFlags::MERCURY) {
                continue;
            }
            let role = role(file, &code_twin, &mercury, index);
            let is_repeated = matches!(
                section.kind,
                SectionType::CUDA_INFO | SectionType::CUDA_UFT_ENTRY | SectionType::CUDA_UDT_ENTRY
            );
            shadowed[index] = role.is_some() || is_repeated;
            sections.extend(role.map(|role| NativeSection {
                index,
                role,
                section: *section,
            }));
        }
        Ok(Self {
            processor: file.header.processor(),
            sections,
            symbols: file.symbols.clone(),
            shadowed,
            code_twin,
        })
    }

    /// The Mercury code section of a native code section.
    pub(crate) fn code_twin(&self, native: usize) -> Option<usize> {
        self.code_twin.get(native).copied().flatten()
    }

    /// The native section of a number in the file, if it has a part in the link.
    pub(crate) fn section(&self, index: usize) -> Option<&NativeSection<'d>> {
        let found = self.sections.binary_search_by_key(&index, |s| s.index);
        found.ok().map(|at| &self.sections[at])
    }

    /// The symbols of the Mercury world. Where the native code has a number that nvlink writes as it
    /// is, theirs is that, too (docs/format/elf.md).
    pub(crate) fn symbols(
        &self,
        file: &File<'d>,
        table: usize,
    ) -> Result<Vec<Symbol<'d>>, ParseError> {
        let mut symbols = file.symbol_table(table)?;
        let bare = Place::Section(Place::TENTATIVE.into());
        if let Some(twin) = self.code_twin(Place::TENTATIVE.into()) {
            let named = symbols.iter_mut().filter(|symbol| symbol.place == bare);
            named.for_each(|symbol| symbol.place = Place::Section(twin as u32));
        }
        Ok(symbols)
    }

    /// The attribute records of functions, each with its Mercury code section.
    pub(crate) fn records(&self) -> impl Iterator<Item = (usize, &'d [u8])> {
        self.sections.iter().filter_map(|twin| match twin.role {
            NativeRole::Info(code) => Some((self.code_twin(code)?, twin.section.data)),
            NativeRole::Code(_)
            | NativeRole::Debug { .. }
            | NativeRole::Data { .. }
            | NativeRole::Parameters(_)
            | NativeRole::Handles { .. }
            | NativeRole::OptimizerConstants(_)
            | NativeRole::Relocations(_) => None,
        })
    }

    /// Whether the link view leaves section `index` out.
    pub(super) fn shadows(&self, index: usize) -> bool {
        self.shadowed[index]
    }

    /// The relocations of a native relocation section, in file order.
    pub(crate) fn relocations(
        section: &NativeSection<'d>,
    ) -> Result<impl ExactSizeIterator<Item = Relocation> + use<'d>, ParseError> {
        File::relocations(&section.section)
    }
}

/// The Mercury code section of each native one, whose number is the first word of it.
fn code_twins(file: &File<'_>) -> Result<Vec<Option<usize>>, ParseError> {
    let mut twins = vec![None; file.sections.len()];
    for (index, section) in file.sections.iter().enumerate() {
        if section.kind == SectionType::CUDA_CAPMERC {
            let word = section.data.first_chunk();
            let number = word.map(|word| u32::from_le_bytes(*word) as usize);
            let twin = number.and_then(|number| twins.get_mut(number));
            let twin = twin.ok_or_else(|| {
                ParseError::malformed("its first word is not the number of a code section")
                    .in_section(section.name)
            })?;
            *twin = Some(index);
        }
    }
    Ok(twins)
}

/// What a native section is to the link; `None` if it has no part in that.
fn role(
    file: &File<'_>,
    code_twin: &[Option<usize>],
    mercury: &MercurySections<'_>,
    index: usize,
) -> Option<NativeRole> {
    let section = &file.sections[index];
    let owner = section.info as usize;
    let has_owner = section.flags.contains(SectionFlags::INFO_LINK);
    let twin_of_owner = || code_twin.get(owner).copied().flatten();
    match section.kind {
        SectionType::PROGBITS | SectionType::CUDA_UFT
            if section.flags.contains(SectionFlags::EXECINSTR) =>
        {
            code_twin[index].map(NativeRole::Code)
        }
        SectionType::PROGBITS | SectionType::CUDA_UDT => {
            let mercury = mercury.copies.get(section.name).copied()?;
            let twin = &file.sections[mercury];
            let shares_bytes = section.size > 0
                && may_share_bytes(section)
                && (twin.offset, twin.size) == (section.offset, section.size);
            Some(NativeRole::Debug {
                mercury,
                shares_bytes,
            })
        }
        SectionType::CUDA_INFO => has_owner.then_some(NativeRole::Info(owner)),
        SectionType::RELA | SectionType::REL => Some(NativeRole::Relocations(owner)),
        SectionType::CUDA_GLOBAL_INIT => data(file, section),
        kind => match kind.constant_bank()? {
            0 if has_owner => {
                let handles = twin_of_owner().and_then(|code| mercury.handles.get(&code));
                Some(match handles {
                    Some(&mercury) => NativeRole::Handles {
                        code: owner,
                        mercury,
                    },
                    None => NativeRole::Parameters(owner),
                })
            }
            _ if has_owner => {
                let constants = mercury.constants.get(&twin_of_owner()?);
                constants.copied().map(NativeRole::OptimizerConstants)
            }
            _ => data(file, section),
        },
    }
}

/// Whether a section and its Mercury copy may be the same bytes of the image: nvlink
/// knows those for which this holds by their names (case `section_names`).
fn may_share_bytes(section: &Section<'_>) -> bool {
    const KNOWN: [&str; 14] = [
        ".debug_abbrev",
        ".debug_aranges",
        ".debug_frame",
        ".debug_info",
        ".debug_line",
        ".debug_loc",
        ".debug_macinfo",
        ".debug_pubnames",
        ".debug_pubtypes",
        ".debug_ranges",
        ".debug_str",
        ".nv_debug_info_reg_sass",
        ".nv_debug_info_reg_type",
        ".nv_debug_line_sass",
    ];
    section.kind == SectionType::CUDA_UDT
        || KNOWN.contains(&section.name)
        || section.name.starts_with(".nv_debug_ptx_txt")
}

/// The Mercury sections that native ones are twins of. Where several could be meant, it is the first one.
#[derive(Default)]
struct MercurySections<'d> {
    /// Constants of the compiler, by the number of the Mercury code that they belong to.
    constants: FxHashMap<usize, usize>,
    /// Handles of textures that kernels have themselves, likewise.
    handles: FxHashMap<usize, usize>,
    /// Others than records and relocations, by the names of what they copy.
    copies: FxHashMap<&'d str, usize>,
}

impl<'d> MercurySections<'d> {
    fn new(file: &File<'d>) -> Self {
        let mut found = Self::default();
        for (index, section) in file.sections.iter().enumerate() {
            let code = section.info as usize;
            if section.kind == SectionType::CUDA_MERC_CONSTANT_OPTIMIZER {
                found.constants.entry(code).or_insert(index);
            }
            if !section.flags.contains(SectionFlags::MERCURY) {
                continue;
            }
            if section.kind.constant_bank() == Some(HANDLES_BANK) {
                found.handles.entry(code).or_insert(index);
            }
            let is_of_code = matches!(
                section.kind,
                SectionType::CUDA_MERC_INFO | SectionType::CUDA_MERC_RELA
            );
            if !is_of_code && let Some(name) = section.name.strip_prefix(section_name::MERCURY_OF) {
                found.copies.entry(name).or_insert(index);
            }
        }
        found
    }
}

/// Data of a module. Where it exists once, both sections name the same bytes of the file.
fn data(file: &File<'_>, section: &Section<'_>) -> Option<NativeRole> {
    let twins = || {
        let all = file.sections.iter().enumerate();
        all.filter(|(_, s)| {
            s.flags.contains(SectionFlags::MERCURY) && s.name.starts_with(".nv.merc.nv.")
        })
    };
    let shared = twins().find(|(_, s)| (s.offset, s.size) == (section.offset, section.size));
    let own = || {
        let bank = |kind: SectionType| kind.constant_bank().map(native_bank);
        let mut twins = twins().filter(|(_, s)| {
            s.size == section.size
                && !s.flags.contains(SectionFlags::INFO_LINK)
                && match section.kind.constant_bank() {
                    Some(own) => bank(s.kind) == Some(own),
                    None => s.kind == section.kind,
                }
        });
        twins.next()
    };
    shared.or_else(own).map(|(mercury, _)| NativeRole::Data {
        mercury,
        shares_bytes: shared.is_some(),
    })
}
