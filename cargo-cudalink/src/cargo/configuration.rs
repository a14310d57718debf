//! Cargo's configuration.
//!
//! The library that reads it does not know all that cargo knows: files that include others, and a number of jobs that is
//! a word. Where some file has one of these, it gets copies without: a chain of folders with a file each, of which the
//! innermost counts most.

use std::collections::{BTreeMap, HashSet};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::{self, JoinHandle};

use anyhow::{Context as _, Result, bail};
use cargo_config2::{Config, ResolveOptions, Walk, de};
use tempfile::TempDir;
use toml::{Table, Value};

/// The release of cargo 1 that follows `include`.
const INCLUDES_SINCE: u32 = 94;

/// Reads the configuration that counts in a folder.
pub(super) fn load(folder: &Path) -> Result<Config> {
    load_with(folder, ResolveOptions::default())
}

/// The same on a machine that is this target; else cargo is asked for that, which tells much else that takes time.
pub(super) fn load_on(host: Option<String>, folder: &Path) -> Result<Config> {
    let options = ResolveOptions::default();
    let options = match host {
        Some(host) => options.host_triple(host),
        None => options,
    };
    load_with(folder, options)
}

fn load_with(folder: &Path, options: ResolveOptions) -> Result<Config> {
    let what = "cargo's configuration cannot be read";
    match Files::find(folder).copies() {
        Some(copies) => copies.load(options).context(what),
        None => Config::load_with_options(folder, options).context(what),
    }
}

/// Asks rustc, while other work goes on, for the target that this machine is.
pub(super) fn ask_for_host(config: &Config) -> JoinHandle<Option<String>> {
    let rustc = config.rustc();
    // Behind what runs it.
    let program = rustc.args.last().map(PathBuf::from);
    let mut command = Command::new(program.unwrap_or_else(|| rustc.path.clone()));
    command.arg("-vV").stdin(Stdio::null());
    thread::spawn(move || host_of(&String::from_utf8(command.output().ok()?.stdout).ok()?))
}

/// What `rustc -vV` says of it.
fn host_of(version: &str) -> Option<String> {
    let host = version
        .lines()
        .find_map(|line| line.strip_prefix("host: "))?;
    Some(host.to_owned())
}

/// What `--config` options say. What counts most comes last.
pub(super) fn given(settings: &[String]) -> Result<Vec<de::Config>> {
    let configs: Vec<_> = settings
        .iter()
        .map(|s| of_option(s))
        .collect::<Result<_>>()?;
    Ok(configs.into_iter().flatten().collect())
}

/// What one says: a file with those that it includes, or a line of one.
fn of_option(setting: &str) -> Result<Vec<de::Config>> {
    let read = || -> Result<Vec<de::Config>> {
        let path = PathBuf::from(setting);
        let mut files = Files::default();
        match path.is_file() {
            true => files.add(path),
            false => files.take(path, setting.parse()?),
        }
        let tables = files.found.into_iter().rev();
        tables.map(|(_, table)| Ok(table.try_into()?)).collect()
    };
    read().with_context(|| format!("--config {setting}"))
}

/// Whether what is set for targets with a condition, such as `cfg(unix)`, is set for this one.
pub(super) fn applies(condition: &str, triple: &str) -> Result<bool> {
    let what = [("linker".to_owned(), Value::from("linker"))];
    let targets = [(condition.to_owned(), Value::from(Table::from_iter(what)))];
    let table = [("target".to_owned(), Value::from(Table::from_iter(targets)))];
    let mut files = Files::default();
    files.take(PathBuf::new(), Table::from_iter(table));
    let no_variables: [(OsString, OsString); 0] = [];
    let config = files.load(ResolveOptions::default().env(no_variables))?;
    Ok(config.linker(triple)?.is_some())
}

/// The variable that names the linker of a target.
pub(super) fn linker_variable(triple: &str) -> String {
    let triple = triple.to_uppercase().replace(['-', '.'], "_");
    format!("CARGO_TARGET_{triple}_LINKER")
}

/// Whether the files that count in a folder, or a variable, name the linker of this target itself.
pub(super) fn names_linker(folder: &Path, triple: &str) -> bool {
    let is_named = |(_, table): &(PathBuf, Table)| {
        let target = table.get("target").and_then(|targets| targets.get(triple));
        target.is_some_and(|target| target.get("linker").is_some())
    };
    std::env::var_os(linker_variable(triple)).is_some()
        || Files::find(folder).found.iter().any(is_named)
}

/// A variable of the configuration (`[env]`).
#[derive(Debug, Clone)]
pub(super) struct Configured {
    pub(super) value: OsString,
    /// Whether it counts more than what is set already.
    pub(super) force: bool,
}

/// What the configuration, and `--config` options behind it, say of variables.
pub(super) fn variables(
    config: &Config,
    settings: &[String],
) -> Result<BTreeMap<String, Configured>> {
    let of_files = config.env.iter().map(|(name, configured)| {
        let (value, force) = (configured.value.clone(), configured.force);
        (name.clone(), Configured { value, force })
    });
    let mut variables: BTreeMap<_, _> = of_files.collect();
    for given in given(settings)? {
        variables.extend(given.env.into_iter().filter_map(|(name, given)| {
            let (value, force) = match given {
                de::EnvConfigValue::Value(value) => (value, None),
                de::EnvConfigValue::Table { value, force, .. } => (value, force),
                // Cargo may know more by then.
                _ => return None,
            };
            let value = value.val.into();
            let force = force.is_some_and(|force| force.val);
            Some((name, Configured { value, force }))
        }));
    }
    Ok(variables)
}

/// The files of a configuration, and what is in them.
#[derive(Debug, Default)]
struct Files {
    /// What counts most comes first.
    found: Vec<(PathBuf, Table)>,
    known: HashSet<PathBuf>,
    /// Whether some file has what only cargo understands.
    is_beyond: bool,
}

impl Files {
    fn find(folder: &Path) -> Self {
        let mut files = Self::default();
        for path in Walk::new(folder) {
            files.add(path);
        }
        files
    }

    /// Adds a file and what it includes. Whatever is wrong with them cargo tells.
    fn add(&mut self, path: PathBuf) {
        let known = path.canonicalize().unwrap_or_else(|_| path.clone());
        let text = fs::read_to_string(&path).ok();
        let Some(table) = text.and_then(|text| text.parse().ok()) else {
            return;
        };
        if self.known.insert(known) {
            self.take(path, table);
        }
    }

    fn take(&mut self, path: PathBuf, mut table: Table) {
        if let Some(Value::Table(build)) = table.get_mut("build")
            && build.get("jobs").is_some_and(Value::is_str)
        {
            build.remove("jobs");
            self.is_beyond = true;
        }
        let included = match table.remove("include") {
            Some(included) if follows_includes() => includes(included, &path),
            _ => Vec::new(),
        };
        self.is_beyond |= !included.is_empty();
        self.found.push((path, table));
        // Of several the last one counts most.
        for path in included.into_iter().rev() {
            self.add(path);
        }
    }

    fn copies(self) -> Option<Self> {
        self.is_beyond.then_some(self)
    }

    fn load(self, options: ResolveOptions) -> Result<Config> {
        let folder = TempDir::new()?;
        let surroundings: Vec<PathBuf> = folder
            .path()
            .ancestors()
            .flat_map(|folder| ["config", "config.toml"].map(|f| folder.join(".cargo").join(f)))
            .filter(|path| path.is_file())
            .collect();
        for path in &surroundings {
            if !self.found.iter().any(|(found, _)| found == path) {
                bail!(
                    "{} would count for all temporary files; remove it, or choose another folder with TMPDIR",
                    path.display()
                );
            }
        }
        let mut place = folder.path().to_owned();
        for (path, mut table) in self.found.into_iter().rev() {
            if surroundings.contains(&path) {
                continue;
            }
            make_whole(&mut table, &path);
            place.push("inner");
            fs::create_dir_all(place.join(".cargo"))?;
            fs::write(place.join(".cargo/config.toml"), table.to_string())?;
        }
        Ok(Config::load_with_options(place, options.cargo_home(None))?)
    }
}

/// The files that one includes, each a path or a table with one.
fn includes(included: Value, path: &Path) -> Vec<PathBuf> {
    let list = match included {
        Value::Array(list) => list,
        one => vec![one],
    };
    let folder = path.parent().unwrap_or(Path::new(""));
    list.iter()
        .filter_map(|item| item.get("path").unwrap_or(item).as_str())
        .map(|file| folder.join(file))
        .collect()
}

/// Whether cargo does.
fn follows_includes() -> bool {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let said = Command::new(cargo).arg("--version").output();
    said.is_ok_and(|said| release(&String::from_utf8_lossy(&said.stdout)) >= Some(INCLUDES_SINCE))
}

/// `95` of `cargo 1.95.0 (f2d3ce0bd 2026-03-21)`.
fn release(said: &str) -> Option<u32> {
    let rest = said.strip_prefix("cargo 1.")?;
    rest.split('.').next()?.parse().ok()
}

/// Makes paths whole that are relative to the folder around that of the file.
fn make_whole(table: &mut Table, path: &Path) {
    let folder = path.ancestors().nth(2).unwrap_or(Path::new(""));
    let whole = |value: &mut Value| {
        if let Value::String(text) = value
            && (text.contains('/') || text.ends_with(".json"))
        {
            *text = folder.join(&*text).to_string_lossy().into_owned();
        }
    };
    if let Some(Value::Table(build)) = table.get_mut("build") {
        for key in ["rustc", "rustc-wrapper", "rustc-workspace-wrapper"] {
            build.get_mut(key).into_iter().for_each(whole);
        }
        match build.get_mut("target") {
            Some(Value::Array(targets)) => targets.iter_mut().for_each(whole),
            target => target.into_iter().for_each(whole),
        }
    }
    if let Some(Value::Table(targets)) = table.get_mut("target") {
        let linkers = targets.iter_mut().filter_map(|(_, t)| t.get_mut("linker"));
        linkers.for_each(whole);
    }
    if let Some(Value::Table(variables)) = table.get_mut("env") {
        for variable in variables.iter_mut().filter_map(|(_, v)| v.as_table_mut()) {
            if variable.remove("relative") == Some(Value::Boolean(true))
                && let Some(Value::String(text)) = variable.get_mut("value")
            {
                *text = folder.join(&*text).to_string_lossy().into_owned();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRIPLE: &str = "x86_64-unknown-linux-gnu";

    fn write(folder: &Path, name: &str, text: &str) {
        let path = folder.join(".cargo").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn rustc_says_what_this_machine_is() {
        let said =
            "rustc 1.95.0 (59807616e 2026-04-14)\nbinary: rustc\nhost: x86_64-unknown-linux-gnu\n";
        assert_eq!(host_of(said).unwrap(), "x86_64-unknown-linux-gnu");
        assert_eq!(host_of(""), None);
        let folder = tempfile::tempdir().unwrap();
        let config = load(folder.path()).unwrap();
        let host = ask_for_host(&config).join().unwrap();
        assert_eq!(host.as_deref(), config.host_triple().ok());
        let known = load_on(Some("a-b-linux-c".to_owned()), folder.path());
        assert_eq!(known.unwrap().host_triple().unwrap(), "a-b-linux-c");
    }

    #[test]
    fn what_files_include_counts_less_than_they_do() {
        if !follows_includes() {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let linker = |name: &str| format!("[target.{TRIPLE}]\nlinker = \"{name}\"\n");
        let include = "include = [\"a.toml\", { path = \"more/b.toml\", optional = true }, \
            { path = \"missing.toml\", optional = true }]\n";
        let flags = "[build]\njobs = \"default\"\nrustflags = [\"--cfg\", \"outer\"]\n";
        write(folder.path(), "config.toml", &format!("{include}{flags}"));
        let variable = "[env]\nNVCC = { value = \"bin/nvcc\", relative = true }\n";
        let of_a = format!("{}{variable}", linker("of-a"));
        write(folder.path(), "a.toml", &of_a);
        let more = "[build]\nrustflags = [\"--cfg\", \"inner\"]\n";
        write(
            folder.path(),
            "more/b.toml",
            &format!("{}{more}", linker("tools/of-b")),
        );
        let config = load(&folder.path().join("below")).unwrap();
        let whole = folder.path().join(".cargo/tools/of-b");
        assert_eq!(config.linker(TRIPLE).unwrap(), Some(whole));
        let nvcc = &variables(&config, &[]).unwrap()["NVCC"];
        assert_eq!(nvcc.value, folder.path().join("bin/nvcc"));
        if std::env::var_os("RUSTFLAGS").is_none() {
            let flags = config.rustflags(TRIPLE).unwrap().unwrap().flags;
            assert_eq!(flags, ["--cfg", "inner", "--cfg", "outer"]);
        }
        write(
            folder.path(),
            "config.toml",
            &format!("{include}{}", linker("own")),
        );
        let config = load(folder.path()).unwrap();
        assert_eq!(config.linker(TRIPLE).unwrap(), Some("own".into()));
    }

    #[test]
    fn conditions_are_decided_for_a_target() {
        for (condition, expected) in [
            ("cfg(target_os = \"linux\")", true),
            ("cfg(all(unix, not(target_arch = \"aarch64\")))", true),
            ("cfg(windows)", false),
            ("aarch64-unknown-linux-gnu", false),
        ] {
            assert_eq!(applies(condition, TRIPLE).unwrap(), expected, "{condition}");
        }
    }

    #[test]
    fn mistakes_are_told_with_their_file() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "config.toml", "[build]\njobs = [\n");
        let error = format!("{:#}", load(folder.path()).unwrap_err());
        assert!(error.contains(".cargo/config.toml"), "{error}");
    }

    #[test]
    fn releases_are_read() {
        assert_eq!(release("cargo 1.95.0 (f2d3ce0bd 2026-03-21)\n"), Some(95));
        assert_eq!(
            release("cargo 1.97.0-nightly (4d1f98451 2026-05-15)"),
            Some(97)
        );
        assert_eq!(release("something else"), None);
    }
}
