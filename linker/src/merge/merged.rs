//! The product of the merge.

use rustc_hash::FxHashMap;

use crate::arch::{Sm, Toolkit, reserved};
use crate::cubin::{InfoCode, Symbol as FileSymbol, SymbolOther, SymbolType, UnifiedEntry};
use crate::error::{NvlinkError, ParseError};
use crate::id::{FunctionId, Id as _, IdVec, InputId, PrototypeId, SectionId, SymbolId};
use crate::options::{
    Behaviour, ImageKind, NullAddress, Options, RelocationForms, Reservation, ReservedNumbers,
    ResolvedRelocations, SharedMemory, UndefinedGlobals,
};

use super::symbols::UNALLOCATED;
use super::{
    Compat, Content, Definition, Form, Function, InfoRecord, ListedShared, NewSection, Notes,
    STUB_SIZE, Section, SectionKind, SharedHome, Symbol, Unified,
};

/// The product of the merge.
#[derive(Debug)]
pub(crate) struct Merged<'d> {
    pub(crate) target: Sm,
    pub(crate) image: ImageKind,
    pub(crate) sections: IdVec<SectionId, Section<'d>>,
    /// The kind of each section, as in its row. Nearly all sections are code with its relocations and records; a search for
    /// sections of another kind goes through this dense list instead of the rows.
    kinds: IdVec<SectionId, SectionKind>,
    pub(crate) symbols: IdVec<SymbolId, Symbol<'d>>,
    /// The symbol of relocations that name none.
    pub(crate) nothing: SymbolId,
    /// The local half of the symbol table, in creation order.
    pub(crate) locals: Vec<SymbolId>,
    /// The global half, in creation order.
    pub(crate) globals: Vec<SymbolId>,
    pub(crate) functions: IdVec<FunctionId, Function<'d>>,
    /// The signatures that call graphs of inputs name.
    pub(crate) prototypes: IdVec<PrototypeId, &'d str>,
    /// Records of the module, in input order.
    pub(crate) records: Vec<InfoRecord<'d>>,
    /// Functions that have records of their own, in input order. One whose
    /// definition was replaced stands here twice and counts the last time.
    pub(crate) described: Vec<FunctionId>,
    /// Symbols that were defined tentatively, by first appearance; some got a
    /// definition later.
    pub(crate) commons: Vec<SymbolId>,
    /// Tentative definitions that nvlink drops when it meets a weak definition with a value (case `common_too_large`).
    pub(crate) lost_commons: Vec<SymbolId>,
    /// Variables in shared memory: those of a known size in the order of their
    /// definitions, those whose size is chosen at launch where they are first
    /// named.
    pub(crate) shared: Vec<SymbolId>,
    /// Alignments of strong definitions of variables in shared memory that have a weak definition, too. nvlink lays both
    /// out: such a variable stands in [`Self::shared`] twice (case `shared_weak`).
    pub(crate) second_aligns: FxHashMap<SymbolId, u64>,
    /// The strictest alignment of the variables of [`SharedHome::Overlooked`].
    pub(crate) overlooked_align: u64,
    /// The relocation section that the link has made for a parameter bank, where the input, a whole program, has one of the
    /// same name: nvlink keeps both (case `whole_program_textures`).
    pub(crate) added_lists: FxHashMap<SectionId, SectionId>,
    /// Variables in dynamic shared memory that whole programs list for debuggers, and where nvlink takes them to start.
    pub(crate) placed_dynamic: Vec<(SymbolId, u64)>,
    /// The section of variables in shared memory that belong to no kernel.
    pub(crate) module_shared: Option<SectionId>,
    /// Which variables in shared memory are symbols of the image.
    pub(crate) listed_shared: ListedShared,
    /// nvlink counts some sections that get no name and are not written. This has, for each of them, the index of the
    /// section that was made next, in ascending order.
    pub(crate) unnamed: Vec<usize>,
    /// Whether a weak function that was replaced had relocations, or constants lost addresses of a weak variable.
    pub(crate) replaced_relocations: bool,
    /// As in [`Settings`](crate::options::Settings), like the next four.
    pub(crate) resolved_relocations: ResolvedRelocations,
    pub(crate) relocation_forms: RelocationForms,
    pub(crate) shared_memory: SharedMemory,
    pub(crate) undefined_globals: UndefinedGlobals,
    pub(crate) reserved_numbers: ReservedNumbers,
    /// The content of `.nv.host`.
    pub(crate) host_data: Vec<u8>,
    pub(crate) compat: Compat,
    pub(crate) notes: Notes<'d>,
    pub(crate) unified: Unified,
    pub(crate) inputs: Vec<String>,
}

impl<'d> Merged<'d> {
    /// Nothing yet, with room for the rows of so many sections and symbols. `toolkit` made the newest of the inputs.
    pub(super) fn new(
        options: &Options,
        inputs: Vec<String>,
        toolkit: Toolkit,
        sections: usize,
        symbols: usize,
    ) -> Self {
        let target = options.target;
        // Unused capacity costs next to nothing, and growing a large table does not.
        let mut rows = IdVec::with_room(sections + symbols);
        let nothing = rows.push(Symbol::LOST);
        Self {
            target,
            image: options.settings.image,
            sections: IdVec::with_room(sections),
            kinds: IdVec::with_room(sections),
            symbols: rows,
            nothing,
            locals: Vec::with_capacity(sections),
            globals: Vec::new(),
            // A function has two sections or more.
            functions: IdVec::with_room(sections / 2),
            prototypes: IdVec::new(),
            records: Vec::new(),
            described: Vec::new(),
            commons: Vec::new(),
            lost_commons: Vec::new(),
            shared: Vec::new(),
            second_aligns: FxHashMap::default(),
            overlooked_align: 1,
            added_lists: FxHashMap::default(),
            placed_dynamic: Vec::new(),
            module_shared: None,
            listed_shared: ListedShared::of(options),
            unnamed: Vec::new(),
            replaced_relocations: false,
            resolved_relocations: options.settings.resolved_relocations,
            relocation_forms: options.settings.relocation_forms,
            shared_memory: options.settings.shared_memory,
            undefined_globals: options.settings.undefined_globals,
            reserved_numbers: options.settings.reserved_numbers,
            host_data: options.settings.host_data.clone().unwrap_or_default(),
            compat: Compat::new(target, toolkit),
            notes: Notes::new(target, toolkit),
            unified: Unified {
                index: options.settings.unified_index.clone(),
                ..Unified::default()
            },
            inputs,
        }
    }

    /// The alignment that the program asks for a variable in dynamic shared memory. Compilers up to 13.0 do not record it
    /// (docs/format/symbols.md).
    pub(crate) fn dynamic_align(&self, symbol: &Symbol<'_>) -> Option<u64> {
        let is_told = self.aligns_dynamic() && symbol.value.is_power_of_two();
        is_told.then_some(symbol.value)
    }

    /// Whether the linker of the newest toolkit among the inputs aligns dynamic shared memory as its variables ask.
    pub(crate) fn aligns_dynamic(&self) -> bool {
        self.notes.toolkit > Toolkit::FOLLOWED
    }

    /// All sections with their kinds, in creation order.
    pub(crate) fn kinds(&self) -> impl Iterator<Item = (SectionId, SectionKind)> {
        self.kinds.enumerate().map(|(id, &kind)| (id, kind))
    }

    /// The kind of a section.
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

    /// Whether nvlink has dropped a tentative definition that no other one replaces, see [`Self::lost_commons`].
    pub(crate) fn loses_common(&self) -> bool {
        self.lost_common(|_| true).is_some()
    }

    fn lost_common(&self, is_meant: impl Fn(&Symbol<'_>) -> bool) -> Option<&Symbol<'d>> {
        let mut lost = self.lost_commons.iter().map(|&id| &self.symbols[id]);
        lost.find(|&symbol| symbol.definition == Definition::Common && is_meant(symbol))
    }

    /// Relocatable objects list such symbols, and nvlink fails where one was tentative from the start (case
    /// `common_too_large`).
    pub(super) fn check_lost_commons(&self) -> Result<(), ParseError> {
        let lost = match self.image.is_executable() {
            true => None,
            false => self.lost_common(|symbol| symbol.value == UNALLOCATED),
        };
        lost.map_or(Ok(()), |symbol| {
            let problem = "a weak definition took its place";
            Err(ParseError::malformed(problem)
                .as_nvlink(NvlinkError::UnallocatedSymbol)
                .of_symbol(symbol.name))
        })
    }

    /// The functions that a call through a pointer may reach, by signature.
    pub(crate) fn takers(&self) -> IdVec<PrototypeId, Vec<FunctionId>> {
        let mut takers = IdVec::filled(&self.prototypes, Vec::new());
        for (id, function) in self.functions.enumerate() {
            if let Some(prototype) = function.taken_as() {
                takers[prototype].push(id);
            }
        }
        takers
    }

    /// The order of symbols in the symbol table, as numbers to compare. Unlisted symbols come last.
    pub(crate) fn ranks(&self) -> IdVec<SymbolId, u32> {
        let mut ranks = IdVec::filled(&self.symbols, u32::MAX);
        let listed = self.locals.iter().chain(&self.globals);
        for (rank, &symbol) in (0..).zip(listed) {
            ranks[symbol] = rank;
        }
        ranks
    }

    /// How many bytes the system reserves at the start of a kernel's shared memory.
    pub(crate) fn reserved_shared(&self) -> u64 {
        match self.shared_memory.reservation {
            Reservation::Made if self.target.is_hopper_or_newer() => reserved::SHARED_SIZE,
            Reservation::Made | Reservation::Disabled => 0,
        }
    }

    /// Where the variables in reserved shared memory start. Relocatable objects have no addresses, only alignments.
    pub(crate) fn start_of_reserved(&self) -> u64 {
        match self.image.is_executable() {
            true => reserved::SHARED_START,
            false => 0,
        }
    }

    /// Whether a symbol is a variable in shared memory that nvlink places nowhere.
    pub(crate) fn is_overlooked(&self, symbol: SymbolId) -> bool {
        self.symbols[symbol].definition == Definition::Shared(SharedHome::Overlooked)
    }

    /// By how much the layout of a relocatable object makes a section of shared memory larger, for its variables before `end`
    /// in [`Self::shared`], or for all of them.
    pub(crate) fn variables_joining(&self, section: SectionId, end: Option<SymbolId>) -> u64 {
        if self.image.is_executable() {
            return 0;
        }
        let is_of_module = self.sections[section].target.is_none();
        let joins = |&&symbol: &&SymbolId| match self.symbols[symbol].definition {
            Definition::Shared(SharedHome::Kernel(home)) => home == section,
            Definition::Shared(SharedHome::Module | SharedHome::Overlooked) => is_of_module,
            _ => false,
        };
        let before = self.shared.iter().take_while(|&&s| Some(s) != end);
        let sizes = before.filter(joins);
        sizes.map(|&symbol| self.symbols[symbol].size).sum()
    }

    /// The form of the relocations in `list`, a section of relocations without addends.
    pub(crate) fn short_form(&self, list: SectionId) -> Form {
        let target = self.sections[list].target;
        match target.and_then(|bank| self.added_lists.get(&bank)) {
            Some(&made) if made == list => Form::Added,
            _ => Form::Rel,
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

    /// The symbol of the function itself instead of an alias.
    pub(crate) fn first_name(&self, symbol: SymbolId) -> SymbolId {
        let owner = self.owner(symbol);
        owner
            .filter(|_| self.surrounding(symbol).is_none())
            .map_or(symbol, |owner| self.functions[owner].symbol)
    }

    /// Whether the image does not list a symbol whose `st_other` marks it as internal to the compiler. nvlink lists those
    /// only where it records resolved relocations (case `symbol_marks`).
    pub(crate) fn is_nameless(&self, other: SymbolOther, behaviour: Behaviour) -> bool {
        behaviour == Behaviour::Nvlink
            && other.is_internal()
            && self.image.is_executable()
            && self.resolved_relocations != ResolvedRelocations::Recorded
    }

    /// The kernel of a whole program in whose code a function lies, if this is not the kernel's own name.
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

    /// The function that a section of constants, records or relocations belongs to.
    pub(crate) fn served(&self, section: &Section<'_>) -> Option<FunctionId> {
        self.sections[section.target?].function
    }

    /// Every relocation of code: the function, and the symbol that it uses.
    pub(crate) fn uses_in_code(&self) -> impl Iterator<Item = (FunctionId, SymbolId)> {
        self.sections.iter().flat_map(|section| {
            let relocations = section.relocations.iter();
            let function = section.function.into_iter();
            function
                .flat_map(move |function| relocations.clone().map(move |r| (function, r.symbol)))
        })
    }

    /// The name of a function.
    pub(crate) fn name_of(&self, function: FunctionId) -> &'d str {
        self.symbols[self.functions[function].symbol].name
    }

    /// The name of an input. Without one, for what the linker makes, it is empty.
    pub(crate) fn input_name(&self, input: Option<InputId>) -> &str {
        input.map_or("", |input| &self.inputs[input.index()])
    }

    /// The number that records of this code in `.nv.info` give for each function; 0 where there is none.
    pub(crate) fn figures(&self, code: InfoCode) -> IdVec<FunctionId, u32> {
        let figures = self.known_figures(code);
        figures.iter().map(|figure| figure.unwrap_or(0)).collect()
    }

    /// The number that records of this code in `.nv.info` give for each function, if they do.
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

    /// Whether a function is a kernel in its object, even if the kernel filter drops it.
    pub(crate) fn is_kernel(&self, function: &Function<'_>) -> bool {
        self.symbols[function.symbol].other.has(SymbolOther::ENTRY)
    }

    /// Makes a section with its symbol, last in both orders of creation.
    pub(crate) fn add_section(&mut self, section: NewSection<'d>) -> SectionId {
        let NewSection {
            name,
            kind,
            flags,
            align,
            target,
        } = section;
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
                SectionKind::Rel => Form::Rel.size() as u64,
                SectionKind::Rela | SectionKind::ResolvedRela => Form::Rela.size() as u64,
                SectionKind::Symbols => FileSymbol::SIZE as u64,
                SectionKind::CallGraph | SectionKind::Prototype | SectionKind::RelocAction => 8,
                SectionKind::SymbolSections => 4,
                SectionKind::UnifiedEntries(_) => UnifiedEntry::SIZE as u64,
                SectionKind::Stubs => STUB_SIZE,
                _ => 0,
            },
            content: Content::aligned(align),
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
