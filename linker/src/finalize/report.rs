//! What each kernel uses, as a user reads it.

use crate::cubin::InfoCode;
use crate::diagnostic::{Diagnostic, Diagnostics, Severity};
use crate::id::{FunctionId, IdVec};
use crate::merge::{InfoRecord, Payload, SectionKind};
use crate::prune::Pruned;

/// Adds the sizes of the module and the figures of its kernels, last created
/// first.
pub(super) fn report(
    pruned: &Pruned<'_>,
    module_records: &[InfoRecord<'_>],
    function_records: &IdVec<FunctionId, Vec<InfoRecord<'_>>>,
    stacks: &IdVec<FunctionId, Option<u64>>,
    diagnostics: &mut Diagnostics,
) {
    let mut say = |text: String| {
        diagnostics.push(Diagnostic::new(Severity::Info, "resource-usage", text));
    };
    let has_failed = stacks.is_empty();
    say(module_line(pruned));
    for (function, row) in pruned.merged.functions.enumerate().rev() {
        if !pruned.merged.is_kernel(row) || !pruned.live.functions[function] {
            continue;
        }
        let registers = module_records.iter().find_map(|record| {
            let (symbol, count) = record.symbol_number()?;
            (record.code == InfoCode::REGCOUNT && symbol == row.symbol).then_some(count)
        });
        let registers = registers.unwrap_or(0);
        let symbol = row.symbol;
        say(format!(
            "Function properties for '{}':",
            pruned.merged.symbols[symbol].name
        ));
        let barriers = function_records[function]
            .iter()
            .find_map(|r| match r.payload {
                Payload::Head([count, _]) if r.code == InfoCode::NUM_BARRIERS => Some(count),
                _ => None,
            });
        // Without a bound nvlink prints none.
        let stack = if has_failed {
            0
        } else {
            stacks[function].unwrap_or(0)
        };
        say(format!(
            "used {registers} registers, used {} barriers, {stack} stack, {} bytes smem, {}0 \
             bytes lmem",
            barriers.unwrap_or(0),
            shared_size(pruned, function),
            banks(pruned, function),
        ));
    }
}

fn module_line(pruned: &Pruned<'_>) -> String {
    let mut global = 0;
    let mut banks = String::new();
    for section in pruned.merged.sections.iter() {
        match section.kind {
            SectionKind::Global | SectionKind::GlobalInit => global += section.content.size,
            SectionKind::Constant(bank)
                if section.target.is_none() && !pruned.merged.target.has_mercury() =>
            {
                banks.push_str(&format!(", {} bytes cmem[{bank}]", section.content.size));
            }
            _ => {}
        }
    }
    format!("{global} bytes gmem{banks}")
}

/// Up to sm_90 what the system reserves counts, later it does not.
fn shared_size(pruned: &Pruned<'_>, function: FunctionId) -> u64 {
    let Some(section) = pruned.merged.functions[function].shared else {
        return 0;
    };
    let section = &pruned.merged.sections[section];
    let has_reserved = pruned.merged.target.has_mercury()
        && pruned.merged.image.is_executable()
        && section.content.size > 0;
    let reserved = match has_reserved {
        true => pruned.merged.reserved_shared(),
        false => 0,
    };
    section.content.size.saturating_sub(reserved)
}

/// The kernel's constant banks, each with a comma behind it.
fn banks(pruned: &Pruned<'_>, function: FunctionId) -> String {
    let text = pruned.merged.functions[function].text;
    let own = pruned
        .merged
        .sections
        .iter()
        .filter(|s| s.target.is_some() && s.target == text);
    let mut banks: Vec<(u8, u64)> = own
        .filter_map(|section| match section.kind {
            SectionKind::Constant(bank) if !pruned.merged.target.has_mercury() => {
                Some((bank, section.content.size))
            }
            _ => None,
        })
        .collect();
    banks.sort_unstable();
    banks
        .iter()
        .map(|(bank, size)| format!("{size} bytes cmem[{bank}], "))
        .collect()
}
