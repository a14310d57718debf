//! A machine with a stand-in for pip, which notes how it is called.

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
pub(crate) const WHEELS: &[(&str, &[&str])] = &[
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
pub(crate) const REQUIREMENTS: [&str; 9] = [
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
pub(crate) struct Machine {
    pub(crate) folder: TempDir,
}

impl Machine {
    pub(crate) fn new() -> Self {
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

    pub(crate) fn bin(&self, name: &str) -> PathBuf {
        self.folder.path().join("bin").join(name)
    }

    pub(crate) fn toolkits(&self) -> PathBuf {
        self.folder.path().join("cache/toolkits")
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.toolkits().join("13.0.88")
    }

    pub(crate) fn stand_in(&self, name: &str) {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stand-in/python3");
        symlink(script, self.bin(name)).expect("the scratch folder is writable");
    }

    pub(crate) fn wheel(&self, name: &str, files: &[&str]) {
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
    pub(crate) fn tell(&self, file: &str, text: &str) {
        fs::write(self.bin(file), text).expect("the scratch folder is writable");
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cargo-cudalink"));
        let path = std::env::join_paths([&self.bin(""), Path::new("/usr/bin"), Path::new("/bin")]);
        command
            .args(arguments)
            .env_clear()
            .current_dir(self.folder.path())
            .env("PATH", path.expect("no colons in scratch folders"))
            .env("RUSTNVLINK_CACHE", self.folder.path().join("cache"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments)
            .output()
            .expect("the program can be run")
    }

    /// Runs an install that succeeds, and returns what it says.
    #[track_caller]
    pub(crate) fn install(&self, arguments: &[&str]) -> String {
        let output = self.run(&[&["toolkit", "install"], arguments].concat());
        self.succeeded(&output);
        text(&output.stderr)
    }

    #[track_caller]
    pub(crate) fn succeeded(&self, output: &Output) {
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
    pub(crate) fn fail(&self, arguments: &[&str]) -> String {
        let output = self.run(&[&["toolkit", "install"], arguments].concat());
        let stderr = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{stderr}");
        assert_eq!(text(&output.stdout), "");
        assert!(!self.root().exists());
        assert_eq!(self.leftovers(), Vec::<String>::new());
        stderr
    }

    /// What lies beside finished toolkits.
    pub(crate) fn leftovers(&self) -> Vec<String> {
        let entries = fs::read_dir(self.toolkits()).into_iter().flatten();
        let names = entries.map(|entry| {
            entry
                .expect("it can be read")
                .file_name()
                .into_string()
                .expect("ASCII")
        });
        names.filter(|name| name.starts_with('.')).collect()
    }

    /// The folders among them that installs work in.
    pub(crate) fn unfinished(&self) -> Vec<String> {
        let mut there = self.leftovers();
        there.retain(|name| !name.ends_with(".lock"));
        there
    }

    /// The packages that were asked for.
    pub(crate) fn requirements(&self) -> Vec<String> {
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

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("messages are UTF-8")
}

pub(crate) fn wait_for(file: &Path) {
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
