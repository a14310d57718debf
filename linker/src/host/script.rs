//! Scripts for the host linker that put device code behind everything else,
//! so that much of it cannot push host code and data apart.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What nvlink prints for `lcs-aug` and adds to the host linker's own script
/// for `lcs-abs`, to the blank at the end of a line.
pub const SECTIONS: &str = "SECTIONS
{
\t.nvFatBinSegment : { *(.nvFatBinSegment) }
\t__nv_relfatbin : { *(__nv_relfatbin) }\x20
\t.nv_fatbin : { *(.nv_fatbin) }
}
";

/// What makes [`SECTIONS`] an addition to the host linker's own script when it
/// is given with `-T`. GNU ld and lld understand it.
pub const INSERT: &str = "INSERT AFTER .bss;\n";

/// Which of its scripts the host linker is asked for.
#[derive(Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BaseScript {
    /// The program that calls the host linker.
    pub compiler: PathBuf,
    /// The one for shared libraries.
    pub shared: bool,
    /// The one for relocatable links.
    pub relocatable: bool,
}

impl BaseScript {
    /// The one for programs.
    pub fn new(compiler: impl Into<PathBuf>) -> Self {
        Self {
            compiler: compiler.into(),
            shared: false,
            relocatable: false,
        }
    }
}

/// Why the host linker's own script cannot be told.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ScriptError {
    /// A program that cannot be run.
    #[error("cannot run '{program}': {error}")]
    Run {
        /// The program.
        program: String,
        /// Why not.
        error: io::Error,
    },
    /// It says nothing that contains a script; only GNU ld does.
    #[error("the host linker printed no script")]
    NoScript,
}

/// The script that the host linker would use without one, and [`SECTIONS`].
pub fn absolute(base: &BaseScript) -> Result<String, ScriptError> {
    let mut compiler = Command::new(&base.compiler);
    // Says how it would call the linker, and calls nothing.
    compiler.args(["-###", "-m64"]).arg(null_file());
    if base.shared {
        compiler.arg("-shared");
    }
    if base.relocatable {
        compiler.arg("-r");
    }
    let plan = capture(&mut compiler)?;
    let plan = plan.lines().find(|line| line.contains("collect2"));
    let mode = linker_mode(plan.unwrap_or_default());
    let version = capture(Command::new("ld").arg("-V"))?;
    let verbose = capture(Command::new("ld").arg("--verbose").args(mode))?;
    let script = script_in(&verbose, &version);
    if script.is_empty() {
        return Err(ScriptError::NoScript);
    }
    Ok(script + SECTIONS)
}

fn null_file() -> &'static Path {
    Path::new(if cfg!(windows) { "NUL" } else { "/dev/null" })
}

/// The options on a linker's command line that decide which script it uses.
fn linker_mode(command: &str) -> Vec<String> {
    let mut mode = Vec::new();
    let mut words = command
        .split_whitespace()
        .map(|word| word.trim_matches('"'));
    while let Some(word) = words.next() {
        match word {
            "-pie" | "-r" | "-shared" => mode.push(word.to_owned()),
            "-z" | "-m" => {
                mode.push(word.to_owned());
                mode.extend(words.next().map(str::to_owned));
            }
            _ => {}
        }
    }
    mode
}

/// The script in what a linker says of itself, between its version, a heading
/// and two lines of marks.
fn script_in(verbose: &str, version: &str) -> String {
    let lines: Vec<&str> = verbose
        .lines()
        .filter(|line| !version.lines().any(|other| other == *line))
        .collect();
    let Some(lines) = lines.get(2..lines.len().max(3) - 1) else {
        return String::new();
    };
    lines.iter().flat_map(|line| [line, "\n"]).collect()
}

/// Both streams of a program: compilers explain themselves on the second.
fn capture(command: &mut Command) -> Result<String, ScriptError> {
    let output = command.stdin(Stdio::null()).output();
    let output = output.map_err(|error| ScriptError::Run {
        program: command.get_program().to_string_lossy().into_owned(),
        error,
    })?;
    let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.push_str(&String::from_utf8_lossy(&output.stderr));
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_that_choose_the_script() {
        let line = r#" /usr/lib/gcc/collect2 "-plugin-opt=-r" "-m" elf_x86_64 -pie -z now -o a"#;
        let expected = ["-m", "elf_x86_64", "-pie", "-z", "now"];
        assert_eq!(linker_mode(line), expected);
    }

    #[test]
    fn the_script_stands_between_marks() {
        let version = "GNU ld\n  emulations:\n";
        let verbose = "GNU ld\n  emulations:\nusing internal script:\n====\na\nb\n====\n";
        assert_eq!(script_in(verbose, version), "a\nb\n");
        assert_eq!(script_in("", version), "");
        assert_eq!(script_in("x\n", version), "");
    }
}
