//! The notes of a link: what made the inputs, and what they are for.

use std::borrow::Cow;

use crate::arch::Sm;
use crate::cubin::{DeviceNote, Note, NoteKind};
use crate::error::ParseError;
use crate::read::{InputSection, SHF_INFO_LINK};

/// Notes of the inputs, to be written behind our own.
#[derive(Debug, Clone)]
pub(crate) struct Notes<'d> {
    /// Tool records, in input order.
    pub(crate) tools: Vec<&'d [u8]>,
    /// The driver note: of the inputs for the lowest virtual processor, the
    /// last one's (case `relocatable_weak`).
    pub(crate) driver: Cow<'d, [u8]>,
    /// Its section flags.
    pub(crate) driver_flags: u64,
    /// The virtual processor that it names; `None` before the first input.
    virtual_sm: Option<u16>,
}

impl<'d> Notes<'d> {
    /// What a link without inputs writes.
    pub(super) fn new(target: Sm) -> Self {
        let description = DeviceNote {
            version: 2,
            virtual_sm: target.number,
            toolkit: TOOLKIT,
            reserved: 0,
        }
        .encode();
        let mut driver = Vec::new();
        Note::nvidia(NoteKind::DEVICE, &description).encode(&mut driver);
        let link = if target.is_hopper_or_newer() {
            SHF_INFO_LINK
        } else {
            0
        };
        Self {
            tools: Vec::new(),
            driver: Cow::Owned(driver),
            driver_flags: 0x100_0000 | link,
            virtual_sm: None,
        }
    }

    /// Takes over a section of notes.
    pub(super) fn merge(&mut self, section: &InputSection<'d>) -> Result<(), ParseError> {
        if section.name == ".note.nv.tkinfo" {
            self.tools.push(section.data);
        } else if section.name == ".note.nv.cuinfo" {
            let virtual_sm = Note::parse_all(section.data)?
                .iter()
                .filter(|note| note.kind == NoteKind::DEVICE)
                .map(|note| Ok(DeviceNote::parse(note.description)?.virtual_sm))
                .collect::<Result<Vec<u16>, ParseError>>()?
                .into_iter()
                .min();
            if self.virtual_sm.is_none() || virtual_sm <= self.virtual_sm {
                self.virtual_sm = virtual_sm;
                self.driver = section.data.into();
                self.driver_flags = section.flags;
            }
        }
        Ok(())
    }
}

/// The version of the toolkit whose images are written, times ten.
const TOOLKIT: u16 = 130;
