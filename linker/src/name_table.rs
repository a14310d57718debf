//! String tables in creation order: equal names once, no suffix sharing.

use rustc_hash::{FxBuildHasher, FxHashMap};

/// A string table being filled. It starts with an empty name; adding another
/// makes a second one, as the empty signature of a kernel whose address is
/// taken does (case `cdp2`).
#[derive(Debug)]
pub(crate) struct NameTable<'n> {
    bytes: Vec<u8>,
    offsets: FxHashMap<&'n str, u32>,
}

impl<'n> NameTable<'n> {
    /// A table with room for so many names.
    pub(crate) fn with_room(names: usize) -> Self {
        Self {
            bytes: vec![0],
            offsets: FxHashMap::with_capacity_and_hasher(names, FxBuildHasher),
        }
    }

    /// Adds a name unless it is there, and says where it stands.
    pub(crate) fn add(&mut self, name: &'n str) -> u32 {
        let bytes = &mut self.bytes;
        *self.offsets.entry(name).or_insert_with(|| {
            let offset = bytes.len() as u32;
            bytes.extend_from_slice(name.as_bytes());
            bytes.push(0);
            offset
        })
    }

    /// Writes a name in the room of one of `width` bytes, whether or not it is
    /// there already, and says where it stands.
    pub(crate) fn append(&mut self, name: &str, width: usize) -> u32 {
        let offset = self.bytes.len();
        self.bytes.extend_from_slice(name.as_bytes());
        self.bytes.resize(offset + width + 1, 0);
        offset as u32
    }

    /// Where a name that was added stands.
    pub(crate) fn offset(&self, name: &str) -> u32 {
        self.offsets.get(name).copied().unwrap_or(0)
    }

    /// How many bytes there are.
    pub(crate) fn size(&self) -> u64 {
        self.bytes.len() as u64
    }

    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}
