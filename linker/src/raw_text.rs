//! Names of files as text, whatever their bytes are.
//!
//! On Unix a name is any bytes, and what nvlink prints and takes apart is bytes. Here it is text, in which each byte
//! that is no part of a character is a private character of its own, from which it can be told again.

use std::ffi::{OsStr, OsString};

/// The character of byte 0: in a plane that has none with a meaning.
const FIRST: u32 = 0x10_f000;

/// The text of a name.
pub(crate) fn text(name: &OsStr) -> String {
    #[cfg(unix)]
    {
        use std::os::unix::ffi::OsStrExt as _;
        from_bytes(name.as_bytes()).unwrap_or_default()
    }
    #[cfg(not(unix))]
    name.to_string_lossy().into_owned()
}

/// The text of bytes, if the system knows any as names.
pub(crate) fn from_bytes(bytes: &[u8]) -> Option<String> {
    if !cfg!(unix) {
        return std::str::from_utf8(bytes).ok().map(str::to_owned);
    }
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        let characters = chunk.invalid().iter();
        text.extend(characters.filter_map(|&byte| char::from_u32(FIRST + u32::from(byte))));
    }
    Some(text)
}

/// The bytes of a text.
pub(crate) fn bytes(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    for character in text.chars() {
        match byte(character) {
            Some(byte) => bytes.push(byte),
            None => bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    bytes
}

/// The byte that a character stands for.
pub(crate) fn byte(character: char) -> Option<u8> {
    let byte = u32::from(character).checked_sub(FIRST)?;
    u8::try_from(byte).ok().filter(|byte| !byte.is_ascii())
}

/// What people can read of a text.
#[cfg(any(test, feature = "program"))]
pub(crate) fn readable(text: &str) -> String {
    let shown = |character| match byte(character) {
        Some(_) => char::REPLACEMENT_CHARACTER,
        None => character,
    };
    text.chars().map(shown).collect()
}

/// The same of a text that a terminal shows: what inputs call something is no command to it.
pub fn visible(text: &str) -> String {
    let mut visible = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\n' | '\t' => visible.push(character),
            _ if character.is_control() => visible.extend(character.escape_default()),
            _ if byte(character).is_some() => visible.push(char::REPLACEMENT_CHARACTER),
            _ => visible.push(character),
        }
    }
    visible
}

/// The name of a text.
pub(crate) fn name(text: &str) -> OsString {
    #[cfg(unix)]
    {
        use std::os::unix::ffi::OsStringExt as _;
        OsString::from_vec(bytes(text))
    }
    #[cfg(not(unix))]
    OsString::from(text)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn terminals_get_no_commands() {
        let text = from_bytes(b"a\x1b[31m\xff\tb\nc\x7f").unwrap() + "\u{9b}";
        let expected = "a\\u{1b}[31m\u{fffd}\tb\nc\\u{7f}\\u{9b}";
        assert_eq!(visible(&text), expected);
    }

    #[test]
    fn bytes_come_back() {
        let check = |bytes: &[u8], shown: &str| {
            let text = from_bytes(bytes).unwrap();
            assert_eq!(
                (super::bytes(&text), readable(&text)),
                (bytes.to_vec(), shown.to_owned())
            );
        };
        check(b"a", "a");
        check("é\u{f8ff}\u{10f000}".as_bytes(), "é\u{f8ff}\u{10f000}");
        check(b"caf\xe9.o\xff", "caf\u{fffd}.o\u{fffd}");
        check(b"\xf0\x9f\x80", "\u{fffd}\u{fffd}\u{fffd}");
        assert_eq!(text(&name("x")), "x");
    }
}
