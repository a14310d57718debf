//! Builds that run at the same time, and what is left of one that was killed.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use super::objects::is_skipped;
use super::project::{LAUNCHING, Project, run, texts, wait_until};

/// A project linked by the recorder, and a file by which that can be told to stop.
fn recorded() -> Result<(Project, PathBuf)> {
    let project = Project::new(LAUNCHING, &["static=kernel", "static=twice"])?;
    project.write(".cargo/config.toml", &project.linker_setting())?;
    let reached = project.path("reached");
    Ok((project, reached))
}

#[test]
fn builds_at_the_same_time_do_not_disturb_each_other() -> Result<()> {
    if is_skipped()? {
        return Ok(());
    }
    let project = Project::new(LAUNCHING, &["static=kernel", "static=twice"])?;
    // Cargo lets builds of two profiles run side by side, and those of one wait.
    let builds: [&[&str]; 4] = [
        &["build"],
        &["build", "--release"],
        &["build", "--arch=sm_90", "--compress-mode=size"],
        &["build", "--release", "--kernels=used"],
    ];
    let mut running = Vec::new();
    for arguments in builds {
        let mut command = project.command(arguments, &[])?;
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        running.push((arguments, command.spawn()?));
    }
    for (arguments, build) in running {
        let output = build.wait_with_output()?;
        let (out, err) = texts(&output);
        ensure!(output.status.success(), "{arguments:?}\n{out}{err}");
    }
    for profile in ["debug", "release"] {
        run(&mut Command::new(
            project.path(&format!("target/{profile}/app")),
        ))?;
    }
    let (_, err) = project.succeed(&["build", "--release"], &[])?;
    ensure!(!err.contains("error"), "{err}");
    Ok(())
}

#[test]
fn a_build_that_had_to_wait_makes_what_was_chosen_for_it() -> Result<()> {
    if is_skipped()? {
        return Ok(());
    }
    let (project, reached) = recorded()?;
    let hang = [("HANG", reached.to_str().context("a path of text")?)];
    let mut first = project.command(&["build", "--compress-mode=size"], &hang)?;
    let first = first
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    wait_until("nothing is linked", || reached.exists())?;
    let second = project.path("second");
    let mut command = project.command(&["build"], &[])?;
    command.stdout(Stdio::null()).stderr(File::create(&second)?);
    let mut running = command.spawn()?;
    let said = || fs::read_to_string(&second).unwrap_or_default();
    wait_until("the second build does not wait", || {
        said().contains("Blocking")
    })?;
    // What builds work with is not removed.
    let told = project.path("told");
    let mut clean = project.command(&["clean"], &[])?;
    let mut clean = clean.stderr(File::create(&told)?).spawn()?;
    wait_until("nothing waits for builds", || {
        fs::read_to_string(&told).is_ok_and(|told| told.contains("Blocking"))
    })?;
    fs::remove_file(&reached)?;
    let output = first.wait_with_output()?;
    let (out, err) = texts(&output);
    ensure!(output.status.success(), "{out}{err}");
    ensure!(running.wait()?.success(), "{}", said());
    ensure!(said().contains("DeviceLink app (sm_90)"), "{}", said());
    ensure!(clean.wait()?.success());
    ensure!(!project.path("target/cudalink").exists());
    Ok(())
}

#[test]
#[cfg(unix)]
fn a_build_that_was_killed_is_repaired_by_the_next() -> Result<()> {
    use std::os::unix::process::CommandExt as _;
    if is_skipped()? {
        return Ok(());
    }
    let (project, reached) = recorded()?;
    let hang = [("HANG", reached.to_str().context("a path of text")?)];
    let mut command = project.command(&["build"], &hang)?;
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut build = command.process_group(0).spawn()?;
    wait_until("nothing is linked", || reached.exists())?;
    run(Command::new("kill").args(["-KILL", "--", &format!("-{}", build.id())]))?;
    build.wait()?;
    ensure!(!project.path("target/debug/app").exists());
    // What a link leaves that is killed while it writes.
    let images = project.path("target/cudalink/images");
    let mut kept = 0;
    for entry in fs::read_dir(&images)? {
        let path = entry?.path();
        if path
            .extension()
            .is_some_and(|extension| extension == "json")
        {
            fs::write(path, "{\"report\":")?;
            kept += 1;
        }
    }
    ensure!(kept == 1, "{kept} records in {}", images.display());
    let (_, err) = project.succeed(&["build"], &[])?;
    ensure!(err.contains("DeviceLink app (sm_90) 1 kernel"), "{err}");
    run(&mut Command::new(project.path("target/debug/app")))?;
    Ok(())
}

#[test]
#[cfg(unix)]
fn a_program_ends_with_the_command_that_runs_it() -> Result<()> {
    let waiting = "fn main() {\n\
        std::fs::write(\"new\", std::process::id().to_string()).unwrap();\n\
        std::fs::rename(\"new\", \"program\").unwrap();\n\
        std::thread::sleep(std::time::Duration::from_secs(600));\n}\n";
    let project = Project::new(waiting, &[])?;
    let mut command = project.command(&["run"], &[])?;
    let mut running = command.stderr(Stdio::null()).spawn()?;
    let started = project.path("program");
    wait_until("the program does not start", || started.exists())?;
    let program = fs::read_to_string(&started)?;
    run(Command::new("kill").args(["-TERM", &running.id().to_string()]))?;
    ensure!(running.wait()?.code() == Some(128 + 15));
    let is_there = || Command::new("kill").args(["-0", &program]).output();
    wait_until("the program goes on", || {
        is_there().is_ok_and(|told| !told.status.success())
    })?;
    let runs = project.path("target/cudalink/run");
    ensure!(
        fs::read_dir(runs)?.next().is_none(),
        "nothing is left of the run"
    );
    Ok(())
}

/// Rustdoc makes a program of each, and several at a time.
#[test]
fn documentation_tests_share_one_device_link() -> Result<()> {
    if is_skipped()? {
        return Ok(());
    }
    let project = Project::new("fn main() {}", &["static=kernel", "static=twice"])?;
    let example = format!("use app as _;\n{LAUNCHING}").replace('\n', "\n//! ");
    let example = format!("//! ```standalone_crate\n//! {example}\n//! ```\n");
    project.write("src/lib.rs", &example.repeat(3))?;
    for links in [1, 0] {
        let (out, err) = project.succeed(&["test", "--doc"], &[])?;
        ensure!(out.contains("3 passed"), "{out}{err}");
        ensure!(err.matches("DeviceLink").count() == links, "{err}");
    }
    // What was chosen counts for them, too.
    let (_, err) = project.succeed(&["test", "--doc", "--compress-mode=size"], &[])?;
    ensure!(err.matches("DeviceLink").count() == 1, "{err}");
    Ok(())
}
