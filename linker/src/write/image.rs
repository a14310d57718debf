//! Turns a plan into bytes.
//!
//! Several threads make them in blocks while earlier blocks are written, so that the image is never in memory as a whole.

use std::borrow::Cow;
use std::io;
use std::sync::{Mutex, PoisonError};

use super::blocks::{BLOCK, Block, divide, divide_headers};
use super::encode;
use super::numbering::SymbolNumbers;
use crate::arch::Abi;
use crate::cubin::{
    Counts, FILE_HEADER, Header, ObjectKind, PROGRAM_HEADER, SECTION_HEADER, SectionFlags,
    SectionHeader, SectionType, Segment,
};
use crate::merge::{Form, InfoRecord, Relocation};
use crate::output::Sink;
use crate::parallel;

/// With more sections than this, their count is in the header of section 0.
pub(super) const MANY_SECTIONS: usize = 0xff00;

/// The content of a section in the file.
#[derive(Debug, Clone)]
pub(super) enum Body<'a> {
    /// These bytes, made for the image.
    Bytes(Vec<u8>),
    /// These bytes of a section or an input.
    Borrowed(&'a [u8]),
    /// Attribute records.
    Records {
        records: &'a [InfoRecord<'a>],
        size: u64,
    },
    /// The relocations of one form.
    Relocations {
        kept: &'a [Relocation],
        form: Form,
        size: u64,
    },
    /// Nothing in the file: a size only.
    Empty(u64),
    /// The bytes of another section, by its position in the plan.
    Shares(usize),
}

impl<'a> Body<'a> {
    /// Attribute records.
    pub(super) fn records(records: &'a [InfoRecord<'a>]) -> Self {
        let size = encode::size_of_records(records) as u64;
        Self::Records { records, size }
    }

    /// The relocations of one form.
    pub(super) fn relocations(kept: &'a [Relocation], form: Form) -> Self {
        let size = encode::size_of_relocations(kept, form) as u64;
        Self::Relocations { kept, form, size }
    }

    /// The size of the section, unless it is that of another one.
    pub(super) fn size(&self) -> u64 {
        match self {
            Self::Bytes(data) => data.len() as u64,
            Self::Borrowed(data) => data.len() as u64,
            Self::Records { size, .. } | Self::Relocations { size, .. } | Self::Empty(size) => {
                *size
            }
            Self::Shares(_) => 0,
        }
    }

    /// Whether the section has bytes of its own in the file.
    pub(super) fn has_place(&self) -> bool {
        match self {
            Self::Bytes(_)
            | Self::Borrowed(_)
            | Self::Records { .. }
            | Self::Relocations { .. } => true,
            Self::Empty(_) | Self::Shares(_) => false,
        }
    }

    /// The bytes, if they are too many to be copied.
    pub(super) fn large(&self) -> Option<&[u8]> {
        match self {
            Self::Bytes(data) if data.len() >= BLOCK => Some(data),
            Self::Borrowed(data) if data.len() >= BLOCK => Some(data),
            _ => None,
        }
    }

    /// Appends what stands in the file.
    fn append_to(&self, bytes: &mut Vec<u8>, symbols: &SymbolNumbers) {
        match self {
            Self::Bytes(data) => bytes.extend_from_slice(data),
            Self::Borrowed(data) => bytes.extend_from_slice(data),
            Self::Records { records, .. } => encode::records_into(bytes, records, symbols),
            Self::Relocations { kept, form, .. } => {
                encode::relocations_into(bytes, kept, *form, symbols);
            }
            Self::Empty(_) | Self::Shares(_) => {}
        }
    }
}

/// One section of the image.
#[derive(Debug, Clone)]
pub(super) struct OutputSection<'a> {
    /// Where the name stands in `.shstrtab`.
    pub(super) name: u32,
    pub(super) kind: SectionType,
    pub(super) flags: SectionFlags,
    pub(super) link: u32,
    pub(super) info: u32,
    pub(super) align: u64,
    pub(super) entry_size: u64,
    pub(super) body: Body<'a>,
    /// Zero bytes that follow it.
    pub(super) padding: u64,
    pub(super) segment: Option<SegmentKind>,
}

impl OutputSection<'_> {
    fn header(&self, placed: &Placed) -> SectionHeader {
        SectionHeader {
            name: self.name,
            kind: self.kind,
            flags: self.flags,
            address: 0,
            offset: placed.offset,
            size: placed.size,
            link: self.link,
            info: self.info,
            align: self.align,
            entry_size: self.entry_size,
        }
    }
}

/// Which loaded part of the image a section belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SegmentKind {
    /// Constants.
    Constants,
    /// Code.
    Code,
    /// Variables.
    Data,
    /// Parameter banks, where they are apart from other constants.
    Parameters,
}

/// A program header to be: the kinds it covers and its flags.
#[derive(Debug, Clone, Copy)]
pub(super) struct Load {
    pub(super) kinds: &'static [SegmentKind],
    pub(super) flags: u32,
}

/// How the loaded parts of an executable are described.
#[derive(Debug)]
pub(super) struct Segments {
    pub(super) loads: &'static [Load],
    /// Flags of the headers that cover the header table itself.
    pub(super) header_flags: u32,
    /// The table's own load stands before the others, not after.
    pub(super) header_load_first: bool,
}

/// What kind of ELF file it is.
#[derive(Debug)]
pub(super) enum FileKind {
    /// An executable.
    Executable(Segments),
    /// A relocatable object. It has no program headers, but says how large one
    /// would be.
    Relocatable { program_header: u64 },
}

/// Everything the image holds.
#[derive(Debug)]
pub(super) struct Plan<'a> {
    pub(super) sections: Vec<OutputSection<'a>>,
    /// The numbers of symbols, for records and relocations.
    pub(super) symbols: SymbolNumbers,
    /// `e_flags`.
    pub(super) flags: u32,
    pub(super) kind: FileKind,
}

pub(super) struct Placed {
    pub(super) offset: u64,
    pub(super) size: u64,
}

/// Writes the image from its first byte to its last.
pub(super) fn write(plan: &Plan<'_>, out: &mut dyn Sink) -> io::Result<()> {
    let (placed, end) = place(&plan.sections);
    let section_table = end.next_multiple_of(8);
    let count = plan.sections.len() + 1;
    let after_sections = section_table + SECTION_HEADER * count as u64;
    let (kind, segments_offset, segment_entry_size) = match plan.kind {
        FileKind::Executable(_) => (ObjectKind::EXECUTABLE, after_sections, PROGRAM_HEADER),
        FileKind::Relocatable { program_header } => (ObjectKind::RELOCATABLE, 0, program_header),
    };
    let segments = match &plan.kind {
        FileKind::Executable(wanted) => segments(&plan.sections, wanted, &placed, after_sections),
        FileKind::Relocatable { .. } => Vec::new(),
    };
    let header = Header {
        os_abi: Abi::NEW_OS_ABI,
        abi_version: Abi::V8.version(),
        kind,
        version: 1,
        entry: 0,
        segments_offset,
        sections_offset: section_table,
        flags: plan.flags,
        segment_entry_size: segment_entry_size as u16,
        names_section: 1,
    };
    let many = count > MANY_SECTIONS;
    let counts = Counts {
        segments: segments.len() as u16,
        sections: if many { 0 } else { count as u16 },
        has_sections: true,
    };
    let mut bytes = Vec::with_capacity(FILE_HEADER as usize);
    header.encode(counts, &mut bytes);
    let mut blocks = vec![Block::Made(bytes)];
    blocks.extend(divide(&plan.sections, &placed, FILE_HEADER, section_table));
    let first = SectionHeader {
        size: if many { count as u64 } else { 0 },
        ..SectionHeader::EMPTY
    };
    let mut bytes = Vec::with_capacity(SECTION_HEADER as usize);
    first.encode(&mut bytes);
    blocks.push(Block::Made(bytes));
    blocks.extend(divide_headers(plan.sections.len()));
    let mut bytes = Vec::with_capacity(segments.len() * PROGRAM_HEADER as usize);
    for segment in &segments {
        segment.encode(&mut bytes);
    }
    let size = after_sections as usize + bytes.len();
    blocks.push(Block::Made(bytes));
    out.make_room(size);
    let image = Image {
        plan,
        placed: &placed,
    };
    image.write(&blocks, size, out)
}

/// A plan, and where its sections stand.
struct Image<'p> {
    plan: &'p Plan<'p>,
    placed: &'p [Placed],
}

impl Image<'_> {
    /// Writes blocks, which are `size` bytes together.
    fn write(&self, blocks: &[Block<'_>], size: usize, out: &mut dyn Sink) -> io::Result<()> {
        // Buffers are reused: to get new memory takes as long as to fill it.
        let spent = Mutex::new(Vec::new());
        let is_spent = || spent.lock().unwrap_or_else(PoisonError::into_inner);
        let make = |block| self.make(block, || is_spent().pop().unwrap_or_default());
        parallel::in_order(blocks, size, make, |made| {
            out.write_all(&made)?;
            if let Cow::Owned(mut bytes) = made {
                bytes.clear();
                is_spent().push(bytes);
            }
            Ok(())
        })
    }

    /// The bytes of a block, in `memory` if they have to be made.
    fn make<'b>(&self, block: &'b Block<'_>, memory: impl Fn() -> Vec<u8>) -> Cow<'b, [u8]> {
        match block {
            Block::Made(bytes) => Cow::Borrowed(bytes),
            Block::Large(bytes) => Cow::Borrowed(bytes),
            Block::Bodies(bodies) => {
                let mut bytes = memory();
                for index in bodies.sections.clone() {
                    let body = &self.plan.sections[index].body;
                    if body.has_place() {
                        bytes.resize((self.placed[index].offset - bodies.start) as usize, 0);
                        body.append_to(&mut bytes, &self.plan.symbols);
                        let behind = self.placed[index].offset + self.placed[index].size;
                        debug_assert_eq!(bytes.len() as u64, behind - bodies.start);
                    }
                }
                bytes.resize((bodies.end - bodies.start) as usize, 0);
                Cow::Owned(bytes)
            }
            Block::Headers(sections) => {
                let mut bytes = memory();
                let placed = &self.placed[sections.clone()];
                let sections = &self.plan.sections[sections.clone()];
                for (section, placed) in sections.iter().zip(placed) {
                    section.header(placed).encode(&mut bytes);
                }
                Cow::Owned(bytes)
            }
        }
    }
}

/// Places sections one after the other. One without bytes gets an aligned offset, too.
fn place(sections: &[OutputSection<'_>]) -> (Vec<Placed>, u64) {
    let mut end = FILE_HEADER;
    let mut placed: Vec<Placed> = Vec::with_capacity(sections.len());
    for section in sections {
        if let Body::Shares(twin) = section.body {
            let Placed { offset, size } = placed[twin];
            placed.push(Placed { offset, size });
            continue;
        }
        let offset = end.next_multiple_of(section.align.max(1));
        let size = section.body.size();
        end = match section.body.has_place() {
            true => offset + size,
            false => offset,
        } + section.padding;
        placed.push(Placed { offset, size });
    }
    (placed, end)
}

/// The program headers.
fn segments(
    sections: &[OutputSection<'_>],
    wanted: &Segments,
    placed: &[Placed],
    segment_table: u64,
) -> Vec<Segment> {
    const PT_LOAD: u32 = 1;
    const PT_PHDR: u32 = 6;
    let segment = |kind, flags, offset, file_size, memory_size| Segment {
        kind,
        flags,
        offset,
        virtual_address: 0,
        physical_address: 0,
        file_size,
        memory_size,
        align: 8,
    };
    let mut loads = Vec::new();
    for load in wanted.loads {
        let covered: Vec<usize> = (0..placed.len())
            .filter(|&i| {
                sections[i]
                    .segment
                    .is_some_and(|kind| load.kinds.contains(&kind))
            })
            .collect();
        let (Some(&first), Some(&last)) = (covered.first(), covered.last()) else {
            continue;
        };
        let start = placed[first].offset;
        let is_empty = |index: &&usize| matches!(sections[**index].body, Body::Empty(_));
        let last_empty = covered.iter().rfind(is_empty);
        // The file part ends where the last section without bytes stands.
        let file_end = match last_empty {
            Some(&index) => placed[index].offset,
            None => placed[last].offset + placed[last].size,
        };
        let mut memory_size = file_end - start;
        for &index in covered.iter().filter(is_empty) {
            let align = sections[index].align.max(1);
            memory_size = (start + memory_size).next_multiple_of(align) - start;
            memory_size += placed[index].size;
        }
        let file_size = file_end - start;
        loads.push(segment(PT_LOAD, load.flags, start, file_size, memory_size));
    }
    let size = PROGRAM_HEADER * (loads.len() as u64 + 2);
    let own = |kind| segment(kind, wanted.header_flags, segment_table, size, size);
    let position = if wanted.header_load_first {
        0
    } else {
        loads.len()
    };
    loads.insert(position, own(PT_LOAD));
    loads.insert(0, own(PT_PHDR));
    loads
}
