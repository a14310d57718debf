//! nvcc calls our linker in place of nvlink, and link-time optimization gives what nvlink gives.
//!
//! Needs a CUDA toolkit and a host compiler. Without one of them the test is skipped, which is a failure where `CI` is
//! set.
#![cfg(unix)]

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Result, ensure};
use rustnvlink_tests::identity;

use world::{SAME_IMAGES, SOURCES, World, shadow};

#[path = "drop_in/link_time.rs"]
mod link_time;
#[path = "drop_in/world.rs"]
mod world;

#[test]
fn a_toolkit_with_our_linker_builds_the_same_programs() -> Result<()> {
    let Some(world) = World::new()? else {
        return Ok(());
    };
    let folder = world.folder();
    world.write(&SOURCES)?;
    let shadow = shadow(&world.nvcc, &world.linker, &folder.join("shadow"))?;
    let archs =
        "-gencode=arch=compute_80,code=sm_80 -gencode=arch=compute_90,code=[sm_90,compute_90]";
    world.compile(&format!("--threads=0 -dc {archs} main.cu twice.cu"))?;
    world.compile(&format!(
        "-rdc=true {archs} -lib library.cu -o liblibrary.a"
    ))?;
    for (compiler, linked, program) in [
        (&world.nvcc, "theirs.o", "theirs"),
        (&shadow, "ours.o", "ours"),
    ] {
        let inputs = "main.o twice.o -L. -llibrary";
        world.run(compiler, &format!("-dlink {archs} {inputs} -o {linked}"))?;
        world.run(compiler, &format!("{archs} {inputs} -o {program}"))?;
    }
    let ours = folder.join("ours.o");
    let same = Path::new(SAME_IMAGES);
    for pair in [["theirs.o", "ours.o"], ["theirs", "ours"]] {
        world.run(same, &pair.join(" "))?;
    }
    // Ours says so in its note; else nothing of this was a test.
    let bytes = fs::read(ours)?;
    ensure!(
        !bytes.windows(6).any(|part| part == b"nvlink"),
        "nvcc did not call our linker"
    );
    // nvcc has programs linked whose device code is whole, too, and nobody wants to hear of it.
    let whole = format!("{archs} library.cu program.cu -o whole");
    fs::write(folder.join("program.cu"), "int main() { return 0; }\n")?;
    let said = world.ended(&shadow, &whole)?;
    ensure!(said == (Some(0), String::new()), "{said:?}");
    // Who links a result again is told what it is.
    let again = Command::new(&world.linker)
        .args(["-arch=sm_80", "-o", "again.cubin", "main.o", "ours.o"])
        .current_dir(folder)
        .output()?;
    let said = String::from_utf8_lossy(&again.stderr).into_owned();
    let expected = "info    : 'ours.o' has the result of a device link";
    ensure!(!again.status.success() && said.contains(expected), "{said}");
    Ok(())
}

#[test]
fn processors_that_kernels_have_no_code_for_are_left_out() -> Result<()> {
    let Some(world) = World::new()? else {
        return Ok(());
    };
    let folder = world.folder();
    let cudalink = identity::program("cargo-cudalink")?;
    let twice = "__device__ int twice(int x) { return 2 * x; }\n";
    let kernel = "__device__ int twice(int x);\n__global__ void k(int *p) { *p = twice(*p); }\n\
                  int main() { k<<<1, 1>>>(nullptr); }\n";
    world.write(&[("twice.cu", twice), ("kernel.cu", kernel)])?;
    let of = |number| format!("-gencode arch=compute_{number},code=sm_{number}");
    let both = format!("-dc {} {} twice.cu", of(80), of(90));
    world.compile(&both)?;
    for number in [80, 90] {
        let compile = format!("-dc {} kernel.cu -o kernel.{number}.o", of(number));
        world.compile(&compile)?;
    }
    let link = |inputs: &str| world.ended(&cudalink, &format!("link {inputs}"));
    // What has no kernel is of no use, unless it was asked for, and then it is none that works.
    let warning = "warning: nothing is linked for sm_80, which the inputs have no kernels for: 'kernel.90.o' has code for \
                   others only [processor-left-out]\n";
    let said = link("kernel.90.o twice.o -o linked.cubin")?;
    ensure!(said == (Some(0), warning.to_owned()), "{said:?}");
    let (code, said) = link("kernel.90.o twice.o --arch sm_80,sm_90 -o linked.o")?;
    let problem = "error: no input has a kernel for sm_80";
    ensure!(code == Some(1) && said.contains(problem), "{said}");
    // A function that is there for another processor is no object to be added, and one piece of advice is enough.
    world.compile(&format!("-dc {} twice.cu -o twice.80.o", of(80)))?;
    let (code, said) = link("kernel.90.o twice.80.o --arch sm_90 -o linked.o")?;
    let advice: Vec<&str> = said
        .lines()
        .filter(|line| line.contains("help: "))
        .collect();
    ensure!(
        code == Some(1) && said.contains("[undefined-reference]"),
        "{said}"
    );
    ensure!(
        advice.len() == 1 && advice[0].starts_with("help: compile all inputs for"),
        "{said}"
    );
    let said = link("kernel.90.o twice.o --arch sm_90 -o linked.o")?;
    ensure!(said == (Some(0), String::new()), "{said:?}");
    // Such a link leaves out nothing that all objects have code for.
    let finding = |object: &str, options: &str| -> Result<bool> {
        link(&format!("{object} twice.o {options} -o linked.o"))?;
        let mut doctor = Command::new(&cudalink);
        doctor.args(["doctor", object, "twice.o", "linked.o"]);
        doctor.current_dir(folder).env_remove("CARGO_TERM_COLOR");
        let output = doctor.output()?;
        let printed = String::from_utf8_lossy(&output.stdout);
        Ok(printed.contains("[arch-missing-in-link]"))
    };
    world.compile(&format!("-dc {} {} kernel.cu", of(80), of(90)))?;
    ensure!(!finding("kernel.90.o", "")?, "sm_80 is missed");
    ensure!(finding("kernel.o", "--arch sm_90")?, "sm_80 is not missed");
    // As with nvcc, files may have the kernels of one processor each.
    let (code, said) = link("kernel.90.o kernel.80.o twice.o -o linked.o")?;
    let warnings = said.matches("[missing-arch-code]").count();
    ensure!(code == Some(0) && warnings == 2, "{said}");
    Ok(())
}
