//! Names that an object defines and needs, for the choice among members of
//! archives.

use std::collections::HashSet;

use object::LittleEndian as Le;
use object::elf::{FileHeader64, SHT_SYMTAB, STB_GLOBAL, STB_LOCAL};
use object::read::elf::{FileHeader as _, Sym as _};

use super::super::host::HostObject;
use super::super::select::select;
use super::super::{Processor, Wanted};
use crate::arch::reserved;
use crate::container::{InputKind, detect};
use crate::cubin::{Binding, File, Place, SymbolOther};
use crate::fatbin::{Fatbin, Kind, Limit};

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
    /// Those of a member of an archive. What cannot be read has none; if it is
    /// taken, its damage is reported.
    pub(super) fn of_member(data: &[u8], wanted: &Wanted, processor: &Processor) -> Self {
        let mut names = Self::default();
        if detect(data) != InputKind::HostObject {
            return names;
        }
        names.add_host(data);
        if let Ok(object) = HostObject::parse("", data, wanted) {
            for fatbin in &object.fatbins {
                names.add_fatbin(fatbin, wanted, processor);
            }
        }
        names
    }

    fn add_fatbin(&mut self, fatbin: &Fatbin<'_>, wanted: &Wanted, processor: &Processor) {
        let Ok(Some(entry)) = select(fatbin, processor.sm, wanted.link_time.is_some()) else {
            return;
        };
        if entry.kind != Kind::ELF {
            self.is_opaque = true;
        } else if let Ok(image) = entry.image(Limit::default()) {
            self.add_device(&image);
        }
    }

    /// Adds those of a device object. References from dead code count; dynamic
    /// shared memory is never defined.
    pub(super) fn add_device(&mut self, data: &[u8]) {
        // What cannot be read is reported when it is linked.
        let Ok(file) = File::parse(data) else {
            return;
        };
        for symbol in &file.symbols {
            let name = || Name::Device(symbol.name.to_owned());
            if symbol.place != Place::Undefined {
                if symbol.binding != Binding::LOCAL {
                    self.defined.insert(name());
                }
            } else if symbol.binding == Binding::GLOBAL
                && symbol.other.space() != SymbolOther::SHARED
                && !symbol.name.is_empty()
                && !reserved::is_provided_by_driver(symbol.name)
            {
                self.needed.insert(name());
            }
        }
    }

    /// Adds those of the host code of an object.
    pub(super) fn add_host(&mut self, data: &[u8]) {
        let table = || {
            let header = FileHeader64::<Le>::parse(data).ok()?;
            let sections = header.sections(Le, data).ok()?;
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

    pub(super) fn add(&mut self, other: Self) {
        self.defined.extend(other.defined);
        self.needed.extend(other.needed);
    }

    /// Whether something is needed that is not defined.
    pub(super) fn is_open(&self) -> bool {
        self.needed.iter().any(|name| !self.defined.contains(name))
    }

    /// Whether an object with these names has to be taken by a link with those
    /// of `known`.
    pub(super) fn supply(&self, known: &Self) -> bool {
        let is_missing = |name| known.needed.contains(name) && !known.defined.contains(name);
        self.is_opaque || self.defined.iter().any(is_missing)
    }
}
