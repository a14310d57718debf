//! The command line. Every subcommand has its arguments and its work in the module of its name.

use std::env;
use std::ffi::{OsStr, OsString};
use std::io::{self, Write as _};

use anyhow::{Result, bail};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use rustnvlink::cli::{FLAGS, LinkOptions, Spelling};
use rustnvlink::codes;

use crate::cargo::exec::Exec;
use crate::cargo::{WithDevice, number_of_jobs};
use crate::stand_in::line;
use crate::{
    clean, doctor, explain, fatbinary, inspect, link, nvcc_dlink, script, shell, streams, style,
    toolkit,
};

/// Link CUDA device code, in builds with Cargo and of objects alone
#[derive(Debug, Parser)]
#[command(
    name = "cargo-cudalink",
    bin_name = "cargo cudalink",
    version,
    styles = style::HELP,
    after_help = "\
Examples:
  cargo cudalink toolkit install
  cargo cudalink run --arch sm_90
  cargo cudalink link main.o part.o -o device_link.o
  cargo cudalink doctor program"
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

impl Cli {
    /// Reads a command line, if it does not ask for help alone, which is printed. Variables that are set to nothing count as
    /// not set, and where build systems name many files, `@FILE` stands for the words in it.
    pub(crate) fn read(mut arguments: Vec<OsString>) -> Result<Option<Self>> {
        if arguments
            .get(1)
            .is_some_and(|word| word == "link" || word == "doctor")
        {
            arguments = line::expanded(&arguments)?;
        }
        let arguments = spelled_as_here(arguments);
        let read = with_all_numbers_of_jobs(without_empty_variables(Self::command()))
            .try_get_matches_from(&arguments)
            .and_then(|matches| Self::from_arg_matches(&matches));
        match read {
            Ok(cli) => Ok(Some(cli)),
            Err(mut error) if error.use_stderr() => {
                let unknown = match error.get(ContextKind::InvalidSubcommand) {
                    Some(ContextValue::String(word)) => Some(word),
                    _ => None,
                };
                if let Some(word) = unknown.filter(|word| compiles_nothing(word)) {
                    bail!("`cargo {word}` links nothing: run it without `cudalink`");
                }
                if let Some(word) = unknown.filter(|word| is_command_of_cargo(word)) {
                    bail!(
                        "there is no `cargo cudalink {word}`; `cargo cudalink exec cargo {word} ..` runs it with device links"
                    );
                }
                let of_variable = variable_behind(&error, &arguments)
                    .map(|variable| format!("the variable {variable} says so"));
                let tip = of_variable
                    .or_else(|| option_of_linker(&error, &arguments))
                    .or_else(|| option_of_nvcc(&error, &arguments))
                    .or_else(|| option_of_cargo(&error, &arguments));
                if let Some(tip) = tip {
                    let tips = ContextValue::StyledStrs(vec![tip.into()]);
                    error.insert(ContextKind::Suggested, tips);
                }
                error.exit()
            }
            Err(help) => {
                streams::printed(help.print().and_then(|()| io::stdout().flush()))?;
                Ok(None)
            }
        }
    }
}

/// The same command, to which variables that are set to nothing are not set.
fn without_empty_variables(command: clap::Command) -> clap::Command {
    let is_empty = |name: &OsStr| env::var_os(name).is_some_and(|v| v.is_empty());
    command
        .mut_args(|argument| match argument.get_env() {
            Some(name) if is_empty(name) => argument.env(None),
            _ => argument,
        })
        .mut_subcommands(without_empty_variables)
}

/// The same command, which counts jobs as cargo does.
fn with_all_numbers_of_jobs(command: clap::Command) -> clap::Command {
    command
        .mut_args(|argument| match argument.get_long() {
            Some("jobs") => argument.value_parser(number_of_jobs),
            _ => argument,
        })
        .mut_subcommands(with_all_numbers_of_jobs)
}

/// The variable that has a value which is refused, where the command line does not have the option.
fn variable_behind(error: &clap::Error, arguments: &[OsString]) -> Option<String> {
    let Some(ContextValue::String(refused)) = error.get(ContextKind::InvalidArg) else {
        return None;
    };
    let option = refused.split([' ', '[', '=']).next()?;
    let is_option = |word: &OsString| {
        let word = word.to_str().and_then(|word| word.split('=').next());
        word == Some(option)
    };
    if arguments.iter().any(is_option) {
        return None;
    }
    let command = Cli::command();
    let mut known = command.get_subcommands().flat_map(|c| c.get_arguments());
    let known = known.find(|known| known.get_long() == option.strip_prefix("--"))?;
    let variable = known.get_env().filter(|name| env::var_os(name).is_some())?;
    Some(variable.to_str()?.to_owned())
}

/// What to say of an option that `rustnvlink` has.
fn option_of_linker(error: &clap::Error, arguments: &[OsString]) -> Option<String> {
    let Some(ContextValue::String(refused)) = error.get(ContextKind::InvalidArg) else {
        return None;
    };
    arguments.get(1).filter(|word| *word == "link")?;
    let mut words = arguments.iter().filter_map(|word| word.to_str());
    let word = words.find(|word| word.starts_with(refused.as_str()))?;
    let option = word.split('=').next()?;
    let is_it = |flag: &&Spelling| match option.strip_prefix("--") {
        Some(long) => flag.long == long,
        None => flag
            .short
            .is_some_and(|short| short.len() > 1 && option.strip_prefix('-') == Some(short)),
    };
    FLAGS.iter().find(is_it)?;
    let is_misplaced = |typed: String| {
        let read = LinkOptions::parse(vec![typed.into()]);
        read.is_err_and(|problem| problem.code == codes::MISPLACED_OPTION)
    };
    let is_of_command = is_misplaced(option.to_owned()) || is_misplaced(format!("{option}=x"));
    Some(match is_of_command {
        true => {
            format!("'{option}' is for a link by `rustnvlink` itself: rustnvlink -arch=sm_90 ..")
        }
        false => format!("'{option}' is for the linker: -Xnvlink={word}"),
    })
}

/// What to say of an option that only nvcc has: of `-gencode` only the first letter is refused.
fn option_of_nvcc(error: &clap::Error, arguments: &[OsString]) -> Option<String> {
    let Some(ContextValue::String(letter)) = error.get(ContextKind::InvalidArg) else {
        return None;
    };
    let is_command = |name: &str| arguments.get(1).is_some_and(|word| word == name);
    if is_command("nvcc-dlink") {
        return Some(
            "the compiler comes first: `cargo cudalink nvcc-dlink nvcc -dlink ..`".to_owned(),
        );
    }
    let is_link = is_command("link");
    let mut words = arguments.iter().filter_map(|word| word.to_str());
    let word = words.find(|word| word.starts_with(letter.as_str()) && word.len() > 2)?;
    let is_of_nvcc = is_link && letter.len() == 2 && !letter.starts_with("--");
    is_of_nvcc.then(|| {
        format!("if '{word}' is for nvcc: `cargo cudalink nvcc-dlink nvcc ..` takes a command line of nvcc -dlink")
    })
}

/// What to say of an option that a command of cargo may have: not all that clippy knows is known here, nor what later
/// releases bring.
fn option_of_cargo(error: &clap::Error, arguments: &[OsString]) -> Option<String> {
    let Some(ContextValue::String(option)) = error.get(ContextKind::InvalidArg) else {
        return None;
    };
    let is_unknown = error.kind() == ErrorKind::UnknownArgument && option.starts_with("--");
    let is_mistyped = match error.get(ContextKind::SuggestedArg) {
        Some(ContextValue::String(meant)) => meant.len().abs_diff(option.len()) <= 2,
        _ => false,
    };
    let word = arguments.get(1).filter(|_| is_unknown && !is_mistyped)?;
    let command = Cli::command();
    let command = command.find_subcommand(word)?;
    let has_options_of_cargo = command
        .get_arguments()
        .any(|argument| argument.get_long() == Some("target-dir"));
    let name = command.get_name();
    let runs_cargo = has_options_of_cargo && name != "clean";
    runs_cargo
        .then(|| format!("where cargo has it: `cargo cudalink exec cargo {name} {option} ..`"))
}

/// Whether this is a command of cargo without which device code does well.
fn compiles_nothing(word: &str) -> bool {
    const COMMANDS: [&str; 22] = [
        "add",
        "config",
        "fetch",
        "fmt",
        "generate-lockfile",
        "info",
        "init",
        "locate-project",
        "login",
        "logout",
        "metadata",
        "new",
        "owner",
        "pkgid",
        "remove",
        "report",
        "search",
        "tree",
        "uninstall",
        "update",
        "vendor",
        "yank",
    ];
    COMMANDS.contains(&word)
}

/// Whether cargo has a command that we have not: one of its own that compiles, or a program on PATH.
fn is_command_of_cargo(word: &str) -> bool {
    let is_there = || {
        let program = format!("cargo-{word}{}", env::consts::EXE_SUFFIX);
        let path = env::var_os("PATH").unwrap_or_default();
        env::split_paths(&path).any(|folder| folder.join(&program).is_file())
    };
    matches!(word, "fix" | "package" | "publish" | "rustdoc") || is_there()
}

/// Gives options a second dash that users know from nvcc with one before a word. What goes on to other programs stays.
fn spelled_as_here(mut arguments: Vec<OsString>) -> Vec<OsString> {
    let count = words_of_ours(&arguments);
    let is_link = arguments.get(1).is_some_and(|word| word == "link");
    for argument in &mut arguments[..count] {
        if is_link && argument == "-lineinfo" {
            // The linker has something to say of it, which is no library either.
            *argument = "--Xnvlink=-lineinfo".into();
        }
        let is_nvcc = argument.to_str().is_some_and(|text| {
            let name = text.split_once('=').map_or(text, |(name, _)| name);
            matches!(name, "-arch" | "-dlto" | "-lto" | "-Xnvlink")
        });
        if is_nvcc {
            let mut spelled = OsString::from("-");
            spelled.push(&argument);
            *argument = spelled;
        }
    }
    arguments
}

/// How many words stand before those of another program.
fn words_of_ours(arguments: &[OsString]) -> usize {
    let dashes = arguments.iter().position(|word| word == "--");
    let end = dashes.unwrap_or(arguments.len());
    let name = arguments.get(1).and_then(|name| name.to_str());
    match name.unwrap_or_default() {
        "nvcc-dlink" | "fatbinary" => 0,
        // The first word that is no option belongs to another program, with all that follows.
        name @ ("exec" | "run" | "r") => {
            let command = Cli::command();
            let mut at = 2;
            while let Some(word) = arguments[..end].get(at).and_then(|word| word.to_str())
                && word.starts_with('-')
            {
                at += 1 + usize::from(takes_next_word(&command, name, word));
            }
            at.min(end)
        }
        _ => end,
    }
}

/// Whether an option of a subcommand has its value in the next word.
fn takes_next_word(command: &clap::Command, subcommand: &str, option: &str) -> bool {
    let name = option.trim_start_matches('-');
    let is_it = |argument: &&clap::Arg| match name.len() {
        1 => argument.get_short() == name.chars().next(),
        _ => argument.get_long() == Some(name),
    };
    let subcommand = command.find_subcommand(subcommand);
    let argument = subcommand.and_then(|subcommand| subcommand.get_arguments().find(is_it));
    argument.is_some_and(|argument| {
        argument.get_action().takes_values() && !argument.is_require_equals_set()
    })
}

/// An option that cargo has no longer: it says what to take instead.
fn no_longer(option: clap::Arg) -> clap::Arg {
    option.hide(true)
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Compile the current package, and device-link its programs
    #[command(visible_alias = "b")]
    Build(Box<WithDevice<cargo_options::Build>>),
    /// Run a program of the current package
    #[command(visible_alias = "r")]
    Run(Box<WithDevice<cargo_options::Run>>),
    /// Run the tests
    #[command(visible_alias = "t", mut_arg("keep_going", no_longer))]
    Test(Box<WithDevice<cargo_options::Test>>),
    /// Run the benchmarks
    #[command(mut_arg("keep_going", no_longer))]
    Bench(Box<WithDevice<cargo_options::Bench>>),
    /// Analyze the current package and report errors, but don't link
    #[command(visible_alias = "c")]
    Check(Box<WithDevice<cargo_options::Check>>),
    /// Run clippy on the current package
    Clippy(Box<WithDevice<cargo_options::Clippy>>),
    /// Build the documentation of the current package
    #[command(visible_alias = "d")]
    Doc(Box<WithDevice<cargo_options::Doc>>),
    /// Build the programs of a package and install them
    Install(Box<WithDevice<cargo_options::Install>>),
    /// Compile the current package with extra options for rustc
    Rustc(Box<WithDevice<cargo_options::Rustc>>),
    /// Run a program that runs cargo, such as `cargo nextest run`, and device-link what cargo builds
    Exec(Box<WithDevice<Exec>>),
    Clean(clean::Arguments),
    Doctor(doctor::Arguments),
    Explain(explain::Arguments),
    Fatbinary(fatbinary::Arguments),
    Inspect(inspect::Arguments),
    Link(link::Arguments),
    NvccDlink(nvcc_dlink::Arguments),
    Script(script::Arguments),
    Toolkit(toolkit::Arguments),
    Completions(shell::CompletionsArguments),
    Man(shell::ManArguments),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_nvcc_may_have_one_dash() {
        let check = |typed: &str, expected: &str| {
            let words = typed.split(' ').map(OsString::from).collect();
            let spelled = spelled_as_here(words);
            assert_eq!(spelled.join(std::ffi::OsStr::new(" ")), expected);
        };
        check(
            "c link -dlto -Xnvlink=-v a.o",
            "c link --dlto --Xnvlink=-v a.o",
        );
        check("c link a.o -lineinfo", "c link a.o --Xnvlink=-lineinfo");
        check("c build -arch=sm_90 -v", "c build --arch=sm_90 -v");
        check("c run -- -dlto", "c run -- -dlto");
        check(
            "c run -arch sm_90 -j 2 -dlto x -dlto",
            "c run --arch sm_90 -j 2 --dlto x -dlto",
        );
        check(
            "c exec --dlto nvcc -arch=sm_90",
            "c exec --dlto nvcc -arch=sm_90",
        );
        check("c nvcc-dlink nvcc -dlto", "c nvcc-dlink nvcc -dlto");
    }

    #[test]
    fn help_keeps_what_is_ours_apart_from_what_is_cargos() {
        for command in Cli::command().get_subcommands() {
            for argument in command.get_arguments() {
                let is_ours = argument.get_env().is_some();
                let is_shown_so = argument.get_help_heading() == Some("Device Link");
                assert_eq!(is_shown_so, is_ours, "{} {argument}", command.get_name());
            }
        }
    }

    #[test]
    fn examples_are_understood() {
        fn check(command: &clap::Command) -> usize {
            let text = command.get_after_help().map(ToString::to_string);
            let text = text.unwrap_or_default();
            let examples = text
                .lines()
                .filter_map(|line| line.strip_prefix("  cargo cudalink "));
            let mut number = 0;
            for example in examples {
                let words = format!("c {example}");
                let read = Cli::command().try_get_matches_from(words.split(' '));
                assert!(read.is_ok(), "{example}: {}", read.unwrap_err());
                number += 1;
            }
            number + command.get_subcommands().map(check).sum::<usize>()
        }
        assert!(check(&Cli::command()) > 10);
    }

    #[test]
    fn options_that_only_cargo_knows_have_a_way() {
        let check = |words: &str, expected: Option<&str>| {
            let words: Vec<OsString> = words.split(' ').map(OsString::from).collect();
            let error = Cli::command().try_get_matches_from(&words).unwrap_err();
            let tip = option_of_cargo(&error, &words);
            assert_eq!(tip.as_deref(), expected, "{words:?}");
        };
        let way = "where cargo has it: `cargo cudalink exec cargo clippy --allow-no-vcs ..`";
        check("c clippy --fix --allow-no-vcs", Some(way));
        let way = "where cargo has it: `cargo cudalink exec cargo build --of-tomorrow ..`";
        check("c b --of-tomorrow=x", Some(way));
        for other in [
            "c build --relase",
            "c build word",
            "c build --arch=sm_90 -X",
            "c clean --of-tomorrow",
            "c link --of-tomorrow",
        ] {
            check(other, None);
        }
    }

    #[test]
    fn jobs_are_counted_as_cargo_does() {
        let jobs = |words: &str| -> Result<Option<usize>, clap::Error> {
            let command = with_all_numbers_of_jobs(Cli::command());
            let matches = command.try_get_matches_from(words.split(' '))?;
            match Cli::from_arg_matches(&matches)?.command {
                Command::Build(build) => Ok(build.jobs()),
                other => panic!("{other:?}"),
            }
        };
        let all = jobs("c build -j default").unwrap().unwrap();
        assert!(all > 0);
        assert_eq!(jobs("c build --jobs -10000").unwrap(), Some(1));
        assert_eq!(jobs("c build -j=-1").unwrap(), Some((all - 1).max(1)));
        assert_eq!(jobs("c build -j7").unwrap(), Some(7));
        let refused = jobs("c build -j 0").unwrap_err().to_string();
        assert!(refused.contains("more than 0"), "{refused}");
        jobs("c build -j many").unwrap_err();
    }

    #[test]
    fn the_command_line_is_consistent() {
        with_all_numbers_of_jobs(Cli::command()).debug_assert();
    }
}
