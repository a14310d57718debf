//! What tests of programs have in common: when they are skipped, and what a program has to say.

use std::env;

use anyhow::{Error, Result, ensure};

/// Whether a test that is skipped fails.
pub fn skips_fail() -> bool {
    env::var_os("CI").is_some_and(|value| !value.is_empty())
}

/// Ends a test for which something is not there.
///
/// # Errors
///
/// Fails where `CI` is set.
pub fn skip(reason: &Error) -> Result<()> {
    ensure!(
        !skips_fail(),
        "a skip is a failure where CI is set: {reason:#}"
    );
    eprintln!("skipped: {reason:#}");
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
