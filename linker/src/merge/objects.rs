//! Merges one object after another: the order of their parts, and where a merge ends early.

use crate::arena::Arena;
use crate::diagnostic::{Diagnostic, Diagnostics, Severity};
use crate::error::ParseError;
use crate::id::{Id as _, InputId};
use crate::options::{Behaviour, Options};
use crate::read::{InputSection, Object, Role};

use super::Merged;
use super::current::Current;
use super::merger::Merger;

/// Merges the objects in their order. `damage` is what is wrong with the object that follows them, if it could not be read.
///
/// Kernels that the options drop by parts of their names are no kernels from the start. Those that are dropped because host
/// code does not name them are still kernels here; `prune` drops them.
pub(crate) fn merge<'d>(
    objects: &[Object<'d>],
    damage: Option<ParseError>,
    arena: &'d Arena,
    options: &'d Options,
    diagnostics: &mut Diagnostics,
) -> Result<Merged<'d>, ParseError> {
    let mut merger = Merger::new(options, objects, arena, diagnostics);
    let merged = objects
        .iter()
        .enumerate()
        .try_for_each(|(index, object)| merger.merge_next(InputId::new(index), object));
    let merged = merged.and_then(|()| match damage {
        Some(damage) => {
            let name = damage.location.input.as_deref();
            merger.warn_of_company(objects.len(), name.unwrap_or_default())?;
            Err(End::Damage(damage))
        }
        None => merger.check_types(objects),
    });
    match merged {
        Ok(()) => {
            if options.is_followed {
                merger.diagnostics.push(Diagnostic::behind_runtime());
                return Ok(merger.merged);
            }
            merger.merged.check_lost_commons()?;
            Ok(merger.merged)
        }
        Err(End::Reported) => Ok(merger.merged),
        Err(End::Damage(error)) => Err(error),
    }
}

/// Why a merge ends before the last object.
pub(super) enum End {
    Damage(ParseError),
    /// The diagnostics hold an error. Later objects are not merged, as errors there might only be consequences.
    Reported,
}

impl<'d> Merger<'d, '_> {
    /// Warns of an object that is linked together with a whole program (case `whole_program_company`).
    fn warn_of_company(&mut self, index: usize, name: &str) -> Result<(), End> {
        if !self.options.company.contains(&index) {
            return Ok(());
        }
        let warning = Diagnostic::whole_program_company(name);
        if !self.options.warnings_are_errors {
            self.diagnostics.push(warning);
            return Ok(());
        }
        let severity = Severity::Error;
        self.diagnostics.push(Diagnostic {
            severity,
            ..warning
        });
        self.diagnostics.push(Diagnostic::merge_failed());
        Err(End::Reported)
    }

    /// Merges an object, unless there are errors.
    fn merge_next(&mut self, id: InputId, object: &Object<'d>) -> Result<(), End> {
        self.warn_of_company(id.index(), &object.name)?;
        self.merged.notes.add(self.origins[id]);
        let merged = self.merge_object(id, object);
        let problem = match merged {
            // What names that clash lead to, was reported when they did; call
            // graphs do not say how kernels are called (case `kernel_mismatch`).
            Err(error) if self.diagnostics.has_errors() && !self.ends_as_nvlink(&error) => {
                match self.misses_function(object) {
                    true => Diagnostic::no_call_graph_node(),
                    false => Diagnostic::merge_failed(),
                }
            }
            Err(error) => return Err(End::Damage(error.in_input(&object.name))),
            Ok(()) if self.diagnostics.has_errors() => Diagnostic::merge_failed(),
            Ok(()) if self.options.warnings_are_errors && self.diagnostics.has_warnings() => {
                Diagnostic::merge_failed()
            }
            Ok(()) => return Ok(()),
        };
        self.diagnostics.push(problem);
        Err(End::Reported)
    }

    /// Whether nvlink has an error of its own for the damage, which ends its link at once.
    fn ends_as_nvlink(&self, error: &ParseError) -> bool {
        self.behaviour == Behaviour::Nvlink && error.nvlink.is_some()
    }

    /// Merges the parts of one object in nvlink's order, which decides the order of sections and symbols in the image.
    fn merge_object(&mut self, id: InputId, object: &Object<'d>) -> Result<(), ParseError> {
        if self.behaviour == Behaviour::Own || self.merged.target.has_mercury() {
            object.check_alignments()?;
        }
        let mut current = Current::new(id, object, self.behaviour);
        if let Some(virtual_sm) = object.virtual_sm {
            self.merged.notes.merge_header(virtual_sm);
        }
        self.merge_functions(&mut current)?;
        self.forget_replaced(&current.replaced.code);
        self.merge_variables(&mut current)?;
        self.forget_pointers(&current.replaced.variables);
        self.check_tensor_memory(&current);
        self.merge_section_symbols(&mut current);
        // The memory of kernels comes last in the Mercury generation (case `whole_program_chosen`).
        let has_last = object.is_whole_program && self.merged.target.has_mercury();
        let is_last = |section: &InputSection<'d>| {
            has_last && section.role == Role::Shared && section.target().is_some()
        };
        let sections = || object.sections.iter().enumerate();
        let first = sections().filter(|(_, section)| !is_last(section));
        let last = sections().filter(|(_, section)| is_last(section));
        for (index, section) in first.chain(last) {
            self.merge_section(&mut current, index, section)
                .map_err(|e| e.in_section(section.name))?;
        }
        self.join_further_records();
        self.check_addresses(&current);
        self.merge_native(&current)
    }

    /// Merges sections that only have a section symbol: debug information, parameters, data without symbols of its own.
    fn merge_section_symbols(&mut self, current: &mut Current<'_, 'd>) {
        let symbols = current.object.symbols.iter();
        let mut sections: Vec<u32> = symbols
            .filter(|symbol| symbol.kind.leads_to_section())
            .filter_map(|symbol| symbol.place.section())
            .collect();
        // Debug sections that are empty have no symbol (case `lineinfo_empty`), and data of other tools may have none (case
        // `section_names`). In Mercury objects that would be data of machine code, which is not linked.
        let all = current.object.sections.iter().enumerate();
        let has_native = current.object.native.is_some();
        let is_data = |role| matches!(role, Role::Constant(_) | Role::GlobalInit);
        let needs_no_symbol = |section: &InputSection<'_>| {
            section.role == Role::Debug || is_data(section.role) && !has_native
        };
        sections.extend(
            all.filter(|(_, section)| needs_no_symbol(section))
                .map(|(index, _)| index as u32),
        );
        sections.sort_unstable();
        sections.dedup();
        for index in sections {
            match current.object.sections[index as usize].role {
                Role::UnifiedEntries(table) => {
                    self.unified_entries(table, 8);
                }
                Role::Constant(_)
                | Role::GlobalInit
                | Role::UnifiedData
                | Role::Debug
                | Role::UnifiedIndex
                | Role::SharedReserved => {
                    if self.place(current, index as usize).is_none() {
                        self.merge_unused_constants(current, index as usize);
                    }
                }
                // These are merged by their symbols or record by record.
                Role::Ignored
                | Role::Strings
                | Role::Symbols
                | Role::Note
                | Role::Compat
                | Role::Info
                | Role::CallGraph
                | Role::Prototype
                | Role::Rel
                | Role::Rela
                | Role::Text
                | Role::Global
                | Role::Shared
                | Role::LinkerMade => {}
            }
        }
        self.report_parameters(current);
    }

    /// Merges a section whose content no symbol leads to: notes, attributes, records, relocations and lists.
    fn merge_section(
        &mut self,
        current: &mut Current<'_, 'd>,
        index: usize,
        section: &InputSection<'d>,
    ) -> Result<(), ParseError> {
        match section.role {
            Role::Note => self.merged.notes.merge(section, self.behaviour)?,
            Role::Compat => {
                let target = self.merged.target;
                let toolkit = self.merged.notes.toolkit;
                if !self.merged.compat.merge(section.data, target, toolkit)? {
                    let name = &current.object.name;
                    self.diagnostics
                        .push(Diagnostic::missing_attribute(target, "ISA_CLASS", name));
                }
            }
            Role::Debug => {
                self.place(current, index);
            }
            Role::UnifiedEntries(table) => self.merge_unified(current, table, section)?,
            Role::CallGraph => self.merge_call_graph(current, section)?,
            Role::Prototype => self.merge_prototypes(current, section)?,
            Role::Info => self.merge_info(current, index)?,
            Role::Shared if current.object.is_whole_program => self.keep_layout(current, index),
            Role::Rel | Role::Rela => self.merge_relocations(current, index)?,
            Role::Ignored
            | Role::Strings
            | Role::Symbols
            | Role::Text
            | Role::Constant(_)
            | Role::GlobalInit
            | Role::UnifiedData
            | Role::Global
            | Role::Shared
            | Role::SharedReserved
            | Role::UnifiedIndex
            | Role::LinkerMade => {}
        }
        Ok(())
    }
}
