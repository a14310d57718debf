//! Types.

use super::rendered::{Rendered, Shape};
use super::{Demangler, Substitution, bounded};

/// The types with a letter of their own.
const BUILT_IN: &[(&str, &str)] = &[
    ("v", "void"),
    ("w", "wchar_t"),
    ("b", "bool"),
    ("c", "char"),
    ("a", "signed char"),
    ("h", "unsigned char"),
    ("s", "short"),
    ("t", "unsigned short"),
    ("i", "int"),
    ("j", "unsigned int"),
    ("l", "long"),
    ("m", "unsigned long"),
    ("x", "long long"),
    ("y", "unsigned long long"),
    ("n", "__int128"),
    ("o", "unsigned __int128"),
    ("f", "float"),
    ("d", "double"),
    ("e", "long double"),
    ("g", "__float128"),
    ("z", "..."),
    ("Da", "auto"),
    ("Dc", "decltype(auto)"),
    ("Dh", "__fp16"),
    ("Di", "char32_t"),
    ("Dn", "std::nullptr_t"),
    ("Ds", "char16_t"),
    ("Du", "char8_t"),
];

impl Demangler<'_> {
    /// A type as text.
    pub(super) fn type_text(&mut self) -> Option<String> {
        self.type_().map(|rendered| rendered.text())
    }

    pub(super) fn type_(&mut self) -> Option<Rendered> {
        self.nested(Self::type_inner).filter(Rendered::is_bounded)
    }

    fn type_inner(&mut self) -> Option<Rendered> {
        if let Some((code, name)) = BUILT_IN
            .iter()
            .find(|(code, _)| self.rest.starts_with(code))
        {
            self.expect(code)?;
            return Some(Rendered::specifier(*name));
        }
        if self.rest.starts_with('S') && !self.rest.starts_with("St") {
            return self.substituted_type();
        }
        if self.eat("DF") {
            return self.sized_float();
        }
        let rendered = match self.peek()? {
            'P' => self.pointer("*"),
            'R' => self.pointer("&"),
            'O' => self.pointer("&&"),
            'r' | 'V' | 'K' => self.qualified(),
            'U' => self.vendor_qualified(),
            'A' => self.array(),
            'F' => self.function(""),
            'M' => self.member_pointer(),
            'C' => self.complex(),
            'T' => self.parameter_type(),
            'D' => self.extended_type(),
            'u' => {
                self.expect("u")?;
                Some(Rendered::specifier(self.source_name()?))
            }
            _ => self.named_type(),
        }?;
        self.record(Substitution::Type(rendered.clone()))?;
        Some(rendered)
    }

    /// A type that was there before, or a template that was.
    fn substituted_type(&mut self) -> Option<Rendered> {
        let known = self.known()?.into_type();
        if self.peek() != Some('I') {
            return Some(known);
        }
        let arguments = self.template_arguments()?;
        let text = bounded(format!("{}{arguments}", known.text()))?;
        let instance = Rendered::specifier(text).without_blank();
        self.record(Substitution::Type(instance.clone()))?;
        Some(instance)
    }

    fn sized_float(&mut self) -> Option<Rendered> {
        let bits = self.digits()?;
        let name = if self.eat("_") {
            format!("_Float{bits}")
        } else if self.eat("x") {
            format!("_Float{bits}x")
        } else {
            self.expect("b")?;
            format!("std::bfloat{bits}_t")
        };
        Some(Rendered::specifier(name))
    }

    fn pointer(&mut self, sign: &str) -> Option<Rendered> {
        self.take(1)?;
        Some(self.type_()?.pointer(sign))
    }

    /// `const` and its kin.
    pub(super) fn qualifiers(&mut self) -> String {
        let mut is = |letter| self.eat(letter);
        let (is_restrict, is_volatile, is_const) = (is("r"), is("V"), is("K"));
        let mut text = String::new();
        for (given, word) in [
            (is_const, "const "),
            (is_volatile, "volatile "),
            (is_restrict, "restrict "),
        ] {
            if given {
                text.push_str(word);
            }
        }
        text
    }

    fn qualified(&mut self) -> Option<Rendered> {
        let qualifiers = self.qualifiers();
        Some(self.type_()?.qualified(&qualifiers))
    }

    fn vendor_qualified(&mut self) -> Option<Rendered> {
        self.expect("U")?;
        let name = self.source_name()?;
        let rendered = self.type_()?;
        Some(match name {
            "__vector" => Rendered {
                left: format!("__attribute__((vector_size(?))) {}", rendered.left),
                ..rendered
            },
            _ => rendered.vendor_qualified(name),
        })
    }

    fn complex(&mut self) -> Option<Rendered> {
        self.expect("C")?;
        let text = format!("_Complex {} ", self.type_text()?);
        Some(Rendered {
            shape: Shape::Pointer,
            ..Rendered::specifier(text).without_blank()
        })
    }

    /// A template parameter, which may be a template itself.
    fn parameter_type(&mut self) -> Option<Rendered> {
        let parameter = Rendered::specifier(self.template_parameter()?);
        if self.peek() != Some('I') {
            return Some(parameter);
        }
        self.record(Substitution::Type(parameter.clone()))?;
        let arguments = self.template_arguments()?;
        Some(Rendered::specifier(parameter.left + &arguments))
    }

    fn array(&mut self) -> Option<Rendered> {
        self.expect("A")?;
        let length = match self.peek()? {
            '0'..='9' => self.digits()?.to_owned(),
            '_' => String::new(),
            _ => self.expression()?,
        };
        self.expect("_")?;
        Some(self.type_()?.array(&length))
    }

    /// A function; `suffix` says that it throws nothing.
    fn function(&mut self, suffix: &str) -> Option<Rendered> {
        self.expect("F")?;
        self.eat("Y");
        let result = self.type_()?;
        let mut parameters = Vec::new();
        let reference = loop {
            if self.eat("E") {
                break "";
            }
            if self.eat("RE") {
                break " &";
            }
            if self.eat("OE") {
                break " &&";
            }
            parameters.push(self.type_text()?);
        };
        let parameters = parameter_list(&parameters)?;
        Some(result.function(&parameters, &format!("{reference}{suffix}")))
    }

    fn member_pointer(&mut self) -> Option<Rendered> {
        self.expect("M")?;
        let class = self.type_text()?;
        let qualifiers = self.qualifiers();
        let mut member = self.type_()?;
        if !qualifiers.is_empty() {
            if member.shape == Shape::Function {
                // They stand before what the function is called by.
                let at = member.right.find(')').map_or(0, |at| at + 1);
                let at = closing(&member.right).unwrap_or(at);
                member
                    .right
                    .insert_str(at, &format!(" {}", qualifiers.trim_end()));
            } else {
                member = member.qualified(&qualifiers);
                self.record(Substitution::Type(member.clone()))?;
            }
        }
        Some(member.pointer(&format!(" :: {class}::*")))
    }

    fn extended_type(&mut self) -> Option<Rendered> {
        if self.eat("Dp") {
            let mut pattern = self.type_()?;
            pattern.left.push_str("...");
            return Some(pattern);
        }
        if self.eat("DT") {
            let text = format!("decltype(({}))", self.expression()?);
            self.expect("E")?;
            return Some(Rendered::specifier(text));
        }
        if self.eat("Dt") {
            let text = format!("decltype({})", self.expression()?);
            self.expect("E")?;
            return Some(Rendered::specifier(text));
        }
        if self.eat("Dv") {
            let length = self.number()?;
            self.expect("_")?;
            let element = self.type_text()?;
            return Some(Rendered::specifier(format!(
                "{element} __attribute((vector_size({length}*sizeof({element})))) "
            )));
        }
        self.expect("Do")?;
        self.function(" noexcept")
    }

    /// A class or an enumeration.
    fn named_type(&mut self) -> Option<Rendered> {
        Some(Rendered::specifier(self.name()?.prefix.text))
    }

    /// `T_` and its kin, by number.
    pub(super) fn template_parameter(&mut self) -> Option<String> {
        self.expect("T")?;
        Some(format!("T{}", self.ordinal()?))
    }

    /// Types up to the end of a function or of the name.
    pub(super) fn parameters(&mut self) -> Option<String> {
        let mut parameters = Vec::new();
        while !matches!(self.peek(), None | Some('E' | '$')) {
            parameters.push(self.type_text()?);
        }
        if parameters.is_empty() {
            return None;
        }
        parameter_list(&parameters)
    }
}

/// Parameters without their parentheses.
pub(super) fn parameter_list(parameters: &[String]) -> Option<String> {
    match parameters {
        [only] if only == "void" => Some(String::new()),
        all => bounded(all.join(", ")),
    }
}

/// Where the parenthesis that `text` starts with is closed.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 0;
    for (at, character) in text.char_indices() {
        match character {
            '(' => depth += 1,
            ')' => {
                depth -= 1;
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
    }
    None
}
