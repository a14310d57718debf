//! What message codes mean, in lines for `--explain`, and advice that several programs give.

use std::fmt::Write as _;

use crate::codes;
use crate::diagnostic::{Diagnostic, some_of};

/// How much alike two names are, from 0 to 1, of which one may be meant.
pub(crate) const ALIKE: f64 = 0.85;

/// The width of lines.
const WIDTH: usize = 80;

/// What helps where something is undefined that one of these objects may define, compiled without `-rdc=true`.
pub fn help_with_closed(objects: &[String]) -> Option<String> {
    let names = some_of(objects)?;
    Some(format!(
        "device functions of {names} cannot be called from elsewhere: compile with -rdc=true \
         (in CMake, CUDA_SEPARABLE_COMPILATION ON)"
    ))
}

/// Adds words in lines of a width that begin at a column; the first one begins there.
pub fn wrap(words: &str, indent: usize, width: usize, text: &mut String) {
    let mut column = indent;
    for word in words.split_whitespace() {
        if column > indent && column + word.len() + 1 > width {
            let _ = write!(text, "\n{:indent$}", "");
            column = indent;
        } else if column > indent {
            text.push(' ');
            column += 1;
        }
        text.push_str(word);
        column += word.len();
    }
}

/// What a message code means, in lines: one of the linker's, or of those that the caller has beside, with their meaning.
///
/// # Errors
///
/// Fails if there is no such code, and says which one may be meant.
pub fn explanation(code: &str, beside: &[(&str, &str)]) -> Result<String, Diagnostic> {
    let code = code.trim_matches(['[', ']']);
    let of_links = codes::ALL.iter();
    let of_links = of_links.map(|known| (known.as_str(), known.meaning()));
    let known = of_links.chain(beside.iter().copied());
    if let Some((code, text)) = known.clone().find(|(known, _)| *known == code) {
        return Ok(described(code, text));
    }
    let alike = |known: &str| strsim::jaro_winkler(known, code);
    let best = known
        .map(|(known, _)| known)
        .max_by(|a, b| alike(a).total_cmp(&alike(b)))
        .filter(|best| alike(best) > ALIKE);
    let problem = Diagnostic::fatal(
        codes::UNKNOWN_CODE,
        format!("There is no message code '{code}'"),
    );
    Err(match best {
        Some(best) => problem.with_detail(format_args!("did you mean '{best}'?")),
        None => problem.with_detail("a code stands in brackets behind each message"),
    })
}

/// A code and what it means, in lines.
fn described(code: &str, meaning: &str) -> String {
    let mut lines = format!("{code}\n\n");
    wrap(meaning, 0, WIDTH, &mut lines);
    lines + "\n"
}
