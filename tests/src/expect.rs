//! Checks what a case expects of a link.

use anyhow::{Context, Result};
use object::read::elf::ElfFile64;
use object::{Endianness, Object as _, ObjectSection as _, ObjectSymbol as _, elf};

use crate::directive::{Expectation, Link};
use crate::process::Exit;
use crate::store::{Entry, Files};

/// Everything about `entry` that is not as `link` expects, one line each. `files` are those of all
/// steps so far.
pub fn check(link: &Link, entry: &Entry, files: &Files) -> Result<Vec<String>> {
    let mut wrong = Vec::new();
    check_exit(link, entry, &mut wrong);
    let image = link
        .output
        .as_ref()
        .and_then(|output| entry.files.get(output));
    for expectation in &link.expectations {
        let verdict = match expectation {
            Expectation::Exit(_) | Expectation::AnyExit | Expectation::Crash => None,
            Expectation::Text(text) => {
                (!prints(entry, text)).then(|| format!("does not print `{text}`"))
            }
            Expectation::NoText(text) => prints(entry, text).then(|| format!("prints `{text}`")),
            Expectation::File(name) => {
                (!entry.files.contains_key(name)).then(|| format!("does not write {name}"))
            }
            Expectation::NoFile(name) => entry
                .files
                .contains_key(name)
                .then(|| format!("writes {name}")),
            Expectation::SameAs(other) => {
                let other_hash = files.get(other).map(|file| &file.hash);
                let equal = other_hash.is_some() && image.map(|file| &file.hash) == other_hash;
                (!equal).then(|| format!("differs from {other}"))
            }
            Expectation::Symbol { .. }
            | Expectation::NoSymbol(_)
            | Expectation::Section(_)
            | Expectation::NoSection(_) => match image {
                None => Some("there is no output to look into".to_owned()),
                Some(image) => content(expectation, &image.read()?)?,
            },
        };
        wrong.extend(verdict);
    }
    if !wrong.is_empty() {
        wrong.push(format!("it ended with {} and printed:", entry.ended.exit));
        wrong.extend(
            entry
                .ended
                .stdout
                .lines()
                .chain(entry.ended.stderr.lines())
                .map(str::to_owned),
        );
    }
    Ok(wrong)
}

/// The exit code, and that there is an output exactly if the link succeeds.
fn check_exit(link: &Link, entry: &Entry, wrong: &mut Vec<String>) {
    let mut expected = Some(0);
    let mut speaks_of_files = false;
    for expectation in &link.expectations {
        match expectation {
            Expectation::Exit(code) => expected = Some(*code),
            Expectation::AnyExit => expected = None,
            Expectation::Crash => {
                expected = None;
                if !matches!(entry.ended.exit, Exit::Signal(_) | Exit::TimedOut) {
                    wrong.push(format!(
                        "ends with {}, not by a signal or the time limit",
                        entry.ended.exit
                    ));
                }
            }
            Expectation::File(_) | Expectation::NoFile(_) => speaks_of_files = true,
            _ => {}
        }
    }
    if let Some(code) = expected.filter(|&code| entry.ended.exit != Exit::Code(code)) {
        wrong.push(format!("ends with {}, not {code}", entry.ended.exit));
    }
    if let (Some(output), false) = (&link.output, speaks_of_files) {
        match (
            entry.files.contains_key(output),
            entry.ended.exit == Exit::Code(0),
        ) {
            (false, true) => wrong.push(format!("succeeds without {output}")),
            (true, false) => wrong.push(format!("fails and leaves {output}")),
            (true, true) | (false, false) => {}
        }
    }
}

fn prints(entry: &Entry, text: &str) -> bool {
    entry.ended.stdout.contains(text) || entry.ended.stderr.contains(text)
}

/// What is wrong about a symbol or section of `image`.
fn content(expectation: &Expectation, image: &[u8]) -> Result<Option<String>> {
    let file = ElfFile64::<Endianness>::parse(image).context("the output is no ELF file")?;
    let has_section = |name: &str| file.sections().any(|section| section.name() == Ok(name));
    let has_symbol = |name: &str| file.symbols().any(|symbol| symbol.name() == Ok(name));
    Ok(match expectation {
        Expectation::Section(name) => (!has_section(name)).then(|| format!("no section {name}")),
        Expectation::NoSection(name) => has_section(name).then(|| format!("has a section {name}")),
        Expectation::NoSymbol(name) => has_symbol(name).then(|| format!("has a symbol {name}")),
        Expectation::Symbol { name, words } => {
            let described: Vec<Vec<String>> = file
                .symbols()
                .filter(|symbol| symbol.name() == Ok(name))
                .map(|symbol| describe(&file, &symbol))
                .collect();
            let fits = described
                .iter()
                .any(|has| words.iter().all(|word| has.contains(word)));
            (!fits).then(|| match described.as_slice() {
                [] => format!("no symbol {name}"),
                all => format!("symbol {name} is {all:?}, not {words:?}"),
            })
        }
        _ => None,
    })
}

/// The words that `ExpectSymbol` may use of a symbol.
fn describe<'d>(
    file: &ElfFile64<'d, Endianness>,
    symbol: &object::read::elf::ElfSymbol64<'d, '_, Endianness>,
) -> Vec<String> {
    let binding = match (symbol.is_weak(), symbol.is_global()) {
        (true, _) => "weak",
        (false, true) => "global",
        (false, false) => "local",
    };
    let kind = match symbol.elf_symbol().st_type() {
        elf::STT_FUNC => "func".to_owned(),
        elf::STT_OBJECT => "object".to_owned(),
        kind => format!("type={}", kind.0),
    };
    let section = match symbol.section_index() {
        Some(index) => file
            .section_by_index(index)
            .ok()
            .and_then(|section| section.name().ok()),
        None => Some("undefined"),
    };
    let mut words = vec![binding.to_owned(), kind, format!("size={}", symbol.size())];
    words.extend(section.map(str::to_owned));
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::Ended;
    use crate::store::Stored;

    /// What is wrong about a link that ends and prints like this, and writes `files`.
    fn check(
        expectations: &[Expectation],
        exit: Exit,
        stderr: &str,
        files: &[&str],
    ) -> Vec<String> {
        let link = Link {
            name: "out.cubin".to_owned(),
            output: Some("out.cubin".to_owned()),
            arguments: Vec::new(),
            expectations: expectations.to_vec(),
            compare_text: false,
        };
        let stored = |name: &&str| {
            let (path, hash) = ("/nowhere".into(), (*name).to_owned());
            ((*name).to_owned(), Stored { path, hash })
        };
        let (stdout, stderr) = (String::new(), stderr.to_owned());
        let ended = Ended {
            exit,
            stdout,
            stderr,
        };
        let files = files.iter().map(stored).collect();
        let mut wrong = super::check(&link, &Entry { ended, files }, &Files::new()).unwrap();
        if let Some(end) = wrong.iter().position(|line| line.starts_with("it ended")) {
            wrong.truncate(end);
        }
        wrong
    }

    #[test]
    fn a_link_succeeds_with_its_output_unless_told_otherwise() {
        let done = Exit::Code(0);
        assert!(check(&[], done, "", &["out.cubin"]).is_empty());
        assert_eq!(check(&[], done, "", &[]), ["succeeds without out.cubin"]);
        assert_eq!(
            check(&[], Exit::Code(1), "", &[]),
            ["ends with exit 1, not 0"]
        );
        let absent = [Expectation::NoFile("out.cubin".to_owned())];
        assert!(check(&absent, done, "", &[]).is_empty());
        assert_eq!(
            check(&absent, done, "", &["out.cubin"]),
            ["writes out.cubin"]
        );
    }

    #[test]
    fn a_link_that_fails_leaves_nothing() {
        let fails = [Expectation::Exit(255)];
        assert!(check(&fails, Exit::Code(255), "", &[]).is_empty());
        let left = check(&fails, Exit::Code(255), "", &["out.cubin"]);
        assert_eq!(left, ["fails and leaves out.cubin"]);
        assert!(check(&[Expectation::AnyExit], Exit::Code(7), "", &[]).is_empty());
        assert!(check(&[Expectation::Crash], Exit::Signal(11), "", &[]).is_empty());
        let survives = check(&[Expectation::Crash], Exit::Code(1), "", &[]);
        assert_eq!(
            survives,
            ["ends with exit 1, not by a signal or the time limit"]
        );
    }

    #[test]
    fn text_is_looked_for() {
        let text = Expectation::Text("Undefined".to_owned());
        let none = Expectation::NoText("warning".to_owned());
        let all = [text, none];
        let files = ["out.cubin"];
        assert!(check(&all, Exit::Code(0), "x Undefined y", &files).is_empty());
        let wrong = check(&all, Exit::Code(0), "a warning", &files);
        assert_eq!(wrong, ["does not print `Undefined`", "prints `warning`"]);
    }
}
