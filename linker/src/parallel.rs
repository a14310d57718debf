//! Work that is spread over the processors of the machine.
//!
//! Results stand in the order of the items, whoever made them: a link gives the
//! same bytes and says the same on every machine.

use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// How many bytes a thread has to look at before it is worth its start.
const SHARE: usize = 1 << 20;
/// Into how many parts the share of a thread falls, so that nobody waits long
/// for the last one.
const PARTS: usize = 8;

/// What `make` makes of each item. `bytes` is how much there is to look at.
pub(crate) fn map<'i, T: Sync, R: Send>(
    items: &'i [T],
    bytes: usize,
    make: impl Fn(&'i T) -> R + Sync,
) -> Vec<R> {
    let processors = thread::available_parallelism().map_or(1, NonZero::get);
    let workers = processors.min(bytes / SHARE).min(items.len());
    if workers <= 1 {
        return items.iter().map(make).collect();
    }
    let parts: Vec<&'i [T]> = items
        .chunks(items.len().div_ceil(workers * PARTS))
        .collect();
    let next = AtomicUsize::new(0);
    let work = || {
        let mut made = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(part) = parts.get(index) else {
                return made;
            };
            made.push((index, part.iter().map(&make).collect::<Vec<R>>()));
        }
    };
    let mut made = thread::scope(|scope| {
        let others: Vec<_> = (1..workers).map(|_| scope.spawn(work)).collect();
        let mut made = work();
        for other in others {
            match other.join() {
                Ok(more) => made.extend(more),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        made
    });
    made.sort_unstable_by_key(|&(index, _)| index);
    made.into_iter().flat_map(|(_, results)| results).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_stand_in_the_order_of_the_items() {
        for count in [0, 1, 2, 7, 1000] {
            let items: Vec<usize> = (0..count).collect();
            let doubled: Vec<usize> = items.iter().map(|item| item * 2).collect();
            for bytes in [0, SHARE * 2, SHARE * 64] {
                assert_eq!(map(&items, bytes, |item| item * 2), doubled, "{count}");
            }
        }
    }

    #[test]
    #[should_panic(expected = "item 3")]
    fn a_panic_of_a_worker_is_everybodys() {
        let items: Vec<usize> = (0..4).collect();
        map(&items, SHARE * 4, |&item| assert!(item != 3, "item {item}"));
    }
}
