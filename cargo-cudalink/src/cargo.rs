//! `cargo cudalink build` and the other commands of cargo, with a device link before every host link.
//!
//! Cargo runs as always, but for two programs: the host linker is [`crate::stand_in::linker`], and build scripts that use
//! the `cc` crate find [`crate::stand_in::nvcc`]. A [`Plan`] tells both what to do.

mod configuration;
pub(crate) mod exec;
mod report;
mod run;
mod static_libraries;
pub(crate) mod surroundings;
mod user_linker;
pub(crate) mod workspace;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::num::NonZero;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::thread::{self, JoinHandle};
use std::time::UNIX_EPOCH;

use anyhow::{Context, Result};
use cargo_config2::Config;
use cargo_options::CommonOptions;
use clap::Args;
use cudalink_toolkit::launcher::launched;
use cudalink_toolkit::{Tool, Toolkit};
use rustnvlink::arch::Sm;
use sha2::{Digest as _, Sha256};

use crate::plan::{CompiledFor, Folder, PLAN_VARIABLE, Plan, Purpose, ToolkitPaths};
use crate::platform;
use crate::settings::{Settings, Word};
use crate::stand_in::cache::hex;
use crate::style;
use crate::toolkit::{self, note_ignored_variables};
use configuration::Configured;
use report::Reporter;
use static_libraries::StaticLibraries;
use surroundings::Variable;
use user_linker::UserLinkers;
use workspace::Workspace;

/// A command of cargo and what we add to it.
#[derive(Debug, Args)]
pub(crate) struct WithDevice<C: Args> {
    #[command(flatten)]
    cargo: C,
    // Last: the heading of what comes before would go on.
    #[command(flatten)]
    settings: Settings,
}

#[cfg(test)]
impl<C: CargoCommand + Args> WithDevice<C> {
    /// How many jobs the command line names.
    pub(crate) fn jobs(mut self) -> Option<usize> {
        self.cargo.common().jobs
    }
}

/// What the commands of cargo have in common.
pub(crate) trait CargoCommand {
    /// The options that every command has.
    fn common(&mut self) -> &mut CommonOptions;
    /// The manifest, where the command line names one.
    fn manifest_path(&self) -> Option<PathBuf>;
    /// Whether cargo fetches what it builds, so that no workspace of this machine has choices.
    fn is_fetched(&self) -> bool {
        false
    }
    /// The folder from which cargo looks for its configuration, where that is not the current one.
    fn configured_from(&self) -> Option<&Path> {
        None
    }
    /// Arguments that go to rustc itself.
    fn rustc_arguments(&mut self) -> Option<&mut Vec<String>>;
    /// Makes cargo use these linkers, if need be by variables.
    fn use_linkers(&mut self, stand_ins: Vec<StandIn>) -> Result<Vec<Variable>> {
        for StandIn { triple, path } in stand_ins {
            let path = path
                .to_str()
                .with_context(|| format!("the path {} is no text", path.display()))?;
            let setting = format!("target.{triple}.linker={}", toml_string(path));
            self.common().config.push(setting);
        }
        Ok(Vec::new())
    }
    /// Makes cargo take these variables as they are set, where its configuration forces others.
    fn yield_to(&mut self, variables: Vec<&str>) {
        let settings = variables
            .into_iter()
            .map(|name| format!("env.{name}.force=false"));
        self.common().config.extend(settings);
    }
    /// The command line.
    fn command(&self) -> Command;
}

/// This program in the place of the linker for a target.
#[derive(Debug)]
pub(crate) struct StandIn {
    triple: String,
    path: PathBuf,
}

macro_rules! cargo_commands {
    ($($command:ident: |$this:ident| $rustc:expr;)*) => {$(
        impl CargoCommand for cargo_options::$command {
            fn common(&mut self) -> &mut CommonOptions {
                &mut self.common
            }

            fn manifest_path(&self) -> Option<PathBuf> {
                self.manifest_path.clone()
            }

            fn rustc_arguments(&mut self) -> Option<&mut Vec<String>> {
                let $this = self;
                $rustc
            }

            fn command(&self) -> Command {
                cargo_options::$command::command(self)
            }
        }
    )*};
}

cargo_commands! {
    Build: |_command| None;
    Run: |_command| None;
    Test: |_command| None;
    Bench: |_command| None;
    Check: |_command| None;
    Clippy: |_command| None;
    Doc: |_command| None;
    Rustc: |command| Some(&mut command.args);
}

impl CargoCommand for cargo_options::Install {
    fn common(&mut self) -> &mut CommonOptions {
        &mut self.common
    }

    fn manifest_path(&self) -> Option<PathBuf> {
        self.path.as_ref().map(|folder| folder.join("Cargo.toml"))
    }

    fn is_fetched(&self) -> bool {
        self.path.is_none()
    }

    fn configured_from(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    fn rustc_arguments(&mut self) -> Option<&mut Vec<String>> {
        None
    }

    fn command(&self) -> Command {
        cargo_options::Install::command(self)
    }
}

/// Runs `cargo install`.
pub(crate) fn install(arguments: WithDevice<cargo_options::Install>) -> Result<ExitCode> {
    match arguments.cargo.list {
        true => platform::replace_by(arguments.cargo.command()),
        false => run(arguments),
    }
}

/// Where the configuration of the current folder sets variables that count: the same command with them.
pub(crate) fn command_with_configuration() -> Result<Option<Command>> {
    let current = platform::current_folder()?;
    let configured = configuration::variables(&configuration::load(&current)?, &[])?;
    surroundings::command_with(&configured)
}

/// The host linker of builds for this machine in the current folder, as far as cargo's configuration tells it.
pub(crate) fn host_linker() -> PathBuf {
    let configured = || {
        let config = configuration::load(&std::env::current_dir().ok()?).ok()?;
        config.linker(config.host_triple().ok()?).ok()?
    };
    configured().unwrap_or_else(|| user_linker::DEFAULT.into())
}

/// Where cargo runs, and what its configuration says there.
struct Place {
    /// The current folder.
    current: PathBuf,
    /// The folder whose configuration counts, with those above it.
    configured: PathBuf,
    config: Config,
    /// The variables that the configuration sets.
    variables: BTreeMap<String, Configured>,
}

impl Place {
    fn of(cargo: &mut impl CargoCommand) -> Result<Self> {
        let current = platform::current_folder()?;
        let configured = cargo.configured_from().map(std::path::absolute);
        let configured = configured.transpose()?.unwrap_or_else(|| current.clone());
        let config = configuration::load(&configured)?;
        let variables = configuration::variables(&config, &cargo.common().config)?;
        Ok(Self {
            current,
            configured,
            config,
            variables,
        })
    }
}

/// Runs cargo.
pub(crate) fn run<C: CargoCommand + Args>(arguments: WithDevice<C>) -> Result<ExitCode> {
    if let Some(command) = surroundings::command_of_user()? {
        return platform::replace_by(command);
    }
    let WithDevice {
        settings,
        mut cargo,
    } = arguments;
    let place = Place::of(&mut cargo)?;
    if let Some(command) = surroundings::command_with(&place.variables)? {
        return platform::replace_by(command);
    }
    let settings = settings.in_folder(&place.current);
    run_configured(cargo, &settings, &place)
}

/// Runs cargo with all that its configuration, manifests and the command line choose.
fn run_configured(
    mut cargo: impl CargoCommand,
    settings: &Settings,
    place: &Place,
) -> Result<ExitCode> {
    let config = &place.config;
    let reporter = Reporter::new(cargo.common(), &config.term);
    // Python may have to be asked, which takes as long as asking cargo.
    let search = settings
        .toolkit
        .is_none()
        .then(|| thread::spawn(|| toolkit::find(None)));
    let host = configuration::ask_for_host(config);
    let workspace = match cargo.is_fetched() {
        true => Workspace::elsewhere(cargo.common())?,
        false => Workspace::load(cargo.manifest_path(), cargo.common())?,
    };
    let folder = Folder::make(&workspace.target)?;
    let _in_use = folder.lock(Purpose::Use)?;
    let (packages, others) = workspace.settings(settings)?;
    let host = host.join().unwrap_or_else(|panic| resume_unwind(panic));
    let for_host = configuration::load_on(host, &place.configured)?;
    let linkers = UserLinkers::find(&for_host, &place.configured, &mut cargo)?;
    let mut variables = cargo.use_linkers(stand_in_linkers(&folder, &linkers)?)?;
    let toolkit = chosen_or_found(others.toolkit.as_deref(), search)?;
    let found = toolkit.as_ref().ok();
    if let Some(toolkit) = found.filter(|_| !reporter.is_quiet()) {
        note_ignored_variables(toolkit);
    }
    let compiled_for = CompiledFor::all(packages.values().chain([&others]));
    let nvcc = stand_in_toolkit(&folder, found, &compiled_for)?;
    let run = run::Run::begin(&folder)?;
    let mut plan = Plan {
        program: identity_of_program()?,
        folder,
        build: workspace.build.clone(),
        journal: run.journal(),
        linkers: linkers.by_triple,
        toolkit: match &toolkit {
            Ok(toolkit) => ToolkitPaths::of(toolkit),
            Err(error) => Err(style::reason(error)),
        },
        threads: jobs(cargo.common(), config),
        compiled_for,
        packages,
        others,
        variables: Vec::new(),
        on_path: found.and_then(surroundings::folder_for_path),
    };
    variables.extend(compilers(nvcc, found, &plan));
    if let Some(flags) = linkers.rustflags {
        variables.push(Variable::new("CARGO_ENCODED_RUSTFLAGS", flags));
    }
    variables.extend(choices(&plan));
    cargo.yield_to(surroundings::forced(&variables, &place.variables));
    plan.variables = variables;
    let path = run.plan();
    plan.write(&path)?;
    let is_quiet = reporter.is_quiet();
    let libraries = StaticLibraries::of(&workspace);
    let exit = run.follow(by_plan(cargo.command(), &plan, &path)?, reporter)?;
    if exit == ExitCode::SUCCESS && !is_quiet {
        for note in libraries.notes(&place.current) {
            style::note(&note);
        }
    }
    Ok(exit)
}

/// The toolkit that was chosen, which has to be there, else the one that `search` finds. Only whoever needs one has to be
/// told that there is none.
fn chosen_or_found(
    choice: Option<&Path>,
    search: Option<JoinHandle<Result<Toolkit>>>,
) -> Result<Result<Toolkit>> {
    Ok(match (choice, search) {
        (Some(choice), _) => Ok(toolkit::find(Some(choice))?),
        (None, Some(search)) => search.join().unwrap_or_else(|panic| resume_unwind(panic)),
        (None, None) => toolkit::find(None),
    })
}

/// A command that runs by the plan at this path.
fn by_plan(mut command: Command, plan: &Plan, path: &Path) -> Result<Command> {
    command.env(PLAN_VARIABLE, path);
    for variable in &plan.variables {
        variable.set(&mut command);
    }
    if let Some(folder) = &plan.on_path {
        let path = std::env::var_os("PATH");
        command.env("PATH", surroundings::with_folder(folder, path.as_deref())?);
    }
    for (name, value) in plan.tracked() {
        command.env(name, value);
    }
    Ok(command)
}

/// How much cargo may do at once, where that is said.
fn jobs(common: &CommonOptions, config: &Config) -> Option<NonZero<usize>> {
    let configured = || number_of_jobs(&config.build.jobs?.to_string()).ok();
    common.jobs.or_else(configured).and_then(NonZero::new)
}

/// How many jobs a word means: a number, below zero one of processors that are left to others, or all of these.
pub(crate) fn number_of_jobs(word: &str) -> Result<usize, String> {
    let processors = || thread::available_parallelism().map_or(1, NonZero::get);
    match word.parse::<isize>() {
        Ok(0) => Err("there have to be more than 0".to_owned()),
        Ok(left @ ..0) => Ok(processors().saturating_add_signed(left).max(1)),
        Ok(count) => Ok(count.unsigned_abs()),
        Err(_) if word == "default" => Ok(processors()),
        Err(_) => Err("it is neither a number nor `default`".to_owned()),
    }
}

/// A program that was built or installed again is another one.
fn identity_of_program() -> Result<String> {
    let identity = || -> io::Result<String> {
        let metadata = std::env::current_exe()?.metadata()?;
        let time = metadata.modified()?.duration_since(UNIX_EPOCH);
        let time = time.unwrap_or_default().as_nanos();
        let version = env!("CARGO_PKG_VERSION");
        Ok(format!("{version}-{}-{time}", metadata.len()))
    };
    identity().context("this program does not know where it lies")
}

/// Where build scripts find compilers: `nvcc` stands in for the one of the toolkit.
fn compilers(nvcc: PathBuf, toolkit: Option<&Toolkit>, plan: &Plan) -> Vec<Variable> {
    let mut variables = vec![Variable::new(surroundings::COMPILER_VARIABLE, nvcc)];
    if let Some(toolkit) = toolkit {
        variables.push(Variable::new("CUDALINK_TOOLKIT", toolkit.root()));
        variables.extend(surroundings::toolkit_variables(toolkit));
        variables.extend(surroundings::library_variable(toolkit));
    }
    if let Ok(toolkit) = &plan.toolkit {
        // CMake looks for a compiler on PATH alone.
        variables.extend(surroundings::unless_chosen(
            surroundings::COMPILER_FOR_CMAKE,
            &toolkit.nvcc,
        ));
    }
    let processors: Vec<Sm> = plan.compiled_for.processors.iter().map(|w| w.0).collect();
    variables.extend(surroundings::processor_variables(&processors));
    variables
}

/// What build scripts that use `cudalink-build` are told of choices.
fn choices(plan: &Plan) -> Vec<Variable> {
    let mut variables = Vec::new();
    let processors = &plan.compiled_for.processors;
    if !processors.is_empty() {
        let names: Vec<String> = processors.iter().map(|w| w.0.to_string()).collect();
        variables.push(Variable::new("CUDALINK_ARCH", names.join(",")));
    }
    if let Some(dlto) = plan.others.dlto {
        variables.push(Variable::new("CUDALINK_DLTO", dlto.to_string()));
    }
    variables
}

impl ToolkitPaths {
    fn of(toolkit: &Toolkit) -> Result<Self, String> {
        let tool = |tool| toolkit.tool(tool).map_err(|error| error.to_string());
        // Who has chosen a compiler gets it.
        let (launcher, nvcc) = match chosen_compiler() {
            Some(nvcc) => launched(nvcc.into()),
            None => (Vec::new(), tool(Tool::Nvcc)?),
        };
        Ok(Self {
            version: toolkit.stated_version().map(|version| version.to_string()),
            nvcc,
            launcher,
            ptxas: tool(Tool::Ptxas)?,
            jitlink: toolkit.libnvjitlink().ok(),
            device_runtime: toolkit.libcudadevrt().ok(),
        })
    }
}

/// The compiler that the user has chosen.
fn chosen_compiler() -> Option<OsString> {
    std::env::var_os(surroundings::COMPILER_VARIABLE).filter(|nvcc| !nvcc.is_empty())
}

/// A toolkit whose nvcc is ours, and whose libraries are where the `cc` crate looks for them. Whatever build scripts
/// should notice is part of its path.
fn stand_in_toolkit(
    folder: &Folder,
    toolkit: Option<&Toolkit>,
    compiled_for: &CompiledFor,
) -> Result<PathBuf> {
    let mut name = match toolkit {
        Some(toolkit) => {
            let mut hash = Sha256::new();
            hash.update(toolkit.root().as_os_str().as_encoded_bytes());
            if let Some(version) = toolkit.stated_version() {
                hash.update(version.to_string());
            }
            if let Some(nvcc) = chosen_compiler() {
                hash.update(nvcc.as_encoded_bytes());
            }
            hex(&hash.finalize()[..4])
        }
        None => "none".to_owned(),
    };
    for Word(sm) in &compiled_for.processors {
        name.push('-');
        name.push_str(&sm.to_string());
    }
    if compiled_for.link_time {
        name.push_str("-lto");
    }
    let root = folder.toolkits().join(name);
    if let Some(libraries) = toolkit.and_then(|toolkit| toolkit.lib_dir().ok()) {
        let machine = match std::env::consts::ARCH {
            "aarch64" => "sbsa",
            machine => machine,
        };
        let place = root.join(format!("targets/{machine}-linux/lib"));
        link(&libraries, &place)?;
        link(&libraries, &root.join("lib64"))?;
    }
    if let Some(headers) = toolkit.and_then(|toolkit| toolkit.include_dir().ok()) {
        link(&headers, &root.join("include"))?;
    }
    let nvcc = root.join("bin/nvcc");
    stand_in_at(&nvcc)?;
    Ok(nvcc)
}

/// Puts this program in the place of every linker.
fn stand_in_linkers(folder: &Folder, linkers: &UserLinkers) -> Result<Vec<StandIn>> {
    let mut stand_ins = Vec::new();
    for (triple, linker) in &linkers.by_triple {
        let name = linker.file_name().unwrap_or(linker.as_os_str());
        let stand_in = folder.linkers().join(triple).join(name);
        stand_in_at(&stand_in)?;
        link_companions(linker, &stand_in)?;
        stand_ins.push(StandIn {
            triple: triple.clone(),
            path: stand_in,
        });
    }
    Ok(stand_ins)
}

/// Puts the programs of a cross compiler beside its stand-in. Build scripts get to know the linker of the target as
/// `RUSTC_LINKER`, and take the path of `PREFIX-gcc` for that of `PREFIX-g++`, `PREFIX-ar` and others.
fn link_companions(linker: &Path, stand_in: &Path) -> Result<()> {
    let name = linker.file_name().and_then(|name| name.to_str());
    let Some(prefix) = name.and_then(|name| name.strip_suffix("gcc")) else {
        return Ok(());
    };
    if !prefix.ends_with('-') {
        return Ok(());
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_bare = linker.components().count() == 1;
    let folder = match linker.parent() {
        Some(folder) if !is_bare => Some(folder.to_owned()),
        _ => std::env::split_paths(&path).find(|folder| folder.join(linker).is_file()),
    };
    // Who runs the linker says that it is missing.
    let Some(entries) = folder.and_then(|folder| fs::read_dir(folder).ok()) else {
        return Ok(());
    };
    for entry in entries.flatten() {
        let program = entry.file_name();
        let is_companion = program
            .to_str()
            .is_some_and(|program| program.starts_with(prefix));
        if is_companion && Some(program.as_os_str()) != linker.file_name() {
            let original = std::path::absolute(entry.path())?;
            link(&original, &stand_in.with_file_name(&program))?;
        }
    }
    Ok(())
}

/// Makes a path start this program.
fn stand_in_at(path: &Path) -> Result<()> {
    link(&platform::this_program()?, path)
}

fn link(original: &Path, place: &Path) -> Result<()> {
    platform::link(original, place)
        .with_context(|| format!("cannot make the link {}", place.display()))
}

/// A string as TOML has it; what JSON escapes, TOML escapes in the same way.
fn toml_string(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use cargo_config2::ResolveOptions;

    use super::*;

    #[test]
    fn links_take_as_many_threads_as_cargo_has_jobs() {
        let folder = tempfile::tempdir().unwrap();
        let check = |given: Option<usize>, configured: Option<&str>, expected: Option<usize>| {
            let variables = configured.map(|jobs| ("CARGO_BUILD_JOBS", jobs));
            let options = ResolveOptions::default().cargo_home(None).env(variables);
            let config = Config::load_with_options(folder.path(), options).unwrap();
            let common = CommonOptions {
                jobs: given,
                ..CommonOptions::default()
            };
            let threads = jobs(&common, &config).map(NonZero::get);
            assert_eq!(threads, expected, "{given:?} {configured:?}");
        };
        check(None, None, None);
        check(Some(3), Some("2"), Some(3));
        check(None, Some("2"), Some(2));
        check(None, Some("-100000"), Some(1));
    }
}
