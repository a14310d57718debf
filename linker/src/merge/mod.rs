//! Phase 2: many objects become one set of sections, symbols and functions.
//!
//! What comes out has no addresses and owns no section bytes: a section is a
//! list of contributions that borrow the inputs. Everything stands in the
//! order in which it was created, because that order is visible in the output.
//! Names are looked up here and nowhere later.

mod clashes;
mod compat;
mod constants;
mod contributions;
mod current;
mod functions;
mod graph;
mod index;
mod info;
mod merger;
mod native;
mod notes;
mod relocations;
mod same_named;
mod section;
mod stale;
mod symbols;
mod unified;

use crate::arch::{Sm, reserved};
use crate::cubin::{
    Binding, Format, InfoCode, Section as FileSection, SymbolOther, SymbolType, UnifiedEntry,
};
use crate::error::{NvlinkError, ParseError, Problem};
use crate::id::{FunctionId, Id as _, IdVec, InputId, PrototypeId, SectionId, SymbolId};
use crate::options::{
    ImageKind, NullAddress, RelocationForms, Reservation, ResolvedRelocations, SharedMemory,
    UndefinedGlobals,
};

pub(crate) use compat::Compat;
pub(crate) use constants::{BANK_LIMIT, RECORDED};
pub(crate) use contributions::Contribution;
pub(crate) use functions::{counted_barriers, forget_barriers};
pub(crate) use info::FIRST_MERCURY_VERSION;
pub(crate) use merger::merge;
pub(crate) use notes::{Notes, Share};
use symbols::UNALLOCATED;

pub(crate) use section::{Content, Form, NativeContent, Relocation, Section, SectionKind};
pub(crate) use unified::{NativeSlot, Slot, Unified, UnifiedMember};

/// Size of the slot of a unified function.
pub(crate) const STUB_SIZE: u64 = 128;

/// What a slot takes of expanded Mercury code: nvlink adds two instructions.
pub(crate) const MERCURY_STUB_SIZE: u64 = 160;

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

impl<'d> Symbol<'d> {
    /// Stands for labels that are nowhere.
    pub(crate) const LOST: Self = Self::local("", SymbolType::NOTYPE, Definition::Lost);

    /// One of the link's own, which no input names.
    const fn local(name: &'d str, kind: SymbolType, definition: Definition) -> Self {
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
    pub(crate) fn native_records(&self) -> &[crate::cubin::InfoRecord<'d>] {
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
            Payload::Head(_) | Payload::Symbol(..) | Payload::Symbols(_) => Vec::new(),
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
    pub(crate) records: Vec<crate::cubin::InfoRecord<'d>>,
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
    pub(crate) fn of_records(records: &[crate::cubin::InfoRecord<'_>]) -> Vec<Self> {
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
    /// A list of symbols.
    Symbols(&'d [SymbolId]),
}

/// One attribute record with its symbols resolved.
#[derive(Debug, Clone, Copy)]
pub(crate) struct InfoRecord<'d> {
    pub(crate) format: Format,
    pub(crate) code: InfoCode,
    pub(crate) payload: Payload<'d>,
}

impl InfoRecord<'_> {
    /// The symbol the record is about.
    pub(crate) fn subject(&self) -> Option<SymbolId> {
        match self.payload {
            Payload::Symbol(symbol, _) => Some(symbol),
            Payload::Head(_) | Payload::Bytes(_) | Payload::Symbols(_) => None,
        }
    }

    /// The number behind the symbol, for records made of these two.
    pub(crate) fn symbol_number(&self) -> Option<(SymbolId, u32)> {
        match &self.payload {
            Payload::Symbol(symbol, bytes) => {
                Some((*symbol, u32::from_le_bytes(*bytes.first_chunk()?)))
            }
            Payload::Head(_) | Payload::Bytes(_) | Payload::Symbols(_) => None,
        }
    }
}

/// The product of the merge.
#[derive(Debug)]
pub(crate) struct Merged<'d> {
    pub(crate) target: Sm,
    pub(crate) image: ImageKind,
    pub(crate) sections: IdVec<SectionId, Section<'d>>,
    /// What each section is. Nearly all are code with its relocations and records; the
    /// others are found here without a look at the rows of these.
    kinds: IdVec<SectionId, SectionKind>,
    pub(crate) symbols: IdVec<SymbolId, Symbol<'d>>,
    /// What relocations name that name nothing.
    pub(crate) nothing: SymbolId,
    /// The local half of the symbol table, in creation order.
    pub(crate) locals: Vec<SymbolId>,
    /// The global half, in creation order.
    pub(crate) globals: Vec<SymbolId>,
    pub(crate) functions: IdVec<FunctionId, Function<'d>>,
    /// What functions take and return.
    pub(crate) prototypes: IdVec<PrototypeId, &'d str>,
    /// Records of the module, in input order.
    pub(crate) records: Vec<InfoRecord<'d>>,
    /// Functions that have records of their own, in input order. One whose
    /// definition was replaced stands here twice and counts the last time.
    pub(crate) described: Vec<FunctionId>,
    /// Symbols that were defined tentatively, by first appearance; some got a
    /// definition later.
    pub(crate) commons: Vec<SymbolId>,
    /// Those that nvlink lost to a weak definition with a value.
    pub(crate) lost_commons: Vec<SymbolId>,
    /// Variables in shared memory: those of a known size in the order of their
    /// definitions, those whose size is chosen at launch where they are first
    /// named.
    pub(crate) shared: Vec<SymbolId>,
    /// The strictest alignment of a strong variable in shared memory that nvlink
    /// places as its weak definition asks (case `shared_weak`).
    pub(crate) shared_align: u64,
    /// Which variables in shared memory are symbols of the image.
    pub(crate) listed_shared: ListedShared,
    /// Whether a weak function that was replaced had relocations, or constants lost addresses of a weak variable.
    pub(crate) replaced_relocations: bool,
    /// What becomes of relocations that are resolved.
    pub(crate) resolved_relocations: ResolvedRelocations,
    /// How relocations are written.
    pub(crate) relocation_forms: RelocationForms,
    /// What is done about shared memory.
    pub(crate) shared_memory: SharedMemory,
    /// What becomes of global variables that nobody defines.
    pub(crate) undefined_globals: UndefinedGlobals,
    /// What `.nv.host` holds.
    pub(crate) host_data: Vec<u8>,
    pub(crate) compat: Compat,
    pub(crate) notes: Notes<'d>,
    pub(crate) unified: Unified,
    pub(crate) inputs: Vec<String>,
}

impl<'d> Merged<'d> {
    /// What each section is, in creation order.
    pub(crate) fn kinds(&self) -> impl Iterator<Item = (SectionId, SectionKind)> {
        self.kinds.enumerate().map(|(id, &kind)| (id, kind))
    }

    /// What a section is.
    pub(crate) fn kind(&self, section: SectionId) -> SectionKind {
        self.kinds[section]
    }

    /// The sections of the kinds that are wanted, in creation order.
    pub(crate) fn sections_of(
        &self,
        is_wanted: impl Fn(SectionKind) -> bool,
    ) -> impl Iterator<Item = (SectionId, &Section<'d>)> {
        let wanted = self.kinds().filter(move |&(_, kind)| is_wanted(kind));
        wanted.map(|(id, _)| (id, &self.sections[id]))
    }

    /// Whether nvlink has lost a tentative definition to a weak one with a value.
    pub(crate) fn loses_common(&self) -> bool {
        self.lost_common(|_| true).is_some()
    }

    fn lost_common(&self, is_meant: impl Fn(&Symbol<'_>) -> bool) -> Option<&Symbol<'d>> {
        let mut lost = self.lost_commons.iter().map(|&id| &self.symbols[id]);
        lost.find(|&symbol| symbol.definition == Definition::Common && is_meant(symbol))
    }

    /// Relocatable objects list what is lost, where it was tentative from the start
    /// (case `common_too_large`).
    fn check_lost_commons(&self) -> Result<(), ParseError> {
        let lost = match self.image.is_executable() {
            true => None,
            false => self.lost_common(|symbol| symbol.value == UNALLOCATED),
        };
        lost.map_or(Ok(()), |symbol| {
            let problem = "a weak definition took its place".to_owned();
            let problem = ParseError::new(Problem::Malformed(problem));
            Err(problem
                .as_nvlink(NvlinkError::UnallocatedSymbol)
                .of_symbol(symbol.name))
        })
    }

    /// Where each symbol stands in the symbol table, relative to others.
    pub(crate) fn ranks(&self) -> IdVec<SymbolId, u32> {
        let mut ranks = IdVec::filled(&self.symbols, u32::MAX);
        let listed = self.locals.iter().chain(&self.globals);
        for (rank, &symbol) in (0..).zip(listed) {
            ranks[symbol] = rank;
        }
        ranks
    }

    /// What the system keeps at the start of a kernel's shared memory.
    pub(crate) fn reserved_shared(&self) -> u64 {
        match self.shared_memory.reservation {
            Reservation::Made if self.target.is_hopper_or_newer() => reserved::SHARED_SIZE,
            Reservation::Made | Reservation::Disabled => 0,
        }
    }

    /// Where the variables that the system keeps in shared memory start.
    /// Relocatable objects have only their alignments.
    pub(crate) fn start_of_reserved(&self) -> u64 {
        match self.image.is_executable() {
            true => reserved::SHARED_START,
            false => 0,
        }
    }

    /// Where the first variable of shared memory may lie.
    pub(crate) fn first_shared(&self) -> u64 {
        match self.shared_memory.null {
            NullAddress::Used => 0,
            NullAddress::Reserved => 1,
        }
    }

    /// The function whose code a function is: itself, or another one that it
    /// is an alias of.
    pub(crate) fn owner(&self, symbol: SymbolId) -> Option<FunctionId> {
        match self.symbols[symbol].definition {
            Definition::Section(section)
                if self.symbols[symbol].kind == SymbolType::FUNC
                    && self.sections[section].kind == SectionKind::Text =>
            {
                self.sections[section].function
            }
            _ => None,
        }
    }

    /// The kernel of a whole program in whose code this name of a function stands, behind the start.
    pub(crate) fn surrounding(&self, symbol: SymbolId) -> Option<FunctionId> {
        let row = &self.symbols[symbol];
        match row.definition {
            Definition::Section(text) if row.value > 0 => {
                let owner = self.sections[text].function;
                owner.filter(|&owner| self.functions[owner].symbol != symbol)
            }
            _ => None,
        }
    }

    /// A figure that the module records give per function; 0 where they do not.
    pub(crate) fn figures(&self, code: InfoCode) -> IdVec<FunctionId, u32> {
        let figures = self.known_figures(code);
        figures.iter().map(|figure| figure.unwrap_or(0)).collect()
    }

    /// A figure that the module records give for some functions.
    pub(crate) fn known_figures(&self, code: InfoCode) -> IdVec<FunctionId, Option<u32>> {
        let mut figures = IdVec::filled(&self.functions, None);
        for record in &self.records {
            if record.code == code
                && let Some((symbol, figure)) = record.symbol_number()
                && let Some(function) = self.symbols[symbol].function
            {
                figures[function] = Some(figure);
            }
        }
        figures
    }

    /// Whether a function is a kernel, even if the filter leaves it out.
    pub(crate) fn is_kernel(&self, function: &Function<'_>) -> bool {
        self.symbols[function.symbol].other.has(SymbolOther::ENTRY)
    }

    /// Makes a section with its symbol, last in both orders of creation.
    pub(crate) fn add_section(
        &mut self,
        name: &'d str,
        kind: SectionKind,
        flags: u64,
        align: u64,
        target: Option<SectionId>,
    ) -> SectionId {
        let section = SectionId::new(self.sections.len());
        let definition = Definition::Section(section);
        let symbol = Symbol::local(name, SymbolType::SECTION, definition);
        let symbol = self.symbols.push(symbol);
        self.locals.push(symbol);
        self.kinds.push(kind);
        self.sections.push(Section {
            name,
            kind,
            flags,
            entry_size: match kind {
                SectionKind::Rel => 16,
                SectionKind::Rela | SectionKind::ResolvedRela | SectionKind::Symbols => 24,
                SectionKind::CallGraph | SectionKind::Prototype | SectionKind::RelocAction => 8,
                SectionKind::SymbolSections => 4,
                SectionKind::UnifiedEntries(_) => UnifiedEntry::SIZE as u64,
                SectionKind::Stubs => STUB_SIZE,
                _ => 0,
            },
            content: Content {
                align,
                ..Content::default()
            },
            target,
            function: None,
            symbol,
            relocations: Vec::new(),
            native: None,
            keep_empty: false,
            is_moved: false,
            constants: None,
        })
    }
}
