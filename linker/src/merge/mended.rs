//! Native relocations that contradict those of the Mercury world.
//!
//! nvlink reads no native relocations but makes them from the Mercury ones, so that it does not notice damage in them (case
//! `native_relocations`). Both lists have the same order. Of the Mercury relocations, only those of code against reserved
//! shared memory have no native twin.

use rustc_hash::FxHashMap;

use crate::arch::relocation::RelocationType as Type;
use crate::arch::reserved;
use crate::cubin::{Relocation, SectionType, SymbolOther, SymbolType, section_name};
use crate::error::ParseError;
use crate::read::{InputSection, Native, NativeRole, Role};

use super::current::Current;

/// A Mercury type, and the native ones that stand beside it.
type Row = (Type, &'static [Type]);
const IN_CODE: &[Row] = &[
    (
        Type::R_MERCURY_ABS64,
        &[Type::R_CUDA_ABS55_16_34, Type::R_CUDA_ABS56_16_34],
    ),
    (
        Type::R_MERCURY_ABS32,
        &[Type::R_CUDA_ABS32_32, Type::R_CUDA_CONST_FIELD22_37],
    ),
    (
        Type::R_MERCURY_ABS16,
        &[Type::R_CUDA_CONST_FIELD21_38, Type::R_CUDA_ABS16_32],
    ),
    (
        Type::R_MERCURY_ABS32_LO,
        &[Type::R_CUDA_ABS32_LO_32, Type::R_CUDA_FUNC_DESC32_LO_32],
    ),
    (
        Type::R_MERCURY_ABS32_HI,
        &[Type::R_CUDA_ABS32_HI_32, Type::R_CUDA_FUNC_DESC32_HI_32],
    ),
    (
        Type::R_MERCURY_ABS_PROG_REL32_LO,
        &[Type::R_CUDA_ABS32_LO_32],
    ),
    (
        Type::R_MERCURY_ABS_PROG_REL32_HI,
        &[Type::R_CUDA_ABS32_HI_32],
    ),
    (
        Type::R_MERCURY_UNIFIED32_LO,
        &[Type::R_CUDA_FUNC_DESC32_LO_32, Type::R_CUDA_UNIFIED32_LO_32],
    ),
    (
        Type::R_MERCURY_UNIFIED32_HI,
        &[Type::R_CUDA_FUNC_DESC32_HI_32, Type::R_CUDA_UNIFIED32_HI_32],
    ),
];
const IN_DATA: &[Row] = &[
    (Type::R_MERCURY_G64, &[Type::R_CUDA_G64]),
    (Type::R_MERCURY_UNIFIED, &[Type::R_CUDA_UNIFIED]),
];
const IN_FRAMES: &[Row] = &[
    (Type::R_MERCURY_ABS64, &[Type::R_CUDA_64]),
    (
        Type::R_MERCURY_UNUSED_CLEAR64,
        &[Type::R_CUDA_UNUSED_CLEAR64],
    ),
    (Type::R_MERCURY_ABS_PROG_REL64, &[Type::R_CUDA_64]),
];

/// The size of a machine instruction.
const INSTRUCTION: u64 = 16;

/// What native relocations patch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum World {
    Code,
    Data,
    Frames,
}

impl World {
    /// The native types of a Mercury relocation, if they are known.
    fn types(self, mercury: &Relocation) -> Option<&'static [Type]> {
        let rows = match self {
            Self::Code => IN_CODE,
            Self::Data => IN_DATA,
            Self::Frames => IN_FRAMES,
        };
        let row = rows.iter().find(|(kind, _)| kind.0 == mercury.kind);
        row.map(|(_, native)| *native)
    }

    /// Whether native relocations may stand beside as many of Mercury.
    fn agree(self, native: &[Relocation], mercury: &[Relocation]) -> bool {
        let mut before: Option<(u64, u64)> = None;
        // Halves of addresses in code come in pairs.
        let mut place: Option<(&Relocation, &Relocation)> = None;
        native.iter().zip(mercury).all(|(native, mercury)| {
            let mut agrees = native.symbol == mercury.symbol
                && (is_place(mercury) || native.addend == mercury.addend)
                && self
                    .types(mercury)
                    .is_none_or(|all| all.contains(&Type(native.kind)))
                && match self {
                    Self::Data => native.offset == mercury.offset,
                    Self::Code => {
                        native.offset.is_multiple_of(INSTRUCTION)
                            && before.is_none_or(|before| follows(before, native, mercury))
                    }
                    Self::Frames => true,
                };
            before = Some((native.offset, mercury.offset));
            if is_place(mercury) {
                agrees &= place.is_none_or(|(own, twin)| {
                    twin.addend != mercury.addend || own.addend == native.addend
                });
                place = Some((native, mercury));
            }
            agrees
        })
    }
}

/// The Mercury relocations of an object, by what they patch.
pub(super) struct MercuryLists<'a, 'd> {
    of_section: FxHashMap<usize, &'a InputSection<'d>>,
    /// By native section.
    twins: FxHashMap<usize, (usize, World)>,
}

/// Native relocations as they should be.
pub(super) struct Mended {
    pub(super) relocations: Vec<Relocation>,
    /// See [`NativeContent::counts_mercury`](super::NativeContent::counts_mercury).
    pub(super) counts_mercury: bool,
}

impl<'a, 'd> MercuryLists<'a, 'd> {
    pub(super) fn new(current: &Current<'a, 'd>, native: &Native<'d>) -> Self {
        let sections = &current.object.sections;
        let lists = sections.iter().filter(|section| section.role == Role::Rela);
        let of_section = lists.map(|list| (list.info as usize, list)).collect();
        let twins = native.sections.iter().filter_map(|twin| {
            let (mercury, world) = match twin.role {
                NativeRole::Code(mercury) if twin.section.kind == SectionType::PROGBITS => {
                    (mercury, World::Code)
                }
                NativeRole::Data { mercury, .. } => (mercury, World::Data),
                NativeRole::Debug { mercury, .. } if twin.section.name == section_name::FRAMES => {
                    (mercury, World::Frames)
                }
                _ => return None,
            };
            Some((twin.index, (mercury, world)))
        });
        let twins = twins.collect();
        Self { of_section, twins }
    }

    /// The relocations of native section `index`, if they contradict those of Mercury.
    pub(super) fn mended(
        &self,
        current: &Current<'_, 'd>,
        index: usize,
        relocations: &[Relocation],
    ) -> Result<Option<Mended>, ParseError> {
        let Some(&(mercury, world)) = self.twins.get(&index) else {
            return Ok(None);
        };
        let Some(list) = self.of_section.get(&mercury) else {
            return Ok(None);
        };
        let mut own = Vec::with_capacity(relocations.len());
        for relocation in current.object.relocations(list)? {
            let symbol = current.object.symbol(relocation.symbol)?;
            // Machine code names the kernel that such a function is in.
            if symbol.kind == SymbolType::FUNC && symbol.value > 0 {
                return Ok(None);
            }
            if world != World::Code || !reserved::is_shared(symbol.name) {
                own.push(relocation);
            }
        }
        if own.len() != relocations.len() {
            return Ok(None);
        }
        if world.agree(relocations, &own) {
            return Ok(None);
        }
        let is_code = world == World::Code;
        let is_constant = |mercury: &Relocation| {
            let symbol = current.object.symbol(mercury.symbol);
            mercury.kind == Type::R_MERCURY_ABS32.0
                && symbol.is_ok_and(|symbol| symbol.other.space() == SymbolOther::CONSTANT)
        };
        let mended = relocations.iter().zip(&own).map(|(native, mercury)| {
            let kinds = world.types(mercury).unwrap_or_default();
            let kind = Type(native.kind);
            let kind = match kinds {
                _ if kinds.contains(&kind) => kind,
                // Shared memory, or constants.
                [_, constant] if is_constant(mercury) => *constant,
                [first, ..] => *first,
                [] => kind,
            };
            Relocation {
                offset: match world {
                    World::Code | World::Data => mercury.offset,
                    World::Frames => native.offset,
                },
                kind: kind.0,
                ..*mercury
            }
        });
        Ok(Some(Mended {
            relocations: mended.collect(),
            counts_mercury: is_code,
        }))
    }
}

/// Whether the addend is a place in Mercury code.
fn is_place(mercury: &Relocation) -> bool {
    [
        Type::R_MERCURY_ABS_PROG_REL32_LO,
        Type::R_MERCURY_ABS_PROG_REL32_HI,
    ]
    .iter()
    .any(|kind| kind.0 == mercury.kind)
}

/// Whether a native relocation comes on the side of the one before it where the Mercury one comes.
fn follows(before: (u64, u64), native: &Relocation, mercury: &Relocation) -> bool {
    native.offset.cmp(&before.0) == mercury.offset.cmp(&before.1)
}
