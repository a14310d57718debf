//! Work that is spread over the processors of the machine.
//!
//! Results stand in the order of the items, whoever made them: a link gives the
//! same bytes and says the same on every machine.
//! A pool of threads, as rayon has it, takes a tenth more time: a link calls for
//! threads a few times, and each time for all of one kind of work.

use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::io;
use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex, mpsc};
use std::thread;

/// How many bytes of work justify the start of a thread.
const SHARE: usize = 1 << 20;
/// Into how many parts the share of a thread is divided, so that threads end at about the same time.
const PARTS: usize = 8;
/// Small links do not ask: the answer takes a dozen system calls.
static PROCESSORS: LazyLock<usize> =
    LazyLock::new(|| thread::available_parallelism().map_or(1, NonZero::get));

thread_local! {
    /// How many threads may still be started for the work of this one, if [`with_threads`] has limited it.
    static SPARE: RefCell<Option<Arc<AtomicUsize>>> = const { RefCell::new(None) };
}

/// Does work with at most `count` threads, the calling one included, if that is said.
///
/// Without a count, links that have enough to do use as many as there are processors. The results do not depend on the number.
/// It holds for all that `work` does, including assemblers of PTX, but not in threads that `work` itself starts.
///
/// ```
/// use std::num::NonZero;
/// use rustnvlink::options::Options;
/// use rustnvlink::{Input, link, with_threads};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let data = std::fs::read("../tests/inputs/callee.sm_90.cubin")?;
/// let inputs = [Input::new("callee", &data)];
/// let options = Options::new("sm_90".parse()?);
/// let alone = with_threads(NonZero::<usize>::MIN, || link(&inputs, &options));
/// assert_eq!(alone.into_result()?, link(&inputs, &options).into_result()?);
/// # Ok(())
/// # }
/// ```
pub fn with_threads<R>(count: impl Into<Option<NonZero<usize>>>, work: impl FnOnce() -> R) -> R {
    /// Restores the limit that held before, also after a panic.
    struct Before(Option<Arc<AtomicUsize>>);
    impl Drop for Before {
        fn drop(&mut self) {
            SPARE.set(self.0.take());
        }
    }
    let Some(count) = count.into() else {
        return work();
    };
    let spare = Arc::new(AtomicUsize::new(count.get() - 1));
    let _before = Before(SPARE.replace(Some(spare)));
    work()
}

/// How many threads are worth their start for `items` with `bytes` of work.
fn worthwhile(items: usize, bytes: usize) -> usize {
    items.min(bytes / SHARE)
}

/// Threads that help the calling one.
struct Helpers {
    count: usize,
    /// The limit that they are taken from and returned to.
    spare: Option<Arc<AtomicUsize>>,
}

impl Helpers {
    /// As many as `wanted`, or as the limit allows; without a limit at most `most`.
    fn hire(wanted: usize, most: impl FnOnce() -> usize) -> Self {
        if wanted == 0 {
            return Self {
                count: 0,
                spare: None,
            };
        }
        let Some(spare) = SPARE.with_borrow(Clone::clone) else {
            return Self {
                count: wanted.min(most()),
                spare: None,
            };
        };
        let order = Ordering::Relaxed;
        let take = |left: usize| Some(left.saturating_sub(wanted));
        let left = spare.fetch_update(order, order, take).unwrap_or_default();
        Self {
            count: left.min(wanted),
            spare: Some(spare),
        }
    }

    /// Helpers of a thread that takes a share of the work itself.
    fn beside_caller(items: usize, bytes: usize) -> Self {
        Self::hire(worthwhile(items, bytes).saturating_sub(1), || {
            *PROCESSORS - 1
        })
    }

    /// Into how many parts the work of helpers and caller is divided.
    fn parts(&self) -> usize {
        (self.count + 1) * PARTS
    }

    /// Starts as many of them as the system allows, and returns how many. The caller does the rest of the work.
    fn start<'s, F: FnOnce() + Send + 's>(
        &self,
        scope: &'s thread::Scope<'s, '_>,
        mut work: impl FnMut() -> F,
    ) -> usize {
        let started = (0..self.count).map(|_| self.start_one(scope, work()));
        started.take_while(Result::is_ok).count()
    }

    fn start_one<'s, R: Send + 's>(
        &self,
        scope: &'s thread::Scope<'s, '_>,
        work: impl FnOnce() -> R + Send + 's,
    ) -> io::Result<thread::ScopedJoinHandle<'s, R>> {
        // A helper's own helpers are taken from the same limit.
        let spare = self.spare.clone();
        thread::Builder::new().spawn_scoped(scope, || {
            SPARE.set(spare);
            work()
        })
    }
}

impl Drop for Helpers {
    fn drop(&mut self) {
        if let Some(spare) = &self.spare {
            spare.fetch_add(self.count, Ordering::Relaxed);
        }
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

/// [`map`] with a `tool` that each thread makes for itself.
pub(crate) fn map_with<'i, T: Sync, R: Send, W>(
    items: &'i [T],
    bytes: usize,
    tool: impl Fn() -> W + Sync,
    make: impl Fn(&mut W, &'i T) -> R + Sync,
) -> Vec<R> {
    if worthwhile(items.len(), bytes) < 2 {
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

/// [`map`] of items that take very different times: each counts as many bytes of work as `weigh` says. Long ones are started
/// first, so that threads end at about the same time.
pub(crate) fn map_longest_first<'i, T: Sync, R: Send>(
    items: &'i [T],
    weigh: impl Fn(&T) -> usize,
    make: impl Fn(&'i T) -> R + Sync,
) -> Vec<R> {
    let weights: Vec<usize> = items.iter().map(weigh).collect();
    let total = weights
        .iter()
        .fold(0_usize, |sum, w| sum.saturating_add(*w));
    if worthwhile(items.len(), total) < 2 {
        return items.iter().map(make).collect();
    }
    let mut order: Vec<usize> = (0..items.len()).collect();
    order.sort_by_key(|&index| Reverse(weights[index]));
    let helpers = Helpers::beside_caller(items.len(), total);
    // Small items are taken in groups, which are small enough to keep the threads even.
    let share = total / (helpers.parts() * PARTS);
    let mut taken = 0;
    let parts: Vec<&[usize]> = order
        .chunk_by(|&index, _| {
            taken += weights[index];
            let is_full = taken >= share;
            if is_full {
                taken = 0;
            }
            !is_full
        })
        .collect();
    let mut made = Vec::new();
    made.resize_with(parts.len(), Vec::new);
    let make_part = |(): &mut (), part: &&[usize], made: &mut Vec<R>| {
        made.extend(part.iter().map(|&index| make(&items[index])));
    };
    fill_parts(&helpers, 1, &parts, &mut made, || (), make_part);
    let mut results: Vec<Option<R>> = Vec::new();
    results.resize_with(items.len(), || None);
    for (index, result) in order.into_iter().zip(made.into_iter().flatten()) {
        results[index] = Some(result);
    }
    let results = results.into_iter();
    results
        .map(|result| result.expect("each is in one part"))
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
    let helpers = Helpers::beside_caller(items.len(), bytes);
    let size = items.len().div_ceil(helpers.parts()).max(1);
    fill_parts(&helpers, size, items, results, tool, make);
}

/// Lets the helpers and the calling thread fill the places of items, `size` of them at a time.
fn fill_parts<'i, T: Sync, R: Send, W>(
    helpers: &Helpers,
    size: usize,
    items: &'i [T],
    results: &mut [R],
    tool: impl Fn() -> W + Sync,
    make: impl Fn(&mut W, &'i T, &mut R) + Sync,
) {
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
        helpers.start(scope, || work);
        work();
    });
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
    let wanted = match worthwhile(items.len(), bytes) {
        0 | 1 => 0,
        makers => makers,
    };
    // The thread that takes results mostly waits, so it does not count.
    let makers = Helpers::hire(wanted, || match *PROCESSORS {
        1 => 0,
        processors => processors,
    });
    if makers.count == 0 {
        return items.iter().try_for_each(|item| take(make(item)));
    }
    let started = AtomicUsize::new(0);
    // As many results may wait to be taken.
    let (made, taken) = mpsc::sync_channel(makers.count);
    thread::scope(|scope| {
        let threads = makers.start(scope, || {
            let (made, make, started) = (made.clone(), &make, &started);
            move || {
                loop {
                    let index = started.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = items.get(index) else { return };
                    // Nothing is taken any more if an earlier result could not be.
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

/// Runs both, at the same time if `bytes` of work are many.
pub(crate) fn both<A, B: Send>(
    bytes: usize,
    one: impl FnOnce() -> A,
    other: impl FnOnce() -> B + Send,
) -> (A, B) {
    let helper = Helpers::beside_caller(2, bytes);
    if helper.count == 0 {
        return (one(), other());
    }
    // If no thread can be started, the caller takes it instead.
    let other = Mutex::new(Some(other));
    let make_other = || {
        let other = other.lock().map_or(None, |mut other| other.take());
        other.map(|other| other())
    };
    thread::scope(|scope| {
        let thread = helper.start_one(scope, make_other);
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
    fn what_takes_longest_is_made_first() {
        // Later items are longer, but for one.
        let mut items: Vec<usize> = (0..1000).collect();
        items[3] = 5000;
        for unit in [0, 1, SHARE, usize::MAX] {
            let started = Mutex::new(Vec::new());
            let made = map_longest_first(
                &items,
                |&item| item.saturating_mul(unit),
                |&item| {
                    started.lock().unwrap().push(item);
                    item * 2
                },
            );
            assert!(
                made.iter()
                    .eq(&items.iter().map(|i| i * 2).collect::<Vec<_>>())
            );
            let started = started.into_inner().unwrap();
            assert_eq!(started.len(), items.len());
            if unit == SHARE {
                // Others may have started at the same time, but no more than there are.
                let place = started.iter().position(|&item| item == 5000).unwrap();
                assert!(place < *PROCESSORS, "{place}");
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
            assert!(total >= 1 && total <= *PROCESSORS);
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

    /// How many of these were under way at once.
    fn most_at_once(work: impl Fn(&(dyn Fn() + Sync))) -> usize {
        let (now, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        work(&|| {
            most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            thread::sleep(std::time::Duration::from_millis(1));
            now.fetch_sub(1, Ordering::SeqCst);
        });
        most.into_inner()
    }

    #[test]
    fn no_more_threads_than_were_said() {
        let items = [(); 40];
        for count in [1, 2, 3] {
            let limit = NonZero::new(count).unwrap();
            let most = most_at_once(|busy| {
                with_threads(limit, || {
                    let nested = |_: &()| both(usize::MAX, busy, busy);
                    map(&items, usize::MAX, nested);
                    let take = |()| Ok::<(), ()>(());
                    in_order(&items, usize::MAX, |()| busy(), take).unwrap();
                });
            });
            assert!(most <= count, "{most} instead of {count}");
            // All that were taken are back.
            with_threads(limit, || {
                both(usize::MAX, || (), || ());
                let spare = SPARE.with_borrow(Clone::clone).unwrap();
                assert_eq!(spare.load(Ordering::Relaxed), count - 1);
            });
        }
        assert!(SPARE.with_borrow(Option::is_none));
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
