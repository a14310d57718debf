//! Addresses that `nvlink -r` filled in before they were known.

use crate::cubin::{Binding, Note, NoteKind, SymbolOther, ToolNote};
use crate::diagnostic::Diagnostic;
use crate::options::Behaviour;
use crate::read::{InputSection, Object, Role};

use super::current::{Current, Placed};
use super::merger::Merger;

impl<'d> Merger<'d, '_> {
    /// Warns of code that uses constants or shared memory at addresses that
    /// do not hold here. nvlink says nothing.
    pub(super) fn check_addresses(&mut self, current: &Current<'_, 'd>) {
        if self.behaviour == Behaviour::Nvlink || !is_from_nvlink(current.object) {
            return;
        }
        let sections = current.object.sections.iter().zip(&current.placed);
        let has_moved = |(section, placed): (&InputSection<'_>, &Option<Placed>)| {
            matches!(section.role, Role::Constant(1..)) && placed.is_some_and(|p| p.base > 0)
        };
        // Their values are alignments, and these are what was filled in.
        let has_shared = current.object.symbols.iter().any(|symbol| {
            symbol.other.space() == SymbolOther::SHARED
                && symbol.binding != Binding::WEAK
                && symbol.size > 0
        });
        let mut spaces = Vec::new();
        if sections.into_iter().any(has_moved) {
            spaces.push("constants");
        }
        if has_shared {
            spaces.push("shared memory");
        }
        if !spaces.is_empty() {
            let name = &current.object.name;
            self.diagnostics
                .push(Diagnostic::stale_addresses(name, &spaces.join(" and ")));
        }
    }
}

/// Whether the object is what a relocatable link of nvlink left. Damaged
/// notes are somebody else's matter.
pub(super) fn is_from_nvlink(object: &Object<'_>) -> bool {
    let notes = object.sections.iter().filter(|s| s.role == Role::Note);
    notes
        .filter_map(|section| Note::parse_all(section.data).ok())
        .flatten()
        .filter(|note| note.kind == NoteKind::TOOL)
        .filter_map(|note| ToolNote::parse(note.description).ok())
        .any(|note| note.tool == "nvlink" && note.options.split(' ').any(|option| option == "-r"))
}
