//! Values of options: which are taken, and what may be meant by others.

use std::ffi::{OsStr, OsString};

use super::flags::{Spelling, Value};
use crate::arch::{Sm, help_with};
use crate::codes;
use crate::diagnostic::Diagnostic;
use crate::options::Behaviour;
use crate::raw_text;

/// The names of processors in the value of an option, with nothing but commas between them. nvlink takes one.
pub(super) fn processors(
    spelling: &Spelling,
    value: &OsStr,
    behaviour: Behaviour,
) -> Result<OsString, Diagnostic> {
    let text = raw_text::text(value);
    let names = match behaviour {
        Behaviour::Nvlink => vec![&*text],
        Behaviour::Own => {
            let names = text.split(',').map(str::trim);
            names.filter(|name| !name.is_empty()).collect()
        }
    };
    let wrong = match names.is_empty() {
        true => Some(&*text),
        false => names.iter().copied().find(|name| !is_processor(name)),
    };
    match wrong {
        Some(name) => Err(undefined_value(spelling, name)),
        None => Ok(names.join(",").into()),
    }
}

/// Whether a text names a processor, or what is compiled for one.
fn is_processor(text: &str) -> bool {
    ["sm_", "compute_", "lto_"]
        .iter()
        .filter_map(|prefix| text.strip_prefix(prefix))
        .filter_map(|name| format!("sm_{name}").parse().ok())
        .any(|sm: Sm| Sm::KNOWN.contains(&sm))
}

/// A number as C reads it: `0x` starts a hexadecimal and `0` an octal one.
/// Nothing at all is zero.
pub(super) fn number(text: &str) -> Result<i32, Diagnostic> {
    let trimmed = text.trim_start();
    let (negative, digits) = match trimmed.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, trimmed.strip_prefix('+').unwrap_or(trimmed)),
    };
    let (radix, digits) = match digits.get(..2) {
        Some("0x" | "0X") => (16, &digits[2..]),
        _ if digits.len() > 1 && digits.starts_with('0') => (8, &digits[1..]),
        _ => (10, digits),
    };
    if text.is_empty() {
        return Ok(0);
    }
    if digits.is_empty() || !digits.chars().all(|digit| digit.is_digit(radix)) {
        return Err(Diagnostic::fatal(
            codes::INVALID_VALUE,
            format!("'{text}': expected a number"),
        ));
    }
    let sign = if negative { -1 } else { 1 };
    i64::from_str_radix(digits, radix)
        .ok()
        .and_then(|number| i32::try_from(sign * number).ok())
        .ok_or_else(|| {
            Diagnostic::fatal(
                codes::INVALID_VALUE,
                format!("32-bit integer value ({text}) out of range"),
            )
        })
}

/// A value that an option does not take, with those that it does.
pub(super) fn undefined_value(spelling: &Spelling, text: &str) -> Diagnostic {
    let name = spelling.long;
    let problem = Diagnostic::fatal(
        codes::INVALID_VALUE,
        format!("Value '{text}' is not defined for option '{name}'"),
    );
    match spelling.value {
        Value::Processor => problem.with_detail(help_with(text)),
        Value::Choice(words) => problem.with_detail(format_args!("it is {}", words.join(" or "))),
        Value::SixtyFour => problem.with_detail("it is 64"),
        Value::Nothing
        | Value::Text
        | Value::Texts
        | Value::List
        | Value::Number
        | Value::Truth => problem,
    }
}
