//! Memory in large pages, where the system has them at hand.
//!
//! A link fills a few hundred megabytes once and ends. In pages of 4 KB the system hands them out
//! one by one, which takes a quarter of the time of a large link. Large pages that it has to make
//! first, by moving others, would take longer than they save. So no more is asked for than a part
//! of what lies free.
//!
//! Pieces of a few megabytes or more are pages of their own. Smaller ones stand in heaps, which get
//! large pages once they have grown so far that they will likely grow further: of many threads, each
//! may want little.
//!
//! # Safety
//!
//! An allocator cannot be without `unsafe` code. Its size alone says whether a piece of memory is
//! large. Small ones are the system allocator's, which gets every call as it came, and besides is
//! asked now and then for a piece that it gets back at once. Large ones are pages of their own, that
//! nobody else has from the moment they are mapped until they are unmapped, and that are zeros at
//! first. That pages are to be large changes nothing of what they hold.

#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod heap;
/// Heaps of other systems are left as they are.
#[cfg(all(target_os = "linux", not(target_env = "gnu")))]
mod heap {
    pub(super) fn prepare(_: usize) {}
}
#[cfg(target_os = "linux")]
mod large;
#[cfg(target_os = "linux")]
mod pages;

#[cfg(target_os = "linux")]
pub use large::LargePages;
/// The system's allocator, where it is not known how to ask for large pages.
#[cfg(not(target_os = "linux"))]
pub use std::alloc::System as LargePages;

#[cfg(test)]
mod tests {
    use super::LargePages;

    #[global_allocator]
    static MEMORY: LargePages = LargePages;

    #[test]
    fn what_memory_holds_stays_when_it_grows() {
        const MANY: usize = 5 << 20;
        let zeros = vec![0_u32; MANY];
        assert!(zeros.iter().all(|&number| number == 0));
        let mut numbers = Vec::new();
        numbers.extend(0..MANY);
        numbers.extend(MANY..2 * MANY);
        numbers.shrink_to_fit();
        assert!(numbers.iter().copied().eq(0..2 * MANY));
    }

    #[test]
    fn what_small_pieces_hold_stays_when_heaps_grow() {
        let fill = |thread: usize| {
            const PIECES: usize = 1 << 14;
            let mut pieces: Vec<Vec<usize>> = Vec::new();
            for number in 0..PIECES {
                pieces.push(vec![number ^ thread; number % 600]);
                pieces[number / 2].push(thread);
                if number % 3 == 0 {
                    pieces[number / 3] = Vec::new();
                }
            }
            let of_thread = |piece: &Vec<usize>, number: usize| {
                let mut held = piece.iter();
                held.all(|&word| word == number ^ thread || word == thread)
            };
            let mut numbered = pieces.iter().enumerate();
            numbered.all(|(number, piece)| of_thread(piece, number))
        };
        std::thread::scope(|scope| {
            let others: Vec<_> = (1..4).map(|n| scope.spawn(move || fill(n))).collect();
            assert!(fill(0));
            assert!(others.into_iter().all(|other| other.join().unwrap()));
        });
    }
}
