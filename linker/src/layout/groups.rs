//! Groups of things that have to agree on something (union-find).

/// Members `0..n`, each of them in one group.
pub(super) struct Groups(Vec<usize>);

impl Groups {
    pub(super) fn new(members: usize) -> Self {
        Self((0..members).collect())
    }

    /// The member that represents the group of this one.
    pub(super) fn of(&mut self, mut member: usize) -> usize {
        while self.0[member] != member {
            self.0[member] = self.0[self.0[member]];
            member = self.0[member];
        }
        member
    }

    /// Joins the groups of these members.
    pub(super) fn join(&mut self, mut members: impl Iterator<Item = usize>) {
        let Some(first) = members.next() else {
            return;
        };
        for other in members {
            let (first, other) = (self.of(first), self.of(other));
            self.0[other] = first;
        }
    }
}
