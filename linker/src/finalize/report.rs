//! What each kernel uses, as a user reads it.

use std::cmp::Reverse;

use rustc_hash::FxHashMap;

use crate::arch::relocation::RelocationType;
use crate::codes::RESOURCE_USAGE;
use crate::cubin::{InfoCode, SymbolType, section_name};
use crate::demangle::readable;
use crate::diagnostic::{Diagnostic, Diagnostics, Severity};
use crate::id::{FunctionId, IdVec, SectionId, SymbolId};
use crate::merge::{InfoRecord, SectionKind};
use crate::options::Behaviour;
use crate::prune::Pruned;
use crate::stacks::Stacks;

use super::barriers;
use super::records::Records;

/// Adds the sizes of the module and the figures of the kernels that it defines, last created
/// first.
pub(super) fn report(
    pruned: &Pruned<'_>,
    module_records: &[InfoRecord<'_>],
    function_records: &IdVec<FunctionId, Records<'_>>,
    stacks: Option<&Stacks>,
    behaviour: Behaviour,
    diagnostics: &mut Diagnostics,
) {
    let figures = |text: String| Diagnostic::new(Severity::Info, RESOURCE_USAGE, text);
    diagnostics.push(figures(module_line(pruned)));
    let registers: FxHashMap<SymbolId, u32> = module_records
        .iter()
        .rev()
        .filter(|record| record.code == InfoCode::REGCOUNT)
        .filter_map(InfoRecord::symbol_number)
        .collect();
    let (banks, none) = (banks(pruned, behaviour), Banks::default());
    let functions = pruned.merged.functions.enumerate();
    let mut kernels: Vec<_> = functions
        .filter(|&(id, row)| pruned.merged.is_kernel(row) && pruned.live.functions[id])
        .filter_map(|(id, row)| Some((id, row, row.text?)))
        .collect();
    // Those that are defined last come first.
    kernels.sort_by_key(|&(_, _, code)| Reverse(code));
    for (function, row, code) in kernels {
        let symbol = row.symbol;
        let registers = registers.get(&symbol).unwrap_or(&0);
        let name = pruned.merged.symbols[symbol].name;
        let heading = figures(format!("Function properties for '{name}':")).of_symbol(name);
        let readable = readable(name);
        diagnostics.push(match readable == name {
            true => heading,
            false => heading.with_detail(readable),
        });
        // Without a bound its own frame alone (case `stack_recursion_calls`),
        // and so beside a lone kernel (case `launched_elsewhere`).
        let stack = stacks.map_or(0, |stacks| {
            let depth = stacks.depths[function].filter(|_| pruned.live.entries[function]);
            depth.unwrap_or(stacks.frames[function].into())
        });
        let own = banks.get(&Owner::new(code, name, behaviour));
        let own = own.unwrap_or(&none);
        let used = format!(
            "used {registers} registers, used {} barriers, {stack} stack, {} bytes smem, {}0 \
             bytes lmem{}",
            barriers::used(pruned, function, &function_records[function]),
            shared_size(pruned, function),
            own.before_local(),
            own.behind_local(),
        );
        diagnostics.push(figures(used).of_symbol(name));
    }
}

fn module_line(pruned: &Pruned<'_>) -> String {
    let mut global = 0;
    let mut banks = Vec::new();
    let sections = pruned.merged.sections.enumerate();
    for (_, section) in sections.filter(|&(id, _)| pruned.live.sections[id]) {
        match section.kind {
            SectionKind::Global | SectionKind::GlobalInit => global += section.content.size,
            SectionKind::Constant(_)
                if section.target.is_none() && !pruned.merged.target.has_mercury() =>
            {
                let bank = named_bank(section.name, "").filter(|bank| MODULE_BANKS.contains(bank));
                banks.extend(bank.map(|bank| (bank, section.content.size)));
            }
            _ => {}
        }
    }
    banks.sort_unstable();
    let banks = banks.iter();
    let banks: String = banks
        .map(|(bank, size)| format!(", {size} bytes cmem[{bank}]"))
        .collect();
    format!("{global} bytes gmem{banks}")
}

/// The banks that nvlink tells of for the program, and for a kernel. It looks for their
/// names, and not for their types (case `constant_banks`).
const MODULE_BANKS: [u8; 5] = [1, 3, 4, 5, 6];
const KERNEL_BANKS: [u8; 13] = [0, 2, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17];

/// The bank in the name of a section, behind which `end` stands.
fn named_bank(name: &str, end: &str) -> Option<u8> {
    let number = name.strip_prefix(section_name::BANK)?.strip_suffix(end)?;
    number
        .parse()
        .ok()
        .filter(|bank: &u8| bank.to_string() == number)
}

/// Up to sm_90 what the system reserves counts, later it does not.
fn shared_size(pruned: &Pruned<'_>, function: FunctionId) -> u64 {
    let section = pruned.merged.functions[function].shared;
    let Some(section) = section.filter(|&section| pruned.live.sections[section]) else {
        return 0;
    };
    let section = &pruned.merged.sections[section];
    let has_reserved = pruned.merged.target.has_mercury()
        && pruned.merged.is_executable()
        && section.content.size > 0;
    let reserved = match has_reserved {
        true => pruned.merged.reserved_shared(),
        false => 0,
    };
    section.content.size.saturating_sub(reserved)
}

/// What a kernel's constant banks tell.
#[derive(Debug, Default)]
struct Banks {
    /// Number and size.
    sizes: Vec<(u8, u64)>,
    /// How many textures, surfaces and samplers it has handles for.
    handles: [usize; 3],
}

impl Banks {
    /// Each bank, with a comma behind it.
    fn before_local(&self) -> String {
        let one = |(bank, size)| format!("{size} bytes cmem[{bank}], ");
        let sizes = self.sizes.iter().copied();
        sizes.filter(|&(_, size)| size > 0).map(one).collect()
    }

    /// Each kind that the kernel has, with a comma before it.
    fn behind_local(&self) -> String {
        let kinds = ["textures", "surfaces", "samplers"];
        let present = self.handles.iter().zip(kinds).filter(|&(&n, _)| n > 0);
        present.map(|(n, kind)| format!(", {n} {kind}")).collect()
    }
}

/// What banks belong to.
#[derive(Debug, PartialEq, Eq, Hash)]
enum Owner<'n> {
    Code(SectionId),
    /// nvlink finds the banks of static kernels of one name by that: for each it tells of
    /// the first (case `static_kernels`).
    Name(&'n str),
}

impl<'n> Owner<'n> {
    fn new(code: SectionId, name: &'n str, behaviour: Behaviour) -> Self {
        match behaviour {
            Behaviour::Nvlink => Self::Name(name),
            Behaviour::Own => Self::Code(code),
        }
    }
}

/// The banks by what they belong to. nvlink says nothing of them for the
/// Mercury generation (case `texture_verbose`).
fn banks<'n>(pruned: &'n Pruned<'_>, behaviour: Behaviour) -> FxHashMap<Owner<'n>, Banks> {
    let mut all: FxHashMap<Owner<'_>, Banks> = FxHashMap::default();
    let mut first_code: FxHashMap<&str, SectionId> = FxHashMap::default();
    if pruned.merged.target.has_mercury() {
        return all;
    }
    for (id, section) in pruned.merged.sections.enumerate() {
        let (SectionKind::Constant(bank), Some(code)) = (section.kind, section.target) else {
            continue;
        };
        // A bank can go with another kernel of the name (case `static_kernels_filtered`).
        if bank == 0 && !pruned.live.sections[id] && behaviour == Behaviour::Nvlink {
            continue;
        }
        if *first_code.entry(section.name).or_insert(code) != code && behaviour == Behaviour::Nvlink
        {
            continue;
        }
        let kernel = section.name.splitn(4, '.').nth(3).unwrap_or("");
        let banks = all.entry(Owner::new(code, kernel, behaviour)).or_default();
        let bank = section
            .name
            .strip_suffix(kernel)
            .and_then(|own| named_bank(own, "."));
        let bank = bank.filter(|bank| KERNEL_BANKS.contains(bank));
        banks
            .sizes
            .extend(bank.map(|bank| (bank, section.content.size)));
        for relocation in &section.relocations {
            // nvlink overlooks the samplers of whole programs for sm_90 (case `whole_program_textures`).
            let is_overlooked = behaviour == Behaviour::Nvlink
                && relocation.kind == RelocationType::R_CUDA_SAMP_HEADER_INDEX_0.0;
            if is_overlooked {
                continue;
            }
            match pruned.merged.symbols[relocation.symbol].kind {
                SymbolType::TEXTURE => banks.handles[0] += 1,
                SymbolType::SURFACE => banks.handles[1] += 1,
                SymbolType::SAMPLER => banks.handles[2] += 1,
                _ => {}
            }
        }
    }
    for banks in all.values_mut() {
        banks.sizes.sort_unstable();
    }
    all
}
