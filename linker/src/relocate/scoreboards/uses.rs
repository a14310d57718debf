//! Which instructions need what others do before they can start.

mod places;

use super::flow::Flow;
use super::instruction::{INSTRUCTION, RETURN, Wait, leads_on, operation, releases, wait};
use super::registers::Accesses;
use super::{Event, Until};
use places::Places;

/// What decides whether one instruction of some code needs another one.
pub(super) struct Uses {
    /// What each instruction does with registers, if that is known.
    pub(super) accesses: Vec<Option<Accesses>>,
    /// One bit for each scoreboard that an instruction waits for.
    releases: Vec<u8>,
    /// Whether each instruction waits for what the compiler made it wait for.
    waits_again: Vec<bool>,
    /// Whether each instruction decides where control goes on.
    leads_on: Vec<bool>,
    /// Whether each instruction returns to who called, for which all has to be there.
    returns: Vec<bool>,
    /// First instruction of each instruction's block.
    pub(super) block: Vec<usize>,
    /// Which instructions do what.
    places: Places,
}

impl Uses {
    pub(super) fn new(code: &[u8], flow: &Flow, accesses: Vec<Option<Accesses>>) -> Self {
        let (code, _) = code.as_chunks::<INSTRUCTION>();
        let mut block = Vec::with_capacity(code.len());
        for at in 0..code.len() {
            let is_start = at == 0 || flow.ends_block(at - 1);
            block.push(if is_start { at } else { block[at - 1] });
        }
        let sees_others =
            |accesses: &Option<Accesses>| accesses.as_ref().is_some_and(Accesses::sees_others);
        let returns: Vec<bool> = code.iter().map(|i| operation(i) == RETURN).collect();
        Self {
            places: Places::new(&accesses, |at| !returns[at]),
            releases: code.iter().map(|i| releases(i)).collect(),
            waits_again: (code.iter().zip(&accesses))
                .map(|(i, accesses)| wait(i) == Wait::Same && !sees_others(accesses))
                .collect(),
            leads_on: code.iter().map(|i| leads_on(i)).collect(),
            accesses,
            returns,
            block,
        }
    }

    /// Whether an instruction waits for what the compiler made it wait for.
    pub(super) fn waits_again(&self, at: usize) -> bool {
        self.waits_again[at]
    }

    /// An instruction takes other scoreboards than before.
    pub(super) fn take(&mut self, at: usize, instruction: &[u8; INSTRUCTION]) {
        self.accesses[at] = self.accesses[at].map(|accesses| accesses.again(instruction));
    }

    /// The first instruction of a block, from one on, that needs an event.
    pub(super) fn first(&self, event: &Event, from: usize, block: usize) -> Option<usize> {
        let mut due = self.due(event, from, block);
        due.find(|&at| !self.is_excluded(event, at))
    }

    /// The first instruction of its block that would need an event if both happened, and the first
    /// that needs it.
    pub(super) fn needs(&self, event: &Event) -> (Option<usize>, Option<usize>) {
        let at = event.instruction;
        let mut due = self.due(event, at + 1, self.block[at]);
        let first = due.next();
        let mut due = first.into_iter().chain(due);
        (first, due.find(|&at| !self.is_excluded(event, at)))
    }

    /// The instructions of a block, from one on, that would need an event if both happened.
    fn due(&self, event: &Event, from: usize, block: usize) -> impl Iterator<Item = usize> + Clone {
        let is_in = move |at: &usize| self.block.get(*at) == Some(&block);
        let rest = self.coming_into_question(event, from).take_while(is_in);
        let due = rest.filter(|&at| self.would_need(event, at));
        // Takes the square of a block's length.
        #[cfg(test)]
        assert!(
            due.clone().eq((from..)
                .take_while(is_in)
                .filter(|&at| self.would_need(event, at)))
        );
        due
    }

    /// The instructions from one on that may need an event: the next one, and those that name what it is
    /// about; all, if others need it for the sake of an order.
    fn coming_into_question(
        &self,
        event: &Event,
        from: usize,
    ) -> impl Iterator<Item = usize> + Clone {
        let next = event.instruction + 1;
        let accesses = self.accesses[event.instruction].as_ref();
        let accesses = accesses.filter(|accesses| !accesses.orders_others());
        let names = accesses.map(|accesses| accesses.awaited(event.until));
        let found = move |from: usize| {
            let Some(names) = &names else {
                return Some(from);
            };
            let named = self.places.first_maybe(names, from);
            let next = (from <= next).then_some(next);
            named.into_iter().chain(next).min()
        };
        let first = found(from);
        std::iter::successors(first, move |&at| found(at + 1))
    }

    /// Whether an instruction that may come after an event can not start
    /// before that is over.
    pub(super) fn is_needed(&self, event: &Event, at: usize) -> bool {
        self.would_need(event, at) && !self.is_excluded(event, at)
    }

    /// Whether an instruction waits for an event for the sake of an order only.
    pub(super) fn is_only_behind(&self, event: &Event, at: usize) -> bool {
        match (&self.accesses[event.instruction], &self.accesses[at]) {
            (Some(first), Some(second)) if !self.returns[at] => match event.until {
                Until::Written => !first.is_used_by(second),
                Until::Read => !first.is_overwritten_by(second),
            },
            _ => false,
        }
    }

    /// Whether their predicates say that either an event or a later instruction of its block happens.
    fn is_excluded(&self, event: &Event, at: usize) -> bool {
        let earlier = event.instruction;
        let (Some(first), Some(second)) = (&self.accesses[earlier], &self.accesses[at]) else {
            return false;
        };
        if !self.is_later(event, at) || !first.excludes(second) || self.returns[at] {
            return false;
        }
        let decided_anew = self.places.first(&first.decided_by(), earlier);
        decided_anew.is_none_or(|decided| decided >= at)
    }

    /// Whether an instruction is of the block of an event, and behind it.
    fn is_later(&self, event: &Event, at: usize) -> bool {
        self.block[event.instruction] == self.block[at] && event.instruction < at
    }

    /// Whether an instruction needs an event, if both happen.
    fn would_need(&self, event: &Event, at: usize) -> bool {
        let Event {
            instruction,
            until,
            board,
        } = *event;
        if self.returns[at] {
            return true;
        }
        let (Some(first), Some(second)) = (&self.accesses[instruction], &self.accesses[at]) else {
            return self.releases[at] >> board & 1 == 1 && !self.leads_on[at];
        };
        if until == Until::Written && self.waits_again[at] && instruction + 1 == at {
            return self.releases[at] >> board & 1 == 1;
        }
        let is_later = self.is_later(event, at);
        match until {
            Until::Written => {
                first.is_used_by(second)
                    && !first.is_sampled_before(second)
                    && !(is_later && first.is_only_rewritten_in_turn_by(second))
                    || first.is_in_order_before(second)
                    || first.is_barrier_for(second)
                    || instruction + 1 == at && first.is_acquired_by(second)
            }
            Until::Read if first.is_barrier_for(second) => true,
            Until::Read if first.is_barrier_for_next(second) && instruction + 1 == at => true,
            Until::Read => {
                first.is_overwritten_by(second) && !(is_later && first.is_queued_before(second))
            }
        }
    }
}
