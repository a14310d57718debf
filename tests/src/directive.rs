//! Reads the directives of a case for one architecture.
//!
//! In goes the text of the file that carries them, out comes a [`Script`]: steps in the order they
//! are written, with every variable but `{lib}` replaced and every guard decided. README.md is the
//! reference of the grammar.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail, ensure};

use crate::arch::{self, Arch, ArchSet};

/// What starts a directive. Both CUDA and PTX take the line for a comment.
pub const MARK: &str = "//#";

/// The steps of a case for one architecture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Script {
    /// One sentence that says what the case shows.
    pub shows: String,
    /// What is done, in order.
    pub steps: Vec<Step>,
    /// The file that holds the exit codes and messages of all links, if there is one.
    pub golden: Option<String>,
}

/// One step and the line it stands on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// Counted from one.
    pub line: usize,
    /// What is done.
    pub action: Action,
}

/// What a step does.
#[expect(missing_docs, reason = "a variant says what its fields are")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Runs the compiler that fits the source, for the kind of file `output` is named as.
    Compile {
        output: String,
        source: String,
        flags: Vec<String>,
    },
    /// Puts members into a static library.
    Archive {
        output: String,
        members: Vec<String>,
    },
    /// Runs `fatbinary`.
    Fatbinary { output: String, flags: Vec<String> },
    /// Writes a text file.
    Write { output: String, text: String },
    /// Keeps the first `length` bytes.
    Truncate {
        output: String,
        input: String,
        length: usize,
    },
    /// Overwrites bytes at one place.
    Patch {
        output: String,
        input: String,
        place: Place,
        bytes: Vec<u8>,
    },
    /// Gives symbols weak binding.
    Weaken {
        output: String,
        input: String,
        symbols: Vec<String>,
    },
    /// Runs the linker.
    Link(Link),
}

/// Where a patch goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The section that `offset` counts from; without it, the file.
    pub section: Option<String>,
    /// In bytes.
    pub offset: usize,
}

/// One run of the linker and what is expected of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// Names the link in trials and in the list of known differences.
    pub name: String,
    /// The file the link is asked to write.
    pub output: Option<String>,
    /// The whole command line, without the program.
    pub arguments: Vec<String>,
    /// What has to hold.
    pub expectations: Vec<Expectation>,
    /// Whether our messages have to equal those of nvlink.
    pub compare_text: bool,
}

/// Something that has to hold after a link.
#[expect(missing_docs, reason = "a variant says what its fields are")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Expectation {
    /// The exit code; without one, 0 is expected.
    Exit(i32),
    /// Any exit code: the golden file holds the truth.
    AnyExit,
    /// The linker dies by a signal. Ours has to refuse such a link with an error.
    Crash,
    /// A part of what is printed.
    Text(String),
    /// Something that is not printed.
    NoText(String),
    /// A file that is written.
    File(String),
    /// A file that is not written.
    NoFile(String),
    /// A symbol of the output, and words that describe it.
    Symbol { name: String, words: Vec<String> },
    /// A symbol that the output does not have.
    NoSymbol(String),
    /// A section of the output.
    Section(String),
    /// A section that the output does not have.
    NoSection(String),
    /// The output equals a file made before, byte for byte.
    SameAs(String),
}

/// The architectures that `text` asks for, or the usual ones.
pub fn archs(text: &str) -> Result<Vec<Arch>> {
    for (line, directive) in directives(text) {
        let (name, _, value) = split(directive).with_context(|| format!("line {line}"))?;
        if name == "Archs" {
            return value
                .split_whitespace()
                .map(|word| {
                    word.parse()
                        .map(Arch)
                        .with_context(|| format!("line {line}: `{word}`"))
                })
                .collect();
        }
    }
    Ok(arch::DEFAULT.to_vec())
}

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

/// The source as compilers get it. Directives are left out, so that a changed expectation does not
/// make a new input; line numbers in messages of a compiler count without them.
pub fn without_directives(text: &str) -> String {
    text.split_inclusive('\n')
        .filter(|line| !line.trim_start().starts_with(MARK))
        .collect()
}

fn directives(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines()
        .enumerate()
        .filter_map(|(index, line)| Some((index + 1, line.trim().strip_prefix(MARK)?.trim())))
}

/// `Name[guard]: value`
fn split(directive: &str) -> Result<(&str, Option<ArchSet>, &str)> {
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
            "Compile" | "Archive" | "Fatbinary" | "Write" | "Truncate" | "Patch" | "Weaken" => {
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
    if name == "Write" {
        let text = if rest.is_empty() {
            String::new()
        } else {
            format!("{rest}\n")
        };
        return Ok(Action::Write { output, text });
    }
    if name == "Fatbinary" {
        return Ok(Action::Fatbinary {
            output,
            flags: words(rest)?,
        });
    }
    let (input, words) = input_and(rest)?;
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
        "Truncate" => {
            let [length] = words.as_slice() else {
                bail!("expected `output = input length`")
            };
            Action::Truncate {
                output,
                input,
                length: number(length)?,
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
        "Patch" => {
            let [place, bytes @ ..] = words.as_slice() else {
                bail!("expected `output = input place bytes`")
            };
            let (section, offset) = match place.rsplit_once('+') {
                Some((section, offset)) => (Some(section.to_owned()), offset),
                None => (None, place.as_str()),
            };
            let byte = |digits: &String| {
                u8::from_str_radix(digits, 16).with_context(|| format!("`{digits}` is not a byte"))
            };
            let bytes = bytes.iter().map(byte).collect::<Result<Vec<u8>>>()?;
            ensure!(!bytes.is_empty(), "expected the bytes to write");
            let place = Place {
                section,
                offset: number(offset)?,
            };
            Action::Patch {
                output,
                input,
                place,
                bytes,
            }
        }
        _ => unreachable!("`directive` hands over the names above only"),
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

#[cfg(test)]
mod tests {
    use super::*;

    const SHOWS: &str = "//# Shows: something\n";

    fn steps(directives: &str, arch: u32) -> Vec<Action> {
        let script = parse(&format!("{SHOWS}{directives}"), Arch(arch)).unwrap();
        script.steps.into_iter().map(|step| step.action).collect()
    }

    fn links(directives: &str, arch: u32) -> Vec<Link> {
        let only_links = |action| match action {
            Action::Link(link) => Some(link),
            _ => None,
        };
        steps(directives, arch)
            .into_iter()
            .filter_map(only_links)
            .collect()
    }

    fn error(directives: &str) -> String {
        format!(
            "{:#}",
            parse(&format!("{SHOWS}{directives}"), Arch(90)).unwrap_err()
        )
    }

    #[test]
    fn a_link_gets_its_architecture_and_output() {
        let [link] = &links("//# Link: out.cubin = a.cubin 'b c.cubin'", 80)[..] else {
            panic!()
        };
        assert_eq!(link.name, "out.cubin");
        assert_eq!(
            link.arguments,
            ["-arch=sm_80", "a.cubin", "b c.cubin", "-o", "out.cubin"]
        );
        assert_eq!(link.output.as_deref(), Some("out.cubin"));
    }

    #[test]
    fn a_link_without_extension_writes_nothing_by_itself() {
        let [link] = &links("//# Link: version = -V", 80)[..] else {
            panic!()
        };
        assert_eq!(link.arguments, ["-arch=sm_80", "-V"]);
        assert_eq!(link.output, None);
        let [link] = &links("//# LinkExactly: plain = a.cubin -o o.cubin", 80)[..] else {
            panic!()
        };
        assert_eq!(link.arguments, ["a.cubin", "-o", "o.cubin"]);
    }

    #[test]
    fn expectations_belong_to_the_link_before_them() {
        let all = links(
            "//# Link: a.cubin = x\n//# ExpectExit: 255\n//# CompareText\n\
             //# Link: b.cubin = x\n//# ExpectText: a b  c\n//# ExpectSymbol: k global func",
            90,
        );
        assert_eq!(all[0].expectations, [Expectation::Exit(255)]);
        assert!(all[0].compare_text && !all[1].compare_text);
        let words = vec!["global".to_owned(), "func".to_owned()];
        let symbol = Expectation::Symbol {
            name: "k".to_owned(),
            words,
        };
        assert_eq!(
            all[1].expectations,
            [Expectation::Text("a b  c".to_owned()), symbol]
        );
    }

    #[test]
    fn guards_choose_by_architecture() {
        let text = "//# Link: a.cubin = x\n//# ExpectExit[75 100+]: 1\n//# Link[90+]: b.cubin = x\n//# ExpectExit: 2";
        assert_eq!(links(text, 75)[0].expectations, [Expectation::Exit(1)]);
        assert_eq!(links(text, 75).len(), 1);
        assert!(links(text, 90)[0].expectations.is_empty());
        assert_eq!(links(text, 90)[1].expectations, [Expectation::Exit(2)]);
    }

    #[test]
    fn loops_expand_what_names_them() {
        let text = "//# For: o = 75 80\n//# For: l = 80 90\n//# Compile: k{o}.cubin = k.cu -arch=sm_{o}\n\
                    //# Link: {o}on{l}.cubin = k{o}.cubin -arch=sm_{l}\n//# ExpectText: {l}";
        assert_eq!(steps(text, 90).len(), 2 + 4);
        let all = links(text, 90);
        assert_eq!(
            all[1].arguments,
            ["k75.cubin", "-arch=sm_90", "-o", "75on90.cubin"]
        );
        assert_eq!(all[1].expectations, [Expectation::Text("90".to_owned())]);
    }

    #[test]
    fn steps_read_their_words() {
        let text = "//# Compile: a.cu -lineinfo\n//# Compile: f.o = b.cu\n//# Write: e.txt =\n//# Write: t.txt = sm_{sm} x\n\
                    //# Truncate: t.cubin = a.cubin 0x10\n//# Patch: p.cubin = a.cubin .text.k+4 00 ff\n//# Patch: q.cubin = a.cubin 7 01";
        let owned = |text: &str| text.to_owned();
        assert_eq!(
            steps(text, 90),
            [
                Action::Compile {
                    output: owned("a.cubin"),
                    source: owned("a.cu"),
                    flags: vec![owned("-lineinfo")]
                },
                Action::Compile {
                    output: owned("f.o"),
                    source: owned("b.cu"),
                    flags: vec![]
                },
                Action::Write {
                    output: owned("e.txt"),
                    text: String::new()
                },
                Action::Write {
                    output: owned("t.txt"),
                    text: owned("sm_90 x\n")
                },
                Action::Truncate {
                    output: owned("t.cubin"),
                    input: owned("a.cubin"),
                    length: 16
                },
                Action::Patch {
                    output: owned("p.cubin"),
                    input: owned("a.cubin"),
                    place: Place {
                        section: Some(owned(".text.k")),
                        offset: 4
                    },
                    bytes: vec![0, 255],
                },
                Action::Patch {
                    output: owned("q.cubin"),
                    input: owned("a.cubin"),
                    place: Place {
                        section: None,
                        offset: 7
                    },
                    bytes: vec![1],
                },
            ]
        );
    }

    #[test]
    fn mistakes_are_named_with_their_line() {
        assert!(
            error("\n//# Lnk: a = b")
                .contains("line 3: //# Lnk: a = b: no directive is called `Lnk`")
        );
        assert!(error("//# Link: a.cubin = {x}").contains("no variable `{x}`"));
        assert!(error("//# Link: a.cubin").contains("expected `name = ...`"));
        assert!(error("//# Link: a.cubin = x\n//# Link: a.cubin = x").contains("already named"));
        assert!(error("//# Link: a.cubin = x\n//# ExpectExit: two").contains("not an exit code"));
        assert!(error("//# Link[9: a.cubin = x").contains("not closed"));
        assert!(error("//# Link[75]: a.cubin = x").contains("no step for sm_90"));
        assert!(parse("//# Link: a.cubin = x", Arch(90)).is_err());
    }

    #[test]
    fn archs_are_the_usual_ones_unless_named() {
        assert_eq!(archs(SHOWS).unwrap(), arch::DEFAULT);
        assert_eq!(archs("//# Archs: 90 100\n").unwrap(), [Arch(90), Arch(100)]);
        assert!(archs("//# Archs: new\n").is_err());
    }

    #[test]
    fn compilers_do_not_see_directives() {
        let text = "//# Shows: x\nint a;\n  //# Link: y\n//b";
        assert_eq!(without_directives(text), "int a;\n//b");
    }
}
