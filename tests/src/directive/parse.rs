//! From lines to a script.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail, ensure};

use super::{Action, Base, Expectation, Length, Link, MARK, Place, Script, Step, directives};
use crate::arch::{Arch, ArchSet};

/// Parses the directives in `text` for `arch`.
pub fn parse(text: &str, arch: Arch) -> Result<Script> {
    let mut parser = Parser {
        arch,
        shows: None,
        golden: None,
        loops: Vec::new(),
        steps: Vec::new(),
        links: Vec::new(),
    };
    for (line, directive) in directives(text) {
        parser
            .directive(line, directive)
            .with_context(|| format!("line {line}: {MARK} {directive}"))?;
    }
    let shows = parser
        .shows
        .context("no `Shows` directive says what the case shows")?;
    ensure!(
        !parser.steps.is_empty(),
        "no step for {arch}; is it meant to be left out of `Archs`?"
    );
    Ok(Script {
        shows,
        steps: parser.steps,
        golden: parser.golden,
    })
}

/// `Name[guard]: value`
pub(super) fn split(directive: &str) -> Result<(&str, Option<ArchSet>, &str)> {
    let end = directive
        .find(|c: char| !c.is_ascii_alphanumeric())
        .unwrap_or(directive.len());
    let (name, rest) = directive.split_at(end);
    let (guard, rest) = match rest.strip_prefix('[') {
        Some(rest) => {
            let (guard, rest) = rest.split_once(']').context("the `[` is not closed")?;
            (Some(ArchSet::parse(guard)?), rest)
        }
        None => (None, rest),
    };
    let value = match rest.strip_prefix(':') {
        Some(value) => value.trim(),
        None if rest.is_empty() => "",
        None => bail!("expected `{name}: value`"),
    };
    Ok((name, guard, value))
}

/// The values of the loop variables for one expansion.
type Bindings = Vec<(String, String)>;

struct Parser {
    arch: Arch,
    shows: Option<String>,
    golden: Option<String>,
    loops: Vec<(String, Vec<String>)>,
    steps: Vec<Step>,
    /// The links that expectations speak of: those of the last link directive.
    links: Vec<(usize, Bindings)>,
}

impl Parser {
    fn directive(&mut self, line: usize, directive: &str) -> Result<()> {
        let (name, guard, value) = split(directive)?;
        let chosen = guard.is_none_or(|guard| guard.contains(self.arch));
        match name {
            "Archs" => Ok(()),
            "Shows" => {
                ensure!(self.shows.is_none(), "the case already says what it shows");
                self.shows = Some(value.to_owned());
                Ok(())
            }
            "For" => {
                let (variable, values) =
                    value.split_once('=').context("expected `name = values`")?;
                let values = values.split_whitespace().map(str::to_owned).collect();
                self.loops.push((variable.trim().to_owned(), values));
                Ok(())
            }
            "Golden" => {
                self.golden = Some(self.expand(value, &Bindings::new())?);
                Ok(())
            }
            "Compile" | "Archive" | "Fatbinary" | "Write" | "Words" | "Truncate" | "Patch"
            | "Weaken" | "Rename" | "Narrow" | "Contents" | "Take" => {
                for bindings in self.expansions(value) {
                    let action = action(name, &self.expand(value, &bindings)?)?;
                    if chosen {
                        self.steps.push(Step { line, action });
                    }
                }
                Ok(())
            }
            "Link" | "LinkExactly" => {
                self.links.clear();
                for bindings in self.expansions(value) {
                    let link = self.link(name, &self.expand(value, &bindings)?)?;
                    if chosen {
                        self.links.push((self.steps.len(), bindings));
                        self.steps.push(Step {
                            line,
                            action: Action::Link(link),
                        });
                    }
                }
                // A guard on the link also covers what is expected of it.
                Ok(())
            }
            "CompareText" => {
                for (step, _) in &self.links {
                    if let (true, Action::Link(link)) = (chosen, &mut self.steps[*step].action) {
                        link.compare_text = true;
                    }
                }
                Ok(())
            }
            _ => {
                expectation(name, value)?;
                for (step, bindings) in self.links.clone() {
                    let expectation = expectation(name, &self.expand(value, &bindings)?)?;
                    if let (true, Action::Link(link)) = (chosen, &mut self.steps[step].action) {
                        link.expectations.push(expectation);
                    }
                }
                Ok(())
            }
        }
    }

    fn link(&self, directive: &str, value: &str) -> Result<Link> {
        let (name, rest) = named(value)?;
        let mut arguments = words(rest)?;
        if directive == "Link" && !arguments.iter().any(|word| word.starts_with("-arch")) {
            arguments.insert(0, format!("-arch={}", self.arch));
        }
        let output = name.contains('.').then(|| name.to_owned());
        if let (Some(output), "Link") = (&output, directive) {
            arguments.extend(["-o".to_owned(), output.clone()]);
        }
        ensure!(
            !self
                .steps
                .iter()
                .any(|step| matches!(&step.action, Action::Link(l) if l.name == name)),
            "a link is already named `{name}`"
        );
        let name = name.to_owned();
        Ok(Link {
            name,
            output,
            arguments,
            expectations: Vec::new(),
            compare_text: false,
        })
    }

    /// All combinations of the loop variables that occur in `text`; one without any if none does.
    fn expansions(&self, text: &str) -> Vec<Bindings> {
        let mut all = vec![Bindings::new()];
        for (variable, values) in &self.loops {
            if text.contains(&format!("{{{variable}}}")) {
                all = all
                    .iter()
                    .flat_map(|bindings| {
                        values.iter().map(move |value| {
                            let mut bindings = bindings.clone();
                            bindings.push((variable.clone(), value.clone()));
                            bindings
                        })
                    })
                    .collect();
            }
        }
        all
    }

    /// Replaces `{sm}` and the loop variables. `{lib}` is left for the run, which knows the toolkit.
    fn expand(&self, text: &str, bindings: &Bindings) -> Result<String> {
        let mut values: BTreeMap<&str, String> = bindings
            .iter()
            .map(|(name, value)| (name.as_str(), value.clone()))
            .collect();
        values.insert("sm", self.arch.0.to_string());
        values.insert("lib", "{lib}".to_owned());
        let mut expanded = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('{') {
            let (name, after) = after.split_once('}').context("the `{` is not closed")?;
            expanded.push_str(before);
            expanded.push_str(
                values
                    .get(name)
                    .with_context(|| format!("no variable `{{{name}}}`"))?,
            );
            rest = after;
        }
        Ok(expanded + rest)
    }
}

/// Splits `output = rest`.
fn named(value: &str) -> Result<(&str, &str)> {
    let (name, rest) = match value.strip_suffix('=') {
        Some(name) => (name, ""),
        None => value.split_once(" = ").context("expected `name = ...`")?,
    };
    let name = name.trim();
    ensure!(
        !name.is_empty() && !name.contains([' ', '/']),
        "`{name}` is not a plain name"
    );
    Ok((name, rest.trim()))
}

fn words(text: &str) -> Result<Vec<String>> {
    shlex::split(text).context("a quote is not closed")
}

/// Splits the words of a step that reads one file.
fn input_and(rest: &str) -> Result<(String, Vec<String>)> {
    let mut words = words(rest)?;
    ensure!(!words.is_empty(), "expected the name of a file");
    let input = words.remove(0);
    Ok((input, words))
}

fn action(name: &str, value: &str) -> Result<Action> {
    // `Compile: a.cu` is short for `Compile: a.cubin = a.cu`.
    if name == "Compile" && !value.contains(" = ") {
        let (source, flags) = input_and(value)?;
        let (stem, _) = source
            .rsplit_once('.')
            .context("the source has no extension")?;
        return Ok(Action::Compile {
            output: format!("{stem}.cubin"),
            source,
            flags,
        });
    }
    let (output, rest) = named(value)?;
    let output = output.to_owned();
    match name {
        "Write" => Ok(Action::Write {
            output,
            text: match rest {
                "" => String::new(),
                line => format!("{line}\n"),
            },
        }),
        "Fatbinary" => Ok(Action::Fatbinary {
            output,
            flags: words(rest)?,
        }),
        "Words" => {
            let numbers = words(rest)?;
            let numbers = numbers.iter().map(|word| Ok(u64::try_from(number(word)?)?));
            Ok(Action::Words {
                output,
                words: numbers.collect::<Result<_>>()?,
            })
        }
        _ => {
            let (input, words) = input_and(rest)?;
            action_on(name, output, input, words)
        }
    }
}

/// Bytes in hexadecimal, several of them to a word if need be.
fn bytes_of(words: &[String]) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    for word in words {
        let digits = word.as_bytes().chunks(2);
        let digits = digits.map(|digits| str::from_utf8(digits).unwrap_or_default());
        let word_bytes = digits.map(|digits| u8::from_str_radix(digits, 16));
        let word_bytes = word_bytes.collect::<Result<Vec<u8>, _>>();
        bytes.extend(word_bytes.with_context(|| format!("`{word}` are no bytes"))?);
    }
    ensure!(!bytes.is_empty(), "expected the bytes to write");
    Ok(bytes)
}

/// A step that reads a file.
fn action_on(name: &str, output: String, input: String, words: Vec<String>) -> Result<Action> {
    Ok(match name {
        "Compile" => Action::Compile {
            output,
            source: input,
            flags: words,
        },
        "Archive" => Action::Archive {
            output,
            members: std::iter::once(input).chain(words).collect(),
        },
        "Take" => {
            ensure!(words.is_empty(), "expected one file");
            Action::Take { output, input }
        }
        "Narrow" => {
            ensure!(words.is_empty(), "expected one file");
            Action::Narrow { output, input }
        }
        "Truncate" => {
            let [length] = words.as_slice() else {
                bail!("expected `output = input length`")
            };
            Action::Truncate {
                output,
                input,
                length: match length.strip_prefix('-') {
                    Some(rest) => Length::AllBut(number(rest)?),
                    None => Length::First(number(length)?),
                },
            }
        }
        "Weaken" => {
            ensure!(!words.is_empty(), "expected the names of symbols");
            Action::Weaken {
                output,
                input,
                symbols: words,
            }
        }
        "Rename" => {
            let [from, to] = words.as_slice() else {
                bail!("expected `output = input section name`")
            };
            Action::Rename {
                output,
                input,
                from: from.clone(),
                to: to.clone(),
            }
        }
        "Patch" => {
            let [at, bytes @ ..] = words.as_slice() else {
                bail!("expected `output = input place bytes`")
            };
            Action::Patch {
                output,
                input,
                place: place(at)?,
                bytes: bytes_of(bytes)?,
            }
        }
        "Contents" => {
            let [section, bytes @ ..] = words.as_slice() else {
                bail!("expected `output = input section bytes`")
            };
            Action::Contents {
                output,
                input,
                section: section.clone(),
                bytes: bytes_of(bytes)?,
            }
        }
        _ => unreachable!("`directive` hands over the names above only"),
    })
}

/// `0x40`, `SECTION+0x10` or `SECTION@0x2c`.
fn place(text: &str) -> Result<Place> {
    let (base, offset) = match (text.rsplit_once('+'), text.rsplit_once('@')) {
        (Some((section, offset)), _) => (Base::Section(section.to_owned()), offset),
        (None, Some((section, offset))) => (Base::Header(section.to_owned()), offset),
        (None, None) => (Base::File, text),
    };
    Ok(Place {
        base,
        offset: number(offset)?,
    })
}

fn number(text: &str) -> Result<usize> {
    match text.strip_prefix("0x") {
        Some(digits) => usize::from_str_radix(digits, 16),
        None => text.parse(),
    }
    .with_context(|| format!("`{text}` is not a number"))
}

fn expectation(name: &str, value: &str) -> Result<Expectation> {
    ensure!(!value.is_empty(), "`{name}` needs a value");
    let text = value.to_owned();
    Ok(match name {
        "ExpectExit" if value == "any" => Expectation::AnyExit,
        "ExpectExit" if value == "crash" => Expectation::Crash,
        "ExpectExit" => Expectation::Exit(value.parse().context("not an exit code")?),
        "ExpectText" => Expectation::Text(text),
        "ExpectNoText" => Expectation::NoText(text),
        "ExpectFile" => Expectation::File(text),
        "ExpectNoFile" => Expectation::NoFile(text),
        "ExpectSymbol" => {
            let (name, words) = input_and(value)?;
            Expectation::Symbol { name, words }
        }
        "ExpectNoSymbol" => Expectation::NoSymbol(text),
        "ExpectSection" => Expectation::Section(text),
        "ExpectNoSection" => Expectation::NoSection(text),
        "ExpectSameAs" => Expectation::SameAs(text),
        _ => bail!("no directive is called `{name}`"),
    })
}
