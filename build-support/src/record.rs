//! Remembers how a file was compiled, so that what has not changed is not compiled again.

use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::compile::{dependencies, prerequisites};
use crate::error::Error;

/// What compilers do is said by their command lines, by these variables, and by what the programs are.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Surroundings {
    programs: Vec<(u64, SystemTime)>,
    variables: Vec<Option<OsString>>,
}

impl Surroundings {
    /// Of these programs with these values of variables, unless nothing is known of a program.
    pub(crate) fn of(programs: &[PathBuf], variables: &[Option<OsString>]) -> Option<Self> {
        let identity = |program: &PathBuf| {
            let metadata = program.metadata().ok()?;
            Some((metadata.len(), metadata.modified().ok()?))
        };
        Some(Self {
            programs: programs.iter().map(identity).collect::<Option<_>>()?,
            variables: variables.to_vec(),
        })
    }
}

/// How a file is compiled.
#[derive(Debug)]
pub(crate) struct Record<'a> {
    /// The file.
    pub(crate) made: &'a Path,
    /// All that its compilation depends on but for the files that are read.
    pub(crate) text: String,
}

impl Record<'_> {
    /// Whether the file was compiled in this way, and of files that are all older.
    pub(crate) fn holds(&self) -> bool {
        let path = self.path("record");
        let is_same = fs::read_to_string(&path).is_ok_and(|text| text == self.text);
        is_same && self.made.is_file() && modified(&path).is_some_and(|time| self.is_newer(time))
    }

    /// Whether everything that was read is older than this.
    fn is_newer(&self, time: SystemTime) -> bool {
        let Ok(rule) = fs::read_to_string(dependencies(self.made)) else {
            return false;
        };
        let files = prerequisites(&rule);
        let is_older = |file: &String| modified(Path::new(file)).is_some_and(|file| file < time);
        !files.is_empty() && files.iter().all(is_older)
    }

    /// Forgets how the file was compiled, and remembers when it was begun anew.
    pub(crate) fn begin(&self) -> Result<Begun, Error> {
        let (begun, done) = (self.path("begun"), self.path("record"));
        // A file that is half written has no record.
        if done.exists() {
            fs::remove_file(&done).map_err(Error::io(&done))?;
        }
        fs::write(&begun, &self.text).map_err(Error::io(&begun))?;
        Ok(Begun { begun, done })
    }

    fn path(&self, extension: &str) -> PathBuf {
        let mut path = self.made.as_os_str().to_owned();
        path.push(".");
        path.push(extension);
        path.into()
    }
}

/// A compilation that goes on.
#[derive(Debug)]
pub(crate) struct Begun {
    begun: PathBuf,
    done: PathBuf,
}

impl Begun {
    /// Remembers that it has succeeded. The record is as old as the beginning: what changes while a file is compiled has
    /// perhaps been read before.
    pub(crate) fn end(self) -> Result<(), Error> {
        fs::rename(&self.begun, &self.done).map_err(Error::io(&self.done))
    }
}

fn modified(path: &Path) -> Option<SystemTime> {
    path.metadata().and_then(|m: Metadata| m.modified()).ok()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn records_hold_until_something_changes() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let age = |name: &str, seconds: u64| {
            let time = SystemTime::now() - Duration::from_secs(seconds);
            let file = fs::File::options().append(true).open(at(name)).unwrap();
            file.set_modified(time).unwrap();
        };
        for name in ["a.cu", "a.h"] {
            fs::write(at(name), "").unwrap();
            age(name, 60);
        }
        let made = at("a.o");
        let rule = format!("a.o: {0}/a.cu {0}/a.h\n", folder.path().display());
        let record = |text: &str| Record {
            made: &made,
            text: text.to_owned(),
        };
        let compile = || {
            let begun = record("nvcc").begin().unwrap();
            assert!(!record("nvcc").holds(), "it is not compiled yet");
            fs::write(&made, "").unwrap();
            fs::write(dependencies(&made), &rule).unwrap();
            begun.end().unwrap();
            assert!(record("nvcc").holds());
        };
        assert!(!record("nvcc").holds());
        compile();
        assert!(!record("nvcc -O2").holds());
        age("a.h", 0);
        assert!(!record("nvcc").holds(), "a header has changed");
        age("a.h", 60);
        compile();
        fs::remove_file(at("a.h")).unwrap();
        assert!(!record("nvcc").holds(), "a header is gone");
        fs::write(at("a.h"), "").unwrap();
        age("a.h", 60);
        compile();
        fs::remove_file(&made).unwrap();
        assert!(!record("nvcc").holds(), "the object is gone");
    }
}
