//! Instructions that let other threads of a warp run, in machine code made anew for a program of
//! which some was compiled for a virtual processor before sm_70.
//!
//! Such code needs none of them. From sm_100 on nvlink decides so for the whole program, be it
//! only one input that is older (case `older_virtual`), but adds relocations only where there
//! are some that are not about constants; up to sm_90 only if all are, by relocations of the compiler.

use crate::arch::relocation::{Class, RelocationType, Row};
use crate::id::{SectionId, SymbolId};
use crate::merge::{Definition, Form, Merged, Relocation, SectionKind, Share};
use crate::relocate::Relocated;
use crate::relocate::scoreboards::instruction::{INSTRUCTION, operation};

const YIELD: u16 = 0x146;

/// What makes an idle instruction of one, with addends.
const SETTLED: [(RelocationType, i64); 2] = [
    (
        RelocationType::R_CUDA_YIELD_OPCODE9_0,
        super::choice::IDLE as i64,
    ),
    (RelocationType::R_CUDA_YIELD_CLEAR_PRED4_87, 0),
];

fn is_constant(merged: &Merged<'_>, symbol: SymbolId) -> bool {
    let definition = merged.symbols[symbol].definition;
    matches!(definition, Definition::Section(section) if matches!(merged.sections.kind(section), SectionKind::Constant(_)))
}

/// Makes them idle, or in a relocatable object has the last link do so.
pub(super) fn settle(relocated: &mut Relocated<'_>) {
    let pruned = &relocated.laid_out.pruned;
    let merged = &pruned.merged;
    if merged.notes.before_volta() == Share::None {
        return;
    }
    let functions = merged.functions.enumerate();
    let texts: Vec<SectionId> = functions
        .filter(|&(id, _)| pruned.live.functions[id])
        .filter_map(|(_, function)| function.text)
        .filter(|&text| {
            let mut relocations = merged.sections[text].relocations.iter();
            relocations.any(|relocation| !is_constant(merged, relocation.symbol))
        })
        .collect();
    let is_executable = merged.is_executable();
    let symbol = merged.symbols.nothing;
    for text in texts {
        let Some(native) = &mut relocated.native[text] else {
            continue;
        };
        let code = native.bytes.as_chunks::<INSTRUCTION>().0.iter().enumerate();
        let yields = code.filter(|(_, instruction)| operation(*instruction) == YIELD);
        let places: Vec<u64> = yields
            .map(|(index, _)| (index * INSTRUCTION) as u64)
            .collect();
        for (&offset, (kind, addend)) in places.iter().flat_map(|p| SETTLED.map(|s| (p, s))) {
            if !is_executable {
                native.kept.push(Relocation {
                    offset,
                    kind: kind.0,
                    symbol,
                    addend,
                    form: Form::Rela,
                    discarded: false,
                });
            } else if let Some(Class::Yield(field)) = kind.row().map(|row| row.class) {
                let bytes = native.bytes.to_mut();
                Row::settle(&field, bytes, offset, addend as u64)
                    .expect("the instruction is there");
            }
        }
    }
}
