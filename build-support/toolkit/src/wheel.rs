//! Unpacks a package into the root of a toolkit.

use std::borrow::Cow;
use std::fs::{self, File};
use std::io::{self, BufReader, Read as _};
use std::path::{Path, PathBuf};

use zip::ZipArchive;
use zip::result::ZipError;

/// How many bytes of metadata are read. Real packages have some ten thousand.
const LONGEST_METADATA: u64 = 1 << 20;

/// A package cannot be unpacked.
#[derive(Debug, thiserror::Error)]
pub enum WheelError {
    /// The archive is damaged.
    #[error("{} is not a usable package; run the install again", wheel.display())]
    Archive {
        /// The package.
        wheel: PathBuf,
        /// What is wrong with it.
        source: ZipError,
    },
    /// A file inside the archive would be written outside the toolkit.
    #[error("{} is not a usable package: its file {name:?} lies outside of the toolkit", wheel.display())]
    Escapes {
        /// The package.
        wheel: PathBuf,
        /// The name inside the archive.
        name: String,
    },
    /// A file cannot be written.
    #[error("{} cannot be written", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
}

/// Name and version of a package, from the name of its file: `name-version-tags.whl`.
pub(crate) fn name_and_version(wheel: &Path) -> Option<(String, String)> {
    let mut parts = wheel.file_name()?.to_str()?.split('-');
    Some((parts.next()?.to_owned(), parts.next()?.to_owned()))
}

/// What makes an error of what is wrong with the archive.
fn unusable(wheel: &Path) -> impl Fn(ZipError) -> WheelError {
    move |source| WheelError::Archive {
        wheel: wheel.to_owned(),
        source,
    }
}

fn open(wheel: &Path) -> Result<ZipArchive<BufReader<File>>, WheelError> {
    let opened = File::open(wheel).map_err(ZipError::from);
    opened
        .and_then(|file| ZipArchive::new(BufReader::new(file)))
        .map_err(unusable(wheel))
}

/// What a package says of itself.
pub(crate) fn metadata(wheel: &Path) -> Result<String, WheelError> {
    let unusable = unusable(wheel);
    let mut archive = open(wheel)?;
    let is_metadata = |name: &str| {
        name.split_once('/')
            .is_some_and(|(folder, file)| folder.ends_with(".dist-info") && file == "METADATA")
    };
    let name = archive
        .file_names()
        .flatten()
        .find(|name| is_metadata(name))
        .map(Cow::into_owned)
        .ok_or_else(|| unusable(ZipError::FileNotFound))?;
    let entry = archive.by_name(&name).map_err(&unusable)?;
    let mut text = String::new();
    let read = entry.take(LONGEST_METADATA).read_to_string(&mut text);
    read.map_err(|error| unusable(error.into()))?;
    Ok(text)
}

/// Writes the files that the package has below `prefix` to `root`, all of them or those in `only`, and its licences
/// to `root/licenses`.
pub(crate) fn unpack(
    wheel: &Path,
    prefix: &str,
    only: Option<&[&str]>,
    root: &Path,
) -> Result<(), WheelError> {
    let unusable = unusable(wheel);
    let mut archive = open(wheel)?;
    for index in 0..archive.len() {
        let mut entry = archive.by_index(index).map_err(&unusable)?;
        let Some(name) = entry.enclosed_name() else {
            let name = entry.name().map_err(&unusable)?.into_owned();
            return Err(WheelError::Escapes {
                wheel: wheel.to_owned(),
                name,
            });
        };
        if entry.is_dir() {
            continue;
        }
        let Some(place) = place(&name, prefix, only) else {
            continue;
        };
        // The bits of the archive are kept, except that what its owner may run, everybody may run.
        let executable =
            entry.unix_mode().is_some_and(|mode| mode & 0o111 != 0) || is_program(&place);
        write(&mut entry, &root.join(place), executable)?;
    }
    Ok(())
}

/// Where a file of the package goes, relative to the root; nowhere when it is not wanted.
fn place(name: &Path, prefix: &str, only: Option<&[&str]>) -> Option<PathBuf> {
    if let Ok(inside) = name.strip_prefix(prefix) {
        let wanted = only.is_none_or(|only| only.iter().any(|file| inside == Path::new(file)));
        return wanted.then(|| inside.to_owned());
    }
    let mut parts = name.iter();
    let information = parts.next()?.to_str()?.strip_suffix(".dist-info")?;
    let file = name.file_name()?.to_str()?;
    file.to_ascii_lowercase()
        .starts_with("licen")
        .then(|| Path::new("licenses").join(information).join(file))
}

/// Archives made without permission bits still have programs in these folders.
fn is_program(place: &Path) -> bool {
    place
        .parent()
        .is_some_and(|folder| folder == Path::new("bin") || folder == Path::new("nvvm/bin"))
        && place.extension().is_none()
}

fn write(from: &mut impl io::Read, path: &Path, executable: bool) -> Result<(), WheelError> {
    let result = (|| {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let mut file = File::create(path)?;
        io::copy(from, &mut file)?;
        if executable {
            make_executable(&file)
        } else {
            Ok(())
        }
    })();
    result.map_err(|source| WheelError::Write {
        path: path.to_owned(),
        source,
    })
}

#[cfg(unix)]
fn make_executable(file: &File) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    file.set_permissions(fs::Permissions::from_mode(0o755))
}

#[cfg(not(unix))]
fn make_executable(_file: &File) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use zip::ZipWriter;
    use zip::write::SimpleFileOptions;

    fn wheel(folder: &Path, files: &[(&str, &str)]) -> PathBuf {
        let path = folder.join("nvidia_cuda_nvcc-13.0.88-py3-none-any.whl");
        let mut writer =
            ZipWriter::new(File::create(&path).expect("the scratch folder is writable"));
        for (name, text) in files {
            writer
                .start_file(*name, SimpleFileOptions::default())
                .expect("names are valid");
            writer
                .write_all(text.as_bytes())
                .expect("the scratch folder is writable");
        }
        writer.finish().expect("the scratch folder is writable");
        path
    }

    #[test]
    fn only_the_toolkit_and_its_licence_are_written() {
        let scratch = tempfile::tempdir().expect("a scratch folder can be made");
        let files = [
            ("nvidia/cu13/bin/nvcc", "program"),
            ("nvidia/cu13/include/a.h", "header"),
            ("nvidia/__init__.py", ""),
            (
                "nvidia_cuda_nvcc-13.0.88.dist-info/licenses/License.txt",
                "terms",
            ),
            ("nvidia_cuda_nvcc-13.0.88.dist-info/RECORD", ""),
        ];
        let wheel = wheel(scratch.path(), &files);
        let root = scratch.path().join("root");
        unpack(&wheel, "nvidia/cu13", None, &root).expect("the package is whole");
        assert!(crate::toolkit::is_executable(&root.join("bin/nvcc")));
        assert_eq!(
            fs::read_to_string(root.join("include/a.h")).expect("it was unpacked"),
            "header"
        );
        assert!(
            root.join("licenses/nvidia_cuda_nvcc-13.0.88/License.txt")
                .is_file()
        );
        assert!(!root.join("__init__.py").exists());
        assert!(!root.join("RECORD").exists());

        let chosen = scratch.path().join("chosen");
        unpack(&wheel, "nvidia/cu13", Some(&["include/a.h"]), &chosen)
            .expect("the package is whole");
        assert!(chosen.join("include/a.h").exists());
        assert!(!chosen.join("bin").exists());
    }

    #[test]
    fn a_file_that_climbs_out_is_refused() {
        let scratch = tempfile::tempdir().expect("a scratch folder can be made");
        let wheel = wheel(scratch.path(), &[("nvidia/cu13/../../../climbed", "out")]);
        let error = unpack(&wheel, "nvidia/cu13", None, &scratch.path().join("a/b"))
            .expect_err("it climbs");
        assert!(matches!(error, WheelError::Escapes { .. }), "{error}");
        assert!(!scratch.path().join("climbed").exists());
    }

    #[test]
    fn a_cut_off_package_is_refused() {
        let scratch = tempfile::tempdir().expect("a scratch folder can be made");
        let wheel = wheel(scratch.path(), &[("nvidia/cu13/bin/nvcc", "program")]);
        let bytes = fs::read(&wheel).expect("it was written");
        fs::write(&wheel, &bytes[..bytes.len() / 2]).expect("the scratch folder is writable");
        let error = unpack(&wheel, "nvidia/cu13", None, scratch.path()).expect_err("it is cut off");
        assert!(matches!(error, WheelError::Archive { .. }), "{error}");
    }

    #[test]
    fn file_names_carry_name_and_version() {
        let wheel = Path::new("/x/nvidia_nvvm-13.0.88-py3-none-manylinux2014_x86_64.whl");
        assert_eq!(
            name_and_version(wheel),
            Some(("nvidia_nvvm".to_owned(), "13.0.88".to_owned()))
        );
    }
}
