//! Texture, sampler and surface references: four bytes each behind the
//! parameters of a kernel.
//!
//! The driver puts a handle there. Code holds the offset, so that it is the
//! same in all kernels: behind the longest parameters of the program. Mercury
//! code counts from the first handle instead, in a bank of its own.

use std::cell::LazyCell;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::arch::relocation::RelocationType;
use crate::arena::Arena;
use crate::bits::Bits;
use crate::cubin::{Binding, SectionFlags, SymbolType, section_name};
use crate::id::{FunctionId, SectionId, SymbolId};
use crate::list_sort::list_sort;
use crate::merge::{
    Definition, Form, NativeContent, NewSection, ParameterBank, Relocation, Section, SectionKind,
};
use crate::options::Behaviour;
use crate::prune::Pruned;
use crate::read::HANDLES_BANK;

use super::visibility::Visibility;

const SLOT: u64 = 4;
/// Where the handles may start in images of the Mercury generation.
const MERCURY_ALIGN: u64 = 16;
/// What the driver has before parameters in that generation.
const DRIVER: u64 = 0x380;
/// The bank of handles in Mercury objects.
const HANDLES: SectionKind = SectionKind::Constant(HANDLES_BANK);

/// Where the handles are that the driver fills in.
#[derive(Debug, Default)]
pub(crate) struct TextureSlots {
    /// Behind the longest parameters.
    start: u64,
    /// Offsets from there.
    offsets: FxHashMap<SymbolId, u64>,
    /// The code of kernels with handles of their own.
    with_own: FxHashSet<SectionId>,
}

impl TextureSlots {
    /// Whether the program has a handle for `symbol`.
    pub(crate) fn contains(&self, symbol: SymbolId) -> bool {
        self.offsets.contains_key(&symbol)
    }

    /// Whether it is code of a whole program, whose handles the compiler has placed.
    pub(crate) fn are_placed_for(&self, code: SectionId) -> bool {
        self.with_own.contains(&code)
    }

    /// The offset of the first one in a kernel's bank 0.
    pub(crate) fn first(&self) -> u64 {
        self.start
    }

    /// The offset in a kernel's bank 0.
    pub(crate) fn behind_parameters(&self, symbol: SymbolId) -> Option<u64> {
        Some(self.start + self.among_handles(symbol)?)
    }

    /// The offset from the first handle.
    pub(crate) fn among_handles(&self, symbol: SymbolId) -> Option<u64> {
        self.offsets.get(&symbol).copied()
    }
}

/// A kernel's parameters.
struct Kernel {
    function: FunctionId,
    bank: Bank,
    size: u64,
}

/// What the handles of a kernel stand in.
enum Bank {
    Section(SectionId),
    /// A bank that is still to be made, in the Mercury generation.
    ToBeMade,
    /// The bank of a whole program, which has handles already.
    Own,
}

/// Gives every reference of the program, used or not, a slot in every kernel
/// that reaches code with one (cases `texture_slots` and `texture_users`).
pub(super) fn layout<'d>(
    pruned: &mut Pruned<'d>,
    arena: &'d Arena,
    behaviour: Behaviour,
) -> TextureSlots {
    if behaviour == Behaviour::Own {
        pruned.move_texture_parameters();
    }
    let references = references(pruned);
    if references.is_empty() {
        return TextureSlots::default();
    }
    let kernels = kernels(pruned);
    let start = start(pruned, &kernels);
    let own = OwnTables::of(pruned);
    own.place(pruned, start);
    let offsets = (own.longest(pruned)..).step_by(SLOT as usize);
    let slots: Vec<(SymbolId, u64)> = references.into_iter().zip(offsets).collect();
    let is_sampler = |symbol| pruned.merged.symbols[symbol].kind == SymbolType::SAMPLER;
    let but_samplers = slots.iter().filter(|(symbol, _)| !is_sampler(*symbol));
    let but_samplers: Vec<_> = but_samplers.copied().collect();
    let end = start + own.longest(pruned) + SLOT * slots.len() as u64;
    let users = users(pruned, &kernels);
    let (users, lost) = match behaviour {
        Behaviour::Nvlink => (
            first_of_names(pruned, &kernels, users),
            lost_names(pruned, &slots),
        ),
        Behaviour::Own => (users, FxHashSet::default()),
    };
    for (kernel, of) in users {
        let table = Table {
            slots: match of {
                Handles::All => &slots,
                Handles::ButSamplers => &but_samplers,
            },
            behaviour,
            lost: &lost,
            start,
            end,
        };
        match kernel.bank {
            Bank::Section(bank) => {
                let form = match pruned.merged.added_lists.contains_key(&bank) {
                    true => Form::Added,
                    false => Form::Rel,
                };
                let handles = table.relocations(pruned, kernel.function, start, form, native_type);
                let section = &mut pruned.merged.sections[bank];
                section.content.size = end;
                section.relocations.extend(handles);
            }
            Bank::ToBeMade => make_bank(pruned, arena, kernel.function, &table),
            Bank::Own => {}
        }
    }
    TextureSlots {
        start,
        offsets: slots.into_iter().collect(),
        with_own: own.code(pruned),
    }
}

/// The handles of a kernel in its bank.
struct Table<'s> {
    /// What has one, and where it is behind the first.
    slots: &'s [(SymbolId, u64)],
    behaviour: Behaviour,
    /// What nvlink does not tell the driver about.
    lost: &'s FxHashSet<SymbolId>,
    /// Where the first is.
    start: u64,
    /// Where the last ends.
    end: u64,
}

impl Table<'_> {
    /// What the driver is to put where in the bank of a kernel, if the first handle is at `start`. Parameters have their
    /// place in all banks, and are those of the kernel in whose code they lie. Other kernels of its file may use them, too,
    /// of which nvlink knows nothing.
    fn relocations(
        &self,
        pruned: &Pruned<'_>,
        kernel: FunctionId,
        start: u64,
        form: Form,
        kind: impl Fn(SymbolType) -> RelocationType,
    ) -> Vec<Relocation> {
        let relocation = |&(symbol, offset): &(SymbolId, u64)| Relocation {
            offset: start + offset,
            kind: kind(pruned.merged.symbols[symbol].kind).0,
            symbol,
            addend: 0,
            form,
            discarded: false,
        };
        let code = pruned.merged.functions[kernel].text;
        let home = code.map(Definition::Section);
        let used = LazyCell::new(|| -> FxHashSet<SymbolId> {
            let relocations = code.iter();
            let relocations = relocations.flat_map(|&c| &pruned.merged.sections[c].relocations);
            relocations.map(|relocation| relocation.symbol).collect()
        });
        let is_seen = |&&(id, _): &&(SymbolId, u64)| {
            let symbol = &pruned.merged.symbols[id];
            let is_own = symbol.binding != Binding::LOCAL || Some(symbol.definition) == home;
            match self.behaviour {
                Behaviour::Nvlink => is_own && !self.lost.contains(&id),
                Behaviour::Own => is_own || used.contains(&id),
            }
        };
        let seen = self.slots.iter().filter(is_seen);
        seen.map(relocation).collect()
    }
}

/// The slots of a relocatable link, which nobody has yet. Code of Mercury
/// images finds the first of them all the same.
pub(super) fn layout_relocatable(pruned: &mut Pruned<'_>) -> TextureSlots {
    let start = start(pruned, &kernels(pruned));
    let own = OwnTables::of(pruned);
    own.place(pruned, start);
    TextureSlots {
        start,
        offsets: FxHashMap::default(),
        with_own: own.code(pruned),
    }
}

/// The handles of whole programs, which have tables of those alone that they use, and keep them. They start
/// where those of the program do, which come behind them (case `whole_program_textures`).
struct OwnTables(Vec<SectionId>);

impl OwnTables {
    fn of(pruned: &Pruned<'_>) -> Self {
        let tables = pruned.merged.sections.of_kind(|kind| kind == HANDLES);
        let live = tables.filter(|&(id, _)| pruned.live.sections[id]);
        Self(live.map(|(id, _)| id).collect())
    }

    /// Moves them behind the parameters of all kernels.
    fn place(&self, pruned: &mut Pruned<'_>, start: u64) {
        for &table in &self.0 {
            let section = &mut pruned.merged.sections[table];
            let Some(old) = parameters_before(section) else {
                continue;
            };
            let size = section.content.size;
            if let Some(native) = &mut section.native {
                for relocation in &mut native.relocations {
                    relocation.offset = relocation.offset.wrapping_sub(old).wrapping_add(start);
                }
                native.content.size = start + size;
            }
        }
    }

    /// What the longest takes.
    fn longest(&self, pruned: &Pruned<'_>) -> u64 {
        let sizes = self
            .0
            .iter()
            .map(|&id| pruned.merged.sections[id].content.size);
        sizes.max().unwrap_or(0)
    }

    fn code(&self, pruned: &Pruned<'_>) -> FxHashSet<SectionId> {
        let sections = &pruned.merged.sections;
        self.0
            .iter()
            .filter_map(|&id| sections[id].target)
            .collect()
    }
}

/// Where the handles of a whole program start in its bank 0.
fn parameters_before(table: &Section<'_>) -> Option<u64> {
    let native = table.native.as_ref()?;
    native.content.size.checked_sub(table.content.size)
}

/// Where the handles start.
fn start(pruned: &Pruned<'_>, kernels: &[Kernel]) -> u64 {
    // Without kernels nothing comes before them but, in Mercury images, what
    // the driver has at the start of bank 0 (case `texture_no_kernel`).
    let (least, align) = match pruned.merged.target.has_mercury() {
        true => (DRIVER, MERCURY_ALIGN),
        false => (0, SLOT),
    };
    let sizes = kernels.iter().map(|kernel| kernel.size);
    sizes.max().unwrap_or(least).next_multiple_of(align)
}

/// Makes the bank of handles of a kernel. Its native twin is bank 0, and has
/// the parameters before the handles.
fn make_bank<'d>(pruned: &mut Pruned<'d>, arena: &'d Arena, kernel: FunctionId, table: &Table<'_>) {
    const FLAGS: SectionFlags = SectionFlags::ALLOC.with(SectionFlags::INFO_LINK);
    let row = &pruned.merged.functions[kernel];
    let Some(ParameterBank::Native(parameters)) = row.parameters() else {
        return;
    };
    let name = pruned.merged.symbols[row.symbol].name;
    let name = arena.name(&[".nv.constant.entry_image_header_indices.", name]);
    let relocations_name = arena.name(&[section_name::RELA_OF, name]);
    let code = row.text;
    let bank = pruned.add_section(
        NewSection::new(name, HANDLES, SLOT)
            .with_flags(FLAGS)
            .of(code),
    );
    // The symbol of the relocations comes before the bank's own.
    let own = pruned.merged.symbols.locals.pop();
    pruned.add_section(NewSection::list(relocations_name, SectionKind::Rela, bank));
    pruned.merged.symbols.locals.extend(own);

    let mut native = NativeContent::default();
    let content = &mut native.content;
    content.append(parameters.data, parameters.size, parameters.align);
    content.size = table.end;
    native.relocations = table.relocations(pruned, kernel, table.start, Form::Rela, twin_type);
    let handles = table.relocations(pruned, kernel, 0, Form::Rela, mercury_type);
    let section = &mut pruned.merged.sections[bank];
    section.content.size = table.end - table.start;
    section.relocations = handles;
    section.native = Some(Box::new(native));
    let native = &mut pruned.merged.functions[kernel].native;
    native.get_or_insert_default().parameters = Some(ParameterBank::Twin(bank));
}

/// The references in the order of their slots: surfaces, samplers, textures,
/// each kind in the order in which files name them, pushed onto one list that goes
/// through the list sort although nothing is to be sorted.
fn references(pruned: &Pruned<'_>) -> Vec<SymbolId> {
    let symbols = &pruned.merged.symbols;
    let is_live = |id| symbols[id].binding != Binding::LOCAL || pruned.live.symbols[id];
    let of_kinds = symbols.enumerate();
    let of_kinds = of_kinds.filter(|&(id, symbol)| symbol.kind.is_reference() && is_live(id));
    let all: Vec<SymbolId> = of_kinds.map(|(id, _)| id).collect();
    let mut list = Vec::new();
    for kind in [
        SymbolType::SURFACE,
        SymbolType::SAMPLER,
        SymbolType::TEXTURE,
    ] {
        let of_kind = all.iter().filter(|&&symbol| symbols[symbol].kind == kind);
        list.extend(of_kind);
    }
    list.reverse();
    list_sort(list, |_, _| true)
}

/// All kernels with parameters, in the order of their banks.
fn kernels(pruned: &Pruned<'_>) -> Vec<Kernel> {
    let merged = &pruned.merged;
    let of_bank = |(id, section): (SectionId, &Section<'_>)| {
        let function = merged.sections[section.target?].function?;
        Some(Kernel {
            function,
            bank: Bank::Section(id),
            size: section.content.size,
        })
    };
    let of_code = |section: &Section<'_>| {
        let function = section.function?;
        let (bank, size) = match merged.functions[function].parameters()? {
            ParameterBank::Native(section) => (Bank::ToBeMade, section.size),
            ParameterBank::Twin(table) => {
                let size = parameters_before(&merged.sections[table])?;
                (Bank::Own, size)
            }
        };
        Some(Kernel {
            function,
            bank,
            size,
        })
    };
    let is_live = |(id, _): &(SectionId, &Section<'_>)| pruned.live.sections[*id];
    match merged.target.has_mercury() {
        true => {
            let live = merged.sections.enumerate().filter(is_live);
            live.filter_map(|(_, section)| of_code(section)).collect()
        }
        false => {
            let banks = merged
                .sections
                .of_kind(|kind| kind == SectionKind::Constant(0));
            banks.filter(is_live).filter_map(of_bank).collect()
        }
    }
}

/// Which handles the driver fills in for a kernel; all have their place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Handles {
    All,
    /// Where it reaches neither a sampler nor a surface.
    ButSamplers,
}

/// The kernels that reach code with a reference. A program's only kernel is
/// taken to reach all code, dead or not (case `texture_one_kernel`); beside it,
/// kernels that were left out count up to sm_90 (case `force_rela`). These reach no
/// code but their own (case `relocatable_textures`). Where all code that it is taken to reach has
/// textures alone, there are no samplers for it either (case `texture_samplers`).
fn users<'k>(pruned: &Pruned<'_>, kernels: &'k [Kernel]) -> Vec<(&'k Kernel, Handles)> {
    let (mut users, mut of_others) = (Vec::new(), Vec::new());
    for section in pruned.merged.sections.iter() {
        let Some(function) = section.function else {
            continue;
        };
        let symbols = section.relocations.iter().map(|r| r.symbol);
        let kinds = symbols.map(|symbol| pruned.merged.symbols[symbol].kind);
        let mut references = kinds.filter(|kind| kind.is_reference()).peekable();
        if references.peek().is_some() {
            users.push(function);
        }
        if references.any(|kind| kind != SymbolType::TEXTURE) {
            of_others.push(function);
        }
    }
    if users.is_empty() {
        return Vec::new();
    }
    let lone = pruned.lone_kernel();
    let functions: Vec<FunctionId> = kernels.iter().map(|kernel| kernel.function).collect();
    let (seers, seers_of_others) = match pruned.merged.target.has_mercury() && lone.is_some() {
        true => (Bits::default(), Bits::default()),
        false => {
            let visibility = Visibility::new(pruned, &functions);
            (visibility.kernels(&users), visibility.kernels(&of_others))
        }
    };
    let mut sees: Vec<Option<Handles>> = vec![None; kernels.len()];
    for (seers, handles) in [
        (seers, Handles::ButSamplers),
        (seers_of_others, Handles::All),
    ] {
        for kernel in seers.iter() {
            sees[kernel] = Some(handles);
        }
    }
    let of_lone = match of_others.is_empty() {
        true => Handles::ButSamplers,
        false => Handles::All,
    };
    let uses_any: FxHashSet<FunctionId> = users.into_iter().collect();
    kernels
        .iter()
        .zip(sees)
        .filter_map(|(kernel, sees)| match Some(kernel.function) == lone {
            true => Some((kernel, of_lone)),
            false => Some((kernel, sees?)),
        })
        .filter(|(kernel, _)| {
            pruned.live.entries[kernel.function] || uses_any.contains(&kernel.function)
        })
        .collect()
}

/// nvlink makes the banks of Mercury images for names, and so for the first kernel of each alone (case
/// `static_kernel_textures`).
fn first_of_names<'k>(
    pruned: &Pruned<'_>,
    kernels: &[Kernel],
    users: Vec<(&'k Kernel, Handles)>,
) -> Vec<(&'k Kernel, Handles)> {
    if !pruned.merged.target.has_mercury() {
        return users;
    }
    let mut first = FxHashMap::default();
    for kernel in kernels {
        let name = pruned.merged.name_of(kernel.function);
        first.entry(name).or_insert(kernel.function);
    }
    let is_first = |(kernel, _): &(&Kernel, Handles)| {
        first[pruned.merged.name_of(kernel.function)] == kernel.function
    };
    users.into_iter().filter(is_first).collect()
}

/// Parameters that nvlink does not find since something that all files know took their name (case
/// `texture_parameters`).
fn lost_names(pruned: &Pruned<'_>, slots: &[(SymbolId, u64)]) -> FxHashSet<SymbolId> {
    let symbols = &pruned.merged.symbols;
    let slots = slots.iter().map(|&(symbol, _)| symbol);
    let parameters: FxHashMap<&str, SymbolId> = slots
        .filter(|&symbol| symbols[symbol].binding == Binding::LOCAL)
        .map(|symbol| (symbols[symbol].name, symbol))
        .collect();
    if parameters.is_empty() {
        return FxHashSet::default();
    }
    let known = symbols
        .iter()
        .filter(|symbol| symbol.binding != Binding::LOCAL);
    known
        .filter_map(|symbol| parameters.get(symbol.name).copied())
        .collect()
}

/// The relocation type by which the driver fills a slot, up to sm_90.
fn native_type(kind: SymbolType) -> RelocationType {
    match kind {
        SymbolType::SURFACE => RelocationType::R_CUDA_SURF_HEADER_INDEX,
        SymbolType::SAMPLER => RelocationType::R_CUDA_SAMP_HEADER_INDEX,
        _ => RelocationType::R_CUDA_TEX_HEADER_INDEX,
    }
}

/// The relocation type of a slot in the native bank of a Mercury image.
fn twin_type(kind: SymbolType) -> RelocationType {
    match kind {
        SymbolType::SAMPLER => RelocationType::R_CUDA_SAMP_HEADER_INDEX_0,
        _ => native_type(kind),
    }
}

/// The relocation type of a slot in the Mercury world.
fn mercury_type(kind: SymbolType) -> RelocationType {
    match kind {
        SymbolType::SURFACE => RelocationType::R_MERCURY_SURF_HEADER_INDEX,
        SymbolType::SAMPLER => RelocationType::R_MERCURY_SAMP_HEADER_INDEX,
        _ => RelocationType::R_MERCURY_TEX_HEADER_INDEX,
    }
}
