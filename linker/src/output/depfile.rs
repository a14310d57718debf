//! The rule by which `make` and its kin know when a link is stale.

use std::path::PathBuf;

use crate::raw_text;

/// A rule whose targets are the outputs, and a rule without commands for each
/// input, so that one that vanished is no error.
pub fn rule(outputs: &[PathBuf], inputs: &[String]) -> Vec<u8> {
    let outputs = outputs
        .iter()
        .map(|o| escaped(&raw_text::text(o.as_os_str())));
    let mut text = outputs.collect::<Vec<_>>().join(" ") + ":";
    for input in inputs {
        text.push_str(" \\\n  ");
        text.push_str(&escaped(input));
    }
    text.push('\n');
    for input in inputs {
        text.push_str(&format!("\n{}:\n", escaped(input)));
    }
    raw_text::bytes(&text)
}

/// A path as `make` reads it back.
fn escaped(path: &str) -> String {
    let mut text = String::with_capacity(path.len());
    for character in path.chars() {
        match character {
            ' ' | '#' | '\\' => text.extend(['\\', character]),
            '$' => text.push_str("$$"),
            _ => text.push(character),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_escaped() {
        let inputs = ["a b.o".to_owned(), "$c#.a".to_owned()];
        assert_eq!(
            rule(&["out.cubin".into()], &inputs),
            b"out.cubin: \\\n  a\\ b.o \\\n  $$c\\#.a\n\na\\ b.o:\n\n$$c\\#.a:\n"
        );
    }
}
