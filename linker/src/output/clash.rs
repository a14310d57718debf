//! Looks whether what is written would take the place of what is read, or of what else is written.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use same_file::Handle;

use super::{destination, folder_of};
use crate::raw_text;

/// A file that an option names and a link writes.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Named {
    /// The option, as users are told of it.
    pub option: &'static str,
    /// The file.
    pub path: PathBuf,
}

impl Named {
    /// A file that an option names.
    pub fn new(option: &'static str, path: impl Into<PathBuf>) -> Self {
        Self {
            option,
            path: path.into(),
        }
    }
}

/// Why files cannot be written where they are named.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Clash {
    /// What is wrong, with the name of the file in front.
    pub what: String,
    /// What to do.
    pub advice: String,
}

/// Looks whether an output is one of the inputs, or an output before it, by whatever name. Terminals, pipes and the
/// like take everything.
pub fn clash(outputs: &[Named], inputs: &[String]) -> Option<Clash> {
    let mut places: Vec<(&Named, Place)> = Vec::new();
    for output in outputs {
        let Some(place) = Place::of(&output.path) else {
            continue;
        };
        if let Some((other, _)) = places.iter().find(|(_, known)| *known == place) {
            return Some(Clash {
                what: format!("{} is named by {}, too", quoted(output), other.option),
                advice: format!("name another one with {}", output.option),
            });
        }
        places.push((output, place));
    }
    // Nobody reads a file that is not there.
    places.retain(|(_, place)| matches!(place, Place::File(_)));
    if places.is_empty() {
        return None;
    }
    inputs.iter().find_map(|input| {
        let input = Place::File(Handle::from_path(raw_text::name(input)).ok()?);
        let (output, _) = places.iter().find(|(_, place)| *place == input)?;
        Some(Clash {
            what: format!("{} is an input", quoted(output)),
            advice: format!("name another one with {}", output.option),
        })
    })
}

fn quoted(output: &Named) -> String {
    format!("'{}'", raw_text::text(output.path.as_os_str()))
}

/// What tells files apart.
#[derive(PartialEq, Eq)]
enum Place {
    /// A file that is there.
    File(Handle),
    /// Where there will be one.
    New(PathBuf),
}

impl Place {
    /// The place of a file, if there is, or will be, one.
    fn of(path: &Path) -> Option<Self> {
        match path.metadata() {
            Ok(metadata) if metadata.is_file() => Handle::from_path(path).ok().map(Self::File),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let path = destination(path);
                let folder = folder_of(&path).canonicalize().ok()?;
                Some(Self::New(folder.join(path.file_name()?)))
            }
            Ok(_) | Err(_) => None,
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn files_are_the_same_by_any_name() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::create_dir(at("sub")).unwrap();
        std::fs::write(at("in"), "").unwrap();
        std::fs::hard_link(at("in"), at("hard")).unwrap();
        for (link, target) in [("soft", "in"), ("dangling", "sub/new")] {
            std::os::unix::fs::symlink(target, at(link)).unwrap();
        }
        let inputs = [at("in").to_str().unwrap().to_owned()];
        let check = |outputs: &[(&'static str, &str)], expected: Option<&str>| {
            let outputs = outputs.iter().map(|(o, path)| Named::new(o, at(path)));
            let outputs: Vec<Named> = outputs.collect();
            let clash = clash(&outputs, &inputs);
            let name = &outputs.last().unwrap().path.display().to_string();
            let expected = expected.map(|text| text.replace('@', name));
            let found = clash.map(|clash| format!("{}: {}", clash.what, clash.advice));
            assert_eq!(found, expected);
        };
        check(&[("-o", "out"), ("--map", "map")], None);
        let is_input = "'@' is an input: name another one with --map";
        for name in ["in", "sub/../in", "hard", "soft"] {
            check(&[("-o", "out"), ("--map", name)], Some(is_input));
        }
        let is_output = "'@' is named by -o, too: name another one with --map";
        for (one, other) in [
            ("out", "sub/../out"),
            ("dangling", "sub/new"),
            ("in", "soft"),
        ] {
            check(&[("-o", one), ("--map", other)], Some(is_output));
        }
        check(&[("-o", "/dev/null"), ("--map", "/dev/null")], None);
        check(&[("-o", "no/such"), ("--map", "no/such")], None);
    }
}
