//! Which name may be meant by one that nothing has.

use crate::demangle::{readable, without_parameters};

/// How much alike two names are, from 0 to 1, of which one may be meant.
const ALIKE: f64 = 0.85;
/// How many names are compared with one; each takes microseconds.
const MAX_COMPARED: usize = 100_000;

/// The name that is most like `wanted`, if it is much alike.
pub(super) fn alike<'n>(names: impl Iterator<Item = &'n str>, wanted: &str) -> Option<&'n str> {
    let wanted = without_parameters(wanted).to_lowercase();
    let mut best = (ALIKE, None);
    for name in names.take(MAX_COMPARED) {
        let known = readable(name);
        let known = without_parameters(&known).to_lowercase();
        let score = strsim::jaro_winkler(&known, &wanted);
        if score > best.0 {
            best = (score, Some(name));
        }
    }
    best.1
}
