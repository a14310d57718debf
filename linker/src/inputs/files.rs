//! Reads the files that were named and those that libraries turn out to be.

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};

use same_file::Handle;

use super::contents::{self, Contents, read};
use super::load::{is_system_library, members};
use super::search::{self, Found};
use super::{Behaviour, Environment, Wanted};
use crate::codes;
use crate::container::{Archive, InputKind, detect};
use crate::diagnostic::{Diagnostic, Severity};
use crate::raw_text;

/// The contents of all files of a link, in link order.
#[derive(Debug)]
pub struct Files(pub(super) Vec<Opened>);

/// One named file or library.
#[derive(Debug)]
pub(super) enum Opened {
    /// A file.
    Read(Source),
    /// A file that cannot be read, and why.
    Unreadable { name: String, why: String },
    /// A file of a library's name without host objects.
    Incompatible { name: String, library: String },
    /// Something of a library's name that is no archive, where nvlink stops at it.
    NoArchive { name: String, is_folder: bool },
    /// No folder has the library, but for the host linker's own folder here.
    Missing {
        library: String,
        host: Option<PathBuf>,
    },
    /// Nothing to link: a shared library, or an archive for the second time.
    Nothing,
}

impl Opened {
    /// The file, if it was read.
    pub(super) fn source(&self) -> Option<&Source> {
        match self {
            Self::Read(source) => Some(source),
            Self::Unreadable { .. }
            | Self::Incompatible { .. }
            | Self::NoArchive { .. }
            | Self::Missing { .. }
            | Self::Nothing => None,
        }
    }

    /// What there is to say of it, if it was left out.
    pub(super) fn incompatible(&self) -> Option<Diagnostic> {
        let Self::Incompatible { name, library } = self else {
            return None;
        };
        let text = format!("Skipping incompatible '{name}' when searching for -l{library}");
        let code = codes::INCOMPATIBLE_LIBRARY;
        Some(Diagnostic::new(Severity::Warning, code, text))
    }
}

/// One file.
#[derive(Debug)]
pub(super) struct Source {
    /// As it was named, or found.
    pub(super) name: String,
    /// Its contents.
    pub(super) data: Contents,
    /// What its name would end in by its contents, where these tell and the name does not.
    told: Option<&'static str>,
    /// The contents of its members, of a thin archive.
    pub(super) members: Vec<ThinMember>,
    /// The contents of the last member of an archive that lacks no more than nvlink does without.
    pub(super) completed: Option<Contents>,
}

impl Source {
    /// Whether its name has an end; nvlink does nothing with others.
    pub(super) fn has_extension(&self) -> bool {
        let name = self.name.rsplit('/').next();
        name.is_some_and(|name| name.contains('.'))
    }

    /// What its name ends in, or would; nvlink goes by that.
    pub(super) fn extension(&self) -> &str {
        self.told.unwrap_or_else(|| extension(&self.name))
    }
}

fn extension(name: &str) -> &str {
    let parts = name.rsplit_once('.');
    parts.map_or("", |(_, extension)| extension)
}

/// What the name of device code ends in.
fn told(data: &[u8]) -> Option<&'static str> {
    match detect(data) {
        InputKind::Cubin => Some("cubin"),
        InputKind::Fatbin => Some("fatbin"),
        InputKind::Ptx => Some("ptx"),
        InputKind::LtoIr => Some("ltoir"),
        InputKind::HostObject
        | InputKind::HostExecutable
        | InputKind::SharedLibrary
        | InputKind::Archive
        | InputKind::Bitcode
        | InputKind::Unknown => None,
    }
}

/// A file that a thin archive names.
#[derive(Debug)]
pub(super) struct ThinMember {
    /// As the archive names it.
    pub(super) name: String,
    /// Its contents, or why there are none.
    pub(super) data: Result<Contents, String>,
    /// Whether it is none because a folder is there.
    pub(super) is_folder: bool,
}

impl Files {
    /// The files that were read, as they were named or found, each once. What came out of a pipe or device is none.
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for opened in &self.0 {
            let Opened::Read(source) = opened else {
                continue;
            };
            if source.data.is_stream {
                continue;
            }
            let folder = Path::new(&source.name).parent();
            let members = source.members.iter().map(|member| {
                let path = folder.unwrap_or(Path::new("")).join(&member.name);
                raw_text::text(path.as_os_str())
            });
            names.push(source.name.clone());
            names.extend(members);
        }
        let mut seen = HashSet::new();
        names.retain(|name| seen.insert(name.clone()));
        names
    }

    /// How many bytes they have together, but for members of thin archives.
    #[cfg(feature = "program")]
    pub(crate) fn size(&self) -> usize {
        let read = self.0.iter().filter_map(Opened::source);
        read.map(|source| source.data.len()).sum()
    }

    /// What there is to say of libraries that are left out.
    pub fn incompatible_libraries(&self) -> impl Iterator<Item = Diagnostic> {
        self.0.iter().filter_map(Opened::incompatible)
    }

    /// What was looked at for libraries, which stand behind the files.
    pub(super) fn libraries(&self, wanted: &Wanted) -> impl Iterator<Item = &Opened> {
        let found = self.0.iter().skip(wanted.files.len());
        found.filter(|found| matches!(found, Opened::Read(_) | Opened::Incompatible { .. }))
    }

    /// Whether the library of the device runtime is among them.
    pub fn has_device_runtime(&self) -> bool {
        let mut files = self.0.iter();
        files.any(|opened| matches!(opened, Opened::Read(file) if is_system_library(&file.name)))
    }

    /// Reads everything. What cannot be read is remembered, so that problems
    /// are reported in the order of the files.
    pub fn read(wanted: &Wanted, environment: &Environment) -> Self {
        let mut reader = Reader {
            wanted,
            archives: HashSet::new(),
            opened: Vec::new(),
        };
        let contents = contents::read_all(&wanted.files);
        for (path, contents) in wanted.files.iter().zip(contents) {
            reader.file(path, contents);
        }
        let folders = search::folders(&wanted.library_paths, environment);
        for library in &wanted.libraries {
            reader.library(library, &folders);
        }
        Self(reader.opened)
    }

    /// Reads one more.
    pub fn add(&mut self, path: &Path, wanted: &Wanted) {
        let mut reader = Reader {
            wanted,
            archives: HashSet::new(),
            opened: std::mem::take(&mut self.0),
        };
        reader.file(path, read(path));
        self.0 = reader.opened;
    }

    /// Files that the caller has read: their names, and what they hold. As with
    /// files on the disk, what ends in `.cubin`, `.fatbin`, `.ptx` or `.ltoir` is
    /// that, and other contents tell themselves.
    ///
    /// ```
    /// use rustnvlink::device_link::{DeviceLink, Request};
    /// use rustnvlink::inputs::{Files, Kernels, Wanted};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let read = |name: &str| std::fs::read(format!("../tests/inputs/{name}.sm_90.cubin"));
    /// let files = Files::in_memory([
    ///     ("caller.cubin".to_owned(), read("caller")?),
    ///     ("callee.cubin".to_owned(), read("callee")?),
    /// ]);
    /// let request = Request::new(Wanted::new(Vec::new()).kernels(Kernels::All));
    /// let linked = DeviceLink::new(&request).link(files, &["sm_90".parse()?]);
    /// let images = linked.into_result()?;
    /// assert!(images[0].data.starts_with(b"\x7fELF"));
    /// # Ok(())
    /// # }
    /// ```
    pub fn in_memory(files: impl IntoIterator<Item = (String, Vec<u8>)>) -> Self {
        let read = |(name, data): (String, Vec<u8>)| {
            let is_named = matches!(extension(&name), "cubin" | "fatbin" | "ptx" | "ltoir");
            Opened::Read(Source {
                told: told(&data).filter(|_| !is_named),
                name,
                data: data.into(),
                members: Vec::new(),
                completed: None,
            })
        };
        Self(files.into_iter().map(read).collect())
    }
}

struct Reader<'a> {
    wanted: &'a Wanted,
    /// Every archive so far. The same one is linked once, whatever its names.
    archives: HashSet<Handle>,
    opened: Vec<Opened>,
}

impl Reader<'_> {
    fn file(&mut self, path: &Path, contents: io::Result<Contents>) {
        let name = raw_text::text(path.as_os_str());
        let opened = match contents {
            Ok(data) => self.source(path, name, data),
            Err(why) => Opened::Unreadable {
                name,
                why: why.to_string(),
            },
        };
        self.opened.push(opened);
    }

    fn library(&mut self, library: &str, folders: &[PathBuf]) {
        let opened = self.first_library(library, folders);
        self.opened.push(opened);
    }

    /// The first usable archive of a library. Those before it that are for other hosts are noted on the way.
    fn first_library(&mut self, library: &str, folders: &[PathBuf]) -> Opened {
        let mut is_any_incompatible = false;
        for found in search::candidates(library, folders) {
            let (path, is_folder) = match found {
                Found::Shared => return Opened::Nothing,
                Found::Archive(path) => (path, false),
                Found::Folder(path) => (path, true),
            };
            let name = raw_text::text(path.as_os_str());
            if is_folder {
                match self.wanted.behaviour {
                    Behaviour::Nvlink => return Opened::NoArchive { name, is_folder },
                    Behaviour::Own => continue,
                }
            }
            match read(&path) {
                Ok(data) if self.is_compatible(&path, &data) => {
                    return self.source(&path, name, data);
                }
                contents if self.is_no_archive(&path, &contents) => {
                    return Opened::NoArchive { name, is_folder };
                }
                Err(why) if why.kind() != io::ErrorKind::InvalidData => {}
                Ok(_) | Err(_) => {
                    let library = library.to_owned();
                    self.opened.push(Opened::Incompatible { name, library });
                    is_any_incompatible = true;
                }
            }
        }
        match is_any_incompatible {
            true => Opened::Nothing,
            false => Opened::Missing {
                library: library.to_owned(),
                host: search::host_folder(library),
            },
        }
    }

    fn is_compatible(&self, path: &Path, data: &[u8]) -> bool {
        search::is_compatible(data, &self.thin_members(path, data), self.wanted)
    }

    /// Whether nvlink stops at what it finds of a library's name. It does not for fewer bytes than those that tell an
    /// archive.
    fn is_no_archive(&self, path: &Path, contents: &io::Result<Contents>) -> bool {
        let is_long = match contents {
            Ok(data) => !data.is_empty() && detect(data) != InputKind::Archive,
            Err(why) => {
                why.kind() == io::ErrorKind::InvalidData
                    && path
                        .metadata()
                        .is_ok_and(|file| file.len() > object::archive::MAGIC.len() as u64)
            }
        };
        is_long && self.wanted.behaviour == Behaviour::Nvlink
    }

    fn source(&mut self, path: &Path, name: String, data: Contents) -> Opened {
        let mut members = Vec::new();
        let mut completed = None;
        if detect(&data) == InputKind::Archive {
            if let Ok(handle) = Handle::from_path(path)
                && !self.archives.insert(handle)
            {
                return Opened::Nothing;
            }
            members = self.thin_members(path, &data);
            if self.wanted.behaviour == Behaviour::Nvlink {
                completed = members::completed(&data).map(Contents::from);
            }
        }
        // nvlink goes by names all the same.
        let tells = data.is_stream && self.wanted.behaviour == Behaviour::Own;
        Opened::Read(Source {
            told: told(&data).filter(|_| tells),
            name,
            data,
            members,
            completed,
        })
    }

    /// A thin archive names its members from its own folder. nvlink looks for
    /// them in the current one, and takes the slash that ends a name in the archive
    /// for the first one in it.
    fn thin_members(&self, path: &Path, data: &[u8]) -> Vec<ThinMember> {
        let Ok(archive) = Archive::parse(data) else {
            return Vec::new();
        };
        if !archive.thin {
            return Vec::new();
        }
        let folder = match (self.wanted.behaviour, path.parent()) {
            (Behaviour::Own, Some(folder)) => folder,
            (Behaviour::Nvlink, _) | (_, None) => Path::new(""),
        };
        archive
            .members()
            .map_while(Result::ok)
            .map(|member| match self.wanted.behaviour {
                Behaviour::Own => member.name,
                Behaviour::Nvlink => match member.name.split_once('/') {
                    Some((start, _)) => start.to_owned(),
                    None => member.name,
                },
            })
            .map(|name| {
                let path = folder.join(&name);
                let data = match read(&path) {
                    // A short file is like any other that is no ELF file.
                    Err(why) if why.kind() == io::ErrorKind::InvalidData => Ok(Vec::new().into()),
                    data => data.map_err(|why| why.to_string()),
                };
                ThinMember {
                    name,
                    is_folder: data.is_err() && path.is_dir(),
                    data,
                }
            })
            .collect()
    }
}
