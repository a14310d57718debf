//! Which events hold scoreboards at some place of the code.

use super::instruction::ALL_BOARDS;

/// Who may hold which scoreboard, by its number and then by that of the event. At any place these
/// are few of many events.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Held(Vec<(u8, usize)>);

impl Held {
    /// Scoreboards and who holds them.
    #[cfg(test)]
    pub(super) fn of(taken: &[(u8, usize)]) -> Self {
        let mut held = Self::default();
        for &(board, event) in taken {
            held.take(board, event);
        }
        held
    }

    /// Waits until the scoreboards in a mask are free.
    pub(super) fn wait(&mut self, mask: u8) {
        if mask != 0 {
            self.0.retain(|&(board, _)| mask >> board & 1 == 0);
        }
    }

    /// An event takes a scoreboard.
    pub(super) fn take(&mut self, board: u8, event: usize) {
        if let Err(place) = self.0.binary_search(&(board, event)) {
            self.0.insert(place, (board, event));
        }
    }

    /// Events free what they share with others.
    pub(super) fn leave_those_of(&mut self, other: &Self) {
        self.0.retain(|taken| other.0.binary_search(taken).is_err());
    }

    /// Events of some kind free what they hold.
    pub(super) fn leave_all(&mut self, is_meant: impl Fn(usize) -> bool) {
        self.0.retain(|&(_, event)| !is_meant(event));
    }

    /// Some events free a scoreboard.
    pub(super) fn leave(&mut self, board: u8, events: &[usize]) {
        self.0
            .retain(|&(held, event)| held != board || !events.contains(&event));
    }

    /// Who can hold a scoreboard; nobody, if it is none.
    pub(super) fn events(&self, board: u8) -> impl Iterator<Item = usize> + Clone + '_ {
        let first = self.0.partition_point(|&(held, _)| held < board);
        let taken = self.0[first..].iter();
        taken
            .take_while(move |&&(held, _)| held == board)
            .map(|&(_, event)| event)
    }

    /// Whether nobody holds a scoreboard.
    pub(super) fn is_free(&self, board: u8) -> bool {
        self.events(board).next().is_none()
    }

    /// One bit for each scoreboard that nobody holds.
    pub(super) fn free(&self) -> u8 {
        !self.boards() & ALL_BOARDS
    }

    /// How many hold something.
    pub(super) fn count(&self) -> usize {
        self.0.len()
    }

    /// Who holds what.
    pub(super) fn taken(&self) -> impl Iterator<Item = (usize, u8)> + '_ {
        self.0.iter().map(|&(board, event)| (event, board))
    }

    /// What an event holds.
    pub(super) fn board(&self, event: usize) -> Option<u8> {
        let mut taken = self.taken();
        Some(taken.find(|&(holder, _)| holder == event)?.1)
    }

    /// Who can hold any scoreboard.
    pub(super) fn all(&self) -> impl Iterator<Item = usize> + '_ {
        self.0.iter().map(|&(_, event)| event)
    }

    /// One bit for each scoreboard that some of these events hold.
    pub(super) fn boards_of(&self, is_meant: impl Fn(usize) -> bool) -> u8 {
        let add = |mask: u8, &(board, event): &(u8, usize)| match mask >> board & 1 == 0 {
            true if is_meant(event) => mask | 1 << board,
            _ => mask,
        };
        self.0.iter().fold(0, add)
    }

    /// One bit for each scoreboard that may be held.
    pub(super) fn boards(&self) -> u8 {
        self.boards_of(|_| true)
    }

    /// What others hold is held, too; whether any of that is new.
    pub(super) fn join(&mut self, other: &Self) -> bool {
        let mut own = self.0.iter().peekable();
        let is_known = |taken: &(u8, usize)| {
            while own.next_if(|&own| own < taken).is_some() {}
            own.next_if_eq(&taken).is_some()
        };
        if other.0.iter().all(is_known) {
            return false;
        }
        self.0.extend_from_slice(&other.0);
        // Both are sorted, of which this takes advantage.
        self.0.sort();
        self.0.dedup();
        true
    }
}

#[cfg(test)]
mod tests {
    use super::super::instruction::BOARDS;
    use super::*;

    #[test]
    fn what_is_taken_stands_by_scoreboard_and_event() {
        let mut held = Held::of(&[(2, 7), (0, 9), (2, 3), (2, 7)]);
        assert_eq!(held.taken().collect::<Vec<_>>(), [(9, 0), (3, 2), (7, 2)]);
        assert_eq!(held.events(2).collect::<Vec<_>>(), [3, 7]);
        assert_eq!(
            (held.boards(), held.board(9), held.board(8)),
            (0b101, Some(0), None)
        );
        assert_eq!(held.boards_of(|event| event < 9), 0b100);
        assert!(held.is_free(1) && held.is_free(BOARDS + 1) && !held.is_free(0));
        held.leave(2, &[3]);
        assert_eq!(held.all().collect::<Vec<_>>(), [9, 7]);
        held.wait(0b1);
        assert_eq!(held.all().collect::<Vec<_>>(), [7]);
    }

    #[test]
    fn what_ways_bring_is_joined() {
        let (mut one, other) = (Held::of(&[(0, 1), (3, 4)]), Held::of(&[(0, 2), (3, 4)]));
        assert!(one.join(&other));
        assert_eq!(one, Held::of(&[(0, 1), (0, 2), (3, 4)]));
        assert!(!one.join(&other));
        one.leave_those_of(&other);
        assert_eq!(one, Held::of(&[(0, 1)]));
    }
}
