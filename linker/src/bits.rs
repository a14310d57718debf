//! Sets of small numbers, for what reaches what.

/// A set of small numbers.
#[derive(Debug, Clone, Default)]
pub(crate) struct Bits(Vec<u64>);

impl Bits {
    /// The set of one number.
    pub(crate) fn one(bit: usize) -> Self {
        let mut words = vec![0; bit / 64 + 1];
        words[bit / 64] = 1 << (bit % 64);
        Self(words)
    }

    /// Adds the members of another set.
    pub(crate) fn join(&mut self, other: &Self) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        for (word, more) in self.0.iter_mut().zip(&other.0) {
            *word |= more;
        }
    }

    /// The members, smallest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.0.iter().enumerate().flat_map(|(index, &word)| {
            (0..64)
                .filter(move |bit| word >> bit & 1 == 1)
                .map(move |bit| index * 64 + bit)
        })
    }

    /// The smallest number that is not a member.
    pub(crate) fn first_clear(&self) -> usize {
        self.0
            .iter()
            .position(|&word| word != u64::MAX)
            .map_or(self.0.len() * 64, |index| {
                index * 64 + self.0[index].trailing_ones() as usize
            })
    }
}
