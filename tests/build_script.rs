//! Builds Rust programs with device code by plain `cargo`, with build scripts that use `cudalink-build`.
//!
//! The workspace is written by the test. Linking device code across packages needs a CUDA toolkit and a host compiler;
//! without them that part is skipped, which is a failure where `CI` is set.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use cudalink_toolkit::Tool;
use rustnvlink_tests::checks::{says, skip};
use rustnvlink_tests::identity::examples_folder;
use rustnvlink_tests::toolkit::Toolkit;
use tempfile::TempDir;

/// A package that publishes a device function, one whose kernel calls it, and one that brings its device code compiled.
const FILES: [(&str, &str); 14] = [
    (
        "Cargo.toml",
        "[workspace]\nresolver = \"3\"\nmembers = [\"noise\", \"app\", \"by-cmake\", \"embedded\"]\n",
    ),
    (
        "noise/build.rs",
        "fn main() { cudalink_build::Build::new().file(\"noise.cu\").arch(\"sm_90\")\n\
         .publish_device_objects(\"noise\"); }",
    ),
    (
        "noise/noise.cu",
        "__device__ int noise(int x) { return 7 * x; }",
    ),
    ("noise/src/lib.rs", "//! Noise.\n"),
    (
        "app/build.rs",
        "fn main() { cudalink_build::Build::new().file(\"app.cu\").include(\"headers\").arch(\"sm_90\")\n\
         .link_device(\"app\"); }",
    ),
    (
        "app/app.cu",
        "#include \"noise.h\"\n\
         __global__ void kernel(int *p) { *p = noise(*p); }\n\
         extern \"C\" int launch() { kernel<<<1, 1>>>(nullptr); return cudaGetLastError(); }",
    ),
    ("app/headers/noise.h", "__device__ int noise(int x);\n"),
    (
        "app/src/main.rs",
        "use noise as _;\nunsafe extern \"C\" { fn launch() -> i32; }\n\
         fn main() { println!(\"launched: {}\", unsafe { launch() }); }",
    ),
    (
        "by-cmake/build.rs",
        "fn main() { let mut config = cudalink_build::cmake::Config::new(\"device\");\n\
         cudalink_build::Build::new().file(\"../app/app.cu\").include(\"../app/headers\").arch(\"sm_90\")\n\
         .cmake_library(&mut config, \"quiet\").compile(\"app\"); }",
    ),
    (
        "by-cmake/device/CMakeLists.txt",
        "cmake_minimum_required(VERSION 3.25)\nproject(Device LANGUAGES CUDA)\n\
         add_library(quiet STATIC quiet.cu)\n",
    ),
    (
        "by-cmake/device/quiet.cu",
        "__device__ int noise(int x) { return x; }",
    ),
    (
        "by-cmake/src/main.rs",
        "unsafe extern \"C\" { fn launch() -> i32; }\n\
         fn main() { println!(\"launched: {}\", unsafe { launch() }); }",
    ),
    (
        "embedded/build.rs",
        "fn main() { cudalink_build::Build::new().files([\"caller.cu\", \"callee.cu\"]).arch(\"sm_90\")\n\
         .prebuilt(\"objects\").embed(\"device\"); }",
    ),
    (
        "embedded/src/main.rs",
        "include!(concat!(env!(\"OUT_DIR\"), \"/device.rs\"));\n\
         fn main() { println!(\"{KERNELS:?} {ARCHS:?} {}\", IMAGE.len() > 0); }",
    ),
];

fn workspace() -> Result<TempDir> {
    let folder = tempfile::tempdir()?;
    for (name, text) in FILES {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().context("a file lies in a folder")?)?;
        fs::write(path, text)?;
    }
    // Crates in the versions that examples have, which are built once then.
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    fs::copy(
        tests.join("../Cargo.lock"),
        folder.path().join("Cargo.lock"),
    )?;
    let build_support = tests.join("../build-support");
    for (name, more) in [
        ("noise", "links = \"noise\"\n"),
        ("app", "[dependencies]\nnoise = { path = \"../noise\" }\n"),
        ("by-cmake", ""),
        ("embedded", ""),
    ] {
        let manifest = format!(
            "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n{more}\
             [build-dependencies]\ncudalink-build = {{ path = {build_support:?} }}\n"
        );
        fs::write(folder.path().join(name).join("Cargo.toml"), manifest)?;
    }
    Ok(folder)
}

struct Ran {
    success: bool,
    out: String,
    err: String,
}

impl Ran {
    /// Whether the program was built, and printed this.
    fn succeeds_with(&self, printed: &[&str]) -> Result<()> {
        ensure!(self.success, "{}{}", self.out, self.err);
        says(&self.out, printed)
    }

    /// Whether the build failed, and said this.
    fn fails_with(&self, said: &[&str]) -> Result<()> {
        ensure!(!self.success, "{}", self.out);
        says(&self.err, said)
    }
}

fn cargo(workspace: &Path, package: &str, variables: &[(&str, &str)]) -> Result<Ran> {
    let mut command = Command::new(env!("CARGO"));
    command
        .args(["run", "--package", package])
        .current_dir(workspace)
        .env("CARGO_TARGET_DIR", examples_folder()?)
        // Crates of the examples are built with it, too.
        .env("RUSTFLAGS", "-Dwarnings")
        .env_remove("CARGO_TERM_COLOR")
        .env_remove("CUDALINK_ARCH");
    for (name, value) in variables {
        command.env(name, value);
    }
    let output = command.output()?;
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Ok(Ran {
        success: output.status.success(),
        out: text(output.stdout),
        err: text(output.stderr),
    })
}

/// `PATH` but for the folders of toolkits; those with other programs that a build needs stay.
fn path_without_nvcc() -> Result<String> {
    let path = std::env::var_os("PATH").context("there is a PATH")?;
    let kept = std::env::split_paths(&path)
        .filter(|folder| !folder.join("nvcc").exists() || folder.join("cc").exists());
    let path = std::env::join_paths(kept)?;
    path.into_string().ok().context("a path of text")
}

#[test]
fn device_code_of_packages_is_linked_by_the_last_one() -> Result<()> {
    let nvcc = match Toolkit::find() {
        Ok(toolkit) => toolkit.tool(Tool::Nvcc)?,
        Err(reason) => return skip(&reason),
    };
    let root = nvcc.ancestors().nth(2).context("nvcc lies in no folder")?;
    let root = root.to_str().context("a path of text")?;
    let toolkit = [("CUDALINK_TOOLKIT", root)];
    let workspace = workspace()?;
    let ran = cargo(workspace.path(), "app", &toolkit)?;
    ran.succeeds_with(&["launched: "])?;

    // A variable that leads nowhere is not passed over in silence; each package tells it once.
    let wrong_home = [("CUDA_HOME", "/nowhere"), ("CUDA_PATH", root)];
    let ran = cargo(workspace.path(), "app", &wrong_home)?;
    let warning =
        format!("CUDA_HOME is /nowhere, which does not exist; the toolkit in {root} is used");
    ensure!(ran.err.matches(&warning).count() == 2, "{}", ran.err);

    // The same optimized as one program, device code of the other package beside it.
    let optimized = [toolkit[0], ("CUDALINK_DLTO", "true")];
    let ran = cargo(workspace.path(), "app", &optimized)?;
    ran.succeeds_with(&["launched: "])?;
    let wrong = [toolkit[0], ("CUDALINK_DLTO", "perhaps")];
    let ran = cargo(workspace.path(), "app", &wrong)?;
    ran.fails_with(&["'perhaps'"])?;

    // What has not changed is not compiled again, here by a compiler that writes down what it compiles.
    for (name, text) in [
        (
            "caller.cu",
            "extern __device__ int callee(int x);\n__global__ void kernel(int *p) { *p = callee(*p); }\n",
        ),
        ("callee.cu", "__device__ int callee(int x) { return x; }\n"),
    ] {
        fs::write(workspace.path().join("embedded").join(name), text)?;
    }
    let compiled = workspace.path().join("compiled");
    let recorder = workspace.path().join("recorder");
    fs::write(&recorder, "echo \"$*\" >> \"$COMPILED\"\nexec \"$@\"\n")?;
    // By its name alone it is that of the toolkit, which need not be on `PATH`.
    let chosen = format!("sh {} nvcc", recorder.display());
    let path = path_without_nvcc()?;
    let recorded = [
        toolkit[0],
        ("COMPILED", compiled.to_str().context("a path of text")?),
        ("NVCC", &chosen),
        ("PATH", &path),
    ];
    for (changed, expected) in [
        (None, &["caller.cu", "callee.cu"][..]),
        (Some("callee.cu"), &["callee.cu"]),
        (Some("build.rs"), &[]),
    ] {
        if let Some(changed) = changed {
            let path = workspace.path().join("embedded").join(changed);
            let text = fs::read_to_string(&path)?;
            fs::write(&path, format!("{text}\n// Changed.\n"))?;
        }
        fs::write(&compiled, "")?;
        let ran = cargo(workspace.path(), "embedded", &recorded)?;
        ran.succeeds_with(&["kernel"])?;
        let lines = fs::read_to_string(&compiled)?;
        for source in ["caller.cu", "callee.cu"] {
            let is_compiled = lines.contains(&format!(" {source} "));
            ensure!(
                is_compiled == expected.contains(&source),
                "{changed:?}: {lines}"
            );
        }
    }

    // Another host compiler compiles all of it again, whichever variable chooses it.
    for variable in ["CXX", "NVCC_CCBIN"] {
        let wrong = [toolkit[0], (variable, "/nonexistent/c++")];
        let ran = cargo(workspace.path(), "embedded", &wrong)?;
        ran.fails_with(&[
            "does not compile:",
            "help: NVCC_CCBIN or CXX names another host compiler",
            "\"-ccbin\" \"/nonexistent/c++\"",
        ])?;
    }

    // The device code of a library that CMake makes.
    let ran = cargo(workspace.path(), "by-cmake", &toolkit)?;
    ran.succeeds_with(&["launched: "])?;

    // What has not changed is not built again: neither objects nor the toolkit are sources.
    for package in ["by-cmake", "app"] {
        cargo(workspace.path(), package, &toolkit)?;
        let ran = cargo(workspace.path(), package, &toolkit)?;
        ensure!(ran.success && !ran.err.contains("Compiling"), "{}", ran.err);
    }
    fs::write(
        workspace.path().join("by-cmake/device/quiet.cu"),
        "__device__ int noise(int x) { return x + 1; }",
    )?;
    let ran = cargo(workspace.path(), "by-cmake", &toolkit)?;
    ensure!(
        ran.success && ran.err.contains("Compiling by-cmake"),
        "{}",
        ran.err
    );

    // A library whose code is closed is told of where something is undefined.
    let project = "cmake_minimum_required(VERSION 3.25)\nproject(Device LANGUAGES CUDA)\n\
        add_library(quiet STATIC quiet.cu)\n\
        set_target_properties(quiet PROPERTIES CUDA_SEPARABLE_COMPILATION OFF)\n";
    let path = workspace.path().join("by-cmake/device/CMakeLists.txt");
    fs::write(path, project)?;
    // CMake compiles again what has changed itself, and not what is compiled in another way.
    fs::write(
        workspace.path().join("by-cmake/device/quiet.cu"),
        "__device__ int noise(int x) { return x + 2; }",
    )?;
    let ran = cargo(workspace.path(), "by-cmake", &toolkit)?;
    ran.fails_with(&[
        "libquiet.a:quiet.cu.o'",
        "compile with -rdc=true (in CMake, CUDA_SEPARABLE_COMPILATION ON)",
        "is linked by link_device(), in the place of compile()",
    ])?;

    // A header counts among the sources, and what is missing is named.
    fs::write(
        workspace.path().join("app/headers/noise.h"),
        "__device__ int noise(long x);\n",
    )?;
    let ran = cargo(workspace.path(), "app", &toolkit)?;
    ran.fails_with(&[
        "the device code cannot be linked",
        "_Z5noisel",
        "'app.cu' (sm_90) [undefined-reference]",
        "publish_device_objects() (here: noise)",
    ])?;

    // So are sources, compilers and toolkits that are not there, and what the compiler says comes before how it was run.
    let wrong = [toolkit[0], ("NVCC", "/nonexistent/nvcc")];
    let ran = cargo(workspace.path(), "app", &wrong)?;
    ran.fails_with(&["the compiler /nonexistent/nvcc cannot be run"])?;
    let ran = cargo(workspace.path(), "app", &[("CUDALINK_TOOLKIT", "1.2")])?;
    ran.fails_with(&["there is no CUDA toolkit 1.2; `cargo cudalink toolkit list`"])?;
    fs::write(workspace.path().join("app/app.cu"), "#error odd\n")?;
    let ran = cargo(workspace.path(), "app", &toolkit)?;
    ran.fails_with(&["app.cu does not compile:", "#error odd", "The command was "])?;
    fs::remove_file(workspace.path().join("app/app.cu"))?;
    let ran = cargo(workspace.path(), "app", &toolkit)?;
    ran.fails_with(&["there is no source ", "/app/app.cu"])?;
    fs::create_dir(workspace.path().join("app/app.cu"))?;
    let ran = cargo(workspace.path(), "app", &toolkit)?;
    ran.fails_with(&["/app/app.cu is a folder: name the files in it"])
}

#[test]
fn compiled_device_code_needs_no_toolkit() -> Result<()> {
    let workspace = workspace()?;
    let nothing = [("CUDALINK_TOOLKIT", "/nonexistent")];
    let ran = cargo(workspace.path(), "embedded", &nothing)?;
    ran.fails_with(&["no CUDA toolkit found", "objects/caller.sm_90.cubin"])?;
    let objects = workspace.path().join("embedded/objects");
    fs::create_dir(&objects)?;
    for name in ["caller", "callee"] {
        let file = format!("{name}.sm_90.cubin");
        let inputs = Path::new(env!("CARGO_MANIFEST_DIR")).join("inputs");
        fs::copy(inputs.join(&file), objects.join(&file))?;
    }
    let ran = cargo(workspace.path(), "embedded", &nothing)?;
    ran.succeeds_with(&[
        "[\"sm_90\"] true",
        "Kernel { name:",
        "registers: ",
        "Parameter { offset: 0",
    ])?;
    let wrong = [nothing[0], ("CUDALINK_ARCH", "sm_banana")];
    let ran = cargo(workspace.path(), "embedded", &wrong)?;
    ran.fails_with(&["CUDALINK_ARCH: there is no processor 'sm_banana'"])
}
