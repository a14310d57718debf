//! Which registers an instruction reads and writes.
//!
//! The places of operands are those that `nvdisasm -plr` shows for the code of
//! the test cases, of CUB, of Thrust, of CUTLASS and of FlashInfer.

use super::instruction::{
    BOARDS, Control, DEPBAR, LDGDEPBAR, SYNCS, SYNCS_EXCHANGE, opcode, operation,
};

/// Registers of threads, registers of warps, and predicates.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Registers {
    thread: [u128; 2],
    uniform: [u128; 2],
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

    /// Leaves out registers of threads.
    fn remove(&mut self, other: &Self) {
        for (registers, gone) in self.thread.iter_mut().zip(&other.thread) {
            *registers &= !gone;
        }
    }

    fn insert(&mut self, file: File, first: u8, count: u8) {
        let registers = match file {
            File::Thread => &mut self.thread,
            File::Uniform => &mut self.uniform,
        };
        // The last one is always zero.
        for register in (first..u8::MAX).take(usize::from(count)) {
            registers[usize::from(register / 128)] |= 1 << (register % 128);
        }
    }
}

/// Whether two sets of registers have one in common.
fn any_common(ours: &[u128; 2], theirs: &[u128; 2]) -> bool {
    let mut pairs = ours.iter().zip(theirs);
    pairs.any(|(ours, theirs)| ours & theirs != 0)
}

/// Whose registers they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum File {
    Thread,
    /// Of all threads of a warp together.
    Uniform,
}

/// How many registers an operand has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Count {
    One,
    Two,
    /// As many as the size of what is loaded or stored says.
    Data,
    /// The same for operations on memory, which count sizes in another way.
    Atomic,
    /// One for each matrix of eight rows.
    Matrices,
    /// The first matrix of a product, as long as its rows.
    Factors,
    /// The second one, half as many.
    OtherFactors,
    /// The matrix that a product is added to, and its result.
    Sums,
    /// Two if the instruction says so or has a long immediate.
    Move,
    /// Two if numbers of 64 bits are compared.
    Compared,
    /// Two in forms that others use for constants.
    Select,
    /// Two if the result of a conversion has 64 bits.
    Result,
    /// Two if the source of a conversion has 64 bits.
    Source,
    /// Two if threads are compared by 64 bits.
    Match,
    /// What comes from tensor memory or goes there.
    Tensor,
    /// Coordinates of a tensor, and as many registers before them.
    Coordinates(u8),
}

/// What one of the four places for operands holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Nothing,
    /// A register of the file that the operation works on.
    Own(Count),
    /// The same in some forms only, one bit for each.
    In(u8, Count),
    /// A register of threads.
    Thread(Count),
    /// A uniform register.
    Uniform(Count),
    /// An operand that can be of either file, an immediate or a constant.
    Any(Count),
    /// The uniform part of an address, if it has one.
    Base(Count),
    /// What is stored where no descriptor comes with the address, else the
    /// descriptor.
    DataOrBase,
}

/// Operations with operands in the same places: the target and three sources.
struct Shape {
    operations: &'static [u16],
    places: [Place; 4],
}

const fn shape(operations: &'static [u16], places: [Place; 4]) -> Shape {
    Shape { operations, places }
}

/// The form in which an instruction has registers only.
const REGISTERS: u8 = 1;
/// The form of a store with a descriptor.
const DESCRIBED: u8 = 1 << 4;
/// Forms of SHFL with a register for the lane, and with one for its limits.
const LANE: u8 = 1 << 1 | 1 << 2;
const LIMITS: u8 = 1 << 1 | 1 << 4;

#[rustfmt::skip]
const SHAPES: &[Shape] = {
    use Count::*;
    use Place::*;
    const R: Place = Own(One);
    const R2: Place = Own(Two);
    const A: Place = Any(One);
    const A2: Place = Any(Two);
    &[
        // MOV, UMOV
        shape(&[0x002, 0x082], [Own(Move), Nothing, A, Nothing]),
        // P2R, VOTE, UVOTE, S2R
        shape(&[0x003, 0x006, 0x086, 0x119], [R, Nothing, Nothing, Nothing]),
        // B2R
        shape(&[0x11c], [R, Nothing, Nothing, Nothing]),
        // WARPSYNC
        shape(&[0x148], [Nothing, In(1 << REGISTERS, One), Nothing, Nothing]),
        // CS2R
        shape(&[0x005], [Own(Move), Nothing, Nothing, Nothing]),
        // R2P
        shape(&[0x004], [Nothing, R, Nothing, Nothing]),
        // SEL, USEL
        shape(&[0x007, 0x087], [Own(Select), Own(Select), Any(Select), Nothing]),
        // FSEL, FMNMX, FSET, FMUL, FADD, VIADD, VIMNMX, uniform arithmetic on floats
        shape(&[0x008, 0x009, 0x00a, 0x020, 0x021, 0x036, 0x048], [R, R, A, Nothing]),
        shape(&[0x04a, 0x054, 0x055], [R, R, A, Nothing]),
        // SGXT, BMSK, UBMSK, HADD2, HMUL2, HSET2, HMNMX2
        shape(&[0x01a, 0x01b, 0x09b, 0x030, 0x032, 0x033, 0x040], [R, R, A, Nothing]),
        // FSETP, HSETP2, FCHK
        shape(&[0x00b, 0x034, 0x102], [Nothing, R, A, Nothing]),
        // ISETP, UISETP
        shape(&[0x00c, 0x08c], [Nothing, Own(Compared), Any(Compared), Nothing]),
        // IADD3, LEA, LOP3, PRMT, SHF, FFMA, IMAD, HFMA2, HADD2
        shape(&[0x010, 0x011, 0x012, 0x016, 0x019, 0x023, 0x024, 0x031], [R, R, A, R]),
        // VIADDMNMX, VHMNMX, FMNMX3, IDP, F2FP
        shape(&[0x046, 0x047, 0x076, 0x026, 0x03e], [R, R, A, R]),
        // UIADD3, ULEA, ULOP3, UPRMT, USHF, UIMAD
        shape(&[0x090, 0x091, 0x092, 0x096, 0x099, 0x0a4], [R, R, A, R]),
        // IADD.64, DMUL and others on pairs
        shape(&[0x017, 0x035, 0x028, 0x085, 0x097], [R2, R2, A2, Nothing]),
        // DADD
        shape(&[0x029], [R2, R2, In(1 << 6 | 1 << 7, Two), In(1 << REGISTERS, Two)]),
        // DSETP
        shape(&[0x02a], [Nothing, R2, A2, Nothing]),
        // DFMA
        shape(&[0x02b], [R2, R2, A2, R2]),
        // IMAD.WIDE, UIMAD.WIDE
        shape(&[0x025, 0x0a5], [R2, R, A, R2]),
        // IMAD.HI, UIMAD.HI
        shape(&[0x027, 0x0a6], [R, R, A, R]),
        // HMMA, IMMA, QMMA
        shape(&[HMMA, IMMA, 0x07a], [Own(Sums), Own(Factors), Own(OtherFactors), Own(Sums)]),
        // LDSM
        shape(&[0x03b], [Own(Matrices), R, Base(One), Nothing]),
        // I2FP, FLO, F2I, I2F, MUFU, POPC, UFLO, UPOPC
        shape(&[0x045, 0x100, 0x105, 0x106, 0x108, 0x109, 0x0bd, 0x0bf], [R, Nothing, A, Nothing]),
        // BREV, F2F, FRND, UBREV, UI2F, UF2I, IABS
        shape(&[0x013, 0x101, 0x104, 0x107, 0x0be, 0x05a, 0x05c], [R, Nothing, A, Nothing]),
        // F2F, F2I, I2F and FRND with 64 bits
        shape(&[0x110, 0x111, 0x112, 0x113], [Own(Result), Nothing, Any(Source), Nothing]),
        // PLOP3, UPLOP3, NOP, BRA, EXIT, BSSY, BSYNC, BREAK and YIELD
        shape(&[0x01c, 0x09c, 0x118, 0x147, 0x14d, 0x145, 0x141, 0x142, 0x146], [Nothing; 4]),
        // MEMBAR, ERRBAR, PREEXIT, ACQBULK, ELECT
        shape(&[0x192, 0x1ab, 0x02d, 0x02e, 0x02f], [Nothing; 4]),
        // BAR, NANOSLEEP
        shape(&[BLOCK_BARRIER, 0x15d], [Nothing, Nothing, A, Nothing]),
        // BMOV, from and to a barrier
        shape(&[0x155], [R, Nothing, Nothing, Nothing]),
        shape(&[0x156], [Nothing, Nothing, A, Nothing]),
        // LD, LDG
        shape(&[0x180, 0x181], [Own(Data), R2, Base(Two), Nothing]),
        // LDC
        shape(&[0x182], [Own(Data), R, Nothing, Nothing]),
        // LDL, LDS
        shape(&[0x183, 0x184], [Own(Data), R, Base(One), Nothing]),
        // ST, STG
        shape(&[0x185, 0x186], [Nothing, R2, In(DESCRIBED, Data), DataOrBase]),
        // STL, STS
        shape(&[0x187, 0x188], [Nothing, R, Own(Data), Base(One)]),
        // LDGSTS, whose first operand is an address too
        shape(&[0x1ae], [R, R2, Nothing, Base(Two)]),
        // ATOMS.CAST
        shape(&[0x18d], [Nothing, R, Own(Atomic), Own(Atomic)]),
        // QSPC
        shape(&[0x1aa], [R, R2, Nothing, Nothing]),
        // CCTL
        shape(&[0x18f], [Nothing, R2, Nothing, Nothing]),
        // SHFL
        shape(&[0x189], [R, R, In(LANE, One), In(LIMITS, One)]),
        // ATOM, ATOMG, that on floats
        shape(&[0x18a, 0x1a8, 0x1a2, 0x1a3], [Own(Atomic), R2, Own(Atomic), Base(Two)]),
        // ATOM.CAS and ATOMG.CAS
        shape(&[0x18b, 0x1a9], [Own(Atomic), R2, Own(Atomic), Own(Atomic)]),
        // ATOMS
        shape(&[0x18c], [Own(Atomic), R, In(1 << 1, Atomic), Base(One)]),
        // MATCH
        shape(&[0x1a1], [R, Own(Match), Nothing, Nothing]),
        // REDG
        shape(&[0x1a6, 0x18e], [Nothing, R2, Own(Atomic), Base(Two)]),
        // SYNCS, that with an exchange, and UBLKCP
        shape(&[SYNCS], [In(DESCRIBED, One), Nothing, Thread(One), Uniform(One)]),
        shape(&[SYNCS_EXCHANGE], [Nothing, Uniform(One), Uniform(Two), Nothing]),
        shape(&[BULK_COPY], [Nothing, Uniform(Two), Uniform(Two), Uniform(One)]),
        // UTMALDG, UTMASTG, UTMAPF
        shape(&[BOX_LOAD], [Nothing, R2, Own(Coordinates(2)), In(1 << REGISTERS, One)]),
        shape(&[BOX_STORE], [Nothing, Uniform(Two), Uniform(Coordinates(1)), Nothing]),
        shape(&[BOX_PREFETCH], [Nothing, Uniform(Two), Uniform(Coordinates(0)), Nothing]),
        // UTMACCTL, CCTL of descriptors, UGETNEXTWORKID
        shape(&[DESCRIPTOR, DESCRIPTOR_CACHE, 0x1ca], [Nothing, Uniform(Two), Nothing, Nothing]),
        // UTCBAR, UTCCP, UTCATOMSWS
        shape(&[TENSOR_BARRIER], [Nothing, Uniform(One), Nothing, Uniform(One)]),
        shape(&[TENSOR_COPY], [Nothing, Uniform(One), Uniform(Two), Nothing]),
        shape(&[TENSOR_ALLOCATE], [Uniform(One), Nothing, Uniform(One), Nothing]),
        // UTCHMMA and the like, whose other operands stand elsewhere
        shape(&[TENSOR_MULTIPLY], [Nothing, Uniform(Two), Uniform(Two), Uniform(One)]),
        // LDTM, STTM
        shape(&[0x1ee], [Thread(Tensor), Nothing, Uniform(One), Nothing]),
        shape(&[0x1ed], [Nothing, Nothing, Thread(Tensor), Uniform(One)]),
        // STSM, STAS
        shape(&[0x044], [Nothing, R, Thread(Matrices), Base(One)]),
        shape(&[0x1bd], [Nothing, R2, R, Nothing]),
        // ARRIVES
        shape(&[0x1b0], [Nothing, R, Nothing, Base(One)]),
        // FENCE, LDGDEPBAR, UTMACMDFLUSH, UCGABAR, UVIRTCOUNT and DEPBAR
        shape(&[FENCE, LDGDEPBAR, 0x1b7, 0x1c7, 0x04c, DEPBAR], [Nothing; 4]),
        // FFMA2, FADD2
        shape(&[0x049], [R2, R2, A2, R2]),
        shape(&[0x04b], [R2, R2, A2, Nothing]),
        // LDCU
        shape(&[0x1ac], [Uniform(Data), Uniform(One), Nothing, Nothing]),
        // S2UR
        shape(&[0x1c3], [Uniform(One), Nothing, Nothing, Nothing]),
        // R2UR, CREDUX, REDUX
        shape(&[0x0ca, 0x0cc, 0x1c4], [Uniform(One), Thread(One), Nothing, Nothing]),
    ]
};

/// Operations that write a predicate: VOTE, FSETP, ISETP, IADD3, LEA, LOP3,
/// PLOP3, IMAD.WIDE, IMAD.HI, DSETP, ELECT, HSETP2, R2UR, FCHK, B2R, SHFL, MATCH,
/// ATOM, ATOMS.CAST, ATOMG and QSPC.
const WRITES_PREDICATE: [u16; 24] = [
    0x006, 0x00b, 0x00c, 0x010, 0x011, 0x012, 0x01c, 0x025, 0x027, 0x02a, 0x02f, 0x034, 0x0ca,
    0x102, 0x11c, 0x189, 0x1a1, 0x18a, 0x18d, 0x1a2, 0x1a3, 0x1a8, 0x1a9, 0x1aa,
];
/// Those of them that can write a second one.
const WRITES_SECOND_PREDICATE: [u16; 5] = [0x00b, 0x00c, 0x010, 0x02a, 0x034];
/// VOTE, SEL, FSEL, FMNMX, FSETP, ISETP, IADD3, LEA, PLOP3, IMAD, HSET2, HSETP2, HMNMX2, BREAK,
/// BRA, EXIT and LDGSTS.
const READS_PREDICATE: [u16; 17] = [
    0x006, 0x007, 0x008, 0x009, 0x00b, 0x00c, 0x010, 0x011, 0x01c, 0x024, 0x033, 0x034, 0x040,
    0x142, 0x147, 0x14d, LDGSTS,
];
/// IADD3 and PLOP3.
const READS_SECOND_PREDICATE: [u16; 2] = [0x010, 0x01c];
/// ISETP of the upper half of a number.
const READS_PREDICATE_OF_LOWER_HALF: u16 = 0x00c;

const ATOM_CAS: u16 = 0x18b;
/// The bit of what does the same for a warp as another one for each thread.
const UNIFORM: u16 = 0x80;
/// BRA that asks a predicate of the warp.
const UNIFORM_BRANCH: u16 = 0x547;

/// SYNCS that asks for a phase.
const PHASE: u16 = 0x5a7;
/// Products of matrices of halves and of integers.
const HMMA: u16 = 0x03c;
const IMMA: u16 = 0x037;
/// What copies boxes of tensors to shared memory, from there and to the cache: UTMALDG, UTMASTG
/// and UTMAPF.
const BOX_LOAD: u16 = 0x1b4;
const BOX_STORE: u16 = 0x1b5;
const BOX_PREFETCH: u16 = 0x1b8;
/// UTMACCTL, and CCTL of descriptors of tensors, which comes before it.
const DESCRIPTOR: u16 = 0x1b9;
const DESCRIPTOR_CACHE: u16 = 0x140;
/// Instructions of tensor memory: UTCBAR, UTCCP, UTCATOMSWS, UTCHMMA and the like.
const TENSOR_BARRIER: u16 = 0x1e9;
const TENSOR_COPY: u16 = 0x1e7;
const TENSOR_ALLOCATE: u16 = 0x1e3;
const TENSOR_MULTIPLY: u16 = 0x1ea;
/// FENCE, between views of memory.
const FENCE: u16 = 0x1c6;
/// BAR, for the threads of a block.
const BLOCK_BARRIER: u16 = 0x11d;
/// UBLKCP
const BULK_COPY: u16 = 0x1ba;

/// It copies from one memory to another, and has no result.
const LDGSTS: u16 = 0x1ae;

/// The predicate that always holds.
const ALWAYS: u8 = 7;

/// What an instruction reads and writes, and when it does.
#[derive(Debug, Clone, Copy)]
pub(super) struct Accesses {
    operation: u16,
    /// The register and the distance where a barrier in shared memory is set.
    address: [u8; 4],
    /// A predicate, and 8 more if it must not hold.
    guard: u8,
    reads: Registers,
    /// How many registers of threads it reads.
    sources: u32,
    read_predicates: u16,
    writes: Registers,
    /// The predicate of an ATOM.CAS, which says whether the address was one of shared
    /// memory, and those of what takes no scoreboard for its result. They are there when
    /// the operands are read.
    early_predicates: u16,
    /// What must not be overwritten before it is read. What the instruction
    /// writes itself is no concern of others, who wait for its result.
    operands: Registers,
}

impl Accesses {
    /// Nothing if the instruction is not known.
    pub(super) fn of(instruction: &[u8]) -> Option<Self> {
        let operation = operation(instruction);
        let mut shapes = SHAPES.iter();
        let shape = shapes.find(|shape| shape.operations.contains(&operation))?;
        let bits = Bits128::of(instruction);
        let form = (opcode(instruction) >> 9) as u8;
        let (mut reads, mut writes) = (Registers::default(), Registers::default());
        let mut sources = 0;
        for (index, (&place, at)) in shape.places.iter().zip([16, 24, 32, 64]).enumerate() {
            let Some((file, count)) = operand(place, operation, form, &bits) else {
                continue;
            };
            let is_written = index == 0 && operation != LDGSTS;
            let first = bits.get(at, 8);
            if !is_written && file == File::Thread && first != u8::MAX {
                sources += u32::from(count);
            }
            let registers = if is_written { &mut writes } else { &mut reads };
            registers.insert(file, first, count);
        }
        if operation == TENSOR_MULTIPLY {
            reads.insert(File::Uniform, bits.get(40, 8), 2);
            reads.insert(File::Uniform, bits.get(48, 8), 1);
        }
        let guard = bits.get(12, 4);
        let (own, plain) = match file(operation) {
            File::Thread => (File::Thread, operation),
            File::Uniform => (File::Uniform, operation & !UNIFORM),
        };
        let named = |at: u32| predicate(own, bits.get(at, 3));
        let mut read_predicates = predicate(own, guard & 7);
        if READS_PREDICATE.contains(&plain) {
            read_predicates |= named(87);
        }
        if READS_SECOND_PREDICATE.contains(&plain) {
            read_predicates |= named(77);
        }
        if plain == READS_PREDICATE_OF_LOWER_HALF {
            read_predicates |= named(68);
        }
        let mut early_predicates = match operation {
            ATOM_CAS => named(81),
            _ => 0,
        };
        if opcode(instruction) == UNIFORM_BRANCH {
            read_predicates |= predicate(File::Uniform, bits.get(24, 3));
        }
        if WRITES_PREDICATE.contains(&plain) || opcode(instruction) == PHASE {
            writes.predicates |= named(81);
        }
        if WRITES_SECOND_PREDICATE.contains(&plain) {
            writes.predicates |= named(84);
        }
        let mut operands = reads;
        match Control::of(instruction).write() < BOARDS {
            true => operands.remove(&writes),
            false => early_predicates |= writes.predicates,
        }
        Some(Self {
            operation,
            address: [24, 40, 48, 56].map(|at| bits.get(at, 8)),
            guard,
            reads,
            sources,
            read_predicates,
            early_predicates,
            writes,
            operands,
        })
    }

    /// Whether the instruction reads or writes a register of threads.
    pub(super) fn names_thread_register(&self, register: u8) -> bool {
        let mut registers = Registers::default();
        registers.insert(File::Thread, register, 1);
        registers.meet_in_threads(&self.reads) || registers.meet_in_threads(&self.writes)
    }

    /// Whether the instruction has a result at all.
    pub(super) fn writes_something(&self) -> bool {
        self.writes != Registers::default()
    }

    /// Whether another instruction waits until what this one orders is done: accesses to
    /// memory behind barriers and fences, what invalidates descriptors behind what does in
    /// another cache, and threads of a block for its barriers in shared memory.
    pub(super) fn is_barrier_for(&self, other: &Self) -> bool {
        const MEMBAR: u16 = 0x192;
        const LDC: u16 = 0x182;
        const LDCU: u16 = 0x1ac;
        let is_access = (0x180..=0x1af).contains(&other.operation)
            && !matches!(other.operation, LDC | MEMBAR | LDCU);
        match self.operation {
            MEMBAR => is_access || other.operation == FENCE,
            FENCE => is_access || matches!(other.operation, 0x1b0..=0x1bf | 0x1e0..=0x1ef),
            DESCRIPTOR_CACHE => other.operation == DESCRIPTOR,
            SYNCS_EXCHANGE => other.operation == BLOCK_BARRIER,
            _ => false,
        }
    }

    /// Whether the instruction writes registers of all threads of a warp together.
    pub(super) fn writes_uniform_registers(&self) -> bool {
        self.writes.uniform != [0; 2]
    }

    /// Whether the instruction reads registers of all threads of a warp together
    /// when it comes to it, and not at once.
    pub(super) fn reads_uniform_late(&self) -> bool {
        matches!(
            self.operation,
            SYNCS
                | SYNCS_EXCHANGE
                | BULK_COPY
                | BOX_LOAD
                | BOX_STORE
                | BOX_PREFETCH
                | DESCRIPTOR
                | TENSOR_BARRIER
                | TENSOR_COPY
                | TENSOR_ALLOCATE
                | TENSOR_MULTIPLY
        )
    }

    /// Whether an instruction reads or writes what this one writes.
    pub(super) fn is_used_by(&self, other: &Self) -> bool {
        self.writes.meet(&other.reads)
            || self.writes.meet(&other.writes)
            || self.writes.predicates & other.read_predicates != 0
    }

    /// How many registers of threads the instruction reads, those named twice twice.
    pub(super) fn sources(&self) -> u32 {
        self.sources
    }

    /// Whether an instruction happens only by a predicate that this one writes.
    pub(super) fn guards(&self, other: &Self) -> bool {
        self.writes.predicates & predicate(file(other.operation), other.guard & 7) != 0
    }

    /// Whether an instruction uses a predicate that this one writes.
    pub(super) fn decides(&self, other: &Self) -> bool {
        self.writes.predicates & other.read_predicates != 0
    }

    /// Whether an instruction writes what this one reads, or needs what it knows then.
    /// Predicates and, but for barriers in shared memory, uniform registers are read
    /// at once.
    pub(super) fn is_overwritten_by(&self, other: &Self) -> bool {
        self.operands.meet_in_threads(&other.writes)
            || self.early_predicates & other.read_predicates != 0
            || self.reads_uniform_late()
                && any_common(&self.operands.uniform, &other.writes.uniform)
    }

    /// Whether another instruction comes to the same barriers after this one.
    pub(super) fn is_in_order_before(&self, other: &Self) -> bool {
        match (self.operation, other.operation) {
            // As where a kernel sets up one behind the other.
            (SYNCS_EXCHANGE, SYNCS_EXCHANGE) => self.address == other.address,
            (SYNCS | SYNCS_EXCHANGE, SYNCS | SYNCS_EXCHANGE) => true,
            _ => false,
        }
    }

    /// Whether another instruction goes through the same queue, and so comes to its
    /// result after this one has read its operands: LDS behind STG, STL, STS and SHFL,
    /// and LDG behind LDG.
    pub(super) fn is_queued_before(&self, other: &Self) -> bool {
        match other.operation {
            0x184 => matches!(self.operation, 0x186..=0x189),
            0x181 => self.operation == 0x181,
            _ => false,
        }
    }

    /// Whether either of two instructions does something, as long as their
    /// predicate stays the same.
    pub(super) fn excludes(&self, other: &Self) -> bool {
        self.guard & 7 != ALWAYS && self.guard ^ other.guard == 8
    }

    /// Whether an instruction changes the predicate of this one.
    pub(super) fn is_decided_anew_by(&self, other: &Self) -> bool {
        other.writes.predicates & predicate(file(self.operation), self.guard & 7) != 0
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

/// Whose registers an operation works on.
fn file(operation: u16) -> File {
    match operation {
        0x04a | 0x054 | 0x055 | 0x05a | 0x05c | 0x080..=0x0bf => File::Uniform,
        BULK_COPY | BOX_LOAD | BOX_STORE | BOX_PREFETCH | DESCRIPTOR => File::Uniform,
        TENSOR_BARRIER | TENSOR_COPY | TENSOR_ALLOCATE | TENSOR_MULTIPLY => File::Uniform,
        0x1ac => File::Uniform,
        _ => File::Thread,
    }
}

/// Whose registers an operand has in a form of an operation, and how many.
fn operand(place: Place, operation: u16, form: u8, bits: &Bits128) -> Option<(File, u8)> {
    const ADDRESS_HAS_BASE: u32 = 91;
    let own = file(operation);
    let (file, count) = match place {
        Place::Nothing => return None,
        Place::Own(count) => (own, count),
        Place::In(forms, count) => match form {
            6 | 7 if forms >> form & 1 == 1 => (File::Uniform, count),
            _ if forms >> form & 1 == 1 => (own, count),
            _ => return None,
        },
        Place::Thread(count) => (File::Thread, count),
        Place::Uniform(count) => (File::Uniform, count),
        Place::Any(count) => match form {
            1 | 3 => (own, count),
            6 | 7 => (File::Uniform, count),
            _ => return None,
        },
        Place::DataOrBase if form == REGISTERS => (own, Count::Data),
        Place::DataOrBase => return operand(Place::Base(Count::Two), operation, form, bits),
        Place::Base(count) if bits.get(ADDRESS_HAS_BASE, 1) == 1 => (File::Uniform, count),
        Place::Base(_) => return None,
    };
    let two_if = |is_two: bool| if is_two { 2 } else { 1 };
    let count = match count {
        Count::One => 1,
        Count::Two => 2,
        Count::Data => match bits.get(73, 3) {
            5 => 2,
            6 | 7 => 4,
            _ => 1,
        },
        Count::Atomic => two_if(matches!(bits.get(73, 3), 2 | 5 | 7)),
        Count::Matrices => 1 << bits.get(72, 2).min(2),
        Count::Factors if has_long_rows(operation, bits) => 4,
        Count::Factors => 2,
        Count::OtherFactors => two_if(has_long_rows(operation, bits)),
        Count::Sums => {
            let is_wide = match operation {
                HMMA => bits.get(76, 1) == 1,
                IMMA => true,
                _ => bits.get(77, 1) == 1,
            };
            if is_wide { 4 } else { 2 }
        }
        Count::Move => two_if(form == 2 || bits.get(80, 1) == 1),
        Count::Compared => two_if(bits.get(80, 1) == 1),
        Count::Select if own == File::Uniform => two_if(matches!(form, 2 | 6)),
        Count::Select => two_if(matches!(form, 2 | 3 | 7)),
        Count::Result => two_if(bits.get(75, 2) == 3),
        Count::Source => two_if(bits.get(84, 2) == 3),
        Count::Match => two_if(bits.get(73, 1) == 1),
        Count::Tensor => {
            let is_half = bits.get(87, 1) == 1;
            let of_one = match bits.get(80, 3) {
                0 if !is_half => 2,
                2 if !is_half => 4,
                _ => 1,
            };
            of_one << bits.get(83, 3)
        }
        Count::Coordinates(before) => before + 1 + bits.get(79, 3),
    };
    Some((file, count))
}

/// Whether the rows of the first factor have the longer one of two lengths.
fn has_long_rows(operation: u16, bits: &Bits128) -> bool {
    let is_tf32 = operation == HMMA && bits.get(83, 1) == 1;
    match is_tf32 {
        true => bits.get(78, 1) == 0,
        false => bits.get(75, 1) == 1,
    }
}

/// An instruction as one number.
struct Bits128(u128);

impl Bits128 {
    fn of(instruction: &[u8]) -> Self {
        let bytes = instruction.first_chunk().expect("sixteen bytes");
        Self(u128::from_le_bytes(*bytes))
    }

    /// Up to eight bits.
    fn get(&self, at: u32, count: u32) -> u8 {
        (self.0 >> at) as u8 & (0xff >> (8 - count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accesses(instruction: u128) -> Accesses {
        Accesses::of(&instruction.to_le_bytes()).unwrap()
    }

    fn registers(thread: &[u8], uniform: &[u8], predicates: u16) -> Registers {
        let mut registers = Registers {
            predicates,
            ..Registers::default()
        };
        for &register in thread {
            registers.insert(File::Thread, register, 1);
        }
        for &register in uniform {
            registers.insert(File::Uniform, register, 1);
        }
        registers
    }

    const LOAD: u128 = 0xc1e_9b00_0000_0004_0808_7981;
    const STORE: u128 = 0xc10_1b24_0000_0002_0600_7986;
    const MOVE_IF_NOT_0: u128 = 0xf00_fff8_0000_0005_8802;

    #[test]
    fn operands_are_where_the_form_says() {
        let cases = [
            // LDG.E.64 R8, desc[UR4][R8.64]
            (
                LOAD,
                registers(&[8, 9], &[4, 5], 0),
                registers(&[8, 9], &[], 0),
            ),
            // STG.E.64 desc[UR36][R6.64], R2
            (
                STORE,
                registers(&[2, 3, 6, 7], &[36, 37], 0),
                registers(&[], &[], 0),
            ),
            // IMAD.WIDE.U32 R2, R5, UR6, R2
            (
                0xf8e_0002_0000_0006_0502_7c25,
                registers(&[2, 3, 5], &[6], 0),
                registers(&[2, 3], &[], 0),
            ),
            // DADD R8, R6, R4
            (
                0x804_0000_0000_0608_7229,
                registers(&[4, 5, 6, 7], &[], 0),
                registers(&[8, 9], &[], 0),
            ),
            // DADD R40, R40, UR6
            (
                0x800_0000_8000_0006_2828_7e29,
                registers(&[40, 41], &[6, 7], 0),
                registers(&[40, 41], &[], 0),
            ),
            // LDCU.64 UR36, c[0x0][0x358]
            (
                0x800_0a00_0000_6b00_ff24_77ac,
                registers(&[], &[], 0),
                registers(&[], &[36, 37], 0),
            ),
            // LDS.128 R4, [UR4+0x84]
            (
                0x800_0c00_0084_0004_ff04_7984,
                registers(&[], &[4], 0),
                registers(&[4, 5, 6, 7], &[], 0),
            ),
            // IADD3 R8, P0, PT, R35, R8, RZ
            (
                0x71_e4ff_0000_0008_2308_7210,
                registers(&[8, 35], &[], 0),
                registers(&[8], &[], 1),
            ),
            // MOV.64 R46, 0x10
            (
                0x10_002e_7402,
                registers(&[], &[], 0),
                registers(&[46, 47], &[], 0),
            ),
            // LDSM.16.M88.2 R28, [R34]
            (
                0x100_0000_0000_221c_783b,
                registers(&[34], &[], 0),
                registers(&[28, 29], &[], 0),
            ),
            // I2F.F64 R4, R6
            (
                0x20_1c00_0000_0006_0004_7312,
                registers(&[6], &[], 0),
                registers(&[4, 5], &[], 0),
            ),
            // ATOMG.E.CAS.64 PT, R14, desc[UR6][R8.64+0x2800], R14
            (
                0xc1e_f506_8000_280e_080e_79a8,
                registers(&[8, 9, 14, 15], &[6, 7], 0),
                registers(&[14, 15], &[], 0),
            ),
        ];
        for (instruction, reads, writes) in cases {
            let accesses = accesses(instruction);
            assert_eq!(
                (accesses.reads, accesses.writes),
                (reads, writes),
                "{instruction:#x}"
            );
        }
    }

    #[test]
    fn what_is_read_at_once_is_not_waited_for() {
        let (load, store) = (accesses(LOAD), accesses(STORE));
        // LDCU.64 UR36
        let uniform = accesses(0x800_0a00_0000_6b00_ff24_77ac);
        assert!(!store.is_overwritten_by(&uniform) && uniform.is_used_by(&store));
        assert!(load.is_queued_before(&load) && !store.is_queued_before(&load));
        // What a load writes itself, others wait for.
        let without_board = accesses(LOAD | 7 << 110);
        assert!(!load.is_overwritten_by(&load) && without_board.is_overwritten_by(&load));
    }

    #[test]
    fn one_of_two_happens_if_their_predicates_differ() {
        let other = accesses(MOVE_IF_NOT_0 & !0x8000);
        assert!(accesses(MOVE_IF_NOT_0).excludes(&other));
        assert!(!other.excludes(&other));
        // IADD3 R8, P0, PT, R35, R8, RZ
        assert!(other.is_decided_anew_by(&accesses(0x71_e4ff_0000_0008_2308_7210)));
    }

    #[test]
    fn tensors_are_named_by_several_registers() {
        // Their forms without what they wait for: high and low words.
        let instruction = |high: u128, low: u128| accesses(high << 64 | low);
        let uniform = |first: u8, count: u8| (first..first + count).collect::<Vec<u8>>();
        // UTMALDG.5D [UR8], [UR4], UTMASTG.5D and UTMAPF.L2.3D [UR8], [UR6]
        for (accesses, coordinates, descriptor) in [
            (instruction(0x0802_0000, 0x0008_0400_75b4), 7, 4),
            (instruction(0x0802_0000, 0x0008_0400_73b5), 6, 4),
            (instruction(0x0801_0000, 0x0008_0600_75b8), 3, 6),
        ] {
            let all = [uniform(descriptor, 2), uniform(8, coordinates)].concat();
            assert_eq!(accesses.reads, registers(&[], &all, 0));
            assert!(accesses.reads_uniform_late());
        }
        // LDTM.x32 R4, tmem[UR4+0x80] and LDTM.16dp256bit.x2 R36, tmem[UR4]
        for (high, low, first, count) in [
            (0x082c_0000, 0x8000_0004_0004_79ee, 4, 32),
            (0x080a_0000, 0x0004_0024_79ee, 36, 8),
        ] {
            let loaded: Vec<u8> = (first..first + count).collect();
            assert_eq!(instruction(high, low).writes, registers(&loaded, &[], 0));
        }
        // HMMA.16816.F32 R24, R24, R12, R20 and HMMA.1688.F16 R28, R2, R11, R28
        let long = instruction(0x1814, 0x000c_1818_723c);
        let operands = [&uniform(24, 4)[..], &[12, 13], &uniform(20, 4)].concat();
        assert_eq!(long.reads, registers(&operands, &[], 0));
        let short = instruction(0x1c, 0x000b_021c_723c);
        assert_eq!(short.reads, registers(&[2, 3, 11, 28, 29], &[], 0));
    }

    #[test]
    fn barriers_in_shared_memory_are_set_up_side_by_side() {
        // SYNCS.EXCH.64 URZ, [UR41], UR4, and the same at 8 bytes from there
        let [first, second] = [0u128, 8].map(|at| accesses(at << 40 | 0x0004_29ff_75b2));
        assert!(!first.is_in_order_before(&second));
        assert!(first.is_in_order_before(&first));
        // BAR.SYNC waits for both.
        let barrier = accesses(0x000a_0000_0000_7b1d);
        assert!(first.is_barrier_for(&barrier));
    }
}
