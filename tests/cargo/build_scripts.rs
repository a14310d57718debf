//! What build scripts find: compilers, or the reason why there are none.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use anyhow::{Context, Result, ensure};
use cudalink_toolkit::Tool;
use rustnvlink_tests::checks::says;
use rustnvlink_tests::toolkit::Toolkit;

use super::objects::{self, is_skipped};
use super::project::{LAUNCHING, PLAIN, Project, run, texts};

#[test]
fn build_scripts_find_the_compilers() -> Result<()> {
    let project = Project::new(PLAIN, &[])?;
    // The `cc` crate asks RUSTC_LINKER in this way, and CMake CUDACXX.
    project.write(
        "build.rs",
        "use std::process::Command;\n\
         fn main() {\n\
         println!(\"cargo::rerun-if-env-changed=CUDACXX\");\n\
         let linker = std::env::var(\"RUSTC_LINKER\").unwrap();\n\
         let prefix = linker.strip_suffix(\"-gcc\").unwrap();\n\
         let said = Command::new(format!(\"{prefix}-g++\")).output().unwrap().stdout;\n\
         println!(\"cargo::warning={}\", String::from_utf8(said).unwrap());\n\
         for name in [\"CUDAARCHS\", \"CMAKE_CUDA_ARCHITECTURES\", \"CUDA_COMPUTE_CAP\"] {\n\
         println!(\"cargo::rerun-if-env-changed={name}\");\n\
         println!(\"cargo::warning={name} {:?}\", std::env::var(name));\n}\n\
         println!(\"cargo::warning=CUDACXX {:?}\", std::env::var(\"CUDACXX\"));\n}\n",
    )?;
    project.write_program("bin/cross-gcc", "#!/bin/sh\nexec cc \"$@\"\n")?;
    project.write_program("bin/cross-g++", "#!/bin/sh\necho crossing\n")?;
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = std::iter::once(project.path("bin")).chain(env::split_paths(&path));
    let path = env::join_paths(folders)?;
    let path = path.to_str().context("a path of text")?;
    let bin = project.path("bin/cross-gcc");
    for linker in [Path::new("cross-gcc"), &bin] {
        let setting = format!("[target.'cfg(all())']\nlinker = {linker:?}\n");
        project.write(".cargo/config.toml", &setting)?;
        let variables = [("PATH", path), ("CUDACXX", "mine")];
        let (_, err) = project.succeed(&["build"], &variables)?;
        ensure!(err.contains("crossing"), "{linker:?}: {err}");
        let unset = [
            "CUDACXX Ok(\"mine\")",
            "CUDAARCHS Err(NotPresent)",
            "CMAKE_CUDA_ARCHITECTURES Err(NotPresent)",
            "CUDA_COMPUTE_CAP Err(NotPresent)",
        ];
        says(&err, &unset)?;
        let chosen = ["build", "--arch=sm_100a,sm_90a"];
        let (_, err) = project.succeed(&chosen, &variables)?;
        let expected = [
            "CUDAARCHS Ok(\"100a;90a\")",
            "CMAKE_CUDA_ARCHITECTURES Ok(\"100a;90a\")",
            "CUDA_COMPUTE_CAP Ok(\"90\")",
        ];
        says(&err, &expected)?;
        let own = [
            ("PATH", path),
            ("CUDAARCHS", "75"),
            ("CUDA_COMPUTE_CAP", "80"),
        ];
        let (_, err) = project.succeed(&chosen, &own)?;
        // Who has told CMake means all of it.
        let expected = [
            "CUDAARCHS Ok(\"75\")",
            "CMAKE_CUDA_ARCHITECTURES Ok(\"75\")",
            "CUDA_COMPUTE_CAP Ok(\"80\")",
        ];
        says(&err, &expected)?;
        fs::remove_dir_all(project.path("target"))?;
    }
    if is_skipped()? {
        return Ok(());
    }
    let (_, err) = project.succeed(&["build"], &[("CUDACXX", "")])?;
    ensure!(err.contains("/nvcc\")"), "{err}");
    Ok(())
}

/// Many ask neither cargo nor the `cc` crate: they run `nvcc`, and look for libraries in `CUDA_HOME`, `CUDA_PATH` and others.
#[test]
fn variables_of_the_configuration_choose_as_others_do() -> Result<()> {
    let project = Project::new(PLAIN, &[])?;
    project.write(
        "build.rs",
        "fn main() {\nfor name in [\"CUDAARCHS\", \"NVCC\"] {\n\
         println!(\"cargo::rerun-if-env-changed={name}\");\n\
         println!(\"cargo::warning={name} {:?}\", std::env::var(name));\n}\n}\n",
    )?;
    let variables = "[env]\nCUDALINK_ARCH = \"sm_90a\"\n\
                     NVCC = { value = \"/nowhere/nvcc\", force = true }\n";
    project.write(".cargo/config.toml", variables)?;
    let check = |arguments: &[&str], own: &[(&str, &str)], processors: &str| -> Result<()> {
        let (_, err) = project.succeed(arguments, own)?;
        let expected = format!("CUDAARCHS Ok(\"{processors}\")");
        says(&err, &[&expected, "NVCC Ok(\"", "cudalink/toolkit/"])
    };
    check(&["build"], &[], "90a")?;
    check(&["build"], &[("CUDALINK_ARCH", "sm_80")], "80")?;
    let setting = ["build", "--config=env.CUDALINK_ARCH='sm_100a'"];
    check(&setting, &[("NVCC", "/nowhere/either")], "100a")?;
    let (_, err) = project.succeed(&["exec", "cargo", "build"], &[])?;
    let expected = [
        "cargo's configuration forces NVCC",
        "CUDAARCHS Ok(\"90a\")",
        "/nowhere/nvcc",
    ];
    says(&err, &expected)
}

/// A folder such as `/usr/local/cuda` leads to another toolkit after an update.
#[test]
fn build_scripts_notice_that_another_toolkit_has_taken_the_place_of_one() -> Result<()> {
    let project = Project::new(PLAIN, &[])?;
    project.write(
        "build.rs",
        "fn main() {\nprintln!(\"cargo::rerun-if-env-changed=NVCC\");\n\
         println!(\"cargo::rerun-if-changed=build.rs\");\n}\n",
    )?;
    for program in ["nvcc", "ptxas"] {
        fs::create_dir_all(project.path("cuda/bin"))?;
        project.write_program(&format!("cuda/bin/{program}"), "#!/bin/sh\n")?;
    }
    let toolkit = format!("--toolkit={}", project.path("cuda").display());
    for (version, number) in [("13.0.1", 1), ("13.0.1", 0), ("13.0.2", 1)] {
        let file = format!("{{\"cuda_nvcc\": {{\"version\": \"{version}\"}}}}");
        project.write("cuda/version.json", &file)?;
        let (_, err) = project.succeed(&["build", "-v", &toolkit], &[])?;
        let runs = err.matches("/build-script-build`").count();
        ensure!(runs == number, "{version}\n{err}");
    }
    Ok(())
}

#[test]
fn build_scripts_that_ask_nobody_find_the_toolkit() -> Result<()> {
    if is_skipped()? {
        return Ok(());
    }
    let project = Project::new(PLAIN, &[])?;
    project.write(
        "build.rs",
        "use std::{env, process::Command};\n\
         fn main() {\n\
         for name in [\"CUDA_HOME\", \"CUDA_PATH\", \"CUDA_ROOT\", \"CUDA_TOOLKIT_ROOT_DIR\", \"CUDA_LIBRARY_PATH\"] {\n\
         println!(\"cargo::rerun-if-env-changed={name}\");\n\
         println!(\"cargo::warning={name} {:?}\", env::var(name));\n}\n\
         let nvcc = Command::new(\"nvcc\").arg(\"--version\").output();\n\
         println!(\"cargo::warning=nvcc {}\", nvcc.is_ok_and(|nvcc| nvcc.status.success()));\n}\n",
    )?;
    let nvcc = Toolkit::find()?.tool(Tool::Nvcc)?;
    let root = nvcc.ancestors().nth(2).context("nvcc lies in bin")?;
    let root = root.display().to_string();
    let named = [
        format!("CUDA_HOME Ok({root:?})"),
        format!("CUDA_PATH Ok({root:?})"),
        "nvcc true".to_owned(),
        format!("CUDA_ROOT Ok({root:?})"),
        format!("CUDA_TOOLKIT_ROOT_DIR Ok({root:?})"),
        format!("CUDA_LIBRARY_PATH Ok(\"{root}:"),
    ];
    let named = named.each_ref().map(String::as_str);
    let (_, err) = project.succeed(&["build", "--toolkit", &root], &[])?;
    says(&err, &named)?;
    // What is chosen counts for all, and another name of the same folder stays.
    let other = project.path("cuda");
    std::os::unix::fs::symlink(&root, &other)?;
    let other = other.display().to_string();
    let variables = [
        ("CUDA_HOME", "/nonexistent"),
        ("CUDA_PATH", &*other),
        ("CUDA_LIBRARY_PATH", "/mine"),
    ];
    let (_, err) = project.succeed(&["build", "--toolkit", &root], &variables)?;
    let same = format!("CUDA_PATH Ok({other:?})");
    let expected = [
        named[0],
        &same,
        named[2],
        named[3],
        "CUDA_LIBRARY_PATH Ok(\"/mine\")",
    ];
    says(&err, &expected)
}

/// Machines that only build have no driver, and may have a stub of its library.
#[test]
fn a_driver_that_is_not_there_is_told_of() -> Result<()> {
    if is_skipped()? {
        return Ok(());
    }
    let project = Project::new(LAUNCHING, &["static=kernel", "static=twice"])?;
    let script = fs::read_to_string(project.path("build.rs"))?;
    let with_driver = script.replace("\"cudart_static\"", "\"cudart_static\", \"cuda\"");
    project.write("build.rs", &with_driver)?;
    let output = project.cargo(&["build"], &[])?;
    let (_, err) = texts(&output);
    let said = "help: app: the host linker does not find the library of NVIDIA's driver (-lcuda)";
    ensure!(output.status.success() != err.contains(said), "{err}");
    project.write_program("stub/libcuda.so", "INPUT(-lc)\n")?;
    let stub = project.path("stub").display().to_string();
    project.succeed(&["build"], &[("LIBRARY_PATH", &stub)])?;
    // That of the toolkit is found, as other libraries are that lie there alone.
    let nvcc = Toolkit::find()?.tool(Tool::Nvcc)?;
    let root = nvcc.ancestors().nth(2).context("nvcc lies in bin")?;
    let toolkit = project.path("toolkit");
    run(Command::new("cp").arg("-rs").args([root, &*toolkit]))?;
    // A link to a folder becomes one into the other toolkit.
    let libraries = "toolkit/lib64";
    if project.path(libraries).is_symlink() {
        fs::remove_file(project.path(libraries))?;
        std::os::unix::fs::symlink("lib", project.path(libraries))?;
    }
    fs::create_dir_all(project.path(libraries).join("stubs"))?;
    for name in ["stubs/libcuda.so", "libours.so"] {
        let place = format!("{libraries}/{name}");
        drop(fs::remove_file(project.path(&place)));
        project.write_program(&place, "INPUT(-lc)\n")?;
    }
    let script = with_driver.replace("\"cuda\"", "\"cuda\", \"ours\"");
    project.write("build.rs", &script)?;
    let toolkit = toolkit.display().to_string();
    project.succeed(&["build", "--toolkit", &toolkit], &[])?;
    // What an install would add is named.
    let script = script.replace("\"ours\"", "\"nvjpeg\", \"nppial\"");
    project.write("build.rs", &script)?;
    let advice = "help: app: `cargo cudalink toolkit install --with npp,nvjpeg` adds what";
    project.fail(&["build", "--toolkit", &toolkit], &[advice])
}

#[test]
fn what_build_scripts_tell_nvcc_is_made_fit() -> Result<()> {
    if is_skipped()? {
        return Ok(());
    }
    let project = Project::new(PLAIN, &[])?;
    project.write("k.cu", "__global__ void k() {}")?;
    // The `cc` crate adds `-static` for `-C target-feature=+crt-static`.
    project.write(
        "build.rs",
        "use std::{env, path::PathBuf, process::{Command, exit}};\n\
         fn main() {\n\
         println!(\"cargo::rerun-if-env-changed=NVCC\");\n\
         let result = PathBuf::from(env::var_os(\"OUT_DIR\").unwrap()).join(\"k.o\");\n\
         let mut nvcc = Command::new(env::var_os(\"NVCC\").unwrap());\n\
         nvcc.args([\"-arch=sm_90\", \"-static\", \"-c\", \"k.cu\", \"-o\"]).arg(result);\n\
         if !nvcc.status().unwrap().success() || env::var(\"TARGET\").unwrap().contains(\"musl\") { exit(1); }\n}\n",
    )?;
    project.succeed(&["build"], &[])?;

    // A compiler and what runs it.
    project.write_program("launcher", "#!/bin/sh\ntouch \"$1\"\nshift\nexec \"$@\"\n")?;
    let nvcc = Toolkit::find()?.tool(Tool::Nvcc)?;
    let started = project.path("started");
    let words = [&project.path("launcher"), &started, &nvcc];
    let launched = words.map(|word| word.display().to_string()).join(" ");
    project.succeed(&["build"], &[("NVCC", &launched)])?;
    ensure!(started.is_file(), "the launcher is left out");

    project.fail(
        &["build", "--target=x86_64-unknown-linux-musl"],
        &["help: app: the CUDA runtime, and host code that nvcc compiles, are for glibc"],
    )
}

/// A kernel with bounds, and a function for debuggers that takes more registers than it may have, unless nvcc sees both at once.
#[test]
fn code_that_relocatable_cannot_be_linked_stays_whole() -> Result<()> {
    let Some(objects) = objects::needed()? else {
        return Ok(());
    };
    let project = Project::new(LAUNCHING, &[])?;
    let many = 90;
    let list = |one: fn(usize) -> String| (0..many).map(one).collect::<Vec<_>>().join(", ");
    let loads: String = (0..many)
        .map(|i| format!("asm volatile(\"ld.f32 %0, [%1 + {i}*4];\" : \"=f\"(v{i}) : \"l\"(p));\n"))
        .collect();
    let adds: String = (1..=many)
        .map(|i| format!("add.f32 %0, %0, %{i}; "))
        .collect();
    let bounds = "__launch_bounds__(1024)";
    let source = |bounds: &str| {
        format!(
            "__device__ float sum(const float *p) {{\nfloat r = 0, {};\n{loads}\
             asm volatile(\"{{{adds}}}\" : \"+f\"(r) : {});\nreturn r;\n}}\n\
             __global__ void {bounds} k(float *p) {{ *p = sum(p); }}\n\
             extern \"C\" int launch() {{ k<<<1, 1>>>(nullptr); return cudaGetLastError(); }}\n",
            list(|i| format!("v{i}")),
            list(|i| format!("\"f\"(v{i})")),
        )
    };
    project.write("k.cu", &source(bounds))?;
    let script = format!(
        "use std::{{env, process::Command}};\n\
         fn main() {{\n\
         println!(\"cargo::rerun-if-changed=k.cu\");\n\
         let out = env::var(\"OUT_DIR\").unwrap();\n\
         let object = format!(\"{{out}}/k.o\");\n\
         let mut nvcc = Command::new(env::var_os(\"NVCC\").unwrap());\n\
         nvcc.args([\"-arch=sm_90\", \"-G\", \"-Xcompiler\", \"-fPIC\", \"-c\", \"k.cu\", \"-o\", &object]);\n\
         assert!(nvcc.status().unwrap().success());\n\
         let mut ar = Command::new(\"ar\");\n\
         assert!(ar.args([\"rcs\", &format!(\"{{out}}/libk.a\"), &object]).status().unwrap().success());\n\
         println!(\"cargo::rustc-link-search=native={{out}}\");\n\
         println!(\"cargo::rustc-link-search=native={}\");\n\
         for name in [\"static=k\", \"cudart_static\", \"stdc++\", \"dl\", \"pthread\", \"rt\"] {{\n\
         println!(\"cargo::rustc-link-lib={{name}}\");\n}}\n}}\n",
        objects.runtime.display()
    );
    project.write("build.rs", &script)?;
    let said =
        "info: app: k.o is compiled without -rdc=true: a kernel in it may have fewer registers";
    let (_, err) = project.succeed(&["build", "-v"], &[])?;
    ensure!(err.contains(said) && !err.contains("DeviceLink"), "{err}");

    // As the `cc` crate compiles one file of several.
    let of_several = script.replace("\"-G\",", "\"-G\", \"--device-c\",");
    project.write("build.rs", &of_several)?;
    project.fail(
        &["build"],
        &[
            "[too-many-registers]",
            "help: app: device code for debuggers (-G)",
        ],
    )?;
    project.write("build.rs", &script)?;

    // Without bounds there is nothing in the way.
    project.write("k.cu", &source(""))?;
    let (_, err) = project.succeed(&["build", "-v"], &[])?;
    ensure!(!err.contains(said) && err.contains("DeviceLink"), "{err}");
    Ok(())
}

/// As below a program that calls cargo, whose linker is no matter of ours.
#[test]
fn device_code_for_another_linker_is_linked_at_once() -> Result<()> {
    let Some(objects) = objects::needed()? else {
        return Ok(());
    };
    let project = Project::new(PLAIN, &[])?;
    let script = "use std::{env, fs, path::PathBuf, process::Command};\n\
        fn main() {\n\
        let result = PathBuf::from(env::var_os(\"OUT_DIR\").unwrap()).join(\"dlink.o\");\n\
        for linker in [env::var_os(\"RUSTC_LINKER\").unwrap(), \"/usr/bin/cc\".into()] {\n\
        let mut nvcc = Command::new(env::var_os(\"NVCC\").unwrap());\n\
        nvcc.args([\"-arch=sm_90\", \"-dlink\", \"KERNEL\", \"TWICE\", \"-o\"]).arg(&result);\n\
        assert!(nvcc.env(\"RUSTC_LINKER\", linker).status().unwrap().success());\n\
        let made = String::from_utf8_lossy(&fs::read(&result).unwrap()).contains(\"nv_fatbin\");\n\
        println!(\"cargo::warning=linked: {made}\");\n}\n}\n";
    let place = |name: &str| objects.folder.join(name).display().to_string();
    let script = script.replace("KERNEL", &place("kernel.o"));
    project.write("build.rs", &script.replace("TWICE", &place("twice.o")))?;
    let (_, err) = project.succeed(&["build"], &[])?;
    let said: Vec<&str> = err.lines().filter(|l| l.contains("linked: ")).collect();
    ensure!(
        said.len() == 2 && said[0].ends_with("false") && said[1].ends_with("true"),
        "{err}"
    );
    Ok(())
}

#[test]
fn a_missing_toolkit_is_told_at_the_end_of_builds_that_fail() -> Result<()> {
    let project = Project::new(PLAIN, &[])?;
    project.write(
        "build.rs",
        "use std::process::{Command, exit};\n\
         fn main() {\n\
         println!(\"cargo::rerun-if-env-changed=STRICT\");\n\
         let nvcc = std::env::var(\"NVCC\").unwrap();\n\
         let compiles = || Command::new(&nvcc).args([\"-c\", \"k.cu\"]).status().unwrap().success();\n\
         if !compiles() && !compiles() && std::env::var_os(\"STRICT\").is_some() { exit(1); }\n}\n",
    )?;
    let cargo = PathBuf::from(env::var_os("CARGO").context("cargo runs the tests")?);
    let mut folders = vec![PathBuf::from("/usr/bin"), "/bin".into()];
    folders.extend(cargo.parent().map(Path::to_owned));
    let folders = env::join_paths(folders)?;
    let cache = project.path("cache");
    let run = |arguments: &[&str], variables: &[(&str, &str)]| -> Result<Output> {
        let mut command = project.command(arguments, variables)?;
        command
            .env("PATH", &folders)
            .env("RUSTNVLINK_CACHE", &cache);
        command.env_remove("CUDA_HOME").env_remove("CUDA_PATH");
        Ok(command.env_remove("NVCC").output()?)
    };
    if run(&["toolkit", "path"], &[])?.status.success() {
        eprintln!("skipped: this machine has a CUDA toolkit where every program finds it");
        return Ok(());
    }
    let told = "error: app: no CUDA toolkit found";
    let output = run(&["build"], &[])?;
    let (_, err) = texts(&output);
    ensure!(output.status.success() && !err.contains(told), "{err}");
    let output = run(&["build"], &[("STRICT", "1")])?;
    let (_, err) = texts(&output);
    ensure!(!output.status.success(), "{err}");
    ensure!(err.matches(told).count() == 1, "{err}");
    let last = err.lines().last().unwrap_or_default();
    ensure!(last.contains("`cargo cudalink toolkit install`"), "{err}");
    Ok(())
}

#[test]
fn a_chosen_compiler_that_does_not_run_is_told_at_the_end() -> Result<()> {
    let project = Project::new(PLAIN, &[])?;
    project.write(
        "build.rs",
        "fn main() {\n\
         let nvcc = std::env::var(\"NVCC\").unwrap();\n\
         let mut compile = std::process::Command::new(nvcc);\n\
         assert!(compile.args([\"-c\", \"k.cu\"]).status().unwrap().success());\n}\n",
    )?;
    // Without a toolkit that is told instead.
    let toolkit = project.cargo(&["toolkit", "path"], &[])?;
    if !toolkit.status.success() {
        return Ok(());
    }
    let output = project.cargo(&["build"], &[("NVCC", "no-such-nvcc")])?;
    let (_, err) = texts(&output);
    ensure!(!output.status.success(), "{err}");
    let told = "error: app: cannot run 'no-such-nvcc'";
    ensure!(err.matches(told).count() == 1, "{err}");
    let last = err.lines().last().unwrap_or_default();
    ensure!(last.starts_with("help: app: the variable NVCC"), "{err}");
    Ok(())
}
