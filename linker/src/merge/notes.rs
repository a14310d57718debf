//! The notes of a link: what made the inputs, and what they are for.

use std::borrow::Cow;

use crate::arch::Sm;
use crate::cubin::{DeviceNote, Note, NoteKind};
use crate::read::SHF_INFO_LINK;

/// Notes of the inputs, to be written behind our own.
#[derive(Debug, Clone)]
pub(crate) struct Notes<'d> {
    /// Tool records, in input order.
    pub(crate) tools: Vec<&'d [u8]>,
    /// The driver note, of the last input.
    pub(crate) driver: Cow<'d, [u8]>,
    /// Its section flags.
    pub(crate) driver_flags: u64,
}

impl Notes<'_> {
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
        }
    }
}

/// The version of the toolkit whose images are written, times ten.
const TOOLKIT: u16 = 130;
