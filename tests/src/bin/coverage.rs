//! Says which case shows each section, section type, attribute, relocation type and option: docs/coverage.md.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context, Result};
use clap::Parser;
use rustnvlink::arch::relocation::RelocationType;
use rustnvlink::cli::{FLAGS, Group};
use rustnvlink::cubin::{File, InfoCode, InfoRecords, SectionType};
use rustnvlink_tests::case;
use rustnvlink_tests::run::{self, Ran};
use rustnvlink_tests::store::Store;
use rustnvlink_tests::toolkit::Toolkit;

/// Writes docs/coverage.md anew from what the cases hold
#[derive(Parser)]
struct Arguments {}

/// How many cases a row names.
const NAMED: usize = 3;

/// What was seen, and the cases that show it.
type Seen<K> = BTreeMap<K, BTreeSet<String>>;

#[derive(Default)]
struct Coverage {
    sections: Seen<String>,
    types: Seen<SectionType>,
    attributes: Seen<InfoCode>,
    relocations: Seen<RelocationType>,
    options: Seen<&'static str>,
}

fn main() -> Result<()> {
    Arguments::parse();
    let toolkit = Toolkit::find()?;
    let store = Store::open()?;
    let mut coverage = Coverage::default();
    for case in case::all()? {
        for (arch, script) in &case.scripts {
            let ran = run::run(&case, *arch, script, &toolkit, &store)?;
            coverage.add(&case.name, &ran)?;
        }
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/coverage.md");
    std::fs::write(&path, coverage.page())
        .with_context(|| format!("cannot write {}", path.display()))
}

impl Coverage {
    fn add(&mut self, case: &str, ran: &Ran) -> Result<()> {
        let outputs = ran.links.iter().flat_map(|link| link.entry.files.values());
        for file in ran.files.values().chain(outputs) {
            // Some files are damaged on purpose, and some are no objects.
            if let Ok(object) = File::parse(&file.read()?) {
                self.object(case, &object);
            }
        }
        for link in &ran.links {
            for argument in &link.arguments {
                for row in FLAGS {
                    if is_option(argument, row.long, row.short, row.joined) {
                        see(&mut self.options, row.long, case);
                    }
                }
            }
        }
        Ok(())
    }

    fn object(&mut self, case: &str, object: &File<'_>) {
        for section in object.sections.iter().skip(1) {
            see(&mut self.sections, family(section.name), case);
            see(&mut self.types, section.kind, case);
            let is_info = [SectionType::CUDA_INFO, SectionType::CUDA_MERC_INFO];
            if is_info.contains(&section.kind) {
                for record in InfoRecords::new(section.data).flatten() {
                    see(&mut self.attributes, record.code, case);
                }
            }
            let holds_relocations = [
                SectionType::REL,
                SectionType::RELA,
                SectionType::CUDA_MERC_RELA,
            ];
            if holds_relocations.contains(&section.kind) {
                let records = File::relocation_records(section.name, section.kind, section.data);
                for relocation in records.into_iter().flatten() {
                    see(&mut self.relocations, RelocationType(relocation.kind), case);
                }
            }
        }
    }

    fn page(&self) -> String {
        let mut text = String::from(
            "# What the cases cover\n\n\
             Each row names up to three cases of `tests/cases` whose objects or images hold it, and in which our linker \
             is compared\nwith nvlink. `cargo run -p rustnvlink-tests --bin coverage` writes this page. Names below a table \
             are known to us, and in\nno object that the tools of toolkit 13.0 made for a case.\n",
        );
        table(&mut text, "Sections", &self.sections, |name| {
            format!("`{name}`")
        });
        table(&mut text, "Section types", &self.types, |kind| {
            format!("`{kind}`")
        });
        let known = (0..0x20).chain(0x7000_0000..0x7000_0100).map(SectionType);
        let missing = known
            .filter(|kind| !kind.to_string().starts_with("0x") && !self.types.contains_key(kind));
        names(&mut text, missing);
        table(&mut text, "Attributes", &self.attributes, |code| {
            format!("`{code}`")
        });
        let known = (0..=u8::MAX).map(InfoCode);
        let missing = known.filter(|code| {
            !code.to_string().starts_with("0x") && !self.attributes.contains_key(code)
        });
        names(&mut text, missing);
        table(&mut text, "Relocation types", &self.relocations, |kind| {
            format!("`{kind}`")
        });
        let known = (0..0x80).chain(0x1_0000..0x1_0080).map(RelocationType);
        let missing =
            known.filter(|kind| kind.name().is_some() && !self.relocations.contains_key(kind));
        names(&mut text, missing);
        table(&mut text, "Options of nvlink", &self.options, |long| {
            format!("`--{long}`")
        });
        let options = FLAGS.iter().filter(|row| row.group != Group::Ours);
        let missing = options.filter(|row| !self.options.contains_key(row.long));
        names(&mut text, missing.map(|row| format!("--{}", row.long)));
        text.push_str(
            "\nDescriptions of nvlink name more options, which it does not know: case `unknown_options`.\n",
        );
        text
    }
}

fn see<K: Ord>(seen: &mut Seen<K>, key: K, case: &str) {
    seen.entry(key).or_default().insert(case.to_owned());
}

/// A section's name without that of its function or kernel.
fn family(name: &str) -> String {
    const OWNED: [&str; 5] = [
        ".text.",
        ".nv.info.",
        ".nv.shared.",
        ".nv_debug_ptx_txt.",
        ".nv.uft.rel.",
    ];
    for part in OWNED {
        if let Some((before, _)) = name.split_once(part) {
            return format!("{before}{part}*");
        }
    }
    // Banks are numbered, and those of functions have two dots.
    if let Some((before, bank)) = name.split_once(".nv.constant")
        && let Some((bank, _)) = bank.split_once('.')
    {
        return format!("{before}.nv.constant{bank}.*");
    }
    name.to_owned()
}

fn is_option(argument: &str, long: &str, short: Option<&str>, joined: bool) -> bool {
    let name = argument.split('=').next().unwrap_or(argument);
    name.strip_prefix("--") == Some(long)
        || short.is_some_and(|short| {
            name.strip_prefix('-').is_some_and(|name| {
                name == short || joined && name.starts_with(short) && !is_known(name)
            })
        })
}

/// Whether this is an option of its own, and not one with its value attached.
fn is_known(name: &str) -> bool {
    FLAGS.iter().any(|row| row.short == Some(name))
}

fn table<K>(text: &mut String, title: &str, seen: &Seen<K>, show: impl Fn(&K) -> String) {
    let _ = write!(text, "\n## {title}\n\n| | Cases |\n|---|---|\n");
    for (key, cases) in seen {
        let named: Vec<String> = cases.iter().take(NAMED).map(|c| format!("`{c}`")).collect();
        let more = match cases.len().checked_sub(NAMED) {
            Some(more) if more > 0 => format!(" and {more} more"),
            _ => String::new(),
        };
        let _ = writeln!(text, "| {} | {}{more} |", show(key), named.join(" "));
    }
}

fn names(text: &mut String, missing: impl Iterator<Item = impl ToString>) {
    let missing: Vec<String> = missing
        .map(|name| format!("`{}`", name.to_string()))
        .collect();
    if !missing.is_empty() {
        let _ = write!(text, "\nIn no case: {}.\n", missing.join(", "));
    }
}
