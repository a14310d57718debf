//! Rows of the merged tables: symbols, functions and their attribute records. Rows of sections are in `section.rs`.

use crate::container::host::ReferenceScope;
use crate::cubin::{
    Binding, Format, IndirectBranch, InfoCode, InfoRecord as FileRecord, Section as FileSection,
    SymbolOther, SymbolType,
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
    /// Nowhere, and no other file can define it: it is a local name, such as `.nv.ptx.const0.size` of the device runtime.
    Never,
    /// Nowhere: it was a label of code that the compiler left out.
    Lost,
}

/// Where a variable in shared memory lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SharedHome {
    /// In the memory of every kernel that reaches a use of it. The layout decides where.
    Module,
    /// In the memory of one kernel, which has this section.
    Kernel(SectionId),
    /// In this section of a whole program, whose layout the compiler has made: the symbol's value is the offset.
    Placed(SectionId),
    /// Behind all others, as its size is chosen at launch.
    Dynamic,
    /// Nowhere: some files use it as dynamic shared memory, and a later one gives it a size, which nvlink overlooks (case
    /// `shared_sized_later`).
    Overlooked,
}

/// Which variables in shared memory are symbols of the image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ListedShared {
    /// None.
    Nothing,
    /// Those of a fixed size.
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
    /// The bits of `st_other` that name a memory space, in the first file with this name.
    pub(crate) space: u8,
    /// The input that defines it, or refers to it first.
    pub(crate) input: Option<InputId>,
    pub(crate) function: Option<FunctionId>,
}

/// Which of the host's patterns for names apply to a symbol.
pub(super) fn scope(binding: Binding) -> ReferenceScope {
    match binding {
        Binding::LOCAL => ReferenceScope::Internal,
        _ => ReferenceScope::External,
    }
}

impl<'d> Symbol<'d> {
    /// Whether a filter keeps the kernel or variable of this name.
    pub(crate) fn is_kept_by(&self, filter: &KernelFilter) -> bool {
        filter.keeps(self.name, scope(self.binding))
    }

    /// The symbol of labels in code that the compiler has dropped.
    pub(crate) const LOST: Self = Self::local("", SymbolType::NOTYPE, Definition::Lost);

    /// A symbol that the linker makes.
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
    /// Its section of attribute records. Entries always have one, others where they have records.
    pub(crate) info: Option<SectionId>,
    /// The kernel's shared memory; `None` for device functions.
    pub(crate) shared: Option<SectionId>,
    /// It is a kernel that the link treats as one: the kernel filter may leave others out.
    pub(crate) is_entry: bool,
    /// It is part of an extensible whole program, whose shared memory the compiler has laid out.
    pub(crate) is_laid_out: bool,
    /// It is the slot of a unified function, which other images of the program may call.
    pub(crate) is_stub: bool,
    /// The driver provides a function of this name, and this definition is used instead.
    pub(crate) stands_in: bool,
    /// Direct callees, in input order.
    pub(crate) calls: Vec<FunctionId>,
    /// Its address is taken.
    pub(crate) is_taken: bool,
    /// Its uses of pointers to functions; most functions have none.
    pub(crate) pointers: Option<Box<Pointers>>,
    /// Its signature, if a file records it.
    pub(crate) prototype: Option<PrototypeId>,
    /// How many registers the header of its code says it has: before sm_90.
    pub(crate) registers: u8,
    /// Attribute records in the order of the image: the last record of the last input first.
    pub(crate) records: &'d [InfoRecord<'d>],
    /// What its native twin has besides, in the Mercury generation.
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
    /// A function that is only known by its name.
    pub(super) fn new(symbol: SymbolId) -> Self {
        Self {
            symbol,
            text: None,
            info: None,
            shared: None,
            is_entry: false,
            is_laid_out: false,
            is_stub: false,
            stands_in: false,
            calls: Vec::new(),
            is_taken: false,
            pointers: None,
            prototype: None,
            registers: 0,
            records: &[],
            native: None,
        }
    }

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

    /// The section of an entry's parameters, in the Mercury generation.
    pub(crate) fn parameters(&self) -> Option<ParameterBank<'d>> {
        self.native.as_ref()?.parameters
    }

    /// The parameter bank, if it is written as the input has it.
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
        records
            .flat_map(|record| TableBranch::listed(record.words()))
            .collect()
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
    /// The records describe another definition of the name.
    pub(crate) is_described_elsewhere: bool,
    /// Bank 0 of an entry.
    pub(crate) parameters: Option<ParameterBank<'d>>,
}

/// A branch through a table of targets (`BRX`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TableBranch {
    /// Its place in the code.
    pub(crate) offset: u64,
    /// The places it can lead to.
    pub(crate) targets: Vec<u64>,
}

/// The section of an entry's parameters, in the Mercury generation.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ParameterBank<'d> {
    /// One that only the native world has.
    Native(&'d FileSection<'d>),
    /// The native twin of this section, which has handles of textures after the parameters.
    Twin(SectionId),
}

impl TableBranch {
    /// Those in the native records of a function.
    pub(crate) fn of_records(records: &[FileRecord<'_>]) -> Vec<Self> {
        let records = records.iter();
        let records = records.filter(|r| r.code == InfoCode::INDIRECT_BRANCH_TARGETS);
        records.flat_map(|r| Self::listed(r.words())).collect()
    }

    /// The branches that a record lists.
    fn listed(words: impl Iterator<Item = u32>) -> impl Iterator<Item = Self> {
        let branches = IndirectBranch::listed(words).into_iter();
        branches.map(|branch| Self {
            offset: branch.offset.into(),
            targets: branch.targets.into_iter().map(u64::from).collect(),
        })
    }
}

/// What an attribute record carries.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Payload<'d> {
    /// Two bytes in the head of the record, in all formats but the sized one.
    Head([u8; 2]),
    /// Bytes as they are.
    Bytes(&'d [u8]),
    /// A symbol, then bytes.
    Symbol(SymbolId, &'d [u8]),
    /// Any other payload, and symbols that nvlink appends to it.
    WithStrays(&'d Strays<'d>),
    /// A list of symbols.
    Symbols(&'d [SymbolId]),
}

/// The payload of a record that nvlink mistakes for a list of symbols, and appends to (case `unified_externs`).
#[derive(Debug, Clone, Copy)]
pub(crate) struct Strays<'d> {
    pub(crate) payload: Payload<'d>,
    pub(crate) symbols: &'d [SymbolId],
    /// The two bytes in the head of the record, unless it holds a size.
    pub(crate) head: Option<[u8; 2]>,
}

/// One attribute record with its symbols resolved.
#[derive(Debug, Clone, Copy)]
pub(crate) struct InfoRecord<'d> {
    pub(crate) format: Format,
    pub(crate) code: InfoCode,
    pub(crate) payload: Payload<'d>,
}

impl<'d> Payload<'d> {
    /// The symbol that the payload begins with.
    pub(crate) fn subject(&self) -> Option<SymbolId> {
        match self {
            Payload::Symbol(symbol, _) => Some(*symbol),
            Payload::WithStrays(Strays { payload, .. }) => payload.subject(),
            Payload::Head(_) | Payload::Bytes(_) | Payload::Symbols(_) => None,
        }
    }

    /// Its size in bytes. The head of a record has two for it.
    pub(crate) fn size(&self) -> usize {
        match self {
            Payload::Head(_) => 0,
            Payload::Bytes(bytes) => bytes.len(),
            Payload::Symbol(_, bytes) => size_of::<u32>() + bytes.len(),
            Payload::WithStrays(Strays {
                payload, symbols, ..
            }) => payload.size() + size_of::<u32>() * symbols.len(),
            Payload::Symbols(symbols) => size_of::<u32>() * symbols.len(),
        }
    }

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

impl<'d> InfoRecord<'d> {
    /// The words of a payload that is nothing but bytes; none of other payloads.
    pub(crate) fn words(&self) -> impl Iterator<Item = u32> + use<'d> {
        let bytes = match self.payload {
            Payload::Bytes(bytes) => bytes,
            Payload::Head(_)
            | Payload::Symbol(..)
            | Payload::WithStrays(_)
            | Payload::Symbols(_) => &[],
        };
        let (words, _) = bytes.as_chunks();
        words.iter().map(|word| u32::from_le_bytes(*word))
    }

    /// The symbol the record is about.
    pub(crate) fn subject(&self) -> Option<SymbolId> {
        self.payload.subject()
    }

    /// The symbol and the number after it, for records that are these two.
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
