//! Checks what a case expects of a link.

use anyhow::{Context, Result};
use object::read::elf::ElfFile64;
use object::{Endianness, Object as _, ObjectSection as _, ObjectSymbol as _, SymbolKind};

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
                if !matches!(entry.ended.exit, Exit::Signal(_)) {
                    wrong.push(format!("ends with {}, not by a signal", entry.ended.exit));
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
    let kind = match symbol.kind() {
        SymbolKind::Text => "func",
        SymbolKind::Data => "object",
        _ => "other",
    };
    let section = match symbol.section_index() {
        Some(index) => file
            .section_by_index(index)
            .ok()
            .and_then(|section| section.name().ok()),
        None => Some("undefined"),
    };
    let mut words = vec![
        binding.to_owned(),
        kind.to_owned(),
        format!("size={}", symbol.size()),
    ];
    words.extend(section.map(str::to_owned));
    words
}
