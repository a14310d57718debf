//! The native twins inside a Mercury object.
//!
//! Each section of the Mercury world that describes code, data or debug
//! information has a native twin whose bytes the driver runs. The link merges
//! the Mercury world and lays the native bytes out beside it.

use crate::arch::Sm;
use crate::cubin::{File, Relocation, Section, SectionFlags, SectionType, Symbol};
use crate::error::ParseError;

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
    /// Data whose bytes are the twin's bytes in the file.
    SharedData(usize),
    /// Attribute records of one function's native section, by its number.
    Info(usize),
    /// Parameters of an entry: its bank 0, by the native code section.
    Parameters(usize),
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
        let mut native = Self {
            processor: file.header.processor(),
            sections: Vec::new(),
            symbols: file.symbols.clone(),
            shadowed: vec![false; file.sections.len()],
            code_twin: Vec::new(),
        };
        // The code section a Mercury code section describes is its first word.
        let mut code_twin = vec![None; file.sections.len()];
        for (index, section) in file.sections.iter().enumerate() {
            if section.kind == SectionType::CUDA_CAPMERC {
                let word = section
                    .data
                    .first_chunk()
                    .map(|w| u32::from_le_bytes(*w) as usize);
                let twin = word.and_then(|w| code_twin.get_mut(w)).ok_or_else(|| {
                    ParseError::malformed("its first word is not the number of a code section")
                        .in_section(section.name)
                })?;
                *twin = Some(index);
            }
        }
        for (index, section) in file.sections.iter().enumerate() {
            if section.flags.contains(SectionFlags::MERCURY) {
                continue;
            }
            let owner = section.info as usize;
            let role = match section.kind {
                SectionType::PROGBITS | SectionType::CUDA_UFT
                    if section.flags.contains(SectionFlags::EXECINSTR) =>
                {
                    code_twin[index].map(NativeRole::Code)
                }
                SectionType::PROGBITS | SectionType::CUDA_UDT => {
                    twin_by_name(file, section).map(|twin| {
                        let mercury = &file.sections[twin];
                        let shares_bytes = section.size > 0
                            && may_share_bytes(section)
                            && (mercury.offset, mercury.size) == (section.offset, section.size);
                        NativeRole::Debug {
                            mercury: twin,
                            shares_bytes,
                        }
                    })
                }
                SectionType::CUDA_INFO if section.flags.contains(SectionFlags::INFO_LINK) => {
                    Some(NativeRole::Info(owner))
                }
                SectionType::CUDA_INFO => None,
                SectionType::RELA | SectionType::REL => Some(NativeRole::Relocations(owner)),
                SectionType::CUDA_GLOBAL_INIT => {
                    twin_by_bytes(file, section).map(NativeRole::SharedData)
                }
                kind => match kind.constant_bank() {
                    Some(0) if section.flags.contains(SectionFlags::INFO_LINK) => {
                        Some(NativeRole::Parameters(owner))
                    }
                    Some(_) if section.flags.contains(SectionFlags::INFO_LINK) => {
                        let code = code_twin.get(owner).copied().flatten();
                        code.and_then(|code| optimizer_twin(file, code))
                            .map(NativeRole::OptimizerConstants)
                    }
                    Some(_) => twin_by_bytes(file, section).map(NativeRole::SharedData),
                    None => None,
                },
            };
            let is_repeated = matches!(
                section.kind,
                SectionType::CUDA_INFO | SectionType::CUDA_UFT_ENTRY | SectionType::CUDA_UDT_ENTRY
            );
            native.shadowed[index] = role.is_some() || is_repeated;
            if let Some(role) = role {
                native.sections.push(NativeSection {
                    index,
                    role,
                    section: *section,
                });
            }
        }
        native.code_twin = code_twin;
        Ok(native)
    }

    /// The Mercury code section of a native code section.
    pub(crate) fn code_twin(&self, native: usize) -> Option<usize> {
        self.code_twin.get(native).copied().flatten()
    }

    /// The attribute records of functions, each with its Mercury code section.
    pub(crate) fn records(&self) -> impl Iterator<Item = (usize, &'d [u8])> {
        self.sections.iter().filter_map(|twin| match twin.role {
            NativeRole::Info(code) => Some((self.code_twin(code)?, twin.section.data)),
            NativeRole::Code(_)
            | NativeRole::Debug { .. }
            | NativeRole::SharedData(_)
            | NativeRole::Parameters(_)
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

fn twin_by_name(file: &File<'_>, section: &Section<'_>) -> Option<usize> {
    file.sections.iter().position(|s| {
        s.flags.contains(SectionFlags::MERCURY)
            && s.name.strip_prefix(".nv.merc") == Some(section.name)
    })
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

/// The Mercury constants of the function whose Mercury code is `code`.
fn optimizer_twin(file: &File<'_>, code: usize) -> Option<usize> {
    file.sections.iter().position(|s| {
        s.kind == SectionType::CUDA_MERC_CONSTANT_OPTIMIZER && s.info as usize == code
    })
}

/// Data exists once: both sections name the same bytes of the file.
fn twin_by_bytes(file: &File<'_>, section: &Section<'_>) -> Option<usize> {
    file.sections.iter().position(|s| {
        s.flags.contains(SectionFlags::MERCURY)
            && s.offset == section.offset
            && s.size == section.size
            && s.name.starts_with(".nv.merc.nv.")
    })
}
