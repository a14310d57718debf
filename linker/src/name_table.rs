//! String tables in creation order: equal names once, no suffix sharing.

use std::ffi::CStr;
use std::hash::BuildHasher as _;

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use rustc_hash::FxBuildHasher;

/// A string table being filled. It starts with an empty name; adding another
/// makes a second one, as the empty signature of a kernel whose address is
/// taken does (case `cdp2`).
#[derive(Debug)]
pub(crate) struct NameTable {
    bytes: Vec<u8>,
    /// Where the names stand that were added.
    offsets: HashTable<u32>,
}

impl NameTable {
    /// A table with room for so many names.
    pub(crate) fn with_room(names: usize) -> Self {
        Self {
            bytes: vec![0],
            offsets: HashTable::with_capacity(names),
        }
    }

    /// Adds a name unless it is there, and says where it stands.
    pub(crate) fn add(&mut self, name: &str) -> u32 {
        let bytes = &self.bytes;
        let hash_of = |&offset: &u32| hash(name_at(bytes, offset));
        let is_name = |&offset: &u32| name_at(bytes, offset) == name.as_bytes();
        match self.offsets.entry(hash(name.as_bytes()), is_name, hash_of) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(free) => {
                let offset = bytes.len() as u32;
                free.insert(offset);
                self.bytes.extend_from_slice(name.as_bytes());
                self.bytes.push(0);
                offset
            }
        }
    }

    /// Writes a name in the room of one of `width` bytes, whether or not it is
    /// there already, and says where it stands.
    pub(crate) fn append(&mut self, name: &str, width: usize) -> u32 {
        let offset = self.bytes.len();
        self.bytes.extend_from_slice(name.as_bytes());
        self.bytes.resize(offset + width + 1, 0);
        offset as u32
    }

    /// Writes a name of two parts, whether or not it is there already, and says
    /// where it stands.
    pub(crate) fn append_joined(&mut self, start: &str, end: &str) -> u32 {
        let offset = self.bytes.len();
        for part in [start, end, "\0"] {
            self.bytes.extend_from_slice(part.as_bytes());
        }
        offset as u32
    }

    /// Where a name that was added stands.
    pub(crate) fn offset(&self, name: &str) -> u32 {
        let name = name.as_bytes();
        let is_name = |&offset: &u32| name_at(&self.bytes, offset) == name;
        self.offsets.find(hash(name), is_name).copied().unwrap_or(0)
    }

    /// How many bytes there are.
    pub(crate) fn size(&self) -> u64 {
        self.bytes.len() as u64
    }

    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

fn hash(name: &[u8]) -> u64 {
    FxBuildHasher.hash_one(name)
}

/// The name that stands at `offset`.
fn name_at(bytes: &[u8], offset: u32) -> &[u8] {
    let name = CStr::from_bytes_until_nul(&bytes[offset as usize..]);
    name.map_or(&[], CStr::to_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_names_stand_once() {
        let mut table = NameTable::with_room(1);
        let names: Vec<String> = (0..1000).map(|number| format!("name{number}")).collect();
        let offsets: Vec<u32> = names.iter().map(|name| table.add(name)).collect();
        let again: Vec<u32> = names.iter().map(|name| table.add(name)).collect();
        assert_eq!(offsets, again);
        assert_eq!(&offsets[..3], [1, 7, 13]);
        assert_eq!(table.offset("name2"), 13);
        assert_eq!(table.offset("name"), 0);
        assert_eq!(table.append("name2", 7), table.size() as u32 - 8);
    }

    #[test]
    fn the_empty_name_can_stand_twice() {
        let mut table = NameTable::with_room(0);
        assert_eq!(table.offset(""), 0);
        assert_eq!((table.add("a"), table.add(""), table.add("")), (1, 3, 3));
        assert_eq!(table.into_bytes(), b"\0a\0\0");
    }
}
