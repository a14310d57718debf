//! Sets of small numbers, for what reaches what.

/// A set of small numbers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct Bits(Vec<u64>);

impl Bits {
    /// The set of one number.
    pub(crate) fn one(bit: usize) -> Self {
        let mut set = Self::default();
        set.insert(bit);
        set
    }

    /// Adds a number.
    pub(crate) fn insert(&mut self, bit: usize) {
        if self.0.len() <= bit / 64 {
            self.0.resize(bit / 64 + 1, 0);
        }
        self.0[bit / 64] |= 1 << (bit % 64);
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
        members(self.0.iter().copied())
    }

    /// The members that another set has not, smallest first.
    pub(crate) fn iter_without(&self, other: &Self) -> impl Iterator<Item = usize> {
        let others = other.0.iter().copied().chain(std::iter::repeat(0));
        members(self.0.iter().zip(others).map(|(word, other)| word & !other))
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

/// The members of a set with these words, smallest first.
pub(crate) fn members(words: impl Iterator<Item = u64>) -> impl Iterator<Item = usize> {
    let words = words.enumerate();
    words.flat_map(|(index, word)| ones(word).map(move |bit| index * 64 + bit))
}

/// Which bits of a word are set, the lowest first.
pub(crate) fn ones(mut word: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = word.trailing_zeros();
        word &= word.checked_sub(1)?;
        Some(bit as usize)
    })
}

#[cfg(test)]
mod tests {
    use super::Bits;

    fn set(numbers: &[usize]) -> Bits {
        let mut set = Bits::default();
        numbers.iter().for_each(|&number| set.insert(number));
        set
    }

    #[test]
    fn members_come_in_order() {
        let members: Vec<usize> = set(&[200, 0, 63, 64]).iter().collect();
        assert_eq!(members, [0, 63, 64, 200]);
    }

    #[test]
    fn a_difference_needs_no_equal_lengths() {
        let without = |one: &[usize], other: &[usize]| -> Vec<usize> {
            set(one).iter_without(&set(other)).collect()
        };
        assert_eq!(without(&[1, 2, 300], &[2]), [1, 300]);
        assert_eq!(without(&[1, 2], &[2, 300]), [1]);
    }

    #[test]
    fn the_first_clear_number_can_lie_behind_all_words() {
        assert_eq!(set(&[0, 1, 3]).first_clear(), 2);
        assert_eq!(set(&(0..64).collect::<Vec<_>>()).first_clear(), 64);
        assert_eq!(Bits::default().first_clear(), 0);
    }
}
