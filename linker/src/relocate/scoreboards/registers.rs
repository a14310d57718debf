//! Which registers and predicates an instruction reads and writes, and when.

mod names;
mod queues;

use std::ops::RangeInclusive;

use super::Until;
use super::control::Control;
use super::instruction::{
    BLOCK_BARRIER, BOARDS, LDGSTS, MEMORY_BARRIER, PHASE, SYNCS_EXCHANGE, TEXTURE_QUERY,
    counts_threads, names_texture, opcode, operation,
};
use super::operands::{
    Bits128, COMES_LATER, FROM_PREDICATES, File, IS_UNIFORM, TENSOR_ALLOCATE, TO_PREDICATES, VOTE,
    VOTE_OF_WARP, WIDE_PRODUCT, adds_no_register, file, is_sparse, operands,
};
use super::operations::Operations;

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

/// Operations that write a predicate: VOTE, FSETP, ISETP, IADD3, LEA, LOP3, VABSDIFF,
/// VABSDIFF4, IMNMX, PLOP3, IMAD.WIDE, IMAD.HI, DSETP, ELECT, HSETP2, IADD.64, VIMNMX, UFSETP,
/// R2UR, FCHK, B2R, SHFL, MATCH and QSPC.
static WRITES_PREDICATE: Operations = Operations::of(&[
    0x006, 0x00b, 0x00c, 0x010, 0x011, 0x012, 0x014, 0x015, 0x017, 0x01c, 0x025, 0x027, 0x02a,
    0x02f, 0x034, 0x035, 0x048, 0x053, 0x0ca, 0x102, 0x11c, 0x189, 0x1a1, 0x1aa,
]);
/// ATOMS.CAST, of whose other form, ATOMS.CAS, the same bits say nothing.
const ATOMS_CAST: u16 = 0x58d;
/// Those that can write a second one.
static WRITES_SECOND_PREDICATE: Operations =
    Operations::of(&[0x00b, 0x00c, 0x010, 0x017, 0x02a, 0x034, 0x048, 0x053]);
/// VOTE, SEL, FSEL, FMNMX, FSET, FSETP, ISETP, VIMNMX3, IADD3, LEA, LOP3, IMNMX, PLOP3, IMAD,
/// DSETP, HSET2, HSETP2, HMNMX2, VIADDMNMX, VHMNMX, VIMNMX, UFSEL, UFSETP, FMNMX3, BREAK,
/// BRA, EXIT, NANOSLEEP and LDGSTS.
static READS_PREDICATE: Operations = Operations::of(&[
    0x006, 0x007, 0x008, 0x009, 0x00a, 0x00b, 0x00c, 0x00f, 0x010, 0x011, 0x012, 0x017, 0x01c,
    0x024, 0x02a, 0x033, 0x034, 0x040, 0x046, 0x047, 0x048, 0x051, 0x053, 0x076, 0x142, 0x147,
    0x14d, 0x15d, LDGSTS,
]);
/// IADD3, IMNMX and PLOP3.
const READS_SECOND_PREDICATE: [u16; 3] = [0x010, 0x017, 0x01c];
/// ISETP of the upper half of a number.
const READS_PREDICATE_OF_LOWER_HALF: u16 = 0x00c;

/// PLOP3, whose third source can be a predicate of the warp.
const PREDICATE_LOGIC: u16 = 0x01c;

/// ATOM and ATOMG, the same on floats, and with a comparison.
const ATOMICS: [u16; 6] = [0x18a, 0x18b, 0x1a2, 0x1a3, 0x1a8, 0x1a9];
/// Accesses to memory.
const ACCESSES: RangeInclusive<u16> = 0x180..=0x1af;
/// The bit of what does the same for a warp as another one for each thread.
const UNIFORM: u16 = 0x80;
/// BRA that asks a predicate of the warp.
const UNIFORM_BRANCH: u16 = 0x547;
/// BRA, which with a register of the warp asks who else comes (BRA.DIV).
const DIVERGING_BRANCH: u16 = 0x947;

/// The last of the ways to access memory in no order.
const WEAK: u8 = 4;

/// One bit for each predicate but the one that always holds.
const ALL_PREDICATES: u8 = 0x7f;
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
    operation(instruction) == ATOMG && bits.get(76, 1) == 0 && bits.get(16, 8) == NO_REGISTER
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
        let operation = operation(instruction);
        let bits = Bits128::of(instruction);
        let (mut reads, mut writes) = (Registers::default(), Registers::default());
        for operand in operands(instruction)? {
            let registers = match operand.is_written {
                true => &mut writes,
                false => &mut reads,
            };
            registers.insert(operand.file, operand.first, operand.count);
        }
        let guard = bits.get(12, 4);
        let own = file(instruction);
        let (own, plain) = match own {
            File::Thread => (File::Thread, operation),
            File::Uniform => (File::Uniform, operation & !UNIFORM),
        };
        let named = |at: u32| predicate(own, bits.get(at, 3));
        // Memory barriers do not wait for the predicate that decides about them.
        let mut read_predicates = match operation {
            MEMORY_BARRIER => 0,
            _ => predicate(own, guard & 7),
        };
        if operation == VOTE_OF_WARP {
            read_predicates |= predicate(File::Thread, bits.get(87, 3));
        } else if READS_PREDICATE.has(plain) || counts_threads(instruction) {
            read_predicates |= named(87);
        }
        if FROM_PREDICATES.contains(&operation) {
            read_predicates |= predicates(own, bits.get(32, 7));
        }
        if TO_PREDICATES.contains(&operation) {
            // Those that are not listed, too.
            writes.predicates |= predicates(own, ALL_PREDICATES);
        }
        if READS_SECOND_PREDICATE.contains(&plain) {
            read_predicates |= named(77);
        }
        if plain == READS_PREDICATE_OF_LOWER_HALF {
            read_predicates |= named(68);
        }
        if plain == PREDICATE_LOGIC {
            let of_warp = bits.get(67, 1) == 1;
            let file = if of_warp { File::Uniform } else { own };
            read_predicates |= predicate(file, bits.get(68, 3));
        }
        let early_predicate = match operation {
            atomic if ATOMICS.contains(&atomic) => named(81),
            _ => 0,
        };
        if opcode(instruction) == UNIFORM_BRANCH {
            read_predicates |= predicate(File::Uniform, bits.get(24, 3));
        }
        if opcode(instruction) == DIVERGING_BRANCH && bits.get(IS_UNIFORM, 1) == 1 {
            reads.insert(File::Uniform, bits.get(24, 8), 1);
        }
        if is_sparse(operation, &bits) {
            reads.insert(File::Thread, bits.get(40, 8), 1);
        }
        if WRITES_PREDICATE.has(plain) || matches!(opcode(instruction), PHASE | ATOMS_CAST) {
            writes.predicates |= named(81);
        }
        if operation == TENSOR_ALLOCATE {
            writes.predicates |= predicate(File::Uniform, bits.get(81, 3));
        }
        if WRITES_SECOND_PREDICATE.has(plain) {
            writes.predicates |= named(84);
        }
        let accesses = Self {
            operation,
            file: own,
            guard,
            reads,
            read_predicates,
            early_predicate,
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

/// One bit for a predicate, none for the one that always holds.
fn predicate(file: File, number: u8) -> u16 {
    match file {
        _ if number == ALWAYS => 0,
        File::Thread => 1 << number,
        File::Uniform => 1 << (number + 8),
    }
}

/// Those of a list with one bit for each.
fn predicates(file: File, listed: u8) -> u16 {
    match file {
        File::Thread => listed.into(),
        File::Uniform => u16::from(listed) << 8,
    }
}

#[cfg(test)]
mod tests;
