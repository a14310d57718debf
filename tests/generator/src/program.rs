//! A program as parts that can be left out one by one.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::str::FromStr;

use crate::build::Build;
use crate::feature::Feature;
use crate::target::Target;

/// Some units that are linked in this order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// What it is made for.
    pub target: Target,
    /// The units, in the order of the link.
    pub units: Vec<Unit>,
    /// The words of the index of its unified functions and variables, if it has some.
    pub index: Vec<u64>,
    /// Linked in several steps, if there is a seed for them.
    pub steps: Option<u64>,
}

/// The language of a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// For ptxas.
    Ptx,
    /// For nvcc.
    Cuda,
}

impl Language {
    /// Both of them.
    pub const ALL: [Self; 2] = [Self::Ptx, Self::Cuda];

    /// How its files end, and its name on the command line.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Ptx => "ptx",
            Self::Cuda => "cu",
        }
    }
}

impl FromStr for Language {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|language| language.extension() == text)
            .ok_or_else(|| format!("`{text}` is neither ptx nor cu"))
    }
}

/// One source file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unit {
    /// The name of its file, without extension.
    pub name: String,
    /// Its language.
    pub language: Language,
    /// What it is compiled for: the target of the program or one whose code that takes.
    pub target: Target,
    /// What comes before all items.
    pub head: String,
    /// Options of the compiler, each with the feature that asked for it.
    pub options: Vec<Piece>,
    /// How it gets from its source to the link.
    pub build: Build,
    /// Its declarations and definitions.
    pub items: Vec<Item>,
}

/// A declaration or a definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// Why it is there.
    pub feature: Feature,
    /// The text before the pieces.
    pub head: String,
    /// Statements; each can stay alone.
    pub pieces: Vec<Piece>,
    /// The text after the pieces.
    pub tail: String,
}

impl Item {
    /// An item without parts.
    pub fn new(feature: Feature, text: impl Into<String>) -> Self {
        Self {
            feature,
            head: text.into(),
            pieces: Vec::new(),
            tail: String::new(),
        }
    }
}

/// A statement or an option.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// Why it is there.
    pub feature: Feature,
    /// The text.
    pub text: String,
}

impl Piece {
    /// A piece of this text.
    pub fn new(feature: Feature, text: impl Into<String>) -> Self {
        Self {
            feature,
            text: text.into(),
        }
    }
}

impl Unit {
    /// The source file.
    pub fn source(&self) -> String {
        let mut source = self.head.clone();
        for item in &self.items {
            source.push_str(&item.head);
            source.push('\n');
            for piece in &item.pieces {
                let _ = writeln!(source, "{}", piece.text);
            }
            if !item.tail.is_empty() {
                source.push_str(&item.tail);
                source.push('\n');
            }
        }
        source
    }

    /// The name of its source file.
    pub fn file(&self) -> String {
        format!("{}.{}", self.name, self.language.extension())
    }

    /// The arguments of its compiler, each as one word.
    pub fn arguments(&self) -> impl Iterator<Item = &str> {
        self.options
            .iter()
            .flat_map(|option| option.text.split_whitespace())
    }
}

impl Program {
    /// What the program contains.
    pub fn features(&self) -> BTreeSet<Feature> {
        self.units
            .iter()
            .flat_map(|unit| {
                let items = unit.items.iter().flat_map(|item| {
                    item.pieces
                        .iter()
                        .map(|piece| piece.feature)
                        .chain([item.feature])
                });
                let mixed = (unit.target != self.target).then_some(Feature::Mixed);
                let options = unit.options.iter().map(|option| option.feature);
                items
                    .chain(options)
                    .chain(mixed)
                    .chain(unit.build.features())
            })
            .chain((!self.index.is_empty()).then_some(Feature::Unified))
            .collect()
    }

    /// How many parts it has.
    pub fn size(&self) -> usize {
        let items = self.units.iter().flat_map(|unit| &unit.items);
        items.map(|item| 1 + item.pieces.len()).sum()
    }
}
