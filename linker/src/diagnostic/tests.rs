//! What messages say and whom they name.

use super::*;

#[test]
fn many_names_are_counted() {
    let check = |number: usize, expected: Option<&str>| {
        let names: Vec<String> = (0..number).map(|n| format!("{n}.o")).collect();
        assert_eq!(some_of(&names).as_deref(), expected);
    };
    check(0, None);
    check(1, Some("'0.o'"));
    check(3, Some("'0.o', '1.o', '2.o'"));
    check(5, Some("'0.o', '1.o', '2.o' and 2 more"));
}

#[test]
fn code_and_place_stand_in_the_first_line() {
    let message = Diagnostic::fatal(codes::MISSING_PTXAS, "there is no ptxas")
        .with_detail("no toolkit found\n  PATH: no nvcc\nhelp: install one")
        .with_note("a note");
    assert_eq!(
        message.shown_at(" (sm_90)"),
        "there is no ptxas: no toolkit found (sm_90) [missing-ptxas]\n  PATH: no nvcc\nhelp: install one\n    a note"
    );
}

#[test]
fn messages_about_functions_name_them_for_programs() {
    let messages = [
        Diagnostic::too_many_compiler_constants("_Z6kernelv"),
        Diagnostic::too_many_registers("_Z6kernelv", 64, "_Z4partv", 80),
        Diagnostic::uncalled("_Z6kernelv"),
    ];
    for message in messages {
        assert_eq!(message.symbol(), Some("_Z6kernelv"), "{}", message.code);
        let readable = "_Z6kernelv is kernel()";
        assert!(message.notes.iter().any(|note| note == readable));
    }
}
