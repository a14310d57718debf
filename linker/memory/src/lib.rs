//! Memory in large pages, where the system has them at hand.
//!
//! A link fills a few hundred megabytes once and ends. In pages of 4 KB the system hands them out
//! one by one, which takes a quarter of the time of a large link. Large pages that it has to make
//! first, by moving others, would take longer than they save. So no more is asked for than a part
//! of what lies free.
//!
//! # Safety
//!
//! An allocator cannot be without `unsafe` code. Its size alone says whether a piece of memory is
//! large. Small ones are the system allocator's, which gets every call as it came. Large ones are
//! pages of their own, that nobody else has from the moment they are mapped until they are unmapped,
//! and that are zeros at first.

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
}
