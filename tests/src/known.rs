//! The list of accepted differences from nvlink, `known-differences.txt`.
//!
//! A line is `case arch link key # reason`; `*` stands for every architecture of the case. An
//! entry that no longer differs fails its trial, so the list can only shrink.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};

use crate::arch::Arch;
use crate::case::Case;
use crate::directive::Action;

/// The list.
#[derive(Debug, Default)]
pub struct Known(Vec<Entry>);

#[derive(Debug)]
struct Entry {
    line: usize,
    case: String,
    /// None means all.
    arch: Option<Arch>,
    link: String,
    key: String,
    reason: String,
}

impl Known {
    /// Reads the list of this package.
    pub fn read() -> Result<Self> {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("known-differences.txt");
        let text =
            fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        Self::parse(&text).context("in known-differences.txt")
    }

    fn parse(text: &str) -> Result<Self> {
        let mut entries: Vec<Entry> = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let line_number = index + 1;
            if line.trim().is_empty() || line.starts_with('#') {
                continue;
            }
            let (fields, reason) = line
                .split_once(" # ")
                .with_context(|| format!("line {line_number}: no ` # reason`"))?;
            let fields: Vec<&str> = fields.split_whitespace().collect();
            let [case, arch, link, key] = fields[..] else {
                bail!("line {line_number}: expected `case arch link key # reason`");
            };
            ensure!(
                !reason.trim().is_empty(),
                "line {line_number}: the reason is empty"
            );
            let arch = match arch {
                "*" => None,
                arch => Some(
                    arch.strip_prefix("sm_")
                        .and_then(|number| number.parse().ok())
                        .map(Arch)
                        .with_context(|| {
                            format!("line {line_number}: `{arch}` is not an architecture")
                        })?,
                ),
            };
            entries.push(Entry {
                line: line_number,
                case: case.to_owned(),
                arch,
                link: link.to_owned(),
                key: key.to_owned(),
                reason: reason.trim().to_owned(),
            });
        }
        Ok(Self(entries))
    }

    /// The keys accepted for one link, each with its reason.
    pub fn of(&self, case: &str, arch: Arch, link: &str) -> BTreeMap<&str, &str> {
        self.0
            .iter()
            .filter(|entry| entry.case == case && entry.link == link)
            .filter(|entry| entry.arch.is_none_or(|named| named == arch))
            .map(|entry| (entry.key.as_str(), entry.reason.as_str()))
            .collect()
    }

    /// Entries that name no link of any case, one line each.
    pub fn strays(&self, cases: &[Case]) -> Vec<String> {
        let exists = |entry: &Entry| {
            cases
                .iter()
                .filter(|case| case.name == entry.case)
                .any(|case| {
                    case.scripts.iter().any(|(arch, script)| {
                        entry.arch.is_none_or(|named| named == *arch)
                        && script.steps.iter().any(|step| {
                            matches!(&step.action, Action::Link(link) if link.name == entry.link)
                        })
                    })
                })
        };
        self.0
            .iter()
            .filter(|entry| !exists(entry))
            .map(|entry| {
                format!(
                    "line {}: no such link: {} {}",
                    entry.line, entry.case, entry.link
                )
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_apply_to_what_they_name() {
        let known =
            Known::parse("# heading\n\na * out.cubin bytes # why\na sm_90 out.cubin exit # so\n")
                .unwrap();
        assert_eq!(
            known.of("a", Arch(75), "out.cubin"),
            BTreeMap::from([("bytes", "why")])
        );
        assert_eq!(known.of("a", Arch(90), "out.cubin").len(), 2);
        assert!(known.of("a", Arch(90), "out2.cubin").is_empty());
        assert_eq!(known.strays(&[]).len(), 2);
    }

    #[test]
    fn entries_need_a_reason() {
        for line in [
            "a * out.cubin bytes",
            "a * out.cubin bytes # ",
            "a * bytes # why",
            "a new o b # why",
        ] {
            assert!(Known::parse(line).is_err(), "{line}");
        }
    }
}
