//! One entry of a fatbin: an image for one processor, and what is said of it.

use std::borrow::Cow;
use std::fmt;

use super::decompress::{self, Compression, Decompressor, Limit};
use super::read::{Fields, malformed};
use super::{ENTRY_HEADER_SIZE, field};
use crate::arch::{Sm, Suffix};
use crate::error::ParseError;

/// What an entry holds. Any number is kept; the known ones have names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Kind(pub u16);

impl Kind {
    /// PTX text.
    pub const PTX: Self = Self(1);
    /// A device object or executable.
    pub const ELF: Self = Self(2);
    /// LTO-IR, also called NVVM IR.
    pub const NVVM: Self = Self(8);
    /// PTX that has been linked, of `-reloc-ptx`.
    pub const RELOCATABLE_PTX: Self = Self(64);

    /// Whether the payload is PTX text.
    pub fn is_ptx(self) -> bool {
        matches!(self, Self::PTX | Self::RELOCATABLE_PTX)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::PTX => f.write_str("ptx"),
            Self::ELF => f.write_str("elf"),
            Self::NVVM => f.write_str("ltoir"),
            Self::RELOCATABLE_PTX => f.write_str("relocatable-ptx"),
            Self(number) => write!(f, "kind-{number}"),
        }
    }
}

/// The flag bits of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Flags(pub u64);

impl Flags {
    /// 64-bit code; other entries are invisible to a link.
    pub const WIDE: u64 = 0x1;
    /// Made for debugging.
    pub const DEBUG: u64 = 0x2;
    /// Made on Linux.
    pub const LINUX: u64 = 0x10;
    /// Made on macOS.
    pub const MACOS: u64 = 0x20;
    /// Made on Windows.
    pub const WINDOWS: u64 = 0x40;
    /// Compressed by a method of older toolkits.
    pub const COMPRESSED_OLD: u64 = 0x1000;
    /// Compressed to one LZ4 block.
    pub const COMPRESSED_LZ4: u64 = 0x2000;
    /// Compressed by another method of older toolkits.
    pub const COMPRESSED_OLD_2: u64 = 0x4000;
    /// Compressed to one zstd frame.
    pub const COMPRESSED_ZSTD: u64 = 0x8000;
    /// Every bit that tells of compression.
    pub const COMPRESSED: u64 = 0xf000;
    /// Made unreadable after compression; LTO-IR only.
    pub const SCRAMBLED: u64 = 0x1_0000;
    /// The processor has suffix `a`.
    pub const SUFFIX_A: u64 = 0x10_0000;
    /// The processor has suffix `f`.
    pub const SUFFIX_F: u64 = 0x20_0000;
    /// The options record holds the image's `.nv.compat`.
    pub const COMPAT_RECORD: u64 = 0x100_0000;

    /// Whether every bit of `bits` is set.
    pub fn has(self, bits: u64) -> bool {
        self.0 & bits == bits
    }
}

/// A version of the code format: ELF ABI, PTX ISA or NVVM IR by kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    /// The number before the point.
    pub major: u16,
    /// The number behind it.
    pub minor: u16,
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// One entry, its payload as stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Entry<'d> {
    /// Where it starts in the bytes that were read.
    pub offset: u64,
    /// Where its payload starts there.
    pub payload_offset: u64,
    /// What it holds.
    pub kind: Kind,
    /// Version of the entry header.
    pub header_version: u16,
    /// Version of the code format.
    pub code_version: Version,
    /// The processor.
    pub sm: Sm,
    /// The flag bits.
    pub flags: Flags,
    /// The name given by `--ident`, often the source file. Empty without one.
    pub identifier: &'d [u8],
    /// The options record: `ptxas` or `cicc` options as text, or the compat
    /// record of an ELF entry.
    pub options: Option<&'d [u8]>,
    /// The number that belongs to scrambled LTO-IR; 0 elsewhere.
    pub scramble: u64,
    /// The payload as stored: compressed when [`Entry::compression`] says so,
    /// else with up to seven bytes of padding.
    pub stored: &'d [u8],
    /// What the payload's size is after decompression.
    pub size: u64,
}

impl<'d> Entry<'d> {
    /// How the payload is stored.
    pub fn compression(&self) -> Compression {
        Compression::of(self.flags)
    }

    /// The contents of `.nv.compat` as the container repeats them: a zero byte
    /// and the section. Absent from most entries.
    pub fn compat_record(&self) -> Option<&'d [u8]> {
        self.options
            .filter(|_| self.kind == Kind::ELF && self.flags.has(Flags::COMPAT_RECORD))
    }

    /// The compiler options kept for a later compilation of PTX or LTO-IR.
    pub fn compiler_options(&self) -> Option<&'d [u8]> {
        self.options.filter(|_| self.kind != Kind::ELF)
    }

    /// The payload as a program can use it: decompressed, and PTX without the
    /// NUL bytes behind it.
    pub fn image(&self, limit: Limit) -> Result<Cow<'d, [u8]>, ParseError> {
        self.image_by(&mut Decompressor::new(limit))
    }

    /// [`Entry::image`], faster where there are many.
    pub fn image_by(&self, decompressor: &mut Decompressor) -> Result<Cow<'d, [u8]>, ParseError> {
        let image = decompress::decompress(self, decompressor);
        let image = image.map_err(|e| e.at(self.payload_offset))?;
        if !self.kind.is_ptx() {
            return Ok(image);
        }
        let text = |bytes: &[u8]| {
            bytes
                .iter()
                .rposition(|b| *b != 0)
                .map_or(0, |last| last + 1)
        };
        Ok(match image {
            Cow::Borrowed(bytes) => Cow::Borrowed(&bytes[..text(bytes)]),
            Cow::Owned(mut bytes) => {
                bytes.truncate(text(&bytes));
                Cow::Owned(bytes)
            }
        })
    }
}

/// What messages call the header of an entry.
const HEADER: &str = "fatbin entry header";

/// Reads the entry at `position` and gives the position of the next. `data`
/// ends where the fatbin does.
pub(super) fn parse(data: &[u8], position: u64) -> Result<(Entry<'_>, u64), ParseError> {
    let fields = Fields {
        data,
        base: position,
    };
    fields.bytes(0, ENTRY_HEADER_SIZE, HEADER)?;
    let header_size = u64::from(fields.u32(field::HEADER_SIZE, HEADER)?);
    if header_size < ENTRY_HEADER_SIZE || !header_size.is_multiple_of(8) {
        return Err(malformed(
            position + field::HEADER_SIZE,
            format!(
                "entry header size {header_size:#x} is not a multiple of 8 from {ENTRY_HEADER_SIZE:#x} on"
            ),
        ));
    }
    let header_end = position + fields.bytes(0, header_size, HEADER)?.len() as u64;
    let header = Fields {
        data: &data[..header_end as usize],
        base: position,
    };
    let payload_size = header.u64(field::STORED_SIZE, HEADER)?;
    let payload = fields.bytes(header_size, payload_size, "fatbin entry payload")?;
    let flags = Flags(header.u64(field::FLAGS, HEADER)?);
    let (stored, size) = stored(&header, flags, payload)?;
    let entry = Entry {
        offset: position,
        payload_offset: header_end,
        kind: Kind(header.u16(field::KIND, HEADER)?),
        header_version: header.u16(field::HEADER_VERSION, HEADER)?,
        code_version: Version {
            minor: header.u16(field::CODE_MINOR, HEADER)?,
            major: header.u16(field::CODE_MAJOR, HEADER)?,
        },
        sm: processor(&header, flags)?,
        flags,
        identifier: identifier(&header)?,
        options: options(&header)?,
        scramble: header.u64(field::SCRAMBLE, HEADER)?,
        stored,
        size,
    };
    Ok((entry, header_end + payload.len() as u64))
}

/// What is stored of the image in a payload, and the size of the image.
fn stored<'d>(
    header: &Fields<'_>,
    flags: Flags,
    payload: &'d [u8],
) -> Result<(&'d [u8], u64), ParseError> {
    let compressed_size = header.u32(field::COMPRESSED_SIZE, HEADER)?;
    let wrong = |problem| malformed(header.base + field::COMPRESSED_SIZE, problem);
    if flags.0 & Flags::COMPRESSED == 0 {
        return match compressed_size {
            0 => Ok((payload, payload.len() as u64)),
            size => Err(wrong(format!(
                "compressed size {size:#x} of an entry that is not compressed"
            ))),
        };
    }
    let stored = payload.get(..compressed_size as usize).ok_or_else(|| {
        wrong(format!(
            "compressed size {compressed_size:#x} is larger than the payload, {:#x} bytes",
            payload.len()
        ))
    })?;
    Ok((stored, header.u64(field::SIZE, HEADER)?))
}

fn processor(header: &Fields<'_>, flags: Flags) -> Result<Sm, ParseError> {
    let number = header.u32(field::PROCESSOR, HEADER)?;
    let number = u16::try_from(number).map_err(|_| {
        malformed(
            header.base + field::PROCESSOR,
            format!("processor number {number} is beyond every processor"),
        )
    })?;
    let suffix = if flags.has(Flags::SUFFIX_A) {
        Some(Suffix::A)
    } else if flags.has(Flags::SUFFIX_F) {
        Some(Suffix::F)
    } else {
        None
    };
    Ok(Sm { number, suffix })
}

fn identifier<'d>(header: &Fields<'d>) -> Result<&'d [u8], ParseError> {
    let what = "fatbin entry identifier";
    let length = u64::from(header.u32(field::IDENTIFIER_LENGTH, what)?);
    if length == 0 {
        return Ok(&[]);
    }
    let start = u64::from(header.u32(field::IDENTIFIER, what)?);
    header.bytes(start, length, what)
}

fn options<'d>(header: &Fields<'d>) -> Result<Option<&'d [u8]>, ParseError> {
    let what = "fatbin entry options";
    let record = u64::from(header.u32(field::OPTIONS, what)?);
    if record == 0 {
        return Ok(None);
    }
    let start = u64::from(header.u32(record, what)?);
    let length = u64::from(header.u32(record + 4, what)?);
    header.bytes(start, length, what).map(Some)
}
