//! Names that an object defines and needs, for the choice among members of
//! archives. LTO-IR has them where only its compiler finds them, so that they
//! are those of the PTX that it makes.

use std::collections::{BTreeSet, HashSet};

use cudalink_jitlink as jitlink;
use object::LittleEndian as Le;
use object::elf::{FileHeader32, FileHeader64, SHT_SYMTAB, STB_GLOBAL, STB_LOCAL};
use object::read::elf::{FileHeader, Sym as _};
use rustc_hash::{FxHashMap, FxHashSet};

use super::super::host::{HostObject, Origin};
use super::super::link_time::{self, Holder, Intermediate};
use super::super::select::{LtoIr, select};
use super::super::{Image, Processor, Wanted};
use crate::arch::reserved;
use crate::container::host::Class;
use crate::container::{InputKind, detect};
use crate::cubin::{Binding, File, Place, Symbol, SymbolOther, SymbolType};
use crate::fatbin::{Kind, Limit};
use crate::parallel;

/// Whether an object needs another one for a symbol. References from dead code count; dynamic
/// shared memory and texture references are never defined.
fn needs(symbol: &Symbol<'_>) -> bool {
    symbol.place == Place::Undefined
        && symbol.binding == Binding::GLOBAL
        && symbol.other.space() != SymbolOther::SHARED
        && !symbol.name.is_empty()
        && !symbol.kind.is_reference()
        && !reserved::is_provided_by_driver(symbol.name, symbol.kind == SymbolType::FUNC)
        && !reserved::is_unified_table(symbol.name)
        && !reserved::is_descriptor_size(symbol.name)
}

/// Whether an object defines a symbol for others.
fn defines(symbol: &Symbol<'_>) -> bool {
    symbol.place != Place::Undefined && symbol.binding != Binding::LOCAL
}

/// Whether a function is missing: an object needs it, and none defines it.
pub(super) fn lack_functions(images: &[Image<'_>]) -> bool {
    let bytes = images.iter().map(|image| image.data.len()).sum();
    let functions = parallel::map(images, bytes, Functions::of_image);
    let needed = functions.iter().flat_map(|of| &of.needed).copied();
    let mut missing: FxHashSet<&str> = needed.collect();
    let mut defined = functions.iter().flat_map(|of| &of.defined);
    while !missing.is_empty()
        && let Some(name) = defined.next()
    {
        missing.remove(name);
    }
    !missing.is_empty()
}

/// Which functions an object needs, and what it defines.
#[derive(Debug, Default)]
struct Functions<'i> {
    needed: Vec<&'i str>,
    defined: Vec<&'i str>,
}

impl<'i> Functions<'i> {
    /// What cannot be read is reported when it is linked.
    fn of_image(image: &'i Image<'_>) -> Self {
        match image.object.as_deref() {
            Some(read) => read.as_ref().map_or_else(
                |_| Self::default(),
                |object| Self::of_symbols(&object.symbols),
            ),
            None => File::parse(&image.data)
                .map_or_else(|_| Self::default(), |file| Self::of_symbols(&file.symbols)),
        }
    }

    fn of_symbols(symbols: &[Symbol<'i>]) -> Self {
        let mut functions = Self::default();
        for symbol in symbols {
            if defines(symbol) {
                functions.defined.push(symbol.name);
            } else if symbol.kind == SymbolType::FUNC && needs(symbol) {
                functions.needed.push(symbol.name);
            }
        }
        functions
    }
}

/// A name, and whether it is one of device code.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Name {
    Device(String),
    Host(Vec<u8>),
}

/// What some objects define and need.
#[derive(Debug, Clone, Default)]
pub(super) struct Names {
    defined: HashSet<Name>,
    needed: HashSet<Name>,
    /// Whether there is device code that only a compiler can tell the names of.
    is_opaque: bool,
}

impl Names {
    /// Those of a member of an archive, without those of its LTO-IR, which
    /// comes beside them. What cannot be read has none; if it is taken, its
    /// damage is reported.
    pub(super) fn of_member<'d>(
        name: &str,
        data: &'d [u8],
        wanted: &Wanted,
        processor: &Processor,
    ) -> (Self, Vec<Intermediate<'d>>) {
        let mut names = Self::default();
        let mut intermediates = Vec::new();
        if detect(data) != InputKind::HostObject {
            return (names, intermediates);
        }
        names.add_host(data);
        let lto_ir = LtoIr::of(wanted);
        let fatbins = HostObject::parse("", data, Origin::Member, wanted)
            .map_or_else(|_| Vec::new(), |o| o.fatbins);
        for fatbin in &fatbins {
            let Ok(Some(entry)) = select(fatbin, processor, lto_ir) else {
                continue;
            };
            match entry.kind {
                Kind::ELF => {
                    if let Ok(image) = entry.image(Limit::default()) {
                        names.add_device(&image);
                    }
                }
                Kind::NVVM if lto_ir == LtoIr::Linked => intermediates.push(Intermediate {
                    name: name.to_owned(),
                    kind: jitlink::Kind::Fatbin,
                    data: fatbin.bytes(),
                    record: None,
                    place: 0,
                    holder: Holder::Object,
                }),
                _ => names.is_opaque = true,
            }
        }
        (names, intermediates)
    }

    /// Adds those that PTX declares for others and defines.
    pub(super) fn add_ptx(&mut self, ptx: &[u8]) {
        for declaration in link_time::declarations(&String::from_utf8_lossy(ptx)) {
            let name = Name::Device(declaration.name.to_owned());
            if !declaration.is_needed {
                self.defined.insert(name);
            } else if !reserved::is_provided_by_driver(declaration.name, declaration.is_function) {
                self.needed.insert(name);
            }
        }
    }

    /// Adds those of a device object.
    pub(super) fn add_device(&mut self, data: &[u8]) {
        // What cannot be read is reported when it is linked.
        let Ok(file) = File::parse(data) else {
            return;
        };
        for symbol in &file.symbols {
            let name = || Name::Device(symbol.name.to_owned());
            if defines(symbol) {
                self.defined.insert(name());
            } else if needs(symbol) {
                self.needed.insert(name());
            }
        }
    }

    /// Adds those of the host code of an object.
    pub(super) fn add_host(&mut self, data: &[u8]) {
        match Class::of(data) {
            Ok(Class::Narrow) => self.add_host_of::<FileHeader32<Le>>(data),
            Ok(Class::Wide) => self.add_host_of::<FileHeader64<Le>>(data),
            Err(_) => {}
        }
    }

    fn add_host_of<H: FileHeader<Endian = Le>>(&mut self, data: &[u8]) {
        let table = || {
            let sections = H::parse(data).ok()?.sections(Le, data).ok()?;
            sections.symbols(Le, data, SHT_SYMTAB).ok()
        };
        let Some(symbols) = table() else { return };
        for symbol in symbols.iter() {
            let Ok(name) = symbol.name(Le, symbols.strings()) else {
                continue;
            };
            let name = || Name::Host(name.to_owned());
            if symbol.st_shndx(Le).0 != 0 {
                if symbol.st_bind() != STB_LOCAL {
                    self.defined.insert(name());
                }
            } else if symbol.st_bind() == STB_GLOBAL {
                self.needed.insert(name());
            }
        }
    }

    /// Whether an object with these names has to be taken by a link with those
    /// of `known`.
    fn supply(&self, known: &Self) -> bool {
        let is_missing = |name| known.needed.contains(name) && !known.defined.contains(name);
        self.is_opaque || self.defined.iter().any(is_missing)
    }
}

/// Which members a link takes that has objects with the names of `known`, in the order in which it does: it goes through them
/// all, and again from the first, until none supplies what is needed. Asked are only those that may.
pub(super) fn in_need(members: &[Names], mut known: Names) -> Vec<usize> {
    let mut definers: FxHashMap<&Name, Vec<usize>> = FxHashMap::default();
    for (index, names) in members.iter().enumerate() {
        for name in &names.defined {
            definers.entry(name).or_default().push(index);
        }
    }
    let mut taken = Vec::new();
    let mut is_taken = vec![false; members.len()];
    let mut asked: BTreeSet<usize> = (0..members.len()).collect();
    let mut place = 0;
    while let Some(&index) = asked.range(place..).next().or_else(|| asked.first()) {
        asked.remove(&index);
        place = index + 1;
        let names = &members[index];
        if !names.supply(&known) {
            continue;
        }
        taken.push(index);
        is_taken[index] = true;
        known.defined.extend(names.defined.iter().cloned());
        for name in &names.needed {
            if !known.defined.contains(name) && known.needed.insert(name.clone()) {
                let definers = definers.get(name).into_iter().flatten().copied();
                asked.extend(definers.filter(|&definer| !is_taken[definer]));
            }
        }
    }
    taken
}
