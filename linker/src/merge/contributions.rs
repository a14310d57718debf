//! What inputs give to a section, part by part.

use std::ops::{Deref, DerefMut};

/// The bytes one input gives to a section.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Contribution<'d> {
    /// Where in the section.
    pub(crate) offset: u64,
    /// The alignment that the input asks for.
    pub(crate) align: u64,
    /// The bytes; empty for sections without bytes.
    pub(crate) data: &'d [u8],
}

/// The parts of a section by their offsets. Code and constants have one part for good,
/// which needs no memory of its own.
#[derive(Debug, Clone)]
pub(crate) enum Contributions<'d> {
    /// The only one.
    Lone(Contribution<'d>),
    /// None, or several.
    List(Vec<Contribution<'d>>),
}

impl<'d> Contributions<'d> {
    /// Adds a part behind the others.
    pub(crate) fn push(&mut self, part: Contribution<'d>) {
        match self {
            Self::Lone(first) => *self = Self::List(vec![*first, part]),
            Self::List(parts) if parts.is_empty() => *self = Self::Lone(part),
            Self::List(parts) => parts.push(part),
        }
    }

    /// The parts as a list that can be changed.
    pub(crate) fn to_mut(&mut self) -> &mut Vec<Contribution<'d>> {
        if let Self::Lone(part) = self {
            *self = Self::List(vec![*part]);
        }
        match self {
            Self::List(parts) => parts,
            Self::Lone(_) => unreachable!("it became a list a moment ago"),
        }
    }
}

impl Default for Contributions<'_> {
    fn default() -> Self {
        Self::List(Vec::new())
    }
}

impl<'d> Deref for Contributions<'d> {
    type Target = [Contribution<'d>];

    fn deref(&self) -> &[Contribution<'d>] {
        match self {
            Self::Lone(part) => std::slice::from_ref(part),
            Self::List(parts) => parts,
        }
    }
}

impl DerefMut for Contributions<'_> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        match self {
            Self::Lone(part) => std::slice::from_mut(part),
            Self::List(parts) => parts,
        }
    }
}

impl<'d> FromIterator<Contribution<'d>> for Contributions<'d> {
    fn from_iter<I: IntoIterator<Item = Contribution<'d>>>(parts: I) -> Self {
        Self::List(parts.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_stand_in_their_order_however_many_there_are() {
        let part = |offset| Contribution {
            offset,
            align: 1,
            data: &[],
        };
        let offsets = |parts: &Contributions<'_>| -> Vec<u64> {
            parts.iter().map(|part| part.offset).collect()
        };
        let mut parts = Contributions::default();
        assert!(parts.is_empty());
        for count in 1..4 {
            parts.push(part(count));
            assert_eq!(offsets(&parts), (1..=count).collect::<Vec<_>>());
            let mut changed = parts.clone();
            changed[0].offset = 0;
            changed.to_mut().push(part(9));
            let expected: Vec<u64> = std::iter::once(0).chain(2..=count).chain([9]).collect();
            assert_eq!(offsets(&changed), expected);
        }
        let size = size_of::<Contribution<'_>>();
        assert_eq!(
            size_of::<Contributions<'_>>(),
            size,
            "the lone one takes no more"
        );
    }
}
