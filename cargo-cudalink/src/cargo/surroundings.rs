//! The variables that cargo runs with.
//!
//! All programs below it have them, too: those that `cargo cudalink run` and `test` start, and `exec`. A command of ours
//! that one of them runs is about another build, for which the user's own variables count.

use std::collections::BTreeMap;
use std::env;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;
use cudalink_toolkit::{CACHE_VARIABLE, Tool, Toolkit};
use rustnvlink::arch::Sm;
use same_file::is_same_file;
use serde::{Deserialize, Serialize};

use super::configuration::Configured;
use crate::plan::{PLAN_VARIABLE, Plan};
use crate::platform;

/// The variables by which programs name a toolkit to each other.
const TOOLKIT_VARIABLES: [&str; 4] = [
    "CUDA_HOME",
    "CUDA_PATH",
    "CUDA_ROOT",
    "CUDA_TOOLKIT_ROOT_DIR",
];

/// Folders that bindings to the driver and the runtime look in: some for libraries, others for toolkits.
const LIBRARY_VARIABLE: &str = "CUDA_LIBRARY_PATH";

/// The processor for build scripts that compile for a single one, by its number.
const PROCESSOR_VARIABLE: &str = "CUDA_COMPUTE_CAP";

/// The processors for CMake.
const PROCESSORS_VARIABLE: &str = "CUDAARCHS";

/// The same for build scripts that hand variables of such names on, for projects that choose processors before CMake
/// looks at its own variable.
const PROCESSORS_FOR_PROJECTS: &str = "CMAKE_CUDA_ARCHITECTURES";

/// What nvcc is called by, for build scripts that use the `cc` crate.
pub(crate) const COMPILER_VARIABLE: &str = "NVCC";
/// The same for CMake.
pub(super) const COMPILER_FOR_CMAKE: &str = "CUDACXX";

/// A variable and what it was before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Variable {
    name: String,
    value: OsString,
    before: Option<OsString>,
}

impl Variable {
    pub(super) fn new(name: impl Into<String>, value: impl Into<OsString>) -> Self {
        let name = name.into();
        Self {
            before: env::var_os(&name),
            name,
            value: value.into(),
        }
    }

    /// Whether it is this one and replaces what somebody has chosen.
    pub(crate) fn replaces(&self, name: &str) -> bool {
        let before = self.before.as_ref();
        self.name == name && before.is_some_and(|before| !before.is_empty())
    }

    /// Sets it for a program.
    pub(super) fn set(&self, command: &mut Command) {
        command.env(&self.name, &self.value);
    }

    /// Gives back what it was before, unless somebody has changed it since.
    fn undo(&self, command: &mut Command, now: Option<&OsStr>) {
        if now != Some(&self.value) {
            return;
        }
        match &self.before {
            Some(before) => command.env(&self.name, before),
            None => command.env_remove(&self.name),
        };
    }
}

/// The variables that name a toolkit, for build scripts that look for it there. Those that name it already stay.
pub(super) fn toolkit_variables(toolkit: &Toolkit) -> impl Iterator<Item = Variable> {
    let root = toolkit.root();
    let names = |name: &&str| env::var_os(name).is_some_and(|there| is_same(&there, root));
    TOOLKIT_VARIABLES
        .into_iter()
        .filter(move |name| !names(name))
        .map(move |name| Variable::new(name, root))
}

/// The libraries of a toolkit, for build scripts that look for them alone. What the user has chosen stays.
pub(super) fn library_variable(toolkit: &Toolkit) -> Option<Variable> {
    let folders = [toolkit.root().to_owned(), toolkit.lib_dir().ok()?];
    let folders = env::join_paths(folders).ok()?;
    unless_chosen(LIBRARY_VARIABLE, folders)
}

/// The processors that were chosen, for build scripts that are not told by nvcc. What the user has chosen stays.
pub(super) fn processor_variables(processors: &[Sm]) -> impl Iterator<Item = Variable> {
    let names = processors.iter().map(|sm| sm.number_and_letter());
    let names: Vec<String> = names.collect();
    // Later ones compile its PTX, too. Its letter is added by those who know letters.
    let oldest = processors.iter().map(|sm| sm.number).min();
    let values = oldest.map(|oldest| {
        let all: OsString = names.join(";").into();
        [
            (
                PROCESSORS_FOR_PROJECTS,
                chosen_value(PROCESSORS_VARIABLE).unwrap_or_else(|| all.clone()),
            ),
            (PROCESSORS_VARIABLE, all),
            (PROCESSOR_VARIABLE, oldest.to_string().into()),
        ]
    });
    let values = values.into_iter().flatten();
    values.filter_map(|(name, value)| unless_chosen(name, value))
}

/// A variable, unless it is set to something.
pub(super) fn unless_chosen(name: &str, value: impl Into<OsString>) -> Option<Variable> {
    let is_chosen = chosen_value(name).is_some();
    (!is_chosen).then(|| Variable::new(name, value))
}

/// What a variable is set to, unless that is nothing.
fn chosen_value(name: &str) -> Option<OsString> {
    env::var_os(name).filter(|value| !value.is_empty())
}

/// The folder that `PATH` lacks for build scripts that run nvcc by its name alone. One that is there stays where it is:
/// that of a system holds many other programs.
pub(super) fn folder_for_path(toolkit: &Toolkit) -> Option<PathBuf> {
    let nvcc = toolkit.tool(Tool::Nvcc).ok()?;
    let folder = nvcc.parent()?;
    let path = env::var_os("PATH").unwrap_or_default();
    let first = env::split_paths(&path)
        .map(|folder| folder.join(Tool::Nvcc.name()))
        .find(|program| program.is_file());
    let is_there = first.is_some_and(|first| is_same(first.as_os_str(), &nvcc))
        || env::split_paths(&path).any(|there| is_same(there.as_os_str(), folder));
    // One that no list of folders can hold is named by the variables alone.
    let is_fit = env::join_paths([folder]).is_ok();
    (!is_there && is_fit).then(|| folder.to_owned())
}

fn is_same(one: &OsStr, other: &Path) -> bool {
    is_same_file(one, other).unwrap_or(false)
}

/// `PATH` with another folder before all others.
pub(super) fn with_folder(folder: &Path, path: Option<&OsStr>) -> Result<OsString> {
    let folders = path.into_iter().flat_map(env::split_paths);
    Ok(env::join_paths(
        [folder.to_owned()].into_iter().chain(folders),
    )?)
}

/// `PATH` without a folder that it has got, whatever else others have added since.
fn without_folder(folder: &Path, path: &OsStr) -> Result<OsString> {
    let folders = env::split_paths(path).filter(|there| there != folder);
    Ok(env::join_paths(folders)?)
}

/// Whether a variable chooses something here.
fn counts(name: &str) -> bool {
    let others = [
        COMPILER_VARIABLE,
        COMPILER_FOR_CMAKE,
        LIBRARY_VARIABLE,
        PROCESSOR_VARIABLE,
        PROCESSORS_VARIABLE,
        PROCESSORS_FOR_PROJECTS,
        CACHE_VARIABLE,
    ];
    let mut all = TOOLKIT_VARIABLES.iter().chain(&others);
    name.starts_with("CUDALINK_") || all.any(|known| *known == name)
}

/// Where cargo's configuration sets variables that count here: the same command with them. Cargo sets them for rustc and
/// for build scripts, and not for a command such as this one. What the user has set counts more, unless it is forced.
pub(super) fn command_with(configured: &BTreeMap<String, Configured>) -> Result<Option<Command>> {
    let missing = missing(configured, |name| env::var_os(name));
    if missing.is_empty() {
        return Ok(None);
    }
    let mut command = same_command()?;
    command.envs(missing);
    Ok(Some(command))
}

/// Those of the variables that are set otherwise, or not at all.
fn missing(
    configured: &BTreeMap<String, Configured>,
    there: impl Fn(&str) -> Option<OsString>,
) -> Vec<(&str, &OsStr)> {
    let that_count = configured.iter().filter(|(name, _)| counts(name));
    let missing = that_count.filter(|(name, configured)| match there(name) {
        Some(there) => configured.force && there != configured.value,
        None => true,
    });
    missing
        .map(|(name, configured)| (name.as_str(), configured.value.as_os_str()))
        .collect()
}

/// Those of our variables that cargo would replace by what its configuration forces.
pub(super) fn forced<'v>(
    variables: &'v [Variable],
    configured: &BTreeMap<String, Configured>,
) -> Vec<&'v str> {
    let forced = variables.iter().filter(|variable| {
        let configured = configured.get(&variable.name);
        configured.is_some_and(|other| other.force && other.value != variable.value)
    });
    forced.map(|variable| variable.name.as_str()).collect()
}

/// This program, with the same arguments.
fn same_command() -> Result<Command> {
    let mut command = Command::new(platform::this_program()?);
    command.args(env::args_os().skip(1));
    Ok(command)
}

/// Where this command runs below another one of ours: the same command with the variables of the user.
pub(super) fn command_of_user() -> Result<Option<Command>> {
    let Some(plan) = env::var_os(PLAN_VARIABLE) else {
        return Ok(None);
    };
    let mut command = same_command()?;
    command.env_remove(PLAN_VARIABLE);
    // A run that has ended has left nothing to give back.
    let Ok(plan) = Plan::read(Path::new(&plan)) else {
        return Ok(Some(command));
    };
    for variable in &plan.variables {
        variable.undo(&mut command, env::var_os(&variable.name).as_deref());
    }
    if let (Some(folder), Some(path)) = (&plan.on_path, env::var_os("PATH")) {
        command.env("PATH", without_folder(folder, &path)?);
    }
    Ok(Some(command))
}

#[cfg(test)]
mod tests {
    use cargo_config2::Config;

    use super::super::configuration;
    use super::*;

    #[test]
    fn a_folder_on_path_goes_again() {
        let folder = Path::new("/cuda/bin");
        let longer = with_folder(folder, Some(OsStr::new("/usr/bin:/bin"))).unwrap();
        assert_eq!(longer, "/cuda/bin:/usr/bin:/bin");
        let changed = OsStr::new("/home/me/.cargo/bin:/cuda/bin:/usr/bin:/bin");
        let without = without_folder(folder, changed).unwrap();
        assert_eq!(without, "/home/me/.cargo/bin:/usr/bin:/bin");
        assert_eq!(with_folder(folder, None).unwrap(), "/cuda/bin");
    }

    #[test]
    fn variables_of_the_configuration_count_where_cargo_lets_them() {
        let settings = ["env.CUDA_HOME='given'".to_owned()];
        let config = "[env]\nCUDA_HOME = \"of-file\"\nNVCC = \"of-cargo\"\nOTHER = \"x\"\n\
            CUDALINK_ARCH = { value = \"sm_80\", force = true }\nRUSTNVLINK_CACHE = \"cache\"\n";
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join(".cargo")).unwrap();
        std::fs::write(folder.path().join(".cargo/config.toml"), config).unwrap();
        let configured = Config::load_with_cwd(folder.path()).unwrap();
        let configured = configuration::variables(&configured, &settings).unwrap();
        let check = |there: &[(&str, &str)], expected: &[(&str, &str)]| {
            let value = |name: &str| {
                let (_, value) = there.iter().find(|(there, _)| *there == name)?;
                Some(OsString::from(value))
            };
            let expected: Vec<_> = expected.iter().map(|(n, v)| (*n, OsStr::new(v))).collect();
            assert_eq!(missing(&configured, value), expected);
        };
        let (arch, home) = (("CUDALINK_ARCH", "sm_80"), ("CUDA_HOME", "given"));
        let (compiler, cache) = (("NVCC", "of-cargo"), ("RUSTNVLINK_CACHE", "cache"));
        check(&[], &[arch, home, compiler, cache]);
        check(
            &[("NVCC", "own"), ("CUDALINK_ARCH", "sm_90"), home, cache],
            &[arch],
        );
        check(&[("NVCC", ""), arch], &[home, cache]);
    }

    #[test]
    fn variables_of_the_user_come_back() {
        let check = |before: Option<&str>, now: Option<&str>, expected: &[Option<&str>]| {
            let variable = Variable {
                name: "NAME".to_owned(),
                value: "ours".into(),
                before: before.map(OsString::from),
            };
            let mut command = Command::new("program");
            variable.undo(&mut command, now.map(OsStr::new));
            let changes: Vec<_> = command.get_envs().map(|(_, value)| value).collect();
            let expected: Vec<_> = expected.iter().map(|value| value.map(OsStr::new)).collect();
            assert_eq!(changes, expected);
        };
        check(Some("theirs"), Some("ours"), &[Some("theirs")]);
        check(None, Some("ours"), &[None]);
        check(Some("theirs"), Some("changed"), &[]);
        check(Some("theirs"), None, &[]);
    }
}
