//! Names and symbols of both worlds.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::arch::reserved;
use crate::cubin::{Binding, Place, SymbolOther, SymbolType};
use crate::finalize::Finalized;
use crate::id::{FunctionId, SectionId};
use crate::merge::{Definition, Merged, SectionKind, Symbol};
use crate::name_table::NameTable;
use crate::options::UndefinedGlobals;

use super::super::encode::{self, SymbolEntry};
use super::super::numbering::SymbolNumbers;
use super::super::sections::{number_made_or_known, symbol_sections};
use super::{Layout, NumberTables, Twin};

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
/// Undefined symbols that stand for reserved shared memory, with the value
/// they have in the native symbol table.
const RESERVED: [(&str, u64); 3] = [
    (".nv.reservedSmem.begin", 0),
    (".nv.reservedSmem.offset0", 0x40),
    (".nv.reservedSmem.cap", 0x400),
];

/// The native spelling of a section name, where it differs.
fn native_name(name: &str) -> Option<String> {
    shared_native_name(name, 0)
}

/// The native spelling of the name that this section and so many before it share. nvlink
/// renames them one by one, and takes for the owner's name what stands where it was in
/// the longer spelling (case `ocg_leftovers`).
fn shared_native_name(name: &str, before: usize) -> Option<String> {
    // Relocations without addends keep the Mercury name: there never are any.
    let (prefix, bank) = match name.strip_prefix(".rela") {
        Some(bank) => (".rela", bank),
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
        let pruned = finalized.pruned();
        let merged = &pruned.merged;
        let linked_symbols_size = symbols.size();
        let mut symbols_padding = 0;
        let mut bank_symbols = FxHashMap::default();
        let is_written = |id| layout.native.number[id] != 0;
        for (id, section) in merged.sections.enumerate() {
            let is_bank = matches!(section.kind, SectionKind::Constant(_));
            let Some(native) = native_name(section.name) else {
                continue;
            };
            if !is_bank || !is_written(id) {
                continue;
            }
            // Zero bytes behind the table: one less than the name got shorter,
            // and the whole name of its relocations. Both are measured (cases
            // `lineinfo`, `preserve_relocs`, `jump_table` and `texture_users`).
            symbols_padding += (section.name.len() - native.len()) as u64 - 1;
            let offset = symbols.append(&native, native.len());
            bank_symbols.insert(id, offset);
            let relocated = &finalized.relocated;
            let native = relocated.native[id].iter().flat_map(|native| &native.kept);
            let mut kept = relocated.sections[id].kept.iter().chain(native);
            if kept.next().is_some() {
                symbols_padding += (".rela".len() + section.name.len()) as u64;
            }
        }
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
            symbols_padding,
            bank_symbols,
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
        let mut last_of_name: FxHashMap<&str, usize> = FxHashMap::default();
        for (id, section) in merged.sections.enumerate() {
            if is_written(id) && native_name(section.name).is_some() {
                let before = last_of_name.get(section.name).map(|&before| before + 1);
                last_of_name.insert(section.name, before.unwrap_or_default());
            }
        }
        for (id, section) in merged.sections.enumerate() {
            if pruned.live.sections[id] {
                let before = last_of_name.get(section.name);
                let native = before.and_then(|&before| shared_native_name(section.name, before));
                names.add_section(section.name, native.as_deref());
            }
        }
        names.linked_size = names.sections.size();
        if layout.number_tables == NumberTables::Added {
            names.added_numbers = names.append(NATIVE_NUMBERS);
        }
        for &function in &layout.parameters {
            let Some(bank) = merged.functions[function].own_parameters() else {
                continue;
            };
            match names.repeated.contains_key(&function) {
                true => {
                    let section = names.append(bank.name);
                    names.repeated.entry(function).or_default().section = section;
                }
                false => names.add_section(bank.name, None),
            }
        }
        for index in 0..=layout.twins.len() {
            if layout.number_table() == Some(index) {
                names.mercury_numbers = names.append(MERCURY_NUMBERS);
            }
            if let Some(&(twin, id)) = layout.twins.get(index) {
                let name = merged.sections[id].name;
                let offset = names.sections.append_joined(mercury_prefix(twin), name);
                names.twins.push(offset);
            }
        }
        names.symbol_table = names.append(SYMBOL_TABLE);
        names
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

/// What the name of a section begins with in the Mercury world.
fn mercury_prefix(twin: Twin) -> &'static str {
    match twin {
        Twin::Code => ".nv.capmerc",
        Twin::Debug | Twin::Info | Twin::Relocations | Twin::Data | Twin::ReservedShared => {
            ".nv.merc"
        }
    }
}

fn reserved_value(symbol: &Symbol<'_>) -> Option<u64> {
    RESERVED
        .iter()
        .find(|(name, _)| symbol.definition == Definition::Undefined && symbol.name == *name)
        .map(|&(_, value)| value)
}

fn is_unified_table(symbol: &Symbol<'_>) -> bool {
    symbol.definition == Definition::Undefined && reserved::is_unified_table(symbol.name)
}

/// `.symtab`: the symbols, then those of the parameter banks.
pub(super) fn native_symbols(
    finalized: &Finalized<'_>,
    layout: &Layout,
    numbers: &SymbolNumbers,
    names: &Names<'_>,
) -> Vec<u8> {
    let relocated = &finalized.relocated;
    let merged = relocated.merged();
    let later_names = relocated.pruned().later_names();
    let symbols = numbers.order.iter().map(|&id| {
        let symbol = &merged.symbols[id];
        let listed = relocated.laid_out.shared.listed.get(&id);
        let section = match symbol.definition {
            Definition::Section(section) => Some(section),
            Definition::Shared(_) => listed.map(|l| l.section),
            Definition::Undefined | Definition::Common | Definition::Never | Definition::Lost => {
                None
            }
        };
        let code = section
            .filter(|_| symbol.kind == SymbolType::FUNC)
            .and_then(|s| relocated.native[s].as_ref());
        let own_value = reserved_value(symbol);
        let slot = merged.unified.native_slots.get(&id);
        let is_provided = own_value.is_some() || is_unified_table(symbol);
        let start = match section.map(|s| merged.sections[s].kind) {
            Some(SectionKind::SharedReserved) if symbol.kind != SymbolType::SECTION => {
                merged.start_of_reserved()
            }
            _ => 0,
        };
        let bank = section
            .filter(|_| symbol.kind == SymbolType::SECTION && native_name(symbol.name).is_some());
        SymbolEntry {
            name: match bank {
                Some(bank) => names.bank_symbols.get(&bank).copied().unwrap_or(0),
                None => names.symbols.offset(symbol.name),
            },
            kind: match is_provided {
                true => SymbolType::CUDA_OBJECT.0,
                false => symbol.kind.0,
            },
            binding: symbol.binding.0,
            other: symbol.other.0,
            place: place(symbol.definition, section.map(|s| layout.native.number[s])),
            value: match (listed, slot) {
                (Some(listed), _) => listed.value,
                (None, Some(slot)) => slot.place,
                (None, None) => own_value.unwrap_or(symbol.value) + start,
            },
            size: match (slot, code) {
                (Some(slot), _) => slot.size,
                (None, Some(_)) if symbol.size == 0 && later_names.contains(&id) => 0,
                (None, Some(code)) => code.bytes.len() as u64,
                (None, None) => symbol.size,
            },
        }
    });
    let parameters = layout
        .parameters
        .iter()
        .enumerate()
        .map(|(index, &function)| {
            let bank = merged.functions[function].own_parameters();
            SymbolEntry {
                name: bank.map_or(0, |bank| {
                    let repeated = names.repeated.get(&function);
                    repeated.map_or_else(|| names.symbols.offset(bank.name), |r| r.symbol)
                }),
                kind: SymbolType::SECTION.0,
                binding: 0,
                other: 0,
                place: Place::Section(layout.parameters_number(index)),
                value: 0,
                size: 0,
            }
        });
    encode::symbols(relocated.laid_out.null_value, symbols.chain(parameters))
}

/// `.nv.merc.symtab`: variables keep the spelling of relocatable objects.
pub(super) fn mercury_symbols(
    finalized: &Finalized<'_>,
    layout: &Layout,
    numbers: &SymbolNumbers,
    names: &Names<'_>,
) -> Vec<u8> {
    let merged = finalized.merged();
    let entries = numbers.order.iter().map(|&id| {
        let symbol = &merged.symbols[id];
        let listed = finalized.relocated.laid_out.shared.listed.get(&id);
        let section = match symbol.definition {
            Definition::Section(section) => Some(section),
            Definition::Shared(_) => listed.map(|l| l.section),
            Definition::Undefined | Definition::Common | Definition::Never | Definition::Lost => {
                None
            }
        };
        let is_left_undefined = symbol.definition == Definition::Undefined
            && symbol.space == SymbolOther::GLOBAL
            && merged.undefined_globals == UndefinedGlobals::Allowed;
        let is_variable =
            symbol.kind == SymbolType::OBJECT && (section.is_some() || is_left_undefined);
        let is_provided = reserved_value(symbol).is_some() || is_unified_table(symbol);
        let space = match section.map(|s| merged.sections[s].kind) {
            Some(SectionKind::Constant(_)) => SymbolOther::CONSTANT,
            Some(SectionKind::SharedReserved) => SymbolOther::CONSTANT | SymbolOther::GLOBAL,
            Some(SectionKind::Shared) => SymbolOther::SHARED,
            _ => SymbolOther::GLOBAL,
        };
        SymbolEntry {
            name: names.symbols.offset(symbol.name),
            kind: match is_variable || is_provided {
                true => SymbolType::CUDA_OBJECT.0,
                false => symbol.kind.0,
            },
            binding: symbol.binding.0,
            other: symbol.other.0 | if is_variable { space } else { 0 },
            place: place(symbol.definition, section.map(|s| layout.mercury_number(s))),
            value: listed.map_or(symbol.value, |listed| listed.offset),
            size: symbol.size,
        }
    });
    encode::symbols(finalized.relocated.laid_out.null_value, entries)
}

/// `.symtab_shndx`.
pub(super) fn native_numbers(
    finalized: &Finalized<'_>,
    layout: &Layout,
    symbols: &SymbolNumbers,
) -> Vec<u8> {
    let merged = finalized.merged();
    let number = |s| layout.table_number(merged, s, layout.native.number[s]);
    let mut bytes = symbol_sections(finalized, symbols, number);
    let parameters = 0..layout.parameters.len();
    let numbers = parameters.map(|index| extended(layout.parameters_number(index)));
    bytes.extend(numbers.flat_map(u32::to_le_bytes));
    bytes
}

/// `.nv.merc.symtab_shndx`. One that is added is as long as the native one.
pub(super) fn mercury_numbers(
    finalized: &Finalized<'_>,
    layout: &Layout,
    symbols: &SymbolNumbers,
) -> Vec<u8> {
    let merged = finalized.merged();
    let number = |s| layout.table_number(merged, s, layout.mercury_number(s));
    let mut bytes = symbol_sections(finalized, symbols, number);
    if layout.number_tables == NumberTables::Added {
        bytes.resize(bytes.len() + 4 * layout.parameters.len(), 0);
    }
    bytes
}

/// A number that does not fit into a symbol, or 0.
fn extended(number: u32) -> u32 {
    match number {
        encode::EXTENDED.. => number,
        _ => 0,
    }
}

impl Layout {
    /// What a table says of a section. Tables that are added say nothing of
    /// numbers that fit.
    fn table_number(&self, merged: &Merged<'_>, section: SectionId, number: u32) -> u32 {
        match self.number_tables {
            NumberTables::Added => extended(number),
            NumberTables::Made | NumberTables::Missing => {
                number_made_or_known(merged, section, number)
            }
        }
    }
}

/// Where a symbol lies whose section has a number.
fn place(definition: Definition, section: Option<u32>) -> Place {
    match (definition, section) {
        (Definition::Common, _) => Place::Common,
        (_, Some(section)) => Place::Section(section),
        (_, None) => Place::Undefined,
    }
}
