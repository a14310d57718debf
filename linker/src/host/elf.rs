//! Writes the ELF object.

use std::collections::HashMap;
use std::io::Write;

use object::elf::{
    GNU_PROPERTY_AARCH64_FEATURE_1_AND, GNU_PROPERTY_AARCH64_FEATURE_1_BTI,
    GNU_PROPERTY_X86_FEATURE_1_AND, GNU_PROPERTY_X86_FEATURE_1_IBT,
    GNU_PROPERTY_X86_FEATURE_1_SHSTK, R_AARCH64_ABS64, R_X86_64_64, SHF_ALLOC, SHT_PROGBITS,
    STB_GLOBAL, STT_NOTYPE, STV_HIDDEN,
};
use object::write::{
    Object, Relocation, RelocationFlags, SectionId, SectionKind, StandardSection, StreamingBuffer,
    Symbol, SymbolFlags, SymbolId, SymbolKind, SymbolScope, SymbolSection,
};
use object::{Architecture, BinaryFormat, Endianness, SectionFlags};

use super::code::{Code, Fixup, Target};
use super::{
    FATBIN_SECTION, HostError, HostMachine, HostObject, LARGE, MODULE_ID_SECTION, REGISTER_PREFIX,
    State, WRAPPER_MAGIC, WRAPPER_PREFIX, WRAPPER_SECTION, WRAPPER_VERSION, aarch64, x86_64,
};

const ALIGNMENT: u64 = 8;
/// Marks data that may lie beyond the reach of code.
const SHF_X86_64_LARGE: object::elf::SectionFlags = object::elf::SectionFlags(0x1000_0000);

pub(super) fn write(
    host: &HostObject<'_>,
    machine: HostMachine,
    out: impl Write,
) -> Result<(), HostError> {
    let mut object = match machine {
        HostMachine::X86_64 => new_object(Architecture::X86_64),
        HostMachine::Aarch64 => new_object(Architecture::Aarch64),
    };
    let fatbin = object.add_section(Vec::new(), FATBIN_SECTION.into(), SectionKind::ReadOnlyData);
    object.set_section_data(fatbin, host.fatbin, ALIGNMENT);
    if machine == HostMachine::X86_64 && host.fatbin.len() >= LARGE {
        *object.section_flags_mut(fatbin) = SectionFlags::Elf {
            sh_type: SHT_PROGBITS,
            sh_flags: SHF_ALLOC | SHF_X86_64_LARGE,
        };
    }
    // Without modules nothing registers anything.
    if !host.modules.is_empty() {
        Writer::new(&mut object, host, machine, fatbin).write()?;
    }
    // Says that the stack need not be executable.
    object.add_section(Vec::new(), b".note.GNU-stack".to_vec(), SectionKind::Other);
    let mut buffer = StreamingBuffer::new(out);
    object.emit(&mut buffer)?;
    Ok(buffer.result()?)
}

fn new_object<'a>(architecture: Architecture) -> Object<'a> {
    Object::new(BinaryFormat::Elf, architecture, Endianness::Little)
}

struct Writer<'w, 'a> {
    object: &'w mut Object<'a>,
    host: &'w HostObject<'a>,
    machine: HostMachine,
    fatbin: SectionId,
    text: SectionId,
    wrapper: SectionId,
    bss: SectionId,
    undefined: HashMap<String, SymbolId>,
}

impl<'w, 'a> Writer<'w, 'a> {
    fn new(
        object: &'w mut Object<'a>,
        host: &'w HostObject<'a>,
        machine: HostMachine,
        fatbin: SectionId,
    ) -> Self {
        Self {
            text: object.section_id(StandardSection::Text),
            wrapper: object.add_section(Vec::new(), WRAPPER_SECTION.into(), SectionKind::Data),
            bss: object.section_id(StandardSection::UninitializedData),
            undefined: HashMap::new(),
            object,
            host,
            machine,
            fatbin,
        }
    }

    fn write(mut self) -> Result<(), HostError> {
        let state = State {
            modules: self.host.modules.len() as u32,
        };
        self.object
            .append_section_bss(self.bss, state.size().into(), ALIGNMENT);
        let ids = self.object.add_section(
            Vec::new(),
            MODULE_ID_SECTION.into(),
            SectionKind::ReadOnlyData,
        );
        self.object.set_section_data(ids, self.host.module_ids(), 1);
        self.wrapper()?;

        let (code, property, features) = match self.machine {
            HostMachine::X86_64 => (
                x86_64::assemble(state),
                GNU_PROPERTY_X86_FEATURE_1_AND,
                GNU_PROPERTY_X86_FEATURE_1_IBT | GNU_PROPERTY_X86_FEATURE_1_SHSTK,
            ),
            HostMachine::Aarch64 => (
                aarch64::assemble(state),
                GNU_PROPERTY_AARCH64_FEATURE_1_AND,
                GNU_PROPERTY_AARCH64_FEATURE_1_BTI,
            ),
        };
        // Code that lacks these takes the protection from the whole program.
        self.object.add_elf_gnu_property_u32(property, features);
        self.code(code)
    }

    /// `{ magic, version, fatbin, parts }`
    fn wrapper(&mut self) -> Result<(), HostError> {
        let mut wrapper = Vec::new();
        wrapper.extend(WRAPPER_MAGIC.to_le_bytes());
        wrapper.extend(WRAPPER_VERSION.to_le_bytes());
        wrapper.extend([0; 16]);
        self.object
            .set_section_data(self.wrapper, wrapper, ALIGNMENT);
        let kind = match self.machine {
            HostMachine::X86_64 => R_X86_64_64,
            HostMachine::Aarch64 => R_AARCH64_ABS64,
        };
        for (offset, section, addend) in [(8, self.fatbin, 0), (16, self.bss, State::PARTS)] {
            let relocation = Relocation {
                offset,
                symbol: self.object.section_symbol(section),
                addend: addend.into(),
                flags: RelocationFlags::Elf { r_type: kind },
            };
            self.object.add_relocation(self.wrapper, relocation)?;
        }
        Ok(())
    }

    fn code(&mut self, code: Code) -> Result<(), HostError> {
        let Code {
            bytes,
            fixups,
            modules,
            register,
            unregister,
        } = code;
        self.object.set_section_data(self.text, bytes, 16);
        let local = SymbolScope::Compilation;
        for (name, range) in [
            ("cudalink_register", register),
            ("cudalink_unregister", unregister.clone()),
        ] {
            self.function(name.to_owned(), range, local);
        }
        // Hidden, so that a library and a program that hold the same module
        // each call their own.
        for (module, range) in self.host.modules.iter().zip(modules) {
            let name = format!("{REGISTER_PREFIX}{module}");
            self.function(name, range, SymbolScope::Linkage);
        }
        for fixup in fixups {
            let Fixup {
                offset,
                kind,
                target,
                addend,
            } = fixup;
            let (symbol, more) = self.target(target, unregister.start);
            let relocation = Relocation {
                offset: offset as u64,
                symbol,
                addend: addend + more,
                flags: RelocationFlags::Elf { r_type: kind },
            };
            self.object.add_relocation(self.text, relocation)?;
        }
        Ok(())
    }

    /// The symbol that stands for a target, and the distance from it.
    fn target(&mut self, target: Target, unregister: usize) -> (SymbolId, i64) {
        match target {
            Target::State(offset) => (self.object.section_symbol(self.bss), offset.into()),
            Target::Wrapper => (self.object.section_symbol(self.wrapper), 0),
            Target::Unregister => (self.object.section_symbol(self.text), unregister as i64),
            Target::ModuleWrapper(module) => {
                let name = format!("{WRAPPER_PREFIX}{}", self.host.modules[module]);
                // Hidden as the function is; the strictest reference counts.
                let flags = SymbolFlags::Elf {
                    st_info: STB_GLOBAL | STT_NOTYPE,
                    st_other: STV_HIDDEN.into(),
                };
                (self.undefined(name, flags), 0)
            }
            Target::Function(name) => (self.undefined(name.to_owned(), SymbolFlags::None), 0),
        }
    }

    fn function(&mut self, name: String, range: std::ops::Range<usize>, scope: SymbolScope) {
        self.object.add_symbol(Symbol {
            name: name.into_bytes(),
            value: range.start as u64,
            size: range.len() as u64,
            kind: SymbolKind::Text,
            scope,
            weak: false,
            section: SymbolSection::Section(self.text),
            flags: SymbolFlags::None,
        });
    }

    fn undefined(&mut self, name: String, flags: SymbolFlags<SectionId, SymbolId>) -> SymbolId {
        let Self {
            object, undefined, ..
        } = self;
        *undefined.entry(name).or_insert_with_key(|name| {
            object.add_symbol(Symbol {
                name: name.clone().into_bytes(),
                value: 0,
                size: 0,
                kind: SymbolKind::Unknown,
                scope: SymbolScope::Unknown,
                weak: false,
                section: SymbolSection::Undefined,
                flags,
            })
        })
    }
}
