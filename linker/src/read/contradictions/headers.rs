//! What headers of sections say beside type and name.

use crate::cubin::{
    DeviceNote, Relocation, Section, SectionFlags, SectionType, Symbol, ToolNote, UnifiedEntry,
};
use crate::error::ParseError;

use super::names::{Named, Names, Part};
use super::of;

/// What the headers of all sections of a type have in common.
#[derive(Debug, Clone, Copy)]
pub(super) struct Header {
    /// The flags but that of the Mercury world.
    flags: SectionFlags,
    link: Link,
    info: Info,
    /// How many bytes an entry has; without entries none.
    entry_size: u64,
    /// What places are a multiple of, at least.
    align: u64,
}

/// What `sh_link` names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Link {
    Nothing,
    /// The names of symbols.
    Strings,
    /// The symbols of its world.
    Symbols,
    /// The note of tools.
    Note,
}

/// What `sh_info` holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Info {
    Nothing,
    /// The section it belongs to, if there is one. Before CUDA 12.1 no flag says so.
    Section,
    /// Another number.
    Number,
}

impl Header {
    const fn new(flags: SectionFlags, link: Link, info: Info, entry_size: u64) -> Self {
        Self {
            flags,
            link,
            info,
            entry_size,
            align: 1,
        }
    }

    /// What a section with bytes in memory has.
    const fn of_memory(flags: SectionFlags, info: Info) -> Self {
        Self::new(flags, Link::Nothing, info, 0)
    }

    const fn of_code(flags: SectionFlags, entry_size: u64, align: u64) -> Self {
        let header = Self::new(flags, Link::Symbols, Info::Number, entry_size);
        Self { align, ..header }
    }

    /// What sections of this type have, if that is known.
    pub(super) fn of(named: &Named<'_, '_>) -> Option<Self> {
        use SectionFlags as Flags;
        const SYMBOL: u64 = Symbol::SIZE as u64;
        const REL: u64 = Relocation::REL_SIZE as u64;
        const RELA: u64 = Relocation::RELA_SIZE as u64;
        const UNIFIED_ENTRY: u64 = UnifiedEntry::SIZE as u64;
        /// Two words, as call graphs and prototypes have.
        const PAIR: u64 = 8;
        /// The slot of a unified function.
        const SLOT: u64 = 128;
        let is_code = named.code().is_some();
        let is_slot = is_code && named.part == Part::Slot;
        let size_of_slot = if is_slot { SLOT } else { 0 };
        let header = match named.kind {
            SectionType::STRTAB => Self::new(Flags::NONE, Link::Nothing, Info::Nothing, 0),
            SectionType::SYMTAB | SectionType::CUDA_MERC_SYMTAB => {
                Self::new(Flags::NONE, Link::Strings, Info::Number, SYMBOL)
            }
            SectionType::REL => Self::new(Flags::NONE, Link::Symbols, Info::Section, REL),
            SectionType::RELA | SectionType::CUDA_MERC_RELA => {
                Self::new(Flags::NONE, Link::Symbols, Info::Section, RELA)
            }
            SectionType::CUDA_INFO | SectionType::CUDA_MERC_INFO => {
                Self::new(Flags::NONE, Link::Symbols, Info::Section, 0)
            }
            SectionType::CUDA_CALLGRAPH | SectionType::CUDA_PROTOTYPE => {
                Self::new(Flags::NONE, Link::Symbols, Info::Nothing, PAIR)
            }
            SectionType::CUDA_UFT_ENTRY | SectionType::CUDA_UDT_ENTRY => {
                Self::new(Flags::NONE, Link::Symbols, Info::Nothing, UNIFIED_ENTRY)
            }
            SectionType::CUDA_COMPAT => Self::new(Flags::NONE, Link::Nothing, Info::Nothing, 0),
            SectionType::CUDA_GLOBAL
            | SectionType::CUDA_GLOBAL_INIT
            | SectionType::CUDA_UDT
            | SectionType::CUDA_SHARED_RESERVED => Self::of_memory(Flags::DATA, Info::Nothing),
            SectionType::CUDA_SHARED => Self::of_memory(Flags::DATA, Info::Section),
            SectionType::CUDA_MERC_CONSTANT_OPTIMIZER => {
                Self::of_memory(Flags::ALLOC, Info::Section)
            }
            // Parameters, and what the compiler puts into constants, are words.
            kind if matches!(kind.constant_bank(), Some(0 | 2)) => Self {
                align: 4,
                ..Self::of_memory(Flags::ALLOC, Info::Section)
            },
            kind if kind.constant_bank().is_some() => Self::of_memory(Flags::ALLOC, Info::Section),
            SectionType::CUDA_CAPMERC => Self::of_code(Flags::NONE, size_of_slot, 16),
            SectionType::PROGBITS | SectionType::CUDA_UFT if !named.is_mercury && is_code => {
                Self::of_code(Flags::CODE, size_of_slot, 128)
            }
            SectionType::PROGBITS if named.part == Part::Debug => {
                Self::new(Flags::NONE, Link::Nothing, Info::Nothing, 0)
            }
            SectionType::NOTE if named.name == ToolNote::SECTION => {
                Self::new(Flags::TOOL_NOTE, Link::Nothing, Info::Nothing, 0)
            }
            SectionType::NOTE
                if matches!(named.name, DeviceNote::SECTION | DeviceNote::OLDER_SECTION) =>
            {
                Self::new(Flags::DEVICE_NOTE, Link::Note, Info::Section, 0)
            }
            _ => return None,
        };
        Some(header)
    }

    /// Whether sections of its type are known to belong to others.
    pub(super) fn may_have_owner(self) -> bool {
        self.info == Info::Section
    }

    /// Refuses what no section of this type has.
    pub(super) fn check(
        self,
        named: &Named<'_, '_>,
        names: &Names<'_, '_>,
    ) -> Result<(), ParseError> {
        let section = named.section;
        let fits = self.flags_fit(section)
            && section.address == 0
            && self.owner_fits(section, names.has_mercury)
            && section.entry_size == self.entry_size
            && section.align >= self.align;
        match fits {
            true => self.check_link(section, names),
            false => Err(of(section, self.problem(section, names.has_mercury))),
        }
    }

    fn flags_fit(self, section: &Section<'_>) -> bool {
        let optional = match self.info {
            Info::Section => SectionFlags::INFO_LINK,
            // Code of CUDA 12 counts barriers there.
            Info::Number if self.flags == SectionFlags::CODE => SectionFlags::BARRIERS,
            Info::Nothing | Info::Number => SectionFlags::NONE,
        };
        let flags = section.flags.without(SectionFlags::MERCURY);
        flags.without(optional) == self.flags
    }

    /// Whether it belongs to another section only where those of its type do. Files with a Mercury world have a flag for that.
    fn owner_fits(self, section: &Section<'_>, has_flag: bool) -> bool {
        let says_owner = section.flags.contains(SectionFlags::INFO_LINK);
        section.info == 0
            || match self.info {
                Info::Nothing => false,
                Info::Section => says_owner || !has_flag,
                Info::Number => true,
            }
    }

    /// What is wrong with a section that has what none of this type has.
    #[cold]
    fn problem(self, section: &Section<'_>, has_flag: bool) -> String {
        let owner = section.info;
        if !self.flags_fit(section) {
            let flags = section.flags;
            format!("its flags are {flags}, which no section of this type has")
        } else if section.address != 0 {
            let address = section.address;
            format!("it is said to be at {address:#x} before it is linked")
        } else if self.info == Info::Nothing && owner != 0 {
            format!("it belongs to section {owner}, as none of this type does")
        } else if !self.owner_fits(section, has_flag) {
            format!("no flag says that it belongs to section {owner}")
        } else if section.entry_size != self.entry_size {
            let (own, size) = (section.entry_size, self.entry_size);
            format!("its entries have {own:#x} bytes instead of {size:#x}")
        } else {
            let (own, align) = (section.align, self.align);
            format!("it is aligned to {own:#x} bytes instead of {align:#x}")
        }
    }

    /// Refuses a link to a section that none of this type is linked to.
    fn check_link(self, section: &Section<'_>, names: &Names<'_, '_>) -> Result<(), ParseError> {
        let linked = names.file.section(section.link);
        let linked = linked.map_err(|error| error.in_section(section.name))?;
        let is_mercury = section.flags.contains(SectionFlags::MERCURY);
        let fits = match self.link {
            Link::Nothing => section.link == 0,
            Link::Strings => linked.kind == SectionType::STRTAB,
            Link::Note => linked.name == ToolNote::SECTION,
            Link::Symbols if is_mercury => linked.kind == SectionType::CUDA_MERC_SYMTAB,
            Link::Symbols => linked.kind == SectionType::SYMTAB,
        };
        if fits {
            return Ok(());
        }
        let named = match linked.name {
            "" => "nothing",
            name => name,
        };
        let problem = format!("it is linked to {named}, as none of this type is");
        Err(of(section, problem))
    }
}
