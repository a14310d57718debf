//! The linkers that the user has chosen, wherever that can be done.
//!
//! From the strongest to the weakest: `-C linker` for one crate (`cargo rustc`), in `RUSTFLAGS` or in the `rustflags` of
//! the configuration; `--config target.<triple>.linker`; its variable; the configuration files; what any of these say for
//! targets with a condition (`target.'cfg(unix)'.linker`); and rustc's own, `cc`.
//! What comes before our own `--config` is taken out of its place and stood in for.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use cargo_config2::{Config, Flags, de};

use super::{CargoCommand, configuration};
use crate::triple::is_linux;

/// What rustc links Linux programs with.
pub(super) const DEFAULT: &str = "cc";

/// The linkers of a run.
#[derive(Debug)]
pub(super) struct UserLinkers {
    /// The linker for every target triple.
    pub(super) by_triple: BTreeMap<String, PathBuf>,
    /// What is left of the flags of rustc, if they named a linker, as `CARGO_ENCODED_RUSTFLAGS` has them.
    pub(super) rustflags: Option<String>,
}

impl UserLinkers {
    /// Finds them with the configuration that counts in a folder, and takes those out of the command that would be used in place of ours.
    ///
    /// That of this machine is always among them: it links build scripts and procedural macros, which cargo would build
    /// again whenever builds for this machine and for another one take turns.
    pub(super) fn find(
        config: &Config,
        folder: &Path,
        cargo: &mut impl CargoCommand,
    ) -> Result<Self> {
        let given = Given::read(&cargo.common().config)?;
        let mut targets = cargo.common().target.clone();
        targets.retain(|target| !target.is_empty());
        if targets.is_empty() {
            targets.clone_from(&given.targets);
        }
        let named: Vec<&str> = targets.iter().map(String::as_str).collect();
        let triples = config.build_target_for_config(named)?;
        let number = triples.len();
        // Elsewhere nothing links device code, and rustc may have a linker of its own.
        let triples = triples
            .into_iter()
            .filter(|target| target.spec_path().is_some() || is_linux(target.triple()));
        let triples: Vec<_> = triples.collect();
        let of_crate = match triples.is_empty() {
            true => None,
            false => cargo.rustc_arguments().and_then(take_linker),
        };
        let mut found = Self {
            by_triple: BTreeMap::new(),
            rustflags: None,
        };
        for target in &triples {
            let triple = target.triple().to_owned();
            let mut flags = config
                .rustflags(target)?
                .map_or_else(Vec::new, |flags| flags.flags);
            let in_flags = take_linker(&mut flags);
            if in_flags.is_some() {
                if number > 1 {
                    bail!(
                        "the flags of rustc name the linker of {triple}, which does not work for several targets at \
                         once; name it as target.{triple}.linker in .cargo/config.toml instead"
                    );
                }
                let mut left = Flags::default();
                left.flags = flags;
                found.rustflags = Some(left.encode()?);
            }
            let linker = match of_crate.clone().or(in_flags) {
                Some(linker) => linker,
                None => configured(config, &given, folder, &triple)?,
            };
            found.by_triple.insert(triple, linker);
        }
        let host = config.host_triple()?.to_owned();
        if is_linux(&host) && !found.by_triple.contains_key(&host) {
            // Flags of rustc are for targets alone where these are named.
            let linker = configured(config, &given, folder, &host)?;
            found.by_triple.insert(host, linker);
        }
        Ok(found)
    }
}

/// The linker for a target where no flag of rustc names it.
fn configured(config: &Config, given: &Given, folder: &Path, triple: &str) -> Result<PathBuf> {
    let linker = match given.linker(triple, folder)? {
        Some(linker) => Some(linker),
        None => config.linker(triple)?,
    };
    Ok(linker.unwrap_or_else(|| DEFAULT.into()))
}

/// Takes the linker out of flags of rustc; the last one counts.
fn take_linker(flags: &mut Vec<String>) -> Option<PathBuf> {
    let mut linker = None;
    let mut left = Vec::with_capacity(flags.len());
    let mut words = std::mem::take(flags).into_iter().peekable();
    while let Some(word) = words.next() {
        let is_apart = word == "-C" || word == "--codegen";
        let option = match is_apart {
            true => words.peek().map(String::as_str),
            false => word
                .strip_prefix("--codegen=")
                .or_else(|| word.strip_prefix("-C")),
        };
        let path = option.and_then(|option| option.strip_prefix("linker="));
        match path.map(PathBuf::from) {
            Some(path) => {
                linker = Some(path);
                if is_apart {
                    words.next();
                }
            }
            None => left.push(word),
        }
    }
    *flags = left;
    linker
}

/// What `--config` options say. Of several the last one counts.
#[derive(Debug, Default)]
struct Given {
    targets: Vec<String>,
    linkers: BTreeMap<String, PathBuf>,
}

impl Given {
    fn read(settings: &[String]) -> Result<Self> {
        let mut given = Self::default();
        for config in configuration::given(settings)? {
            given.take(config)?;
        }
        Ok(given)
    }

    /// The linker of a target. One for targets with a condition counts where nothing else names that of this one.
    fn linker(&self, triple: &str, folder: &Path) -> Result<Option<PathBuf>> {
        if let Some(of_triple) = self.linkers.get(triple) {
            return Ok(Some(of_triple.clone()));
        }
        let conditional = self.linkers.iter();
        let conditional: Vec<_> = conditional
            .filter(|(target, _)| target.starts_with("cfg("))
            .collect();
        // The configuration is read again for these alone.
        if conditional.is_empty() || configuration::names_linker(folder, triple) {
            return Ok(None);
        }
        for (condition, linker) in conditional {
            if configuration::applies(condition, triple)? {
                return Ok(Some(linker.clone()));
            }
        }
        Ok(None)
    }

    fn take(&mut self, config: de::Config) -> Result<()> {
        let flags = config.target.values().map(|target| &target.rustflags);
        for flags in flags.chain([&config.build.rustflags]).flatten() {
            let mut words = flags.flags.iter().map(|word| word.val.clone()).collect();
            if let Some(linker) = take_linker(&mut words) {
                bail!(
                    "the linker '{}' is among the flags of rustc in a --config option; name it there as \
                     target.<triple>.linker instead",
                    linker.display()
                );
            }
        }
        if let Some(targets) = config.build.target {
            let targets = match targets {
                de::StringOrArray::String(target) => vec![target],
                de::StringOrArray::Array(targets) => targets,
            };
            self.targets = targets.into_iter().map(|target| target.val).collect();
        }
        for (triple, target) in config.target {
            let linker = target.linker.map(|linker| PathBuf::from(linker.val));
            self.linkers.extend(linker.map(|linker| (triple, linker)));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_linker_is_taken_out_of_flags() {
        let check = |flags: &str, left: &str, linker: Option<&str>| {
            let mut words: Vec<String> = flags.split_whitespace().map(str::to_owned).collect();
            assert_eq!(take_linker(&mut words), linker.map(PathBuf::from));
            assert_eq!(words.join(" "), left);
        };
        check("-C opt-level=3", "-C opt-level=3", None);
        check("-C linker=clang -g", "-g", Some("clang"));
        check("-Clinker=a --codegen linker=b", "", Some("b"));
        check(
            "--codegen=linker=c -Clinker-flavor=gcc -C",
            "-Clinker-flavor=gcc -C",
            Some("c"),
        );
    }

    #[test]
    fn only_linkers_of_linux_are_found_and_always_that_of_this_machine() {
        let folder = tempfile::tempdir().unwrap();
        let config = Config::load_with_cwd(folder.path()).unwrap();
        let host = config.host_triple().unwrap();
        let check = |targets: &[&str], settings: &[&str], expected: &[(&str, &str)]| {
            let mut command = cargo_options::Build::default();
            let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
            command.common.target = owned(targets);
            command.common.config = owned(settings);
            let found = UserLinkers::find(&config, folder.path(), &mut command);
            let expected = expected.iter();
            let expected: BTreeMap<String, PathBuf> = expected
                .filter(|(triple, _)| is_linux(triple))
                .map(|(triple, linker)| ((*triple).to_owned(), PathBuf::from(linker)))
                .collect();
            assert_eq!(found.unwrap().by_triple, expected, "{targets:?}");
        };
        let other = "riscv64gc-unknown-linux-gnu";
        let targets = ["wasm32-unknown-unknown", other, "x86_64-unknown-none"];
        check(&targets, &[], &[(other, "cc"), (host, "cc")]);
        check(&targets[..1], &[], &[(host, "cc")]);
        check(&[], &[], &[(host, "cc")]);
        let of_host = format!("target.{host}.linker='own'");
        check(&[other], &[&of_host], &[(other, "cc"), (host, "own")]);
    }

    #[test]
    fn conditions_count_where_nothing_names_the_target() {
        let triple = "x86_64-unknown-linux-gnu";
        let folder = tempfile::tempdir().unwrap();
        let check = |settings: &[&str], expected: Option<&str>| {
            let settings: Vec<String> = settings.iter().map(|s| (*s).to_owned()).collect();
            let linker = Given::read(&settings)
                .unwrap()
                .linker(triple, folder.path());
            assert_eq!(linker.unwrap(), expected.map(PathBuf::from));
        };
        let unix = "target.'cfg(unix)'.linker='of-unix'";
        let own = "target.x86_64-unknown-linux-gnu.linker='own'";
        check(&[unix, "target.'cfg(windows)'.linker='x'"], Some("of-unix"));
        check(&[own, unix], Some("own"));
        std::fs::create_dir(folder.path().join(".cargo")).unwrap();
        let file = format!("[target.{triple}]\nlinker = \"of-file\"\n");
        std::fs::write(folder.path().join(".cargo/config.toml"), file).unwrap();
        check(&[unix], None);
    }

    #[test]
    fn settings_on_the_command_line_count() {
        let triple = "x86_64-unknown-linux-gnu";
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file.toml");
        let text = format!("[target.{triple}]\nlinker = \"of-file\"\n");
        std::fs::write(&file, text).unwrap();
        let file = file.to_str().unwrap();
        let read = |settings: &[&str]| {
            let settings: Vec<String> = settings.iter().map(|s| (*s).to_owned()).collect();
            Given::read(&settings)
        };
        let check = |settings: &[&str], expected: Option<&str>| {
            let linker = read(settings).unwrap().linkers.remove(triple);
            assert_eq!(linker, expected.map(PathBuf::from));
        };
        check(&["build.jobs='default'"], None);
        check(&["build.jobs=2", file], Some("of-file"));
        check(
            &[
                file,
                "target.x86_64-unknown-linux-gnu.linker='a'",
                "target.\"x86_64-unknown-linux-gnu\".linker = \"b\"",
                "target.aarch64-unknown-linux-gnu.linker = 'c'",
            ],
            Some("b"),
        );
        assert_eq!(read(&["build.target='t'"]).unwrap().targets, ["t"]);
        for flags in ["build.rustflags", "target.'cfg(all())'.rustflags"] {
            let setting = format!("{flags}=['-g', '-C', 'linker=d']");
            let error = read(&[&setting]).unwrap_err().to_string();
            assert!(error.contains("'d' is among the flags"), "{error}");
        }
    }
}
