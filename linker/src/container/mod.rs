//! The files device code travels in: host objects, executables, archives.
//!
//! In: the bytes of a file of any kind. Out: what kind it is, and the device
//! parts a host file or archive holds. Nothing here opens a file or decides
//! which parts a link takes.

pub mod archive;
pub mod host;
mod kind;
#[cfg(test)]
mod tests;

pub use archive::{Archive, Member};
pub use host::{HostFile, Machine};
pub use kind::{InputKind, detect};
