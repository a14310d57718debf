//! An allocator that knows two kinds of memory.
#![expect(
    unsafe_code,
    reason = "no allocator is without; the argument stands above"
)]

use std::alloc::{GlobalAlloc, Layout, System};

use crate::{heap, pages};

/// The system's allocator, but large pieces of memory are made of large pages.
#[derive(Debug)]
pub struct LargePages;

// SAFETY: the size of a piece says who has made it, the system's allocator or `pages`, and the same
// one gets it back with the size that it was made for.
unsafe impl GlobalAlloc for LargePages {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        match pages::size(layout) {
            Some(size) => pages::map(size),
            None => {
                heap::prepare(layout.size());
                // SAFETY: the caller promises what the system's allocator asks for.
                unsafe { System.alloc(layout) }
            }
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        match pages::size(layout) {
            Some(size) => pages::map(size),
            None => {
                heap::prepare(layout.size());
                // SAFETY: as above.
                unsafe { System.alloc_zeroed(layout) }
            }
        }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        match pages::size(layout) {
            // SAFETY: the caller has this memory from `map` or `remap`, and does not use it again.
            Some(size) => unsafe { pages::unmap(memory, size) },
            // SAFETY: the caller has it from the system's allocator, with this layout.
            None => unsafe { System.dealloc(memory, layout) },
        }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller promises that such a layout can be.
        let grown = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        match (pages::size(layout), pages::size(grown)) {
            (None, None) => {
                heap::prepare(size.saturating_sub(layout.size()));
                // SAFETY: the caller has it from the system's allocator, with this layout.
                unsafe { System.realloc(memory, layout, size) }
            }
            // SAFETY: the caller has this memory from `map` or `remap`.
            (Some(old), Some(new)) => unsafe { pages::remap(memory, old, new) },
            // SAFETY: both pieces have the bytes that are copied, and one is new.
            (Some(_), None) | (None, Some(_)) => unsafe {
                let moved = self.alloc(grown);
                if !moved.is_null() {
                    moved.copy_from_nonoverlapping(memory, layout.size().min(size));
                    self.dealloc(memory, layout);
                }
                moved
            },
        }
    }
}
