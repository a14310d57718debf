//! Static functions of one name in one file, which objects of `nvlink -r` have.
//!
//! From sm_100 on nvlink looks for the relocations and attribute records of code by its
//! name: all functions of the name get those of the first one (cases `local_func_dup`
//! and `static_code_again`). What they are in machine code follows from their places in
//! Mercury code.

use rustc_hash::FxHashMap;

use crate::options::Keeping;
use crate::read::{NativeRole, Object, Role};

/// The sections with relocations and records of code that another one of the same name
/// takes the place of.
#[derive(Debug, Default)]
pub(super) struct SameNamed {
    first: FxHashMap<usize, usize>,
}

/// Mercury sections have the names of their native twins.
#[derive(PartialEq, Eq, Hash)]
enum World {
    Mercury,
    Native,
}

impl SameNamed {
    pub(super) fn new(object: &Object<'_>, keeping: Keeping) -> Self {
        let mut found = Self::default();
        let Some(native) = object
            .native
            .as_ref()
            .filter(|_| keeping == Keeping::AsNvlink)
        else {
            return found;
        };
        let mut by_name: FxHashMap<(World, &str), usize> = FxHashMap::default();
        let mut add = |index: usize, world, name| {
            let first = *by_name.entry((world, name)).or_insert(index);
            if first != index {
                found.first.insert(index, first);
            }
        };
        for (index, section) in object.sections.iter().enumerate() {
            let target = section.target();
            let target = target.and_then(|target| Some(object.sections.get(target)?.role));
            let is_known = matches!(section.role, Role::Rela | Role::Info);
            if is_known && target == Some(Role::Text) {
                add(index, World::Mercury, section.name);
            }
        }
        for twin in &native.sections {
            let is_code = |index: usize| native.code_twin(index).is_some();
            let (NativeRole::Relocations(code) | NativeRole::Info(code)) = twin.role else {
                continue;
            };
            if is_code(code) {
                add(twin.index, World::Native, twin.section.name);
            }
        }
        found
    }

    /// The section whose relocations or records nvlink takes for these.
    pub(super) fn first(&self, section: usize) -> usize {
        self.first.get(&section).copied().unwrap_or(section)
    }
}
