//! Texts taken apart as nvlink does it: options files at blanks, lists at
//! commas.
//!
//! A double quote starts and ends a part in which separators stand for
//! themselves. In options files, a backslash makes the next character stand
//! for itself; in lists it is a character like any other. Single quotes mean
//! nothing. The case `options_file` shows it.
//!
//! nvlink drops the blanks around an argument of an options file, and then its quotes, when it no longer
//! knows which of them stand for themselves: blanks go that are behind a backslash but not those between
//! quotes, and quotes but those behind a backslash that is part of the text. It reads lines in pieces, and a
//! zero byte ends its piece.

use crate::options::Behaviour;
use crate::raw_text;

/// How many bytes of a line nvlink reads at once.
const PIECE: usize = 999;

/// A character that cannot be what it should be: a quote that nothing closes,
/// or a backslash with nothing behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stray {
    Quote,
    Backslash,
}

/// The arguments in the text of an options file.
pub(super) fn arguments(text: &str, behaviour: Behaviour) -> Result<Vec<String>, Stray> {
    if behaviour == Behaviour::Own {
        return split(text, is_blank, Backslash::Escapes);
    }
    let words = split(
        &up_to_zeros(text),
        is_blank,
        Backslash::EscapesAndQuotesStay,
    )?;
    let words = words.iter().map(|word| word.trim_matches(TRIMMED));
    Ok(words
        .filter(|word| !word.is_empty())
        .map(without_quotes)
        .collect())
}

/// What stands in each piece before its first zero byte.
fn up_to_zeros(text: &str) -> String {
    if !text.contains('\0') {
        return text.to_owned();
    }
    let bytes = raw_text::bytes(text);
    let lines = bytes.split_inclusive(|&byte| byte == b'\n');
    let pieces = lines.flat_map(|line| line.chunks(PIECE));
    let kept = pieces.flat_map(|piece| piece.split(|&byte| byte == 0).next());
    let kept: Vec<u8> = kept.flatten().copied().collect();
    raw_text::from_bytes(&kept).unwrap_or_default()
}

fn without_quotes(word: &str) -> String {
    let mut previous = None;
    let stays = |character: &char| {
        let is_dropped = *character == '"' && previous != Some('\\');
        previous = Some(*character);
        !is_dropped
    };
    word.chars().filter(stays).collect()
}

/// What separates arguments; other blanks are characters like any other.
fn is_blank(character: char) -> bool {
    matches!(character, ' ' | '\t' | '\r' | '\n')
}

/// The blanks around a word that do not belong to it.
const TRIMMED: [char; 2] = [' ', '\t'];

/// The items of a list, without blanks around them; empty ones do not count.
pub(super) fn items(text: &str) -> Result<Vec<String>, Stray> {
    let items = split(text, |c| c == ',', Backslash::Plain)?;
    let items = items.iter().map(|item| item.trim_matches(TRIMMED));
    Ok(items
        .filter(|item| !item.is_empty())
        .map(str::to_owned)
        .collect())
}

/// What a backslash is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Backslash {
    Plain,
    /// It makes the next character stand for itself.
    Escapes,
    /// The same, and quotes are dropped later.
    EscapesAndQuotesStay,
}

fn split(
    text: &str,
    separates: impl Fn(char) -> bool,
    backslash: Backslash,
) -> Result<Vec<String>, Stray> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quoted = false;
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        let (character, is_escaped) = match (character, backslash) {
            ('\\', Backslash::Escapes | Backslash::EscapesAndQuotesStay) => {
                match characters.next() {
                    Some(next) => (next, true),
                    None if backslash == Backslash::Escapes => break,
                    None => return Err(Stray::Backslash),
                }
            }
            _ => (character, false),
        };
        if separates(character) && !quoted && !is_escaped {
            words.extend(word.take());
            continue;
        }
        let word = word.get_or_insert_default();
        let is_quote = character == '"';
        quoted ^= is_quote && !is_escaped;
        let stays = is_escaped || backslash == Backslash::EscapesAndQuotesStay;
        if !is_quote || stays {
            word.push(character);
        }
    }
    words.extend(word);
    if quoted { Err(Stray::Quote) } else { Ok(words) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_as_nvlink_takes_them() {
        let check = |text: &str, expected: &[&str]| {
            assert_eq!(arguments(text, Behaviour::Own).unwrap(), expected, "{text}");
        };
        check("", &[]);
        check(" -v\n\n\t-arch\r\nsm_90 ", &["-v", "-arch", "sm_90"]);
        check("\"a b.o\" a\\ b.o", &["a b.o", "a b.o"]);
        check("\"a\"\"b\".o \"\" 'a b'", &["ab.o", "", "'a", "b'"]);
        check("a\u{b}b\u{c}c", &["a\u{b}b\u{c}c"]);
        check(r#""a\\b" a\b \"a"#, &["a\\b", "ab", "\"a"]);
        assert_eq!(arguments("a \"b", Behaviour::Own), Err(Stray::Quote));
    }

    /// Each text was given to nvlink 13.0.88.
    #[test]
    fn quotes_of_nvlink_may_stay_or_go() {
        let check = |text: &str, expected: &[&str]| {
            let words = arguments(text, Behaviour::Nvlink).unwrap();
            assert_eq!(words, expected, "{text}");
        };
        check(r#""a b" c"#, &["a b", "c"]);
        check(r#"\"a b\" \"a"#, &["a", "b", "a"]);
        check(r#"a\\"b c".o"#, &[r#"a\"b c.o"#]);
        check(r#""a\\" b"#, &[r#"a\""#, "b"]);
        check(r#"a\\\"b"#, &[r#"a\"b"#]);
        check(r#"a\\\\"b c".o"#, &[r#"a\\"b c.o"#]);
        check(r#"\""#, &[""]);
        check(r"\ a\  b\	 \  -g\ ", &["a", "b", "-g"]);
        check("\"a \" a\\\n \"\" b\0c\nd e", &["a ", "a\n", "", "bd", "e"]);
        let long = format!("a\0{}b \0d\ne\0", "c".repeat(PIECE - 2));
        check(&long, &["ab", "e"]);
        let stray = |text| arguments(text, Behaviour::Nvlink);
        assert_eq!(stray("\"a\0\""), Err(Stray::Quote));
        assert_eq!(stray("a\\"), Err(Stray::Backslash));
        assert_eq!(stray("\"a\\"), Err(Stray::Backslash));
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
        check("a\n, \tb\r", &["a\n", "b\r"]);
        assert_eq!(items("\\\"a"), Err(Stray::Quote));
    }
}
