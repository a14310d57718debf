//! Which inputs bring a name, of those that link-time optimization makes one object of. Only the compiler knows what is
//! in LTO-IR, so each is compiled alone for that: it is done where a link has failed.

use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};

use cudalink_jitlink::Library;

use super::{Intermediate, OBJECT, Optimizer, declarations};
use crate::diagnostic::{Diagnostic, Severity, some_of};

/// The names that inputs share with others.
#[derive(Debug, Default)]
pub(super) struct Origins(Vec<Origin>);

#[derive(Debug)]
struct Origin {
    input: String,
    names: Vec<Name>,
}

#[derive(Debug)]
struct Name {
    name: String,
    /// Whether the input defines it.
    is_defined: bool,
    /// Whether no other input may define it.
    is_unique: bool,
}

impl Origins {
    /// Compiles each input. One that cannot be compiled has no names.
    pub(super) fn find(
        optimizer: &Optimizer<'_>,
        library: &Library,
        intermediates: &[Intermediate<'_>],
    ) -> Self {
        // What others need stays.
        let options = ["--device-c", "--force-device-c"].map(str::to_owned);
        let origins = intermediates.iter().map(|one| {
            let linked = optimizer.link(library, &options, std::slice::from_ref(one));
            let ptx = linked.map(|linked| linked.ptx).unwrap_or_default();
            Origin::of(&one.name, &String::from_utf8_lossy(&ptx))
        });
        Self(origins.collect())
    }

    /// Says which names two inputs define, in the words that a link has for it.
    pub(super) fn twice_defined(&self) -> Vec<Diagnostic> {
        let mut first: HashMap<&str, &str> = HashMap::new();
        let mut messages = Vec::new();
        for Origin { input, names } in &self.0 {
            for Name { name, .. } in names.iter().filter(|name| name.is_unique) {
                match first.get(name.as_str()) {
                    Some(first) => {
                        messages.push(Diagnostic::multiple_definition(name, input, first));
                    }
                    None => drop(first.insert(name, input)),
                }
            }
        }
        if !messages.is_empty() {
            messages.push(Diagnostic::merge_failed());
        }
        messages
    }

    /// Adds from which inputs the name of a message comes.
    fn explain(&self, diagnostic: Diagnostic) -> Diagnostic {
        let Some(symbol) = diagnostic.symbol() else {
            return diagnostic;
        };
        let with = |is_defined| -> Vec<String> {
            let has_it = |origin: &&Origin| {
                let mut names = origin.names.iter();
                names.any(|name| name.name == symbol && name.is_defined == is_defined)
            };
            let inputs = self.0.iter().filter(has_it);
            inputs.map(|origin| origin.input.clone()).collect()
        };
        let inputs = match with(true) {
            defining if defining.is_empty() => with(false),
            defining => defining,
        };
        let Some(names) = some_of(&inputs) else {
            return diagnostic;
        };
        let diagnostic = diagnostic.with_note(format_args!(
            "'{OBJECT}' is made of LTO-IR, and has the name from {names}"
        ));
        match &inputs[..] {
            [only] if diagnostic.input() == Some(OBJECT) => diagnostic.of_input(only),
            _ => diagnostic,
        }
    }
}

impl Origin {
    fn of(input: &str, ptx: &str) -> Self {
        let mut known = HashSet::new();
        // A function is declared, and then defined.
        let names = declarations(ptx).filter(|declared| known.insert(declared.name));
        let names = names.map(|declared| Name {
            name: declared.name.to_owned(),
            is_defined: !declared.is_needed,
            is_unique: declared.is_visible,
        });
        Self {
            input: input.to_owned(),
            names: names.collect(),
        }
    }
}

/// Tells where names come from that messages find in what was made of LTO-IR.
pub(crate) struct Explainer<'a, 'd> {
    /// Compiles them again; without it there is nothing to tell.
    optimizer: Option<Optimizer<'a>>,
    intermediates: &'a [Intermediate<'d>],
    origins: OnceCell<Origins>,
}

impl<'a, 'd> Explainer<'a, 'd> {
    pub(in super::super) fn new(
        optimizer: Option<Optimizer<'a>>,
        intermediates: &'a [Intermediate<'d>],
    ) -> Self {
        Self {
            optimizer,
            intermediates,
            origins: OnceCell::new(),
        }
    }

    /// Adds it to a message that names what was made of LTO-IR.
    pub(crate) fn explained(&self, diagnostic: Diagnostic) -> Diagnostic {
        let Some(optimizer) = &self.optimizer else {
            return diagnostic;
        };
        let is_about_it = diagnostic.severity >= Severity::Error
            && diagnostic.symbol().is_some()
            && diagnostic.text.contains(&format!("'{OBJECT}'"));
        match is_about_it {
            true => {
                let name = &self.intermediates[0].name;
                let library = || optimizer.settings.library(name, optimizer.environment);
                let find = || match library() {
                    Ok(library) => Origins::find(optimizer, &library, self.intermediates),
                    Err(_) => Origins::default(),
                };
                self.origins.get_or_init(find).explain(diagnostic)
            }
            false => diagnostic,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_two_inputs_define_are_told_of() {
        let check = |inputs: &[&str], expected: &[&str]| {
            let inputs = inputs.iter().enumerate();
            let origins = inputs.map(|(number, ptx)| Origin::of(&format!("{number}.o"), ptx));
            let messages = Origins(origins.collect()).twice_defined();
            let texts: Vec<&str> = messages.iter().map(|message| &message.text[..]).collect();
            assert_eq!(texts, expected);
        };
        let variable = ".visible .global .align 4 .u32 v = 5;\n";
        let function = ".visible .func f\n()\n;\n.visible .func f()\n{\n";
        let weak = ".weak .func f()\n{\n.extern .func g()\n;\n";
        check(&[variable, function, weak], &[]);
        check(
            &[weak, weak, function, function],
            &[
                "Multiple definition of 'f' in '3.o', first defined in '2.o'",
                "merge_elf failed",
            ],
        );
        check(
            &[variable, variable, variable],
            &[
                "Multiple definition of 'v' in '1.o', first defined in '0.o'",
                "Multiple definition of 'v' in '2.o', first defined in '0.o'",
                "merge_elf failed",
            ],
        );
    }

    #[test]
    fn messages_get_the_inputs_that_define_a_name_or_else_need_it() {
        let origins = Origins(vec![
            Origin::of("a.o", ".extern .func f\n()\n;\n.extern .func g()\n;\n"),
            Origin::of("b.o", ".visible .func f()\n{\n"),
            Origin::of("c.o", ".extern .func g()\n;\n"),
        ]);
        let check = |diagnostic: Diagnostic, from: &str, input: &str| {
            let explained = origins.explain(diagnostic);
            let note = explained.notes.last().expect("a note");
            assert!(note.ends_with(from), "{note}");
            assert_eq!(explained.input(), Some(input));
        };
        let twice = |input, first| Diagnostic::multiple_definition("f", input, first);
        check(twice(OBJECT, "m.o"), "from 'b.o'", "b.o");
        check(twice("m.o", OBJECT), "from 'b.o'", "m.o");
        let undefined = Diagnostic::undefined_reference("g", OBJECT);
        check(undefined, "from 'a.o', 'c.o'", OBJECT);
        let unknown = Diagnostic::undefined_reference("h", OBJECT);
        assert_eq!(origins.explain(unknown.clone()), unknown);
    }
}
