//! Where native relocations are, before they are applied: some stand for others of the Mercury world.

use rustc_hash::FxHashMap;

use super::expanded::{CodeInUse, Places};
use super::frames::Frames;
use super::resolve::follows_units;
use crate::cubin::section_name;
use crate::error::ParseError;
use crate::id::SymbolId;
use crate::layout::LaidOut;
use crate::merge::{Definition, Merged, NativeContent, Relocation, Section, SectionKind};
use crate::options::Behaviour;

/// What corrects the native relocations of one section.
pub(super) struct Corrections<'a, 'd> {
    laid_out: &'a LaidOut<'d>,
    /// The relocations of the section itself.
    mercury: &'a [Relocation],
    /// The frames that it holds.
    frames: Option<&'a Frames>,
    /// The places of those of frames that nvlink forgets.
    forgotten: FxHashMap<usize, u64>,
    /// Where instructions are in code whose native relocations belong to another definition.
    places: Option<Places>,
    /// What of the code is in use that debug information describes.
    code_in_use: Option<CodeInUse<'a, 'd>>,
    /// Whether all of them say what those of the section itself say, of code, too.
    are_mercury: bool,
    /// Whether they follow units of line tables to where these are in the native table.
    follows_units: bool,
}

impl<'a, 'd> Corrections<'a, 'd> {
    pub(super) fn new(
        laid_out: &'a LaidOut<'d>,
        behaviour: Behaviour,
        section: &'a Section<'d>,
        twin: &NativeContent<'d>,
        frames: Option<&'a Frames>,
        shared_bytes: &[u8],
    ) -> Result<Self, ParseError> {
        let merged = laid_out.merged();
        let is_paired = section.relocations.len() == twin.relocations.len();
        let has_code = is_paired
            && section.kind == SectionKind::Debug
            && frames.is_none()
            && is_translated(section, behaviour);
        Ok(Self {
            laid_out,
            mercury: &section.relocations,
            frames,
            forgotten: match frames {
                Some(frames) => frames.forgotten(section, twin, shared_bytes)?,
                None => FxHashMap::default(),
            },
            places: match is_paired && twin.follows_mercury {
                true => places(merged, section),
                false => None,
            },
            code_in_use: has_code.then(|| CodeInUse::new(merged, behaviour)),
            are_mercury: is_paired && !is_translated(section, behaviour),
            follows_units: !is_paired
                || section.kind != SectionKind::Debug
                || follows_units(section.name, behaviour),
        })
    }

    /// Corrects the relocation with this number.
    pub(super) fn correct(&mut self, index: usize, relocation: &mut Relocation) {
        if let Some(places) = &self.places
            && let Some(native) = places.around(self.mercury[index].offset)
        {
            relocation.offset = native;
        }
        let is_in_table = || is_in_line_table(self.laid_out.merged(), relocation.symbol);
        if self.are_mercury || !self.follows_units && is_in_table() {
            relocation.addend = self.mercury[index].addend;
        }
        if let Some(code) = &mut self.code_in_use {
            code.follow(&self.mercury[index], relocation);
        }
        if let Some(&place) = self.forgotten.get(&index) {
            relocation.offset = place;
        }
        if let Some(frames) = self.frames {
            frames.correct_pointer(self.laid_out, relocation);
        }
    }
}

/// Whether the places in code that a section names are translated for its native twin. `ptxas` and nvlink forget some
/// sections for debuggers, such as `.debug_ranges`, which have places in Mercury code in both worlds (case `debug_places`).
pub(super) fn is_translated(section: &Section<'_>, behaviour: Behaviour) -> bool {
    const TRANSLATED: [&str; 3] = [
        section_name::DEBUG_UNITS,
        section_name::DEBUG_LOCATIONS,
        section_name::FRAMES,
    ];
    behaviour == Behaviour::Own
        || section.kind != SectionKind::Debug
        || section_name::is_line_table(section.name)
        || TRANSLATED.contains(&section.name)
}

/// Whether a symbol is that of a line table.
fn is_in_line_table(merged: &Merged<'_>, symbol: SymbolId) -> bool {
    match merged.symbols[symbol].definition {
        Definition::Section(section) => section_name::is_line_table(merged.sections[section].name),
        _ => false,
    }
}

/// Where instructions are in the code of a function.
fn places(merged: &Merged<'_>, code: &Section<'_>) -> Option<Places> {
    Places::of(merged, merged.functions[code.function?].symbol)
}
