//! Compares two device images by meaning.
//!
//! An image becomes a list of facts, each a stable key and a value (`facts`): the type of a
//! section, the value of a symbol, what a relocation refers to. Names stand for numbers, so that
//! one symbol too many is one difference. Two images differ in the facts that only one of them has
//! or that have different values.
//!
//! File offsets, indices and encoded bytes are consequences of other facts; they are compared only
//! when nothing else differs. Two images that are not equal byte for byte always have a difference.
#![forbid(unsafe_code)]

mod difference;
mod facts;
mod ignore;
mod records;

use std::collections::{HashMap, HashSet};
use std::fmt;

use rustnvlink::cubin::File;
use rustnvlink::error::ParseError;

pub use difference::Difference;
pub use ignore::{BadIgnoreList, IgnoreList};

use facts::{Fact, Facts, Value};

/// The key of a difference that no fact explains.
const BYTES: &str = "bytes";

/// Which of the two images.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The first.
    Left,
    /// The second.
    Right,
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Left => "left",
            Self::Right => "right",
        })
    }
}

/// An image that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("the {side} image: {source}")]
pub struct Unreadable {
    /// Which one.
    pub side: Side,
    /// What is wrong with it.
    #[source]
    pub source: ParseError,
}

/// All differences between two images, ordered as the facts stand in the left one.
pub fn compare(left: &[u8], right: &[u8]) -> Result<Vec<Difference>, Unreadable> {
    if left == right {
        return Ok(Vec::new());
    }
    let read = |side, data| {
        let file = File::parse(data).map_err(|source| Unreadable { side, source })?;
        Ok(facts::of(&file))
    };
    let (left_facts, right_facts) = (read(Side::Left, left)?, read(Side::Right, right)?);
    let mut differences = between(&left_facts.meaning, &right_facts.meaning);
    if differences.is_empty() {
        differences = between(&left_facts.consequences, &right_facts.consequences);
    }
    if differences.is_empty() {
        let (left, right) = (Value::Bytes(left.to_vec()), Value::Bytes(right.to_vec()));
        differences.push(Difference::new(BYTES, Some(&left), Some(&right)));
    }
    Ok(differences)
}

/// Facts that are not in both lists, or not with the same value.
fn between(left: &Facts, right: &Facts) -> Vec<Difference> {
    let (of_left, of_right) = (Index::new(left), Index::new(right));
    let mut differences = Vec::new();
    let mut alone = HashSet::new();
    for fact in left.iter() {
        if !of_right.has_owner(fact) {
            if alone.insert(&fact.owner) {
                differences.push(Difference::owner(Side::Left, &fact.owner, left));
            }
            continue;
        }
        let other = of_right.values.get(fact.key.as_str()).copied();
        if other != Some(&fact.value) {
            differences.push(Difference::new(&fact.key, Some(&fact.value), other));
        }
    }
    for fact in right.iter() {
        if !of_left.has_owner(fact) {
            if alone.insert(&fact.owner) {
                differences.push(Difference::owner(Side::Right, &fact.owner, right));
            }
        } else if !of_left.values.contains_key(fact.key.as_str()) {
            differences.push(Difference::new(&fact.key, None, Some(&fact.value)));
        }
    }
    differences
}

/// Finds facts by their keys.
struct Index<'f> {
    values: HashMap<&'f str, &'f Value>,
    owners: HashSet<&'f str>,
}

impl<'f> Index<'f> {
    fn new(facts: &'f Facts) -> Self {
        Self {
            values: facts
                .iter()
                .map(|fact| (fact.key.as_str(), &fact.value))
                .collect(),
            owners: facts.iter().map(|fact| fact.owner.as_str()).collect(),
        }
    }

    /// Whether this image has what a fact of the other is about.
    fn has_owner(&self, fact: &Fact) -> bool {
        self.owners.contains(fact.owner.as_str())
    }
}
