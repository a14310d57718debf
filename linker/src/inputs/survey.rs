//! What the inputs were compiled for.

use std::collections::BTreeSet;

use super::files::{Files, Opened};
use super::load::is_system_library;
use crate::arch::Sm;
use crate::container::{HostFile, InputKind, Machine, archive, detect};
use crate::cubin::File;
use crate::error::ParseError;
use crate::fatbin::{Fatbin, Flags, Kind};

/// What the inputs were compiled for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Survey {
    /// The processors that there is relocatable machine code for.
    pub processors: BTreeSet<Sm>,
    /// The processors that there is LTO-IR for.
    pub intermediates: BTreeSet<Sm>,
    /// Whether there is PTX, which only the driver compiles.
    pub has_ptx: bool,
    /// The host of the first object with such code.
    pub host: Option<Machine>,
}

impl Files {
    /// Looks at all inputs. The system library has code for all processors and
    /// does not count, nor does what cannot be read: a link reports it.
    pub fn survey(&self) -> Survey {
        self.survey_of(|_| true)
    }

    /// Looks at those inputs whose names are wanted in the same way.
    pub fn survey_of(&self, is_wanted: impl Fn(&str) -> bool) -> Survey {
        let mut survey = Survey::default();
        for opened in &self.0 {
            let Opened::Read(source) = opened else {
                continue;
            };
            if is_system_library(&source.name) || !is_wanted(&source.name) {
                continue;
            }
            if detect(&source.data) != InputKind::Archive {
                survey.add_file(&source.data);
                continue;
            }
            for member in source.members.iter().filter_map(|m| m.data.as_ref().ok()) {
                survey.add_file(member);
            }
            let walked = archive::walk(&source.name, &source.data, &mut |_, member| {
                survey.add_file(member.data.unwrap_or_default());
                Ok::<(), ParseError>(())
            });
            // Damage is reported when the archive is linked.
            drop(walked);
        }
        survey
    }
}

impl Survey {
    fn add_file(&mut self, data: &[u8]) {
        match detect(data) {
            InputKind::HostObject => {
                let Ok(file) = HostFile::parse(data) else {
                    return;
                };
                for section in file.fatbins.iter().filter(|s| s.is_relocatable()) {
                    self.host.get_or_insert(file.machine);
                    for fatbin in section.fatbins().map_while(Result::ok) {
                        self.add_fatbin(&fatbin);
                    }
                }
            }
            InputKind::Fatbin => {
                if let Ok(fatbin) = Fatbin::parse(data) {
                    self.add_fatbin(&fatbin);
                }
            }
            InputKind::Cubin => {
                if let Ok(file) = File::parse(data) {
                    self.processors.insert(file.header.processor());
                }
            }
            _ => {}
        }
    }

    fn add_fatbin(&mut self, fatbin: &Fatbin<'_>) {
        for entry in fatbin.entries().map_while(Result::ok) {
            if !entry.flags.has(Flags::WIDE) {
                continue;
            }
            match entry.kind {
                Kind::ELF => drop(self.processors.insert(entry.sm)),
                Kind::NVVM => drop(self.intermediates.insert(entry.sm)),
                Kind::PTX => self.has_ptx = true,
                _ => {}
            }
        }
    }
}
