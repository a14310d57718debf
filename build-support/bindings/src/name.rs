//! Readable names: C++ and Rust, within a bound on their length.

use std::fmt::{self, Write as _};

use cpp_demangle::{DemangleOptions, Symbol};

use serde::Serialize;

/// A short mangled name can stand for a text that grows exponentially; longer results are not used.
const LONGEST: usize = 8 * 1024;

/// A name as the file has it, and as a person would write it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Name {
    /// As the file has it.
    pub name: String,
    /// As a person would write it, where that is something else.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub demangled: Option<String>,
}

impl Name {
    /// The name with its readable form, if it has one.
    pub fn new(mangled: &str) -> Self {
        Self {
            name: mangled.to_owned(),
            demangled: demangle(mangled),
        }
    }

    /// The demangled name where there is one.
    pub fn pretty(&self) -> &str {
        self.demangled.as_deref().unwrap_or(&self.name)
    }
}

/// The readable form of a mangled name.
pub fn demangle(mangled: &str) -> Option<String> {
    if is_rust(mangled) {
        return bounded(format_args!(
            "{:#}",
            rustc_demangle::try_demangle(mangled).ok()?
        ));
    }
    // A whole program's copy of a function beside its caller is named after both.
    if let Some((caller, callee)) = mangled.strip_prefix('$').and_then(|m| m.split_once('$')) {
        let readable = |name: &str| demangle(name).unwrap_or_else(|| name.to_owned());
        return Some(format!("{} [in {}]", readable(callee), readable(caller)));
    }
    // A static kernel's name begins with that of its module, whose length comes first.
    if let Some(rest) = mangled.strip_prefix("__nv_static_") {
        let (length, rest) = rest.split_once('_')?;
        let name = rest.get(length.parse().ok()?..)?.strip_prefix('_')?;
        return demangle(name);
    }
    // A static variable of a function gets a number when it moves out of it.
    if let Some(inner) = mangled.strip_prefix("$__") {
        let (inner, number) = inner.rsplit_once("__")?;
        return demangle(inner).filter(|_| number.bytes().all(|b| b.is_ascii_digit()));
    }
    if !mangled.starts_with("_Z") {
        return None;
    }
    if let Some(text) = cpp(mangled) {
        return Some(text);
    }
    // Compilers append `$5`, `.constprop.0` and the like to copies of a function.
    let end = mangled.find(['$', '.'])?;
    let text = cpp(&mangled[..end])?;
    Some(format!("{text} [{}]", &mangled[end..]))
}

fn cpp(mangled: &str) -> Option<String> {
    let symbol = Symbol::new(mangled).ok()?;
    let mut out = Bounded(String::new());
    symbol
        .structured_demangle(&mut out, &DemangleOptions::default())
        .ok()?;
    Some(out.0)
}

/// Rust's own scheme, or the older one, which is C++'s with a hash as the last part.
fn is_rust(mangled: &str) -> bool {
    if mangled.starts_with("_R") {
        return true;
    }
    let Some(rest) = mangled
        .strip_prefix("_ZN")
        .and_then(|m| m.strip_suffix('E'))
    else {
        return false;
    };
    let hash = rest.len().checked_sub(19).and_then(|at| rest.get(at..));
    hash.and_then(|part| part.strip_prefix("17h"))
        .is_some_and(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()))
}

fn bounded(text: fmt::Arguments<'_>) -> Option<String> {
    let mut out = Bounded(String::new());
    out.write_fmt(text).ok()?;
    Some(out.0)
}

struct Bounded(String);

impl fmt::Write for Bounded {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if self.0.len() + text.len() > LONGEST {
            return Err(fmt::Error);
        }
        self.0.push_str(text);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(mangled: &str, expected: Option<&str>) {
        assert_eq!(demangle(mangled).as_deref(), expected);
    }

    #[test]
    fn names_become_readable() {
        check("_Z6helperi", Some("helper(int)"));
        check(
            "_Z4tmplIdEvPT_PKS0_i",
            Some("void tmpl<double>(double*, double const*, int)"),
        );
        check("_Z5heavyPf$5", Some("heavy(float*) [$5]"));
        check("$_Z1rPi$_Z3fibi", Some("fib(int) [in r(int*)]"));
        check(
            "__nv_static_24__161c221c_4_a_cu_counter__Z4tmplIfEvPT_",
            Some("void tmpl<float>(float*)"),
        );
        check("__nv_static_99_short", None);
        check("__nv_static_", None);
        check("$str", None);
        check("$___ZZ6callerE4tile__35", Some("caller::tile"));
        check("$__plain__35", None);
        check("_ZN2ns1fE", Some("ns::f"));
        check(
            "_ZN4core3fmt5Write17h0123456789abcdefE",
            Some("core::fmt::Write"),
        );
        check("_RNvC5crate4name", Some("crate::name"));
        check("plain_c", None);
        check("_Znonsense", None);
        check("", None);
    }

    #[test]
    fn exponential_names_are_left_alone() {
        // Every `pair<X, X>` of it doubles what stands for X.
        let mut bomb = String::from("_Z1f4pairIiiE");
        for substitution in ["S_", "S0_", "S1_", "S2_", "S3_", "S4_", "S5_", "S6_", "S7_"] {
            for _ in 0..8 {
                bomb.push_str(substitution);
            }
            bomb.push_str(&format!("4pairI{substitution}{substitution}E"));
        }
        let text = demangle(&bomb);
        assert!(text.is_none_or(|text| text.len() <= LONGEST + 16));
    }
}
