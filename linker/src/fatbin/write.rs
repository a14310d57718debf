//! Writes fatbins as NVIDIA's `fatbinary -link` does, byte for byte.

use std::fmt;
use std::io;
use std::str::FromStr;

use lz4::block::CompressionMode as Lz4Mode;

use super::{ENTRY_HEADER_SIZE, Flags, HEADER_SIZE, Kind, MAGIC, VERSION, field};
use crate::arch::{Sm, Suffix};
use crate::cubin::{File, SectionType};
use crate::error::ParseError;

/// Version of the entry header.
const ENTRY_VERSION: u16 = 0x101;
/// Version of the code format of device ELF files: minor, then major.
const ELF_VERSION: [u16; 2] = [8, 1];
/// What payloads and strings are padded to.
const ALIGNMENT: usize = 8;
/// Images of more bytes are compressed unless it is told otherwise.
const LARGE: usize = 10_000_000;
/// The level of LZ4's strong compressor that gives the bytes of `fatbinary`.
const LZ4_LEVEL: i32 = 2;

/// How the images of a fatbin are compressed. [`FromStr`] reads the words of
/// `fatbinary --compress-mode` and `zstd:LEVEL`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum CompressionMode {
    /// Only images of more than ten million bytes, as [`Self::BALANCE`]: what `fatbinary` does unless it is told otherwise.
    #[default]
    Large,
    /// Only those images, as [`Self::Lz4`]: what `fatbinary --compress-mode=speed` does.
    LargeLz4,
    /// Not at all.
    None,
    /// As LZ4 blocks.
    Lz4,
    /// As zstd frames, with a level from 1 to 22.
    Zstd(i32),
}

impl CompressionMode {
    /// What `fatbinary` calls `balance`, and does with debug images.
    pub const BALANCE: Self = Self::Zstd(5);
    /// What `fatbinary` calls `size`.
    pub const SIZE: Self = Self::Zstd(19);
    /// The words that [`FromStr`] reads, but for levels of zstd.
    pub const WORDS: [&str; 6] = ["large", "large-speed", "none", "speed", "balance", "size"];

    /// What nvcc's device link asks for, with `-G` and without.
    #[must_use]
    pub fn of_device_link(debug: bool) -> Self {
        match debug {
            true => Self::BALANCE,
            false => Self::Large,
        }
    }

    /// What that means for an image.
    fn for_image(self, image: &[u8]) -> Self {
        match self {
            Self::Large if image.len() > LARGE => Self::BALANCE,
            Self::LargeLz4 if image.len() > LARGE => Self::Lz4,
            Self::Large | Self::LargeLz4 => Self::None,
            Self::None | Self::Lz4 | Self::Zstd(_) => self,
        }
    }

    fn flags(self) -> u64 {
        match self {
            Self::Large | Self::LargeLz4 | Self::None => 0,
            Self::Lz4 => Flags::COMPRESSED_LZ4,
            Self::Zstd(_) => Flags::COMPRESSED_ZSTD,
        }
    }

    /// The compressed image, unless there is nothing to do.
    fn compress(self, image: &[u8]) -> io::Result<Option<Vec<u8>>> {
        match self {
            Self::Large | Self::LargeLz4 | Self::None => Ok(None),
            Self::Lz4 => {
                let mode = Lz4Mode::HIGHCOMPRESSION(LZ4_LEVEL);
                lz4::block::compress(image, Some(mode), false).map(Some)
            }
            Self::Zstd(level) => zstd::bulk::compress(image, level).map(Some),
        }
    }
}

/// A text that names no way to compress.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{0}' is no way to compress: it is large, large-speed, none, speed (lz4), balance (zstd:5), size (zstd:19) or \
     zstd:LEVEL with a level from 1 to 22"
)]
pub struct ParseCompressionModeError(String);

impl FromStr for CompressionMode {
    type Err = ParseCompressionModeError;

    fn from_str(text: &str) -> Result<Self, ParseCompressionModeError> {
        match text {
            "large" => Ok(Self::Large),
            "large-speed" => Ok(Self::LargeLz4),
            "none" => Ok(Self::None),
            "speed" | "lz4" => Ok(Self::Lz4),
            "balance" | "default" | "zstd" => Ok(Self::BALANCE),
            "size" => Ok(Self::SIZE),
            _ => text
                .strip_prefix("zstd:")
                .and_then(|level| level.parse().ok())
                .filter(|level| (1..=22).contains(level))
                .map(Self::Zstd)
                .ok_or_else(|| ParseCompressionModeError(text.to_owned())),
        }
    }
}

impl fmt::Display for CompressionMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Large => f.write_str("large"),
            Self::LargeLz4 => f.write_str("large-speed"),
            Self::None => f.write_str("none"),
            Self::Lz4 => f.write_str("lz4"),
            Self::Zstd(level) => write!(f, "zstd:{level}"),
        }
    }
}

/// A linked image that goes into a fatbin.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct LinkedImage<'d> {
    /// The processor. Its letter stands nowhere else.
    pub sm: Sm,
    /// The executable device ELF file.
    pub data: &'d [u8],
}

impl<'d> LinkedImage<'d> {
    /// An image for a processor.
    pub fn new(sm: Sm, data: &'d [u8]) -> Self {
        Self { sm, data }
    }
}

/// What is said of all images of a fatbin.
///
/// ```
/// use rustnvlink::fatbin::{CompressionMode, FatbinOptions};
///
/// let options = FatbinOptions::default().identifier("kernels.cubin").compression(CompressionMode::BALANCE);
/// assert!(!options.debug);
/// ```
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct FatbinOptions {
    /// A name for people, often the names of the inputs.
    pub identifier: String,
    /// Whether the images are made for debugging.
    pub debug: bool,
    /// How they are compressed.
    pub compression: CompressionMode,
}

impl FatbinOptions {
    /// Names the images.
    #[must_use]
    pub fn identifier(self, identifier: impl Into<String>) -> Self {
        Self {
            identifier: identifier.into(),
            ..self
        }
    }

    /// Says whether the images are made for debugging.
    #[must_use]
    pub fn debug(self, debug: bool) -> Self {
        Self { debug, ..self }
    }

    /// Says how they are compressed.
    #[must_use]
    pub fn compression(self, compression: CompressionMode) -> Self {
        Self {
            compression,
            ..self
        }
    }
}

/// Why a fatbin cannot be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// An image that is no device ELF file.
    #[error("the image for {sm} cannot be put into a fatbin: {error}")]
    Image {
        /// Its processor.
        sm: Sm,
        /// What is wrong with it.
        error: ParseError,
    },
    /// The compressor has refused an image.
    #[error("the image for {sm} cannot be compressed: {error}")]
    Compression {
        /// Its processor.
        sm: Sm,
        /// What the compressor says.
        error: io::Error,
    },
    /// A size that its field in the header cannot hold.
    #[error("the fatbin cannot hold {size:#x} bytes of {what}: at most 0xffffffff fit")]
    TooLarge {
        /// What is too large.
        what: &'static str,
        /// Its size.
        size: usize,
    },
}

/// Makes a fatbin of linked images, in their order.
pub fn write(images: &[LinkedImage<'_>], options: &FatbinOptions) -> Result<Vec<u8>, WriteError> {
    let mut fatbin = Vec::with_capacity(
        HEADER_SIZE as usize + images.iter().map(|i| i.data.len() + 0x100).sum::<usize>(),
    );
    fatbin.extend(MAGIC.to_le_bytes());
    fatbin.extend(VERSION.to_le_bytes());
    fatbin.extend((HEADER_SIZE as u16).to_le_bytes());
    fatbin.extend([0; 8]);
    for image in images {
        write_entry(&mut fatbin, image, options)?;
    }
    let size = fatbin.len() as u64 - HEADER_SIZE;
    fatbin[8..16].copy_from_slice(&size.to_le_bytes());
    Ok(fatbin)
}

fn write_entry(
    out: &mut Vec<u8>,
    image: &LinkedImage<'_>,
    options: &FatbinOptions,
) -> Result<(), WriteError> {
    let sm = image.sm;
    let compression = options.compression.for_image(image.data);
    let compressed = compression
        .compress(image.data)
        .map_err(|error| WriteError::Compression { sm, error })?;
    let compat = compat_section(image)?;
    let mut flags = Flags::WIDE | Flags::LINUX | compression.flags() | suffix_flag(sm);
    if options.debug {
        flags |= Flags::DEBUG;
    }
    if compat.is_some() {
        flags |= Flags::COMPAT_RECORD;
    }
    let identifier = options.identifier.as_bytes();
    let strings = Strings::new(identifier, compat)?;
    let header_size = number("names", ENTRY_HEADER_SIZE as usize + strings.bytes.len())?;
    let stored = compressed.as_deref().unwrap_or(image.data);
    let stored_size = stored.len().next_multiple_of(ALIGNMENT) as u64;
    let (compressed_size, size) = match &compressed {
        Some(bytes) => (number("compressed code", bytes.len())?, image.data.len()),
        None => (0, 0),
    };
    let [code_minor, code_major] = ELF_VERSION;

    let mut header = EntryHeader([0; ENTRY_HEADER_SIZE as usize]);
    header.set(field::KIND, Kind::ELF.0.to_le_bytes());
    header.set(field::HEADER_VERSION, ENTRY_VERSION.to_le_bytes());
    header.set(field::HEADER_SIZE, header_size.to_le_bytes());
    header.set(field::STORED_SIZE, stored_size.to_le_bytes());
    header.set(field::COMPRESSED_SIZE, compressed_size.to_le_bytes());
    header.set(field::OPTIONS, strings.record.to_le_bytes());
    header.set(field::CODE_MINOR, code_minor.to_le_bytes());
    header.set(field::CODE_MAJOR, code_major.to_le_bytes());
    header.set(field::PROCESSOR, u32::from(sm.number).to_le_bytes());
    header.set(field::IDENTIFIER, strings.identifier.to_le_bytes());
    let length = number("a name", identifier.len())?;
    header.set(field::IDENTIFIER_LENGTH, length.to_le_bytes());
    header.set(field::FLAGS, flags.to_le_bytes());
    header.set(field::SIZE, (size as u64).to_le_bytes());
    out.extend(header.0);
    out.extend(strings.bytes);
    out.extend(stored);
    pad(out);
    Ok(())
}

/// The numbers that an entry begins with.
struct EntryHeader([u8; ENTRY_HEADER_SIZE as usize]);

impl EntryHeader {
    fn set<const N: usize>(&mut self, field: u64, bytes: [u8; N]) {
        self.0[field as usize..][..N].copy_from_slice(&bytes);
    }
}

/// What stands behind the header of an entry, and where: 0 is the place of what there is none of.
struct Strings {
    bytes: Vec<u8>,
    identifier: u32,
    /// The record of compatibility, which stands where other entries have their options.
    record: u32,
}

impl Strings {
    fn new(identifier: &[u8], compat: Option<&[u8]>) -> Result<Self, WriteError> {
        let mut strings = Self {
            bytes: Vec::new(),
            identifier: 0,
            record: 0,
        };
        let bytes = &mut strings.bytes;
        if !identifier.is_empty() {
            strings.identifier = ENTRY_HEADER_SIZE as u32;
            bytes.extend(identifier);
            bytes.push(0);
            pad(bytes);
        }
        if let Some(section) = compat {
            strings.record = number("a name", ENTRY_HEADER_SIZE as usize + bytes.len())?;
            let content = number("a name", strings.record as usize + 8)?;
            bytes.extend(content.to_le_bytes());
            bytes.extend(number("compatibility records", section.len())?.to_le_bytes());
            // The length leaves this byte out of account.
            bytes.push(0);
            bytes.extend(section);
            pad(bytes);
        }
        Ok(strings)
    }
}

fn suffix_flag(sm: Sm) -> u64 {
    match sm.suffix {
        Some(Suffix::A) => Flags::SUFFIX_A,
        Some(Suffix::F) => Flags::SUFFIX_F,
        None => 0,
    }
}

/// The contents of `.nv.compat`, which the container repeats from sm_100 on.
fn compat_section<'d>(image: &LinkedImage<'d>) -> Result<Option<&'d [u8]>, WriteError> {
    if !image.sm.has_mercury() {
        return Ok(None);
    }
    let file = File::parse(image.data).map_err(|error| WriteError::Image {
        sm: image.sm,
        error,
    })?;
    Ok(file
        .section_of_type(SectionType::CUDA_COMPAT)
        .map(|section| file.sections[section].data))
}

fn number(what: &'static str, size: usize) -> Result<u32, WriteError> {
    u32::try_from(size).map_err(|_| WriteError::TooLarge { what, size })
}

fn pad(bytes: &mut Vec<u8>) {
    bytes.resize(bytes.len().next_multiple_of(ALIGNMENT), 0);
}
