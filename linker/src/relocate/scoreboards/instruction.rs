//! The bits of native instructions that matter for scoreboards.

use crate::arch::Sm;

use super::control::Control;
use super::operands::{File, WIDE_LOAD, operands as registers};
use super::operations::Operations;

/// Bytes of one instruction.
pub(in crate::relocate) const INSTRUCTION: usize = 16;
/// How many scoreboards there are.
pub(super) const BOARDS: u8 = 6;
/// What stands for none.
pub(super) const NO_BOARD: u8 = 7;

pub(in crate::relocate) const BSYNC: u16 = 0x141;
pub(in crate::relocate) const BREAK: u16 = 0x142;
pub(super) const YIELD: u16 = 0x146;
pub(in crate::relocate) const CALL_ABSOLUTE: u16 = 0x143;
pub(in crate::relocate) const CALL_RELATIVE: u16 = 0x144;
pub(in crate::relocate) const BSSY: u16 = 0x145;
/// BRA.
pub(in crate::relocate) const BRANCH: u16 = 0x147;
pub(in crate::relocate) const WARPSYNC: u16 = 0x148;
pub(in crate::relocate) const EXIT: u16 = 0x14d;
pub(in crate::relocate) const RETURN: u16 = 0x150;
/// MEMBAR.
pub(in crate::relocate) const MEMORY_BARRIER: u16 = 0x192;
/// ERRBAR and CGAERRBAR.
pub(in crate::relocate) const ERROR_BARRIER: u16 = 0x1ab;
/// BRX and BRXU, which lead where a table says.
pub(in crate::relocate) const TABLE_BRANCHES: [u16; 2] = [0x149, 0x158];
/// BAR, for the threads of a block, and B2R, which fetches its result.
pub(in crate::relocate) const BLOCK_BARRIER: u16 = 0x11d;
pub(in crate::relocate) const RESULT: u16 = 0x11c;
/// FENCE, between views of memory.
pub(in crate::relocate) const FENCE: u16 = 0x1c6;
pub(in crate::relocate) const DEPBAR: u16 = 0x11a;
const LDSM: u16 = 0x03b;
/// It copies to shared memory, and has no result.
pub(in crate::relocate) const LDGSTS: u16 = 0x1ae;
/// It counts copies to shared memory for DEPBAR.
pub(super) const LDGDEPBAR: u16 = 0x1af;
/// UTMACMDFLUSH, which counts other ones.
pub(super) const BULK_GROUP: u16 = 0x1b7;
/// CCTL, which without an address makes the whole cache forget.
pub(super) const CACHE: u16 = 0x18f;
const LDS: u16 = 0x184;
/// DMMA.
pub(super) const DOUBLE_MATRICES: u16 = 0x03f;
/// LDCU.
pub(in crate::relocate) const UNIFORM_LOAD: u16 = 0x1ac;
/// UCGABAR_ARV, with which threads come to a barrier of the cluster.
pub(in crate::relocate) const CLUSTER_ARRIVAL: u16 = 0x1c7;
/// It does nothing, and waits for barriers in shared memory at fences.
pub(in crate::relocate) const NOP: u16 = 0x118;
/// BMOV to a barrier.
pub(super) const RESTORE_BARRIER: u16 = 0x156;
/// BPT.TRAP.
pub(super) const BREAKPOINT: u16 = 0x15c;
/// PMTRIG, which counts an event of the program.
pub(super) const TRIGGER: u16 = 0x001;
/// NANOSLEEP.
pub(super) const SLEEP: u16 = 0x15d;
/// SYNCS, which work on barriers in shared memory in the order of the code.
pub(in crate::relocate) const SYNCS: u16 = 0x1a7;
/// SYNCS that asks for a phase.
pub(super) const PHASE: u16 = 0x5a7;
/// SYNCS that does something else with a barrier, as to end it.
pub(in crate::relocate) const SYNCS_CONTROL: u16 = 0x1b1;
/// SYNCS that exchanges a value.
pub(super) const SYNCS_EXCHANGE: u16 = 0x1b2;
pub(in crate::relocate) const END_COLLECTIVE: u16 = 0x11b;
/// Branches, barriers of threads that diverge, and what ends threads.
pub(in crate::relocate) const CONTROL: std::ops::RangeInclusive<u16> = 0x141..=0x15f;

/// Whether an instruction is `@!PT LDS RZ, [RZ]`, whatever it waits for.
pub(in crate::relocate) fn is_idle_load(instruction: &[u8; INSTRUCTION]) -> bool {
    instruction.starts_with(&[0x84, 0xf9, 0xff, 0xff, 0, 0, 0, 0, 0, 8, 0, 0])
}

/// The opcode, which says the form of the operands too.
pub(in crate::relocate) fn opcode(instruction: &[u8]) -> u16 {
    u16::from_le_bytes([instruction[0], instruction[1]]) & 0xfff
}

/// The opcode of all forms.
pub(in crate::relocate) fn operation(instruction: &[u8]) -> u16 {
    opcode(instruction) & 0x1ff
}

/// Whether code starts as kernels do, with a load of the stack pointer that
/// takes a scoreboard, and never names that register again, be it as the upper
/// half of `R0` (case `scoreboards`).
///
/// Code for debuggers waits for every instruction, its first one too, and
/// stays as it is.
pub(super) fn loads_unused_stack_pointer(code: &[u8]) -> bool {
    let mut instructions = code.chunks_exact(INSTRUCTION);
    let first = instructions.next();
    let is_load = first
        .and_then(loads_stack_pointer)
        .is_some_and(|board| board < BOARDS);
    let names_it = |instruction: &[u8]| match registers(instruction) {
        Some(mut named) => {
            named.any(|operand| operand.file == File::Thread && operand.has(STACK_POINTER))
        }
        None => operands(instruction).any(|(_, operand)| operand == STACK_POINTER),
    };
    is_load
        && !instructions
            .any(|instruction| operation(instruction) == CALL_ABSOLUTE || names_it(instruction))
}

/// The scoreboard of an instruction that loads the stack pointer and waits for nothing.
fn loads_stack_pointer(instruction: &[u8]) -> Option<u8> {
    const LOAD: u16 = 0xb82;
    let control = Control::of(instruction);
    let is_load = opcode(instruction) == LOAD && instruction[2] == STACK_POINTER;
    (is_load && control.waits() == 0).then_some(control.write())
}

const STACK_POINTER: u8 = 1;

/// Code of a whole program in which the load of the stack pointer takes some scoreboard; `None` if it takes one or is not
/// there, or where the code has no other block, in which it might be needed.
pub(in crate::relocate) fn with_stack_pointer(code: &[u8]) -> Option<Vec<u8>> {
    let first = code.first_chunk::<INSTRUCTION>()?;
    let instructions = code.chunks_exact(INSTRUCTION);
    let mut lone_block = instructions.take_while(|instruction| next(instruction, 0) != Next::End);
    let has_blocks = lone_block.any(|instruction| {
        next(instruction, 0) != Next::Through || operation(instruction) == BREAKPOINT
    });
    (has_blocks && loads_stack_pointer(first)? == NO_BOARD).then(|| {
        let mut code = code.to_vec();
        let read = Control::of(first).read();
        Control::set(&mut code[..INSTRUCTION], 0, read, 0);
        code
    })
}

/// Whether the instruction is plain arithmetic.
fn is_arithmetic(instruction: &[u8]) -> bool {
    /// What comes before it is arithmetic.
    const TENSOR: u16 = 0xc0;
    operation(instruction) < TENSOR && operation(instruction) != LDSM
}

/// Whether the instruction names barriers and predicates only.
pub(super) fn names_no_register(instruction: &[u8]) -> bool {
    matches!(operation(instruction), BSYNC | BREAK | BSSY | BRANCH)
}

/// The operands that may be registers: the target and three sources, with
/// their places among the four. Bytes that mean something else in some
/// instructions count as well; only immediates of plain arithmetic and the
/// operands of branches are known to be none.
pub(super) fn operands(instruction: &[u8]) -> impl Iterator<Item = (usize, u8)> {
    const TARGET: usize = 0;
    const SECOND: usize = 2;
    /// ST, STG, STL and STS, which have none.
    const STORES: [u16; 4] = [0x185, 0x186, 0x187, 0x188];
    let [_, _, target, first, second, _, _, _, third, ..] = *instruction
        .first_chunk::<INSTRUCTION>()
        .expect("sixteen bytes");
    let has_immediate = is_arithmetic(instruction) && matches!(opcode(instruction) >> 9, 2 | 4 | 5);
    let has_registers = !names_no_register(instruction);
    let has_target = !STORES.contains(&operation(instruction));
    let operands = [target, first, second, third].into_iter().enumerate();
    operands.filter(move |&(place, _)| {
        has_registers && (has_target || place != TARGET) && !(has_immediate && place == SECOND)
    })
}

/// Whether the instruction is a BRA.
pub(super) fn is_branch(instruction: &[u8]) -> bool {
    operation(instruction) == BRANCH
}

/// Whether the instruction loads from memory other than shared memory, or from textures or surfaces.
pub(super) fn loads_memory(instruction: &[u8]) -> bool {
    /// LD, LDG, LDL, ATOM, ATOM.CAS, those on floats, LDGMC, ATOMG, ATOMG.CAS.
    static LOADS: Operations = Operations::of(&[
        WIDE_LOAD, 0x180, 0x181, 0x183, 0x18a, 0x18b, 0x1a2, 0x1a3, 0x1a4, 0x1a5, 0x1a8, 0x1a9,
    ]);
    LOADS.has(operation(instruction)) || is_of_texture(operation(instruction))
}

/// Whether the instruction loads from shared memory: LDS or LDSM.
pub(super) fn loads_shared_memory(instruction: &[u8]) -> bool {
    matches!(operation(instruction), LDS | LDSM)
}

/// Whether the operation gets something of textures: TEX, TLD, TLD4, TXD, TXQ and the like.
pub(super) fn is_texture(operation: u16) -> bool {
    matches!(operation, 0x160..=0x16f)
}

/// Cycles from one instruction to the next: one at least, but none for the memory
/// barrier that reports errors with what stands behind it.
pub(in crate::relocate) fn cycles(instruction: &[u8]) -> u32 {
    let stall = Control::of(instruction).stall();
    match operation(instruction) {
        MEMORY_BARRIER => stall.into(),
        _ => stall.max(1).into(),
    }
}

/// Cycles from each instruction to the next one. What reports errors takes one more right
/// behind a barrier of the block (case `recode_barrier`), and the idle loads before a memory barrier, which are a part of
/// it, take none. Where threads meet takes a cycle more than the instruction says.
pub(super) fn stalls(instructions: &[&[u8]]) -> Vec<u32> {
    /// From 6 to 8 explain the same.
    const MEETING: u32 = 6;
    let is_idle = |instruction: &[u8]| instruction.first_chunk().is_some_and(is_idle_load);
    let of = |instruction: &&[u8]| match operation(instruction) {
        _ if is_idle(instruction) => 0,
        BSYNC => cycles(instruction).max(MEETING),
        _ => cycles(instruction),
    };
    let mut stalls: Vec<u32> = instructions.iter().map(of).collect();
    for (stall, pair) in stalls.iter_mut().skip(1).zip(instructions.windows(2)) {
        let least = match (operation(pair[0]), operation(pair[1])) {
            (BLOCK_BARRIER, MEMORY_BARRIER) => 1,
            (BLOCK_BARRIER, ERROR_BARRIER) => 2,
            _ => 0,
        };
        *stall = (*stall).max(least);
    }
    stalls
}

/// Whether an instruction only lets time pass that does not fit into the one before it.
pub(in crate::relocate) fn is_pause(before: &[u8], instruction: &[u8]) -> bool {
    Control::of(before).stall() == Control::LONGEST_STALL && operation(instruction) == NOP
}

/// Whether an instruction does nothing and waits for nothing.
pub(super) fn does_nothing(instruction: &[u8]) -> bool {
    operation(instruction) == NOP && Control::of(instruction).waits() == 0
}

/// What tells processors apart in the cycles that their instructions take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::relocate) enum Chip {
    /// With as many units for floats of 64 bits as for others.
    FastDoubles,
    /// With one, which code leaves idle for a time before it is asked again.
    SlowDoubles,
    /// The same, in a processor for graphics, which stores bytes sooner.
    Graphics,
}

impl Chip {
    pub(in crate::relocate) fn of(target: Sm) -> Self {
        match target.number {
            100 => Self::FastDoubles,
            101..120 => Self::SlowDoubles,
            _ => Self::Graphics,
        }
    }
}

/// Whether the instruction decides where control goes within the program; a
/// return leaves it.
pub(super) fn leads_on(instruction: &[u8]) -> bool {
    match operation(instruction) {
        RETURN => false,
        END_COLLECTIVE => true,
        operation => CONTROL.contains(&operation),
    }
}

/// Whether the instruction ends a group of copies, of which a DEPBAR waits for some.
pub(super) fn is_counted(instruction: &[u8]) -> bool {
    matches!(operation(instruction), LDGDEPBAR | BULK_GROUP)
}

/// TXQ, which asks for sizes of textures and surfaces.
pub(super) const TEXTURE_QUERY: u16 = 0x16f;

/// Whether the operation gets something of textures or, as SULD does, of surfaces.
pub(super) fn is_of_texture(operation: u16) -> bool {
    is_texture(operation) || operation == 0x199
}

/// Whether the operation is SUST or SURED.
pub(in crate::relocate) fn writes_surface(operation: u16) -> bool {
    matches!(operation, 0x19b | 0x19d | 0x19f)
}

/// Whether the operation names a texture or a surface by registers of warps, which it reads
/// when it comes to it: also SUST and SURED.
pub(super) fn names_texture(operation: u16) -> bool {
    is_of_texture(operation) || writes_surface(operation)
}

/// The scoreboard that a DEPBAR names as its operand, and the number of instructions that
/// may hold it behind it. Nothing if it names more than one.
pub(super) fn depbar(instruction: &[u8]) -> Option<(u8, u8)> {
    let operand = u32::from_le_bytes(instruction[4..].first_chunk().copied()?);
    let others = operand & 0x3f;
    let (left, board) = ((operand >> 6 & 0x3f) as u8, (operand >> NAMED & 7) as u8);
    (operation(instruction) == DEPBAR && others == 0 && board < BOARDS).then_some((board, left))
}

/// Whether a DEPBAR right behind the instruction names what that took: UREDGR, LDTM and, at the
/// end of a block, MEMBAR (case `scoreboards_depbar`).
pub(super) fn is_awaited_at_once(instruction: &[u8]) -> bool {
    matches!(operation(instruction), 0x178 | MEMORY_BARRIER | 0x1ee)
}

/// Where in the operand of a DEPBAR a scoreboard stands.
const NAMED: u32 = 12;

/// Lets a DEPBAR name another scoreboard.
pub(super) fn name_in_depbar(instruction: &mut [u8; INSTRUCTION], board: u8) {
    let [_, _, _, _, a, b, c, d, ..] = *instruction;
    let others = u32::from_le_bytes([a, b, c, d]) & !(7 << NAMED);
    let operand = others | u32::from(board) << NAMED;
    instruction[4..8].copy_from_slice(&operand.to_le_bytes());
}

/// Lets a DEPBAR name the scoreboard that another one names.
pub(super) fn name_as(instruction: &mut [u8; INSTRUCTION], other: &[u8; INSTRUCTION]) {
    if let Some((board, _)) = depbar(other) {
        name_in_depbar(instruction, board);
    }
}

/// Whether the instruction is a DEPBAR that waits for all scoreboards, before what makes
/// descriptors of tensors known. Those that come behind it wait again.
fn waits_for_named(instruction: &[u8]) -> bool {
    let operand = instruction[4..].first_chunk().copied();
    operation(instruction) == DEPBAR
        && operand.map(u32::from_le_bytes) == Some(u32::from(ALL_BOARDS))
}

pub(super) const ALL_BOARDS: u8 = (1 << BOARDS) - 1;

/// Whether the instruction waits for all scoreboards, whoever holds them. Arithmetic and branches that do wait for
/// what loops bring back, and free nothing by that. Calls, returns and collectives wait for all that is under way, which
/// takes all scoreboards by chance.
pub(super) fn waits_for_all(instruction: &[u8]) -> bool {
    let is_of_loops =
        is_arithmetic(instruction) || matches!(operation(instruction), BRANCH | BSYNC);
    let is_chance = matches!(wait(instruction), Wait::All | Wait::AllAgain);
    !is_of_loops && !is_chance && Control::of(instruction).waits() == ALL_BOARDS
}

/// One bit for each scoreboard that an instruction waits for, so that later
/// ones need not. The compiler does not count on those that wait for all: not
/// on `CCTL` and `NOP`, which end memory barriers, but for what they need, nor on others
/// for the stack pointer, which is the first to take one. A collective waits again at its end.
pub(super) fn releases(instruction: &[u8]) -> u8 {
    match operation(instruction) {
        CACHE | NOP if waits_for_all(instruction) => 0,
        WARPSYNC if starts_collective(instruction) => 0,
        _ if waits_for_all(instruction) => ALL_BOARDS & !1,
        _ => Control::of(instruction).waits(),
    }
}

/// What an instruction waits for, besides what it needs itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wait {
    Nothing,
    /// All that is under way.
    All,
    /// The same, but that stays held.
    AllAgain,
    /// Results in uniform registers.
    Uniform,
    /// The same, and all that is under way in its block and reads such registers late.
    UniformUsers,
    /// What the compiler made it wait for.
    Same,
}

/// What an instruction waits for because of where it leads.
pub(super) fn wait(instruction: &[u8]) -> Wait {
    match operation(instruction) {
        END_COLLECTIVE | CALL_ABSOLUTE | CALL_RELATIVE | RETURN => Wait::All,
        WARPSYNC if starts_collective(instruction) => Wait::AllAgain,
        BSYNC | EXIT => Wait::Uniform,
        TRIGGER => Wait::UniformUsers,
        NOP => Wait::Same,
        _ => Wait::Nothing,
    }
}

/// Whether the instruction is a BAR that counts threads whose predicate holds. Others have the
/// number of a predicate in their bits, and do not ask for it.
pub(in crate::relocate) fn counts_threads(instruction: &[u8]) -> bool {
    const COUNTING: u8 = 2;
    operation(instruction) == BLOCK_BARRIER && instruction[9] >> 5 == COUNTING
}

/// Whether the instruction is a WARPSYNC behind which threads go one after another.
pub(super) fn is_exclusive(instruction: &[u8]) -> bool {
    is_warp_sync(instruction, 0x20)
}

/// Whether the instruction is a WARPSYNC that starts a collective.
fn starts_collective(instruction: &[u8]) -> bool {
    is_warp_sync(instruction, 0x40)
}

/// Whether the instruction is a NANOSLEEP of some threads only, which was behind a branch at first.
pub(super) fn sleeps_sometimes(instruction: &[u8]) -> bool {
    operation(instruction) == SLEEP && !is_for_all(instruction)
}

/// Whether the instruction is for all threads that come to it, without a predicate that decides.
pub(in crate::relocate) fn is_for_all(instruction: &[u8]) -> bool {
    const ALWAYS: u8 = 7;
    instruction[1] >> 4 == ALWAYS
}

/// Whether the instruction is a WARPSYNC of a kind.
fn is_warp_sync(instruction: &[u8], kind: u8) -> bool {
    const KIND: usize = 10;
    operation(instruction) == WARPSYNC && instruction[KIND] & kind != 0
}

/// Where control goes behind an instruction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::relocate) enum Next {
    /// To the next instruction.
    Through,
    /// To the next instruction, once all threads have come.
    Meeting,
    /// To the next instruction or nowhere.
    MaybeEnd,
    /// Nowhere.
    End,
    /// There, to a byte of the code.
    To(u64),
    /// There or to the next one.
    Either(u64),
    /// There, and later behind this instruction.
    Call(u64),
    /// Behind some call.
    Return,
    /// To the next one with the whole warp, which goes there at the end.
    Collective(u64),
    /// To where some collective said.
    EndCollective,
    /// To one of the targets in a table.
    Table,
    /// It is not known, or the instruction names scoreboards as an operand.
    Unknown,
}

/// What the instruction at a place of code waits for because of where it leads.
pub(super) fn wait_at(code: &[u8], at: usize) -> Wait {
    let at = at * INSTRUCTION;
    match wait(&code[at..]) {
        Wait::Nothing if operation(&code[at..]) == BREAKPOINT => {
            // Behind the last one nothing comes but a branch to itself.
            let behind = at + INSTRUCTION;
            let instruction = code.get(behind..behind + INSTRUCTION);
            let is_last = instruction.is_some_and(|instruction| {
                let behind = behind as u64;
                matches!(next(instruction, behind), Next::To(target) if target == behind)
            });
            if is_last { Wait::All } else { Wait::Uniform }
        }
        wait => wait,
    }
}

/// Whether a relative call is one of a pointer: it adds registers to the start of the function.
pub(in crate::relocate) fn calls_pointer(instruction: &[u8]) -> bool {
    const IMMEDIATE: u16 = 0x944;
    operation(instruction) == CALL_RELATIVE && opcode(instruction) != IMMEDIATE
}

/// Where control goes behind the instruction at `offset`.
pub(in crate::relocate) fn next(instruction: &[u8], offset: u64) -> Next {
    /// Bits behind the offset of a branch without condition.
    const ALWAYS: u64 = 0xe0;
    let half = |at: usize| {
        let bytes = &instruction[at..at + 8];
        u64::from_le_bytes(bytes.try_into().expect("eight bytes"))
    };
    let (low, high) = (half(0), half(8));
    let has_predicate = !is_for_all(instruction);
    let distance = (low >> 34 | (high & 0x3_ffff) << 30) << 8 | low >> 16 & 0xff;
    let distance = ((distance << 8) as i64 >> 8).wrapping_mul(4);
    let target = (offset + INSTRUCTION as u64).wrapping_add_signed(distance);
    match operation(instruction) {
        DEPBAR if depbar(instruction).is_none() && !waits_for_named(instruction) => Next::Unknown,
        END_COLLECTIVE => Next::EndCollective,
        WARPSYNC if starts_collective(instruction) => Next::Collective(target),
        BRANCH if has_predicate || high >> 18 & 0x7f_ffff != ALWAYS => Next::Either(target),
        BRANCH => Next::To(target),
        // To a place in the function that registers hold.
        CALL_RELATIVE if calls_pointer(instruction) => Next::MaybeEnd,
        CALL_RELATIVE => Next::Call(target),
        RETURN => Next::Return,
        operation if TABLE_BRANCHES.contains(&operation) => Next::Table,
        // It comes back, and maybe not.
        CALL_ABSOLUTE => Next::MaybeEnd,
        // EXIT.
        EXIT if has_predicate => Next::MaybeEnd,
        EXIT => Next::End,
        BSYNC => Next::Meeting,
        // RPCMOV, BMOV and BPT.
        BREAK | BSSY | YIELD | WARPSYNC | SLEEP => Next::Through,
        0x152 | 0x153 | 0x155 | 0x156 | 0x15c => Next::Through,
        operation if CONTROL.contains(&operation) => Next::Unknown,
        _ => Next::Through,
    }
}
