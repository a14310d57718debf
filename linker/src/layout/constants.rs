//! The compiler's constants: those of a device function move into a bank of
//! every kernel that reaches it.
//!
//! The function's code holds one offset, so that all its kernels must have
//! the constants at the same place: behind whatever any of them holds so far,
//! at the strictest alignment among them (case `ocg_alignment`).

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

use rustc_hash::FxHashMap;

use crate::arena::Arena;
use crate::cubin::{SectionFlags, section_name};
use crate::diagnostic::Diagnostic;
use crate::id::{FunctionId, SectionId, SymbolId};
use crate::merge::{
    BANK_LIMIT, Content, Contribution, Definition, NativeContent, NewSection, Relocation, Section,
    SectionKind,
};
use crate::options::{Behaviour, ResolvedRelocations};
use crate::prune::Pruned;
use crate::read::OPTIMIZER_BANK;

use super::Problems;
use super::visibility::Visibility;

/// Moves the constants of each device function, the one merged last first
/// (case `ocg_functions`). Says where the last ones are that no symbol leads to.
pub(super) fn layout<'d>(pruned: &mut Pruned<'d>, arena: &'d Arena, behaviour: Behaviour) -> u64 {
    let unnamed = place(pruned, arena, behaviour);
    forget_lost(pruned, behaviour);
    unnamed
}

/// Moves the constants. Returns where the last ones are that no symbol names.
fn place<'d>(pruned: &mut Pruned<'d>, arena: &'d Arena, behaviour: Behaviour) -> u64 {
    let is_constants = |kind| matches!(kind, SectionKind::Constant(_));
    let moved = pruned.merged.sections.of_kind(is_constants);
    let moved: Vec<SectionId> = moved
        .filter(|(_, section)| section.is_moved)
        .map(|(id, _)| id)
        .collect();
    let mut unnamed = 0;
    if moved.is_empty() {
        return unnamed;
    }
    let kernels: Vec<FunctionId> = pruned.starts();
    let seen_by = Visibility::new(pruned, &kernels);
    let mut banks = Banks::new(pruned, arena, behaviour);
    for section in moved.into_iter().rev() {
        let Some(function) = function_of(pruned, section) else {
            continue;
        };
        let seers = seen_by.kernels(&[function]);
        let seers: Vec<FunctionId> = seers.iter().map(|kernel| kernels[kernel]).collect();
        // Where the last definition has no constants, its kernels still get
        // equally long banks (case `ocg_leftovers`).
        let is_needed = pruned.merged.sections[section].content.size > 0
            || seers.iter().any(|&k| banks.is_filled(pruned, k, section));
        let seers = seers.into_iter().rev();
        if !is_needed {
            seers.for_each(|kernel| banks.expect(pruned, kernel, section));
            continue;
        }
        let filled: Vec<SectionId> = seers
            .map(|kernel| banks.of(pruned, kernel, section))
            .collect();
        // Without a kernel the constants are nowhere, and the code that needs
        // them finds them at 0 (case `ocg_address_taken`).
        if filled.is_empty() {
            continue;
        }
        let sections = &pruned.merged.sections;
        let align = std::iter::once(&section)
            .chain(&filled)
            .map(|&s| sections[s].content.align.max(1))
            .max()
            .unwrap_or(1);
        let end = filled.iter().map(|&bank| sections[bank].content.size).max();
        let offset = end.unwrap_or(0).next_multiple_of(align);
        let moving = Moving::new(&pruned.merged.sections[section], behaviour);
        for &bank in &filled {
            banks.take(pruned, bank, &moving, offset, align);
        }
        let row = &pruned.merged.sections[section];
        let size = row.content.size;
        if row.relocations.iter().any(|r| r.offset < size) {
            banks.relocate(pruned, &filled);
        }
        let row = &pruned.merged.sections[section];
        pruned.merged.symbols[row.symbol].value = offset;
        if let Some(start) = row.unnamed_constants() {
            unnamed = offset + start;
        }
    }
    banks.finish(pruned);
    unnamed
}

/// Mercury objects keep the addresses of tables that another definition
/// replaced, as far as its own constants reach (case `ocg_leftovers`). In constants of kernels, and
/// of definitions of functions that all lost, nvlink does not drop those further on, and fails (cases
/// `ocg_kernels` and `weak_kernel_constants`).
fn forget_lost(pruned: &mut Pruned<'_>, behaviour: Behaviour) {
    let is_bank = |kind| kind == SectionKind::Constant(OPTIMIZER_BANK);
    let banks = pruned.merged.sections.of_kind(is_bank);
    let banks: Vec<SectionId> = banks.map(|(id, _)| id).collect();
    for bank in banks {
        let merged = &pruned.merged;
        let size = merged.sections[bank].content.size;
        let fails = behaviour == Behaviour::Nvlink && size > 0 && !merged.sections[bank].is_moved;
        if !fails {
            let relocations = &mut pruned.merged.sections[bank].relocations;
            relocations.retain(|r| r.offset < size);
        }
    }
}

/// A bank has a fixed size (case `ocg_overflow`). nvlink lets equal constants
/// share a place before it gives up.
pub(super) fn check(pruned: &Pruned<'_>, behaviour: Behaviour, problems: &mut Problems) {
    let is_bank = |kind| matches!(kind, SectionKind::Constant(1..));
    for (id, section) in pruned.merged.sections.of_kind(is_bank) {
        if section.content.size > BANK_LIMIT
            && pruned.live.sections[id]
            && let Some(function) = function_of(pruned, id)
        {
            let symbol = pruned.merged.functions[function].symbol;
            let name = pruned.merged.symbols[symbol].name;
            // nvlink takes it from the section's name, which is longer in Mercury objects.
            let shown = match behaviour == Behaviour::Nvlink && pruned.merged.target.has_mercury() {
                true => Cow::Owned(format!("optimizer.{name}")),
                false => Cow::Borrowed(name),
            };
            let problem = Diagnostic::too_many_compiler_constants(&shown).of_symbol(name);
            problems.push((Some(id), problem));
        }
    }
}

fn function_of(pruned: &Pruned<'_>, section: SectionId) -> Option<FunctionId> {
    let code = pruned.merged.sections[section].target?;
    pruned.merged.sections[code].function
}

/// What a bank is found by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Owner<'d> {
    Kernel(FunctionId),
    /// nvlink looks for banks by name, so that static kernels of one name fill
    /// the first one (case `static_kernel_constants`).
    Name(&'d str),
}

impl<'d> Owner<'d> {
    fn of(pruned: &Pruned<'d>, kernel: FunctionId, behaviour: Behaviour) -> Self {
        match behaviour {
            Behaviour::Nvlink => Self::Name(pruned.merged.name_of(kernel)),
            Behaviour::Own => Self::Kernel(kernel),
        }
    }
}

/// The banks of the kernels.
struct Banks<'d> {
    arena: &'d Arena,
    behaviour: Behaviour,
    of_kernel: FxHashMap<(Owner<'d>, SectionKind), SectionId>,
    /// The sections for their relocations.
    relocations: FxHashMap<SectionId, SectionId>,
    /// Banks that are made before something moves there, and dropped again if nothing does.
    expected: Vec<SectionId>,
    /// The relocations of what has moved there, last one first.
    moved: BTreeMap<SectionId, Vec<Relocation>>,
    /// The names that lead to sections, once they are asked for.
    names: Option<FxHashMap<SectionId, Vec<SymbolId>>>,
}

impl<'d> Banks<'d> {
    fn new(pruned: &Pruned<'d>, arena: &'d Arena, behaviour: Behaviour) -> Self {
        let merged = &pruned.merged;
        let mut of_kernel: FxHashMap<_, SectionId> = FxHashMap::default();
        for (id, section) in merged
            .sections
            .of_kind(|kind| matches!(kind, SectionKind::Constant(_)))
        {
            if !section.is_moved
                && let Some(function) = function_of(pruned, id)
            {
                // A kernel's own last one, and the first kernel's of a name.
                let owner = Owner::of(pruned, function, behaviour);
                let bank = of_kernel.entry((owner, section.kind)).or_insert(id);
                if function_of(pruned, *bank) == Some(function) {
                    *bank = id;
                }
            }
        }
        let relocations = merged
            .sections
            .of_kind(|kind| kind == SectionKind::Rela)
            .filter_map(|(id, section)| Some((section.target?, id)))
            .collect();
        Self {
            arena,
            behaviour,
            of_kernel,
            relocations,
            expected: Vec::new(),
            moved: BTreeMap::new(),
            names: None,
        }
    }

    /// Whether the kernel has constants in the bank of `section`.
    fn is_filled(&self, pruned: &Pruned<'d>, kernel: FunctionId, section: SectionId) -> bool {
        let sections = &pruned.merged.sections;
        let bank = self.existing(pruned, kernel, sections[section].kind);
        bank.is_some_and(|bank| sections[bank].content.size > 0)
    }

    fn existing(
        &self,
        pruned: &Pruned<'d>,
        kernel: FunctionId,
        kind: SectionKind,
    ) -> Option<SectionId> {
        let owner = Owner::of(pruned, kernel, self.behaviour);
        self.of_kernel.get(&(owner, kind)).copied()
    }

    /// The bank of a kernel that takes what `section` holds, made if need be.
    fn of(&mut self, pruned: &mut Pruned<'d>, kernel: FunctionId, section: SectionId) -> SectionId {
        let kind = pruned.merged.sections[section].kind;
        if let Some(bank) = self.existing(pruned, kernel, kind) {
            // It may have been dropped because a replaced definition left it empty (case `ocg_leftovers`).
            self.revive(pruned, bank);
            if let Some(&relocations) = self.relocations.get(&bank) {
                self.revive(pruned, relocations);
            }
            return bank;
        }
        self.add(pruned, kernel, section)
    }

    /// Makes the bank in its turn, though nothing moves there so far: others may fill it (case
    /// `ocg_order`).
    fn expect(&mut self, pruned: &mut Pruned<'d>, kernel: FunctionId, section: SectionId) {
        let kind = pruned.merged.sections[section].kind;
        if self.existing(pruned, kernel, kind).is_none() {
            let bank = self.add(pruned, kernel, section);
            self.expected.push(bank);
        }
    }

    /// Brings back a section that was dropped, with the symbols that lie in it.
    fn revive(&mut self, pruned: &mut Pruned<'_>, section: SectionId) {
        if std::mem::replace(&mut pruned.live.sections[section], true) {
            return;
        }
        let names = self.names.get_or_insert_with(|| {
            let mut names: FxHashMap<SectionId, Vec<SymbolId>> = FxHashMap::default();
            for (id, symbol) in pruned.merged.symbols.enumerate() {
                if let Definition::Section(section) = symbol.definition {
                    names.entry(section).or_default().push(id);
                }
            }
            names
        });
        for &name in names.get(&section).into_iter().flatten() {
            pruned.live.symbols[name] = true;
        }
    }

    /// Puts a copy of what moves into the bank of a kernel.
    fn take(
        &mut self,
        pruned: &mut Pruned<'d>,
        bank: SectionId,
        moving: &Moving<'d>,
        offset: u64,
        align: u64,
    ) {
        let row = &mut pruned.merged.sections[bank];
        append(&mut row.content, &moving.content, offset, align);
        let relocations = self.moved.entry(bank).or_default();
        relocations.extend(moved(&moving.relocations, offset).rev());
        if let Some(native) = &moving.native {
            let twin = row.native.get_or_insert_default();
            append(&mut twin.content, &native.content, offset, align);
            twin.relocations.extend(moved(&native.relocations, offset));
            let unused = native.unused.iter();
            twin.unused
                .extend(unused.map(|part| part.start + offset..part.end + offset));
        }
    }

    /// Puts the relocations of what has moved where they stay, and leaves out what nothing filled.
    fn finish(self, pruned: &mut Pruned<'_>) {
        for (bank, mut moved) in self.moved {
            let own = &mut pruned.merged.sections[bank].relocations;
            // Before the kernel's own: the output lists relocations last one first.
            moved.reverse();
            moved.append(own);
            *own = moved;
        }
        for bank in self.expected {
            let row = &pruned.merged.sections[bank];
            if row.content.size == 0 {
                pruned.live.sections[bank] = false;
                pruned.live.symbols[row.symbol] = false;
            }
        }
    }

    fn add(
        &mut self,
        pruned: &mut Pruned<'d>,
        kernel: FunctionId,
        section: SectionId,
    ) -> SectionId {
        let row = &pruned.merged.sections[section];
        let (kind, flags) = (row.kind, row.flags.with(SectionFlags::INFO_LINK));
        let functions = &pruned.merged.functions;
        let name_of = |f: FunctionId| pruned.merged.name_of(f);
        let own_name = function_of(pruned, section).map_or("", name_of);
        let prefix = row.name.strip_suffix(own_name).unwrap_or(row.name);
        let name = self.arena.name(&[prefix, name_of(kernel)]);
        let code = functions[kernel].text;
        let bank = NewSection::new(name, kind, 1).with_flags(flags).of(code);
        let bank = pruned.add_section(bank);
        let owner = Owner::of(pruned, kernel, self.behaviour);
        self.of_kernel.insert((owner, kind), bank);
        bank
    }

    /// Makes the sections for the relocations of banks that lack them.
    fn relocate(&mut self, pruned: &mut Pruned<'d>, banks: &[SectionId]) {
        for &bank in banks {
            self.relocations.entry(bank).or_insert_with(|| {
                let bank_name = pruned.merged.sections[bank].name;
                let name = self.arena.name(&[section_name::RELA_OF, bank_name]);
                let section = pruned.add_section(NewSection::list(name, SectionKind::Rela, bank));
                let records =
                    pruned.merged.settings.resolved_relocations == ResolvedRelocations::Recorded;
                if records && pruned.merged.target.has_mercury() {
                    let name = self.arena.name(&[section_name::RESOLVED_OF, bank_name]);
                    pruned.add_section(NewSection::list(name, SectionKind::ResolvedRela, bank));
                }
                section
            });
        }
    }
}

/// The constants of a device function as they move.
struct Moving<'d> {
    content: Content<'d>,
    relocations: Vec<Relocation>,
    native: Option<Box<NativeContent<'d>>>,
}

impl<'d> Moving<'d> {
    fn new(section: &Section<'d>, behaviour: Behaviour) -> Self {
        let mut section = section.clone();
        // nvlink has left out what stands behind names in their section, and moves a second section without names.
        if behaviour == Behaviour::Own {
            forget_unnamed(&mut section);
        }
        let mut relocations = by_piece(&section.relocations, section.pieces());
        relocations.retain(|r| r.offset < section.content.size);
        Self {
            content: section.content,
            relocations,
            native: section.native,
        }
    }
}

/// After the constants that symbols name, relocatable objects have those of definitions that lost. These do not move (case
/// `relocatable_lost_constants`).
fn forget_unnamed(source: &mut Section<'_>) {
    let end = source.pieces().iter().map(|piece| piece.end).max();
    let is_lost = source.unused_constants().is_none();
    let Some(end) = end.filter(|&end| end < source.content.size && is_lost) else {
        return;
    };
    let native = source.native.iter_mut();
    let native = native.map(|native| (&mut native.content, &mut native.relocations));
    let own = std::iter::once((&mut source.content, &mut source.relocations));
    for (content, relocations) in own.chain(native) {
        content.size = content.size.min(end);
        for part in content.contributions.iter_mut() {
            let rest = end.saturating_sub(part.offset) as usize;
            part.data = &part.data[..part.data.len().min(rest)];
        }
        relocations.retain(|relocation| relocation.offset < end);
    }
}

/// Relocations constant by constant, in the order of their places: so they move (cases
/// `jump_table` and `ocg_table_order`).
fn by_piece(relocations: &[Relocation], pieces: &[Range<u64>]) -> Vec<Relocation> {
    let mut starts: Vec<u64> = pieces.iter().map(|piece| piece.start).collect();
    starts.sort_unstable();
    let mut ordered = relocations.to_vec();
    ordered.sort_by_key(|relocation| starts.partition_point(|&start| start <= relocation.offset));
    ordered
}

fn moved(relocations: &[Relocation], offset: u64) -> impl DoubleEndedIterator<Item = Relocation> {
    relocations.iter().map(move |relocation| Relocation {
        offset: relocation.offset.wrapping_add(offset),
        ..*relocation
    })
}

fn append<'d>(bank: &mut Content<'d>, source: &Content<'d>, offset: u64, align: u64) {
    let parts = source.contributions.iter();
    bank.contributions
        .to_mut()
        .extend(parts.map(|part| Contribution {
            offset: part.offset + offset,
            ..*part
        }));
    bank.size = (offset + source.size).next_multiple_of(align);
    bank.align = align;
}
