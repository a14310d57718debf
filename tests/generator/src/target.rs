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
