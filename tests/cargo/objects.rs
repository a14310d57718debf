//! The device objects that projects link.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;
use std::thread;

use anyhow::{Context, Result};
use cudalink_toolkit::Tool;
use rustnvlink_tests::checks::skip;
use rustnvlink_tests::toolkit::Toolkit;

use super::project::run;

/// Device code of three libraries: a kernel in one calls a function in another.
const SOURCES: [(&str, &str); 3] = [
    ("twice", "__device__ int twice(int x) { return 2 * x; }"),
    (
        "kernel",
        "__device__ int twice(int x);\n\
         __global__ void kernel(int *p) { *p = twice(*p); }\n\
         extern \"C\" int launch() { kernel<<<1, 1>>>(nullptr); return cudaGetLastError(); }",
    ),
    (
        "alone",
        "__global__ void alone() {}\n\
         extern \"C\" int launch_alone() { alone<<<1, 1>>>(); return cudaGetLastError(); }",
    ),
];

/// The device objects, as static libraries in one folder, and the toolkit's library folder.
pub(crate) struct Objects {
    pub(crate) folder: PathBuf,
    pub(crate) runtime: PathBuf,
}

pub(crate) static OBJECTS: LazyLock<Result<Objects>> = LazyLock::new(compile);

fn compile() -> Result<Objects> {
    let toolkit = Toolkit::find()?;
    let nvcc = toolkit.tool(Tool::Nvcc)?;
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cargo");
    fs::create_dir_all(&folder)?;
    let path = |name: &str| folder.join(name);
    let make_for = |arch: &str, name: &str, object: &str, flags: &[&str]| -> Result<()> {
        let archive = path(&format!("lib{object}.a"));
        let object = path(&format!("{object}.o"));
        run(Command::new(&nvcc)
            .args([arch, "-Xcompiler", "-fPIC", "-c"])
            .args(flags)
            .arg(path(&format!("{name}.cu")))
            .arg("-o")
            .arg(&object))?;
        run(Command::new("ar").arg("rcs").args([&archive, &object]))
    };
    let make =
        |name: &str, object: &str, flags: &[&str]| make_for("-arch=sm_90", name, object, flags);
    let make_all = |(name, source): (&str, &str)| -> Result<()> {
        fs::write(path(&format!("{name}.cu")), source)?;
        make(name, name, &["-rdc=true"])?;
        make(name, &format!("{name}_lto"), &["-rdc=true", "-dlto"])
    };
    // Every test waits for them.
    thread::scope(|scope| {
        let threads = SOURCES.map(|source| scope.spawn(move || make_all(source)));
        threads
            .into_iter()
            .try_for_each(|thread| thread.join().expect("a compilation panics"))
    })?;
    make("twice", "closed", &["-rdc=false"])?;
    fs::write(
        path("again.cu"),
        "__device__ int twice(int x) { return x + x; }",
    )?;
    make("again", "again", &["-rdc=true"])?;
    // For another processor alone.
    let older = "-gencode=arch=compute_80,code=sm_80";
    make_for(older, "twice", "twice_older", &["-rdc=true"])?;
    for (name, parts) in [
        ("resolved", &["kernel.o", "twice.o"][..]),
        ("resolved_twice", &["twice.o"]),
    ] {
        let parts: Vec<PathBuf> = parts.iter().map(|part| path(part)).collect();
        let linked = path(&format!("{name}.o"));
        run(Command::new(&nvcc)
            .args(["-arch=sm_90", "-Xcompiler", "-fPIC", "-dlink"])
            .args(&parts)
            .arg("-o")
            .arg(&linked))?;
        run(Command::new("ar")
            .arg("rcs")
            .arg(path(&format!("lib{name}.a")))
            .args(&parts)
            .arg(&linked))?;
    }
    let root = nvcc.ancestors().nth(2).context("nvcc lies in no folder")?;
    let lib = ["lib64", "targets/x86_64-linux/lib", "lib"].map(|place| root.join(place));
    let runtime = lib
        .into_iter()
        .find(|place| place.join("libcudart_static.a").is_file())
        .context("the toolkit has no libcudart_static.a")?;
    Ok(Objects { folder, runtime })
}

/// The device objects, for a test that needs them; without them it is skipped.
pub(crate) fn needed() -> Result<Option<&'static Objects>> {
    match &*OBJECTS {
        Ok(objects) => Ok(Some(objects)),
        Err(reason) => {
            skip(reason)?;
            Ok(None)
        }
    }
}

/// Whether a test that needs device objects has to be skipped.
pub(crate) fn is_skipped() -> Result<bool> {
    Ok(needed()?.is_none())
}
