//! The command line. Every subcommand has its arguments and its work in the module of its name.

use clap::{Parser, Subcommand};

use crate::{inspect, link, script, style, toolkit};

/// Device-links the CUDA objects of a Cargo build.
#[derive(Debug, Parser)]
#[command(name = "cargo-cudalink", bin_name = "cargo cudalink", version, styles = style::HELP)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Inspect(inspect::Arguments),
    Link(link::Arguments),
    Script(script::Arguments),
    Toolkit(toolkit::Arguments),
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
