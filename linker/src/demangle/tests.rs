//! What nvlink 13.0.88 prints for these names.

use super::{as_nvlink, readable, without_parameters};

#[test]
fn names_are_those_of_nvlink() {
    let mut wrong = Vec::new();
    for line in include_str!("names.txt").lines() {
        let (mangled, expected) = line.split_once('\t').unwrap();
        let shown = as_nvlink(mangled);
        if shown != expected {
            wrong.push(format!("{mangled}\n  {expected}\n  {shown}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn rust_names_are_readable_where_nvlink_shows_them_as_they_are() {
    let circle = "_RNvXs_Csho8C6z2jwwR_9functionsNtB4_6CircleNtB4_5Shape4area";
    let shown = "<functions::Circle as functions::Shape>::area";
    assert_eq!(readable(circle), shown);
    assert_eq!(as_nvlink(circle), circle);
    let panic = "_ZN4core9panicking5panic17h0123456789abcdefE";
    assert_eq!(readable(panic), "core::panicking::panic");
    // Of C++, though Rust could have it.
    assert_eq!(readable("_ZN12_GLOBAL__N_11xE"), "<unnamed>::x");
}

#[test]
fn endless_names_end() {
    let nested = format!("_Z1f{}i", "P".repeat(1 << 20));
    assert_eq!(readable(&nested), nested);
    let members = format!("_ZN{}fE", "1A".repeat(1 << 16));
    assert_eq!(readable(&members), members);
    let mut doubled = String::from("_Z1fI1A");
    for _ in 0..64 {
        doubled.push_str("1BIS_S_E");
    }
    readable(&doubled);
    let mut grows = String::from("_Z1f1A");
    for index in 0..30 {
        grows.push_str(&format!("1BIS{}_S{}_E", base_36(index), base_36(index)));
    }
    assert!(readable(&grows).len() < 1 << 20);
}

fn base_36(number: u32) -> String {
    char::from_digit(number, 36)
        .unwrap()
        .to_ascii_uppercase()
        .to_string()
}

proptest::proptest! {
    #[test]
    fn any_text_has_a_readable_form(name in "(_Z)?[NIESTPRKXLJDAFMZUC0-9a-z_$]{0,60}") {
        readable(&name);
    }
}

#[test]
fn values_in_a_name_are_no_parameters() {
    for (readable, expected) in [
        (
            "void scale<float, (int)256>(T1 *, int)",
            "scale<float, (int)256>",
        ),
        ("call(int (*)(float))", "call"),
        ("Functor::operator ()(int) const", "Functor::operator ()"),
        ("table<(int)4>", "table<(int)4>"),
        ("<unnamed>::x", "<unnamed>::x"),
        ("plain", "plain"),
        ("unbalanced)", "unbalanced)"),
    ] {
        assert_eq!(without_parameters(readable), expected);
    }
}
