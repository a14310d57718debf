//! The registration code for x86-64, in the calling convention of System V.

use object::elf::{R_X86_64_PC32, R_X86_64_PLT32, R_X86_64_REX_GOTPCRELX, RelocationType};

use super::State;
use super::code::{
    AT_EXIT, Code, Fixup, REGISTER_FATBIN, REGISTER_FATBIN_END, Target, UNREGISTER_FATBIN,
};

/// Marks a place that may be jumped to through a pointer.
const ENDBR64: [u8; 4] = [0xf3, 0x0f, 0x1e, 0xfa];

#[derive(Default)]
struct Assembler {
    bytes: Vec<u8>,
    fixups: Vec<Fixup>,
}

impl Assembler {
    fn put(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// An instruction that ends with a 32-bit number.
    fn with_number(&mut self, opcode: &[u8], number: u32) {
        self.put(opcode);
        self.put(&number.to_le_bytes());
    }

    /// An instruction that ends with a distance for the linker to fill in.
    fn with_target(&mut self, opcode: &[u8], kind: RelocationType, target: Target) {
        self.put(opcode);
        self.fixups.push(Fixup {
            offset: self.bytes.len(),
            kind,
            target,
            // Distances count from the end of the instruction.
            addend: -4,
        });
        self.put(&[0; 4]);
    }

    /// A short jump to a place that is not known yet.
    fn jump_ahead(&mut self, opcode: u8) -> usize {
        self.put(&[opcode, 0]);
        self.bytes.len()
    }

    /// Makes a short jump end here.
    fn land(&mut self, jump: usize) {
        self.bytes[jump - 1] = (self.bytes.len() - jump) as u8;
    }

    fn jump_back(&mut self, opcode: u8, place: usize) {
        let distance = place as isize - (self.bytes.len() as isize + 2);
        self.put(&[opcode, distance as u8]);
    }
}

/// Makes the code for this many modules.
pub(super) fn assemble(state: State) -> Code {
    let mut code = Assembler::default();
    register(&mut code, state);
    let register = 0..code.bytes.len();
    unregister(&mut code);
    let unregister = register.end..code.bytes.len();
    let modules = (0..state.modules as usize)
        .map(|module| {
            let start = code.bytes.len();
            register_module(&mut code, module);
            start..code.bytes.len()
        })
        .collect();
    Code {
        bytes: code.bytes,
        fixups: code.fixups,
        modules,
        register,
        unregister,
    }
}

/// Notes a module, whose callback is in rdi and whose wrapper in rsi. The last one registers all of them.
fn register(code: &mut Assembler, state: State) {
    let count = state.modules;
    code.with_target(&[0x48, 0x8d, 0x15], R_X86_64_PC32, Target::State(0)); // lea rdx, state
    code.put(&[0x8b, 0x0a]); // mov ecx, [rdx + COUNT]
    code.with_number(&[0x81, 0xf9], count); // cmp ecx, count
    let too_many = code.jump_ahead(0x73); // jae done
    code.put(&[0x48, 0x8b, 0x46, 0x08]); // mov rax, [rsi + 8]
    code.put(&[0x48, 0x89, 0x44, 0xca, State::PARTS as u8]); // mov [rdx + rcx * 8 + PARTS], rax
    code.with_number(&[0x48, 0x89, 0xbc, 0xca], state.callbacks()); // mov [rdx + rcx * 8 + ..], rdi
    code.put(&[0xff, 0xc1]); // inc ecx
    code.put(&[0x89, 0x0a]); // mov [rdx + COUNT], ecx
    code.with_number(&[0x81, 0xf9], count); // cmp ecx, count
    let too_few = code.jump_ahead(0x75); // jne done
    register_all(code, state);
    code.land(too_many);
    code.land(too_few);
    code.put(&[0xc3]); // ret
}

/// Registers the fatbin, whose state is at rdx, and calls back all modules.
fn register_all(code: &mut Assembler, state: State) {
    code.put(&[0x53]); // push rbx
    code.put(&[0x41, 0x54]); // push r12
    code.put(&[0x48, 0x83, 0xec, 0x08]); // sub rsp, 8
    code.put(&[0x48, 0x89, 0xd3]); // mov rbx, rdx
    code.with_target(&[0x48, 0x8d, 0x3d], R_X86_64_PC32, Target::Wrapper); // lea rdi, wrapper
    code.with_target(&[0xe8], R_X86_64_PLT32, REGISTER_FATBIN); // call
    code.put(&[0x48, 0x89, 0x43, State::HANDLE as u8]); // mov [rbx + HANDLE], rax
    code.with_target(&[0x48, 0x8d, 0x3d], R_X86_64_PC32, Target::Unregister); // lea rdi, unregister
    code.with_target(&[0xe8], R_X86_64_PLT32, AT_EXIT); // call
    code.put(&[0x45, 0x31, 0xe4]); // xor r12d, r12d
    let next = code.bytes.len();
    code.put(&[0x48, 0x8b, 0x7b, State::HANDLE as u8]); // mov rdi, [rbx + HANDLE]
    code.with_number(&[0x42, 0xff, 0x94, 0xe3], state.callbacks()); // call [rbx + r12 * 8 + ..]
    code.put(&[0x41, 0xff, 0xc4]); // inc r12d
    code.with_number(&[0x41, 0x81, 0xfc], state.modules); // cmp r12d, count
    code.jump_back(0x75, next); // jne next
    code.put(&[0x48, 0x8b, 0x7b, State::HANDLE as u8]); // mov rdi, [rbx + HANDLE]
    code.put(&[0x48, 0x83, 0xc4, 0x08]); // add rsp, 8
    code.put(&[0x41, 0x5c]); // pop r12
    code.put(&[0x5b]); // pop rbx
    code.with_target(&[0xe9], R_X86_64_PLT32, REGISTER_FATBIN_END); // jmp
}

fn unregister(code: &mut Assembler) {
    code.put(&ENDBR64);
    code.with_target(
        &[0x48, 0x8b, 0x3d],
        R_X86_64_PC32,
        Target::State(State::HANDLE),
    ); // mov rdi
    code.with_target(&[0xe9], R_X86_64_PLT32, UNREGISTER_FATBIN); // jmp
}

/// Goes on at the start of all code with the wrapper of a module.
fn register_module(code: &mut Assembler, module: usize) {
    code.put(&ENDBR64);
    // The reference to the module's wrapper makes the host linker take
    // the object of the module from its library.
    let wrapper = Target::ModuleWrapper(module);
    code.with_target(&[0x48, 0x8b, 0x35], R_X86_64_REX_GOTPCRELX, wrapper); // mov rsi
    let distance = -(code.bytes.len() as i64 + 5);
    code.with_number(&[0xe9], distance as u32); // jmp register
}
