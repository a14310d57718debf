//! Sets of operations, of which every instruction is asked whether it is one.

/// How many operations there can be.
pub(super) const OPERATIONS: usize = 0x200;

const WORD: usize = u64::BITS as usize;

/// Some operations, one bit for each that there can be.
#[derive(Debug, Clone, Copy)]
pub(super) struct Operations([u64; OPERATIONS / WORD]);

impl Operations {
    pub(super) const fn of(listed: &[u16]) -> Self {
        let mut words = [0; OPERATIONS / WORD];
        let mut rest = listed;
        while let [operation, more @ ..] = rest {
            words[*operation as usize / WORD] |= 1 << (*operation as usize % WORD);
            rest = more;
        }
        Self(words)
    }

    pub(super) const fn has(&self, operation: u16) -> bool {
        let operation = operation as usize % OPERATIONS;
        self.0[operation / WORD] >> (operation % WORD) & 1 == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_have_what_is_listed() {
        let set = Operations::of(&[0, 0x3f, 0x40, 0x1ff]);
        let found: Vec<u16> = (0..OPERATIONS as u16).filter(|&o| set.has(o)).collect();
        assert_eq!(found, [0, 0x3f, 0x40, 0x1ff]);
    }
}
