//! Unit tests of the grammar.

use super::*;

const SHOWS: &str = "//# Shows: something\n";

fn steps(directives: &str, arch: u32) -> Vec<Action> {
    let script = parse(&format!("{SHOWS}{directives}"), Arch(arch)).unwrap();
    script.steps.into_iter().map(|step| step.action).collect()
}

fn links(directives: &str, arch: u32) -> Vec<Link> {
    let only_links = |action| match action {
        Action::Link(link) => Some(link),
        _ => None,
    };
    steps(directives, arch)
        .into_iter()
        .filter_map(only_links)
        .collect()
}

fn error(directives: &str) -> String {
    format!(
        "{:#}",
        parse(&format!("{SHOWS}{directives}"), Arch(90)).unwrap_err()
    )
}

#[test]
fn a_link_gets_its_architecture_and_output() {
    let [link] = &links("//# Link: out.cubin = a.cubin 'b c.cubin'", 80)[..] else {
        panic!()
    };
    assert_eq!(link.name, "out.cubin");
    assert_eq!(
        link.arguments,
        ["-arch=sm_80", "a.cubin", "b c.cubin", "-o", "out.cubin"]
    );
    assert_eq!(link.output.as_deref(), Some("out.cubin"));
}

#[test]
fn a_link_without_extension_writes_nothing_by_itself() {
    let [link] = &links("//# Link: version = -V", 80)[..] else {
        panic!()
    };
    assert_eq!(link.arguments, ["-arch=sm_80", "-V"]);
    assert_eq!(link.output, None);
    let [link] = &links("//# LinkExactly: plain = a.cubin -o o.cubin", 80)[..] else {
        panic!()
    };
    assert_eq!(link.arguments, ["a.cubin", "-o", "o.cubin"]);
}

#[test]
fn expectations_belong_to_the_link_before_them() {
    let all = links(
        "//# Link: a.cubin = x\n//# ExpectExit: 255\n//# CompareText\n\
         //# Link: b.cubin = x\n//# ExpectText: a b  c\n//# ExpectSymbol: k global func",
        90,
    );
    assert_eq!(all[0].expectations, [Expectation::Exit(255)]);
    assert!(all[0].compare_text && !all[1].compare_text);
    let words = vec!["global".to_owned(), "func".to_owned()];
    let symbol = Expectation::Symbol {
        name: "k".to_owned(),
        words,
    };
    assert_eq!(
        all[1].expectations,
        [Expectation::Text("a b  c".to_owned()), symbol]
    );
}

#[test]
fn guards_choose_by_architecture() {
    let text = "//# Link: a.cubin = x\n//# ExpectExit[75 100+]: 1\n//# Link[90+]: b.cubin = x\n//# ExpectExit: 2";
    assert_eq!(links(text, 75)[0].expectations, [Expectation::Exit(1)]);
    assert_eq!(links(text, 75).len(), 1);
    assert!(links(text, 90)[0].expectations.is_empty());
    assert_eq!(links(text, 90)[1].expectations, [Expectation::Exit(2)]);
}

#[test]
fn loops_expand_what_names_them() {
    let text = "//# For: o = 75 80\n//# For: l = 80 90\n//# Compile: k{o}.cubin = k.cu -arch=sm_{o}\n\
                //# Link: {o}on{l}.cubin = k{o}.cubin -arch=sm_{l}\n//# ExpectText: {l}";
    assert_eq!(steps(text, 90).len(), 2 + 4);
    let all = links(text, 90);
    assert_eq!(
        all[1].arguments,
        ["k75.cubin", "-arch=sm_90", "-o", "75on90.cubin"]
    );
    assert_eq!(all[1].expectations, [Expectation::Text("90".to_owned())]);
}

#[test]
fn steps_read_their_words() {
    let text = "//# Compile: a.cu -lineinfo\n//# Compile: f.o = b.cu\n//# Write: e.txt =\n//# Write: t.txt = sm_{sm} x\n\
                //# Words: w.bin = 0x10 2\n\
                //# Truncate: t.cubin = a.cubin 0x10\n//# Truncate: s.cubin = a.cubin -3\n//# Patch: p.cubin = a.cubin .text.k+4 00 ff\n//# Patch: q.cubin = a.cubin .nv.info@7 01";
    let owned = |text: &str| text.to_owned();
    assert_eq!(
        steps(text, 90),
        [
            Action::Compile {
                output: owned("a.cubin"),
                source: owned("a.cu"),
                flags: vec![owned("-lineinfo")]
            },
            Action::Compile {
                output: owned("f.o"),
                source: owned("b.cu"),
                flags: vec![]
            },
            Action::Write {
                output: owned("e.txt"),
                text: String::new()
            },
            Action::Write {
                output: owned("t.txt"),
                text: owned("sm_90 x\n")
            },
            Action::Words {
                output: owned("w.bin"),
                words: vec![16, 2]
            },
            Action::Truncate {
                output: owned("t.cubin"),
                input: owned("a.cubin"),
                length: Length::First(16)
            },
            Action::Truncate {
                output: owned("s.cubin"),
                input: owned("a.cubin"),
                length: Length::AllBut(3)
            },
            Action::Patch {
                output: owned("p.cubin"),
                input: owned("a.cubin"),
                place: Place {
                    base: Base::Section(owned(".text.k")),
                    offset: 4
                },
                bytes: vec![0, 255],
            },
            Action::Patch {
                output: owned("q.cubin"),
                input: owned("a.cubin"),
                place: Place {
                    base: Base::Header(owned(".nv.info")),
                    offset: 7
                },
                bytes: vec![1],
            },
        ]
    );
}

#[test]
fn mistakes_are_named_with_their_line() {
    assert!(
        error("\n//# Lnk: a = b").contains("line 3: //# Lnk: a = b: no directive is called `Lnk`")
    );
    assert!(error("//# Link: a.cubin = {x}").contains("no variable `{x}`"));
    assert!(error("//# Link: a.cubin").contains("expected `name = ...`"));
    assert!(error("//# Link: a.cubin = x\n//# Link: a.cubin = x").contains("already named"));
    assert!(error("//# Link: a.cubin = x\n//# ExpectExit: two").contains("not an exit code"));
    assert!(error("//# Link[9: a.cubin = x").contains("not closed"));
    assert!(error("//# Link[75]: a.cubin = x").contains("no step for sm_90"));
    assert!(parse("//# Link: a.cubin = x", Arch(90)).is_err());
}

#[test]
fn archs_are_the_usual_ones_unless_named() {
    assert_eq!(archs(SHOWS).unwrap(), arch::DEFAULT);
    assert_eq!(archs("//# Archs: 90 100\n").unwrap(), [Arch(90), Arch(100)]);
    assert!(archs("//# Archs: new\n").is_err());
}

#[test]
fn compilers_do_not_see_directives() {
    let text = "//# Shows: x\nint a;\n  //# Link: y\n//b";
    assert_eq!(without_directives(text), "int a;\n//b");
}
