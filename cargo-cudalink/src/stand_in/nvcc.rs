//! nvcc for build scripts: makes objects that can still be linked with those of other crates.
//!
//! The `cc` crate links the device code of every library by itself, where it cannot see what other crates define. Here
//! that link makes an empty object, and compiling makes relocatable code.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use cudalink_toolkit::launcher;
use object::{Architecture, BinaryFormat, Endianness};
use rustnvlink::output;

use crate::journal::{Event, Journal, Level, Message};
use crate::plan::{CompiledFor, Plan};
use crate::platform;
use crate::settings::Word;
use crate::stand_in::linker::{RUNTIME_IS_NOT_FOR_MUSL, is_for_musl};
use crate::style;

/// What nvcc is asked for.
#[derive(Debug, PartialEq, Eq)]
enum Action {
    /// Link the device code of some files into an object for the host linker.
    DeviceLink(PathBuf),
    /// Compile to host objects; these arguments are missing.
    Compile(Vec<String>),
    /// Anything else.
    Other,
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

    /// What a compilation needs besides.
    fn missing(&self, compiled_for: &CompiledFor) -> Vec<String> {
        let mut missing = Vec::new();
        if !self.relocatable {
            missing.push("-rdc=true".to_owned());
        }
        // nvcc optimizes no code together that is for debuggers.
        let code = match compiled_for.link_time && !self.debug {
            true => "lto",
            false => "sm",
        };
        if !self.processor && !compiled_for.processors.is_empty() {
            missing.extend(compiled_for.processors.iter().map(|Word(sm)| {
                let number = sm.to_string().replace("sm_", "");
                format!("--generate-code=arch=compute_{number},code={code}_{number}")
            }));
        } else if code == "lto" && !self.code {
            missing.push("-dlto".to_owned());
        }
        missing
    }
}

impl Action {
    fn of(arguments: &[OsString], compiled_for: &CompiledFor) -> Self {
        match Said::by(arguments) {
            Some(said) if said.links => {
                Self::DeviceLink(said.output.unwrap_or_else(|| "a_dlink.o".into()))
            }
            Some(said) if said.compiles => Self::Compile(said.missing(compiled_for)),
            Some(_) | None => Self::Other,
        }
    }
}

/// Does what nvcc would do.
pub(crate) fn run(plan: &Plan, arguments: Vec<OsString>) -> Result<ExitCode> {
    let toolkit = match &plan.toolkit {
        Ok(toolkit) => toolkit,
        Err(why) => {
            report_missing(plan, why);
            return Ok(ExitCode::FAILURE);
        }
    };
    let mut command = launcher::command(&toolkit.launcher, &toolkit.nvcc);
    let action = match is_linked_later(plan) {
        true => Action::of(&arguments, &plan.compiled_for),
        false => Action::Other,
    };
    match action {
        Action::DeviceLink(output) => {
            output::write(&output, &empty_object()?)
                .with_context(|| format!("cannot write {}", output.display()))?;
            return Ok(ExitCode::SUCCESS);
        }
        Action::Compile(missing) => {
            if let Ok(triple) = std::env::var("TARGET")
                && is_for_musl(&triple)
            {
                say(plan, Level::Help, RUNTIME_IS_NOT_FOR_MUSL);
            }
            command.args(without_static(arguments)).args(missing)
        }
        Action::Other => command.args(arguments),
    };
    platform::replace_by(command)
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
        Ok(triple) => triple.split('-').next().unwrap_or_default().to_owned(),
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

    fn compile(missing: &[&str]) -> Action {
        Action::Compile(missing.iter().map(|word| (*word).to_owned()).collect())
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
        check("-o x.o -c x.cu", compile(&["-rdc=true", sm_90]));
        check("-c --device-c -o x.o x.cu", compile(&[sm_90]));
        check("-c -arch=sm_80 -o x.o x.cu", compile(&["-rdc=true"]));
        check(
            "-c -gencode arch=compute_80,code=sm_80 -rdc=true x.cu",
            compile(&[]),
        );
        check("-c -rdc=false -arch sm_80 x.cu", compile(&[]));
    }

    #[test]
    fn code_to_be_optimized_is_ltoir() {
        let lto_90 = "--generate-code=arch=compute_90,code=lto_90";
        check_for(true, "-rdc=true -c x.cu", compile(&[lto_90]));
        check_for(true, "-rdc=true -c -arch=sm_80 x.cu", compile(&["-dlto"]));
        let explicit = "-rdc=true -c -gencode arch=compute_80,code=sm_80 x.cu";
        check_for(true, explicit, compile(&[]));
        let sm_90 = "--generate-code=arch=compute_90,code=sm_90";
        check_for(true, "-G -rdc=true -c x.cu", compile(&[sm_90]));
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
