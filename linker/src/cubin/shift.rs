//! What stands where in a device object when one section gets another size.

use std::collections::HashMap;

use super::{Content, Cubin, EncodeError, SectionFlags};

impl Cubin<'_> {
    /// Gives the sections behind one that changed, and the tables behind them,
    /// their places anew; all before it stays. Sections that share bytes go on
    /// sharing them, and program headers follow their sections.
    pub fn shift_behind(&mut self, changed: usize) -> Result<(), EncodeError> {
        let before: Vec<Extent> = self.sections.iter().map(Extent::of).collect();
        let tables_before = self.header.segments_offset;
        self.lay_out_from(changed, &before)?;
        let after: Vec<Extent> = self.sections.iter().map(Extent::of).collect();
        let loaded = |index: &usize| self.sections[*index].flags.contains(SectionFlags::ALLOC);
        let loaded: Vec<usize> = (1..self.sections.len()).filter(loaded).collect();
        for segment in &mut self.segments {
            if segment.offset == tables_before {
                segment.offset = self.header.segments_offset;
                continue;
            }
            let end = segment.offset.saturating_add(segment.file_size);
            let mut indices = loaded.iter().copied();
            let first = indices.find(|&index| before[index].start == segment.offset);
            let mut indices = loaded.iter().copied();
            let last = indices.rfind(|&index| before[index].end == end);
            let (Some(first), Some(last)) = (first, last) else {
                continue;
            };
            segment.offset = after[first].start;
            let file_size = after[last].end.saturating_sub(segment.offset);
            segment.memory_size = segment
                .memory_size
                .saturating_sub(segment.file_size)
                .saturating_add(file_size);
            segment.file_size = file_size;
        }
        Ok(())
    }

    fn lay_out_from(&mut self, changed: usize, before: &[Extent]) -> Result<(), EncodeError> {
        let mut sharing = HashMap::new();
        let mut end = 0;
        for (index, extent) in before.iter().enumerate() {
            if index < changed {
                end = extent.end;
            } else {
                let twin = sharing
                    .get(extent)
                    .map(|&twin: &usize| self.sections[twin].offset);
                end = match twin {
                    Some(offset) => {
                        self.sections[index].offset = offset;
                        end
                    }
                    None => self.place(index, end)?,
                };
            }
            if extent.end > extent.start {
                sharing.entry(*extent).or_insert(index);
            }
        }
        self.place_tables(end)
    }
}

/// The bytes of the file that a section takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Extent {
    start: u64,
    end: u64,
}

impl Extent {
    fn of(section: &super::CubinSection<'_>) -> Self {
        let size = match section.content {
            Content::Empty => 0,
            _ => section.size,
        };
        Self {
            start: section.offset,
            end: section.offset.saturating_add(size),
        }
    }
}
