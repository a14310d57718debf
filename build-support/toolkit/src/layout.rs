//! Completes the folders of unpacked packages to what `nvcc` and host linkers expect of a toolkit.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use semver::Version;
use serde::Serialize;

use crate::search::entries;
use crate::toolkit::{SERVERS, target_folder};

/// An entry of `version.json`, in the shape that NVIDIA's installers write.
#[derive(Debug, Serialize)]
struct Component<'a> {
    name: &'a str,
    version: &'a str,
}

/// Adds the links that packages cannot carry.
///
/// - `lib64`, which `nvcc.profile` names;
/// - `libX.so` beside `libX.so.N`, which host linkers look for;
/// - `nvvm/lib64/libnvvm.so`, which `nvcc -dlto` loads;
/// - `targets/MACHINE-linux`, where Meson and NVIDIA's own programs look for headers and libraries;
/// - the headers alone for aarch64 servers: where there is a folder for one machine, nvcc looks for no other with a cross
///   compiler.
pub(crate) fn complete(root: &Path) -> io::Result<()> {
    let lib = root.join("lib");
    if !root.join("lib64").exists() {
        link("lib", &root.join("lib64"))?;
    }
    for library in entries(&lib) {
        let Some(name) = library.file_name().and_then(|name| name.to_str()) else {
            continue;
        };
        let Some((stem, _)) = name.split_once(".so.") else {
            continue;
        };
        let plain = lib.join(format!("{stem}.so"));
        if !plain.exists() {
            link(name, &plain)?;
        }
    }
    let nvvm = root.join("nvvm");
    if nvvm.is_dir() && !nvvm.join("lib64").exists() {
        if nvvm.join("lib").is_dir() {
            link("lib", &nvvm.join("lib64"))?;
        } else if lib.join("libnvvm.so").exists() {
            fs::create_dir(nvvm.join("lib64"))?;
            link("../../lib/libnvvm.so", &nvvm.join("lib64/libnvvm.so"))?;
        }
    }
    let of_machine = ["include", "lib"].map(|folder| (target_folder(), folder));
    for (target, folder) in of_machine.into_iter().chain([(SERVERS, "include")]) {
        let target = root.join(target);
        let place = target.join(folder);
        if root.join(folder).is_dir() && !place.exists() {
            fs::create_dir_all(&target)?;
            link(&format!("../../{folder}"), &place)?;
        }
    }
    Ok(())
}

/// Moves all files of a folder into another one, each at once, in place of what is there.
pub(crate) fn move_into(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for path in entries(from) {
        let Some(name) = path.file_name() else {
            continue;
        };
        if fs::symlink_metadata(&path)?.is_dir() {
            move_into(&path, &to.join(name))?;
        } else {
            fs::rename(&path, to.join(name))?;
        }
    }
    Ok(())
}

/// Writes `version.json`. Its presence says that everything before it is in place.
///
/// The component `cuda` is what CMake takes for the version of the toolkit.
pub(crate) fn write_versions(
    root: &Path,
    version: &Version,
    packages: &BTreeMap<String, String>,
) -> io::Result<()> {
    let version = version.to_string();
    let mut components = BTreeMap::from([(
        "cuda",
        Component {
            name: "CUDA",
            version: &version,
        },
    )]);
    components.extend(of_packages(packages));
    let text = serde_json::to_string_pretty(&components)?;
    fs::write(root.join("version.json"), text + "\n")
}

/// Adds packages to the `version.json` of a finished toolkit, which has it all the time; the new one is made in `partial`.
pub(crate) fn add_versions(
    root: &Path,
    partial: &Path,
    packages: &BTreeMap<String, String>,
) -> io::Result<()> {
    let (place, new) = (root.join("version.json"), partial.join("version.json"));
    let mut all: serde_json::Map<_, _> = serde_json::from_slice(&fs::read(&place)?)?;
    for (name, component) in of_packages(packages) {
        all.insert(name.to_owned(), serde_json::to_value(component)?);
    }
    fs::write(&new, serde_json::to_string_pretty(&all)? + "\n")?;
    fs::rename(&new, &place)
}

fn of_packages(packages: &BTreeMap<String, String>) -> impl Iterator<Item = (&str, Component<'_>)> {
    packages.iter().map(|(name, version)| {
        let component = name.strip_prefix("nvidia_").unwrap_or(name);
        (component, Component { name, version })
    })
}

#[cfg(unix)]
fn link(target: &str, at: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(target, at)
}

#[cfg(not(unix))]
fn link(_target: &str, _at: &Path) -> io::Result<()> {
    Err(io::Error::new(
        io::ErrorKind::Unsupported,
        "toolkits can be installed on Linux only",
    ))
}
