//! Random decisions that are the same for the same seed, on every machine and for all time.

use std::ops::{Range, RangeInclusive};

use anyhow::{Context, Result};

/// A source of random decisions.
#[derive(Debug)]
pub struct Random(oorandom::Rand64);

impl Random {
    /// A source that depends on the seed alone.
    pub fn new(seed: u64) -> Self {
        Self(oorandom::Rand64::new(u128::from(seed)))
    }

    /// A number below `end`.
    pub fn below(&mut self, end: usize) -> usize {
        self.0.rand_range(0..end as u64) as usize
    }

    /// A number of the range.
    pub fn within(&mut self, range: RangeInclusive<usize>) -> usize {
        range.start() + self.below(range.end() - range.start() + 1)
    }

    /// Whether something happens that happens `percent` times in a hundred.
    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// One of the items.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }

    /// Puts the items into another order.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }
}

/// Reads which seeds are meant: `7` or `100..200`.
pub fn seeds(text: &str) -> Result<Range<u64>> {
    let number = |text: &str| -> Result<u64> {
        text.parse().with_context(|| format!("`{text}` is no seed"))
    };
    match text.split_once("..") {
        Some((start, end)) => Ok(number(start)?..number(end)?),
        None => {
            let seed = number(text)?;
            Ok(seed..seed + 1)
        }
    }
}
