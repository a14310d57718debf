//! Variables in shared memory: what defines one, and whose they are.

use crate::cubin::{Binding, SectionFlags, Symbol as FileSymbol, SymbolOther, section_name};
use crate::diagnostic::Mismatch;
use crate::id::{SectionId, SymbolId};
use crate::options::{Behaviour, ResolvedRelocations};

use super::current::Current;
use super::merger::Merger;
use super::symbols::listing;
use super::{Definition, ListedShared, Listing, NewSection, SectionKind, SharedHome};

/// What nvlink says in relocatable objects that variables ask for which a whole program has placed (case
/// `whole_program_debug`).
pub(crate) const PLACED_ALIGN: u64 = 1;

impl<'d> Merger<'d, '_> {
    /// Variables in shared memory have a home before they have a place: the layout finds that. `None` when the function
    /// they belong to was left out.
    pub(super) fn merge_shared(
        &mut self,
        current: &mut Current<'_, 'd>,
        symbol: &FileSymbol<'d>,
        known: Option<SymbolId>,
    ) -> Option<SymbolId> {
        let home = self.shared_home(current, symbol)?;
        let id = match known {
            Some(id) => {
                self.check_agreement(current, id, symbol);
                // nvlink defines dynamic shared memory in relocatable objects,
                // and takes it for another definition of what is declared (cases `debug_dynamic` and
                // `relocatable_sized_later`). What it names itself there is weak.
                if self.behaviour == Behaviour::Nvlink
                    && home == SharedHome::Dynamic
                    && symbol.binding != Binding::WEAK
                    && symbol.place.section().is_some()
                {
                    let known = &self.merged.symbols[id];
                    let has_size = known.size != 0;
                    let is_replaced = known.binding == Binding::WEAK && has_size;
                    if has_size {
                        self.report_mismatch(Mismatch::Size, current, id);
                    }
                    if self.is_defined(id) && !is_replaced {
                        self.report_duplicate(current, id, symbol.name);
                    }
                }
                let merged = &mut self.merged.symbols[id];
                if self.behaviour == Behaviour::Own
                    && home == SharedHome::Dynamic
                    && merged.definition == Definition::Shared(SharedHome::Dynamic)
                {
                    merged.value = merged.value.max(symbol.value);
                }
                id
            }
            None => self.new_shared(current, symbol, home),
        };
        if home != SharedHome::Dynamic {
            self.define_shared(current, symbol, id, home);
        } else if self.is_placed(current, symbol) {
            let module = self.module_shared_section();
            self.reach_placed(symbol, module);
            self.merged.shared.placed_dynamic.push((id, symbol.value));
        }
        Some(id)
    }

    fn shared_home(
        &mut self,
        current: &mut Current<'_, 'd>,
        symbol: &FileSymbol<'d>,
    ) -> Option<SharedHome> {
        Some(match symbol.place.section() {
            None => SharedHome::Dynamic,
            // nvlink defines it in its relocatable objects.
            Some(_) if symbol.binding != Binding::LOCAL && symbol.size == 0 => SharedHome::Dynamic,
            Some(index) => {
                let input = current.object.sections[index as usize];
                let section =
                    match input.name == section_name::MODULE_SHARED && input.target().is_none() {
                        true => self.module_shared_section(),
                        false => self.place(current, index as usize)?.section,
                    };
                match self.merged.sections[section].target {
                    _ if current.object.is_whole_program => {
                        self.reach_placed(symbol, section);
                        SharedHome::Placed(section)
                    }
                    Some(_) => SharedHome::Kernel(section),
                    None => SharedHome::Module,
                }
            }
        })
    }

    /// The section of a variable that a whole program has placed is so large for nvlink that it holds the variable, and
    /// then it lays what the program has there behind that (cases `whole_program_debug` and `whole_program_module`).
    fn reach_placed(&mut self, symbol: &FileSymbol<'d>, section: SectionId) {
        let is_absent =
            self.merged.is_executable() && self.merged.sections[section].target.is_none();
        if self.behaviour == Behaviour::Nvlink && !is_absent {
            let variables = self.merged.variables_joining(section, None);
            // No shared memory is larger.
            let end = symbol
                .value
                .saturating_add(symbol.size)
                .min(u32::MAX.into());
            let size = &mut self.merged.sections[section].content.size;
            *size = end.saturating_sub(variables).max(*size);
        }
    }

    /// A variable that no input has named so far, as if its size were chosen at launch.
    fn new_shared(
        &mut self,
        current: &Current<'_, 'd>,
        symbol: &FileSymbol<'d>,
        home: SharedHome,
    ) -> SymbolId {
        let listing = match self.merged.shared.listed {
            // What an object of `nvlink -r` calls the start of such
            // memory is no variable (case `preserve_shared`).
            ListedShared::All
                if self.merged.is_executable()
                    && home == SharedHome::Dynamic
                    && symbol.other.has(SymbolOther::INTERNAL)
                    && !self.lists_instances() =>
            {
                Listing::Unlisted
            }
            ListedShared::All | ListedShared::Static => listing(symbol),
            ListedShared::Nothing => Listing::Unlisted,
        };
        if symbol.binding == Binding::WEAK && home == SharedHome::Dynamic {
            self.module_shared_section();
        }
        let id = self.new_named(current, symbol, symbol.binding, listing);
        // What has a size is only referred to here, and defined elsewhere.
        if symbol.binding != Binding::LOCAL && symbol.size == 0 {
            self.module_shared_section();
            self.merged.shared.named.push(id);
        }
        let is_placed = self.is_placed(current, symbol);
        let is_executable = self.merged.is_executable();
        let merged = &mut self.merged.symbols[id];
        merged.size = symbol.size;
        // An object of `nvlink -r` says where such memory starts (case `preserve_shared`).
        merged.value = match is_placed {
            true if is_executable => 0,
            true => PLACED_ALIGN,
            false => symbol.value,
        };
        merged.definition = Definition::Shared(SharedHome::Dynamic);
        id
    }

    /// Whether a whole program has placed dynamic shared memory, of which only nvlink takes notice.
    fn is_placed(&self, current: &Current<'_, 'd>, symbol: &FileSymbol<'d>) -> bool {
        self.behaviour == Behaviour::Nvlink
            && current.object.is_whole_program
            && symbol.place.section().is_some()
    }

    /// The section of variables that belong to no kernel. nvlink takes none of the name where a whole program has no
    /// variables (case `whole_program_module`).
    fn module_shared_section(&mut self) -> SectionId {
        if let Some(section) = self.merged.shared.module {
            return section;
        }
        let section = NewSection::new(section_name::MODULE_SHARED, SectionKind::Shared, 1);
        let section = section.with_flags(SectionFlags::DATA);
        let is_other = self.behaviour == Behaviour::Nvlink
            && self
                .known_section(section_name::MODULE_SHARED, None)
                .is_some();
        let section = match is_other {
            true => self.new_section(section),
            false => self.section(section),
        };
        self.merged.shared.module = Some(section);
        section
    }

    /// What becomes of a name where an input defines it with a size.
    fn define_shared(
        &mut self,
        current: &Current<'_, 'd>,
        symbol: &FileSymbol<'d>,
        id: SymbolId,
        home: SharedHome,
    ) {
        let merged = &mut self.merged.symbols[id];
        if merged.definition == Definition::Shared(SharedHome::Dynamic) {
            if self.behaviour == Behaviour::Nvlink && merged.size == 0 {
                merged.definition = Definition::Shared(SharedHome::Overlooked);
                merged.value = 0;
                let align = &mut self.merged.shared.overlooked_align;
                *align = symbol.value.max(*align);
                // nvlink sorts it in both places (case `shared_dynamic_sort`).
                if self.merged.is_executable() {
                    self.merged.shared.named.push(id);
                }
            } else {
                merged.definition = Definition::Shared(home);
                merged.value = symbol.value;
                self.keep_first_input(id);
                self.merged.symbols[id].input = Some(current.id);
                self.merged.shared.named.push(id);
            }
            let (_, marks) = self.kind_and_marks(symbol);
            let merged = &mut self.merged.symbols[id];
            merged.other = marks;
            merged.binding = symbol.binding;
            merged.size = symbol.size;
            return;
        }
        let is_defined = matches!(
            merged.definition,
            Definition::Section(_) | Definition::Shared(_)
        );
        match (merged.binding, symbol.binding) {
            (_, Binding::WEAK) => {}
            (Binding::WEAK, strong) => {
                merged.binding = strong;
                // nvlink lays out both, and uses one (case `shared_weak`).
                if self.behaviour == Behaviour::Nvlink {
                    self.merged.shared.named.push(id);
                    self.merged.shared.second_aligns.insert(id, symbol.value);
                } else {
                    merged.value = merged.value.max(symbol.value);
                }
            }
            // Another name of a function has no size (case `clashes`).
            _ if is_defined && merged.size != 0 => {
                self.report_duplicate(current, id, symbol.name);
            }
            _ => {}
        }
    }

    /// Whether starts of dynamic shared memory that a relocatable link named may be symbols of the image: for nvlink, where
    /// debuggers are told of addresses that are recorded, too, if there is a section for them, as there always is on
    /// sm_90 (cases `preserve_shared` and `whole_program_dynamic`).
    fn lists_instances(&self) -> bool {
        self.behaviour == Behaviour::Nvlink
            && self.merged.settings.resolved_relocations == ResolvedRelocations::Recorded
    }
}
