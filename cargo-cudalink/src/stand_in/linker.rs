//! The host linker: links the device code of its inputs first, and hands the result to the user's linker before
//! everything else. Without device code it only runs the user's linker, with the CUDA runtime where that is missing.

mod device;

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{ExitCode, ExitStatus};

use anyhow::{Context as _, Result};
use cudalink_toolkit::{LIBRARIES, Library};
use rustnvlink::host::script;
use rustnvlink::output;
use sha2::{Digest as _, Sha256};

use super::cache::{Entry, key, without_hash};
use super::dependencies;
use super::host_link::HostLink;
use super::line::LinkLine;
use super::objects::Objects;
use crate::journal::{Event, Journal, Level, Message};
use crate::plan::{Plan, ToolkitPaths, Tracked};
use crate::platform;
use crate::settings::{ScriptUse, Settings};
use crate::style;
use crate::triple;
use device::Device;

/// Relative addresses of host code reach two gigabytes; some of that is not device code.
const REACH: u64 = 3 << 29;

/// What to do where the host linker misses what device code cannot do without.
const NO_RUNTIME: &str = "the CUDA runtime is not linked; a build script links it with \
    `cargo::rustc-link-lib=cudart_static` and the toolkit's folder lib64 in `cargo::rustc-link-search`";

/// The same where it is linked and not found.
const RUNTIME_NOT_FOUND: &str = "the host linker does not find the CUDA runtime; a build script names its folder with \
    `cargo::rustc-link-search`: the toolkit's lib64 for this machine, and what NVIDIA's packages for cross compilation \
    install, such as targets/sbsa-linux/lib, for others";

/// The same of the driver, which machines that only build lack.
const DRIVER_NOT_FOUND: &str = "the host linker does not find the library of NVIDIA's driver (-lcuda); where there is no driver, the \
    stub of a CUDA toolkit does, which `cargo cudalink toolkit install` makes, too";

/// Where a toolkit has stubs, below its libraries.
const STUBS: &str = "stubs";

/// What to do where the host linker does not understand what places much device code.
const NO_SCRIPT: &str = "a linker script places the device code of this program; GNU ld and lld understand it, gold and mold \
    do without, and no other linker is known to place so much: `-C link-arg=-fuse-ld=lld` chooses one of them";

/// Where host linkers look without being told.
const SYSTEM_FOLDERS: [&str; 5] = ["/usr/local/lib", "/usr/lib", "/lib", "/usr/lib64", "/lib64"];

/// The same where nothing helps.
pub(super) const RUNTIME_IS_NOT_FOR_MUSL: &str = "the CUDA runtime, and host code that nvcc compiles, are for glibc; build for a \
    target such as x86_64-unknown-linux-gnu";

/// Does what the user's linker would do, and the device link before.
pub(crate) fn run(plan: &Plan, triple: &str, arguments: Vec<OsString>) -> Result<ExitCode> {
    let linker = plan
        .linkers
        .get(triple)
        .with_context(|| format!("the plan has no linker for {triple}"))?;
    let host = HostLink {
        linker,
        arguments,
        folder: plan.folder.runs(),
    };
    let line = LinkLine::parse(&host.arguments)?;
    let output = line.output.clone().filter(|_| !line.relocatable);
    let Some(output) = output else {
        return host.replace();
    };
    let image = Image::new(plan, triple, &line, output);
    let linked = rustnvlink::with_threads(plan.threads, || image.link(plan, &line, &host));
    let Err(error) = &linked else {
        return linked;
    };
    image.say(Level::Error, style::reason(error));
    match image.purpose {
        Purpose::OfUser => {
            image.journal.add(&Event::Failed { image: image.name });
            linked
        }
        // It may well get along without: libraries bring more than is used of them.
        Purpose::OfBuild => host.replace(),
    }
}

/// What is linked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Purpose {
    /// A program or library that the user gets.
    OfUser,
    /// A build script or procedural macro, which runs while others are compiled.
    OfBuild,
}

/// What rustdoc calls the program that a documentation test becomes.
const DOCUMENTATION_TEST: &str = "rust_out";

/// The name that users know. Cargo puts a hash behind that of the file, in which a program's dashes are underscores.
fn image_name(output: &Path, program: Option<String>, is_test_harness: bool) -> String {
    let file = output.file_stem().unwrap_or_default().to_string_lossy();
    let name = without_hash(&file);
    let name = program
        .filter(|program| program.replace('-', "_") == name)
        .unwrap_or_else(|| name.to_owned());
    match is_test_harness {
        _ if name == DOCUMENTATION_TEST => "documentation test".to_owned(),
        true => format!("{name} test"),
        false => name,
    }
}

/// What the host linker makes, with device code.
#[derive(Debug)]
struct Image<'a> {
    name: String,
    output: PathBuf,
    triple: &'a str,
    purpose: Purpose,
    package: Option<PathBuf>,
    settings: Settings,
    toolkit: Option<&'a ToolkitPaths>,
    journal: Journal<'a>,
}

impl<'a> Image<'a> {
    /// What rustc has linked, which cargo's variables tell.
    fn new(plan: &'a Plan, triple: &'a str, line: &LinkLine, output: PathBuf) -> Self {
        let crate_name = env::var("CARGO_CRATE_NAME").unwrap_or_default();
        let program = env::var("CARGO_BIN_NAME").ok();
        let is_test = line.is_test_harness() || platform::parent_has_argument("--test");
        // Cargo gives a name of its own to build scripts, which are neither tests nor libraries, nor programs of the user.
        let may_be_build_script = !is_test && program.is_none() && output.extension().is_none();
        let (name, purpose) = if may_be_build_script && crate_name.starts_with("build_script_") {
            let package = env::var("CARGO_PKG_NAME").unwrap_or_default();
            (format!("build script of {package}"), Purpose::OfBuild)
        } else {
            let purpose = match line.is_procedural_macro() {
                true => Purpose::OfBuild,
                false => Purpose::OfUser,
            };
            (image_name(&output, program, is_test), purpose)
        };
        let package = env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
        let mut settings = plan.settings(package.as_deref()).clone();
        if purpose == Purpose::OfBuild {
            // These are for what the user makes.
            settings.libraries.clear();
        }
        Self {
            name,
            output,
            triple,
            purpose,
            package,
            settings,
            toolkit: plan.toolkit.as_ref().ok(),
            journal: Journal(&plan.journal),
        }
    }

    fn link(&self, plan: &Plan, line: &LinkLine, host: &HostLink<'_>) -> Result<ExitCode> {
        let objects = self.objects(line)?;
        let waits = objects.wait();
        // A library may have had its device code linked, or there is none, and some link the runtime or cuBLAS all the same.
        let folders = self.folders_of_toolkit(line);
        if waits || self.purpose == Purpose::OfUser {
            self.depend_on_choices(plan, waits || !folders.is_empty())?;
        }
        if !waits {
            return self.host_link_alone(folders, line, host);
        }
        // Held as long as the host linker reads what it has.
        let entry = Entry::lock(plan, &self.output)?;
        let placed = objects.placed;
        let made = self.make(plan, objects, line, entry.as_ref())?;
        let status = match &made.device {
            Some(device) => self.host_link(device, placed, folders, line, host)?,
            None => host.run(Vec::new(), Vec::new())?,
        };
        if !status.success()
            && let Some(failed) = &made.failed
        {
            self.say_all(self.problems(failed, line, &plan.build)?);
        }
        Ok(platform::exit_code(status))
    }

    /// The inputs of the host link, but for libraries of the system.
    fn files(&self, line: &LinkLine) -> Vec<PathBuf> {
        line.files(&search_folders(self.machine()))
    }

    /// Everything with device code.
    fn objects(&self, line: &LinkLine) -> Result<Objects> {
        let mut objects = Objects::find(&self.files(line))?;
        for library in &self.settings.libraries {
            objects
                .add(library)
                .context("device library of --device-library, CUDALINK_LIBRARIES or a manifest")?;
        }
        Ok(objects)
    }

    /// Cargo knows nothing of choices. It links again when one has changed that is told here.
    fn depend_on_choices(&self, plan: &Plan, has_device_code: bool) -> Result<()> {
        let what = match has_device_code {
            true => Tracked::Everything,
            false => Tracked::Libraries,
        };
        let variable = plan.track(self.package.as_deref(), what);
        dependencies::add(&self.output, &variable, &self.settings.libraries)
    }

    /// Everything the device link depends on.
    fn key(&self, plan: &Plan, objects: &Objects) -> Result<String> {
        let mut hash = Sha256::new();
        let surroundings = (&plan.program, self.triple, &self.settings, &plan.toolkit);
        hash.update(serde_json::to_vec(&surroundings)?);
        objects.hash_into(&mut hash);
        Ok(key(hash))
    }

    fn say(&self, level: Level, text: String) {
        self.say_all([self.message(level, None, text)]);
    }

    fn say_all(&self, messages: impl IntoIterator<Item = Message>) {
        for message in messages {
            self.journal.add(&Event::Message(message));
        }
    }

    fn message(&self, level: Level, code: Option<&str>, text: String) -> Message {
        Message {
            image: self.name.clone(),
            level,
            code: code.map(str::to_owned),
            text,
        }
    }

    /// The user's linker, with the device code first.
    fn host_link(
        &self,
        device: &Device,
        placed: u64,
        further: Vec<PathBuf>,
        line: &LinkLine,
        host: &HostLink<'_>,
    ) -> Result<ExitStatus> {
        let Device { object, record, .. } = device;
        let mut first = vec![OsString::from(object)];
        let needs_script = match self.settings.host_linker_script.unwrap_or_default() {
            ScriptUse::Auto => placed + record.report.bytes > REACH && host.takes_script(),
            ScriptUse::Always => true,
            ScriptUse::Never => false,
        };
        let script = object.with_extension("ld");
        if needs_script {
            let text = format!("{}{}", script::SECTIONS, script::INSERT);
            output::write(&script, text.as_bytes())
                .with_context(|| format!("cannot write {}", script.display()))?;
            // Linkers and the compilers that call them take it in this way, whatever is in the path.
            first.extend(["-T".into(), script.into_os_string()]);
        }
        let mut last = Vec::new();
        if record.needs_device_runtime {
            let library = self.toolkit.and_then(|t| t.device_runtime.clone());
            last.extend(library.map(OsString::from));
        }
        last.extend(further.into_iter().map(as_option));
        let status = host.run(first, last)?;
        if !status.success() {
            if !triple::is_for_musl(self.triple) && !line.names_runtime() {
                self.say(Level::Help, NO_RUNTIME.to_owned());
            }
            self.say_what_is_missing(line, host);
            if needs_script {
                self.say(Level::Help, NO_SCRIPT.to_owned());
            }
        }
        Ok(status)
    }

    /// The user's linker without device code of ours.
    fn host_link_alone(
        &self,
        further: Vec<PathBuf>,
        line: &LinkLine,
        host: &HostLink<'_>,
    ) -> Result<ExitCode> {
        let folders = self.folders_of_system();
        let machine = self.machine();
        let is_known = |name: &str| Library::linked_as(name).is_some();
        let finds_all = !line.lacks_runtime(&folders, machine)
            && !line.lacks_driver(&folders, machine)
            && !line.lacks(is_known, &folders, machine);
        if finds_all && further.is_empty() {
            return host.replace();
        }
        let status = host.run(Vec::new(), further.into_iter().map(as_option).collect())?;
        if !status.success() {
            self.say_what_is_missing(line, host);
        }
        Ok(platform::exit_code(status))
    }

    /// Says which linker, and which libraries of CUDA, a host link has failed for.
    fn say_what_is_missing(&self, line: &LinkLine, host: &HostLink<'_>) {
        if self.machine() != env::consts::ARCH
            && let Some(machine) = host
                .machine()
                .filter(|machine| !self.machine().starts_with(machine.as_str()))
        {
            let text = format!(
                "'{}' links for {machine}, not for {1}; name a linker for it, such as {1}-linux-gnu-gcc, with \
                 target.{2}.linker in .cargo/config.toml",
                host.linker.display(),
                self.machine(),
                self.triple
            );
            self.say(Level::Help, text);
        }
        let mut folders = self.folders_of_system();
        folders.extend(self.folders_of_toolkit(line));
        if triple::is_for_musl(self.triple) {
            self.say(Level::Help, RUNTIME_IS_NOT_FOR_MUSL.to_owned());
        } else if line.lacks_runtime(&folders, self.machine()) {
            self.say(Level::Help, RUNTIME_NOT_FOUND.to_owned());
        }
        if line.lacks_driver(&folders, self.machine()) {
            self.say(Level::Help, DRIVER_NOT_FOUND.to_owned());
        }
        let lacks = |library: &&Library| {
            let is_of = |name: &str| Library::linked_as(name).is_some_and(|of| of == *library);
            line.lacks(is_of, &folders, self.machine())
        };
        let lacking = LIBRARIES.iter().filter(lacks).map(|library| library.name);
        let names = lacking.collect::<Vec<_>>().join(",");
        if !names.is_empty() {
            let text = format!(
                "`cargo cudalink toolkit install --with {names}` adds what the host linker does not find to a toolkit"
            );
            self.say(Level::Help, text);
        }
    }

    /// The folders of the toolkit with libraries that the host linker does not find by itself: crates that name the CUDA
    /// runtime, cuBLAS and the like without a folder count on others that do, or on one place of the system. Where there is
    /// no driver, its stub serves.
    fn folders_of_toolkit(&self, line: &LinkLine) -> Vec<PathBuf> {
        let runtime = self.toolkit.and_then(|t| t.device_runtime.as_ref());
        let libraries = runtime.and_then(|runtime| runtime.parent());
        let Some(libraries) = libraries.filter(|_| !triple::is_for_musl(self.triple)) else {
            return Vec::new();
        };
        let folders = self.folders_of_system();
        [libraries.to_owned(), libraries.join(STUBS)]
            .into_iter()
            .filter(|folder| line.needs_folder(folder, &folders, self.machine()))
            .collect()
    }

    fn machine(&self) -> &str {
        triple::machine(self.triple)
    }

    fn folders_of_system(&self) -> Vec<PathBuf> {
        let shared = Path::new("/usr/lib").join(format!("{}-linux-gnu", self.machine()));
        let told = search_folders(self.machine()).into_iter();
        told.chain(SYSTEM_FOLDERS.map(PathBuf::from))
            .chain([shared])
            .collect()
    }
}

/// How a host linker is told of a folder with libraries.
fn as_option(folder: PathBuf) -> OsString {
    let mut option = OsString::from("-L");
    option.push(folder);
    option
}

/// Where the user's variable has compilers look for libraries.
fn search_folders(machine: &str) -> Vec<PathBuf> {
    folders_for(machine, env::var_os("LIBRARY_PATH"))
}

/// The folders of that variable, which cross compilers pass over.
fn folders_for(machine: &str, variable: Option<OsString>) -> Vec<PathBuf> {
    variable
        .filter(|_| machine == env::consts::ARCH)
        .iter()
        .flat_map(env::split_paths)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_are_called_as_users_call_them() {
        let check = |output: &str, program: Option<&str>, is_test_harness, expected: &str| {
            let program = program.map(str::to_owned);
            let name = image_name(Path::new(output), program, is_test_harness);
            assert_eq!(name, expected);
        };
        let hashed = "target/debug/deps/my_app-0123456789abcdef";
        check(hashed, None, false, "my_app");
        check(hashed, Some("my-app"), false, "my-app");
        check(hashed, Some("my-app"), true, "my-app test");
        check(hashed, Some("other"), true, "my_app test");
        check("target/debug/deps/libplugin.so", None, false, "libplugin");
        check(
            "/tmp/rustdoctest1/rust_out",
            None,
            false,
            "documentation test",
        );
        check("a/two-words", None, false, "two-words");
    }

    #[test]
    fn cross_compilers_look_in_no_folder_of_this_machine() {
        let folders = |machine: &str| folders_for(machine, Some("/a:/b".into()));
        let expected: [PathBuf; 2] = ["/a".into(), "/b".into()];
        assert_eq!(folders(env::consts::ARCH), expected);
        assert!(folders("another").is_empty());
    }
}
