//! Files that are no input of any kind, and what they are instead.

use std::path::Path;

use super::libtool;

/// What a file is that no part of a link takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Foreign {
    /// Nothing is in it.
    Empty,
    /// By its name, a source that nvcc compiles.
    Source,
    /// A text of libtool, and the files that it stands for.
    Libtool(Vec<String>),
    /// Another text, and how it begins.
    Text(String),
    /// What a program like this has packed.
    Packed(&'static str),
    /// An object, library or program of another system.
    OfSystem(&'static str),
    /// Something else.
    Other,
}

impl Foreign {
    /// What the file of this name is, of which [`detect`](super::detect) knows no kind.
    #[must_use]
    pub fn of(path: &Path, data: &[u8]) -> Self {
        if data.is_empty() {
            return Self::Empty;
        }
        if Self::is_named_source(path) {
            return Self::Source;
        }
        if let Some(files) = libtool::files(path, data) {
            return Self::Libtool(files);
        }
        let starts = |(magic, _): &&(&[u8], Self)| data.starts_with(magic);
        match BEGINNINGS.iter().find(starts) {
            Some((_, known)) => known.clone(),
            None => first_line(data).map_or(Self::Other, Self::Text),
        }
    }

    /// Whether a file has the name of a source that nvcc compiles.
    #[must_use]
    pub fn is_named_source(path: &Path) -> bool {
        let end = path.extension().and_then(|end| end.to_str());
        matches!(
            end,
            Some("cu" | "cuh" | "c" | "cc" | "cpp" | "cxx" | "h" | "hpp")
        )
    }
}

/// How files begin that are often named by mistake.
const BEGINNINGS: &[(&[u8], Foreign)] = &[
    (b"\x1f\x8b", Foreign::Packed("gzip")),
    (b"BZh", Foreign::Packed("bzip2")),
    (b"\xfd7zXZ\0", Foreign::Packed("xz")),
    (b"\x28\xb5\x2f\xfd", Foreign::Packed("zstd")),
    (b"PK\x03\x04", Foreign::Packed("zip")),
    (b"7z\xbc\xaf\x27\x1c", Foreign::Packed("7z")),
    // COFF for x86-64 and AArch64, and what is linked of it.
    (b"\x64\x86", Foreign::OfSystem("Windows")),
    (b"\x64\xaa", Foreign::OfSystem("Windows")),
    (b"MZ", Foreign::OfSystem("Windows")),
    // Mach-O with 64 bits.
    (b"\xcf\xfa\xed\xfe", Foreign::OfSystem("macOS")),
];

/// How much is shown of text that is no input.
const SHOWN: usize = 60;

/// The first line of a file that is text: it tells a placeholder, a page of a server or a linker
/// script from what was meant.
fn first_line(data: &[u8]) -> Option<String> {
    let line = data.split(|byte| matches!(byte, b'\r' | b'\n')).next()?;
    let end = line.len().min(SHOWN);
    let is_text = line.iter().all(|byte| matches!(byte, b'\t' | b' '..=b'~'));
    let shown = std::str::from_utf8(&line[..end]).ok()?.trim();
    (is_text && !shown.is_empty()).then(|| match end < line.len() {
        true => format!("{shown}.."),
        false => shown.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_are_no_input_are_told_apart() {
        let check = |path: &str, data: &[u8], expected| {
            assert_eq!(Foreign::of(Path::new(path), data), expected);
        };
        check("a.o", b"", Foreign::Empty);
        check("a.cu", b"", Foreign::Empty);
        check("a.cu", b"__device__ int x;\n", Foreign::Source);
        check("a.o", b"Not found\n", Foreign::Text("Not found".to_owned()));
        check("a.o", &[0; 100], Foreign::Other);
        check("a.o", b"\x1f\x8b\x08\0", Foreign::Packed("gzip"));
        check("a.o", b"PK\x03\x04\x14\0", Foreign::Packed("zip"));
        check("a.obj", b"\x64\x86\x06\0", Foreign::OfSystem("Windows"));
        check("a.dll", b"MZ\x90\0", Foreign::OfSystem("Windows"));
        check("a.o", b"\xcf\xfa\xed\xfe", Foreign::OfSystem("macOS"));
        check(
            "b/a.lo",
            b"# a.lo - a libtool object file\npic_object='.libs/a.o'\n",
            Foreign::Libtool(vec!["b/.libs/a.o".to_owned()]),
        );
    }

    #[test]
    fn text_is_known_by_its_first_line() {
        let check = |data: &[u8], expected: Option<&str>| {
            assert_eq!(first_line(data).as_deref(), expected);
        };
        let pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\n";
        check(pointer, Some("version https://git-lfs.github.com/spec/v1"));
        check(b"one\r\ntwo", Some("one"));
        check(b"\n", None);
        check(b"\x7fELF\x02\x01\n", None);
        check(&[0; 100], None);
        let long = [b'x'; 1000];
        check(&long, Some(&("x".repeat(SHOWN) + "..")));
    }
}
