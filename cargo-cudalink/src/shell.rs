//! `cargo cudalink completions` and `cargo cudalink man`: what shells and manual readers want to know of the command
//! lines of both programs, made from their definitions.

use std::io;
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::builder::{PossibleValuesParser, ValueParser};
use clap::{Arg, ArgAction, Args, Command, CommandFactory as _, ValueEnum, ValueHint};
use clap_complete::Shell;
use rustnvlink::arch::Sm;
use rustnvlink::cli::{FLAGS, Group, Spelling, Value};
use rustnvlink::fatbin::CompressionMode;

use crate::cli::Cli;
use crate::{explain, streams};

/// Print completions for a shell
///
/// With those of bash, zsh and fish, `cargo cudalink` is completed like `cargo-cudalink`; in bash if they are read behind
/// cargo's own. Elvish and PowerShell complete `cargo-cudalink` alone.
#[derive(Debug, Args)]
#[command(after_help = "\
For all later shells:
  bash  add `source <(cargo cudalink completions bash)` to ~/.bashrc
  zsh   cargo cudalink completions zsh > FOLDER/_cargo-cudalink, with a FOLDER of $fpath
  fish  cargo cudalink completions fish > ~/.config/fish/conf.d/cargo-cudalink.fish
and with rustnvlink at the end, and in the names of files, for that program.")]
pub(crate) struct CompletionsArguments {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
    /// The program whose words are completed
    #[arg(value_enum, default_value_t)]
    program: Program,
}

/// The programs that there are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum Program {
    #[default]
    CargoCudalink,
    Rustnvlink,
}

/// Write the manual pages of cargo-cudalink and rustnvlink into a folder
#[derive(Debug, Args)]
pub(crate) struct ManArguments {
    /// The folder, such as ~/.local/share/man/man1
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
}

/// Lets bash complete `cargo cudalink` where it would complete `cargo`, whose own function is called for everything else:
/// that which is known already, or what bash-completion finds when it is needed first.
const BASH_BELOW_CARGO: &str = r#"
_cargo__cudalink__below_cargo() {
    local at=1
    [[ ${COMP_WORDS[1]-} == +* ]] && at=2
    if (( COMP_CWORD > at )) && [[ ${COMP_WORDS[at]} == cudalink ]]; then
        COMP_WORDS=(cargo-cudalink "${COMP_WORDS[@]:at+1}")
        (( COMP_CWORD -= at ))
        _cargo__cudalink cargo-cudalink "$2" "$3"
        (( ${#COMPREPLY[@]} )) || compopt -o bashdefault -o default 2>/dev/null
        return 0
    fi
    if [[ -z $_cargo__cudalink__of_cargo ]]; then
        complete -r cargo
        if declare -F _comp_load >/dev/null; then
            _comp_load cargo 2>/dev/null
        elif declare -F __load_completion >/dev/null; then
            __load_completion cargo 2>/dev/null
        fi
        _cargo__cudalink__take_place
    fi
    if [[ -z $_cargo__cudalink__of_cargo ]]; then
        COMPREPLY=()
        compopt -o bashdefault -o default 2>/dev/null
        return 0
    fi
    "$_cargo__cudalink__of_cargo" "$@"
}

_cargo__cudalink__take_place() {
    local specification
    specification=$(complete -p cargo 2>/dev/null)
    if [[ $specification =~ \ -F\ ([^ ]+) && ${BASH_REMATCH[1]} != _cargo__cudalink__below_cargo ]]; then
        _cargo__cudalink__of_cargo=${BASH_REMATCH[1]}
    fi
    complete -F _cargo__cudalink__below_cargo cargo
}

_cargo__cudalink__of_cargo=
_cargo__cudalink__take_place
"#;

/// The same for fish, which takes what several say of one command. In zsh cargo's own function calls ours.
const FISH_BELOW_CARGO: &str = r#"
function __fish_cargo_cudalink_below_cargo
    set -l words (commandline -opc)
    set -l at (contains -i -- cudalink $words)
    set -e words[1..$at]
    complete -C (string join ' ' -- cargo-cudalink (string escape -- $words) (commandline -ct))
end

function __fish_cargo_cudalink_is_below_cargo
    set -l words (commandline -opc)
    set -e words[1]
    string match -q -- '+*' "$words[1]"
    and set -e words[1]
    test "$words[1]" = cudalink
end

complete -c cargo -n __fish_cargo_cudalink_is_below_cargo -f -a '(__fish_cargo_cudalink_below_cargo)'
"#;

/// The same command, which knows words for what is read otherwise.
fn with_words(command: Command) -> Command {
    let words = |argument: &Arg| -> Option<Vec<String>> {
        match argument.get_value_names()?.first()?.as_str() {
            "SM" | "SM,.." => Some(Sm::KNOWN.map(|sm| sm.to_string()).to_vec()),
            "MODE" => Some(CompressionMode::WORDS.map(str::to_owned).to_vec()),
            "CODE" => Some(explain::codes().map(str::to_owned).collect()),
            _ => None,
        }
    };
    command
        .mut_args(|argument| match words(&argument) {
            Some(words) => argument.value_parser(PossibleValuesParser::new(words)),
            None => argument,
        })
        .mut_subcommands(with_words)
}

/// The same command without options that are for programs or for what people used to type. Generators offer these, too.
fn without_hidden(command: Command) -> Command {
    let command = command.mut_subcommands(without_hidden);
    if !command.get_arguments().any(Arg::is_hide_set) {
        return command;
    }
    let shown = command.get_arguments().filter(|one| !one.is_hide_set());
    // A command gives none of its arguments back. This one has what generators ask for.
    Command::new(command.get_name().to_owned())
        .about(command.get_about().cloned().unwrap_or_default())
        .visible_aliases(command.get_visible_aliases().map(str::to_owned))
        .args(shown.cloned())
        .subcommands(command.get_subcommands().cloned())
}

/// Prints completions.
pub(crate) fn completions(arguments: CompletionsArguments) -> Result<()> {
    let CompletionsArguments { shell, program } = arguments;
    let (mut command, name) = match program {
        Program::CargoCudalink => {
            let command = without_hidden(with_words(Cli::command()));
            (command.bin_name("cargo-cudalink"), "cargo-cudalink")
        }
        Program::Rustnvlink => (rustnvlink(), "rustnvlink"),
    };
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut command, name, &mut text);
    let mut text = String::from_utf8(text).context("completions are text")?;
    match (program, shell) {
        (Program::CargoCudalink, Shell::Bash) => {
            // The generator spells the name of the program in two ways, and then finds no subcommand.
            text = text.replace("cargo__subcmd__cudalink", "cargo__cudalink");
            text.push_str(BASH_BELOW_CARGO);
        }
        (Program::CargoCudalink, Shell::Fish) => text.push_str(FISH_BELOW_CARGO),
        _ => {}
    }
    streams::print(text.as_bytes())
}

/// Writes manual pages, one for each subcommand.
pub(crate) fn man(arguments: ManArguments) -> Result<()> {
    let folder = arguments.folder;
    std::fs::create_dir_all(&folder)
        .with_context(|| format!("cannot make the folder {}", folder.display()))?;
    let write = |command| -> io::Result<()> { clap_mangen::generate_to(command, &folder) };
    let mut command = Cli::command().disable_help_subcommand(true);
    command.build();
    write(with_usage(command))
        .and_then(|()| write(rustnvlink()))
        .with_context(|| format!("cannot write to {}", folder.display()))
}

/// A command whose page says how it is called as its help does: options are listed below, with what they take.
fn with_usage(mut command: Command) -> Command {
    let usage = command.render_usage().to_string();
    let usage = usage.strip_prefix("Usage: ").unwrap_or(&usage).to_owned();
    command.override_usage(usage).mut_subcommands(with_usage)
}

/// The command line of the linker, whose own reader does what nvlink's does.
fn rustnvlink() -> Command {
    let shown = FLAGS.iter().filter(|flag| flag.group != Group::Hidden);
    Command::new("rustnvlink")
        .about("Links relocatable CUDA objects into an image that the driver loads, as nvlink does")
        .version(env!("CARGO_PKG_VERSION"))
        .override_usage("rustnvlink -arch=sm_NN -o FILE [options] INPUT..")
        .after_help(
            "Options of several letters may have one dash, too. Exit codes: 0 the image was written, 1 the command line \
             or an input is at fault, 255 the program that is linked is at fault.",
        )
        .disable_help_flag(true)
        .disable_version_flag(true)
        .args(shown.map(option))
        .arg(
            Arg::new("input")
                .value_name("INPUT")
                .help("A host object, static library, cubin, fatbin, PTX or, with -dlto, LTO-IR")
                .num_args(1..)
                .value_hint(ValueHint::FilePath),
        )
}

fn option(flag: &Spelling) -> Arg {
    let mut letters = flag.short.unwrap_or_default().chars();
    let letter = letters.next().filter(|_| letters.next().is_none());
    let argument = Arg::new(flag.long)
        .long(flag.long)
        .short(letter)
        .help(flag.help)
        .help_heading(flag.group.title());
    if flag.value == Value::Nothing {
        return argument.action(ArgAction::SetTrue);
    }
    let parser = match flag.value {
        Value::Choice(words) => PossibleValuesParser::new(words.iter().copied()).into(),
        Value::Processor => PossibleValuesParser::new(Sm::KNOWN.map(|sm| sm.to_string())).into(),
        Value::Truth => PossibleValuesParser::new(["true", "false"]).into(),
        Value::Nothing
        | Value::Text
        | Value::Texts
        | Value::Number
        | Value::SixtyFour
        | Value::List => ValueParser::os_string(),
    };
    let least = usize::from(flag.implied.is_none());
    argument
        .action(ArgAction::Append)
        .num_args(least..=1)
        .value_name(flag.placeholder)
        .value_parser(parser)
        // The descriptions name what is to be read of them.
        .hide_possible_values(true)
        .value_hint(match flag.placeholder {
            "FILE" | "FILE,.." => ValueHint::FilePath,
            "DIR" | "DIR,.." => ValueHint::DirPath,
            _ => ValueHint::Other,
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_a_manual_page() {
        let folder = tempfile::tempdir().unwrap();
        man(ManArguments {
            folder: folder.path().to_owned(),
        })
        .unwrap();
        let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).expect(name);
        for command in Cli::command().get_subcommands() {
            let name = format!("cargo-cudalink-{}.1", command.get_name());
            assert!(read(&name).contains(".SH NAME"), "{name}");
        }
        assert!(read("cargo-cudalink-build.1").contains("CUDALINK_ARCH"));
        let synopsis = "link\\fR [OPTIONS] \\-\\-output <FILE> [FILE]...";
        assert!(read("cargo-cudalink-link.1").contains(synopsis));
        let page = read("rustnvlink.1");
        for flag in FLAGS.iter().filter(|flag| flag.group != Group::Hidden) {
            let name = flag.long.replace('-', "\\-");
            assert!(page.contains(&format!("\\-\\-{name}")), "{}", flag.long);
        }
    }

    #[test]
    fn the_command_line_of_the_linker_is_consistent() {
        rustnvlink().debug_assert();
    }
}
