//! Counts what came of many programs.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::check::{Difference, Outcome};
use crate::feature::Feature;
use crate::known::Known;
use crate::program::Program;
use crate::target::Target;

/// How often something was tried and was the same.
#[derive(Debug, Default, Clone, Copy)]
struct Count {
    same: usize,
    known: usize,
    tried: usize,
    /// These are none of those tried: there is nothing that ours could be like.
    irreproducible: usize,
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = 100.0 * self.same as f64 / self.tried.max(1) as f64;
        write!(
            f,
            "{:6} of {:6}  {percent:6.2} %  {:6} differ in known ways",
            self.same, self.tried, self.known
        )?;
        match self.irreproducible {
            0 => Ok(()),
            count => write!(f, "  {count:6} that nvlink does not reproduce"),
        }
    }
}

/// The counts of some programs.
#[derive(Debug, Default)]
pub struct Score {
    targets: BTreeMap<Target, Count>,
    features: BTreeMap<Feature, Count>,
    rejected: BTreeMap<String, usize>,
    failed_links: usize,
    refused: usize,
    /// Those that differ in each way, the smallest ones first.
    classes: BTreeMap<String, BTreeSet<(usize, u64, Target)>>,
    reasons: BTreeMap<&'static str, usize>,
}

/// How one program counts.
enum Verdict {
    Same,
    Known,
    Different,
    Irreproducible,
}

impl Score {
    /// Counts one program.
    pub fn add(&mut self, seed: u64, program: &Program, outcome: &Outcome, known: &Known) {
        let verdict = match outcome {
            Outcome::Rejected(text) => {
                *self.rejected.entry(reason(text)).or_default() += 1;
                return;
            }
            Outcome::Refused => {
                self.refused += 1;
                return;
            }
            Outcome::Same(exit) => {
                if exit.to_string() != "exit 0" {
                    self.failed_links += 1;
                }
                Verdict::Same
            }
            Outcome::Different(differences) => {
                if let Some(reasons) = known.reasons(&program.target, differences) {
                    for reason in reasons {
                        *self.reasons.entry(reason).or_default() += 1;
                    }
                    self.count(program, &Verdict::Known);
                    return;
                }
                let mut classes: Vec<&str> = differences.iter().map(|d| &*d.class).collect();
                classes.sort_unstable();
                classes.dedup();
                for class in classes {
                    let seeds = self.classes.entry(class.to_owned()).or_default();
                    seeds.insert((program.size(), seed, program.target.clone()));
                }
                Verdict::Different
            }
            Outcome::Irreproducible(_) => Verdict::Irreproducible,
        };
        self.count(program, &verdict);
    }

    fn count(&mut self, program: &Program, verdict: &Verdict) {
        let add = |count: &mut Count| {
            match verdict {
                Verdict::Irreproducible => {
                    count.irreproducible += 1;
                    return;
                }
                Verdict::Same => count.same += 1,
                Verdict::Known => count.known += 1,
                Verdict::Different => {}
            }
            count.tried += 1;
        };
        add(self.targets.entry(program.target.clone()).or_default());
        for feature in program.features() {
            add(self.features.entry(feature).or_default());
        }
    }

    /// Whether nothing differed in unknown ways.
    pub fn is_perfect(&self) -> bool {
        self.classes.is_empty()
    }
}

/// The first line of a compiler's message that says something, without places and names.
fn reason(text: &str) -> String {
    let line = text
        .lines()
        .find(|line| line.contains("error") || line.contains("fatal"))
        .or_else(|| text.lines().next())
        .unwrap_or("no message");
    match line
        .split_once("line ")
        .and_then(|(_, rest)| rest.split_once("; "))
    {
        Some((_, what)) => what.to_owned(),
        None => line.to_owned(),
    }
}

impl fmt::Display for Score {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (target, count) in &self.targets {
            writeln!(f, "{:18} {count}", target.to_string())?;
        }
        writeln!(f)?;
        for (feature, count) in &self.features {
            writeln!(f, "{feature:18} {count}")?;
        }
        let mut all = Count::default();
        for count in self.targets.values() {
            all.same += count.same;
            all.known += count.known;
            all.tried += count.tried;
            all.irreproducible += count.irreproducible;
        }
        // Differences that are known are differences.
        writeln!(f, "\n{:18} {all}", "all")?;
        writeln!(
            f,
            "\n{} links fail with both linkers; nvlink crashes on {} and ours refuses",
            self.failed_links, self.refused
        )?;
        for (reason, count) in &self.reasons {
            writeln!(f, "{count:5} differ as known: {reason}")?;
        }
        for (reason, count) in &self.rejected {
            writeln!(f, "{count} programs do not compile: {reason}")?;
        }
        let mut classes: Vec<_> = self.classes.iter().collect();
        classes.sort_by_key(|(_, seeds)| std::cmp::Reverse(seeds.len()));
        if !classes.is_empty() {
            writeln!(f)?;
        }
        for (class, seeds) in classes.iter().take(60) {
            let shown: Vec<_> = seeds
                .iter()
                .take(4)
                .map(|(_, seed, target)| format!("{seed}/{target}"))
                .collect();
            writeln!(f, "{:5} {class}  ({})", seeds.len(), shown.join(" "))?;
        }
        Ok(())
    }
}

/// The first differences as lines.
pub fn first_lines(differences: &[Difference], count: usize) -> String {
    let mut text = String::new();
    for difference in differences.iter().take(count) {
        let cut: String = difference.text.chars().take(400).collect();
        text.push_str(&format!(
            "    {}\n",
            if cut.is_empty() {
                &difference.class
            } else {
                &cut
            }
        ));
    }
    if differences.len() > count {
        text.push_str(&format!("    and {} more\n", differences.len() - count));
    }
    text
}
