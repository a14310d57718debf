//! The product of the merge.

use rustc_hash::FxHashMap;

use crate::arch::{Sm, Toolkit, reserved};
use crate::cubin::{InfoCode, SymbolOther, SymbolType};
use crate::error::{NvlinkError, ParseError};
use crate::id::{FunctionId, Id as _, IdVec, InputId, PrototypeId, SectionId, SymbolId};
use crate::options::{
    Behaviour, ImageKind, NullAddress, Options, Reservation, ResolvedRelocations, Settings,
};

use super::symbols::UNALLOCATED;
use super::tables::{Sections, Symbols};
use super::{
    Compat, Definition, Form, Function, InfoRecord, ListedShared, NewSection, Notes, Section,
    SectionKind, SharedHome, Symbol, Unified,
};

/// The product of the merge.
#[derive(Debug)]
pub(crate) struct Merged<'d> {
    pub(crate) target: Sm,
    /// What the link was asked to make, and how.
    pub(crate) settings: &'d Settings,
    /// The names of the inputs.
    pub(crate) inputs: Vec<String>,
    pub(crate) sections: Sections<'d>,
    pub(crate) symbols: Symbols<'d>,
    pub(crate) functions: IdVec<FunctionId, Function<'d>>,
    /// Functions that have records of their own, in input order. One whose
    /// definition was replaced stands here twice and counts the last time.
    pub(crate) described: Vec<FunctionId>,
    /// The signatures that call graphs of inputs name.
    pub(crate) prototypes: IdVec<PrototypeId, &'d str>,
    /// Records of the module, in input order.
    pub(crate) records: Vec<InfoRecord<'d>>,
    pub(crate) compat: Compat,
    pub(crate) notes: Notes<'d>,
    pub(crate) commons: Commons,
    pub(crate) shared: SharedVariables,
    pub(crate) unified: Unified,
    /// The relocation section that the link has made for a parameter bank, where the input, a whole program, has one of the
    /// same name: nvlink keeps both (case `whole_program_textures`).
    pub(crate) added_lists: FxHashMap<SectionId, SectionId>,
    /// Whether a weak function that was replaced had relocations, or constants lost addresses of a weak variable.
    pub(crate) replaced_relocations: bool,
}

/// Symbols that were defined tentatively.
#[derive(Debug, Default)]
pub(crate) struct Commons {
    /// Those by first appearance; some got a definition later.
    pub(crate) named: Vec<SymbolId>,
    /// Those that nvlink drops when it meets a weak definition with a value (case `common_too_large`).
    pub(crate) lost: Vec<SymbolId>,
}

/// Variables in shared memory.
#[derive(Debug)]
pub(crate) struct SharedVariables {
    /// Those of a known size in the order of their definitions, those whose size is chosen at launch where they are first
    /// named.
    pub(crate) named: Vec<SymbolId>,
    /// Alignments of strong definitions of variables that have a weak definition, too. nvlink lays both out: such a variable
    /// stands in [`Self::named`] twice (case `shared_weak`), and so does one in dynamic memory that a later file sizes.
    pub(crate) second_aligns: FxHashMap<SymbolId, u64>,
    /// The strictest alignment of the variables of [`SharedHome::Overlooked`].
    pub(crate) overlooked_align: u64,
    /// Those in dynamic shared memory that whole programs list for debuggers, and where nvlink takes them to start.
    pub(crate) placed_dynamic: Vec<(SymbolId, u64)>,
    /// The section of those that belong to no kernel.
    pub(crate) module: Option<SectionId>,
    /// Which of them are symbols of the image.
    pub(crate) listed: ListedShared,
}

impl SharedVariables {
    fn new(options: &Options) -> Self {
        Self {
            named: Vec::new(),
            second_aligns: FxHashMap::default(),
            overlooked_align: 1,
            placed_dynamic: Vec::new(),
            module: None,
            listed: ListedShared::of(options),
        }
    }
}

impl<'d> Merged<'d> {
    /// Nothing yet, with room for the rows of so many sections and symbols. `toolkit` made the newest of the inputs.
    pub(super) fn new(
        options: &'d Options,
        inputs: Vec<String>,
        toolkit: Toolkit,
        sections: usize,
        symbols: usize,
    ) -> Self {
        let target = options.target;
        Self {
            target,
            settings: &options.settings,
            inputs,
            // Unused capacity costs next to nothing, and growing a large table does not.
            sections: Sections::with_room(sections),
            symbols: Symbols::with_room(sections + symbols, sections),
            // A function has two sections or more.
            functions: IdVec::with_room(sections / 2),
            described: Vec::new(),
            prototypes: IdVec::new(),
            records: Vec::new(),
            compat: Compat::new(target, toolkit),
            notes: Notes::new(target, toolkit),
            commons: Commons::default(),
            shared: SharedVariables::new(options),
            unified: Unified::default(),
            added_lists: FxHashMap::default(),
            replaced_relocations: false,
        }
    }

    /// What is made.
    pub(crate) fn image(&self) -> ImageKind {
        self.settings.image
    }

    /// The content of `.nv.host`.
    pub(crate) fn host_data(&self) -> &'d [u8] {
        self.settings.host_data.as_deref().unwrap_or_default()
    }

    /// Whether the driver loads what is made.
    pub(crate) fn is_executable(&self) -> bool {
        self.image().is_executable()
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

    /// Whether nvlink has dropped a tentative definition that no other one replaces, see [`Commons::lost`].
    pub(crate) fn loses_common(&self) -> bool {
        self.lost_common(|_| true).is_some()
    }

    fn lost_common(&self, is_meant: impl Fn(&Symbol<'_>) -> bool) -> Option<&Symbol<'d>> {
        let mut lost = self.commons.lost.iter().map(|&id| &self.symbols[id]);
        lost.find(|&symbol| symbol.definition == Definition::Common && is_meant(symbol))
    }

    /// Relocatable objects list such symbols, and nvlink fails where one was tentative from the start (case
    /// `common_too_large`).
    pub(super) fn check_lost_commons(&self) -> Result<(), ParseError> {
        let lost = match self.is_executable() {
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

    /// How many bytes the system reserves at the start of a kernel's shared memory.
    pub(crate) fn reserved_shared(&self) -> u64 {
        match self.settings.shared_memory.reservation {
            Reservation::Made if self.target.is_hopper_or_newer() => reserved::SHARED_SIZE,
            Reservation::Made | Reservation::Disabled => 0,
        }
    }

    /// Where the variables in reserved shared memory start. Relocatable objects have no addresses, only alignments.
    pub(crate) fn start_of_reserved(&self) -> u64 {
        match self.is_executable() {
            true => reserved::SHARED_START,
            false => 0,
        }
    }

    /// Whether a symbol is a variable in shared memory that nvlink places nowhere.
    pub(crate) fn is_overlooked(&self, symbol: SymbolId) -> bool {
        self.symbols[symbol].definition == Definition::Shared(SharedHome::Overlooked)
    }

    /// By how much the layout of a relocatable object makes a section of shared memory larger, for its variables before `end`
    /// in [`SharedVariables::named`], or for all of them.
    pub(crate) fn variables_joining(&self, section: SectionId, end: Option<SymbolId>) -> u64 {
        if self.is_executable() {
            return 0;
        }
        let is_of_module = self.sections[section].target.is_none();
        let joins = |&&symbol: &&SymbolId| match self.symbols[symbol].definition {
            Definition::Shared(SharedHome::Kernel(home)) => home == section,
            Definition::Shared(SharedHome::Module | SharedHome::Overlooked) => is_of_module,
            _ => false,
        };
        let before = self.shared.named.iter().take_while(|&&s| Some(s) != end);
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
        match self.settings.shared_memory.null {
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
            && self.is_executable()
            && self.settings.resolved_relocations != ResolvedRelocations::Recorded
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
        self.sections.add(section, &mut self.symbols)
    }
}
