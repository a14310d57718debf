//! The architectures programs are made for.

use std::fmt;
use std::str::FromStr;

/// An architecture, such as `90` or `100a`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Target {
    /// The number.
    pub number: u32,
    suffix: String,
}

impl Target {
    /// The processors of its family whose code it takes, besides its own.
    pub fn takes(&self) -> Vec<Self> {
        let names: &[&str] = match self.number {
            86 => &["80"],
            89 => &["80", "86"],
            90 => &["90", "90a"],
            100 => &["100", "100a", "100f"],
            103 => &["100", "100f", "103", "103a", "103f"],
            110 => &["110", "110a"],
            120 => &["120", "120a", "120f"],
            121 => &["120", "120f", "121", "121a"],
            _ => &[],
        };
        let all = names.iter().filter_map(|name| name.parse().ok());
        all.filter(|other| other != self).collect()
    }

    /// Whether the features of one architecture alone are there.
    pub fn is_specific(&self) -> bool {
        self.suffix == "a"
    }
}

impl FromStr for Target {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim_start_matches("sm_");
        let (number, suffix) = match text.find(|c: char| !c.is_ascii_digit()) {
            Some(at) => text.split_at(at),
            None => (text, ""),
        };
        match number.parse() {
            Ok(number) if matches!(suffix, "" | "a" | "f") => Ok(Self {
                number,
                suffix: suffix.to_owned(),
            }),
            _ => Err(format!("`{text}` is no architecture such as 90 or 100a")),
        }
    }
}

/// As the tools spell it.
impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sm_{}{}", self.number, self.suffix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn others_are_of_the_family() {
        for name in [
            "75", "86", "89", "90", "90a", "100", "103a", "110", "120", "121",
        ] {
            let target: Target = name.parse().unwrap();
            for other in target.takes() {
                assert_ne!(other, target);
                assert_eq!(
                    other.number / 10,
                    target.number / 10,
                    "{other} for {target}"
                );
            }
        }
        let takes = |name: &str| name.parse::<Target>().unwrap().takes().len();
        assert_eq!([takes("75"), takes("90"), takes("89")], [0, 1, 2]);
    }
}
