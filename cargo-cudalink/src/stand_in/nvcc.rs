//! nvcc for build scripts: makes objects that can still be linked with those of other crates.
//!
//! The `cc` crate links the device code of every library by itself, where it cannot see what other crates define. Here
//! that link makes an empty object, and compiling makes relocatable code.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};
use cudalink_toolkit::launcher;
use object::{Architecture, BinaryFormat, Endianness};
use rustnvlink::codes;
use rustnvlink::device_link::{DeviceLink, Request};
use rustnvlink::inputs::{Environment, Files, Wanted};
use rustnvlink::output;

use crate::cargo::surroundings::{COMPILER_VARIABLE, Variable};
use crate::journal::{Event, Journal, Level, Message};
use crate::plan::{CompiledFor, Plan};
use crate::platform;
use crate::settings::Word;
use crate::stand_in::linker::RUNTIME_IS_NOT_FOR_MUSL;
use crate::style;
use crate::triple;

/// What nvcc is asked for.
#[derive(Debug, PartialEq, Eq)]
enum Action {
    /// Link the device code of some files into an object for the host linker.
    DeviceLink(PathBuf),
    /// Compile to host objects.
    Compile(Compilation),
    /// Anything else.
    Other,
}

/// What a compilation is to be.
#[derive(Debug, Default, PartialEq, Eq)]
struct Compilation {
    /// Arguments that make its code relocatable, if it is not.
    relocatable: Option<&'static str>,
    /// Other arguments that are missing.
    missing: Vec<String>,
    /// The object, if it is named and has machine code.
    object: Option<PathBuf>,
}

/// What a command line of nvcc says.
#[derive(Default)]
struct Said {
    links: bool,
    compiles: bool,
    relocatable: bool,
    processor: bool,
    code: bool,
    debug: bool,
    only_tells: bool,
    output: Option<PathBuf>,
}

impl Said {
    /// `None` where device code goes into a file of its own, which is nothing that the host linker gets.
    fn by(arguments: &[OsString]) -> Option<Self> {
        let mut said = Self::default();
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            let text = word.to_string_lossy();
            let (option, value) = match text.split_once('=') {
                Some((option, value)) => (option, Some(value)),
                None => (&*text, None),
            };
            match option {
                "-dlink" | "--device-link" => said.links = true,
                "-c" | "--compile" => said.compiles = true,
                "-dc" | "--device-c" | "-dw" | "--device-w" => {
                    said.compiles = true;
                    said.relocatable = true;
                }
                "-rdc" | "--relocatable-device-code" => said.relocatable = true,
                "-arch" | "--gpu-architecture" => said.processor = true,
                "-gencode" | "--generate-code" | "-code" | "--gpu-code" | "-dlto" => {
                    said.processor = true;
                    said.code = true;
                }
                "-G" | "--device-debug" => said.debug = true,
                // As sccache asks what there is to run.
                "-dryrun" | "--dryrun" => said.only_tells = true,
                "-cubin" | "--cubin" | "-fatbin" | "--fatbin" | "-ptx" | "--ptx" => return None,
                "-o" | "--output-file" => {
                    let path = value.map(OsString::from).or_else(|| words.next().cloned());
                    said.output = path.map(PathBuf::from).or(said.output);
                }
                _ => {}
            }
        }
        Some(said)
    }

    /// What a compilation is to be, with what it needs besides.
    fn compilation(self, compiled_for: &CompiledFor) -> Compilation {
        let mut missing = Vec::new();
        // nvcc optimizes no code together that is for debuggers.
        let code = match compiled_for.link_time && !self.debug {
            true => "lto",
            false => "sm",
        };
        if !self.processor && !compiled_for.processors.is_empty() {
            missing.extend(compiled_for.processors.iter().map(|Word(sm)| {
                let number = sm.number_and_letter();
                format!("--generate-code=arch=compute_{number},code={code}_{number}")
            }));
        } else if code == "lto" && !self.code {
            missing.push("-dlto".to_owned());
        }
        Compilation {
            relocatable: (!self.relocatable).then_some("-rdc=true"),
            missing,
            object: self.output.filter(|_| code == "sm" && !self.only_tells),
        }
    }
}

impl Action {
    fn of(arguments: &[OsString], compiled_for: &CompiledFor) -> Self {
        match Said::by(arguments) {
            Some(said) if said.links => {
                Self::DeviceLink(said.output.unwrap_or_else(|| "a_dlink.o".into()))
            }
            Some(said) if said.compiles => Self::Compile(said.compilation(compiled_for)),
            Some(_) | None => Self::Other,
        }
    }
}

/// What to do where a compiler of the user's choice does not run.
const CHOSEN: &str =
    "the variable NVCC chooses the compiler; without it that is the nvcc of the CUDA toolkit";

/// Does what nvcc would do.
pub(crate) fn run(plan: &Plan, arguments: Vec<OsString>) -> Result<ExitCode> {
    let done = act(plan, arguments);
    if let Err(error) = &done {
        // What is said here drowns in what build scripts print.
        say(plan, Level::Error, &style::reason(error));
        let is_chosen = |variable: &Variable| variable.replaces(COMPILER_VARIABLE);
        if error.is::<io::Error>() && plan.variables.iter().any(is_chosen) {
            say(plan, Level::Help, CHOSEN);
        }
    }
    done
}

fn act(plan: &Plan, arguments: Vec<OsString>) -> Result<ExitCode> {
    let toolkit = match &plan.toolkit {
        Ok(toolkit) => toolkit,
        Err(why) => {
            report_missing(plan, why);
            return Ok(ExitCode::FAILURE);
        }
    };
    let nvcc = || launcher::command(&toolkit.launcher, &toolkit.nvcc);
    let action = match is_linked_later(plan) {
        true => Action::of(&arguments, &plan.compiled_for),
        false => Action::Other,
    };
    match action {
        Action::DeviceLink(output) => {
            output::write(&output, &empty_object()?)
                .with_context(|| format!("cannot write {}", output.display()))?;
            Ok(ExitCode::SUCCESS)
        }
        Action::Compile(compilation) => {
            if let Ok(triple) = std::env::var("TARGET")
                && triple::is_for_musl(&triple)
            {
                say(plan, Level::Help, RUNTIME_IS_NOT_FOR_MUSL);
            }
            let arguments = without_static(arguments);
            let command = || {
                let mut command = nvcc();
                command.args(&arguments).args(&compilation.missing);
                command
            };
            compile(plan, command, compilation.relocatable, compilation.object)
        }
        Action::Other => {
            let mut command = nvcc();
            command.args(arguments);
            platform::replace_by(command)
        }
    }
}

/// Compiles to relocatable code, unless no program could link it.
///
/// Where code is compiled as a whole, nvcc gives a function as many registers as the kernels that call it may have
/// (`__launch_bounds__`). Of relocatable code it does not know who calls it, so that a function which is not put into its
/// callers, as with `-G`, can take more than its own kernel has.
fn compile(
    plan: &Plan,
    whole: impl Fn() -> Command,
    relocatable: Option<&str>,
    object: Option<PathBuf>,
) -> Result<ExitCode> {
    let mut command = whole();
    command.args(relocatable);
    let Some(object) = object.filter(|_| relocatable.is_some()) else {
        return platform::replace_by(command);
    };
    let mut child = command
        .spawn()
        .map_err(|error| platform::not_started(&command, error))?;
    platform::hand_on_termination(&child)?;
    let status = child.wait()?;
    if !status.success() || !has_too_many_registers(&object) {
        return Ok(platform::exit_code(status));
    }
    let name = object.file_name().unwrap_or_default().to_string_lossy();
    let text = format!("{name} is compiled without -rdc=true: {TOO_MANY_REGISTERS}");
    say(plan, Level::Info, &text);
    platform::replace_by(whole())
}

/// Why code is not relocatable.
const TOO_MANY_REGISTERS: &str = "a kernel in it may have fewer registers (__launch_bounds__) than a function takes that it \
    calls, and with -rdc=true nvcc does not know of that";

/// Whether the kernels of an object call functions in it that need more registers than they may have.
fn has_too_many_registers(object: &Path) -> bool {
    let request = Request::new(Wanted::new(vec![object.to_owned()]));
    let link = DeviceLink::new(&request).environment(Environment::from_process());
    let all_processors = |_: &Files| Vec::new();
    link.link_files(all_processors)
        .has(codes::TOO_MANY_REGISTERS)
}

/// Whether what a build script makes is linked by the linker of this plan, which cargo tells it. A program that runs below
/// this command may call cargo itself, and build scripts for the machine that builds may have another linker.
fn is_linked_later(plan: &Plan) -> bool {
    std::env::var_os("RUSTC_LINKER")
        .is_some_and(|linker| Path::new(&linker).starts_with(plan.folder.linkers()))
}

/// Says that there is no toolkit: in short here, where what is said drowns in what build scripts print, and in full at
/// the end of the build.
fn report_missing(plan: &Plan, why: &str) {
    say(plan, Level::Error, why);
    let first = why.lines().next().unwrap_or_default();
    style::error(&anyhow::Error::msg(first.to_owned()));
}

/// Says something about the package whose build script runs.
fn say(plan: &Plan, level: Level, text: &str) {
    let package = std::env::var("CARGO_PKG_NAME").unwrap_or_else(|_| "nvcc".to_owned());
    Journal(&plan.journal).add(&Event::Message(Message {
        image: package,
        level,
        code: None,
        text: text.to_owned(),
    }));
}

/// Leaves `-static` out, which the `cc` crate adds for `-C target-feature=+crt-static`. It is about linking, and nvcc does
/// not know it.
fn without_static(arguments: Vec<OsString>) -> Vec<OsString> {
    let mut is_value = false;
    let mut left = arguments;
    left.retain(|word| {
        let is_own = !std::mem::replace(&mut is_value, word == "-Xcompiler");
        !(is_own && word == "-static")
    });
    left
}

/// An object of the machine that is compiled for.
fn empty_object() -> Result<Vec<u8>> {
    let machine = match std::env::var("TARGET") {
        Ok(triple) => triple::machine(&triple).to_owned(),
        Err(_) => std::env::consts::ARCH.to_owned(),
    };
    let architecture = match machine.as_str() {
        "x86_64" => Architecture::X86_64,
        "aarch64" => Architecture::Aarch64,
        other => bail!("CUDA has no host code for {other}"),
    };
    let object = object::write::Object::new(BinaryFormat::Elf, architecture, Endianness::Little);
    Ok(object.write()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(arguments: &str, expected: Action) {
        check_for(false, arguments, expected);
    }

    #[track_caller]
    fn check_for(link_time: bool, arguments: &str, expected: Action) {
        let arguments: Vec<OsString> = arguments.split(' ').map(OsString::from).collect();
        let compiled_for = CompiledFor {
            processors: vec![Word("sm_90".parse().unwrap())],
            link_time,
        };
        assert_eq!(Action::of(&arguments, &compiled_for), expected);
    }

    /// A compilation whose code is made relocatable, or is already.
    fn compile(is_made: bool, missing: &[&str], object: Option<&str>) -> Action {
        Action::Compile(Compilation {
            relocatable: is_made.then_some("-rdc=true"),
            missing: missing.iter().map(|word| (*word).to_owned()).collect(),
            object: object.map(PathBuf::from),
        })
    }

    #[test]
    fn the_link_of_one_library_is_left_out() {
        let link = |path: &str| Action::DeviceLink(path.into());
        check("-G --device-link -o x_dlink.o libx.a", link("x_dlink.o"));
        check("-dlink libx.a -o=y.o", link("y.o"));
        check("-dlink -fatbin libx.a -o y.fatbin", Action::Other);
    }

    #[test]
    fn compiled_code_is_relocatable() {
        let sm_90 = "--generate-code=arch=compute_90,code=sm_90";
        let object = Some("x.o");
        check("-o x.o -c x.cu", compile(true, &[sm_90], object));
        let of_several = "-c --device-c -o x.o x.cu";
        check(of_several, compile(false, &[sm_90], object));
        check("-c -arch=sm_80 -o x.o x.cu", compile(true, &[], object));
        check(
            "-c -gencode arch=compute_80,code=sm_80 -rdc=true x.cu",
            compile(false, &[], None),
        );
        check("-c -rdc=false -arch sm_80 x.cu", compile(false, &[], None));
        let dry = "-c -arch=sm_80 -o x.o x.cu --dryrun";
        check(dry, compile(true, &[], None));
    }

    #[test]
    fn code_to_be_optimized_is_ltoir() {
        let lto_90 = "--generate-code=arch=compute_90,code=lto_90";
        let check = |arguments, expected| check_for(true, arguments, expected);
        check("-rdc=true -c x.cu", compile(false, &[lto_90], None));
        check("-c -o x.o x.cu", compile(true, &[lto_90], None));
        let processor = "-rdc=true -c -arch=sm_80 x.cu";
        check(processor, compile(false, &["-dlto"], None));
        let explicit = "-rdc=true -c -gencode arch=compute_80,code=sm_80 x.cu";
        check(explicit, compile(false, &[], None));
        let sm_90 = "--generate-code=arch=compute_90,code=sm_90";
        let debug = "-G -rdc=true -c x.cu -o x.o";
        check(debug, compile(false, &[sm_90], Some("x.o")));
    }

    #[test]
    fn nvcc_does_not_see_how_programs_are_linked() {
        let words = |text: &str| -> Vec<OsString> { text.split(' ').map(OsString::from).collect() };
        let given = words("-m64 -static -Xcompiler -static -c x.cu");
        assert_eq!(
            without_static(given),
            words("-m64 -Xcompiler -static -c x.cu")
        );
    }

    #[test]
    fn everything_else_is_left_alone() {
        check("-ptx x.cu", Action::Other);
        check("--version", Action::Other);
        check("-E x.cu", Action::Other);
    }

    #[test]
    fn the_empty_object_can_be_linked() {
        let bytes = empty_object().unwrap();
        assert_eq!(
            rustnvlink::container::detect(&bytes),
            rustnvlink::container::InputKind::HostObject
        );
    }
}
