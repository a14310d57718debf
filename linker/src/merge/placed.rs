//! Where the bytes of an input section go.

use crate::cubin::SectionFlags;
use crate::options::{Behaviour, DebugLevel};
use crate::read::Role;

use super::current::{Current, Placed};
use super::merger::Merger;
use super::{NewSection, SectionKind};

impl<'d> Merger<'d, '_> {
    /// Takes over the shared memory of a whole program's kernel. Executables have none that is of no kernel, but without
    /// debug information an empty section, for dynamic shared memory of functions.
    pub(super) fn keep_layout(&mut self, current: &mut Current<'_, 'd>, index: usize) {
        let input = current.object.sections[index];
        // An empty one is for the alignment of dynamic shared memory, which debuggers do not need.
        if self.options.settings.debug == DebugLevel::Symbols
            && (self.merged.is_executable() || self.behaviour == Behaviour::Nvlink)
            && input.target().is_none()
            && input.size == 0
        {
            return;
        }
        if let Some(Placed { section, .. }) = self.place(current, index) {
            let variables = match self.behaviour {
                Behaviour::Nvlink => self.merged.variables_joining(section, None),
                Behaviour::Own => 0,
            };
            let is_of_variables = self.merged.shared.module == Some(section);
            let is_lost = self.merged.is_executable() && is_of_variables;
            let row = &mut self.merged.sections[section];
            match is_lost {
                // Its alignment is not the section's (case `whole_program_dynamic`).
                true => {
                    let align = row.content.align;
                    let offset = row.content.append(&[], 0, input.align);
                    row.content.align = align;
                    offset
                }
                false => {
                    row.content.size += variables;
                    let offset = row.content.append(&[], input.size, input.align);
                    row.content.size -= variables;
                    offset
                }
            };
            row.keep_empty = row.content.size == 0 && (row.keep_empty || !is_of_variables);
        }
    }

    /// Finds or makes the output section of an input section and puts its
    /// bytes there. `None` when the function it belongs to was left out.
    pub(super) fn place(&mut self, current: &mut Current<'_, 'd>, index: usize) -> Option<Placed> {
        if let Some(placed) = current.placed[index] {
            return Some(placed);
        }
        let input = current.object.sections[index];
        let kind = self.placed_kind(input.role)?;
        let target = match input.target() {
            Some(target) => Some(match current.placed[target] {
                Some(placed) => placed.section,
                // nvlink gives a kernel the shared memory of all its weak
                // definitions, one behind the other (case `weak_registers`).
                None if input.role == Role::Shared => current.discarded.code[target]?,
                None => return None,
            }),
            None => None,
        };
        let section = match kind {
            SectionKind::Constant(bank) => self.constants_section(current, index, bank, target),
            _ => {
                let flags = match kind {
                    SectionKind::Shared if target.is_some() => {
                        input.flags.with(SectionFlags::INFO_LINK)
                    }
                    _ => input.flags,
                };
                let section = NewSection::new(input.name, kind, 1).with_flags(flags);
                self.section(section.of(target))
            }
        };
        self.merged.sections[section].entry_size = input.entry_size;
        // The layout of shared memory goes by variables, not by sections.
        let base = match kind {
            SectionKind::Shared | SectionKind::SharedReserved => 0,
            SectionKind::Constant(0) if self.shares_parameters(section, target) => {
                self.check_parameters(current, index, section);
                0
            }
            _ => {
                let size = self.named_size(current, index, target);
                let data = self.reached_data(current, index, size);
                let row = &mut self.merged.sections[section];
                match row.holds_replaced() {
                    true => {
                        row.content.overlay(data, size, input.align);
                        0
                    }
                    false => row.content.append(data, size, input.align),
                }
            }
        };
        let placed = Placed { section, base };
        self.note_unnamed(current, index, placed);
        current.placed[index] = Some(placed);
        Some(placed)
    }

    /// What the section becomes that an input section is put into as it is.
    fn placed_kind(&self, role: Role) -> Option<SectionKind> {
        Some(match role {
            Role::Constant(bank) => SectionKind::Constant(bank),
            Role::GlobalInit => SectionKind::GlobalInit,
            Role::UnifiedData => SectionKind::UnifiedData,
            Role::Global => SectionKind::Global,
            Role::Shared => SectionKind::Shared,
            Role::SharedReserved => SectionKind::SharedReserved,
            Role::Debug => SectionKind::Debug,
            Role::UnifiedIndex if self.takes_index() => SectionKind::UnifiedIndex,
            Role::UnifiedIndex
            | Role::Ignored
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
            | Role::UnifiedEntries(_)
            | Role::LinkerMade => return None,
        })
    }
}
