//! What `cargo cudalink doctor` says of the machine where it is given no files.

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use cudalink_toolkit::{Environment, NotChosen, NotFound, Tool, Toolkit};
use serde::Serialize;

use super::SCHEMA_VERSION;
use crate::cargo::host_linker;
use crate::streams;
use crate::style::{self, ERROR, Format, GOOD, NOTE, QUIET};
use crate::toolkit;

/// How it is with a part of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum State {
    /// It is there, and works.
    Ok,
    /// It is not there, which matters to programs that run and to nothing here.
    None,
    /// It is not there, or not as some commands need it.
    Missing,
    /// It is there or was chosen, and does not work.
    Broken,
}

/// What there is to say of a part.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct Check {
    part: &'static str,
    state: State,
    /// What is there, or what is wrong.
    found: String,
    /// The version of what is there, for programs; people read it in `found`.
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<String>,
    /// Of the driver, in the same way: the GPUs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    devices: Vec<Device>,
    /// What cannot be done.
    #[serde(skip_serializing_if = "Option::is_none")]
    needed: Option<&'static str>,
    /// What helps.
    #[serde(skip_serializing_if = "Option::is_none")]
    fix: Option<String>,
}

impl Check {
    fn new(part: &'static str, state: State, found: impl Into<String>) -> Self {
        Self {
            part,
            state,
            found: found.into(),
            version: None,
            devices: Vec::new(),
            needed: None,
            fix: None,
        }
    }

    fn with_version(self, version: impl ToString) -> Self {
        let version = Some(version.to_string());
        Self { version, ..self }
    }

    fn needed(self, needed: &'static str) -> Self {
        let needed = Some(needed);
        Self { needed, ..self }
    }

    fn with_fix(self, fix: impl Into<String>) -> Self {
        let fix = Some(fix.into());
        Self { fix, ..self }
    }
}

/// A GPU.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct Device {
    name: String,
    /// Its processor, such as `sm_90`.
    arch: String,
}

#[derive(Serialize)]
struct Document<'a> {
    schema_version: u32,
    machine: &'a [Check],
}

/// Checks the machine. Something that is missing is no failure unless the user says so: links need little.
pub(super) fn run(format: Format, deny_warnings: bool) -> Result<()> {
    let checks = all()?;
    streams::printed(match format {
        Format::Json => write_json(&checks),
        Format::Text => write_text(&checks),
    })?;
    let fails = |check: &&Check| {
        check.state == State::Broken || deny_warnings && check.state == State::Missing
    };
    let parts: Vec<&str> = checks
        .iter()
        .filter(fails)
        .map(|check| check.part)
        .collect();
    ensure!(parts.is_empty(), "not in order: {}", parts.join(", "));
    Ok(())
}

fn all() -> Result<Vec<Check>> {
    let environment = Environment::from_process()?;
    let linker = host_linker();
    let mut checks = Vec::new();
    match toolkit::of_current_folder(&environment) {
        Ok(toolkit) => checks.extend(of_toolkit(&toolkit)),
        Err(error) => checks.push(without_toolkit(&error)),
    }
    checks.push(of_host_linker(&environment, &linker));
    checks.push(of_cache(&environment));
    checks.push(of_driver(&environment));
    Ok(checks)
}

fn of_toolkit(toolkit: &Toolkit) -> Vec<Check> {
    let place = format!("{} ({})", toolkit.root().display(), toolkit.origin());
    let mut checks = vec![match toolkit.version() {
        Ok(version) => Check::new("CUDA toolkit", State::Ok, format!("{version} in {place}"))
            .with_version(version),
        Err(error) => Check::new("CUDA toolkit", State::Broken, format!("{place}: {error}")),
    }];
    for ignored in toolkit.ignored_variables() {
        checks.push(Check::new("CUDA toolkit", State::Missing, ignored));
    }
    checks.push(match toolkit.version_of(Tool::Ptxas) {
        Ok(version) => Check::new("ptxas", State::Ok, version.to_string()).with_version(version),
        Err(error) => Check::new("ptxas", State::Broken, error.to_string())
            .needed("to compile, and to link PTX"),
    });
    checks.push(match compile(toolkit) {
        Ok(()) => Check::new("nvcc", State::Ok, "compiles"),
        Err(error) => Check::new("nvcc", State::Broken, format!("{error:#}"))
            .needed("to compile CUDA sources")
            .with_fix(
                "nvcc needs g++ of a release that it knows; NVCC_CCBIN names another one than that of PATH",
            ),
    });
    checks.push(match toolkit.libnvjitlink() {
        Ok(library) => Check::new("nvJitLink", State::Ok, shown_in(&library, toolkit)),
        Err(error) => {
            Check::new("nvJitLink", State::Missing, error.to_string()).needed("for --dlto")
        }
    });
    checks
}

/// A part of the toolkit, which has been named.
fn shown_in(part: &Path, toolkit: &Toolkit) -> String {
    let inside = part.strip_prefix(toolkit.root()).unwrap_or(part);
    inside.display().to_string()
}

/// One that was chosen has to be there.
fn without_toolkit(error: &anyhow::Error) -> Check {
    let not_found = match error.downcast_ref() {
        Some(NotChosen::Folder(not_found)) => Some(not_found),
        Some(NotChosen::Version(_)) | None => None,
    };
    match not_found.map(NotFound::of_choice) {
        Some(None) => Check::new("CUDA toolkit", State::Missing, "none is found")
            .needed("to compile CUDA sources, and to link PTX and LTO-IR")
            .with_fix(
                "`cargo cudalink toolkit install` installs one; `cargo cudalink toolkit path` says where one is looked for",
            ),
        Some(Some(chosen)) => Check::new("CUDA toolkit", State::Broken, chosen.to_string())
            .with_fix("name the folder of a toolkit, which holds bin/nvcc and bin/ptxas, or make no choice"),
        None => Check::new("CUDA toolkit", State::Broken, format!("{error:#}")),
    }
}

/// Compiles a kernel, which takes the compilers of device and host code, ptxas and the headers.
fn compile(toolkit: &Toolkit) -> Result<()> {
    const SOURCE: &str = "__global__ void kernel(int *p) { *p = 1; }\n";
    let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
    fs::write(folder.path().join("kernel.cu"), SOURCE).context("cannot write a source")?;
    let output = Command::new(toolkit.tool(Tool::Nvcc)?)
        .args(["-dc", "kernel.cu", "-o", "kernel.o"])
        .current_dir(&folder)
        .stdin(Stdio::null())
        .output()
        .context("it cannot be run")?;
    let said =
        [output.stderr, output.stdout].map(|text| String::from_utf8_lossy(&text).into_owned());
    let mut lines = said.iter().flat_map(|text| text.lines());
    let is_error = |line: &&str| line.contains("error") || line.contains("fatal");
    let first = lines.clone().find(is_error).or_else(|| lines.next());
    ensure!(
        output.status.success(),
        "does not compile: {}",
        first.unwrap_or("it says nothing")
    );
    Ok(())
}

/// The linkers that `-fuse-ld` names.
const LINKERS: [&str; 5] = ["bfd", "gold", "lld", "mold", "wild"];

fn of_host_linker(environment: &Environment, linker: &Path) -> Check {
    const PART: &str = "host linker";
    let is_there = match linker.components().count() {
        1 => linker
            .to_str()
            .is_some_and(|name| environment.has_program(name)),
        _ => linker.is_file(),
    };
    let name = linker.display();
    if !is_there {
        return Check::new(PART, State::Missing, format!("there is no '{name}'"))
            .needed("for all that cargo builds")
            .with_fix("install a C++ compiler, such as Debian's g++, or name one as target.<triple>.linker in .cargo/config.toml");
    }
    let others = LINKERS.into_iter().filter(|name| {
        environment.has_program(&format!("ld.{name}")) || environment.has_program(name)
    });
    let others: Vec<&str> = others.collect();
    let found = match others.is_empty() {
        true => name.to_string(),
        false => format!("{name}; -fuse-ld= {}", others.join(", ")),
    };
    Check::new(PART, State::Ok, found)
}

/// The cache is where toolkits are installed.
fn of_cache(environment: &Environment) -> Check {
    const PART: &str = "cache folder";
    let needed = "for `cargo cudalink toolkit install`";
    let fix = "RUSTNVLINK_CACHE names another folder";
    let Some(cache) = &environment.cache else {
        let found = "the user has no home folder";
        return Check::new(PART, State::Missing, found)
            .needed(needed)
            .with_fix(fix);
    };
    let cache = environment.current_dir.join(cache);
    let there = cache.ancestors().find(|folder| folder.exists());
    match there.map(tempfile::tempfile_in) {
        Some(Err(error)) => {
            let found = format!("cannot write to {}: {error}", cache.display());
            Check::new(
                PART,
                State::Missing,
                rustnvlink::error::without_number(found),
            )
            .needed(needed)
            .with_fix(fix)
        }
        Some(Ok(_)) | None => Check::new(PART, State::Ok, cache.display().to_string()),
    }
}

/// Where the kernel tells of NVIDIA's driver.
const DRIVER: &str = "/proc/driver/nvidia/version";

fn of_driver(environment: &Environment) -> Check {
    const PART: &str = "driver";
    let loaded = fs::read_to_string(DRIVER).ok();
    let version = loaded.as_deref().and_then(driver_version);
    let devices = match environment.has_program("nvidia-smi") {
        true => devices(),
        false => Vec::new(),
    };
    if version.is_none() && devices.is_empty() {
        let found = "none; programs can be built here, and run where there is a GPU";
        return Check::new(PART, State::None, found);
    }
    let shown = devices
        .iter()
        .map(|Device { name, arch }| format!("{name} ({arch})"));
    let found: Vec<String> = [version.unwrap_or("NVIDIA").to_owned()]
        .into_iter()
        .chain(shown)
        .collect();
    Check {
        version: version.map(str::to_owned),
        devices,
        ..Check::new(PART, State::Ok, found.join(", "))
    }
}

/// The version in what the kernel tells: the first word of numbers with points between them.
fn driver_version(text: &str) -> Option<&str> {
    let is_version = |word: &&str| {
        let is_number =
            |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        word.contains('.') && word.split('.').all(is_number)
    };
    text.lines().next()?.split_whitespace().find(is_version)
}

/// The GPUs with the processors that they have.
fn devices() -> Vec<Device> {
    let mut command = Command::new("nvidia-smi");
    command.args(["--query-gpu=name,compute_cap", "--format=csv,noheader"]);
    let output = command.stdin(Stdio::null()).output();
    let output = output.ok().filter(|output| output.status.success());
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    let device = |line: &str| {
        let (name, capability) = line.split_once(", ")?;
        Some(Device {
            name: name.to_owned(),
            arch: format!("sm_{}", capability.replace('.', "")),
        })
    };
    text.iter()
        .flat_map(|text| text.lines())
        .filter_map(device)
        .collect()
}

fn write_json(checks: &[Check]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    let document = Document {
        schema_version: SCHEMA_VERSION,
        machine: checks,
    };
    serde_json::to_writer_pretty(&mut out, &document)?;
    writeln!(out)
}

fn write_text(checks: &[Check]) -> io::Result<()> {
    let mut out = style::stdout();
    let width = checks
        .iter()
        .map(|check| check.part.len())
        .max()
        .unwrap_or(0);
    for check in checks {
        let (style, state) = match check.state {
            State::Ok => (GOOD, "ok"),
            State::None => (QUIET, "-"),
            State::Missing => (NOTE, "missing"),
            State::Broken => (ERROR, "broken"),
        };
        let found = style::visible(&check.found);
        write!(
            out,
            "{style}{state:7}{style:#}  {:width$}  {found}",
            check.part
        )?;
        match check.needed {
            Some(needed) => writeln!(out, " {QUIET}(needed {needed}){QUIET:#}")?,
            None => writeln!(out)?,
        }
        if let Some(fix) = &check.fix {
            writeln!(out, "  {GOOD}help{GOOD:#}: {}", style::visible(fix))?;
        }
    }
    out.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_driver_tells_its_version() {
        let check = |text: &str, expected: &str| assert_eq!(driver_version(text), Some(expected));
        check(
            "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar  5 22:23:56 UTC 2024\nGCC version: gcc 12.2.0\n",
            "550.54.15",
        );
        check(
            "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build  (root)\n",
            "580.95.05",
        );
        assert_eq!(driver_version("none\n"), None);
    }
}
