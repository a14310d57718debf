//! The registration code for AArch64, in the standard calling convention.

use object::elf::{
    R_AARCH64_ADD_ABS_LO12_NC, R_AARCH64_ADR_GOT_PAGE, R_AARCH64_ADR_PREL_PG_HI21,
    R_AARCH64_CALL26, R_AARCH64_JUMP26, R_AARCH64_LD64_GOT_LO12_NC, RelocationType,
};

use super::State;
use super::code::{
    AT_EXIT, Code, Fixup, REGISTER_FATBIN, REGISTER_FATBIN_END, Target, UNREGISTER_FATBIN,
};

/// The stack pointer, where an instruction takes one.
const SP: u32 = 31;
/// Marks a place that may be called through a pointer.
const BTI_C: u32 = 0xd503_245f;
const RET: u32 = 0xd65f_03c0;
/// Conditions of `b.cond`.
const NOT_EQUAL: u32 = 1;
const HIGHER_OR_SAME: u32 = 2;

#[derive(Default)]
struct Assembler {
    words: Vec<u32>,
    fixups: Vec<Fixup>,
}

impl Assembler {
    fn put(&mut self, instruction: u32) {
        self.words.push(instruction);
    }

    fn with_target(&mut self, instruction: u32, kind: RelocationType, target: Target) {
        self.fixups.push(Fixup {
            offset: 4 * self.words.len(),
            kind,
            target,
            addend: 0,
        });
        self.put(instruction);
    }

    /// Loads the address of something in this object.
    fn address(&mut self, register: u32, target: Target) {
        self.with_target(0x9000_0000 | register, R_AARCH64_ADR_PREL_PG_HI21, target);
        let add = 0x9100_0000 | register << 5 | register;
        self.with_target(add, R_AARCH64_ADD_ABS_LO12_NC, target);
    }

    /// Loads a number: `movz` and `movk` of a 32-bit register.
    fn number(&mut self, register: u32, number: u32) {
        self.put(0x5280_0000 | (number & 0xffff) << 5 | register);
        self.put(0x72a0_0000 | (number >> 16) << 5 | register);
    }

    /// A conditional branch to a place that is not known yet.
    fn branch_ahead(&mut self, condition: u32) -> usize {
        self.put(0x5400_0000 | condition);
        self.words.len() - 1
    }

    /// Makes a conditional branch end here.
    fn land(&mut self, branch: usize) {
        let distance = (self.words.len() - branch) as u32;
        self.words[branch] |= distance << 5;
    }
}

/// `ldr` of a 64-bit register.
fn load(register: u32, base: u32, offset: u32) -> u32 {
    0xf940_0000 | (offset / 8) << 10 | base << 5 | register
}

/// `str` of a 64-bit register.
fn store(register: u32, base: u32, offset: u32) -> u32 {
    0xf900_0000 | (offset / 8) << 10 | base << 5 | register
}

/// `add` of 64-bit registers, the second one shifted to the left.
fn add(result: u32, first: u32, second: u32, shift: u32) -> u32 {
    0x8b00_0000 | second << 16 | shift << 10 | first << 5 | result
}

/// Two registers in the fields of `stp` and `ldp`, at an offset in the stack.
fn pair(first: u32, second: u32, offset: i32) -> u32 {
    ((offset / 8) as u32 & 0x7f) << 15 | second << 10 | SP << 5 | first
}

/// Makes the code for this many modules.
pub(super) fn assemble(state: State) -> Code {
    let mut code = Assembler::default();
    register(&mut code, state);
    let register = 0..4 * code.words.len();
    unregister(&mut code);
    let unregister = register.end..4 * code.words.len();
    let modules = (0..state.modules as usize)
        .map(|module| {
            let start = code.words.len();
            register_module(&mut code, module);
            4 * start..4 * code.words.len()
        })
        .collect();
    Code {
        bytes: code.words.into_iter().flat_map(u32::to_le_bytes).collect(),
        fixups: code.fixups,
        modules,
        register,
        unregister,
    }
}

/// Notes a module, whose callback is in x0 and whose wrapper in x1. The last one registers all of them.
fn register(code: &mut Assembler, state: State) {
    code.address(8, Target::State(0));
    code.put(0xb940_0000 | (State::COUNT / 4) << 10 | 8 << 5 | 9); // ldr w9, [x8, COUNT]
    code.number(10, state.modules);
    code.put(0x6b00_001f | 10 << 16 | 9 << 5); // cmp w9, w10
    let too_many = code.branch_ahead(HIGHER_OR_SAME);
    code.put(load(11, 1, 8));
    code.put(add(12, 8, 9, 3));
    code.put(store(11, 12, State::PARTS));
    code.number(14, state.callbacks());
    code.put(0xf820_6800 | 14 << 16 | 12 << 5); // str x0, [x12, x14]
    code.put(0x1100_0400 | 9 << 5 | 9); // add w9, w9, 1
    code.put(0xb900_0000 | (State::COUNT / 4) << 10 | 8 << 5 | 9); // str w9, [x8, COUNT]
    code.put(0x6b00_001f | 10 << 16 | 9 << 5); // cmp w9, w10
    let too_few = code.branch_ahead(NOT_EQUAL);
    register_all(code, state);
    code.land(too_many);
    code.land(too_few);
    code.put(RET);
}

/// Registers the fatbin, whose state is at x8, and calls back all modules.
fn register_all(code: &mut Assembler, state: State) {
    code.put(0xa980_0000 | pair(29, 30, -48)); // stp x29, x30, [sp, -48]!
    code.put(0x9100_03fd); // mov x29, sp
    code.put(0xa900_0000 | pair(19, 20, 16)); // stp x19, x20, [sp, 16]
    code.put(store(21, SP, 32));
    code.put(0xaa08_03f3); // mov x19, x8
    code.address(0, Target::Wrapper);
    code.with_target(0x9400_0000, R_AARCH64_CALL26, REGISTER_FATBIN);
    code.put(store(0, 19, State::HANDLE));
    code.address(0, Target::Unregister);
    code.with_target(0x9400_0000, R_AARCH64_CALL26, AT_EXIT);
    code.number(20, state.modules);
    code.number(21, state.callbacks());
    code.put(add(21, 19, 21, 0));
    let next = code.words.len();
    code.put(0xf840_8400 | 21 << 5 | 1); // ldr x1, [x21], 8
    code.put(load(0, 19, State::HANDLE));
    code.put(0xd63f_0000 | 1 << 5); // blr x1
    code.put(0x7100_0400 | 20 << 5 | 20); // subs w20, w20, 1
    let distance = next as i32 - code.words.len() as i32;
    code.put(0x5400_0000 | (distance as u32 & 0x7_ffff) << 5 | NOT_EQUAL); // b.ne next
    code.put(load(0, 19, State::HANDLE));
    code.put(load(21, SP, 32));
    code.put(0xa940_0000 | pair(19, 20, 16)); // ldp x19, x20, [sp, 16]
    code.put(0xa8c0_0000 | pair(29, 30, 48)); // ldp x29, x30, [sp], 48
    code.with_target(0x1400_0000, R_AARCH64_JUMP26, REGISTER_FATBIN_END);
}

fn unregister(code: &mut Assembler) {
    code.put(BTI_C);
    code.address(8, Target::State(0));
    code.put(load(0, 8, State::HANDLE));
    code.with_target(0x1400_0000, R_AARCH64_JUMP26, UNREGISTER_FATBIN);
}

/// Goes on at the start of all code with the wrapper of a module.
fn register_module(code: &mut Assembler, module: usize) {
    code.put(BTI_C);
    // The reference to the module's wrapper makes the host linker take
    // the object of the module from its library.
    let wrapper = Target::ModuleWrapper(module);
    code.with_target(0x9000_0001, R_AARCH64_ADR_GOT_PAGE, wrapper);
    code.with_target(load(1, 1, 0), R_AARCH64_LD64_GOT_LO12_NC, wrapper);
    let distance = -(code.words.len() as i32);
    code.put(0x1400_0000 | (distance as u32 & 0x3ff_ffff)); // b register
}
