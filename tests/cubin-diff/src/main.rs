//! The command line of cubin-diff.
#![forbid(unsafe_code)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Parser, ValueEnum};
use cubin_diff::{Difference, IgnoreList};

/// Compares two device images by meaning
#[derive(Parser)]
#[command(
    version,
    after_help = "Exit codes: 0 no difference, 1 differences, 2 an error"
)]
struct Arguments {
    /// The image that is right
    left: PathBuf,
    /// The image to judge
    right: PathBuf,
    /// File with accepted differences, one `key # reason` per line; `*` in a key is any text
    #[arg(long, value_name = "FILE")]
    ignore: Option<PathBuf>,
    /// How to print the differences
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    /// For people
    Text,
    /// For programs: a list of `{key, left, right}`
    Json,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}

/// Whether the images do not differ.
fn run(arguments: &Arguments) -> Result<bool> {
    let ignored = match &arguments.ignore {
        Some(path) => {
            let text = fs::read_to_string(path)
                .with_context(|| format!("cannot read {}", path.display()))?;
            IgnoreList::parse(&text).with_context(|| format!("in {}", path.display()))?
        }
        None => IgnoreList::default(),
    };
    let (left, right) = (read(&arguments.left)?, read(&arguments.right)?);
    let differences: Vec<Difference> = cubin_diff::compare(&left, &right)?
        .into_iter()
        .filter(|difference| !ignored.covers(difference))
        .collect();
    match arguments.format {
        Format::Text => differences
            .iter()
            .for_each(|difference| println!("{difference}")),
        Format::Json => println!("{}", serde_json::to_string_pretty(&differences)?),
    }
    Ok(differences.is_empty())
}

fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).with_context(|| format!("cannot read {}", path.display()))
}
