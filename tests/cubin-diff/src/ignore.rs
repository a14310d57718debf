//! Differences that are accepted, each with its reason.

use crate::Difference;

/// A list of keys. A `*` in a key stands for any text.
#[derive(Debug, Default)]
pub struct IgnoreList(Vec<String>);

/// A line of an ignore list that is not `key # reason`.
#[derive(Debug, thiserror::Error)]
#[error("line {line}: expected `key # reason`")]
pub struct BadIgnoreList {
    /// Counted from one.
    pub line: usize,
}

impl IgnoreList {
    /// Reads `key # reason` from every line. Empty lines and lines that start with `#` are skipped.
    pub fn parse(text: &str) -> Result<Self, BadIgnoreList> {
        let mut keys = Vec::new();
        for (index, line) in text.lines().enumerate() {
            if line.trim().is_empty() || line.starts_with('#') {
                continue;
            }
            match line.split_once(" # ") {
                Some((key, reason)) if !key.trim().is_empty() && !reason.trim().is_empty() => {
                    keys.push(key.trim().to_owned());
                }
                _ => return Err(BadIgnoreList { line: index + 1 }),
            }
        }
        Ok(Self(keys))
    }

    /// Whether a difference is on the list.
    pub fn covers(&self, difference: &Difference) -> bool {
        self.0
            .iter()
            .any(|pattern| matches(pattern, &difference.key))
    }
}

/// Whether `text` is `pattern`, whose `*` stand for any text.
fn matches(pattern: &str, text: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else {
        return pattern == text;
    };
    let Some(text) = text.strip_prefix(start) else {
        return false;
    };
    let mut ends = (0..=text.len()).filter(|&end| text.is_char_boundary(end));
    ends.any(|end| matches(rest, &text[end..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_stand_for_any_text() {
        assert!(matches("symbol.*.value", "symbol.foo.value"));
        assert!(matches("*", ""));
        assert!(matches("a*b*c", "abbc"));
        assert!(!matches("symbol.*.value", "symbol.foo.size"));
        assert!(!matches("symbol.foo", "symbol.foo.value"));
    }

    #[test]
    fn every_key_needs_a_reason() {
        let list = IgnoreList::parse("# heading\n\nsection.*.size # padding is free\n").unwrap();
        let difference = |key: &str| Difference {
            key: key.to_owned(),
            left: None,
            right: None,
        };
        assert!(list.covers(&difference("section.text.k.size")));
        assert!(!list.covers(&difference("section.text.k.type")));
        assert_eq!(IgnoreList::parse("a # b\nkey").unwrap_err().line, 2);
        assert!(IgnoreList::parse("key # ").is_err());
    }
}
