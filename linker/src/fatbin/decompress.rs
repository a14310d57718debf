//! Decompression that a lying header cannot turn into a large allocation.

use std::borrow::Cow;
use std::fmt;
use std::io;

use super::entry::{Entry, Flags};
use crate::error::ParseError;

/// How a payload is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Compression {
    /// As it is.
    None,
    /// One LZ4 block without a frame.
    Lz4,
    /// One zstd frame.
    Zstd,
    /// By a method that is not known here; the flag bits that say so.
    Unknown(u64),
}

impl Compression {
    pub(super) fn of(flags: Flags) -> Self {
        match flags.0 & Flags::COMPRESSED {
            0 => Self::None,
            Flags::COMPRESSED_LZ4 => Self::Lz4,
            Flags::COMPRESSED_ZSTD => Self::Zstd,
            bits => Self::Unknown(bits),
        }
    }
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::Lz4 => f.write_str("lz4"),
            Self::Zstd => f.write_str("zstd"),
            Self::Unknown(bits) => write!(f, "unknown-{bits:#x}"),
        }
    }
}

/// The largest image that is decompressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Limit(pub u64);

impl Default for Limit {
    /// 1 GiB, several times the largest device images in use.
    fn default() -> Self {
        Self(1 << 30)
    }
}

/// Takes payloads out of fatbins, with working memory that it keeps.
#[derive(Default)]
pub struct Decompressor {
    limit: Limit,
    zstd: zstd::bulk::Decompressor<'static>,
}

impl Decompressor {
    /// Refuses images larger than the limit.
    pub fn new(limit: Limit) -> Self {
        Self {
            limit,
            ..Self::default()
        }
    }

    /// Reserves what an entry promises only where less is not enough.
    fn zstd(&mut self, stored: &[u8], size: u64) -> io::Result<Vec<u8>> {
        /// Hardly anything becomes larger.
        const LIKELY_RATIO: u64 = 32;
        let likely = size.min(stored.len() as u64 * LIKELY_RATIO);
        match self.zstd_within(stored, likely) {
            Err(_) if likely < size => self.zstd_within(stored, size),
            image => image,
        }
    }

    fn zstd_within(&mut self, stored: &[u8], size: u64) -> io::Result<Vec<u8>> {
        let mut image = Vec::new();
        image.try_reserve_exact(size as usize)?;
        self.zstd.decompress_to_buffer(stored, &mut image)?;
        Ok(image)
    }
}

impl fmt::Debug for Decompressor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("Decompressor");
        debug.field("limit", &self.limit).finish_non_exhaustive()
    }
}

/// An LZ4 sequence grows by at most 255 bytes for each of its bytes.
const LZ4_RATIO: u64 = 255;
/// A zstd block of 4 bytes holds at most 128 KiB.
const ZSTD_RATIO: u64 = 128 * 1024 / 4;

pub(super) fn decompress<'d>(
    entry: &Entry<'d>,
    decompressor: &mut Decompressor,
) -> Result<Cow<'d, [u8]>, ParseError> {
    let compression = entry.compression();
    if entry.flags.has(Flags::SCRAMBLED) {
        return Err(ParseError::malformed(format!(
            "the {} payload is scrambled and cannot be read; \
             LTO-IR is readable when its fatbin is made without compression",
            entry.kind
        )));
    }
    let Entry { stored, size, .. } = *entry;
    let image = match compression {
        Compression::None => return Ok(Cow::Borrowed(stored)),
        Compression::Lz4 => {
            check_promise(entry, decompressor.limit, LZ4_RATIO)?;
            lz4(stored, size)
        }
        Compression::Zstd => {
            check_promise(entry, decompressor.limit, ZSTD_RATIO)?;
            let image = decompressor.zstd(stored, size);
            image.map_err(|problem| problem.to_string())
        }
        Compression::Unknown(bits) => {
            return Err(ParseError::malformed(format!(
                "the payload is compressed by an unknown method (flags {bits:#x}); \
                 make the fatbin again with a toolkit of CUDA 12 or 13"
            )));
        }
    };
    let image = image.map_err(|problem| {
        ParseError::malformed(format!("damaged {compression} payload: {problem}"))
    })?;
    let held = image.len() as u64;
    if held == size {
        return Ok(Cow::Owned(image));
    }
    let more_or_less = if held > size { "more than" } else { "only" };
    Err(ParseError::malformed(format!(
        "the {compression} payload holds {more_or_less} {:#x} bytes, the entry promises {size:#x}",
        held.min(size),
    )))
}

/// Refuses to make room for an image of the size that an entry promises where it cannot be so large: one stored byte
/// holds at most `ratio` bytes.
fn check_promise(entry: &Entry<'_>, limit: Limit, ratio: u64) -> Result<(), ParseError> {
    let Entry { stored, size, .. } = *entry;
    if size > limit.0 {
        return Err(ParseError::malformed(format!(
            "the payload would take {size:#x} bytes decompressed; the limit is {:#x}",
            limit.0
        )));
    }
    if size > (stored.len() as u64).saturating_mul(ratio) {
        return Err(ParseError::malformed(format!(
            "{:#x} bytes of {} cannot hold the {size:#x} bytes that the entry promises",
            stored.len(),
            entry.compression()
        )));
    }
    Ok(())
}

/// The whole size is reserved at once; [`LZ4_RATIO`] justifies it.
fn lz4(stored: &[u8], size: u64) -> Result<Vec<u8>, String> {
    let mut image = vec![0; size as usize];
    let written =
        lz4_flex::block::decompress_into(stored, &mut image).map_err(|e| e.to_string())?;
    image.truncate(written);
    Ok(image)
}
