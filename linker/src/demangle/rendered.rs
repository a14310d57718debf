//! A type as text, in two halves around what is declared with it.

use super::name::Name;
use super::{MAX_TEXT, Substitution, bounded};

/// What can be made of a type without parentheses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// A name, perhaps with qualifiers.
    Specifier,
    /// Something that points.
    Pointer,
    /// `[3]`.
    Array,
    /// `(int)`.
    Function,
}

/// A type as text.
#[derive(Debug, Clone)]
pub(super) struct Rendered {
    /// What stands left of a declared name.
    pub(super) left: String,
    /// What stands right of it.
    pub(super) right: String,
    pub(super) shape: Shape,
    /// Whether a blank comes behind the left half before anything else does.
    pub(super) needs_blank: bool,
}

/// A name that can have members.
#[derive(Debug, Clone)]
pub(super) struct Prefix {
    pub(super) text: String,
    /// The last name in it, as constructors are called.
    pub(super) last: String,
    /// Whether it ends in template arguments.
    pub(super) is_instance: bool,
}

impl Prefix {
    /// A name on its own.
    pub(super) fn new(name: impl Into<String>) -> Self {
        let text = name.into();
        Self {
            last: text.clone(),
            text,
            is_instance: false,
        }
    }

    /// The name `last` in a scope; an empty one is the scope itself.
    pub(super) fn within(scope: Option<&Self>, last: String) -> Option<Self> {
        let text = match scope {
            Some(scope) if last.is_empty() => scope.text.clone(),
            Some(scope) if !scope.text.is_empty() => format!("{}::{last}", scope.text),
            Some(_) | None => last.clone(),
        };
        Some(Self {
            text: bounded(text)?,
            last,
            is_instance: false,
        })
    }

    /// A type that has no name, and so no constructors.
    pub(super) fn of_type(scope: Option<&Name>, text: String) -> Option<Self> {
        let text = match scope {
            Some(scope) => bounded(format!("{}::{text}", scope.prefix.text))?,
            None => text,
        };
        Some(Self {
            text,
            last: String::new(),
            is_instance: false,
        })
    }
}

impl Rendered {
    pub(super) fn specifier(text: impl Into<String>) -> Self {
        Self {
            left: text.into(),
            right: String::new(),
            shape: Shape::Specifier,
            needs_blank: true,
        }
    }

    /// A type that was named as a prefix before gets no blank behind it.
    pub(super) fn without_blank(mut self) -> Self {
        self.needs_blank = false;
        self
    }

    /// The type alone.
    pub(super) fn text(&self) -> String {
        format!("{}{}", self.left, self.right)
    }

    /// The left half with `what` behind it.
    fn extended(&self, what: &str) -> String {
        let blank = if self.needs_blank { " " } else { "" };
        format!("{}{blank}{what}", self.left)
    }

    /// The type that points to this one.
    pub(super) fn pointer(&self, sign: &str) -> Self {
        let (open, close) = match self.shape {
            Shape::Specifier | Shape::Pointer => ("", ""),
            Shape::Array | Shape::Function => ("(", ")"),
        };
        Self {
            left: self.extended(&format!("{open}{sign}")),
            right: format!("{close}{}", self.right),
            shape: Shape::Pointer,
            needs_blank: false,
        }
    }

    /// The type of arrays of this one.
    pub(super) fn array(&self, length: &str) -> Self {
        let left = match self.shape {
            // The blank before the brackets of the inner array is there.
            Shape::Array => self.left.clone(),
            Shape::Specifier | Shape::Pointer | Shape::Function => self.extended(""),
        };
        Self {
            left,
            right: format!("[{length}]{}", self.right),
            shape: Shape::Array,
            needs_blank: false,
        }
    }

    /// The type of functions that return this one.
    pub(super) fn function(&self, parameters: &str, qualifiers: &str) -> Self {
        Self {
            left: self.extended(""),
            right: format!("({parameters}){qualifiers}{}", self.right),
            shape: Shape::Function,
            needs_blank: false,
        }
    }

    /// The type with `qualifiers`, each with a blank behind it.
    pub(super) fn qualified(mut self, qualifiers: &str) -> Self {
        match self.shape {
            Shape::Specifier => self.left = format!("{qualifiers}{}", self.left),
            Shape::Pointer => self.left.push_str(qualifiers),
            // They are left out.
            Shape::Array => {}
            Shape::Function => {
                self.right = format!("{} {}", self.right, qualifiers.trim_end());
            }
        }
        self
    }

    /// The type with a qualifier of a vendor behind it.
    pub(super) fn vendor_qualified(&self, name: &str) -> Self {
        Self {
            left: self.extended(name),
            right: self.right.clone(),
            shape: self.shape,
            needs_blank: false,
        }
    }

    pub(super) fn is_bounded(&self) -> bool {
        self.left.len() + self.right.len() <= MAX_TEXT
    }
}

impl Substitution {
    /// How much text it holds.
    pub(super) fn size(&self) -> usize {
        match self {
            Self::Prefix(prefix) => prefix.text.len() + prefix.last.len(),
            Self::Type(rendered) => rendered.left.len() + rendered.right.len(),
        }
    }

    /// It as a type.
    pub(super) fn into_type(self) -> Rendered {
        match self {
            Self::Prefix(prefix) => Rendered::specifier(prefix.text).without_blank(),
            Self::Type(rendered) => rendered,
        }
    }

    /// It as what has members.
    pub(super) fn into_prefix(self) -> Prefix {
        match self {
            Self::Prefix(prefix) => prefix,
            Self::Type(rendered) => {
                let text = rendered.text();
                let name = text.split('<').next().unwrap_or(&text);
                let last = name.rsplit("::").next().unwrap_or(name).to_owned();
                let is_instance = text.ends_with('>');
                Prefix {
                    text,
                    last,
                    is_instance,
                }
            }
        }
    }
}
