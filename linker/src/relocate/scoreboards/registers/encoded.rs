//! How instructions name the registers and predicates that they read and write.

use super::super::instruction::{LDGSTS, MEMORY_BARRIER, PHASE, counts_threads, opcode, operation};
use super::super::operands::{
    Bits128, FROM_PREDICATES, File, IS_UNIFORM, TENSOR_ALLOCATE, TO_PREDICATES, VOTE_OF_WARP, file,
    is_sparse, operands,
};
use super::super::operations::Operations;
use super::{ALWAYS, Registers};

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
/// The bit of what does the same for a warp as another one for each thread.
const UNIFORM: u16 = 0x80;
/// BRA that asks a predicate of the warp.
const UNIFORM_BRANCH: u16 = 0x547;
/// BRA, which with a register of the warp asks who else comes (BRA.DIV).
const DIVERGING_BRANCH: u16 = 0x947;

/// One bit for each predicate but the one that always holds.
const ALL_PREDICATES: u8 = 0x7f;
/// An instruction, as far as it decides what it reads and writes.
pub(super) struct Encoded<'i> {
    instruction: &'i [u8],
    pub(super) operation: u16,
    /// The operation that does the same for threads.
    plain: u16,
    /// Whose registers and predicates it works on.
    pub(super) file: File,
    pub(super) bits: Bits128,
}

impl<'i> Encoded<'i> {
    pub(super) fn of(instruction: &'i [u8]) -> Self {
        let operation = operation(instruction);
        let file = file(instruction);
        Self {
            instruction,
            operation,
            plain: match file {
                File::Thread => operation,
                File::Uniform => operation & !UNIFORM,
            },
            file,
            bits: Bits128::of(instruction),
        }
    }

    /// The predicate by which it happens, and 8 more if that must not hold.
    pub(super) fn guard(&self) -> u8 {
        self.bits.get(12, 4)
    }

    /// The predicate of its file that three bits name.
    fn named(&self, at: u32) -> u16 {
        predicate(self.file, self.bits.get(at, 3))
    }

    /// What it reads and writes; nothing if it is not known. Of predicates, only those that it writes.
    pub(super) fn registers(&self) -> Option<(Registers, Registers)> {
        let (mut reads, mut writes) = (Registers::default(), Registers::default());
        for operand in operands(self.instruction)? {
            let registers = match operand.is_written {
                true => &mut writes,
                false => &mut reads,
            };
            registers.insert(operand.file, operand.first, operand.count);
        }
        if opcode(self.instruction) == DIVERGING_BRANCH && self.bits.is_set(IS_UNIFORM) {
            reads.insert(File::Uniform, self.bits.get(24, 8), 1);
        }
        if is_sparse(self.operation, &self.bits) {
            reads.insert(File::Thread, self.bits.get(40, 8), 1);
        }
        writes.predicates = self.written_predicates();
        Some((reads, writes))
    }

    fn written_predicates(&self) -> u16 {
        let mut written = 0;
        if TO_PREDICATES.contains(&self.operation) {
            // Those that are not listed, too.
            written |= predicates(self.file, ALL_PREDICATES);
        }
        if WRITES_PREDICATE.has(self.plain)
            || matches!(opcode(self.instruction), PHASE | ATOMS_CAST)
        {
            written |= self.named(81);
        }
        if self.operation == TENSOR_ALLOCATE {
            written |= predicate(File::Uniform, self.bits.get(81, 3));
        }
        if WRITES_SECOND_PREDICATE.has(self.plain) {
            written |= self.named(84);
        }
        written
    }

    /// The predicate that is there when the operands are read.
    pub(super) fn early_predicate(&self) -> u16 {
        match ATOMICS.contains(&self.operation) {
            true => self.named(81),
            false => 0,
        }
    }

    pub(super) fn read_predicates(&self) -> u16 {
        let bits = &self.bits;
        // Memory barriers do not wait for the predicate that decides about them.
        let mut read = match self.operation {
            MEMORY_BARRIER => 0,
            _ => predicate(self.file, self.guard() & 7),
        };
        if self.operation == VOTE_OF_WARP {
            read |= predicate(File::Thread, bits.get(87, 3));
        } else if READS_PREDICATE.has(self.plain) || counts_threads(self.instruction) {
            read |= self.named(87);
        }
        if FROM_PREDICATES.contains(&self.operation) {
            read |= predicates(self.file, bits.get(32, 7));
        }
        if READS_SECOND_PREDICATE.contains(&self.plain) {
            read |= self.named(77);
        }
        if self.plain == READS_PREDICATE_OF_LOWER_HALF {
            read |= self.named(68);
        }
        if self.plain == PREDICATE_LOGIC {
            let of_warp = bits.is_set(67);
            let file = if of_warp { File::Uniform } else { self.file };
            read |= predicate(file, bits.get(68, 3));
        }
        if opcode(self.instruction) == UNIFORM_BRANCH {
            read |= predicate(File::Uniform, bits.get(24, 3));
        }
        read
    }
}

/// One bit for a predicate, none for the one that always holds.
pub(super) fn predicate(file: File, number: u8) -> u16 {
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
