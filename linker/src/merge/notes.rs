//! The notes of a link: what made the inputs, and what they are for.

use std::borrow::Cow;

use crate::arch::{Sm, Toolkit};
use crate::cubin::{DeviceNote, Note, NoteKind, SectionFlags, ToolNote};
use crate::error::ParseError;
use crate::options::Behaviour;
use crate::read::{InputSection, Object, Role};

/// Notes of the inputs, to be written behind our own.
#[derive(Debug, Clone)]
pub(crate) struct Notes<'d> {
    /// Tool records, in input order.
    pub(crate) tools: Vec<&'d [u8]>,
    /// The driver note, which names the lowest virtual processor of the inputs (case
    /// `relocatable_weak`). What else it says is the link's (case `odd_records`).
    pub(crate) driver: Cow<'d, [u8]>,
    /// Its section flags: those of the last input for that processor.
    pub(crate) driver_flags: SectionFlags,
    /// Some input was compiled by a compiler older than CUDA 13.
    pub(crate) has_older: bool,
    /// Some input was compiled by a compiler older than CUDA 10.
    pub(crate) has_oldest: bool,
    /// Some input was compiled for a virtual processor before sm_70, and some for another one.
    before_volta: bool,
    since_volta: bool,
    /// The virtual processor that it names; `None` before the first input.
    virtual_sm: Option<u16>,
    /// The newest of the toolkits that made the inputs, which it names.
    pub(crate) toolkit: Toolkit,
}

impl<'d> Notes<'d> {
    /// What a link without inputs writes.
    pub(super) fn new(target: Sm, toolkit: Toolkit) -> Self {
        Self {
            tools: Vec::new(),
            driver: driver_note(target.number, toolkit),
            driver_flags: match target.is_hopper_or_newer() {
                true => SectionFlags::DEVICE_NOTE.with(SectionFlags::INFO_LINK),
                false => SectionFlags::DEVICE_NOTE,
            },
            has_older: false,
            has_oldest: false,
            before_volta: false,
            since_volta: false,
            virtual_sm: None,
            toolkit,
        }
    }

    /// Takes over what compiled an input.
    pub(super) fn add(&mut self, origin: Origin) {
        self.has_older |= origin.is_older;
        self.has_oldest |= origin.is_oldest;
        let is_before = origin.virtual_sm.is_some_and(|number| number < VOLTA);
        self.before_volta |= is_before;
        self.since_volta |= !is_before;
    }

    /// How many inputs were compiled for virtual processors before sm_70, where no thread of a
    /// warp runs without the others.
    pub(crate) fn before_volta(&self) -> Share {
        match (self.before_volta, self.since_volta) {
            (false, _) => Share::None,
            (true, true) => Share::Some,
            (true, false) => Share::All,
        }
    }

    /// Takes over the processor of an object whose note is of an older kind.
    pub(super) fn merge_header(&mut self, virtual_sm: u16) {
        if self.is_lowest(Some(virtual_sm)) {
            self.driver = driver_note(virtual_sm, self.toolkit);
        }
    }

    /// Whether no input so far is for a lower virtual processor.
    fn is_lowest(&mut self, virtual_sm: Option<u16>) -> bool {
        let is_lowest = self.virtual_sm.is_none() || virtual_sm <= self.virtual_sm;
        if is_lowest {
            self.virtual_sm = virtual_sm;
        }
        is_lowest
    }

    /// Takes over a section of notes.
    pub(super) fn merge(
        &mut self,
        section: &InputSection<'d>,
        behaviour: Behaviour,
    ) -> Result<(), ParseError> {
        match section.name {
            ToolNote::SECTION => {
                if behaviour == Behaviour::Own {
                    check_tool_notes(section)?;
                }
                self.tools.push(section.data);
            }
            DeviceNote::SECTION => {
                let virtual_sm = lowest_virtual_sm(&device_notes(section, behaviour)?);
                if self.is_lowest(virtual_sm) {
                    let named = virtual_sm.map(|virtual_sm| driver_note(virtual_sm, self.toolkit));
                    self.driver = named.unwrap_or(Cow::Borrowed(section.data));
                    self.driver_flags = section.flags;
                }
            }
            DeviceNote::OLDER_SECTION => {
                if let Some(virtual_sm) = lowest_virtual_sm(&device_notes(section, behaviour)?) {
                    self.merge_header(virtual_sm);
                }
            }
            _ => {}
        }
        Ok(())
    }
}

/// What compiled an input, and for what.
#[derive(Debug, Clone, Copy)]
pub(super) struct Origin {
    /// The virtual processor.
    pub(super) virtual_sm: Option<u16>,
    /// The newest toolkit that a note of today's name tells of.
    toolkit: Option<Toolkit>,
    /// The compiler is older than CUDA 13.
    pub(super) is_older: bool,
    /// The compiler is older than CUDA 10, or so the header or the note of today's name says.
    pub(super) is_oldest: bool,
}

impl Origin {
    /// Looks it up in the notes or the header of an object. Damaged notes are
    /// reported where they are merged.
    pub(super) fn of(object: &Object<'_>, behaviour: Behaviour) -> Self {
        let sections = object.sections.iter().filter(|s| s.role == Role::Note);
        let notes = sections
            .filter_map(|section| Some((section.name, device_notes(section, behaviour).ok()?)));
        let named: Vec<(&str, DeviceNote)> = notes
            .flat_map(|(name, notes)| notes.into_iter().map(move |note| (name, note)))
            .collect();
        let is_oldest = |&(name, note): &(&str, DeviceNote)| {
            name == DeviceNote::SECTION && note.toolkit().is_none_or(|made| made < OLDEST)
        };
        let is_oldest =
            named.iter().any(is_oldest) || object.toolkit.is_some_and(|made| made < OLDEST.into());
        let todays = named
            .iter()
            .filter(|(name, _)| *name == DeviceNote::SECTION);
        let toolkit = todays.filter_map(|(_, note)| note.toolkit()).max();
        let notes: Vec<DeviceNote> = named.into_iter().map(|(_, note)| note).collect();
        let is_older = |note: &DeviceNote| {
            note.toolkit()
                .is_none_or(|made| Toolkit(made) < Toolkit::FOLLOWED)
        };
        Self {
            virtual_sm: object.virtual_sm.or_else(|| lowest_virtual_sm(&notes)),
            toolkit: toolkit.map(Toolkit),
            is_older: object.virtual_sm.is_some() || notes.iter().any(is_older),
            is_oldest,
        }
    }
}

/// The newest toolkit that made an object, and at least the one whose linker ours is like. A program says
/// that it needs a driver for this one (docs/format/notes.md).
pub(super) fn newest_toolkit<'o>(origins: impl Iterator<Item = &'o Origin>) -> Toolkit {
    let made = origins.filter_map(|origin| origin.toolkit);
    made.fold(Toolkit::FOLLOWED, Toolkit::max)
}

/// Whether what the tools say of themselves can be read from the image.
fn check_tool_notes(section: &InputSection<'_>) -> Result<(), ParseError> {
    let notes = Note::parse_all(section.data)?;
    let mut tools = notes.iter().filter(|note| note.kind == NoteKind::TOOL);
    tools.try_for_each(|note| ToolNote::strings(note.description).map(drop))
}

fn lowest_virtual_sm(notes: &[DeviceNote]) -> Option<u16> {
    notes.iter().map(|note| note.virtual_sm).min()
}

fn device_notes(
    section: &InputSection<'_>,
    behaviour: Behaviour,
) -> Result<Vec<DeviceNote>, ParseError> {
    match behaviour {
        Behaviour::Nvlink => DeviceNote::all_as_nvlink(section.name, section.data),
        Behaviour::Own => DeviceNote::all(section.data),
    }
}

/// A driver note of our own.
fn driver_note<'d>(virtual_sm: u16, toolkit: Toolkit) -> Cow<'d, [u8]> {
    let description = DeviceNote {
        version: 2,
        virtual_sm,
        toolkit: toolkit.0,
        reserved: 0,
        extra: None,
    };
    let mut note = Vec::new();
    Note::nvidia(NoteKind::DEVICE, &description.encode()).encode(&mut note);
    note.into()
}

/// How many inputs are of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Share {
    None,
    Some,
    All,
}

/// The first processor on which the threads of a warp are independent.
const VOLTA: u16 = 70;

/// The first toolkit that nvlink does not mark the program for, times ten.
const OLDEST: u16 = 100;
