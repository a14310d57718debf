//! nvcc calls our linker in place of nvlink, and link-time optimization gives what nvlink gives.
//!
//! Needs a CUDA toolkit and a host compiler. Without one of them the test is skipped, which is a failure where `CI` is
//! set.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use cudalink_toolkit::{Environment, Search, Tool};
use rustnvlink_tests::checks::skip;
use rustnvlink_tests::identity;
use rustnvlink_tests::toolkit::Toolkit;
use tempfile::TempDir;

/// Compares the device code of two objects.
const SAME_IMAGES: &str = env!("CARGO_BIN_EXE_same-images");

const SOURCES: [(&str, &str); 5] = [
    (
        "main.cu",
        "#include <cstdio>\n\
         extern __device__ int twice(int);\n\
         extern __constant__ int table[4];\n\
         __global__ void kernel(int *p) { *p = twice(*p) + table[*p & 3]; printf(\"%d\\n\", *p); }\n\
         __global__ void unused(int *p) { *p = 1; }\n\
         int main() { kernel<<<1, 1>>>(nullptr); return 0; }\n",
    ),
    (
        "twice.cu",
        "__constant__ int table[4] = {1, 2, 3, 4};\n\
         __device__ int counter;\n\
         __device__ int untouched;\n\
         __device__ __noinline__ int twice(int x) { atomicAdd(&counter, 1); return 2 * x; }\n",
    ),
    (
        "launching.cu",
        "__global__ void child(int *p) { *p = 1; }\n\
         __global__ void parent(int *p) { child<<<1, 1>>>(p); }\n\
         int start() { parent<<<1, 1>>>(nullptr); return 0; }\n",
    ),
    (
        "nested.cu",
        "__device__ __noinline__ int half(int x) { return x / 2; }\n\
         __global__ void child(int *p) { *p = half(*p); }\n\
         __global__ void middle(int *p) { child<<<1, 1>>>(p); }\n\
         __global__ void parent(int *p) { middle<<<1, 1>>>(p); }\n\
         __global__ void lone(int *p) { *p = 1; }\n\
         int start() { parent<<<1, 1>>>(nullptr); lone<<<1, 1>>>(nullptr); return 0; }\n",
    ),
    (
        "library.cu",
        "__device__ int nobody(int x) { return x + 7; }\n",
    ),
];

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

/// What a test works with.
struct World {
    toolkit: Toolkit,
    /// Where the toolkit lies.
    root: PathBuf,
    nvcc: PathBuf,
    linker: PathBuf,
    folder: TempDir,
}

impl World {
    /// `None` where the test is skipped.
    fn new() -> Result<Option<Self>> {
        let toolkit = match Toolkit::find() {
            Ok(toolkit) => toolkit,
            Err(reason) => return skip(&reason).map(|()| None),
        };
        let nvcc = toolkit.tool(Tool::Nvcc)?;
        let root = nvcc.ancestors().nth(2);
        Ok(Some(Self {
            root: root.context("nvcc lies in no toolkit")?.to_owned(),
            toolkit,
            nvcc,
            linker: identity::linker()?,
            folder: tempfile::tempdir()?,
        }))
    }

    fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// What `-nvvmpath` names.
    fn nvvm(&self) -> PathBuf {
        self.root.join("nvvm")
    }

    fn write(&self, files: &[(&str, &str)]) -> Result<()> {
        for (name, text) in files {
            fs::write(self.folder().join(name), text)?;
        }
        Ok(())
    }

    /// Runs nvcc.
    fn compile(&self, arguments: &str) -> Result<()> {
        self.run(&self.nvcc, arguments)
    }

    fn run(&self, program: &Path, arguments: &str) -> Result<()> {
        self.run_with(Command::new(program), arguments)
    }

    fn run_with(&self, mut command: Command, arguments: &str) -> Result<()> {
        let output = command
            .args(arguments.split_whitespace())
            .current_dir(self.folder())
            .output()
            .with_context(|| format!("cannot run {command:?}"))?;
        ensure!(
            output.status.success(),
            "{command:?}\n{}{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
        Ok(())
    }

    /// The exit code of a program, and what it prints about what went wrong.
    fn ended(&self, program: &Path, arguments: &str) -> Result<(Option<i32>, String)> {
        self.ended_with(Command::new(program), arguments)
    }

    fn ended_with(&self, mut command: Command, arguments: &str) -> Result<(Option<i32>, String)> {
        command
            .args(arguments.split_whitespace())
            .current_dir(self.folder())
            .env_remove("CARGO_TERM_COLOR");
        let output = command
            .output()
            .with_context(|| format!("cannot run {command:?}"))?;
        let printed = String::from_utf8_lossy(&output.stderr).into_owned();
        Ok((output.status.code(), printed))
    }
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

/// A toolkit of links to another one, with its own `nvlink`. nvcc does not follow the link to itself.
fn shadow(nvcc: &Path, linker: &Path, root: &Path) -> Result<PathBuf> {
    let bin = nvcc.parent().context("nvcc lies in no folder")?;
    let original = bin.parent().context("nvcc lies in no toolkit")?;
    fs::create_dir_all(root.join("bin"))?;
    for entry in fs::read_dir(original)? {
        let name = entry?.file_name();
        if name != "bin" {
            symlink(original.join(&name), root.join(&name))?;
        }
    }
    for entry in fs::read_dir(bin)? {
        let name = entry?.file_name();
        let target = match name == "nvlink" {
            true => linker.to_owned(),
            false => bin.join(&name),
        };
        symlink(target, root.join("bin").join(&name))?;
    }
    Ok(root.join("bin/nvcc"))
}
