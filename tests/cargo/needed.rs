//! Programs that need nothing, or not everything, of the device code in their libraries.

use anyhow::{Result, ensure};

use super::{LAUNCHING, MANIFEST, PLAIN, Project, is_skipped, texts};

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
    let script = std::fs::read_to_string(math.path("build.rs"))?;
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
fn programs_that_need_no_device_code_do_without_the_runtime() -> Result<()> {
    if is_skipped()? {
        return Ok(());
    }
    let project = Project::new(PLAIN, &["static=kernel", "static=twice"])?;
    let script = std::fs::read_to_string(project.path("build.rs"))?;
    project.write("build.rs", &script.replace("\"cudart_static\", ", ""))?;
    let (out, err) = project.succeed(&["run"], &[])?;
    ensure!(
        out == "plain\n" && !err.contains("DeviceLink"),
        "{out}{err}"
    );
    Ok(())
}
