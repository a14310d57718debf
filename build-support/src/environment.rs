//! Variables, and the lines that tell cargo which of them matter.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::output;

/// A variable that users set; cargo runs the build script again when it changes.
#[expect(
    clippy::disallowed_methods,
    reason = "this module is the one that reads the environment"
)]
pub(crate) fn chosen(name: &str) -> Option<OsString> {
    output::line("rerun-if-env-changed", name);
    env::var_os(name).filter(|value| !value.is_empty())
}

/// A choice between yes and no.
pub(crate) fn switch(name: &'static str) -> Result<Option<bool>, Error> {
    let Some(value) = chosen(name) else {
        return Ok(None);
    };
    match value.to_string_lossy().to_lowercase().as_str() {
        "true" | "1" | "yes" | "on" => Ok(Some(true)),
        "false" | "0" | "no" | "off" => Ok(Some(false)),
        other => Err(Error::NoSwitch {
            name,
            value: other.to_owned(),
        }),
    }
}

/// A variable that cargo sets for every build script. It knows when these change.
#[expect(
    clippy::disallowed_methods,
    reason = "this module is the one that reads the environment"
)]
pub(crate) fn of_cargo(name: &'static str) -> Result<String, Error> {
    env::var(name).map_err(|_| Error::NoBuildScript(name))
}

/// How much cargo lets a build script do at once.
pub(crate) fn jobs() -> Result<usize, Error> {
    Ok(of_cargo("NUM_JOBS")?.parse().unwrap_or(1))
}

/// Whether `cargo cudalink` links device code when the program is linked.
#[expect(
    clippy::disallowed_methods,
    reason = "this module is the one that reads the environment"
)]
pub(crate) fn is_linked_later() -> bool {
    // The path behind the first one differs from run to run; `NVCC`, which cargo watches, changes with it.
    match (env::var_os("CUDALINK_PLAN"), env::var_os("RUSTC_LINKER")) {
        (Some(plan), Some(linker)) => is_stand_in(Path::new(&linker), Path::new(&plan)),
        _ => false,
    }
}

/// Whether a linker is the one that links device code by this plan, `<folder>/run/<run>/plan.json`. A program that `cargo
/// cudalink` runs may call cargo itself, and hands the variable on.
fn is_stand_in(linker: &Path, plan: &Path) -> bool {
    let folder = plan.ancestors().nth(3);
    folder.is_some_and(|folder| linker.starts_with(folder.join("linker")))
}

/// Where cargo wants what a build script makes.
pub(crate) fn out_dir() -> Result<PathBuf, Error> {
    of_cargo("OUT_DIR").map(PathBuf::from)
}

/// What the packages we depend on have published under a key.
#[derive(Debug, Default)]
pub(crate) struct Published {
    /// Their files, each once.
    pub(crate) files: Vec<PathBuf>,
    /// `links` of their manifests, as far as the names of variables tell.
    pub(crate) names: Vec<String>,
}

/// The device objects that the packages we depend on have published.
#[expect(
    clippy::disallowed_methods,
    reason = "this module is the one that reads the environment"
)]
pub(crate) fn published(key: &str) -> Published {
    let end = format!("_{}", key.to_uppercase());
    let mut variables: Vec<(String, OsString)> = env::vars_os()
        .filter_map(|(name, value)| {
            let name = name.to_string_lossy();
            let links = name.strip_prefix("DEP_")?.strip_suffix(&end)?;
            Some((links.to_lowercase(), value))
        })
        .collect();
    variables.sort();
    let mut published = Published::default();
    for (name, value) in variables {
        for path in env::split_paths(&value) {
            if !published.files.contains(&path) {
                published.files.push(path);
            }
        }
        published.names.push(name);
    }
    published
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_linker_tells_whether_device_code_is_linked_later() {
        let check = |linker: &str, expected| {
            let plan = Path::new("/t/cudalink/run/1/plan.json");
            assert_eq!(is_stand_in(Path::new(linker), plan), expected);
        };
        check("/t/cudalink/linker/x86_64-unknown-linux-gnu/cc", true);
        check("/usr/bin/cc", false);
        check("/other/cudalink/linker/x86_64-unknown-linux-gnu/cc", false);
    }
}
