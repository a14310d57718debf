//! Fatbins: the containers that carry device code for several processors.
//!
//! In: bytes of a `.fatbin` file or of a fatbin section of a host object. Out:
//! the entries, every size and offset checked, and their payloads decompressed
//! on demand within a limit. [`write()`] makes a fatbin of linked images. Nothing
//! here knows which entry a link prefers.
//!
//! ```
//! use rustnvlink::fatbin::{self, CompressionMode, FatbinOptions, Kind, Limit, LinkedImage};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let cubin = std::fs::read("../tests/inputs/callee.sm_90.cubin")?;
//! let images = [LinkedImage::new("sm_90".parse()?, &cubin)];
//! let options = FatbinOptions::default().compression(CompressionMode::BALANCE);
//! let bytes = fatbin::write(&images, &options)?;
//!
//! for fatbin in fatbin::fatbins(&bytes) {
//!     for entry in fatbin?.entries() {
//!         let entry = entry?;
//!         assert_eq!((entry.kind, entry.sm.to_string()), (Kind::ELF, "sm_90".to_owned()));
//!         assert_eq!(entry.image(Limit::default())?[..], cubin[..]);
//!     }
//! }
//! # Ok(())
//! # }
//! ```

mod decompress;
mod entry;
mod field;
mod read;
#[cfg(test)]
mod tests;
mod write;

pub use decompress::{Compression, Decompressor, Limit};
pub use entry::{Entry, Flags, Kind, Version};
pub use read::{Entries, Fatbin, Fatbins, fatbins};
pub use write::{
    CompressionMode, FatbinOptions, LinkedImage, ParseCompressionModeError, WriteError, write,
};

/// The first four bytes of a fatbin, as a little-endian number.
pub const MAGIC: u32 = 0xba55_ed50;
/// The only container version there is.
pub const VERSION: u16 = 1;
/// Size of the container header; its own size field must say so.
pub const HEADER_SIZE: u64 = 16;
/// Size of an entry header without identifier and options.
pub const ENTRY_HEADER_SIZE: u64 = 0x40;
