//! One difference, and how people and programs get to read it.

use std::collections::HashMap;
use std::fmt::{self, Write as _};

use serde::Serialize;

use crate::Side;
use crate::facts::{Facts, Value};

/// A fact that the images disagree about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// Names the fact: `symbol.foo.value`. The same in every run and on every architecture.
    pub key: String,
    /// What the left image says; nothing if it does not have the fact.
    pub left: Option<String>,
    /// What the right image says.
    pub right: Option<String>,
}

impl Difference {
    pub(crate) fn new(key: &str, left: Option<&Value>, right: Option<&Value>) -> Self {
        let (left, right) = match (left, right) {
            (Some(Value::List(left)), Some(Value::List(right))) => {
                let (left, right) = lists(left, right);
                (Some(left), Some(right))
            }
            (Some(Value::Bytes(left)), Some(Value::Bytes(right))) => {
                let (left, right) = bytes(left, right);
                (Some(left), Some(right))
            }
            (left, right) => (left.map(alone), right.map(alone)),
        };
        Self {
            key: key.to_owned(),
            left,
            right,
        }
    }
}

impl Difference {
    /// A section or symbol that only the image of `facts` has.
    pub(crate) fn owner(side: Side, owner: &str, facts: &Facts) -> Self {
        let about: Vec<String> = facts
            .iter()
            .filter(|fact| fact.owner == owner)
            .map(|fact| {
                let what = fact.key.strip_prefix(owner).unwrap_or(&fact.key);
                format!("{} {}", what.trim_start_matches('.'), alone(&fact.value))
            })
            .collect();
        let text = Some(about.join(", "));
        let (left, right) = match side {
            Side::Left => (text, None),
            Side::Right => (None, text),
        };
        Self {
            key: owner.to_owned(),
            left,
            right,
        }
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.left, &self.right) {
            (Some(left), Some(right)) => {
                write!(f, "{}\n    left:  {left}\n    right: {right}", self.key)
            }
            (Some(left), None) => write!(f, "{}\n    only left: {left}", self.key),
            (None, Some(right)) => write!(f, "{}\n    only right: {right}", self.key),
            (None, None) => f.write_str(&self.key),
        }
    }
}

/// How many items or bytes are shown of each side.
const SHOWN: usize = 16;

/// A value without a counterpart.
fn alone(value: &Value) -> String {
    match value {
        Value::Text(text) => text.clone(),
        Value::List(items) => format!("{} items{}", items.len(), shortened(items.iter())),
        Value::Bytes(bytes) => format!("{} bytes", bytes.len()),
    }
}

/// What is special about either list: its own items, or else the part that is in another order.
fn lists(left: &[String], right: &[String]) -> (String, String) {
    let own = |of: &[String], other: &[String]| -> Vec<String> {
        let mut counts: HashMap<&str, usize> = HashMap::new();
        for item in other {
            *counts.entry(item).or_default() += 1;
        }
        let mut own = Vec::new();
        for item in of {
            match counts.get_mut(item.as_str()) {
                Some(count @ 1..) => *count -= 1,
                _ => own.push(item.clone()),
            }
        }
        own
    };
    let (own_left, own_right) = (own(left, right), own(right, left));
    if own_left.is_empty() && own_right.is_empty() {
        let same = left.iter().zip(right).take_while(|(a, b)| a == b).count();
        let tail = left
            .iter()
            .rev()
            .zip(right.iter().rev())
            .take_while(|(a, b)| a == b)
            .count();
        let part = |of: &[String]| {
            let moved = &of[same..of.len() - tail];
            format!("from item {same}{}", shortened(moved.iter()))
        };
        return (part(left), part(right));
    }
    let describe = |items: &[String], own: &[String]| match own {
        [] => format!("{} items, all of them in the other too", items.len()),
        own => format!("{} items, only here{}", items.len(), shortened(own.iter())),
    };
    (describe(left, &own_left), describe(right, &own_right))
}

fn shortened<'a>(items: impl ExactSizeIterator<Item = &'a String>) -> String {
    let rest = items.len().saturating_sub(SHOWN);
    let mut text = String::new();
    for (index, item) in items.take(SHOWN).enumerate() {
        text.push_str(if index == 0 { ": " } else { ", " });
        text.push_str(item);
    }
    if rest > 0 {
        write!(text, " and {rest} more").expect("a string takes any text");
    }
    text
}

/// Both sides around the first byte that differs.
fn bytes(left: &[u8], right: &[u8]) -> (String, String) {
    let differing = left.iter().zip(right).filter(|(a, b)| a != b).count();
    let first = left
        .iter()
        .zip(right)
        .position(|(a, b)| a != b)
        .unwrap_or(left.len().min(right.len()));
    let side = |of: &[u8]| {
        let hex: String = of[first..]
            .iter()
            .take(SHOWN)
            .map(|byte| format!(" {byte:02x}"))
            .collect();
        format!(
            "{} bytes, {differing} differ, from {first:#x}:{hex}",
            of.len()
        )
    };
    (side(left), side(right))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(text: &str) -> Value {
        Value::List(text.split_whitespace().map(str::to_owned).collect())
    }

    fn check(left: &Value, right: &Value, expected: [&str; 2]) {
        let difference = Difference::new("key", Some(left), Some(right));
        let [left, right] = expected;
        assert_eq!(difference.left.as_deref(), Some(left));
        assert_eq!(difference.right.as_deref(), Some(right));
    }

    #[test]
    fn lists_show_what_only_one_has() {
        check(
            &list("a b c b"),
            &list("a c b d"),
            ["4 items, only here: b", "4 items, only here: d"],
        );
        check(
            &list("a b"),
            &list("a"),
            [
                "2 items, only here: b",
                "1 items, all of them in the other too",
            ],
        );
    }

    #[test]
    fn lists_of_the_same_items_show_what_moved() {
        check(
            &list("a b c d"),
            &list("a c b d"),
            ["from item 1: b, c", "from item 1: c, b"],
        );
    }

    #[test]
    fn bytes_show_where_they_part() {
        check(
            &Value::Bytes(vec![1, 2, 3]),
            &Value::Bytes(vec![1, 7]),
            [
                "3 bytes, 1 differ, from 0x1: 02 03",
                "2 bytes, 1 differ, from 0x1: 07",
            ],
        );
    }

    #[test]
    fn long_lists_are_cut() {
        let many = Value::List((0..20).map(|n| n.to_string()).collect());
        assert!(alone(&many).ends_with("15 and 4 more"));
    }
}
