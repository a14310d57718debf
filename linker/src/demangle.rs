//! Readable C++ names, spelled as nvlink spells them.
//!
//! No published demangler has this style: template parameters keep their
//! numbers (`T1`), expressions show the types of their literals, and there is
//! a blank between a type and what is made of it (`float *`). Each spelling
//! was seen in what nvlink 13.0.88 prints for a name.
//!
//! Rust names, which nvlink shows as they are, are readable in our own messages.
//!
//! A name is read once from left to right, and every part becomes text as it
//! is read: nothing in this style depends on what follows.

mod expression;
mod name;
mod operators;
mod rendered;
mod types;

use rendered::{Prefix, Rendered};

/// How deep a name may be nested.
const MAX_DEPTH: u32 = 200;
/// How much text one part of a name may become; substitutions can double it
/// with every letter.
const MAX_TEXT: usize = 1 << 16;
/// How much text all parts of a name may hold that can be substituted.
const MAX_RECORDED: usize = 1 << 22;

/// The readable form of the name of a C++ or Rust symbol; the name itself if
/// there is none.
///
/// ```
/// # use rustnvlink::demangle::readable;
/// assert_eq!(readable("_Z5scaleIdEvPT_PKS0_i"), "void scale<double>(T1 *, const T1 *, int)");
/// assert_eq!(readable("plain"), "plain");
/// ```
pub fn readable(name: &str) -> String {
    rust(name).unwrap_or_else(|| as_nvlink(name))
}

/// What stands in front of parameters, without what a template returns: all kernels return nothing.
pub(crate) fn without_parameters(readable: &str) -> &str {
    let name = &readable[..start_of_parameters(readable).unwrap_or(readable.len())];
    name.strip_prefix("void ").unwrap_or(name)
}

/// Where the parameters of a function begin. Values in a name have parentheses, too: `scale<(int)2>(float)`.
fn start_of_parameters(readable: &str) -> Option<usize> {
    let (before, behind) = readable.rsplit_once(')')?;
    if !behind.is_empty() && !behind.starts_with(' ') {
        return None;
    }
    let mut open = 1;
    let start = before.char_indices().rev().find(|(_, character)| {
        match character {
            ')' => open += 1,
            '(' => open -= 1,
            _ => {}
        }
        open == 0
    });
    start.map(|(place, _)| place)
}

/// The readable form of a Rust name.
fn rust(name: &str) -> Option<String> {
    let demangled = rustc_demangle::try_demangle(name).ok()?;
    let readable = format!("{demangled:#}");
    // Only those of Rust have a hash in a spelling that C++ shares.
    let is_rust = name.starts_with("_R") || readable != demangled.to_string();
    is_rust.then_some(readable)
}

/// What nvlink shows for a name. It knows those of C++ only.
pub(crate) fn as_nvlink(name: &str) -> String {
    let mangled = without_static_prefix(name);
    let helper = || demangle(mangled.strip_prefix('$')?);
    demangle(mangled)
        .or_else(helper)
        .unwrap_or_else(|| name.to_owned())
}

/// Names of one file get the file's identifier in front: `__nv_static_`, its
/// length, the identifier, and then the name.
fn without_static_prefix(name: &str) -> &str {
    let stripped = || {
        let rest = name.strip_prefix("__nv_static_")?;
        let (length, rest) = rest.split_once('_')?;
        rest.get(length.parse::<usize>().ok()?..)?.strip_prefix('_')
    };
    stripped().unwrap_or(name)
}

/// The readable form of a mangled name.
fn demangle(name: &str) -> Option<String> {
    let mut demangler = Demangler {
        rest: name.strip_prefix("_Z")?,
        substitutions: Vec::new(),
        recorded: 0,
        depth: 0,
        clones: 0,
    };
    let text = demangler.encoding(Parts::All)?;
    let opened = "[clone ".repeat(demangler.clones);
    demangler.rest.is_empty().then(|| opened + &text)
}

/// What of a function is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Parts {
    /// Its name, parameters and return type.
    All,
    /// Its name alone.
    Name,
}

/// What `S_` and its kin stand for.
#[derive(Debug, Clone)]
enum Substitution {
    Prefix(Prefix),
    Type(Rendered),
}

/// The state of the one pass over a name.
struct Demangler<'n> {
    rest: &'n str,
    substitutions: Vec<Substitution>,
    /// How much text they hold.
    recorded: usize,
    depth: u32,
    /// How many brackets of helpers are closed in the text; all of them open
    /// in front of it.
    clones: usize,
}

impl<'n> Demangler<'n> {
    fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    /// Takes `text` if it is what comes next.
    fn eat(&mut self, text: &str) -> bool {
        match self.rest.strip_prefix(text) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn expect(&mut self, text: &str) -> Option<()> {
        self.eat(text).then_some(())
    }

    fn take(&mut self, length: usize) -> Option<&'n str> {
        let (taken, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        Some(taken)
    }

    fn digits(&mut self) -> Option<&'n str> {
        let length = self.rest.bytes().take_while(u8::is_ascii_digit).count();
        self.take(length).filter(|digits| !digits.is_empty())
    }

    fn number(&mut self) -> Option<usize> {
        self.digits()?.parse().ok()
    }

    /// An optional number that counts from zero, with nothing for the first,
    /// up to its underscore; the first gives 1.
    fn ordinal(&mut self) -> Option<usize> {
        if self.eat("_") {
            return Some(1);
        }
        let number = self.number()?;
        self.expect("_")?;
        number.checked_add(2)
    }

    /// Reads something that can hold itself.
    fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        if self.depth == MAX_DEPTH {
            return None;
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }

    /// Reads parts up to the closing `E`.
    fn list(&mut self, read: impl Fn(&mut Self) -> Option<String>) -> Option<String> {
        let mut parts = Vec::new();
        while !self.eat("E") {
            parts.push(read(self)?);
        }
        bounded(parts.join(", "))
    }

    /// Remembers a part for later substitutions, while there is room.
    fn record(&mut self, substitution: Substitution) -> Option<()> {
        self.recorded += substitution.size();
        self.substitutions.push(substitution);
        (self.recorded <= MAX_RECORDED).then_some(())
    }

    /// What was there before, or has a letter of its own: `S` and what tells which.
    fn known(&mut self) -> Option<Substitution> {
        self.expect("S")?;
        match self.abbreviation() {
            Some(prefix) => Some(Substitution::Prefix(prefix)),
            None => self.substitution(),
        }
    }

    /// What stands behind the `S` of a substitution without a name of its
    /// own.
    fn substitution(&mut self) -> Option<Substitution> {
        let mut index = 0;
        if !self.eat("_") {
            let (digits, rest) = self.rest.split_once('_')?;
            self.rest = rest;
            let is_base_36 = |b: u8| b.is_ascii_digit() || b.is_ascii_uppercase();
            if !digits.bytes().all(is_base_36) {
                return None;
            }
            index = usize::from_str_radix(digits, 36).ok()?.checked_add(1)?;
        }
        self.substitutions.get(index).cloned()
    }
}

/// Gives up on text that grows without bounds.
fn bounded(text: String) -> Option<String> {
    (text.len() <= MAX_TEXT).then_some(text)
}

#[cfg(test)]
mod tests;
