//! Static functions of one name in one file, which objects of `nvlink -r` have.
//!
//! From sm_100 on nvlink looks for the relocations and attribute records of code by its
//! name: all functions of the name get those of the first one (cases `local_func_dup`,
//! `static_code_again` and `static_kernels`). What they are in machine code follows from their places in
//! Mercury code.
//!
//! It looks for the memory of kernels by their names, too: static ones of one name, which
//! several files can have, share it with each other and with one that all files know.

use rustc_hash::FxHashMap;

use crate::id::SectionId;
use crate::options::Behaviour;
use crate::read::{NativeRole, Object, Role};

use super::SectionKind;
use super::merger::Merger;

/// The sections with relocations and records of code that another one of the same name
/// takes the place of.
#[derive(Debug, Default)]
pub(super) struct SameNamed {
    first: FxHashMap<usize, usize>,
}

/// The world that a section belongs to: both use the same names.
#[derive(PartialEq, Eq, Hash)]
enum World {
    Mercury,
    Native,
}

impl SameNamed {
    pub(super) fn new(object: &Object<'_>, behaviour: Behaviour) -> Self {
        let mut found = Self::default();
        let Some(native) = object
            .native
            .as_ref()
            .filter(|_| behaviour == Behaviour::Nvlink)
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
            let is_known = match twin.role {
                NativeRole::Relocations(code) | NativeRole::Info(code) => is_code(code),
                NativeRole::Parameters(_) | NativeRole::Handles { .. } => true,
                NativeRole::Debug { .. }
                | NativeRole::Code(_)
                | NativeRole::OptimizerConstants(_)
                | NativeRole::Data { .. } => false,
            };
            if is_known {
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

impl Merger<'_, '_> {
    /// The memory of an earlier kernel of the same name.
    pub(super) fn known_memory(&self, name: &str, kind: SectionKind) -> Option<SectionId> {
        let memory = self.names.memory.as_ref()?;
        let known = self.is_found_by_name(kind).then(|| memory.get(name));
        known.flatten().copied()
    }

    /// Whether nvlink looks for memory of this kind by the name of the kernel. From sm_100
    /// on each has its own parameters.
    pub(super) fn is_found_by_name(&self, kind: SectionKind) -> bool {
        match kind {
            SectionKind::Shared => true,
            SectionKind::Constant(0) => !self.merged.target.has_mercury(),
            _ => false,
        }
    }

    /// From now on memory of kernels is found by their names, see [`Self::memory`].
    pub(super) fn note_static_kernel(&mut self) {
        if self.behaviour != Behaviour::Nvlink || self.names.memory.is_some() {
            return;
        }
        let rows = self.merged.sections.enumerate();
        let kernels = rows.filter(|(_, row)| row.target.is_some());
        let mut memory = FxHashMap::default();
        for (id, row) in kernels.filter(|(_, row)| self.is_found_by_name(row.kind)) {
            memory.entry(row.name).or_insert(id);
        }
        self.names.memory = Some(memory);
    }
}
