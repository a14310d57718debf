//! Pieces of memory that are made of large pages if as many are free.
#![expect(
    unsafe_code,
    reason = "the system is asked for pages; the argument stands above"
)]

use std::alloc::Layout;
use std::fs;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustix::mm::{
    Advice, MapFlags, MremapFlags, ProtFlags, madvise, mmap_anonymous, mremap, munmap,
};

/// Where the system says how large its large pages are. Where they have another size than here, so
/// have small ones.
const LARGE_PAGE_SIZE: &str = "/sys/kernel/mm/transparent_hugepage/hpage_pmd_size";
/// Where it says what memory lies free.
const FREE: &str = "/proc/buddyinfo";

const SMALL_PAGE: usize = 4 << 10;
/// A large page is so many times as large, as a power of two.
const ORDER: usize = 9;
const LARGE_PAGE: usize = SMALL_PAGE << ORDER;
/// One of so many free large pages is taken: others want some, too.
const SHARE: usize = 2;

/// How many bytes of pages such a piece is made of, if it is a large one.
pub(super) fn size(layout: Layout) -> Option<usize> {
    let is_large = layout.size() >= LARGE_PAGE && layout.align() <= SMALL_PAGE;
    is_large.then(|| layout.size().next_multiple_of(LARGE_PAGE))
}

/// Makes a piece of memory, which is all zeros.
pub(super) fn map(size: usize) -> *mut u8 {
    let access = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: what is there already is not asked for.
    let made = unsafe { mmap_anonymous(ptr::null_mut(), size, access, MapFlags::PRIVATE) };
    let memory = made.unwrap_or(ptr::null_mut()).cast();
    enlarge(memory, size, size);
    memory
}

/// Gives a piece another size.
///
/// # Safety
///
/// It is one that `map` or `remap` made, of size `old`, and nobody uses it any more.
pub(super) unsafe fn remap(memory: *mut u8, old: usize, new: usize) -> *mut u8 {
    if old == new {
        return memory;
    }
    // SAFETY: the caller has these pages.
    let made = unsafe { mremap(memory.cast(), old, new, MremapFlags::MAYMOVE) };
    let memory = made.unwrap_or(ptr::null_mut()).cast();
    enlarge(memory, new, new.saturating_sub(old));
    memory
}

/// Gives a piece back.
///
/// # Safety
///
/// It is one that `map` or `remap` made, of this size, and nobody uses it any more.
pub(super) unsafe fn unmap(memory: *mut u8, size: usize) {
    // SAFETY: the caller has these pages. Not to get rid of them harms nobody.
    let _ = unsafe { munmap(memory.cast(), size) };
}

/// Lets a piece be made of large pages, of which so many bytes are new.
fn enlarge(memory: *mut u8, size: usize, more: usize) {
    if !memory.is_null() && take(more) {
        advise(memory, size);
    }
}

/// Asks for large pages in such a piece of memory, also where no whole one lies: the system
/// gives another size only to what is alike from start to end.
pub(super) fn advise(memory: *mut u8, size: usize) {
    let before = memory.align_offset(SMALL_PAGE);
    let whole = size.saturating_sub(before) / SMALL_PAGE * SMALL_PAGE;
    // SAFETY: the advice changes no byte, and systems that do not know it refuse it.
    let _ = unsafe {
        madvise(
            memory.wrapping_add(before).cast(),
            whole,
            Advice::LinuxHugepage,
        )
    };
}

/// Takes so many bytes of large pages, if there are as many.
pub(super) fn take(size: usize) -> bool {
    static LEFT: OnceLock<AtomicUsize> = OnceLock::new();
    let left = LEFT.get_or_init(|| {
        // What is read here is small, and is memory of the other kind.
        let read = |path| fs::read_to_string(path).unwrap_or_default();
        let free = match read(LARGE_PAGE_SIZE).trim_end().parse() {
            Ok(LARGE_PAGE) => at_hand(&read(FREE)),
            Ok(_) | Err(_) => 0,
        };
        AtomicUsize::new(free / SHARE)
    });
    let less = |left: usize| left.checked_sub(size);
    left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less)
        .is_ok()
}

/// How many bytes lie free in large pages. Each line tells how many pieces a part of the memory
/// has of one page, of two, of four, and so on: `Node 0, zone Normal 12 5 0`.
fn at_hand(free: &str) -> usize {
    let pieces = |line: &str| -> usize {
        let counts = line.split_ascii_whitespace().skip(4).enumerate();
        counts
            .filter(|(order, _)| *order >= ORDER)
            .map(|(order, count)| count.parse().unwrap_or(0) * (SMALL_PAGE << order))
            .sum()
    };
    free.lines().map(pieces).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_between_large_pages_grow() {
        const SIZE: usize = 2 * LARGE_PAGE;
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: nobody else has what is mapped here, and each part is unmapped once.
        unsafe {
            let more = mmap_anonymous(
                ptr::null_mut(),
                SIZE + LARGE_PAGE,
                access,
                MapFlags::PRIVATE,
            );
            let more: *mut u8 = more.unwrap().cast();
            let piece = more.add(SMALL_PAGE);
            unmap(more, SMALL_PAGE);
            unmap(piece.add(SIZE), LARGE_PAGE - SMALL_PAGE);
            piece.write(7);
            enlarge(piece, SIZE, SIZE);
            let grown = remap(piece, SIZE, 2 * SIZE);
            assert!(!grown.is_null());
            assert_eq!(grown.read(), 7);
            unmap(grown, 2 * SIZE);
        }
    }

    #[test]
    fn only_large_pieces_count() {
        let free = "\
            Node 0, zone      DMA      0      0      0      0      0      0      0      0      1      1      3\n\
            Node 0, zone   Normal  12736   5048   2288  16482  15274   7295   3794   1880    558    250    779\n";
        assert_eq!(at_hand(free), (251 << 21) + (782 << 22));
        assert_eq!(at_hand("Node 0, zone Normal 12736 5048"), 0);
        assert_eq!(at_hand("no such file"), 0);
        assert_eq!(at_hand(""), 0);
    }
}
