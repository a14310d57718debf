//! Compiles and links a program with NVIDIA's tools, links it with ours, and compares.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use cudalink_toolkit::Tool;
use rustnvlink_tests::identity;
use rustnvlink_tests::process::{self, Ended, Exit};
use rustnvlink_tests::toolkit::Toolkit;

use crate::program::{Language, Program, Unit};

/// NVIDIA's tools and our linker.
#[derive(Debug)]
pub struct Tools {
    ptxas: PathBuf,
    nvcc: PathBuf,
    nvlink: PathBuf,
    linker: PathBuf,
    /// What both linkers get besides the objects.
    link_options: Vec<String>,
}

/// What came of a program.
#[derive(Debug)]
pub enum Outcome {
    /// The compiler does not take it; the text says why.
    Rejected(String),
    /// nvlink crashes or hangs, and ours refuses.
    Refused,
    /// Ours ends like nvlink and writes the same.
    Same(Exit),
    /// It does not.
    Different(Vec<Difference>),
}

/// One thing that differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// What differs, without names and numbers that are particular to the program.
    pub class: String,
    /// What each of the linkers says.
    pub text: String,
}

const OUTPUT: &str = "out.cubin";
const OURS: &str = "ours.cubin";
const RECORD: &str = "tool-record";

/// Generated programs are small; a compiler that takes longer hangs.
const COMPILE_LIMIT: Duration = Duration::from_secs(120);

impl Tools {
    /// Takes the tools of the toolkit.
    pub fn new(toolkit: &Toolkit, linker: PathBuf, link_options: Vec<String>) -> Result<Self> {
        Ok(Self {
            ptxas: toolkit.tool(Tool::Ptxas)?,
            nvcc: toolkit.tool(Tool::Nvcc)?,
            nvlink: toolkit.tool(Tool::Nvlink)?,
            linker,
            link_options,
        })
    }

    /// Runs a program through all tools in a folder that goes away.
    pub fn check(&self, program: &Program) -> Result<Outcome> {
        let folder = tempfile::tempdir().context("cannot make a folder")?;
        self.check_in(program, folder.path())
    }

    /// Runs a program through all tools and leaves all files in the folder.
    pub fn check_in(&self, program: &Program, folder: &Path) -> Result<Outcome> {
        let mut objects = Vec::new();
        for unit in &program.units {
            write(folder, &unit.file(), unit.source().as_bytes())?;
            let object = format!("{}.cubin", unit.name);
            let ended = self.compile(program, unit, &object, folder)?;
            if ended.exit != Exit::Code(0) {
                return Ok(Outcome::Rejected(format!(
                    "{}{}",
                    ended.stdout, ended.stderr
                )));
            }
            objects.push(object);
        }
        let arch = format!("-arch={}", program.target);
        let link = |linker: &Path, more: &[String], output: &str| {
            let mut arguments = vec![arch.clone()];
            arguments.extend_from_slice(&self.link_options);
            arguments.extend_from_slice(more);
            arguments.extend_from_slice(&objects);
            arguments.extend(["-o".to_owned(), output.to_owned()]);
            process::run(linker, &arguments, folder, process::LINK_LIMIT)
        };
        let theirs = link(&self.nvlink, &[], OUTPUT)?;
        let image = fs::read(folder.join(OUTPUT)).ok();
        let mut more = vec!["--compat".to_owned()];
        let record = match &image {
            Some(image) => identity::tool_record(image)?,
            None => None,
        };
        if let Some(record) = record {
            write(folder, RECORD, &record)?;
            more.extend(["--tool-record".to_owned(), RECORD.to_owned()]);
        }
        let ours = link(&self.linker, &more, OURS)?;
        let our_image = fs::read(folder.join(OURS)).ok();
        if matches!(theirs.exit, Exit::Signal(_) | Exit::TimedOut) {
            return Ok(match ours.exit {
                Exit::Code(1 | 255) if our_image.is_none() => Outcome::Refused,
                _ => Outcome::Different(vec![exits(&theirs, &ours)]),
            });
        }
        if theirs.exit != ours.exit {
            return Ok(Outcome::Different(vec![exits(&theirs, &ours)]));
        }
        let outcome = compare(image, our_image, &theirs)?;
        let Some(words) = words(&theirs, &ours) else {
            return Ok(outcome);
        };
        Ok(Outcome::Different(match outcome {
            Outcome::Different(mut differences) => {
                differences.push(words);
                differences
            }
            Outcome::Same(_) | Outcome::Refused | Outcome::Rejected(_) => vec![words],
        }))
    }

    fn compile(
        &self,
        program: &Program,
        unit: &Unit,
        object: &str,
        folder: &Path,
    ) -> Result<Ended> {
        let mut arguments = vec![format!("-arch={}", program.target)];
        let compiler = match unit.language {
            Language::Ptx => {
                arguments.push("-c".to_owned());
                &self.ptxas
            }
            Language::Cuda => {
                arguments.extend(["-rdc=true", "-cubin"].map(str::to_owned));
                &self.nvcc
            }
        };
        arguments.extend(unit.arguments().map(str::to_owned));
        arguments.extend([unit.file(), "-o".to_owned(), object.to_owned()]);
        process::run(compiler, &arguments, folder, COMPILE_LIMIT)
    }
}

fn write(folder: &Path, name: &str, bytes: &[u8]) -> Result<()> {
    let path = folder.join(name);
    fs::write(&path, bytes).with_context(|| format!("cannot write {}", path.display()))
}

fn exits(theirs: &Ended, ours: &Ended) -> Difference {
    let said = |ended: &Ended| {
        let text = format!("{}{}", ended.stdout, ended.stderr);
        text.lines().take(4).collect::<Vec<_>>().join("\n    ")
    };
    // The first words of the message tell one reason from another.
    let message = format!("{}{}", theirs.stderr, ours.stderr);
    let reason = message
        .lines()
        .filter_map(|line| {
            line.split_once("error   : ")
                .or(line.split_once("fatal   : "))
        })
        .map(|(_, reason)| {
            reason
                .split_whitespace()
                .take(8)
                .collect::<Vec<_>>()
                .join("-")
        })
        .next()
        .unwrap_or_default();
    let code = |exit: Exit| {
        exit.to_string()
            .trim_start_matches("exit ")
            .replace(' ', "-")
    };
    Difference {
        class: class(&format!(
            "exit.{}.{}.{reason}",
            code(theirs.exit),
            code(ours.exit)
        )),
        text: format!("nvlink: {}\n    ours: {}", said(theirs), said(ours)),
    }
}

/// The first line that only one of them prints where it does. Where links fail,
/// only the first problem is compared, without the file that was first: what
/// nvlink makes of its own state after that is its own affair.
fn words(theirs: &Ended, ours: &Ended) -> Option<Difference> {
    let lines = |ended: &Ended| -> Vec<String> {
        let mut all = ended.stdout.lines().chain(ended.stderr.lines());
        match theirs.exit {
            Exit::Code(0) => all.map(str::to_owned).collect(),
            _ => {
                let problem = |line: &str| line.split(", first ").next().map(str::to_owned);
                all.next().and_then(problem).into_iter().collect()
            }
        }
    };
    let (theirs, ours) = (lines(theirs), lines(ours));
    let at = (0..theirs.len().max(ours.len())).find(|&at| theirs.get(at) != ours.get(at))?;
    let line = |lines: &[String]| match lines.get(at) {
        Some(line) => format!("'{line}'"),
        None => "nothing more".to_owned(),
    };
    Some(Difference {
        class: "messages".to_owned(),
        text: format!(
            "messages: nvlink says {}, ours {}",
            line(&theirs),
            line(&ours)
        ),
    })
}

fn compare(theirs: Option<Vec<u8>>, ours: Option<Vec<u8>>, ended: &Ended) -> Result<Outcome> {
    let (theirs, ours) = match (theirs, ours) {
        (Some(theirs), Some(ours)) => (theirs, ours),
        (None, None) => return Ok(Outcome::Same(ended.exit)),
        (theirs, _) => {
            let who = if theirs.is_some() { "nvlink" } else { "ours" };
            return Ok(Outcome::Different(vec![Difference {
                class: format!("only-{who}-writes-an-image"),
                text: String::new(),
            }]));
        }
    };
    if theirs == ours {
        return Ok(Outcome::Same(ended.exit));
    }
    let differences = cubin_diff::compare(&theirs, &ours)?;
    Ok(Outcome::Different(
        differences
            .into_iter()
            .map(|difference| Difference {
                class: class(&difference.key),
                text: format!(
                    "{}: nvlink {}, ours {}",
                    difference.key,
                    difference.left.as_deref().unwrap_or("has none"),
                    difference.right.as_deref().unwrap_or("has none")
                ),
            })
            .collect(),
    ))
}

/// A key without what is particular to one program. Generated names end in `_f`, `_v` or `_k` and
/// perhaps a number.
fn class(key: &str) -> String {
    let is_name = |word: &str| {
        let stem = word.trim_end_matches(|c: char| c.is_ascii_digit());
        // The compiler mangles names in CUDA, and names its own functions after them.
        ["_f", "_v", "_k"].iter().any(|end| stem.ends_with(end))
            || word.starts_with("_Z")
            || word.contains("const_opt")
            || word.starts_with("0x")
            || word.contains("_alias")
    };
    let mut class = String::new();
    let mut word = String::new();
    for c in key.chars().chain(['\n']) {
        if c.is_alphanumeric() || matches!(c, '_' | '$') {
            word.push(c);
            continue;
        }
        class.push_str(if is_name(&word) { "*" } else { &word });
        word.clear();
        if c != '\n' {
            class.push(c);
        }
    }
    class
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_has_no_names() {
        assert_eq!(
            class("relocation.rela.text.q$q_f12.0x30"),
            "relocation.rela.text.*.*"
        );
        assert_eq!(
            class("info.nv.info.REGCOUNT(mix_k0)"),
            "info.nv.info.REGCOUNT(*)"
        );
        assert_eq!(class("section.order"), "section.order");
    }
}
