//! Architectures as the directives name them.

use std::fmt;

use anyhow::{Context, Result, bail};

/// The architectures a case runs for unless it says otherwise.
pub const DEFAULT: [Arch; 5] = [Arch(75), Arch(80), Arch(90), Arch(100), Arch(120)];

/// A real architecture without suffix; it prints as `sm_90`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Arch(pub u32);

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sm_{}", self.0)
    }
}

/// A choice of architectures: `90`, `75-90`, `100+`, or several of these with blanks between.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArchSet(Vec<(u32, u32)>);

impl ArchSet {
    /// Parses the text between the brackets of a guard such as `ExpectExit[75 100+]`.
    pub fn parse(text: &str) -> Result<Self> {
        let number = |digits: &str| {
            let digits = digits.strip_prefix("sm_").unwrap_or(digits);
            digits
                .parse::<u32>()
                .with_context(|| format!("`{digits}` is not an architecture"))
        };
        let mut ranges = Vec::new();
        for word in text.split([' ', ',']).filter(|word| !word.is_empty()) {
            ranges.push(if let Some(first) = word.strip_suffix('+') {
                (number(first)?, u32::MAX)
            } else if let Some((first, last)) = word.split_once('-') {
                (number(first)?, number(last)?)
            } else {
                (number(word)?, number(word)?)
            });
        }
        if ranges.is_empty() {
            bail!("no architecture is named");
        }
        Ok(Self(ranges))
    }

    /// Whether `arch` is one of the chosen.
    pub fn contains(&self, arch: Arch) -> bool {
        self.0
            .iter()
            .any(|&(first, last)| (first..=last).contains(&arch.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_hold_what_they_name() {
        let chosen = |text: &str| -> Vec<u32> {
            let set = ArchSet::parse(text).unwrap();
            DEFAULT
                .into_iter()
                .filter(|&arch| set.contains(arch))
                .map(|arch| arch.0)
                .collect()
        };
        assert_eq!(chosen("75"), [75]);
        assert_eq!(chosen("75 100+"), [75, 100, 120]);
        assert_eq!(chosen("75-90"), [75, 80, 90]);
        assert_eq!(chosen("sm_80,sm_90"), [80, 90]);
        assert!(ArchSet::parse("").is_err());
        assert!(ArchSet::parse("hopper").is_err());
    }
}
