//! Divides an image into blocks, which are made and written one by one.

use std::ops::Range;

use super::image::{OutputSection, Placed};
use crate::cubin::SECTION_HEADER;

/// A block has about this size, so that it stays in the caches of a processor.
pub(super) const BLOCK: usize = 512 * 1024;
/// The number of section headers in a block.
const HEADERS: usize = BLOCK / SECTION_HEADER as usize;

/// What is written at once.
#[derive(Debug)]
pub(super) enum Block<'p> {
    /// Bytes that exist already.
    Made(Vec<u8>),
    /// A large section, which is written without copying it.
    Large(&'p [u8]),
    /// Several sections.
    Bodies(Bodies),
    /// The headers of these sections.
    Headers(Range<usize>),
}

/// What fills the file from `start` to `end`: sections, and zeros around them.
#[derive(Debug, Clone)]
pub(super) struct Bodies {
    /// The sections, by their positions in the plan.
    pub(super) sections: Range<usize>,
    pub(super) start: u64,
    pub(super) end: u64,
}

impl Bodies {
    /// No sections yet.
    fn from(section: usize, start: u64) -> Self {
        Self {
            sections: section..section,
            start,
            end: start,
        }
    }

    /// With all sections before this one, up to `end`.
    fn until<'p>(mut self, section: usize, end: u64) -> Block<'p> {
        self.sections.end = section;
        self.end = end;
        Block::Bodies(self)
    }
}

/// Divides what fills the file from `start` to `end`.
pub(super) fn divide<'p>(
    sections: &'p [OutputSection<'_>],
    placed: &[Placed],
    start: u64,
    end: u64,
) -> Vec<Block<'p>> {
    let mut blocks = Vec::new();
    let mut open = Bodies::from(0, start);
    for (index, (section, place)) in sections.iter().zip(placed).enumerate() {
        let (next, behind) = (index + 1, place.offset + place.size);
        if let Some(large) = section.body.large() {
            blocks.push(open.until(index, place.offset));
            blocks.push(Block::Large(large));
            open = Bodies::from(next, behind);
        } else if section.body.has_place() && behind - open.start >= BLOCK as u64 {
            blocks.push(open.until(next, behind));
            open = Bodies::from(next, behind);
        }
    }
    blocks.push(open.until(sections.len(), end));
    blocks
}

/// Divides the headers of so many sections.
pub(super) fn divide_headers<'p>(sections: usize) -> impl Iterator<Item = Block<'p>> {
    let starts = (0..sections).step_by(HEADERS);
    starts.map(move |start| Block::Headers(start..sections.min(start + HEADERS)))
}
