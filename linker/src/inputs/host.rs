//! What one host object brings to a link.

use std::borrow::Cow;
use std::collections::HashSet;

use super::check;
use super::{Behaviour, Wanted};
use crate::codes;
use crate::container::host::{HostReferences, ModuleId, ReferenceKind, ReferenceScope};
use crate::container::{HostFile, OutOfReach};
use crate::diagnostic::Diagnostic;
use crate::error::ParseError;
use crate::fatbin::Fatbin;

/// The names of a host object's modules.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Modules<'d> {
    /// These wait for this link.
    Waiting(Vec<Cow<'d, str>>),
    /// The object holds the linked code of these.
    Linked(Vec<&'d str>),
}

impl<'d> Modules<'d> {
    fn new(ids: &[ModuleId<'d>], behaviour: Behaviour) -> Option<Self> {
        match behaviour {
            Behaviour::Own => Some(Self::apart(ids)),
            Behaviour::Nvlink => Self::as_nvlink(ids),
        }
    }

    /// `ld -r` puts objects and their device link together.
    fn apart(ids: &[ModuleId<'d>]) -> Self {
        let (mut waiting, mut linked) = (Vec::new(), Vec::new());
        for id in ids {
            match id {
                ModuleId::Module(id) => waiting.push(Cow::Borrowed(*id)),
                ModuleId::Linked(id) => linked.push(*id),
            }
        }
        match waiting.is_empty() && !linked.is_empty() {
            true => Self::Linked(linked),
            false => Self::Waiting(waiting),
        }
    }

    /// The first name says which kind all are. Before names of modules that
    /// wait, `def` means nothing to nvlink; behind the others it has to stand.
    fn as_nvlink(ids: &[ModuleId<'d>]) -> Option<Self> {
        let linked = || ids.iter().map(|id| id.linked()).collect::<Option<_>>();
        match ids.first() {
            Some(ModuleId::Linked(_)) => linked().map(Self::Linked),
            Some(ModuleId::Module(_)) | None => Some(Self::Waiting(
                ids.iter()
                    .map(|id| match id {
                        ModuleId::Module(id) => Cow::Borrowed(*id),
                        ModuleId::Linked(id) => Cow::Owned(format!("def {id}")),
                    })
                    .collect(),
            )),
        }
    }
}

/// How a host object comes into a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    /// As an input.
    File,
    /// In an archive.
    Member,
}

/// The modules whose linked code a file holds.
pub(super) fn linked_in<'d>(file: &HostFile<'d>, behaviour: Behaviour) -> Vec<&'d str> {
    match behaviour {
        Behaviour::Own => {
            let ids = file.module_ids.iter();
            ids.filter_map(|id| id.linked()).collect()
        }
        Behaviour::Nvlink => match Modules::as_nvlink(&file.module_ids) {
            Some(Modules::Linked(ids)) => ids,
            Some(Modules::Waiting(_)) | None => Vec::new(),
        },
    }
}

/// A host object, taken apart.
#[derive(Debug)]
pub(super) struct HostObject<'d> {
    /// Its names in the registration of modules.
    pub(super) modules: Modules<'d>,
    /// Its relocatable device code.
    pub(super) fatbins: Vec<Fatbin<'d>>,
    /// Whether it has device code, and none that can be linked.
    pub(super) is_closed: bool,
    /// Whether it holds the result of a device link.
    pub(super) is_result: bool,
    /// Its device code, if that is where no device link finds it.
    pub(super) out_of_reach: Option<OutOfReach>,
    /// The device names that its host code may use, as patterns.
    pub(super) references: Vec<HostReferences<'d>>,
    /// Whether it says which kernels of other files its host code launches.
    pub(super) names_kernels: bool,
}

impl<'d> HostObject<'d> {
    /// Takes it apart. nvlink's complaint about damage is always the same.
    pub(super) fn parse(
        name: &str,
        data: &'d [u8],
        origin: Origin,
        wanted: &Wanted,
    ) -> Result<Self, Vec<Diagnostic>> {
        let fail = |error| match wanted.behaviour {
            Behaviour::Own => vec![check::damaged(name, error)],
            Behaviour::Nvlink => no_fatbin(name),
        };
        let file = HostFile::parse(data).map_err(fail)?;
        // Of members of archives nvlink only reads what it needs (case `damaged_host_objects`).
        match (wanted.behaviour, origin) {
            (Behaviour::Nvlink, Origin::Member) => {}
            (Behaviour::Own, Origin::File | Origin::Member) | (Behaviour::Nvlink, Origin::File) => {
                HostFile::check_whole(data).map_err(fail)?
            }
        }
        if !file.has_sections && !wanted.is_compatible() {
            return Err(fail(ParseError::malformed("it has no sections").at(0)));
        }
        let ids: &[ModuleId<'d>] = if wanted.registers_modules {
            &file.module_ids
        } else {
            &[]
        };
        let modules = Modules::new(ids, wanted.behaviour).ok_or_else(|| {
            let text = "unexpected data in module_ids";
            vec![check::fatal(codes::BAD_MODULE_IDS, name, text)]
        })?;
        let mut fatbins = Vec::new();
        // Without wrappers, nvlink does not look for what they would wrap (case `host_objects`).
        let looks = !wanted.is_compatible() || file.has_wrappers;
        let sections = file.fatbins.iter();
        for section in sections.filter(|s| s.is_relocatable() && looks) {
            for fatbin in section.fatbins() {
                fatbins.push(fatbin.map_err(|error| fail(error.in_section(section.name)))?);
                // A host link puts several one behind the other, of which
                // nvlink sees one.
                if wanted.is_compatible() {
                    break;
                }
            }
        }
        let is_closed =
            !file.fatbins.is_empty() && !file.fatbins.iter().any(|s| s.is_relocatable());
        Ok(Self {
            modules,
            fatbins,
            is_closed,
            out_of_reach: file.out_of_reach.filter(|_| file.fatbins.is_empty()),
            is_result: !linked_in(&file, wanted.behaviour).is_empty(),
            // The section is there for every file that nvcc compiles, and holds
            // one NUL where the file launches nothing.
            names_kernels: file.references.iter().any(|references| {
                references.kind == ReferenceKind::Kernel
                    && references.scope == ReferenceScope::External
            }),
            references: file.references,
        })
    }

    /// Leaves out the modules whose linked code is in some input.
    pub(super) fn leave_out(&mut self, linked: &HashSet<&str>, behaviour: Behaviour) {
        let Modules::Waiting(ids) = &mut self.modules else {
            return;
        };
        let names = ids.iter().map(|id| &**id);
        match Unlinked::of(names, self.fatbins.len(), linked, behaviour) {
            Unlinked::All => {}
            Unlinked::Some(waits) => {
                let mut each = waits.iter();
                self.fatbins.retain(|_| each.next() == Some(&true));
                let mut each = waits.iter();
                ids.retain(|_| each.next() == Some(&true));
            }
            Unlinked::None => self.modules = Modules::Linked(Vec::new()),
        }
    }
}

/// Which modules of an object have no linked code in any input, so that they wait for this link.
pub(super) enum Unlinked {
    All,
    /// Those of `ld -r`, where this can be told of each, and of its fatbin.
    Some(Vec<bool>),
    None,
}

impl Unlinked {
    /// Of the modules with these names, which that many fatbins hold. For nvlink, objects that `ld -r` has put together wait
    /// as one.
    pub(super) fn of<'s>(
        names: impl Iterator<Item = &'s str>,
        fatbins: usize,
        linked: &HashSet<&str>,
        behaviour: Behaviour,
    ) -> Self {
        let waits: Vec<bool> = names.map(|name| !linked.contains(name)).collect();
        if !waits.contains(&false) {
            return Self::All;
        }
        let is_told_apart = waits.len() == fatbins && waits.contains(&true);
        match is_told_apart && behaviour == Behaviour::Own {
            true => Self::Some(waits),
            false => Self::None,
        }
    }
}

/// What nvlink says when a host object cannot be read.
fn no_fatbin(name: &str) -> Vec<Diagnostic> {
    vec![
        Diagnostic::fatal(
            codes::BAD_HOST_OBJECT,
            format!("Could not find fatbin in '{name}'"),
        ),
        internal_error(),
    ]
}

/// What nvlink says after problems with a host object.
pub(super) fn internal_error() -> Diagnostic {
    Diagnostic::fatal(codes::HOST_OBJECT_FAILED, "elfLink internal error")
}
