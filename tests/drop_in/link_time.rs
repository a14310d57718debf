//! Link-time optimization gives what nvlink gives.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use cudalink_toolkit::{Environment, Search, Tool};
use rustnvlink_tests::checks::skip;
use rustnvlink_tests::identity;

use super::world::{SAME_IMAGES, SOURCES, World, shadow};

#[test]
fn link_time_optimization_gives_the_image_of_nvlink() -> Result<()> {
    let Some(world) = World::new()? else {
        return Ok(());
    };
    let environment = Environment::from_process()?;
    let found = Search::new(&environment).explicit(&world.root).find()?;
    let (optimizer, library) = match (found.libnvvm(), found.libnvjitlink()) {
        (Ok(optimizer), Ok(library)) => (optimizer, library),
        (Err(reason), _) | (_, Err(reason)) => return skip(&reason.into()),
    };
    let folder = world.folder();
    world.write(&SOURCES)?;
    let text = "no LTO-IR, though long enough to be read as a file ".repeat(2);
    world.write(&[("text.ltoir", &text)])?;
    // nvlink wants it at this place.
    fs::create_dir_all(folder.join("nvvm/lib64"))?;
    symlink(optimizer, folder.join("nvvm/lib64/libnvvm.so"))?;
    let nvlink = world.toolkit.tool(Tool::Nvlink)?;
    let linker = &world.linker;
    let libraries = world.toolkit.libraries()?;
    let nvvm = format!("-nvvmpath={}", folder.join("nvvm").display());
    for arch in ["sm_80", "sm_90"] {
        let sources = "main.cu twice.cu launching.cu nested.cu";
        world.compile(&format!("--threads=0 -dc -dlto -arch={arch} {sources}"))?;
        for name in ["main", "twice"] {
            let options = format!("-dc -arch={arch} {name}.cu -o {name}.machine.o");
            world.compile(&options)?;
        }
        for name in ["main", "twice", "launching"] {
            let options = format!("-dc -dlto -ltoir -arch={arch} {name}.cu -o {name}.ltoir");
            world.compile(&options)?;
        }
        for name in ["main", "twice"] {
            let options = format!("-dc -dlto -fatbin -arch={arch} {name}.cu -o {name}.fatbin");
            world.compile(&options)?;
        }
        let runtime = format!("-L{} -lcudadevrt", libraries.display());
        for inputs in LINKS {
            let common = format!("-arch={arch} -dlto {inputs} {runtime} {nvvm}");
            let said = world.ended(&nvlink, &format!("{common} -o theirs"))?;
            ensure!(said.0 == Some(0), "{arch}, {inputs}: {said:?}");
            let theirs = fs::read(folder.join("theirs"))?;
            let mut record = String::new();
            if let Some(bytes) = identity::tool_record(&theirs)? {
                fs::write(folder.join("record"), bytes)?;
                record = "--tool-record=record".to_owned();
            }
            let library = library.display();
            let own = format!("--compat --nvjitlink={library} {record}");
            let ours = world.ended(linker, &format!("{common} {own} -o ours"))?;
            ensure!(said == ours, "{arch}, {inputs}: {said:?}, ours {ours:?}");
            ensure!(theirs == fs::read(folder.join("ours"))?, "{arch}: {inputs}");
        }
        // Members of libraries on demand: what nvlink makes of those that are needed.
        let options = format!("-dc -dlto -arch={arch} library.cu");
        world.compile(&options)?;
        world.compile("-lib library.o twice.o -o libboth.a")?;
        for main in ["main.o", "main.machine.o"] {
            let common = format!("-arch={arch} -dlto {nvvm}");
            let inputs = format!("{main} twice.o {runtime}");
            world.run(&nvlink, &format!("{common} {inputs} -o theirs"))?;
            let theirs = fs::read(folder.join("theirs"))?;
            let record = identity::tool_record(&theirs)?.context("no record")?;
            fs::write(folder.join("record"), record)?;
            let own = format!(
                "--compat --nvjitlink={} --tool-record=record",
                library.display()
            );
            let inputs = format!("{main} -L. -lboth {runtime} --archive=lazy");
            world.run(linker, &format!("{common} {inputs} {own} -o ours"))?;
            ensure!(theirs == fs::read(folder.join("ours"))?, "{arch}: {inputs}");
        }
        for inputs in FAILURES {
            let common = format!("-arch={arch} -dlto {inputs} {nvvm} -o nothing");
            let own = format!("--compat --nvjitlink={}", library.display());
            let theirs = world.ended(&nvlink, &common)?;
            let ours = world.ended(linker, &format!("{common} {own}"))?;
            ensure!(
                theirs == ours,
                "{arch}, {inputs}: {theirs:?}, ours {ours:?}"
            );
        }
        // In a host object, as nvcc makes it.
        let inputs = format!("-arch={arch} -dlto main.o twice.machine.o");
        world.compile(&format!("{inputs} -dlink -o theirs.o"))?;
        let cudalink = identity::program("cargo-cudalink")?;
        let mut link = Command::new(&cudalink);
        link.env("CUDA_HOME", &world.root);
        world.run_with(link, &format!("link -{inputs} -o ours.o"))?;
        world.run(Path::new(SAME_IMAGES), "theirs.o ours.o")?;
    }
    // What only one processor or its family has, which nvlink forgets.
    let limit = "__global__ void k() { asm volatile(\"setmaxnreg.inc.sync.aligned.u32 64;\"); }";
    world.write(&[("registers.cu", limit)])?;
    for (arch, target) in [("sm_90a", "90a"), ("sm_100f", "100f")] {
        let target = format!("arch=compute_{target},code=lto_{target}");
        let options = format!("-dc -gencode {target} registers.cu");
        world.compile(&options)?;
        let common = format!("-arch={arch} -dlto registers.o -L{}", libraries.display());
        let common = format!("{common} -lcudadevrt {nvvm} -o program");
        let refused = world.run(&nvlink, &common);
        ensure!(refused.is_err(), "nvlink links it for {arch}");
        let own = format!("{common} --nvjitlink={}", library.display());
        world.run(linker, &own)?;
    }
    // The toolkit of -nvvmpath, whatever toolkit the environment names.
    let other = shadow(&world.nvcc, linker, &folder.join("other"))?;
    let other = other
        .ancestors()
        .nth(2)
        .context("nvcc lies in no toolkit")?;
    for libraries in ["lib", "lib64"] {
        fs::remove_file(other.join(libraries)).ok();
        fs::create_dir(other.join(libraries))?;
        fs::write(other.join(libraries).join("libnvJitLink.so"), "nothing")?;
    }
    let arguments = "-arch=sm_90 -dlto main.o twice.o -o program";
    let link = || {
        let mut link = Command::new(linker);
        link.env("CUDA_HOME", other);
        link
    };
    ensure!(
        world.run_with(link(), arguments).is_err(),
        "the other toolkit works"
    );
    let named = format!("{arguments} -nvvmpath={}", world.nvvm().display());
    world.run_with(link(), &named)
}

#[test]
fn optimized_code_is_as_exact_as_its_files_ask() -> Result<()> {
    let Some(world) = World::new()? else {
        return Ok(());
    };
    let (folder, linker, nvvm) = (world.folder(), &world.linker, world.nvvm());
    let product = "__device__ float product(float x, float y) { return x * y + 1.5f; }\n";
    let kernel = "__device__ float product(float x, float y);\n\
                  __global__ void kernel(float *p) { p[0] = product(p[1], p[2]); }\n";
    world.write(&[("product.cu", product), ("kernel.cu", kernel)])?;
    for (name, options) in [
        ("plain", ""),
        ("exact", "-fmad=false -maxrregcount=40"),
        ("fast", "-use_fast_math -maxrregcount=32"),
    ] {
        for source in ["kernel", "product"] {
            let command =
                format!("-dc -dlto -arch=sm_90 {source}.cu {options} -o {source}.{name}.o");
            world.compile(&command)?;
        }
    }
    for (kernel, product, instruction, note) in [
        ("plain", "plain", "fma.rn.f32", None),
        ("fast", "fast", "fma.rn.ftz.f32", None),
        ("exact", "exact", "mul.rn.f32", None),
        ("fast", "plain", "fma.rn.f32", Some("'-ftz=false'")),
        ("plain", "exact", "mul.rn.f32", Some("'-fmad=false'")),
        ("fast", "exact", "mul.rn.f32", Some("'-maxrregcount=32'")),
    ] {
        let inputs = format!("kernel.{kernel}.o product.{product}.o");
        let command = format!(
            "-arch=sm_90 -dlto -emit-ptx -nvvmpath={} {inputs} -o linked.ptx",
            nvvm.display()
        );
        let (code, said) = world.ended(linker, &command)?;
        ensure!(code == Some(0), "{inputs}: {said}");
        let ptx = fs::read_to_string(folder.join("linked.ptx"))?;
        ensure!(ptx.contains(instruction), "{inputs}: {ptx}");
        match note {
            Some(note) => ensure!(said.contains(note), "{inputs}: {said}"),
            None => ensure!(said.is_empty(), "{inputs}: {said}"),
        }
    }
    // The link has the last word.
    let said = format!(
        "-arch=sm_90 -dlto -emit-ptx -nvvmpath={} -Xnvvm=-fma=1 kernel.exact.o product.exact.o -o linked.ptx",
        nvvm.display()
    );
    world.run(linker, &said)?;
    let ptx = fs::read_to_string(folder.join("linked.ptx"))?;
    ensure!(ptx.contains("fma.rn.f32"), "{ptx}");
    Ok(())
}

#[test]
fn variables_that_name_no_toolkit_are_told_where_the_optimizer_is_looked_for() -> Result<()> {
    let Some(world) = World::new()? else {
        return Ok(());
    };
    world.write(&[("kernel.cu", "__global__ void kernel(int *p) { *p = 1; }\n")])?;
    world.compile("-dc -dlto -arch=sm_90 kernel.cu")?;
    let warning = "CUDA_HOME is /nowhere, which does not exist; the toolkit in ";
    // PTX needs the optimizer alone.
    let ptx = "-arch=sm_90 -dlto -emit-ptx kernel.o -o kernel.ptx";
    let nvvm = format!("-nvvmpath={}", world.nvvm().display());
    for (arguments, exit, times) in [
        (ptx.to_owned(), 0, 1),
        (
            "-arch=sm_90,sm_100 -dlto kernel.o -o {arch}.cubin".to_owned(),
            0,
            1,
        ),
        (format!("{ptx} -Werror"), 255, 1),
        // Where the toolkit is told, none is looked for.
        (format!("{ptx} {nvvm}"), 0, 0),
        (format!("{ptx} {nvvm} --compat"), 0, 0),
    ] {
        let mut link = Command::new(&world.linker);
        link.env("CUDA_HOME", "/nowhere")
            .env("CUDA_PATH", &world.root);
        let (code, said) = world.ended_with(link, &arguments)?;
        let told = (code, said.matches(warning).count());
        ensure!(told == (Some(exit), times), "{arguments}: {code:?}: {said}");
    }
    Ok(())
}

#[test]
fn names_of_link_time_optimized_code_come_with_their_files() -> Result<()> {
    let Some(world) = World::new()? else {
        return Ok(());
    };
    let (linker, nvvm) = (&world.linker, world.nvvm());
    let twice = "__device__ int factor = 2;\n__device__ int twice(int x) { return factor * x; }\n";
    let kernel = "__device__ int twice(int x);\n__global__ void k(int *p) { *p = twice(*p); }\n";
    for (name, text) in [("twice", twice), ("again", twice), ("kernel", kernel)] {
        world.write(&[(&format!("{name}.cu"), text)])?;
        world.compile(&format!("-dc -dlto -arch=sm_90 {name}.cu"))?;
    }
    let machine = "-dc -arch=sm_90 twice.cu -o machine.o";
    world.compile(machine)?;
    let note = "    'lto.cubin' is made of LTO-IR, and has the name from";
    for (inputs, exit, lines) in [
        (
            "kernel.o twice.o again.o",
            1,
            vec![
                "Multiple definition of 'factor' in 'again.o', first defined in 'twice.o'"
                    .to_owned(),
                "Multiple definition of '_Z5twicei' in 'again.o', first defined in 'twice.o'"
                    .to_owned(),
                "    _Z5twicei is twice(int)".to_owned(),
            ],
        ),
        (
            "kernel.o twice.o machine.o",
            1,
            vec![
                "Multiple definition of '_Z5twicei' in 'machine.o', first defined in 'lto.cubin'"
                    .to_owned(),
                format!("{note} 'twice.o'"),
            ],
        ),
        (
            "kernel.o",
            255,
            vec![
                "Undefined reference to '_Z5twicei' in 'lto.cubin'".to_owned(),
                format!("{note} 'kernel.o'"),
            ],
        ),
    ] {
        let command = format!(
            "-arch=sm_90 -dlto -nvvmpath={} {inputs} -o program.cubin",
            nvvm.display()
        );
        let (code, said) = world.ended(linker, &command)?;
        ensure!(code == Some(exit), "{inputs}: {code:?}: {said}");
        for line in lines {
            ensure!(said.contains(&line), "{inputs} without {line}: {said}");
        }
        ensure!(!said.contains("nvJitLink"), "{inputs}: {said}");
    }
    Ok(())
}

/// Whole programs, programs with machine code before and behind, a library for
/// a later link, what has to stay of each, and files and fatbins of LTO-IR, whose code
/// nvlink loses.
const LINKS: &[&str] = &[
    "main.o twice.o",
    "main.o twice.o -ignore-host-info",
    "main.o twice.o -kernels-used=unused -variables-used=table",
    "main.o twice.o -emit-ptx",
    "main.o twice.o -force-partial-lto",
    "main.o twice.machine.o",
    "twice.machine.o main.o",
    "main.machine.o twice.o -emit-ptx",
    "twice.o main.machine.o -ignore-host-info",
    "-r main.o twice.o",
    "-r main.machine.o twice.o",
    "launching.o twice.machine.o",
    "launching.o -ignore-host-info",
    "nested.o",
    "nested.o -kernels-used=lone",
    "nested.o twice.machine.o -kernels-used=middle",
    "nested.o -g",
    "main.o twice.o -g",
    "main.ltoir twice.ltoir",
    "main.ltoir twice.machine.o -ignore-host-info",
    "twice.machine.o nested.o main.ltoir",
    "-r main.ltoir twice.ltoir",
    "main.fatbin twice.fatbin",
    "main.fatbin twice.machine.o",
    "twice.machine.o nested.o main.fatbin",
    "-r main.fatbin twice.fatbin",
    "-r main.fatbin twice.o",
    "twice.ltoir -ignore-host-info",
    "twice.machine.o main.machine.o",
    "main.o twice.o -Ofc=max",
    "main.o twice.o -Ofc=0",
    "main.o twice.o -split-compile-extended=2",
    "main.o twice.o -keep-system-libraries",
    "nested.o -keep-system-libraries",
    "-report-arch launching.o twice.machine.o",
];

/// What the compiler in the library refuses.
const FAILURES: &[&str] = &[
    "twice.o twice.o",
    "twice.o -Xnvvm=-bogus",
    "main.o text.ltoir",
    "main.machine.o twice.ltoir",
    "launching.ltoir",
];
