//! Objects for both machines that there is a writer for. For the other one than this, a cross compiler links and an emulator
//! runs them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, ensure};
use rustnvlink::fatbin::{self, FatbinOptions, LinkedImage};
use rustnvlink::host::{HostMachine, HostObject};

use crate::Suite;
use crate::world::{World, missing_program, run, source_file};

/// More modules than the registers of either machine.
const MODULES: [&str; 5] = ["_a", "_b", "_c", "_d", "_e"];

/// Cross compilers and emulators by machine.
struct Host {
    machine: HostMachine,
    cross_compiler: &'static str,
    emulator: &'static str,
    /// Where the emulator finds the C library.
    root: &'static str,
}

const HOSTS: [Host; 2] = [
    Host {
        machine: HostMachine::X86_64,
        cross_compiler: "x86_64-linux-gnu-gcc",
        emulator: "qemu-x86_64",
        root: "/usr/x86_64-linux-gnu",
    },
    Host {
        machine: HostMachine::Aarch64,
        cross_compiler: "aarch64-linux-gnu-gcc",
        emulator: "qemu-aarch64",
        root: "/usr/aarch64-linux-gnu",
    },
];

impl Host {
    fn is_native(&self) -> bool {
        HostMachine::native() == Some(self.machine)
    }

    fn compiler(&self) -> &'static str {
        match self.is_native() {
            true => "cc",
            false => self.cross_compiler,
        }
    }
}

pub(crate) fn add(suite: &mut Suite) {
    for host in HOSTS {
        let mut missing = missing_program(host.compiler());
        if !host.is_native() {
            missing = missing.or_else(|| missing_program(host.emulator));
        }
        let name = format!("modules/{}", host.machine);
        suite.add(name, missing, move |world| registers(world, &host));
    }
}

/// Both forms of the object register all modules, in every kind of program.
fn registers(world: &World, host: &Host) -> Result<()> {
    let folder = world.folder(&format!("modules_{}", host.machine))?;
    let image = LinkedImage::new("sm_90".parse()?, &[0; 64]);
    let fatbin = fatbin::write(&[image], &FatbinOptions::default())?;
    let modules = MODULES.map(str::to_owned);
    let object = HostObject::new(&fatbin, &modules)?;
    let written = folder.join("written.o");
    fs::write(&written, object.to_bytes(host.machine)?)?;
    let source = folder.join("link.c");
    fs::write(&source, object.source()?)?;
    let compiled = compile(host, &folder, &source, "compiled.o", &[])?;

    let mut units = Vec::new();
    for (index, module) in MODULES.iter().enumerate() {
        let name = format!("unit{index}.o");
        let define = format!("-DNAME={module}");
        units.push(compile(
            host,
            &folder,
            &source_file("unit.c"),
            &name,
            &[&define],
        )?);
    }
    units.push(compile(
        host,
        &folder,
        &source_file("runtime.c"),
        "runtime.o",
        &[],
    )?);
    let main = compile(host, &folder, &source_file("empty_main.c"), "main.o", &[])?;

    let mut expected =
        String::from("__cudaRegisterFatBinary magic 466243b1 version 2 fatbin( 2:90 )");
    expected.push_str(&" fatbin( )".repeat(MODULES.len()));
    for module in MODULES {
        expected.push_str(&format!("\ncallback of {module} with 1"));
    }
    expected.push_str("\n__cudaRegisterFatBinaryEnd 1\n__cudaUnregisterFatBinary 1\n");
    for link in [&written, &compiled] {
        for options in [&["-pie"][..], &["-no-pie"], &["-static"]] {
            let program = folder.join("program");
            run(Command::new(host.compiler())
                .args(options)
                .args([link, &main])
                .args(&units)
                .arg("-o")
                .arg(&program))?;
            check(host, &program, &[], &expected)?;
        }
        let library = folder.join("libunits.so");
        run(Command::new(host.compiler())
            .args(["-shared", "-Wl,-z,defs"])
            .arg(link)
            .args(&units)
            .arg("-o")
            .arg(&library))?;
        let program = folder.join("with_library");
        run(Command::new(host.compiler())
            .args(["-Wl,--no-as-needed"])
            .args([&main, &library])
            .arg("-o")
            .arg(&program))?;
        let search = format!("LD_LIBRARY_PATH={}", folder.display());
        check(host, &program, &[&search], &expected)?;
    }
    Ok(())
}

fn compile(
    host: &Host,
    folder: &Path,
    source: &Path,
    name: &str,
    options: &[&str],
) -> Result<PathBuf> {
    let object = folder.join(name);
    run(Command::new(host.compiler())
        .args(["-c", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror"])
        .args(options)
        .arg(source)
        .arg("-o")
        .arg(&object))?;
    Ok(object)
}

fn check(host: &Host, program: &Path, environment: &[&str], expected: &str) -> Result<()> {
    let mut command = Command::new(match host.is_native() {
        true => program,
        false => Path::new(host.emulator),
    });
    if !host.is_native() {
        for variable in environment {
            command.args(["-E", variable]);
        }
        command.args(["-L", host.root]).arg(program);
    }
    for (name, value) in environment
        .iter()
        .filter_map(|variable| variable.split_once('='))
    {
        command.env(name, value);
    }
    let found = run(&mut command)?;
    ensure!(found == expected, "expected\n{expected}\nfound\n{found}");
    Ok(())
}
