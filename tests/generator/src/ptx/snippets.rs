//! Statements that need nothing but `%acc` and `%ptr`, from a list.

use std::sync::OnceLock;

use crate::feature::Feature;
use crate::on::On;

use super::Writer;

const LIST: &str = include_str!("../../snippets.txt");

/// The features that are statements and whose text is in the list alone.
pub(super) const KINDS: &[Feature] = &[
    Feature::Vector,
    Feature::Order,
    Feature::Transaction,
    Feature::MatrixMemory,
    Feature::Packed,
    Feature::Integer,
    Feature::Ending,
    Feature::Recent,
];

/// A statement of the list.
#[derive(Debug)]
struct Snippet {
    feature: Feature,
    on: On,
    text: String,
}

/// The statements, or the line of the list that is wrong.
fn parse(list: &str) -> Result<Vec<Snippet>, &str> {
    let mut snippets: Vec<Snippet> = Vec::new();
    for line in list.lines() {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if line.starts_with(' ') {
            let text = &mut snippets.last_mut().ok_or(line)?.text;
            if !text.is_empty() {
                text.push('\n');
            }
            text.push('\t');
            text.push_str(line.trim());
            continue;
        }
        let (feature, on) = line.split_once(' ').ok_or(line)?;
        snippets.push(Snippet {
            feature: feature.parse().map_err(|_| line)?,
            on: On::parse(on).ok_or(line)?,
            text: String::new(),
        });
    }
    Ok(snippets)
}

fn snippets() -> &'static [Snippet] {
    static SNIPPETS: OnceLock<Vec<Snippet>> = OnceLock::new();
    SNIPPETS.get_or_init(|| parse(LIST).expect("a test reads the list"))
}

impl Writer<'_> {
    /// A statement of this feature that the processor has.
    pub(super) fn snippet(&mut self, feature: Feature) -> Option<String> {
        let fitting: Vec<&Snippet> = snippets()
            .iter()
            .filter(|snippet| snippet.feature == feature && snippet.on.has(self.target))
            .collect();
        if fitting.is_empty() {
            return None;
        }
        let text = self.random.pick(&fitting).text.replace('#', &self.label());
        Some(text.replace("cta_group::1", &format!("cta_group::{}", self.pair())))
    }

    /// How many blocks share tensor memory, which all code of a kernel agrees on.
    pub(super) fn pair(&self) -> usize {
        1 + self.plan.units % 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_has_all_kinds() {
        let all = parse(LIST).unwrap();
        for kind in KINDS {
            assert!(all.iter().any(|snippet| snippet.feature == *kind), "{kind}");
        }
        let ends = |snippet: &Snippet| snippet.text.ends_with(';') || snippet.text.ends_with(':');
        assert!(all.iter().all(ends));
        assert!(parse("  alone;").is_err());
        assert!(parse("vector 80").is_err());
        assert!(parse("nothing 80+").is_err());
    }
}
