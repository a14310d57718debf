//! Things that have to agree, in groups.

/// Numbered members, each of which is in one group.
pub(super) struct Groups(Vec<usize>);

impl Groups {
    pub(super) fn new(members: usize) -> Self {
        Self((0..members).collect())
    }

    /// What stands for the group of a member.
    pub(super) fn of(&mut self, mut member: usize) -> usize {
        while self.0[member] != member {
            self.0[member] = self.0[self.0[member]];
            member = self.0[member];
        }
        member
    }

    /// Makes one group of theirs.
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
