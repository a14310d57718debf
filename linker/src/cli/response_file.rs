//! Texts taken apart as nvlink does it: options files at blanks, lists at
//! commas.
//!
//! A double quote starts and ends a part in which separators stand for
//! themselves. In options files, a backslash makes the next character stand
//! for itself; in lists it is a character like any other. Single quotes mean
//! nothing. The case `options_file` shows it.

/// A double quote that nothing closes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct StrayQuote;

/// The arguments in the text of an options file.
pub(super) fn arguments(text: &str) -> Result<Vec<String>, StrayQuote> {
    split(text, char::is_whitespace, true)
}

/// The items of a list, without blanks around them; empty ones do not count.
pub(super) fn items(text: &str) -> Result<Vec<String>, StrayQuote> {
    let items = split(text, |c| c == ',', false)?;
    let items = items.iter().map(|item| item.trim());
    Ok(items
        .filter(|item| !item.is_empty())
        .map(str::to_owned)
        .collect())
}

fn split(
    text: &str,
    separates: impl Fn(char) -> bool,
    escapes: bool,
) -> Result<Vec<String>, StrayQuote> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quoted = false;
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match character {
            '"' => {
                quoted = !quoted;
                word.get_or_insert_default();
            }
            '\\' if escapes => {
                if let Some(next) = characters.next() {
                    word.get_or_insert_default().push(next);
                }
            }
            _ if separates(character) && !quoted => words.extend(word.take()),
            _ => word.get_or_insert_default().push(character),
        }
    }
    words.extend(word);
    if quoted { Err(StrayQuote) } else { Ok(words) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_as_nvlink_takes_them() {
        let check = |text: &str, expected: &[&str]| {
            assert_eq!(arguments(text).unwrap(), expected, "{text}");
        };
        check("", &[]);
        check(" -v\n\n\t-arch\r\nsm_90 ", &["-v", "-arch", "sm_90"]);
        check("\"a b.o\" a\\ b.o", &["a b.o", "a b.o"]);
        check("\"a\"\"b\".o \"\" 'a b'", &["ab.o", "", "'a", "b'"]);
        check(r#""a\\b" a\b \"a"#, &["a\\b", "ab", "\"a"]);
        assert_eq!(arguments("a \"b"), Err(StrayQuote));
    }

    #[test]
    fn lists_are_split_at_commas() {
        let check = |text: &str, expected: &[&str]| {
            assert_eq!(items(text).unwrap(), expected, "{text}");
        };
        check("a,b", &["a", "b"]);
        check(",a,,b,", &["a", "b"]);
        check("", &[]);
        check("\"a,b\",c d", &["a,b", "c d"]);
        check("a\\,b ", &["a\\", "b"]);
        assert_eq!(items("\\\"a"), Err(StrayQuote));
    }
}
