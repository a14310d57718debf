//! The tables of sections and symbols, with what has to change together with their rows.

use std::ops::{Index, IndexMut};

use crate::cubin::{Symbol as FileSymbol, SymbolType, UnifiedEntry};
use crate::id::{Id as _, IdVec, SectionId, SymbolId};

use super::{
    Content, Definition, Form, Listing, NewSection, STUB_SIZE, Section, SectionKind, Symbol,
};

/// The sections of a link in the order in which they were made.
#[derive(Debug)]
pub(crate) struct Sections<'d> {
    rows: IdVec<SectionId, Section<'d>>,
    /// The kind of each section, as in its row. Nearly all sections are code with its relocations and records; a search for
    /// sections of another kind goes through this dense list instead of the rows.
    kinds: IdVec<SectionId, SectionKind>,
    /// nvlink counts some sections that get no name and are not written. This has, for each of them, the index of the
    /// section that was made next, in ascending order.
    unnamed: Vec<usize>,
}

impl<'d> Sections<'d> {
    /// None yet, with room for so many.
    pub(super) fn with_room(sections: usize) -> Self {
        Self {
            rows: IdVec::with_room(sections),
            kinds: IdVec::with_room(sections),
            unnamed: Vec::new(),
        }
    }

    /// Counts a section that nvlink makes here and never names.
    pub(super) fn count_unnamed(&mut self) {
        self.unnamed.push(self.rows.len());
    }

    /// The number of a section in the order of creation, in which nvlink counts some that it never names.
    pub(crate) fn creation_number(&self, section: SectionId) -> u32 {
        let index = section.index();
        let unnamed = self.unnamed.partition_point(|&next| next <= index);
        (index + 1 + unnamed) as u32
    }

    /// One value for each section.
    pub(crate) fn each<T: Clone>(&self, value: T) -> IdVec<SectionId, T> {
        IdVec::filled(&self.rows, value)
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// All sections, in creation order.
    pub(crate) fn iter(&self) -> std::slice::Iter<'_, Section<'d>> {
        self.rows.iter()
    }

    /// All sections, to change.
    pub(crate) fn iter_mut(&mut self) -> std::slice::IterMut<'_, Section<'d>> {
        self.rows.iter_mut()
    }

    /// All sections with their ids, in creation order.
    pub(crate) fn enumerate(&self) -> impl DoubleEndedIterator<Item = (SectionId, &Section<'d>)> {
        self.rows.enumerate()
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
    pub(crate) fn of_kind(
        &self,
        is_wanted: impl Fn(SectionKind) -> bool,
    ) -> impl Iterator<Item = (SectionId, &Section<'d>)> {
        let wanted = self.kinds().filter(move |&(_, kind)| is_wanted(kind));
        wanted.map(|(id, _)| (id, &self.rows[id]))
    }

    /// Adds a section. `symbols` gets its symbol, last of the local ones.
    pub(super) fn add(&mut self, section: NewSection<'d>, symbols: &mut Symbols<'d>) -> SectionId {
        let NewSection {
            name,
            kind,
            flags,
            align,
            target,
        } = section;
        let definition = Definition::Section(SectionId::new(self.rows.len()));
        let symbol = Symbol::local(name, SymbolType::SECTION, definition);
        let symbol = symbols.add(symbol, Listing::Local);
        self.kinds.push(kind);
        self.rows.push(Section {
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

impl<'d> Index<SectionId> for Sections<'d> {
    type Output = Section<'d>;

    fn index(&self, section: SectionId) -> &Section<'d> {
        &self.rows[section]
    }
}

impl<'d> IndexMut<SectionId> for Sections<'d> {
    fn index_mut(&mut self, section: SectionId) -> &mut Section<'d> {
        &mut self.rows[section]
    }
}

/// The symbols of a link in the order in which they were made, and which of them its symbol table lists.
#[derive(Debug)]
pub(crate) struct Symbols<'d> {
    rows: IdVec<SymbolId, Symbol<'d>>,
    /// The symbol of relocations that name none.
    pub(crate) nothing: SymbolId,
    /// The local half of the symbol table, in creation order.
    pub(crate) locals: Vec<SymbolId>,
    /// The global half, in creation order.
    pub(crate) globals: Vec<SymbolId>,
}

impl<'d> Symbols<'d> {
    /// None but the one of relocations that name none, with room for so many, of which so many belong to sections.
    pub(super) fn with_room(symbols: usize, of_sections: usize) -> Self {
        let mut rows = IdVec::with_room(symbols);
        let nothing = rows.push(Symbol::LOST);
        Self {
            rows,
            nothing,
            locals: Vec::with_capacity(of_sections),
            globals: Vec::new(),
        }
    }

    /// Adds a symbol, the last one of its half of the table.
    pub(crate) fn add(&mut self, symbol: Symbol<'d>, listing: Listing) -> SymbolId {
        let id = self.rows.push(symbol);
        match listing {
            Listing::Local => self.locals.push(id),
            Listing::Global => self.globals.push(id),
            Listing::Unlisted => {}
        }
        id
    }

    /// The symbol table: what it lists, in its order.
    pub(crate) fn listed(&self) -> impl Iterator<Item = SymbolId> {
        self.locals.iter().chain(&self.globals).copied()
    }

    /// Keeps those in the symbol table that are meant.
    pub(crate) fn keep_listed(&mut self, mut is_kept: impl FnMut(SymbolId, &Symbol<'d>) -> bool) {
        for list in [&mut self.locals, &mut self.globals] {
            list.retain(|&symbol| is_kept(symbol, &self.rows[symbol]));
        }
    }

    /// The order of symbols in the symbol table, as numbers to compare. Unlisted symbols come last.
    pub(crate) fn ranks(&self) -> IdVec<SymbolId, u32> {
        let mut ranks = self.each(u32::MAX);
        for (rank, symbol) in (0..).zip(self.listed()) {
            ranks[symbol] = rank;
        }
        ranks
    }

    /// One value for each symbol.
    pub(crate) fn each<T: Clone>(&self, value: T) -> IdVec<SymbolId, T> {
        IdVec::filled(&self.rows, value)
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// All symbols, in creation order.
    pub(crate) fn iter(&self) -> std::slice::Iter<'_, Symbol<'d>> {
        self.rows.iter()
    }

    /// All symbols, to change.
    pub(crate) fn iter_mut(&mut self) -> std::slice::IterMut<'_, Symbol<'d>> {
        self.rows.iter_mut()
    }

    /// All symbols with their ids, in creation order.
    pub(crate) fn enumerate(&self) -> impl DoubleEndedIterator<Item = (SymbolId, &Symbol<'d>)> {
        self.rows.enumerate()
    }
}

impl<'d> Index<SymbolId> for Symbols<'d> {
    type Output = Symbol<'d>;

    fn index(&self, symbol: SymbolId) -> &Symbol<'d> {
        &self.rows[symbol]
    }
}

impl<'d> IndexMut<SymbolId> for Symbols<'d> {
    fn index_mut(&mut self, symbol: SymbolId) -> &mut Symbol<'d> {
        &mut self.rows[symbol]
    }
}
