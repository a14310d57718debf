//! Libraries that an install adds.

use std::fs;

use crate::machine::{Machine, REQUIREMENTS, text};

#[test]
fn libraries_are_added_to_what_is_there() {
    let machine = Machine::new();
    machine.install(&["--with", "cublas"]);
    let first: Vec<String> = ["cuda-toolkit==13.0.2"]
        .into_iter()
        .chain(REQUIREMENTS)
        .chain([
            "nvidia-cublas==13.1.0.3.*",
            "nvidia-cuda-culibos==13.0.85.*",
        ])
        .map(str::to_owned)
        .collect();
    assert_eq!(machine.requirements(), first);

    let said = machine.install(&["--with=cusolver,nccl", "--with=nvjitlink"]);
    assert!(said.contains("installing 3 packages into"), "{said}");
    let all = machine.requirements();
    let second = [
        "cuda-toolkit==13.0.2",
        "nvidia-cusolver==12.0.4.66.*",
        "nvidia-cusparse==12.6.3.3.*",
        "nvidia-nccl-cu13",
    ];
    assert_eq!(all[first.len()..], second);
    let root = machine.root();
    for file in [
        "include/nccl.h",
        "lib/libcusolver.so",
        "lib/libnccl.so",
        "lib/libcublas.so",
    ] {
        assert!(root.join(file).is_file(), "{file}");
    }
    let said = machine.install(&["--with=cuSPARSE,cublas"]);
    assert!(said.starts_with("present "), "{said}");
    assert_eq!(machine.requirements().len(), all.len());

    let listed = machine.run(&["toolkit", "list", "--format=json"]).stdout;
    let listed: serde_json::Value = serde_json::from_slice(&listed).expect("it is JSON");
    let there = [
        "cublas",
        "culibos",
        "cusolver",
        "cusparse",
        "nccl",
        "nvjitlink",
    ];
    let ours = listed["toolkits"].as_array().expect("a list");
    let ours = ours.iter().find(|toolkit| toolkit["origin"] == "cache");
    assert_eq!(
        ours.expect("it is listed")["libraries"],
        serde_json::json!(there)
    );

    // A library counts when all of it is there, and those that a toolkit has are part of it.
    fs::remove_file(root.join("include/nccl.h")).expect("it is there");
    assert!(
        machine
            .install(&["--with=nccl"])
            .contains("installing 1 package into")
    );
    let said = machine.install(&["--force"]);
    assert!(said.contains("[14/14] nvidia-nccl-cu13"), "{said}");
}

#[test]
fn a_library_that_does_not_come_leaves_the_toolkit_as_it_was() {
    let machine = Machine::new();
    machine.install(&[]);
    machine.tell("fail", "nvidia-nccl-cu13");
    let output = machine.run(&["toolkit", "install", "--with=cublas,nccl"]);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(
        said.contains("nvidia-nccl-cu13 could not be fetched"),
        "{said}"
    );
    assert_eq!(machine.leftovers(), [""; 0]);
    assert!(!machine.root().join("include/cublas_v2.h").exists());
    assert!(machine.install(&[]).starts_with("present "));

    let output = machine.run(&["toolkit", "install", "--with=cufft"]);
    let said = text(&output.stderr);
    assert!(
        said.contains("cuda-toolkit==13.0.2 does not name nvidia-cufft"),
        "{said}"
    );
    let output = machine.run(&["toolkit", "install", "--with=cubla"]);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("a similar value exists: 'cublas'"), "{said}");
}
