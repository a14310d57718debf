//! Rows of a table, found by what stands in them.

use std::hash::{BuildHasher as _, Hash};

use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;

/// Which row has a key. It holds ids alone, so that it stays in the caches of
/// a processor; the keys stand in the rows.
pub(super) struct Index<I>(HashTable<I>);

/// The place of a key in an [`Index`].
pub(super) fn hash(key: impl Hash) -> u64 {
    FxBuildHasher.hash_one(key)
}

impl<I: Copy> Index<I> {
    /// An index that need not grow for so many rows.
    pub(super) fn with_room(rows: usize) -> Self {
        Self(HashTable::with_capacity(rows))
    }

    /// The row that `has` the key of this hash.
    pub(super) fn find(&self, hash: u64, has: impl Fn(I) -> bool) -> Option<I> {
        self.0.find(hash, |&id| has(id)).copied()
    }

    /// Adds a row with a new key. `hash_of` is that of the key in a row.
    pub(super) fn insert(&mut self, hash: u64, id: I, hash_of: impl Fn(I) -> u64) {
        self.0.insert_unique(hash, id, |&id| hash_of(id));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_found_by_their_keys() {
        let rows: Vec<String> = (0..1000).map(|number| format!("row {number}")).collect();
        let mut index = Index::with_room(4);
        for (id, row) in rows.iter().enumerate() {
            assert_eq!(index.find(hash(row), |id: usize| rows[id] == *row), None);
            index.insert(hash(row), id, |id| hash(&rows[id]));
        }
        for (id, row) in rows.iter().enumerate() {
            assert_eq!(index.find(hash(row), |id| rows[id] == *row), Some(id));
        }
    }
}
