//! Section types: the ELF ones in use and CUDA's own.

use std::fmt;

use super::{SectionFlags, section_name};

/// `sh_type` of a section. Any number is valid; the known ones have names.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SectionType(pub u32);

macro_rules! section_types {
    ($($(#[$doc:meta])* $name:ident = $value:expr;)*) => {
        impl SectionType {
            $($(#[$doc])* pub const $name: Self = Self($value);)*

            /// The type of a name, as it is displayed.
            pub fn from_name(name: &str) -> Option<Self> {
                match name {
                    $(stringify!($name) => Some(Self::$name),)*
                    _ => {
                        let bank = name.strip_prefix("CUDA_CONSTANT")?.parse().ok()?;
                        Some(Self::constant(bank)).filter(|kind| kind.constant_bank().is_some())
                    }
                }
            }

            /// The name of a known type other than a constant bank.
            fn fixed_name(self) -> Option<&'static str> {
                match self {
                    $(Self::$name => Some(stringify!($name)),)*
                    _ => None,
                }
            }
        }
    };
}

section_types! {
    /// The unused section 0.
    NULL = 0;
    /// Bytes whose meaning is the program's.
    PROGBITS = 1;
    /// A symbol table.
    SYMTAB = 2;
    /// A string table.
    STRTAB = 3;
    /// Relocations with an addend.
    RELA = 4;
    /// Notes.
    NOTE = 7;
    /// A size without bytes.
    NOBITS = 8;
    /// Relocations without an addend.
    REL = 9;
    /// Section numbers of symbols beyond 16 bits.
    SYMTAB_SHNDX = 18;
    /// `.nv.info*`: attribute records.
    CUDA_INFO = 0x7000_0000;
    /// `.nv.callgraph`.
    CUDA_CALLGRAPH = 0x7000_0001;
    /// `.nv.prototype`.
    CUDA_PROTOTYPE = 0x7000_0002;
    /// `.nv.resolvedrela*`, written on request only.
    CUDA_RESOLVED_RELA = 0x7000_0003;
    /// `.nv.metadata`.
    CUDA_METADATA = 0x7000_0004;
    /// A constant bank whose number its name says.
    CUDA_CONSTANT = 0x7000_0006;
    /// `.nv.global`: data without initial values.
    CUDA_GLOBAL = 0x7000_0007;
    /// `.nv.global.init`: data with initial values.
    CUDA_GLOBAL_INIT = 0x7000_0008;
    /// `.nv.local.*`.
    CUDA_LOCAL = 0x7000_0009;
    /// `.nv.shared.*`.
    CUDA_SHARED = 0x7000_000a;
    /// `.nv.rel.action`.
    CUDA_RELOC_ACTION = 0x7000_000b;
    /// `.nv.uft`: the unified function table.
    CUDA_UFT = 0x7000_000e;
    /// `.nv.uidx`: the index of unified functions and variables.
    CUDA_UIDX = 0x7000_0010;
    /// `.nv.uft.entry`.
    CUDA_UFT_ENTRY = 0x7000_0011;
    /// `.nv.udt`: the unified data table.
    CUDA_UDT = 0x7000_0012;
    /// `.nv.udt.entry`.
    CUDA_UDT_ENTRY = 0x7000_0014;
    /// `.nv.shared.reserved.*`.
    CUDA_SHARED_RESERVED = 0x7000_0015;
    /// `.nv.capmerc.text.*`: Mercury code.
    CUDA_CAPMERC = 0x7000_0016;
    /// `.nv.merc.rela.*`.
    CUDA_MERC_RELA = 0x7000_0082;
    /// `.nv.merc.nv.info*`.
    CUDA_MERC_INFO = 0x7000_0083;
    /// `.nv.merc.nv.constant.optimizer.*`.
    CUDA_MERC_CONSTANT_OPTIMIZER = 0x7000_0084;
    /// `.nv.merc.symtab`.
    CUDA_MERC_SYMTAB = 0x7000_0085;
    /// `.nv.compat`.
    CUDA_COMPAT = 0x7000_0086;
    /// `.nv.host`: a file that the command line names.
    CUDA_HOST = 0x7000_0087;
    /// `.nv.merc.nv.resolvedrela*`, written on request only.
    CUDA_MERC_RESOLVED_RELA = 0x7000_0088;
}

impl SectionType {
    /// The type of constant bank 0; bank `n` is this plus `n`.
    const CONSTANT0: u32 = 0x7000_0064;
    /// Banks 0 to 26 have a type of their own.
    const CONSTANT_BANKS: u32 = 27;

    /// The section type of a constant bank.
    pub fn constant(bank: u8) -> Self {
        Self(Self::CONSTANT0 + u32::from(bank))
    }

    /// The bank of a constant section.
    pub fn constant_bank(self) -> Option<u8> {
        let bank = self.0.checked_sub(Self::CONSTANT0)?;
        (bank < Self::CONSTANT_BANKS).then_some(bank as u8)
    }

    /// What a section is that has a type of ELF and a name of CUDA, as those of images have.
    pub fn by_name(self, name: &str) -> Self {
        match self {
            Self::PROGBITS | Self::CUDA_CONSTANT => match name.strip_prefix(section_name::BANK) {
                Some(bank) => {
                    let end = bank.find(|c: char| !c.is_ascii_digit());
                    let bank = match &bank[..end.unwrap_or(bank.len())] {
                        "" => Some(0),
                        digits => digits.parse().ok(),
                    };
                    // The numbers behind those of banks are other types, which the name does not mean.
                    let is_free = |bank: &u32| *bank < Self::CUDA_COMPAT.0 - Self::CONSTANT0;
                    bank.filter(is_free)
                        .map_or(self, |bank| Self(Self::CONSTANT0 + bank))
                }
                None if self == Self::PROGBITS && name.starts_with(section_name::GLOBAL_INIT) => {
                    Self::CUDA_GLOBAL_INIT
                }
                None => self,
            },
            Self::NOBITS => {
                let spaces = [
                    (section_name::GLOBAL, Self::CUDA_GLOBAL),
                    (section_name::SHARED_OF, Self::CUDA_SHARED),
                    (section_name::LOCAL_OF, Self::CUDA_LOCAL),
                ];
                let space = spaces.iter().find(|(start, _)| name.starts_with(start));
                space.map_or(self, |&(_, kind)| kind)
            }
            other => other,
        }
    }

    /// Whether the type is one of those that each processor has for itself.
    pub fn is_of_processor(self) -> bool {
        (0x7000_0000..0x8000_0000).contains(&self.0)
    }

    /// Whether a section of this type and these flags has bytes in the file.
    ///
    /// The Mercury copy of reserved shared memory has, although there is
    /// nothing to say: the tools copy what the file holds at the offset of the
    /// section it mirrors. Objects for sm_110 show it.
    pub fn has_bytes(self, flags: SectionFlags) -> bool {
        match self {
            Self::NULL => false,
            Self::CUDA_SHARED_RESERVED => flags.contains(SectionFlags::MERCURY),
            kind => !kind.is_nobits(),
        }
    }

    /// Whether the section has a size but no bytes in the file.
    pub fn is_nobits(self) -> bool {
        matches!(
            self,
            Self::NOBITS
                | Self::CUDA_GLOBAL
                | Self::CUDA_LOCAL
                | Self::CUDA_SHARED
                | Self::CUDA_SHARED_RESERVED
        )
    }
}

impl fmt::Display for SectionType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.fixed_name(), self.constant_bank()) {
            (Some(name), _) => f.write_str(name),
            (None, Some(bank)) => write!(f, "CUDA_CONSTANT{bank}"),
            (None, None) => write!(f, "{:#x}", self.0),
        }
    }
}

impl fmt::Debug for SectionType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_survive_a_round_trip() {
        let known = (0..0x20).chain(0x7000_0000..0x7000_0100).map(SectionType);
        let mut named = 0;
        for kind in known.filter(|kind| !kind.to_string().starts_with("0x")) {
            assert_eq!(SectionType::from_name(&kind.to_string()), Some(kind));
            named += 1;
        }
        assert!(named > 50);
        assert_eq!(SectionType::from_name("CUDA_CONSTANT27"), None);
        assert_eq!(SectionType::from_name("CUDA_CONSTANT255"), None);
    }
}
