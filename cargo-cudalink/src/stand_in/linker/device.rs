//! The device link of an image, and what there is to say where it fails.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use cudalink_bindings::Functions;
use rustnvlink::codes::{self, Code};
use rustnvlink::cubin::File;
use rustnvlink::device_link::{self, DeviceLink, Linked, Request};
use rustnvlink::diagnostic::{Severity, some_of};
use rustnvlink::explain::help_with_closed;
use rustnvlink::fatbin::{CompressionMode, FatbinOptions};
use rustnvlink::host::{HostMachine, HostObject};
use rustnvlink::inputs::{Archives, Assembler, Environment, Files, Kernels, LinkTime, Wanted};
use rustnvlink::options::DebugLevel;
use rustnvlink::temporary::Folder;

use super::{Image, Purpose};
use crate::journal::{Event, Level, Message, Report};
use crate::link::messages;
use crate::plan::Plan;
use crate::settings::KernelChoice;
use crate::stand_in::by_cmake;
use crate::stand_in::cache::{Entry, Record};
use crate::stand_in::left_out;
use crate::stand_in::line::LinkLine;
use crate::stand_in::objects::{Objects, shown};

/// Why nothing is optimized although that was chosen.
const NO_LTO_INPUT: &str = "nvcc optimizes no device code for debuggers (-G), which the cc crate asks for in profiles with \
    debug information; `debug = false` in the profile helps, as --release has it unless the manifest says otherwise";

/// Why functions may take more registers than their kernels have.
const CODE_FOR_DEBUGGERS: &str = "device code for debuggers (-G), which the cc crate asks for in profiles with debug information, \
    takes more registers; `debug = false` helps in the profile, or in [profile.dev.package.NAME] for the package that has it, \
    and --release has it unless the manifest says otherwise";

/// What the host link gets of a device link.
#[derive(Debug)]
pub(super) struct Device {
    pub(super) object: PathBuf,
    pub(super) record: Record,
    /// Where the object lies if it is not kept.
    _folder: Option<Folder>,
}

/// What there is for the host link.
#[derive(Debug, Default)]
pub(super) struct Made {
    /// Linked device code, if anything needs some.
    pub(super) device: Option<Device>,
    /// The link of all device code, if it has failed. What it says matters where the host link fails, too.
    pub(super) failed: Option<Linked>,
}

impl Device {
    /// One that lies in an entry for as long as that is held.
    fn kept((object, record): (PathBuf, Record)) -> Self {
        Self {
            object,
            record,
            _folder: None,
        }
    }

    /// The same apart from the entry.
    fn taken(self) -> Result<Self> {
        let folder = Folder::new().context("cannot make a temporary folder")?;
        let object = folder.path().join("device.o");
        Entry::take(&self.object, &object)?;
        Ok(Self {
            object,
            record: self.record,
            _folder: Some(folder),
        })
    }
}

impl Image<'_> {
    /// Links all device code, or what the program needs of it if not all of it can be linked.
    pub(super) fn make(
        &self,
        plan: &Plan,
        mut objects: Objects,
        line: &LinkLine,
        entry: Option<&Entry>,
    ) -> Result<Made> {
        // Without the runtime nothing can be registered. Where nothing has to be, that is no matter.
        if !line.names_runtime() && self.needed(line).is_some_and(|needed| needed.is_empty()) {
            return Ok(Made::default());
        }
        let failed = match self.link_or_reuse(plan, &mut objects, entry)? {
            Ok(device) => {
                return Ok(Made {
                    device: Some(device),
                    failed: None,
                });
            }
            Err(failed) => failed,
        };
        // The link has taken what was read.
        let mut objects = self.objects(line)?;
        let left_out = self.needed(line).map(|needed| objects.retain(&needed));
        if let Some(names) = some_of(&left_out.unwrap_or_default()) {
            let device = match objects.wait() {
                true => self.link_or_reuse(plan, &mut objects, entry)?.map(Some),
                false => Ok(None),
            };
            if let Ok(device) = device {
                match (self.purpose, defined_twice(&failed)) {
                    // Which definition is meant, the order of libraries has decided.
                    (Purpose::OfUser, Some(twice)) => self.say(
                        Level::Warning,
                        format!("{names} stays away, as others have what is needed of it: {twice}"),
                    ),
                    (Purpose::OfUser | Purpose::OfBuild, _) => self.say(
                        Level::Info,
                        format!("{names} stays away, as nothing needs it and it cannot be linked"),
                    ),
                }
                return Ok(Made {
                    device,
                    failed: Some(failed),
                });
            }
        }
        match self.purpose {
            // It may well get along without: libraries bring more than is used of them.
            Purpose::OfBuild => Ok(Made {
                device: None,
                failed: Some(failed),
            }),
            Purpose::OfUser => {
                self.say_all(self.problems(&failed, line, &plan.build)?);
                bail!("its device code cannot be linked");
            }
        }
    }

    /// The device link of these objects, which it takes, or the one that they had last time.
    fn link_or_reuse(
        &self,
        plan: &Plan,
        objects: &mut Objects,
        entry: Option<&Entry>,
    ) -> Result<Result<Device, Linked>> {
        if let Some(entry) = entry {
            return self.link_or_reuse_in(entry, plan, objects);
        }
        let entry = Entry::of_documentation_tests(plan)?;
        let made = self.link_or_reuse_in(&entry, plan, objects)?;
        made.map_or_else(|failed| Ok(Err(failed)), |device| device.taken().map(Ok))
    }

    fn link_or_reuse_in(
        &self,
        entry: &Entry,
        plan: &Plan,
        objects: &mut Objects,
    ) -> Result<Result<Device, Linked>> {
        let key = self.key(plan, objects)?;
        let output = std::path::absolute(&self.output)?;
        let own = |other: Record| Record {
            report: Report {
                image: self.name.clone(),
                output,
                ..other.report
            },
            ..other
        };
        if let Some((object, record)) = entry.get(&key) {
            let mut record = own(record);
            record.report.fresh = true;
            self.journal.add(&Event::Linked(record.report.clone()));
            return Ok(Ok(Device::kept((object, record))));
        }
        let _alone = entry.alone(&key)?;
        if let Some((object, record)) = entry.share(&key, own) {
            self.journal.add(&Event::Linked(record.report.clone()));
            return Ok(Ok(Device::kept((object, record))));
        }
        self.journal.add(&Event::Started {
            image: self.name.clone(),
            objects: objects.count(),
            bytes: objects.bytes(),
        });
        let linked = self.device_link(&self.request(), Files::in_memory(objects.take()));
        if !has_succeeded(&linked) {
            return Ok(Err(linked));
        }
        self.say_all(self.remarks(&linked));
        let advice = help_with_processors(&linked).into_iter();
        self.say_all(advice.map(|text| self.message(Level::Warning, None, text)));
        let (data, record) = self.host_object(linked, objects)?;
        self.journal.add(&Event::Linked(record.report.clone()));
        let object = entry.put(&key, &data, &record)?;
        Ok(Ok(Device::kept((object, record))))
    }

    /// The modules that the host link takes: those that something in it needs. A test of a package is linked with all
    /// that its build script names, but only with those other crates that its own code names; what lacks their functions
    /// can stay away where nothing calls it. `None` if something cannot be read.
    fn needed(&self, line: &LinkLine) -> Option<Vec<String>> {
        let mut request = self.request();
        request.inputs.archives = Archives::Grouped;
        request.inputs.files = self.files(line);
        let files = Files::read(&request.inputs, &Environment::from_process());
        let linked = self.device_link(&request, files);
        let is_known = !linked.modules.is_empty() || linked.has(messages::NO_CODE);
        is_known.then_some(linked.modules)
    }

    /// What the choices ask of the device link.
    fn request(&self) -> Request {
        let jitlink = || self.toolkit.and_then(|toolkit| toolkit.jitlink.clone());
        let inputs = Wanted::new(Vec::new())
            .kernels(match self.settings.kernels.unwrap_or(KernelChoice::All) {
                KernelChoice::Used => Kernels::NamedByHost,
                KernelChoice::All => Kernels::All,
            })
            .assembler(Assembler::new(
                self.toolkit.map(|toolkit| toolkit.ptxas.clone()),
            ))
            .link_time((self.settings.dlto == Some(true)).then(|| LinkTime::new(jitlink())));
        let mut request = Request::new(inputs);
        if self.is_for_debuggers() {
            request.settings.debug = DebugLevel::Symbols;
        }
        request
    }

    fn is_for_debuggers(&self) -> bool {
        self.settings.device_debug.unwrap_or(false)
    }

    fn device_link(&self, request: &Request, files: Files) -> Linked {
        DeviceLink::new(request)
            .environment(Environment::from_process())
            .device_runtime(&|| self.toolkit.and_then(|t| t.device_runtime.clone()))
            .link(files, &self.settings.targets())
    }

    /// What the host link gets of a device link.
    fn host_object(&self, mut linked: Linked, objects: &Objects) -> Result<(Vec<u8>, Record)> {
        linked.modules.retain(|module| !objects.is_apart(module));
        let fatbin = linked.fatbin(&self.fatbin_options())?;
        let machine: HostMachine = self.machine().parse()?;
        let object = HostObject::new(&fatbin, &linked.modules)?.to_bytes(machine)?;
        let report = Report {
            image: self.name.clone(),
            output: std::path::absolute(&self.output)?,
            arch: linked.images.iter().map(|i| i.sm.to_string()).collect(),
            kernels: kernel_count(&linked),
            bytes: fatbin.len() as u64,
            fresh: false,
        };
        let record = Record {
            report,
            needs_device_runtime: linked.uses_device_runtime,
        };
        Ok((object, record))
    }

    /// How the images are stored, as nvcc does it.
    fn fatbin_options(&self) -> FatbinOptions {
        let debug = self.is_for_debuggers();
        let default = CompressionMode::of_device_link(debug);
        FatbinOptions::default()
            .identifier(match self.settings.dlto {
                Some(true) => "lto",
                Some(false) | None => "",
            })
            .debug(debug)
            .compression(self.settings.compress_mode.map_or(default, |mode| mode.0))
    }

    /// Which libraries have what is missing: less is, where they are linked, too.
    fn help_with_libraries(
        &self,
        linked: &Linked,
        objects: &Objects,
        line: &LinkLine,
        build: &Path,
    ) -> Vec<String> {
        let missing = left_out::missing(linked);
        if missing == 0 {
            return Vec::new();
        }
        // What cannot be read is no help.
        let helps = |further: Result<Vec<(String, Vec<u8>)>>| {
            let further = further.unwrap_or_default();
            if further.is_empty() {
                return false;
            }
            let files = Files::in_memory(objects.copied().chain(further));
            left_out::is_less(&self.device_link(&self.request(), files), missing)
        };
        let mut shared = self.files(line);
        shared.retain(|path| helps(Objects::linked_into(path)));
        if let Some(help) = left_out::help_with_shared(&shared) {
            return vec![help];
        }
        // A crate may have the same objects.
        let mut libraries = line.libraries_left_out(build);
        libraries.retain(|path| helps(objects.further(path)));
        let help = |path: &PathBuf| left_out::help(path, &shown(path));
        libraries.iter().map(help).collect()
    }

    /// What the device link says.
    fn remarks(&self, linked: &Linked) -> Vec<Message> {
        let mut remarks = Vec::new();
        let mut messages = linked.messages.clone();
        // Help below says it in words of cargo.
        for message in &mut messages {
            message.diagnostic.remove_advice_about_processors();
        }
        for shown in device_link::summarize(&messages) {
            let level = match shown.severity {
                Severity::Text | Severity::Info => Level::Info,
                Severity::Warning => Level::Warning,
                Severity::Error | Severity::Fatal => Level::Error,
            };
            remarks.push(self.message(level, Some(shown.code.as_str()), shown.text));
        }
        if linked.has(codes::NO_LTO_INPUT) {
            remarks.push(self.message(Level::Warning, None, NO_LTO_INPUT.to_owned()));
        }
        remarks
    }

    /// What a link says that has failed, and what to do about it.
    pub(super) fn problems(
        &self,
        linked: &Linked,
        line: &LinkLine,
        build: &Path,
    ) -> Result<Vec<Message>> {
        let objects = &self.objects(line)?;
        let mut problems = self.remarks(linked);
        if let Some(problem) = messages::without_code(linked) {
            problems.retain(|remark| remark.code.as_deref() != Some(messages::NO_CODE.as_str()));
            problems.push(self.message(Level::Error, None, problem));
        }
        let libraries = self.help_with_libraries(linked, objects, line, build);
        let help = help(linked, objects, libraries).into_iter();
        problems.extend(help.map(|help| self.message(Level::Help, None, help)));
        Ok(problems)
    }
}

fn has_succeeded(linked: &Linked) -> bool {
    linked.is_complete() && messages::without_code(linked).is_none()
}

/// What is said of the first name that two objects define.
fn defined_twice(linked: &Linked) -> Option<&str> {
    let mut messages = linked.messages.iter().map(|message| &message.diagnostic);
    let twice = messages.find(|diagnostic| diagnostic.code == codes::MULTIPLE_DEFINITION);
    twice.map(|diagnostic| diagnostic.text.as_str())
}

/// What to do about a link that failed.
fn help(linked: &Linked, objects: &Objects, libraries: Vec<String>) -> Vec<String> {
    let mut help = Vec::new();
    if linked.has(codes::TOO_MANY_REGISTERS) {
        help.push(CODE_FOR_DEBUGGERS.to_owned());
    }
    if linked.has(codes::UNDEFINED_REFERENCE) {
        help.extend(help_with_closed(&objects.closed));
        help.extend(messages::help_with_results(&objects.results));
        if libraries.is_empty() && lacks_an_object(linked) {
            help.push(
                "an object that defines it has to be in this program; one that only the device link needs is named \
                 by --device-library"
                    .to_owned(),
            );
        }
        help.extend(libraries);
    }
    if linked.has(codes::LTO_INPUT) {
        help.push(
            "LTO-IR is linked with --dlto, CUDALINK_DLTO=true or `dlto = true` in [package.metadata.cudalink]"
                .to_owned(),
        );
    }
    help.extend(help_with_processors(linked));
    help
}

/// What to do where some inputs have no code for a processor. That may be meant, so that the link need not have failed.
fn help_with_processors(linked: &Linked) -> Vec<String> {
    if !by_cmake::LACKING.iter().any(|&code| linked.has(code)) {
        return Vec::new();
    }
    let general = "compile every object for every processor of the link (nvcc --generate-code), or name the processors \
        that all of them have code for with --arch";
    [Some(general.to_owned()), by_cmake::help(linked)]
        .into_iter()
        .flatten()
        .collect()
}

/// Whether something is undefined for a processor that all objects have code for. What is undefined for another one may
/// well be in the object without code for it.
fn lacks_an_object(linked: &Linked) -> bool {
    let processors = |code: Code| {
        let messages = linked.messages.iter();
        let about = messages.filter(move |message| message.diagnostic.code == code);
        about.map(|message| message.sm)
    };
    processors(codes::UNDEFINED_REFERENCE)
        .any(|sm| !processors(codes::MISSING_ARCH_CODE).any(|without| without == sm))
}

fn kernel_count(linked: &Linked) -> usize {
    let count = |image: &device_link::Image| {
        let file = File::parse(&image.data).ok()?;
        Some(Functions::read(&file).0.kernels.len())
    };
    linked.images.iter().filter_map(count).max().unwrap_or(0)
}
