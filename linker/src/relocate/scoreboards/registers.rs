//! Which registers and predicates an instruction reads and writes, and when.

mod encoded;
mod names;
mod queues;

use std::ops::RangeInclusive;

use super::Until;
use super::control::Control;
use super::instruction::{
    BLOCK_BARRIER, BOARDS, MEMORY_BARRIER, SYNCS_EXCHANGE, TEXTURE_QUERY, names_texture, operation,
};
use super::operands::{
    Bits128, COMES_LATER, File, VOTE, VOTE_OF_WARP, WIDE_PRODUCT, adds_no_register,
};

use encoded::{Encoded, predicate};
pub(super) use names::{NAMES, Names};

/// One bit for each register of a file.
type Bank = [u64; 4];

/// Registers of threads, registers of warps, and predicates.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Registers {
    thread: Bank,
    uniform: Bank,
    /// Eight bits for threads, eight for warps.
    predicates: u16,
}

impl Registers {
    /// Whether one of them is among others.
    fn meet(&self, other: &Self) -> bool {
        self.meet_in_threads(other)
            || any_common(&self.uniform, &other.uniform)
            || self.predicates & other.predicates != 0
    }

    /// The same for registers of threads only.
    fn meet_in_threads(&self, other: &Self) -> bool {
        any_common(&self.thread, &other.thread)
    }

    /// One register of threads.
    fn one(register: u8) -> Self {
        let mut registers = Self::default();
        registers.insert(File::Thread, register, 1);
        registers
    }

    /// Leaves out registers of threads.
    fn remove(&mut self, other: &Self) {
        for (registers, gone) in self.thread.iter_mut().zip(&other.thread) {
            *registers &= !gone;
        }
    }

    /// Leaves out registers and predicates.
    fn remove_all(&mut self, other: &Self) {
        self.remove(other);
        for (registers, gone) in self.uniform.iter_mut().zip(&other.uniform) {
            *registers &= !gone;
        }
        self.predicates &= !other.predicates;
    }

    fn insert(&mut self, file: File, first: u8, count: u8) {
        let registers = match file {
            File::Thread => &mut self.thread,
            File::Uniform => &mut self.uniform,
        };
        // The last one is always zero.
        for register in (first..u8::MAX).take(usize::from(count)) {
            registers[usize::from(register / 64)] |= 1 << (register % 64);
        }
    }
}

/// Whether two sets of registers have one in common.
fn any_common(ours: &Bank, theirs: &Bank) -> bool {
    let pairs = ours.iter().zip(theirs);
    pairs.fold(0, |common, (ours, theirs)| common | ours & theirs) != 0
}

fn count(bank: &Bank) -> u32 {
    bank.iter().map(|word| word.count_ones()).sum()
}

/// Accesses to memory.
const ACCESSES: RangeInclusive<u16> = 0x180..=0x1af;
/// The last of the ways to access memory in no order.
const WEAK: u8 = 4;

/// The predicate that always holds, and the guard of what never happens.
const ALWAYS: u8 = 7;
const NEVER: u8 = ALWAYS | 8;

/// What an instruction reads and writes, and when it does.
#[derive(Debug, Clone, Copy)]
pub(super) struct Accesses {
    operation: u16,
    /// Whose registers and predicates it works on.
    file: File,
    /// A predicate, and 8 more if it must not hold.
    guard: u8,
    reads: Registers,
    read_predicates: u16,
    writes: Registers,
    /// The predicate of an ATOM, which says whether the address was one of shared
    /// memory. It is there when the operands are read.
    early_predicate: u16,
    /// Whether others wait for its result by a scoreboard.
    takes_for_result: bool,
    /// Whether other threads see an access in an order.
    is_strong: bool,
    /// Whether a barrier for memory is the first one of two, which takes no time.
    is_first_of_two: bool,
    /// Whether threads of a warp meet there to see what others of them have done.
    sees_others: bool,
    /// Whether it puts a part of a descriptor of a tensor where others take it from.
    publishes: bool,
    /// The halves of a wide product that come sooner or later than others.
    halves: Option<Halves>,
}

/// Whether an instruction is the ATOMG.EXCH of `tensormap.cp_fenceproxy`, which names no descriptor of memory as others do,
/// and keeps nothing.
pub(super) fn publishes(instruction: &[u8]) -> bool {
    const ATOMG: u16 = 0x1a8;
    const NO_REGISTER: u8 = 0xff;
    let bits = Bits128::of(instruction);
    operation(instruction) == ATOMG && !bits.is_set(76) && bits.get(16, 8) == NO_REGISTER
}

/// IMAD.HI.
const UPPER_PRODUCT: u16 = 0x027;

/// Registers of a product of twice the width.
#[derive(Debug, Clone, Copy)]
struct Halves {
    /// Whether it has both halves and not only the upper one.
    are_both: bool,
    /// The upper half of the result, which is there last.
    result: u8,
    /// That of what is added, which is read last, or all that is, if it is a register.
    addend: Option<u8>,
}

impl Halves {
    fn of(instruction: &[u8], bits: &Bits128) -> Option<Self> {
        let are_both = match operation(instruction) {
            WIDE_PRODUCT => true,
            UPPER_PRODUCT => false,
            _ => return None,
        };
        let last = |at: u32| bits.get(at, 8) | u8::from(are_both);
        let form = bits.get(9, 3);
        Some(Self {
            are_both,
            result: last(16),
            addend: (!adds_no_register(form)).then(|| last(64)),
        })
    }
}

impl Accesses {
    /// Nothing if the instruction is not known.
    pub(super) fn of(instruction: &[u8]) -> Option<Self> {
        let encoded = Encoded::of(instruction);
        let (reads, writes) = encoded.registers()?;
        let Encoded {
            operation,
            file,
            bits,
            ..
        } = encoded;
        let accesses = Self {
            operation,
            file,
            guard: encoded.guard(),
            reads,
            read_predicates: encoded.read_predicates(),
            early_predicate: encoded.early_predicate(),
            writes,
            takes_for_result: false,
            is_strong: ACCESSES.contains(&operation) && bits.get(77, 4) > WEAK,
            is_first_of_two: false,
            sees_others: false,
            publishes: publishes(instruction),
            halves: Halves::of(instruction, &bits),
        };
        Some(accesses.again(instruction))
    }

    /// The same where the instruction waits for something else and takes another time.
    pub(super) fn again(self, instruction: &[u8]) -> Self {
        let control = Control::of(instruction);
        Self {
            takes_for_result: control.write() < BOARDS,
            is_first_of_two: self.operation == MEMORY_BARRIER && control.stall() == 0,
            ..self
        }
    }

    /// Whether the instruction has a result at all.
    pub(super) fn writes_something(&self) -> bool {
        self.writes != Registers::default()
    }

    /// Whether the instruction reads registers of threads that others must not write before.
    pub(super) fn keeps_operands(&self) -> bool {
        self.late_operands().thread != Bank::default()
    }

    /// Whether the instruction writes registers of threads.
    pub(super) fn writes_registers(&self) -> bool {
        self.writes.thread != Bank::default()
    }

    /// Whether the instruction writes registers of all threads of a warp together.
    pub(super) fn writes_uniform_registers(&self) -> bool {
        self.writes.uniform != Bank::default()
    }

    /// Whether the instruction reads registers of all threads of a warp together
    /// when it comes to it, and not at once.
    pub(super) fn reads_uniform_late(&self) -> bool {
        self.has_handle() || self.operation == SYNCS_EXCHANGE || COMES_LATER.has(self.operation)
    }

    /// Whether a register of the warp names a texture or surface whose data the instruction comes to.
    pub(super) fn has_handle(&self) -> bool {
        let comes_to_data = names_texture(self.operation) && self.operation != TEXTURE_QUERY;
        comes_to_data && self.reads.uniform != Bank::default()
    }

    /// Whether an instruction reads or writes what this one writes.
    pub(super) fn is_used_by(&self, other: &Self) -> bool {
        self.is_read_by(other) || self.is_written_again_by(other) || self.decides(other)
    }

    /// Whether an instruction reads what this one writes.
    pub(super) fn is_read_by(&self, other: &Self) -> bool {
        self.writes.meet(&other.reads)
    }

    /// Whether an instruction writes what this one writes, too.
    pub(super) fn is_written_again_by(&self, other: &Self) -> bool {
        self.writes.meet(&other.writes)
    }

    /// Whether an instruction writes a predicate that this one writes, too.
    pub(super) fn writes_predicate_again(&self, other: &Self) -> bool {
        self.writes.predicates & other.writes.predicates != 0
    }

    /// Whether an instruction writes registers that this one reads, of threads if it works on
    /// these.
    pub(super) fn is_overwritten_soon_by(&self, other: &Self) -> bool {
        match self.file {
            File::Thread => self.reads.meet_in_threads(&other.writes),
            File::Uniform => any_common(&self.reads.uniform, &other.writes.uniform),
        }
    }

    /// Whether this is a wide product of whose result an instruction does not read the
    /// upper half.
    pub(super) fn makes_lower_half_for(&self, other: &Self) -> bool {
        let reads = |halves: Halves| other.reads.meet_in_threads(&Registers::one(halves.result));
        self.halves.is_some_and(|halves| !reads(halves))
    }

    /// Whether this is a wide product that needs another instruction for the upper half
    /// of what it adds alone.
    pub(super) fn adds_upper_half_of(&self, other: &Self) -> bool {
        self.halves.is_some_and(|halves| {
            let mut rest = self.reads;
            if let Some(addend) = halves.addend {
                rest.remove(&Registers::one(addend));
            }
            halves.are_both && !other.writes.meet(&rest)
        })
    }

    /// Whether a product of twice the width multiplies the upper half that another one makes.
    pub(super) fn multiplies_upper_half_of(&self, other: &Self) -> bool {
        let (Some(own), Some(made)) = (self.halves, other.halves) else {
            return false;
        };
        let mut factors = self.reads;
        if let Some(addend) = own.addend {
            let first = addend & !u8::from(own.are_both);
            for added in [first, addend] {
                factors.remove(&Registers::one(added));
            }
        }
        factors.meet_in_threads(&Registers::one(made.result))
    }

    /// Whether the instruction is a CS2R of 64 bits.
    pub(super) fn copies_two_registers(&self) -> bool {
        const COPY: u16 = 0x005;
        self.operation == COPY && count(&self.writes.thread) == 2
    }

    /// Whether both read a register of all threads of a warp together.
    pub(super) fn reads_uniform_with(&self, other: &Self) -> bool {
        any_common(&self.reads.uniform, &other.reads.uniform)
    }

    /// Whether the instruction asks for a predicate of all threads, as VOTE and BAR do.
    pub(super) fn asks_all_threads(&self) -> bool {
        matches!(self.operation, VOTE | VOTE_OF_WARP | BLOCK_BARRIER)
    }

    /// How many registers of threads the instruction reads, those named twice twice.
    pub(super) fn sources(&self) -> u32 {
        count(&self.reads.thread)
    }

    /// Whether an instruction happens only by a predicate that this one writes.
    pub(super) fn guards(&self, other: &Self) -> bool {
        let decided = self.writes.predicates | self.early_predicate;
        decided & predicate(other.file, other.guard & 7) != 0
    }

    /// The same, but for predicates that are there when the operands are read, for which others wait by a scoreboard.
    pub(super) fn guards_in_time(&self, other: &Self) -> bool {
        self.writes.predicates & predicate(other.file, other.guard & 7) != 0
    }

    /// Whether it reads the predicate by which another instruction happens.
    pub(super) fn asks_as(&self, other: &Self) -> bool {
        self.read_predicates & predicate(other.file, other.guard & 7) != 0
    }

    /// Whether an instruction uses a predicate that this one writes.
    pub(super) fn decides(&self, other: &Self) -> bool {
        self.writes.predicates & other.read_predicates != 0
    }

    /// Whether it writes predicates of threads.
    pub(super) fn writes_predicates(&self) -> bool {
        self.writes.predicates & 0xff != 0
    }

    /// Whether it writes predicates of warps.
    pub(super) fn writes_uniform_predicates(&self) -> bool {
        self.writes.predicates & !0xff != 0
    }

    /// Whether an instruction writes what this one reads, or needs what it knows then.
    pub(super) fn is_overwritten_by(&self, other: &Self) -> bool {
        let late = self.late_operands();
        late.meet_in_threads(&other.writes)
            || self.early_predicates() & other.read_predicates != 0
            || any_common(&late.uniform, &other.writes.uniform)
            || self.late_guard() & other.writes.predicates != 0
    }

    /// Predicates that are there when the operands are read: also those of what takes no scoreboard
    /// for its result.
    fn early_predicates(&self) -> u16 {
        match self.takes_for_result {
            true => self.early_predicate,
            false => self.early_predicate | self.writes.predicates,
        }
    }

    /// The predicate of a warp that decides about what reads its registers late; others are read at once.
    fn late_guard(&self) -> u16 {
        match COMES_LATER.has(self.operation) {
            true => self.deciding(),
            false => 0,
        }
    }

    /// What must not be overwritten for some time. Other predicates and, but for barriers in shared
    /// memory, uniform registers are read at once.
    fn late_operands(&self) -> Registers {
        let mut late = Registers {
            thread: self.reads.thread,
            uniform: match self.reads_uniform_late() {
                true => self.reads.uniform,
                false => Bank::default(),
            },
            predicates: self.early_predicates(),
        };
        // What the instruction writes itself is no concern of others, who wait for its result.
        if self.takes_for_result {
            late.remove(&self.writes);
        }
        late
    }

    /// Whether all that a scoreboard is held for, a result or operands, is something that others
    /// are held for.
    pub(super) fn is_covered_by<'a>(
        &self,
        until: Until,
        others: impl Iterator<Item = (&'a Self, Until)>,
    ) -> bool {
        let nothing = Registers::default();
        let of = |accesses: &Self, until: Until| match until {
            Until::Written => accesses.writes,
            Until::Read => accesses.late_operands(),
        };
        let mut left = of(self, until);
        let is_held = left != nothing;
        others.for_each(|(other, until)| left.remove_all(&of(other, until)));
        is_held && left == nothing
    }

    /// Whether either of two instructions does something, as long as their
    /// predicate stays the same. Predicates of warps are not looked at.
    pub(super) fn excludes(&self, other: &Self) -> bool {
        let are_of_threads = self.file == File::Thread && other.file == File::Thread;
        are_of_threads && self.guard & 7 != ALWAYS && self.guard ^ other.guard == 8
    }

    /// The predicate that decides about the instruction.
    fn deciding(&self) -> u16 {
        predicate(self.file, self.guard & 7)
    }
}

#[cfg(test)]
mod tests;
