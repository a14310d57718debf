//! Names of sections and symbols of both worlds.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::cubin::{Binding, section_name};
use crate::finalize::Finalized;
use crate::id::{FunctionId, SectionId};
use crate::merge::{Merged, SectionKind};
use crate::name_table::NameTable;
use crate::read::HANDLES_BANK;

use super::layout::{Layout, NumberTables, Twin};

/// Constant banks: the Mercury world names them by their purpose, the native
/// one by their numbers.
const BANKS: [(&str, &str); 4] = [
    (".nv.constant.user", ".nv.constant3"),
    (".nv.constant.pic", ".nv.constant4"),
    (".nv.constant.optimizer", ".nv.constant2"),
    (".nv.constant.entry_image_header_indices", ".nv.constant0"),
];
/// The Mercury symbol table.
const SYMBOL_TABLE: &str = ".nv.merc.symtab";
/// The tables of section numbers.
const NATIVE_NUMBERS: &str = ".symtab_shndx";
const MERCURY_NUMBERS: &str = ".nv.merc.symtab_shndx";

/// The native spelling of a section name, where it differs.
pub(super) fn native_name(name: &str) -> Option<String> {
    shared_native_name(name, 0)
}

/// The native spelling of the name that this section and so many before it share. nvlink
/// renames them one by one, and takes for the owner's name what stands where it was in
/// the longer spelling (case `ocg_leftovers`).
fn shared_native_name(name: &str, before: usize) -> Option<String> {
    // Relocations without addends keep the Mercury name: there never are any.
    let (prefix, bank) = match name.strip_prefix(section_name::RELA_OF) {
        Some(bank) => (section_name::RELA_OF, bank),
        None => ("", name),
    };
    let renamed = |(mercury, native): &(&str, &str)| {
        let rest = bank.strip_prefix(mercury)?;
        let (dot, owner) = rest.split_at_checked(1).unwrap_or_default();
        let lost = before * (mercury.len() - native.len());
        let owner = owner.get(lost..).unwrap_or_default();
        Some(format!("{prefix}{native}{dot}{owner}"))
    };
    BANKS.iter().find_map(renamed)
}

/// Where a name stands that is written again.
#[derive(Clone, Copy, Default)]
struct Repeated {
    /// In `.strtab`.
    symbol: u32,
    /// In `.shstrtab`.
    section: u32,
}

/// The kernels whose parameter banks have the name of an earlier one: nvlink writes it
/// again (case `static_kernels`).
fn kernels_again(merged: &Merged<'_>, layout: &Layout) -> FxHashSet<FunctionId> {
    let is_static = |&function: &FunctionId| {
        merged.symbols[merged.functions[function].symbol].binding == Binding::LOCAL
    };
    if !layout.parameters.iter().any(is_static) {
        return FxHashSet::default();
    }
    let mut seen = FxHashSet::default();
    let kernels = layout.parameters.iter().copied();
    kernels
        .filter(|&function| {
            let bank = merged.functions[function].own_parameters();
            bank.is_some_and(|bank| !seen.insert(bank.name))
        })
        .collect()
}

/// The sections for the relocations of handles, which are named with these in executables, though those of a whole program
/// are made later (case `whole_program_textures`).
fn relocations_of_handles(finalized: &Finalized<'_>) -> FxHashMap<SectionId, SectionId> {
    let merged = finalized.merged();
    if !merged.is_executable() {
        return FxHashMap::default();
    }
    let is_bank =
        |bank: &SectionId| merged.sections[*bank].kind == SectionKind::Constant(HANDLES_BANK);
    let lists = merged.sections.of_kind(|kind| kind == SectionKind::Rela);
    lists
        .filter_map(|(list, section)| Some((section.target.filter(is_bank)?, list)))
        .collect()
}

/// Both string tables.
pub(super) struct Names<'n> {
    pub(super) symbols: NameTable,
    /// Zero bytes behind `.strtab`.
    pub(super) symbols_padding: u64,
    /// Where the native names of renamed banks stand.
    bank_symbols: FxHashMap<SectionId, u32>,
    /// Where the names of parameter banks stand that an earlier one has, too.
    repeated: FxHashMap<FunctionId, Repeated>,
    sections: NameTable,
    offsets: FxHashMap<&'n str, u32>,
    /// Names of the Mercury sections, in their order; equal ones stand twice.
    twins: Vec<u32>,
    symbol_table: u32,
    /// Where the names of tables of section numbers stand that images of few
    /// sections do not have, or 0.
    pub(super) added_numbers: u32,
    pub(super) mercury_numbers: u32,
    /// Sizes of `.shstrtab` and `.strtab` before native names were added.
    pub(super) linked_size: u64,
    pub(super) linked_symbols_size: u64,
}

impl<'n> Names<'n> {
    pub(super) fn new(
        finalized: &'n Finalized<'_>,
        layout: &Layout,
        mut symbols: NameTable,
    ) -> Self {
        let merged = finalized.merged();
        let linked_symbols_size = symbols.size();
        let Banks { offsets, padding } = Banks::name(finalized, layout, &mut symbols);
        let again = kernels_again(merged, layout);
        let mut repeated: FxHashMap<FunctionId, Repeated> = FxHashMap::default();
        for &function in &layout.parameters {
            if let Some(bank) = merged.functions[function].own_parameters() {
                if again.contains(&function) {
                    repeated.entry(function).or_default().symbol =
                        symbols.append(bank.name, bank.name.len());
                } else {
                    symbols.add(bank.name);
                }
            }
        }
        let mut names = Self {
            symbols,
            symbols_padding: padding,
            bank_symbols: offsets,
            repeated,
            sections: NameTable::with_room(0),
            offsets: FxHashMap::default(),
            twins: Vec::with_capacity(layout.twins.len()),
            symbol_table: 0,
            added_numbers: 0,
            mercury_numbers: 0,
            linked_size: 0,
            linked_symbols_size,
        };
        names.add_native_sections(finalized, layout);
        names.linked_size = names.sections.size();
        names.add_sections(merged, layout);
        names
    }

    /// Names the sections that the link made before it made an image of the Mercury generation.
    fn add_native_sections(&mut self, finalized: &'n Finalized<'_>, layout: &Layout) {
        let pruned = finalized.pruned();
        let sections = &pruned.merged.sections;
        let mut last_of_name: FxHashMap<&str, usize> = FxHashMap::default();
        for (id, section) in sections.enumerate() {
            if layout.is_written(id) && native_name(section.name).is_some() {
                let before = last_of_name.get(section.name).map(|&before| before + 1);
                last_of_name.insert(section.name, before.unwrap_or_default());
            }
        }
        let relocations = relocations_of_handles(finalized);
        for (id, section) in sections.enumerate() {
            let behind = relocations.get(&id).map(|&list| (list, &sections[list]));
            for (id, section) in [(id, section)].into_iter().chain(behind) {
                if pruned.live.sections[id] {
                    let before = last_of_name.get(section.name);
                    let native =
                        before.and_then(|&before| shared_native_name(section.name, before));
                    self.add_section(section.name, native.as_deref());
                }
            }
        }
    }

    /// Names the sections that only such an image has.
    fn add_sections(&mut self, merged: &'n Merged<'_>, layout: &Layout) {
        if layout.number_tables == NumberTables::Added {
            self.added_numbers = self.append(NATIVE_NUMBERS);
        }
        for &function in &layout.parameters {
            let Some(bank) = merged.functions[function].own_parameters() else {
                continue;
            };
            match self.repeated.contains_key(&function) {
                true => {
                    let section = self.append(bank.name);
                    self.repeated.entry(function).or_default().section = section;
                }
                false => self.add_section(bank.name, None),
            }
        }
        for index in 0..=layout.twins.len() {
            if layout.number_table() == Some(index) {
                self.mercury_numbers = self.append(MERCURY_NUMBERS);
            }
            if let Some(&(twin, id)) = layout.twins.get(index) {
                let name = merged.sections[id].name;
                let offset = self.sections.append_joined(mercury_prefix(twin), name);
                self.twins.push(offset);
            }
        }
        self.symbol_table = self.append(SYMBOL_TABLE);
    }

    fn append(&mut self, name: &str) -> u32 {
        self.sections.append(name, name.len())
    }

    /// Zero bytes behind `.shstrtab`: the room of names that only tables have
    /// which are added.
    pub(super) fn sections_padding(&self) -> u64 {
        match self.added_numbers {
            0 => (NATIVE_NUMBERS.len() + MERCURY_NUMBERS.len() + 2) as u64,
            _ => 0,
        }
    }

    /// A renamed section keeps the room of its Mercury name, and one that is
    /// not written keeps the name itself.
    fn add_section(&mut self, name: &'n str, native: Option<&str>) {
        let sections = &mut self.sections;
        let add = || sections.append(native.unwrap_or(name), name.len());
        self.offsets.entry(name).or_insert_with(add);
    }

    /// Where the name of a section stands.
    pub(super) fn native(&self, name: &str) -> u32 {
        self.offsets.get(name).copied().unwrap_or(0)
    }

    /// Where the native name of a constant bank stands among those of symbols.
    pub(super) fn bank(&self, section: SectionId) -> u32 {
        self.bank_symbols.get(&section).copied().unwrap_or(0)
    }

    /// Where the name of a kernel's parameter bank stands among those of symbols.
    pub(super) fn parameters_symbol(&self, function: FunctionId, name: &str) -> u32 {
        let repeated = self.repeated.get(&function);
        repeated.map_or_else(|| self.symbols.offset(name), |repeated| repeated.symbol)
    }

    /// Where the name of a kernel's parameter bank stands.
    pub(super) fn parameters(&self, function: FunctionId, name: &str) -> u32 {
        let repeated = self.repeated.get(&function);
        repeated.map_or_else(|| self.native(name), |repeated| repeated.section)
    }

    /// Where the name of the Mercury section at `index` stands.
    pub(super) fn mercury(&self, index: usize) -> u32 {
        self.twins[index]
    }

    /// Where the name of the Mercury symbol table stands.
    pub(super) fn symbol_table(&self) -> u32 {
        self.symbol_table
    }

    /// `.shstrtab` and `.strtab`.
    pub(super) fn into_bytes(self) -> (Vec<u8>, Vec<u8>) {
        (self.sections.into_bytes(), self.symbols.into_bytes())
    }
}

/// The symbols of constant banks, whose native names differ.
struct Banks {
    /// Where their names stand in `.strtab`.
    offsets: FxHashMap<SectionId, u32>,
    /// The zero bytes behind that.
    padding: u64,
}

impl Banks {
    fn name(finalized: &Finalized<'_>, layout: &Layout, symbols: &mut NameTable) -> Self {
        let relocated = &finalized.relocated;
        let mut offsets = FxHashMap::default();
        let mut padding = 0;
        let banks = finalized
            .merged()
            .sections
            .of_kind(|kind| matches!(kind, SectionKind::Constant(_)));
        for (id, section) in banks.filter(|&(id, _)| layout.is_written(id)) {
            let Some(native) = native_name(section.name) else {
                continue;
            };
            // One less than the name got shorter, and the whole name of its relocations. Both are measured (cases
            // `lineinfo`, `preserve_relocs`, `jump_table` and `texture_users`).
            padding += (section.name.len() - native.len()) as u64 - 1;
            offsets.insert(id, symbols.append(&native, native.len()));
            let native = relocated.native[id].iter().flat_map(|native| &native.kept);
            let mut kept = relocated.sections[id].kept.iter().chain(native);
            if kept.next().is_some() {
                padding += (section_name::RELA_OF.len() + section.name.len()) as u64;
            }
        }
        Self { offsets, padding }
    }
}

/// What the name of a section begins with in the Mercury world.
fn mercury_prefix(twin: Twin) -> &'static str {
    match twin {
        Twin::Code => section_name::MERCURY_CODE_OF,
        Twin::Debug | Twin::Info | Twin::Relocations | Twin::Data | Twin::ReservedShared => {
            section_name::MERCURY_OF
        }
    }
}
