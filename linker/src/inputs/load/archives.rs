//! What a link takes from archives.
//!
//! nvlink takes every member with device code, wherever the archive stands.
//! On demand, a member is taken if it defines a name that something before it
//! needs, as host linkers do it: with the same archives in the same order,
//! both linkers take the same members, so that names of host code count, too.

use object::elf::ELFMAG;

use super::super::Archives;
use super::super::files::Source;
use super::super::host::{self, Origin};
use super::members;
use super::names::{self, Names};
use super::objects::effort;
use super::unpack::Unpacked;
use super::{Loader, Stop};
use crate::codes;
use crate::container::{Archive, HostFile, InputKind, archive, detect};
use crate::diagnostic::Diagnostic;
use crate::error::ParseError;
use crate::fatbin::Decompressor;
use crate::parallel;

/// An archive whose turn comes later.
pub(super) struct Deferred<'d> {
    pub(super) source: &'d Source,
    /// How many objects come before it.
    pub(super) place: usize,
    /// How many inputs of LTO-IR come before it.
    pub(super) behind: usize,
}

/// A member of an archive.
#[derive(Clone)]
struct Member<'d> {
    path: String,
    data: &'d [u8],
}

impl<'d> Loader<'_, 'd> {
    /// Takes what the link needs of an archive, now or when all files have been looked at.
    pub(super) fn archive(&mut self, source: &'d Source) -> Result<(), Stop> {
        if self.is_runtime(&source.name) && !self.wanted.keep_system_libraries {
            self.stop_at_unspeakable()?;
            self.assemble()?;
            if self.waits_for_optimizer() {
                self.optimization.runtime = Some(Deferred {
                    source,
                    place: self.images.len(),
                    behind: self.optimization.intermediates.len(),
                });
                return Ok(());
            }
            if self.needs_system_library() {
                return self.whole_archive(source);
            }
            if self.wanted.is_compatible() && !self.images.is_empty() {
                self.unused_runtime.get_or_insert(self.images.len());
            }
            return Ok(());
        }
        if self.is_runtime(&source.name) && self.has_nothing() {
            let why = "nothing before it has device code";
            return self.ignored(&source.name, why);
        }
        match self.wanted.archives {
            Archives::Whole => self.whole_archive(source),
            Archives::InOrder => self.on_demand(&[source]),
            Archives::Grouped => {
                self.group.push(source);
                Ok(())
            }
        }
    }

    /// Whether there is no device code so far.
    fn has_nothing(&self) -> bool {
        self.images.is_empty()
            && self.waiting.is_empty()
            && self.optimization.intermediates.is_empty()
    }

    /// Takes what is needed of archives that may need each other.
    pub(super) fn end_group(&mut self) -> Result<(), Stop> {
        let group = std::mem::take(&mut self.group);
        match group.is_empty() {
            true => Ok(()),
            false => self.on_demand(&group),
        }
    }

    /// Whether only optimized code can tell if the device runtime is needed.
    /// For nvlink, LTO-IR behind the library comes too late.
    fn waits_for_optimizer(&self) -> bool {
        self.wanted.link_time.is_some()
            && !(self.wanted.is_compatible() && self.optimization.intermediates.is_empty())
    }

    pub(super) fn whole_archive(&mut self, source: &'d Source) -> Result<(), Stop> {
        let members = self.members(source)?;
        self.take(&members)
    }

    /// Takes these members.
    fn take(&mut self, members: &[Member<'d>]) -> Result<(), Stop> {
        let unpacker = self.unpacker();
        let effort = members.iter().map(|member| effort(member.data)).sum();
        let tool = Decompressor::default;
        let unpacked = parallel::map_with(members, effort, tool, |decompressor, member| {
            let Member { path, data } = member;
            (detect(data) == InputKind::HostObject)
                .then(|| unpacker.host_object(path, data, Origin::Member, decompressor))
        });
        for (member, unpacked) in members.iter().zip(unpacked) {
            self.member(member, unpacked)?;
        }
        Ok(())
    }

    /// Takes members as long as one of them defines what is needed.
    fn on_demand(&mut self, sources: &[&'d Source]) -> Result<(), Stop> {
        self.assemble()?;
        let mut members = Vec::new();
        for source in sources {
            members.extend(self.members(source)?);
        }
        let effort = members.iter().map(|member| effort(member.data)).sum();
        let names = parallel::map(&members, effort, |member| {
            Names::of_member(&member.path, member.data, self.wanted, self.processor)
        });
        let mut of_members = Vec::with_capacity(members.len());
        for (mut names, intermediates) in names {
            let added = self.add_optimized(&mut names, &intermediates);
            added.map_err(|problems| self.stop_with(problems))?;
            of_members.push(names);
        }
        let mut known = self.host_names.clone();
        let added = self.add_optimized(&mut known, &self.optimization.intermediates);
        added.map_err(|problems| self.stop_with(problems))?;
        for image in &self.images {
            known.add_device(&image.data);
        }
        let taken = names::in_need(&of_members, known).into_iter();
        let taken: Vec<Member<'d>> = taken.map(|index| members[index].clone()).collect();
        self.take(&taken)
    }

    /// All members. To do as nvlink does: those before the first at which it would stop.
    fn members(&mut self, source: &'d Source) -> Result<Vec<Member<'d>>, Stop> {
        let name = &source.name;
        match Archive::parse(&source.data) {
            Ok(archive) if archive.thin => self.thin_members(source),
            _ if self.wanted.is_compatible() => {
                let found = members::find(&source.data);
                let found = found.map_err(|why| self.broken_archive(name, why))?;
                let contents = |found: &members::Found<'d>| match &source.completed {
                    _ if found.missing == 0 => Some(found.data),
                    Some(completed) => Some(&**completed),
                    None => HostFile::parse(found.data).is_ok().then_some(found.data),
                };
                let members = found.into_iter().filter_map(|found| {
                    let data = contents(&found)?;
                    let path = format!("{name}:{}", String::from_utf8_lossy(found.name));
                    Some(Member { path, data })
                });
                Ok(members.collect())
            }
            Ok(_) => {
                let mut members = Vec::new();
                let walked = archive::walk(name, &source.data, &mut |path, member| {
                    members.push(Member {
                        path: path.to_owned(),
                        data: member.data.unwrap_or(&[]),
                    });
                    Ok::<(), ParseError>(())
                });
                match walked {
                    Ok(()) => Ok(members),
                    Err(error) => Err(self.damaged(name, error)),
                }
            }
            Err(error) => Err(self.damaged(name, error)),
        }
    }

    fn thin_members(&mut self, source: &'d Source) -> Result<Vec<Member<'d>>, Stop> {
        let mut members = Vec::new();
        for member in &source.members {
            let path = format!("{}:{}", source.name, member.name);
            match &member.data {
                Ok(data) if self.wanted.is_compatible() && !data.starts_with(&ELFMAG) => break,
                Ok(data) => members.push(Member { path, data }),
                Err(_) if self.wanted.is_compatible() => {
                    let stop = match member.is_folder {
                        true => {
                            let text = "Memory allocation failure";
                            self.stop(Diagnostic::fatal(codes::UNREADABLE_INPUT, text))
                        }
                        false => self.unreadable(&member.name, ""),
                    };
                    self.diagnostics.push(host::internal_error());
                    return Err(stop);
                }
                Err(why) => return Err(self.unreadable(&path, why)),
            }
        }
        Ok(members)
    }

    fn member(
        &mut self,
        member: &Member<'d>,
        unpacked: Option<Result<Unpacked<'d>, Vec<Diagnostic>>>,
    ) -> Result<(), Stop> {
        let name = &member.path;
        if let Some(unpacked) = unpacked {
            self.in_archive = true;
            let result = self.host_object(name, member.data, unpacked);
            self.in_archive = false;
            return result;
        }
        match detect(member.data) {
            InputKind::Cubin => {
                self.host_use.add_unsaid();
                self.ignored(name, "archives are only searched for host objects")
            }
            InputKind::Fatbin | InputKind::Ptx | InputKind::LtoIr => {
                self.ignored(name, "archives are only searched for host objects")
            }
            InputKind::Bitcode => self.bitcode(name, member.data),
            // Compilers put notes of their own beside the objects.
            InputKind::HostObject
            | InputKind::HostExecutable
            | InputKind::SharedLibrary
            | InputKind::Archive
            | InputKind::Unknown => Ok(()),
        }
    }

    /// Whether nvlink takes an object for one of the device runtime, which nothing needs. Those
    /// of an archive that counts as it are needed together.
    pub(super) fn is_needless_runtime(&self, name: &str) -> bool {
        let archive = name.rsplit_once(':').filter(|_| self.in_archive);
        self.wanted.is_compatible()
            && !self.wanted.keep_system_libraries
            && self.is_runtime(name)
            && !archive.is_some_and(|(archive, _)| self.is_runtime(archive))
            && (self.unused_runtime.is_some() || !self.needs_system_library())
    }

    /// Whether an object so far refers to a function that no object so far
    /// defines (case `lib_cudadevrt_unused`). References from dead code count.
    pub(super) fn needs_system_library(&self) -> bool {
        names::lack_functions(&self.images)
    }
}
