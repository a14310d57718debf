//! What one host object brings to a link.

use super::check;
use super::{Behaviour, Wanted};
use crate::container::HostFile;
use crate::container::host::{ModuleId, ReferenceKind, ReferenceScope};
use crate::diagnostic::{Diagnostic, Severity};
use crate::fatbin::Fatbin;

/// A host object, taken apart.
#[derive(Debug)]
pub(super) struct HostObject<'d> {
    /// The modules it waits to have linked.
    pub(super) modules: Vec<&'d str>,
    /// The modules whose linked code it holds.
    pub(super) linked: Vec<&'d str>,
    /// Its relocatable device code.
    pub(super) fatbins: Vec<Fatbin<'d>>,
    /// The kernels its host code may launch, as patterns.
    pub(super) kernels: Vec<&'d str>,
    /// Whether it says which kernels of other files its host code launches.
    pub(super) names_kernels: bool,
}

impl<'d> HostObject<'d> {
    /// Takes it apart. nvlink's complaint about damage is always the same.
    pub(super) fn parse(
        name: &str,
        data: &'d [u8],
        wanted: &Wanted<'_>,
    ) -> Result<Self, Vec<Diagnostic>> {
        let fail = |error| match wanted.behaviour {
            Behaviour::Own => vec![check::damaged(name, error)],
            Behaviour::Nvlink => no_fatbin(name),
        };
        let file = HostFile::parse(data).map_err(fail)?;
        let mut object = Self {
            modules: Vec::new(),
            linked: Vec::new(),
            fatbins: Vec::new(),
            kernels: Vec::new(),
            names_kernels: false,
        };
        for id in &file.module_ids {
            match id {
                ModuleId::Linked(id) => object.linked.push(id),
                // What does not start so is no name of a module.
                ModuleId::Module(id) if id.starts_with('_') => object.modules.push(id),
                ModuleId::Module(_) => {}
            }
        }
        if !object.modules.is_empty() && !object.linked.is_empty() {
            return Err(vec![check::fatal(
                "bad-module-ids",
                name,
                "unexpected data in module_ids",
            )]);
        }
        for references in &file.references {
            if references.kind == ReferenceKind::Kernel {
                object.kernels.extend(&references.patterns);
                // The section is there for every file that nvcc compiles, and
                // holds one NUL where the file launches nothing.
                object.names_kernels |= references.scope == ReferenceScope::External;
            }
        }
        for section in file.fatbins.iter().filter(|s| s.is_relocatable()) {
            for fatbin in section.fatbins() {
                object.fatbins.push(fatbin.map_err(fail)?);
                // A host link puts several one behind the other, of which
                // nvlink sees one.
                if wanted.is_compatible() {
                    break;
                }
            }
        }
        Ok(object)
    }
}

/// What nvlink says when a host object cannot be read.
fn no_fatbin(name: &str) -> Vec<Diagnostic> {
    vec![
        Diagnostic::new(
            Severity::Fatal,
            "bad-host-object",
            format!("Could not find fatbin in '{name}'"),
        ),
        internal_error(),
    ]
}

/// What nvlink says after problems with a host object.
pub(super) fn internal_error() -> Diagnostic {
    Diagnostic::new(
        Severity::Fatal,
        "host-object-failed",
        "elfLink internal error",
    )
}
