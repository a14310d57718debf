//! Finds the objects with device code among the inputs of a host link.
//!
//! Only these go into the device link: plain Rust objects in the same archives would hide what C++ code says about the
//! kernels it launches, and an image is made again only when one of these changes.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::mem;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};
use memchr::memmem;
use object::archive::THIN_MAGIC;
use rustnvlink::container::host::{EXECUTABLE_SECTION, ModuleId, RELOCATABLE_SECTION};
use rustnvlink::container::{Archive, HostFile, InputKind, archive, detect};
use rustnvlink::error::ParseError;
use sha2::{Digest as _, Sha256};

/// The library of the device runtime, of which a device link takes what it needs.
const DEVICE_RUNTIME: &str = "libcudadevrt.a";

/// What the inputs hold for the device.
#[derive(Debug, Default)]
pub(crate) struct Objects {
    inputs: Vec<Input>,
    /// Objects whose device code is no longer open to others.
    pub(crate) closed: Vec<String>,
    /// Objects that hold a device link, made by whoever built their library.
    pub(crate) results: Vec<String>,
    /// How many bytes of device code the host linker will place.
    pub(crate) placed: u64,
    known: HashSet<Vec<u8>>,
    /// Whether something is for the device link alone.
    has_library: bool,
    /// The modules in files for the device link alone.
    apart: HashSet<String>,
    /// The modules whose linked code some object holds.
    linked: HashSet<String>,
}

/// What the device link takes.
#[derive(Debug)]
struct Input {
    /// As messages call it.
    name: String,
    data: Vec<u8>,
    /// The modules of an object with relocatable code.
    modules: Option<Vec<String>>,
}

impl Objects {
    /// Looks through the inputs of a host link.
    pub(crate) fn find(files: &[PathBuf]) -> Result<Self> {
        let mut objects = Self::default();
        for path in files {
            let concerns_us = mentions_device_code(path).with_context(|| cannot_read(path))?;
            if concerns_us {
                objects.look_into(path, &read(path)?)?;
            }
        }
        Ok(objects)
    }

    fn look_into(&mut self, path: &Path, data: &[u8]) -> Result<()> {
        if memmem::find(data, RELOCATABLE_SECTION.as_bytes()).is_some()
            || memmem::find(data, EXECUTABLE_SECTION.as_bytes()).is_some()
        {
            return self.file(path, data);
        }
        match detect(data) == InputKind::Archive {
            true => self.thin_archive(path, data),
            false => Ok(()),
        }
    }

    /// Takes a file for the device link alone.
    pub(crate) fn add(&mut self, path: &Path) -> Result<()> {
        let data = read(path)?;
        let mut inside = Self::default();
        inside.look_into(path, &data)?;
        if !inside.known.is_empty() && inside.known.is_subset(&self.known) {
            // The host linker sees it after all.
            return Ok(());
        }
        let modules = inside.inputs.into_iter().filter_map(|input| input.modules);
        self.apart.extend(modules.flatten());
        self.has_library = true;
        self.push(shown(path), data, None);
        Ok(())
    }

    /// What another library would add.
    pub(crate) fn further(&self, path: &Path) -> Result<Vec<(String, Vec<u8>)>> {
        let mut with = Self {
            known: self.known.clone(),
            ..Self::default()
        };
        with.look_into(path, &read(path)?)?;
        Ok(with.take())
    }

    /// What a shared library was linked from.
    pub(crate) fn linked_into(path: &Path) -> Result<Vec<(String, Vec<u8>)>> {
        let data = read(path)?;
        if detect(&data) != InputKind::SharedLibrary {
            return Ok(Vec::new());
        }
        let name = shown(path);
        let place = |error: ParseError| anyhow!(error.in_input(&name));
        let mut parts = Vec::new();
        for section in HostFile::parse(&data).map_err(place)?.fatbins {
            if !section.is_relocatable() {
                continue;
            }
            for fatbin in section.fatbins() {
                let part = fatbin.map_err(place)?.bytes().to_vec();
                parts.push((format!("{name}.{}.fatbin", parts.len()), part));
            }
        }
        Ok(parts)
    }

    fn push(&mut self, name: String, data: Vec<u8>, modules: Option<Vec<String>>) {
        self.inputs.push(Input {
            name,
            data,
            modules,
        });
    }

    /// How many inputs there are for the device link.
    pub(crate) fn count(&self) -> usize {
        self.inputs.len()
    }

    /// The inputs, by the names that messages use.
    pub(crate) fn copied(&self) -> impl Iterator<Item = (String, Vec<u8>)> {
        let inputs = self.inputs.iter();
        inputs.map(|input| (input.name.clone(), input.data.clone()))
    }

    /// The same, without copies of what they hold; that is gone.
    pub(crate) fn take(&mut self) -> Vec<(String, Vec<u8>)> {
        let inputs = self.inputs.iter_mut();
        inputs
            .map(|input| (input.name.clone(), mem::take(&mut input.data)))
            .collect()
    }

    /// Leaves out objects with none of these modules, and says which.
    pub(crate) fn retain(&mut self, modules: &[String]) -> Vec<String> {
        let left_out = self.inputs.extract_if(.., |input| {
            let own = input.modules.as_ref();
            own.is_some_and(|own| !own.iter().any(|id| modules.contains(id)))
        });
        left_out.map(|input| input.name).collect()
    }

    /// The modules of each object with relocatable code.
    fn open(&self) -> impl Iterator<Item = &Vec<String>> {
        self.inputs
            .iter()
            .filter_map(|input| input.modules.as_ref())
    }

    /// Whether anything waits for a device link. Libraries that CMake builds with `CUDA_RESOLVE_DEVICE_SYMBOLS` hold
    /// the link of their objects beside them, and need no other one.
    pub(crate) fn wait(&self) -> bool {
        let waits = |modules: &Vec<String>| match &modules[..] {
            [] => true,
            modules => modules.iter().any(|id| !self.linked.contains(id)),
        };
        self.has_library || self.open().any(waits)
    }

    /// Whether nothing but a file for the device link alone has the host code of a module, which nobody registers then.
    pub(crate) fn is_apart(&self, module: &String) -> bool {
        self.apart.contains(module) && !self.open().any(|modules| modules.contains(module))
    }

    fn file(&mut self, path: &Path, data: &[u8]) -> Result<()> {
        let name = shown(path);
        if path.ends_with(DEVICE_RUNTIME) {
            self.push(name, data.to_vec(), None);
            return Ok(());
        }
        match detect(data) {
            InputKind::Archive => archive::walk(&name, data, &mut |name, member| {
                self.object(name, member.data.unwrap_or_default())
            })
            .map_err(|error: ParseError| anyhow!(error)),
            InputKind::HostObject => self
                .object(&name, data)
                .map_err(|error| anyhow!(error.in_input(&name))),
            // What is linked already is no matter of this link, and the rest no input of a host link.
            InputKind::HostExecutable
            | InputKind::SharedLibrary
            | InputKind::Bitcode
            | InputKind::Cubin
            | InputKind::Fatbin
            | InputKind::Ptx
            | InputKind::LtoIr
            | InputKind::Unknown => Ok(()),
        }
    }

    /// The members of a thin archive lie elsewhere.
    fn thin_archive(&mut self, path: &Path, data: &[u8]) -> Result<()> {
        let name = shown(path);
        let place = |error: ParseError| anyhow!(error.in_input(&name));
        let archive = Archive::parse(data).map_err(place)?;
        if !archive.thin {
            return Ok(());
        }
        let folder = path.parent().unwrap_or(Path::new(""));
        for member in archive.members() {
            let member = member.map_err(place)?;
            let data = read(&folder.join(&member.name))?;
            self.object(&format!("{name}:{}", member.name), &data)
                .map_err(place)?;
        }
        Ok(())
    }

    fn object(&mut self, name: &str, data: &[u8]) -> Result<(), ParseError> {
        if detect(data) != InputKind::HostObject {
            return Ok(());
        }
        // Most members of an rlib have nothing to do with the device.
        if memmem::find(data, b"__nv_").is_none()
            && memmem::find(data, EXECUTABLE_SECTION.as_bytes()).is_none()
        {
            return Ok(());
        }
        let file = HostFile::parse(data).map_err(|error| error.in_input(name))?;
        self.placed += file
            .fatbins
            .iter()
            .map(|f| f.data.len() as u64)
            .sum::<u64>();
        let is_open = file.has_relocatable_code();
        let mut modules = Vec::new();
        let mut linked = Vec::new();
        for id in &file.module_ids {
            match id {
                ModuleId::Module(id) => modules.push((*id).to_owned()),
                ModuleId::Linked(id) => linked.push((*id).to_owned()),
            }
        }
        // The result of an earlier device link says what needs no other one.
        if !is_open && linked.is_empty() {
            if !file.fatbins.is_empty() {
                self.closed.push(name.to_owned());
            }
            return Ok(());
        }
        // A crate may carry an object that another one carries too; the host linker takes the first.
        if self.known.insert(Sha256::digest(data).to_vec()) {
            if !linked.is_empty() {
                self.results.push(name.to_owned());
            }
            self.linked.extend(linked);
            self.push(name.to_owned(), data.to_vec(), is_open.then_some(modules));
        }
        Ok(())
    }

    /// The size of all inputs.
    pub(crate) fn bytes(&self) -> u64 {
        let inputs = self.inputs.iter();
        inputs.map(|input| input.data.len() as u64).sum()
    }

    /// Names the contents, whatever the files are called, and what they are for.
    pub(crate) fn hash_into(&self, hash: &mut Sha256) {
        for Input { data, modules, .. } in &self.inputs {
            hash.update([u8::from(modules.is_some())]);
            hash.update((data.len() as u64).to_le_bytes());
            hash.update(data);
        }
    }
}

/// A path as rustc shows those of sources: from the folder it runs in, which is that of the workspace.
pub(super) fn shown(path: &Path) -> String {
    let inside = std::env::current_dir()
        .ok()
        .and_then(|folder| path.strip_prefix(folder).ok());
    inside.unwrap_or(path).display().to_string()
}

fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).with_context(|| cannot_read(path))
}

fn cannot_read(path: &Path) -> String {
    format!("cannot read {}", path.display())
}

/// What the names of all sections with device code end with.
const DEVICE_CODE: &[u8] = b"fatbin";

/// How much of a file is looked through at once: what stays in the cache of a processor.
const PIECE: usize = 1 << 18;

/// Whether a file may hold device code, or names files that may. Libraries of a Rust program can be very large, and most
/// have none: they are looked through piece by piece.
fn mentions_device_code(path: &Path) -> io::Result<bool> {
    let mut file = File::open(path)?;
    let finder = memmem::Finder::new(DEVICE_CODE);
    let mut piece = Vec::with_capacity(PIECE + DEVICE_CODE.len());
    let mut is_first = true;
    loop {
        let read = file.by_ref().take(PIECE as u64).read_to_end(&mut piece)?;
        if read == 0 {
            return Ok(false);
        }
        let is_thin = mem::take(&mut is_first) && piece.starts_with(&THIN_MAGIC);
        if is_thin || finder.find(&piece).is_some() {
            return Ok(true);
        }
        // The next piece may go on with what this one begins.
        let end = piece.len().saturating_sub(DEVICE_CODE.len() - 1);
        piece.drain(..end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn device_code_is_found_wherever_it_begins() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("library.rlib");
        let check = |data: &[u8], expected: bool| {
            fs::write(&path, data).unwrap();
            assert_eq!(mentions_device_code(&path).unwrap(), expected);
        };
        for section in [RELOCATABLE_SECTION, EXECUTABLE_SECTION] {
            assert!(section.as_bytes().ends_with(DEVICE_CODE));
        }
        check(b"", false);
        check(b"!<thin>\n", true);
        check(b"!<arch>\n", false);
        for place in [0, PIECE - 6, PIECE - 3, PIECE, 2 * PIECE - 1, 3 * PIECE] {
            let mut data = vec![b'f'; 3 * PIECE + 9];
            check(&data, false);
            data[place..place + 6].copy_from_slice(b"fatbin");
            check(&data, true);
        }
    }
}
