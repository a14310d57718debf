//! Ids that cannot be mixed up, and the vectors they index.

use std::marker::PhantomData;
use std::num::NonZero;
use std::ops::{Index, IndexMut};

/// A number that names a row of one [`IdVec`]. An id that may be absent takes
/// no more room than one that may not.
pub(crate) trait Id: Copy + Eq {
    /// The id of row `index`.
    fn new(index: usize) -> Self;
    /// The row.
    fn index(self) -> usize;
}

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub(crate) struct $name(NonZero<u32>);

        impl Id for $name {
            fn new(index: usize) -> Self {
                let number = u32::try_from(index + 1).ok().and_then(NonZero::new);
                Self(number.expect("more than 2^32 rows in a link"))
            }

            fn index(self) -> usize {
                self.0.get() as usize - 1
            }
        }
    )*};
}

ids! {
    /// One input of the link.
    InputId;
    /// One section being built.
    SectionId;
    /// One symbol being built.
    SymbolId;
    /// One device function or kernel.
    FunctionId;
    /// One signature string.
    PrototypeId;
}

/// A vector indexed by one kind of id. Rows are never removed, so ids never
/// move.
#[derive(Debug, Clone)]
pub(crate) struct IdVec<I, T> {
    rows: Vec<T>,
    id: PhantomData<fn() -> I>,
}

impl<I: Id, T> IdVec<I, T> {
    /// An empty vector.
    pub(crate) fn new() -> Self {
        Self {
            rows: Vec::new(),
            id: PhantomData,
        }
    }

    /// An empty vector that need not move for so many rows.
    pub(crate) fn with_room(rows: usize) -> Self {
        Self {
            rows: Vec::with_capacity(rows),
            id: PhantomData,
        }
    }

    /// One row for each row of `other`.
    pub(crate) fn filled<U>(other: &IdVec<I, U>, value: T) -> Self
    where
        T: Clone,
    {
        Self {
            rows: vec![value; other.len()],
            id: PhantomData,
        }
    }

    /// Every row, to be filled in any order.
    pub(crate) fn rows(&mut self) -> &mut [T] {
        &mut self.rows
    }

    /// Adds a row.
    pub(crate) fn push(&mut self, row: T) -> I {
        self.rows.push(row);
        I::new(self.rows.len() - 1)
    }

    /// How many rows there are.
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Every row.
    pub(crate) fn iter(&self) -> std::slice::Iter<'_, T> {
        self.rows.iter()
    }

    /// Every row, to change.
    pub(crate) fn iter_mut(&mut self) -> std::slice::IterMut<'_, T> {
        self.rows.iter_mut()
    }

    /// Every row with its id.
    pub(crate) fn enumerate(&self) -> impl DoubleEndedIterator<Item = (I, &T)> {
        self.rows
            .iter()
            .enumerate()
            .map(|(index, row)| (I::new(index), row))
    }
}

impl<I: Id, T> FromIterator<T> for IdVec<I, T> {
    fn from_iter<R: IntoIterator<Item = T>>(rows: R) -> Self {
        Self {
            rows: rows.into_iter().collect(),
            id: PhantomData,
        }
    }
}

impl<I: Id, T> Default for IdVec<I, T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<I: Id, T> Index<I> for IdVec<I, T> {
    type Output = T;

    fn index(&self, id: I) -> &T {
        &self.rows[id.index()]
    }
}

impl<I: Id, T> IndexMut<I> for IdVec<I, T> {
    fn index_mut(&mut self, id: I) -> &mut T {
        &mut self.rows[id.index()]
    }
}
