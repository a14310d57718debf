//! The ways in which we accept to differ from nvlink.

use anyhow::{Context, Result};

use crate::check::Difference;
use crate::target::Target;

const TEXT: &str = include_str!("../known-classes.txt");

/// The list, in its order.
#[derive(Debug)]
pub struct Known(Vec<Entry>);

/// Classes of differences that have one reason.
#[derive(Debug)]
struct Entry {
    archs: Vec<(u32, u32)>,
    reason: &'static str,
    patterns: Vec<&'static str>,
    /// What follows from these, and is accepted beside them alone.
    besides: Vec<&'static str>,
}

impl Known {
    /// Reads the list that is part of this program.
    pub fn read() -> Result<Self> {
        Self::parse(TEXT)
    }

    fn parse(text: &'static str) -> Result<Self> {
        let mut entries: Vec<Entry> = Vec::new();
        for line in text.lines() {
            if line.trim().is_empty() || line.starts_with('#') {
                continue;
            }
            if line.starts_with(' ') {
                let entry = entries.last_mut().context("a pattern before any reason")?;
                match line.trim_start().strip_prefix("+ ") {
                    Some(line) => entry.besides.extend(line.split_whitespace()),
                    None => entry.patterns.extend(line.split_whitespace()),
                }
                continue;
            }
            let (archs, reason) = line
                .split_once(": ")
                .with_context(|| format!("`{line}` is not `ARCHS: REASON`"))?;
            let archs: Vec<(u32, u32)> = archs
                .split(' ')
                .map(range)
                .collect::<Option<_>>()
                .with_context(|| format!("bad architectures in `{line}`"))?;
            entries.push(Entry {
                archs,
                reason,
                patterns: Vec::new(),
                besides: Vec::new(),
            });
        }
        Ok(Self(entries))
    }

    /// The reasons for all these differences, if there is one for each.
    pub fn reasons(
        &self,
        target: &Target,
        differences: &[Difference],
    ) -> Option<Vec<&'static str>> {
        let entries: Vec<&Entry> = self
            .0
            .iter()
            .filter(|entry| {
                let mut ranges = entry.archs.iter();
                ranges.any(|(first, last)| (*first..=*last).contains(&target.number))
            })
            .collect();
        let mut reasons = Vec::new();
        for difference in differences {
            // The reason of a class that several name is the first that is given already.
            let mut fitting = entries
                .iter()
                .filter(|entry| entry.covers(&difference.class, differences));
            let first = fitting.next()?.reason;
            if !fitting.any(|entry| reasons.contains(&entry.reason)) && !reasons.contains(&first) {
                reasons.push(first);
            }
        }
        Some(reasons)
    }
}

impl Entry {
    /// Whether it names the class, of some differences of one program.
    fn covers(&self, class: &str, all: &[Difference]) -> bool {
        let any = |patterns: &[&str], class: &str| patterns.iter().any(|p| matches(p, class));
        any(&self.patterns, class)
            || any(&self.besides, class) && all.iter().any(|d| any(&self.patterns, &d.class))
    }
}

fn range(text: &str) -> Option<(u32, u32)> {
    if text == "*" {
        return Some((0, u32::MAX));
    }
    if let Some(first) = text.strip_suffix('+') {
        return Some((first.parse().ok()?, u32::MAX));
    }
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    Some((first.parse().ok()?, last.parse().ok()?))
}

/// `%` stands for any text; classes themselves contain `*`.
fn matches(pattern: &str, class: &str) -> bool {
    match pattern.split_once('%') {
        None => pattern == class,
        Some((start, rest)) => class.strip_prefix(start).is_some_and(|class| {
            (0..=class.len())
                .filter(|&at| class.is_char_boundary(at))
                .any(|at| matches(rest, &class[at..]))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn difference(class: &str) -> Difference {
        Difference {
            class: class.to_owned(),
            text: String::new(),
        }
    }

    #[test]
    fn every_difference_needs_a_reason() {
        let known = Known::parse(
            "# x\n100+ 90: late\n  bytes.% section.*.size\n  + lines\n*: all\n  exit\n",
        )
        .unwrap();
        let reasons = |arch: &str, classes: &[&str]| {
            let differences: Vec<_> = classes.iter().map(|class| difference(class)).collect();
            known.reasons(&arch.parse().unwrap(), &differences)
        };
        assert_eq!(
            reasons("100", &["bytes.text", "section.*.size"]),
            Some(vec!["late"])
        );
        assert_eq!(
            reasons("100", &["bytes.text", "exit"]),
            Some(vec!["late", "all"])
        );
        assert_eq!(reasons("100", &["bytes.text", "section.x.size"]), None);
        assert_eq!(reasons("80", &["bytes.text"]), None);
        assert_eq!(reasons("80", &["exit"]), Some(vec!["all"]));
        assert_eq!(reasons("120", &["lines"]), None);
        assert_eq!(reasons("120", &["lines", "bytes.text"]), Some(vec!["late"]));
        assert!(Known::parse("oops\n").is_err());
        assert!(Known::parse("  early\n").is_err());
    }

    #[test]
    fn the_list_can_be_read() {
        let known = Known::read().unwrap();
        assert!(known.0.iter().all(|entry| !entry.patterns.is_empty()));
    }
}
