//! Work that is spread over the processors of the machine.
//!
//! Results stand in the order of the items, whoever made them: a link gives the
//! same bytes and says the same on every machine.
//! A pool of threads, as rayon has it, takes a tenth more time: a link calls for
//! threads a few times, and each time for all of one kind of work.

use std::collections::BTreeMap;
use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{LazyLock, Mutex, mpsc};
use std::thread;

/// How many bytes a thread has to look at before it is worth its start.
const SHARE: usize = 1 << 20;
/// Into how many parts the share of a thread falls, so that nobody waits long
/// for the last one.
const PARTS: usize = 8;
/// Small links do not ask: the answer takes a dozen system calls.
static PROCESSORS: LazyLock<usize> =
    LazyLock::new(|| thread::available_parallelism().map_or(1, NonZero::get));

/// How many threads are worth their start for so many items, where there are
/// `bytes` to look at.
fn workers(items: usize, bytes: usize) -> usize {
    match items.min(bytes / SHARE) {
        0 | 1 => 1,
        shares => shares.min(*PROCESSORS),
    }
}

/// What `make` makes of each item. `bytes` is how much there is to look at.
pub(crate) fn map<'i, T: Sync, R: Send>(
    items: &'i [T],
    bytes: usize,
    make: impl Fn(&'i T) -> R + Sync,
) -> Vec<R> {
    map_with(items, bytes, || (), |(), item| make(item))
}

/// [`map`] by threads that each have a tool of their own.
pub(crate) fn map_with<'i, T: Sync, R: Send, W>(
    items: &'i [T],
    bytes: usize,
    tool: impl Fn() -> W + Sync,
    make: impl Fn(&mut W, &'i T) -> R + Sync,
) -> Vec<R> {
    if workers(items.len(), bytes) == 1 {
        let mut tool = tool();
        return items.iter().map(|item| make(&mut tool, item)).collect();
    }
    let mut results: Vec<Option<R>> = Vec::new();
    results.resize_with(items.len(), || None);
    fill_with(items, &mut results, bytes, tool, |tool, item, result| {
        *result = Some(make(tool, item));
    });
    let results = results.into_iter();
    results
        .map(|result| result.expect("the scope ends when all is made"))
        .collect()
}

/// Lets `make` fill the place of each item. `bytes` is how much there is to look
/// at.
pub(crate) fn fill<'i, T: Sync, R: Send>(
    items: &'i [T],
    results: &mut [R],
    bytes: usize,
    make: impl Fn(&'i T, &mut R) + Sync,
) {
    fill_with(
        items,
        results,
        bytes,
        || (),
        |(), item, result| make(item, result),
    );
}

fn fill_with<'i, T: Sync, R: Send, W>(
    items: &'i [T],
    results: &mut [R],
    bytes: usize,
    tool: impl Fn() -> W + Sync,
    make: impl Fn(&mut W, &'i T, &mut R) + Sync,
) {
    let workers = workers(items.len(), bytes);
    let size = items.len().div_ceil(workers * PARTS).max(1);
    let parts = Mutex::new(items.chunks(size).zip(results.chunks_mut(size)));
    let work = || {
        let mut tool = tool();
        loop {
            let part = parts.lock().map_or(None, |mut parts| parts.next());
            let Some((items, results)) = part else {
                return;
            };
            for (item, result) in items.iter().zip(results) {
                make(&mut tool, item, result);
            }
        }
    };
    // A panic of one is a panic of the scope.
    thread::scope(|scope| {
        start(scope, workers - 1, || work);
        work();
    });
}

/// Starts threads, as many as the system lets: what these do not do is left to the caller. Tells how many.
fn start<'s, F: FnOnce() + Send + 's>(
    scope: &'s thread::Scope<'s, '_>,
    count: usize,
    mut work: impl FnMut() -> F,
) -> usize {
    let started = (0..count).map(|_| thread::Builder::new().spawn_scoped(scope, work()));
    started.take_while(Result::is_ok).count()
}

/// Hands over what `make` makes of each item, in the order of the items. While
/// the caller takes one, threads make the next. `bytes` is how much there is to
/// look at.
pub(crate) fn in_order<'i, T: Sync, R: Send, E>(
    items: &'i [T],
    bytes: usize,
    make: impl Fn(&'i T) -> R + Sync,
    mut take: impl FnMut(R) -> Result<(), E>,
) -> Result<(), E> {
    let makers = workers(items.len(), bytes);
    if makers == 1 {
        return items.iter().try_for_each(|item| take(make(item)));
    }
    let started = AtomicUsize::new(0);
    // So many may wait to be taken.
    let (made, taken) = mpsc::sync_channel(makers);
    thread::scope(|scope| {
        let threads = start(scope, makers, || {
            let (made, make, started) = (made.clone(), &make, &started);
            move || {
                loop {
                    let index = started.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = items.get(index) else { return };
                    // Nobody takes it where one before it could not be taken.
                    if made.send((index, make(item))).is_err() {
                        return;
                    }
                }
            }
        });
        if threads == 0 {
            return items.iter().try_for_each(|item| take(make(item)));
        }
        drop(made);
        let mut early = BTreeMap::new();
        let mut next = 0;
        for (index, result) in taken {
            early.insert(index, result);
            while let Some(result) = early.remove(&next) {
                take(result)?;
                next += 1;
            }
        }
        Ok(())
    })
}

/// What both make, at the same time if `bytes`, which both look at, are many.
pub(crate) fn both<A, B: Send>(
    bytes: usize,
    one: impl FnOnce() -> A,
    other: impl FnOnce() -> B + Send,
) -> (A, B) {
    if workers(2, bytes) == 1 {
        return (one(), other());
    }
    // Where no thread can be started, it stays there for the caller: one of both takes it, whatever the inputs are.
    let other = Mutex::new(Some(other));
    let make_other = || {
        let other = other.lock().map_or(None, |mut other| other.take());
        other.map(|other| other())
    };
    thread::scope(|scope| {
        let thread = thread::Builder::new().spawn_scoped(scope, make_other);
        let one = one();
        let other = match thread.map(thread::ScopedJoinHandle::join) {
            Ok(Ok(other)) => other,
            Ok(Err(panic)) => std::panic::resume_unwind(panic),
            Err(_) => make_other(),
        };
        (one, other.expect("whoever is left to make it finds it"))
    })
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
    fn a_tool_is_one_threads_alone() {
        let items: Vec<usize> = (0..1000).collect();
        for bytes in [0, SHARE * 64] {
            let count = |used: &mut usize, &item: &usize| {
                *used += 1;
                (item, *used)
            };
            let made = map_with(&items, bytes, || 0, count);
            let total = made.iter().filter(|(_, used)| *used == 1).count();
            assert!(total >= 1 && total <= workers(items.len(), bytes));
            assert!(made.iter().map(|(item, _)| item).eq(&items));
        }
    }

    #[test]
    fn results_are_taken_in_the_order_of_the_items() {
        let items: Vec<usize> = (0..1000).collect();
        for bytes in [0, SHARE * 64] {
            let mut taken = Vec::new();
            let take = |item| -> Result<(), usize> {
                taken.push(item);
                Ok(())
            };
            assert_eq!(in_order(&items, bytes, |&item| item, take), Ok(()));
            assert_eq!(taken, items);
            let take = |item| if item == 500 { Err(item) } else { Ok(()) };
            assert_eq!(in_order(&items, bytes, |&item| item, take), Err(500));
        }
    }

    #[test]
    fn both_are_made() {
        for bytes in [0, SHARE * 64] {
            assert_eq!(both(bytes, || 1, || "other"), (1, "other"));
        }
    }

    #[test]
    #[should_panic]
    fn a_panic_of_a_worker_is_everybodys() {
        let items: Vec<usize> = (0..4).collect();
        map(&items, SHARE * 4, |&item| assert!(item != 3, "item {item}"));
    }
}
