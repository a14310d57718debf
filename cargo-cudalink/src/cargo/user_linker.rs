//! The linkers that the user has chosen, wherever that can be done.
//!
//! From the strongest to the weakest: `-C linker` for one crate (`cargo rustc`), in `RUSTFLAGS` or in the `rustflags` of
//! the configuration; `--config target.<triple>.linker`; its variable; the configuration files; and rustc's own, `cc`.
//! What comes before our own `--config` is taken out of its place and stood in for.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Result, bail};
use cargo_config2::{Config, Flags};

use super::CargoCommand;

/// What rustc links Linux programs with.
const DEFAULT: &str = "cc";

/// The linkers of a run.
#[derive(Debug)]
pub(super) struct UserLinkers {
    /// The linker for every target triple.
    pub(super) by_triple: BTreeMap<String, PathBuf>,
    /// What is left of the flags of rustc, if they named a linker, as `CARGO_ENCODED_RUSTFLAGS` has them.
    pub(super) rustflags: Option<String>,
}

impl UserLinkers {
    /// Finds them, and takes those out of the command that would be used in place of ours.
    pub(super) fn find(config: &Config, cargo: &mut impl CargoCommand) -> Result<Self> {
        let targets = cargo.common().target.clone();
        let named: Vec<&str> = targets
            .iter()
            .map(String::as_str)
            .filter(|target| !target.is_empty())
            .collect();
        let triples = config.build_target_for_config(named)?;
        let of_crate = cargo.rustc_arguments().and_then(take_linker);
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
                if triples.len() > 1 {
                    bail!(
                        "the flags of rustc name the linker of {triple}, which does not work for several targets at \
                         once; name it as target.{triple}.linker in .cargo/config.toml instead"
                    );
                }
                let mut left = Flags::default();
                left.flags = flags;
                found.rustflags = Some(left.encode()?);
            }
            let on_command_line = given(&cargo.common().config, &triple);
            let linker = match of_crate.clone().or(in_flags).or(on_command_line) {
                Some(linker) => linker,
                None => config.linker(target)?.unwrap_or_else(|| DEFAULT.into()),
            };
            found.by_triple.insert(triple, linker);
        }
        Ok(found)
    }
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

/// The linker that `--config` options name; the last one counts.
fn given(settings: &[String], triple: &str) -> Option<PathBuf> {
    settings.iter().rev().find_map(|setting| {
        let (key, value) = setting.split_once('=')?;
        let key: String = key
            .chars()
            .filter(|c| !matches!(c, ' ' | '"' | '\''))
            .collect();
        let value = value.trim().trim_matches(['"', '\'']);
        (key == format!("target.{triple}.linker")).then(|| value.into())
    })
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
    fn settings_on_the_command_line_count() {
        let triple = "x86_64-unknown-linux-gnu";
        let check = |settings: &[&str], expected: Option<&str>| {
            let settings: Vec<String> = settings.iter().map(|s| (*s).to_owned()).collect();
            assert_eq!(given(&settings, triple), expected.map(PathBuf::from));
        };
        check(&["build.jobs=2", "file.toml"], None);
        check(
            &[
                "target.x86_64-unknown-linux-gnu.linker='a'",
                "target.\"x86_64-unknown-linux-gnu\".linker = \"b\"",
                "target.aarch64-unknown-linux-gnu.linker = 'c'",
            ],
            Some("b"),
        );
    }
}
