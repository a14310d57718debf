//! Rows of what was merged: symbols, functions and their records. Sections have a file of their own.

use crate::container::host::ReferenceScope;
use crate::cubin::{
    Binding, Format, InfoCode, InfoRecord as FileRecord, Section as FileSection, SymbolOther,
    SymbolType,
};
use crate::id::{FunctionId, InputId, PrototypeId, SectionId, SymbolId};
use crate::options::{DebugLevel, KernelFilter, Options, ResolvedRelocations};

/// Where a symbol is defined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Definition {
    /// Nowhere yet.
    Undefined,
    /// In a section; the symbol's value is the offset.
    Section(SectionId),
    /// Tentatively; the value is the alignment.
    Common,
    /// In shared memory; the value is the alignment.
    Shared(SharedHome),
    /// Nowhere, and no other file can: it is a name of this file alone, such
    /// as `.nv.ptx.const0.size` of the device runtime.
    Never,
    /// Nowhere: it was a label of code that the compiler left out.
    Lost,
}

/// Which shared memory a variable lies in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SharedHome {
    /// Any function may use it; the layout decides.
    Module,
    /// Local to the kernel with this shared section.
    Kernel(SectionId),
    /// In this section of a whole program, where the compiler has put it: the value is the offset.
    Placed(SectionId),
    /// Its size is chosen at launch.
    Dynamic,
    /// Nowhere: a file after the first ones that use it says its size, and
    /// nvlink places neither (case `shared_sized_later`).
    Overlooked,
}

/// Which variables in shared memory are symbols of the image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ListedShared {
    /// None.
    Nothing,
    /// Those whose size is known when the kernel is launched.
    Static,
    /// All of them.
    All,
}

impl ListedShared {
    pub(super) fn of(options: &Options) -> Self {
        if options.settings.debug == DebugLevel::Symbols || !options.settings.image.is_executable()
        {
            return Self::All;
        }
        match options.settings.resolved_relocations {
            ResolvedRelocations::Dropped => Self::Nothing,
            ResolvedRelocations::Recorded => Self::Static,
        }
    }
}

/// Which half of the symbol table lists a symbol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Listing {
    /// Sections, local symbols and weak definitions.
    Local,
    /// All others.
    Global,
    /// Neither: shared memory.
    Unlisted,
}

/// One merged symbol.
#[derive(Debug, Clone)]
pub(crate) struct Symbol<'d> {
    pub(crate) name: &'d str,
    pub(crate) kind: SymbolType,
    pub(crate) binding: Binding,
    pub(crate) other: SymbolOther,
    pub(crate) definition: Definition,
    pub(crate) value: u64,
    pub(crate) size: u64,
    /// Every reference so far is weak.
    pub(crate) weak_reference: bool,
    /// The bits of `st_other` that name a memory space, as first seen.
    pub(crate) space: u8,
    /// The input that defines it, or refers to it first.
    pub(crate) input: Option<InputId>,
    pub(crate) function: Option<FunctionId>,
}

/// Which of the patterns that host code tells are for a name.
pub(super) fn scope(binding: Binding) -> ReferenceScope {
    match binding {
        Binding::LOCAL => ReferenceScope::Internal,
        _ => ReferenceScope::External,
    }
}

impl<'d> Symbol<'d> {
    /// Whether a filter keeps what it names.
    pub(crate) fn is_kept_by(&self, filter: &KernelFilter) -> bool {
        filter.keeps(self.name, scope(self.binding))
    }

    /// Stands for labels that are nowhere.
    pub(crate) const LOST: Self = Self::local("", SymbolType::NOTYPE, Definition::Lost);

    /// One of the link's own, which no input names.
    pub(super) const fn local(name: &'d str, kind: SymbolType, definition: Definition) -> Self {
        Self {
            name,
            kind,
            binding: Binding::LOCAL,
            other: SymbolOther(0),
            definition,
            value: 0,
            size: 0,
            weak_reference: false,
            space: 0,
            input: None,
            function: None,
        }
    }
}

/// One device function or kernel, defined or not.
#[derive(Debug, Clone)]
pub(crate) struct Function<'d> {
    pub(crate) symbol: SymbolId,
    pub(crate) text: Option<SectionId>,
    /// The attribute section, made at once for entries and else on demand.
    pub(crate) info: Option<SectionId>,
    /// The kernel's shared memory; `None` for device functions.
    pub(crate) shared: Option<SectionId>,
    pub(crate) is_entry: bool,
    /// It is part of an extensible whole program, whose shared memory the compiler has laid out.
    pub(crate) is_laid_out: bool,
    /// It is the slot of a unified function, which any program may enter.
    pub(crate) is_stub: bool,
    /// The driver has one of this name, and it takes its place.
    pub(crate) stands_in: bool,
    /// Direct callees, in input order.
    pub(crate) calls: Vec<FunctionId>,
    /// Its address is taken.
    pub(crate) is_taken: bool,
    /// What it does with pointers to functions, as few do.
    pub(crate) pointers: Option<Box<Pointers>>,
    /// Its signature, as far as a file says it.
    pub(crate) prototype: Option<PrototypeId>,
    /// How many registers the header of its code says it has: before sm_90.
    pub(crate) registers: u8,
    /// Attribute records as images list them, the last one of the last input first.
    pub(crate) records: &'d [InfoRecord<'d>],
    /// What the native world adds, in the Mercury generation.
    pub(crate) native: Option<Box<NativeFunction<'d>>>,
}

/// What a function does with pointers to others.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pointers {
    /// Signatures it calls through pointers, in input order.
    pub(crate) calls: Vec<PrototypeId>,
    /// Functions whose address it takes, in input order.
    pub(crate) references: Vec<FunctionId>,
}

impl<'d> Function<'d> {
    /// Signatures it calls through pointers, in input order.
    pub(crate) fn indirect_calls(&self) -> &[PrototypeId] {
        self.pointers
            .as_ref()
            .map_or(&[], |pointers| &pointers.calls)
    }

    /// Functions whose address it takes, in input order.
    pub(crate) fn references(&self) -> &[FunctionId] {
        self.pointers
            .as_ref()
            .map_or(&[], |pointers| &pointers.references)
    }

    /// The native attribute records, in input order, as the file has them.
    pub(crate) fn native_records(&self) -> &[FileRecord<'d>] {
        self.native.as_ref().map_or(&[], |native| &native.records)
    }

    /// The branches through tables in the native code.
    pub(crate) fn native_branches(&self) -> Vec<TableBranch> {
        TableBranch::of_records(self.native_records())
    }

    /// Where the parameters of an entry stand in a Mercury image.
    pub(crate) fn parameters(&self) -> Option<ParameterBank<'d>> {
        self.native.as_ref()?.parameters
    }

    /// The parameter bank that is written as the input has it.
    pub(crate) fn own_parameters(&self) -> Option<FileSection<'d>> {
        match self.parameters()? {
            ParameterBank::Native(section) => Some(*section),
            ParameterBank::Twin(_) => None,
        }
    }

    /// The branches through tables in the Mercury code.
    pub(crate) fn table_branches(&self) -> Vec<TableBranch> {
        let records = self.records.iter().rev();
        let records = records.filter(|r| r.code == InfoCode::INDIRECT_BRANCH_TARGETS);
        let words = |record: &InfoRecord<'_>| match record.payload {
            Payload::Bytes(bytes) => {
                let words = bytes.as_chunks().0.iter().copied();
                TableBranch::listed(words.map(u32::from_le_bytes))
            }
            Payload::Head(_)
            | Payload::Symbol(..)
            | Payload::WithStrays(_)
            | Payload::Symbols(_) => Vec::new(),
        };
        records.flat_map(words).collect()
    }

    /// The signature of the pointers that may lead here.
    pub(crate) fn taken_as(&self) -> Option<PrototypeId> {
        self.prototype.filter(|_| self.is_taken)
    }
}

/// The native side of a function.
#[derive(Debug, Clone, Default)]
pub(crate) struct NativeFunction<'d> {
    /// The native attribute records, in input order, as the file has them.
    pub(crate) records: Vec<FileRecord<'d>>,
    /// They are those of another function of the name.
    pub(crate) is_described_elsewhere: bool,
    /// Bank 0 of an entry.
    pub(crate) parameters: Option<ParameterBank<'d>>,
}

/// A branch whose target a table holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TableBranch {
    /// Its place in the code.
    pub(crate) offset: u64,
    /// Where it can lead.
    pub(crate) targets: Vec<u64>,
}

/// Where the parameters of an entry stand in a Mercury image.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ParameterBank<'d> {
    /// In a section that only the native world has.
    Native(&'d FileSection<'d>),
    /// In the native twin of this section, before the handles of textures.
    Twin(SectionId),
}

impl TableBranch {
    /// Those in the native records of a function.
    pub(crate) fn of_records(records: &[FileRecord<'_>]) -> Vec<Self> {
        let records = records.iter();
        let records = records.filter(|r| r.code == InfoCode::INDIRECT_BRANCH_TARGETS);
        records.flat_map(|r| Self::listed(r.words())).collect()
    }

    /// Those that a record lists: the branch, a word that is 0, and the number of its
    /// targets before them.
    fn listed(mut words: impl Iterator<Item = u32>) -> Vec<Self> {
        let mut branches = Vec::new();
        while let (Some(offset), Some(_), Some(count)) = (words.next(), words.next(), words.next())
        {
            let targets = words.by_ref().take(count as usize);
            branches.push(Self {
                offset: offset.into(),
                targets: targets.map(u64::from).collect(),
            });
        }
        branches
    }
}

/// What an attribute record carries.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Payload<'d> {
    /// The two bytes of the record head: all formats but the sized one.
    Head([u8; 2]),
    /// Bytes as they are.
    Bytes(&'d [u8]),
    /// A symbol, then bytes.
    Symbol(SymbolId, &'d [u8]),
    /// Any of these, and symbols that nvlink puts behind.
    WithStrays(&'d Strays<'d>),
    /// A list of symbols.
    Symbols(&'d [SymbolId]),
}

/// What nvlink makes of a record that it takes for a list of symbols (case `unified_externs`).
#[derive(Debug, Clone, Copy)]
pub(crate) struct Strays<'d> {
    pub(crate) payload: Payload<'d>,
    pub(crate) symbols: &'d [SymbolId],
    /// The two bytes of the record head, where it holds no size.
    pub(crate) head: Option<[u8; 2]>,
}

/// One attribute record with its symbols resolved.
#[derive(Debug, Clone, Copy)]
pub(crate) struct InfoRecord<'d> {
    pub(crate) format: Format,
    pub(crate) code: InfoCode,
    pub(crate) payload: Payload<'d>,
}

impl Payload<'_> {
    /// The symbol that comes first.
    pub(crate) fn subject(&self) -> Option<SymbolId> {
        match self {
            Payload::Symbol(symbol, _) => Some(*symbol),
            Payload::WithStrays(Strays { payload, .. }) => payload.subject(),
            Payload::Head(_) | Payload::Bytes(_) | Payload::Symbols(_) => None,
        }
    }
}

impl<'d> Payload<'d> {
    /// The same with these two bytes in the record head.
    pub(crate) fn with_head(&self, head: [u8; 2]) -> Strays<'d> {
        let mut strays = match self {
            Payload::WithStrays(strays) => **strays,
            payload => Strays::new(*payload, &[]),
        };
        strays.head = Some(head);
        strays
    }
}

impl<'d> Strays<'d> {
    pub(crate) fn new(payload: Payload<'d>, symbols: &'d [SymbolId]) -> Self {
        Self {
            payload,
            symbols,
            head: None,
        }
    }
}

impl InfoRecord<'_> {
    /// The symbol the record is about.
    pub(crate) fn subject(&self) -> Option<SymbolId> {
        self.payload.subject()
    }

    /// The number behind the symbol, for records made of these two.
    pub(crate) fn symbol_number(&self) -> Option<(SymbolId, u32)> {
        match &self.payload {
            Payload::Symbol(symbol, bytes) => {
                Some((*symbol, u32::from_le_bytes(*bytes.first_chunk()?)))
            }
            Payload::WithStrays(_) | Payload::Head(_) | Payload::Bytes(_) | Payload::Symbols(_) => {
                None
            }
        }
    }
}
