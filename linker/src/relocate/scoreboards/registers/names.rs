//! Numbers of all that instructions read and write, by which it is found who does.

use crate::bits::members;

use super::super::Until;
use super::{Accesses, Bank, Registers};

/// How many numbers there are: of what is read, and of what is written.
pub(in super::super) const NAMES: usize = 2 * REGISTERS;
/// Registers of threads, those of warps, and predicates.
const REGISTERS: usize = u64::BITS as usize * (2 * WORDS + 1);
/// How many words hold the registers of a file.
const WORDS: usize = size_of::<Bank>() / size_of::<u64>();

/// Some of what instructions read and write.
#[derive(Debug, Clone, Copy, Default)]
pub(in super::super) struct Names {
    read: Registers,
    written: Registers,
}

impl Names {
    pub(in super::super) fn numbers(&self) -> impl Iterator<Item = usize> {
        let written = self.written.numbers();
        self.read
            .numbers()
            .chain(written.map(|number| REGISTERS + number))
    }
}

impl Registers {
    fn numbers(&self) -> impl Iterator<Item = usize> + use<> {
        let ([a, b, c, d], [e, f, g, h]) = (self.thread, self.uniform);
        let words: [u64; 2 * WORDS + 1] = [a, b, c, d, e, f, g, h, self.predicates.into()];
        members(words.into_iter())
    }
}

impl Accesses {
    /// What the instruction reads and writes.
    pub(in super::super) fn names(&self) -> Names {
        Names {
            read: Registers {
                predicates: self.read_predicates,
                ..self.reads
            },
            written: self.writes,
        }
    }

    /// What those read or write that wait for this one, unless it orders others.
    pub(in super::super) fn awaited(&self, until: Until) -> Names {
        match until {
            Until::Written => Names {
                read: self.writes,
                written: self.writes,
            },
            Until::Read => Names {
                read: Registers {
                    predicates: self.early_predicates(),
                    ..Registers::default()
                },
                written: Registers {
                    predicates: self.late_guard(),
                    ..self.late_operands()
                },
            },
        }
    }

    /// The predicate that decides about the instruction, as others write it.
    pub(in super::super) fn decided_by(&self) -> Names {
        Names {
            written: Registers {
                predicates: self.deciding(),
                ..Registers::default()
            },
            ..Names::default()
        }
    }
}
