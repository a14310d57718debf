//! Which register of threads an instruction gets for what it needs in between.
//!
//! Of those that are written further on in the block, by all threads and before anything reads
//! them there, it is the highest. If there is none, one is saved meanwhile: the lowest of those
//! that were read in the block so far, and not written since, or `R2` (case `older_environment`).

use std::collections::BTreeSet;
use std::ops::{Range, RangeInclusive};

use crate::merge::TableBranch;

use super::control::Control;
use super::flow::Flow;
use super::instruction::{CONTROL, Chip, INSTRUCTION, is_for_all, operation};
use super::operands::{File, operands};
use super::{Setting, events};

/// A register for what stands between other instructions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::relocate) enum Scratch {
    /// Nobody needs what it holds.
    Free(u8),
    /// Its value has to be saved.
    Saved(u8),
}

/// Accesses to memory.
const ACCESSES: RangeInclusive<u16> = 0x180..=0x1af;
/// What is saved where nothing else says which one.
const FALLBACK: u8 = 2;

/// What is chosen for a function.
#[derive(Debug, Default)]
pub(in crate::relocate) struct Chosen {
    pub(in crate::relocate) registers: Vec<Scratch>,
    /// Instructions that may still have to read what is saved when it is overwritten.
    pub(in crate::relocate) readers: Vec<usize>,
}

/// The registers for instructions that need one each, given in the order of the code as what
/// they will take the place of; `None` where it is not known where control goes.
pub(in crate::relocate) fn scratch(
    code: &[u8],
    tables: &[TableBranch],
    sites: &[Range<usize>],
) -> Option<Chosen> {
    // Blocks are the same everywhere here.
    let setting = Setting {
        tables,
        chip: Chip::FastDoubles,
        capsule: &[],
        is_lone: false,
    };
    let flow = Flow::new(code, &events(code), &setting)?;
    let (code, _) = code.as_chunks::<INSTRUCTION>();
    let mut read = Readers::default();
    let mut sites = sites.iter().peekable();
    let mut chosen = Chosen::default();
    for (at, instruction) in code.iter().enumerate() {
        if at > 0 && flow.ends_block(at - 1) {
            read = Readers::default();
        }
        read.see(at, instruction);
        let Some(site) = sites.next_if(|site| site.end == at + 1) else {
            continue;
        };
        let end = (at..code.len()).find(|&at| flow.ends_block(at))?;
        let scratch = match highest_free(&code[site.end..=end]) {
            Some(register) => Scratch::Free(register),
            None => Scratch::Saved(read.lowest().unwrap_or(FALLBACK)),
        };
        match scratch {
            Scratch::Free(register) => read.insert(register),
            Scratch::Saved(register) => {
                chosen.readers.extend(read.waiting_for(register));
                read.remove(register);
            }
        }
        chosen.registers.push(scratch);
    }
    Some(chosen)
}

/// The registers of threads that an instruction reads or writes, and which it does; `None`
/// if that is not known. What ends blocks counts as naming none.
fn registers(instruction: &[u8; INSTRUCTION]) -> Option<impl Iterator<Item = (u8, bool)>> {
    let named = operands(instruction);
    if named.is_none() && !CONTROL.contains(&operation(instruction)) {
        return None;
    }
    let threads = named.into_iter().flatten();
    let threads = threads.filter(|operand| operand.file == File::Thread);
    Some(threads.flat_map(|operand| {
        let registers = (operand.first..u8::MAX).take(operand.count.into());
        registers.map(move |register| (register, operand.is_written))
    }))
}

/// The highest register that code writes for all threads before it reads it.
fn highest_free(code: &[[u8; INSTRUCTION]]) -> Option<u8> {
    let mut is_seen = [false; u8::MAX as usize];
    let mut highest = None;
    for instruction in code {
        let named: Vec<(u8, bool)> = registers(instruction)?.collect();
        let is_for_all = is_for_all(instruction);
        for &(register, _) in named.iter().filter(|(_, is_written)| !is_written) {
            is_seen[usize::from(register)] = true;
        }
        for &(register, _) in named.iter().filter(|(_, is_written)| *is_written) {
            if !std::mem::replace(&mut is_seen[usize::from(register)], true) && is_for_all {
                highest = highest.max(Some(register));
            }
        }
    }
    highest
}

/// What happened to registers in a block so far.
#[derive(Default)]
struct Readers {
    /// Those that were read, and not written since.
    read: BTreeSet<u8>,
    /// What read them and takes its time, the last of each operation.
    slow: Vec<Reader>,
}

/// An instruction that reads a register some time after it started.
#[derive(Clone, Copy)]
struct Reader {
    at: usize,
    operation: u16,
    register: u8,
    /// Scoreboards that are free when it has read.
    boards: u8,
}

impl Readers {
    fn see(&mut self, at: usize, instruction: &[u8; INSTRUCTION]) {
        let control = Control::of(instruction);
        self.slow
            .retain(|reader| reader.boards & control.waits() == 0);
        let named: Vec<(u8, bool)> = registers(instruction).into_iter().flatten().collect();
        let is_slow = control.takes() != 0 || ACCESSES.contains(&operation(instruction));
        for &(register, _) in named.iter().filter(|(_, is_written)| !is_written) {
            self.insert(register);
            let reader = Reader {
                at,
                operation: operation(instruction),
                register,
                boards: control.takes(),
            };
            if is_slow {
                let key = |reader: &Reader| (reader.operation, reader.register);
                self.slow.retain(|earlier| key(earlier) != key(&reader));
                self.slow.push(reader);
            }
        }
        for &(register, _) in named.iter().filter(|(_, is_written)| *is_written) {
            self.remove(register);
        }
    }

    fn insert(&mut self, register: u8) {
        self.read.insert(register);
    }

    fn remove(&mut self, register: u8) {
        self.read.remove(&register);
        self.slow.retain(|reader| reader.register != register);
    }

    fn lowest(&self) -> Option<u8> {
        self.read.first().copied()
    }

    fn waiting_for(&self, register: u8) -> impl Iterator<Item = usize> + '_ {
        let readers = self
            .slow
            .iter()
            .filter(move |reader| reader.register == register);
        readers.map(|reader| reader.at)
    }
}

#[cfg(test)]
mod tests {
    use super::super::instruction::NO_BOARD;
    use super::super::tests::{EXIT, LDC, instruction, sum};
    use super::*;

    /// LDG R0, [R2.64], which takes a scoreboard.
    fn load() -> [u8; INSTRUCTION] {
        const LDG: u16 = 0x7981;
        let mut load = instruction(LDG, 0, 3, 0);
        load[3] = 2;
        load
    }

    /// What is chosen for instructions of their own.
    fn chosen(code: &[[u8; INSTRUCTION]], sites: &[usize]) -> Chosen {
        let exit = instruction(EXIT, 0, NO_BOARD, 0);
        let code = [code, &[exit]].concat();
        let sites: Vec<Range<usize>> = sites.iter().map(|&at| at..at + 1).collect();
        scratch(code.as_flattened(), &[], &sites).unwrap()
    }

    #[test]
    fn the_highest_that_is_written_before_it_is_read_is_free() {
        // They write R8, R12 and R9, and read R12 and R41 before they write them.
        let idle = instruction(0x7918, 0, NO_BOARD, 0);
        let code = [
            idle,
            sum(8, 41, 0),
            sum(12, 12, 0),
            sum(9, 41, 0),
            sum(41, 8, 0),
        ];
        let wanted = chosen(&code, &[0]);
        assert_eq!(wanted.registers, [Scratch::Free(9)]);
    }

    #[test]
    fn what_was_read_last_is_saved_once() {
        let idle = instruction(0x7918, 0, NO_BOARD, 0);
        let code = [instruction(LDC, 2, 0, 0), load(), idle, idle, idle];
        let wanted = chosen(&code, &[2, 3, 4]);
        let expected = [2, 3, FALLBACK].map(Scratch::Saved);
        assert_eq!(wanted.registers, expected);
        assert_eq!(wanted.readers, [1, 1]);
    }

    #[test]
    fn what_has_its_result_has_read() {
        let idle = instruction(0x7918, 0, NO_BOARD, 0);
        let code = [load(), instruction(0x7918, 0, NO_BOARD, 1 << 3), idle];
        let wanted = chosen(&code, &[2]);
        assert_eq!(wanted.registers, [Scratch::Saved(2)]);
        assert!(wanted.readers.is_empty());
    }
}
