//! Phase 5: section bytes become ours, and each relocation is applied, kept
//! for the driver, or dropped.
//!
//! A link knows the addresses of constants and of shared memory, and the
//! offsets inside debug sections. Functions and global variables get their
//! addresses from the driver: relocations against them stay.

mod capsule;
mod debug_registers;
mod expanded;
mod frames;
mod lines;
mod recode;
mod resolve;
mod scoreboards;
mod stubs;
mod tables;
mod undefined;

use std::borrow::Cow;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::arch::relocation::{self, ApplyError, Class, RelocationType};
use crate::diagnostic::Diagnostics;
use crate::error::{ParseError, Problem};
use crate::id::{FunctionId, Id as _, IdVec, SectionId};
use crate::layout::LaidOut;
use crate::merge::{Content, Form, Merged, Relocation, Section, SectionKind};
use crate::options::{Keeping, ResolvedRelocations};
use crate::parallel;
use crate::read::OPTIMIZER_BANK;

use recode::renewed;
pub(crate) use recode::{Moves, recode};
use resolve::{Resolver, World};

/// Bytes of one section, and what the driver still has to patch in them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Patched<'d> {
    /// The input's own where nothing had to change.
    pub(crate) bytes: Cow<'d, [u8]>,
    /// In the order of the output: the last input's last relocation first.
    pub(crate) kept: Vec<Relocation>,
    /// What was patched, for the record, in the same order.
    pub(crate) resolved: Vec<Relocation>,
}

/// What was laid out, with bytes.
#[derive(Debug)]
pub(crate) struct Relocated<'d> {
    pub(crate) laid_out: LaidOut<'d>,
    pub(crate) sections: IdVec<SectionId, Patched<'d>>,
    /// The native twins of the Mercury generation.
    pub(crate) native: IdVec<SectionId, Option<Box<Patched<'d>>>>,
    /// Functions whose native code was made anew.
    pub(crate) moves: FxHashMap<FunctionId, Moves>,
}

/// Applies every relocation of the live sections.
pub(crate) fn relocate<'d>(
    laid_out: LaidOut<'d>,
    keeping: Keeping,
    diagnostics: &mut Diagnostics,
) -> Result<Relocated<'d>, ParseError> {
    if laid_out.pruned.merged.image.is_executable() {
        undefined::report(&laid_out, keeping, diagnostics);
    }
    let merged = &laid_out.pruned.merged;
    let ids: Vec<SectionId> = merged.sections.enumerate().map(|(id, _)| id).collect();
    let bytes = merged.sections.iter().map(|section| section.content.size);
    let bytes = bytes.sum::<u64>() as usize;
    let mut sections = parallel::map(&ids, bytes, |&id| relocate_linked(&laid_out, id));
    let mut native = relocate_twins(&laid_out, &mut sections, bytes, keeping)?;
    let mut sections: IdVec<SectionId, Patched<'d>> =
        sections.into_iter().collect::<Result<_, _>>()?;
    join_records(&laid_out.pruned.merged, &mut sections, &mut native);
    Ok(Relocated {
        laid_out,
        sections,
        native,
        moves: FxHashMap::default(),
    })
}

/// Applies the relocations of the native twins of live sections. Of all that
/// failed, the first is an error. Line tables come first: what refers to their
/// units follows them.
fn relocate_twins<'d>(
    laid_out: &LaidOut<'d>,
    sections: &mut [Result<Patched<'d>, ParseError>],
    bytes: usize,
    keeping: Keeping,
) -> Result<IdVec<SectionId, Option<Box<Patched<'d>>>>, ParseError> {
    let merged = &laid_out.pruned.merged;
    let mut native = IdVec::filled(&merged.sections, None);
    let place = |id: SectionId, error: &ParseError| {
        let section = &merged.sections[id];
        let error = error.clone().in_section(section.name);
        match input_of(merged, section) {
            Some(input) => error.in_input(input),
            None => error.in_input("the linked program"),
        }
    };
    let mut units = lines::Units::default();
    let (mut twins, mut sides) = (Vec::new(), Vec::new());
    let mut failed: Option<(SectionId, ParseError)> = None;
    let linked = sections.iter_mut().zip(merged.sections.enumerate());
    for (patched, (id, section)) in linked {
        let is_table = lines::is_table(section.name);
        let twin = section.native.as_deref();
        let twin = twin.filter(|_| laid_out.pruned.live.sections[id]);
        match (patched, twin) {
            (Err(error), _) if is_table => return Err(place(id, error)),
            (Err(error), _) if failed.is_none() => failed = Some((id, error.clone())),
            (Err(_), _) => {}
            (Ok(patched), Some(twin)) if is_table => {
                let bytes = &mut patched.bytes;
                let side = relocate_native(laid_out, id, twin, bytes, &units, keeping)
                    .and_then(|side| lines::rebuild(laid_out, id, twin, bytes, side, &mut units))
                    .map_err(|error| place(id, &error))?;
                native[id] = Some(Box::new(side));
            }
            (Ok(patched), Some(twin)) => {
                twins.push((id, twin));
                sides.push((&mut patched.bytes, Ok(Patched::default())));
            }
            (Ok(_), None) => {}
        }
    }
    parallel::fill(&twins, &mut sides, bytes, |&(id, twin), (bytes, side)| {
        *side = relocate_native(laid_out, id, twin, bytes, &units, keeping);
    });
    for ((id, _), (_, side)) in twins.into_iter().zip(sides) {
        match side {
            Ok(side) => native[id] = Some(Box::new(side)),
            Err(error) => {
                failed = failed
                    .filter(|(known, _)| *known < id)
                    .or(Some((id, error)));
                break;
            }
        }
    }
    match failed {
        Some((id, error)) => Err(place(id, &error)),
        None => Ok(native),
    }
}

/// Applies the relocations of what the merge worked on. Dead sections get no
/// bytes.
fn relocate_linked<'d>(laid_out: &LaidOut<'d>, id: SectionId) -> Result<Patched<'d>, ParseError> {
    if !laid_out.pruned.live.sections[id] {
        return Ok(Patched::default());
    }
    let merged = &laid_out.pruned.merged;
    let section = &merged.sections[id];
    let mut patched = Patched {
        bytes: gather(merged, section)?,
        kept: Vec::with_capacity(match section.kind {
            // The driver gets nearly all relocations of code.
            SectionKind::Text => section.relocations.len(),
            _ => 0,
        }),
        resolved: Vec::new(),
    };
    let resolver = Resolver::new(laid_out, section, World::Linked);
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

/// What was resolved in code that has no section for it is recorded in that
/// of the first code of the name, the last code first.
fn join_records(
    merged: &Merged<'_>,
    sections: &mut IdVec<SectionId, Patched<'_>>,
    native: &mut IdVec<SectionId, Option<Box<Patched<'_>>>>,
) {
    if merged.resolved_relocations == ResolvedRelocations::Dropped {
        return;
    }
    let records = merged.sections.iter();
    let records = records.filter(|s| s.kind == SectionKind::ResolvedRela);
    let recorded: FxHashSet<SectionId> = records.filter_map(|s| s.target).collect();
    let mut first: FxHashMap<&str, SectionId> = FxHashMap::default();
    for (id, section) in merged.sections.enumerate() {
        if recorded.contains(&id) {
            first.entry(section.name).or_insert(id);
        } else if let Some(&first) = first.get(section.name) {
            let own = std::mem::take(&mut sections[id].resolved);
            sections[first].resolved.splice(..0, own);
            let own = native[id].as_mut().map(|n| std::mem::take(&mut n.resolved));
            if let (Some(own), Some(first)) = (own, &mut native[first]) {
                first.resolved.splice(..0, own);
            }
        }
    }
}

/// The input of a function's code. What other sections hold comes from many.
fn input_of<'m>(merged: &'m Merged<'_>, section: &Section<'_>) -> Option<&'m str> {
    let function = &merged.functions[section.function?];
    let input = merged.symbols[function.symbol].input?;
    Some(&merged.inputs[input.index()])
}

/// nvlink has words for what lies outside of its section, and for no other
/// field that cannot be patched.
fn beyond(error: &ApplyError, problem: ParseError) -> ParseError {
    match error {
        ApplyError::PastEnd { .. } => problem.as_nvlink("reloc address not found"),
        _ => problem,
    }
}

fn relocate_native<'d>(
    laid_out: &LaidOut<'d>,
    id: SectionId,
    twin: &crate::merge::NativeContent<'d>,
    shared_bytes: &mut Cow<'d, [u8]>,
    units: &lines::Units,
    keeping: Keeping,
) -> Result<Patched<'d>, ParseError> {
    let section = &laid_out.pruned.merged.sections[id];
    let resolver = Resolver::new(laid_out, section, World::Native);
    let mut patched = Patched::default();
    if twin.shares_bytes {
        patched.bytes = std::mem::take(shared_bytes);
    } else if is_joined(&laid_out.pruned.merged, section) {
        patched.bytes = stubs::native(&twin.content);
    } else {
        patched.bytes = concatenate(&twin.content, section.kind);
    }
    let frames = (section.name == ".debug_frame").then(|| frames::Frames::parse(&patched.bytes));
    let frames = frames.transpose()?;
    for relocation in twin.relocations.iter().rev() {
        let mut relocation = *relocation;
        if let Some(frames) = &frames {
            frames.correct_pointer(laid_out, &mut relocation);
        }
        units.follow(laid_out, &mut relocation);
        let at = Some(relocation.offset);
        apply(&resolver, &mut patched, &relocation, at)?;
    }
    if twin.shares_bytes {
        shared_bytes.clone_from(&patched.bytes);
    }
    if debug_registers::is_table(section.name) {
        debug_registers::forget_removed(laid_out, keeping, &mut patched.bytes);
    }
    if let Some(frames) = frames {
        patched = frames.without_removed(laid_out, &twin.relocations, shared_bytes, patched)?;
    }
    if section.kind == SectionKind::Constant(OPTIMIZER_BANK) {
        tables::fill(&mut patched, twin, &section.relocations, keeping);
    }
    Ok(patched)
}

fn apply(
    resolver: &Resolver<'_, '_>,
    patched: &mut Patched<'_>,
    relocation: &Relocation,
    at: Option<u64>,
) -> Result<(), ParseError> {
    let kind = RelocationType(relocation.kind);
    let fail = |text: String| {
        ParseError::new(Problem::Malformed(format!("relocation {kind}: {text}")))
            .at(relocation.offset)
    };
    let row = kind
        .row()
        .ok_or_else(|| fail("the type is not known".to_owned()).as_nvlink("unexpected NVRS"))?;
    let out_of_place = |e: ApplyError| beyond(&e, fail(e.to_string()));
    let outside = |end: u64| fail(format!("it lies outside of the {end:#x} bytes there are"));
    let code_end = resolver.end_of_expanded_code();
    let removed = resolver.is_removed(relocation);
    if resolver.leaves_addresses() {
        if relocation.discarded {
            return Ok(());
        }
        let end = code_end.unwrap_or(patched.bytes.len() as u64);
        if relocation.offset >= end {
            return Err(outside(end));
        }
        let needs_addend = relocation.addend != 0 || resolver.writes_addends();
        patched.kept.push(match needs_addend {
            true => with_addend(row, &patched.bytes, *relocation).map_err(out_of_place)?,
            false => *relocation,
        });
        return Ok(());
    }
    let is_function = resolver.is_function(relocation);
    let value = resolver.value(relocation);
    let is_cleared = removed || resolver.is_shared(relocation);
    if row.class == Class::UnusedClear && is_cleared && !relocation.discarded {
        row.apply(patched.bytes.to_mut(), relocation.offset, 0, None)
            .map_err(out_of_place)?;
        return Ok(());
    }
    if removed || relocation.discarded || resolver.is_ignored(relocation) {
        return Ok(());
    }
    let kept_as = match (row.class, value) {
        // The last link knows which addresses are unified (case
        // `every_relocation`).
        (Class::Unified { .. }, Some(_)) if !resolver.is_executable() => kind,
        (Class::Patch | Class::Slot | Class::Unified { .. }, Some(target)) => {
            if resolver.is_recorded(relocation) {
                patched.resolved.push(*relocation);
            }
            if let Some(end) = code_end.filter(|&end| relocation.offset >= end) {
                return Err(outside(end).as_nvlink("reloc address not found"));
            }
            let Some(at) = at else { return Ok(()) };
            let (value, addend) = match relocation.form {
                Form::Rela => (target.value, Some(relocation.addend)),
                Form::Rel => (target.value.wrapping_add(relocation.addend as u64), None),
            };
            row.resolve(patched.bytes.to_mut(), at, value, addend, target.bank)
                .map_err(out_of_place)?;
            return Ok(());
        }
        (Class::Dropped | Class::Yield | Class::UnusedClear, Some(_)) => return Ok(()),
        (Class::Dropped | Class::UnusedClear, None) if is_function => return Ok(()),
        (Class::Unified { plain }, None) if resolver.knows_no_unified() => plain,
        (Class::FunctionDescriptor, _) if !is_function => {
            return Err(fail("the target is not a function".to_owned()));
        }
        (Class::PcRelative, Some(target)) if target.bank.is_some() => {
            let problem = fail("the target is not code".to_owned());
            let words = "PC relative branch address should be in the same section";
            return Err(problem.as_nvlink(words));
        }
        (Class::KeptForDriver, Some(_)) if resolver.is_shared(relocation) => {
            let problem = fail("the driver knows no address of shared memory".to_owned());
            return Err(problem.as_nvlink("reference to deleted symbol"));
        }
        (Class::Refused, _) => {
            let problem = fail("the type is not for relocatable objects".to_owned());
            return Err(problem.as_nvlink(match resolver.has_mercury() {
                true => "unexpected reloc",
                false => "unexpected NVRS",
            }));
        }
        (Class::KeptForDriver | Class::FunctionDescriptor | Class::PcRelative, _)
        | (
            Class::Patch
            | Class::Slot
            | Class::Unified { .. }
            | Class::Dropped
            | Class::Yield
            | Class::UnusedClear,
            None,
        ) => kind,
    };
    let end = code_end.unwrap_or(patched.bytes.len() as u64);
    if relocation.offset >= end {
        return Err(outside(end).as_nvlink("relocation is past end of offset"));
    }
    if let Some(target) = resolver.expected_handle(relocation) {
        row.resolve(
            patched.bytes.to_mut(),
            relocation.offset,
            target.value,
            Some(relocation.addend),
            target.bank,
        )
        .map_err(out_of_place)?;
    }
    let kept = Relocation {
        kind: kept_as.0,
        symbol: resolver.first_name(relocation.symbol),
        ..*relocation
    };
    patched.kept.push(match resolver.writes_addends() {
        true => with_addend(row, &patched.bytes, kept).map_err(out_of_place)?,
        false => kept,
    });
    Ok(())
}

/// The relocation with the addend that its field holds.
fn with_addend(
    row: &relocation::Row,
    bytes: &[u8],
    relocation: Relocation,
) -> Result<Relocation, ApplyError> {
    if relocation.form == Form::Rela {
        return Ok(relocation);
    }
    let field = match row.implicit_addend(bytes, relocation.offset) {
        // What the driver patches without bits that a link knows holds none.
        Err(ApplyError::NoField(_)) if relocation.addend == 0 => 0,
        field => field?,
    };
    Ok(Relocation {
        addend: relocation.addend.wrapping_add(field as i64),
        form: Form::Rela,
        ..relocation
    })
}

/// Joins the contributions, zeros in the gaps.
fn gather<'d>(merged: &Merged<'d>, section: &Section<'d>) -> Result<Cow<'d, [u8]>, ParseError> {
    if section.kind.is_nobits() {
        Ok(Cow::default())
    } else if is_joined(merged, section) {
        stubs::mercury(section)
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

/// Whether this is all slots of unified functions in the Mercury generation.
fn is_joined(merged: &Merged<'_>, section: &Section<'_>) -> bool {
    section.kind == SectionKind::Stubs
        && merged.target.has_mercury()
        && merged.image.is_executable()
}

/// The lone part of most sections is borrowed.
fn concatenate<'d>(content: &Content<'d>, kind: SectionKind) -> Cow<'d, [u8]> {
    debug_assert!(!kind.is_nobits());
    if let [lone] = content.contributions[..]
        && lone.data.len() as u64 == content.size
    {
        return Cow::Borrowed(lone.data);
    }
    let mut bytes = Vec::with_capacity(content.size as usize);
    for part in &content.contributions {
        bytes.resize(part.offset as usize, 0);
        bytes.extend_from_slice(part.data);
    }
    bytes.resize(content.size as usize, 0);
    Cow::Owned(bytes)
}
