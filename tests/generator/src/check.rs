//! Compiles and links a program with NVIDIA's tools, links it with ours, and compares.

use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use cudalink_toolkit::Tool;
use rustnvlink_tests::identity;
use rustnvlink_tests::process::{self, Ended, Exit};
use rustnvlink_tests::toolkit::Toolkit;

use crate::compile::Compilers;
use crate::feature::Feature;
use crate::program::Program;
use crate::steps::{self, Step};
use crate::twins;
use crate::waits;

/// NVIDIA's tools and our linker.
#[derive(Debug)]
pub struct Tools {
    compilers: Compilers,
    nvlink: PathBuf,
    linker: PathBuf,
    /// The device runtime, for programs that launch.
    runtime: PathBuf,
    /// Says where the compiler of intermediate code is.
    compiler: String,
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
    /// nvlink, run again, does not end as before or writes something else, so there is nothing to compare with.
    Irreproducible(Vec<Difference>),
}

/// One thing that differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// What differs, without names and numbers that are particular to the program.
    pub class: String,
    /// What each of the linkers says.
    pub text: String,
}

impl Outcome {
    /// Says in which of several links differences are.
    fn in_step(mut self, step: &Step, count: usize) -> Self {
        if let Self::Different(differences) | Self::Irreproducible(differences) = &mut self
            && count > 1
        {
            for difference in differences {
                let (options, output) = (step.options.join(" "), &step.output);
                difference.text = format!("{output} ({options}): {}", difference.text);
            }
        }
        self
    }
}

/// What a link left behind.
#[derive(Debug)]
struct Linked {
    ended: Ended,
    image: Option<Vec<u8>>,
}

const OUTPUT: &str = "out.cubin";
const OURS: &str = "ours.cubin";
const INDEX: &str = "program.uidx";
const RECORD: &str = "tool-record";

impl Tools {
    /// Takes the tools of the toolkit, and assemblers of older ones.
    pub fn new(
        toolkit: &Toolkit,
        older: &[PathBuf],
        linker: PathBuf,
        link_options: Vec<String>,
    ) -> Result<Self> {
        let compilers = Compilers::new(toolkit, older)?;
        Ok(Self {
            nvlink: toolkit.tool(Tool::Nvlink)?,
            linker,
            runtime: toolkit.libraries()?.join("libcudadevrt.a"),
            compiler: format!("-nvvmpath={}", compilers.root.join("nvvm").display()),
            compilers,
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
        let mut objects = match self.compilers.inputs(program, folder)? {
            Ok(inputs) => inputs,
            Err(rejected) => return Ok(Outcome::Rejected(rejected)),
        };
        let features = program.features();
        let is_compiled = features.contains(&Feature::Intermediate);
        let calls_runtime =
            features.contains(&Feature::Launch) || features.contains(&Feature::Runtime);
        if is_compiled || calls_runtime {
            objects.push(self.runtime.display().to_string());
        }
        let mut steps = steps::of(program, objects, OUTPUT);
        if let (false, Some(last)) = (program.index.is_empty(), steps.last_mut()) {
            let words = program.index.iter().flat_map(|word| word.to_le_bytes());
            write(folder, INDEX, &words.collect::<Vec<_>>())?;
            last.options.extend(["-uidx", INDEX].map(str::to_owned));
        }
        for step in &steps {
            let outcome = self.check_step(program, step, folder)?;
            if !matches!(outcome, Outcome::Same(Exit::Code(0))) {
                return Ok(outcome.in_step(step, steps.len()));
            }
        }
        Ok(Outcome::Same(Exit::Code(0)))
    }

    fn check_step(&self, program: &Program, step: &Step, folder: &Path) -> Result<Outcome> {
        let nvlink = || self.link(&self.nvlink, program, &[], step, &step.output, folder);
        let theirs = nvlink()?;
        let mut twins = twins::of_program(program);
        let own = differences(&theirs, &nvlink()?, "again", &twins)?;
        if !own.is_empty() {
            return Ok(Outcome::Irreproducible(own));
        }
        let mut more = vec!["--compat".to_owned()];
        let record = match &theirs.image {
            Some(image) => identity::tool_record(image)?,
            None => None,
        };
        if let Some(record) = record {
            write(folder, RECORD, &record)?;
            more.extend(["--tool-record".to_owned(), RECORD.to_owned()]);
        }
        let ours = self.link(&self.linker, program, &more, step, OURS, folder)?;
        if matches!(theirs.ended.exit, Exit::Signal(_) | Exit::TimedOut) {
            return Ok(match ours.ended.exit {
                Exit::Code(1 | 255) if ours.image.is_none() => Outcome::Refused,
                _ => Outcome::Different(vec![exits(&theirs.ended, &ours.ended, "ours")]),
            });
        }
        if let Some(image) = &theirs.image {
            twins.extend(twins::of_image(image)?);
        }
        let differences = differences(&theirs, &ours, "ours", &twins)?;
        Ok(match differences.is_empty() {
            true => Outcome::Same(theirs.ended.exit),
            false => Outcome::Different(differences),
        })
    }

    /// Links; what an earlier link wrote under the name is gone.
    fn link(
        &self,
        linker: &Path,
        program: &Program,
        more: &[String],
        step: &Step,
        output: &str,
        folder: &Path,
    ) -> Result<Linked> {
        let path = folder.join(output);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                return Err(error).with_context(|| format!("cannot remove {}", path.display()));
            }
            Ok(()) | Err(_) => {}
        }
        let mut arguments = vec![format!("-arch={}", program.target)];
        arguments.extend_from_slice(&self.link_options);
        if program.features().contains(&Feature::Intermediate) {
            arguments.extend(["-dlto".to_owned(), self.compiler.clone()]);
        }
        arguments.extend_from_slice(&step.options);
        arguments.extend_from_slice(more);
        arguments.extend_from_slice(&step.inputs);
        arguments.extend(["-o".to_owned(), output.to_owned()]);
        Ok(Linked {
            ended: process::run(linker, &arguments, folder, process::LINK_LIMIT)?,
            image: fs::read(&path).ok(),
        })
    }
}

fn write(folder: &Path, name: &str, bytes: &[u8]) -> Result<()> {
    let path = folder.join(name);
    fs::write(&path, bytes).with_context(|| format!("cannot write {}", path.display()))
}

/// What differs between a link of nvlink and the `second` one. What concerns `twins`, functions of one name, has a class
/// of its own.
fn differences(
    theirs: &Linked,
    ours: &Linked,
    second: &str,
    twins: &BTreeSet<String>,
) -> Result<Vec<Difference>> {
    if theirs.ended.exit != ours.ended.exit {
        return Ok(vec![exits(&theirs.ended, &ours.ended, second)]);
    }
    let mut differences = images(
        theirs.image.as_deref(),
        ours.image.as_deref(),
        second,
        twins,
    )?;
    differences.extend(words(&theirs.ended, &ours.ended, second));
    Ok(differences)
}

fn exits(theirs: &Ended, ours: &Ended, second: &str) -> Difference {
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
        text: format!("nvlink: {}\n    {second}: {}", said(theirs), said(ours)),
    }
}

/// The first line that only one of them prints where it does. Where links fail,
/// only the first problem is compared, without the file that was first: what
/// nvlink makes of its own state after that is its own affair.
fn words(theirs: &Ended, ours: &Ended, second: &str) -> Option<Difference> {
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
            "messages: nvlink says {}, {second} {}",
            line(&theirs),
            line(&ours)
        ),
    })
}

fn images(
    theirs: Option<&[u8]>,
    ours: Option<&[u8]>,
    second: &str,
    twins: &BTreeSet<String>,
) -> Result<Vec<Difference>> {
    let (theirs, ours) = match (theirs, ours) {
        (Some(theirs), Some(ours)) => (theirs, ours),
        (None, None) => return Ok(Vec::new()),
        (theirs, _) => {
            let who = if theirs.is_some() { "nvlink" } else { second };
            return Ok(vec![Difference {
                class: format!("only-{who}-writes-an-image"),
                text: String::new(),
            }]);
        }
    };
    if theirs == ours {
        return Ok(Vec::new());
    }
    let differences = cubin_diff::compare(theirs, ours)?;
    let waits = waits::sections(theirs, ours)?;
    Ok(differences
        .into_iter()
        .map(|difference| Difference {
            class: match difference.key.strip_prefix("bytes.") {
                Some(name) if waits.contains(name) => class(&format!("waits.{name}")),
                _ if twins::concerns(&difference.key, twins) => {
                    class(&format!("twins.{}", difference.key))
                }
                _ => class(&difference.key),
            },
            text: format!(
                "{}: nvlink {}, {second} {}",
                difference.key,
                difference.left.as_deref().unwrap_or("has none"),
                difference.right.as_deref().unwrap_or("has none")
            ),
        })
        .collect())
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
    use std::os::unix::fs::PermissionsExt as _;

    /// A tool that writes the next of these inputs each time, and the last one over and over.
    fn stand_in(folder: &Path, name: &str, inputs: &[&str]) -> PathBuf {
        let tool = folder.join(name);
        let mut script = format!("#!/bin/sh\nfor output; do :; done\necho >> {name}.runs\n");
        for (index, input) in inputs.iter().enumerate() {
            let input = format!("{}/../inputs/{input}", env!("CARGO_MANIFEST_DIR"));
            let run = index + 1;
            script.push_str(&format!(
                "[ $(wc -l < {name}.runs) -lt {run} ] || cp '{input}' $output\n"
            ));
        }
        fs::write(&tool, script).unwrap();
        fs::set_permissions(&tool, fs::Permissions::from_mode(0o755)).unwrap();
        tool
    }

    #[test]
    fn what_nvlink_does_not_reproduce_is_never_the_same() {
        let program = crate::generate(
            1,
            &"90".parse().unwrap(),
            crate::Language::Ptx,
            &BTreeSet::default(),
        );
        let outcome = |theirs: &[&str], ours: &str| {
            let tools = tempfile::tempdir().unwrap();
            let tool = |name: &str, inputs: &[&str]| stand_in(tools.path(), name, inputs);
            let tools = Tools {
                compilers: Compilers {
                    ptxas: tool("ptxas", &["callee.sm_90.cubin"]),
                    older: Vec::new(),
                    nvcc: PathBuf::from("nvcc"),
                    fatbinary: PathBuf::from("fatbinary"),
                    root: PathBuf::from("/"),
                },
                compiler: String::new(),
                nvlink: tool("nvlink", theirs),
                linker: tool("ours", &[ours]),
                runtime: PathBuf::from("libcudadevrt.a"),
                link_options: Vec::new(),
            };
            tools.check(&program).unwrap()
        };
        let (one, other) = ("callee.sm_90.cubin", "caller.sm_90.cubin");
        assert!(matches!(outcome(&[one], one), Outcome::Same(_)));
        assert!(matches!(outcome(&[one], other), Outcome::Different(_)));
        for ours in [one, other] {
            let Outcome::Irreproducible(differences) = outcome(&[one, other], ours) else {
                panic!("nvlink writes one image and then another");
            };
            assert!(!differences.is_empty());
        }
    }

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
