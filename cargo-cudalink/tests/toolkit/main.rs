//! `cargo cudalink toolkit` with a stand-in for pip, which notes how it is called.

#![cfg(unix)]

mod doctor;
mod found;
mod libraries;
mod machine;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::thread;
use std::time::Duration;

use crate::machine::{Machine, REQUIREMENTS, WHEELS, text, wait_for};

#[test]
fn an_install_is_whole_and_happens_once() {
    let machine = Machine::new();
    let said = machine.install(&[]);
    assert!(said.contains("[9/9] nvidia-cuda-nvdisasm"), "{said}");
    assert!(
        !said.contains('\u{1b}'),
        "colours are for terminals: {said:?}"
    );
    assert_eq!(machine.requirements(), REQUIREMENTS);
    let calls = fs::read_to_string(machine.bin("calls")).expect("pip was called");
    assert!(
        calls
            .lines()
            .skip(1)
            .all(|call| call.contains(" --no-deps --only-binary=:all: --dest ")),
        "{calls}"
    );

    let root = machine.root();
    assert_eq!(
        fs::read_link(root.join("lib64")).expect("it is a link"),
        Path::new("lib")
    );
    for link in [
        "lib/libnvvm.so",
        "lib/libnvJitLink.so",
        "nvvm/lib64/libnvvm.so",
    ] {
        assert!(
            root.join(link).is_symlink() && root.join(link).is_file(),
            "{link}"
        );
    }
    let target = match std::env::consts::ARCH {
        "aarch64" => root.join("targets/sbsa-linux"),
        _ => root.join("targets/x86_64-linux"),
    };
    for (link, place) in [("include", "include"), ("lib", "lib64")] {
        assert_eq!(
            fs::canonicalize(target.join(link)).expect("a folder"),
            fs::canonicalize(root.join(place)).expect("a folder"),
        );
    }
    let servers = root.join("targets/sbsa-linux");
    assert!(servers.join("include/cuda_runtime.h").is_file());
    assert_eq!(servers.join("lib").exists(), servers == target);
    assert!(root.join("bin/nvdisasm").is_file());
    // This header declares nothing, so that there is nothing to make a stub of.
    assert!(!root.join("lib/stubs").exists());
    assert!(
        !root.join("include/unwanted.h").exists(),
        "only the program of a dumper's package is taken"
    );
    let versions = fs::read_to_string(root.join("version.json")).expect("it was written");
    let versions: serde_json::Value = serde_json::from_str(&versions).expect("it is JSON");
    assert_eq!(versions["cuda_nvcc"]["version"], "13.0.88");
    assert_eq!(versions["cuda_runtime"]["version"], "13.0.96");
    assert_eq!(versions["cuda"]["version"], "13.0.88");

    let said = machine.install(&[]);
    assert!(said.starts_with("present "), "{said}");
    assert_eq!(machine.requirements().len(), 9, "nothing is fetched twice");
}

#[test]
fn force_installs_again() {
    let machine = Machine::new();
    machine.install(&[]);
    fs::write(machine.root().join("mine"), "").expect("the scratch folder is writable");
    machine.install(&["--force"]);
    assert_eq!(machine.requirements().len(), 18);
    assert!(!machine.root().join("mine").exists());
}

#[test]
fn the_user_s_cache_folder_is_honoured() {
    let machine = Machine::new();
    let mut command = machine.command(&["toolkit", "install"]);
    command
        .env_remove("RUSTNVLINK_CACHE")
        .env("XDG_CACHE_HOME", machine.folder.path())
        .env("HOME", "/nonexistent");
    let output = command.output().expect("the program can be run");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let root = machine.folder.path().join("rustnvlink/toolkits/13.0.88");
    assert_eq!(text(&output.stdout), format!("{}\n", root.display()));
}

#[test]
fn a_package_that_cannot_be_fetched_fails_with_pip_s_words() {
    let machine = Machine::new();
    machine.tell("fail", "nvidia-nvvm");
    let said = machine.fail(&[]);
    let tries = machine.requirements().len();
    assert_eq!(tries, 2, "another try would not help");
    assert!(
        said.contains("error: nvidia-nvvm==13.0.88 could not be fetched"),
        "{said}"
    );
    assert!(
        said.contains("ERROR: No matching distribution found for nvidia-nvvm==13.0.88"),
        "{said}"
    );
    fs::remove_file(machine.bin("fail")).expect("it is there");
    machine.install(&[]);
}

#[test]
fn a_transfer_that_breaks_off_is_tried_again() {
    let machine = Machine::new();
    machine.tell("break", "nvidia-nvvm");
    let said = machine.install(&[]);
    assert_eq!(said.matches("trying again").count(), 1, "{said}");
    assert!(!said.contains("is invalid"), "{said}");
    let wanted = machine.requirements();
    let tries = wanted.iter().filter(|wanted| **wanted == REQUIREMENTS[1]);
    assert_eq!(tries.count(), 2, "{wanted:?}");
    assert_eq!(wanted.len(), REQUIREMENTS.len() + 1, "{wanted:?}");
}

#[test]
fn a_toolkit_of_an_older_install_gets_the_links_that_it_lacks() {
    let machine = Machine::new();
    machine.install(&[]);
    let targets = machine.root().join("targets");
    fs::remove_dir_all(&targets).expect("it was made");
    let said = machine.install(&[]);
    assert!(said.starts_with("present "), "{said}");
    assert!(targets.is_dir());
}

#[test]
fn uv_serves_when_python_has_no_pip() {
    let machine = Machine::new();
    let python = machine.folder.path().join("python");
    fs::create_dir(&python).expect("the scratch folder is writable");
    fs::rename(machine.bin("python3"), python.join("python3"))
        .expect("both are in the scratch folder");
    fs::write(python.join("no-pip"), "").expect("the scratch folder is writable");
    machine.stand_in("uv");
    // Only the stand-ins and the tools that they call may be found, because the machine may have a pip of its own.
    let tools = machine.folder.path().join("tools");
    fs::create_dir(&tools).expect("the scratch folder is writable");
    for tool in ["sh", "dirname", "basename", "cat", "sed", "tr", "cp"] {
        let program = ["/bin", "/usr/bin"].map(|folder| Path::new(folder).join(tool));
        let program = program
            .iter()
            .find(|program| program.exists())
            .expect("every system has it");
        symlink(program, tools.join(tool)).expect("the scratch folder is writable");
    }
    let mut command = machine.command(&["toolkit", "install"]);
    command.env(
        "PATH",
        std::env::join_paths([&python, &machine.bin(""), &tools]).expect("no colons"),
    );
    machine.succeeded(&command.output().expect("the program can be run"));
    let calls = fs::read_to_string(machine.bin("calls")).expect("uv was called");
    assert!(
        calls.starts_with("uv tool run pip --version\nuv tool run pip download "),
        "{calls}"
    );
}

#[test]
fn without_pip_the_error_says_what_to_install() {
    let machine = Machine::new();
    let empty = machine.folder.path().join("empty");
    fs::create_dir(&empty).expect("the scratch folder is writable");
    let output = machine
        .command(&["toolkit", "install"])
        .env("PATH", empty)
        .output();
    let output = output.expect("the program can be run");
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(
        said.contains("python3: not on PATH") && said.contains("uv: not on PATH"),
        "{said}"
    );
    assert!(said.contains("apt install python3-pip"), "{said}");
}

#[test]
fn an_interrupted_install_is_repaired() {
    let machine = Machine::new();
    machine.tell("hang", "nvidia-cuda-crt");
    let mut first = machine
        .command(&["toolkit", "install"])
        .spawn()
        .expect("the program can be run");
    wait_for(&machine.bin("hangs"));
    first.kill().expect("it still runs");
    first.wait().expect("it was ours");
    assert_eq!(
        machine.unfinished().len(),
        1,
        "this is what the next install finds"
    );
    assert!(!machine.root().exists());

    // Its pip goes on, and makes its folder anew while the next install works.
    let leftover = machine.toolkits().join(&machine.unfinished()[0]);
    machine.tell("hang", "nvidia-nvtx");
    fs::remove_file(machine.bin("hangs")).expect("it is there");
    let mut next = machine
        .command(&["toolkit", "install"])
        .spawn()
        .expect("the program can be run");
    wait_for(&machine.bin("hangs"));
    assert!(!leftover.exists());
    fs::create_dir(&leftover).expect("the scratch folder is writable");
    machine.tell("go", "");
    assert!(next.wait().expect("it was ours").success());
    assert_eq!(machine.leftovers(), [""; 0]);
    assert!(machine.root().join("bin/nvcc").is_file());
}

#[test]
fn a_damaged_toolkit_is_repaired() {
    for damage in ["bin/nvcc", "lib/libcudadevrt.a", "version.json"] {
        let machine = Machine::new();
        machine.install(&[]);
        fs::remove_file(machine.root().join(damage)).expect("it is there");
        let said = machine.install(&[]);
        assert!(said.contains("installed "), "{damage}: {said}");
    }
}

#[test]
fn concurrent_installs_share_one_result() {
    let machine = Machine::new();
    machine.tell("hang", "nvidia-cuda-crt");
    let start = || {
        machine
            .command(&["toolkit", "install"])
            .spawn()
            .expect("the program can be run")
    };
    let first = start();
    wait_for(&machine.bin("hangs"));
    let others = [start(), start(), start()];
    // The others are given time to meet the lock; without it they would fetch packages of their own.
    thread::sleep(Duration::from_millis(300));
    machine.tell("go", "");
    let children = others.into_iter().chain([first]);
    let outputs = children.map(|child| child.wait_with_output().expect("it was ours"));
    // The lock is there until the last of them has ended.
    let outputs: Vec<_> = outputs.collect();
    for output in &outputs {
        machine.succeeded(output);
    }
    assert_eq!(machine.requirements(), REQUIREMENTS);
}

#[test]
fn a_package_without_its_file_is_named() {
    let machine = Machine::new();
    machine.wheel(
        "nvidia_cuda_runtime-13.0.96",
        &["include/cuda_runtime.h", "lib/libcudart_static.a"],
    );
    let said = machine.fail(&[]);
    assert!(
        said.contains("nvidia-cuda-runtime==13.0.96 has no lib/libcudadevrt.a"),
        "{said}"
    );
}

#[test]
fn a_compiler_of_another_version_is_refused() {
    let machine = Machine::new();
    for (name, files) in WHEELS {
        machine.wheel(&name.replace("13.0.88", "13.1.80"), files);
        if name.contains("13.0.88") {
            let wheel = machine
                .bin("wheels")
                .join(format!("{name}-py3-none-any.whl"));
            fs::remove_file(wheel).expect("it was made");
        }
    }
    let said = machine.fail(&["--version", "13.1.80"]);
    assert!(
        said.contains("its nvcc says that it is 13.0.88, not 13.1.80"),
        "{said}"
    );
    assert!(
        machine
            .requirements()
            .contains(&"nvidia-cuda-runtime==13.1.*".to_owned())
    );
}

#[test]
fn a_version_without_packages_is_refused_at_once() {
    let machine = Machine::new();
    let said = machine.fail(&["--version", "12.8.93"]);
    assert!(said.contains("CUDA 12.8.93 cannot be installed"), "{said}");
    assert_eq!(machine.requirements(), Vec::<String>::new());
}

#[test]
fn a_cache_that_cannot_be_written_is_named() {
    let machine = Machine::new();
    fs::write(machine.folder.path().join("cache"), "a file")
        .expect("the scratch folder is writable");
    let said = machine.fail(&[]);
    assert!(
        said.contains("cache/toolkits cannot be made (RUSTNVLINK_CACHE chooses another"),
        "{said}"
    );
}
