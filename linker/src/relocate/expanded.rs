//! Where instructions begin in expanded Mercury code.
//!
//! Line tables and relocations of the Mercury world count bytes of expanded
//! code. It is not stored, but its sizes follow from what is: a stored
//! instruction says its own, and one that is not stored has that of its kind
//! (case `lineinfo_replaced`).

use rustc_hash::FxHashMap;

use crate::cubin::{Capsule, StoredInstruction};
use crate::id::SymbolId;
use crate::merge::{Function, Merged, Relocation};
use crate::options::Behaviour;

use super::recode::{Group, groups};
use super::scoreboards::instruction::{
    BLOCK_BARRIER, CLUSTER_ARRIVAL, ERROR_BARRIER, FENCE, INSTRUCTION, MEMORY_BARRIER, Next,
    SYNCS_CONTROL, is_idle_load, next, opcode, operation,
};

/// The place of an instruction, or of what belongs to one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    /// In expanded Mercury code.
    pub(super) mercury: u64,
    /// In machine code.
    pub(super) native: u64,
    /// In machine code, past the memory barriers that only prepare the instruction.
    own: u64,
    /// Whether these barriers cannot belong to the instruction before, because control may come from elsewhere or threads
    /// meet first.
    stands_alone: bool,
    pub(super) role: Role,
}

/// What begins at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// An instruction.
    Instruction,
    /// Machine instructions that complete the instruction before; they take no Mercury code.
    Rest,
    /// Padding, or the end of the code; it takes no Mercury code.
    End,
}

/// The size of most instructions.
const SHORT: u64 = 16;
/// The size of instructions with more operands.
const LONG: u64 = 32;
/// The size of copies to shared memory with a cache hint.
const LONGEST: u64 = 48;

/// The machine instruction that does the work of a Mercury instruction; others prepare or complete it.
pub(super) struct Acting {
    pub(super) place: u64,
    /// Whether it is the only machine instruction of the Mercury instruction.
    pub(super) is_alone: bool,
}

/// The machine code of a function and its Mercury code, as the input has them.
pub(super) fn input_code<'d>(
    merged: &Merged<'d>,
    function: &Function<'d>,
) -> Option<(&'d [u8], &'d [u8])> {
    let text = &merged.sections[function.text?];
    let code = text.native.as_ref()?.content.contributions.first()?;
    let capsule = text.content.contributions.first()?;
    Some((code.data, capsule.data))
}

/// Where the instructions of a function begin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Places {
    /// In order.
    pub(super) all: Vec<Place>,
    /// How long the machine code is.
    pub(super) size: u64,
}

impl Places {
    /// The places in the code in use. `None` if machine code and Mercury code do not belong together.
    pub(super) fn of(merged: &Merged<'_>, function: SymbolId) -> Option<Self> {
        let function = &merged.functions[merged.symbols[function].function?];
        let (code, capsule) = input_code(merged, function)?;
        Self::new(code, capsule)
    }

    fn new(code: &[u8], capsule: &[u8]) -> Option<Self> {
        let capsule = Capsule::parse(capsule).ok()?;
        let instructions: Vec<&[u8; INSTRUCTION]> = code.as_chunks().0.iter().collect();
        let mut all = Vec::with_capacity(instructions.len());
        let mut mercury = 0;
        let blocks = starts_of_blocks(&instructions);
        for group in groups(&capsule) {
            let Group { start, end, .. } = group;
            let own = instructions.get(start..end)?;
            let first = instructions.get(start)?;
            let size = match group.stored {
                Some(stored) => stored_size(&stored),
                None => size(first),
            };
            let place = |mercury, number: usize, role| Place {
                mercury,
                native: (number * INSTRUCTION) as u64,
                own: (number * INSTRUCTION) as u64,
                stands_alone: blocks[number] || instructions.get(number).is_some_and(is_collective),
                role,
            };
            if size == 0 {
                all.push(place(mercury, start, Role::End));
                continue;
            }
            all.push(Place {
                own: ((start + prepares(own)) * INSTRUCTION) as u64,
                ..place(mercury, start, Role::Instruction)
            });
            mercury += size;
            // Machine instructions that complete it are at its end.
            let rest = rest(own);
            if rest > 0 {
                all.push(place(mercury, end - rest, Role::Rest));
            }
        }
        let size = code.len() as u64;
        Some(Self { all, size })
    }

    /// Where the machine code begins of the Mercury instruction around an address.
    pub(super) fn around(&self, mercury: u64) -> Option<u64> {
        let after = self.all.partition_point(|place| place.mercury <= mercury);
        let mut before = self.all[..after].iter().rev();
        before
            .find(|place| place.role == Role::Instruction)
            .map(|place| place.native)
    }

    /// The machine instruction that does the work of the Mercury instruction around an address. `None` past the end.
    pub(super) fn acting(&self, mercury: u64) -> Option<Acting> {
        let after = self.all.partition_point(|place| place.mercury <= mercury);
        let (before, behind) = self.all.split_at(after);
        let mut before = before.iter().rev();
        let place = before.find(|place| place.role != Role::Rest)?;
        let next = behind.first();
        let next = next.map_or(self.size, |next| next.native);
        (place.role == Role::Instruction).then(|| Acting {
            place: place.own,
            is_alone: next - place.native == INSTRUCTION as u64,
        })
    }

    /// The machine instruction that does the work of the Mercury instruction at an address.
    pub(super) fn own(&self, mercury: u64) -> Option<u64> {
        self.instruction(mercury).map(|(place, _)| place.own)
    }

    /// The last machine instruction of the instruction at an address of Mercury code,
    /// and of the barriers before the next one.
    pub(super) fn last(&self, mercury: u64) -> Option<u64> {
        let (_, following) = self.instruction(mercury)?;
        let mut following = following.iter().filter(|place| place.role != Role::Rest);
        let end = following
            .next()
            .map_or(self.size, |place| match place.stands_alone {
                true => place.native,
                false => place.own,
            });
        end.checked_sub(INSTRUCTION as u64)
    }

    /// The place of the Mercury instruction at an address, and the places after it.
    fn instruction(&self, mercury: u64) -> Option<(&Place, &[Place])> {
        let following = self.all.partition_point(|place| place.mercury <= mercury);
        let (before, following) = self.all.split_at(following);
        let place = before.last()?;
        let is_there = place.mercury == mercury && place.role == Role::Instruction;
        is_there.then_some((place, following))
    }

    /// Whether there is no instruction at an address of Mercury code, nor after it.
    pub(super) fn is_end(&self, mercury: u64) -> bool {
        let before = self.all.partition_point(|place| place.mercury < mercury);
        let mut rest = self.all[before..].iter();
        rest.all(|place| place.role != Role::Instruction)
    }

    /// Where the machine code begins of the Mercury instruction at an address, or else of the next one. `None` inside the
    /// last one.
    fn at_or_behind(&self, mercury: u64) -> Option<u64> {
        let before = self.all.partition_point(|place| place.mercury < mercury);
        let mut behind = self.all[before..].iter();
        match behind.find(|place| place.role != Role::Rest) {
            Some(place) if !self.is_end(mercury) => Some(place.native),
            Some(end) if end.mercury != mercury => None,
            _ => Some(self.size),
        }
    }

    /// Where the machine code begins of the Mercury instruction at an address.
    pub(super) fn native(&self, mercury: u64) -> Option<u64> {
        let before = self.all.partition_point(|place| place.mercury < mercury);
        let place = self.all.get(before)?;
        (place.mercury == mercury).then_some(place.native)
    }
}

/// What debug information says of places in functions is made anew of the code in use: the compiler meant the definition of
/// its file, which another one may have replaced (cases `weak_debug_other_code` and `debug_places`).
pub(super) struct CodeInUse<'m, 'd> {
    merged: &'m Merged<'d>,
    behaviour: Behaviour,
    known: FxHashMap<SymbolId, Option<Places>>,
}

impl<'m, 'd> CodeInUse<'m, 'd> {
    pub(super) fn new(merged: &'m Merged<'d>, behaviour: Behaviour) -> Self {
        let known = FxHashMap::default();
        Self {
            merged,
            behaviour,
            known,
        }
    }

    /// Lets a native relocation name the place in machine code that its Mercury twin names.
    pub(super) fn follow(&mut self, twin: &Relocation, relocation: &mut Relocation) {
        let Ok(mercury) = u64::try_from(twin.addend) else {
            return;
        };
        if mercury == 0 || twin.symbol != relocation.symbol {
            return;
        }
        let places = self.known.entry(relocation.symbol);
        let places = places.or_insert_with_key(|&symbol| Places::of(self.merged, symbol));
        if let Some(places) = places {
            let nowhere = match self.behaviour {
                Behaviour::Nvlink => 0,
                _ => places.size,
            };
            relocation.addend = places.at_or_behind(mercury).unwrap_or(nowhere) as i64;
        }
    }
}

/// The barriers of the block that machine instructions prepare, where these are the first ones of
/// Mercury instructions; other places stay.
pub(super) fn barriers(
    code: &[u8],
    capsule: &[u8],
    places: impl Iterator<Item = u32>,
) -> Option<Vec<u32>> {
    let capsule = Capsule::parse(capsule).ok()?;
    let (instructions, _) = code.as_chunks::<INSTRUCTION>();
    let groups: Vec<Group<'_>> = groups(&capsule).collect();
    let barrier = |place: u32| {
        let number = place as usize / INSTRUCTION;
        let before = groups.partition_point(|group| group.start <= number);
        let group = groups[..before]
            .last()
            .filter(|group| group.start == number)?;
        let own = instructions.get(number..group.end)?;
        let prepared = own.iter().position(|i| operation(i) == BLOCK_BARRIER)?;
        u32::try_from((number + prepared) * INSTRUCTION).ok()
    };
    let barriers = places.map(|place| barrier(place).unwrap_or(place));
    Some(barriers.collect())
}

/// How many machine instructions of a Mercury instruction come before what it does: barriers
/// for memory, and if it is such a barrier or one of the cluster, the last one of these is what
/// it does; what gathers the threads of a warp, and for a barrier of the block puts together the
/// number of that.
fn prepares(own: &[&[u8; INSTRUCTION]]) -> usize {
    let is_barrier = |i: &&[u8; INSTRUCTION]| operation(*i) == MEMORY_BARRIER;
    if own.first().is_some_and(is_collective) {
        let barrier = own.iter().position(|i| operation(*i) == BLOCK_BARRIER);
        return barrier.unwrap_or_else(|| 1 + prepares(&own[1..]));
    }
    let own = &own[..own.len() - rest(own)];
    let comes_before = |i: &&[u8; INSTRUCTION]| {
        is_barrier(i) || matches!(operation(*i), ERROR_BARRIER | FENCE) || is_idle_load(i)
    };
    let first = own.iter().position(|i| !comes_before(i));
    let first = first.filter(|&first| operation(own[first]) != CLUSTER_ARRIVAL);
    let first = first.or_else(|| own.iter().rposition(is_barrier));
    first.unwrap_or_default()
}

/// Whether an instruction gathers threads for those that follow.
fn is_collective(instruction: &&[u8; INSTRUCTION]) -> bool {
    matches!(next(*instruction, 0), Next::Collective(_))
}

/// How many machine instructions complete what those before them begin. One that stands alone does so for none (case
/// `lost_frames`).
fn rest(own: &[&[u8; INSTRUCTION]]) -> usize {
    let behind = own.get(1..).unwrap_or_default();
    behind.iter().rev().take_while(|i| comes_behind(i)).count()
}

/// Whether control can come to an instruction from elsewhere, or what is before it may end.
pub(super) fn starts_of_blocks(instructions: &[&[u8; INSTRUCTION]]) -> Vec<bool> {
    let mut starts = vec![false; instructions.len() + 1];
    for (index, instruction) in instructions.iter().enumerate() {
        let offset = (index * INSTRUCTION) as u64;
        let target = match next(*instruction, offset) {
            Next::Through | Next::Unknown => continue,
            Next::To(target) | Next::Either(target) | Next::Call(target) => Some(target),
            Next::Collective(target) => Some(target),
            Next::Meeting | Next::MaybeEnd | Next::End => None,
            Next::Return | Next::EndCollective | Next::Table => None,
        };
        starts[index + 1] = true;
        let target = target.map(|target| target as usize / INSTRUCTION);
        if let Some(start) = target.and_then(|target| starts.get_mut(target)) {
            *start = true;
        }
    }
    starts
}

/// Whether an instruction completes what the one before it begins: NOP,
/// ENDCOLLECTIVE, CCTL, ERRBAR, CGAERRBAR and SYNCS.CCTL.IVALL.
fn comes_behind(instruction: &[u8; INSTRUCTION]) -> bool {
    matches!(operation(instruction), 0x118 | 0x11b | 0x18f | 0x1ab)
        || ends_all_barriers(instruction)
}

/// Whether an instruction ends all barriers in shared memory, which belongs to a barrier for memory, and not one of them.
fn ends_all_barriers(instruction: &[u8; INSTRUCTION]) -> bool {
    const KIND: usize = 11;
    const ONE: u8 = 8;
    operation(instruction) == SYNCS_CONTROL && instruction[KIND] & ONE == 0
}

/// The expanded size of a stored instruction. It does not follow from the stored length alone: four bytes can stand for
/// either size.
fn stored_size(stored: &StoredInstruction<'_>) -> u64 {
    match stored.body().first() {
        Some(0x50 | 0xd0) | None => 0,
        Some(first) if first & 3 == 1 => SHORT,
        Some(first) if first & 3 == 3 => LONGEST,
        Some(_) => LONG,
    }
}

/// The expanded size of an instruction that is not stored, by its machine instruction.
fn size(instruction: &[u8; INSTRUCTION]) -> u64 {
    /// BSSY, by what it waits for.
    const BSSY: u16 = 0x145;
    /// No register.
    const NONE: u8 = 0xff;
    const IMMEDIATE_FORMS: [u16; 2] = [2, 4];
    let third = instruction[8];
    let modifiers = instruction[9];
    let is_long = match operation(instruction) {
        // MOV, VOTE, NOP, what guards divergent code, EXIT, and the like.
        0x002 | 0x006 | 0x082 | 0x086 | 0x118 | 0x141 | 0x142 | 0x146 | 0x14d | 0x15c | 0x15d
        | 0x1af => false,
        BSSY => modifiers & 3 == 0,
        _ if IMMEDIATE_FORMS.contains(&(opcode(instruction) >> 9)) => true,
        // LEA, VABSDIFF, VABSDIFF4, FFMA, IMAD.WIDE, IMAD.HI, DFMA, HFMA2, UIMAD.WIDE and UIMAD.HI
        // (case `native_relocations`): three operands. HSET2, HSETP2, SHFL, CALL.REL, stores and loads without a descriptor have more.
        0x144 | 0x011 | 0x014 | 0x015 | 0x023 | 0x025 | 0x027 | 0x02b | 0x031 | 0x033 | 0x034
        | 0x0a5 | 0x0a7 | 0x143 | 0x181 | 0x188 | 0x189 | 0x1aa => true,
        // IADD3 and IMAD, which may add a carry.
        0x010 | 0x090 => third != NONE || modifiers & 4 != 0,
        0x024 | 0x0a4 => modifiers & 4 != 0,
        // ULEA, and ULEA.HI.
        0x091 => third != NONE || instruction[10] & 1 != 0,
        // LOP3.
        0x012 | 0x092 => third != NONE,
        // FSETP, ISETP, DSETP and UISETP.
        kind @ (0x00b | 0x00c | 0x02a | 0x08c) => {
            let is_extended = matches!(kind, 0x00c | 0x08c) && modifiers & 1 != 0;
            is_extended || combines_predicates(instruction)
        }
        _ => false,
    };
    match is_long {
        true => LONG,
        false => SHORT,
    }
}

/// Whether a comparison writes two predicates, or joins its result with one
/// in another way than by `&& true`.
fn combines_predicates(instruction: &[u8; INSTRUCTION]) -> bool {
    const TRUE: u8 = 7;
    let is_and = instruction[9] & 0x0c == 0;
    let second_result = instruction[10] >> 4 & 7;
    let operand = instruction[10] >> 7 | (instruction[11] & 3) << 1;
    !is_and || second_result != TRUE || operand != TRUE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_memory_barrier_is_none_for_those_in_shared_memory() {
        let instruction = |opcode: u16, kind: u8| {
            let [low, high] = opcode.to_le_bytes();
            [low, high, 0, 0, 0, 0, 0, 0, 0, 0, 0, kind, 0, 0, 0, 0]
        };
        let (barrier, fence) = (instruction(0x7992, 0), instruction(0x73c6, 0));
        assert_eq!(operation(&fence), FENCE);
        // SYNCS.CCTL.IVALL and SYNCS.CCTL.IV
        for (kind, expected) in [(0, 1), (8, 3)] {
            let last = instruction(0x79b1, kind);
            assert_eq!(prepares(&[&barrier, &barrier, &fence, &last]), expected);
        }
    }

    #[test]
    fn what_prepares_a_barrier_stands_for_it() {
        let instruction = |opcode: u16| {
            let mut instruction = [0; INSTRUCTION];
            instruction[..2].copy_from_slice(&opcode.to_le_bytes());
            instruction
        };
        // EXIT, then SHF, LOP3, BAR and SHF together, and MOV.
        let code = [0x794d, 0x7819, 0x7812, 0x7b1d, 0x7819, 0x7802].map(instruction);
        let words = [15, Capsule::MARKER, 3, 0b101].map(u32::to_le_bytes);
        let stored: [&[u8]; 2] = [&[0x51, 2], &[1; 16]];
        let capsule = [words.as_flattened(), &stored.concat()].concat();
        let found = barriers(
            code.as_flattened(),
            &capsule,
            [0, 16, 32, 80, 800].into_iter(),
        );
        assert_eq!(found.unwrap(), [0, 48, 32, 80, 800]);
        assert_eq!(
            barriers(code.as_flattened(), &capsule[..20], [0].into_iter()),
            None
        );
    }
}
