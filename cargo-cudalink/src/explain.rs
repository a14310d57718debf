//! `cargo cudalink explain`: what the code of a message means.

use anyhow::{Result, anyhow};
use clap::Args;
use rustnvlink::cli;

use crate::doctor;
use crate::streams;

/// Say what the code of a message means, and what to do
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The code that stands in brackets behind a message, such as undefined-reference
    #[arg(value_name = "CODE")]
    code: String,
}

/// Does what the command line asks for.
pub(crate) fn run(arguments: Arguments) -> Result<()> {
    let text = explanation(&arguments.code)?;
    streams::print(format!("{text}\n").as_bytes())
}

fn explanation(code: &str) -> Result<String> {
    let code = code.trim_matches(['[', ']']);
    match doctor::codes::meaning(code) {
        Some(meaning) => Ok(cli::described(code, meaning)),
        None => cli::explanation(code).map_err(|problem| anyhow!(problem.shown())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_of_every_command_are_known() {
        let text = |code| explanation(code).unwrap();
        assert!(text("[undefined-reference]").contains("that no input defines"));
        assert!(text("never-linked").contains("waits for a device link"));
        let error = explanation("undefined-refrence").unwrap_err().to_string();
        assert!(
            error.contains("did you mean 'undefined-reference'?"),
            "{error}"
        );
    }
}
