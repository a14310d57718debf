//! Which instructions read and write what, so that not all have to be looked at.

use super::super::registers::{Accesses, NAMES, Names};

/// Instructions by what they read and write.
pub(super) struct Places {
    /// Where those of each number start in the list, and its end.
    first: Vec<u32>,
    /// In the order of the code for each number.
    list: Vec<u32>,
}

/// The number of what is not known.
const UNKNOWN: usize = NAMES;

impl Places {
    /// Of some instructions it is not known what they do, or they do all.
    pub(super) fn new(accesses: &[Option<Accesses>], is_known: impl Fn(usize) -> bool) -> Self {
        let visit = |visit: &mut dyn FnMut(usize, u32)| {
            for (at, accesses) in accesses.iter().enumerate() {
                match accesses {
                    Some(accesses) if is_known(at) => {
                        accesses.names().numbers().for_each(|n| visit(n, at as u32));
                    }
                    _ => visit(UNKNOWN, at as u32),
                }
            }
        };
        let mut first = vec![0_u32; UNKNOWN + 2];
        visit(&mut |number, _| first[number + 1] += 1);
        let mut passed = 0;
        for count in &mut first {
            passed += *count;
            *count = passed;
        }
        let mut list = vec![0; passed as usize];
        let mut next = first.clone();
        visit(&mut |number, at| {
            list[next[number] as usize] = at;
            next[number] += 1;
        });
        Self { first, list }
    }

    /// The first instruction from one on that is known to do any of this.
    pub(super) fn first(&self, names: &Names, from: usize) -> Option<usize> {
        names.numbers().filter_map(|n| self.next(n, from)).min()
    }

    /// The first one that may do any of it.
    pub(super) fn first_maybe(&self, names: &Names, from: usize) -> Option<usize> {
        let unknown = self.next(UNKNOWN, from);
        self.first(names, from).into_iter().chain(unknown).min()
    }

    fn next(&self, number: usize, from: usize) -> Option<usize> {
        let [start, end] = [number, number + 1].map(|number| self.first[number] as usize);
        let places = &self.list[start..end];
        let before = places.partition_point(|&at| (at as usize) < from);
        Some(*places.get(before)? as usize)
    }
}
