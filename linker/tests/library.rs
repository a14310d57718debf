//! The library as programs use it that link in memory.

use std::path::Path;
use std::thread;

use rustnvlink::codes::{self, Code};
use rustnvlink::device_link::{DeviceLink, Linked, Request};
use rustnvlink::diagnostic::{Diagnostic, Severity};
use rustnvlink::inputs::{Environment, Files, Kernels, Wanted};
use rustnvlink::options::Options;
use rustnvlink::{Input, LinkError, Outcome, link};

fn read(name: &str) -> Vec<u8> {
    let inputs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/inputs");
    std::fs::read(inputs.join(name)).unwrap()
}

fn link_for(arch: &str, inputs: &[(&str, &[u8])]) -> Result<Vec<u8>, LinkError> {
    let inputs: Vec<Input<'_>> = inputs
        .iter()
        .map(|&(name, data)| Input::new(name, data))
        .collect();
    link(&inputs, &Options::new(arch.parse().unwrap())).into_result()
}

/// The code of the only error, and the input that it is about.
fn only_error(result: Result<Vec<u8>, LinkError>) -> (Code, Option<String>) {
    let error = result.unwrap_err();
    let errors: Vec<&Diagnostic> = error.errors().collect();
    let [error] = errors[..] else {
        panic!("{error}");
    };
    (error.code, error.input().map(str::to_owned))
}

#[test]
fn what_cannot_be_linked_is_an_error_that_names_it() {
    let (caller, callee) = (read("caller.sm_90.cubin"), read("callee.sm_90.cubin"));
    let older = read("callee.sm_80.cubin");
    let image = link_for("sm_90", &[("caller", &caller), ("callee", &callee)]).unwrap();
    let check = |arch: &str, data: &[u8], code: Code| {
        let result = link_for(arch, &[("caller", &caller), ("other", data)]);
        assert_eq!(
            only_error(result),
            (code, Some("other".to_owned())),
            "{code}"
        );
    };
    check("sm_90", &older, codes::ARCH_MISMATCH);
    check("sm_90", &image, codes::IGNORED_INPUT);
    check("sm_90", b"a text", codes::NOT_A_CUBIN);
    check("sm_90", &callee[..callee.len() - 1], codes::BAD_INPUT);
    let both = link_for("sm_80", &[("caller", &caller), ("callee", &callee)]);
    let errors = both.unwrap_err().0;
    let inputs = errors.errors().map(|error| error.input());
    assert!(inputs.eq([Some("caller"), Some("callee")]));
}

#[test]
fn errors_name_what_is_missing_and_what_is_there_twice() {
    let (caller, callee) = (read("caller.sm_90.cubin"), read("callee.sm_90.cubin"));
    let error = link_for("sm_90", &[("caller", &caller)]).unwrap_err();
    assert!(error.errors().count() > 0);
    assert!(
        error.to_string().contains("[undefined-reference]\n    "),
        "{error}"
    );
    assert_eq!(format!("{error:?}"), error.to_string());
    for missing in error.errors() {
        assert_eq!(missing.code, codes::UNDEFINED_REFERENCE);
        assert_eq!(missing.severity, Severity::Error);
        let name = missing.symbol().unwrap();
        assert!(missing.text.contains(&format!("'{name}'")), "{missing}");
        assert_eq!(missing.input(), Some("caller"));
    }
    let inputs: [(&str, &[u8]); 3] = [("caller", &caller), ("one", &callee), ("two", &callee)];
    let error = link_for("sm_90", &inputs).unwrap_err();
    let twice = error
        .errors()
        .find(|e| e.code == codes::MULTIPLE_DEFINITION);
    assert_eq!(twice.unwrap().input(), Some("two"));
    assert!(twice.unwrap().symbol().is_some());
}

#[test]
fn links_may_run_at_the_same_time() {
    const fn shared<T: Send + Sync>() {}
    const {
        shared::<Options>();
        shared::<Outcome>();
        shared::<LinkError>();
        shared::<Input<'_>>();
        shared::<Request>();
        shared::<Files>();
        shared::<Environment>();
        shared::<Linked>();
    }
    let (caller, callee) = (read("caller.sm_90.cubin"), read("callee.sm_90.cubin"));
    let inputs: [(&str, &[u8]); 2] = [("caller", &caller), ("callee", &callee)];
    let expected = link_for("sm_90", &inputs).unwrap();
    thread::scope(|scope| {
        let links: Vec<_> = (0..8)
            .map(|_| scope.spawn(|| link_for("sm_90", &inputs).unwrap()))
            .collect();
        for link in links {
            assert_eq!(link.join().unwrap(), expected);
        }
    });
}

#[test]
fn files_of_all_kinds_may_be_in_memory() {
    let files = |names: &[&str]| {
        let name = |name: &&str| {
            (
                format!("{name}.cubin"),
                read(&format!("{name}.sm_90.cubin")),
            )
        };
        Files::in_memory(names.iter().map(name))
    };
    let run = |files| {
        let mut wanted = Wanted::new(Vec::new());
        wanted.kernels = Kernels::All;
        let targets = ["sm_90".parse().unwrap()];
        let request = Request::new(wanted);
        DeviceLink::new(&request)
            .link(files, &targets)
            .into_result()
    };
    let images = run(files(&["caller", "callee"])).unwrap();
    let (caller, callee) = (read("caller.sm_90.cubin"), read("callee.sm_90.cubin"));
    let expected = link_for("sm_90", &[("caller", &caller), ("callee", &callee)]).unwrap();
    assert_eq!(images.len(), 1);
    assert_eq!(images[0].data, expected);

    // Names need not say what is behind them.
    let nameless =
        ["caller", "callee"].map(|name| (name.to_owned(), read(&format!("{name}.sm_90.cubin"))));
    assert_eq!(run(Files::in_memory(nameless)).unwrap()[0].data, expected);

    let error = run(files(&["caller"])).unwrap_err();
    assert!(error.errors().all(|e| e.code == codes::UNDEFINED_REFERENCE));

    // PTX needs a program that nobody has named.
    let text = b".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k() { ret; }\n";
    let error = run(Files::in_memory([("k.ptx".to_owned(), text.to_vec())])).unwrap_err();
    let said: Vec<Code> = error.errors().map(|e| e.code).collect();
    assert_eq!(said, [codes::MISSING_PTXAS]);
}

#[test]
fn processors_that_nobody_knows_are_named() {
    let mut object = read("callee.sm_100.cubin");
    let message = "there are sm_75, ";
    let error = link_for("sm_107", &[("one", &object), ("two", &object)]).unwrap_err();
    let said: Vec<&Diagnostic> = error.errors().collect();
    assert_eq!(said.len(), 1);
    assert_eq!(said[0].code, codes::UNKNOWN_PROCESSOR);
    assert!(said[0].text.contains(message), "{}", said[0]);

    // The header of an object for one.
    object[49] = 107;
    let request = Request::new(Wanted::new(Vec::new()));
    let files = Files::in_memory([
        ("new.cubin".to_owned(), object),
        ("old.cubin".to_owned(), read("callee.sm_100.cubin")),
    ]);
    let linked = DeviceLink::new(&request).link(files, &[]);
    let error = linked.into_result().unwrap_err();
    let unknown = error.errors().find(|e| e.code == codes::UNKNOWN_PROCESSOR);
    assert_eq!(
        unknown.map(|e| &e.text[..22]),
        Some("Cannot link for sm_107")
    );
}
