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
    pub(super) discarded: Discarded,
    pub(super) replaced: Replaced,
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
    /// The last signature that was looked up, and where it stands.
    pub(super) signature: Option<(u32, PrototypeId)>,
    registers: Option<FxHashMap<u32, u32>>,
}

/// The weak definitions of an input that yield to those of earlier ones.
pub(super) struct Discarded {
    /// For each of its code sections that is not used: the code that is used instead.
    pub(super) code: Vec<Option<SectionId>>,
    /// The ends of variables, by section and start. Their bytes stay in the image, but are not relocated.
    pub(super) data: BTreeMap<(usize, u64), u64>,
    /// Where the constants of functions went whose code is not used, by section.
    pub(super) constants: FxHashMap<usize, Placed>,
}

/// The weak definitions of earlier inputs that yield to those of an input.
#[derive(Default)]
pub(super) struct Replaced {
    pub(super) code: FxHashMap<SectionId, ReplacedFunction>,
    /// Variables in global memory; they yield to strong ones only.
    pub(super) variables: FxHashSet<SymbolId>,
}

/// A function whose code another definition replaces.
pub(super) struct ReplacedFunction {
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
            discarded: Discarded {
                code: vec![None; object.sections.len()],
                data: BTreeMap::new(),
                constants: FxHashMap::default(),
            },
            replaced: Replaced::default(),
            counted_constants: 0,
            named_constants: constants::named(&object.symbols),
            same_named: SameNamed::new(object, behaviour),
            other_parameters: BTreeSet::new(),
            bank_places: FxHashMap::default(),
            signature: None,
            registers: None,
        }
    }

    /// Whether `offset` lies in a variable of [`Discarded::data`].
    pub(super) fn is_discarded_data(&self, section: usize, offset: u64) -> bool {
        if self.discarded.data.is_empty() {
            return false;
        }
        let before = self
            .discarded
            .data
            .range((section, 0)..=(section, offset))
            .next_back();
        before.is_some_and(|(_, &end)| offset < end)
    }

    /// Whether `place` is in code of [`Discarded::code`].
    pub(super) fn is_discarded(&self, place: Place) -> bool {
        place
            .section()
            .is_some_and(|index| self.discarded.code[index as usize].is_some())
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
