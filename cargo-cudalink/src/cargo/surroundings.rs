//! The variables that cargo runs with.
//!
//! All programs below it have them, too: those that `cargo cudalink run` and `test` start, and `exec`. A command of ours
//! that one of them runs is about another build, for which the user's own variables count.

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};

use crate::plan::{PLAN_VARIABLE, Plan};

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

/// Where this command runs below another one of ours: the same command with the variables of the user.
pub(super) fn command_of_user() -> Result<Option<Command>> {
    let Some(plan) = env::var_os(PLAN_VARIABLE) else {
        return Ok(None);
    };
    let program = env::current_exe().context("this program does not know where it lies")?;
    let mut command = Command::new(program);
    command
        .args(env::args_os().skip(1))
        .env_remove(PLAN_VARIABLE);
    // A run that has ended has left nothing to give back.
    let variables = Plan::read(Path::new(&plan)).map_or_else(|_| Vec::new(), |p| p.variables);
    for variable in &variables {
        variable.undo(&mut command, env::var_os(&variable.name).as_deref());
    }
    Ok(Some(command))
}

#[cfg(test)]
mod tests {
    use super::*;

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
