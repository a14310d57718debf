//! Where `-l` finds libraries.

use std::path::{Path, PathBuf};

use object::elf::{ELFMAG, Machine};

use super::files::ThinMember;
use super::{Behaviour, Environment, Wanted};
use crate::container::{Archive, InputKind, detect};
use crate::raw_text;

/// Something of a library's name.
pub(super) enum Found {
    /// A shared library: the host linker will take it, and it has no code to
    /// link.
    Shared,
    /// A file that should be an archive.
    Archive(PathBuf),
    /// A folder in its place.
    Folder(PathBuf),
}

/// The folders of `-L` in their order, then those of `LIBRARY_PATH`.
pub(super) fn folders(given: &[PathBuf], environment: &Environment) -> Vec<PathBuf> {
    let inherited = environment.library_path.iter();
    given
        .iter()
        .cloned()
        .chain(inherited.flat_map(std::env::split_paths))
        .filter(|folder| !folder.as_os_str().is_empty())
        .collect()
}

/// The files of a library's name. A shared library hides the static one of
/// its folder.
pub(super) fn candidates(library: &str, folders: &[PathBuf]) -> impl Iterator<Item = Found> {
    folders.iter().filter_map(move |folder| {
        // A name with a slash would not be looked for in the folder.
        let file = |end| folder.join(raw_text::name(&format!("lib{library}.{end}")));
        if library.contains('/') {
            None
        } else if file("so").exists() {
            Some(Found::Shared)
        } else {
            let path = file("a");
            let metadata = path.metadata().ok()?;
            match metadata.is_dir() {
                true => Some(Found::Folder(path)),
                false => Some(Found::Archive(path)).filter(|_| metadata.is_file()),
            }
        }
    })
}

/// Where host linkers look without being told.
const HOST_FOLDERS: &[&str] = &[
    "/usr/local/lib",
    "/lib/x86_64-linux-gnu",
    "/usr/lib/x86_64-linux-gnu",
    "/lib/aarch64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/lib64",
    "/usr/lib64",
    "/lib",
    "/usr/lib",
];

/// Where GCC has the libraries of its own, such as that of OpenMP, below a folder for each machine and version.
const COMPILER_FOLDERS: &[&str] = &["/usr/lib/gcc", "/usr/lib64/gcc"];

/// The folder of the host linker that has a library of this name, static or shared, if one has.
#[must_use]
pub fn host_folder(library: &str) -> Option<PathBuf> {
    let below = |folder: &Path| {
        let entries = folder.read_dir().into_iter().flatten().flatten();
        entries.map(|entry| entry.path())
    };
    let of_compilers = COMPILER_FOLDERS.iter().map(Path::new);
    let of_compilers = of_compilers
        .flat_map(below)
        .flat_map(|machine| below(&machine));
    let folders = HOST_FOLDERS.iter().map(PathBuf::from);
    folders.chain(of_compilers).find(|folder| {
        let file = |end| folder.join(raw_text::name(&format!("lib{library}.{end}")));
        !library.contains('/') && (is_file(&file("so")) || is_file(&file("a")))
    })
}

fn is_file(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| metadata.is_file())
}

/// Whether a file is an archive with host objects, for the machine that is wanted. Members that are no ELF files end the
/// archive for nvlink.
pub(super) fn is_compatible(data: &[u8], thin: &[ThinMember], wanted: &Wanted) -> bool {
    if detect(data) != InputKind::Archive {
        return false;
    }
    let Ok(archive) = Archive::parse(data) else {
        return false;
    };
    let is_end = |member: &&[u8]| match wanted.behaviour {
        Behaviour::Own => detect(member) == InputKind::Unknown,
        Behaviour::Nvlink => !member.starts_with(&ELFMAG),
    };
    let is_wanted = |member: &[u8]| match (machine(member), wanted.host_machine) {
        (found, Some(machine)) => found == Some(machine),
        (_, None) => detect(member) == InputKind::HostObject,
    };
    if archive.thin {
        let members = thin.iter().map(|member| member.data.as_ref());
        return members
            .take_while(|member| !member.is_ok_and(|data| is_end(&&**data)))
            // What is missing is reported when the archive's turn comes.
            .any(|member| member.is_ok_and(|data| is_wanted(data)) || member.is_err());
    }
    archive
        .members()
        .map_while(|member| member.ok()?.data)
        .take_while(|member| !is_end(member))
        .any(is_wanted)
}

/// The machine that an ELF file is for.
fn machine(data: &[u8]) -> Option<Machine> {
    const PLACE: usize = 18;
    let bytes = data.get(PLACE..PLACE + 2)?.try_into().ok()?;
    data.starts_with(&ELFMAG)
        .then(|| Machine(u16::from_le_bytes(bytes)))
}
