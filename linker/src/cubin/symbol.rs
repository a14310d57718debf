//! Symbols as they stand in a file.

/// `st_info`'s type half.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SymbolType(pub u8);

impl SymbolType {
    /// Nothing is said.
    pub const NOTYPE: Self = Self(0);
    /// A variable, as executables spell it.
    pub const OBJECT: Self = Self(1);
    /// A function.
    pub const FUNC: Self = Self(2);
    /// A section.
    pub const SECTION: Self = Self(3);
    /// A bound texture.
    pub const TEXTURE: Self = Self(10);
    /// A bound sampler.
    pub const SAMPLER: Self = Self(11);
    /// A bound surface.
    pub const SURFACE: Self = Self(12);
    /// A variable whose memory space is in [`SymbolOther`].
    pub const CUDA_OBJECT: Self = Self(13);

    /// Whether it is none that linkers know, such as those of files and of tentative definitions.
    pub(crate) fn is_unknown(self) -> bool {
        let is_plain = matches!(
            self,
            Self::NOTYPE | Self::OBJECT | Self::FUNC | Self::SECTION | Self::CUDA_OBJECT
        );
        !is_plain && !self.is_reference()
    }

    /// Whether it says that there is a section, as those of unknown types do (case `symbol_types`).
    pub(crate) fn leads_to_section(self) -> bool {
        self == Self::SECTION || self.is_unknown()
    }

    /// Whether it is a texture, sampler or surface that device code refers to.
    pub fn is_reference(self) -> bool {
        matches!(self, Self::TEXTURE | Self::SAMPLER | Self::SURFACE)
    }
}

/// `st_info`'s binding half.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Binding(pub u8);

impl Binding {
    /// Seen in its own file only.
    pub const LOCAL: Self = Self(0);
    /// The one definition of the link.
    pub const GLOBAL: Self = Self(1);
    /// Gives way to another definition.
    pub const WEAK: Self = Self(2);
}

/// `st_other`: CUDA keeps the memory space and the entry mark here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct SymbolOther(pub u8);

impl SymbolOther {
    /// Lies in managed memory.
    pub const MANAGED: u8 = 0x04;
    /// What it says is not known; functions have it where their definition does.
    pub const OF_DEFINITION: u8 = 0x08;
    /// A kernel.
    pub const ENTRY: u8 = 0x10;
    /// Lies in global memory.
    pub const GLOBAL: u8 = 0x20;
    /// Lies in shared memory.
    pub const SHARED: u8 = 0x40;
    /// Lies in a constant bank.
    pub const CONSTANT: u8 = 0x80;
    /// The bits that name a memory space.
    pub const SPACE_MASK: u8 = 0xe0;

    /// Whether every bit of `bits` is set.
    pub fn has(self, bits: u8) -> bool {
        self.0 & bits == bits
    }

    /// The bits of ELF that say who sees the name.
    const VISIBILITY: u8 = 3;
    /// Of these: the compiler keeps the name to itself.
    pub const INTERNAL: u8 = 1;

    /// The same, seen by all: nvlink hides no names (case `symbol_marks`).
    #[must_use]
    pub(crate) fn unhidden(self) -> Self {
        const HIDDEN: u8 = 2;
        match self.0 & Self::VISIBILITY {
            HIDDEN => Self(self.0 & !Self::VISIBILITY),
            _ => self,
        }
    }

    /// Whether the compiler keeps the name to itself.
    pub fn is_internal(self) -> bool {
        self.0 & Self::VISIBILITY == Self::INTERNAL
    }

    /// The bits that name a memory space.
    pub fn space(self) -> u8 {
        self.0 & Self::SPACE_MASK
    }
}

impl std::fmt::Display for SymbolOther {
    /// The names of the set bits, and a number for the others.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let known = [
            (Self::MANAGED, "MANAGED"),
            (Self::ENTRY, "ENTRY"),
            (Self::GLOBAL, "GLOBAL"),
            (Self::SHARED, "SHARED"),
            (Self::CONSTANT, "CONSTANT"),
        ];
        let rest = known.iter().fold(self.0, |bits, (bit, _)| bits & !bit);
        let set = known.iter().filter(|(bit, _)| self.has(*bit));
        let mut names: Vec<String> = set.map(|(_, name)| (*name).to_owned()).collect();
        if rest != 0 || names.is_empty() {
            names.push(format!("{rest:#x}"));
        }
        f.write_str(&names.join(" "))
    }
}

/// Where a symbol lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Place {
    /// Defined elsewhere.
    Undefined,
    /// A fixed value, not an address.
    Absolute,
    /// A tentative definition: the value is its alignment.
    Common,
    /// In the section of this number, extended numbers included.
    Section(u32),
    /// A reserved number that has none of these meanings, or whose meaning is not meant.
    Reserved(u16),
}

impl Place {
    /// From this section number on, numbers do not fit their 16-bit fields.
    pub const FIRST_RESERVED: u32 = 0xff00;
    /// The reserved number that says of a symbol that it is a tentative definition.
    pub(crate) const TENTATIVE: u16 = 0xfff2;

    /// The section number, for symbols that lie in one.
    pub fn section(self) -> Option<u32> {
        match self {
            Self::Section(index) => Some(index),
            Self::Undefined | Self::Absolute | Self::Common | Self::Reserved(_) => None,
        }
    }

    /// The section number, if it takes `.symtab_shndx` to say it.
    pub fn extended(self) -> Option<u32> {
        self.section()
            .filter(|&number| number >= Self::FIRST_RESERVED)
    }

    /// `st_shndx`. Section numbers that need `.symtab_shndx` are marked as
    /// such.
    pub fn encode(self) -> u16 {
        match self {
            Self::Undefined => 0,
            Self::Absolute => 0xfff1,
            Self::Common => Self::TENTATIVE,
            Self::Reserved(number) => number,
            Self::Section(number) => u16::try_from(number)
                .ok()
                .filter(|_| number < Self::FIRST_RESERVED)
                .unwrap_or(0xffff),
        }
    }
}

/// The name of the symbols by which `nvlink -r` has the start of dynamic shared memory, one for each function that uses it.
pub(crate) const DYNAMIC_SHARED: &str = "externsharedinstance";

/// One symbol table entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Symbol<'d> {
    /// The name, empty for most section symbols of other tools.
    pub name: &'d str,
    /// Offset of the name in the string table, as the file has it.
    pub name_offset: u32,
    /// What it names.
    pub kind: SymbolType,
    /// Who may see or replace it.
    pub binding: Binding,
    /// Memory space and marks.
    pub other: SymbolOther,
    /// Where it lies.
    pub place: Place,
    /// Offset in its section; alignment of commons and shared objects.
    pub value: u64,
    /// Size in bytes.
    pub size: u64,
}

impl Symbol<'_> {
    /// Size of a table entry.
    pub const SIZE: usize = 24;

    /// The first entry of a table, which names nothing.
    pub const NULL: Self = Self {
        name: "",
        name_offset: 0,
        kind: SymbolType::NOTYPE,
        binding: Binding::LOCAL,
        other: SymbolOther(0),
        place: Place::Undefined,
        value: 0,
        size: 0,
    };

    /// Appends the table entry.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let info = self.binding.0 << 4 | self.kind.0 & 0xf;
        let [low, high] = self.place.encode().to_le_bytes();
        let marks = u32::from_le_bytes([info, self.other.0, low, high]);
        let first = u64::from(self.name_offset) | u64::from(marks) << 32;
        let words = [first, self.value, self.size].map(u64::to_le_bytes);
        out.extend_from_slice(words.as_flattened());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_bits_have_names() {
        assert_eq!(SymbolOther(0).to_string(), "0x0");
        assert_eq!(SymbolOther(0x24).to_string(), "MANAGED GLOBAL");
        assert_eq!(SymbolOther(0x81).to_string(), "CONSTANT 0x1");
    }

    #[test]
    fn entries_encode_their_place() {
        let symbol = |place| Symbol {
            name: "f",
            name_offset: 1,
            kind: SymbolType::FUNC,
            binding: Binding::WEAK,
            other: SymbolOther(0x10),
            place,
            value: 2,
            size: 3,
        };
        let bytes = |place| {
            let mut out = Vec::new();
            symbol(place).encode(&mut out);
            out
        };
        assert_eq!(
            bytes(Place::Section(0xfeff)),
            [
                1, 0, 0, 0, 0x22, 0x10, 0xff, 0xfe, 2, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0
            ]
        );
        assert_eq!(bytes(Place::Section(0xff00))[6..8], [0xff, 0xff]);
        assert_eq!(bytes(Place::Section(0x1_0000))[6..8], [0xff, 0xff]);
        assert_eq!(bytes(Place::Undefined).len(), Symbol::SIZE);
        assert_eq!(bytes(Place::Common)[6..8], [0xf2, 0xff]);
        assert_eq!(bytes(Place::Undefined)[6..8], [0, 0]);
    }
}
