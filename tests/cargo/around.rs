//! What runs around a build: build scripts and procedural macros, programs that run cargo, and commands of ours below
//! others.

use std::fs;

use anyhow::{Context, Result, ensure};
use rustnvlink_tests::checks::says;
use rustnvlink_tests::identity::program;

use super::objects::{self, is_skipped};
use super::project::{LAUNCHING, MANIFEST, PLAIN, Project, texts};

/// A crate `device` with a library that launches a kernel; `user` says what it is used by.
fn with_device_crate(user: &str, program: &str) -> Result<Project> {
    let project = Project::new(program, &["static=kernel", "static=twice"])?;
    let script = project.path("build.rs");
    project.write("device/build.rs", &fs::read_to_string(&script)?)?;
    fs::remove_file(script)?;
    let manifest = MANIFEST.replace("[workspace]\n", "");
    project.write("device/Cargo.toml", &manifest.replace("app", "device"))?;
    let library = "unsafe extern \"C\" { fn launch() -> i32; }\n\
        pub fn go() -> i32 { unsafe { launch() } }\n";
    project.write("device/src/lib.rs", library)?;
    project.write("Cargo.toml", &format!("{MANIFEST}{user}"))?;
    Ok(project)
}

#[test]
fn build_scripts_and_procedural_macros_have_their_device_code() -> Result<()> {
    let Some(objects) = objects::needed()? else {
        return Ok(());
    };
    let user = "[dependencies]\nnumber = { path = \"number\" }\n\
        [build-dependencies]\ndevice = { path = \"device\" }\n";
    let project = with_device_crate(user, "fn main() { println!(\"{}\", number::number!()); }")?;
    let script = "fn main() { println!(\"cargo::warning=launched: {}\", device::go()); }";
    project.write("build.rs", script)?;
    let manifest = MANIFEST
        .replace("app", "number")
        .replace("[workspace]\n", "");
    let depends = "[lib]\nproc-macro = true\n[dependencies]\ndevice = { path = \"../device\" }\n";
    project.write("number/Cargo.toml", &format!("{manifest}{depends}"))?;
    project.write(
        "number/src/lib.rs",
        "use proc_macro::TokenStream;\n#[proc_macro]\n\
         pub fn number(_: TokenStream) -> TokenStream { device::go().to_string().parse().unwrap() }\n",
    )?;
    // A library for what is built is none for what builds it.
    let library = objects.folder.join("libtwice_lto.a");
    let library = library.to_str().context("a path of text")?;
    let build = [
        "build",
        "--lib",
        "-p",
        "number",
        "--device-library",
        library,
    ];
    let (_, err) = project.succeed(&build, &[])?;
    ensure!(
        err.contains("DeviceLink libnumber (sm_90) 1 kernel"),
        "{err}"
    );
    let (_, err) = project.succeed(&["run"], &[])?;
    let expected = [
        "DeviceLink build script of app (sm_90) 1 kernel",
        "launched: ",
    ];
    says(&err, &expected)?;
    ensure!(!err.contains("DeviceLink app"), "{err}");
    Ok(())
}

/// rustc links no crate that no Rust code names, and whoever needs its device functions is told so.
#[test]
fn crates_that_nothing_names_are_told_of() -> Result<()> {
    let Some(objects) = objects::needed()? else {
        return Ok(());
    };
    let project = Project::new(LAUNCHING, &["static=kernel"])?;
    let library = objects.folder.join("libtwice.a");
    let script = format!(
        "fn main() {{\nlet folder = std::env::var(\"OUT_DIR\").unwrap();\n\
         std::fs::copy({library:?}, format!(\"{{folder}}/libtwice.a\")).unwrap();\n\
         println!(\"cargo::rustc-link-search=native={{folder}}\");\n\
         println!(\"cargo::rustc-link-lib=static=twice\");\n}}\n"
    );
    project.write("device-math/build.rs", &script)?;
    project.write("device-math/src/lib.rs", "")?;
    let manifest = MANIFEST.replace("[workspace]\n", "");
    project.write(
        "device-math/Cargo.toml",
        &manifest.replace("app", "device-math"),
    )?;
    let user = "[dependencies]\ndevice-math = { path = \"device-math\" }\n";
    project.write("Cargo.toml", &format!("{MANIFEST}{user}"))?;
    let said = [
        "Undefined reference to '_Z5twicei'",
        "/out/libtwice.a' has what is missing and is not linked",
        "`use device_math as _;`",
    ];
    project.fail(&["build"], &said)?;
    let output = project.cargo(&["build", "--message-format=json"], &[])?;
    let (out, _) = texts(&output);
    let lines = out
        .lines()
        .filter(|line| line.contains("device-link-message"));
    let told: Vec<&str> = lines.collect();
    let has = |words: [&str; 2]| {
        told.iter()
            .any(|line| words.iter().all(|word| line.contains(word)))
    };
    ensure!(
        has(["\"code\":\"undefined-reference\"", "\"level\":\"error\""]),
        "{out}"
    );
    ensure!(has(["\"code\":null", "\"level\":\"help\""]), "{out}");
    project.write(
        "src/main.rs",
        &format!("use device_math as _;\n{LAUNCHING}"),
    )?;
    let (_, err) = project.succeed(&["build"], &[])?;
    ensure!(err.contains("DeviceLink app"), "{err}");
    // Another one does not help.
    fs::remove_dir_all(project.path("target"))?;
    project.write("src/main.rs", LAUNCHING)?;
    let closed = script.replace("libtwice.a", "libclosed.a");
    project.write(
        "device-math/build.rs",
        &closed.replace("static=twice", "static=closed"),
    )?;
    let output = project.cargo(&["build"], &[])?;
    let (_, err) = texts(&output);
    ensure!(
        !output.status.success() && !err.contains("has what is missing"),
        "{err}"
    );
    Ok(())
}

/// Nobody else can call their device functions, which is no matter of what Rust code names.
#[test]
fn shared_libraries_that_have_what_is_missing_are_named() -> Result<()> {
    if is_skipped()? {
        return Ok(());
    }
    let project = Project::new(&format!("use math as _;\n{LAUNCHING}"), &["static=kernel"])?;
    let manifest = format!("{MANIFEST}[dependencies]\nmath = {{ path = \"math\" }}\n");
    project.write("Cargo.toml", &manifest)?;
    let math = Project::new(PLAIN, &["static:+whole-archive=twice"])?;
    let script = fs::read_to_string(math.path("build.rs"))?;
    project.write("math/build.rs", &script)?;
    project.write("math/src/lib.rs", "pub fn host() {}")?;
    let package = MANIFEST.replace("app", "math").replace("[workspace]\n", "");
    let library = format!("{package}[lib]\ncrate-type = [\"dylib\"]\n");
    project.write("math/Cargo.toml", &library)?;
    project.fail(
        &["build"],
        &[
            "Undefined reference to '_Z5twicei'",
            "libmath.so' has what is missing in a device link of its own",
        ],
    )
}

#[test]
fn build_scripts_get_along_without_what_cannot_be_linked() -> Result<()> {
    if is_skipped()? {
        return Ok(());
    }
    let user = "[build-dependencies]\ndevice = { path = \"device\" }\n";
    let project = with_device_crate(user, PLAIN)?;
    project.write("build.rs", "fn main() { _ = device::NUMBER; }")?;
    project.write("device/src/lib.rs", "pub const NUMBER: i32 = 1;\n")?;
    let script = fs::read_to_string(project.path("device/build.rs"))?;
    let half = script.replace("cargo::rustc-link-lib=static=twice", "cargo::metadata=a=b");
    project.write("device/build.rs", &half)?;
    let (out, err) = project.succeed(&["run"], &[])?;
    ensure!(out == "plain\n" && !err.contains("_Z5twicei"), "{out}{err}");
    Ok(())
}

/// rustc does not tell the linker of an optimized program about the library that runs tests.
#[test]
fn tests_are_called_so_in_every_profile() -> Result<()> {
    if is_skipped()? {
        return Ok(());
    }
    let project = Project::new(LAUNCHING, &["static=kernel", "static=twice"])?;
    let profile = "[profile.optimized]\ninherits = \"dev\"\nlto = \"fat\"\n";
    project.write("Cargo.toml", &format!("{MANIFEST}{profile}"))?;
    let (_, err) = project.succeed(&["test", "--no-run", "--profile=optimized"], &[])?;
    ensure!(err.contains("DeviceLink app test (sm_90)"), "{err}");
    Ok(())
}

#[test]
fn programs_that_are_called_like_build_scripts_are_programs() -> Result<()> {
    if is_skipped()? {
        return Ok(());
    }
    let project = Project::new(PLAIN, &["static=kernel", "static=twice"])?;
    project.write("src/bin/build_script_tool.rs", LAUNCHING)?;
    let (_, err) = project.succeed(&["build", "--bin=build_script_tool"], &[])?;
    let said = "DeviceLink build_script_tool (sm_90)";
    ensure!(err.contains(said), "{err}");
    Ok(())
}

#[test]
fn programs_that_run_cargo_link_device_code() -> Result<()> {
    if is_skipped()? {
        return Ok(());
    }
    let project = Project::new(LAUNCHING, &["static=kernel", "static=twice"])?;
    project.write_program("tool", "#!/bin/sh\nexec cargo \"$@\"\n")?;
    let tool = project.path("tool");
    let tool = tool.to_str().context("a path of text")?;
    let exec = ["exec", "--arch=sm_90", tool, "run", "--message-format=json"];
    let (out, err) = project.succeed(&exec, &[])?;
    ensure!(out.contains("launched: "), "{out}");
    ensure!(err.contains("DeviceLink app (sm_90) 1 kernel"), "{err}");
    ensure!(err.contains("`target/debug/app`"), "{err}");
    let elsewhere = ["exec", "--target-dir=elsewhere", tool, "build"];
    project.succeed(&elsewhere, &[])?;
    ensure!(project.path("elsewhere/debug/app").is_file());
    ensure!(project.path("elsewhere/cudalink/images").is_dir());
    let output = project.cargo(&["exec", tool, "no-such-command"], &[])?;
    ensure!(output.status.code() == Some(101), "{output:?}");
    project.fail(
        &["exec", "no-such-program"],
        &["cannot run 'no-such-program'"],
    )?;
    project.fail(&["exec"], &["<PROGRAM>"])
}

/// A task of a workspace may well build another one.
#[test]
fn commands_below_others_build_what_they_are_told() -> Result<()> {
    if is_skipped()? {
        return Ok(());
    }
    let inner = Project::new(PLAIN, &[])?;
    inner.write("k.cu", "__global__ void k() {}")?;
    inner.write(
        "build.rs",
        "use std::{env, process::Command};\nfn main() {\n\
         println!(\"cargo::rerun-if-env-changed=CUDALINK_ARCH\");\n\
         let mut nvcc = Command::new(env::var_os(\"NVCC\").unwrap());\n\
         nvcc.args([\"-c\", \"k.cu\", \"-o\"]).arg(env::var(\"OUT_DIR\").unwrap() + \"/k.o\");\n\
         println!(\"cargo::warning=compiled: {}\", nvcc.status().unwrap().success());\n\
         println!(\"cargo::warning=for {:?}\", env::var(\"CUDALINK_ARCH\"));\n}\n",
    )?;
    let program = program("cargo-cudalink")?;
    let task = format!(
        "fn main() {{\nlet mut build = std::process::Command::new({program:?});\n\
         build.arg(\"build\").current_dir({:?});\nassert!(build.status().unwrap().success());\n}}\n",
        inner.folder.path(),
    );
    let outer = Project::new(&task, &[])?;
    let (_, err) = outer.succeed(&["run", "--arch=sm_80"], &[])?;
    says(&err, &["compiled: true", "for Err(NotPresent)"])?;
    let (_, err) = outer.succeed(&["run", "--arch=sm_80"], &[("CUDALINK_ARCH", "sm_90")])?;
    ensure!(err.contains("for Ok(\"sm_90\")"), "{err}");
    Ok(())
}
