//! What tests of programs have in common: when they are skipped, and what a program has to say.

use std::collections::BTreeSet;
use std::io::{self, Write as _};
use std::sync::Mutex;
use std::{env, thread};

use anyhow::{Error, Result, ensure};

/// Whether a test that is skipped fails.
pub fn skips_fail() -> bool {
    env::var_os("CI").is_some_and(|value| !value.is_empty())
}

/// The reasons that this program has told in full.
static TOLD: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// Ends a test for which something is not there, and says so.
///
/// # Errors
///
/// Fails where `CI` is set.
pub fn skip(reason: &Error) -> Result<()> {
    ensure!(
        !skips_fail(),
        "a skip is a failure where CI is set: {reason:#}"
    );
    let test = thread::current();
    let test = test.name().unwrap_or_default();
    let reason = format!("{reason:#}");
    let is_news = TOLD
        .lock()
        .expect("no test panics here")
        .insert(reason.clone());
    // The places where a toolkit was looked for are many.
    let shown = if is_news {
        &reason
    } else {
        reason.lines().next().unwrap_or_default()
    };
    // Not by a macro: of those, what a test that passes prints is not shown.
    writeln!(io::stderr(), "skipped {test}: {shown}")?;
    Ok(())
}

/// Looks for all of these parts.
///
/// # Errors
///
/// Fails where one is missing.
pub fn says(text: &str, parts: &[&str]) -> Result<()> {
    for part in parts {
        ensure!(text.contains(part), "no '{part}' in\n{text}");
    }
    Ok(())
}
