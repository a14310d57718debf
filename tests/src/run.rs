//! Executes the steps of a case with NVIDIA's tools.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use cudalink_toolkit::Tool;

use crate::arch::Arch;
use crate::case::Case;
use crate::directive::{Action, Length, Link, Script};
use crate::process::{self, Ended, Exit, LINK_LIMIT};
use crate::store::{Entry, Files, Key, Store, Stored};
use crate::surgery;
use crate::toolkit::{self, Toolkit};

/// One link as nvlink did it.
#[derive(Debug)]
pub struct Linked {
    /// What was asked for.
    pub link: Link,
    /// The arguments with every variable replaced.
    pub arguments: Vec<String>,
    /// The files that its arguments name.
    pub inputs: Files,
    /// What nvlink made of them.
    pub entry: Entry,
}

/// A case that has run for one architecture.
#[derive(Debug)]
pub struct Ran {
    /// All links, in order.
    pub links: Vec<Linked>,
    /// All files that any step wrote. A later file replaces an earlier one of its name.
    pub files: Files,
}

/// Runs every step of `script`.
pub fn run(
    case: &Case,
    arch: Arch,
    script: &Script,
    toolkit: &Toolkit,
    store: &Store,
) -> Result<Ran> {
    let mut runner = Runner {
        case,
        arch,
        toolkit,
        store,
        files: Files::new(),
        links: Vec::new(),
    };
    for step in &script.steps {
        runner
            .step(&step.action)
            .with_context(|| format!("{} on {arch}, line {}", case.name, step.line))?;
    }
    Ok(Ran {
        links: runner.links,
        files: runner.files,
    })
}

struct Runner<'a> {
    case: &'a Case,
    arch: Arch,
    toolkit: &'a Toolkit,
    store: &'a Store,
    files: Files,
    links: Vec<Linked>,
}

impl Runner<'_> {
    fn step(&mut self, action: &Action) -> Result<()> {
        let made = match action {
            Action::Compile {
                output,
                source,
                flags,
            } => self.compile(output, source, flags)?,
            Action::Archive { output, members } => {
                let arguments = [vec!["rcsD".to_owned(), output.clone()], members.clone()].concat();
                self.tool("archive", Path::new("ar"), &arguments)?
            }
            Action::Fatbinary { output, flags } => {
                let arguments = [vec![format!("--create={output}")], flags.clone()].concat();
                self.tool(
                    "fatbinary",
                    &self.toolkit.tool(Tool::Fatbinary)?,
                    &arguments,
                )?
            }
            Action::Write { output, text } => self.edit(output, text.clone().into_bytes())?,
            Action::Words { output, words } => {
                let bytes = words.iter().flat_map(|word| word.to_le_bytes()).collect();
                self.edit(output, bytes)?
            }
            Action::Take { output, input } => {
                let path = Path::new(env!("CARGO_MANIFEST_DIR"))
                    .join("inputs")
                    .join(input);
                let bytes =
                    fs::read(&path).with_context(|| format!("reading {}", path.display()))?;
                self.edit(output, bytes)?
            }
            Action::Truncate {
                output,
                input,
                length,
            } => {
                let bytes = self.file(input)?.read()?;
                let end = match *length {
                    Length::First(length) => Some(length),
                    Length::AllBut(rest) => bytes.len().checked_sub(rest),
                };
                let kept = end
                    .and_then(|end| bytes.get(..end))
                    .context("the file is shorter than that")?;
                self.edit(output, kept.to_vec())?
            }
            Action::Patch {
                output,
                input,
                place,
                bytes,
            } => self.edit(
                output,
                surgery::patch(self.file(input)?.read()?, place, bytes)?,
            )?,
            Action::Weaken {
                output,
                input,
                symbols,
            } => self.edit(output, surgery::weaken(self.file(input)?.read()?, symbols)?)?,
            Action::Rename {
                output,
                input,
                from,
                to,
            } => self.edit(
                output,
                surgery::rename(self.file(input)?.read()?, from, to)?,
            )?,
            Action::Narrow { output, input } => {
                self.edit(output, surgery::narrow(&self.file(input)?.read()?)?)?
            }
            Action::Contents {
                output,
                input,
                section,
                bytes,
            } => self.edit(
                output,
                surgery::fill(self.file(input)?.read()?, section, bytes)?,
            )?,
            Action::Link(link) => self.link(link)?,
        };
        self.files.extend(made);
        Ok(())
    }

    fn file(&self, name: &str) -> Result<&Stored> {
        self.files
            .get(name)
            .with_context(|| format!("no earlier step makes {name}"))
    }

    /// Compiles one source. Sources that no step can compile (headers) are beside it.
    fn compile(&self, output: &str, source: &str, flags: &[String]) -> Result<Files> {
        let extension = |name: &str| name.rsplit_once('.').map(|(_, end)| end.to_owned());
        let sources: Vec<&(String, String)> = self
            .case
            .sources
            .iter()
            .filter(|(name, _)| {
                name == source || matches!(extension(name).as_deref(), Some("h" | "cuh"))
            })
            .collect();
        if !sources.iter().any(|(name, _)| name == source) {
            bail!("the case has no {source}");
        }
        let kind = extension(output).unwrap_or_default();
        let (program, mut arguments) = match extension(source).as_deref() {
            Some("cu") => (self.toolkit.tool(Tool::Nvcc)?, self.nvcc(&kind, flags)?),
            Some("ptx") if kind == "cubin" => {
                let mut arguments = vec![format!("-arch={}", self.arch)];
                // Beside `-c` the assembler ignores `-ewp`.
                if !flags.iter().any(|flag| flag == "-ewp") {
                    arguments.push("-c".to_owned());
                }
                (self.toolkit.tool(Tool::Ptxas)?, arguments)
            }
            Some("cpp") if kind == "o" => (toolkit::host_compiler(), vec!["-c".to_owned()]),
            _ => bail!("no compiler makes {output} of {source}"),
        };
        arguments.extend_from_slice(flags);
        arguments.extend(["-o".to_owned(), output.to_owned(), source.to_owned()]);

        let mut key = Key::new("compile");
        key.add(&self.toolkit.identity);
        arguments.iter().for_each(|argument| key.add(argument));
        for (name, text) in &sources {
            key.add(name);
            key.add(text);
        }
        let entry = self.store.entry(key, &Files::new(), |folder| {
            for (name, text) in &sources {
                fs::write(folder.join(name), text)?;
            }
            let ended = process::run_ok(&program, &arguments, folder)?;
            for (name, _) in &sources {
                fs::remove_file(folder.join(name))?;
            }
            Ok(ended)
        })?;
        entry
            .files
            .get(output)
            .with_context(|| format!("the compiler wrote no {output}"))?;
        Ok(entry.files)
    }

    /// The flags that make nvcc write a file of `kind`, unless the case gives its own.
    fn nvcc(&self, kind: &str, flags: &[String]) -> Result<Vec<String>> {
        let given = |start: &str| flags.iter().any(|flag| flag.starts_with(start));
        let mut arguments = Vec::new();
        if !given("-arch") && !given("-gencode") {
            arguments.push(format!("-arch={}", self.arch));
        }
        if !given("-rdc") {
            arguments.push("-rdc=true".to_owned());
        }
        arguments.push(match kind {
            "cubin" | "ptx" | "fatbin" => format!("-{kind}"),
            "o" => "-c".to_owned(),
            _ => bail!("nvcc does not write .{kind} files here"),
        });
        Ok(arguments)
    }

    /// Runs a tool on the files it names.
    fn tool(&self, kind: &str, program: &Path, arguments: &[String]) -> Result<Files> {
        let inputs = referenced(arguments, &self.files)?;
        let key = self.key(kind, arguments, &inputs);
        let entry = self.store.entry(key, &inputs, |folder| {
            process::run_ok(program, arguments, folder)
        })?;
        Ok(entry.files)
    }

    /// Keeps a file that is made here.
    fn edit(&self, output: &str, bytes: Vec<u8>) -> Result<Files> {
        let mut key = Key::new("edit");
        key.add(output);
        key.add(&crate::store::hash(&bytes));
        let entry = self.store.entry(key, &Files::new(), |folder| {
            fs::write(folder.join(output), bytes)?;
            Ok(Ended {
                exit: Exit::Code(0),
                stdout: String::new(),
                stderr: String::new(),
            })
        })?;
        Ok(entry.files)
    }

    fn link(&mut self, link: &Link) -> Result<Files> {
        let libraries = self.toolkit.libraries()?.to_string_lossy().into_owned();
        let arguments: Vec<String> = link
            .arguments
            .iter()
            .map(|argument| argument.replace("{lib}", &libraries))
            .collect();
        let inputs = referenced(&arguments, &self.files)?;
        let key = self.key("link", &arguments, &inputs);
        let nvlink = self.toolkit.tool(Tool::Nvlink)?;
        let entry = self.store.entry(key, &inputs, |folder| {
            process::run(&nvlink, &arguments, folder, LINK_LIMIT)
        })?;
        let files = entry.files.clone();
        self.links.push(Linked {
            link: link.clone(),
            arguments,
            inputs,
            entry,
        });
        Ok(files)
    }

    fn key(&self, kind: &str, arguments: &[String], inputs: &Files) -> Key {
        let mut key = Key::new(kind);
        key.add(&self.toolkit.identity);
        arguments.iter().for_each(|argument| key.add(argument));
        key.add_files(inputs);
        key
    }
}

/// The files that arguments name: by themselves, as part of an option, as a library, or in an
/// options file that is itself named.
fn referenced(arguments: &[String], files: &Files) -> Result<Files> {
    let mut found = Files::new();
    for (name, file) in files {
        let library = name
            .strip_prefix("lib")
            .and_then(|rest| rest.strip_suffix(".a"));
        let named = arguments.iter().any(|argument| {
            argument
                .split(['=', ',', '@', ':'])
                .any(|part| part == name)
                || library.is_some_and(|library| argument.strip_prefix("-l") == Some(library))
        });
        if named {
            found.insert(name.clone(), file.clone());
        }
    }
    let mut nested = Vec::new();
    for (name, file) in &found {
        if name.ends_with(".txt") {
            // Quotes that are not closed are nvlink's to complain of.
            nested.extend(shlex::split(&String::from_utf8(file.read()?)?).unwrap_or_default());
        }
    }
    if !nested.is_empty() {
        found.extend(referenced(&nested, files)?);
    }
    Ok(found)
}
