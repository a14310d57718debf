//! What device links tell the command that has started cargo. Cargo hides what a linker prints as long as it succeeds,
//! so it goes through a file: one event on a line, written at once.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// Something that happened in a device link.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub(crate) enum Event {
    /// A link begins.
    Started {
        /// The name of the image.
        image: String,
        /// How many objects have device code.
        objects: usize,
        /// Their size.
        bytes: u64,
    },
    /// A link has ended well.
    Linked(Report),
    /// There is something to say.
    Message(Message),
    /// A link has failed; messages say why.
    Failed {
        /// The name of the image.
        image: String,
    },
}

/// A device link that ended well.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Report {
    /// The name of the image: that of the program or library.
    pub(crate) image: String,
    /// What the host linker makes.
    pub(crate) output: PathBuf,
    /// The processors there are images for.
    pub(crate) arch: Vec<String>,
    /// How many kernels they have.
    pub(crate) kernels: usize,
    /// The size of the images.
    pub(crate) bytes: u64,
    /// Whether nothing had to be done.
    pub(crate) fresh: bool,
}

/// A message about a link.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Message {
    /// The name of the image.
    pub(crate) image: String,
    /// How bad it is.
    pub(crate) level: Level,
    /// Its code, where the linker says it.
    pub(crate) code: Option<String>,
    /// What to tell the user.
    #[serde(rename = "message")]
    pub(crate) text: String,
}

/// How bad something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Level {
    /// Worth knowing.
    Info,
    /// The link goes on.
    Warning,
    /// The link has failed.
    Error,
    /// What to do about an error.
    Help,
}

/// The end that writes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Journal<'a>(pub(crate) &'a Path);

impl Journal<'_> {
    /// Writes an event. Nothing depends on it being read, so a journal that is gone does not matter. Paths in it are text:
    /// rustc, which has named them, takes no others.
    pub(crate) fn add(self, event: &Event) {
        let write = || -> io::Result<()> {
            let mut line = serde_json::to_vec(event)?;
            line.push(b'\n');
            // Links run side by side; what is written at once stays together.
            OpenOptions::new()
                .append(true)
                .open(self.0)?
                .write_all(&line)
        };
        drop(write());
    }
}

/// The end that reads.
#[derive(Debug)]
pub(crate) struct Reader {
    file: File,
    /// A line that is not whole yet.
    rest: Vec<u8>,
}

impl Reader {
    /// Makes an empty journal.
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        File::create(path)?;
        Ok(Self {
            file: File::open(path)?,
            rest: Vec::new(),
        })
    }

    /// What has been added since.
    pub(crate) fn events(&mut self) -> io::Result<Vec<Event>> {
        self.file.read_to_end(&mut self.rest)?;
        let Some(end) = self.rest.iter().rposition(|byte| *byte == b'\n') else {
            return Ok(Vec::new());
        };
        let rest = self.rest.split_off(end + 1);
        let lines = std::mem::replace(&mut self.rest, rest);
        let lines = lines.split(|byte| *byte == b'\n');
        // What a full disk or a link that was killed has cut short is no reason to leave cargo alone.
        Ok(lines
            .filter_map(|line| serde_json::from_slice(line).ok())
            .collect())
    }
}

#[cfg(test)]
mod tests {
    use std::slice;

    use super::*;

    #[test]
    fn events_arrive_once_and_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal");
        let mut reader = Reader::create(&path).unwrap();
        assert_eq!(reader.events().unwrap(), []);
        let event = Event::Failed {
            image: "app".to_owned(),
        };
        Journal(&path).add(&event);
        let mut file = OpenOptions::new().append(true).open(&path).unwrap();
        file.write_all(br#"{"event":"failed","#).unwrap();
        assert_eq!(reader.events().unwrap(), vec![event.clone()]);
        file.write_all(b"\"image\":\"app\"}\n").unwrap();
        assert_eq!(reader.events().unwrap(), slice::from_ref(&event));
        assert_eq!(reader.events().unwrap(), []);
        file.write_all(b"{\"event\":{\"event\":\"failed\"}\n")
            .unwrap();
        Journal(&path).add(&event);
        assert_eq!(reader.events().unwrap(), [event]);
    }
}
