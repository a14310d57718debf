//! Programs that need nothing, or not everything, of the device code in their libraries.

use std::fs;

use anyhow::{Context as _, Result, ensure};

use super::objects::{OBJECTS, is_skipped};
use super::project::{LAUNCHING, MANIFEST, PLAIN, Project, texts};

/// The build script of a package links its libraries with its tests, too. Other crates only come along where code names
/// them.
#[test]
fn tests_that_need_no_device_code_do_without_what_it_needs() -> Result<()> {
    if is_skipped()? {
        return Ok(());
    }
    let project = Project::new(&format!("use math as _;\n{LAUNCHING}"), &["static=kernel"])?;
    let manifest = format!("{MANIFEST}[dependencies]\nmath = {{ path = \"math\" }}\n");
    project.write("Cargo.toml", &manifest)?;
    let math = Project::new(PLAIN, &["static=twice"])?;
    let script = fs::read_to_string(math.path("build.rs"))?;
    project.write("math/build.rs", &script)?;
    project.write("math/src/lib.rs", "")?;
    project.write(
        "math/Cargo.toml",
        "[package]\nname = \"math\"\nversion = \"0.1.0\"\nedition = \"2024\"\n",
    )?;
    project.write("tests/plain.rs", "#[test] fn plain() {}")?;
    project.write("examples/plain.rs", PLAIN)?;
    let (_, err) = project.succeed(&["test", "--all-targets", "-v"], &[])?;
    ensure!(err.contains("DeviceLink app (sm_90) 1 kernel"), "{err}");
    let left_out = "libkernel.a:kernel.o' stays away, as nothing needs it and it cannot be linked";
    ensure!(err.contains(left_out), "{err}");
    ensure!(!err.contains("_Z5twicei"), "{err}");

    // Another test that fails has nothing to do with it.
    project.write("tests/plain.rs", "#[test] fn plain() { panic!() }")?;
    let output = project.cargo(&["test", "--all-targets"], &[])?;
    let (out, err) = texts(&output);
    ensure!(!output.status.success(), "{out}{err}");
    ensure!(
        out.contains("panicked") && !err.contains("_Z5twicei"),
        "{out}{err}"
    );

    // One that launches a kernel needs all of it.
    project.write(
        "tests/plain.rs",
        &LAUNCHING.replace("fn main", "#[test]\nfn plain"),
    )?;
    project.fail(
        &["test", "--no-run", "--test", "plain"],
        &["Undefined reference to '_Z5twicei'", "help: plain test: "],
    )
}

#[test]
fn what_can_be_linked_and_is_needed_is_linked() -> Result<()> {
    if is_skipped()? {
        return Ok(());
    }
    let program = LAUNCHING.replace(
        "fn launch()",
        "#[link_name = \"launch_alone\"]\nfn launch()",
    );
    let project = Project::new(&program, &["static=kernel", "static=alone"])?;
    let (out, err) = project.succeed(&["run"], &[])?;
    ensure!(out.contains("launched: "), "{out}");
    ensure!(err.contains("DeviceLink app (sm_90) 1 kernel"), "{err}");
    // It is kept.
    project.write("src/main.rs", &format!("// Changed.\n{program}"))?;
    let (_, err) = project.succeed(&["build", "-v"], &[])?;
    ensure!(err.contains("Fresh app (sm_90) 1 kernel"), "{err}");
    // Rust code decides what is needed, so that what is kept is not for every program with these libraries.
    project.write("src/main.rs", LAUNCHING)?;
    project.fail(&["build"], &["Undefined reference to '_Z5twicei'"])
}

#[test]
fn what_to_do_about_processors_is_said_of_links_that_succeed_too() -> Result<()> {
    if is_skipped()? {
        return Ok(());
    }
    let program = LAUNCHING.replace(
        "fn launch()",
        "#[link_name = \"launch_alone\"]\nfn launch()",
    );
    let project = Project::new(&program, &["static=alone", "static=twice_older"])?;
    for (chosen, expected) in [
        (&[][..], "warning: app: nothing is linked for sm_80"),
        (
            &["--arch=sm_90"],
            "warning: app: SM Arch ('sm_90') not found in",
        ),
    ] {
        let (_, err) = project.succeed(&[&["build"], chosen].concat(), &[])?;
        let help = "warning: app: compile every object for every processor";
        ensure!(err.contains(expected) && err.contains(help), "{err}");
        project.write("src/main.rs", &format!("// Changed.\n{program}"))?;
    }
    Ok(())
}

#[test]
fn the_first_library_that_defines_a_function_counts_and_others_are_told_of() -> Result<()> {
    if is_skipped()? {
        return Ok(());
    }
    let libraries = ["static=kernel", "static=twice", "static=again"];
    let project = Project::new(LAUNCHING, &libraries)?;
    let (out, err) = project.succeed(&["run"], &[])?;
    ensure!(out.contains("launched: "), "{out}");
    let left_out = "again.o' stays away, as others have what is needed of it: Multiple definition of '_Z5twicei' in ";
    ensure!(
        err.contains("warning: app: ") && err.contains(left_out),
        "{err}"
    );
    Ok(())
}

#[test]
fn programs_that_need_no_device_code_do_without_the_runtime() -> Result<()> {
    if is_skipped()? {
        return Ok(());
    }
    let project = Project::new(PLAIN, &["static=kernel", "static=twice"])?;
    let script = fs::read_to_string(project.path("build.rs"))?;
    project.write("build.rs", &script.replace("\"cudart_static\", ", ""))?;
    let (out, err) = project.succeed(&["run"], &[])?;
    ensure!(
        out == "plain\n" && !err.contains("DeviceLink"),
        "{out}{err}"
    );
    Ok(())
}

/// As CMake makes them with `CUDA_RESOLVE_DEVICE_SYMBOLS`.
#[test]
fn libraries_with_their_own_device_link_need_no_other_one() -> Result<()> {
    if is_skipped()? {
        return Ok(());
    }
    let project = Project::new(LAUNCHING, &["static=resolved"])?;
    project.write(".cargo/config.toml", &project.linker_setting())?;
    let (out, err) = project.succeed(&["run"], &[])?;
    ensure!(out.contains("launched: "), "{out}");
    for word in ["DeviceLink", "warning"] {
        ensure!(!err.contains(word), "{err}");
    }
    let (_, first) = project.links()?;
    ensure!(!first.contains("cudalink"), "{first}");
    // They need the runtime like others.
    let objects = OBJECTS.as_ref().ok().context("the objects are there")?;
    let runtime = objects.runtime.display().to_string();
    let script = fs::read_to_string(project.path("build.rs"))?;
    let script = script.replace(&runtime, "/nonexistent");
    project.write("build.rs", &script)?;
    let (out, _) = project.succeed(&["run"], &[])?;
    ensure!(out.contains("launched: "), "{out}");
    let with_driver = script.replace("\"cudart_static\"", "\"cudart_static\", \"cuda\"");
    project.write("build.rs", &with_driver)?;
    let (_, err) = texts(&project.cargo(&["build"], &[])?);
    let said = "the host linker does not find the library of NVIDIA's driver (-lcuda)";
    ensure!(err.contains("Finished") != err.contains(said), "{err}");
    Ok(())
}
