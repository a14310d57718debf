//! The user's linker, as rustc wants it to run and with what we add.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus};

use anyhow::{Context, Result};

use crate::platform;

/// Whether a linker that says this of itself takes no script with `INSERT`. It places large data by itself.
fn goes_without_script(version: &str) -> bool {
    version.starts_with("mold ") || version.starts_with("GNU gold ")
}

/// The user's linker and what rustc wants of it.
#[derive(Debug)]
pub(super) struct HostLink<'a> {
    pub(super) linker: &'a Path,
    pub(super) arguments: Vec<OsString>,
    /// Where files go that only this link needs.
    pub(super) folder: PathBuf,
}

impl HostLink<'_> {
    /// Goes on as the user's linker.
    pub(super) fn replace(&self) -> Result<ExitCode> {
        let mut command = Command::new(self.linker);
        command.args(&self.arguments);
        platform::replace_by(command).map_err(|error| self.explain(error))
    }

    /// Runs the user's linker with more inputs.
    pub(super) fn run(&self, first: Vec<OsString>, last: Vec<OsString>) -> Result<ExitStatus> {
        let all: Vec<&OsString> = first.iter().chain(&self.arguments).chain(&last).collect();
        let mut command = Command::new(self.linker);
        command.args(&all);
        let status = match command.status() {
            // What we add can be what is too much; a file takes any number of arguments.
            Err(error) if error.kind() == io::ErrorKind::ArgumentListTooLong => {
                let file = self.response_file(&all)?;
                let mut at = OsString::from("@");
                at.push(file.path());
                Command::new(self.linker).arg(at).status()
            }
            status => status,
        };
        status.map_err(|error| self.explain(platform::not_started(&command, error)))
    }

    fn response_file(&self, arguments: &[&OsString]) -> Result<tempfile::NamedTempFile> {
        let mut text = String::new();
        for argument in arguments {
            let argument = argument
                .to_str()
                .with_context(|| format!("{argument:?} cannot stand in a response file"))?;
            for character in argument.chars() {
                if matches!(character, '\\' | '"' | '\'') || character.is_whitespace() {
                    text.push('\\');
                }
                text.push(character);
            }
            text.push('\n');
        }
        let file =
            tempfile::NamedTempFile::new_in(&self.folder).context("cannot make a response file")?;
        fs::write(file.path(), text).context("cannot write a response file")?;
        Ok(file)
    }

    /// Whether the linker needs a script for much device code, and understands it. One that says nothing gets it.
    pub(super) fn takes_script(&self) -> bool {
        let ask = match self.is_linker_proper() {
            true => "--version",
            false => "-Wl,--version",
        };
        let mut command = Command::new(self.linker);
        let said = command.args(&self.arguments).arg(ask).output();
        !said.is_ok_and(|said| goes_without_script(&String::from_utf8_lossy(&said.stdout)))
    }

    /// The machine that it links for, if it says so.
    pub(super) fn machine(&self) -> Option<String> {
        let mut command = Command::new(self.linker);
        let said = command.args(&self.arguments).arg("-dumpmachine").output();
        let said = String::from_utf8(said.ok()?.stdout).ok()?;
        let (machine, rest) = said.trim().split_once('-')?;
        (!rest.contains(char::is_whitespace)).then(|| machine.to_owned())
    }

    /// Whether this is no compiler that calls a linker.
    fn is_linker_proper(&self) -> bool {
        let name = self.linker.file_stem().unwrap_or_default();
        let name = name.to_string_lossy();
        ["ld", "lld", "mold", "wild"]
            .iter()
            .any(|proper| name == *proper || name.ends_with(&format!("-{proper}")))
            || name.starts_with("ld.")
    }

    fn explain(&self, error: anyhow::Error) -> anyhow::Error {
        let missing = error
            .downcast_ref::<io::Error>()
            .is_some_and(|error| error.kind() == io::ErrorKind::NotFound);
        match missing {
            true => error.context(format!(
                "the host linker '{}' is not there; install it, or name another one with target.<triple>.linker in \
                 .cargo/config.toml",
                self.linker.display()
            )),
            false => error,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linkers_that_take_no_script_are_known_by_what_they_say() {
        let check = |said: &str, expected: bool| {
            assert_eq!(goes_without_script(said), expected, "{said}");
        };
        check("mold 1.10.1 (compatible with GNU ld)\n", true);
        check("GNU gold (GNU Binutils for Debian 2.40) 1.16\n", true);
        check("GNU ld (GNU Binutils for Debian) 2.40\n", false);
        check("LLD 14.0.6 (compatible with GNU linkers)\n", false);
        check("", false);
        // `echo` says what it is told.
        let host = |said: &str| HostLink {
            linker: Path::new("echo"),
            arguments: vec![said.into()],
            folder: PathBuf::new(),
        };
        assert!(!host("mold 2.40").takes_script());
        assert!(host("GNU ld").takes_script());
    }

    #[test]
    fn the_machine_is_what_compilers_say() {
        // `printf` says what it is told first.
        let check = |said: &str, expected: Option<&str>| {
            let host = HostLink {
                linker: Path::new("printf"),
                arguments: vec![said.into()],
                folder: PathBuf::new(),
            };
            assert_eq!(host.machine().as_deref(), expected, "{said}");
        };
        check("aarch64-linux-gnu\n", Some("aarch64"));
        check("GNU ld - one of the linkers", None);
        check("", None);
    }
}
