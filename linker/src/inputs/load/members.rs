//! The members of an archive as nvlink finds them, be the archive cut short or damaged.
//!
//! It goes from header to header and reads in these what it needs (case `damaged_archives`).

use object::elf::ELFMAG;

/// Where the size stands in a header, and how long a header is.
const SIZE: std::ops::Range<usize> = 48..58;
const HEADER: usize = 60;
/// So many bytes behind the end of an object are zeros for nvlink, at least.
const SPARED: usize = 32;
const MAGIC: usize = object::archive::MAGIC.len();

/// A member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Found<'d> {
    pub(super) name: &'d [u8],
    pub(super) data: &'d [u8],
    /// So much longer it is by its header.
    pub(super) missing: usize,
}

/// The members up to the first one that is no ELF file, or nvlink's words where it gives up.
pub(super) fn find(data: &[u8]) -> Result<Vec<Found<'_>>, &'static str> {
    const MALFORMED: &str = "unexpected archive format";
    let mut found = Vec::new();
    let mut long_names = None;
    let mut place = MAGIC;
    while place < data.len() {
        let header = &data[place..];
        let short = text(header).ok_or(MALFORMED)?;
        let start = place.saturating_add(HEADER);
        let size = number(header.get(SIZE).unwrap_or_default());
        let behind = usize::try_from(start as i64 + size).unwrap_or(0);
        let behind = behind.next_multiple_of(2);
        let name = match header {
            [b'/', b'0'..=b'9', ..] => {
                let names: usize = long_names.ok_or("longnames header not found")?;
                let at =
                    names.saturating_add(number(&header[1..HEADER.min(header.len())]) as usize);
                let name = data.get(at..).and_then(text);
                Some(name.ok_or("Memory allocation failure")?)
            }
            [b'/', b'/', ..] => {
                long_names = Some(start);
                None
            }
            [b'/', ..] => None,
            _ => Some(short),
        };
        if let Some(name) = name {
            let contents = data.get(start..).unwrap_or_default();
            if !contents.starts_with(&ELFMAG) {
                break;
            }
            let size = usize::try_from(size).unwrap_or(0);
            found.push(Found {
                name,
                data: &contents[..size.min(contents.len())],
                missing: size.saturating_sub(contents.len()),
            });
        }
        // A size below zero would lead back.
        if behind <= place {
            return Err(MALFORMED);
        }
        place = behind;
    }
    Ok(found)
}

/// The last member of an archive that is cut short by a few bytes, with zeros for these: of the last
/// header in its table of sections, nvlink needs no more than the size of that section.
pub(in crate::inputs) fn completed(data: &[u8]) -> Option<Vec<u8>> {
    let found = find(data).ok()?;
    // A header can claim any size: only a few bytes are made up for.
    let last = found.last()?;
    let is_short = (1..SPARED).contains(&last.missing);
    is_short.then(|| [last.data, &[0; SPARED][..last.missing]].concat())
}

/// What stands before the first slash. A zero ends the search.
fn text(data: &[u8]) -> Option<&[u8]> {
    let end = data.iter().position(|&byte| matches!(byte, b'/' | 0))?;
    (data[end] == b'/').then(|| &data[..end])
}

/// A decimal number, up to what is none.
fn number(field: &[u8]) -> i64 {
    let field = field.trim_ascii_start();
    let (digits, sign) = match field {
        [b'-', rest @ ..] => (rest, -1),
        [b'+', rest @ ..] => (rest, 1),
        _ => (field, 1),
    };
    let digits = digits.iter().take_while(|byte| byte.is_ascii_digit());
    sign * digits.fold(0i64, |sum, digit| {
        sum.saturating_mul(10)
            .saturating_add(i64::from(digit - b'0'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member<'d>(name: &'d str, data: &'d [u8]) -> Found<'d> {
        Found {
            name: name.as_bytes(),
            data,
            missing: 0,
        }
    }

    fn archive(members: &[(&str, &str, &[u8])]) -> Vec<u8> {
        let mut out = object::archive::MAGIC.to_vec();
        for (name, size, data) in members {
            out.extend(format!("{name:<48}{size:<10}`\n").bytes());
            out.extend(*data);
        }
        out
    }

    #[test]
    fn members_are_found_where_sizes_lead() {
        let whole = archive(&[
            ("/", "2", b"in"),
            ("//", "6", b"long/\n"),
            ("a.o/", "5", b"\x7fELFa\n"),
            ("/0", "4", b"\x7fELF"),
            ("c.txt/", "4", b"text"),
            ("d.o/", "4", b"\x7fELF"),
        ]);
        let found = vec![member("a.o", b"\x7fELFa"), member("long", b"\x7fELF")];
        assert_eq!(find(&whole), Ok(found));
    }

    #[test]
    fn the_last_member_may_be_cut() {
        let whole = archive(&[("a.o/", "8", b"\x7fELFabcd"), ("b.o/", "8", b"\x7fELFabcd")]);
        let first = member("a.o", b"\x7fELFabcd");
        let last = Found {
            missing: 2,
            ..member("b.o", b"\x7fELFab")
        };
        let find_before = |end: usize| find(&whole[..whole.len() - end]);
        assert_eq!(find_before(2), Ok(vec![first, last]));
        assert_eq!(find_before(10), Ok(vec![first]));
        assert_eq!(find_before(64), Ok(vec![first]));
        assert_eq!(
            find(&whole[..whole.len() - 66]),
            Err("unexpected archive format")
        );
    }

    #[test]
    fn no_more_is_made_up_for_than_a_few_bytes() {
        let completed_with = |missing: usize| {
            let size = (5 + missing).to_string();
            completed(&archive(&[("a.o/", &size, b"\x7fELFa")]))
        };
        assert_eq!(completed_with(0), None);
        let last = completed_with(SPARED - 1).unwrap();
        assert_eq!(last, [&b"\x7fELFa"[..], &[0; SPARED - 1]].concat());
        assert_eq!(completed_with(SPARED), None);
        // A header has room for no larger number.
        assert_eq!(completed_with(9_999_999_994), None);
    }

    #[test]
    fn damage_ends_it() {
        let error = |members: &[_]| find(&archive(members)).unwrap_err();
        let format = "unexpected archive format";
        assert_eq!(error(&[("a.o", "4", b"\x7fELF\0")]), format);
        assert_eq!(error(&[("a.o/", "", b"\x7fELF\0")]), format);
        assert_eq!(error(&[("a.o/", "-60", b"\x7fELF\0")]), format);
        assert_eq!(
            error(&[("/5", "4", b"\x7fELF")]),
            "longnames header not found"
        );
        let far = [("//", "2", &b"a/"[..]), ("/999", "4", b"\x7fELF")];
        assert_eq!(error(&far), "Memory allocation failure");
        let number = format!("/{:9<47}", "");
        let endless = [("//", "2", &b"a/"[..]), (&*number, "4", b"\x7fELF")];
        assert_eq!(error(&endless), "Memory allocation failure");
    }
}
