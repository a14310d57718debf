//! Host objects and fatbins: what they have for the processor.
//!
//! To unpack it is most of the work. Several threads do it for files and for
//! members of an archive, before these are looked at in order.

use std::borrow::Cow;
use std::collections::HashSet;

use super::super::check::Candidate;
use super::super::host::{HostObject, Modules, Origin};
use super::super::recorded::Record;
use super::super::select::{LtoIr, held, select};
use super::super::{Processor, Wanted};
use super::objects::{Checked, check, check_lasting};
use super::{Loader, Stop};
use crate::codes;
use crate::diagnostic::Diagnostic;
use crate::error::ParseError;
use crate::fatbin::{Decompressor, Fatbin, Kind};

/// Takes host objects and fatbins apart.
pub(super) struct Unpacker<'a, 'd> {
    pub(super) wanted: &'a Wanted,
    pub(super) processor: &'a Processor,
    /// Modules whose linked code is in some input.
    pub(super) linked_elsewhere: &'a HashSet<&'d str>,
}

/// A host object, and its code.
pub(super) struct Unpacked<'d> {
    pub(super) object: HostObject<'d>,
    /// What its fatbins have, up to the first that is damaged; `None` where its
    /// modules have been linked.
    pub(super) codes: Option<Vec<Result<Code<'d>, Failure>>>,
}

/// What a fatbin has for the processor.
pub(super) enum Code<'d> {
    /// Nothing, but for other processors.
    Nothing(Vec<String>),
    /// A device object.
    Image(Cow<'d, [u8]>, Checked<'d>),
    /// LTO-IR, in this fatbin, and what it was compiled with.
    Intermediate(&'d [u8], Option<Record>),
    /// PTX, and the options that it was made with.
    Ptx(Cow<'d, [u8]>, Vec<String>),
}

/// Why a fatbin cannot be taken.
pub(super) enum Failure {
    /// It is none.
    NoFatbin(ParseError),
    /// It is damaged.
    Damaged(ParseError),
    /// What is compressed in it is damaged.
    Compressed(ParseError),
    /// It has nothing but LTO-IR, which is not wanted.
    Intermediate,
}

impl<'d> Unpacker<'_, 'd> {
    /// Takes a host object apart. `data` lasts, as what is unpacked does not.
    pub(super) fn host_object(
        &self,
        name: &str,
        data: &'d [u8],
        origin: Origin,
        decompressor: &mut Decompressor,
    ) -> Result<Unpacked<'d>, Vec<Diagnostic>> {
        let mut object = HostObject::parse(name, data, origin, self.wanted)?;
        object.leave_out(self.linked_elsewhere, self.wanted.behaviour);
        let codes = matches!(object.modules, Modules::Waiting(_)).then(|| {
            let mut codes = Vec::with_capacity(object.fatbins.len());
            for fatbin in &object.fatbins {
                let code = self.code(name, fatbin, decompressor);
                let is_damaged = code.is_err();
                codes.push(code);
                if is_damaged {
                    break;
                }
            }
            codes
        });
        Ok(Unpacked { object, codes })
    }

    /// What a file that should be a fatbin has.
    pub(super) fn fatbin(
        &self,
        name: &str,
        data: &'d [u8],
        decompressor: &mut Decompressor,
    ) -> Result<Code<'d>, Failure> {
        let fatbin = Fatbin::parse(data).map_err(Failure::NoFatbin)?;
        self.code(name, &fatbin, decompressor)
    }

    /// Takes the entry of a fatbin that fits the processor.
    fn code(
        &self,
        name: &str,
        fatbin: &Fatbin<'d>,
        decompressor: &mut Decompressor,
    ) -> Result<Code<'d>, Failure> {
        let lto_ir = LtoIr::of(self.wanted);
        let entry = select(fatbin, self.processor, lto_ir).map_err(Failure::Damaged)?;
        let Some(entry) = entry else {
            return Ok(Code::Nothing(held(fatbin)));
        };
        match entry.kind {
            Kind::ELF => {
                let image = entry.image_by(decompressor).map_err(Failure::Compressed)?;
                let checked = self.check(name, &image);
                Ok(Code::Image(image, checked))
            }
            // Its compressed form is one that only NVIDIA's library reads.
            Kind::NVVM if lto_ir == LtoIr::Linked => {
                let record = entry.compiler_options().map(Record::parse);
                Ok(Code::Intermediate(fatbin.bytes(), record))
            }
            Kind::NVVM => Err(Failure::Intermediate),
            _ => {
                let text = entry.image_by(decompressor).map_err(Failure::Compressed)?;
                let options = entry.compiler_options().unwrap_or_default();
                let options = String::from_utf8_lossy(options);
                let words = options.split_ascii_whitespace().map(str::to_owned);
                Ok(Code::Ptx(text, words.collect()))
            }
        }
    }

    /// Checks what was inside a file, or was made of it.
    pub(super) fn check(&self, name: &str, data: &Cow<'d, [u8]>) -> Checked<'d> {
        let (wanted, processor) = (self.wanted, self.processor);
        match data {
            Cow::Borrowed(data) => check_lasting(Candidate::inside(name, data), wanted, processor),
            Cow::Owned(data) => check(Candidate::inside(name, data), wanted, processor, |_| None),
        }
    }
}

impl<'d> Loader<'_, 'd> {
    pub(super) fn unpacker(&self) -> Unpacker<'_, 'd> {
        Unpacker {
            wanted: self.wanted,
            processor: self.processor,
            linked_elsewhere: &self.linked_elsewhere,
        }
    }

    pub(super) fn not_unpacked(&mut self, name: &str, failure: Failure) -> Stop {
        match failure {
            Failure::NoFatbin(_) if self.wanted.is_compatible() => {
                self.fatal(codes::NOT_A_FATBIN, name, "fatbin wrong format?")
            }
            Failure::NoFatbin(error) | Failure::Damaged(error) => self.damaged(name, error),
            Failure::Compressed(error) => self.compressed_badly(name, error),
            Failure::Intermediate => {
                self.fatal(codes::LTO_INPUT, name, "LTO objects found, use -dlto")
            }
        }
    }
}
