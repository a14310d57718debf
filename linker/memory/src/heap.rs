//! Small pieces in large pages.
//!
//! glibc has a heap for each thread, more or less, which grows by some pages at a time. The heap
//! of a thread that wants much is made to grow at once: by a piece that goes back to it when its
//! pages are large.
#![expect(
    unsafe_code,
    reason = "the system's allocator is asked for memory; the argument stands above"
)]

use std::alloc::{GlobalAlloc as _, Layout, System};
use std::cell::Cell;
use std::sync::Once;

use crate::pages;

/// What a thread has in small pages: most want no more.
const FIRST: usize = 1 << 20;
/// By how much its heap grows then. Nothing is used up before somebody writes to it.
const STEP: usize = 16 << 20;

thread_local! {
    /// How much more there is room for.
    static LEFT: Cell<usize> = const { Cell::new(FIRST) };
}

/// Makes room for a small piece.
#[inline]
pub(super) fn prepare(size: usize) {
    match LEFT.get().checked_sub(size) {
        Some(left) => LEFT.set(left),
        None => grow(),
    }
}

#[cold]
fn grow() {
    LEFT.set(STEP);
    if !pages::take(STEP) {
        return;
    }
    keep_together();
    let Ok(layout) = Layout::from_size_align(STEP, 1) else {
        return;
    };
    // SAFETY: the piece is not empty, nobody else has it, and it goes back with the same layout.
    unsafe {
        let room = System.alloc(layout);
        if !room.is_null() {
            pages::advise(room, STEP);
            System.dealloc(room, layout);
        }
    }
}

/// Lets heaps have pieces of this size, and keep so much of what comes back.
fn keep_together() {
    static IS_TOLD: Once = Once::new();
    IS_TOLD.call_once(|| {
        // SAFETY: these are numbers, which glibc refuses if it does not like them.
        unsafe {
            libc::mallopt(libc::M_MMAP_THRESHOLD, 2 * STEP as libc::c_int);
            libc::mallopt(libc::M_TRIM_THRESHOLD, 2 * STEP as libc::c_int);
            libc::mallopt(libc::M_TOP_PAD, STEP as libc::c_int);
        }
    });
}
