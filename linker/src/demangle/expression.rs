//! Expressions, which signatures of templates can hold.

use super::operators::Arity;
use super::{Demangler, Parts, bounded};

/// Casts with a name.
const CASTS: &[(&str, &str)] = &[
    ("dc", "dynamic_cast"),
    ("sc", "static_cast"),
    ("cc", "const_cast"),
    ("rc", "reinterpret_cast"),
];

/// What is asked about a type.
const OF_TYPE: &[(&str, &str)] = &[("ti", "typeid"), ("st", "sizeof"), ("at", "alignof")];

/// What is asked about an expression.
const OF_EXPRESSION: &[(&str, &str)] = &[
    ("te", "typeid"),
    ("sz", "sizeof"),
    ("az", "alignof"),
    ("nx", "noexcept"),
];

impl Demangler<'_> {
    pub(super) fn expression(&mut self) -> Option<String> {
        self.nested(Self::expression_inner).and_then(bounded)
    }

    fn expression_inner(&mut self) -> Option<String> {
        match self.peek()? {
            'L' => return self.literal(),
            'T' => return self.template_parameter(),
            '0'..='9' => return self.simple_id(),
            _ => {}
        }
        if self.eat("fpT") {
            return Some("this".to_owned());
        }
        if self.rest.starts_with("fp") || self.rest.starts_with("fL") {
            return match self.function_parameter() {
                Some(parameter) => Some(parameter),
                None => self.fold(),
            };
        }
        if ["fl", "fr", "fR"]
            .iter()
            .any(|code| self.rest.starts_with(code))
        {
            return self.fold();
        }
        for (code, cast) in CASTS {
            if self.eat(code) {
                let target = self.type_text()?;
                return Some(format!("{cast}<{target}>({})", self.expression()?));
            }
        }
        for (code, word) in OF_TYPE {
            if self.eat(code) {
                return Some(format!("{word}({})", self.type_text()?));
            }
        }
        for (code, word) in OF_EXPRESSION {
            if self.eat(code) {
                return Some(format!("{word}({})", self.expression()?));
            }
        }
        self.special().or_else(|| self.operation())
    }

    /// `fp_`, `fp0_` and, of enclosing functions, `fL0p_`.
    fn function_parameter(&mut self) -> Option<String> {
        let start = self.rest;
        let read = |this: &mut Self| {
            let mut levels = 0;
            if this.eat("fL") {
                levels = this.number()?.checked_add(1)?;
                this.expect("p")?;
            } else {
                this.expect("fp")?;
            }
            this.qualifiers();
            let number = this.ordinal()?;
            Some(match levels {
                0 => format!("param#{number}"),
                1 => format!("param#{number}[up 1 level]"),
                _ => format!("param#{number}[up {levels} levels]"),
            })
        };
        let parameter = read(self);
        if parameter.is_none() {
            self.rest = start;
        }
        parameter
    }

    /// A fold expression: `fl`, `fr`, `fL` or `fR`.
    fn fold(&mut self) -> Option<String> {
        let kind = self.take(2)?;
        let (text, arity) = self.operator()?;
        if arity != Arity::Binary {
            return None;
        }
        let first = self.expression()?;
        match kind {
            "fl" => Some(format!("(...{text}{first})")),
            "fr" => Some(format!("({first}{text}...)")),
            _ => {
                let second = self.expression()?;
                Some(format!("({first}{text}...{text}{second})"))
            }
        }
    }

    /// Forms with a syntax of their own.
    fn special(&mut self) -> Option<String> {
        if self.eat("cv") {
            let target = self.type_text()?;
            if self.eat("_") {
                let arguments = self.list(Self::expression)?;
                return Some(format!("{target}({arguments})"));
            }
            return Some(format!("({target}){}", self.expression()?));
        }
        if self.eat("tl") {
            let target = self.type_text()?;
            return Some(format!("{target}{{{}}}", self.list(Self::expression)?));
        }
        if self.eat("il") {
            return Some(format!("{{{}}}", self.list(Self::expression)?));
        }
        if self.eat("cl") {
            let callee = self.expression()?;
            return Some(format!("{callee}({})", self.list(Self::expression)?));
        }
        if self.eat("ix") {
            let array = self.expression()?;
            return Some(format!("{array}[{}]", self.expression()?));
        }
        if self.eat("ds") {
            let object = self.expression()?;
            return Some(format!("{object}.*{}", self.expression()?));
        }
        for (code, sign) in [("dt", "."), ("pt", "->")] {
            if self.eat(code) {
                let object = self.expression()?;
                return Some(format!("({object}{sign}{})", self.unresolved_name()?));
            }
        }
        if self.eat("sZ") {
            return Some(format!("sizeof...({})", self.expression()?));
        }
        if self.eat("sp") {
            return Some(format!("{}...", self.expression()?));
        }
        if self.eat("tw") {
            return Some(format!("throw {}", self.expression()?));
        }
        if self.eat("tr") {
            return Some("throw".to_owned());
        }
        if self.rest.starts_with("sr") || self.rest.starts_with("on") {
            return self.unresolved_name();
        }
        if self.eat("gs") {
            return Some(format!("::{}", self.expression()?));
        }
        for (code, word) in [("nw", "new "), ("na", "new[] ")] {
            if self.eat(code) {
                return self.new_expression(word);
            }
        }
        None
    }

    fn new_expression(&mut self, word: &str) -> Option<String> {
        let mut placement = Vec::new();
        while !self.eat("_") {
            placement.push(self.expression()?);
        }
        let place = match placement.is_empty() {
            true => String::new(),
            false => format!("({}) ", placement.join(", ")),
        };
        let target = self.type_text()?;
        if self.eat("E") {
            return Some(format!("{word}{place}{target}"));
        }
        self.expect("pi")?;
        let arguments = self.list(Self::expression)?;
        Some(format!("{word}{place}{target}({arguments})"))
    }

    fn operation(&mut self) -> Option<String> {
        let (text, arity) = self.operator()?;
        match arity {
            Arity::Unary => Some(format!("{text}{}", self.expression()?)),
            Arity::Postfix if self.eat("_") => Some(format!("{text}{}", self.expression()?)),
            Arity::Postfix => Some(format!("{}{text}", self.expression()?)),
            Arity::Binary => {
                let left = self.expression()?;
                Some(format!("{left}{text}{}", self.expression()?))
            }
            Arity::Ternary => {
                let condition = self.expression()?;
                let first = self.expression()?;
                Some(format!("{condition}?{first}:{}", self.expression()?))
            }
            Arity::Special => None,
        }
    }

    /// A name with its template arguments.
    fn simple_id(&mut self) -> Option<String> {
        let mut text = self.source_name()?.to_owned();
        if self.peek() == Some('I') {
            text += &self.template_arguments()?;
        }
        Some(text)
    }

    /// The last part of a name that is looked up in each instance.
    fn base_name(&mut self) -> Option<String> {
        if !self.eat("on") {
            return self.simple_id();
        }
        let mut text = self.operator_name()?;
        if self.peek() == Some('I') {
            text += &self.template_arguments()?;
        }
        Some(text)
    }

    fn unresolved_name(&mut self) -> Option<String> {
        if !self.eat("sr") {
            return self.base_name();
        }
        let has_more = self.eat("N") || self.peek().is_some_and(|next| next.is_ascii_digit());
        let mut scope = self.unresolved_scope()?;
        while has_more && !self.eat("E") {
            scope = format!("{scope}::{}", self.simple_id()?);
        }
        Some(format!("{scope}::{}", self.base_name()?))
    }

    /// What a looked-up name starts with: a parameter, or a known type.
    fn unresolved_scope(&mut self) -> Option<String> {
        match self.peek()? {
            '0'..='9' => self.simple_id(),
            _ => self.type_text(),
        }
    }

    /// `L` type value `E`.
    pub(super) fn literal(&mut self) -> Option<String> {
        self.expect("L")?;
        if self.eat("_Z") {
            let name = self.encoding(Parts::Name)?;
            self.expect("E")?;
            return Some(name);
        }
        let is_null = self.rest.starts_with("Dn");
        let (is_float, is_double) = (self.peek() == Some('f'), self.peek() == Some('d'));
        let kind = self.type_text()?;
        if self.eat("E") {
            return Some(match is_null {
                true => "nullptr".to_owned(),
                // What a string says is not part of the name.
                false => format!("({kind})\"...\""),
            });
        }
        let value = if is_float {
            let bits = u32::from_str_radix(self.take(8)?, 16).ok()?;
            decimal(f64::from(f32::from_bits(bits)), 6)
        } else if is_double {
            decimal(
                f64::from_bits(u64::from_str_radix(self.take(16)?, 16).ok()?),
                15,
            )
        } else {
            let sign = if self.eat("n") { "-" } else { "" };
            format!("{sign}{}", self.digits()?)
        };
        self.expect("E")?;
        Some(format!("({kind}){value}"))
    }
}

/// A number as `%g` in C prints it, always recognisable as a fraction.
fn decimal(value: f64, precision: usize) -> String {
    if value.is_nan() {
        return "nan".to_owned();
    }
    if value.is_infinite() {
        return value.to_string();
    }
    let scientific = format!("{value:.*e}", precision - 1);
    let Some((mantissa, exponent)) = scientific.split_once('e') else {
        return scientific;
    };
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let trim = |digits: &str| match digits.contains('.') {
        true => digits
            .trim_end_matches('0')
            .trim_end_matches('.')
            .to_owned(),
        false => digits.to_owned(),
    };
    if exponent < -4 || exponent >= precision as i32 {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{}e{sign}{:02}", trim(mantissa), exponent.abs());
    }
    let decimals = (precision as i32 - 1 - exponent).max(0) as usize;
    let digits = trim(&format!("{value:.decimals$}"));
    match digits.contains('.') {
        true => digits,
        false => digits + ".0",
    }
}
