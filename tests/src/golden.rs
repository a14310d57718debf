//! Exit codes and messages of many links in one reviewed text file.
//!
//! `RUSTNVLINK_UPDATE_GOLDENS=1` writes the files anew from what nvlink does.

use std::env;
use std::fmt::Write as _;
use std::fs;

use anyhow::{Context, Result};

use crate::case::Case;
use crate::run::Linked;

/// What differs between the golden file and what nvlink did, one line each.
pub fn check(case: &Case, name: &str, links: &[Linked]) -> Result<Vec<String>> {
    let path = case.folder.join(name);
    let actual = text(links);
    if env::var_os("RUSTNVLINK_UPDATE_GOLDENS").is_some_and(|value| value == "1") {
        fs::write(&path, &actual).with_context(|| format!("cannot write {}", path.display()))?;
    }
    let expected = fs::read_to_string(&path).with_context(|| {
        format!(
            "cannot read {}; RUSTNVLINK_UPDATE_GOLDENS=1 makes it",
            path.display()
        )
    })?;
    let mut wrong = Vec::new();
    let mut actual = actual.lines();
    for expected in expected.lines() {
        match actual.next() {
            Some(line) if line == expected => {}
            Some(line) => wrong.push(format!("{name}: expected `{expected}`, got `{line}`")),
            None => wrong.push(format!("{name}: `{expected}` is missing")),
        }
    }
    wrong.extend(actual.map(|line| format!("{name}: `{line}` is not expected")));
    Ok(wrong)
}

/// One line for the end of each link, then its messages, indented.
fn text(links: &[Linked]) -> String {
    let mut text = String::new();
    for linked in links {
        let ended = &linked.entry.ended;
        writeln!(text, "{}: {}", linked.link.name, ended.exit).expect("a string takes any text");
        for message in ended.stdout.lines().chain(ended.stderr.lines()) {
            writeln!(text, "    {message}").expect("a string takes any text");
        }
    }
    text
}
