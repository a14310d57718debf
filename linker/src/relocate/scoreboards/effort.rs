//! How long it may take to follow who holds scoreboards.
//!
//! Compilers let few instructions be under way at once, so that this takes a time that grows with the code. Where nothing
//! waits for what is under way, as only damage makes it, it would grow with the square of that.

use super::held::Held;

/// So much is left to code of any size.
const LEAST: usize = 1 << 20;
/// How many may hold scoreboards at each instruction besides, on average.
const FOR_EACH: usize = 64;

/// What is left of the time.
pub(super) struct Effort(usize);

impl Effort {
    pub(super) fn of(instructions: usize) -> Self {
        Self(instructions.saturating_mul(FOR_EACH).saturating_add(LEAST))
    }

    /// Looks at all who hold something; `None` if that takes too long.
    pub(super) fn spend(&mut self, held: &Held) -> Option<()> {
        self.0 = self.0.checked_sub(held.count())?;
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_code_may_take_longer() {
        let held = Held::of(&[(0, 1), (3, 4)]);
        let times = |instructions| {
            let mut effort = Effort::of(instructions);
            std::iter::from_fn(|| effort.spend(&held)).count()
        };
        assert_eq!(times(0), LEAST / 2);
        assert_eq!(times(1000), (LEAST + 64_000) / 2);
    }
}
