//! The tables of unified functions and variables, in the order of the index.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::cubin::{Capsule, IndexTable, UnifiedIndex, UnifiedTable};
use crate::error::{NvlinkError, ParseError};
use crate::id::{FunctionId, SectionId, SymbolId};
use crate::merge::{
    Definition, MERCURY_STUB_SIZE, Merged, NativeSlot, Relocation, STUB_SIZE, Section, SectionKind,
    Slot, UnifiedMember, missing_in_slot,
};
use crate::options::Behaviour;
use crate::prune::Pruned;

use super::moves::{Move, Rest, move_parts};

/// Variables lie side by side: only a damaged index needs more.
const LARGEST_TABLE: u64 = 1 << 30;

/// Puts every unified function and variable where the index wants it.
pub(super) fn arrange(pruned: &mut Pruned<'_>, behaviour: Behaviour) -> Result<(), ParseError> {
    let Some(index) = &pruned.merged.settings.unified_index else {
        return Ok(());
    };
    arrange_functions(pruned, index, behaviour)
        .and_then(|()| arrange_variables(&mut pruned.merged, index, behaviour))
        .map_err(|e| e.in_input(&index.name))
}

/// Moves the slots of unified functions to the places of the index.
fn arrange_functions(
    pruned: &mut Pruned<'_>,
    index: &UnifiedIndex,
    behaviour: Behaviour,
) -> Result<(), ParseError> {
    let Some(section) = find(&pruned.merged, SectionKind::Stubs) else {
        return Ok(());
    };
    if behaviour == Behaviour::Own {
        drop_unused_stubs(pruned);
    }
    let merged = &mut pruned.merged;
    let stubs = merged.functions.enumerate().filter(|(_, f)| f.is_stub);
    let stubs: Vec<(FunctionId, SymbolId)> = stubs
        .filter(|&(id, _)| pruned.live.functions[id])
        .map(|(id, f)| (id, f.symbol))
        .collect();
    let size = match behaviour {
        Behaviour::Nvlink => merged.sections[section].content.size,
        Behaviour::Own => stubs.len() as u64 * STUB_SIZE,
    };
    let entries = merged.unified.functions.len() as u64;
    if entries * STUB_SIZE != size {
        let problem = format!(
            "the inputs have {} slots of unified functions and {entries} entries",
            size / STUB_SIZE
        );
        return Err(ParseError::malformed(problem).as_nvlink(NvlinkError::SlotsAndEntries));
    }
    check_window(&index.functions, size, NvlinkError::FunctionWindow)?;
    assign(merged, index, UnifiedTable::Functions, behaviour)?;
    let mut moves = slot_moves(merged, &stubs)?;
    let size = index.functions.window;
    check_places(merged, &mut moves, size)?;
    let has_mercury = merged.target.has_mercury();
    let mut short = ShortSlots::default();
    if has_mercury {
        short = ShortSlots::find(&merged.sections[section], &moves)?;
        merged.unified.native_slots = native_slots(&moves, &short, behaviour);
    }
    move_parts(merged, section, moves, size, Rest::Goes);
    let slot_size = match has_mercury {
        true => MERCURY_STUB_SIZE,
        false => STUB_SIZE,
    };
    let row = &mut merged.sections[section];
    for relocation in &mut row.relocations {
        relocation.offset = offset_in_slots(relocation.offset, slot_size, behaviour);
    }
    if has_mercury && behaviour == Behaviour::Nvlink {
        let native = row.native.iter_mut().flat_map(|n| &mut n.relocations);
        for relocation in native {
            relocation.offset = short.start(relocation.offset / STUB_SIZE);
        }
    }
    Ok(())
}

/// Slots that have fewer instructions than others, and longer ones in Mercury code.
#[derive(Default)]
struct ShortSlots {
    /// In the order of their numbers.
    slots: Vec<ShortSlot>,
}

struct ShortSlot {
    /// Its number in the table.
    number: u64,
    /// How many instructions it lacks.
    missing: u64,
    /// How many it lacks together with those before it.
    missing_so_far: u64,
}

impl ShortSlots {
    const INSTRUCTION: u64 = 16;
    const LONG: u64 = 32;
    /// Long ones in the Mercury code of slots that lack none.
    const LONG_ONES: u64 = 2;

    fn find(slots: &Section<'_>, moves: &[Move]) -> Result<Self, ParseError> {
        let parts = &slots.content.contributions;
        let mut short = Vec::new();
        for slot in moves {
            let before = parts.partition_point(|part| part.offset <= slot.from);
            let Some(part) = before.checked_sub(1).map(|index| parts[index]) else {
                continue;
            };
            let missing = missing_in_slot(&Capsule::parse(part.data)?) as u64;
            if missing > 0 {
                short.push((slot.to / STUB_SIZE, missing));
            }
        }
        short.sort_unstable();
        let slots = short.into_iter().scan(0, |total, (number, missing)| {
            *total += missing;
            Some(ShortSlot {
                number,
                missing,
                missing_so_far: *total,
            })
        });
        Ok(Self {
            slots: slots.collect(),
        })
    }

    /// Where a slot starts in nvlink's machine code.
    fn start(&self, slot: u64) -> u64 {
        let before = self.slots.partition_point(|short| short.number < slot);
        let last = before.checked_sub(1).map(|index| &self.slots[index]);
        slot * STUB_SIZE - last.map_or(0, |last| last.missing_so_far) * Self::INSTRUCTION
    }

    /// The machine code at an address of expanded Mercury code.
    fn native(&self, mercury: u64) -> u64 {
        let (slot, inside) = (mercury / MERCURY_STUB_SIZE, mercury % MERCURY_STUB_SIZE);
        let own = self.slots.binary_search_by_key(&slot, |short| short.number);
        let long_ones = Self::LONG_ONES + own.map_or(0, |index| self.slots[index].missing);
        self.start(slot)
            + match inside < long_ones * Self::LONG {
                true => inside / Self::LONG * Self::INSTRUCTION,
                false => inside - long_ones * Self::INSTRUCTION,
            }
    }

    /// Where all of so many slots end, with what ends them.
    fn end(&self, slots: usize) -> u64 {
        (self.start(slots as u64) + Self::INSTRUCTION).next_multiple_of(STUB_SIZE)
    }
}

/// Where each slot goes: the index names what it calls.
fn slot_moves(
    merged: &Merged<'_>,
    stubs: &[(FunctionId, SymbolId)],
) -> Result<Vec<Move>, ParseError> {
    let members = merged.unified.functions.iter();
    let places: FxHashMap<SymbolId, u64> = members
        .filter_map(|member| match member.slot {
            Slot::Indexed(offset) => Some((member.symbol, offset)),
            Slot::Merged => None,
        })
        .collect();
    let mut moves = Vec::with_capacity(stubs.len());
    for &(id, symbol) in stubs {
        let mut callees = merged.functions[id].calls.iter();
        let to = callees.find_map(|&callee| places.get(&merged.functions[callee].symbol));
        let Some(&to) = to else {
            let problem = "no entry names what this slot calls";
            let symbol = &merged.symbols[symbol].name;
            return Err(ParseError::malformed(problem)
                .as_nvlink(NvlinkError::NoMatchingStub)
                .of_symbol(symbol));
        };
        if to % STUB_SIZE != 0 {
            let problem = format!("{to:#x} is not the start of a slot");
            return Err(ParseError::malformed(problem).of_symbol(merged.symbols[symbol].name));
        }
        moves.push(Move {
            symbol,
            from: merged.symbols[symbol].value,
            size: STUB_SIZE,
            to,
        });
    }
    Ok(moves)
}

/// Where a relocation of a slot stands where slots have another size. nvlink forgets where in its slot it stood (case
/// `unified_arguments`).
fn offset_in_slots(offset: u64, slot_size: u64, behaviour: Behaviour) -> u64 {
    let start = offset / STUB_SIZE * slot_size;
    match behaviour {
        Behaviour::Own => start + offset % STUB_SIZE,
        Behaviour::Nvlink => start,
    }
}

/// Slots in machine code. nvlink takes their places from the Mercury code, of
/// whose instructions the first ones are longer, and takes slots there to have no
/// gaps; each reaches to the next, and the first over all of them. What it knows
/// of machine code it finds for the first alone.
fn native_slots(
    moves: &[Move],
    short: &ShortSlots,
    behaviour: Behaviour,
) -> FxHashMap<SymbolId, NativeSlot> {
    if behaviour == Behaviour::Own {
        let slot = |to| NativeSlot {
            place: to,
            size: STUB_SIZE,
            described: STUB_SIZE,
            is_own: true,
        };
        return moves.iter().map(|m| (m.symbol, slot(m.to))).collect();
    }
    let end = short.end(moves.len());
    let mut places: Vec<u64> = moves.iter().map(|slot| short.native(slot.to)).collect();
    places.sort_unstable();
    let slots = moves.iter().map(|slot| {
        let start = short.native(slot.to);
        let next = places.partition_point(|&other| other <= start);
        let length = places.get(next).copied().unwrap_or(end) - start;
        let is_first = start == 0;
        let native = NativeSlot {
            place: start,
            size: match is_first {
                true => end,
                false => length,
            },
            described: length,
            is_own: false,
        };
        (slot.symbol, native)
    });
    slots.collect()
}

/// Of a weak function that several inputs define, one slot is enough.
fn drop_unused_stubs(pruned: &mut Pruned<'_>) {
    let mut served = FxHashSet::default();
    for (id, function) in pruned.merged.functions.enumerate() {
        if function.is_stub && !function.calls.iter().any(|&callee| served.insert(callee)) {
            pruned.live.functions[id] = false;
            pruned.live.symbols[function.symbol] = false;
        }
    }
    let mut seen = FxHashSet::default();
    let members = &mut pruned.merged.unified.functions;
    members.retain(|member| seen.insert((member.symbol, member.identity)));
}

/// What nvlink copies moves with its pointers here; nvlink leaves those where
/// they were (case `unified_pointers`).
fn arrange_variables(
    merged: &mut Merged<'_>,
    index: &UnifiedIndex,
    behaviour: Behaviour,
) -> Result<(), ParseError> {
    let Some(section) = find(merged, SectionKind::UnifiedData) else {
        return Ok(());
    };
    if behaviour == Behaviour::Own {
        let mut seen = FxHashSet::default();
        let members = &mut merged.unified.variables;
        members.retain(|member| seen.insert((member.symbol, member.identity)));
    }
    if merged.unified.variables.is_empty() {
        let problem = "the inputs have unified variables and no entries for them";
        return Err(ParseError::malformed(problem).as_nvlink(NvlinkError::NoDataEntry));
    }
    assign(merged, index, UnifiedTable::Variables, behaviour)?;
    let mut moves = Vec::new();
    for member in &merged.unified.variables {
        let row = &merged.symbols[member.symbol];
        if row.definition != Definition::Section(section) {
            let problem = "it is no unified variable";
            return Err(ParseError::malformed(problem).of_symbol(row.name));
        }
        if let Slot::Indexed(to) = member.slot {
            moves.push(Move {
                symbol: member.symbol,
                from: row.value,
                size: row.size,
                to,
            });
        }
    }
    let end = moves.iter().map(|part| part.to.saturating_add(part.size));
    let size = end.max().unwrap_or(0);
    check_window(&index.variables, size, NvlinkError::DataWindow)?;
    if size > LARGEST_TABLE {
        let problem = format!(
            "it spreads the unified variables over {size:#x} bytes; the limit is {LARGEST_TABLE:#x}"
        );
        return Err(ParseError::malformed(problem));
    }
    check_places(merged, &mut moves, size)?;
    let pointers = take_pointers(merged, section, behaviour);
    move_parts(merged, section, moves, size, Rest::Goes);
    if let Some((linked, native)) = pointers {
        let row = &mut merged.sections[section];
        row.relocations = linked;
        if let Some(twin) = &mut row.native {
            twin.relocations = native;
        }
    }
    Ok(())
}

/// The relocations that nvlink leaves where they are.
fn take_pointers(
    merged: &mut Merged<'_>,
    section: SectionId,
    behaviour: Behaviour,
) -> Option<(Vec<Relocation>, Vec<Relocation>)> {
    let row = &mut merged.sections[section];
    let native = row.native.as_mut().map(|n| &mut n.relocations);
    match behaviour {
        Behaviour::Own => None,
        Behaviour::Nvlink => Some((
            std::mem::take(&mut row.relocations),
            native.map(std::mem::take).unwrap_or_default(),
        )),
    }
}

fn find(merged: &Merged<'_>, kind: SectionKind) -> Option<SectionId> {
    let mut sections = merged.sections.of_kind(|known| known == kind);
    sections.next().map(|(id, _)| id)
}

fn check_window(table: &IndexTable, size: u64, error: NvlinkError) -> Result<(), ParseError> {
    if table.window == size {
        return Ok(());
    }
    let problem = format!(
        "it has {:#x} bytes for a table that the inputs fill with {size:#x}",
        table.window
    );
    Err(ParseError::malformed(problem).as_nvlink(error))
}

/// Gives each member its slot. One that the index does not name has none;
/// nvlink fills that part of the table with whatever its memory holds.
fn assign(
    merged: &mut Merged<'_>,
    index: &UnifiedIndex,
    table: UnifiedTable,
    behaviour: Behaviour,
) -> Result<(), ParseError> {
    let members = merged.unified.members_mut(table);
    let mut by_identity = FxHashMap::default();
    let mut repeated = FxHashSet::default();
    for (position, member) in members.iter().enumerate() {
        let is_known = by_identity.insert(member.identity, position).is_some();
        // nvlink takes the last one of two, and counts to three.
        if is_known && (behaviour == Behaviour::Own || !repeated.insert(member.identity)) {
            let problem = format!(
                "two entries of the inputs have the identity {}",
                shown(member.identity)
            );
            return Err(ParseError::malformed(problem).as_nvlink(NvlinkError::DuplicateIdentity));
        }
    }
    for slot in &index.table(table).slots {
        let Some(&position) = by_identity.get(&slot.identity) else {
            let problem = format!(
                "no input has an entry of the identity {}",
                shown(slot.identity)
            );
            // nvlink looks for the exclusive or of both words first.
            let key = |[first, second]: [u64; 2]| first ^ second;
            let is_near = |member: &UnifiedMember| key(member.identity) == key(slot.identity);
            return Err(ParseError::malformed(problem).as_nvlink(
                match members.iter().any(is_near) {
                    true => NvlinkError::NoMatchingIdentity,
                    false => NvlinkError::NoIdentity,
                },
            ));
        };
        if members[position].slot != Slot::Merged {
            let problem = format!("it has two slots for the identity {}", shown(slot.identity));
            return Err(ParseError::malformed(problem).as_nvlink(NvlinkError::FoundTwice));
        }
        members[position].slot = Slot::Indexed(slot.offset);
    }
    let missing = members.iter().find(|member| member.slot == Slot::Merged);
    match missing {
        Some(member) => {
            let problem = format!("it has no slot for the identity {}", shown(member.identity));
            let symbol = &merged.symbols[member.symbol].name;
            Err(ParseError::malformed(problem).of_symbol(symbol))
        }
        None => Ok(()),
    }
}

fn shown([first, second]: [u64; 2]) -> String {
    format!("{first:#x}, {second:#x}")
}

/// Whether every part has a place of its own in the table.
fn check_places(merged: &Merged<'_>, moves: &mut [Move], size: u64) -> Result<(), ParseError> {
    moves.sort_by_key(|part| part.to);
    let mut end = 0;
    for part in moves {
        let next = part.to.checked_add(part.size);
        if part.to < end || next.is_none_or(|next| next > size) {
            let problem = format!("the slot at {:#x} is not free or not in the table", part.to);
            let symbol = &merged.symbols[part.symbol].name;
            return Err(ParseError::malformed(problem).of_symbol(symbol));
        }
        end = part.to + part.size;
    }
    Ok(())
}
