//! What the inputs were compiled for.

use std::collections::{BTreeSet, HashSet};

use super::Behaviour;
use super::elsewhere::linked_elsewhere;
use super::files::{Files, Opened};
use super::host::Unlinked;
use super::load::is_system_library;
use crate::arch::Sm;
use crate::container::host::ModuleId;
use crate::container::{HostFile, InputKind, Machine, archive, detect};
use crate::cubin::File;
use crate::error::ParseError;
use crate::fatbin::{Fatbin, Flags, Kind};

/// What the inputs were compiled for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Survey {
    /// The processors that there is machine code for that waits for a link.
    pub processors: BTreeSet<Sm>,
    /// The processors that there is LTO-IR for.
    pub intermediates: BTreeSet<Sm>,
    /// Whether there is PTX, which only the driver compiles.
    pub has_ptx: bool,
    /// The host of the first object with such code, waiting or not.
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
        let linked = linked_elsewhere(self, Behaviour::Own);
        for opened in &self.0 {
            let Opened::Read(source) = opened else {
                continue;
            };
            if is_system_library(&source.name) || !is_wanted(&source.name) {
                continue;
            }
            if detect(&source.data) != InputKind::Archive {
                survey.add_file(&source.data, &linked);
                continue;
            }
            for member in source.members.iter().filter_map(|m| m.data.as_ref().ok()) {
                survey.add_file(member, &linked);
            }
            let walked = archive::walk(&source.name, &source.data, &mut |_, member| {
                survey.add_file(member.data.unwrap_or_default(), &linked);
                Ok::<(), ParseError>(())
            });
            // Damage is reported when the archive is linked.
            drop(walked);
        }
        survey
    }
}

impl Survey {
    /// Whether there is device code of any kind that waits for a link.
    pub fn has_code(&self) -> bool {
        !self.processors.is_empty() || !self.intermediates.is_empty() || self.has_ptx
    }

    fn add_file(&mut self, data: &[u8], linked: &HashSet<&str>) {
        match detect(data) {
            InputKind::HostObject => {
                if let Ok(file) = HostFile::parse(data) {
                    self.add_host_file(&file, linked);
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
            InputKind::Ptx => self.has_ptx = true,
            _ => {}
        }
    }

    fn add_host_file(&mut self, file: &HostFile<'_>, linked: &HashSet<&str>) {
        let sections = file.fatbins.iter().filter(|s| s.is_relocatable());
        let fatbins: Vec<Fatbin<'_>> = sections
            .flat_map(|section| section.fatbins().map_while(Result::ok))
            .collect();
        if fatbins.is_empty() {
            return;
        }
        self.host.get_or_insert(file.machine);
        let names = file.module_ids.iter().filter_map(|id| match id {
            ModuleId::Module(name) => Some(*name),
            ModuleId::Linked(_) => None,
        });
        let waits = match Unlinked::of(names, fatbins.len(), linked, Behaviour::Own) {
            Unlinked::All => vec![true; fatbins.len()],
            Unlinked::Some(waits) => waits,
            Unlinked::None => return,
        };
        for (fatbin, _) in fatbins.iter().zip(waits).filter(|(_, waits)| *waits) {
            self.add_fatbin(fatbin);
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
