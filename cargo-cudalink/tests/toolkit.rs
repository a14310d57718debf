//! `cargo cudalink toolkit` with a stand-in for pip, which notes how it is called.

#![cfg(unix)]

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

const NVCC: &str = "#!/bin/sh\necho 'Cuda compilation tools, release 13.0, V13.0.88'\n";

/// The packages of the default toolkit, with the least that each must hold.
const WHEELS: &[(&str, &[&str])] = &[
    (
        "nvidia_cuda_nvcc-13.0.88",
        &[
            "bin/nvcc",
            "bin/ptxas",
            "bin/nvlink",
            "bin/fatbinary",
            "bin/cudafe++",
            "bin/nvcc.profile",
        ],
    ),
    (
        "nvidia_nvvm-13.0.88",
        &[
            "nvvm/bin/cicc",
            "nvvm/libdevice/libdevice.10.bc",
            "lib/libnvvm.so.4",
        ],
    ),
    ("nvidia_cuda_crt-13.0.88", &["include/crt/host_config.h"]),
    (
        "nvidia_cuda_runtime-13.0.96",
        &[
            "include/cuda_runtime.h",
            "lib/libcudart_static.a",
            "lib/libcudadevrt.a",
        ],
    ),
    (
        "nvidia_cuda_cccl-13.0.85",
        &["include/cccl/cuda/std/version"],
    ),
    (
        "nvidia_nvjitlink-13.0.88",
        &["include/nvJitLink.h", "lib/libnvJitLink.so.13"],
    ),
    ("nvidia_nvtx-13.0.85", &["include/nvtx3/nvToolsExt.h"]),
    (
        "nvidia_cuda_cuobjdump-13.5.37",
        &["bin/cuobjdump", "include/unwanted.h"],
    ),
    ("nvidia_cuda_nvdisasm-13.5.37", &["bin/nvdisasm"]),
];

/// What the package of the whole toolkit says of those that it is made of.
const METADATA: &str = "\
Name: cuda-toolkit
Requires-Dist: nvidia-cublas==13.1.0.3.*; (sys_platform == 'linux') and extra == 'all'
Requires-Dist: nvidia-cuda-culibos==13.0.85.*; (sys_platform == 'linux') and extra == 'all'
Requires-Dist: nvidia-cusolver==12.0.4.66.*; (sys_platform == 'linux') and extra == 'all'
Requires-Dist: nvidia-cusparse==12.6.3.3.*; (sys_platform == 'linux') and extra == 'all'
";

/// Packages of libraries.
const LIBRARIES: &[(&str, &[&str])] = &[
    (
        "cuda_toolkit-13.0.2",
        &["cuda_toolkit-13.0.2.dist-info/METADATA"],
    ),
    (
        "nvidia_cublas-13.1.0.3",
        &["include/cublas_v2.h", "lib/libcublas.so.13"],
    ),
    ("nvidia_cuda_culibos-13.0.85", &["lib/libculibos.a"]),
    (
        "nvidia_cusolver-12.0.4.66",
        &["include/cusolverDn.h", "lib/libcusolver.so.12"],
    ),
    (
        "nvidia_cusparse-12.6.3.3",
        &["include/cusparse.h", "lib/libcusparse.so.12"],
    ),
    (
        "nvidia_nccl_cu13-2.32.3",
        &["nvidia/nccl/include/nccl.h", "nvidia/nccl/lib/libnccl.so.2"],
    ),
];

/// What pip is asked for, in this order.
const REQUIREMENTS: [&str; 9] = [
    "nvidia-cuda-nvcc==13.0.88",
    "nvidia-nvvm==13.0.88",
    "nvidia-cuda-crt==13.0.88",
    "nvidia-cuda-runtime==13.0.96",
    "nvidia-cuda-cccl==13.0.85",
    "nvidia-nvjitlink==13.0.88",
    "nvidia-nvtx==13.0.85",
    "nvidia-cuda-cuobjdump>=13.2.51,<14",
    "nvidia-cuda-nvdisasm>=13.2.51,<14",
];

/// A machine with a stand-in for Python, packages to fetch, and an empty cache.
struct Machine {
    folder: TempDir,
}

impl Machine {
    fn new() -> Self {
        let machine = Self {
            folder: tempfile::tempdir().expect("a scratch folder can be made"),
        };
        fs::create_dir_all(machine.bin("wheels")).expect("the scratch folder is writable");
        machine.stand_in("python3");
        for (name, files) in WHEELS.iter().chain(LIBRARIES) {
            machine.wheel(name, files);
        }
        machine
    }

    fn bin(&self, name: &str) -> PathBuf {
        self.folder.path().join("bin").join(name)
    }

    fn toolkits(&self) -> PathBuf {
        self.folder.path().join("cache/toolkits")
    }

    fn root(&self) -> PathBuf {
        self.toolkits().join("13.0.88")
    }

    fn stand_in(&self, name: &str) {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stand-in/python3");
        symlink(script, self.bin(name)).expect("the scratch folder is writable");
    }

    fn wheel(&self, name: &str, files: &[&str]) {
        let path = self.bin("wheels").join(format!("{name}-py3-none-any.whl"));
        let mut writer =
            ZipWriter::new(File::create(path).expect("the scratch folder is writable"));
        for file in files {
            let mode = if file.starts_with("bin/") {
                0o744
            } else {
                0o644
            };
            let options = SimpleFileOptions::default().unix_permissions(mode);
            let name = match file.split('/').next() {
                Some("nvidia") => (*file).to_owned(),
                Some(folder) if folder.ends_with(".dist-info") => (*file).to_owned(),
                _ => format!("nvidia/cu13/{file}"),
            };
            writer.start_file(name, options).expect("names are valid");
            writer
                .write_all(
                    if file.ends_with("METADATA") {
                        METADATA
                    } else {
                        NVCC
                    }
                    .as_bytes(),
                )
                .expect("the scratch folder is writable");
        }
        writer.finish().expect("the scratch folder is writable");
    }

    /// Leaves a word for the stand-in.
    fn tell(&self, file: &str, text: &str) {
        fs::write(self.bin(file), text).expect("the scratch folder is writable");
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cargo-cudalink"));
        let path = std::env::join_paths([&self.bin(""), Path::new("/usr/bin"), Path::new("/bin")]);
        command
            .args(arguments)
            .env_clear()
            .env("PATH", path.expect("no colons in scratch folders"))
            .env("RUSTNVLINK_CACHE", self.folder.path().join("cache"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments)
            .output()
            .expect("the program can be run")
    }

    /// Runs an install that succeeds, and returns what it says.
    #[track_caller]
    fn install(&self, arguments: &[&str]) -> String {
        let output = self.run(&[&["toolkit", "install"], arguments].concat());
        self.succeeded(&output);
        text(&output.stderr)
    }

    #[track_caller]
    fn succeeded(&self, output: &Output) {
        let stderr = text(&output.stderr);
        assert!(output.status.success(), "{stderr}");
        assert_eq!(
            text(&output.stdout),
            format!("{}\n", self.root().display()),
            "{stderr}"
        );
        assert!(self.root().join("bin/nvcc").is_file());
        assert!(self.root().join("version.json").is_file());
        assert_eq!(self.leftovers(), Vec::<String>::new());
    }

    /// Runs an install that fails and leaves nothing, and returns what it says.
    #[track_caller]
    fn fail(&self, arguments: &[&str]) -> String {
        let output = self.run(&[&["toolkit", "install"], arguments].concat());
        let stderr = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{stderr}");
        assert_eq!(text(&output.stdout), "");
        assert!(!self.root().exists());
        assert_eq!(self.leftovers(), Vec::<String>::new());
        stderr
    }

    /// What lies beside finished toolkits, apart from locks.
    fn leftovers(&self) -> Vec<String> {
        let entries = fs::read_dir(self.toolkits()).into_iter().flatten();
        let names = entries.map(|entry| {
            entry
                .expect("it can be read")
                .file_name()
                .into_string()
                .expect("ASCII")
        });
        names
            .filter(|name| name.starts_with('.') && !name.ends_with(".lock"))
            .collect()
    }

    /// The packages that were asked for.
    fn requirements(&self) -> Vec<String> {
        let calls = fs::read_to_string(self.bin("calls")).unwrap_or_default();
        let downloads = calls.lines().filter(|call| call.contains(" download "));
        downloads
            .map(|call| {
                call.rsplit(' ')
                    .next()
                    .expect("a call has words")
                    .to_owned()
            })
            .collect()
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("messages are UTF-8")
}

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
    assert!(root.join("bin/nvdisasm").is_file());
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
    let said = machine.install(&["--with=cusparse,cublas"]);
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
        machine.leftovers().len(),
        1,
        "this is what the next install finds"
    );
    assert!(!machine.root().exists());

    // Its pip goes on, and makes its folder anew while the next install works.
    let leftover = machine.toolkits().join(&machine.leftovers()[0]);
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
    for child in others.into_iter().chain([first]) {
        machine.succeeded(&child.wait_with_output().expect("it was ours"));
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
        let note = format!("note: CUDA_HOME: {} does not exist\n", missing.display());
        assert_eq!(text(&output.stderr), note);
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

fn wait_for(file: &Path) {
    let start = Instant::now();
    while !file.exists() {
        assert!(
            start.elapsed() < Duration::from_secs(60),
            "{} never appeared",
            file.display()
        );
        thread::sleep(Duration::from_millis(20));
    }
}
