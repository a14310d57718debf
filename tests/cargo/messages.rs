//! Messages for programs: one about each device link, between those of cargo.

use std::fs;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::objects::is_skipped;
use crate::project::{MANIFEST, Project};

const LIBRARY: &str = "unsafe extern \"C\" { fn launch() -> i32; }\n\
    pub fn launched() -> i32 { unsafe { launch() } }\n\
    #[unsafe(no_mangle)] pub extern \"C\" fn of_library() -> i32 { launched() }\n";
const PROGRAM: &str = "fn main() { println!(\"launched: {}\", app::launched()); }\n";
const TEST: &str = "#[test] fn launches() { println!(\"{}\", app::launched()); }\n";

/// What a build says of its device links: the image, what kind of file the host linker makes, and whether it was there.
fn links(project: &Project, arguments: &[&str]) -> Result<Vec<(String, String, bool)>> {
    let format = ["--message-format=json"];
    let (out, err) = project.succeed(&[arguments, &format].concat(), &[])?;
    let mut links = Vec::new();
    for line in out.lines() {
        // That is how cargo's begin, too, and what scripts look for that do not read all of it.
        ensure!(line.starts_with("{\"reason\":\""), "{line}\n{err}");
        let message: Value = serde_json::from_str(line)?;
        ensure!(message["reason"] != "device-link-message", "{line}");
        if message["reason"] != "device-link" {
            continue;
        }
        ensure!(
            message["arch"][0] == "sm_90" && message["kernels"] == 1,
            "{line}"
        );
        let text = |field: &str| message[field].as_str().map(str::to_owned);
        let output = text("output").context("an output")?;
        let folder = output.rsplit('/').nth(1).context("a folder")?;
        let kind = match output.ends_with(".so") {
            true => "library",
            false => folder,
        };
        let fresh = message["fresh"].as_bool().context("a word on work")?;
        links.push((text("image").context("an image")?, kind.to_owned(), fresh));
    }
    links.sort();
    Ok(links)
}

#[test]
fn programs_are_told_of_each_device_link() -> Result<()> {
    if is_skipped()? {
        return Ok(());
    }
    let project = Project::new(PROGRAM, &["static=kernel", "static=twice"])?;
    let manifest = format!("{MANIFEST}[lib]\ncrate-type = [\"rlib\", \"cdylib\"]\n");
    project.write("Cargo.toml", &manifest)?;
    project.write("src/lib.rs", LIBRARY)?;
    project.write("examples/shown.rs", PROGRAM)?;
    project.write("tests/tested.rs", TEST)?;

    let all = ["build", "--all-targets"];
    let found = links(&project, &all)?;
    let named = |found: &[(String, String, bool)]| -> Vec<String> {
        let names = found
            .iter()
            .map(|(image, kind, _)| format!("{image} in {kind}"));
        names.collect()
    };
    let expected = [
        "app in deps",
        "app test in deps",
        "app test in deps",
        "libapp in library",
        "shown in examples",
        "tested test in deps",
    ];
    ensure!(named(&found) == expected, "{found:?}");

    // Nothing is linked; then one program is, with the device code that is there.
    let found = links(&project, &all)?;
    ensure!(found.is_empty(), "{found:?}");
    project.write("examples/shown.rs", &format!("// Changed.\n{PROGRAM}"))?;
    let found = links(&project, &all)?;
    let again = ("shown".to_owned(), "examples".to_owned(), true);
    ensure!(found == [again], "{found:?}");

    // What is gone is linked again.
    fs::remove_dir_all(project.path("target/debug"))?;
    let found = links(&project, &["test", "--no-run", "--test", "tested"])?;
    ensure!(
        named(&found) == ["app in deps", "libapp in library", "tested test in deps"],
        "{found:?}"
    );
    Ok(())
}

#[test]
fn static_libraries_with_device_code_are_told_of_once() -> Result<()> {
    if is_skipped()? {
        return Ok(());
    }
    let project = Project::new(PROGRAM, &["static=kernel", "static=twice"])?;
    let manifest = format!("{MANIFEST}[lib]\ncrate-type = [\"staticlib\"]\n");
    project.write("Cargo.toml", &manifest)?;
    project.write("src/lib.rs", LIBRARY)?;
    let (_, err) = project.succeed(&["build", "--lib"], &[])?;
    let said = "note: target/debug/libapp.a has device code, which is linked with the program that it is for: \
        `cargo cudalink link target/debug/libapp.a -o device_link.o`";
    ensure!(err.contains(said), "{err}");
    project.write("src/lib.rs", &format!("// Changed.\n{LIBRARY}"))?;
    let (_, err) = project.succeed(&["build", "--lib"], &[])?;
    ensure!(
        err.contains("Compiling app") && !err.contains("has device code"),
        "{err}"
    );
    Ok(())
}
