//! What host code uses of device code.

use super::super::host::HostObject;
use super::super::link_time::Scope;
use super::super::{Behaviour, Kernels};
use crate::container::host::{HostReferences, ReferenceKind, ReferenceScope};
use crate::options::{KernelFilter, Patterns};

/// What the host code of all inputs uses, as far as it says so.
#[derive(Debug)]
pub(super) struct HostUse<'d> {
    /// The names that host code uses.
    references: Vec<HostReferences<'d>>,
    /// Those that the device runtime uses.
    of_runtime: Vec<HostReferences<'d>>,
    /// Whether every object so far says which kernels its host code launches.
    all_name_kernels: bool,
    /// Whether host code launches a kernel that is not one of the device
    /// runtime.
    launches_kernels: bool,
}

/// Whose host code it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Owner {
    Program,
    Runtime,
}

impl Default for HostUse<'_> {
    fn default() -> Self {
        Self {
            references: Vec::new(),
            of_runtime: Vec::new(),
            all_name_kernels: true,
            launches_kernels: false,
        }
    }
}

impl<'d> HostUse<'d> {
    /// Adds what the host code of an object says, and takes it from the object.
    pub(super) fn add(&mut self, object: &mut HostObject<'d>, owner: Owner, behaviour: Behaviour) {
        self.all_name_kernels &= object.names_kernels;
        let references = std::mem::take(&mut object.references);
        // Where `ld -r` has joined several files that launch nothing, nvlink mistakes their NULs for names (case
        // `host_objects`).
        let is_launching = |references: &HostReferences<'_>| match behaviour {
            Behaviour::Nvlink => references.is_list,
            Behaviour::Own => !references.patterns.is_empty(),
        };
        match owner {
            Owner::Runtime => self.of_runtime.extend(references),
            Owner::Program => {
                self.launches_kernels |= references
                    .iter()
                    .any(|r| r.kind == ReferenceKind::Kernel && is_launching(r));
                self.references.extend(references);
            }
        }
    }

    /// Adds device code of which no host code says what it uses.
    pub(super) fn add_unsaid(&mut self) {
        self.all_name_kernels = false;
    }

    /// Which kernels and `__constant__` variables stay, after link-time optimization of the whole program or of a part.
    pub(super) fn filters(&self, kernels: &Kernels, scope: Scope) -> (KernelFilter, KernelFilter) {
        let of = |kind, scope| {
            let all = self.references.iter().chain(&self.of_runtime);
            patterns(all, kind, scope)
        };
        let named = |kind| Patterns {
            external: of(kind, ReferenceScope::External),
            internal: of(kind, ReferenceScope::Internal),
        };
        match kernels {
            Kernels::All => (KernelFilter::All, KernelFilter::All),
            Kernels::Containing { kernels, variables } => (
                KernelFilter::Containing(kernels.clone()),
                KernelFilter::Containing(variables.clone()),
            ),
            // Where no file launches anything, something else must (case
            // `launched_kernels`).
            Kernels::NamedByHost if !(self.all_name_kernels && self.launches_kernels) => {
                (KernelFilter::All, KernelFilter::All)
            }
            Kernels::NamedByHost => {
                let kernels = named(ReferenceKind::Kernel);
                let constants = KernelFilter::Matching(named(ReferenceKind::Constant));
                match scope {
                    Scope::Program => (KernelFilter::MatchingOptimized(kernels), constants),
                    Scope::Part => (KernelFilter::Matching(kernels), constants),
                }
            }
        }
    }

    /// The options that name what host code uses of a whole program; everything
    /// else may go. Without any, everything stays.
    pub(super) fn options(&self, kernels: &Kernels) -> Vec<String> {
        use {ReferenceKind as K, ReferenceScope as S};
        let of = |kind, scope| -> Vec<String> {
            match kernels {
                Kernels::All => Vec::new(),
                Kernels::Containing { kernels, variables } => {
                    let parts = match kind {
                        K::Kernel => kernels,
                        K::Variable | K::Constant => variables,
                    };
                    parts.iter().map(|part| format!("*{part}*")).collect()
                }
                Kernels::NamedByHost => {
                    let names: Vec<&str> = patterns(self.references.iter(), kind, scope);
                    names.into_iter().map(str::to_owned).collect()
                }
            }
        };
        let is_known = match kernels {
            Kernels::All => false,
            Kernels::Containing { .. } => true,
            Kernels::NamedByHost => self.all_name_kernels,
        };
        if !is_known {
            return Vec::new();
        }
        let mut options = vec!["-has-global-host-info".to_owned()];
        for (option, kind, scope) in [
            ("ek", K::Kernel, S::External),
            ("ik", K::Kernel, S::Internal),
            ("ec", K::Constant, S::External),
            ("ic", K::Constant, S::Internal),
            ("eg", K::Variable, S::External),
            ("ig", K::Variable, S::Internal),
        ] {
            let patterns = of(kind, scope);
            if !patterns.is_empty() {
                options.push(format!("-host-ref-{option}={}", patterns.join(",")));
            }
        }
        options
    }
}

/// The patterns for names of a kind and scope that host code uses.
fn patterns<'r, C: FromIterator<&'r str>>(
    references: impl Iterator<Item = &'r HostReferences<'r>>,
    kind: ReferenceKind,
    scope: ReferenceScope,
) -> C {
    let fitting = references.filter(|r| r.kind == kind && r.scope == scope);
    let patterns = fitting.flat_map(|references| &references.patterns);
    patterns.copied().collect()
}
