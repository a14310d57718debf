//! Phase 5: section bytes become ours, and each relocation is applied, kept
//! for the driver, or dropped.
//!
//! A link knows the addresses of constants and of shared memory, and the
//! offsets inside debug sections. Functions and global variables get their
//! addresses from the driver: relocations against them stay.

mod apply;
mod capsule;
mod corrections;
mod debug_registers;
mod expanded;
mod frames;
mod joined;
mod lines;
mod recode;
mod resolve;
mod scoreboards;
mod stubs;
mod tables;
mod undefined;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use rustc_hash::FxHashMap;

use crate::arch::relocation::RelocationType;
use crate::cubin::section_name;
use crate::error::ParseError;
use crate::id::{FunctionId, Id as _, IdVec, SectionId, SymbolId};
use crate::layout::LaidOut;
use crate::merge::{
    BANK_LIMIT, Content, Merged, NativeContent, Relocation, Section, SectionKind, Symbol,
};
use crate::options::Behaviour;
use crate::parallel;
use crate::prune::Pruned;
use crate::read::OPTIMIZER_BANK;

use apply::apply;
use corrections::Corrections;
use expanded::Places;
use recode::renewed;
pub(crate) use recode::{Moves, recode};
use resolve::{Resolver, World};
pub(crate) use stubs::pace_slots;
pub(crate) use undefined::report as report_undefined;

/// Bytes of one section, and what the driver still has to patch in them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Patched<'d> {
    /// Borrowed from the input where nothing had to change.
    pub(crate) bytes: Cow<'d, [u8]>,
    /// In the order of the output: the last input's last relocation first.
    pub(crate) kept: Vec<Relocation>,
    /// The relocations that were resolved, for `.nv.resolvedrela*`, in the same order.
    pub(crate) resolved: Vec<Relocation>,
}

/// What was laid out, with bytes.
#[derive(Debug)]
pub(crate) struct Relocated<'d> {
    pub(crate) laid_out: LaidOut<'d>,
    pub(crate) sections: IdVec<SectionId, Patched<'d>>,
    /// The native twins, in the Mercury generation.
    pub(crate) native: Twins<'d>,
    /// How instructions moved in functions whose native code was recoded.
    pub(crate) moves: FxHashMap<FunctionId, Moves>,
    pub(crate) behaviour: Behaviour,
}

impl<'d> Relocated<'d> {
    /// What was merged, and what of it is alive.
    pub(crate) fn pruned(&self) -> &Pruned<'d> {
        &self.laid_out.pruned
    }

    /// What was merged.
    pub(crate) fn merged(&self) -> &Merged<'d> {
        self.laid_out.merged()
    }
}

/// Applies every relocation of the live sections. `meanwhile` does work that relocations have no part in, on another thread
/// if there is one.
pub(crate) fn relocate<'d, M>(
    mut laid_out: LaidOut<'d>,
    behaviour: Behaviour,
    meanwhile: impl FnOnce(&Pruned<'d>) -> M,
) -> (Result<Relocated<'d>, ParseError>, M) {
    count_machine_code(&mut laid_out.pruned.merged);
    let sections = laid_out.merged().sections.of_kind(|kind| !kind.is_list());
    let sizes = sections.map(|(_, section)| section.content.size);
    let bytes = sizes.sum::<u64>() as usize;
    let (done, patched) = parallel::both(
        bytes,
        || meanwhile(&laid_out.pruned),
        || {
            let patcher = Patcher {
                laid_out: &laid_out,
                behaviour,
                banks_of_slots: &banks_of_slots(&laid_out.pruned),
            };
            patcher.patch(bytes)
        },
    );
    let relocated = patched.map(|(sections, native)| Relocated {
        laid_out,
        sections,
        native,
        moves: FxHashMap::default(),
        behaviour,
    });
    (relocated, done)
}

/// Sections whose relocations cannot be applied.
type Failures = BTreeMap<SectionId, ParseError>;

/// The native twins of sections, patched.
type Twins<'d> = IdVec<SectionId, Option<Box<Patched<'d>>>>;

/// Applies relocations as far as a link knows what they ask for.
#[derive(Clone, Copy)]
struct Patcher<'a, 'd> {
    laid_out: &'a LaidOut<'d>,
    behaviour: Behaviour,
    banks_of_slots: &'a FxHashMap<SectionId, Vec<SectionId>>,
}

impl<'d> Patcher<'_, 'd> {
    /// The sections and their native twins, which have `bytes` together.
    fn patch(self, bytes: usize) -> Result<(IdVec<SectionId, Patched<'d>>, Twins<'d>), ParseError> {
        let merged = self.laid_out.merged();
        let ids: Vec<SectionId> = merged.sections.kinds().map(|(id, _)| id).collect();
        let mut sections = merged.sections.each(Patched::default());
        let failed = Mutex::new(Failures::new());
        parallel::fill(&ids, sections.rows(), bytes, |&id, patched| {
            match self.relocate_linked(id) {
                Ok(linked) => *patched = linked,
                Err(error) => {
                    let failed = failed.lock();
                    failed
                        .unwrap_or_else(PoisonError::into_inner)
                        .insert(id, error);
                }
            }
        });
        let failed = failed.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut native = self.relocate_twins(&mut sections, failed, bytes)?;
        joined::join_records(merged, &mut sections, &mut native, self.behaviour);
        Ok((sections, native))
    }

    /// Applies the relocations of the native twins of live sections. Of all that
    /// failed, the first is an error. Line tables come first: what refers to their
    /// units follows them.
    fn relocate_twins(
        self,
        sections: &mut IdVec<SectionId, Patched<'d>>,
        mut failures: Failures,
        bytes: usize,
    ) -> Result<Twins<'d>, ParseError> {
        let merged = self.laid_out.merged();
        let mut native = merged.sections.each(None);
        if failures.is_empty() && !merged.target.has_mercury() {
            return Ok(native);
        }
        let mut units = lines::Units::default();
        let (mut twins, mut sides) = (Vec::new(), Vec::new());
        let linked = sections.iter_mut().zip(merged.sections.enumerate());
        for (patched, (id, section)) in linked {
            let is_table = || section_name::is_line_table(section.name);
            let twin = section.native.as_deref();
            let twin = twin.filter(|_| self.has_bytes(id));
            match (failures.get(&id), twin) {
                (None, None) => {}
                (Some(error), _) if is_table() => return Err(in_place(merged, id, error)),
                (Some(_), _) => {}
                (None, Some(twin)) if is_table() => {
                    let bytes = &mut patched.bytes;
                    let side = self
                        .relocate_native(id, twin, bytes, &units)
                        .and_then(|side| {
                            lines::rebuild(self.laid_out, id, twin, bytes, side, &mut units)
                        })
                        .map_err(|error| in_place(merged, id, &error))?;
                    native[id] = Some(Box::new(side));
                }
                (None, Some(twin)) => {
                    twins.push((id, twin));
                    sides.push((&mut patched.bytes, Ok(Patched::default())));
                }
            }
        }
        parallel::fill(&twins, &mut sides, bytes, |&(id, twin), (bytes, side)| {
            *side = self.relocate_native(id, twin, bytes, &units);
        });
        for ((id, _), (_, side)) in twins.into_iter().zip(sides) {
            match side {
                Ok(side) => native[id] = Some(Box::new(side)),
                Err(error) => {
                    failures.insert(id, error);
                }
            }
        }
        match failures.first_key_value() {
            Some((&id, error)) => Err(in_place(merged, id, error)),
            None => Ok(native),
        }
    }

    /// Whether a section gets bytes. Dead ones do not, nor do banks that were reported as too large: their size is only what
    /// symbols claim, and may be absurd.
    fn has_bytes(self, id: SectionId) -> bool {
        let merged = self.laid_out.merged();
        let is_refused = matches!(merged.sections.kind(id), SectionKind::Constant(_))
            && merged.is_executable()
            && merged.sections[id].target.is_none()
            && merged.sections[id].content.size > BANK_LIMIT;
        self.laid_out.pruned.live.sections[id] && !is_refused
    }

    /// Applies the relocations of a section of the link view.
    fn relocate_linked(self, id: SectionId) -> Result<Patched<'d>, ParseError> {
        let merged = self.laid_out.merged();
        if !self.has_bytes(id) || merged.sections.kind(id).is_list() {
            return Ok(Patched::default());
        }
        let section = &merged.sections[id];
        let mut patched = Patched {
            bytes: gather(merged, section, self.behaviour)?,
            kept: Vec::with_capacity(match section.kind {
                // Nearly all relocations of code stay for the driver.
                SectionKind::Text => section.relocations.len(),
                _ => 0,
            }),
            resolved: Vec::new(),
        };
        let resolver = Resolver::new(self.laid_out, section, World::Linked, self.behaviour);
        let code_positions = section
            .native
            .as_ref()
            .filter(|_| section.kind == SectionKind::Text)
            .map(|twin| {
                let code = concatenate(&twin.content, section.kind);
                let (mercury, native) = (&section.relocations, &twin.relocations);
                capsule::positions(&patched.bytes, mercury, &code, native)
            })
            .transpose()?;
        for (index, relocation) in section.relocations.iter().enumerate().rev() {
            let at = match &code_positions {
                Some(positions) => positions[index],
                None => Some(relocation.offset),
            };
            apply(&resolver, &mut patched, relocation, at)?;
        }
        Ok(patched)
    }

    /// Applies the relocations of a native twin. `shared_bytes` are those of the section.
    fn relocate_native(
        self,
        id: SectionId,
        twin: &NativeContent<'d>,
        shared_bytes: &mut Cow<'d, [u8]>,
        units: &lines::Units,
    ) -> Result<Patched<'d>, ParseError> {
        let Self {
            laid_out,
            behaviour,
            ..
        } = self;
        let section = &laid_out.merged().sections[id];
        let resolver = Resolver::new(laid_out, section, World::Native, behaviour);
        let mut patched = Patched {
            bytes: if twin.shares_bytes {
                std::mem::take(shared_bytes)
            } else if is_joined(laid_out.merged(), section) {
                stubs::native(section, &twin.content, behaviour)?
            } else {
                concatenate(&twin.content, section.kind)
            },
            ..Patched::default()
        };
        let frames =
            (section.name == section_name::FRAMES).then(|| frames::Frames::parse(&patched.bytes));
        let frames = frames.transpose()?;
        let mut corrections = Corrections::new(
            laid_out,
            behaviour,
            section,
            twin,
            frames.as_ref(),
            shared_bytes,
        )?;
        let follows_units = resolve::follows_units(section.name, behaviour);
        for (index, relocation) in twin.relocations.iter().enumerate().rev() {
            let mut relocation = *relocation;
            corrections.correct(index, &mut relocation);
            if follows_units {
                units.follow(laid_out.merged(), &mut relocation);
            }
            let at = Some(relocation.offset);
            apply(&resolver, &mut patched, &relocation, at)?;
        }
        if twin.shares_bytes {
            shared_bytes.clone_from(&patched.bytes);
        }
        if self.adds_start_of_handles(id, twin) {
            let start = laid_out.texture_slots.first();
            let code = patched.bytes.to_mut();
            capsule::start_handles(shared_bytes, code, &twin.relocations, start)?;
        }
        if debug_registers::is_table(section.name) {
            let mercury = concatenate(&section.content, section.kind);
            debug_registers::place(laid_out, behaviour, &mercury, &mut patched.bytes);
        }
        if let Some(frames) = frames {
            patched = frames.without_removed(laid_out, section, twin, shared_bytes, patched)?;
        }
        if section.kind == SectionKind::Constant(OPTIMIZER_BANK) {
            self.fill_tables(id, section, twin, &mut patched);
        }
        Ok(patched)
    }

    /// Whether it is machine code that loads handles of textures by their places among all, to which it has to add where
    /// the handles start.
    fn adds_start_of_handles(self, id: SectionId, twin: &NativeContent<'_>) -> bool {
        let merged = self.laid_out.merged();
        let is_place = |r: &Relocation| {
            merged.symbols[r.symbol].kind.is_reference() && resolve::is_place_among_handles(r)
        };
        merged.target.has_mercury()
            && merged.sections.kind(id) == SectionKind::Text
            && (twin.relocations.iter().any(is_place)
                || self.laid_out.texture_slots.are_placed_for(id))
    }

    /// Writes the tables among the compiler's constants, through which code branches.
    fn fill_tables(
        self,
        id: SectionId,
        section: &Section<'d>,
        twin: &NativeContent<'d>,
        patched: &mut Patched<'d>,
    ) {
        let Self {
            laid_out,
            behaviour,
            ..
        } = self;
        let merged = laid_out.merged();
        let banks = section
            .target
            .and_then(|slots| self.banks_of_slots.get(&slots));
        if behaviour == Behaviour::Nvlink
            && let Some(banks) = banks
        {
            match banks[..] {
                [.., last] if last == id => {
                    tables::fill(patched, merged, twin, &section.relocations, behaviour);
                    for _ in 1..banks.len() {
                        tables::lead_on(patched, merged, &section.relocations);
                    }
                }
                _ => tables::clear(patched, &section.relocations),
            }
            return;
        }
        let lost = section
            .lost_constants()
            .map(|lost| &merged.sections[lost])
            .filter(|lost| behaviour == Behaviour::Nvlink && lost.content.size > 0);
        // nvlink goes through the later one of two sections of a name twice, and never through the
        // first one.
        if lost.is_none() || section.is_second() {
            tables::fill(patched, merged, twin, &section.relocations, behaviour);
        }
        if lost.is_some() && section.is_second() {
            tables::lead_on(patched, merged, &section.relocations);
        }
    }
}

/// The banks of compiler constants that belong to slots of unified functions, by the code of these, which is the same:
/// nvlink finds banks by it, and for each of them goes through the last one (case `unified_tables`).
fn banks_of_slots(pruned: &Pruned<'_>) -> FxHashMap<SectionId, Vec<SectionId>> {
    let Pruned { merged, live, .. } = pruned;
    let banks = merged
        .sections
        .of_kind(|kind| kind == SectionKind::Constant(OPTIMIZER_BANK));
    let mut of_slots: FxHashMap<SectionId, Vec<SectionId>> = FxHashMap::default();
    for (id, bank) in banks {
        let slots = bank
            .target
            .filter(|&slots| merged.sections[slots].kind == SectionKind::Stubs);
        if let Some(slots) = slots.filter(|_| live.sections[id]) {
            of_slots.entry(slots).or_default().push(id);
        }
    }
    of_slots
}

/// An error of relocations, with the section and where that comes from.
fn in_place(merged: &Merged<'_>, id: SectionId, error: &ParseError) -> ParseError {
    let section = &merged.sections[id];
    let input = input_of(merged, section).unwrap_or("the linked program");
    error.clone().in_section(section.name).in_input(input)
}

/// The input that a function's code comes from. Other sections have many inputs.
fn input_of<'m>(merged: &'m Merged<'_>, section: &Section<'_>) -> Option<&'m str> {
    let function = &merged.functions[section.function?];
    let input = merged.symbols[function.symbol].input?;
    Some(&merged.inputs[input.index()])
}

/// Turns the offsets and addends of native relocations that are places in Mercury code into places in machine code (case
/// `native_relocations`).
fn count_machine_code(merged: &mut Merged<'_>) {
    let counting = merged.sections.enumerate().filter_map(|(id, section)| {
        let native = section.native.as_ref()?;
        let function = section.function.filter(|_| native.counts_mercury)?;
        Some((id, merged.functions[function].symbol))
    });
    let counting: Vec<(SectionId, SymbolId)> = counting.collect();
    for (id, function) in counting {
        let Some(places) = Places::of(merged, function) else {
            continue;
        };
        let native = merged.sections[id].native.as_mut();
        for relocation in native
            .into_iter()
            .flat_map(|native| &mut native.relocations)
        {
            if let Some(place) = places.around(relocation.offset) {
                relocation.offset = place;
            }
            if relocation.symbol == function
                && let Some(place) = places.native(relocation.addend as u64)
            {
                relocation.addend = place as i64;
            }
        }
    }
}

/// Where machine code holds return addresses, for calls of functions inside a kernel of a whole program. The Mercury code
/// has relocations there.
fn returns(merged: &Merged<'_>, section: SectionId) -> Vec<u64> {
    let row = &merged.sections[section];
    let is_place = |r: &&Relocation| r.kind == RelocationType::R_MERCURY_PROG_REL32.0;
    let mut relocations = row.relocations.iter().filter(is_place).peekable();
    let function = row.function.filter(|_| relocations.peek().is_some());
    let places = function.and_then(|f| Places::of(merged, merged.functions[f].symbol));
    let Some(places) = places else {
        return Vec::new();
    };
    let native = relocations.filter_map(|relocation| places.around(relocation.offset));
    native.collect()
}

/// The machine code of a function inside a kernel of a whole program, as a range of the kernel's code.
pub(crate) fn place_inside(merged: &Merged<'_>, symbol: SymbolId) -> Option<Range<u64>> {
    let owner = merged.surrounding(symbol)?;
    let places = Places::of(merged, merged.functions[owner].symbol)?;
    let Symbol { value, size, .. } = merged.symbols[symbol];
    let start = places.native(value)?;
    let end = value.saturating_add(size);
    // Padding at the end of the code belongs to the last function.
    let next = places.native(end).filter(|_| !places.is_end(end));
    Some(start..next.unwrap_or(places.size))
}

/// Where nvlink takes the machine code of a function to begin that stands inside a kernel of a whole program: it looks in the
/// code in use, and knows nothing of what would be behind its end (case `whole_program_names`).
pub(crate) fn place_inside_lost(merged: &Merged<'_>, symbol: SymbolId) -> Option<u64> {
    let owner = merged.functions[merged.surrounding(symbol)?].symbol;
    let row = &merged.symbols[symbol];
    let places = Places::of(merged, owner).filter(|_| row.input != merged.symbols[owner].input)?;
    let acting = places.acting(row.value);
    Some(acting.map_or(0, |acting| acting.place))
}

/// Places in the machine code of a function for these places in its Mercury code. nvlink writes 0 where no instruction
/// begins.
pub(crate) fn native_places(
    merged: &Merged<'_>,
    function: FunctionId,
    places: impl Iterator<Item = u32>,
) -> Option<Vec<u32>> {
    let own = Places::of(merged, merged.functions[function].symbol)?;
    let native = |place: u32| {
        let place = u64::from(place);
        own.own(place)
            .or_else(|| own.native(place))
            .unwrap_or_default() as u32
    };
    Some(places.map(native).collect())
}

/// Where barriers of the block are in the machine code of a function, for places at which what prepares them begins:
/// CUDA 12 names those (case `older_barrier_places`).
pub(crate) fn barrier_places(
    merged: &Merged<'_>,
    function: FunctionId,
    places: impl Iterator<Item = u32>,
) -> Option<Vec<u32>> {
    let function = &merged.functions[function];
    if !recode::is_of_first_version(function) {
        return None;
    }
    let (code, capsule) = expanded::input_code(merged, function)?;
    expanded::barriers(code, capsule, places)
}

/// Joins the contributions, zeros in the gaps.
fn gather<'d>(
    merged: &Merged<'d>,
    section: &Section<'d>,
    behaviour: Behaviour,
) -> Result<Cow<'d, [u8]>, ParseError> {
    if section.kind.is_nobits() {
        Ok(Cow::default())
    } else if is_joined(merged, section) {
        stubs::mercury(section, behaviour)
    } else {
        let bytes = concatenate(&section.content, section.kind);
        match &section.native {
            Some(twin) if matches!(section.kind, SectionKind::Text | SectionKind::Stubs) => {
                renewed(bytes, &concatenate(&twin.content, section.kind))
            }
            _ => Ok(bytes),
        }
    }
}

/// Whether the section holds the slots of all unified functions, which Mercury executables join into one.
fn is_joined(merged: &Merged<'_>, section: &Section<'_>) -> bool {
    section.kind == SectionKind::Stubs && merged.target.has_mercury() && merged.is_executable()
}

/// The bytes of the contributions, with zeros in the gaps. A single contribution, as most sections have, is borrowed.
fn concatenate<'d>(content: &Content<'d>, kind: SectionKind) -> Cow<'d, [u8]> {
    debug_assert!(!kind.is_nobits());
    if let [lone] = content.contributions[..]
        && lone.data.len() as u64 == content.size
    {
        return Cow::Borrowed(lone.data);
    }
    let mut bytes = Vec::with_capacity(content.size as usize);
    for part in content.contributions.iter() {
        bytes.resize(part.offset as usize, 0);
        bytes.extend_from_slice(part.data);
    }
    bytes.resize(content.size as usize, 0);
    Cow::Owned(bytes)
}
