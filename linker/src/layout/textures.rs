//! Texture, sampler and surface references: four bytes each behind the
//! parameters of a kernel.
//!
//! The driver puts a handle there. Code holds the offset, so that it is the
//! same in all kernels: behind the longest parameters of the program.

use rustc_hash::FxHashMap;

use crate::arch::relocation::RelocationType;
use crate::cubin::SymbolType;
use crate::id::{FunctionId, SectionId, SymbolId};
use crate::list_sort::list_sort;
use crate::merge::{Form, Relocation, SectionKind};
use crate::prune::Pruned;

use super::shared::Visibility;

const SLOT: u64 = 4;

/// Gives every reference of the program, used or not, a slot in every kernel
/// that reaches code with one (cases `texture_slots` and `texture_users`).
pub(super) fn layout(pruned: &mut Pruned<'_>) -> FxHashMap<SymbolId, u64> {
    let references = references(pruned);
    let kernels: Vec<(FunctionId, SectionId)> = kernels(pruned);
    if references.is_empty() {
        return FxHashMap::default();
    }
    // Without kernels the slots are those of a kernel without parameters
    // (case `texture_no_kernel`).
    let end = kernels
        .iter()
        .map(|&(_, bank)| pruned.merged.sections[bank].content.size)
        .max()
        .unwrap_or(0);
    let start = end.next_multiple_of(SLOT);
    let slots: Vec<(SymbolId, u64)> = references
        .into_iter()
        .zip((start..).step_by(SLOT as usize))
        .collect();
    for bank in banks_in_use(pruned, &kernels) {
        let section = &mut pruned.merged.sections[bank];
        section.content.size = start + SLOT * slots.len() as u64;
        section
            .relocations
            .extend(slots.iter().map(|&(symbol, offset)| Relocation {
                offset,
                kind: relocation_type(pruned.merged.symbols[symbol].kind).0,
                symbol,
                addend: 0,
                form: Form::Rel,
                discarded: false,
            }));
    }
    slots.into_iter().collect()
}

/// The references in the order of their slots: surfaces, samplers, textures,
/// each kind in the order of the symbol table, pushed onto one list that goes
/// through the list sort although nothing is to be sorted.
fn references(pruned: &Pruned<'_>) -> Vec<SymbolId> {
    let symbols = &pruned.merged.symbols;
    let mut list = Vec::new();
    for kind in [
        SymbolType::SURFACE,
        SymbolType::SAMPLER,
        SymbolType::TEXTURE,
    ] {
        let globals = pruned.merged.globals.iter().copied();
        list.extend(globals.filter(|&symbol| symbols[symbol].kind == kind));
    }
    list.reverse();
    list_sort(list, |_, _| true)
}

/// Kernels with the bank of their parameters.
fn kernels(pruned: &Pruned<'_>) -> Vec<(FunctionId, SectionId)> {
    let sections = pruned.merged.sections.enumerate();
    sections
        .filter(|(id, section)| {
            section.kind == SectionKind::Constant(0) && pruned.live.sections[*id]
        })
        .filter_map(|(id, section)| {
            let code = section.target?;
            Some((pruned.merged.sections[code].function?, id))
        })
        .collect()
}

/// The banks of the kernels that reach code with a reference. A program's only
/// kernel is taken to reach all code, dead or not (case `texture_one_kernel`).
fn banks_in_use(pruned: &Pruned<'_>, kernels: &[(FunctionId, SectionId)]) -> Vec<SectionId> {
    let sections = pruned.merged.sections.iter();
    let users: Vec<FunctionId> = sections
        .filter(|section| {
            let mut symbols = section.relocations.iter().map(|r| r.symbol);
            symbols.any(|symbol| is_reference(pruned.merged.symbols[symbol].kind))
        })
        .filter_map(|section| section.function)
        .collect();
    if let [(_, lone)] = kernels {
        return users.first().map(|_| *lone).into_iter().collect();
    }
    let functions: Vec<FunctionId> = kernels.iter().map(|&(function, _)| function).collect();
    let seers = Visibility::new(pruned, &functions).kernels(&users);
    seers.iter().map(|kernel| kernels[kernel].1).collect()
}

/// Whether a symbol stands for a texture, a sampler or a surface.
pub(crate) fn is_reference(kind: SymbolType) -> bool {
    matches!(
        kind,
        SymbolType::TEXTURE | SymbolType::SAMPLER | SymbolType::SURFACE
    )
}

/// What the driver is to put into a slot.
fn relocation_type(kind: SymbolType) -> RelocationType {
    match kind {
        SymbolType::SURFACE => RelocationType::R_CUDA_SURF_HEADER_INDEX,
        SymbolType::SAMPLER => RelocationType::R_CUDA_SAMP_HEADER_INDEX,
        _ => RelocationType::R_CUDA_TEX_HEADER_INDEX,
    }
}
