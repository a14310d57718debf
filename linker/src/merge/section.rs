//! Rows of sections: what they are, the parts that inputs contribute, and their relocations.

use std::ops::Range;

use rustc_hash::FxHashMap;

use crate::arch::Sm;
use crate::arena::Arena;
use crate::cubin::{Relocation as FileRelocation, SectionFlags, UnifiedTable, section_name};
use crate::id::{FunctionId, SectionId, SymbolId};

use super::contributions::{Contribution, Contributions};

/// What an output section is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum SectionKind {
    /// `.shstrtab`.
    SectionNames,
    /// `.strtab`.
    SymbolNames,
    /// `.symtab`.
    Symbols,
    /// `.symtab_shndx`.
    SymbolSections,
    /// `.note.nv.tkinfo`.
    ToolNote,
    /// `.note.nv.cuinfo`.
    DriverNote,
    /// `.nv.info` and `.nv.info.*`.
    Info,
    /// `.nv.compat`.
    Compat,
    /// `.nv.callgraph`.
    CallGraph,
    /// `.nv.prototype`.
    Prototype,
    /// `.nv.rel.action`.
    RelocAction,
    /// `.rel.*`.
    Rel,
    /// `.rela.*`.
    Rela,
    /// `.nv.resolvedrela*`.
    ResolvedRela,
    /// A constant bank.
    Constant(u8),
    /// Code of one function.
    Text,
    /// The slots of unified functions: `.nv.uft` of executables, and one
    /// `.nv.uft.rel.*` for each in relocatable objects.
    Stubs,
    /// `.nv.udt`.
    UnifiedData,
    /// `.nv.uft.entry` and `.nv.udt.entry`.
    UnifiedEntries(UnifiedTable),
    /// `.nv.uidx`.
    UnifiedIndex,
    /// `.nv.host`.
    HostData,
    /// `.nv.global.init`.
    GlobalInit,
    /// `.nv.global`.
    Global,
    /// `.nv.shared.*`, `.nv_debug.shared`.
    Shared,
    /// `.nv.shared.reserved.*`.
    SharedReserved,
    /// `.debug_*`, `.nv_debug_*`.
    Debug,
}

impl SectionKind {
    /// Whether the section is a list of records or relocations about another one, which the linker writes itself.
    pub(crate) fn is_list(self) -> bool {
        matches!(
            self,
            Self::Info | Self::Rel | Self::Rela | Self::ResolvedRela
        )
    }

    /// Whether the section has a size but no bytes.
    pub(crate) fn is_nobits(self) -> bool {
        matches!(self, Self::Global | Self::Shared | Self::SharedReserved)
    }
}

/// A section's content: contributions of inputs, one after the other.
#[derive(Debug, Clone, Default)]
pub(crate) struct Content<'d> {
    /// The parts.
    pub(crate) contributions: Contributions<'d>,
    /// The size so far.
    pub(crate) size: u64,
    /// The strictest alignment of a part.
    pub(crate) align: u64,
}

impl<'d> Content<'d> {
    /// Nothing so far.
    pub(crate) fn aligned(align: u64) -> Self {
        Self {
            align,
            ..Self::default()
        }
    }

    /// Adds a part after the others and returns its offset.
    pub(crate) fn append(&mut self, data: &'d [u8], size: u64, align: u64) -> u64 {
        let offset = self.size.next_multiple_of(align.max(1));
        self.place(data, offset, size, align);
        offset
    }

    /// Adds a part at this offset, which is past the others.
    pub(crate) fn place(&mut self, data: &'d [u8], offset: u64, size: u64, align: u64) {
        self.align = self.align.max(align);
        self.contributions.push(Contribution {
            offset,
            align,
            data,
        });
        self.size = offset + size;
    }

    /// Adds a part in the place of the only one so far. Both have the same bytes, and the longer one is kept.
    pub(crate) fn overlay(&mut self, data: &'d [u8], size: u64, align: u64) {
        let align = self.align.max(align);
        if size > self.size {
            *self = Self::default();
            self.append(data, size, align);
        }
        self.align = align;
    }
}

/// A section before it is made.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NewSection<'d> {
    pub(crate) name: &'d str,
    pub(crate) kind: SectionKind,
    pub(crate) flags: SectionFlags,
    pub(crate) align: u64,
    /// The section that it belongs to, see [`Section::target`].
    pub(crate) target: Option<SectionId>,
}

impl<'d> NewSection<'d> {
    /// One without flags that belongs to no other.
    pub(crate) fn new(name: &'d str, kind: SectionKind, align: u64) -> Self {
        Self {
            name,
            kind,
            flags: SectionFlags::NONE,
            align,
            target: None,
        }
    }

    /// A list of records or relocations about another section.
    pub(crate) fn list(
        name: &'d str,
        kind: SectionKind,
        target: impl Into<Option<SectionId>>,
    ) -> Self {
        let align = match kind {
            SectionKind::Info => 4,
            _ => 8,
        };
        Self::new(name, kind, align)
            .with_flags(SectionFlags::INFO_LINK)
            .of(target)
    }

    /// The attribute records of a function.
    pub(crate) fn info_of(
        arena: &'d Arena,
        function: &str,
        code: impl Into<Option<SectionId>>,
    ) -> Self {
        let name = arena.name(&[section_name::INFO_OF, function]);
        Self::list(name, SectionKind::Info, code)
    }

    /// The shared memory of a kernel, or of the slot of a unified function.
    pub(crate) fn shared_of(
        arena: &'d Arena,
        kernel: &str,
        code: impl Into<Option<SectionId>>,
    ) -> Self {
        let name = arena.name(&[section_name::SHARED_OF, kernel]);
        let flags = SectionFlags::DATA.with(SectionFlags::INFO_LINK);
        Self::new(name, SectionKind::Shared, 1)
            .with_flags(flags)
            .of(code)
    }

    /// The same with these flags.
    pub(crate) fn with_flags(self, flags: SectionFlags) -> Self {
        Self { flags, ..self }
    }

    /// The same, belonging to another section.
    pub(crate) fn of(self, target: impl Into<Option<SectionId>>) -> Self {
        Self {
            target: target.into(),
            ..self
        }
    }
}

/// One output section.
#[derive(Debug, Clone)]
pub(crate) struct Section<'d> {
    pub(crate) name: &'d str,
    pub(crate) kind: SectionKind,
    pub(crate) flags: SectionFlags,
    pub(crate) entry_size: u64,
    pub(crate) content: Content<'d>,
    /// The section this one belongs to: for constants, records and shared memory the code of their function, for
    /// relocations the section that they patch.
    pub(crate) target: Option<SectionId>,
    /// The function whose code this is.
    pub(crate) function: Option<FunctionId>,
    /// The section's own symbol.
    pub(crate) symbol: SymbolId,
    /// What patches this section, in input order.
    pub(crate) relocations: Vec<Relocation>,
    /// The native twin, in the Mercury generation.
    pub(crate) native: Option<Box<NativeContent<'d>>>,
    /// It is written even when it holds nothing.
    pub(crate) keep_empty: bool,
    /// It holds compiler constants of a device function, which the layout moves into the kernels that reach the function.
    pub(crate) is_moved: bool,
    /// More about its content, if it holds compiler constants.
    pub(crate) constants: Option<Box<CompilerConstants>>,
}

/// The constants that the compiler made for one function.
#[derive(Debug, Clone, Default)]
pub(crate) struct CompilerConstants {
    /// The place of each, as the input names them.
    pub(crate) pieces: Vec<Range<u64>>,
    /// Where the last ones start of a definition that another input has replaced.
    pub(crate) unused: Option<u64>,
    /// Where the last ones start that no symbol names.
    pub(crate) unnamed: Option<u64>,
    /// It holds only constants of definitions that were never in use.
    pub(crate) was_never_used: bool,
    /// Where two sections have one name: the one of them, maybe this one, that holds only such constants.
    pub(crate) lost: Option<SectionId>,
    /// A section of the same name was made before this one, so that nvlink does not find this one when a definition is
    /// replaced (case `weak_kernel_constants`).
    pub(crate) is_second: bool,
}

impl CompilerConstants {
    /// What remains true when another definition replaces the one in use.
    pub(crate) fn replaced(&self) -> Option<Box<Self>> {
        (self.was_never_used || self.lost.is_some() || self.is_second).then(|| {
            Box::new(Self {
                was_never_used: self.was_never_used,
                lost: self.lost,
                is_second: self.is_second,
                ..Self::default()
            })
        })
    }
}

impl Section<'_> {
    /// The place of each compiler constant, as the input names them.
    pub(crate) fn pieces(&self) -> &[Range<u64>] {
        self.constants.as_ref().map_or(&[], |known| &known.pieces)
    }

    /// Where the last constants start that no symbol names.
    pub(crate) fn unnamed_constants(&self) -> Option<u64> {
        self.constants.as_ref()?.unnamed
    }

    /// Where two sections have one name: the one of them, maybe this one, that holds only constants of definitions that were
    /// never in use.
    pub(crate) fn lost_constants(&self) -> Option<SectionId> {
        self.constants.as_ref()?.lost
    }

    /// Whether a section of the same name was made before it.
    pub(crate) fn is_second(&self) -> bool {
        self.constants.as_ref().is_some_and(|known| known.is_second)
    }

    /// Whether it still holds the constants of a definition that was replaced.
    pub(crate) fn holds_replaced(&self) -> bool {
        self.content.size > 0 && self.is_second()
    }

    /// Where the last constants start of a definition that another input has replaced.
    pub(crate) fn unused_constants(&self) -> Option<u64> {
        self.constants.as_ref()?.unused
    }
}

/// Bytes and relocations of a native twin.
#[derive(Debug, Clone, Default)]
pub(crate) struct NativeContent<'d> {
    /// The processor that its code was compiled for.
    pub(crate) compiled_for: Option<Sm>,
    pub(crate) content: Content<'d>,
    pub(crate) relocations: Vec<Relocation>,
    /// In every input its bytes are those of the Mercury section.
    pub(crate) shares_bytes: bool,
    /// The relocations belong to another definition's code. Their places here follow from those in Mercury code.
    pub(crate) follows_mercury: bool,
    /// Offsets and addends of the relocations are places in Mercury code instead of machine code.
    pub(crate) counts_mercury: bool,
    /// The places of constants of definitions that are not in use.
    pub(crate) unused: Vec<Range<u64>>,
    /// In line tables and frames, for a function with several definitions: up to which offset relocations are about one that
    /// is not in use.
    pub(crate) replaced: FxHashMap<SymbolId, u64>,
}

impl NativeContent<'_> {
    /// Whether a relocation is about a definition that is not in use.
    pub(crate) fn is_replaced(&self, relocation: &Relocation) -> bool {
        let end = self.replaced.get(&relocation.symbol);
        end.is_some_and(|&end| relocation.offset < end)
    }
}

/// The form of a relocation record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// The patched field holds the addend.
    Rel,
    /// The record holds the addend.
    Rela,
    /// As [`Self::Rel`], in a section of [`Merged::added_lists`](super::Merged::added_lists).
    Added,
}

impl Form {
    /// What a record takes in a file.
    pub(crate) fn size(self) -> usize {
        match self {
            Self::Rel | Self::Added => FileRelocation::REL_SIZE,
            Self::Rela => FileRelocation::RELA_SIZE,
        }
    }
}

/// A relocation against a merged symbol.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Relocation {
    pub(crate) offset: u64,
    pub(crate) kind: u32,
    pub(crate) symbol: SymbolId,
    /// Added to the symbol's value; for [`Form::Rel`] on top of the field.
    pub(crate) addend: i64,
    pub(crate) form: Form,
    /// It belongs to a weak definition that is not in use: there is nothing to patch.
    pub(crate) discarded: bool,
}
