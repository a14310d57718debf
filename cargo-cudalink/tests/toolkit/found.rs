//! Which toolkit is used, and which there are.

use std::fs;
use std::path::{Path, PathBuf};

use crate::machine::{Machine, text};

#[test]
fn path_prints_the_root_and_nothing_else() {
    let machine = Machine::new();
    machine.install(&[]);
    let root = machine.root();
    let missing = machine.folder.path().join("missing");
    for arguments in [
        ["cudalink", "toolkit", "path"].as_slice(),
        &["toolkit", "path"],
    ] {
        let mut command = machine.command(arguments);
        let output = command
            .env("CUDA_HOME", &missing)
            .env("CUDA_PATH", &root)
            .output();
        let output = output.expect("the program can be run");
        machine.succeeded(&output);
        let warning = format!(
            "warning: CUDA_HOME is {}, which does not exist; the toolkit in {} is used\n",
            missing.display(),
            root.display()
        );
        assert_eq!(text(&output.stderr), warning);
    }
}

#[test]
fn list_tells_which_toolkit_is_used() {
    let machine = Machine::new();
    machine.install(&[]);
    let root = machine.root();
    let output = machine
        .command(&["toolkit", "list"])
        .env("CUDA_HOME", &root)
        .output();
    let lines = text(&output.expect("the program can be run").stdout);
    let words: Vec<&str> = lines
        .lines()
        .next()
        .expect("there is one")
        .split_whitespace()
        .collect();
    assert_eq!(
        words,
        ["*", "13.0.88", "CUDA_HOME", root.to_str().expect("ASCII")]
    );

    let output = machine
        .command(&["toolkit", "list", "--format", "json"])
        .env("CUDA_HOME", &root)
        .output();
    let report = output.expect("the program can be run").stdout;
    let report: serde_json::Value = serde_json::from_slice(&report).expect("it is JSON");
    let first = &report["toolkits"][0];
    assert_eq!(
        (&first["version"], &first["chosen"]),
        (&"13.0.88".into(), &true.into())
    );
    assert_eq!(
        report["tried"][0],
        serde_json::json!({"origin": "CUDA_PATH", "place": null, "reason": "not set"})
    );

    let missing = machine.folder.path().join("missing");
    let output = machine
        .command(&["toolkit", "list"])
        .env("CUDA_HOME", &missing)
        .output();
    let note = format!("note: CUDA_HOME: {} does not exist\n", missing.display());
    assert_eq!(text(&output.expect("the program can be run").stderr), note);
}

#[test]
fn what_builds_choose_is_what_is_used() {
    let machine = Machine::new();
    machine.install(&[]);
    let root = machine.root();
    let (printed, other) = (format!("{}\n", root.display()), "/nowhere");
    let run = |arguments: &[&str], choice: &Path| {
        let mut command = machine.command(arguments);
        let output = command.env("CUDALINK_TOOLKIT", choice).output();
        output.expect("the program can be run")
    };
    for (arguments, choice) in [
        (["toolkit", "path"].as_slice(), &root),
        (&["toolkit", "path"], &PathBuf::from("13.0")),
        (&["toolkit", "path", "--toolkit=13"], &PathBuf::from(other)),
        (&["toolkit", "path"], &PathBuf::new()),
    ] {
        let output = run(arguments, choice);
        machine.succeeded(&output);
        assert_eq!(text(&output.stdout), printed);
    }
    for arguments in [["toolkit", "path"], ["toolkit", "list"]] {
        let output = run(&arguments, Path::new("12.9"));
        let said = text(&output.stderr);
        assert!(said.contains("there is no CUDA toolkit 12.9"), "{said}");
    }
    let listed = run(&["toolkit", "list", "--toolkit=13.0"], Path::new(other));
    let expected = format!("* 13.0.88  cache  {printed}  libraries: nvjitlink\n  `toolkit install");
    let listed = text(&listed.stdout);
    assert!(listed.starts_with(&expected), "{listed}");
    assert!(
        listed
            .lines()
            .all(|line| line.starts_with('*') || line.len() <= 80)
    );
}

#[test]
fn what_the_configuration_and_manifests_choose_is_what_is_used() {
    let machine = Machine::new();
    machine.install(&[]);
    let folder = machine.folder.path();
    let write = |name: &str, text: &str| {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("the folder is writable");
        fs::write(path, text).expect("the folder is writable");
    };
    let cargo = Path::new(env!("CARGO")).parent().expect("a folder");
    let path = [
        &machine.bin(""),
        cargo,
        Path::new("/usr/bin"),
        Path::new("/bin"),
    ];
    let path = std::env::join_paths(path).expect("no colons");
    let check = |chosen: &[(&str, &str)], expected: Result<(), &str>| {
        let mut command = machine.command(&["toolkit", "path"]);
        let command = command.env("PATH", &path).envs(chosen.iter().copied());
        let output = command.output().expect("the program can be run");
        match expected {
            Ok(()) => machine.succeeded(&output),
            Err(expected) => {
                let said = text(&output.stderr);
                assert!(
                    !output.status.success() && said.contains(expected),
                    "{said}"
                );
            }
        }
    };
    check(&[], Ok(()));
    write(
        "Cargo.toml",
        "[package]\nname = \"app\"\nedition = \"2024\"\n[package.metadata.cudalink]\ntoolkit = \"12.7\"\n",
    );
    write("src/main.rs", "fn main() {}");
    check(&[], Err("there is no CUDA toolkit 12.7"));
    check(&[("CUDALINK_TOOLKIT", "13.0")], Ok(()));
    write(".cargo/config.toml", "[env]\nCUDALINK_TOOLKIT = \"12.6\"\n");
    check(&[], Err("there is no CUDA toolkit 12.6"));
    check(&[("CUDALINK_TOOLKIT", "13.0")], Ok(()));
    let elsewhere = "[env]\nCUDALINK_TOOLKIT = \"13.0\"\n\
        RUSTNVLINK_CACHE = { value = \"other\", relative = true, force = true }\n";
    write(".cargo/config.toml", elsewhere);
    check(&[], Err("there is no CUDA toolkit 13.0"));
}
