//! The files device code travels in: host objects, executables, archives.
//!
//! In: the bytes of a file of any kind. Out: what kind it is, and the device
//! parts a host file or archive holds. Nothing here opens a file or decides
//! which parts a link takes.
//!
//! ```
//! use rustnvlink::container::{HostFile, InputKind, archive, detect};
//! use rustnvlink::error::ParseError;
//!
//! /// The processors that the objects of a library have code for.
//! fn processors(name: &str, data: &[u8]) -> Result<Vec<String>, ParseError> {
//!     let mut found = Vec::new();
//!     archive::walk(name, data, &mut |_, member| {
//!         let data = member.data.unwrap_or_default();
//!         if detect(data) != InputKind::HostObject {
//!             return Ok(());
//!         }
//!         for section in HostFile::parse(data)?.fatbins {
//!             for fatbin in section.fatbins() {
//!                 for entry in fatbin?.entries() {
//!                     found.push(entry?.sm.to_string());
//!                 }
//!             }
//!         }
//!         Ok::<_, ParseError>(())
//!     })?;
//!     Ok(found)
//! }
//! # assert!(processors("libx.a", b"!<arch>\n").unwrap().is_empty());
//! ```

pub mod archive;
pub mod foreign;
pub mod host;
mod kind;
pub mod libtool;
#[cfg(test)]
mod tests;

pub use archive::{Archive, Member};
pub use foreign::Foreign;
pub use host::{HostFile, Machine, OutOfReach};
pub use kind::{InputKind, detect};
