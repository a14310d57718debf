//! What the merge knows of the input that it is working on.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::{FxHashMap, FxHashSet};

use crate::cubin::{InfoCode, InfoRecords, Place};
use crate::error::ParseError;
use crate::id::{InputId, PrototypeId, SectionId, SymbolId};
use crate::options::Behaviour;
use crate::read::{Object, Role};

use super::constants;
use super::same_named::SameNamed;

/// Where a section of the current input went.
#[derive(Debug, Clone, Copy)]
pub(super) struct Placed {
    pub(super) section: SectionId,
    /// Offset of the input's bytes in the output section.
    pub(super) base: u64,
}

/// What the merge knows of the input it is working on.
pub(super) struct Current<'a, 'd> {
    pub(super) id: InputId,
    pub(super) object: &'a Object<'d>,
    /// Where each of its sections went, so far.
    pub(super) placed: Vec<Option<Placed>>,
    /// What each of its symbols became, so far.
    pub(super) symbols: Vec<Option<SymbolId>>,
    /// For each of its code sections that is not used, because another input defines the weak function: the code that is
    /// used instead.
    pub(super) discarded: Vec<Option<SectionId>>,
    /// Weak variables here that another input defines: their ends, by section and start. Their bytes stay in the image, but
    /// are not relocated.
    pub(super) discarded_data: BTreeMap<(usize, u64), u64>,
    /// Where the constants of weak functions went whose code is not used, by section.
    pub(super) unused: FxHashMap<usize, Placed>,
    /// How many compiler constants have names so far, in the Mercury
    /// generation.
    pub(super) counted_constants: u32,
    /// Sections of compiler constants with symbols in them.
    pub(super) named_constants: FxHashMap<u32, constants::Named>,
    pub(super) same_named: SameNamed,
    /// Parameter banks of weak kernels that differ in size from those of the definition in use.
    pub(super) other_parameters: BTreeSet<usize>,
    /// How many messages there were where the symbol of a parameter bank stands among those of variables, by section.
    pub(super) bank_places: FxHashMap<usize, usize>,
    /// Code of earlier inputs that this input replaces.
    pub(super) replaced: FxHashMap<SectionId, Replaced>,
    /// Weak variables of earlier inputs, in global memory, that strong ones of this input replace.
    pub(super) replaced_variables: FxHashSet<SymbolId>,
    /// The last signature that was looked up, and where it stands.
    pub(super) signature: Option<(u32, PrototypeId)>,
    registers: Option<FxHashMap<u32, u32>>,
}

/// A function whose code another definition replaces.
pub(super) struct Replaced {
    pub(super) symbol: SymbolId,
    /// Whether the new definition is a strong one.
    pub(super) is_strong: bool,
}

impl<'a, 'd> Current<'a, 'd> {
    /// An input before anything of it is merged.
    pub(super) fn new(id: InputId, object: &'a Object<'d>, behaviour: Behaviour) -> Self {
        Self {
            id,
            object,
            placed: vec![None; object.sections.len()],
            symbols: vec![None; object.symbols.len()],
            discarded: vec![None; object.sections.len()],
            discarded_data: BTreeMap::new(),
            unused: FxHashMap::default(),
            counted_constants: 0,
            named_constants: constants::named(&object.symbols),
            same_named: SameNamed::new(object, behaviour),
            other_parameters: BTreeSet::new(),
            bank_places: FxHashMap::default(),
            replaced: FxHashMap::default(),
            replaced_variables: FxHashSet::default(),
            signature: None,
            registers: None,
        }
    }

    /// Whether `offset` lies in a variable of [`Self::discarded_data`].
    pub(super) fn is_discarded_data(&self, section: usize, offset: u64) -> bool {
        if self.discarded_data.is_empty() {
            return false;
        }
        let before = self
            .discarded_data
            .range((section, 0)..=(section, offset))
            .next_back();
        before.is_some_and(|(_, &end)| offset < end)
    }

    /// Whether `place` is in code of [`Self::discarded`].
    pub(super) fn is_discarded(&self, place: Place) -> bool {
        place
            .section()
            .is_some_and(|index| self.discarded[index as usize].is_some())
    }

    /// The number of registers of each function of this input, by symbol number.
    pub(super) fn registers(&mut self) -> Result<&FxHashMap<u32, u32>, ParseError> {
        if self.registers.is_none() {
            let mut registers = FxHashMap::default();
            for section in &self.object.sections {
                if section.role != Role::Info || section.target().is_some() {
                    continue;
                }
                for record in InfoRecords::new(section.data) {
                    let record = record.map_err(|e| e.in_section(section.name))?;
                    let count = record.payload.get(4..).and_then(<[u8]>::first_chunk);
                    if let (InfoCode::REGCOUNT, Some(symbol), Some(count)) =
                        (record.code, record.symbol(), count)
                    {
                        registers.insert(symbol, u32::from_le_bytes(*count));
                    }
                }
            }
            self.registers = Some(registers);
        }
        Ok(self.registers.get_or_insert_default())
    }
}
