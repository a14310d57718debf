//! Names and what they name.

use super::operators::{Arity, OPERATORS};
use super::rendered::Prefix;
use super::{Demangler, Parts, Substitution, bounded};

/// A name as it stands before parameters.
pub(super) struct Name {
    pub(super) prefix: Prefix,
    /// What stands behind the parameters.
    trailer: String,
    /// Constructors, destructors and conversions have no return type.
    is_special: bool,
}

impl From<Prefix> for Name {
    fn from(prefix: Prefix) -> Self {
        Self {
            prefix,
            trailer: String::new(),
            is_special: false,
        }
    }
}

/// The standard names with a letter of their own: in full, and as
/// constructors are called.
const ABBREVIATIONS: &[(&str, &str, &str)] = &[
    ("a", "std::allocator", "allocator"),
    ("b", "std::basic_string", "basic_string"),
    (
        "s",
        "std::basic_string<char, std::char_traits<char>, std::allocator<char>>",
        "basic_string",
    ),
    (
        "i",
        "std::basic_istream<char, std::char_traits<char>>",
        "basic_istream",
    ),
    (
        "o",
        "std::basic_ostream<char, std::char_traits<char>>",
        "basic_ostream",
    ),
    (
        "d",
        "std::basic_iostream<char, std::char_traits<char>>",
        "basic_iostream",
    ),
];

/// Names that are no functions, by what they start with.
const TABLES: &[(&str, &str)] = &[
    ("TV", "Virtual function table for "),
    ("TT", "Virtual table table for "),
    ("TI", "Typeinfo for "),
    ("TS", "Typeinfo name for "),
];

/// Names that belong to a variable.
const COMPANIONS: &[(&str, &str)] = &[
    ("GV", "Initialization guard variable for "),
    ("TH", "Thread-local initialization routine for "),
    ("TW", "Thread-local wrapper routine for "),
];

/// Constructors, and what is said of them behind their parameters.
const CONSTRUCTORS: &[(&str, &str)] = &[
    ("C1", ""),
    ("C2", " [subobject]"),
    ("C3", " [allocating]"),
    ("CI1", " [complete inheriting]"),
    ("CI2", " [base inheriting]"),
];

/// Destructors likewise.
const DESTRUCTORS: &[(&str, &str)] = &[("D0", " [deleting]"), ("D1", ""), ("D2", " [subobject]")];

impl<'n> Demangler<'n> {
    /// What a whole mangled name stands for.
    pub(super) fn encoding(&mut self, parts: Parts) -> Option<String> {
        self.nested(|this| this.encoding_inner(parts))
    }

    fn encoding_inner(&mut self, parts: Parts) -> Option<String> {
        for (code, words) in TABLES {
            if self.eat(code) {
                return Some(format!("{words}{}", self.type_text()?));
            }
        }
        for (code, words) in COMPANIONS {
            if self.eat(code) {
                return Some(format!("{words}{}", self.name()?.prefix.text));
            }
        }
        if self.eat("Th") {
            let offset = self.offset()?;
            return Some(format!(
                "Thunk for (offset {offset}) {}",
                self.encoding(parts)?
            ));
        }
        if self.eat("Tv") {
            let (offset, in_table) = (self.offset()?, self.offset()?);
            let function = self.encoding(parts)?;
            return Some(format!(
                "Thunk for (offset {offset}, virtual offset {in_table}) {function}"
            ));
        }
        let name = self.name()?;
        if matches!(self.peek(), None | Some('E' | '$')) {
            return Some(name.prefix.text);
        }
        let result = match name.prefix.is_instance && !name.is_special {
            true => self.type_text()? + " ",
            false => String::new(),
        };
        let parameters = self.parameters()?;
        match parts {
            Parts::Name => Some(name.prefix.text),
            Parts::All => bounded(format!(
                "{result}{}({parameters}){}{}",
                name.prefix.text,
                self.helper()?,
                name.trailer
            )),
        }
    }

    /// What stands behind a function: helpers carry its name before their own,
    /// and copies that the compiler made of it end in a number, which is not
    /// shown.
    fn helper(&mut self) -> Option<String> {
        if !self.eat("$") || self.digits().is_some() {
            return Some(String::new());
        }
        self.clones += 1;
        let name = match self.eat("_Z") {
            true => self.encoding(Parts::All)?,
            false => std::mem::take(&mut self.rest).to_owned(),
        };
        Some(format!("] {name}"))
    }

    /// A number with `n` for its sign, and an underscore.
    fn offset(&mut self) -> Option<String> {
        let sign = if self.eat("n") { "-" } else { "" };
        let text = format!("{sign}{}", self.digits()?);
        self.expect("_")?;
        Some(text)
    }

    pub(super) fn name(&mut self) -> Option<Name> {
        self.nested(Self::name_inner)
    }

    fn name_inner(&mut self) -> Option<Name> {
        match self.peek()? {
            'N' => self.nested_name(),
            'Z' => self.local_name(),
            'S' if !self.rest.starts_with("St") => self.known_template(),
            _ => {
                let scope = self.eat("St").then(|| Prefix::new("std"));
                let mut name = self.unqualified_name(scope.as_ref())?;
                if self.peek() == Some('I') {
                    self.record(Substitution::Prefix(name.prefix.clone()))?;
                    self.add_arguments(&mut name.prefix)?;
                }
                Some(name)
            }
        }
    }

    /// An instance of a function template that was there before: what a lambda in it stands in.
    fn known_template(&mut self) -> Option<Name> {
        let mut prefix = self.known()?.into_prefix();
        self.add_arguments(&mut prefix)?;
        Some(Name::from(prefix))
    }

    fn add_arguments(&mut self, prefix: &mut Prefix) -> Option<()> {
        let arguments = self.template_arguments()?;
        prefix.text = bounded(format!("{}{arguments}", prefix.text))?;
        prefix.is_instance = true;
        Some(())
    }

    /// A name in a namespace or class: `N`, its parts, `E`.
    fn nested_name(&mut self) -> Option<Name> {
        self.expect("N")?;
        let trailer = self.object_qualifiers();
        let mut name: Option<Name> = None;
        let mut is_recorded = false;
        while !self.eat("E") {
            // The variable that a lambda initialises.
            if name.is_some() && self.eat("M") {
                is_recorded = true;
                continue;
            }
            // What comes first and was there before has been recorded then.
            is_recorded = name.is_some() || self.peek()? != 'S';
            let next = self.nested_part(name)?;
            if is_recorded {
                self.record(Substitution::Prefix(next.prefix.clone()))?;
            }
            name = Some(next);
        }
        if is_recorded {
            // The whole name is a type or a function, and no prefix.
            self.substitutions.pop();
        }
        let mut name = name?;
        name.trailer.insert_str(0, &trailer);
        Some(name)
    }

    /// What a member function asks of its object, as it stands behind the parameters: ` const &`.
    fn object_qualifiers(&mut self) -> String {
        let mut text = String::new();
        let qualifiers = self.qualifiers();
        if !qualifiers.is_empty() {
            text = format!(" {}", qualifiers.trim_end());
        }
        if self.eat("R") {
            text.push_str(" &");
        } else if self.eat("O") {
            text.push_str(" &&");
        }
        text
    }

    /// A nested name up to its next part; `scope` is what comes before that.
    fn nested_part(&mut self, scope: Option<Name>) -> Option<Name> {
        match (self.peek()?, scope) {
            ('S', None) if self.eat("St") => Some(Name::from(Prefix::new("std"))),
            ('S', None) => Some(Name::from(self.known()?.into_prefix())),
            ('I', Some(mut template)) => {
                self.add_arguments(&mut template.prefix)?;
                Some(template)
            }
            ('T', scope) => {
                let text = self.template_parameter()?;
                Some(Name::from(Prefix::of_type(scope.as_ref(), text)?))
            }
            // The type records itself; so does the prefix.
            ('D', scope) if self.rest.starts_with("DT") || self.rest.starts_with("Dt") => {
                let text = self.type_text()?;
                Some(Name::from(Prefix::of_type(scope.as_ref(), text)?))
            }
            (_, scope) => self.unqualified_name(scope.as_ref().map(|name| &name.prefix)),
        }
    }

    /// The class whose constructor is inherited. One that is in no other class and in no namespace but `std` has no
    /// arguments there.
    fn inherited(&mut self) -> Option<String> {
        let rest = self.rest.strip_prefix("St").unwrap_or(self.rest);
        let is_alone = rest.starts_with(|first: char| first == 'Z' || first.is_ascii_digit());
        let mut class = self.type_text()?;
        if is_alone && class.ends_with('>') {
            let mut depth = 0;
            let start = class.rfind(|character| {
                depth += match character {
                    '>' => 1,
                    '<' => -1,
                    _ => 0,
                };
                depth == 0
            });
            class.truncate(start?);
        }
        Some(class)
    }

    /// A name inside a function.
    fn local_name(&mut self) -> Option<Name> {
        self.expect("Z")?;
        let function = self.encoding(Parts::All)?;
        self.expect("E")?;
        let mut scope = function;
        let mut name = if self.eat("s") {
            Name::from(Prefix::new("string"))
        } else {
            if self.eat("d") {
                let argument = self.ordinal()?;
                scope = format!("{scope}::[default argument {argument} (from end)]");
            }
            self.name()?
        };
        if self.eat("__") {
            let number = self.number()?.checked_add(2)?;
            self.expect("_")?;
            name.prefix.text += &format!(" (instance {number})");
        } else if self.eat("_") {
            let number = self.take(1)?.parse::<usize>().ok()? + 2;
            name.prefix.text += &format!(" (instance {number})");
        }
        name.prefix.text = bounded(format!("{scope}::{}", name.prefix.text))?;
        Some(name)
    }

    /// The standard name that a letter behind `S` stands for.
    pub(super) fn abbreviation(&mut self) -> Option<Prefix> {
        let (code, text, last) = ABBREVIATIONS
            .iter()
            .find(|(code, ..)| self.rest.starts_with(code))?;
        self.expect(code)?;
        Some(Prefix {
            text: (*text).to_owned(),
            last: (*last).to_owned(),
            is_instance: false,
        })
    }

    pub(super) fn source_name(&mut self) -> Option<&'n str> {
        let length = self.number()?;
        self.take(length).filter(|name| !name.is_empty())
    }

    /// The last part of a name, put behind its scope.
    fn unqualified_name(&mut self, scope: Option<&Prefix>) -> Option<Name> {
        let mut trailer = "";
        let mut is_special = false;
        let mut last = match self.peek()? {
            '0'..='9' => match self.source_name()? {
                name if name.starts_with("_GLOBAL__N_") => "<unnamed>".to_owned(),
                // The scope of what nvcc keeps inside a file.
                name if name.starts_with("_INTERNAL_") => String::new(),
                name => name.to_owned(),
            },
            'C' => {
                is_special = true;
                let class = class_of(scope)?;
                let (code, text) = CONSTRUCTORS.iter().find(|(code, _)| self.eat(code))?;
                trailer = text;
                match code.starts_with("CI") {
                    true => self.inherited()?,
                    false => class.to_owned(),
                }
            }
            'D' => {
                is_special = true;
                let class = class_of(scope)?;
                let (_, text) = DESTRUCTORS.iter().find(|(code, _)| self.eat(code))?;
                trailer = text;
                format!("~{class}")
            }
            'U' => self.unnamed()?,
            _ if self.eat("cv") => {
                is_special = true;
                format!("operator {}", self.type_text()?)
            }
            _ if self.eat("li") => format!("operator \"\"{}", self.source_name()?),
            _ => self.operator_name()?,
        };
        while self.eat("B") {
            let tag = self.source_name()?;
            last = format!("{last}[abi:{tag}]");
        }
        Some(Name {
            prefix: Prefix::within(scope, last)?,
            trailer: trailer.to_owned(),
            is_special,
        })
    }

    pub(super) fn operator_name(&mut self) -> Option<String> {
        let (text, _) = self.operator()?;
        Some(format!("operator {text}"))
    }

    /// An operator as C++ writes it, and how many operands it has.
    pub(super) fn operator(&mut self) -> Option<(&'static str, Arity)> {
        let mut operators = OPERATORS.iter();
        let &(_, text, arity) = operators.find(|(code, ..)| self.eat(code))?;
        Some((text, arity))
    }

    /// A lambda or a type without a name.
    fn unnamed(&mut self) -> Option<String> {
        if self.eat("Ut") {
            return Some(format!("[unnamed type (instance {})]", self.ordinal()?));
        }
        self.expect("Ul")?;
        let parameters = self.parameters()?;
        self.expect("E")?;
        let number = self.ordinal()?;
        Some(format!("[lambda({parameters}) (instance {number})]"))
    }

    /// `I` arguments `E`, in angle brackets.
    pub(super) fn template_arguments(&mut self) -> Option<String> {
        self.expect("I")?;
        let arguments = self.list(Self::template_argument)?;
        Some(format!("<{arguments}>"))
    }

    fn template_argument(&mut self) -> Option<String> {
        self.nested(|this| {
            if this.eat("X") {
                let expression = this.expression()?;
                this.expect("E")?;
                Some(expression)
            } else if this.eat("J") {
                this.list(Self::template_argument)
            } else if this.peek() == Some('L') {
                this.literal()
            } else {
                this.type_text()
            }
        })
    }
}

/// What the constructors and destructors in a scope are called by.
fn class_of(scope: Option<&Prefix>) -> Option<&str> {
    let class = &*scope?.last;
    (!class.is_empty()).then_some(class)
}
