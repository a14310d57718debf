//! Builds Rust programs with device code by `cargo cudalink`.
//!
//! The projects are written by the tests and depend on nothing. Tests that need device objects compile them once, with
//! a CUDA toolkit and a host compiler; without these they are skipped, which is a failure where `CI` is set. The linker
//! that projects choose is a script that writes down what it is called with.

use std::collections::HashSet;
use std::env;
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result, ensure};
use rustnvlink_tests::checks::says;
use rustnvlink_tests::identity::program;

use objects::{OBJECTS, is_skipped};
use project::{LAUNCHING, MANIFEST, PLAIN, Project, run, texts};

#[path = "cargo/around.rs"]
mod around;
#[path = "cargo/build_scripts.rs"]
mod build_scripts;
#[path = "cargo/messages.rs"]
mod messages;
#[path = "cargo/needed.rs"]
mod needed;
#[path = "cargo/objects.rs"]
mod objects;
#[path = "cargo/project.rs"]
mod project;
#[path = "cargo/side_by_side.rs"]
mod side_by_side;

#[test]
fn programs_without_device_code_are_linked_as_ever() -> Result<()> {
    let project = Project::new(PLAIN, &[])?;
    let script = "fn main() { println!(\"cargo::rerun-if-changed=build.rs\"); }";
    project.write("build.rs", script)?;
    project.write(".cargo/config.toml", &project.linker_setting())?;
    // A variable that is set to nothing is not set.
    let (out, err) = project.succeed(&["run"], &[("CUDALINK_ARCH", "")])?;
    ensure!(
        out == "plain\n" && !err.contains("DeviceLink"),
        "{out}{err}"
    );
    let (links, first) = project.links()?;
    ensure!(links == 2, "a build script and a program: {links} links");
    ensure!(!first.contains("cudalink"), "{first}");
    ensure!(project.path("target/CACHEDIR.TAG").is_file());
    // The folder by another name.
    project.succeed(&["build", "--target-dir", "src/../target"], &[])?;
    ensure!(project.links()?.0 == 0, "everything is built again");
    Ok(())
}

#[test]
fn what_a_device_link_of_its_own_defines_is_nothing_for_others() -> Result<()> {
    if is_skipped()? {
        return Ok(());
    }
    Project::new(LAUNCHING, &["static=kernel", "static=resolved_twice"])?.fail(
        &["build"],
        &[
            "Undefined reference to '_Z5twicei'",
            "device link of its own ('",
            "libresolved_twice.a:resolved_twice.o'): build it without",
        ],
    )
}

#[cfg(target_os = "linux")]
#[test]
fn messages_for_programs_that_cannot_be_written_are_an_error() -> Result<()> {
    let project = Project::new(PLAIN, &[])?;
    let arguments = ["build", "--message-format=json"];
    let mut command = project.command(&arguments, &[])?;
    let output = command.stdout(File::create("/dev/full")?).output()?;
    let (_, err) = texts(&output);
    ensure!(!output.status.success(), "{err}");
    ensure!(err.contains("cannot write to the standard output"), "{err}");

    // Cargo itself decides what it means that nobody reads.
    let (reader, writer) = std::io::pipe()?;
    drop(reader);
    let output = project.command(&arguments, &[])?.stdout(writer).output()?;
    let (_, err) = texts(&output);
    ensure!(!err.contains("cannot write"), "{err}");
    let runs = fs::read_dir(project.path("target/cudalink/run"))?;
    ensure!(runs.count() == 0, "a run is left behind");
    Ok(())
}

#[test]
fn choices_that_are_wrong_are_named() -> Result<()> {
    let project = Project::new(PLAIN, &[])?;
    for (choice, part) in [
        ("archs = [\"sm_90\"]", "Cargo.toml: unknown field `archs`"),
        ("dlto = \"yes\"", "dlto: invalid type"),
        ("toolkit = \"99.1\"", "99.1; `cargo cudalink toolkit list`"),
    ] {
        let chosen = format!("{MANIFEST}[package.metadata.cudalink]\n{choice}\n");
        project.write("Cargo.toml", &chosen)?;
        project.fail(&["build"], &[part])?;
    }
    project.write("Cargo.toml", "[package\n")?;
    project.fail(&["build"], &["error: ", "Cargo.toml:1"])?;
    fs::remove_file(project.path("Cargo.toml"))?;
    let not_here = [
        "error: could not find `Cargo.toml`",
        "; `--manifest-path` names the one",
    ];
    project.fail(&["build"], &not_here)?;
    project.fail(&["exec", "cargo", "build"], &not_here)?;
    project.write("Cargo.toml", MANIFEST)?;
    project.fail(&["build", "--arch", "sm_banana"], &["sm_banana"])?;
    project.fail(&["fix"], &["`cargo cudalink exec cargo fix ..`"])?;
    project.fail(&["lnk"], &["similar subcommand", "link"])?;
    project.fail(
        &["build", "--arch", "sm_35"],
        &["there is no processor 'sm_35'; CUDA 13 has left it behind; there are sm_75"],
    )?;
    project.fail(
        &["build", "--toolkit", "99.1.0"],
        &["there is no CUDA toolkit 99.1.0", "toolkit install 99.1.0"],
    )?;
    project.fail(
        &["build", "--device-library", "no-such.a"],
        &[
            "error: app: device library of --device-library,",
            "cannot read",
            "no-such.a",
        ],
    )?;
    project.write(
        ".cargo/config.toml",
        "[build]\nrustflags = [\"-Clinker=no-such-cc\"]\n",
    )?;
    project.fail(&["build"], &["no-such-cc", "is not there", "install it"])
}

#[test]
fn device_code_is_linked_once_for_each_program() -> Result<()> {
    if is_skipped()? {
        return Ok(());
    }
    let project = Project::new(LAUNCHING, &["static=kernel", "static=twice"])?;
    project.write(".cargo/config.toml", &project.linker_setting())?;
    let (out, err) = project.succeed(&["run", "--message-format=json"], &[])?;
    ensure!(out.contains("\"reason\":\"device-link\""), "{out}");
    ensure!(out.contains("launched: "), "{out}");
    ensure!(err.contains("DeviceLink app (sm_90) 1 kernel, "), "{err}");
    let (links, first) = project.links()?;
    ensure!(links == 2 && first.contains("cudalink"), "{links} {first}");

    // Nothing to do; then Rust code changes, and the device code stays.
    let (_, err) = project.succeed(&["build"], &[])?;
    ensure!(
        project.links()?.0 == 0 && !err.contains("DeviceLink"),
        "{err}"
    );
    project.write("src/main.rs", &format!("// Changed.\n{LAUNCHING}"))?;
    let (_, err) = project.succeed(&["build"], &[("CARGO_TERM_VERBOSE", "true")])?;
    ensure!(err.contains("Fresh app (sm_90) 1 kernel"), "{err}");
    ensure!(project.links()?.0 == 1);

    // Cargo calls a program and its tests by one name.
    let coloured = [("CARGO_TERM_COLOR", "always")];
    let (_, err) = project.succeed(&["test", "--no-run"], &coloured)?;
    let line = "\x1b[1m\x1b[92m  DeviceLink\x1b[0m app test (sm_90) 1 kernel";
    ensure!(err.contains(line), "{err:?}");
    project.links()?;
    // Their device code is the same, and was linked once.
    let images = fs::read_dir(project.path("target/cudalink/images"))?;
    let images = images.flatten().map(|entry| entry.path());
    let objects: Vec<PathBuf> = images
        .filter(|path| path.extension().is_some_and(|e| e == "o"))
        .collect();
    let inodes = objects.iter().map(|path| Ok(path.metadata()?.ino()));
    let inodes = inodes.collect::<Result<HashSet<u64>>>()?;
    ensure!((objects.len(), inodes.len()) == (2, 1), "{objects:?}");

    // A choice changes, of which cargo knows nothing.
    let compressed = [("CUDALINK_COMPRESS_MODE", "size")];
    let (_, err) = project.succeed(&["build"], &compressed)?;
    ensure!(err.contains("DeviceLink app (sm_90)"), "{err}");
    ensure!(project.links()?.0 == 1);
    project.succeed(&["build"], &compressed)?;
    ensure!(project.links()?.0 == 0, "nothing has changed");

    // Another program of the same version may link otherwise.
    let ours = program("cargo-cudalink")?;
    let other = project.path("other-cudalink");
    run(Command::new("install").args([&ours, &other]))?;
    let build = |expected: usize| -> Result<()> {
        let mut command = project.command_by(&other, &["build"], &compressed);
        let (_, err) = texts(&command.output()?);
        let links = project.links()?.0;
        ensure!(links == expected, "{links} links\n{err}");
        ensure!(
            err.contains("DeviceLink app (sm_90)") == (expected > 0),
            "{err}"
        );
        Ok(())
    };
    build(1)?;
    build(0)?;

    // The program goes in all places that cargo puts it in, and what is none of ours stays.
    project.write("target/debug/app-notes", "mine")?;
    let (_, err) = project.succeed(&["clean"], &[])?;
    let said = err.strip_prefix("     Removed ").unwrap_or_default();
    let (files, size) = said.split_once(" files, ").context("it says so")?;
    ensure!(
        files.parse::<usize>()? > 3 && size.ends_with(" total\n"),
        "{err}"
    );
    ensure!(!project.path("target/cudalink").exists());
    let (_, err) = project.succeed(&["clean"], &[])?;
    ensure!(err == "     Removed 0 files\n", "{err}");
    let (_, err) = project.succeed(&["clean", "--quiet"], &[])?;
    ensure!(err.is_empty(), "{err}");
    ensure!(!project.path("target/debug/app").exists());
    ensure!(project.path("target/debug/app-notes").exists());
    let (_, err) = project.succeed(&["build", "--kernels=used"], &[])?;
    ensure!(err.contains("DeviceLink app (sm_90)"), "{err}");
    ensure!(project.path("target/debug/app").exists());

    // What was linked is known also where the results of the links have been removed by hand.
    fs::remove_dir_all(project.path("target/cudalink"))?;
    project.succeed(&["clean"], &[])?;
    ensure!(!project.path("target/debug/app").exists());
    let (_, err) = project.succeed(&["build", "--arch", "sm_90, sm_90"], &[])?;
    ensure!(err.contains("DeviceLink app (sm_90)"), "{err}");
    Ok(())
}

#[test]
fn a_build_folder_apart_from_the_target_folder_is_known() -> Result<()> {
    if is_skipped()? {
        return Ok(());
    }
    let project = Project::new(LAUNCHING, &["static=kernel", "static=twice"])?;
    let elsewhere = format!("[build]\nbuild-dir = {:?}\n", project.path("elsewhere"));
    project.write(
        ".cargo/config.toml",
        &format!("{elsewhere}{}", project.linker_setting()),
    )?;
    project.succeed(&["build"], &[])?;
    ensure!(project.path("elsewhere/debug/deps").is_dir());
    project.links()?;
    project.write("src/main.rs", &format!("// Changed.\n{LAUNCHING}"))?;
    let (_, err) = project.succeed(&["build", "-v"], &[])?;
    ensure!(err.contains("Fresh app (sm_90) 1 kernel"), "{err}");
    project.succeed(&["build", "--compress-mode=size"], &[])?;
    ensure!(project.links()?.0 == 2, "a choice has changed");
    project.succeed(&["clean"], &[])?;
    ensure!(!project.path("target/debug/app").exists());
    project.succeed(&["build", "--compress-mode=size"], &[])?;
    ensure!(project.links()?.0 == 1, "everything was removed");
    Ok(())
}

#[test]
fn programs_are_installed_and_documented() -> Result<()> {
    if is_skipped()? {
        return Ok(());
    }
    let project = Project::new(LAUNCHING, &["static=kernel", "static=twice"])?;
    // Cargo looks for the configuration where the package lies.
    project.write(".cargo/config.toml", &project.linker_setting())?;
    let root = project.path("root");
    let mut command = project.command(&["install", "--path"], &[])?;
    command
        .arg(project.folder.path())
        .arg("--root")
        .arg(&root)
        .current_dir(env::temp_dir());
    let output = command.output()?;
    let (out, err) = texts(&output);
    ensure!(output.status.success(), "{out}{err}");
    ensure!(err.contains("DeviceLink app (sm_90) 1 kernel"), "{err}");
    ensure!(project.links()?.1.contains("cudalink"));
    run(&mut Command::new(root.join("bin/app")))?;

    // What is fetched, here from a repository of git.
    run(Command::new("git")
        .arg("init")
        .arg("-q")
        .arg(project.folder.path()))?;
    fs::remove_dir_all(project.path("target"))?;
    fs::remove_dir_all(&root)?;
    let git = |words: &[&str]| {
        let mut command = Command::new("git");
        command.arg("-C").arg(project.folder.path());
        run(command
            .args(["-c", "user.name=a", "-c", "user.email=a@b"])
            .args(words))
    };
    git(&["add", "."])?;
    git(&["commit", "-q", "-m", "All"])?;
    let fetched = Project::new(PLAIN, &[])?;
    let url = format!("file://{}", project.folder.path().display());
    let arguments = ["install", "app", "--git", &url, "--root", "root"];
    let (_, err) = fetched.succeed(&arguments, &[])?;
    ensure!(err.contains("DeviceLink app (sm_90) 1 kernel"), "{err}");
    ensure!(!fetched.path("target").exists());
    run(&mut Command::new(fetched.path("root/bin/app")))?;
    let (out, _) = fetched.succeed(&["install", "--list", "--root", "root"], &[])?;
    ensure!(out.contains("app v0.1.0"), "{out}");

    project.succeed(&["doc", "--no-deps"], &[])?;
    ensure!(project.path("target/doc/app/index.html").is_file());
    Ok(())
}

#[test]
fn every_way_of_naming_a_linker_and_a_library_works() -> Result<()> {
    if is_skipped()? {
        return Ok(());
    }
    let project = Project::new(
        LAUNCHING,
        &["static:+whole-archive=kernel", "static:-bundle=twice"],
    )?;
    let recorder = project.path("recorder");
    let recorder = recorder.to_str().context("a path of text")?;
    let host = String::from_utf8(Command::new("rustc").arg("-vV").output()?.stdout)?;
    let host = host
        .lines()
        .find_map(|line| line.strip_prefix("host: "))
        .context("rustc tells its host")?;
    let variable = format!(
        "CARGO_TARGET_{}_LINKER",
        host.to_uppercase().replace('-', "_")
    );
    let setting = format!("target.{host}.linker='{recorder}'");
    let flags = format!("-C linker={recorder} -C link-arg=-Wl,--gc-sections");
    let for_crate = format!("-Clinker={recorder}");
    let check = |arguments: &[&str], variable: Option<(&str, &str)>| -> Result<()> {
        project.succeed(arguments, variable.as_slice())?;
        let (links, first) = project.links()?;
        ensure!(links > 0, "{arguments:?}: the user's linker is not used");
        ensure!(first.contains("cudalink"), "{arguments:?}: {first}");
        fs::remove_dir_all(project.path("target"))?;
        Ok(())
    };
    check(&["run"], Some((&variable, recorder)))?;
    check(&["run", "--config", &setting], None)?;
    check(&["run"], Some(("RUSTFLAGS", &flags)))?;
    check(&["rustc", "--", &for_crate], None)?;
    for linker in ["bfd", "gold", "lld", "mold"] {
        let name = match linker {
            "mold" => "mold".to_owned(),
            linker => format!("ld.{linker}"),
        };
        if Command::new(&name).arg("--version").output().is_err() {
            continue;
        }
        let flag = format!("-Clink-arg=-fuse-ld={linker}");
        project.succeed(&["rustc", "--", &flag], &[])?;
        run(&mut Command::new(project.path("target/debug/app")))?;
    }
    Ok(())
}

#[test]
fn linkers_that_take_no_script_are_told_of() -> Result<()> {
    if is_skipped()? {
        return Ok(());
    }
    let project = Project::new(LAUNCHING, &["static=kernel", "static=twice"])?;
    let scriptless = "#!/bin/sh\ncase \"$*\" in *' -T '*) echo 'no scripts' >&2; exit 1;; esac\nexec cc \"$@\"\n";
    project.write_program("scriptless", scriptless)?;
    let flag = format!("-Clinker={}", project.path("scriptless").display());
    let always = ["rustc", "--host-linker-script=always", "--", &flag];
    project.fail(
        &always,
        &["no scripts", "GNU ld and lld understand it", "-fuse-ld=lld"],
    )?;
    project.succeed(&["rustc", "--", &flag], &[])?;
    // Compilers take apart at commas what stands behind `-Wl`.
    for linker in ["bfd", "lld"] {
        if Command::new(format!("ld.{linker}"))
            .arg("--version")
            .output()
            .is_err()
        {
            continue;
        }
        let flag = format!("-Clink-arg=-fuse-ld={linker}");
        let always = [
            "rustc",
            "--target-dir=this, too",
            "--host-linker-script=always",
            "--",
            &flag,
        ];
        project.succeed(&always, &[])?;
        run(&mut Command::new(project.path("this, too/debug/app")))?;
    }
    Ok(())
}

#[test]
fn shared_libraries_carry_their_device_code() -> Result<()> {
    if is_skipped()? {
        return Ok(());
    }
    let project = Project::new(PLAIN, &["static=kernel", "static=twice"])?;
    fs::remove_file(project.path("src/main.rs"))?;
    project.write(
        "src/lib.rs",
        "unsafe extern \"C\" { fn launch() -> i32; }\n\
         #[unsafe(no_mangle)]\npub extern \"C\" fn go() -> i32 { unsafe { launch() } }\n",
    )?;
    let library = format!("{MANIFEST}[lib]\ncrate-type = [\"cdylib\"]\n");
    project.write("Cargo.toml", &library)?;
    let (_, err) = project.succeed(&["build"], &[])?;
    ensure!(err.contains("DeviceLink libapp (sm_90) 1 kernel"), "{err}");
    Ok(())
}

#[test]
fn what_is_missing_is_named_with_what_to_do() -> Result<()> {
    if is_skipped()? {
        return Ok(());
    }
    let project = Project::new(LAUNCHING, &["static=kernel"])?;
    project.fail(
        &["build"],
        &[
            "_Z5twicei",
            "kernel.o",
            "error: app: its device code cannot be linked",
        ],
    )?;
    // Nothing but code for the processor is missing.
    let older = Project::new(LAUNCHING, &["static=kernel", "static=twice_older"])?;
    let err = older.failure(&["build", "--arch=sm_90"])?;
    let said = [
        "SM Arch ('sm_90') not found in",
        "it has code for sm_80",
        "help: app: compile every object for every processor",
    ];
    says(&err, &said)?;
    for other in [
        "has to be in this program",
        "may define it",
        "help: add the",
    ] {
        ensure!(!err.contains(other), "{err}");
    }
    // Who has the device runtime linked gets to know the same.
    let script = fs::read_to_string(project.path("build.rs"))?;
    let with_runtime = script.replace("\"cudart_static\"", "\"cudadevrt\", \"cudart_static\"");
    project.write("build.rs", &with_runtime)?;
    project.fail(&["build"], &["Undefined reference to '_Z5twicei'"])?;
    let whole = Project::new(LAUNCHING, &["static=kernel", "static=twice"])?;
    whole.fail(
        &["build", "--arch=sm_90,sm_80"],
        &[
            "error: app: no input has device code for sm_80",
            "compile every object for every processor",
        ],
    )?;
    let script = fs::read_to_string(whole.path("build.rs"))?;
    whole.write("build.rs", &script.replace("\"cudart_static\", ", ""))?;
    whole.fail(&["build"], &["help: app: the CUDA runtime is not linked"])?;
    if let Ok(objects) = &*OBJECTS {
        let runtime = objects.runtime.display().to_string();
        // The toolkit has it.
        whole.write("build.rs", &script.replace(&runtime, "/nonexistent"))?;
        whole.succeed(&["build"], &[])?;
    }
    let closed = Project::new(LAUNCHING, &["static=kernel", "static=closed"])?;
    closed.fail(&["build"], &["closed.o", "compile with -rdc=true"])
}

#[test]
fn optimized_code_is_linked_where_that_is_chosen() -> Result<()> {
    if is_skipped()? {
        return Ok(());
    }
    let project = Project::new(LAUNCHING, &["static=kernel_lto", "static=twice_lto"])?;
    project.fail(
        &["build"],
        &[
            "LTO-IR",
            "link them with -dlto",
            "`dlto = true`",
            "error: app: its device code cannot be linked",
        ],
    )?;
    let (_, err) = project.succeed(&["build", "--dlto"], &[])?;
    ensure!(err.contains("DeviceLink app (sm_90) 1 kernel"), "{err}");
    project.succeed(&["build"], &[("CUDALINK_DLTO", "true")])?;
    let chosen = format!("{MANIFEST}[package.metadata.cudalink]\ndlto = true\n");
    project.write("Cargo.toml", &chosen)?;
    project.succeed(&["run"], &[])?;
    project.fail(&["build", "--dlto=false"], &["LTO-IR"])?;

    // Where there is nothing to optimize, the reason may be the profile.
    let machine = Project::new(LAUNCHING, &["static=kernel", "static=twice"])?;
    let (_, err) = machine.succeed(&["build", "--dlto"], &[])?;
    ensure!(
        err.contains("`debug = false` in the profile helps"),
        "{err}"
    );

    // Beside machine code only a part is optimized.
    let mixed = Project::new(LAUNCHING, &["static=kernel_lto", "static=twice"])?;
    let (_, err) = mixed.succeed(&["build", "--dlto", "-v"], &[])?;
    ensure!(err.contains("doing partial LTO"), "{err}");
    Ok(())
}

#[test]
fn device_libraries_are_watched() -> Result<()> {
    let Some(objects) = objects::needed()? else {
        return Ok(());
    };
    let project = Project::new(LAUNCHING, &["static=kernel"])?;
    project.write(".cargo/config.toml", &project.linker_setting())?;
    let library = project.path("a library.a");
    fs::copy(objects.folder.join("libtwice.a"), &library)?;
    let arguments = ["build", "--device-library", "a library.a"];
    project.succeed(&arguments, &[])?;
    project.links()?;
    project.succeed(&arguments, &[])?;
    ensure!(project.links()?.0 == 0, "nothing has changed");
    // Cargo compares times, and knows no less than a second on some file systems.
    let later = SystemTime::now() + Duration::from_secs(2);
    File::options()
        .append(true)
        .open(&library)?
        .set_modified(later)?;
    project.succeed(&arguments, &[])?;
    ensure!(project.links()?.0 == 1, "a library has changed");

    // A program without device code gets some.
    let plain = Project::new(PLAIN, &["static=closed"])?;
    plain.succeed(&["build"], &[])?;
    let library = objects.folder.join("libtwice.a");
    let library = library.to_str().context("a path of text")?;
    let (_, err) = plain.succeed(&["build", "--device-library", library], &[])?;
    ensure!(err.contains("DeviceLink app"), "{err}");
    Ok(())
}
