//! Says in our own words what is wrong with an archive that cannot be read.

use std::ops::Range;

use object::archive::{MAGIC, THIN_MAGIC};

use crate::error::ParseError;

/// How long the header of a member is, and where what stands in it.
const HEADER: usize = 60;
const NAME: Range<usize> = 0..16;
const SIZE: Range<usize> = 48..58;
const END: Range<usize> = 58..HEADER;

/// What to do about a file that lacks its end.
const CUT_SHORT: &str =
    "the file is cut short, as by a copy or a build that was interrupted: make it again";
/// What to do about one that has all of its bytes.
const GARBLED: &str = "the file is damaged: make it again";

/// The first thing that is wrong, if the headers tell. `said` is what the reader said otherwise.
pub(super) fn explain(data: &[u8], said: &str) -> ParseError {
    let failed = |problem: String, place: usize| ParseError::malformed(problem).at(place as u64);
    let is_thin = data.starts_with(&THIN_MAGIC);
    if !is_thin && !data.starts_with(&MAGIC) {
        return failed(format!("archive: {said}"), 0);
    }
    let mut names: &[u8] = &[];
    let mut place = MAGIC.len();
    while place < data.len() {
        let rest = &data[place..];
        let Some((header, contents)) = rest.split_at_checked(HEADER) else {
            let left = rest.len();
            let problem = format!(
                "{left} bytes are left where the header of a member needs {HEADER}; {CUT_SHORT}"
            );
            return failed(problem, place);
        };
        if header[END] != *b"`\n" {
            return failed(
                format!("no member of the archive begins here; {GARBLED}"),
                place,
            );
        }
        let name = shown_name(header, names);
        let size = std::str::from_utf8(&header[SIZE]).ok();
        let Some(size) = size.and_then(|size| size.trim_end().parse::<usize>().ok()) else {
            return failed(format!("the size of {name} is no number; {GARBLED}"), place);
        };
        let is_table = header.starts_with(b"/ ")
            || header.starts_with(b"//")
            || header.starts_with(b"/SYM64/");
        place += HEADER;
        if is_thin && !is_table {
            continue;
        }
        let Some(contents) = contents.get(..size) else {
            let left = contents.len();
            let problem =
                format!("{name} has {size} bytes, of which {left} are there; {CUT_SHORT}");
            return failed(problem, place);
        };
        if header.starts_with(b"//") {
            names = contents;
        }
        place += size.next_multiple_of(2);
    }
    ParseError::malformed(format!("archive member: {said}"))
}

/// What a member is called, as far as it can be told.
fn shown_name(header: &[u8], names: &[u8]) -> String {
    let short = header[NAME].trim_ascii_end();
    let long = short.strip_prefix(b"/").and_then(|digits| {
        let place: usize = std::str::from_utf8(digits).ok()?.parse().ok()?;
        names.get(place..)?.split(|byte| *byte == b'\n').next()
    });
    let name = match short {
        b"/" | b"/SYM64/" => return "the table of symbols".to_owned(),
        b"//" => return "the table of names".to_owned(),
        short => long.unwrap_or(short),
    };
    let name = String::from_utf8_lossy(name.strip_suffix(b"/").unwrap_or(name));
    format!("member '{name}'")
}
