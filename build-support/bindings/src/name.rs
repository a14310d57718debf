//! Readable names: C++ and Rust, within a bound on their length.

use rustnvlink::demangle::readable;
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

/// The readable form of a mangled name, in the spelling of all other messages and of NVIDIA's tools.
pub fn demangle(mangled: &str) -> Option<String> {
    // A static variable of a function gets a number when it moves out of it.
    if let Some(inner) = mangled.strip_prefix("$__") {
        let (inner, number) = inner.rsplit_once("__")?;
        return demangle(inner).filter(|_| number.bytes().all(|b| b.is_ascii_digit()));
    }
    // Compilers append `$5`, `.constprop.0` and the like to copies of a function, which are to be told
    // apart. In Rust's names such signs mean something else.
    if let Some(end) = mangled.find(['$', '.'])
        && let Some(text) = known(&mangled[..end])
    {
        return Some(format!("{text} [{}]", &mangled[end..]));
    }
    known(mangled)
}

/// The readable form where it says something that fits on a few pages.
fn known(mangled: &str) -> Option<String> {
    let text = readable(mangled);
    (text != mangled && text.len() <= LONGEST).then_some(text)
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
            Some("void tmpl<double>(T1 *, const T1 *, int)"),
        );
        check("_Z5heavyPf$5", Some("heavy(float *) [$5]"));
        check("$_Z1rPi$_Z3fibi", Some("[clone r(int *)] fib(int)"));
        check(
            "__nv_static_24__161c221c_4_a_cu_counter__Z4tmplIfEvPT_",
            Some("void tmpl<float>(T1 *)"),
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
        check(
            "_ZN42_$LT$$RF$T$u20$as$u20$core..fmt..Debug$GT$3fmt17h0123456789abcdefE",
            Some("<&T as core::fmt::Debug>::fmt"),
        );
        check("_RNvC5crate4name", Some("crate::name"));
        check("_Z4heldv.constprop.0", Some("held() [.constprop.0]"));
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
