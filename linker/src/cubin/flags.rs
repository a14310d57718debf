//! `sh_flags`, with names for the bits that CUDA objects use.

use std::fmt;

/// Flags of a section. Any bits are valid; the known ones have names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct SectionFlags(pub u64);

impl SectionFlags {
    /// No bit is set.
    pub const NONE: Self = Self(0);
    /// Can be written at run time.
    pub const WRITE: Self = Self(0x1);
    /// Occupies memory at run time.
    pub const ALLOC: Self = Self(0x2);
    /// Holds instructions.
    pub const EXECINSTR: Self = Self(0x4);
    /// `sh_info` is a section number.
    pub const INFO_LINK: Self = Self(0x40);
    /// `.note.nv.cuinfo`.
    pub const DEVICE_NOTE: Self = Self(0x100_0000);
    /// `.note.nv.tkinfo`.
    pub const TOOL_NOTE: Self = Self(0x200_0000);
    /// Belongs to the Mercury world.
    pub const MERCURY: Self = Self(0x1000_0000);

    const NAMES: [(Self, &str); 7] = [
        (Self::WRITE, "WRITE"),
        (Self::ALLOC, "ALLOC"),
        (Self::EXECINSTR, "EXECINSTR"),
        (Self::INFO_LINK, "INFO_LINK"),
        (Self::DEVICE_NOTE, "DEVICE_NOTE"),
        (Self::TOOL_NOTE, "TOOL_NOTE"),
        (Self::MERCURY, "MERCURY"),
    ];

    /// In code of CUDA 12: how many barriers it uses.
    pub const BARRIERS: Self = Self(0x7f << Self::BARRIERS_SHIFT);
    const BARRIERS_SHIFT: u32 = 20;
    /// Code.
    pub const CODE: Self = Self(Self::ALLOC.0 | Self::EXECINSTR.0);
    /// Variables.
    pub const DATA: Self = Self(Self::ALLOC.0 | Self::WRITE.0);

    /// These bits and those of `other`.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// These bits but those of `other`.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// The bits that `other` has, too.
    #[must_use]
    pub const fn only(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// How many barriers code uses, where the flags count them.
    pub const fn barriers(self) -> u8 {
        (self.only(Self::BARRIERS).0 >> Self::BARRIERS_SHIFT) as u8
    }

    /// Whether every bit of `other` is set.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// The names of the set bits, lowest first.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        let known = Self::NAMES.into_iter();
        known.filter_map(move |(flag, name)| self.contains(flag).then_some(name))
    }

    /// The bits without a name.
    pub fn unnamed(self) -> u64 {
        Self::NAMES
            .iter()
            .fold(self.0, |bits, (flag, _)| bits & !flag.0)
    }
}

impl fmt::Display for SectionFlags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unnamed = self.unnamed();
        let rest = (unnamed != 0 || self.0 == 0).then(|| format!("{unnamed:#x}"));
        let names = self.names().map(str::to_owned).chain(rest);
        f.write_str(&names.collect::<Vec<_>>().join(" "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_and_unknown_bits() {
        assert_eq!(SectionFlags(0).to_string(), "0x0");
        assert_eq!(SectionFlags(6).to_string(), "ALLOC EXECINSTR");
        assert_eq!(
            SectionFlags(0x100_0040).to_string(),
            "INFO_LINK DEVICE_NOTE"
        );
        assert_eq!(
            SectionFlags(0x1000_0042 | 0x800).to_string(),
            "ALLOC INFO_LINK MERCURY 0x800"
        );
    }
}
