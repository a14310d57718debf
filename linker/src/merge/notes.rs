//! The notes of a link: what made the inputs, and what they are for.

use std::borrow::Cow;

use crate::arch::Sm;
use crate::cubin::{DeviceNote, Note, NoteKind};
use crate::error::ParseError;
use crate::read::{InputSection, Object, Role, SHF_INFO_LINK};

/// Notes of the inputs, to be written behind our own.
#[derive(Debug, Clone)]
pub(crate) struct Notes<'d> {
    /// Tool records, in input order.
    pub(crate) tools: Vec<&'d [u8]>,
    /// The driver note, which names the lowest virtual processor of the inputs (case
    /// `relocatable_weak`). What else it says is the link's (case `odd_records`).
    pub(crate) driver: Cow<'d, [u8]>,
    /// Its section flags: those of the last input for that processor.
    pub(crate) driver_flags: u64,
    /// Some input was compiled by a compiler older than CUDA 13.
    pub(crate) has_older: bool,
    /// The virtual processor that it names; `None` before the first input.
    virtual_sm: Option<u16>,
}

impl<'d> Notes<'d> {
    /// What a link without inputs writes.
    pub(super) fn new(target: Sm) -> Self {
        let link = if target.is_hopper_or_newer() {
            SHF_INFO_LINK
        } else {
            0
        };
        Self {
            tools: Vec::new(),
            driver: driver_note(target.number),
            driver_flags: 0x100_0000 | link,
            has_older: false,
            virtual_sm: None,
        }
    }

    /// Takes over the processor of an object whose note is of an older kind.
    pub(super) fn merge_header(&mut self, virtual_sm: u16) {
        if self.is_lowest(Some(virtual_sm)) {
            self.driver = driver_note(virtual_sm);
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
    pub(super) fn merge(&mut self, section: &InputSection<'d>) -> Result<(), ParseError> {
        match section.name {
            ".note.nv.tkinfo" => self.tools.push(section.data),
            ".note.nv.cuinfo" => {
                let virtual_sm = lowest_virtual_sm(&device_notes(section)?);
                if self.is_lowest(virtual_sm) {
                    self.driver = virtual_sm.map_or(Cow::Borrowed(section.data), driver_note);
                    self.driver_flags = section.flags;
                }
            }
            ".note.nv.cuver" => {
                if let Some(virtual_sm) = lowest_virtual_sm(&device_notes(section)?) {
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
    /// The compiler is older than CUDA 13.
    pub(super) is_older: bool,
}

impl Origin {
    /// Looks it up in the notes or the header of an object. Damaged notes are
    /// reported where they are merged.
    pub(super) fn of(object: &Object<'_>) -> Self {
        let sections = object.sections.iter().filter(|s| s.role == Role::Note);
        let notes = sections.filter_map(|section| device_notes(section).ok());
        let notes: Vec<DeviceNote> = notes.flatten().collect();
        let is_older = |note: &DeviceNote| note.toolkit().is_none_or(|made| made < TOOLKIT);
        Self {
            virtual_sm: object.virtual_sm.or_else(|| lowest_virtual_sm(&notes)),
            is_older: object.virtual_sm.is_some() || notes.iter().any(is_older),
        }
    }
}

fn lowest_virtual_sm(notes: &[DeviceNote]) -> Option<u16> {
    notes.iter().map(|note| note.virtual_sm).min()
}

fn device_notes(section: &InputSection<'_>) -> Result<Vec<DeviceNote>, ParseError> {
    let mut notes = Vec::new();
    for note in Note::parse_all(section.data)? {
        if note.kind == NoteKind::DEVICE {
            notes.push(DeviceNote::parse(note.description)?);
        }
    }
    Ok(notes)
}

/// A driver note of our own.
fn driver_note<'d>(virtual_sm: u16) -> Cow<'d, [u8]> {
    let description = DeviceNote {
        version: 2,
        virtual_sm,
        toolkit: TOOLKIT,
        reserved: 0,
        extra: None,
    };
    let mut note = Vec::new();
    Note::nvidia(NoteKind::DEVICE, &description.encode()).encode(&mut note);
    note.into()
}

/// The version of the toolkit whose images are written, times ten.
const TOOLKIT: u16 = 130;
