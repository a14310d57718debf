//! What the doctor finds.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::Suite;
use crate::world::{World, run, source_file};

pub(crate) fn add(suite: &mut Suite) {
    let missing = suite.world.missing_toolkit();
    suite.add("doctor/inputs", missing.clone(), inputs);
    suite.add("doctor/commands", missing.clone(), commands);
    suite.add("doctor/finished", missing.clone(), finished);
    suite.add("doctor/linked_before", missing.clone(), linked_before);
    suite.add("doctor/compiled_again", missing, compiled_again);
}

/// The severities and codes of what is found, and whether the doctor is content.
fn check(world: &World, options: &[&str], files: &[&Path], expected: &[&str]) -> Result<()> {
    let output = world
        .cudalink()?
        .args(["doctor", "--format=json"])
        .args(options)
        .args(files)
        .output()?;
    let document: Value = serde_json::from_slice(&output.stdout)
        .with_context(|| String::from_utf8_lossy(&output.stderr).into_owned())?;
    let findings = document["findings"].as_array().context("no findings")?;
    let found: Vec<String> = findings
        .iter()
        .map(|finding| {
            let text = |key: &str| finding[key].as_str().unwrap_or_default().to_owned();
            format!("{} {}", text("severity"), text("code"))
        })
        .collect();
    ensure!(found == expected, "{files:?}: {document:#}");
    let has_error = expected.iter().any(|finding| finding.starts_with("error"));
    ensure!(
        output.status.success() != has_error,
        "{files:?}: {}",
        output.status
    );
    Ok(())
}

fn inputs(world: &World) -> Result<()> {
    let objects = world.objects()?;
    let folder = world.folder("doctor")?;
    let (main, part, link) = (&*objects.main, &*objects.part, &*objects.nvcc_link);
    let plain = &*objects.runtime;
    check(world, &[], &[main, part, link, plain], &[])?;
    check(world, &["--arch=sm_80,sm_86"], &[main, part, link], &[])?;
    check(
        world,
        &["--arch=sm_75"],
        &[main, part, link],
        &["error arch-missing"],
    )?;
    check(world, &[], &[main, part], &["error never-linked"])?;
    check(world, &[], &[main, link], &["error object-missing"])?;
    check(world, &[], &[main, part, part, link], &["error held-twice"])?;

    let ours = folder.join("ours.o");
    run(world
        .cudalink()?
        .args(["link", "--arch=sm_80"])
        .args([main, part])
        .arg("-o")
        .arg(&ours))?;
    check(
        world,
        &[],
        &[main, part, &ours],
        &["warning arch-missing-in-link"],
    )?;
    let both = ["error linked-twice", "warning arch-missing-in-link"];
    check(world, &[], &[main, part, link, &ours], &both)?;

    let library = folder.join("libpart.a");
    run(Command::new("ar").arg("rcs").arg(&library).arg(part))?;
    check(world, &[], &[&library], &["note never-linked"])?;
    check(world, &[], &[main, &library, link], &["note order"])?;
    check(world, &[], &[link, main, &library], &[])?;

    let part_link = folder.join("part_link.o");
    run(world
        .cudalink()?
        .arg("link")
        .arg(part)
        .arg("-o")
        .arg(&part_link))?;
    let linked = folder.join("liblinked.a");
    run(Command::new("ar")
        .arg("rcs")
        .arg(&linked)
        .args([part, &part_link]))?;
    check(world, &[], &[&linked], &["note archive-already-linked"])?;
    let expected = ["error never-linked", "warning archive-already-linked"];
    check(world, &[], &[main, &linked], &expected)?;

    let damaged = folder.join("damaged.o");
    let data = std::fs::read(main)?;
    std::fs::write(&damaged, &data[..data.len() / 2])?;
    check(world, &[], &[&damaged], &["error damaged"])?;
    check(
        world,
        &[],
        &[&folder.join("missing.o")],
        &["error unreadable"],
    )?;
    check(
        world,
        &[],
        &[&source_file("main.cu")],
        &["error not-a-host-file"],
    )
}

/// An object whose module keeps its name while its code changes.
fn compiled_again(world: &World) -> Result<()> {
    let folder = world.folder("compiled_again")?;
    let (source, part, link) = (
        folder.join("part.cu"),
        folder.join("part.o"),
        folder.join("link.o"),
    );
    let compile = |text: &str| -> Result<()> {
        std::fs::write(&source, text)?;
        let mut nvcc = world.nvcc()?;
        run(nvcc
            .args(["-dc", "-Xcompiler", "-fPIC"])
            .arg(&source)
            .arg("-o")
            .arg(&part))?;
        Ok(())
    };
    let main = &*world.objects()?.main;
    let text = std::fs::read_to_string(source_file("part.cu"))?;
    compile(&text)?;
    let device_link = || {
        run(world
            .cudalink()?
            .arg("link")
            .args([main, &part])
            .arg("-o")
            .arg(&link))
    };
    device_link()?;
    compile(&format!("{text}// No code.\n"))?;
    check(world, &[], &[main, &part, &link], &[])?;
    compile(&text.replace("x * factor", "x * factor + 1"))?;
    check(world, &[], &[main, &part, &link], &["error linked-before"])?;
    device_link()?;
    check(world, &[], &[main, &part, &link], &[])
}

/// Who links what has been linked is told where it is.
fn linked_before(world: &World) -> Result<()> {
    let objects = world.objects()?;
    let folder = world.folder("linked_before")?;
    let (main, part, link) = (&*objects.main, &*objects.part, &*objects.nvcc_link);
    let check = |files: &[&Path], options: &[&str], succeeds: bool, text: &str| -> Result<()> {
        let output = world
            .cudalink()?
            .arg("link")
            .args(options)
            .args(files)
            .arg("-o")
            .arg(folder.join("again.o"))
            .output()?;
        let said = String::from_utf8_lossy(&output.stderr);
        let expected = format!(
            "{text}: '{}' holds the result of a device link already",
            link.display()
        );
        ensure!(output.status.success() == succeeds, "{files:?}: {said}");
        ensure!(said.contains(&expected), "{files:?}: {said}");
        Ok(())
    };
    let empty = "no input has device code to link; the image is empty";
    check(&[main, part, link], &["--arch=sm_80"], true, empty)?;
    check(&[link], &["--arch=sm_80"], true, empty)?;
    check(&[link], &[], false, "no input has device code to link")
}

/// What is advised works as it stands, and leaves nothing to advise.
fn commands(world: &World) -> Result<()> {
    let objects = world.objects()?;
    let folder = world.folder("doctor's advice")?;
    for (from, to) in [(&objects.main, "main.o"), (&objects.part, "my part.o")] {
        std::fs::copy(from, folder.join(to))?;
    }
    let cudalink = |arguments: &[&str]| -> Result<std::process::Output> {
        let mut command = world.cudalink()?;
        Ok(command.args(arguments).current_dir(&folder).output()?)
    };
    let follow = |files: &[&str], code: &str, expected: &[&str]| -> Result<()> {
        let output = cudalink(&[&["doctor", "--format=json"], files].concat())?;
        let document: Value = serde_json::from_slice(&output.stdout)?;
        let findings = document["findings"].as_array().context("no findings")?;
        let finding = findings.iter().find(|finding| finding["code"] == code);
        let advised = finding.context("it is not found")?["commands"].as_array();
        let advised: Vec<&str> = advised
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        ensure!(advised == expected, "{advised:?}");
        for command in advised {
            // As `cargo` finds the program.
            let program = world.cudalink()?.get_program().to_owned();
            let line = command.replace("cargo cudalink", "\"$CUDALINK\" cudalink");
            run(Command::new("sh")
                .args(["-e", "-c", &line])
                .env("CUDALINK", program)
                .current_dir(&folder))?;
        }
        let healthy = cudalink(&[&["doctor", "device_link.o"], files].concat())?;
        let said = String::from_utf8_lossy(&healthy.stdout).into_owned();
        ensure!(healthy.status.success(), "{said}");
        std::fs::remove_file(folder.join("device_link.o"))?;
        Ok(())
    };
    let link = "cargo cudalink link main.o 'my part.o' -o device_link.o";
    follow(&["main.o", "my part.o"], "never-linked", &[link])?;

    ensure!(
        cudalink(&["link", "my part.o", "-o", "part_link.o"])?
            .status
            .success()
    );
    run(Command::new("ar")
        .args(["rcs", "lib.a", "my part.o", "part_link.o"])
        .current_dir(&folder))?;
    let link = "cargo cudalink link main.o lib.a -o device_link.o";
    let expected = ["ar d lib.a part_link.o", link];
    follow(&["main.o", "lib.a"], "archive-already-linked", &expected)?;

    for (source, object) in [("main.cu", "main.o"), ("part.cu", "my part.o")] {
        run(Command::new(world.nvcc()?.get_program())
            .args(["-dc", "-dlto", "-arch=sm_80", "-o", object])
            .arg(source_file(source))
            .current_dir(&folder))?;
    }
    let link = "cargo cudalink link --dlto main.o 'my part.o' -o device_link.o";
    follow(&["main.o", "my part.o"], "never-linked", &[link])
}

fn finished(world: &World) -> Result<()> {
    let objects = world.objects()?;
    let folder = world.folder("finished")?;
    let (good, bad) = (folder.join("libgood.so"), folder.join("libbad.so"));
    let shared = |output: &Path, link: &[&Path]| {
        run(Command::new("c++")
            .arg("-shared")
            .args(link)
            .args([&objects.main, &objects.part, &objects.runtime])
            .arg("-o")
            .arg(output))
    };
    shared(&good, &[&objects.nvcc_link])?;
    shared(&bad, &[])?;
    check(world, &["--arch=sm_80"], &[&good], &[])?;
    check(world, &[], &[&bad], &["error never-linked"])?;
    run(Command::new("strip").args([&good, &bad]))?;
    check(world, &[], &[&good], &[])?;
    check(world, &[], &[&bad], &["error never-linked"])
}
